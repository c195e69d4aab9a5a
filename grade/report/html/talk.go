package html

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
	"github.com/sixlink/sixlink/record/session"
)

// Bounds of what one conversation shows.
const (
	maxTurns     = 2000
	maxTurnCalls = 1000
)

// joined joins the conversations that a recording carries with its sessions; nil: it
// carries none.
func joined(rec *report.Recording) (*join.Result, error) {
	if len(rec.Conversation) == 0 {
		return nil, nil
	}
	all, err := host.Read(bytes.NewReader(append(bytes.Join(rec.Conversation, []byte("\n")), '\n')))
	if err != nil {
		return nil, err
	}
	h := rec.Header
	ws := make([]join.Wire, len(rec.Sessions))
	for i, s := range rec.Sessions {
		ws[i] = join.Wire{Recording: h.ID, Session: s, Server: h.Labels["server"], Start: h.Start.Time,
			HostSession: h.EnvValues["CLAUDE_CODE_SESSION_ID"], Masked: h.MaskKey != ""}
	}
	return join.Join(all, ws, join.Options{Chosen: len(all) == 1 && len(ws) == 1}), nil
}

// conversationOf is the one that the session at a place belongs to; nil: none.
func conversationOf(res *join.Result, at int) *join.Conversation {
	for i := range res.Conversations {
		c := &res.Conversations[i]
		for _, p := range c.Sessions {
			if p.Wire == at {
				return c
			}
		}
	}
	if len(res.Conversations) == 1 && len(res.Wires) == 1 {
		return &res.Conversations[0] // what there is to see of it, joined or not
	}
	return nil
}

// talk makes the conversation as it is shown beside the session at a place, and tells of
// each call on the wire its turn's number, from 1.
func (r *builder) talk(j *join.Conversation, at int, s *session.Session, turns map[*session.Call]int) *talkData {
	c := j.Talk
	places := map[*session.Call]int{}
	for n, call := range s.Calls {
		places[call] = n
	}
	pairs, whys := map[int]int{}, map[int]string{}
	for i := range j.Calls {
		k := &j.Calls[i]
		if !k.Paired() {
			whys[k.Host] = k.Why
		} else if w := k.Wires[k.Effective]; w.Wire == at {
			pairs[k.Host] = places[w.Call]
		}
	}
	find := func(i int) int {
		if n, ok := pairs[i]; ok {
			return n
		}
		return -1
	}
	d := &talkData{Host: oneLine(strings.TrimSpace(c.Host.Name + " " + c.Host.Version)), State: oneLine(string(j.Verdict))}
	add := func(name, text string) {
		if text != "" {
			d.Facts = append(d.Facts, fact{name, oneLine(text)})
		}
	}
	add("join", j.Why)
	add("model", strings.Join(c.Models, ", "))
	add("sessions", strings.Join(c.SessionIDs, ", "))
	for i := range c.Usage {
		add("tokens", tokens(&c.Usage[i]))
	}
	for i := range c.Notes {
		if i < 20 {
			add("note", c.Notes[i].Text)
		}
	}
	said := make([][]saidCall, len(c.Turns))
	for i := range c.Calls {
		call := &c.Calls[i]
		if call.Turn < 0 || call.Turn >= len(c.Turns) {
			continue
		}
		n := find(i)
		if n >= 0 {
			turns[s.Calls[n]] = call.Turn + 1
		}
		if len(said[call.Turn]) < maxTurnCalls {
			said[call.Turn] = append(said[call.Turn], saidCall{oneLine(calledAs(call)), n, oneLine(callNote(call, n, whys[i]))})
		}
	}
	for i := range c.Turns {
		if i == maxTurns {
			d.More = len(c.Turns) - i
			break
		}
		turn := &c.Turns[i]
		out := turnData{Status: string(turn.Status), Calls: said[i], State: string(turn.FinalText.State), Error: oneLine(turn.Error)}
		for k := range turn.Prompts {
			if k < 20 {
				out.Prompts = append(out.Prompts, *r.text(&turn.Prompts[k].Text))
			}
		}
		if turn.FinalText.State == host.HasText {
			out.Final = r.text(&turn.FinalText.Text)
		}
		if len(turn.Usage) > 0 {
			out.Tokens = tokens(&turn.Usage[0])
		}
		d.Turns = append(d.Turns, out)
	}
	return d
}

// text is a text of the transcript, which may have been cut when it was read.
func (r *builder) text(t *host.Text) *shown {
	d := r.detail(t.Text)
	if t.Cut {
		d.Size = t.Bytes
	}
	return d
}

func calledAs(c *host.Call) string {
	for _, name := range []string{c.Tool.Raw, c.Tool.Shown, c.Name} {
		if name != "" {
			return name
		}
	}
	return "(no name)"
}

// callNote says why a call of the host is not on the wire.
func callNote(c *host.Call, wire int, why string) string {
	switch {
	case c.Denied != "":
		return "denied: " + c.Denied
	case c.Refused != "":
		return "refused by the host: " + c.Refused
	case c.Kind == host.BuiltinCall:
		return "the host's own tool"
	case c.Kind == host.HostedCall:
		return "called by the model's provider"
	case wire < 0 && why != "":
		return why
	case wire < 0:
		return "not found on the wire"
	}
	return ""
}

func tokens(u *host.Usage) string {
	var out []string
	for _, k := range []struct {
		what string
		n    host.Count
	}{{"in", u.InputUncached}, {"cache read", u.CacheRead}, {"cache written", u.CacheWrite}, {"out", u.Output}, {"total", u.Total}} {
		if k.n.Known {
			out = append(out, fmt.Sprintf("%d %s", k.n.N, k.what))
		}
	}
	return strings.Join(out, ", ")
}
