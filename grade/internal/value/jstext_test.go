package value

import (
	"errors"
	"strings"
	"testing"
	"unicode"
)

// The results are those of a JavaScript engine; over all code points it differs
// from this table only in letters that are newer than Go's Unicode.
func TestLower(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"ASCII":                               {"ABC-1 xyz", "abc-1 xyz"},
		"nothing to do":                       {"abc", "abc"},
		"accents":                             {"ÄÖ É", "äö é"},
		"above U+FFFF":                        {"\U00010400", "\U00010428"},
		"sharp s":                             {"ẞ", "ß"},
		"dotted I becomes two":                {"İx", "i\u0307x"},
		"Kelvin":                              {"\u212a", "k"},
		"titlecase":                           {"ǅ", "ǆ"},
		"final sigma":                         {"ΟΔΟΣ", "οδος"},
		"sigma inside":                        {"ΟΣΟ", "οσο"},
		"sigma alone":                         {"Σ", "σ"},
		"sigma after a digit":                 {"1Σ", "1σ"},
		"sigma before a space":                {"ΑΣ ΑΣ", "ας ας"},
		"two sigmas":                          {"ΑΣΣ", "ασς"},
		"mark before it":                      {"Α\u0301Σ", "α\u0301ς"},
		"mark and letter after it":            {"ΑΣ\u0301Α", "ασ\u0301α"},
		"apostrophe and letter after it":      {"ΑΣ'Α", "ασ'α"},
		"full stop after it":                  {"ΑΣ.", "ας."},
		"hyphen and letter after it":          {"ΑΣ-Α", "ας-α"},
		"only a modifier letter before it":    {"ʰΣ", "ʰσ"},
		"letter and modifier before it":       {"aʰΣ", "aʰς"},
		"cased symbol before it":              {"ⓐΣ", "ⓐς"},
		"final sigma that is one already":     {"ς", "ς"},
		"lone surrogate":                      {"A\xed\xa0\xbdB", "a\xed\xa0\xbdb"},
		"lone surrogate before a sigma":       {"Α\xed\xa0\xbdΣ", "α\xed\xa0\xbdσ"},
		"no letter":                           {"\u2028\u00a0", "\u2028\u00a0"},
		"ASCII before what is not":            {"ABCÄ", "abcä"},
		"modifier letters that are uppercase": {"\U0001f130", "\U0001f130"},
	} {
		if got := Lower(c.in); got != c.want {
			t.Errorf("%s: Lower(%+q) = %+q, want %+q", name, c.in, got, c.want)
		}
	}
	if want := "\u00ee"; strings.ToLower("Î") != want || Lower("Î") != want {
		t.Error("one rune to one")
	}
}

func TestTrim(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		// JavaScript's WhiteSpace and LineTerminator: the space separators, five
		// controls, two separators and the byte order mark.
		want := unicode.Is(unicode.Zs, r) || r >= 9 && r <= 13 || r == 0x2028 || r == 0x2029 || r == 0xfeff
		if IsSpace(r) != want {
			t.Fatalf("IsSpace(%U) = %v", r, !want)
		}
	}
	if got := Trim("\ufeff\u00a0 a b\u2029\t"); got != "a b" {
		t.Errorf("Trim = %q", got)
	}
	if got := Trim("\u0085a\u200b"); got != "\u0085a\u200b" {
		t.Errorf("Trim took what is no space: %q", got)
	}
}

func TestValidText(t *testing.T) {
	for in, want := range map[string]string{
		"a😀":                       "a😀",
		"a\xed\xa0\xbdb":           "a\ufffdb",
		"\xed\xb8\x80\xed\xa0\xbd": "\ufffd\ufffd",
	} {
		if got := ValidText(in); got != want {
			t.Errorf("ValidText(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string // want: canonical text; "" is not found, "!" is not an object
		err      string
	}{
		"among others":             {in: `{"a":[1,{"k":2}],"k":{"x":[3]},"z":"\ud83d"}`, want: `{"x":[3]}`},
		"last of two":              {in: `{"k":1,"k":2}`, want: `2`},
		"escaped key":              {in: `{"\u006b":1}`, want: `1`},
		"not there":                {in: `{"K":1,"a":{"k":1}}`},
		"empty":                    {in: ` { } `},
		"a list":                   {in: `["k"]`, want: "!"},
		"a scalar":                 {in: `"k"`, want: "!"},
		"null":                     {in: `{"k":null}`, want: `null`},
		"many values elsewhere":    {in: `{"a":[` + strings.Repeat("[1],", 99) + `1],"k":[1,2]}`, want: `[1,2]`},
		"too many under it":        {in: `{"k":[1,2,3,4,5,6,7,8,9,10]}`, err: "more than 10 values"},
		"too deep elsewhere":       {in: `{"a":` + strings.Repeat("[", 9) + strings.Repeat("]", 9) + `,"k":1}`, err: "nested deeper"},
		"broken elsewhere":         {in: `{"k":1,"a":[1,]}`, err: "expected a JSON value"},
		"broken object elsewhere":  {in: `{"k":1,"a":{"b" 1}}`, err: `expected ":"`},
		"no comma":                 {in: `{"k":1 "a":2}`, err: `expected "," or "}"`},
		"text behind it":           {in: `{"k":1} x`, err: "text after the end"},
		"ends early":               {in: `{"k":1,"a":[`, err: "ends where a value"},
		"key without quotes":       {in: `{k:1}`, err: "double quotes"},
		"list without comma":       {in: `{"a":[1 2]}`, err: `expected "," or "]"`},
		"no JSON though no object": {in: `[1,`, err: "ends where a value"},
	} {
		t.Run(name, func(t *testing.T) {
			v, object, err := Lookup([]byte(c.in), "k", Options{MaxDepth: 8, MaxValues: 10})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || v != nil {
					t.Errorf("%v, %v; want %q", v, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := "!"
			if object {
				got = ""
			}
			if v != nil {
				text, _ := Canonical(nil, v, Exact)
				got = string(text)
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
	_, err := Parse([]byte(`[1,2,3]`), Options{MaxDepth: 2, MaxValues: 3})
	if !errors.Is(err, ErrValues) {
		t.Errorf("four values of three: %v", err)
	}
	if _, err := Parse([]byte(`[1,2]`), Options{MaxDepth: 2, MaxValues: 3}); err != nil {
		t.Errorf("three values of three: %v", err)
	}
}

// What Lookup finds is what a whole parse finds, and they refuse the same texts.
func FuzzLookup(f *testing.F) {
	f.Add([]byte(`{"k":[1,-2.5e3,"\ud83d",null,true],"a":{},"k":{"k":1}}`))
	f.Add([]byte(`[{"k":1}]`))
	f.Add([]byte(`{"a":[1,{"b":"c"},`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := Options{MaxDepth: 50}
		whole, err := Parse(data, o)
		v, object, lookupErr := Lookup(data, "k", o)
		if (err == nil) != (lookupErr == nil) {
			t.Fatalf("Parse: %v, Lookup: %v", err, lookupErr)
		}
		if err != nil {
			return
		}
		want, has := whole.Get("k")
		if object != (whole.Kind == Object) || has != (v != nil) || has && !Equal(v, want) {
			t.Fatalf("Lookup found %v (object %v), Parse %v", v, object, want)
		}
	})
}
