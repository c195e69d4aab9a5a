package record

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/mask"
)

// bodyKey names a body: that of the request (from the client) or of the response
// of an exchange.
type bodyKey struct {
	exchange int64
	from     From
}

// bodyState is what the recorder knows of a body between two of its pieces.
type bodyState struct {
	next int64 // the offset behind what was offered
	// held is the end of what was offered: it waits for what follows, since a
	// credential may begin there, or a character of UTF-8 is not whole.
	held []byte
	// torn says that what stood before next is lost.
	torn bool
	// fields looks for credentials by their names; nil: not in this body.
	fields *mask.Fields
	// hidden says that all of the body is a credential, as far as can be told.
	hidden bool
}

// bodies are the bodies that are open. Of the recorder's goroutine.
type bodies struct {
	m    map[bodyKey]*bodyState
	grip map[int64]*exchangeState
	buf  []byte
}

func newBodies() bodies {
	return bodies{m: map[bodyKey]*bodyState{}, grip: map[int64]*exchangeState{}}
}

func (b *bodies) state(k bodyKey) *bodyState {
	st := b.m[k]
	if st == nil {
		st = &bodyState{}
		if x := b.grip[k.exchange]; x != nil {
			x.prepare(st, k.from)
		}
		b.m[k] = st
	}
	return st
}

// done forgets an exchange.
func (b *bodies) done(exchange int64) {
	delete(b.m, bodyKey{exchange, Client})
	delete(b.m, bodyKey{exchange, Server})
	delete(b.grip, exchange)
}

// lost adds what is held back to a gap that begins here: it will not be
// completed any more.
func (b *bodies) lost(g *Gap) {
	for k, st := range b.m {
		if n := int64(len(st.held)); n > 0 {
			h := g.HTTP[k.from]
			h.Bytes += n
			g.HTTP[k.from] = h
		}
		st.held, st.torn = nil, true
	}
}

// body makes a piece that was queued a record's line. The bytes are the
// recorder's own copy.
func (r *Recorder) body(e *entry) {
	k := bodyKey{e.exchange, e.from}
	st := r.bodies.state(k)
	data, off := e.data, e.off
	if n := int64(len(st.held)); n > 0 && st.next == off {
		r.bodies.buf = append(append(r.bodies.buf[:0], st.held...), data...)
		data, off = r.bodies.buf, off-n
	}
	st.torn = st.torn || st.next != e.off
	st.next = e.off + int64(len(e.data))
	st.held = st.held[:0]
	if e.end == BodyMore {
		keep := openRune(data)
		if m := r.cfg.Masker; m != nil && !st.hidden {
			keep = max(keep, m.Held(data))
		}
		st.held = append(st.held, data[len(data)-keep:]...)
		data = data[:len(data)-keep]
	}
	masked := r.maskBody(st, data, e.end == BodyCut)
	st.torn = false
	r.line = appendBody(r.line[:0], e, off, data, masked, !r.pressed)
	if e.end != BodyMore {
		delete(r.bodies.m, k)
	}
	m := meta{seq: e.after + 1, at: e.at, from: e.from, http: true, bytes: int64(len(data)), ends: 1}
	if r.pressed {
		r.storeLine(m, r.line)
		return
	}
	r.w.add(m, r.line)
}

// maskBody replaces credentials in a piece, in place.
func (r *Recorder) maskBody(st *bodyState, p []byte, cut bool) []Mask {
	m := r.cfg.Masker
	if m == nil || len(p) == 0 {
		return nil
	}
	spans := r.spans[:0]
	switch {
	case st.hidden:
		spans = m.All(p, spans)
	case st.fields != nil:
		spans = st.fields.Mask(m, p, spans)
	}
	if !m.Empty() && !st.hidden {
		if st.torn || cut {
			spans = m.Torn(p, st.torn, cut, spans)
		} else {
			spans = m.Mask(p, spans)
		}
	}
	r.spans = spans
	if len(spans) == 0 {
		return nil
	}
	return sortMasks(spans)
}

// openRune is how many bytes at the end of p are the beginning of a character.
func openRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// appendBody appends the line of a piece (FORMAT.md 10). Embedding costs a look
// at all of it, which there is no time for under pressure.
func appendBody(dst []byte, e *entry, off int64, data []byte, masked []Mask, embed bool) []byte {
	body, eol, form := data, []byte(nil), FormText
	if embed {
		// A body may be JSON of several lines, which no frame is; a record is one line.
		if b, end := splitJSON(data); bytes.IndexByte(b, '\n') < 0 && embeddable(b) {
			body, eol, form = b, end, FormMessage
		}
	}
	dst = append(dst, `{"kind":"body","seq":`...)
	dst = strconv.AppendInt(dst, e.after+1, 10)
	dst = append(dst, `,"at":`...)
	dst = strconv.AppendInt(dst, e.at, 10)
	dst = append(dst, `,"exchange":`...)
	dst = strconv.AppendInt(dst, e.exchange, 10)
	dst = append(dst, `,"from":"`...)
	dst = append(dst, e.from...)
	dst = append(dst, `","off":`...)
	dst = strconv.AppendInt(dst, off, 10)
	switch e.end {
	case BodyLast:
		dst = append(dst, `,"last":true`...)
	case BodyCut:
		dst = append(dst, `,"cut":true`...)
	}
	if x := e.extra; x != nil {
		dst = appendMember(dst, "trailers", x.trailers, len(x.trailers))
		dst = appendMember(dst, "patch", x.patch, len(x.patch))
	}
	if form == FormMessage {
		dst = append(dst, `,"len":`...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
		if len(eol) > 0 {
			dst = append(dst, `,"eol":`...)
			dst = appendString(dst, eol)
		}
	}
	return appendForm(appendMasked(dst, masked), form, body)
}

// appendMember appends a member of a few values, if there are any.
func appendMember(dst []byte, name string, v any, n int) []byte {
	if n == 0 {
		return dst
	}
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return dst // there is no value of these types that cannot be written
	}
	return append(append(append(append(dst, `,"`...), name...), `":`...), b...)
}

// sortMasks puts spans into the order of their places.
func sortMasks(spans []mask.Span) []Mask {
	spans = mask.Sorted(spans)
	masked := make([]Mask, len(spans))
	for i, s := range spans {
		masked[i] = Mask(s)
	}
	return masked
}
