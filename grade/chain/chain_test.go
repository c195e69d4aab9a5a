package chain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// sess is a healthy session, changed by each test.
func sess(changes ...func(*session.Session)) *session.Session {
	s := &session.Session{ID: "s1", Era: session.EraInitialize}
	s.Connection.ReachedSeq = 2
	s.Connection.Initialize = &session.Exchange{From: record.Client, Seq: 1, AnswerSeq: 2, State: session.ExchangeResult, Method: "initialize"}
	for _, c := range changes {
		c(s)
	}
	return s
}

func list(state catalog.State, tools ...string) *catalog.List {
	l := &catalog.List{State: state, Pages: []catalog.Page{{RequestSeq: 4, AnswerSeq: 5}}}
	for _, n := range tools {
		l.Tools = append(l.Tools, catalog.Tool{Name: n, InputSchema: []byte(`{"type":"object","required":["q"]}`)})
	}
	return l
}

func lists(ls ...*catalog.List) func(*session.Session) {
	return func(s *session.Session) { s.Lists = append(s.Lists, ls...) }
}

func call(tool string, state session.CallState) func(*session.Session) {
	return func(s *session.Session) {
		n := int64(len(s.Calls))
		c := &session.Call{Seq: 10 + 2*n, Index: -1, Tool: tool, NameOK: true, State: state, AnswerSeq: 11 + 2*n}
		switch state {
		case session.CallResult, session.CallToolError, session.CallProtocolError, session.CallMalformed, session.CallInputRequired, session.CallTaskHandle:
		default:
			c.AnswerSeq = 0
		}
		if len(s.Lists) > 0 {
			c.Catalog = s.Lists[len(s.Lists)-1]
		}
		s.Calls = append(s.Calls, c)
		if state == session.CallResult {
			s.Connection.FirstSuccessSeq = c.AnswerSeq
		}
	}
}

// evidence makes the evidence that package grade would make of the calls, as far
// as the chain reads it: arguments is what every call sent.
func evidence(s *session.Session, arguments string) *predicate.Evidence {
	ev := &predicate.Evidence{Lists: s.Lists, Turn: -1, Capture: session.Capture{
		ToolCalls: session.Complete, ToolErrors: session.Complete, ToolResults: session.Complete, ToolCallTimings: session.Complete,
	}}
	for _, c := range s.Calls {
		e := predicate.CallEvidence{Seq: c.Seq, Index: c.Index, Tool: c.Tool, EntryWhy: "no list"}
		e.Arguments = func() ([]byte, error) { return []byte(arguments), nil }
		if t, ok := c.Catalog.Find(c.Tool); ok {
			e.Entry = t
		}
		ev.Calls = append(ev.Calls, e)
		te := predicate.ToolError{Tool: c.Tool, Seq: c.Seq, Index: c.Index, Record: c.AnswerSeq}
		switch c.State {
		case session.CallToolError:
			te.Kind = predicate.ContentError
		case session.CallProtocolError, session.CallMalformed:
			te.Kind, te.HasCode = predicate.ProtocolError, c.Error != nil
			if c.Error != nil {
				te.Code = c.Error.Code
			}
		case session.CallConnectionDrop:
			te.Kind = predicate.ProtocolError
		default:
			continue
		}
		ev.Errors = append(ev.Errors, te)
	}
	return ev
}

func row(kind string, link predicate.Link, role predicate.Role, r predicate.Result, more ...func(*predicate.Outcome)) Row {
	out := Row{
		Check:   &predicate.Check{Kind: &predicate.Kind{Name: kind}, Info: predicate.Info{Name: kind, Link: link}, Role: role},
		Outcome: predicate.Outcome{Result: r, Reason: "because"},
	}
	for _, m := range more {
		m(&out.Outcome)
	}
	return out
}

func code(n int64) func(*session.Session) {
	return func(s *session.Session) { s.Calls[len(s.Calls)-1].Error = &session.RPCError{Code: n} }
}

func exit(n int) *record.Exit { return &record.Exit{Code: &n} }

func ended(s *session.Session) {
	s.End = session.End{ExitSeq: 90, Exit: exit(1), First: "server", FirstSeq: 89}
}

// summary writes the result as state/reason by link, with the first break.
func summary(r Result) string {
	var b strings.Builder
	for i, l := range r.Links {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s/%s", l.State, l.Reason)
	}
	fmt.Fprintf(&b, " | %s %s |", r.FirstBreak, r.Category)
	for _, c := range r.Runner {
		b.WriteString(" " + string(c.State))
	}
	return b.String()
}

const (
	conn    = "passed/observed passed/observed "
	noSel   = "notMeasured/matchVerdictUnavailable "
	noUser  = "notMeasured/noEvidenceCaptured "
	after   = "notReached/earlierStageFailed "
	nothing = "notMeasured/noEvidenceCaptured "
	setup   = "notMeasured/setupAborted "
)

func TestChain(t *testing.T) {
	ok := lists(list(catalog.Complete, "t"))
	for name, c := range map[string]struct {
		s    *session.Session
		args string
		rows []Row
		want string
	}{
		"healthy": {s: sess(ok, call("t", session.CallResult)),
			want: conn + noSel + "passed/observed passed/observed " + noUser + "|   | passed passed passed passed"},
		"tool error": {s: sess(ok, call("t", session.CallToolError)),
			want: conn + noSel + "passed/observed failed/toolError " + after + "| response serverData | passed passed passed failed"},
		"protocol error": {s: sess(ok, call("t", session.CallProtocolError), code(-32603)),
			want: conn + noSel + "failed/protocolError " + after + after + "| call serverData | passed passed failed undecided"},
		"protocol error beside a result": {s: sess(ok, call("t", session.CallResult), call("t", session.CallProtocolError), code(-32603)),
			want: conn + noSel + "failed/protocolError passed/observed " + after + "| call serverData | passed passed failed passed"},
		"invalid params, arguments wrong": {s: sess(ok, call("t", session.CallProtocolError), code(-32602)), args: `{}`,
			want: conn + noSel + "failed/protocolError " + after + after + "| call arguments | passed passed failed undecided"},
		"invalid params, arguments right": {s: sess(ok, call("t", session.CallProtocolError), code(-32602)),
			want: conn + noSel + "failed/protocolError " + after + after + "| call serverData | passed passed failed undecided"},
		"isError for wrong arguments": {s: sess(ok, call("t", session.CallToolError)), args: `{}`,
			want: conn + noSel + "failed/argumentMismatch failed/toolError " + after + "| call arguments | passed passed undecided failed"},
		"unknown tool": {s: sess(ok, call("zz", session.CallProtocolError), code(-32602)),
			want: conn + "failed/unknownTool failed/protocolError " + after + after + "| selection selection | passed passed failed undecided"},
		"unknown by a stale list": {s: sess(ok, call("zz", session.CallResult), func(s *session.Session) { s.Calls[0].Stale = true }),
			want: conn + noSel + "passed/observed passed/observed " + noUser + "|   | passed passed passed passed"},
		"unknown by a partial list": {s: sess(lists(list(catalog.Partial, "t")), call("zz", session.CallResult)),
			want: conn + noSel + "passed/observed passed/observed " + noUser + "|   | passed passed passed passed"},
		"connection dropped": {s: sess(ok, call("t", session.CallConnectionDrop)),
			want: conn + noSel + "failed/protocolError " + after + after + "| call serverData | passed passed failed undecided"},
		"only cancelled calls": {s: sess(ok, call("t", session.CallCancelled), call("t", session.CallClientTimeout)),
			want: conn + noSel + nothing + nothing + noUser + "|   | passed passed undecided undecided"},
		"isError is no boolean": {s: sess(ok, call("t", session.CallResult), func(s *session.Session) { s.Calls[0].BadIsError = true }),
			want: conn + noSel + "passed/observed notMeasured/evaluatorError " + noUser + "|   | passed passed passed undecided"},
		"no call": {s: sess(ok),
			want: conn + nothing + nothing + nothing + noUser + "|   | passed passed undecided undecided"},

		// Connection, grading.md 0.1.
		"never started": {s: &session.Session{Connection: session.Connection{Spawn: &session.SpawnError{Seq: 1, Error: "not found", Code: 127}}},
			want: strings.Repeat(setup, 6) + "|  setup | undecided undecided undecided undecided"},
		"initialize refused": {s: sess(func(s *session.Session) { s.Connection.Initialize.State = session.ExchangeError }),
			want: "failed/connectFailed " + strings.Repeat(after, 5) + "| connection setup | failed undecided undecided undecided"},
		"initialize refused, later success": {s: sess(ok, call("t", session.CallResult), func(s *session.Session) { s.Connection.Initialize.State = session.ExchangeError }),
			want: "passed/impliedByLaterEvidence passed/observed " + noSel + "passed/observed passed/observed " + noUser + "|   | passed passed passed passed"},
		"died before the answer": {s: sess(ended, func(s *session.Session) {
			s.Connection.Initialize.State, s.Connection.Initialize.AnswerSeq = session.ExchangeUnanswered, 0
			s.Connection.ReachedSeq = 90
		}), want: "failed/connectFailed " + strings.Repeat(after, 5) + "| connection setup | failed undecided undecided undecided"},
		"launcher that never spoke": {s: sess(ended, func(s *session.Session) {
			s.Connection.Initialize.State, s.Connection.Initialize.AnswerSeq = session.ExchangeUnanswered, 0
			s.Connection.ReachedSeq, s.Connection.Launcher = 0, true
		}), want: "notMeasured/egressUnverified " + nothing + strings.Repeat(setup, 4) + "|  setup | undecided undecided undecided undecided"},
		"host left before the answer": {s: sess(func(s *session.Session) {
			s.Connection.Initialize.State, s.Connection.Initialize.AnswerSeq = session.ExchangeUnanswered, 0
			s.End = session.End{First: "client"}
		}), want: nothing + nothing + nothing + nothing + nothing + noUser + "|   | undecided undecided undecided undecided"},
		"version refused": {s: &session.Session{Era: session.EraStateless, Connection: session.Connection{ReachedSeq: 2, Unsupported: &session.Exchange{Seq: 1, AnswerSeq: 2, Error: &session.RPCError{Code: -32022}}}},
			want: "failed/connectFailed " + strings.Repeat(after, 5) + "| connection setup | failed undecided undecided undecided"},
		"discovered": {s: &session.Session{Era: session.EraStateless, Connection: session.Connection{ReachedSeq: 2, Discover: []*session.Exchange{{Seq: 1, AnswerSeq: 2, State: session.ExchangeResult}}}},
			want: "passed/observed " + nothing + nothing + nothing + nothing + noUser + "|   | passed undecided undecided undecided"},
		"began midway": {s: &session.Session{Connection: session.Connection{ReachedSeq: 2, BeganMidway: true}},
			want: "passed/impliedByLaterEvidence " + nothing + nothing + nothing + nothing + noUser + "|   | passed undecided undecided undecided"},

		// Discovery, grading.md 0.1.
		"no list, a call succeeded": {s: sess(call("t", session.CallResult)),
			want: "passed/observed passed/impliedByLaterEvidence " + noSel + "passed/observed passed/observed " + noUser + "|   | passed passed passed passed"},
		"no list, a call failed": {s: sess(call("t", session.CallToolError)),
			want: "passed/observed " + nothing + noSel + "passed/observed failed/toolError " + after + "| response serverData | passed undecided passed failed"},
		"listing failed": {s: sess(lists(list(catalog.Failed)), call("t", session.CallResult)),
			want: "passed/observed failed/toolsListFailed " + after + "passed/observed passed/observed " + after + "| discovery setup | passed failed passed passed"},
		"listing failed, then succeeded": {s: sess(lists(list(catalog.Failed), list(catalog.Complete, "t"))),
			want: conn + nothing + nothing + nothing + noUser + "|   | passed passed undecided undecided"},
		"listing failed after one that succeeded": {s: sess(lists(list(catalog.Complete, "t"), list(catalog.Failed))),
			want: "passed/observed failed/toolsListFailed " + strings.Repeat(after, 4) + "| discovery setup | passed failed undecided undecided"},
		"second page failed": {s: sess(func(s *session.Session) {
			l := list(catalog.Partial, "t")
			l.Pages = append(l.Pages, catalog.Page{RequestSeq: 6, AnswerSeq: 7, Failed: true})
			s.Lists = []*catalog.List{l}
		}), want: "passed/observed failed/toolsListFailed " + strings.Repeat(after, 4) + "| discovery setup | passed failed undecided undecided"},
		"host stopped early": {s: sess(lists(list(catalog.Partial, "t"))),
			want: conn + nothing + nothing + nothing + noUser + "|   | passed passed undecided undecided"},
		"no tools declared": {s: sess(func(s *session.Session) {
			l, no := list(catalog.Failed), false
			l.ErrorCode = -32601
			s.Lists, s.ToolsCapability = []*catalog.List{l}, &no
		}), want: "passed/observed notApplicable/notAuthored " + nothing + nothing + nothing + noUser + "|   | passed undecided undecided"},
		"unknown method though tools are declared": {s: sess(func(s *session.Session) {
			l, yes := list(catalog.Failed), true
			l.ErrorCode = -32601
			s.Lists, s.ToolsCapability = []*catalog.List{l}, &yes
		}), want: "passed/observed failed/toolsListFailed " + strings.Repeat(after, 4) + "| discovery setup | passed failed undecided undecided"},
		"the recording ends inside the list": {s: sess(lists(list(catalog.Open))),
			want: "passed/observed " + nothing + nothing + nothing + nothing + noUser + "|   | passed undecided undecided undecided"},

		// Rows, grading.md 4.4 and 0.2.10.
		"gating selection passes": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("toolCalledAtLeastOnce", predicate.Selection, predicate.Gating, predicate.Pass)},
			want: conn + "passed/observed passed/observed passed/observed " + noUser + "|   | passed passed passed passed"},
		"advisory selection decides nothing": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("toolNeverCalled", predicate.Selection, predicate.Advisory, predicate.Fail)},
			want: conn + noSel + "passed/observed passed/observed " + noUser + "|   | passed passed passed passed"},
		"missing call": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("toolNeverCalled", predicate.Selection, predicate.Gating, predicate.Fail), row("toolCalledAtLeastOnce", predicate.Selection, predicate.Gating, predicate.Fail)},
			want: conn + "failed/missingToolCall passed/observed passed/observed " + after + "| selection selection | passed passed passed passed"},
		"forbidden call": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("toolNeverCalled", predicate.Selection, predicate.Gating, predicate.Fail)},
			want: conn + "failed/unexpectedToolCall passed/observed passed/observed " + after + "| selection selection | passed passed passed passed"},
		"selection undecided": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("toolNeverCalled", predicate.Selection, predicate.Gating, predicate.Error)},
			want: conn + "notMeasured/evaluatorError passed/observed passed/observed " + noUser + "|  evaluator | passed passed passed passed"},
		"arguments row": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("argumentsMatchToolSchema", predicate.Call, predicate.Gating, predicate.Fail)},
			want: conn + noSel + "failed/argumentMismatch passed/observed " + after + "| call arguments | passed passed undecided passed"},
		"latency row": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("toolLatencyUnder", predicate.Response, predicate.Gating, predicate.Fail)},
			want: conn + noSel + "passed/observed failed/predicateFailed " + after + "| response serverData | passed passed passed undecided"},
		"noToolErrors row on protocol errors alone": {s: sess(ok, call("t", session.CallProtocolError), code(-32603)),
			rows: []Row{row("noToolErrors", predicate.Response, predicate.Gating, predicate.Fail, func(o *predicate.Outcome) { o.ProtocolOnly = true })},
			want: conn + noSel + "failed/protocolError " + after + after + "| call serverData | passed passed failed undecided"},
		"noToolErrors row": {s: sess(ok, call("t", session.CallToolError)),
			rows: []Row{row("noToolErrors", predicate.Response, predicate.Gating, predicate.Fail)},
			want: conn + noSel + "passed/observed failed/toolError " + after + "| response serverData | passed passed passed failed"},
		"an error row fails nothing": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("noToolErrors", predicate.Response, predicate.Gating, predicate.Error)},
			want: conn + noSel + "passed/observed passed/observed " + noUser + "|  evaluator | passed passed passed passed"},
		"user value row": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("responseContains", predicate.UserValue, predicate.Gating, predicate.Fail)},
			want: conn + noSel + "passed/observed passed/observed failed/predicateFailed | userValue userValue | passed passed passed passed"},
		"a kind without a readable name is user value": {s: sess(ok, call("t", session.CallResult)),
			rows: []Row{row("", predicate.UserValue, predicate.Gating, predicate.Pass)},
			want: conn + noSel + "passed/observed passed/observed passed/observed |   | passed passed passed passed"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if args == "" {
				args = `{"q":1}`
			}
			r := Analyze(Input{Session: c.s, Evidence: evidence(c.s, args), Rows: c.rows})
			got := strings.Join(strings.Fields(summary(r)), " ")
			if want := strings.Join(strings.Fields(c.want), " "); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			for i, l := range r.Links {
				if l.Link != Order[i] {
					t.Errorf("link %d is %s", i, l.Link)
				}
				if l.Evidence.Text == "" || len(l.Evidence.Records) > 5 {
					t.Errorf("%s: evidence %+v", l.Link, l.Evidence)
				}
			}
		})
	}
}

func TestSameCallAs(t *testing.T) {
	s := sess(lists(list(catalog.Complete, "t")), call("t", session.CallToolError))
	r := Analyze(Input{Session: s, Evidence: evidence(s, `{}`)})
	if got := r.Links[4].Evidence.SameCallAs; got != "10" {
		t.Errorf("sameCallAs = %q, want the call's id 10", got)
	}
	// By an authored check on another tool's call: not the same call.
	s = sess(lists(list(catalog.Complete, "t")), call("t", session.CallResult), call("t", session.CallToolError))
	r = Analyze(Input{Session: s, Evidence: evidence(s, `{"q":1}`), Rows: []Row{
		row("argumentsMatchToolSchema", predicate.Call, predicate.Gating, predicate.Fail, func(o *predicate.Outcome) { o.Calls = []predicate.CallRef{{Seq: 10, Index: -1}} }),
	}})
	if got := r.Links[4].Evidence.SameCallAs; got != "" || r.Links[3].State != Failed {
		t.Errorf("sameCallAs = %q", got)
	}
}

func TestLauncherEvidenceHasExitAndStderr(t *testing.T) {
	s := sess(ended, func(s *session.Session) {
		s.Connection.Initialize.State, s.Connection.Initialize.AnswerSeq = session.ExchangeUnanswered, 0
		s.Connection.ReachedSeq, s.Connection.Launcher = 0, true
		s.Connection.StderrTail = "npm error 404\n"
	})
	got := Analyze(Input{Session: s, Evidence: evidence(s, `{}`)}).Links[0].Evidence
	if !strings.Contains(got.Text, "code 1") || !strings.Contains(got.Text, "npm error 404") || len(got.Records) == 0 {
		t.Errorf("evidence %+v", got)
	}
}
