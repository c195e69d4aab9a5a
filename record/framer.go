package record

import "bytes"

// entry is what the relay offered, in the order of the queue: which records it
// makes is decided here, under the queue's lock, so that the order of the queue
// is the order of seq.
type entry struct {
	typ      entryType
	from     From
	headless bool  // data: its first byte goes on with a line whose beginning was lost
	again    bool  // data: more of the read that the entry before is from
	cut      bool  // data: after its last LF the line is cut (its part is complete)
	whole    bool  // cut, body: nothing may wait for what follows, since that is lost
	after    int64 // data: the last seq taken before this entry
	seqs     int64 // how many seqs it takes
	at       int64
	off      int64 // data: offset of its first byte in its direction
	data     []byte
	event    *Record // event and gap: the record, its seq filled in

	// Of a piece of a body. With whole nothing more comes of it, though it has no end.
	exchange int64
	end      BodyEnd
	class    class
	extra    *bodyExtra // nil: nothing
}

// bodyExtra is what few entries have.
type bodyExtra struct {
	trailers Fields
	patch    []Patch
	gone     []bodyKey // of a gap: bodies that the recorder knows and that ended in it
}

type entryType uint8

const (
	entryData entryType = iota + 1
	entryCut            // the open part of from ends here, with a seq of its own
	entryEnd            // from is at its end; takes a seq when a line is open
	entryEvent
	entryBody // a piece of a body of HTTP
)

// block is whole frames of one direction that follow each other: what one read
// completed. It is split into frames now, or stored as it is and split when it
// is read (FORMAT.md 7).
type block struct {
	from From
	seq  int64 // of its first frame; each line end takes one, and so does what stands behind the last
	at   int64
	off  int64
	// Of its first frame: whether it continues a line, how many bytes of that
	// line were in parts before, and when it began if not in this read.
	cont     bool
	headless bool
	length   int64
	since    *Since
	// Of its last frame: more says that it ends in a part of a line. A last
	// frame without a line end and without more is an unterminated tail.
	more bool
	last bool // there is a frame behind the last line end, perhaps an empty one
	data []byte
	ends int64 // line ends in data
	// copied says that data is not where the relay's bytes are kept, and only
	// valid during the call that gives the block.
	copied bool
	// masked counts offsets from the block's first byte.
	masked []Mask
}

// frames gives the block's frames one by one, in fr, which the caller lends so
// that none is allocated.
func (b *block) frames(fr *frame, give func(*frame)) {
	p, off, seq := b.data, b.off, b.seq
	masked := b.masked
	*fr = frame{at: b.at, from: b.from, cont: b.cont, headless: b.headless, since: b.since, total: b.length}
	for {
		i := indexLF(p)
		if i < 0 && !b.last {
			return
		}
		fr.data = p
		if i >= 0 {
			fr.data = p[:i+1]
		} else {
			fr.more = b.more
		}
		fr.seq, fr.off = seq, off
		fr.total += int64(len(fr.data))
		n := 0
		for n < len(masked) && masked[n].Off < off-b.off+int64(len(fr.data)) {
			n++
		}
		if fr.masked = masked[:n:n]; n > 0 && off > b.off {
			fr.masked = append([]Mask(nil), fr.masked...)
			for j := range fr.masked {
				fr.masked[j].Off -= off - b.off
			}
		}
		masked = masked[n:]
		give(fr)
		if i < 0 {
			return
		}
		p, off, seq = p[i+1:], off+int64(i+1), seq+1
		fr.cont, fr.headless, fr.since, fr.total = false, false, nil, 0
	}
}

// framer makes the blocks of one direction out of its entries.
type framer struct {
	from     From
	buf      []byte // bytes of the open line that are not in a frame yet
	off      int64  // of buf's first byte
	open     bool   // a line is open (buf may be empty after a cut)
	reads    int    // reads that the open part came in
	since    Since
	cont     bool
	headless bool
	length   int64 // bytes of the open line that are in parts already
	// held tells how many bytes at the end of a part must wait for what follows,
	// since a credential may begin there. They open the next part.
	held func([]byte) int

	out   block // the block that was given last, and its since: nothing is allocated for one
	begun Since
}

// add turns one entry of the framer's direction into blocks. give must not keep
// the block or its data.
func (f *framer) add(e *entry, give func(*block)) {
	seq := e.after
	if e.typ == entryData {
		seq += f.data(e, give)
		if !e.cut {
			return
		}
	}
	if e.typ != entryData && e.seqs == 0 {
		return // nothing is open
	}
	seq++
	b := f.block(seq, e.at)
	b.last, b.more, b.copied = true, e.typ != entryEnd, true
	keep := 0
	if b.more && !e.whole && f.held != nil {
		keep = f.held(f.buf)
	}
	b.data = f.buf[:len(f.buf)-keep]
	n := int64(len(b.data))
	give(b)
	f.headless = false
	rest := copy(f.buf, f.buf[len(f.buf)-keep:])
	f.reset(f.buf[:rest])
	f.off += n
	if !b.more {
		f.open, f.cont, f.length = false, false, 0
		return
	}
	f.length += n
	f.cont, f.open = true, true
	f.since, f.reads = Since{After: seq, At: e.at}, 0
	if rest > 0 {
		f.reads = 1
	}
}

// data adds bytes, gives the lines that they complete, and returns how many.
func (f *framer) data(e *entry, give func(*block)) (lines int64) {
	p := e.data
	if e.headless {
		// What was open before the gap was cut off when the gap began.
		f.lost()
		f.open, f.headless, f.off = true, true, e.off
	}
	if !f.open {
		f.open, f.off, f.reads = true, e.off, 0
	}
	if f.reads == 0 {
		f.since = Since{After: e.after, At: e.at}
	}
	if f.reads == 0 || !e.again {
		f.reads++
	}
	i := lastLF(p)
	if i < 0 {
		f.buf = append(f.buf, p...)
		return 0
	}
	off, seq := e.off, e.after+1
	if len(f.buf) > 0 {
		// The open line is completed in the buffer, what follows stays where it is.
		n := indexLF(p) + 1
		f.buf = append(f.buf, p[:n]...)
		b := f.block(seq, e.at)
		b.data, b.ends, b.copied = f.buf, 1, true
		give(b)
		f.lost()
		p, off, seq, i = p[n:], off+int64(n), seq+1, i-n
		f.off, f.reads = off, 1
	}
	if i >= 0 {
		b := f.block(seq, e.at)
		b.data, b.ends = p[:i+1], e.seqs-(seq-e.after-1)
		if e.cut {
			b.ends--
		}
		give(b)
		f.lost()
		p, off, seq = p[i+1:], off+int64(i+1), seq+b.ends
	}
	f.off, f.open, f.reads = off, len(p) > 0, 1
	f.since = Since{After: seq - 1, At: e.at}
	f.buf = append(f.buf, p...)
	return seq - 1 - e.after
}

func (f *framer) block(seq, at int64) *block {
	f.out = block{from: f.from, seq: seq, at: at, off: f.off, cont: f.cont, headless: f.headless, length: f.length,
		masked: f.out.masked[:0]}
	if f.reads > 1 {
		f.begun = f.since
		f.out.since = &f.begun
	}
	return &f.out
}

// lost ends the open line: it is complete, or a gap swallowed its end.
func (f *framer) lost() {
	f.reset(f.buf[:0])
	f.open, f.cont, f.headless, f.length = false, false, false, 0
}

// reset keeps a small buffer for the next line and lets a large one go.
func (f *framer) reset(buf []byte) {
	if cap(buf) > 256<<10 && len(buf) < 4<<10 {
		buf = append([]byte(nil), buf...)
	}
	f.buf = buf
}

func indexLF(p []byte) int { return bytes.IndexByte(p, '\n') }

// lastLF looks backwards in blocks: bytes.LastIndexByte looks at one byte after
// the other, which took 14 % of the recorder's time on lines of 20 kB.
func lastLF(p []byte) int {
	const block = 256
	for len(p) > block {
		at := len(p) - block
		if bytes.IndexByte(p[at:], '\n') >= 0 {
			return at + bytes.LastIndexByte(p[at:], '\n')
		}
		p = p[:at]
	}
	return bytes.LastIndexByte(p, '\n')
}

func countLF(p []byte) int64 { return int64(bytes.Count(p, newline)) }
