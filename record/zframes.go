package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	zstdMagic = 0xFD2FB528
	skipMagic = 0x184D2A50 // and the 15 above it
	runMagic  = 0x184D2A58 // of a chunk run (FORMAT.md 7)
)

// frameType is what stands at an offset of a file.
type frameType uint8

const (
	zstdFrame frameType = iota + 1
	skipFrame
)

// zframes walks the zstd frames of a file (RFC 8878), so that offsets are known,
// a decoder sees one frame at a time, and skippable frames are not overlooked.
type zframes struct {
	r   *bufio.Reader
	off int64 // of the next byte of r
	end bool  // r has ended
}

// newZframes reads about size bytes of r, which stands at off.
func newZframes(r io.Reader, off, size int64) *zframes {
	return &zframes{r: bufio.NewReaderSize(r, int(min(64<<10, max(4<<10, size+1)))), off: off}
}

func (z *zframes) read(p []byte) error {
	n, err := io.ReadFull(z.r, p)
	z.off += int64(n)
	z.end = z.end || err != nil && noEOF(err) == io.ErrUnexpectedEOF
	return err
}

// next returns the next frame's type and its bytes. io.EOF: the file ends
// between frames. io.ErrUnexpectedEOF: it ends inside the first 8 bytes.
// The reader must be read to its end before next is called again.
func (z *zframes) next() (typ frameType, magic uint32, r io.Reader, err error) {
	var head [4]byte
	before := z.off
	if err := z.read(head[:]); err != nil {
		if !beginsFrame(head[:z.off-before]) {
			err = errNotZstd
		}
		return 0, 0, nil, err
	}
	switch magic = binary.LittleEndian.Uint32(head[:]); {
	case magic == zstdMagic:
		return zstdFrame, magic, &zframe{z: z, out: head[:], state: atHeader}, nil
	case magic&^15 == skipMagic:
		var size [4]byte
		if err := z.read(size[:]); err != nil {
			return 0, 0, nil, noEOF(err)
		}
		return skipFrame, magic, &limited{z: z, n: int64(binary.LittleEndian.Uint32(size[:]))}, nil
	}
	return 0, magic, nil, errNotZstd
}

// beginsFrame tells whether a frame may begin with p, which is up to 3 bytes long.
func beginsFrame(p []byte) bool {
	const zstd, skip = "\x28\xb5\x2f\xfd", "\x2a\x4d\x18" // skip: behind the first byte
	n := len(p)
	return string(p) == zstd[:n] || p[0]&^15 == skipMagic&0xff && string(p[1:]) == skip[:n-1]
}

var (
	errNotZstd    = errors.New("is no zstd data")
	errDictionary = errors.New("uses a dictionary, which recordings never do")
)

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// limited reads a skippable frame's content.
type limited struct {
	z *zframes
	n int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.n == 0 {
		return 0, io.EOF
	}
	n, err := l.z.r.Read(p[:min(int64(len(p)), l.n)])
	l.n -= int64(n)
	l.z.off += int64(n)
	if err != nil && l.n > 0 {
		err = noEOF(err)
	} else if l.n > 0 {
		err = nil
	}
	return n, err
}

// zframe passes the bytes of one zstd frame on and ends with it.
type zframe struct {
	z        *zframes
	out      []byte // to hand out before anything is read
	buf      [18]byte
	pass     int64 // bytes of a block to pass on
	state    frameState
	checksum bool
	last     bool
}

type frameState uint8

const (
	atHeader frameState = iota
	atBlock
	atChecksum
	atEnd
)

func (f *zframe) Read(p []byte) (int, error) {
	for {
		if len(f.out) > 0 {
			n := copy(p, f.out)
			f.out = f.out[n:]
			return n, nil
		}
		if f.pass > 0 {
			n, err := f.z.r.Read(p[:min(int64(len(p)), f.pass)])
			f.pass -= int64(n)
			f.z.off += int64(n)
			if n > 0 {
				return n, nil
			}
			f.z.end = err == io.EOF
			return 0, noEOF(err)
		}
		if err := f.step(); err != nil {
			return 0, err
		}
	}
}

// step reads the next small part of the frame's structure.
func (f *zframe) step() error {
	switch f.state {
	case atHeader:
		if err := f.z.read(f.buf[:1]); err != nil {
			return noEOF(err)
		}
		d := f.buf[0]
		if d&3 != 0 {
			return errDictionary
		}
		f.checksum = d&4 != 0
		single := d&32 != 0
		size := [4]int{0, 2, 4, 8}[d>>6]
		if single && size == 0 {
			size = 1
		}
		if !single {
			size++
		}
		if err := f.z.read(f.buf[1 : 1+size]); err != nil {
			return noEOF(err)
		}
		f.out, f.state = f.buf[:1+size], atBlock
	case atBlock:
		if f.last {
			f.state = atEnd
			if f.checksum {
				f.state = atChecksum
			}
			return nil
		}
		if err := f.z.read(f.buf[:3]); err != nil {
			return noEOF(err)
		}
		b := uint32(f.buf[0]) | uint32(f.buf[1])<<8 | uint32(f.buf[2])<<16
		f.last = b&1 != 0
		size := int64(b >> 3)
		switch b >> 1 & 3 {
		case 1:
			size = 1 // a byte to repeat
		case 3:
			return fmt.Errorf("has a block of the reserved type")
		}
		f.out, f.pass = f.buf[:3], size
	case atChecksum:
		if err := f.z.read(f.buf[:4]); err != nil {
			return noEOF(err)
		}
		f.out, f.state = f.buf[:4], atEnd
	case atEnd:
		return io.EOF
	}
	return nil
}
