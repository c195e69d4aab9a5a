package drift

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Bounds of the walk over two schemas, which strangers wrote.
const (
	maxNodes = 20_000    // schemas below one schema
	maxDepth = 64        // of properties in properties
	maxRefs  = 16        // references that lead to a reference
	maxWork  = 256 << 20 // bytes that are read to follow references
)

// schemas is the comparison of one schema with what it was. A schema is walked
// through properties, as grading.md 8 has it, and further where types are built of
// other types: items, additionalProperties, references within the schema, and a
// choice between one type and null. What stands elsewhere is compared as a whole.
type schemas struct {
	*comparer
	input bool
	roots [2][]byte
	// seen are pairs of references that were compared: schemas may refer to themselves,
	// and each pair has one answer wherever it stands.
	seen  map[string]bool
	found map[string][]byte // what references lead to, by side and pointer
	nodes int
	work  int
	more  bool // a bound was hit
}

func (c *comparer) schema(input bool, a, b []byte) {
	path, added, removed := "/inputSchema", InputSchemaAdded, InputSchemaRemoved
	if !input {
		path, added, removed = "/outputSchema", OutputSchemaAdded, OutputSchemaRemoved
	}
	what := strings.ToLower(path[1:len(path)-6]) + " schema"
	switch {
	case a == nil:
		c.add(added, path, nil, b, "the %s was added", what)
		return
	case b == nil:
		c.add(removed, path, a, nil, "the %s was removed", what)
		return
	case jsonscan.Equal(a, b):
		return
	}
	s := schemas{comparer: c, input: input, roots: [2][]byte{a, b}, seen: map[string]bool{"#\n#\n": true}, found: map[string][]byte{}}
	s.node(path, a, b, 0)
	if s.more {
		c.res.undecided("all that changed in the %s of %q: it is too large, or nests too deep, to be compared to its end", what, c.tool)
	}
}

// add2 adds a change by the rule for inputs or by that for outputs.
func (s *schemas) add2(in, out, path string, before, after []byte, format string, args ...any) {
	rule := out
	if s.input {
		rule = in
	}
	s.add(rule, path, before, after, format, args...)
}

// node is a schema as it is compared.
type node struct {
	is    map[string][]byte
	types []string // sorted; nil: any
	enum  [][]byte // nil: any
	ref   string
}

// read makes a node of a schema: references are followed, and a choice between one
// schema and null is that schema with one type more.
func (s *schemas) read(side int, b []byte) *node {
	n := &node{}
	null := false
	for i := 0; ; i++ {
		m := members(b)
		if m == nil {
			// true, false, or no schema at all.
			return &node{is: map[string][]byte{"": b}}
		}
		if n.is == nil {
			n.is = m
		} else {
			for k, v := range m {
				if _, own := n.is[k]; !own {
					n.is[k] = v
				}
			}
		}
		next := []byte(nil)
		if ref, ok := jsonscan.String(n.is["$ref"]); ok && strings.HasPrefix(ref, "#") {
			if next = s.lookup(side, ref[1:]); next != nil {
				n.ref += ref
				delete(n.is, "$ref")
			}
		} else if inner, key, nullable := choice(n.is); inner != nil {
			next, null = inner, null || nullable
			delete(n.is, key)
		}
		if next == nil {
			break
		}
		if i == maxRefs {
			s.more = true
			break
		}
		b = next
	}
	n.types = types(n.is["type"])
	if n.types == nil && n.is["type"] == nil {
		n.types = unionTypes(n.is)
	}
	if null && n.types != nil && !slices.Contains(n.types, "null") {
		n.types = append(slices.Clone(n.types), "null")
		slices.Sort(n.types)
	}
	if e, ok := jsonscan.Array(n.is["enum"]); ok {
		n.enum = append([][]byte{}, e...)
		if null {
			n.enum = append(n.enum, []byte("null"))
		}
	} else if c := n.is["const"]; c != nil {
		n.enum = [][]byte{c}
	}
	return n
}

// choice returns the one schema that an anyOf, oneOf or allOf comes down to, if it
// does: its only member, or its only member beside null.
func choice(m map[string][]byte) (inner []byte, key string, nullable bool) {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, ok := jsonscan.Array(m[key])
		if !ok {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(list), func(b []byte) bool {
			m := members(b)
			t, _ := jsonscan.String(m["type"])
			return key != "allOf" && len(m) == 1 && t == "null"
		})
		if len(rest) == 1 && members(rest[0]) != nil {
			return rest[0], key, len(rest) < len(list)
		}
	}
	return nil, "", false
}

// unionTypes are the types of an anyOf or oneOf all of whose members are a type and
// no more. They stand for it then.
func unionTypes(m map[string][]byte) []string {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := jsonscan.Array(m[key])
		var all []string
		for _, b := range list {
			one := members(b)
			t := types(one["type"])
			if ok = ok && len(one) == 1 && t != nil; !ok {
				break
			}
			all = append(all, t...)
		}
		if ok && len(all) > 0 {
			delete(m, key)
			slices.Sort(all)
			return slices.Compact(all)
		}
	}
	return nil
}

// types are the names in a type keyword, sorted.
func types(b []byte) []string {
	if t, ok := jsonscan.String(b); ok {
		return []string{t}
	}
	list, ok := jsonscan.Array(b)
	if !ok || len(list) == 0 {
		return nil
	}
	var out []string
	for _, e := range list {
		t, ok := jsonscan.String(e)
		if !ok {
			return nil
		}
		out = append(out, t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lookup follows a JSON pointer within the schema.
func (s *schemas) lookup(side int, pointer string) []byte {
	b := s.roots[side]
	if pointer == "" {
		return b
	}
	if pointer[0] != '/' {
		return nil // an anchor
	}
	id := strconv.Itoa(side) + pointer
	if known, ok := s.found[id]; ok {
		return known
	}
	s.found[id] = nil
	for _, seg := range strings.Split(pointer[1:], "/") {
		seg = strings.ReplaceAll(strings.ReplaceAll(seg, "~1", "/"), "~0", "~")
		if s.work += len(b); s.work > maxWork {
			s.more = true
			return nil
		}
		if list, ok := jsonscan.Array(b); ok {
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= len(list) {
				return nil
			}
			b = list[i]
			continue
		}
		if b = members(b)[seg]; b == nil {
			return nil
		}
	}
	s.found[id] = b
	return b
}

// node compares two schemas that stand at path.
func (s *schemas) node(path string, a, b []byte, depth int) {
	if s.nodes++; s.nodes > maxNodes || depth > maxDepth {
		s.more = true
		return
	}
	x, y := s.read(0, a), s.read(1, b)
	if x.ref != "" || y.ref != "" {
		pair := x.ref + "\n" + y.ref + "\n"
		if x.ref == "" || y.ref == "" {
			pair += path // one of them has no name
		}
		if s.seen[pair] {
			return
		}
		s.seen[pair] = true
	}
	s.typeOf(path, x, y)
	s.enum(path, x, y)
	s.properties(path, x, y, depth)
	for _, key := range []string{"items", "additionalProperties"} {
		if p, q := x.is[key], y.is[key]; members(p) != nil && members(q) != nil {
			s.node(path+"/"+key, p, q, depth+1)
			delete(x.is, key)
			delete(y.is, key)
		}
	}
	for _, key := range union(x.is, y.is) {
		p, q := x.is[key], y.is[key]
		switch key {
		case "type", "enum", "const", "$defs", "definitions":
			continue
		case "properties", "required":
			if _, list := jsonscan.Array(first(p, q)); list == (key == "required") {
				continue
			}
		case "":
			if !same(p, q) {
				s.add2(InputOther, OutputOther, path, p, q, "the schema is %s, was %s", orSchema(q), orSchema(p))
			}
			continue
		}
		if same(p, q) {
			continue
		}
		at := path + "/" + escape(key)
		switch key {
		case "title", "description", "$comment", "examples":
			s.add2(InputText, OutputText, at, p, q, "%s %s", key, happened(p, q))
		default:
			s.add2(InputOther, OutputOther, at, p, q, "%s %s", key, happened(p, q))
		}
	}
}

func orSchema(b []byte) string {
	if b == nil {
		return "an object"
	}
	return Cut(b, 60)
}

// typeOf: for inputs any change of a type is breaking (grading.md 8).
func (s *schemas) typeOf(path string, x, y *node) {
	if slices.Equal(x.types, y.types) {
		if x.types == nil && !same(x.is["type"], y.is["type"]) {
			s.add2(InputOther, OutputOther, path+"/type", x.is["type"], y.is["type"], "type was changed, and is none that JSON Schema knows")
		}
		return
	}
	p, q := x.is["type"], y.is["type"]
	if s.input {
		s.add(InputType, path+"/type", p, q, "the type is %s, was %s", anyOf(y.types), anyOf(x.types))
		return
	}
	rule := OutputType
	switch less, more := within(y.types, x.types), within(x.types, y.types); {
	case more:
		rule = OutputTypeWidened
	case less:
		rule = OutputTypeNarrowed
	}
	s.add(rule, path+"/type", p, q, "the type is %s, was %s", anyOf(y.types), anyOf(x.types))
}

// within tells whether every value of types a has one of types b.
func within(a, b []string) bool {
	if b == nil {
		return true
	}
	if a == nil {
		return false
	}
	for _, t := range a {
		if !slices.Contains(b, t) && (t != "integer" || !slices.Contains(b, "number")) {
			return false
		}
	}
	return true
}

func anyOf(types []string) string {
	if types == nil {
		return "any"
	}
	return strings.Join(types, " or ")
}

func (s *schemas) enum(path string, x, y *node) {
	if x.enum == nil && y.enum == nil {
		if p, q := x.is["enum"], y.is["enum"]; !same(p, q) {
			s.add2(InputOther, OutputOther, path+"/enum", p, q, "enum was changed, and is no list")
		}
		return
	}
	p, q := first(x.is["enum"], x.is["const"]), first(y.is["enum"], y.is["const"])
	at := path + "/enum"
	switch {
	case x.enum == nil:
		s.add2(InputEnumNarrowed, OutputEnumNarrowed, at, p, q, "only %s is a value now, was any", values(y.enum))
		return
	case y.enum == nil:
		s.add2(InputEnumWidened, OutputEnumWidened, at, p, q, "any value is one now, was only %s", values(x.enum))
		return
	}
	if gone := without(x.enum, y.enum); len(gone) > 0 {
		s.add2(InputEnumNarrowed, OutputEnumNarrowed, at, p, q, "%s is no value any more", values(gone))
	}
	if added := without(y.enum, x.enum); len(added) > 0 {
		s.add2(InputEnumWidened, OutputEnumWidened, at, p, q, "%s is a value now", values(added))
	}
}

func first(list ...[]byte) []byte {
	for _, b := range list {
		if b != nil {
			return b
		}
	}
	return nil
}

// without are the values of a that are not in b.
func without(a, b [][]byte) [][]byte {
	in := map[string]bool{}
	key := func(v []byte) string {
		if c, ok := jsonscan.Canonical(v); ok {
			return string(c)
		}
		return string(v)
	}
	for _, v := range b {
		in[key(v)] = true
	}
	var out [][]byte
	for _, v := range a {
		if !in[key(v)] {
			out = append(out, v)
		}
	}
	return out
}

// values names up to four values.
func values(list [][]byte) string {
	var out []string
	for i, v := range list {
		if i == 4 {
			out = append(out, strconv.Itoa(len(list)-i)+" more")
			break
		}
		out = append(out, Cut(v, 40))
	}
	if n := len(out); n > 1 {
		return strings.Join(out[:n-1], ", ") + " and " + out[n-1]
	}
	return strings.Join(out, "")
}

// properties compares what an object may or must have.
func (s *schemas) properties(path string, x, y *node, depth int) {
	a, b := members(x.is["properties"]), members(y.is["properties"])
	ra, rb := names(x.is["required"]), names(y.is["required"])
	word := "property"
	if s.input && depth == 0 {
		word = "argument"
	}
	for _, name := range union(a, b, ra, rb) {
		p, q := a[name], b[name]
		_, needed := ra[name]
		_, needs := rb[name]
		at := path + "/properties/" + escape(name)
		switch had, has := p != nil || needed, q != nil || needs; {
		case !had && needs:
			s.add2(InputRequiredAdded, OutputPropertyAdded, at, nil, q, "required %s %q was added", word, name)
			continue
		case !had:
			s.add2(InputPropertyAdded, OutputPropertyAdded, at, nil, q, "%s %q was added", word, name)
			continue
		case !has:
			s.add2(InputPropertyRemoved, OutputPropertyRemoved, at, p, nil, "%s %q was removed", word, name)
			continue
		case needs && !needed:
			s.add2(InputNowRequired, OutputNowRequired, at, nil, nil, "%s %q is required now", word, name)
		case needed && !needs:
			s.add2(InputNowOptional, OutputNowOptional, at, nil, nil, "%s %q is no longer required", word, name)
		}
		switch {
		case p != nil && q != nil:
			s.node(at, p, q, depth+1)
		case p != nil || q != nil:
			s.add2(InputOther, OutputOther, at, p, q, "the schema of %s %q %s", word, name, happened(p, q))
		}
	}
}

// names are the texts of a required keyword.
func names(b []byte) map[string][]byte {
	out := map[string][]byte{}
	list, _ := jsonscan.Array(b)
	for _, e := range list {
		if name, ok := jsonscan.String(e); ok {
			out[name] = e
		}
	}
	return out
}
