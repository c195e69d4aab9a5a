package messages

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// isItem says that a type is that of an item of the Responses API or of the
// Agents SDK.
func isItem(typ string) bool {
	switch typ {
	case "reasoning", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "function_call_output", "function_call_result",
		"custom_tool_call_output", "hosted_tool_call":
		return true
	}
	return isCall(typ)
}

func isCall(typ string) bool {
	switch typ {
	case "function_call", "mcp_call", "custom_tool_call":
		return true
	}
	return strings.HasSuffix(typ, "_call") && typ != "tool_call"
}

// item takes an item; false when it is of an unknown kind. Texts are no items,
// whatever they look like (case 92).
func (c *conv) item(m *entry, e *story.Event) bool {
	if c.history && m.ID != "" && c.known(string(m.ID)) {
		return true // re-sent in another form (hosts.md 3.4)
	}
	c.known(string(m.ID))
	c.known(string(cmp.Or(m.CallID, m.CallIDJS)))
	e.ID = string(m.ID)
	if m.Provider != nil || m.CallIDJS != "" {
		c.name("openai-agents")
	}
	typ := string(m.Type)
	switch {
	case typ == "message":
		switch m.Role {
		case "assistant", "":
			if c.history && m.ID == "" && c.again(m) {
				return true
			}
			msg := c.answer(e)
			msg.Fresh() // of several texts in one response the last is the answer
			c.blocks(msg, m, e)
		default:
			return false
		}
	case typ == "reasoning":
		c.answer(e).Thinking(len(m.Encrypted))
	case typ == "mcp_list_tools":
		c.b.Server(host.Server{Name: string(m.Server)})
	case typ == "mcp_call":
		c.mcpCall(m, e)
	case typ == "mcp_approval_request":
		if len(c.approvals) < host.MaxItems {
			c.approvals[string(m.ID)] = approval{string(m.Server), string(m.Name), m.Arguments.Clone(), *e}
		}
	case typ == "mcp_approval_response":
		c.approved(m)
	case typ == "function_call", typ == "custom_tool_call":
		k := host.Call{HostCallID: string(cmp.Or(m.CallID, m.CallIDJS, m.ID)), HostItemID: string(m.ID), Name: string(m.Name)}
		if typ == "function_call" {
			c.b.Args(&k, m.Arguments, e)
		}
		c.answer(e).Call(named(k), true, e)
	case strings.HasSuffix(typ, "_call_output"), typ == "function_call_result":
		c.msg = nil
		c.b.Result(string(cmp.Or(m.CallID, m.CallIDJS)), story.ResultOf(m.Output, c.b.Keep), nil, e)
	case isItem(typ): // web_search_call, hosted_tool_call, ...: the provider's own tools
		c.answer(e).Other(typ)
	default:
		return false
	}
	return true
}

// answer is the response that items go on with; it begins one where none does.
func (c *conv) answer(e *story.Event) *story.Msg {
	if c.msg == nil {
		c.name("openai-responses")
		c.msg = c.b.Answer("", e)
	}
	return c.msg
}

// mcpCall takes a call of the provider's own MCP client, with its result.
func (c *conv) mcpCall(m *entry, e *story.Event) {
	k := host.Call{HostCallID: string(m.ID), Kind: host.HostedCall, Server: string(m.Server), Name: string(m.Name),
		Tool: host.Tool{Raw: string(m.Name), Shown: string(m.Name)}}
	c.b.Args(&k, m.Arguments, e)
	c.b.Server(host.Server{Name: k.Server})
	msg := c.answer(e)
	msg.Call(k, false, e)
	delete(c.approvals, string(cmp.Or(m.Approval, m.ApprovalID)))
	yes, no := true, false
	switch {
	case !lenient.Null(m.Error) || m.Status == "failed":
		if k := c.b.Result(k.HostCallID, story.TextResult(errorText(m.Error), c.b.Keep), msg, e); k != nil {
			k.HostError = &yes
		}
	case !lenient.Null(m.Output):
		// The output is one text; isError cannot be told from it, but an error would.
		if k := c.b.Result(k.HostCallID, story.ResultOf(m.Output, c.b.Keep), msg, e); k != nil {
			k.HostError = &no
		}
	}
}

// errorText is what an error says: a text, a message, or content blocks.
func errorText(v jsontext.Value) string {
	if s := lenient.String(v); s != "" {
		return s
	}
	if s := lenient.String(lenient.Member(v, "message")); s != "" {
		return s
	}
	return story.ContentOf(lenient.Member(v, "content")).Text
}

// approved takes the user's word on a hosted call. One that was not allowed never
// reaches the server.
func (c *conv) approved(m *entry) {
	id := string(cmp.Or(m.Approval, m.ApprovalID))
	a, ok := c.approvals[id]
	delete(c.approvals, id)
	if !ok || m.Approve.On {
		return
	}
	k := host.Call{HostCallID: id, Kind: host.HostedCall, Server: a.server, Name: a.name, Tool: host.Tool{Raw: a.name, Shown: a.name}, Denied: host.DeniedByUser}
	c.b.Args(&k, a.args, &a.e)
	c.b.Call(k, &a.e)
}
