package codex

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// importExec makes one conversation of each thread; a run that resumes a thread
// is a file of its own, and files are in the order of their names.
func importExec(files []*host.File) ([]*host.Conversation, error) {
	byThread := map[string]*execReader{}
	var threads []*execReader
	for _, f := range lenient.Named(files) {
		s := &execFile{src: &host.Source{Path: f.Name, Format: "codex-exec"}, threads: byThread}
		if err := lenient.Objects(f, s.src, s.line); err != nil {
			return nil, err
		}
		if s.r == nil {
			s.reader("file " + f.Name) // so that what it is can be said
		}
		s.r.b.C.Sources[s.at] = *s.src
		threads = append(threads, s.new...)
	}
	var out []*host.Conversation
	for _, r := range threads {
		if len(r.b.C.Turns) == 0 {
			continue
		}
		r.names.finish(r.b)
		if r.total != nil {
			u := *r.total
			u.Source, u.Scope, u.Agents, u.Excludes = fromThread, host.OfSession, host.MainAgent, []string{host.ExcludesSubagents}
			r.b.C.Usage = []host.Usage{u}
		}
		if r.unsure {
			r.b.Note("usage-thread-total", "codex exec tells the thread's total so far; what the first run on record used alone is not known", host.Src{})
		}
		r.b.NoteOnce("no-prompts", "codex exec --json holds no prompts, times or call ids", host.Src{})
		out = append(out, r.b.Finish(host.ExcludesSubagents))
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

// execReader is one thread.
type execReader struct {
	b      *story.Builder
	names  *namer
	counts *story.Counts // the thread's total after the last turn
	total  *host.Usage
	unsure bool
	msg    *story.Msg
}

// execFile is one file while it is read.
type execFile struct {
	src     *host.Source
	threads map[string]*execReader
	new     []*execReader
	r       *execReader
	at      int // of src in the conversation
	// pending are the run's items that have started and not ended, in C.Calls.
	pending map[string]int
}

func (s *execFile) reader(thread string) {
	r := s.threads[thread]
	if r == nil {
		b := story.New("codex", &host.Keeper{})
		b.OwnSums, b.EndsTold = true, true
		r = &execReader{b: b, names: newNamer()}
		s.threads[thread] = r
		s.new = append(s.new, r)
	}
	if s.r != r {
		s.r, s.at, s.pending = r, len(r.b.C.Sources), map[string]int{}
		r.b.C.Sources = append(r.b.C.Sources, *s.src)
		r.msg = nil
	}
}

// execEvent is one line.
type execEvent struct {
	Type   lenient.Word   `json:"type"`
	Thread lenient.Word   `json:"thread_id"`
	Usage  jsontext.Value `json:"usage"`
	Error  jsontext.Value `json:"error"`
	Text   lenient.Long   `json:"message"`
	Item   struct {
		ID   lenient.Word `json:"id"`
		Type lenient.Word `json:"type"`
		Text lenient.Long `json:"text"`
		mcpItem
	} `json:"item"`
}

func (s *execFile) line(n int64, raw jsontext.Value) {
	var l execEvent
	if !lenient.Into(raw, &l) {
		s.src.Fail(n, "no event of codex exec")
		return
	}
	typ := string(l.Type)
	if l.Item.Type != "" {
		typ += "/" + string(l.Item.Type)
	}
	if l.Type == "thread.started" {
		s.reader(string(l.Thread))
		s.r.b.Session(string(l.Thread))
		s.src.Took(typ)
		return
	}
	if s.r == nil {
		s.reader("file " + s.src.Path)
	}
	e := &story.Event{Src: host.Src{Source: s.at, Line: n}}
	if s.event(&l, e) {
		s.src.Took(typ)
	} else {
		s.src.Skip(typ)
	}
}

func (s *execFile) event(l *execEvent, e *story.Event) bool {
	r := s.r
	switch l.Type {
	case "turn.started":
		r.b.Begin(host.SDK, "", e)
		r.msg = nil
	case "turn.completed":
		r.completed(l.Usage, s.src, e)
		r.b.Close()
		r.msg = nil
	case "turn.failed":
		r.b.Ended(host.Failed, lenient.String(lenient.Member(l.Error, "message")), e)
		r.b.Close()
		r.msg = nil
	case "error":
		if t := r.b.Turn(); t != nil && t.Error == "" {
			t.Error = story.OneLine(string(l.Text))
		}
	case "item.started":
		return l.Item.Type == "mcp_tool_call" && s.call(l, e) != nil
	case "item.completed":
		return s.item(l, e)
	default:
		return false
	}
	return true
}

func (s *execFile) item(l *execEvent, e *story.Event) bool {
	r := s.r
	switch l.Item.Type {
	case "agent_message":
		r.msg = r.b.Answer("", e)
		r.msg.Text(string(l.Item.Text))
	case "mcp_tool_call":
		k := s.call(l, e)
		if k == nil {
			return false
		}
		delete(s.pending, string(l.Item.ID))
		failed, res := outcome(&l.Item.mcpItem, r.b.Keep)
		k.HostError = failed
		if res != nil {
			k.Result, k.ResultSrc = res, e.Src
			if failed != nil && *failed && lenient.Null(l.Item.Result) {
				k.Denied, k.Refused = refusal(res.Text.Text)
			}
		}
	default:
		return false
	}
	return true
}

// call is the call of an item, which its start and its end tell. Items are
// numbered by run (item_3): that is no id of the call.
func (s *execFile) call(l *execEvent, e *story.Event) *host.Call {
	r := s.r
	if i, ok := s.pending[string(l.Item.ID)]; ok {
		return &r.b.C.Calls[i]
	}
	r.names.learn(string(l.Item.Server), string(l.Item.Tool))
	c := host.Call{Kind: host.MCPCall, Server: string(l.Item.Server), Tool: host.Tool{Raw: string(l.Item.Tool)}}
	if c.Args = r.b.Keep.Value(l.Item.Arguments); c.Args != nil && c.Args.JSON.Kind() != 'n' {
		c.ArgsSource = host.ArgsFromHost
	} else {
		c.Args = nil
	}
	k := r.b.Call(c, e)
	if k != nil {
		s.pending[string(l.Item.ID)] = len(r.b.C.Calls) - 1
	}
	return k
}

// completed takes a turn's end with the thread's total so far: the turn's own
// figure is the difference to the total before it (hosts.md 3.4).
func (r *execReader) completed(v jsontext.Value, src *host.Source, e *story.Event) {
	r.b.Ended(host.Complete, "", e)
	now, ok := countsOf(v)
	if !ok {
		return
	}
	before := r.counts
	r.counts, r.total = &now, now.OpenAI()
	if before == nil {
		r.unsure = true
		return
	}
	diff, grew := less(now, *before)
	if !grew {
		r.b.Note("usage-reset", "turn "+strconv.Itoa(len(r.b.C.Turns)-1)+": the thread's total went back in "+story.Short(src.Path)+"; the turn's own use is not known", e.Src)
		return
	}
	t := r.b.Turn()
	u := diff.OpenAI()
	if t == nil || u == nil {
		return
	}
	u.Source, u.Scope, u.Agents, u.Excludes = fromThread, host.OfTurn, host.MainAgent, []string{host.ExcludesSubagents}
	t.Usage = append(t.Usage, *u)
}
