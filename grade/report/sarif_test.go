package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// sarifSchema is the published schema.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/sarif-2.1.0.schema.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	c.LoadURL = func(s string) (io.ReadCloser, error) { return nil, fmt.Errorf("nothing is fetched: %s", s) }
	if err := c.AddResource("sarif.json", z); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sarifLog is what the tests look at.
type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Rules []struct {
					ID         string
					Properties struct{ Tags []string }
				}
			}
		}
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []struct{ Message struct{ Text string } }
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Kind      string
			Message   struct{ Text string }

			PartialFingerprints map[string]string
			Level               string
			Locations           []struct {
				PhysicalLocation *struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           struct{ StartLine, StartColumn int }
				}
			}
		}
	}
}

func readSARIF(t *testing.T, s *jsonschema.Schema, text []byte) *sarifLog {
	t.Helper()
	var doc any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Fatalf("%#v", err)
	}
	var log sarifLog
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	return &log
}

func TestSARIFHoldsItsSchema(t *testing.T) {
	s := sarifSchema(t)
	hard := shopVerdict(t)
	hard.SuiteFiles = []string{"a dir/käse: 100%?#.yaml"}
	for name, v := range map[string]*Verdict{"shop": shopVerdict(t), "empty": Of(gradeAll(t, loadSuite(t, "shop.suite.yaml"))),
		"no file": Of(verdict(t, hostile)), "hard name": hard} {
		t.Run(name, func(t *testing.T) { readSARIF(t, s, render(t, v, "sarif", Options{})) })
	}
	if err := s.Validate(map[string]any{"version": "2.1.0", "runs": []any{map[string]any{}}}); err == nil {
		t.Error("the schema takes anything")
	}
}

// Each result points at its check in the suite.
func TestSARIFPointsIntoTheSuite(t *testing.T) {
	log := readSARIF(t, sarifSchema(t), render(t, shopVerdict(t), "sarif", Options{}))
	suite, err := os.ReadFile("testdata/shop.suite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := lines(suite)
	run := log.Runs[0]
	want := map[string]string{
		"toolCalls:arguments":      "{toolName: refund, arguments: {id: 1042, reason: string}}",
		"toolCalls:match":          "{toolName: find_order, arguments: {id: 1042}}",
		"argumentsMatchToolSchema": "{type: argumentsMatchToolSchema}",
		"toolLatencyUnder":         "{type: toolLatencyUnder, ms: 1000}",
		"noToolErrors":             "{type: noToolErrors}",
		"responseContains":         "{type: responseContains, needle: on its way}",
		"case":                     "id: unused",
	}
	seen := map[string]bool{}
	for _, r := range run.Results {
		p := r.Locations[0].PhysicalLocation
		if p == nil || p.ArtifactLocation.URI != "suites/shop.suite.yaml" || p.ArtifactLocation.URIBaseID != "%SRCROOT%" {
			t.Fatalf("%+v", r)
		}
		if got := text[p.Region.StartLine-1][p.Region.StartColumn-1:]; got != want[r.RuleID] {
			t.Errorf("%s points at %q", r.RuleID, got)
		}
		delete(want, r.RuleID)
		if print := r.PartialFingerprints["sixlink/v1"]; seen[print] || len(print) != 32 {
			t.Errorf("%s: its fingerprint %q is another's", r.RuleID, print)
		} else {
			seen[print] = true
		}
		if strings.Contains(r.Message.Text, "](") {
			t.Errorf("a recording makes a link: %s", r.Message.Text)
		}
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("%s has the rule %d", r.RuleID, r.RuleIndex)
		}
		if (r.Kind == "open") != (r.RuleID == "responseContains" || r.RuleID == "case") || (r.Kind == "open") != (r.Level == "none") {
			t.Errorf("%s: kind %s, level %s", r.RuleID, r.Kind, r.Level)
		}
	}
	if len(want) > 0 {
		t.Errorf("no result of %v", want)
	}
}

// GitHub takes so many results, rules and tags; what is beyond is said.
func TestSARIFKeepsGitHubsLimits(t *testing.T) {
	v := &Verdict{SuiteID: "big", Word: "failed", Coverage: shopVerdict(t).Coverage}
	for i := range maxFindings + 50 {
		v.Cases = append(v.Cases, &Case{ID: fmt.Sprintf("c%d", i), Word: "inconclusive", Counted: true, each: func(func(*Trial) error) error { return nil }})
	}
	for i := range 300 {
		v.Skipped = append(v.Skipped, Skipped{Recording: fmt.Sprint(i), Why: "probe"})
	}
	log := readSARIF(t, sarifSchema(t), render(t, v, "sarif", Options{}))
	run := log.Runs[0]
	notes := run.Invocations[0].ToolExecutionNotifications
	if len(run.Results) != maxFindings || len(run.Tool.Driver.Rules) != 1 || len(notes) != 1+maxNotes+1+1 {
		t.Errorf("%d results, %d rules, %d notifications", len(run.Results), len(run.Tool.Driver.Rules), len(notes))
	}
	if last := notes[len(notes)-1].Message.Text; !strings.HasPrefix(last, "50 more findings") {
		t.Error(last)
	}
}

func TestFileURI(t *testing.T) {
	for name, want := range map[string]string{
		"suite.yaml": "suite.yaml", "./a/../b c.yaml": "b%20c.yaml", "c:d/e.yaml": "./c:d/e.yaml", "/abs/s.yaml": "file:///abs/s.yaml", "../s%.yaml": "../s%25.yaml",
	} {
		if got, relative := fileURI(name); got != want || relative == strings.HasPrefix(want, "file:") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
