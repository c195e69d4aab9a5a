package diff_test

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures/mutant"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/replay/diff"
	"github.com/sixlink/sixlink/replay/key"
)

// result is a result with structured content.
func result(structured string) string { return `{"content":[],"structuredContent":` + structured + `}` }

func textOf(s string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, s)
}

const failing = `{"content":[{"type":"text","text":"no"}],"isError":true}`

// Results of one call, before and after.
func TestResults(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want []string
	}{
		"spelt otherwise":            {result(`{"n":1.0,"s":"é","o":{"a":1,"b":2}}`), `{"structuredContent": {"o":{"b":2e0,"a":10e-1},"s":"\u00e9","n":1}, "content":[], "isError":false}`, nil},
		"numbers beyond a float64":   {result(`{"n":0.1,"m":18446744073709551617}`), result(`{"n":0.10000000000000000001,"m":18446744073709551616}`), []string{"breaking result-value-changed | call t: /structuredContent/n is another value", "breaking result-value-changed | call t: /structuredContent/m is another value"}},
		"null for a text":            {result(`{"s":"x"}`), result(`{"s":null}`), []string{"breaking result-type-changed | call t: /structuredContent/s is null, was a text"}},
		"true for false":             {result(`{"s":true}`), result(`{"s":false}`), []string{"breaking result-value-changed | call t: /structuredContent/s is another value"}},
		"a name with / and ~":        {result(`{"a/b~c":1}`), result(`{"a/b~c":2}`), []string{"breaking result-value-changed | call t: /structuredContent/a~1b~0c is another value"}},
		"JSON in text, spelt anew":   {textOf(`{"a":1,"b":[2]}`), textOf("{\n  \"b\": [2.0],\n  \"a\": 1\n}\n"), nil},
		"JSON in text":               {textOf(`{"a":{"b":1}}`), textOf(`{"a":{"b":2}}`), []string{"breaking result-value-changed | call t: /content/0/text/a/b is another value"}},
		"text that is JSON no more":  {textOf(`{"a":1}`), textOf(`sorry`), []string{"breaking result-text-changed | call t: /content/0/text is another text"}},
		"a text where it is no twin": {`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`, `{"content":[{"type":"text","text":"{\"a\":2}"}],"structuredContent":{"a":1}}`, []string{"breaking result-value-changed | call t: /content/0/text/a is another value"}},
		"a long text":                {textOf(strings.Repeat("line\n", 99) + "a"), textOf(strings.Repeat("line\n", 99) + "b"), []string{"breaking result-text-changed | call t: /content/0/text differs from line 100, byte 495 on"}},
		"inserted in front":          {result(`{"l":[{"v":1},{"v":2},{"v":3}]}`), result(`{"l":[{"v":0},{"v":1},{"v":2},{"v":3}]}`), []string{"breaking result-element-added | call t: /structuredContent/l/0 is new; the list has 4, had 3"}},
		"changed and inserted, by id": {result(`{"l":[{"id":1,"v":"a"},{"id":2,"v":"b"}]}`), result(`{"l":[{"id":3,"v":"c"},{"id":1,"v":"a"},{"id":2,"v":"B"}]}`), []string{
			"breaking result-value-changed | call t: /structuredContent/l/1/v is another value", "breaking result-element-added | call t: /structuredContent/l/0 is new; the list has 3, had 2"}},
		"moved and changed, by id": {result(`{"l":[{"id":1,"v":"a"},{"id":2,"v":"b"}]}`), result(`{"l":[{"id":2,"v":"b"},{"id":1,"v":"A"}]}`), []string{
			"breaking result-value-changed | call t: /structuredContent/l/0/v is another value", "non-breaking result-order-changed | call t: /structuredContent/l has the same elements in another order"}},
		"the same place in several elements is one finding": {result(`{"l":[{"v":1},{"v":2}]}`), result(`{"l":[{"v":3},{"v":4}]}`), []string{"breaking result-value-changed | call t: /structuredContent/l/*/v is another value"}},
		"handles of the protocol":                           {`{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}`, `{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"b"}}}`, nil},
		"in _meta":                                          {`{"content":[],"_meta":{"a":1}}`, `{"content":[]}`, []string{"informational result-meta-changed | call t: /_meta is different"}},
		"isError that is false or nothing":                  {`{"content":[],"resultType":"complete"}`, `{"content":[],"isError":false}`, nil},
		"tool error":                                        {result(`{}`), failing, []string{"breaking outcome-now-failed | call t: is a tool error, was answered by a result"}},
		"malformed":                                         {result(`{}`), `7`, []string{"breaking outcome-now-failed | call t: is an answer that is malformed, was answered by a result"}},
		"deep": {result(strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90)), result(strings.Repeat(`{"a":`, 90) + "2" + strings.Repeat("}", 90)), []string{
			"breaking result-value-changed | call t: /structuredContent" + strings.Repeat("/a", 63) + " is different; it nests too deep to say where"}},
		"controls are made visible": {result(`{"a\u001b[2J":1}`), result(`{}`), []string{`breaking result-property-removed | call t: /structuredContent/a\u001b[2J is gone`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := compare(t, ended("a", monday, [3]string{"t", "{}", c.a}), ended("b", tuesday, [3]string{"t", "{}", c.b}), byDefault())
			if d := cmp.Diff(c.want, said(r)); d != "" {
				t.Error(d)
			}
		})
	}
}

// What differs between any two runs, and what only looks like that.
func TestMatchers(t *testing.T) {
	const u1, u2, u3 = "6f1c1b3e-0a53-4c58-9b1c-2f6f3f6d0001", "0d7c5f0a-52f4-4b06-8a3e-9a7c11110002", "11111111-2222-4333-8444-555555550003"
	for name, c := range map[string]struct {
		match     []string
		tolerance string
		a, b      []string // results of consecutive calls, of which the arguments are
		args      string
		same      bool
	}{
		"a uuid":                          {nil, "", []string{u1}, []string{u2}, "", true},
		"the same uuid again":             {nil, "", []string{u1, u1}, []string{u2, u2}, "", true},
		"another uuid the second time":    {nil, "", []string{u1, u1}, []string{u2, u3}, "", false},
		"one uuid for two":                {nil, "", []string{u1, u2}, []string{u3, u3}, "", false},
		"in a text":                       {nil, "", []string{"made " + u1 + "!"}, []string{"made " + u2 + "!"}, "", true},
		"in a text that changed":          {nil, "", []string{"made " + u1}, []string{"lost " + u2}, "", false},
		"uuids when matchers are off":     {[]string{"none"}, "", []string{u1}, []string{u2}, "", false},
		"a uuid that was asked for":       {nil, "", []string{u1}, []string{u2}, `{"id":"` + strings.ToUpper(u1) + `"}`, false},
		"a uuid made from a name":         {nil, "", []string{"6f1c1b3e-0a53-5c58-9b1c-2f6f3f6d0001"}, []string{u2}, "", false},
		"the time of the call":            {nil, "", []string{"2026-03-02T09:00:00.5Z"}, []string{"2026-03-03T17:30:01Z"}, "", true},
		"as a number of milliseconds":     {nil, "", []string{"at 1772442000500"}, []string{"at 1772559001000"}, "", true},
		"of another zone":                 {nil, "", []string{"2026-03-02T10:00:00+01:00"}, []string{"2026-03-03T17:30:01Z"}, "", true},
		"an hour later, on both":          {nil, "", []string{"Mon, 02 Mar 2026 10:00:00 GMT"}, []string{"Tue, 03 Mar 2026 18:30:00 GMT"}, "", true},
		"an hour later, on one":           {nil, "", []string{"2026-03-02T09:00:00Z"}, []string{"2026-03-03T18:30:00Z"}, "", false},
		"a date that is data":             {nil, "", []string{"2025-01-01T10:00:00Z"}, []string{"2025-01-01T11:00:00Z"}, "", false},
		"a time of day":                   {nil, "", []string{"made at 10:00:01 AM"}, []string{"made at 6:30:02 PM"}, "", true},
		"a time of day that is data":      {nil, "", []string{"opens at 10:00:01"}, []string{"opens at 11:00:01"}, "", false},
		"any time, when asked for":        {[]string{"time"}, "", []string{"2025-01-01 10:00:00"}, []string{"2025-07-01 11:00:00"}, "", true},
		"a date alone is data":            {[]string{"time", "clock"}, "", []string{"2025-01-01"}, []string{"2025-01-02"}, "", false},
		"a duration":                      {nil, "", []string{"took 12 ms"}, []string{"took 15 ms"}, "", false},
		"a duration, when asked for":      {[]string{"duration"}, "", []string{"took 12 ms"}, []string{"took 1.5s"}, "", true},
		"a count is no duration":          {[]string{"duration"}, "", []string{"12 hits"}, []string{"15 hits"}, "", false},
		"numbers within the tolerance":    {nil, "0.5", []string{"20.1 degrees"}, []string{"20.6 degrees"}, "", true},
		"numbers beyond it":               {nil, "0.5", []string{"20.1 degrees"}, []string{"20.60001 degrees"}, "", false},
		"a share of the first":            {nil, "2%", []string{"100 a"}, []string{"98 a"}, "", true},
		"more than a share of the first":  {nil, "2%", []string{"100 a"}, []string{"97.9 a"}, "", false},
		"a number with a huge exponent":   {nil, "1%", []string{"1e999"}, []string{"1e998"}, "", false},
		"ten digits that are no time":     {nil, "", []string{"9999999999"}, []string{"9999999998"}, "", false},
		"a uuid in the place of a number": {nil, "", []string{u1}, []string{"7"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var a, b [][3]string
			args := c.args
			if args == "" {
				args = "{}"
			}
			for i := range c.a {
				a, b = append(a, [3]string{"t", args, textOf(c.a[i])}), append(b, [3]string{"t", args, textOf(c.b[i])})
			}
			opts := diff.Options{Match: c.match}
			if c.match == nil {
				opts.Match = diff.DefaultMatchers
			}
			if c.tolerance != "" {
				var err error
				if opts.Tolerance, err = diff.ParseTolerance(c.tolerance); err != nil {
					t.Fatal(err)
				}
			}
			r := compare(t, ended("a", monday, a...), ended("b", tuesday, b...), opts)
			if same := len(r.Findings) == 0; same != c.same {
				t.Errorf("%q", said(r))
			}
			if c.same && len(r.Noise) == 0 {
				t.Error("what was let pass is not counted")
			}
		})
	}
	if _, err := diff.Recordings(ended("a", monday).recording(t), ended("b", monday).recording(t), diff.Options{Match: []string{"uuids"}}); err == nil {
		t.Error("an unknown matcher is taken")
	}
	for _, bad := range []string{"", "x", "-1", "1e9999999", "1%%", "%"} {
		if _, err := diff.ParseTolerance(bad); err == nil {
			t.Errorf("tolerance %q is taken", bad)
		}
	}
	// A text in base64.
	blob := func(s string) [3]string {
		return [3]string{"t", "{}", `{"content":[],"blob":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}`}
	}
	if r := compare(t, ended("a", monday, blob("at 10:00:01 AM")), ended("b", tuesday, blob("at 6:30:02 PM")), byDefault()); len(r.Findings) != 0 {
		t.Errorf("%q", said(r))
	}
	// A number by the name of its member.
	r := compare(t, ended("a", monday, [3]string{"t", "{}", result(`{"durationMs":12,"count":3}`)}), ended("b", monday, [3]string{"t", "{}", result(`{"durationMs":13,"count":4}`)}), diff.Options{Match: []string{"duration"}})
	if d := cmp.Diff([]string{"breaking result-value-changed | call t: /structuredContent/count is another value"}, said(r)); d != "" {
		t.Error(d)
	}
}

func TestIgnore(t *testing.T) {
	a := ended("a", monday, [3]string{"t", "{}", result(`{"l":[{"id":1,"v":"x"},{"id":2,"v":"y"}],"k":1}`)}, [3]string{"u", "{}", textOf(`{"k":1}`)}, [3]string{"e", "{}", `error{"code":-1,"message":"a"}`})
	b := ended("b", monday, [3]string{"t", "{}", result(`{"l":[{"id":1,"v":"X"},{"id":2,"v":"Y"}],"k":2}`)}, [3]string{"u", "{}", textOf(`{"k":2}`)}, [3]string{"e", "{}", `error{"code":-1,"message":"b"}`})
	for pointers, want := range map[string]struct{ findings, unused int }{
		"":                                      {4, 0},
		"/structuredContent/l/*/v":              {3, 0},
		"/structuredContent/l/0/v":              {4, 0}, // the second is left
		"/**/k":                                 {2, 0},
		"u:/**/k":                               {3, 0},
		"u:/content/0/text/k":                   {3, 0},
		"/error/message":                        {3, 0},
		"t:":                                    {2, 0},
		"/structuredContent/k /nothing x:/a/b":  {3, 2},
		"/structuredContent/l /**/k /error/**":  {0, 0},
		"/structuredContent/*/*/v /content/*/k": {3, 1},
	} {
		opts := byDefault()
		for _, p := range strings.Fields(pointers) {
			parsed, err := diff.ParsePointer(p)
			if err != nil {
				t.Fatal(err)
			}
			opts.Ignore = append(opts.Ignore, parsed)
		}
		r := compare(t, a, b, opts)
		if len(r.Findings) != want.findings || len(r.Unused) != want.unused {
			t.Errorf("%s: %q, unused %q", pointers, said(r), r.Unused)
		}
	}
	for _, bad := range []string{"", "x", ":/a", "/isError", "t:/isError", "/a~2", "/a~"} {
		if _, err := diff.ParsePointer(bad); err == nil {
			t.Errorf("pointer %q is taken", bad)
		}
	}
	// An outcome is never ignored.
	p, _ := diff.ParsePointer("/**")
	r := compare(t, ended("a", monday, [3]string{"t", "{}", result(`{}`)}), ended("b", monday, [3]string{"t", "{}", failing}), diff.Options{Ignore: []diff.Pointer{p}})
	if r.ExitCode() != 1 {
		t.Errorf("%q", said(r))
	}
}

// Noise is what differs between recordings of one build, and never more than that.
func TestLearn(t *testing.T) {
	one := func(id string, results ...string) *tape {
		var calls [][3]string
		for i, r := range results {
			calls = append(calls, [3]string{"t", fmt.Sprintf(`{"n":%d}`, i), r})
		}
		return ended(id, monday, calls...)
	}
	learned := func(a, b *tape) *diff.Noise {
		n := &diff.Noise{}
		if err := n.Learn(a.recording(t), b.recording(t), byDefault()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, c := range map[string]struct {
		r1, r2, a, b *tape
		want         []string
	}{
		"a field that varies": {one("1", result(`{"v":1,"k":1}`)), one("2", result(`{"v":2,"k":1}`)), one("a", result(`{"v":3,"k":1}`)), one("b", result(`{"v":4,"k":1}`)), nil},
		"a field that is constant within each build": {one("1", result(`{"v":1,"k":1}`)), one("2", result(`{"v":2,"k":1}`)), one("a", result(`{"v":3,"k":1}`)), one("b", result(`{"v":4,"k":2}`)), []string{
			"breaking result-value-changed | call t: /structuredContent/k is another value"}},
		"an element that is constant beside one that varies": {one("1", result(`{"l":[1,1]}`)), one("2", result(`{"l":[1,2]}`)), one("a", result(`{"l":[1,3]}`)), one("b", result(`{"l":[2,4]}`)), []string{
			"breaking result-value-changed | call t: /structuredContent/l/0 is another value"}},
		"a call that was not learned takes what its tool varies in": {one("1", result(`{"v":1,"k":1}`)), one("2", result(`{"v":2,"k":1}`)), one("a", result(`{"v":1,"k":1}`), result(`{"v":3,"k":3}`)), one("b", result(`{"v":1,"k":1}`), result(`{"v":4,"k":4}`)), []string{
			"breaking result-value-changed | call t: /structuredContent/k is another value"}},
		"a value that varies is no type that does": {one("1", result(`{"v":1}`)), one("2", result(`{"v":2}`)), one("a", result(`{"v":3}`)), one("b", result(`{"v":"4"}`)), []string{
			"breaking result-type-changed | call t: /structuredContent/v is a text, was a number"}},
		"a value that varies is none that vanishes": {one("1", result(`{"v":1}`)), one("2", result(`{"v":2}`)), one("a", result(`{"v":3}`)), one("b", result(`{}`)), []string{
			"breaking result-property-removed | call t: /structuredContent/v is gone"}},
		"an outcome that varies is none": {one("1", result(`{}`)), one("2", failing), one("a", result(`{}`)), one("b", failing), []string{
			"breaking outcome-now-failed | call t: is a tool error, was answered by a result"}},
		"an error's text": {one("1", failing), one("2", strings.Replace(failing, "no", "No!", 1)), one("a", failing), one("b", strings.Replace(failing, "no", "never", 1)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			opts := byDefault()
			opts.Noise = learned(c.r1, c.r2)
			if d := cmp.Diff(c.want, said(compare(t, c.a, c.b, opts))); d != "" {
				t.Error(d)
			}
		})
	}
}

// Recordings of two builds teach nothing.
func TestLearnFromTwoBuilds(t *testing.T) {
	a, b := play(t, "a", monday, mutant.Session()), play(t, "b", monday, mutant.Session(), "version")
	if err := new(diff.Noise).Learn(a.recording(t), b.recording(t), byDefault()); !errors.Is(err, diff.ErrBuilds) {
		t.Error(err)
	}
}

// Lists of prompts: arguments count like properties.
func TestPrompts(t *testing.T) {
	list := func(arguments string) *tape {
		r := exchanges("r", monday)
		r.line(record.Client, `{"jsonrpc":"2.0","id":7,"method":"prompts/list"}`)
		r.line(record.Server, `{"jsonrpc":"2.0","id":7,"result":{"prompts":[{"name":"p","arguments":`+arguments+`}]}}`)
		r.end()
		return r
	}
	for name, c := range map[string]struct{ a, b, want string }{
		"removed":         {`[{"name":"a"},{"name":"b"}]`, `[{"name":"a"}]`, "breaking prompt-argument-removed | prompts/list: /prompts/0/arguments/1 is an argument that was removed"},
		"added":           {`[{"name":"a"}]`, `[{"name":"a"},{"name":"b"}]`, "non-breaking prompt-argument-added | prompts/list: /prompts/0/arguments/1 is an argument that was added"},
		"added, required": {`[{"name":"a"}]`, `[{"name":"b","required":true},{"name":"a"}]`, "breaking prompt-argument-now-required | prompts/list: /prompts/0/arguments/0 is an argument that was added and is required"},
		"required":        {`[{"name":"a"}]`, `[{"name":"a","required":true}]`, "breaking prompt-argument-now-required | prompts/list: /prompts/0/arguments/0/required is required now"},
		"optional":        {`[{"name":"a","required":true}]`, `[{"name":"a","required":false}]`, "non-breaking prompt-argument-now-optional | prompts/list: /prompts/0/arguments/0/required is no longer required"},
		"described":       {`[{"name":"a"}]`, `[{"name":"a","description":"x"}]`, "informational listed-changed | prompts/list: /prompts/0/arguments/0/description is described otherwise"},
	} {
		if d := cmp.Diff([]string{c.want}, said(compare(t, list(c.a), list(c.b), byDefault()))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestCalls(t *testing.T) {
	ok := result(`{"a":1}`)
	call := func(tool, args string) [3]string { return [3]string{tool, args, ok} }
	for name, c := range map[string]struct {
		a, b [][3]string
		want []string
	}{
		"the same again and again":        {[][3]string{call("t", "{}"), {"t", "{}", result(`{"a":2}`)}}, [][3]string{call("t", "{}"), {"t", "{}", result(`{"a":2}`)}}, nil},
		"missing":                         {[][3]string{call("t", `{"q":1}`), call("u", "{}")}, [][3]string{call("u", "{}")}, []string{"breaking call-missing | call t: was not asked again"}},
		"one of two equal ones":           {[][3]string{call("t", "{}"), call("t", "{}")}, [][3]string{call("t", "{}")}, []string{"breaking call-missing | call t: was not asked again"}},
		"extra":                           {[][3]string{call("t", "{}")}, [][3]string{call("t", "{}"), call("u", "{}")}, []string{"informational call-extra | call u: was asked in the second recording only"}},
		"other arguments, the same shape": {[][3]string{call("t", `{"q":"x"}`)}, [][3]string{{"t", `{"q":"y"}`, result(`{"a":7}`)}}, []string{"informational call-arguments-changed | call t: was asked with another /q; results are compared by outcome and shape only"}},
		"other arguments, another outcome": {[][3]string{call("t", `{"q":"x"}`)}, [][3]string{{"t", `{"q":"y"}`, failing}}, []string{
			"breaking outcome-now-failed | call t: is a tool error, was answered by a result", "informational call-arguments-changed | call t: was asked with another /q; results are compared by outcome and shape only"}},
		"arguments of another shape": {[][3]string{call("t", `{"q":"x"}`)}, [][3]string{call("t", `{"p":"x"}`)}, []string{"breaking call-missing | call t: was not asked again", "informational call-extra | call t: was asked in the second recording only"}},
		"another order":              {[][3]string{call("t", "{}"), call("u", "{}")}, [][3]string{call("u", "{}"), call("t", "{}")}, []string{"informational call-order-changed | calls were made in another order: u before t"}},
		"never answered":             {[][3]string{call("t", "{}"), call("u", "{}")}, [][3]string{{"t", "{}", ""}, call("u", "{}")}, []string{"breaking outcome-now-failed | call t: is never answered, was answered by a result"}},
		"error codes": {[][3]string{{"t", "{}", `error{"code":-32602,"message":"m"}`}}, [][3]string{{"t", "{}", `error{"code":-32603,"message":"n"}`}}, []string{
			"breaking error-code-changed | call t: the error's code is -32603, was -32602", "non-breaking error-text-changed | call t: the error is told in other words"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, said(compare(t, ended("a", monday, c.a...), ended("b", monday, c.b...), byDefault()))); d != "" {
				t.Error(d)
			}
		})
	}
	// Arguments that do not count: the calls are equal then, and results are compared.
	p, err := key.ParsePointers([]string{"/at"})
	if err != nil {
		t.Fatal(err)
	}
	r := compare(t, ended("a", monday, [3]string{"t", `{"at":1}`, ok}), ended("b", monday, [3]string{"t", `{"at":2}`, result(`{"a":2}`)}), diff.Options{Args: key.Rules{Ignore: p}})
	if d := cmp.Diff([]string{"breaking result-value-changed | call t: /structuredContent/a is another value"}, said(r)); d != "" {
		t.Error(d)
	}
}

// Five calls that are open together, answered in the reverse order: no order is other.
func TestParallel(t *testing.T) {
	tapeOf := func(id string, sent, answers []int) *tape {
		r := exchanges(id, monday)
		for _, i := range sent {
			r.line(record.Client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"n":%[1]d}}}`, i))
		}
		for _, i := range answers {
			r.line(record.Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%[1]d"}]}}`, i))
		}
		r.end()
		return r
	}
	r := compare(t, tapeOf("a", []int{1, 2, 3, 4, 5}, []int{1, 2, 3, 4, 5}), tapeOf("b", []int{2, 1, 3, 5, 4}, []int{5, 4, 3, 2, 1}), byDefault())
	if len(said(r)) > 0 || r.Compared.Calls != 5 {
		t.Errorf("%q", said(r))
	}
}

// A recording that is not whole proves no call missing, and the run does not pass.
func TestNotWhole(t *testing.T) {
	ok := result(`{"a":1}`)
	a := ended("a", monday, [3]string{"t", "{}", ok}, [3]string{"u", "{}", ok})
	gap := exchanges("b", monday, [3]string{"t", "{}", ok})
	gap.gap(record.Client)
	gap.end()
	torn := exchanges("b", monday, [3]string{"t", "{}", ok})
	torn.State = record.Torn
	open := exchanges("b", monday, [3]string{"t", "{}", ok}, [3]string{"u", "{}", ""})
	open.State = record.Torn
	for name, c := range map[string]struct {
		a, b *tape
		want []string
		code int
	}{
		"a gap":                    {a, gap, []string{"undecided u | whether it was asked again: the second recording is not whole"}, 3},
		"torn":                     {a, torn, []string{"undecided u | whether it was asked again: the second recording is not whole"}, 3},
		"the first one has a gap":  {gap, a, []string{"undecided u | whether it was asked before: the first recording is not whole"}, 0},
		"torn while it was open":   {a, open, []string{"undecided u | how it ended now: the recording does not have all of it"}, 3},
		"the first torn, as above": {open, a, []string{"undecided u | how it ended before: the recording does not have all of it"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := compare(t, c.a, c.b, byDefault())
			if d := cmp.Diff(c.want, said(r)); d != "" || r.ExitCode() != c.code {
				t.Errorf("exit code %d, want %d %s", r.ExitCode(), c.code, d)
			}
		})
	}
	// Where something is different for certain, that is what counts.
	bad := exchanges("b", monday, [3]string{"t", "{}", failing})
	bad.State = record.Torn
	if r := compare(t, a, bad, byDefault()); r.ExitCode() != 1 || len(r.Undecided) != 1 {
		t.Errorf("%q", said(r))
	}
	empty := newTape("b", monday)
	empty.end()
	if r := compare(t, a, empty, byDefault()); r.ExitCode() == 0 {
		t.Errorf("nothing compared, exit code 0: %q", said(r))
	}
	if r := compare(t, empty, empty, byDefault()); r.ExitCode() != 3 {
		t.Errorf("nothing at all, exit code %d: %q", r.ExitCode(), said(r))
	}
}

// What who replayed a recording knows: which request is which, what was skipped, whose
// results cannot be relied on, which ids stand for which.
func TestReplayed(t *testing.T) {
	a := ended("a", monday, [3]string{"open", "{}", result(`{"handle":"h-11111111","n":100001}`)}, [3]string{"use", `{"handle":"h-11111111"}`, textOf("used h-11111111 well")}, [3]string{"drop", "{}", result(`{}`)}, [3]string{"list", "{}", result(`{"l":[{"v":1}],"k":"x"}`)})
	b := ended("b", monday, [3]string{"open", "{}", result(`{"handle":"h-22222222","n":200002}`)}, [3]string{"use", `{"handle":"h-22222222"}`, textOf("used h-22222222 well")}, [3]string{"list", "{}", result(`{"l":[{"v":2},{"v":3}],"k":"y"}`)})
	id := map[string]string{} // by tool
	for _, c := range a.recording(t).Sessions[0].Calls {
		id[c.Tool] = diff.CallID(c.Seq, c.Index)
	}
	opts := byDefault()
	opts.Same = map[string]string{"h-11111111": "h-22222222", "100001": "200002"}
	opts.Sent = map[string]string{id["use"]: "2", id["open"]: "1.0"}
	opts.Skipped = map[string]string{id["drop"]: "not read-only"}
	opts.Tainted = map[string]bool{id["list"]: true}
	r := compare(t, a, b, opts)
	if d := cmp.Diff([]string{"undecided drop | not sent: not read-only"}, said(r)); d != "" {
		t.Error(d)
	}
	if r.ExitCode() != 3 || r.Compared.Shape != 1 || r.Noise["substituted"] != 3 {
		t.Errorf("exit code %d, %+v, %v", r.ExitCode(), r.Compared, r.Noise)
	}
	// A tainted call still shows another shape.
	b = ended("b", monday, [3]string{"list", "{}", result(`{"l":[{"v":"1"}]}`)})
	opts.Skipped = map[string]string{id["drop"]: "-", id["open"]: "-", id["use"]: "-"}
	r = compare(t, a, b, opts)
	if d := cmp.Diff([]string{"breaking result-property-removed | call list: /structuredContent/k is gone", "breaking result-type-changed | call list: /structuredContent/l/0/v is a text, was a number"}, said(r)[:2]); d != "" {
		t.Error(d)
	}
}

// Several sessions in one recording: those with the same requests are compared.
func TestSessions(t *testing.T) {
	join := func(id string, sessions ...*tape) *diff.Recording {
		r := &diff.Recording{ID: id}
		for i, s := range sessions {
			one := s.recording(t)
			one.Sessions[0].ID = fmt.Sprintf("s%d", i+1)
			one.Sessions[0].FirstSeq += int64(1000 * i)
			r.Sessions, r.Clock = append(r.Sessions, one.Sessions[0]), one.Clock
		}
		return r
	}
	one := func(tool, value string) *tape { return ended("r", monday, [3]string{tool, "{}", result(value)}) }
	probe := ended("r", monday)
	r, err := diff.Recordings(join("a", probe, one("t", `1`), one("u", `1`), one("gone", `1`)), join("b", one("u", `1`), one("new", "1"), one("t", `2`), probe), byDefault())
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, p := range r.Pairs {
		pairs = append(pairs, p.A+"="+p.B+" "+p.Basis)
	}
	if d := cmp.Diff([]string{"s1=s4 in order: no request in either", "s2=s3 the same requests", "s3=s1 the same requests", "s4=s2 in order: no request in common"}, pairs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"breaking call-missing | call gone: was not asked again", "breaking result-value-changed | call t: /structuredContent is another value", "informational call-extra | call new: was asked in the second recording only"}, said(r)); d != "" {
		t.Error(d)
	}
	r, err = diff.Recordings(join("a", probe, one("t", `1`), probe), join("b", probe), byDefault())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"breaking session-missing | session s2 has no counterpart in the second recording: 1 call", "informational session-extra | session s3 has no counterpart in the second recording: no call"}, said(r)); d != "" {
		t.Error(d)
	}
}

// The same change in 10,000 calls is one finding: memory grows with the kinds of
// differences.
func TestManyCalls(t *testing.T) {
	var a, b [][3]string
	for i := range 10_000 {
		args := fmt.Sprintf(`{"n":%d}`, i)
		a, b = append(a, [3]string{"t", args, result(fmt.Sprintf(`{"v":%d}`, i))}), append(b, [3]string{"t", args, result(fmt.Sprintf(`{"v":%d}`, i+1))})
	}
	r := compare(t, ended("a", monday, a...), ended("b", monday, b...), byDefault())
	if len(r.Findings) != 1 || r.Findings[0].Calls != 10_000 || r.Findings[0].Of != 10_000 || len(r.Findings[0].Where) != diff.MaxWhere {
		t.Errorf("%d findings, the first %+v", len(r.Findings), r.Findings[0])
	}
}

// The same result whatever the map order, in every format; and XML that can be read.
func TestFormats(t *testing.T) {
	a := ended("a", monday, [3]string{"t", "{}", result(`{"a\u0007":1,"b":[1,2],"c":"x"}`)}, [3]string{"u", "{}", failing})
	b := ended("b", monday, [3]string{"t", "{}", result(`{"b":[2,1],"c":"\u202ey%\n::error::","d":1}`)}, [3]string{"u", "{}", result("1")})
	r := compare(t, a, b, byDefault())
	for name, write := range map[string]func(io.Writer, *diff.Result) error{
		"text":   func(w io.Writer, r *diff.Result) error { return diff.Text(w, r, diff.TextOptions{}) },
		"json":   diff.JSON,
		"junit":  diff.JUnit,
		"github": diff.GitHub,
	} {
		var first strings.Builder
		if err := write(&first, r); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			var again strings.Builder
			if err := write(&again, compare(t, a, b, byDefault())); err != nil || again.String() != first.String() {
				t.Fatalf("%s: another output: %v", name, err)
			}
		}
		if strings.ContainsAny(first.String(), "\a\u202e") {
			t.Errorf("%s: a control character is printed", name)
		}
		for _, l := range strings.Split(first.String(), "\n") {
			if name == "github" && strings.HasPrefix(l, "::error::") || name == "text" && len([]rune(l)) > 100 {
				t.Errorf("%s: line %q", name, l)
			}
		}
		if name == "junit" {
			if err := xml.Unmarshal([]byte(first.String()), new(struct{})); err != nil {
				t.Error(err)
			}
		}
	}
}

// docs/diff-rules.md has the rules as they are.
func TestRulesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/diff-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(page), diff.RulesTable()) {
		t.Error("docs/diff-rules.md is stale: its end is not what diff.RulesTable() makes")
		if os.Getenv("UPDATE") != "" {
			head, _, _ := strings.Cut(string(page), "\n### ")
			if err := os.WriteFile("../../docs/diff-rules.md", []byte(head+diff.RulesTable()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := map[string]bool{}
	for _, r := range diff.Rules() {
		if seen[r.ID] {
			t.Errorf("rule %s stands twice", r.ID)
		}
		seen[r.ID] = true
	}
}

// All of a protocol error counts: its data, and what stands far back in its message.
func TestTheWholeOfAnError(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for name, c := range map[string]struct {
		a, b string
		want []string
	}{
		"the same data":         {`error{"code":-32602,"message":"m","data":{"a":1,"b":2}}`, `error{"data":{"b":2,"a":1},"message":"m","code":-32602}`, nil},
		"other data":            {`error{"code":-32602,"message":"m","data":{"field":"city","allowed":["a","b"]}}`, `error{"code":-32602,"message":"m","data":{"field":"town","allowed":["a","b"]}}`, []string{"/error/data/field"}},
		"data is gone":          {`error{"code":-32602,"message":"m","data":{"field":"city","allowed":["a","b"]}}`, `error{"code":-32602,"message":"m"}`, []string{"/error/data"}},
		"data is new":           {`error{"code":-32602,"message":"m"}`, `error{"code":-32602,"message":"m","data":{"field":"city","allowed":["a","b"]}}`, []string{"/error/data"}},
		"the end of a long one": {`error{"code":-32602,"message":"` + long + `a"}`, `error{"code":-32602,"message":"` + long + `b"}`, []string{"/error/message"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := compare(t, ended("a", monday, [3]string{"t", "{}", c.a}), ended("b", tuesday, [3]string{"t", "{}", c.b}), byDefault())
			var got []string
			for _, f := range r.Findings {
				if f.Rule != diff.ErrorText {
					t.Errorf("rule %s", f.Rule)
				}
				got = append(got, f.Path)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s %q", d, said(r))
			}
		})
	}
}

// Where the server was asked and none of it could be compared, a handshake and a
// catalog that are the same are no pass.
func TestNothingThatWasAskedIsCompared(t *testing.T) {
	ok := result(`{"a":1}`)
	open := exchanges("a", monday, [3]string{"t", "{}", ""})
	open.State = record.Torn
	b := ended("b", tuesday, [3]string{"t", "{}", ok})
	r := compare(t, open, b, byDefault())
	if r.ExitCode() != 3 || !r.Nothing() {
		t.Errorf("exit code %d: %q", r.ExitCode(), said(r))
	}
	// What was left out on purpose was not asked for.
	opts := byDefault()
	opts.LeftOut = map[string]string{diff.CallID(4, -1): "--only"}
	if r := compare(t, ended("a", monday, [3]string{"t", "{}", ok}), ended("b", tuesday), opts); r.Asked != 0 || r.ExitCode() != 0 {
		t.Errorf("asked %d, exit code %d: %q", r.Asked, r.ExitCode(), said(r))
	}
}

// Two minted values may have changed places.
func TestMintedValuesThatChangedPlaces(t *testing.T) {
	opts := diff.Options{Same: map[string]string{"note-aaaa": "note-bbbb", "note-bbbb": "note-aaaa"}}
	text := func(s string) string { return result(`{"content":[{"type":"text","text":"` + s + `"}]}`) }
	a, b := ended("a", monday, [3]string{"t", "{}", text("kept note-aaaa, then note-bbbb")}), ended("b", tuesday, [3]string{"t", "{}", text("kept note-bbbb, then note-aaaa")})
	if r := compare(t, a, b, opts); len(said(r)) > 0 {
		t.Errorf("%q", said(r))
	}
}
