package gemini_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/gemini"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
)

const (
	rig     = "rig-gemini-cli/0.61.0/"
	session = rig + "chats/session-2026-11-30T13-54-ceb453e0.jsonl"
)

var streams = []string{rig + "stream-1.ndjson", rig + "stream-2.ndjson", rig + "stream-3.ndjson", rig + "stream-4.ndjson"}

func TestGolden(t *testing.T) { hosttest.Golden(t, append(streams, session)...) }

func TestCut(t *testing.T) {
	for _, name := range streams {
		t.Run(name, func(t *testing.T) { hosttest.Cut(t, name) })
	}
}

// A session file is written again and again under the same ids, so that less of
// it can be another conversation: after line 5 the first answer has no calls yet.
// What can be known is that a line was cut, and that no answer is made up.
func TestSessionCut(t *testing.T) {
	data, err := os.ReadFile(hosttest.Dir + session)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{"": true, "Let me look that up.": true}
	for _, u := range hosttest.One(t, hosttest.Import(t, session)).Turns {
		texts[u.FinalText.Text.Text] = true
	}
	at := 0
	for i, l := range bytes.SplitAfter(data, []byte("\n")) {
		for _, cut := range []int{at + len(l)/2, at + len(l)} {
			cs, err := hosttest.ImportBytes("s.jsonl", data[:cut])
			if err != nil {
				continue
			}
			c := hosttest.One(t, cs)
			hosttest.Sound(t, c)
			if inside := cut == at+len(l)/2 && len(l) > 2; inside && (!c.Sources[0].Cut || c.Caps.Calls != host.Partial) {
				t.Errorf("cut inside line %d: %+v", i+1, c.Sources[0])
			}
			for _, u := range c.Turns {
				if !texts[u.FinalText.Text.Text] {
					t.Errorf("cut in line %d: answer %q", i+1, u.FinalText.Text.Text)
				}
			}
		}
		at += len(l)
	}
}

func TestLineEnds(t *testing.T) {
	hosttest.LineEnds(t, session)
	hosttest.LineEnds(t, streams[0])
}

// TestTruth holds the session and the four runs of stream-json to the oracle.
// Tokens by hand: the messages of the four turns have 110+130, 150+170, 190+210+230,
// 250+270 input (20 of each cached), 22 and eight times 12 output, 3 thoughts each.
func TestTruth(t *testing.T) {
	b, err := os.ReadFile(hosttest.Dir + rig + "truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var tr struct {
		Turns []struct {
			Prompt string `json:"prompt"`
			Final  string `json:"final_text"`
		} `json:"user_turns"`
		Calls []struct {
			ID    string `json:"host_call_id"`
			Name  string `json:"host_name"`
			Input any    `json:"input"`
			Wire  []struct {
				Tool    string `json:"tool"`
				Outcome string `json:"outcome"`
			} `json:"wire"`
			WhyNot *string `json:"why_no_wire"`
		} `json:"mcp_calls"`
	}
	if err := json.Unmarshal(b, &tr); err != nil {
		t.Fatal(err)
	}
	usage := [][]int64{{200, 40, 34, 274}, {280, 40, 24, 344}, {570, 60, 36, 666}, {480, 40, 24, 544}}
	reasoning := []int64{6, 6, 9, 6}
	check := func(t *testing.T, c *host.Conversation, source string) {
		if len(c.Turns) != 4 || len(c.Calls) != len(tr.Calls) || c.Host.Name != "gemini-cli" || strings.Join(c.Models, " ") != "gemini-2.5-pro" {
			t.Fatalf("%d turns, %d calls of %v", len(c.Turns), len(c.Calls), c.Models)
		}
		for i := range c.Turns {
			u := &c.Turns[i]
			if u.Prompts[0].Text.Text != tr.Turns[i].Prompt || u.FinalText.Text.Text != tr.Turns[i].Final || u.Status != host.Complete {
				t.Errorf("turn %d: %+v", i, u)
			}
			if d := cmp.Diff(usage[i], hosttest.Usage(u, source)); d != "" {
				t.Errorf("turn %d: %s", i, d)
			}
		}
		for i, want := range tr.Calls {
			k := c.Calls[i]
			var args any
			if err := json.Unmarshal(k.Args.JSON, &args); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Input, args); d != "" || k.HostCallID != want.ID || k.Name != want.Name {
				t.Errorf("call %d: %+v %s", i, k, d)
			}
			if (want.WhyNot != nil) != (k.Refused == host.RefusedSchema) || k.Denied != "" {
				t.Errorf("call %d: refused %q, truth says %v", i, k.Refused, want.WhyNot)
			}
			if len(want.Wire) == 1 && *k.HostError != (want.Wire[0].Outcome != "ok") {
				t.Errorf("call %d: error %v, on the wire %s", i, *k.HostError, want.Wire[0].Outcome)
			}
			if k.At.IsZero() || !k.EndedAt.After(k.At) {
				t.Errorf("call %d: from %v to %v", i, k.At, k.EndedAt)
			}
		}
	}
	t.Run("session", func(t *testing.T) {
		c := hosttest.One(t, hosttest.Import(t, session))
		check(t, c, "responses")
		for i := range c.Turns {
			if u := c.Turns[i].Usage[0]; u.Reasoning != host.Known(reasoning[i]) || u.ReasoningInOutput {
				t.Errorf("turn %d: %+v", i, u)
			}
		}
		for i, want := range tr.Calls {
			if k := c.Calls[i]; len(want.Wire) == 1 && (k.Server != "shop" || k.Tool.Raw != want.Wire[0].Tool || k.Tool.Shown != want.Wire[0].Tool) {
				t.Errorf("call %d: %+v", i, k)
			}
		}
		// The four runs' total is not the sum of its parts: thoughts are not in it.
		if len(c.Notes) != 1 || c.Notes[0].Kind != "usage-total-differs" {
			t.Errorf("notes %v", c.Notes)
		}
		hidden := 0
		for _, m := range c.Messages {
			if m.Hidden != "" {
				hidden++
			}
		}
		if hidden != 1 { // <session_context>, once for four runs
			t.Errorf("%d hidden messages", hidden)
		}
	})
	t.Run("streams", func(t *testing.T) {
		var files []*host.File
		for i, name := range streams {
			data, err := os.ReadFile(hosttest.Dir + name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, host.BytesFile(fmt.Sprintf("%d.ndjson", i), data))
		}
		cs, err := host.ImportFiles(files, []*host.Importer{gemini.Stream}, host.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := hosttest.One(t, cs)
		hosttest.Sound(t, c)
		check(t, c, "result")
	})
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

const meta = `{"sessionId":"s","projectHash":"p","startTime":"2026-11-30T10:00:00Z","kind":"main"}`

func user(id, at, text string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-30T%sZ","type":"user","content":[{"text":%q}]}`, id, at, text)
}

func model(id, at, text, more string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-30T%sZ","type":"gemini","content":%q,"model":"m","tokens":{"input":10,"output":2,"cached":0,"thoughts":1,"tool":0,"total":13}%s}`, id, at, text, more)
}

func told(c *host.Conversation) (out []string) {
	for _, u := range c.Turns {
		out = append(out, fmt.Sprintf("%s %s <%s >%s", u.Status, u.StartedAt.Format("15:04:05"), u.Prompts[0].Text.Text, u.FinalText.Text.Text))
	}
	for _, k := range c.Calls {
		out = append(out, fmt.Sprintf("%s %s/%s %s%s", k.HostCallID, k.Server, k.Tool.Raw, k.Denied, k.Refused))
	}
	return out
}

func TestLog(t *testing.T) {
	call := func(id, name, status, result, display string) string {
		return fmt.Sprintf(`,"toolCalls":[{"id":%q,"name":%q,"args":{},"status":%q,"timestamp":"2026-11-30T10:00:09Z","displayName":%q,"result":[{"functionResponse":{"id":%q,"response":%s}}]}]`, id, name, status, display, id, result)
	}
	for _, tt := range []struct {
		name, data string
		want       []string
		branches   int
	}{
		{"the last content, the first time", lines(meta, user("u", "10:00:00", "go"), model("a", "10:00:01", "draft", ""), user("u", "11:00:00", "go on"), model("a", "11:00:01", "done", "")),
			[]string{"complete 10:00:00 <go on >done"}, 0},
		{"rewound", lines(meta, user("u", "10:00:00", "go"), model("a", "10:00:01", "bad", call("c", "mcp_shop_f", "success", `{"output":"x"}`, "f (shop MCP Server)")), `{"$rewindTo":"u"}`, user("v", "10:00:05", "again"), model("b", "10:00:06", "good", "")),
			[]string{"complete 10:00:05 <again >good"}, 1},
		{"rewound to nowhere", lines(meta, user("u", "10:00:00", "go"), model("a", "10:00:01", "x", ""), `{"$rewindTo":"?"}`), []string{"complete 10:00:00 <go >x"}, 0},
		{"one document of an older version", `{"sessionId":"s","projectHash":"p","messages":[` + user("u", "10:00:00", "go") + `,` + model("a", "10:00:01", "x", "") + `]}`,
			[]string{"complete 10:00:00 <go >x"}, 0},
		{"who kept calls back", lines(meta, user("u", "10:00:00", "go"),
			model("a", "10:00:01", "", call("c1", "mcp_shop_f", "error", `{"error":"params must have required property 'q'"}`, "f (shop MCP Server)")),
			model("b", "10:00:02", "", call("c2", "mcp_shop_f", "cancelled", `{"error":"[Operation Cancelled] Reason: User did not allow tool call"}`, "f (shop MCP Server)")),
			model("c", "10:00:03", "", call("c3", "mcp_shop_nope", "error", `{"error":"Tool \"mcp_shop_nope\" not found in registry."}`, "nope")),
			model("d", "10:00:04", "", call("c4", "mcp_shop_g", "error", `{"error":"MCP tool 'g' reported tool error: params/x"}`, "g (shop MCP Server)")),
			model("e", "10:00:05", "end", "")),
			[]string{"complete 10:00:00 <go >end", "c1 shop/f schema", "c2 shop/f user-rejected", "c3 shop/ unknown-tool", "c4 shop/g "}, 0},
		{"an error ends the turn", lines(meta, user("u", "10:00:00", "go"), `{"id":"x","timestamp":"2026-11-30T10:00:01Z","type":"error","content":"quota"}`),
			[]string{"error 10:00:00 <go >"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := hosttest.One(t, hosttest.Text(t, "s.jsonl", tt.data))
			if d := cmp.Diff(tt.want, told(c)); d != "" || len(c.Branches) != tt.branches {
				t.Errorf("branches %v\n%s", c.Branches, d)
			}
		})
	}
}

func FuzzSession(f *testing.F) { hosttest.Fuzz(f, gemini.Session, session) }

func FuzzStream(f *testing.F) { hosttest.Fuzz(f, gemini.Stream, streams...) }
