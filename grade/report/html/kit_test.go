package html

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// play is what a recording of these tests holds: one stdio session.
type play struct {
	id, host, server string
	labels           map[string]string
	tools            []map[string]any
	calls            []playCall
	stderr           []string
	talk             string        // lines of the neutral format
	after            time.Duration // it begins so long after start
}

type playCall struct {
	tool   string
	args   string // JSON
	result string // JSON of the answer's result
	fault  string // JSON of the answer's error
	ms     int64
}

// start is when the recordings of these tests begin.
var start = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

func quoted(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// recording decodes the play as a recording of its messages would be.
func (p *play) recording(t testing.TB) *report.Recording {
	t.Helper()
	hdr := &record.Header{Format: [2]int{1, 0}, ID: p.id, Start: record.Time{Time: start.Add(p.after)}, Transport: "stdio", Level: record.LevelFull,
		Recorder: record.Software{Name: "sixlink", Version: "test"}, Labels: p.labels, Command: []string{"shop", p.server}}
	rec := &report.Recording{Path: p.id + ".mcp.jsonl.zst", Header: hdr, End: record.End{State: record.Sealed}}
	d := session.NewDecoder(hdr, nil, session.Options{})
	var seq, at int64
	add := func(from record.From, text string) {
		seq++
		at += int64(time.Millisecond)
		data := []byte(text)
		d.Add(&record.Record{Kind: record.KindFrame, Seq: seq, At: at, From: from, Form: record.FormMessage, Data: data, EOL: []byte("\n"), Len: int64(len(data))})
	}
	ask := func(id int, method, params, answer string) {
		add(record.Client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
		add(record.Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, answer))
	}
	ask(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":`+quoted(t, p.host)+`,"version":"1"}}`,
		`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":`+quoted(t, p.server)+`,"version":"2"}}`)
	add(record.Client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ask(2, "tools/list", `{}`, `"result":{"tools":`+quoted(t, p.tools)+`}`)
	for i, line := range p.stderr {
		rec.Stderr = append(rec.Stderr, report.Line{Seq: int64(i), At: at, Text: line})
	}
	for i, c := range p.calls {
		answer := `"result":` + c.result
		if c.fault != "" {
			answer = `"error":` + c.fault
		}
		at += c.ms * int64(time.Millisecond)
		add(record.Client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":%s,"_meta":{"claudecode/toolUseId":"use%d"}}}`, i+3, quoted(t, c.tool), c.args, i))
		at += c.ms * int64(time.Millisecond)
		add(record.Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+3, answer))
	}
	res := d.Finish(record.Sealed, false)
	rec.Sessions, rec.Clock, rec.End.Records = res.Sessions, res.Clock, seq
	if p.talk != "" {
		for _, line := range strings.Split(strings.TrimSpace(p.talk), "\n") {
			rec.Conversation = append(rec.Conversation, []byte(line))
		}
	}
	return rec
}

func text(t testing.TB, s string) string {
	return `{"content":[{"type":"text","text":` + quoted(t, s) + `}]}`
}

func toolError(t testing.TB, s string) string {
	return `{"isError":true,"content":[{"type":"text","text":` + quoted(t, s) + `}]}`
}

// graded grades recordings by a suite in YAML, and returns what a report is made of.
func graded(t testing.TB, suite string, recs []*report.Recording, overrides grade.Overrides) *report.Verdict {
	t.Helper()
	s, err := grade.LoadSuite("suite.yaml", []byte(suite), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.Override(overrides); err != nil {
		t.Fatal(err)
	}
	g, err := grade.NewGrader(s, grade.Options{Spool: &memory{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		g.Add(&grade.Recording{ID: r.Header.ID, Path: r.Path, Labels: r.Header.Labels, Sessions: r.Sessions, Clock: r.Clock})
	}
	v, err := g.Verdict()
	if err != nil {
		t.Fatal(err)
	}
	return report.Of(v)
}

// source has recordings in memory, and counts how many are open at once.
type source struct {
	recs       map[string]*report.Recording
	open, most int
	err        error
}

func (s *source) Recording(id string) (*report.Recording, func(), error) {
	if s.err != nil {
		return nil, nil, s.err
	}
	r := s.recs[id]
	if r == nil {
		return nil, nil, nil
	}
	s.open++
	s.most = max(s.most, s.open)
	return r, func() { s.open-- }, nil
}

func sourceOf(recs ...*report.Recording) *source {
	s := &source{recs: map[string]*report.Recording{}}
	for _, r := range recs {
		s.recs[r.Header.ID] = r
	}
	return s
}

// memory is a spool.
type memory struct{ bytes.Buffer }

func (m *memory) ReadAt(p []byte, at int64) (int, error) {
	b := m.Bytes()
	if at >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[at:])
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// shopTools are the tools of the shop that most tests record.
func shopTools() []map[string]any {
	schema := func(required ...string) map[string]any {
		props := map[string]any{}
		for _, r := range required {
			props[r] = map[string]any{"type": "string", "description": "The " + r + "."}
		}
		return map[string]any{"type": "object", "properties": props, "required": required}
	}
	return []map[string]any{
		{"name": "find_order", "description": "Looks up one order by its number and returns its lines and its state.", "inputSchema": schema("order"), "annotations": map[string]any{"readOnlyHint": true}},
		{"name": "search_order", "description": "Looks up one order by its number and returns its lines and state.", "inputSchema": schema("order")},
		{"name": "refund", "description": "Refund.", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{"order": map[string]any{}}, "required": []string{"order", "reason"}}},
		{"name": "mail", "inputSchema": schema("to")},
	}
}

const shopSuite = `schemaVersion: sixlink/1
suite: {id: refunds, name: Refund flows}
defaults:
  assertions:
    - {type: noToolErrors}
    - {type: argumentsMatchToolSchema}
    - {type: noRepeatedIdenticalCall, role: advisory, severity: warn}
cases:
  - id: refund-one-order
    title: Refunds the order the user names
    turns:
      - prompt: Refund order 1042
        expectedToolCalls:
          - {toolName: find_order, arguments: {order: "1042"}}
          - {toolName: refund, arguments: {order: "1042", reason: string}}
    matchOptions: {toolCallOrder: strict}
  - id: look-up-order
    title: Looks up an order and says where it is
    turns:
      - prompt: Where is order 7?
        expectedToolCalls: [{toolName: find_order, arguments: {order: "7"}}]
  - id: never-mails
    title: Mails nobody without being asked
    assertions: {mode: extend, list: [{type: toolNeverCalled, toolName: mail}]}
  - id: not-recorded
    title: Nobody has tried this yet
    assertions: [{type: toolCalledAtLeastOnce, toolName: refund}]
`

// shop is a run with trials that pass and that break at several links, by two hosts.
func shop(t testing.TB) ([]*report.Recording, *report.Verdict) {
	t.Helper()
	find := func(order string) playCall {
		return playCall{tool: "find_order", args: `{"order":"` + order + `"}`, result: text(t, "order "+order+": 2 lines, shipped"), ms: 4}
	}
	refund := playCall{tool: "refund", args: `{"order":"1042","reason":"arrived broken"}`, result: text(t, "refunded"), ms: 18}
	denied := playCall{tool: "refund", args: `{"order":"1042","reason":"arrived broken"}`, result: toolError(t, "the ledger is read-only since 09:00"), ms: 30}
	wrong := playCall{tool: "refund", args: `{"order":"1042"}`, fault: `{"code":-32602,"message":"reason is missing"}`, ms: 2}
	trials := []struct {
		name, host string
		calls      []playCall
	}{
		{"refund-one-order", "claude-code", []playCall{find("1042"), refund}},
		{"refund-one-order", "claude-code", []playCall{find("1042"), refund}},
		{"refund-one-order", "claude-code", []playCall{find("1042"), denied}},
		{"refund-one-order", "codex", []playCall{refund, find("1042")}},
		{"refund-one-order", "codex", []playCall{find("1042"), wrong, denied}},
		{"look-up-order", "claude-code", []playCall{find("7")}},
		{"look-up-order", "codex", []playCall{{tool: "search_order", args: `{"order":"7"}`, result: text(t, "shipped"), ms: 3}}},
		{"look-up-order", "codex", []playCall{find("7")}},
		{"never-mails", "claude-code", []playCall{find("9")}},
		{"never-mails", "codex", []playCall{find("9"), {tool: "mail", args: `{"to":"ada@example.org"}`, result: text(t, "sent"), ms: 9}}},
	}
	var recs []*report.Recording
	for i, x := range trials {
		p := &play{id: fmt.Sprintf("r%02d", i), host: x.host, server: "shop", tools: shopTools(), calls: x.calls, stderr: []string{"shop: ready", "shop: request took 3 ms"},
			labels: map[string]string{"case": x.name, "branch": []string{"main", "next"}[i%2]}}
		p.after = time.Duration(i) * time.Hour
		recs = append(recs, p.recording(t))
	}
	var o grade.Overrides
	if err := o.Set(grade.OverridePassThreshold, "0.6"); err != nil {
		t.Fatal(err)
	}
	return recs, graded(t, shopSuite, recs, o)
}

// blocksOf are the blocks of data of a page by their ids.
func blocksOf(t testing.TB, page string) map[string]string {
	t.Helper()
	out := map[string]string{}
	const open = `<script type="application/json" id="`
	for rest := page; ; {
		i := strings.Index(rest, open)
		if i < 0 {
			return out
		}
		rest = rest[i+len(open):]
		id, after, ok := strings.Cut(rest, `">`)
		body, tail, ok2 := strings.Cut(after, "</script>")
		if !ok || !ok2 {
			t.Fatalf("block %.20q does not end", id)
		}
		if _, twice := out[id]; twice {
			t.Fatalf("block %s is there twice", strconv.Quote(id))
		}
		out[id], rest = body, tail
	}
}
