package record

import "bytes"

// entry is what the relay offered, in the order of the queue: everything that
// the recorder writes is decided here, under the queue's lock, so that turning
// entries into lines is the same work at any time (FORMAT.md 7 stores entries
// as they are).
type entry struct {
	typ      entryType
	from     From
	headless bool  // data: its first byte goes on with a line whose beginning was lost
	cut      bool  // data: after its last LF the line is cut (its part is complete)
	whole    bool  // cut: nothing may wait for what follows, since that is lost
	after    int64 // data: the last seq taken before this entry
	seqs     int64 // how many seqs it takes
	at       int64
	off      int64 // data: offset of its first byte in its direction
	data     []byte
	event    *Record // event and gap: the record, its seq filled in
}

type entryType uint8

const (
	entryData entryType = iota + 1
	entryCut            // the open part of from ends here, with a seq of its own
	entryEnd            // from is at its end; takes a seq when a line is open
	entryEvent
)

// framer makes the frames of one direction out of its entries.
type framer struct {
	from     From
	buf      []byte // bytes of the open line that are not in a frame yet
	off      int64  // of buf's first byte
	open     bool   // a line is open (buf may be empty after a cut)
	reads    int    // entries that the open part came in
	since    Since
	cont     bool
	headless bool
	length   int64 // bytes of the open line that are in parts already
	// held tells how many bytes at the end of a part must wait for what follows,
	// since a credential may begin there. They open the next part.
	held func([]byte) int
}

// add turns one entry of the framer's direction into frames. emit must not keep
// the frame or its data.
func (f *framer) add(e *entry, emit func(*frame)) {
	seq := e.after
	if e.typ == entryData {
		f.data(e, &seq, emit)
		if !e.cut {
			return
		}
	}
	if e.typ != entryData && e.seqs == 0 {
		return // nothing is open
	}
	seq++
	fr := frame{seq: seq, at: e.at, more: e.typ != entryEnd}
	keep := 0
	if fr.more && !e.whole && f.held != nil {
		keep = f.held(f.buf)
	}
	fr.data = f.buf[:len(f.buf)-keep]
	f.emit(&fr, emit)
	rest := copy(f.buf, f.buf[len(f.buf)-keep:])
	f.reset(f.buf[:rest])
	f.off += int64(len(fr.data))
	if fr.more {
		f.length += int64(len(fr.data))
		f.cont, f.open = true, true
		f.since, f.reads = Since{After: seq, At: e.at}, 0
		if rest > 0 {
			f.reads = 1
		}
	} else {
		f.open, f.cont, f.length = false, false, 0
	}
}

func (f *framer) data(e *entry, seq *int64, emit func(*frame)) {
	p, off := e.data, e.off
	if e.headless {
		// What was open before the gap was cut off when the gap began.
		f.reset(f.buf[:0])
		f.open, f.headless, f.cont, f.length = true, true, false, 0
		f.off, f.reads, f.since = off, 0, Since{After: e.after, At: e.at}
	}
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		*seq++
		fr := frame{seq: *seq, at: e.at}
		if len(f.buf) == 0 {
			if !f.open {
				f.off, f.reads = off, 0
			}
			fr.data = p[:i+1]
		} else {
			f.buf = append(f.buf, p[:i+1]...)
			fr.data = f.buf
		}
		f.reads++
		f.emit(&fr, emit)
		f.reset(f.buf[:0])
		f.open, f.cont, f.length = false, false, 0
		p, off = p[i+1:], off+int64(i+1)
	}
	if len(p) == 0 {
		return
	}
	if !f.open {
		f.open, f.off, f.reads = true, off, 0
		f.since = Since{After: *seq, At: e.at}
	}
	if len(f.buf) == 0 && f.reads == 0 {
		f.since = Since{After: *seq, At: e.at}
	}
	f.buf = append(f.buf, p...)
	f.reads++
}

func (f *framer) emit(fr *frame, emit func(*frame)) {
	fr.from, fr.off, fr.cont, fr.headless = f.from, f.off, f.cont, f.headless
	fr.total = f.length + int64(len(fr.data))
	if f.reads > 1 {
		since := f.since
		fr.since = &since
	}
	emit(fr)
	f.headless = false
}

// lost ends what a gap swallowed the end of.
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
