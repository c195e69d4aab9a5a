package session_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Pairs over HTTP: by the exchange first, then by the stream that is resumed, then
// by the session.
func TestPairsOverHTTP(t *testing.T) {
	for name, c := range map[string]struct{ script, want, orphans string }{
		"two chats that number every request 1": {hello + `
			3 POST sid:S conn:2 ` + callT + `
			4 POST sid:S conn:3 ` + callT + `
			4 200 json ` + goodT + `
			3 200 sse
			3 event ` + goodT + `
			3 last`, "client 1 initialize result@1 200|client 3 tools/call result@3 200|client 4 tools/call result@4 200", ""},
		"a stream that drops goes on by GET": {hello + `
			3 POST sid:S ` + callT + `
			3 200 sse
			3 event id:e1
			3 cut server
			4 GET sid:S last:e1
			4 200 sse
			4 event id:e2 ` + goodT + `
			4 last`, "client 1 initialize result@1 200|client 3 tools/call result@4 200", ""},
		"of two with one id, the one whose stream is resumed": {hello + `
			3 POST sid:S ` + callT + `
			3 200 sse
			3 event id:a1
			4 POST sid:S ` + callT + `
			4 200 sse
			4 event id:b1
			3 cut server
			4 cut server
			5 GET sid:S last:b1
			5 200 sse
			5 event id:b2 ` + goodT + `
			5 last`, "client 1 initialize result@1 200|client 3 tools/call unanswered@0 200|client 4 tools/call result@5 200", ""},
		"an event that is sent again is a duplicate, whoever uses the id now": {hello + `
			3 POST sid:S ` + callT + `
			3 200 sse
			3 event id:a1 ` + goodT + `
			3 last
			4 POST sid:S ` + callT + `
			4 200 sse
			5 GET sid:S last:a0
			5 200 sse
			5 event id:a1 ` + goodT + `
			5 last
			4 event id:b1 ` + goodT + `
			4 last`, "client 1 initialize result@1 200|client 3 tools/call result@3 200|client 4 tools/call result@4 200", "duplicate@5"},
		"the server's own request, answered by a POST": {hello + `
			3 POST sid:S ` + callT + `
			3 200 sse
			3 event {"id":1,"method":"roots/list"}
			4 POST sid:S {"id":1,"result":{"roots":[]}}
			4 202
			3 event ` + goodT + `
			3 last`, "client 1 initialize result@1 200|client 3 tools/call result@3 200|server 3 roots/list result@4 200", ""},
		"a batch, answered in two events": {hello + `
			3 POST sid:S [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]
			3 200 sse
			3 event {"id":2,"result":{}}
			3 event {"id":1,"result":{}}
			3 last`, "client 1 initialize result@1 200|client 3 ping result@3 200|client 3 ping result@3 200", ""},
		"an error with id null is the exchange's": {hello + `
			3 POST sid:S ` + callT + `
			3 400 json {"id":null,"error":{"code":-32000,"message":"no"}}`, "client 1 initialize result@1 200|client 3 tools/call error@3 400", ""},
		"so is one without an id": {hello + `
			3 POST sid:S ` + callT + `
			3 200 json {"error":{"code":-32000,"message":"no"},"id":null}`, "client 1 initialize result@1 200|client 3 tools/call error@3 200", ""},
		"and a text under a status": {hello + `
			3 POST sid:S ` + callT + `
			3 404 text Invalid session ID`, "client 1 initialize result@1 200|client 3 tools/call error@3 404", ""},
		"a batch that is refused as a whole": {hello + `
			3 POST sid:S [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]
			3 400 json {"id":null,"error":{"code":-32700,"message":"no batches"}}`, "client 1 initialize result@1 200|client 3 ping error@3 400|client 3 ping error@3 400", ""},
		"a text id under 200 answers nothing": {hello + `
			3 POST sid:S ` + callT + `
			3 200 json {"id":"server-error","error":{"code":-32600,"message":"x"}}`, "client 1 initialize result@1 200|client 3 tools/call unanswered@0 200", "orphan@3"},
		"in the newer era an answer is in its own exchange or nowhere": {`
			1 POST ` + newer("tools/call", "") + `
			1 200 sse
			2 POST ` + strings.Replace(newer("tools/call", ""), `"id":1`, `"id":2`, 1) + `
			2 200 json ` + goodT + `
			1 event ` + goodT + `
			1 last`, "client 1 tools/call result@1 200|client 2 tools/call unanswered@0 200", "orphan@2"},
		"a server that answers before it has read everything": {hello + `
			3 POST sid:S ` + callT + `
			3 413 text too large`, "client 1 initialize result@1 200|client 3 tools/call error@3 413", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneHTTP(t, c.script)
			if got := webPairs(s); got != c.want {
				t.Errorf("\n%s, want\n%s", got, c.want)
			}
			var orphans []string
			for _, o := range s.Orphans {
				what := "orphan"
				if o.Duplicate {
					what = "duplicate"
				}
				orphans = append(orphans, fmt.Sprintf("%s@%d", what, o.Exchange))
			}
			if got := strings.Join(orphans, " "); got != c.orphans {
				t.Errorf("orphans %q, want %q", got, c.orphans)
			}
		})
	}
}

// How a call without an answer ended (wire.md 3.3, the columns of HTTP).
func TestCallStatesOverHTTP(t *testing.T) {
	m := newer("tools/call", "")
	for name, c := range map[string]struct{ script, want, capture string }{
		"a stream that ends without the answer":                 {hello + "3 POST sid:S " + callT + "\n3 200 sse\n3 event {\"method\":\"notifications/message\"}\n3 last", "neverAnswered", "complete"},
		"… whose events have ids: the client did not come back": {hello + "3 POST sid:S " + callT + "\n3 200 sse\n3 event id:1\n3 last", "clientGone", "partial"},
		"an empty body": {hello + "3 POST sid:S " + callT + "\n3 200", "neverAnswered", "complete"},
		"a body that is broken off by the server":   {hello + "3 POST sid:S " + callT + "\n3 200 sse\n3 cut server", "connectionDrop", "complete"},
		"JSON that is broken off":                   {hello + "3 POST sid:S " + callT + "\n3 200 sse h:Content-Type=application/json\n3 raw \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\"\n3 cut server", "connectionDrop", "complete"},
		"the client leaves, in the initialize era":  {hello + "3 POST sid:S " + callT + "\n3 200 sse\n3 cut client", "clientGone", "partial"},
		"the client leaves, in the stateless era":   {"1 POST " + m + "\n1 200 sse\n1 cut client", "cancelled", "complete"},
		"… before the head":                         {"1 POST " + m + "\n1 left client", "cancelled", "complete"},
		"the server resets before the head":         {"1 POST " + m + "\n1 left server", "connectionDrop", "complete"},
		"sixlink is stopped":                        {hello + "3 POST sid:S " + callT + "\n3 200 sse\n3 cut proxy", "clientGone", "partial"},
		"502":                                       {hello + "3 POST sid:S " + callT + "\n3 502 text bad gateway", "connectionDrop", "complete"},
		"503 with a JSON-RPC error is the server's": {hello + "3 POST sid:S " + callT + "\n3 503 json {\"id\":1,\"error\":{\"code\":-32000,\"message\":\"busy\"}}", "protocolError", "complete"},
		"500":              {hello + "3 POST sid:S " + callT + "\n3 500 text oops", "protocolError", "complete"},
		"429":              {hello + "3 POST sid:S " + callT + "\n3 429", "protocolError", "complete"},
		"202 to a request": {hello + "3 POST sid:S " + callT + "\n3 202", "notMeasured", "partial"},
		"202 to a request, answered on another stream": {hello + "3 GET sid:S\n3 200 sse\n4 POST sid:S " + callT + "\n4 202\n3 event " + goodT, "result", "complete"},
		"HTML":                                               {hello + "3 POST sid:S " + callT + "\n3 200 text h:Content-Type=text/html sorry", "notMeasured", "partial"},
		"JSON under the type of a stream":                    {hello + "3 POST sid:S " + callT + "\n3 200 json h:Content-Type=text/event-stream " + goodT, "notMeasured", "partial"},
		"a stream under the type of JSON":                    {hello + "3 POST sid:S " + callT + "\n3 200 sse h:Content-Type=application/json\n3 event " + goodT + "\n3 last", "notMeasured", "partial"},
		"gzip that is none":                                  {hello + "3 POST sid:S " + callT + "\n3 200 json h:Content-Encoding=gzip " + goodT, "notMeasured", "partial"},
		"a coding that nobody knows":                         {hello + "3 POST sid:S " + callT + "\n3 200 json h:Content-Encoding=lzma " + goodT, "notMeasured", "partial"},
		"a redirect that is followed":                        {hello + "3 POST sid:S " + callT + "\n3 307 empty h:Location=/mcp/\n4 POST /mcp/ sid:S " + callT + "\n4 200 json " + goodT, "result", "complete"},
		"a redirect that is not":                             {hello + "3 POST sid:S " + callT + "\n3 307 empty h:Location=/mcp/", "clientGone", "partial"},
		"401, then success":                                  {hello + "3 POST sid:S " + callT + "\n3 401\n4 POST sid:S auth:A " + callT + "\n4 200 json " + goodT, "result", "complete"},
		"401, and nothing":                                   {hello + "3 POST sid:S " + callT + "\n3 401", "protocolError", "complete"},
		"the upstream is not reached":                        {hello + "3 POST sid:S " + callT + "\n3 error connect\n3 made 502", "undelivered", "complete"},
		"the upstream breaks off while it is sent":           {hello + "3 POST sid:S " + callT + "\n3 error send\n3 left proxy", "connectionDrop", "complete"},
		"sixlink refuses it itself":                          {hello + "3 POST sid:S " + callT + "\n3 made 403", "undelivered", "complete"},
		"cancelled by a notification":                        {hello + "3 POST sid:S " + callT + "\n3 200 sse\n4 POST sid:S {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n4 202\n3 last", "cancelled", "complete"},
		"cancelled with the words of a timeout":              {hello + "3 POST sid:S " + callT + "\n3 200 sse\n4 POST sid:S {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"reason\":\"Request timed out\"}}\n4 202\n3 last", "clientTimeout", "complete"},
		"a gap inside":                                       {hello + "3 POST sid:S " + callT + "\n3 200 sse\ngap\n3 last", "notMeasured", "partial"},
		"a recording that is torn":                           {hello + "3 POST sid:S " + callT + "\n3 200 sse\ntorn", "notMeasured", "partial"},
		"a recording that is still written":                  {hello + "3 POST sid:S " + callT + "\n3 200 sse\nlive", "notMeasured", "partial"},
		"open at the end":                                    {hello + "3 POST sid:S " + callT + "\n3 200 sse", "clientGone", "partial"},
		"sent again by the client: two calls":                {hello + "3 POST sid:S " + callT + "\n3 200 sse\n3 cut server\n4 POST sid:S " + callT + "\n4 200 json " + goodT, "connectionDrop result", "complete"},
		"404 to the session's id":                            {hello + "3 POST sid:S " + callT + "\n3 404 json {\"id\":null,\"error\":{\"code\":-32001,\"message\":\"Session not found\"}}", "protocolError", "complete"},
		"an isError":                                         {hello + "3 POST sid:S " + callT + "\n3 200 json {\"id\":1,\"result\":{\"isError\":true,\"content\":[]}}", "toolError", "complete"},
		"legacy SSE: the stream is closed by the client":     {legacySSE + "3 POST /m?s=1 " + callT + "\n3 202\n1 cut client", "clientGone", "partial"},
		"legacy SSE: the stream is broken off by the server": {legacySSE + "3 POST /m?s=1 " + callT + "\n3 202\n1 cut server", "connectionDrop", "complete"},
		"legacy SSE: later work is answered":                 {legacySSE + "3 POST /m?s=1 " + callT + "\n3 202\n4 POST /m?s=1 {\"id\":9,\"method\":\"resources/list\"}\n4 202\n1 event {\"id\":9,\"result\":{}}\n1 cut client", "neverAnswered", "complete"},
		// A stream may be open for a day: of one gap it must recover.
		"legacy SSE: a gap before the call":                       {legacySSE + "gap\n3 POST /m?s=1 " + callT + "\n3 202\n1 event " + goodT, "result", "partial"},
		"legacy SSE: a hole in the stream before the call":        {legacySSE + "gap\n1 lose 40\n1 raw \"ta: x\\n\\n\"\n3 POST /m?s=1 " + callT + "\n3 202\n1 event " + goodT, "result", "partial"},
		"legacy SSE: what stands behind a hole may be the answer": {legacySSE + "gap\n1 lose 40\n3 POST /m?s=1 " + callT + "\n3 202\n1 event " + goodT + "\n1 cut client", "notMeasured", "partial"},
		"legacy SSE: … and the next one is":                       {legacySSE + "gap\n1 lose 40\n3 POST /m?s=1 " + callT + "\n3 202\n1 event {\"id\":7,\"result\":{}}\n1 event " + goodT, "result", "partial"},
		"a hole in the stream, and the answer behind it":          {hello + "3 POST sid:S " + callT + "\n3 200 sse\n3 raw \"data: {\"\ngap\n3 lose 9\n3 raw \"}\\r\\n\\r\\n\"\n3 event " + goodT + "\n3 last", "result", "partial"},
		"a hole in a JSON text":                                   {hello + "3 POST sid:S " + callT + "\n3 200 sse h:Content-Type=application/json\ngap\n3 lose 9\n3 event " + goodT + "\n3 last", "notMeasured", "partial"},
		// Clients look at the status first.
		"202 with the answer in its body":                         {hello + "3 POST sid:S " + callT + "\n3 202 json " + goodT, "notMeasured", "partial"},
		"500 with a result in its body":                           {hello + "3 POST sid:S " + callT + "\n3 500 json " + goodT, "protocolError", "complete"},
		"400 with results in its body":                            {hello + "3 POST sid:S " + callT + "\n3 400 json [" + goodT + "]", "protocolError", "complete"},
		"legacy SSE: a body with the 202, as TypeScript sends it": {legacySSE + "3 POST /m?s=1 " + callT + "\n3 202 text Accepted\n1 event " + goodT, "result", "complete"},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneHTTP(t, c.script)
			if got := webStates(s); got != c.want {
				t.Errorf("%s (%s), want %s", got, s.Calls[0].Ended, c.want)
			}
			if got := string(s.Capture.ToolErrors); got != c.capture {
				t.Errorf("errors are %s (%q), want %s", got, s.Capture.Why, c.capture)
			}
			if s.Capture.ToolCalls != session.Complete && !strings.Contains(c.script, "gap") && !strings.Contains(c.script, "torn") && !strings.Contains(c.script, "live") {
				t.Errorf("calls are %s: %q", s.Capture.ToolCalls, s.Capture.Why)
			}
		})
	}
}

// legacySSE is a handshake over two endpoints: the stream is exchange 1.
const legacySSE = `
	1 GET /sse
	1 200 sse
	1 raw "event: endpoint\ndata: /m?s=1\r\n\r\n"
	2 POST /m?s=1 {"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"host","version":"1"}}}
	2 202
	1 event type:message {"id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"2"}}}
`

// What is unreadable is never an empty list.
func TestListsOverHTTP(t *testing.T) {
	const list = `{"id":1,"method":"tools/list"}`
	const tools = `{"id":1,"result":{"tools":[{"name":"a","inputSchema":{}}]}}`
	for name, c := range map[string]struct {
		response string
		state    catalog.State
		capture  session.CaptureState
	}{
		"JSON":                     {"3 200 json " + tools, catalog.Complete, session.Complete},
		"events":                   {"3 200 sse\n3 event " + tools + "\n3 last", catalog.Complete, session.Complete},
		"another JSON type":        {"3 200 json h:Content-Type=application/vnd.x+json;charset=utf-8 " + tools, catalog.Complete, session.Complete},
		"mislabelled JSON":         {"3 200 json h:Content-Type=text/event-stream " + tools, catalog.Open, session.Partial},
		"mislabelled events":       {"3 200 sse h:Content-Type=application/json\n3 event " + tools + "\n3 last", catalog.Open, session.Partial},
		"no type":                  {"3 200 json h:Content-Type= " + tools, catalog.Open, session.Partial},
		"HTML":                     {"3 200 text h:Content-Type=text/html oops", catalog.Open, session.Partial},
		"HTML under JSON":          {"3 200 text h:Content-Type=application/json oops", catalog.Open, session.Partial},
		"an unknown coding":        {"3 200 json h:Content-Encoding=zip " + tools, catalog.Open, session.Partial},
		"401":                      {"3 401", catalog.Open, session.Partial},
		"502":                      {"3 502", catalog.Open, session.Partial},
		"500":                      {"3 500", catalog.Failed, session.Partial},
		"broken off by the server": {"3 200 sse\n3 cut server", catalog.Failed, session.Partial},
		"left by the client":       {"3 200 sse\n3 cut client", catalog.Open, session.Partial},
		"no answer":                {"3 200", catalog.Failed, session.Partial},
		"a gap inside":             {"3 200 sse\ngap\n3 event " + tools + "\n3 last", catalog.Open, session.Partial},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneHTTP(t, hello+"3 POST sid:S "+list+"\n"+c.response)
			if len(s.Lists) != 1 || s.Lists[0].State != c.state || s.Capture.ToolDeclarations != c.capture {
				t.Errorf("%+v, declarations %s, want %s, %s", s.Lists[0], s.Capture.ToolDeclarations, c.state, c.capture)
			}
		})
	}
}

// Which exchanges are one session, and why (wire.md 4, DESIGN.md "Sessions").
func TestSessionsOverHTTP(t *testing.T) {
	m := newer("tools/call", "")
	legacyCall := func(more string) string {
		return `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{` + more + `}}}`
	}
	bootstrap := `
		1 POST ua:openai-mcp/1.0.0 auth:A {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"openai-mcp","version":"1.0.0"}}}
		1 200 json sid:S {"id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"2"}}}
		2 POST ua:openai-mcp/1.0.0 auth:A {"id":1,"method":"tools/list"}
		2 200 json {"id":1,"result":{"tools":[{"name":"t","inputSchema":{}}]}}
`
	chat := func(n int, conversation string) string {
		return fmt.Sprintf("%d POST ua:openai-mcp/1.0.0 auth:A conn:%d %s\n%d 200 json %s\n", n, n, legacyCall(`"openai/session":"`+conversation+`"`), n, goodT)
	}
	for name, c := range map[string]struct{ script, key, want string }{
		"one client without ids":                        {"1 POST " + m + "\n1 200 json " + goodT + "\n2 POST conn:2 " + m + "\n2 200 json " + goodT, "", "2"},
		"two clients by their names":                    {"1 POST " + m + "\n2 POST conn:2 " + strings.ReplaceAll(m, `"host"`, `"other"`), "", "1 1"},
		"two principals":                                {"1 POST auth:A " + m + "\n1 200 json " + goodT + "\n2 POST auth:B conn:2 " + m + "\n2 200 json " + goodT + "\n3 POST auth:A conn:3 " + m, "", "2 1"},
		"with and without credentials":                  {"1 POST auth:A " + m + "\n1 200 json " + goodT + "\n2 POST conn:2 " + m, "", "1 1"},
		"401, then with credentials":                    {"1 POST " + m + "\n1 401\n2 POST auth:A " + m + "\n2 200 json " + goodT, "", "1"},
		"credentials that are refreshed after a 401":    {"1 POST auth:A " + m + "\n1 200 json " + goodT + "\n2 POST auth:A " + m + "\n2 401\n3 POST auth:B " + m + "\n3 200 json " + goodT, "", "2"},
		"two paths":                                     {"1 POST /a " + m + "\n2 POST /b " + m, "", "1 1"},
		"two user agents":                               {"1 POST ua:x " + m + "\n2 POST ua:y " + m, "", "1 1"},
		"half an hour of silence":                       {"1 POST " + m + "\n1 200 json " + goodT + "\nwait 31m\n2 POST conn:2 " + m, "", "1 1"},
		"… on a connection that stayed open":            {"1 POST " + m + "\n1 200 json " + goodT + "\nwait 31m\n2 POST " + m, "", "2"},
		"conversations by the host's own key":           {"1 POST " + newer("tools/call", `,"openai/session":"x"`) + "\n2 POST " + newer("tools/call", `,"openai/session":"y"`) + "\n3 POST conn:2 " + newer("tools/call", `,"openai/session":"x"`), "", "2 1"},
		"ChatGPT: one handshake, two conversations":     {bootstrap + chat(3, "x") + chat(4, "y") + chat(5, "x") + chat(6, "y"), "", "2 2"},
		"a host that drops the id":                      {hello + "3 POST conn:9 " + callT + "\n3 200 json " + goodT, "", "1"},
		"404, then begun again":                         {hello + "3 POST sid:S " + callT + "\n3 404\n4 POST {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n4 200 json sid:T {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n5 POST sid:T " + callT + "\n5 200 json " + goodT, "", "1 1"},
		"DELETE, then begun again":                      {hello + "3 POST sid:S " + callT + "\n3 200 json " + goodT + "\n4 DELETE sid:S\n4 204\n5 POST {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n5 200 json sid:T {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n6 POST sid:T " + callT, "", "1 1"},
		"two handshakes at once":                        {"1 POST {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n2 POST {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n1 200 json sid:S {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n2 200 json sid:T {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n3 POST sid:T " + callT + "\n4 POST sid:S " + callT, "", "1 1"},
		"initialize again without an id":                {"1 POST {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n1 200 json {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n2 POST " + callT + "\n3 POST {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n3 200 json {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n4 POST " + callT, "", "1 1"},
		"initialize is refused and tried again":         {"1 POST {\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"9\"}}\n1 400 json {\"id\":0,\"error\":{\"code\":-32602,\"message\":\"no\"}}\n2 POST {\"id\":1,\"method\":\"initialize\",\"params\":{}}\n2 200 json sid:S {\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n3 POST sid:S " + callT, "", "1"},
		"a probe of the newer era, then initialize":     {"1 POST " + newer("server/discover", "") + "\n1 400 json {\"id\":null,\"error\":{\"code\":-32000,\"message\":\"not initialized\"}}\n2 POST conn:2 {\"id\":0,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"host\",\"version\":\"1\"}}}\n2 200 json sid:S {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n3 POST sid:S " + callT, "", "1"},
		"an id from before the recording":               {"1 POST sid:S " + callT + "\n2 POST sid:S " + callT, "", "2"},
		"two streams of the old transport":              {legacySSE + strings.NewReplacer("1 GET", "11 GET", "1 200", "11 200", "1 raw", "11 raw", "1 event", "11 event", "2 POST", "12 POST", "2 202", "12 202", "s=1", "s=2").Replace(legacySSE) + "13 POST /m?s=2 " + callT + "\n13 202\n14 POST /m?s=1 " + callT + "\n14 202", "", "1 1"},
		"initialize is refused, then the old transport": {"21 POST /sse {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n21 405\n" + legacySSE + "3 POST /m?s=1 " + callT, "", "1"},
		"by connection":                                 {"1 POST " + m + "\n2 POST conn:2 " + m + "\n3 POST conn:1 " + m, "connection", "2 1"},
		"by principal":                                  {"1 POST auth:A " + m + "\n2 POST auth:B " + m + "\n3 POST auth:A ua:z " + m + "\n4 POST " + m, "principal", "2 1 1"},
		"by a field":                                    {"1 POST h:X-Chat=1 " + m + "\n2 POST h:X-Chat=2 " + m + "\n3 POST h:X-Chat=1 conn:4 " + m, "header:x-chat", "2 1"},
		"by a hidden field":                             {"1 POST auth:A " + m + "\n2 POST auth:B " + m + "\n3 POST auth:A " + m, "header:authorization", "2 1"},
		"by a member of _meta":                          {"1 POST " + newer("tools/call", `,"a/b":{"c":7}`) + "\n2 POST " + newer("tools/call", `,"a/b":{"c":8}`) + "\n3 POST " + newer("tools/call", `,"a/b":{"c":7}`), "meta:/a~1b/c", "2 1"},
		"by a member that the id would overrule":        {hello + "3 POST sid:S " + legacyCall(`"k":"x"`) + "\n4 POST sid:S " + legacyCall(`"k":"y"`), "meta:k", "0 1 1"},
	} {
		t.Run(name, func(t *testing.T) {
			res := runHTTP(t, c.script, func(o *session.Options) { o.SessionKey = c.key })
			var got []string
			for i, s := range res.Sessions {
				got = append(got, fmt.Sprint(len(s.Calls)))
				if s.ID != fmt.Sprintf("s%d", i+1) || i > 0 && s.FirstSeq < res.Sessions[i-1].FirstSeq {
					t.Errorf("%s begins at %d", s.ID, s.FirstSeq)
				}
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("calls by session %q, want %q", g, c.want)
				for _, s := range res.Sessions {
					t.Log(s.ID, s.Basis)
				}
			}
		})
	}
}

// A ChatGPT-shaped recording: one handshake, then calls without a session id, of
// two conversations in turns. Both sessions stand on the handshake and the list.
func TestChatGPT(t *testing.T) {
	r, err := fixtures.ChatGPT()
	if err != nil {
		t.Fatal(err)
	}
	res := decode(t, r)
	if len(res.Sessions) != 2 {
		t.Fatalf("%d sessions", len(res.Sessions))
	}
	var got []string
	for _, s := range res.Sessions {
		for _, c := range s.Calls {
			b, _ := c.Arguments.Bytes()
			got = append(got, fmt.Sprintf("%s %s %s", s.ID, b, c.State))
		}
		if s.Era != session.EraInitialize || s.Client.Name != "openai-mcp" || s.Server.Name == "" || s.Connection.Initialize == nil || s.Capture.ToolCalls != session.Complete {
			t.Errorf("%s: era %q, client %q, server %q, %+v", s.ID, s.Era, s.Client.Name, s.Server.Name, s.Capture)
		}
		if !strings.Contains(s.Basis, "openai/session") {
			t.Errorf("basis %q", s.Basis)
		}
	}
	want := []string{`s1 {"q":"a1"} result`, `s1 {"q":"a2"} result`, `s2 {"q":"b1"} result`, `s2 {"q":"b2"} result`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !strings.Contains(res.Sessions[1].Basis, "shared") {
		t.Errorf("basis %q", res.Sessions[1].Basis)
	}
}

func TestRemarksOverHTTP(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"half an event":        {hello + "3 GET sid:S\n3 200 sse\n3 raw \"data: {\\\"a\\\"\"\n3 last", session.FlagHalfEvent},
		"… at the end":         {hello + "3 GET sid:S\n3 200 sse\n3 raw \"data: x\\n\"", session.FlagHalfEvent},
		"an unknown type":      {hello + "3 GET sid:S\n3 200 sse\n3 event type:tick {}\n3 last", session.FlagEventType},
		"keep-alives":          {hello + "3 GET sid:S\n3 200 sse\n3 raw \": ping\\n\\n\"\n3 last", ""},
		"a priming event":      {hello + "3 GET sid:S\n3 200 sse\n3 event id:1\n3 last", ""},
		"202 to a request":     {hello + "3 POST sid:S " + callT + "\n3 202", session.FlagAccepted},
		"the old id":           {hello + "3 POST sid:S " + callT + "\n3 404", session.FlagSessionGone + " " + session.FlagHTTPError},
		"a redirect elsewhere": {hello + "3 POST sid:S " + callT + "\n3 302 empty h:Location=https://other.test/x", session.FlagRedirect},
		"a redirect past us":   {hello + "3 POST sid:S " + callT + "\n3 307 empty h:Location=http://up.test/mcp/", session.FlagRedirect},
		"a redirect to us":     {hello + "3 POST sid:S " + callT + "\n3 307 empty h:Location=http://proxy.test/mcp/", ""},
		"a text id under 4xx":  {hello + "3 POST sid:S " + callT + "\n3 400 json {\"id\":\"x\",\"error\":{\"code\":-32000,\"message\":\"no\"}}", session.FlagByExchange},
		"GET refused":          {hello + "3 GET sid:S\n3 405 text no", ""},
		"DELETE refused":       {hello + "3 DELETE sid:S\n3 501 json {\"id\":null,\"error\":{\"code\":-1,\"message\":\"no\"}}", ""},
		"null to a note":       {hello + "3 POST sid:S {\"method\":\"notifications/x\"}\n3 200 text h:Content-Type=application/json null", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := oneHTTP(t, c.script)
			if got := flagsOnly(s); got != c.want {
				t.Errorf("%q, want %q: %+v", got, c.want, s.Remarks)
			}
			for _, r := range s.Remarks {
				if r.Exchange != 3 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// An exchange whose request could not be read may have been a call.
func TestRequestsThatCannotBeRead(t *testing.T) {
	for name, script := range map[string]string{
		"no JSON":      hello + "3 POST sid:S {\"id\":1\n3 400",
		"a broken end": hello + "3 POST sid:S h:Content-Encoding=gzip " + callT + "\n3 400",
	} {
		t.Run(name, func(t *testing.T) {
			s := oneHTTP(t, script)
			if s.Capture.ToolCalls != session.Partial || flagsOnly(s) != session.FlagUnreadBody {
				t.Errorf("%+v, %s", s.Capture, flagsOnly(s))
			}
		})
	}
}

// A recording of the bridge is read by its frames; the exchanges lend their statuses.
func TestBridge(t *testing.T) {
	r := script(t, opened+tool("5")+answer("5")+goodbye)
	web := httpScript(t, "1 POST "+strings.Replace(callT, `"id":1`, `"id":5`, 1)+"\n1 200 json "+strings.Replace(goodT, `"id":1`, `"id":5`, 1)+"\n2 POST {\"id\":6,\"method\":\"ping\"}\n2 error connect\n2 left proxy")
	r.Header.Bridge = true
	for i, at := 0, 6; i < len(web.Records); i, at = i+1, at+1 {
		r.Records = append(r.Records[:min(at, len(r.Records))], append([]*record.Record{web.Records[i]}, r.Records[min(at, len(r.Records)):]...)...)
	}
	for i, rec := range r.Records {
		rec.Seq, rec.Ref.Off = int64(i)+1, int64(i)
	}
	s := only(t, decode(t, r))
	if !strings.Contains(s.Basis, "sixlink spoke HTTP") || s.Transport != "stdio" || webStates(s) != "result" || s.Connection.Spawn != nil || s.Connection.Unreached == nil {
		t.Errorf("%s, %s, %+v", s.Transport, webStates(s), s.Connection)
	}
	if h := s.Calls[0].Attempts[0].HTTP; h == nil || h.Status != 200 || h.Exchange != 1 {
		t.Errorf("%+v", h)
	}
}

// An answer that the bridge made is none of the server's; what a server writes into
// its own errors does not make them sixlink's.
func TestBridgeMade(t *testing.T) {
	const failed = `{"jsonrpc":"2.0","id":5,"error":{"code":-32093,"message":"sixlink: x","data":{"madeBy":"sixlink","why":"serverError","status":502}}}`
	for _, c := range []struct {
		name    string
		made    bool
		want    session.RPCError
		reached bool
	}{
		{"made by sixlink", true, session.RPCError{RawCode: "made by sixlink", Message: "sixlink: x", NoCode: true}, false},
		{"a server that says so", false, session.RPCError{Code: -32093, Message: "sixlink: x"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := script(t, "start\n> {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"initialize\",\"params\":{}}\n< "+failed)
			r.Header.Bridge = true
			for i, rec := range r.Records {
				if c.made && rec.Kind == record.KindFrame && rec.From == record.Server {
					mark := &record.Record{Kind: record.KindError, Error: &record.Error{What: record.Made, Error: "serverError"}}
					r.Records = append(r.Records[:i:i], append([]*record.Record{mark}, r.Records[i:]...)...)
					break
				}
			}
			for i, rec := range r.Records {
				rec.Seq, rec.Ref.Off = int64(i)+1, int64(i)
			}
			s := only(t, decode(t, r))
			ini := s.Connection.Initialize
			if ini != nil && ini.Error != nil && c.want.Code != 0 {
				if b, err := ini.Error.Whole.Bytes(); err != nil || !strings.Contains(string(b), `"data"`) {
					t.Errorf("all of the error is %s, %v", b, err)
				}
				ini.Error.Whole = session.Value{}
			}
			if ini == nil || ini.Error == nil || *ini.Error != c.want || (s.Connection.ReachedSeq != 0) != c.reached || s.Connection.Spawn != nil {
				t.Errorf("%+v %+v", ini, s.Connection)
			}
		})
	}
}

// Packed bodies are read, and their values can be had again, whatever the coding
// and however the pieces are cut.
func TestPackedBodies(t *testing.T) {
	big := strings.Repeat("x", 3000)
	result := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + big + `"}]}}`
	stream := "id: 1\ndata: \n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" + big + "\"}]}}\n\n"
	pack := map[string]func(string) []byte{
		"": func(s string) []byte { return []byte(s) },
		"gzip": func(s string) []byte {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			io.WriteString(w, s)
			w.Close()
			return b.Bytes()
		},
		"br": func(s string) []byte {
			var b bytes.Buffer
			w := brotli.NewWriter(&b)
			io.WriteString(w, s)
			w.Close()
			return b.Bytes()
		},
	}
	for coding, f := range pack {
		for kind, text := range map[string]string{"application/json": result, "text/event-stream": stream} {
			for _, step := range []int{1 << 20, 1000, 7} {
				if step == 7 && coding == "" {
					step = 61
				}
				t.Run(fmt.Sprintf("%s %s by %d", coding, kind, step), func(t *testing.T) {
					r := httpScript(t, hello+"3 POST sid:S "+callT+"\n3 200 sse h:Content-Type="+kind+" h:Content-Encoding="+coding)
					data := f(text)
					for off := 0; off < len(data); off += step {
						end := record.BodyMore
						p := data[off:min(off+step, len(data))]
						if off+step >= len(data) {
							end = record.BodyLast
						}
						// White space at a piece's end may stand beside it.
						eol := p[len(bytes.TrimRight(p, "\n")):]
						r.Add(record.Record{Kind: record.KindBody, Exchange: 3, From: record.Server, Off: int64(off), Form: record.FormRaw,
							Data: p[:len(p)-len(eol)], EOL: eol, End: end})
					}
					s := only(t, decode(t, r))
					if webStates(s) != "result" {
						t.Fatalf("%s: %+v", webStates(s), s.Remarks)
					}
					b, err := s.Calls[0].Result.Bytes()
					if err != nil || !strings.HasPrefix(string(b), `{"content":[{"type":"text","text":"xxx`) || !strings.HasSuffix(string(b), `x"}]}`) || len(b) < 3000 {
						t.Errorf("%.80q, %v", b, err)
					}
				})
			}
		}
	}
}

// What is behind a hole is found again in the recording.
func TestBytesBehindAHole(t *testing.T) {
	s := oneHTTP(t, legacySSE+"gap\n1 lose 40\n1 raw \"ta: x\\n\\n\"\n3 POST /m?s=1 "+callT+"\n3 202\n1 raw \"da\"\n1 raw \"ta: {\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":\"\n1 raw \"{\\\"content\\\":[]}}\\n\\n\"")
	if webStates(s) != "result" {
		t.Fatal(webStates(s))
	}
	if b, err := s.Calls[0].Result.Bytes(); err != nil || string(b) != `{"content":[]}` {
		t.Errorf("%q, %v", b, err)
	}
}

// Memory grows with what is open, not with the exchanges that were: a day of
// small exchanges and one long stream.
func TestHTTPBodiesAreNotKept(t *testing.T) {
	const events, size = 64, 1 << 20
	text := strings.Repeat("x", size)
	r := httpScript(t, hello+"3 GET sid:S\n3 200 sse")
	n := 0
	off := int64(0)
	next := func() (*record.Record, error) {
		n++
		if n <= len(r.Records) {
			return r.Records[n-1], nil
		}
		i := n - len(r.Records)
		if i > events {
			return nil, io.EOF
		}
		data := fmt.Appendf(nil, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"%s\"}}\n\n", i, text)
		rec := &record.Record{Kind: record.KindBody, Seq: int64(n), Exchange: 3, From: record.Server, Off: off, Form: record.FormText, Data: data}
		off += int64(len(data))
		return rec, nil
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	d := session.NewDecoder(&r.Header, nowhere{}, session.Options{})
	for {
		rec, err := next()
		if err != nil {
			break
		}
		d.Add(rec)
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d MB are kept of %d MB", grown>>20, events*size>>20)
	}
	s := only(t, d.Finish(record.Sealed, false))
	if s.Messages[record.Server] != events+1 {
		t.Errorf("%d messages", s.Messages[record.Server])
	}
}

// The asserts of the cases that are about sessions.
func TestHTTPCases(t *testing.T) {
	one := func(name string) *session.Session {
		t.Helper()
		r, err := fixtures.HTTPCase(name)
		if err != nil {
			t.Fatal(err)
		}
		return only(t, decode(t, r))
	}
	text := func(s *session.Session, exchange int64) string {
		for _, c := range s.Calls {
			for _, a := range c.Attempts {
				if a.HTTP.Exchange == exchange && a.State == session.ExchangeResult {
					b, _ := a.Result.Bytes()
					_, rest, _ := strings.Cut(string(b), `"text":"`)
					out, _, _ := strings.Cut(rest, `"`)
					return out
				}
			}
		}
		return ""
	}
	has := func(s *session.Session, exchange int64, flag string) {
		t.Helper()
		for _, r := range s.Remarks {
			if r.Exchange == exchange && r.Flag == flag {
				return
			}
		}
		t.Errorf("exchange %d has no remark %s: %+v", exchange, flag, s.Remarks)
	}

	r, err := fixtures.HTTPCase("33-session-404")
	if err != nil {
		t.Fatal(err)
	}
	res := decode(t, r)
	if len(res.Sessions) != 2 || len(res.Sessions[0].Calls) != 3 || len(res.Sessions[1].Calls) != 1 {
		t.Fatalf("33: %d sessions", len(res.Sessions))
	}
	if a, b := text(res.Sessions[0], 3), text(res.Sessions[1], 7); a != "hit a" || b != "hit b" {
		t.Errorf("33: %q, %q", a, b)
	}
	for i, want := range []string{"result protocolError neverAnswered", "result"} {
		if got := webStates(res.Sessions[i]); got != want {
			t.Errorf("33: %s, want %s", got, want)
		}
	}
	if st := res.Sessions[0].Calls[1].Attempts[0].HTTP.Status; st != 404 {
		t.Errorf("33: status %d", st)
	}

	if s := one("35-notification-statuses"); len(s.Orphans) != 1 || s.Orphans[0].Exchange != 7 ||
		webPairs(s) != "client 1 initialize result@1 200|client 10 tools/call result@10 200" {
		t.Errorf("35: %s, %+v", webPairs(s), s.Orphans)
	}
	if s := one("37-sse-timing"); webStates(s) != "result" || s.Calls[0].ID.Raw != "2" || s.Calls[0].Attempts[0].AnswerID.Raw != "2" {
		t.Errorf("37: %s", webStates(s))
	}
	s := one("39-mislabelled-body")
	for n, flag := range map[int64]string{1: session.FlagMislabelled, 2: session.FlagMislabelled, 3: session.FlagMislabelled, 4: session.FlagMislabelled,
		5: session.FlagEncoding, 6: session.FlagHTTPError} {
		has(s, n, flag)
	}
	for _, l := range s.Lists {
		if l.State != catalog.Open || len(l.Tools) != 0 {
			t.Errorf("39: a list %s with %d tools", l.State, len(l.Tools))
		}
	}
	if s := one("41-get405-delete"); len(s.Orphans) != 0 || webStates(s) != "result" || len(s.Remarks) != 0 {
		t.Errorf("41: %+v, %+v", s.Orphans, s.Remarks)
	}
	s = one("43-auth-401")
	has(s, 2, session.FlagMetadata)
	if text(s, 5) != "written" || text(s, 4) != "" || s.Connection.Initialize.State != session.ExchangeResult {
		t.Errorf("43: %s", webPairs(s))
	}
	r, err = fixtures.HTTPCase("45-redirect-307")
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, s := range decode(t, r).Sessions {
		found += flagsOnly(s) + ";"
	}
	if found != session.FlagRedirect+";;"+session.FlagRedirect+";" {
		t.Errorf("45: %q", found)
	}
	s = one("96-sent-again")
	if webStates(s) != "connectionDrop result" || s.Calls[0].ID.Raw != "5" || s.Calls[1].ID.Raw != "5" || text(s, 3) != "paid, receipt 2" {
		t.Errorf("96: %s", webStates(s))
	}
	// A capture without a body: the response's end is not on record.
	r, err = fixtures.HAR("94-capture-without-body")
	if err != nil {
		t.Fatal(err)
	}
	s = only(t, decode(t, r))
	if s.Capture.ToolCalls != session.Complete || s.Capture.ToolErrors != session.Partial || s.Capture.ToolResults != session.Partial || webStates(s) != "clientGone result" || text(s, 2) != "hit y" {
		t.Errorf("94: %s, %+v", webStates(s), s.Capture)
	}
}

// What a hostile recording can pile up over HTTP is bounded where it is searched:
// the work grows with the input and not with its square. A guard against hanging.
func TestHTTPHostilePiles(t *testing.T) {
	const n = 2000
	request := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id)
	}
	many := func(f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i) + "\n")
		}
		return b.String()
	}
	batch := func() string {
		var all []string
		for i := range n {
			all = append(all, request(i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for name, c := range map[string]struct {
		script string
		calls  int
	}{
		"a batch answered event by event": {hello + "3 POST sid:S " + batch() + "\n3 200 sse\n" + many(func(i int) string {
			return fmt.Sprintf(`3 event {"id":%d,"result":{"content":[]}}`, i)
		}), n},
		"a batch answered by errors without ids": {hello + "3 POST sid:S " + batch() + "\n3 200 sse\n" + many(func(i int) string {
			return `3 event {"id":null,"error":{"code":-32000,"message":"no"}}`
		}), n},
		"exchanges that never end": {hello + many(func(i int) string { return fmt.Sprintf("%d POST sid:S conn:%d %s", i+3, i, callT) }), n},
		"streams of the old transport": {many(func(i int) string {
			return fmt.Sprintf("%d GET /sse\n%d 200 sse\n%d event type:endpoint /m?s=%d\n%d POST /m?s=%d %s", 2*i+1, 2*i+1, 2*i+1, i, 2*i+2, i, callT)
		}), n},
		"sessions and gaps": {many(func(i int) string { return fmt.Sprintf("%d POST sid:S%d %s", i+1, i, callT) }) + many(func(int) string { return "gap" }), n},
		"clients without ids": {many(func(i int) string {
			return fmt.Sprintf("%d POST conn:%d ua:%d %s", i+1, i, i%7, strings.Replace(newer("tools/call", ""), `"host"`, fmt.Sprintf(`"host%d"`, i), 1))
		}), n},
		"one id for all, on broken streams": {hello + many(func(i int) string {
			return fmt.Sprintf("%d POST sid:S %s\n%d 200 sse\n%d cut server", i+3, callT, i+3, i+3)
		}), n},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			for _, s := range runHTTP(t, c.script).Sessions {
				calls += len(s.Calls)
			}
			if calls != c.calls {
				t.Errorf("%d calls, want %d", calls, c.calls)
			}
		})
	}
}
