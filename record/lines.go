package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// arenaSize is how much is unpacked at a time. Lines point into arenas, which
// are never used again, so that a line may be kept.
const arenaSize = 256 << 10

// lineReader unpacks one file of a recording into its lines.
type lineReader struct {
	z        *zframes
	dec      *zstd.Decoder
	decoders *Decoders // that dec is given back to
	file     int32
	plain    bool // the file is not packed
	inside   bool // a frame is being unpacked
	src      io.Reader
	frame    int64 // its offset
	off      int64 // of buf[0] in the unpacked frame
	buf      []byte
	// arena is what buf is in, whose first byte stands at arenaOff in the frame.
	arena     []byte
	used      [][]byte // arenas of decoders, to be given back
	arenaSize int      // of the next one: a small file's first is smaller
	arenaOff  int64
	// piece is the frame that ended last, if all of it is in one arena.
	piece storedFrame
	run   item   // read and not given out
	left  *int64 // unpacked bytes that are still allowed, over all files
	max   int    // bytes that the next line may have: the header's limit at first
	end   error  // how the file ended, once it did
}

// errTooMuch and its like are limits: what hits one is refused, not torn.
var errTooMuch = errors.New("unpacks to more than the limit (--max-decompressed)")

type limitError struct{ what string }

func (e *limitError) Error() string { return e.what }

func newLineReader(r io.Reader, size int64, file int32, left *int64, decoders *Decoders) (*lineReader, error) {
	dec, err := decoders.take()
	if err != nil {
		return nil, err
	}
	l := &lineReader{z: newZframes(r, 0, size), arenaSize: int(min(arenaSize, max(16<<10, 8*size))), dec: dec, decoders: decoders, file: file, left: left, max: maxHeader}
	if decoders != nil {
		l.arenaSize = arenaSize // one that was used before costs nothing
	}
	// Recordings that somebody unpacked read like packed ones.
	if head, _ := l.z.r.Peek(len(plainHead)); len(head) > 0 && strings.HasPrefix(plainHead, string(head)) {
		l.plain, l.inside, l.src = true, true, l.z.r
	}
	return l, nil
}

const plainHead = `{"kind":"header"`

func (l *lineReader) close() {
	l.decoders.give(l.dec)
	l.dec = nil
}

// free gives the memory back that lines and their records point into.
func (l *lineReader) free() {
	for _, a := range l.used {
		l.decoders.giveArena(a)
	}
	l.used, l.arena, l.buf, l.piece = nil, nil, nil, storedFrame{}
}

// Decoders are zstd decoders, and memory to unpack into, that nobody uses at the
// moment, for who reads many recordings: a new decoder makes and clears over a
// MiB, more than many a recording has. It may be used by several goroutines; a
// nil one keeps none.
type Decoders struct {
	mu     sync.Mutex
	free   []*zstd.Decoder
	arenas [][]byte
}

// sparePerReader bounds the arenas that one reader takes from Decoders, and so
// what it gives back: a small recording needs one, a long one's are garbage.
const sparePerReader = 2

func (d *Decoders) takeArena() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.arenas)
	if n == 0 {
		return make([]byte, 0, arenaSize)
	}
	a := d.arenas[n-1]
	d.arenas = d.arenas[:n-1]
	return a
}

func (d *Decoders) giveArena(a []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.arenas = append(d.arenas, a[:0])
}

func (d *Decoders) take() (*zstd.Decoder, error) {
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if n := len(d.free); n > 0 {
			dec := d.free[n-1]
			d.free = d.free[:n-1]
			return dec, nil
		}
	}
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(64<<20))
}

// give takes a decoder back, which must not be used any more.
func (d *Decoders) give(dec *zstd.Decoder) {
	switch {
	case dec == nil:
	case d != nil && dec.Reset(nil) == nil:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.free = append(d.free, dec)
	default:
		dec.Close()
	}
}

// item is a line, or a chunk run with all of its lines.
type item struct {
	line []byte // without its LF
	ref  Ref
	run  *runReader
	crc  uint32 // of the run
	size int    // of the run, in bytes
}

// next returns the next line or run. io.EOF: the file ends between them. Any
// other error is where and why it cannot be read on; bytes of a line that has no
// end yet are never returned.
func (l *lineReader) next() (item, error) {
	scanned := 0
	for {
		if l.run.run != nil {
			it := l.run
			l.run = item{}
			return it, nil
		}
		if i := bytes.IndexByte(l.buf[scanned:], '\n'); i >= 0 {
			i += scanned
			if i > l.max {
				return item{}, l.tooLong()
			}
			it := item{line: l.buf[:i:i], ref: Ref{File: l.file, Frame: l.frame, Off: l.off, Len: int32(i)}}
			l.buf = l.buf[i+1:]
			l.off += int64(i + 1)
			l.max = maxLine
			return it, nil
		}
		scanned = len(l.buf)
		if scanned > l.max {
			return item{}, l.tooLong()
		}
		if l.end != nil {
			return item{}, l.end
		}
		l.fill()
	}
}

func (l *lineReader) tooLong() error {
	if l.max == maxHeader {
		return &limitError{fmt.Sprintf("has no header within %d bytes", maxHeader)}
	}
	return &limitError{fmt.Sprintf("has a line of over %d bytes", maxLine)}
}

// fill unpacks some more into buf, or sets end.
func (l *lineReader) fill() {
	if !l.inside && !l.open() {
		return
	}
	if len(l.buf) == cap(l.buf) {
		size := l.arenaSize
		l.arenaSize = arenaSize
		for size < 2*len(l.buf) {
			size *= 2
		}
		if size == arenaSize && l.decoders != nil && len(l.used) < sparePerReader {
			l.arena = l.decoders.takeArena()
			l.used = append(l.used, l.arena)
		} else {
			l.arena = make([]byte, 0, size)
		}
		l.arenaOff = l.off
		l.buf = append(l.arena, l.buf...)
	}
	room := l.buf[len(l.buf):cap(l.buf)]
	n, err := l.src.Read(room)
	l.buf = l.buf[:len(l.buf)+n]
	if *l.left -= int64(n); *l.left < 0 {
		l.end = &limitError{errTooMuch.Error()}
		return
	}
	switch {
	case err == nil:
	case err == io.EOF && l.plain:
		l.end = io.EOF
		if bytes.LastIndexByte(l.buf, '\n') != len(l.buf)-1 {
			l.end = io.ErrUnexpectedEOF
		}
	case err == io.EOF:
		l.inside = false
		if i := bytes.LastIndexByte(l.buf, '\n'); i != len(l.buf)-1 {
			l.end = &DamageError{Offset: l.frame, What: "a zstd frame ends inside a line"}
		}
		l.piece = storedFrame{}
		if l.arenaOff == 0 {
			l.piece = storedFrame{l.file, l.frame, l.arena[:l.off+int64(len(l.buf))]}
		}
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		l.end = &limitError{fmt.Sprintf("wants a window of over %d MiB", maxWindow>>20)}
	case errors.Is(err, io.ErrUnexpectedEOF) && l.z.end:
		l.end = io.ErrUnexpectedEOF
	default: // the decoder says so too of a block that has all of its bytes and ends too early
		l.end = &DamageError{Offset: l.frame, What: err.Error()}
	}
}

// open begins the next zstd frame, passing over skippable ones.
func (l *lineReader) open() bool {
	for {
		// A frame ends between lines, so the next one's offsets start at 0 only
		// when the lines before are taken.
		if len(l.buf) > 0 {
			l.end = &DamageError{Offset: l.frame, What: "a zstd frame ends inside a line"}
			return false
		}
		at := l.z.off
		typ, magic, r, err := l.z.next()
		switch {
		case errors.Is(err, errNotZstd):
			l.end = &DamageError{Offset: at, What: err.Error()}
			return false
		case err != nil:
			l.end = err
			return false
		case typ == skipFrame:
			if magic == runMagic {
				l.end = l.readRun(at, r)
				return false
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				l.end = noEOF(err)
				return false
			}
			continue
		}
		if err := l.dec.Reset(r); err != nil {
			l.end = &DamageError{Offset: at, What: err.Error()}
			return false
		}
		l.src, l.frame, l.off, l.inside = l.dec, at, 0, true
		// A new arena: lines of the frame before may still be in use.
		l.buf = nil
		return true
	}
}

// readRun reads a skippable frame that is a chunk run.
func (l *lineReader) readRun(at int64, r io.Reader) error {
	// A size that is only said is not believed at once; most runs are under a MiB.
	var all bytes.Buffer
	if l, ok := r.(*limited); ok {
		all.Grow(int(min(l.n, 1<<20)) + bytes.MinRead)
	}
	if _, err := all.ReadFrom(io.LimitReader(r, maxRun+1)); err != nil {
		return noEOF(err)
	}
	run := all.Bytes()
	if len(run) > maxRun {
		return &limitError{fmt.Sprintf("has a chunk run of over %d bytes", maxRun)}
	}
	if *l.left -= int64(len(run)); *l.left < 0 {
		return &limitError{errTooMuch.Error()}
	}
	rr, crc, err := openRun(run)
	if err != nil {
		var limit *limitError
		if !errors.As(err, &limit) {
			err = &DamageError{Offset: at, What: err.Error()}
		}
		return err
	}
	l.run = item{run: rr, crc: crc, size: len(run), ref: Ref{File: l.file, Frame: at}}
	return nil
}

// DamageError tells where a recording cannot be right, as opposed to cut off.
type DamageError struct {
	Offset int64 // of the zstd frame in its file, in bytes
	What   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("damaged in the zstd frame at byte %d: %s", e.Offset, e.What)
}
