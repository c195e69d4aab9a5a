package mask

import (
	"strings"
)

// Header replaces the credentials in the value of an HTTP header field. Which
// fields have some is DESIGN.md's list ("The recording"): Authorization,
// Proxy-Authorization, Cookie and Set-Cookie, fields named like API keys, the
// session id of MCP (recorder.md 2.15), credential-named parameters of URLs
// elsewhere, and what this masker looks for anyway.
func (m *Masker) Header(name, value string) (string, []Span) {
	e := edit{m: m, s: value}
	switch lower := strings.ToLower(name); {
	case m.fields[lower]:
		at := schemeLen(value)
		e.mask(at, len(value), value[at:])
	case lower == "mcp-session-id":
		e.mask(0, len(value), value)
	case lower == "cookie":
		e.cookies(false)
	case lower == "set-cookie":
		e.cookies(true)
	case lower == "authorization" || lower == "proxy-authorization":
		at := strings.IndexByte(value, ' ') + 1
		for at < len(value) && value[at] == ' ' {
			at++
		}
		e.mask(at, len(value), value[at:])
	case strings.HasPrefix(lower, "access-control-") || strings.HasPrefix(lower, "www-"):
	case lower == "location" || lower == "referer" || lower == "content-location" || lower == "link":
		e.url()
	default:
		at := schemeLen(value)
		if s := NameStrength(name); accept(s, value[at:]) {
			e.mask(at, len(value), value[at:])
		}
	}
	return e.done()
}

// Target replaces the credential-named parameters of a request target.
func (m *Masker) Target(target string) (string, []Span) {
	e := edit{m: m, s: target}
	e.url()
	return e.done()
}

// All replaces all of p: where a credential is known to be in it and cannot be
// found, as in a compressed token answer.
func (m *Masker) All(p []byte, spans []Span) []Span {
	if len(p) == 0 {
		return spans
	}
	mac := m.key.mac(string(p))
	for i := range p {
		p[i] = filler
	}
	return append(spans, Span{0, int64(len(p)), mac})
}

// TokenEndpoint tells whether a request target looks like an OAuth endpoint whose
// answer holds credentials: token, registration, introspection, device
// authorization. Its query does not count.
func TokenEndpoint(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	last := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	if last == "" {
		return false
	}
	for _, w := range []string{"token", "register", "registration", "introspect", "revoke", "device_authorization"} {
		if strings.Contains(last, w) {
			return true
		}
	}
	return false
}

// edit replaces parts of a string.
type edit struct {
	m     *Masker
	s     string
	out   []byte
	spans []Span
}

// mask replaces s[a:b]; value is what its hash is made of.
func (e *edit) mask(a, b int, value string) {
	if a >= b {
		return
	}
	if e.out == nil {
		e.out = []byte(e.s)
	}
	for i := a; i < b; i++ {
		e.out[i] = filler
	}
	e.spans = append(e.spans, Span{int64(a), int64(b - a), e.m.key.mac(value)})
}

// cookies replaces the values of cookies; of Set-Cookie only the first pair is one.
func (e *edit) cookies(set bool) {
	for at := 0; at < len(e.s); {
		end := len(e.s)
		if i := strings.IndexByte(e.s[at:], ';'); i >= 0 {
			end = at + i
		}
		from := at
		if eq := strings.IndexByte(e.s[at:end], '='); eq >= 0 {
			from = at + eq + 1
		}
		v := strings.Trim(e.s[from:end], " ")
		if v != "" {
			from += strings.Index(e.s[from:end], v)
			e.mask(from, from+len(v), v)
		}
		if set {
			return
		}
		at = end + 1
	}
}

// url replaces the password and the credential-named parameters of a URL or a
// request target.
func (e *edit) url() {
	emit := func(a, b int, v string) {
		if a < b {
			e.mask(a, b, v)
		}
	}
	if at := strings.Index(e.s, "://"); at >= 0 {
		inURL(e.s, at+3, emit)
	} else if i := strings.IndexAny(e.s, "?#"); i >= 0 {
		inPairs(e.s, i+1, true, emit)
	}
}

// done also replaces what the masker looks for anywhere.
func (e *edit) done() (string, []Span) {
	if e.m.Empty() {
		if e.out == nil {
			return e.s, nil
		}
		return string(e.out), e.spans
	}
	p := e.out
	if p == nil {
		p = []byte(e.s)
	}
	spans := e.m.Mask(p, e.spans)
	if len(spans) == 0 {
		return e.s, nil
	}
	return string(p), Sorted(spans)
}
