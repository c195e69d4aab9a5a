package grade_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// words of a list of checks: kind and tool, and what is not plain gating.
func checkWords(checks []*predicate.Check) string {
	var out []string
	for _, c := range checks {
		text := c.Info.Name
		if tool, ok := c.Text("toolName"); ok {
			text += " " + tool
		}
		if c.Role != predicate.Gating {
			text += " " + string(c.Role)
		}
		if c.Warn {
			text += " warn"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func optionWords(o match.Options) string {
	extra := "any"
	if o.MaxExtra != nil {
		extra = fmt.Sprint(*o.MaxExtra)
	}
	return fmt.Sprintf("%s %s %s", o.Arguments, o.Order, extra)
}

// grading.md 6.4: defaults, then the case, by its envelope.
func TestLayers(t *testing.T) {
	s := mustLoadFile(t, "layers.good.yaml")
	if !s.ModelEvidence || s.Usage != (grade.UsageRule{Source: "session", ExcludeCache: true, WithSubagents: true}) {
		t.Errorf("evidence %v, usage %+v", s.ModelEvidence, s.Usage)
	}
	const defaults = "noToolErrors, toolNeverCalled a"
	want := []struct {
		id, assertions string
		inherited      int
		options        string
	}{
		{"nothing-said", defaults, 2, "partial strict 2"},
		{"inherit", defaults, 2, "partial strict 2"},
		{"extend", defaults + ", toolNeverCalled b", 2, "partial strict any"},
		{"replace", "toolNeverCalled b", 0, "exact strict 2"},
		{"list", "toolNeverCalled b", 0, "partial strict 2"},
		{"opt-out", "", 0, "partial strict 2"},
		{"negative", defaults, 2, "partial strict 2"},
		{"turns", defaults, 2, "partial strict 2"},
	}
	if len(s.Cases) != len(want) {
		t.Fatalf("%d cases", len(s.Cases))
	}
	for i, w := range want {
		c := s.Cases[i]
		if got := checkWords(c.Assertions); c.ID != w.id || got != w.assertions || c.Inherited != w.inherited || optionWords(c.Match) != w.options {
			t.Errorf("case %s: %s (%d inherited), %s; want %+v", c.ID, got, c.Inherited, optionWords(c.Match), w)
		}
		threshold := "1/2"
		if w.id == "list" {
			threshold = "1"
		}
		if c.PassThreshold.RatString() != threshold || c.File != "layers.good.yaml" || c.Pos.Line < 10 {
			t.Errorf("case %s: threshold %s, at %s:%d", c.ID, c.PassThreshold.RatString(), c.File, c.Pos.Line)
		}
	}
	neg, turns := s.Cases[6], s.Cases[7]
	if !neg.Negative || !neg.Disabled || neg.Repetitions != 3 || neg.MatchPrompt != " hello " || neg.MatchLabels["case"] != "x" {
		t.Errorf("%+v", neg)
	}
	if len(turns.Turns) != 2 || turns.ExpectedOutput != "Done." || len(turns.Servers) != 1 || len(turns.Turns[1].Expected) != 0 {
		t.Fatalf("%+v", turns)
	}
	first := turns.Turns[0]
	if first.Prompt != "Find it." || first.Pinned || checkWords(first.Assertions) != "noToolErrors advisory warn" || len(first.Expected) != 2 {
		t.Fatalf("%+v", first)
	}
	find, ping := first.Expected[0], first.Expected[1]
	if id, ok := find.Args.Get("id"); find.Tool != "find" || !ok || id.Str != "1" || find.Assert != -1 || find.MinCount != 1 || find.Mode != "" {
		t.Errorf("%+v", find)
	}
	if ping.Tool != "ping" || ping.Args != nil {
		t.Errorf("%+v", ping)
	}
	if cs := mustLoadFile(t, "empty-cases.good.yaml").Cases; len(cs) != 0 {
		t.Errorf("cases of an empty list: %v", cs)
	}
}

// The example of grading.md 0.3, once its kinds are built.
func TestExampleOfTheSpecification(t *testing.T) {
	s, err := load(t, "refunds/spec.good.yaml")
	if _, missing := builtFaults(t, err); len(missing) > 0 {
		t.Skipf("not built yet: %v", missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases[0]
	if got := checkWords(c.Assertions); got != "noToolErrors, argumentsMatchToolSchema, noRepeatedIdenticalCall advisory warn, toolNeverCalled delete_order" || c.Inherited != 3 {
		t.Errorf("%s, %d inherited", got, c.Inherited)
	}
	// maxExtraToolCalls: null is said, and wins over the parent's 3.
	if got := optionWords(c.Match); got != "partial strict any" {
		t.Error(got)
	}
	if s.Validity.MinEligibleTrials != 2 || s.ID != "refunds" || !s.Cases[1].Negative || len(s.Warnings) > 0 {
		t.Errorf("%+v", s)
	}
}

// grading.md 2.4, 2.6, 0.2.13: gating toolCalledWith checks are expectations with
// their own mode and count; advisory ones stay rows.
func TestToolCalledWithIsPromoted(t *testing.T) {
	s, err := grade.LoadSuite("s", []byte(`schemaVersion: sixlink/1
suite: {id: a}
defaults: {assertions: [{type: noToolErrors}, {type: toolCalledWith, toolName: d, args: {args: {}}}]}
cases:
  - id: a
    turns:
      - assertions:
          - {type: noToolErrors}
          - {type: toolCalledWith, toolName: a, args: {args: {n: 1}, argumentMatching: exact}, minCount: 2}
          - {type: toolCalledWith, toolName: b, args: {args: {}}, role: advisory}
        expectedToolCalls: [{toolName: first}]
    assertions: {mode: extend, list: [{type: toolCalledWith, toolName: c, args: {args: {}, argumentMatching: ignore}, role: required}]}
`), nil)
	if _, missing := builtFaults(t, err); len(missing) > 0 {
		t.Skipf("not built yet: %v", missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	say := func(list []match.Expectation) (out []string) {
		for _, e := range list {
			out = append(out, fmt.Sprintf("%s %q x%d #%d", e.Tool, e.Mode, e.MinCount, e.Assert))
		}
		return out
	}
	c := s.Cases[0]
	if diff := cmp.Diff([]string{`first "" x1 #-1`, `a "exact" x2 #1`}, say(c.Turns[0].Expected)); diff != "" {
		t.Error(diff)
	}
	if got := checkWords(c.Turns[0].Assertions); got != "noToolErrors, toolCalledWith b advisory" {
		t.Error(got)
	}
	if diff := cmp.Diff([]string{`d "" x1 #1`, `c "ignore" x1 #2`}, say(c.Expected)); diff != "" {
		t.Error(diff)
	}
	if got := checkWords(c.Assertions); got != "noToolErrors, toolCalledWith d, toolCalledWith c" {
		t.Error(got)
	}
}

func TestWarningsOfCases(t *testing.T) {
	const head = "schemaVersion: sixlink/1\nsuite: {id: a}\n"
	for _, c := range []struct{ name, data, want string }{
		{"a case without a gate", "defaults: {assertions: [{type: noToolErrors}]}\ncases: [{id: a}, {id: b, assertions: []}]", `nothing gates, so that no trial can pass, in case "b"`},
		{"nothing gates anywhere", "cases: [{id: a}, {id: b, turns: [{prompt: x}]}]", "nothing gates, in no case: the suite cannot fail, and no trial can pass"},
		{"a cap gates", "cases: [{id: a, matchOptions: {maxExtraToolCalls: 0}}]", ""},
		{"a negative case gates", "cases: [{id: a, isNegativeTest: true}]", ""},
		{"an expectation gates", "cases: [{id: a, turns: [{expectedToolCalls: [{toolName: x}]}]}]", ""},
		{"a cap of the defaults gates", "defaults: {matchOptions: {maxExtraToolCalls: 0}}", ""},
		{"all disabled", "cases: [{id: a, disabled: true}]", "every case is disabled: nothing can be graded"},
		{"one match twice", "defaults: {assertions: [{type: noToolErrors}]}\ncases: [{id: a, match: {prompt: x}}, {id: b, match: {prompt: ' x '}}]",
			`s:4:38: the case "b" matches the same sessions as "a": they are ambiguous`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := grade.LoadSuite("s", []byte(head+c.data), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.Warnings, "\n"); got != c.want {
				t.Errorf("warnings %q, want %q", got, c.want)
			}
		})
	}
}

// cases/89: each suite is refused when it is read, for its own fault and with its
// place, and the good one is not.
func TestMalformedSuitesOfCase89(t *testing.T) {
	// The cases' vocabulary as sixlink's own (fixtures/cases/README.md).
	own := strings.NewReplacer(`{"cases":`, `{"schemaVersion":"sixlink/1","suite":{"id":"s"},"cases":`,
		`"checks":`, `"assertions":`, `"expectedToolCalls":[],`, `"turns":[{"expectedToolCalls":[]}],`)
	want := map[string]string{
		"unknown-type":     `cases[0].assertions[0].type: unknown check kind "toolMaybeCalled"`,
		"no-tool":          "cases[0].assertions[0].toolName: missing",
		"empty-tool":       "cases[0].assertions[0].toolName: expected a string",
		"min-0":            "cases[0].assertions[0].minCount: expected a whole number from 1",
		"min-1.5":          "cases[0].assertions[0].minCount: expected a whole number from 1",
		"mode":             "cases[0].assertions[0].args",
		"args-flat":        "cases[0].assertions[0].args: missing",
		"needle-empty":     "cases[0].assertions[0].needle: expected a string",
		"flag-text":        "cases[0].assertions[0].caseSensitive: expected true or false",
		"tokens-text":      "cases[0].assertions[0].tokens: expected a whole number from 1",
		"turns-0":          "cases[0].assertions[0].turns: expected a whole number from 1",
		"role-odd":         "cases[0].assertions[0].role: expected required or gating or advisory",
		"list":             "cases[0].assertions[0]: expected a check",
		"null":             "cases[0].assertions[0]: expected a check",
		"duplicate-member": `the key "type" is there twice`,
		"case-member":      "cases[0].assertions[0].type: missing",
		"number-bomb":      "cases[0].assertions[0].turns: expected a whole number from 1",
		"trailing-comma":   "no JSON",
		"same-id-twice":    `cases[1].id: "x" is the id of an earlier case`,
		"extra-negative":   "cases[0].matchOptions.maxExtraToolCalls: expected a whole number from 0",
		"order-odd":        "cases[0].matchOptions.toolCallOrder: expected ignore or strict or superset",
		"empty-file":       "the suite is empty",
		"two-documents":    "text after the end",
		"typo-checks":      "cases[0].check: unknown key",
	}
	b, err := fixtures.ReadFile("cases", "89-malformed-suite", "suites.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var row struct {
			Name string
			Text string `json:"suite_text"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		ran++
		t.Run(row.Name, func(t *testing.T) {
			_, err := grade.LoadSuite("s", []byte(own.Replace(row.Text)), nil)
			if err == nil {
				t.Fatal("accepted")
			}
			lines, missing := builtFaults(t, err)
			if len(lines) == 0 {
				t.Skipf("not built yet: %v", missing)
			}
			if text := strings.Join(lines, "\n"); !strings.Contains(text, want[row.Name]) || want[row.Name] == "" {
				t.Errorf("%s, want %q", text, want[row.Name])
			}
		})
	}
	if ran != 24 || len(want) != 24 {
		t.Errorf("%d rows", ran)
	}
	if _, err := grade.LoadSuite("s", []byte(own.Replace(`{"cases":[{"id":"x","checks":[{"type":"noToolErrors"}]}]}`)), nil); err != nil {
		t.Errorf("the good suite: %v", err)
	}
	// With several faults in one file all are listed.
	_, err = grade.LoadSuite("s", []byte(own.Replace(`{"cases":[{"id":"x","checks":[null,{"type":"x"}]},{"id":"x","check":1}]}`)), nil)
	if lines, _ := builtFaults(t, err); len(lines) != 4 {
		t.Errorf("%d faults: %v", len(lines), err)
	}
}

// suitesOfCase returns the cases of a fixture's suite as suites of their own.
func suitesOfCase(t *testing.T, name, file string) map[string]string {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, file)
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Cases []struct {
			ID     string
			Checks json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &suite); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range suite.Cases {
		out[c.ID] = fmt.Sprintf(`{"schemaVersion":"sixlink/1","suite":{"id":"s"},"cases":[{"id":%q,"assertions":%s}]}`, c.ID, c.Checks)
	}
	return out
}

// cases/85: an observation kind that is to gate is refused, whether it is built or not.
func TestRequiredObservationsOfCase85(t *testing.T) {
	suites := suitesOfCase(t, "85-observations", "suite-required.json")
	if len(suites) != 10 {
		t.Fatalf("%d suites", len(suites))
	}
	for id, text := range suites {
		_, err := grade.LoadSuite("s", []byte(text), nil)
		if lines, _ := builtFaults(t, err); len(lines) != 1 || !strings.HasPrefix(lines[0], "s:3:14: ") || !strings.Contains(lines[0], "observation, which cannot gate: expected role: advisory") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// cases/74: patterns that do not compile, or that Go's engine does not have, are
// refused at load with the field's place.
func TestPatternsOfCase74(t *testing.T) {
	for _, file := range []string{"suite-bad.json", "suite-js.json"} {
		for id, text := range suitesOfCase(t, "74-regex-engine", file) {
			t.Run(id, func(t *testing.T) {
				_, err := grade.LoadSuite("s", []byte(text), nil)
				lines, missing := builtFaults(t, err)
				if len(missing) > 0 {
					t.Skipf("not built yet: %v", missing)
				}
				if len(lines) != 1 || !strings.Contains(lines[0], "cases[0].assertions[0].patterns") {
					t.Errorf("%v", err)
				}
			})
		}
	}
}
