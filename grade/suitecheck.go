package grade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// FindingCode says what a finding of [CheckSuite] is about. It is for programs and
// does not change; sentences may.
type FindingCode string

// The codes.
const (
	FindNotDecided   FindingCode = "linkNotDecided"            // no check looks at a link, but the built-in one
	FindObserved     FindingCode = "linkOnlyObserved"          // advisory checks alone look at it
	FindEmptyPasses  FindingCode = "emptyAnswerPasses"         // grading.md 5.6: vacuous
	FindNoSelection  FindingCode = "callCheckWithoutSelection" // grading.md 1.4: the first break would be call
	FindContradicted FindingCode = "negativeContradicted"      // a negative case that wants a call (6.1)
	FindUnknownTool  FindingCode = "toolInNoCatalog"
	FindNoCatalog    FindingCode = "noCatalog"            // nothing to look names up in
	FindLiteral      FindingCode = "placeholderIsLiteral" // grading.md 2.1: mode exact has none
	FindDisabled     FindingCode = "caseDisabled"
	FindUnmeasurable FindingCode = "notMeasurable" // what no recording can decide
	FindWarning      FindingCode = "warning"       // the loader's
)

// Finding is one thing that a suite should rather not have.
type Finding struct {
	Code FindingCode
	// File, Line and Col are where it is; empty and 0: the suite as a whole.
	File      string
	Line, Col int
	// Cases are the cases that it is in, in their order; nil: the suite as a whole.
	Cases []string
	// Links are those that it is about, if it is about links.
	Links []predicate.Link
	// Message is a sentence without its full stop, Do what to do about it; empty
	// where the message says so.
	Message, Do string

	pos value.Pos
}

// SuiteCheck is what there is to say of a suite before it grades anything.
type SuiteCheck struct {
	Suite *Suite
	// Whole is the coverage of the suite, Cases that of each case that is not disabled.
	Whole [6]LinkCoverage
	Cases []CaseCoverage
	// Recordings and Lists are how many were looked at for tool names, Tools how many
	// names they have.
	Recordings, Lists, Tools int
	// Findings are in the order of the document, those of the whole suite first.
	Findings []Finding
}

// CheckSuite looks for what a suite does not measure and for what can hardly be
// meant. With recordings, it looks tool names up in their catalogs.
func CheckSuite(s *Suite, recordings []CatalogOf) *SuiteCheck {
	c := &suiteCheck{
		SuiteCheck: SuiteCheck{Suite: s, Cases: Cover(s), Recordings: len(recordings)},
		seen:       map[string]int{},
	}
	c.Whole = CoverSuite(c.Cases)
	c.tools(recordings)
	c.warnings()
	c.coverage()
	for _, spec := range c.specs() {
		c.oneCase(spec)
	}
	for _, spec := range s.Cases {
		if spec.Disabled {
			c.add(spec, spec.Pos, FindDisabled, "the case is disabled: it decides nothing, and its sessions are not graded", "enable it, or take it out")
		}
	}
	c.policy()
	slices.SortStableFunc(c.Findings, func(a, b Finding) int {
		return cmp.Or(a.pos.File-b.pos.File, a.Line-b.Line, a.Col-b.Col, cmp.Compare(a.Code, b.Code))
	})
	return &c.SuiteCheck
}

// suiteCheck gathers the findings of one suite.
type suiteCheck struct {
	SuiteCheck
	seen  map[string]int // a finding's place in Findings, by what it says
	known *toolNames     // nil: no recordings were given
}

// specs are the cases that are graded; the defaults alone where there are none.
func (c *suiteCheck) specs() []*CaseSpec {
	if len(c.Suite.Cases) == 0 {
		return []*CaseSpec{c.Suite.open()}
	}
	return slices.DeleteFunc(slices.Clone(c.Suite.Cases), func(s *CaseSpec) bool { return s.Disabled })
}

// add notes a finding. One that stands at the same place in several cases, because
// the defaults have it, is one finding of all of them.
func (c *suiteCheck) add(spec *CaseSpec, pos value.Pos, code FindingCode, message, do string) *Finding {
	f := Finding{Code: code, Message: message, Do: do, pos: pos}
	if pos.Line > 0 && pos.File < len(c.Suite.Files) {
		f.File, f.Line, f.Col = c.Suite.Files[pos.File], pos.Line, max(1, pos.Col)
	}
	id := ""
	if spec != nil && spec.ID != Unassigned {
		id = spec.ID
	}
	key := fmt.Sprint(pos, " ", code, " ", message)
	if f.Line == 0 {
		key += " " + id // without a place, the case is the place
	}
	if at, ok := c.seen[key]; ok {
		old := &c.Findings[at]
		if id != "" {
			old.Cases = once(old.Cases, id)
		}
		return old
	}
	if id != "" {
		f.Cases = []string{id}
	}
	c.seen[key] = len(c.Findings)
	c.Findings = append(c.Findings, f)
	return &c.Findings[len(c.Findings)-1]
}

// warnings are the loader's, which grade tells too.
func (c *suiteCheck) warnings() {
	placed := c.Suite.placed
	for _, w := range placed {
		c.add(nil, value.Pos{File: w.file, Line: w.Line, Col: w.Col}, FindWarning, w.Msg, "")
	}
	for _, w := range c.Suite.Warnings[len(placed):] {
		c.add(nil, value.Pos{}, FindWarning, w, "")
	}
}

// linkWords are the links in prose.
var linkWords = map[predicate.Link]string{
	predicate.Connection: "connection", predicate.Discovery: "discovery", predicate.Selection: "selection",
	predicate.Call: "tool call", predicate.Response: "response", predicate.UserValue: "user value",
}

// linkChecks are what would decide a link, for who asks what to add.
var linkChecks = map[predicate.Link]string{
	predicate.Discovery: "toolDescriptionsPresent, toolNamesUnique or toolInputSchemasWellFormed",
	predicate.Selection: "expectedToolCalls or toolCalledAtLeastOnce",
	predicate.Call:      "argumentsMatchToolSchema, or expectedToolCalls with arguments",
	predicate.Response:  "noToolErrors or toolResultContains",
	predicate.UserValue: "responseContains or finalAssistantMessageNonEmpty, which need the host's transcript",
}

// gaps are the links of a case that no check decides and that one could.
// Connection has no kind of check (grading.md 1.2). In a negative case that passes
// there is no call: nothing that could be said of calls and of their results.
func gaps(cover *CaseCoverage, negative bool) []predicate.Link {
	return slices.DeleteFunc(cover.Uncovered(), func(l predicate.Link) bool {
		return l == predicate.Connection || negative && (l == predicate.Call || l == predicate.Response)
	})
}

// coverage tells the gaps of the suite, and of each case those that are its own.
func (c *suiteCheck) coverage() {
	specs := c.specs()
	if len(specs) == 0 {
		return // every case is disabled, which is told
	}
	own := make([][]predicate.Link, len(specs))
	for i, spec := range specs {
		own[i] = gaps(&c.Cases[i], spec.Negative)
	}
	everywhere := slices.DeleteFunc(slices.Clone(own[0]), func(l predicate.Link) bool {
		return slices.ContainsFunc(own, func(links []predicate.Link) bool { return !slices.Contains(links, l) })
	})
	c.undecided(nil, value.Pos{}, everywhere, &c.Whole)
	for i, spec := range specs {
		rest := slices.DeleteFunc(own[i], func(l predicate.Link) bool { return slices.Contains(everywhere, l) })
		c.undecided(spec, spec.Pos, rest, &c.Cases[i].Links)
	}
}

func (c *suiteCheck) undecided(spec *CaseSpec, pos value.Pos, links []predicate.Link, cover *[6]LinkCoverage) {
	var none []predicate.Link
	for _, lc := range cover {
		switch {
		case !slices.Contains(links, lc.Link):
		case lc.State == CoverObserved:
			f := c.add(spec, pos, FindObserved, fmt.Sprintf("%s is only observed, by %s: advisory checks decide nothing", linkWords[lc.Link], and(lc.By)),
				"make one required where its kind may gate, or add "+linkChecks[lc.Link])
			f.Links = []predicate.Link{lc.Link}
		default:
			none = append(none, lc.Link)
		}
	}
	if len(none) == 0 {
		return
	}
	words, do := make([]string, len(none)), make([]string, len(none))
	for i, l := range none {
		words[i] = linkWords[l]
		do[i] = fmt.Sprintf("for %s: %s", linkWords[l], linkChecks[l])
	}
	have, them := "have", "them"
	if len(none) == 1 {
		have, them = "has", "it"
	}
	f := c.add(spec, pos, FindNotDecided, fmt.Sprintf("%s %s no authored check that decides %s", and(words), have, them), "add "+strings.Join(do, "; "))
	f.Links = none
}

// and joins words as a sentence does.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func (c *suiteCheck) oneCase(spec *CaseSpec) {
	// Where nothing gates at all, no trial passes, and the loader says so.
	if spec.gates() && CanFail(spec) == CanFailVacuous {
		c.add(spec, spec.Pos, FindEmptyPasses, "an empty answer passes: a host that calls nothing and says nothing meets every check",
			"expect a call, or add a check that needs one, as toolCalledAtLeastOnce")
	}
	c.contradictions(spec)
	for i := range spec.Turns {
		t := &spec.Turns[i]
		for j := range t.Expected {
			c.expectation(spec, &t.Expected[j])
		}
		if t.PinnedCall != nil {
			c.tool(spec, t.PinnedCall.Pos, t.PinnedCall.Tool)
		}
		for _, k := range t.Assertions {
			c.check(spec, k)
			c.selects(spec, k, t.Expected, t.Assertions)
		}
	}
	for i := range spec.Expected {
		c.expectation(spec, &spec.Expected[i])
	}
	all, every := spec.Expected, spec.Assertions
	for i := range spec.Turns { // a call that any turn needs is needed in the case
		all, every = slices.Concat(all, spec.Turns[i].Expected), slices.Concat(every, spec.Turns[i].Assertions)
	}
	for _, k := range spec.Assertions {
		if _, is := expectation(k, 0); !is { // which was looked at
			c.check(spec, k)
		}
		c.selects(spec, k, all, every)
	}
	for _, what := range spec.NotMeasurable {
		c.add(spec, spec.Pos, FindUnmeasurable, "not measurable from a recording: "+what, "")
	}
}

// expectation looks at an expected call.
func (c *suiteCheck) expectation(spec *CaseSpec, e *match.Expectation) {
	c.tool(spec, e.Pos, e.Tool)
	mode := e.Mode
	if mode == "" {
		mode = match.Defaults().Over(spec.Match).Arguments
	}
	c.placeholders(spec, e.Args, mode)
}

// check looks at one check's own fields.
func (c *suiteCheck) check(spec *CaseSpec, k *predicate.Check) {
	for i := range k.Fields {
		switch f := &k.Fields[i]; f.Key {
		case "toolName", "beforeToolName":
			c.tool(spec, at(f.Value.Pos, k.Pos), f.Value.Str)
		case "toolNames":
			for j := range f.Value.Arr {
				c.tool(spec, at(f.Value.Arr[j].Pos, k.Pos), f.Value.Arr[j].Str)
			}
		}
	}
	if k.Info.Name == toolCalledWith { // advisory: a row of its own, in its own mode
		args, _ := k.Field("args")
		if args == nil {
			return
		}
		inner, _ := args.Get("args")
		if mode, ok := args.Get("argumentMatching"); ok {
			c.placeholders(spec, inner, match.ArgumentMode(mode.Str))
		}
	}
}

// at is the first place that is known.
func at(places ...value.Pos) value.Pos {
	for _, p := range places {
		if p.Line > 0 {
			return p
		}
	}
	return value.Pos{}
}

// placeholders finds words that stand for a type in mode partial and that mode
// exact takes as they are (grading.md 2.1).
func (c *suiteCheck) placeholders(spec *CaseSpec, args *value.Value, mode match.ArgumentMode) {
	if args == nil || mode != match.Exact {
		return
	}
	for i := range args.Obj {
		if v := &args.Obj[i].Value; match.IsPlaceholder(v) {
			c.add(spec, v.Pos, FindLiteral, fmt.Sprintf("%s for %s is taken literally: argumentMatching exact knows no placeholders", predicate.Quoted(v.Str), predicate.Quoted(args.Obj[i].Key)),
				"match in mode partial, or write the value that is meant")
		}
	}
}

// selects tells of a toolInputMatches whose tool no gating selection check beside
// it requires: when the tool is not called, the session would seem to break at the
// call link and not at selection (grading.md 1.4).
func (c *suiteCheck) selects(spec *CaseSpec, k *predicate.Check, expected []match.Expectation, checks []*predicate.Check) {
	if k.Info.Name != "toolInputMatches" || k.Role != predicate.Gating || spec.Negative {
		return
	}
	if least, ok := k.Int("min"); ok && least == 0 {
		return // it does not need the call
	}
	tool, _ := k.Text("toolName")
	for i := range expected {
		if expected[i].Tool == tool {
			return
		}
	}
	for _, o := range checks {
		if name, _ := o.Text("toolName"); o.Role == predicate.Gating && o.Info.NeedsCall && name == tool {
			return
		}
	}
	c.add(spec, k.Pos, FindNoSelection, fmt.Sprintf("toolInputMatches of %s, and no selection check requires that tool: when it is not called, the first break reads call, not selection", predicate.Quoted(tool)),
		"add {type: toolCalledAtLeastOnce, toolName: …} beside it, or expect the call")
}

// contradictions finds what a negative case asks for and cannot get: it passes only
// when nothing is called (grading.md 2.3), so that a check that fails where nothing
// was called never lets it pass.
func (c *suiteCheck) contradictions(spec *CaseSpec) {
	if !spec.Negative {
		return
	}
	const do = "take it out, or isNegativeTest"
	look := func(expected []match.Expectation, checks []*predicate.Check, empty *predicate.Evidence) {
		for i := range expected {
			c.add(spec, expected[i].Pos, FindContradicted, fmt.Sprintf("a negative case passes only without a call, and a call to %s is expected here, which it does not read", predicate.Quoted(expected[i].Tool)), do)
		}
		for _, k := range checks {
			if k.Role == predicate.Gating && k.Info.Name != toolCalledWith && failsWithoutCalls(k, empty) {
				c.add(spec, k.Pos, FindContradicted, fmt.Sprintf("a negative case passes only without a call, and %s fails without one", k.Info.Name), do)
			}
		}
	}
	whole := emptyAnswer()
	turn := whole.ForTurn(0)
	for i := range spec.Turns {
		look(spec.Turns[i].Expected, spec.Turns[i].Assertions, turn)
	}
	look(spec.Expected, spec.Assertions, whole)
}

// failsWithoutCalls tells whether a check on calls or their results fails when there
// are none.
func failsWithoutCalls(k *predicate.Check, empty *predicate.Evidence) bool {
	switch k.Info.Link {
	case predicate.Selection, predicate.Call, predicate.Response:
		return !unfed[k.Info.Name] && k.Kind != nil && k.Kind.Evaluate != nil && predicate.Evaluate(k, empty).Result == predicate.Fail
	}
	return false
}
