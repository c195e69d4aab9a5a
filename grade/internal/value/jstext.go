package value

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace tells whether r is white space to JavaScript: what trim removes and \s
// matches (grading.md 9.2). Unlike unicode.IsSpace it has U+FEFF and lacks U+0085.
func IsSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// SpaceClass is IsSpace as the inside of a character class of a regular expression:
// RE2's own \s is ASCII alone.
const SpaceClass = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// Trim is JavaScript's trim.
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }

// Lower is JavaScript's toLowerCase: the full mapping of Unicode without a locale
// (grading.md 9.3). It differs from strings.ToLower in two places: U+0130 becomes
// two characters, and a sigma that ends a word becomes the final one. Lone
// surrogates (WTF-8) stay as they are.
func Lower(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			b.WriteByte(c)
			i++
			continue
		}
		r, n := decodeWTF8(s[i:])
		switch {
		case r == utf8.RuneError && n == 1 || r >= 0xd800 && r < 0xe000:
			b.WriteString(s[i : i+n])
		case r == 0x130:
			b.WriteString("i\u0307")
		case r == 'Σ' && casedBefore(s[:i]) && !casedAfter(s[i+n:]):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		i += n
	}
	return b.String()
}

// casedBefore tells whether s ends in a cased letter and characters that casing
// ignores; casedAfter the same of its beginning. A character that is both is
// ignored, as the engines do it.
func casedBefore(s string) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeLastRuneInString(s)
		if !caseIgnorable(r) {
			return cased(r)
		}
		s = s[:len(s)-n]
	}
	return false
}

func casedAfter(s string) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if !caseIgnorable(r) {
			return cased(r)
		}
		s = s[n:]
	}
	return false
}

// cased is Unicode's property Cased.
func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable is Unicode's property Case_Ignorable: marks, formats, modifiers,
// and the punctuation that stands inside words (Word_Break MidLetter, MidNumLet
// and Single_Quote).
func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', 0xb7, 0x387, 0x55f, 0x5f4, 0x2018, 0x2019, 0x2024, 0x2027,
		0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a:
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// ValidText is s with every lone surrogate replaced by U+FFFD, one character each:
// for engines that know valid UTF-8 alone.
func ValidText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, n := decodeWTF8(s)
		if r >= 0xd800 && r < 0xe000 {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}
