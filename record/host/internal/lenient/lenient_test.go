package lenient_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
)

func TestObjects(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       []string
		errors     int64
		skipped    int64
		cut        bool
	}{
		{"lines", "{\"a\":1}\n{\"b\":2}\n", []string{`1 {"a":1}`, `2 {"b":2}`}, 0, 0, false},
		{"a last line without an end", "{\"a\":1}\n{\"b\":2}", []string{`1 {"a":1}`, `2 {"b":2}`}, 0, 0, false},
		{"CRLF, a mark and blank lines", "\xef\xbb\xbf{\"a\":1}\r\n\r\n{\"b\":2}\r\n", []string{`1 {"a":1}`, `3 {"b":2}`}, 0, 1, false},
		{"a cut line", "{\"a\":1}\n{\"b\":", []string{`1 {"a":1}`}, 1, 0, true},
		{"a broken line between", "{\"a\":1}\nxx\n[1]\n{\"b\":2}\n", []string{`1 {"a":1}`, `4 {"b":2}`}, 2, 0, false},
		{"a first line that is broken", "{\"a\":tru}\n{\"b\":2}\n", []string{`2 {"b":2}`}, 1, 0, false},
		{"an array", "[{\"a\":1},\n 7, {\"b\":2}]", []string{`1 {"a":1}`, `3 {"b":2}`}, 0, 1, false},
		{"an array on one line", "[{\"a\":1}]\n", []string{`1 {"a":1}`}, 0, 0, false},
		{"an array over lines behind a mark", "\xef\xbb\xbf [\n{\"a\":\n1}\n]\n", []string{"1 {\"a\":\n1}"}, 0, 0, false},
		{"an array that is cut", "[{\"a\":1},\n{\"b\":", []string{`1 {"a":1}`}, 1, 0, true},
		{"an array that is broken", "[{\"a\":1}\n{\"b\":2}]", []string{`1 {"a":1}`}, 1, 0, false},
		{"a document", "{\n \"a\": 1\n}\n", []string{"1 {\n \"a\": 1\n}"}, 0, 0, false},
		{"two documents", "{\n \"a\": 1\n}\n{\n \"b\": 2\n}\n", []string{"1 {\n \"a\": 1\n}", "2 {\n \"b\": 2\n}"}, 0, 0, false},
		{"a document that is cut", "{\n \"a\": ", nil, 1, 0, true},
		{"no UTF-8", "{\"a\":\"\xff\"}\n", []string{"1 {\"a\":\"\xff\"}"}, 0, 0, false},
		{"one name twice", "{\"a\":1,\"a\":2}\n", []string{`1 {"a":1,"a":2}`}, 0, 0, false},
		{"nothing", "", nil, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var src host.Source
			var got []string
			if err := lenient.Objects(host.BytesFile("x", []byte(tt.data)), &src, func(n int64, raw jsontext.Value) { got = append(got, fmt.Sprintf("%d %s", n, raw)) }); err != nil {
				t.Fatal(err)
			}
			skipped := int64(0)
			for _, n := range src.Skipped {
				skipped += n
			}
			if d := cmp.Diff(tt.want, got); d != "" || src.ErrorCount != tt.errors || src.Cut != tt.cut || skipped != tt.skipped {
				t.Errorf("%+v\n%s", src, d)
			}
			if src.Bytes != int64(len(tt.data)) || len(src.SHA256) != 64 {
				t.Errorf("%d bytes of %d, hash %q", src.Bytes, len(tt.data), src.SHA256)
			}
		})
	}
}

// An element over the bound ends the reading of an array, and the rest counts for
// size and hash all the same.
func TestRation(t *testing.T) {
	data := `[{"a":1},{"b":"` + strings.Repeat("x", host.DefaultMaxLine+1<<20) + `"},{"c":1}]`
	var src host.Source
	n := 0
	if err := lenient.Objects(host.BytesFile("x", []byte(data)), &src, func(int64, jsontext.Value) { n++ }); err != nil {
		t.Fatal(err)
	}
	if n != 1 || src.ErrorCount != 1 || src.Cut || src.Bytes != int64(len(data)) {
		t.Errorf("%d elements, %+v", n, src)
	}
}

func TestHeads(t *testing.T) {
	for _, tt := range []struct{ name, head, want string }{
		{"lines", "{\"a\":1}\nxx\n{\"b\":2}\n", "a|b"},
		{"a line that goes on", "{\"a\":1,\"b\":{\"c\":", "a b"},
		{"an array", "[{\"a\":1}, {\"b\":2}]", "a|b"},
		{"an array whose first element goes on", "[\n {\"a\":1,\"b\":[1,", "a b"},
		{"a document", "{\n\"a\":1,\n\"b\":2}", "a b"},
		{"a document that goes on", "{\n\"a\":1,\n\"b\":[", "a b"},
		{"no JSON", "hello", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, m := range lenient.Heads([]byte(tt.head)) {
				var names []string
				for _, n := range []string{"a", "b", "c"} {
					if lenient.Has(m, n) {
						names = append(names, n)
					}
				}
				got = append(got, strings.Join(names, " "))
			}
			if strings.Join(got, "|") != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A member of another type is absent and does not take the rest with it.
func TestLenient(t *testing.T) {
	var v struct {
		A lenient.Long `json:"a"`
		B lenient.Word `json:"b"`
		C lenient.Flag `json:"c"`
		D lenient.Word `json:"d"`
	}
	if !lenient.Into([]byte(`{"a":{"x":[1]},"b":7,"c":"yes","d":"fine"}`), &v) || v.A != "" || v.B != "" || v.C.Set || v.D != "fine" {
		t.Errorf("%+v", v)
	}
	long := strings.Repeat("é", 400)
	if err := json.Unmarshal([]byte(`"`+long+`"`), &v.D); err != nil || len(v.D) > 200 || v.D == lenient.Word(lenient.Bound(long+"x")) {
		t.Errorf("%v, %d bytes", err, len(v.D))
	}
	if got := string(lenient.Member([]byte(`{"a":{"b":1},"b":2,"b":[3]}`), "b")); got != "[3]" {
		t.Errorf("member %q", got)
	}
	if lenient.Member([]byte(`[1]`), "b") != nil || lenient.Into([]byte(`[]`), &v) || lenient.String([]byte(`7`)) != "" {
		t.Error("what is no object, and no string, is taken for one")
	}
}

func TestTimes(t *testing.T) {
	for in, want := range map[string]string{
		"1774420252.487204":     "2026-03-25T06:30:52.487204Z", // as a float it would end in 487203…
		"1774420252":            "2026-03-25T06:30:52Z",
		"1774420252.1234567891": "2026-03-25T06:30:52.123456789Z",
		"null":                  "",
		"-1":                    "",
		"1e9":                   "",
		"0":                     "",
		`"1774420252"`:          "",
		"99999999999999999999":  "",
		"253402300800":          "",
	} {
		got := ""
		if v := lenient.Seconds(jsontext.Value(in)); !v.IsZero() {
			got = v.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("Seconds(%s) = %q, want %q", in, got, want)
		}
	}
	if got := lenient.Millis(jsontext.Value("1796046766743")); got.Format(time.RFC3339Nano) != "2026-11-30T13:52:46.743Z" {
		t.Errorf("Millis: %v", got)
	}
	if got := lenient.Time("2026-11-30T14:52:46.7+01:00"); got.Format(time.RFC3339Nano) != "2026-11-30T13:52:46.7Z" {
		t.Errorf("Time: %v", got)
	}
	if !lenient.Time("yesterday").IsZero() || !lenient.Millis(jsontext.Value("999999999999999999")).IsZero() {
		t.Error("what is no time is taken for one")
	}
}

func FuzzObjects(f *testing.F) {
	for _, s := range []string{"{\"a\":1}\n{", "[{}, 1", "{\n\"a\":1}", "\xef\xbb\xbf[\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var src host.Source
		if err := lenient.Objects(host.BytesFile("x", data), &src, func(n int64, raw jsontext.Value) {
			if raw.Kind() != '{' || n < 1 {
				t.Fatalf("object %d: %q", n, raw)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if src.Bytes != int64(len(data)) {
			t.Fatalf("%d bytes of %d", src.Bytes, len(data))
		}
		lenient.Heads(data)
	})
}
