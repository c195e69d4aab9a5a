package serve

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// pairs are what session has let go of while it read: who answers whom. It is most of
// a long recording, so they are small.
type pairs struct {
	all []settled
	of  []*session.Session // that all.session counts in
}

type settled struct {
	seq, answer              int64
	index, answerIndex, sess int32
	server                   bool // the request is the server's
}

func (p *pairs) settled(s *session.Session, ex *session.Exchange) {
	n := len(p.of) - 1
	for n >= 0 && p.of[n] != s { // the latest first: sessions of a process follow each other
		n--
	}
	if n < 0 {
		n = len(p.of)
		p.of = append(p.of, s)
	}
	p.all = append(p.all, settled{ex.Seq, ex.AnswerSeq, int32(ex.Index), int32(ex.AnswerIndex), int32(n), ex.From == record.Server})
}

// ref is how session names a message.
type ref struct {
	seq   int64
	index int
	x     int64 // the HTTP exchange, of a message of the server's
	event int
}

func (a ref) compare(b ref) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.index, b.index), cmp.Compare(a.x, b.x), cmp.Compare(a.event, b.event))
}

// names finds events and messages by what session calls them: lists in that order,
// since maps would be most of the memory that loading takes.
type names struct {
	t      *Tape
	events []*event
	msgs   []*message
}

func newNames(t *Tape) *names {
	n := &names{t: t}
	for _, ev := range t.events {
		if ev.what != evHTTP {
			n.events = append(n.events, ev)
		}
	}
	n.msgs = slices.Clone(t.messages)
	// Both are in order almost always; of equal ones the last holds.
	slices.SortStableFunc(n.events, func(a, b *event) int { return ofEvent(a).compare(ofEvent(b)) })
	slices.SortStableFunc(n.msgs, func(a, b *message) int { return n.ofMessage(a).compare(n.ofMessage(b)) })
	return n
}

func ofEvent(ev *event) ref { return ref{seq: ev.seq, index: int(ev.index)} }

func (n *names) ofMessage(m *message) ref {
	r := ref{seq: m.seq, index: int(m.index), event: int(m.event)}
	if m.item.x >= 0 {
		r.x = n.t.exchanges[m.item.x].n
	}
	return r
}

func (n *names) event(r ref) *event {
	i := sort.Search(len(n.events), func(i int) bool { return ofEvent(n.events[i]).compare(r) > 0 })
	if i == 0 || ofEvent(n.events[i-1]) != r {
		return nil
	}
	return n.events[i-1]
}

func (n *names) message(r ref) *message {
	i := sort.Search(len(n.msgs), func(i int) bool { return n.ofMessage(n.msgs[i]).compare(r) > 0 })
	if i == 0 || n.ofMessage(n.msgs[i-1]) != r {
		return nil
	}
	return n.msgs[i-1]
}

// link joins what session knows (pairs, sessions) with events and items, and gives
// every item its owner.
func (t *Tape) link(sessions []*session.Session, got *pairs) {
	by := newNames(t)
	for _, s := range sessions {
		t.Sessions = append(t.Sessions, Session{ID: s.ID, Era: s.Era, Client: s.Client.Name, Calls: len(s.Calls) + s.SettledCalls,
			Messages: s.Messages[record.Client] + s.Messages[record.Server], FirstSeq: s.FirstSeq, LastSeq: s.LastSeq, ended: s.End.First})
	}
	for _, p := range got.all {
		n := slices.Index(sessions, got.of[p.sess])
		if n < 0 {
			continue
		}
		// Over stdio: an event's index is that of none.
		req, ans := ref{seq: p.seq, index: int(p.index)}, ref{seq: p.answer, index: int(p.answerIndex)}
		if p.server {
			req.event = -1
			t.asked(n, by.message(req), by.event(ans))
		} else {
			ans.event = -1
			t.answered(n, by.event(req), by.message(ans))
		}
	}
	got.all = nil
	for i, s := range sessions {
		t.pair(i, s, by)
	}
	t.assign()
	for i := range t.Sessions {
		t.own(i)
	}
	t.messages = nil
}

// answered takes a request of the client's and its answer; nil is what is not there.
func (t *Tape) answered(n int, ev *event, m *message) {
	if ev == nil {
		return
	}
	ev.session = int32(n)
	if ev.x >= 0 {
		t.exchanges[ev.x].session = int32(n)
	}
	if m != nil {
		m.answers, ev.answer = ev, m
	}
}

// asked takes a request of the server's and the client's reply.
func (t *Tape) asked(n int, m *message, ev *event) {
	if m == nil {
		return
	}
	if m.item.x >= 0 {
		t.exchanges[m.item.x].session = int32(n)
	}
	if ev == nil {
		return
	}
	ev.of, m.reply, ev.session = m, ev, int32(n)
	if ev.x >= 0 {
		t.exchanges[ev.x].session = int32(n)
	}
}

// pair takes the requests of a session, with their answers.
func (t *Tape) pair(n int, s *session.Session, by *names) {
	pending := map[int64]bool{}
	for _, c := range s.Calls {
		if c.State == session.CallPending {
			for _, ex := range c.Attempts {
				pending[ex.Seq] = true
			}
			pending[c.Seq] = true
		}
	}
	answer := func(ex *session.Exchange) ref {
		r := ref{seq: ex.AnswerSeq, index: ex.AnswerIndex, event: -1}
		if h := ex.HTTP; h != nil && !t.Header.Bridge {
			r.x, r.event = h.AnswerExchange, h.AnswerEvent
		}
		return r
	}
	for _, ex := range s.Requests {
		if ex.From == record.Client {
			ev := by.event(ref{seq: ex.Seq, index: ex.Index})
			var m *message
			if ex.AnswerSeq != 0 {
				m = by.message(answer(ex))
			}
			t.answered(n, ev, m)
			if ev != nil && ex.AnswerSeq == 0 && ex.State == session.ExchangeUnanswered {
				if why := lost(s, ex, pending); why != "" {
					ev.rarely().lost = why
				}
			}
			continue
		}
		r := ref{seq: ex.Seq, index: ex.Index, event: -1}
		if h := ex.HTTP; h != nil && !t.Header.Bridge {
			r.x, r.event = h.Exchange, h.Event
		}
		var reply *event
		if ex.AnswerSeq != 0 {
			reply = by.event(ref{seq: ex.AnswerSeq, index: ex.AnswerIndex})
		}
		t.asked(n, by.message(r), reply)
	}
	for _, o := range s.Orphans {
		if o.From != record.Server || !o.Duplicate {
			continue
		}
		r := ref{seq: o.Seq, index: o.Index, x: o.Exchange, event: o.Event}
		if t.Header.Transport == "stdio" {
			r.x, r.event = 0, -1
		}
		if m := by.message(r); m != nil {
			m.answers = by.event(ref{seq: o.RequestOf, index: -1})
		}
	}
}

// lost tells why the answer to a request is not on record though there may have been
// one; "": there was none.
func lost(s *session.Session, ex *session.Exchange, pending map[int64]bool) string {
	for _, g := range s.Gaps {
		if g.LastSeq >= ex.Seq {
			return "a gap lies in the recording where its answer may have been"
		}
	}
	if pending[ex.Seq] || s.Torn && ex.Method != "tools/call" {
		return "the recording ends before its answer"
	}
	return ""
}

// assign says to which session each event, item and exchange belongs.
func (t *Tape) assign() {
	byKey := map[string]int32{}
	byEndpoint := map[string]*exchange{}
	for _, x := range t.exchanges {
		if x.session < 0 {
			continue
		}
		for _, k := range []string{x.key, x.given} {
			if _, had := byKey[k]; k != "" && !had {
				byKey[k] = x.session
			}
		}
		if x.endpoint != "" {
			byEndpoint[pathOf(x.endpoint)] = x
		}
	}
	for _, x := range t.exchanges {
		if n, ok := byKey[x.key]; x.session < 0 && ok && x.key != "" {
			x.session = n
		}
		if at := byEndpoint[pathOf(x.target)]; x.session < 0 && at != nil {
			x.session = at.session
		}
	}
	// What is in no session is there for all of them: -1.
	ranges := make([]int64, len(t.Sessions))
	for i, s := range t.Sessions {
		ranges[i] = s.FirstSeq
	}
	at := func(pos int64) int32 {
		return int32(max(0, sort.Search(len(ranges), func(i int) bool { return ranges[i] > pos })-1))
	}
	for _, ev := range t.events {
		switch {
		case ev.x >= 0:
			ev.session = t.exchanges[ev.x].session
		case ev.session < 0 && len(ranges) > 0:
			ev.session = at(ev.seq)
		}
	}
	for _, it := range t.items {
		switch {
		case it.x >= 0:
			it.session = t.exchanges[it.x].session
		case len(ranges) > 0:
			it.session = at(it.pos)
		}
	}
	slices.SortStableFunc(t.events, func(a, b *event) int { return int(a.pos - b.pos) })
	for i, ev := range t.events {
		ev.ord = int32(i) + 1 // 0 is the beginning of a session
	}
	slices.SortStableFunc(t.items, func(a, b *item) int { return int(a.pos - b.pos) })
	t.leave()
}

// leave marks what is not played of authorization: a request that was refused for
// want of credentials, where the same request got past later. A client of a replay has
// no credentials that anybody could check.
func (t *Tape) leave() {
	past := map[string]bool{}
	for _, ev := range slices.Backward(t.events) {
		if ev.what != evRequest || ev.x < 0 {
			continue
		}
		k := ev.method + "\x00" + ev.name
		switch s := t.exchanges[ev.x].status; {
		case s == 401 || s == 403:
			ev.leave = past[k]
		case s > 0 && s < 300:
			past[k] = true
		}
	}
}

// pathOf is a target without scheme and authority.
func pathOf(target string) string {
	if i := indexAuthority(target); i > 0 {
		return target[i:]
	}
	return target
}

// owner finds owners while the messages of a session pass in order.
type owner struct {
	t      *Tape
	last   *event   // the client's latest
	open   []*event // requests that are not answered, in order
	tokens map[string]*event
	ids    map[string]*event // the latest request with an id
	done   map[*event]bool   // answered before they were heard
	ended  string            // who ended the session
}

// own gives the items of one session their owners.
func (t *Tape) own(n int) {
	begin := &event{what: evBegin, session: int32(n), x: -1}
	o := &owner{t: t, last: begin, tokens: map[string]*event{}, ids: map[string]*event{}, done: map[*event]bool{}}
	if n < len(t.Sessions) {
		o.ended = t.Sessions[n].ended
	}
	var events []*event
	for _, ev := range t.events {
		if ev.session == int32(n) || ev.session < 0 {
			events = append(events, ev)
		}
	}
	i := 0
	for _, it := range t.items {
		if it.session != int32(n) && (it.session >= 0 || n > 0) { // of no session: once is enough
			continue
		}
		for i < len(events) && events[i].pos <= it.pos {
			o.hear(events[i])
			i++
		}
		o.give(it)
	}
	if n < len(t.Sessions) {
		begin.seq = t.Sessions[n].FirstSeq
	}
	t.begins = append(t.begins, begin)
}

func (o *owner) hear(ev *event) {
	if ev.leave {
		return
	}
	o.last = ev
	if ev.what != evRequest {
		return
	}
	o.ids[ev.id] = ev
	if ev.rare().token != "" {
		o.tokens[ev.rare().token] = ev
	}
	if ev.method != "subscriptions/listen" && !o.done[ev] { // a server may answer before it has read everything
		o.open = append(o.open, ev)
	}
}

func (o *owner) answered(ev *event) {
	i := len(o.open) - 1 // the latest first: others may never be answered
	for i >= 0 && o.open[i] != ev {
		i--
	}
	if i < 0 {
		o.done[ev] = true
		return
	}
	o.open = slices.Delete(o.open, i, i+1)
}

// give finds the owner of an item, and whose values are exchanged in it.
func (o *owner) give(it *item) {
	if it.form == itEnd && !o.ends(it) {
		return
	}
	var x *exchange
	var asked *event // the request, or the GET, whose response the item is of
	if it.x >= 0 {
		x = o.t.exchanges[it.x]
		if len(x.events) == 0 || x.events[0].leave {
			return
		}
		asked = x.events[len(x.events)-1]
	}
	own := o.owner(it, x, asked)
	for _, m := range it.messages {
		o.edits(m)
		if m.answers != nil {
			own = later(own, m.answers)
			o.answered(m.answers)
		}
	}
	if own == nil {
		return
	}
	it.owner = own
	if asked != nil && own.x != it.x {
		it.stream = asked
	}
	own.items = append(own.items, it)
}

// ends tells whether an end is one that the server made: what the client left, or
// ended first, is held open in a replay.
func (o *owner) ends(it *item) bool {
	if it.x < 0 {
		return o.ended == record.ByServer
	}
	x := o.t.exchanges[it.x]
	return x.end == endClean || x.dropped || !x.left
}

// owner is what set an item off, as far as that is not said by what it answers.
func (o *owner) owner(it *item, x *exchange, asked *event) *event {
	if x != nil && (it.form == itHead || it.form == itPoint || !x.long) {
		return asked
	}
	if it.form == itEnd {
		return o.last
	}
	for _, m := range it.messages {
		switch {
		case m.answers != nil:
			return m.answers
		case m.method == "notifications/progress" && len(m.edits) > 0 && o.tokens[m.edits[0].val] != nil:
			return o.tokens[m.edits[0].val]
		}
	}
	// Which of several open requests a server's own request or log message belongs to
	// is not on the wire: it comes after the latest.
	if n := len(o.open); n > 0 {
		return o.open[n-1]
	}
	return o.last
}

// edits keeps those values to exchange that are a live client's own to choose. A
// reply's id that is not the request's (null, or what the server made of it) stays.
func (o *owner) edits(m *message) {
	kept := m.edits[:0]
	for _, e := range m.edits {
		switch {
		case !e.ok():
		case e.swap == swapToken:
			e.of = o.tokens[e.val]
		case m.kind != kReply:
			e.of = o.ids[e.val]
		case m.answers != nil && m.answers.id == e.val:
			e.of = m.answers
		}
		if e.of != nil {
			kept = append(kept, e)
		}
	}
	slices.SortFunc(kept, func(a, b edit) int { return int(a.start - b.start) })
	m.edits = kept
}

// later is the one of two events that came later.
func later(a, b *event) *event {
	if a == nil || b != nil && b.pos > a.pos {
		return b
	}
	return a
}
