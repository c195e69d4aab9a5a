package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

func new() *story.Builder {
	b := story.New("h", &host.Keeper{})
	b.C.Sources = []host.Source{{Path: "f", Format: "f"}}
	return b
}

func say(b *story.Builder, prompt string) {
	b.Prompt(host.Human, "", story.Content{Text: prompt}, &story.Event{})
}

func TestStates(t *testing.T) {
	e := &story.Event{}
	for _, tt := range []struct {
		name string
		do   func(b *story.Builder)
		want string
	}{
		{"answered", func(b *story.Builder) { say(b, "a"); b.Answer("m", e).Text("x") }, "complete text x"},
		{"no answer", func(b *story.Builder) { say(b, "a") }, "open absent "},
		{"a call without a result", func(b *story.Builder) { say(b, "a"); b.Answer("m", e).Call(host.Call{HostCallID: "c"}, true, e) }, "open empty "},
		{"a result without an answer", func(b *story.Builder) {
			say(b, "a")
			b.Answer("m", e).Call(host.Call{HostCallID: "c"}, true, e)
			b.Result("c", &host.CallResult{}, nil, e)
		}, "open empty "},
		{"the model goes on", func(b *story.Builder) { say(b, "a"); m := b.Answer("m", e); m.Text("x"); m.Stop("tool_use") }, "open text x"},
		{"ends are told and this one is not", func(b *story.Builder) { b.EndsTold = true; say(b, "a"); b.Answer("m", e).Text("x") }, "open text x"},
		{"told", func(b *story.Builder) { say(b, "a"); b.Answer("m", e).Text("x"); b.Ended(host.Failed, "why\nmore", e) }, "error text x"},
		{"told and gone on", func(b *story.Builder) {
			say(b, "a")
			b.Ended(host.Failed, "", e)
			b.Reopen()
			b.Answer("m", e).Text("x")
		}, "complete text x"},
		{"said outright", func(b *story.Builder) {
			say(b, "a")
			b.Answer("m", e).Text("x")
			b.Final(host.FinalText{State: host.WidgetText})
		}, "complete widget "},
		{"said outright, and answered behind it", func(b *story.Builder) {
			say(b, "a")
			b.Answer("m", e)
			b.Final(host.FinalText{State: host.WidgetText})
			b.Answer("m", e).Text("x")
		}, "complete text x"},
		{"a subagent's answer is nobody's", func(b *story.Builder) {
			say(b, "a")
			b.Answer("m", e).Text("x")
			b.Answer("m", &story.Event{Agent: &host.Agent{ID: "s"}}).Text("y")
		}, "complete text x"},
		{"an answer without a prompt", func(b *story.Builder) { b.Answer("m", e).Text("x") }, "complete text x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := new()
			tt.do(b)
			c := b.Finish()
			u := c.Turns[0]
			if got := string(u.Status) + " " + string(u.FinalText.State) + " " + u.FinalText.Text.Text; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.Contains(u.Error, "\n") {
				t.Errorf("error %q", u.Error)
			}
			if open := u.Status == host.Open; open != (c.Caps.Calls == host.Partial) {
				t.Errorf("%s, caps %+v", u.Status, c.Caps)
			}
		})
	}
}

// Turns that no prompt on record began are not the user's, and leave their number
// unsure.
func TestSystemTurn(t *testing.T) {
	b := new()
	b.Answer("m", &story.Event{}).Text("x")
	say(b, "a")
	b.Answer("m", &story.Event{}).Text("y")
	c := b.Finish()
	if c.TurnCount() != 1 || c.Caps.Turns != host.Partial || c.Caps.Prompts != host.Partial || c.Turns[0].Origin != host.System {
		t.Errorf("%d turns, caps %+v", c.TurnCount(), c.Caps)
	}
}

// A turn has a sum only where each of its responses has a usage.
func TestSums(t *testing.T) {
	b := new()
	one := story.Counts{Input: host.Known(10), Cached: host.Known(4), Output: host.Known(2)}.OpenAI()
	say(b, "a")
	for range 2 {
		m := b.Answer("m", &story.Event{})
		m.Text("x")
		m.Usage(one)
		m.Usage(one) // once is enough
	}
	say(b, "b")
	b.Answer("m", &story.Event{}).Usage(one)
	b.Answer("m", &story.Event{}).Text("x")
	c := b.Finish("subagents")
	want := []host.Usage{{InputUncached: host.Known(12), CacheRead: host.Known(8), Output: host.Known(4), ReasoningInOutput: true, Total: host.Known(24),
		Source: "responses", Scope: host.OfTurn, Agents: host.MainAgent, Excludes: []string{"subagents"}}}
	if d := cmp.Diff(want, c.Turns[0].Usage); d != "" || len(c.Turns[1].Usage) != 0 || c.Caps.Tokens != host.Partial {
		t.Errorf("%s, %v, caps %+v", d, c.Turns[1].Usage, c.Caps)
	}
}

// The providers' rules (hosts.md 4, rule 3).
func TestCounts(t *testing.T) {
	n := func(u *host.Usage) []int64 {
		var out []int64
		for _, c := range []host.Count{u.InputUncached, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.Total} {
			if !c.Known {
				c.N = -1
			}
			out = append(out, c.N)
		}
		return out
	}
	k := host.Known
	all := story.Counts{Input: k(100), Cached: k(60), Written: k(10), Output: k(20), Reasoning: k(5)}
	for _, tt := range []struct {
		name string
		got  *host.Usage
		want []int64
	}{
		{"OpenAI", all.OpenAI(), []int64{30, 60, 10, 20, 5, 120}},
		{"Gemini", all.Gemini(), []int64{30, 60, 10, 20, 5, 125}},
		{"Anthropic", all.Anthropic(), []int64{100, 60, 10, 20, 5, 190}},
		{"a total that is stated", story.Counts{Input: k(1), Output: k(1), Total: k(7)}.OpenAI(), []int64{1, -1, -1, 1, -1, 7}},
		{"more cached than there is", story.Counts{Input: k(1), Cached: k(2), Output: k(1)}.OpenAI(), []int64{-1, 2, -1, 1, -1, 2}},
		{"no output", story.Counts{Input: k(1)}.Anthropic(), []int64{1, -1, -1, -1, -1, -1}},
	} {
		if d := cmp.Diff(tt.want, n(tt.got)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	if (story.Counts{Cached: k(1)}).OpenAI() != nil || (story.Counts{}).Gemini() != nil || (story.Counts{}).Anthropic() != nil {
		t.Error("a figure of nothing")
	}
}

// Calls and results: the first of an id counts, a result without its call is said.
func TestCalls(t *testing.T) {
	b, e := new(), &story.Event{At: time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)}
	say(b, "a")
	m := b.Answer("m", e)
	if m.Call(host.Call{HostCallID: "c", Name: "first"}, true, e) == nil || m.Call(host.Call{HostCallID: "c", Name: "second"}, true, e) != nil {
		t.Error("the second call of an id is taken")
	}
	if b.Result("c", &host.CallResult{Bytes: 1}, nil, e) == nil || b.Result("c", &host.CallResult{Bytes: 2}, nil, e) != nil || b.Result("d", &host.CallResult{}, nil, e) != nil {
		t.Error("a copy, or a result of nothing, is taken")
	}
	b.Answer("m", e).Text("x")
	c := b.Finish()
	if len(c.Calls) != 1 || c.Calls[0].Name != "first" || c.Calls[0].Result.Bytes != 1 || len(c.Notes) != 1 || c.Caps.Calls != host.Partial || c.Turns[0].EndedAt != e.At {
		t.Errorf("%+v, notes %v", c.Calls, c.Notes)
	}
}

func TestRewind(t *testing.T) {
	b, e := new(), &story.Event{}
	for _, s := range []string{"a", "b", "c"} {
		say(b, s)
		b.Answer("m", e).Call(host.Call{HostCallID: s}, false, e)
	}
	b.Rewind(2, "back", host.Src{Line: 9})
	if b.Find("b") != nil || b.Find("a") == nil {
		t.Error("calls of another branch are found")
	}
	say(b, "d")
	b.Answer("m", e).Call(host.Call{HostCallID: "b"}, false, e) // the id is free again
	b.Rewind(0, "nowhere", host.Src{})
	c := b.Finish()
	if d := cmp.Diff([]host.Branch{{Why: "back", Messages: 4, Calls: 2, CallIDs: []string{"b", "c"}, Src: host.Src{Line: 9}}}, c.Branches); d != "" {
		t.Error(d)
	}
	if len(c.Turns) != 2 || c.Turns[1].Index != 1 || c.Turns[1].Prompts[0].Text.Text != "d" || len(c.Calls) != 2 || c.Calls[1].Turn != 1 {
		t.Errorf("%+v", c.Turns)
	}
}

func TestMedia(t *testing.T) {
	png := story.MediaOf("image", "", "data:image/png;base64,aGVsbG8=")
	if png.Type != "image/png" || png.Bytes != 5 || png.SHA256 == "" || png.URI != "" {
		t.Errorf("%+v", png)
	}
	// What signed addresses carry is dropped.
	if m := story.MediaOf("image", "", "https://x/y.png?sig=secret#f"); m.URI != "https://x/y.png" {
		t.Errorf("%+v", m)
	}
	r := story.ResultOf([]byte(`[{"type":"text","text":"a"},{"type":"image","data":"aGVsbG8=","mimeType":"image/png"},{"type":"odd"},"b"]`), &host.Keeper{})
	if r.Text.Text != "ab" || !r.HasText || len(r.Media) != 1 || r.Bytes != 7 {
		t.Errorf("%+v", r)
	}
}
