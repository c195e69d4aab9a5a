package claudecode

import (
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/record/host"
)

// figures says which of the responses' own figures count: those of the main
// agent, those of subagents.
type figures struct{ main, sub bool }

// finish closes the conversation.
func (b *builder) finish(use figures) *host.Conversation {
	c := b.c
	b.end(true)
	for i := range c.Calls {
		b.names.name(&c.Calls[i])
	}
	c.Calls = hostOrder(c.Calls)
	c.Servers = b.names.list(c.Calls)
	c.FillCallIDs()
	b.responses(use)
	if b.full {
		b.note("limit", "the transcript has more than "+strconv.Itoa(host.MaxItems)+" messages or calls; the rest was left out", host.Src{})
	}
	b.caps(use.main)
	return c
}

// responses gives the messages their usage and, where they count, the turns
// their sums.
func (b *builder) responses(use figures) {
	main, sub := make([]turnUsage, len(b.c.Turns)), make([]turnUsage, len(b.c.Turns))
	for _, g := range b.groups { // sums do not depend on the order
		if g.hidden || g.sub && !use.sub || !g.sub && !use.main {
			continue
		}
		if g.usage != nil {
			u := *g.usage
			u.Source, u.Scope = fromResponses, host.OfResponse
			b.c.Messages[g.msg].Usage = &u
		}
		turn := b.c.Messages[g.msg].Turn
		switch {
		case turn < 0:
		case g.sub:
			sub[turn].add(g.usage)
		default:
			main[turn].add(g.usage)
		}
	}
	for i := range b.c.Turns {
		t := &b.c.Turns[i]
		if u := main[i]; u.sum != nil && !u.lack {
			u.sum.Source, u.sum.Scope, u.sum.Agents = fromResponses, host.OfTurn, host.MainAgent
			u.sum.Excludes = []string{host.ExcludesSubagents, host.ExcludesCompaction, host.ExcludesAuxiliary}
			t.Usage = append(t.Usage, *u.sum)
		}
		if u := sub[i]; u.sum != nil && !u.lack {
			u.sum.Source, u.sum.Scope, u.sum.Agents = fromResponses, host.OfTurn, host.SubAgents
			u.sum.Excludes = []string{host.ExcludesAuxiliary}
			t.Usage = append(t.Usage, *u.sum)
		}
	}
}

// caps says how much of everything there is.
func (b *builder) caps(sums bool) {
	c := b.c
	broken := b.full
	for i := range c.Sources {
		broken = broken || c.Sources[i].ErrorCount > 0 || c.Sources[i].Cut
	}
	open := len(c.Turns) == 0 || c.Turns[len(c.Turns)-1].Status == host.Open
	caps := host.Caps{Turns: host.Present, Prompts: host.Present, FinalText: host.Present, Tokens: host.Present, Times: host.Present,
		Calls: host.Present, CallIDs: host.Present, Model: host.Present}
	finals, prompts, tokens := 0, 0, 0
	for i := range c.Turns {
		t := &c.Turns[i]
		if t.FinalText.State != host.AbsentText {
			finals++
		}
		if len(t.Prompts) > 0 || t.Origin == host.System {
			prompts++
		}
		if sums && t.FinalText.State == host.AbsentText {
			tokens++ // no response, nothing to count
			continue
		}
		for j := range t.Usage {
			if t.Usage[j].Agents != host.SubAgents {
				tokens++
				break
			}
		}
	}
	n := len(c.Turns)
	caps.Turns = capOf(n, n, broken || open)
	caps.Prompts = capOf(prompts, n, broken)
	caps.FinalText = capOf(finals, n, broken || open)
	caps.Tokens = capOf(tokens, n, broken || open)
	caps.Times = capOf(b.times, b.times+b.noTimes, false)
	caps.Model = capOf(len(c.Models), len(c.Models), false)
	ids, done := 0, 0
	for i := range c.Calls {
		if c.Calls[i].HostCallID != "" {
			ids++
		}
		if c.Calls[i].Result != nil || c.Calls[i].NotSent() {
			done++
		}
	}
	caps.CallIDs = host.Present
	if ids < len(c.Calls) {
		caps.CallIDs = capOf(ids, len(c.Calls), false)
	}
	if broken || open || b.ghosts > 0 || done < len(c.Calls) {
		caps.Calls = host.Partial
	}
	c.Caps = caps
}

// capOf is present when all have it, absent when none has, partial between and
// where something is known to be missing.
func capOf(have, all int, missing bool) host.Cap {
	switch {
	case have == 0:
		return host.Absent
	case have < all || missing:
		return host.Partial
	}
	return host.Present
}

// short cuts an id or a word for a note: such a name is a stranger's choice.
func short(s string) string {
	const max = 80
	if len(s) > max {
		return strings.ToValidUTF8(s[:max], "") + "…"
	}
	return s
}

// oneLine is the first line of a text, cut.
func oneLine(s string) string {
	const max = 300
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "…"
	}
	return s
}
