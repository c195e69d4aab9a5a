package value

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"keys keep their order":          {`{ "b" : 1, "a" : [ true, null, "x" ] }`, `{"b":1,"a":[true,null,"x"]}`},
		"array indices come first":       {`{"b":1,"10":2,"9":3,"a":4}`, `{"9":3,"10":2,"b":1,"a":4}`},
		"not every digit is an index":    {`{"b":1,"01":2,"-1":3,"1.5":4,"4294967295":5,"4294967294":6}`, `{"4294967294":6,"b":1,"01":2,"-1":3,"1.5":4,"4294967295":5}`},
		"a key twice: place of first":    {`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		"__proto__ is a key":             {`{"__proto__":{"a":1}}`, `{"__proto__":{"a":1}}`},
		"numbers keep their digits":      {`[1.0, 1e0, -0, 9007199254740993, 1E2, 1e400]`, `[1,1,0,9007199254740993,100,1e+400]`},
		"only the escapes of stringify":  {`"\u003ca\u00e9\/\u0001\n\ud83d\ude00\ud83d"`, `"<aé/\u0001\n😀\ud83d"`},
		"empty ones":                     {`[{ }, [ ], ""]`, `[{},[],""]`},
		"nothing HTML about angle or &/": {`"<&>\u2028"`, "\"<&>\u2028\""},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Parse([]byte(c.in), Options{MaxDepth: 10})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(Plain(nil, &v)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// FuzzPlainLen: what is counted over the text is the length of what is written
// from the value, and that text reads as the same value.
func FuzzPlainLen(f *testing.F) {
	for _, s := range []string{`{"a" : [1.50, -0, 1e3, "x\ny"]}`, `"\ud83d\ude00 \ud83d \u0041 \/ \u001f"`, "\t[true , false,null ]\n", `{"2":1,"1":[]}`, `"\ude00\ud83d\u0022"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<12 {
			return
		}
		v, err := Parse([]byte(s), Options{MaxDepth: 100, Unique: true})
		if err != nil {
			return
		}
		plain := Plain(nil, &v)
		if n := PlainLen([]byte(s)); n != int64(len(plain)) {
			t.Fatalf("%q: counted %d, written %d: %q", s, n, len(plain), plain)
		}
		again, err := Parse(plain, Options{MaxDepth: 100, Unique: true})
		if err != nil || !Equal(&v, &again) {
			t.Fatalf("%q: written %q, which reads as another value (%v)", s, plain, err)
		}
	})
}

func TestMaxValues(t *testing.T) {
	for text, ok := range map[string]bool{`[1,2,3]`: true, `[1,2,3,4]`: false, `{"a":{"b":1,"c":2}}`: true, `{"a":{"b":[],"c":2,"d":3}}`: false} {
		_, err := Parse([]byte(text), Options{MaxDepth: 5, MaxValues: 4})
		if ok != (err == nil) || !ok && !errors.Is(err, ErrValues) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Parse([]byte("["+strings.Repeat("1,", 1000)+"1]"), Options{MaxDepth: 5}); err != nil {
		t.Errorf("without a bound: %v", err)
	}
}

func TestCodePoints(t *testing.T) {
	if got := CodePoints("aé😀\xed\xa0\xbd"); !slices.Equal(got, []rune{'a', 'é', '😀', 0xd83d}) {
		t.Errorf("%x", got)
	}
}
