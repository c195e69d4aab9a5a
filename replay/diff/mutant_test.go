package diff_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures/mutant"
	"github.com/sixlink/sixlink/replay/diff"
)

// Each mutation is found, classified and worded, and nothing else is.
func TestMutations(t *testing.T) {
	want := map[string][]string{
		"": nil,
		"tool-removed": {"breaking tool-removed | tool stats: the tool was removed",
			"breaking outcome-now-failed | call stats: is a protocol error, was answered by a result"},
		"tool-added":    {"non-breaking tool-added | tool remove_item: the tool was added"},
		"tool-order":    {`informational tool-order-changed | the tools stand in another order, from number 1 on: "ticket", was "search"`},
		"description":   {"informational tool-description-changed | tool search: the description was changed"},
		"title":         {"informational tool-title-changed | tool search: the title was changed"},
		"annotation":    {"informational tool-annotation-changed | tool get_item: readOnlyHint is false, was true"},
		"required-arg":  {`breaking input-required-property-added | tool add_item: required argument "unit" was added, at /inputSchema/properties/unit`},
		"optional-arg":  {`non-breaking input-property-added | tool add_item: argument "unit" was added, at /inputSchema/properties/unit`},
		"arg-removed":   {`breaking input-property-removed | tool add_item: argument "note" was removed, at /inputSchema/properties/note`},
		"now-required":  {`breaking input-property-now-required | tool add_item: argument "note" is required now, at /inputSchema/properties/note`},
		"enum-narrowed": {`breaking input-enum-narrowed | tool search: "price" is no value any more, at /inputSchema/properties/sort/enum`},
		"enum-widened":  {`non-breaking input-enum-widened | tool search: "age" is a value now, at /inputSchema/properties/sort/enum`},
		"type-changed":  {"breaking input-type-changed | tool add_item: the type is string, was integer, at /inputSchema/properties/quantity/type"},
		"output-field-dropped": {`breaking output-property-removed | tool get_item: property "price" was removed, at /outputSchema/properties/price`,
			"breaking result-property-removed | call get_item: /structuredContent/price is gone"},
		"output-field-missing": {"breaking result-property-removed | call get_item: /structuredContent/price is gone"},
		"output-field-added": {`non-breaking output-property-added | tool get_item: property "weight" was added, at /outputSchema/properties/weight`,
			"non-breaking result-property-added | call get_item: /structuredContent/weight is new"},
		"output-optional":     {`breaking output-property-now-optional | tool get_item: property "price" is no longer required, at /outputSchema/properties/price`},
		"output-nullable":     {"breaking output-type-widened | tool get_item: the type is null or number, was number, at /outputSchema/properties/price/type"},
		"output-enum-widened": {`breaking output-enum-widened | tool get_item: "lost" is a value now, at /outputSchema/properties/state/enum`},
		"result-value":        {"breaking result-value-changed | call get_item: /structuredContent/price is another value"},
		"result-type":         {"breaking result-type-changed | call get_item: /structuredContent/price is a text, was a number"},
		"large-number":        {"breaking result-value-changed | call get_item: /structuredContent/serial is another value"},
		"result-order":        {"non-breaking result-order-changed | call search: /structuredContent/hits has the same elements in another order"},
		"hit-missing":         {"breaking result-element-removed | call search: /structuredContent/hits/1 is gone; the list has 2, had 3"},
		"hit-added":           {"breaking result-element-added | call search: /structuredContent/hits/0 is new; the list has 4, had 3"},
		"text":                {"breaking result-text-changed | call stats: /content/0/text is another text"},
		"text-json":           {"breaking result-value-changed | call add_item: /content/0/text/added/quantity is another value"},
		"meta":                {"informational result-meta-changed | call get_item: /_meta/example~1cache is different"},
		"error-text":          {"non-breaking error-text-changed | call get_item: the error is told in other words"},
		"error-code":          {"breaking error-code-changed | call no_such_tool: the error's code is -32603, was -32602"},
		"now-fails":           {"breaking outcome-now-failed | call get_item: is a tool error, was answered by a result"},
		"now-succeeds":        {"breaking outcome-now-succeeds | call get_item: is answered by a result, was a tool error"},
		"fails-otherwise":     {"breaking outcome-fails-otherwise | call get_item: is a protocol error, was a tool error"},
		"silent":              {"breaking outcome-now-failed | call stats: is never answered, was answered by a result"},
		"slower":              {"breaking tool-slower | call search: the median of 1 call is 301ms, was 1ms"},
		"capability-removed":  {"breaking capability-removed | the capability resources.subscribe is no longer declared"},
		"version":             {"informational server-info-changed | the server is mutant-shop 1.1.0, was mutant-shop 1.0.0"},
		"instructions":        {"informational instructions-changed | the server's instructions are other ones"},
		"resource-removed":    {"breaking listed-removed | resources/list: /resources/1 is no longer listed"},
		"resource-text":       {"breaking result-text-changed | resources/read: /contents/0/text is another text"},
		"prompt-text":         {"breaking result-text-changed | prompts/get: /messages/0/content/text is another text"},
		"wrong-ticket": {"breaking result-value-changed | call ticket: /structuredContent/ticket is another value",
			"breaking result-value-changed | call ticket: /structuredContent/line is another value"},
		"clock-zone": {"breaking result-value-changed | call ticket: /structuredContent/at is another value",
			"breaking result-value-changed | call ticket: /structuredContent/line is another value"},
		"time-is-data": {"breaking result-value-changed | call get_item: /structuredContent/made is another value"},
		"asks-client":  {"informational server-requests-changed | the server asked the client roots/list once, was 0"},
	}
	for name := range mutant.Mutations {
		if _, ok := want[name]; !ok {
			t.Errorf("no expectation for %s", name)
		}
	}
	for name, want := range want {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mutations []string
			if name != "" {
				mutations = append(mutations, name)
			}
			opts := byDefault()
			opts.Latency = 2
			r := compare(t, play(t, "a", monday, mutant.Session()), play(t, "b", tuesday, mutant.Session(), mutations...), opts)
			if d := cmp.Diff(want, said(r)); d != "" {
				t.Error(d)
			}
			code := 0
			if len(want) > 0 && strings.HasPrefix(want[0], "breaking") {
				code = 1
			}
			if got := r.ExitCode(); got != code {
				t.Errorf("exit code %d, want %d", got, code)
			}
			if c := r.Compared; c.Calls != 8 || c.Requests != 4 || c.Sessions != 1 || c.Catalogs != 1 {
				t.Errorf("compared %+v", c)
			}
		})
	}
}

// Any two mutations at once: every finding of each is there, and --fail-on any and none
// say so.
func TestTwoMutations(t *testing.T) {
	base := play(t, "a", monday, mutant.Session())
	r := compare(t, base, play(t, "b", tuesday, mutant.Session(), "enum-narrowed", "description", "result-order", "version"), diff.Options{Match: diff.DefaultMatchers, FailOn: diff.FailAny})
	if len(r.Findings) != 4 || r.Count(diff.Breaking) != 1 || r.Count(diff.NonBreaking) != 1 || r.Count(diff.Informational) != 2 || r.ExitCode() != 1 {
		t.Errorf("%q", said(r))
	}
	for failOn, want := range map[diff.FailOn]int{diff.FailAny: 1, diff.FailBreaking: 0, diff.FailNone: 0} {
		r := compare(t, base, play(t, "b", tuesday, mutant.Session(), "description"), diff.Options{Match: diff.DefaultMatchers, FailOn: failOn})
		if got := r.ExitCode(); got != want {
			t.Errorf("fail on %s: exit code %d", failOn, got)
		}
	}
}
