package session

import (
	"bytes"
	"errors"
	"mime"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/coding"
	"github.com/sixlink/sixlink/record/session/sse"
)

// bodyKind is how a body is read: its header decides (wire.md 1.3).
type bodyKind uint8

const (
	bodyText   bodyKind = iota // neither JSON nor events: only its beginning is kept
	bodyJSON                   // one JSON text
	bodyEvents                 // an event stream
)

// kindOf is the kind that a Content-Type names.
func kindOf(contentType string) bodyKind {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		t, _, _ = strings.Cut(contentType, ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	switch {
	case t == "text/event-stream":
		return bodyEvents
	case t == "application/json", strings.HasSuffix(t, "+json"):
		return bodyJSON
	}
	return bodyText
}

// body is one body of an exchange while it comes.
type body struct {
	kind    bodyKind
	next    int64 // the raw offset that the next piece should have
	length  int64 // announced; -1: not
	torn    bool  // a piece is missing
	behind  bool  // the latest piece, or its beginning, was left out behind a hole in a stream
	ended   bool
	cut     bool
	broken  error // it could not be unpacked
	hidden  bool  // the recording hides a whole piece of it: what is there is filler
	packed  bool
	fields  []string // the content codings
	dec     *coding.Decoder
	decoded int64 // bytes that came out, or raw ones

	// data is the JSON text, or the beginning of anything else.
	data []byte
	long bool
	// pieces are the records that the open event, or the JSON text, may stand in.
	pieces []bodyPiece
	masks  []record.Mask // by offset in the raw body
	parser *sse.Parser
	events int // that were dispatched

	seq, at int64 // of the record with its last byte
}

// A body may come byte by byte.
const (
	pieceCost = 96      // bytes of memory that a piece takes, about
	maxPieces = 1 << 20 // of one JSON text or event
)

// bodyPiece is a record of a body.
type bodyPiece struct {
	off, n int64 // in the raw body, the white space at the end included
	ref    record.Ref
	eol    string // that Source.Fetch leaves out
}

func (b *body) begin(headers record.Fields, length int64, limit int64) {
	b.kind = kindOf(field0(headers, "Content-Type"))
	b.length = length
	b.fields = headers["Content-Encoding"]
	b.dec, b.broken = coding.New(b.fields, min(limit, coding.Max))
	b.packed = b.dec != nil || b.broken != nil
	if b.kind == bodyEvents {
		b.parser = &sse.Parser{Max: int(limit)}
	}
}

// piece takes a record and hands out the events that end in it.
func (b *body) piece(rec *record.Record, limit int64, event func(*sse.Event)) {
	if b.ended {
		return
	}
	raw := rec.Data
	if len(rec.EOL) > 0 {
		raw = slices.Concat(rec.Data, rec.EOL)
	}
	if rec.Off != b.next {
		b.torn = true
		if b.parser != nil && b.dec == nil {
			b.parser.Resume(rec.Off)
			b.pieces, b.masks = nil, nil
		}
	}
	b.behind = b.parser != nil && b.parser.Lost()
	b.next = rec.Off + int64(len(raw))
	if len(raw) > 0 {
		b.seq, b.at = rec.Seq, rec.At
		if !b.long && b.broken == nil {
			b.pieces = append(b.pieces, bodyPiece{off: rec.Off, n: int64(len(raw)), ref: rec.Ref, eol: string(rec.EOL)})
		}
		for _, m := range rec.Masked {
			if m.Off == 0 && m.Len >= int64(len(raw)) {
				b.hidden = true
			}
			m.Off += rec.Off
			b.masks = append(b.masks, m)
		}
	} else if b.seq == 0 {
		b.seq, b.at = rec.Seq, rec.At
	}
	b.ended = rec.End != record.BodyMore
	b.cut = rec.End == record.BodyCut
	switch {
	case b.broken != nil:
	case b.torn && (b.parser == nil || b.dec != nil):
		// Nothing can be made of the rest. Of a stream of events only the one is lost in
		// which bytes are missing.
	case b.dec == nil:
		b.take(raw, limit, event)
	default:
		if err := b.dec.Feed(raw, b.ended && !b.cut, func(p []byte) { b.take(p, limit, event) }); err != nil {
			b.broken = err
		}
	}
	if b.kind == bodyEvents && !b.packed && b.parser != nil {
		// What stands before the open event is not asked for any more.
		start, k := b.parser.Start(), 0
		for k < len(b.pieces) && b.pieces[k].off+b.pieces[k].n <= start {
			k++
		}
		b.pieces = slices.Delete(b.pieces, 0, k)
		k = 0
		for k < len(b.masks) && b.masks[k].Off+b.masks[k].Len <= start {
			k++
		}
		b.masks = slices.Delete(b.masks, 0, k)
	}
	switch {
	case len(b.pieces) <= maxPieces:
	case b.kind == bodyJSON:
		b.tooLong()
	case b.kind == bodyEvents:
		b.pieces, b.broken = nil, errors.New("it came in more pieces than are put together")
	}
	if b.kind == bodyText && len(b.pieces) > 1 {
		b.pieces, b.masks = b.pieces[:1], nil
	}
}

// take takes bytes of the unpacked body.
func (b *body) take(p []byte, limit int64, event func(*sse.Event)) {
	b.decoded += int64(len(p))
	room := limit
	if b.kind != bodyJSON || b.long {
		room = tooLongPrefix
	}
	if b.kind == bodyEvents {
		b.parser.Feed(p, func(e *sse.Event) {
			b.events++
			event(e)
		})
		if b.events > 0 {
			b.data = nil // it is what it says to be: no need to guess
			return
		}
	}
	if n := int64(len(b.data)); n < room {
		b.data = append(b.data, p[:min(int64(len(p)), room-n)]...)
	}
	if b.kind == bodyJSON && !b.long && b.decoded > limit {
		b.tooLong()
	}
}

// tooLong lets go of a JSON text that is not put together, but for its beginning.
func (b *body) tooLong() {
	b.long = true
	b.data = bytes.Clone(b.data[:min(len(b.data), tooLongPrefix)])
	b.pieces = nil
}

// whole tells whether the body's announced length has come, so that no end needs
// to be waited for.
func (b *body) whole() bool { return b.length >= 0 && b.next >= b.length && !b.torn }

// held is how many bytes it keeps.
func (b *body) held() int64 {
	n := int64(len(b.data)) + int64(len(b.pieces))*pieceCost
	if b.parser != nil {
		n += int64(b.parser.Size())
	}
	return n
}

// release lets go of all that is only needed while the body comes.
func (b *body) release() {
	if b.dec != nil {
		b.dec.Close()
	}
	b.dec, b.data, b.pieces, b.masks, b.parser = nil, nil, nil, nil, nil
}

// line makes a line of the whole JSON text.
func (b *body) line(from record.From, x *httpExchange) *line {
	l := &line{from: from, seq: b.seq, last: b.seq, since: b.seq, at: b.at, off: 0, end: b.next, data: b.data, ended: true,
		form: record.FormRaw, long: b.long, size: b.decoded, x: x, event: -1}
	for _, p := range b.pieces {
		l.refs = append(l.refs, p.ref)
	}
	fix := &derived{fields: b.fields, event: -1}
	if !b.packed {
		fix.fields = nil
		l.masks = b.masks
	}
	fix.ends(b.pieces)
	if len(fix.eols) > 0 || fix.fields != nil {
		l.fix = fix
	}
	return l
}

// eventLine makes a line of an event's data.
func (b *body) eventLine(e *sse.Event, rec *record.Record, x *httpExchange) *line {
	l := &line{from: record.Server, seq: rec.Seq, last: rec.Seq, since: rec.Seq, at: rec.At, off: e.Start, end: e.End, data: e.Data,
		ended: true, form: record.FormRaw, long: e.Long, size: int64(len(e.Data)), x: x, event: e.Index, eventID: e.ID}
	fix := &derived{event: e.Index, fields: b.fields}
	pieces := b.pieces
	if !b.packed {
		k := 0
		for k < len(pieces) && pieces[k].off+pieces[k].n <= e.Start {
			k++
		}
		pieces = pieces[k:]
		fix.fields, fix.event = nil, 0
		if len(pieces) > 0 {
			fix.skip = e.Start - pieces[0].off
		}
		for _, m := range b.masks {
			l.masks = append(l.masks, e2d(e, m)...)
		}
	}
	l.refs = make([]record.Ref, len(pieces))
	for i, p := range pieces {
		l.refs[i] = p.ref
	}
	fix.ends(pieces)
	l.fix = fix
	return l
}

// e2d moves a mask of the raw stream to the event's data; one may lie on several lines.
func e2d(e *sse.Event, m record.Mask) (out []record.Mask) {
	for _, l := range e.Lines {
		from, to := max(m.Off, l.At), min(m.Off+m.Len, l.At+int64(l.Len))
		if from < to {
			out = append(out, record.Mask{Off: int64(l.Off) + from - l.At, Len: to - from, MAC: m.MAC})
		}
	}
	return out
}

// derived says how the data of a line comes out of the bytes of its records.
type derived struct {
	eols   []eolAt
	fields []string // content codings
	skip   int64    // bytes in front of the event
	event  int      // the data is that of this event; -1: all of the body
}

// eolAt is white space that a record has beside its data.
type eolAt struct {
	off int64 // in what Source.Fetch gives
	eol string
}

func (d *derived) ends(pieces []bodyPiece) {
	off := int64(0)
	for i, p := range pieces {
		off += p.n - int64(len(p.eol))
		if p.eol != "" && i < len(pieces)-1 {
			d.eols = append(d.eols, eolAt{off, p.eol})
		}
	}
	if n := len(pieces); n > 0 && d.event >= 0 && pieces[n-1].eol != "" {
		d.eols = append(d.eols, eolAt{off, pieces[n-1].eol})
	}
}

// of makes the line's data of what was fetched.
func (d *derived) of(b []byte) ([]byte, error) {
	if len(d.eols) > 0 {
		var all []byte
		at := int64(0)
		for _, e := range d.eols {
			if e.off > int64(len(b)) {
				break
			}
			all = append(append(all, b[at:e.off]...), e.eol...)
			at = e.off
		}
		b = append(all, b[at:]...)
	}
	if d.fields != nil {
		dec, err := coding.New(d.fields, 0)
		if err != nil {
			return nil, err
		}
		if dec != nil {
			defer dec.Close()
			var out []byte
			// What is missing behind an event is no error.
			err := dec.Feed(b, d.event < 0, func(p []byte) { out = append(out, p...) })
			if err != nil {
				return nil, err
			}
			b = out
		}
	}
	if d.event < 0 {
		return b, nil
	}
	var data []byte
	var p sse.Parser
	if d.skip > 0 || d.fields == nil {
		p.Feed([]byte("\n"), nil) // what follows is not the stream's beginning
	}
	p.Feed(b[min(d.skip, int64(len(b))):], func(e *sse.Event) {
		if e.Index == d.event {
			data = bytes.Clone(e.Data)
		}
	})
	return data, nil
}
