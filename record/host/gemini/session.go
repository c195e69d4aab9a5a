package gemini

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// importSessions makes one conversation of each file.
func importSessions(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range lenient.Named(files) {
		l := &log{b: story.New("gemini-cli", &host.Keeper{}), byID: map[string]*message{}, place: map[*message]int{}}
		l.src = host.Source{Path: f.Name, Format: "gemini-session"}
		if err := lenient.Objects(f, &l.src, l.line); err != nil {
			return nil, err
		}
		if c := l.finish(); len(c.Messages) > 0 {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

// log is a session file: it is read to its end before anything is sure, since
// records are written again under their id, replaced as a whole, and taken back.
type log struct {
	b     *story.Builder
	src   host.Source
	live  []*message // the conversation as it stands
	place map[*message]int
	byID  map[string]*message
	order []*message // all that were ever there
	texts int        // bytes of texts that are held
}

// message is a record with all that was ever said of it: the time is the first
// one, since a resume writes old records again with its own; content is the last
// (hosts.md 3.6).
type message struct {
	id     string
	typ    lenient.Word
	at     time.Time
	line   int64
	text   string
	media  []host.Media
	model  string
	tokens *host.Usage
	think  int
	calls  []*call
	byCall map[string]*call
	// answers are the results that a user's record holds: such a record is no prompt.
	answers  []answer
	answered map[string]bool
}

type call struct {
	k    host.Call
	line int64
}

type answer struct {
	id  string
	res *host.CallResult
}

func (l *log) line(n int64, raw jsontext.Value) {
	var r struct {
		Set      jsontext.Value `json:"$set"`
		Rewind   lenient.Word   `json:"$rewindTo"`
		Session  lenient.Word   `json:"sessionId"`
		Kind     lenient.Word   `json:"kind"`
		Messages jsontext.Value `json:"messages"` // of files of older versions, which are one document
		ID       lenient.Word   `json:"id"`
		Type     lenient.Word   `json:"type"`
	}
	if !lenient.Into(raw, &r) {
		l.src.Fail(n, "no record of a session")
		return
	}
	switch {
	case r.Set.Kind() == '{':
		if list := lenient.Member(r.Set, "messages"); list.Kind() == '[' {
			l.replace(n, list)
			l.src.Took("$set messages")
		} else {
			l.src.Skip("$set")
		}
	case r.Rewind != "":
		l.rewind(string(r.Rewind), n)
		l.src.Took("$rewindTo")
	case r.ID != "" && r.Type != "":
		if m := l.merge(n, raw); m != nil {
			l.add(m)
			l.src.Took("message/" + string(r.Type))
		}
	case r.Session != "":
		l.b.Session(string(r.Session))
		if r.Kind != "" && r.Kind != "main" {
			l.b.NoteOnce("subagent-alone", "this is the session of a "+story.Short(string(r.Kind))+", not the user's own", host.Src{Line: n})
		}
		if r.Messages.Kind() == '[' {
			l.replace(n, r.Messages)
		}
		l.src.Took("metadata")
	default:
		l.src.Skip("other record")
	}
}

func (l *log) add(m *message) {
	if _, there := l.place[m]; !there {
		l.place[m] = len(l.live)
		l.live = append(l.live, m)
	}
}

func (l *log) replace(n int64, list jsontext.Value) {
	l.live = l.live[:0]
	clear(l.place)
	lenient.Each(list, func(_ int, v jsontext.Value) {
		if m := l.merge(n, v); m != nil {
			l.add(m)
		}
	})
}

// rewind takes back the record of that id and all behind it.
func (l *log) rewind(id string, n int64) {
	from, there := l.place[l.byID[id]]
	if !there {
		l.b.Note("rewind-unknown", "a rewind names the record "+story.Short(id)+", which is not on the live branch", host.Src{Line: n})
		return
	}
	for _, m := range l.live[from:] {
		delete(l.place, m)
	}
	l.live = l.live[:from]
}

// merge takes a record, for the first time or again.
func (l *log) merge(n int64, raw jsontext.Value) *message {
	var r struct {
		ID        lenient.Word   `json:"id"`
		Type      lenient.Word   `json:"type"`
		Timestamp lenient.Word   `json:"timestamp"`
		Content   jsontext.Value `json:"content"`
		Thoughts  jsontext.Value `json:"thoughts"`
		Model     lenient.Word   `json:"model"`
		Tokens    jsontext.Value `json:"tokens"`
		ToolCalls jsontext.Value `json:"toolCalls"`
	}
	if !lenient.Into(raw, &r) || r.ID == "" {
		return nil
	}
	m := l.byID[string(r.ID)]
	if m == nil {
		if len(l.order) >= host.MaxItems {
			return nil
		}
		m = &message{id: string(r.ID), typ: r.Type, at: lenient.Time(r.Timestamp), line: n, byCall: map[string]*call{}, answered: map[string]bool{}}
		l.byID[m.id] = m
		l.order = append(l.order, m)
	}
	l.content(m, n, r.Content)
	if r.Model != "" {
		m.model = string(r.Model)
	}
	if u := tokens(r.Tokens); u != nil {
		m.tokens = u
	}
	if k := len(r.Thoughts); k > 2 {
		m.think = k
	}
	lenient.Each(r.ToolCalls, func(_ int, v jsontext.Value) { l.toolCall(m, n, v) })
	return m
}

// content takes a record's content. What was there before and is the same is not
// held twice.
func (l *log) content(m *message, n int64, v jsontext.Value) {
	var text strings.Builder
	var media []host.Media
	take := func(v jsontext.Value) {
		if v.Kind() == '"' {
			text.WriteString(lenient.String(v))
			return
		}
		var p struct {
			Text     lenient.Long   `json:"text"`
			Thought  lenient.Flag   `json:"thought"`
			Call     jsontext.Value `json:"functionCall"`
			Response jsontext.Value `json:"functionResponse"`
			Inline   struct {
				MIME lenient.Word `json:"mimeType"`
				Data lenient.Long `json:"data"`
			} `json:"inlineData"`
		}
		switch {
		case !lenient.Into(v, &p):
		case p.Thought.On:
			m.think = max(m.think, len(p.Text))
		case p.Call.Kind() == '{':
			l.functionCall(m, n, p.Call)
		case p.Response.Kind() == '{':
			l.functionResponse(m, p.Response)
		case p.Inline.Data != "":
			media = append(media, story.MediaOf(string(p.Inline.MIME), string(p.Inline.Data), ""))
		default:
			text.WriteString(string(p.Text))
		}
	}
	if v.Kind() == '[' {
		lenient.Each(v, func(_ int, v jsontext.Value) { take(v) })
	} else if !lenient.Null(v) {
		take(v)
	}
	m.media = media
	if s := text.String(); s != m.text {
		l.texts += len(s) - len(m.text)
		if l.texts > host.MaxKept {
			l.texts -= len(s)
			l.src.Fail(n, "more than %d bytes of texts; the rest is left out", host.MaxKept)
			s = ""
		}
		m.text = strings.Clone(s)
	}
}

// of is a message's call of that id, made when it is new.
func (m *message) of(id, name string, n int64) *call {
	if c := m.byCall[id]; c != nil {
		return c
	}
	c := &call{k: host.Call{HostCallID: id, Name: name, At: m.at}, line: n}
	m.byCall[id] = c
	m.calls = append(m.calls, c)
	return c
}

func (l *log) functionCall(m *message, n int64, v jsontext.Value) {
	var f struct {
		ID   lenient.Word   `json:"id"`
		Name lenient.Word   `json:"name"`
		Args jsontext.Value `json:"args"`
	}
	lenient.Into(v, &f)
	c := m.of(string(f.ID), string(f.Name), n)
	if c.k.Args == nil {
		if c.k.Args = l.b.Keep.Value(f.Args); c.k.Args != nil {
			c.k.ArgsSource = host.ArgsFromModel
		}
	}
}

func (l *log) functionResponse(m *message, v jsontext.Value) {
	id := lenient.Name(lenient.Member(v, "id"))
	if m.answered[id] {
		return
	}
	m.answered[id] = true
	res, _ := l.result(jsontext.Value(`[{"functionResponse":` + string(v) + `}]`))
	m.answers = append(m.answers, answer{id, res})
}

// toolCall takes a call as the host carried it out.
func (l *log) toolCall(m *message, n int64, v jsontext.Value) {
	var t struct {
		ID        lenient.Word   `json:"id"`
		Name      lenient.Word   `json:"name"`
		Args      jsontext.Value `json:"args"`
		Result    jsontext.Value `json:"result"`
		Status    lenient.Word   `json:"status"`
		Timestamp lenient.Word   `json:"timestamp"`
		Display   lenient.Word   `json:"displayName"`
	}
	if !lenient.Into(v, &t) {
		return
	}
	c := m.of(string(t.ID), string(t.Name), n)
	k := &c.k
	if a := l.b.Keep; k.ArgsSource != host.ArgsFromHost {
		if x := a.Value(t.Args); x != nil {
			k.Args, k.ArgsSource = x, host.ArgsFromHost
		}
	}
	if tool, server, ok := display(string(t.Display)); ok {
		k.Kind, k.Server, k.Tool.Raw = host.MCPCall, server, tool
		l.b.Server(host.Server{Name: server, Prefix: prefix + server + "_"})
	}
	if k.Result != nil || t.Result.Kind() != '[' {
		return
	}
	var failed string
	k.Result, failed = l.result(t.Result)
	k.ResultSrc = host.Src{Line: n}
	k.EndedAt = lenient.Time(t.Timestamp)
	yes, no := true, false
	switch t.Status {
	case "success":
		k.HostError = &no
	case "error":
		k.HostError = &yes
	}
	if t.Status == "error" || t.Status == "cancelled" {
		k.Denied, k.Refused = refusal(failed)
	}
}

// result reads the parts of a result: {functionResponse{response{output|error}}}
// and blobs beside it. failed is the error's text.
func (l *log) result(v jsontext.Value) (res *host.CallResult, failed string) {
	var text strings.Builder
	res = &host.CallResult{}
	lenient.Each(v, func(_ int, v jsontext.Value) {
		var p struct {
			Response struct {
				Response jsontext.Value `json:"response"`
			} `json:"functionResponse"`
			Text   lenient.Long `json:"text"`
			Inline struct {
				MIME lenient.Word `json:"mimeType"`
				Data lenient.Long `json:"data"`
			} `json:"inlineData"`
		}
		if !lenient.Into(v, &p) {
			return
		}
		if p.Inline.Data != "" {
			m := story.MediaOf(string(p.Inline.MIME), string(p.Inline.Data), "")
			res.Media = append(res.Media, m)
			res.Bytes += m.Bytes
			return
		}
		s := string(p.Text)
		if r := p.Response.Response; r.Kind() == '{' {
			if e := lenient.String(lenient.Member(r, "error")); e != "" {
				s, failed = e, e
			} else if o := lenient.Member(r, "output"); o.Kind() == '"' {
				s = lenient.String(o)
			} else {
				s = string(r)
			}
		}
		text.WriteString(s)
		res.HasText = true
	})
	res.Bytes += int64(text.Len())
	res.Text = l.b.Keep.Result(text.String(), host.MaxValue)
	return res, failed
}

// tokens reads a message's counts (hosts.md 3.6).
func tokens(v jsontext.Value) *host.Usage {
	var t struct {
		Input    jsontext.Value `json:"input"`
		Output   jsontext.Value `json:"output"`
		Cached   jsontext.Value `json:"cached"`
		Thoughts jsontext.Value `json:"thoughts"`
		Total    jsontext.Value `json:"total"`
	}
	if !lenient.Into(v, &t) {
		return nil
	}
	return story.Counts{Input: host.ParseCount(t.Input), Output: host.ParseCount(t.Output), Cached: host.ParseCount(t.Cached),
		Reasoning: host.ParseCount(t.Thoughts), Total: host.ParseCount(t.Total)}.Gemini()
}
