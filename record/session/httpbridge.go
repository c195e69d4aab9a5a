package session

import (
	"github.com/sixlink/sixlink/record"
)

// bridge reads the exchanges of a recording in which sixlink itself spoke HTTP for
// a host on stdio: the frames are the session, the exchanges only lend it their
// statuses and how they ended.
type bridge struct {
	d       *Decoder
	open    map[int64]*bridged
	pending int64 // bytes of open bodies that are held, as of [web]
}

type bridged struct {
	req  body
	done bool
	ids  []ID // of the request in it: the bridge sends one line a POST
}

func newBridge(d *Decoder) *bridge { return &bridge{d: d, open: map[int64]*bridged{}} }

func (b *bridge) add(rec *record.Record) {
	x := b.open[rec.Exchange]
	switch {
	case rec.Kind == record.KindRequest && rec.Request != nil:
		x = &bridged{}
		x.req.begin(rec.Request.Headers, rec.Request.Length, b.d.opts.MaxLine)
		x.req.kind, x.req.parser = bodyJSON, nil
		b.open[rec.Exchange] = x
	case x == nil:
	case rec.Kind == record.KindBody && rec.From == record.Client:
		before := x.req.held()
		x.req.piece(rec, min(b.d.opts.MaxLine, max(0, maxPending-b.pending)+before), nil)
		b.pending += x.req.held() - before
		if x.req.ended || x.req.whole() {
			b.read(x)
		}
	case rec.Kind == record.KindResponse && rec.Response != nil && rec.Response.Status >= 200:
		b.read(x)
		b.status(x, rec)
		if rec.Response.End {
			b.close(rec.Exchange)
		}
	case rec.Kind == record.KindBody && rec.End != record.BodyMore, rec.Kind == record.KindClose:
		b.close(rec.Exchange)
	case rec.Kind == record.KindError && rec.Error != nil:
		if c := &b.d.process(rec).cur.Connection; c.Unreached == nil {
			c.Unreached = &Unreached{Seq: rec.Seq, What: rec.Error.What, Error: clip(rec.Error.Error, maxText)}
		}
	}
}

func (b *bridge) close(n int64) {
	if x := b.open[n]; x != nil {
		b.release(x)
		delete(b.open, n)
	}
}

func (b *bridge) finish() {
	for n := range b.open {
		b.close(n)
	}
}

// read finds the ids of the requests in the body.
func (b *bridge) read(x *bridged) {
	if x.done {
		return
	}
	x.done = true
	var m message
	if len(x.req.data) > 0 && looksJSON(x.req.data) {
		if _, err := m.peek(x.req.data, 0); err == nil && m.kind == kRequest && m.id.Pairs() {
			x.ids = append(x.ids, m.id)
		}
	}
	b.release(x)
}

func (b *bridge) release(x *bridged) {
	b.pending -= x.req.held()
	x.req.release()
}

// status lends the response's status to the host's requests.
func (b *bridge) status(x *bridged, rec *record.Record) {
	p := b.d.p
	if p == nil {
		return
	}
	r := p.asked[record.Client]
	for _, id := range x.ids {
		var ex *Exchange
		if o := r.find(id.key(), p.cur); o != nil {
			ex = o.ex
		} else {
			ex = r.done[id.key()]
		}
		if ex == nil || ex.HTTP != nil && ex.HTTP.Status != 0 && ex.HTTP.Exchange > rec.Exchange {
			continue
		}
		ex.HTTP = &HTTP{Exchange: rec.Exchange, Event: -1, AnswerEvent: -1, Status: rec.Response.Status}
	}
}
