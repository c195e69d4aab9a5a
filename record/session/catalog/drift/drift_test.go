package drift

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// list makes a whole list of tools given as JSON.
func list(t *testing.T, tools ...string) *catalog.List {
	t.Helper()
	l := &catalog.List{State: catalog.Complete}
	for _, raw := range tools {
		if _, ok := jsonscan.Object([]byte(raw)); !ok {
			t.Fatalf("no object: %s", raw)
		}
		name, has := jsonscan.String(members([]byte(raw))["name"])
		l.Tools = append(l.Tools, catalog.Tool{Name: name, HasName: has, Raw: []byte(raw)})
	}
	return l
}

func said(r Result) (out []string) {
	for _, c := range r.Changes {
		out = append(out, fmt.Sprintf("%s %s %s %s: %s", c.Class, c.Rule, c.Tool, c.Path, c.Text))
	}
	return append(out, r.Undecided...)
}

func TestCatalogs(t *testing.T) {
	const a, b = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b"}`
	for name, c := range map[string]struct {
		before, after []string
		want          []string
	}{
		"the same, spelt otherwise":      {[]string{`{"name":"a","description":"é","x":1.0}`}, []string{`{"x":1, "description":"\u00e9","name":"a"}`}, nil},
		"removed":                        {[]string{a, b}, []string{a}, []string{"breaking tool-removed b : the tool was removed"}},
		"added":                          {[]string{b}, []string{a, b}, []string{"non-breaking tool-added a : the tool was added"}},
		"order":                          {[]string{a, b}, []string{b, a}, []string{`informational tool-order-changed  : the tools stand in another order, from number 1 on: "b", was "a"`}},
		"one inserted is no other order": {[]string{a, b}, []string{a, `{"name":"c"}`, b}, []string{"non-breaking tool-added c : the tool was added"}},
		"repeated":                       {[]string{b}, []string{b, b}, []string{"informational tool-repeated b : the name stands 2 times in the list, was 1"}},
		"description":                    {[]string{`{"name":"a","description":"x"}`}, []string{`{"name":"a"}`}, []string{"informational tool-description-changed a /description: the description was removed"}},
		"titles": {[]string{`{"name":"a","title":"x","annotations":{"title":"y"}}`}, []string{`{"name":"a","title":"z","annotations":{"title":"z"}}`}, []string{
			"informational tool-title-changed a /annotations/title: the title in the annotations was changed",
			"informational tool-title-changed a /title: the title was changed"}},
		"annotations": {[]string{`{"name":"a","annotations":{"readOnlyHint":true}}`}, []string{`{"name":"a","annotations":{"readOnlyHint":false,"openWorldHint":true}}`}, []string{
			"informational tool-annotation-changed a /annotations/openWorldHint: openWorldHint is true, was not set",
			"informational tool-annotation-changed a /annotations/readOnlyHint: readOnlyHint is false, was true"}},
		"annotations that vanish": {[]string{`{"name":"a","annotations":{"readOnlyHint":true}}`}, []string{`{"name":"a"}`}, []string{
			"informational tool-annotation-changed a /annotations/readOnlyHint: readOnlyHint is not set, was true"}},
		"another member": {[]string{`{"name":"a","_meta":{"a/b":1}}`}, []string{`{"name":"a"}`}, []string{"informational tool-member-changed a /_meta: _meta was removed"}},
		"a schema that appears": {[]string{`{"name":"a","outputSchema":{}}`}, []string{`{"name":"a","inputSchema":{}}`}, []string{
			"informational input-schema-added a /inputSchema: the input schema was added",
			"informational output-schema-removed a /outputSchema: the output schema was removed"}},
		"a tool without a name": {[]string{a}, []string{a, `{"name":1}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, said(Compare(list(t, c.before...), list(t, c.after...)))); d != "" {
				t.Error(d)
			}
		})
	}
}

// What is on a page that nobody fetched is neither removed nor added.
func TestPartialCatalogs(t *testing.T) {
	whole, part := list(t, `{"name":"a"}`, `{"name":"b"}`), list(t, `{"name":"a","title":"x"}`)
	part.State = catalog.Partial
	want := []string{"informational tool-title-changed a /title: the title was added", `whether "b" was removed: the second catalog is not whole (partial)`}
	if d := cmp.Diff(want, said(Compare(whole, part))); d != "" {
		t.Error(d)
	}
	want = []string{"informational tool-title-changed a /title: the title was removed", `whether "b" was added: the first catalog is not whole (partial)`}
	if d := cmp.Diff(want, said(Compare(part, whole))); d != "" {
		t.Error(d)
	}
	part.State = catalog.Racy
	if got := said(Compare(whole, part)); len(got) != 2 || !strings.Contains(got[0], ToolRemoved) {
		t.Error(got)
	}
	if got := said(Compare(nil, whole)); got != nil {
		t.Error(got)
	}
}

// Each change of a schema by both rules: as an input schema and as an output schema.
func TestSchemas(t *testing.T) {
	const props = `{"type":"object","properties":{"p":%s}}`
	p := func(s string) string { return fmt.Sprintf(props, s) }
	for name, c := range map[string]struct {
		before, after string
		in, out       []string
	}{
		"a required property added": {`{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{"type":"string"}},"required":["b"]}`,
			[]string{`breaking input-required-property-added /properties/b: required argument "b" was added`},
			[]string{`non-breaking output-property-added /properties/b: required property "b" was added`}},
		"an optional property added": {`{}`, `{"properties":{"b":{}}}`,
			[]string{`non-breaking input-property-added /properties/b: argument "b" was added`},
			[]string{`non-breaking output-property-added /properties/b: property "b" was added`}},
		"a property removed": {`{"properties":{"a/b~":{}},"required":["a/b~"]}`, `{}`,
			[]string{`breaking input-property-removed /properties/a~1b~0: argument "a/b~" was removed`},
			[]string{`breaking output-property-removed /properties/a~1b~0: property "a/b~" was removed`}},
		"now required": {`{"properties":{"a":{}}}`, `{"properties":{"a":{}},"required":["a"]}`,
			[]string{`breaking input-property-now-required /properties/a: argument "a" is required now`},
			[]string{`non-breaking output-property-now-required /properties/a: property "a" is required now`}},
		"no longer required": {`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}},"required":[]}`,
			[]string{`non-breaking input-property-now-optional /properties/a: argument "a" is no longer required`},
			[]string{`breaking output-property-now-optional /properties/a: property "a" is no longer required`}},
		"a type replaced": {p(`{"type":"string"}`), p(`{"type":"integer"}`),
			[]string{"breaking input-type-changed /properties/p/type: the type is integer, was string"},
			[]string{"breaking output-type-changed /properties/p/type: the type is integer, was string"}},
		"a type widened": {p(`{"type":"integer"}`), p(`{"type":["null","number"]}`),
			[]string{"breaking input-type-changed /properties/p/type: the type is null or number, was integer"},
			[]string{"breaking output-type-widened /properties/p/type: the type is null or number, was integer"}},
		"a type narrowed": {p(`{"type":["string","null"]}`), p(`{"type":"string"}`),
			[]string{"breaking input-type-changed /properties/p/type: the type is string, was null or string"},
			[]string{"non-breaking output-type-narrowed /properties/p/type: the type is string, was null or string"}},
		"a type that vanishes": {p(`{"type":"string"}`), p(`{}`),
			[]string{"breaking input-type-changed /properties/p/type: the type is any, was string"},
			[]string{"breaking output-type-widened /properties/p/type: the type is any, was string"}},
		"the types in another order": {p(`{"type":["string","null"]}`), p(`{"type":["null","string"]}`), nil, nil},
		"made nullable as pydantic does it": {p(`{"type":"string"}`), p(`{"anyOf":[{"type":"string"},{"type":"null"}]}`),
			[]string{"breaking input-type-changed /properties/p/type: the type is null or string, was string"},
			[]string{"breaking output-type-widened /properties/p/type: the type is null or string, was string"}},
		"two spellings of nullable":    {p(`{"type":["string","null"]}`), p(`{"oneOf":[{"type":"null"},{"type":"string"}]}`), nil, nil},
		"a choice of types, and types": {p(`{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`), p(`{"type":["integer","null","string"]}`), nil, nil},
		"an enum narrowed": {p(`{"enum":["a","b","c"]}`), p(`{"enum":["c","a"]}`),
			[]string{`breaking input-enum-narrowed /properties/p/enum: "b" is no value any more`},
			[]string{`non-breaking output-enum-narrowed /properties/p/enum: "b" is no value any more`}},
		"an enum widened": {p(`{"enum":["a"]}`), p(`{"enum":["a","b",1]}`),
			[]string{`non-breaking input-enum-widened /properties/p/enum: "b" and 1 is a value now`},
			[]string{`breaking output-enum-widened /properties/p/enum: "b" and 1 is a value now`}},
		"a value replaced is both": {p(`{"enum":["a"]}`), p(`{"const":"b"}`),
			[]string{`breaking input-enum-narrowed /properties/p/enum: "a" is no value any more`, `non-breaking input-enum-widened /properties/p/enum: "b" is a value now`},
			[]string{`non-breaking output-enum-narrowed /properties/p/enum: "a" is no value any more`, `breaking output-enum-widened /properties/p/enum: "b" is a value now`}},
		"an enum in another order": {p(`{"enum":["a","b",1]}`), p(`{"enum":[1.0,"b","a"]}`), nil, nil},
		"numbers in enums are exact": {p(`{"enum":[9007199254740993]}`), p(`{"enum":[9007199254740993,9007199254740992]}`),
			[]string{`non-breaking input-enum-widened /properties/p/enum: 9007199254740992 is a value now`},
			[]string{`breaking output-enum-widened /properties/p/enum: 9007199254740992 is a value now`}},
		"an enum that appears": {p(`{"type":"string"}`), p(`{"type":"string","enum":["a"]}`),
			[]string{`breaking input-enum-narrowed /properties/p/enum: only "a" is a value now, was any`},
			[]string{`non-breaking output-enum-narrowed /properties/p/enum: only "a" is a value now, was any`}},
		"an enum that vanishes": {p(`{"enum":["a"]}`), p(`{}`),
			[]string{`non-breaking input-enum-widened /properties/p/enum: any value is one now, was only "a"`},
			[]string{`breaking output-enum-widened /properties/p/enum: any value is one now, was only "a"`}},
		"texts": {p(`{"description":"x","title":"t"}`), p(`{"description":"y","title":"t"}`),
			[]string{"informational input-text-changed /properties/p/description: description was changed"},
			[]string{"informational output-text-changed /properties/p/description: description was changed"}},
		"a limit": {p(`{"maxLength":3}`), p(`{"maxLength":4,"default":"x"}`),
			[]string{"informational input-schema-changed /properties/p/default: default was added", "informational input-schema-changed /properties/p/maxLength: maxLength was changed"},
			[]string{"informational output-schema-changed /properties/p/default: default was added", "informational output-schema-changed /properties/p/maxLength: maxLength was changed"}},
		"deep in a list": {p(`{"type":"array","items":{"type":"object","properties":{"q":{"type":"string"}}}}`), p(`{"type":"array","items":{"type":"object","properties":{"r":{"type":"string"}}}}`),
			[]string{`breaking input-property-removed /properties/p/items/properties/q: property "q" was removed`, `non-breaking input-property-added /properties/p/items/properties/r: property "r" was added`},
			[]string{`breaking output-property-removed /properties/p/items/properties/q: property "q" was removed`, `non-breaking output-property-added /properties/p/items/properties/r: property "r" was added`}},
		"behind a reference": {`{"properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"string"}}}`, `{"properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"number"}}}`,
			[]string{"breaking input-type-changed /properties/p/type: the type is number, was string"},
			[]string{"breaking output-type-changed /properties/p/type: the type is number, was string"}},
		"a reference in place of what it leads to": {`{"properties":{"p":{"type":"string"}}}`, `{"properties":{"p":{"allOf":[{"$ref":"#/definitions/P"}]}},"definitions":{"P":{"type":"string"}}}`, nil, nil},
		"definitions that nothing refers to":       {`{"$defs":{"a":1}}`, `{"$defs":{"a":2}}`, nil, nil},
		"a schema that refers to itself": {`{"properties":{"next":{"$ref":"#"},"v":{"type":"string"}}}`, `{"properties":{"next":{"$ref":"#"},"v":{"type":"null"}}}`,
			[]string{"breaking input-type-changed /properties/v/type: the type is null, was string"},
			[]string{"breaking output-type-changed /properties/v/type: the type is null, was string"}},
		"true and false": {p(`true`), p(`false`),
			[]string{"informational input-schema-changed /properties/p: the schema is false, was true"},
			[]string{"informational output-schema-changed /properties/p: the schema is false, was true"}},
		"no schemas at all": {`{"properties":[],"required":{},"enum":1,"type":7}`, `{"properties":"x","required":{},"enum":2,"type":{}}`,
			[]string{"informational input-schema-changed /properties: properties was changed", "informational input-schema-changed /enum: enum was changed, and is no list", "informational input-schema-changed /type: type was changed, and is none that JSON Schema knows"},
			[]string{"informational output-schema-changed /properties: properties was changed", "informational output-schema-changed /enum: enum was changed, and is no list", "informational output-schema-changed /type: type was changed, and is none that JSON Schema knows"}},
	} {
		t.Run(name, func(t *testing.T) {
			for member, want := range map[string][]string{"inputSchema": c.in, "outputSchema": c.out} {
				tool := func(schema string) *catalog.List { return list(t, `{"name":"x","`+member+`":`+schema+`}`) }
				got := said(Compare(tool(c.before), tool(c.after)))
				for i := range got {
					got[i] = strings.Replace(got[i], " x /"+member, " ", 1)
				}
				sorted := cmp.Transformer("sort", func(s []string) map[string]bool {
					m := map[string]bool{}
					for _, e := range s {
						m[e] = true
					}
					return m
				})
				if d := cmp.Diff(want, got, sorted); d != "" {
					t.Errorf("%s: %s", member, d)
				}
				if got := said(Compare(tool(c.after), tool(c.after))); got != nil {
					t.Errorf("%s with itself: %q", member, got)
				}
			}
		})
	}
}

// A schema that is too large for the walk is said to be, whatever was found before.
func TestSchemaBounds(t *testing.T) {
	deep := func(leaf string) string {
		return strings.Repeat(`{"properties":{"p":`, maxDepth+2) + leaf + strings.Repeat("}}", maxDepth+2)
	}
	loop := `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"x":%d}`
	for name, pair := range map[string][2]string{
		"deep": {deep(`{"type":"string"}`), deep(`{"type":"null"}`)},
		"loop": {fmt.Sprintf(loop, 1), fmt.Sprintf(loop, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			r := Compare(list(t, `{"name":"x","inputSchema":`+pair[0]+`}`), list(t, `{"name":"x","inputSchema":`+pair[1]+`}`))
			if len(r.Undecided) != 1 || !strings.Contains(r.Undecided[0], "too large, or nests too deep") {
				t.Errorf("%q", said(r))
			}
		})
	}
}

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] || r.Meaning == "" || r.Class.Rank() == 0 && r.Class != Informational {
			t.Errorf("rule %+v", r)
		}
		seen[r.ID] = true
	}
}

// Any two schemas: no panic, only known rules, and nothing between equal ones.
func FuzzSchemas(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"enum":[1]}}}`, `{"$ref":"#/x","x":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}`)
	f.Add(`{"allOf":[{"$ref":"#"}],"required":["a"]}`, `true`)
	f.Fuzz(func(t *testing.T, a, b string) {
		tool := func(schema string) *catalog.List {
			return &catalog.List{State: catalog.Complete, Tools: []catalog.Tool{{Name: "x", HasName: true, Raw: []byte(`{"name":"x","inputSchema":` + schema + `}`)}}}
		}
		for _, c := range Compare(tool(a), tool(b)).Changes {
			if _, ok := classes[c.Rule]; !ok || c.Class != classes[c.Rule] {
				t.Fatalf("%+v", c)
			}
		}
		if got := Compare(tool(a), tool(a)).Changes; got != nil {
			t.Fatalf("with itself: %+v", got)
		}
	})
}
