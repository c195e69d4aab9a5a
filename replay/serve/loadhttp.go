package serve

import (
	"bytes"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
	"github.com/sixlink/sixlink/record/session/coding"
	"github.com/sixlink/sixlink/record/session/sse"
)

// webExchange is an HTTP exchange while its records come.
type webExchange struct {
	*exchange
	i        int32 // in Tape.exchanges
	at       int64
	req      webBody
	res      webBody
	asked    bool // the request is read
	headed   bool
	released bool
}

// webBody is one body while it comes.
type webBody struct {
	next    int64
	data    []byte
	masks   []mask.Span
	seq, at int64 // of the record with its last byte
	torn    bool
	ended   bool
	cut     bool
	dec     *coding.Decoder
	parser  *sse.Parser
	from    int64 // of an event stream: where data begins in it
	fed     int64 // bytes that went into the parser
	tooLong bool
	packed  bool
}

func (l *loader) web(rec *record.Record) error {
	x := l.open[rec.Exchange]
	switch rec.Kind {
	case record.KindRequest:
		if rec.Request == nil || x != nil {
			return nil
		}
		r := rec.Request
		x = &webExchange{exchange: &exchange{n: rec.Exchange, method: r.Method, target: r.Target, host: r.Host, pos: rec.Seq, session: -1, headless: true,
			key: hidden(r.Headers, r.Masked, "Mcp-Session-Id")}, i: int32(len(l.t.exchanges)), at: rec.At}
		x.req.dec, _ = coding.New(r.Headers["Content-Encoding"], maxLine)
		l.t.exchanges = append(l.t.exchanges, x.exchange)
		l.open[rec.Exchange] = x
		l.byN[x.n] = x.i
		l.byConn[r.Conn] = append(l.byConn[r.Conn], x.i)
		x.req.seq, x.req.at = rec.Seq, rec.At
		if r.End || r.Length == 0 {
			x.req.ended = true
			return x.requested(l)
		}
	case record.KindResponse:
		if rec.Response == nil || x == nil || rec.Response.Status < 200 {
			return nil
		}
		return x.head(l, rec)
	case record.KindBody:
		switch {
		case x == nil:
		case rec.From == record.Client:
			x.req.take(rec, nil)
			if x.req.ended {
				return x.requested(l)
			}
		default:
			var err error
			x.res.take(rec, func(e *sse.Event) {
				if err == nil {
					err = x.event(l, e, rec)
				}
			})
			if err == nil && x.res.ended {
				err = x.over(l, rec.Seq, rec.At)
			}
			return err
		}
	}
	return nil
}

// take takes a piece of a body.
func (b *webBody) take(rec *record.Record, event func(*sse.Event)) {
	if b.ended {
		return
	}
	raw := rec.Data
	if len(rec.EOL) > 0 {
		raw = slices.Concat(rec.Data, rec.EOL)
	}
	if rec.Off != b.next {
		b.torn = true
		if b.parser != nil && !b.packed {
			b.parser.Resume(rec.Off)
			b.from, b.data, b.fed = rec.Off, nil, rec.Off
		}
	}
	b.next = rec.Off + int64(len(raw))
	if len(raw) > 0 {
		b.seq, b.at = rec.Seq, rec.At
	}
	b.masks = appendMasks(b.masks, rec.Masked, rec.Off)
	b.ended, b.cut = rec.End != record.BodyMore, rec.End == record.BodyCut
	feed := func(p []byte) {
		if len(b.data)+len(p) > maxLine {
			b.tooLong = true
			return
		}
		b.data = append(b.data, p...)
		if b.parser != nil {
			b.fed += int64(len(p))
			b.parser.Feed(p, event)
		}
	}
	if b.dec == nil {
		feed(raw)
	} else if err := b.dec.Feed(raw, b.ended && !b.cut, feed); err != nil {
		b.torn = true
	}
}

func (b *webBody) release() {
	if b.dec != nil {
		b.dec.Close()
	}
	*b = webBody{ended: true}
}

// requested reads the request: all of it is there.
func (x *webExchange) requested(l *loader) error {
	if x.asked {
		return nil
	}
	x.asked = true
	b := &x.req
	n := len(x.events)
	like := event{seq: b.seq, pos: b.seq, at: b.at, x: x.i}
	if x.method == http.MethodPost && !b.torn && !b.tooLong {
		if err := l.said(bytes.TrimPrefix(b.data, bom), b.masks, &like); err != nil {
			return err
		}
	}
	if len(x.events) == n {
		ev := like
		ev.what, ev.method, ev.session, ev.index = evHTTP, x.method, -1, -1
		x.long = x.method == http.MethodGet
		l.t.events = append(l.t.events, &ev)
		x.events = append(x.events, &ev)
	}
	for _, ev := range x.events {
		x.long = x.long || ev.method == "subscriptions/listen"
	}
	b.release()
	return nil
}

// skipped are fields that net/http sets, that are hop by hop, or that would be wrong
// of other bytes.
var skipped = []string{"Connection", "Content-Encoding", "Content-Length", "Date", "Keep-Alive", "Mcp-Session-Id", "Proxy-Authenticate", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func (x *webExchange) head(l *loader, rec *record.Record) error {
	r := rec.Response
	if x.headed || r.Made {
		return nil // what sixlink said in the server's place
	}
	if err := x.requested(l); err != nil { // a server may answer before it has read everything
		return err
	}
	x.headed, x.headless, x.status = true, false, r.Status
	x.given = hidden(r.Headers, r.Masked, "Mcp-Session-Id")
	x.fields = maps.Clone(r.Headers)
	maps.Copy(x.fields, r.Sent) // what the client got
	for _, name := range skipped {
		delete(x.fields, name)
	}
	for _, m := range r.Masked {
		delete(x.fields, m.In)
	}
	maps.DeleteFunc(x.fields, func(_ string, v []string) bool { return len(v) == 0 })
	x.stream, _ = kindOf(r.Headers)
	x.res.dec, _ = coding.New(r.Headers["Content-Encoding"], maxLine)
	x.res.packed = len(r.Headers["Content-Encoding"]) > 0
	if x.stream {
		x.res.parser = &sse.Parser{Max: maxLine}
	}
	l.t.items = append(l.t.items, &item{form: itHead, pos: rec.Seq, at: rec.At, session: -1, x: x.i})
	if r.End || r.Length == 0 {
		x.res.ended = true
		return x.over(l, rec.Seq, rec.At)
	}
	return nil
}

// event takes an event, with what stands before it in the stream.
func (x *webExchange) event(l *loader, e *sse.Event, rec *record.Record) error {
	b := &x.res
	it := &item{form: itEvent, pos: rec.Seq, at: rec.At, x: x.i}
	n := e.End - b.from
	if n < 0 || n > int64(len(b.data)) {
		return nil
	}
	raw := b.data[:n]
	skip := b.from
	b.data, b.from = b.data[n:], e.End
	plain := e.Dispatched() && (e.Type == "" || e.Type == "message") && !e.Long
	if e.Dispatched() && e.Type == "endpoint" && x.method == http.MethodGet && x.endpoint == "" {
		it.form, x.endpoint = itPoint, string(e.Data)
		if len(e.Lines) == 1 {
			it.data = span{int32(e.Lines[0].At - skip), int32(e.Lines[0].At-skip) + int32(e.Lines[0].Len)}
		}
	}
	if !plain {
		return l.sent(it, raw, nil, rec.Seq, e.Index)
	}
	if len(e.Lines) == 1 {
		it.whole = true
		it.data = span{int32(e.Lines[0].At - skip), int32(e.Lines[0].At-skip) + int32(e.Lines[0].Len)}
		return l.sent(it, raw, nil, rec.Seq, e.Index)
	}
	if err := l.sent(it, raw, nil, rec.Seq, e.Index); err != nil {
		return err
	}
	// The data is broken over several fields; none of the values that are exchanged is.
	all, batch := read(e.Data)
	it.batch = batch
	l.messages(it, bytes.Clone(e.Data), all, rec.Seq, e.Index, func(s span) span {
		for _, line := range e.Lines {
			if int(s.start) >= line.Off && int(s.end) <= line.Off+line.Len {
				return s.shift(int(line.At-skip) - line.Off)
			}
		}
		return span{}
	})
	return nil
}

// over ends the response.
func (x *webExchange) over(l *loader, seq, at int64) error {
	if x.released {
		return nil
	}
	x.released = true
	delete(l.open, x.n)
	if err := x.requested(l); err != nil {
		return err
	}
	b := &x.res
	if b.seq == 0 {
		b.seq, b.at = seq, at
	}
	switch {
	case !x.headed:
	case x.stream:
		if len(b.data) > 0 { // comments, or half an event
			it := &item{form: itEvent, pos: b.seq, at: b.at, x: x.i}
			if err := l.sent(it, b.data, nil, b.seq, -1); err != nil {
				return err
			}
		}
	case len(b.data) > 0:
		it := &item{form: itBody, pos: b.seq, at: b.at, x: x.i, data: span{0, int32(len(b.data))}}
		_, it.whole = kindOf(x.fields)
		it.whole = it.whole && !b.cut && !b.torn
		if err := l.sent(it, b.data, nil, b.seq, -1); err != nil {
			return err
		}
	}
	if seq > 0 {
		x.end = endClean
		if b.cut {
			x.end = endCut
		}
		l.t.items = append(l.t.items, &item{form: itEnd, pos: seq, at: at, session: -1, x: x.i})
	}
	b.release()
	return nil
}

// broken takes a close record of HTTP: a response that the client left was not
// ended by the server.
func (l *loader) broken(rec *record.Record) error {
	c := rec.Close
	if c.What == record.Connection {
		if c.Who == record.ByClient {
			for _, i := range l.byConn[c.Conn] {
				l.t.exchanges[i].left = true
			}
		}
		delete(l.byConn, c.Conn)
		return nil
	}
	i, ok := l.byN[rec.Exchange]
	if !ok || c.What != record.ResponseBody {
		return nil
	}
	x := l.t.exchanges[i]
	x.left = x.left || c.Who == record.ByClient
	x.dropped = x.dropped || c.Who == record.ByServer
	if open := l.open[rec.Exchange]; open != nil && x.dropped && !open.headed {
		open.res.cut = true // no response will come
		return open.over(l, rec.Seq, rec.At)
	}
	return nil
}

func (l *loader) sortedOpen() []*webExchange {
	out := slices.Collect(maps.Values(l.open))
	slices.SortFunc(out, func(a, b *webExchange) int { return int(a.n - b.n) })
	return out
}

// hidden is what stands for a field's value in comparisons: its hash where the
// recording replaced it, else the value; empty when there is none.
func hidden(f record.Fields, masks []record.HeadMask, name string) string {
	name = textproto.CanonicalMIMEHeaderKey(name)
	v := f[name]
	if len(v) == 0 || v[0] == "" {
		return ""
	}
	var macs []string
	for _, m := range masks {
		if m.In == name {
			macs = append(macs, m.MAC)
		}
	}
	if macs != nil {
		return "#" + strings.Join(macs, "#")
	}
	return "=" + v[0]
}
