//go:build unix

package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record"
)

// withHost puts the address that a client dials into a request, as a client does.
func withHost(request, addr string) string { return strings.ReplaceAll(request, "HOST", addr) }

// The requests and responses of the transparency tables. "\n" stands for CR LF
// in heads, HOST for the address that was dialled.
func crlf(head string) string { return strings.ReplaceAll(head, "\n", "\r\n") }

func get(target string, fields ...string) string {
	return crlf("GET " + target + " HTTP/1.1\nHost: HOST\n" + strings.Join(append(fields, "\n"), "\n"))
}

const accept = "User-Agent: table/1"

// requests pass byte for byte, but for what belongs to a connection.
var requests = map[string]string{
	"plain":                              get("/mcp", accept),
	"query that no parser takes":         get("/mcp?a=1;b=%zz&c=%&&=?x%20+y#f", accept),
	"empty query":                        get("/mcp?", accept),
	"path with a broken escape":          get("/a%zz", accept),
	"path with a cut escape":             get("/a%2", accept),
	"path with a broken escape, a query": get("/%/%x?%y=%", accept),
	"path with dots and escapes":         get("/a/../b/./%2F%2f//c//", accept),
	"path of two slashes":                get("//x", accept),
	"path of two slashes and a query":    get("//x/%2F?a=%zz", accept),
	"path with odd characters":           get("/a|b^c{d}`\"<>[]\\", accept),
	"path of no ASCII":                   get("/\xc3\xa9\xff", accept),
	"path with a colon":                  get("/a:b@c;d=e,f", accept),
	"options of the server":              crlf("OPTIONS * HTTP/1.1\nHost: HOST\nUser-Agent: table/1\n\n"),
	"preflight":                          crlf("OPTIONS /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nAccess-Control-Request-Method: POST\n\n"),
	"no user agent":                      get("/mcp"),
	"no encodings":                       get("/mcp", accept, "Accept: text/event-stream"),
	"encodings":                          get("/mcp", accept, "Accept-Encoding: gzip;q=0, br, zstd"),
	"somebody else's forwarding": get("/mcp", accept, "Forwarded: for=192.0.2.1;proto=https", "X-Forwarded-For: 192.0.2.1, 192.0.2.2",
		"X-Forwarded-For: 192.0.2.3", "X-Forwarded-Host: mcp.example.test", "X-Forwarded-Proto: https", "X-Real-Ip: 192.0.2.1", "Via: 1.1 x"),
	"fields more than once":     get("/mcp", accept, "X-A: 2", "X-A: 1", "X-A:", "Cookie: a=1", "Mcp-Param-X: =?base64?eA==?="),
	"fields with odd values":    get("/mcp", accept, "X-A: \xc3\xa9 \xff\t, ;\"", "X_under: 1", "X-Empty:"),
	"post":                      crlf("POST /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nContent-Type: application/json\nContent-Length: 8\n\n") + "{\"a\":\r1}",
	"post without a body":       crlf("POST /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nContent-Length: 0\n\n"),
	"post in chunks":            crlf("POST /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nTransfer-Encoding: chunked\n\n3\nabc\n2;x=y\nde\n0\n\n"),
	"post of nothing in chunks": crlf("POST /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nTransfer-Encoding: chunked\n\n0\n\n"),
	"trailers":                  crlf("POST /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nTrailer: X-Sum\nTransfer-Encoding: chunked\n\n3\nabc\n0\nX-Sum: 7\n\n"),
	"trailers nobody announced": crlf("POST /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nTransfer-Encoding: chunked\n\n3\nabc\n0\nX-Sum: 7\nX-Sum: 8\n\n"),
	"get with a body":           crlf("GET /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nContent-Length: 3\n\nabc"),
	"delete":                    crlf("DELETE /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nMcp-Session-Id: s\n\n"),
	"a method nobody knows":     crlf("PROPFIND-X /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\n\n"),
	"post of 3 MiB":             crlf("POST /mcp HTTP/1.1\nHost: HOST\nUser-Agent: table/1\nContent-Length: 3145728\n\n") + strings.Repeat("0123456789abcde\n", 3<<16),
	"own origin":                get("/mcp", accept, "Origin: null", "Referer: http://elsewhere.example/x"),
}

func TestRequestsPassUnchanged(t *testing.T) {
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool {
				io.WriteString(c, crlf("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"))
				return true
			})
			s := serve(t, o.url)
			addr := strings.TrimPrefix(o.url, "http://")
			direct := ask(t, addr, withHost(request, addr))
			proxied := ask(t, s.addr, withHost(request, s.addr))
			if direct.First != "HTTP/1.1 200 OK" {
				t.Fatalf("the origin says %+v", direct)
			}
			if d := cmp.Diff(direct, proxied); d != "" {
				t.Errorf("the response, -direct +proxied:\n%s", d)
			}
			got := o.requests()
			if len(got) != 2 {
				t.Fatalf("the origin got %d requests", len(got))
			}
			if d := cmp.Diff(got[0], got[1]); d != "" {
				t.Errorf("the request, -direct +proxied:\n%s", d)
			}
			records := s.tape.await(1)
			if b := body(records, 1, record.Client); b != got[0].Body {
				t.Errorf("recorded a body of %d bytes, want %d", len(b), len(got[0].Body))
			}
			h := records[0].Request
			if _, rest, _ := strings.Cut(request, " "); !strings.HasPrefix(rest, h.Target+" HTTP/1.1\r\n") {
				t.Errorf("recorded the target %q of %q", h.Target, request)
			}
			if h.Host != s.addr || !slices.Equal(h.Sent["Host"], []string{addr}) {
				t.Errorf("host %q, sent %q", h.Host, h.Sent)
			}
		})
	}
}

// binary is no text, and no gzip either.
var binary = "\x1f\x8b\x08\x00" + strings.Repeat("\x00\xff\xfe\r\n0\r\n\r\n", 5000)

var responses = map[string]string{
	"json":                     crlf("HTTP/1.1 200 OK\nContent-Type: application/json\nDate: Mon, 02 Jan 2006 15:04:05 GMT\nContent-Length: 7\n\n{\"a\":1}"),
	"reason of its own":        crlf("HTTP/1.1 200 Everything is Fine, indeed\nContent-Length: 2\n\nok"),
	"reason that is odd":       crlf("HTTP/1.1 404 \xc3\xa9 404  \nContent-Length: 0\n\n"),
	"no reason":                crlf("HTTP/1.1 200 \nContent-Length: 2\n\nok"),
	"a status nobody knows":    crlf("HTTP/1.1 299 \nContent-Length: 2\n\nok"),
	"another one with reason":  crlf("HTTP/1.1 599 Why\nContent-Length: 2\n\nok"),
	"no date, no type":         crlf("HTTP/1.1 200 OK\nContent-Length: 14\n\n<html>ok</html"),
	"no type in chunks":        crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\ne\n<html>ok</html\n0\n\n"),
	"encoded":                  crlf("HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Encoding: gzip\nContent-Length: "+"55004\n\n") + binary,
	"fields more than once":    crlf("HTTP/1.1 401 Unauthorized\nWww-Authenticate: Bearer realm=\"a, b\"\nWww-Authenticate: Basic\nSet-Cookie: a=1\nSet-Cookie: b=2; HttpOnly\nX-E:\nContent-Length: 0\n\n"),
	"fields of one connection": crlf("HTTP/1.1 200 OK\nConnection: close, X-Hop\nKeep-Alive: timeout=5\nX-Hop: 1\nX-End: 1\nContent-Length: 2\n\nok"),
	"chunks":                   crlf("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\n6\ndata: \n2\n\n\n0\n\n"),
	"nothing in chunks":        crlf("HTTP/1.1 202 Accepted\nTransfer-Encoding: chunked\n\n0\n\n"),
	"nothing":                  crlf("HTTP/1.1 202 Accepted\nContent-Length: 0\n\n"),
	"until the end":            crlf("HTTP/1.1 200 OK\nContent-Type: text/plain\n\n") + "all of it\r\n",
	"nothing until the end":    crlf("HTTP/1.1 200 OK\nContent-Type: text/plain\n\n"),
	"trailers":                 crlf("HTTP/1.1 200 OK\nTrailer: X-Sum\nTransfer-Encoding: chunked\n\n2\nok\n0\nX-Sum: 7\n\n"),
	"trailers unannounced":     crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n0\nX-Sum: 7\n\n"),
	"no content":               crlf("HTTP/1.1 204 No Content\nX-A: 1\n\n"),
	"not modified":             crlf("HTTP/1.1 304 Not Modified\nEtag: \"1\"\n\n"),
	"redirect":                 crlf("HTTP/1.1 307 Temporary Redirect\nLocation: https://elsewhere.example/x\nContent-Length: 0\n\n"),
	"interim":                  crlf("HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 103 Early Hints\nLink: </b>\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
	"cut in its length":        crlf("HTTP/1.1 200 OK\nContent-Length: 10\n\nok"),
	"trailers of nothing":      crlf("HTTP/1.1 200 OK\nTrailer: X-Sum\nTransfer-Encoding: chunked\n\n0\nX-Sum: 0\n\n"),
	"unannounced of nothing":   crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0\nX-Sum: 0\n\n"),
	"cut behind the head":      crlf("HTTP/1.1 200 OK\nContent-Length: 10\n\n"),
	"cut before a chunk":       crlf("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\n"),
	"cut in a chunk":           crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nab"),
	"cut between chunks":       crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nab\n"),
	"events with every ending": crlf("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\n") +
		chunked(": c\n\n", "id: 1\r\ndata: x\r\rdata:\xff\n", "\r\n") + lastChunk,
}

func TestResponsesPassUnchanged(t *testing.T) {
	for name, response := range responses {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if method == "HEAD" && strings.Contains(response, "chunked\r\n\r\n") && !strings.HasSuffix(name, "chunks") {
				continue // one is enough
			}
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				r := response
				if method == "HEAD" {
					head, _, _ := strings.Cut(r[strings.LastIndex(r, "HTTP/1.1"):], "\r\n\r\n")
					r = head + "\r\n\r\n"
				}
				o := says(t, r)
				s := serve(t, o.url)
				request := get("/mcp", accept)
				if method == "POST" {
					request = get("/mcp", accept, "Content-Length: 3") + "abc"
				}
				request = method + strings.TrimPrefix(request, "GET")
				addr := strings.TrimPrefix(o.url, "http://")
				direct := ask(t, addr, withHost(request, addr))
				proxied := ask(t, s.addr, withHost(request, s.addr))
				if d := cmp.Diff(direct, proxied); d != "" {
					t.Errorf("-direct +proxied:\n%s", d)
				}
				records := s.tape.await(1)
				if b := body(records, 1, record.Server); b != direct.Body {
					t.Errorf("recorded a body of %d bytes, want %d", len(b), len(direct.Body))
				}
				var heads []*record.HTTPResponse
				for _, r := range records {
					if r.Response != nil {
						heads = append(heads, r.Response)
					}
				}
				if len(heads) != 1+len(direct.Interim) {
					t.Fatalf("%d heads recorded", len(heads))
				}
				last := heads[len(heads)-1]
				if _, rest, _ := strings.Cut(direct.First, " "); rest[4:] != last.Reason || last.Made || last.Proto != "HTTP/1.1" {
					t.Errorf("recorded %+v of %q", last, direct.First)
				}
				cut := slices.Equal(closes(records), []string{"server response"})
				if cut != (direct.End == "cut") {
					t.Errorf("closes %q of a response that is %s", closes(records), direct.End)
				}
			})
		}
	}
}

// Fields of a connection end there, in both directions.
func TestFieldsOfOneConnection(t *testing.T) {
	o := says(t, crlf("HTTP/1.1 200 OK\nConnection: X-Hop\nKeep-Alive: timeout=5\nX-Hop: 1\nX-End: 1\nContent-Length: 2\n\nok"))
	s := serve(t, o.url)
	c := dial(t, s.addr)
	r := bufio.NewReader(c)
	for i := range 2 { // the client's connection stays, whatever the upstream does with its own
		io.WriteString(c, withHost(get("/mcp", "Connection: keep-alive, X-Hop", "Keep-Alive: timeout=5", "X-Hop: 1", "Proxy-Connection: close", "X-End: 1"), s.addr))
		m, err := readMessage(r, "GET")
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"content-length: 2", "x-end: 1"}; !slices.Equal(m.Fields, want) {
			t.Errorf("answer %d has %q", i, m.Fields)
		}
	}
	for _, m := range o.requests() {
		if want := []string{"host: " + strings.TrimPrefix(o.url, "http://"), "x-end: 1"}; !slices.Equal(m.Fields, want) {
			t.Errorf("the origin got %q", m.Fields)
		}
	}
	h := s.tape.await(2)[0].Request
	if h.Headers["X-Hop"] == nil || h.Headers["Connection"] == nil {
		t.Errorf("recorded %q: they were sent", h.Headers)
	}
}

// Requests follow each other on one connection, each before net/http has done with
// the one before: the line of none is lost or mixed up.
func TestManyRequestsOnOneConnection(t *testing.T) {
	o := answers(t, func(c net.Conn, _ *bufio.Reader, m message) bool {
		target := strings.Fields(m.First)[1]
		fmt.Fprintf(c, "HTTP/1.1 200 For %s\r\nContent-Length: %d\r\n\r\n%s%s", target, len(target)+len(m.Body), target, m.Body)
		return true
	})
	s := serve(t, o.url)
	c := dial(t, s.addr)
	r := bufio.NewReader(c)
	for i := range 300 {
		target, body := fmt.Sprintf("/%d%%zz%%2?%%", i), strings.Repeat("GET /%zz HTTP/1.1\r\n", i%3)
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", target, s.addr, len(body), body)
		m, err := readMessage(r, "POST")
		if err != nil || m.Body != target+body || m.First != "HTTP/1.1 200 For "+target {
			t.Fatalf("%q: %+v, %v", target, m, err)
		}
	}
	for i, r := range s.tape.await(300) {
		if r.Request != nil && !strings.HasSuffix(r.Request.Target, "%zz%2?%") {
			t.Errorf("record %d: target %q", i, r.Request.Target)
		}
	}
	// And several at once. Only the first of them may have a broken escape: lines that
	// come behind another request are not looked at (FORMAT.md 10).
	io.WriteString(c, withHost(get("/1%zz")+get("/2")+get("/3"), s.addr))
	for _, target := range []string{"/1%zz", "/2", "/3"} {
		if m, err := readMessage(r, "GET"); err != nil || m.Body != target {
			t.Fatalf("%s: %+v, %v", target, m, err)
		}
	}
}

// What was escaped for net/http in one request is not undone in the next one, which
// was sent like that.
func TestEscapesBehindAnEscapedTarget(t *testing.T) {
	o := answers(t, func(c net.Conn, _ *bufio.Reader, m message) bool {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		return true
	})
	s := serve(t, o.url)
	c := dial(t, s.addr)
	r := bufio.NewReader(c)
	io.WriteString(c, withHost(get("/a%zz")+get("/a%25zz"), s.addr))
	for range 2 {
		if m, err := readMessage(r, "GET"); err != nil || m.End != "whole" {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	for i, want := range []string{"GET /a%zz HTTP/1.1", "GET /a%25zz HTTP/1.1"} {
		if got := o.requests()[i].First; got != want {
			t.Errorf("the upstream got %q, want %q", got, want)
		}
	}
}

// A body whose head came behind another request is no request line: it is neither
// changed nor waited for.
func TestBodyBehindAPipelinedHead(t *testing.T) {
	for _, body := range []string{"GET /%zz HTTP/1.1\n", "POST /abc", "A"} {
		t.Run(body, func(t *testing.T) {
			o := answers(t, func(c net.Conn, _ *bufio.Reader, m message) bool {
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(m.Body), m.Body)
				return true
			})
			s := serve(t, o.url)
			c := dial(t, s.addr)
			r := bufio.NewReader(c)
			io.WriteString(c, withHost(get("/1")+"POST /2 HTTP/1.1\r\nHost: HOST\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n", s.addr))
			if m, err := readMessage(r, "GET"); err != nil || m.End != "whole" {
				t.Fatalf("%+v, %v", m, err)
			}
			// The head is taken by now; a client may wait for as long as it likes.
			s.tape.until(func(r record.Record) bool { return r.Request != nil && r.Exchange == 2 })
			io.WriteString(c, body)
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if m, err := readMessage(r, "POST"); err != nil || m.Body != body {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

// What net/http does not keep: the list in FORMAT.md 10 is this one.
func TestWhatIsNotKept(t *testing.T) {
	for _, c := range []struct{ name, request, response, sent, got string }{
		{"what a response without a body says of one", get("/"), "HTTP/1.1 304 Not Modified\nContent-Type: text/plain\nContent-Length: 5\n\n", "content-length: 5", ""},
		{"the list beside close", get("/"), "HTTP/1.1 200 OK\nConnection: close, X-Hop\nX-Hop: 1\nContent-Length: 0\n\n", "", "x-hop: 1"},
		{"pragma", get("/"), "HTTP/1.1 200 OK\nPragma: no-cache\nContent-Length: 0\n\n", "", "cache-control: no-cache"},
		{"the reason of an interim response", get("/"), "HTTP/1.1 103 My Own\n\nHTTP/1.1 200 OK\nContent-Length: 0\n\n", "HTTP/1.1 103 My Own", "HTTP/1.1 103 Early Hints"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := says(t, crlf(c.response))
			s := serve(t, o.url)
			m := ask(t, s.addr, withHost(c.request, s.addr))
			seen := m.Fields
			for _, i := range m.Interim {
				seen = append(seen, i.First)
			}
			if c.sent != "" && slices.Contains(seen, c.sent) || c.got != "" && !slices.Contains(seen, c.got) {
				t.Errorf("got %q: what net/http keeps has changed, say so in FORMAT.md", seen)
			}
		})
	}
}
