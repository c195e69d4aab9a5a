package grade

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/lazy"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// MCPJam's suite files, version "1" and "2", load as they are (grading.md 6).
// What tells how to make a trial (model, provider, target) is checked and has no
// meaning here, where the trials are recordings. What would decide a trial and
// cannot be seen in a recording is kept in words: CaseSpec.NotMeasurable.

// Lengths of MCPJam files, in UTF-16 units.
const (
	maxStepText      = 5_000
	maxPinnedArgs    = 100_000 // of a toolCall step's arguments, as JSON
	maxRenderTimeout = 120_000 // ms
	maxWait          = 30_000  // ms
)

// noPage is why what a live page shows is not measurable (grading.md 1.10).
const noPage = "no recording holds a live page"

// mcpjam reads such a file. The versions differ in two words: 1 has repetitions,
// and checks as an older word for assertions; 2 has iterations.
type mcpjam struct {
	*loader
	s           *Suite
	version     string
	trials      string // repetitions or iterations
	repetitions int64
	judge       bool
	provenance  bool
}

func (l *loader) mcpjam(doc *value.Value, version string) *Suite {
	m := &mcpjam{loader: l, version: version, trials: "repetitions",
		s: &Suite{PassThreshold: big.NewRat(1, 1), Validity: defaultValidity()}}
	if version == "2" {
		m.trials = "iterations"
	}
	l.open = true
	var cases *value.Value
	_, m.provenance = doc.Get("provenance")
	l.object(doc, "",
		member{"schemaVersion", true, func(*value.Value, string) {}},
		member{"mode", true, l.only("agentWorkflow", "serverContract")},
		member{"reportingMode", true, l.only("standard", "restricted", "summary")},
		member{"suite", true, func(v *value.Value, path string) {
			l.object(v, path,
				member{"id", true, l.id(&m.s.ID)},
				member{"name", true, l.text(&m.s.Name, maxTitle)},
				member{"description", false, l.anyText(nil, maxPrompt)},
			)
		}},
		member{"target", true, l.mcpjamTarget},
		member{"defaults", true, m.defaults},
		member{"provenance", false, l.mcpjamProvenance},
		member{"cases", true, func(v *value.Value, _ string) { cases = v }},
	)
	if cases == nil {
		return m.s
	}
	if cases.Kind == value.Array && len(cases.Arr) == 0 {
		l.fail(cases.Pos, "cases: expected 1 to %d cases", maxCases)
	}
	l.list(cases, "cases", maxCases, func(v *value.Value, path string) { m.s.Cases = append(m.s.Cases, m.oneCase(v, path)) })
	l.sameIDs(cases, "cases")
	m.impliedToolErrors(cases.Pos)
	return m.s
}

// only reads a word of which one value is built; others are reserved, which is no
// typo (grading.md 10.58).
func (l *loader) only(built string, reserved ...string) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		for _, w := range reserved {
			if v.Kind == value.String && v.Str == w {
				l.fail(v.Pos, "%s: %q is reserved: not built yet; expected %s", path, w, built)
				return
			}
		}
		l.oneOf(v, path, built)
	}
}

// anyText reads a string that may be empty.
func (l *loader) anyText(into *string, limit int) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		if v.Kind != value.String || value.UTF16Len(v.Str) > limit {
			l.want(v, path, fmt.Sprintf("a string of at most %d characters", limit))
			return
		}
		if into != nil {
			*into = v.Str
		}
	}
}

func (l *loader) mcpjamTarget(v *value.Value, path string) {
	l.object(v, path,
		member{"servers", true, func(v *value.Value, path string) {
			if v.Kind == value.Array && len(v.Arr) == 0 {
				l.fail(v.Pos, "%s: expected at least one server", path)
			}
			l.list(v, path, maxCases, func(v *value.Value, path string) {
				l.object(v, path,
					member{"name", true, l.text(nil, maxTitle)},
					member{"id", false, l.id(nil)},
				)
			})
		}},
		member{"environment", false, l.text(nil, maxPrompt)},
		member{"hosts", false, func(v *value.Value, path string) { l.notBuilt(v.Pos, path) }},
	)
}

func (m *mcpjam) defaults(v *value.Value, path string) {
	l := m.loader
	l.object(v, path,
		member{"model", true, l.text(nil, maxPrompt)},
		member{"provider", false, l.text(nil, maxPrompt)},
		member{m.trials, true, l.whole(&m.repetitions, 1, 100)},
		member{"passThreshold", true, l.fraction(&m.s.PassThreshold)},
		member{"validity", true, func(v *value.Value, path string) { l.validity(v, path, &m.s.Validity) }},
		member{"toolPolicy", false, m.toolPolicy},
		member{"captureLevel", false, l.only("full", "metadataOnly", "none")},
		member{"judge", false, func(v *value.Value, path string) {
			m.judge = true
			l.warn(v.Pos, "%s: no judge is built: cases are graded without one", path)
		}},
	)
}

func (m *mcpjam) toolPolicy(v *value.Value, path string) {
	l, p := m.loader, &ToolPolicy{}
	names := func(into *[]string) func(v *value.Value, path string) {
		return func(v *value.Value, path string) {
			l.list(v, path, 10_000, func(v *value.Value, path string) {
				var name string
				l.text(&name, maxPrompt)(v, path)
				*into = append(*into, name)
			})
		}
	}
	l.object(v, path,
		member{"mode", true, func(v *value.Value, path string) {
			p.ReadOnly = l.oneOf(v, path, "default", "readOnly") && v.Str == "readOnly"
		}},
		member{"allow", false, names(&p.Allow)},
		member{"deny", false, names(&p.Deny)},
	)
	m.s.ToolPolicy = p
	if p.ReadOnly || p.Allow != nil || p.Deny != nil {
		l.warn(v.Pos, "%s: not applied: a recorded call counts as a call, also where this policy would have denied it", path)
	}
}

var isoTime = lazy.Regexp(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z$`)

func (l *loader) mcpjamProvenance(v *value.Value, path string) {
	text := l.text(nil, maxPrompt)
	l.object(v, path,
		member{"sourceHash", true, text},
		member{"sourceFormat", true, text},
		member{"sourceFormatVersion", false, text},
		member{"converter", false, text},
		member{"converterVersion", false, text},
		member{"model", false, text},
		member{"discoverySnapshotHash", false, text},
		member{"reportHash", true, text},
		member{"importedAt", false, func(v *value.Value, path string) {
			if v.Kind != value.String || !isoTime().MatchString(v.Str) {
				l.want(v, path, "a time such as 2026-08-17T09:30:00Z")
			}
		}},
	)
}

func (m *mcpjam) oneCase(v *value.Value, path string) *CaseSpec {
	l := m.loader
	c := &CaseSpec{PassThreshold: m.s.PassThreshold, Repetitions: m.repetitions, File: l.files[v.Pos.File], Pos: v.Pos}
	own := layered{mode: "inherit"}
	checks := func(v *value.Value, path string) {
		// The flat list; an empty one leaves the defaults', of which there are none.
		own = layered{"replace", l.assertions(v, path)}
	}
	members := []member{
		{"id", true, l.id(&c.ID)},
		{"title", true, l.text(&c.Title, maxTitle)},
		{"steps", true, func(v *value.Value, path string) { m.steps(v, path, c) }},
		{"assertions", false, checks},
		{"expectedOutput", false, l.anyText(&c.ExpectedOutput, maxPrompt)},
		{"isNegativeTest", false, l.flag(&c.Negative)},
		{"model", false, l.text(nil, maxPrompt)},
		{m.trials, false, l.whole(&c.Repetitions, 1, 100)},
		{"passThreshold", false, l.fraction(&c.PassThreshold)},
		{"disabled", false, l.flag(&c.Disabled)},
		{"import", false, func(v *value.Value, path string) {
			l.object(v, path,
				member{"status", true, func(v *value.Value, path string) {
					l.oneOf(v, path, "exact", "approximated", "unsupported", "unresolved")
				}},
				member{"sourceCaseKey", false, l.text(nil, maxPrompt)},
				member{"note", false, l.text(nil, maxPrompt)},
			)
			if !m.provenance {
				l.fail(v.Pos, "%s: expected only with a top-level provenance", path)
			}
		}},
	}
	if m.version == "1" {
		members = append(members, member{"checks", false, checks})
		if older, both := v.Get("checks"); both {
			if _, both = v.Get("assertions"); both {
				l.fail(older.Pos, "%s.checks: the older word for assertions, which are there too: leave one out", path)
			}
		}
	}
	l.object(v, path, members...)
	if m.judge {
		c.NotMeasurable = append(c.NotMeasurable, "defaults.judge: no judge is built")
	}
	c.layer(m.s, own, match.Options{})
	return c
}

// steps groups a case's steps into turns (grading.md 2.4): prompt and toolCall
// each open one, interact and assert join the open turn or open a first one.
func (m *mcpjam) steps(v *value.Value, path string, c *CaseSpec) {
	l := m.loader
	if v.Kind == value.Array && len(v.Arr) == 0 {
		l.fail(v.Pos, "%s: expected 1 to %d steps", path, maxTurns)
	}
	ids := map[string]bool{}
	asserts := 0 // of the open turn
	join := func() *TurnSpec {
		if len(c.Turns) == 0 {
			c.Turns = append(c.Turns, TurnSpec{})
		}
		return &c.Turns[len(c.Turns)-1]
	}
	l.list(v, path, maxTurns, func(v *value.Value, path string) {
		if v.Kind != value.Object {
			l.want(v, path, "a step, an object")
			return
		}
		kind, ok := v.Get("kind")
		if !ok {
			l.fail(v.Pos, "%s.kind: missing: expected prompt, toolCall, interact or assert", path)
			return
		}
		if !l.oneOf(kind, path+".kind", "prompt", "toolCall", "interact", "assert") {
			return
		}
		members := []member{{"id", true, l.anyText(nil, maxPrompt)}, {"kind", true, func(*value.Value, string) {}}}
		name := ""
		if id, ok := v.Get("id"); ok && id.Kind == value.String {
			name = id.Str
			if ids[name] {
				l.fail(id.Pos, "%s.id: %s is the id of an earlier step", path, predicate.Quoted(name))
			}
			ids[name] = true
		}
		notMeasurable := func(what string) {
			c.NotMeasurable = append(c.NotMeasurable, fmt.Sprintf("step %s: %s: %s", predicate.Quoted(name), what, noPage))
		}
		switch kind.Str {
		case "prompt":
			var t TurnSpec
			l.object(v, path, append(members, member{"prompt", true, l.anyText(&t.Prompt, maxPrompt)})...)
			c.Turns, asserts = append(c.Turns, t), 0
		case "toolCall":
			c.Turns, asserts = append(c.Turns, TurnSpec{Pinned: true, PinnedCall: l.pinnedCall(v, path, members)}), 0
		case "interact":
			join()
			notMeasurable(l.interact(v, path, members))
		case "assert":
			t := join()
			l.object(v, path, append(members, member{"assertion", true, func(v *value.Value, path string) {
				if what := l.stepAssertion(v, path, t, asserts); what != "" {
					notMeasurable(what)
				}
			}})...)
			asserts++
		}
	})
}

// pinnedCall reads a toolCall step: a call that is made without a model.
func (l *loader) pinnedCall(v *value.Value, path string, members []member) *match.Expectation {
	e := &match.Expectation{Assert: -1, MinCount: 1, Pos: v.Pos}
	l.object(v, path, append(members,
		member{"serverId", false, l.text(nil, maxPrompt)},
		member{"serverName", true, l.text(nil, maxPrompt)},
		member{"toolName", true, l.text(&e.Tool, maxPrompt)},
		member{"arguments", true, func(v *value.Value, path string) {
			if v.Kind != value.Object {
				l.want(v, path, "an object")
				return
			}
			if text, err := value.Canonical(nil, v, value.Exact); err != nil || value.UTF16Len(string(text)) > maxPinnedArgs {
				l.fail(v.Pos, "%s: more than %d characters as JSON", path, maxPinnedArgs)
			}
			e.Args = v
		}},
		member{"renderTimeoutMs", false, l.whole(nil, 1, maxRenderTimeout)},
	)...)
	return e
}

// stepAssertion reads what an assert step asserts: a check of the turn, or a live
// widget assertion, of which it returns the words for the report.
func (l *loader) stepAssertion(v *value.Value, path string, t *TurnSpec, at int) (notMeasurable string) {
	kind, typed := v.Get("type")
	if _, live := v.Get("kind"); live && !typed {
		return l.widgetAssertion(v, path)
	}
	c := l.check(v, path)
	if c == nil {
		return ""
	}
	if caseOnly(c.Info.Name) {
		l.warn(kind.Pos, "%s: %s reads what belongs to a whole case; in a step MCPJam leaves it out without a word, and so it is left out: move it to the case's assertions", path, c.Info.Name)
		return ""
	}
	t.add(c, at)
	return ""
}

// locator reads what names an element of a page.
func (l *loader) locator(v *value.Value, path string) {
	l.object(v, path,
		member{"role", false, func(v *value.Value, path string) {
			l.object(v, path,
				member{"role", true, l.text(nil, maxPrompt)},
				member{"name", false, l.anyText(nil, maxPrompt)},
				member{"exact", false, l.flag(new(bool))},
			)
		}},
		member{"text", false, l.text(nil, maxPrompt)},
		member{"css", false, l.text(nil, maxPrompt)},
		member{"testId", false, l.text(nil, maxPrompt)},
		member{"nth", false, l.whole(nil, 0, 1e9)},
	)
	for _, key := range []string{"role", "text", "css", "testId"} {
		if _, ok := v.Get(key); ok || v.Kind != value.Object {
			return
		}
	}
	l.fail(v.Pos, "%s: expected at least one of role, text, css, testId", path)
}

// kinds reads an object whose "kind" says which further members it has, and
// returns that kind.
func (l *loader) kinds(v *value.Value, path string, order []string, of map[string][]member, common ...member) string {
	if v.Kind != value.Object {
		l.want(v, path, "an object")
		return ""
	}
	kind, ok := v.Get("kind")
	if !ok {
		l.fail(v.Pos, "%s.kind: missing: expected %s", path, strings.Join(order, " or "))
		return ""
	}
	if !l.oneOf(kind, path+".kind", order...) {
		return ""
	}
	members := append([]member{{"kind", true, func(*value.Value, string) {}}}, common...)
	l.object(v, path, append(members, of[kind.Str]...)...)
	return kind.Str
}

// interact reads a step that acts on a live page, and returns its words.
func (l *loader) interact(v *value.Value, path string, members []member) string {
	var tool, action string
	target := member{"target", true, l.locator}
	l.object(v, path, append(members,
		member{"toolName", true, l.text(&tool, maxPrompt)},
		member{"action", true, func(v *value.Value, path string) {
			action = l.kinds(v, path, []string{"click", "type", "key", "scroll", "wait"}, map[string][]member{
				"click": {target, {"clickType", false, func(v *value.Value, path string) { l.oneOf(v, path, "left", "double", "right") }}},
				"type":  {target, {"text", true, l.anyText(nil, maxStepText)}},
				"key":   {{"key", true, l.text(nil, maxPrompt)}},
				"scroll": {
					{"direction", true, func(v *value.Value, path string) { l.oneOf(v, path, "up", "down") }},
					{"amount", false, l.whole(nil, 1, 1e9)},
				},
				"wait": {{"ms", true, l.whole(nil, 1, maxWait)}},
			})
		}},
	)...)
	return fmt.Sprintf("interact %s in the widget of %s", action, predicate.Quoted(tool))
}

// widgetAssertion reads a live widget assertion, and returns its words.
func (l *loader) widgetAssertion(v *value.Value, path string) string {
	var tool string
	target := member{"target", true, l.locator}
	kind := l.kinds(v, path, []string{"textVisible", "elementVisible", "elementHidden", "inputValue", "widgetToolCalled"}, map[string][]member{
		"textVisible":      {{"text", true, l.text(nil, maxStepText)}},
		"elementVisible":   {target},
		"elementHidden":    {target},
		"inputValue":       {target, {"equals", true, l.anyText(nil, maxStepText)}},
		"widgetToolCalled": {{"calledToolName", true, l.text(nil, maxPrompt)}},
	}, member{"toolName", true, l.text(&tool, maxPrompt)})
	return fmt.Sprintf("%s in the widget of %s", kind, predicate.Quoted(tool))
}

// impliedToolErrors says which cases rely on failOnToolError, which MCPJam has on
// by itself and sixlink does not have (grading.md 0.2.8). A negative case does not:
// a tool error needs a call, and a call fails it.
func (m *mcpjam) impliedToolErrors(pos value.Pos) {
	var names []string
	for _, c := range m.s.Cases {
		asserted := func(list []*predicate.Check) bool {
			for _, c := range list {
				if c.Info.Name == "noToolErrors" && c.Role == predicate.Gating {
					return true
				}
			}
			return false
		}
		if !c.Disabled && !c.Negative && !asserted(c.Assertions) {
			names = append(names, predicate.Quoted(c.ID))
		}
	}
	if len(names) > 0 {
		m.warn(pos, "cases: MCPJam fails a trial with any tool error (failOnToolError, on by itself); here only a check does: add {type: noToolErrors} to the assertions of %s", several(names, "case", "cases"))
	}
}
