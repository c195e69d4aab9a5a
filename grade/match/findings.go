package match

// tell writes the rows of the expectations and the categorized difference of a task
// whose groups are paired.
func (m *matcher) tell(t *task, out *Turn, groups []*group) {
	out.Asserts = make([]Assert, len(t.expected))
	for i := range t.expected {
		out.Asserts[i] = m.assert(t, i, State{})
	}
	extra := newSet(len(t.calls))
	extra.fill(len(t.calls))
	named := make([]bool, len(t.expected)) // some call has the expectation's name
	at := make([]struct {
		g *group
		i int
	}, len(t.expected))
	for _, g := range groups {
		for l, k := range g.calls {
			if !g.extra.has(l) {
				extra.remove(k)
			}
		}
		for i, e := range g.exps {
			named[e] = len(g.calls) > 0
			at[e].g, at[e].i = g, i
		}
	}
	for e := range t.expected {
		a := &out.Asserts[e]
		g, i := at[e].g, at[e].i
		if g != nil {
			a.Met = int64(g.ok[i] + g.early[i])
			a.Mismatched, a.Unread = int64(len(g.wrong[i])), int64(g.unknown[i])
			for _, l := range g.earlyCalls[i] {
				out.OutOfOrder.add(m.finding(t, e, OutOfOrder, t.calls[g.calls[l]], out.Sequence.Outcome != Fail))
			}
			for _, l := range g.wrong[i] {
				f := m.finding(t, e, OtherArguments, t.calls[g.calls[l]], !m.in.CallsComplete)
				if len(out.Mismatched.List) < maxListed {
					m.explain(t, &f, t.calls[g.calls[l]])
				}
				out.Mismatched.add(f)
			}
			if a.Unread > 0 {
				f := m.finding(t, e, OtherArguments, t.calls[g.calls[g.unread.from(0)]], true)
				f.Count = a.Unread
				out.Mismatched.add(f)
			}
		}
		a.Missing = t.expected[e].copies() - a.Met - a.Mismatched - a.Unread
		if a.Missing > 0 {
			f := m.finding(t, e, Missing, -1, !m.in.CallsComplete)
			f.Count = a.Missing
			f.Text = f.describe(false, false, named[e])
			out.Missing.add(f)
		}
		switch {
		case a.Missing > 0:
			a.State, a.Failure = m.absent(), Missing
		case a.Mismatched > 0:
			a.State, a.Failure = m.absent(), OtherArguments
		case a.Unread > 0:
			a.State, a.Failure = erred(Unreadable), OtherArguments
		case t.pooled:
			a.State = erred(NoConversation)
		default:
			a.State = passed()
		}
	}
	if t.noExtras {
		return
	}
	calls := make([]int, 0, maxListed)
	n := 0
	for k := extra.from(0); k >= 0; k = extra.from(k + 1) {
		if n++; len(calls) < maxListed {
			calls = append(calls, t.calls[k])
		}
	}
	m.extras(t, out, calls)
	out.Extra.Count = int64(n)
}

// assert is the row of an expectation before it is judged.
func (m *matcher) assert(t *task, e int, s State) Assert {
	turn, position := t.name(e)
	return Assert{State: s, Turn: turn, Position: position, Expectation: &t.expected[e]}
}

// name says where an expectation stands in the suite.
func (t *task) name(e int) (turn, position int) {
	if t.origin != nil {
		return t.origin[e].turn, t.origin[e].position
	}
	return t.number, e
}

// extras lists extra calls.
func (m *matcher) extras(t *task, out *Turn, calls []int) {
	for _, c := range calls {
		if len(out.Extra.List) == maxListed {
			break
		}
		f := Finding{Category: Extra, Turn: t.number, Position: -1, Call: &m.in.Calls[c], Count: 1}
		f.Text = f.describe(t.negative, out.Extras.Outcome == Fail, false)
		out.Extra.add(f)
	}
	out.Extra.Count = int64(len(calls))
}

// finding is one about an expectation; call is -1 where there is none.
func (m *matcher) finding(t *task, e int, c Category, call int, undecided bool) Finding {
	f := Finding{Category: c, Expected: &t.expected[e], Count: 1, Undecided: undecided}
	f.Turn, f.Position = t.name(e)
	if call >= 0 {
		f.Call = &m.in.Calls[call]
		f.Text = f.describe(false, false, false)
	}
	return f
}

// explain adds the keys at which the arguments differ.
func (m *matcher) explain(t *task, f *Finding, call int) {
	v, err := m.read(call)
	if err != nil {
		return // it could be read a moment ago; the finding stands without the keys
	}
	f.Keys, f.Differing = Differences(f.Expected.Args, v, m.mode(f.Expected), m.in.Show)
	f.Text = f.describe(false, false, false)
}
