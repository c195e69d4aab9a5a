//go:build unix

package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/record"
)

// tape is a tap that keeps everything, pieces of bodies as records.
type tape struct {
	mu      sync.Mutex
	turned  *sync.Cond
	records []record.Record
	done    map[int64]int
	late    []record.Record // of exchanges that were done
}

func newTape() *tape {
	t := &tape{done: map[int64]int{}}
	t.turned = sync.NewCond(&t.mu)
	return t
}

func (t *tape) add(r record.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Exchange != 0 && t.done[r.Exchange] > 0 {
		t.late = append(t.late, r)
	}
	t.records = append(t.records, r)
	t.turned.Broadcast()
}

func (t *tape) Event(r record.Record) {
	if r.Request != nil {
		h := *r.Request
		h.Headers = cloneFields(h.Headers)
		r.Request = &h
	}
	if r.Response != nil {
		h := *r.Response
		h.Headers = cloneFields(h.Headers)
		r.Response = &h
	}
	t.add(r)
}

func cloneFields(f record.Fields) record.Fields {
	out := record.Fields{}
	for k, v := range f {
		out[k] = slices.Clone(v)
	}
	return out
}

func (t *tape) Body(b *record.Body) {
	t.add(record.Record{Kind: record.KindBody, Exchange: b.Exchange, From: b.From, Off: b.Off, Data: bytes.Clone(b.Data), End: b.End, Trailers: b.Trailers, Patch: b.Patch})
}

func (t *tape) Done(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[n]++
	t.turned.Broadcast()
}

func (t *tape) Flush(time.Duration) bool { return true }

// await waits until all n exchanges are over and returns what is on the tape.
func (t *tape) await(n int) []record.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.done) < n {
		t.turned.Wait()
	}
	return slices.Clone(t.records)
}

// until waits for a record.
func (t *tape) until(is func(record.Record) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !slices.ContainsFunc(t.records, is) {
		t.turned.Wait()
	}
}

// check holds the rules that every exchange keeps, whatever happened to it.
func (t *tape) check(tb testing.TB) {
	t.mu.Lock()
	defer t.mu.Unlock()
	type key struct {
		n    int64
		from record.From
	}
	next, state := map[key]int64{}, map[key]string{}
	last, heads := int64(0), map[int64]int{}
	for i, r := range t.records {
		if r.Exchange == 0 {
			continue
		}
		k := key{r.Exchange, r.From}
		switch r.Kind {
		case record.KindRequest:
			if last++; r.Exchange != last {
				tb.Errorf("record %d: exchange %d, want %d", i, r.Exchange, last)
			}
			heads[r.Exchange]++
			state[key{r.Exchange, record.Client}] = "open"
			if r.Request.End {
				state[key{r.Exchange, record.Client}] = "ended"
			}
		case record.KindResponse:
			if s := state[k]; s != "" {
				tb.Errorf("exchange %d: a second head", r.Exchange)
			}
			if r.Response.Status >= 200 || r.Response.Status == 101 {
				state[k] = "open"
				if r.Response.End {
					state[k] = "ended"
				}
			}
		case record.KindBody:
			if state[k] != "open" {
				tb.Errorf("exchange %d, from %s: a piece of a body that is %q: %q", r.Exchange, r.From, state[k], r.Data)
			}
			if r.Off != next[k] {
				tb.Errorf("exchange %d, from %s: offset %d, want %d", r.Exchange, r.From, r.Off, next[k])
			}
			next[k] += int64(len(r.Data))
			if r.End != record.BodyMore {
				state[k] = "ended"
			}
			if len(r.Data) > 64<<10 {
				tb.Errorf("exchange %d: a piece of %d bytes", r.Exchange, len(r.Data))
			}
		}
	}
	for k, s := range state {
		if s != "ended" {
			tb.Errorf("exchange %d, from %s: the body never ended", k.n, k.from)
		}
	}
	for n := range heads {
		if t.done[n] != 1 {
			tb.Errorf("exchange %d: Done %d times", n, t.done[n])
		}
	}
	for _, r := range t.late {
		tb.Errorf("exchange %d: %s after Done", r.Exchange, r.Kind)
	}
	if len(t.done) != len(heads) {
		tb.Errorf("%d exchanges done, %d begun", len(t.done), len(heads))
	}
}

// body is a body as the records have it.
func body(records []record.Record, n int64, from record.From) string {
	var b strings.Builder
	for _, r := range records {
		if r.Kind == record.KindBody && r.Exchange == n && r.From == from {
			b.Write(r.Data)
		}
	}
	return b.String()
}

// closes are the close records of exchanges: "who what".
func closes(records []record.Record) []string {
	var out []string
	for _, r := range records {
		if r.Kind == record.KindClose && r.Exchange != 0 {
			out = append(out, r.Close.Who+" "+r.Close.What)
		}
	}
	return out
}

// served is a proxy that runs.
type served struct {
	addr    string
	tape    *tape
	signals chan os.Signal
	ended   chan error
	once    sync.Once
}

func (s *served) stop() (err error) {
	s.once.Do(func() {
		s.signals <- syscall.SIGTERM
		err = <-s.ended
	})
	return err
}

// serve runs a proxy before an upstream until the test ends.
func serve(t testing.TB, upstream string, change ...func(*proxy.HTTP)) *served {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{addr: ln.Addr().String(), tape: newTape(), signals: make(chan os.Signal, 2), ended: make(chan error, 1)}
	h := &proxy.HTTP{Listener: ln, Upstream: u, Tap: s.tape}
	for _, c := range change {
		c(h)
	}
	go func() { s.ended <- h.Run(context.Background(), s.signals) }()
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		s.tape.check(t)
	})
	return s
}

// message is a request or response as bytes of a connection, what a proxy may
// change taken out: order and letter case of fields, hop-by-hop fields, chunks.
type message struct {
	First   string
	Fields  []string
	Body    string
	Trailer []string
	// End is "whole", or "cut" where it is not.
	End     string
	Interim []message
}

var hopByHop = []string{"connection", "keep-alive", "transfer-encoding", "te", "trailer", "proxy-connection", "upgrade"}

// readHead reads a head.
func readHead(r *bufio.Reader) (m message, header map[string]string, err error) {
	header = map[string]string{}
	for first := true; ; first = false {
		line, err := r.ReadString('\n')
		if err != nil {
			if first && line == "" {
				return m, nil, err
			}
			return m, nil, io.ErrUnexpectedEOF
		}
		line = strings.TrimSuffix(line, "\r\n")
		switch name, value, _ := strings.Cut(line, ":"); {
		case line == "":
			slices.Sort(m.Fields)
			return m, header, nil
		case first:
			m.First = line
		default:
			name, value = strings.ToLower(name), strings.TrimSpace(value)
			header[name] = value
			if !slices.Contains(hopByHop, name) {
				m.Fields = append(m.Fields, name+": "+value)
			}
		}
	}
}

// readMessage reads a request, or the response to a request of a method.
func readMessage(r *bufio.Reader, method string) (message, error) {
	m, header, err := readHead(r)
	if err != nil {
		return m, err
	}
	response := strings.HasPrefix(m.First, "HTTP/")
	if response && m.First[9] == '1' && !strings.HasPrefix(m.First[9:], "101") {
		next, err := readMessage(r, method)
		next.Interim = append([]message{m}, next.Interim...)
		return next, err
	}
	m.End = "whole"
	noBody := response && (method == "HEAD" || strings.HasPrefix(m.First[9:], "204") || strings.HasPrefix(m.First[9:], "304"))
	n, sized := header["content-length"]
	switch {
	case noBody:
	case header["transfer-encoding"] == "chunked":
		m.readChunks(r)
	case sized:
		size, _ := strconv.Atoi(n)
		b := make([]byte, size)
		got, err := io.ReadFull(r, b)
		if m.Body = string(b[:got]); err != nil {
			m.End = "cut"
		}
	case response:
		b, err := io.ReadAll(r)
		if m.Body = string(b); err != nil {
			m.End = "cut"
		}
	}
	return m, nil
}

func (m *message) readChunks(r *bufio.Reader) {
	m.End = "cut"
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil {
			m.Body += "<no chunk: " + line + ">"
			return
		}
		if n == 0 {
			t, _, err := readHead(bufio.NewReader(io.MultiReader(strings.NewReader("trailers\r\n"), r)))
			if err == nil {
				m.Trailer, m.End = t.Fields, "whole"
			}
			return
		}
		b := make([]byte, n+2)
		got, err := io.ReadFull(r, b)
		m.Body += string(b[:min(got, int(n))])
		if err != nil {
			return
		}
	}
}

// origin is an upstream of bytes: it keeps what it got, and a function answers.
type origin struct {
	ln    net.Listener
	url   string
	mu    sync.Mutex
	got   []message
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

// answers makes an origin. answer returns false to close the connection.
func answers(t testing.TB, answer func(c net.Conn, r *bufio.Reader, m message) bool) *origin {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{ln: ln, url: "http://" + ln.Addr().String(), conns: map[net.Conn]bool{}}
	o.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			o.mu.Lock()
			o.conns[c] = true
			o.mu.Unlock()
			o.wg.Go(func() { o.serve(c, answer) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		o.mu.Lock()
		for c := range o.conns {
			c.Close()
		}
		o.mu.Unlock()
		o.wg.Wait()
	})
	return o
}

func (o *origin) serve(c net.Conn, answer func(net.Conn, *bufio.Reader, message) bool) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		m, err := readMessage(r, "")
		if err != nil {
			return
		}
		o.mu.Lock()
		o.got = append(o.got, m)
		o.mu.Unlock()
		if !answer(c, r, m) {
			return
		}
	}
}

func (o *origin) requests() []message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.got)
}

// says answers every request with the same bytes, and closes.
func says(t testing.TB, response string) *origin {
	return answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool {
		io.WriteString(c, response)
		return false
	})
}

// dial opens a connection that the test closes.
func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// chunked are pieces as chunks.
func chunked(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	return b.String()
}

const lastChunk = "0\r\n\r\n"

// ask sends a request's bytes and reads what comes back.
func ask(t testing.TB, addr, request string) message {
	t.Helper()
	c := dial(t, addr)
	if _, err := io.WriteString(c, request); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	m, err := readMessage(bufio.NewReader(c), method)
	if err != nil {
		return message{End: fmt.Sprint("nothing: ", err)}
	}
	return m
}
