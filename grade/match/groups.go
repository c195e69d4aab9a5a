package match

import (
	"slices"
)

// group is the part of a turn that is about one tool: calls of different tools never
// pair, so everything is decided tool by tool but for the order.
type group struct {
	exps   []int // positions in the task's expectations, ascending
	calls  []int // positions in the task's calls, ascending
	accept []set // per expectation the calls that meet it
	unread set   // the calls whose arguments were needed and could not be read
	blind  bool  // there is one
	reads  []bool

	// what pairing found, per expectation
	ok, early, unknown []int   // paired in the graded order; out of it; with a call that cannot be read
	earlyCalls         [][]int // the calls (in calls) of those out of order
	wrong              [][]int // the calls paired by name alone
	extra              set     // the calls that nothing took
}

// groups sorts a task by tool and compares every call with every expectation of its
// tool: arguments are read here, once a call.
func (m *matcher) groups(t *task) (of []*group, local []int) {
	byTool := map[string]*group{}
	all := []*group{}
	for i := range t.expected {
		e := &t.expected[i]
		if e.MinCount < 0 {
			continue // met by nothing
		}
		g := byTool[e.Tool]
		if g == nil {
			g = &group{}
			byTool[e.Tool] = g
			all = append(all, g)
		}
		g.exps = append(g.exps, i)
	}
	local = make([]int, len(t.calls)) // each call's position in its group
	for k, c := range t.calls {
		local[k] = -1
		if g := byTool[m.in.Calls[c].Tool]; g != nil {
			local[k] = len(g.calls)
			g.calls = append(g.calls, k)
		}
	}
	for _, g := range all {
		m.compare(t, g)
	}
	return all, local
}

func (m *matcher) compare(t *task, g *group) {
	n := len(g.exps)
	g.accept = newSets(n, len(g.calls))
	g.unread = newSet(len(g.calls))
	g.ok, g.early, g.unknown = make([]int, n), make([]int, n), make([]int, n)
	g.earlyCalls, g.wrong = make([][]int, n), make([][]int, n)
	g.reads = make([]bool, n)
	wants := make([]wanted, n)
	any := false
	for i, e := range g.exps {
		wants[i] = compile(t.expected[e].Args, m.mode(&t.expected[e]))
		g.reads[i] = wants[i].reads()
		any = any || g.reads[i]
		if !g.reads[i] {
			g.accept[i].fill(len(g.calls))
		}
	}
	if !any {
		return
	}
	for l, k := range g.calls {
		v, err := m.read(t.calls[k])
		if err != nil {
			g.unread.add(l)
			g.blind = true
			continue
		}
		args := given{v: v}
		for i := range wants {
			if g.reads[i] && wants[i].match(&args) {
				g.accept[i].add(l)
			}
		}
	}
}

// mode is an expectation's argument mode: its own, else that of the options.
func (m *matcher) mode(e *Expectation) ArgumentMode {
	switch {
	case e.Mode != "":
		return e.Mode
	case m.in.Options.Arguments != "":
		return m.in.Options.Arguments
	}
	return Partial
}

// copies is how many calls an expectation asks for.
func (e *Expectation) copies() int64 {
	if e.MinCount <= 0 {
		return 1
	}
	return e.MinCount
}

// pair finds what each expectation of a group gets. graded are the pairs of the
// graded order, ascending; nil under order ignore, where the matching of 0.2.2 is the
// graded one.
//
// An expectation that lost its call there is paired again free of order. Those that
// are paired stay so, and may change calls: what passes free of order then fails for
// its order alone (grading.md 0.2.3), and a call is never counted for two.
func (g *group) pair(t *task, graded [][]int) {
	need := make([]int, len(g.exps))
	for i, e := range g.exps {
		need[i] = int(min(t.expected[e].copies(), int64(len(g.calls))))
	}
	p := newPairing(g.accept, slices.Clone(need), len(g.calls))
	if graded == nil {
		p.maximum()
		paired := p.settle()
		for i := range paired {
			g.ok[i] = len(paired[i])
		}
		g.rest(need, paired)
		return
	}
	for i, taken := range graded {
		for _, l := range taken {
			p.give(l, i)
		}
		g.ok[i] = len(taken)
	}
	p.maximum()
	paired := p.pairs()
	for i := range paired {
		g.early[i] = len(paired[i]) - g.ok[i]
		for _, l := range paired[i] {
			if _, was := slices.BinarySearch(graded[i], l); !was && len(g.earlyCalls[i]) < g.early[i] {
				g.earlyCalls[i] = append(g.earlyCalls[i], l)
			}
		}
	}
	g.rest(need, paired)
}

// pairs are the calls that each expectation has, ascending.
func (p *pairing) pairs() [][]int {
	out := make([][]int, p.n)
	for i := range out {
		for l := p.owned[i].from(0); l >= 0; l = p.owned[i].from(l + 1) {
			out[i] = append(out[i], l)
		}
	}
	return out
}

// rest explains what is left: calls that cannot be read first, which may be the right
// ones, then by name alone each expectation in order with the first call that nothing
// took. Within one tool every such choice makes a maximum matching.
func (g *group) rest(need []int, paired [][]int) {
	if g.blind {
		accept := newSets(len(g.exps), len(g.calls))
		for i := range accept {
			for w := range accept[i] {
				accept[i][w] = g.accept[i][w]
				if g.reads[i] {
					accept[i][w] |= g.unread[w]
				}
			}
		}
		p := newPairing(accept, slices.Clone(need), len(g.calls))
		for i := range paired {
			for _, l := range paired[i] {
				p.give(l, i)
			}
		}
		p.maximum()
		both := p.pairs()
		for i := range both {
			g.unknown[i] = len(both[i]) - len(paired[i])
		}
		paired = both
	}
	g.extra = newSet(len(g.calls))
	g.extra.fill(len(g.calls))
	for i := range paired {
		for _, l := range paired[i] {
			g.extra.remove(l)
		}
	}
	l := g.extra.from(0)
	for i := range need {
		for lost := need[i] - len(paired[i]); lost > 0 && l >= 0; lost-- {
			g.wrong[i] = append(g.wrong[i], l)
			g.extra.remove(l)
			l = g.extra.from(l + 1)
		}
	}
}

// behind is the first call of the group that is at position k of the turn or later.
func (g *group) behind(k int) int {
	l, _ := slices.BinarySearch(g.calls, k)
	return l
}
