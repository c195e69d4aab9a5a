package value

import (
	"errors"
	"strings"
	"testing"
)

func parse(t *testing.T, s string) *Value {
	t.Helper()
	v, err := Parse([]byte(s), Options{MaxDepth: 100})
	if err != nil {
		t.Fatalf("Parse(%s): %v", s, err)
	}
	return &v
}

func TestCanonical(t *testing.T) {
	for name, c := range map[string]struct {
		in, exact, js string
	}{
		"keys sorted at depth":         {`{"b":1,"a":{"d":2,"c":[3]}}`, `{"a":{"c":[3],"d":2},"b":1}`, ""},
		"keys sorted by UTF-16 units":  {`{"\ufffd":1,"😀":2}`, "{\"😀\":2,\"\ufffd\":1}", ""},
		"both keys above U+FFFF":       {`{"😁":1,"😀":2}`, `{"😀":2,"😁":1}`, ""},
		"no HTML escapes":              {`"<&>\u2028/"`, "\"<&>\u2028/\"", ""},
		"controls":                     {`"\u0001\u001f\b\f\n\r\t\u007f"`, "\"\\u0001\\u001f\\b\\f\\n\\r\\t\u007f\"", ""},
		"lone surrogate":               {`"a\uD83Db"`, `"a\ud83db"`, ""},
		"lone low surrogate":           {`"\uDE00"`, `"\ude00"`, ""},
		"pair":                         {`"\ud83d\ude00"`, `"😀"`, ""},
		"negative zero":                {`-0`, `0`, `0`},
		"negative zero with fraction":  {`-0.0e5`, `0`, `0`},
		"spellings of one":             {`[1,1.0,1e0,10e-1]`, `[1,1,1,1]`, `[1,1,1,1]`},
		"beyond 2^53":                  {`9007199254740993`, `9007199254740993`, `9007199254740992`},
		"large without exponent":       {`100000000000000000000`, `100000000000000000000`, `100000000000000000000`},
		"large with exponent":          {`1e21`, `1e+21`, `1e+21`},
		"large with digits":            {`-123e20`, `-1.23e+22`, `-1.23e+22`},
		"small without exponent":       {`0.000001`, `0.000001`, `0.000001`},
		"small with exponent":          {`0.0000001`, `1e-7`, `1e-7`},
		"fraction":                     {`-12.50`, `-12.5`, `-12.5`},
		"shortest digits":              {`0.1000000000000000055511151231257827`, `0.1000000000000000055511151231257827`, `0.1`},
		"duplicate key: the last wins": {`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`, ""},
		"__proto__ is a key":           {`{"__proto__":1}`, `{"__proto__":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := parse(t, c.in)
			got, err := Canonical(nil, v, Exact)
			if err != nil || string(got) != c.exact {
				t.Errorf("exact = %s, %v; want %s", got, err, c.exact)
			}
			if c.js == "" {
				c.js = c.exact
			}
			got, err = Canonical(nil, v, JavaScript)
			if err != nil || string(got) != c.js {
				t.Errorf("javascript = %s, %v; want %s", got, err, c.js)
			}
		})
	}
	if _, err := Hash(parse(t, `[1e400]`)); err == nil {
		t.Error("a hash of a number beyond doubles must fail")
	}
	// sha256 of {"a":1}
	if h, err := Hash(parse(t, `{ "a" : 1.0 }`)); err != nil || h != "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862" {
		t.Errorf("Hash = %s, %v", h, err)
	}
}

func TestEqual(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"key order":             {`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		"array order":           {`[1,2]`, `[2,1]`, false},
		"2^53 and 2^53+1":       {`9007199254740992`, `9007199254740993`, false},
		"1 and 1.00e0":          {`1`, `1.00e0`, true},
		"text and number":       {`"7"`, `7`, false},
		"null and absent":       {`{"a":null}`, `{}`, false},
		"half surrogates":       {`"\ud83d"`, `"\ud83c"`, false},
		"half and U+FFFD":       {`"\ud83d"`, `"\ufffd"`, false},
		"same huge exponent":    {`1e1000000`, `10e999999`, true},
		"other huge exponent":   {`1e1000000`, `1e1000001`, false},
		"sign":                  {`-1`, `1`, false},
		"more keys on one side": {`{"a":1}`, `{"a":1,"b":1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Equal(parse(t, c.a), parse(t, c.b)); got != c.want {
				t.Errorf("Equal(%s, %s) = %v", c.a, c.b, got)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
	}{
		"empty":                {"", "line 1, column 1: the text ends"},
		"second value":         {"1\n 2", "line 2, column 2: text after the end"},
		"leading zero":         {"01", "line 1, column 2: text after"},
		"plus":                 {"+1", "expected a JSON value"},
		"NaN":                  {"NaN", "expected a JSON value"},
		"single quotes":        {"{'a':1}", "expected a key in double quotes"},
		"trailing comma":       {"[1,]", "expected a JSON value"},
		"raw control":          {"\"a\tb\"", "control character U+0009"},
		"invalid UTF-8":        {"\"\xff\"", "no valid UTF-8"},
		"WTF-8 in the text":    {"\"\xed\xa0\xbd\"", "no valid UTF-8"},
		"unknown escape":       {`"\x"`, "unknown escape"},
		"duplicate key":        {"{\"ä\":1,\n \"é\":2, \"ä\":3}", `line 2, column 9: the key "ä" is there twice`},
		"unterminated":         {`"abc`, "ends inside a string"},
		"column in characters": {"\"äöü\" x", "line 1, column 7: text after"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.in), Options{MaxDepth: 10, Unique: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse(%q) = %v, want %q", c.in, err, c.want)
			}
		})
	}
	_, err := Parse([]byte(strings.Repeat("[", 12)), Options{MaxDepth: 10})
	if !errors.Is(err, ErrDepth) {
		t.Errorf("depth: %v", err)
	}
}

func TestInteger(t *testing.T) {
	for s, want := range map[string]struct {
		n           int64
		fits, whole bool
	}{
		"1.0": {1, true, true}, "1.5": {0, false, false}, "5e2": {500, true, true}, "-3": {-3, true, true},
		"1e30": {0, false, true}, "9223372036854775807": {9223372036854775807, true, true}, "0e9": {0, true, true},
	} {
		if n, fits, whole := Integer(s); n != want.n || fits != want.fits || whole != want.whole {
			t.Errorf("Integer(%s) = %d, %v, %v", s, n, fits, whole)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,-2.5e3,"\ud83d",null,true],"a":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data, Options{MaxDepth: 50, Positions: true})
		if err != nil {
			return
		}
		text, err := Canonical(nil, &v, Exact)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text, Options{MaxDepth: 50, Unique: true})
		if err != nil {
			t.Fatalf("canonical text does not parse: %v\n%s", err, text)
		}
		if !Equal(&v, &again) {
			t.Fatalf("%s changed its value by canonicalization to %s", data, text)
		}
	})
}
