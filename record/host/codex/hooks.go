package codex

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// Hooks reads payloads of Codex's hooks, one a line, bare or under "native" with
// the receiver's time beside them: a fallback where no rollout is at hand.
var Hooks = &host.Importer{Name: "codex-hooks", Version: "1", Doc: "payloads of Codex hooks", Detect: detectHooks, Import: importHooks}

// detectHooks: Claude Code's hooks have no turn_id, Cursor's no session_id.
func detectHooks(_ string, head []byte) host.Sure {
	for _, m := range lenient.Heads(head) {
		if in := m["native"]; in.Kind() == '{' {
			m = nil
			lenient.Into(in, &m)
		}
		if lenient.Has(m, "hook_event_name", "session_id", "turn_id") {
			return host.Certain
		}
	}
	return host.No
}

// importHooks makes one conversation of each session.
func importHooks(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range lenient.Named(files) {
		src := host.Source{Path: f.Name, Format: "codex-hooks"}
		bySession := map[string]*hooks{}
		var order []*hooks
		if err := lenient.Objects(f, &src, func(n int64, raw jsontext.Value) {
			var p payload
			if in := lenient.Member(raw, "native"); in.Kind() == '{' {
				lenient.Into(raw, &p)
				raw = in
			}
			lenient.Into(raw, &p)
			h := bySession[string(p.Session)]
			if h == nil {
				h = &hooks{b: story.New("codex", &host.Keeper{}), names: newNamer(), turns: map[string]int{}}
				h.b.EndsTold, h.b.OwnSums = true, true
				h.b.Session(string(p.Session))
				bySession[string(p.Session)] = h
				order = append(order, h)
			}
			if h.event(&p, &story.Event{At: lenient.Time(p.Recorded), Src: host.Src{Line: n}}) {
				src.Took(string(p.Event))
			} else {
				src.Skip(string(p.Event))
			}
		}); err != nil {
			return nil, err
		}
		for _, h := range order {
			if len(h.b.C.Turns) == 0 {
				continue
			}
			h.names.finish(h.b)
			h.b.C.Sources = []host.Source{src}
			c := h.b.Finish()
			if c.Caps.Times == host.Present {
				c.Caps.Times = host.Partial // they are the receiver's
			}
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

type payload struct {
	Recorded lenient.Word   `json:"recordedAt"` // the receiver's clock
	Event    lenient.Word   `json:"hook_event_name"`
	Session  lenient.Word   `json:"session_id"`
	Turn     lenient.Word   `json:"turn_id"`
	Model    lenient.Word   `json:"model"`
	Prompt   lenient.Long   `json:"prompt"`
	Name     lenient.Word   `json:"tool_name"`
	Input    jsontext.Value `json:"tool_input"`
	ID       lenient.Word   `json:"tool_use_id"`
	Response jsontext.Value `json:"tool_response"`
	Last     jsontext.Value `json:"last_assistant_message"`
}

// hooks is one session.
type hooks struct {
	b     *story.Builder
	names *namer
	turns map[string]int // by turn_id
}

func (h *hooks) event(p *payload, e *story.Event) bool {
	h.b.Model(string(p.Model))
	switch p.Event {
	case "UserPromptSubmit":
		if _, again := h.turns[string(p.Turn)]; again && p.Turn != "" {
			h.b.Queue(host.Human, story.Content{Text: string(p.Prompt)}, e)
			return true
		}
		h.b.Prompt(host.Human, string(p.Turn), story.Content{Text: string(p.Prompt)}, e)
		h.turns[string(p.Turn)] = len(h.b.C.Turns) - 1
	case "PreToolUse":
		h.call(p, e)
	case "PostToolUse":
		if h.b.Find(string(p.ID)) == nil {
			h.call(p, e) // the hook before it was not set
		}
		h.response(p, e)
	case "Stop":
		if s := lenient.String(p.Last); s != "" {
			h.b.Final(host.FinalText{State: host.HasText, Text: h.b.Keep.Text(s, host.MaxText), Src: e.Src})
		} else if p.Last != nil {
			h.b.Final(host.FinalText{State: host.EmptyText, Src: e.Src})
		}
		h.b.Ended(host.Complete, "", e)
	default:
		return false
	}
	return true
}

func (h *hooks) call(p *payload, e *story.Event) {
	c := host.Call{HostCallID: string(p.ID), Name: string(p.Name)}
	if c.Args = h.b.Keep.Value(p.Input); c.Args != nil {
		c.ArgsSource = host.ArgsFromHost
	}
	k := h.b.Call(c, e)
	if at, known := h.turns[string(p.Turn)]; k != nil && known {
		k.Turn = at
	}
}

// response takes a result as the host keeps it: a whole CallToolResult, or a text.
func (h *hooks) response(p *payload, e *story.Event) {
	failed, res := outcome(&mcpItem{Result: p.Response}, h.b.Keep)
	if res == nil {
		res = story.ResultOf(p.Response, h.b.Keep)
		failed = nil
	}
	if k := h.b.Result(string(p.ID), res, nil, e); k != nil {
		k.HostError = failed
	}
}
