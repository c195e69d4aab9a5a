package predicate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
)

// vectorTalk is the conversation as the vectors give it (grading.md 3.1).
type vectorTalk struct {
	FinalAssistantMessage *string `json:"finalAssistantMessage"`
	TurnCount             *int64  `json:"turnCount"`
	Usage                 *struct {
		InputTokens  *int64 `json:"inputTokens"`
		OutputTokens *int64 `json:"outputTokens"`
		TotalTokens  *int64 `json:"totalTokens"`
	} `json:"usage"`
	RenderObservations []struct {
		ToolName      string   `json:"toolName"`
		ToolCallID    string   `json:"toolCallId"`
		Status        string   `json:"status"`
		ElapsedMs     float64  `json:"elapsedMs"`
		ConsoleErrors []string `json:"consoleErrors"`
	} `json:"renderObservations"`
}

func (tr *vectorTalk) adapt(ev *Evidence) {
	talk := wholeTalk()
	if m := tr.FinalAssistantMessage; m != nil {
		talk.FinalText, talk.HasFinalText = *m, true
	}
	if n := tr.TurnCount; n != nil {
		talk.TurnCount, talk.TurnCountKnown = *n, true
	}
	if u := tr.Usage; u != nil {
		or := func(n *int64) int64 {
			if n == nil {
				return -1
			}
			return *n
		}
		talk.Usage = &Usage{or(u.InputTokens), or(u.OutputTokens), or(u.TotalTokens)}
	}
	for _, r := range tr.RenderObservations {
		talk.Renders = append(talk.Renders, Render{Tool: r.ToolName, ToolUseID: r.ToolCallID, Turn: -1, Status: r.Status,
			ElapsedNs: int64(r.ElapsedMs * 1e6), ConsoleErrors: len(r.ConsoleErrors)})
	}
	ev.Conversation = talk
}

func wholeTalk() *Conversation {
	return &Conversation{FinalTextState: session.Complete, TurnsState: session.Complete, UsageState: session.Complete, RenderState: session.Complete}
}

// said is evidence of a whole conversation that ends with a message.
func said(message string) *Evidence {
	ev := evidence(nil)
	ev.Conversation = wholeTalk()
	ev.Conversation.FinalText, ev.Conversation.HasFinalText = message, true
	return ev
}

// silent is evidence of a whole conversation that ends without a message.
func silent() *Evidence {
	ev := evidence(nil)
	ev.Conversation = wholeTalk()
	return ev
}

func talking(change func(*Conversation)) *Evidence {
	ev := silent()
	change(ev.Conversation)
	return ev
}

func used(in, out, total int64) *Evidence {
	return talking(func(c *Conversation) { c.Usage = &Usage{in, out, total} })
}

func turned(n int64) *Evidence {
	return talking(func(c *Conversation) { c.TurnCount, c.TurnCountKnown = n, true })
}

func seen(renders ...Render) *Evidence {
	return talking(func(c *Conversation) { c.Renders = renders })
}

// talkRows are the rows of the userValue kinds.
func talkRows() map[string][]outcomeRow {
	const (
		contains = `{"type":"responseContains","needle":"Receipt"}`
		exactly  = `{"type":"responseContains","needle":"Receipt","caseSensitive":true}`
		pattern  = `{"type":"responseMatches","pattern":"^receipt \\d+$"}`
		close20  = `{"type":"responseCloseTo","reference":"abcdefghij","maxDistance":0.2}`
		equal    = `{"type":"responseCloseTo","reference":"Ab c","maxDistance":0}`
		filled   = `{"type":"finalAssistantMessageNonEmpty"}`
		question = `{"type":"noEndingQuestion"}`
		tokens   = `{"type":"tokenBudgetUnder","tokens":100}`
		turns    = `{"type":"turnCountUnder","turns":3}`
		render   = `{"type":"widgetRendered"}`
		renderT  = `{"type":"widgetRendered","toolName":"t"}`
		latency  = `{"type":"widgetRenderLatencyUnder","ms":100}`
		latencyT = `{"type":"widgetRenderLatencyUnder","ms":100,"toolName":"t"}`
		console  = `{"type":"widgetNoConsoleErrors"}`
		consoleT = `{"type":"widgetNoConsoleErrors","toolName":"t"}`
	)
	partly := func(ev *Evidence, ch Channel) *Evidence { return ev.with(lose(ch, session.Partial)) }
	// missing are the rows that every kind of a channel has.
	missing := func(check string, ch Channel, good func() *Evidence) []outcomeRow {
		return []outcomeRow{
			{"no conversation", check, evidence(nil), Error, "no host transcript"},
			{"partial though it would pass", check, partly(good(), ch), Error, string(ch) + " evidence is partial"},
			{"never declared", check, good().with(lose(ch, "")), Error, "absent"},
			{"partial and empty", check, partly(silent(), ch), Error, "partial"},
		}
	}
	with := func(check string, ch Channel, good func() *Evidence, rows ...outcomeRow) []outcomeRow {
		return append(rows, missing(check, ch, good)...)
	}
	ok := Render{Tool: "t", Status: "rendered", ElapsedNs: 5e6}
	closeTo := func(reference, distance, more string) string {
		return fmt.Sprintf(`{"type":"responseCloseTo","reference":%s,"maxDistance":%s%s}`, value.Quote(nil, reference), distance, more)
	}
	letters := func(n int, s string) string { return strings.Repeat(s, n) }
	return map[string][]outcomeRow{
		"responseContains": with(contains, FinalText, func() *Evidence { return said("receipt") },
			outcomeRow{"there", contains, said("Your receipt."), Pass, ""},
			outcomeRow{"not there", contains, said("Your bill."), Fail, "Your bill."},
			outcomeRow{"by another case", exactly, said("Your receipt."), Fail, ""},
			outcomeRow{"by the same case", exactly, said("Your Receipt."), Pass, ""},
			outcomeRow{"a final sigma", `{"type":"responseContains","needle":"ΟΔΟΣ"}`, said("οδος"), Pass, ""},
			outcomeRow{"an empty message", contains, said(""), Fail, ""},
			outcomeRow{"complete and no message", contains, silent(), Fail, "no final message"},
			outcomeRow{"empty needle", `{"type":"responseContains","needle":""}`, said("x"), Fail, "needle is empty"},
			outcomeRow{"a result is no message", contains, silent().with(func(ev *Evidence) { *ev = *one("t", text("receipt")); ev.Conversation = wholeTalk() }), Fail, ""},
		),
		"responseMatches": with(pattern, FinalText, func() *Evidence { return said("receipt 1") },
			outcomeRow{"matches", pattern, said("receipt 42"), Pass, ""},
			outcomeRow{"does not", pattern, said("a receipt 42"), Fail, ""},
			outcomeRow{"$ is the very end", pattern, said("receipt 42\n"), Fail, ""},
			outcomeRow{"unanchored", `{"type":"responseMatches","pattern":"\\d"}`, said("receipt 42"), Pass, ""},
			outcomeRow{"case counts", pattern, said("Receipt 42"), Fail, ""},
			outcomeRow{"complete and no message", pattern, silent(), Fail, "no final message"},
			outcomeRow{"the empty message matches what may be empty", `{"type":"responseMatches","pattern":"^$"}`, silent(), Pass, ""},
			outcomeRow{"the longest message", pattern, said(letters(maxSubject, "x")), Fail, ""},
			outcomeRow{"one unit too long", `{"type":"responseMatches","pattern":"x"}`, said(letters(maxSubject+1, "x")), Error, "over 100000"},
			outcomeRow{"too long in UTF-16", `{"type":"responseMatches","pattern":"."}`, said(letters(maxSubject/2, "😀") + "x"), Error, "over 100000"},
			outcomeRow{"nested quantifiers are fine", `{"type":"responseMatches","pattern":"^(a+)+$"}`, said(letters(5000, "a") + "!"), Fail, ""},
			outcomeRow{"outside RE2", `{"type":"responseMatches","pattern":"(?=x)"}`, said("x"), Error, "no look-around"},
			outcomeRow{"no text", `{"type":"responseMatches","pattern":42}`, said("42"), Error, "pattern"},
		),
		"responseCloseTo": with(close20, FinalText, func() *Evidence { return said("abcdefghij") },
			outcomeRow{"equal", equal, said("ab C"), Pass, "0 edits"},
			outcomeRow{"exactly the distance", close20, said("abcdefghXY"), Pass, "2 edits over 10"},
			outcomeRow{"over the distance", close20, said("abcdefgXYZ"), Fail, "3 edits over 10"},
			outcomeRow{"the longer text counts", close20, said("abcdefghijkl"), Pass, "2 edits over 12"},
			outcomeRow{"a third, as a report shows it", closeTo("abc", "0.3333333333333333", ""), said("abX"), Pass, "1 edit over 3 characters"},
			outcomeRow{"a little under a third", closeTo("abc", "0.3333333333", ""), said("abX"), Fail, ""},
			outcomeRow{"case counts", closeTo("Ab", "0", `,"caseSensitive":true`), said("ab"), Fail, ""},
			outcomeRow{"white space counts", equal, said("ab  c"), Fail, ""},
			outcomeRow{"white space as one", closeTo("Ab c", "0", `,"normalizeWhitespace":true`), said("\ufeff ab \u00a0\n c\t"), Pass, ""},
			outcomeRow{"what Go alone calls space", closeTo("a b", "0", `,"normalizeWhitespace":true`), said("a\u0085b"), Fail, ""},
			outcomeRow{"no Unicode normalization", closeTo("é", "0.9", ""), said("e\u0301"), Fail, "2 edits over 2"},
			outcomeRow{"code points, not UTF-16 units", closeTo("😀a", "0.5", ""), said("😀b"), Pass, "1 edit over 2"},
			outcomeRow{"lower case that is longer", closeTo("İ", "0", ""), said("i\u0307"), Pass, ""},
			outcomeRow{"an empty message has distance 1", close20, said(""), Fail, "10 edits over 10"},
			outcomeRow{"an empty message at distance 1", closeTo("x", "1", ""), said(""), Pass, ""},
			outcomeRow{"complete and no message", close20, silent(), Error, "without a message"},
			outcomeRow{"the most cells", closeTo(letters(2000, "a"), "1", ""), said(letters(2000, "b")), Pass, ""},
			outcomeRow{"one cell too many", closeTo(letters(2000, "a"), "1", ""), said(letters(2001, "b")), Error, "4000000"},
			outcomeRow{"equal ends do not count", closeTo("x"+letters(3000, "a"), "0.1", ""), said("y" + letters(3000, "a")), Pass, ""},
			outcomeRow{"the longest", closeTo(letters(maxCloseText, "a"), "0", ""), said(letters(maxCloseText, "a")), Pass, ""},
			outcomeRow{"message too long", closeTo("a", "1", ""), said(letters(maxCloseText+1, "a")), Error, "more than 100000"},
			outcomeRow{"message too long in lower case", closeTo("a", "1", ""), said(letters(maxCloseText/2+1, "İ")), Error, "in lower case"},
			outcomeRow{"reference too long", closeTo(letters(maxCloseText+1, "a"), "1", ""), said("a"), Error, "out of bounds"},
			outcomeRow{"reference blank", closeTo(" \ufeff", "1", `,"normalizeWhitespace":true`), said("a"), Error, "out of bounds"},
			outcomeRow{"a blank reference is one", closeTo(" ", "0", ""), said(" "), Pass, ""},
			outcomeRow{"distance out of bounds", closeTo("a", "1.1", ""), said("a"), Error, "out of bounds"},
			outcomeRow{"no distance", `{"type":"responseCloseTo","reference":"a"}`, said("a"), Error, "out of bounds"},
			outcomeRow{"no reference", `{"type":"responseCloseTo","maxDistance":1}`, said("a"), Error, "out of bounds"},
		),
		"finalAssistantMessageNonEmpty": with(filled, FinalText, func() *Evidence { return said("x") },
			outcomeRow{"a message", filled, said(" x"), Pass, ""},
			outcomeRow{"blank", filled, said(" \n\t\ufeff\u2028"), Fail, "blank"},
			outcomeRow{"what Go alone calls space", filled, said("\u0085"), Pass, ""},
			outcomeRow{"empty", filled, said(""), Fail, ""},
			outcomeRow{"complete and no message", filled, silent(), Fail, "without a message"},
		),
		"noEndingQuestion": with(question, FinalText, func() *Evidence { return said("x") },
			outcomeRow{"a statement", question, said("Which? Done."), Pass, ""},
			outcomeRow{"a question", question, said("Done. Shall I?"), Fail, "Shall I?"},
			outcomeRow{"a question before blank lines", question, said("Shall I? \r\n\n \ufeff\n"), Fail, "Shall I?"},
			outcomeRow{"a question before the last line", question, said("Shall I?\nDone."), Pass, ""},
			outcomeRow{"a carriage return alone ends no line", question, said("Done.\rShall I?"), Fail, ""},
			outcomeRow{"another question mark", question, said("何？"), Pass, ""},
			outcomeRow{"empty", question, said(""), Pass, ""},
			outcomeRow{"complete and no message", question, silent(), Pass, "no line"},
		),
		"tokenBudgetUnder": with(tokens, UsageCount, func() *Evidence { return used(1, 1, -1) },
			outcomeRow{"under", tokens, used(60, 39, -1), Pass, "99 tokens"},
			outcomeRow{"exactly the limit", tokens, used(60, 40, -1), Fail, "100 tokens"},
			outcomeRow{"the total is larger", tokens, used(1, 1, 100), Fail, ""},
			outcomeRow{"the sum is larger", tokens, used(60, 40, 0), Fail, ""},
			outcomeRow{"the total alone", tokens, used(-1, -1, 99), Pass, ""},
			outcomeRow{"the output alone", tokens, used(-1, 99, -1), Pass, ""},
			outcomeRow{"a sum beyond 64 bits", tokens, used(math.MaxInt64, math.MaxInt64, -1), Fail, ""},
			outcomeRow{"zero", tokens, used(0, 0, 0), Pass, ""},
			outcomeRow{"complete and no count", tokens, used(-1, -1, -1), Fail, "counts no tokens"},
			outcomeRow{"complete and no usage", tokens, silent(), Fail, "counts no tokens"},
			outcomeRow{"tokens 0", `{"type":"tokenBudgetUnder","tokens":0}`, used(1, 1, 1), Error, "tokens"},
		),
		"turnCountUnder": with(turns, Turns, func() *Evidence { return turned(1) },
			outcomeRow{"under", turns, turned(2), Pass, "2 turns"},
			outcomeRow{"exactly the limit", turns, turned(3), Fail, "3 turns"},
			outcomeRow{"zero is a reading", turns, turned(0), Pass, ""},
			outcomeRow{"negative", turns, turned(-1), Fail, "not known"},
			outcomeRow{"complete and not known", turns, silent(), Fail, "not known"},
			outcomeRow{"turns 0", `{"type":"turnCountUnder","turns":0}`, turned(1), Error, "turns"},
		),
		"widgetRendered": with(render, Renders, func() *Evidence { return seen(ok) },
			outcomeRow{"one of two", render, seen(Render{Tool: "t", Status: "mount_failed"}, ok), Pass, "1 of 2 widgets"},
			outcomeRow{"none", render, seen(Render{Tool: "t", Status: "blank_screenshot"}), Fail, "blank_screenshot"},
			outcomeRow{"another tool's", renderT, seen(Render{Tool: "u", Status: "rendered"}), Fail, "no widget was observed"},
			outcomeRow{"complete and empty", render, seen(), Fail, "no widget was observed"},
		),
		"widgetRenderLatencyUnder": with(latency, Renders, func() *Evidence { return seen(ok) },
			outcomeRow{"under", latency, seen(ok, Render{Tool: "t", Status: "rendered", ElapsedNs: 99_999_999}), Pass, "99.999 ms"},
			outcomeRow{"exactly the limit", latency, seen(ok, Render{Tool: "t", Status: "rendered", ElapsedNs: 100_000_000}), Fail, "100 ms"},
			outcomeRow{"a slow one that did not render", latency, seen(ok, Render{Tool: "t", Status: "bridge_timeout", ElapsedNs: 9e9}), Pass, ""},
			outcomeRow{"none rendered", latency, seen(Render{Tool: "t", Status: "bridge_timeout"}), Fail, "none of 1 widget"},
			outcomeRow{"another tool's", latencyT, seen(ok, Render{Tool: "u", Status: "rendered", ElapsedNs: 9e9}), Pass, ""},
			outcomeRow{"complete and empty", latency, seen(), Fail, "no widget was observed"},
			outcomeRow{"ms 0", `{"type":"widgetRenderLatencyUnder","ms":0}`, seen(ok), Error, "ms"},
		),
		"widgetNoConsoleErrors": with(console, Renders, func() *Evidence { return seen(ok) },
			outcomeRow{"none", console, seen(ok), Pass, ""},
			outcomeRow{"one that did not render", console, seen(ok, Render{Tool: "t", Status: "mount_failed", ConsoleErrors: 2}), Fail, "2 errors"},
			outcomeRow{"another tool's", consoleT, seen(ok, Render{Tool: "u", ConsoleErrors: 1}), Pass, ""},
			outcomeRow{"complete and empty", console, seen(), Fail, "no widget was observed"},
		),
	}
}

func talkSamples(t testing.TB) map[string]sample {
	is := func(make func() *Evidence) func() *Evidence { return make }
	says := func(m string) func() *Evidence { return is(func() *Evidence { return said(m) }) }
	return map[string]sample{
		"responseContains":              {parsed(t, `{"type":"responseContains","needle":"x"}`), says("x"), says("y")},
		"responseMatches":               {parsed(t, `{"type":"responseMatches","pattern":"x"}`), says("x"), says("y")},
		"responseCloseTo":               {parsed(t, `{"type":"responseCloseTo","reference":"x","maxDistance":0}`), says("x"), says("y")},
		"finalAssistantMessageNonEmpty": {parsed(t, `{"type":"finalAssistantMessageNonEmpty"}`), says("x"), says("")},
		"noEndingQuestion":              {parsed(t, `{"type":"noEndingQuestion"}`), says("x"), says("x?")},
		"tokenBudgetUnder": {parsed(t, `{"type":"tokenBudgetUnder","tokens":10}`),
			func() *Evidence { return used(1, 1, 1) }, func() *Evidence { return used(9, 9, 9) }},
		"turnCountUnder": {parsed(t, `{"type":"turnCountUnder","turns":2}`),
			func() *Evidence { return turned(1) }, func() *Evidence { return turned(2) }},
		"widgetRendered": {parsed(t, `{"type":"widgetRendered"}`),
			func() *Evidence { return seen(Render{Status: "rendered"}) }, func() *Evidence { return seen(Render{}) }},
		"widgetRenderLatencyUnder": {parsed(t, `{"type":"widgetRenderLatencyUnder","ms":1}`),
			func() *Evidence { return seen(Render{Status: "rendered"}) }, func() *Evidence { return seen(Render{Status: "rendered", ElapsedNs: 1e6}) }},
		"widgetNoConsoleErrors": {parsed(t, `{"type":"widgetNoConsoleErrors"}`),
			func() *Evidence { return seen(Render{}) }, func() *Evidence { return seen(Render{ConsoleErrors: 1}) }},
	}
}

// A check of one turn reads the turn's message and widgets, not the last ones; and
// no results.
func TestTurnsHaveTheirOwnMessage(t *testing.T) {
	ev := one("t", text("x")).with(func(ev *Evidence) {
		ev.Conversation = wholeTalk()
		ev.Conversation.Turns = []Turn{{FinalText: "Which one?", HasFinalText: true}, {}, {FinalText: "Done.", HasFinalText: true}}
		ev.Conversation.FinalText, ev.Conversation.HasFinalText = "Done.", true
		ev.Conversation.Renders = []Render{{Tool: "t", Turn: 1, Status: "rendered"}}
		ev.Calls[0].Turn = 0
	})
	for _, c := range []struct {
		check string
		turn  int
		want  Result
	}{
		{`{"type":"noEndingQuestion"}`, 0, Fail},
		{`{"type":"noEndingQuestion"}`, 2, Pass},
		{`{"type":"responseContains","needle":"done"}`, 0, Fail},
		{`{"type":"responseContains","needle":"done"}`, 2, Pass},
		{`{"type":"finalAssistantMessageNonEmpty"}`, 1, Fail},
		{`{"type":"responseMatches","pattern":"^Which"}`, 0, Pass},
		{`{"type":"responseCloseTo","reference":"done.","maxDistance":0}`, 2, Pass},
		{`{"type":"responseCloseTo","reference":"done.","maxDistance":0}`, 1, Error},
		{`{"type":"widgetRendered"}`, 0, Fail},
		{`{"type":"widgetRendered"}`, 1, Pass},
		{`{"type":"toolResultContains","needle":"x"}`, 0, Error},
	} {
		if got := Evaluate(parsed(t, c.check), ev.ForTurn(c.turn)); got.Result != c.want {
			t.Errorf("turn %d: %s: %s (%s), want %s", c.turn, c.check, got.Result, got.Reason, c.want)
		}
	}
}

// The distance is the one of the definition, on small texts.
func TestLevenshtein(t *testing.T) {
	var slow func(a, b []rune) int
	slow = func(a, b []rune) int {
		switch {
		case len(a) == 0:
			return len(b)
		case len(b) == 0:
			return len(a)
		case a[0] == b[0]:
			return slow(a[1:], b[1:])
		}
		return 1 + min(slow(a[1:], b), slow(a, b[1:]), slow(a[1:], b[1:]))
	}
	var texts [][]rune
	for n := range 4 {
		for i := range 1 << (2 * n) {
			var s []rune
			for k := range n {
				s = append(s, rune('a'+i>>(2*k)&3))
			}
			texts = append(texts, s)
		}
	}
	for _, a := range texts {
		for _, b := range texts {
			if got, ok := levenshtein(a, b); !ok || got != slow(a, b) {
				t.Fatalf("%q to %q: %d, want %d", string(a), string(b), got, slow(a, b))
			}
		}
	}
	for pair, want := range map[[2]string]int{{"kitten", "sitting"}: 3, {"saturday", "sunday"}: 3, {"xaby", "xbay"}: 2, {"", "abc"}: 3} {
		if got, _ := levenshtein([]rune(pair[0]), []rune(pair[1])); got != want {
			t.Errorf("%v: %d, want %d", pair, got, want)
		}
	}
}

// The bounds of every field of the kinds of results and of the conversation.
func TestFieldBoundsOfResultsAndTalk(t *testing.T) {
	units := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{`{"type":"toolResultContains","needle":"x"}`, true},
		{`{"type":"toolResultContains","needle":"` + units(1000) + `","caseSensitive":true,"toolName":"t"}`, true},
		{`{"type":"toolResultContains","needle":"` + units(1001) + `"}`, false},
		{`{"type":"toolResultContains","needle":"` + strings.Repeat("😀", 500) + `"}`, true},
		{`{"type":"toolResultContains","needle":"` + strings.Repeat("😀", 501) + `"}`, false},
		{`{"type":"toolResultContains","needle":""}`, false},
		{`{"type":"toolResultContains","needle":1}`, false},
		{`{"type":"toolResultContains"}`, false},
		{`{"type":"toolResultContains","needle":"x","caseSensitive":"yes"}`, false},
		{`{"type":"toolResultContains","needle":"x","toolName":""}`, false},
		{`{"type":"toolResultMatches","patterns":["x"]}`, true},
		{`{"type":"toolResultMatches","patterns":["x"],"toolName":"t","flags":"im","path":"/q","min":1,"max":1}`, true},
		{`{"type":"toolResultMatches","patterns":["x"],"toolName":""}`, false},
		{`{"type":"toolResultMatches"}`, false},
		{`{"type":"toolResultMatches","patterns":[]}`, false},
		{`{"type":"toolResultMatches","patterns":["1","2","3","4","5","6","7","8","9"]}`, false},
		{`{"type":"toolResultMatches","patterns":["` + units(513) + `"]}`, false},
		{`{"type":"toolResultMatches","patterns":["(?<=x)y"]}`, false},
		{`{"type":"toolResultMatches","patterns":["x"],"flags":"x"}`, false},
		{`{"type":"toolResultMatches","patterns":["x"],"path":"/a/b"}`, false},
		{`{"type":"toolResultMatches","patterns":["x"],"min":0}`, false},
		{`{"type":"toolResultMatches","patterns":["x"],"min":2,"max":1}`, false},
		{`{"type":"toolResultMatchesSchema","schema":{}}`, true},
		{`{"type":"toolResultMatchesSchema","schema":null}`, true},
		{`{"type":"toolResultMatchesSchema","schema":{"x":"` + units(16_384-8) + `"}}`, true},
		{`{"type":"toolResultMatchesSchema","schema":{"x":"` + units(16_384-7) + `"}}`, false},
		{`{"type":"toolResultMatchesSchema","schema":{"x":"` + strings.Repeat("ä", 8188) + `"}}`, true},
		{`{"type":"toolResultMatchesSchema","schema":{"x":"` + strings.Repeat("ä", 8189) + `"}}`, false},
		{`{"type":"toolResultMatchesSchema"}`, false},
		{`{"type":"toolResultMatchesSchema","schema":{},"toolName":""}`, false},
		{`{"type":"toolResultSizeUnder","maxBytes":1}`, true},
		{`{"type":"toolResultSizeUnder","maxBytes":0}`, false},
		{`{"type":"toolResultSizeUnder","maxBytes":1.5}`, false},
		{`{"type":"toolResultSizeUnder","maxBytes":9223372036854775807}`, true},
		{`{"type":"toolResultSizeUnder","maxBytes":9223372036854775808}`, false},
		{`{"type":"toolResultSizeUnder"}`, false},
		{`{"type":"toolResultSizeUnder","maxBytes":1,"toolName":""}`, false},
		{`{"type":"toolErrorNamesInput"}`, true},
		{`{"type":"toolErrorNamesInput","toolName":"t"}`, true},
		{`{"type":"toolErrorNamesInput","toolName":""}`, false},
		{`{"type":"fullPageHasContinuation","toolName":"t"}`, true},
		{`{"type":"fullPageHasContinuation","toolName":""}`, false},

		{`{"type":"responseContains","needle":"` + units(200_000) + `"}`, true},
		{`{"type":"responseContains","needle":""}`, false},
		{`{"type":"responseContains"}`, false},
		{`{"type":"responseContains","needle":"x","caseSensitive":"yes"}`, false},
		{`{"type":"responseMatches","pattern":"x"}`, true},
		{`{"type":"responseMatches","pattern":"(a+)+"}`, true},
		{`{"type":"responseMatches","pattern":""}`, false},
		{`{"type":"responseMatches","pattern":"(?!x)"}`, false},
		{`{"type":"responseMatches","pattern":"(a)\\1"}`, false},
		{`{"type":"responseMatches","pattern":"\\u0041"}`, false},
		{`{"type":"responseMatches","pattern":"("}`, false},
		{`{"type":"responseMatches","pattern":42}`, false},
		{`{"type":"responseMatches"}`, false},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":0}`, true},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":1,"caseSensitive":false,"normalizeWhitespace":true}`, true},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":1.0001}`, false},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":-0.1}`, false},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":"0.5"}`, false},
		{`{"type":"responseCloseTo","reference":"x"}`, false},
		{`{"type":"responseCloseTo","maxDistance":1}`, false},
		{`{"type":"responseCloseTo","reference":"","maxDistance":1}`, false},
		{`{"type":"responseCloseTo","reference":"\ufeff \n","maxDistance":1,"normalizeWhitespace":true}`, false},
		{`{"type":"responseCloseTo","reference":" ","maxDistance":1}`, true},
		{`{"type":"responseCloseTo","reference":"x","maxDistance":1,"normalizeWhitespace":1}`, false},
		{`{"type":"responseCloseTo","reference":"` + units(100_000) + `","maxDistance":1}`, true},
		{`{"type":"responseCloseTo","reference":"` + units(100_001) + `","maxDistance":1}`, false},
		{`{"type":"responseCloseTo","reference":"` + strings.Repeat("İ", 50_001) + `","maxDistance":1}`, false},
		{`{"type":"responseCloseTo","reference":"` + strings.Repeat("İ", 50_001) + `","maxDistance":1,"caseSensitive":true}`, true},
		{`{"type":"finalAssistantMessageNonEmpty"}`, true},
		{`{"type":"noEndingQuestion"}`, true},
		{`{"type":"tokenBudgetUnder","tokens":1}`, true},
		{`{"type":"tokenBudgetUnder","tokens":1e3}`, true},
		{`{"type":"tokenBudgetUnder","tokens":0}`, false},
		{`{"type":"tokenBudgetUnder","tokens":-1}`, false},
		{`{"type":"tokenBudgetUnder","tokens":100.5}`, false},
		{`{"type":"tokenBudgetUnder"}`, false},
		{`{"type":"turnCountUnder","turns":1}`, true},
		{`{"type":"turnCountUnder","turns":0}`, false},
		{`{"type":"turnCountUnder","turns":"8"}`, false},
		{`{"type":"turnCountUnder"}`, false},
		{`{"type":"widgetRendered"}`, true},
		{`{"type":"widgetRendered","toolName":""}`, false},
		{`{"type":"widgetRenderLatencyUnder","ms":1}`, true},
		{`{"type":"widgetRenderLatencyUnder","ms":0}`, false},
		{`{"type":"widgetRenderLatencyUnder","ms":1000000000000}`, true},
		{`{"type":"widgetRenderLatencyUnder","ms":1000000000001}`, false},
		{`{"type":"widgetRenderLatencyUnder","toolName":"t"}`, false},
		{`{"type":"widgetRenderLatencyUnder","ms":1,"toolName":""}`, false},
		{`{"type":"widgetNoConsoleErrors","toolName":"t"}`, true},
		{`{"type":"widgetNoConsoleErrors","toolName":""}`, false},
	} {
		p := parsed(t, c.text)
		if _, err := New(p.Info.Name, Advisory, p.Fields...); (err == nil) != c.ok {
			t.Errorf("%.100s: %v, want ok %v", c.text, err, c.ok)
		}
	}
}
