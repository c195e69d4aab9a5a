package grade

import (
	"errors"
	"slices"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Evidence makes the evidence of one session (grading.md 0.1). siblings are the
// sessions of the same recording, whose lists stand in where s has none. The
// server's key is its own name; see [predicate.Evidence.NameServer] for a label.
func Evidence(s *session.Session, siblings []*session.Session, cache *predicate.Schemas) *predicate.Evidence {
	ev := &predicate.Evidence{Capture: s.Capture, Lists: s.Lists, Schemas: cache, Turn: -1}
	if l := s.DeclaredCatalog(); l != nil {
		ev.Declarations = make([]predicate.Declaration, len(l.Tools))
		for i := range l.Tools {
			ev.Declarations[i] = predicate.Declaration{ServerKey: s.Server.Name, Tool: &l.Tools[i]}
		}
	}
	ev.Calls = make([]predicate.CallEvidence, 0, len(s.Calls))
	ev.Timings = make([]predicate.Timing, 0, len(s.Calls))
	ev.Results = make([]predicate.ToolResult, 0, len(s.Calls))
	last := &lastResult{}
	for _, c := range s.Calls {
		call := predicate.CallEvidence{Seq: c.Seq, Index: c.Index, Tool: c.Tool, ToolUseID: c.ToolUseID, Turn: -1, SentAgain: c.SentAgain}
		if !c.Arguments.IsZero() {
			call.Arguments = arguments(c)
		}
		if call.Cancelled = cancelled(c); call.Cancelled && c.CancelledSeq != 0 {
			call.CancelledAfterNs = max(0, c.CancelledAt-c.At-c.WaitedNs)
		}
		findEntry(&call, c, s, siblings)
		ev.Calls = append(ev.Calls, call)

		outcome(ev, s, c)
		results(ev, c, last)
		if ns, ok := c.DurationNs(); ok && !call.Cancelled {
			ev.Timings = append(ev.Timings, predicate.Timing{Tool: c.Tool, Seq: c.Seq, Index: c.Index, Ns: ns, WaitedNs: c.WaitedNs})
		}
	}
	return ev
}

func arguments(c *session.Call) func() ([]byte, error) {
	return func() ([]byte, error) {
		if c.TooDeep {
			return nil, errors.New("the arguments are nested deeper than can be decoded")
		}
		return c.Arguments.Bytes()
	}
}

// cancelled tells which calls are complete observations without an outcome: the
// client took them back, or never resumed a round of input.
func cancelled(c *session.Call) bool {
	switch c.State {
	case session.CallCancelled, session.CallClientTimeout, session.CallInputRequired:
		return true
	case session.CallTaskHandle:
		return c.Task != nil && c.Task.Status == "cancelled"
	}
	return false
}

// outcome adds what a call's end is to the evidence on errors: the row toolErrors
// of the table in grading.md 0.1.
func outcome(ev *predicate.Evidence, s *session.Session, c *session.Call) {
	e := predicate.ToolError{Kind: predicate.ProtocolError, Tool: c.Tool, Seq: c.Seq, Index: c.Index, Record: c.AnswerSeq}
	if c.Error != nil {
		e.Code, e.Message, e.HasCode = c.Error.Code, c.Error.Message, !c.Error.NoCode
	}
	undecided := func(why string) {
		ev.Undecided = append(ev.Undecided, predicate.Undecided{Tool: c.Tool, Seq: c.Seq, Index: c.Index, Why: why})
	}
	if c.Ended != "" {
		e.What, e.Record = c.Ended, c.EndedSeq
	}
	switch c.State {
	case session.CallToolError:
		e.Kind, e.Message, e.HasCode = predicate.ContentError, c.ErrorText, false
	case session.CallProtocolError:
	case session.CallMalformed:
		e.What = "the answer is malformed"
		switch {
		case c.Error != nil && !c.Result.IsZero():
			e.What = "the answer is malformed: it holds a result beside error"
		case c.Error != nil: // and not even its message is one
			e.What, e.HasCode = "the answer is malformed: its error is no object", false
		}
		for _, r := range c.Remarks {
			if r.Flag == session.FlagUnknownResultType {
				e.What += ": " + r.Detail
			}
		}
	case session.CallConnectionDrop, session.CallNeverAnswered:
		if c.Ended != "" { // over HTTP, where its own exchange tells
			if e.Record == 0 {
				e.Record = c.Seq
			}
			break
		}
		if c.State == session.CallNeverAnswered {
			if !neverAnswered(&e, s, c) {
				return
			}
			break
		}
		e.What = chain.Ended(s) + " before it answered"
		e.Record = s.End.FirstSeq
	case session.CallUndelivered:
		if s.End.First != "server" {
			// The server owed nothing, and nobody can say what it would have answered.
			undecided("it never reached the server")
			return
		}
		e.What = chain.Ended(s) + " before the request reached it"
		e.Record = s.End.FirstSeq
	case session.CallClientGone:
		if c.Ended != "" || !neverAnswered(&e, s, c) {
			return
		}
	case session.CallTaskHandle:
		status := ""
		if c.Task != nil {
			status = c.Task.Status
		}
		switch status {
		case "failed":
			e.Kind, e.What, e.Record = predicate.ContentError, "the task ended in failed", c.Task.StatusSeq
		case "cancelled":
			return
		default:
			undecided("the task's result is not on record")
			return
		}
	case session.CallNoID:
		undecided("it was sent without an id, so nothing can answer it")
		return
	case session.CallResult:
		if c.BadIsError {
			undecided("isError of its result is no boolean")
		}
		return
	default:
		return
	}
	ev.Errors = append(ev.Errors, e)
}

// neverAnswered says what shows that the server owed an answer; false: the host
// left first, which is no error.
func neverAnswered(e *predicate.ToolError, s *session.Session, c *session.Call) bool {
	switch {
	case len(c.RepliesWithoutRequest) > 0:
		e.What = "no answer, and the server sent replies after it that belong to no request"
		e.Record = c.RepliesWithoutRequest[0]
	case c.AnsweredLater:
		e.What = "no answer, and the server answered later work"
	case s.End.First == "server":
		e.What = chain.Ended(s) + " before it answered"
		e.Record = s.End.FirstSeq
	default:
		return false
	}
	return true
}

// findEntry looks the called tool up in the list that the model saw.
func findEntry(call *predicate.CallEvidence, c *session.Call, s *session.Session, siblings []*session.Session) {
	l := c.Catalog
	switch {
	case l == nil:
		var from string
		if l, from = listOfAnother(c, s, siblings); l == nil {
			call.EntryWhy = "no list of tools is on record for it"
			return
		}
		call.EntryNote = "by the list of session " + from
	case l.State == catalog.Failed || l.State == catalog.Open && len(l.Tools) == 0:
		// A list that could not be fetched shows the model nothing new.
		for i := len(s.Lists) - 1; i >= 0; i-- {
			if o := s.Lists[i]; o != l && len(o.Tools) > 0 && begin(o) < c.Seq {
				l = o
				call.EntryNote = "by an earlier list"
				break
			}
		}
	case c.Stale:
		call.EntryNote = "by a stale list: it had been announced as changed and was not fetched again"
	}
	var ok bool
	if call.Entry, ok = l.Find(c.Tool); ok {
		return
	}
	switch l.State {
	case catalog.Complete, catalog.Racy:
		call.EntryWhy = "the list of tools does not have it"
	default:
		call.EntryWhy = "the list of tools is " + string(l.State) + " and does not have it"
	}
}

func begin(l *catalog.List) int64 {
	if len(l.Pages) == 0 {
		return 0
	}
	return l.Pages[0].RequestSeq
}

// listOfAnother finds the list of another session of the same recording with the
// same server, version and principal (grading.md 0.1): the last one before the call, else the first after it.
func listOfAnother(c *session.Call, s *session.Session, siblings []*session.Session) (*catalog.List, string) {
	var best *catalog.List
	var from string
	for _, o := range siblings {
		if o == s || o.Server.Name != s.Server.Name || o.Server.Version != s.Server.Version || o.Principal != s.Principal {
			continue
		}
		for _, l := range o.Lists {
			if len(l.Tools) == 0 && l.State != catalog.Complete {
				continue
			}
			if best == nil || begin(l) < c.Seq || begin(best) > c.Seq && begin(l) < begin(best) {
				best, from = l, o.ID
			}
		}
	}
	return best, from
}

// Chain analyzes one session without any authored check: what `show` prints. talks are
// the conversations that are joined with it: two of them are as good as none.
func Chain(s *session.Session, siblings []*session.Session, talks ...*Talk) chain.Result {
	in := chain.Input{Session: s, Evidence: Evidence(s, siblings, nil)}
	if len(talks) == 1 {
		t := talks[0]
		in.Session = t.own(s, 0)
		in.Evidence = Evidence(in.Session, siblings, nil)
		t.join(in.Evidence, &Suite{})
		hostEnd(&in)
	}
	return chain.Analyze(in)
}

// serverKey is the name by which suites narrow to a server.
func serverKey(r *Recording, s *session.Session) string {
	if l := r.Labels["server"]; l != "" {
		return l
	}
	return s.Server.Name
}

func (s *Suite) takesServer(name string) bool {
	return len(s.Servers) == 0 || slices.Contains(s.Servers, name)
}
