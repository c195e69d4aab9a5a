package record

import (
	"encoding/base64"
	"maps"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record/mask"
)

// class is what the heads of an exchange tell about the credentials in its bodies.
type class uint8

const (
	classForm   class = 1 << iota // the request's body is a form
	classTokens                   // the answer may be that of a token or registration endpoint, so the request may be one to it
	classFormed                   // the answer is a form
	// These bodies are compressed, so that no credential can be found in them.
	classPacked
	classPackedAnswer
	// The answer sends the browser to a URL with a credential in it, and its body,
	// for people to read, repeats that.
	classRedirect
)

// prepare makes a body's state fit for what may be in it.
func (c class) prepare(st *bodyState, from From) {
	packed, form := classPacked, classForm
	if from == Server {
		packed, form = classPackedAnswer, classFormed
	}
	switch {
	case from == Server && c&classRedirect != 0:
		st.hidden = true
	case c&classTokens == 0:
	case c&packed != 0:
		st.hidden = true
	case c&form != 0:
		st.fields = mask.NewForm()
	default:
		st.fields = mask.NewJSON()
	}
}

func classOf(h *HTTPRequest) (c class) {
	if isForm(h.Headers) {
		c = classForm | classTokens
	} else if mask.TokenEndpoint(h.Target) {
		c = classTokens
	}
	if c != 0 && packed(h.Headers) {
		c |= classPacked
	}
	return c
}

func answerClass(h *HTTPResponse) (c class) {
	if isForm(h.Headers) {
		c = classFormed
	}
	if packed(h.Headers) {
		c |= classPackedAnswer
	}
	if redirects(h) {
		c |= classRedirect
	}
	return c
}

// redirects tells whether a response has a Location with a credential in it.
func redirects(h *HTTPResponse) bool {
	return slices.ContainsFunc(h.Masked, func(m HeadMask) bool { return m.In == "Location" })
}

func packed(h Fields) bool {
	for _, v := range h["Content-Encoding"] {
		if v = textproto.TrimString(v); v != "" && !strings.EqualFold(v, "identity") {
			return true
		}
	}
	return false
}

func isForm(h Fields) bool {
	for _, v := range h["Content-Type"] {
		t, _, _ := strings.Cut(v, ";")
		if strings.EqualFold(textproto.TrimString(t), "application/x-www-form-urlencoded") {
			return true
		}
	}
	return false
}

// httpFrom tells whether a record is of HTTP, which may be lost when the queue is
// full, and the direction in which a gap counts it.
func httpFrom(r *Record) (From, bool) {
	switch {
	case r.Request != nil:
		return Client, true
	case r.Response != nil:
		return Server, true
	case r.Exchange == 0 && (r.Close == nil || r.Close.What != Connection):
		return "", false
	case r.From != "":
		return r.From, true
	case r.Close != nil && (r.Close.What == RequestBody || r.Close.What == Connection && r.Close.Who == ByClient):
		return Client, true
	}
	return Server, true
}

// recordCost is what a record takes in memory, about, beside its texts.
const recordCost = 512

// maskHead replaces the credentials of an HTTP head, in a copy, and returns the
// size in bytes that the record will have, about.
func maskHead(m *mask.Masker, rec *Record) int {
	clear := func(s string) string {
		if m != nil {
			s = m.String(s)
		}
		return s
	}
	switch {
	case rec.Request != nil:
		h := *rec.Request
		rec.Request, rec.From = &h, Client
		h.Headers, h.RawHeaders, h.Masked = maskFields(m, h.Headers)
		h.Sent = maskLoose(m, h.Sent)
		h.Method = clear(h.Method)
		if m != nil {
			var spans []mask.Span
			h.Target, spans = m.Target(h.Target)
			h.Masked = appendHeadMasks(h.Masked, "target", 0, spans)
			h.Host, spans = m.Bytes(h.Host)
			h.Masked = appendHeadMasks(h.Masked, "Host", 0, spans)
		}
		// net/http refuses such targets and hosts.
		h.Target, h.Host = strings.ToValidUTF8(h.Target, "\uFFFD"), strings.ToValidUTF8(h.Host, "\uFFFD")
		return len(h.Target) + len(h.Host) + fieldsSize(h.Headers) + fieldsSize(h.RawHeaders) + fieldsSize(h.Sent) + recordCost
	case rec.Response != nil:
		h := *rec.Response
		rec.Response, rec.From = &h, Server
		h.Headers, h.RawHeaders, h.Masked = maskFields(m, h.Headers)
		h.Sent = maskLoose(m, h.Sent)
		h.Why, h.Reason = clear(h.Why), clear(h.Reason)
		return len(h.Why) + len(h.Reason) + fieldsSize(h.Headers) + fieldsSize(h.RawHeaders) + fieldsSize(h.Sent) + recordCost
	}
	return recordCost
}

// maskFields copies fields, those with a value that is no UTF-8 apart, with their
// credentials replaced.
func maskFields(m *mask.Masker, fields Fields) (clean, raw Fields, masked []HeadMask) {
	if len(fields) == 0 {
		return nil, nil, nil
	}
	clean = make(Fields, len(fields))
	n := 0
	for _, values := range fields {
		n += len(values)
	}
	all := make([]string, 0, n) // one array for all of them
	for name, values := range fields {
		at := len(all)
		all = append(all, values...)
		values = all[at:len(all):len(all)]
		odd := false
		for i, v := range values {
			if m != nil {
				var spans []mask.Span
				values[i], spans = m.Header(name, v)
				masked = appendHeadMasks(masked, name, i, spans)
			}
			odd = odd || !utf8.ValidString(values[i])
		}
		if !odd {
			clean[name] = values
			continue
		}
		for i, v := range values {
			values[i] = base64.StdEncoding.EncodeToString([]byte(v))
		}
		if raw == nil {
			raw = Fields{}
		}
		raw[name] = values
	}
	if len(masked) > 1 {
		slices.SortStableFunc(masked, func(a, b HeadMask) int { return strings.Compare(a.In, b.In) })
	}
	return clean, raw, masked
}

// maskLoose is maskFields for fields whose replaced credentials are not listed.
// What is no UTF-8 in them is not kept.
func maskLoose(m *mask.Masker, fields Fields) Fields {
	out := maps.Clone(fields)
	for name, values := range out {
		values = slices.Clone(values)
		if values == nil {
			values = []string{} // left out; null would be nothing
		}
		for i, v := range values {
			if m != nil {
				v, _ = m.Header(name, v)
			}
			values[i] = strings.ToValidUTF8(v, "\uFFFD")
		}
		out[name] = values
	}
	return out
}

func appendHeadMasks(masked []HeadMask, in string, n int, spans []mask.Span) []HeadMask {
	for _, s := range spans {
		masked = append(masked, HeadMask{In: in, N: n, Off: s.Off, Len: s.Len, MAC: s.MAC})
	}
	return masked
}

func fieldsSize(f Fields) int {
	n := 0
	for name, values := range f {
		n += len(name) + 32
		for _, v := range values {
			n += len(v) + 16
		}
	}
	return n
}

// extraOf copies what few pieces of bodies have, with credentials replaced, and
// tells its size in bytes, about.
func extraOf(m *mask.Masker, b *Body) (x *bodyExtra, size int) {
	if len(b.Trailers) == 0 && len(b.Patch) == 0 {
		return nil, 0
	}
	x = &bodyExtra{trailers: maskLoose(m, b.Trailers), patch: slices.Clone(b.Patch)}
	size = fieldsSize(x.trailers)
	for i := range x.patch {
		p := &x.patch[i]
		if m != nil {
			p.Text, _ = m.Bytes(p.Text)
		}
		size += len(p.Text) + 64
	}
	return x, size
}
