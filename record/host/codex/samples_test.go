package codex_test

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/codex"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
)

// Rollouts of the rig: the first of each version has six turns of one thread, the
// second one turn of another.
const (
	day    = "/sessions/2026/11/30/rollout-2026-11-30T"
	r105   = "rig-codex/0.105.0" + day + "13-52-59-01a22cba-f51a-7cf1-8682-4d9df5b183db.jsonl"
	r105b  = "rig-codex/0.105.0" + day + "13-53-00-01a22cba-fa09-7103-86d6-a8d05f82d687.jsonl"
	r147   = "rig-codex/0.147.0" + day + "13-58-38-01a22cc0-201b-7cb3-bd82-15bd86431af1.jsonl"
	r147b  = "rig-codex/0.147.0" + day + "13-59-08-01a22cc0-9789-7333-95a8-fcfe1e121e23.jsonl"
	r171   = "rig-codex/0.171.0" + day + "13-52-46-01a22cba-c215-7023-bd16-fd2b4db63b54.jsonl"
	r171b  = "rig-codex/0.171.0" + day + "13-52-48-01a22cba-c8ce-73e1-a3e2-c249c884dd16.jsonl"
	hooks  = "codex-wire-and-hooks/hooks-0.147.0.ndjson"
	probes = "codex-rollout/code-mode-0.157.0.jsonl"
)

var rollouts = []string{r105, r105b, r147, r147b, r171, r171b, probes}

func execs() (out []string) {
	for _, v := range []string{"0.105.0", "0.147.0", "0.171.0"} {
		for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
			out = append(out, "rig-codex/"+v+"/exec-"+n+".jsonl")
		}
	}
	return out
}

func TestGolden(t *testing.T) {
	hosttest.Golden(t, append([]string{"rig-codex/0.105.0/sessions", "rig-codex/0.147.0/sessions", "rig-codex/0.171.0/sessions", probes, hooks}, execs()...)...)
}

func TestCut(t *testing.T) {
	for _, name := range append(append(rollouts, hooks), execs()...) {
		t.Run(name, func(t *testing.T) { hosttest.Cut(t, name) })
	}
}

func TestLineEnds(t *testing.T) {
	for _, name := range append(rollouts, hooks, execs()[0]) {
		t.Run(name, func(t *testing.T) { hosttest.LineEnds(t, name) })
	}
}

// truth is the oracle of a rig sample: what the script sent and the tee saw.
type truth struct {
	UserTurns []struct {
		Prompt string `json:"prompt"`
		Final  string `json:"final_text"`
		Other  bool   `json:"other_thread"`
	} `json:"user_turns"`
	Calls []struct {
		ID     string `json:"host_call_id"`
		ItemID string `json:"host_item_id"`
		Name   string `json:"host_name"`
		Input  any    `json:"input"`
		Wire   []struct {
			Tool    string `json:"tool"`
			Outcome string `json:"outcome"`
		} `json:"wire"`
	} `json:"mcp_calls"`
	Responses []struct {
		Usage struct {
			Input     int64 `json:"input_tokens"`
			Cached    int64 `json:"cached_tokens"`
			Output    int64 `json:"output_tokens"`
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"usage"`
	} `json:"model_responses"`
}

func readTruth(t *testing.T, version string) *truth {
	t.Helper()
	b, err := os.ReadFile(hosttest.Dir + "rig-codex/" + version + "/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var tr truth
	if err := json.Unmarshal(b, &tr); err != nil {
		t.Fatal(err)
	}
	return &tr
}

// How many of the oracle's model responses each turn took: a turn takes one more
// than it has rounds of calls (turn 5 of the script has two rounds, turn 6 none).
var perTurn = []int{2, 2, 2, 2, 3, 1, 2}

// TestTruth holds the rollouts to the oracle: every turn with its prompt, answer
// and tokens, every call with its ids, raw name, arguments and outcome.
func TestTruth(t *testing.T) {
	for _, version := range []string{"0.105.0", "0.147.0", "0.171.0"} {
		t.Run(version, func(t *testing.T) {
			tr := readTruth(t, version)
			cs := hosttest.Import(t, "rig-codex/"+version+"/sessions")
			if len(cs) != 2 || len(cs[0].Turns) != 6 || len(cs[1].Turns) != 1 {
				t.Fatalf("%d conversations", len(cs))
			}
			calls := map[string]host.Call{}
			n, response := 0, 0
			for _, c := range cs {
				if c.Host != (host.Host{Name: "codex", Version: version, Entrypoint: "codex_exec"}) {
					t.Errorf("host %+v", c.Host)
				}
				for i := range c.Turns {
					u, want := &c.Turns[i], tr.UserTurns[n]
					if u.Status != host.Complete || u.Origin != host.SDK || len(u.Prompts) != 1 || u.Prompts[0].Text.Text != want.Prompt || u.FinalText.Text.Text != want.Final {
						t.Errorf("turn %d: %+v, want %+v", n, u, want)
					}
					var sum [4]int64 // uncached, cached, output, total
					for range perTurn[n] {
						r := tr.Responses[response].Usage
						sum[0], sum[1], sum[2], sum[3] = sum[0]+r.Input-r.Cached, sum[1]+r.Cached, sum[2]+r.Output, sum[3]+r.Input+r.Output
						response++
					}
					sources := []string{"token_count"}
					if version == "0.171.0" {
						sources = append(sources, "responses", "turn_token_usage")
					}
					if len(u.Usage) != len(sources) {
						t.Errorf("turn %d: %d figures", n, len(u.Usage))
					}
					for _, s := range sources {
						if d := cmp.Diff(sum[:], hosttest.Usage(u, s)); d != "" {
							t.Errorf("turn %d, %s: -truth +imported\n%s", n, s, d)
						}
					}
					n++
				}
				for _, k := range c.Calls {
					calls[k.HostCallID] = k
				}
				if len(c.Notes) != 0 {
					t.Errorf("notes %v", c.Notes)
				}
			}
			if n != len(tr.UserTurns) || response != len(tr.Responses) || len(calls) != len(tr.Calls) {
				t.Errorf("%d turns of %d, %d responses of %d, %d calls of %d", n, len(tr.UserTurns), response, len(tr.Responses), len(calls), len(tr.Calls))
			}
			for _, want := range tr.Calls {
				k := calls[want.ID]
				var args any
				if k.Args == nil || json.Unmarshal(k.Args.JSON, &args) != nil {
					t.Errorf("%s: arguments %v", want.ID, k.Args)
					continue
				}
				if d := cmp.Diff(want.Input, args); d != "" || k.Name != want.Name || k.Server != "shop" || k.Kind != host.MCPCall || k.NotSent() {
					t.Errorf("%s is %s of %s\n%s", want.ID, k.Name, k.Server, d)
				}
				on := want.Wire[0]
				failed := on.Outcome != "ok"
				switch version {
				case "0.105.0": // no raw names, no item ids, and a tool's error looks like a result
					if k.Tool != (host.Tool{Shown: strings.ReplaceAll(on.Tool, ".", "_")}) || k.HostItemID != "" {
						t.Errorf("%s: tool %+v, item %q", want.ID, k.Tool, k.HostItemID)
					}
					if told := k.HostError != nil && *k.HostError; told != (on.Outcome == "jsonrpc_error") {
						t.Errorf("%s: error %v, on the wire %s", want.ID, told, on.Outcome)
					}
				default:
					if k.Tool != (host.Tool{Raw: on.Tool, Shown: strings.ReplaceAll(on.Tool, ".", "_")}) || k.HostItemID != want.ItemID {
						t.Errorf("%s: tool %+v, item %q, want %q", want.ID, k.Tool, k.HostItemID, want.ItemID)
					}
					if k.HostError == nil || *k.HostError != failed || k.ArgsSource != host.ArgsFromHost {
						t.Errorf("%s: error %v, on the wire %s, arguments from %s", want.ID, k.HostError, on.Outcome, k.ArgsSource)
					}
				}
				if k.At.IsZero() || !k.EndedAt.After(k.At) || k.Result == nil {
					t.Errorf("%s: from %v to %v, result %v", want.ID, k.At, k.EndedAt, k.Result)
				}
			}
		})
	}
}

// TestExec reads the six runs of one thread together. Read with jq: the thread's
// totals after the runs are 330, 770, 1290, 1890, 2940, 3330 input (0.105 and
// 0.171), so the runs after the first used 440, 520, 600, 1050, 390.
func TestExec(t *testing.T) {
	for _, version := range []string{"0.105.0", "0.171.0"} {
		t.Run(version, func(t *testing.T) {
			var files []*host.File
			for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
				b, err := os.ReadFile(hosttest.Dir + "rig-codex/" + version + "/exec-" + n + ".jsonl")
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, host.BytesFile("exec-"+n+".jsonl", b))
			}
			cs, err := host.ImportFiles(files, []*host.Importer{codex.Exec}, host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := hosttest.One(t, cs)
			hosttest.Sound(t, c)
			tr := readTruth(t, version)
			if len(c.Turns) != 6 || len(c.Calls) != 7 || len(c.Sources) != 6 {
				t.Fatalf("%d turns, %d calls", len(c.Turns), len(c.Calls))
			}
			inputs := []int64{-1, 440, 520, 600, 1050, 390}
			for i := range c.Turns {
				u := &c.Turns[i]
				if u.FinalText.Text.Text != tr.UserTurns[i].Final || u.Status != host.Complete || len(u.Prompts) != 0 {
					t.Errorf("turn %d: %+v", i, u)
				}
				f := hosttest.Usage(u, "thread_token_usage")
				if i == 0 {
					if f != nil {
						t.Errorf("the first run has %v, though it may have resumed a thread", f)
					}
					continue
				}
				if f == nil || f[0]+f[1] != inputs[i] {
					t.Errorf("turn %d used %v, want %d", i, f, inputs[i])
				}
			}
			if d := cmp.Diff([]int64{2730, 600, 154, 3484}, hosttest.Counts(&c.Usage[0])); d != "" || c.Caps.Tokens != host.Partial {
				t.Errorf("%s, caps %+v", d, c.Caps)
			}
			if c.Caps.CallIDs != host.Absent || c.Caps.Prompts != host.Absent || c.Caps.Times != host.Absent || c.Caps.Turns != host.Present {
				t.Errorf("caps %+v", c.Caps)
			}
			if k := c.Calls[2]; k.Tool.Raw != "cancel.order" || k.HostCallID != "" || !*k.HostError || k.Result.Text.Text != "Order A-9999 not found" {
				t.Errorf("%+v", k)
			}
		})
	}
}

// TestCodeMode: one "exec" of the model made the MCP call, which only an event
// tells (line 6); the answer (line 9) is longer than last_agent_message (line 10).
func TestCodeMode(t *testing.T) {
	c := hosttest.One(t, hosttest.Import(t, probes))
	if len(c.Turns) != 1 || len(c.Calls) != 2 || c.Turns[0].Prompts[0].Media[0].Type != "local_image" || c.Turns[0].Prompts[0].Media[0].URI != "" {
		t.Fatalf("%+v", c)
	}
	if c.FinalText().Text.Text != "A red square. The cat and the patch failed; the MCP echo returned Echo: hello-mcp." || c.Notes[0].Kind != "final-text-disagrees" {
		t.Errorf("%+v, notes %v", c.FinalText(), c.Notes)
	}
	if k := c.Calls[0]; k.Kind != host.BuiltinCall || k.Name != "exec" {
		t.Errorf("%+v", k)
	}
	if k := c.Calls[1]; k.Kind != host.MCPCall || k.HostCallID != "mcp-1" || k.Server != "everything" || k.Tool.Raw != "echo" || string(k.Args.JSON) != `{"message":"hello-mcp"}` || k.EndedAt.Sub(k.At) != 9175500 {
		t.Errorf("%+v", k)
	}
	if d := cmp.Diff([]int64{5000, 4000, 120, 9120}, hosttest.Usage(&c.Turns[0], "token_count")); d != "" {
		t.Error(d)
	}
}

// TestHooks: five payloads, a prompt, two MCP calls of which one has its result,
// and the start of a subagent. No call id of this version is on the wire.
func TestHooks(t *testing.T) {
	c := hosttest.One(t, hosttest.Import(t, hooks))
	if len(c.Turns) != 1 || c.Turns[0].Status != host.Open || c.Turns[0].ID != "01a06660-1179-7bd2-bb02-d4cac726b2a0" || strings.Join(c.Models, "") != "gpt-5.6-sol" {
		t.Fatalf("%+v", c.Turns)
	}
	var got []string
	for _, k := range c.Calls {
		got = append(got, string(k.Kind)+" "+k.Server+"/"+k.Tool.Shown+" "+string(k.Args.JSON)[:2])
	}
	if d := cmp.Diff([]string{"mcp host_test/dump {}", `mcp host_test_raw/probe {"`, `builtin /collaborationspawn_agent {"`}, got); d != "" {
		t.Error(d)
	}
	k := c.Calls[1]
	if k.HostCallID != "exec-4d65c735-17c4-4e57-809b-e2512e0722af" || *k.HostError || k.Result.Structured == nil || k.EndedAt.Sub(k.At).Milliseconds() != 147 {
		t.Errorf("%+v", k)
	}
	want := caps(host.Partial, host.Present, host.Absent, host.Absent, host.Partial, host.Partial, host.Present, host.Present)
	if d := cmp.Diff(want, c.Caps); d != "" {
		t.Error(d)
	}
	ended := hosttest.One(t, hosttest.Text(t, "h.ndjson", `{"hook_event_name":"UserPromptSubmit","session_id":"s","turn_id":"t","prompt":"go"}
{"hook_event_name":"PostToolUse","session_id":"s","turn_id":"t","tool_name":"mcp__shop__f","tool_input":{},"tool_use_id":"c","tool_response":"text"}
{"hook_event_name":"Stop","session_id":"s","turn_id":"t","last_assistant_message":"done"}`))
	if u := ended.Turns[0]; u.Status != host.Complete || u.FinalText.Text.Text != "done" || ended.Calls[0].Result.Text.Text != "text" || ended.Calls[0].HostError != nil {
		t.Errorf("%+v, %+v", u, ended.Calls)
	}
}

// caps in the order of the model's fields.
func caps(turns, prompts, final, tokens, times, calls, ids, model host.Cap) host.Caps {
	return host.Caps{Turns: turns, Prompts: prompts, FinalText: final, Tokens: tokens, Times: times, Calls: calls, CallIDs: ids, Model: model}
}

// The head of a subagent's file alone is known for what it is and holds nothing.
func TestSubagentHead(t *testing.T) {
	_, err := host.Import(hosttest.Dir+"codex-wire-and-hooks/rollout-head-subagent-0.147.0.jsonl", []*host.Importer{codex.Rollout}, host.Options{})
	if err == nil || !strings.Contains(err.Error(), "no conversation") {
		t.Errorf("error %v", err)
	}
}

func FuzzRollout(f *testing.F) { hosttest.Fuzz(f, codex.Rollout, r105b, r147b, r171b, probes) }

func FuzzHooks(f *testing.F) { hosttest.Fuzz(f, codex.Hooks, hooks) }

func FuzzExec(f *testing.F) {
	hosttest.Fuzz(f, codex.Exec, "rig-codex/0.105.0/exec-1.jsonl", "rig-codex/0.171.0/exec-5.jsonl")
}
