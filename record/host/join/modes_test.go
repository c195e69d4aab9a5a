package join_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
)

// start is the wall clock of every made-up recording's beginning.
var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

// sent is one tools/call of a made-up recording: when, what, and how it ended 50 ms
// later: "" ok, "error" isError, "rpc" a JSON-RPC error, "none" no answer.
type sent struct {
	ms         int
	tool, args string // args "": no member
	meta       string
	outcome    string
}

// rec makes a recording: a handshake, a list of the tools, the calls.
type rec struct {
	id      string
	server  string
	session string // CLAUDE_CODE_SESSION_ID
	tools   []string
	calls   []sent
	midway  bool // it begins with the first call
	torn    bool
	masked  bool
}

func (r rec) wires(t testing.TB) []join.Wire {
	t.Helper()
	f := &fixtures.Recording{Name: r.id, State: record.Sealed, Header: record.Header{Format: [2]int{1, 0}, ID: r.id, FirstSeq: 1, Transport: "stdio",
		Start: record.Time{Time: start}, Labels: map[string]string{"server": r.server}}}
	if r.torn {
		f.State = record.Torn
	}
	if r.session != "" {
		f.Header.EnvValues = map[string]string{"CLAUDE_CODE_SESSION_ID": r.session}
	}
	line := func(from record.From, ms int, format string, args ...any) {
		f.AddLine(from, int64(ms)*1e6, fmt.Sprintf(format, args...), "\n")
	}
	if !r.midway {
		line(record.Client, 0, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"any","version":"1"}}}`)
		line(record.Server, 1, `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shop-server","version":"1"}}}`)
		line(record.Client, 2, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
		var list []string
		for _, name := range r.tools {
			list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		line(record.Server, 3, `{"jsonrpc":"2.0","id":"l","result":{"tools":[%s]}}`, strings.Join(list, ","))
	}
	for i, c := range r.calls {
		params := fmt.Sprintf(`"name":%q`, c.tool)
		if c.args != "" {
			params += `,"arguments":` + c.args
		}
		if c.meta != "" {
			params += `,"_meta":` + c.meta
		}
		line(record.Client, c.ms, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, i, params)
	}
	for i, c := range r.calls {
		switch c.outcome {
		case "":
			line(record.Server, c.ms+50, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, i)
		case "error":
			line(record.Server, c.ms+50, `{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":true}}`, i)
		case "rpc":
			line(record.Server, c.ms+50, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"no"}}`, i)
		}
	}
	ws := decoded(t, f)
	for i := range ws {
		ws[i].Masked = r.masked
	}
	return ws
}

// said is one call of a made-up transcript.
type said struct {
	turn     int
	id, name string
	args     string // "": not on record
	ms, end  int    // 0: no time
	edit     func(c *host.Call)
}

func talk(name, session string, calls ...said) *host.Conversation {
	c := &host.Conversation{Host: host.Host{Name: name}, SessionIDs: []string{session}, Sources: []host.Source{{Path: session + ".jsonl"}},
		Servers: []host.Server{{Name: "shop", Prefix: "mcp__shop__"}}}
	for _, s := range calls {
		for len(c.Turns) <= s.turn {
			c.Turns = append(c.Turns, host.Turn{Index: len(c.Turns), Origin: host.Human, Status: host.Complete})
		}
		k := host.Call{HostCallID: s.id, Kind: host.MCPCall, Name: s.name, Turn: s.turn}
		if rest, ok := strings.CutPrefix(s.name, "mcp__"); ok {
			k.Server, k.Tool.Shown, _ = strings.Cut(rest, "__")
		}
		if s.args != "" {
			k.Args = &host.Value{JSON: []byte(s.args)}
		}
		if s.ms != 0 {
			k.At = at(s.ms)
		}
		if s.end != 0 {
			k.EndedAt = at(s.end)
			k.Result = &host.CallResult{}
		}
		if s.edit != nil {
			s.edit(&k)
		}
		c.Calls = append(c.Calls, k)
	}
	return c
}

func use(id string) string { return fmt.Sprintf(`{"claudecode/toolUseId":%q}`, id) }

func codexMeta(thread, turn, id string) string {
	m := fmt.Sprintf(`"threadId":%q,"x-codex-turn-metadata":{"thread_id":%q,"turn_id":%q}`, thread, thread, turn)
	if id != "" {
		m += fmt.Sprintf(`,"callId":%q`, id)
	}
	return "{" + m + "}"
}

func denied(c *host.Call) { c.Denied = host.DeniedByUser }

// told is the join of one conversation in words: each call as "host -> wire", then
// what is on the wire alone.
func told(r *join.Result, i int) []string {
	c := &r.Conversations[i]
	out := []string{string(c.Verdict)}
	for k := range c.Calls {
		call := &c.Calls[k]
		s := fmt.Sprintf("%d ->", call.Host)
		for n, w := range call.Wires {
			s += fmt.Sprintf(" %s:%d", r.Wires[w.Wire].Recording, w.Call.Seq)
			if len(call.Wires) > 1 && n == call.Effective {
				s += "*"
			}
		}
		if call.Paired() {
			s += fmt.Sprintf(" %s, %s", call.Tier, call.Certainty)
		} else {
			s += " " + string(call.HostOnly)
		}
		if call.Contradiction != "" {
			s += " !" + string(call.Contradiction)
		}
		if call.Hint != nil {
			s += fmt.Sprintf(" ~%d", call.Hint.Call.Seq)
		}
		out = append(out, s)
	}
	for _, w := range c.WireOnly {
		out = append(out, fmt.Sprintf("%s:%d %s", r.Wires[w.Wire].Recording, w.Call.Seq, w.Kind))
	}
	if c.Elsewhere > 0 {
		out = append(out, fmt.Sprintf("%d elsewhere", c.Elsewhere))
	}
	return out
}

// The failure modes of hosts.md 5 and what else can go wrong, one a row. Calls of a
// recording have the seqs 5, 6, ... after the handshake.
func TestFailureModes(t *testing.T) {
	a1, a2 := `{"id":"A-1"}`, `{"id":"A-2"}`
	shop := []string{"find", "cancel.order", "drop"}
	for _, row := range []struct {
		name  string
		recs  []rec
		talks []*host.Conversation
		o     join.Options
		want  [][]string // one a conversation
	}{{
		name: "reversed parallel order",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a2}, {ms: 1002, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{name: "mcp__shop__find", args: a2, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:6 content, sure", "1 -> r:5 content, sure"}},
	}, {
		name: "two identical parallel calls may be one another, and each is one",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}, {ms: 1002, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:5 content, interchangeable", "1 -> r:6 content, interchangeable"}},
	}, {
		name: "two identical parallel calls with ids",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t2")}, {ms: 1002, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{id: "t2", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:6 exact id, sure", "1 -> r:5 exact id, sure"}},
	}, {
		name: "two identical calls, one on the wire, nothing says which was not sent",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined-with-rest", "0 -> r:5 content, ambiguous", "1 -> ambiguous"}},
	}, {
		name: "the same call over turns, by time",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}, {ms: 61001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{turn: 1, name: "mcp__shop__find", args: a1, ms: 61000, end: 61200})},
		want: [][]string{{"joined", "0 -> r:5 content, sure", "1 -> r:6 content, sure"}},
	}, {
		name: "the same call over turns without times is ambiguous",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}, {ms: 61001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1},
			said{turn: 1, name: "mcp__shop__find", args: a1})},
		want: [][]string{{"joined-with-rest", "0 -> r:5 content, ambiguous", "1 -> r:6 content, ambiguous"}},
	}, {
		name: "the same call over turns, by the turn's id on the wire",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: codexMeta("s", "u2", "")}, {ms: 1002, tool: "find", args: a1, meta: codexMeta("s", "u1", "")}}}},
		talks: []*host.Conversation{withTurns(talk("codex", "s", said{name: "mcp__shop__find", args: a1},
			said{turn: 1, name: "mcp__shop__find", args: a1}), "u1", "u2")},
		want: [][]string{{"joined", "0 -> r:6 exact scope, sure", "1 -> r:5 exact scope, sure"}},
	}, {
		name: "a call denied between two identical ones",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}, {ms: 5001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{name: "mcp__shop__find", args: a1, ms: 3000, end: 3100, edit: denied}, said{name: "mcp__shop__find", args: a1, ms: 5000, end: 5200})},
		o:    join.Options{Window: 500 * time.Millisecond},
		want: [][]string{{"joined", "0 -> r:5 content, sure", "1 -> denied", "2 -> r:6 content, sure"}},
	}, {
		name: "a retry with the same id over two connections: the last with an answer counts",
		recs: []rec{{id: "q", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1"), outcome: "none"}}, torn: true},
			{id: "r", tools: shop, calls: []sent{{ms: 1500, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1700})},
		want:  [][]string{{"joined", "0 -> q:5 r:5* exact id, sure"}},
	}, {
		name: "a retry with the same id whose last attempt has no answer",
		recs: []rec{{id: "q", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}},
			{id: "r", tools: shop, calls: []sent{{ms: 1500, tool: "find", args: a1, meta: use("t1"), outcome: "none"}}, torn: true}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1700})},
		want:  [][]string{{"joined", "0 -> q:5* r:5 exact id, sure"}},
	}, {
		name: "resume with copied history: the copies are the first session's calls",
		recs: []rec{{id: "q", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}},
			{id: "r", tools: shop, calls: []sent{{ms: 9001, tool: "find", args: a2, meta: use("t2")}}}},
		talks: []*host.Conversation{
			talk("claude-code", "s1", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200}),
			copied(talk("claude-code", "s2", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
				said{turn: 1, id: "t2", name: "mcp__shop__find", args: a2, ms: 9000, end: 9200}), "s1")},
		want: [][]string{{"joined", "0 -> q:5 exact id, sure"}, {"joined", "1 -> r:5 exact id, sure"}},
	}, {
		name: "resume with copied history, and only the second file given",
		recs: []rec{{id: "q", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}},
			{id: "r", tools: shop, calls: []sent{{ms: 9001, tool: "find", args: a2, meta: use("t2")}}}},
		talks: []*host.Conversation{
			copied(talk("claude-code", "s2", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
				said{turn: 1, id: "t2", name: "mcp__shop__find", args: a2, ms: 9000, end: 9200}), "s1")},
		want: [][]string{{"joined", "0 -> q:5 exact id, sure", "1 -> r:5 exact id, sure"}},
	}, {
		name: "two sessions in one recording, told apart by their thread",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: codexMeta("s2", "u", "")}, {ms: 1002, tool: "find", args: a1, meta: codexMeta("s1", "u", "")}}}},
		talks: []*host.Conversation{talk("codex", "s1", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200}),
			talk("codex", "s2", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:6 exact scope, sure", "r:5 other-conversation"}, {"joined", "0 -> r:5 exact scope, sure", "r:6 other-conversation"}},
	}, {
		name:  "two sessions in one recording, one of which has no transcript here",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: codexMeta("s2", "u", "")}, {ms: 1002, tool: "find", args: a1, meta: codexMeta("s1", "u", "")}}}},
		talks: []*host.Conversation{talk("codex", "s1", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"joined", "0 -> r:6 exact scope, sure", "r:5 other-conversation"}},
	}, {
		name: "two conversations and one call that either may have made",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s1", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200}),
			talk("codex", "s2", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined-with-rest", "0 -> r:5 content, ambiguous"}, {"not-joined", "1 elsewhere"}},
	}, {
		name: "one session over several recordings",
		recs: []rec{{id: "q", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}},
			{id: "r", tools: shop, calls: []sent{{ms: 9001, tool: "find", args: a1, meta: use("t2")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{turn: 1, id: "t2", name: "mcp__shop__find", args: a1, ms: 9000, end: 9200})},
		want: [][]string{{"joined", "0 -> q:5 exact id, sure", "1 -> r:5 exact id, sure"}},
	}, {
		name:  "a session file that was cut: the last call is missing",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}, {ms: 9001, tool: "find", args: a2, meta: use("t2")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"joined-with-rest", "0 -> r:5 exact id, sure", "r:6 outside-transcript"}},
	}, {
		name: "subagents' calls between those of the main loop",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}, {ms: 1002, tool: "find", args: a1, meta: use("t3")}, {ms: 1003, tool: "find", args: a1, meta: use("t2")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{id: "t2", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200, edit: func(c *host.Call) { c.Agent = &host.Agent{ID: "x", ParentCall: "t0"} }},
			said{id: "t3", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:5 exact id, sure", "1 -> r:7 exact id, sure", "2 -> r:6 exact id, sure"}},
	}, {
		name: `names with "." and " "`,
		recs: []rec{{id: "r", server: "my shop", tools: []string{"cancel.order", "find it"}, calls: []sent{{ms: 1001, tool: "cancel.order", args: a1}, {ms: 1002, tool: "find it", args: a1}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{name: "mcp__my_shop__cancel_order", args: a1, ms: 1000, end: 1200},
			said{name: "mcp__my_shop__find_it", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:5 content, sure", "1 -> r:6 content, sure"}},
	}, {
		name:  `a server's name with "__", known by the label`,
		recs:  []rec{{id: "r", server: "my__shop", tools: []string{"find", "shop__find"}, calls: []sent{{ms: 1001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{name: "mcp__my__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"joined", "0 -> r:5 content, sure"}},
	}, {
		name:  `a name with "__" that may be parted in two ways is ambiguous without a label`,
		recs:  []rec{{id: "r", tools: []string{"find", "shop__find"}, calls: []sent{{ms: 1001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{name: "mcp__my__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"not-joined", "1 elsewhere"}},
	}, {
		name:  "two tools with one name at the host are ambiguous by name",
		recs:  []rec{{id: "r", server: "shop", tools: []string{"cancel.order", "cancel_order"}, calls: []sent{{ms: 1001, tool: "cancel_order", args: a1}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{name: "mcp__shop__cancel_order", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"not-joined", "0 -> ambiguous"}},
	}, {
		name:  "two tools with one name at the host, and the raw name on record",
		recs:  []rec{{id: "r", server: "shop", tools: []string{"cancel.order", "cancel_order"}, calls: []sent{{ms: 1001, tool: "cancel.order", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__cancel_order", args: a1, ms: 1000, end: 1200, edit: func(c *host.Call) { c.Tool.Raw = "cancel.order" }})},
		want:  [][]string{{"joined", "0 -> r:5 content, sure"}},
	}, {
		name: "a name that the host shortened in the middle",
		recs: []rec{{id: "r", server: "shop", tools: []string{"find", "a_tool_with_a_name_that_is_much_longer_than_sixty_three_characters"},
			calls: []sent{{ms: 1001, tool: "a_tool_with_a_name_that_is_much_longer_than_sixty_three_characters", args: a1}}}},
		talks: []*host.Conversation{talk("gemini-cli", "s", said{name: "mcp_shop_a_tool_with_a_name_th...er_than_sixty_three_characters", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"joined", "0 -> r:5 content, sure"}},
	}, {
		name:  "a plugin's server",
		recs:  []rec{{id: "r", server: "shop", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{name: "mcp__plugin_kit_shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"joined", "0 -> r:5 content, sure"}},
	}, {
		name: "arguments {} and absent",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find"}, {ms: 61001, tool: "drop", args: "{}"}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: "{}", ms: 1000, end: 1200},
			said{name: "mcp__shop__drop", ms: 61000, end: 61200})},
		want: [][]string{{"joined", "0 -> r:5 content, sure", "1 -> r:6 content, sure"}},
	}, {
		name:  "null is not absent",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: `{"x":null}`}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: "{}", ms: 1000, end: 1200})},
		want:  [][]string{{"not-joined", "1 elsewhere"}},
	}, {
		name: "big integers are not rounded; 1, 1.0 and 1e0 are equal",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: `{"n":9007199254740993}`}, {ms: 1002, tool: "find", args: `{"n":9007199254740992}`}, {ms: 1003, tool: "drop", args: `{"b":1e0,"a":1.0}`}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: `{"n":9007199254740992}`, ms: 1000, end: 1200},
			said{name: "mcp__shop__find", args: `{"n":9007199254740993}`, ms: 1000, end: 1200}, said{name: "mcp__shop__drop", args: `{"a":1,"b":1.0}`, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:6 content, sure", "1 -> r:5 content, sure", "2 -> r:7 content, sure"}},
	}, {
		name:  "compaction between a call and its end: the result is missing",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}, {ms: 61001, tool: "find", args: a2}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000}, said{name: "mcp__shop__find", args: a2, ms: 61000, end: 61200})},
		want:  [][]string{{"joined", "0 -> r:5 content, sure", "1 -> r:6 content, sure"}},
	}, {
		name: "the recorder started after the first call",
		recs: []rec{{id: "r", midway: true, tools: shop, server: "shop", calls: []sent{{ms: 60_001, tool: "find", args: a2, meta: use("t2")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{turn: 1, id: "t2", name: "mcp__shop__find", args: a2, ms: 60_000, end: 60_200})},
		want: [][]string{{"joined-with-rest", "0 -> before-recording", "1 -> r:1 exact id, sure"}},
	}, {
		name:  "a connection with nothing but a probe is no part of it",
		recs:  []rec{{id: "p", tools: shop}, {id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"joined", "0 -> r:5 exact id, sure"}},
	}, {
		name:  "a server that was started in the session, without a call",
		recs:  []rec{{id: "r", tools: shop, session: "s"}},
		talks: []*host.Conversation{talk("claude-code", "s")},
		want:  [][]string{{"joined"}},
	}, {
		name:  "one id, other arguments: a contradiction and no other pair",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a2, meta: use("t1")}, {ms: 1002, tool: "find", args: a1, meta: use("t2")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"contradictory", "0 -> r:5 exact id, sure !arguments", "r:6 unexplained"}},
	}, {
		name:  "one id, another tool",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "drop", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"contradictory", "0 -> r:5 exact id, sure !tool"}},
	}, {
		name:  "the host says error and the wire ok",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200, edit: outcome(true)})},
		want:  [][]string{{"contradictory", "0 -> r:5 exact id, sure !outcome"}},
	}, {
		name: "the wire has an error of each kind and the host ok",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1"), outcome: "error"}, {ms: 1002, tool: "find", args: a1, meta: use("t2"), outcome: "rpc"}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200, edit: outcome(false)},
			said{id: "t2", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200, edit: outcome(true)})},
		want: [][]string{{"contradictory", "0 -> r:5 exact id, sure !outcome", "1 -> r:6 exact id, sure"}},
	}, {
		name:  "a call that the host says was denied is on the wire",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200, edit: denied})},
		want:  [][]string{{"contradictory", "0 -> r:5 exact id, sure !outcome"}},
	}, {
		name: "arguments that the host made ready before it sent them are no contradiction",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a2, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200,
			edit: func(c *host.Call) { c.ArgsSource = host.ArgsFromModel }})},
		want: [][]string{{"joined", "0 -> r:5 exact id, sure"}},
	}, {
		name: "a credential that the recording hides is no contradiction",
		recs: []rec{{id: "r", tools: shop, masked: true, calls: []sent{{ms: 1001, tool: "find", args: `{"key":"*****","id":1}`, meta: use("t1")}, {ms: 1002, tool: "find", args: `{"key":"*****","id":2}`, meta: use("t2")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: `{"id":1,"key":"hunt2"}`, ms: 1000, end: 1200},
			said{id: "t2", name: "mcp__shop__find", args: `{"id":1,"key":"hunt2"}`, ms: 1000, end: 1200})},
		want: [][]string{{"contradictory", "0 -> r:5 exact id, sure", "1 -> r:6 exact id, sure !arguments"}},
	}, {
		name: "one call id in two threads is two calls",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: codexMeta("s2", "u", "call_1")}}}},
		talks: []*host.Conversation{talk("codex", "s1", said{id: "call_1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200}),
			talk("codex", "s2", said{id: "call_1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"not-joined", "1 elsewhere"}, {"joined", "0 -> r:5 exact id, sure"}},
	}, {
		name:  "the tool that asks for permission names the call that it gates",
		recs:  []rec{{id: "r", tools: append(shop, "ask"), calls: []sent{{ms: 1001, tool: "ask", args: `{"tool_use_id":"t1"}`, meta: use("t9")}, {ms: 1500, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1700})},
		want:  [][]string{{"joined", "0 -> r:6 exact id, sure", "r:5 permission-prompt"}},
	}, {
		name:  "a call that waited minutes for its permission",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 301_000, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 301_200})},
		want:  [][]string{{"joined", "0 -> r:5 content, sure"}},
	}, {
		name:  "other arguments in the window are a hint and no pair",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}, {ms: 60_001, tool: "find", args: `{"id":"A-2","more":1}`}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200}, said{name: "mcp__shop__find", args: a2, ms: 60_000, end: 60_200})},
		want:  [][]string{{"joined-with-rest", "0 -> r:5 content, sure", "1 -> unexplained ~6", "r:6 unexplained"}},
	}, {
		name: "calls of a server that was not recorded",
		recs: []rec{{id: "r", server: "shop", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{id: "t2", name: "mcp__files__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:5 exact id, sure", "1 elsewhere"}},
	}, {
		name: "two servers with one tool, told apart by the label",
		recs: []rec{{id: "q", server: "files", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}}}, {id: "r", server: "shop", tools: shop, calls: []sent{{ms: 1002, tool: "find", args: a1}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200},
			said{name: "mcp__files__find", args: a1, ms: 1000, end: 1200})},
		want: [][]string{{"joined", "0 -> r:5 content, sure", "1 -> q:5 content, sure"}},
	}, {
		name:  "two conversations of ChatGPT with one call each: which is the export's is not known",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: `{"openai/session":"v1"}`}, {ms: 1002, tool: "find", args: a2, meta: `{"openai/session":"v2"}`}}}},
		talks: []*host.Conversation{talk("chatgpt", "s", said{name: "find", args: a1}, said{name: "find", args: a2})},
		want:  [][]string{{"joined-with-rest", "0 -> r:5 content, ambiguous", "1 -> r:6 content, ambiguous"}},
	}, {
		name:  "another host's keys are never this host's",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: use("t1")}}}},
		talks: []*host.Conversation{talk("codex", "s", said{id: "t1", name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		want:  [][]string{{"not-joined", "1 elsewhere"}},
	}, {
		name: "a server that fails in the host's own words of refusal: the call was sent once, and is no other",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1}, {ms: 2001, tool: "find", args: a2, outcome: "error"}}}},
		talks: []*host.Conversation{talk("gemini-cli", "s", said{name: "find", args: a1, ms: 1000, end: 1200},
			said{name: "find", args: a2, ms: 2000, end: 2200, edit: refusedInWords})},
		want: [][]string{{"joined", "0 -> r:5 content, sure", "1 -> r:6 content, sure"}},
	}, {
		name:  "the same with its id",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 2001, tool: "find", args: a2, outcome: "error", meta: use("t1")}}}},
		talks: []*host.Conversation{talk("claude-code", "s", said{id: "t1", name: "mcp__shop__find", args: a2, ms: 2000, end: 2200, edit: refusedInWords})},
		want:  [][]string{{"joined", "0 -> r:5 exact id, sure"}},
	}, {
		name: "refused, while one alike is sent and fails",
		recs: []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, outcome: "error"}}}},
		talks: []*host.Conversation{talk("gemini-cli", "s", said{name: "find", args: a1, ms: 1000, end: 1200},
			said{name: "find", args: a1, ms: 1100, end: 1200, edit: refusedInWords})},
		want: [][]string{{"joined", "0 -> r:5 content, sure", "1 -> refused"}},
	}, {
		name:  "chosen by the user, without a call on either side",
		recs:  []rec{{id: "r", tools: shop}},
		talks: []*host.Conversation{talk("gemini-cli", "s")},
		o:     join.Options{Chosen: true},
		want:  [][]string{{"joined"}},
	}, {
		name:  "chosen by the user, and the wire says otherwise",
		recs:  []rec{{id: "r", tools: shop, calls: []sent{{ms: 1001, tool: "find", args: a1, meta: codexMeta("other", "u", "")}}}},
		talks: []*host.Conversation{talk("codex", "s", said{name: "mcp__shop__find", args: a1, ms: 1000, end: 1200})},
		o:     join.Options{Chosen: true},
		want:  [][]string{{"not-joined", "1 elsewhere"}},
	}} {
		t.Run(row.name, func(t *testing.T) {
			var ws []join.Wire
			for _, r := range row.recs {
				ws = append(ws, r.wires(t)...)
			}
			r := join.Join(row.talks, ws, row.o)
			for i := range row.talks {
				if d := cmp.Diff(row.want[i], told(r, i)); d != "" {
					t.Errorf("conversation %d (%s): -want +got\n%s", i, r.Conversations[i].Why, d)
				}
			}
		})
	}
}

func withTurns(c *host.Conversation, ids ...string) *host.Conversation {
	for i, id := range ids {
		c.Turns[i].ID = id
	}
	return c
}

func copied(c *host.Conversation, from string) *host.Conversation {
	c.Turns[0].CopiedFrom = from
	return c
}

func refusedInWords(c *host.Call) {
	yes := true
	c.Refused, c.HostError = host.RefusedSchema, &yes
}

func outcome(failed bool) func(*host.Call) {
	return func(c *host.Call) { c.HostError = &failed }
}
