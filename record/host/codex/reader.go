package codex

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// line is one line of a rollout.
type line struct {
	Timestamp lenient.Word   `json:"timestamp"`
	Ordinal   jsontext.Value `json:"ordinal"`
	Type      lenient.Word   `json:"type"`
	Payload   jsontext.Value `json:"payload"`
}

// reader reads one rollout file.
type reader struct {
	b     *story.Builder
	names *namer
	src   *host.Source
	at    int // of src
	meta  meta
	agent *host.Agent // nil: the user's own thread
	begun bool        // session_meta was seen

	// task is the task that runs, or ran last; prompted that it has a turn.
	task     string
	prompted bool
	running  bool
	failed   string // the task's error, while no answer followed it
	turn     int    // of an agent: the user's turn that it works for
	prompt   said
	model    string
	msg      *story.Msg // the answer that grows; nil: the next item begins one
	// event is the text of an agent_message event that no item repeated yet.
	event string
	said  text // the last answer of the task
	final bool // an answer of phase final_answer was seen in the turn
	// fromEvent has the calls whose result is an event's so far.
	fromEvent map[string]bool
	tokens    tokens
}

// said is a prompt as one of two kinds of records told it.
type said struct{ text, kind, task string }

// text is an answer, as far as it has to be compared.
type text struct {
	s   string
	has bool
}

func (r *reader) line(n int64, raw jsontext.Value) {
	var l line
	if !lenient.Into(raw, &l) {
		r.src.Fail(n, "no rollout record")
		return
	}
	var p struct {
		Type lenient.Word `json:"type"`
	}
	lenient.Into(l.Payload, &p)
	typ := string(cmp.Or(l.Type, "(no type)"))
	if l.Type == "event_msg" || l.Type == "response_item" {
		typ += "/" + string(p.Type)
	}
	e := &story.Event{At: lenient.Time(l.Timestamp), Src: host.Src{Source: r.at, Line: n}, Agent: r.agent, Turn: r.turn}
	took := false
	switch {
	case r.copied(n, &l):
		typ = "copied history"
	case l.Type == "session_meta":
		took = r.session(l.Payload, e)
	case l.Type == "turn_context":
		r.model = cmp.Or(lenient.Name(lenient.Member(l.Payload, "model")), r.model)
		took = true
	case l.Type == "event_msg":
		took, typ = r.eventMsg(string(p.Type), l.Payload, typ, e)
	case l.Type == "response_item":
		took = r.item(string(p.Type), l.Payload, e)
	case l.Type == "token_usage_record":
		took = r.usageRecord(l.Payload, e)
	case l.Type == "compacted":
		// It repeats the history that stays; the records before it tell the same.
		r.b.Note("compaction", "the host compacted the conversation", e.Src)
		took = true
	}
	if took {
		r.src.Took(typ)
	} else {
		r.src.Skip(typ)
	}
}

// copied says that a subagent's file repeats its parent's history in this record.
func (r *reader) copied(n int64, l *line) bool {
	own := host.ParseCount(r.meta.Own)
	if r.agent == nil || !own.Known || l.Type == "session_meta" {
		return false
	}
	ordinal := host.ParseCount(l.Ordinal)
	if !ordinal.Known {
		ordinal = host.Known(n - 1) // without ordinals they are the lines from 0
	}
	return ordinal.N < own.N
}

// session takes the first session_meta; others are those of the thread that this
// one was forked from.
func (r *reader) session(p jsontext.Value, e *story.Event) bool {
	var m meta
	if !lenient.Into(p, &m) || r.begun {
		return false
	}
	r.begun = true
	r.b.Session(string(m.ID))
	if r.agent != nil {
		return true
	}
	h := &r.b.C.Host
	h.Version, h.Entrypoint = string(m.Version), string(m.Originator)
	if m.Forked != "" {
		r.b.Note("forked", "this thread was forked from "+story.Short(string(m.Forked))+"; turns before the fork are that thread's", e.Src)
	}
	return true
}

// origin says who prompts: a program, where codex exec or an SDK runs it.
func (r *reader) origin() host.Origin {
	if lenient.String(r.meta.Source) == "exec" {
		return host.SDK
	}
	return host.Human
}

// userSaid takes a prompt. Two kinds of records tell the same one.
func (r *reader) userSaid(kind, task string, c story.Content, e *story.Event) {
	r.msg = nil
	p := said{c.Text, kind, cmp.Or(task, r.task)}
	if p.text == r.prompt.text && p.task == r.prompt.task && p.kind != r.prompt.kind && r.prompt.kind != "" {
		r.prompt = said{}
		return
	}
	r.prompt = p
	switch {
	case r.agent != nil:
		r.b.Hidden(host.User, "agent-prompt", c, e)
	case r.running && r.prompted:
		r.b.Queue(r.origin(), c, e)
	default:
		r.b.Prompt(r.origin(), p.task, c, e)
		r.prompted, r.final, r.said = true, false, text{}
	}
}

// started takes the beginning of a task.
func (r *reader) started(p jsontext.Value, e *story.Event) {
	var t struct {
		Turn lenient.Word `json:"turn_id"`
		Root lenient.Word `json:"root_turn_id"`
	}
	lenient.Into(p, &t)
	r.task, r.running, r.prompted, r.failed, r.msg = string(t.Turn), true, false, "", nil
	r.said = text{}
	if r.agent != nil {
		r.turn = r.userTurn(string(t.Root), e.At)
		return
	}
	r.b.EndsTold = true // files without beginnings of tasks have no ends either
}

// userTurn is the turn of the user's that a subagent works for: the one that it
// names, else the last that had begun.
func (r *reader) userTurn(id string, at time.Time) int {
	turn := -1
	for i := range r.b.C.Turns {
		t := &r.b.C.Turns[i]
		if id != "" && t.ID == id {
			return i
		}
		if !t.StartedAt.After(at) {
			turn = i
		}
	}
	return turn
}

// completed takes the end of a task.
func (r *reader) completed(p jsontext.Value, e *story.Event) {
	var t struct {
		Last jsontext.Value `json:"last_agent_message"`
	}
	lenient.Into(p, &t)
	r.running, r.msg = false, nil
	if r.agent != nil {
		return
	}
	if !r.prompted {
		if r.said.has { // the turn went on with it
			r.b.Ended(host.Complete, "", e)
		}
		return
	}
	last := lenient.String(t.Last)
	switch {
	case last == "" && !r.said.has && r.failed != "":
		r.b.Ended(host.Failed, r.failed, e)
		return
	case last != "" && !r.said.has:
		r.b.Final(host.FinalText{State: host.HasText, Text: r.b.Keep.Text(last, host.MaxText), Src: e.Src})
	case last == "" && !r.said.has:
		r.b.Final(host.FinalText{State: host.EmptyText, Src: e.Src})
	case last != "" && last != r.said.s:
		r.b.Note("final-text-disagrees", "last_agent_message is not the last answer's text; the answer counts", e.Src)
	}
	r.b.Ended(host.Complete, "", e)
}

// finish closes the file.
func (r *reader) finish() {
	r.tokens.finish(r)
}
