package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// made reads calls written "tool{arguments}", one turn a text, separated by spaces;
// "tool" is a call without arguments, "tool!" one whose arguments cannot be read, and
// "?tool" one of no known turn.
func made(t testing.TB, turns ...string) []Call {
	var out []Call
	for n, text := range turns {
		for _, c := range strings.Fields(text) {
			call := Call{Seq: int64(100 + len(out)), Index: -1, Turn: n}
			if rest, ok := strings.CutPrefix(c, "?"); ok {
				c, call.Turn = rest, -1
			}
			name, args, has := strings.Cut(c, "{")
			if bad, ok := strings.CutSuffix(name, "!"); ok {
				name = bad
				call.Arguments = func() (*value.Value, error) { return nil, errors.New("nested too deep") }
			}
			if call.Tool = name; has {
				v := mustParse(t, []byte("{"+args))
				call.Arguments = func() (*value.Value, error) { return v, nil }
			}
			out = append(out, call)
		}
	}
	return out
}

// want reads expectations: "tool{arguments}", with "*3" for a minCount and "=" before
// the name for mode exact, "~" for ignore.
func want(t testing.TB, text string) []Expectation {
	var out []Expectation
	for _, c := range strings.Fields(text) {
		e := Expectation{Assert: -1}
		if rest, ok := strings.CutPrefix(c, "="); ok {
			c, e.Mode = rest, Exact
		}
		if rest, ok := strings.CutPrefix(c, "~"); ok {
			c, e.Mode = rest, IgnoreArgs
		}
		if head, n, ok := strings.Cut(c, "*"); ok {
			c = head
			fmt.Sscan(n, &e.MinCount)
		}
		name, args, has := strings.Cut(c, "{")
		if e.Tool = name; has {
			e.Args = mustParse(t, []byte("{"+args))
		}
		out = append(out, e)
	}
	return out
}

func capped(n int64) *int64 { return &n }

// show writes a result in short: the scorers, then the findings of every turn.
func show(r Result) string {
	var b strings.Builder
	score := func(s *Score) {
		if s == nil {
			b.WriteString("none")
			return
		}
		b.WriteString(string(s.Outcome))
		if s.Why != "" {
			b.WriteString("(" + string(s.Why) + ")")
		}
	}
	score(r.Match)
	b.WriteString(" ")
	score(r.Arguments)
	for _, t := range append(slices.Clone(r.Turns), wholeOf(r)...) {
		for _, f := range []Findings{t.Missing, t.Extra, t.OutOfOrder, t.Mismatched} {
			for _, x := range f.List {
				tool, mark := "", ""
				if x.Expected != nil {
					tool = x.Expected.Tool
				} else {
					tool = x.Call.Tool
				}
				if x.Undecided {
					mark = "?"
				}
				if x.Count > 1 {
					mark += fmt.Sprintf("*%d", x.Count)
				}
				fmt.Fprintf(&b, " %s:%s%s", x.Category, tool, mark)
			}
		}
	}
	return b.String()
}

func wholeOf(r Result) []Turn {
	if r.Whole == nil {
		return nil
	}
	return []Turn{*r.Whole}
}

// known is the evidence of a session that is all there.
func known(c CaseInput) CaseInput {
	c.CallsComplete, c.TurnsKnown, c.PromptFinished = true, true, true
	return c
}

func turns(t testing.TB, texts ...string) []TurnInput {
	var out []TurnInput
	for _, s := range texts {
		rest, pinned := strings.CutPrefix(s, "pinned ")
		if s == "pinned" {
			rest, pinned = "", true
		}
		out = append(out, TurnInput{Expected: want(t, rest), Pinned: pinned})
	}
	return out
}

// TestFaults are the mistakes of grading.md 10 that a matcher can make, and those of
// 2.2 to 2.7 that no vector shows.
func TestFaults(t *testing.T) {
	for _, row := range []struct {
		name string
		in   CaseInput
		want string
	}{
		{"10.10: a turn without expectations passes without calls", CaseInput{Turns: turns(t, "")}, "none none"},
		{"10.12: a call of turn 1 does not serve turn 2", CaseInput{Turns: turns(t, "a", "b"), Calls: made(t, "a b", "")}, "fail pass extra:b missing:b"},
		{"10.13: what was advisory never gets here, so a negative case without calls passes", CaseInput{Turns: turns(t, ""), Negative: true}, "pass none"},
		{"10.13: expectations of a negative case are ignored", CaseInput{Turns: turns(t, "a"), Negative: true}, "pass none"},
		{"10.17: other arguments are no wrong choice", CaseInput{Turns: turns(t, `a{"x":1}`), Calls: made(t, `a{"x":2}`)}, "pass fail arguments:a"},
		{"10.17: nor do they make the next call out of order", CaseInput{Turns: turns(t, `a{"x":1} b`), Calls: made(t, `a{"x":2} b`), Options: Options{Order: Superset}}, "pass fail arguments:a"},
		{"10.37: a minCount below 0 is no gate that is off", CaseInput{Turns: turns(t, "a*-1"), Calls: made(t, "a")}, "fail pass missing:a extra:a"},
		{"10.37: a huge minCount costs nothing", CaseInput{Turns: turns(t, "a*9223372036854775807 a*9223372036854775807"), Calls: made(t, "a a a")}, "fail pass missing:a*9223372036854775804 missing:a*9223372036854775807"},
		{"10.37: nor under strict", CaseInput{Turns: turns(t, "a*9223372036854775807 a"), Calls: made(t, "a a"), Options: Options{Order: Strict}}, "fail pass missing:a*9223372036854775805 missing:a"},
		{"10.43: minCount and the own mode hold", CaseInput{Turns: turns(t, `=a{"x":1}*2`), Calls: made(t, `a{"x":1} a{"x":1,"y":2}`)}, "pass fail arguments:a"},
		{"10.44: extra calls without a cap are reported, not fatal", CaseInput{Turns: turns(t, "a"), Calls: made(t, "a b")}, "pass pass extra:b"},
		{"10.46: pinned calls are not the model's", CaseInput{Turns: turns(t, "pinned", "a"), Calls: made(t, "x y", "a"), Options: Options{MaxExtra: capped(0), Order: Strict}}, "pass pass"},
		{"10.46: nor in a negative case", CaseInput{Turns: turns(t, "pinned", ""), Calls: made(t, "x", ""), Negative: true}, "pass none"},
		{"10.46: expectations of a pinned turn are graded, free of order", CaseInput{Turns: turns(t, "pinned a b"), Calls: made(t, "b x a"), Options: Options{MaxExtra: capped(0), Order: Strict}}, "pass pass"},

		{"0.2.2: a vague expectation first does not take what a specific one needs", CaseInput{Turns: turns(t, `a{"x":"any"} a{"x":1}`), Calls: made(t, `a{"x":1} a{"x":2}`)}, "pass pass"},
		{"0.2.3: strict, swapped", CaseInput{Turns: turns(t, "a b"), Calls: made(t, "b a"), Options: Options{Order: Strict}}, "fail pass outOfOrder:a outOfOrder:b"},
		{"0.2.3: superset, swapped", CaseInput{Turns: turns(t, "a b"), Calls: made(t, "b a"), Options: Options{Order: Superset}}, "fail pass outOfOrder:b"},
		{"0.2.3: what is in order behind a missing call is not out of it", CaseInput{Turns: turns(t, "a b c"), Calls: made(t, "a c"), Options: Options{Order: Superset}}, "fail pass missing:b"},
		{"0.2.3: paired in another way when order is ignored", CaseInput{Turns: turns(t, `a{"x":"any"} a{"x":1}`), Calls: made(t, `a{"x":1} a{"x":2}`), Options: Options{Order: Strict}}, "fail pass outOfOrder:a"},
		{"2.3: superset with calls between", CaseInput{Turns: turns(t, "a a b"), Calls: made(t, "a x a x b x"), Options: Options{Order: Superset}}, "pass pass extra:x extra:x extra:x"},
		{"2.3: strict is by position", CaseInput{Turns: turns(t, "a b"), Calls: made(t, "a b x"), Options: Options{Order: Strict}}, "pass pass extra:x"},
		{"2.3: one call does not serve two expectations", CaseInput{Turns: turns(t, "b b"), Calls: made(t, "b"), Options: Options{MaxExtra: capped(0)}}, "fail pass missing:b"},
		{"2.3: a cap forgives no missing call", CaseInput{Turns: turns(t, "a"), Calls: made(t, "b"), Options: Options{MaxExtra: capped(5)}}, "fail pass missing:a extra:b"},
		{"2.5: the cap holds where nothing is expected", CaseInput{Turns: turns(t, ""), Calls: made(t, "b"), Options: Options{MaxExtra: capped(0)}}, "fail none extra:b"},
		{"2.5: and is a cap", CaseInput{Turns: turns(t, ""), Calls: made(t, "b"), Options: Options{MaxExtra: capped(1)}}, "pass none"},
		{"2.5: then all calls are unexpected", CaseInput{Turns: turns(t, ""), Calls: made(t, "b c"), Options: Options{MaxExtra: capped(1)}}, "fail none extra:b extra:c"},
		{"2.5: the cap is one of each turn", CaseInput{Turns: turns(t, "", ""), Calls: made(t, "a", "b"), Options: Options{MaxExtra: capped(1)}}, "pass none"},
		{"2.5: turns beyond those of the case have a cap too", CaseInput{Turns: turns(t, "a", ""), Calls: made(t, "a", "", "b"), Options: Options{MaxExtra: capped(0)}}, "fail pass extra:b"},
		{"2.5: silence in other turns fails nothing", CaseInput{Turns: turns(t, "a", ""), Calls: made(t, "a", "")}, "pass pass"},
		{"2.7: no scorer for arguments when none are compared", CaseInput{Turns: turns(t, `a{"x":1}`), Calls: made(t, `a{"x":2}`), Options: Options{Arguments: IgnoreArgs}}, "pass none"},
		{"2.7: but for an own mode", CaseInput{Turns: turns(t, `a{"x":1} =b{"y":1}`), Calls: made(t, `a{"x":2} b`), Options: Options{Arguments: IgnoreArgs}}, "pass fail arguments:b"},
		{"2.7: an own mode ignore alone has none", CaseInput{Turns: turns(t, `~a{"x":1}`), Calls: made(t, `a!`)}, "pass none"},
		{"2.7: nothing paired is a pass of arguments", CaseInput{Turns: turns(t, `a{"x":1}`)}, "fail pass missing:a"},
		{"2.1: pass 2 takes the first of the same name", CaseInput{Turns: turns(t, `a{"x":1} a{"x":2}`), Calls: made(t, `a{"x":2} a{"x":3}`)}, "pass fail arguments:a"},

		{"0.2.13: an expectation over all calls of the case", CaseInput{Turns: turns(t, "", ""), Expected: want(t, "a b"), Calls: made(t, "b", "a x")}, "pass pass"},
		{"0.2.13: that is missing", CaseInput{Turns: turns(t, "", ""), Expected: want(t, "a c"), Calls: made(t, "b", "a x")}, "fail pass missing:c"},
		{"0.2.13: takes no call from a turn", CaseInput{Turns: turns(t, "a"), Expected: want(t, "a"), Calls: made(t, "a"), Options: Options{MaxExtra: capped(0)}}, "pass pass"},
		{"0.2.13: has no effect on extras", CaseInput{Turns: turns(t, "a"), Expected: want(t, "b"), Calls: made(t, "a b"), Options: Options{MaxExtra: capped(0)}}, "fail pass extra:b"},
		{"0.2.13: unless the case has no turns", CaseInput{Expected: want(t, "b"), Calls: made(t, "b"), Options: Options{MaxExtra: capped(0), Order: Strict}}, "pass pass"},
		{"0.2.13: where extras count", CaseInput{Expected: want(t, "b"), Calls: made(t, "a b"), Options: Options{MaxExtra: capped(0), Order: Strict}}, "fail pass extra:a"},
		{"a case without turns and a cap", CaseInput{Calls: made(t, "a"), Options: Options{MaxExtra: capped(0)}}, "fail none extra:a"},
		{"a negative case without turns", CaseInput{Expected: want(t, "a"), Calls: made(t, "a"), Negative: true}, "fail none extra:a"},
		{"an empty case", CaseInput{Calls: made(t, "a")}, "none none"},
		{"a case of one turn has all calls", CaseInput{Turns: turns(t, "a b"), Calls: made(t, "a", "b", "?c")}, "pass pass extra:c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := show(Case(known(row.in))); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestPositiveCaseWithoutCalls pins the two sides of grading.md 10.10: the matcher
// fails what it is asked to match, and a turn that expects nothing does not ask.
func TestPositiveCaseWithoutCalls(t *testing.T) {
	if r := Case(known(CaseInput{Turns: turns(t, "a")})); r.Outcome != Fail || r.Match.Outcome != Fail {
		t.Errorf("an expected call and none made: %s", show(r))
	}
	r := Case(known(CaseInput{Turns: turns(t, "", "a"), Calls: made(t, "", "a")}))
	if r.Outcome != Pass || r.Turns[0].Outcome != Pass {
		t.Errorf("a silent turn beside a met one: %s", show(r))
	}
	// Nothing is expected at all: no scorer, so that the trial is not passed by it.
	if r := Case(known(CaseInput{Turns: turns(t, "")})); r.Match != nil || r.Arguments != nil {
		t.Errorf("a case that expects nothing has a scorer: %s", show(r))
	}
}

// TestMissingEvidence is grading.md 0.2.7 and 0.1 "Turns without a conversation".
func TestMissingEvidence(t *testing.T) {
	partial := func(c CaseInput) CaseInput { c = known(c); c.CallsComplete = false; return c }
	apart := func(c CaseInput) CaseInput { c = known(c); c.TurnsKnown = false; return c }
	for _, row := range []struct {
		name string
		in   CaseInput
		want string
	}{
		{"partial: a missing call is undecided", partial(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "a")}), "error(partialCalls) error(partialCalls) missing:b?"},
		{"partial: a call that was seen was made", partial(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "b a")}), "pass pass"},
		{"partial: nothing extra cannot be told", partial(CaseInput{Turns: turns(t, "a"), Calls: made(t, "a"), Options: Options{MaxExtra: capped(0)}}), "error(partialCalls) pass"},
		{"partial: an extra call that was seen fails", partial(CaseInput{Turns: turns(t, "a"), Calls: made(t, "a b"), Options: Options{MaxExtra: capped(0)}}), "fail pass extra:b"},
		{"partial: also where nothing is expected", partial(CaseInput{Turns: turns(t, ""), Calls: made(t, "b"), Options: Options{MaxExtra: capped(0)}}), "fail none extra:b"},
		{"partial: and none there is an error", partial(CaseInput{Turns: turns(t, ""), Options: Options{MaxExtra: capped(0)}}), "error(partialCalls) none"},
		{"partial: a negative case is an error", partial(CaseInput{Turns: turns(t, ""), Negative: true}), "error(partialCalls) none"},
		{"partial: unless a call was seen", partial(CaseInput{Turns: turns(t, ""), Negative: true, Calls: made(t, "a")}), "fail none extra:a"},
		{"partial: the right call may be one of the lost", partial(CaseInput{Turns: turns(t, `a{"x":1}`), Calls: made(t, `a{"x":2}`)}), "pass error(partialCalls) arguments:a?"},
		{"partial: strict positions are not known", partial(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "a b"), Options: Options{Order: Strict}}), "error(partialCalls) pass"},
		{"partial: superset that is met stays met", partial(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "a b"), Options: Options{Order: Superset}}), "pass pass"},
		{"partial: out of order is undecided", partial(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "b a"), Options: Options{Order: Superset}}), "error(partialCalls) pass outOfOrder:b?"},
		{"partial: a turn beyond pinned ones may have been lost", partial(CaseInput{Turns: turns(t, "pinned a", "pinned"), Calls: made(t, "a"), Options: Options{MaxExtra: capped(0)}}), "error(partialCalls) pass"},
		{"partial: over the whole case", partial(CaseInput{Turns: turns(t, ""), Expected: want(t, "a")}), "error(partialCalls) error(partialCalls) missing:a?"},

		{"unread: may be the right one", known(CaseInput{Turns: turns(t, `a{"x":1}`), Calls: made(t, `a!`)}), "pass error(unreadableArguments) arguments:a?"},
		{"unread: another is the right one", known(CaseInput{Turns: turns(t, `a{"x":1}`), Calls: made(t, `a! a{"x":1}`)}), "pass pass extra:a"},
		{"unread: one of two mismatches is certain", known(CaseInput{Turns: turns(t, `a{"x":1} a{"x":1}`), Calls: made(t, `a! a{"x":2}`)}), "pass fail arguments:a? arguments:a"},
		{"unread: a name is enough to be missing", known(CaseInput{Turns: turns(t, `a{"x":1} a{"x":2}`), Calls: made(t, `a!`)}), "fail error(unreadableArguments) missing:a arguments:a?"},
		{"unread: never a pass of exact {}", known(CaseInput{Turns: turns(t, `=a{}`), Calls: made(t, `a!`)}), "pass error(unreadableArguments) arguments:a?"},
		{"unread: may be the one in order", known(CaseInput{Turns: turns(t, `a{"x":1} b`), Calls: made(t, `a! b a{"x":1}`), Options: Options{Order: Superset}}), "error(unreadableArguments) pass extra:a outOfOrder:b?"},

		{"no conversation: all are there, somewhere", apart(CaseInput{Turns: turns(t, "a", "b"), Calls: made(t, "a b")}), "error(noConversation) error(noConversation)"},
		{"no conversation: missing from the whole session", apart(CaseInput{Turns: turns(t, "a", "b"), Calls: made(t, "a x")}), "fail error(noConversation) missing:b extra:x"},
		{"no conversation: each turn needs a call of its own", apart(CaseInput{Turns: turns(t, "a", "a"), Calls: made(t, "a")}), "fail error(noConversation) missing:a"},
		{"no conversation: nowhere with these arguments", apart(CaseInput{Turns: turns(t, `a{"x":1}`, ""), Calls: made(t, `a{"x":2}`)}), "error(noConversation) fail arguments:a"},
		{"no conversation: a forbidden call", apart(CaseInput{Turns: turns(t, "", ""), Calls: made(t, "a"), Negative: true}), "fail none extra:a"},
		{"no conversation: forbidden by a cap of 0", apart(CaseInput{Turns: turns(t, "a", ""), Calls: made(t, "a b"), Options: Options{MaxExtra: capped(0)}}), "fail error(noConversation) extra:b"},
		{"no conversation: a cap above 0 is one of each turn", apart(CaseInput{Turns: turns(t, "", ""), Calls: made(t, "a b c d"), Options: Options{MaxExtra: capped(1)}}), "error(noConversation) none"},
		{"no conversation: a cap of 0 that is kept", apart(CaseInput{Turns: turns(t, "", ""), Options: Options{MaxExtra: capped(0)}}), "error(noConversation) none"},
		{"no conversation: the order is one of each turn", apart(CaseInput{Turns: turns(t, "a", "b"), Calls: made(t, "b a"), Options: Options{Order: Strict}}), "error(noConversation) error(noConversation)"},
		{"no conversation: a pinned turn may have made the call", apart(CaseInput{Turns: turns(t, "pinned", ""), Calls: made(t, "a"), Negative: true}), "error(noConversation) none"},
		{"no conversation: or the extra one", apart(CaseInput{Turns: turns(t, "pinned", "a"), Calls: made(t, "a b"), Options: Options{MaxExtra: capped(0)}}), "error(noConversation) error(noConversation) extra:b"},
		{"no conversation: partial, and missing", func() CaseInput {
			c := apart(CaseInput{Turns: turns(t, "a", "b"), Calls: made(t, "a")})
			c.CallsComplete = false
			return c
		}(), "error(partialCalls) error(partialCalls) missing:b?"},
		{"no conversation: one turn needs none", apart(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "?a ?b")}), "pass pass"},
		{"no conversation: nor does the whole case", apart(CaseInput{Turns: turns(t, "", ""), Expected: want(t, "a"), Calls: made(t, "a")}), "pass pass"},
		{"one call of no known turn", known(CaseInput{Turns: turns(t, "a", "b"), Calls: made(t, "a", "b ?c")}), "error(noConversation) error(noConversation) extra:c"},

		{"a negative case without a finished prompt", func() CaseInput {
			c := known(CaseInput{Turns: turns(t, ""), Negative: true})
			c.PromptFinished = false
			return c
		}(), "error(noFinishedPrompt) none"},
		{"calls that overlap: order is not known", func() CaseInput {
			c := known(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "b a"), Options: Options{Order: Superset}})
			c.OrderUnknown = true
			return c
		}(), "error(orderNotKnown) pass"},
		{"calls that overlap: missing is missing", func() CaseInput {
			c := known(CaseInput{Turns: turns(t, "a b"), Calls: made(t, "a"), Options: Options{Order: Strict}})
			c.OrderUnknown = true
			return c
		}(), "fail pass missing:b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := show(Case(row.in)); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestRationalesNameToolsAndKeysAtMostThree(t *testing.T) {
	r := Case(known(CaseInput{
		Turns:   turns(t, `a{"id":"secret-1"} b c d`, `e e*3`, `f{"k":1}`),
		Calls:   made(t, `x a{"id":"secret-2"} z`, `e`, `f`),
		Options: Options{MaxExtra: capped(1)},
	}))
	want := []string{
		`turn 1: "b" was expected and not called`,
		`turn 1: "c" was expected and not called`,
		`turn 1: "d" was expected and not called`,
	}
	if !slices.Equal(r.Match.Rationale, want) || r.Match.More != 3 {
		t.Errorf("match: %q and %d more", r.Match.Rationale, r.Match.More)
	}
	want = []string{`turn 1: "a" was called with another "id"`, `turn 3: "f" was called without "k"`}
	if !slices.Equal(r.Arguments.Rationale, want) || r.Arguments.More != 0 {
		t.Errorf("arguments: %q and %d more", r.Arguments.Rationale, r.Arguments.More)
	}
	if got, want := r.Turns[1].Missing.List[0].Text, `"e" was expected 3 times more than it was called`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r = Case(known(CaseInput{Turns: turns(t, `a`), Calls: made(t, `a x`)}))
	if got, want := r.Turns[0].Extra.List[0].Text, `"x" was called and not expected (reported, not fatal)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	denied := made(t, `x`)
	denied[0].HostOnly = true
	r = Case(known(CaseInput{Turns: turns(t, ``), Calls: denied, Negative: true}))
	if got, want := r.Match.Rationale[0], `"x" was called and not expected (it never reached the wire)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r = Case(CaseInput{Turns: turns(t, `a`), Calls: made(t, ``)})
	if len(r.Match.Rationale) != 2 || !strings.HasPrefix(r.Match.Rationale[0], "not all calls are on record") {
		t.Errorf("an error says what is missing first: %q", r.Match.Rationale)
	}
}

func TestListsAreBoundedAndCountsAreNot(t *testing.T) {
	r := Case(known(CaseInput{Turns: turns(t, `a{"x":1}*30`), Calls: made(t, strings.Repeat(`a{"x":2} `, 25)+strings.Repeat("b ", 40)), Options: Options{MaxExtra: capped(0)}}))
	turn := &r.Turns[0]
	for what, f := range map[string]struct {
		f    Findings
		n, l int64
	}{"mismatched": {turn.Mismatched, 25, maxListed}, "extra": {turn.Extra, 40, maxListed}, "missing": {turn.Missing, 5, 1}} {
		if f.f.Count != f.n || int64(len(f.f.List)) != f.l {
			t.Errorf("%s: %d, %d listed; want %d, %d", what, f.f.Count, len(f.f.List), f.n, f.l)
		}
	}
	if r.Match.More != 38 || r.Arguments.More != 22 {
		t.Errorf("%d and %d more, want 38 and 22", r.Match.More, r.Arguments.More)
	}
}

// TestArgumentsAreAskedForOnce also over the two matchings of a case, and not at all
// where the name decides.
func TestArgumentsAreAskedForOnce(t *testing.T) {
	asked := map[int64]int{}
	calls := made(t, `a{"x":1} a{"x":2} b{"x":1} c{"x":1} a{"x":3}`)
	for i := range calls {
		get, seq := calls[i].Arguments, calls[i].Seq
		calls[i].Arguments = func() (*value.Value, error) { asked[seq]++; return get() }
	}
	Case(known(CaseInput{Turns: turns(t, `a{"x":1} a{"x":9} ~b{"x":2} c{}`), Expected: want(t, `a{"x":1}`), Calls: calls}))
	if fmt.Sprint(asked) != "map[100:1 101:1 104:1]" {
		t.Errorf("asked: %v", asked)
	}
}

func TestLargeArgumentsAreNotKept(t *testing.T) {
	long := value.Obj(value.M("x", value.Text(strings.Repeat("y", roomForArguments))))
	asked := 0
	call := Call{Tool: "a", Index: -1, Arguments: func() (*value.Value, error) { asked++; return &long, nil }}
	m := &matcher{in: &CaseInput{Calls: []Call{call}}, args: map[int]cached{}, room: roomForArguments}
	if v, err := m.read(0); v != &long || err != nil || len(m.args) != 0 || m.room != roomForArguments {
		t.Errorf("kept: %d, room %d", len(m.args), m.room)
	}
	r := Case(known(CaseInput{Turns: turns(t, `a{"x":1}`), Calls: []Call{call}}))
	if got := r.Arguments.Rationale; len(got) != 1 || got[0] != `"a" was called with another "x"` {
		t.Errorf("a mismatch of large arguments is described all the same: %q", got)
	}
	if asked != 3 {
		t.Errorf("asked %d times, want 1 and then 2", asked)
	}
}

func TestLimits(t *testing.T) {
	expected := make([]Expectation, maxExpectations+1)
	for i := range expected {
		expected[i] = Expectation{Tool: "a", Mode: Exact}
	}
	r := Case(known(CaseInput{Turns: []TurnInput{{Expected: expected}}, Calls: made(t, "a")}))
	if got := show(r); got != "error(tooLarge) error(tooLarge)" || len(r.Turns[0].Asserts) != len(expected) {
		t.Errorf("got %s", got)
	}
	calls := make([]Call, maxCells/maxExpectations+1)
	r = Case(known(CaseInput{Turns: []TurnInput{{Expected: expected[:maxExpectations]}}, Calls: calls}))
	if got := show(r); got != "error(tooLarge) error(tooLarge)" {
		t.Errorf("got %s", got)
	}
}
