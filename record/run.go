package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A chunk run is what the relay offered, stored as it came (FORMAT.md 7): the
// recorder's way to keep up when traffic is faster than lines can be made.
const (
	runHead    = 12      // magic, version, length of the entries
	runEntry   = 64      // an entry before its credentials and bytes
	runMask    = 20      // one credential
	runLimit   = 4 << 20 // a run is ended after that many bytes
	maxRun     = 12 << 20
	runVersion = 1
	// runBodies is the version of a run that has pieces of bodies in it: a reader of
	// version 1 must not take them for damage.
	runBodies = 2
)

const (
	runFrames = 1 // the entry is whole frames
	runLine   = 2 // the entry is a record's line
	runBody   = 3 // the entry is a piece of a body
)

// Flags of a piece of a body.
const (
	runBodyLast = 1 << iota
	runBodyCut
)

const (
	runCont = 1 << iota
	runHeadless
	runMore
	runLast
	runSince
)

var (
	runStart = [4]byte{'6', 'L', 'C', 'R'}
	errRun   = errors.New("a chunk run is malformed")
	le       = binary.LittleEndian
)

// beginRun appends the head of a run. appendPiece changes the version in it.
func beginRun(dst []byte) []byte {
	dst = append(dst, runStart[:]...)
	return append(dst, runVersion, 0, 0, 0, 0, 0, 0, 0)
}

// sealRun completes a run of size bytes and returns its parts in order, its CRC
// last: that is what the next check names.
func sealRun(vec [][]byte, chunks []byte, pieces []runPiece, size int) [][]byte {
	le.PutUint32(chunks[8:], uint32(size-runHead))
	at := 0
	for _, p := range pieces {
		vec = append(vec, chunks[at:p.at], p.data)
		at = p.at
	}
	if at < len(chunks) {
		vec = append(vec, chunks[at:])
	}
	crc := uint32(0)
	for _, v := range vec {
		crc = crc32.Update(crc, castagnoli, v)
	}
	return append(vec, le.AppendUint32(nil, crc))
}

// appendBlock appends an entry of frames, but for its bytes.
func appendBlock(dst []byte, b *block) []byte {
	var flags uint16
	for i, set := range [5]bool{b.cont, b.headless, b.more, b.last, b.since != nil} {
		if set {
			flags |= 1 << i
		}
	}
	var since Since
	if b.since != nil {
		since = *b.since
	}
	dst = append(dst, runFrames, byte(index(b.from))+1)
	dst = le.AppendUint16(dst, flags)
	dst = le.AppendUint32(dst, uint32(len(b.masked)))
	for _, n := range [6]int64{b.seq, b.at, b.off, b.length, since.After, since.At} {
		dst = le.AppendUint64(dst, uint64(n))
	}
	dst = le.AppendUint32(dst, uint32(len(b.data)))
	dst = le.AppendUint32(dst, 0)
	return appendRunMasks(dst, b.masked)
}

// appendPiece appends an entry of a piece of a body, but for its bytes.
func appendPiece(dst []byte, e *entry, off int64, n int, masked []Mask) []byte {
	dst[4] = runBodies
	var flags uint16
	switch e.end {
	case BodyLast:
		flags = runBodyLast
	case BodyCut:
		flags = runBodyCut
	}
	dst = append(dst, runBody, byte(index(e.from))+1)
	dst = le.AppendUint16(dst, flags)
	dst = le.AppendUint32(dst, uint32(len(masked)))
	for _, v := range [6]int64{e.after + 1, e.at, off, e.exchange} {
		dst = le.AppendUint64(dst, uint64(v))
	}
	dst = le.AppendUint32(dst, uint32(n))
	dst = le.AppendUint32(dst, 0)
	return appendRunMasks(dst, masked)
}

func appendRunMasks(dst []byte, masked []Mask) []byte {
	for _, m := range masked {
		dst = le.AppendUint32(dst, uint32(m.Off))
		dst = le.AppendUint32(dst, uint32(m.Len))
		var mac [12]byte
		copy(mac[:], m.MAC)
		dst = append(dst, mac[:]...)
	}
	return dst
}

// appendRunLine appends an entry that is a record's line, with its LF.
func appendRunLine(dst, line []byte) []byte {
	var head [runEntry]byte
	head[0] = runLine
	le.PutUint32(head[56:], uint32(len(line)))
	return append(append(dst, head[:]...), line...)
}

// runReader gives the lines that a run stands for, one by one: a run of line
// feeds has a record for every byte.
type runReader struct {
	rest  []byte
	block block  // what is left of the current entry
	lines []byte // made and not given out
	n     int64  // lines given out
	// verbatim says that the line given last stands in the run, and was not made
	// of a frame or a piece of a body.
	verbatim bool
	bodies   bool // there may be pieces of bodies
}

// openRun checks a run's head and CRC.
func openRun(run []byte) (*runReader, uint32, error) {
	if len(run) < runHead+4 || [4]byte(run[:4]) != runStart {
		return nil, 0, errRun
	}
	if run[4] != runVersion && run[4] != runBodies {
		return nil, 0, &limitError{fmt.Sprintf("holds chunk runs of version %d, this sixlink reads %d and %d: upgrade", run[4], runVersion, runBodies)}
	}
	body := run[:len(run)-4]
	crc := crc32.Checksum(body, castagnoli)
	if uint64(le.Uint32(run[8:])) != uint64(len(body)-runHead) || le.Uint32(run[len(body):]) != crc {
		return nil, 0, errRun
	}
	return &runReader{rest: body[runHead:], bodies: run[4] == runBodies}, crc, nil
}

// next returns a line without its LF; nil at the end.
func (r *runReader) next() ([]byte, error) {
	for len(r.lines) == 0 {
		if len(r.block.data) == 0 && !r.block.last {
			if len(r.rest) == 0 {
				return nil, nil
			}
			if err := r.read(); err != nil {
				return nil, err
			}
			continue
		}
		r.step()
	}
	i := indexLF(r.lines)
	line := r.lines[:i:i]
	r.lines = r.lines[i+1:]
	r.n++
	return line, nil
}

// read takes the next entry off the run.
func (r *runReader) read() error {
	p := r.rest
	if len(p) < runEntry {
		return errRun
	}
	typ, from, flags := p[0], int(p[1]), le.Uint16(p[2:])
	masks, n := uint64(le.Uint32(p[4:])), uint64(le.Uint32(p[56:]))
	if masks*runMask+n > uint64(len(p)-runEntry) {
		return errRun
	}
	var nums [6]int64
	for i := range nums {
		v := le.Uint64(p[8+8*i:])
		if v > math.MaxInt64/4 {
			return errRun
		}
		nums[i] = int64(v)
	}
	p = p[runEntry:]
	if r.verbatim = typ == runLine; r.verbatim {
		r.lines, r.rest = p[:n:n], p[n:]
		if n < 2 || indexLF(r.lines) != int(n)-1 {
			return errRun
		}
		return nil
	}
	if from < 1 || from > 3 || typ != runFrames && !(typ == runBody && r.bodies && from < 3) {
		return errRun
	}
	masked, err := readRunMasks(p, int(masks), int64(n))
	if err != nil {
		return err
	}
	p = p[int(masks)*runMask:]
	if typ == runBody {
		return r.piece(directions[from-1], flags, nums, masked, p[:n:n], p[n:])
	}
	b := block{from: directions[from-1], seq: nums[0], at: nums[1], off: nums[2], length: nums[3],
		cont: flags&runCont != 0, headless: flags&runHeadless != 0, more: flags&runMore != 0, last: flags&runLast != 0}
	if flags&runSince != 0 {
		b.since = &Since{nums[4], nums[5]}
	}
	b.masked = masked
	b.data, r.rest = p[:n:n], p[n:]
	if !b.last && (n == 0 || b.data[n-1] != '\n') {
		return errRun // bytes behind the last line end are no frame
	}
	r.block = b
	return nil
}

// readRunMasks reads the n credentials of an entry of size bytes.
func readRunMasks(p []byte, n int, size int64) (masked []Mask, err error) {
	for range n {
		m := Mask{Off: int64(le.Uint32(p)), Len: int64(le.Uint32(p[4:]))}
		if p[8] != 0 {
			m.MAC = string(p[8:20])
		}
		if m.Off+m.Len > size || len(masked) > 0 && m.Off < masked[len(masked)-1].Off {
			return nil, errRun
		}
		masked = append(masked, m)
		p = p[runMask:]
	}
	return masked, nil
}

// piece makes the line of a piece of a body.
func (r *runReader) piece(from From, flags uint16, nums [6]int64, masked []Mask, data, rest []byte) error {
	e := entry{from: from, after: nums[0] - 1, at: nums[1], exchange: nums[3]}
	switch flags {
	case 0:
	case runBodyLast:
		e.end = BodyLast
	case runBodyCut:
		e.end = BodyCut
	default:
		return errRun
	}
	if e.after < 0 || e.exchange < 1 || len(data) > pieceLimit {
		return errRun
	}
	r.lines, r.rest = appendBody(nil, &e, nums[2], data, masked), rest
	return nil
}

// runStep is how many bytes of an entry are made into lines at a time.
const runStep = 4 << 10

// step makes lines of some of the block.
func (r *runReader) step() {
	b := &r.block
	part := *b
	if i := lastLF(b.data[:min(len(b.data), runStep)]); i >= 0 {
		part.data = b.data[:i+1]
	} else if i := indexLF(b.data); i >= 0 {
		part.data = b.data[:i+1]
	}
	n := int64(len(part.data))
	whole := n == int64(len(b.data))
	part.last = b.last && whole && (n == 0 || part.data[n-1] != '\n')
	cut := 0
	for cut < len(b.masked) && b.masked[cut].Off < n {
		cut++
	}
	part.masked = b.masked[:cut:cut]
	r.lines = nil
	var fr frame
	part.frames(&fr, func(f *frame) { r.lines = appendFrame(r.lines, f) })
	if part.last || whole && !b.last {
		r.block = block{}
		return
	}
	rest := block{from: b.from, seq: b.seq + countLF(part.data), at: b.at, off: b.off + n, more: b.more, last: b.last, data: b.data[n:]}
	for _, m := range b.masked[cut:] {
		m.Off -= n
		rest.masked = append(rest.masked, m)
	}
	r.block = rest
}
