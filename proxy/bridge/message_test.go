package bridge

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, line string
		ok         bool
		want       string // method id request response name version
	}{
		{"a request", `{"id":1,"method":"tools/call","params":{"name":"x","arguments":{"name":"y"}}}`, true, "tools/call 1 true false x "},
		{"a null id", `{"id":null,"method":"m"}`, true, "m null false false  "},
		{"an answer", `{"id":"a","result":{}}`, true, ` "a" false true  `},
		{"the last of two members", `{"id":1,"id":2,"method":"a","method":"b"}`, true, "b 2 true false  "},
		{"case of names", `{"ID":1,"Method":"a","id":2,"method":"b"}`, true, "b 2 true false  "},
		{"escaped names", `{"\u0069d":3,"m\u0065thod":"b"}`, true, "b 3 true false  "},
		{"params that are a list", `{"id":1,"method":"tools/call","params":["name"]}`, true, "tools/call 1 true false  "},
		{"a version", `{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, true, "m 1 true false  2026-07-28"},
		{"a resource", `{"id":1,"method":"resources/read","params":{"name":"n","uri":"u"}}`, true, "resources/read 1 true false u "},
		{"an error without an id", `{"jsonrpc":"2.0","error":{}}`, true, "  false true  "},
		{"an error of OAuth", `{"error":"invalid_token"}`, false, ""},
		{"something after it", `{"id":1,"method":"m"} x`, false, ""},
		{"half of one", `{"id":1,"method":"m"`, false, ""},
		{"an empty batch", `[]`, false, ""},
		{"a batch of numbers", `[1]`, false, ""},
		{"a batch with a number in it", `[{"id":1,"method":"m"},1]`, false, ""},
		{"no object", `"text"`, false, ""},
		{"nothing", ``, false, ""},
	} {
		m, ok := parse([]byte(c.line))
		if ok != c.ok {
			t.Errorf("%s: %v", c.name, ok)
			continue
		}
		if !ok {
			if len(m.parts) > 0 {
				t.Errorf("%s: has parts", c.name)
			}
			continue
		}
		p := m.parts[0]
		name, _ := p.name()
		if got := fmt.Sprintf("%s %s %v %v %s %s", p.method, p.id, p.request(), p.response(), name, p.version); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestIDKey(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{"1", "1.0", true}, {"1000", "1e3", true}, {`"a"`, `"\u0061"`, true}, {"0", "-0", true},
		{"1", `"1"`, false}, {"9007199254740993", "9007199254740992", false}, {"12345678901234567890", "12345678901234567891", false}, {"1.5", "1", false},
	} {
		if got := idKey([]byte(c.a)) == idKey([]byte(c.b)); got != c.equal {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// A field's value must come back as the text it was made of (wire.md 1.4).
func TestFieldValue(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"echo", "echo"}, {"a b", "a b"}, {"", "=?base64??="}, {" a", "=?base64?IGE=?="}, {"a\n", "=?base64?YQo=?="},
		{"é", "=?base64?w6k=?="}, {"=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="},
	} {
		if got := fieldValue(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzFieldValue(f *testing.F) {
	f.Add("é")
	f.Fuzz(func(t *testing.T, s string) {
		v := fieldValue(s)
		if strings.ContainsAny(v, "\r\n\x00") || strings.TrimSpace(v) != v {
			t.Fatalf("%q: %q is no field value", s, v)
		}
		if rest, ok := strings.CutPrefix(v, "=?base64?"); ok && strings.HasSuffix(rest, "?=") {
			b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(rest, "?="))
			if err != nil || string(b) != s {
				t.Fatalf("%q became %q", s, v)
			}
		} else if v != s {
			t.Fatalf("%q became %q", s, v)
		}
	})
}

// No token of a message changes, and it is one line.
func FuzzOneLine(f *testing.F) {
	f.Add([]byte("{\r\n \"a\\\"\\\\\": [1,\n2]\r}"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if !isJSON(p) {
			return
		}
		line := oneLine(bytes.Clone(p))
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("%q became %q", p, line)
		}
		opts := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)}
		a, b := jsontext.Value(bytes.Clone(p)), jsontext.Value(line)
		if a.Compact(opts...) != nil || b.Compact(opts...) != nil || !bytes.Equal(a, b) {
			t.Fatalf("%q became %q", p, line)
		}
	})
}

// What is taken for a message is JSON, and an error that we make for it is one line
// of JSON with its id as it was spelt.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1.0,"error":{"code":1e2,"message":"\ud800"}}`), []byte("body"))
	f.Add([]byte(`[{"id":"\u00e9","method":"m"},{"id":2,"method":"n"}]`), []byte("\xff\n"))
	f.Fuzz(func(t *testing.T, p, body []byte) {
		m, ok := parse(p)
		if !ok {
			return
		}
		if !isJSON(p) {
			t.Fatalf("%q is taken for a message", p)
		}
		for _, part := range m.parts {
			if !part.request() && part.failure == nil {
				continue
			}
			line := fault{code: codeStatus, why: "status", body: body, failure: part.failure, status: 400}.made(part.id)
			made, ok := parse(line)
			if !ok || bytes.ContainsAny(line, "\r\n") || !made.parts[0].response() {
				t.Fatalf("%q, %q: made %q", p, body, line)
			}
			if id := made.parts[0].id; part.id != nil && !bytes.Equal(id, part.id) {
				t.Fatalf("%q: the id became %q", p, id)
			}
			if !strings.Contains(string(line), `"madeBy":"sixlink"`) {
				t.Fatalf("%q is not marked", line)
			}
		}
	})
}

func read(r io.Reader) (events []string, retry time.Duration) {
	e := &eventReader{r: r}
	for {
		ev, err := e.next()
		if err != nil {
			return events, e.retry
		}
		events = append(events, fmt.Sprintf("%s|%s|%s", ev.id, ev.name, ev.data))
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"line ends", "data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\r\n\n", []string{"||a", "||b", "||c", "||d"}},
		{"lines of data", "data: a\ndata:  b\ndata\ndata:c\n\n", []string{"||a\n b\n\nc"}},
		{"comments and unknown fields", ": x\ndata: a\nfoo: b\n:\n\n", []string{"||a"}},
		{"an id alone", "id: 1\ndata:\n\nid: 2\n\n", []string{"1||", "2||"}},
		{"an id with a zero byte", "id: 1\x00\ndata: a\n\n", []string{"||a"}},
		{"a name without data", "event: x\n\ndata: a\n\n", []string{"||a"}},
		{"names", "event: x\ndata: a\n\ndata: b\n\n", []string{"|x|a", "||b"}},
		{"byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"||a"}},
		{"an event without its blank line", "data: a\n\ndata: b\n", []string{"||a"}},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(c.in), "by bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
			if got, _ := read(r); !cmp.Equal(got, c.want) {
				t.Errorf("%s, %s: %q, want %q", c.name, name, got, c.want)
			}
		}
	}
	if _, retry := read(strings.NewReader("retry: 20\nretry: x\ndata: a\n\n")); retry != 20*time.Millisecond {
		t.Errorf("retry %v", retry)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("id: 1\r\ndata: a\r\n\r\nevent: b\rdata\r\r", 3)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		if cut < 0 || cut > len(s) {
			cut = 0
		}
		a, _ := read(strings.NewReader(s))
		b, _ := read(io.MultiReader(strings.NewReader(s[:cut]), iotest.HalfReader(strings.NewReader(s[cut:]))))
		if !cmp.Equal(a, b) {
			t.Fatalf("%q: %q whole, %q in pieces", s, a, b)
		}
		// One line end or another makes no difference.
		if !strings.Contains(s, "\r") {
			if c, _ := read(strings.NewReader(strings.ReplaceAll(s, "\n", "\r\n"))); !cmp.Equal(a, c) {
				t.Fatalf("%q: %q with LF, %q with CRLF", s, a, c)
			}
		}
	})
}

func TestMediaType(t *testing.T) {
	for _, v := range []string{"text/event-stream;charset=utf-8", "Text/Event-Stream; charset", "text/event-stream;"} {
		if got := mediaType(map[string][]string{"Content-Type": {v}}); got != "text/event-stream" {
			t.Errorf("%q: %q", v, got)
		}
	}
}
