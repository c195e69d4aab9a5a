package grade_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/importers"
	"github.com/sixlink/sixlink/record/host/join"
)

// rig is one connection of a real host's run with the transcript that it left.
type rig struct {
	rec  *grade.Recording
	talk *host.Conversation
}

// rigOf reads the recording of connection conn of a sample and joins the transcript.
// edit changes the transcript before.
func rigOf(t testing.TB, dir, talk, conn string, edit func(*host.Conversation)) rig {
	t.Helper()
	return rigCut(t, dir, talk, conn, nil, edit)
}

// rigCut is rigOf; cut changes the recording before.
func rigCut(t testing.TB, dir, talk, conn string, cut func(*fixtures.Recording), edit func(*host.Conversation)) rig {
	t.Helper()
	cs, err := host.Import(filepath.Join(fixtures.Dir(), "hosts", dir, talk), importers.All(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recs, err := fixtures.HostWire(dir, "wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out rig
	var ws []join.Wire
	for _, r := range recs {
		if r.Header.ID != conn {
			continue
		}
		if cut != nil {
			cut(r)
		}
		rec := decodeCase(t.(*testing.T), r)
		rec.Labels = r.Header.Labels
		out.rec = &rec
		for _, s := range rec.Sessions {
			ws = append(ws, join.Wire{Recording: rec.ID, Session: s, Server: "shop", Start: r.Header.Start.Time, HostSession: r.Header.EnvValues["CLAUDE_CODE_SESSION_ID"]})
		}
	}
	out.talk = cs[0]
	for _, c := range cs { // 1.0.98 leaves a file a process
		if c.Turns[0].CopiedFrom == "" && len(c.Turns) > len(out.talk.Turns) || out.talk.Turns[0].CopiedFrom != "" {
			out.talk = c
		}
	}
	if edit != nil {
		edit(out.talk)
	}
	r := join.Join([]*host.Conversation{out.talk}, ws, join.Options{})
	out.rec.Joined = grade.Talks(r)[out.rec.ID]
	if len(out.rec.Joined) == 0 {
		t.Fatalf("%s: %s", r.Conversations[0].Verdict, r.Conversations[0].Why)
	}
	return out
}

func (r rig) grade(t testing.TB, suite string) *grade.Trial {
	t.Helper()
	return r.gradeWith(t, suite, grade.Options{})
}

// gradeToEnd takes the transcript's word at a torn end.
func (r rig) gradeToEnd(t testing.TB, suite string) *grade.Trial {
	t.Helper()
	return r.gradeWith(t, suite, grade.Options{TranscriptEnd: true})
}

func (r rig) gradeWith(t testing.TB, suite string, o grade.Options) *grade.Trial {
	t.Helper()
	v, err := grade.Grade(mustLoad(t, suite), []grade.Recording{*r.rec}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.Cases {
		if len(v.Cases[i].Trials) > 0 {
			return &v.Cases[i].Trials[0]
		}
	}
	t.Fatalf("no trial: %+v", v.Skipped)
	return nil
}

// outcomes are a trial's rows in short, with the reasons for those that did not pass.
func outcomes(tr *grade.Trial) (out []string) {
	for i := range tr.Rows {
		r := &tr.Rows[i]
		s := fmt.Sprintf("%s %s", r.Name, r.Result)
		if r.Turn >= 0 {
			s = fmt.Sprintf("%d %s", r.Turn, s)
		}
		out = append(out, s)
	}
	return out
}

func links(tr *grade.Trial) string {
	var out []string
	for _, l := range tr.Chain.Links {
		out = append(out, string(l.State))
	}
	return strings.Join(out, " ")
}

// One process of Claude Code 1.0.98 against the rig's server: eight turns. Which
// turn made which call, what was answered and what was denied is in the sample's
// truth.json; the tokens are the sum of its model_responses of the first process's
// main loop, added up by hand with jq over the session file (last usage of each
// message id): every turn of theirs is in TestTruth of the importer.
func TestTurnsOfARealHost(t *testing.T) {
	tr := rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", nil).grade(t, `
cases:
  - id: c
    match: {prompt: "Where is order A-1001, and what is the returns policy?"}
    turns:
      - prompt: "Where is order A-1001, and what is the returns policy?"
        expectedToolCalls:
          - {toolName: lookup_order, arguments: {order_id: A-1001}}
          - {toolName: search_docs, arguments: {query: returns}}
        assertions: [{type: responseContains, needle: in transit}, {type: toolNeverCalled, toolName: delete_all}, {type: noToolErrors}]
      - prompt: "Cancel order A-9999."
        assertions: [{type: noToolErrors}, {type: toolCalledAtLeastOnce, toolName: cancel.order}, {type: noEndingQuestion, role: advisory}]
      - prompt: "Give me the full export."
      - prompt: "Show the chart."
      - prompt: "Delete everything."
        assertions: [{type: toolNeverCalled, toolName: delete_all}, {type: responseContains, needle: not allowed}]
    assertions: [{type: turnCountUnder, turns: 9}, {type: turnCountUnder, turns: 8}, {type: finalAssistantMessageNonEmpty}, {type: toolCallCountUnder, count: 12},
      {type: noDestructiveToolCalled}, {type: argumentsMatchToolSchema}]
`)
	want := []string{"toolCalls:match pass", "toolCalls:arguments pass",
		"0 responseContains pass", "0 toolNeverCalled pass", "0 noToolErrors pass",
		"1 noToolErrors fail", "1 toolCalledAtLeastOnce pass", "1 noEndingQuestion fail",
		"4 toolNeverCalled fail", "4 responseContains pass",
		"turnCountUnder pass", "turnCountUnder fail", "finalAssistantMessageNonEmpty pass", "toolCallCountUnder pass",
		"noDestructiveToolCalled fail", "argumentsMatchToolSchema fail"}
	if d := cmp.Diff(want, outcomes(tr)); d != "" {
		for _, r := range tr.Rows {
			t.Logf("%s %s %s", r.Name, r.Result, r.Reason)
		}
		t.Errorf("-want +got\n%s", d)
	}
	if n := tr.Talk; n == nil || n.Verdict != "joined" || len(n.HostOnly) != 1 || !strings.Contains(n.HostOnly[0], "delete_all") || !strings.Contains(n.HostOnly[0], "denied") {
		t.Errorf("note %+v", n)
	}
}

// The same host, six links decided by a suite that the run fulfils.
func TestSixLinksDecided(t *testing.T) {
	const suite = `
usage: {source: responses}
cases:
  - id: c
    turns:
      - prompt: "Where is order A-1001, and what is the returns policy?"
        expectedToolCalls: [{toolName: lookup_order, arguments: {order_id: A-1001}}]
        assertions: [{type: responseContains, needle: 2 days}]
    assertions: [{type: tokenBudgetUnder, tokens: 100000}, {type: toolResultContains, toolName: lookup_order, needle: transit}]
`
	for _, r := range []struct{ dir, talk, conn string }{
		{"rig-claude-code/2.0.65", "stream-2.ndjson", "conn-3632"},
		{"rig-codex/0.171.0", "sessions", "conn-9259"},
	} {
		g := rigOf(t, r.dir, r.talk, r.conn, func(c *host.Conversation) {
			// Of a conversation over several processes this connection has the first turn
			// alone; what follows is taken out, as in a transcript of that time.
			c.Turns = c.Turns[:1]
			c.Calls = slices.DeleteFunc(c.Calls, func(k host.Call) bool { return k.Turn > 0 })
			if len(c.Turns[0].Prompts) == 0 { // streams lack it
				c.Turns[0].Prompts = []host.Prompt{{Text: host.Text{Text: "Where is order A-1001, and what is the returns policy?"}}}
			}
			for i := range c.Turns[0].Usage {
				c.Turns[0].Usage[i].Source = "responses"
			}
			c.Turns[0].Usage = c.Turns[0].Usage[:1]
		})
		tr := g.grade(t, suite)
		if links(tr) != "passed passed passed passed passed passed" {
			for _, r := range tr.Rows {
				t.Logf("%s %s %s", r.Name, r.Result, r.Reason)
			}
			t.Errorf("%s: %s", r.dir, links(tr))
		}
		// Without a transcript nothing is guessed.
		g.rec.Joined = nil
		v, err := grade.Grade(mustLoad(t, suite), []grade.Recording{*g.rec}, grade.Options{Case: "c"})
		if err != nil {
			t.Fatal(err)
		}
		bare := &v.Cases[0].Trials[0]
		if v.ExitCode() != 3 || bare.Chain.Links[5].State != chain.NotMeasured {
			t.Errorf("%s without a transcript: exit %d, %s", r.dir, v.ExitCode(), links(bare))
		}
	}
}

// What a transcript lacks is an error, what it says is empty a failure.
func TestStatesOfTheFinalText(t *testing.T) {
	suite := `defaults: {assertions: [{type: finalAssistantMessageNonEmpty}, {type: turnCountUnder, turns: 20}]}`
	last := func(c *host.Conversation) *host.Turn { return &c.Turns[len(c.Turns)-1] }
	for _, row := range []struct {
		name string
		edit func(c *host.Conversation)
		want []string
	}{
		{"text", nil, []string{"finalAssistantMessageNonEmpty pass", "turnCountUnder pass"}},
		{"empty", func(c *host.Conversation) { last(c).FinalText = host.FinalText{State: host.EmptyText} }, []string{"finalAssistantMessageNonEmpty fail", "turnCountUnder pass"}},
		{"a widget stands for it", func(c *host.Conversation) { last(c).FinalText = host.FinalText{State: host.WidgetText} }, []string{"finalAssistantMessageNonEmpty fail", "turnCountUnder pass"}},
		{"not on record", func(c *host.Conversation) { last(c).FinalText = host.FinalText{State: host.AbsentText} }, []string{"finalAssistantMessageNonEmpty error", "turnCountUnder pass"}},
		{"the transcript ends in the turn", func(c *host.Conversation) { last(c).Status = host.Open }, []string{"finalAssistantMessageNonEmpty error", "turnCountUnder pass"}},
		{"not kept whole", func(c *host.Conversation) { last(c).FinalText.Text.Cut = true }, []string{"finalAssistantMessageNonEmpty error", "turnCountUnder pass"}},
		{"turns are missing", func(c *host.Conversation) { c.Caps.Turns = host.Partial }, []string{"finalAssistantMessageNonEmpty error", "turnCountUnder error"}},
		{"no turns", func(c *host.Conversation) { c.Caps.Turns = host.Absent }, []string{"finalAssistantMessageNonEmpty pass", "turnCountUnder error"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", row.edit).grade(t, suite)
			if d := cmp.Diff(row.want, outcomes(tr)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// Which tokens count. The figures: uncached 100, read 200, write 30, output 10 for the
// main agent; 1, 2, 3 and 4 for the subagent, which worked in the turn.
func TestUsageRules(t *testing.T) {
	fig := func(source string, agents host.Agents, in, read, write, out int64) host.Usage {
		return host.Usage{Source: source, Scope: host.OfTurn, Agents: agents, InputUncached: host.Known(in), CacheRead: host.Known(read), CacheWrite: host.Known(write), Output: host.Known(out), ReasoningInOutput: true}
	}
	main, sub := fig("responses", host.MainAgent, 100, 200, 30, 10), fig("responses", host.SubAgents, 1, 2, 3, 4)
	other := fig("result", host.MainAgent, 100, 200, 30, 11)
	total := host.Usage{Source: "modelUsage", Scope: host.OfSession, Agents: host.AllAgents, InputUncached: host.Known(500), Output: host.Known(50)}
	apart := main
	apart.ReasoningInOutput, apart.Reasoning = false, host.Known(5)
	onlyTotal := host.Usage{Source: "thread", Scope: host.OfTurn, Agents: host.MainAgent, Total: host.Known(77)}
	for _, row := range []struct {
		name, usage string
		turn        []host.Usage
		session     []host.Usage
		want        int64 // -1: an error
	}{
		{"all that went in and out", "", []host.Usage{main, sub}, nil, 340},
		{"without the cache", "usage: {cache: exclude}", []host.Usage{main, sub}, nil, 110},
		{"with subagents", "usage: {subagents: include}", []host.Usage{main, sub}, nil, 350},
		{"with subagents that are not counted", "usage: {subagents: include}", []host.Usage{main}, nil, -1},
		{"sources that disagree", "", []host.Usage{main, other}, nil, -1},
		{"sources that disagree, one named", "usage: {source: result}", []host.Usage{main, other}, nil, 341},
		{"a source that is not there", "usage: {source: result}", []host.Usage{main}, nil, -1},
		{"a total of the session with helpers, asked for", "usage: {subagents: include, source: modelUsage}", []host.Usage{main}, []host.Usage{total}, 550},
		{"a total of the session with helpers is no rival", "", []host.Usage{main}, []host.Usage{total}, 340},
		{"reasoning apart from output", "", []host.Usage{apart}, nil, 345},
		{"a total alone", "", []host.Usage{onlyTotal}, nil, 77},
		{"a total alone, without the cache", "usage: {cache: exclude}", []host.Usage{onlyTotal}, nil, -1},
		{"none", "", nil, nil, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			edit := func(c *host.Conversation) {
				for i := range c.Turns {
					c.Turns[i].Usage = nil
					if len(row.turn) > 0 {
						zero := fig(row.turn[0].Source, host.MainAgent, 0, 0, 0, 0)
						if row.turn[0].Source == "thread" {
							zero = host.Usage{Source: "thread", Agents: host.MainAgent, Total: host.Known(0)}
						}
						c.Turns[i].Usage = []host.Usage{zero}
					}
				}
				c.Usage = row.session
				// The subagent of the sample works in turn 7.
				c.Turns[7].Usage = row.turn
				for i := range c.Turns[:7] {
					for _, u := range row.turn[min(1, len(row.turn)):] {
						z := fig(u.Source, u.Agents, 0, 0, 0, 0)
						c.Turns[i].Usage = append(c.Turns[i].Usage, z)
					}
				}
			}
			r := rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", edit)
			for _, d := range []int64{0, 1} {
				want := predicate.Fail
				if d == 1 {
					want = predicate.Pass
				}
				limit := row.want + d
				if row.want < 0 {
					want, limit = predicate.Error, 1000
				}
				tr := r.grade(t, row.usage+fmt.Sprintf("\ndefaults: {assertions: [{type: tokenBudgetUnder, tokens: %d}]}", limit))
				if got := tr.Rows[0]; got.Result != want {
					t.Errorf("limit %d: %s (%s)", limit, got.Result, got.Reason)
				}
			}
		})
	}
}

// evidence: model judges what the model saw: 2.0.65 shows structured content in place
// of the text blocks, and the wire has both.
func TestEvidenceOfTheModel(t *testing.T) {
	suite := func(evidence string) string {
		return "evidence: " + evidence + "\ndefaults: {assertions: [{type: toolResultContains, toolName: lookup_order, needle: '\"order_id\":\"A-1001\"'}, {type: toolResultContains, toolName: export_orders, needle: persisted-output}]}"
	}
	r := rigOf(t, "rig-claude-code/2.1.332", "stream-1.ndjson", "conn-3970", nil)
	wire, model := r.grade(t, suite("wire")), r.grade(t, suite("model"))
	if d := cmp.Diff([]string{"toolResultContains pass", "toolResultContains fail"}, outcomes(wire)); d != "" {
		t.Errorf("wire: -want +got\n%s", d)
	}
	if d := cmp.Diff([]string{"toolResultContains pass", "toolResultContains pass"}, outcomes(model)); d != "" {
		t.Errorf("model: -want +got\n%s\n%v", d, model.Rows)
	}
	r.rec.Joined = nil
	if d := cmp.Diff([]string{"toolResultContains error", "toolResultContains error"}, outcomes(r.grade(t, suite("model")))); d != "" {
		t.Errorf("no transcript: -want +got\n%s", d)
	}
}

// An interrupted turn measures nothing; an error of the model's provider is not the
// server's.
func TestEndsOfTheHost(t *testing.T) {
	suite := `defaults: {assertions: [{type: finalAssistantMessageNonEmpty}]}`
	tr := rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", func(c *host.Conversation) { c.Turns[2].Status = host.Interrupted }).grade(t, suite)
	if strings.Contains(links(tr), "passed") || strings.Contains(links(tr), "failed") {
		t.Errorf("interrupted: %s", links(tr))
	}
	tr = rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", func(c *host.Conversation) {
		c.Turns[len(c.Turns)-1].Status = host.Failed
		c.Turns[len(c.Turns)-1].FinalText = host.FinalText{State: host.EmptyText}
	}).grade(t, suite)
	if tr.Chain.Links[5].State == chain.Passed {
		t.Errorf("the model's provider failed: %s", links(tr))
	}
}

// Rests of the join, each on a real run from which something was taken.
func TestRestsInTheRow(t *testing.T) {
	const suite = `defaults: {assertions: [{type: toolCalledAtLeastOnce, toolName: get_chart}, {type: toolNeverCalled, toolName: get_chart}, {type: toolCallCountUnder, count: 12}, {type: responseContains, needle: delivered}, {type: toolLatencyUnder, ms: 100000}]}`
	chart := func(k *host.Call) bool { return k.Tool.Shown == "get_chart" }
	for _, row := range []struct {
		name string
		edit func(c *host.Conversation)
		want []string
		why  string // in the reason of the first error
	}{
		{"nothing left over", nil, []string{"pass", "fail", "pass", "pass", "pass"}, ""},
		{"the transcript lacks a call", func(c *host.Conversation) {
			c.Calls = slices.DeleteFunc(c.Calls, func(k host.Call) bool { return chart(&k) })
		}, []string{"error", "error", "pass", "pass", "pass"}, "1 call on the wire that the transcript does not have, and without them it would be fail"},
		{"the wire lacks a call", func(c *host.Conversation) {
			k := c.Calls[0]
			k.HostCallID, k.Args = "toolu_another", &host.Value{JSON: []byte(`{"order_id":"A-5555"}`)}
			c.Calls = append(c.Calls, k)
		}, []string{"pass", "fail", "fail", "pass", "error"}, "1 call of the host that should be on the wire and are not"},
		{"arguments that differ", func(c *host.Conversation) {
			for i := range c.Calls {
				if chart(&c.Calls[i]) {
					c.Calls[i].Args = &host.Value{JSON: []byte(`{"size":"large"}`)}
				}
			}
		}, []string{"error", "error", "error", "error", "pass"}, "1 call whose tool or arguments the host and the wire tell differently"},
		{"another outcome", func(c *host.Conversation) {
			for i := range c.Calls {
				if chart(&c.Calls[i]) {
					failed := true
					c.Calls[i].HostError = &failed
				}
			}
		}, []string{"pass", "fail", "pass", "pass", "pass"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", row.edit).grade(t, suite)
			var got []string
			why := ""
			for _, r := range tr.Rows {
				got = append(got, string(r.Result))
				if r.Result == predicate.Error && why == "" {
					why = r.Reason
				}
			}
			if d := cmp.Diff(row.want, got); d != "" {
				for _, r := range tr.Rows {
					t.Logf("%s %s %s", r.Name, r.Result, r.Reason)
				}
				t.Errorf("-want +got\n%s", d)
			}
			if row.why != "" && !strings.Contains(why, row.why) {
				t.Errorf("reason %q", why)
			}
		})
	}
}

// The table has a row for every kind and both scorers, and each cell does what it
// says to a pass, to a fail, and to an error.
func TestJoinRules(t *testing.T) {
	rules := predicate.JoinRules()
	for _, name := range append(predicate.Names(), "toolCalls:match", "toolCalls:arguments") {
		if !slices.ContainsFunc(rules, func(r predicate.JoinRule) bool { return r.Kind == name && r.Evidence == "" }) {
			t.Errorf("no rule for %s", name)
		}
	}
	partial := func(kind string, was predicate.Result) predicate.Result {
		for _, p := range predicate.PartialRules {
			if p.Kind == kind && p.Channel == predicate.ToolCalls {
				return map[predicate.Result]predicate.Result{predicate.Pass: p.Pass, predicate.Fail: p.Fail}[was]
			}
		}
		return was
	}
	for _, r := range rules {
		model := r.Evidence == "model"
		for name, cell := range map[string]struct {
			j      predicate.Join
			effect predicate.JoinEffect
		}{
			"hostOnly":      {predicate.Join{HostOnly: 1}, r.HostOnly},
			"wireOnly":      {predicate.Join{WireOnly: 2}, r.WireOnly},
			"ambiguous":     {predicate.Join{Ambiguous: 1}, r.Ambiguous},
			"contradictory": {predicate.Join{Contradictory: 1}, r.Contradictory},
			"outcome":       {predicate.Join{Outcomes: 1}, r.Outcome},
			"notJoined":     {predicate.Join{NotJoined: "why"}, r.NotJoined},
		} {
			for _, was := range []predicate.Result{predicate.Pass, predicate.Fail} {
				for _, same := range []bool{true, false} {
					j := cell.j
					j.Model = model
					o := predicate.Outcome{Result: was, Reason: "seen"}
					other := predicate.Outcome{Result: was}
					if !same {
						other.Result = predicate.Error
					}
					j.Judge(r.Kind, &o, func() predicate.Outcome { return other })
					want := was
					switch cell.effect {
					case predicate.Graded:
					case predicate.JoinErrors:
						want = predicate.Error
					case predicate.AsPartial:
						want = partial(r.Kind, was)
					case predicate.Both:
						if !same {
							want = predicate.Error
						}
					default:
						t.Fatalf("%s %s: effect %q is not known", r.Kind, name, cell.effect)
					}
					if o.Result != want || (want == predicate.Error) != strings.Contains(o.Reason, "transcript") {
						t.Errorf("%s %s: a %s becomes %s (%s), want %s", r.Kind, name, was, o.Result, o.Reason, want)
					}
				}
			}
		}
	}
}

// Two transcripts of one session are never chosen from.
func TestTwoTranscripts(t *testing.T) {
	r := rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", nil)
	id := r.rec.Sessions[0].ID
	r.rec.Joined[id] = append(r.rec.Joined[id], r.rec.Joined[id][0])
	v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{*r.rec}, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v.ExitCode() != 3 || len(v.Skipped) != 1 || v.Skipped[0].Why != grade.WhyAmbiguous {
		t.Errorf("exit %d, %+v", v.ExitCode(), v.Skipped)
	}
}

// The note on the transcript is in both reports, and is the same out of the spool.
func TestTalkInReports(t *testing.T) {
	r := rigOf(t, "rig-claude-code/1.0.98", "projects", "conn-2756", nil)
	var outs []string
	for _, sp := range []grade.Spool{nil, &memory{}} {
		v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{*r.rec}, grade.Options{Spool: sp})
		if err != nil {
			t.Fatal(err)
		}
		var text, js bytes.Buffer
		if err := report.Text(&text, report.Of(v), report.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := report.JSON(&js, report.Of(v)); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, text.String()+js.String())
	}
	if outs[0] != outs[1] {
		t.Error(cmp.Diff(outs[0], outs[1]))
	}
	for _, s := range []string{"transcript of claude-code 1.0.98: joined, 10 paired, 1 never sent", `"delete_all": denied`, `"join": "joined"`} {
		if !strings.Contains(strings.ReplaceAll(outs[0], "\n", " "), s) {
			t.Errorf("no %q in\n%s", s, outs[0])
		}
	}
}

// memory is a spool.
type memory struct{ b []byte }

func (m *memory) Write(p []byte) (int, error) { m.b = append(m.b, p...); return len(p), nil }
func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	return copy(p, m.b[off:]), nil
}
