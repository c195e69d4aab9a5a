package messages

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// run takes one run of the Agents SDK; runs that follow each other are the turns
// of one conversation.
func (r *reader) run(n int64, t *top) {
	c := r.current(n)
	c.name("openai-agents")
	input, ptr := t.Prompt, "/prompt"
	if lenient.Null(input) {
		input, ptr = t.Input, "/input"
	}
	switch turns := len(c.b.C.Turns); input.Kind() {
	case '"', '[':
		// A list has the history of the runs before it.
		known := 0
		if p := promptsOf(input); input.Kind() == '[' && len(p) > len(c.prompts) && prefixed(p, c.prompts) {
			known = len(c.prompts)
		}
		if c.request(n, ptr, input, known); len(c.b.C.Turns) > turns {
			break
		}
		fallthrough
	default:
		c.b.Begin(host.SDK, "", c.event(n, ""))
	}
	// Which response an item is of is told by the item's id.
	type resp struct {
		usage *host.Usage
		model string
	}
	of := map[string]*resp{}
	lenient.Each(t.RawResponses, func(_ int, v jsontext.Value) {
		var x struct {
			Usage  jsontext.Value `json:"usage"`
			Output jsontext.Value `json:"output"`
			Data   struct {
				Model lenient.Word `json:"model"`
			} `json:"providerData"`
		}
		if !lenient.Into(v, &x) {
			return
		}
		one := &resp{openAI(x.Usage), string(x.Data.Model)}
		lenient.Each(x.Output, func(_ int, v jsontext.Value) {
			if id := lenient.Name(lenient.Member(v, "id")); id != "" {
				of[id] = one
			}
		})
	})
	var last *resp
	lenient.Each(t.NewItems, func(i int, v jsontext.Value) {
		raw := lenient.Member(v, "rawItem")
		one := of[lenient.Name(lenient.Member(raw, "id"))]
		if one != nil && one != last {
			c.msg, last = nil, one
		}
		if !c.entry(raw, c.event(n, pointer("/newItems", i)+"/rawItem")) {
			r.src.Skip("item of type " + lenient.Name(lenient.Member(v, "type")))
			return
		}
		if one != nil && c.msg != nil {
			c.msg.Usage(one.usage)
			c.msg.Model(one.model)
		}
	})
	c.msg = nil
}

// importTraces reads traces of the Agents SDK: a trace is one run, and so one
// turn. It holds no prompt and no answer.
func importTraces(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range lenient.Named(files) {
		r := &traceReader{b: story.New("openai-agents", &host.Keeper{}), traces: map[string]*trace{}, raw: map[string]string{}}
		r.b.OwnSums, r.b.EndsTold = true, true
		src := host.Source{Path: f.Name, Format: "openai-agents-trace"}
		if err := lenient.Objects(f, &src, func(n int64, v jsontext.Value) {
			if kind, ok := r.line(n, v); ok {
				src.Took(kind)
			} else {
				src.Skip(cmp.Or(kind, "other record"))
			}
		}); err != nil {
			return nil, err
		}
		r.b.C.Sources = []host.Source{src}
		if c := r.finish(); len(c.Turns) > 0 {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

type traceReader struct {
	b      *story.Builder
	order  []*trace
	traces map[string]*trace
	raw    map[string]string // raw tool names by server and shown name; "" where two are shown alike
}

// trace is one run until the file's end: spans come in the order of their ends.
type trace struct {
	id    string
	src   host.Src
	calls []host.Call
	turns *host.Usage // the sum over the model's responses
	task  *host.Usage // the SDK's own sum
	ended bool
}

// maxTraceCalls bounds the calls of one file.
const maxTraceCalls = host.MaxItems

func (r *traceReader) line(n int64, v jsontext.Value) (string, bool) {
	var l struct {
		Event  lenient.Word   `json:"ev"`
		Object lenient.Word   `json:"object"`
		ID     lenient.Word   `json:"id"`
		Trace  lenient.Word   `json:"trace_id"`
		Start  lenient.Word   `json:"started_at"`
		End    lenient.Word   `json:"ended_at"`
		Error  jsontext.Value `json:"error"`
		Data   struct {
			Type   lenient.Word   `json:"type"`
			Name   lenient.Word   `json:"name"`
			Input  jsontext.Value `json:"input"`
			Output jsontext.Value `json:"output"`
			Server lenient.Word   `json:"server"`
			Result jsontext.Value `json:"result"`
			MCP    struct {
				Server lenient.Word `json:"server"`
			} `json:"mcp_data"`
			Data struct {
				Kind  lenient.Word   `json:"sdk_span_type"`
				Usage jsontext.Value `json:"usage"`
			} `json:"data"`
		} `json:"span_data"`
	}
	if !lenient.Into(v, &l) {
		return "", false
	}
	src := host.Src{Line: n}
	switch l.Object {
	case "trace":
		t := r.of(string(l.ID), src)
		t.ended = t.ended || l.Event == "trace_end"
		return "trace", true
	case "trace.span":
	default:
		return "", false
	}
	if l.End == "" {
		return "span start", false // its end tells all
	}
	t := r.of(string(l.Trace), src)
	d := &l.Data
	kind := "span/" + string(d.Type)
	switch {
	case d.Type == "function" && len(r.b.C.Calls)+len(t.calls) < maxTraceCalls:
		e := &story.Event{Src: src}
		k := named(host.Call{Name: string(d.Name), At: lenient.Time(l.Start), EndedAt: lenient.Time(l.End), Src: src, ResultSrc: src})
		if d.MCP.Server != "" {
			k.Kind, k.Server = host.MCPCall, string(d.MCP.Server)
		}
		r.b.Args(&k, d.Input, e)
		if !lenient.Null(d.Output) {
			k.Result = story.TextResult(plain(d.Output), r.b.Keep)
		}
		if !lenient.Null(l.Error) { // isError of a result is marked nowhere
			yes := true
			k.HostError = &yes
		}
		t.calls = append(t.calls, k)
	case d.Type == "mcp_tools":
		r.b.Server(host.Server{Name: string(d.Server)})
		lenient.Each(d.Result, func(_ int, v jsontext.Value) { r.learn(string(d.Server), lenient.Name(v)) })
	case d.Type == "custom" && d.Data.Kind == "turn":
		if u := flatUsage(d.Data.Usage); u != nil {
			if t.turns == nil {
				t.turns = u
			} else {
				t.turns.Add(u)
			}
		}
		kind += "/turn"
	case d.Type == "custom" && d.Data.Kind == "task":
		t.task = flatUsage(d.Data.Usage)
		kind += "/task"
	default:
		return kind, false
	}
	return kind, true
}

func (r *traceReader) of(id string, src host.Src) *trace {
	t := r.traces[id]
	if t == nil {
		t = &trace{id: id, src: src}
		r.traces[id] = t
		r.order = append(r.order, t)
	}
	return t
}

func (r *traceReader) learn(server, tool string) {
	k := server + "\x00" + shownTool(tool)
	if old, ok := r.raw[k]; ok && old != tool {
		tool = ""
	}
	if len(r.raw) < host.MaxItems {
		r.raw[k] = tool
	}
}

// shownTool is the SDK's rule for names: what is outside [A-Za-z0-9_] becomes "_".
func shownTool(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, s)
}

// flatUsage reads the usage of a span: cached counts stand beside the input that
// includes them.
func flatUsage(v jsontext.Value) *host.Usage {
	var u struct {
		Input   jsontext.Value `json:"input_tokens"`
		Output  jsontext.Value `json:"output_tokens"`
		Cached  jsontext.Value `json:"cached_input_tokens"`
		Written jsontext.Value `json:"cache_write_input_tokens"`
		Total   jsontext.Value `json:"total_tokens"`
	}
	lenient.Into(v, &u)
	return story.Counts{Input: host.ParseCount(u.Input), Output: host.ParseCount(u.Output), Cached: host.ParseCount(u.Cached),
		Written: host.ParseCount(u.Written), Total: host.ParseCount(u.Total)}.OpenAI()
}

func (r *traceReader) finish() *host.Conversation {
	for _, t := range r.order {
		// Spans have no place of their own: calls are in the order of their starts, and
		// of their ends where those are equal.
		slices.SortStableFunc(t.calls, func(a, b host.Call) int { return a.At.Compare(b.At) })
		e := &story.Event{Src: t.src}
		if len(t.calls) > 0 {
			e.At = t.calls[0].At
		}
		r.b.Begin(host.SDK, t.id, e)
		for _, k := range t.calls {
			k.Tool.Raw = r.raw[k.Server+"\x00"+shownTool(k.Tool.Shown)]
			src := k.Src
			if made := r.b.Call(k, &story.Event{Src: src}); made != nil {
				made.At = k.At
			}
		}
		if turn := r.b.Turn(); turn != nil {
			for _, u := range []struct {
				u      *host.Usage
				source string
			}{{t.turns, story.FromResponses}, {t.task, "task"}} {
				if u.u != nil {
					u.u.Source, u.u.Scope, u.u.Agents = u.source, host.OfTurn, host.MainAgent
					turn.Usage = append(turn.Usage, *u.u)
				}
			}
		}
		if t.ended {
			r.b.Ended(host.Complete, "", e)
		}
	}
	r.b.Note("no-texts", "the trace holds no prompts, answers or call ids", host.Src{})
	return r.b.Finish()
}
