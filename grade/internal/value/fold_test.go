package value

import (
	"strings"
	"testing"
)

// FuzzLowerContains: searching in any case finds what stands in the lower case.
func FuzzLowerContains(f *testing.F) {
	for _, p := range [][2]string{{"Order 1042", "oRDER 1"}, {"xXyY", "xy"}, {"aAb", "ab"}, {"\u212aelvin", "k"}, {"İx", "i"}, {"İx", "ix"}, {"ΟΔΟΣ", "Σ"},
		{"", ""}, {"abc", ""}, {"a\xed\xa0\xbdB", "B"}, {"[\\]", "{"}, {"AAAB", "aab"}} {
		f.Add(p[0], p[1])
	}
	f.Fuzz(func(t *testing.T, s, needle string) {
		lower := Lower(needle)
		if got, want := LowerContains(s, lower), strings.Contains(Lower(s), lower); got != want {
			t.Fatalf("%q in %q: %v, want %v", lower, s, got, want)
		}
	})
}
