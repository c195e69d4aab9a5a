package jsonscan

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestSkip(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"x":[`, n) + strings.Repeat(`]}`, n) }
	for _, c := range []struct {
		name, in string
		end      int // -1: refused
		depth    int
	}{
		{"scalar with white space around it", " \t12 ", 4, 0},
		{"object", `{"a":[1,{"b":null}],"c":"}"}x`, 28, 3},
		{"empty object and array", `[{},[]]`, 7, 2},
		{"nesting of 24,000", deep(12000), len(deep(12000)), 24000},
		{"lone surrogate", `"a\ud83db"`, 10, 0},
		{"no UTF-8 inside a string", "\"a\xffb\"", 5, 0},
		{"escaped quote at a word's border", `"1234567\"8"`, 12, 0},
		{"control character in a string", "\"a\nb\"", -1, 0},
		{"bad escape", `"\x"`, -1, 0},
		{"half an escape", `"\u12g4"`, -1, 0},
		{"comma before the end of an object", `{"a":1,}`, -1, 0},
		{"comma before the end of an array", `[1,]`, -1, 0},
		{"brackets crossed", `{"a":[1}]`, -1, 0},
		{"no colon", `{"a" 1}`, -1, 0},
		{"name that is no string", `{1:2}`, -1, 0},
		{"leading zero leaves the rest", `01`, 1, 0},
		{"no digit after the point", `1.`, -1, 0},
		{"no digit in the exponent", `1e+`, -1, 0},
		{"cut", `{"a":[1,2`, -1, 0},
		{"nothing", "  ", -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Skip([]byte(c.in), 0)
			if (err != nil) != (c.end < 0) || err == nil && (s.End != c.end || s.Depth != c.depth) {
				t.Fatalf("got end %d depth %d err %v, want end %d depth %d", s.End, s.Depth, err, c.end, c.depth)
			}
		})
	}
}

func TestMembersKeepsOrderCaseAndDuplicates(t *testing.T) {
	in := `{"id":1, "ID":2,"i\u0064":3,"":{"a":{}}}`
	var got []string
	s, err := Members([]byte(in), 0, func(name []byte, at int) (Span, error) {
		v, err := Skip([]byte(in), at)
		got = append(got, string(name)+"="+in[v.Start:v.End])
		return v, err
	})
	if err != nil || s.End != len(in) || s.Depth != 3 {
		t.Fatal(s, err)
	}
	if g := strings.Join(got, " "); g != `id=1 ID=2 id=3 ={"a":{}}` {
		t.Fatal(g)
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "1.0": "1", "1e0": "1", "10e-1": "1", "0.1E1": "1", "100e-2": "1",
		"0": "0", "-0": "0", "0.0": "0", "0e99999999999999999999": "0",
		"1.5": "15e-1", "-1.50": "-15e-1", "1e3": "1000",
		"9007199254740993":          "9007199254740993",
		"9007199254740993.0":        "9007199254740993",
		"1e400":                     "1e400",
		"1e99999999999999999999999": "1e99999999999999999999999",
		"12345678901234567890":      "12345678901234567890",
	} {
		if got := Number([]byte(in)); got != want {
			t.Errorf("Number(%s) = %s, want %s", in, got, want)
		}
	}
	long := strings.Repeat("9", MaxNumber+1)
	if Number([]byte(long)) != long {
		t.Error("a number that is too long is not kept as spelt")
	}
	if n, ok := Int([]byte("-32601.0")); !ok || n != -32601 {
		t.Error(n, ok)
	}
	if _, ok := Int([]byte("1.5")); ok {
		t.Error("1.5 read as an integer")
	}
}

func TestStringKeepsHalvesApart(t *testing.T) {
	texts := map[string]string{}
	for _, q := range []string{`"\ud83d"`, `"\ude00"`, `"\ufffd"`, `"\ud83d\ude00"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`} {
		s, ok := String([]byte(q))
		if !ok {
			t.Fatal(q)
		}
		if other, dup := texts[s]; dup {
			t.Errorf("%s and %s read alike", q, other)
		}
		texts[s] = q
	}
	if s, _ := String([]byte(`"\ud83d\ude00\n\/\u0061"`)); s != "😀\n/a" {
		t.Errorf("%q", s)
	}
}

func TestCanonical(t *testing.T) {
	same := func(a, b string, want bool) {
		t.Helper()
		x, ok1 := Canonical([]byte(a))
		y, ok2 := Canonical([]byte(b))
		if !ok1 || !ok2 || bytes.Equal(x, y) != want {
			t.Errorf("%s against %s: %s, %s", a, b, x, y)
		}
	}
	same(`{"a":1.0,"b":"\u0062"}`, `{ "b" : "b", "a" : 1 }`, true)
	same(`{"a":1,"a":2}`, `{"a":2}`, true)
	same(`[1,2]`, `[2,1]`, false)
	same(`["\ud83d"]`, `["\ufffd"]`, false)
	same(`{"a":[]}`, `{"a":{}}`, false)
	same(`["a,b"]`, `["a","b"]`, false)
	same(`9007199254740993`, `9007199254740992`, false)
	if _, ok := Canonical([]byte(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))); ok {
		t.Error("no bound on depth")
	}
}

// FuzzSkip holds the walk against jsontext: whatever jsontext accepts (with the
// liberties that this package takes) must be accepted, with the same end, and
// what is refused here must be refused there.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"x\u00e9",null,true]}`, `"\ud83d"`, `[[[]]]`, `{"":{}}`, "1e", `{"a":1,}`, "\"\xff\"", `"\`, `-`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Skip(b, 0)
		valid := err == nil && Space(b, s.End) == len(b)
		theirs := jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if theirs && !valid {
			t.Fatalf("jsontext accepts %q, we do not: %v", b, err)
		}
		if valid && !theirs && s.Depth <= 10000 {
			// The two liberties. json.Valid knows both halves and bytes that are no UTF-8.
			if !json.Valid(b) {
				t.Fatalf("we accept %q, nobody else does", b)
			}
		}
		if !valid {
			return
		}
		_, _ = Canonical(b)
		v := b[s.Start:s.End]
		switch v[0] {
		case '{':
			n := 0
			m, err := Members(b, 0, func(_ []byte, at int) (Span, error) { n++; return Skip(b, at) })
			if err != nil || m != s {
				t.Fatalf("Members %+v %v, Skip %+v", m, err, s)
			}
		case '[':
			m, err := Elements(b, 0, func(_, at int) (Span, error) { return Skip(b, at) })
			if err != nil || m != s {
				t.Fatalf("Elements %+v %v, Skip %+v", m, err, s)
			}
		case '"':
			var want string
			if json.Unmarshal(v, &want) == nil && !bytes.Contains(v, []byte(`\u`)) && !strings.Contains(want, "\ufffd") {
				if got, _ := String(v); got != want {
					t.Fatalf("%q: got %q, want %q", v, got, want)
				}
			}
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n := Number(v)
			if again := Number([]byte(n)); again != n {
				t.Fatalf("%s: normal form %s becomes %s", v, n, again)
			}
			if e := bytes.IndexAny(v, "eE"); len(v) < 20 && (e < 0 || len(v)-e < 6) { // big.Float is slow beyond
				x, ok1 := new(big.Float).SetString(string(v))
				y, ok2 := new(big.Float).SetString(n)
				if ok1 && ok2 && !x.IsInf() && x.Cmp(y) != 0 {
					t.Fatalf("%s became %s", v, n)
				}
			}
		}
	})
}

// BenchmarkSkip is over one object of 1 MB, most of it text.
func BenchmarkSkip(b *testing.B) {
	in := []byte(`{"a":[` + strings.Repeat(`{"type":"text","text":"`+strings.Repeat("lorem ipsum ", 20)+`","n":12.5},`, 3600) + `1]}`)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := Skip(in, 0); err != nil {
			b.Fatal(err)
		}
	}
}
