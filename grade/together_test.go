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
	"github.com/sixlink/sixlink/record/session"
)

// pile reads all recordings of a sample and joins its transcripts. edit changes
// recordings and conversations before.
func pile(t *testing.T, dir, talk string, edit func(recs []*grade.Recording, cs []*host.Conversation)) (recs []*grade.Recording, groups map[string]string) {
	t.Helper()
	cs, err := host.Import(filepath.Join(fixtures.Dir(), "hosts", dir, talk), importers.All(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wire, err := fixtures.HostWire(dir, "wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range wire {
		rec := decodeCase(t, r)
		rec.Labels, rec.Clock = map[string]string{"server": "shop"}, clockOf(r)
		recs = append(recs, &rec)
	}
	if edit != nil {
		edit(recs, cs)
	}
	var ws []join.Wire
	for i, rec := range recs {
		for _, s := range rec.Sessions {
			ws = append(ws, join.Light(join.Wire{Recording: rec.ID, Session: s, Server: rec.Labels["server"], Start: wire[i%len(wire)].Header.Start.Time}))
		}
	}
	r := join.Join(cs, ws, join.Options{})
	talks := grade.Talks(r)
	groups = grade.Groups(r)
	for _, rec := range recs {
		rec.Joined, rec.Group = talks[rec.ID], groups[rec.ID]
	}
	return recs, groups
}

func gradeAll(t *testing.T, suite string, recs []*grade.Recording, o grade.Options) *grade.Verdict {
	t.Helper()
	g, err := grade.NewGrader(mustLoad(t, suite), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		g.Add(r)
	}
	v, err := g.Verdict()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const sevenTurns = `
cases:
  - id: c
    turns:
      - prompt: "Where is order A-1001, and what is the returns policy?"
        expectedToolCalls: [{toolName: lookup_order, arguments: {order_id: A-1001}}, {toolName: search_docs, arguments: {query: returns}}]
      - prompt: "Cancel order A-9999."
        expectedToolCalls: [{toolName: cancel.order, arguments: {order_id: A-9999}}]
        assertions: [{type: noToolErrors}]
      - prompt: "Give me the full export."
        expectedToolCalls: [{toolName: export_orders}]
        assertions: [{type: responseContains, needle: 6000 lines}, {type: noToolErrors}]
      - prompt: "Show the chart."
        expectedToolCalls: [{toolName: get_chart}]
      - prompt: "What about order 1003?"
        assertions: [{type: toolCallCountUnder, count: 3}]
    assertions: [{type: turnCountUnder, turns: 7}, {type: toolNamesUnique}, {type: toolResultContains, needle: "6000", role: advisory}]
    matchOptions: {toolCallOrder: strict}
`

// Codex starts its servers anew for each turn: one conversation, one trial, each
// call in its turn, and records named with their part.
func TestOneConversationOverProcesses(t *testing.T) {
	for _, version := range []string{"0.147.0", "0.171.0"} {
		recs, groups := pile(t, "rig-codex/"+version, "sessions", nil)
		if len(groups) != 5 {
			t.Fatalf("groups %v", groups)
		}
		v := gradeAll(t, sevenTurns, recs, grade.Options{})
		if len(v.Cases[0].Trials) != 1 {
			t.Fatalf("%d trials, skipped %+v", len(v.Cases[0].Trials), v.Skipped)
		}
		tr := &v.Cases[0].Trials[0]
		var failed []string
		for _, r := range tr.Rows {
			if r.Result != predicate.Pass && r.Role == predicate.Gating {
				failed = append(failed, r.Name+" "+string(r.Result))
				var at []string
				for _, n := range r.Records {
					p, seq := tr.Place(n)
					at = append(at, fmt.Sprint(p.Recording, " ", seq))
				}
				if r.Name != "noToolErrors" || r.Turn != 1 || !slices.Equal(at, []string{recs[1].ID + " 7", recs[1].ID + " 8"}) {
					t.Errorf("%s %d %s: %s %v", r.Name, r.Turn, r.Result, r.Reason, r.Records)
				}
			}
		}
		if len(failed) != 1 || len(tr.Parts) != 5 || tr.Calls != 7 || tr.Parts[1].Recording != recs[1].ID {
			t.Errorf("%s: failed %v, parts %v, %d calls", version, failed, tr.Parts, tr.Calls)
		}
		// The last process is another thread's, of another conversation.
		if n := len(v.Cases); n != 2 || v.Cases[1].ID != grade.Unassigned || len(v.Cases[1].Trials) != 1 || len(v.Cases[1].Trials[0].Parts) != 0 {
			t.Errorf("%d cases", n)
		}

		// The same bytes in any order, and out of a spool.
		js := func(recs []*grade.Recording, o grade.Options) string {
			var out bytes.Buffer
			if err := report.JSON(&out, gradeAll(t, sevenTurns, recs, o)); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		want := js(recs, grade.Options{})
		slices.Reverse(recs)
		if got := js(recs, grade.Options{Spool: &memory{}}); got != want {
			t.Error("another order, another verdict")
		}
		if !strings.Contains(want, `"parts"`) {
			t.Error(want)
		}
	}
}

// Two servers in one conversation: here one process's calls are parted as if they had
// been two servers'. Each link holds only if it holds at both, and says at which it
// does not.
func TestTwoServers(t *testing.T) {
	const suite = `
cases:
  - id: c
    turns:
      - prompt: "Where is order A-1001 now?"
        expectedToolCalls: [{toolName: lookup_order}, {toolName: search_docs}]
        assertions: [{type: responseContains, needle: 2 days}]
    assertions: [{type: noToolErrors}, {type: firstToolWas, toolName: lookup_order}]
`
	part := func(breaks bool) func(recs []*grade.Recording, cs []*host.Conversation) {
		return func(recs []*grade.Recording, cs []*host.Conversation) {
			shop := recs[len(recs)-1] // the other thread's process
			docs := *shop
			docs.ID, docs.Labels = shop.ID+"-docs", map[string]string{"server": "docs"}
			one, two := *shop.Sessions[0], *shop.Sessions[0]
			one.Calls, two.Calls = one.Calls[:1], two.Calls[1:]
			if breaks {
				failed := *two.Connection.Initialize
				failed.State, failed.Error = session.ExchangeError, &session.RPCError{Code: -32603, Message: "no room"}
				two.Connection = session.Connection{Initialize: &failed, ReachedSeq: two.Connection.ReachedSeq}
			}
			shop.Sessions, docs.Sessions = []*session.Session{&one}, []*session.Session{&two}
			for _, c := range cs {
				for i := range c.Calls {
					if k := &c.Calls[i]; k.Tool.Shown == "search_docs" {
						k.Server, k.Name = "docs", "mcp__docs__search_docs"
					}
				}
			}
			recs[0] = &docs
		}
	}
	trial := func(suite string, breaks bool) *grade.Trial {
		recs, _ := pile(t, "rig-codex/0.171.0", "sessions", part(breaks))
		v := gradeAll(t, suite, []*grade.Recording{recs[0], recs[len(recs)-1]}, grade.Options{})
		if len(v.Cases[0].Trials) != 1 {
			t.Fatalf("skipped %+v", v.Skipped)
		}
		return &v.Cases[0].Trials[0]
	}
	good := trial(suite, false)
	if good.Word != grade.Passed || len(good.Parts) != 2 || links(good) != "passed passed passed passed passed passed" {
		for _, r := range good.Rows {
			t.Logf("%s %s %s", r.Name, r.Result, r.Reason)
		}
		t.Errorf("%s %s %v", good.Word, links(good), good.Parts)
	}
	bad := trial(suite, true)
	if l := bad.Chain.Links[0]; l.State != chain.Failed || !strings.HasPrefix(l.Evidence.Text, `at server "docs": initialize was answered by an error`) {
		t.Errorf("%+v", l)
	}
	// Graded for one server alone, the other's calls are none of the suite's.
	narrow := trial("servers: [shop]\n"+strings.Replace(suite, ", {toolName: search_docs}", "", 1), false)
	if narrow.Word != grade.Passed || narrow.Calls != 1 {
		t.Errorf("%s %d calls %s", narrow.Word, narrow.Calls, links(narrow))
	}
}

// 1.0.98 begins another file at each resume and copies the history into it: with all
// files given each is graded on what it adds.
func TestCopiedHistory(t *testing.T) {
	recs, groups := pile(t, "rig-claude-code/1.0.98", "projects", nil)
	if len(groups) != 0 {
		t.Errorf("groups %v", groups)
	}
	v := gradeAll(t, `defaults: {assertions: [{type: turnCountUnder, turns: 2}, {type: noToolErrors}, {type: responseContains, needle: 2 days}, {type: firstToolWas, toolName: lookup_order}, {type: toolCallCountUnder, count: 3}]}`, recs, grade.Options{})
	got := map[string]string{}
	for _, tr := range v.Cases[0].Trials {
		got[tr.Recording] = strings.Join(outcomes(&tr), ", ")
	}
	const all = "turnCountUnder pass, noToolErrors pass, responseContains pass, firstToolWas pass, toolCallCountUnder pass"
	want := map[string]string{"conn-2756": "turnCountUnder fail, noToolErrors fail, responseContains fail, firstToolWas pass, toolCallCountUnder fail", "conn-2925": all, "conn-3045": all}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s\nskipped %+v", d, v.Skipped)
	}
}

// Gemini checks arguments itself: what it refused never reached the wire, is a choice
// of the model's, and counts for argumentsMatchToolSchema.
func TestRefusedByTheHost(t *testing.T) {
	recs, _ := pile(t, "rig-gemini-cli/0.61.0", "chats", nil)
	v := gradeAll(t, `defaults: {assertions: [{type: argumentsMatchToolSchema}, {type: toolCallCountUnder, count: 6}, {type: toolResultContains, toolName: lookup_order, needle: A-1003}]}`, recs, grade.Options{})
	tr := &v.Cases[0].Trials[0]
	if d := cmp.Diff([]string{"argumentsMatchToolSchema fail", "toolCallCountUnder fail", "toolResultContains pass"}, outcomes(tr)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if r := tr.Rows[0]; !strings.Contains(r.Reason, "never reached the server") {
		t.Error(r.Reason)
	}
}
