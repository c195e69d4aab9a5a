// Package sse reads event streams (WHATWG HTML, "Server-sent events") as they
// come, in pieces of any size.
//
// It knows lines, fields and events. It must not know what an event's data means,
// nor recordings. Every event says which bytes of the stream it was, so that it
// can be found again.
package sse

import (
	"bytes"
	"strconv"
)

// Event is one block of a stream: what stands between two blank lines.
type Event struct {
	// Index counts the stream's blocks from 0, those without data included. Blocks
	// of nothing but comments do not count.
	Index int
	// Type is the event's own name; "" is what the standard calls "message".
	Type string
	// ID is the last event id of the stream as this block leaves it. HasID says
	// that the block set it.
	ID    string
	HasID bool
	// Retry is the reconnection time in milliseconds that the block set, or -1.
	Retry int64
	// HasData tells whether a data field was there. A block without one, or with
	// nothing but empty ones, is dispatched to nobody (it may still set ID).
	HasData bool
	// Data is the data fields' values, joined by LF. It is valid until the handler returns.
	Data []byte
	// Lines says where the data came from, a data field each.
	Lines []Line
	// Start and End bound the block in the stream: Start is its first byte, End is
	// behind the blank line that ended it.
	Start, End int64
	// Long says that the data was longer than the parser's bound: Data is only its beginning.
	Long bool
}

// Dispatched tells whether a client is told of the event.
func (e *Event) Dispatched() bool { return len(e.Data) > 0 }

// Line is a data field's value: Len bytes at At of the stream, and at Off of Data.
type Line struct {
	At       int64
	Off, Len int
}

// DefaultMax is the bound of a zero Parser.
const DefaultMax = 64 << 20

// maxLines is how many data fields of one event are put together: each costs more than
// its byte in the stream.
const maxLines = 1 << 20

// keptField is how many bytes of a field that is no data are kept: an id or a name
// is under 1 KiB in practice, and a longer one is cut.
const keptField = 4 << 10

// Parser takes the pieces of one stream. The zero value is ready.
type Parser struct {
	// Max is how many bytes of data of one event are put together; 0: [DefaultMax].
	Max int

	off   int64  // of the next byte
	line  []byte // of the line that is open, as far as it is wanted
	at    int64  // where it began
	size  int    // its length so far
	cr    bool   // the byte before was a CR that ended a line
	begun bool   // the BOM, if there was one, is behind us
	bom   []byte

	ev       Event
	data     []byte
	lines    []Line
	open     bool // the block has a line that is no comment
	comments bool // or one that is
	lastID   string
	next     int // index

	lost bool // bytes are missing: nothing counts before the next blank line …
	past bool // … and that is one behind the end of the line that may have lost its beginning
}

// Resume goes on at off of the stream, behind a hole. What follows up to the next
// blank line is of an event whose beginning is not known, and is left out.
func (p *Parser) Resume(off int64) {
	p.off, p.line, p.size, p.cr, p.begun, p.bom = off, p.line[:0], 0, false, true, nil
	p.ev, p.data, p.lines, p.open, p.comments = Event{Start: off}, p.data[:0], p.lines[:0], false, false
	p.lastID, p.lost, p.past = "", true, false
}

// Lost tells whether the parser is between a hole and the next blank line.
func (p *Parser) Lost() bool { return p.lost }

// Feed takes the next piece of the stream and hands out the events that end in
// it, in order.
func (p *Parser) Feed(b []byte, event func(*Event)) {
	if !p.begun {
		b = p.mark(b)
	}
	lf := -1 // where the next LF is, once it was looked for
	for at := 0; at < len(b); {
		if p.cr {
			p.cr = false
			if b[at] == '\n' { // the second half of a CRLF
				at++
				p.off++
				if !p.open && !p.comments {
					p.ev.Start = p.off
				}
				continue
			}
		}
		if lf < at {
			if lf = bytes.IndexByte(b[at:], '\n'); lf < 0 {
				lf = len(b)
			} else {
				lf += at
			}
		}
		end := lf
		if i := bytes.IndexByte(b[at:lf], '\r'); i >= 0 {
			end = at + i
		}
		p.take(b[at:end])
		p.off += int64(end - at)
		if end == len(b) {
			return
		}
		p.off++
		p.cr = b[end] == '\r'
		at = end + 1
		// The blank line's LF belongs to the block where it is at hand.
		if p.cr && p.size == 0 && at < len(b) && b[at] == '\n' {
			p.cr = false
			p.off++
			at++
		}
		p.ended(event)
	}
}

// mark skips a byte order mark at the very beginning.
func (p *Parser) mark(b []byte) []byte {
	const bom = "\xef\xbb\xbf"
	for len(b) > 0 && len(p.bom) < len(bom) && b[0] == bom[len(p.bom)] {
		p.bom = append(p.bom, b[0])
		b = b[1:]
	}
	switch {
	case len(p.bom) == len(bom):
		p.begun = true
		p.off, p.at, p.ev.Start = 3, 3, 3
	case len(b) > 0: // it only began like one
		p.begun = true
		p.take(p.bom)
		p.off = int64(len(p.bom))
	}
	return b
}

// take adds bytes to the open line.
func (p *Parser) take(b []byte) {
	if p.size == 0 {
		p.at = p.off
	}
	p.size += len(b)
	if p.lost {
		return
	}
	room := p.max() + len("data: ") - len(p.line)
	if len(p.line) >= len(dataField) && !bytes.HasPrefix(p.line, []byte(dataField)) {
		room = keptField - len(p.line)
	}
	p.line = append(p.line, b[:max(0, min(room, len(b)))]...)
}

const dataField = "data"

func (p *Parser) max() int {
	if p.Max > 0 {
		return p.Max
	}
	return DefaultMax
}

// ended reads the line that has just ended.
func (p *Parser) ended(event func(*Event)) {
	line, size := p.line, p.size
	start := p.off
	p.line, p.size = p.line[:0], 0
	if p.lost {
		p.lost, p.past = size > 0 || !p.past, true
		p.ev.Start = start
		return
	}
	if size == 0 {
		p.dispatch(start, event)
		return
	}
	name, value, at := line, []byte(nil), size
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		name, value, at = line[:i], line[i+1:], i+1
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
			at++
		}
	}
	if len(name) == 0 && line[0] == ':' {
		p.comments = true
		return
	}
	p.open = true
	switch string(name) {
	case dataField:
		p.addData(value, at, size)
	case "event":
		p.ev.Type = string(value[:min(len(value), keptField)])
	case "id":
		if bytes.IndexByte(value, 0) < 0 { // one with a NUL is ignored
			p.lastID, p.ev.HasID = string(value[:min(len(value), keptField)]), true
		}
	case "retry":
		if n, err := strconv.ParseInt(string(value), 10, 62); err == nil && digits(value) {
			p.ev.Retry = n + 1 // 0 is "none" until the event is handed out
		}
	}
	// Any other field is ignored.
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// addData adds the value of a data field that begins at at of its line of size bytes.
func (p *Parser) addData(value []byte, at, size int) {
	if len(p.lines) == maxLines {
		p.ev.Long = true
		return
	}
	if p.ev.HasData {
		p.data = append(p.data, '\n')
	}
	p.ev.HasData = true
	off := len(p.data)
	if room := p.max() - off; room < size-at {
		p.ev.Long = true
		value = value[:max(0, min(room, len(value)))]
	}
	p.data = append(p.data, value...)
	p.lines = append(p.lines, Line{At: p.at + int64(at), Off: off, Len: len(value)})
}

// dispatch ends the block.
func (p *Parser) dispatch(end int64, event func(*Event)) {
	if p.open {
		e := p.ev
		e.Index, e.ID, e.Data, e.Lines, e.End = p.next, p.lastID, p.data, p.lines, end
		e.Retry--
		p.next++
		event(&e)
	}
	p.ev = Event{Start: end}
	p.data, p.lines = p.data[:0], p.lines[:0]
	if cap(p.data) > 1<<20 { // one large event must not be paid for by a long stream
		p.data = nil
	}
	if cap(p.line) > 1<<20 {
		p.line = nil
	}
	p.open, p.comments = false, false
}

// Half tells whether an event was begun and not ended: a client is never told of
// one at the end of the stream. start is its first byte.
func (p *Parser) Half() (start int64, half bool) {
	return p.ev.Start, !p.lost && (p.open || p.size > 0 && (len(p.line) == 0 || p.line[0] != ':'))
}

// Start is where the block that is open, or the next one, begins: bytes before it
// are in no event to come.
func (p *Parser) Start() int64 { return p.ev.Start }

// Size is how many bytes of the open block are kept.
func (p *Parser) Size() int { return len(p.line) + len(p.data) }

// LastID is the last event id so far.
func (p *Parser) LastID() string { return p.lastID }
