package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// blockBytes is what a file takes at least, so that many small ones count.
	blockBytes = 4 << 10
	// beginTime is how long a file may be there without its header and lock: somebody
	// is just beginning it.
	beginTime = time.Minute
	// staleTime is how old what a seal left over must be to be no seal under way.
	staleTime = time.Hour
)

// Prune says which files of a folder are to go: those that are over a limit, the
// oldest first; without limits, all that Where takes.
type Prune struct {
	MaxTotal int64         // bytes of all files that Where takes; 0: any number
	MaxAge   time.Duration // since a file was last written; 0: any time
	Now      time.Time     // the age is counted to then
	// Where takes a recording by the header at its beginning; nil: all are taken. Then
	// only whole recordings go.
	Where  func(*Header) (bool, error)
	DryRun bool // nothing is removed, only told
	// Of a recorder: the name of its own first file, whose recording may lose its closed
	// segments but the first, and what is about to be written.
	own string
	// reserve is left free for each recording that is being written.
	reserve int64
}

// PrunedFile is a file that went, or would.
type PrunedFile struct {
	Name    string
	Bytes   int64
	Written time.Time
	Why     string // [LimitTotal], [LimitAge]; empty: Where took it
	// Recording and Segment are as its header says; empty and 0 of one that was cut off
	// before its first check.
	Recording string
	Segment   int
}

// Pruned is what a prune did.
type Pruned struct {
	Files []PrunedFile
	// Left counts the files of recordings that stayed, and their bytes.
	Left      int
	LeftBytes int64
	// Kept names files that were to go and did not, with the reasons: a recorder holds
	// their recording, they are no recording, or the system refused. Live recordings are
	// named by their first file.
	Kept []KeptFile
	// Over is how many bytes are over MaxTotal still.
	Over int64
}

// KeptFile is a file that stayed.
type KeptFile struct {
	Name string
	Why  string
	Live bool
}

// dirFile is a file of a folder that may be a recording's.
type dirFile struct {
	name  string
	n     int
	size  int64 // in whole blocks
	bytes int64
	mod   time.Time
	key   time.Time // when it was written, for the order in which files go
	group *fileGroup
}

// fileGroup is the files of one name: one recording's, as far as names tell.
type fileGroup struct {
	base  string
	files []*dirFile // by their numbers
	live  int8       // whether a writer holds one: 0 is not known
}

const yes, no = 1, -1

// Prune removes files from dir, and nothing in folders below. It never takes a recording
// that is being written, nor a file that is no recording.
func (p *Prune) Prune(dir string) (*Pruned, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return p.prune(root, dir)
}

func (p *Prune) prune(root *os.Root, dir string) (*Pruned, error) {
	groups, stale, err := scan(root, p.Now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for _, name := range stale {
		if !p.DryRun {
			root.Remove(name)
		}
	}
	done := &Pruned{}
	var files []*dirFile
	total, reserve := int64(0), int64(0)
	for _, g := range groups {
		if g.busy(p.Now) {
			reserve += p.reserve
		}
	}
	reserve = min(reserve, p.MaxTotal/2)
	for _, g := range groups {
		if p.Where != nil && !p.takes(dir, g, done) {
			done.Left += len(g.files)
			for _, f := range g.files {
				done.LeftBytes += f.bytes
			}
			continue
		}
		g.order(p.Where != nil)
		for _, f := range g.files {
			files = append(files, f)
			total += f.size
		}
	}
	slices.SortStableFunc(files, func(a, b *dirFile) int {
		if c := a.key.Compare(b.key); c != 0 {
			return c
		}
		if a.group != b.group {
			return strings.Compare(a.group.base, b.group.base)
		}
		return a.last() - b.last()
	})
	for _, f := range files {
		why, goes := "", false
		switch {
		case p.MaxAge > 0 && p.Now.Sub(f.key) > p.MaxAge:
			why, goes = LimitAge, true
		case p.MaxTotal > 0 && total+reserve > p.MaxTotal:
			why, goes = LimitTotal, true
		case p.MaxAge == 0 && p.MaxTotal == 0:
			goes = true
		}
		if goes && p.remove(root, dir, f, why, done) {
			total -= f.size
			continue
		}
		done.Left++
		done.LeftBytes += f.bytes
	}
	if p.MaxTotal > 0 {
		done.Over = max(0, total-p.MaxTotal)
	}
	return done, nil
}

// busy tells whether the group may be growing: a recorder writes its clock every minute.
func (g *fileGroup) busy(now time.Time) bool {
	for _, f := range g.files {
		if now.Sub(f.mod) < 2*clockPeriod {
			return true
		}
	}
	return false
}

// last makes the first file of a recording the last one of it.
func (f *dirFile) last() int {
	if f.n == 0 {
		return 1 << 30
	}
	return f.n
}

// order says when each file goes: by its own time, and the first segment behind the
// others. whole: all of them at the time of the last.
func (g *fileGroup) order(whole bool) {
	newest := g.files[0].mod
	for _, f := range g.files {
		if f.mod.After(newest) {
			newest = f.mod
		}
	}
	oldest := time.Time{}
	for i, f := range g.files {
		if i == 0 || whole {
			f.key = newest
			continue
		}
		if f.mod.After(oldest) { // one that was sealed late is not younger than the next
			oldest = f.mod
		}
		f.key = oldest
	}
}

// scan looks through a folder. stale is what killed seals have left.
func scan(root *os.Root, now time.Time) (groups []*fileGroup, stale []string, err error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	byName := map[string]*fileGroup{}
	for {
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			name := e.Name()
			sealing := strings.Contains(name, Suffix+sealSuffix)
			if !e.Type().IsRegular() || !sealing && !strings.HasSuffix(name, Suffix) {
				continue
			}
			fi, err := e.Info()
			if err != nil {
				continue // it has just gone
			}
			if sealing {
				if now.Sub(fi.ModTime()) > staleTime {
					stale = append(stale, name)
				}
				continue
			}
			f := &dirFile{name: name, bytes: fi.Size(), size: (fi.Size() + blockBytes) / blockBytes * blockBytes, mod: fi.ModTime()}
			base, n := baseName(name)
			f.n = n
			g := byName[base]
			if g == nil {
				g = &fileGroup{base: base}
				byName[base] = g
				groups = append(groups, g)
			}
			f.group = g
			g.files = append(g.files, f)
		}
		if err != nil {
			if len(entries) == 0 && !isEOF(err) {
				return nil, nil, err
			}
			break
		}
	}
	for _, g := range groups {
		slices.SortFunc(g.files, func(a, b *dirFile) int { return a.n - b.n })
	}
	slices.SortFunc(groups, func(a, b *fileGroup) int { return strings.Compare(a.base, b.base) })
	return groups, stale, nil
}

// takes asks Where about a recording.
func (p *Prune) takes(dir string, g *fileGroup, done *Pruned) bool {
	var err error
	for _, f := range g.files {
		var h *Header
		if h, err = headerOf(filepath.Join(dir, f.name)); err == nil {
			var ok bool
			if ok, err = p.Where(h); err == nil {
				return ok
			}
		}
	}
	done.Kept = append(done.Kept, KeptFile{Name: g.base, Why: strings.TrimPrefix(err.Error(), dir+string(filepath.Separator))})
	return false
}

// remove removes a file, if it may.
func (p *Prune) remove(root *os.Root, dir string, f *dirFile, why string, done *Pruned) bool {
	own := f.group.base == p.own
	if own && f.n == 0 {
		return false // the handshake and the catalog of what is being written
	}
	if !own && f.group.isLive(root) {
		if f.group.live == yes {
			f.group.live++ // told once
			done.Kept = append(done.Kept, KeptFile{Name: f.group.base, Why: "is being written by a recorder", Live: true})
		}
		return false
	}
	keep := func(why string) bool {
		done.Kept = append(done.Kept, KeptFile{Name: f.name, Why: why})
		return false
	}
	file, err := root.OpenFile(f.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true // somebody else was quicker: it does not count any more
	}
	if err != nil {
		return keep(err.Error())
	}
	defer file.Close()
	if locked(file) {
		return false // it has just become a recorder's
	}
	gone := PrunedFile{Name: f.name, Bytes: f.bytes, Written: f.mod, Why: why}
	h, err := headerOf(filepath.Join(dir, f.name))
	switch {
	case err == nil:
		gone.Recording, gone.Segment = h.ID, h.Segment
	case !torn(err):
		return keep("is no recording that this version can read")
	case p.Now.Sub(f.mod) < beginTime:
		return false
	}
	if p.DryRun {
		done.Files = append(done.Files, gone)
		return true
	}
	switch err := root.Remove(f.name); {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		return keep(err.Error())
	}
	done.Files = append(done.Files, gone)
	return true
}

// isLive tells whether a writer holds one of the group's files.
func (g *fileGroup) isLive(root *os.Root) bool {
	if g.live != 0 {
		return g.live != no
	}
	g.live = no
	for i := len(g.files) - 1; i >= 0; i-- { // most likely the last one
		f, err := root.Open(g.files[i].name)
		if err != nil {
			continue
		}
		held := locked(f)
		f.Close()
		if held {
			g.live = yes
			return true
		}
	}
	return false
}
