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
	// Assertions are the checks of every case, in authored order.
	Assertions []*predicate.Check
	// PassThreshold is the share of a case's eligible trials that must pass.
	PassThreshold *big.Rat
	Validity      Validity
	// Warnings say what is allowed but of no use, above all a suite that cannot fail.
	Warnings []string
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
