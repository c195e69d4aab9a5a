package messages

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// block is a content block of Anthropic's API or a part of the AI SDK's.
type block struct {
	Type     lenient.Word   `json:"type"`
	Text     lenient.Long   `json:"text"`
	Thinking lenient.Long   `json:"thinking"`
	ID       lenient.Word   `json:"id"`
	Name     lenient.Word   `json:"name"`
	Server   lenient.Word   `json:"server_name"`
	Input    jsontext.Value `json:"input"`

	ToolUseID lenient.Word   `json:"tool_use_id"`
	Content   jsontext.Value `json:"content"`
	IsError   lenient.Flag   `json:"is_error"`

	// Of the AI SDK.
	ToolCallID lenient.Word   `json:"toolCallId"`
	ToolName   lenient.Word   `json:"toolName"`
	Args       jsontext.Value `json:"args"`   // before version 5
	Output     jsontext.Value `json:"output"` // {type, value}; of UI parts the value
	Result     jsontext.Value `json:"result"` // before version 5
	ErrorJS    lenient.Flag   `json:"isError"`
	Provider   lenient.Flag   `json:"providerExecuted"`
	State      lenient.Word   `json:"state"` // of UI parts
	ErrorText  lenient.Long   `json:"errorText"`
}

func (b *block) isText() bool {
	return b.Type == "text" || b.Type == "output_text" || b.Type == "refusal"
}

func (b *block) isThinking() bool {
	switch b.Type {
	case "thinking", "redacted_thinking", "reasoning", "redacted-reasoning":
		return true
	}
	return false
}

// uiPart says that a part is a call and its result in one, of an AI-SDK UIMessage.
func (b *block) uiPart() bool {
	return b.ToolCallID != "" && b.State != "" && (b.Type == "dynamic-tool" || strings.HasPrefix(string(b.Type), "tool-"))
}

func (b *block) isCall() bool {
	switch b.Type {
	case "tool_use", "mcp_tool_use", "server_tool_use", "tool-call":
		return true
	}
	return b.uiPart()
}

func (b *block) isResult() bool {
	return b.Type == "tool-result" && !b.uiPart() || b.Type == "tool_result" || strings.HasSuffix(string(b.Type), "_tool_result")
}

// callID is the id of the call that a block is or answers.
func (b *block) callID() lenient.Word {
	if b.isCall() {
		return cmp.Or(b.ToolCallID, b.ID)
	}
	return cmp.Or(b.ToolUseID, b.ToolCallID)
}

// call takes a call of a message of the model.
func (c *conv) call(b *block, msg *story.Msg, e *story.Event) {
	k := host.Call{HostCallID: string(b.callID()), Name: string(cmp.Or(b.Name, b.ToolName))}
	client := true
	switch {
	case b.Type == "mcp_tool_use":
		// The client is the provider's: no recorder on this machine sees the call.
		k.Kind, k.Server, client = host.HostedCall, string(b.Server), false
		k.Tool.Raw = k.Name
		c.b.Server(host.Server{Name: k.Server})
		c.name("anthropic-messages")
	case b.Type == "server_tool_use" || b.Provider.On:
		k.Kind, client = host.HostedCall, false
	case b.uiPart() && k.Name == "":
		k.Name = strings.TrimPrefix(string(b.Type), "tool-")
	}
	if b.ToolCallID != "" {
		c.name("ai-sdk")
	} else {
		c.name("anthropic-messages")
	}
	c.ids[k.HostCallID] = true
	input := b.Input
	if input == nil {
		input = b.Args
	}
	c.b.Args(&k, input, e)
	msg.Call(named(k), client && !b.uiPart(), e)
	if b.uiPart() {
		c.uiResult(b, msg, e)
	}
}

// uiResult takes the result that stands in the part of the call.
func (c *conv) uiResult(b *block, msg *story.Msg, e *story.Event) {
	id := string(b.ToolCallID)
	switch b.State {
	case "output-available":
		k := c.b.Result(id, nil, msg, e)
		if k != nil {
			k.Result, k.HostError = c.jsonResult(b.Output)
		}
	case "output-error":
		if k := c.b.Result(id, story.TextResult(string(b.ErrorText), c.b.Keep), msg, e); k != nil {
			yes := true
			k.HostError = &yes
		}
	case "output-denied":
		if k := c.b.Find(id); k != nil {
			k.Denied = host.DeniedUnstated
		}
	}
}

// result takes a result block; msg is the message of the model that holds it,
// nil when it is the client's.
func (c *conv) result(b *block, msg *story.Msg, e *story.Event) {
	id := string(b.callID())
	if b.Type != "tool-result" { // Anthropic's
		k := c.b.Result(id, story.ResultOf(b.Content, c.b.Keep), msg, e)
		if k != nil {
			k.HostError = &b.IsError.On // false where it is left out (hosts.md 3.5)
		}
		return
	}
	c.name("ai-sdk")
	var out struct {
		Type   lenient.Word   `json:"type"`
		Value  jsontext.Value `json:"value"`
		Reason lenient.Long   `json:"reason"`
	}
	k := c.b.Result(id, nil, msg, e)
	if k == nil {
		return
	}
	yes, no := true, false
	if !lenient.Into(b.Output, &out) || out.Type == "" { // before version 5
		k.Result, k.HostError = c.jsonResult(b.Result)
		if b.ErrorJS.Set {
			k.HostError = &b.ErrorJS.On
		}
		return
	}
	switch out.Type {
	case "error-text", "error-json":
		k.Result, k.HostError = story.TextResult(plain(out.Value), c.b.Keep), &yes
	case "execution-denied":
		k.Result, k.HostError, k.Denied = story.TextResult(string(out.Reason), c.b.Keep), &no, host.DeniedUnstated
	case "json":
		k.Result, k.HostError = c.jsonResult(out.Value)
	default: // text, content: whether the tool failed is lost (hosts.md 3.6)
		k.Result = story.ResultOf(out.Value, c.b.Keep)
	}
}

// plain is a value's text: a string as it is, anything else as JSON.
func plain(v jsontext.Value) string {
	if v.Kind() == '"' {
		return lenient.String(v)
	}
	return string(v)
}

// jsonResult reads an output that may be a whole CallToolResult (MCPJam) or any
// value.
func (c *conv) jsonResult(v jsontext.Value) (*host.CallResult, *bool) {
	var r struct {
		Content    jsontext.Value `json:"content"`
		Structured jsontext.Value `json:"structuredContent"`
		IsError    lenient.Flag   `json:"isError"`
	}
	if !lenient.Into(v, &r) || r.Content.Kind() != '[' {
		return story.TextResult(plain(v), c.b.Keep), nil
	}
	out := story.ResultOf(r.Content, c.b.Keep)
	if !lenient.Null(r.Structured) {
		out.Structured = c.b.Keep.Value(r.Structured)
	}
	return out, &r.IsError.On
}
