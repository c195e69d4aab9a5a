package serve

import (
	"bufio"
	"errors"
	"fmt"
	"os"
)

// spoolMemory is how many bytes are held before a file is made: most recordings
// need none.
const spoolMemory = 8 << 20

// spool keeps the bytes that are played: in memory, and from spoolMemory on in a
// temporary file that no name leads to, so that nothing of it is left whatever ends
// the program. It is written first and read afterwards, then by many at once.
type spool struct {
	mem  []byte
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
	if s.file == nil && len(s.mem)+n > spoolMemory {
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
			s.mem = append(s.mem, p...)
		} else if _, err := s.w.Write(p); err != nil {
			return at, fmt.Errorf("spool: %w", err)
		}
	}
	return at, nil
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
	held := int64(len(s.mem))
	switch {
	case p.off+int64(p.n) <= held:
		copy(out, s.mem[p.off:])
		return out, nil
	case s.file == nil:
		return nil, errors.New("spool: nothing was written there")
	}
	_, err := s.file.ReadAt(out, p.off-held)
	return out, err
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
	}
}
