package rewrite

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/record"
)

const (
	own      = "http://127.0.0.1:7000"
	upstream = "https://mcp.example.com"
)

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		equal      bool
	}{
		{"the same", "https://h/", "https://h", true},
		{"default port of https", "https://h:443", "https://h/x", true},
		{"default port of http", "http://h:80?q", "http://h", true},
		{"an empty port", "http://h:/", "http://h", true},
		{"leading zeros of a port", "http://h:080", "http://h", true},
		{"case of host and scheme", "HTTPS://Mcp.Example.COM:443/", "https://mcp.example.com", true},
		{"spellings of IPv6", "http://[0:0::1]:81", "http://[::1]:81/", true},
		{"another scheme", "http://h:443", "https://h", false},
		{"another port", "https://h:444", "https://h", false},
		{"a longer host", "https://h.evil", "https://h", false},
		{"user information", "https://h@evil", "https://h", false},
		{"user information of the same host", "https://u@h", "https://h", false},
		{"a port of another scheme", "ws://h", "http://h", false},
		{"a port that is none", "http://h:8x", "http://h:8", false},
		{"a fragment right behind it", "https://h#f", "https://h", true},
		{"a backslash ends it", `https://h\@evil`, "https://h", true},
	} {
		a, n := splitOrigin(c.a)
		b, m := splitOrigin(c.b)
		if got := n > 0 && m > 0 && a == b; got != c.equal {
			t.Errorf("%s: %q and %q: equal %v, want %v", c.name, c.a, c.b, got, c.equal)
		}
	}
}

func TestChallenge(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"as servers send it", `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="a b"`,
			`Bearer resource_metadata="http://127.0.0.1:7000/.well-known/oauth-protected-resource/mcp", scope="a b"`},
		{"default port, case, space around the sign", `bearer Resource_Metadata = "HTTPS://MCP.example.com:443/x"`,
			`bearer Resource_Metadata = "http://127.0.0.1:7000/x"`},
		{"no quotes", `Bearer resource_metadata=https://mcp.example.com/x, error=invalid_token`,
			`Bearer resource_metadata=http://127.0.0.1:7000/x, error=invalid_token`},
		{"quoted pairs", `Bearer resource_metadata="https:\/\/mcp.example.com\/x"`, `Bearer resource_metadata="http://127.0.0.1:7000\/x"`},
		{"two challenges", `Basic realm="x", Bearer error="e", resource_metadata="https://mcp.example.com"`,
			`Basic realm="x", Bearer error="e", resource_metadata="http://127.0.0.1:7000"`},
		{"inside of another string", `Bearer error_description="see resource_metadata=\"https://mcp.example.com/x\""`, ""},
		{"another name that ends so", `Bearer x_resource_metadata="https://mcp.example.com/x"`, ""},
		{"a foreign origin", `Bearer resource_metadata="https://mcp.example.com.evil/x"`, ""},
		{"other parameters", `Bearer realm="https://mcp.example.com", authorization_uri="https://mcp.example.com/a"`, ""},
		{"a URL inside of the URL", `Bearer resource_metadata="https://other/?u=https://mcp.example.com"`, ""},
		{"a string without an end", `Bearer resource_metadata="https://mcp.example.com/x`, `Bearer resource_metadata="http://127.0.0.1:7000/x`},
		{"nothing behind the sign", `Bearer resource_metadata=`, ""},
		{"token68", `Negotiate YII==, Bearer resource_metadata="https://mcp.example.com/"`, `Negotiate YII==, Bearer resource_metadata="http://127.0.0.1:7000/"`},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		if got, _ := newRule(own, upstream).challenge(c.in); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

func TestDocument(t *testing.T) {
	const tail = `,"authorization_servers":["https://mcp.example.com"],"jwks_uri":"https://mcp.example.com/jwks"}`
	for _, c := range []struct{ name, in, want string }{
		{"as servers send it", `{"resource":"https://mcp.example.com/mcp"` + tail, `{"resource":"http://127.0.0.1:7000/mcp"` + tail},
		{"white space and order are kept", "\ufeff {\n  \"authorization_servers\" : [ ] ,\r\n  \"resource\" : \"https://mcp.example.com:443\"\n}\n",
			"\ufeff {\n  \"authorization_servers\" : [ ] ,\r\n  \"resource\" : \"http://127.0.0.1:7000\"\n}\n"},
		{"escapes", `{"\u0072esource":"https:\/\/\u006dcp.example.com\/\u00e9"` + tail, `{"\u0072esource":"http://127.0.0.1:7000\/\u00e9"` + tail},
		{"resource twice", `{"resource":"https://mcp.example.com/1","resource":"https://mcp.example.com/2"` + tail,
			`{"resource":"http://127.0.0.1:7000/1","resource":"http://127.0.0.1:7000/2"` + tail},
		{"no authorization servers", `{"resource":"https://mcp.example.com/mcp"}`, ""},
		{"deeper down", `{"result":{"resource":"https://mcp.example.com/mcp"` + tail + `}`, ""},
		{"a foreign resource", `{"resource":"https://mcp.example.com.evil/"` + tail, ""},
		{"authorization server metadata", `{"issuer":"https://mcp.example.com","resource":1,"authorization_servers":[]}`, ""},
		{"an array", `[{"resource":"https://mcp.example.com/"` + tail + `]`, ""},
		{"two documents", `{"resource":"https://mcp.example.com/"` + tail + `{}`, ""},
		{"cut off", `{"resource":"https://mcp.example.com/","authorization_servers":[]`, ""},
		{"not JSON", `resource https://mcp.example.com/ authorization_servers`, ""},
		{"nothing", ``, ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		for cut := 0; cut <= len(c.in); cut++ {
			d := &documentRewriter{rule: newRule(own, upstream)}
			if got, _ := run(t, d, []byte(c.in), cut); got != want {
				t.Fatalf("%s, cut at %d:\n got %s\nwant %s", c.name, cut, got, want)
			}
		}
	}
}

// A document is held back; what cannot be one is not.
func TestDocumentHolds(t *testing.T) {
	d := &documentRewriter{rule: newRule(own, upstream)}
	if out, _ := d.Next([]byte(" \r\n["), false); string(out) != " \r\n[" {
		t.Errorf("an array is held back: %q came", out)
	}
	d = &documentRewriter{rule: newRule(own, upstream)}
	if out, _ := d.Next([]byte(`{"resource":"https://mcp.example.com","authorization_servers":[],"x":"`), false); len(out) != 0 {
		t.Errorf("%q came before the end", out)
	}
	big := bytes.Repeat([]byte("x"), maxDocument)
	out, patches := d.Next(big, false)
	if len(out) < maxDocument || len(patches) != 0 || !bytes.HasPrefix(out, []byte(`{"resource":"https://mcp`)) {
		t.Errorf("beyond 1 MiB %d bytes came with %v", len(out), patches)
	}
	if out, _ := d.Next([]byte(`"}`), true); string(out) != `"}` {
		t.Errorf("then %q", out)
	}
}

// What a server says bit by bit does not wait for its end; a document does.
func TestDocumentIsNotWaitedFor(t *testing.T) {
	const doc = `{"resource":"https://mcp.example.com","authorization_servers":["}"]}`
	for _, c := range []struct{ name, in, rest, want string }{
		{"another object", `{"a":{"b":"\"}"},"c":[1]}`, "\n", `{"a":{"b":"\"}"},"c":[1]}`},
		{"an object of a stream of them", "{\"i\":0}\n", "{\"i\":1}\n", "{\"i\":0}\n"},
		{"an object that has not ended", `{"a":"}`, `"}`, ""},
		{"a document", doc, "", ""},
		{"a document and white space", doc + "\r", "\n", ""},
		{"the resource of somebody else", `{"resource":"https://other.example","authorization_servers":[]}`, "", `{"resource":"https://other.example","authorization_servers":[]}`},
	} {
		d := &documentRewriter{rule: newRule(own, upstream)}
		out, _ := d.Next([]byte(c.in), false)
		if string(out) != c.want {
			t.Errorf("%s: %q came at once, want %q", c.name, out, c.want)
		}
		run(t, &documentRewriter{rule: newRule(own, upstream)}, []byte(c.in+c.rest), len(c.in))
		if b, _ := d.Next([]byte("\nx"), false); c.want == "" && c.rest == "" && len(b) == 0 {
			t.Errorf("%s: more came, and it is held back", c.name)
		}
	}
}

// run gives body to b in two pieces and returns what came, which must be what the
// patches say.
func run(t *testing.T, b proxy.BodyRewriter, body []byte, cuts ...int) (string, []record.Patch) {
	t.Helper()
	var out []byte
	var patches []record.Patch
	last := 0
	for _, cut := range cuts {
		o, p := b.Next(bytes.Clone(body[last:cut]), false)
		out, patches, last = append(out, o...), append(patches, p...), cut
	}
	o, p := b.Next(bytes.Clone(body[last:]), true)
	out, patches = append(out, o...), append(patches, p...)
	if want := apply(body, patches); !bytes.Equal(out, want) {
		t.Fatalf("sent %q, the patches %v make %q", out, patches, want)
	}
	return string(out), patches
}

func packed(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func TestResponse(t *testing.T) {
	const doc = `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://mcp.example.com"]}`
	const clean = `{"resource":"http://127.0.0.1:7000/mcp","authorization_servers":["https://mcp.example.com"]}`
	const stream = "event: endpoint\ndata: https://mcp.example.com/m?s=1\n\n"
	const rewritten = "event: endpoint\ndata: http://127.0.0.1:7000/m?s=1\n\n"
	const challenge = `Bearer resource_metadata="https://mcp.example.com/here"`
	const challenged = `Bearer resource_metadata="http://127.0.0.1:7000/here"`
	head := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Add(kv[i], kv[i+1])
		}
		return h
	}
	js := head("Content-Type", "application/json; charset=utf-8")
	for _, c := range []struct {
		name   string
		cfg    Config
		own    string
		method string
		path   string
		status int
		head   http.Header
		body   string
		want   string // "": no body rewriter
		fields http.Header
		note   string
	}{
		{name: "document", head: js, body: doc, want: clean},
		{name: "document by content, whatever it is called", head: head("Content-Type", "text/plain"), body: doc, want: clean},
		{name: "another JSON document", head: js, body: `{"a":"https://mcp.example.com"}`, want: `{"a":"https://mcp.example.com"}`},
		{name: "answer to POST", method: "POST", head: js, body: doc},
		{name: "an error", status: 404, head: js, body: doc},
		{name: "a page", head: head("Content-Type", "text/html"), body: doc},
		{name: "sixlink is reached by the upstream's name", own: "https://mcp.example.com:443", head: js, body: doc},
		{name: "own address unknown", own: "-", head: js, body: doc},
		{name: "oauth=pass", cfg: Config{PassOAuth: true}, head: head("Content-Type", "application/json", "Www-Authenticate", challenge), body: doc},
		{name: "stream under oauth=pass", cfg: Config{PassOAuth: true}, head: head("Content-Type", "text/event-stream"), body: stream, want: rewritten},
		{name: "stream", head: head("Content-Type", "text/event-stream; charset=utf-8"), body: stream, want: rewritten},
		{name: "stream that answers a POST", method: "POST", head: head("Content-Type", "text/event-stream"), body: stream},
		{name: "compressed stream", head: head("Content-Type", "text/event-stream", "Content-Encoding", "gzip"), note: "compressed (gzip)"},
		{name: "401", method: "POST", status: 401, head: head("Www-Authenticate", "Basic", "Www-Authenticate", challenge),
			fields: head("Www-Authenticate", "Basic", "Www-Authenticate", challenged)},
		{name: "gzip at a well-known path", path: wellKnown + "/mcp", head: head("Content-Type", "application/json", "Content-Encoding", "gzip"),
			body: packed(doc), want: clean, fields: http.Header{"Content-Encoding": {}}},
		{name: "gzip that is none", path: wellKnown, head: head("Content-Type", "application/json", "Content-Encoding", "gzip"),
			body: doc, want: doc, fields: http.Header{"Content-Encoding": {}}},
		{name: "gzip elsewhere", path: "/other", head: head("Content-Type", "application/json", "Content-Encoding", "gzip"), body: packed(doc)},
		{name: "brotli at a well-known path", path: wellKnown, head: head("Content-Type", "application/json", "Content-Encoding", "br"), note: "compressed (br)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var notes []string
			c.cfg.Note = func(l string) { notes = append(notes, l) }
			w := New(c.cfg)
			target := "/x"
			if c.path != "" {
				target = c.path
			}
			method, status, o := "GET", 200, own
			if c.method != "" {
				method = c.method
			}
			if c.status != 0 {
				status = c.status
			}
			if c.own != "" {
				o = c.own
			}
			req := httptest.NewRequest(method, target, nil)
			resp := &http.Response{StatusCode: status, Header: c.head.Clone(), ContentLength: -1}
			fields, body := w.Response(o, upstream, req, resp)
			if d := cmp.Diff(c.fields, fields); d != "" {
				t.Errorf("fields: %s", d)
			}
			if d := cmp.Diff(c.head, resp.Header); d != "" {
				t.Errorf("the response was changed: %s", d)
			}
			if (body != nil) != (c.want != "") {
				t.Fatalf("a body rewriter: %v", body != nil)
			}
			if body != nil {
				if got, _ := run(t, body, []byte(c.body), len(c.body)/2); got != c.want {
					t.Errorf("got %q\nwant %q", got, c.want)
				}
			}
			if got := strings.Join(notes, "\n"); !strings.Contains(got, c.note) || (c.note == "") != (got == "") {
				t.Errorf("notes %q, want %q", got, c.note)
			}
		})
	}
	t.Run("gzip at an announced path", func(t *testing.T) {
		w := New(Config{})
		w.Response(own, upstream, httptest.NewRequest("POST", "/mcp", nil), &http.Response{StatusCode: 401, Header: head("Www-Authenticate", challenge)})
		_, body := w.Response(own, upstream, httptest.NewRequest("GET", "/here", nil),
			&http.Response{StatusCode: 200, ContentLength: -1, Header: head("Content-Type", "application/json", "Content-Encoding", "gzip")})
		if body == nil {
			t.Fatal("left alone")
		}
		if got, _ := run(t, body, []byte(packed(doc))); got != clean {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a document that says that it is large", func(t *testing.T) {
		_, body := New(Config{}).Response(own, upstream, httptest.NewRequest("GET", "/", nil), &http.Response{StatusCode: 200, ContentLength: maxDocument + 1, Header: js})
		if body != nil {
			t.Error("held back")
		}
	})
}

// The property of all three: only origins change. A client that reads the result
// finds the URL that the server gave, on the other origin.
func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://mcp.example.com/x", a="\"", resource_metadata=https://mcp.example.com`)
	f.Add(`resource_metadata="\h\t\tps://mcp.example.com"`)
	f.Fuzz(func(t *testing.T, v string) {
		r := newRule(own, upstream)
		got, paths := r.challenge(v)
		if (got == v) != (len(paths) == 0) && strings.Count(got, own) == strings.Count(v, own) {
			t.Fatalf("%q became %q and announces %q", v, got, paths)
		}
		if again, _ := r.challenge(got); again != got {
			t.Fatalf("%q became %q, then %q", v, got, again)
		}
	})
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"resource":"https:\/\/mcp.example.com\/mcp","authorization_servers":[]}`), 3)
	f.Add([]byte(`{"\uD83D\uDE00":1,"resource":"\u0068ttps://mcp.example.com","authorization_servers":0}`), 3)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		if cut < 0 || cut > len(p) {
			cut = 0
		}
		r := newRule(own, upstream)
		got, patches := run(t, &documentRewriter{rule: r}, p, cut)
		for _, c := range patches {
			if c.Text != own || c.Len < int64(len("https://mcp.example.com")) {
				t.Fatalf("%q: patch %+v", p, c)
			}
		}
		if again := r.document([]byte(got)); len(again) > 0 {
			t.Fatalf("%q became %q, which changes again", p, got)
		}
	})
}

func ExampleRewriter() {
	w := New(Config{})
	req := &http.Request{Method: "GET", URL: &url.URL{Path: "/sse"}}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}}
	_, body := w.Response("http://localhost:7000", "http://10.0.0.5:3001", req, resp)
	out, patches := body.Next([]byte("event: endpoint\ndata: http://10.0.0.5:3001/message?sessionId=1\n\n"), false)
	fmt.Printf("%s%+v\n", out, patches)
	// Output:
	// event: endpoint
	// data: http://localhost:7000/message?sessionId=1
	//
	// [{Off:22 Len:20 Text:http://localhost:7000}]
}
