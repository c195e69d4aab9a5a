package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stream of lines into zstd frames with their checks (FORMAT.md 2, 6). It knows
// no files: what is packed goes to out.
type packer struct {
	out io.Writer
	enc *zstd.Encoder

	frame int    // bytes of lines in the open zstd frame
	fresh int    // bytes of lines since the last flush: none of them may be out yet
	open  bool   // a zstd frame is open
	dirty bool   // lines were written since the last flush
	crc   uint32 // of the lines since the last check
	count int64  // of the lines since the last check
	last  int64  // last seq

	sha     hash.Hash // of the segment's lines but check and closing
	unsure  bool      // a chunk run is in the segment: its lines are not made, so there is no hash
	records int64     // of the segment
	runs    []uint32  // CRCs of the chunk runs since the last check

	buf []byte
}

func newPacker(out io.Writer, level zstd.EncoderLevel) (*packer, error) {
	enc, err := zstd.NewWriter(out,
		zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(windowSize))
	if err != nil {
		return nil, err
	}
	return &packer{out: out, enc: enc, sha: sha256.New()}, nil
}

// line adds a line (with its LF). seq is 0 for lines that take none.
func (p *packer) line(line []byte, seq int64) error {
	if len(line) > maxLine+1 {
		return fmt.Errorf("a line of %d bytes is over the format's %d", len(line), maxLine)
	}
	if p.frame > 0 && p.frame+len(line) > frameLines {
		if err := p.endFrame(); err != nil {
			return err
		}
	}
	if seq > 0 {
		p.last = seq
		p.records++
	}
	p.sha.Write(line)
	return p.raw(line)
}

// raw adds a line that the segment's hash leaves out.
func (p *packer) raw(line []byte) error {
	if !p.open {
		p.enc.Reset(p.out)
		p.open = true
	}
	p.crc = crc32.Update(p.crc, castagnoli, line)
	p.count++
	p.frame += len(line)
	p.fresh += len(line)
	p.dirty = true
	_, err := p.enc.Write(line)
	return err
}

// check writes a check for the lines since the last one, if there are any.
func (p *packer) check() error {
	if p.count == 0 && len(p.runs) == 0 {
		return nil
	}
	if !p.open {
		p.enc.Reset(p.out)
		p.open = true
	}
	p.buf = fmt.Appendf(p.buf[:0], `{"kind":"check","last":%d,"count":%d,"crc":"%08x"`, p.last, p.count, p.crc)
	for i, crc := range p.runs {
		p.buf = fmt.Appendf(p.buf, `%s"%08x"`, [2]string{`,"runs":[`, ","}[min(i, 1)], crc)
	}
	if len(p.runs) > 0 {
		p.buf = append(p.buf, ']')
	}
	p.buf = append(p.buf, "}\n"...)
	p.crc, p.count, p.runs = 0, 0, p.runs[:0]
	p.frame += len(p.buf)
	_, err := p.enc.Write(p.buf)
	return err
}

// flush makes everything so far readable, and adds no byte when nothing is new.
func (p *packer) flush() error {
	if !p.dirty {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	p.dirty, p.fresh = false, 0
	return p.enc.Flush()
}

// pending is how many bytes of lines the encoder may still hold back.
func (p *packer) pending() int { return p.fresh }

// run makes room for a chunk run of that many records, up to seq last: a
// skippable frame, whose head it writes; the run itself must follow.
func (p *packer) run(size int, crc uint32, records, last int64) error {
	if p.open {
		if err := p.endFrame(); err != nil {
			return err
		}
	}
	var head [8]byte
	le.PutUint32(head[:], runMagic)
	le.PutUint32(head[4:], uint32(size))
	p.last, p.unsure, p.dirty = last, true, true
	p.records += records
	p.runs = append(p.runs, crc)
	_, err := p.out.Write(head[:])
	return err
}

// endFrame closes the zstd frame, if one is open, with a check for all before.
func (p *packer) endFrame() error {
	if !p.open && len(p.runs) == 0 {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	p.open, p.dirty, p.frame, p.fresh = false, false, 0, 0
	return p.enc.Close()
}

// endSegment writes the closing line and ends the frame. It returns the
// segment's hash in hex; the next line begins another segment.
func (p *packer) endSegment(last, torn bool) (string, error) {
	sum := hex.EncodeToString(p.sha.Sum(nil))
	if p.unsure {
		sum = ""
	}
	line, err := appendEvent(nil, &Record{Kind: KindClosing, Closing: &Closing{
		Records: p.records, LastSeq: p.last, SHA256: sum, Last: last, Torn: torn}})
	if err != nil {
		return "", err
	}
	if err := p.raw(line); err != nil {
		return "", err
	}
	p.sha.Reset()
	p.records, p.unsure = 0, false
	return sum, p.endFrame()
}
