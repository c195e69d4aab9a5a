package match

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// dice draws numbers from a seed or from a fuzzer's bytes.
type dice struct {
	r    *rand.Rand
	data []byte
}

func (d *dice) roll(n int) int {
	if d.r != nil {
		return d.r.IntN(n)
	}
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

// draw makes a small case with whole evidence.
func (d *dice) draw() CaseInput {
	in := known(CaseInput{})
	tools := []string{"a", "b", "c"}[:1+d.roll(3)]
	object := func() *value.Value {
		if d.roll(6) == 0 {
			return nil
		}
		v := value.Obj()
		for _, k := range []string{"x", "y"} {
			if d.roll(3) > 0 {
				v.Obj = append(v.Obj, value.M(k, value.Num(strconv.Itoa(d.roll(2)))))
			}
		}
		return &v
	}
	expectation := func() Expectation {
		e := Expectation{Tool: tools[d.roll(len(tools))], Args: object(), Assert: -1}
		if e.Args != nil && len(e.Args.Obj) > 0 && d.roll(3) == 0 {
			e.Args.Obj[0].Value = value.Text("any")
		}
		e.Mode = []ArgumentMode{"", "", "", Exact, IgnoreArgs}[d.roll(5)]
		if d.roll(4) == 0 {
			e.MinCount = int64(d.roll(4)) - 1
		}
		return e
	}
	n := d.roll(4)
	for range n {
		t := TurnInput{Pinned: d.roll(8) == 0}
		for range d.roll(4) {
			t.Expected = append(t.Expected, expectation())
		}
		in.Turns = append(in.Turns, t)
	}
	if d.roll(4) == 0 {
		in.Expected = append(in.Expected, expectation())
	}
	for i := range d.roll(7) {
		args, turn := object(), d.roll(n+1)
		c := Call{Tool: tools[d.roll(len(tools))], Seq: int64(10 + i), Index: -1, Turn: turn}
		if args != nil {
			c.Arguments = func() (*value.Value, error) { return args, nil }
		}
		in.Calls = append(in.Calls, c)
	}
	in.Options = Options{
		Arguments: []ArgumentMode{"", Partial, Exact, IgnoreArgs}[d.roll(4)],
		Order:     []Order{"", AnyOrder, Strict, Superset}[d.roll(4)],
	}
	if d.roll(3) == 0 {
		in.Options.MaxExtra = capped(int64(d.roll(3)))
	}
	in.Negative = d.roll(8) == 0
	return in
}

// asUpstream is the matcher of grading.md 2.3 slot by slot, with the maximum matching
// of 0.2.2, an expectation's own mode, and nothing clever.
func asUpstream(m *matcher, expected []Expectation, calls []int, o Options, free bool) (missing, wrong, extra int, inOrder bool) {
	type slot struct{ right, name uint32 }
	var slots []slot
	impossible := 0
	for i := range expected {
		e := &expected[i]
		if e.MinCount < 0 {
			impossible++
			if o.Order == Strict {
				slots = append(slots, slot{})
			}
			continue
		}
		var s slot
		for k, c := range calls {
			if m.in.Calls[c].Tool == e.Tool {
				s.name |= 1 << k
				v, _ := m.read(c)
				if ArgumentsMatch(e.Args, v, m.mode(e)) {
					s.right |= 1 << k
				}
			}
		}
		for range e.copies() {
			slots = append(slots, s)
		}
	}
	all := uint32(1)<<len(calls) - 1
	right, name := make([]uint32, len(slots)), make([]uint32, len(slots))
	for i, s := range slots {
		right[i], name[i] = s.right, s.name
	}
	met, named := bruteMax(right, all), bruteMax(name, all)
	real := len(slots)
	if o.Order == Strict {
		real -= impossible
	}
	missing, wrong, extra = real-named+impossible, named-met, len(calls)-named
	inOrder = true
	if free || met < real {
		return missing, wrong, extra, inOrder
	}
	cursor := 0
	for i, s := range slots {
		switch {
		case o.Order == Strict:
			inOrder = inOrder && (s.name == 0 || i < len(calls) && s.right&(1<<i) != 0)
		case o.Order == Superset:
			for cursor < len(calls) && s.right&(1<<cursor) == 0 {
				cursor++
			}
			inOrder = inOrder && cursor < len(calls)
			cursor++
		}
	}
	return missing, wrong, extra, inOrder
}

func TestTurnsAgreeWithTheMatcherSlotBySlot(t *testing.T) {
	d := &dice{r: rand.New(rand.NewPCG(2, 6))}
	for round := range 4000 {
		in := d.draw()
		if in.Negative || len(in.Turns) < 2 {
			continue
		}
		m := &matcher{in: &in, args: map[int]cached{}}
		r := Case(in)
		for n := range in.Turns {
			var calls []int
			for i := range in.Calls {
				if in.Calls[i].Turn == n {
					calls = append(calls, i)
				}
			}
			spec, turn := in.Turns[n], &r.Turns[n]
			if len(spec.Expected) == 0 {
				continue
			}
			missing, wrong, extra, inOrder := asUpstream(m, spec.Expected, calls, in.Options, spec.Pinned)
			if turn.Missing.Count != int64(missing) || turn.Mismatched.Count != int64(wrong) || !spec.Pinned && turn.Extra.Count != int64(extra) {
				t.Fatalf("round %d: missing %d, other arguments %d, extra %d; slot by slot %d, %d, %d\n%s", round, turn.Missing.Count, turn.Mismatched.Count, turn.Extra.Count, missing, wrong, extra, show(r))
			}
			within := spec.Pinned || in.Options.MaxExtra == nil || int64(extra) <= *in.Options.MaxExtra
			passes := missing == 0 && wrong == 0 && inOrder && within
			if (turn.Outcome == Pass) != passes || turn.Outcome == Error {
				t.Fatalf("round %d: turn %d %s, slot by slot passed = %v\n%s", round, n, turn.Outcome, passes, show(r))
			}
		}
	}
}

func TestOrderOfUnrelatedCallsDoesNotMatter(t *testing.T) {
	d := &dice{r: rand.New(rand.NewPCG(8, 8))}
	for round := range 3000 {
		in := d.draw()
		in.Options.Order = AnyOrder
		before := Case(in)
		in.Calls = slices.Clone(in.Calls)
		d.r.Shuffle(len(in.Calls), func(i, j int) { in.Calls[i], in.Calls[j] = in.Calls[j], in.Calls[i] })
		after := Case(in)
		if outcomes(before) != outcomes(after) {
			t.Fatalf("round %d: %s, and shuffled %s", round, outcomes(before), outcomes(after))
		}
	}
}

func outcomes(r Result) string {
	s := string(r.Outcome)
	for _, x := range []*Score{r.Match, r.Arguments} {
		if x == nil {
			s += " none"
		} else {
			s += " " + string(x.Outcome)
		}
	}
	return s
}

// lose takes evidence away, in one of the ways in which it can be.
func (d *dice) lose(in CaseInput) (CaseInput, string) {
	in.Calls = slices.Clone(in.Calls)
	switch d.roll(6) {
	case 0:
		in.CallsComplete = false
		// A call of no known turn that is lost leaves the turns unknown.
		in.TurnsKnown = in.TurnsKnown && !slices.ContainsFunc(in.Calls, func(c Call) bool { return c.Turn < 0 })
		for range d.roll(len(in.Calls) + 1) {
			i := d.roll(len(in.Calls))
			in.Calls = slices.Delete(in.Calls, i, i+1)
		}
		return in, "calls"
	case 1:
		in.TurnsKnown = false
		return in, "turns"
	case 2:
		in.PromptFinished = false
		return in, "prompt"
	case 3:
		in.OrderUnknown = true
		return in, "order"
	case 4:
		if len(in.Calls) > 0 {
			in.Calls[d.roll(len(in.Calls))].Turn = -1
		}
		return in, "turn of a call"
	}
	if len(in.Calls) > 0 {
		c := &in.Calls[d.roll(len(in.Calls))]
		if c.Arguments != nil {
			c.Arguments = func() (*value.Value, error) { return nil, errors.New("unreadable") }
		}
	}
	return in, "arguments"
}

// lost tells what is wrong with the results before and after evidence went: nothing may
// move to a pass, and nobody is blamed for what is only missing from the evidence.
func lost(before, after Result, turns bool) error {
	parts := []struct {
		name     string
		was, now Outcome
	}{{"the case", before.Outcome, after.Outcome}}
	if before.Match != nil {
		parts = append(parts, struct {
			name     string
			was, now Outcome
		}{MatchID, before.Match.Outcome, after.Match.Outcome})
	}
	if before.Arguments != nil {
		parts = append(parts, struct {
			name     string
			was, now Outcome
		}{ArgumentsID, before.Arguments.Outcome, after.Arguments.Outcome})
	}
	for _, p := range parts {
		if p.now == Pass && p.was != Pass {
			return fmt.Errorf("%s was %s and is passed with less evidence", p.name, p.was)
		}
		// Without turns it is not known whether a call with other arguments or another turn
		// is what was meant: the case still fails, at one link or the other.
		if p.now == Fail && p.was != Fail && !(turns && p.name == ArgumentsID) {
			return fmt.Errorf("%s was %s and is failed with less evidence", p.name, p.was)
		}
	}
	if (before.Match == nil) != (after.Match == nil) || (before.Arguments == nil) != (after.Arguments == nil) {
		return errors.New("a scorer comes or goes with the evidence")
	}
	return nil
}

func TestEvidenceIsOnlyLost(t *testing.T) {
	d := &dice{r: rand.New(rand.NewPCG(5, 3))}
	seen := map[string]int{}
	for round := range 20000 {
		in := d.draw()
		turns := false
		before := Case(in)
		for range 1 + d.roll(3) {
			var what string
			in, what = d.lose(in)
			turns = turns || strings.HasPrefix(what, "turn")
			after := Case(in)
			if err := lost(before, after, turns); err != nil {
				t.Fatalf("round %d, %s: %v\n%s\n%s", round, what, err, show(before), show(after))
			}
			if before.Outcome != after.Outcome {
				seen[what]++
			}
			before = after
		}
	}
	for _, what := range []string{"calls", "turns", "prompt", "order", "turn of a call", "arguments"} {
		if seen[what] == 0 {
			t.Errorf("losing %s never changed an outcome: the test does not reach it", what)
		}
	}
}

// check tells what is wrong with a result in itself.
func check(in CaseInput, r Result) error {
	all := append(slices.Clone(r.Turns), wholeOf(r)...)
	state := State{}
	for i := range all {
		t := &all[i]
		state = state.and(t.State)
		if t.Outcome != t.Match.and(t.Arguments).Outcome || t.Outcome == "" {
			return fmt.Errorf("turn %d is %s, its parts %s and %s", t.Number, t.Outcome, t.Match.Outcome, t.Arguments.Outcome)
		}
		var met, missing, wrong, unread int64
		for _, a := range t.Asserts {
			if a.Met+a.Missing+a.Mismatched+a.Unread != a.Expectation.copies() || a.Met < 0 || a.Missing < 0 {
				return fmt.Errorf("turn %d: an expectation of %d calls has %+v", t.Number, a.Expectation.copies(), a)
			}
			if a.Outcome == Pass && a.Met != a.Expectation.copies() {
				return fmt.Errorf("turn %d: passed with %d of %d", t.Number, a.Met, a.Expectation.copies())
			}
			met, missing, wrong, unread = met+a.Met, missing+a.Missing, wrong+a.Mismatched, unread+a.Unread
		}
		if missing != t.Missing.Count || wrong+unread != t.Mismatched.Count || t.Sequence.OutOfOrder != t.OutOfOrder.Count {
			return fmt.Errorf("turn %d: the counts of rows and findings differ", t.Number)
		}
		if len(t.Asserts) > 0 && t.Extras.Count > 0 && met+wrong+unread+t.Extras.Count != t.Calls {
			return fmt.Errorf("turn %d: %d calls are not told", t.Number, t.Calls)
		}
		used := map[*Call]Category{}
		for _, f := range []Findings{t.Missing, t.Extra, t.OutOfOrder, t.Mismatched} {
			for _, x := range f.List {
				if x.Text == "" {
					return fmt.Errorf("a finding %s without a text", x.Category)
				}
				if x.Call != nil && x.Count == 1 && !(x.Undecided && x.Category == OtherArguments && x.Differing == 0) {
					if used[x.Call] != "" {
						return fmt.Errorf("call %d is %s and %s", x.Call.Seq, used[x.Call], x.Category)
					}
					used[x.Call] = x.Category
				}
			}
		}
	}
	if len(in.Turns) > 1 && !in.CallsComplete && (in.Negative || in.Options.MaxExtra != nil) {
		state = state.and(erred(PartialCalls)) // there may have been turns beyond
	}
	if state.Outcome != "" && state.Outcome != r.Outcome {
		return fmt.Errorf("the case is %s, its turns %s", r.Outcome, state.Outcome)
	}
	both := State{}
	for _, s := range []*Score{r.Match, r.Arguments} {
		if s == nil {
			continue
		}
		both = both.and(s.State)
		if len(s.Rationale) > maxRationale || (s.Outcome == Pass) != (len(s.Rationale) == 0) || (s.Outcome == Error) != (s.Why != "") {
			return fmt.Errorf("%s is %s with why %q and %q", s.ID, s.Outcome, s.Why, s.Rationale)
		}
	}
	if both.Outcome != "" && both.Outcome != r.Outcome {
		return fmt.Errorf("the case is %s, its scorers %s", r.Outcome, both.Outcome)
	}
	if both.Outcome == "" && r.Outcome != Pass {
		return fmt.Errorf("the case is %s, and no scorer says so", r.Outcome)
	}
	return nil
}

func FuzzCase(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		seed := make([]byte, 120)
		for i := range seed {
			seed[i] = byte(r.UintN(256))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data: data}
		in := d.draw()
		before := Case(in)
		if err := check(in, before); err != nil {
			t.Fatalf("%v\n%s", err, show(before))
		}
		turns := false
		for range 2 {
			var what string
			in, what = d.lose(in)
			turns = turns || strings.HasPrefix(what, "turn")
			after := Case(in)
			if err := errors.Join(check(in, after), lost(before, after, turns)); err != nil {
				t.Fatalf("without %s: %v\n%s\n%s", what, err, show(before), show(after))
			}
			if again := Case(in); show(again) != show(after) {
				t.Fatalf("not the same again:\n%s\n%s", show(after), show(again))
			}
			before = after
		}
	})
}
