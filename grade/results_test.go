package grade_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// counted is a recording that counts how often its records are read again.
type counted struct {
	*fixtures.Recording
	fetched int
}

func (c *counted) Fetch(refs []record.Ref) ([]byte, error) {
	c.fetched++
	return c.Recording.Fetch(refs)
}

// wire makes the evidence of a session with a tool list and the given lines, each
// ">" and what the client sent, or "<" and what the server did.
func wire(t testing.TB, o session.Options, tools string, lines ...string) (*predicate.Evidence, *counted) {
	t.Helper()
	r := &counted{Recording: &fixtures.Recording{Name: "made", State: record.Sealed,
		Header: record.Header{Format: [2]int{1, 0}, ID: "made", FirstSeq: 1, Transport: "stdio", Command: []string{"server"}}}}
	at := int64(0)
	for _, l := range append([]string{
		`>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`,
		`<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"s","version":"1"}}}`,
		`>{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`<{"jsonrpc":"2.0","id":2,"result":{"tools":` + tools + `}}`,
	}, lines...) {
		from := record.Client
		if l[0] == '<' {
			from = record.Server
		}
		at += 1e6
		r.AddLine(from, at, l[1:], "\n")
	}
	r.Add(record.Record{Kind: record.KindClose, At: at + 1e6, Close: &record.Close{Who: record.ByClient, What: record.Stdin}})
	o.End = r.End
	res, err := session.Decode(&r.Header, r.Next(), r, o)
	if err != nil || len(res.Sessions) != 1 {
		t.Fatal(err, len(res.Sessions))
	}
	return grade.Evidence(res.Sessions[0], res.Sessions, &predicate.Schemas{}), r
}

const toolT = `[{"name":"t","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]`

// answers makes the evidence of calls to t, answered one after the other.
func answers(t testing.TB, results ...string) (*predicate.Evidence, *counted) {
	t.Helper()
	var lines []string
	for i, r := range results {
		lines = append(lines,
			fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{}}}`, i+3),
			fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"result":%s}`, i+3, r))
	}
	return wire(t, session.Options{}, toolT, lines...)
}

func checkOf(t testing.TB, text string) *predicate.Check {
	t.Helper()
	s := mustLoad(t, "defaults: {assertions: ["+text+"]}")
	return s.Assertions[0]
}

// The row toolResults of the table in grading.md 0.1: text, structuredContent and size.
func TestResultEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		result     string
		text       string
		has        bool
		structured string // canonical; "" for none
		size       int64
		isError    bool
	}{
		"one text block": {`{"content":[{"type":"text","text":"a\né"}]}`, "a\né", true, "", int64(len(`[{"type":"text","text":"a\né"}]`)), false},
		"text blocks join without a separator; other blocks are no text": {
			`{"content":[{"type":"text","text":"a"},{"type":"image","data":"QQ==","text":"no"},{"type":"text","text":"b"}]}`, "ab", true, "",
			int64(len(`[{"type":"text","text":"a"},{"type":"image","data":"QQ==","text":"no"},{"type":"text","text":"b"}]`)), false},
		"the text of an embedded resource is none": {
			`{"content":[{"type":"resource","resource":{"uri":"u:1","text":"no"}}]}`, "", false, "",
			int64(len(`[{"type":"resource","resource":{"uri":"u:1","text":"no"}}]`)), false},
		"white space and escapes of the server do not count": {
			`{ "content" : [ { "type" : "text", "text" : "\u00e9\/\ud83d\ude00" } ] }`, "é/😀", true, "", int64(len(`[{"type":"text","text":"é/😀"}]`)), false},
		"half a pair": {`{"content":[{"type":"text","text":"\ud83d"}]}`, "\xed\xa0\xbd", true, "", int64(len(`[{"type":"text","text":"\ud83d"}]`)), false},
		"structuredContent beside a text": {
			`{"content":[{"type":"text","text":"1 row"}],"structuredContent":{"rows":[1]}}`, "1 row", true, `{"rows":[1]}`,
			int64(len(`[{"type":"text","text":"1 row"}]`) + len(`{"rows":[1]}`)), false},
		"a text block is its twin": {
			`{"content":[{"type":"text","text":"note"},{"type":"text","text":"{ \"b\": [1.0], \"a\": null }"}],"structuredContent":{"a":null,"b":[1]}}`,
			`note{ "b": [1.0], "a": null }`, true, `{"a":null,"b":[1]}`,
			int64(len(`[{"type":"text","text":"note"},{"type":"text","text":"{ \"b\": [1.0], \"a\": null }"}]`)), false},
		"a text block that is JSON and another value": {
			`{"content":[{"type":"text","text":"{\"a\":2}"}],"structuredContent":{"a":1}}`, `{"a":2}`, true, `{"a":1}`,
			int64(len(`[{"type":"text","text":"{\"a\":2}"}]`) + len(`{"a":1}`)), false},
		"numbers that begin otherwise are twins": {
			`{"content":[{"type":"text","text":" -0"}],"structuredContent":0}`, " -0", true, `0`, int64(len(`[{"type":"text","text":" -0"}]`)), false},
		"structuredContent null":            {`{"content":[],"structuredContent":null}`, "", false, `null`, int64(len(`[]null`)), false},
		"structuredContent alone":           {`{"structuredContent":{"a":1}}`, "", false, `{"a":1}`, 7, false},
		"nothing":                           {`{}`, "", false, "", 0, false},
		"the last of two members counts":    {`{"content":[{"type":"text","text":"a"}],"content":[{"type":"text","text":"b","text":"c"}]}`, "c", true, "", int64(len(`[{"type":"text","text":"b","text":"c"}]`)), false},
		"content that is no list":           {`{"content":"a"}`, "", false, "", 3, false},
		"blocks that are no blocks":         {`{"content":[1,null,[],{"type":"text"},{"type":"text","text":1},{"text":"x"}]}`, "", false, "", int64(len(`[1,null,[],{"type":"text"},{"type":"text","text":1},{"text":"x"}]`)), false},
		"an error has a result":             {`{"content":[{"type":"text","text":"boom"}],"isError":true}`, "boom", true, "", int64(len(`[{"type":"text","text":"boom"}]`)), true},
		"an empty text":                     {`{"content":[{"type":"text","text":""}]}`, "", true, "", int64(len(`[{"type":"text","text":""}]`)), false},
		"keys are told apart by their case": {`{"Content":[{"type":"text","text":"a"}],"content":[{"type":"text","Text":"b"}]}`, "", false, "", int64(len(`[{"type":"text","Text":"b"}]`)), false},
		"an isError that is no boolean":     {`{"content":[{"type":"text","text":"a"}],"isError":"true"}`, "a", true, "", int64(len(`[{"type":"text","text":"a"}]`)), false},
	} {
		t.Run(name, func(t *testing.T) {
			ev, _ := answers(t, c.result)
			if len(ev.Results) != 1 {
				t.Fatalf("%d results", len(ev.Results))
			}
			r := &ev.Results[0]
			if call := ev.Calls[0]; r.Seq != call.Seq || r.Index != call.Index || r.Tool != "t" || r.Record != call.Seq+1 || r.IsError != c.isError {
				t.Errorf("%+v of call %+v", r, call)
			}
			got, err := r.Content()
			if err != nil {
				t.Fatal(err)
			}
			structured := ""
			if got.Structured != nil {
				text, err := value.Canonical(nil, got.Structured, value.Exact)
				if err != nil {
					t.Fatal(err)
				}
				structured = string(text)
			}
			if got.Text != c.text || got.HasText != c.has || structured != c.structured || got.Truncated || got.JSON != nil || got.Unread != nil {
				t.Errorf("%+v, structured %s; want text %q (%v), structured %s", got, structured, c.text, c.has, c.structured)
			}
			size, err := r.Size()
			if err != nil || size != (predicate.ResultSize{Bytes: c.size, Complete: true, Basis: "raw_result"}) {
				t.Errorf("size %+v (%v), want %d", size, err, c.size)
			}
		})
	}
}

// Which calls have a result, and what a check says of those without one.
func TestWhichCallsHaveAResult(t *testing.T) {
	const call = `>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{}}}`
	const other = `>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","arguments":{}}}`
	const asTask = `<{"jsonrpc":"2.0","id":3,"result":{"task":{"taskId":"k","status":"working"}}}`
	const ask = `>{"jsonrpc":"2.0","id":5,"method":"tasks/result","params":{"taskId":"k"}}`
	for name, c := range map[string]struct {
		lines   []string
		results int
		want    predicate.Result // of a needle that is in no text
	}{
		"a result":           {[]string{call, `<{"jsonrpc":"2.0","id":3,"result":{"content":[]}}`}, 1, predicate.Fail},
		"a protocol error":   {[]string{call, `<{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no needle"}}`}, 0, predicate.Error},
		"both at once":       {[]string{call, `<{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"needle"}]},"error":{"code":1,"message":"x"}}`}, 0, predicate.Error},
		"no object":          {[]string{call, `<{"jsonrpc":"2.0","id":3,"result":"needle"}`}, 0, predicate.Error},
		"no answer":          {[]string{call}, 0, predicate.Error},
		"cancelled":          {[]string{call, `>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`}, 0, predicate.Fail},
		"cancelled and late": {[]string{call, `>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, `<{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"needle"}]}}`}, 0, predicate.Fail},
		"a task's handle":    {[]string{call, asTask}, 0, predicate.Error},
		"a task's result":    {[]string{call, asTask, ask, `<{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"done"}]}}`}, 1, predicate.Fail},
		"one of two":         {[]string{call, other, `<{"jsonrpc":"2.0","id":4,"result":{"content":[]}}`, `<{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}`}, 1, predicate.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			ev, _ := wire(t, session.Options{}, toolT, c.lines...)
			if len(ev.Results) != c.results {
				t.Errorf("%d results, want %d", len(ev.Results), c.results)
			}
			if got := predicate.Evaluate(checkOf(t, "{type: toolResultContains, needle: needle}"), ev); got.Result != c.want {
				t.Errorf("%s (%s), want %s", got.Result, got.Reason, c.want)
			}
		})
	}
}

// A limit that is hit is an error row: never a fail, never a crash. What the limit
// does not touch is judged.
func TestResultsBeyondLimits(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	many := "[" + strings.Repeat("0,", 600_000) + "0]"
	block := func(text string) string {
		b, _ := json.Marshal(text)
		return `{"content":[{"type":"text","text":` + string(b) + `}]}`
	}
	for name, c := range map[string]struct {
		result string
		want   map[string]predicate.Result
	}{
		"deep structuredContent": {`{"content":[{"type":"text","text":"x"}],"structuredContent":` + deep + `}`, map[string]predicate.Result{
			"{type: toolResultContains, needle: x}":          predicate.Pass,
			"{type: toolResultContains, needle: y}":          predicate.Error,
			"{type: toolResultMatches, patterns: [x]}":       predicate.Error,
			"{type: toolResultMatchesSchema, schema: false}": predicate.Error,
			"{type: toolResultSizeUnder, maxBytes: 10000}":   predicate.Fail,
			"{type: toolResultSizeUnder, maxBytes: 11000}":   predicate.Pass,
		}},
		"deep text": {block(deep), map[string]predicate.Result{
			"{type: toolResultContains, needle: y}":                      predicate.Fail,
			"{type: toolResultMatches, patterns: [x], min: 0, max: 0}":   predicate.Pass,
			"{type: toolResultMatchesSchema, schema: true}":              predicate.Error,
			"{type: toolResultSizeUnder, maxBytes: 100}":                 predicate.Fail,
			"{type: fullPageHasContinuation, role: advisory}":            predicate.Pass, // no limit asked for
			"{type: toolErrorNamesInput, role: advisory}":                predicate.Pass,
			"{type: toolResultMatches, patterns: [x], path: /q, max: 1}": predicate.Fail,
		}},
		"many values": {`{"content":[],"structuredContent":` + many + `}`, map[string]predicate.Result{
			"{type: toolResultContains, needle: y}":         predicate.Error,
			"{type: toolResultMatchesSchema, schema: true}": predicate.Error,
			"{type: toolResultSizeUnder, maxBytes: 64000}":  predicate.Fail, // no text could be its twin
		}},
		"a twin that cannot be told": {strings.TrimSuffix(block(many), "}") + `,"structuredContent":[1]}`, map[string]predicate.Result{
			"{type: toolResultSizeUnder, maxBytes: 64000}": predicate.Error,
		}},
		"a number of 40,000 digits": {`{"content":[],"structuredContent":{"n":` + strings.Repeat("9", 40_000) + `}}`, map[string]predicate.Result{
			"{type: toolResultContains, needle: '\"n\":9.99'}":               predicate.Pass,
			"{type: toolResultMatchesSchema, schema: {type: object}}":        predicate.Error,
			"{type: toolResultSizeUnder, maxBytes: 40000}":                   predicate.Fail,
			"{type: toolResultMatches, patterns: ['^\\{\"n\":9'], max: 1}":   predicate.Pass,
			"{type: toolResultMatches, patterns: ['^9'], path: /n, max: 1}":  predicate.Pass,
			"{type: toolResultMatches, patterns: ['^9$'], path: /n, max: 1}": predicate.Fail,
		}},
		"a huge exponent": {`{"content":[],"structuredContent":{"n":1e1000001}}`, map[string]predicate.Result{
			"{type: toolResultContains, needle: '1e+1000001'}":        predicate.Pass,
			"{type: toolResultMatchesSchema, schema: {type: object}}": predicate.Error,
			"{type: toolResultSizeUnder, maxBytes: 19}":               predicate.Pass,
		}},
		"no UTF-8": {"{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\"}]}", map[string]predicate.Result{
			"{type: toolResultContains, needle: a}":       predicate.Error,
			"{type: toolResultMatches, patterns: [a]}":    predicate.Error,
			"{type: toolResultSizeUnder, maxBytes: 1000}": predicate.Error,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ev, _ := answers(t, c.result)
			for text, want := range c.want {
				got := predicate.Evaluate(checkOf(t, text), ev)
				if got.Result != want {
					t.Errorf("%s: %s (%s), want %s", text, got.Result, got.Reason, want)
				}
				if len(got.Reason) > 4000 || strings.Contains(got.Reason, "broke") {
					t.Errorf("%s: %s", text, got.Reason)
				}
			}
		})
	}
}

// A line over the limit is not put together: its result is lost, and no check takes
// that for an empty one.
func TestAResultThatIsTooLongToRead(t *testing.T) {
	ev, _ := wire(t, session.Options{MaxLine: 1 << 20}, toolT,
		`>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{"limit":1}}}`,
		`<{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`+strings.Repeat("x", 2<<20)+`"}]}}`)
	if ev.Capture.ToolResults != session.Partial || len(ev.Results) != 0 {
		t.Fatalf("results are %s, %d of them", ev.Capture.ToolResults, len(ev.Results))
	}
	for _, text := range []string{"{type: toolResultContains, needle: x}", "{type: toolResultMatches, patterns: [x]}", "{type: toolResultMatchesSchema, schema: true}",
		"{type: toolResultSizeUnder, maxBytes: 1}", "{type: fullPageHasContinuation, role: advisory}"} {
		if got := predicate.Evaluate(checkOf(t, text), ev); got.Result != predicate.Error {
			t.Errorf("%s: %s (%s)", text, got.Result, got.Reason)
		}
	}
}

// Results are read from the recording once, whatever their size and the number of
// checks, and then let go: checks that are not evaluated together read them again.
func TestResultsAreNotHeld(t *testing.T) {
	block := func(n int) string {
		return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`
	}
	missing := checkOf(t, "{type: toolResultContains, needle: y}")
	size := checkOf(t, "{type: toolResultSizeUnder, maxBytes: 10000000}")
	schema := checkOf(t, "{type: toolResultMatchesSchema, schema: {type: object}}")
	pattern := checkOf(t, "{type: toolResultMatches, patterns: [y]}")
	for name, results := range map[string][]string{
		"a small one":                    {block(4 << 10)},
		"a large one":                    {block(2 << 20)},
		"ten":                            slicesOf(10, block(110_000)),
		"a large one before a small one": {block(2 << 20), block(4 << 10)},
	} {
		t.Run(name, func(t *testing.T) {
			ev, r := answers(t, results...)
			for i := range 2 {
				r.fetched = 0
				got := predicate.EvaluateAll([]*predicate.Check{missing, size, schema, pattern, missing}, ev)
				for k, want := range []predicate.Result{predicate.Fail, predicate.Pass, predicate.Fail, "", predicate.Fail} {
					if want != "" && got[k].Result != want {
						t.Fatalf("%d: %s (%s)", k, got[k].Result, got[k].Reason)
					}
				}
				// The last one of the time before may still be there.
				if n := len(results); r.fetched != n && (i == 0 || n > 1 || r.fetched != 0) {
					t.Errorf("%d results were read %d times", n, r.fetched)
				}
			}
			one := predicate.Evaluate(missing, ev)
			if again := predicate.EvaluateAll([]*predicate.Check{size, missing}, ev); !reflect.DeepEqual(one, again[1]) {
				t.Errorf("alone %+v, beside another %+v", one, again[1])
			}
		})
	}
}

func slicesOf(n int, s string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// What the observations see in a session, and nothing else, is noted: a full page
// that does not say whether there is more, an error that names no input.
func TestObservationsOfASession(t *testing.T) {
	ev, _ := wire(t, session.Options{}, `[{"name":"old_list","inputSchema":{"type":"object","properties":{"limit":{}}}},{"name":"get_user","inputSchema":{"type":"object","properties":{"email":{}}}}]`,
		`>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"old_list","arguments":{"limit":2}}}`,
		`<{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"items":[1,2]}}}`,
		`>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_user","arguments":{"email":"sam@example.test"}}}`,
		`<{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"Rate limited. Retry in 30 seconds."}],"isError":true}}`,
		`>{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"get_user","arguments":{"email":"sam@example.test"}}}`,
		`<{"jsonrpc":"2.0","id":5,"result":{"content":[],"structuredContent":{"why":"no SAM@example.test"},"isError":true}}`,
		`>{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"old_list","arguments":{"limit":2}}}`,
		`<{"jsonrpc":"2.0","id":6,"result":{"content":[],"structuredContent":{"items":[3,4],"nextCursor":null}}}`)
	got := predicate.Evaluate(checkOf(t, "{type: fullPageHasContinuation, role: advisory}"), ev)
	if got.Result != predicate.Fail || !strings.Contains(got.Reason, "2 entries for limit 2") || got.Actual != "1 of 2 full pages" || fmt.Sprint(got.Records) != "[5 6]" {
		t.Errorf("%+v", got)
	}
	got = predicate.Evaluate(checkOf(t, "{type: toolErrorNamesInput, role: advisory}"), ev)
	if got.Result != predicate.Fail || !strings.Contains(got.Reason, "Rate limited") || strings.Contains(got.Reason, "record 9") || fmt.Sprint(got.Records) != "[7 8]" {
		t.Errorf("%+v", got)
	}
}

// RE2 on the texts that other engines stumble over: $ is the very end of the text,
// \d is ASCII, and nested repetition takes linear time.
func TestPatternsOnResults(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          predicate.Result
	}{
		{"Order 1234 ready.", `Order \d{4}`, predicate.Pass},
		{"Order 1234 ready.", `Order", "ready`, predicate.Pass},
		{"Order 1234 ready.", `Order", "refused`, predicate.Fail},
		{"ready.\n", `ready\.$`, predicate.Fail},
		{strings.Repeat("a", 50_000) + "b", `^(a+)+$`, predicate.Fail},
		{strings.Repeat("a", 50_000) + "b", `^(a|aa)+$`, predicate.Fail},
		{"١٢٣", `^\d+$`, predicate.Fail},
		{"line one\nline two", `^line two$`, predicate.Fail},
		{"Order", `order`, predicate.Fail},
	} {
		b, _ := json.Marshal(c.text)
		ev, _ := answers(t, `{"content":[{"type":"text","text":`+string(b)+`}]}`)
		p := strings.ReplaceAll(strings.ReplaceAll(c.pattern, `\`, `\\`), `", "`, `", "`)
		if got := predicate.Evaluate(checkOf(t, `{type: toolResultMatches, patterns: ["`+p+`"]}`), ev); got.Result != c.want {
			t.Errorf("%.20q against %s: %s (%s), want %s", c.text, c.pattern, got.Result, got.Reason, c.want)
		}
	}
}

// The wire alone does not show what the host said to its user: a tool's result is
// no message. With a transcript the kinds decide, each by its own channel.
func TestTheWireHasNoFinalMessage(t *testing.T) {
	ev, _ := answers(t, `{"content":[{"type":"text","text":"the answer is 42"}]}`)
	checks := []string{"{type: finalAssistantMessageNonEmpty}", "{type: responseContains, needle: '42'}", "{type: tokenBudgetUnder, tokens: 1000}", "{type: turnCountUnder, turns: 3}"}
	const p, f, e = predicate.Pass, predicate.Fail, predicate.Error
	const whole = session.Complete
	for name, c := range map[string]struct {
		talk *predicate.Conversation
		want []predicate.Result
	}{
		"no transcript": {nil, []predicate.Result{e, e, e, e}},
		"a message": {&predicate.Conversation{FinalTextState: whole, TurnsState: whole, UsageState: whole, FinalText: "It is 42.", HasFinalText: true,
			TurnCount: 1, TurnCountKnown: true, Usage: &predicate.Usage{Input: -1, Output: -1, Total: 812}}, []predicate.Result{p, p, p, p}},
		"blanks": {&predicate.Conversation{FinalTextState: whole, TurnsState: whole, UsageState: whole, FinalText: " \n\t", HasFinalText: true,
			TurnCount: 1, TurnCountKnown: true, Usage: &predicate.Usage{Input: -1, Output: -1, Total: 1500}}, []predicate.Result{f, f, f, p}},
		"no message captured": {&predicate.Conversation{TurnsState: whole, TurnCount: 1, TurnCountKnown: true}, []predicate.Result{e, e, e, p}},
	} {
		ev.Conversation = c.talk
		for i, text := range checks {
			if got := predicate.Evaluate(checkOf(t, text), ev); got.Result != c.want[i] {
				t.Errorf("%s: %s: %s (%s), want %s", name, text, got.Result, got.Reason, c.want[i])
			}
		}
	}
}

// BenchmarkToolResultContains searches a result of 1 MB that does not have the
// needle, anew from its line each time: it is too large to be held.
func BenchmarkToolResultContains(b *testing.B) {
	line := "row 1042 of the table: it is shipped, paid and on its way to Zürich\\n"
	text := strings.Repeat(line, 1_100_000/len(line))
	for name, c := range map[string]struct{ result, check string }{
		"text":            {`{"content":[{"type":"text","text":"` + text + `"}]}`, "{type: toolResultContains, needle: no such row, caseSensitive: true}"},
		"text/any-case":   {`{"content":[{"type":"text","text":"` + text + `"}]}`, "{type: toolResultContains, needle: no such row}"},
		"structured":      {`{"structuredContent":{"rows":[` + strings.Repeat(`{"id":1042,"state":"shipped"},`, 36_000) + `0]}}`, "{type: toolResultContains, needle: no such row}"},
		"size/text":       {`{"content":[{"type":"text","text":"` + text + `"}]}`, "{type: toolResultSizeUnder, maxBytes: 10000000}"},
		"schema":          {`{"structuredContent":{"rows":[` + strings.Repeat(`{"id":1042,"state":"shipped"},`, 36_000) + `0]}}`, "{type: toolResultMatchesSchema, schema: {type: object}}"},
		"small/held":      {`{"content":[{"type":"text","text":"` + text[:len(line)*400] + `"}]}`, "{type: toolResultContains, needle: no such row}"},
		"small/held/hits": {`{"content":[{"type":"text","text":"` + text[:len(line)*400] + `"}]}`, "{type: toolResultContains, needle: shipped}"},
	} {
		b.Run(name, func(b *testing.B) {
			check := checkOf(b, c.check)
			ev, _ := answers(b, c.result)
			b.SetBytes(int64(len(c.result)))
			b.ReportAllocs()
			for b.Loop() {
				if got := predicate.Evaluate(check, ev); got.Result == predicate.Error {
					b.Fatal(got.Reason)
				}
				if strings.HasPrefix(name, "size") {
					b.StopTimer()
					ev, _ = answers(b, c.result) // a size is kept
					b.StartTimer()
				}
			}
		})
	}
}
