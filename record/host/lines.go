package host

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// DefaultMaxLine bounds a line, in bytes. The longest lines seen hold images of
// some MiB as base64; a longer line is counted and not read.
const DefaultMaxLine = 32 << 20

var bom = []byte("\xef\xbb\xbf")

// Lines reads lines with a bound. It takes LF and CRLF, drops a byte order mark
// at the start, and tells a last line without an end. It hashes what it reads.
type Lines struct {
	r       *bufio.Reader
	sum     hash.Hash
	max     int
	buf     []byte
	n       int64 // lines so far
	read    int64 // bytes so far
	tooLong bool
	cut     bool
	err     error
}

// NewLines returns a reader of lines of at most max bytes; 0: DefaultMaxLine.
func NewLines(r io.Reader, max int) *Lines {
	if max <= 0 {
		max = DefaultMaxLine
	}
	sum := sha256.New()
	return &Lines{r: bufio.NewReaderSize(io.TeeReader(r, sum), 64<<10), sum: sum, max: max}
}

// Next goes to the next line; false at the end or on an error.
func (l *Lines) Next() bool {
	if l.err != nil {
		return false
	}
	l.buf, l.tooLong, l.cut = l.buf[:0], false, false
	any := false
	for {
		part, err := l.r.ReadSlice('\n')
		any = any || len(part) > 0
		l.read += int64(len(part))
		if len(l.buf)+len(part) > l.max+2 {
			l.tooLong = true
			l.buf = l.buf[:0]
		}
		if !l.tooLong {
			l.buf = append(l.buf, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			l.err = err
			if !any || err != io.EOF {
				return false
			}
			l.cut = true
		}
		break
	}
	if l.n == 0 {
		l.buf = bytes.TrimPrefix(l.buf, bom)
	}
	l.n++
	l.buf = bytes.TrimSuffix(l.buf, []byte("\n"))
	l.buf = bytes.TrimSuffix(l.buf, []byte("\r"))
	return true
}

// Bytes is the line without its end; it holds until the next call of Next.
func (l *Lines) Bytes() []byte { return l.buf }

// Number is the line's number from 1.
func (l *Lines) Number() int64 { return l.n }

// Blank says that the line has only white space.
func (l *Lines) Blank() bool { return !l.tooLong && len(bytes.TrimSpace(l.buf)) == 0 }

// TooLong says that the line is over the bound; Bytes is then empty.
func (l *Lines) TooLong() bool { return l.tooLong }

// Unended says that the line is the last and has no end of line: it may be cut.
func (l *Lines) Unended() bool { return l.cut }

// Err is what kept the lines from being read to the end.
func (l *Lines) Err() error {
	if l.err == io.EOF {
		return nil
	}
	return l.err
}

// Read returns how many bytes were read.
func (l *Lines) Read() int64 { return l.read }

// Sum returns the size and the SHA-256 of what was read; at the end, of all.
func (l *Lines) Sum() (int64, string) {
	return l.read, hex.EncodeToString(l.sum.Sum(nil))
}
