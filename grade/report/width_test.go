package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade"
)

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "名前": 4, "ｱ": 1, "Ａ": 2, "🎉": 2, "한글": 4, "✅": 2, "…": 1} {
		if got := columns(s); got != want {
			t.Errorf("%q: %d columns, want %d", s, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for name, c := range map[string]struct {
		text        string
		first, rest int
		whole       bool
		want        []string
	}{
		"empty":                      {"", 10, 10, false, []string{""}},
		"fits":                       {"a b", 3, 3, false, []string{"a b"}},
		"at blanks":                  {"aa bb cc", 5, 2, false, []string{"aa bb", "cc"}},
		"a long word":                {"a bbbbbbbb c", 4, 4, false, []string{"a", "bbbb", "bbbb", "c"}},
		"a long word stays whole":    {"a bbbbbbbb c", 4, 4, true, []string{"a", "bbbbbbbb", "c"}},
		"wide characters":            {"名前名前", 5, 5, false, []string{"名前", "名前"}},
		"no room at all":             {"abc", 0, 1, false, []string{"abc"}},
		"wide and a room of one":     {"名", 1, 1, false, []string{"名"}},
		"a first line without room":  {"abcd ef", 2, 4, false, []string{"ab", "cd", "ef"}},
		"wide in a room of three":    {"名名名", 3, 3, false, []string{"名", "名", "名"}},
		"blanks of a recorded text ": {" a \n b ", 9, 9, false, []string{"a b"}},
	} {
		if diff := cmp.Diff(c.want, fold(c.text, c.first, c.rest, c.whole)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// No line passes 80 columns, whatever the names, but for the names of files and of
// cases, which stay whole on a line of their own.
func TestTextKeepsToEightyColumns(t *testing.T) {
	for _, part := range []string{"word ", "w", "名", "\u202e", "🎉 x"} {
		long := strings.Repeat(part, 300)
		v := verdict(t, long)
		v.Skipped[0].Detail = long
		c := &v.Cases[0]
		c.Title = long
		v.Reasons = append(v.Reasons, v.Reasons[0], v.Reasons[0], v.Reasons[0])
		tr := &c.Trials[0]
		tr.Why = strings.Repeat("why ", 60)
		for i := range 5 {
			tr.Chain.Links[4].Evidence.Records = append(tr.Chain.Links[4].Evidence.Records, 1e15+int64(i))
		}
		for i := range tr.Rows {
			tr.Rows[i].Reason, tr.Rows[i].Expected, tr.Rows[i].Actual = long, long, long
		}
		for _, verbose := range []bool{false, true} {
			var out bytes.Buffer
			if err := Text(&out, Of(v), Options{Verbose: verbose}); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(out.String(), "\n") {
				if n := columns(line); n > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%q: %d columns: %s", part, n, line)
				}
			}
		}
	}
}

// How many trials passed is never what a long name leaves no room for.
func TestCaseLineKeepsTheShare(t *testing.T) {
	v := verdict(t, "boom")
	v.Cases[0].ID = strings.Repeat("x", 128)
	v.Cases[0].Title = strings.Repeat("名", 100)
	var out bytes.Buffer
	if err := Text(&out, Of(v), Options{}); err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(out.String(), "\n")[3]; !strings.HasPrefix(line, "+ + ? + X - failed       0 of 1    xxx") || columns(line) != width {
		t.Errorf("%d columns: %s", columns(line), line)
	}
}

// Cases that leave the same links open share a line; there are at most a few lines.
func TestCoverageLines(t *testing.T) {
	link := func(states ...grade.CoverageState) *grade.CaseCoverage {
		c := &grade.CaseCoverage{}
		empty := grade.CoverSuite(nil)
		for i := range c.Links {
			c.Links[i] = grade.LinkCoverage{Link: empty[i].Link, State: states[i]}
		}
		return c
	}
	const d, o, r, n = grade.CoverDecided, grade.CoverObserved, grade.CoverRunnerOnly, grade.CoverNone
	all := link(r, d, d, d, d, d)
	for name, c := range map[string]struct {
		cases []*grade.CaseCoverage
		want  string
	}{
		"all decided": {[]*grade.CaseCoverage{all}, ""},
		"one set": {[]*grade.CaseCoverage{link(r, o, n, r, r, n), link(r, o, n, r, r, n)},
			"not decided by any check: call, response (runner checks only); discovery\n    (advisory checks only); selection, userValue (nothing looks at them)\n\n"},
		"two sets, and one case without": {[]*grade.CaseCoverage{link(r, d, d, d, d, n), all, link(r, r, d, d, d, d), link(r, d, d, d, d, n)},
			"not decided by any check: userValue (nothing looks at it); in cases c0, c3\nnot decided by any check: discovery (runner checks only); in case c2\n\n"},
		"many sets": {[]*grade.CaseCoverage{link(r, r, d, d, d, d), link(r, o, d, d, d, d), link(r, d, n, d, d, d), link(r, d, o, d, d, d), link(r, d, d, r, d, d), link(r, d, d, o, d, d), all},
			"not decided by any check: discovery (runner checks only); in case c0\nnot decided by any check: discovery (advisory checks only); in case c1\n" +
				"not decided by any check: selection (nothing looks at it); in case c2\nnot decided by any check: selection (advisory checks only); in case c3\n" +
				"not decided by any check: more in 2 groups of cases (sixlink suite check)\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			v := &grade.Verdict{}
			for i, cover := range c.cases {
				v.Cases = append(v.Cases, grade.Case{ID: fmt.Sprintf("c%d", i), Coverage: cover})
			}
			var out bytes.Buffer
			p := &printer{w: &out}
			p.coverage(Of(v))
			if diff := cmp.Diff(c.want, out.String()); diff != "" || p.err != nil {
				t.Error(p.err, diff)
			}
		})
	}
}

func TestSuiteCheckReports(t *testing.T) {
	text := "schemaVersion: sixlink/1\nsuite: {id: s}\ncases:\n"
	for i := range 60 {
		text += fmt.Sprintf("  - {id: c%d%s, disabled: %v, assertions: [{type: toolCalledAtLeastOnce, toolName: %q}]}\n", i, strings.Repeat("x", 100), i == 7, "t\x1b[31m\u202e")
	}
	s, err := grade.LoadSuite("dir/\x1b[31m.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := grade.CheckSuite(s, nil)
	var plain, asJSON bytes.Buffer
	if err := SuiteCheckText(&plain, c, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := SuiteCheckJSON(&asJSON, c); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(plain.String()+asJSON.String(), "\x1b\u202e") {
		t.Errorf("hostile text gets through:\n%s", plain.String())
	}
	for _, line := range strings.Split(plain.String(), "\n") {
		if n := columns(line); n > width && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"suite s (", "60 cases, 1 disabled", "and 9 more\n", "caseDisabled\n", "  -> "} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("no %q in\n%s", want, plain.String())
		}
	}
	if n := strings.Count(asJSON.String(), `"canFail": "can_fail"`); n != 59 {
		t.Errorf("%d cases in the JSON", n)
	}
}
