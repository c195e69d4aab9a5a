package match

import "github.com/sixlink/sixlink/grade/internal/value"

// task is one matching: of a turn, of the whole case, or of all turns at once where it
// is not known which call belongs to which.
type task struct {
	number   int
	expected []Expectation
	origin   []origin // of each expectation; nil: this turn's list, in order
	calls    []int    // positions in the input's calls, ascending
	order    Order
	cap      *int64 // nil: any number of extra calls
	negative bool
	// pooled: the task stands for several turns; exempt: one of them is pinned, so that
	// some of the calls are nobody's choice, and it is not known which.
	pooled, exempt bool
	// noExtras: extra calls are not this task's business.
	noExtras bool
}

type origin struct{ turn, position int }

// matcher holds what the matchings of one case share.
type matcher struct {
	in   *CaseInput
	args map[int]cached
	room int // bytes that may still be kept
}

type cached struct {
	v   *value.Value
	err error
}

// roomForArguments bounds the parsed arguments that are kept for the description of
// mismatches and for a second matching over the same calls (about this many bytes in
// memory). A call that found no room is read again if it comes to that.
const roomForArguments = 8 << 20

// read returns the arguments of a call, nil for a call without.
func (m *matcher) read(call int) (*value.Value, error) {
	get := m.in.Calls[call].Arguments
	if get == nil {
		return nil, nil
	}
	if c, ok := m.args[call]; ok {
		return c.v, c.err
	}
	v, err := get()
	size := 64
	if v != nil {
		size += weight(v, m.room)
	}
	if size <= m.room {
		m.room -= size
		m.args[call] = cached{v, err}
	}
	return v, err
}

// weight is about how many bytes v takes in memory; the count ends past limit.
func weight(v *value.Value, limit int) int {
	n := 96 + len(v.Str)
	for i := range v.Arr {
		if n > limit {
			return n
		}
		n += weight(&v.Arr[i], limit-n)
	}
	for i := range v.Obj {
		if n > limit {
			return n
		}
		n += 32 + len(v.Obj[i].Key) + weight(&v.Obj[i].Value, limit-n)
	}
	return n
}

// grade matches one task (grading.md 2.6).
func (m *matcher) grade(t task) Turn {
	out := Turn{Number: t.number, Calls: int64(len(t.calls))}
	switch {
	case t.negative:
		m.negative(&t, &out)
	case len(t.expected) == 0:
		m.silent(&t, &out)
	case m.tooLarge(&t):
		out.Expected = total(t.expected)
		out.Match = erred(TooLarge)
		if m.compares(t.expected) {
			out.Arguments = erred(TooLarge)
		}
		for i := range t.expected {
			out.Asserts = append(out.Asserts, m.assert(&t, i, erred(TooLarge)))
		}
	default:
		m.positive(&t, &out)
	}
	out.State = out.Match.and(out.Arguments)
	return out
}

// negative: nothing is expected, and every call is extra (grading.md 2.3.1). Calls
// that were not recorded may have been made, and a host that never asked made none.
func (m *matcher) negative(t *task, out *Turn) {
	out.Extras = Extras{Count: int64(len(t.calls))}
	switch {
	case len(t.calls) > 0 && t.exempt:
		out.Negative = erred(NoConversation)
		out.Match = out.Negative
		return
	case len(t.calls) > 0:
		out.Negative = failed()
	case !m.in.CallsComplete:
		out.Negative = erred(PartialCalls)
	case !m.in.PromptFinished:
		out.Negative = erred(NoFinishedPrompt)
	default:
		out.Negative = passed()
	}
	out.Match = out.Negative
	m.extras(t, out, t.calls)
}

// silent is a turn without expectations: it passes, unless the cap is set and there are
// more calls than that; then all of them are unexpected (grading.md 2.5).
func (m *matcher) silent(t *task, out *Turn) {
	out.Sequence.State = passed()
	if t.noExtras {
		out.Match, out.Extras.State = passed(), passed()
		return
	}
	out.Extras = Extras{Count: int64(len(t.calls)), Cap: t.cap, State: m.withinCap(t, len(t.calls))}
	out.Match = out.Extras.State
	if out.Extras.Outcome == Fail {
		m.extras(t, out, t.calls)
	}
}

// withinCap judges a number of extra calls. It only grows with what was not recorded.
func (m *matcher) withinCap(t *task, extra int) State {
	switch {
	case t.cap == nil:
		return passed()
	case t.pooled && (*t.cap > 0 || t.exempt):
		// The cap is one of each turn.
		return erred(NoConversation)
	case int64(extra) > *t.cap:
		return failed()
	case !m.in.CallsComplete:
		return erred(PartialCalls)
	case t.pooled:
		return erred(NoConversation)
	}
	return passed()
}

func (m *matcher) tooLarge(t *task) bool {
	return len(t.expected) > maxExpectations || len(t.expected)*len(t.calls) > maxCells
}

func total(list []Expectation) (n int64) {
	for i := range list {
		n = sum(n, list[i].copies())
	}
	return n
}

// positive pairs and then tells apart what is missing, extra, out of order and called
// with other arguments.
func (m *matcher) positive(t *task, out *Turn) {
	out.Expected = total(t.expected)
	// One expected call has no order but with calls before it.
	ordered := !t.pooled && (t.order == Strict || t.order == Superset && out.Expected > 1)
	blindOrder := ordered && m.in.OrderUnknown
	groups, local := m.groups(t)
	var graded map[*group][][]int
	if ordered && !blindOrder {
		graded = gradedPairs(t, groups, local)
	}
	for _, g := range groups {
		g.pair(t, graded[g])
	}

	complete := m.in.CallsComplete
	c := m.count(t, groups)
	out.Extras.State = passed()
	if !t.noExtras {
		out.Extras = Extras{Count: c.extra, Cap: t.cap, State: m.withinCap(t, int(c.extra))}
	}
	out.Sequence.OutOfOrder = c.early
	switch {
	case t.pooled && t.order != AnyOrder:
		out.Sequence.State = erred(NoConversation)
	case blindOrder:
		out.Sequence.State = erred(OrderNotKnown)
	case ordered && !complete && (t.order == Strict || c.met < out.Expected):
		// A call that is not on record would move the ones behind it, or be the one that
		// the others come too early for.
		out.Sequence.State = erred(PartialCalls)
	case ordered && c.blind && (c.early > 0 || c.unknown > 0):
		// A call that cannot be read may be the one that the order lacks.
		out.Sequence.State = erred(Unreadable)
	case c.early > 0:
		out.Sequence.State = failed()
	default:
		out.Sequence.State = passed()
	}
	m.tell(t, out, groups)
	out.Match = out.Sequence.State.and(out.Extras.State)
	if c.missing > 0 {
		out.Match = m.absent().and(out.Match)
	}
	if out.Match.fits() && t.pooled {
		out.Match = erred(NoConversation)
	}

	if !m.compares(t.expected) {
		return
	}
	out.Arguments = passed()
	switch {
	case c.wrong > 0:
		out.Arguments = m.absent()
	case c.unknown > 0:
		out.Arguments = erred(Unreadable)
	case !complete && c.missing > 0:
		out.Arguments = erred(PartialCalls)
	case t.pooled:
		out.Arguments = erred(NoConversation)
	}
}

// counts are those of a whole task.
type counts struct {
	met, missing, extra, early, wrong, unknown int64
	blind                                      bool
}

func (m *matcher) count(t *task, groups []*group) (c counts) {
	for _, g := range groups {
		c.blind = c.blind || g.blind
		for i := range g.exps {
			c.met += int64(g.ok[i])
			c.early += int64(g.early[i])
			c.unknown += int64(g.unknown[i])
			c.wrong += int64(len(g.wrong[i]))
		}
	}
	paired := c.met + c.early + c.unknown + c.wrong
	c.missing = total(t.expected) - paired
	c.extra = int64(len(t.calls)) - paired
	return c
}

// absent is the state of an expected call that is not there: the right one may be
// among the calls that are not on record (grading.md 0.2.7).
func (m *matcher) absent() State {
	if m.in.CallsComplete {
		return failed()
	}
	return erred(PartialCalls)
}

// compares tells whether an expectation compares arguments (grading.md 2.7).
func (m *matcher) compares(list []Expectation) bool {
	for i := range list {
		if m.mode(&list[i]) != IgnoreArgs {
			return true
		}
	}
	return false
}

// gradedPairs pairs under order strict or superset (grading.md 2.3.3): for each group
// and each of its expectations, the calls that it gets, ascending.
//
// An expected call that superset does not find leaves the cursor where it was: what
// comes behind it pairs in order without it, and only what pairs free of order alone is
// out of order (0.2.3). Whether all is in order does not depend on that.
func gradedPairs(t *task, groups []*group, local []int) map[*group][][]int {
	type place struct {
		g *group
		i int
	}
	places := make([]place, len(t.expected)) // zero for one that nothing meets
	out := make(map[*group][][]int, len(groups))
	for _, g := range groups {
		out[g] = make([][]int, len(g.exps))
		for i, e := range g.exps {
			places[e] = place{g, i}
		}
	}
	owner := make([]*group, len(t.calls))
	for _, g := range groups {
		for _, k := range g.calls {
			owner[k] = g
		}
	}
	at := 0 // strict: the next call; superset: the first call behind the last one paired
	for e := range t.expected {
		p := places[e]
		for range min(t.expected[e].copies(), int64(len(t.calls))) {
			if at >= len(t.calls) {
				return out
			}
			if t.order == Strict {
				if p.g != nil && owner[at] == p.g && p.g.accept[p.i].has(local[at]) {
					out[p.g][p.i] = append(out[p.g][p.i], local[at])
				}
				at++
				continue
			}
			if p.g == nil {
				break
			}
			l := p.g.accept[p.i].from(p.g.behind(at))
			if l < 0 {
				break
			}
			out[p.g][p.i] = append(out[p.g][p.i], l)
			at = p.g.calls[l] + 1
		}
	}
	return out
}
