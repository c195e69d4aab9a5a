package report

import (
	"strings"
	"unicode"
)

// width is that of a terminal, in columns: no line passes it but for a path or a
// name that is longer by itself, which stays whole so that it can be copied.
const width = 80

// wide are the characters that a terminal draws two columns wide: East Asian Wide
// and Fullwidth, and what is drawn as an emoji by itself.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1}, {Lo: 0x23e9, Hi: 0x23ec, Stride: 1},
		{Lo: 0x23f0, Hi: 0x23f3, Stride: 3}, {Lo: 0x25fd, Hi: 0x25fe, Stride: 1}, {Lo: 0x2614, Hi: 0x2615, Stride: 1},
		{Lo: 0x2648, Hi: 0x2653, Stride: 1}, {Lo: 0x267f, Hi: 0x2693, Stride: 0x14}, {Lo: 0x26a1, Hi: 0x26a1, Stride: 1},
		{Lo: 0x26aa, Hi: 0x26ab, Stride: 1}, {Lo: 0x26bd, Hi: 0x26be, Stride: 1}, {Lo: 0x26c4, Hi: 0x26c5, Stride: 1},
		{Lo: 0x26ce, Hi: 0x26d4, Stride: 6}, {Lo: 0x26ea, Hi: 0x26ea, Stride: 1}, {Lo: 0x26f2, Hi: 0x26f3, Stride: 1},
		{Lo: 0x26f5, Hi: 0x26fa, Stride: 5}, {Lo: 0x26fd, Hi: 0x2705, Stride: 8}, {Lo: 0x270a, Hi: 0x270b, Stride: 1},
		{Lo: 0x2728, Hi: 0x2728, Stride: 1}, {Lo: 0x274c, Hi: 0x274e, Stride: 2}, {Lo: 0x2753, Hi: 0x2755, Stride: 1},
		{Lo: 0x2757, Hi: 0x2757, Stride: 1}, {Lo: 0x2795, Hi: 0x2797, Stride: 1}, {Lo: 0x27b0, Hi: 0x27bf, Stride: 15},
		{Lo: 0x2b1b, Hi: 0x2b1c, Stride: 1}, {Lo: 0x2b50, Hi: 0x2b55, Stride: 5}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1},
		{Lo: 0x3041, Hi: 0xa4cf, Stride: 1}, {Lo: 0xa960, Hi: 0xa97c, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff00, Hi: 0xff60, Stride: 1},
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe0, Hi: 0x18cff, Stride: 1}, {Lo: 0x1b000, Hi: 0x1b2ff, Stride: 1}, {Lo: 0x1f004, Hi: 0x1f0cf, Stride: 0xcb},
		{Lo: 0x1f18e, Hi: 0x1f18e, Stride: 1}, {Lo: 0x1f191, Hi: 0x1f19a, Stride: 1}, {Lo: 0x1f200, Hi: 0x1f320, Stride: 1},
		{Lo: 0x1f32d, Hi: 0x1f64f, Stride: 1}, {Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, {Lo: 0x1f7e0, Hi: 0x1f7eb, Stride: 1},
		{Lo: 0x1f90c, Hi: 0x1f9ff, Stride: 1}, {Lo: 0x1fa70, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

// runeColumns is how many columns a terminal draws r in.
func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// columns is how many columns a terminal draws s in. It holds no escapes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// short cuts a text to n columns.
func short(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	head, _ := cutAt(s, n-1)
	return head + "…"
}

// cutAt splits s so that its head has at most n columns.
func cutAt(s string, n int) (head, tail string) {
	used := 0
	for i, r := range s {
		if used += runeColumns(r); used > n {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// pad fills s up to n columns.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columns(s))) }

// fold breaks a text into lines: the first has room for first columns, the others
// for rest. It breaks at blanks, and within a word that has no room on any line
// unless whole asks to leave words alone.
func fold(text string, first, rest int, whole bool) []string {
	var lines []string
	line, used, room := "", 0, first
	flush := func() {
		lines = append(lines, line)
		line, used, room = "", 0, rest
	}
	for _, w := range strings.Fields(text) {
		n := columns(w)
		if used > 0 && used+1+n > room {
			flush()
		}
		for !whole && used == 0 && n > room && room > 1 {
			line, w = cutAt(w, room)
			n = columns(w)
			flush()
		}
		if used > 0 {
			line += " "
			used++
		}
		line += w
		used += n
	}
	return append(lines, line)
}
