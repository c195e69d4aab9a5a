package match

import (
	"github.com/sixlink/sixlink/grade/internal/value"
)

// empty is what absent arguments compare as.
var empty = value.Obj()

// ArgumentsMatch tells whether the arguments of a call are the expected ones
// (grading.md 2.1). nil stands for {}. An unknown mode counts as partial.
func ArgumentsMatch(expected, actual *value.Value, mode ArgumentMode) bool {
	if mode == IgnoreArgs {
		return true
	}
	if expected == nil {
		expected = &empty
	}
	if actual == nil {
		actual = &empty
	}
	if mode == Exact {
		return value.Equal(expected, actual)
	}
	// Only top-level keys are partial: what is below them is all or nothing.
	for i := range expected.Obj {
		want := &expected.Obj[i].Value
		got, ok := actual.Get(expected.Obj[i].Key)
		if !ok {
			return false
		}
		if want.Kind == value.String {
			if fits, is := placeholder(want.Str, got); is {
				if !fits {
					return false
				}
				continue
			}
		}
		if !value.Equal(want, got) {
			return false
		}
	}
	return true
}

// placeholder tells whether word is one, and whether v is of its type.
func placeholder(word string, v *value.Value) (fits, is bool) {
	switch value.Lower(value.Trim(word)) {
	case "any":
		return true, true
	case "string":
		return v.Kind == value.String, true
	case "number":
		return v.Kind == value.Number, true
	case "boolean":
		return v.Kind == value.Bool, true
	case "object":
		return v.Kind == value.Object, true
	case "array":
		return v.Kind == value.Array, true
	case "null":
		return v.Kind == value.Null, true
	}
	return false, false
}
