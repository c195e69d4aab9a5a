package grade

import (
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/session"
)

// tokens are one source's figures for all of the turns, by the suite's rule.
type tokens struct {
	source string
	usage  predicate.Usage
	whole  bool // every turn has them
	lacks  string
}

// usageOf is what turns used by the suite's rule (grading.md 0.1 "usage"; hosts.md 4,
// rule 3): of one source for all of them. Sources that disagree decide nothing
// unless the suite names one. Figures of the whole session count where all is asked.
func usageOf(c *host.Conversation, subs map[int]bool, turns []*host.Turn, all bool, rule UsageRule) (*predicate.Usage, session.CaptureState, string) {
	var found []tokens
	for _, source := range sourcesOf(turns) {
		if takes(rule, source, host.OfTurn) {
			found = append(found, ofTurns(subs, turns, source, rule))
		}
	}
	if all {
		for i := range c.Usage {
			if u := &c.Usage[i]; takes(rule, u.Source, u.Scope) {
				if t, ok := ofSession(subs, u, rule); ok {
					found = append(found, t)
				}
			}
		}
	}
	if slices.ContainsFunc(found, func(t tokens) bool { return t.whole }) {
		found = slices.DeleteFunc(found, func(t tokens) bool { return !t.whole })
	}
	switch {
	case len(found) == 0 && rule.Source != "":
		return nil, session.Absent, fmt.Sprintf("the transcript counts no tokens by %q", rule.Source)
	case len(found) == 0:
		return nil, session.Absent, "the transcript counts no tokens"
	}
	first := &found[0]
	if !first.whole {
		return &first.usage, session.Partial, first.lacks
	}
	for i := range found[1:] {
		if o := &found[1+i]; o.usage != first.usage {
			return nil, session.Partial, fmt.Sprintf("its sources disagree: %s says %s and %s %s; name one with usage.source",
				first.source, told(&first.usage), o.source, told(&o.usage))
		}
	}
	return &first.usage, session.Complete, ""
}

func told(u *predicate.Usage) string {
	return fmt.Sprintf("%d in, %d out", u.Input, u.Output)
}

// takes says that the rule's source is this one, by its name or by what it spans.
func takes(r UsageRule, source string, scope host.Scope) bool {
	return r.Source == "" || r.Source == source || r.Source == string(scope)
}

func sourcesOf(turns []*host.Turn) (out []string) {
	for _, t := range turns {
		for i := range t.Usage {
			if s := t.Usage[i].Source; !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// ofTurns adds up one source's figures of turns.
func ofTurns(subs map[int]bool, turns []*host.Turn, source string, rule UsageRule) tokens {
	out := tokens{source: source, whole: true}
	for _, t := range turns {
		var main, sub, everyone *host.Usage
		for i := range t.Usage {
			u := &t.Usage[i]
			if u.Source != source {
				continue
			}
			switch u.Agents {
			case host.SubAgents:
				sub = u
			case host.AllAgents:
				everyone = u
			default:
				main = u
			}
		}
		subs := subs[t.Index]
		switch {
		case !rule.WithSubagents && main != nil:
			out.add(main, rule)
		case !rule.WithSubagents && everyone != nil && !subs:
			out.add(everyone, rule) // there is nobody else in it
		case rule.WithSubagents && everyone != nil:
			out.add(everyone, rule)
		case rule.WithSubagents && main != nil && sub != nil:
			out.add(main, rule)
			out.add(sub, rule)
		case rule.WithSubagents && main != nil && !subs:
			out.add(main, rule)
		default:
			out.whole = false
			if out.lacks == "" {
				out.lacks = fmt.Sprintf("turn %d has no figure of %s", t.Index+1, source)
				if rule.WithSubagents && subs {
					out.lacks += " with subagents"
				}
			}
		}
	}
	return out
}

// agentTurns are the turns in which a subagent worked.
func agentTurns(c *host.Conversation) map[int]bool {
	out := map[int]bool{}
	for i := range c.Messages {
		if m := &c.Messages[i]; m.Agent != nil {
			out[m.Turn] = true
		}
	}
	for i := range c.Calls {
		if k := &c.Calls[i]; k.Agent != nil {
			out[k.Turn] = true
		}
	}
	return out
}

// ofSession is a figure of the whole session, when it counts what the rule asks for.
func ofSession(subs map[int]bool, u *host.Usage, rule UsageRule) (tokens, bool) {
	out := tokens{source: u.Source, whole: true}
	switch u.Agents {
	case host.SubAgents:
		return out, false
	case host.AllAgents:
		// It may count work of helpers that nothing else tells of, too, so that without
		// the suite's word it is no rival of what counts the main agent alone.
		if !rule.WithSubagents && rule.Source == "" {
			return out, false
		}
	default:
		if rule.WithSubagents && len(subs) > 0 {
			return out, false
		}
	}
	out.add(u, rule)
	return out, true
}

// add adds a figure by the rule: input is uncached, cache read and cache write
// together, unless the cache does not count; output includes reasoning.
func (t *tokens) add(u *host.Usage, rule UsageRule) {
	in := u.Input()
	if rule.ExcludeCache {
		in = u.InputUncached
	}
	out := u.Output
	if out.Known && !u.ReasoningInOutput && u.Reasoning.Known {
		out = out.Plus(u.Reasoning)
	}
	total := host.Count{}
	if !in.Known || !out.Known {
		total = u.Total // the best that there is
		if rule.ExcludeCache {
			total = host.Count{}
		}
	}
	if (!in.Known || !out.Known) && !total.Known {
		t.whole = false
		t.lacks = u.Source + " does not count all that the suite asks for"
	}
	t.usage.Input = plus(t.usage.Input, in)
	t.usage.Output = plus(t.usage.Output, out)
	switch {
	case in.Known && out.Known:
		t.usage.Total = plus(t.usage.Total, in.Plus(out))
	default:
		t.usage.Total = plus(t.usage.Total, total)
	}
}

// plus adds a count that may be unknown; -1 is unknown.
func plus(n int64, c host.Count) int64 {
	if n < 0 || !c.Known {
		return -1
	}
	return host.Known(n).Plus(c).N
}
