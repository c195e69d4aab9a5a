package key

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record/mask"
)

func pointers(t *testing.T, all ...string) []Pointer {
	t.Helper()
	ps, err := ParsePointers(all)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

func TestWhatMakesTwoRequestsEqual(t *testing.T) {
	for name, c := range map[string]struct {
		method        string
		a, b          string
		ignore, match []string
		equal         bool
	}{
		"member order, white space and spelling":  {"tools/call", `{"name":"x","arguments":{"a":1.0,"b":"é"}}`, ` { "arguments" : {"b":"\u00e9","a":10e-1}, "name":"\u0078" }`, nil, nil, true},
		"_meta does not count":                    {"tools/call", `{"name":"x","_meta":{"progressToken":1}}`, `{"name":"x"}`, nil, nil, true},
		"_meta inside of arguments counts":        {"tools/call", `{"name":"x","arguments":{"_meta":1}}`, `{"name":"x","arguments":{}}`, nil, nil, false},
		"no arguments are empty ones":             {"tools/call", `{"name":"x"}`, `{"name":"x","arguments":{}}`, nil, nil, true},
		"null arguments are not":                  {"tools/call", `{"name":"x","arguments":null}`, `{"name":"x"}`, nil, nil, false},
		"no params are empty ones":                {"tools/list", ``, `{}`, nil, nil, true},
		"a cursor counts":                         {"tools/list", `{"cursor":"2"}`, `{}`, nil, nil, false},
		"text is no number":                       {"tools/call", `{"name":"x","arguments":{"a":1}}`, `{"name":"x","arguments":{"a":"1"}}`, nil, nil, false},
		"numbers beyond float64":                  {"tools/call", `{"name":"x","arguments":{"a":9007199254740993}}`, `{"name":"x","arguments":{"a":9007199254740992}}`, nil, nil, false},
		"names have case":                         {"tools/call", `{"name":"x","arguments":{"A":1}}`, `{"name":"x","arguments":{"a":1}}`, nil, nil, false},
		"of a name twice the last holds":          {"tools/call", `{"name":"x","arguments":{"a":1,"a":2}}`, `{"name":"x","arguments":{"a":2}}`, nil, nil, true},
		"initialize is its method":                {"initialize", `{"protocolVersion":"1"}`, `{"protocolVersion":"2"}`, nil, nil, true},
		"an ignored argument":                     {"tools/call", `{"name":"x","arguments":{"a":1,"b":2}}`, `{"name":"x","arguments":{"a":1,"b":3}}`, []string{"/b"}, nil, true},
		"an ignored argument may be missing":      {"tools/call", `{"name":"x","arguments":{"a":1,"b":2}}`, `{"name":"x","arguments":{"a":1}}`, []string{"/b"}, nil, true},
		"ignored for another tool":                {"tools/call", `{"name":"x","arguments":{"b":2}}`, `{"name":"x","arguments":{"b":3}}`, []string{"y:/b"}, nil, false},
		"ignored for this tool":                   {"tools/call", `{"name":"a:b","arguments":{"b":2}}`, `{"name":"a:b","arguments":{"b":3}}`, []string{"a:b:/b"}, nil, true},
		"a wildcard":                              {"tools/call", `{"name":"x","arguments":{"l":[{"id":1,"v":1},{"id":2,"v":2}]}}`, `{"name":"x","arguments":{"l":[{"id":8,"v":1},{"id":9,"v":2}]}}`, []string{"/l/*/id"}, nil, true},
		"a wildcard leaves the rest":              {"tools/call", `{"name":"x","arguments":{"l":[{"id":1,"v":1}]}}`, `{"name":"x","arguments":{"l":[{"id":1,"v":2}]}}`, []string{"/l/*/id"}, nil, false},
		"ignored elements keep their number":      {"tools/call", `{"name":"x","arguments":{"l":[1,2]}}`, `{"name":"x","arguments":{"l":[1]}}`, []string{"/l/*"}, nil, false},
		"escapes in a pointer":                    {"tools/call", `{"name":"x","arguments":{"a/b":{"~":1}}}`, `{"name":"x","arguments":{"a/b":{"~":2}}}`, []string{"/a~1b/~0"}, nil, true},
		"all arguments":                           {"tools/call", `{"name":"x","arguments":{"a":1}}`, `{"name":"x","arguments":{"a":2,"b":3}}`, []string{"x:"}, nil, true},
		"only what is matched":                    {"tools/call", `{"name":"x","arguments":{"a":1,"b":{"c":2,"d":3}}}`, `{"name":"x","arguments":{"a":9,"b":{"c":2,"d":9}}}`, nil, []string{"/b/c"}, true},
		"what is matched counts":                  {"tools/call", `{"name":"x","arguments":{"b":{"c":2}}}`, `{"name":"x","arguments":{"b":{"c":3}}}`, nil, []string{"/b/c"}, false},
		"matched for another tool: all counts":    {"tools/call", `{"name":"x","arguments":{"a":1}}`, `{"name":"x","arguments":{"a":2}}`, nil, []string{"y:/b"}, false},
		"the name counts whatever is ignored":     {"tools/call", `{"name":"x"}`, `{"name":"y"}`, []string{""}, nil, false},
		"arguments of a method that has none":     {"resources/read", `{"uri":"a","arguments":{"b":1}}`, `{"uri":"a","arguments":{"b":2}}`, []string{"/b"}, nil, false},
		"a quotation mark is no end":              {"tools/call", `{"name":"x","arguments":{"a":"\",\"b\":\""}}`, `{"name":"x","arguments":{"a":"","b":""}}`, nil, nil, false},
		"not JSON is compared as spelt":           {"x", `{"a":`, `{"a":`, nil, nil, true},
		"lone surrogates are told apart":          {"x", `{"a":"\ud800"}`, `{"a":"\ud801"}`, nil, nil, false},
		"an ignored element is not a missing one": {"tools/call", `{"name":"x","arguments":{"l":[1,null]}}`, `{"name":"x","arguments":{"l":[1,2]}}`, []string{"/l/0"}, nil, false},
	} {
		r := Rules{Ignore: pointers(t, c.ignore...), Match: pointers(t, c.match...)}
		if got := r.Of(c.method, []byte(c.a)) == r.Of(c.method, []byte(c.b)); got != c.equal {
			t.Errorf("%s: equal is %v", name, got)
		}
		diffs, n := r.Diff(c.method, []byte(c.a), []byte(c.b))
		if (n == 0) != c.equal || len(diffs) > n {
			t.Errorf("%s: %d differences %v", name, n, diffs)
		}
	}
	var r Rules
	if r.Of("a", nil) == r.Of("b", nil) {
		t.Error("the method does not count")
	}
}

func TestPointersThatAreNone(t *testing.T) {
	for _, s := range []string{"a", "a:b", ":/a", "/a~", "/a~2", "x:y", strings.Repeat("/a", 65)} {
		if p, err := ParsePointer(s); err == nil {
			t.Errorf("%q reads as %q", s, p)
		}
	}
	for _, s := range []string{"/a/0/*", "tool:/a~1b~0", "a:b:/c", "", "/"} {
		p, err := ParsePointer(s)
		if err != nil || p.String() != s {
			t.Errorf("%q: %q, %v", s, p, err)
		}
	}
}

func TestDifferencesAreNamed(t *testing.T) {
	var r Rules
	got, n := r.Diff("tools/call", []byte(`{"name":"x","arguments":{"q":"red","limit":10,"l":[1],"gone":true}}`), []byte(`{"name":"x","arguments":{"limit":20,"q":"red","l":[1,{"n":2}],"new":null},"task":{}}`))
	want := []Difference{
		{"/gone", false, "true", ""}, {"/l/1", false, "", `{"n":2}`}, {"/limit", false, "10", "20"}, {"/new", false, "", "null"}, {"/task", true, "", "{}"},
	}
	if n != len(want) || !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	long := `{"a":"` + strings.Repeat("é", 200) + `"}`
	if got, _ := r.Diff("x", []byte(long), []byte(`{"a":1}`)); len(got[0].Recorded) > maxShown+len("…") {
		t.Errorf("%d bytes are shown", len(got[0].Recorded))
	}
}

// A recording has filler where the credential was; the live client sends another
// credential, or the same.
func TestCredentialsAreComparedByTheirHash(t *testing.T) {
	const secret = "hunter2-hunter2-token"
	k := mask.RandomKey()
	m := mask.New(k, secret)
	record := func(params string) ([]byte, []mask.Span) {
		b := []byte(params)
		return b, m.Mask(b, nil)
	}
	requests := []string{
		`{"name":"x","arguments":{"auth":"Bearer ` + secret + `","n":1}}`,
		`{"name":"x","arguments":{"l":["` + secret + `","` + secret + ` and ` + secret + `"]}}`,
		`{"name":"x","arguments":{"auth":"Bearer open","n":1}}`,
		`{"name":"x","arguments":{"u":"https://h/?t=` + secret + `"}}`,
	}
	x := NewIndex(Rules{}, k.MAC)
	y := NewIndex(Rules{}, nil)
	for i, r := range requests {
		params, spans := record(r)
		if i != 2 && len(spans) == 0 || bytes.Contains(params, []byte(secret)) {
			t.Fatalf("%s was not masked", params)
		}
		x.Add(i, "tools/call", params, spans)
		y.Add(i, "tools/call", params, spans)
	}
	for i, r := range requests {
		if got := x.Find("tools/call", []byte(r)); !slices.Equal(got, []int{i}) {
			t.Errorf("%s: found %v", r, got)
		}
		other := strings.ReplaceAll(r, secret, "hunter3-hunter3-token")
		if got := x.Find("tools/call", []byte(other)); i != 2 && len(got) != 0 {
			t.Errorf("%s: another credential found %v", other, got)
		}
		if got := y.Find("tools/call", []byte(other)); !slices.Contains(got, i) {
			t.Errorf("%s: without the key, found %v", other, got)
		}
	}
	if got := x.Find("tools/call", []byte(`{"name":"x","arguments":{"auth":7,"n":1}}`)); len(got) != 0 {
		t.Errorf("a number found %v", got)
	}
}

func TestEqualRequestsAreFoundInOrder(t *testing.T) {
	x := NewIndex(Rules{Redact: func(_ string, p []byte) []byte { return bytes.ReplaceAll(p, []byte("me@x"), []byte("<1>")) }}, nil)
	for i, p := range []string{`{"name":"a"}`, `{"name":"b","arguments":{"who":"<1>"}}`, `{"name":"a","arguments":{}}`} {
		x.Add(i, "tools/call", []byte(p), nil)
	}
	if got := x.Find("tools/call", []byte(`{"arguments":{},"name":"a"}`)); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("found %v", got)
	}
	if got := x.Find("tools/call", []byte(`{"name":"b","arguments":{"who":"me@x"}}`)); !slices.Equal(got, []int{1}) {
		t.Errorf("a redacted request: found %v", got)
	}
}

// Any two texts: keys are equal exactly when nothing differs, and nothing panics whatever the masks say.
func FuzzKey(f *testing.F) {
	f.Add("tools/call", `{"name":"x","arguments":{"a":[1,{"b":"c"}]}}`, `{"name":"x","arguments":{"a":[1.0,{"b":"\u0063"}]}}`, "/a/*/b", 3, 9)
	f.Add("tools/list", ``, `{"cursor":""}`, "x:/a", 0, 1)
	f.Fuzz(func(t *testing.T, method, a, b, pointer string, off, n int) {
		var r Rules
		if p, err := ParsePointer(pointer); err == nil {
			r.Ignore = []Pointer{p}
		}
		_, diffs := r.Diff(method, []byte(a), []byte(b))
		pa, pb := parse([]byte(a)), parse([]byte(b))
		if equal := r.Of(method, []byte(a)) == r.Of(method, []byte(b)); pa != nil && pb != nil && equal != (diffs == 0) {
			t.Fatalf("equal %v, %d differences", equal, diffs)
		}
		x := NewIndex(r, func(s string) string { return "mac" + s })
		x.Add(0, method, []byte(a), []mask.Span{{Off: int64(off), Len: int64(n), MAC: "mac"}})
		x.Find(method, []byte(b))
	})
}
