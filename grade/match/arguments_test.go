package match

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
)

func TestArgumentsMatch(t *testing.T) {
	const yes, no = true, false
	for _, row := range []struct {
		name, expected, actual  string // empty: nil
		partial, exact, ignored bool
	}{
		{"a call without arguments is {}", `{}`, ``, yes, yes, yes},
		{"nothing expected is {}", ``, `{}`, yes, yes, yes},
		{"nothing expected of nothing sent", ``, ``, yes, yes, yes},
		{"an empty expected object matches anything", `{}`, `{"a":1}`, yes, no, yes},
		{"a key more", `{"a":1}`, `{"a":1,"b":2}`, yes, no, yes},
		{"a key less", `{"a":1,"b":2}`, `{"a":1}`, no, no, yes},
		{"key order", `{"a":1,"b":{"c":1,"d":2}}`, `{"b":{"d":2,"c":1},"a":1}`, yes, yes, yes},
		{"list order", `{"a":[1,2]}`, `{"a":[2,1]}`, no, no, yes},
		{"a list is all or nothing", `{"a":[1]}`, `{"a":[1,2]}`, no, no, yes},
		{"a nested object is all or nothing", `{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, no, no, yes},
		{"null is not absent", `{"a":null}`, `{}`, no, no, yes},
		{"null is null", `{"a":null}`, `{"a":null}`, yes, yes, yes},
		{"no coercion of numbers", `{"a":7}`, `{"a":"7"}`, no, no, yes},
		{"no coercion of booleans", `{"a":"true"}`, `{"a":true}`, no, no, yes},
		{"1, 1.0 and 1e0", `{"a":1,"b":1.0}`, `{"a":1e0,"b":1}`, yes, yes, yes},
		{"negative zero", `{"a":0}`, `{"a":-0.0}`, yes, yes, yes},
		{"2^53+1 is not 2^53 (0.2.4)", `{"a":9007199254740992}`, `{"a":9007199254740993}`, no, no, yes},
		{"1e400 is itself (0.2.4)", `{"a":1e400}`, `{"a":1e401}`, no, no, yes},
		{"a hostile exponent costs nothing", `{"a":1}`, `{"a":1e1000001}`, no, no, yes},
		{"lone surrogates are not one character", `{"a":"\ud83d"}`, `{"a":"\ud83c"}`, no, no, yes},
		{"names of keys are exact", `{"a":1}`, `{"A":1}`, no, no, yes},
		{"inherited keys are none (0.2.5)", `{"toString":"any"}`, `{}`, no, no, yes},
		{"__proto__ is a key as any", `{"__proto__":1}`, `{"__proto__":1}`, yes, yes, yes},

		{"any takes null", `{"a":"any"}`, `{"a":null}`, yes, no, yes},
		{"any needs the key", `{"a":"any"}`, `{}`, no, no, yes},
		{"string", `{"a":"string"}`, `{"a":""}`, yes, no, yes},
		{"string of a number", `{"a":"string"}`, `{"a":1}`, no, no, yes},
		{"number", `{"a":"number"}`, `{"a":1e99}`, yes, no, yes},
		{"boolean", `{"a":"boolean"}`, `{"a":false}`, yes, no, yes},
		{"object", `{"a":"object"}`, `{"a":{}}`, yes, no, yes},
		{"object is no null", `{"a":"object"}`, `{"a":null}`, no, no, yes},
		{"object is no array", `{"a":"object"}`, `{"a":[]}`, no, no, yes},
		{"array", `{"a":"array"}`, `{"a":[1]}`, yes, no, yes},
		{"null placeholder", `{"a":"null"}`, `{"a":null}`, yes, no, yes},
		{"null placeholder of the word", `{"a":"null"}`, `{"a":"null"}`, no, yes, yes},
		{"trimmed and lowered", `{"a":"\ufeff String\u2003"}`, `{"a":"x"}`, yes, no, yes},
		{"U+0085 is no white space (9.2)", `{"a":"\u0085string"}`, `{"a":"x"}`, no, no, yes},
		{"İ is two characters when lowered (9.3)", `{"a":"STRİNG"}`, `{"a":"x"}`, no, no, yes},
		{"the word itself where it is a placeholder", `{"a":"string"}`, `{"a":"string"}`, yes, yes, yes},
		{"no placeholder below the top", `{"a":{"b":"any"}}`, `{"a":{"b":1}}`, no, no, yes},
		{"no placeholder in a list", `{"a":["any"]}`, `{"a":[1]}`, no, no, yes},

		{"arguments that are a list", `{"a":1}`, `[1]`, no, no, yes},
		{"a list where nothing is expected", `{}`, `[1]`, yes, no, yes},
		{"arguments null are not absent ones", `{}`, `null`, yes, no, yes},
	} {
		t.Run(row.name, func(t *testing.T) {
			parse := func(s string) *value.Value {
				if s == "" {
					return nil
				}
				return mustParse(t, []byte(s))
			}
			expected, actual := parse(row.expected), parse(row.actual)
			for mode, want := range map[ArgumentMode]bool{Partial: row.partial, Exact: row.exact, IgnoreArgs: row.ignored, "loose": false} {
				if got := ArgumentsMatch(expected, actual, mode); got != want {
					t.Errorf("%s: %v, want %v", mode, got, want)
				}
				first, total := Differences(expected, actual, mode, nil)
				if mode != "loose" && (total > 0) == want {
					t.Errorf("%s: %d differences %v", mode, total, first)
				}
			}
		})
	}
}

func TestDifferencesNameKeysAndNeverValues(t *testing.T) {
	expected := mustParse(t, []byte(`{"id":1,"reason":"string","when":"any","to":"secret-expected","note":"kept"}`))
	actual := mustParse(t, []byte(`{"id":2,"reason":7,"to":"secret-actual","note":"kept","more":true}`))

	first, total := Differences(expected, actual, Exact, nil)
	if total != 5 || len(first) != 3 {
		t.Errorf("exact: %d differences, %d listed; want 5 (id, reason, when, to, more) and 3", total, len(first))
	}
	first, total = Differences(expected, actual, Partial, nil)
	text := differing(first, total)
	if want := `with another "id"; with "reason" of another type; without "when"; and 1 more`; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for _, d := range first {
		if d.Expected != "" || d.Actual != "" {
			t.Errorf("%s shows a value that nobody asked for", d.Key)
		}
	}
	first, _ = Differences(expected, actual, Partial, func(key string, v *value.Value) string { return "<" + v.Str + ">" })
	if first[0].Expected != "<1>" || first[0].Actual != "<2>" || first[2].Expected != "<any>" || first[2].Actual != "" {
		t.Errorf("with a shower: %+v", first)
	}
	first, total = Differences(mustParse(t, []byte(`{}`)), mustParse(t, []byte(`{"more":1}`)), Exact, nil)
	if total != 1 || differing(first, total) != `with "more", which is not expected` {
		t.Errorf("surplus: %v", first)
	}
}

func TestNamesInTextsAreShortAndVisible(t *testing.T) {
	if got := quoted("a\x1b[31m\n"); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("hidden characters stay: %q", got)
	}
	for _, name := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\xff", 1<<20), strings.Repeat("€", 500), strings.Repeat("😀", 200), "", "\xed"} {
		if got := quoted(name); len([]rune(got)) > maxName+3 {
			t.Errorf("a name of %d bytes takes %d characters", len(name), len([]rune(got)))
		}
	}
	if got := quoted(strings.Repeat("😀", 200)); strings.Contains(got, "…") {
		t.Error("200 characters are not too many")
	}
}

func TestManyKeysAreNotSearchedAnew(t *testing.T) {
	// 20,000 expected keys in an object of 200,000: searching the object for each would
	// be some 4e9 comparisons of strings.
	var e, a strings.Builder
	e.WriteString(`{"k0":0`)
	a.WriteString(`{"k0":0`)
	for i := 1; i < 200_000; i++ {
		k := `,"k` + strconv.Itoa(i) + `":0`
		if i%10 == 0 {
			e.WriteString(k)
		}
		a.WriteString(k)
	}
	e.WriteString("}")
	a.WriteString("}")
	if !ArgumentsMatch(mustParse(t, []byte(e.String())), mustParse(t, []byte(a.String())), Partial) {
		t.Error("no match")
	}
}
