// Package value holds JSON values as the grader compares them: numbers as exact
// decimals, strings with lone surrogates intact, keys in the order of the text,
// and the place in the text when one is asked for.
//
// It must not know checks, suites, sessions or recordings.
package value

// Kind is the JSON type of a value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}

// String names the kind as an error message does.
func (k Kind) String() string { return kindNames[k] }

// Pos is a place in a text: line and column from 1, the column in characters.
// The zero Pos is unknown. File tells the texts apart that a value was made of;
// whoever read them knows what it counts.
type Pos struct{ Line, Col, File int }

// Value is one JSON value.
type Value struct {
	Kind Kind
	Bool bool
	// Str is the text of a string, lone surrogates as WTF-8, or a number as it
	// was spelt.
	Str string
	Arr []Value
	Obj []Member
	Pos Pos
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Pos   Pos
	Value Value
}

// Get returns the value of an object's own key.
func (v *Value) Get(key string) (*Value, bool) {
	if v.Kind != Object {
		return nil, false
	}
	for i := range v.Obj {
		if v.Obj[i].Key == key {
			return &v.Obj[i].Value, true
		}
	}
	return nil, false
}

// Text returns a string value.
func Text(s string) Value { return Value{Kind: String, Str: s} }

// Num returns a number value spelt s, which must be a JSON number.
func Num(s string) Value { return Value{Kind: Number, Str: s} }

// Obj returns an object value.
func Obj(members ...Member) Value { return Value{Kind: Object, Obj: members} }

// List returns an array value.
func List(items ...Value) Value { return Value{Kind: Array, Arr: items} }

// M returns a member.
func M(key string, v Value) Member { return Member{Key: key, Value: v} }

// Equal compares by value: objects whatever the order of their keys, arrays in
// order, numbers as exact decimals (grading.md 0.2.4), strings exactly.
func Equal(a, b *Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Bool:
		return a.Bool == b.Bool
	case Number:
		return SameNumber(a.Str, b.Str)
	case String:
		return a.Str == b.Str
	case Array:
		if len(a.Arr) != len(b.Arr) {
			return false
		}
		for i := range a.Arr {
			if !Equal(&a.Arr[i], &b.Arr[i]) {
				return false
			}
		}
		return true
	case Object:
		if len(a.Obj) != len(b.Obj) {
			return false
		}
		index := make(map[string]*Value, len(b.Obj))
		for i := range b.Obj {
			index[b.Obj[i].Key] = &b.Obj[i].Value
		}
		for i := range a.Obj {
			other, ok := index[a.Obj[i].Key]
			if !ok || !Equal(&a.Obj[i].Value, other) {
				return false
			}
		}
		return true
	}
	return true
}
