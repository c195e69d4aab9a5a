package claudecode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
)

// reading is what a person reads in a sample, by eye and with jq on the raw
// file: prompts and answers by their lines, tokens by adding up the last usage
// of each message id (or result.usage), calls by counting tool_use blocks.
type reading struct {
	sample   string
	version  string
	turns    int // user turns
	prompts  int // user prompts, TurnCount
	status   host.Status
	final    string // beginning of the last answer
	models   string
	calls    int // all tool uses
	mcp      int // those of MCP servers
	denied   int
	refused  int
	errors   int // results that the host calls errors
	agents   int // calls of subagents
	hidden   int // messages that are neither prompts, answers nor results
	branches int
	// usage is the sum over turns by source and agent: input uncached, cache read,
	// cache write, output.
	usage map[string][4]int64
	caps  host.Caps
	notes string
}

const (
	yes  = host.Present
	some = host.Partial
	no   = host.Absent
)

// caps in the order of the model's fields.
func caps(turns, prompts, final, tokens, times, calls, ids, model host.Cap) host.Caps {
	return host.Caps{Turns: turns, Prompts: prompts, FinalText: final, Tokens: tokens, Times: times, Calls: calls, CallIDs: ids, Model: model}
}

var readings = []reading{
	{ // Line 4 is a queued_command attachment; the call's result is not in the selection.
		sample: "claude-code-jsonl/queued-prompt-2.1.289.jsonl", version: "2.1.289", turns: 1, prompts: 2, status: host.Complete,
		final: "The fixture date is stale; the linter is clean.", models: "claude-fable-5-1", calls: 1,
		usage: map[string][4]int64{"responses main": {900 + 950, 0, 0, 60 + 20}}, caps: caps(yes, yes, yes, yes, yes, some, yes, yes),
		notes: "missing-parents", // that result is the parent of line 4
	},
	{ // Line 6 is retracted by line 7; its tokens (240/180/0/10) are not on the live branch.
		sample: "claude-code-jsonl/refusal-fallback-2.1.197.jsonl", version: "2.1.197", turns: 1, prompts: 1, status: host.Complete,
		final: "alpha.txt mentions the needle.", models: "claude-fable-5 claude-opus-4-8", calls: 2, branches: 1,
		usage: map[string][4]int64{"responses main": {120 + 180 + 260, 60 + 120 + 200, 10, 15 + 20 + 12}}, caps: caps(yes, yes, yes, yes, yes, yes, yes, yes),
	},
	{ // Lines 3, 4, 5, 8 are one message whose usage grows to 60; line 14 is a result without a call.
		sample: "claude-code-jsonl/session-2.1.197.jsonl", version: "2.1.205", turns: 1, prompts: 1, status: host.Complete,
		final: "The doc says locks are cool.", models: "claude-fable-5", calls: 2, hidden: 1,
		usage: map[string][4]int64{"responses main": {100 + 300, 50 + 200, 10, 60 + 25}}, caps: caps(yes, yes, yes, yes, yes, some, yes, yes),
		notes: "result-without-call",
	},
	{ // Line 6 is <tool_use_error>; line 9 a peer's message, which opens no turn.
		sample: "claude-code-jsonl/tools-2.1.274.jsonl", version: "2.1.274", turns: 1, prompts: 1, status: host.Complete,
		final: "Done: the fetch 404ed, the image is a red square", models: "claude-sonnet-5", calls: 3, mcp: 1, refused: 1, errors: 1, hidden: 1,
		usage: map[string][4]int64{"responses main": {40, 4000, 800, 100}}, caps: caps(yes, yes, yes, yes, yes, yes, yes, yes),
		notes: "missing-parents", // of lines 3 and 9: u-07 and u-15 were left out
	},
	{ // NOTES.md of the sample has the three figures; 82 user events are 82 results.
		sample: "claude-code-stream-json/run-215-messages.ndjson", turns: 1, prompts: 1, status: host.Complete,
		final: "## 🎉 Daily Perf Improver Workflow: SUCCESSFULLY COMPLETED!", models: "claude-sonnet-4-20250514", calls: 82, mcp: 5, errors: 9, refused: 2,
		usage: map[string][4]int64{"responses main": {262, 5976073, 102606, 1173}, "result main": {524, 11952146, 205212, 21703}},
		caps:  caps(yes, no, yes, yes, no, yes, yes, yes), notes: "usage-disagrees no-prompts",
	},
	{ // Both figures agree (NOTES.md: 25 in, 832 out, 34 686 written, 120 119 read).
		sample: "paired-claude-code/host-verbose.json", turns: 1, prompts: 1, status: host.Complete,
		final: "## Summary\n\nI attempted to call the `draw_pelican` tool as requested", models: "claude-sonnet-4-20250514", calls: 3, mcp: 1,
		usage: map[string][4]int64{"responses main": {25, 120119, 34686, 832}, "result main": {25, 120119, 34686, 832}},
		caps:  caps(yes, no, yes, yes, no, yes, yes, yes), notes: "no-prompts",
	},
	{ // Four runs of one session; the selection lacks the first run's result event, so
		// runs 1 and 2 cannot be told apart; run 3 is /compact, whose summary and
		// output are the two hidden messages. 6 of the calls are subagents'; agents' text is line 23.
		sample: "claude-code-subagents/stream.ndjson", version: "2.1.259", turns: 2, prompts: 2, status: host.Complete,
		final: "HOST_TEST_DONE /srv/host-test/claude/log/captures.ndjson", models: "claude-sonnet-5", calls: 13, mcp: 7, agents: 5, hidden: 2,
		usage: map[string][4]int64{}, caps: caps(yes, no, yes, no, no, yes, yes, yes), notes: "compaction no-prompts",
	},
	{ // Stop came while two subagents ran: the turn is open. Two calls have no result in the selection.
		sample: "claude-code-subagents/hooks.ndjson", turns: 1, prompts: 1, status: host.Open,
		final: "Both subagents are running in the background; I'll wait", calls: 5, mcp: 5, agents: 4,
		usage: map[string][4]int64{}, caps: caps(some, yes, some, no, no, some, yes, no),
	},
	{ // delete_all has a PreToolUse and no other hook. The last prompt hook is a notification.
		sample: "rig-claude-code/2.1.332-hooks/hooks.ndjson", turns: 5, prompts: 5, status: host.Complete, final: "OK.", calls: 8, mcp: 7,
		errors: 2, agents: 1, hidden: 1, usage: map[string][4]int64{}, caps: caps(yes, yes, yes, no, no, some, yes, no),
	},
	{ // result.usage of the six results: 240+320+400+750+600+330 in, 34+24+24+36+24+12 out.
		sample: "rig-claude-code/2.1.332-hooks/stream-replay-user-messages.ndjson", version: "2.1.332", turns: 5, prompts: 5, status: host.Complete,
		final: "OK.", models: "claude-sonnet-4-5", calls: 8, mcp: 7, denied: 1, errors: 3, agents: 1,
		usage: map[string][4]int64{"result main": {2640, 2400, 240, 154}}, caps: caps(yes, yes, yes, yes, yes, yes, yes, yes),
	},
	{ // Responses of the ten turns and the wakeup: 240+320+400+480+560+990+760+1290+960+280 in.
		sample: "rig-claude-code/2.1.332/projects", version: "2.1.332", turns: 10, prompts: 10, status: host.Complete,
		final: "Order A-1001 is in transit and should arrive in 2 days.", models: "claude-sonnet-4-5", calls: 16, mcp: 15, denied: 1, errors: 3, agents: 1,
		hidden: 6, // the notification, the summary, caveat, command and output of /compact, the agent's prompt
		usage:  map[string][4]int64{"responses main": {6280, 4400, 440, 299}, "responses sub": {240, 400, 40, 24}},
		caps:   caps(yes, yes, yes, yes, yes, yes, yes, yes), notes: "compaction",
	},
	{ // 240+320+400+480+560+990+760+840+920+280 in; six agents' files are of other sessions, two warm-ups of this one.
		sample: "rig-claude-code/2.0.65/projects", version: "2.0.65", turns: 10, prompts: 10, status: host.Complete,
		final: "Order A-1001 is in transit and should arrive in 2 days.", models: "claude-sonnet-4-5 claude-sonnet-4-5-20250929", calls: 16, mcp: 15,
		denied: 1, errors: 3, agents: 1, hidden: 6, // as above with "No response requested." for the notification
		usage: map[string][4]int64{"responses main": {5790, 4200, 420, 287}, "responses sub": {240, 400, 40, 24}},
		caps:  caps(yes, yes, yes, yes, yes, yes, yes, yes), notes: "compaction agent-without-session",
	},
	{ // Only the result; what its usage counts cannot be known (no modelUsage, no version).
		sample: "rig-claude-code/1.0.98/result-4.json", turns: 1, prompts: 1, status: host.Complete,
		final: "Order A-1001 is in transit", usage: map[string][4]int64{}, caps: caps(yes, no, yes, no, no, no, no, no), notes: "usage-unsure no-prompts",
	},
	{
		sample: "rig-claude-code/2.1.332/result-4.json", turns: 1, prompts: 1, status: host.Complete,
		final: "Order A-1001 is in transit", usage: map[string][4]int64{"result main": {280, 400, 40, 34}},
		caps: caps(yes, no, yes, yes, no, no, no, no), notes: "no-prompts",
	},
}

func TestByHand(t *testing.T) {
	for _, want := range readings {
		t.Run(want.sample, func(t *testing.T) {
			cs := imported(t, want.sample)
			if len(cs) != 1 {
				t.Fatalf("%d conversations", len(cs))
			}
			c := cs[0]
			got := reading{sample: want.sample, version: c.Host.Version, turns: len(c.Turns), prompts: c.TurnCount(),
				status: c.Turns[len(c.Turns)-1].Status, final: c.FinalText().Text.Text, models: strings.Join(c.Models, " "),
				calls: len(c.Calls), branches: len(c.Branches), usage: map[string][4]int64{}, caps: c.Caps}
			if strings.HasPrefix(got.final, want.final) && want.final != "" {
				got.final = want.final
			}
			for _, k := range c.Calls {
				count(&got.mcp, k.Kind == host.MCPCall)
				count(&got.denied, k.Denied != "")
				count(&got.refused, k.Refused != "")
				count(&got.errors, k.HostError != nil && *k.HostError)
				count(&got.agents, k.Agent != nil)
			}
			for _, m := range c.Messages {
				count(&got.hidden, m.Hidden != "")
			}
			for _, u := range c.Turns {
				for _, f := range u.Usage {
					s := got.usage[f.Source+" "+string(f.Agents)]
					for i, n := range []host.Count{f.InputUncached, f.CacheRead, f.CacheWrite, f.Output} {
						s[i] += n.N
					}
					got.usage[f.Source+" "+string(f.Agents)] = s
				}
			}
			var notes []string
			for _, n := range c.Notes {
				notes = append(notes, n.Kind)
			}
			got.notes = strings.Join(notes, " ")
			if d := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); d != "" {
				t.Errorf("-by hand +imported\n%s", d)
			}
		})
	}
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}
