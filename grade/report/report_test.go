package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// hostile is what a recording may hold wherever it holds text.
const hostile = "a\x1b[31m\u202e\u009b\xed\xa0\xbd<&>\u2028\U000e0041\xff"

func verdict(t *testing.T, message string) *grade.Verdict {
	t.Helper()
	whole := session.Capture{ToolCalls: "complete", ToolErrors: "complete", ToolResults: "complete", ToolCallTimings: "complete", ToolInventory: "complete", ToolDeclarations: "complete"}
	l := &catalog.List{State: catalog.Complete, Pages: []catalog.Page{{RequestSeq: 4, AnswerSeq: 5}}, Tools: []catalog.Tool{{Name: "act"}}}
	s := &session.Session{ID: "s1", Era: session.EraInitialize, Capture: whole, Lists: []*catalog.List{l}}
	s.Connection.Initialize = &session.Exchange{Seq: 1, AnswerSeq: 2, State: session.ExchangeResult}
	s.Calls = []*session.Call{{Seq: 6, Index: -1, Tool: "act", NameOK: true, State: session.CallToolError, AnswerSeq: 7, ErrorText: message, Catalog: l}}
	probe := &session.Session{ID: "s2", Capture: whole}
	v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{{ID: "rec1", Path: "dir/x.mcp.jsonl.zst", Labels: map[string]string{"host": "h", "case": "c"}, Sessions: []*session.Session{s, probe}}}, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const wantText = `The six links: connection discovery selection call response userValue
+ passed  X failed  - notReached  ? notMeasured  . notApplicable

+ + ? + X - failed       0 of 1    (unassigned)

dir/x.mcp.jsonl.zst s1: failed
  +connection +discovery ?selection +call Xresponse -userValue
  first break: response, toolError (records 6, 7)
    "act" (record 6, seen in 7): the server reported a tool error: "boom"
  fail noToolErrors (response, gating)
       "act" (record 6, seen in 7): the server reported a tool error: "boom"
       expected: no tool errors
       actual:   1 error in 1 call (records 6, 7)
  not measured: selection (matchVerdictUnavailable): calls on record, and no
                check says which were right
  0 of 1 check passed

skipped dir/x.mcp.jsonl.zst s2: probe (no call in it; connection notMeasured:
    nothing was asked of the server)

not decided by any check: discovery, call (runner checks only); selection,
    userValue (nothing looks at them)

verdict: failed (casePassRateBelowThreshold)
1 trial: 0 passed, 1 failed, 0 inconclusive; 1 skipped
suite (built-in) (1c5fda4f9070), analyzer 0
`

func TestText(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, Of(verdict(t, "boom")), Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantText, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestColorAddsNothingButColor(t *testing.T) {
	var plain, color bytes.Buffer
	v := Of(verdict(t, "boom"))
	if err := Text(&plain, v, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&color, v, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(color.String(), "\x1b[31m") {
		t.Error("colour where none was asked for, or none where it was")
	}
	stripped := color.String()
	for _, c := range []string{"31", "32", "33", "2", "0"} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+c+"m", "")
	}
	if diff := cmp.Diff(plain.String(), stripped); diff != "" {
		t.Error(diff)
	}
}

func TestHostileTextIsVisible(t *testing.T) {
	v := verdict(t, hostile)
	v.Cases[0].Trials[0].Labels = map[string]string{hostile: hostile}
	v.Skipped[0].Detail = hostile
	v.Paths["rec1"] = hostile
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return Text(b, Of(v), Options{}) },
		"json": func(b *bytes.Buffer) error { return JSON(b, Of(v)) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(out.Bytes()) || strings.ContainsAny(out.String(), "\x1b\u202e\u009b\u2028\U000e0041") {
			t.Errorf("%s lets hostile text through:\n%q", name, out.String())
		}
		if !strings.Contains(out.String(), `ud83d`) {
			t.Errorf("%s does not show the lone surrogate", name)
		}
		if name == "json" && (!json.Valid(out.Bytes()) || strings.Contains(out.String(), `\u003c`)) {
			t.Errorf("no JSON, or HTML escapes in it:\n%s", out.String())
		}
	}
}

// TestJSONShape holds the shape of schema sixlink/verdict/1: members in order.
func TestJSONShape(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, Of(verdict(t, "boom"))); err != nil {
		t.Fatal(err)
	}
	keys := func(raw json.RawMessage) string {
		d := json.NewDecoder(bytes.NewReader(raw))
		var names []string
		depth, isKey := 0, false
		for {
			tok, err := d.Token()
			if err != nil {
				return strings.Join(names, " ")
			}
			switch x := tok.(type) {
			case json.Delim:
				if x == '{' || x == '[' {
					depth++
				} else {
					depth--
				}
				isKey = depth == 1
				continue
			case string:
				if depth == 1 && isKey {
					names = append(names, x)
					isKey = false
					continue
				}
			}
			isKey = depth == 1
		}
	}
	at := func(path ...any) json.RawMessage {
		raw := json.RawMessage(out.Bytes())
		for _, p := range path {
			switch p := p.(type) {
			case string:
				var m map[string]json.RawMessage
				if err := json.Unmarshal(raw, &m); err != nil {
					t.Fatal(err)
				}
				raw = m[p]
			case int:
				var l []json.RawMessage
				if err := json.Unmarshal(raw, &l); err != nil {
					t.Fatal(err)
				}
				raw = l[p]
			}
		}
		return raw
	}
	for _, c := range []struct {
		path []any
		want string
	}{
		{nil, "schema analyzerVersion suite coverage cases skipped verdict reasons"},
		{[]any{"suite"}, "id hash"},
		{[]any{"cases", 0}, "id title verdict reason counted stats coverage canFail configHash trials"},
		{[]any{"coverage", 0}, "link state by"},
		{[]any{"cases", 0, "coverage", 4}, "link state by"},
		{[]any{"cases", 0, "trials", 0}, "recording session labels verdict why links firstBreak failureCategory rows runnerChecks facts"},
		{[]any{"cases", 0, "trials", 0, "labels"}, "case host"},
		{[]any{"cases", 0, "trials", 0, "links", 0}, "link state reason evidence"},
		{[]any{"cases", 0, "trials", 0, "links", 0, "evidence"}, "records text"},
		{[]any{"cases", 0, "trials", 0, "rows", 0}, "check link role outcome reason expected actual records"},
		{[]any{"cases", 0, "trials", 0, "runnerChecks", 0}, "id link state expected actual"},
		{[]any{"skipped", 0}, "recording session why detail"},
	} {
		if got := keys(at(c.path...)); got != c.want {
			t.Errorf("%v: %s\nwant %s", c.path, got, c.want)
		}
	}
	if string(at("verdict")) != `"failed"` || string(at("cases", 0, "trials", 0, "firstBreak")) != `"response"` || string(at("cases", 0, "trials", 0, "why")) != "null" {
		t.Errorf("values:\n%s", out.String())
	}
}

func TestChain(t *testing.T) {
	v := verdict(t, "boom")
	var out bytes.Buffer
	r := &v.Cases[0].Trials[0].Chain
	if err := Chain(&out, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "connection  discovery") || !strings.Contains(out.String(), "^ first break: toolError") {
		t.Errorf("chain:\n%s", out.String())
	}
	var m map[string]any
	if err := json.Unmarshal(ChainJSON(r), &m); err != nil || m["firstBreak"] != "response" || len(m["links"].([]any)) != 6 {
		t.Errorf("%v: %s", err, ChainJSON(r))
	}
}
