package chatgpt

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// callTool is the recipient of a call of an app's tool, and the author of its
// result.
const callTool = "api_tool.call_tool"

// message is a node's message: the members that are read.
type message struct {
	ID     lenient.Word `json:"id"`
	Author struct {
		Role lenient.Word `json:"role"`
		Name lenient.Word `json:"name"`
	} `json:"author"`
	Created   jsontext.Value `json:"create_time"` // seconds with decimals, or null
	Recipient lenient.Word   `json:"recipient"`
	Channel   lenient.Word   `json:"channel"`
	Content   struct {
		Type  lenient.Word   `json:"content_type"`
		Parts jsontext.Value `json:"parts"`
		Text  lenient.Long   `json:"text"`
	} `json:"content"`
	Status   lenient.Word `json:"status"`
	Metadata struct {
		Hidden     lenient.Flag `json:"is_visually_hidden_from_conversation"`
		System     lenient.Flag `json:"is_user_system_message"`
		Turn       lenient.Word `json:"turn_exchange_id"`
		Model      lenient.Word `json:"model_slug"`
		Resolved   lenient.Word `json:"resolved_model_slug"`
		Suppressed lenient.Flag `json:"chatgpt_sdk_suppressed_response"`
		Parent     lenient.Word `json:"parent_id"`
		SDK        struct {
			Invocation lenient.Word   `json:"invocation_uuid"`
			Resource   lenient.Word   `json:"resource_name"`
			Widget     jsontext.Value `json:"widget_state"`
		} `json:"chatgpt_sdk"`
	} `json:"metadata"`
}

// text is the message's text: parts that are texts, or code.
func (m *message) text() (s string, media []host.Media) {
	var b strings.Builder
	lenient.Each(m.Content.Parts, func(_ int, v jsontext.Value) {
		if v.Kind() == '"' {
			b.WriteString(lenient.String(v))
			return
		}
		var p struct {
			Type    lenient.Word   `json:"content_type"`
			Text    lenient.Long   `json:"text"`
			Pointer lenient.Long   `json:"asset_pointer"`
			Size    jsontext.Value `json:"size_bytes"`
		}
		if !lenient.Into(v, &p) {
			return
		}
		if p.Pointer != "" {
			x := story.MediaOf(string(p.Type), "", string(p.Pointer))
			if n := host.ParseCount(p.Size); n.Known {
				x.Bytes = n.N
			}
			media = append(media, x)
			return
		}
		b.WriteString(string(p.Text))
	})
	if b.Len() == 0 {
		b.WriteString(string(m.Content.Text))
	}
	return b.String(), media
}

// reader tells one conversation.
type reader struct {
	b    *story.Builder
	own  *host.Source
	line int64 // the element's number
	// answers to calls without an id are found by the node that they hang on.
	byNode map[string]string
	widget bool // a widget was shown in the turn
}

func (r *reader) event(id string, m *message) *story.Event {
	return &story.Event{ID: string(m.ID), At: lenient.Seconds(m.Created),
		Src: host.Src{Line: r.line, Ptr: "/mapping/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(id) + "/message"}}
}

func (r *reader) message(id string, n *node) {
	var m message
	if !lenient.Into(n.Message, &m) {
		return // the root has none
	}
	e := r.event(id, &m)
	text, media := m.text()
	c := story.Content{Text: text, Media: media}
	hidden := m.Metadata.Hidden.On
	kind := string(m.Author.Role) + "/" + string(m.Content.Type)
	took := true
	switch {
	case m.Author.Role == "user" && !hidden && !m.Metadata.System.On && (m.Content.Type == "text" || m.Content.Type == "multimodal_text"):
		r.widget = false
		r.b.Prompt(host.Human, string(m.Metadata.Turn), c, e)
	case m.Author.Role == "user":
		r.b.Hidden(host.User, "injected", c, e)
	case m.Author.Role == "assistant" && m.Recipient != "all" && m.Recipient != "":
		r.call(id, &m, text, e)
	case m.Author.Role == "assistant":
		r.answer(&m, c, e)
	case m.Author.Role == "tool" && m.Author.Name == "api_tool" || m.Author.Role == "tool" && hidden:
		r.b.Hidden(host.ToolRole, "injected", c, e)
	case m.Author.Role == "tool":
		r.result(id, n, &m, text, e)
	default:
		took = false
	}
	if took {
		r.own.Took(kind)
	} else {
		r.own.Skip(kind)
	}
}

// answer takes a message of the model for the user. Reasoning is none, and what
// stands in another channel than final is no final text.
func (r *reader) answer(m *message, c story.Content, e *story.Event) {
	model := string(m.Metadata.Resolved)
	if model == "" {
		model = string(m.Metadata.Model)
	}
	switch {
	case m.Content.Type == "thoughts" || m.Content.Type == "reasoning_recap" || m.Channel == "analysis":
		r.b.Hidden(host.Assistant, "thinking", c, e)
		return
	case m.Metadata.Suppressed.On:
		// The host kept the answer back, since a widget shows it.
		r.b.Answer(model, e).Other("suppressed")
		r.b.Final(host.FinalText{State: host.WidgetText, Message: e.ID, Src: e.Src})
		r.b.NoteOnce("widget", "a turn ends in a widget; what it showed is in no message", e.Src)
		return
	case m.Metadata.Hidden.On:
		r.b.Hidden(host.Assistant, "injected", c, e)
		return
	}
	msg := r.b.Answer(model, e)
	for i := range c.Media {
		msg.Media(c.Media[i])
	}
	if m.Channel != "" && m.Channel != "final" {
		msg.Other("channel " + string(m.Channel))
		return
	}
	msg.Text(c.Text)
}

// call takes a message for a tool. An app's tool is named by the path in it:
// {"path": "/App/link/tool", "args": {…}}, as text or as code.
func (r *reader) call(id string, m *message, text string, e *story.Event) {
	model := string(m.Metadata.Resolved)
	if model == "" {
		model = string(m.Metadata.Model)
	}
	k := host.Call{HostCallID: string(m.Metadata.SDK.Invocation), Name: string(m.Recipient), Kind: host.BuiltinCall}
	k.Tool.Shown = k.Name
	if m.Recipient == callTool {
		var p struct {
			Path lenient.Long   `json:"path"`
			Args jsontext.Value `json:"args"`
		}
		k.Kind, k.Name, k.Tool.Shown = host.MCPCall, string(m.Metadata.SDK.Resource), ""
		if lenient.Into(jsontext.Value(text), &p) {
			k.Server, k.Tool.Raw = parts(string(p.Path))
			k.Tool.Shown = k.Tool.Raw
			r.b.Args(&k, p.Args, e)
			r.b.Server(host.Server{Name: k.Server})
		} else {
			k.ArgsError = "the call is no JSON object"
			r.b.Note("unreadable-arguments", "the call "+story.Short(k.HostCallID)+" is no JSON object; nothing can be said of its tool and arguments", e.Src)
		}
	}
	msg := r.b.Answer(model, e)
	if k.HostCallID == "" {
		k.HostCallID = "node " + id // the export's own id of the message
	}
	if msg.Call(k, true, e) != nil {
		if r.byNode == nil {
			r.byNode = map[string]string{}
		}
		r.byNode[id] = k.HostCallID
	}
}

// parts of "/App/link/tool".
func parts(path string) (app, tool string) {
	list := strings.Split(strings.Trim(path, "/"), "/")
	return lenient.Bound(list[0]), lenient.Bound(list[len(list)-1])
}

// result takes a tool's message: of the call with the same invocation, else of
// the one that it hangs on.
func (r *reader) result(id string, n *node, m *message, text string, e *story.Event) {
	call := string(m.Metadata.SDK.Invocation)
	if r.b.Find(call) == nil {
		call = r.byNode[string(m.Metadata.Parent)]
	}
	if call == "" {
		call = r.byNode[string(n.Parent)]
	}
	if call == "" {
		r.b.Hidden(host.ToolRole, "tool-output", story.Content{Text: text}, e)
		return
	}
	res := story.TextResult(text, r.b.Keep)
	k := r.b.Result(call, res, nil, e)
	if k != nil && k.Kind == host.MCPCall {
		if v := jsontext.Value(text); v.IsValid(lenient.Options) && v.Kind() == '{' {
			res.Structured = r.b.Keep.Value(v)
		}
		r.byNode[id] = call
	}
}

// others lists what is beside the live branch: regenerated answers, edited prompts.
func (r *reader) others(nodes map[string]*node, order []string, live map[string]bool) {
	byFork := map[string]*host.Branch{}
	var forks []string
	forkOf := map[string]string{} // the node that left the live branch, by node
	for _, id := range order {
		if live[id] {
			continue
		}
		var way []string
		at := id
		for forkOf[at] == "" {
			forkOf[at] = at // ends circles
			way = append(way, at)
			up := string(nodes[at].Parent)
			if nodes[up] == nil || live[up] {
				break
			}
			at = up
		}
		fork := forkOf[at]
		for _, w := range way {
			forkOf[w] = fork
		}
		var m message
		if !lenient.Into(nodes[id].Message, &m) {
			continue
		}
		br := byFork[fork]
		if br == nil {
			br = &host.Branch{Why: "regenerated or edited", Src: r.event(fork, &message{}).Src}
			byFork[fork] = br
			forks = append(forks, fork)
		}
		br.Messages++
		if m.Recipient == callTool && m.Author.Role == "assistant" {
			br.Calls++
			if s := string(m.Metadata.SDK.Invocation); s != "" {
				br.CallIDs = append(br.CallIDs, s)
			}
		}
	}
	for _, f := range forks {
		r.b.Branch(*byFork[f])
	}
}

// finish closes the conversation; one without a prompt and an answer is none.
func (r *reader) finish() *host.Conversation {
	if len(r.b.C.Messages) == 0 {
		return nil
	}
	for i := range r.b.C.Calls {
		// A node's name is no id of the call.
		if k := &r.b.C.Calls[i]; strings.HasPrefix(k.HostCallID, "node ") {
			k.HostCallID = ""
		}
	}
	for i := range r.b.C.Messages {
		for j := range r.b.C.Messages[i].Parts {
			if p := &r.b.C.Messages[i].Parts[j]; strings.HasPrefix(p.CallID, "node ") {
				p.CallID = ""
			}
		}
	}
	return r.b.Finish()
}
