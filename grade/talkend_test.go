package grade_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
)

// A host that kills its servers leaves torn recordings. That no call is missing is
// shown by its transcript, when that is whole and each of its calls is on the wire
// with its answer; else what rests on absence is an error, as in any torn recording.
func TestTornEnd(t *testing.T) {
	// Of the connection's calls the last is a subagent's: records 25 and 26, behind
	// them the end.
	torn := func(last int) func(*fixtures.Recording) {
		return func(r *fixtures.Recording) { r.Records, r.State = r.Records[:last], record.Torn }
	}
	const answered, asked, before = 26, 25, 24
	sub := func(c *host.Conversation) {
		c.Calls = slices.DeleteFunc(c.Calls, func(k host.Call) bool { return k.Agent != nil })
		c.Messages = slices.DeleteFunc(c.Messages, func(m host.Message) bool { return m.Agent != nil })
	}
	for name, row := range map[string]struct {
		cut  func(*fixtures.Recording)
		edit func(*host.Conversation)
		want predicate.Result
	}{
		"sealed":                          {nil, nil, predicate.Pass},
		"torn behind the last answer":     {torn(answered), nil, predicate.Pass},
		"torn before the last answer":     {torn(asked), nil, predicate.Error},
		"torn before the last call":       {torn(before), nil, predicate.Error},
		"a gap as well":                   {func(r *fixtures.Recording) { torn(answered)(r); gapIn(r) }, nil, predicate.Error},
		"the last turn is open":           {torn(answered), func(c *host.Conversation) { c.Turns[7].Status = host.Open }, predicate.Error},
		"a turn was interrupted":          {torn(answered), func(c *host.Conversation) { c.Turns[3].Status = host.Interrupted }, predicate.Error},
		"the transcript lacks calls":      {torn(answered), func(c *host.Conversation) { c.Caps.Calls = host.Partial }, predicate.Error},
		"the transcript lacks turns":      {torn(answered), func(c *host.Conversation) { c.Caps.Turns = host.Partial }, predicate.Error},
		"the transcript is cut":           {torn(answered), func(c *host.Conversation) { c.Sources[0].Cut = true }, predicate.Error},
		"a line of it cannot be read":     {torn(answered), func(c *host.Conversation) { c.Sources[0].ErrorCount = 1 }, predicate.Error},
		"a subagent's work is in neither": {torn(before), sub, predicate.Error},
		"calls of a server not recorded": {torn(answered), func(c *host.Conversation) {
			c.Calls = append(c.Calls, host.Call{HostCallID: "x", Server: "mail", Tool: host.Tool{Shown: "send"}, Name: "mcp__mail__send", Turn: 7})
		}, predicate.Error},
		"a turn with calls was taken back": {torn(answered), func(c *host.Conversation) {
			c.Branches = append(c.Branches, host.Branch{Why: "rolled back", Messages: 2, Calls: 1})
		}, predicate.Error},
		"a turn without calls was taken back": {torn(answered), func(c *host.Conversation) {
			c.Branches = append(c.Branches, host.Branch{Why: "rolled back", Messages: 2})
		}, predicate.Pass},
		"a subagent's work ends with a result": {torn(answered), func(c *host.Conversation) {
			last := -1
			for i := range c.Messages {
				if c.Messages[i].Agent != nil {
					last = i
				}
			}
			c.Messages = slices.Delete(c.Messages, last, last+1)
		}, predicate.Error},
		"the wire goes on when the transcript is at its end": {func(r *fixtures.Recording) {
			torn(answered)(r)
			r.AddLine(record.Client, time.Hour.Nanoseconds(), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "\n")
		}, nil, predicate.Error},
		"the transcript has no times": {torn(answered), func(c *host.Conversation) {
			for i := range c.Turns {
				c.Turns[i].StartedAt, c.Turns[i].EndedAt = time.Time{}, time.Time{}
			}
			for i := range c.Messages {
				c.Messages[i].At = time.Time{}
			}
			for i := range c.Calls {
				c.Calls[i].At, c.Calls[i].EndedAt = time.Time{}, time.Time{}
			}
		}, predicate.Error},
		"an answer that the host calls bad": {torn(answered), func(c *host.Conversation) { bad := true; c.Calls[0].HostError = &bad }, predicate.Error},
	} {
		t.Run(name, func(t *testing.T) {
			tr := rigCut(t, "rig-claude-code/1.0.98", "projects", "conn-2756", row.cut, row.edit).gradeToEnd(t, "defaults: {assertions: [{type: toolNeverCalled, toolName: no_such_tool}]}")
			if r := tr.Rows[0]; r.Result != row.want {
				t.Errorf("%s: %s; %s", r.Result, r.Reason, tr.Talk.Why)
			}
			if said := strings.Contains(tr.Talk.Why, "torn"); said != (row.want == predicate.Pass && row.cut != nil) {
				t.Errorf("the note says %q", tr.Talk.Why)
			}
		})
	}
	r := rigCut(t, "rig-claude-code/1.0.98", "projects", "conn-2756", torn(answered), nil)
	const never = "defaults: {assertions: [{type: toolNeverCalled, toolName: no_such_tool}]}"
	if tr := r.grade(t, never); tr.Rows[0].Result != predicate.Error || !strings.Contains(tr.Talk.Why, "--transcript-end") {
		t.Errorf("nobody asked for it: %s; the note says %q", tr.Rows[0].Result, tr.Talk.Why)
	}
	r.rec.Joined = nil
	if row := r.gradeToEnd(t, never).Rows[0]; row.Result != predicate.Error {
		t.Errorf("without a transcript: %s", row.Result)
	}
}

// gapIn says that a record before the last one was not kept.
func gapIn(r *fixtures.Recording) {
	at := len(r.Records) - 2
	g := *r.Records[at]
	*r.Records[at] = record.Record{Kind: record.KindGap, Seq: g.Seq, At: g.At, Gap: &record.Gap{FirstSeq: g.Seq, LastSeq: g.Seq, Why: "lost"}}
}

// A recording without a call, torn, is no proof that none was made where a person's
// word alone makes the transcript its own.
func TestTornRecordingAndATranscriptThatWasOnlyNamed(t *testing.T) {
	for name, session := range map[string]string{"named": "", "by the server's environment": "s"} {
		r := &fixtures.Recording{Name: "r", State: record.Torn, Header: record.Header{Format: [2]int{1, 0}, ID: "r", FirstSeq: 1, Transport: "stdio"}}
		r.Header.Start.Time = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		r.AddLine(record.Client, 1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"any","version":"1"}}}`, "\n")
		r.AddLine(record.Server, 2, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}}`, "\n")
		rec := decodeCase(t, r)
		c := &host.Conversation{SessionIDs: []string{"s"}, Caps: host.Caps{Turns: host.Present, Calls: host.Present, FinalText: host.Present},
			Turns: []host.Turn{{Origin: host.Human, Status: host.Complete, EndedAt: r.Header.Start.Add(time.Second),
				Prompts: []host.Prompt{{Text: host.Text{Text: "How do refunds work?"}}}, FinalText: host.FinalText{State: host.HasText, Text: host.Text{Text: "So."}}}}}
		j := join.Join([]*host.Conversation{c}, []join.Wire{{Recording: "r", Session: rec.Sessions[0], Start: r.Header.Start.Time, HostSession: session}}, join.Options{Chosen: true})
		rec.Joined = grade.Talks(j)["r"]
		tr := rig{rec: &rec}.gradeToEnd(t, `cases: [{id: n, title: n, isNegativeTest: true, match: {prompt: "How do refunds work?"}, turns: [{prompt: "How do refunds work?"}]}]`)
		want := predicate.Error
		if session != "" {
			want = predicate.Pass
		}
		if tr.Rows[0].Result != want {
			t.Errorf("%s: %s; %s", name, tr.Rows[0].Result, tr.Rows[0].Reason)
		}
	}
}

// Codex starts servers of their own for each subagent: without its rollout, and its
// recording, a call that the session does not have is not missing.
func TestWorkOfASubagentThatIsNotThereIsNotMissing(t *testing.T) {
	const suite = "defaults: {assertions: [{type: toolCalledAtLeastOnce, toolName: get_chart}]}"
	spawn := func(c *host.Conversation) {
		c.Calls = append(c.Calls, host.Call{HostCallID: "x", Kind: host.BuiltinCall, Name: "spawn_agent", Result: &host.CallResult{}})
	}
	for _, row := range []struct {
		name string
		edit func(*host.Conversation)
		want predicate.Result
	}{{"no subagent", nil, predicate.Fail}, {"its work is not there", spawn, predicate.Error}} {
		r := oneOf(rigOf(t, "rig-codex/0.171.0", "sessions", "conn-9259", row.edit))
		if got := r.gradeToEnd(t, suite).Rows[0]; got.Result != row.want {
			t.Errorf("%s: %s; %s", row.name, got.Result, got.Reason)
		}
	}
}

// oneOf is the rig as if its conversation had no calls elsewhere.
func oneOf(r rig) rig {
	for _, of := range r.rec.Joined {
		j := of[0].Join
		j.Calls = slices.DeleteFunc(j.Calls, func(c join.Call) bool { return c.Session < 0 || !c.Paired() })
	}
	return r
}
