//go:build unix

package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/record"
)

// Each piece reaches the client before the upstream sends the next one, and a head
// before any body.
func TestPiecesPassAtOnce(t *testing.T) {
	pieces := []string{": hello\n\n", "data: {\"a\":", "1}\n\n", "\r", "x"}
	whole := strings.Join(pieces, "")
	for name, c := range map[string]struct {
		head  string
		frame func(string) string
		end   string
	}{
		"events":        {"Content-Type: text/event-stream\nTransfer-Encoding: chunked\n", func(p string) string { return chunked(p) }, lastChunk},
		"chunks":        {"Content-Type: application/json\nTransfer-Encoding: chunked\n", func(p string) string { return chunked(p) }, lastChunk},
		"known length":  {fmt.Sprintf("Content-Type: application/json\nContent-Length: %d\n", len(whole)), func(p string) string { return p }, ""},
		"until the end": {"Content-Type: text/event-stream; charset=utf-8\n", func(p string) string { return p }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan bool)
			o := answers(t, func(conn net.Conn, _ *bufio.Reader, _ message) bool {
				io.WriteString(conn, crlf("HTTP/1.1 200 OK\n"+c.head+"\n"))
				for _, p := range pieces {
					if !<-seen {
						return false
					}
					io.WriteString(conn, c.frame(p))
				}
				<-seen
				io.WriteString(conn, c.end)
				return false
			})
			t.Cleanup(func() { close(seen) })
			s := serve(t, o.url)
			conn := dial(t, s.addr)
			io.WriteString(conn, withHost(get("/mcp"), s.addr))
			r := bufio.NewReader(conn)
			_, header, err := readHead(r)
			if err != nil {
				t.Fatal(err)
			}
			var body io.Reader = r
			if header["transfer-encoding"] == "chunked" {
				body = &chunkReader{r: r}
			} else {
				body = io.LimitReader(r, int64(len(whole)))
			}
			for _, p := range pieces {
				seen <- true
				got := make([]byte, len(p))
				if _, err := io.ReadFull(body, got); err != nil || string(got) != p {
					t.Fatalf("%q, %v, want %q", got, err, p)
				}
			}
			seen <- true
			if rest, err := io.ReadAll(body); len(rest) > 0 || err != nil {
				t.Errorf("%q, %v after the end", rest, err)
			}
			s.tape.await(1)
		})
	}
}

// chunkReader reads chunks as they come.
type chunkReader struct {
	r    *bufio.Reader
	left int
}

func (c *chunkReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		var n int
		if _, err := fmt.Fscanf(c.r, "%x\r\n", &n); err != nil {
			return 0, err
		}
		if n == 0 {
			c.r.ReadString('\n')
			return 0, io.EOF
		}
		c.left = n
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 && err == nil {
		_, err = c.r.Discard(2)
	}
	return n, err
}

func TestUpstreamBreaksOffBeforeTheHead(t *testing.T) {
	o := answers(t, func(net.Conn, *bufio.Reader, message) bool { return false })
	s := serve(t, o.url)
	m := ask(t, s.addr, withHost(get("/mcp", "Content-Length: 3")+"abc", s.addr))
	if m.End != "nothing: EOF" {
		t.Errorf("the client got %+v", m)
	}
	if got := closes(s.tape.await(1)); !slices.Equal(got, []string{"server response"}) {
		t.Errorf("closes %q", got)
	}
}

// A request is sent again by the client alone: its meaning may have been carried
// out (case 96). net/http repeats those that have none, on a connection that was
// kept and is closed; that is told.
func TestRequestsSentAgain(t *testing.T) {
	for method, want := range map[string]int{"POST": 2, "GET": 3} {
		t.Run(method, func(t *testing.T) {
			var mu sync.Mutex
			n := 0
			o := answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool {
				mu.Lock()
				defer mu.Unlock()
				if n++; n == 2 {
					return false // the second request on this connection
				}
				io.WriteString(c, crlf("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"))
				return true
			})
			s := serve(t, o.url)
			request := method + " /mcp HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Length: 3\r\n\r\nabc"
			if method == "GET" {
				request = "GET /mcp HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n"
			}
			ask(t, s.addr, request)
			second := ask(t, s.addr, request)
			if got := len(o.requests()); got != want {
				t.Errorf("the upstream got %d requests, want %d", got, want)
			}
			records := s.tape.await(2)
			i := slices.IndexFunc(records, func(r record.Record) bool { return r.Response != nil && r.Exchange == 2 })
			switch {
			case method == "POST" && (i >= 0 || second.End != "nothing: EOF"):
				t.Errorf("an answer to the POST: %+v", second)
			case method == "GET" && (i < 0 || records[i].Response.Attempts != 2):
				t.Errorf("the repetition is not told")
			}
		})
	}
}

func TestUpstreamIsDown(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	s := serve(t, "http://"+ln.Addr().String())
	m := ask(t, s.addr, withHost("POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabc", s.addr))
	if m.First != "HTTP/1.1 502 Bad Gateway" || !slices.Contains(m.Fields, "sixlink-made: proxy") || !strings.Contains(m.Body, "refused") {
		t.Errorf("%+v", m)
	}
	records := s.tape.await(1)
	var made, failed bool
	for _, r := range records {
		made = made || r.Response != nil && r.Response.Made && r.Response.Status == 502
		failed = failed || r.Error != nil && r.Error.What == "connect" && r.Exchange == 1
	}
	if !made || !failed || body(records, 1, record.Server) != m.Body {
		t.Errorf("recorded %+v", records)
	}
}

// untilClosed reads a connection to its end, as an upstream that notices that the other
// side has left.
func untilClosed(c net.Conn) { io.Copy(io.Discard, c) }

func TestClientLeaves(t *testing.T) {
	for name, head := range map[string]string{
		"before the head": "",
		"within a stream": crlf("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\n") + chunked("data: half an ev"),
	} {
		t.Run(name, func(t *testing.T) {
			left := make(chan bool)
			asked := make(chan bool)
			o := answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool {
				io.WriteString(c, head)
				close(asked)
				untilClosed(c)
				close(left)
				return false
			})
			s := serve(t, o.url)
			c := dial(t, s.addr)
			io.WriteString(c, withHost(get("/mcp", "Content-Length: 3")+"abc", s.addr))
			<-asked
			if head != "" {
				s.tape.until(func(r record.Record) bool { return r.Kind == record.KindBody && r.From == record.Server })
			}
			c.Close()
			<-left // the upstream's connection was closed
			records := s.tape.await(1)
			if got := closes(records); !slices.Equal(got, []string{"client response"}) {
				t.Errorf("closes %q", got)
			}
			i := slices.IndexFunc(records, func(r record.Record) bool { return r.Close != nil && r.Close.What == record.Connection })
			if i < 0 || records[i].Close.Who != "client" || records[i].Close.Conn != 1 {
				t.Errorf("the client's connection: %+v", records)
			}
		})
	}
}

func TestClientBreaksOffItsBody(t *testing.T) {
	cut := make(chan message, 1)
	o := answers(t, func(c net.Conn, _ *bufio.Reader, m message) bool { cut <- m; return false })
	s := serve(t, o.url)
	c := dial(t, s.addr)
	io.WriteString(c, withHost(get("/mcp", "Content-Length: 10")+"abc", s.addr))
	s.tape.until(func(r record.Record) bool { return r.Kind == record.KindBody && len(r.Data) == 3 })
	c.Close()
	if m := <-cut; m.End != "cut" || m.Body != "abc" {
		t.Errorf("the upstream got %+v", m)
	}
	if got := closes(s.tape.await(1)); !slices.Equal(got, []string{"client request"}) {
		t.Errorf("closes %q", got)
	}
}

// An upstream that answers before it has the whole request: the answer passes
// while the client still sends.
func TestUpstreamAnswersEarly(t *testing.T) {
	o := answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool { return false })
	o.ln.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		readHead(r)
		io.WriteString(c, crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")+chunked("early"))
		body := &chunkReader{r: r}
		got, _ := io.ReadAll(body)
		io.WriteString(c, chunked(string(got))+lastChunk)
	})
	s := serve(t, "http://"+ln.Addr().String())
	c := dial(t, s.addr)
	io.WriteString(c, withHost(crlf("POST /mcp HTTP/1.1\nHost: HOST\nTransfer-Encoding: chunked\n\n")+chunked("one"), s.addr))
	r := bufio.NewReader(c)
	if _, _, err := readHead(r); err != nil {
		t.Fatal(err)
	}
	early := make([]byte, 5)
	body := &chunkReader{r: r}
	if io.ReadFull(body, early); string(early) != "early" {
		t.Fatalf("%q", early)
	}
	io.WriteString(c, chunked("two")+lastChunk)
	if rest, err := io.ReadAll(body); string(rest) != "onetwo" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	s.tape.await(1)
}

func TestContinueIsTheUpstreams(t *testing.T) {
	for name, c := range map[string]struct{ first, body, want string }{
		"granted": {"HTTP/1.1 100 Continue\r\n\r\n", "abc", "HTTP/1.1 200 OK"},
		"refused": {crlf("HTTP/1.1 417 No\nContent-Length: 0\n\n"), "", "HTTP/1.1 417 No"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				r := bufio.NewReader(conn)
				readHead(r)
				io.WriteString(conn, c.first)
				if c.body != "" {
					b := make([]byte, len(c.body))
					io.ReadFull(r, b)
					io.WriteString(conn, crlf("HTTP/1.1 200 OK\nContent-Length: 3\n\n")+string(b))
				}
			})
			s := serve(t, "http://"+ln.Addr().String())
			conn := dial(t, s.addr)
			io.WriteString(conn, withHost(get("/mcp", "Expect: 100-continue", "Content-Length: 3"), s.addr))
			r := bufio.NewReader(conn)
			m, _, err := readHead(r)
			if err != nil {
				t.Fatal(err)
			}
			if c.body != "" {
				if m.First != "HTTP/1.1 100 Continue" {
					t.Fatalf("%+v", m)
				}
				io.WriteString(conn, c.body)
				if m, err = readMessage(r, "GET"); err != nil || m.Body != c.body {
					t.Errorf("%+v, %v", m, err)
				}
			}
			if m.First != c.want {
				t.Errorf("%q, want %q", m.First, c.want)
			}
			records := s.tape.await(1)
			if b := body(records, 1, record.Client); b != c.body {
				t.Errorf("recorded the body %q", b)
			}
		})
	}
}

func TestParallelPostsOfOneID(t *testing.T) {
	o := answers(t, func(c net.Conn, _ *bufio.Reader, m message) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(m.Body), m.Body)
		return true
	})
	s := serve(t, o.url)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":%d,"s":"%s"}}`, i, strings.Repeat("x", i*37))
			m := ask(t, s.addr, fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", s.addr, len(body), body))
			if m.Body != body {
				t.Errorf("%d: %+v", i, m)
			}
		})
	}
	wg.Wait()
	records := s.tape.await(200)
	for n := range int64(200) {
		if q, a := body(records, n+1, record.Client), body(records, n+1, record.Server); q != a || q == "" {
			t.Errorf("exchange %d: %q, answered %q", n+1, q, a)
		}
	}
}

// A client that does not read holds up the upstream, and us no more than the
// buffers on the way.
func TestSlowClient(t *testing.T) {
	const total, most = 64 << 20, 24 << 20
	o := answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", total)
		b := make([]byte, 64<<10)
		for range total / len(b) {
			if _, err := c.Write(b); err != nil {
				return false
			}
		}
		return false
	})
	count := &countTap{}
	s := serve(t, o.url, func(h *proxy.HTTP) { h.Tap = count })
	c := dial(t, s.addr)
	io.WriteString(c, withHost(get("/mcp"), s.addr))
	r := bufio.NewReader(c)
	if _, _, err := readHead(r); err != nil {
		t.Fatal(err)
	}
	read, b := int64(0), make([]byte, 256<<10)
	for read < total {
		n, err := io.ReadFull(r, b)
		if read += int64(n); err != nil {
			t.Fatal(err)
		}
		if ahead := count.bytes() - read; ahead > most {
			t.Fatalf("%d bytes were read that the client does not have", ahead)
		}
	}
}

// countTap counts bytes of responses.
type countTap struct {
	mu sync.Mutex
	n  int64
}

func (c *countTap) Event(record.Record) {}
func (c *countTap) Body(b *record.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.From == record.Server {
		c.n += int64(len(b.Data))
	}
}
func (c *countTap) Done(int64)               {}
func (c *countTap) Flush(time.Duration) bool { return true }
func (c *countTap) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func TestUpgrade(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		readHead(r)
		io.WriteString(c, crlf("HTTP/1.1 101 Go On\nConnection: Upgrade\nUpgrade: echo\nX-A: 1\n\n")+"hello ")
		io.Copy(c, r) // until the client has ended its direction
		io.WriteString(c, "bye")
	})
	s := serve(t, "http://"+ln.Addr().String())
	c := dial(t, s.addr)
	// The client does not wait for the answer.
	io.WriteString(c, withHost(get("/mcp", "Connection: Upgrade", "Upgrade: echo"), s.addr)+"early ")
	r := bufio.NewReader(c)
	m, header, err := readHead(r)
	if err != nil || m.First != "HTTP/1.1 101 Go On" || header["upgrade"] != "echo" || header["x-a"] != "1" {
		t.Fatalf("%+v, %v", m, err)
	}
	io.WriteString(c, "late ")
	c.(*net.TCPConn).CloseWrite()
	if all, err := io.ReadAll(r); string(all) != "hello early late bye" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	records := s.tape.await(1)
	if q, a := body(records, 1, record.Client), body(records, 1, record.Server); q != "early late " || a != "hello early late bye" {
		t.Errorf("recorded %q, answered %q", q, a)
	}
}

// An upgrade that is refused is a request like any other.
func TestUpgradeRefused(t *testing.T) {
	o := says(t, crlf("HTTP/1.1 426 Upgrade Required\nUpgrade: h9\nConnection: Upgrade\nContent-Length: 2\n\nno"))
	s := serve(t, o.url)
	m := ask(t, s.addr, withHost(get("/mcp", "Connection: Upgrade", "Upgrade: echo"), s.addr))
	if m.First != "HTTP/1.1 426 Upgrade Required" || m.Body != "no" {
		t.Errorf("%+v", m)
	}
	s.tape.await(1)
}

func TestConnect(t *testing.T) {
	o := says(t, "")
	s := serve(t, o.url)
	m := ask(t, s.addr, "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443\r\n\r\n")
	if m.First != "HTTP/1.1 405 Method Not Allowed" || !slices.Contains(m.Fields, "sixlink-made: proxy") || len(o.requests()) != 0 {
		t.Errorf("%+v", m)
	}
	if r := s.tape.await(1); r[0].Request.Method != "CONNECT" || !r[1].Response.Made {
		t.Errorf("recorded %+v", r)
	}
}

func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name    string
		drain   time.Duration
		again   bool // a second signal
		finish  bool // the upstream finishes meanwhile
		end     string
		closers []string
	}{
		{"finished meanwhile", time.Hour, false, true, "whole", nil},
		{"a second signal", time.Hour, true, false, "cut", []string{"proxy response"}},
		{"no time", 0, false, false, "cut", []string{"proxy response"}},
		{"time is over", time.Millisecond, false, false, "cut", []string{"proxy response"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			finish := make(chan bool)
			o := answers(t, func(conn net.Conn, _ *bufio.Reader, _ message) bool {
				io.WriteString(conn, crlf("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\n")+chunked("data: 1\n\n"))
				if c.finish {
					<-finish
					io.WriteString(conn, chunked("data: 2\n\n")+lastChunk)
					return false
				}
				untilClosed(conn)
				return false
			})
			s := serve(t, o.url, func(h *proxy.HTTP) { h.Drain = c.drain })
			conn := dial(t, s.addr)
			io.WriteString(conn, withHost(get("/mcp"), s.addr))
			s.tape.until(func(r record.Record) bool { return r.Kind == record.KindBody && r.From == record.Server })
			s.signals <- syscall.SIGTERM
			for { // until nobody is let in any more
				other, err := net.Dial("tcp", s.addr)
				if err != nil {
					break
				}
				other.Close()
			}
			if c.again {
				s.signals <- syscall.SIGINT
			}
			if c.finish {
				close(finish)
			}
			m, err := readMessage(bufio.NewReader(conn), "GET")
			if err != nil || m.End != c.end {
				t.Errorf("%+v, %v", m, err)
			}
			var ended error
			s.once.Do(func() { ended = <-s.ended })
			if ended != nil {
				t.Error(ended)
			}
			if got := closes(s.tape.await(1)); !slices.Equal(got, c.closers) {
				t.Errorf("closes %q", got)
			}
		})
	}
}

// Nothing that the tap does changes the traffic.
func TestHTTPTapThatPanics(t *testing.T) {
	for _, in := range []string{"Event", "Body", "Done"} {
		t.Run(in, func(t *testing.T) {
			// It keeps its connection: closing would race with the second request.
			o := answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool {
				io.WriteString(c, responses["trailers"])
				return true
			})
			var notes []string
			tap := &brokenHTTPTap{in: in}
			s := serve(t, o.url, func(h *proxy.HTTP) { h.Tap, h.Note = tap, func(n string) { notes = append(notes, n) } })
			c := dial(t, s.addr)
			r := bufio.NewReader(c)
			for range 2 {
				io.WriteString(c, withHost(get("/mcp", "Content-Length: 3")+"abc", s.addr))
				if m, err := readMessage(r, "GET"); err != nil || m.Body != "ok" || len(m.Trailer) != 1 {
					t.Errorf("%+v, %v", m, err)
				}
			}
			s.stop()
			if len(notes) != 1 || !strings.Contains(notes[0], "made by the test") {
				t.Errorf("notes %q", notes)
			}
			if !tap.told {
				t.Error("the tap was not told that it gets nothing more")
			}
		})
	}
}

type brokenHTTPTap struct {
	in   string
	told bool
}

func (b *brokenHTTPTap) Broke() { b.told = true; panic("again") }

func (b *brokenHTTPTap) call(name string) {
	if b.in == name {
		panic("made by the test")
	}
}
func (b *brokenHTTPTap) Event(record.Record)      { b.call("Event") }
func (b *brokenHTTPTap) Body(*record.Body)        { b.call("Body") }
func (b *brokenHTTPTap) Done(int64)               { b.call("Done") }
func (b *brokenHTTPTap) Flush(time.Duration) bool { return true }
