package session

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// open is a request that may still be answered.
type open struct {
	ex       *Exchange
	s        *sess
	off, end int64 // of its line in the direction
	older    *open // an open request with the same id
	call     *call // of tools/call and of the tasks/* requests for one
	waits    []*call
	token    key
	version  string // of a stateless request
	unread   bool   // its answer was too long to be read
	x        *httpExchange
}

// note remarks something about the request, on it and on its session.
func (o *open) note(flag string, seq int64, from record.From, detail string) {
	o.tell(flag, seq, from, detail)
	o.s.remark(flag, seq, from, detail)
}

// tell remarks it on the request alone: a line that concerns several requests is
// one remark of the session's.
func (o *open) tell(flag string, seq int64, from record.From, detail string) {
	o.ex.Remarks = append(o.ex.Remarks, Remark{Seq: seq, From: from, Flag: flag, Detail: detail})
	if o.call != nil && o.ex.Method == methodCall {
		o.call.Remarks = append(o.call.Remarks, Remark{Seq: seq, From: from, Flag: flag, Detail: detail})
		o.call.unread = o.call.unread || flag == FlagTooLong
	}
}

// requests are those of one side.
type requests struct {
	open   map[key]*open
	done   map[key]*Exchange // the latest that was answered, by id
	old    map[key]oldAnswer // … as far as that was let go of (Options.Settled)
	tokens map[key]*Exchange // progress tokens of open requests: a token is not an id (wire.md 2.3)
	closed [64]closedToken   // of the latest answered ones: progress may come late
	next   int
}

type closedToken struct {
	key key
	ex  *Exchange
}

func newRequests() *requests {
	return &requests{open: map[key]*open{}, done: map[key]*Exchange{}, tokens: map[key]*Exchange{}}
}

// oldAnswer is what is left of a request that was let go of.
type oldAnswer struct {
	seq  int64
	call bool
}

// latest is the latest request with an id that was answered; nil: there is none.
func (r *requests) latest(id ID) *Exchange {
	if ex := r.done[id.key()]; ex != nil {
		return ex
	}
	o, ok := r.old[id.key()]
	if !ok {
		return nil
	}
	ex := &Exchange{Seq: o.seq, ID: id}
	if o.call {
		ex.Method = methodCall
	}
	return ex
}

// settle hands the answered requests among the session's to Options.Settled, and lets
// go of them: when there are twice as many as were left the last time. The last of each
// side, and the first call, stay.
func (s *sess) settle(p *channel) {
	if p.d.opts.Settled == nil || p.d.brief != nil || len(s.Requests) <= s.settleAt {
		return
	}
	kept := s.Requests[:0]
	for _, ex := range s.Requests {
		if ex.AnswerSeq == 0 || ex.HTTP != nil {
			kept = append(kept, ex)
			continue
		}
		p.d.opts.Settled(s.Session, ex)
		s.spoke = s.spoke || ex.spoke()
		r := p.asked[ex.From]
		if k := ex.ID.key(); r.done[k] == ex {
			if r.old == nil {
				r.old = map[key]oldAnswer{}
			}
			r.old[k] = oldAnswer{ex.Seq, ex.Method == methodCall}
			delete(r.done, k)
		}
	}
	clear(s.Requests[len(kept):])
	s.Requests = kept
	s.settleAt = 2*len(kept) + 256
	// The session's first call stays: what was listed before it is told by it.
	final := map[*Call]bool{}
	s.calls = slices.DeleteFunc(s.calls, func(c *call) bool {
		if c.final() && c.Call != s.Calls[0] {
			final[c.Call] = true
			return true
		}
		return false
	})
	n := len(s.Calls)
	s.Calls = slices.DeleteFunc(s.Calls, func(c *Call) bool { return final[c] })
	s.SettledCalls += n - len(s.Calls)
}

// maxSameID is how many open requests with one id are looked at.
const maxSameID = 64

// find returns the open request that a reply with this id answers. There is
// more than one only when a peer broke the rule that ids in flight are unique;
// then the oldest that is not cancelled counts, of the current session first.
func (r *requests) find(k key, s *sess) *open {
	var best *open
	rank := func(o *open) int {
		n := 0
		if o.s == s {
			n++
		}
		if o.ex.CancelledSeq == 0 {
			n += 2
		}
		if o.x != nil && o.x.resEnded {
			n += 4 // its own exchange will not answer it any more
		}
		return n
	}
	n := 0
	for o := r.open[k]; o != nil && n < maxSameID; o = o.older { // newest first
		n++
		if best == nil || rank(o) >= rank(best) {
			best = o
		}
	}
	return best
}

func (r *requests) add(o *open) (reused bool) {
	k := o.ex.ID.key()
	o.older = r.open[k]
	r.open[k] = o
	return o.older != nil
}

// answered takes o from the open ones.
func (r *requests) answered(o *open) {
	k := o.ex.ID.key()
	if head := r.open[k]; head == o {
		if o.older == nil {
			delete(r.open, k)
		} else {
			r.open[k] = o.older
		}
	} else {
		for ; head != nil; head = head.older {
			if head.older == o {
				head.older = o.older
				break
			}
		}
	}
	o.older = nil
	r.done[k] = o.ex
}

func (r *requests) closeToken(o *open) {
	if o.token.kind == IDAbsent || r.tokens[o.token] != o.ex {
		return
	}
	delete(r.tokens, o.token)
	r.closed[r.next%len(r.closed)] = closedToken{o.token, o.ex}
	r.next++
}

func (r *requests) byToken(k key) *Exchange {
	if ex := r.tokens[k]; ex != nil {
		return ex
	}
	for i := range r.closed {
		if c := r.closed[(r.next+len(r.closed)-1-i)%len(r.closed)]; c.ex != nil && c.key == k {
			return c.ex
		}
	}
	return nil
}

// earlyReply is a reply that came before any request with its id: kept for a
// moment, since the request's newline may still be on its way.
type earlyReply struct {
	from record.From
	id   key
	line line
	span jsonscan.Span
	at   int // index in a batch
	s    *sess
	o    *Orphan
}

const (
	maxEarly     = 8       // replies
	maxEarlySize = 1 << 20 // bytes of each
)

// message reads one message and returns its session.
func (p *channel) message(m *message, w where) *sess {
	switch m.kind {
	case kRequest:
		return p.request(m, w)
	case kNotification:
		return p.notification(m, w)
	default:
		return p.reply(m, w)
	}
}

// count counts a message and remarks what is odd about its form.
func (s *sess) count(m *message, w where) {
	s.Messages[w.from]++
	if m.valid && w.from == record.Server && s.Connection.ReachedSeq == 0 && !w.made {
		s.Connection.ReachedSeq = w.seq
	}
	if !m.valid {
		s.remark(FlagNoVersion, w.seq, w.from, `the message has no "jsonrpc":"2.0"`)
	}
	if m.dup || m.params.dup || m.result.dup {
		s.remark(FlagDuplicateMember, w.seq, w.from, "a member stands in the message twice: the last one holds")
	}
	if m.span.Depth > MaxDepth {
		s.remark(FlagTooDeep, w.seq, w.from, fmt.Sprintf("nested %d levels deep, more than %d", m.span.Depth, MaxDepth))
	}
}

func (p *channel) request(m *message, w where) *sess {
	p.begins(m, w)
	if m.method == methodInitialize && w.from == record.Client {
		p.over.handshake(w)
	}
	s := p.cur
	s.count(m, w)
	ex := &Exchange{From: w.from, Seq: w.seq, Index: w.index, At: w.at, ID: m.id, Method: m.method, State: ExchangeUnanswered}
	if m.has(fParams) {
		ex.Params = p.value(w.line, m.at(fParams))
	}
	s.settle(p)
	s.Requests = append(s.Requests, ex)
	o := &open{ex: ex, s: s, off: w.off, end: w.end}
	if w.x != nil {
		ex.HTTP = &HTTP{Exchange: w.x.n, Event: w.event, EventID: clip(w.eventID, maxName), AnswerEvent: -1, Status: w.x.status}
		if w.from == record.Client {
			ex.HTTP.x, o.x = w.x, w.x
			w.x.opens = append(w.x.opens, o)
		}
	}
	ex.Undelivered = p.isUndelivered(w.from, w.off, w.end)
	r := p.asked[w.from]
	meta, _ := m.params.object(fMeta)
	if t := meta.token(fProgressToken); t != nil {
		if token := parseID(t); token.Pairs() {
			o.token = token.key()
			r.tokens[o.token] = ex
		}
	}
	if w.from == record.Client {
		p.clientRequest(o, m, meta, w)
	} else {
		s.serverRequest(o, m, meta)
	}
	switch {
	case m.id.Kind == IDNull:
		o.note(FlagNullID, w.seq, w.from, "a request whose id is null: nothing can answer it")
	case !m.id.Pairs():
		o.note(FlagBadID, w.seq, w.from, "a request whose id is neither string nor number: "+clip(m.id.Raw, 100))
	default:
		used := r.latest(m.id)
		if r.add(o) {
			o.note(FlagIDReuse, w.seq, w.from, "the request with this id is still open")
		} else if used != nil && s.Connection.Initialize != nil && used.Seq >= s.FirstSeq && m.method != methodInitialize {
			o.note(FlagIDReuse, w.seq, w.from, "the id was used before in this session")
		}
	}
	if w.since < w.last && len(p.early) > 0 && m.id.Pairs() {
		p.answeredEarly(o, w)
	}
	return s
}

// answeredEarly pairs a request with a reply that came between its first and its last byte.
func (p *channel) answeredEarly(o *open, w where) {
	for i, e := range p.early {
		if e.from == w.from || e.id != o.ex.ID.key() || e.line.seq < w.since {
			continue
		}
		p.early = slices.Delete(p.early, i, i+1)
		// Both stand near the end: few replies are kept.
		for k := len(e.s.Orphans) - 1; k >= 0; k-- {
			if e.s.Orphans[k] == e.o {
				e.s.Orphans = slices.Delete(e.s.Orphans, k, k+1)
				break
			}
		}
		for k := len(e.s.orphans) - 1; k >= 0; k-- {
			if e.s.orphans[k] == e.line.seq {
				e.s.orphans = slices.Delete(e.s.orphans, k, k+1)
				break
			}
		}
		e.s.unremark(FlagOrphan, e.line.seq)
		var m message
		if _, err := m.peek(e.line.data, e.span.Start); err == nil {
			o.note(FlagEarly, e.line.seq, e.from, "the answer came before the request's last byte was read")
			p.answer(o, &m, where{&e.line, e.at})
		}
		return
	}
}

func (p *channel) reply(m *message, w where) *sess {
	r := p.asked[other(w.from)]
	var o *open
	var first *Exchange
	switch {
	case w.x != nil && w.from == record.Server:
		o, first = w.x.find(m, w)
	case m.id.Pairs():
		if o = r.find(m.id.key(), p.cur); o == nil {
			first = r.latest(m.id)
		}
	}
	if w.x != nil && w.from == record.Client {
		w.x.noted++
	}
	if o != nil {
		o.s.count(m, w)
		p.answer(o, m, w)
		return o.s
	}
	p.begins(m, w)
	s := p.cur
	s.count(m, w)
	orphan := &Orphan{From: w.from, Seq: w.seq, Index: w.index, ID: m.id}
	if w.x != nil {
		orphan.Exchange, orphan.Event, orphan.EventID = w.x.n, w.event, clip(w.eventID, maxName)
	}
	s.Orphans = append(s.Orphans, orphan)
	switch {
	case m.id.Kind == IDNull:
		orphan.Hint = oneInFlight(r)
		s.remark(FlagNullID, w.seq, w.from, "a reply that names no request")
	case m.id.Kind == IDAbsent:
		orphan.Hint = oneInFlight(r)
		s.remark(FlagNoID, w.seq, w.from, "a reply that names no request")
	case m.id.Kind == IDOther:
		s.remark(FlagBadID, w.seq, w.from, "a reply whose id is neither string nor number: "+clip(m.id.Raw, 100))
	case first != nil:
		orphan.Duplicate, orphan.RequestOf = true, first.Seq
		orphan.Hint = r.hint(m.id)
		s.remark(FlagDuplicate, w.seq, w.from, fmt.Sprintf("request %d (id %s) had been answered by %d", first.Seq, clip(first.ID.Raw, 100), first.AnswerSeq))
	default:
		orphan.Hint = r.hint(m.id)
		s.remark(FlagOrphan, w.seq, w.from, "a reply to no request: id "+clip(m.id.Raw, 100))
		p.keepEarly(m, w, s, orphan)
	}
	if w.from == record.Server && p.gapSeq == 0 && !s.Connection.BeganMidway && !(first != nil && first.Method == methodCall) {
		// With a gap before it, or a beginning that nobody saw, the request may
		// just not be on record. A second answer to a call is that call's; one
		// to initialize, say, is how servers look that answer every id with 0.
		s.orphans = append(s.orphans, w.seq)
	}
	return s
}

func (p *channel) keepEarly(m *message, w where, s *sess, orphan *Orphan) {
	if len(w.data) > maxEarlySize {
		return
	}
	if len(p.early) == maxEarly {
		p.early = slices.Delete(p.early, 0, 1)
	}
	l := *w.line
	l.data = bytes.Clone(l.data)
	p.early = append(p.early, earlyReply{from: w.from, id: m.id.key(), line: l, span: m.span, at: w.index, s: s, o: orphan})
}

// maxHints is how many open requests are looked at for a hint.
const maxHints = 256

// hint says which open request a reply may have been meant for.
func (r *requests) hint(id ID) string {
	if !id.Pairs() || len(r.open) > maxHints {
		return ""
	}
	var best *Exchange
	how := ""
	for _, o := range r.open {
		// The lowest seq: no map order in what we say.
		if h := rewritten(o.ex.ID, id); h != "" && (best == nil || o.ex.Seq < best.Seq) {
			best, how = o.ex, h
		}
	}
	if best == nil {
		return ""
	}
	return fmt.Sprintf("id-rewritten? request %d has id %s: %s", best.Seq, best.ID.Raw, how)
}

func oneInFlight(r *requests) string {
	if len(r.open) == 1 {
		for _, o := range r.open {
			if o.older == nil {
				return fmt.Sprintf("request %d was the only one open", o.ex.Seq)
			}
		}
	}
	return ""
}

// answer gives the open request its answer: the first one counts.
func (p *channel) answer(o *open, m *message, w where) {
	r := p.asked[o.ex.From]
	r.answered(o)
	ex, s := o.ex, o.s
	s.touch(w.last, w.at)
	ex.AnswerSeq, ex.AnswerIndex, ex.AnswerAt, ex.AnswerID = w.seq, w.index, w.at, m.id
	if w.x != nil && w.from == record.Server && w.eventID != "" {
		w.x.h.replied(w.eventID, ex)
	}
	byExchange := !m.id.Pairs() || m.id.key() != ex.ID.key()
	ex.HTTP.answered(w)
	if byExchange {
		o.note(FlagByExchange, w.seq, w.from, "the error names another request, or none: it is the answer to its exchange's")
	} else if m.id.Raw == ex.ID.Raw {
		ex.AnswerID = ex.ID
	} else {
		o.note(FlagIDSpelling, w.seq, w.from, fmt.Sprintf("the id is spelt %s in the request and %s in the answer", clip(ex.ID.Raw, 100), clip(m.id.Raw, 100)))
	}
	if ex.CancelledSeq != 0 {
		ex.Late = true
		o.note(FlagLate, w.seq, w.from, fmt.Sprintf("the answer came after the request was cancelled in %d", ex.CancelledSeq))
	}
	state := p.outcome(o, m, w)
	ex.State = state
	if ex.From == record.Client {
		if ex.Method != methodPing {
			p.answered = max(p.answered, ex.Seq)
		}
		p.clientAnswered(o, m, w, state)
	} else {
		s.serverAnswered(o, w.at)
	}
	if o.call == nil || o.call.Task == nil || ex.Method != methodCall {
		r.closeToken(o) // with a task the token stays valid until the task ends
	}
}

// outcome reads result or error.
func (p *channel) outcome(o *open, m *message, w where) ExchangeState {
	ex := o.ex
	result, failed := m.outcome(fResult), m.outcome(fError)
	if result {
		ex.Result = p.value(w.line, m.at(fResult))
	}
	if failed {
		in, ok := m.object.object(fError)
		ex.Error = &RPCError{RawCode: clip(string(in.token(fCode)), 100)}
		if code, fits := jsonscan.Int(in.token(fCode)); fits {
			ex.Error.Code, ex.Error.RawCode = code, ""
		}
		if text, isText := in.text(fMessage); isText {
			ex.Error.Message = clip(text, maxText)
		}
		if at := m.at(fError); ok && !w.made && at.End-at.Start > len(ex.Error.Message)+bareError {
			ex.Error.Whole = p.value(w.line, at)
		}
		if !ok {
			ex.Error.Message = clip(string(m.token(fError)), maxText)
			o.note(FlagBadError, w.seq, w.from, "the error is no object")
			return ExchangeMalformed
		}
		if w.made {
			// Whose fault it is tells the exchange, not the code that sixlink gave it.
			ex.Error.Code, ex.Error.RawCode, ex.Error.NoCode = 0, "made by sixlink", true
			if ex.HTTP != nil && ex.HTTP.Status >= 300 {
				ex.Error.RawCode = fmt.Sprintf("HTTP %d", ex.HTTP.Status)
			}
		} else if !in.has(fCode) || ex.Error.RawCode != "" {
			o.note(FlagBadError, w.seq, w.from, "the error has no integer code")
		}
	}
	switch {
	case result && failed:
		o.note(FlagResultAndError, w.seq, w.from, "the answer holds result and error at once")
		return ExchangeMalformed
	case failed:
		return ExchangeError
	case !result:
		o.note(FlagNoOutcome, w.seq, w.from, "the answer holds neither result nor error")
		return ExchangeMalformed
	case !m.is(fResult, '{'):
		o.note(FlagBadResult, w.seq, w.from, "the result is no object")
		return ExchangeMalformed
	}
	if ex.From == record.Client && o.version != "" && ex.Method != methodInitialize && !o.s.legacyOK {
		return o.s.resultType(o, m, w)
	}
	return ExchangeResult
}

// bareError is how long an error is, in bytes, beside its message: {"code":-32603,"message":""}.
const bareError = 30

// maxText is how many bytes of a peer's prose are kept: messages, reasons, error texts.
const maxText = 2 << 10

// clip cuts a text at a rune's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
