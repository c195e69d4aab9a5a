package mask

import (
	"maps"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// Header replaces the credentials in the value of an HTTP header field. Which
// fields have some is DESIGN.md's list ("The recording"): Authorization,
// Proxy-Authorization, Cookie and Set-Cookie, fields named like API keys, the
// session id of MCP (recorder.md 2.15), credential-named parameters of URLs
// elsewhere, and what this masker looks for anyway.
func (m *Masker) Header(name, value string) (string, []Span) {
	e := edit{m: m, s: value}
	rule := ruleOf(name)
	if m.fields != nil && rule != ruleAuth && m.fields[strings.ToLower(name)] {
		at := schemeLen(value)
		e.mask(at, len(value), value[at:])
		return e.done()
	}
	switch rule {
	case ruleAll:
		e.mask(0, len(value), value)
	case ruleAuth:
		at := authStart(value)
		e.mask(at, len(value), value[at:])
	case ruleCookie, ruleSetCookie:
		e.cookies(rule == ruleSetCookie)
	case ruleURL:
		e.url(0, len(value))
	case ruleLink:
		e.links()
	case ruleStrong, ruleWeak:
		s := Strong
		if rule == ruleWeak {
			s = Weak
		}
		if at := schemeLen(value); accept(s, value[at:]) {
			e.mask(at, len(value), value[at:])
		}
	}
	return e.done()
}

// headerRule is what may be a credential in a header field.
type headerRule uint8

const (
	ruleNone headerRule = iota
	ruleAll             // all of the value
	ruleAuth            // what follows the scheme
	ruleCookie
	ruleSetCookie
	ruleURL    // parameters of the URL that the value is
	ruleLink   // those of the URLs in <>
	ruleStrong // the value, by the field's name
	ruleWeak   // the value, if it looks like one
)

// The rules of the names that were seen first. Judging a name takes a microsecond,
// and every request has a dozen; strangers choose names, so there is a bound.
const maxRules = 512

var (
	rules   atomic.Pointer[map[string]headerRule]
	rulesMu sync.Mutex // for those who add
)

func ruleOf(name string) headerRule {
	var known map[string]headerRule
	if p := rules.Load(); p != nil {
		known = *p
	}
	r, ok := known[name]
	if ok {
		return r
	}
	r = judgeField(strings.ToLower(name), name)
	if len(known) >= maxRules || len(name) > maxFieldName {
		return r
	}
	rulesMu.Lock()
	defer rulesMu.Unlock()
	next := map[string]headerRule{strings.Clone(name): r}
	if p := rules.Load(); p != nil {
		maps.Copy(next, *p)
	}
	rules.Store(&next)
	return r
}

func judgeField(lower, name string) headerRule {
	switch lower {
	case "mcp-session-id":
		return ruleAll
	case "authorization", "proxy-authorization":
		return ruleAuth
	case "cookie":
		return ruleCookie
	case "set-cookie":
		return ruleSetCookie
	case "location", "referer", "content-location", "refresh":
		return ruleURL
	case "link":
		return ruleLink
	// Keys that open nothing: they name a request, or entries of a cache.
	case "idempotency-key", "x-idempotency-key", "surrogate-key", "cache-key", "x-cache-key":
		return ruleNone
	}
	switch {
	// Sec-WebSocket-Key is a random number, the others are about the browser.
	case hasAnyPrefix(lower, "access-control-", "www-", "sec-"):
		return ruleNone
	case strings.HasSuffix(lower, "-url"), strings.HasSuffix(lower, "-uri"): // X-Original-Url, X-Forwarded-Uri
		return ruleURL
	}
	switch NameStrength(name) {
	case Strong:
		return ruleStrong
	case Weak:
		return ruleWeak
	}
	return ruleNone
}

// authStart is where the credentials begin in the value of an Authorization: behind
// the scheme, if there is one. A first word that no scheme looks like is a part of
// the credential.
func authStart(v string) int {
	i := strings.IndexAny(v, " \t")
	if i < 0 || !isScheme(v[:i]) {
		return 0
	}
	return i + len(v[i:]) - len(strings.TrimLeft(v[i:], " \t"))
}

// schemeMax is longer than every registered scheme of letters ("PrivateToken").
const schemeMax = 14

func isScheme(s string) bool {
	lower := strings.ToLower(s)
	if hasAnyPrefix(lower, "scram-sha-", "aws4-", "aws4_") {
		return true
	}
	return len(s) <= schemeMax && strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Target replaces the credential-named parameters of a request target, or of a
// URL, and the password in it.
func (m *Masker) Target(target string) (string, []Span) {
	e := edit{m: m, s: target}
	e.url(0, len(target))
	return e.done()
}

// Bytes replaces what this masker looks for anyway, and nothing else: in heads,
// what has no rule of its own.
func (m *Masker) Bytes(s string) (string, []Span) {
	e := edit{m: m, s: s}
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
// answer holds credentials: token, registration (and a registered client's own
// URL below it, RFC 7592), introspection, device authorization. Its query does not
// count.
func TokenEndpoint(target string) bool {
	path := target
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	path = strings.ToLower(strings.TrimRight(path, "/"))
	// The last two segments.
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		path = path[strings.LastIndexByte(path[:i], '/')+1:]
	}
	for _, w := range tokenWords {
		if strings.Contains(path, w) {
			return true
		}
	}
	return false
}

var tokenWords = []string{"token", "register", "registration", "introspect", "revoke", "device_authorization"}

// hashes are the hashes of the values that came last: a client sends the same
// token with every request, and a hash takes as long as all else of a head.
type hashes struct {
	mu sync.Mutex
	m  map[string]string
}

const (
	maxHashes    = 256
	maxHashValue = 2 << 10 // bytes; longer ones are not kept
)

// hash is the key's hash of value.
func (m *Masker) hash(value string) string {
	if len(value) > maxHashValue {
		return m.key.mac(value)
	}
	m.hashes.mu.Lock()
	mac, ok := m.hashes.m[value]
	m.hashes.mu.Unlock()
	if ok {
		return mac
	}
	mac = m.key.mac(value)
	m.hashes.mu.Lock()
	defer m.hashes.mu.Unlock()
	if len(m.hashes.m) >= maxHashes || m.hashes.m == nil {
		m.hashes.m = map[string]string{}
	}
	m.hashes.m[strings.Clone(value)] = mac
	return mac
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
	e.spans = append(e.spans, Span{int64(a), int64(b - a), e.m.hash(value)})
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

// links edits the URLs of a Link field, which stand in <>.
func (e *edit) links() {
	for at := 0; ; {
		i := strings.IndexByte(e.s[at:], '<')
		if i < 0 {
			return
		}
		from := at + i + 1
		to := len(e.s)
		if i := strings.IndexByte(e.s[from:], '>'); i >= 0 {
			to = from + i
		}
		e.url(from, to)
		at = to
	}
}

// url replaces the password and the credential-named parameters of the URL or
// request target s[from:to].
func (e *edit) url(from, to int) {
	query := from + indexAny(e.s[from:to], "?#")
	if i := strings.Index(e.s[from:query], "//"); i >= 0 {
		at := from + i + 2
		end := at + indexAny(e.s[at:query], "/")
		if i := strings.LastIndexByte(e.s[at:end], '@'); i >= 0 {
			info, start := e.s[at:at+i], at
			colon := strings.IndexByte(info, ':')
			if colon >= 0 {
				start, info = at+colon+1, info[colon+1:]
			}
			if colon >= 0 || isOpaque(info) && maskable(info) {
				e.mask(start, at+i, unescape(info))
			}
		}
	}
	params(e.s[query:to], 3, func(a, b int, v string) { e.mask(query+a, query+b, v) })
}

// indexAny is strings.IndexAny, but len(s) where there is none.
func indexAny(s, signs string) int {
	if i := strings.IndexAny(s, signs); i >= 0 {
		return i
	}
	return len(s)
}

// params finds the credential-named parameters of a query and a fragment, with
// the sign before the first. A URL that is the value of another parameter is
// looked into: as it stands, or, percent-encoded up to depth times, as a whole.
func params(s string, depth int, emit emitFunc) {
	const signs = "?&#;"
	for at := 0; at < len(s); {
		at++ // the sign
		end := at + indexAny(s[at:], signs)
		name, value, ok := strings.Cut(s[at:end], "=")
		if !ok {
			at = end
			continue
		}
		start := at + len(name) + 1
		if u, err := url.QueryUnescape(name); err == nil {
			name = u
		}
		// A credential may hold the signs that need not end it.
		long := start + indexAny(s[start:], "&#")
		if v := s[start:long]; secretParam(name, v) {
			start += schemeLen(strings.ReplaceAll(v, "+", " "))
			emit(start, long, unquery(s[start:long]))
			at = long
			continue
		}
		if depth > 0 && strings.Contains(value, "%") {
			inside := false
			u := unquery(value)
			if q := indexAny(u, "?#&"); q < len(u) {
				params(u[q:], depth-1, func(_, _ int, _ string) { inside = true })
			}
			if inside {
				emit(start, end, u)
			}
		}
		at = end
	}
}

// secretParam tells whether a parameter is a credential. Short values of names
// that are credentials in OAuth alone (code) are something else: code=404.
func secretParam(name, value string) bool {
	s := ParamStrength(name)
	return accept(s, value) && (len(value) >= minLen || NameStrength(name) != None)
}

// unquery undoes the encoding of queries and forms, so that a value has one hash
// however it was given.
func unquery(v string) string {
	if !strings.ContainsAny(v, "%+") {
		return v
	}
	if u, err := url.QueryUnescape(v); err == nil {
		return u
	}
	return v
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
