package story

import (
	"strconv"

	"github.com/sixlink/sixlink/record/host"
)

// Finish closes the conversation: the last turn, the sums of usage, the caps.
// excludes names what the sums over responses cannot see.
func (b *Builder) Finish(excludes ...string) *host.Conversation {
	b.end(true)
	b.sums(excludes)
	b.C.FillCallIDs()
	if b.full {
		b.Note("limit", "the transcript has more than "+strconv.Itoa(host.MaxItems)+" messages or calls; the rest was left out", host.Src{})
	}
	b.caps()
	return b.C
}

// sum adds the usage of a turn's responses up.
type sum struct {
	u    *host.Usage
	lack bool // a response has none
}

func (s *sum) add(u *host.Usage) {
	switch {
	case u == nil:
		s.lack = true
	case s.u == nil:
		c := *u
		s.u = &c
	default:
		s.u.Add(u)
	}
}

// sums gives each turn the sum over its responses, where all of them have one.
func (b *Builder) sums(excludes []string) {
	main, sub := make([]sum, len(b.C.Turns)), make([]sum, len(b.C.Turns))
	for i := range b.C.Messages {
		m := &b.C.Messages[i]
		switch {
		case b.OwnSums || m.Role != host.Assistant || m.Hidden != "" || m.Turn < 0:
		case m.Agent != nil:
			sub[m.Turn].add(m.Usage)
		default:
			main[m.Turn].add(m.Usage)
		}
	}
	for i := range b.C.Turns {
		t := &b.C.Turns[i]
		var own []host.Usage
		if s := &main[i]; s.u != nil && !s.lack {
			s.u.Source, s.u.Scope, s.u.Agents, s.u.Excludes = FromResponses, host.OfTurn, host.MainAgent, excludes
			own = append(own, *s.u)
		}
		if s := &sub[i]; s.u != nil && !s.lack {
			s.u.Source, s.u.Scope, s.u.Agents = FromResponses, host.OfTurn, host.SubAgents
			own = append(own, *s.u)
		}
		t.Usage = append(own, t.Usage...)
		b.agree(t)
	}
}

// agree notes where two figures of one turn that count the same work differ
// (hosts.md 4, rule 3): both are kept.
func (b *Builder) agree(t *host.Turn) {
	for i := range t.Usage {
		for j := range i {
			if u, v := &t.Usage[i], &t.Usage[j]; u.Agents == v.Agents && !SameCount(u, v) {
				b.Note("usage-disagrees", "turn "+strconv.Itoa(t.Index)+": "+v.Source+" and "+u.Source+" count differently; both are kept", t.Src)
				return
			}
		}
	}
}

// SameCount says that two figures do not contradict each other: what both know
// is equal. Input is compared as a whole, since some sources do not part it.
func SameCount(a, b *host.Usage) bool {
	for _, p := range [][2]host.Count{{a.Input(), b.Input()}, {a.Output, b.Output}, {a.Total, b.Total}} {
		if p[0].Known && p[1].Known && p[0] != p[1] {
			return false
		}
	}
	return true
}

// caps says how much of everything there is (hosts.md 4, rule 4).
func (b *Builder) caps() {
	c := b.C
	broken := b.full
	for i := range c.Sources {
		broken = broken || c.Sources[i].ErrorCount > 0 || c.Sources[i].Cut
	}
	n := len(c.Turns)
	open := n == 0 || c.Turns[n-1].Status == host.Open
	finals, prompts, tokens, figures, users := 0, 0, 0, 0, 0
	for i := range c.Turns {
		t := &c.Turns[i]
		if t.Origin != host.System {
			users++
		}
		if len(t.Prompts) > 0 {
			prompts++
		}
		counted := false
		for j := range t.Usage {
			counted = counted || t.Usage[j].Agents != host.SubAgents
		}
		absent := t.FinalText.State == host.AbsentText
		if !absent {
			finals++
		}
		if counted {
			figures++
		}
		if counted || absent { // without an answer there may be nothing to count
			tokens++
		}
	}
	if figures == 0 {
		tokens = 0
	}
	// A turn that no prompt on record began leaves the number of turns unsure.
	c.Caps.Turns = capOf(users, n, broken || open)
	c.Caps.Prompts = capOf(prompts, n, broken)
	c.Caps.FinalText = capOf(finals, n, broken || open)
	c.Caps.Tokens = capOf(tokens, n, broken || open)
	if tokens == 0 && (len(c.Usage) > 0 || b.someUsage()) {
		c.Caps.Tokens = host.Partial // of the session, or of single responses alone
	}
	c.Caps.Times = capOf(b.times, b.times+b.noTimes, false)
	c.Caps.Model = capOf(len(c.Models), len(c.Models), false)
	ids, done := 0, 0
	for i := range c.Calls {
		k := &c.Calls[i]
		if k.HostCallID != "" {
			ids++
		}
		if k.Result != nil || k.NotSent() {
			done++
		}
	}
	c.Caps.Calls, c.Caps.CallIDs = host.Present, host.Present
	if ids < len(c.Calls) {
		c.Caps.CallIDs = capOf(ids, len(c.Calls), false)
	}
	if broken || open || b.lost || b.ghosts > 0 || done < len(c.Calls) {
		c.Caps.Calls = host.Partial
	}
}

// someUsage says that a response has its usage.
func (b *Builder) someUsage() bool {
	for i := range b.C.Messages {
		if b.C.Messages[i].Usage != nil {
			return true
		}
	}
	return false
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
