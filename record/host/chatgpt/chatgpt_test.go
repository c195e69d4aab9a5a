package chatgpt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/chatgpt"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
)

const sample = "chatgpt-export/conversations.json"

func TestGolden(t *testing.T) { hosttest.Golden(t, sample) }

func TestCut(t *testing.T) { hosttest.CutDocument(t, sample) }

// TestByHand: the sample has two prompts (n-u1, n-u2), a call in each turn, and a
// widget in the place of each answer. Times are those of create_time.
func TestByHand(t *testing.T) {
	c := hosttest.One(t, hosttest.Import(t, sample))
	want := host.Caps{Turns: host.Present, Prompts: host.Present, FinalText: host.Present, Tokens: host.Absent, Times: host.Present,
		Calls: host.Present, CallIDs: host.Present, Model: host.Present}
	if d := cmp.Diff(want, c.Caps); d != "" || c.Host.Name != "chatgpt" || strings.Join(c.Models, " ") != "gpt-5-3" || len(c.Turns) != 2 || c.TurnCount() != 2 {
		t.Errorf("%s, %+v, %v", d, c.Host, c.Models)
	}
	for i, u := range c.Turns {
		if u.FinalText.State != host.WidgetText || u.FinalText.Text.Text != "" || u.Status != host.Complete {
			t.Errorf("turn %d: %+v", i, u)
		}
		if want := fmt.Sprintf("bbbbbbbb-0000-4000-8000-00000000000%d", i+1); u.ID != want {
			t.Errorf("turn %d is %s", i, u.ID)
		}
	}
	if p := c.Turns[0].Prompts[0]; p.Text.Text != "Which things do people look for right now?" || p.At.UnixMicro() != 1774420250688000 {
		t.Errorf("%+v", p)
	}
	if p := c.Turns[1].Prompts[0]; p.Text.Text != "Only services, please" {
		t.Errorf("%+v", p)
	}
	for i, tool := range []string{"start", "steer"} {
		k := c.Calls[i]
		if k.HostCallID != fmt.Sprintf("cccccccc-0000-4000-8000-00000000000%d", i+1) || k.Kind != host.MCPCall || k.Server != "Deep Research App" ||
			k.Tool != (host.Tool{Raw: tool, Shown: tool}) || k.Turn != i || k.HostError != nil || k.Result == nil || k.Result.Structured == nil {
			t.Errorf("call %d: %+v", i, k)
		}
	}
	if a := string(c.Calls[1].Args.JSON); a != `{"user_query":"only services"}` {
		t.Errorf("arguments %s", a)
	}
	if at, end := c.Calls[0].At, c.Calls[0].EndedAt; at.UnixMicro() != 1774420252487204 || end.UnixMicro() != 1774420258580000 {
		t.Errorf("from %v to %v", at, end)
	}
	if len(c.Calls) != 2 || len(c.Notes) != 1 || c.Notes[0].Kind != "widget" {
		t.Errorf("%d calls, notes %v", len(c.Calls), c.Notes)
	}
	// Nothing of the profile or of an address with a token is taken over.
	var out strings.Builder
	if err := host.Write(&out, c); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"profile, replaced", "standing instructions", "websocket"} {
		if strings.Contains(out.String(), s) {
			t.Errorf("%q is taken over", s)
		}
	}
}

// node makes one node of a tree.
func node(id, parent, author, name, recipient, content, metadata string) string {
	return fmt.Sprintf(`%q:{"id":%q,"parent":%q,"children":[],"message":{"id":%q,"author":{"role":%q,"name":%q},"create_time":1774420250.5,"recipient":%q,"content":%s,"metadata":{%s}}}`,
		id, id, parent, id, author, name, recipient, content, metadata)
}

func said(s string) string { return fmt.Sprintf(`{"content_type":"text","parts":[%q]}`, s) }

func tree(current string, nodes ...string) string {
	return fmt.Sprintf(`[{"conversation_id":"c","current_node":%q,"mapping":{"root":{"id":"root","parent":null,"message":null},%s}}]`, current, strings.Join(nodes, ","))
}

func told(c *host.Conversation) (out []string) {
	for _, u := range c.Turns {
		s := fmt.Sprintf("%s %s", u.Status, u.FinalText.State)
		for _, p := range u.Prompts {
			s += " <" + p.Text.Text
		}
		out = append(out, s+" >"+u.FinalText.Text.Text)
	}
	for _, k := range c.Calls {
		s := fmt.Sprintf("%s %s %s/%s", k.HostCallID, k.Kind, k.Server, k.Tool.Shown)
		if k.Result != nil {
			s += " =" + k.Result.Text.Text
		}
		out = append(out, s)
	}
	return out
}

func TestTree(t *testing.T) {
	const call = `{"content_type":"code","text":"{\"path\": \"/App/link/tool\", \"args\": {\"n\": 9007199254740993}}"}`
	for _, tt := range []struct {
		name, data string
		want       []string
		branches   []host.Branch
	}{
		{"the live branch is that of the current node", tree("a2", node("u1", "root", "user", "", "all", said("go"), ""), node("a1", "u1", "assistant", "", "all", said("one"), ""),
			node("a2", "u1", "assistant", "", "all", said("two"), `"model_slug":"m"`)), []string{"complete text <go >two"},
			[]host.Branch{{Why: "regenerated or edited", Messages: 1, Src: host.Src{Line: 1, Ptr: "/mapping/a1/message"}}}},
		{"an edited prompt with a call behind it", tree("u2", node("u1", "root", "user", "", "all", said("go"), ""),
			node("k1", "u1", "assistant", "", "api_tool.call_tool", call, `"chatgpt_sdk":{"invocation_uuid":"i1"}`), node("u2", "root", "user", "", "all", said("stop"), "")),
			[]string{"open absent <stop >"}, []host.Branch{{Why: "regenerated or edited", Messages: 2, Calls: 1, CallIDs: []string{"i1"}, Src: host.Src{Line: 1, Ptr: "/mapping/u1/message"}}}},
		{"an answer in its channels", tree("a2", node("u1", "root", "user", "", "all", said("go"), ""), node("th", "u1", "assistant", "", "all", `{"content_type":"thoughts"}`, ""),
			strings.Replace(node("a1", "th", "assistant", "", "all", said("working on it"), ""), `"recipient"`, `"channel":"commentary","recipient"`, 1),
			strings.Replace(node("a2", "a1", "assistant", "", "all", said("done"), ""), `"recipient"`, `"channel":"final","recipient"`, 1)), []string{"complete text <go >done"}, nil},
		{"commentary alone is no answer", tree("a1", node("u1", "root", "user", "", "all", said("go"), ""),
			strings.Replace(node("a1", "u1", "assistant", "", "all", said("working on it"), ""), `"recipient"`, `"channel":"commentary","recipient"`, 1)), []string{"complete empty <go >"}, nil},
		{"a result by the node that it hangs on", tree("a1", node("u1", "root", "user", "", "all", said("go"), ""), node("k1", "u1", "assistant", "", "api_tool.call_tool", call, ""),
			node("r1", "k1", "tool", "api_tool.call_tool", "all", said("found"), ""), node("a1", "r1", "assistant", "", "all", said("done"), "")),
			[]string{"complete text <go >done", " mcp App/tool =found"}, nil},
		{"a tool of the host's own", tree("a1", node("u1", "root", "user", "", "all", said("go"), ""), node("k1", "u1", "assistant", "", "python", `{"content_type":"code","text":"1+1"}`, ""),
			node("r1", "k1", "tool", "python", "all", said("2"), ""), node("a1", "r1", "assistant", "", "all", said("two"), "")), []string{"complete text <go >two", " builtin /python =2"}, nil},
		{"no call that can be read", tree("k1", node("u1", "root", "user", "", "all", said("go"), ""), node("k1", "u1", "assistant", "", "api_tool.call_tool", said("{cut"), `"chatgpt_sdk":{"invocation_uuid":"i1","resource_name":"App_tool"}`)),
			[]string{"open empty <go >", "i1 mcp /"}, nil},
		{"hidden messages of the user are no prompts", tree("u2", node("u1", "root", "user", "", "all", said("hidden"), `"is_visually_hidden_from_conversation":true`), node("u2", "u1", "user", "", "all", said("go"), "")),
			[]string{"open absent <go >"}, nil},
		{"parents in a circle", tree("a", node("a", "b", "user", "", "all", said("one"), ""), node("b", "a", "user", "", "all", said("two"), "")), []string{"interrupted absent <two >", "open absent <one >"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := hosttest.One(t, hosttest.Text(t, "conversations.json", tt.data))
			if d := cmp.Diff(tt.want, told(c)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.branches, c.Branches); d != "" {
				t.Error(d)
			}
			for _, k := range c.Calls {
				if k.Tool.Shown == "tool" && string(k.Args.JSON) != `{"n":9007199254740993}` {
					t.Errorf("arguments %s", k.Args.JSON)
				}
				if (k.Args == nil) != (k.ArgsError != "" || k.Kind == host.BuiltinCall) {
					t.Errorf("%+v", k)
				}
			}
		})
	}
}

// Of a file that is cut in its second conversation the first is whole.
func TestCutBetween(t *testing.T) {
	one := strings.Trim(tree("a", node("u", "root", "user", "", "all", said("go"), ""), node("a", "u", "assistant", "", "all", said("one"), "")), "[]")
	c := hosttest.One(t, hosttest.Text(t, "conversations.json", "["+one+","+one[:len(one)/2]))
	if s := c.Sources[0]; !s.Cut || c.Caps.Turns != host.Present || told(c)[0] != "complete text <go >one" {
		t.Errorf("%+v, caps %+v", s, c.Caps)
	}
}

func FuzzExport(f *testing.F) { hosttest.Fuzz(f, chatgpt.Export, sample) }
