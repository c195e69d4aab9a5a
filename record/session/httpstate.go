package session

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/record"
)

// handshake notes an initialize: which session it belongs to is decided already.
func (h *httpSession) handshake(w where) {
	if s := h.cur; s.modern && s.Connection.Initialize == nil {
		s.remark(FlagEraFallback, w.seq, record.Client, "a probe of the stateless era, then initialize")
	}
}

func (h *httpSession) finishSession(s *sess) {
	s.Principal = h.principal
	c := &s.Connection
	if h.midway && c.Initialize == nil {
		s.midway(s.FirstSeq)
	}
	if g := h.gapBefore; g != nil && (c.Initialize == nil || h.shares != nil) {
		s.lossy = append(s.lossy, fmt.Sprintf("records %d to %d were not kept, and may have been of this session: %s", g.FirstSeq, g.LastSeq, g.Why))
	}
	if x := h.stream; x != nil && x.cut && s.End.First == "" {
		s.End.First, s.End.FirstSeq = x.by, x.bySeq
	}
	// A request of the newer era whose client closed its exchange is cancelled (wire.md 2.4).
	for _, ex := range s.Requests {
		if x := ex.over(); x != nil && ex.From == record.Client && h.cancels(x, ex) {
			ex.State, ex.CancelledSeq, ex.CancelledAt = ExchangeCancelled, x.bySeq, x.byAt
		}
		if x := ex.over(); x != nil && ex.Method == methodInitialize && !h.openEnd {
			c.EndedBy, c.Ended, c.EndedSeq = h.how(ex)
		}
	}
}

// over is the HTTP exchange of a request that nobody answered; else nil.
func (ex *Exchange) over() *httpExchange {
	if ex.HTTP == nil || ex.AnswerSeq != 0 {
		return nil
	}
	return ex.HTTP.x
}

// cancels tells whether the client's leaving cancelled the request.
func (h *httpSession) cancels(x *httpExchange, ex *Exchange) bool {
	return x.by == record.ByClient && x.cut && ex.CancelledSeq == 0 && !x.gapped && h.cur.Connection.Initialize == nil && h.cur.modern
}

// how tells what became of a request without an answer, and what shows it.
func (h *httpSession) how(ex *Exchange) (state CallState, why string, seq int64) {
	x := ex.over()
	if x == nil {
		return CallPending, "", 0
	}
	if h.gapSeq > ex.Seq && (x.gapped || h.resumable()) {
		return CallPending, "a gap lies inside", 0
	}
	if x.unread != "" {
		return CallPending, x.unread, x.bodySeq()
	}
	sent := x
	if h.stream != nil && x.status < 300 && !x.made && x.failed == "" {
		x = h.stream // its answer would have come there
	}
	switch {
	case x.made && sent.failed == "", sent.failed != "" && sent.failedWhat != "send":
		return CallUndelivered, "sixlink answered itself: " + orElse(sent.failed, x.why), orSeq(sent.failedSeq, x.headSeq)
	case sent.failed != "":
		return CallConnectionDrop, "the upstream broke off before its response (" + sent.failed + ")", sent.failedSeq
	case h.openEnd && (!x.resEnded || h.resumable()):
		return CallPending, "the recording ends before the answer", 0
	case x.status == 502, x.status == 503, x.status == 504:
		return CallConnectionDrop, fmt.Sprintf("HTTP %d by something in between", x.status), x.headSeq
	case x.status >= 300 && x.status < 400:
		return CallClientGone, fmt.Sprintf("HTTP %d, and the client did not send it again", x.status), x.headSeq
	case !x.resEnded && !x.cut:
		return CallClientGone, "its exchange was open when the recorder ended", 0
	case x.cut && x.by == record.ByClient:
		return CallClientGone, "the client left its exchange", x.bySeq
	case x.cut && x.by == record.ByProxy:
		return CallClientGone, "sixlink ended its exchange: " + x.why, x.bySeq
	case x.cut:
		return CallConnectionDrop, "the server broke off the response", x.bySeq
	case x.sawID && h.resumable() && x == sent:
		return CallClientGone, "its stream ended in order, to be resumed, and the client did not come back", x.bodySeq()
	}
	if x.res.next == 0 {
		return CallNeverAnswered, "the response was empty", x.headSeq
	}
	return CallNeverAnswered, "the response ended without an answer", x.bodySeq()
}

// resumable tells whether an answer may come on a later stream: in the initialize
// era only (wire.md 1.3, 1.4).
func (h *httpSession) resumable() bool {
	return h.cur.Connection.Initialize != nil || !h.cur.modern
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func orSeq(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return b
}

func (h *httpSession) unanswered(c *call) CallState {
	last := c.Attempts[len(c.Attempts)-1]
	state, why, seq := h.how(last)
	switch {
	case !last.ID.Pairs():
		c.AnsweredLater = c.AnsweredLater && last.HTTP == nil
		return CallNoID
	case last.CancelledSeq != 0 && timeoutWords.MatchString(last.CancelReason):
		return CallClientTimeout
	case last.CancelledSeq != 0:
		return CallCancelled
	case c.unread:
		state, why = CallPending, "its answer is too long to be read"
	case state == CallClientGone && h.stream != nil && c.AnsweredLater && h.gapSeq <= last.Seq:
		// One stream has all answers: the host heard those to later work on it.
		state, why = CallNeverAnswered, "the server answered later work on the same stream"
	}
	c.Ended, c.EndedSeq = why, seq
	if state != CallNeverAnswered {
		// Its own exchange says how it ended: other answers prove nothing more.
		c.AnsweredLater, c.RepliesWithoutRequest = false, nil
	}
	return state
}

func (h *httpSession) unlisted(ex *Exchange, _ *sess) (failed bool, why string) {
	switch state, why, _ := h.how(ex); state {
	case CallNeverAnswered, CallConnectionDrop:
		return why[:min(len(why), 8)] != "HTTP 502" && !strings.HasPrefix(why, "HTTP 5"), why
	default:
		return false, orElse(why, "nothing on record says how it ended")
	}
}

// basis says what makes the records one session.
func (h *httpSession) basis(s *sess) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	chosen := h.w.d.opts.SessionKey != ""
	switch {
	case h.keyName == "connection":
		add("connection %s", h.key)
	case h.keyName == "principal" && h.key == "":
		add("no credentials")
	case h.keyName == "principal", strings.HasPrefix(h.keyName, "header "):
		add("one %s (%s)", h.keyName, short(h.key))
	case h.keyName != "":
		add("%s %q", h.keyName, clip(h.key, 80))
	case h.stream != nil:
		add("event stream of exchange %d, its endpoint at %d", h.stream.n, h.endpointSeq)
	case h.id != "" && h.idSeq != 0:
		add("Mcp-Session-Id given at %d", h.idSeq)
	case h.id != "":
		add("Mcp-Session-Id that the recording did not see given")
	default:
		add("no session id: glued by path %s", orElse(clip(h.path, 200), "/"))
	}
	ini := s.Connection.Initialize
	switch {
	case ini != nil && h.shares != nil:
		add("the handshake at %d is shared with other conversations", ini.Seq)
	case ini != nil:
		add("handshake at %d", ini.Seq)
	case s.Era == EraStateless:
		add("its requests carry their protocol version")
	case s.modern:
		add("a probe of the stateless era that was refused")
	default:
		add("no handshake")
	}
	if h.id == "" && h.stream == nil || h.keyName != "" {
		if s.Client.Name != "" {
			add("client %s", strings.TrimSpace(clip(s.Client.Name, 80)+" "+clip(s.Client.Version, 40)))
		} else if h.agent != "" {
			add("user agent %s", clip(h.agent, 80))
		}
		switch {
		case h.keyName == "principal":
		case h.principals == 0:
			add("no credentials")
		case h.principals == 1:
			add("one principal (%s)", short(h.principal))
		default:
			add("%d principals, each after the server had asked for credentials", h.principals)
		}
		if h.idle && !chosen {
			add("after a silence of more than 30 minutes")
		}
	}
	if h.exchanges == 1 {
		add("1 exchange")
	} else {
		conns := fmt.Sprintf("%d connections", len(h.conns))
		if len(h.conns) == 1 {
			conns = "1 connection"
		}
		if len(h.conns) == 0 {
			add("%d exchanges", h.exchanges)
		} else {
			add("%d exchanges on %s", h.exchanges, conns)
		}
	}
	return strings.Join(out, ", ")
}

// short is a hash, or a value of a recording at level raw, in short.
func short(v string) string {
	if strings.HasPrefix(v, "#") {
		return "hash " + clip(v[1:], 12)
	}
	return "in clear"
}

// find returns the open request that a reply of the server's answers, or the one
// that it answered before. Those of its own exchange come first, then those of
// the stream that it goes on with, then the session's (wire.md 2.2): chats that
// number every request 1 must not mix.
func (x *httpExchange) find(m *message, w where) (o *open, first *Exchange) {
	h := x.h
	if w.eventID != "" {
		if ex := h.answers[w.eventID]; ex != nil && m.id.Pairs() && ex.ID.key() == m.id.key() {
			return nil, ex // the same event, sent again
		}
	}
	if m.id.Pairs() {
		k := m.id.key()
		for _, in := range []*httpExchange{x, x.resumes} {
			if in == nil {
				continue
			}
			if len(in.opens) > maxSameID { // a batch that large is looked up by id
				if o := h.asked[record.Client].find(k, h.cur); o != nil && o.x == in {
					return o, nil
				}
				continue
			}
			for _, o := range in.opens {
				if o.ex.ID.Pairs() && o.ex.ID.key() == k {
					if o.ex.AnswerSeq == 0 {
						return o, nil
					}
					first = o.ex
				}
			}
			if first != nil {
				return nil, first
			}
		}
	}
	if failed := m.outcome(fError) && !m.outcome(fResult); failed && (!m.id.Pairs() || x.status >= 400) {
		// An error that names no request, or none of these: the exchange tells.
		if o := x.firstOpen(); o != nil {
			return o, nil
		}
	}
	if !m.id.Pairs() {
		return nil, nil
	}
	r := h.asked[record.Client]
	if len(x.opens) > 0 && !h.resumable() {
		return nil, nil // there is exactly one request per exchange
	}
	if o := r.find(m.id.key(), h.cur); o != nil {
		return o, nil
	}
	return nil, r.done[m.id.key()]
}

// refused answers a request by its response's status alone.
func (h *httpSession) refused(o *open, w where, e *RPCError) {
	ex := o.ex
	h.asked[ex.From].answered(o)
	ex.State, ex.Error = ExchangeError, e
	ex.AnswerSeq, ex.AnswerIndex, ex.AnswerAt = w.seq, -1, w.at
	ex.HTTP.answered(w)
	o.s.touch(w.last, w.at)
	var m message
	h.clientAnswered(o, &m, w, ExchangeError)
	h.asked[ex.From].closeToken(o)
}

// answered notes where an answer came.
func (a *HTTP) answered(w where) {
	if a == nil {
		return
	}
	a.AnswerEvent = -1
	if w.x != nil {
		a.AnswerExchange, a.AnswerEvent, a.AnswerEventID = w.x.n, w.event, w.eventID
		if a.x != nil && a.x.h != nil && w.eventID != "" {
			a.AnswerEventID = clip(w.eventID, maxName)
		}
	}
	if a.Status == 0 && a.x != nil {
		a.Status = a.x.status
	}
	a.x = nil
}

// tellHTTP remarks something on a request alone.
func (o *open) tellHTTP(flag string, seq int64, detail string) {
	r := Remark{Seq: seq, From: record.Server, Flag: flag, Detail: detail, Exchange: o.ex.HTTP.Exchange}
	o.ex.Remarks = append(o.ex.Remarks, r)
	if o.call != nil && o.ex.Method == methodCall {
		o.call.Remarks = append(o.call.Remarks, r)
	}
}

// challenged tells whether a message came in a response that asks for credentials.
func (w where) challenged() bool { return w.line != nil && w.x != nil && w.x.challenge }
