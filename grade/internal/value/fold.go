package value

import (
	"strings"
	"unicode/utf8"
)

// LowerContains tells whether Lower(s) contains lower, which must be in lower case
// itself. Lower(s) is not built where lower is ASCII, as nearly all are: then only
// two characters beyond ASCII count, the Kelvin sign and the dotted capital I,
// whose lower case is, or begins with, an ASCII letter.
func LowerContains(s, lower string) bool {
	for i := range len(lower) {
		if lower[i] >= utf8.RuneSelf {
			return strings.Contains(Lower(s), lower)
		}
	}
	if strings.Contains(s, "\u212a") || strings.Contains(s, "\u0130") {
		return strings.Contains(Lower(s), lower)
	}
	if lower == "" {
		return true
	}
	first := lower[0]
	other := first
	if 'a' <= first && first <= 'z' {
		other -= 'a' - 'A'
	}
	// at and at2 are the next places of the first letter in either case.
	at, at2 := strings.IndexByte(s, first), -1
	if other != first {
		at2 = strings.IndexByte(s, other)
	}
	for {
		i := at
		if i < 0 || at2 >= 0 && at2 < i {
			i = at2
		}
		if i < 0 || len(s)-i < len(lower) {
			return false
		}
		if hasPrefixFold(s[i:], lower) {
			return true
		}
		if i == at {
			at = indexFrom(s, first, i+1)
		} else {
			at2 = indexFrom(s, other, i+1)
		}
	}
}

func indexFrom(s string, c byte, from int) int {
	if i := strings.IndexByte(s[from:], c); i >= 0 {
		return from + i
	}
	return -1
}

// hasPrefixFold tells whether s, which is no shorter, begins with the ASCII text
// lower in any case.
func hasPrefixFold(s, lower string) bool {
	for i := range len(lower) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
