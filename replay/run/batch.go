package run

import (
	"bytes"
	"slices"
)

// batched tells whether a step goes into a batch: it was an element of one, and the new
// server speaks the version in which the recorded one took batches (the protocol had
// them in 2025-03-26 and before).
func (d *driver) batched(st *step) bool {
	return st.ex != nil && st.ex.Index >= 0 && !d.opts.Sequential && d.version == d.session.ProtocolVersion
}

// flush sends what there is of a batch: those elements that may be sent, as one line.
func (d *driver) flush() {
	if len(d.batch) == 0 || d.over.Rule != "" {
		d.batch = nil
		return
	}
	d.lines.out.put(slices.Concat([]byte{'['}, bytes.Join(d.batch, []byte{','}), []byte("]\n")))
	d.batch = nil
}
