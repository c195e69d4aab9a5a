package chain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/visible"
)

// JSON-RPC codes that decide something.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

// maxRecords bounds the records that a link names (grading.md 4.5).
const maxRecords = 5

type analysis struct {
	Input
	answered  []*session.Call // the server gave a result of any kind
	good      []*session.Call // a plain result
	badFlag   []*session.Call // isError is no boolean
	cancelled int
	content   []*predicate.ToolError
	protocol  []*predicate.ToolError
	// wrong are the calls that ended in an error and whose arguments violate the
	// tool's own recorded schema, with what was found.
	wrong map[predicate.CallRef]string
}

func (a *analysis) sort() {
	for _, c := range a.Session.Calls {
		switch c.State {
		case session.CallResult:
			a.answered = append(a.answered, c)
			if c.BadIsError {
				a.badFlag = append(a.badFlag, c)
			} else {
				a.good = append(a.good, c)
			}
		case session.CallToolError, session.CallInputRequired, session.CallTaskHandle:
			a.answered = append(a.answered, c)
		case session.CallCancelled, session.CallClientTimeout:
			a.cancelled++
		}
	}
	a.wrong = map[predicate.CallRef]string{}
	for i := range a.Evidence.Errors {
		e := &a.Evidence.Errors[i]
		if e.Kind == predicate.ContentError {
			a.content = append(a.content, e)
		} else {
			a.protocol = append(a.protocol, e)
		}
		if e.Kind == predicate.ProtocolError && !(e.HasCode && e.Code == codeInvalidParams) {
			continue
		}
		// The server refused the call. Were its arguments wrong by the server's own
		// schema? Then this is the defect, not what the server made of it.
		for j := range a.Evidence.Calls {
			c := &a.Evidence.Calls[j]
			if c.Seq != e.Seq || c.Index != e.Index {
				continue
			}
			if _, vs, err := predicate.CheckArguments(c, a.Evidence.Schemas); err == nil && len(vs) > 0 {
				at := vs[0].Path
				if at == "" {
					at = "the arguments"
				}
				a.wrong[predicate.CallRef{Seq: c.Seq, Index: c.Index}] = fmt.Sprintf("%s at %s", vs[0].Class, at)
			}
		}
	}
}

func ref(e *predicate.ToolError) predicate.CallRef {
	return predicate.CallRef{Seq: e.Seq, Index: e.Index}
}

// allInvalidParams tells whether every protocol error answered arguments that
// violate the tool's own recorded schema.
func (a *analysis) allInvalidParams() bool {
	for _, e := range a.protocol {
		if _, ok := a.wrong[ref(e)]; !ok {
			return false
		}
	}
	return len(a.protocol) > 0
}

// failing returns the gating rows filed at a link that failed, and whether
// gating rows there passed or erred.
func (a *analysis) rows(l predicate.Link) (failed []*Row, passed, erred int) {
	for i := range a.Rows {
		r := &a.Rows[i]
		if r.Check.Role != predicate.Gating || r.Check.Info.Link != l {
			continue
		}
		switch r.Outcome.Result {
		case predicate.Fail:
			failed = append(failed, r)
		case predicate.Pass:
			passed++
		default:
			erred++
		}
	}
	return failed, passed, erred
}

func link(l predicate.Link, s State, r Reason, text string, records ...int64) Link {
	out := Link{Link: l, State: s, Reason: r}
	for _, seq := range records {
		if seq != 0 && !slices.Contains(out.Evidence.Records, seq) && len(out.Evidence.Records) < maxRecords {
			out.Evidence.Records = append(out.Evidence.Records, seq)
		}
	}
	out.Evidence.Text = predicate.Sentence(text)
	return out
}

func fromRows(l predicate.Link, reason Reason, failed []*Row) Link {
	out := link(l, Failed, reason, failed[0].Outcome.Reason)
	for _, r := range failed {
		for _, seq := range r.Outcome.Records {
			if !slices.Contains(out.Evidence.Records, seq) && len(out.Evidence.Records) < maxRecords {
				out.Evidence.Records = append(out.Evidence.Records, seq)
			}
		}
	}
	return out
}

// connection: grading.md 0.1 "Connection".
func (a *analysis) connection() Link {
	const l = predicate.Connection
	s, c := a.Session, &a.Session.Connection
	ini := c.Initialize
	if ini != nil && ini.State == session.ExchangeResult {
		return link(l, Passed, Observed, "initialize was answered", ini.Seq, ini.AnswerSeq)
	}
	for _, d := range c.Discover {
		if d.State == session.ExchangeResult && ini == nil {
			return link(l, Passed, Observed, "server/discover was answered", d.Seq, d.AnswerSeq)
		}
	}
	// A later success of the same session always wins.
	if c.FirstSuccessSeq != 0 {
		if ini == nil && !c.BeganMidway {
			return link(l, Passed, Observed, "a request was answered", c.FirstSuccessSeq)
		}
		return link(l, Passed, ImpliedByLater, "a later request was answered", c.FirstSuccessSeq)
	}
	if c.Spawn != nil {
		return link(l, NotMeasured, SetupAborted, "the server could not be started: "+c.Spawn.Error, c.Spawn.Seq)
	}
	if u := c.Unsupported; u != nil {
		return link(l, Failed, ConnectFailed, "the server does not support the protocol version"+rpcText(u.Error), u.Seq, u.AnswerSeq)
	}
	if ini != nil && (ini.State == session.ExchangeError || ini.State == session.ExchangeMalformed) {
		if ini.State == session.ExchangeMalformed {
			return link(l, Failed, ConnectFailed, "the answer to initialize is malformed", ini.Seq, ini.AnswerSeq)
		}
		return link(l, Failed, ConnectFailed, "initialize was answered by an error"+rpcText(ini.Error), ini.Seq, ini.AnswerSeq)
	}
	if c.BeganMidway && c.ReachedSeq != 0 {
		return link(l, Passed, ImpliedByLater, "the recording begins inside the session", c.ReachedSeq)
	}
	// An error that the server sent for a call proves that it was there.
	for _, call := range s.Calls {
		if call.AnswerSeq != 0 && ini == nil {
			return link(l, Passed, ImpliedByLater, "the server answered a call", call.AnswerSeq)
		}
	}
	return a.unanswered()
}

// unanswered decides the connection of a session in which nothing succeeded and
// nothing was refused.
func (a *analysis) unanswered() Link {
	const l = predicate.Connection
	s, c := a.Session, &a.Session.Connection
	first := c.Initialize
	if first == nil {
		for _, x := range append(slices.Clone(c.Discover), s.Requests...) {
			if x.From == "client" && x.AnswerSeq == 0 {
				first = x
				break
			}
		}
	}
	if s.End.First != "server" {
		if first == nil {
			return link(l, NotMeasured, NoEvidenceCaptured, "nothing was asked of the server", c.ReachedSeq)
		}
		text := first.Method + " was not answered, and the server did not end first"
		if s.End.Exit != nil {
			text += "; later " + Ended(s)
		}
		return link(l, NotMeasured, NoEvidenceCaptured, text+stderr(s), first.Seq, s.End.FirstSeq, s.End.ExitSeq)
	}
	how := Ended(s) + stderr(s)
	own := c.ReachedSeq != 0 && (c.ReachedSeq != s.End.ExitSeq || ownExit(s))
	switch {
	case !own && notFound(s):
		return link(l, NotMeasured, SetupAborted, how, s.End.ExitSeq)
	case !own:
		return link(l, NotMeasured, EgressUnverified, how+" before it sent any message", s.End.ExitSeq, s.End.FirstSeq)
	case first == nil:
		return link(l, NotMeasured, NoEvidenceCaptured, how+", and nothing had been asked of it", s.End.ExitSeq, s.End.FirstSeq)
	}
	return link(l, Failed, ConnectFailed, how+" and had not answered "+first.Method, first.Seq, s.End.FirstSeq, s.End.ExitSeq)
}

func notFound(s *session.Session) bool {
	e := s.End.Exit
	return e != nil && e.Code != nil && (*e.Code == 126 || *e.Code == 127)
}

// ownExit tells whether the process's end was its own doing and the server's.
func ownExit(s *session.Session) bool {
	return s.End.Exit != nil && !s.End.PassedOn && !s.Connection.Launcher && !notFound(s)
}

// Ended says how the server ended.
func Ended(s *session.Session) string {
	if e := s.End.Exit; e != nil {
		switch {
		case e.Code != nil:
			return fmt.Sprintf("the server exited with code %d", *e.Code)
		case e.Signal != "":
			return "the server died of signal " + visible.String(e.Signal)
		}
	}
	return "the server ended"
}

// stderr is the end of what the server wrote there, which says more than its
// beginning (a traceback ends with the error); empty when it wrote nothing.
func stderr(s *session.Session) string {
	tail := strings.TrimSpace(s.Connection.StderrTail)
	if tail == "" {
		return ""
	}
	if r := []rune(tail); len(r) > 160 {
		tail = "…" + string(r[len(r)-160:])
	}
	return " (stderr: " + predicate.Quoted(tail) + ")"
}

func rpcText(e *session.RPCError) string {
	if e == nil {
		return ""
	}
	code := e.RawCode
	if code == "" {
		code = fmt.Sprint(e.Code)
	}
	if e.Message == "" {
		return " " + code
	}
	return " " + code + ": " + predicate.Quoted(e.Message)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// discovery: grading.md 0.1 "Discovery".
func (a *analysis) discovery() Link {
	const l = predicate.Discovery
	var last *catalog.List
	for _, c := range a.Session.Lists {
		if c.State != catalog.Open {
			last = c // an error fails the link unless a later list succeeds
		}
	}
	if last != nil {
		seqs := pageSeqs(last)
		if bad := last.State == catalog.Failed || last.State == catalog.Partial && lastPageFailed(last); bad {
			// A server without the tools capability that does not know the method is
			// consistent.
			cap := a.Session.ToolsCapability
			if last.ErrorCode == codeMethodNotFound && cap != nil && !*cap {
				return link(l, NotApplicable, NotAuthored, "the server declares no tools", seqs...)
			}
			text := "tools/list failed"
			if last.ErrorCode != 0 {
				text = fmt.Sprintf("tools/list was answered by an error %d: %s", last.ErrorCode, predicate.Quoted(last.ErrorMessage))
			} else if last.Why != "" {
				text += ": " + last.Why
			}
			return link(l, Failed, ToolsListFailed, text, seqs...)
		}
	}
	if failed, _, _ := a.rows(l); len(failed) > 0 {
		return fromRows(l, ReasonPredicateFailed, failed)
	}
	if last != nil {
		text := plural(len(last.Tools), "tool") + " on " + plural(len(last.Pages), "page")
		if last.State == catalog.Partial {
			text += "; the host did not fetch the rest"
		}
		return link(l, Passed, Observed, text, pageSeqs(last)...)
	}
	if len(a.good) > 0 {
		return link(l, Passed, ImpliedByLater, "a call succeeded without a list on record", a.good[0].Seq, a.good[0].AnswerSeq)
	}
	return link(l, NotMeasured, NoEvidenceCaptured, "no list of tools on record")
}

func pageSeqs(l *catalog.List) []int64 {
	var out []int64
	for _, p := range l.Pages {
		out = append(out, p.AnswerSeq)
		if p.AnswerSeq == 0 {
			out = append(out, p.RequestSeq)
		}
	}
	return out
}

func lastPageFailed(l *catalog.List) bool {
	return len(l.Pages) > 0 && l.Pages[len(l.Pages)-1].Failed
}

// selection: notMeasured unless an authored check decides it, or a call names a
// tool that its complete catalog lacks (grading.md 0.2.10).
func (a *analysis) selection() Link {
	const l = predicate.Selection
	for _, c := range a.Session.Calls {
		if c.NameOK && c.Catalog != nil && c.Catalog.State == catalog.Complete && !c.Stale {
			if _, ok := c.Catalog.Find(c.Tool); !ok {
				return link(l, Failed, UnknownTool, predicate.Quoted(c.Tool)+" is not in the complete list of tools",
					append([]int64{c.Seq}, pageSeqs(c.Catalog)...)...)
			}
		}
	}
	failed, passed, erred := a.rows(l)
	if len(failed) > 0 {
		reason := UnexpectedToolCall
		for _, r := range failed {
			if r.Check.Info.Name == "toolCalledAtLeastOnce" {
				reason = MissingToolCall
			}
		}
		return fromRows(l, reason, failed)
	}
	if passed > 0 && erred == 0 {
		return link(l, Passed, Observed, "the authored checks on selection passed")
	}
	if erred > 0 {
		return link(l, NotMeasured, EvaluatorError, "a check on selection could not be decided")
	}
	if len(a.Session.Calls) > 0 {
		return link(l, NotMeasured, MatchVerdictMissing, "calls on record, and no check says which were right")
	}
	return link(l, NotMeasured, NoEvidenceCaptured, "no call on record, and no check on selection")
}

// call: grading.md 4.4 with 0.2.10.
func (a *analysis) call() Link {
	const l = predicate.Call
	if failed, _, _ := a.rows(l); len(failed) > 0 {
		return fromRows(l, ArgumentMismatch, failed)
	}
	for _, e := range a.content {
		// A server that answers wrong arguments with isError: the call failed first.
		if what, ok := a.wrong[ref(e)]; ok {
			return link(l, Failed, ArgumentMismatch,
				fmt.Sprintf("%s was called with arguments that violate its own schema: %s", predicate.Quoted(e.Tool), what), e.Seq, e.Record)
		}
	}
	if len(a.protocol) > 0 {
		var seqs []int64
		for _, e := range a.protocol {
			seqs = append(seqs, e.Seq, e.Record)
		}
		text := a.protocol[0].String()
		if what, ok := a.wrong[ref(a.protocol[0])]; ok {
			text += " (the arguments violate the tool's own schema: " + what + ")"
		}
		if n := len(a.protocol); n > 1 {
			text += fmt.Sprintf("; and %d more", n-1)
		}
		text += a.strayReplies()
		if slices.ContainsFunc(a.Session.Calls, dropped) {
			text += stderr(a.Session)
		}
		return link(l, Failed, ReasonProtocolError, text, seqs...)
	}
	if len(a.answered) > 0 {
		var seqs []int64
		for _, c := range a.answered {
			seqs = append(seqs, c.Seq)
		}
		return link(l, Passed, Observed, fmt.Sprintf("%d of %s answered", len(a.answered), plural(len(a.Session.Calls), "call")), seqs...)
	}
	switch n := len(a.Session.Calls); {
	case n == 0:
		return link(l, NotMeasured, NoEvidenceCaptured, "no call on record")
	case a.cancelled == n:
		return link(l, NotMeasured, NoEvidenceCaptured, "every call was cancelled by the client", a.Session.Calls[0].Seq)
	}
	return link(l, NotMeasured, NoEvidenceCaptured, "no call was answered, and nothing shows that the server owed an answer", a.Session.Calls[0].Seq)
}

// dropped tells whether the server's end is what left the call without an answer.
func dropped(c *session.Call) bool { return c.State == session.CallConnectionDrop }

// strayReplies names the replies without a request that came after unanswered calls.
func (a *analysis) strayReplies() string {
	var seqs []string
	for _, c := range a.Session.Calls {
		for _, s := range c.RepliesWithoutRequest {
			text := fmt.Sprint(s)
			if !slices.Contains(seqs, text) {
				seqs = append(seqs, text)
			}
		}
	}
	if len(seqs) == 0 {
		return ""
	}
	return "; replies that belong to no request: records " + strings.Join(seqs[:min(len(seqs), 8)], ", ")
}

// response: grading.md 4.4 with 0.2.10.
func (a *analysis) response() Link {
	const l = predicate.Response
	failed, _, _ := a.rows(l)
	// A noToolErrors row that rests on protocol errors alone is the call link's
	// defect: it fails as a row and does not touch this link.
	failed = slices.DeleteFunc(failed, func(r *Row) bool { return r.Outcome.ProtocolOnly })
	var out Link
	switch {
	case len(failed) > 0:
		reason := ReasonPredicateFailed
		for _, r := range failed {
			if r.Check.Info.Name == "noToolErrors" {
				reason = ReasonToolError
			}
		}
		out = fromRows(l, reason, failed)
	case len(a.content) > 0:
		var seqs []int64
		for _, e := range a.content {
			seqs = append(seqs, e.Seq, e.Record)
		}
		out = link(l, Failed, ReasonToolError, a.content[0].String(), seqs...)
	case len(a.good) > 0:
		var seqs []int64
		for _, c := range a.good {
			seqs = append(seqs, c.AnswerSeq)
		}
		return link(l, Passed, Observed, fmt.Sprintf("%d of %s returned a result without error", len(a.good), plural(len(a.Session.Calls), "call")), seqs...)
	case len(a.badFlag) > 0:
		return link(l, NotMeasured, EvaluatorError, "isError is no boolean", a.badFlag[0].AnswerSeq)
	default:
		return link(l, NotMeasured, NoEvidenceCaptured, "no result on record")
	}
	if out.Reason == ReasonToolError {
		out.Evidence.SameCallAs = a.blamedBefore()
	}
	return out
}

// blamedBefore names the first failing call that the call link failed for already.
func (a *analysis) blamedBefore() string {
	failed, _, _ := a.rows(predicate.Call)
	for _, e := range a.content {
		blamed := a.wrong[ref(e)] != ""
		for _, r := range failed {
			blamed = blamed || slices.Contains(r.Outcome.Calls, ref(e))
		}
		if blamed {
			c := predicate.CallEvidence{Seq: e.Seq, Index: e.Index}
			return c.ID()
		}
	}
	return ""
}

// userValue: somebody asked (a host acted for a user), so it is not measured
// rather than not applicable (grading.md 0.1 "Inputs of 4.2").
func (a *analysis) userValue() Link {
	const l = predicate.UserValue
	failed, passed, erred := a.rows(l)
	switch {
	case erred > 0:
		return link(l, NotMeasured, EvaluatorError, "a check on user value could not be decided")
	case len(failed) > 0:
		return fromRows(l, ReasonPredicateFailed, failed)
	case passed > 0:
		return link(l, Passed, Observed, "the authored checks on user value passed")
	}
	return link(l, NotMeasured, NoEvidenceCaptured, "no host transcript, and no check on user value")
}
