package record

// Stats is how a recorder fares.
type Stats struct {
	Records int64 // seqs that were given out, those of lost records included
	Gaps    int64 // losses that have begun
	Queued  int64 // bytes that wait to be written, in units of the queue's slabs
	Limit   int64 // more than that is never queued
	// Broken says that nothing is kept at the moment: the disk, the cap, or a
	// fault of the recorder's own.
	Broken bool
	// Rotated counts files that were begun after the first; Removed and RemovedBytes
	// what went for a limit on the recording or its folder.
	Rotated, Removed, RemovedBytes int64
}

// Stats may be called at any time, also after Close. Those of a nil Recorder are
// zero.
func (r *Recorder) Stats() Stats {
	if r == nil {
		return Stats{}
	}
	r.q.mu.Lock()
	s := Stats{Records: r.q.seq, Gaps: r.q.gaps, Queued: int64(r.q.used), Limit: queueBytes}
	r.q.mu.Unlock()
	s.Gaps += r.w.gaps.Load()
	if rot := r.w.rot; rot != nil {
		s.Rotated, s.Removed, s.RemovedBytes = rot.rotated.Load(), rot.shelf.removed.Load(), rot.shelf.removedBytes.Load()
	}
	s.Broken = r.broken.Load() || r.w.down.Load()
	return s
}
