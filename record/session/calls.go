package session

import (
	"bytes"
	"crypto/sha256"
	"regexp"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// call is a call that is being made.
type call struct {
	*Call
	s *sess
	// decided is the attempt whose answer counts so far, -1 for none.
	decided int
	// args is a copy of the arguments while the call may have to be recognised
	// in a retry: an input round's, or one after -32042.
	args []byte
	macs string // of what the recording hides in them (see line.macs)
	// elicits says that the answer that counts is -32042, and nobody retried yet.
	elicits bool

	// The input round that waits to be resumed.
	round bool
	state [32]byte // hash of requestState; zero when it had none
	keys  []string // of inputRequests

	pos        int   // place in the session's open calls, counted from 1; 0: not there
	shared     bool  // remarked that its waiting time may be another call's
	lastAnswer int64 // at which the latest answer came
	waiting    int   // requests of the server's to the client that are open inside it
	waitFrom   int64
	unread     bool // an answer was too long to be read

	// Of its task.
	taskDone    bool // its result was seen
	taskWaits   bool // it asks for input
	taskMessage string
	taskEnd     int64 // the record that shows its end
	taskEndAt   int64
}

// final tells that nothing can happen to the call any more: it has its answer, and no
// retry can be recognised as one.
func (c *call) final() bool {
	switch c.State {
	case CallResult, CallToolError, CallProtocolError, CallMalformed:
		return c.pos == 0 && c.decided >= 0 && c.decided == len(c.Attempts)-1 && c.Task == nil && !c.round && !c.elicits && c.waiting == 0 && c.ToolUseID == ""
	}
	return false
}

// maxArgs is how many bytes of arguments are copied to recognise a retry.
const maxArgs = 64 << 10

// call takes a tools/call: a new call, or another attempt of an earlier one.
func (s *sess) call(o *open, m *message, meta *object, w where) {
	ex := o.ex
	var args Value
	if m.params.has(fArguments) {
		args = s.p.value(w.line, m.params.at(fArguments))
		if !ex.Params.IsZero() && ex.Params.frame.held != nil {
			// Both are small: one copy is enough.
			in, at := m.params.at(fArguments), m.at(fParams).Start
			args = ex.Params.sub(in.Start-at, in.End-at, in.Depth)
		}
	}
	tool, named := m.params.text(fName)
	use := s.toolUse(meta)
	c := s.joins(tool, use, m, w)
	if c == nil {
		c = &call{s: s, decided: -1, Call: &Call{Seq: w.seq, Index: w.index, Tool: clip(tool, maxName), NameOK: named, ID: ex.ID, At: w.at,
			Arguments: args, ToolUseID: use, TooDeep: args.TooDeep()}}
		if !named {
			c.Remarks = append(c.Remarks, Remark{Seq: w.seq, From: w.from, Flag: FlagBadParams, Detail: "params.name is missing or no text"})
		}
		c.Catalog, c.Stale = s.lists.Held(w.seq)
		if s.p.gapSeq != 0 {
			s.maybeAgain(c, m.params.token(fArguments), w.macs(m.params.at(fArguments)))
		}
		s.Calls = append(s.Calls, c.Call)
		if len(s.calls) > s.sweepAt && s.p.d.opts.Settled == nil { // else settle does it
			s.calls = slices.DeleteFunc(s.calls, (*call).final)
			s.sweepAt = 2*len(s.calls) + 256
		}
		s.calls = append(s.calls, c)
		if use != "" {
			s.byUse[use] = c
		}
	} else if c.lastAnswer != 0 {
		c.WaitedNs += max(0, w.at-c.lastAnswer) // the client's time between two attempts
		c.lastAnswer = 0
	}
	c.Attempts = append(c.Attempts, ex)
	if h, ok := s.p.over.(*httpSession); ok {
		h.calls = true
	}
	c.args, c.macs = nil, ""
	if a := m.params.token(fArguments); len(a) <= maxArgs {
		c.args, c.macs = bytes.Clone(a), w.macs(m.params.at(fArguments))
	}
	o.call = c
	if ex.ID.Pairs() {
		s.opened(c)
	}
}

// toolUse returns the host's own id of the tool use (hosts.md): Claude Code's,
// or Codex's, whose key is a plain word and therefore needs Codex beside it.
func (s *sess) toolUse(meta *object) string {
	if id, ok := meta.text(fMetaToolUse); ok && id != "" {
		return clip(id, maxName)
	}
	if id, ok := meta.text(fMetaCallID); ok && id != "" && (meta.has(fMetaCodex) || strings.Contains(strings.ToLower(s.Client.Name), "codex")) {
		return clip(id, maxName)
	}
	return ""
}

// joins finds the call that a request is another attempt of: by the host's
// tool-use id, else by what an input round's retry must repeat (wire.md 2.5).
func (s *sess) joins(tool, use string, m *message, w where) *call {
	if c := s.byUse[use]; use != "" && c != nil && c.Tool == clip(tool, maxName) {
		s.resumed(c)
		s.noRetry(c)
		return c
	}
	responses, state := m.params.is(fInputResponses, '{'), m.params.token(fRequestState)
	args := m.params.token(fArguments)
	if !responses && state == nil {
		return s.retried(tool, use, args, w.macs(m.params.at(fArguments)))
	}
	var found *call
	for i := len(s.rounds) - 1; i >= 0 && len(s.rounds)-i <= maxRounds; i-- {
		c := s.rounds[i]
		if !c.round || c.Tool != clip(tool, maxName) || use != "" && c.ToolUseID != "" && use != c.ToolUseID {
			continue
		}
		if c.state != ([32]byte{}) {
			if state != nil && c.state == w.stateHash(m.params.at(fRequestState)) {
				found = c
				break
			}
			continue
		}
		if state == nil && c.asked(&m.params) && sameArguments(c, args, w.macs(m.params.at(fArguments))) {
			found = c // the latest one
			break
		}
	}
	if found == nil {
		s.remark(FlagUnresumed, w.seq, w.from, "answers an input round that is not on record, or not this one's: a call of its own")
		return nil
	}
	s.resumed(found)
	return found
}

// maxRounds is how many waiting input rounds a retry is compared with.
const maxRounds = 64

// retried finds the call that a plain request tries again: the oldest of the same
// tool with equal arguments that was answered with -32042 and not tried again
// since. Hosts without a tool-use id (VS Code) send just the same request once
// the person has opened the address (grading.md 0.1 "toolErrors", wire.md 3.3).
func (s *sess) retried(tool, use string, args []byte, macs string) *call {
	for i, c := range s.elicits {
		if c.Tool != clip(tool, maxName) || use != "" && c.ToolUseID != "" && use != c.ToolUseID || !sameArguments(c, args, macs) {
			continue
		}
		s.elicits = slices.Delete(s.elicits, i, i+1)
		c.elicits = false
		return c
	}
	return nil
}

// mayRetry puts a call that was answered with -32042 among those that a later
// request may try again. At most maxRounds wait: with a server that answers so
// for hours, the oldest are given up.
func (s *sess) mayRetry(c *call) {
	if len(s.elicits) == maxRounds {
		s.elicits[0].elicits, s.elicits[0].args = false, nil
		s.elicits = slices.Delete(s.elicits, 0, 1)
	}
	c.elicits = true
	s.elicits = append(s.elicits, c)
}

// noRetry takes a call out of those: the host's own id told the retry, or
// another attempt's answer counts now.
func (s *sess) noRetry(c *call) {
	if !c.elicits {
		return
	}
	c.elicits = false
	if i := slices.Index(s.elicits, c); i >= 0 {
		s.elicits = slices.Delete(s.elicits, i, i+1)
	}
}

func (s *sess) resumed(c *call) {
	c.round = false
	for n := len(s.rounds); n > 0 && !s.rounds[n-1].round; n-- {
		s.rounds[n-1] = nil
		s.rounds = s.rounds[:n-1]
	}
}

// asked tells whether the call's input round asked for everything that the request answers.
func (c *call) asked(params *object) bool {
	if !params.is(fInputResponses, '{') {
		return false
	}
	all := true
	data := params.data
	_, err := jsonscan.Members(data, params.at(fInputResponses).Start, func(name []byte, at int) (jsonscan.Span, error) {
		known := false
		for _, k := range c.keys {
			known = known || k == string(name)
		}
		all = all && known
		return jsonscan.Skip(data, at)
	})
	return err == nil && all
}

// maybeAgain marks the earlier calls that a new one may be another attempt of: a gap
// may hold the answer that made the client send the same once more (-32042, an input
// round, a challenge).
func (s *sess) maybeAgain(c *call, args []byte, macs string) {
	for i := len(s.calls) - 1; i >= 0 && len(s.calls)-i <= maxRounds; i-- {
		e := s.calls[i]
		if n := len(e.Attempts); n == 0 || e.decided >= 0 || e.Attempts[n-1].AnswerSeq != 0 || s.p.gapSeq <= e.Attempts[n-1].Seq {
			continue
		}
		large := e.args == nil && !e.Arguments.IsZero() && len(args) > maxArgs
		if e.Tool == c.Tool && (e.ToolUseID == "" || c.ToolUseID == "" || e.ToolUseID == c.ToolUseID) && (large || sameArguments(e, args, macs)) {
			e.SentAgain = true
		}
	}
}

func sameArguments(c *call, args []byte, macs string) bool {
	if c.args == nil && args == nil {
		return c.Arguments.IsZero()
	}
	if c.args == nil || len(args) > maxArgs || c.macs != macs {
		return false // too large to be compared: they are two calls
	}
	a, ok1 := jsonscan.Canonical(c.args)
	b, ok2 := jsonscan.Canonical(args)
	return ok1 && ok2 && bytes.Equal(a, b)
}

// stateHash is equal for equal requestStates: over the text, or over the MACs
// that stand for parts of it where a recording masks it.
func (l *line) stateHash(span jsonscan.Span) [32]byte {
	h := sha256.New()
	if macs := l.macs(span); macs != "" {
		h.Write([]byte(macs))
	} else {
		t := l.data[span.Start:span.End]
		if text, ok := jsonscan.String(t); ok {
			h.Write([]byte(text))
		} else {
			h.Write(t)
		}
	}
	return [32]byte(h.Sum(nil))
}

// macs are those of what a recording hides in a part of the line. What is hidden
// reads alike whatever it was: two texts are equal only if these are, too.
func (l *line) macs(span jsonscan.Span) string {
	var out []byte
	for _, m := range l.masks {
		if m.Off < int64(span.End) && m.Off+m.Len > int64(span.Start) {
			out = append(append(out, m.MAC...), ' ')
		}
	}
	return string(out)
}

// called reads the answer to a tools/call.
func (s *sess) called(o *open, m *message, w where, state ExchangeState) {
	c := o.call
	if c == nil || o.ex.Late {
		if c != nil { // a cancelled call stays cancelled; the answer is only attached
			if c.decided < 0 || c.State == CallInputRequired {
				c.AnswerSeq, c.AnswerAt, c.Late = w.seq, w.at, true
				c.Result, c.Error = Value{}, nil
			}
			s.settled(c, w.at)
		}
		return
	}
	n := -1
	for i, ex := range c.Attempts {
		if ex == o.ex {
			n = i
		}
	}
	if n < c.decided {
		return // the answer of an earlier attempt, come late: the later one counts
	}
	c.decided = n
	c.lastAnswer = w.at
	c.decide(o.ex, m, w, state)
	s.noRetry(c)
	switch {
	case c.State == CallInputRequired:
		c.await(m, w)
	case c.State == CallTaskHandle: // the call goes on
	case c.State == CallProtocolError && (c.Error.Code == errURLElicitation || w.challenged()) && n == len(c.Attempts)-1:
		args := c.args
		s.settled(c, w.at)
		c.args = args
		s.mayRetry(c)
	default:
		s.settled(c, w.at)
	}
}

// decide sets the call's state after an answer, its own or its task's.
func (c *call) decide(ex *Exchange, m *message, w where, state ExchangeState) {
	c.AnswerSeq, c.AnswerAt, c.Late = w.seq, w.at, false
	c.Result, c.Error, c.ErrorText, c.BadIsError = ex.Result, ex.Error, "", false
	switch state {
	case ExchangeError:
		c.State = CallProtocolError
		return
	case ExchangeResult:
	default:
		c.State = CallMalformed
		return
	}
	r := &m.result
	resultType, _ := r.text(fResultType)
	if resultType == "input_required" && ex.Method == methodCall {
		c.State = CallInputRequired
		return
	}
	if t, ok := taskOf(r, resultType, w); ok && ex.Method == methodCall {
		c.State = CallTaskHandle
		c.Result = Value{}
		c.s.taskMade(c, t, w)
		return
	}
	c.outcome(r, w)
}

// outcome reads a CallToolResult.
func (c *call) outcome(r *object, w where) {
	c.State = CallResult
	if !r.has(fIsError) {
		return
	}
	switch t := r.token(fIsError); string(t) {
	case "true":
		c.State = CallToolError
		c.ErrorText = contentText(r)
	case "false":
	default:
		c.BadIsError = true
		c.Remarks = append(c.Remarks, Remark{Seq: w.seq, From: w.from, Flag: FlagBadIsError, Detail: "isError is " + clip(string(t), 100)})
		c.s.remark(FlagBadIsError, w.seq, w.from, "isError is no boolean")
	}
}

// contentText joins the text blocks of a result, at most maxText bytes.
func contentText(r *object) string {
	if !r.is(fContent, '[') {
		return ""
	}
	var out []byte
	var block object
	data := r.data
	_, _ = jsonscan.Elements(data, r.at(fContent).Start, func(_, at int) (jsonscan.Span, error) {
		at = jsonscan.Space(data, at)
		if data[at] != '{' {
			return jsonscan.Skip(data, at)
		}
		s, err := block.scan(data, at, nil)
		if kind, _ := block.text(fType); kind == "text" && len(out) <= maxText {
			text, _ := block.text(fText)
			out = append(out, text...)
		}
		return s, err
	})
	return clip(string(out), maxText)
}

// await keeps what a retry of the input round will have to show.
func (c *call) await(m *message, w where) {
	c.round, c.state, c.keys = true, [32]byte{}, nil
	if m.result.has(fRequestState) {
		c.state = w.stateHash(m.result.at(fRequestState))
	}
	if m.result.is(fInputRequests, '{') {
		_, _ = jsonscan.Members(m.data, m.result.at(fInputRequests).Start, func(name []byte, at int) (jsonscan.Span, error) {
			if len(c.keys) < maxRounds && len(name) <= maxName {
				c.keys = append(c.keys, string(name))
			}
			return jsonscan.Skip(m.data, at)
		})
	}
	c.s.rounds = append(c.s.rounds, c)
}

// opened puts a call among those that requests of the server's may belong to.
func (s *sess) opened(c *call) {
	if c.pos == 0 {
		s.open = append(s.open, c)
		c.pos = len(s.open)
	}
}

// settled takes a call out of them, and stops its clock.
func (s *sess) settled(c *call, at int64) {
	if c.pos > 0 {
		last := s.open[len(s.open)-1]
		s.open[c.pos-1], last.pos = last, c.pos
		s.open[len(s.open)-1] = nil
		s.open = s.open[:len(s.open)-1]
		c.pos = 0
	}
	if c.waiting > 0 {
		c.WaitedNs += max(0, at-c.waitFrom)
		c.waiting = 0
	}
	c.args = nil
}

// wait starts the clock of the time in which the server waits for the client;
// several requests at once count once.
func (c *call) wait(at int64) {
	if c.waiting == 0 {
		c.waitFrom = at
	}
	c.waiting++
}

func (c *call) resume(at int64) {
	if c.waiting == 0 {
		return
	}
	c.waiting--
	if c.waiting == 0 {
		c.WaitedNs += max(0, at-c.waitFrom)
	}
}

// timeoutWords are how clients say that they gave up waiting: TypeScript
// ("MCP error -32001: Request timed out"), Go ("context deadline exceeded"),
// Python ("Timed out while waiting for response").
var timeoutWords = regexp.MustCompile(`(?i)tim(?:ed?|ing)[ _-]?out|deadline[ _-]?exceeded|-32001\b`)

// unanswered decides the state of a call without an answer that counts
// (wire.md 3.3).
func (p *process) unanswered(c *call) CallState {
	last := c.Attempts[len(c.Attempts)-1]
	s := c.s
	first := p.first
	if s.superseded {
		first = record.ByClient
	}
	switch {
	case !last.ID.Pairs():
		return CallNoID
	case last.Undelivered:
		return CallUndelivered
	case last.CancelledSeq != 0 && timeoutWords.MatchString(last.CancelReason):
		return CallClientTimeout
	case last.CancelledSeq != 0:
		return CallCancelled
	case c.unread, p.gapSeq > last.Seq, p.openEnd:
		return CallPending
	case first == record.ByServer:
		return CallConnectionDrop
	case c.AnsweredLater, len(c.RepliesWithoutRequest) > 0:
		return CallNeverAnswered
	case first == record.ByClient, first == record.ByProxy:
		return CallClientGone
	}
	return CallPending // nothing on record says how it ended
}

// evidence collects what speaks for a server that did its work and did not answer this.
func (p *channel) evidence(c *call, last *Exchange) {
	c.AnsweredLater = p.answered > last.Seq
	after, _ := slices.BinarySearch(c.s.orphans, last.Seq+1)
	few := c.s.orphans[after:]
	c.RepliesWithoutRequest = slices.Clone(few[:min(len(few), 8)])
}
