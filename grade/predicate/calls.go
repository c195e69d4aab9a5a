package predicate

import "strconv"

// calls are the calls of which a check says one thing: how many there are, and as
// many of them as a reason lists and an outcome cites.
type calls struct {
	n     int
	first [maxListed]*CallEvidence
	cites
}

// cites are the first different records of many.
type cites struct {
	seqs  [maxRecords]int64
	cited int
}

func (x *calls) add(c *CallEvidence) {
	if x.n < maxListed {
		x.first[x.n] = c
	}
	x.n++
	x.note(c.Seq)
}

func (x *cites) note(seq int64) {
	if seq == 0 || x.cited == maxRecords {
		return
	}
	for _, s := range x.seqs[:x.cited] {
		if s == seq {
			return
		}
	}
	x.seqs[x.cited] = seq
	x.cited++
}

func (x *cites) cite(o *Outcome) {
	for _, seq := range x.seqs[:x.cited] {
		o.cite(seq)
	}
}

// list shows at most three of them.
func (x *calls) list() string {
	text := ""
	for i, c := range x.first[:min(x.n, maxListed)] {
		if i > 0 {
			text += "; "
		}
		text += c.seen()
	}
	if x.n > maxListed {
		text += "; and " + strconv.Itoa(x.n-maxListed) + " more"
	}
	return text
}

// called are the calls to a tool, or all without a name.
func (ev *Evidence) called(tool string, named bool) (x calls) {
	for i := range ev.Calls {
		if c := &ev.Calls[i]; !named || c.Tool == tool {
			x.add(c)
		}
	}
	return x
}

// wired counts the calls of a tool, or all without a name, that reached the wire.
func (ev *Evidence) wired(tool string, named bool) (n int) {
	for i := range ev.Calls {
		if c := &ev.Calls[i]; !c.HostOnly && (!named || c.Tool == tool) {
			n++
		}
	}
	return n
}

// citeAll cites the calls from the first on.
func (ev *Evidence) citeAll(o *Outcome) {
	for i := range ev.Calls {
		if o.cite(ev.Calls[i].Seq); len(o.Records) == maxRecords {
			return
		}
	}
}
