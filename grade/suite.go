package grade

import (
	"bytes"
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
	// aliases expanded, nothing defaulted in.
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
	// Cases are the cases, in authored order; nil when the file has none.
	Cases []*CaseSpec
	// PassThreshold is the share of a case's eligible trials that must pass.
	PassThreshold *big.Rat
	Validity      Validity
	// Warnings say what is allowed but of no use, above all a suite that cannot fail.
	Warnings []string
}

// UsageRule says which token figures count (grading.md 0.1, 0.3).
type UsageRule struct {
	// Source names the one source that counts; empty: any, as long as they agree.
	Source string
	// ExcludeCache leaves cache reads and writes out of the input tokens;
	// WithSubagents adds those of subagents.
	ExcludeCache, WithSubagents bool
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
	// NotMeasurable are steps that no recording can decide, in words, for the report.
	NotMeasurable []string
	Pos           value.Pos
}

// TurnSpec is a turn of a case.
type TurnSpec struct {
	Prompt string
	// Expected are the expected calls: the entries of expectedToolCalls, and the
	// gating toolCalledWith checks of the turn (grading.md 2.4).
	Expected []match.Expectation
	// Assertions are the turn's other checks, in authored order.
	Assertions []*predicate.Check
	// Pinned turns make their calls themselves (toolCall steps of MCPJam files).
	Pinned bool
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
}

func (e *SuiteError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", visible.String(e.File), e.Line, e.Col, visible.String(e.Msg))
}

// SuiteErrors are all faults of a suite file, in the order of the document.
type SuiteErrors []*SuiteError

// Error joins the faults, one a line.
func (e SuiteErrors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// LoadSuite reads a suite: strict JSON when it starts with "{", else YAML 1.2.
// name is the file's name as errors show it. The error is a [SuiteErrors].
func LoadSuite(name string, data []byte) (*Suite, error) {
	l := &loader{file: name}
	doc, err := parseSuite(data)
	if err != nil {
		var p *problem
		if !errors.As(err, &p) {
			p = problemf(value.Pos{Line: 1, Col: 1}, "%v", err)
		}
		l.fail(p.pos, "%s", p.msg)
		return nil, l.errs
	}
	s := l.suite(doc)
	hash, err := value.Hash(doc)
	if err != nil {
		l.fail(doc.Pos, "%v", err)
	}
	if len(l.errs) > 0 {
		slices.SortStableFunc(l.errs, func(a, b *SuiteError) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Col - b.Col
		})
		return nil, l.errs
	}
	s.Hash = hash
	s.warn()
	return s, nil
}

// warn says what lets a suite pass whatever happened.
func (s *Suite) warn() {
	if len(s.Assertions) == 0 {
		s.Warnings = append(s.Warnings, "the suite has no checks: it cannot fail, and no trial can pass")
		return
	}
	if !slices.ContainsFunc(s.Assertions, func(c *predicate.Check) bool { return c.Role == predicate.Gating }) {
		s.Warnings = append(s.Warnings, "every check is advisory: the suite cannot fail, and no trial can pass")
	}
}

func parseSuite(data []byte) (*value.Value, error) {
	start := value.Pos{Line: 1, Col: 1}
	if len(data) > maxSuiteBytes {
		return nil, problemf(start, "the suite has %d bytes, more than %d", len(data), maxSuiteBytes)
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
