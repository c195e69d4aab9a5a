package grade_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// Evidence can only be lost, never won (grading.md 0.2.6, 0.2.7): whatever is taken
// out of a recording, no row and no trial moves to passed.

// lossy is a fixture of which a part can be taken away.
type lossy struct {
	*fixtures.Recording
	tools []string        // that were called, in order, each once
	calls []*session.Call // of all sessions, as recorded
}

// allFixtures are the recordings, the captures and the cases of lines, and the
// recordings of this test's own.
func allFixtures(t *testing.T) []*lossy {
	t.Helper()
	var list []*fixtures.Recording
	glob := func(elem ...string) []string {
		paths, err := filepath.Glob(filepath.Join(append([]string{fixtures.Dir()}, elem...)...))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%v: %v", elem, err)
		}
		return paths
	}
	for _, path := range glob("recordings", "*"+record.Suffix) {
		list = append(list, readFixture(t, path))
	}
	for _, path := range glob("captures", "*-stdio.jsonl") {
		rs, err := fixtures.Capture(filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			r.Name += " (capture)"
			list = append(list, r)
		}
	}
	for _, file := range []string{"mcpgo-legacy-http.jsonl", "mcpgo-modern-http.jsonl", "mcpgo-sse.jsonl"} {
		r, err := fixtures.HTTPCapture(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	for _, name := range []string{"33-session-404", "35-notification-statuses", "39-mislabelled-body", "43-auth-401", "96-sent-again"} {
		r, err := fixtures.HTTPCase(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	for _, path := range glob("cases", "*", "input*.jsonl") {
		name := filepath.Base(filepath.Dir(path))
		r, err := fixtures.Case(name, filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Records) > 0 {
			r.Name = name + "/" + filepath.Base(path)
			list = append(list, r)
		}
	}
	for name, script := range changing {
		list = append(list, scripted(name, script))
	}
	var out []*lossy
	for _, r := range list {
		l := &lossy{Recording: r}
		seen := map[string]bool{}
		for _, s := range decodeCase(t, r).Sessions {
			for _, c := range s.Calls {
				l.calls = append(l.calls, c)
				if !seen[c.Tool] && c.Tool != "" {
					seen[c.Tool] = true
					l.tools = append(l.tools, c.Tool)
				}
			}
		}
		out = append(out, l)
	}
	return out
}

// readFixture reads a recording into memory.
func readFixture(t *testing.T, path string) *fixtures.Recording {
	t.Helper()
	r, err := record.Open(path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := &fixtures.Recording{Name: strings.TrimSuffix(filepath.Base(path), record.Suffix), Header: *r.Header()}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c := *rec
		c.Data, c.EOL = append([]byte(nil), rec.Data...), append([]byte(nil), rec.EOL...)
		c.Ref = record.Ref{Off: int64(len(out.Records)), Len: int32(len(c.Data))}
		out.Records = append(out.Records, &c)
	}
	if out.State = r.End().State; len(out.Records) == 0 {
		t.Fatalf("%s holds nothing", path)
	}
	return out
}

// changing are sessions in which what was declared, or what a call saw, changes:
// without a part of it the rest looks better. Each line is "> " or "< " and a
// message; the good list has a description, the bad one has none.
var changing = map[string]string{
	"the bad list comes last, no call":            hello + good("l1") + bad("l2"),
	"the bad list comes last, then a call":        hello + good("l1") + bad("l2") + called("1", `{"q":1}`),
	"the bad list comes first, then a call":       hello + bad("l1") + called("1", `{"q":1}`) + good("l2") + called("2", `{"q":1}`),
	"both lists after the call":                   hello + called("1", `{"q":1}`) + good("l1") + bad("l2"),
	"another list, and nothing said so":           hello + good("l1") + called("1", `{"q":1}`) + bad("l2") + called("2", `{}`),
	"two handshakes, the second one fails":        hello + good("l1") + called("1", `{"q":1}`) + strings.ReplaceAll(hello, `"i"`, `"j"`) + bad("l2") + failed("2"),
	"two handshakes, the first one fails":         hello + bad("l1") + failed("1") + strings.ReplaceAll(hello, `"i"`, `"j"`) + good("l2") + called("2", `{"q":1}`),
	"the call's error comes after a cancellation": hello + good("l1") + failed("1") + `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}` + "\n",
	"an orphan after a call without an answer":    hello + good("l1") + `> {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t"}}` + "\n" + `< {"jsonrpc":"2.0","id":"zz","result":{}}` + "\n",
	"a call that the client took back":            hello + good("l1") + `> {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"t"}}` + "\n" + `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}` + "\n" + called("2", `{"q":1}`),
}

const hello = `> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}
< {"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
`

func listed(id, tool string) string {
	return `> {"jsonrpc":"2.0","id":"` + id + `","method":"tools/list"}` + "\n" + `< {"jsonrpc":"2.0","id":"` + id + `","result":{"tools":[` + tool + `]}}` + "\n"
}

func good(id string) string {
	return listed(id, `{"name":"t","description":"Finds things.","annotations":{"readOnlyHint":true,"destructiveHint":false},"outputSchema":{},"inputSchema":{"type":"object","properties":{"q":{"type":"integer","description":"what"}}}}`)
}

func bad(id string) string {
	return listed(id, `{"name":"t","inputSchema":{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}},{"name":"t"},{"name":"u","description":"Deprecated."}`)
}

func called(id, args string) string {
	return `> {"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"t","arguments":` + args + `}}` + "\n" +
		`< {"jsonrpc":"2.0","id":"` + id + `","result":{"content":[{"type":"text","text":"found"}],"structuredContent":{"n":1}}}` + "\n"
}

func failed(id string) string {
	return `> {"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"u","arguments":{"q":"zz9"}}}` + "\n" +
		`< {"jsonrpc":"2.0","id":"` + id + `","result":{"isError":true,"content":[{"type":"text","text":"no"}]}}` + "\n"
}

func scripted(name, script string) *fixtures.Recording {
	r := &fixtures.Recording{Name: name, State: record.Sealed, Header: record.Header{Format: [2]int{1, 0}, ID: name, FirstSeq: 1, Transport: "stdio", Command: []string{"s"}}}
	r.Add(record.Record{Kind: record.KindStart, Start: &record.Start{PID: 1}})
	at := int64(0)
	for line := range strings.Lines(script) {
		at += 1e6
		from := record.Client
		if line[0] == '<' {
			from = record.Server
		}
		r.AddLine(from, at, strings.TrimSpace(line[1:]), "\n")
	}
	code := 0
	r.Add(record.Record{Kind: record.KindClose, At: at + 1e6, Close: &record.Close{Who: record.ByClient, What: record.Stdin}})
	r.Add(record.Record{Kind: record.KindExit, At: at + 2e6, Exit: &record.Exit{Code: &code}})
	return r
}

// rows is a suite whose every check gives a row: all kinds, each so that it holds
// and so that it does not, as far as the fixture can tell.
func (l *lossy) rows() []string {
	a, b := "absent", "absent"
	if n := len(l.tools); n > 0 {
		a, b = l.tools[0], l.tools[n-1]
	}
	var out []string
	add := func(kind string, fields ...string) {
		info, _, _ := predicate.Lookup(kind)
		role := ""
		if info.Observation || kind == "toolCalledWith" { // a gating one is an expectation
			role = `,"role":"advisory"`
		}
		out = append(out, `{"type":"`+kind+`"`+role+strings.Join(append([]string{""}, fields...), ",")+"}")
	}
	name := func(key, tool string) string { return key + ":" + quoted(tool) }
	for _, kind := range []string{"toolDescriptionsPresent", "toolAnnotationsPresent", "toolNamesUnique", "noDeprecatedToolExposed",
		"toolInputSchemasWellFormed", "toolOutputSchemasPresent", "noDeprecatedToolCalled", "noDestructiveToolCalled",
		"argumentsMatchToolSchema", "noRepeatedIdenticalCall", "noToolErrors", "toolErrorNamesInput", "fullPageHasContinuation",
		"finalAssistantMessageNonEmpty", "noEndingQuestion"} {
		add(kind)
	}
	for _, tool := range []string{a, b, "absent"} {
		add("toolCalledAtLeastOnce", name(`"toolName"`, tool))
		add("toolNeverCalled", name(`"toolName"`, tool))
		add("firstToolWas", name(`"toolName"`, tool))
		add("onlyToolsCalled", `"toolNames":[`+quoted(tool)+`]`)
		add("toolCallCountUnder", `"count":2`, name(`"toolName"`, tool))
		add("argumentsMatchToolSchema", name(`"toolName"`, tool))
		add("toolErrorNamesInput", name(`"toolName"`, tool))
		add("noRepeatedIdenticalCall", name(`"toolName"`, tool))
		add("toolCalledWith", name(`"toolName"`, tool), `"args":{"args":{}}`)
		add("toolCalledWith", name(`"toolName"`, tool), `"args":{"args":{"no such":1}}`, `"minCount":2`)
		for _, pattern := range []string{".", "zzz"} {
			for _, bounds := range []string{`"min":1`, `"min":0,"max":0`, `"min":1,"max":1`, `"min":2`} {
				add("toolInputMatches", name(`"toolName"`, tool), `"patterns":["`+pattern+`"]`, bounds)
				add("toolResultMatches", name(`"toolName"`, tool), `"patterns":["`+pattern+`"]`, bounds)
			}
		}
		for _, needle := range []string{"e", "zzz"} {
			add("toolResultContains", name(`"toolName"`, tool), `"needle":"`+needle+`"`)
		}
		for _, schema := range []string{`{}`, `{"type":"object"}`, `{"type":"string"}`} {
			add("toolResultMatchesSchema", name(`"toolName"`, tool), `"schema":`+schema)
		}
		for _, n := range []string{"1", "40", "1000000"} {
			add("toolResultSizeUnder", name(`"toolName"`, tool), `"maxBytes":`+n)
			add("toolLatencyUnder", name(`"toolName"`, tool), `"ms":`+n)
		}
	}
	add("onlyToolsCalled", `"toolNames":[]`)
	add("toolCalledBefore", name(`"toolName"`, a), name(`"beforeToolName"`, b))
	add("toolCalledBefore", name(`"toolName"`, b), name(`"beforeToolName"`, a))
	add("toolCallCountUnder", `"count":`+fmt.Sprint(max(1, len(l.calls))))
	add("toolCallCountUnder", `"count":`+fmt.Sprint(len(l.calls)+1))
	add("toolResultMatches", `"patterns":["."]`, `"min":0`, `"max":`+fmt.Sprint(max(0, len(l.calls)-1)))
	add("toolResultMatches", `"patterns":["."]`, `"min":`+fmt.Sprint(max(1, len(l.calls))))
	add("toolResultContains", `"needle":"e"`)
	add("toolLatencyUnder", `"ms":1`)
	add("toolResultSizeUnder", `"maxBytes":60`)
	add("responseContains", `"needle":"42"`)
	add("responseMatches", `"pattern":"x"`)
	add("responseCloseTo", `"reference":"It is 42."`, `"maxDistance":0.1`)
	add("tokenBudgetUnder", `"tokens":100`)
	add("turnCountUnder", `"turns":2`)
	add("widgetRendered", name(`"toolName"`, a))
	add("widgetRenderLatencyUnder", name(`"toolName"`, a), `"ms":100`)
	add("widgetNoConsoleErrors", name(`"toolName"`, a))
	return out
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// suites are the suites that a fixture is graded with: the rows, each check by
// itself as a gate, and cases whose calls are as recorded, or not.
func (l *lossy) suites(t *testing.T) []*grade.Suite {
	t.Helper()
	load := func(body string) *grade.Suite {
		s, err := grade.LoadSuite("s.json", []byte(`{"schemaVersion":"sixlink/1","suite":{"id":"s"},`+body+`}`), nil)
		if err != nil {
			t.Fatalf("%v in %.200s", err, body)
		}
		return s
	}
	var out []*grade.Suite
	for checks := range slices.Chunk(l.rows(), 50) { // the most that a list may have (grading.md 6.1)
		out = append(out, load(`"defaults":{"assertions":[`+strings.Join(checks, ",")+`]}`))
	}
	expect := func(args bool, calls []*session.Call) string {
		var list []string
		for _, c := range calls {
			e := `{"toolName":` + quoted(c.Tool)
			if b, err := c.Arguments.Bytes(); args && err == nil && len(b) > 0 && len(b) < 10_000 && b[0] == '{' && !strings.Contains(string(b), "e400") {
				e += `,"arguments":` + string(b)
			}
			list = append(list, e+"}")
		}
		return `"turns":[{"prompt":"x","expectedToolCalls":[` + strings.Join(list, ",") + `]}]`
	}
	var calls []*session.Call
	for _, c := range l.calls {
		if c.NameOK && c.Tool != "" && !c.TooDeep {
			calls = append(calls, c)
		}
	}
	swapped := append([]*session.Call(nil), calls...)
	for i, j := 0, len(swapped)-1; i < j; i, j = i+1, j-1 {
		swapped[i], swapped[j] = swapped[j], swapped[i]
	}
	few := calls[:len(calls)/2]
	wrong := `"turns":[{"prompt":"x","expectedToolCalls":[{"toolName":"absent"}]}]`
	other := `"turns":[{"prompt":"x","expectedToolCalls":[{"toolName":"absent"}]}]`
	if len(calls) > 0 {
		other = `"turns":[{"prompt":"x","expectedToolCalls":[{"toolName":` + quoted(calls[0].Tool) + `,"arguments":{"no such":1}}]}]`
	}
	for _, c := range []string{
		expect(true, calls),
		expect(true, calls) + `,"matchOptions":{"argumentMatching":"exact","toolCallOrder":"strict","maxExtraToolCalls":0}`,
		expect(false, swapped) + `,"matchOptions":{"argumentMatching":"ignore","toolCallOrder":"strict"}`,
		expect(false, few) + `,"matchOptions":{"maxExtraToolCalls":0}`,
		expect(false, few) + `,"matchOptions":{"toolCallOrder":"superset"}`,
		expect(false, few[:0]) + `,"matchOptions":{"maxExtraToolCalls":0}`,
		expect(false, few) + `,"isNegativeTest":false,"assertions":[{"type":"noToolErrors"},{"type":"toolNeverCalled","toolName":"absent"}]`,
		`"turns":[{"prompt":"x"}],"isNegativeTest":true`,
		`"turns":[{"prompt":"x"},{"prompt":"y","assertions":[{"type":"toolNeverCalled","toolName":"absent"}]}],"isNegativeTest":true`,
		wrong, other,
	} {
		out = append(out, load(`"cases":[{"id":"c",`+c+`}]`))
	}
	return out
}

// talk is a whole conversation, in which every turn was finished.
func talk() *predicate.Conversation {
	const c = session.Complete
	return &predicate.Conversation{FinalTextState: c, TurnsState: c, UsageState: c, RenderState: c,
		FinalText: "It is 42.", HasFinalText: true, TurnCount: 1, TurnCountKnown: true,
		Usage: &predicate.Usage{Input: 10, Output: 5, Total: 15},
		Turns: []predicate.Turn{{Prompt: "x", FinalText: "It is 42.", HasFinalText: true, Finished: true}}}
}

// outcome is what one session gave by one suite.
type outcome struct {
	session *session.Session
	skipped bool
	word    grade.Word
	rows    []grade.Row
}

// grades grades the sessions with every suite, with or without a conversation.
func grades(t *testing.T, suites []*grade.Suite, sessions []*session.Session, talks func() *predicate.Conversation) [][]outcome {
	t.Helper()
	var out [][]outcome
	for _, s := range suites {
		o := grade.Options{}
		if len(s.Cases) > 0 {
			o.Case = "c"
		}
		rec := grade.Recording{ID: "r", Sessions: sessions, Talks: map[string]*predicate.Conversation{}}
		for _, s := range sessions {
			if talks != nil {
				rec.Talks[s.ID] = talks()
			}
		}
		v, err := grade.Grade(s, []grade.Recording{rec}, o)
		if err != nil {
			t.Fatal(err)
		}
		list := make([]outcome, len(sessions))
		for i, x := range sessions {
			list[i] = outcome{session: x, skipped: true}
			for _, c := range v.Cases {
				for _, tr := range c.Trials {
					if tr.Session == x.ID {
						list[i] = outcome{session: x, word: tr.Word, rows: tr.Rows}
					}
				}
			}
		}
		out = append(out, list)
	}
	return out
}

// counterpart is what became of a session before the loss. joined says that two
// sessions of then are one now: the handshake between them is lost, and what one of
// them lacks the other one has.
func counterpart(before []outcome, s *session.Session) (found outcome, joined bool) {
	mine := func(b *session.Session) bool {
		if len(s.Calls) == 0 {
			return b.FirstSeq <= s.LastSeq && s.FirstSeq <= b.LastSeq
		}
		return slices.ContainsFunc(b.Calls, func(c *session.Call) bool {
			return slices.ContainsFunc(s.Calls, func(o *session.Call) bool {
				// The first attempt may be among what is lost.
				return o.Index == c.Index && slices.ContainsFunc(c.Attempts, func(a *session.Exchange) bool { return a.Seq == o.Seq })
			})
		})
	}
	for _, b := range before {
		if mine(b.session) {
			joined = joined || found.session != nil
			found = b
		}
	}
	return found, joined
}

// won lists the rows and trials of after that pass and did not in before.
func won(before, after [][]outcome) (out []string) {
	for i := range after {
		for j := range after[i] {
			a := after[i][j]
			if a.skipped {
				continue
			}
			b, joined := counterpart(before[i], a.session)
			if joined {
				continue
			}
			if a.word == grade.Passed && b.word != grade.Passed {
				out = append(out, fmt.Sprintf("suite %d, session %d: the trial passes, it was %q", i, j+1, b.word))
			}
			for k, r := range a.rows {
				if r.Result != predicate.Pass {
					continue
				}
				was := "no row"
				if k < len(b.rows) && b.rows[k].Name == r.Name {
					if b.rows[k].Result == predicate.Pass {
						continue
					}
					was = string(b.rows[k].Result) + " (" + b.rows[k].Reason + ")"
				}
				out = append(out, fmt.Sprintf("suite %d, session %d, row %d: %s passes (%s), it was %s", i, j+1, k, r.Name, r.Reason, was))
			}
		}
	}
	return out
}

// decodeLoss decodes what is left of a fixture.
func (l *lossy) decodeLoss(t *testing.T, records []*record.Record, state record.State) []*session.Session {
	t.Helper()
	left := fixtures.Recording{Records: records}
	res, err := session.Decode(&l.Header, left.Next(), l, session.Options{End: func() (record.State, bool) { return state, state == record.Torn }})
	if err != nil {
		t.Fatal(err)
	}
	return res.Sessions
}

// hole is the gap that stands for records which were not kept (record/FORMAT.md).
func hole(lost []*record.Record) *record.Record {
	last := lost[len(lost)-1]
	g := &record.Gap{FirstSeq: lost[0].Seq, LastSeq: last.Seq, Why: "test"}
	for _, r := range lost {
		if r.Exchange != 0 && r.From != "" {
			if g.HTTP == nil {
				g.HTTP = map[record.From]record.GapHTTP{}
			}
			h := g.HTTP[r.From]
			g.HTTP[r.From] = record.GapHTTP{Records: h.Records + 1, Bytes: h.Bytes + int64(len(r.Data)+len(r.EOL))}
		}
		if r.Kind != record.KindFrame {
			continue
		}
		if g.Streams == nil {
			g.Streams = map[record.From]record.GapStream{}
		}
		s, ok := g.Streams[r.From]
		if !ok {
			s.Off = r.Off
		}
		s.Bytes += int64(len(r.Data) + len(r.EOL))
		s.Frames++
		g.Streams[r.From] = s
	}
	return &record.Record{Kind: record.KindGap, Seq: last.Seq, At: last.At, Gap: g}
}

// losses are the fixtures with a part taken away, each with what was done to it.
//
// All of a small one is tried; of a large one a sample, of which the seed is fixed.
func (l *lossy) losses(t *testing.T, each func(what string, sessions []*session.Session)) {
	n := len(l.Records)
	r := rand.New(rand.NewPCG(uint64(n), 7))
	most, size := lossSample, 0
	for _, rec := range l.Records {
		size += len(rec.Data)
	}
	if size > 200_000 || strings.HasSuffix(l.Name, "(capture)") { // the recordings are of the captures
		most = min(most, 2)
		if size > 200_000 && lossSample < 10 {
			most, n = 1, min(n, 20) // it alone takes as long as all others
		}
	}
	cut := func(i, j int) []*record.Record {
		out := append([]*record.Record(nil), l.Records[:i]...)
		return append(append(out, hole(l.Records[i:j])), l.Records[j:]...)
	}
	for i := range n {
		if r.IntN(n) >= most {
			continue
		}
		each(fmt.Sprintf("without record %d", l.Records[i].Seq), l.decodeLoss(t, cut(i, i+1), l.State))
		each(fmt.Sprintf("torn before record %d", l.Records[i].Seq), l.decodeLoss(t, l.Records[:i], record.Torn))
		if i > 0 {
			each(fmt.Sprintf("without the records before %d", l.Records[i].Seq), l.decodeLoss(t, cut(0, i), l.State))
			// A segment that is missing altogether: no gap, a later first seq.
			each(fmt.Sprintf("begun at record %d", l.Records[i].Seq), l.decodeLoss(t, l.Records[i:], l.State))
		}
	}
	for range min(max(most/3, 2), n) {
		i := r.IntN(n)
		j := i + 1 + r.IntN(n-i)
		each(fmt.Sprintf("without records %d to %d", l.Records[i].Seq, l.Records[j-1].Seq), l.decodeLoss(t, cut(i, j), l.State))
	}
}

func TestNothingIsWonByLosingRecords(t *testing.T) {
	if raceOn {
		t.Skip("one goroutine grades thousands of times: without the race detector")
	}
	seen := map[string]bool{}
	for _, l := range allFixtures(t) {
		t.Run(l.Name, func(t *testing.T) {
			suites := l.suites(t)
			for _, host := range []struct {
				name string
				talk func() *predicate.Conversation
			}{{"", nil}, {" (with a conversation)", talk}} {
				before := grades(t, suites, decodeCase(t, l.Recording).Sessions, host.talk)
				for _, list := range before {
					for _, o := range list {
						for _, r := range o.rows {
							seen[r.Name+" "+string(r.Result)] = true
						}
					}
				}
				told := 0
				l.losses(t, func(what string, sessions []*session.Session) {
					for _, w := range won(before, grades(t, suites, sessions, host.talk)) {
						if told++; told <= 200 {
							t.Errorf("%s%s: %s", what, host.name, w)
						}
					}
				})
			}
		})
	}
	// The test shows something only of kinds that were seen to hold and not to hold.
	for _, kind := range predicate.Names() {
		if info, _, _ := predicate.Lookup(kind); info.Link == predicate.UserValue {
			continue // no record of the wire is evidence for these
		}
		if !seen[kind+" pass"] || !seen[kind+" fail"] {
			t.Errorf("no fixture shows %s pass and fail", kind)
		}
	}
}

// The same for a channel that is lost whole, or known to be partial.
func TestNothingIsWonByLosingAChannel(t *testing.T) {
	type loss struct {
		name string
		lose func(s *session.Session, c *predicate.Conversation, state session.CaptureState)
	}
	losses := []loss{
		{"toolCalls", func(s *session.Session, _ *predicate.Conversation, state session.CaptureState) {
			// Which list is the declared one hangs on the calls.
			s.Capture.ToolCalls, s.Capture.ToolDeclarations = state, state
			s.Calls = s.Calls[:len(s.Calls)/2]
		}},
		{"toolCalls, none left", func(s *session.Session, _ *predicate.Conversation, state session.CaptureState) {
			s.Capture.ToolCalls, s.Capture.ToolDeclarations = state, state
			s.Calls = nil
		}},
		{"toolErrors", func(s *session.Session, _ *predicate.Conversation, state session.CaptureState) {
			// What is not known to be an error is an answer that was not seen.
			s.Capture.ToolErrors, s.Capture.ToolResults = state, state
			for _, c := range s.Calls {
				c.Error, c.ErrorText = nil, ""
				if c.State == session.CallToolError || c.State == session.CallProtocolError || c.State == session.CallMalformed {
					c.State, c.Result = session.CallPending, session.Value{}
				}
			}
		}},
		{"toolResults", func(s *session.Session, _ *predicate.Conversation, state session.CaptureState) {
			s.Capture.ToolResults = state
			for _, c := range s.Calls {
				c.Result = session.Value{}
			}
		}},
		{"toolCallTimings", func(s *session.Session, _ *predicate.Conversation, state session.CaptureState) {
			s.Capture.ToolCallTimings = state
			for _, c := range s.Calls {
				c.AnswerAt = 0
			}
		}},
		{"toolInventory", func(s *session.Session, _ *predicate.Conversation, state session.CaptureState) {
			s.Capture.ToolInventory = state
			for _, c := range s.Calls {
				c.Catalog = nil
			}
		}},
		{"toolDeclarations", func(s *session.Session, _ *predicate.Conversation, state session.CaptureState) {
			s.Capture.ToolDeclarations = state
			s.Lists = nil
			for _, c := range s.Calls {
				c.Catalog = nil
			}
		}},
		{"finalText", func(_ *session.Session, c *predicate.Conversation, state session.CaptureState) {
			c.FinalTextState, c.FinalText, c.HasFinalText = state, "", false
		}},
		{"turns", func(_ *session.Session, c *predicate.Conversation, state session.CaptureState) {
			c.TurnsState, c.Turns, c.TurnCountKnown = state, nil, false
		}},
		{"usage", func(_ *session.Session, c *predicate.Conversation, state session.CaptureState) {
			c.UsageState, c.Usage = state, nil
		}},
		{"renderObservations", func(_ *session.Session, c *predicate.Conversation, state session.CaptureState) {
			c.RenderState, c.Renders = state, nil
		}},
	}
	for _, l := range allFixtures(t) {
		if strings.HasSuffix(l.Name, "(capture)") {
			continue // the recordings are of these
		}
		t.Run(l.Name, func(t *testing.T) {
			suites := l.suites(t)
			before := grades(t, suites, decodeCase(t, l.Recording).Sessions, talk)
			for _, x := range losses {
				for _, state := range []session.CaptureState{session.Partial, session.Absent, ""}[:lossStates] {
					sessions := decodeCase(t, l.Recording).Sessions
					for _, s := range sessions {
						x.lose(s, talk(), state)
					}
					after := grades(t, suites, sessions, func() *predicate.Conversation {
						c := talk()
						x.lose(&session.Session{}, c, state)
						return c
					})
					for i, w := range won(before, after) {
						if i < 10 {
							t.Errorf("%s %q: %s", x.name, state, w)
						}
					}
				}
			}
		})
	}
}
