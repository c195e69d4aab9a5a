package serve

import (
	"bufio"
	"errors"
	"fmt"
	"os"
)

// spoolMemory is how many bytes are held before a file is made: most recordings
// need none.
const spoolMemory = 4 << 20

// spoolPiece is how much memory is taken at a time, in bytes.
const spoolPiece = 256 << 10

// spool keeps the bytes that are played: in memory, and from spoolMemory on in a
// temporary file that no name leads to, so that nothing of it is left whatever ends
// the program. It is written first and read afterwards, then by many at once.
type spool struct {
	mem  [][]byte // pieces of spoolPiece bytes, all but the last full
	held int64    // bytes in them
	file *os.File
	w    *bufio.Writer
	size int64
}

// place is where bytes stand in the spool.
type place struct {
	off int64
	n   int32 // less than maxLine
}

// spoolWrite is the size in bytes of a write to the file.
const spoolWrite = 256 << 10

// add keeps parts, one behind the other.
func (s *spool) add(parts ...[]byte) (place, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	at := place{s.size, int32(n)}
	if s.file == nil && s.held+int64(n) > spoolMemory {
		f, err := os.CreateTemp("", "sixlink-replay-") // 0600
		if err != nil {
			return at, fmt.Errorf("spool: %w", err)
		}
		os.Remove(f.Name())
		s.file, s.w = f, bufio.NewWriterSize(f, spoolWrite)
	}
	s.size += int64(n)
	for _, p := range parts {
		if s.file == nil {
			s.hold(p)
		} else if _, err := s.w.Write(p); err != nil {
			return at, fmt.Errorf("spool: %w", err)
		}
	}
	return at, nil
}

// hold keeps p in memory, without moving what is there.
func (s *spool) hold(p []byte) {
	s.held += int64(len(p))
	for len(p) > 0 {
		last := len(s.mem) - 1
		if last < 0 || len(s.mem[last]) == spoolPiece {
			s.mem = append(s.mem, make([]byte, 0, spoolPiece))
			last++
		}
		n := min(len(p), spoolPiece-len(s.mem[last]))
		s.mem[last] = append(s.mem[last], p[:n]...)
		p = p[n:]
	}
}

// sealed ends the writing.
func (s *spool) sealed() error {
	if s.w == nil {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.w = nil
	return nil
}

// read returns a copy of what stands at a place.
func (s *spool) read(p place) ([]byte, error) {
	out := make([]byte, p.n)
	switch {
	case p.off+int64(p.n) <= s.held:
		for got := 0; got < len(out); {
			at := p.off + int64(got)
			got += copy(out[got:], s.mem[at/spoolPiece][at%spoolPiece:])
		}
		return out, nil
	case s.file == nil:
		return nil, errors.New("spool: nothing was written there")
	}
	_, err := s.file.ReadAt(out, p.off-s.held)
	return out, err
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
	}
}
