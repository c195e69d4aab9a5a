package predicate

import (
	"regexp"
	"testing"
	"unicode/utf8"
)

// FuzzExpr: what is told without the expression is what it says.
func FuzzExpr(f *testing.F) {
	texts := []string{"", "a", "no digit", "order 1042 x", "SUM OF 12", "\u017fum of 3", "\u212aelvin", "ünï 9", "\n", "aab", "\ufffd", "x\u0130y", "sum of"}
	for _, p := range []string{`\d+`, `\w+`, `sum of \d+`, `(?i)sum of \d+`, `(?i)k`, `(?i)[k-s]+x`, `\b1042\b`, `^a`, `(?m)^x`, `a*`, `a+b|c`, `(ab)+`, `(?i)(sum)? of`,
		`[^a]`, `.`, `(?s).`, `ü`, `(?i)ü`, `\x{fffd}`, `a{2,3}b`, `(a|)b`, `(?:)`, `$`, `[a-c]\b`, `(?i)straße`, `x?y`, `[\x{80}-\x{10ffff}]`} {
		for _, t := range texts {
			f.Add(p, t)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || !utf8.ValidString(text) || len(pattern) > 200 {
			return
		}
		if got, want := newExpr(re, pattern).match(text), re.MatchString(text); got != want {
			t.Errorf("%q in %q: %v, want %v", pattern, text, got, want)
		}
	})
}
