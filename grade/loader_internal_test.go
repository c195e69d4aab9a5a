package grade

import (
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
)

// field reads a suite's check that has one field of the given type.
func readField(t *testing.T, f predicate.Field, open bool, text string) (got *value.Value, errs, warns string) {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Options{MaxDepth: 50, Positions: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{files: []string{"s"}, open: open}
	got, ok := l.field(&f, &v, "x")
	if ok != (len(l.errs) == 0) {
		t.Errorf("%s: taken %v with %v", text, ok, l.errs)
	}
	return got, l.errs.Error(), l.warns.Error()
}

// A field of each type names the part of it that is wrong.
func TestFieldTypes(t *testing.T) {
	texts := predicate.Field{Type: predicate.Texts, MinItems: 1, MaxItems: 2, MaxUnits: 3}
	hints := predicate.Field{Type: predicate.Texts, MaxItems: 2, Unique: true, Words: []string{"readOnlyHint", "destructiveHint"}}
	args := predicate.Field{Type: predicate.Object, Members: []string{"args", "argumentMatching"}}
	for _, c := range []struct {
		field      predicate.Field
		text, want string
	}{
		{texts, `["a", "abc"]`, ""},
		{texts, `["a", "abcd"]`, `s:1:7: x[1]: expected a string of 1 to 3 characters, got "abcd"`},
		{texts, `["a", 1]`, `s:1:7: x[1]: expected a string of 1 to 3 characters, got 1`},
		{texts, `[]`, "s:1:1: x: expected a list of 1 to 2 strings of 1 to 3 characters, got a list"},
		{texts, `"a"`, `s:1:1: x: expected a list of 1 to 2`},
		{hints, `[]`, ""},
		{hints, `["readOnlyHin"]`, `did you mean "readOnlyHint"?`},
		{hints, `["readOnlyHint", "readOnlyHint"]`, `s:1:18: x[1]: "readOnlyHint" is in the list twice`},
		{args, `{"args": {}}`, ""},
		{args, `{"args": {}, "argumentMatchin": 1}`, `s:1:14: x.argumentMatchin: unknown key: expected one of args, argumentMatching; did you mean "argumentMatching"?`},
		{args, `[]`, "s:1:1: x: expected an object with args, argumentMatching, got a list"},
		{predicate.Field{Type: predicate.Word, Words: []string{"i", "im"}}, `"mi"`, `s:1:1: x: expected i or im, got "mi"`},
		{predicate.Field{Type: predicate.Share}, `1.5`, "s:1:1: x: expected a number from 0 to 1, got 1.5"},
		{predicate.Field{Type: predicate.JSON, Max: 10}, `{"a": [1, 2, 3]}`, "s:1:1: x: expected a JSON value of at most 10 bytes, got an object"},
		{predicate.Field{Type: predicate.JSON, Max: 10}, `[true]`, ""},
	} {
		_, errs, _ := readField(t, c.field, false, c.text)
		if c.want == "" && errs != "" || !strings.Contains(errs, c.want) || strings.Contains(errs, "\n") {
			t.Errorf("%s: %q, want %q", c.text, errs, c.want)
		}
	}
	got, errs, warns := readField(t, args, true, `{"more": 1, "args": {}}`)
	if errs != "" || len(got.Obj) != 1 || !strings.Contains(warns, "s:1:2: x.more: unknown key") {
		t.Errorf("%v, errors %q, warnings %q", got, errs, warns)
	}
}

// A fault that a kind finds is shown where it is, or where the check is.
func TestFaultsHaveAPlace(t *testing.T) {
	v, err := value.Parse([]byte("{\"patterns\": [\"a\",\n \"(\"], \"args\":\n {\"args\": 1}}"), value.Options{MaxDepth: 50, Positions: true})
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]value.Pos{
		"": {Line: 1, Col: 1}, "patterns": {Line: 1, Col: 14}, "patterns[1]": {Line: 2, Col: 2}, "patterns[7]": {Line: 1, Col: 14},
		"args.args": {Line: 3, Col: 11}, "max": {Line: 1, Col: 1},
	} {
		at, path := find(&v, "p", field)
		if at != want || path != strings.TrimSuffix("p."+field, ".") {
			t.Errorf("%s: %v %s, want %v", field, at, path, want)
		}
	}
}

// The loader reports what a kind's Faults find, after its fields are acceptable.
func TestFaultsOfAKind(t *testing.T) {
	l := &loader{files: []string{"s"}}
	info, _, _ := predicate.Lookup("toolInputMatches")
	k := &predicate.Kind{Name: "toolInputMatches", Fields: []predicate.Field{{Name: "patterns", Type: predicate.Texts, Required: true}},
		Faults: func(c *predicate.Check) []predicate.Fault {
			if list, _ := c.Texts("patterns"); len(list) == 2 && list[1] == "(" {
				return []predicate.Fault{{Field: "patterns[1]", Msg: "no pattern"}}
			}
			return nil
		}}
	for text, want := range map[string]string{
		`{"type": "toolInputMatches", "patterns": ["a", "("]}`: "s:1:48: x.patterns[1]: no pattern",
		`{"type": "toolInputMatches", "patterns": ["", "("]}`:  "s:1:43: x.patterns[0]: expected a string of at least one character, got \"\"",
		`{"type": "toolInputMatches", "patterns": ["a", "b"]}`: "",
	} {
		v, err := value.Parse([]byte(text), value.Options{MaxDepth: 50, Positions: true})
		if err != nil {
			t.Fatal(err)
		}
		l.errs = nil
		c := l.fields(&predicate.Check{Kind: k, Info: info, Role: predicate.Gating}, &v, "x")
		if l.errs.Error() != want || (c == nil) != (want != "") {
			t.Errorf("%s: %v %v, want %q", text, c, l.errs, want)
		}
	}
}

// Gating toolCalledWith checks are expected calls with their own mode and count,
// whether the kind is built or not (grading.md 2.4, 2.6).
func TestExpectation(t *testing.T) {
	check := func(role predicate.Role, more ...value.Member) *predicate.Check {
		args := value.Obj(value.M("args", value.Obj(value.M("n", value.Num("1")))), value.M("argumentMatching", value.Text("exact")))
		return &predicate.Check{Info: predicate.Info{Name: toolCalledWith}, Role: role,
			Fields: append([]value.Member{value.M("toolName", value.Text("t")), value.M("args", args)}, more...)}
	}
	var turn TurnSpec
	turn.add(check(predicate.Advisory), 0)
	turn.add(check(predicate.Gating, value.M("minCount", value.Num("2"))), 1)
	if len(turn.Assertions) != 1 || len(turn.Expected) != 1 {
		t.Fatalf("%+v", turn)
	}
	e := turn.Expected[0]
	if n, ok := e.Args.Get("n"); e.Tool != "t" || e.Mode != "exact" || e.MinCount != 2 || e.Assert != 1 || !ok || n.Str != "1" {
		t.Errorf("%+v", e)
	}
	all := expectations([]*predicate.Check{{Info: predicate.Info{Name: "noToolErrors"}, Role: predicate.Gating}, check(predicate.Advisory), check(predicate.Gating)})
	if len(all) != 1 || all[0].Assert != 2 || all[0].MinCount != 1 {
		t.Errorf("%+v", all)
	}
}
