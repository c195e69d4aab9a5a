package grade_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
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
		"an answer that the host calls bad": {torn(answered), func(c *host.Conversation) { bad := true; c.Calls[0].HostError = &bad }, predicate.Error},
	} {
		t.Run(name, func(t *testing.T) {
			tr := rigCut(t, "rig-claude-code/1.0.98", "projects", "conn-2756", row.cut, row.edit).grade(t, "defaults: {assertions: [{type: toolNeverCalled, toolName: no_such_tool}]}")
			if r := tr.Rows[0]; r.Result != row.want {
				t.Errorf("%s: %s; %s", r.Result, r.Reason, tr.Talk.Why)
			}
			if said := strings.Contains(tr.Talk.Why, "torn"); said != (row.want == predicate.Pass && row.cut != nil) {
				t.Errorf("the note says %q", tr.Talk.Why)
			}
		})
	}
	r := rigCut(t, "rig-claude-code/1.0.98", "projects", "conn-2756", torn(answered), nil)
	r.rec.Joined = nil
	if row := r.grade(t, "defaults: {assertions: [{type: toolNeverCalled, toolName: no_such_tool}]}").Rows[0]; row.Result != predicate.Error {
		t.Errorf("without a transcript: %s", row.Result)
	}
}

// gapIn says that a record before the last one was not kept.
func gapIn(r *fixtures.Recording) {
	at := len(r.Records) - 2
	g := *r.Records[at]
	*r.Records[at] = record.Record{Kind: record.KindGap, Seq: g.Seq, At: g.At, Gap: &record.Gap{FirstSeq: g.Seq, LastSeq: g.Seq, Why: "lost"}}
}
