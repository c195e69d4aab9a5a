package proxy

import (
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record"
)

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAuthorities(t *testing.T) {
	far := func(t *testing.T) *authorities {
		return newAuthorities(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "http", mustURL(t, "https://mcp.example.com:443/mcp"), mustURL(t, "https://public.example"), []string{"friend.example", "other.example:99"})
	}
	near := func(t *testing.T) *authorities {
		return newAuthorities(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "http", mustURL(t, "http://localhost:9"), nil, nil)
	}
	type fields = record.Fields
	for _, c := range []struct {
		name    string
		of      func(*testing.T) *authorities
		host    string
		header  http.Header
		refused string
		want    mapped
	}{
		{"where it listens", far, "127.0.0.1:8080", nil, "", mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://127.0.0.1:8080"}},
		{"localhost, in capitals", far, "LocalHost:8080", nil, "", mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://LocalHost:8080"}},
		{"the other family", far, "[::1]:8080", nil, "", mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://[::1]:8080"}},
		{"another port", far, "localhost:8081", nil, "Host", mapped{host: "localhost:8081"}},
		{"no port", far, "localhost", nil, "Host", mapped{host: "localhost"}},
		{"public", far, "public.example", nil, "", mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "https://public.example"}},
		{"public with its port", far, "public.example:443", nil, "", mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "https://public.example:443"}},
		{"rebound name", far, "evil.example:8080", nil, "Host", mapped{host: "evil.example:8080"}},
		{"a name that begins like ours", far, "127.0.0.1:8080.evil.example", nil, "Host", mapped{host: "127.0.0.1:8080.evil.example"}},
		{"user in the name", far, "localhost:8080@evil.example", nil, "Host", mapped{host: "localhost:8080@evil.example"}},
		{"no host", far, "", nil, "Host", mapped{}},
		{"allowed name, any port", far, "friend.example:1", nil, "", mapped{host: "friend.example:1"}},
		{"allowed with its port", far, "other.example:99", nil, "", mapped{host: "other.example:99"}},
		{"allowed with another port", far, "other.example:98", nil, "Host", mapped{host: "other.example:98"}},
		{"own origin", far, "localhost:8080", http.Header{"Origin": {"http://localhost:8080"}, "Referer": {"http://localhost:8080/a?b"}}, "",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}, "Origin": {"https://mcp.example.com"}, "Referer": {"https://mcp.example.com/a?b"}}, "http://localhost:8080"}},
		{"public origin", far, "public.example", http.Header{"Origin": {"https://public.example"}}, "",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}, "Origin": {"https://mcp.example.com"}}, "https://public.example"}},
		{"our origin under another scheme", far, "localhost:8080", http.Header{"Origin": {"https://localhost:8080"}}, "Origin",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://localhost:8080"}},
		{"foreign origin", far, "localhost:8080", http.Header{"Origin": {"https://evil.example"}}, "Origin",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://localhost:8080"}},
		{"second of two origins", far, "localhost:8080", http.Header{"Origin": {"http://localhost:8080", "https://evil.example"}}, "Origin",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://localhost:8080"}},
		{"no origin in particular", far, "localhost:8080", http.Header{"Origin": {"null"}}, "Origin",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://localhost:8080"}},
		{"allowed origin", far, "localhost:8080", http.Header{"Origin": {"https://friend.example"}}, "",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://localhost:8080"}},
		{"foreign referer", far, "localhost:8080", http.Header{"Referer": {"http://localhost:8080.evil.example/"}}, "",
			mapped{"mcp.example.com", fields{"Host": {"mcp.example.com"}}, "http://localhost:8080"}},
		{"a local upstream checks for itself", near, "evil.example", http.Header{"Origin": {"https://evil.example"}}, "", mapped{host: "evil.example"}},
		{"and is named like itself", near, "127.0.0.1:8080", http.Header{"Origin": {"http://127.0.0.1:8080"}}, "",
			mapped{"localhost:9", fields{"Host": {"localhost:9"}, "Origin": {"http://localhost:9"}}, "http://127.0.0.1:8080"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, refused := c.of(t).request(c.host, c.header)
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(mapped{})); d != "" || refused != c.refused {
				t.Errorf("refused %q, want %q; -want +got:\n%s", refused, c.refused, d)
			}
		})
	}
}

// Behind a tunnel the public name is the upstream's own: nothing is mapped.
func TestAuthorityOfBoth(t *testing.T) {
	a := newAuthorities(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, "http", mustURL(t, "https://mcp.example.com"), mustURL(t, "https://mcp.example.com"), nil)
	m, refused := a.request("mcp.example.com", http.Header{"Origin": {"https://mcp.example.com"}})
	if refused != "" || m.sent != nil || m.host != "mcp.example.com" {
		t.Errorf("%+v, refused %q", m, refused)
	}
}

func TestWildcardListens(t *testing.T) {
	a := newAuthorities(&net.TCPAddr{IP: net.IPv6zero, Port: 8080}, "http", mustURL(t, "https://mcp.example.com"), nil, nil)
	for host, ok := range map[string]bool{"127.0.0.1:8080": true, "localhost:8080": true, "evil.example:8080": false} {
		if _, refused := a.request(host, nil); (refused == "") != ok {
			t.Errorf("%s: refused %q", host, refused)
		}
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"/", "*", "//", "//x?y", "/a%zz", "//a%2Fb", "http://h/x", "http://h?x", "h:1", "", "///", "/?", "//?"} {
		f.Add(s)
	}
	a := newAuthorities(&net.TCPAddr{Port: 1}, "http", &url.URL{Scheme: "http", Host: "up.example"}, nil, nil)
	f.Fuzz(func(t *testing.T, s string) {
		u, ok := a.target(s)
		if !ok {
			return
		}
		if u.Host != "up.example" || u.Scheme != "http" {
			t.Errorf("%q leads to %s://%s", s, u.Scheme, u.Host)
		}
		switch got := u.RequestURI(); {
		case s != "*" && (s == "" || s[0] != '/'): // absolute
			if got == "" || got[0] != '/' {
				t.Errorf("%q is sent as %q", s, got)
			}
		case got != s:
			t.Errorf("%q is sent as %q", s, got)
		}
	})
}

// Whatever a connection sends in whatever pieces, net/http gets it as it is, save
// for one escape in the path of a request line.
func FuzzRequestLine(f *testing.F) {
	f.Add([]byte("GET /a%zz HTTP/1.1\r\n"), 3, true)
	f.Add([]byte("GET /a%zz?%zz HTTP/1.1\n%zz"), 1, true)
	f.Add([]byte("POST /% HTTP/1.1\r\nA: %\r\n"), 100, false)
	f.Add([]byte("GET /a%zz HTTP/2\r\n"), 2, true)
	f.Add([]byte("{\"a\":\"%zz\"}"), 2, true)
	f.Fuzz(func(t *testing.T, in []byte, size int, first bool) {
		size = max(1, min(size, 4096))
		l := lineReader{}
		src := &pieces{in: in, size: size}
		if first {
			l.state(http.StateNew)
		}
		var out []byte
		p := make([]byte, max(2, size))
		for {
			n, err := l.read(p, src)
			out = append(out, p[:n]...)
			if err != nil {
				break
			}
		}
		want := string(in)
		if l.escaped != "" {
			if !first {
				t.Fatalf("%q was edited", in)
			}
			want = string((&lineReader{}).edit(in))
			escaped, sent := l.escaped, l.sent
			if escapePath(sent) != escaped || l.target(escaped) != sent || l.target(escaped) != escaped {
				t.Errorf("%q stands for %q", escaped, sent)
			}
		}
		if string(out) != want {
			t.Errorf("%q became %q, want %q", in, out, want)
		}
	})
}

// pieces are bytes that come a few at a time.
type pieces struct {
	in   []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.in) == 0 {
		return 0, net.ErrClosed
	}
	n := copy(b, p.in[:min(p.size, len(p.in))])
	p.in = p.in[n:]
	return n, nil
}

// While a handler runs, net/http reads one byte ahead.
func TestRequestLineAfterOneByte(t *testing.T) {
	const in = "GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n"
	src := &pieces{in: []byte(in), size: 1000}
	var l lineReader
	one := make([]byte, 1)
	if n, err := l.read(one, src); n != 1 || err != nil || one[0] != 'G' {
		t.Fatalf("%d, %v, %q", n, err, one)
	}
	l.state(http.StateIdle)
	p := make([]byte, 4096)
	n, err := l.read(p, src)
	if want := "ET /a%25zz HTTP/1.1\r\nHost: h\r\n\r\n"; string(p[:n]) != want || err != nil {
		t.Errorf("%q, %v", p[:n], err)
	}
	if got := l.target("/a%25zz"); got != "/a%zz" {
		t.Errorf("target %q", got)
	}
}
