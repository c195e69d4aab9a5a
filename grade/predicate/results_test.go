package predicate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
)

// vectorResult is a result as the vectors give it (grading.md 3.1).
type vectorResult struct {
	ToolCallID        string          `json:"toolCallId"`
	ToolName          string          `json:"toolName"`
	Text              *string         `json:"text"`
	Truncated         bool            `json:"truncated"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	JSON              json.RawMessage `json:"json"`
	IsError           bool            `json:"isError"`
	Size              struct {
		Bytes    int64  `json:"bytes"`
		Basis    string `json:"basis"`
		Complete bool   `json:"complete"`
	} `json:"size"`
}

type vectorResults struct {
	ToolResults []vectorResult `json:"toolResults"`
}

func (tr *vectorResults) adapt(ev *Evidence) {
	for i := range tr.ToolResults {
		ev.Results = append(ev.Results, tr.ToolResults[i].evidence())
	}
}

func (v *vectorResult) evidence() ToolResult {
	return ToolResult{
		Tool: v.ToolName, ToolUseID: v.ToolCallID, IsError: v.IsError, Index: -1,
		Content: func() (*ResultContent, error) {
			c := &ResultContent{Truncated: v.Truncated, StructuredLen: len(v.StructuredContent)}
			if v.Text != nil {
				c.Text, c.HasText = *v.Text, true
			}
			var err error
			if v.StructuredContent != nil {
				c.Structured, c.Unread = ParseResult(v.StructuredContent)
			}
			if v.JSON != nil {
				c.JSON, err = ParseResult(v.JSON)
			}
			return c, err
		},
		Size: func() (ResultSize, error) {
			return ResultSize{v.Size.Bytes, v.Size.Complete, v.Size.Basis}, nil
		},
	}
}

// answered gives call i a result, in the vectors' form.
func answered(i int, text string) func(*Evidence) {
	return func(ev *Evidence) {
		var v vectorResult
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			panic(err)
		}
		c := &ev.Calls[i]
		r := v.evidence()
		r.Tool, r.Seq, r.Index, r.Record = c.Tool, c.Seq, c.Index, c.Seq+1
		ev.Results = append(ev.Results, r)
	}
}

// damaged gives call i a result that cannot be read.
func damaged(i int) func(*Evidence) {
	return func(ev *Evidence) {
		answered(i, `{}`)(ev)
		r := &ev.Results[len(ev.Results)-1]
		r.Content = func() (*ResultContent, error) { return nil, errors.New("the record is damaged") }
		r.Size = func() (ResultSize, error) { return ResultSize{}, errors.New("the record is damaged") }
	}
}

func cancelledCall(i int) func(*Evidence) { return func(ev *Evidence) { ev.Calls[i].Cancelled = true } }

// one is evidence of one call with one result.
func one(call, result string) *Evidence { return evidence(nil, call).with(answered(0, result)) }

// two is evidence of a call to t and one to u, each with a result.
func two(first, second string) *Evidence {
	return evidence(nil, "t", "u").with(answered(0, first)).with(answered(1, second))
}

func text(s string) string {
	return `{"text":` + string(value.Quote(nil, s)) + `}`
}

// resultRows are the rows of the response kinds that read results.
func resultRows() map[string][]outcomeRow {
	partly := func(ev *Evidence, ch Channel) *Evidence { return ev.with(lose(ch, session.Partial)) }
	absent := func(ev *Evidence, ch Channel) *Evidence { return ev.with(lose(ch, session.Absent)) }
	const (
		has     = `{"type":"toolResultContains","needle":"Row 1"}`
		hasCase = `{"type":"toolResultContains","needle":"Row 1","caseSensitive":true}`
		hasT    = `{"type":"toolResultContains","needle":"Row 1","toolName":"t"}`

		matches  = `{"type":"toolResultMatches","patterns":["x"]}`
		matchesT = `{"type":"toolResultMatches","toolName":"t","patterns":["x"]}`
		noMatch  = `{"type":"toolResultMatches","patterns":["x"],"min":0,"max":0}`
		oneMatch = `{"type":"toolResultMatches","patterns":["x"],"max":1}`
		atKey    = `{"type":"toolResultMatches","patterns":["^x$"],"path":"/q"}`

		object = `{"type":"toolResultMatchesSchema","schema":{"type":"object"}}`
		email  = `{"type":"toolResultMatchesSchema","schema":{"type":"object","properties":{"m":{"format":"email"}}}}`

		size  = `{"type":"toolResultSizeUnder","maxBytes":100}`
		sizeT = `{"type":"toolResultSizeUnder","maxBytes":100,"toolName":"t"}`

		names  = `{"type":"toolErrorNamesInput"}`
		namesT = `{"type":"toolErrorNamesInput","toolName":"t"}`

		page  = `{"type":"fullPageHasContinuation"}`
		pageT = `{"type":"fullPageHasContinuation","toolName":"t"}`
	)
	sized := func(n int64, complete bool) string {
		return fmt.Sprintf(`{"text":"x","size":{"bytes":%d,"basis":"raw_result","complete":%v}}`, n, complete)
	}
	many := "[" + strings.Repeat("0,", maxResultValues) + "0]"
	deep := strings.Repeat("[", maxResultDepth+1) + strings.Repeat("]", maxResultDepth+1)

	in := tools("t", needsQ, "u", anyObject)
	failed := func(message string, calls ...string) *Evidence {
		return evidence(in, calls...).with(failure(0, ContentError, message))
	}
	loose := func(ev *Evidence) *Evidence { // an error of which only the tool is known
		for i := range ev.Errors {
			ev.Errors[i].Seq = 0
		}
		return ev
	}
	unknown := func(ev *Evidence) *Evidence { // the tool's entry is not on record
		ev.Lists = nil
		for i := range ev.Calls {
			ev.Calls[i].Entry = nil
		}
		return ev
	}
	noMessage := func(result string) *Evidence { return failed("", "t").with(answered(0, result)) }

	paged := func(arguments, result string) *Evidence { return one("t "+arguments, result) }
	byUse := func(uses [2]string, results ...[2]string) *Evidence {
		ev := evidence(nil, `t {"limit":2}`, `t {"limit":2}`)
		ev.Calls[0].ToolUseID, ev.Calls[1].ToolUseID = uses[0], uses[1]
		for _, r := range results {
			ev.with(answered(0, r[1]))
			got := &ev.Results[len(ev.Results)-1]
			got.Seq, got.ToolUseID = 0, r[0]
		}
		return ev
	}
	const said, unsaid = `{"json":{"items":[1,2],"next_cursor":null}}`, `{"json":{"items":[1,2]}}`

	return map[string][]outcomeRow{
		"toolResultContains": {
			{"in a text", has, one("t", text("a row 1 b")), Pass, "record 10"},
			{"case counts", hasCase, one("t", text("a row 1 b")), Fail, "none in 1 result"},
			{"case counts and holds", hasCase, one("t", text("a Row 1 b")), Pass, ""},
			{"lower case that is longer", `{"type":"toolResultContains","needle":"İX"}`, one("t", text("aİx")), Pass, ""},
			{"Kelvin is k", `{"type":"toolResultContains","needle":"k"}`, one("t", text("\u212a")), Pass, ""},
			{"in structuredContent, keys in the order sent", `{"type":"toolResultContains","needle":"{\"b\":1,\"a\":\"x\"}"}`, one("t", `{"structuredContent":{ "b": 1.0, "a": "x" }}`), Pass, ""},
			{"not canonical", `{"type":"toolResultContains","needle":"{\"a\":\"x\",\"b\":1}"}`, one("t", `{"structuredContent":{"b":1,"a":"x"}}`), Fail, ""},
			{"index keys come first", `{"type":"toolResultContains","needle":"{\"1\":0,\"b\":0}"}`, one("t", `{"structuredContent":{"b":0,"1":0}}`), Pass, ""},
			{"exact decimals", `{"type":"toolResultContains","needle":"9007199254740993"}`, one("t", `{"structuredContent":[9007199254740993]}`), Pass, ""},
			{"in json", has, one("t", `{"json":"row 1"}`), Pass, ""},
			{"over the line between text and structuredContent", `{"type":"toolResultContains","needle":"end\n[1]\n2"}`, one("t", `{"text":"the end","structuredContent":[1],"json":2}`), Pass, ""},
			{"no line where a part is missing", `{"type":"toolResultContains","needle":"\n[1]"}`, one("t", `{"structuredContent":[1]}`), Fail, ""},
			{"in an error's text", has, one("t", `{"text":"row 1","isError":true}`), Pass, ""},
			{"in another tool's result", hasT, two(text("x"), text("row 1")), Fail, ""},
			{"in the second of two", has, two(text("x"), text("row 1")), Pass, "record 20"},
			{"an empty result", has, one("t", `{}`), Fail, ""},
			{"no call", has, evidence(nil), Fail, "no call was answered"},
			{"no call to the tool", hasT, evidence(nil, "u").with(answered(0, text("row 1"))), Fail, ""},
			{"no call, calls partial", has, partly(evidence(nil), ToolCalls), Error, "partial"},
			{"no call, results partial", has, partly(evidence(nil), ToolResults), Error, "results are partial"},
			{"a call without a result", has, evidence(nil, "t"), Error, "1 call without a result"},
			{"a call without a result beside one", has, evidence(nil, "t", "u").with(answered(0, text("x"))), Fail, ""},
			{"only cancelled", has, evidence(nil, "t").with(cancelledCall(0)), Fail, "no call was answered"},
			{"only host-only", has, evidence(nil, "t").with(hostOnly(0)), Fail, "no call was answered"},
			{"partial, found", has, partly(one("t", text("row 1")), ToolResults), Pass, ""},
			{"partial, not found", has, partly(one("t", text("x")), ToolResults), Error, "results are partial"},
			{"calls partial, not found", has, partly(one("t", text("x")), ToolCalls), Error, "partial"},
			{"cut, found", has, one("t", `{"text":"row 1 and","truncated":true}`), Pass, ""},
			{"cut, not found", has, one("t", `{"text":"row","truncated":true}`), Error, "cut"},
			{"cut, found in another", has, two(`{"text":"row","truncated":true}`, text("row 1")), Pass, ""},
			{"not readable", has, evidence(nil, "t").with(damaged(0)), Error, "damaged"},
			{"not readable, found in another", has, evidence(nil, "t", "u").with(damaged(0)).with(answered(1, text("row 1"))), Pass, ""},
			{"too many values, found in the text", has, one("t", `{"text":"row 1","structuredContent":`+many+`}`), Pass, ""},
			{"too deep", has, one("t", `{"structuredContent":`+deep+`}`), Error, "nested deeper"},
			{"an exponent beyond bounds", has, one("t", `{"structuredContent":[1e9999999999999]}`), Error, "exponent"},
			{"half a pair is no character", `{"type":"toolResultContains","needle":"\ud83d"}`, one("t", text("😀")), Fail, ""},
			{"empty needle", `{"type":"toolResultContains","needle":""}`, one("t", text("x")), Fail, "needle is empty"},
			{"no needle", `{"type":"toolResultContains"}`, one("t", text("x")), Fail, "needle is empty"},
			{"a needle that is a pattern", `{"type":"toolResultContains","needle":"r.w 1"}`, one("t", text("row 1")), Fail, ""},
		},
		"toolResultMatches": {
			{"in a text", matches, one("t", text("axb")), Pass, "record 10"},
			{"none", matches, one("t", text("a")), Fail, "none of 1 result"},
			{"structuredContent is canonical", `{"type":"toolResultMatches","patterns":["^\\{\"a\":1,\"b\":2\\}$"]}`, one("t", `{"structuredContent":{"b":2.0,"a":1}}`), Pass, ""},
			{"text, structuredContent and json on lines", `{"type":"toolResultMatches","patterns":["^a\n\\[1\\]\n2$"]}`, one("t", `{"text":"a","structuredContent":[1],"json":2}`), Pass, ""},
			{"all patterns in one result", `{"type":"toolResultMatches","patterns":["x","y"]}`, two(text("x"), text("y")), Fail, ""},
			{"an error's text", matches, one("t", `{"text":"x","isError":true}`), Pass, ""},
			{"another tool's", matchesT, two(text("a"), text("x")), Fail, ""},
			{"at a key", atKey, one("t", `{"text":"","structuredContent":{"q":"x"}}`), Pass, ""},
			{"at a key of json", atKey, one("t", `{"json":{"q":"x"}}`), Pass, ""},
			{"structuredContent hides json", atKey, one("t", `{"structuredContent":{},"json":{"q":"x"}}`), Fail, ""},
			{"structuredContent null hides json", atKey, one("t", `{"structuredContent":null,"json":{"q":"x"}}`), Fail, ""},
			{"the key is in the text only", atKey, one("t", text(`{"q":"x"}`)), Fail, ""},
			{"at a key of a list", `{"type":"toolResultMatches","patterns":["x"],"path":"/0"}`, one("t", `{"structuredContent":["x"]}`), Fail, ""},
			{"at a key, cut", atKey, one("t", `{"text":"","truncated":true,"structuredContent":{"q":"x"}}`), Pass, ""},
			{"cut", matches, one("t", `{"text":"x","truncated":true}`), Error, "cut"},
			{"cut beside a match", matches, two(`{"text":"","truncated":true}`, text("x")), Pass, ""},
			{"cut beside a match, at most one", oneMatch, two(`{"text":"","truncated":true}`, text("x")), Error, "cut"},
			{"one unit too long", matches, one("t", text(strings.Repeat("a", maxSubject+1))), Error, "over 100000"},
			{"the longest", matches, one("t", text(strings.Repeat("a", maxSubject))), Fail, ""},
			{"too long with structuredContent", matches, one("t", `{"text":"`+strings.Repeat("a", maxSubject-2)+`","structuredContent":"x"}`), Error, "over 100000"},
			{"not readable", matches, evidence(nil, "t").with(damaged(0)), Error, "damaged"},
			{"too deep", matches, one("t", `{"text":"x","structuredContent":`+deep+`}`), Error, "nested deeper"},
			{"too many", noMatch, one("t", text("x")), Fail, ""},
			{"too many, partial", noMatch, partly(one("t", text("x")), ToolResults), Fail, ""},
			{"none may", noMatch, one("t", text("a")), Pass, ""},
			{"none may, results partial", noMatch, partly(one("t", text("a")), ToolResults), Error, "not captured"},
			{"none may, calls partial", noMatch, partly(one("t", text("a")), ToolCalls), Error, "partial"},
			{"enough, results partial", matches, partly(one("t", text("x")), ToolResults), Pass, ""},
			{"enough, at most one, results partial", oneMatch, partly(one("t", text("x")), ToolResults), Error, ""},
			{"too few, results partial", matches, partly(one("t", text("a")), ToolResults), Error, ""},
			{"no call", matches, evidence(nil), Fail, "no result to search"},
			{"no call, none needed", noMatch, evidence(nil), Pass, ""},
			{"no call, none needed, calls partial", noMatch, partly(evidence(nil), ToolCalls), Error, ""},
			{"no call, calls partial", matches, partly(evidence(nil), ToolCalls), Error, "partial"},
			{"a call without a result", noMatch, evidence(nil, "t"), Error, "1 call without a result"},
			{"no result, results absent", noMatch, absent(evidence(nil), ToolResults), Error, "absent"},
			{"a pattern outside RE2", `{"type":"toolResultMatches","patterns":["(?=x)"]}`, one("t", text("x")), Error, "patterns[0]"},
		},
		"toolResultMatchesSchema": {
			{"structuredContent", object, one("t", `{"text":"[]","structuredContent":{},"json":[]}`), Pass, "no violation"},
			{"json", object, one("t", `{"text":"[]","json":{}}`), Pass, ""},
			{"the text as JSON", object, one("t", text(" {\"a\":1}\n")), Pass, ""},
			{"another type", object, one("t", `{"structuredContent":[]}`), Fail, "wrong-type at the result"},
			{"structuredContent null is one", object, one("t", `{"text":"{}","structuredContent":null}`), Fail, "wrong-type"},
			{"no JSON", object, one("t", text("row 1")), Fail, "no JSON in it"},
			{"a blank text", object, one("t", text(" \ufeff\n")), Fail, "no JSON in it"},
			{"an empty result", object, one("t", `{}`), Fail, "no JSON in it"},
			{"a byte order mark before it", object, one("t", text("\ufeff{}")), Fail, "no JSON in it"},
			{"two values", object, one("t", text("{} {}")), Fail, "no JSON in it"},
			{"an error's too", object, one("t", `{"text":"boom","isError":true}`), Fail, "no JSON in it"},
			{"another tool's", `{"type":"toolResultMatchesSchema","schema":{"type":"object"},"toolName":"t"}`, two(text("{}"), text("[]")), Pass, ""},
			{"schema true", `{"type":"toolResultMatchesSchema","schema":true}`, one("t", text("1")), Pass, ""},
			{"schema false", `{"type":"toolResultMatchesSchema","schema":false}`, one("t", text("1")), Fail, "not allowed"},
			{"schema null", `{"type":"toolResultMatchesSchema","schema":null}`, one("t", text("1")), Error, "expected an object or a boolean"},
			{"no schema", `{"type":"toolResultMatchesSchema"}`, one("t", text("1")), Error, "schema is missing"},
			{"another dialect", `{"type":"toolResultMatchesSchema","schema":{"$schema":"http://json-schema.org/draft-04/schema#"}}`, one("t", text("{}")), Error, "not supported"},
			{"draft-07", `{"type":"toolResultMatchesSchema","schema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}}`, one("t", text("{}")), Pass, ""},
			{"a reference to a file", `{"type":"toolResultMatchesSchema","schema":{"$ref":"file:///a"}}`, one("t", text("{}")), Error, "never read"},
			{"a reference that dangles", `{"type":"toolResultMatchesSchema","schema":{"$ref":"#/$defs/a"}}`, one("t", text("{}")), Error, ""},
			{"an unusable schema and no call", `{"type":"toolResultMatchesSchema","schema":1}`, evidence(nil), Fail, "no call"},
			{"format is noted", email, one("t", text(`{"m":"x"}`)), Pass, "format is not asserted"},
			{"no call", object, evidence(nil), Fail, "no call was answered"},
			{"no call, calls partial", object, partly(evidence(nil), ToolCalls), Error, "partial"},
			{"no result, results partial", object, partly(evidence(nil), ToolResults), Error, "results are partial"},
			{"a call without a result", object, evidence(nil, "t"), Error, "without a result"},
			{"partial, all fit", object, partly(one("t", text("{}")), ToolResults), Error, "results are partial"},
			{"partial, a violation in sight", object, partly(one("t", text("[]")), ToolResults), Fail, "wrong-type"},
			{"calls partial, all fit", object, partly(one("t", text("{}")), ToolCalls), Error, "partial"},
			{"cut", object, one("t", `{"text":"{\"a\":","truncated":true}`), Error, "cut"},
			{"cut after a violation", object, two(text("[]"), `{"text":"{","truncated":true}`), Fail, "wrong-type"},
			{"cut before a violation", object, two(`{"text":"{","truncated":true}`, text("[]")), Error, "cut"},
			{"cut, with structuredContent that fits", object, one("t", `{"text":"x","truncated":true,"structuredContent":{}}`), Error, "cut"},
			{"cut, with structuredContent that does not", object, one("t", `{"text":"x","truncated":true,"structuredContent":[]}`), Fail, ""},
			{"not readable", object, evidence(nil, "t").with(damaged(0)), Error, "damaged"},
			{"not readable beside a violation", object, evidence(nil, "t", "u").with(damaged(0)).with(answered(1, text("[]"))), Fail, ""},
			{"a text of too many values", object, one("t", text(many)), Error, "more than 500000 values"},
			{"a text that nests too deep", object, one("t", text(deep)), Error, "nested deeper"},
			{"a number beyond bounds", `{"type":"toolResultMatchesSchema","schema":{"maximum":1}}`, one("t", text("1e1000001")), Error, "exponent"},
			{"an exponent beyond bounds", object, one("t", text("1e9999999999999")), Error, "exponent"},
		},
		"toolResultSizeUnder": {
			{"under", size, one("t", sized(99, true)), Pass, "99 bytes (raw_result)"},
			{"exactly the limit", size, one("t", sized(100, true)), Fail, "not under 100"},
			{"the largest counts", size, two(sized(1, true), sized(200, true)), Fail, "record 20"},
			{"another tool's", sizeT, two(sized(1, true), sized(200, true)), Pass, ""},
			{"cut, measured before", size, one("t", `{"text":"x","truncated":true,"size":{"bytes":9,"basis":"raw_result","complete":true}}`), Pass, ""},
			{"not measured whole", size, one("t", sized(1, false)), Error, "not measured whole"},
			{"not measured whole beside a large one", size, two(sized(1, false), sized(200, true)), Error, "not measured whole"},
			{"not readable", size, evidence(nil, "t").with(damaged(0)), Error, "damaged"},
			{"no call", size, evidence(nil), Pass, "no call was answered"},
			{"only cancelled", size, evidence(nil, "t").with(cancelledCall(0)), Pass, ""},
			{"no call to the tool", sizeT, evidence(nil, "u"), Pass, ""},
			{"no call, calls partial", size, partly(evidence(nil), ToolCalls), Error, "partial"},
			{"no call, results partial", size, partly(evidence(nil), ToolResults), Error, "partial"},
			{"a call without a result", size, evidence(nil, "t"), Error, "without a result"},
			{"a call without a result beside one", size, evidence(nil, "t", "u").with(answered(0, sized(1, true))), Pass, ""},
			{"partial, under", size, partly(one("t", sized(1, true)), ToolResults), Error, "results are partial"},
			{"partial, over", size, partly(one("t", sized(200, true)), ToolResults), Fail, ""},
			{"maxBytes 0", `{"type":"toolResultSizeUnder","maxBytes":0}`, one("t", sized(1, true)), Error, "maxBytes"},
		},
		"toolErrorNamesInput": {
			{"no error", names, evidence(in, "t"), Pass, "no error"},
			{"a property", names, failed("Bad Q given", "t"), Pass, "1 error, each names an input"},
			{"a value", names, failed("no such ref ALPHA-9", `t {"ref":"alpha-9"}`), Pass, ""},
			{"a number of three digits", names, failed("no order 401", `u {"order":401.0}`), Pass, ""},
			{"a number of two digits", names, failed("error 401", `u {"order":40}`), Fail, "no input is named"},
			{"a value of two characters", names, failed("http 40x", `u {"ref":"40"}`), Fail, ""},
			{"two units are one character", names, failed("no 😀", `u {"ref":"😀"}`), Fail, ""},
			{"a nested value", names, failed("no alpha", `u {"ref":["alpha"]}`), Fail, ""},
			{"neither", names, failed("Rate limited.", `t {"ref":"alpha"}`), Fail, "Rate limited"},
			{"one of two", names, failed("bad q", "t", "u").with(failure(1, ContentError, "boom")), Fail, "boom"},
			{"no message", names, failed("", "t"), Fail, ""},
			{"no text, structuredContent names it", names, noMessage(`{"structuredContent":{"field":"q"},"isError":true}`), Pass, ""},
			{"no text, structuredContent names nothing", names, noMessage(`{"structuredContent":{"code":5},"isError":true}`), Fail, ""},
			{"no text, structuredContent not readable", names, noMessage(`{"structuredContent":` + deep + `,"isError":true}`), Error, "nested deeper"},
			{"no text, result not readable", names, failed("", "t").with(damaged(0)), Error, "damaged"},
			{"a long message that was cut", names, failed(strings.Repeat("m", maxMessage-1), "t"), Error, "as is on record"},
			{"a long message, its end in the result", names, failed(strings.Repeat("m", maxMessage), "t").with(answered(0, `{"text":"`+strings.Repeat("m", maxMessage)+` q","isError":true}`)), Pass, ""},
			{"a long message, named nowhere", names, failed(strings.Repeat("m", maxMessage), "t").with(answered(0, `{"text":"`+strings.Repeat("m", maxMessage)+`","isError":true}`)), Fail, ""},
			{"a protocol error", names, evidence(in, "t").with(failure(0, ProtocolError, "missing q")), Pass, ""},
			{"another tool's", namesT, evidence(in, "u").with(failure(0, ContentError, "boom")), Pass, "no error"},
			{"another call's value", names, failed("alpha-9 is gone", `t {"ref":"beta-7"}`, `t {"ref":"alpha-9"}`), Fail, ""},
			{"which call failed is not known", names, loose(failed("alpha-9 is gone", `t {"ref":"beta-7"}`, `t {"ref":"alpha-9"}`)), Error, "which call failed"},
			{"which call failed is not known, no value", names, loose(failed("gone", `t {"ref":"beta-7"}`, `t {"ref":"alpha-9"}`)), Fail, ""},
			{"which call failed is not known, no value, calls partial", names, partly(loose(failed("gone", `t {"ref":"beta-7"}`, `t {"ref":"alpha-9"}`)), ToolCalls), Error, "partial"},
			{"the only call of the tool", names, loose(failed("alpha-9 is gone", `t {"ref":"alpha-9"}`, "u")), Pass, ""},
			{"the only call of the tool on record", names, partly(loose(failed("alpha-9 is gone", `t {"ref":"alpha-9"}`, "u")), ToolCalls), Error, ""},
			{"a fail beside what is not known", names, loose(failed("alpha-9 is gone", `t {"ref":"b"}`, `t {"ref":"alpha-9"}`)).with(failure(0, ContentError, "boom")), Fail, "boom"},
			{"arguments not readable", names, failed("gone", "t").with(unreadable(0)), Error, "damaged"},
			{"arguments not readable, a property", names, failed("bad q", "t").with(unreadable(0)), Pass, ""},
			{"inventory partial, its entry known", names, partly(failed("bad q", "t"), ToolInventory), Pass, ""},
			{"inventory partial, entry unknown", names, partly(unknown(failed("bad q", "t")), ToolInventory), Error, "tool inventory is partial"},
			{"inventory complete, tool not in it", names, unknown(failed("bad value", `t {"ref":"value"}`)), Pass, ""},
			{"inventory absent and no error", names, absent(evidence(nil, "t"), ToolInventory), Pass, ""},
			{"a schema that cannot be read", names, evidence(tools("t", "{"), "t").with(failure(0, ContentError, "bad q")), Error, "inputSchema"},
			{"properties that are no object", names, evidence(tools("t", `{"properties":["bad"]}`), "t").with(failure(0, ContentError, "bad")), Fail, ""},
			{"a property without a name", names, evidence(tools("t", `{"properties":{"":{}}}`), "t").with(failure(0, ContentError, "bad")), Fail, ""},
			{"errors partial, one that names nothing", names, partly(failed("boom", "t"), ToolErrors), Fail, ""},
			{"errors partial, none seen", names, partly(evidence(in, "t"), ToolErrors), Error, "partial"},
			{"calls partial, none seen", names, partly(evidence(in, "t"), ToolCalls), Error, "partial"},
			{"whether a call failed is not known", names, evidence(in, "t").with(func(ev *Evidence) {
				ev.Undecided = []Undecided{{"t", 10, -1, "isError of its result is no boolean", nil}}
			}), Error, "no boolean"},
			{"whether another tool's call failed is not known", namesT, evidence(in, "u").with(func(ev *Evidence) {
				ev.Undecided = []Undecided{{"u", 10, -1, "w", nil}}
			}), Pass, ""},
		},
		"fullPageHasContinuation": {
			{"says so", page, paged(`{"limit":2}`, said), Pass, "1 full page"},
			{"does not say so", page, paged(`{"limit":2}`, unsaid), Fail, "2 entries for limit 2"},
			{"hasMore false is an answer", page, paged(`{"limit":2}`, `{"json":{"items":[1,2],"hasMore":false}}`), Pass, ""},
			{"a key below the top is none", page, paged(`{"limit":2}`, `{"json":{"items":[1,2],"meta":{"nextCursor":"x"}}}`), Fail, ""},
			{"not full", page, paged(`{"limit":3}`, unsaid), Pass, "no full page"},
			{"more than full", page, paged(`{"limit":1}`, unsaid), Pass, "no full page"},
			{"a bare list", page, paged(`{"limit":2}`, text("[1,2]")), Fail, ""},
			{"the longest list counts", page, paged(`{"limit":2}`, `{"structuredContent":{"a":[1],"b":[1,2]}}`), Fail, ""},
			{"structuredContent before the text", page, paged(`{"limit":2}`, `{"text":"[1,2]","structuredContent":{"items":[1]}}`), Pass, ""},
			{"no list", page, paged(`{"limit":2}`, text(`{"n":2}`)), Pass, ""},
			{"no JSON", page, paged(`{"limit":2}`, text("two rows")), Pass, ""},
			{"no limit", page, paged(`{"n":2}`, unsaid), Pass, "no full page"},
			{"a limit that is a text", page, paged(`{"limit":"2"}`, unsaid), Pass, ""},
			{"a limit of 0 and then another", page, paged(`{"first":2,"limit":0}`, unsaid), Fail, "first 2"},
			{"a negative limit and then another", page, paged(`{"limit":-99999999999999999999,"top":2}`, unsaid), Fail, "top 2"},
			{"2.0 is 2", page, paged(`{"limit":2.0}`, unsaid), Fail, ""},
			{"2.5 is none", page, paged(`{"limit":2.5}`, unsaid), Pass, ""},
			{"a limit beyond 64 bits", page, paged(`{"limit":99999999999999999999}`, text("{}")), Pass, ""},
			{"the first key of the list, not of the arguments", page, paged(`{"top":2,"page_size":3}`, unsaid), Pass, ""},
			{"another tool's", pageT, evidence(nil, `u {"limit":2}`).with(answered(0, unsaid)), Pass, ""},
			{"no call", page, evidence(nil), Pass, ""},
			{"no result", page, evidence(nil, `t {"limit":2}`), Pass, ""},
			{"results partial, a violation in sight", page, partly(paged(`{"limit":2}`, unsaid), ToolResults), Error, "partial"},
			{"results absent and no call", page, absent(evidence(nil), ToolResults), Error, "absent"},
			{"calls partial, says so", page, partly(paged(`{"limit":2}`, said), ToolCalls), Error, "partial"},
			{"calls partial, does not", page, partly(paged(`{"limit":2}`, unsaid), ToolCalls), Fail, ""},
			{"cut", page, paged(`{"limit":2}`, `{"text":"[1,","truncated":true}`), Error, "cut"},
			{"not readable", page, evidence(nil, `t {"limit":2}`).with(damaged(0)), Error, "damaged"},
			{"not readable without a limit", page, evidence(nil, `t {}`).with(damaged(0)), Pass, ""},
			{"not readable beside a violation", page, evidence(nil, `t {"limit":2}`, `t {"limit":2}`).with(damaged(0)).with(answered(1, unsaid)), Fail, ""},
			{"too deep", page, paged(`{"limit":2}`, text(deep)), Error, "nested deeper"},
			{"arguments not readable", page, paged(`{"limit":2}`, unsaid).with(unreadable(0)), Error, "damaged"},

			{"without ids: in the order of the tool's results", page, byUse([2]string{}, [2]string{"", said}, [2]string{"", unsaid}), Fail, ""},
			{"a result is used up though it is no page", page, byUse([2]string{}, [2]string{"", text("x")}, [2]string{"", said}), Pass, "1 full page"},
			{"by id, in another order", page, byUse([2]string{"c1", "c2"}, [2]string{"c2", said}, [2]string{"c1", said}), Pass, "2 full pages"},
			{"every result has an id and none is the call's", page, byUse([2]string{"c1", "c2"}, [2]string{"c1", said}), Pass, "1 full page"},
			{"some result has no id", page, byUse([2]string{"c1", "c2"}, [2]string{"c1", said}, [2]string{"", unsaid}), Fail, ""},
			{"a call that the host kept takes none", page, byUse([2]string{}, [2]string{"", unsaid}).with(hostOnly(0)).with(func(ev *Evidence) { ev.Calls[1].Arguments = nil }), Pass, ""},
		},
	}
}

// sample is a check with evidence that passes and evidence that fails.
type sample = struct {
	check      *Check
	pass, fail func() *Evidence
}

func resultSamples(t testing.TB) map[string]sample {
	is := func(make func() *Evidence) func() *Evidence { return make }
	with := func(result string) func() *Evidence { return is(func() *Evidence { return one("t", result) }) }
	out := map[string]sample{
		"toolResultContains":      {parsed(t, `{"type":"toolResultContains","needle":"x"}`), with(text("x")), with(text("y"))},
		"toolResultMatches":       {parsed(t, `{"type":"toolResultMatches","patterns":["x"],"max":9}`), with(text("x")), with(text("y"))},
		"toolResultMatchesSchema": {parsed(t, `{"type":"toolResultMatchesSchema","schema":{"type":"object"}}`), with(text("{}")), with(text("[]"))},
		"toolResultSizeUnder": {parsed(t, `{"type":"toolResultSizeUnder","maxBytes":10}`),
			with(`{"size":{"bytes":9,"complete":true}}`), with(`{"size":{"bytes":10,"complete":true}}`)},
		"toolErrorNamesInput": {parsed(t, `{"type":"toolErrorNamesInput"}`),
			func() *Evidence { return evidence(tools("t", needsQ), "t").with(failure(0, ContentError, "bad q")) },
			func() *Evidence { return evidence(tools("t", needsQ), "t").with(failure(0, ContentError, "boom")) }},
		"fullPageHasContinuation": {parsed(t, `{"type":"fullPageHasContinuation"}`),
			func() *Evidence { return one(`t {"limit":1}`, `{"json":{"items":[1],"cursor":null}}`) },
			func() *Evidence { return one(`t {"limit":1}`, `{"json":[1]}`) }},
	}
	for kind, s := range talkSamples(t) {
		out[kind] = s
	}
	return out
}

// The columns of the corner table for the kinds that read results, errors' texts
// or the conversation (grading.md 1.12 with 0.2.6).
func TestCornersOfResultsAndTalk(t *testing.T) {
	for _, c := range []struct {
		check string
		a, b  Result
	}{
		{`{"type":"toolErrorNamesInput"}`, Pass, Pass},
		{`{"type":"toolResultSizeUnder","maxBytes":5}`, Pass, Error},
		{`{"type":"fullPageHasContinuation"}`, Pass, Error},
		{`{"type":"toolResultContains","needle":"x"}`, Fail, Error},
		{`{"type":"toolResultMatchesSchema","schema":{}}`, Fail, Error},
		{`{"type":"toolResultMatches","patterns":["x"]}`, Fail, Error},
		{`{"type":"noEndingQuestion"}`, Pass, Error},
		{`{"type":"responseContains","needle":"x"}`, Fail, Error},
		{`{"type":"responseMatches","pattern":"x"}`, Fail, Error},
		{`{"type":"finalAssistantMessageNonEmpty"}`, Fail, Error},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":0.9}`, Fail, Error},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":1}`, Pass, Error},
		{`{"type":"tokenBudgetUnder","tokens":1}`, Pass, Error},
		{`{"type":"turnCountUnder","turns":2}`, Pass, Error},
		{`{"type":"widgetRendered"}`, Fail, Error},
		{`{"type":"widgetRenderLatencyUnder","ms":5}`, Fail, Error},
		{`{"type":"widgetNoConsoleErrors"}`, Fail, Error},
	} {
		a := evidence(tools("t", anyObject))
		a.Conversation = &Conversation{
			FinalTextState: session.Complete, TurnsState: session.Complete, UsageState: session.Complete, RenderState: session.Complete,
			HasFinalText: true, TurnCount: 1, TurnCountKnown: true, Usage: &Usage{},
		}
		b := evidence(nil, "t {}").with(func(ev *Evidence) {
			ev.Capture = session.Capture{ToolCalls: session.Complete, ToolErrors: session.Complete}
		})
		x := parsed(t, c.check)
		if got := Evaluate(x, a); got.Result != c.a {
			t.Errorf("%s on A: %s (%s), want %s", c.check, got.Result, got.Reason, c.a)
		}
		if got := Evaluate(x, b); got.Result != c.b {
			t.Errorf("%s on B: %s (%s), want %s", c.check, got.Result, got.Reason, c.b)
		}
	}
}

// Without a connection there is no result to judge: a pass becomes an error, a
// fail stays.
func TestNoResultCouldCome(t *testing.T) {
	for _, c := range []struct {
		check  string
		free   Result
		result Result
	}{
		{`{"type":"toolResultSizeUnder","maxBytes":5}`, Pass, Error},
		{`{"type":"toolErrorNamesInput"}`, Pass, Error},
		{`{"type":"fullPageHasContinuation"}`, Pass, Error},
		{`{"type":"toolResultMatches","patterns":["x"],"min":0,"max":0}`, Pass, Error},
		{`{"type":"toolResultContains","needle":"x"}`, Fail, Fail},
		{`{"type":"toolResultMatchesSchema","schema":{}}`, Fail, Fail},
	} {
		ev := evidence(tools("t", anyObject))
		x := parsed(t, c.check)
		if got := Evaluate(x, ev); got.Result != c.free {
			t.Errorf("%s free: %s (%s), want %s", c.check, got.Result, got.Reason, c.free)
		}
		ev.NoCallBecause = "connection failed"
		if got := Evaluate(x, ev); got.Result != c.result {
			t.Errorf("%s: %s (%s), want %s", c.check, got.Result, got.Reason, c.result)
		}
	}
}

// A check reads each result once.
func TestResultsAreReadOnce(t *testing.T) {
	for kind, s := range resultSamples(t) {
		for _, make := range []func() *Evidence{s.pass, s.fail} {
			ev := make()
			reads := 0
			for i := range ev.Results {
				content, size := ev.Results[i].Content, ev.Results[i].Size
				ev.Results[i].Content = func() (*ResultContent, error) { reads++; return content() }
				ev.Results[i].Size = func() (ResultSize, error) { reads++; return size() }
			}
			Evaluate(s.check, ev)
			if reads > len(ev.Results) {
				t.Errorf("%s read %d results %d times", kind, len(ev.Results), reads)
			}
		}
	}
}

// What a reason shows of a long text takes time by what it shows.
func TestExcerpt(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	got := excerpt(long)
	if !strings.HasPrefix(got, `"ää`) || !strings.HasSuffix(got, " (of 2097152 bytes)") || len(got) > 3*maxShown {
		t.Errorf("%.50q … %q", got, got[max(0, len(got)-60):])
	}
	for _, n := range []int{0, 1, 199, 200, 201, 1599, 1600, 1601, 1602} { // odd ends fall inside a character
		if got := excerpt("x" + strings.Repeat("ä", n)); strings.Contains(got, `\x`) {
			t.Errorf("%d: cut inside a character: %s", n, got)
		}
	}
	if got := excerpt(strings.Repeat("x", 180) + " password=hunter22hunter22hunter22hunter22" + long); strings.Contains(got, "hunter") {
		t.Errorf("a secret at the cut is shown: %s", got)
	}
}

// Texts and values from strangers never break a kind of results.
func FuzzResults(f *testing.F) {
	f.Add("[1,2]", `{"a":[1,2]}`, `{"limit":2}`, "bad q")
	f.Add(`{"a":1e400}`, `"\ud83d"`, `{"first":1e2,"q":"abc"}`, "")
	f.Fuzz(func(t *testing.T, body, structured, arguments, message string) {
		ev := evidence(tools("t", needsQ), "t "+arguments, "t").with(failure(0, ContentError, message))
		ev.Results = []ToolResult{{Tool: "t", Seq: 10, Index: -1,
			Content: func() (*ResultContent, error) {
				c := &ResultContent{Text: body, HasText: true, StructuredLen: len(structured)}
				c.Structured, c.Unread = ParseResult([]byte(structured))
				return c, nil
			},
			Size: func() (ResultSize, error) { return ResultSize{}, nil },
		}}
		ev.Conversation = &Conversation{FinalTextState: session.Complete, FinalText: body, HasFinalText: true}
		for kind, s := range resultSamples(t) {
			whole := Evaluate(s.check, ev)
			if strings.HasPrefix(whole.Reason, "the evaluator broke") {
				t.Fatalf("%s: %s", kind, whole.Reason)
			}
			mustNotPass(t, kind, s.check, ev)
		}
	})
}
