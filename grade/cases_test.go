package grade_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
)

// caseSuite is the suite shape of fixtures/cases: each case is graded as a suite
// of its own (cases/README.md).
type caseSuite struct {
	Cases []struct {
		ID                string            `json:"id"`
		Checks            []json.RawMessage `json:"checks"`
		ExpectedToolCalls json.RawMessage   `json:"expectedToolCalls"`
	} `json:"cases"`
}

type caseAsserts struct {
	Grade map[string]struct {
		Verdict    string            `json:"verdict"`
		VerdictNot string            `json:"verdict_not"`
		VerdictIn  []string          `json:"verdict_in"`
		Links      map[string]string `json:"links"`
		Checks     []string          `json:"checks"`
	} `json:"grade"`
}

// words are the cases' verdicts in sixlink's words.
var words = map[string]grade.Word{"pass": grade.Passed, "fail": grade.Failed, "error": grade.Inconclusive}

func expectations(t *testing.T, name string) map[string]caseAsserts {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, "expect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, b, _ = bytes.Cut(b, []byte("```json\n"))
	b, _, _ = bytes.Cut(b, []byte("```"))
	var whole caseAsserts
	if err := json.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	if whole.Grade != nil {
		return map[string]caseAsserts{"": whole}
	}
	runs := map[string]caseAsserts{}
	if err := json.Unmarshal(b, &runs); err != nil {
		t.Fatal(err)
	}
	return runs
}

func decodeCase(t *testing.T, r *fixtures.Recording) grade.Recording {
	t.Helper()
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	return grade.Recording{ID: r.Name, Path: r.Name, Torn: res.Torn, Sessions: res.Sessions}
}

// laterIssue lists checks of the cases whose kinds a later issue brings.
func laterIssue(checks []json.RawMessage) string {
	for _, c := range checks {
		var k struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(c, &k)
		if _, built, known := predicate.Lookup(k.Type); known && built == nil {
			return k.Type
		}
	}
	return ""
}

func TestCases(t *testing.T) {
	graded := 0
	for _, c := range []struct {
		name   string
		frames bool
	}{
		{name: "11-id-mangled"}, {name: "13-lone-surrogates"}, {name: "16-deep-nesting", frames: true},
		{name: "18-call-without-id"}, {name: "21-late-and-orphan-replies"}, {name: "79-pagination"}, {name: "81-error-shapes"},
	} {
		b, err := fixtures.ReadFile("cases", c.name, "suite.json")
		if err != nil {
			t.Fatal(err)
		}
		var suites caseSuite
		if err := json.Unmarshal(b, &suites); err != nil {
			t.Fatal(err)
		}
		for run, want := range expectations(t, c.name) {
			var r *fixtures.Recording
			if c.frames {
				r, err = fixtures.CaseFrames(c.name)
			} else {
				file := "input.jsonl"
				if run != "" {
					file = "input." + run + ".jsonl"
				}
				r, err = fixtures.Case(c.name, file)
			}
			if err != nil {
				t.Fatal(err)
			}
			rec := decodeCase(t, r)
			for _, s := range suites.Cases {
				w, ok := want.Grade[s.ID]
				if !ok {
					continue
				}
				t.Run(strings.TrimSuffix(c.name+"/"+run, "/")+"/"+s.ID, func(t *testing.T) {
					if kind := laterIssue(s.Checks); kind != "" {
						t.Skipf("%s is not built in this issue", kind)
					}
					graded++
					doc, err := json.Marshal(map[string]any{
						"schemaVersion": "sixlink/1", "suite": map[string]any{"id": s.ID},
						"defaults": map[string]any{"assertions": s.Checks},
					})
					if err != nil {
						t.Fatal(err)
					}
					suite, err := grade.LoadSuite("suite.json", doc)
					if err != nil {
						t.Fatal(err)
					}
					v, err := grade.Grade(suite, []grade.Recording{rec}, grade.Options{})
					if err != nil {
						t.Fatal(err)
					}
					checkCase(t, v, w.Verdict, w.VerdictNot, w.VerdictIn, w.Links)
				})
			}
		}
	}
	if graded < 20 {
		t.Errorf("only %d asserts were graded", graded)
	}
}

func checkCase(t *testing.T, v *grade.Verdict, verdict, not string, in []string, links map[string]string) {
	t.Helper()
	var text bytes.Buffer
	if err := report.Text(&text, v, report.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Log(text.String())
		}
	}()
	if verdict != "" && v.Word != words[verdict] {
		t.Errorf("verdict %s, want %s", v.Word, words[verdict])
	}
	if not != "" && v.Word == words[not] {
		t.Errorf("verdict %s", v.Word)
	}
	if len(in) > 0 && !slices.ContainsFunc(in, func(w string) bool { return words[w] == v.Word }) {
		t.Errorf("verdict %s, want one of %v", v.Word, in)
	}
	for _, c := range v.Cases {
		for _, trial := range c.Trials {
			for _, l := range trial.Chain.Links {
				if want, ok := links[string(l.Link)]; ok && want != string(l.State) {
					t.Errorf("%s: %s (%s: %s), want %s", l.Link, l.State, l.Reason, l.Evidence.Text, want)
				}
			}
		}
	}
	var out bytes.Buffer
	if err := report.JSON(&out, v); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(out.Bytes()) || !json.Valid(out.Bytes()) || !utf8.Valid(text.Bytes()) {
		t.Errorf("the report is no valid UTF-8 or JSON:\n%s", out.String())
	}
}
