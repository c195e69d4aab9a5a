package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// Names of figures (Usage.Source).
const (
	fromSpans  = "spans"  // the sum over spans of the model
	fromTokens = "tokens" // what the evaluator counted of the whole
)

// trace takes an MCPJam trace, a list of messages or {messages, spans}: one
// conversation of its own (hosts.md 3.6). tokens is the figure that the result
// around it has.
func (r *reader) trace(n int64, v jsontext.Value, ptr string, tokens jsontext.Value, model string) {
	c := r.begin()
	r.cur = c
	c.name("mcpjam")
	c.model = model
	var t top
	list := v
	if lenient.Into(v, &t) {
		list, ptr = t.Messages, ptr+"/messages"
	}
	lenient.Each(list, func(i int, v jsontext.Value) { c.entry(v, c.event(n, pointer(ptr, i))) })
	c.msg = nil
	c.spans(t.Spans, -1)
	u := tokensOf(tokens, "input", "output", "total")
	if u == nil {
		return
	}
	u.Source, u.Scope, u.Agents = fromTokens, host.OfSession, host.MainAgent
	if len(c.b.C.Turns) == 1 {
		u.Scope = host.OfTurn
		c.b.C.Turns[0].Usage = append(c.b.C.Turns[0].Usage, *u)
		return
	}
	c.b.C.Usage = append(c.b.C.Usage, *u)
}

// promptResult takes what the methods of one MCPJam prompt result gave; results
// that follow each other are the turns of one conversation.
func (r *reader) promptResult(n int64, v jsontext.Value) {
	var m struct {
		Messages jsontext.Value `json:"getMessages"`
		Spans    jsontext.Value `json:"getSpans"`
		Usage    jsontext.Value `json:"getUsage"`
	}
	lenient.Into(v, &m)
	c := r.current(n)
	c.name("mcpjam")
	lenient.Each(m.Messages, func(i int, v jsontext.Value) { c.entry(v, c.event(n, pointer("/methods/getMessages", i))) })
	c.msg = nil
	t := c.b.Turn()
	if t == nil {
		return
	}
	c.spans(m.Spans, t.Index)
	if u := tokensOf(m.Usage, "inputTokens", "outputTokens", "totalTokens"); u != nil {
		u.Source, u.Scope, u.Agents = fromTokens, host.OfTurn, host.MainAgent
		t.Usage = append(t.Usage, *u)
	}
}

// tokensOf reads a figure that does not part what was cached from the rest.
func tokensOf(v jsontext.Value, input, output, total string) *host.Usage {
	return story.Counts{Input: host.ParseCount(lenient.Member(v, input)), Output: host.ParseCount(lenient.Member(v, output)),
		Total: host.ParseCount(lenient.Member(v, total))}.OpenAI()
}

// span is one span of an MCPJam trace. Its times are relative to a start that is
// not on record.
type span struct {
	Category lenient.Word   `json:"category"`
	Prompt   jsontext.Value `json:"promptIndex"`
	CallID   lenient.Word   `json:"toolCallId"`
	Tool     lenient.Word   `json:"toolName"`
	Server   lenient.Word   `json:"serverId"`
	Model    lenient.Word   `json:"modelId"`
}

// spans takes a trace's spans: the server of each call, and the tokens of each
// response of the model, whose step has them once more. turn is the turn of all
// of them, -1 where promptIndex says it.
func (c *conv) spans(list jsontext.Value, turn int) {
	sums := map[int]*host.Usage{}
	var order []int
	lenient.Each(list, func(_ int, v jsontext.Value) {
		var s span
		if !lenient.Into(v, &s) {
			return
		}
		switch s.Category {
		case "tool":
			if k := c.b.Find(string(s.CallID)); k != nil && s.Server != "" && k.Server == "" {
				k.Kind, k.Server, k.Tool.Raw = host.MCPCall, string(s.Server), string(s.Tool)
				c.b.Server(host.Server{Name: k.Server})
			}
		case "llm":
			c.b.Model(string(s.Model))
			at := turn
			if p := host.ParseCount(s.Prompt); at < 0 && p.Known && p.N < int64(len(c.b.C.Turns)) {
				at = int(p.N)
			}
			u := tokensOf(v, "inputTokens", "outputTokens", "totalTokens")
			if at < 0 || u == nil {
				return
			}
			if sums[at] == nil {
				sums[at] = u
				order = append(order, at)
			} else {
				sums[at].Add(u)
			}
		}
	})
	for _, at := range order {
		u := sums[at]
		u.Source, u.Scope, u.Agents = fromSpans, host.OfTurn, host.MainAgent
		c.b.C.Turns[at].Usage = append(c.b.C.Turns[at].Usage, *u)
	}
}
