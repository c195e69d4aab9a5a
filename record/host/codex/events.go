package codex

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// eventMsg takes an event; it gives the type under which it is counted.
func (r *reader) eventMsg(kind string, p jsontext.Value, typ string, e *story.Event) (took bool, as string) {
	switch kind {
	case "task_started", "turn_started":
		r.started(p, e)
	case "task_complete", "turn_complete":
		r.completed(p, e)
	case "turn_aborted":
		r.running, r.msg = false, nil
		if r.agent == nil && r.prompted {
			r.b.Ended(host.Interrupted, "", e)
		}
	case "error":
		r.failed = cmp.Or(lenient.String(lenient.Member(p, "message")), "error")
	case "user_message":
		r.userSaid("event", "", userMessage(p), e)
	case "agent_message":
		s := lenient.String(lenient.Member(p, "message"))
		r.answer(s, "", lenient.String(lenient.Member(p, "phase")), "event", e)
	case "token_count":
		return r.tokenCount(p, e), typ
	case "mcp_tool_call_end":
		return r.callEnd(p, e), typ
	case "thread_rolled_back":
		r.rolledBack(p, e)
	case "context_compacted":
		r.b.NoteOnce("compaction", "the host compacted the conversation", e.Src)
	case "item_completed":
		return r.itemCompleted(p, typ, e)
	default:
		return false, typ
	}
	return true, typ
}

func userMessage(p jsontext.Value) story.Content {
	var m struct {
		Message lenient.Long   `json:"message"`
		Images  jsontext.Value `json:"images"`
		Local   jsontext.Value `json:"local_images"`
	}
	lenient.Into(p, &m)
	c := story.Content{Text: string(m.Message)}
	lenient.Each(m.Images, func(_ int, v jsontext.Value) {
		c.Media = append(c.Media, story.MediaOf("image", "", lenient.String(v)))
	})
	// Paths of the machine are left out.
	lenient.Each(m.Local, func(int, jsontext.Value) { c.Media = append(c.Media, host.Media{Type: "image"}) })
	return c
}

// rolledBack takes the user's way back: the last turns are no longer live.
func (r *reader) rolledBack(p jsontext.Value, e *story.Event) {
	n := host.ParseCount(lenient.Member(p, "num_turns"))
	if r.agent != nil || !n.Known || n.N == 0 {
		return
	}
	r.b.Rewind(int(min(n.N, host.MaxItems)), "rolled back", e.Src)
	r.prompted, r.running, r.msg, r.said = false, false, nil, text{}
}

// itemCompleted takes an item of the paginated history (0.163 and later).
func (r *reader) itemCompleted(p jsontext.Value, typ string, e *story.Event) (bool, string) {
	var x struct {
		Turn      lenient.Word   `json:"turn_id"`
		Started   jsontext.Value `json:"started_at_ms"`
		Completed jsontext.Value `json:"completed_at_ms"`
		Item      struct {
			Type    lenient.Word   `json:"type"`
			ID      lenient.Word   `json:"id"`
			Content jsontext.Value `json:"content"`
			Phase   lenient.Word   `json:"phase"`
			mcpItem
		} `json:"item"`
	}
	if !lenient.Into(p, &x) {
		return false, typ
	}
	typ += "/" + string(x.Item.Type)
	e.ID = string(x.Item.ID)
	switch x.Item.Type {
	case "UserMessage":
		c := story.ContentOf(x.Item.Content)
		for i := range c.Media { // local images have a path of the machine
			if c.Media[i].Bytes == 0 {
				c.Media[i].URI = ""
			}
		}
		r.userSaid("item", string(x.Turn), c, e)
	case "AgentMessage":
		r.answer(story.ContentOf(x.Item.Content).Text, e.ID, string(x.Item.Phase), "event", e)
	case "McpToolCall":
		started, ended := lenient.Millis(x.Started), lenient.Millis(x.Completed)
		if ended.IsZero() {
			ended = e.At
		}
		if started.IsZero() {
			started = before(ended, x.Item.Duration)
		}
		r.called(&x.Item.mcpItem, string(x.Item.ID), started, ended, e)
	default:
		return false, typ
	}
	return true, typ
}

// mcpItem is one executed call as an item tells it.
type mcpItem struct {
	Server    lenient.Word   `json:"server"`
	Tool      lenient.Word   `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
	Status    lenient.Word   `json:"status"`
	Result    jsontext.Value `json:"result"`
	Error     jsontext.Value `json:"error"`
	Duration  jsontext.Value `json:"duration"`
}

// callEnd takes the end of a call (0.147): its result is {Ok: …} or {Err: text}.
func (r *reader) callEnd(p jsontext.Value, e *story.Event) bool {
	var x struct {
		CallID     lenient.Word   `json:"call_id"`
		Invocation mcpItem        `json:"invocation"`
		Duration   jsontext.Value `json:"duration"`
		Result     struct {
			Ok  jsontext.Value `json:"Ok"`
			Err jsontext.Value `json:"Err"`
		} `json:"result"`
	}
	if !lenient.Into(p, &x) {
		return false
	}
	it := x.Invocation
	it.Result, it.Error = x.Result.Ok, x.Result.Err
	r.called(&it, string(x.CallID), before(e.At, x.Duration), e.At, e)
	return true
}

// before is t less a duration {secs, nanos}.
func before(t time.Time, d jsontext.Value) time.Time {
	var x struct {
		Secs  jsontext.Value `json:"secs"`
		Nanos jsontext.Value `json:"nanos"`
	}
	const year = 365 * 24 * 3600
	if t.IsZero() || !lenient.Into(d, &x) {
		return t
	}
	s, n := host.ParseCount(x.Secs), host.ParseCount(x.Nanos)
	if !s.Known || !n.Known || s.N > year || n.N >= 1e9 {
		return t
	}
	return t.Add(-time.Duration(s.N)*time.Second - time.Duration(n.N))
}

// called takes what an event tells of one call: raw names, the arguments that
// were sent, whether the tool failed. In code mode the model's own items do not
// name the call, and the event is all there is (hosts.md 3.4).
func (r *reader) called(it *mcpItem, id string, started, ended time.Time, e *story.Event) {
	r.names.learn(string(it.Server), string(it.Tool))
	k := r.b.Find(id)
	own := k == nil
	if own {
		k = r.b.Call(host.Call{HostCallID: id, At: started}, e)
		if k == nil {
			return
		}
	} else if k.Server != "" {
		return // told twice
	}
	k.Kind, k.Server, k.Tool.Raw = host.MCPCall, string(it.Server), string(it.Tool)
	if a := r.b.Keep.Value(it.Arguments); a != nil && a.JSON.Kind() != 'n' {
		k.Args, k.ArgsSource, k.ArgsError = a, host.ArgsFromHost, ""
	}
	k.EndedAt = ended
	failed, res := outcome(it, r.b.Keep)
	k.HostError = failed
	if res == nil {
		return
	}
	if failed != nil && *failed && lenient.Null(it.Result) {
		k.Denied, k.Refused = refusal(res.Text.Text)
	}
	k.Result, k.ResultSrc = res, e.Src
	if !own {
		r.fromEvent[id] = true
	}
}

// outcome reads a call's result or error.
func outcome(it *mcpItem, keep *host.Keeper) (failed *bool, res *host.CallResult) {
	yes, no := true, false
	if !lenient.Null(it.Error) {
		s := lenient.String(it.Error)
		if s == "" {
			s = lenient.String(lenient.Member(it.Error, "message"))
		}
		return &yes, story.TextResult(s, keep)
	}
	var x struct {
		Content    jsontext.Value `json:"content"`
		IsError    lenient.Flag   `json:"isError"`
		Structured jsontext.Value `json:"structuredContent"`
		Snake      jsontext.Value `json:"structured_content"`
	}
	if !lenient.Into(it.Result, &x) {
		return nil, nil
	}
	res = story.ResultOf(x.Content, keep)
	if !lenient.Null(x.Structured) {
		res.Structured = keep.Value(x.Structured)
	} else if !lenient.Null(x.Snake) {
		res.Structured = keep.Value(x.Snake)
	}
	if x.IsError.On || it.Status == "failed" {
		return &yes, res
	}
	return &no, res
}
