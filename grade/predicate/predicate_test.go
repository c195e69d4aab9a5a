package predicate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// whole is the capture of a session that was recorded from beginning to end.
var whole = session.Capture{
	ToolCalls: session.Complete, ToolErrors: session.Complete, ToolResults: session.Complete,
	ToolCallTimings: session.Complete, ToolInventory: session.Complete, ToolDeclarations: session.Complete,
}

func check(t testing.TB, kind string, fields ...value.Member) *Check {
	t.Helper()
	c, err := New(kind, Gating, fields...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func toolName(name string) value.Member { return value.M("toolName", value.Text(name)) }
func ms(n string) value.Member          { return value.M("ms", value.Num(n)) }

// tools makes the inventory of tools with their input schemas.
func tools(pairs ...string) *catalog.List {
	l := &catalog.List{State: catalog.Complete}
	for i := 0; i < len(pairs); i += 2 {
		l.Tools = append(l.Tools, catalog.Tool{Name: pairs[i], InputSchema: []byte(pairs[i+1])})
	}
	return l
}

// evidence makes evidence of calls; each is "tool" or "tool {arguments}".
func evidence(l *catalog.List, calls ...string) *Evidence {
	ev := &Evidence{Capture: whole}
	if l != nil {
		ev.Lists = []*catalog.List{l}
	}
	for i, text := range calls {
		name, args, has := strings.Cut(text, " ")
		c := CallEvidence{Seq: int64(10 * (i + 1)), Index: -1, Tool: name}
		if has {
			c.Arguments = func() ([]byte, error) { return []byte(args), nil }
		}
		if e, ok := l.Find(name); ok {
			c.Entry = e
		} else {
			c.EntryWhy = "the list of tools does not have it"
		}
		ev.Calls = append(ev.Calls, c)
	}
	return ev
}

func (ev *Evidence) with(change func(*Evidence)) *Evidence {
	change(ev)
	return ev
}

func timing(i int, ns, waited int64) func(*Evidence) {
	return func(ev *Evidence) {
		c := &ev.Calls[i]
		ev.Timings = append(ev.Timings, Timing{Tool: c.Tool, Seq: c.Seq, Index: c.Index, Ns: ns, WaitedNs: waited})
	}
}

func failure(i int, kind ErrorKind, message string) func(*Evidence) {
	return func(ev *Evidence) {
		c := &ev.Calls[i]
		ev.Errors = append(ev.Errors, ToolError{Kind: kind, Tool: c.Tool, Seq: c.Seq, Index: c.Index, Record: c.Seq + 1, Message: message})
	}
}

func lose(ch Channel, s session.CaptureState) func(*Evidence) {
	return func(ev *Evidence) {
		switch ch {
		case ToolCalls:
			ev.Capture.ToolCalls = s
		case ToolErrors:
			ev.Capture.ToolErrors = s
		case ToolCallTimings:
			ev.Capture.ToolCallTimings = s
		case ToolInventory:
			ev.Capture.ToolInventory = s
		case ToolResults:
			ev.Capture.ToolResults = s
		case ToolDeclarations:
			ev.Capture.ToolDeclarations = s
		case FinalText, Turns, UsageCount, Renders:
			talk := Conversation{}
			if ev.Conversation != nil {
				talk = *ev.Conversation
			}
			map[Channel]func(){
				FinalText:  func() { talk.FinalTextState = s },
				Turns:      func() { talk.TurnsState = s },
				UsageCount: func() { talk.UsageState = s },
				Renders:    func() { talk.RenderState = s },
			}[ch]()
			ev.Conversation = &talk
		default:
			panic(ch)
		}
	}
}

const (
	anyObject = `{"type":"object"}`
	needsQ    = `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}`
)

func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		check  *Check
		ev     *Evidence
		want   Result
		reason string // part of it
	}{
		"called":                 {check(t, "toolCalledAtLeastOnce", toolName("a")), evidence(nil, "b", "a"), Pass, "record 20"},
		"called by another case": {check(t, "toolCalledAtLeastOnce", toolName("a")), evidence(nil, "A"), Fail, `no call to "a"`},
		"called with a blank":    {check(t, "toolCalledAtLeastOnce", toolName("a")), evidence(nil).with(func(ev *Evidence) { ev.Calls = []CallEvidence{{Tool: "a "}} }), Fail, ""},
		"never called":           {check(t, "toolNeverCalled", toolName("a")), evidence(nil, "b"), Pass, ""},
		"called though never":    {check(t, "toolNeverCalled", toolName("a")), evidence(nil, "b", "a", "a"), Fail, "record 20"},
		"no errors":              {check(t, "noToolErrors"), evidence(nil, "a"), Pass, "1 call, no tool error"},
		"tool error":             {check(t, "noToolErrors"), evidence(nil, "a").with(failure(0, ContentError, "boom")), Fail, `the server reported a tool error: "boom"`},
		"protocol error":         {check(t, "noToolErrors"), evidence(nil, "a").with(failure(0, ProtocolError, "")), Fail, "protocol error"},
		"isError is no boolean": {check(t, "noToolErrors"), evidence(nil, "a").with(func(ev *Evidence) {
			ev.Undecided = []Undecided{{"a", 10, -1, "isError of its result is no boolean", nil}}
		}), Error, "isError"},
		"an error beside undecided":  {check(t, "noToolErrors"), evidence(nil, "a", "b").with(failure(1, ContentError, "x")).with(func(ev *Evidence) { ev.Undecided = []Undecided{{"a", 10, -1, "w", nil}} }), Fail, ""},
		"fast enough":                {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a").with(timing(0, 99_999_999, 0)), Pass, "99.999 ms"},
		"exactly the limit":          {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a").with(timing(0, 100_000_000, 0)), Fail, "not under 100 ms"},
		"both figures":               {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a").with(timing(0, 50e6, 200e6)), Pass, "took 50 ms without the 200 ms that the server waited for the client (250 ms in all)"},
		"slow one of another tool":   {check(t, "toolLatencyUnder", ms("100"), toolName("b")), evidence(nil, "a", "b").with(timing(0, 1e9, 0)).with(timing(1, 1e6, 0)), Pass, ""},
		"one of two untimed":         {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a", "b").with(timing(0, 1e6, 0)), Error, "no timing"},
		"slow beside untimed":        {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a", "b").with(timing(0, 1e9, 0)), Fail, ""},
		"cancelled late":             {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a").with(func(ev *Evidence) { ev.Calls[0].Cancelled, ev.Calls[0].CancelledAfterNs = true, 100e6 }), Fail, "cancelled after 100 ms"},
		"cancelled early":            {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a").with(func(ev *Evidence) { ev.Calls[0].Cancelled, ev.Calls[0].CancelledAfterNs = true, 99e6 }), Pass, "no call to time"},
		"cancelled beside fast":      {check(t, "toolLatencyUnder", ms("100")), evidence(nil, "a", "b").with(timing(1, 1e6, 0)).with(func(ev *Evidence) { ev.Calls[0].Cancelled = true }), Pass, ""},
		"arguments fit":              {check(t, "argumentsMatchToolSchema"), evidence(tools("a", needsQ), `a {"q":"x"}`), Pass, "no violation"},
		"no arguments count as {}":   {check(t, "argumentsMatchToolSchema"), evidence(tools("a", needsQ), `a`), Fail, "missing-required"},
		"arguments null":             {check(t, "argumentsMatchToolSchema"), evidence(tools("a", anyObject), `a null`), Fail, "wrong-type"},
		"undeclared key, closed":     {check(t, "argumentsMatchToolSchema"), evidence(tools("a", needsQ), `a {"q":"x","z":1}`), Fail, "hallucinated-param at the arguments: 'z' not allowed"},
		"wrong one of another tool":  {check(t, "argumentsMatchToolSchema", toolName("b")), evidence(tools("a", needsQ, "b", anyObject), `a {}`, `b {}`), Pass, ""},
		"unknown tool":               {check(t, "argumentsMatchToolSchema"), evidence(tools("a", needsQ), `a {}`, `zz {}`), Error, "does not have it"},
		"no inputSchema":             {check(t, "argumentsMatchToolSchema"), evidence(tools("a", ""), `a {}`), Error, "no inputSchema"},
		"unusable schema":            {check(t, "argumentsMatchToolSchema"), evidence(tools("a", `{"$ref":"file:///etc/hostname"}`), `a {}`), Error, "never read"},
		"format is noted":            {check(t, "argumentsMatchToolSchema"), evidence(tools("a", `{"properties":{"m":{"format":"email"}}}`), `a {"m":"x"}`), Pass, "format is not asserted"},
		"arguments are no JSON":      {check(t, "argumentsMatchToolSchema"), evidence(tools("a", anyObject), `a {`), Error, "cannot be read"},
		"arguments nested deep":      {check(t, "argumentsMatchToolSchema"), evidence(tools("a", anyObject), `a `+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), Error, "nested deeper"},
		"huge number":                {check(t, "argumentsMatchToolSchema"), evidence(tools("a", `{"properties":{"n":{"maximum":1}}}`), `a {"n":1e3000000}`), Error, "exponent"},
		"duplicate key: last counts": {check(t, "argumentsMatchToolSchema"), evidence(tools("a", needsQ), `a {"q":1,"q":"x"}`), Pass, ""},
		"no call, partial list":      {check(t, "argumentsMatchToolSchema", toolName("b")), evidence(tools("a", needsQ)).with(lose(ToolInventory, session.Partial)), Error, "partial"},
		"no call, its entry known":   {check(t, "argumentsMatchToolSchema", toolName("a")), evidence(tools("a", needsQ)).with(lose(ToolInventory, session.Partial)), Pass, "no call in scope"},
		"entry on a partial list":    {check(t, "argumentsMatchToolSchema"), evidence(tools("a", needsQ), `a {"q":"x"}`).with(lose(ToolInventory, session.Partial)), Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Evaluate(c.check, c.ev)
			if got.Result != c.want || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %s: %q, want %s: …%s…", got.Result, got.Reason, c.want, c.reason)
			}
		})
	}
}

// The built kinds' columns of the corner table, grading.md 1.12 with 0.2.6.
func TestCorners(t *testing.T) {
	for _, c := range []struct {
		check *Check
		a, b  Result
	}{
		{check(t, "toolCalledAtLeastOnce", toolName("t")), Fail, Pass},
		{check(t, "toolNeverCalled", toolName("t")), Pass, Fail},
		{check(t, "noToolErrors"), Pass, Pass},
		{check(t, "argumentsMatchToolSchema"), Pass, Error},
		{check(t, "toolLatencyUnder", ms("5")), Pass, Error},
		{parsed(t, `{"type":"toolCalledWith","toolName":"t","args":{"args":{}}}`), Fail, Pass},
		{parsed(t, `{"type":"firstToolWas","toolName":"t"}`), Fail, Pass},
		{parsed(t, `{"type":"onlyToolsCalled","toolNames":["t"]}`), Pass, Pass},
		{parsed(t, `{"type":"toolCallCountUnder","count":5}`), Pass, Pass},
		{parsed(t, `{"type":"toolCalledBefore","toolName":"t","beforeToolName":"u"}`), Pass, Pass},
		{parsed(t, `{"type":"noRepeatedIdenticalCall"}`), Pass, Pass},
		{parsed(t, `{"type":"toolInputMatches","toolName":"t","patterns":["nothing"]}`), Fail, Fail},
		{parsed(t, `{"type":"noDeprecatedToolCalled"}`), Pass, Error},
		{parsed(t, `{"type":"noDestructiveToolCalled"}`), Pass, Error},
		{parsed(t, `{"type":"toolDescriptionsPresent"}`), Pass, Error},
		{parsed(t, `{"type":"toolAnnotationsPresent"}`), Pass, Error},
		{parsed(t, `{"type":"toolNamesUnique"}`), Pass, Error},
		{parsed(t, `{"type":"noDeprecatedToolExposed"}`), Pass, Error},
		{parsed(t, `{"type":"toolInputSchemasWellFormed"}`), Pass, Error},
		{parsed(t, `{"type":"toolOutputSchemasPresent"}`), Pass, Error},
	} {
		a := evidence(toolList(`{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`))
		a.Declarations = []Declaration{} // complete and empty
		// B has no capture block; the adapter states calls and errors complete.
		b := evidence(nil, "t {}").with(func(ev *Evidence) {
			ev.Capture = session.Capture{ToolCalls: session.Complete, ToolErrors: session.Complete}
			ev.Calls[0].EntryWhy = ""
		})
		if got := Evaluate(c.check, a); got.Result != c.a {
			t.Errorf("%s on A: %s (%s), want %s", c.check.Info.Name, got.Result, got.Reason, c.a)
		}
		if got := Evaluate(c.check, b); got.Result != c.b {
			t.Errorf("%s on B: %s (%s), want %s", c.check.Info.Name, got.Result, got.Reason, c.b)
		}
	}
}

// Every row of the table kind x partial is tried with evidence that passes and
// with evidence that fails when all is complete.
func TestPartialRules(t *testing.T) {
	type pair struct {
		check      *Check
		pass, fail func() *Evidence
	}
	slow := func(ns int64) func() *Evidence {
		return func() *Evidence { return evidence(nil, "t").with(timing(0, ns, 0)) }
	}
	listed := func(texts ...string) func() *Evidence { return func() *Evidence { return declared(texts...) } }
	made := func(l *catalog.List, calls ...string) func() *Evidence {
		return func() *Evidence { return evidence(l, calls...) }
	}
	samples := map[string]pair{
		"toolDescriptionsPresent":    {parsed(t, `{"type":"toolDescriptionsPresent"}`), listed(described), listed(bare)},
		"toolAnnotationsPresent":     {parsed(t, `{"type":"toolAnnotationsPresent"}`), listed(readOnly), listed(bare)},
		"toolNamesUnique":            {parsed(t, `{"type":"toolNamesUnique"}`), listed(bare), listed(bare, bare)},
		"noDeprecatedToolExposed":    {parsed(t, `{"type":"noDeprecatedToolExposed"}`), listed(bare), listed(`{"name":"t","description":"Deprecated."}`)},
		"toolInputSchemasWellFormed": {parsed(t, `{"type":"toolInputSchemasWellFormed"}`), listed(`{"name":"t","inputSchema":{"type":"object"}}`), listed(bare)},
		"toolOutputSchemasPresent":   {parsed(t, `{"type":"toolOutputSchemasPresent"}`), listed(`{"name":"t","outputSchema":{}}`), listed(bare)},

		"toolCalledWith":          {parsed(t, `{"type":"toolCalledWith","toolName":"t","args":{"args":{"q":1}}}`), made(nil, `t {"q":1}`), made(nil, `t {"q":2}`)},
		"onlyToolsCalled":         {parsed(t, `{"type":"onlyToolsCalled","toolNames":["t"]}`), made(nil, "t"), made(nil, "u")},
		"firstToolWas":            {parsed(t, `{"type":"firstToolWas","toolName":"t"}`), made(nil, "t"), made(nil, "u")},
		"toolCallCountUnder":      {parsed(t, `{"type":"toolCallCountUnder","count":2}`), made(nil, "t"), made(nil, "t", "t")},
		"toolCalledBefore":        {parsed(t, `{"type":"toolCalledBefore","toolName":"t","beforeToolName":"u"}`), made(nil, "t", "u"), made(nil, "u")},
		"noDeprecatedToolCalled":  {parsed(t, `{"type":"noDeprecatedToolCalled"}`), made(toolList(bare), "bare"), made(toolList(`{"name":"t","description":"Deprecated."}`), "t")},
		"noDestructiveToolCalled": {parsed(t, `{"type":"noDestructiveToolCalled"}`), made(toolList(readOnly), "list"), made(toolList(deletes), "delete")},
		"noRepeatedIdenticalCall": {parsed(t, `{"type":"noRepeatedIdenticalCall"}`), made(nil, "t"), made(nil, "t", "t")},
		"toolInputMatches":        {parsed(t, `{"type":"toolInputMatches","toolName":"t","patterns":["x"],"max":9}`), made(nil, `t {"q":"x"}`), made(nil, `t {}`)},
		"toolCalledAtLeastOnce": {check(t, "toolCalledAtLeastOnce", toolName("t")),
			func() *Evidence { return evidence(nil, "t") }, func() *Evidence { return evidence(nil, "u") }},
		"toolNeverCalled": {check(t, "toolNeverCalled", toolName("t")),
			func() *Evidence { return evidence(nil, "u") }, func() *Evidence { return evidence(nil, "t") }},
		"noToolErrors": {check(t, "noToolErrors"),
			func() *Evidence { return evidence(nil, "t") }, func() *Evidence { return evidence(nil, "t").with(failure(0, ContentError, "x")) }},
		"argumentsMatchToolSchema": {check(t, "argumentsMatchToolSchema"),
			func() *Evidence { return evidence(tools("t", needsQ), `t {"q":"x"}`) }, func() *Evidence { return evidence(tools("t", needsQ), `t {}`) }},
		"toolLatencyUnder": {check(t, "toolLatencyUnder", ms("100")), slow(1e6), slow(1e9)},
	}
	for kind, s := range resultSamples(t) {
		samples[kind] = pair(s)
	}
	rows := map[string]int{}
	for _, r := range PartialRules {
		rows[r.Kind]++
		s, ok := samples[r.Kind]
		if !ok {
			t.Errorf("no sample for %s", r.Kind)
			continue
		}
		for _, state := range []session.CaptureState{session.Partial, session.Absent, ""} {
			t.Run(fmt.Sprintf("%s/%s %s", r.Kind, r.Channel, state), func(t *testing.T) {
				if got := Evaluate(s.check, s.pass()); got.Result != Pass {
					t.Fatalf("complete: %s (%s), want pass", got.Result, got.Reason)
				}
				if got := Evaluate(s.check, s.fail()); got.Result != Fail {
					t.Fatalf("complete: %s (%s), want fail", got.Result, got.Reason)
				}
				// An outcome that rests on what was not seen has a column of its own.
				become := func(ev *Evidence, plain Result) Result {
					if o := s.check.Kind.Evaluate(s.check, ev); o.restsOnUnseen && r.Unseen != "" {
						return r.Unseen
					}
					return plain
				}
				if got, want := Evaluate(s.check, s.pass().with(lose(r.Channel, state))), become(s.pass(), r.Pass); got.Result != want {
					t.Errorf("a pass became %s (%s), want %s", got.Result, got.Reason, want)
				}
				if got, want := Evaluate(s.check, s.fail().with(lose(r.Channel, state))), become(s.fail(), r.Fail); got.Result != want {
					t.Errorf("a fail became %s (%s), want %s", got.Result, got.Reason, want)
				}
			})
		}
	}
	for _, k := range Built() {
		if rows[k.Name] == 0 {
			t.Errorf("%s has no row", k.Name)
		}
	}
	// Where the table has no row, partial evidence changes nothing.
	if got := Evaluate(samples["noToolErrors"].check, evidence(nil, "t").with(lose(ToolCallTimings, session.Absent))); got.Result != Pass {
		t.Errorf("noToolErrors reads no timings, got %s", got.Result)
	}
}

// Every kind that reads calls says what becomes of its pass when none could be
// made; the built ones are tried.
func TestNoCallCouldBeMade(t *testing.T) {
	rules := map[string]Result{}
	for _, r := range BlockedRules {
		info, _, known := Lookup(r.Kind)
		if _, twice := rules[r.Kind]; twice || !known || info.Link == Discovery || info.Link == UserValue {
			t.Errorf("row %+v", r)
		}
		// A kind that expects a call cannot pass without one.
		if (r.Pass == Pass) != info.NeedsCall {
			t.Errorf("%s: needs a call %v, a pass becomes %s", r.Kind, info.NeedsCall, r.Pass)
		}
		rules[r.Kind] = r.Pass
	}
	for _, n := range Names() {
		info, _, _ := Lookup(n)
		if _, ok := rules[n]; !ok && (info.Link == Selection || info.Link == Call || info.Link == Response) {
			t.Errorf("%s has no row", n)
		}
	}
	for _, x := range []struct {
		check  *Check
		free   Result // where a call could have been made
		result Result
	}{
		{check(t, "noToolErrors"), Pass, Error},
		{check(t, "toolNeverCalled", toolName("t")), Pass, Error},
		{check(t, "argumentsMatchToolSchema"), Pass, Error},
		{check(t, "toolLatencyUnder", ms("5")), Pass, Error},
		{check(t, "toolCalledAtLeastOnce", toolName("t")), Fail, Fail},
		{parsed(t, `{"type":"onlyToolsCalled","toolNames":["t","u"]}`), Pass, Error},
		{parsed(t, `{"type":"toolCallCountUnder","count":5}`), Pass, Error},
		{parsed(t, `{"type":"toolCalledBefore","toolName":"t","beforeToolName":"v"}`), Pass, Error},
		{parsed(t, `{"type":"noDeprecatedToolCalled"}`), Pass, Error},
		{parsed(t, `{"type":"noRepeatedIdenticalCall"}`), Pass, Error},
		{parsed(t, `{"type":"toolInputMatches","toolName":"t","patterns":["x"],"min":0,"max":0}`), Pass, Error},
		{parsed(t, `{"type":"firstToolWas","toolName":"t"}`), Fail, Fail},
		{parsed(t, `{"type":"toolCalledWith","toolName":"t","args":{"args":{}}}`), Fail, Fail},
	} {
		t.Run(x.check.Info.Name, func(t *testing.T) {
			ev := evidence(tools("t", anyObject))
			if got := Evaluate(x.check, ev); got.Result != x.free {
				t.Errorf("free: %s (%s), want %s", got.Result, got.Reason, x.free)
			}
			ev.NoCallBecause = "connection failed"
			got := Evaluate(x.check, ev)
			if got.Result != x.result || x.result == Error && got.Reason != "no call could be made: connection failed" {
				t.Errorf("%s (%s), want %s", got.Result, got.Reason, x.result)
			}
			// A call that was made all the same is evidence.
			called := evidence(tools("u", anyObject), "u {}").with(timing(0, 1, 0)).with(func(ev *Evidence) { ev.NoCallBecause = "connection failed" })
			if got := Evaluate(x.check, called); got.Result != x.free {
				t.Errorf("with a call: %s (%s), want %s", got.Result, got.Reason, x.free)
			}
		})
	}
}

func TestRegistry(t *testing.T) {
	if n := len(Names()); n != 36 {
		t.Errorf("%d kinds, want 36", n)
	}
	perLink, observation := map[Link]int{}, 0
	for _, n := range Names() {
		info, _, _ := Lookup(n)
		perLink[info.Link]++
		if info.Observation {
			observation++
		}
	}
	if want := "map[call:3 discovery:6 response:8 selection:9 userValue:10]"; fmt.Sprint(perLink) != want {
		t.Errorf("kinds per link %v, want %s", perLink, want)
	}
	if observation != 6 {
		t.Errorf("%d observation kinds, want 6", observation)
	}
	for _, k := range Built() {
		if _, found, known := Lookup(k.Name); !known || found != k {
			t.Errorf("%s is built and not in the table", k.Name)
		}
		if k.Title == "" || k.Text == "" || k.Example == "" || k.Evaluate == nil {
			t.Errorf("%s is not documented whole", k.Name)
		}
	}
	if _, _, known := Lookup("toolMaybeCalled"); known {
		t.Error("an unknown kind is known")
	}
}

func TestABrokenEvaluatorIsAnErrorRow(t *testing.T) {
	k := &Kind{Name: "broken", Evaluate: func(*Check, *Evidence) Outcome { panic("out of range") }}
	got := Evaluate(&Check{Kind: k}, evidence(nil))
	if got.Result != Error || !strings.Contains(got.Reason, "out of range") {
		t.Errorf("got %+v", got)
	}
}

func TestReasonsAreSafe(t *testing.T) {
	parse := func(s string) *value.Value {
		v, err := value.Parse([]byte(s), value.Options{MaxDepth: 50})
		if err != nil {
			t.Fatal(err)
		}
		return &v
	}
	for name, c := range map[string]struct{ got, want string }{
		"secret keys":       {Shown(parse(`{"user":"u","ApiKey":"k1","nested":{"my_password":["p"],"Cookie":1}}`)), `{"ApiKey":"[redacted]","nested":{"Cookie":"[redacted]","my_password":"[redacted]"},"user":"u"}`},
		"deep":              {Shown(parse(strings.Repeat(`[`, 9) + strings.Repeat(`]`, 9))), `[[[[[[["… (deeper)"]]]]]]]`},
		"bearer":            {Quoted("Authorization: Bearer abc.def-ghi, then"), `"Authorization: Bearer [redacted], then"`},
		"pair":              {Quoted(`password=hunter22 and "access_token": "abc"`), `"password=[redacted] and "access_token": "[redacted]""`},
		"vendor prefix":     {Quoted("got sk-ABCDEFGH1234 and ghp_0123456789ab"), `"got [redacted] and [redacted]"`},
		"no vendor prefix":  {Quoted("risk-assessment task_12345678"), `"risk-assessment task_12345678"`},
		"terminal controls": {Quoted("a\x1b[31m\u202eb\n"), `"a\u001b[31m\u202eb\n"`},
		"lone surrogate":    {Quoted("a\xed\xa0\xbdb"), `"a\ud83db"`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", name, c.got, c.want)
		}
	}
	long := Shown(parse(`"` + strings.Repeat("ä", 300) + `"`))
	if !strings.HasSuffix(long, "… (102 more characters)") {
		t.Errorf("cut value: %s", long)
	}
	items := Shown(parse(`[` + strings.Repeat("1,", 29) + `1]`))
	if !strings.Contains(items, "(10 more items)") {
		t.Errorf("cut list: %s", items)
	}
	if s := Sentence(strings.Repeat("x", 700)); !strings.HasSuffix(s, "… (100 more characters)") {
		t.Errorf("cut reason: %s", s[590:])
	}
	ev := evidence(nil, "a", "b", "c", "d", "e")
	for i := range ev.Calls {
		ev.with(failure(i, ContentError, "token=abcdef"))
	}
	got := Evaluate(check(t, "noToolErrors"), ev)
	if !strings.HasSuffix(got.Reason, "; and 2 more") || strings.Contains(got.Reason, "abcdef") || len(got.Records) != 5 {
		t.Errorf("reason %q, records %v", got.Reason, got.Records)
	}
}

// The same file a kind's example stands in must load; the suite loader's test
// does that. Here: each example names its own kind.
func TestExamples(t *testing.T) {
	for _, k := range Built() {
		if !strings.Contains(k.Example, "type: "+k.Name) {
			t.Errorf("%s: example %s", k.Name, k.Example)
		}
	}
}
