package chain

import (
	"cmp"
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
	}
	if len(a.Evidence.Errors) > 0 {
		a.findWrong()
	}
}

// findWrong looks at the calls that the server refused. Were the arguments wrong
// by the server's own schema? Then this is the defect, not what the server made of it.
func (a *analysis) findWrong() {
	refused := map[predicate.CallRef]bool{}
	for i := range a.Evidence.Errors {
		e := &a.Evidence.Errors[i]
		refused[ref(e)] = e.Refused()
	}
	for i := range a.Evidence.Calls {
		c := &a.Evidence.Calls[i]
		at := predicate.CallRef{Seq: c.Seq, Index: c.Index}
		if c.HostOnly || !refused[at] {
			continue
		}
		if vs, err := a.Evidence.Violations(i); err == nil && len(vs) > 0 {
			where := vs[0].Path
			if where == "" {
				where = "the arguments"
			}
			a.wrong[at] = fmt.Sprintf("%s at %s", vs[0].Class, where)
		}
	}
}

// nothing is the reason of a link of which nothing is on record: whether nobody
// could have recorded it (grading.md 4.4, 0.1).
func (a *analysis) nothing() Reason {
	if a.Evidence.State(predicate.ToolCalls) == session.Absent && !a.anyCall() {
		return TraceAbsent
	}
	return NoEvidenceCaptured
}

// lossy says why an error of a call may have been lost, and is empty when none
// can have been: "no error among what is on record" then proves nothing
// (grading.md 0.2.7, 10.23).
func (a *analysis) lossy() string {
	for _, c := range []predicate.Channel{predicate.ToolCalls, predicate.ToolErrors} {
		if state := a.Evidence.State(c); state != session.Complete {
			text := fmt.Sprintf("but an error may have been lost: %s evidence is %s", c, state)
			if why := a.Evidence.Capture.Why; len(why) > 0 {
				text += " (" + why[0] + ")"
			}
			return text
		}
	}
	return ""
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

// rows returns the gating rows filed at a link that failed, and how many there
// passed or erred. The failed ones come in an order of their own, so that the
// order in which a suite has its checks changes no text.
func (a *analysis) rows(l predicate.Link) (failed []*Row, passed, erred int) {
	for i := range a.Rows {
		r := &a.Rows[i]
		if r.Check.Role != predicate.Gating || r.Check.Info.Link != l || a.matched(r) {
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
	slices.SortStableFunc(failed, func(x, y *Row) int {
		return cmp.Or(
			cmp.Compare(kindOrder(x), kindOrder(y)),
			cmp.Compare(x.Check.Info.Name, y.Check.Info.Name),
			cmp.Compare(x.Outcome.Reason, y.Outcome.Reason),
			slices.Compare(x.Outcome.Records, y.Outcome.Records),
		)
	})
	return failed, passed, erred
}

func kindOrder(r *Row) int { return slices.Index(predicate.Names(), r.Check.Info.Name) }

// matched tells of a gating toolCalledWith that the matcher graded already
// (grading.md 4.4): its row would say the same twice.
func (a *analysis) matched(r *Row) bool {
	return r.Check.Info.Name == toolCalledWith && len(a.Prompts) > 0
}

const toolCalledWith = "toolCalledWith"

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
	text := failed[0].Outcome.Reason
	if n := len(failed); n > 1 {
		text += fmt.Sprintf("; and %s more", plural(n-1, "check"))
	}
	out := link(l, Failed, reason, text)
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
	if out, ok := overHTTP(s); ok {
		return out
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
		if call.AnswerSeq != 0 && ini == nil && (call.Error == nil || !call.Error.NoCode) {
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
			return link(l, NotMeasured, a.nothing(), "nothing was asked of the server", c.ReachedSeq)
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
	return link(l, NotMeasured, a.nothing(), "no list of tools on record")
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
