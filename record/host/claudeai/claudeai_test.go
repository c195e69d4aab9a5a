package claudeai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/claudeai"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
)

const sample = "claude-ai-export/conversations.json"

func TestGolden(t *testing.T) { hosttest.Golden(t, sample) }

func TestCut(t *testing.T) { hosttest.CutDocument(t, sample) }

// TestByHand: two prompts; the second turn has one call, of a tool of the host's
// own (mcp_server_url is null), and its answer is the block behind the result.
func TestByHand(t *testing.T) {
	c := hosttest.One(t, hosttest.Import(t, sample))
	want := host.Caps{Turns: host.Present, Prompts: host.Present, FinalText: host.Present, Tokens: host.Absent, Times: host.Present,
		Calls: host.Present, CallIDs: host.Present, Model: host.Absent}
	if d := cmp.Diff(want, c.Caps); d != "" || c.Host.Name != "claude-ai" || len(c.Turns) != 2 {
		t.Errorf("%s, %+v", d, c.Host)
	}
	finals := []string{" Yes! There are several solid options …[shortened]", "Could you clarify what you mean by \"Remote Web projects\"? …[shortened]"}
	for i, u := range c.Turns {
		if u.FinalText.Text.Text != finals[i] || u.Status != host.Complete || len(u.Usage) != 0 {
			t.Errorf("turn %d: %+v", i, u)
		}
	}
	k := c.Calls[0]
	if len(c.Calls) != 1 || k.HostCallID != "toolu_01Kom9oZzqzcc6wLEgaFnSVG" || k.Kind != host.BuiltinCall || k.Name != "conversation_search" || k.Turn != 1 ||
		*k.HostError || k.Result.Text.Text != "No matching conversations found." {
		t.Errorf("%+v", k)
	}
	if k.At.Format("15:04:05.000000") != "12:04:07.400938" || k.EndedAt.Format("15:04:05.000000") != "12:04:07.502949" {
		t.Errorf("from %v to %v", k.At, k.EndedAt)
	}
}

func message(uuid, parent, sender, content string) string {
	return fmt.Sprintf(`{"uuid":%q,"parent_message_uuid":%q,"sender":%q,"text":"other","created_at":"2026-03-09T12:00:00Z","content":[%s]}`, uuid, parent, sender, content)
}

func text(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func told(c *host.Conversation) (out []string) {
	for _, u := range c.Turns {
		out = append(out, fmt.Sprintf("%s %s <%s >%s", u.Status, u.FinalText.State, u.Prompts[0].Text.Text, u.FinalText.Text.Text))
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

func TestMessages(t *testing.T) {
	use := func(id, name, url string) string {
		return fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%q,"input":{},"integration_name":"Shop","mcp_server_url":%s}`, id, name, url)
	}
	result := func(id, name, s string) string {
		return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%s,"name":%q,"content":[{"type":"text","text":%q}],"is_error":true,"structured_content":{"a":1}}`, id, name, s)
	}
	for _, tt := range []struct {
		name     string
		messages []string
		want     []string
		branches int
		notes    int
	}{
		{"a connector's call", []string{message("1", "0", "human", text("go")), message("2", "1", "assistant", text("hm")+","+use(`"t1"`, "f", `"https://shop/mcp"`)+","+result(`"t1"`, "f", "r")+","+text("done"))},
			[]string{"complete text <go >done", "t1 mcp Shop/f =r"}, 0, 0},
		{"ids that are null", []string{message("1", "0", "human", text("go")), message("2", "1", "assistant", use("null", "f", "null")+","+use("null", "g", "null")+","+result("null", "g", "2")+","+result("null", "f", "1")+","+text("done"))},
			[]string{"complete text <go >done", " builtin /f =1", " builtin /g =2"}, 0, 0},
		{"nothing behind the result", []string{message("1", "0", "human", text("go")), message("2", "1", "assistant", text("let me see")+","+use(`"t1"`, "f", "null")+","+result(`"t1"`, "f", "r"))},
			[]string{"complete empty <go >", "t1 builtin /f =r"}, 0, 0},
		{"blocks that the export leaves out", []string{message("1", "0", "human", text("go")), message("2", "1", "assistant", text("```\nThis block is not supported on your current device yet.\n```")+","+text("done"))},
			[]string{"complete text <go >```\nThis block is not supported on your current device yet.\n```done"}, 0, 1},
		{"an edited prompt", []string{message("1", "0", "human", text("go")), message("2", "1", "assistant", use(`"t1"`, "f", "null")), message("3", "0", "human", text("stop")), message("4", "3", "assistant", text("ok"))},
			[]string{"complete text <stop >ok"}, 1, 0},
		{"without links", []string{message("1", "", "human", text("go")), message("2", "", "assistant", text("ok"))}, []string{"complete text <go >ok"}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := hosttest.One(t, hosttest.Text(t, "conversations.json", `[{"uuid":"c","name":"n","account":{},"chat_messages":[`+strings.Join(tt.messages, ",")+`]}]`))
			if d := cmp.Diff(tt.want, told(c)); d != "" || len(c.Branches) != tt.branches || len(c.Notes) != tt.notes {
				t.Errorf("branches %v, notes %v\n%s", c.Branches, c.Notes, d)
			}
			if (tt.notes > 0) != (c.Caps.Calls == host.Partial) {
				t.Errorf("caps %+v", c.Caps)
			}
		})
	}
}

func FuzzExport(f *testing.F) { hosttest.Fuzz(f, claudeai.Export, sample) }
