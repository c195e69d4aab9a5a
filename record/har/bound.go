package har

import (
	"errors"
	"io"
)

// bound passes JSON on with its long strings cut, so that a decoder behind it, which
// holds a string whole, needs no more memory than the longest that is of use. What
// else could grow without an end is refused. It knows strings from the rest and
// nothing more: the decoder behind it says what is no JSON.
type bound struct {
	src io.Reader
	max int // bytes of a string in its JSON form

	in      bool // inside of a string
	esc     bool // behind its backslash
	hex     int  // digits of a \u that are to come
	n       int  // bytes of this string, or since the last structural byte
	cutting bool

	out  int64 // bytes that were passed on
	cuts []cut
	lost int64 // bytes of cuts that were let go
}

// cut is where bytes of a string are missing: behind off passed bytes.
type cut struct{ off, lost int64 }

// maxRun bounds white space, numbers and literals, in bytes.
const maxRun = 1 << 20

var errRun = errors.New("over 1 MiB of white space, or a number that long")

func (b *bound) Read(p []byte) (int, error) {
	for {
		n, err := b.src.Read(p)
		kept := 0
		for i := 0; i < n; i++ {
			if b.in && !b.esc && b.hex == 0 {
				if run := plainRun(p[i:n]); run > 0 { // most of a capture
					kept += b.passRun(p, i, run, kept)
					i += run - 1
					continue
				}
			}
			c := p[i]
			if b.pass(c, int64(kept)) {
				p[kept] = c
				kept++
			}
			if !b.in && b.n > maxRun {
				return 0, errRun
			}
		}
		b.out += int64(kept)
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}

// plainRun is how many bytes stand before the next one that means something in a
// string.
func plainRun(p []byte) int {
	for i, c := range p {
		if c == '"' || c == '\\' {
			return i
		}
	}
	return len(p)
}

// passRun is pass for the run p[i:i+run], and moves what is passed on to kept.
func (b *bound) passRun(p []byte, i, run, kept int) int {
	room := run
	if b.cutting {
		room = 0
	} else if room = min(run, max(0, b.max-b.n)); room < run {
		b.cutting = true
		b.cuts = append(b.cuts, cut{off: b.out + int64(kept+room)})
	}
	b.n += run
	copy(p[kept:], p[i:i+room])
	if room < run {
		b.cuts[len(b.cuts)-1].lost += int64(run - room)
	}
	return room
}

// pass tells whether a byte is passed on; kept have been in this read.
func (b *bound) pass(c byte, kept int64) bool {
	if !b.in {
		switch c {
		case '"':
			b.in, b.n = true, 0
		case '{', '}', '[', ']', ',', ':':
			b.n = 0
		default:
			b.n++
		}
		return true
	}
	// The middle of an escape is no place to cut at.
	if b.n++; b.n > b.max && !b.cutting && !b.esc && b.hex == 0 && c != '"' {
		b.cutting = true
		b.cuts = append(b.cuts, cut{off: b.out + kept})
	}
	switch {
	case b.esc:
		b.esc = false
		if c == 'u' {
			b.hex = 4
		}
	case b.hex > 0:
		b.hex--
	case c == '\\':
		b.esc = true
	case c == '"':
		b.in, b.cutting, b.n = false, false, 0
	}
	if b.cutting {
		b.cuts[len(b.cuts)-1].lost++
	}
	return !b.cutting
}

// place is the offset in the source of what was passed on as byte off. Offsets must
// not go back.
func (b *bound) place(off int64) int64 {
	for len(b.cuts) > 0 && b.cuts[0].off < off {
		b.lost += b.cuts[0].lost
		b.cuts = b.cuts[1:]
	}
	return off + b.lost
}

// isCut tells whether something is missing in the passed bytes from a to e.
func (b *bound) isCut(a, e int64) bool {
	for _, c := range b.cuts {
		if c.off > a && c.off <= e {
			return true
		}
	}
	return false
}
