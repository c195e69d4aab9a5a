package predicate

// Which of two calls at different servers came first is told by clocks alone, and
// where they overlap within what is uncertain about those, nothing is told: what a
// check then finds about order is an error, unless it holds in whatever order they
// came (grading.md 0.1 "Several servers").
//
// The functions here rest on what the evidence of such a trial keeps: the calls come
// by Earliest, and along those of one recording neither Earliest nor Latest falls.

// before tells whether the call at i surely came before the one at k.
func (ev *Evidence) before(i, k int) bool {
	a, b := &ev.Calls[i], &ev.Calls[k]
	if a.Of.sameClock(b.Of) {
		return i < k
	}
	return a.Latest < b.Earliest
}

// sameClock tells whether the order of two parts' calls is exact: of one recording.
func (p *Part) sameClock(q *Part) bool { return p == q || p != nil && q != nil && p.Base == q.Base }

// mayBeFirst are the places of the calls before which none surely came; at most one
// a recording.
func (ev *Evidence) mayBeFirst() (out []int) {
	var firsts []int // of each recording
	for _, base := range ev.bases() {
		for i := range ev.Calls {
			if ev.Calls[i].Of.Base == base {
				firsts = append(firsts, i)
				break
			}
		}
	}
	for _, i := range firsts {
		preceded := false
		for _, k := range firsts {
			preceded = preceded || k != i && ev.before(k, i)
		}
		if !preceded {
			out = append(out, i)
		}
	}
	return out
}

// bases are those of the recordings of the parts.
func (ev *Evidence) bases() (out []int64) {
	for _, p := range ev.Parts {
		known := p.Lost != ""
		for _, b := range out {
			known = known || b == p.Base
		}
		if !known {
			out = append(out, p.Base)
		}
	}
	return out
}

// OrderUnknown tells whether calls of different recordings overlap, of those to the
// tools that names has; nil: of all.
func (ev *Evidence) OrderUnknown(names map[string]bool) bool {
	if len(ev.Parts) < 2 {
		return false
	}
	latest := map[int64]int64{} // of what went by, by recording
	for i := range ev.Calls {
		c := &ev.Calls[i]
		if names != nil && !names[c.Tool] {
			continue
		}
		for base, l := range latest {
			if base != c.Of.Base && l >= c.Earliest {
				return true
			}
		}
		latest[c.Of.Base] = c.Latest // it does not fall
	}
	return false
}

// runs are stretches of the calls: their order among each other is sure, that of the
// calls within one only where all are of one recording.
type runs struct {
	of    []int  // of each call, its run
	mixed []bool // of each run, whether it has calls of several recordings
}

func (ev *Evidence) runs() *runs {
	r := &runs{of: make([]int, len(ev.Calls))}
	var latest int64
	var first *CallEvidence
	for i := range ev.Calls {
		c := &ev.Calls[i]
		if i == 0 || c.Earliest > latest {
			first, latest = c, c.Latest
			r.mixed = append(r.mixed, false)
		}
		n := len(r.mixed) - 1
		latest = max(latest, c.Latest)
		r.mixed[n] = r.mixed[n] || !c.Of.sameClock(first.Of)
		r.of[i] = n
	}
	return r
}

// overlap makes the error of a check whose outcome hangs on the order of calls that
// overlap.
func overlap(o Outcome, what string, calls ...*CallEvidence) Outcome {
	o.Result = Error
	o.Actual = "calls of different servers overlap"
	o.Reason = what + ": calls of different servers overlap within the uncertainty of the clocks"
	for _, c := range calls {
		o.cite(c.Seq)
	}
	return o
}

// evalBeforeOver is toolCalledBefore where calls of several recordings meet: a call
// to then is fine when a call to first surely came before it, and too early when
// none can have.
func evalBeforeOver(ev *Evidence, o Outcome, first, then string) Outcome {
	same := map[int64]bool{}              // recordings with a call to first so far
	earliest := map[int64]*CallEvidence{} // the first such call of each
	for i := range ev.Calls {
		if c := &ev.Calls[i]; c.Tool == first && earliest[c.Of.Base] == nil {
			earliest[c.Of.Base] = c
		}
	}
	var early, unsure calls
	var fine, preceded *CallEvidence // a call that is in order, and the one before it
	bases := ev.bases()
	for i := range ev.Calls {
		c := &ev.Calls[i]
		if c.Tool == first {
			same[c.Of.Base] = true
		}
		if c.Tool != then {
			continue
		}
		var sure, maybe *CallEvidence
		for _, base := range bases {
			f := earliest[base]
			switch {
			case f == nil:
			case base == c.Of.Base:
				if same[base] && sure == nil {
					sure = f
				}
			case f.Latest < c.Earliest:
				if sure == nil {
					sure = f
				}
			case f.Earliest <= c.Latest:
				maybe = f
			}
		}
		switch {
		case sure != nil:
			if fine == nil {
				fine, preceded = c, sure
			}
		case maybe != nil:
			unsure.add(c)
		default:
			early.add(c)
		}
	}
	switch {
	case early.n > 0:
		o.Result = Fail
		o.Actual = count(early.n, "call") + " to " + tool(then) + " before it"
		o.Reason = "called before any call to " + tool(first) + ": " + early.list()
		early.cite(&o)
	case unsure.n > 0:
		o = overlap(o, "whether a call to "+tool(first)+" came before "+unsure.list()+" is not known")
		unsure.cite(&o)
	case fine == nil:
		o.Result = Pass
		o.Actual = "no call to " + tool(then)
		o.Reason = o.Actual
	default:
		o.Result = Pass
		o.Actual = "called in that order"
		o.Reason = preceded.seen() + " came before " + fine.seen()
		o.cite(preceded.Seq)
		o.cite(fine.Seq)
	}
	return o
}

// evalFirstOver is firstToolWas where calls of several recordings meet.
func evalFirstOver(ev *Evidence, o Outcome, name string) Outcome {
	var is, other *CallEvidence
	may := ev.mayBeFirst()
	for _, i := range may {
		c := &ev.Calls[i]
		if c.Tool == name && is == nil {
			is = c
		}
		if c.Tool != name && other == nil {
			other = c
		}
	}
	switch {
	case is != nil && other != nil:
		return overlap(o, "which call came first is not known, "+is.seen()+" or "+other.seen(), is, other)
	case is != nil:
		o.Result, o.Actual, o.Reason = Pass, tool(is.Tool), "the first call was to "+is.seen()
		o.cite(is.Seq)
	default:
		o.Result, o.Actual, o.Reason = Fail, tool(other.Tool), "the first call was to "+other.seen()
		o.cite(other.Seq)
	}
	return o
}

// repeatsOver tells noRepeatedIdenticalCall, where calls of several recordings meet,
// which calls surely came one directly after the other.
type repeatsOver struct {
	*runs
	run    int
	last   *CallEvidence
	before map[toolAt]bool // the tools of the run before, if it is mixed
	now    map[toolAt]bool // those of this run so far
	// unsure are calls that may have come directly after one to the same tool. Their
	// arguments are not compared: they could be any number.
	unsure calls
}

type toolAt struct{ server, tool string }

func newRepeatsOver(ev *Evidence) *repeatsOver {
	if len(ev.Parts) < 2 {
		return nil
	}
	return &repeatsOver{runs: ev.runs(), run: -1}
}

// adjacent takes the next call, and tells whether the one before it in the list
// surely came directly before it, and is of the same server. wanted says that the
// check reports repeats of it.
func (r *repeatsOver) adjacent(i int, c *CallEvidence, wanted bool) (sure bool) {
	at := toolAt{c.Of.Server, c.Tool}
	n := r.of[i]
	last := r.last
	r.last = c
	if n != r.run {
		r.before = nil
		if last != nil && r.mixed[r.run] {
			r.before = r.now
		} else if last != nil && r.mixed[n] {
			r.before = map[toolAt]bool{{last.Of.Server, last.Tool}: true}
		}
		r.run, r.now = n, map[toolAt]bool{}
		sure = r.before == nil
	} else {
		sure = !r.mixed[n]
		if sure {
			r.before = nil // one of this run came between
		}
	}
	if !sure && wanted && (r.before[at] || r.now[at]) {
		r.unsure.add(c)
	}
	if r.mixed[n] {
		r.now[at] = true
	}
	return sure && last != nil && last.Of.Server == c.Of.Server
}
