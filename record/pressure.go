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
	chunks  []byte // the run that is being made; empty: none
	records int64  // in it
	inside  loss   // what is in it, should it be lost
}

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
	if r.pressed && len(r.chunks) == 0 {
		r.chunks = beginRun(r.chunks)
	}
}

// inRun counts what was added to the run, and ends it when it is long.
func (r *Recorder) inRun(m meta, records int64) {
	r.inside.add(&m)
	r.records += records
	if len(r.chunks) >= runLimit {
		r.endRun()
		r.chunks = beginRun(r.chunks)
	}
}

// endRun writes the run, if there is one with anything in it.
func (r *Recorder) endRun() {
	if len(r.chunks) > runHead {
		run, crc := endRun(r.chunks)
		r.w.addRun(run, crc, r.records, r.inside)
		r.chunks = run
	}
	r.chunks, r.records, r.inside = r.chunks[:0], 0, loss{}
	if !r.pressed && cap(r.chunks) > bufferBytes {
		r.chunks = nil
	}
}
