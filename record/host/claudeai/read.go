package claudeai

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// Export reads conversations.json: a list of conversations, or one of them.
var Export = &host.Importer{Name: "claude-ai-export", Version: "1", Doc: "conversations of a claude.ai data export", Detect: detect, Import: importExport}

func detect(_ string, head []byte) host.Sure {
	for _, m := range lenient.Heads(head) {
		if lenient.Has(m, "chat_messages") {
			return host.Certain
		}
		if lenient.Has(m, "uuid", "account", "created_at") {
			return host.Likely
		}
	}
	return host.No
}

// importExport makes one conversation of each element; they share one bound on
// texts.
func importExport(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range lenient.Named(files) {
		src := host.Source{Path: f.Name, Format: "claude-ai-export"}
		keep := &host.Keeper{}
		var own []*host.Conversation
		items := 0
		if err := lenient.Objects(f, &src, func(n int64, raw jsontext.Value) {
			if items > host.MaxItems {
				src.Skip("over the bound")
				return
			}
			c := read(n, raw, &src, keep)
			if c == nil {
				src.Skip("other record")
				return
			}
			if items += len(c.Messages) + len(c.Calls); items > host.MaxItems {
				src.Fail(n, "more than %d messages and calls in one file; what follows is not read", host.MaxItems)
			}
			src.Took("conversation")
			own = append(own, c)
		}); err != nil {
			return nil, err
		}
		for _, c := range own {
			c.Sources[0].Whole(&src) // an element that could be read is whole all the same
		}
		out = append(out, own...)
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

// message is one message of the export. All that the model did in a turn is in
// one message.
type message struct {
	UUID    lenient.Word   `json:"uuid"`
	Text    lenient.Long   `json:"text"`
	Content jsontext.Value `json:"content"`
	Sender  lenient.Word   `json:"sender"`
	Created lenient.Word   `json:"created_at"`
	Parent  lenient.Word   `json:"parent_message_uuid"`
	Files   jsontext.Value `json:"files"`
	Attach  jsontext.Value `json:"attachments"`
	Model   lenient.Word   `json:"model"` // mostly absent
	index   int
}

// maxMessages bounds the messages of one conversation.
const maxMessages = 200_000

func read(n int64, raw jsontext.Value, src *host.Source, keep *host.Keeper) *host.Conversation {
	var c struct {
		UUID     lenient.Word   `json:"uuid"`
		Model    lenient.Word   `json:"model"`
		Messages jsontext.Value `json:"chat_messages"`
	}
	if !lenient.Into(raw, &c) || c.Messages.Kind() != '[' {
		return nil
	}
	var all []*message
	lenient.Each(c.Messages, func(i int, v jsontext.Value) {
		m := &message{index: i}
		if len(all) < maxMessages && lenient.Into(v, m) {
			all = append(all, m)
		}
	})
	if len(all) == 0 {
		return nil
	}
	r := &reader{b: story.New("claude-ai", keep), line: n, model: string(c.Model), waiting: map[string][]string{}}
	r.b.C.Sources = []host.Source{{Path: src.Path, Format: src.Format}}
	r.own = &r.b.C.Sources[0]
	r.b.Session(string(c.UUID))
	path := live(all)
	for _, m := range path {
		r.message(m)
	}
	r.others(all, path)
	for i := range r.b.C.Calls {
		if k := &r.b.C.Calls[i]; strings.HasPrefix(k.HostCallID, "block ") {
			k.HostCallID = "" // exports of some months have none
		}
	}
	for i := range r.b.C.Messages {
		for j := range r.b.C.Messages[i].Parts {
			if p := &r.b.C.Messages[i].Parts[j]; strings.HasPrefix(p.CallID, "block ") {
				p.CallID = ""
			}
		}
	}
	return r.b.Finish()
}

// live is the path from the last message up; edited prompts and answers that were
// asked for again branch off it. Without links the list is linear.
func live(all []*message) []*message {
	by := map[string]*message{}
	linked := false
	for _, m := range all {
		by[string(m.UUID)] = m
	}
	for _, m := range all {
		linked = linked || by[string(m.Parent)] != nil
	}
	if !linked {
		return all
	}
	var path []*message
	seen := map[*message]bool{}
	for m := all[len(all)-1]; m != nil && !seen[m]; m = by[string(m.Parent)] {
		seen[m] = true
		path = append(path, m)
	}
	slices.Reverse(path)
	return path
}

type reader struct {
	b     *story.Builder
	own   *host.Source
	line  int64
	model string
	// waiting are the calls by tool, in order: results may not say whose they are.
	waiting map[string][]string
}

// unsupported is the export's placeholder of a block that it leaves out.
const unsupported = "This block is not supported on your current device yet."

type block struct {
	Type       lenient.Word   `json:"type"`
	Text       lenient.Long   `json:"text"`
	Thinking   lenient.Long   `json:"thinking"`
	Start      lenient.Word   `json:"start_timestamp"`
	Stop       lenient.Word   `json:"stop_timestamp"`
	ID         lenient.Word   `json:"id"`
	Name       lenient.Word   `json:"name"`
	Input      jsontext.Value `json:"input"`
	Integrated lenient.Word   `json:"integration_name"`
	URL        jsontext.Value `json:"mcp_server_url"`
	Origin     lenient.Word   `json:"tool_origin"`
	App        lenient.Flag   `json:"is_mcp_app"`
	ToolUseID  lenient.Word   `json:"tool_use_id"`
	Content    jsontext.Value `json:"content"`
	IsError    lenient.Flag   `json:"is_error"`
	Structured jsontext.Value `json:"structured_content"`
}

func (r *reader) message(m *message) {
	e := &story.Event{ID: string(m.UUID), At: lenient.Time(m.Created),
		Src: host.Src{Line: r.line, Ptr: "/chat_messages/" + strconv.Itoa(m.index)}}
	switch m.Sender {
	case "human":
		c := story.ContentOf(m.Content)
		if c.Text == "" {
			c.Text = string(m.Text)
		}
		for _, list := range []jsontext.Value{m.Files, m.Attach} {
			lenient.Each(list, func(_ int, v jsontext.Value) {
				x := host.Media{Type: cmp.Or(lenient.Name(lenient.Member(v, "file_type")), "file")}
				if n := host.ParseCount(lenient.Member(v, "file_size")); n.Known {
					x.Bytes = n.N
				}
				c.Media = append(c.Media, x)
			})
		}
		r.b.Prompt(host.Human, "", c, e)
	case "assistant":
		r.assistant(m, e)
	default:
		r.own.Skip("message of " + string(m.Sender))
		return
	}
	r.own.Took("message of " + string(m.Sender))
}

// assistant takes all blocks of a turn; the answer is the text behind the last
// result (the member text may differ, and blocks count).
func (r *reader) assistant(m *message, e *story.Event) {
	// The message's time is that of its end, later than those of its calls.
	msg := r.b.Answer(cmp.Or(string(m.Model), r.model), e)
	if m.Content.Kind() != '[' {
		msg.Text(string(m.Text))
		return
	}
	lenient.Each(m.Content, func(i int, v jsontext.Value) {
		var b block
		if !lenient.Into(v, &b) {
			return
		}
		x := *e
		x.Src.Ptr += "/content/" + strconv.Itoa(i)
		switch b.Type {
		case "text":
			if strings.Contains(string(b.Text), unsupported) {
				r.b.Lost()
				r.b.NoteOnce("unsupported-blocks", "the export left blocks out, calls among them", x.Src)
			}
			msg.Text(string(b.Text))
		case "thinking", "redacted_thinking":
			msg.Thinking(len(b.Thinking))
		case "tool_use":
			r.call(&b, msg, &x)
		case "tool_result":
			r.result(&b, msg, &x)
		default:
			msg.Other(string(b.Type))
		}
	})
}

// call takes a call. Whose tool it is the connector's address says, where the
// export has it; an address of null is that of a tool of the host's own.
func (r *reader) call(b *block, msg *story.Msg, e *story.Event) {
	k := host.Call{HostCallID: string(b.ID), Name: string(b.Name), Tool: host.Tool{Shown: string(b.Name)}, Kind: host.UnknownCall,
		At: lenient.Time(b.Start), EndedAt: lenient.Time(b.Stop)}
	switch {
	case lenient.String(b.URL) != "" || b.App.On:
		k.Kind, k.Server = host.MCPCall, string(b.Integrated)
		r.b.Server(host.Server{Name: k.Server})
	case b.Origin == "first_party" || b.URL != nil:
		k.Kind = host.BuiltinCall
	}
	if k.Args = r.b.Keep.Value(b.Input); k.Args != nil && k.Args.JSON.Kind() != 'n' {
		k.ArgsSource = host.ArgsFromModel
	} else {
		k.Args = nil
	}
	if k.HostCallID == "" {
		k.HostCallID = "block " + e.Src.Ptr
	}
	if msg.Call(k, false, e) != nil {
		r.waiting[k.Name] = append(r.waiting[k.Name], k.HostCallID)
	}
}

func (r *reader) result(b *block, msg *story.Msg, e *story.Event) {
	id := string(b.ToolUseID)
	for name := string(b.Name); id == "" && len(r.waiting[name]) > 0; { // the oldest that has none
		next := r.waiting[name][0]
		r.waiting[name] = r.waiting[name][1:]
		if k := r.b.Find(next); k != nil && k.Result == nil {
			id = next
		}
	}
	res := story.ResultOf(b.Content, r.b.Keep)
	if !lenient.Null(b.Structured) {
		res.Structured = r.b.Keep.Value(b.Structured)
	}
	k := r.b.Result(id, res, msg, e)
	if k == nil {
		return
	}
	if b.IsError.Set {
		k.HostError = &b.IsError.On
	}
}

// others lists the messages beside the live path.
func (r *reader) others(all, path []*message) {
	on := map[*message]bool{}
	for _, m := range path {
		on[m] = true
	}
	br := host.Branch{Why: "regenerated or edited"}
	for _, m := range all {
		if on[m] {
			continue
		}
		if br.Messages == 0 {
			br.Src = host.Src{Line: r.line, Ptr: "/chat_messages/" + strconv.Itoa(m.index)}
		}
		br.Messages++
		lenient.Each(m.Content, func(_ int, v jsontext.Value) {
			var b block
			if lenient.Into(v, &b) && b.Type == "tool_use" {
				br.Calls++
				if b.ID != "" {
					br.CallIDs = append(br.CallIDs, string(b.ID))
				}
			}
		})
	}
	if br.Messages > 0 {
		r.b.Branch(br)
	}
}
