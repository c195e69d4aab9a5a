package messages_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
)

// TestCase92 reads each body of the case and holds it to the case's own asserts.
func TestCase92(t *testing.T) {
	const dir = "../../../fixtures/cases/92-openai-shapes/"
	expect, err := os.ReadFile(dir + "expect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, asserts, ok := bytes.Cut(expect, []byte("```json\n"))
	asserts, _, ok2 := bytes.Cut(asserts, []byte("```"))
	var want struct {
		Calls   map[string][][3]string `json:"import.calls"`
		Results map[string]string      `json:"import.results"`
		Flags   map[string][]string    `json:"import.flags"`
	}
	if !ok || !ok2 || json.Unmarshal(asserts, &want) != nil || len(want.Calls) != 5 {
		t.Fatalf("asserts %s", asserts)
	}
	f, err := os.Open(dir + "host-session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	results := map[string]string{}
	bodies := 0
	for sc := bufio.NewScanner(f); sc.Scan(); bodies++ {
		var l struct {
			Name string         `json:"name"`
			Body jsontext.Value `json:"body"`
		}
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		c := hosttest.One(t, hosttest.Text(t, l.Name+".json", string(l.Body)))
		got := [][3]string{}
		for _, k := range c.Calls {
			if k.Args != nil {
				got = append(got, [3]string{k.HostCallID, k.Name, string(k.Args.JSON)})
			}
			switch {
			case k.HostError != nil && *k.HostError:
				results[k.HostCallID] = "error"
			case k.Result != nil:
				results[k.HostCallID] = "ok"
			}
			if l.Name == "mcp" && (k.Server != "tracker" || k.Kind != host.HostedCall) {
				t.Errorf("%+v", k)
			}
		}
		if calls, ok := want.Calls[l.Name]; ok {
			if d := cmp.Diff(calls, got); d != "" {
				t.Errorf("%s: -case +imported\n%s", l.Name, d)
			}
		}
		var flags []string
		for _, n := range c.Notes {
			flags = append(flags, n.Kind)
		}
		if d := cmp.Diff(want.Flags[l.Name], flags); d != "" {
			t.Errorf("%s: -case +imported\n%s", l.Name, d)
		}
		switch l.Name {
		case "bad-arguments":
			if k := c.Calls[0]; len(c.Calls) != 1 || k.HostCallID != "call_5" || k.ArgsError == "" {
				t.Errorf("%+v", c.Calls)
			}
		case "prose":
			if c.FinalText().State != host.HasText {
				t.Errorf("%+v", c.FinalText())
			}
		case "mcp":
			if c.Servers[0].Name != "tracker" || c.Calls[1].Result.Text.Text != "no" {
				t.Errorf("%+v %+v", c.Servers, c.Calls[1])
			}
		}
	}
	if d := cmp.Diff(want.Results, results); d != "" || bodies != 6 {
		t.Errorf("%d bodies: -case +imported\n%s", bodies, d)
	}
}

// told is a conversation in short: turns, then calls.
func told(c *host.Conversation) (out []string) {
	for _, u := range c.Turns {
		s := fmt.Sprintf("%s %s", u.Status, u.FinalText.State)
		for _, p := range u.Prompts {
			s += " <" + p.Text.Text
			if p.Queued {
				s += "(queued)"
			}
		}
		out = append(out, s+" >"+u.FinalText.Text.Text)
	}
	for _, k := range c.Calls {
		s := fmt.Sprintf("%s %s", k.HostCallID, k.Name)
		if k.Args != nil {
			s += " " + string(k.Args.JSON)
		}
		if k.Denied != "" {
			s += " denied:" + k.Denied
		}
		if k.HostError != nil {
			s += fmt.Sprintf(" error:%v", *k.HostError)
		}
		if k.Result != nil {
			s += " =" + k.Result.Text.Text
		}
		out = append(out, s)
	}
	return out
}

func TestDialects(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       []string
		host       string
	}{
		{"chat messages, one a line", `{"role":"system","content":"be brief"}
{"role":"user","content":"go"}
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"mcp__shop__find","arguments":"{\"n\":1.0}"}}]}
{"role":"tool","tool_call_id":"c1","content":"found"}
{"role":"assistant","content":"done"}`, []string{"complete text <go >done", `c1 mcp__shop__find {"n":1.0} =found`}, "openai-chat"},
		{"a call waits for its result", `[{"role":"user","content":"go"},{"role":"assistant","content":"wait","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
			[]string{"open text <go >wait", "c1 f {}"}, "openai-chat"},
		{"the user went on without an answer", `[{"role":"user","content":"go"},{"role":"user","content":"well?"},{"role":"assistant","content":"yes"}]`,
			[]string{"interrupted absent <go >", "complete text <well? >yes"}, "messages"},
		{"an answer of blanks is empty", `[{"role":"user","content":"go"},{"role":"assistant","content":" \n"}]`, []string{"complete empty <go >"}, "messages"},
		{"said beside a result", `[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r","is_error":true},{"type":"text","text":"hurry"}]},{"role":"assistant","content":[{"type":"text","text":"ok"}]}]`,
			[]string{"complete text <go <hurry(queued) >ok", "t1 f {} error:true =r"}, "anthropic-messages"},
		{"text before a hosted result is no answer", `{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"let me see"},
{"type":"mcp_tool_use","id":"m1","name":"f","server_name":"s","input":{}},{"type":"mcp_tool_result","tool_use_id":"m1","is_error":false,"content":[{"type":"text","text":"r"}]}]}]}`,
			[]string{"complete empty <go >", "m1 f {} error:false =r"}, "anthropic-messages"},
		{"AI SDK outputs", `[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"f","input":{}},
{"type":"tool-call","toolCallId":"b","toolName":"g","input":{}},{"type":"tool-call","toolCallId":"c","toolName":"h","input":{}}]},
{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"f","output":{"type":"execution-denied","reason":"no"}},
{"type":"tool-result","toolCallId":"b","toolName":"g","output":{"type":"content","value":[{"type":"text","text":"r"}]}},
{"type":"tool-result","toolCallId":"c","toolName":"h","output":{"type":"json","value":{"content":[{"type":"text","text":"bad"}],"isError":true}}}]},
{"role":"assistant","content":"end"}]`, []string{"complete text <go >end", "a f {} denied:not-permitted error:false =no", "b g {} =r", "c h {} error:true =bad"}, "ai-sdk"},
		{"AI SDK UI messages", `[{"id":"1","role":"user","parts":[{"type":"text","text":"go"}]},{"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"hm"},
{"type":"dynamic-tool","toolName":"f","toolCallId":"a","state":"output-available","input":{"q":1},"output":{"content":[{"type":"text","text":"r"}]}},
{"type":"tool-g","toolCallId":"b","state":"output-error","input":{},"errorText":"broke"},{"type":"text","text":"end"}]}]`,
			[]string{"complete text <go >end", `a f {"q":1} error:false =r`, "b g {} error:true =broke"}, "ai-sdk"},
		{"an approval that was refused", `[{"role":"user","content":"go"},{"type":"mcp_approval_request","id":"ap1","server_label":"s","name":"f","arguments":"{\"a\":1}"},
{"type":"mcp_approval_response","approval_request_id":"ap1","approve":false},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"as you wish"}]}]`,
			[]string{"complete text <go >as you wish", `ap1 f {"a":1} denied:user-rejected`}, "openai-responses"},
		{"an approval that was given", `[{"role":"user","content":"go"},{"type":"mcp_approval_request","id":"ap1","server_label":"s","name":"f","arguments":"{}"},
{"type":"mcp_approval_response","approval_request_id":"ap1","approve":true},{"type":"mcp_call","id":"m1","approval_request_id":"ap1","server_label":"s","name":"f","arguments":"{}","output":"r","error":null},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]`, []string{"complete text <go >done", "m1 f {} error:false =r"}, "openai-responses"},
		{"a result without a call", `[{"role":"user","content":"go"},{"role":"tool","tool_call_id":"x","content":"r"},{"role":"assistant","content":"ok"}]`, []string{"complete text <go >ok"}, "openai-chat"},
		{"several choices", `{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},{"message":{"role":"assistant","content":"b"}}]}`,
			[]string{"complete text >a"}, "openai-chat"},
		{"a response that failed", `{"request":{"model":"m","input":"go"},"response":{"object":"response","status":"failed","error":{"message":"down"},"output":[]}}`,
			[]string{"error empty <go >"}, "openai-responses"},
		{"an error for an answer", `{"request":{"model":"m","messages":[{"role":"user","content":"go"}]},"response":{"type":"error","error":{"message":"overloaded"}}}`,
			[]string{"error absent <go >"}, "messages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := hosttest.One(t, hosttest.Text(t, "x.json", tt.data))
			if d := cmp.Diff(tt.want, told(c)); d != "" || c.Host.Name != tt.host {
				t.Errorf("%s: %s", c.Host.Name, d)
			}
		})
	}
}

// A log of requests, each with the whole history: what is sent again is read once,
// and conversations that go on at the same time are kept apart.
func TestHistories(t *testing.T) {
	pair := func(request, response string) string {
		return `{"request":` + request + `,"response":` + response + `}`
	}
	chat := func(text string) string {
		return `{"object":"chat.completion","model":"m","choices":[{"message":{"role":"assistant","content":"` + text + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4}}}`
	}
	tool := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	log := strings.Join([]string{
		pair(`{"model":"m","messages":[{"role":"user","content":"one"}]}`, `{"object":"chat.completion","model":"m","choices":[{"message":`+tool+`,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`),
		pair(`{"model":"m","messages":[{"role":"user","content":"uno"}]}`, chat("eins")),
		pair(`{"model":"m","messages":[{"role":"user","content":"one"},`+tool+`,{"role":"tool","tool_call_id":"c1","content":"r"}]}`, chat("first")),
		pair(`{"model":"m","messages":[{"role":"user","content":"one"},`+tool+`,{"role":"tool","tool_call_id":"c1","content":"r"},{"role":"assistant","content":"first"},{"role":"user","content":"two"}]}`, chat("second")),
		pair(`{"model":"m","messages":[{"role":"user","content":"uno"},{"role":"assistant","content":"eins"},{"role":"user","content":"due"}]}`, chat("zwei")),
		pair(`{"model":"m","messages":[{"role":"user","content":"one"}]}`, chat("anew")),
	}, "\n")
	cs := hosttest.Text(t, "log.jsonl", log)
	var got [][]string
	for _, c := range cs {
		got = append(got, told(c))
	}
	want := [][]string{
		{"complete text <one >first", "complete text <two >second", "c1 f {} =r"},
		{"complete text <uno >eins", "complete text <due >zwei"},
		{"complete text <one >anew"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	// prompt_tokens include the cached ones; the first response tells none.
	if d := cmp.Diff([]int64{6, 4, 2, 12}, hosttest.Usage(&cs[0].Turns[1], "responses")); d != "" {
		t.Error(d)
	}
	// Without history, previous_response_id says what a request goes on with.
	resp := func(id, text string) string {
		return `{"object":"response","id":"` + id + `","model":"m","status":"completed","output":[{"type":"message","id":"` + id + `m","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}]}`
	}
	cs = hosttest.Text(t, "log.jsonl", strings.Join([]string{
		pair(`{"model":"m","input":"one"}`, resp("r1", "first")), pair(`{"model":"m","input":"uno"}`, resp("r2", "eins")),
		pair(`{"model":"m","input":"two","previous_response_id":"r1"}`, resp("r3", "second"))}, "\n"))
	if d := cmp.Diff([][]string{{"complete text <one >first", "complete text <two >second"}, {"complete text <uno >eins"}}, [][]string{told(cs[0]), told(cs[1])}); d != "" {
		t.Error(d)
	}
}

// Anthropic's input excludes the cache, OpenAI's includes it.
func TestUsageRules(t *testing.T) {
	a := hosttest.One(t, hosttest.Text(t, "a.json", `{"request":{"model":"m","messages":[{"role":"user","content":"go"}]},"response":{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],
"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":5}}}`))
	o := hosttest.One(t, hosttest.Text(t, "o.json", `{"request":{"model":"m","input":"go"},"response":{"object":"response","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}],
"usage":{"input_tokens":110,"input_tokens_details":{"cached_tokens":100},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":115}}}`))
	if d := cmp.Diff([][]int64{{10, 100, 5, 1115}, {10, 100, 5, 115}}, [][]int64{hosttest.Usage(&a.Turns[0], "responses"), hosttest.Usage(&o.Turns[0], "responses")}); d != "" {
		t.Error(d)
	}
	if u := o.Turns[0].Usage[0]; u.Reasoning != host.Known(3) || !u.ReasoningInOutput || u.CacheWrite.Known {
		t.Errorf("%+v", u)
	}
}

// A run of the Agents SDK whose input is the history so far begins one turn.
func TestRunInput(t *testing.T) {
	run := func(input, id, text string) string {
		return `{"input":` + input + `,"newItems":[{"type":"message_output_item","rawItem":{"id":"` + id + `","type":"message","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}}],"rawResponses":[]}`
	}
	c := hosttest.One(t, hosttest.Text(t, "runs.json", "["+run(`"one"`, "m1", "first")+","+
		run(`[{"role":"user","content":"one"},{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":"first"}]},{"role":"user","content":"two"}]`, "m2", "second")+","+
		run("null", "m3", "third")+"]"))
	if d := cmp.Diff([]string{"complete text <one >first", "complete text <two >second", "complete text >third"}, told(c)); d != "" {
		t.Error(d)
	}
}

// What spans and the evaluator count differs: both stay, and a note says so.
func TestTraceDisagrees(t *testing.T) {
	c := hosttest.One(t, hosttest.Text(t, "e.json", `{"query":"go","actualToolCalls":[],"tokens":{"input":10,"output":5,"total":15},"trace":{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"x"}],
"spans":[{"category":"step","promptIndex":0,"inputTokens":9,"outputTokens":5,"totalTokens":14},{"category":"llm","promptIndex":0,"modelId":"m","inputTokens":9,"outputTokens":5,"totalTokens":14}]}}`))
	if len(c.Turns[0].Usage) != 2 || len(c.Notes) != 1 || c.Notes[0].Kind != "usage-disagrees" {
		t.Errorf("%+v, notes %v", c.Turns[0].Usage, c.Notes)
	}
}
