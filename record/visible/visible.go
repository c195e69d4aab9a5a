// Package visible makes text from a recording safe to print: what a terminal
// would obey, hide or reorder is shown as an escape instead (DESIGN.md
// "Commands", recorder.md 4.4).
//
// It knows characters only. It must not know records, messages or reports.
package visible

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// String returns s on one line with everything made visible that is no plain
// text: C0 and C1 controls, DEL, line and paragraph separators, zero-width and
// bidi characters, fillers, tags, invalid UTF-8 and lone surrogates. Line feed,
// carriage return and tab read \n, \r and \t. The result is valid UTF-8.
func String(s string) string { return show(s, false) }

// Text is [String] for text of several lines: line feeds and tabs stay.
func Text(s string) string { return show(s, true) }

// UTF8 returns s as valid UTF-8: a lone surrogate (kept as WTF-8) reads \ud83d,
// another invalid byte \xff. Nothing else is changed.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			i += invalid(&b, s[i:])
			continue
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String()
}

func show(s string, lines bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			n = invalid(&b, s[i:])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case Hidden(r):
			escape(&b, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// plain is the fast path: printable ASCII needs no change.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// invalid writes what stands at the beginning of s, which is no valid UTF-8,
// and returns how many bytes that was: 3 for a surrogate in WTF-8, else 1.
func invalid(b *strings.Builder, s string) int {
	if len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && s[2] >= 0x80 && s[2] <= 0xbf {
		escape(b, rune(0xd000)|rune(s[1]&0x3f)<<6|rune(s[2]&0x3f))
		return 3
	}
	b.WriteString(`\x`)
	b.WriteString(pad(uint64(s[0]), 2))
	return 1
}

func escape(b *strings.Builder, r rune) {
	if r > 0xffff {
		b.WriteString(`\u{`)
		b.WriteString(strconv.FormatUint(uint64(r), 16))
		b.WriteByte('}')
		return
	}
	b.WriteString(`\u`)
	b.WriteString(pad(uint64(r), 4))
}

func pad(v uint64, width int) string {
	h := strconv.FormatUint(v, 16)
	return strings.Repeat("0", max(0, width-len(h))) + h
}

// hidden lists the ranges that a reader would not see, or that change how the
// text around them is shown.
var hidden = [...][2]rune{
	{0x0000, 0x001f}, // C0
	{0x007f, 0x009f}, // DEL and C1
	{0x00ad, 0x00ad}, // soft hyphen
	{0x034f, 0x034f}, // combining grapheme joiner
	{0x061c, 0x061c}, // Arabic letter mark
	{0x115f, 0x1160}, // Hangul fillers
	{0x17b4, 0x17b5}, // Khmer inherent vowels
	{0x180e, 0x180e}, // Mongolian vowel separator
	{0x200b, 0x200f}, // zero-width space and joiners, LRM, RLM
	{0x2028, 0x202e}, // line and paragraph separator, bidi embeddings and overrides
	{0x2060, 0x206f}, // word joiner, invisible operators, bidi isolates, deprecated controls
	{0x3164, 0x3164}, // Hangul filler
	{0xfeff, 0xfeff}, // byte order mark
	{0xffa0, 0xffa0}, // half-width Hangul filler
	{0xfff9, 0xfffb}, // interlinear annotation
	{0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff}, // tags and the supplementary variation selectors
}

// Hidden tells whether r is shown as an escape.
func Hidden(r rune) bool {
	for _, h := range hidden {
		if r < h[0] {
			return false
		}
		if r <= h[1] {
			return true
		}
	}
	return false
}
