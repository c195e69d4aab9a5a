package schema

import (
	"slices"
	"strconv"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// quick knows enough of a schema to tell that a value is valid, and nothing more:
// what it does not accept is for the validator. Nearly all calls are valid, by schemas
// of a few plain keywords, and the validator costs some microseconds each.
type quick struct {
	types    uint8 // a bit for each of typeNames; 0: any
	props    []quickMember
	required []string
	closed   bool   // no other members than props
	others   *quick // of the other members; nil: any
	items    *quick
	enum     []string // of strings alone; nil: any value
	min, max *int64
	minLen   int64
	maxLen   int64 // -1: any
}

type quickMember struct {
	name string
	q    *quick
}

var typeNames = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

// quickOf is nil for a schema with a keyword that quick does not know.
func quickOf(v *value.Value, depth int) *quick {
	q := &quick{maxLen: -1}
	if v.Kind == value.Bool && v.Bool {
		return q
	}
	if v.Kind != value.Object || depth > 8 {
		return nil
	}
	number := func(m *value.Value) *int64 {
		if n, ok := plainInt(m); ok {
			return &n
		}
		return nil
	}
	for i := range v.Obj {
		m := &v.Obj[i].Value
		switch v.Obj[i].Key {
		case "description", "title", "default", "examples", "$comment", "format", "$defs", "definitions", "readOnly", "writeOnly", "deprecated":
		case "type":
			names := []value.Value{*m}
			if m.Kind == value.Array {
				names = m.Arr
			}
			for _, n := range names {
				bit := slices.Index(typeNames, n.Str)
				if n.Kind != value.String || bit < 0 {
					return nil
				}
				q.types |= 1 << bit
			}
			if q.types == 0 {
				return nil
			}
		case "properties":
			if m.Kind != value.Object {
				return nil
			}
			for k := range m.Obj {
				sub := quickOf(&m.Obj[k].Value, depth+1)
				if sub == nil {
					return nil
				}
				q.props = append(q.props, quickMember{m.Obj[k].Key, sub})
			}
		case "required":
			if m.Kind != value.Array {
				return nil
			}
			for _, r := range m.Arr {
				if r.Kind != value.String {
					return nil
				}
				q.required = append(q.required, r.Str)
			}
		case "additionalProperties":
			if m.Kind == value.Bool && !m.Bool {
				q.closed = true
			} else if q.others = quickOf(m, depth+1); q.others == nil {
				return nil
			}
		case "items":
			if q.items = quickOf(m, depth+1); q.items == nil {
				return nil
			}
		case "enum":
			if m.Kind != value.Array {
				return nil
			}
			q.enum = []string{}
			for _, e := range m.Arr {
				if e.Kind != value.String {
					return nil
				}
				q.enum = append(q.enum, e.Str)
			}
		case "minimum":
			if q.min = number(m); q.min == nil {
				return nil
			}
		case "maximum":
			if q.max = number(m); q.max == nil {
				return nil
			}
		case "minLength", "maxLength":
			n := number(m)
			if n == nil || *n < 0 {
				return nil
			}
			if v.Obj[i].Key == "minLength" {
				q.minLen = *n
			} else {
				q.maxLen = *n
			}
		default:
			return nil
		}
	}
	return q
}

// plainInt reads a number that is spelt as an integer of at most 18 digits.
func plainInt(v *value.Value) (int64, bool) {
	if v.Kind != value.Number || len(v.Str) > 18 {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Str, 10, 64)
	return n, err == nil
}

// accepts tells that v is valid; false tells nothing.
func (q *quick) accepts(v *value.Value) bool {
	n, whole := int64(0), false
	var is uint8
	switch v.Kind {
	case value.Null:
		is = 1
	case value.Bool:
		is = 1 << 1
	case value.Number:
		is = 1 << 2
		if n, whole = plainInt(v); whole {
			is |= 1 << 3
		}
	case value.String:
		is = 1 << 4
	case value.Array:
		is = 1 << 5
	case value.Object:
		is = 1 << 6
	}
	if q.types != 0 && q.types&is == 0 || q.enum != nil && (v.Kind != value.String || !slices.Contains(q.enum, v.Str)) {
		return false
	}
	switch v.Kind {
	case value.Number:
		if (q.min != nil || q.max != nil) && (!whole || q.min != nil && n < *q.min || q.max != nil && n > *q.max) {
			return false
		}
	case value.String:
		if q.minLen > 0 || q.maxLen >= 0 {
			for i := range len(v.Str) {
				if v.Str[i] >= 0x80 {
					return false // its length is to be counted in characters
				}
			}
			if l := int64(len(v.Str)); l < q.minLen || q.maxLen >= 0 && l > q.maxLen {
				return false
			}
		}
	case value.Array:
		if q.items != nil {
			for i := range v.Arr {
				if !q.items.accepts(&v.Arr[i]) {
					return false
				}
			}
		}
	case value.Object:
		for _, name := range q.required {
			if _, ok := v.Get(name); !ok {
				return false
			}
		}
		if len(q.props) == 0 && !q.closed && q.others == nil {
			return true
		}
	members:
		for i := range v.Obj {
			for k := range q.props {
				if q.props[k].name == v.Obj[i].Key {
					if !q.props[k].q.accepts(&v.Obj[i].Value) {
						return false
					}
					continue members
				}
			}
			if q.closed || q.others != nil && !q.others.accepts(&v.Obj[i].Value) {
				return false
			}
		}
	}
	return true
}
