package predicate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// entries makes a list of tools of their JSON text.
func toolList(texts ...string) *catalog.List {
	l := &catalog.List{State: catalog.Complete}
	for i, text := range texts {
		var v vectorTool
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			panic(err)
		}
		e := v.entry()
		e.HasName = v.Name != ""
		e.Seq = int64(i + 1)
		l.Tools = append(l.Tools, e)
	}
	return l
}

// declared makes evidence of what one server lists.
func declared(texts ...string) *Evidence {
	ev := evidence(nil)
	ev.Declarations = []Declaration{}
	l := toolList(texts...)
	for i := range l.Tools {
		ev.Declarations = append(ev.Declarations, Declaration{"one", &l.Tools[i]})
	}
	return ev
}

// parsed makes a check of its JSON text, without the bounds of a suite: what an
// evaluator must survive.
func parsed(t testing.TB, text string) *Check {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Options{MaxDepth: 50})
	if err != nil {
		t.Fatal(err)
	}
	c := &Check{Role: Gating}
	for _, m := range v.Obj {
		switch m.Key {
		case "type":
			c.Info, c.Kind, _ = Lookup(m.Value.Str)
		case "role", "severity":
		default:
			c.Fields = append(c.Fields, m)
		}
	}
	if c.Kind == nil {
		t.Fatalf("%s is not built", text)
	}
	return c
}

func hostOnly(i int) func(*Evidence) {
	return func(ev *Evidence) { ev.Calls[i].HostOnly, ev.Calls[i].Seq = true, 0 }
}

func unreadable(i int) func(*Evidence) {
	return func(ev *Evidence) {
		ev.Calls[i].Arguments = func() ([]byte, error) { return nil, errors.New("the record is damaged") }
	}
}

const (
	described = `{"name":"search","description":"Search the workspace for documents"}`
	readOnly  = `{"name":"list","annotations":{"readOnlyHint":true}}`
	deletes   = `{"name":"delete","annotations":{"destructiveHint":true}}`
	bare      = `{"name":"bare"}`
)

// outcomeRow is evidence with what one check says of it.
type outcomeRow struct {
	name, check string
	ev          *Evidence
	want        Result
	reason      string // part of it
}

// outcomeRows holds a named row for every outcome that a kind can reach, and for
// every rule that decides between them.
func outcomeRows() map[string][]outcomeRow {
	rows := callRows()
	maps.Copy(rows, resultRows())
	maps.Copy(rows, talkRows())
	return rows
}

// callRows are those of the kinds of discovery, selection and call, and of the two
// of response that read no result.
func callRows() map[string][]outcomeRow {
	unreadArguments := func(calls ...string) *Evidence {
		return evidence(nil, calls...).with(unreadable(0))
	}
	partly := func(ev *Evidence, ch Channel) *Evidence { return ev.with(lose(ch, session.Partial)) }
	const (
		descriptions = `{"type":"toolDescriptionsPresent"}`
		annotations  = `{"type":"toolAnnotationsPresent"}`
		bothHints    = `{"type":"toolAnnotationsPresent","require":["readOnlyHint","destructiveHint"]}`
		unique       = `{"type":"toolNamesUnique"}`
		exposed      = `{"type":"noDeprecatedToolExposed"}`
		inputs       = `{"type":"toolInputSchemasWellFormed"}`
		outputs      = `{"type":"toolOutputSchemasPresent"}`

		with       = `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":"x"}}}`
		withExact  = `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":"x"},"argumentMatching":"exact"}}`
		withIgnore = `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":"x"},"argumentMatching":"ignore"}}`
		withTwice  = `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":"x"}},"minCount":2}`
		called     = `{"type":"toolCalledAtLeastOnce","toolName":"t"}`
		never      = `{"type":"toolNeverCalled","toolName":"t"}`
		only       = `{"type":"onlyToolsCalled","toolNames":["t","u"]}`
		none       = `{"type":"onlyToolsCalled","toolNames":[]}`
		first      = `{"type":"firstToolWas","toolName":"t"}`
		under2     = `{"type":"toolCallCountUnder","count":2}`
		under2T    = `{"type":"toolCallCountUnder","count":2,"toolName":"t"}`
		before     = `{"type":"toolCalledBefore","toolName":"t","beforeToolName":"u"}`
		deprecatd  = `{"type":"noDeprecatedToolCalled"}`
		destruct   = `{"type":"noDestructiveToolCalled"}`

		schema    = `{"type":"argumentsMatchToolSchema"}`
		repeat    = `{"type":"noRepeatedIdenticalCall"}`
		repeatT   = `{"type":"noRepeatedIdenticalCall","toolName":"t"}`
		input     = `{"type":"toolInputMatches","toolName":"t","patterns":["x"]}`
		inputNone = `{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":0,"max":0}`
		inputOne  = `{"type":"toolInputMatches","toolName":"t","patterns":["x"],"max":1}`
		inputBoth = `{"type":"toolInputMatches","toolName":"t","patterns":["x","y"]}`
		inputKey  = `{"type":"toolInputMatches","toolName":"t","patterns":["^x$"],"path":"/q"}`

		noErrors = `{"type":"noToolErrors"}`
		latency  = `{"type":"toolLatencyUnder","ms":100}`
	)
	long := `t {"q":"` + strings.Repeat("x", maxSubject) + `"}`
	many := `t {"q":[` + strings.Repeat("0,", maxSubject) + `0],"x":1}`
	return map[string][]outcomeRow{
		"toolDescriptionsPresent": {
			{"long enough", descriptions, declared(described), Pass, "1 tool"},
			{"whole and empty", descriptions, declared(), Pass, "empty"},
			{"too short by one", descriptions, declared(`{"name":"a","description":"` + strings.Repeat("d", 19) + `"}`), Fail, `"a": a description of 19 characters`},
			{"exactly 20", descriptions, declared(`{"name":"a","description":"` + strings.Repeat("d", 20) + `"}`), Pass, ""},
			{"white space of JavaScript does not count", descriptions, declared(`{"name":"a","description":"` + strings.Repeat("d", 19) + `\ufeff\u00a0\u2028 \t"}`), Fail, "19"},
			{"what Go alone calls space counts", descriptions, declared(`{"name":"a","description":"` + strings.Repeat("d", 19) + `\u0085"}`), Pass, ""},
			{"a character above U+FFFF is two units", descriptions, declared(`{"name":"a","description":"` + strings.Repeat("😀", 10) + `"}`), Pass, ""},
			{"no description", descriptions, declared(bare), Fail, "no description"},
			{"own length", `{"type":"toolDescriptionsPresent","minLength":1}`, declared(`{"name":"a","description":"d"}`), Pass, ""},
			{"bad length", `{"type":"toolDescriptionsPresent","minLength":0}`, declared(described), Error, "minLength"},
			{"partial, a violation in sight", descriptions, partly(declared(bare), ToolDeclarations), Error, "partial"},
			{"never declared", descriptions, evidence(nil).with(lose(ToolDeclarations, session.Absent)), Error, "absent"},
			{"complete and no list", descriptions, evidence(nil), Error, "no list"},
			{"the server is named where there are two", descriptions, declared(bare, bare).with(func(ev *Evidence) { ev.Declarations[1].ServerKey = "two" }), Fail, `"bare" of "two"`},
		},
		"toolAnnotationsPresent": {
			{"there", annotations, declared(`{"name":"a","annotations":{}}`), Pass, ""},
			{"none", annotations, declared(readOnly, bare), Fail, `"bare": no annotations`},
			{"null", annotations, declared(`{"name":"a","annotations":null}`), Fail, "no annotations"},
			{"a list", annotations, declared(`{"name":"a","annotations":[]}`), Fail, "no annotations"},
			{"both hints", bothHints, declared(`{"name":"a","annotations":{"readOnlyHint":false,"destructiveHint":true}}`), Pass, ""},
			{"one hint of two", bothHints, declared(readOnly), Fail, "no destructiveHint"},
			{"a hint that is text", bothHints, declared(`{"name":"a","annotations":{"readOnlyHint":"true","destructiveHint":true}}`), Fail, "no readOnlyHint"},
			{"the last of two keys counts", bothHints, declared(`{"name":"a","annotations":{"readOnlyHint":1,"destructiveHint":true,"readOnlyHint":true}}`), Pass, ""},
			{"beyond a limit", bothHints, declared(`{"name":"a","annotations":{"x":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}}`), Error, "nested deeper"},
			{"beyond a limit beside a violation", bothHints, declared(`{"name":"a","annotations":{"x":[`+strings.Repeat("0,", maxEntryValues)+`0]}}`, bare), Fail, "no annotations"},
			{"beyond the number of values", bothHints, declared(`{"name":"a","annotations":{"x":[` + strings.Repeat("0,", maxEntryValues) + `0]}}`), Error, "more than 100000 values"},
			{"partial", annotations, partly(declared(readOnly), ToolDeclarations), Error, "partial"},
			{"require is no list", `{"type":"toolAnnotationsPresent","require":"readOnlyHint"}`, declared(readOnly), Error, "require"},
		},
		"toolNamesUnique": {
			{"once each", unique, declared(readOnly, bare), Pass, ""},
			{"by another case", unique, declared(`{"name":"a"}`, `{"name":"A"}`), Pass, ""},
			{"three times is one offence", unique, declared(bare, readOnly, bare, bare), Fail, `"bare": listed 3 times`},
			{"at two servers", unique, declared(bare, bare).with(func(ev *Evidence) { ev.Declarations[1].ServerKey = "two" }), Pass, ""},
			{"no name", unique, declared(`{}`), Fail, "a tool without a name"},
			{"partial, a violation in sight", unique, partly(declared(bare, bare), ToolDeclarations), Error, "partial"},
		},
		"noDeprecatedToolExposed": {
			{"a mention", exposed, declared(`{"name":"a","description":"Include deprecated records"}`), Pass, ""},
			{"says so", exposed, declared(`{"name":"a","description":"[DEPRECATED] Old"}`), Fail, "[DEPRECATED]"},
			{"no description", exposed, declared(bare), Pass, ""},
			{"partial, a violation in sight", exposed, partly(declared(`{"name":"a","description":"Deprecated."}`), ToolDeclarations), Error, "partial"},
		},
		"toolInputSchemasWellFormed": {
			{"no properties", inputs, declared(`{"name":"a","inputSchema":{"type":"object"}}`), Pass, ""},
			{"all described", inputs, declared(`{"name":"a","inputSchema":{"type":"object","properties":{"q":{"description":"d"}}}}`), Pass, ""},
			{"one not described", inputs, declared(`{"name":"a","inputSchema":{"type":"object","properties":{"q":{"description":"d"},"r":{}}}}`), Fail, `no description of "r"`},
			{"a blank description", inputs, declared(`{"name":"a","inputSchema":{"type":"object","properties":{"r":{"description":"\ufeff "}}}}`), Fail, `"r"`},
			{"a description that is no text", inputs, declared(`{"name":"a","inputSchema":{"type":"object","properties":{"r":{"description":1}}}}`), Fail, `"r"`},
			{"a property that is true", inputs, declared(`{"name":"a","inputSchema":{"type":"object","properties":{"r":true}}}`), Fail, `"r"`},
			{"properties null", inputs, declared(`{"name":"a","inputSchema":{"type":"object","properties":null}}`), Fail, "properties"},
			{"another type", inputs, declared(`{"name":"a","inputSchema":{"type":"array"}}`), Fail, "not object"},
			{"a list of types", inputs, declared(`{"name":"a","inputSchema":{"type":["object"]}}`), Fail, "not object"},
			{"no schema", inputs, declared(bare), Fail, "no inputSchema"},
			{"schema true", inputs, declared(`{"name":"a","inputSchema":true}`), Fail, "no object"},
			{"beyond a limit", inputs, declared(`{"name":"a","inputSchema":{"type":"object","x":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}}`), Error, "nested deeper"},
			{"partial, a violation in sight", inputs, partly(declared(bare), ToolDeclarations), Error, "partial"},
		},
		"toolOutputSchemasPresent": {
			{"there", outputs, declared(`{"name":"a","outputSchema":{"type":"object"}}`), Pass, ""},
			{"absent", outputs, declared(bare), Fail, "no outputSchema"},
			{"null", outputs, declared(`{"name":"a","outputSchema":null}`), Fail, "no outputSchema"},
			{"false is there", outputs, declared(`{"name":"a","outputSchema":false}`), Pass, ""},
			{"partial", outputs, partly(declared(`{"name":"a","outputSchema":{}}`), ToolDeclarations), Error, "partial"},
		},

		"toolCalledWith": {
			{"a key of more", with, evidence(nil, `t {"q":"x","z":1}`), Pass, "record 10"},
			{"another value", with, evidence(nil, `t {"q":"y"}`), Fail, "0 of 1 call"},
			{"another tool", with, evidence(nil, `u {"q":"x"}`), Fail, `no call to "t"`},
			{"no call", with, evidence(nil), Fail, `no call to "t"`},
			{"no arguments count as {}", `{"type":"toolCalledWith","toolName":"t","args":{"args":{},"argumentMatching":"exact"}}`, evidence(nil, "t"), Pass, ""},
			{"exact, a key of more", withExact, evidence(nil, `t {"q":"x","z":1}`), Fail, ""},
			{"exact", withExact, evidence(nil, `t {"q":"x"}`), Pass, ""},
			{"any wants the key, null will do", `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":" Any "}}}`, evidence(nil, `t {"q":null}`), Pass, ""},
			{"any wants the key", `{"type":"toolCalledWith","toolName":"t","args":{"args":{"toString":"any"}}}`, evidence(nil, `t {}`), Fail, ""},
			{"a placeholder of another type", `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":"object"}}}`, evidence(nil, `t {"q":[]}`), Fail, ""},
			{"every placeholder", `{"type":"toolCalledWith","toolName":"t","args":{"args":{"a":"string","b":"number","c":"boolean","d":"object","e":"array","f":"null"}}}`, evidence(nil, `t {"a":"","b":0,"c":false,"d":{},"e":[],"f":null}`), Pass, ""},
			{"no placeholder below the top", `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":{"r":"any"}}}}`, evidence(nil, `t {"q":{"r":1}}`), Fail, ""},
			{"no placeholder in exact", `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":"any"},"argumentMatching":"exact"}}`, evidence(nil, `t {"q":1}`), Fail, ""},
			{"text is no number", `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":7}}}`, evidence(nil, `t {"q":"7"}`), Fail, ""},
			{"arguments that are no object, nothing expected", `{"type":"toolCalledWith","toolName":"t","args":{"args":{}}}`, evidence(nil, `t null`), Pass, ""},
			{"ignore", withIgnore, evidence(nil, `t {"z":1}`), Pass, ""},
			{"ignore reads no arguments", withIgnore, unreadArguments("t"), Pass, ""},
			{"one of two", withTwice, evidence(nil, `t {"q":"x"}`), Fail, "1 of 1 call"},
			{"two of two", withTwice, evidence(nil, `t {"q":"x"}`, "u", `t {"q":"x"}`), Pass, "2 matching calls"},
			{"unreadable and would decide", with, unreadArguments("t"), Error, "damaged"},
			{"unreadable beside a match", with, unreadArguments("t", `t {"q":"x"}`), Pass, ""},
			{"unreadable and too few all the same", withTwice, unreadArguments("t"), Fail, ""},
			{"a call that the host kept", with, evidence(nil, `t {"q":"x"}`).with(hostOnly(0)), Pass, "never reached the server"},
			{"partial, too few", with, partly(evidence(nil, "u"), ToolCalls), Error, "partial"},
			{"partial, enough", with, partly(evidence(nil, `t {"q":"x"}`), ToolCalls), Pass, ""},
			{"minCount 0", `{"type":"toolCalledWith","toolName":"t","args":{"args":{}},"minCount":0}`, evidence(nil, "t"), Fail, "minCount"},
			{"huge minCount", `{"type":"toolCalledWith","toolName":"t","args":{"args":{}},"minCount":9000000000000000000}`, evidence(nil, "t"), Fail, "1 of 1"},
			{"no args", `{"type":"toolCalledWith","toolName":"t"}`, evidence(nil, "t"), Error, "args"},
			{"no name", `{"type":"toolCalledWith","args":{"args":{}}}`, evidence(nil, "t"), Fail, "toolName"},
		},
		"toolCalledAtLeastOnce": {
			{"called", called, evidence(nil, "u", "t"), Pass, "record 20"},
			{"not called", called, evidence(nil, "u"), Fail, "no call"},
			{"a call that the host kept", called, evidence(nil, "t").with(hostOnly(0)), Pass, "never reached"},
			{"partial, not seen", called, partly(evidence(nil, "u"), ToolCalls), Error, ""},
			{"empty name", `{"type":"toolCalledAtLeastOnce","toolName":""}`, evidence(nil).with(func(ev *Evidence) { ev.Calls = []CallEvidence{{}} }), Fail, "empty"},
		},
		"toolNeverCalled": {
			{"not called", never, evidence(nil, "u"), Pass, ""},
			{"called", never, evidence(nil, "t"), Fail, "record 10"},
			{"the model chose it and was denied", never, evidence(nil, "t").with(hostOnly(0)), Fail, "never reached"},
			{"partial, not seen", never, partly(evidence(nil, "u"), ToolCalls), Error, ""},
			{"no name", `{"type":"toolNeverCalled"}`, evidence(nil, "u"), Fail, "missing"},
		},
		"onlyToolsCalled": {
			{"all listed", only, evidence(nil, "t", "u", "t"), Pass, "3 calls"},
			{"no call", only, evidence(nil), Pass, ""},
			{"another", only, evidence(nil, "t", "v"), Fail, `"v" (record 20)`},
			{"another that the host kept", only, evidence(nil, "t", "v").with(hostOnly(1)), Fail, "never reached"},
			{"none allowed, none made", none, evidence(nil), Pass, ""},
			{"none allowed", none, evidence(nil, "t"), Fail, `"t"`},
			{"a call without a name", only, evidence(nil, "t").with(func(ev *Evidence) { ev.Calls[0].Tool = "\ufeff" }), Fail, "without a name"},
			{"a blank entry", `{"type":"onlyToolsCalled","toolNames":["t","\u00a0"]}`, evidence(nil, "t"), Fail, "entry 2 is blank"},
			{"no list", `{"type":"onlyToolsCalled","toolNames":"t"}`, evidence(nil, "t"), Fail, "no list"},
			{"partial, none seen", only, partly(evidence(nil, "t"), ToolCalls), Error, ""},
			{"partial, another seen", only, partly(evidence(nil, "v"), ToolCalls), Fail, ""},
		},
		"firstToolWas": {
			{"first", first, evidence(nil, "t", "u"), Pass, ""},
			{"second", first, evidence(nil, "u", "t"), Fail, `"u" (record 10)`},
			{"no call", first, evidence(nil), Fail, "no tool was called"},
			{"the host's own comes first", first, evidence(nil, "u", "t").with(hostOnly(0)), Fail, "never reached"},
			{"partial, first of those seen", first, partly(evidence(nil, "t"), ToolCalls), Error, ""},
			{"partial, another seen", first, partly(evidence(nil, "u", "t"), ToolCalls), Fail, ""},
			{"partial, no call", first, partly(evidence(nil), ToolCalls), Error, ""},
			{"empty name", `{"type":"firstToolWas","toolName":""}`, evidence(nil).with(func(ev *Evidence) { ev.Calls = []CallEvidence{{}} }), Fail, "empty"},
		},
		"toolCallCountUnder": {
			{"below", under2, evidence(nil, "t"), Pass, "1 call, fewer than 2"},
			{"exactly", under2, evidence(nil, "t", "u"), Fail, "2 calls, not fewer than 2"},
			{"of one tool", under2T, evidence(nil, "t", "u", "u"), Pass, `1 call to "t"`},
			{"of one tool, too many", under2T, evidence(nil, "t", "u", "t"), Fail, ""},
			{"the host's own count", under2, evidence(nil, "t", "u").with(hostOnly(0)), Fail, ""},
			{"no call", under2, evidence(nil), Pass, "0 calls"},
			{"partial, below", under2, partly(evidence(nil, "t"), ToolCalls), Error, ""},
			{"partial, too many", under2, partly(evidence(nil, "t", "u"), ToolCalls), Fail, ""},
			{"bad count", `{"type":"toolCallCountUnder","count":0}`, evidence(nil), Fail, "count"},
		},
		"toolCalledBefore": {
			{"before", before, evidence(nil, "t", "u", "u"), Pass, "record 10"},
			{"one call is enough for all", before, evidence(nil, "t", "u", "v", "u"), Pass, ""},
			{"after", before, evidence(nil, "u", "t", "u"), Fail, `"u" (record 10)`},
			{"never called", before, evidence(nil, "v"), Pass, `no call to "u"`},
			{"no predecessor at all", before, evidence(nil, "u"), Fail, ""},
			{"same name twice", `{"type":"toolCalledBefore","toolName":"u","beforeToolName":"u"}`, evidence(nil, "u"), Pass, ""},
			{"the host's own is a predecessor", before, evidence(nil, "t", "u").with(hostOnly(0)), Pass, "never reached"},
			{"partial, in order", before, partly(evidence(nil, "t", "u"), ToolCalls), Error, ""},
			{"partial, out of order", before, partly(evidence(nil, "u"), ToolCalls), Fail, ""},
			{"empty name", `{"type":"toolCalledBefore","toolName":"","beforeToolName":"u"}`, evidence(nil), Fail, "empty"},
		},
		"noDeprecatedToolCalled": {
			{"none", deprecatd, evidence(toolList(`{"name":"t","description":"Lists deprecated things"}`), "t"), Pass, ""},
			{"no description", deprecatd, evidence(toolList(bare), "bare"), Pass, ""},
			{"no call", deprecatd, evidence(toolList(bare)), Pass, ""},
			{"called", deprecatd, evidence(toolList(`{"name":"t","description":"Deprecated: old"}`), "t"), Fail, "Deprecated: old"},
			{"called in the host alone", deprecatd, evidence(toolList(`{"name":"t","description":"Deprecated: old"}`), "t").with(hostOnly(0)), Fail, ""},
			{"not on the list", deprecatd, evidence(toolList(bare), "ghost"), Error, "does not have it"},
			{"not on the list beside a deprecated one", deprecatd, evidence(toolList(`{"name":"t","description":"Use u instead"}`), "ghost", "t"), Fail, ""},
			{"deprecated and not called", deprecatd, evidence(toolList(`{"name":"t","description":"Deprecated."}`, bare), "bare"), Pass, ""},
			{"partial list, no call", deprecatd, partly(evidence(toolList(bare)), ToolInventory), Error, "partial"},
			{"partial calls", deprecatd, partly(evidence(toolList(bare), "bare"), ToolCalls), Error, ""},
		},
		"noDestructiveToolCalled": {
			{"reads", destruct, evidence(toolList(readOnly), "list"), Pass, ""},
			{"says it is not", destruct, evidence(toolList(`{"name":"t","annotations":{"destructiveHint":false}}`), "t"), Pass, ""},
			{"says it is", destruct, evidence(toolList(deletes), "delete"), Fail, "destructiveHint is true"},
			{"says it is, and reads", destruct, evidence(toolList(`{"name":"t","annotations":{"destructiveHint":true,"readOnlyHint":true}}`), "t"), Fail, ""},
			{"says nothing: the default", destruct, evidence(toolList(`{"name":"t","annotations":{"title":"T"}}`), "t"), Fail, "by default"},
			{"readOnlyHint false says nothing", destruct, evidence(toolList(`{"name":"t","annotations":{"readOnlyHint":false}}`), "t"), Fail, "by default"},
			{"a hint that is text says nothing", destruct, evidence(toolList(`{"name":"t","annotations":{"readOnlyHint":"true"}}`), "t"), Fail, "by default"},
			{"chosen and denied", destruct, evidence(toolList(deletes), "delete").with(hostOnly(0)), Fail, "never reached"},
			{"destructive and not called", destruct, evidence(toolList(deletes, readOnly), "list"), Pass, ""},
			{"no annotations", destruct, evidence(toolList(readOnly, bare), "bare"), Error, "no annotations"},
			{"not on the list", destruct, evidence(toolList(readOnly), "ghost"), Error, "does not have it"},
			{"unknown beside a destructive one", destruct, evidence(toolList(deletes), "ghost", "delete"), Fail, ""},
			{"no tool has annotations, no call", destruct, evidence(toolList(bare)), Error, "no tool in the list"},
			{"empty list, no call", destruct, evidence(toolList()), Error, "no tool in the list"},
			{"no call", destruct, evidence(toolList(deletes)), Pass, ""},
			{"annotations beyond a limit", destruct, evidence(toolList(`{"name":"t","annotations":{"x":`+strings.Repeat("[", 1001)+strings.Repeat("]", 1001)+`}}`), "t"), Error, "nested deeper"},
			{"partial list", destruct, partly(evidence(toolList(deletes), "delete"), ToolInventory), Error, "partial"},
			{"partial calls", destruct, partly(evidence(toolList(readOnly), "list"), ToolCalls), Error, ""},
			{"partial calls, a destructive one", destruct, partly(evidence(toolList(deletes), "delete"), ToolCalls), Fail, ""},
		},

		"argumentsMatchToolSchema": {
			{"fit", schema, evidence(tools("t", needsQ), `t {"q":"x"}`), Pass, ""},
			{"do not fit", schema, evidence(tools("t", needsQ), `t {}`), Fail, "missing-required"},
			{"no schema", schema, evidence(tools("t", ""), `t {}`), Error, "no inputSchema"},
			{"refused by the host's own check", schema, evidence(tools("t", needsQ), `t {}`).with(hostOnly(0)).with(func(ev *Evidence) { ev.Calls[0].ArgumentsRefused = true }), Fail, "never reached"},
			{"denied by the user", schema, evidence(tools("t", needsQ), `t {}`).with(hostOnly(0)), Pass, "no call in scope"},
			{"too many values", schema, evidence(tools("t", anyObject), `t {"a":[`+strings.Repeat("0,", maxArgumentsValues)+`0]}`), Error, "too many values"},
			{"partial calls", schema, partly(evidence(tools("t", needsQ), `t {"q":"x"}`), ToolCalls), Error, ""},
		},
		"noRepeatedIdenticalCall": {
			{"other arguments", repeat, evidence(nil, `t {"a":1}`, `t {"a":2}`), Pass, ""},
			{"other tool", repeat, evidence(nil, `t {"a":1}`, `u {"a":1}`), Pass, ""},
			{"equal but for the order of keys", repeat, evidence(nil, `t {"a":1,"b":2}`, `t {"b":2.0,"a":1e0}`), Fail, `"t" (record 20)`},
			{"numbers beyond doubles differ", repeat, evidence(nil, `t {"a":9007199254740992}`, `t {"a":9007199254740993}`), Pass, ""},
			{"lone surrogates differ", repeat, evidence(nil, `t {"a":"\ud83d"}`, `t {"a":"\ud83c"}`), Pass, ""},
			{"none and {}", repeat, evidence(nil, `t`, `t {}`), Fail, ""},
			{"another between", repeat, evidence(nil, `t {}`, `u {}`, `t {}`), Pass, ""},
			{"another between, of one tool", repeatT, evidence(nil, `t {}`, `u {}`, `t {}`), Pass, ""},
			{"each pair is compared anew", repeat, evidence(nil, `t {"a":1}`, `t {"a":2}`, `u`, `t {"a":3}`, `t {"a":2}`), Pass, ""},
			{"three in a row", repeat, evidence(nil, `t {}`, `t {}`, `t {}`), Fail, "(record 20)"},
			{"of another tool", repeatT, evidence(nil, `u {}`, `u {}`), Pass, ""},
			{"a call that never reached the wire is not between", repeat, evidence(nil, `t {}`, `u {}`, `t {}`).with(hostOnly(1)), Fail, ""},
			{"no JSON equals nothing", repeat, evidence(nil, `t {`, `t {`), Pass, ""},
			{"beyond a limit", repeat, evidence(nil, `t `+strings.Repeat("[", 1001)+strings.Repeat("]", 1001), `t {}`), Error, "nested deeper"},
			{"unreadable", repeat, unreadArguments("t", "t"), Error, "damaged"},
			{"unreadable beside a repeat", repeat, unreadArguments("t", "t", "t"), Fail, ""},
			{"unreadable and alone of its name", repeat, unreadArguments("t", "u"), Pass, ""},
			{"partial, none seen", repeat, partly(evidence(nil, "t"), ToolCalls), Error, ""},
			{"partial, one seen", repeat, partly(evidence(nil, "t", "t"), ToolCalls), Fail, ""},
		},
		"toolInputMatches": {
			{"matches", input, evidence(nil, `t {"q":"axb"}`), Pass, "1 of 1 call match"},
			{"does not", input, evidence(nil, `t {"q":"y"}`), Fail, "none of 1 call"},
			{"never called", input, evidence(nil, `u {"q":"x"}`), Fail, "no call to search"},
			{"never called, min 0", inputNone, evidence(nil), Pass, ""},
			{"none may and one does", inputNone, evidence(nil, `t {"q":"x"}`), Fail, ""},
			{"too many", inputOne, evidence(nil, `t {"q":"x"}`, `t {"q":"x"}`), Fail, "2 of 2 calls"},
			{"as many as may", inputOne, evidence(nil, `t {"q":"x"}`, `t {}`), Pass, ""},
			{"two patterns in two calls", inputBoth, evidence(nil, `t {"q":"x"}`, `t {"q":"y"}`), Fail, ""},
			{"two patterns in one call", inputBoth, evidence(nil, `t {"q":"x","r":"y"}`), Pass, ""},
			{"canonical text", `{"type":"toolInputMatches","toolName":"t","patterns":["^\\{\"a\":1,\"b\":\\[1\\]\\}$"]}`, evidence(nil, `t {"b": [1.0], "a": 1e0}`), Pass, ""},
			{"every digit", `{"type":"toolInputMatches","toolName":"t","patterns":["9007199254740993"]}`, evidence(nil, `t {"a":9007199254740993}`), Pass, ""},
			{"no arguments are {}", `{"type":"toolInputMatches","toolName":"t","patterns":["^\\{\\}$"]}`, evidence(nil, `t`), Pass, ""},
			{"key", inputKey, evidence(nil, `t {"q":"x"}`), Pass, ""},
			{"key absent", inputKey, evidence(nil, `t {"r":"x"}`), Fail, ""},
			{"key of a list", `{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/0"}`, evidence(nil, `t ["x"]`), Fail, ""},
			{"key below", inputKey, evidence(nil, `t {"r":{"q":"x"}}`), Fail, ""},
			{"key of an object", `{"type":"toolInputMatches","toolName":"t","patterns":["^\\{\"x\":1\\}$"],"path":"/q"}`, evidence(nil, `t {"q":{ "x": 1 }}`), Pass, ""},
			{"key null", `{"type":"toolInputMatches","toolName":"t","patterns":["^null$"],"path":"/q"}`, evidence(nil, `t {"q":null}`), Pass, ""},
			{"escaped key", `{"type":"toolInputMatches","toolName":"t","patterns":["^x$"],"path":"/a~1b~0~01"}`, evidence(nil, `t {"a/b~~1":"x"}`), Pass, ""},
			{"a lone surrogate is one character", `{"type":"toolInputMatches","toolName":"t","patterns":["^.$"],"path":"/q"}`, evidence(nil, `t {"q":"\ud83d"}`), Pass, ""},
			{"i", `{"type":"toolInputMatches","toolName":"t","patterns":["X"],"flags":"i"}`, evidence(nil, `t {"q":"x"}`), Pass, ""},
			{"m", `{"type":"toolInputMatches","toolName":"t","patterns":["^b$"],"flags":"m","path":"/q"}`, evidence(nil, `t {"q":"a\nb"}`), Pass, ""},
			{"s", `{"type":"toolInputMatches","toolName":"t","patterns":["a.b"],"flags":"s","path":"/q"}`, evidence(nil, `t {"q":"a\nb"}`), Pass, ""},
			{"without s", `{"type":"toolInputMatches","toolName":"t","patterns":["a.b"],"path":"/q"}`, evidence(nil, `t {"q":"a\nb"}`), Fail, ""},
			{"flags reach all alternatives", `{"type":"toolInputMatches","toolName":"t","patterns":["nothing|X"],"flags":"i"}`, evidence(nil, `t {"q":"x"}`), Pass, ""},
			{"too long", input, evidence(nil, long), Error, "over 100000 characters"},
			{"longest", input, evidence(nil, `t {"q":"`+strings.Repeat("x", maxSubject-len(`{"q":""}`))+`"}`), Pass, ""},
			{"too long beside a match", input, evidence(nil, long, `t {"q":"x"}`), Pass, ""},
			{"too long beside a match that is one too many", inputOne, evidence(nil, long, `t {"q":"x"}`), Error, "unreadable"},
			{"too long but not under the key", `{"type":"toolInputMatches","toolName":"t","patterns":["1"],"path":"/x"}`, evidence(nil, many), Pass, ""},
			{"exactly as long as may be, under a key", inputKey, evidence(nil, `t {"q":"`+strings.Repeat("y", maxSubject)+`"}`), Fail, ""},
			{"one longer, under a key", inputKey, evidence(nil, `t {"q":"`+strings.Repeat("y", maxSubject+1)+`"}`), Error, "over 100000"},
			{"UTF-16 units count", inputKey, evidence(nil, `t {"q":"`+strings.Repeat("😀", maxSubject/2+1)+`"}`), Error, "over 100000"},
			{"more values than fit", input, evidence(nil, many), Error, "over 100000"},
			{"no JSON", input, evidence(nil, `t {`), Error, "cannot be read"},
			{"never on the wire", input, evidence(nil, `t {"q":"x"}`).with(hostOnly(0)), Fail, ""},
			{"partial, too few", input, partly(evidence(nil, `t {}`), ToolCalls), Error, ""},
			{"partial, enough", input, partly(evidence(nil, `t {"q":"x"}`), ToolCalls), Pass, ""},
			{"partial, within max", inputOne, partly(evidence(nil, `t {"q":"x"}`), ToolCalls), Error, ""},
			{"partial, over max", inputNone, partly(evidence(nil, `t {"q":"x"}`), ToolCalls), Fail, ""},
			{"a pattern that does not compile", `{"type":"toolInputMatches","toolName":"t","patterns":["(?=x)"]}`, evidence(nil, `t {"q":"x"}`), Error, "patterns[0]"},
			{"min 0 without max", `{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":0}`, evidence(nil), Error, "needs a max"},
		},

		"noToolErrors": {
			{"none", noErrors, evidence(nil, "t"), Pass, "1 call"},
			{"one", noErrors, evidence(nil, "t").with(failure(0, ContentError, "x")), Fail, ""},
			{"host-only calls are no calls", noErrors, evidence(nil, "t", "u").with(hostOnly(1)), Pass, "1 call"},
			{"partial", noErrors, partly(evidence(nil, "t"), ToolErrors), Error, ""},
		},
		"toolLatencyUnder": {
			{"fast", latency, evidence(nil, "t").with(timing(0, 1e6, 0)), Pass, ""},
			{"slow", latency, evidence(nil, "t").with(timing(0, 1e9, 0)), Fail, ""},
			{"host-only calls owe no timing", latency, evidence(nil, "t", "u").with(timing(0, 1e6, 0)).with(hostOnly(1)), Pass, ""},
			{"untimed", latency, evidence(nil, "t"), Error, ""},
		},
	}
}

func TestOutcomes(t *testing.T) {
	all := outcomeRows()
	for _, k := range Built() {
		if all[k.Name] == nil {
			t.Errorf("%s has no row", k.Name)
		}
	}
	for kind, rows := range all {
		reached := map[Result]bool{}
		names := map[string]bool{}
		for _, r := range rows {
			if names[r.name] {
				t.Errorf("%s: two rows %q", kind, r.name)
			}
			names[r.name] = true
			t.Run(kind+"/"+r.name, func(t *testing.T) {
				c := parsed(t, r.check)
				if c.Info.Name != kind {
					t.Fatalf("the check is %s", c.Info.Name)
				}
				got := Evaluate(c, r.ev)
				reached[got.Result] = true
				if got.Result != r.want || !strings.Contains(got.Reason, r.reason) {
					t.Errorf("%s: %s, want %s: …%s…", got.Result, got.Reason, r.want, r.reason)
				}
				if got.Reason == "" || len(got.Records) > maxRecords {
					t.Errorf("reason %q, records %v", got.Reason, got.Records)
				}
			})
		}
		if len(reached) != 3 {
			t.Errorf("%s: only %v reached", kind, reached)
		}
	}
}

// small tells whether a row is worth many evaluations: what its size decides,
// TestOutcomes has tried.
func (r *outcomeRow) small() bool {
	for i := range r.ev.Calls {
		if text, err := (&sent{c: &r.ev.Calls[i]}).argumentsText(); err == nil && len(text) > 10_000 {
			return false
		}
	}
	for _, x := range r.ev.Results {
		if c, err := x.Content(); err == nil && len(c.Text)+c.StructuredLen > 10_000 {
			return false
		}
	}
	if talk := r.ev.Conversation; talk != nil && len(talk.FinalText) > 1_000 {
		return false
	}
	for _, d := range r.ev.Declarations {
		if len(d.Tool.Annotations) > 10_000 {
			return false
		}
	}
	return true
}

// channels is all channels of the evidence.
var channels = []Channel{ToolCalls, ToolErrors, ToolResults, ToolCallTimings, ToolInventory, ToolDeclarations, FinalText, Turns, UsageCount, Renders}

// Evidence can only be lost, never won: what does not pass must not pass when a
// channel is no longer complete, when calls are cut off or taken out, with all that
// is known of them, or when the lists of tools are gone.
func mustNotPass(t *testing.T, name string, c *Check, ev *Evidence) {
	t.Helper()
	if Evaluate(c, ev).Result == Pass {
		return
	}
	try := func(what string, lost *Evidence) {
		t.Helper()
		if got := Evaluate(c, lost); got.Result == Pass {
			t.Errorf("%s: %s passes %s: %s", name, c.Info.Name, what, got.Reason)
		}
	}
	for _, ch := range channels {
		for _, s := range []session.CaptureState{session.Partial, session.Absent, ""} {
			lost := copyEvidence(ev)
			lost.with(lose(ch, s))
			try(fmt.Sprintf("with %s %q", ch, s), lost)
		}
	}
	for i := range ev.Calls {
		lost := without(ev, func(j int) bool { return j >= i })
		try(fmt.Sprintf("cut before call %d", i), lost)
		lost = without(ev, func(j int) bool { return j == i })
		try(fmt.Sprintf("without call %d", i), lost)
	}
	lost := copyEvidence(ev)
	lost.with(lose(ToolInventory, session.Absent)).with(lose(ToolDeclarations, session.Absent))
	lost.Lists, lost.Declarations = nil, nil
	for i := range lost.Calls {
		lost.Calls[i].Entry, lost.Calls[i].EntryWhy = nil, "no list of tools is on record for it"
	}
	try("without any list of tools", lost)
	for i := range ev.Declarations {
		lost := copyEvidence(ev).with(lose(ToolDeclarations, session.Partial))
		lost.Declarations = slices.Delete(slices.Clone(ev.Declarations), i, i+1)
		try(fmt.Sprintf("without declaration %d", i), lost)
	}
	for i := range ev.Errors {
		lost := copyEvidence(ev).with(lose(ToolErrors, session.Partial))
		lost.Errors = slices.Delete(slices.Clone(ev.Errors), i, i+1)
		try(fmt.Sprintf("without error %d", i), lost)
	}
	for i := range ev.Results {
		lost := copyEvidence(ev).with(lose(ToolResults, session.Partial))
		lost.Results = slices.Delete(slices.Clone(ev.Results), i, i+1)
		try(fmt.Sprintf("without result %d", i), lost)
		lost = copyEvidence(ev)
		lost.Results = slices.Clone(ev.Results)
		lost.Results[i].Content = func() (*ResultContent, error) { return nil, errors.New("the record is damaged") }
		lost.Results[i].Size = func() (ResultSize, error) { return ResultSize{}, errors.New("the record is damaged") }
		try(fmt.Sprintf("without the content of result %d", i), lost)
	}
	lost = copyEvidence(ev)
	lost.Conversation = nil
	try("without a conversation", lost)
	for i := range ev.Timings {
		lost := copyEvidence(ev).with(lose(ToolCallTimings, session.Partial))
		lost.Timings = slices.Delete(slices.Clone(ev.Timings), i, i+1)
		try(fmt.Sprintf("without timing %d", i), lost)
	}
}

func copyEvidence(ev *Evidence) *Evidence {
	out := *ev
	out.Calls = slices.Clone(ev.Calls)
	return &out
}

// without takes calls out, with what is known of them; all channels of calls are
// partial then.
func without(ev *Evidence, gone func(i int) bool) *Evidence {
	out := copyEvidence(ev)
	taken := map[CallRef]bool{}
	out.Calls = nil
	for i, c := range ev.Calls {
		if gone(i) {
			taken[CallRef{c.Seq, c.Index}] = true
		} else {
			out.Calls = append(out.Calls, c)
		}
	}
	out.Errors = slices.DeleteFunc(slices.Clone(ev.Errors), func(e ToolError) bool { return taken[CallRef{e.Seq, e.Index}] })
	out.Timings = slices.DeleteFunc(slices.Clone(ev.Timings), func(x Timing) bool { return taken[CallRef{x.Seq, x.Index}] })
	out.Results = slices.DeleteFunc(slices.Clone(ev.Results), func(x ToolResult) bool { return taken[CallRef{x.Seq, x.Index}] })
	out.Undecided = slices.DeleteFunc(slices.Clone(ev.Undecided), func(x Undecided) bool { return taken[CallRef{x.Seq, x.Index}] })
	for _, ch := range []Channel{ToolCalls, ToolErrors, ToolResults, ToolCallTimings} {
		out.with(lose(ch, session.Partial))
	}
	return out
}

func TestEvidenceIsOnlyLost(t *testing.T) {
	for kind, rows := range outcomeRows() {
		for _, r := range rows {
			if r.small() {
				mustNotPass(t, kind+"/"+r.name, parsed(t, r.check), r.ev)
			}
		}
	}
	eachVector(t, func(name string, c *Check, tr *transcript) { mustNotPass(t, name, c, tr.adapt()) })
}

// A kind says which channels it reads, and each of them has one row in the table of
// partial evidence. That it reads no other is tried: losing one changes nothing.
func TestChannelsAreDeclared(t *testing.T) {
	rows := map[string]int{}
	for _, r := range PartialRules {
		_, k, known := Lookup(r.Kind)
		if !known || k != nil && !slices.Contains(k.Channels, r.Channel) {
			t.Errorf("a row for %s and %s, which it does not read", r.Kind, r.Channel)
		}
		if rows[r.Kind+" "+string(r.Channel)]++; rows[r.Kind+" "+string(r.Channel)] > 1 {
			t.Errorf("two rows for %s and %s", r.Kind, r.Channel)
		}
	}
	for _, k := range Built() {
		if len(k.Channels) == 0 {
			t.Errorf("%s reads no channel", k.Name)
		}
		for _, ch := range k.Channels {
			if rows[k.Name+" "+string(ch)] == 0 {
				t.Errorf("%s reads %s and has no row for it partial", k.Name, ch)
			}
		}
	}
	unmoved := func(name string, c *Check, ev *Evidence) {
		want := Evaluate(c, ev).Result
		for _, ch := range channels {
			if slices.Contains(c.Kind.Channels, ch) {
				continue
			}
			for _, s := range []session.CaptureState{session.Partial, session.Absent} {
				if got := Evaluate(c, copyEvidence(ev).with(lose(ch, s))); got.Result != want {
					t.Errorf("%s: %s does not declare %s, and with it %s %s became %s", name, c.Info.Name, ch, s, want, got.Result)
				}
			}
		}
	}
	for kind, rows := range outcomeRows() {
		for _, r := range rows {
			if r.small() {
				unmoved(kind+"/"+r.name, parsed(t, r.check), r.ev)
			}
		}
	}
	eachVector(t, func(name string, c *Check, tr *transcript) { unmoved(name, c, tr.adapt()) })
}

// The bounds of every field, as a suite may hold it and not.
func TestFieldBounds(t *testing.T) {
	units := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{`{"type":"toolDescriptionsPresent"}`, true},
		{`{"type":"toolDescriptionsPresent","minLength":1}`, true},
		{`{"type":"toolDescriptionsPresent","minLength":2.0e1}`, true},
		{`{"type":"toolDescriptionsPresent","minLength":0}`, false},
		{`{"type":"toolDescriptionsPresent","minLength":1.5}`, false},
		{`{"type":"toolDescriptionsPresent","minLength":"20"}`, false},
		{`{"type":"toolAnnotationsPresent","require":[]}`, true},
		{`{"type":"toolAnnotationsPresent","require":["readOnlyHint"]}`, true},
		{`{"type":"toolAnnotationsPresent","require":["destructiveHint","readOnlyHint"]}`, true},
		{`{"type":"toolAnnotationsPresent","require":["readOnlyHint","readOnlyHint"]}`, false},
		{`{"type":"toolAnnotationsPresent","require":["openWorldHint"]}`, false},
		{`{"type":"toolAnnotationsPresent","require":["readOnlyHint","destructiveHint","readOnlyHint"]}`, false},
		{`{"type":"toolAnnotationsPresent","require":"readOnlyHint"}`, false},
		{`{"type":"toolNamesUnique"}`, true},
		{`{"type":"noDeprecatedToolExposed"}`, true},
		{`{"type":"toolInputSchemasWellFormed"}`, true},
		{`{"type":"toolOutputSchemasPresent"}`, true},

		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{}}}`, true},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{},"argumentMatching":"exact"},"minCount":1}`, true},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{},"argumentMatching":"partial"}}`, true},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{},"argumentMatching":"ignore"}}`, true},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{},"argumentMatching":"fuzzy"}}`, false},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{},"argumentMatching":null}}`, false},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":[]}}`, false},
		{`{"type":"toolCalledWith","toolName":"t","args":{}}`, false},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{},"more":1}}`, false},
		{`{"type":"toolCalledWith","toolName":"t","args":[]}`, false},
		{`{"type":"toolCalledWith","toolName":"t"}`, false},
		{`{"type":"toolCalledWith","toolName":"","args":{"args":{}}}`, false},
		{`{"type":"toolCalledWith","args":{"args":{}}}`, false},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{}},"minCount":0}`, false},
		{`{"type":"toolCalledWith","toolName":"t","args":{"args":{}},"minCount":1.5}`, false},
		{`{"type":"toolCalledAtLeastOnce","toolName":""}`, false},
		{`{"type":"toolNeverCalled","toolName":null}`, false},
		{`{"type":"toolNeverCalled"}`, false},
		{`{"type":"onlyToolsCalled","toolNames":[]}`, true},
		{`{"type":"onlyToolsCalled","toolNames":["t"]}`, true},
		{`{"type":"onlyToolsCalled","toolNames":[""]}`, false},
		{`{"type":"onlyToolsCalled","toolNames":"t"}`, false},
		{`{"type":"onlyToolsCalled"}`, false},
		{`{"type":"firstToolWas"}`, false},
		{`{"type":"firstToolWas","toolName":"t"}`, true},
		{`{"type":"toolCallCountUnder","count":1}`, true},
		{`{"type":"toolCallCountUnder","count":0}`, false},
		{`{"type":"toolCallCountUnder","count":1,"toolName":""}`, false},
		{`{"type":"toolCallCountUnder"}`, false},
		{`{"type":"toolCalledBefore","toolName":"t","beforeToolName":"u"}`, true},
		{`{"type":"toolCalledBefore","toolName":"t"}`, false},
		{`{"type":"toolCalledBefore","toolName":"","beforeToolName":"u"}`, false},
		{`{"type":"noDeprecatedToolCalled"}`, true},
		{`{"type":"noDestructiveToolCalled"}`, true},

		{`{"type":"argumentsMatchToolSchema","toolName":""}`, false},
		{`{"type":"noRepeatedIdenticalCall","toolName":"t"}`, true},
		{`{"type":"noRepeatedIdenticalCall","toolName":""}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"]}`, true},
		{`{"type":"toolInputMatches","patterns":["x"]}`, false},
		{`{"type":"toolInputMatches","toolName":"t"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":[]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":[""]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["1","2","3","4","5","6","7","8"]}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["1","2","3","4","5","6","7","8","9"]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["` + units(512) + `"]}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["` + units(513) + `"]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["` + strings.Repeat("😀", 257) + `"]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x("]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["(?!x)"]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["(a)\\1"]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["a)|(b"],"flags":"i"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["\ud83d"]}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["` + strings.Repeat(`.{900}`, 12) + `"]}`, false}, // 10,800 instructions
		{`{"type":"toolInputMatches","toolName":"t","patterns":["` + strings.Repeat(`.{900}`, 10) + `"]}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"flags":"i"}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"flags":"ims"}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"flags":"si"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"flags":""}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"flags":"U"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/q"}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/` + units(256) + `"}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/` + units(257) + `"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"q"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/a/b"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/a~2"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/a~"}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"path":"/~0~1"}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":0,"max":0}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":0}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"max":0}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"max":1}`, true},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":3,"max":2}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":-1,"max":2}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"max":-1}`, false},
		{`{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":1.5}`, false},

		{`{"type":"toolLatencyUnder","ms":1}`, true},
		{`{"type":"toolLatencyUnder","ms":0}`, false},
		{`{"type":"toolLatencyUnder","ms":1000000000000}`, true},
		{`{"type":"toolLatencyUnder","ms":1000000000001}`, false},
	} {
		p := parsed(t, c.text)
		if _, err := New(p.Info.Name, Advisory, p.Fields...); (err == nil) != c.ok {
			t.Errorf("%.200s: %v, want ok %v", c.text, err, c.ok)
		}
	}
}

// The rows of predicate-wire-parity.json, for the kinds that are built: their
// fields alone; role and severity are the suite loader's.
func TestParityFields(t *testing.T) {
	var file struct{ Accept, Reject []json.RawMessage }
	readVectors(t, "predicate-wire-parity.json", &file)
	ran := 0
	for ok, rows := range map[bool][]json.RawMessage{true: file.Accept, false: file.Reject} {
		for _, raw := range rows {
			var head struct{ Type, Role, Severity string }
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatal(err)
			}
			info, k, _ := Lookup(head.Type)
			if k == nil || !ok && (head.Severity != "" || info.Observation && head.Role != "advisory") {
				continue // unknown, or refused for its role
			}
			ran++
			if _, err := New(head.Type, Advisory, parsed(t, string(raw)).Fields...); (err == nil) != ok {
				t.Errorf("%s: %v, want ok %v", raw, err, ok)
			}
		}
	}
	if ran < 30 {
		t.Errorf("%d rows ran", ran)
	}
}

func TestDeprecated(t *testing.T) {
	for text, want := range map[string]bool{
		"Deprecated":                            true,
		"deprecated - use other":                true,
		" \ufeff\u00a0[ DEPRECATED] x":          true,
		"[Deprecated]":                          true,
		"((deprecated))":                        false,
		"Deprecatedly":                          false,
		"deprecated_flag sets x":                false,
		"Lists things. This tool is deprecated": true,
		"this ENDPOINT is deprecated.":          true,
		"This method is deprecated":             true,
		"This function is deprecated":           false,
		"This tool is deprecatedish":            false,
		"Old. Deprecated: gone in May":          true,
		"It was deprecated.":                    true,
		"undeprecated:":                         false,
		"Please use new_search instead":         true,
		"use\u00a0new\u2003instead":             true,
		"use the new search instead":            false,
		"misuse x instead":                      false,
		"u\u017fe x instead":                    false, // no fold onto ASCII
		"use x in\u017ftead":                    false,
		"Search. Replaces the deprecated tool.": false,
		"Include deprecated records":            false,
		"\u0085deprecated":                      false, // no space to JavaScript
		"":                                      false,
	} {
		if got := deprecated(text); got != want {
			t.Errorf("deprecated(%+q) = %v", text, got)
		}
	}
}

func TestPatternFaultsSayWhat(t *testing.T) {
	for pattern, want := range map[string]string{
		strings.Repeat(`.{900}`, 12): "instructions, more than 10000",
		`(?=x)`:                      "no look-around",
		`(a)\\1`:                     "patterns[0]",
		`x{1001}`:                    "invalid repeat count",
	} {
		c := parsed(t, `{"type":"toolInputMatches","toolName":"t","patterns":["`+pattern+`"]}`)
		faults := patternFaults(c)
		if len(faults) != 1 || !strings.Contains(faults[0].Field+": "+faults[0].Msg, want) {
			t.Errorf("%s: %+v, want %s", pattern, faults, want)
		}
	}
}

// A check that a suite holds compiles its patterns once, however often it is evaluated.
func TestPatternsCompileOnce(t *testing.T) {
	c := check(t, "toolInputMatches", toolName("t"), value.M("patterns", value.List(value.Text("x"))))
	if c.patterns == nil || len(c.patterns.exprs) != 1 {
		t.Fatal("not kept")
	}
	kept := c.patterns
	Evaluate(c, evidence(nil, `t {"q":"x"}`))
	if c.patterns != kept {
		t.Error("compiled anew")
	}
}

// The reason of a match names at most three calls, the outcome all that it blames.
func TestManyUnits(t *testing.T) {
	calls := make([]string, 50)
	for i := range calls {
		calls[i] = `t {"q":"x"}`
	}
	got := Evaluate(parsed(t, `{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":0,"max":2}`), evidence(nil, calls...))
	if got.Result != Fail || !strings.HasSuffix(got.Reason, "; and 47 more") || len(got.Calls) != 50 || len(got.Records) != maxRecords {
		t.Errorf("%+v", got)
	}
}

// Patterns and arguments from strangers never panic, and the outcome holds by the
// rule of grading.md 1.4.
func FuzzPatterns(f *testing.F) {
	f.Add("x|y", "i", "/q", `{"q":"X"}`, int64(1), int64(2))
	f.Add("(?P<n>a{2,3})", "", "", `[1,{"a":"\ud83d"}]`, int64(0), int64(0))
	f.Fuzz(func(t *testing.T, pattern, flags, path, arguments string, least, most int64) {
		fields := []value.Member{toolName("t"), value.M("patterns", value.List(value.Text(pattern))), value.M("min", value.Num(fmt.Sprint(least)))}
		if flags != "" {
			fields = append(fields, value.M("flags", value.Text(flags)))
		}
		if path != "" {
			fields = append(fields, value.M("path", value.Text(path)))
		}
		if most >= 0 {
			fields = append(fields, value.M("max", value.Num(fmt.Sprint(most))))
		}
		ev := evidence(nil, "t", "t")
		for i := range ev.Calls {
			ev.Calls[i].Arguments = func() ([]byte, error) { return []byte(arguments), nil }
		}
		loose := &Check{Fields: fields}
		loose.Info, loose.Kind, _ = Lookup("toolInputMatches")
		got := Evaluate(loose, ev)
		if strings.HasPrefix(got.Reason, "the evaluator broke") {
			t.Fatal(got.Reason)
		}
		if c, err := New("toolInputMatches", Gating, fields...); err != nil {
			if got.Result == Pass && !strings.Contains(err.Error(), ": expected") {
				t.Fatalf("a check that is refused passes: %v", err)
			}
		} else if again := Evaluate(c, ev); again.Result != got.Result {
			t.Fatalf("%s, and with its patterns kept %s", got.Result, again.Result)
		}
	})
}
