package gemini

import (
	"strings"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// finish tells the live messages in order, and lists what the session left.
func (l *log) finish() *host.Conversation {
	for _, m := range l.live {
		l.tell(m)
	}
	left := host.Branch{Why: "taken back or replaced"}
	for _, m := range l.order {
		if _, live := l.place[m]; live || strings.HasSuffix(m.id, "_response") {
			continue
		}
		if left.Src.Line == 0 {
			left.Src.Line = m.line
		}
		left.Messages++
		for _, c := range m.calls {
			left.Calls++
			left.CallIDs = append(left.CallIDs, c.k.HostCallID)
		}
	}
	if left.Messages > 0 {
		l.b.Branch(left)
	}
	finish(l.b)
	l.b.C.Sources = []host.Source{l.src}
	return l.b.Finish()
}

func (l *log) tell(m *message) {
	e := &story.Event{ID: m.id, At: m.at, Src: host.Src{Line: m.line}}
	c := story.Content{Text: m.text, Media: m.media}
	switch m.typ {
	case "user":
		switch {
		case len(m.answers) > 0:
			for _, a := range m.answers {
				// The model's own record has the result already, as a rule.
				if k := l.b.Find(a.id); k == nil || k.Result == nil {
					l.b.Result(a.id, a.res, nil, e)
				}
			}
		case strings.HasPrefix(m.text, "<session_context>"):
			l.b.Hidden(host.User, "injected", c, e)
		default:
			l.b.Prompt(host.Human, "", c, e)
		}
	case "gemini":
		l.b.Reopen()
		msg := l.b.Answer(m.model, e)
		if m.think > 0 {
			msg.Thinking(m.think)
		}
		if m.text != "" {
			msg.Text(m.text)
		}
		msg.Usage(m.tokens)
		if u := m.tokens; u != nil && u.Reasoning.Known && u.Total.Known && u.Input().Plus(u.Output).Plus(u.Reasoning) != u.Total {
			l.b.NoteOnce("usage-total-differs", "the total of a message is not the sum of its input, output and thoughts; it is given as it stands", e.Src)
		}
		for _, c := range m.calls {
			k := c.k
			res := k.Result
			k.Result = nil
			x := *e
			x.Src.Line = c.line
			if msg.Call(k, true, &x) == nil || res == nil {
				continue
			}
			x.ID, x.At, x.Src = "", k.EndedAt, k.ResultSrc
			l.b.Result(k.HostCallID, res, nil, &x)
		}
	case "error":
		l.b.Ended(host.Failed, m.text, e)
		l.b.Hidden(host.SystemRole, "error", c, e)
	default:
		l.b.Hidden(host.SystemRole, string(m.typ), c, e)
	}
}
