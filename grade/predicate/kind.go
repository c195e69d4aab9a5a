package predicate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	// Channels are the channels of the evidence that it reads (grading.md 1.11).
	Channels []Channel
	// Notes are bounds and rules over several fields, for the reference page.
	Notes []string
	// Faults finds what is wrong with fields that are each acceptable: bounds
	// between them, patterns that do not compile. It may be nil. Who makes a check
	// calls it once, before the check is evaluated: it may keep in c what it compiled.
	Faults func(c *Check) []Fault
	// Evaluate judges what is there. It must be pure; what partial evidence does
	// to its outcome is in partial.go and not its business.
	Evaluate func(c *Check, ev *Evidence) Outcome
	// begin is Evaluate's first half, for kinds that look into arguments or results.
	begin func(c *Check, ev *Evidence) *reading
}

// Fault is what is wrong with one field of a check, or with a part of it: "max",
// "args.args", "patterns[1]".
type Fault struct{ Field, Msg string }

// FieldType is what a field may hold.
type FieldType uint8

// The field types.
const (
	Text     FieldType = iota // a string of at least one character
	WholeNum                  // a whole number from Min to Max
	Flag                      // true or false
	Share                     // a number from 0 to 1
	Texts                     // a list of MinItems to MaxItems strings, each as Text; Words bounds what they may be
	Word                      // one of Words
	Object                    // a JSON object; what is in it is for Faults
	JSON                      // any JSON value of at most Max bytes as JSON text
)

// Field is one member of a check.
type Field struct {
	Name     string
	Type     FieldType
	Required bool
	Min, Max int64 // for WholeNum; Max 0 means no limit but that of its type
	// MaxUnits bounds a Text, and each of Texts, in UTF-16 units (0: none).
	MaxUnits int
	// MinItems and MaxItems bound Texts (MaxItems 0: none). Unique forbids equal items.
	MinItems, MaxItems int
	Unique             bool
	Words              []string
	// Members are the keys that an Object may have; nil: any.
	Members []string
	Text    string
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
	case Share:
		return "a number from 0 to 1"
	case Texts:
		what := "strings"
		if len(f.Words) > 0 {
			what = "of " + strings.Join(f.Words, ", ")
		} else if f.MaxUnits > 0 {
			what = fmt.Sprintf("strings of 1 to %d characters", f.MaxUnits)
		}
		if f.Unique {
			what += ", none twice"
		}
		if f.MaxItems > 0 {
			return fmt.Sprintf("a list of %d to %d %s", f.MinItems, f.MaxItems, what)
		}
		return fmt.Sprintf("a list of at least %d %s", f.MinItems, what)
	case Word:
		return "one of " + strings.Join(f.Words, ", ")
	case Object:
		if len(f.Members) > 0 {
			return "an object with " + strings.Join(f.Members, ", ")
		}
		return "an object"
	case JSON:
		return fmt.Sprintf("a JSON value of at most %d bytes", f.Max)
	}
	if f.MaxUnits > 0 {
		return fmt.Sprintf("a string of 1 to %d characters", f.MaxUnits)
	}
	return "a string of at least one character"
}

// Accepts tells whether v is a value for the field.
func (f *Field) Accepts(v *value.Value) bool {
	switch f.Type {
	case Text:
		return f.text(v)
	case Flag:
		return v.Kind == value.Bool
	case Share:
		return v.Kind == value.Number && value.Within01(v.Str)
	case Word:
		return v.Kind == value.String && slices.Contains(f.Words, v.Str)
	case Texts:
		if v.Kind != value.Array || len(v.Arr) < f.MinItems || f.MaxItems > 0 && len(v.Arr) > f.MaxItems {
			return false
		}
		seen := map[string]bool{}
		for i := range v.Arr {
			if !f.text(&v.Arr[i]) || f.Unique && seen[v.Arr[i].Str] || len(f.Words) > 0 && !slices.Contains(f.Words, v.Arr[i].Str) {
				return false
			}
			seen[v.Arr[i].Str] = true
		}
		return true
	case Object:
		if v.Kind != value.Object {
			return false
		}
		for i := range v.Obj {
			if f.Members != nil && !slices.Contains(f.Members, v.Obj[i].Key) {
				return false
			}
		}
		return true
	case JSON:
		text, err := value.Canonical(nil, v, value.Exact)
		return err == nil && int64(len(text)) <= f.Max
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

func (f *Field) text(v *value.Value) bool {
	return v.Kind == value.String && v.Str != "" && (f.MaxUnits == 0 || value.UTF16Len(v.Str) <= f.MaxUnits)
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
	// Pos is where it stands in its suite; unknown when no file has it.
	Pos value.Pos

	patterns *patterns // compiled once, by patternFaults
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

// Field returns any field.
func (c *Check) Field(name string) (*value.Value, bool) {
	for i := range c.Fields {
		if c.Fields[i].Key == name {
			return &c.Fields[i].Value, true
		}
	}
	return nil, false
}

// Flag returns a flag, false where it is absent.
func (c *Check) Flag(name string) bool {
	v, ok := c.Field(name)
	return ok && v.Kind == value.Bool && v.Bool
}

// Texts returns a list of strings.
func (c *Check) Texts(name string) ([]string, bool) {
	v, ok := c.Field(name)
	if !ok || v.Kind != value.Array {
		return nil, false
	}
	out := make([]string, 0, len(v.Arr))
	for i := range v.Arr {
		if v.Arr[i].Kind != value.String {
			return nil, false
		}
		out = append(out, v.Arr[i].Str)
	}
	return out, true
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
	if k.Faults != nil {
		if faults := k.Faults(c); len(faults) > 0 {
			return nil, fmt.Errorf("%s: %s: %s", kind, faults[0].Field, faults[0].Msg)
		}
	}
	return c, nil
}

// toolNameField is the field that narrows most kinds to one tool.
var toolNameField = Field{Name: "toolName", Type: Text, Text: "Only calls to this tool count. Names compare exactly."}
