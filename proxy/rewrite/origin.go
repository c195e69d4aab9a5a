package rewrite

import (
	"net/netip"
	"strconv"
	"strings"
)

// origin is the scheme and authority of a URL in a form that can be compared.
type origin struct {
	scheme, host string
	port         int
}

// splitOrigin gives the origin that s begins with and how many bytes it has
// there; 0: s begins with none. A URL with user information has an origin, but
// none that anybody would compare with: it is none here, and so left alone.
func splitOrigin(s string) (origin, int) {
	i := strings.Index(s, "://")
	if i <= 0 || !isScheme(s[:i]) {
		return origin{}, 0
	}
	at := i + len("://")
	end := len(s)
	if j := strings.IndexFunc(s[at:], endsAuthority); j >= 0 {
		end = at + j
	}
	o := origin{scheme: strings.ToLower(s[:i])}
	host, port := s[at:end], ""
	if j := strings.LastIndexByte(host, ':'); j >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:j], host[j+1:]
	}
	if o.port = defaultPort(o.scheme); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return origin{}, 0
		}
		o.port = int(n)
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		a, err := netip.ParseAddr(host[1 : len(host)-1])
		if err != nil {
			return origin{}, 0
		}
		host = a.String()
	} else if host == "" || strings.ContainsAny(host, "@:[]") {
		return origin{}, 0
	}
	o.host = strings.ToLower(host)
	return o, end
}

// endsAuthority: what may follow an authority, and what no authority has in it. A
// backslash is a slash to the URL parsers of browsers and Node.
func endsAuthority(c rune) bool {
	return c <= ' ' || strings.ContainsRune(`/\?#"<>`, c)
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (s[i] >= '0' && s[i] <= '9' || strings.IndexByte("+-.", s[i]) >= 0):
		default:
			return false
		}
	}
	return s != ""
}

func defaultPort(scheme string) int {
	switch scheme {
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	}
	return 0
}

// rule says which origin becomes which.
type rule struct {
	from origin
	to   string // as scheme://authority
}

// newRule is nil when there is nothing to do: one of the two is no origin, or they
// are the same, which is so where sixlink stands behind a tunnel with the public
// name.
func newRule(own, upstream string) *rule {
	from, n := splitOrigin(upstream)
	to, m := splitOrigin(own)
	if n == 0 || m == 0 || from == to {
		return nil
	}
	return &rule{from: from, to: own[:m]}
}

// match is how many bytes at the beginning of s are the upstream's origin.
func (r *rule) match(s string) int {
	if o, n := splitOrigin(s); n > 0 && o == r.from {
		return n
	}
	return 0
}
