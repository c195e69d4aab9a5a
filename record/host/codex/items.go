package codex

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// responseItem is an item of the model's input or output.
type responseItem struct {
	ID        lenient.Word   `json:"id"`
	Role      lenient.Word   `json:"role"`
	Content   jsontext.Value `json:"content"`
	Phase     lenient.Word   `json:"phase"`
	Name      lenient.Word   `json:"name"`
	Namespace lenient.Word   `json:"namespace"`
	Arguments jsontext.Value `json:"arguments"`
	Input     jsontext.Value `json:"input"` // of a custom tool: a text of its own language
	CallID    lenient.Word   `json:"call_id"`
	Output    jsontext.Value `json:"output"`
}

// item takes an item; false when it is none of the conversation.
func (r *reader) item(kind string, p jsontext.Value, e *story.Event) bool {
	var it responseItem
	if !lenient.Into(p, &it) {
		return false
	}
	e.ID = string(it.ID)
	switch kind {
	case "message":
		c := story.ContentOf(it.Content)
		switch it.Role {
		case "assistant":
			r.answer(c.Text, e.ID, string(it.Phase), "item", e)
		case "user":
			// Instructions, the environment and prompts look alike here; prompts are
			// taken from events (hosts.md 3.4).
			r.msg = nil
			return false
		default:
			return false
		}
	case "reasoning":
		r.message(e).Thinking(len(p))
	case "function_call", "custom_tool_call", "local_shell_call":
		r.call(kind, &it, e)
	case "function_call_output", "custom_tool_call_output":
		r.output(&it, e)
	default:
		return false
	}
	return true
}

// message is the answer that grows; it begins one where none does.
func (r *reader) message(e *story.Event) *story.Msg {
	if r.msg == nil {
		if r.agent == nil && !r.prompted {
			r.b.Reopen() // a task that no prompt began goes on with the turn
		}
		m := *e
		m.ID = ""
		r.msg = r.b.Answer(r.model, &m)
	}
	return r.msg
}

// answer takes a text of the model, which an event and an item both tell: the
// event first, by id or by the same text.
func (r *reader) answer(s, id, phase, from string, e *story.Event) {
	known := id != "" && !r.b.Once("answer "+id)
	if from == "item" && r.event != "" && r.event == s {
		known = true
	}
	r.event = ""
	if known {
		if r.msg != nil {
			r.msg.ID(id)
		}
		return
	}
	m := r.message(e)
	m.ID(id)
	if from == "event" && id == "" {
		r.event = s
	}
	if phase == "commentary" && r.final {
		m.Other("commentary")
		return
	}
	r.final = r.final || phase == "final_answer"
	m.Fresh() // of several texts in one response the last is the answer
	m.Text(s)
	r.said, r.failed = text{s, true}, ""
}

func (r *reader) call(kind string, it *responseItem, e *story.Event) {
	c := host.Call{HostCallID: string(it.CallID), HostItemID: string(it.ID), Name: whole(string(it.Namespace), string(it.Name))}
	switch kind {
	case "local_shell_call":
		c.Name = cmp.Or(c.Name, "local_shell")
	case "function_call":
		r.b.Args(&c, it.Arguments, e)
	}
	if !strings.HasPrefix(c.Name, prefix) {
		c.Kind = host.BuiltinCall
	}
	r.said = text{} // an answer that calls is not the last
	r.message(e).Call(c, true, e)
}

// output takes what the model saw of a result.
func (r *reader) output(it *responseItem, e *story.Event) {
	r.msg = nil
	id := string(it.CallID)
	out := it.Output
	if out.Kind() == '{' { // {content, success} of older versions
		if c := lenient.Member(out, "content"); !lenient.Null(c) {
			out = c
		}
	}
	res := story.ResultOf(out, r.b.Keep)
	if k := r.b.Find(id); k != nil && k.Result != nil && r.fromEvent[id] {
		delete(r.fromEvent, id)
		res.Structured, k.Result = k.Result.Structured, nil
	}
	k := r.b.Result(id, res, nil, e)
	if k == nil || k.Server != "" || k.NotSent() {
		return
	}
	// No event tells what came of the call. The host's own words do: "err: " where
	// no result came (0.105), and what it says of tools that it does not have.
	s := res.Text.Text
	k.Denied, k.Refused = refusal(s)
	if k.NotSent() || strings.HasPrefix(s, `err: "tool call error: `) {
		yes := true
		k.HostError = &yes
	}
}
