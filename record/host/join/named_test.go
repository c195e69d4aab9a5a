package join_test

import (
	"testing"
	"time"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
)

// A host that was told to leave its prefix out names the tools of servers as it does
// its own (hosts.md 3.1); the ids on the wire tell which are which, also of a call
// that was denied.
func TestCallsWithoutThePrefixLookLikeTheHostsOwn(t *testing.T) {
	own := func(c *host.Call) { c.Kind = host.BuiltinCall; c.Tool.Shown = c.Name }
	c := talk("claude-code", "s", said{id: "a", name: "lookup", args: `{}`, ms: 900, end: 1100, edit: own},
		said{id: "b", name: "drop", args: `{}`, ms: 1200, end: 1300, edit: func(c *host.Call) { own(c); denied(c) }},
		said{id: "c", name: "Bash", args: `{}`, ms: 1400, end: 1500, edit: own})
	r := join.Join([]*host.Conversation{c}, rec{id: "r", server: "shop", tools: []string{"lookup", "drop"}, session: "s",
		calls: []sent{{tool: "lookup", args: `{}`, ms: 1000, meta: use("a")}}}.wires(t), join.Options{})
	got := &r.Conversations[0]
	if got.Verdict != join.Joined || len(got.Calls) != 2 || !got.Calls[0].Paired() || got.Calls[1].HostOnly != join.Denied || got.Calls[1].Tool != "drop" {
		t.Errorf("%s, %s: %+v", got.Verdict, got.Why, got.Calls)
	}
}

// The tool that asks for leave may be asked about the host's own tools.
func TestLeaveForAHostsOwnToolIsNoCallOfTheModel(t *testing.T) {
	c := talk("claude-code", "s", said{id: "a", name: "mcp__shop__lookup", args: `{}`, ms: 900, end: 1100},
		said{id: "b", name: "Bash", args: `{}`, ms: 1200, end: 1300, edit: func(c *host.Call) { c.Kind = host.BuiltinCall }})
	r := join.Join([]*host.Conversation{c}, rec{id: "r", server: "shop", tools: []string{"lookup", "approve"}, calls: []sent{
		{tool: "lookup", args: `{}`, ms: 1000, meta: use("a")}, {tool: "approve", args: `{"tool_name":"Bash","tool_use_id":"b"}`, ms: 1250, meta: use("p")}}}.wires(t), join.Options{})
	got := &r.Conversations[0]
	if got.Verdict != join.Joined || len(got.WireOnly) != 1 || got.WireOnly[0].Kind != join.PermissionPrompt {
		t.Errorf("%s, %s: %+v", got.Verdict, got.Why, got.WireOnly)
	}
}

// A transcript that a person names for a session without calls is of that session
// only where both could have been at one time.
func TestTranscriptOfAnotherTimeIsNotChosen(t *testing.T) {
	for name, row := range map[string]struct {
		from, to int
		until    int // 0: the recording is not whole
		want     join.Verdict
	}{
		"ends before the recording begins":                 {-9000, -5000, 1000, join.NotJoined},
		"begins after the recording ends":                  {6000, 7000, 1000, join.NotJoined},
		"begins after what is there of a torn one":         {6000, 7000, 0, join.Joined},
		"begins before and ends after":                     {-5000, 7000, 1000, join.Joined},
		"just before, as clocks differ":                    {-3000, -1000, 1000, join.Joined},
		"the server was there long before the host needed": {500_000, 600_000, 700_000, join.Joined},
	} {
		t.Run(name, func(t *testing.T) {
			c := talk("any", "s")
			c.Turns = []host.Turn{{Origin: host.Human, Status: host.Complete, StartedAt: at(row.from), EndedAt: at(row.to)}}
			ws := rec{id: "r", tools: []string{"lookup"}}.wires(t)
			if row.until != 0 {
				ws[0].Until = start.Add(time.Duration(row.until) * time.Millisecond)
			}
			if got := join.Join([]*host.Conversation{c}, ws, join.Options{Chosen: true}).Conversations[0].Verdict; got != row.want {
				t.Errorf("%s, not %s", got, row.want)
			}
		})
	}
}

// What a recording hides does not come back with the transcript: both sides of a call
// tell what it is.
func TestCredentialsThatTheRecordingHides(t *testing.T) {
	secret := `sk-"1234567`
	c := talk("claude-code", "s", said{id: "a", name: "mcp__shop__lookup", args: `{"note":"key sk-\"1234567","n":1}`, ms: 900, end: 1100})
	c.Turns[0].Prompts = []host.Prompt{{Text: host.Text{Text: "use " + secret}}}
	c.Turns[0].FinalText = host.FinalText{State: host.HasText, Text: host.Text{Text: `it was {"k":"sk-\"1234567"}`}}
	shop := rec{id: "r", server: "shop", tools: []string{"lookup"}, calls: []sent{{tool: "lookup", args: `{"n":1,"note":"key ************"}`, ms: 1000, meta: use("a")}}}
	for _, masked := range []bool{false, true} {
		shop.masked = masked
		got := join.Join([]*host.Conversation{c}, shop.wires(t), join.Options{}).Conversations[0]
		if !masked {
			if len(got.Hidden) != 0 {
				t.Errorf("nothing is hidden, and found was %q", got.Hidden)
			}
			continue
		}
		if got.Verdict != join.Joined || len(got.Hidden) != 1 || got.Hidden[0] != secret {
			t.Fatalf("%s: %q", got.Verdict, got.Hidden)
		}
		c.Hide(got.Hidden, func(int) bool { return true })
		k := c.Calls[0].Args
		if c.Turns[0].Prompts[0].Text.Text != "use [redacted]" || c.Turns[0].FinalText.Text.Text != `it was {"k":"[redacted]"}` ||
			string(k.JSON) != `{"note":"key [redacted]","n":1}` || k.SHA256 == "" {
			t.Errorf("%+v %s", c.Turns[0], k.JSON)
		}
		if again := join.Join([]*host.Conversation{c}, shop.wires(t), join.Options{}).Conversations[0]; again.Verdict != join.Joined || len(again.Hidden) != 0 {
			t.Errorf("hidden, it is %s: %s", again.Verdict, again.Why)
		}
	}
}
