package claudecode_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/importers"
)

var update = flag.Bool("update", false, "rewrite the golden conversations")

const hostsDir = "../../../fixtures/hosts/"

// samples are all that Claude Code wrote in fixtures/hosts: files or folders.
var samples = []string{
	"rig-claude-code/1.0.98/projects",
	"rig-claude-code/1.0.98/stream-1.ndjson",
	"rig-claude-code/1.0.98/stream-2.ndjson",
	"rig-claude-code/1.0.98/result-4.json",
	"rig-claude-code/2.0.65/projects",
	"rig-claude-code/2.0.65/stream-1.ndjson",
	"rig-claude-code/2.0.65/stream-2.ndjson",
	"rig-claude-code/2.0.65/result-4.json",
	"rig-claude-code/2.1.332/projects",
	"rig-claude-code/2.1.332/stream-1.ndjson",
	"rig-claude-code/2.1.332/stream-2.ndjson",
	"rig-claude-code/2.1.332/result-4.json",
	"rig-claude-code/2.1.332-modern-server/projects",
	"rig-claude-code/2.1.332-hooks/hooks.ndjson",
	"rig-claude-code/2.1.332-hooks/stream-replay-user-messages.ndjson",
	"claude-code-jsonl/queued-prompt-2.1.289.jsonl",
	"claude-code-jsonl/refusal-fallback-2.1.197.jsonl",
	"claude-code-jsonl/session-2.1.197.jsonl",
	"claude-code-jsonl/tools-2.1.274.jsonl",
	"claude-code-stream-json/run-215-messages.ndjson",
	"claude-code-subagents/hooks.ndjson",
	"claude-code-subagents/stream.ndjson",
	"paired-claude-code/host-verbose.json",
}

func imported(t *testing.T, name string) []*host.Conversation {
	t.Helper()
	cs, err := host.Import(hostsDir+name, importers.All(), host.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cs
}

// The whole of each sample in the neutral format. go test -update rewrites them;
// what they must say is in TestTruth and TestByHand.
func TestGolden(t *testing.T) {
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			cs := imported(t, name)
			if err := host.Write(&got, cs...); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "golden", strings.ReplaceAll(name, "/", "~")+".jsonl")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
				t.Errorf("-golden +imported\n%s", d)
			}
			back, err := host.Read(bytes.NewReader(got.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(cs, back); d != "" {
				t.Errorf("-written +read\n%s", d)
			}
		})
	}
}

// truth is the oracle of a rig sample (fixtures/hosts/rig-claude-code/*/truth.json):
// what the script sent and the tee saw.
type truth struct {
	UserTurns []struct {
		Prompt    string `json:"prompt"`
		FinalText string `json:"final_text"`
		Process   int    `json:"process"`
	} `json:"user_turns"`
	Calls []struct {
		ID    string `json:"host_call_id"`
		Name  string `json:"host_name"`
		Input any    `json:"input"`
		Wire  []struct {
			Tool string `json:"tool"`
		} `json:"wire"`
		WhyNot *string `json:"why_no_wire"`
	} `json:"mcp_calls"`
	Responses []struct {
		ID    string `json:"message_id"`
		Usage struct {
			Input  int64 `json:"input_tokens"`
			Write  int64 `json:"cache_creation_input_tokens"`
			Read   int64 `json:"cache_read_input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	} `json:"model_responses"`
}

func readTruth(t *testing.T, dir string) *truth {
	t.Helper()
	b, err := os.ReadFile(hostsDir + dir + "/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var tr truth
	if err := json.Unmarshal(b, &tr); err != nil {
		t.Fatal(err)
	}
	return &tr
}

// TestTruth holds the session folders to the oracle: every turn with its prompt
// and answer, every call with its arguments, which calls were not sent, and the
// usage of every response that a session file holds.
func TestTruth(t *testing.T) {
	for _, version := range []string{"1.0.98", "2.0.65", "2.1.332", "2.1.332-modern-server"} {
		t.Run(version, func(t *testing.T) {
			tr := readTruth(t, "rig-claude-code/"+version)
			usage := map[string]host.Usage{}
			for _, r := range tr.Responses {
				u := r.Usage
				usage[r.ID] = host.Usage{InputUncached: host.Known(u.Input), CacheRead: host.Known(u.Read), CacheWrite: host.Known(u.Write),
					Output: host.Known(u.Output), Total: host.Known(u.Input + u.Read + u.Write + u.Output)}
			}
			type turn struct{ Prompt, Final string }
			var want, got []turn
			for _, u := range tr.UserTurns {
				want = append(want, turn{u.Prompt, u.FinalText})
			}
			calls := map[string]host.Call{}
			cs := imported(t, "rig-claude-code/"+version+"/projects")
			// 1.0.98 writes a file a process: order them as the processes ran, 1, 2, 4.
			if version == "1.0.98" {
				if len(cs) != 3 {
					t.Fatalf("%d conversations", len(cs))
				}
				cs[1], cs[2] = cs[2], cs[1]
			} else if len(cs) != 1 {
				t.Fatalf("%d conversations", len(cs))
			}
			responses := map[string]bool{}
			for _, c := range cs {
				for _, u := range c.Turns {
					if u.CopiedFrom != "" {
						continue
					}
					// The answer to the prompt is the one before the task's end woke the model
					// ("OK." in the script's second answer, which truth.json lists apart).
					final := u.FinalText
					if len(u.Earlier) > 0 {
						final = u.Earlier[0]
					}
					if len(u.Prompts) != 1 || u.Status != host.Complete {
						t.Errorf("turn %d has %d prompts, status %s", u.Index, len(u.Prompts), u.Status)
						continue
					}
					got = append(got, turn{u.Prompts[0].Text.Text, final.Text.Text})
				}
				for _, k := range c.Calls {
					if k.Kind != host.MCPCall {
						continue
					}
					if old, again := calls[k.HostCallID]; again && old.Result.Text != k.Result.Text {
						t.Errorf("%s differs over sessions", k.HostCallID)
					}
					calls[k.HostCallID] = k
				}
				for _, m := range c.Messages {
					if m.Role != host.Assistant || m.Hidden != "" {
						continue
					}
					responses[m.ID] = true
					want, ok := usage[m.ID]
					if !ok || m.Usage == nil {
						t.Errorf("response %s: usage %v", m.ID, m.Usage)
						continue
					}
					u := *m.Usage
					u.Source, u.Scope, u.ReasoningInOutput, u.Reasoning = "", "", false, host.Count{}
					if d := cmp.Diff(want, u); d != "" {
						t.Errorf("response %s\n%s", m.ID, d)
					}
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("turns: -truth +imported\n%s", d)
			}
			if len(calls) != len(tr.Calls) {
				t.Errorf("%d calls of MCP servers, want %d", len(calls), len(tr.Calls))
			}
			for _, w := range tr.Calls {
				k, ok := calls[w.ID]
				if !ok {
					t.Errorf("call %s is missing", w.ID)
					continue
				}
				var args any
				if err := json.Unmarshal(k.Args.JSON, &args); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(w.Input, args); d != "" || k.Name != w.Name || k.Server != "shop" {
					t.Errorf("call %s is %s of %s\n%s", w.ID, k.Name, k.Server, d)
				}
				if (w.WhyNot != nil) != k.NotSent() {
					t.Errorf("call %s: denied %q refused %q, truth says %v", w.ID, k.Denied, k.Refused, w.WhyNot)
				}
				for _, on := range w.Wire {
					if k.Tool.Raw != "" && k.Tool.Raw != on.Tool || k.Tool.Shown != strings.ReplaceAll(on.Tool, ".", "_") {
						t.Errorf("call %s: tool %+v, on the wire %s", w.ID, k.Tool, on.Tool)
					}
				}
			}
			// All responses but those of the compaction, which are in no file (one; two in
			// 2.1.332, where the host asked twice), and of the eight warm-ups of agents
			// (2.0.65). Counted with jq over message ids of truth.json and of the files.
			missing := 0
			for id := range usage {
				if !responses[id] {
					missing++
				}
			}
			if want := map[string]int{"1.0.98": 1, "2.0.65": 9, "2.1.332": 2, "2.1.332-modern-server": 2}[version]; missing != want {
				t.Errorf("%d responses are in no conversation, want %d", missing, want)
			}
		})
	}
}

// TestTruthOfStreams holds stream-json output to the oracle: answers, and the
// turn's sum over the main agent's responses by the version's rule.
func TestTruthOfStreams(t *testing.T) {
	for _, version := range []string{"1.0.98", "2.0.65", "2.1.332"} {
		t.Run(version, func(t *testing.T) {
			tr := readTruth(t, "rig-claude-code/"+version)
			session := imported(t, "rig-claude-code/"+version+"/projects")
			c := imported(t, "rig-claude-code/"+version+"/stream-1.ndjson")[0]
			if len(c.Turns) != 8 || c.TurnCount() != 8 {
				t.Fatalf("%d turns", len(c.Turns))
			}
			for i, u := range c.Turns {
				final := u.FinalText
				if len(u.Earlier) > 0 {
					final = u.Earlier[0]
				}
				if final.Text.Text != tr.UserTurns[i].FinalText || u.Status != host.Complete {
					t.Errorf("turn %d: %s, %q", i, u.Status, final.Text.Text)
				}
				// The session's own sum, which TestTruth proves, is what the figure by the
				// version's rule must say.
				source := map[string]string{"1.0.98": "responses", "2.0.65": "result", "2.1.332": "result"}[version]
				want, got := figure(session[0].Turns[i], "responses"), figure(u, source)
				want.Source, want.Reasoning, got.Source, got.Reasoning = "", host.Count{}, "", host.Count{}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("turn %d: -session +stream\n%s", i, d)
				}
				if v := version == "2.1.332"; v && figure(u, "responses") != nil {
					t.Errorf("turn %d: placeholders are given as usage", i)
				}
			}
			if c.Caps.Prompts != host.Absent || c.Caps.Turns != host.Present {
				t.Errorf("caps %+v", c.Caps)
			}
			if d := cmp.Diff(ids(session[0].Calls[:12]), ids(c.Calls)); d != "" {
				t.Errorf("calls: -session +stream\n%s", d)
			}
		})
	}
}

func figure(t host.Turn, source string) *host.Usage {
	for _, u := range t.Usage {
		if u.Source == source && u.Agents == host.MainAgent {
			return &u
		}
	}
	return nil
}

func ids(calls []host.Call) (out []string) {
	for _, k := range calls {
		out = append(out, k.HostCallID+" "+k.Name+" "+k.Denied[:min(1, len(k.Denied))])
	}
	return out
}

// A session's file alone brings its subagents, and says nothing of those of
// other sessions that lie beside it.
func TestOneFile(t *testing.T) {
	whole := imported(t, "rig-claude-code/2.0.65/projects")[0]
	one := imported(t, "rig-claude-code/2.0.65/projects/-home-user-project/8b4e4c88-a327-40f9-bf4d-d957da0cc47e.jsonl")[0]
	if d := cmp.Diff(ids(whole.Calls), ids(one.Calls)); d != "" {
		t.Errorf("-folder +file\n%s", d)
	}
	for _, n := range one.Notes {
		if n.Kind == "agent-without-session" {
			t.Errorf("note %+v", n)
		}
	}
	one = imported(t, "rig-claude-code/2.1.332/projects/-home-user-project/70ac5dd5-c34d-4382-9a7a-1c567bb1db78.jsonl")[0]
	if len(one.Calls) != 16 || len(one.Sources) != 3 {
		t.Errorf("%d calls of %d sources", len(one.Calls), len(one.Sources))
	}
}
