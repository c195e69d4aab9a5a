package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
	"github.com/sixlink/sixlink/record/visible"
)

// talksOf joins the conversations that a recording carries with its sessions.
func talksOf(l *loaded) (*join.Result, error) {
	cs, err := attachedTo(l)
	if err != nil || len(cs) == 0 {
		return &join.Result{}, err
	}
	return joinTalks(cs, wiresOf(l), true), nil
}

// Widths of the story, in characters.
const (
	wideText = 2000 // of a prompt or an answer: most are shown whole
	wideArgs = 100
)

// story tells a conversation turn by turn: prompt, calls, answer, tokens.
func (p *printer) story(c *join.Conversation) {
	t := c.Talk
	what := strings.TrimSpace(t.Host.Name + " " + t.Host.Version)
	if what == "" {
		what = "host not named"
	}
	p.line("conversation  %s", visible.String(what))
	if len(t.SessionIDs) > 0 {
		p.line("  session   %s", cut(visible.String(strings.Join(t.SessionIDs, ", ")), 200))
	}
	if len(t.Models) > 0 {
		p.line("  models    %s", cut(visible.String(strings.Join(t.Models, ", ")), 200))
	}
	p.line("  join      %s: %s", c.Verdict, visible.String(c.Why))
	if c.Clock.Pairs > 0 {
		p.line("  clocks    the wire is %d ms behind the host's calls, in the median of %d", c.Clock.Shift.Milliseconds(), c.Clock.Pairs)
	}
	joined := map[int]*join.Call{}
	for i := range c.Calls {
		joined[c.Calls[i].Host] = &c.Calls[i]
	}
	byTurn := map[int][]int{}
	for i := range t.Calls {
		byTurn[t.Calls[i].Turn] = append(byTurn[t.Calls[i].Turn], i)
	}
	for i := range t.Turns {
		turn := &t.Turns[i]
		head := fmt.Sprintf("turn %d", i+1)
		if turn.Status != host.Complete {
			head += ", " + string(turn.Status)
		}
		if turn.Origin == host.System {
			head += ", begun by the host"
		}
		p.line("  %s", visible.String(head))
		for _, q := range turn.Prompts {
			p.said("user", q.Text.Text)
		}
		if len(turn.Prompts) == 0 {
			p.line("    user      (the transcript holds no prompt)")
		}
		for _, n := range byTurn[i] {
			p.toolUse(&t.Calls[n], joined[n])
		}
		for _, e := range turn.Earlier {
			p.said("host", e.Text.Text)
		}
		switch f := &turn.FinalText; f.State {
		case host.HasText:
			p.said("host", f.Text.Text)
		case host.EmptyText:
			p.line("    host      (an empty answer)")
		case host.WidgetText:
			p.line("    host      (an empty answer: a widget was shown)")
		default:
			p.line("    host      (the transcript holds no answer)")
		}
		for _, u := range told(turn.Usage) {
			p.line("    tokens    %s", visible.String(tokensText(&u)))
		}
	}
	for i := range c.WireOnly {
		w := &c.WireOnly[i]
		p.line("  on the wire alone: record %s, %s: %s", callID(w.Call), visible.String(w.Call.Tool), visible.String(w.Why))
	}
}

// said prints a text with its speaker, its lines below each other.
func (p *printer) said(who, text string) {
	for i, line := range strings.Split(strings.TrimRight(cut(text, wideText), "\n"), "\n") {
		if i > 0 {
			who = ""
		}
		p.line("    %-8s  %s", who, visible.String(line))
	}
}

// toolUse prints one call as the host tells it, with what became of it on the wire.
func (p *printer) toolUse(k *host.Call, j *join.Call) {
	name := k.Name
	if j != nil && j.Tool != "" {
		name = j.Tool
	}
	if name == "" {
		name = k.Tool.Shown
	}
	args := "none on record"
	if k.Args != nil {
		if args = string(k.Args.JSON); args == "" {
			args = fmt.Sprintf("(%s)", count(k.Args.Bytes, "byte"))
		}
	}
	became := "not of a recorded server"
	switch {
	case j == nil && k.Kind == host.BuiltinCall:
		became = "the host's own tool"
	case j == nil:
	case j.Paired():
		w := j.Wire()
		became = fmt.Sprintf("record %s, %s", callID(w), w.State)
		if ns, ok := w.DurationNs(); ok {
			became += ", " + duration(ns)
		}
		if n := len(j.Wires); n > 1 {
			became += fmt.Sprintf(", the last of %s", count(int64(n), "attempt"))
		}
		if j.Certainty != join.Sure {
			became += " (" + string(j.Certainty) + ")"
		}
		if j.Contradicts != "" {
			became += "; " + j.Contradicts
		}
	case j.HostOnly == join.Unexplained:
		became = "not in this recording"
	case j.HostOnly.Explained():
		became = "never on the wire: " + j.Why
	default:
		became = "not in this recording: " + j.Why
	}
	if k.Agent != nil {
		became += ", by a subagent"
	}
	p.line("    call      %s %s: %s", visible.String(cut(name, 80)), visible.String(cut(args, wideArgs)), visible.String(became))
}

// told are figures of tokens, equal ones as one with all its sources.
func told(all []host.Usage) (out []host.Usage) {
	for _, u := range all {
		same := func(o host.Usage) bool {
			return o.Agents == u.Agents && o.InputUncached == u.InputUncached && o.CacheRead == u.CacheRead && o.CacheWrite == u.CacheWrite && o.Output == u.Output && o.Total == u.Total
		}
		if i := slices.IndexFunc(out, same); i >= 0 && u.Source != "" && out[i].Source != "" {
			out[i].Source += ", " + u.Source
			continue
		}
		out = append(out, u)
	}
	return out
}

func tokensText(u *host.Usage) string {
	var parts []string
	for _, f := range []struct {
		n    host.Count
		what string
	}{{u.InputUncached, "in"}, {u.CacheRead, "read from the cache"}, {u.CacheWrite, "written to it"}, {u.Output, "out"}} {
		if f.n.Known {
			parts = append(parts, fmt.Sprintf("%d %s", f.n.N, f.what))
		}
	}
	if len(parts) == 0 && u.Total.Known {
		parts = append(parts, fmt.Sprintf("%d in all", u.Total.N))
	}
	out := strings.Join(parts, ", ")
	var of []string
	if u.Source != "" {
		of = append(of, "by "+u.Source)
	}
	switch u.Agents {
	case host.SubAgents:
		of = append(of, "subagents")
	case host.AllAgents:
		of = append(of, "all agents")
	}
	if len(of) > 0 {
		out += " (" + strings.Join(of, ", ") + ")"
	}
	return out
}

// shownTalk is a conversation in show's JSON.
type shownTalk struct {
	Host     host.Host      `json:"host"`
	Sessions []string       `json:"sessionIds,omitzero"`
	Models   []string       `json:"models,omitzero"`
	Verdict  string         `json:"join"`
	Why      string         `json:"why"`
	Turns    []shownTurn    `json:"turns"`
	WireOnly []shownUnknown `json:"wireOnly,omitzero"`
}

type shownTurn struct {
	Prompts []string       `json:"prompts"`
	Status  string         `json:"status"`
	Calls   []shownToolUse `json:"calls"`
	Final   string         `json:"finalText"`
	State   string         `json:"finalTextState"`
	Usage   []host.Usage   `json:"usage,omitzero"`
}

type shownToolUse struct {
	HostCallID  string   `json:"hostCallId,omitzero"`
	Name        string   `json:"name"`
	Tool        string   `json:"tool,omitzero"`
	Records     []string `json:"records,omitzero"`
	Tier        string   `json:"tier,omitzero"`
	Certainty   string   `json:"certainty,omitzero"`
	HostOnly    string   `json:"hostOnly,omitzero"`
	Contradicts string   `json:"contradicts,omitzero"`
	Why         string   `json:"why,omitzero"`
}

type shownUnknown struct {
	Record string `json:"record"`
	Tool   string `json:"tool"`
	Kind   string `json:"kind"`
	Why    string `json:"why"`
}

func talkJSON(c *join.Conversation) shownTalk {
	t := c.Talk
	out := shownTalk{Host: t.Host, Sessions: t.SessionIDs, Models: t.Models, Verdict: string(c.Verdict), Why: c.Why, Turns: []shownTurn{}}
	joined := map[int]*join.Call{}
	for i := range c.Calls {
		joined[c.Calls[i].Host] = &c.Calls[i]
	}
	for i := range t.Turns {
		x := &t.Turns[i]
		turn := shownTurn{Prompts: []string{}, Status: string(x.Status), Calls: []shownToolUse{}, Final: x.FinalText.Text.Text, State: string(x.FinalText.State), Usage: x.Usage}
		for _, q := range x.Prompts {
			turn.Prompts = append(turn.Prompts, q.Text.Text)
		}
		out.Turns = append(out.Turns, turn)
	}
	for i := range t.Calls {
		k := &t.Calls[i]
		if k.Turn < 0 || k.Turn >= len(out.Turns) {
			continue
		}
		s := shownToolUse{HostCallID: k.HostCallID, Name: k.Name}
		if j := joined[i]; j != nil {
			s.Tool, s.Certainty, s.HostOnly, s.Contradicts, s.Why = j.Tool, string(j.Certainty), string(j.HostOnly), j.Contradicts, j.Why
			if j.Paired() {
				s.Tier = j.Tier.String()
			}
			for _, w := range j.Wires {
				s.Records = append(s.Records, callID(w.Call))
			}
		}
		out.Turns[k.Turn].Calls = append(out.Turns[k.Turn].Calls, s)
	}
	for i := range c.WireOnly {
		w := &c.WireOnly[i]
		out.WireOnly = append(out.WireOnly, shownUnknown{Record: callID(w.Call), Tool: w.Call.Tool, Kind: string(w.Kind), Why: w.Why})
	}
	return out
}
