package grade_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// covered are defaults that decide every link that a check can decide, so that a
// test sees what it is about and no gaps.
const covered = `schemaVersion: sixlink/1
suite: {id: s}
defaults: {assertions: [{type: toolNamesUnique}, {type: toolCallCountUnder, count: 9}, {type: argumentsMatchToolSchema}, {type: noToolErrors}, {type: finalAssistantMessageNonEmpty}]}
`

func loadText(t *testing.T, text string) *grade.Suite {
	t.Helper()
	s, err := grade.LoadSuite("s.yaml", []byte(strings.TrimPrefix(text, "\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func found(t *testing.T, s *grade.Suite, recordings ...grade.CatalogOf) []string {
	t.Helper()
	var out []string
	for _, f := range grade.CheckSuite(s, recordings).Findings {
		text := string(f.Code)
		if f.Line > 0 {
			text = fmt.Sprintf("%s:%d:%d %s", f.File, f.Line, f.Col, text)
		}
		if len(f.Cases) > 0 {
			text += " [" + strings.Join(f.Cases, " ") + "]"
		}
		if f.Message == "" || strings.HasSuffix(f.Message, ".") {
			t.Errorf("message %q", f.Message)
		}
		out = append(out, text+" "+f.Message)
	}
	return out
}

func TestSuiteCheck(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing to find": {covered + `cases: [{id: a, turns: [{expectedToolCalls: [{toolName: t}]}]}]`, nil},
		"the example of 5.5": {`
schemaVersion: sixlink/1
suite: {id: s}
defaults: {assertions: [{type: toolCalledWith, toolName: t, args: {args: {}}}, {type: noToolErrors}, {type: responseContains, needle: x}]}
`, []string{"linkNotDecided discovery and tool call have no authored check that decides them"}},
		"a gap of one case beside a gap of all": {`
schemaVersion: sixlink/1
suite: {id: s}
defaults: {assertions: [{type: toolNamesUnique}, {type: argumentsMatchToolSchema}, {type: noToolErrors}]}
cases:
  - {id: a, turns: [{expectedToolCalls: [{toolName: t}]}]}
  - {id: b, assertions: {mode: extend, list: [{type: responseContains, needle: x}]}}
`, []string{
			"s.yaml:5:5 linkNotDecided [a] user value has no authored check that decides it",
			"s.yaml:6:5 linkNotDecided [b] selection has no authored check that decides it",
		}},
		"a link that is observed only": {`
schemaVersion: sixlink/1
suite: {id: s}
defaults: {assertions: [{type: toolNamesUnique, role: advisory}, {type: toolCalledAtLeastOnce, toolName: t}, {type: argumentsMatchToolSchema}, {type: noToolErrors}, {type: responseContains, needle: x}]}
`, []string{"linkOnlyObserved discovery is only observed, by toolNamesUnique: advisory checks decide nothing"}},
		"an empty answer passes": {`
schemaVersion: sixlink/1
suite: {id: s}
cases: [{id: a, assertions: [{type: toolNeverCalled, toolName: t}, {type: noToolErrors}]}]
`, []string{
			"linkNotDecided discovery, tool call and user value have no authored check that decides them",
			"s.yaml:3:9 emptyAnswerPasses [a] an empty answer passes: a host that calls nothing and says nothing meets every check",
		}},
		"nothing gates": {`
schemaVersion: sixlink/1
suite: {id: s}
cases: [{id: a}]
`, []string{
			"linkNotDecided discovery, selection, tool call, response and user value have no authored check that decides them",
			"warning nothing gates, in no case: the suite cannot fail, and no trial can pass",
		}},
		"toolInputMatches whose tool nothing requires, in the defaults": {covered[:len(covered)-3] + `, {type: toolInputMatches, toolName: t, patterns: [x]}]}
cases:
  - {id: a, assertions: {mode: extend, list: [{type: toolCalledAtLeastOnce, toolName: t}]}}
  - {id: b, turns: [{expectedToolCalls: [{toolName: t}]}]}
  - {id: c, assertions: {mode: extend, list: [{type: toolCalledAtLeastOnce, toolName: t, role: advisory}]}}
  - {id: d, turns: [{expectedToolCalls: [{toolName: u}]}]}
`, []string{`s.yaml:3:183 callCheckWithoutSelection [c d] toolInputMatches of "t", and no selection check requires that tool: when it is not called, the first break reads call, not selection`}},
		"toolInputMatches that does not need the call": {covered + `
cases: [{id: a, assertions: {mode: extend, list: [{type: toolInputMatches, toolName: t, patterns: [x], min: 0, max: 0}]}}]
`, nil},
		"toolInputMatches of a turn, its tool required in another": {covered + `
cases: [{id: a, turns: [{assertions: [{type: toolInputMatches, toolName: t, patterns: [x]}]}, {expectedToolCalls: [{toolName: t}]}]}]
`, []string{`s.yaml:5:39 callCheckWithoutSelection [a] toolInputMatches of "t", and no selection check requires that tool: when it is not called, the first break reads call, not selection`}},
		"a negative case that wants calls": {covered + `
cases:
  - id: a
    isNegativeTest: true
    turns: [{expectedToolCalls: [{toolName: t}]}]
    assertions:
      mode: extend
      list:
        - {type: toolCalledAtLeastOnce, toolName: t}
        - {type: toolCalledWith, toolName: t, args: {args: {}}}
        - {type: toolResultContains, needle: x}
        - {type: toolNeverCalled, toolName: t}
        - {type: firstToolWas, toolName: t, role: advisory}
`, []string{
			`s.yaml:8:34 negativeContradicted [a] a negative case passes only without a call, and a call to "t" is expected here, which it does not read`,
			`s.yaml:12:11 negativeContradicted [a] a negative case passes only without a call, and toolCalledAtLeastOnce fails without one`,
			`s.yaml:13:11 negativeContradicted [a] a negative case passes only without a call, and a call to "t" is expected here, which it does not read`,
			`s.yaml:14:11 negativeContradicted [a] a negative case passes only without a call, and toolResultContains fails without one`,
		}},
		"a negative case has no calls to cover": {`
schemaVersion: sixlink/1
suite: {id: s}
defaults: {assertions: [{type: toolNamesUnique}, {type: finalAssistantMessageNonEmpty}]}
cases: [{id: a, isNegativeTest: true}]
`, nil},
		"placeholders in mode exact": {covered + `
cases:
  - id: a
    matchOptions: {argumentMatching: exact}
    turns:
      - expectedToolCalls: [{toolName: t, arguments: {a: " String ", b: {c: any}, d: strings}}]
        assertions: [{type: toolCalledWith, toolName: t, args: {args: {e: null, f: "null"}, argumentMatching: partial}}]
  - id: b
    turns: [{assertions: [{type: toolCalledWith, toolName: t, role: advisory, args: {args: {e: any}, argumentMatching: exact}}]}]
    assertions: {mode: extend, list: [{type: toolCalledWith, toolName: t, args: {args: {g: number}, argumentMatching: exact}}]}
`, []string{
			`s.yaml:9:58 placeholderIsLiteral [a] " String " for "a" is taken literally: argumentMatching exact knows no placeholders`,
			`s.yaml:12:96 placeholderIsLiteral [b] "any" for "e" is taken literally: argumentMatching exact knows no placeholders`,
			`s.yaml:13:92 placeholderIsLiteral [b] "number" for "g" is taken literally: argumentMatching exact knows no placeholders`,
		}},
		"a disabled case": {covered + `
cases: [{id: a, disabled: true}, {id: b, turns: [{expectedToolCalls: [{toolName: t}]}]}]
`, []string{"s.yaml:5:9 caseDisabled [a] the case is disabled: it decides nothing, and its sessions are not graded"}},
		"every case disabled": {covered + `
cases: [{id: a, disabled: true}]
`, []string{
			"warning every case is disabled: nothing can be graded",
			"s.yaml:5:9 caseDisabled [a] the case is disabled: it decides nothing, and its sessions are not graded",
		}},
		"what the loader warns of": {covered + `
cases:
  - {id: a, match: {prompt: x}, turns: [{expectedToolCalls: [{toolName: t}]}]}
  - {id: b, match: {prompt: x}, turns: [{expectedToolCalls: [{toolName: t}]}]}
`, []string{`s.yaml:7:5 warning the case "b" matches the same sessions as "a": they are ambiguous`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, loadText(t, c.text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A place in a file that the suite extends names that file.
func TestSuiteCheckPlaces(t *testing.T) {
	base := covered + "cases: [{id: a, turns: [{expectedToolCalls: [{toolName: t}]}]}, {id: b, disabled: true}]"
	s, err := grade.LoadSuite("dir/own.yaml", []byte("schemaVersion: sixlink/1\nextends: ../base.yaml\nsuite: {id: own}\n"), func(name string) ([]byte, error) {
		return []byte(base), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"base.yaml:4:65 caseDisabled [b] the case is disabled: it decides nothing, and its sessions are not graded"}, found(t, s)); diff != "" {
		t.Error(diff)
	}
}

// What a MCPJam file asks of a live page is told, with its case.
func TestSuiteCheckNotMeasurable(t *testing.T) {
	var got []string
	for _, f := range found(t, mustLoadFile(t, "mcpjam.full.good.json")) {
		if strings.Contains(f, string(grade.FindUnmeasurable)) {
			got = append(got, f)
		}
	}
	if len(got) == 0 || !strings.Contains(got[0], "no recording holds a live page") && !strings.Contains(got[0], "no judge") {
		t.Errorf("%q", got)
	}
}

// The built-in suite has no file and can be checked all the same.
func TestSuiteCheckBuiltIn(t *testing.T) {
	want := []string{
		"emptyAnswerPasses an empty answer passes: a host that calls nothing and says nothing meets every check",
		"linkNotDecided discovery, selection, tool call and user value have no authored check that decides them",
	}
	if diff := cmp.Diff(want, found(t, grade.BuiltIn())); diff != "" {
		t.Error(diff)
	}
}

// listed makes a recording whose server listed these tools.
func inCatalog(server string, state catalog.State, names ...string) *grade.Recording {
	l := &catalog.List{State: state}
	for _, n := range names {
		l.Tools = append(l.Tools, catalog.Tool{Name: n, HasName: true})
	}
	l.Tools = append(l.Tools, catalog.Tool{})
	s := &session.Session{ID: "s1", Lists: []*catalog.List{l}}
	s.Server.Name = server
	return &grade.Recording{ID: server, Sessions: []*session.Session{s}}
}

func TestSuiteCheckTools(t *testing.T) {
	text := covered + `
cases:
  - id: a
    turns:
      - expectedToolCalls: [{toolName: find_ordr}, {toolName: refund}]
        assertions:
          - {type: onlyToolsCalled, toolNames: [find_order, mcp__shop__refund]}
          - {type: toolCalledBefore, toolName: refund, beforeToolName: Refund}
    assertions: {mode: extend, list: [{type: toolCalledWith, toolName: zzz, args: {args: {}}}]}
  - {id: b, servers: [mail], turns: [{expectedToolCalls: [{toolName: send}, {toolName: refund}]}]}
`
	all := []string{
		`s.yaml:8:29 toolInNoCatalog [a] the tool "find_ordr" is in no catalog of the recordings; did you mean "find_order"?`,
		`s.yaml:10:61 toolInNoCatalog [a] the tool "mcp__shop__refund" is in no catalog of the recordings; did you mean "refund"? the host's prefix is not part of the name`,
		`s.yaml:11:72 toolInNoCatalog [a] the tool "Refund" is in no catalog of the recordings; did you mean "refund"?`,
		`s.yaml:12:39 toolInNoCatalog [a] the tool "zzz" is in no catalog of the recordings`,
	}
	shop := inCatalog("shop", catalog.Complete, "find_order", "refund")
	mail := inCatalog("mail", catalog.Complete, "send")
	for name, c := range map[string]struct {
		recs []*grade.Recording
		want []string
	}{
		"without recordings nothing is looked up": {nil, nil},
		"the case's server is not on record":      {[]*grade.Recording{shop}, all},
		"a case narrows the servers": {[]*grade.Recording{mail, shop},
			append(slices.Clone(all), `s.yaml:13:77 toolInNoCatalog [b] the tool "refund" is in no catalog of the recordings`)},
		"a failed list is none": {[]*grade.Recording{inCatalog("shop", catalog.Failed, "refund")},
			[]string{"noCatalog no tool list of a graded server is on record: tool names could not be looked up"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadText(t, text)
			var of []grade.CatalogOf
			for _, r := range c.recs {
				of = append(of, grade.CatalogsOf(r))
			}
			if diff := cmp.Diff(c.want, found(t, s, of...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a partial list may lack it", func(t *testing.T) {
		s := loadText(t, covered+"cases: [{id: a, turns: [{expectedToolCalls: [{toolName: x}]}]}]")
		got := grade.CheckSuite(s, []grade.CatalogOf{grade.CatalogsOf(inCatalog("shop", catalog.Partial, "y"))})
		if len(got.Findings) != 1 || !strings.Contains(got.Findings[0].Do, "not every list was whole") {
			t.Errorf("%+v", got.Findings)
		}
		if got.Recordings != 1 || got.Lists != 1 || got.Tools != 1 {
			t.Errorf("%d recordings, %d lists, %d tools", got.Recordings, got.Lists, got.Tools)
		}
	})
	t.Run("a suite of other servers", func(t *testing.T) {
		s := loadText(t, strings.Replace(covered, "defaults", "servers: [mail]\ndefaults", 1)+"cases: [{id: a, turns: [{expectedToolCalls: [{toolName: refund}]}]}]")
		if got := found(t, s, grade.CatalogsOf(shop)); len(got) != 1 || !strings.HasPrefix(got[0], "noCatalog") {
			t.Errorf("%q", got)
		}
	})
}

// A hostile catalog makes neither the search for the nearest name long nor its
// result depend on the order of recordings.
func TestSuiteCheckHostileCatalog(t *testing.T) {
	var b strings.Builder
	b.WriteString(covered + "cases:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  - {id: c%d, turns: [{expectedToolCalls: [{toolName: tool_x_%d}]}]}\n", i, i)
	}
	s := loadText(t, b.String())
	names := []string{strings.Repeat("n", 1<<20), "\x1b[31m\u202e"}
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("tool_y_%d", i))
	}
	shop, other := inCatalog("shop", catalog.Complete, names...), inCatalog("b", catalog.Complete, "tool_z")
	one := found(t, s, grade.CatalogsOf(shop), grade.CatalogsOf(other))
	two := found(t, s, grade.CatalogsOf(other), grade.CatalogsOf(shop))
	if len(one) != 300 || !slices.Equal(one, two) {
		t.Errorf("%d and %d findings", len(one), len(two))
	}
}

// Every link that a check can decide has words and checks to name in a finding.
func TestSuiteCheckNamesEveryLink(t *testing.T) {
	s := loadText(t, "schemaVersion: sixlink/1\nsuite: {id: s}\ncases: [{id: a}]\n")
	for _, f := range grade.CheckSuite(s, nil).Findings {
		if f.Code != grade.FindNotDecided {
			continue
		}
		if len(f.Links) != 5 || slices.Contains(f.Links, predicate.Connection) {
			t.Errorf("links %v", f.Links)
		}
		for _, kind := range []string{"toolNamesUnique", "toolCalledAtLeastOnce", "argumentsMatchToolSchema", "noToolErrors", "responseContains"} {
			info, _, known := predicate.Lookup(kind)
			if !known || !slices.Contains(f.Links, info.Link) || !strings.Contains(f.Do, kind) {
				t.Errorf("%s: known %v, links %v, do %q", kind, known, f.Links, f.Do)
			}
		}
		return
	}
	t.Error("no finding")
}
