package har_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/har"
	"github.com/sixlink/sixlink/record/mask"
)

var tool = record.Software{Name: "sixlink", Version: "test"}

// capture is a capture with entries.
func capture(entries ...string) string {
	return `{"log":{"version":"1.2","creator":{"name":"WebInspector","version":"537.36"},"pages":[],"entries":[` + strings.Join(entries, ",\n ") + `]}}`
}

// ex is an entry; at is its second, response the members of the response behind its
// status.
func ex(at, method, url, request, response string) string {
	return `{"startedDateTime":"2026-01-01T00:00:0` + at + `Z","time":20.5,"timings":{"blocked":-1,"send":1,"wait":9.25,"receive":10},"request":{"method":"` + method +
		`","url":"` + url + `","httpVersion":"h2","headers":[{"name":":authority","value":"a.test"},{"name":"content-type","value":"application/json"}]` + request + `},"response":` + response + `}`
}

const (
	url   = "https://a.test/mcp?x=1#frag"
	call  = `,"bodySize":-1,"postData":{"mimeType":"application/json","text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}"}`
	reply = `{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}`
)

// ok is a response of 200 with content.
func ok(mime, content string) string {
	return `{"status":200,"statusText":"OK","httpVersion":"h2","headers":[{"name":"content-type","value":"` + mime + `"}],"content":{"mimeType":"` + mime + `"` + content + `},"bodySize":-1}`
}

func open(t testing.TB, text string) (*har.Capture, error) {
	t.Helper()
	return har.New(strings.NewReader(text), int64(len(text)))
}

// made is the recording of one origin, read back by the strict reader.
type made struct {
	*har.Made
	head record.Header
	recs []*record.Record
}

func write(t testing.TB, c *har.Capture, origin string) made {
	t.Helper()
	var buf bytes.Buffer
	m, err := c.Write(&buf, origin, tool, mask.RandomKey())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "r"+record.Suffix)
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(name, record.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := made{Made: m, head: *r.Header()}
	last := int64(-1)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Seq > 0 {
			if rec.At < last {
				t.Errorf("record %d is at %d, behind %d", rec.Seq, rec.At, last)
			}
			last = rec.At
			out.recs = append(out.recs, rec)
		}
	}
	if e := r.End(); e.State != record.Sealed || e.Damage != nil {
		t.Fatalf("%+v", e)
	}
	return out
}

// short is a record in a few words.
func short(r *record.Record) string {
	n := strconv.FormatInt(r.Exchange, 10) + " "
	switch r.Kind {
	case record.KindRequest:
		return n + r.Request.Method + " " + r.Request.Target
	case record.KindResponse:
		if r.Response.End {
			n += "end "
		}
		return n + strconv.Itoa(r.Response.Status)
	case record.KindBody:
		end := [...]string{"more", "last", "cut"}[r.End]
		data := strings.NewReplacer(`"jsonrpc":"2.0",`, "", `"`, "").Replace(string(r.Data) + string(r.EOL))
		return fmt.Sprintf("%s%s %d %s %s", n, r.From, r.Off, end, strconv.QuoteToASCII(data))
	case record.KindClose:
		return n + r.Close.Who + " " + r.Close.What + ": " + r.Close.Why
	case record.KindGap:
		return fmt.Sprintf("gap %d: %s", r.Gap.HTTP[record.Client].Bytes, r.Gap.Why)
	}
	return string(r.Kind)
}

func TestCaptures(t *testing.T) {
	asked := []string{"1 POST /mcp?x=1", `1 client 0 last "{id:1,method:tools/call}"`}
	sse := `event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\nevent: message\ndata: ` + reply + `\n\n`
	for _, tt := range []struct {
		name    string
		entries []string
		want    []string // behind asked, if that begins it
	}{
		{"a text", []string{ex("0", "POST", url, call, ok("application/json", `,"size":38,"text":"`+reply+`"`))}, []string{"1 200", `1 server 0 last "{id:1,result:{}}"`}},
		{"base64, and a size that is wrong", []string{ex("0", "POST", url, call, ok("application/json", `,"text":"eyJpZCI6MSwicmVzdWx0Ijp7fX0=","encoding":"base64","size":99`))}, []string{"1 200", `1 server 0 last "{id:1,result:{}}"`}},
		{"no valid base64", []string{ex("0", "POST", url, call, ok("application/json", `,"text":"%%%","encoding":"base64"`))}, []string{"1 200", `1 server 0 cut ""`, "1 proxy response: the capture's text of the response cannot be read: it is no valid base64"}},
		{"an encoding that is not known", []string{ex("0", "POST", url, call, ok("application/json", `,"text":"x","encoding":"gzip"`))}, []string{"1 200", `1 server 0 cut ""`, "1 proxy response: the capture's text of the response cannot be read: its encoding is not known"}},
		{"half of a surrogate pair", []string{ex("0", "POST", url, call, ok("application/json", `,"text":"{\"a\":\"\ud83d\"}"`))}, []string{"1 200", `1 server 0 cut ""`, "1 proxy response: the capture's text of the response cannot be read: it holds what is no character"}},
		{"no text, and size 0", []string{ex("0", "POST", url, call, ok("text/event-stream", `,"size":0`))}, []string{"1 200", `1 server 0 cut ""`, "1 proxy response: the capture has no body of this response"}},
		{"Playwright leaves contents out", []string{ex("0", "POST", url, call, ok("application/json", `,"size":-1`))}, []string{"1 200", `1 server 0 cut ""`, "1 proxy response: the capture has no body of this response"}},
		{"Playwright keeps contents in files", []string{ex("0", "POST", url, call, ok("application/json", `,"size":5,"_file":"abc.json"`))}, []string{"1 200", `1 server 0 cut ""`, "1 proxy response: the capture keeps the body of the response in a file of its own, which is not read"}},
		{"Firefox cuts a long text", []string{ex("0", "POST", url, call, ok("application/json", `,"size":2000,"text":"{\"id\":1,\"resu"`))}, []string{"1 200", `1 server 0 cut "{id:1,resu"`, "1 proxy response: the capture has 13 bytes of 2000 of the response's body"}},
		{"JSON that the server broke", []string{ex("0", "POST", url, call, ok("application/json", `,"size":3,"text":"{no"`))}, []string{"1 200", `1 server 0 last "{no"`}},
		{"an event stream with its answer", []string{ex("0", "POST", url, call, ok("text/event-stream", `,"size":1,"text":"`+sse+`"`))},
			[]string{"1 200", `1 server 0 more "event: message\ndata: {method:notifications/progress}\n\n"`, `1 server 74 last "event: message\ndata: {id:1,result:{}}\n\n"`}},
		{"an event stream without its answer", []string{ex("0", "POST", url, call, ok("text/event-stream", `,"text":"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"`))},
			[]string{"1 200", `1 server 0 cut "data: {method:notifications/progress}\n\n"`, "1 proxy response: the capture does not say whether this event stream ended"}},
		{"an event that is cut", []string{ex("0", "POST", url, call, ok("text/event-stream", `,"text":"data: `+reply+`"`))},
			[]string{"1 200", `1 server 0 cut "data: {id:1,result:{}}"`, "1 proxy response: the capture does not say whether this event stream ended"}},
		{"the browser had no response", []string{ex("0", "POST", url, call, `{"status":0,"headers":[],"content":{"size":0},"_error":"net::ERR_ABORTED"}`)}, []string{"1 proxy response: the capture has no response: net::ERR_ABORTED"}},
		{"a response that is null", []string{ex("0", "POST", url, call, `null`)}, []string{"1 proxy response: the capture has no response"}},
		{"202 without a body", []string{ex("0", "POST", url, call, `{"status":202,"headers":[],"content":{"size":0,"mimeType":"x-unknown"}}`)}, []string{"1 end 202"}},
		{"an error whose text is missing", []string{ex("0", "POST", url, call, `{"status":500,"headers":[],"content":{"size":70,"mimeType":"application/json"}}`)}, []string{"1 end 500"}},
		{"content-length: 0", []string{ex("0", "POST", url, call, `{"status":200,"headers":[{"name":"content-length","value":"0"}],"content":{}}`)}, []string{"1 end 200"}},
		{"no body of a request", []string{ex("0", "POST", url, call, ok("application/json", `,"text":"{}"`)), ex("1", "POST", url, `,"bodySize":70`, ok("application/json", `,"text":"{}"`))},
			[]string{"1 200", `1 server 0 last "{}"`, "2 POST /mcp?x=1", "gap 70: the capture has no body of this request", `2 client 70 last ""`, "2 200", `2 server 0 last "{}"`}},
		{"a request that is cut", []string{ex("0", "POST", url, call, ok("application/json", `,"text":"{}"`)), ex("1", "POST", url, `,"bodySize":70,"postData":{"text":"{\"a"}`, ok("application/json", `,"text":"{}"`))},
			[]string{"1 200", `1 server 0 last "{}"`, "2 POST /mcp?x=1", `2 client 0 more "{a"`, "gap 67: the capture has 3 bytes of 70 of the request's body", `2 client 70 last ""`, "2 200", `2 server 0 last "{}"`}},
		{"entries of a debugging proxy, in the order of their ends", []string{ex("1", "DELETE", url, ``, `{"status":200,"headers":[],"content":{"size":0}}`), ex("0", "POST", url, call, ok("application/json", `,"text":"{}"`))},
			[]string{"1 200", `1 server 0 last "{}"`, "2 DELETE /mcp?x=1", "2 end 200"}},
		{"a stream that is open beside", []string{
			ex("0", "POST", url, call, ok("application/json", `,"text":"{}"`)),
			strings.Replace(ex("1", "GET", url, ``, ok("text/event-stream", `,"text":"data: {\"method\":\"ping\"}\n\n"`)), "20.5", "5000", 1),
			ex("2", "POST", url, call, ok("application/json", `,"text":"{}"`))},
			[]string{"1 200", `1 server 0 last "{}"`, "2 GET /mcp?x=1", "2 200", `2 server 0 more "data: {method:ping}\n\n"`,
				"3 POST /mcp?x=1", `3 client 0 last "{id:1,method:tools/call}"`, "3 200", `3 server 0 last "{}"`,
				`2 server 25 cut ""`, "2 proxy response: the capture does not say whether this event stream ended"}},
		{"the answer's time is rounded up into the next request", []string{
			strings.Replace(ex("0", "POST", url, call, ok("application/json", `,"text":"{}"`)), "20.5", "1000.9", 1), ex("1", "POST", url, call, ok("application/json", `,"text":"{}"`))},
			[]string{"1 200", `1 server 0 last "{}"`, "2 POST /mcp?x=1", `2 client 0 last "{id:1,method:tools/call}"`, "2 200", `2 server 0 last "{}"`}},
		{"the old transport", []string{
			strings.Replace(ex("0", "GET", "https://a.test/sse", ``, ok("text/event-stream", `,"text":"event: endpoint\ndata: /m?s=1\n\ndata: `+reply+`\n\n"`)), "20.5", "5000", 1),
			ex("1", "POST", "https://a.test/m?s=1", call, `{"status":202,"headers":[],"content":{"size":0}}`)},
			[]string{"1 GET /sse", "1 200", `1 server 0 more "event: endpoint\ndata: /m?s=1\n\n"`, "2 POST /m?s=1", `2 client 0 last "{id:1,method:tools/call}"`, "2 end 202", `1 server 30 last "data: {id:1,result:{}}\n\n"`}},
		{"all else is left out", []string{
			ex("0", "GET", "https://a.test/logo.png", ``, ok("image/png", `,"text":"AAAA","encoding":"base64"`)),
			ex("0", "OPTIONS", url, ``, `{"status":204,"headers":[],"content":{}}`),
			ex("0", "POST", "https://chain.test/rpc", `,"postData":{"text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_call\"}"}`, ok("application/json", `,"text":"{}"`)),
			ex("0", "GET", "data:text/plain,x", ``, `{"status":200,"headers":[],"content":{}}`),
			strings.TrimSuffix(ex("0", "GET", "wss://a.test/mcp", ``, `{"status":101,"headers":[],"content":{}}`), "}") + `,"_webSocketMessages":[{"data":"x"}]}`,
			ex("0", "POST", url, call, ok("application/json", `,"text":"{}"`))},
			[]string{"1 200", `1 server 0 last "{}"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := open(t, capture(tt.entries...))
			if err != nil {
				t.Fatal(err)
			}
			m := write(t, c, "")
			var got []string
			for _, r := range m.recs {
				got = append(got, short(r))
			}
			want := tt.want
			if !strings.Contains(want[0], "GET") {
				want = append(append([]string{}, asked...), want...)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if m.LeftOut != len(tt.entries)-m.Exchanges || tt.name == "all else is left out" && (m.LeftOut != 5 || m.WebSockets != 1) {
				t.Errorf("%+v", m.Made)
			}
		})
	}
}

// What a browser decoded has no content coding any more, pseudo headers are none, and
// the header says what the recording is.
func TestHeads(t *testing.T) {
	entry := ex("0", "POST", url, call, `{"status":200,"statusText":"OK","httpVersion":"HTTP/2.0","headers":[{"name":":status","value":"200"},{"name":"content-encoding","value":"br"},
		{"name":"content-length","value":"12"},{"name":"set-cookie","value":"a=1; Path=/\nb=2"},{"name":"bad name","value":"x"},{"name":"mcp-session-id","value":"s-1234567890"}],"content":{"mimeType":"application/json","text":"{}"}}`)
	c, err := open(t, "\ufeff"+capture(entry))
	if err != nil {
		t.Fatal(err)
	}
	m := write(t, c, "HTTPS://A.test:443/elsewhere")
	req, res := m.recs[0].Request, m.recs[2].Response
	if req.Host != "a.test" || req.Proto != "HTTP/2" || len(req.Headers) != 1 || req.Length != 46 {
		t.Errorf("request %+v", req)
	}
	if d := cmp.Diff(record.Fields{"Content-Type": {"application/json"}, "Set-Cookie": {"a=*; Path=/", "b=*"}, "Mcp-Session-Id": {"************"}}, res.Headers); d != "" || res.Proto != "HTTP/2" || res.Length != -1 {
		t.Errorf("%+v %s", res, d)
	}
	h := m.head
	if d := cmp.Diff(map[string]string{"importedFrom": "har", "bodies": "as the browser decoded them", "capturedBy": "WebInspector 537.36"}, h.Labels); d != "" ||
		h.Upstream != "https://a.test/mcp" || h.Transport != "http" || h.Level != record.LevelFull || len(h.ID) != 32 || len(h.DerivedFrom.SHA256) != 64 {
		t.Errorf("header %+v %s", h, d)
	}
	if at := []int64{m.recs[0].At, m.recs[2].At, m.recs[3].At}; !cmp.Equal(at, []int64{0, 10e6, 20e6}) {
		t.Errorf("times %v", at)
	}
}

// No credential is in a recording in clear, wherever a capture has it.
func TestCredentials(t *testing.T) {
	const secret = "sk-secret-0123456789"
	entry := ex("0", "POST", "https://a.test/mcp?api_key="+secret, call, ok("application/json", `,"text":"{}"`))
	entry = strings.Replace(entry, `{"name":":authority"`, `{"name":"authorization","value":"Bearer `+secret+`"},{"name":"cookie","value":"sid=`+secret+`"},{"name":"x-api-key","value":"`+secret+`"},{"name":":authority"`, 1)
	form := strings.NewReplacer("application/json", "application/x-www-form-urlencoded").Replace(
		ex("1", "POST", "https://a.test/mcp", `,"postData":{"mimeType":"","params":[{"name":"client_secret","value":"`+secret+`"},{"name":"a","value":"b c"}]}`, `{"status":302,"headers":[{"name":"location","value":"/x?access_token=`+secret+`"}],"content":{"size":9,"text":"go to `+secret+`"}}`))
	c, err := open(t, capture(entry, form))
	if err != nil {
		t.Fatal(err)
	}
	m := write(t, c, "")
	masks := 0
	for _, r := range m.recs {
		if bytes.Contains(r.Line, []byte(secret)) {
			t.Errorf("%s", r.Line)
		}
		masks += len(r.Masked)
		if r.Request != nil {
			masks += len(r.Request.Masked)
		}
	}
	if masks != 6 || m.head.MaskKey == "" {
		t.Errorf("%d replaced", masks)
	}
	if got := string(m.recs[5].Data); got != "client_secret="+strings.Repeat("*", len(secret))+"&a=b+c" {
		t.Errorf("form %q", got)
	}
}

// A long body is kept in pieces that no character is parted by.
func TestPieces(t *testing.T) {
	body := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("ü€", 60<<10) + `"}`
	c, err := open(t, capture(ex("0", "POST", url, call, ok("application/json", `,"encoding":"base64","text":"`+base64.StdEncoding.EncodeToString([]byte(body))+`"`))))
	if err != nil {
		t.Fatal(err)
	}
	var back []byte
	for _, r := range write(t, c, "").recs {
		if r.Kind == record.KindBody && r.From == record.Server {
			if r.Form != record.FormText || r.Off != int64(len(back)) || len(r.Data) > 64<<10 {
				t.Errorf("a piece of %d bytes at %d in form %d", len(r.Data), r.Off, r.Form)
			}
			back = append(back, r.Data...)
		}
	}
	if string(back) != body {
		t.Errorf("%d bytes of %d", len(back), len(body))
	}
}

func TestOrigins(t *testing.T) {
	c, err := open(t, capture(ex("0", "POST", "http://b.test:80/mcp", call, ok("application/json", `,"text":"{}"`)), ex("1", "POST", url, call, ok("application/json", `,"text":"{}"`)),
		ex("2", "GET", "https://a.test/stream", ``, ok("text/event-stream", `,"size":0`)), ex("3", "GET", "https://c.test/stream", ``, ok("text/event-stream", `,"size":0`))))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]har.Origin{{Name: "http://b.test", Exchanges: 1}, {Name: "https://a.test", Exchanges: 2}}, c.Origins); d != "" {
		t.Error(d)
	}
	for _, tt := range []struct{ origin, want string }{
		{"", "MCP with 2 origins, and a recording is of one: choose with --origin among http://b.test, https://a.test"},
		{"https://c.test", `no MCP with "https://c.test" in this capture; it has http://b.test, https://a.test`},
		{"a.test", `no MCP with "a.test" in this capture; it has http://b.test, https://a.test`},
	} {
		_, err := c.Write(io.Discard, tt.origin, tool, mask.RandomKey())
		var o *har.OriginError
		if !errors.As(err, &o) || err.Error() != tt.want {
			t.Errorf("%q: %v", tt.origin, err)
		}
	}
	if m := write(t, c, "http://b.test"); m.Exchanges != 1 || m.LeftOut != 3 {
		t.Errorf("%+v", m.Made)
	}
}

func TestErrors(t *testing.T) {
	good := ex("0", "POST", url, call, ok("application/json", `,"text":"{}"`))
	long := strings.Repeat(`{"name":"a","value":"b"},`, 1000)
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", "hello", "no capture: want a JSON object with log.entries"},
		{"empty", "", "no capture: want a JSON object with log.entries"},
		{"another JSON", `{"a":1}`, "no capture: log.entries is missing"},
		{"no MCP", capture(ex("0", "GET", "https://a.test/", ``, ok("text/html", ""))), "no exchange of MCP is in this capture"},
		{"gzip", "\x1f\x8b\x08", "it is compressed: unpack it first"},
		{"zip", "PK\x03\x04", "it is compressed: unpack it first"},
		{"cut off", capture(good, good)[:900], "entry 2: request: the capture ends here: it was cut off"},
		{"cut off behind a member without a name", `{"log":{""`, "log.: the capture ends here: it was cut off"},
		{"an entry that is none", capture(good, `7`), "entry 2: want an object"},
		{"no request", capture(good, `{}`), "entry 2: request: it is missing"},
		{"a url that is a number", capture(good, strings.Replace(good, `"`+url+`"`, "7", 1)), "entry 2: request.url: want a string"},
		{"headers that are none", capture(strings.Replace(good, `"headers":[{"name":":auth`, `"headers":["x",{"name":":auth`, 1)), "entry 1: request.headers: want an object"},
		{"a member twice", capture(good, strings.Replace(good, `"method":`, `"method":"GET","method":`, 1)), "entry 2: request.method: it is there twice"},
		{"no time", capture(good, strings.Replace(good, "2026-01-01T00", "soon", 1)), "entry 2: startedDateTime: no time in the form of RFC 3339"},
		{"a number that is too large", capture(strings.Replace(good, "20.5", "1e999", 1)), "entry 1: time: the number 1e999 is too large"},
		{"more fields than a head has", capture(good, strings.Replace(good, `"headers":[`, `"headers":[`+long, 1)), "entry 2: request.headers: more than 1000"},
		{"a head of over 1 MiB", capture(strings.Replace(good, `"a.test"`, `"`+strings.Repeat("x", 1<<20)+`"`, 1)), "entry 1: request.headers: more than 1 MiB"},
		{"white space without an end", capture(good, strings.Repeat(" ", 1<<20+1)+good), "log.entries: over 1 MiB of white space, or a number that long (behind entry 1)"},
		{"something behind", capture(good) + "{}", "something stands behind the capture (behind entry 1)"},
		{"nested without an end", `{"log":{"x":` + strings.Repeat("[", 20000), "no valid JSON: exceeded max depth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open(t, tt.text)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
	c, err := open(t, capture(good, strings.Replace(good, `"status":200`, `"status":20.5`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(io.Discard, "", tool, mask.RandomKey()); err == nil || err.Error() != "entry 2: response.status: no status of HTTP" {
		t.Errorf("%v", err)
	}
}

// A capture that is cut anywhere is refused, with a place.
func TestCut(t *testing.T) {
	text := capture(ex("0", "POST", url, call, ok("application/json", `,"text":"`+reply+`"`)))
	for n := range text {
		if _, err := open(t, text[:n]); err == nil {
			t.Fatalf("%d of %d bytes are read as a capture", n, len(text))
		}
	}
}

// repeated is a capture of n times the same entry, made as it is read.
type repeated struct {
	head, entry, tail string
	n                 int64
}

func (r *repeated) size() int64 {
	return int64(len(r.head)) + int64(len(r.entry))*r.n + int64(len(r.tail))
}

func (r *repeated) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := off + int64(n) - int64(len(r.head))
		switch all := int64(len(r.entry)) * r.n; {
		case at < 0:
			n += copy(p[n:], r.head[len(r.head)+int(at):])
		case at < all:
			n += copy(p[n:], r.entry[at%int64(len(r.entry)):])
		case at < all+int64(len(r.tail)):
			n += copy(p[n:], r.tail[at-all:])
		default:
			return n, io.EOF
		}
	}
	return n, nil
}

// A large capture streams: what is held while it is written does not grow with it.
func TestFlatMemory(t *testing.T) {
	if testing.Short() || raceOn {
		t.Skip("reads 12 MB a few times")
	}
	entry := ex("0", "POST", url, call, ok("application/json", `,"text":"{\"a\":\"`+strings.Repeat("x", 50_000)+`\"}"`))
	head, tail, _ := strings.Cut(capture(entry, "SPLIT"), ",\n SPLIT")
	r := &repeated{head: head, entry: ",\n" + entry, tail: tail, n: 250}
	c, err := har.New(r, r.size())
	if err != nil {
		t.Fatal(err)
	}
	peak := &peakWriter{}
	m, err := c.Write(peak, "", tool, mask.RandomKey())
	if err != nil {
		t.Fatal(err)
	}
	if m.Exchanges != 251 || peak.n < 10 || peak.most > 8<<20 {
		t.Errorf("%+v, %d MiB held at most, looked at %d times", m, peak.most>>20, peak.n)
	}
}

// A text that is too long to be held is passed over, and what follows it is found.
func TestLongText(t *testing.T) {
	if testing.Short() || raceOn {
		t.Skip("reads 32 MB a few times")
	}
	huge := ex("0", "POST", url, call, ok("application/json", `,"text":"`+strings.Repeat("x", 32<<20-2001)+strings.Repeat(`\"`, 2000)+`"`))
	c, err := open(t, capture(huge, ex("1", "POST", url, call, ok("application/json", `,"text":"{}"`))))
	if err != nil {
		t.Fatal(err)
	}
	m := write(t, c, "")
	var got []string
	for _, r := range m.recs[3:] {
		got = append(got, short(r))
	}
	if d := cmp.Diff([]string{`1 server 0 cut ""`, "1 proxy response: the body of the response is longer than the 32 MiB that an import takes",
		"2 POST /mcp?x=1", `2 client 0 last "{id:1,method:tools/call}"`, "2 200", `2 server 0 last "{}"`}, got); d != "" || m.NoBody != 1 {
		t.Error(d)
	}
}

// peakWriter looks at the heap now and then.
type peakWriter struct {
	n    int
	most uint64
}

func (p *peakWriter) Write(b []byte) (int, error) {
	if p.n++; p.n%16 == 1 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		p.most = max(p.most, m.HeapAlloc)
	}
	return len(b), nil
}

func FuzzCapture(f *testing.F) {
	b, err := os.ReadFile("../../fixtures/cases/94-capture-without-body/capture.har")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(capture(ex("0", "GET", "https://a.test/sse", ``, ok("text/event-stream", `,"text":"event: endpoint\ndata: /m?s=1\n\ndata: x\n\n"`)), ex("1", "POST", "https://a.test/m", call, `null`))))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := har.New(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, o := range c.Origins {
			var buf bytes.Buffer
			if _, err := c.Write(&buf, o.Name, tool, mask.RandomKey()); err != nil {
				var at *har.Error
				if !errors.As(err, &at) || at.Entry == 0 {
					t.Fatal(err)
				}
				continue
			}
			if m := write(t, c, o.Name); len(m.recs) < 2*m.Exchanges {
				t.Errorf("%d records of %d exchanges", len(m.recs), m.Exchanges)
			}
		}
	})
}
