package messages

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// body is a response of any of the three APIs.
type body struct {
	ID      lenient.Word   `json:"id"`
	Type    lenient.Word   `json:"type"`
	Model   lenient.Word   `json:"model"`
	Usage   jsontext.Value `json:"usage"`
	Stop    lenient.Word   `json:"stop_reason"`
	Output  jsontext.Value `json:"output"`
	Choices jsontext.Value `json:"choices"`
	Created jsontext.Value `json:"created_at"` // of the Responses API, in seconds
	ChatAt  jsontext.Value `json:"created"`    // of chat completions, in seconds
	Status  lenient.Word   `json:"status"`
	Error   jsontext.Value `json:"error"`
}

// response takes a response: one message of the model.
func (c *conv) response(v jsontext.Value, e *story.Event) {
	var r body
	if !lenient.Into(v, &r) {
		return
	}
	c.msg = nil
	if r.ID != "" && len(c.responses) < host.MaxItems {
		c.responses[string(r.ID)] = true
	}
	e.ID = string(r.ID)
	model := c.model
	if r.Model != "" {
		model = string(r.Model)
	}
	switch {
	case r.Output.Kind() == '[':
		c.name("openai-responses")
		e.At = lenient.Seconds(r.Created)
		msg := c.b.Answer(model, e)
		c.msg = msg
		ptr := e.Src.Ptr + "/output"
		lenient.Each(r.Output, func(i int, v jsontext.Value) {
			x := *e
			// Items have no time of their own: what is known is when the response began.
			x.Src.Ptr, x.At = pointer(ptr, i), time.Time{}
			if !c.entry(v, &x) {
				msg.Other("unknown item")
			}
			if c.msg == nil { // an output stands between: the response goes on all the same
				c.msg = msg
			}
		})
		msg.Usage(openAI(r.Usage))
		if r.Status == "failed" || !lenient.Null(r.Error) {
			c.b.Ended(host.Failed, errorText(r.Error), e)
		}
		c.msg = nil
	case r.Choices.Kind() == '[':
		c.name("openai-chat")
		e.At = lenient.Seconds(r.ChatAt)
		n := 0
		lenient.Each(r.Choices, func(_ int, v jsontext.Value) {
			if n++; n > 1 {
				return
			}
			var ch struct {
				Message jsontext.Value `json:"message"`
				Finish  lenient.Word   `json:"finish_reason"`
			}
			lenient.Into(v, &ch)
			var m entry
			lenient.Into(ch.Message, &m)
			msg := c.b.Answer(model, e)
			c.blocks(msg, &m, &story.Event{Src: e.Src})
			msg.Stop(string(ch.Finish))
			msg.Usage(openAI(r.Usage))
		})
		if n > 1 {
			c.b.Note("other-choices", "the response has several choices; the first is read", e.Src)
		}
	case r.Type == "error", !lenient.Null(r.Error):
		c.b.Ended(host.Failed, errorText(r.Error), e)
	default:
		var m entry
		lenient.Into(v, &m)
		c.name("anthropic-messages")
		msg := c.b.Answer(model, e)
		c.blocks(msg, &m, e)
		msg.Stop(string(r.Stop))
		msg.Usage(anthropic(r.Usage))
	}
}

// anthropic reads a usage of the Messages API.
func anthropic(v jsontext.Value) *host.Usage {
	var u struct {
		Input   jsontext.Value `json:"input_tokens"`
		Read    jsontext.Value `json:"cache_read_input_tokens"`
		Write   jsontext.Value `json:"cache_creation_input_tokens"`
		Output  jsontext.Value `json:"output_tokens"`
		Details struct {
			Thinking jsontext.Value `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	}
	if !lenient.Into(v, &u) {
		return nil
	}
	return story.Counts{Input: host.ParseCount(u.Input), Cached: host.ParseCount(u.Read), Written: host.ParseCount(u.Write),
		Output: host.ParseCount(u.Output), Reasoning: host.ParseCount(u.Details.Thinking)}.Anthropic()
}

// openAI reads a usage of the Responses API (input_tokens), of chat completions
// (prompt_tokens), or of the Agents SDK (inputTokens).
func openAI(v jsontext.Value) *host.Usage {
	var u map[string]jsontext.Value
	if !lenient.Into(v, &u) {
		return nil
	}
	pick := func(names ...string) jsontext.Value {
		for _, n := range names {
			if x := u[n]; !lenient.Null(x) {
				return x
			}
		}
		return nil
	}
	detail := func(of, name string) host.Count {
		for _, n := range strings.Fields(of) {
			d := u[n]
			if d.Kind() == '[' { // the Agents SDK has one a request
				sum, any := host.Known(0), false
				lenient.Each(d, func(_ int, v jsontext.Value) {
					if x := host.ParseCount(lenient.Member(v, name)); x.Known {
						sum, any = sum.Plus(x), true
					}
				})
				if any {
					return sum
				}
			}
			if x := host.ParseCount(lenient.Member(d, name)); x.Known {
				return x
			}
		}
		return host.Count{}
	}
	return story.Counts{
		Input:     host.ParseCount(pick("input_tokens", "prompt_tokens", "inputTokens")),
		Output:    host.ParseCount(pick("output_tokens", "completion_tokens", "outputTokens")),
		Total:     host.ParseCount(pick("total_tokens", "totalTokens")),
		Cached:    detail("input_tokens_details prompt_tokens_details inputTokensDetails", "cached_tokens"),
		Reasoning: detail("output_tokens_details completion_tokens_details outputTokensDetails", "reasoning_tokens"),
	}.OpenAI()
}
