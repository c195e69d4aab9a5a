package serve

import (
	"bytes"
	"mime"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
	"github.com/sixlink/sixlink/replay/key"
)

// loader makes events and items of records.
type loader struct {
	t      *Tape
	lines  map[record.From]*lineParts
	open   map[int64]*webExchange
	byN    map[int64]int32   // of Tape.exchanges, by number …
	byConn map[int64][]int32 // … and by connection, while that is open
	// bridge: the frames are the host's, and the exchanges sixlink's own.
	bridge bool
}

func newLoader(t *Tape) *loader {
	return &loader{t: t, lines: map[record.From]*lineParts{}, open: map[int64]*webExchange{}, byN: map[int64]int32{}, byConn: map[int64][]int32{}, bridge: t.Header.Bridge}
}

func (l *loader) add(rec *record.Record) error {
	if l.bridge && rec.Exchange != 0 {
		return nil
	}
	switch rec.Kind {
	case record.KindFrame:
		if rec.From == record.Client || rec.From == record.Server {
			return l.frame(rec)
		}
	case record.KindRequest, record.KindResponse, record.KindBody:
		return l.web(rec)
	case record.KindClose:
		switch c := rec.Close; {
		case c == nil:
		case c.What == record.Stdout && c.Who == record.ByServer:
			l.t.items = append(l.t.items, &item{form: itEnd, pos: rec.Seq, at: rec.At, session: -1, x: -1})
		case c.What == record.Connection, rec.Exchange != 0:
			return l.broken(rec)
		}
	}
	return nil
}

// lineParts is a stdio line that is being put together.
type lineParts struct {
	seq  int64
	data []byte
	mask []mask.Span
	bad  bool // it has no beginning, or is too long
	open bool
}

func (l *loader) frame(rec *record.Record) error {
	p := l.lines[rec.From]
	if p == nil {
		p = &lineParts{}
		l.lines[rec.From] = p
	}
	if !rec.Cont || !p.open {
		*p = lineParts{seq: rec.Seq, bad: rec.Headless || rec.Cont, open: true}
	}
	p.mask = appendMasks(p.mask, rec.Masked, int64(len(p.data)))
	data := rec.Data // of a line that is one record no copy is made
	switch {
	case len(p.data)+len(rec.Data) > maxLine:
		p.bad, p.data = true, nil
	case rec.More || p.seq != rec.Seq:
		p.data = append(p.data, rec.Data...)
		data = p.data
	}
	if rec.More {
		return nil
	}
	p.open, p.data = false, nil
	if p.bad {
		return nil
	}
	if rec.From == record.Client {
		return l.said(bytes.TrimPrefix(data, bom), p.mask, &event{seq: p.seq, pos: rec.Seq, at: rec.At, x: -1})
	}
	it := &item{form: itLine, pos: rec.Seq, at: rec.At, x: -1, data: span{0, int32(len(data))}, whole: true}
	return l.sent(it, data, rec.EOL, p.seq, -1)
}

var bom = []byte("\xef\xbb\xbf")

func appendMasks(dst []mask.Span, masks []record.Mask, by int64) []mask.Span {
	for _, m := range masks {
		dst = append(dst, mask.Span{Off: m.Off + by, Len: m.Len, MAC: m.MAC})
	}
	return dst
}

// said makes events of the messages in a text of the client's. like is what they
// have in common.
func (l *loader) said(data []byte, masks []mask.Span, like *event) error {
	all, _ := read(data)
	requests := int32(0)
	for _, e := range all {
		if e.kind == kRequest {
			requests++
		}
	}
	for _, e := range all {
		ev := *like
		ev.session, ev.method, ev.index, ev.batch = -1, l.t.intern(e.method), int32(e.index), requests
		if e.id.ok() {
			ev.id = ident(e.id.of(data))
			if ev.raw = ev.id[1:]; ev.raw != string(e.id.of(data)) { // one text for both, mostly
				ev.raw = clip(string(e.id.of(data)))
			}
		}
		switch e.kind {
		case kRequest:
			ev.what = evRequest
			ev.name = l.t.intern(key.Name(e.method, e.params.of(data)))
			if e.metaToken.ok() {
				ev.rarely().token = ident(e.metaToken.of(data))
			}
			for _, m := range masks {
				if m.Off >= int64(e.params.start) && m.Off+m.Len <= int64(e.params.end) {
					ev.rarely().masked = append(ev.rarely().masked, mask.Span{Off: m.Off - int64(e.params.start), Len: m.Len, MAC: m.MAC})
				}
			}
			var err error
			if ev.params, err = l.t.spool.add(e.params.of(data)); err != nil {
				return err
			}
			if len(ev.rare().masked) == 0 {
				ev.key = plainRules.Of(e.method, e.params.of(data))
			}
		case kNotification:
			ev.what = evNotification
			if e.target.ok() {
				ev.rarely().target = ident(e.target.of(data))
			}
		case kReply:
			ev.what = evReply
			ev.key = plainRules.Of("", e.result.of(data))
		}
		l.t.events = append(l.t.events, &ev)
		if ev.x >= 0 {
			x := l.t.exchanges[ev.x]
			x.events = append(x.events, &ev)
		}
	}
	return nil
}

// plainRules are those under which a tape keeps the keys of requests.
var plainRules key.Rules

// sent keeps an item with its messages. b and eol are its bytes; seq is that by which
// session knows its messages, event the index in an event stream.
func (l *loader) sent(it *item, b, eol []byte, seq int64, event int) error {
	var err error
	if it.place, err = l.t.spool.add(b, eol); err != nil {
		return err
	}
	it.session = -1
	if it.whole {
		data := it.data.of(b)
		all, batch := read(data)
		it.batch = batch
		l.messages(it, data, all, seq, event, func(s span) span { return s.shift(int(it.data.start)) })
	}
	l.t.items = append(l.t.items, it)
	return nil
}

// messages adds what was read of an item's data; at says where in the item's bytes a
// span of the data stands.
func (l *loader) messages(it *item, data []byte, all []envelope, seq int64, event int, at func(span) span) {
	for _, e := range all {
		m := &message{kind: e.kind, seq: seq, event: int32(event), index: int32(e.index), place: e.whole, method: l.t.intern(e.method), item: it}
		if e.id.ok() {
			m.id = ident(e.id.of(data))
		}
		keep := func(s span, w swap) {
			switch {
			case !s.ok():
			case s == e.id:
				m.edits = append(m.edits, edit{span: at(s), swap: w, val: m.id})
			default:
				m.edits = append(m.edits, edit{span: at(s), swap: w, val: ident(s.of(data))})
			}
		}
		switch {
		case e.kind == kReply:
			keep(e.id, swapID)
		case e.method == "notifications/progress":
			keep(e.token, swapToken)
		case e.method == "notifications/cancelled":
			keep(e.target, swapID)
		}
		keep(e.sub, swapID)
		it.messages = append(it.messages, m)
		l.t.messages = append(l.t.messages, m)
	}
}

// kindOf tells what a body is by its Content-Type.
func kindOf(fields record.Fields) (stream, json bool) {
	v := fields["Content-Type"]
	if len(v) == 0 {
		return false, false
	}
	t, _, err := mime.ParseMediaType(v[0])
	if err != nil {
		t, _, _ = strings.Cut(v[0], ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	return t == "text/event-stream", t == "application/json" || strings.HasSuffix(t, "+json")
}

func (l *loader) finish() error {
	for _, x := range l.sortedOpen() {
		if err := x.over(l, 0, 0); err != nil {
			return err
		}
	}
	return nil
}
