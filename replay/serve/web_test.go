package serve

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
)

// site is a replay over HTTP with clients of it.
type site struct {
	t   *testing.T
	url string
}

func serving(t *testing.T, s *Server) site {
	t.Helper()
	web := s.Web()
	srv := httptest.NewServer(web)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close(); web.Close(); transport.CloseIdleConnections() })
	return site{t, srv.URL}
}

// answer is a response as its client saw it.
type answer struct {
	status   int
	kind, id string
	body     string
	cut      bool
}

func (s site) do(method, body, id string, fields ...string) answer {
	s.t.Helper()
	res := s.open(context.Background(), method, body, id, fields...)
	if res == nil {
		return answer{cut: true}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Mcp-Session-Id"), string(b), err != nil}
}

func (s site) open(ctx context.Context, method, body, id string, fields ...string) *http.Response {
	s.t.Helper()
	if strings.HasPrefix(body, "{") {
		body = `{"jsonrpc":"2.0",` + body[1:]
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if id != "" {
		req.Header.Set("Mcp-Session-Id", id)
	}
	for _, f := range fields {
		name, v, _ := strings.Cut(f, ": ")
		req.Header.Set(name, v)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil
	}
	return res
}

const webShake = `
1 POST {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
1 200 json sid:S {"id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
2 POST sid:S {"method":"notifications/initialized"}
2 202 empty
`

func TestTwoClientsHaveASessionEach(t *testing.T) {
	r, err := fixtures.HTTPScript(webShake + `
3 POST sid:S {"id":1,"method":"tools/call","params":{"name":"a"}}
3 200 json {"id":1,"result":"first"}
4 POST sid:S {"id":2,"method":"tools/call","params":{"name":"a"}}
4 200 sse
4 event id:7 {"id":2,"result":"second"}
4 last
5 DELETE sid:S
5 200 empty
`)
	s := server(t, load(t, r, err), Config{})
	at := serving(t, s)
	var ids []string
	for range 2 {
		a := at.do("POST", `{"id":"i","method":"initialize","params":{}}`, "")
		if a.id == "" || a.status != 200 || !strings.Contains(a.body, `"id":"i"`) {
			t.Fatalf("%+v", a)
		}
		ids = append(ids, a.id)
	}
	if ids[0] == ids[1] {
		t.Error("both have one session")
	}
	call := `{"id":"x","method":"tools/call","params":{"name":"a"}}`
	for _, id := range ids {
		if a := at.do("POST", `{"method":"notifications/initialized"}`, id); a.status != 202 {
			t.Errorf("%+v", a)
		}
		same(t, "first", at.do("POST", call, id), answer{200, "application/json", "", `{"jsonrpc":"2.0","id":"x","result":"first"}`, false})
	}
	for _, id := range ids {
		a := at.do("POST", call, id)
		if a.kind != "text/event-stream" || !strings.Contains(a.body, "id: 7\n") || !strings.Contains(a.body, `data: {"jsonrpc":"2.0","id":"x","result":"second"}`) {
			t.Errorf("%+v", a)
		}
	}
	if a := at.do("DELETE", "", ids[0]); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := at.do("POST", call, ids[0]); a.status != 404 {
		t.Errorf("after its end: %+v", a)
	}
	if r := s.Report(); r.Clients != 2 || r.Answered != 6 || r.Missed != 0 || len(r.Unused) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestResponsesThatAreNoAnswer(t *testing.T) {
	r, err := fixtures.HTTPScript(webShake + `
3 POST sid:S {"id":1,"method":"tools/call","params":{"name":"status"}}
3 404 text no such thing
4 POST sid:S {"id":2,"method":"tools/call","params":{"name":"cut"}}
4 200 sse
4 raw ": on it\n\n"
4 cut server
5 POST sid:S {"id":3,"method":"tools/call","params":{"name":"empty"}}
5 200 sse
5 last
6 POST sid:S {"id":4,"method":"tools/call","params":{"name":"gone"}}
6 left server
`)
	tape := load(t, r, err)
	at := serving(t, server(t, tape, Config{}))
	id := at.do("POST", `{"id":0,"method":"initialize"}`, "").id
	call := func(tool string) answer {
		return at.do("POST", `{"id":9,"method":"tools/call","params":{"name":"`+tool+`"}}`, id)
	}
	if a := call("status"); a.status != 404 || !strings.Contains(a.body, "no such thing") || a.cut {
		t.Errorf("%+v", a)
	}
	same(t, "cut", call("cut"), answer{200, "text/event-stream", "", ": on it\n\n", true})
	same(t, "empty", call("empty"), answer{200, "text/event-stream", "", "", false})
	if a := call("gone"); !a.cut {
		t.Errorf("%+v", a)
	}
	// Over stdio a status is an error; what was cut off, or empty, is silence.
	got := ask(t, server(t, tape, Config{}), `{"id":9,"method":"tools/call","params":{"name":"status"}}`, `{"id":8,"method":"tools/call","params":{"name":"empty"}}`)
	if len(got) != 1 || !strings.Contains(got[0], `"id":9,"error":{"code":-32603,"message":"HTTP 404`) {
		t.Errorf("%q", got)
	}
}

func TestAuthorizationIsLeftOut(t *testing.T) {
	r, err := fixtures.HTTPScript(`
9 POST {"id":0,"method":"initialize","params":{}}
9 401 text who are you
` + strings.ReplaceAll(webShake, "sid:S {", "sid:S {"))
	s := server(t, load(t, r, err), Config{})
	if a := serving(t, s).do("POST", `{"id":0,"method":"initialize"}`, ""); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if r := s.Report(); r.LeftOut != 1 || len(r.Unused) != 0 {
		t.Errorf("%+v", r)
	}
}

// The stateless era: a stream of changes that come when what caused them is called, and
// a request whose client closes it.
func TestListenOverHTTP(t *testing.T) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	r, err := fixtures.HTTPScript(strings.ReplaceAll(`
1 POST {"id":"listen:0","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
1 200 sse
1 event {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}
2 POST {"id":1,"method":"tools/call","params":{"name":"grow",META}}
2 200 json {"id":1,"result":{"resultType":"complete","content":[]}}
1 event {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}
1 cut client
`, "META", meta))
	s := server(t, load(t, r, err), Config{})
	at := serving(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res := at.open(ctx, "POST", `{"id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`, "")
	stream := bufio.NewReader(res.Body)
	event := func() string {
		for {
			l, err := stream.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := strings.CutPrefix(l, "data: "); ok {
				return strings.TrimSpace(d)
			}
		}
	}
	same(t, "acknowledged", event(), `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}`)
	same(t, "call", at.do("POST", `{"id":6,"method":"tools/call","params":{"name":"grow",`+meta+`}}`, "").body, `{"jsonrpc":"2.0","id":6,"result":{"resultType":"complete","content":[]}}`)
	same(t, "changed", event(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}`)
	if a := at.do("POST", `{"id":7,"method":"tools/call","params":{"name":"shrink",`+meta+`}}`, ""); a.status != 200 || !strings.Contains(a.body, "recorded are grow") {
		t.Errorf("%+v", a)
	}
}

// A recording of stdio, served over HTTP: what belongs to a call comes on its stream,
// the rest on the client's own.
func TestStdioRecordingOverHTTP(t *testing.T) {
	s := server(t, load(t, script(shake+`
< {"method":"notifications/tools/list_changed"}
> {"id":1,"method":"tools/list"}
< {"id":1,"result":{"tools":[]}}
> {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
< {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
< {"id":2,"result":2}
> [{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"prompts/list"}]
< [{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":4,"result":4}]
`), nil), Config{})
	at := serving(t, s)
	id := at.do("POST", `{"id":0,"method":"initialize"}`, "").id
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res := at.open(ctx, "GET", "", id, "Accept: text/event-stream")
	if a := at.do("POST", `{"method":"notifications/initialized"}`, id); a.status != 202 {
		t.Errorf("%+v", a)
	}
	l, _ := bufio.NewReader(res.Body).ReadString('{')
	if !strings.Contains(l, "data: ") {
		t.Errorf("%q", l)
	}
	same(t, "list", at.do("POST", `{"id":"l","method":"tools/list"}`, id), answer{200, "application/json", "", `{"jsonrpc":"2.0","id":"l","result":{"tools":[]}}`, false})
	same(t, "call", at.do("POST", `{"id":"c","method":"tools/call","params":{"name":"a","_meta":{"progressToken":"t"}}}`, id), answer{200, "text/event-stream", "",
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"t\",\"progress\":1}}\n\n" +
			"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"c\",\"result\":2}\n\n", false})
	same(t, "batch", at.do("POST", `[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"prompts/list"}]`, id).body,
		"event: message\ndata: [{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":4}]\n\n")
	if r := s.Report(); r.Missed != 0 || len(r.Unused) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1:80": true, "localhost:8080": true, "[::1]:1": true, "LOCALHOST": true, "127.0.0.9": true,
		"evil.test": false, "localhost.evil.test": false, "192.168.0.1:80": false, "": false, "0x7f.1": false} {
		if got := loopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// Over legacy HTTP+SSE every answer comes on the stream, a miss, too.
func TestMissOverLegacySSE(t *testing.T) {
	r, err := fixtures.HTTPScript(`
1 GET /mcp
1 200 sse
1 raw "event: endpoint\ndata: http://127.0.0.1:9/post?sessionId=abc\n\n"
2 POST /post?sessionId=abc {"id":0,"method":"initialize","params":{}}
2 202 empty
1 event {"id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
`)
	s := server(t, load(t, r, err), Config{})
	at := serving(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res := at.open(ctx, "GET", "", "", "Accept: text/event-stream")
	stream := bufio.NewReader(res.Body)
	data := func() string {
		for {
			l, err := stream.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := strings.CutPrefix(l, "data: "); ok {
				return strings.TrimSpace(d)
			}
		}
	}
	point := data()
	if !strings.HasPrefix(point, "/post?sessionId=") || strings.HasSuffix(point, "=abc") {
		t.Fatal(point)
	}
	base := at.url
	at.url = base + point + "&x=" // what do adds is of no matter
	for _, body := range []string{`{"id":7,"method":"initialize"}`, `{"id":8,"method":"tools/list"}`} {
		if a := at.do("POST", body, ""); a.status != 202 {
			t.Errorf("%+v", a)
		}
	}
	if a := data(); !strings.HasPrefix(a, `{"jsonrpc":"2.0","id":7,"result":{"protocolVersion"`) {
		t.Error(a)
	}
	if a := data(); !strings.HasPrefix(a, `{"jsonrpc":"2.0","id":8,"error":{"code":-32019,`) {
		t.Error(a)
	}
}
