package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Locate finds the file at which the recording begins that path stands for: a file,
// a folder with one recording in it, or what the names of one recording's files begin
// with. What is nothing of all that is returned as it is, for whoever opens it.
func Locate(path string) (string, error) {
	fi, err := os.Stat(path)
	switch {
	case err == nil && fi.IsDir():
		all, err := Recordings(path)
		if err != nil {
			return "", err
		}
		return only(path, all)
	case !errors.Is(err, fs.ErrNotExist):
		return path, nil
	}
	dir, prefix := filepath.Split(path)
	if prefix == "" {
		return path, nil
	}
	all, err := recordings(filepath.Clean(dir), func(base string) bool { return strings.HasPrefix(base, prefix) })
	if err != nil || len(all) == 0 {
		return path, nil
	}
	// The whole name without its suffix is exact, whatever else begins with it.
	for _, p := range all {
		if base, _ := baseName(filepath.Base(p)); base == prefix || base == prefix+Suffix {
			return p, nil
		}
	}
	return only(path, all)
}

func only(path string, all []string) (string, error) {
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return "", &NotRecordingError{Path: path, What: "no recording (*" + Suffix + ") is in this folder"}
	}
	return "", &NotRecordingError{Path: path, What: fmt.Sprintf("stands for %d recordings, %s and %s among them: name one", len(all), filepath.Base(all[0]), filepath.Base(all[1]))}
}

// Recordings lists the files at which the recordings of a folder begin, sorted. What is
// no recording by its name is left out; a recording whose beginning is gone begins
// at the first of its files that can be read.
func Recordings(dir string) ([]string, error) {
	return recordings(dir, func(string) bool { return true })
}

// recordings is Recordings for those names of first files that want takes.
func recordings(dir string, want func(base string) bool) ([]string, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	groups := map[string][]string{}
	for _, e := range found {
		if name := e.Name(); strings.HasSuffix(name, Suffix) && !e.IsDir() {
			if base, _ := baseName(name); want(base) {
				groups[base] = append(groups[base], name)
			}
		}
	}
	var all []string
	for _, names := range groups {
		all = append(all, beginnings(dir, names)...)
	}
	slices.Sort(all)
	return all, nil
}

// beginnings are those files among the ones of a name that do not go on with another's
// recording.
func beginnings(dir string, names []string) (first []string) {
	if len(names) == 1 {
		return []string{filepath.Join(dir, names[0])}
	}
	sort.Slice(names, func(i, j int) bool {
		_, a := baseName(names[i])
		_, b := baseName(names[j])
		return a < b
	})
	known := map[string]bool{}
	for _, name := range names {
		path := filepath.Join(dir, name)
		h, err := headerOf(path)
		switch {
		case err != nil && first == nil && torn(err) && name != names[len(names)-1]:
			continue // a power cut took its beginning; what follows may be whole
		case err == nil && known[h.ID] && h.Segment > 0:
			continue
		case err != nil && len(known) > 0 && torn(err):
			continue // of a segment that had just begun
		case err == nil:
			known[h.ID] = true
		}
		first = append(first, path)
	}
	return first
}

func torn(err error) bool {
	var n *NotRecordingError
	return errors.As(err, &n) && n.Torn
}

// headerOf reads the first header of a file.
func headerOf(path string) (*Header, error) {
	r, err := openAt(path, Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.head, nil
}

// nextPath finds the file that this recording goes on in; empty: there is none.
func (r *Reader) nextPath() string {
	dir, name := filepath.Split(r.files[0])
	if r.head.Segment > 0 {
		name, _ = baseName(name)
	}
	next := r.segment + 1
	for n := next; n < next+nameTries; n++ {
		if path := filepath.Join(dir, segmentName(name, n)); r.continues(path) {
			return path
		}
	}
	// A limit, or a power cut, may have taken many that were between. A recording of one
	// segment that is only torn does not have the whole folder looked at.
	if r.segment == 0 && (r.closing == nil || r.closing.Last) {
		return ""
	}
	if dir == "" {
		dir = "."
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var numbers []int
	for _, e := range found {
		if base, n := baseName(e.Name()); base == name && n >= next {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		if path := filepath.Join(dir, segmentName(name, n)); r.continues(path) {
			return path
		}
	}
	return ""
}

// continues tells whether the file at path is a later segment of this recording.
func (r *Reader) continues(path string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	h, err := headerOf(path)
	return err == nil && h.ID == r.head.ID && h.Segment > r.segment
}
