package join

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sixlink/sixlink/record/session"
)

func failedOnWire(c *session.Call) (failed, said bool) {
	switch c.State {
	case session.CallToolError, session.CallProtocolError, session.CallMalformed:
		return true, true
	case session.CallResult:
		return false, !c.BadIsError
	}
	return false, false
}

// servers settles which server keys of a conversation a session without a label
// may be: those that exact ids proved, else all.
func (t *talk) keyOK(h *hostCall, w *wire) bool {
	if keys := t.keys[w]; len(keys) > 0 && h.c.Server != "" && w.Server == "" {
		return keys[h.c.Server]
	}
	return true
}

// servers joins sessions by scope alone: the environment's session id, or the
// user's word.
func (j *joiner) servers() {
	for _, t := range j.talks {
		for _, w := range j.wires {
			t.apart = t.apart || !j.meet(t, w)
			if w.HostSession != "" && t.ids[w.HostSession] {
				t.part(w, TierScope, "the server was started in the session "+w.HostSession)
			}
			if j.o.Chosen && len(j.talks) == 1 && !t.deniedAll(w) && j.meet(t, w) {
				if t.parts[w] == nil {
					t.parts[w] = &Part{Wire: w.index, Tier: TierScope, Why: "chosen by the user", Chosen: true}
				}
			}
		}
	}
}

// meet says that the transcript does not end before the session begins, nor begin
// after the recording ends: a person who names a transcript may name the wrong one.
func (j *joiner) meet(t *talk, w *wire) bool {
	first, last := t.span()
	if first.IsZero() || w.Start.IsZero() {
		return true
	}
	if last.Add(j.o.Window).Before(w.Start.Add(time.Duration(w.Session.FirstAt))) {
		return false
	}
	return w.Until.IsZero() || !first.Add(-j.o.Window).After(w.Until)
}

// deniedAll says that every call of the session is of another conversation.
func (t *talk) deniedAll(w *wire) bool {
	for _, c := range w.calls {
		if t.scope(c) != denied {
			return false
		}
	}
	return len(w.calls) > 0
}

// contentKey is what calls of tier 2 have in common.
type contentKey struct {
	tool string
	args argsKey
}

// Bounds of tier 2. What is larger is ambiguous: over the first two the calls of that
// tool and arguments are not all paired, over the third they are in order.
const (
	maxEdges     = 1_000_000 // of all calls together
	maxFan       = 2_000     // calls on the wire that one call may be
	maxComponent = 10_000    // edges of calls that may be each other
)

// edge says that a host call may be a wire call.
type edge struct {
	h *hostCall
	c *wireCall
	t Tier
}

// byContent pairs what ids did not, by tool, canonical arguments and time (tier 2),
// inside an exact scope where there is one (tier 1). A pair counts as sure only
// when no other pairing explains as many calls.
func (j *joiner) byContent() {
	j.pair(func(h *hostCall) bool { return !h.c.NotSent() }, func(*wireCall) bool { return true })
	// Hosts say that they refused a call in words that a server may use as well. A call
	// that is on the wire all the same, that nothing else explains, and that failed there,
	// was sent.
	j.pair(func(h *hostCall) bool { return h.c.NotSent() }, func(c *wireCall) bool {
		failed, _ := failedOnWire(c.c)
		return failed
	})
	for _, t := range j.talks {
		for _, h := range t.calls {
			if h.tier == TierScope || h.tier == TierContent {
				for _, c := range h.wires {
					t.part(c.w, h.tier, "calls with the same tool, arguments and time")
				}
			}
		}
	}
}

// pair pairs those of the calls that have no pair yet.
func (j *joiner) pair(these func(*hostCall) bool, with func(*wireCall) bool) {
	free := map[contentKey][]*wireCall{}
	for _, w := range j.wireOrder {
		for _, c := range w.calls {
			if c.of != nil || !with(c) {
				continue
			}
			if args, ok := c.arguments(); ok {
				k := contentKey{c.c.Tool, args}
				free[k] = append(free[k], c)
			}
		}
	}
	for _, list := range free {
		slices.SortFunc(list, byTime)
	}
	var edges []edge
	over := map[contentKey]bool{}
	for _, t := range j.order {
		for _, h := range t.calls {
			if h.tier != NoTier || !these(h) {
				continue
			}
			mine, unclear := j.edgesOf(h, free, maxEdges-len(edges), over)
			if h.c.NotSent() && len(mine) == 0 {
				continue // as it says
			}
			h.tried, h.unclear = true, unclear
			edges = append(edges, mine...)
		}
	}
	for _, e := range edges {
		// What was not looked at for one may be what is taken for the other.
		e.h.unclear = e.h.unclear || over[e.c.key()]
	}
	j.oneOpaque(edges)
	for _, part := range components(edges) {
		part.match()
	}
}

// edgesOf are the wire calls that h may be. unclear says that not all of them are
// there: h's name is not unique among the tools of a session, or they are too many,
// and the key is then in over.
func (j *joiner) edgesOf(h *hostCall, free map[contentKey][]*wireCall, left int, over map[contentKey]bool) (out []edge, unclear bool) {
	t := h.t
	if !h.known {
		return nil, false
	}
	tried := map[contentKey]bool{}
	names := map[*wire][]string{}
	for _, w := range j.wireOrder {
		if !t.keyOK(h, w) {
			continue
		}
		found := t.resolve(h.c, w)
		if len(found) > 1 {
			unclear = true
			continue
		}
		names[w] = found
		for _, tool := range found {
			k := contentKey{tool, h.args}
			if tried[k] {
				continue
			}
			tried[k] = true
		}
	}
	for k := range tried { // at most a few; sorted below
		list := j.windowOf(h, free[k])
		if len(list) > maxFan || len(out)+len(list) > left {
			over[k], unclear = true, true
			continue
		}
		for _, c := range list {
			if n := names[c.w]; len(n) != 1 || n[0] != k.tool {
				continue
			}
			if tier := j.may(h, c); tier != NoTier {
				out = append(out, edge{h, c, tier})
			}
		}
	}
	slices.SortFunc(out, func(a, b edge) int { return byTime(a.c, b.c) })
	return out, unclear
}

// byTime orders calls on the wire: by time, then by recording and place.
func byTime(a, b *wireCall) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.w.rank, b.w.rank), cmp.Compare(a.n, b.n))
}

// windowOf is the part of a list, sorted by time, that may lie in h's window: a
// tool that is polled for hours has thousands of calls alike.
func (j *joiner) windowOf(h *hostCall, list []*wireCall) []*wireCall {
	if h.c.At.IsZero() || len(list) == 0 || list[0].at.IsZero() { // those without a time come first
		return list
	}
	from := h.c.At.Add(h.t.shift() - j.o.Window)
	i, _ := slices.BinarySearchFunc(list, from, func(c *wireCall, t time.Time) int { return c.at.Compare(t) })
	list = list[i:]
	if !h.c.EndedAt.IsZero() {
		to := h.c.EndedAt
		if to.Before(h.c.At) {
			to = h.c.At
		}
		to = to.Add(h.t.shift() + j.o.Window)
		n, _ := slices.BinarySearchFunc(list, to, func(c *wireCall, t time.Time) int {
			if c.at.After(t) {
				return 1
			}
			return -1
		})
		list = list[:n]
	}
	return list
}

// may says on which tier h may be c, by everything but tool and arguments.
func (j *joiner) may(h *hostCall, c *wireCall) Tier {
	t := h.t
	s := t.scope(c)
	if s == denied {
		return NoTier
	}
	m := &c.meta
	if m.use != "" && h.id != "" && m.family.fits(t.c.Host.Name) && m.family != anyHost && m.use != h.id {
		return NoTier // both have ids, and not the same
	}
	if c.w.withIDs && m.use == "" && h.id != "" && t.keys[c.w] != nil {
		return NoTier // this host puts ids on this wire, and here is none
	}
	turn := false
	if n, ok := t.turns[m.turn]; m.turn != "" && ok {
		if n != h.c.Turn {
			return NoTier
		}
		turn = true
	}
	if !j.inWindow(h, c) {
		return NoTier
	}
	if turn || s > noScope || t.parts[c.w] != nil && t.parts[c.w].Tier <= TierScope {
		return TierScope
	}
	return TierContent
}

// inWindow says that c was sent while the host says that h ran: from ε before the
// call to ε after its result. Without times there is no window (hosts.md 5).
func (j *joiner) inWindow(h *hostCall, c *wireCall) bool {
	from, to := h.c.At, h.c.EndedAt
	if c.at.IsZero() || from.IsZero() {
		return true
	}
	shift := h.t.shift()
	if c.at.Before(from.Add(shift - j.o.Window)) {
		return false
	}
	if to.IsZero() {
		return true
	}
	if to.Before(from) { // a re-dated record
		to = from
	}
	return !c.at.After(to.Add(shift + j.o.Window))
}

// oneOpaque makes pairs ambiguous where a conversation would take calls of several
// ids that each stand for one conversation, and nothing says which is its own.
func (j *joiner) oneOpaque(edges []edge) {
	ids := map[*talk]map[string]bool{}
	for _, e := range edges {
		if e.c.meta.opaque == "" {
			continue
		}
		if ids[e.h.t] == nil {
			ids[e.h.t] = map[string]bool{}
		}
		ids[e.h.t][e.c.meta.opaque] = true
	}
	for _, e := range edges {
		if len(ids[e.h.t]) > 1 && e.c.meta.opaque != "" {
			e.h.unclear = true
		}
	}
}

// component is a set of calls that may be each other, directly or by way of others.
type component struct {
	hosts []*hostCall
	wires []*wireCall
	to    map[*hostCall][]edge
	edges int
}

// components parts edges into components, in the order of their first edge.
func components(edges []edge) []*component {
	parent := map[any]any{}
	root := func(x any) any {
		for parent[x] != x {
			parent[x] = parent[parent[x]]
			x = parent[x]
		}
		return x
	}
	for _, e := range edges {
		for _, x := range []any{e.h, e.c} {
			if parent[x] == nil {
				parent[x] = x
			}
		}
		parent[root(e.h)] = root(e.c)
	}
	byRoot := map[any]*component{}
	var out []*component
	wires := map[*wireCall]bool{}
	for _, e := range edges {
		r := root(e.h)
		p := byRoot[r]
		if p == nil {
			p = &component{to: map[*hostCall][]edge{}}
			byRoot[r] = p
			out = append(out, p)
		}
		if p.to[e.h] == nil {
			p.hosts = append(p.hosts, e.h)
		}
		if !wires[e.c] {
			wires[e.c] = true
			p.wires = append(p.wires, e.c)
		}
		p.to[e.h] = append(p.to[e.h], e)
		p.edges++
	}
	return out
}

// match pairs as many calls of the component as can be, in host order, each with
// the earliest free wire call, and says which pairs are the only ones possible.
func (p *component) match() {
	taken := map[*wireCall]*hostCall{}
	mine := map[*hostCall]edge{}
	var loose map[*hostCall]bool
	var swaps map[*hostCall][]*hostCall
	if p.edges > maxComponent {
		for _, h := range p.hosts { // in order, and nothing is said to be sure
			h.unclear = true
			for _, e := range p.to[h] {
				if taken[e.c] == nil {
					taken[e.c], mine[h] = h, e
					break
				}
			}
		}
	} else {
		for _, h := range p.hosts {
			p.augment(h, taken, mine, map[*wireCall]bool{})
		}
		loose, swaps = p.loose(taken, mine), p.swaps(taken, mine)
	}
	for _, h := range p.hosts {
		e, ok := mine[h]
		if !ok {
			h.unclear = true // something else may have taken its call
			continue
		}
		h.wires, h.tier = []*wireCall{e.c}, e.t
		e.c.of = h
		group := swaps[h]
		switch {
		case loose[h] || h.unclear:
			h.certainty = Ambiguous
		case len(group) == 1:
			h.certainty = Sure
		case sameTurn(group):
			h.certainty = Interchangeable
		default:
			h.certainty = Ambiguous
		}
		h.why = "same tool and arguments"
		if !e.c.at.IsZero() && !h.c.At.IsZero() {
			h.why += fmt.Sprintf(", sent %s after the host's call", e.c.at.Sub(h.c.At.Add(h.t.shift())).Round(time.Millisecond))
		} else {
			h.why += "; no times"
		}
		if h.certainty != Sure {
			h.why += fmt.Sprintf("; %d calls may be one another", max(len(group), len(p.hosts), len(p.wires)))
		}
	}
}

func sameTurn(group []*hostCall) bool {
	for _, h := range group {
		if h.t != group[0].t || h.c.Turn != group[0].c.Turn || h.c.Turn < 0 {
			return false
		}
	}
	return true
}

// augment gives h a wire call, moving others where that is needed.
func (p *component) augment(h *hostCall, taken map[*wireCall]*hostCall, mine map[*hostCall]edge, seen map[*wireCall]bool) bool {
	for _, e := range p.to[h] {
		if taken[e.c] == nil {
			taken[e.c], mine[h] = h, e
			return true
		}
	}
	for _, e := range p.to[h] {
		if seen[e.c] {
			continue
		}
		seen[e.c] = true
		if p.augment(taken[e.c], taken, mine, seen) {
			taken[e.c], mine[h] = h, e
			return true
		}
	}
	return false
}

// loose are calls whose pair could be given up for one that is left out on either
// side.
func (p *component) loose(taken map[*wireCall]*hostCall, mine map[*hostCall]edge) map[*hostCall]bool {
	out := map[*hostCall]bool{}
	var queue []*hostCall
	for _, h := range p.hosts { // a call without a pair could have this one's
		if _, ok := mine[h]; !ok {
			queue = append(queue, h)
		}
	}
	seen := map[*hostCall]bool{}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		for _, e := range p.to[h] {
			if o := taken[e.c]; o != nil && !seen[o] {
				seen[o], out[o] = true, true
				queue = append(queue, o)
			}
		}
	}
	from := map[*wireCall][]*hostCall{}
	for _, h := range p.hosts {
		for _, e := range p.to[h] {
			from[e.c] = append(from[e.c], h)
		}
	}
	var wires []*wireCall
	for _, c := range p.wires {
		if taken[c] == nil {
			wires = append(wires, c)
		}
	}
	done := map[*wireCall]bool{}
	for len(wires) > 0 {
		c := wires[0]
		wires = wires[1:]
		for _, h := range from[c] {
			if e, ok := mine[h]; ok && !done[e.c] {
				done[e.c], out[h] = true, true
				wires = append(wires, e.c)
			}
		}
	}
	return out
}

// swaps are the groups of calls that could exchange their pairs in a ring: the
// strongly connected sets of "h could have o's call" (Tarjan, without recursion).
func (p *component) swaps(taken map[*wireCall]*hostCall, mine map[*hostCall]edge) map[*hostCall][]*hostCall {
	type state struct {
		index, low int
		on         bool
	}
	st := map[*hostCall]*state{}
	out := map[*hostCall][]*hostCall{}
	var stack []*hostCall
	type frame struct {
		h    *hostCall
		next int
	}
	for _, start := range p.hosts {
		if st[start] != nil {
			continue
		}
		st[start] = &state{index: len(st), low: len(st), on: true}
		stack = append(stack, start)
		work := []frame{{start, 0}}
		for len(work) > 0 {
			f := &work[len(work)-1]
			s := st[f.h]
			if f.next < len(p.to[f.h]) {
				o := taken[p.to[f.h][f.next].c]
				f.next++
				if o == nil || o == f.h {
					continue
				}
				if so := st[o]; so == nil {
					st[o] = &state{index: len(st), low: len(st), on: true}
					stack = append(stack, o)
					work = append(work, frame{o, 0})
				} else if so.on {
					s.low = min(s.low, so.index)
				}
				continue
			}
			if s.low == s.index {
				var group []*hostCall
				for {
					h := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					st[h].on = false
					group = append(group, h)
					if h == f.h {
						break
					}
				}
				for _, h := range group {
					out[h] = group
				}
			}
			h := f.h
			work = work[:len(work)-1]
			if len(work) > 0 {
				up := st[work[len(work)-1].h]
				up.low = min(up.low, st[h].low)
			}
		}
	}
	return out
}
