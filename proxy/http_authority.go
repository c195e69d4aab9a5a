package proxy

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sixlink/sixlink/record"
)

// authorities maps what clients call us to what the upstream calls itself, and
// knows what is refused (recorder.md 4.1): a page that a browser loaded from
// anywhere must not reach a server through a proxy on localhost.
type authorities struct {
	scheme string // of what we serve: http or https
	listen map[string]bool
	public string // canonical authority of --public-url; "" without
	pubSch string // its scheme
	allow  map[string]bool
	// local says that the upstream is on loopback: it has a check of its own, and
	// gets what is not ours unchanged.
	local    bool
	upstream *url.URL
	upHost   string // the upstream's authority, without a default port
	upOrigin string
}

func newAuthorities(addr net.Addr, scheme string, upstream, public *url.URL, allow []string) *authorities {
	a := &authorities{scheme: scheme, upstream: upstream, upHost: bareAuthority(upstream.Scheme, upstream.Host), listen: map[string]bool{}, allow: map[string]bool{}}
	a.upOrigin = upstream.Scheme + "://" + a.upHost
	a.local = loopback(upstream.Hostname())
	for _, h := range ownHosts(addr) {
		a.listen[h] = true
	}
	if public != nil {
		a.public, a.pubSch = canonical(public.Scheme, public.Host), public.Scheme
	}
	for _, h := range allow {
		a.allow[strings.ToLower(h)] = true
	}
	return a
}

// ownHosts are the authorities of an address that we listen on: itself, the names
// of loopback where it is that, and every address of the machine where it is a
// wildcard.
func ownHosts(addr net.Addr) []string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return nil
	}
	port := portOf(ap)
	out := []string{}
	add := func(ip netip.Addr) { out = append(out, net.JoinHostPort(ip.Unmap().WithZone("").String(), port)) }
	add(ap.Addr())
	if ip := ap.Addr().Unmap(); ip.IsUnspecified() {
		ifs, _ := net.InterfaceAddrs()
		for _, i := range ifs {
			if p, err := netip.ParsePrefix(i.String()); err == nil {
				add(p.Addr())
			}
		}
	} else if !ip.IsLoopback() {
		return out
	}
	return append(out, "localhost:"+port, "127.0.0.1:"+port, "[::1]:"+port)
}

func portOf(ap netip.AddrPort) string {
	_, port, _ := net.SplitHostPort(ap.String())
	return port
}

// loopback tells whether a host name is this machine by itself.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

var defaultPort = map[string]string{"http": "80", "https": "443"}

// canonical is an authority in lower case with its port.
func canonical(scheme, authority string) string {
	authority = strings.ToLower(authority)
	if _, _, err := net.SplitHostPort(authority); err != nil {
		authority = net.JoinHostPort(strings.Trim(authority, "[]"), defaultPort[strings.ToLower(scheme)])
	}
	return authority
}

// bareAuthority is an authority without the port that its scheme has anyway, as
// clients send it.
func bareAuthority(scheme, authority string) string {
	if host, port, err := net.SplitHostPort(authority); err == nil && port == defaultPort[scheme] {
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return authority
}

// own tells whether an authority is ours, and under which scheme it is reached.
func (a *authorities) own(authority string) (scheme string, ok bool) {
	if authority == "" {
		return "", false
	}
	if a.public != "" && canonical(a.pubSch, authority) == a.public {
		return a.pubSch, true
	}
	return a.scheme, a.listen[canonical(a.scheme, authority)]
}

// ownOrigin is own for scheme://authority.
func (a *authorities) ownOrigin(scheme, authority string) bool {
	scheme = strings.ToLower(scheme)
	return a.public != "" && scheme == a.pubSch && canonical(scheme, authority) == a.public ||
		scheme == a.scheme && a.listen[canonical(scheme, authority)]
}

// allowed tells whether an authority that is not ours is passed on unchanged.
func (a *authorities) allowed(scheme, authority string) bool {
	if a.local {
		return true
	}
	authority = strings.ToLower(authority)
	if a.allow[authority] || scheme != "" && a.allow[canonical(scheme, authority)] {
		return true
	}
	host, _, err := net.SplitHostPort(authority)
	return err == nil && a.allow[host]
}

// mapped is what the upstream gets in the place of what the client sent.
type mapped struct {
	host string        // the Host to send
	sent record.Fields // fields with other values, Host among them; nil: none
	own  string        // scheme://authority by which the client reached us; "" if by another's name
}

// request maps a request's Host, Origin and Referer. refused is the name of the
// field that forbids to pass it on, or empty.
func (a *authorities) request(host string, header map[string][]string) (m mapped, refused string) {
	set := func(name string, values []string) {
		if m.sent == nil {
			m.sent = record.Fields{}
		}
		m.sent[name] = values
	}
	m.host = host
	if scheme, ok := a.own(host); ok {
		m.own = scheme + "://" + host
		if m.host = a.upHost; m.host != host {
			set("Host", []string{m.host})
		}
	} else if !a.allowed(a.scheme, host) {
		return m, "Host"
	}
	for _, o := range header["Origin"] {
		if scheme, authority, _ := strings.Cut(o, "://"); !a.ownOrigin(scheme, authority) && !a.allowed(scheme, authority) {
			return m, "Origin"
		}
	}
	for _, name := range []string{"Origin", "Referer"} {
		if values, changed := a.values(header[name]); changed {
			set(name, values)
		}
	}
	return m, ""
}

// values maps URLs that begin with an origin of ours.
func (a *authorities) values(in []string) (out []string, changed bool) {
	for i, v := range in {
		scheme, rest, ok := strings.Cut(v, "://")
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		if !ok || !a.ownOrigin(scheme, rest[:end]) || scheme+"://"+rest[:end] == a.upOrigin {
			continue
		}
		if !changed {
			out, changed = append([]string(nil), in...), true
		}
		out[i] = a.upOrigin + rest[end:]
	}
	return out, changed
}

// target is the URL that makes net/http send exactly this request target to the
// upstream, whatever it looks like; ok is false where there is none.
func (a *authorities) target(t string) (u *url.URL, ok bool) {
	u = &url.URL{Scheme: a.upstream.Scheme, Host: a.upstream.Host}
	if t == "*" {
		u.Opaque = t
		return u, true
	}
	if !strings.HasPrefix(t, "/") {
		// Absolute form: it stays on the upstream, whatever it names.
		_, rest, found := strings.Cut(t, "://")
		if !found {
			return nil, false
		}
		i := strings.IndexAny(rest, "/?")
		switch {
		case i < 0:
			t = "/"
		case rest[i] == '?':
			t = "/" + rest[i:]
		default:
			t = rest[i:]
		}
	}
	if !strings.HasPrefix(t, "//") {
		u.Opaque = t // query and all: not a byte is looked at
		return u, true
	}
	// Of an opaque URL that begins with // net/http would make an absolute one.
	path, query, has := strings.Cut(t, "?")
	p, err := url.PathUnescape(path)
	if err != nil {
		return nil, false
	}
	u.Path, u.RawPath, u.RawQuery, u.ForceQuery = p, path, query, has
	return u, u.RequestURI() == t
}
