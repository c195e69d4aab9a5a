package record

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/mask"
)

// bodyKey names a body: that of the request (from the client) or of the response
// of an exchange.
type bodyKey int64

func keyOf(exchange int64, from From) bodyKey {
	return bodyKey(exchange<<1 | int64(min(index(from), 1)))
}

func (k bodyKey) split() (exchange int64, from From) { return int64(k >> 1), directions[k&1] }

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

// bodies are the bodies of which more is to come. Of the recorder's goroutine; the
// queue knows the same ones and tells when one is over (see openBody).
type bodies struct {
	m   map[bodyKey]*bodyState
	one bodyState // of a body that came in one piece
	buf []byte
}

func newBodies() bodies { return bodies{m: map[bodyKey]*bodyState{}} }

// state is the state of the body that e is a piece of.
func (b *bodies) state(e *entry) *bodyState {
	k := keyOf(e.exchange, e.from)
	st := b.m[k]
	switch {
	case st != nil && (e.end != BodyMore || e.whole):
		delete(b.m, k)
	case st == nil && (e.end != BodyMore || e.whole):
		b.one = bodyState{}
		st = &b.one
		e.class.prepare(st, e.from)
	case st == nil:
		st = &bodyState{}
		e.class.prepare(st, e.from)
		b.m[k] = st
	}
	return st
}

// lost adds what is held back to a gap that begins here, as it may not be completed
// any more, and forgets the bodies that ended in the gap.
func (b *bodies) lost(g *Gap, gone []bodyKey) {
	for k, st := range b.m {
		if n := int64(len(st.held)); n > 0 {
			_, from := k.split()
			h := g.HTTP[from]
			h.Bytes += n
			g.HTTP[from] = h
			st.held, st.torn = nil, true
		}
	}
	for _, k := range gone {
		delete(b.m, k)
	}
}

// body makes a piece that was queued a record's line. The bytes are the
// recorder's own copy.
func (r *Recorder) body(e *entry) {
	st := r.bodies.state(e)
	data, off, copied := e.data, e.off, false
	if n := int64(len(st.held)); n > 0 && st.next == off {
		copied = true
		r.bodies.buf = append(append(r.bodies.buf[:0], st.held...), data...)
		data, off = r.bodies.buf, off-n
	}
	if st.torn = st.torn || st.next != e.off; st.torn && st.fields != nil {
		// Names and values cannot be told apart any more.
		st.fields, st.hidden = nil, true
	}
	st.next = e.off + int64(len(e.data))
	st.held = st.held[:0]
	if e.end == BodyMore && !e.whole {
		keep := openRune(data)
		if m := r.cfg.Masker; m != nil && !st.hidden {
			keep = max(keep, m.Held(data))
		}
		st.held = append(st.held, data[len(data)-keep:]...)
		data = data[:len(data)-keep]
	}
	masked := r.maskBody(st, data, e.end, e.end == BodyCut || e.whole)
	st.torn = st.torn && len(data) == 0
	m := meta{seq: e.after + 1, at: e.at, from: e.from, http: true, bytes: int64(len(data)), ends: 1}
	if r.pressed && e.extra == nil && len(data) <= pieceLimit {
		r.storePiece(m, e, off, data, masked, copied)
		return
	}
	r.line = appendBody(r.line[:0], e, off, data, masked)
	r.add(m, r.line)
}

// maskBody replaces credentials in a piece, in place. cut: the bytes behind it are
// not looked at.
func (r *Recorder) maskBody(st *bodyState, p []byte, end BodyEnd, cut bool) []Mask {
	m := r.cfg.Masker
	if m == nil || len(p) == 0 {
		return nil
	}
	spans := r.spans[:0]
	switch {
	case st.hidden:
		spans = m.All(p, spans)
	case st.fields != nil:
		spans = st.fields.Mask(m, p, end == BodyLast, spans)
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

// leave writes what is still held back of bodies that are open at the end. The
// queue must be closed, so that the seqs are the recorder's to take.
func (r *Recorder) leave() {
	keys := make([]bodyKey, 0, len(r.bodies.m))
	for k, st := range r.bodies.m {
		if len(st.held) > 0 {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		e := entry{typ: entryBody, whole: true, seqs: 1, off: r.bodies.m[k].next}
		e.exchange, e.from = k.split()
		e.after, e.at = r.q.last()
		r.body(&e)
	}
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

// pieceLimit is more than a piece can have: 64 KiB, and what was held back of the one
// before.
const pieceLimit = 1 << 20

// appendBody appends the line of a piece (FORMAT.md 10). It looks at all of its
// bytes more than once: under pressure they are stored as they are (see storePiece).
func appendBody(dst []byte, e *entry, off int64, data []byte, masked []Mask) []byte {
	body, eol, form := data, []byte(nil), FormText
	if b, end := splitJSON(data); embeddable(b) {
		body, eol, form = b, end, FormMessage
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
