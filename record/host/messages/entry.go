package messages

import (
	"crypto/sha256"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// conv is one conversation while it grows.
type conv struct {
	b     *story.Builder
	model string     // of the request
	msg   *story.Msg // the answer that items go on with; nil: the next begins one
	// history says that the entries are re-sent ones: what is known is passed over.
	history bool

	counted   int             // messages and calls that are in the reader's count
	prompts   []string        // hashes, in order
	ids       map[string]bool // of items and calls
	answers   map[string]bool // hashes of answers' texts
	responses map[string]bool // ids
	approvals map[string]approval
}

// approval is a hosted call that waits for the user's word.
type approval struct {
	server, name string
	args         jsontext.Value
	e            story.Event
}

func newConv(keep *host.Keeper) *conv {
	return &conv{b: story.New("", keep), ids: map[string]bool{}, answers: map[string]bool{}, responses: map[string]bool{}, approvals: map[string]approval{}}
}

// name names the host by what its messages show first.
func (c *conv) name(n string) {
	if c.b.C.Host.Name == "" {
		c.b.C.Host.Name = n
	}
}

func (c *conv) event(n int64, ptr string) *story.Event {
	return &story.Event{Src: host.Src{Line: n, Ptr: ptr}}
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(sum[:])
}

// known says that an id was seen before, and notes it.
func (c *conv) known(id string) bool {
	if id == "" {
		return false
	}
	old := c.ids[id]
	if len(c.ids) < 2*host.MaxItems {
		c.ids[id] = true
	}
	return old
}

// entry is a message or an item of any dialect.
type entry struct {
	Role       lenient.Word   `json:"role"`
	Type       lenient.Word   `json:"type"`
	ID         lenient.Word   `json:"id"`
	Content    jsontext.Value `json:"content"`
	Parts      jsontext.Value `json:"parts"` // of AI-SDK UIMessages
	ToolCalls  jsontext.Value `json:"tool_calls"`
	ToolCallID lenient.Word   `json:"tool_call_id"`
	Refusal    lenient.Long   `json:"refusal"`
	Reasoning  lenient.Long   `json:"reasoning_content"`

	CallID     lenient.Word   `json:"call_id"`
	CallIDJS   lenient.Word   `json:"callId"` // of the Agents SDK
	Name       lenient.Word   `json:"name"`
	Server     lenient.Word   `json:"server_label"`
	Arguments  jsontext.Value `json:"arguments"`
	Output     jsontext.Value `json:"output"`
	Error      jsontext.Value `json:"error"`
	Status     lenient.Word   `json:"status"`
	Approval   lenient.Word   `json:"approval_request_id"`
	ApprovalID lenient.Word   `json:"approvalRequestId"`
	Approve    lenient.Flag   `json:"approve"`
	Encrypted  lenient.Long   `json:"encrypted_content"`
	Provider   jsontext.Value `json:"providerData"` // of the Agents SDK
}

func (m *entry) content() jsontext.Value {
	if m.Parts.Kind() == '[' {
		return m.Parts
	}
	return m.Content
}

// request takes a request's entries; the first known prompts are there already,
// with what stands before them.
func (c *conv) request(n int64, ptr string, list jsontext.Value, known int) {
	seen := 0
	c.history, c.msg = true, nil
	eachEntry(list, func(i int, v jsontext.Value) {
		_, isPrompt := promptOf(v)
		if seen < known {
			if isPrompt {
				seen++
			}
			return
		}
		at := ptr
		if list.Kind() == '[' {
			at = pointer(ptr, i)
		}
		c.entry(v, c.event(n, at))
	})
	c.history, c.msg = false, nil
}

func pointer(to string, i int) string {
	const digits = "0123456789"
	if i < 10 {
		return to + "/" + digits[i:i+1]
	}
	return pointer(to, i/10) + digits[i%10:i%10+1]
}

// entry takes a message or an item; false when it is of an unknown kind.
func (c *conv) entry(v jsontext.Value, e *story.Event) bool {
	var m entry
	if !lenient.Into(v, &m) {
		return false
	}
	if m.Role == "" || isItem(string(m.Type)) && m.Type != "message" {
		return c.item(&m, e)
	}
	e.ID = string(m.ID)
	switch m.Role {
	case "user":
		c.user(&m, v, e)
	case "assistant", "model":
		if m.Type == "message" { // an item: it goes on with the response
			return c.item(&m, e)
		}
		c.assistant(&m, e)
	case "tool":
		c.msg = nil
		if m.ToolCallID != "" {
			c.name("openai-chat")
			c.b.Result(string(m.ToolCallID), story.ResultOf(m.Content, c.b.Keep), nil, e)
			return true
		}
		c.results(m.content(), e)
	case "system", "developer":
		c.b.Hidden(host.SystemRole, "instructions", story.ContentOf(m.content()), e)
	default:
		return false
	}
	return true
}

// user takes a message of the user: results, a prompt, or both.
func (c *conv) user(m *entry, v jsontext.Value, e *story.Event) {
	c.msg = nil
	had := c.results(m.content(), e)
	p, ok := promptOf(v)
	if !ok {
		return
	}
	c.prompts = append(c.prompts, hash(p.Text))
	if had {
		c.b.Queue(host.SDK, p, e) // said beside results: the turn goes on
		return
	}
	c.b.Prompt(host.SDK, "", p, e)
}

func hasResults(content jsontext.Value) (yes bool) {
	lenient.Each(content, func(_ int, v jsontext.Value) {
		var b block
		yes = yes || lenient.Into(v, &b) && b.isResult()
	})
	return yes
}

// results takes the results among blocks.
func (c *conv) results(content jsontext.Value, e *story.Event) (any bool) {
	lenient.Each(content, func(_ int, v jsontext.Value) {
		var b block
		if lenient.Into(v, &b) && b.isResult() {
			c.result(&b, nil, e)
			any = true
		}
	})
	return any
}

// assistant takes a message of the model in a list of messages.
func (c *conv) assistant(m *entry, e *story.Event) {
	if c.history && c.again(m) {
		return
	}
	c.msg = nil
	c.blocks(c.b.Answer("", e), m, e) // who wrote it is not said
}

// again says that a re-sent message is known: by the ids of its calls, else by
// its text.
func (c *conv) again(m *entry) bool {
	var text strings.Builder
	calls, known := 0, 0
	lenient.Each(m.content(), func(_ int, v jsontext.Value) {
		var b block
		if !lenient.Into(v, &b) {
			return
		}
		if b.isCall() {
			calls++
			if c.b.Find(string(b.callID())) != nil {
				known++
			}
		} else if b.Type == "text" {
			text.WriteString(string(b.Text))
		}
	})
	lenient.Each(m.ToolCalls, func(_ int, v jsontext.Value) {
		calls++
		if c.b.Find(lenient.Name(lenient.Member(v, "id"))) != nil {
			known++
		}
	})
	if calls > 0 {
		return known == calls
	}
	if m.Content.Kind() == '"' {
		text.WriteString(lenient.String(m.Content))
	}
	return text.Len() > 0 && c.answers[hash(text.String())]
}

// blocks takes what a message of the model holds.
func (c *conv) blocks(msg *story.Msg, m *entry, e *story.Event) {
	var text strings.Builder // at most a record
	if m.Reasoning != "" {
		msg.Thinking(len(m.Reasoning))
	}
	add := func(s string) {
		text.WriteString(s)
		msg.Text(s)
	}
	content := m.content()
	if content.Kind() == '"' {
		if s := lenient.String(content); s != "" {
			add(s)
		}
	}
	lenient.Each(content, func(_ int, v jsontext.Value) {
		var b block
		if !lenient.Into(v, &b) {
			if v.Kind() == '"' {
				add(lenient.String(v))
			}
			return
		}
		switch {
		case b.isText():
			add(string(b.Text))
		case b.isThinking():
			msg.Thinking(max(len(b.Thinking), len(b.Text)))
		case b.isCall():
			c.call(&b, msg, e)
		case b.isResult():
			c.result(&b, msg, e)
		default:
			var s story.Block
			lenient.Into(v, &s)
			if x, ok := s.AsMedia(); ok {
				msg.Media(x)
			} else {
				msg.Other(string(b.Type))
			}
		}
	})
	if m.Refusal != "" {
		add(string(m.Refusal))
	}
	lenient.Each(m.ToolCalls, func(_ int, v jsontext.Value) {
		var k struct {
			ID       lenient.Word `json:"id"`
			Function struct {
				Name      lenient.Word   `json:"name"`
				Arguments jsontext.Value `json:"arguments"`
			} `json:"function"`
		}
		if !lenient.Into(v, &k) {
			return
		}
		c.name("openai-chat")
		c.ids[string(k.ID)] = true
		call := named(host.Call{HostCallID: string(k.ID), Name: string(k.Function.Name)})
		c.b.Args(&call, k.Function.Arguments, e)
		msg.Call(call, true, e)
	})
	if s := text.String(); s != "" && len(c.answers) < host.MaxItems {
		c.answers[hash(s)] = true
	}
}

// named parts the name of a call where it says the server in the usual way.
func named(k host.Call) host.Call {
	k.Tool.Shown = k.Name
	if k.Kind == "" {
		k.Kind = host.UnknownCall
	}
	if rest, ok := strings.CutPrefix(k.Name, "mcp__"); ok && k.Server == "" {
		if s, t, ok := strings.Cut(rest, "__"); ok && s != "" && t != "" {
			k.Kind, k.Server, k.Tool.Shown = host.MCPCall, s, t
		}
	}
	return k
}
