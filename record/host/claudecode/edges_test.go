package claudecode_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/claudecode"
)

// file builds a session file line by line, for what no sample holds.
type file struct {
	b    strings.Builder
	last string
	n    int
}

func (f *file) line(format string, args ...any) { fmt.Fprintf(&f.b, format+"\n", args...) }

// add writes a record whose parent is the one before; it returns its uuid.
func (f *file) add(typ, message, more string) string { return f.under(f.last, typ, message, more) }

func (f *file) under(parent, typ, message, more string) string {
	f.n++
	id := fmt.Sprintf("u%d", f.n)
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	if more != "" {
		more = "," + more
	}
	f.line(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","version":"2.1.300","timestamp":"2026-11-30T10:00:%02dZ","message":%s%s}`,
		typ, id, p, f.n%60, message, more)
	f.last = id
	return id
}

func (f *file) prompt(s string) string {
	return f.add("user", fmt.Sprintf(`{"role":"user","content":%q}`, s), "")
}

func (f *file) answer(id, s string) string {
	return f.add("assistant", fmt.Sprintf(`{"id":%q,"model":"m","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":4}}`, id, s), "")
}

func (f *file) call(msg, id, tool string) string {
	return f.add("assistant", fmt.Sprintf(`{"id":%q,"model":"m","content":[{"type":"tool_use","id":%q,"name":%q,"input":{"a":1}}],"stop_reason":"tool_use"}`, msg, id, tool), "")
}

func (f *file) result(id, s string, more string) string {
	return f.add("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q,"is_error":true}]}`, id, s), more)
}

func (f *file) read(t *testing.T) *host.Conversation {
	t.Helper()
	cs, err := claudecode.Session.Import([]*host.File{host.BytesFile("s.jsonl", []byte(f.b.String()))})
	if err != nil {
		t.Fatal(err)
	}
	if len(cs) != 1 {
		t.Fatalf("%d conversations", len(cs))
	}
	return cs[0]
}

// story is the turns as one text: status, prompts -> answer.
func story(c *host.Conversation) string {
	var b strings.Builder
	for _, t := range c.Turns {
		fmt.Fprintf(&b, "%s %s:", t.Origin, t.Status)
		for _, p := range t.Prompts {
			fmt.Fprintf(&b, " %q", p.Text.Text)
		}
		fmt.Fprintf(&b, " -> %s %q", t.FinalText.State, t.FinalText.Text.Text)
		for _, e := range t.Earlier {
			fmt.Fprintf(&b, " after %q", e.Text.Text)
		}
		for _, id := range t.CallIDs {
			fmt.Fprintf(&b, " [%s]", id)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestEdges(t *testing.T) {
	for _, tt := range []struct {
		name  string
		build func(f *file)
		want  string
		check func(t *testing.T, c *host.Conversation)
	}{
		{name: "an edited prompt leaves the old branch", build: func(f *file) {
			f.prompt("one")
			top := f.answer("m1", "first")
			f.prompt("two, wrong")
			f.call("m2", "c-dead", "mcp__s__t")
			f.result("c-dead", "x", "")
			f.answer("m3", "dead")
			f.last = top
			f.prompt("two, right")
			f.answer("m4", "second")
		}, want: `human complete: "one" -> text "first"
human complete: "two, right" -> text "second"
`, check: func(t *testing.T, c *host.Conversation) {
			want := []host.Branch{{Why: "another prompt was sent in its place", Messages: 3, Calls: 1, CallIDs: []string{"c-dead"}, Src: host.Src{Line: 3}}}
			if d := cmp.Diff(want, c.Branches); d != "" {
				t.Error(d)
			}
		}},
		{name: "records of other types stand in the tree", build: func(f *file) {
			f.prompt("one")
			f.answer("m1", "first")
			f.line(`{"type":"progress","uuid":"p1","parentUuid":"u2","sessionId":"s","message":{"role":"user","content":"no prompt"}}`)
			f.last = "p1"
			f.prompt("two, wrong")
			f.answer("m2", "dead")
			f.last = "p1"
			f.prompt("two, right")
			f.answer("m3", "second")
		}, want: `human complete: "one" -> text "first"
human complete: "two, right" -> text "second"
`},
		{name: "the first prompt edited", build: func(f *file) {
			f.prompt("old")
			f.answer("m1", "old")
			f.last = ""
			f.prompt("new")
			f.answer("m2", "new")
		}, want: "human complete: \"new\" -> text \"new\"\n"},
		{name: "results of parallel calls are siblings", build: func(f *file) {
			f.prompt("go")
			f.call("m1", "c1", "mcp__s__t")
			one := f.last
			f.call("m1", "c2", "mcp__s__t")
			f.under(f.last, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"b"}]}`, "")
			f.under(one, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a"}]}`, "")
			f.answer("m2", "done")
		}, want: "human complete: \"go\" -> text \"done\" [c1] [c2]\n", check: func(t *testing.T, c *host.Conversation) {
			if c.Caps.Calls != host.Present || len(c.Branches) != 0 {
				t.Errorf("caps %+v, branches %+v", c.Caps, c.Branches)
			}
		}},
		{name: "parents that are not in the file, and a loop", build: func(f *file) {
			f.under("gone", "user", `{"role":"user","content":"one"}`, "")
			f.under("u3", "assistant", `{"id":"m1","model":"m","content":[{"type":"text","text":"first"}],"stop_reason":"end_turn"}`, "")
			f.under("u2", "user", `{"role":"user","content":"two"}`, "")
			f.answer("m2", "second")
		}, want: `human complete: "one" -> text "first"
human complete: "two" -> text "second"
`},
		{name: "a compaction and records written anew", build: func(f *file) {
			f.prompt("one")
			kept := f.answer("m1", "first")
			f.line(`{"type":"system","subtype":"compact_boundary","uuid":"cb","parentUuid":null,"logicalParentUuid":%q,"sessionId":"s"}`, kept)
			f.under("cb", "user", `{"role":"user","content":"This session is being continued from a previous conversation that ran out of context."}`, `"isCompactSummary":true`)
			f.line(`{"type":"assistant","uuid":%q,"parentUuid":%q,"sessionId":"s","message":{"id":"m1","model":"m","content":[{"type":"text","text":"first"}]}}`, kept, f.last)
			f.prompt("two")
			f.answer("m2", "second")
		}, want: `human complete: "one" -> text "first"
human complete: "two" -> text "second"
`, check: func(t *testing.T, c *host.Conversation) {
			if c.Sources[0].Skipped["repeated record"] != 1 {
				t.Errorf("source %+v", c.Sources[0])
			}
		}},
		{name: "an interrupt", build: func(f *file) {
			f.prompt("one")
			f.answer("m1", "Let me")
			f.prompt("[Request interrupted by user]")
			f.prompt("two")
			f.answer("m2", "second")
		}, want: `human interrupted: "one" -> text "Let me"
human complete: "two" -> text "second"
`},
		{name: "an interrupt during a tool", build: func(f *file) {
			f.prompt("one")
			f.call("m1", "c1", "mcp__s__t")
			f.result("c1", "The user doesn't want to proceed with this tool use.", `"toolDenialKind":"cancelled"`)
			f.prompt("[Request interrupted by user for tool use]")
		}, want: "human interrupted: \"one\" -> empty \"\" [c1]\n", check: func(t *testing.T, c *host.Conversation) {
			if c.Calls[0].Denied != host.DeniedCancelled {
				t.Errorf("call %+v", c.Calls[0])
			}
		}},
		{name: "an API error is no answer", build: func(f *file) {
			f.prompt("one")
			f.add("assistant", `{"id":"e1","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 overloaded"}]}`, `"isApiErrorMessage":true`)
			f.prompt("two")
			f.answer("m1", "second")
			f.add("assistant", `{"id":"e2","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}],"stop_reason":"stop_sequence"}`, "")
		}, want: `human error: "one" -> absent ""
human complete: "two" -> text "second"
`, check: func(t *testing.T, c *host.Conversation) {
			if c.Turns[0].Error != "API Error: 529 overloaded" || c.Caps.FinalText != host.Partial || c.Caps.Tokens != host.Present {
				t.Errorf("turn %+v, caps %+v", c.Turns[0], c.Caps)
			}
		}},
		{name: "a command for the model is a prompt, a local one is none", build: func(f *file) {
			f.prompt("<command-message>review</command-message>\n<command-name>/review</command-name>")
			f.add("user", `{"role":"user","content":[{"type":"text","text":"Review the code."}]}`, `"isMeta":true`)
			f.answer("m1", "reviewed")
			f.prompt("<command-name>/cost</command-name>")
			f.prompt("<local-command-stdout>0.1</local-command-stdout>")
		}, want: "human complete: \"<command-message>review</command-message>\\n<command-name>/review</command-name>\" -> text \"reviewed\"\n"},
		{name: "wakeups extend the turn", build: func(f *file) {
			f.prompt("one")
			f.answer("m1", "wait")
			f.add("user", `{"role":"user","content":"<task-notification>done</task-notification>"}`, `"origin":{"kind":"task-notification"},"promptSource":"system"`)
			f.answer("m2", "now")
			f.add("user", `{"role":"user","content":"hello from a peer"}`, `"origin":{"kind":"peer"}`)
		}, want: "human open: \"one\" -> text \"now\" after \"wait\"\n"},
		{name: "a wakeup that nobody answered before the next prompt", build: func(f *file) {
			f.prompt("one")
			f.answer("m1", "first")
			f.add("user", `{"role":"user","content":"hello from a peer"}`, `"origin":{"kind":"peer"}`)
			f.prompt("two")
			f.answer("m2", "second")
		}, want: `human complete: "one" -> text "first"
human complete: "two" -> text "second"
`},
		{name: "an error that a retry made good", build: func(f *file) {
			f.prompt("one")
			f.add("assistant", `{"id":"e1","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}`, `"isApiErrorMessage":true`)
			f.answer("m1", "first")
		}, want: "human complete: \"one\" -> text \"first\"\n", check: func(t *testing.T, c *host.Conversation) {
			if c.Turns[0].Error != "" {
				t.Errorf("turn %+v", c.Turns[0])
			}
		}},
		{name: "a null stop_reason, and the host's word that the turn is over", build: func(f *file) {
			f.prompt("one")
			f.add("assistant", `{"id":"m1","model":"m","content":[{"type":"text","text":"first"}],"stop_reason":null}`, "")
			f.line(`{"type":"system","subtype":"turn_duration","uuid":"sd","parentUuid":"u2","sessionId":"s"}`)
		}, want: "human complete: \"one\" -> text \"first\"\n"},
		{name: "a null stop_reason at the end", build: func(f *file) {
			f.prompt("one")
			f.add("assistant", `{"id":"m1","model":"m","content":[{"type":"text","text":"first"}],"stop_reason":null}`, "")
		}, want: "human open: \"one\" -> text \"first\"\n"},
		{name: "a queued prompt that is a record too", build: func(f *file) {
			f.prompt("one")
			f.answer("m1", "first")
			f.line(`{"type":"attachment","uuid":"a1","parentUuid":"u2","sessionId":"s","attachment":{"type":"queued_command","prompt":"two","commandMode":"prompt","source_uuid":"u3"}}`)
			f.prompt("two")
			f.answer("m2", "second")
		}, want: `human complete: "one" -> text "first"
human complete: "two" -> text "second"
`},
		{name: "queued notifications are no prompts", build: func(f *file) {
			f.prompt("one")
			f.answer("m1", "wait")
			f.line(`{"type":"attachment","uuid":"a1","parentUuid":"u2","sessionId":"s","attachment":{"type":"queued_command","prompt":"<task-notification>x</task-notification>","commandMode":"task-notification"}}`)
			f.answer("m2", "done")
		}, want: "human complete: \"one\" -> text \"done\" after \"wait\"\n"},
		{name: "a background agent keeps the turn open", build: func(f *file) {
			f.prompt("one")
			f.call("m1", "c1", "Agent")
			f.result("c1", "launched", `"toolUseResult":{"isAsync":true,"agentId":"a1"}`)
			f.answer("m2", "it runs")
		}, want: "human open: \"one\" -> text \"it runs\" [c1]\n"},
		{name: "a last message of calls alone has no text", build: func(f *file) {
			f.prompt("one")
			f.answer("m1", "Let me look.")
			f.call("m2", "c1", "mcp__s__t")
			f.result("c1", "x", "")
			f.prompt("two")
		}, want: `human interrupted: "one" -> empty "" [c1]
human open: "two" -> absent ""
`},
		{name: "an answer before any prompt", build: func(f *file) {
			f.answer("m0", "resumed")
			f.prompt("one")
			f.answer("m1", "first")
		}, want: `system complete: -> text "resumed"
human complete: "one" -> text "first"
`, check: func(t *testing.T, c *host.Conversation) {
			if c.TurnCount() != 1 {
				t.Errorf("%d turns", c.TurnCount())
			}
		}},
		{name: "a prompt with an image", build: func(f *file) {
			f.add("user", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAEC"}}]}`, "")
			f.answer("m1", "three bytes")
		}, want: "human complete: \"\" -> text \"three bytes\"\n", check: func(t *testing.T, c *host.Conversation) {
			if m := c.Turns[0].Prompts[0].Media; len(m) != 1 || m[0].Bytes != 3 {
				t.Errorf("media %+v", m)
			}
		}},
		{name: "a call's result twice", build: func(f *file) {
			f.prompt("one")
			f.call("m1", "c1", "mcp__s__t")
			f.result("c1", "first", "")
			f.result("c1", "second", "")
			f.line(`{"type":"api-request-blob","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"third"}]}}`)
			f.answer("m2", "done")
		}, want: "human complete: \"one\" -> text \"done\" [c1]\n", check: func(t *testing.T, c *host.Conversation) {
			if s := c.Calls[0].Result.Text.Text; s != "first" {
				t.Errorf("result %q", s)
			}
		}},
		{name: "members of another type", build: func(f *file) {
			f.add("user", `{"role":"user","content":"one"}`, `"origin":"human","promptSource":7,"isMeta":"no","mcpMeta":[]`)
			f.answer("m1", "first")
		}, want: "human complete: \"one\" -> text \"first\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f file
			tt.build(&f)
			c := f.read(t)
			if d := cmp.Diff(tt.want, story(c)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if tt.check != nil {
				tt.check(t, c)
			}
		})
	}
}

// Who kept a call from being sent, by the host's sentences of versions without
// toolDenialKind.
func TestRefusals(t *testing.T) {
	for text, want := range map[string][2]string{
		"Claude requested permissions to use mcp__s__t, but you haven't granted it yet.":       {host.DeniedUnstated, ""},
		"The user doesn't want to proceed with this tool use. The tool use was rejected":       {host.DeniedByUser, ""},
		"Permission to use mcp__s__t has been denied.":                                         {host.DeniedByRule, ""},
		"<tool_use_error>Error: No such tool available: mcp__s__t</tool_use_error>":            {"", host.RefusedTool},
		"<tool_use_error>InputValidationError: t failed due to the following</tool_use_error>": {"", host.RefusedSchema},
		"<tool_use_error>File has not been read yet.</tool_use_error>":                         {"", host.RefusedUse},
		"MCP error -32602: Invalid arguments for tool t":                                       {"", ""},
		"Order A-9999 not found": {"", ""},
	} {
		var f file
		f.prompt("go")
		f.call("m1", "c1", "mcp__s__t")
		f.result("c1", text, "")
		k := f.read(t).Calls[0]
		if got := [2]string{k.Denied, k.Refused}; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for raw, want := range map[string]string{
		"shop": "shop", "cancel.order": "cancel_order", "a b/c": "a_b_c", "plugin:p:s": "plugin_p_s",
		"claude.ai Google Drive (x)": "claude_ai_Google_Drive_x", "é": "_", "a__b": "a__b", "A-z_9": "A-z_9",
	} {
		if got := claudecode.Norm(raw); got != want {
			t.Errorf("Norm(%q) = %q, want %q", raw, got, want)
		}
	}
	// A server whose name holds "__" is only told apart where it is known.
	var f file
	f.line(`{"type":"attachment","uuid":"a0","parentUuid":null,"sessionId":"s","attachment":{"type":"mcp_instructions_delta","addedNames":["my__shop","my"]}}`)
	f.prompt("go")
	f.call("m1", "c1", "mcp__my__shop__cancel_order")
	f.call("m1", "c2", "mcp__my__t")
	f.call("m1", "c3", "mcp__other__x__y")
	f.add("assistant", `{"id":"m2","model":"m","content":[{"type":"text","text":"ok"}]}`, `"attributionMcpServer":"my__shop","attributionMcpTool":"cancel.order"`)
	c := f.read(t)
	var got []string
	for _, k := range c.Calls {
		got = append(got, k.Server+"|"+k.Tool.Shown+"|"+k.Tool.Raw)
	}
	if d := cmp.Diff([]string{"my__shop|cancel_order|cancel.order", "my|t|", "other|x__y|"}, got); d != "" {
		t.Error(d)
	}
}

// Subagents in files of their own: what started each is told in three ways, and
// what belongs to no session that was given is said.
func TestAgents(t *testing.T) {
	var f file
	f.prompt("go")
	f.call("m1", "c0", "mcp__s__before")
	f.result("c0", "x", "")
	task := func(msg, id, prompt string) {
		f.add("assistant", fmt.Sprintf(`{"id":%q,"model":"m","content":[{"type":"tool_use","id":%q,"name":"Agent","input":{"prompt":%q}}],"stop_reason":"tool_use"}`, msg, id, prompt), "")
	}
	task("m2", "by-meta", "same")
	task("m2", "by-result", "same")
	task("m2", "by-prompt", "same")
	f.result("by-result", "x", `"toolUseResult":{"agentId":"a2"}`)
	f.result("by-meta", "x", "")
	f.result("by-prompt", "x", "")
	f.answer("m3", "done")
	agent := func(session, id, prompt, call, more string) string {
		head := fmt.Sprintf(`"isSidechain":true,"agentId":%q,"sessionId":%q`, id, session)
		return fmt.Sprintf(`{"type":"user","uuid":"%[1]s-1","parentUuid":null,%[2]s,"message":{"role":"user","content":%[3]q}}
{"type":"assistant","uuid":"%[1]s-2","parentUuid":"%[1]s-1",%[2]s,"message":{"id":"%[1]s-m","model":"m2","content":[{"type":"tool_use","id":%[4]q,"name":"mcp__s__t","input":{}}%[5]s]}}
{"type":"user","uuid":"%[1]s-3","parentUuid":"%[1]s-2",%[2]s,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%[4]q,"content":"y"}]}}
{"type":"assistant","uuid":"%[1]s-4","parentUuid":"%[1]s-3",%[2]s,"message":{"id":"m3","model":"m2","content":[{"type":"text","text":"a copy of the main agent's message"}]}}
`, id, head, prompt, call, more)
	}
	nested := `,{"type":"tool_use","id":"nest","name":"Agent","input":{"prompt":"deeper"}}`
	files := []*host.File{
		host.BytesFile("s.jsonl", []byte(f.b.String())),
		host.BytesFile("s/subagents/agent-a1.jsonl", []byte(agent("s", "a1", "same", "k1", nested))),
		host.BytesFile("s/subagents/agent-a1.meta.json", []byte(`{"toolUseId":"by-meta","agentType":"Explore","spawnDepth":1}`)),
		host.BytesFile("agent-a2.jsonl", []byte(agent("s", "a2", "same", "k2", ""))),
		host.BytesFile("agent-a3.jsonl", []byte(agent("s", "a3", "same", "k3", ""))),
		host.BytesFile("s/subagents/agent-a4.jsonl", []byte(agent("s", "a4", "deeper", "k4", ""))),
		host.BytesFile("agent-a5.jsonl", []byte(agent("s", "a5", "nobody asked", "k5", ""))),
		host.BytesFile("agent-a6.jsonl", []byte(agent("s", "a6", "Warmup", "k6", ""))),
		host.BytesFile("agent-a7.jsonl", []byte(agent("other", "a7", "same", "k7", ""))),
	}
	// In the order in which a folder is walked.
	slices.SortFunc(files, func(a, b *host.File) int { return strings.Compare(a.Name, b.Name) })
	cs, err := claudecode.Session.Import(files)
	if err != nil {
		t.Fatal(err)
	}
	c := cs[0]
	var got []string
	for _, k := range c.Calls {
		s := fmt.Sprintf("%d %s", k.Turn, k.HostCallID)
		if k.Agent != nil {
			s += fmt.Sprintf(" by %s of %s, depth %d, %s", k.Agent.ID, k.Agent.ParentCall, k.Agent.Depth, k.Agent.Type)
		}
		got = append(got, s)
	}
	want := []string{
		"0 c0",
		"0 by-meta", "0 k1 by a1 of by-meta, depth 1, Explore", "0 nest by a1 of by-meta, depth 1, Explore", "0 k4 by a4 of nest, depth 2, ",
		"0 by-result", "0 k2 by a2 of by-result, depth 1, ",
		"0 by-prompt", "0 k3 by a3 of by-prompt, depth 1, ",
		"-1 k5 by a5 of , depth 0, ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("calls: -want +got\n%s", d)
	}
	var notes []string
	for _, n := range c.Notes {
		notes = append(notes, n.Kind)
	}
	if d := cmp.Diff([]string{"agent-without-call", "agent-without-session"}, notes); d != "" {
		t.Error(d)
	}
	if f := c.FinalText(); f.Text.Text != "done" || len(cs) != 1 {
		t.Errorf("final text %+v of %d conversations", f, len(cs))
	}
	if _, err := claudecode.Session.Import(files[:1]); !errors.Is(err, host.ErrNothing) || !strings.Contains(err.Error(), "agent-a2.jsonl is the file of a subagent") {
		t.Errorf("an agent's file alone: %v", err)
	}
}

// A folder with everything of one run: the session, what it printed, the wire and
// the oracle. Each file goes to its importer, and others are left out.
func TestFolder(t *testing.T) {
	got := map[string]string{}
	for _, c := range imported(t, "rig-claude-code/2.1.332") {
		got[c.Sources[0].Path] = c.Sources[0].Importer
	}
	want := map[string]string{
		"projects/-home-user-project/70ac5dd5-c34d-4382-9a7a-1c567bb1db78.jsonl": "claude-code",
		"result-4.json":   "claude-code-stream",
		"stream-1.ndjson": "claude-code-stream",
		"stream-2.ndjson": "claude-code-stream",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestDetect(t *testing.T) {
	image := strings.Repeat("A", 2*host.DetectBytes)
	for _, tt := range []struct{ name, head, want string }{
		{"s.jsonl", `{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","message":{"content":"` + image, "claude-code"},
		{"s.jsonl", `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"content":"` + image, "claude-code"},
		{"s.jsonl", `{"type":"summary","summary":"x","leafUuid":"l"}`, "claude-code"},
		{"s.jsonl", "\ufeff{\"type\":\"mode\",\"sessionId\":\"s\"}\r\n", "claude-code"},
		{"agent-1.meta.json", `{"agentType":"Explore"}`, "claude-code"},
		{"o.json", "\x1b[?25l" + `{"type":"system","subtype":"init","session_id":"s"}`, "claude-code-stream"},
		{"o.json", `[ {"type":"assistant","session_id":"s","message":{}},`, "claude-code-stream"},
		{"log.txt", "[info] start\n" + `{"type":"result","session_id":"s","num_turns":1}`, "claude-code-stream"},
		{"h.ndjson", `{"native":{"hook_event_name":"Stop","session_id":"s"}}`, "claude-code-hooks"},
		{"h.ndjson", `{"hook_event_name":"Stop","session_id":"s"}`, "claude-code-hooks"},
		{"c.ndjson", `{"hook_event_name":"stop","session_id":"s","conversation_id":"c"}`, ""}, // Cursor
		{"x.ndjson", `{"hook_event_name":"Stop","session_id":"s","turn_id":"t"}`, ""},         // Codex
		{"r.jsonl", `{"timestamp":"2026-11-30T10:00:00Z","type":"session_meta","payload":{}}`, ""},
		{"g.jsonl", `{"sessionId":"s","projectHash":"p","startTime":"t","kind":"main"}`, ""},
		{"g.ndjson", `{"type":"init","timestamp":"t","session_id":"s","model":"gemini-2.5-pro"}`, ""},
		{"w.jsonl", `{"t":"2026-11-30T10:00:00Z","conn":1,"seq":0,"ev":"start"}`, ""},
		{"cache.jsonl", `{"debug":"x","timestamp":"t","sessionId":"s","cwd":"/"}`, ""},
		{"e.jsonl", "", ""},
		{"b.jsonl", "\x00\x01{", ""},
	} {
		im, err := host.Detect(host.BytesFile(tt.name, []byte(tt.head)), []*host.Importer{claudecode.Session, claudecode.Stream, claudecode.Hooks})
		got := ""
		if im != nil {
			got = im.Name
		}
		if err != nil || got != tt.want {
			t.Errorf("%s %.60q is %q, %v; want %q", tt.name, tt.head, got, err, tt.want)
		}
	}
}

// Output of a program is not always bare lines: an array, terminal codes, a log
// around it, a cut.
func TestObjects(t *testing.T) {
	const (
		init   = `{"type":"system","subtype":"init","session_id":"s","claude_code_version":"2.1.300"}`
		answer = `{"type":"assistant","session_id":"s","uuid":"1","message":{"id":"m","model":"x","content":[{"type":"text","text":"hi"}]}}`
		result = `{"type":"result","session_id":"s","subtype":"success","num_turns":1,"result":"hi","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}`
	)
	big := strings.Repeat("x", host.DefaultMaxLine+1<<20) // an array is read ahead, its bound is a little wider
	for _, tt := range []struct {
		name, in string
		status   host.Status
		lines    int64
		skipped  string
		errors   []string
		cut      bool
	}{
		{"lines", init + "\n" + answer + "\n" + result + "\n", host.Complete, 3, "map[]", nil, false},
		{"an array", "\ufeff [" + init + "," + answer + ",\n" + result + "]\n", host.Complete, 3, "map[]", nil, false},
		{"terminal codes and a log", "\x1b[?25l" + init + "\n[DEBUG] {not this}\n\n" + answer + "\nDone.\n" + result, host.Complete, 6,
			"map[blank line:1 not JSON:2]", nil, false},
		{"a cut line", init + "\n" + answer + "\n" + result[:40], host.Open, 3, "map[]", []string{"line 3: the file ends inside this line"}, true},
		{"a cut array", "[" + init + "," + answer + "," + result[:40], host.Open, 2, "map[]", []string{"line 3: the file ends inside the array"}, true},
		{"an array that is not closed", "[" + init + "," + answer + "," + result, host.Complete, 3, "map[]", []string{"line 4: the file ends inside the array"}, true},
		{"an array with other things", "[" + init + ",1,null," + answer + "," + result + "]", host.Complete, 5, "map[not an object:2]", nil, false},
		{"an array with a fault", "[" + init + "," + answer + ",{]," + result + "]", host.Open, 2, "map[]", []string{"line 3: no JSON; what follows is not read"}, false},
		{"an element over the bound", "[" + init + "," + answer + `,{"a":"` + big + `"},` + result + "]", host.Open, 2, "map[]",
			[]string{"line 3: longer than 33554432 bytes, not read; what follows is not read"}, false},
		{"a line over the bound", init + "\n" + answer + "\n" + `{"a":"` + big + `"}` + "\n" + result, host.Complete, 4, "map[]",
			[]string{"line 3: longer than 33554432 bytes, not read"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cs, err := claudecode.Stream.Import([]*host.File{host.BytesFile("o", []byte(tt.in))})
			if err != nil {
				t.Fatal(err)
			}
			c := cs[0]
			s := c.Sources[0]
			if got := c.Turns[0].Status; got != tt.status || c.FinalText().Text.Text != "hi" {
				t.Errorf("status %s, final text %+v", got, c.FinalText())
			}
			if s.Lines != tt.lines || fmt.Sprint(s.Skipped) != tt.skipped || s.Cut != tt.cut || s.Bytes != int64(len(tt.in)) {
				t.Errorf("%d lines, %d bytes, skipped %v, cut %t", s.Lines, s.Bytes, s.Skipped, s.Cut)
			}
			if d := cmp.Diff(tt.errors, s.Errors); d != "" {
				t.Error(d)
			}
			if partial := c.Caps.Turns == host.Partial; partial != (tt.errors != nil) {
				t.Errorf("caps %+v", c.Caps)
			}
			if sum := sha256.Sum256([]byte(tt.in)); s.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("hash %s", s.SHA256)
			}
		})
	}
}

// A failed run, a limit of turns, and a command that asks no model.
func TestResults(t *testing.T) {
	in := `{"type":"assistant","session_id":"s","message":{"id":"m1","model":"x","content":[{"type":"text","text":"Let me"},{"type":"tool_use","id":"c1","name":"mcp__s__t","input":{}}]}}
{"type":"result","session_id":"s","subtype":"error_max_turns","is_error":false,"num_turns":2}
{"type":"result","session_id":"s","subtype":"success","is_error":false,"num_turns":0,"result":""}
{"type":"assistant","session_id":"s","message":{"id":"m2","model":"<synthetic>","content":[{"type":"text","text":"API Error: 500"}]}}
{"type":"result","session_id":"s","subtype":"success","is_error":true,"num_turns":1,"result":"API Error: 500"}
{"type":"user","session_id":"s","isReplay":true,"message":{"role":"user","content":"go on"}}
{"type":"assistant","session_id":"s","message":{"id":"m3","model":"x","content":[{"type":"text","text":"done"}]}}
{"type":"result","session_id":"s","subtype":"success","is_error":false,"num_turns":1,"result":"done"}
`
	cs, err := claudecode.Stream.Import([]*host.File{host.BytesFile("o", []byte(in))})
	if err != nil {
		t.Fatal(err)
	}
	want := `sdk error: -> text "Let me" [c1]
sdk error: -> absent ""
sdk complete: "go on" -> text "done"
`
	if d := cmp.Diff(want, story(cs[0])); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if e := cs[0].Turns[0].Error + "|" + cs[0].Turns[1].Error; e != "error_max_turns|API Error: 500" {
		t.Errorf("errors %s", e)
	}
}
