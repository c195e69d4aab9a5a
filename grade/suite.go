package grade

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// Suite is a loaded suite.
type Suite struct {
	ID, Name string
	// Hash is the lower-case hex SHA-256 of the suite's resolved canonical JSON:
	// aliases and extends expanded, nothing defaulted in, no run override.
	Hash string
	// Servers are the servers whose calls are graded; empty: all.
	Servers []string
	// ModelEvidence says that results are judged as the model saw them (evidence: model).
	ModelEvidence bool
	Usage         UsageRule
	// Assertions are the checks of the defaults, in authored order.
	Assertions []*predicate.Check
	// Match are the matcher's options of the defaults.
	Match match.Options
	// Overridden names what a run override set in them.
	Overridden []string
	// Cases are the cases, in authored order; nil when the file has none.
	Cases []*CaseSpec
	// Only are the cases that a run override left in; nil: all. The others stay in
	// Cases, marked, so that their sessions are not taken for somebody else's.
	Only []string
	// PassThreshold is the share of a case's eligible trials that must pass.
	PassThreshold *big.Rat
	Validity      Validity
	// ToolPolicy is that of a MCPJam file; nil when it has none.
	ToolPolicy *ToolPolicy
	// Warnings say what is allowed but of no use, above all a suite that cannot fail.
	Warnings []string
	// Files are the files that it was made of, by the File of a position: its own,
	// then what it extends. None of the built-in suite.
	Files []string

	placed SuiteErrors // those of Warnings that have a place, which are the first
}

// UsageRule says which token figures count (grading.md 0.1, 0.3).
type UsageRule struct {
	// Source names the one source that counts; empty: any, as long as they agree.
	Source string
	// ExcludeCache leaves cache reads and writes out of the input tokens;
	// WithSubagents adds those of subagents.
	ExcludeCache, WithSubagents bool
}

// ToolPolicy says which tools the agent of a MCPJam file may call (grading.md 6.1).
// A recording was made under whatever policy its host had.
type ToolPolicy struct {
	ReadOnly    bool
	Allow, Deny []string
}

// CaseSpec is a case as the suite has it, layers resolved.
type CaseSpec struct {
	ID, Title string
	// MatchPrompt and MatchLabels say which sessions are its trials; both empty:
	// the label case=ID, else a first prompt that no other case has (0.2.17).
	MatchPrompt string
	MatchLabels map[string]string
	// Servers narrows the suite's servers; empty: those of the suite.
	Servers []string
	Turns   []TurnSpec
	// Assertions are the effective checks of the whole case (grading.md 6.4).
	// Inherited counts those at their front that come from the defaults.
	Assertions []*predicate.Check
	Inherited  int
	// Expected are the gating toolCalledWith checks among Assertions, as
	// expectations over all calls of the case, free of order (grading.md 0.2.13).
	Expected []match.Expectation
	// Match are the resolved options; Overridden names those that a run override set.
	Match      match.Options
	Overridden []string
	// Negative cases pass when no tool is called.
	Negative       bool
	ExpectedOutput string
	// PassThreshold is the share of the eligible trials that must pass; never nil.
	PassThreshold *big.Rat
	// Repetitions are the trials that the file wants; 0: it does not say.
	Repetitions int64
	Disabled    bool
	// LeftOut says that a run override chose other cases.
	LeftOut bool
	// NotMeasurable are steps that no recording can decide, in words, for the report.
	NotMeasurable []string
	// File and Pos are where the case begins.
	File string
	Pos  value.Pos
}

// TurnSpec is a turn of a case.
type TurnSpec struct {
	Prompt string
	// Expected are the expected calls: the entries of expectedToolCalls, and the
	// gating toolCalledWith checks of the turn (grading.md 2.4).
	Expected []match.Expectation
	// Assertions are the turn's other checks, in authored order.
	Assertions []*predicate.Check
	// Pinned turns make their call themselves (toolCall steps of MCPJam files); it is
	// exempt from what is expected (grading.md 2.5). PinnedCall is that call.
	Pinned     bool
	PinnedCall *match.Expectation
}

// Validity says when a run measured enough to be believed (grading.md 5.3).
type Validity struct {
	MinEligibleTrials                        int64
	MinCompletionRate, MaxEvaluatorErrorRate *big.Rat
}

// BuiltInID is the id of the suite that stands in when none is given. No suite
// file can have it.
const BuiltInID = "(built-in)"

// BuiltIn returns the suite that gates noToolErrors.
func BuiltIn() *Suite {
	c, err := predicate.New("noToolErrors", predicate.Gating)
	if err != nil {
		panic(err)
	}
	doc := value.Obj(
		value.M("schemaVersion", value.Text(SuiteSchema)),
		value.M("suite", value.Obj(value.M("id", value.Text(BuiltInID)))),
		value.M("defaults", value.Obj(value.M("assertions", value.List(value.Obj(value.M("type", value.Text("noToolErrors"))))))),
	)
	hash, err := value.Hash(&doc)
	if err != nil {
		panic(err)
	}
	return &Suite{ID: BuiltInID, Hash: hash, Assertions: []*predicate.Check{c}, PassThreshold: big.NewRat(1, 1), Validity: defaultValidity()}
}

func defaultValidity() Validity {
	return Validity{MinCompletionRate: big.NewRat(8, 10), MaxEvaluatorErrorRate: big.NewRat(1, 10)}
}

// SuiteSchema is the schemaVersion of sixlink's own suite files.
const SuiteSchema = "sixlink/1"

// SuiteError is one fault in a suite file.
type SuiteError struct {
	File      string
	Line, Col int
	Msg       string

	file int // the file's place in the chain of extends
}

func (e *SuiteError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", visible.String(e.File), e.Line, e.Col, visible.String(e.Msg))
}

// SuiteErrors are all faults of a suite file, in the order of the document; those
// of a file that it extends come after its own.
type SuiteErrors []*SuiteError

// Error joins the faults, one a line.
func (e SuiteErrors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// sorted is e in the order of the document.
func (e SuiteErrors) sorted() SuiteErrors {
	slices.SortStableFunc(e, func(a, b *SuiteError) int {
		return cmp.Or(a.file-b.file, a.Line-b.Line, a.Col-b.Col)
	})
	return e
}

// LoadSuite reads a suite: strict JSON when it starts with "{", else YAML 1.2.
// name is the file's name as errors show it. open reads the file that a suite
// extends, at most one byte more than 1 MiB of it, by its name relative to where
// name is; it may be nil where no other file is to be read. The error is a
// [SuiteErrors].
func LoadSuite(name string, data []byte, open func(name string) ([]byte, error)) (*Suite, error) {
	l := &loader{openFile: open}
	doc := l.resolve(name, data, nil)
	if doc == nil {
		return nil, l.errs.sorted()
	}
	s := l.suite(doc)
	if len(l.errs) == 0 {
		var err error
		if s.Hash, err = value.Hash(doc); err != nil {
			l.fail(infinite(doc).Pos, "%v", err)
		}
	}
	if len(l.errs) > 0 {
		return nil, l.errs.sorted()
	}
	s.Files, s.placed = l.files, l.warns.sorted()
	for _, w := range s.placed {
		s.Warnings = append(s.Warnings, w.Error())
	}
	s.warn()
	return s, nil
}

// infinite finds the first number in v that no double holds.
func infinite(v *value.Value) *value.Value {
	for i := range v.Arr {
		if at := infinite(&v.Arr[i]); at != nil {
			return at
		}
	}
	for i := range v.Obj {
		if at := infinite(&v.Obj[i].Value); at != nil {
			return at
		}
	}
	if v.Kind == value.Number {
		if _, ok := value.JSNumber(v.Str); !ok {
			return v
		}
	}
	return nil
}

// warn says what lets a suite pass whatever happened, and what cannot pass.
func (s *Suite) warn() {
	const cannot = ": the suite cannot fail, and no trial can pass"
	const anything = "passThreshold is 0, so that trials that failed pass all the same"
	if s.Cases == nil && s.PassThreshold.Sign() == 0 {
		s.Warnings = append(s.Warnings, anything)
	}
	var free []string
	for _, c := range s.Cases {
		if !c.Disabled && c.PassThreshold.Sign() == 0 {
			free = append(free, predicate.Quoted(c.ID))
		}
	}
	if len(free) > 0 {
		s.Warnings = append(s.Warnings, anything+", in "+several(free, "case", "cases"))
	}
	if s.Cases == nil {
		switch {
		case anyGates(s.Assertions) || s.Match.MaxExtra != nil:
		case len(s.Assertions) == 0:
			s.Warnings = append(s.Warnings, "the suite has no checks"+cannot)
		default:
			s.Warnings = append(s.Warnings, "every check is advisory"+cannot)
		}
		return
	}
	enabled, idle := 0, []string{}
	for _, c := range s.Cases {
		if c.Disabled {
			continue
		}
		enabled++
		if !c.gates() {
			idle = append(idle, predicate.Quoted(c.ID))
		}
	}
	switch {
	case enabled == 0 && len(s.Cases) > 0:
		s.Warnings = append(s.Warnings, "every case is disabled: nothing can be graded")
	case len(idle) == enabled && !anyGates(s.Assertions):
		s.Warnings = append(s.Warnings, "nothing gates, in no case"+cannot)
	case len(idle) > 0:
		s.Warnings = append(s.Warnings, "nothing gates, so that no trial can pass, in "+several(idle, "case", "cases"))
	}
}

// several names at most five of names.
func several(names []string, one, many string) string {
	if len(names) == 1 {
		return one + " " + names[0]
	}
	text := many + " " + strings.Join(names[:min(len(names), 5)], ", ")
	if n := len(names) - 5; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func anyGates(checks []*predicate.Check) bool {
	return slices.ContainsFunc(checks, func(c *predicate.Check) bool { return c.Role == predicate.Gating })
}

// gates tells whether a trial of the case can fail by anything but a broken link
// (grading.md 0.2.8).
func (c *CaseSpec) gates() bool {
	return c.Negative || c.Match.MaxExtra != nil || anyGates(c.Assertions) ||
		slices.ContainsFunc(c.Turns, func(t TurnSpec) bool { return len(t.Expected) > 0 || anyGates(t.Assertions) })
}

func parseSuite(data []byte) (*value.Value, error) {
	start := value.Pos{Line: 1, Col: 1}
	if len(data) > maxSuiteBytes {
		return nil, problemf(start, "the suite has more than %d bytes", maxSuiteBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, problemf(invalidAt(data), "the suite is no valid UTF-8")
	}
	text := bytes.TrimLeft(data, " \t\r\n")
	if len(text) == 0 {
		return nil, problemf(start, "the suite is empty")
	}
	if text[0] != '{' {
		return parseYAML(data)
	}
	v, err := value.Parse(data, value.Options{MaxDepth: maxSuiteDepth, Unique: true, Positions: true})
	var se *value.SyntaxError
	if errors.As(err, &se) {
		return nil, problemf(se.Pos, "no JSON: %s", se.Msg)
	}
	if err != nil {
		return nil, err
	}
	return &v, nil
}

func invalidAt(data []byte) value.Pos {
	pos := value.Pos{Line: 1, Col: 1}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		pos.Col++
		if r == '\n' {
			pos.Line, pos.Col = pos.Line+1, 1
		}
		i += n
	}
	return pos
}

func parseUint(s string) (string, error) {
	n, err := strconv.ParseUint(s, 0, 64)
	return strconv.FormatUint(n, 10), err
}
