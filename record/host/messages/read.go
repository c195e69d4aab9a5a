package messages

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// importMessages reads each file for itself.
func importMessages(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range lenient.Named(files) {
		r := &reader{src: host.Source{Path: f.Name, Format: "messages"}, keep: &host.Keeper{}}
		if err := lenient.Objects(f, &r.src, r.record); err != nil {
			return nil, err
		}
		out = append(out, r.finish()...)
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

// reader reads one file. A record is a pair of a request and its response, one of
// the two, a trace, a run, a message or an item.
type reader struct {
	src   host.Source // of the file as a whole
	keep  *host.Keeper
	convs []*conv
	cur   *conv // that single messages and responses belong to
	items int   // messages and calls of all conversations
}

// maxConvs bounds the conversations of one file; past it no new one is begun.
const maxConvs = 10_000

// top has the members by which a record is told.
type top struct {
	Request      jsontext.Value `json:"request"`
	Response     jsontext.Value `json:"response"`
	Messages     jsontext.Value `json:"messages"`
	Input        jsontext.Value `json:"input"`
	Previous     lenient.Word   `json:"previous_response_id"`
	Model        lenient.Word   `json:"model"`
	Output       jsontext.Value `json:"output"`
	Choices      jsontext.Value `json:"choices"`
	Role         lenient.Word   `json:"role"`
	Type         lenient.Word   `json:"type"`
	Trace        jsontext.Value `json:"trace"`
	Spans        jsontext.Value `json:"spans"`
	Tokens       jsontext.Value `json:"tokens"`
	Prompt       jsontext.Value `json:"prompt"`
	Methods      jsontext.Value `json:"methods"`
	NewItems     jsontext.Value `json:"newItems"`
	RawResponses jsontext.Value `json:"rawResponses"`
	FinalOutput  jsontext.Value `json:"finalOutput"`
	Error        jsontext.Value `json:"error"`
}

func (r *reader) record(n int64, raw jsontext.Value) {
	if r.items > host.MaxItems {
		r.src.Skip("over the bound")
		return
	}
	r.take(n, raw)
	c := r.cur // a record adds to one conversation
	if c == nil {
		return
	}
	size := len(c.b.C.Messages) + len(c.b.C.Calls)
	r.items += size - c.counted
	if c.counted = size; r.items > host.MaxItems {
		r.src.Fail(n, "more than %d messages and calls in one file; what follows is not read", host.MaxItems)
	}
}

func (r *reader) take(n int64, raw jsontext.Value) {
	var t top
	if !lenient.Into(raw, &t) {
		r.src.Fail(n, "no record that is known")
		return
	}
	kind := ""
	switch {
	case t.Request.Kind() == '{':
		kind = "pair"
		r.pair(n, t.Request, t.Response)
	case t.NewItems.Kind() == '[':
		kind = "run"
		r.run(n, &t)
	case t.Trace.Kind() == '{' || t.Trace.Kind() == '[':
		kind = "trace"
		r.trace(n, t.Trace, "/trace", t.Tokens, string(t.Model))
	case t.Methods.Kind() == '{':
		kind = "prompt result"
		r.promptResult(n, t.Methods)
	case t.Messages.Kind() == '[' && t.Spans.Kind() == '[':
		kind = "trace"
		r.trace(n, raw, "", nil, "")
	case t.Messages.Kind() == '[', !lenient.Null(t.Input) && t.Output == nil && t.Type == "":
		kind = "request"
		r.pair(n, raw, nil)
	case t.Output.Kind() == '[' && t.Type == "", t.Choices.Kind() == '[', t.Type == "error", t.Type == "message" && t.Role == "assistant" && hasContent(raw):
		kind = "response"
		c := r.current(n)
		c.response(raw, c.event(n, ""))
	case t.Role != "", t.Type == "message", isItem(string(t.Type)):
		kind = "message"
		c := r.current(n)
		if !c.entry(raw, c.event(n, "")) {
			r.src.Skip("message of type " + string(t.Type))
			return
		}
	default:
		r.src.Skip("other record")
		return
	}
	r.src.Took(kind)
}

// hasContent tells Anthropic's response from an item of that type: it has a model
// or a usage.
func hasContent(raw jsontext.Value) bool {
	var m struct {
		Usage jsontext.Value `json:"usage"`
		Model jsontext.Value `json:"model"`
	}
	return lenient.Into(raw, &m) && (m.Usage != nil || m.Model != nil)
}

// current is the conversation that a message without context belongs to.
func (r *reader) current(n int64) *conv {
	if r.cur == nil {
		r.cur = r.begin()
	}
	return r.cur
}

func (r *reader) begin() *conv {
	if len(r.convs) >= maxConvs {
		r.src.Fail(0, "more than %d conversations; the rest is put into the last", maxConvs)
		return r.convs[len(r.convs)-1]
	}
	c := newConv(r.keep)
	r.convs = append(r.convs, c)
	return c
}

// finish closes the conversations. They share the file.
func (r *reader) finish() []*host.Conversation {
	var out []*host.Conversation
	for _, c := range r.convs {
		if len(c.b.C.Messages) == 0 && len(c.b.C.Calls) == 0 {
			continue
		}
		c.b.C.Sources = []host.Source{r.src}
		if c.b.C.Host.Name == "" {
			c.b.C.Host.Name = "messages"
		}
		out = append(out, c.b.Finish())
	}
	return out
}

// pair takes a request, and its response when it is at hand.
func (r *reader) pair(n int64, request, response jsontext.Value) {
	var t top
	lenient.Into(request, &t)
	list, ptr := t.Messages, "/messages"
	if list.Kind() != '[' {
		list, ptr = t.Input, "/input"
	}
	if response != nil {
		ptr = "/request" + ptr
	}
	p := promptsOf(list)
	c, known := r.find(&t, list, p)
	if c == nil {
		c = r.begin()
	}
	r.cur = c
	if t.Messages == nil {
		c.name("openai-responses")
	}
	c.model = string(t.Model)
	c.request(n, ptr, list, known)
	if response != nil {
		c.response(response, c.event(n, "/response"))
	}
}

// find looks for the conversation that a request goes on with, and how many of
// the request's prompts it has already. A request sends the whole history again;
// an item or call id that is known, or the same prompts in front, tell whose.
func (r *reader) find(t *top, list jsontext.Value, prompts []string) (*conv, int) {
	ids := idsOf(list)
	for i := len(r.convs) - 1; i >= 0 && i >= len(r.convs)-maxOpen; i-- {
		c := r.convs[i]
		if t.Previous != "" {
			if c.responses[string(t.Previous)] {
				return c, 0
			}
			continue
		}
		shared := false
		for _, id := range ids {
			shared = shared || c.ids[id]
		}
		if (shared || answered(list)) && len(c.prompts) > 0 && len(prompts) >= len(c.prompts) && prefixed(prompts, c.prompts) && (shared || len(ids) == 0) {
			return c, len(c.prompts)
		}
	}
	return nil, 0
}

// maxOpen bounds the conversations that a request is compared with, the newest first.
const maxOpen = 100

func prefixed(list, with []string) bool {
	for i := range with {
		if list[i] != with[i] {
			return false
		}
	}
	return true
}

// each entry of a request's list; a string is one message of the user.
func eachEntry(list jsontext.Value, do func(i int, v jsontext.Value)) {
	if list.Kind() == '"' {
		do(0, jsontext.Value(`{"role":"user","content":`+string(list)+`}`))
		return
	}
	lenient.Each(list, do)
}

// promptsOf lists hashes of the prompts in a request.
func promptsOf(list jsontext.Value) (out []string) {
	eachEntry(list, func(_ int, v jsontext.Value) {
		if c, ok := promptOf(v); ok {
			out = append(out, hash(c.Text))
		}
	})
	return out
}

// promptOf is what the user said in an entry; false when it is no prompt: a
// message of results alone is none (hosts.md 3.5).
func promptOf(v jsontext.Value) (story.Content, bool) {
	var m entry
	if !lenient.Into(v, &m) || m.Role != "user" {
		return story.Content{}, false
	}
	c := story.ContentOf(m.content())
	return c, c.Text != "" || len(c.Media) > 0 || !hasResults(m.content())
}

// answered says that a request's history holds an answer.
func answered(list jsontext.Value) (yes bool) {
	eachEntry(list, func(_ int, v jsontext.Value) {
		var m entry
		yes = yes || lenient.Into(v, &m) && (m.Role == "assistant" || isCall(string(m.Type)))
	})
	return yes
}

// idsOf lists the ids of items and calls in a request's history.
func idsOf(list jsontext.Value) (out []string) {
	add := func(id lenient.Word) {
		if id != "" {
			out = append(out, string(id))
		}
	}
	eachEntry(list, func(_ int, v jsontext.Value) {
		var m entry
		if !lenient.Into(v, &m) || m.Role == "user" {
			return
		}
		add(m.ID)
		add(m.CallID)
		lenient.Each(m.ToolCalls, func(_ int, v jsontext.Value) { add(lenient.Word(lenient.Name(lenient.Member(v, "id")))) })
		lenient.Each(m.Content, func(_ int, v jsontext.Value) {
			var b block
			if lenient.Into(v, &b) {
				add(b.callID())
			}
		})
	})
	return out
}
