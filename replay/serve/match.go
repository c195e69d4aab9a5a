package serve

import (
	"bytes"
	"time"

	"github.com/sixlink/sixlink/record/visible"
	"github.com/sixlink/sixlink/replay/key"
)

// request matches a request of the live client's. ev is nil when nothing is recorded
// for it, and made is then the answer.
func (p *play) request(data []byte, e envelope, from sink) (ev *event, made []byte) {
	id := e.id.of(data)
	params := e.params.of(data)
	ev, why := p.match(e.method, params)
	if ev == nil {
		return nil, p.unmatched(id, e.method, params, why)
	}
	if ev.rare().lost != "" {
		return nil, p.s.missed(id, &Miss{Method: visible.String(e.method), Name: visible.String(ev.name), Why: ev.rare().lost, NearestSeq: ev.seq})
	}
	// Copies: what is kept of a request must not keep all of it.
	l := &live{id: bytes.Clone(id), sink: from, at: time.Now(), ident: ident(id)}
	if e.metaToken.ok() {
		l.token = bytes.Clone(e.metaToken.of(data))
	}
	p.open[l.ident] = ev
	p.s.used(ev)
	p.happened(ev, l)
	return ev, nil
}

// match finds the recorded request for a live one, and takes it.
func (p *play) match(method string, params []byte) (ev *event, why string) {
	take := func(i int) *event {
		ev := p.s.events[i]
		p.taken[ev.ord] = true
		return ev
	}
	counts := p.s.cfg.Mode == ByKey || key.ByMethod(method)
	found := p.s.index.Find(method, params)
	if counts {
		if i, ok := p.left(found); ok {
			return take(i), ""
		}
		if n := len(found); n > 0 && p.s.cfg.Repeat {
			return take(found[n-1]), ""
		}
		if len(found) > 0 {
			return nil, usedUp
		}
		return nil, ""
	}
	name := key.Name(method, params)
	same := -1
	for _, i := range p.window() {
		for _, f := range found {
			if f == i {
				return take(i), ""
			}
		}
		if next := p.s.events[i]; same < 0 && next.method == method && next.name == name {
			same = i
		}
	}
	if same >= 0 && p.s.cfg.Mode == Sequential {
		return take(same), ""
	}
	if next := p.window(); len(next) > 0 {
		return nil, outOfOrder
	}
	if n := len(found); n > 0 && p.s.cfg.Repeat {
		return take(found[n-1]), ""
	}
	return nil, usedUp
}

// left is the first of found that is not taken. Of long lists it keeps where to go on
// from: the same slice is the same list.
func (p *play) left(found []int) (int, bool) {
	if len(found) == 0 {
		return 0, false
	}
	from := p.cursors[&found[0]]
	for i := from; i < len(found); i++ {
		if !p.taken[p.s.events[found[i]].ord] {
			if i-from > 8 {
				p.cursors[&found[0]] = i
			}
			return found[i], true
		}
	}
	return 0, false
}

// Why a request that is like a recorded one is not answered.
const (
	usedUp     = "all of its recorded answers are used up"
	outOfOrder = "it is not the next recorded request"
)

// window are the recorded requests that may be next: the first that is not taken, and
// those that came while it was open.
func (p *play) window() []int {
	var out []int
	until := int64(-1)
	for i := p.first; i < len(p.s.events); i++ {
		ev := p.s.events[i]
		if ev.what != evRequest || ev.leave || p.taken[ev.ord] || key.ByMethod(ev.method) {
			if len(out) == 0 {
				p.first = i + 1
			}
			continue
		}
		if until < 0 {
			until = ev.pos
			if ev.answer != nil {
				until = ev.answer.item.pos
			}
		} else if ev.pos > until {
			break
		}
		out = append(out, i)
	}
	return out
}

// unmatched answers a request for which nothing is recorded.
func (p *play) unmatched(id []byte, method string, params []byte, why string) []byte {
	switch method {
	case "ping":
		return reply(id, []byte("{}"))
	case "server/discover", "initialize":
		if why == "" {
			// A client that tries the other era first: no miss, and told so that it goes on
			// with the recorded one (wire.md 1.6).
			p.s.probe(method)
			return errorReply(id, -32601, "Method not found", nil)
		}
	}
	m := &Miss{Method: visible.String(method), Name: visible.String(key.Name(method, params)), Why: why}
	p.s.nearest(m, p, method, params)
	return p.s.missed(id, m)
}
