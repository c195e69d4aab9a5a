package session_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// An HTTP script is a recording of HTTP in short, a millisecond a record. A line
// begins with the number of an exchange:
//
//	1 POST [PATH] [OPTION...] {...}  a request and its body; "jsonrpc":"2.0" is put into objects
//	1 GET [PATH] [OPTION...]         a request without a body
//	1 200 json [OPTION...] {...}     a whole response; also: text WORDS, empty
//	1 200 sse [OPTION...]            the head of an event stream
//	1 event [id:X] [type:X] {...}    an event
//	1 raw "..."                      a piece of the response as it stands (a Go string)
//	1 last, 1 cut WHO, 1 left WHO    the response ends; is broken off; is broken off before its head
//	1 made STATUS                    a response of sixlink's own
//	1 error WHAT                     the upstream was not reached
//
// and without one: gap, wait DURATION, torn, live. Options: sid: (Mcp-Session-Id),
// auth: (Authorization, hidden as a recording does), conn:, ua:, last:
// (Last-Event-ID), h:NAME=VALUE.
func httpScript(t testing.TB, text string) *fixtures.Recording {
	t.Helper()
	r := &fixtures.Recording{Name: "script", State: record.Sealed, Header: record.Header{ID: "script", FirstSeq: 1, Transport: "http",
		Needs: []string{record.NeedHTTP}, Upstream: "http://up.test"}}
	now := int64(0)
	off := map[int64]int64{}
	add := func(rec record.Record) {
		now += 1e6
		rec.At = now
		r.Add(rec)
	}
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		head, body := l, ""
		if i := strings.IndexAny(l, "{["); i >= 0 && !strings.Contains(l[:i], `"`) {
			head, body = l[:i], l[i:]
			if body[0] == '{' {
				body = `{"jsonrpc":"2.0",` + body[1:]
			}
		}
		w := strings.Fields(head)
		n, err := strconv.ParseInt(w[0], 10, 64)
		if err != nil {
			switch w[0] {
			case "gap":
				seq := int64(len(r.Records)) + 1
				add(record.Record{Kind: record.KindGap, Gap: &record.Gap{FirstSeq: seq, LastSeq: seq, Why: "disk full",
					HTTP: map[record.From]record.GapHTTP{record.Server: {Records: 1, Bytes: 10}}}})
			case "wait":
				d, err := time.ParseDuration(w[1])
				if err != nil {
					t.Fatal(err)
				}
				now += int64(d)
			case "torn":
				r.State = record.Torn
			case "live":
				r.State = record.Live
			default:
				t.Fatalf("script: %q", l)
			}
			continue
		}
		fields := record.Fields{}
		var masked []record.HeadMask
		opt := map[string]string{"conn": "1"}
		var words []string
		for _, o := range w[2:] {
			k, v, has := strings.Cut(o, ":")
			switch {
			case !has:
				words = append(words, o)
			case k == "sid":
				fields["Mcp-Session-Id"] = []string{"*****"}
				masked = append(masked, record.HeadMask{In: "Mcp-Session-Id", Len: 5, MAC: "mac-" + v})
			case k == "auth":
				fields["Authorization"] = []string{"Bearer *****"}
				masked = append(masked, record.HeadMask{In: "Authorization", Off: 7, Len: 5, MAC: "mac-" + v})
			case k == "ua":
				fields["User-Agent"] = []string{v}
			case k == "last":
				fields["Last-Event-Id"] = []string{v}
			case k == "h":
				name, value, _ := strings.Cut(v, "=")
				fields[name] = append(fields[name], value)
			default:
				opt[k] = v
			}
		}
		from := record.Server
		piece := func(data string, end record.BodyEnd) {
			add(record.Record{Kind: record.KindBody, Exchange: n, From: from, Off: off[n], Form: record.FormText, Data: []byte(data), End: end})
			off[n] += int64(len(data))
		}
		switch w[1] {
		case "POST", "GET", "DELETE":
			path := "/mcp"
			if len(words) > 0 {
				path = words[0]
			}
			if body != "" {
				fields["Content-Type"] = []string{"application/json"}
			}
			if w[1] == "GET" && fields["Accept"] == nil {
				fields["Accept"] = []string{"text/event-stream"}
			}
			conn, _ := strconv.ParseInt(opt["conn"], 10, 64)
			add(record.Record{Kind: record.KindRequest, Exchange: n, From: record.Client, Request: &record.HTTPRequest{Conn: conn, Peer: "127.0.0.1:" + strconv.FormatInt(40000+conn, 10),
				Method: w[1], Target: path, Proto: "HTTP/1.1", Host: "proxy.test", Headers: fields, Masked: masked, Length: int64(len(body)), End: body == ""}})
			if body != "" {
				from = record.Client
				piece(body, record.BodyLast)
			}
			off[n] = 0
		case "event":
			s := ""
			if id, ok := opt["id"]; ok {
				s += "id: " + id + "\n"
			}
			if typ, ok := opt["type"]; ok {
				s += "event: " + typ + "\n"
			}
			if body == "" {
				body = strings.Join(words, " ")
			}
			piece(s+"data: "+body+"\n\n", record.BodyMore)
		case "raw":
			s, err := strconv.Unquote(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(l, w[0]), " raw")))
			if err != nil {
				t.Fatalf("script: %q: %v", l, err)
			}
			piece(s, record.BodyMore)
		case "last":
			piece("", record.BodyLast)
		case "cut", "left":
			if w[1] == "cut" {
				piece("", record.BodyCut)
			}
			add(record.Record{Kind: record.KindClose, Exchange: n, Close: &record.Close{Who: w[2], What: record.ResponseBody}})
		case "made":
			status, _ := strconv.Atoi(w[2])
			add(record.Record{Kind: record.KindResponse, Exchange: n, From: from, Response: &record.HTTPResponse{Status: status, Made: true, Why: "upstream unreachable", End: true}})
		case "error":
			add(record.Record{Kind: record.KindError, Exchange: n, Error: &record.Error{What: w[2], Error: "connection refused"}})
		default:
			status, err := strconv.Atoi(w[1])
			if err != nil {
				t.Fatalf("script: %q", l)
			}
			how := "empty"
			if len(words) > 0 {
				how = words[0]
			}
			types := map[string]string{"json": "application/json", "sse": "text/event-stream", "text": "text/plain"}
			if typ := types[how]; typ != "" && fields["Content-Type"] == nil {
				fields["Content-Type"] = []string{typ}
			}
			if how == "text" {
				body = strings.Join(words[1:], " ")
			}
			add(record.Record{Kind: record.KindResponse, Exchange: n, From: from, Response: &record.HTTPResponse{Status: status, Proto: "HTTP/1.1",
				Headers: fields, Masked: masked, Length: -1, End: how == "empty"}})
			if how == "json" || how == "text" {
				piece(body, record.BodyLast)
			}
		}
	}
	return r
}

func runHTTP(t testing.TB, text string, opts ...func(*session.Options)) *session.Result {
	t.Helper()
	r := httpScript(t, text)
	o := session.Options{End: r.End}
	for _, f := range opts {
		f(&o)
	}
	res, err := session.Decode(&r.Header, r.Next(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range res.Sessions {
		for _, m := range s.Remarks {
			if m.Detail == "" {
				t.Errorf("a remark without a sentence: %+v", m)
			}
		}
		if s.Basis == "" {
			t.Errorf("%s has no basis", s.ID)
		}
	}
	return res
}

func oneHTTP(t testing.TB, text string) *session.Session {
	t.Helper()
	res := runHTTP(t, text)
	if len(res.Sessions) != 1 {
		t.Fatalf("%d sessions, want one", len(res.Sessions))
	}
	return res.Sessions[0]
}

// hello is a handshake that gives the session id S: exchanges 1 and 2, records 1 to 6.
const hello = `
	1 POST {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"host","version":"1"}}}
	1 200 json sid:S {"id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"2"}}}
	2 POST sid:S {"method":"notifications/initialized"}
	2 202
`

// newer is a request of the newer era's, with its version and client.
func newer(method, more string) string {
	return `{"id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"}` + more + `},"name":"t","arguments":{}}}`
}

const (
	callT = `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`
	goodT = `{"id":1,"result":{"content":[]}}`
)

func webPairs(s *session.Session) string {
	var out []string
	for _, ex := range s.Requests {
		out = append(out, fmt.Sprintf("%s %d %s %s@%d %d", ex.From, ex.HTTP.Exchange, ex.Method, ex.State, ex.HTTP.AnswerExchange, ex.HTTP.Status))
	}
	return strings.Join(out, "|")
}

func webStates(s *session.Session) string {
	var out []string
	for _, c := range s.Calls {
		out = append(out, string(c.State))
	}
	return strings.Join(out, " ")
}

func flagsOnly(s *session.Session) string {
	var out []string
	for _, r := range s.Remarks {
		out = append(out, r.Flag)
	}
	return strings.Join(out, " ")
}
