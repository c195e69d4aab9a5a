package record

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// headLine appends what follows the common members of a head's line. There are two
// heads an exchange: json.Marshal took a third of the recorder's time.
type headLine struct {
	dst   []byte
	names []string
}

func (l *headLine) text(name, s string, always bool) {
	if s == "" && !always {
		return
	}
	l.name(name)
	l.string(s)
}

func (l *headLine) name(name string) {
	l.dst = append(l.dst, ',', '"')
	l.dst = append(l.dst, name...)
	l.dst = append(l.dst, '"', ':')
}

func (l *headLine) string(s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	l.dst = appendString(l.dst, s)
}

func (l *headLine) number(name string, n int64, always bool) {
	if n == 0 && !always {
		return
	}
	l.name(name)
	l.dst = strconv.AppendInt(l.dst, n, 10)
}

func (l *headLine) flag(name string, set bool) {
	if set {
		l.name(name)
		l.dst = append(l.dst, "true"...)
	}
}

// fields appends fields sorted by their names.
func (l *headLine) fields(name string, f Fields) {
	if f == nil {
		return
	}
	l.names = l.names[:0]
	for n := range f {
		l.names = append(l.names, n)
	}
	slices.Sort(l.names)
	l.name(name)
	l.dst = append(l.dst, '{')
	for i, n := range l.names {
		if i > 0 {
			l.dst = append(l.dst, ',')
		}
		l.string(n)
		l.dst = append(l.dst, ':', '[')
		for j, v := range f[n] {
			if j > 0 {
				l.dst = append(l.dst, ',')
			}
			l.string(v)
		}
		l.dst = append(l.dst, ']')
	}
	l.dst = append(l.dst, '}')
}

func (l *headLine) masked(masks []HeadMask) {
	if masks == nil {
		return
	}
	l.name("masked")
	l.dst = append(l.dst, '[')
	for i, m := range masks {
		if i > 0 {
			l.dst = append(l.dst, ',')
		}
		l.dst = append(l.dst, `{"in":`...)
		l.string(m.In)
		l.number("n", int64(m.N), false)
		l.number("off", m.Off, true)
		l.number("len", m.Len, true)
		l.text("mac", m.MAC, true)
		l.dst = append(l.dst, '}')
	}
	l.dst = append(l.dst, ']')
}

func (l *headLine) request(h *HTTPRequest) {
	l.number("conn", h.Conn, false)
	l.text("peer", h.Peer, false)
	l.text("method", h.Method, true)
	l.text("target", h.Target, true)
	l.text("proto", h.Proto, true)
	l.text("host", h.Host, true)
	l.fields("headers", h.Headers)
	l.fields("rawHeaders", h.RawHeaders)
	l.number("length", h.Length, true)
	l.fields("sent", h.Sent)
	l.masked(h.Masked)
	l.flag("end", h.End)
}

func (l *headLine) response(h *HTTPResponse) {
	l.number("status", int64(h.Status), true)
	l.text("reason", h.Reason, false)
	l.text("proto", h.Proto, false)
	l.fields("headers", h.Headers)
	l.fields("rawHeaders", h.RawHeaders)
	l.number("length", h.Length, true)
	l.fields("sent", h.Sent)
	l.masked(h.Masked)
	l.flag("end", h.End)
	l.flag("made", h.Made)
	l.text("why", h.Why, false)
	l.number("attempts", int64(h.Attempts), false)
}
