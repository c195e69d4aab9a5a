package value

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Plain appends the JSON of v as JSON.stringify writes it: keys in the order of
// the text, those that are array indices first and by number, no white space
// (grading.md 9.6). Numbers keep every digit, as in [Canonical] with Exact.
func Plain(dst []byte, v *Value) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool)
	case Number:
		return append(dst, ExactNumber(v.Str)...)
	case String:
		return Quote(dst, v.Str)
	case Array:
		dst = append(dst, '[')
		for i := range v.Arr {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Plain(dst, &v.Arr[i])
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range enumerated(v.Obj) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(Quote(dst, m.Key), ':')
			dst = Plain(dst, &m.Value)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// enumerated is an object's members in the order in which JavaScript enumerates
// them.
func enumerated(obj []Member) []Member {
	some := false
	for i := range obj {
		_, is := arrayIndex(obj[i].Key)
		some = some || is
	}
	if !some {
		return obj
	}
	out := slices.Clone(obj)
	slices.SortStableFunc(out, func(a, b Member) int {
		// One past every index stands for the keys that are none.
		x, y := uint64(1<<32), uint64(1<<32)
		if n, ok := arrayIndex(a.Key); ok {
			x = n
		}
		if n, ok := arrayIndex(b.Key); ok {
			y = n
		}
		return cmp.Compare(x, y)
	})
	return out
}

// arrayIndex tells whether a key is an array index to JavaScript: the decimal text
// of a whole number below 2^32-1.
func arrayIndex(key string) (uint64, bool) {
	if key == "" || key[0] < '0' || key[0] > '9' || key[0] == '0' && len(key) > 1 || len(key) > 10 {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 64)
	return n, err == nil && n < 1<<32-1
}

// PlainLen is the length in bytes of [Plain]'s text for a value that is given as
// JSON text, without reading it into memory: white space does not count, and it
// does not matter how the sender escaped. text must be valid JSON. Members that
// stand twice count twice.
func PlainLen(text []byte) int64 {
	n := int64(0)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"':
			length, next := plainString(text, i+1)
			n += length + 2
			i = next
		case c == '-' || '0' <= c && c <= '9':
			start := i
			for i < len(text) && numberByte(text[i]) {
				i++
			}
			n += exactLen(text[start:i])
		default: // brackets, separators, the letters of true, false and null
			n++
			i++
		}
	}
	return n
}

// exactLen is the length of [ExactNumber]'s text.
func exactLen(number []byte) int64 {
	if d := number; len(d) > 0 && len(d) <= 20 && d[len(d)-1] != '0' {
		// An integer that is no longer than 20 digits and ends in none of its zeros.
		if d[0] == '-' {
			d = d[1:]
		}
		plain := len(d) > 0 && d[0] != '0'
		for _, c := range d {
			plain = plain && '0' <= c && c <= '9'
		}
		if plain {
			return int64(len(number))
		}
	}
	return int64(len(ExactNumber(string(number))))
}

// quoteOrEscape tells whether one of eight bytes is a quote or a backslash.
func quoteOrEscape(w uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	q, s := w^ones*'"', w^ones*'\\'
	return ((q-ones)&^q|(s-ones)&^s)&highs != 0
}

func numberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// plainString measures the string whose text begins at i, and finds its end.
func plainString(text []byte, i int) (n int64, next int) {
	for i < len(text) {
		for i+8 <= len(text) {
			if quoteOrEscape(binary.LittleEndian.Uint64(text[i:])) {
				break
			}
			n += 8
			i += 8
		}
		if i == len(text) {
			break
		}
		c := text[i]
		switch {
		case c == '"':
			return n, i + 1
		case c != '\\':
			n++
			i++
		case i+1 < len(text) && text[i+1] != 'u':
			if n++; text[i+1] != '/' {
				n++
			}
			i += 2
		default:
			p := parser{data: text}
			u, ok := p.unit(i)
			if !ok {
				return n, len(text) // not valid JSON
			}
			i += 6
			if low, ok := p.unit(i); ok && u >= 0xd800 && u < 0xdc00 && low >= 0xdc00 && low < 0xe000 {
				n += 4
				i += 6
				continue
			}
			n += plainRune(u)
		}
	}
	return n, i
}

// plainRune is how many bytes [Quote] writes for a character of one UTF-16 unit.
func plainRune(r rune) int64 {
	switch {
	case r == '"' || r == '\\' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20 || r >= 0xd800 && r < 0xe000:
		return 6
	}
	return int64(utf8.RuneLen(r))
}

// CodePoints splits a text as JavaScript iterates it: a lone surrogate (WTF-8) is
// one code point.
func CodePoints(s string) []rune {
	out := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, n := decodeWTF8(s)
		out = append(out, r)
		s = s[n:]
	}
	return out
}
