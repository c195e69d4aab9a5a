package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// importStreams makes one conversation of the runs of each session, in the order
// of the files' names.
func importStreams(files []*host.File) ([]*host.Conversation, error) {
	bySession := map[string]*stream{}
	var order []*stream
	for _, f := range lenient.Named(files) {
		src := host.Source{Path: f.Name, Format: "gemini-stream"}
		var s *stream
		at := 0
		session := func(id string) {
			if s != nil {
				return // a file is one run
			}
			if s = bySession[id]; s == nil {
				s = &stream{b: story.New("gemini-cli", &host.Keeper{})}
				s.b.OwnSums, s.b.EndsTold = true, true
				bySession[id] = s
				order = append(order, s)
			}
			at = len(s.b.C.Sources)
			s.b.C.Sources = append(s.b.C.Sources, src)
			s.msg = nil
		}
		if err := lenient.Objects(f, &src, func(n int64, raw jsontext.Value) {
			var l event
			if !lenient.Into(raw, &l) {
				src.Fail(n, "no event of a run")
				return
			}
			if l.Type == "init" {
				session(string(l.Session))
			} else {
				session("file " + f.Name)
			}
			if s.event(&l, &story.Event{At: lenient.Time(l.Timestamp), Src: host.Src{Source: at, Line: n}}) {
				src.Took(string(l.Type))
			} else {
				src.Skip(string(l.Type))
			}
		}); err != nil {
			return nil, err
		}
		session("file " + f.Name)
		s.b.C.Sources[at] = src
	}
	var out []*host.Conversation
	for _, s := range order {
		finish(s.b)
		if c := s.b.Finish(); len(c.Messages) > 0 || len(c.Calls) > 0 {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

type stream struct {
	b     *story.Builder
	msg   *story.Msg // the answer that grows by pieces
	model string
}

type event struct {
	Type      lenient.Word   `json:"type"`
	Timestamp lenient.Word   `json:"timestamp"`
	Session   lenient.Word   `json:"session_id"`
	Model     lenient.Word   `json:"model"`
	Role      lenient.Word   `json:"role"`
	Content   jsontext.Value `json:"content"`
	Name      lenient.Word   `json:"tool_name"`
	ID        lenient.Word   `json:"tool_id"`
	Params    jsontext.Value `json:"parameters"`
	Status    lenient.Word   `json:"status"`
	Output    lenient.Long   `json:"output"`
	Error     jsontext.Value `json:"error"`
	Message   lenient.Long   `json:"message"`
	Stats     jsontext.Value `json:"stats"`
}

func (s *stream) event(l *event, e *story.Event) bool {
	switch l.Type {
	case "init":
		s.b.Session(string(l.Session))
		s.model = string(l.Model)
	case "message":
		if l.Role == "user" {
			s.msg = nil
			s.b.Prompt(host.SDK, "", story.ContentOf(l.Content), e)
			return true
		}
		if s.msg == nil {
			s.msg = s.b.Answer(s.model, e)
		}
		s.msg.Text(story.ContentOf(l.Content).Text)
	case "tool_use":
		if s.msg == nil {
			s.msg = s.b.Answer(s.model, e)
		}
		k := host.Call{HostCallID: string(l.ID), Name: string(l.Name)}
		if k.Args = s.b.Keep.Value(l.Params); k.Args != nil {
			k.ArgsSource = host.ArgsFromModel
		}
		s.msg.Call(k, true, e)
	case "tool_result":
		s.msg = nil
		text := string(l.Output)
		failed := lenient.String(lenient.Member(l.Error, "message"))
		if text == "" {
			text = failed
		}
		k := s.b.Result(string(l.ID), story.TextResult(text, s.b.Keep), nil, e)
		if k == nil {
			return true
		}
		yes, no := true, false
		if k.HostError = &no; l.Status != "success" {
			k.HostError = &yes
			k.Denied, k.Refused = refusal(text)
		}
	case "error":
		s.b.Note("host-error", story.OneLine(string(l.Message)), e.Src)
	case "result":
		s.msg = nil
		s.result(l, e)
	default:
		return false
	}
	return true
}

// result takes the end of a run. Its counts are the run's, which has one prompt.
func (s *stream) result(l *event, e *story.Event) {
	t := s.b.Turn()
	if t == nil {
		return
	}
	var u struct {
		Input  jsontext.Value `json:"input_tokens"`
		Output jsontext.Value `json:"output_tokens"`
		Cached jsontext.Value `json:"cached"`
		Total  jsontext.Value `json:"total_tokens"`
	}
	lenient.Into(l.Stats, &u)
	if f := (story.Counts{Input: host.ParseCount(u.Input), Output: host.ParseCount(u.Output), Cached: host.ParseCount(u.Cached),
		Total: host.ParseCount(u.Total)}).Gemini(); f != nil {
		f.Source, f.Scope, f.Agents = "result", host.OfTurn, host.AllAgents
		t.Usage = append(t.Usage, *f)
	}
	if l.Status == "success" {
		s.b.Ended(host.Complete, "", e)
	} else {
		s.b.Ended(host.Failed, lenient.String(lenient.Member(l.Error, "message")), e)
	}
}
