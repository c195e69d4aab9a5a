package proxytest

import (
	"io"
	"slices"
)

// Slice writes p so that a new write starts before each offset of cuts.
func Slice(w io.Writer, p []byte, cuts ...int) error {
	cuts = slices.Clone(cuts)
	slices.Sort(cuts)
	from := 0
	for _, to := range append(cuts, len(p)) {
		to = min(to, len(p))
		if to <= from {
			continue
		}
		if _, err := w.Write(p[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// OneByOne writes every byte of p alone.
func OneByOne(w io.Writer, p []byte) error {
	for i := range p {
		if _, err := w.Write(p[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// A SlowReader reads at most Size bytes at a time from R, and calls Between
// before each read: a reader that is slow by whatever the test waits for there.
type SlowReader struct {
	R       io.Reader
	Size    int
	Between func()
}

// Read reads the next piece.
func (s SlowReader) Read(p []byte) (int, error) {
	if s.Between != nil {
		s.Between()
	}
	if len(p) > s.Size {
		p = p[:s.Size]
	}
	return s.R.Read(p)
}
