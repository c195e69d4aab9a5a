package record

// Above these figures in one tick (flushPeriod) the recorder stores what was
// read as it came, and makes lines again when there is less than half of it
// (recorder.md 1.1, 1.5). Making lines takes several times the work of the relay.
const (
	pressBytes = 2 << 20 // 50 MB/s
	pressLines = 800     // 20,000 a second
)

// pressure is the recorder's state while it stores chunk runs.
type pressure struct {
	pressed bool
	chunks  []byte // the run that is being made, but for pieces; empty: none
	pieces  []runPiece
	size    int     // of the run, pieces included
	records int64   // in it
	inside  loss    // what is in it, should it be lost
	held    []*slab // that pieces lie in
	vec     [][]byte
}

// runPiece is bytes of a run that stay where the relay's copy is: they go behind
// the first at bytes of chunks.
type runPiece struct {
	at   int
	data []byte
}

// pieceMin is how long bytes must be to be worth a place of their own in a
// writev.
const pieceMin = 8 << 10

// press decides how the slabs are written.
func (r *Recorder) press(slabs []*slab) {
	bytes, lines := 0, int64(0)
	for _, s := range slabs {
		bytes += len(s.buf)
		for i := range s.entries {
			lines += s.entries[i].seqs
		}
	}
	if r.pressed {
		r.pressed = bytes > pressBytes/2 || lines > pressLines/2
	} else {
		r.pressed = bytes > pressBytes || lines > pressLines
	}
	if r.cfg.press != nil {
		r.pressed = r.cfg.press()
	}
}

// store adds a block to the run.
func (r *Recorder) store(b *block) {
	if len(r.chunks) == 0 {
		r.chunks = beginRun(r.chunks)
		r.size = len(r.chunks)
	}
	before := len(r.chunks)
	r.chunks = appendBlock(r.chunks, b)
	r.size += len(r.chunks) - before
	if !b.copied && len(b.data) >= pieceMin {
		r.pieces = append(r.pieces, runPiece{len(r.chunks), b.data})
	} else {
		r.chunks = append(r.chunks, b.data...)
	}
	r.size += len(b.data)
	m := meta{seq: b.seq, at: b.at, from: b.from, off: b.off, bytes: int64(len(b.data)), ends: b.ends}
	n := b.ends
	if b.last {
		n++
	}
	m.last = b.seq + n - 1
	r.stored(m, n)
}

// storeLine adds the line of a record that is no frame.
func (r *Recorder) storeLine(m meta, line []byte) {
	if len(r.chunks) == 0 {
		r.chunks = beginRun(r.chunks)
		r.size = len(r.chunks)
	}
	before := len(r.chunks)
	r.chunks = appendRunLine(r.chunks, line)
	r.size += len(r.chunks) - before
	r.stored(m, 1)
}

func (r *Recorder) stored(m meta, records int64) {
	r.inside.add(&m)
	r.records += records
	if r.size >= runLimit {
		r.endRun()
	}
}

// endRun writes the run, if there is one, and lets go of the slabs in it.
func (r *Recorder) endRun() {
	if len(r.chunks) > 0 {
		r.vec = sealRun(r.vec[:0], r.chunks, r.pieces, r.size)
		r.w.addRun(r.vec, r.records, r.inside)
		clear(r.vec)
		clear(r.pieces)
	}
	r.chunks, r.pieces, r.size, r.records, r.inside = r.chunks[:0], r.pieces[:0], 0, 0, loss{}
	if !r.pressed && cap(r.chunks) > bufferBytes {
		r.chunks = nil
	}
	for i, s := range r.held {
		r.q.release(s)
		r.held[i] = nil
	}
	r.held = r.held[:0]
}
