package grade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// gate makes a gating check; its kind may not be built yet, which coverage does
// not need.
func gate(kind string, fields ...value.Member) *predicate.Check {
	info, k, known := predicate.Lookup(kind)
	if !known {
		panic(kind)
	}
	return &predicate.Check{Kind: k, Info: info, Role: predicate.Gating, Fields: fields}
}

func advise(kind string) *predicate.Check {
	c := gate(kind)
	c.Role = predicate.Advisory
	return c
}

func gates(kinds ...string) (out []*predicate.Check) {
	for _, k := range kinds {
		out = append(out, gate(k))
	}
	return out
}

func args(members ...value.Member) *value.Value {
	v := value.Obj(members...)
	return &v
}

var someArgs = args(value.M("id", value.Num("1")))

func expects(o match.Options, es ...match.Expectation) *grade.CaseSpec {
	return &grade.CaseSpec{ID: "c", Match: o, Turns: []grade.TurnSpec{{Expected: es}}}
}

func drawn(links [6]grade.LinkCoverage) string {
	var out []string
	for _, l := range links {
		s := string(l.State)
		if len(l.By) > 0 {
			s += "(" + strings.Join(l.By, ",") + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestCoverage(t *testing.T) {
	const (
		conn = "runnerOnly(connection.success) "
		disc = "runnerOnly(discovery.toolsList) "
		call = "runnerOnly(call.completed) "
		resp = "runnerOnly(response.returned) "
	)
	limit := int64(2)
	called := match.Expectation{Tool: "t", Args: someArgs, Assert: -1}
	for name, c := range map[string]struct {
		c    *grade.CaseSpec
		want string
	}{
		"nothing authored": {&grade.CaseSpec{ID: "c"}, conn + disc + "none " + call + resp + "none"},
		"the example of 5.5": {&grade.CaseSpec{ID: "c", Assertions: gates("toolCalledWith", "noToolErrors", "responseContains")},
			conn + disc + "decided(toolCalledWith) " + call + "decided(noToolErrors) decided(responseContains)"},
		"the example of 5.5, by a turn": {&grade.CaseSpec{ID: "c", Turns: []grade.TurnSpec{{
			Expected:   []match.Expectation{{Tool: "t", Args: someArgs, Assert: 0}},
			Assertions: gates("noToolErrors", "responseContains")}}},
			conn + disc + "decided(toolCalledWith) " + call + "decided(noToolErrors) decided(responseContains)"},
		"expected call with arguments":               {expects(match.Options{}, called), conn + disc + "decided(expectedToolCalls) decided(expectedToolCalls) " + resp + "none"},
		"expected call, arguments ignored":           {expects(match.Options{Arguments: match.IgnoreArgs}, called), conn + disc + "decided(expectedToolCalls) " + call + resp + "none"},
		"expected call, its own mode ignores":        {expects(match.Options{Arguments: match.Exact}, match.Expectation{Tool: "t", Args: someArgs, Mode: match.IgnoreArgs, Assert: -1}), conn + disc + "decided(expectedToolCalls) " + call + resp + "none"},
		"expected call without arguments, partial":   {expects(match.Options{}, match.Expectation{Tool: "t", Assert: -1}), conn + disc + "decided(expectedToolCalls) " + call + resp + "none"},
		"expected call without arguments, exact":     {expects(match.Options{Arguments: match.Exact}, match.Expectation{Tool: "t", Args: args(), Assert: -1}), conn + disc + "decided(expectedToolCalls) decided(expectedToolCalls) " + resp + "none"},
		"negative case, expected calls are not read": {&grade.CaseSpec{ID: "c", Negative: true, Turns: []grade.TurnSpec{{Expected: []match.Expectation{called}}}}, conn + disc + "decided(isNegativeTest) " + call + resp + "none"},
		"a cap on extra calls":                       {expects(match.Options{MaxExtra: &limit, MaxExtraSet: true}), conn + disc + "decided(maxExtraToolCalls) " + call + resp + "none"},
		"a cap on extra calls, no turns":             {&grade.CaseSpec{ID: "c", Match: match.Options{MaxExtra: &limit, MaxExtraSet: true}}, conn + disc + "decided(maxExtraToolCalls) " + call + resp + "none"},
		"a pinned turn makes its own calls":          {&grade.CaseSpec{ID: "c", Turns: []grade.TurnSpec{{Pinned: true, Expected: []match.Expectation{called}}}}, conn + disc + "none " + call + resp + "none"},
		"what is asserted of a pinned turn":          {&grade.CaseSpec{ID: "c", Turns: []grade.TurnSpec{{Pinned: true, Expected: []match.Expectation{{Tool: "t", Args: someArgs}}}}}, conn + disc + "decided(toolCalledWith) " + call + resp + "none"},
		"advisory checks observe": {&grade.CaseSpec{ID: "c", Assertions: []*predicate.Check{advise("toolNamesUnique"), advise("noRepeatedIdenticalCall"), advise("noEndingQuestion"), advise("noEndingQuestion")}},
			conn + "observed(toolNamesUnique) none observed(noRepeatedIdenticalCall) " + resp + "observed(noEndingQuestion)"},
		"a gating check beside an advisory one": {&grade.CaseSpec{ID: "c", Assertions: []*predicate.Check{advise("noRepeatedIdenticalCall"), gate("argumentsMatchToolSchema")}},
			conn + disc + "none decided(argumentsMatchToolSchema) " + resp + "none"},
	} {
		t.Run(name, func(t *testing.T) {
			got := grade.Cover(&grade.Suite{Cases: []*grade.CaseSpec{c.c}})
			if len(got) != 1 || got[0].Case != "c" {
				t.Fatalf("%+v", got)
			}
			if s := drawn(got[0].Links); s != c.want {
				t.Errorf("\n got %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestCoverageOfSuites(t *testing.T) {
	s := &grade.Suite{Assertions: gates("noToolErrors"), Cases: []*grade.CaseSpec{
		{ID: "a", Assertions: append(gates("noToolErrors"), advise("toolNamesUnique"))},
		{ID: "b", Assertions: gates("toolNeverCalled", "noToolErrors", "toolLatencyUnder")},
		{ID: "off", Disabled: true, Assertions: gates("responseContains")},
	}}
	cases := grade.Cover(s)
	if len(cases) != 2 || cases[0].Case != "a" || cases[1].Case != "b" {
		t.Fatalf("%+v", cases)
	}
	whole := grade.CoverSuite(cases)
	if got, want := drawn(whole), "runnerOnly(connection.success) observed(toolNamesUnique) decided(toolNeverCalled) runnerOnly(call.completed) decided(noToolErrors,toolLatencyUnder) none"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if got := cases[1].Uncovered(); !slices.Equal(got, []predicate.Link{predicate.Connection, predicate.Discovery, predicate.Call, predicate.UserValue}) {
		t.Errorf("uncovered %v", got)
	}
	s.Cases = nil
	if cases = grade.Cover(s); len(cases) != 1 || cases[0].Case != grade.Unassigned || cases[0].Links[4].State != grade.CoverDecided {
		t.Errorf("without cases: %+v", cases)
	}
	if got := drawn(grade.CoverSuite(nil)); got != "runnerOnly(connection.success) runnerOnly(discovery.toolsList) none runnerOnly(call.completed) runnerOnly(response.returned) none" {
		t.Errorf("of no case: %s", got)
	}
}

// The words of 5.6 for each kind alone, column A of 1.12: a kind that is built
// must reach its word, one that is not reads cannot_tell.
func TestCanFailByKind(t *testing.T) {
	str := func(k, v string) value.Member { return value.M(k, value.Text(v)) }
	num := func(k, v string) value.Member { return value.M(k, value.Num(v)) }
	strs := func(k, v string) value.Member { return value.M(k, value.List(value.Text(v))) }
	tool := str("toolName", "t")
	fields := map[string][]value.Member{
		"toolCalledWith": {tool, value.M("args", value.Obj(value.M("args", value.Obj())))}, "toolCalledAtLeastOnce": {tool}, "toolNeverCalled": {tool},
		"firstToolWas": {tool}, "onlyToolsCalled": {strs("toolNames", "t")}, "toolCallCountUnder": {num("count", "5")},
		"toolCalledBefore": {tool, str("beforeToolName", "u")}, "toolInputMatches": {tool, strs("patterns", "x")},
		"toolLatencyUnder": {num("ms", "5")}, "toolResultContains": {str("needle", "x")}, "toolResultMatches": {strs("patterns", "x")},
		"toolResultMatchesSchema": {value.M("schema", value.Obj())}, "toolResultSizeUnder": {num("maxBytes", "5")},
		"responseContains": {str("needle", "x")}, "responseMatches": {str("pattern", "x")}, "responseCloseTo": {str("reference", "x"), num("maxDistance", "0.5")},
		"tokenBudgetUnder": {num("tokens", "5")}, "turnCountUnder": {num("turns", "5")}, "widgetRenderLatencyUnder": {num("ms", "5")},
	}
	words := map[grade.CanFailWord]string{
		grade.CanFailYes: "toolCalledWith toolCalledAtLeastOnce firstToolWas toolInputMatches toolResultContains toolResultMatches toolResultMatchesSchema " +
			"responseContains responseMatches responseCloseTo finalAssistantMessageNonEmpty",
		grade.CanFailVacuous: "toolNeverCalled onlyToolsCalled toolCallCountUnder toolCalledBefore noRepeatedIdenticalCall noToolErrors toolResultSizeUnder " +
			"toolErrorNamesInput fullPageHasContinuation tokenBudgetUnder turnCountUnder noEndingQuestion",
		grade.CanFailUnknown: "noDeprecatedToolCalled noDestructiveToolCalled argumentsMatchToolSchema toolLatencyUnder widgetRendered widgetRenderLatencyUnder widgetNoConsoleErrors " +
			"toolDescriptionsPresent toolAnnotationsPresent toolNamesUnique noDeprecatedToolExposed toolInputSchemasWellFormed toolOutputSchemasPresent",
	}
	want := map[string]grade.CanFailWord{}
	for word, kinds := range words {
		for _, k := range strings.Fields(kinds) {
			want[k] = word
		}
	}
	for _, kind := range predicate.Names() {
		w, ok := want[kind]
		if !ok {
			t.Errorf("%s: no word", kind)
		}
		c := gate(kind, fields[kind]...)
		if c.Kind == nil && kind != "toolCalledWith" {
			w = grade.CanFailUnknown
		}
		if got := grade.CanFail(&grade.CaseSpec{Assertions: []*predicate.Check{c}}); got != w {
			t.Errorf("%s: %s, want %s", kind, got, w)
		}
		if c.Info.Turn && kind != "toolCalledWith" { // of a turn, that is an expected call
			if got := grade.CanFail(&grade.CaseSpec{Turns: []grade.TurnSpec{{Prompt: "go", Assertions: []*predicate.Check{c}}}}); got != w {
				t.Errorf("%s in a turn: %s, want %s", kind, got, w)
			}
		}
	}
}

func TestCanFail(t *testing.T) {
	never := gate("toolNeverCalled", value.M("toolName", value.Text("t")))
	wanted := gate("toolCalledAtLeastOnce", value.M("toolName", value.Text("t")))
	slow := gate("toolLatencyUnder", value.M("ms", value.Num("5")))
	unbuilt := gate("noToolErrors")
	unbuilt.Kind = nil
	erring := gate("noToolErrors")
	erring.Kind = &predicate.Kind{Name: "noToolErrors", Evaluate: func(*predicate.Check, *predicate.Evidence) predicate.Outcome {
		return predicate.Outcome{Result: predicate.Error}
	}}
	soft := *wanted
	soft.Role = predicate.Advisory
	checks := func(cs ...*predicate.Check) grade.CaseSpec { return grade.CaseSpec{Assertions: cs} }
	call := match.Expectation{Tool: "t", Assert: -1}
	for name, c := range map[string]struct {
		c    grade.CaseSpec
		want grade.CanFailWord
	}{
		"nothing authored":                     {checks(), grade.CanFailVacuous},
		"never called":                         {checks(never), grade.CanFailVacuous},
		"a call is wanted":                     {checks(never, wanted), grade.CanFailYes},
		"a call is wanted, in a turn":          {grade.CaseSpec{Turns: []grade.TurnSpec{{Assertions: []*predicate.Check{never}}, {Assertions: []*predicate.Check{wanted}}}}, grade.CanFailYes},
		"a call is wanted, advisory":           {checks(&soft), grade.CanFailVacuous},
		"a kind that the answer does not feed": {checks(never, slow), grade.CanFailUnknown},
		"such a kind, then one that fails":     {checks(slow, wanted), grade.CanFailYes},
		"one that fails, then such a kind":     {checks(wanted, slow), grade.CanFailYes},
		"a kind that is not built":             {checks(unbuilt, never), grade.CanFailUnknown},
		"an error row":                         {checks(erring, never), grade.CanFailUnknown},
		"an expected call":                     {grade.CaseSpec{Turns: []grade.TurnSpec{{}, {Expected: []match.Expectation{call}}}}, grade.CanFailYes},
		"an expected call of a pinned turn":    {grade.CaseSpec{Turns: []grade.TurnSpec{{Pinned: true, Expected: []match.Expectation{call}}}}, grade.CanFailVacuous},
		"what is asserted of a pinned turn":    {grade.CaseSpec{Turns: []grade.TurnSpec{{Pinned: true, Expected: []match.Expectation{{Tool: "t"}}}}}, grade.CanFailYes},
		"steps that no recording decides":      {grade.CaseSpec{NotMeasurable: []string{"textVisible"}}, grade.CanFailUnknown},
		"a negative case":                      {grade.CaseSpec{Negative: true, Assertions: []*predicate.Check{wanted}}, grade.CanFailNotApplicable},
	} {
		if got := grade.CanFail(&c.c); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if s := fmt.Sprint(grade.CanFailYes, " ", grade.CanFailVacuous, " ", grade.CanFailUnknown, " ", grade.CanFailNotApplicable); s != "can_fail vacuous cannot_tell not_applicable" {
		t.Errorf("the words of 5.6 are %s", s)
	}
}
