package grade_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/record/session"
)

func suitesDoc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", "suites.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// docTable returns the cells of the table whose first row begins with head.
func docTable(t *testing.T, doc, head string) (rows [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(doc, "| "+head)
	if !ok {
		t.Fatalf("no table %q", head)
	}
	for i, line := range strings.Split(rest, "\n") {
		if i > 1 && !strings.HasPrefix(line, "|") {
			break
		}
		if i < 2 {
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.Trim(strings.TrimSpace(c), "`"))
		}
		rows = append(rows, cells)
	}
	return rows
}

// Every suite in docs/suites.md loads, each of its kinds.
func TestSuitesOfTheDocLoad(t *testing.T) {
	doc := suitesDoc(t)
	base := []byte("schemaVersion: sixlink/1\ndefaults: {assertions: [{type: noToolErrors}]}\n")
	blocks := regexp.MustCompile("(?s)```(?:yaml|json)\n(.*?)```").FindAllStringSubmatch(doc, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d suites", len(blocks))
	}
	var suites []*grade.Suite
	for i, b := range blocks {
		s, err := grade.LoadSuite(fmt.Sprintf("doc/%d.yaml", i), []byte(b[1]), func(string) ([]byte, error) { return base, nil })
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Warnings) > 0 {
			t.Errorf("%v", s.Warnings)
		}
		suites = append(suites, s)
	}
	if got := checkWords(suites[1].Assertions); got != "noToolErrors, toolLatencyUnder" {
		t.Errorf("extends gives %s", got)
	}
	if c := suites[2].Cases[0]; len(c.Turns) != 1 || len(c.Turns[0].Expected) != 1 || c.Turns[0].Expected[0].Tool != "refund_order" {
		t.Errorf("%+v", c)
	}
	// People copy the first file: suite check has one thing to say of it, that the
	// negative case does not look at what the user was told.
	findings := grade.CheckSuite(suites[0], nil).Findings
	if len(findings) != 1 || findings[0].Code != grade.FindNotDecided || fmt.Sprint(findings[0].Links, findings[0].Cases) != "[userValue] [asks-about-refunds]" {
		t.Errorf("%+v", findings)
	}
}

// The page explains every key that a suite, a case or a turn can have, and every
// code of suite check.
func TestSuitesDocIsWhole(t *testing.T) {
	doc := suitesDoc(t)
	var schema map[string]any
	if err := json.Unmarshal(grade.SuiteSchemaDoc(), &schema); err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if p, ok := v["properties"].(map[string]any); ok {
				for key := range p {
					n++
					if !strings.Contains(doc, "`"+key+"`") {
						t.Errorf("the key %s is not explained", key)
					}
				}
			}
			for key, e := range v {
				if !strings.HasPrefix(key, "check") { // whose page is checks.md
					walk(e)
				}
			}
		}
	}
	walk(schema)
	if n < 30 {
		t.Errorf("%d keys seen", n)
	}
	codes := map[string]bool{}
	for _, row := range docTable(t, doc, "code |") {
		codes[row[0]] = true
	}
	all := []grade.FindingCode{grade.FindNotDecided, grade.FindObserved, grade.FindEmptyPasses, grade.FindNoSelection, grade.FindContradicted,
		grade.FindUnknownTool, grade.FindNoCatalog, grade.FindLiteral, grade.FindDisabled, grade.FindUnmeasurable, grade.FindWarning}
	for _, c := range all {
		if !codes[string(c)] {
			t.Errorf("the code %s is not explained", c)
		}
	}
	if len(codes) != len(all) {
		t.Errorf("codes %v", codes)
	}
	// A claim of sameness stands only beside the whole list of grading.md 0.2.
	if !strings.Contains(doc, "\n20. ") {
		t.Error("the list of differences has no 20 clauses")
	}
}

func TestArgumentsOfTheDoc(t *testing.T) {
	rows := docTable(t, suitesDoc(t), "expected | called with")
	if len(rows) != 14 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		var args [2]*value.Value
		for i := range args {
			v, err := value.Parse([]byte(row[i]), value.Options{MaxDepth: 10})
			if err != nil {
				t.Fatalf("%s: %v", row[i], err)
			}
			args[i] = &v
		}
		for i, mode := range []match.ArgumentMode{match.Partial, match.Exact, match.IgnoreArgs} {
			if got := match.ArgumentsMatch(args[0], args[1], mode); got != (row[2+i] == "yes") {
				t.Errorf("%s called with %s, %s: %v, the page says %s", row[0], row[1], mode, got, row[2+i])
			}
		}
	}
}

func TestOrdersOfTheDoc(t *testing.T) {
	rows := docTable(t, suitesDoc(t), "expected | called | ignore")
	if len(rows) != 6 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		expected, called := strings.Split(row[0], ", "), strings.Split(row[1], ", ")
		for i, options := range []string{"toolCallOrder: ignore", "toolCallOrder: strict", "toolCallOrder: superset", "maxExtraToolCalls: 0"} {
			s := mustLoad(t, fmt.Sprintf("cases: [{id: c, matchOptions: {%s}, turns: [{expectedToolCalls: [{toolName: %s}]}]}]\n",
				options, strings.Join(expected, "}, {toolName: ")))
			states := make([]session.CallState, len(called))
			for i := range states {
				states[i] = session.CallResult
			}
			made := made(states...)
			for i, name := range called {
				made.Calls[i].Tool = name
			}
			v, err := grade.Grade(s, []grade.Recording{rec("r", made)}, grade.Options{Case: "c"})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(v.Word); got != row[2+i] {
				t.Errorf("expected %s, called %s, %s: %s, the page says %s", row[0], row[1], options, got, row[2+i])
			}
		}
	}
}
