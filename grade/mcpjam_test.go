package grade_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade"
)

// A MCPJam file as it is: steps are turns (grading.md 2.4), and what no recording
// can decide is said.
func TestMCPJamFile(t *testing.T) {
	s := mustLoadFile(t, "mcpjam.full.good.json")
	if s.ID != "s_billing" || s.Name != "Billing" || s.PassThreshold.RatString() != "4/5" || s.Servers != nil ||
		s.Validity.MinEligibleTrials != 4 || s.Validity.MinCompletionRate.RatString() != "4/5" || s.Validity.MaxEvaluatorErrorRate.RatString() != "1/5" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(&grade.ToolPolicy{ReadOnly: true, Allow: []string{"find"}, Deny: []string{"drop"}}, s.ToolPolicy); diff != "" {
		t.Error(diff)
	}
	type turn struct {
		Prompt, Pinned, Checks string
	}
	turns := func(c *grade.CaseSpec) (out []turn) {
		for _, x := range c.Turns {
			pinned := ""
			if x.Pinned {
				pinned = x.PinnedCall.Tool
			}
			out = append(out, turn{x.Prompt, pinned, checkWords(x.Assertions)})
		}
		return out
	}
	widget, implicit, negative, off := s.Cases[0], s.Cases[1], s.Cases[2], s.Cases[3]
	if diff := cmp.Diff([]turn{
		{"Refund charge 4471 and show me the receipt.", "", "noToolErrors"},
		{"", "render", "toolNeverCalled drop"},
	}, turns(widget)); diff != "" {
		t.Error(diff)
	}
	if id, ok := widget.Turns[1].PinnedCall.Args.Get("id"); !ok || id.Str != "4471" {
		t.Errorf("%+v", widget.Turns[1].PinnedCall)
	}
	if got := checkWords(widget.Assertions); got != "noToolErrors, toolLatencyUnder advisory warn" || widget.Inherited != 0 || widget.Repetitions != 10 ||
		widget.PassThreshold.RatString() != "1" || widget.ExpectedOutput != "The charge was refunded." || widget.Title != "Shows the receipt" {
		t.Errorf("%s %+v", got, widget)
	}
	if diff := cmp.Diff([]string{
		`step "s4": interact click in the widget of "render": no recording holds a live page`,
		`step "s5": textVisible in the widget of "render": no recording holds a live page`,
	}, widget.NotMeasurable); diff != "" {
		t.Error(diff)
	}
	// Asserts before the first prompt open a turn of their own.
	if diff := cmp.Diff([]turn{{"", "", "toolCalledAtLeastOnce find"}, {"", "", ""}}, turns(implicit)); diff != "" {
		t.Error(diff)
	}
	if len(implicit.NotMeasurable) != 2 || implicit.Repetitions != 5 || optionWords(implicit.Match) != "partial ignore any" {
		t.Errorf("%+v", implicit)
	}
	if !negative.Negative || !off.Disabled || off.NotMeasurable != nil {
		t.Errorf("%+v %+v", negative, off)
	}
	if diff := cmp.Diff([]string{
		"mcpjam.full.good.json:6:17: defaults.toolPolicy: not applied: a recorded call counts as a call, also where this policy would have denied it",
		`mcpjam.full.good.json:8:11: cases: MCPJam fails a trial with any tool error (failOnToolError, on by itself); here only a check does: add {type: noToolErrors} to the assertions of case "c_implicit"`,
		`mcpjam.full.good.json:12:74: cases[0].steps[1].assertion.note: unknown key: expected one of type, role, severity; did you mean "role"?`,
		"mcpjam.full.good.json:17:58: cases[0].steps[6].assertion: toolLatencyUnder reads what belongs to a whole case; in a step MCPJam leaves it out without a word, and so it is left out: move it to the case's assertions",
	}, s.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestMCPJamVersionTwo(t *testing.T) {
	s := mustLoadFile(t, "mcpjam.two.good.yaml")
	c := s.Cases[0]
	if c.Repetitions != 7 || checkWords(c.Assertions) != "noToolErrors" || c.Turns[0].Prompt != "Say hello." {
		t.Errorf("%+v", c)
	}
	// A judge would have had a say.
	if len(c.NotMeasurable) != 1 || !strings.Contains(c.NotMeasurable[0], "judge") || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "defaults.judge: no judge is built") {
		t.Errorf("%v %v", c.NotMeasurable, s.Warnings)
	}
}

// Its minCount and own argument mode are kept, and its place among the turn's
// asserts (grading.md 2.6).
func TestMCPJamPromotesToolCalledWith(t *testing.T) {
	s, err := grade.LoadSuite("s", []byte(`schemaVersion: "1"
mode: agentWorkflow
reportingMode: standard
suite: {id: a, name: a}
target: {servers: [{name: a}]}
defaults: {model: m, repetitions: 1, passThreshold: 1, validity: {}}
cases:
  - id: a
    title: a
    steps:
      - {id: s1, kind: prompt, prompt: p}
      - {id: s2, kind: assert, assertion: {type: noToolErrors}}
      - {id: s3, kind: assert, assertion: {type: toolCalledWith, toolName: t, args: {args: {n: 1}, argumentMatching: exact, hint: x}, minCount: 3}}
      - {id: s4, kind: assert, assertion: {type: toolCalledWith, toolName: t, args: {args: {}}, role: advisory}}
`), nil)
	if _, missing := builtFaults(t, err); len(missing) > 0 {
		t.Skipf("not built yet: %v", missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Cases[0].Turns[0]
	if len(turn.Expected) != 1 || checkWords(turn.Assertions) != "noToolErrors, toolCalledWith t advisory" {
		t.Fatalf("%+v", turn)
	}
	if e := turn.Expected[0]; e.Tool != "t" || e.Mode != "exact" || e.MinCount != 3 || e.Assert != 1 || len(e.Args.Obj) != 1 {
		t.Errorf("%+v", e)
	}
	// Predicates are open, what is in them too.
	if text := strings.Join(s.Warnings, "\n"); !strings.Contains(text, "args.hint: unknown key") {
		t.Error(text)
	}
}
