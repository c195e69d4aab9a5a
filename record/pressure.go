package record

import "time"

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
	// What came since the moment ticked, for press.
	tickBytes int
	tickLines int64
	ticked    time.Time
	making    *run // the one that is being made
	behind    behind
}

// run is a chunk run while it is made, and until it is in the file.
type run struct {
	chunks  []byte // all of it but for pieces; empty: there is nothing in it
	pieces  []runPiece
	size    int     // in the file
	records int64   // in it
	inside  loss    // what is in it, should it be lost
	held    []*slab // that pieces lie in
	vec     [][]byte
	flush   bool // and a check is written behind it
}

// runPiece is bytes of a run that stay where the relay's copy is: they go behind
// the first at bytes of chunks.
type runPiece struct {
	at   int
	data []byte
}

const (
	// pieceMin is how long bytes must be to be worth a place of their own in a
	// writev.
	pieceMin = 8 << 10
	// runSize is how large a run becomes: what masking has just looked at is still
	// in the processor's cache when it is summed up and written.
	runSize = 256 << 10
)

// press decides how the slabs are written.
func (r *Recorder) press(slabs []*slab) {
	for _, s := range slabs {
		r.tickBytes += len(s.buf)
		for i := range s.entries {
			r.tickLines += s.entries[i].seqs
		}
	}
	if r.tickBytes > pressBytes || r.tickLines > pressLines {
		r.pressed = true
	}
	// When there is much, the recorder comes more often than once a tick.
	if now := time.Now(); now.Sub(r.ticked) >= flushPeriod {
		r.pressed = r.pressed && (r.tickBytes > pressBytes/2 || r.tickLines > pressLines/2)
		r.tickBytes, r.tickLines, r.ticked = 0, 0, now
	}
	if r.cfg.press != nil {
		r.pressed = r.cfg.press()
	}
}

// store adds a block to the run.
func (r *Recorder) store(b *block) {
	u := r.begin()
	before := len(u.chunks)
	u.chunks = appendBlock(u.chunks, b)
	u.size += len(u.chunks) - before
	u.bytes(b.data, b.copied)
	m := meta{seq: b.seq, at: b.at, from: b.from, off: b.off, bytes: int64(len(b.data)), ends: b.ends}
	n := b.ends
	if b.last {
		n++
	}
	m.last = b.seq + n - 1
	r.stored(m, n)
}

// bytes adds the bytes of the entry that was appended last. copied says that they
// do not stay as long as the slab at hand.
func (u *run) bytes(p []byte, copied bool) {
	if !copied && len(p) >= pieceMin {
		u.pieces = append(u.pieces, runPiece{len(u.chunks), p})
	} else {
		u.chunks = append(u.chunks, p...)
	}
	u.size += len(p)
}

// storePiece adds a piece of a body to the run.
func (r *Recorder) storePiece(m meta, e *entry, off int64, p []byte, masked []Mask, copied bool) {
	u := r.begin()
	before := len(u.chunks)
	u.chunks = appendPiece(u.chunks, e, off, len(p), masked)
	u.size += len(u.chunks) - before
	u.bytes(p, copied)
	r.stored(m, 1)
}

// storeLine adds the line of a record that is no frame.
func (r *Recorder) storeLine(m meta, line []byte) {
	u := r.begin()
	before := len(u.chunks)
	u.chunks = appendRunLine(u.chunks, line)
	u.size += len(u.chunks) - before
	r.stored(m, 1)
}

// begin gives the run that is being made, with its head.
func (r *Recorder) begin() *run {
	u := r.some()
	if len(u.chunks) == 0 {
		u.chunks = beginRun(u.chunks)
		u.size = len(u.chunks)
	}
	return u
}

// some gives the run that is being made, which may be empty.
func (r *Recorder) some() *run {
	if r.making == nil {
		r.making = r.behind.take()
	}
	return r.making
}

func (r *Recorder) stored(m meta, records int64) {
	u := r.making
	u.inside.add(&m)
	u.records += records
	if u.size >= runLimit {
		// In the middle of a slab, which must not be given back before all that
		// is in it has been written.
		r.endRun()
		r.behind.wait()
	}
}

// passed says that all of a slab has been added: the run lets go of it when it
// is in the file.
func (r *Recorder) passed(s *slab) {
	u := r.making
	if u == nil || len(u.pieces) == 0 {
		r.q.release(s)
	} else {
		r.q.lend(s)
		u.held = append(u.held, s)
	}
	if u != nil && u.size >= runSize {
		r.endRun()
	}
}

// endPressed has all that was added written, and a check behind it.
func (r *Recorder) endPressed() {
	u := r.some()
	r.making = nil
	u.flush = true
	r.behind.give(u, r.q.much())
}

// endRun has the run written, if there is one.
func (r *Recorder) endRun() {
	if u := r.making; u != nil {
		r.making = nil
		r.behind.give(u, r.q.much())
	}
}

// writeRun writes a run and lets go of the slabs in it.
func (r *Recorder) writeRun(u *run) {
	if r.expired.Load() {
		r.w.giveUp()
	}
	if len(u.chunks) > 0 {
		u.vec = sealRun(u.vec[:0], u.chunks, u.pieces, u.size)
		r.w.addRun(u.vec, u.records, u.inside)
		clear(u.vec)
		clear(u.pieces)
	}
	if u.flush {
		r.w.flush()
		r.stuck.Store(false)
	}
	for i, s := range u.held {
		r.q.release(s)
		u.held[i] = nil
	}
	if *u = (run{chunks: u.chunks[:0], pieces: u.pieces[:0], held: u.held[:0], vec: u.vec[:0]}); cap(u.chunks) > 2*runSize {
		u.chunks = nil
	}
}
