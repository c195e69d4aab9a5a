package triage

import (
	"slices"
	"strings"
	"testing"
)

// What texts of errors and descriptions demand, and what only looks like it.
func TestDemands(t *testing.T) {
	for text, want := range map[string]string{
		"state must be one of: open, closed, lost":                     "open closed lost",
		"state must be one of open, closed or lost.":                   "open closed lost",
		"Invalid enum value. Expected 'open' | 'closed', received 'x'": "open closed",
		"Input should be 'open', 'closed' or 'lost'":                   "open closed lost",
		`expected one of ["open","closed"]`:                            "open closed",
		"allowed values: open|closed":                                  "open closed",
		"valid states are: open, closed":                               "open closed",
		"Which state (one of open, closed)":                            "open closed",
		"The first day, as YYYY-MM-DD":                                 "form YYYY-MM-DD",
		"must be an ISO 8601 date":                                     "form ISO 8601",
		"is not a valid UUID":                                          "form UUID",
		"Invalid input: expected string, received number":              "",
		"expected 'string', got 'number'":                              "",
		"path outside allowed directories: /etc/hostname not in /srv":  "",
		"id must be set, or the call fails":                            "",
		"must be set when 'a' is 'b'":                                  "",
		"A valid order of the shop":                                    "",
		"must be a string or null":                                     "",
		"not found":                                                    "",
	} {
		values, form := demands(text)
		got := strings.Join(values, " ")
		if form != "" {
			got = "form " + form
		}
		if got != want {
			t.Errorf("%q demands %q, want %q", text, got, want)
		}
	}
}

// Any text is read in bounded time, and never with a panic.
func FuzzDemands(f *testing.F) {
	f.Add("state must be one of: open, closed", "get_parcel", "getParcelInfo")
	f.Add("[\"a\",'b", "\xff", "")
	f.Fuzz(func(t *testing.T, text, a, b string) {
		if values, form := demands(text); len(values) == 1 || len(values) > 0 && form != "" {
			t.Errorf("values %q and form %q", values, form)
		}
		if alikeNames(a, b) != alikeNames(b, a) {
			t.Errorf("%q and %q are alike one way round", a, b)
		}
		if n := nearest(a, []string{b, a}); n != "" && !slices.Contains([]string{a, b}, n) || n == a && a != b && n != "" {
			t.Errorf("nearest to %q is %q", a, n)
		}
	})
}
