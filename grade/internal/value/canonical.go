package value

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Numbers says how canonical text spells a number.
type Numbers uint8

// Exact keeps every digit: for comparing and for what a pattern sees
// (grading.md 0.2.4). JavaScript prints the nearest double: for hashes alone.
const (
	Exact Numbers = iota
	JavaScript
)

// Canonical appends the canonical JSON of v (grading.md 5.4): keys sorted by
// UTF-16 code unit at every depth, no white space, only the escapes that
// JSON.stringify makes. It fails on a number that is infinite as a double.
func Canonical(dst []byte, v *Value, n Numbers) ([]byte, error) {
	var err error
	switch v.Kind {
	case Null:
		return append(dst, "null"...), nil
	case Bool:
		if v.Bool {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	case Number:
		if n == Exact {
			return append(dst, ExactNumber(v.Str)...), nil
		}
		text, ok := JSNumber(v.Str)
		if !ok {
			return dst, fmt.Errorf("the number %.40s does not fit a double", v.Str)
		}
		return append(dst, text...), nil
	case String:
		return Quote(dst, v.Str), nil
	case Array:
		dst = append(dst, '[')
		for i := range v.Arr {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = Canonical(dst, &v.Arr[i], n); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
	order := make([]int, len(v.Obj))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return CompareUTF16(v.Obj[a].Key, v.Obj[b].Key) })
	dst = append(dst, '{')
	for i, k := range order {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(Quote(dst, v.Obj[k].Key), ':')
		if dst, err = Canonical(dst, &v.Obj[k].Value, n); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// Hash is the lower-case hex SHA-256 of v's canonical JSON with JavaScript's
// number text.
func Hash(v *Value) (string, error) {
	text, err := Canonical(nil, v, JavaScript)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

const hexDigits = "0123456789abcdef"

// Quote appends s as JSON.stringify writes it: quote, backslash and C0 escaped,
// lone surrogates as \udXXX, all else raw.
func Quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\b':
			dst = append(dst, '\\', 'b')
		case c == '\f':
			dst = append(dst, '\\', 'f')
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := decodeWTF8(s[i:])
			if r >= 0xd800 && r < 0xe000 {
				dst = append(dst, '\\', 'u', 'd', hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// decodeWTF8 is utf8.DecodeRuneInString that knows surrogates.
func decodeWTF8(s string) (rune, int) {
	if len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && s[2]&0xc0 == 0x80 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRuneInString(s)
}

// CompareUTF16 orders strings by UTF-16 code units, as JavaScript does. It
// differs from the order of bytes only where a character above U+FFFF meets one
// of U+E000 to U+FFFF.
func CompareUTF16(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		ra, na := decodeWTF8(a)
		rb, nb := decodeWTF8(b)
		if ra != rb {
			return int(firstUnit(ra, rb)) - int(firstUnit(rb, ra))
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

// firstUnit returns r's first UTF-16 unit, or its second when other shares the first.
func firstUnit(r, other rune) rune {
	high := func(r rune) rune {
		if r > 0xffff {
			return 0xd800 + (r-0x10000)>>10
		}
		return r
	}
	if high(r) == high(other) && r > 0xffff && other > 0xffff {
		return 0xdc00 + (r-0x10000)&0x3ff
	}
	return high(r)
}

// UTF16Len is the length of a string in UTF-16 units; a lone surrogate is one.
func UTF16Len(s string) int {
	n := 0
	for len(s) > 0 {
		r, size := decodeWTF8(s)
		if n++; r > 0xffff {
			n++
		}
		s = s[size:]
	}
	return n
}
