package grade_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

var whole = session.Capture{
	ToolCalls: session.Complete, ToolErrors: session.Complete, ToolResults: session.Complete,
	ToolCallTimings: session.Complete, ToolInventory: session.Complete, ToolDeclarations: session.Complete,
}

// made is a session with calls in the given states.
func made(states ...session.CallState) *session.Session {
	s := &session.Session{ID: "s1", Era: session.EraInitialize, Capture: whole, Server: session.Peer{Name: "shop", Version: "1"}}
	s.Connection.ReachedSeq = 2
	s.Connection.Initialize = &session.Exchange{Seq: 1, AnswerSeq: 2, State: session.ExchangeResult}
	s.Lists = []*catalog.List{{State: catalog.Complete, Pages: []catalog.Page{{RequestSeq: 3, AnswerSeq: 4}}, Tools: []catalog.Tool{{Name: "t"}}}}
	for i, st := range states {
		c := &session.Call{Seq: int64(10 + 2*i), Index: -1, Tool: "t", NameOK: true, State: st, At: 1e9, Catalog: s.Lists[0]}
		switch st {
		case session.CallResult, session.CallToolError, session.CallProtocolError, session.CallMalformed, session.CallTaskHandle, session.CallInputRequired:
			c.AnswerSeq, c.AnswerAt = c.Seq+1, 2e9
		}
		s.Calls = append(s.Calls, c)
	}
	return s
}

func rec(id string, sessions ...*session.Session) grade.Recording {
	return grade.Recording{ID: id, Path: id + ".mcp.jsonl.zst", Sessions: sessions}
}

func mustLoad(t testing.TB, text string) *grade.Suite {
	t.Helper()
	s, err := grade.LoadSuite("suite.yaml", []byte("schemaVersion: sixlink/1\nsuite: {id: test}\n"+text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVerdicts(t *testing.T) {
	good, bad := made(session.CallResult), made(session.CallToolError)
	undecided := made(session.CallNoID)
	refused := made()
	refused.Connection.Initialize.State = session.ExchangeError
	refused.Lists = nil
	never := &session.Session{ID: "s1", Connection: session.Connection{Spawn: &session.SpawnError{Seq: 1, Error: "no such file", Code: 127}}}
	cut := made(session.CallResult)
	cut.Capture.ToolErrors, cut.Torn = session.Partial, true
	many := func(g, b, u int) []grade.Recording {
		var out []grade.Recording
		for i := range g + b + u {
			s := undecided
			if i < g {
				s = good
			} else if i < g+b {
				s = bad
			}
			out = append(out, rec(fmt.Sprintf("r%02d", i), s))
		}
		return out
	}
	gate := func(text string) string { return "defaults: {assertions: [{type: noToolErrors}], " + text + "}" }
	for name, c := range map[string]struct {
		suite   string // "": built-in
		recs    []grade.Recording
		o       grade.Options
		want    grade.Word
		skipped string // why of the skipped ones
		reason  string // one of the run's
	}{
		"good":                             {"", many(1, 0, 0), grade.Options{}, grade.Passed, "", ""},
		"bad":                              {"", many(0, 1, 0), grade.Options{}, grade.Failed, "", "casePassRateBelowThreshold"},
		"undecided":                        {"", many(0, 0, 1), grade.Options{}, grade.Inconclusive, "", "noGradeableTrials"},
		"undecided, strict":                {"", many(0, 0, 1), grade.Options{StrictEvidence: true}, grade.Failed, "", ""},
		"no recording":                     {"", nil, grade.Options{}, grade.Inconclusive, "", "noGradeableTrials"},
		"no session":                       {"", []grade.Recording{rec("r")}, grade.Options{}, grade.Inconclusive, "noSession", "noGradeableTrials"},
		"no call":                          {"", []grade.Recording{rec("r", made())}, grade.Options{}, grade.Inconclusive, "probe", "noGradeableTrials"},
		"a probe beside a good one":        {"", []grade.Recording{rec("r", made()), rec("s", good)}, grade.Options{}, grade.Passed, "probe", ""},
		"never started":                    {"", []grade.Recording{rec("r", never)}, grade.Options{}, grade.Inconclusive, "probe", ""},
		"refused":                          {"", []grade.Recording{rec("r", refused)}, grade.Options{}, grade.Inconclusive, "", "completionRateBelowMinimum"},
		"refused, and a call is required":  {"defaults: {assertions: [{type: toolCalledAtLeastOnce, toolName: t}]}", []grade.Recording{rec("r", refused)}, grade.Options{}, grade.Failed, "", ""},
		"every call cancelled":             {"", []grade.Recording{rec("r", made(session.CallCancelled, session.CallClientTimeout))}, grade.Options{}, grade.Inconclusive, "", "noGradeableTrials"},
		"one of the calls cancelled":       {"", []grade.Recording{rec("r", made(session.CallCancelled, session.CallResult))}, grade.Options{}, grade.Passed, "", ""},
		"cancelled, and the choice graded": {"defaults: {assertions: [{type: noToolErrors}, {type: toolCalledAtLeastOnce, toolName: t}]}", []grade.Recording{rec("r", made(session.CallCancelled))}, grade.Options{}, grade.Passed, "", ""},
		"cancelled, and forbidden":         {"defaults: {assertions: [{type: toolCalledBefore, toolName: t, beforeToolName: u}, {type: toolNeverCalled, toolName: t}]}", []grade.Recording{rec("r", made(session.CallCancelled))}, grade.Options{}, grade.Failed, "", ""},
		"torn":                             {"", []grade.Recording{rec("r", cut)}, grade.Options{}, grade.Inconclusive, "", ""},
		"no check gates":                   {"defaults: {assertions: [{type: noToolErrors, role: advisory}]}", many(1, 0, 0), grade.Options{}, grade.Inconclusive, "", ""},
		"an advisory fail":                 {"defaults: {assertions: [{type: noToolErrors}, {type: toolNeverCalled, toolName: t, role: advisory}]}", many(1, 0, 0), grade.Options{}, grade.Passed, "", ""},
		"four of five, 0.8":                {gate("passThreshold: 0.8"), many(4, 1, 0), grade.Options{}, grade.Passed, "", ""},
		"one of two, 0.8":                  {gate("passThreshold: 0.8"), many(1, 1, 0), grade.Options{}, grade.Failed, "", "casePassRateBelowThreshold"},
		"errored trials could decide":      {gate("passThreshold: 0.8, validity: {maxEvaluatorErrorRate: 1}"), many(3, 0, 1), grade.Options{}, grade.Inconclusive, "", "erroredTrialsCouldChangeTheVerdict"},
		"errored trials cannot decide":     {gate("passThreshold: 0.75, validity: {maxEvaluatorErrorRate: 1}"), many(3, 0, 1), grade.Options{}, grade.Passed, "", ""},
		"too many evaluator errors":        {gate("passThreshold: 0.75"), many(3, 0, 1), grade.Options{}, grade.Inconclusive, "", "evaluatorErrorRateAboveMaximum"},
		"too few trials":                   {gate("validity: {minEligibleTrials: 2}"), many(1, 0, 0), grade.Options{}, grade.Inconclusive, "", "eligibleTrialsBelowMinimum"},
		"failed beats inconclusive":        {"", many(0, 1, 3), grade.Options{}, grade.Failed, "", ""},
		"threshold 0 and nothing graded":   {gate("passThreshold: 0"), many(0, 0, 1), grade.Options{}, grade.Inconclusive, "", "caseHasNoEligibleTrials"},
		"whole required, torn":             {"", []grade.Recording{{ID: "r", Torn: true, Sessions: []*session.Session{good}}}, grade.Options{RequireWhole: true}, grade.Inconclusive, "notWhole", "recordingNotUsable"},
		"whole required, gap":              {"", []grade.Recording{{ID: "r", Gaps: 1, Sessions: []*session.Session{good}}, rec("s", good)}, grade.Options{RequireWhole: true}, grade.Inconclusive, "notWhole", "recordingNotUsable"},
		"whole required, torn and failed":  {"", []grade.Recording{{ID: "r", Torn: true}, rec("s", bad)}, grade.Options{RequireWhole: true}, grade.Failed, "notWhole", ""},
		"unreadable beside a good one":     {"", []grade.Recording{{ID: "r", Unreadable: "no zstd"}, rec("s", good)}, grade.Options{}, grade.Inconclusive, "unreadable", "recordingNotUsable"},
		"another server":                   {gate("") + "\nservers: [bank]", many(1, 0, 0), grade.Options{}, grade.Inconclusive, "server", ""},
		"the server's label":               {gate("") + "\nservers: [bank]", []grade.Recording{{ID: "r", Labels: map[string]string{"server": "bank"}, Sessions: []*session.Session{good}}}, grade.Options{}, grade.Passed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			suite := grade.BuiltIn()
			if c.suite != "" {
				suite = mustLoad(t, c.suite)
			}
			v, err := grade.Grade(suite, c.recs, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if v.Word != c.want {
				t.Errorf("verdict %s %v, want %s", v.Word, v.Reasons, c.want)
			}
			if code := map[grade.Word]int{grade.Passed: 0, grade.Failed: 1, grade.Inconclusive: 3}[c.want]; v.ExitCode() != code {
				t.Errorf("exit code %d, want %d", v.ExitCode(), code)
			}
			var why []string
			for _, s := range v.Skipped {
				why = append(why, s.Why)
			}
			if got := strings.Join(why, " "); got != c.skipped {
				t.Errorf("skipped %q, want %q", got, c.skipped)
			}
			if !strings.Contains(strings.Join(v.Reasons, " "), c.reason) {
				t.Errorf("reasons %v, want %s", v.Reasons, c.reason)
			}
		})
	}
}

func TestARecordingGivenTwiceIsRefused(t *testing.T) {
	a, b := rec("r", made(session.CallResult)), rec("r", made(session.CallResult))
	b.Path = "copy.mcp.jsonl.zst"
	_, err := grade.Grade(grade.BuiltIn(), []grade.Recording{a, rec("q"), b}, grade.Options{})
	if err == nil || !strings.Contains(err.Error(), "r.mcp.jsonl.zst") || !strings.Contains(err.Error(), "copy.mcp.jsonl.zst") {
		t.Errorf("error %v", err)
	}
}

func TestUnreadableRecordingsAreToldApart(t *testing.T) {
	lost := func(id, path, why string) grade.Recording {
		return grade.Recording{ID: id, Path: path, Unreadable: why}
	}
	recs := []grade.Recording{
		lost("sha256:00000000000000bb", "/home/me/b.mcp.jsonl.zst", "/home/me/b.mcp.jsonl.zst: not zstd"),
		lost("", "/home/me/gone2.zst", "open /home/me/gone2.zst: permission denied"),
		lost("", "/home/me/gone1.zst", "open /home/me/gone1.zst: no such file or directory"),
		lost("sha256:00000000000000aa", "/home/me/c.0001.mcp.jsonl.zst", "segment /home/me/c.0002.mcp.jsonl.zst is torn"),
		rec("r", made(session.CallResult)),
	}
	var want string
	for i := range 3 {
		v, err := grade.Grade(grade.BuiltIn(), recs, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range v.Skipped {
			ids = append(ids, s.Recording)
		}
		if got := strings.Join(ids, " "); got != "  sha256:00000000000000aa sha256:00000000000000bb" {
			t.Errorf("skipped %q", got)
		}
		var out, text bytes.Buffer
		if err := report.JSON(&out, report.Of(v)); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = out.String()
		}
		if out.String() != want || strings.Contains(want, "/home/me") {
			t.Errorf("run %d:\n%s", i, out.String())
		}
		if err := report.Text(&text, report.Of(v), report.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"skipped /home/me/gone1.zst: unreadable (open the file: no such file or directory)",
			"skipped /home/me/gone2.zst: unreadable (open the file: permission denied)",
			"skipped /home/me/b.mcp.jsonl.zst: unreadable (the file: not zstd)",
			"skipped /home/me/c.0001.mcp.jsonl.zst: unreadable (segment c.0002.mcp.jsonl.zst is torn)",
		} {
			if !strings.Contains(strings.ReplaceAll(text.String(), "\n    ", " "), line+"\n") {
				t.Errorf("no line %q in\n%s", line, text.String())
			}
		}
		recs = append(recs[1:], recs[0])
	}
	// The same broken file under two names is given twice all the same.
	again := recs[0]
	again.ID, again.Path = "sha256:00000000000000bb", "/home/me/copy"
	if _, err := grade.Grade(grade.BuiltIn(), append(recs, again), grade.Options{}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("error %v", err)
	}
}

// A pass of "no error" in a session in which no call could be made is no pass.
func TestNoCallCouldBeMadeIsAnErrorRow(t *testing.T) {
	refused, unlisted := made(), made()
	refused.Connection.Initialize.State, refused.Lists = session.ExchangeError, nil
	unlisted.Lists[0].State, unlisted.Lists[0].ErrorCode = catalog.Failed, -32603
	for why, s := range map[string]*session.Session{"connection failed": refused, "discovery failed": unlisted} {
		v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{rec("r", s)}, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		trial := v.Cases[0].Trials[0]
		if r := trial.Rows[0]; r.Result != predicate.Error || r.Reason != "no call could be made: "+why {
			t.Errorf("%s: %s", r.Result, r.Reason)
		}
		if trial.Word != grade.Inconclusive || v.ExitCode() != 3 || trial.Chain.Category != "setup" {
			t.Errorf("%s %d %s", trial.Word, v.ExitCode(), trial.Chain.Category)
		}
	}
}

// A server that dies on its own, in front of a host whose end of file came first
// (a pipe from a file): connection or call blame its exit, and show stderr's end.
func TestCrashAfterTheHostsEndOfFileIsShown(t *testing.T) {
	const ask = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	const opened = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`
	const trace = "Traceback (most recent call last):\n" + `ModuleNotFoundError: No module named 'ser` + "\x1b[31mver'"
	one, zero := 1, 0
	for name, x := range map[string]struct {
		lines   []string // the host's, and the server's after a blank
		command string
		exit    record.Exit
		link    int
		state   string
		text    []string
		row     string // of noToolErrors
	}{
		"initialize":           {[]string{ask}, "server", record.Exit{Code: &one}, 0, "failed", []string{"the server exited with code 1", "initialize", `\u001b[31mver'`}, "no call could be made: connection failed"},
		"initialize, a signal": {[]string{ask}, "server", record.Exit{Signal: "SEGV"}, 0, "failed", []string{"the server died of signal SEGV", "ModuleNotFoundError"}, "no call could be made: connection failed"},
		"a call":               {[]string{ask, " " + opened, call}, "server", record.Exit{Code: &one}, 3, "failed", []string{"the server exited with code 1 before it answered", "ModuleNotFoundError"}, "the server exited with code 1 before it answered"},
		"a launcher":           {[]string{ask}, "npx", record.Exit{Code: &one}, 0, "notMeasured", []string{"the server exited with code 1", "ModuleNotFoundError"}, ""},
		"an orderly end":       {[]string{ask}, "server", record.Exit{Code: &zero}, 0, "notMeasured", []string{"initialize was not answered, and the server did not end first", "later the server exited with code 0", "ModuleNotFoundError"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &fixtures.Recording{Name: name, State: record.Sealed, Header: record.Header{FirstSeq: 1, Command: []string{x.command}}}
			r.Add(record.Record{Kind: record.KindStart, Start: &record.Start{PID: 1}})
			for _, l := range x.lines {
				if l[0] == ' ' {
					r.AddLine(record.Server, 2, l[1:], "\n")
				} else {
					r.AddLine(record.Client, 1, l, "\n")
				}
			}
			r.Add(record.Record{Kind: record.KindClose, Close: &record.Close{Who: record.ByClient, What: record.Stdin}})
			r.AddLine(record.Stderr, 3, trace, "\n")
			r.Add(record.Record{Kind: record.KindExit, Exit: &x.exit})
			in := decodeCase(t, r)
			c := grade.Chain(in.Sessions[0], in.Sessions)
			l := c.Links[x.link]
			if string(l.State) != x.state {
				t.Errorf("%s %s: %s", l.Link, l.State, l.Evidence.Text)
			}
			for _, part := range x.text {
				if !strings.Contains(l.Evidence.Text, part) {
					t.Errorf("no %q in %q", part, l.Evidence.Text)
				}
			}
			v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{in}, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			row := ""
			if len(v.Cases) > 0 {
				row = v.Cases[0].Trials[0].Rows[0].Reason
			}
			if !strings.Contains(row, x.row) || (row == "") != (x.row == "") {
				t.Errorf("row %q, want %q", row, x.row)
			}
		})
	}
}

// An attempt that -32042 interrupted and that then succeeded is no error
// (grading.md 0.1), and a resultType that nobody defines is one (wire.md 3.4).
func TestInterruptedAttemptsAndUnknownResults(t *testing.T) {
	const call = `"method":"tools/call","params":{"name":"t","arguments":{"a":1}`
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	const url = ` {"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"open this"}}`
	for name, x := range map[string]struct {
		lines []string
		word  grade.Word
		row   string
	}{
		"-32042, then success": {[]string{`{"jsonrpc":"2.0","id":1,` + call + `}}`, url, `{"jsonrpc":"2.0","id":2,` + call + `}}`, ` {"jsonrpc":"2.0","id":2,"result":{"content":[]}}`}, grade.Passed, "1 call, no tool error"},
		"-32042 alone":         {[]string{`{"jsonrpc":"2.0","id":1,` + call + `}}`, url}, grade.Failed, "-32042"},
		"unknown resultType":   {[]string{`{"jsonrpc":"2.0","id":1,` + call + meta + `}}`, ` {"jsonrpc":"2.0","id":1,"result":{"resultType":"weird","content":[]}}`}, grade.Failed, `the answer is malformed: resultType is "weird"`},
		"missing resultType":   {[]string{`{"jsonrpc":"2.0","id":1,` + call + meta + `}}`, ` {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`}, grade.Passed, "no tool error"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &fixtures.Recording{Name: name, State: record.Sealed, Header: record.Header{FirstSeq: 1, Command: []string{"server"}}}
			r.Add(record.Record{Kind: record.KindStart, Start: &record.Start{PID: 1}})
			for _, l := range x.lines {
				if l[0] == ' ' {
					r.AddLine(record.Server, 2, l[1:], "\n")
				} else {
					r.AddLine(record.Client, 1, l, "\n")
				}
			}
			v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{decodeCase(t, r)}, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if row := v.Cases[0].Trials[0].Rows[0]; v.Word != x.word || !strings.Contains(row.Reason, x.row) {
				t.Errorf("%s: %s", v.Word, row.Reason)
			}
		})
	}
}

// What becomes of a call's end, row by row of toolErrors in grading.md 0.1.
func TestErrorsByCallState(t *testing.T) {
	server := func(s *session.Session) { s.End = session.End{First: "server", FirstSeq: 99} }
	task := func(status string) func(*session.Session) {
		return func(s *session.Session) { s.Calls[0].Task = &session.Task{Status: status, StatusSeq: 50} }
	}
	for name, c := range map[string]struct {
		state  session.CallState
		change func(*session.Session)
		want   string // error kind, "undecided", "cancelled" or ""
	}{
		"result":                      {session.CallResult, nil, ""},
		"tool error":                  {session.CallToolError, nil, "content-error"},
		"protocol error":              {session.CallProtocolError, nil, "protocol-error"},
		"malformed":                   {session.CallMalformed, nil, "protocol-error"},
		"isError is no boolean":       {session.CallResult, func(s *session.Session) { s.Calls[0].BadIsError = true }, "undecided"},
		"server ended first":          {session.CallConnectionDrop, server, "protocol-error"},
		"answered later work":         {session.CallNeverAnswered, func(s *session.Session) { s.Calls[0].AnsweredLater = true }, "protocol-error"},
		"stray replies":               {session.CallClientGone, func(s *session.Session) { s.Calls[0].RepliesWithoutRequest = []int64{7} }, "protocol-error"},
		"never answered, host left":   {session.CallNeverAnswered, func(s *session.Session) { s.End.First = "client" }, ""},
		"host left":                   {session.CallClientGone, nil, ""},
		"cancelled":                   {session.CallCancelled, nil, "cancelled"},
		"timed out by the host":       {session.CallClientTimeout, nil, "cancelled"},
		"input round never resumed":   {session.CallInputRequired, nil, "cancelled"},
		"task failed":                 {session.CallTaskHandle, task("failed"), "content-error"},
		"task cancelled":              {session.CallTaskHandle, task("cancelled"), "cancelled"},
		"task without a result":       {session.CallTaskHandle, task("working"), "undecided"},
		"undelivered, server ended":   {session.CallUndelivered, server, "protocol-error"},
		"undelivered otherwise":       {session.CallUndelivered, nil, "undecided"},
		"sent without an id":          {session.CallNoID, nil, "undecided"},
		"cut by the recording's end":  {session.CallPending, nil, ""},
		"late answer after cancelled": {session.CallCancelled, func(s *session.Session) { s.Calls[0].AnswerSeq, s.Calls[0].Late = 11, true }, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			s := made(c.state)
			if c.change != nil {
				c.change(s)
			}
			ev := grade.Evidence(s, nil, nil)
			got := ""
			switch {
			case len(ev.Errors) == 1:
				got = string(ev.Errors[0].Kind)
			case len(ev.Undecided) == 1:
				got = "undecided"
			case ev.Calls[0].Cancelled:
				got = "cancelled"
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if ev.Calls[0].Cancelled && len(ev.Timings) > 0 {
				t.Error("a cancelled call has a timing")
			}
		})
	}
}

func TestCancelledCallsCountForLatency(t *testing.T) {
	s := made(session.CallCancelled)
	s.Calls[0].CancelledSeq, s.Calls[0].CancelledAt = 12, s.Calls[0].At+5e9
	suite := mustLoad(t, "defaults: {assertions: [{type: toolLatencyUnder, ms: 4000}]}")
	v, err := grade.Grade(suite, []grade.Recording{rec("r", s)}, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := v.Cases[0].Trials[0].Rows[0]; r.Result != predicate.Fail || !strings.Contains(r.Reason, "5000 ms") {
		t.Errorf("%s: %s", r.Result, r.Reason)
	}
}

func TestTheListOfAnotherSessionStandsIn(t *testing.T) {
	schema := []byte(`{"type":"object","required":["q"]}`)
	first, second := made(), made(session.CallResult)
	first.Lists[0].Tools[0].InputSchema = schema
	second.ID, second.Lists, second.Calls[0].Catalog = "s2", nil, nil
	second.Calls[0].Seq = 20
	suite := mustLoad(t, "defaults: {assertions: [{type: argumentsMatchToolSchema}]}")
	row := func(sessions ...*session.Session) grade.Row {
		v, err := grade.Grade(suite, []grade.Recording{rec("r", sessions...)}, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return v.Cases[0].Trials[0].Rows[0]
	}
	if r := row(first, second); r.Result != predicate.Fail || !strings.Contains(r.Reason, "by the list of session s1") {
		t.Errorf("%s: %s", r.Result, r.Reason)
	}
	first.Server.Version = "2"
	if r := row(first, second); r.Result != predicate.Error {
		t.Errorf("another version's list was used: %s: %s", r.Result, r.Reason)
	}
	first.Server.Version, first.Principal = "1", "somebody else"
	if r := row(first, second); r.Result != predicate.Error {
		t.Errorf("the list of another principal was used: %s: %s", r.Result, r.Reason)
	}
}

// TestDeterminism: the bytes of the report do not depend on the order of the
// recordings, on the number of processors, or on who adds a recording when.
func TestDeterminism(t *testing.T) {
	suite := mustLoad(t, `defaults:
  assertions: [{type: noToolErrors}, {type: argumentsMatchToolSchema}, {type: toolLatencyUnder, ms: 1}, {type: toolNeverCalled, toolName: echo}]`)
	read := func() []grade.Recording {
		var recs []grade.Recording
		for _, run := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			r, err := fixtures.Case("81-error-shapes", "input."+run+".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			rec := decodeCase(t, r)
			rec.ID, rec.Path = "run-"+run, "/somewhere/"+run
			rec.Labels = map[string]string{"z": "1", "a": "2", "k": "3"}
			recs = append(recs, rec)
		}
		captures := []string{"ts1-everything-stdio.jsonl", "mcpgo-modern-stdio.jsonl"}
		for _, c := range captures {
			list, err := fixtures.Capture(c)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				rec := decodeCase(t, r)
				rec.ID = r.Name
				recs = append(recs, rec)
			}
		}
		return recs
	}
	var want string
	for i := range 6 {
		recs := read()
		rand.New(rand.NewPCG(uint64(i), 1)).Shuffle(len(recs), func(i, j int) { recs[i], recs[j] = recs[j], recs[i] })
		old := runtime.GOMAXPROCS(1 + i%3)
		g, err := grade.NewGrader(suite, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for j := range recs {
			if i%2 == 0 {
				g.Add(&recs[j])
			} else {
				wg.Go(func() { g.Add(&recs[j]) })
			}
		}
		wg.Wait()
		v, err := g.Verdict()
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := report.JSON(&out, report.Of(v)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = out.String()
			if strings.Contains(want, "/somewhere/") {
				t.Error("a path of the machine is in the JSON")
			}
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Fatalf("run %d differs:\n%s", i, diff)
		}
	}
}

// Healthy captures pass the built-in suite, and nothing on them is blamed.
func TestCapturesHaveNoFalseBreak(t *testing.T) {
	for _, file := range []string{"ts1-memory-stdio.jsonl", "ts1-seqthinking-stdio.jsonl", "mcpgo-legacy-stdio.jsonl", "ts2-modern-stdio.jsonl"} {
		list, err := fixtures.Capture(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			rec := decodeCase(t, r)
			for _, s := range rec.Sessions {
				c := grade.Chain(s, rec.Sessions)
				var errs int
				for _, call := range s.Calls {
					if call.State == session.CallToolError || call.State == session.CallProtocolError {
						errs++
					}
				}
				if errs == 0 && c.FirstBreak != "" {
					t.Errorf("%s %s: first break %s: %+v", file, s.ID, c.FirstBreak, c.Links)
				}
				if c.Links[0].State != "passed" {
					t.Errorf("%s %s: connection %+v", file, s.ID, c.Links[0])
				}
			}
		}
	}
}

func BenchmarkGrade(b *testing.B) {
	// 1,000 calls in one session, five checks: the time per operation is that of
	// a whole grading without decoding.
	states := make([]session.CallState, 1000)
	for i := range states {
		states[i] = session.CallResult
	}
	recs := []grade.Recording{rec("r", made(states...))}
	suite, err := load(b, "testdata/suites/full.good.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := grade.Grade(suite, recs, grade.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A server that was never reached, for whatever reason of ours, fails no trial: that a
// call is missing was nobody's choice. One that ended or refused does.
func TestUnreachedServersFailNothing(t *testing.T) {
	spawn := &session.Session{ID: "s1", Capture: whole, Connection: session.Connection{Spawn: &session.SpawnError{Seq: 1, Error: "no such file", Code: 127}}}
	launcher := &session.Session{ID: "s1", Capture: whole, Connection: session.Connection{Launcher: true,
		Initialize: &session.Exchange{Seq: 1, Method: "initialize"}}, End: session.End{First: "server", FirstSeq: 2, ExitSeq: 2}}
	left := &session.Session{ID: "s1", Capture: whole, Connection: session.Connection{Initialize: &session.Exchange{Seq: 1, Method: "initialize"}}, End: session.End{First: "client", FirstSeq: 2}}
	refused := made()
	refused.Connection.Initialize.State, refused.Lists = session.ExchangeError, nil
	asked := &predicate.Conversation{TurnsState: session.Complete, FinalTextState: session.Complete, TurnCount: 1, TurnCountKnown: true,
		Turns: []predicate.Turn{{Prompt: "p", Finished: true}}}
	for name, text := range map[string]string{
		"expected":  "turns: [{expectedToolCalls: [{toolName: t}]}]",
		"a check":   "assertions: [{type: toolCalledAtLeastOnce, toolName: t}]",
		"first":     "assertions: [{type: firstToolWas, toolName: t}]",
		"arguments": "assertions: [{type: toolInputMatches, toolName: t, patterns: [x]}]",
		"a result":  "assertions: [{type: toolResultContains, needle: x}]",
		"a shape":   "assertions: [{type: toolResultMatchesSchema, schema: true}]",
		"a pattern": "assertions: [{type: toolResultMatches, patterns: [x]}]",
		"with":      "assertions: [{type: toolCalledWith, toolName: t, args: {args: {}}}]",
		"nothing":   "assertions: [{type: noToolErrors}, {type: toolNeverCalled, toolName: t}]",
		"negative":  "isNegativeTest: true, turns: [{prompt: p}]",
		"no extras": "turns: [{prompt: p}], matchOptions: {maxExtraToolCalls: 0}",
	} {
		suite := mustLoad(t, "cases: [{id: c, "+text+"}]")
		for why, s := range map[string]*session.Session{"spawn": spawn, "launcher": launcher, "left": left} {
			for _, talk := range []*predicate.Conversation{nil, asked} {
				r := rec("r", s)
				if talk != nil {
					r.Talks = map[string]*predicate.Conversation{"s1": talk}
				}
				v, err := grade.Grade(suite, []grade.Recording{r}, grade.Options{Case: "c"})
				if err != nil {
					t.Fatal(err)
				}
				if len(v.Cases) != 1 || len(v.Cases[0].Trials) != 1 || v.Cases[0].Trials[0].Word != grade.Inconclusive || v.ExitCode() != 3 {
					t.Errorf("%s, %s, talk %v: %d\n%s", name, why, talk != nil, v.ExitCode(), textOf(v))
				}
			}
		}
		r := rec("r", refused)
		r.Talks = map[string]*predicate.Conversation{"s1": asked}
		v, err := grade.Grade(suite, []grade.Recording{r}, grade.Options{Case: "c"})
		if err != nil {
			t.Fatal(err)
		}
		if v.ExitCode() == 0 {
			t.Errorf("%s, refused: passed\n%s", name, textOf(v))
		}
	}
}

func textOf(v *grade.Verdict) string {
	var b bytes.Buffer
	if err := report.Text(&b, report.Of(v), report.Options{Verbose: true}); err != nil {
		return err.Error()
	}
	return b.String()
}
