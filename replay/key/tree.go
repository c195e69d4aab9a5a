package key

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// maxDepth bounds the recursion over a value; deeper ones are compared as spelt.
const maxDepth = 500

// node is a JSON value as it stands in its text: nothing is decoded but names.
type node struct {
	raw     []byte
	members []member // of an object, by name; the last of a name holds
	elems   []*node  // of an array
}

type member struct {
	name  string
	value *node
}

// emptyObject stands for params or arguments that were not sent.
var emptyObject = &node{raw: []byte("{}")}

// errDeep ends the reading of a value that nests too deep.
var errDeep = errors.New("nested too deep")

// parse reads one JSON value, in one walk; nil when it is none or nests too deep.
func parse(b []byte) *node {
	n, s, err := parseValue(b, 0, maxDepth)
	if err != nil || jsonscan.Space(b, s.End) != len(b) {
		return nil
	}
	return n
}

// parseValue reads the value that begins at or after at, of at most so many levels.
func parseValue(b []byte, at, levels int) (n *node, s jsonscan.Span, err error) {
	n = &node{}
	at = jsonscan.Space(b, at)
	if at < len(b) && (b[at] == '{' || b[at] == '[') && levels == 0 {
		return nil, s, errDeep
	}
	switch {
	case at < len(b) && b[at] == '{':
		s, err = jsonscan.Members(b, at, func(name []byte, at int) (jsonscan.Span, error) {
			// The name is copied first: it may be in memory of the walk.
			m := member{name: string(name)}
			v, s, err := parseValue(b, at, levels-1)
			m.value = v
			n.members = append(n.members, m)
			return s, err
		})
		if err != nil {
			return nil, s, err
		}
		slices.SortStableFunc(n.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		last := n.members[:0]
		for i, m := range n.members {
			if i+1 == len(n.members) || n.members[i+1].name != m.name {
				last = append(last, m)
			}
		}
		n.members = last
	case at < len(b) && b[at] == '[':
		s, err = jsonscan.Elements(b, at, func(_, at int) (jsonscan.Span, error) {
			v, s, err := parseValue(b, at, levels-1)
			n.elems = append(n.elems, v)
			return s, err
		})
	default:
		s, err = jsonscan.Skip(b, at)
	}
	if err != nil {
		return nil, s, err
	}
	n.raw = b[s.Start:s.End]
	return n, s, nil
}

func (n *node) kind() byte { return n.raw[0] }

// get is the member of that name; nil when there is none.
func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// with is the object with one member replaced, or left out (nil).
func (n *node) with(name string, value *node) *node {
	out := &node{raw: n.raw, members: make([]member, 0, len(n.members)+1)}
	for _, m := range n.members {
		if m.name != name {
			out.members = append(out.members, m)
		}
	}
	if value != nil {
		at, _ := slices.BinarySearchFunc(out.members, name, func(m member, name string) int { return bytes.Compare([]byte(m.name), []byte(name)) })
		out.members = slices.Insert(out.members, at, member{name, value})
	}
	return out
}

// without is the value without what the paths end at; nil when that is all of it.
func (n *node) without(ps paths) *node {
	if len(ps) == 0 {
		return n
	}
	if ps.here() {
		return nil
	}
	return n.each(func(seg string, v *node) *node { return v.without(ps.into(seg)) })
}

// only is the value with nothing but what the paths end at; nil when there is nothing.
func (n *node) only(ps paths) *node {
	if ps.here() {
		return n
	}
	if len(ps) == 0 || n.kind() != '{' && n.kind() != '[' {
		return nil
	}
	return n.each(func(seg string, v *node) *node { return v.only(ps.into(seg)) })
}

// absent keeps the place of an element that does not count.
var absent = &node{raw: []byte("-")}

func (n *node) each(f func(seg string, v *node) *node) *node {
	out := &node{raw: n.raw}
	for _, m := range n.members {
		if v := f(m.name, m.value); v != nil {
			out.members = append(out.members, member{m.name, v})
		}
	}
	for i, e := range n.elems {
		v := f(strconv.Itoa(i), e)
		if v == nil {
			v = absent
		}
		out.elems = append(out.elems, v)
	}
	return out
}

// appendForm writes a form in which equal values are equal and no two others are.
func (n *node) appendForm(dst []byte) []byte {
	switch n.kind() {
	case '{':
		dst = append(dst, '{')
		for _, m := range n.members {
			dst = appendText(dst, []byte(m.name))
			dst = append(dst, ':')
			dst = append(m.value.appendForm(dst), ',')
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for _, e := range n.elems {
			dst = append(e.appendForm(dst), ',')
		}
		return append(dst, ']')
	case '"':
		if bytes.IndexByte(n.raw, '\\') < 0 { // no quote is in it then, either
			return append(dst, n.raw...)
		}
		return appendText(dst, jsonscan.AppendString(nil, n.raw))
	case holeKind, 't', 'f', 'n':
		return append(dst, n.raw...)
	case '-':
		if len(n.raw) == 1 { // absent
			return append(dst, '_')
		}
	}
	return append(dst, jsonscan.Number(n.raw)...)
}

func appendText(dst, text []byte) []byte {
	dst = append(dst, '"')
	for {
		i := escaped(text)
		if i < 0 {
			break
		}
		dst = append(append(dst, text[:i]...), '\\', text[i])
		text = text[i+1:]
	}
	return append(append(dst, text...), '"')
}

// escaped is where the first byte stands that appendText escapes; -1: nowhere. It goes
// by the two bytes in pieces: a text is long and has, as a rule, few of one of them.
func escaped(text []byte) int {
	const piece = 512
	for at := 0; at < len(text); at += piece {
		p := text[at:min(len(text), at+piece)]
		i := bytes.IndexByte(p, '"')
		if i >= 0 {
			p = p[:i]
		}
		if j := bytes.IndexByte(p, '\\'); j >= 0 {
			i = j
		}
		if i >= 0 {
			return at + i
		}
	}
	return -1
}
