package predicate

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// Kind is a check kind: its doc, the schema of its fields, and its function. The
// reference page, the messages of the suite loader and the JSON Schema of suites
// are made from it.
type Kind struct {
	Name  string
	Title string // one line, what a passing row says
	// Text explains the kind: what it reads, when it passes, fails and errors.
	Text string
	// Example is a check as it stands in a suite.
	Example string
	// Since is the first version of the analyzer that has it.
	Since int
	// Fields are the members besides type, role and severity.
	Fields []Field
	// Evaluate judges what is there. It must be pure; what partial evidence does
	// to its outcome is in partial.go and not its business.
	Evaluate func(c *Check, ev *Evidence) Outcome
}

// FieldType is what a field may hold.
type FieldType uint8

// The field types.
const (
	Text     FieldType = iota // a string of at least one character
	WholeNum                  // a whole number from Min to Max
	Flag                      // true or false
)

// Field is one member of a check.
type Field struct {
	Name     string
	Type     FieldType
	Required bool
	Min, Max int64 // for WholeNum; Max 0 means no limit but that of its type
	Text     string
}

// Expected says in words what the field may hold.
func (f *Field) Expected() string {
	switch f.Type {
	case WholeNum:
		if f.Max > 0 {
			return fmt.Sprintf("a whole number from %d to %d", f.Min, f.Max)
		}
		return fmt.Sprintf("a whole number from %d", f.Min)
	case Flag:
		return "true or false"
	}
	return "a string of at least one character"
}

// Accepts tells whether v is a value for the field.
func (f *Field) Accepts(v *value.Value) bool {
	switch f.Type {
	case Text:
		return v.Kind == value.String && v.Str != ""
	case Flag:
		return v.Kind == value.Bool
	}
	if v.Kind != value.Number {
		return false
	}
	n, fits, whole := value.Integer(v.Str)
	limit := f.Max
	if limit == 0 {
		limit = math.MaxInt64
	}
	return whole && fits && n >= f.Min && n <= limit
}

// Role says whether a check gates.
type Role string

// The roles. Required and gating mean the same (grading.md 1.1); verdicts show
// gating for both.
const (
	Gating   Role = "gating"
	Advisory Role = "advisory"
)

// Check is an authored predicate with its role.
type Check struct {
	Kind *Kind
	Info Info
	Role Role
	// Warn is severity: warn, for advisory checks.
	Warn bool
	// Fields are the members besides type, role and severity, in authored order.
	Fields []value.Member
}

// Text returns a string field.
func (c *Check) Text(name string) (string, bool) {
	for i := range c.Fields {
		if c.Fields[i].Key == name && c.Fields[i].Value.Kind == value.String {
			return c.Fields[i].Value.Str, true
		}
	}
	return "", false
}

// Int returns a whole-number field.
func (c *Check) Int(name string) (int64, bool) {
	for i := range c.Fields {
		if c.Fields[i].Key == name && c.Fields[i].Value.Kind == value.Number {
			n, fits, whole := value.Integer(c.Fields[i].Value.Str)
			return n, fits && whole
		}
	}
	return 0, false
}

// New makes a check of a built kind; it is how built-in suites and tests do it.
// Suites read from files are checked by the loader.
func New(kind string, role Role, fields ...value.Member) (*Check, error) {
	info, k, known := Lookup(kind)
	if !known || k == nil {
		return nil, fmt.Errorf("no check kind %s", strconv.Quote(kind))
	}
	c := &Check{Kind: k, Info: info, Role: role, Fields: fields}
	for i := range k.Fields {
		f := &k.Fields[i]
		found := false
		for j := range fields {
			if fields[j].Key == f.Name {
				found = true
				if !f.Accepts(&fields[j].Value) {
					return nil, fmt.Errorf("%s: %s: expected %s", kind, f.Name, f.Expected())
				}
			}
		}
		if f.Required && !found {
			return nil, fmt.Errorf("%s: %s is missing", kind, f.Name)
		}
	}
	return c, nil
}

// toolNameField is the field that narrows most kinds to one tool.
var toolNameField = Field{Name: "toolName", Type: Text, Text: "Only calls to this tool count. Names compare exactly."}
