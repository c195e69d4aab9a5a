//go:build unix

package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/record"
)

// Request smuggling: what two servers could read in two ways is refused, or goes
// on in one form alone.
func TestSmuggling(t *testing.T) {
	for name, request := range map[string]string{
		"two lengths":              "POST / HTTP/1.1\nHost: HOST\nContent-Length: 3\nContent-Length: 4\n\nabcd",
		"two lengths in one":       "POST / HTTP/1.1\nHost: HOST\nContent-Length: 3, 4\n\nabcd",
		"a length with a sign":     "POST / HTTP/1.1\nHost: HOST\nContent-Length: +3\n\nabc",
		"two codings":              "POST / HTTP/1.1\nHost: HOST\nTransfer-Encoding: chunked, identity\n\n0\n\n",
		"a coding in disguise":     "POST / HTTP/1.1\nHost: HOST\nTransfer-Encoding: xchunked\nContent-Length: 3\n\nabc",
		"two coding fields":        "POST / HTTP/1.1\nHost: HOST\nTransfer-Encoding: chunked\nTransfer-Encoding: identity\n\n0\n\n",
		"space before the colon":   "POST / HTTP/1.1\nHost: HOST\nContent-Length : 3\n\nabc",
		"a folded field":           "POST / HTTP/1.1\nHost: HOST\n X: 1\nTransfer-Encoding\n : chunked\n\n0\n\n",
		"a control in a field":     "GET / HTTP/1.1\nHost: HOST\nX: a\x00b\n\n",
		"two hosts":                "GET / HTTP/1.1\nHost: HOST\nHost: evil.example\n\n",
		"no host":                  "GET / HTTP/1.1\n\n",
		"a control in the target":  "GET /\x01 HTTP/1.1\nHost: HOST\n\n",
		"a space in the target":    "GET /a b HTTP/1.1\nHost: HOST\n\n",
		"two protocols":            "GET /%zz HTTP/1.1 HTTP/1.1\nHost: HOST\n\n",
		"a chunk size that is bad": "POST / HTTP/1.1\nHost: HOST\nTransfer-Encoding: chunked\n\nzz\nabc\n0\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			o := answers(t, func(c net.Conn, _ *bufio.Reader, m message) bool {
				io.WriteString(c, crlf("HTTP/1.1 200 OK\nContent-Length: 0\n\n"))
				return true
			})
			s := serve(t, o.url)
			m := ask(t, s.addr, withHost(crlf(request), s.addr))
			if strings.HasPrefix(m.First, "HTTP/1.1 2") {
				t.Errorf("answered %+v", m)
			}
			if m.First != "" { // else it was the body that broke off, of a request that had begun well
				if !slices.Contains(m.Fields, "sixlink-made: proxy") {
					t.Errorf("refused by nobody: %+v", m)
				}
				s.tape.until(func(r record.Record) bool {
					return r.Close != nil && r.Close.Who == record.ByProxy && r.Close.What == record.Connection && strings.HasPrefix(r.Close.Why, "refused: "+m.First[9:])
				})
			}
			for _, got := range o.requests() {
				if got.End != "cut" { // a body that breaks off later was begun in good faith
					t.Errorf("the upstream got %+v", got)
				}
			}
		})
	}
	t.Run("length and chunks", func(t *testing.T) {
		o := says(t, crlf("HTTP/1.1 200 OK\nContent-Length: 0\n\n"))
		s := serve(t, o.url)
		ask(t, s.addr, withHost(crlf("POST / HTTP/1.1\nHost: HOST\nContent-Length: 100\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n"), s.addr))
		for _, m := range o.requests() {
			if m.Body != "abc" || m.End != "whole" || slices.ContainsFunc(m.Fields, func(f string) bool { return strings.HasPrefix(f, "content-length") }) {
				t.Errorf("the upstream got %+v", m)
			}
		}
	})
}

func TestHeadersOf64KiB(t *testing.T) {
	long := strings.Repeat("v", 64<<10)
	o := says(t, crlf("HTTP/1.1 200 OK\nX-Long: "+long+"\nContent-Length: 0\n\n"))
	s := serve(t, o.url)
	m := ask(t, s.addr, withHost(get("/mcp", "X-Long: "+long), s.addr))
	if !slices.Contains(m.Fields, "x-long: "+long) {
		t.Error("the client did not get it")
	}
	if got := o.requests(); len(got) != 1 || !slices.Contains(got[0].Fields, "x-long: "+long) {
		t.Error("the upstream did not get it")
	}
}

// Nothing that a client writes makes us connect to anything but the upstream.
func TestOneUpstream(t *testing.T) {
	elsewhere := says(t, crlf("HTTP/1.1 200 OK\nContent-Length: 4\n\nelse"))
	there := strings.TrimPrefix(elsewhere.url, "http://")
	for name, request := range map[string]string{
		"absolute form":        "GET " + elsewhere.url + "/x?y HTTP/1.1\r\nHost: " + there + "\r\n\r\n",
		"absolute form, ours":  "GET http://HOST/x?y HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"another host":         "GET /x?y HTTP/1.1\r\nHost: " + there + "\r\n\r\n",
		"two slashes":          "GET //" + there + "/x?y HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"user in the host":     "GET /x?y HTTP/1.1\r\nHost: HOST@" + there + "\r\n\r\n",
		"forwarded to another": "GET /x?y HTTP/1.1\r\nHost: HOST\r\nX-Forwarded-Host: " + there + "\r\nForwarded: host=" + there + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			o := says(t, crlf("HTTP/1.1 200 OK\nContent-Length: 4\n\nhere"))
			s := serve(t, o.url)
			if m := ask(t, s.addr, withHost(request, s.addr)); m.Body != "here" && !strings.HasPrefix(m.First, "HTTP/1.1 400") {
				t.Errorf("%+v", m)
			}
			for _, m := range o.requests() {
				if target := strings.Fields(m.First)[1]; target != "/x?y" && target != "//"+there+"/x?y" {
					t.Errorf("the upstream got %q", m.First)
				}
			}
		})
	}
	if got := elsewhere.requests(); len(got) > 0 {
		t.Errorf("elsewhere got %+v", got)
	}
}

// A host that is none of ours is refused before the upstream hears of it, unless
// that is local.
func TestForeignHost(t *testing.T) {
	// 192.0.2.1 is for documentation: nobody is there, and nobody is asked.
	s := serve(t, "http://192.0.2.1:9")
	m := ask(t, s.addr, "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 3\r\n\r\nabc")
	if m.First != "HTTP/1.1 403 Forbidden" || !slices.Contains(m.Fields, "sixlink-made: proxy") || strings.Contains(m.Body, "evil") {
		t.Errorf("%+v", m)
	}
	m = ask(t, s.addr, withHost(get("/mcp", "Origin: https://evil.example"), s.addr))
	if m.First != "HTTP/1.1 403 Forbidden" {
		t.Errorf("%+v", m)
	}
	records := s.tape.await(2)
	if got := closes(records); !slices.Equal(got, []string{"proxy request"}) {
		t.Errorf("closes %q", got)
	}
}

// pair is a server of net/http with TLS, and what trusts it.
func pair(t *testing.T, h http.Handler) (*httptest.Server, *x509.CertPool) {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, roots
}

// Every version of HTTP in front of every other, with and without TLS.
func TestProtocols(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Proto", r.Proto)
		w.Header().Set("Trailer", "X-Sum")
		http.NewResponseController(w).Flush() // HTTP/1.1 has no trailers beside a length
		w.Write(append([]byte("got "), b...))
		w.Header().Set("X-Sum", fmt.Sprint(len(b)))
	})
	secure, roots := pair(t, handler)
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	for _, up := range []*httptest.Server{secure, plain} {
		for _, front := range []string{"HTTP/1.1", "HTTP/2.0"} {
			for _, sealed := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/tls=%v/%s", front, sealed, up.URL[:5]), func(t *testing.T) {
					s := serve(t, up.URL, func(h *proxy.HTTP) {
						h.Roots = roots
						if sealed {
							h.Certificate = &secure.TLS.Certificates[0]
						}
					})
					tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true, Protocols: new(http.Protocols)}
					defer tr.CloseIdleConnections()
					tr.Protocols.SetHTTP1(front == "HTTP/1.1")
					tr.Protocols.SetHTTP2(front != "HTTP/1.1")
					tr.Protocols.SetUnencryptedHTTP2(front != "HTTP/1.1")
					at := "http://" + s.addr
					if sealed {
						at = "https://" + s.addr
					}
					req, _ := http.NewRequest("POST", at+"/a%2Fb?c=%zz", strings.NewReader("body"))
					res, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(res.Body)
					res.Body.Close()
					if err != nil || string(b) != "got body" || res.Proto != front || res.Trailer.Get("X-Sum") != "4" {
						t.Errorf("%s %q, %v, trailers %v", res.Proto, b, err, res.Trailer)
					}
					records := s.tape.await(1)
					if h := records[0].Request; h.Proto != front || h.Target != "/a%2Fb?c=%zz" {
						t.Errorf("recorded %+v", h)
					}
					want := "HTTP/1.1"
					if up == secure {
						want = "HTTP/2.0"
					}
					if got := res.Header.Get("X-Proto"); got != want {
						t.Errorf("upstream spoke %s, want %s", got, want)
					}
					i := slices.IndexFunc(records, func(r record.Record) bool { return r.End == record.BodyLast && r.From == record.Server })
					if i < 0 || !slices.Equal(records[i].Trailers["X-Sum"], []string{"4"}) {
						t.Errorf("recorded no trailers: %+v", records)
					}
				})
			}
		}
	}
}

// The phrase reaches clients of HTTP/1.1 under TLS, too, and so does a broken escape.
func TestReasonUnderTLS(t *testing.T) {
	certified, roots := pair(t, http.NotFoundHandler())
	o := says(t, crlf("HTTP/1.1 200 Just So\nContent-Length: 2\n\nok"))
	s := serve(t, o.url, func(h *proxy.HTTP) { h.Certificate = &certified.TLS.Certificates[0] })
	c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, withHost(get("/a%zz"), s.addr))
	if m, err := readMessage(bufio.NewReader(c), "GET"); err != nil || m.First != "HTTP/1.1 200 Just So" {
		t.Errorf("%+v, %v", m, err)
	}
	if got := o.requests(); len(got) != 1 || got[0].First != "GET /a%zz HTTP/1.1" {
		t.Errorf("the upstream got %+v", got)
	}
}

func TestUpstreamNobodyTrusts(t *testing.T) {
	up, _ := pair(t, http.NotFoundHandler())
	up.Config.ErrorLog = log.New(io.Discard, "", 0)
	s := serve(t, up.URL)
	m := ask(t, s.addr, withHost(get("/mcp"), s.addr))
	if m.First != "HTTP/1.1 502 Bad Gateway" {
		t.Errorf("%+v", m)
	}
	records := s.tape.await(1)
	if !slices.ContainsFunc(records, func(r record.Record) bool { return r.Error != nil && r.Error.What == "tls" }) {
		t.Errorf("recorded %+v", records)
	}
}

// clients that shake hands with nobody hold up nobody.
func TestSilentHandshake(t *testing.T) {
	certified, roots := pair(t, http.NotFoundHandler())
	s := serve(t, certified.URL, func(h *proxy.HTTP) { h.Certificate, h.Roots = &certified.TLS.Certificates[0], roots })
	dial(t, s.addr)
	c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// shout is a rewriter that writes bodies in capitals, as a whole or as it goes, and
// says so in a header.
type shout struct{ whole bool }

func (s shout) Response(own, upstream string, req *http.Request, resp *http.Response) (http.Header, proxy.BodyRewriter) {
	return http.Header{"X-Own": {own + " " + upstream}, "X-Gone": {}}, &shouting{whole: s.whole}
}

type shouting struct {
	whole bool
	off   int64
	kept  []byte
}

func (s *shouting) Next(p []byte, last bool) ([]byte, []record.Patch) {
	if s.whole {
		if s.kept = append(s.kept, p...); !last {
			return nil, nil
		}
		p = s.kept
	}
	if len(p) == 0 {
		return nil, nil
	}
	out := append(bytes.ToUpper(p), '!')
	patch := record.Patch{Off: s.off, Len: int64(len(p)), Text: string(out)}
	s.off += int64(len(p))
	return out, []record.Patch{patch}
}

func TestRewriter(t *testing.T) {
	for name, c := range map[string]struct {
		response string
		whole    bool
		want     message
		patches  int
	}{
		"whole, of known length": {crlf("HTTP/1.1 200 OK\nX-Gone: 1\nContent-Length: 5\n\nquiet"), true,
			message{Body: "QUIET!", End: "whole", Fields: []string{"content-length: 6"}}, 1},
		"whole, in chunks": {crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n") + chunked("qui", "et") + lastChunk, true,
			message{Body: "QUIET!", End: "whole"}, 1},
		"a stream": {crlf("HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\nquiet"), false, message{Body: "QUIET!", End: "whole"}, 1},
		"nothing":  {crlf("HTTP/1.1 200 OK\nContent-Length: 0\n\n"), true, message{End: "whole", Fields: []string{"content-length: 0"}}, 0},
		"cut":      {crlf("HTTP/1.1 200 OK\nContent-Length: 7\n\nquiet"), false, message{Body: "QUIET!", End: "cut"}, 1},
		// What a rewriter holds back is the client's when the upstream breaks off.
		"whole, cut":           {crlf("HTTP/1.1 200 OK\nContent-Length: 7\n\nquiet"), true, message{Body: "QUIET!", End: "cut"}, 1},
		"whole, cut in chunks": {crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n") + chunked("qui", "et"), true, message{Body: "QUIET!", End: "cut"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := says(t, c.response)
			s := serve(t, o.url, func(h *proxy.HTTP) { h.Rewriter = shout{c.whole} })
			m := ask(t, s.addr, withHost(get("/mcp"), s.addr))
			want := []string{"x-own: http://" + s.addr + " " + o.url}
			for _, f := range m.Fields {
				if strings.HasPrefix(f, "content-type") {
					want = append(want, f)
				}
			}
			want = append(want, c.want.Fields...)
			slices.Sort(want)
			if m.Body != c.want.Body || m.End != c.want.End || !slices.Equal(m.Fields, want) {
				t.Errorf("%+v, want %+v with %q", m, c.want, want)
			}
			records := s.tape.await(1)
			got, patches := body(records, 1, record.Server), 0
			for _, r := range records {
				patches += len(r.Patch)
			}
			if !strings.HasSuffix(c.response, got) && got != "quiet" || patches != c.patches {
				t.Errorf("recorded %q with %d patches", got, patches)
			}
			i := slices.IndexFunc(records, func(r record.Record) bool { return r.Response != nil })
			if sent := records[i].Response.Sent; sent["X-Own"] == nil || sent["X-Gone"] == nil || len(sent["X-Gone"]) > 0 {
				t.Errorf("sent %q", sent)
			}
		})
	}
	t.Run("a host that is not ours is reflected nowhere", func(t *testing.T) {
		o := says(t, crlf("HTTP/1.1 200 OK\nContent-Length: 5\n\nquiet"))
		s := serve(t, o.url, func(h *proxy.HTTP) { h.Rewriter = shout{true} })
		if m := ask(t, s.addr, withHost(get("/mcp"), "evil.example")); m.Body != "quiet" || len(m.Fields) != 1 {
			t.Errorf("%+v", m)
		}
	})
}

// What a real recorder wrote gives every body back, byte for byte.
func TestRecordingRebuildsBodies(t *testing.T) {
	dir := t.TempDir()
	rec, err := record.Begin(record.Config{Dir: dir, Name: "r.mcp.jsonl.zst", Version: "test", Transport: "http", Level: record.LevelRaw, Upstream: "http://up.example"})
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		slices.Reverse(b)
		for len(b) > 0 {
			n := min(len(b), 1+len(b)/3)
			w.Write(b[:n])
			http.NewResponseController(w).Flush()
			b = b[n:]
		}
	}))
	t.Cleanup(up.Close)
	s := serve(t, up.URL, func(h *proxy.HTTP) { h.Tap = rec })
	random := rand.New(rand.NewPCG(5, 5))
	bodies := make([][]byte, 12)
	for i := range bodies {
		b := make([]byte, random.IntN(150<<10))
		for j := range b {
			if b[j] = byte(random.Uint32()); i%2 == 0 {
				b[j] = "{}[]\",: \n\r\xc3\xa9a1"[int(b[j])%14]
			}
		}
		bodies[i] = b
	}
	var wg sync.WaitGroup
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	for i, b := range bodies {
		wg.Go(func() {
			req, _ := http.NewRequest("POST", fmt.Sprintf("http://%s/%d", s.addr, i), bytes.NewReader(b))
			res, err := tr.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if slices.Reverse(got); err != nil || !bytes.Equal(got, b) {
				t.Errorf("%d: %d bytes of %d, %v", i, len(got), len(b), err)
			}
		})
	}
	wg.Wait()
	tr.CloseIdleConnections()
	s.stop()
	if !rec.Flush(time.Minute) { // Close waits for no slow machine
		t.Fatal("the recorder did not keep up")
	}
	rec.Close(time.Minute)
	r, err := record.Open(filepath.Join(dir, "r.mcp.jsonl.zst"), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	targets, got := map[int64]string{}, map[string][]byte{}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rec.Kind {
		case record.KindRequest:
			targets[rec.Exchange] = rec.Request.Target
		case record.KindBody:
			k := targets[rec.Exchange] + string(rec.From)
			got[k] = append(append(got[k], rec.Data...), rec.EOL...)
		}
	}
	for i, b := range bodies {
		if k := fmt.Sprintf("/%dclient", i); !bytes.Equal(got[k], b) {
			t.Errorf("%s: %d bytes, want %d", k, len(got[k]), len(b))
		}
		answer := got[fmt.Sprintf("/%dserver", i)]
		if slices.Reverse(answer); !bytes.Equal(answer, b) {
			t.Errorf("/%dserver: %d bytes, want %d", i, len(answer), len(b))
		}
	}
}

func TestListenerBreaks(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	h := &proxy.HTTP{Listener: ln, Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Drain: time.Hour}
	if err := h.Run(context.Background(), nil); err == nil || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("%v", err)
	}
}
