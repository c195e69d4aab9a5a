package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/bridge"
	"github.com/sixlink/sixlink/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hang guards against a bridge that never answers; it measures nothing.
const hang = 20 * time.Second

// host is the stdio side of a bridge that runs.
type host struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string
	ended  chan proxy.Status
	signal chan os.Signal
	tap    *memory
}

// start runs a bridge in front of a handler.
func start(t *testing.T, h http.HandlerFunc, change func(*bridge.Bridge)) *host {
	t.Helper()
	srv := httptest.NewServer(h)
	u, err := url.Parse(srv.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	x := &host{t: t, in: inW, lines: make(chan string, 100), ended: make(chan proxy.Status, 1), signal: make(chan os.Signal, 1), tap: &memory{}}
	c := &bridge.Bridge{Upstream: u, Agent: "sixlink/test", Stdin: inR, Stdout: outW, Tap: x.tap,
		Waits: bridge.Waits{Answers: hang, Delete: hang, Endpoint: hang, Retry: time.Millisecond, Leave: hang}}
	if change != nil {
		change(c)
	}
	go func() {
		s := bufio.NewScanner(outR)
		s.Buffer(nil, 100<<20)
		for s.Scan() {
			x.lines <- s.Text()
		}
		close(x.lines)
	}()
	go func() {
		x.ended <- c.Run(context.Background(), x.signal)
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		inR.Close()
		srv.CloseClientConnections()
		srv.Close()
		if tr, ok := http.DefaultTransport.(*http.Transport); ok {
			tr.CloseIdleConnections()
		}
	})
	return x
}

func (x *host) send(lines ...string) {
	x.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(x.in, l+"\n"); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *host) want(lines ...string) {
	x.t.Helper()
	for _, want := range lines {
		if got := x.line(); got != want {
			x.t.Fatalf("the host got\n%s\nwant\n%s", got, want)
		}
	}
}

func (x *host) line() string {
	x.t.Helper()
	select {
	case l, ok := <-x.lines:
		if !ok {
			x.t.Fatal("the bridge ended")
		}
		return l
	case <-time.After(hang):
		x.t.Fatal("the host got nothing")
	}
	return ""
}

// end closes the host's end and gives what came after that.
func (x *host) end() (status proxy.Status, rest []string) {
	x.t.Helper()
	x.in.Close()
	return x.over()
}

func (x *host) over() (status proxy.Status, rest []string) {
	x.t.Helper()
	select {
	case status = <-x.ended:
	case <-time.After(hang):
		x.t.Fatal("the bridge does not end")
	}
	for l := range x.lines {
		rest = append(rest, l)
	}
	return status, rest
}

// memory is a tap.
type memory struct {
	mu     sync.Mutex
	data   map[record.From]string
	ends   []record.From
	events []record.Record
	bodies map[string]string // exchange and from
	closed map[string]record.BodyEnd
	done   []int64
}

func (m *memory) Data(from record.From, p []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		m.data = map[record.From]string{}
	}
	m.data[from] += string(p)
}
func (m *memory) End(from record.From) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ends = append(m.ends, from)
}
func (m *memory) Event(r record.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, r)
}
func (m *memory) Flush(time.Duration) bool { return true }
func (m *memory) Body(b *record.Body) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bodies == nil {
		m.bodies, m.closed = map[string]string{}, map[string]record.BodyEnd{}
	}
	k := fmt.Sprintf("%d %s", b.Exchange, b.From)
	if int64(len(m.bodies[k])) != b.Off {
		panic("a piece has a wrong offset")
	}
	m.bodies[k] += string(b.Data)
	m.closed[k] = b.End
}
func (m *memory) Done(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = append(m.done, n)
}

// seen collects what a server got: one line for each request.
type seen struct {
	mu  sync.Mutex
	log []string
}

// take notes a request, with the fields of MCP, and gives its body.
func (s *seen) take(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	l := r.Method + " " + r.URL.RequestURI()
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-Id"} {
		if v, ok := r.Header[name]; ok {
			l += " " + name + "=" + strings.Join(v, ",")
		}
	}
	if len(body) > 0 {
		l += " " + string(body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, l)
	return string(body)
}

func (s *seen) want(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := cmp.Diff(want, s.log); d != "" {
		t.Errorf("the server got (-want +got):\n%s", d)
	}
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
)

func answerJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, body)
}

func answerEvents(w http.ResponseWriter, stream string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, stream)
	w.(http.Flusher).Flush()
}

// A session of the initialize era: session, version, the GET stream, DELETE.
func TestLegacySession(t *testing.T) {
	var s seen
	push, pushed := make(chan struct{}), make(chan struct{})
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body := s.take(r)
		switch {
		case r.Method == "GET":
			answerEvents(w, ": hello\n\nid: 7\ndata:\n\n")
			<-push
			answerEvents(w, "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":0,\"method\":\"roots/list\"}\r\n\r\n")
			<-r.Context().Done()
		case r.Method == "DELETE":
		case strings.Contains(body, "initialize\""):
			w.Header().Set("Mcp-Session-Id", "s-1")
			answerJSON(w, "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 0, \"result\": {\"protocolVersion\":\"2025-11-25\", \"text\":\"a\\nb \\\\\"}\n}\n")
		case strings.Contains(body, "roots"):
			w.WriteHeader(202)
			close(pushed)
		case strings.Contains(body, "ping"):
			answerEvents(w, "id: 1\ndata: \n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		default:
			w.WriteHeader(202)
		}
	}, nil)
	x.send(initialize)
	x.want(`{  "jsonrpc": "2.0",  "id": 0, "result": {"protocolVersion":"2025-11-25", "text":"a\nb \\"}}`)
	x.send(initialized)
	close(push)
	x.want(`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`)
	const roots = `{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`
	x.send(roots)
	<-pushed
	x.send(ping + "\r")
	x.want(`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	status, rest := x.end()
	if status.ExitCode() != 0 || len(rest) > 0 {
		t.Errorf("ended with %+v, %q", status, rest)
	}
	const head = " /mcp Mcp-Session-Id=s-1 Mcp-Protocol-Version=2025-11-25"
	slices.SortStableFunc(s.log[2:], func(a, b string) int { return strings.Compare(a[:4], b[:4]) }) // DELETE, GET, POST
	s.want(t, "POST /mcp "+initialize, "POST"+head+" "+initialized, "DELETE"+head, "GET"+head, "POST"+head+" "+roots, "POST"+head+" "+ping)
}

// What is kept: the host's frames as they were, the exchanges, how each ended.
func TestRecording(t *testing.T) {
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		answerJSON(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}, func(c *bridge.Bridge) { c.Header = []bridge.Field{{Name: "x-key", Value: "v"}} })
	x.send(ping)
	x.line()
	x.end()
	m := x.tap
	if m.data[record.Client] != ping+"\n" || m.data[record.Server] != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("frames: %q", m.data)
	}
	if !slices.Equal(m.ends, []record.From{record.Client, record.Server}) || !slices.Equal(m.done, []int64{1}) {
		t.Errorf("ends %v, done %v", m.ends, m.done)
	}
	if m.bodies["1 client"] != ping || m.bodies["1 server"] != `{"jsonrpc":"2.0","id":1,"result":{}}` ||
		m.closed["1 client"] != record.BodyLast || m.closed["1 server"] != record.BodyLast {
		t.Errorf("bodies: %q %v", m.bodies, m.closed)
	}
	var kinds []record.Kind
	for _, e := range m.events {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []record.Kind{record.KindRequest, record.KindResponse, record.KindClose}) {
		t.Fatalf("events: %v", kinds)
	}
	req, resp := m.events[0].Request, m.events[1].Response
	if req.Target != "/mcp" || req.Headers["X-Key"][0] != "v" || req.Length != int64(len(ping)) || req.Headers["User-Agent"][0] != "sixlink/test" ||
		resp.Status != 200 || resp.Reason != "OK" || m.events[2].Close.What != record.Stdin {
		t.Errorf("%+v, %+v, %+v", req, resp, m.events[2].Close)
	}
}

// The era without a session: version, method and name are repeated in fields.
func TestModern(t *testing.T) {
	var s seen
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body := s.take(r)
		if strings.Contains(body, "nothing") {
			w.WriteHeader(404)
			io.WriteString(w, `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}`)
			return
		}
		w.Header().Set("Mcp-Session-Id", "ignored")
		answerJSON(w, `{"jsonrpc":"2.0","id":`+body[strings.Index(body, `"id":`)+5:][:1]+`,"result":{"resultType":"complete"}}`)
	}, nil)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, c := range []struct{ line, head string }{
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, "server/discover"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"caf\u00e9",` + meta + `}}`, "tools/call Mcp-Name==?base64?Y2Fmw6k=?="},
		{`{"jsonrpc":"2.0","id":3,"method":"nothing","params":{"name":"x",` + meta + `}}`, "nothing"},
		{`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"file:///a b",` + meta + `}}`, "resources/read Mcp-Name=file:///a b"},
	} {
		x.send(c.line)
		if l := x.line(); strings.Contains(l, "madeBy") {
			t.Errorf("%s got %s", c.line, l)
		}
		s.want(t, "POST /mcp Mcp-Protocol-Version=2026-07-28 Mcp-Method="+c.head+" "+c.line)
		s.log = nil
	}
	x.end()
	s.want(t)
}

// Closing the answer is what cancels in that era.
func TestModernCancel(t *testing.T) {
	gone, begun := make(chan struct{}), make(chan struct{})
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "cancelled") {
			w.WriteHeader(202)
			return
		}
		answerEvents(w, ": hi\n\n")
		close(begun)
		<-r.Context().Done()
		close(gone)
	}, nil)
	x.send(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"slow","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	<-begun
	x.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061"}}`)
	<-gone
	if _, rest := x.end(); len(rest) > 0 {
		t.Errorf("the host got %q for a call that it had cancelled", rest)
	}
}

// Nothing passes the handshake or a notification; requests do not wait for answers.
func TestOrder(t *testing.T) {
	var s seen
	release := make(chan struct{})
	step := make(chan string)
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body := s.take(r)
		step <- body
		switch {
		case strings.Contains(body, `"id":0`):
			<-release
			answerJSON(w, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		case r.Method != "POST":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case !strings.Contains(body, `"id"`):
			<-release
			w.WriteHeader(202)
		default:
			<-release
			answerJSON(w, strings.Replace(body, "method", "result", 1))
		}
	}, nil)
	const note = `{"jsonrpc":"2.0","method":"notifications/x"}`
	go io.WriteString(x.in, strings.Join([]string{initialize, note, `{"jsonrpc":"2.0","id":2,"method":"a"}`, `{"jsonrpc":"2.0","id":3,"method":"a"}`, note, ""}, "\n"))
	// Each step comes only when what it has to wait for was released.
	if got := <-step; got != initialize {
		t.Fatal(got)
	}
	select {
	case got := <-step:
		t.Fatalf("%s was sent before the answer to initialize", got)
	default:
	}
	release <- struct{}{}
	x.line()
	if got := <-step; got != note {
		t.Fatal(got)
	}
	release <- struct{}{}
	a, b, c := <-step, <-step, <-step // all three without a release
	if got := []string{a, b, c}; !slices.Contains(got, note) || a == b {
		t.Fatal(got)
	}
	close(release)
	x.line()
	x.line()
	x.end()
}

// Errors that sixlink makes, and the answers that it does not replace.
func TestMadeErrors(t *testing.T) {
	for _, c := range []struct {
		name, line string
		answer     func(w http.ResponseWriter)
		want       []string
	}{
		{"401 with a challenge", ping, func(w http.ResponseWriter) {
			w.Header().Set("Www-Authenticate", `Bearer realm="x"`)
			http.Error(w, `{"error":"invalid_token"}`, http.StatusUnauthorized)
		}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32091,"message":"sixlink: the server answered 401 Unauthorized: credentials are given with --header","data":{"madeBy":"sixlink","why":"unauthorized","status":401,"contentType":"text/plain; charset=utf-8","wwwAuthenticate":"Bearer realm=\"x\"","body":"{\"error\":\"invalid_token\"}\n"}}}`}},
		{"an error object of something else", ping, func(w http.ResponseWriter) {
			w.WriteHeader(500)
			answerJSON(w, `{"error":{"code":13,"message":"internal"}}`)
		}, []string{`"code":-32093`, `internal`}},
		{"404", ping, func(w http.ResponseWriter) { w.WriteHeader(404) },
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32092,"message":"sixlink: the server answered 404 Not Found: the URL is wrong, or the server has ended the session","data":{"madeBy":"sixlink","why":"notFound","status":404}}}`}},
		{"502 of something in between", ping, func(w http.ResponseWriter) { http.Error(w, "bad gateway", http.StatusBadGateway) },
			[]string{`"code":-32093`, `"madeBy":"sixlink","why":"serverError","status":502`, `bad gateway`}},
		{"a page", ping, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>log in")
		}, []string{`"code":-32095`, `"why":"unreadable"`, `<html>log in`}},
		{"JSON that is no message", ping, func(w http.ResponseWriter) { answerJSON(w, `{"ok":true}`) }, []string{`"code":-32095`}},
		{"a line break in a string", ping, func(w http.ResponseWriter) { answerJSON(w, "{\"id\":1,\"result\":\"a\nb\"}") }, []string{`"code":-32095`}},
		{"202 to a request", ping, func(w http.ResponseWriter) { w.WriteHeader(202) }, []string{`"code":-32096`, `"status":202`}},
		{"a stream without the answer", ping, func(w http.ResponseWriter) { answerEvents(w, "data: {\"id\":1,\"result\":{}}\n") }, []string{`"code":-32096`}},
		{"a body that breaks off", ping, func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			answerJSON(w, `{"id":1`)
		}, []string{`"code":-32096`}},
		{"a connection that breaks off", ping, func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, []string{`"code":-32090`, `"why":"unreachable"`}},
		{"a redirect to another server", ping, func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://other.example/mcp")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, []string{`"code":-32094`, `"location":"http://other.example/mcp"`}},
		{"an id as it was spelt", `{"jsonrpc":"2.0","id":12345678901234567890.0,"method":"ping"}`, func(w http.ResponseWriter) { w.WriteHeader(500) },
			[]string{`"id":12345678901234567890.0,`}},
		{"a batch", `[{"id":"x","method":"a"},{"method":"b"},{"id":"y","method":"c"}]`, func(w http.ResponseWriter) { answerEvents(w, "data: {\"id\":\"x\",\"result\":1}\n\n") },
			[]string{`{"id":"x","result":1}`, "\n", `"id":"y","error":{"code":-32096`}},
		{"the server's error without an id", ping, func(w http.ResponseWriter) {
			w.WriteHeader(400)
			answerJSON(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad <Request>","data":{"z":1,"a":2}}}`)
		}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Bad <Request>","data":{"madeBy":"sixlink","why":"noId","error":{"code":-32000,"message":"Bad <Request>","data":{"z":1,"a":2}}}}}`}},
		{"the server's own error with 500", ping, func(w http.ResponseWriter) {
			w.WriteHeader(500)
			answerJSON(w, `{"jsonrpc":"2.0", "id":1,"error":{"code":-32603,"message":"m"}}`)
		}, []string{`{"jsonrpc":"2.0", "id":1,"error":{"code":-32603,"message":"m"}}`}},
		{"an id that the server spelt in its own way", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, func(w http.ResponseWriter) { answerJSON(w, `{"jsonrpc":"2.0","id":9007199254740992,"result":{}}`) },
			[]string{`{"jsonrpc":"2.0","id":9007199254740992,"result":{}}`}},
		{"no JSON from the host", `hello`, func(w http.ResponseWriter) {
			w.WriteHeader(400)
			answerJSON(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
		}, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`}},
		{"a notification that is refused", initialized, func(w http.ResponseWriter) { w.WriteHeader(500) }, nil},
		{"an event that is no message", ping, func(w http.ResponseWriter) {
			answerEvents(w, "data: {}\n\ndata: text\n\nevent: x\ndata: {\"method\":\"n\"}\n\ndata: {\"id\":1,\"result\":{}}\n\n")
		}, []string{`{"id":1,"result":{}}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := start(t, func(w http.ResponseWriter, r *http.Request) { c.answer(w) }, nil)
			x.send(c.line)
			_, rest := x.end()
			got := strings.Join(rest, "\n")
			if len(c.want) == 1 && got != c.want[0] && strings.HasPrefix(c.want[0], "{") || len(c.want) == 0 && got != "" {
				t.Fatalf("the host got\n%s\nwant\n%s", got, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("the host got\n%s\nwithout %s", got, want)
				}
			}
		})
	}
}

// A stream that drops goes on by GET; what comes twice is passed on once.
func TestResume(t *testing.T) {
	var s seen
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body := s.take(r)
		switch {
		case strings.Contains(body, "initialize"):
			w.Header().Set("Mcp-Session-Id", "s")
			answerJSON(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26"}}`)
		case r.Method == "POST":
			answerEvents(w, "retry: 1\nid: a\ndata: \n\nid: b\ndata: {\"method\":\"one\"}\n\nid: c\ndata: {\"method\":\"unfin")
			panic(http.ErrAbortHandler)
		case r.Header.Get("Last-Event-Id") == "b":
			answerEvents(w, "id: b\ndata: {\"method\":\"one\"}\n\nid: c\ndata: {\"method\":\"two\"}\n\n")
		case r.Method == "GET":
			answerEvents(w, "id: d\ndata: {\"id\":1,\"result\":{}}\n\n")
		}
	}, nil)
	x.send(initialize)
	x.line()
	x.send(ping)
	x.want(`{"method":"one"}`, `{"method":"two"}`, `{"id":1,"result":{}}`)
	x.end()
	s.want(t, "POST /mcp "+initialize, "POST /mcp Mcp-Session-Id=s "+ping, "GET /mcp Mcp-Session-Id=s Last-Event-Id=b",
		"GET /mcp Mcp-Session-Id=s Last-Event-Id=c", "DELETE /mcp Mcp-Session-Id=s")
}

// A server of 2024-11-05: found by the refused initialize, all answers on one stream.
func TestOldTransport(t *testing.T) {
	for _, endpoint := range []string{"/message?s=1", "http://HOST/message?s=1"} {
		var s seen
		events := make(chan string, 10)
		x := start(t, func(w http.ResponseWriter, r *http.Request) {
			body := s.take(r)
			switch {
			case r.Method == "GET":
				answerEvents(w, "event: endpoint\ndata: "+strings.ReplaceAll(endpoint, "HOST", r.Host)+"\r\n\r\n")
				for {
					select {
					case e := <-events:
						answerEvents(w, "event: message\ndata: "+e+"\n\n")
					case <-r.Context().Done():
						return
					}
				}
			case r.URL.Path == "/mcp":
				http.Error(w, "no", http.StatusMethodNotAllowed)
			case strings.Contains(body, "initialize\""):
				events <- `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05"}}`
				w.WriteHeader(202)
				io.WriteString(w, "Accepted")
			case strings.Contains(body, "ping"):
				events <- `{"jsonrpc":"2.0","id":1,"result":{}}`
				w.WriteHeader(202)
			default:
				w.WriteHeader(202)
			}
		}, nil)
		x.send(initialize)
		x.want(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05"}}`)
		x.send(initialized, ping)
		x.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		x.end()
		s.want(t, "POST /mcp "+initialize, "GET /mcp", "POST /message?s=1 "+initialize, "POST /message?s=1 "+initialized, "POST /message?s=1 "+ping)
	}
}

// An endpoint elsewhere would get the credentials.
func TestOldTransportElsewhere(t *testing.T) {
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			answerEvents(w, "event: endpoint\ndata: http://other.example/message\n\n")
			<-r.Context().Done()
			return
		}
		http.Error(w, "no", http.StatusMethodNotAllowed)
	}, nil)
	x.send(initialize)
	if l := x.line(); !strings.Contains(l, `"status":405`) || !strings.Contains(l, "madeBy") {
		t.Error(l)
	}
	x.end()
}

// The session's end is the end of its stream, and calls must not hang.
func TestOldTransportStreamEnds(t *testing.T) {
	end := make(chan struct{})
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == "GET":
			answerEvents(w, "event: endpoint\ndata: /m\n\n")
			<-end
		case r.URL.Path == "/mcp":
			http.NotFound(w, r)
		default:
			w.WriteHeader(202)
			if bytes.Contains(body, []byte("initialize")) {
				close(end)
			}
		}
	}, nil)
	x.send(initialize)
	if l := x.line(); !strings.Contains(l, `"code":-32096`) {
		t.Error(l)
	}
	x.send(ping)
	if l := x.line(); !strings.Contains(l, `"id":1,"error":{"code":-32096`) {
		t.Error(l)
	}
	x.end()
}

func TestRedirectWithinTheServer(t *testing.T) {
	var s seen
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		s.take(r)
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		answerJSON(w, `{"id":1,"result":{}}`)
	}, nil)
	x.send(ping)
	x.want(`{"id":1,"result":{}}`)
	x.end()
	s.want(t, "POST /mcp "+ping, "POST /mcp/ "+ping)
}

// At the host's end of file, what was asked is still brought.
func TestAnswersAfterTheEnd(t *testing.T) {
	release := make(chan struct{})
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answerJSON(w, `{"id":1,"result":{}}`)
	}, nil)
	io.WriteString(x.in, ping) // a whole message without its line end, too
	x.in.Close()
	close(release)
	if _, rest := x.over(); !slices.Equal(rest, []string{`{"id":1,"result":{}}`}) {
		t.Errorf("%q", rest)
	}
}

// What does not come is not waited for beyond the limit, nor is half a line sent.
func TestEndWithoutAnswers(t *testing.T) {
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		answerEvents(w, "data: {\"method\":\"begun\"}\n\n")
		<-r.Context().Done()
	}, func(c *bridge.Bridge) { c.Waits.Answers = time.Millisecond })
	x.send(ping)
	x.line()
	io.WriteString(x.in, `{"id":2,"method":"x"`)
	status, rest := x.end()
	if status.ExitCode() != 0 || len(rest) > 0 {
		t.Errorf("%+v %q", status, rest)
	}
	if len(x.tap.bodies) != 2 {
		t.Errorf("bodies %q", x.tap.bodies)
	}
}

func TestSignalEnds(t *testing.T) {
	var s seen
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body := s.take(r)
		switch {
		case strings.Contains(body, "initialize"):
			w.Header().Set("Mcp-Session-Id", "s")
			answerJSON(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`)
		case r.Method == "POST":
			answerEvents(w, "data: {\"method\":\"begun\"}\n\n")
			<-r.Context().Done()
		}
	}, nil)
	x.send(initialize)
	x.line()
	x.send(ping)
	x.line()
	x.signal <- syscall.SIGWINCH
	x.signal <- syscall.SIGTERM
	status, rest := x.over()
	if status.Signal != syscall.SIGTERM || len(rest) > 0 {
		t.Errorf("%+v %q", status, rest)
	}
	if got := s.log[len(s.log)-1]; got != "DELETE /mcp Mcp-Session-Id=s Mcp-Protocol-Version=2025-06-18" {
		t.Errorf("last: %s", got)
	}
}

// A server that never takes a notification does not hold up the rest for ever.
func TestNotificationThatIsNotTaken(t *testing.T) {
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("ping")) {
			answerJSON(w, `{"id":1,"result":{}}`)
			return
		}
		<-r.Context().Done()
	}, func(c *bridge.Bridge) { c.Waits.Taken = time.Millisecond })
	x.send(initialized, ping)
	x.want(`{"id":1,"result":{}}`)
	x.end()
}

// A host that reads no more ends the bridge.
func TestHostGone(t *testing.T) {
	x := start(t, func(w http.ResponseWriter, r *http.Request) { answerJSON(w, `{"id":1,"result":{}}`) },
		func(c *bridge.Bridge) { c.Stdout = brokenPipe{} })
	x.send(ping)
	x.over()
	last := x.tap.events[len(x.tap.events)-1]
	if last.Kind != record.KindUndelivered || last.Lost.Bytes != 21 {
		t.Errorf("%+v", last)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A recorder that panics does not stop the traffic.
func TestPanicInTheTap(t *testing.T) {
	var notes []string
	x := start(t, func(w http.ResponseWriter, r *http.Request) { answerJSON(w, `{"id":1,"result":{}}`) },
		func(c *bridge.Bridge) { c.Tap, c.Note = &panicking{}, func(l string) { notes = append(notes, l) } })
	x.send(ping)
	x.want(`{"id":1,"result":{}}`)
	x.end()
	if len(notes) != 1 || !strings.Contains(notes[0], "recording stopped") {
		t.Errorf("%q", notes)
	}
}

// A recorder that makes traffic wait (--lossless, and a full disk) does not keep a
// signal from ending the bridge.
func TestSignalBesideAFullDisk(t *testing.T) {
	tap := &full{full: make(chan struct{}), gaveUp: make(chan struct{})}
	x := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mcp-Session-Id", "s")
		answerJSON(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`)
	}, func(c *bridge.Bridge) { c.Tap = tap })
	x.send(initialize)
	x.line()
	close(tap.full)
	x.send(ping)
	x.signal <- syscall.SIGTERM
	if status, _ := x.over(); status.Signal != syscall.SIGTERM {
		t.Errorf("%+v", status)
	}
}

// full is a tap that takes no head of HTTP any more once full is closed.
type full struct {
	memory
	full, gaveUp chan struct{}
}

func (f *full) GiveUp() { close(f.gaveUp) }

func (f *full) Event(r record.Record) {
	select {
	case <-f.full:
		if r.Request != nil {
			<-f.gaveUp
		}
	default:
	}
	f.memory.Event(r)
}

type panicking struct{ memory }

func (*panicking) Data(record.From, []byte) { panic("x") }
