package session

import (
	"github.com/sixlink/sixlink/record"
)

// The methods that this package reads more of than their name.
const (
	methodInitialize  = "initialize"
	methodDiscover    = "server/discover"
	methodPing        = "ping"
	methodList        = "tools/list"
	methodCall        = "tools/call"
	methodTaskGet     = "tasks/get"
	methodTaskResult  = "tasks/result"
	methodTaskCancel  = "tasks/cancel"
	methodTaskUpdate  = "tasks/update"
	noteInitialized   = "notifications/initialized"
	noteCancelled     = "notifications/cancelled"
	noteProgress      = "notifications/progress"
	noteListChanged   = "notifications/tools/list_changed"
	noteTaskStatus    = "notifications/tasks/status"
	methodListen      = "subscriptions/listen"
	errUnsupported    = -32022 // unsupported protocol version (wire.md 2.9)
	errURLElicitation = -32042 // a person has to open an address first (wire.md 2.9)
	errMethodNotFound = -32601
)

// waitsForClient are the server's requests whose answer is a person's or a
// model's, so that the server is not to blame for the time they take.
func waitsForClient(method string) bool {
	switch method {
	case "elicitation/create", "sampling/createMessage", "roots/list":
		return true
	}
	return false
}

func (p *channel) clientRequest(o *open, m *message, meta *object, w where) {
	s := o.s
	s.clientMeta(o, meta)
	switch o.ex.Method {
	case methodInitialize:
		s.Connection.Initialize = o.ex
		s.Client = peerOf(&m.params, fClientInfo, s.Client)
	case methodDiscover:
		s.modern = true
		s.Connection.Discover = append(s.Connection.Discover, o.ex)
	case methodList:
		cursor, has := m.params.text(fCursor)
		s.pages[o.ex] = s.lists.Request(w.seq, cursor, has)
	case methodCall:
		s.call(o, m, meta, w)
	case methodTaskGet, methodTaskResult, methodTaskCancel, methodTaskUpdate:
		if id, ok := m.params.text(fTaskID); ok {
			o.call = s.tasks[taskKey(id)]
		}
		if o.call != nil && o.ex.Method == methodTaskUpdate {
			o.call.resume(w.at)
		}
	}
}

// clientAnswered reads what the answer to a request of the client's says.
func (p *channel) clientAnswered(o *open, m *message, w where, state ExchangeState) {
	s, ex := o.s, o.ex
	ok := state == ExchangeResult
	if ok {
		s.resultMeta(o, m)
	}
	if ex.Error != nil && ex.Error.Code == errUnsupported {
		s.Connection.Unsupported = ex
	}
	switch ex.Method {
	case methodInitialize:
		if ok {
			s.legacyOK = true
			s.ProtocolVersion = textOf(&m.result, fProtocolVersion)
			s.Server = peerOf(&m.result, fServerInfo, s.Server)
			s.capabilities(&m.result)
		}
		return
	case methodDiscover:
		if ok {
			s.capabilities(&m.result)
			s.Server = peerOf(&m.result, fServerInfo, s.Server)
			if s.ProtocolVersion == "" {
				s.ProtocolVersion = o.version
			}
		}
		return
	}
	if ok && s.Connection.FirstSuccessSeq == 0 {
		s.Connection.FirstSuccessSeq = w.seq
	}
	if ok && o.version != "" {
		s.modernOK = true
		if !s.legacyOK {
			s.ProtocolVersion = o.version
		}
	}
	switch ex.Method {
	case methodList:
		s.listed(o, m, w, state)
	case methodCall:
		s.called(o, m, w, state)
	case methodTaskGet, methodTaskResult, methodTaskCancel:
		if o.call != nil {
			s.taskAnswered(o, m, w, state)
		}
	}
}

// listed hands a page to the catalog. An answer that came after the page was
// cancelled is nobody's catalog.
func (s *sess) listed(o *open, m *message, w where, state ExchangeState) {
	page := s.pages[o.ex]
	delete(s.pages, o.ex)
	if page == nil || o.ex.Late {
		return
	}
	switch {
	case w.challenged():
		s.lists.Unanswered(page, false, "the server asked for credentials")
	case state == ExchangeResult:
		next, has := m.result.text(fNextCursor)
		s.lists.Answer(page, w.seq, m.result.token(fTools), next, has)
	case state == ExchangeError:
		s.lists.Fail(page, w.seq, o.ex.Error.Code, o.ex.Error.Message)
	default:
		s.lists.Fail(page, w.seq, 0, "the answer is malformed")
	}
}

// serverRequest starts the clock of calls that wait for the client.
func (s *sess) serverRequest(o *open, m *message, meta *object) {
	if !waitsForClient(o.ex.Method) || !o.ex.ID.Pairs() {
		return
	}
	if task, ok := meta.object(fMetaTask); ok { // the one case in which the wire names the call
		if id, ok := task.text(fTaskID); ok && s.tasks[taskKey(id)] != nil {
			o.waits = []*call{s.tasks[taskKey(id)]}
		}
	}
	if o.waits == nil {
		calls := s.open
		if len(calls) > maxWaits {
			calls = calls[len(calls)-maxWaits:]
		}
		o.waits = append(o.waits, calls...)
		if len(calls) > 1 {
			for _, c := range calls {
				if c.shared {
					continue // once is enough
				}
				c.shared = true
				c.Remarks = append(c.Remarks, Remark{Seq: o.ex.Seq, From: record.Server, Flag: FlagWaitShared,
					Detail: o.ex.Method + " does not say which of several open calls it belongs to; its time is taken from all"})
			}
		}
	}
	for _, c := range o.waits {
		c.wait(o.ex.At)
	}
}

// maxWaits bounds how many open calls one request of the server's is charged to.
const maxWaits = 64

func (s *sess) serverAnswered(o *open, at int64) {
	for _, c := range o.waits {
		c.resume(at)
	}
	o.waits = nil
}

func (p *channel) notification(m *message, w where) *sess {
	p.begins(m, w)
	s := p.cur
	if w.x != nil && w.from == record.Client {
		w.x.noted++
	}
	if w.from == record.Client && m.method == methodCall {
		// A call all the same: it was sent, and servers carry it out.
		ex := &Exchange{From: w.from, Seq: w.seq, Index: w.index, At: w.at, Method: m.method, State: ExchangeUnanswered}
		o := &open{ex: ex, s: s}
		ex.Undelivered = p.isUndelivered(w.from, w.off, w.end)
		if m.has(fParams) {
			ex.Params = p.value(w.line, m.at(fParams))
		}
		s.count(m, w)
		meta, _ := m.params.object(fMeta)
		s.clientMeta(o, meta)
		s.call(o, m, meta, w)
		o.note(FlagNoID, w.seq, w.from, "a call sent as a notification")
		return s
	}
	s.count(m, w)
	switch {
	case w.from == record.Client && m.method == noteInitialized:
		if s.Connection.InitializedSeq == 0 {
			s.Connection.InitializedSeq = w.seq
		}
	case m.method == noteCancelled:
		p.cancelled(m, w)
	case m.method == noteProgress:
		if t := m.params.token(fProgressToken); t != nil {
			if ex := p.asked[other(w.from)].byToken(parseID(t).key()); ex != nil {
				ex.Progress++
			}
		}
	case w.from == record.Server && m.method == noteListChanged:
		s.lists.Changed(w.seq)
	case w.from == record.Server && m.method == noteTaskStatus:
		s.taskNoted(m, w)
	}
	return s
}

// cancelled takes notifications/cancelled of either side for a request of its own.
func (p *channel) cancelled(m *message, w where) {
	t := m.params.token(fRequestID)
	if t == nil {
		p.cur.remark(FlagBadParams, w.seq, w.from, noteCancelled+" without requestId")
		return
	}
	reason, _ := m.params.text(fReason)
	reason = clip(reason, maxText)
	id := parseID(t)
	r := p.asked[w.from]
	if o := r.find(id.key(), p.cur); o != nil && id.Pairs() {
		if o.ex.CancelledSeq == 0 {
			o.ex.CancelledSeq, o.ex.CancelledAt, o.ex.CancelReason = w.seq, w.at, reason
			o.ex.State = ExchangeCancelled
		}
		return
	}
	if ex := r.latest(id); ex != nil && id.Pairs() && ex.CancelledSeq == 0 {
		// They crossed: the answer counts.
		ex.CancelledSeq, ex.CancelledAt, ex.CancelReason = w.seq, w.at, reason
		const detail = "cancelled after it was answered"
		ex.Remarks = append(ex.Remarks, Remark{Seq: w.seq, From: w.from, Flag: FlagCrossed, Detail: detail})
		p.cur.remark(FlagCrossed, w.seq, w.from, detail)
	}
}
