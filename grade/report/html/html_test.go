package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
)

// keep lays a page down for who wants to look at it: SIXLINK_KEEP=FOLDER go test.
func keep(t testing.TB, page []byte) {
	if dir := os.Getenv("SIXLINK_KEEP"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, t.Name()+".html"), page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func shopPage(t testing.TB) string {
	t.Helper()
	recs, v := shop(t)
	var out bytes.Buffer
	if err := Write(&out, v, Options{Options: report.Options{Source: sourceOf(recs...), Earlier: []report.RunPoint{
		{Name: "run 11", Passed: 5, Eligible: 8, Trials: 8}, {Name: "run 12", SuiteHash: v.SuiteHash, Passed: 6, Eligible: 10, Trials: 10},
		{Name: "run 13", Passed: 7, Eligible: 9, Trials: 10}, {Name: "run 14", SuiteHash: v.SuiteHash, Passed: 7, Eligible: 10, Trials: 10}}}}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// decode reads a block as the script does.
func decode[T any](t testing.TB, blocks map[string]string, id string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(blocks[id]), &v); err != nil {
		t.Fatalf("block %s: %v", id, err)
	}
	return v
}

// What a run's page says at once, and what its lists are made of.
func TestShop(t *testing.T) {
	page := shopPage(t)
	keep(t, []byte(page))
	for _, want := range []string{
		"<title>failed: refunds (sixlink report)</title>",
		`<span class="sentence">2 of 4 cases failed; of 5 trials that broke, 4 broke first at selection.</span>`,
		"50 % pass rate: 5 of 10 trials; 95 % interval 24 to 76 %.",
		"a case has no trial",
		`<span class="st notMeasured">5 not measured</span>`,
		`<span class="cover none" title="">not measured: no check looks here</span>`,
		`<span class="cover runnerOnly" title="connection.success">built-in check only</span>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	blocks := blocksOf(t, page)
	run := decode[runData](t, blocks, "run")
	if len(run.Cases) != 4 || len(run.Trials) != 10 || len(run.Earlier) != 3 || run.Earlier[0].Name != "run 12" {
		t.Errorf("%d cases, %d trials, earlier %+v", len(run.Cases), len(run.Trials), run.Earlier)
	}
	if c := run.Cases[0]; c.Breaks != [6]int{0, 0, 2, 0, 1, 0} || len(c.Overridden) != 1 || c.Overridden[0] != "passThreshold" || c.Where != "suite.yaml:9" {
		t.Errorf("first case: %+v", c)
	}
	if c := decode[restData](t, blocks, "rest").Catalogs; len(c) != 1 || c[0].Uses != 10 || c[0].Tools != 4 {
		t.Errorf("ten sessions share one catalog: %+v", c)
	}
	if names := matrixNames(run.Matrices); names != "host: claude-code, codex; server: shop 2; label:branch: main, next" {
		t.Errorf("matrices %s", names)
	}
	if c := run.Matrices[0].Rows[0].Cells[1]; c.Dots != "ff" || c.Passed != 0 || c.Eligible != 2 || c.Median == nil {
		t.Errorf("codex in the first case: %+v", c)
	}
	var hosts []string
	for _, x := range run.Trials {
		hosts = append(hosts, run.Hosts[x.Host])
		if len(x.States) != 6 || x.Start == "" || x.Ms == 0 || x.Calls == 0 {
			t.Errorf("%+v", x)
		}
	}
	if got := strings.Join(hosts[:4], " "); got != "claude-code 1 claude-code 1 claude-code 1 codex 1" {
		t.Errorf("hosts %s", got)
	}
	// The trial in which the host left an argument out, and the server said so.
	trial, sess := decode[trialData](t, blocks, "t4"), decode[sessionData](t, blocks, "s4")
	if run.Trials[4].Break != 2 || trial.Category != "selection" {
		t.Errorf("trial 4: %+v, %s", run.Trials[4], trial.Category)
	}
	var classes []string
	for _, r := range trial.Rows {
		for _, d := range r.Diff {
			classes = append(classes, d.Class+" "+d.Tool)
		}
	}
	if got := strings.Join(classes, ", "); got != "outOfOrder refund, extra refund" {
		t.Errorf("differences: %s", got)
	}
	c := sess.Calls[1]
	if len(c.Schema) != 1 || !strings.Contains(c.Schema[0], "reason") || c.State != "protocolError" || c.Error != "-32602 reason is missing" || !c.Bad || c.Args.Text != `{"order":"1042"}` || c.Took == nil || *c.Took != 3 {
		t.Errorf("the call without a reason: %+v", c)
	}
	if got := fmt.Sprint(c.Records); got != "[{8 request} {9 answer}]" {
		t.Errorf("records %s", got)
	}
	if len(sess.Stderr) != 2 {
		t.Errorf("stderr %+v", sess.Stderr)
	}
}

func matrixNames(list []matrixData) string {
	var out []string
	for _, m := range list {
		var groups []string
		for _, g := range m.Groups {
			groups = append(groups, g.Name)
		}
		out = append(out, m.By+": "+strings.Join(groups, ", "))
	}
	return strings.Join(out, "; ")
}

// A page is one file: nothing in it loads anything, and its policy names what it runs.
func TestPolicy(t *testing.T) {
	page := shopPage(t)
	_, rest, _ := strings.Cut(page, `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ := strings.Cut(rest, `"`)
	policy = strings.ReplaceAll(strings.ReplaceAll(policy, "&#39;", "'"), "&#43;", "+")
	sum := func(open, end string) string {
		_, rest, ok := strings.Cut(page, open)
		body, _, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("no %s", open)
		}
		h := sha256.Sum256([]byte(body))
		return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
	}
	want := "default-src 'none'; script-src " + sum("<script>", "</script>") + "; style-src " + sum("<style>", "</style>") +
		"; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	if policy != want {
		t.Errorf("policy\n%s\nwant\n%s", policy, want)
	}
	if n := strings.Count(page, "<script>"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	// Before the first block is all markup that Go makes.
	markup, _, _ := strings.Cut(page, `<script type="application/json"`)
	if m := regexp.MustCompile(`(?i)\s(src|srcset|style|on[a-z]+|action|formaction|background|data|poster)\s*=|<(link|img|iframe|object|embed|base|form|svg)\b|https?:|@import|url\(`).FindAllString(markup, -1); m != nil {
		t.Errorf("the markup has %q", m)
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "createContextualFragment", "DOMParser", "setTimeout(", "fetch(", "XMLHttpRequest", "import(", `"style"`, "</script", "<!--"} {
		if strings.Contains(script, bad) {
			t.Errorf("the script has %s", bad)
		}
	}
}

// hostile is what a stranger may put into every text: markup, ends of blocks and of
// attributes, what a terminal obeys, what reorders or hides text, and invalid UTF-8.
const hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>'\"`{{.}}\\u003c\x1b[31m\x00\r\u202eevil\u2066\u200b\ufeff\u2028\U000e0041]]>&lt;&#x3c;javascript:alert(3)\xff\xed\xa0\x80"

// hostileJSON is the same as far as JSON on the wire can hold it.
var hostileJSON = strings.ToValidUTF8(hostile, "\ufffd")

// hostileRun is a run with hostile texts wherever a stranger can put one.
func hostileRun(t testing.TB) (*report.Recording, *report.Verdict) {
	t.Helper()
	tools := []map[string]any{{"name": hostileJSON, "description": hostileJSON + strings.Repeat(" long", 600), "annotations": map[string]any{hostileJSON: hostileJSON},
		"inputSchema":  map[string]any{"type": "object", "properties": map[string]any{hostileJSON: map[string]any{"enum": []string{hostileJSON}}}, "required": []string{hostileJSON, "other"}},
		"outputSchema": map[string]any{"type": hostileJSON}}, {"name": hostileJSON, "description": hostileJSON}}
	arg := quoted(t, map[string]any{hostileJSON: hostileJSON})
	talk := quoted(t, map[string]any{"kind": "conversation", "schema": "sixlink-conversation/1.0", "host": map[string]any{"name": hostileJSON, "version": hostileJSON}, "models": []string{hostileJSON}, "notes": []map[string]any{{"kind": "x", "text": hostileJSON}}}) + "\n" +
		quoted(t, map[string]any{"kind": "turn", "prompts": []map[string]any{{"text": hostileJSON}}, "finalText": hostileJSON, "status": "error", "error": hostileJSON}) + "\n" +
		quoted(t, map[string]any{"kind": "call", "turn": 0, "hostCallId": "use0", "name": hostileJSON, "denied": hostileJSON})
	p := &play{id: hostile, host: hostileJSON, server: hostileJSON, tools: tools, labels: map[string]string{"case": "bad", hostile: hostile},
		calls:  []playCall{{tool: hostileJSON, args: arg, result: toolError(t, hostileJSON)}, {tool: hostileJSON + "2", args: arg, fault: `{"code":-1,"message":` + quoted(t, hostileJSON) + `}`}},
		stderr: []string{hostile}, talk: talk}
	rec := p.recording(t)
	rec.Path = "dir/" + hostile
	rec.End.Damage = errors.New(hostile)
	suite := "schemaVersion: sixlink/1\nsuite: {id: bad}\ncases:\n  - id: bad\n    title: " + quoted(t, strings.ReplaceAll(hostileJSON, "\x00", "")) +
		"\n    assertions: [{type: toolResultContains, needle: " + quoted(t, hostileJSON) + "}, {type: noToolErrors}]\n    turns: [{prompt: x, expectedToolCalls: [{toolName: " + quoted(t, hostileJSON) + "}]}]\n"
	v := graded(t, suite, []*report.Recording{rec}, grade.Overrides{})
	v.Reasons = append(v.Reasons, hostile)
	v.SuiteFiles = []string{hostile}
	v.Skipped = append(v.Skipped, report.Skipped{Recording: hostile, Session: hostile, Why: hostile, Detail: hostile, Path: hostile})
	return rec, v
}

func TestNothingBreaksOut(t *testing.T) {
	rec, v := hostileRun(t)
	broken := sourceOf()
	broken.err = errors.New(hostile)
	pages := map[string]func(w io.Writer) error{
		"verdict": func(w io.Writer) error {
			return Write(w, v, Options{Options: report.Options{Source: sourceOf(rec), Earlier: []report.RunPoint{{Name: hostile}}}})
		},
		"unreadable": func(w io.Writer) error { return Write(w, v, Options{Options: report.Options{Source: broken}}) },
		"recording":  func(w io.Writer) error { return WriteRecording(w, rec, Options{}) },
	}
	for name, write := range pages {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			keep(t, out.Bytes())
			page := out.String()
			if !utf8.ValidString(page) {
				t.Error("the page is no valid UTF-8")
			}
			for _, r := range page {
				if r != '\n' && visible.Hidden(r) {
					t.Errorf("the page has %U as it is", r)
					break
				}
			}
			blocks := blocksOf(t, page)
			if n := strings.Count(page, "<script"); n != len(blocks)+1 {
				t.Errorf("%d scripts, %d blocks", n, len(blocks))
			}
			for id, b := range blocks {
				if strings.ContainsAny(b, "<>&\u2028\u2029") {
					t.Errorf("block %s has markup: %.100q", id, b)
				}
				eachString(t, b, func(s string) {
					for _, r := range s {
						if r != '\n' && r != '\t' && visible.Hidden(r) {
							t.Errorf("block %s would show %U: %q", id, r, s)
							return
						}
					}
				})
			}
			// The markup before the blocks holds the texts as texts.
			markup, _, _ := strings.Cut(page, `<script type="application/json"`)
			_, markup, _ = strings.Cut(markup, "</style>")
			for _, bad := range []string{"<img", "alert(1)</script", "<!--"} {
				if strings.Contains(markup, bad) {
					t.Errorf("the markup has %s", bad)
				}
			}
			all := strings.Join([]string{blocks["run"], blocks["t0"], blocks["s0"], blocks["c0"], blocks["rest"]}, "\n")
			if name != "unreadable" && strings.Count(all, "alert(2)") < 15 {
				t.Errorf("the texts are not shown: alert(2) %d times", strings.Count(all, "alert(2)"))
			}
		})
	}
}

// eachString calls do for each string and name of a JSON text.
func eachString(t *testing.T, text string, do func(s string)) {
	t.Helper()
	dec := jsontext.NewDecoder(strings.NewReader(text))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if tok.Kind() == '"' {
			do(tok.String())
		}
	}
}

// The same verdict and recordings give the same bytes; without the recordings the page
// still shows the whole verdict.
func TestBytesAreTheSame(t *testing.T) {
	first := shopPage(t)
	for range 3 {
		if again := shopPage(t); again != first {
			t.Fatal("another page")
		}
	}
	_, v := shop(t)
	var out, stored bytes.Buffer
	if err := Write(&out, v, Options{}); err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf(t, out.String())
	if blocks["t9"] == "" || blocks["s0"] != "" || blocks["c0"] != "" {
		t.Errorf("blocks of a page without recordings: %d", len(blocks))
	}
	// Read back from its JSON it is the same page, but for what is in no JSON.
	v.Paths, v.SuiteFiles = nil, nil
	out.Reset()
	if err := Write(&out, v, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := report.JSON(&stored, v); err != nil {
		t.Fatal(err)
	}
	back, err := report.Read(bytes.NewReader(stored.Bytes()), int64(stored.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var second bytes.Buffer
	if err := Write(&second, back, Options{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), second.Bytes()) {
		t.Error("the verdict read back gives another page")
	}
}

// lazy has recordings by the thousand: one that is good and one that is not, decoded
// once, under many ids.
type lazy struct {
	t         testing.TB
	calls     int
	open      int
	good, bad *report.Recording
}

func (l *lazy) play(i int) *report.Recording {
	kept := &l.good
	if i%7 == 0 {
		kept = &l.bad
	}
	if *kept == nil {
		*kept = l.decode(i)
	}
	rec := **kept
	h := *rec.Header
	h.ID, h.Labels = fmt.Sprintf("r%05d", i), map[string]string{"case": fmt.Sprintf("c%02d", i%20)}
	rec.Header, rec.Path = &h, h.ID
	return &rec
}

func (l *lazy) decode(i int) *report.Recording {
	p := &play{host: "host", server: "shop", tools: shopTools()}
	for k := range l.calls {
		result := text(l.t, strings.Repeat("line of an order ", 50))
		if i%7 == 0 && k == l.calls-1 {
			result = toolError(l.t, "the ledger is read-only")
		}
		p.calls = append(p.calls, playCall{tool: "find_order", args: fmt.Sprintf(`{"order":"%d-%d"}`, i, k), result: result, ms: int64(k % 5)})
	}
	return p.recording(l.t)
}

func (l *lazy) Recording(id string) (*report.Recording, func(), error) {
	var i int
	if _, err := fmt.Sscanf(id, "r%d", &i); err != nil {
		return nil, nil, err
	}
	l.open++
	return l.play(i), func() { l.open-- }, nil
}

func many(t testing.TB, trials, calls int) (*report.Verdict, *lazy) {
	l := &lazy{t: t, calls: calls}
	suite := "schemaVersion: sixlink/1\nsuite: {id: many}\ncases:\n"
	for i := range 20 {
		suite += fmt.Sprintf("  - {id: c%02d, assertions: [{type: noToolErrors}, {type: argumentsMatchToolSchema}]}\n", i)
	}
	s, err := grade.LoadSuite("suite.yaml", []byte(suite), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grade.NewGrader(s, grade.Options{Spool: &memory{}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		r := l.play(i)
		g.Add(&grade.Recording{ID: r.Header.ID, Path: r.Path, Labels: r.Header.Labels, Sessions: r.Sessions, Clock: r.Clock})
	}
	v, err := g.Verdict()
	if err != nil {
		t.Fatal(err)
	}
	return report.Of(v), l
}

// heap counts bytes and watches the heap while they are written.
type heap struct {
	n    int64
	next int64
	most uint64
}

func (h *heap) Write(p []byte) (int, error) {
	if h.n += int64(len(p)); h.n >= h.next {
		h.next = h.n + 1<<20
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		h.most = max(h.most, m.HeapAlloc)
	}
	return len(p), nil
}

// 5,000 trials take little more memory than their lines in lists, and one recording at a
// time is open.
func TestManyTrials(t *testing.T) {
	if raceOn {
		t.Skip("starts no goroutine, and its memory is another one's under the race detector")
	}
	const trials = 5000
	v, l := many(t, trials, 1)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := &heap{}
	if err := Write(w, v, Options{Options: report.Options{Source: l}}); err != nil {
		t.Fatal(err)
	}
	if l.open != 0 {
		t.Errorf("%d recordings are still open", l.open)
	}
	if grown := int64(w.most) - int64(before.HeapAlloc); grown > trials*4<<10 {
		t.Errorf("the heap grew by %d bytes, %d a trial", grown, grown/trials)
	}
	if w.n > trials*8<<10 {
		t.Errorf("%d bytes, %d a trial", w.n, w.n/trials)
	}
}

// Past the bound texts are left out by their size, said so, and every call is still there.
func TestDetailIsBounded(t *testing.T) {
	v, l := many(t, 40, 10)
	var out bytes.Buffer
	if err := Write(&out, v, Options{Options: report.Options{Source: l}, MaxDetail: 20 << 10}); err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf(t, out.String())
	if !decode[restData](t, blocks, "rest").Cut {
		t.Error("the page does not say that texts were left out")
	}
	var texts int
	for i := range 40 {
		s := decode[sessionData](t, blocks, fmt.Sprintf("s%d", i))
		if len(s.Calls) != 10 {
			t.Fatalf("session %d has %d calls", i, len(s.Calls))
		}
		for _, c := range s.Calls {
			texts += len(c.Args.Text) + len(c.Result.Text)
			if c.Result.Text == "" && c.Result.Size == 0 {
				t.Fatalf("a result was left out without its size: %+v", c)
			}
		}
	}
	if texts > 20<<10 || texts == 0 {
		t.Errorf("%d bytes of texts", texts)
	}
}

// A recording without a suite: the same trial view.
func TestRecording(t *testing.T) {
	recs, _ := shop(t)
	var out bytes.Buffer
	if err := WriteRecording(&out, recs[2], Options{}); err != nil {
		t.Fatal(err)
	}
	keep(t, out.Bytes())
	blocks := blocksOf(t, out.String())
	run, trial, sess := decode[runData](t, blocks, "run"), decode[trialData](t, blocks, "t0"), decode[sessionData](t, blocks, "s0")
	if run.Mode != "recording" || len(run.Trials) != 1 || run.Trials[0].Break != 4 || len(trial.Runner) == 0 || len(sess.Calls) != 2 || len(run.Cases) != 0 {
		t.Errorf("%+v %+v", run, trial)
	}
	if !strings.Contains(out.String(), "The session broke first at response.") {
		t.Error("the page does not say where it broke")
	}
	empty := *recs[0]
	empty.Sessions = nil
	out.Reset()
	if err := WriteRecording(&out, &empty, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "The recording holds no session.") {
		t.Error("an empty recording is not said to be one")
	}
}

// conversation is a recording with a transcript of two turns.
func conversation(t testing.TB) *report.Recording {
	t.Helper()
	p := &play{id: "r", host: "claude-code", server: "shop", tools: shopTools(), talk: `{"kind":"conversation","schema":"sixlink-conversation/1.0","host":{"name":"claude-code","version":"2.1"},"models":["model-x"]}
{"kind":"turn","prompts":[{"text":"Where is order 7?"}],"finalText":"It was shipped.","status":"complete"}
{"kind":"call","turn":0,"hostCallId":"use0","name":"mcp__shop__find_order","server":"shop","tool":{"raw":"find_order"}}
{"kind":"call","turn":0,"hostCallId":"other","name":"mcp__shop__mail","server":"shop","tool":{"raw":"mail"},"denied":"user-rejected"}
{"kind":"turn","prompts":[{"text":"Thanks."}],"finalText":""}
`, calls: []playCall{{tool: "find_order", args: `{"order":"7"}`, result: text(t, "shipped")}}}
	return p.recording(t)
}

// The conversation stands beside the calls that it is joined with.
func TestConversation(t *testing.T) {
	rec := conversation(t)
	var out bytes.Buffer
	if err := WriteRecording(&out, rec, Options{}); err != nil {
		t.Fatal(err)
	}
	keep(t, out.Bytes())
	s := decode[sessionData](t, blocksOf(t, out.String()), "s0")
	if s.Talk == nil || len(s.Talk.Turns) != 2 || s.Calls[0].Turn != 1 || s.Talk.State != "joined" {
		t.Fatalf("%+v", s.Talk)
	}
	first, second := s.Talk.Turns[0], s.Talk.Turns[1]
	if first.Prompts[0].Text != "Where is order 7?" || first.Final.Text != "It was shipped." || fmt.Sprint(first.Calls) != "[{find_order 0 } {mail -1 denied: user-rejected}]" {
		t.Errorf("%+v", first)
	}
	if second.State != "empty" || second.Final != nil {
		t.Errorf("%+v", second)
	}
}

// Every state, reason and class that can stand in a verdict has its words.
func TestWords(t *testing.T) {
	words, err := assets.ReadFile("assets/words.js")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range []chain.Reason{chain.Observed, chain.ImpliedByLater, chain.NoEvidenceCaptured, chain.TraceAbsent, chain.MatchVerdictMissing, chain.EgressUnverified, chain.SetupAborted,
		chain.AuthRequired, chain.LifecycleStopped, chain.BlockedByPolicy, chain.EvaluatorError, chain.ProviderError, chain.NotAuthored, chain.EarlierStageFailed, chain.ConnectFailed,
		chain.ToolsListFailed, chain.MissingToolCall, chain.UnexpectedToolCall, chain.CallsOutOfOrder, chain.UnknownTool, chain.ArgumentMismatch, chain.ReasonToolError,
		chain.ReasonProtocolError, chain.RenderFailed, chain.ReasonPredicateFailed} {
		all = append(all, string(r))
	}
	for _, s := range []session.CallState{session.CallResult, session.CallToolError, session.CallProtocolError, session.CallMalformed, session.CallInputRequired, session.CallTaskHandle,
		session.CallCancelled, session.CallClientTimeout, session.CallNeverAnswered, session.CallConnectionDrop, session.CallClientGone, session.CallUndelivered, session.CallPending, session.CallNoID} {
		all = append(all, string(s))
	}
	for _, l := range chain.Order {
		all = append(all, string(l))
	}
	for s := range stateLetters {
		all = append(all, string(s))
	}
	all = append(all, grade.OverrideArguments, grade.OverrideOrder, grade.OverrideMaxExtra, grade.OverridePassThreshold)
	for _, w := range all {
		if !regexp.MustCompile(`[ {]` + w + `: `).Match(words) {
			t.Errorf("words.js has no words for %s", w)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	v, l := many(b, 1000, 50)
	b.ReportAllocs()
	for b.Loop() {
		w := &heap{next: 1 << 62}
		if err := Write(w, v, Options{Options: report.Options{Source: l}}); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(w.n)
	}
}

// twoServers is a trial over two recordings, and what is lost of a third.
func twoServers(t testing.TB) ([]*report.Recording, *report.Verdict) {
	t.Helper()
	var recs []*report.Recording
	for i, server := range []string{"shop", "mail"} {
		result := text(t, "done")
		if server == "mail" {
			result = toolError(t, "the mailbox is full")
		}
		p := &play{id: "rec-" + server, host: "host", server: server, tools: shopTools(), labels: map[string]string{"trial": "1", "server": server},
			calls: []playCall{{tool: "find_order", args: `{"order":"1"}`, result: result}}, after: time.Duration(i) * time.Second}
		recs = append(recs, p.recording(t))
	}
	return recs, graded(t, "schemaVersion: sixlink/1\nsuite: {id: two}\ndefaults:\n  assertions: [{type: noToolErrors}]\n", recs, grade.Overrides{})
}

// Records of a trial over several recordings lead to the one that has them.
func TestSeveralServers(t *testing.T) {
	recs, v := twoServers(t)
	src := sourceOf(recs...)
	var out bytes.Buffer
	if err := Write(&out, v, Options{Options: report.Options{Source: src}}); err != nil {
		t.Fatal(err)
	}
	keep(t, out.Bytes())
	if src.most != 1 || src.open != 0 {
		t.Errorf("%d recordings were open at once, %d still are", src.most, src.open)
	}
	blocks := blocksOf(t, out.String())
	run, trial := decode[runData](t, blocks, "run"), decode[trialData](t, blocks, "t0")
	if len(run.Trials) != 1 || len(run.Trials[0].Sessions) != 2 || len(trial.Parts) != 2 {
		t.Fatalf("%+v %+v", run.Trials, trial.Parts)
	}
	refs := trial.Rows[0].Records
	if len(refs) == 0 || run.Recordings[refs[0][0]].ID != "rec-mail" || refs[0][1] != 6 {
		t.Errorf("the error's records are %v of %+v", refs, run.Recordings)
	}
}
