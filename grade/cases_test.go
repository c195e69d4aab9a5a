package grade_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// caseSuite is the suite shape of fixtures/cases: each case is graded as a suite
// of its own (cases/README.md).
type caseSuite struct {
	Cases []map[string]json.RawMessage `json:"cases"`
}

type caseAsserts struct {
	Verdict    string            `json:"verdict"`
	VerdictNot string            `json:"verdict_not"`
	VerdictIn  []string          `json:"verdict_in"`
	Links      map[string]string `json:"links"`
	Checks     []string          `json:"checks"`
}

// later names every assert of this package's that needs a kind or a verb which
// another issue brings. What is not in it runs here; what is in it and could run
// fails the test, so that the list shrinks with the issues.
var later = map[string]string{}

// elsewhere names the cases whose grade asserts need the programs themselves (a
// disk that fills up, a damaged file, memory): they run in cmd/sixlink.
var elsewhere = map[string]bool{"49-zst-bombs": true, "51-disk-full": true, "52-future-version": true, "84-nothing-measured": true}

// refused are the asserts on suites that are refused: suite_cases_test.go has them,
// and cmd/sixlink how the program says so.
var refused = map[string]bool{
	"74-regex-engine: suite-bad": true, "74-regex-engine: suite-js": true, "85-observations: suite-required": true,
	"89-malformed-suite: suites.refused": true, "89-malformed-suite: grade.exit_class": true,
}

// words are the cases' verdicts in sixlink's words.
var words = map[string]grade.Word{"pass": grade.Passed, "fail": grade.Failed, "error": grade.Inconclusive}

// expectations reads the asserts of a case, by run; "" where there is one run.
func expectations(t *testing.T, name string) map[string]map[string]json.RawMessage {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, "expect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, b, _ = bytes.Cut(b, []byte("```json\n"))
	b, _, _ = bytes.Cut(b, []byte("```"))
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for k := range keys {
		if k == "grade" || strings.Contains(k, ".") {
			return map[string]map[string]json.RawMessage{"": keys}
		}
	}
	runs := map[string]map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &runs); err != nil {
		t.Fatalf("%s: %v", name, err)
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

// notBuilt returns the first of the checks' kinds that a later issue brings.
func notBuilt(checks json.RawMessage) string {
	var kinds []struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(checks, &kinds)
	for _, k := range kinds {
		if _, built, known := predicate.Lookup(k.Type); known && built == nil {
			return k.Type
		}
	}
	return ""
}

// loadCase decodes the recording of a run.
func loadCase(t *testing.T, name, run string) *grade.Recording {
	t.Helper()
	file := strings.TrimSuffix("input."+run, ".") + ".jsonl"
	r, err := fixtures.Case(name, file)
	if name == "87-final-message" { // its runs differ in what the host says alone
		r, err = fixtures.Case(name, "input.jsonl")
	}
	if errors.Is(err, fs.ErrNotExist) && run == "" {
		if r, err = fixtures.HAR(name); !errors.Is(err, fs.ErrNotExist) {
			// A browser's capture, read apart from the import: cmd/sixlink grades the
			// import's own result.
		} else if r, err = fixtures.HTTPCase(name); errors.Is(err, fs.ErrNotExist) {
			r, err = fixtures.CaseFrames(name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	rec := decodeCase(t, r)
	// In case 72 the host's transcript is another input, for import.
	host := map[string]string{"85-observations/": "host.json", "87-final-message/a": "host.a.json", "87-final-message/b": "host.b.json", "87-final-message/c": "host.c.json"}
	if file := host[name+"/"+run]; file != "" {
		rec.Talks = map[string]*predicate.Conversation{rec.Sessions[0].ID: hostOf(t, name, file)}
	}
	return &rec
}

// TestCases runs every assert on grading of every case, or finds it in a list.
func TestCases(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(fixtures.Dir(), "cases"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	skipped := func(what string) bool {
		if later[what] != "" {
			used[what] = true
			t.Run(what, func(t *testing.T) { t.Skip(later[what]) })
			return true
		}
		return false
	}
	for _, f := range folders {
		if !f.IsDir() || elsewhere[f.Name()] {
			continue
		}
		name := f.Name()
		for run, keys := range expectations(t, name) {
			at := strings.TrimSuffix(name+"/"+run, "/") + ": "
			for key, raw := range keys {
				family, _, _ := strings.Cut(key, ".")
				switch {
				case refused[at+key]:
				case key == "grade.max_seconds" || key == "grade.network_connections" || key == "grade.files_opened_not":
					// cmd/sixlink watches the program; here, that no schema asks for anything.
				case key == "grade.good":
					t.Run(at+key, func(t *testing.T) { goodSuite(t, name, raw) })
				case key == "grade" && skipped(at+key):
				case family == "proxy" || family == "record" || family == "child" || family == "fs" || family == "server":
					// The tests of proxy, record, record/session and cmd/sixlink.
				case family == "replay":
					// The tests of replay/serve.
				case name == "72-name-prefix" && key == "import.names":
					// record/host/join
				case name == "94-capture-without-body" && key == "import.results":
					// The tests of cmd/sixlink.
				case name == "92-openai-shapes" && (key == "import.calls" || key == "import.results" || key == "import.flags"):
					// The tests of record/host/messages.
				case key == "grade":
					gradeCase(t, name, run, at, raw, skipped)
				case key == "report.valid_utf8":
					t.Run(at+key, func(t *testing.T) { reportIsValid(t, loadCase(t, name, run)) })
				case key == "grade_session":
					gradeSessions(t, name, at, raw)
				case key == "grade.links":
					t.Run(at+key, func(t *testing.T) { linksOf(t, loadCase(t, name, run), raw) })
				case !skipped(at + key):
					t.Errorf("%s%s is run nowhere", at, key)
				}
			}
		}
	}
	for what := range later {
		if !used[what] {
			t.Errorf("%s is in the list and was not skipped", what)
		}
	}
}

// gradeSessions runs the asserts on single sessions of a case: S-1 is the first.
func gradeSessions(t *testing.T, name, at string, raw json.RawMessage) {
	var want map[string]map[string]caseAsserts
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatalf("%s%v", at, err)
	}
	b, err := fixtures.ReadFile("cases", name, "suite.json")
	if err != nil {
		t.Fatal(err)
	}
	var suites caseSuite
	if err := json.Unmarshal(b, &suites); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for id, cases := range want {
		n, err := strconv.Atoi(strings.TrimPrefix(id, "S-"))
		rec := loadCase(t, name, "")
		if err != nil || n > len(rec.Sessions) {
			t.Fatalf("%sno session %s among %d", at, id, len(rec.Sessions))
		}
		rec.Sessions = rec.Sessions[n-1 : n]
		for _, s := range suites.Cases {
			var own string
			_ = json.Unmarshal(s["id"], &own)
			if w, ok := cases[own]; ok {
				ran++
				t.Run(at+id+"."+own, func(t *testing.T) {
					suite, o := ownSuite(t, own, s)
					v, err := grade.Grade(suite, []grade.Recording{*rec}, o)
					if err != nil {
						t.Fatal(err)
					}
					checkCase(t, v, w)
				})
			}
		}
	}
	if ran == 0 {
		t.Errorf("%snothing ran", at)
	}
}

// linksOf holds the links of a case's only session, without any suite.
func linksOf(t *testing.T, rec *grade.Recording, raw json.RawMessage) {
	var want map[string]string
	if err := json.Unmarshal(raw, &want); err != nil || len(want) == 0 || len(rec.Sessions) != 1 {
		t.Fatalf("%d sessions, %v", len(rec.Sessions), err)
	}
	for _, l := range grade.Chain(rec.Sessions[0], rec.Sessions).Links {
		if w, ok := want[string(l.Link)]; ok && string(l.State) != w {
			t.Errorf("%s is %s (%s), want %s", l.Link, l.State, l.Reason, w)
		}
	}
}

// gradeCase runs the grade asserts of one run.
func gradeCase(t *testing.T, name, run, at string, raw json.RawMessage, skipped func(string) bool) {
	var want map[string]caseAsserts
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&want); err != nil {
		t.Fatalf("%s%v", at, err)
	}
	b, err := fixtures.ReadFile("cases", name, "suite.json")
	if err != nil {
		t.Fatal(err)
	}
	var suites caseSuite
	if err := json.Unmarshal(b, &suites); err != nil {
		t.Fatal(err)
	}
	rec := loadCase(t, name, run)
	for _, s := range suites.Cases {
		var id string
		_ = json.Unmarshal(s["id"], &id)
		w, ok := want[id]
		if !ok {
			continue
		}
		delete(want, id)
		for member := range s {
			if !slices.Contains([]string{"id", "checks", "expectedToolCalls", "matchOptions", "isNegativeTest"}, member) {
				t.Errorf("%s%s of %s is graded nowhere", at, member, id)
			}
		}
		if kind := notBuilt(s["checks"]); kind != "" {
			if what := at + "grade." + id; !skipped(what) || !strings.Contains(later[what], kind) {
				t.Errorf("%s needs %s, which is not built: put it in the list", what, kind)
			}
			continue
		}
		t.Run(at+"grade."+id, func(t *testing.T) {
			suite, o := ownSuite(t, id, s)
			if !anyCall(rec) {
				// Such a session is a trial only where somebody names it (grading.md 0.1).
				s["matchOptions"] = json.RawMessage(`{}`)
				suite, o = ownSuite(t, id, s)
			}
			v, err := grade.Grade(suite, []grade.Recording{*rec}, o)
			if err != nil {
				t.Fatal(err)
			}
			checkCase(t, v, w)
		})
	}
	for id := range want {
		t.Errorf("%sno case %s in the suite", at, id)
	}
}

func anyCall(rec *grade.Recording) bool {
	return slices.ContainsFunc(rec.Sessions, func(s *session.Session) bool { return len(s.Calls) > 0 })
}

// ownSuite makes a suite of sixlink's of one case of a fixture: the checks for every
// session, or, where the matcher is in it, a case of one turn that every session is
// a trial of.
func ownSuite(t *testing.T, id string, c map[string]json.RawMessage) (*grade.Suite, grade.Options) {
	t.Helper()
	doc := map[string]any{"schemaVersion": "sixlink/1", "suite": map[string]any{"id": id}}
	o := grade.Options{}
	if len(c) == 2 {
		doc["defaults"] = map[string]any{"assertions": c["checks"]}
	} else {
		own := map[string]any{"id": id, "assertions": c["checks"]}
		turn := map[string]any{"prompt": "x"}
		if calls := c["expectedToolCalls"]; calls != nil {
			turn["expectedToolCalls"] = calls
		}
		own["turns"] = []any{turn}
		for _, member := range []string{"matchOptions", "isNegativeTest"} {
			if v := c[member]; v != nil {
				own[member] = v
			}
		}
		doc["cases"], o.Case = []any{own}, id
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	suite, err := grade.LoadSuite("suite.json", b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return suite, o
}

// goodSuite grades case 89's input by the suite that its expect.md names.
func goodSuite(t *testing.T, name string, raw json.RawMessage) {
	var w caseAsserts
	if err := json.Unmarshal(raw, &w); err != nil || w.Verdict == "" {
		t.Fatalf("%s: %v", raw, err)
	}
	suite, o := ownSuite(t, "x", map[string]json.RawMessage{"id": nil, "checks": json.RawMessage(`[{"type":"noToolErrors"}]`)})
	v, err := grade.Grade(suite, []grade.Recording{*loadCase(t, name, "")}, o)
	if err != nil {
		t.Fatal(err)
	}
	checkCase(t, v, w)
}

// hostOf reads a host.json into the conversation's channels (cases/README.md): a
// message, or a usage, that it lacks was not captured.
func hostOf(t *testing.T, name, file string) *predicate.Conversation {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, file)
	if err != nil {
		t.Fatal(err)
	}
	var host struct {
		Turns []struct {
			User      string
			Assistant *string
		}
		Usage *struct{ TotalTokens int64 }
	}
	if err := json.Unmarshal(b, &host); err != nil {
		t.Fatal(err)
	}
	c := &predicate.Conversation{TurnsState: session.Complete, TurnCount: int64(len(host.Turns)), TurnCountKnown: true}
	for _, turn := range host.Turns {
		x := predicate.Turn{Prompt: turn.User, Finished: true}
		if turn.Assistant != nil {
			x.FinalText, x.HasFinalText = *turn.Assistant, true
			c.FinalTextState, c.FinalText, c.HasFinalText = session.Complete, *turn.Assistant, true
		}
		c.Turns = append(c.Turns, x)
	}
	if host.Usage != nil {
		c.UsageState, c.Usage = session.Complete, &predicate.Usage{Input: -1, Output: -1, Total: host.Usage.TotalTokens}
	}
	return c
}

func checkCase(t *testing.T, v *grade.Verdict, want caseAsserts) {
	t.Helper()
	var text bytes.Buffer
	if err := report.Text(&text, report.Of(v), report.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Log(text.String())
		}
	}()
	if want.Verdict != "" && v.Word != words[want.Verdict] {
		t.Errorf("verdict %s, want %s", v.Word, words[want.Verdict])
	}
	if want.VerdictNot != "" && v.Word == words[want.VerdictNot] {
		t.Errorf("verdict %s", v.Word)
	}
	if len(want.VerdictIn) > 0 && !slices.ContainsFunc(want.VerdictIn, func(w string) bool { return words[w] == v.Word }) {
		t.Errorf("verdict %s, want one of %v", v.Word, want.VerdictIn)
	}
	if len(v.Cases) != 1 || len(v.Cases[0].Trials) != 1 {
		t.Fatal("no trial")
	}
	trial := &v.Cases[0].Trials[0]
	for _, l := range trial.Chain.Links {
		if state, ok := want.Links[string(l.Link)]; ok && state != string(l.State) {
			t.Errorf("%s: %s (%s: %s), want %s", l.Link, l.State, l.Reason, l.Evidence.Text, state)
		}
	}
	for i, outcome := range want.Checks {
		row := trial.Rows[i]
		got := string(row.Result)
		if strings.HasSuffix(outcome, " (advisory)") {
			got += " (" + string(row.Check.Role) + ")"
		}
		if got != outcome {
			t.Errorf("check %d: %s (%s), want %s", i, got, row.Reason, outcome)
		}
	}
	var out bytes.Buffer
	if err := report.JSON(&out, report.Of(v)); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(out.Bytes()) || !json.Valid(out.Bytes()) || !utf8.Valid(text.Bytes()) {
		t.Errorf("the report is no valid UTF-8 or JSON:\n%s", out.String())
	}
}

// reportIsValid renders a recording of whose texts one holds half of a surrogate
// pair: as it is, and with the call answered by an error that quotes the text, so
// that the report has to show it. No reader may meet broken UTF-8, nor the
// U+FFFD that the half would be turned into.
func reportIsValid(t *testing.T, rec *grade.Recording) {
	const half = `\ud83d`
	for _, quoted := range []bool{false, true} {
		if quoted {
			c := rec.Sessions[0].Calls[0]
			args, err := c.Arguments.Bytes()
			if err != nil || !bytes.Contains(args, []byte(half)) {
				t.Fatalf("arguments %s, %v", args, err)
			}
			text, ok := jsonscan.String(bytes.TrimSuffix(bytes.TrimPrefix(args, []byte(`{"text":`)), []byte("}")))
			if !ok {
				t.Fatalf("arguments %s", args)
			}
			c.State, c.ErrorText = session.CallToolError, "cannot note "+text
		}
		v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{*rec}, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text, out bytes.Buffer
		if err := report.Text(&text, report.Of(v), report.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := report.JSON(&out, report.Of(v)); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(text.Bytes()) || !utf8.Valid(out.Bytes()) || !json.Valid(out.Bytes()) {
			t.Errorf("no valid UTF-8 or JSON:\n%s%s", text.String(), out.String())
		}
		var doc any
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		for _, shown := range []string{text.String(), fmt.Sprint(doc)} {
			if strings.Contains(shown, "\ufffd") {
				t.Errorf("U+FFFD in\n%s", shown)
			}
			if quoted && !strings.Contains(shown, "a"+half+"b") {
				t.Errorf("no %s in\n%s", half, shown)
			}
		}
	}
}

// Of case 16 only the call that nests too deep cannot be checked.
func TestDeepArgumentsAreAnEvaluatorError(t *testing.T) {
	rec := loadCase(t, "16-deep-nesting", "")
	s := rec.Sessions[0]
	ev := grade.Evidence(s, rec.Sessions, &predicate.Schemas{})
	for i, id := range []string{"3", "4", "5"} {
		c := &ev.Calls[i]
		if raw := s.Calls[i].ID.Raw; raw != id {
			t.Fatalf("call %d has id %s, want %s", i, raw, id)
		}
		alone := *ev
		alone.Calls = ev.Calls[i : i+1]
		check, err := predicate.New("argumentsMatchToolSchema", predicate.Gating)
		if err != nil {
			t.Fatal(err)
		}
		want := predicate.Pass
		if id == "3" {
			want = predicate.Error
		}
		got := predicate.Evaluate(check, &alone)
		if got.Result != want || want == predicate.Error && !strings.Contains(got.Reason, "nested deeper") {
			t.Errorf("call %s (record %s): %s (%s), want %s", id, c.ID(), got.Result, got.Reason, want)
		}
	}
	// In one row the call that cannot be checked decides (grading.md 1.4), and it is named.
	v, err := grade.Grade(mustLoad(t, "defaults: {assertions: [{type: argumentsMatchToolSchema}]}"), []grade.Recording{*rec}, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	row := v.Cases[0].Trials[0].Rows[0]
	if row.Result != predicate.Error || !slices.Equal(row.Records, []int64{s.Calls[0].Seq}) || v.Word != grade.Inconclusive {
		t.Errorf("%s (%s) %v, %s", row.Result, row.Reason, row.Records, v.Word)
	}
}
