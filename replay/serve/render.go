package serve

import (
	"bytes"
	"slices"

	"github.com/sixlink/sixlink/record/session/sse"
)

// bytesOf are the bytes of something to send, as they go over the recorded transport.
func (s *Server) bytesOf(o out) ([]byte, error) {
	if o.it == nil {
		return o.made, nil
	}
	b, err := s.t.spool.read(o.it.place)
	if err != nil {
		return nil, err
	}
	return splice(b, o.vals), nil
}

// splice puts values in the places of spans.
func splice(b []byte, vals []val) []byte {
	if len(vals) == 0 {
		return b
	}
	slices.SortFunc(vals, func(a, b val) int { return int(a.start - b.start) })
	out := make([]byte, 0, len(b)+64)
	at := int32(0)
	for _, v := range vals {
		if v.start < at || int(v.end) > len(b) {
			continue
		}
		out = append(append(out, b[at:v.start]...), v.text...)
		at = v.end
	}
	return append(out, b[at:]...)
}

// messagesOf are the messages of something to send, for a transport that is not the
// recorded one, or when not all of a batch is sent: each is one line.
func (s *Server) messagesOf(o out) ([][]byte, error) {
	b, err := s.bytesOf(o)
	if err != nil {
		return nil, err
	}
	if o.it == nil {
		return [][]byte{b}, nil
	}
	switch o.it.form {
	case itHead, itEnd, itPoint:
		return nil, nil
	case itEvent:
		b = dataOf(b)
	}
	if len(o.it.messages) == 0 {
		return nil, nil
	}
	if o.only == nil {
		return [][]byte{line(b)}, nil
	}
	all, _ := read(b)
	var out [][]byte
	for _, e := range all {
		if slices.ContainsFunc(o.only, func(m *message) bool { return int(m.index) == e.index }) {
			out = append(out, line(e.whole.of(b)))
		}
	}
	return out, nil
}

// dataOf is the data of the event that ends a part of an event stream.
func dataOf(b []byte) (data []byte) {
	var p sse.Parser
	p.Feed(b, func(e *sse.Event) {
		if e.HasData {
			data = bytes.Clone(e.Data)
		}
	})
	return data
}

// line makes one line of JSON text: line ends are white space there, since inside of
// strings they are escaped.
func line(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if !bytes.ContainsAny(b, "\r\n") {
		return b
	}
	b = bytes.Clone(b)
	for i, c := range b {
		if c == '\r' || c == '\n' {
			b[i] = ' '
		}
	}
	return b
}
