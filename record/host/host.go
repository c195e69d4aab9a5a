package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Importer reads one family of transcripts.
type Importer struct {
	// Name is what --conversation-format takes; Version goes up when the same bytes
	// give another conversation.
	Name, Version string
	// Doc says in one line what it reads.
	Doc string
	// Detect says how surely a file is of this format, from its name and its first
	// bytes (at most DetectBytes; fewer only where the file has no more).
	Detect func(name string, head []byte) Sure
	// Import reads files, which are sorted by name and all of this format. What it
	// cannot read it says in Conversation.Sources; an error is for files of which
	// nothing can be made.
	Import func(files []*File) ([]*Conversation, error)
}

// Sure is how surely a file is of a format.
type Sure int

// From none to certain. Likely rests on members that the format shares with
// others, Certain on ones that it alone has.
const (
	No Sure = iota
	Possible
	Likely
	Certain
)

// DetectBytes is how much of a file is looked at to tell its format.
const DetectBytes = 256 << 10

// File is one file of a transcript. It can be opened more than once and must
// give the same bytes each time.
type File struct {
	// Name is relative to what the user named, with slashes.
	Name string
	Open func() (io.ReadCloser, error)
	// Beside says that the user did not name it: it was found beside the file that
	// was named and may have nothing to do with it.
	Beside bool
}

// BytesFile is a file that is in memory.
func BytesFile(name string, data []byte) *File {
	return &File{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// Options of an import.
type Options struct {
	// Format names the importer (--conversation-format); empty: by content.
	Format string
}

// ErrUnknownFormat says that no importer knows a file.
var ErrUnknownFormat = errors.New("no known transcript format")

// ErrNothing says that files are of a format and hold neither a turn nor a call.
var ErrNothing = errors.New("no conversation: no prompt, no answer and no call")

// Import reads a file or a folder of the machine. In a folder it takes the
// files that an importer knows, in the order of their names, and leaves others.
func Import(name string, list []*Importer, opts Options) ([]*Conversation, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return ImportFS(os.DirFS(name), ".", list, opts)
	}
	if err := regular(info); err != nil {
		return nil, inFile(name, err)
	}
	return ImportFiles(fileAt(name), list, opts)
}

// regular refuses what cannot be read twice, or only when somebody writes: a pipe.
func regular(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("is no regular file")
	}
	return nil
}

// fileAt is a file of the machine with what may belong to it.
func fileAt(name string) []*File {
	f := &File{Name: filepath.Base(name), Open: func() (io.ReadCloser, error) { return os.Open(name) }}
	return append([]*File{f}, companions(name)...)
}

// ImportTogether reads several files of the machine as if they lay in one folder: a
// session that goes on in another of them, or whose subagents have files of their
// own, is one conversation, as in Import of the folder. Folders, and a file whose name
// is there already, are read by themselves. The error names the file.
func ImportTogether(paths []string, list []*Importer, opts Options) ([]*Conversation, error) {
	var out []*Conversation
	var files []*File
	of := map[string]string{} // paths by the file's name in the conversation
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(p)
		if _, again := of[name]; again || info.IsDir() || len(paths) == 1 {
			cs, err := Import(p, list, opts)
			if err != nil {
				return nil, inFile(p, err)
			}
			out = append(out, cs...)
			continue
		}
		if err := regular(info); err != nil {
			return nil, inFile(p, err)
		}
		mine := fileAt(p)
		switch im, err := opts.importer(mine[0], list); {
		case err != nil:
			return nil, inFile(p, err)
		case im == nil:
			return nil, inFile(p, fmt.Errorf("%w; name it with --conversation-format", ErrUnknownFormat))
		}
		of[name] = p
		files = append(files, mine...)
	}
	if len(files) == 0 {
		return out, nil
	}
	slices.SortStableFunc(files, func(a, b *File) int { return cmp.Or(strings.Compare(a.Name, b.Name), second(a.Beside, b.Beside)) })
	files = slices.CompactFunc(files, func(a, b *File) bool { return a.Name == b.Name }) // two may have the same beside them
	cs, err := ImportFiles(files, list, opts)
	if err != nil {
		return nil, err
	}
	for _, c := range cs {
		for _, s := range c.Sources {
			delete(of, s.Path)
		}
	}
	for _, f := range files {
		if p := of[f.Name]; p != "" { // it was named, and nothing came of it
			return nil, inFile(p, ErrNothing)
		}
	}
	return append(out, cs...), nil
}

// second puts what is true behind what is not.
func second(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// inFile names the file in an error that does not yet.
func inFile(path string, err error) error {
	if strings.Contains(err.Error(), filepath.Base(path)) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// companions are the files that may belong to one session file: those of the
// folder of its name, and the agent files beside it, which are two places where
// Claude Code keeps subagents (hosts.md 3.1). Its importer takes those that name
// the session.
func companions(name string) []*File {
	base, isLines := strings.CutSuffix(filepath.Base(name), ".jsonl")
	if !isLines || strings.HasPrefix(base, "agent-") {
		return nil
	}
	fsys := os.DirFS(filepath.Dir(name))
	files, err := walk(fsys, base)
	if err != nil {
		files = nil // there is no such folder
	}
	for _, f := range files {
		f.Name, f.Beside = base+"/"+f.Name, true
	}
	beside, err := fs.Glob(fsys, "agent-*.jsonl")
	if err != nil || len(beside) > maxFiles {
		return files
	}
	for _, p := range beside {
		files = append(files, &File{Name: p, Beside: true, Open: func() (io.ReadCloser, error) { return fsys.Open(p) }})
	}
	return files
}

// ImportFS reads a file or a folder of a file system.
func ImportFS(fsys fs.FS, name string, list []*Importer, opts Options) ([]*Conversation, error) {
	files, err := walk(fsys, name)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: %w: the folder holds no .json, .jsonl, .ndjson, .log or .txt file", name, ErrUnknownFormat)
	}
	return ImportFiles(files, list, opts)
}

// maxFiles and maxDepth bound a walk.
const (
	maxFiles = 100_000
	maxDepth = 12
)

// walk lists the files below name that a transcript may be, sorted by name.
// Links are not followed.
func walk(fsys fs.FS, name string) ([]*File, error) {
	var files []*File
	err := fs.WalkDir(fsys, name, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if strings.Count(p, "/") > maxDepth {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		case p != name && !slices.Contains([]string{".json", ".jsonl", ".ndjson", ".log", ".txt"}, path.Ext(p)):
			return nil
		case len(files) == maxFiles:
			return fmt.Errorf("%s: more than %d files; name the session's own folder", name, maxFiles)
		}
		rel := strings.TrimPrefix(p, name+"/")
		if p == name {
			rel = path.Base(p)
		}
		files = append(files, &File{Name: rel, Open: func() (io.ReadCloser, error) { return fsys.Open(p) }})
		return nil
	})
	return files, err
}

// ImportFiles reads files. Each goes to the importer that is surest of it; all
// files of one importer are read together, importers in the order of the list.
// Of several files those that no importer knows are left out; a single one, or
// none that is known, is an error.
func ImportFiles(files []*File, list []*Importer, opts Options) ([]*Conversation, error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	groups := map[*Importer][]*File{}
	for _, f := range files {
		im, err := opts.importer(f, list)
		if err != nil {
			return nil, err
		}
		if im != nil {
			groups[im] = append(groups[im], f)
		}
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("%s: %w; name it with --conversation-format", names(files), ErrUnknownFormat)
	}
	var out []*Conversation
	var nothing error
	for _, im := range append(slices.Clone(list), Neutral) {
		if len(groups[im]) == 0 {
			continue
		}
		cs, err := im.Import(groups[im])
		if errors.Is(err, ErrNothing) {
			nothing = cmp.Or(nothing, fmt.Errorf("%s: %w", names(groups[im]), err))
			continue // other files may hold something
		}
		if err != nil {
			return nil, err
		}
		for _, c := range cs {
			for i := range c.Sources {
				// A file in the neutral format says itself who imported it.
				if s := &c.Sources[i]; s.Importer == "" {
					s.Importer, s.ImporterVersion = im.Name, im.Version
				}
			}
		}
		out = append(out, cs...)
	}
	if len(out) == 0 {
		return nil, cmp.Or(nothing, ErrNothing)
	}
	return out, nil
}

// importer is the one that the options name, else the one that is surest of the file;
// nil: none knows it.
func (o Options) importer(f *File, list []*Importer) (*Importer, error) {
	list = append(slices.Clone(list), Neutral)
	if o.Format == "" {
		return Detect(f, list)
	}
	var names []string
	for _, im := range list {
		if im.Name == o.Format {
			return im, nil
		}
		names = append(names, im.Name)
	}
	return nil, fmt.Errorf("conversation format %q is not known; known are %s", o.Format, strings.Join(names, ", "))
}

// Detect returns the importer that is surest of the file, nil where none knows
// it. Two that are equally sure are an error: the user has to say.
func Detect(f *File, list []*Importer) (*Importer, error) {
	head, err := readHead(f)
	if err != nil {
		return nil, err
	}
	var best *Importer
	var sure Sure
	var tie []string
	for _, im := range list {
		switch s := im.Detect(f.Name, head); {
		case s > sure:
			best, sure, tie = im, s, []string{im.Name}
		case s == sure && s > No:
			tie = append(tie, im.Name)
		}
	}
	if len(tie) > 1 {
		return nil, fmt.Errorf("%s may be %s; say which with --conversation-format", f.Name, strings.Join(tie, " or "))
	}
	return best, nil
}

func readHead(f *File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	head, err := io.ReadAll(io.LimitReader(r, DetectBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return head, nil
}

func names(files []*File) string {
	if len(files) == 1 {
		return files[0].Name
	}
	return fmt.Sprintf("%d files", len(files))
}

// Neutral reads sixlink's own format.
var Neutral = &Importer{
	Name: "conversation", Version: "1",
	Doc: "sixlink's own JSON Lines (docs/conversation.md)",
	Detect: func(_ string, head []byte) Sure {
		if isNeutral(head) {
			return Certain
		}
		return No
	},
	Import: func(files []*File) ([]*Conversation, error) {
		var out []*Conversation
		for _, f := range files {
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			src := Source{Path: f.Name, Format: "conversation"}
			cs, err := read(r, &src)
			_ = r.Close() // only read
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			for _, c := range cs {
				if len(c.Sources) == 0 {
					c.Sources = []Source{src}
				}
			}
			out = append(out, cs...)
		}
		return out, nil
	},
}
