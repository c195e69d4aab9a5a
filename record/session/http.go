package session

import (
	"errors"
	"net/textproto"
	"slices"
	"strconv"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/sse"
)

// web is the HTTP of a recording: the exchanges that are open, and the sessions
// that were made of all of them.
type web struct {
	d        *Decoder
	open     map[int64]*httpExchange
	byConn   map[int64]map[int64]*httpExchange // the open ones, by connection
	ended    []*httpExchange                   // lately, oldest first: who broke one off may be said afterwards
	sessions []*httpSession

	byID    map[string]*httpSession   // by Mcp-Session-Id (its value, or what stands for it)
	byKey   map[string]*httpSession   // by what the session key gives, or the host's own key
	bySite  map[string][]*httpSession // by path and user agent, in the order in which they began
	streams []*httpSession            // of legacy HTTP+SSE, the latest ones
	byEnd   map[string]*httpSession   // those by their endpoint
	paths   map[string]string         // where a path was redirected to
	midway  bool                      // the recording begins inside what was going on
	touched []*httpSession            // since the latest gap
	pending int64                     // bytes of open bodies that are held
	lastGap *record.Gap               // the latest loss
	stray   []Remark                  // on exchanges that are in no session yet
}

// Bounds of what is looked back at.
const (
	maxEnded = 1024 // exchanges that ended
	maxSite  = 64   // sessions of one site
	maxPaths = 64   // redirected paths
	maxStray = 64   // remarks that wait for a session
	// maxPending is how many bytes of all open bodies are put together at a time: a
	// recording may hold any number that are never ended.
	maxPending = 256 << 20
)

func newWeb(d *Decoder, rec *record.Record) *web {
	midway := d.first && rec.Seq > 1 || d.hdr.FirstSeq > 1 || d.hdr.Segment > 0
	return &web{d: d, midway: midway, open: map[int64]*httpExchange{}, byID: map[string]*httpSession{}, byKey: map[string]*httpSession{}, byEnd: map[string]*httpSession{}, byConn: map[int64]map[int64]*httpExchange{},
		bySite: map[string][]*httpSession{}, paths: map[string]string{}}
}

// ofHTTP tells of a record that HTTP's sessions are made of.
func ofHTTP(rec *record.Record) bool {
	switch rec.Kind {
	case record.KindRequest, record.KindResponse, record.KindBody:
		return true
	case record.KindClose:
		if c := rec.Close; c != nil && (c.What == record.RequestBody || c.What == record.ResponseBody || c.What == record.Connection) {
			return true
		}
	}
	return rec.Exchange > 0
}

// add takes a record of HTTP.
func (w *web) add(rec *record.Record) {
	x := w.open[rec.Exchange]
	switch rec.Kind {
	case record.KindRequest:
		if rec.Request != nil && x == nil {
			x = newHTTPExchange(w, rec)
			w.open[rec.Exchange] = x
			if w.byConn[x.conn] == nil {
				w.byConn[x.conn] = map[int64]*httpExchange{}
			}
			w.byConn[x.conn][x.n] = x
			if rec.Request.End || rec.Request.Length == 0 {
				x.requested()
			}
		}
	case record.KindResponse:
		if rec.Response != nil && x != nil {
			x.response(rec)
		}
	case record.KindBody:
		if x != nil {
			x.piece(rec)
		} else if x = w.lately(rec.Exchange); x == nil && rec.Exchange > 0 {
			w.headless(rec)
		}
	case record.KindClose:
		w.close(rec)
	case record.KindError:
		if x != nil && rec.Error != nil {
			x.unreached(rec)
		}
	case record.KindUndelivered:
		if x == nil {
			x = w.lately(rec.Exchange)
		}
		if x != nil {
			x.undelivered(rec)
		}
	case record.KindStall:
		if x != nil && x.h != nil && rec.Stall != nil {
			x.remark(FlagStall, rec.Seq, rec.From, "a write was blocked for "+strconv.FormatInt(rec.Stall.Ms, 10)+" ms by its reader")
		}
	}
	if x != nil {
		if x.h != nil {
			x.h.cur.touch(rec.Seq, rec.At)
		}
		w.settle(x)
	}
}

// put gives a body its next piece, and counts what it holds.
func (w *web) put(b *body, rec *record.Record, limit int64, event func(*sse.Event)) {
	before := b.held()
	b.piece(rec, min(limit, max(0, maxPending-w.pending)+before), event)
	w.pending += b.held() - before
	if w.pending > maxPending && b.parser != nil && b.broken == nil {
		b.broken = errors.New("more is open at once than is put together")
	}
}

// headless takes a piece of a body whose request is not on record.
func (w *web) headless(rec *record.Record) {
	if len(w.stray) < maxStray {
		w.stray = append(w.stray, Remark{Seq: rec.Seq, From: rec.From, Flag: FlagHeadless, Exchange: rec.Exchange,
			Detail: "the request of this exchange is not on record"})
	}
	w.open[rec.Exchange] = &httpExchange{w: w, n: rec.Exchange, seq: rec.Seq, at: rec.At, lost: true}
}

// settle moves an exchange that has ended to those that ended lately.
func (w *web) settle(x *httpExchange) {
	if !x.over() || w.open[x.n] != x {
		return
	}
	delete(w.open, x.n)
	if c := w.byConn[x.conn]; c != nil {
		if delete(c, x.n); len(c) == 0 {
			delete(w.byConn, x.conn)
		}
	}
	x.release()
	if len(w.ended) == maxEnded {
		w.ended = slices.Delete(w.ended, 0, maxEnded/4)
	}
	w.ended = append(w.ended, x)
}

func (w *web) lately(n int64) *httpExchange {
	for i := len(w.ended) - 1; i >= 0; i-- {
		if w.ended[i].n == n {
			return w.ended[i]
		}
	}
	return nil
}

// close takes a close record: who broke off a body, or a connection with what was
// open on it.
func (w *web) close(rec *record.Record) {
	c := rec.Close
	if c.What != record.Connection {
		x := w.open[rec.Exchange]
		if x == nil {
			x = w.lately(rec.Exchange)
		}
		if x != nil {
			x.broken(rec)
		}
		return
	}
	var hit []*httpExchange
	if c.Conn != 0 {
		for _, x := range w.byConn[c.Conn] {
			hit = append(hit, x)
		}
	}
	slices.SortFunc(hit, func(a, b *httpExchange) int { return int(a.n - b.n) })
	for _, x := range hit {
		x.broken(rec)
		w.settle(x)
	}
}

// lost takes a gap: every exchange that is open may miss something, and there may
// be others that nobody knows of.
func (w *web) lost(g record.Gap, seq, at int64) {
	w.lastGap = &g
	for _, x := range w.open {
		x.gapped = true
		x.req.torn, x.res.torn = true, true
	}
	// A session of which nothing was seen since the gap before has this one, too: it
	// lies in no other request or list of its.
	for _, h := range w.touched {
		h.touched = false
		if h.overAt != 0 {
			continue
		}
		h.cur.Gaps = append(h.cur.Gaps, g)
		h.cur.touch(seq, at)
		h.gapSeq = max(h.gapSeq, g.LastSeq, seq)
		h.cur.wireGaps = append(h.cur.wireGaps, g)
		h.cur.lists.Gap()
	}
	w.touched = w.touched[:0]
}

// finish ends all sessions by the recording's end.
func (w *web) finish() {
	var left []*httpExchange
	for _, x := range w.open {
		left = append(left, x)
	}
	slices.SortFunc(left, func(a, b *httpExchange) int { return int(a.n - b.n) })
	for _, x := range left {
		x.atEnd()
		x.release()
	}
	res := &w.d.res
	for _, h := range w.sessions {
		s := h.cur
		h.openEnd = (res.Torn || res.State == record.Live) && h.overAt == 0
		s.Torn = res.Torn && h.overAt == 0
		for _, r := range w.stray {
			s.addRemark(r)
		}
		w.stray = nil
		s.finish()
		h.release()
	}
	slices.SortStableFunc(res.Sessions, func(a, b *Session) int {
		switch {
		case a.FirstSeq < b.FirstSeq:
			return -1
		case a.FirstSeq > b.FirstSeq:
			return 1
		}
		return 0
	})
	w.open, w.ended, w.byConn, w.touched = nil, nil, nil, nil
}

// field is the first value of a header field.
func field0(f record.Fields, name string) string {
	if v := f[textproto.CanonicalMIMEHeaderKey(name)]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// hiddenValue is what stands for the value of a field for comparisons: its hash where
// the recording replaced it, else itself; empty when there is none, or when what
// was replaced has no hash.
func hiddenValue(f record.Fields, masks []record.HeadMask, name string) string {
	name = textproto.CanonicalMIMEHeaderKey(name)
	v := f[name]
	if len(v) == 0 || v[0] == "" {
		return ""
	}
	out := ""
	for _, m := range masks {
		if m.In != name {
			continue
		}
		if m.MAC == "" {
			return ""
		}
		out += "#" + m.MAC
	}
	if out == "" {
		return "=" + v[0]
	}
	return out
}
