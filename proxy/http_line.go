package proxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"
)

// lineBytes bounds how much of a request line is looked at.
const lineBytes = 64 << 10

// lineReader stands between a client's connection and net/http, which refuses
// request targets whose path has a % that begins no escape (/a%zz). Servers of
// other makers take them, so the line is given to net/http with that % escaped,
// and what was sent is remembered. Nothing but a request line at the beginning of
// a read, with such a target, is ever changed.
//
// Its methods are called in the order in which net/http reads: by one goroutine at
// a time.
type lineReader struct {
	want bool // the next read may begin with a request line
	off  bool // what is spoken is not HTTP/1, or not any more
	// lead is what net/http has of the line: while a handler runs, it reads one
	// byte ahead to see whether the client leaves.
	lead    []byte
	waiting []byte // edited and not yet read
	sent    string // the target as it was sent, where escaped was given to net/http
	escaped string
}

// state follows what net/http knows of a connection.
func (l *lineReader) state(s http.ConnState) {
	switch s {
	case http.StateNew, http.StateIdle:
		l.want = true
	case http.StateHijacked:
		l.off = true
	}
}

// body is told that a request's body is read next: it is no request line, however
// it looks. (net/http had the head of a request that was sent behind another one
// without reading for it.)
func (l *lineReader) body() { l.want, l.lead = false, l.lead[:0] }

// target is a request's target as it was sent. It is asked once for each request: the
// next one's line may come without being looked at.
func (l *lineReader) target(uri string) string {
	if l.escaped != "" && l.escaped == uri {
		uri = l.sent
	}
	l.sent, l.escaped = "", ""
	return uri
}

func (l *lineReader) read(p []byte, from io.Reader) (int, error) {
	if len(l.waiting) > 0 {
		n := copy(p, l.waiting)
		l.waiting = l.waiting[n:]
		return n, nil
	}
	n, err := from.Read(p)
	switch {
	case l.off || n == 0:
	case len(p) == 1:
		l.want, l.lead = true, append(l.lead[:0], p[0])
	case l.want:
		return l.line(p, n, err, from)
	}
	return n, err
}

// line looks at p[:n], which may begin with a request line, or end within it.
func (l *lineReader) line(p []byte, n int, err error, from io.Reader) (int, error) {
	l.want = false
	line := p[:n]
	if len(l.lead) > 0 {
		line = append(l.lead, line...)
	}
	// net/http needs all of a line anyway: waiting for its end changes nothing.
	for own := false; err == nil && bytes.IndexByte(line, '\n') < 0 && mayBeLine(line) && len(line) < lineBytes; own = true {
		if !own {
			line = slices.Clone(line) // p is net/http's
		}
		line = slices.Grow(line, 4<<10)
		var m int
		m, err = from.Read(line[len(line):cap(line)])
		line = line[:len(line)+m]
	}
	lead := len(l.lead)
	l.lead = l.lead[:0]
	line = l.edit(line)
	line = line[lead:] // what net/http has is a letter of the method
	n = copy(p, line)
	if n < len(line) {
		// The rest comes first, then the error again: connections repeat theirs.
		l.waiting = append([]byte(nil), line[n:]...)
		err = nil
	}
	return n, err
}

// mayBeLine tells whether bytes are the beginning of METHOD /…
func mayBeLine(b []byte) bool {
	for i, c := range b {
		if c == ' ' {
			return i > 0 && (i+1 == len(b) || b[i+1] == '/')
		}
		if (c < 'A' || c > 'Z') || i > 20 {
			return false
		}
	}
	return true
}

// edit escapes what net/http would stumble over.
func (l *lineReader) edit(b []byte) []byte {
	if bytes.HasPrefix(b, []byte("PRI * HTTP/2.0\r\n")) {
		l.off = true
		return b
	}
	l.sent, l.escaped = "", ""
	end := bytes.IndexByte(b, '\n')
	if end < 0 || bytes.IndexByte(b[:end], '%') < 0 || !mayBeLine(b[:end]) {
		return b
	}
	from := bytes.IndexByte(b[:end], ' ') + 1
	n := bytes.IndexByte(b[from:end], ' ')
	if from == 0 || n < 0 || !bytes.HasPrefix(b[from+n:end], []byte(" HTTP/1.")) {
		return b
	}
	target := string(b[from : from+n])
	escaped := escapePath(target)
	if escaped == target {
		return b
	}
	l.sent, l.escaped = target, escaped
	return slices.Concat(b[:from], []byte(escaped), b[from+n:])
}

// escapePath escapes each % in a target's path that begins no escape.
func escapePath(target string) string {
	out := make([]byte, 0, len(target)+8)
	for i := range len(target) {
		c := target[i]
		if c == '?' {
			return string(out) + target[i:]
		}
		out = append(out, c)
		if c == '%' && (i+2 >= len(target) || !hex(target[i+1]) || !hex(target[i+2])) {
			out = append(out, "25"...)
		}
	}
	return string(out)
}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
