package codex_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/codex"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
)

// lines makes a rollout of "type/payload type {members}" in short form; times
// count up by a second.
func lines(short ...string) string {
	var b strings.Builder
	for i, s := range short {
		head, members, _ := strings.Cut(s, " ")
		typ, kind, sub := strings.Cut(head, "/")
		p := members
		if sub {
			p = fmt.Sprintf(`{"type":%q`, kind)
			if members != "" {
				p += "," + members
			}
			p += "}"
		}
		fmt.Fprintf(&b, `{"timestamp":"2026-11-30T10:%02d:%02dZ","type":%q,"payload":%s}`+"\n", i/60, i%60, typ, p)
	}
	return b.String()
}

const (
	cli    = `session_meta {"id":"th","cwd":"/x","originator":"codex_cli_rs","cli_version":"0.147.0","source":"cli"}`
	model  = `turn_context {"model":"m","turn_id":"t1"}`
	start1 = `event_msg/task_started "turn_id":"t1"`
	user1  = `event_msg/user_message "message":"one"`
	start2 = `event_msg/task_started "turn_id":"t2"`
	user2  = `event_msg/user_message "message":"two"`
	done1  = `event_msg/task_complete "turn_id":"t1","last_agent_message":"first"`
	done2  = `event_msg/task_complete "turn_id":"t2","last_agent_message":"second"`
)

func says(text string) string {
	return fmt.Sprintf(`response_item/message "role":"assistant","content":[{"type":"output_text","text":%q}]`, text)
}

func calls(id, name, args string) string {
	return fmt.Sprintf(`response_item/function_call "name":%q,"namespace":"mcp__shop","arguments":%q,"call_id":%q`, name, args, id)
}

func count(in, out int) string {
	return fmt.Sprintf(`event_msg/token_count "info":{"total_token_usage":{"input_tokens":%d,"output_tokens":%d},"last_token_usage":{"input_tokens":7,"output_tokens":3}}`, in, out)
}

// told is what turns say, one line each.
func told(c *host.Conversation) (out []string) {
	for _, u := range c.Turns {
		s := fmt.Sprintf("%s %s %s", u.Origin, u.Status, u.FinalText.State)
		for _, p := range u.Prompts {
			s += " <" + p.Text.Text
			if p.Queued {
				s += "(queued)"
			}
		}
		out = append(out, s+" >"+u.FinalText.Text.Text)
	}
	return out
}

func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string
		notes string
	}{
		{"an answer", []string{start1, user1, says("first"), done1}, []string{"human complete text <one >first"}, ""},
		{"the file ends in a turn", []string{start1, user1, says("so far")}, []string{"human open text <one >so far"}, ""},
		{"a prompt without an answer", []string{start1, user1}, []string{"human open absent <one >"}, ""},
		{"typed while the turn ran", []string{start1, user1, says("a"), user2, says("first"), done1}, []string{"human complete text <one <two(queued) >first"}, ""},
		{"aborted", []string{start1, user1, says("a"), `event_msg/turn_aborted "reason":"interrupted"`, start2, user2, says("second"), done2},
			[]string{"human interrupted text <one >a", "human complete text <two >second"}, ""},
		{"an error and no answer", []string{start1, user1, `event_msg/error "message":"no quota"`, `event_msg/task_complete "turn_id":"t1","last_agent_message":null`},
			[]string{"human error absent <one >"}, ""},
		{"the host says that there is no answer", []string{start1, user1, `event_msg/task_complete "turn_id":"t1","last_agent_message":null`},
			[]string{"human complete empty <one >"}, ""},
		{"the answer is in the end alone", []string{start1, user1, done1}, []string{"human complete text <one >first"}, ""},
		{"the end and the answer differ", []string{start1, user1, says("other"), done1}, []string{"human complete text <one >other"}, "final-text-disagrees"},
		{"commentary behind the answer", []string{start1, user1,
			`response_item/message "role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"first"}]`,
			`response_item/message "role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"by the way"}]`, done1},
			[]string{"human complete text <one >first"}, ""},
		{"rolled back", []string{start1, user1, says("first"), done1, start2, user2, says("wrong"), done2, `event_msg/thread_rolled_back "num_turns":1`,
			start2, `event_msg/user_message "message":"again"`, says("second"), done2},
			[]string{"human complete text <one >first", "human complete text <again >second"}, "final-text-disagrees"},
		{"without tasks", []string{user1, says("first"), user2, says("second")},
			[]string{"human complete text <one >first", "human complete text <two >second"}, ""},
		{"a task of the host's own", []string{start1, user1, says("first"), done1, start2, says("compacted"), `event_msg/task_complete "turn_id":"t2","last_agent_message":null`},
			[]string{"human complete text <one >compacted"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := hosttest.One(t, hosttest.Text(t, "rollout-x.jsonl", lines(append([]string{cli, model}, tt.lines...)...)))
			if d := cmp.Diff(tt.want, told(c)); d != "" {
				t.Error(d)
			}
			var notes []string
			for _, n := range c.Notes {
				notes = append(notes, n.Kind)
			}
			if got := strings.Join(notes, " "); got != tt.notes {
				t.Errorf("notes %q, want %q", got, tt.notes)
			}
		})
	}
}

func TestRolledBackCalls(t *testing.T) {
	c := hosttest.One(t, hosttest.Text(t, "r.jsonl", lines(cli, model, start1, user1, calls("c1", "a", "{}"), says("first"), done1,
		start2, user2, calls("c2", "b", "{}"), done2, `event_msg/thread_rolled_back "num_turns":1`)))
	want := []host.Branch{{Why: "rolled back", Messages: 2, Calls: 1, CallIDs: []string{"c2"}, Src: host.Src{Line: 12}}}
	if d := cmp.Diff(want, c.Branches); d != "" || len(c.Calls) != 1 || c.TurnCount() != 1 {
		t.Errorf("%s, calls %v", d, c.Calls)
	}
}

// Who kept a call from being sent, with an event (0.147) and without (0.105).
func TestNotSent(t *testing.T) {
	end := func(id, result string) string {
		return fmt.Sprintf(`event_msg/mcp_tool_call_end "call_id":%q,"invocation":{"server":"shop","tool":"a","arguments":{}},"duration":{"secs":0,"nanos":1},"result":%s`, id, result)
	}
	out := func(id, text string) string {
		return fmt.Sprintf(`response_item/function_call_output "call_id":%q,"output":%q`, id, text)
	}
	c := hosttest.One(t, hosttest.Text(t, "r.jsonl", lines(cli, model, start1, user1,
		calls("c1", "a", "{}"), end("c1", `{"Err":"user rejected MCP tool call"}`), out("c1", "user rejected MCP tool call"),
		calls("c2", "a", "{}"), end("c2", `{"Err":"tool call error: timed out"}`), out("c2", "timed out"),
		calls("c3", "a", "{}"), out("c3", `err: "user cancelled MCP tool call"`),
		calls("c4", "nope", "{}"), out("c4", "unsupported call: mcp__shop__nope"),
		calls("c5", "a", "{}"), end("c5", `{"Ok":{"content":[{"type":"text","text":"user rejected MCP tool call"}]}}`), out("c5", "user rejected MCP tool call"),
		calls("c6", "a", `{"q":"cut`),
		calls("c7", "a", "{}"), end("c7", `{"Err":"MCP tool call requires approval, but approval policy is never"}`), done1)))
	want := []string{"c1 user-rejected  true", "c2   true", "c3 cancelled  true", "c4  unknown-tool true", "c5   false", "c6   ?", "c7 permission-rule  true"}
	var got []string
	for _, k := range c.Calls {
		e := "?"
		if k.HostError != nil {
			e = fmt.Sprint(*k.HostError)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", k.HostCallID, k.Denied, k.Refused, e))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if k := c.Calls[5]; k.Args != nil || k.ArgsError == "" || c.Caps.Calls != host.Partial {
		t.Errorf("%+v, caps %+v", k, c.Caps)
	}
}

// Totals are told twice, go on, and once go back.
func TestTotals(t *testing.T) {
	c := hosttest.One(t, hosttest.Text(t, "r.jsonl", lines(cli, model, start1, user1, says("a"), count(7, 3), count(7, 3), says("first"), count(27, 5), done1,
		start2, user2, count(27, 5), says("second"), count(11, 4), done2)))
	if d := cmp.Diff([]int64{27, -1, 5, 32}, hosttest.Usage(&c.Turns[0], "token_count")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{7, -1, 3, 10}, hosttest.Usage(&c.Turns[1], "token_count")); d != "" || c.Notes[0].Kind != "usage-reset" {
		t.Errorf("%s, notes %v", d, c.Notes)
	}
	// A forked thread begins with its parent's total: 100 and 50 are not its own.
	c = hosttest.One(t, hosttest.Text(t, "r.jsonl", lines(cli, model, start1, user1, says("first"), count(107, 53), done1)))
	if d := cmp.Diff([]int64{7, -1, 3, 10}, hosttest.Usage(&c.Turns[0], "token_count")); d != "" {
		t.Error(d)
	}
}

// Two sources that count differently are both kept, and a note says so.
func TestTotalsDisagree(t *testing.T) {
	record := `token_usage_record {"response_id":"r1","usage":{"input_tokens":7,"output_tokens":3},"turn_token_usage":{"input_tokens":9,"output_tokens":3},"thread_token_usage":{"input_tokens":9,"output_tokens":3}}`
	c := hosttest.One(t, hosttest.Text(t, "r.jsonl", lines(cli, model, start1, user1, says("first"), record, done1)))
	u := &c.Turns[0]
	if d := cmp.Diff([][]int64{{7, -1, 3, 10}, {9, -1, 3, 12}}, [][]int64{hosttest.Usage(u, "responses"), hosttest.Usage(u, "turn_token_usage")}); d != "" {
		t.Error(d)
	}
	if len(c.Notes) != 1 || c.Notes[0].Kind != "usage-disagrees" {
		t.Errorf("notes %v", c.Notes)
	}
}

// A subagent's file repeats its parent's history up to an ordinal; its calls are
// the turn's that it works for, its answers nobody's final text.
func TestSubagent(t *testing.T) {
	root := lines(cli, model, start1, user1, `response_item/function_call "name":"collaborationspawn_agent","arguments":"{}","call_id":"spawn"`,
		`response_item/function_call_output "call_id":"spawn","output":"{\"agent_id\":\"sub\"}"`, says("first"), done1, start2, user2, says("second"), done2)
	sub := lines(`session_meta {"session_id":"th","id":"sub","parent_thread_id":"th","cli_version":"0.147.0","source":{"subagent":{"thread_spawn":{"parent_thread_id":"th","depth":1,"agent_role":"helper"}}},"subagent_history_start_ordinal":4}`,
		start1, user1, says("copied"),
		`event_msg/task_started "turn_id":"s1","root_turn_id":"t1"`, `event_msg/user_message "message":"look"`, calls("c9", "a", "{}"),
		`response_item/function_call_output "call_id":"c9","output":"ok"`, says("found"), count(7, 3), `event_msg/task_complete "turn_id":"s1","last_agent_message":"found"`)
	cs, err := host.ImportFiles([]*host.File{host.BytesFile("a-sub.jsonl", []byte(sub)), host.BytesFile("root.jsonl", []byte(root))}, []*host.Importer{codex.Rollout}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := hosttest.One(t, cs)
	hosttest.Sound(t, c)
	if d := cmp.Diff([]string{"human complete text <one >first", "human complete text <two >second"}, told(c)); d != "" {
		t.Error(d)
	}
	k := c.Calls[len(c.Calls)-1]
	if d := cmp.Diff(&host.Agent{ID: "sub", ParentCall: "spawn", Depth: 1, Type: "helper"}, k.Agent); d != "" || k.HostCallID != "c9" || k.Turn != 0 || k.Server != "shop" {
		t.Errorf("%s, %+v", d, k)
	}
	if u := c.Turns[0].Usage; len(u) != 1 || u[0].Agents != host.SubAgents || u[0].Total != host.Known(10) {
		t.Errorf("usage %+v", u)
	}
	if s := c.Sources[1]; s.Path != "a-sub.jsonl" || s.Skipped["copied history"] != 3 {
		t.Errorf("source %+v", s)
	}
}

// Old versions (0.105) say in the source alone whose subagent a thread is, and so do
// subagents of subagents.
func TestSubagentOfOldVersions(t *testing.T) {
	file := func(id, source string) *host.File {
		return host.BytesFile(id+".jsonl", []byte(lines(fmt.Sprintf(`session_meta {"id":%q,"cli_version":"0.105.0","source":%s}`, id, source),
			start1, user1, calls("call-"+id, "a", "{}"), says("first"), done1)))
	}
	spawned := func(by string, depth int) string {
		return fmt.Sprintf(`{"subagent":{"thread_spawn":{"parent_thread_id":%q,"depth":%d}}}`, by, depth)
	}
	for name, row := range map[string]struct {
		files []*host.File
		want  []string
	}{
		"a subagent":                          {[]*host.File{file("a", spawned("th", 1)), file("th", `"exec"`)}, []string{"th a: call-th call-a@1"}},
		"a subagent of a subagent":            {[]*host.File{file("a", spawned("b", 2)), file("b", spawned("th", 1)), file("th", `"exec"`)}, []string{"th b a: call-th call-b@1 call-a@2"}},
		"of another thread":                   {[]*host.File{file("a", spawned("gone", 1)), file("th", `"exec"`)}, []string{"a: call-a", "th: call-th"}},
		"each says that it is from the other": {[]*host.File{file("a", spawned("b", 1)), file("b", spawned("a", 1))}, []string{"a: call-a", "b: call-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			cs, err := codex.Rollout.Import(row.files)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range cs {
				s := strings.Join(c.SessionIDs, " ") + ":"
				for _, k := range c.Calls {
					s += " " + k.HostCallID
					if k.Agent != nil {
						s += fmt.Sprintf("@%d", k.Agent.Depth)
					}
				}
				got = append(got, s)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestNorm(t *testing.T) {
	for in, want := range map[string]string{"shop": "shop", "host-test-raw": "host_test_raw", "cancel.order": "cancel_order", "é x": "__x"} {
		if got := codex.Norm(in); got != want {
			t.Errorf("Norm(%q) = %q, want %q", in, got, want)
		}
	}
	// The longest server that an event names wins where a name can be parted twice.
	end := `event_msg/mcp_tool_call_end "call_id":"c1","invocation":{"server":"my-srv","tool":"a__b","arguments":{}},"result":{"Ok":{"content":[]}}`
	c := hosttest.One(t, hosttest.Text(t, "r.jsonl", lines(cli, model, start1, user1, end,
		`response_item/function_call "name":"mcp__my_srv__a__b","arguments":"{}","call_id":"c2"`, done1)))
	if k := c.Calls[1]; k.Server != "my-srv" || k.Tool != (host.Tool{Raw: "a__b", Shown: "a__b"}) {
		t.Errorf("%+v", k)
	}
}

// Results of 40 KB that an event and an item both tell: what is held is the model's
// bounds and the shape of the records. TestFaultLongRollout (make faults) reads 200 MB.
func TestFlatMemory(t *testing.T) {
	if raceOn {
		t.Skip("reads 60 MB: without the race detector")
	}
	const bound = 40 << 20 // MaxKept twice, and some KB for each of the turns
	if held := longRollout(t, 60<<20); held > bound {
		t.Errorf("%d bytes are held, want at most %d", held, bound)
	}
}

// longRollout reads a rollout of so many bytes and says how many are held then.
func longRollout(t *testing.T, size int) int64 {
	t.Helper()
	big := strings.Repeat("result ", 40<<10/7)
	turn := lines(start1, user1, calls("c", "a", "{}"),
		fmt.Sprintf(`event_msg/mcp_tool_call_end "call_id":"c","invocation":{"server":"shop","tool":"a","arguments":{}},"result":{"Ok":{"content":[{"type":"text","text":%q}]}}`, big),
		fmt.Sprintf(`response_item/function_call_output "call_id":"c","output":%q`, big), says("first"), done1)
	n := size / len(turn)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cs, err := codex.Rollout.Import([]*host.File{hosttest.Stream("r.jsonl", lines(cli, model), turn, n)})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if c := hosttest.One(t, cs); len(c.Turns) != n || c.Sources[0].Bytes < int64(size)*9/10 {
		t.Errorf("%d turns of %d, %d bytes", len(c.Turns), n, c.Sources[0].Bytes)
	}
	runtime.KeepAlive(cs)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}
