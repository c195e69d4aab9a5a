package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// asserts are the record.* asserts of a case (cases/README.md). Those of the
// proxy, of grading and of replay are other packages' tests.
type asserts struct {
	Lines      map[string]int     `json:"record.lines"`
	Messages   map[string]int     `json:"record.messages"`
	Blank      map[string]int     `json:"record.blank"`
	Nonmessage map[string]int     `json:"record.nonmessage"`
	Pairs      map[string]*string `json:"record.pairs_by_id"`
	Orphans    *int               `json:"record.orphan_count"`
	Flags      [][]any            `json:"record.flags"`
	FlagsAny   []string           `json:"record.flags_any"`
	Tools      []string           `json:"record.tools"`
	Catalog    string             `json:"record.catalog"`
}

// readAsserts reads the JSON object at the end of expect.md; run picks a run's.
func readAsserts(t *testing.T, name, run string) asserts {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, "expect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, b, ok := bytes.Cut(b, []byte("```json\n"))
	b, _, ok2 := bytes.Cut(b, []byte("```"))
	if !ok || !ok2 {
		t.Fatalf("%s: no asserts in expect.md", name)
	}
	if run != "" {
		var runs map[string]json.RawMessage
		if err := json.Unmarshal(b, &runs); err != nil {
			t.Fatal(err)
		}
		b = runs[run]
	}
	var a asserts
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return a
}

func decode(t *testing.T, r *fixtures.Recording) *session.Result {
	t.Helper()
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func only(t *testing.T, res *session.Result) *session.Session {
	t.Helper()
	if len(res.Sessions) != 1 {
		t.Fatalf("%d sessions, want one", len(res.Sessions))
	}
	return res.Sessions[0]
}

var dirs = map[string]record.From{"c2s": record.Client, "s2c": record.Server}

func TestCases(t *testing.T) {
	for _, name := range []string{
		"05-bom-first-line", "07-two-objects-one-line", "09-content-length-framing", "11-id-mangled", "13-lone-surrogates",
		"16-deep-nesting", "18-call-without-id", "21-late-and-orphan-replies", "22-nothing-re-encoded", "79-pagination", "81-error-shapes",
	} {
		inputs, _ := filepath.Glob(filepath.Join(fixtures.Dir(), "cases", name, "input*.jsonl"))
		if len(inputs) == 0 {
			r, err := fixtures.CaseFrames(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) { holds(t, r, readAsserts(t, name, "")) })
			continue
		}
		for _, input := range inputs {
			file := filepath.Base(input)
			run := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(file, "input"), ".jsonl"), ".")
			r, err := fixtures.Case(name, file)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name+"/"+run, func(t *testing.T) { holds(t, r, readAsserts(t, name, run)) })
		}
	}
}

// holds holds a decoded case against its asserts, and again with every line in
// parts of a few bytes: how a line was recorded must not matter.
func holds(t *testing.T, r *fixtures.Recording, a asserts) {
	holdsOnce(t, r, a)
	t.Run("in parts", func(t *testing.T) { holdsOnce(t, inParts(r, 1000), a) })
}

func holdsOnce(t *testing.T, r *fixtures.Recording, a asserts) {
	s := only(t, decode(t, r))
	said := map[string]bool{}
	for _, m := range s.Remarks {
		if m.Detail == "" {
			t.Errorf("a remark without a sentence: %+v", m)
		}
		if key := fmt.Sprint(m.Seq, m.From, m.Flag); m.Flag != session.FlagNonmessage && said[key] {
			t.Errorf("said twice of one line: %+v", m)
		} else {
			said[key] = true
		}
	}
	for what, counts := range map[string][2]any{
		"lines": {a.Lines, s.Lines}, "messages": {a.Messages, s.Messages}, "blank": {a.Blank, s.Blank}, "nonmessage": {a.Nonmessage, s.Nonmessage},
	} {
		got := counts[1].(map[record.From]int)
		for dir, want := range counts[0].(map[string]int) {
			if got[dirs[dir]] != want {
				t.Errorf("%s %s: %d, want %d", dir, what, got[dirs[dir]], want)
			}
		}
	}
	got := map[string]*string{}
	for _, ex := range s.Requests {
		if ex.From != record.Client || !ex.ID.Pairs() {
			continue
		}
		got[ex.ID.Raw] = nil
		if ex.AnswerSeq != 0 {
			id := ex.AnswerID.Raw
			if ex.Late {
				id += " (late)"
			}
			got[ex.ID.Raw] = &id
		}
	}
	for id, want := range a.Pairs {
		if g, ok := got[id]; !ok || (g == nil) != (want == nil) || g != nil && *g != *want {
			t.Errorf("request %s is answered by %v, want %v", id, show(g), show(want))
		}
	}
	if a.Orphans != nil && len(s.Orphans) != *a.Orphans {
		t.Errorf("%d orphans, want %d", len(s.Orphans), *a.Orphans)
	}
	for _, f := range a.Flags {
		dir, n, flag := dirs[f[0].(string)], int(f[1].(float64)), f[2].(string)
		seq, line := int64(0), 0
		for _, rec := range r.Records {
			if rec.Kind == record.KindFrame && rec.From == dir && !rec.Cont {
				if line++; line == n {
					seq = rec.Seq
				}
			}
		}
		if !slices.ContainsFunc(s.Remarks, func(m session.Remark) bool { return m.Seq == seq && m.From == dir && m.Flag == flag }) {
			t.Errorf("line %d of %s has no flag %q: %+v", n, dir, flag, s.Remarks)
		}
	}
	for _, flag := range a.FlagsAny {
		if s.RemarkCounts[flag] == 0 {
			t.Errorf("no flag %q: %+v", flag, s.Remarks)
		}
	}
	if a.Catalog != "" {
		l := s.DeclaredCatalog()
		if l == nil {
			t.Fatal("no catalog")
		}
		if string(l.State) != a.Catalog {
			t.Errorf("catalog is %s (%s), want %s", l.State, l.Why, a.Catalog)
		}
		if a.Tools != nil {
			var names []string
			for _, tool := range l.Tools {
				names = append(names, tool.Name)
			}
			if d := cmp.Diff(a.Tools, names); d != "" {
				t.Error(d)
			}
		}
	}
}

func show(s *string) string {
	if s == nil {
		return "nothing"
	}
	return *s
}

// inParts cuts every frame into parts of n bytes, as a recorder does with long lines.
func inParts(r *fixtures.Recording, n int) *fixtures.Recording {
	out := &fixtures.Recording{Name: r.Name, Header: r.Header, State: r.State}
	for _, rec := range r.Records {
		if rec.Kind != record.KindFrame || len(rec.Data) <= n {
			out.Add(*rec)
			continue
		}
		for i := 0; i < len(rec.Data); i += n {
			part := *rec
			end := min(i+n, len(rec.Data))
			part.Data, part.Off = rec.Data[i:end], rec.Off+int64(i)
			part.Cont, part.More = i > 0, end < len(rec.Data)
			part.Form = record.FormText
			if part.More {
				part.EOL, part.Len = nil, 0
			}
			out.Add(part)
		}
	}
	return out
}

// What a case says beyond its asserts.

func caseOf(t *testing.T, name, file string) *session.Session {
	t.Helper()
	r, err := fixtures.Case(name, file)
	if err != nil {
		t.Fatal(err)
	}
	return only(t, decode(t, r))
}

func TestTwoObjectsOnOneLineNamesTheCalls(t *testing.T) {
	r, err := fixtures.CaseFrames("07-two-objects-one-line")
	if err != nil {
		t.Fatal(err)
	}
	s := only(t, decode(t, r))
	for i, want := range []session.CallState{session.CallNeverAnswered, session.CallNeverAnswered, session.CallResult} {
		if c := s.Calls[i]; c.State != want || (want == session.CallNeverAnswered) != slices.ContainsFunc(c.Remarks, func(m session.Remark) bool { return m.Flag == session.FlagTwoValues }) {
			t.Errorf("call %d: %s %+v", i, c.State, c.Remarks)
		}
	}
	var lines []string
	for _, m := range s.Remarks {
		if m.Flag == session.FlagTwoValues {
			lines = append(lines, m.Detail)
		}
	}
	// One remark for the line, which names both calls.
	a, b := s.Calls[0], s.Calls[1]
	if want := fmt.Sprintf("%d (id %s), %d (id %s)", a.Seq, a.ID.Raw, b.Seq, b.ID.Raw); len(lines) != 1 || s.RemarkCounts[session.FlagTwoValues] != 1 || !strings.HasSuffix(lines[0], want) {
		t.Errorf("%q, want one that ends in %s", lines, want)
	}
}

func TestMangledIDsAreHintsOnly(t *testing.T) {
	s := caseOf(t, "11-id-mangled", "input.jsonl")
	for _, c := range s.Calls {
		if c.State != session.CallNeverAnswered || len(c.RepliesWithoutRequest) == 0 {
			t.Errorf("call %s: %s, replies %v", c.ID.Raw, c.State, c.RepliesWithoutRequest)
		}
	}
	var hints []string
	for _, o := range s.Orphans {
		hints = append(hints, o.Hint)
	}
	want := []string{"", "", "id-rewritten? request 8 has id \"7\": text against number", "id-rewritten? request 10 has id 1774232524389: equal in the low 32 bits"}
	if d := cmp.Diff(want, hints); d != "" {
		t.Error(d)
	}
	if !s.Orphans[0].Duplicate || s.Orphans[0].RequestOf != 1 {
		t.Errorf("the reply with id 0 again: %+v", s.Orphans[0])
	}
}

func TestLoneSurrogatesStayApart(t *testing.T) {
	s := caseOf(t, "13-lone-surrogates", "input.jsonl")
	c := s.Calls[0]
	args, err := c.Arguments.Bytes()
	if err != nil || string(args) != `{"text":"a\ud83db"}` {
		t.Errorf("%s %v", args, err)
	}
	if c.State != session.CallResult || c.Tool != "note" {
		t.Errorf("%+v", c)
	}
}

func TestTooDeepArgumentsAreKnownAndMarked(t *testing.T) {
	r, err := fixtures.CaseFrames("16-deep-nesting")
	if err != nil {
		t.Fatal(err)
	}
	s := only(t, decode(t, r))
	for i, want := range []bool{true, false, false} {
		c := s.Calls[i]
		if c.Tool != "deep" || c.TooDeep != want || c.State != session.CallResult {
			t.Errorf("call %d: tool %q, too deep %v, %s", i, c.Tool, c.TooDeep, c.State)
		}
		if b, err := c.Arguments.Bytes(); err != nil || int64(len(b)) != c.Arguments.Len() {
			t.Errorf("call %d: %d bytes, %v", i, len(b), err)
		}
	}
	if d := s.Calls[0].Arguments.Depth(); d != 12000 {
		t.Errorf("depth %d", d)
	}
}

func TestCallsWithoutIDAreKept(t *testing.T) {
	s := caseOf(t, "18-call-without-id", "input.jsonl")
	if len(s.Calls) != 2 || s.Calls[0].State != session.CallNoID || s.Calls[1].State != session.CallNoID || s.Calls[1].ID.Kind != session.IDNull {
		t.Fatalf("%+v", s.Calls)
	}
	if s.RemarkCounts[session.FlagNoID] != 1 || s.RemarkCounts[session.FlagNullID] != 3 {
		t.Errorf("%v", s.RemarkCounts)
	}
	if s.Capture.ToolErrors != session.Complete {
		t.Errorf("%+v", s.Capture)
	}
}

func TestLateAndDuplicateReplies(t *testing.T) {
	s := caseOf(t, "21-late-and-orphan-replies", "input.jsonl")
	slow, fast := s.Calls[0], s.Calls[1]
	if slow.State != session.CallCancelled || slow.AnswerSeq != 10 || !slow.Late || slow.Error != nil || slow.CancelledSeq != 7 || slow.Attempts[0].AnswerSeq != 10 || !slow.Attempts[0].Late {
		t.Errorf("%+v", slow)
	}
	if b, _ := fast.Result.Bytes(); string(b) != `{"content":[{"type":"text","text":"quick"}]}` {
		t.Errorf("%s", b)
	}
	if s.Orphans[0].Duplicate || !s.Orphans[1].Duplicate || s.Orphans[1].RequestOf != fast.Seq {
		t.Errorf("%+v %+v", s.Orphans[0], s.Orphans[1])
	}
	if s.Capture.ToolErrors != session.Complete {
		t.Errorf("%+v", s.Capture)
	}
}

func TestErrorShapes(t *testing.T) {
	for run, want := range map[string]struct {
		state session.CallState
		text  string
		bad   bool
	}{
		"a": {session.CallToolError, "timed out after 42 rows", false},
		"b": {session.CallProtocolError, "", false},
		"c": {session.CallResult, "", false},
		"d": {session.CallResult, "", false},
		"e": {session.CallResult, "", true},
		"f": {session.CallToolError, "", false},
		"g": {session.CallMalformed, "", false},
	} {
		c := caseOf(t, "81-error-shapes", "input."+run+".jsonl").Calls[0]
		if c.State != want.state || c.ErrorText != want.text || c.BadIsError != want.bad {
			t.Errorf("%s: %s %q %v", run, c.State, c.ErrorText, c.BadIsError)
		}
	}
}

func TestPagesThatGoWrong(t *testing.T) {
	l := caseOf(t, "79-pagination", "input.stuck.jsonl").Lists
	if len(l) != 1 || !l[0].Stuck || len(l[0].Pages) != 5 {
		t.Errorf("%d lists, %+v", len(l), l[0])
	}
	l = caseOf(t, "79-pagination", "input.cut.jsonl").Lists
	if len(l) != 1 || l[0].ErrorCode != -32602 || !l[0].Pages[1].Failed {
		t.Errorf("%d lists, %+v", len(l), l[0])
	}
	s := caseOf(t, "79-pagination", "input.all.jsonl")
	tool, ok := s.Calls[1].Catalog.Find("two")
	if !ok || string(tool.InputSchema) != `{"type":"object","properties":{"w":{"type":"string"}},"required":["w"]}` || tool.Seq != 7 {
		t.Errorf("%+v", tool)
	}
}
