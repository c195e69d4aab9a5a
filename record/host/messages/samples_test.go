package messages_test

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
	"github.com/sixlink/sixlink/record/host/messages"
)

const (
	agents = "rig-openai-agents-sdk/0.20.0/"
	mcpjam = "rig-mcpjam-sdk/1.14.0/"
)

var (
	ofLines = []string{"anthropic-mcp-connector/in-flight-mcp-call.jsonl", "anthropic-mcp-connector/two-turns.jsonl",
		"openai-responses/connector-error-and-retry.jsonl", "openai-responses/two-turns-mcp.jsonl", agents + "trace.jsonl"}
	ofDocuments = []string{mcpjam + "eval-result.json", mcpjam + "prompt-results.json", agents + "history.json", agents + "runs.json"}
)

func TestGolden(t *testing.T) { hosttest.Golden(t, append(ofLines, ofDocuments...)...) }

func TestCut(t *testing.T) {
	for _, name := range ofLines {
		if name != agents+"trace.jsonl" { // its calls are in the order of their ends: see TestTraceCut
			t.Run(name, func(t *testing.T) { hosttest.Cut(t, name) })
		}
	}
	for _, name := range ofDocuments {
		t.Run(name, func(t *testing.T) { hosttest.CutDocument(t, name) })
	}
}

func TestTraceCut(t *testing.T) {
	data, err := os.ReadFile(hosttest.Dir + agents + "trace.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	whole := hosttest.One(t, hosttest.Import(t, agents+"trace.jsonl"))
	for cut := range len(data) {
		if data[cut] != '\n' && cut%97 != 0 {
			continue
		}
		cs, err := hosttest.ImportBytes("t.jsonl", data[:cut])
		if err != nil {
			continue
		}
		c := hosttest.One(t, cs)
		hosttest.Sound(t, c)
		for i := range c.Turns {
			if u := &c.Turns[i]; u.Status == host.Complete {
				if d := cmp.Diff(whole.Turns[i].Usage, u.Usage); d != "" {
					t.Errorf("cut at %d: turn %d: %s", cut, i, d)
				}
			}
		}
	}
}

func TestLineEnds(t *testing.T) {
	for _, name := range ofLines {
		t.Run(name, func(t *testing.T) { hosttest.LineEnds(t, name) })
	}
}

// reading is what a person reads in a sample, by eye and with jq on the raw file:
// prompts and answers by their lines, tokens from each response's usage, calls by
// counting blocks and items.
type reading struct {
	sample, host string
	turns        int
	final        string // beginning of the last answer
	models       string
	calls        int
	hosted       int
	mcp          int
	errors       int     // results that the host calls errors
	unsaid       int     // results of which it does not say
	usage        []int64 // over all turns, by the first source: uncached, cached, output, total
	figures      int
	caps         host.Caps
	notes        string
}

const (
	yes  = host.Present
	some = host.Partial
	no   = host.Absent
)

func caps(turns, prompts, final, tokens, times, calls, ids, model host.Cap) host.Caps {
	return host.Caps{Turns: turns, Prompts: prompts, FinalText: final, Tokens: tokens, Times: times, Calls: calls, CallIDs: ids, Model: model}
}

var readings = []reading{
	{ // The history's assistant message has no usage; the response's is 3443 in, 169 out.
		sample: "anthropic-mcp-connector/in-flight-mcp-call.jsonl", host: "anthropic-messages", turns: 1, final: "I apologize, but I don't have the ability to look up",
		models: "claude-sonnet-4-5-20250929", calls: 2, hosted: 1, usage: []int64{0, 0, 0, 0}, caps: caps(yes, yes, yes, some, no, yes, yes, yes),
	},
	{ // 2674 + 5262 in, 373 + 369 out, no cache.
		sample: "anthropic-mcp-connector/two-turns.jsonl", host: "anthropic-messages", turns: 2, final: "**Pydantic** is Python's most widely used",
		models: "claude-sonnet-4-20250514", calls: 2, hosted: 2, usage: []int64{2674 + 5262, 0, 373 + 369, 3047 + 5631}, figures: 2,
		caps: caps(yes, yes, yes, yes, no, yes, yes, yes),
	},
	{ // Both calls failed with an http_error.
		sample: "openai-responses/connector-error-and-retry.jsonl", host: "openai-responses", turns: 1, final: "I’m sorry, I’m having trouble accessing your calendar",
		models: "o4-mini-2025-04-16", calls: 2, hosted: 2, errors: 2, usage: []int64{1065, 0, 760, 1825}, figures: 1,
		caps: caps(yes, yes, yes, yes, some, yes, yes, yes),
	},
	{ // 1207 + 1109 in, 535 + 444 out; the second request sends the one call again.
		sample: "openai-responses/two-turns-mcp.jsonl", host: "openai-responses", turns: 2, final: "The monorepo is organized into these main packages",
		models: "o4-mini-2025-04-16", calls: 1, hosted: 1, usage: []int64{1207 + 1109, 0, 535 + 444, 1742 + 1553}, figures: 2,
		caps: caps(yes, yes, yes, yes, some, yes, yes, yes),
	},
	{ // "tokens" 240/34/274, and the two llm spans 110 + 130 in, 22 + 12 out.
		sample: mcpjam + "eval-result.json", host: "mcpjam", turns: 1, final: "Order A-1001 is in transit and should arrive in 2 days.",
		models: "claude-sonnet-4-5", calls: 2, mcp: 2, errors: 1, usage: []int64{240, -1, 34, 274}, figures: 2, caps: caps(yes, yes, yes, yes, no, yes, yes, yes),
	},
	{ // Three prompts: 240 + 320 + 630 in, 34 + 24 + 36 out.
		sample: mcpjam + "prompt-results.json", host: "mcpjam", turns: 3, final: "Order A-1003 is in transit.", models: "claude-sonnet-4-5",
		calls: 5, mcp: 5, errors: 3, usage: []int64{1190, -3, 94, 1284}, figures: 6, caps: caps(yes, yes, yes, yes, no, yes, yes, yes),
	},
	{
		sample: agents + "history.json", host: "openai-agents", turns: 3, final: "Order A-1003 is in transit.", calls: 5, unsaid: 5,
		usage: []int64{0, 0, 0, 0}, caps: caps(yes, yes, yes, no, no, yes, yes, no),
	},
	{ // Responses: 110+160, 180+200, 220+240+260 in with 50 cached each; 22 and six times 12 out.
		sample: agents + "runs.json", host: "openai-agents", turns: 3, final: "Order A-1003 is in transit.", models: "gpt-5", calls: 5, unsaid: 5,
		usage: []int64{270 + 380 + 720 - 350, 350, 94, 1464}, figures: 3, caps: caps(yes, yes, yes, yes, no, yes, yes, yes),
	},
	{ // The same counts on spans; the failed call is the one with a JSON-RPC error.
		sample: agents + "trace.jsonl", host: "openai-agents", turns: 3, calls: 5, mcp: 5, errors: 1, unsaid: 4,
		usage: []int64{270 + 380 + 720 - 350, 350, 94, 1464}, figures: 6, caps: caps(yes, no, no, yes, yes, yes, no, no), notes: "no-texts",
	},
}

func TestByHand(t *testing.T) {
	for _, want := range readings {
		t.Run(want.sample, func(t *testing.T) {
			c := hosttest.One(t, hosttest.Import(t, want.sample))
			got := reading{sample: want.sample, host: c.Host.Name, turns: c.TurnCount(), final: c.FinalText().Text.Text, models: strings.Join(c.Models, " "),
				calls: len(c.Calls), usage: []int64{0, 0, 0, 0}, caps: c.Caps}
			if want.final != "" && strings.HasPrefix(got.final, want.final) {
				got.final = want.final
			}
			for _, k := range c.Calls {
				count(&got.hosted, k.Kind == host.HostedCall)
				count(&got.mcp, k.Kind == host.MCPCall)
				count(&got.errors, k.HostError != nil && *k.HostError)
				count(&got.unsaid, k.HostError == nil)
			}
			for i := range c.Turns {
				got.figures += len(c.Turns[i].Usage)
				if len(c.Turns[i].Usage) == 0 {
					continue
				}
				for j, n := range hosttest.Usage(&c.Turns[i], c.Turns[i].Usage[0].Source) {
					got.usage[j] += n
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

// TestTruth holds the Agents SDK's runs and its trace to the rig's oracle.
func TestTruth(t *testing.T) {
	b, err := os.ReadFile(hosttest.Dir + agents + "truth.json")
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
				Tool string `json:"tool"`
			} `json:"wire"`
		} `json:"mcp_calls"`
	}
	if err := json.Unmarshal(b, &tr); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"history.json", "runs.json", "trace.jsonl"} {
		c := hosttest.One(t, hosttest.Import(t, agents+name))
		if len(c.Turns) != len(tr.Turns) || len(c.Calls) != len(tr.Calls) {
			t.Fatalf("%s: %d turns, %d calls", name, len(c.Turns), len(c.Calls))
		}
		trace := name == "trace.jsonl"
		for i, want := range tr.Turns {
			if u := c.Turns[i]; !trace && (u.Prompts[0].Text.Text != want.Prompt || u.FinalText.Text.Text != want.Final) {
				t.Errorf("%s: turn %d: %+v", name, i, u)
			}
		}
		for i, want := range tr.Calls {
			k := c.Calls[i]
			var args any
			if err := json.Unmarshal(k.Args.JSON, &args); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Input, args); d != "" || k.Name != want.Name || !trace && k.HostCallID != want.ID {
				t.Errorf("%s: call %d is %s (%s): %s", name, i, k.Name, k.HostCallID, d)
			}
			if trace && (k.Server != "shop" || k.Tool.Raw != want.Wire[0].Tool || k.At.IsZero() || k.EndedAt.Before(k.At)) {
				t.Errorf("call %d: %+v", i, k)
			}
		}
	}
}

// The MCPJam run says an error where the wire has a result (NOTES.md of the
// sample): the host's word is kept as it is.
func TestHostsOwnWord(t *testing.T) {
	c := hosttest.One(t, hosttest.Import(t, mcpjam+"eval-result.json"))
	k := c.Calls[1]
	if k.Server != "shop" || k.Tool.Raw != "search_docs" || !*k.HostError || k.Result.Text.Text != `Tool "search_docs" result was not a valid CallToolResult.` {
		t.Errorf("%+v", k)
	}
	if k = c.Calls[0]; *k.HostError || string(k.Result.Structured.JSON) != `{"order_id":"A-1001","status":"in transit","eta_days":2}` {
		t.Errorf("%+v", k)
	}
}

func FuzzMessages(f *testing.F) {
	hosttest.Fuzz(f, messages.Messages, append(ofLines[:4], ofDocuments...)...)
}

func FuzzAgentsTrace(f *testing.F) { hosttest.Fuzz(f, messages.AgentsTrace, agents+"trace.jsonl") }
