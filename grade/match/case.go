package match

import (
	"slices"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// CaseInput is a case and the calls of one trial of it.
type CaseInput struct {
	// Turns are the turns of the case, in order, the silent ones too.
	Turns []TurnInput
	// Expected are the expectations over all calls of the case: the gating
	// toolCalledWith of the case and of the defaults (grading.md 0.2.13). They are free
	// of order, and do not change what is extra in a turn.
	Expected []Expectation
	// Calls are all calls of the trial, in host order: wire and host-only calls
	// (grading.md 0.1).
	Calls []Call
	// Options are the resolved ones.
	Options  Options
	Negative bool

	// CallsComplete says that every call is among Calls. TurnsKnown says that the Turn
	// of each is; one call without a turn makes all turns unknown. Neither TurnsKnown
	// nor Turn is read for a case of at most one turn: all calls are its calls.
	CallsComplete, TurnsKnown bool
	// PromptFinished says that a prompt is on record and that no turn was left
	// unfinished: what a negative case needs to pass (grading.md 0.1).
	PromptFinished bool
	// OrderUnknown says that the order of the calls is not certain.
	OrderUnknown bool
	// Show makes text of the value of an argument that differs; nil shows none. The key
	// may say that the value is a secret; it is empty for arguments that are no object.
	Show func(key string, v *value.Value) string
}

// TurnInput is a turn of a case.
type TurnInput struct {
	Expected []Expectation
	// Pinned turns make their calls themselves: their calls are exempt from order,
	// extras and the negative case, and expectations are still graded (grading.md 2.6).
	Pinned bool
}

// Case matches the calls of a trial with what its case expects: turn by turn
// (grading.md 2.5, 2.6), over the whole case (0.2.13), and as the two scorers (2.7).
//
// It is pure, and what is not in evidence it does not guess: see [Why]. Arguments of a
// call are asked for once, and once more for a mismatch that is listed, or for a second
// matching over the same calls, where keeping them would have taken too much memory.
// What it returns points into in.
func Case(in CaseInput) Result {
	m := &matcher{in: &in, args: map[int]cached{}, room: roomForArguments}
	var r Result
	all := make([]int, len(in.Calls))
	for i := range all {
		all[i] = i
	}
	switch {
	case len(in.Turns) == 0:
	case len(in.Turns) == 1:
		r.Turns = []Turn{m.grade(m.turn(0, all))}
	case m.turnsKnown():
		r.Turns = m.turns()
	default:
		r.Turns = []Turn{m.grade(m.pool(all))}
	}
	whole := task{number: -1, expected: in.Expected, calls: all, order: AnyOrder, noExtras: len(in.Turns) > 0}
	if len(in.Turns) == 0 {
		whole.cap, whole.negative = in.Options.MaxExtra, in.Negative
		if whole.negative {
			whole.expected = nil
		}
	}
	if whole.negative || whole.cap != nil || len(whole.expected) > 0 && !in.Negative {
		t := m.grade(whole)
		r.Whole = &t
	}
	m.scores(&r)
	return r
}

func (m *matcher) turnsKnown() bool {
	return m.in.TurnsKnown && !slices.ContainsFunc(m.in.Calls, func(c Call) bool { return c.Turn < 0 })
}

func (m *matcher) order() Order {
	if o := m.in.Options.Order; o != "" {
		return o
	}
	return AnyOrder
}

// turn is the task of one turn of the case.
func (m *matcher) turn(n int, calls []int) task {
	t := task{number: n, calls: calls, order: AnyOrder}
	var spec TurnInput // nothing is expected in turns beyond those of the case
	if n < len(m.in.Turns) {
		spec = m.in.Turns[n]
	}
	if spec.Pinned {
		t.expected, t.noExtras = spec.Expected, true
		return t
	}
	if t.negative = m.in.Negative; !t.negative {
		t.expected, t.order, t.cap = spec.Expected, m.order(), m.in.Options.MaxExtra
	}
	return t
}

// turns matches turn by turn.
func (m *matcher) turns() []Turn {
	byTurn := map[int][]int{}
	beyond := []int{}
	for i := range m.in.Calls {
		n := m.in.Calls[i].Turn
		if n >= len(m.in.Turns) && byTurn[n] == nil {
			beyond = append(beyond, n)
		}
		byTurn[n] = append(byTurn[n], i)
	}
	slices.Sort(beyond)
	out := make([]Turn, 0, len(m.in.Turns)+len(beyond))
	for n := range m.in.Turns {
		out = append(out, m.grade(m.turn(n, byTurn[n])))
	}
	for _, n := range beyond {
		out = append(out, m.grade(m.turn(n, byTurn[n])))
	}
	return out
}

// pool is the task that stands for all turns where it is not known which call belongs
// to which. An expected call that the whole session lacks is lacking in its turn, and a
// forbidden one is forbidden wherever it was made; nothing else follows (grading.md 0.1
// "Turns without a conversation").
func (m *matcher) pool(calls []int) task {
	t := task{number: -1, calls: calls, order: m.order(), pooled: true, cap: m.in.Options.MaxExtra}
	for n := range m.in.Turns {
		spec := &m.in.Turns[n]
		t.exempt = t.exempt || spec.Pinned
		if m.in.Negative && !spec.Pinned {
			continue
		}
		t.expected = append(t.expected, spec.Expected...)
		for i := range spec.Expected {
			t.origin = append(t.origin, origin{n, i})
		}
	}
	if m.in.Negative {
		t.cap, t.order = nil, AnyOrder
		t.negative = len(t.expected) == 0
	}
	return t
}

// scores makes the two scorers of all turns (grading.md 2.7).
func (m *matcher) scores(r *Result) {
	in := m.in
	match := &Score{ID: MatchID, Version: MatchVersion}
	arguments := &Score{ID: ArgumentsID, Version: ArgumentsVersion}
	authored := in.Negative || in.Options.MaxExtra != nil || len(in.Expected) > 0
	for i := range in.Turns {
		authored = authored || len(in.Turns[i].Expected) > 0
	}
	each := func(f func(*Turn)) {
		for i := range r.Turns {
			f(&r.Turns[i])
		}
		if r.Whole != nil {
			f(r.Whole)
		}
	}
	each(func(t *Turn) {
		match.State = match.and(t.Match)
		arguments.State = arguments.and(t.Arguments)
	})
	several := len(in.Turns) > 1
	if several && !in.CallsComplete && (in.Negative || in.Options.MaxExtra != nil) {
		// Every turn of the case may be pinned, and a call that is not on record may have
		// been made in a turn beyond them.
		match.State = match.and(erred(PartialCalls))
	}
	if in.Negative {
		// Only a pinned turn can have expectations then, and there is but one scorer.
		match.State, arguments.State = match.and(arguments.State), State{}
	}
	r.State = match.and(arguments.State)
	if r.Outcome == "" {
		r.State = passed()
	}
	if !authored {
		return
	}
	each(func(t *Turn) {
		if match.Outcome == Error && t.Match.Outcome == Error {
			match.say(where(t.Number, several)+t.Match.Why.sentence(), 1)
		}
		for _, f := range []*Findings{&t.Missing, &t.OutOfOrder, &t.Extra} {
			if f == &t.Extra && t.Extras.Outcome != Fail && t.Negative.Outcome != Fail {
				continue
			}
			match.sayAll(f, several)
		}
		if arguments.Outcome == Error && t.Arguments.Outcome == Error {
			arguments.say(where(t.Number, several)+t.Arguments.Why.sentence(), 1)
		}
		if in.Negative {
			match.sayAll(&t.Mismatched, several)
		}
		arguments.sayAll(&t.Mismatched, several)
	})
	if match.Outcome == Error && len(match.Rationale) == 0 {
		match.say(match.Why.sentence(), 1)
	}
	r.Match = match
	if arguments.Outcome != "" {
		r.Arguments = arguments
	}
}

// sayAll adds the texts of findings: of failures to a score that failed, of what is
// undecided to one that is an error.
func (s *Score) sayAll(f *Findings, several bool) {
	if s.Outcome != Fail && s.Outcome != Error {
		return
	}
	listed := int64(0)
	for i := range f.List {
		x := &f.List[i]
		listed = sum(listed, x.Count)
		if x.Undecided == (s.Outcome == Error) {
			s.say(where(x.Turn, several)+x.Text, 1)
		}
	}
	if rest := f.Count - listed; rest > 0 {
		s.say("", rest)
	}
}

func (s *Score) say(text string, n int64) {
	if text != "" && len(s.Rationale) < maxRationale {
		s.Rationale = append(s.Rationale, text)
		n--
	}
	s.More = sum(s.More, n)
}
