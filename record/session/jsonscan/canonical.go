package jsonscan

import (
	"bytes"
	"slices"
)

// canonicalDepth bounds the recursion of Canonical.
const canonicalDepth = 500

// Canonical returns a form of the value in which white space, member order and
// the spelling of strings and numbers no longer count: equal values have equal
// forms. Of members with one name the last holds. ok is false when b is no JSON
// or nests too deep. The form is for comparing, not for reading.
func Canonical(b []byte) (form []byte, ok bool) {
	s, err := Skip(b, 0)
	if err != nil || s.Depth > canonicalDepth || Space(b, s.End) != len(b) {
		return nil, false
	}
	return appendCanonical(nil, b[s.Start:s.End]), true
}

func appendCanonical(dst, b []byte) []byte {
	switch b[0] {
	case '{':
		type member struct{ name, value []byte }
		var ms []member
		_, _ = Members(b, 0, func(name []byte, at int) (Span, error) {
			v, err := Skip(b, at)
			if err == nil {
				ms = append(ms, member{bytes.Clone(name), b[v.Start:v.End]})
			}
			return v, err
		})
		slices.SortStableFunc(ms, func(a, b member) int { return bytes.Compare(a.name, b.name) })
		dst = append(dst, '{')
		for i, m := range ms {
			if i+1 < len(ms) && bytes.Equal(m.name, ms[i+1].name) {
				continue
			}
			dst = appendText(dst, m.name)
			dst = append(dst, ':')
			dst = append(appendCanonical(dst, m.value), ',')
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		_, _ = Elements(b, 0, func(_, at int) (Span, error) {
			v, err := Skip(b, at)
			if err == nil {
				dst = append(appendCanonical(dst, b[v.Start:v.End]), ',')
			}
			return v, err
		})
		return append(dst, ']')
	case '"':
		return appendText(dst, AppendString(nil, b))
	case 't', 'f', 'n':
		return append(dst, b...)
	default:
		return append(dst, Number(b)...)
	}
}

// appendText writes a text between quotes, so that no text can look like anything else.
func appendText(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
