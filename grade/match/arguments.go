package match

import (
	"github.com/sixlink/sixlink/grade/internal/value"
)

// ArgumentsMatch tells whether the arguments of a call are as expected (grading.md
// 2.1); nil stands for {}. Only own keys are looked up (0.2.5) and numbers compare as
// exact decimals (0.2.4). An unknown mode matches nothing: malformed is not a pass.
func ArgumentsMatch(expected, actual *value.Value, mode ArgumentMode) bool {
	w := compile(expected, mode)
	return w.match(&given{v: actual})
}

// DifferenceKind says how the arguments differ at one key.
type DifferenceKind string

// The kinds of difference.
const (
	Absent     DifferenceKind = "absent"    // the key is expected and was not sent
	OtherType  DifferenceKind = "otherType" // the placeholder asks for another type
	OtherValue DifferenceKind = "other"     // the value is another
	Surplus    DifferenceKind = "surplus"   // exact mode: the key was sent and not expected
	NoObject   DifferenceKind = "noObject"  // the arguments are no object, so they have no keys
)

// Difference is one key at which arguments differ. It names the key and never the
// value (grading.md 2.7), unless the caller brings a function that shows values.
type Difference struct {
	Key  string
	Kind DifferenceKind
	// Expected and Actual are what the caller's function made of the two values;
	// empty without one, and where there is no value.
	Expected, Actual string
}

// maxKeys bounds the differing keys that are listed of one mismatch.
const maxKeys = 3

// Differences lists the first keys at which actual differs from what is expected, at
// most 3 of them, and counts all: the expected keys in authored order, then in exact
// mode the others in the order of the call. It is empty when the arguments match.
// show makes text of the value of a key; nil shows none.
func Differences(expected, actual *value.Value, mode ArgumentMode, show func(key string, v *value.Value) string) (first []Difference, total int) {
	w := compile(expected, mode)
	g := &given{v: actual}
	if w.match(g) {
		return nil, 0
	}
	text := func(key string, v *value.Value) string {
		if show == nil || v == nil {
			return ""
		}
		return show(key, v)
	}
	add := func(key string, kind DifferenceKind, want, got *value.Value) {
		if total++; total <= maxKeys {
			first = append(first, Difference{Key: key, Kind: kind, Expected: text(key, want), Actual: text(key, got)})
		}
	}
	have := g.value()
	if have.Kind != value.Object || w.args.Kind != value.Object {
		add("", NoObject, w.args, have)
		return first, total
	}
	for i := range w.args.Obj {
		m := &w.args.Obj[i]
		got, ok := g.get(m.Key)
		switch {
		case !ok:
			add(m.Key, Absent, &m.Value, nil)
		case mode == Partial && placeholderOf(&m.Value) != literal:
			if !placeholderOf(&m.Value).accepts(got) {
				add(m.Key, OtherType, &m.Value, got)
			}
		case !value.Equal(&m.Value, got):
			add(m.Key, OtherValue, &m.Value, got)
		}
	}
	if mode == Exact {
		expectedKeys := &given{v: w.args}
		for i := range have.Obj {
			if _, ok := expectedKeys.get(have.Obj[i].Key); !ok {
				add(have.Obj[i].Key, Surplus, nil, &have.Obj[i].Value)
			}
		}
	}
	return first, total
}

// noArguments is what a call without arguments compares as.
var noArguments = value.Obj()

// wanted is an expected arguments object, made ready to be compared with many calls.
type wanted struct {
	mode ArgumentMode
	args *value.Value // never nil
	keys []wantedKey  // partial mode
}

type wantedKey struct {
	key   string
	place placeholder
	value *value.Value
}

func compile(expected *value.Value, mode ArgumentMode) wanted {
	w := wanted{mode: mode, args: expected}
	if expected == nil {
		w.args = &noArguments
	}
	if mode == Partial {
		w.keys = make([]wantedKey, len(w.args.Obj))
		for i := range w.args.Obj {
			m := &w.args.Obj[i]
			w.keys[i] = wantedKey{m.Key, placeholderOf(&m.Value), &m.Value}
		}
	}
	return w
}

// reads tells whether the call's arguments must be read to decide. The name alone
// decides in mode ignore, and an empty expected object matches anything in partial.
func (w *wanted) reads() bool {
	return w.mode != IgnoreArgs && !(w.mode == Partial && w.args.Kind == value.Object && len(w.keys) == 0)
}

func (w *wanted) match(g *given) bool {
	switch w.mode {
	case IgnoreArgs:
		return true
	case Exact:
		return value.Equal(w.args, g.value())
	case Partial:
		if w.args.Kind != value.Object {
			return value.Equal(w.args, g.value()) // the suite's loader refuses it
		}
		for i := range w.keys {
			k := &w.keys[i]
			got, ok := g.get(k.key)
			if !ok || !k.accepts(got) {
				return false
			}
		}
		return true
	}
	return false
}

func (k *wantedKey) accepts(got *value.Value) bool {
	if k.place != literal {
		return k.place.accepts(got)
	}
	return value.Equal(k.value, got)
}

// placeholder is a top-level expected value that stands for a type.
type placeholder uint8

const (
	literal placeholder = iota // no placeholder
	anyValue
	anyString
	anyNumber
	anyBoolean
	anyObject
	anyArray
	onlyNull
)

// IsPlaceholder tells whether a top-level expected value stands for a type in mode
// partial; in the other modes it is the word itself.
func IsPlaceholder(v *value.Value) bool { return placeholderOf(v) != literal }

var placeholders = map[string]placeholder{
	"any": anyValue, "string": anyString, "number": anyNumber, "boolean": anyBoolean,
	"object": anyObject, "array": anyArray, "null": onlyNull,
}

// maxPlaceholder bounds the strings that are looked at (bytes): the longest word, with
// room for white space around it. What is longer is a literal, which spares lowering
// whole documents.
const maxPlaceholder = 1024

// placeholderOf trims and lowers as JavaScript does (grading.md 2.1, 9.2, 9.3).
func placeholderOf(v *value.Value) placeholder {
	if v.Kind != value.String {
		return literal
	}
	word := value.Trim(v.Str)
	if len(word) > maxPlaceholder {
		return literal
	}
	return placeholders[value.Lower(word)]
}

func (p placeholder) accepts(v *value.Value) bool {
	switch p {
	case anyValue:
		return true
	case anyString:
		return v.Kind == value.String
	case anyNumber:
		return v.Kind == value.Number
	case anyBoolean:
		return v.Kind == value.Bool
	case anyObject:
		return v.Kind == value.Object
	case anyArray:
		return v.Kind == value.Array
	case onlyNull:
		return v.Kind == value.Null
	}
	return false
}

// given are the arguments of one call, looked at by many expectations.
type given struct {
	v     *value.Value // nil stands for {}
	index map[string]*value.Value
}

// indexed is the number of keys from which a map is made once instead of searching
// the object anew for every expected key: hostile arguments have millions.
const indexed = 16

func (g *given) value() *value.Value {
	if g.v == nil {
		return &noArguments
	}
	return g.v
}

func (g *given) get(key string) (*value.Value, bool) {
	v := g.value()
	if v.Kind != value.Object || len(v.Obj) < indexed {
		return v.Get(key)
	}
	if g.index == nil {
		g.index = make(map[string]*value.Value, len(v.Obj))
		for i := range v.Obj {
			g.index[v.Obj[i].Key] = &v.Obj[i].Value
		}
	}
	got, ok := g.index[key]
	return got, ok
}
