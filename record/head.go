package record

import (
	"encoding/base64"
	"maps"
	"mime"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record/mask"
)

// exchangeState is what the head of a request tells about its bodies.
type exchangeState struct {
	// form says that the request's body is a form; tokens that its answer may be
	// that of a token or registration endpoint.
	form, tokens bool
	// encoded has the directions whose body is compressed, so that no credential
	// can be looked for in it.
	encoded [2]bool
}

// prepare makes a body's state fit for what may be in it.
func (x *exchangeState) prepare(st *bodyState, from From) {
	switch {
	case x.encoded[min(index(from), 1)] && x.tokens:
		st.hidden = true
	case from == Client && x.form:
		st.fields = mask.NewForm()
	case x.tokens:
		st.fields = mask.NewJSON()
	}
}

// maskHead replaces the credentials of an HTTP head and returns the size in bytes
// that the record will have, about; 0: the record is no head.
func maskHead(m *mask.Masker, rec *Record) int {
	switch {
	case rec.Request != nil:
		h := *rec.Request
		rec.Request = &h
		h.Headers, h.RawHeaders, h.Masked = maskFields(m, h.Headers)
		h.Sent, _, _ = maskFields(m, h.Sent)
		if m != nil {
			var spans []mask.Span
			h.Target, spans = m.Target(h.Target)
			h.Masked = appendHeadMasks(h.Masked, "target", 0, spans)
		}
		if !utf8.ValidString(h.Target) {
			h.Target = strings.ToValidUTF8(h.Target, "\uFFFD") // net/http refuses such targets
		}
		return len(h.Target) + len(h.Host) + fieldsSize(h.Headers) + fieldsSize(h.RawHeaders) + 256
	case rec.Response != nil:
		h := *rec.Response
		rec.Response = &h
		h.Headers, h.RawHeaders, h.Masked = maskFields(m, h.Headers)
		h.Sent, _, _ = maskFields(m, h.Sent)
		if m != nil {
			h.Why = m.String(h.Why)
		}
		return len(h.Why) + fieldsSize(h.Headers) + fieldsSize(h.RawHeaders) + 256
	}
	return 0
}

// maskFields copies fields, those with a value that is no UTF-8 apart, with their
// credentials replaced.
func maskFields(m *mask.Masker, fields Fields) (clean, raw Fields, masked []HeadMask) {
	if len(fields) == 0 {
		return fields, nil, nil
	}
	clean = make(Fields, len(fields))
	for _, name := range sortedNames(fields) {
		values := append([]string(nil), fields[name]...)
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
	return clean, raw, masked
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
		for _, v := range values {
			n += len(name) + len(v) + 8
		}
	}
	return n
}

// head learns from a head what its bodies may hold. It sees heads in the order of
// the queue, before the bodies.
func (b *bodies) head(m *mask.Masker, rec *Record) {
	if m == nil {
		return
	}
	switch {
	case rec.Request != nil:
		h := rec.Request
		x := exchangeState{form: mediaType(h.Headers) == "application/x-www-form-urlencoded", tokens: mask.TokenEndpoint(h.Target)}
		x.tokens = x.tokens || x.form
		x.encoded[0] = encoded(h.Headers)
		if x.tokens {
			b.grip[rec.Exchange] = &x
		}
	case rec.Response != nil:
		if x := b.grip[rec.Exchange]; x != nil {
			x.encoded[1] = encoded(rec.Response.Headers)
		}
	}
}

func encoded(h Fields) bool {
	for _, v := range h["Content-Encoding"] {
		if v = textproto.TrimString(v); v != "" && !strings.EqualFold(v, "identity") {
			return true
		}
	}
	return false
}

func mediaType(h Fields) string {
	for _, v := range h["Content-Type"] {
		t, _, _ := mime.ParseMediaType(v)
		return t
	}
	return ""
}

func sortedNames(f Fields) []string { return slices.Sorted(maps.Keys(f)) }
