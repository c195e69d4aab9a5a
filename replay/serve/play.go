package serve

import (
	"sync"
	"time"

	"github.com/sixlink/sixlink/replay/key"
)

// sink takes what is sent on one stream: stdout, or an HTTP response. Its methods are
// called under the play's lock and must not wait.
type sink interface {
	// put queues something.
	put(out)
	// busy tells whether something that was put is not written yet.
	busy() bool
	// gone tells that nobody reads any more.
	gone() bool
}

// out is something to send.
type out struct {
	it   *item
	vals []val
	only []*message // of a batch, when not all of it
	made []byte     // what no recording has; it is nil then
}

// val is what is put in the place of a span.
type val struct {
	span
	text []byte
}

// live is what a live request has of its own.
type live struct {
	id    []byte // as spelt
	token []byte // nil: none
	sink  sink   // where it came from
	at    time.Time
	ident string
}

// run is an event that has happened, with what it set off and is not sent yet.
type run struct {
	ev   *event
	live *live
	next int // in ev.items
	seen int // in Server.events: what stands before it need not be waited for
	// base and baseAt are the latest thing that the client did before the next item, in
	// the recording's time and in ours.
	base   int64
	baseAt time.Time
	// since is when it began to wait for what stands at seen.
	since time.Time
}

func (r *run) item() *item { return r.ev.items[r.next] }

// play is one live session.
type play struct {
	s  *Server
	mu sync.Mutex

	arrived []bool              // by event.ord
	skipped []bool              // given up waiting for
	taken   []bool              // requests and notifications that were matched
	first   int                 // requests before it are taken, for the modes that count
	notes   map[string][]*event // the client's notifications that are left, by method
	cursors map[*int]int        // see left
	live    map[*event]*live
	open    map[string]*event // live requests that are not answered, by ident
	asked   map[string]*message
	runs    []*run
	streams map[*event]sink
	last    sink // to which something was put last
	def     sink // of stdio
	point   sink // of legacy HTTP+SSE: where all answers go
	get     sink // the client's latest stream for what belongs to no request
	over    bool // nothing is waited for any more
	moved   time.Time
	timer   *time.Timer
	id      string // that was minted
}

func (s *Server) newPlay() *play {
	n := len(s.t.events) + 1
	p := &play{s: s, arrived: make([]bool, n), skipped: make([]bool, n), taken: make([]bool, n),
		live: map[*event]*live{}, open: map[string]*event{}, asked: map[string]*message{}, streams: map[*event]sink{}, cursors: map[*int]int{}, notes: map[string][]*event{}}
	for _, ev := range s.events {
		if ev.what == evNotification {
			p.notes[ev.method] = append(p.notes[ev.method], ev)
		}
	}
	return p
}

// begin sends what the server sent unasked.
func (p *play) begin(def sink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.def = def
	p.happened(p.s.events[0], &live{sink: def, at: time.Now()})
	p.pump()
}

// happened notes that the client did what an event of the recording is.
func (p *play) happened(ev *event, l *live) {
	p.arrived[ev.ord] = true
	p.live[ev] = l
	p.moved = l.at
	if len(ev.items) > 0 {
		p.runs = append(p.runs, &run{ev: ev, live: l, seen: p.s.after(ev.pos), base: ev.at, baseAt: l.at})
	}
}

// state of a run's next item.
type state uint8

const (
	ready   state = iota
	waiting       // for something that the client may do
	later_        // for its time
	blocked       // for something that the client must do
	dropped       // it cannot be sent
)

func (p *play) state(r *run) (state, time.Time) {
	it := r.item()
	events := p.s.events
	for ; r.seen < len(events) && events[r.seen].pos < it.pos; r.seen++ {
		e := events[r.seen]
		switch {
		case p.arrived[e.ord]:
			r.since = time.Time{}
			if l := p.live[e]; e.what == evReply && l != nil {
				r.base, r.baseAt = e.at, l.at
			}
		case p.skipped[e.ord], p.over && (e.what != evReply || !p.waits(e)):
		case e.leave:
		case e.what == evHTTP && !p.s.t.exchanges[e.x].long:
		case e.what == evReply && p.waits(e):
			return blocked, time.Time{}
		default:
			return waiting, time.Time{}
		}
	}
	if p.dest(r, it) == nil {
		if p.over || !r.since.IsZero() && time.Since(r.since) >= p.s.cfg.Patience {
			return dropped, time.Time{}
		}
		return waiting, time.Time{}
	}
	if p.s.cfg.Timing > 0 && !p.over {
		due := r.baseAt.Add(time.Duration(float64(it.at-r.base) / p.s.cfg.Timing))
		if time.Until(due) > 0 {
			return later_, due
		}
	}
	return ready, time.Time{}
}

// waits tells whether a reply of the client's is waited for: it was asked.
func (p *play) waits(reply *event) bool {
	return reply.of != nil && p.asked[reply.of.id] == reply.of
}

// dest is where an item goes; nil: there is no such stream.
func (p *play) dest(r *run, it *item) sink {
	if p.def != nil {
		return p.def
	}
	if it.stream != nil {
		if s := p.streams[it.stream]; s != nil && !s.gone() {
			return s
		}
		return nil
	}
	if s := r.live.sink; s != nil {
		if w, ok := s.(*response); !ok || w.takes(it) {
			return s
		}
	}
	if p.get != nil && !p.get.gone() {
		return p.get
	}
	return nil
}

// pump sends all that can be sent, in recorded order as far as the items overlapped
// in the recording: an item waits for those that had been sent before it after its own
// request came.
func (p *play) pump() {
	var at time.Time // when to look again
	soon := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for {
		var best *run
		var hold []*run
		at = time.Time{}
		for i := 0; i < len(p.runs); i++ {
			r := p.runs[i]
			st, due := p.state(r)
			switch st {
			case dropped:
				p.advance(r)
				i-- // the same run with its next item, or the run after it
				continue
			case ready:
				if best == nil || r.item().pos < best.item().pos {
					best = r
				}
			case waiting:
				if r.since.IsZero() {
					r.since = time.Now()
				}
				soon(r.since.Add(p.s.cfg.Patience))
				hold = append(hold, r)
			case later_:
				soon(due)
				hold = append(hold, r)
			}
		}
		if best == nil {
			break
		}
		held := false
		for _, r := range hold {
			held = held || r.item().pos < best.item().pos && r.item().pos > best.ev.pos
		}
		to := p.dest(best, best.item())
		if p.last != nil && p.last != to && p.last.busy() && !p.last.gone() && time.Since(p.moved) < p.s.cfg.Patience && !p.over {
			soon(p.moved.Add(p.s.cfg.Patience))
			held = true
		}
		if held {
			break
		}
		p.send(best, to)
	}
	p.again(at)
}

// advance goes on to a run's next item; without one the run is over.
func (p *play) advance(r *run) {
	r.next++
	r.since = time.Time{}
	if r.next < len(r.ev.items) {
		return
	}
	for i := range p.runs {
		if p.runs[i] == r {
			p.runs = append(p.runs[:i], p.runs[i+1:]...)
			break
		}
	}
}

// again sets the timer.
func (p *play) again(at time.Time) {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if at.IsZero() || p.over {
		return
	}
	p.timer = time.AfterFunc(max(0, time.Until(at)), p.tick)
}

// tick is the timer's: what was waited for did not come.
func (p *play) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var low *run
	for _, r := range p.runs {
		if r.since.IsZero() || time.Since(r.since) < p.s.cfg.Patience {
			continue
		}
		if st, _ := p.state(r); st == waiting && (low == nil || r.item().pos < low.item().pos) {
			low = r
		}
	}
	if low != nil {
		for i := low.seen; i < len(p.s.events) && p.s.events[i].pos < low.item().pos; i++ {
			if e := p.s.events[i]; !p.arrived[e.ord] && !(e.what == evReply && p.waits(e)) {
				p.skipped[e.ord] = true
			}
		}
	}
	p.pump()
}

// send sends the next item of a run.
func (p *play) send(r *run, to sink) {
	it := r.item()
	o := out{it: it}
	var kept []*message
	for _, m := range it.messages {
		vals, ok := p.values(m)
		if !ok || m.answers != nil && p.live[m.answers] == nil {
			continue
		}
		o.vals = append(o.vals, vals...)
		kept = append(kept, m)
	}
	if len(kept) < len(it.messages) {
		o.only = kept
	}
	p.advance(r)
	if len(it.messages) > 0 && len(kept) == 0 {
		return
	}
	for _, m := range kept {
		switch {
		case m.answers != nil:
			delete(p.open, p.live[m.answers].ident)
		case m.kind == kRequest:
			p.asked[m.id] = m
		}
	}
	p.last = to
	to.put(o)
}

// values are what is exchanged in a message; false: it is about something that the
// live client did not do.
func (p *play) values(m *message) ([]val, bool) {
	var out []val
	for _, e := range m.edits {
		l := p.live[e.of]
		if l == nil {
			return nil, false
		}
		text := l.id
		switch {
		case e.swap == swapToken:
			text = l.token
		case string(l.id) == e.of.raw:
			continue // the server may have spelt it otherwise: 1 for 1.0
		}
		if text == nil {
			return nil, false
		}
		out = append(out, val{e.span, text})
	}
	return out, true
}

// said takes a message of the live client's that is no request.
func (p *play) said(data []byte, e envelope, from sink) *event {
	l := &live{sink: from, at: time.Now()}
	if e.kind == kReply {
		id := ident(e.id.of(data))
		m := p.asked[id]
		if m == nil {
			return nil
		}
		delete(p.asked, id)
		if m.reply == nil {
			return nil
		}
		var any key.Rules
		if any.Of("", e.result.of(data)) != m.reply.key {
			p.s.otherReply(m)
		}
		p.happened(m.reply, l)
		return m.reply
	}
	var target *event
	if e.method == "notifications/cancelled" && e.target.ok() {
		id := ident(e.target.of(data))
		if target = p.open[id]; target == nil {
			return nil
		}
	}
	for i, ev := range p.notes[e.method] {
		if p.taken[ev.ord] || target != nil && ev.rare().target != target.id {
			continue
		}
		if p.taken[ev.ord] = true; i == 0 {
			p.notes[e.method] = p.notes[e.method][1:]
		}
		p.happened(ev, l)
		return ev
	}
	if target != nil {
		p.cancel(target) // nobody expects an answer
	}
	return nil
}

// cancel leaves out what is not sent yet of a request.
func (p *play) cancel(ev *event) {
	for i, r := range p.runs {
		if r.ev == ev {
			p.runs = append(p.runs[:i:i], p.runs[i+1:]...)
			break
		}
	}
	if l := p.live[ev]; l != nil {
		delete(p.open, l.ident)
	}
}

// end is the client's end: nothing more comes from it.
func (p *play) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.pump()
}
