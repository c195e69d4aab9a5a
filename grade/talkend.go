package grade

import (
	"slices"
	"strings"
	"time"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/host"
	hostjoin "github.com/sixlink/sixlink/record/host/join"
	"github.com/sixlink/sixlink/record/session"
)

// Some hosts kill their servers (Codex some 15 ms after TERM, or at once), and the
// recorder with them: the recording is torn, and what passed in its last moment may
// not be in it. Where the host's own transcript goes on to the end of the
// conversation and has no call that is not on the wire with its answer, no call of
// the conversation is missing, and the channels of calls are complete. That takes
// more than grading.md 0.1 knows of a torn end, which is partial: it is only done for
// who asks for it (Options.TranscriptEnd). Without a transcript the end stays open, and
// so it does wherever anything else is not certain.

// endTold makes the evidence of a session whole of which nothing is missing but the
// end, when the transcript tells that no call was in it; unless take it only notes that
// it would. wire is the session's place in Wires.
func (t *Talk) endTold(ev *predicate.Evidence, s *session.Session, wire int, take bool) {
	if !s.OnlyTorn || t == nil || wire < 0 || !t.right() || !t.whole() || !t.knows(wire) || t.ended(wire, s) {
		return
	}
	for _, c := range s.Calls {
		if c.AnswerSeq == 0 || c.Late {
			return
		}
	}
	if !take {
		t.EndKnown = true
		return
	}
	t.EndTold = true
	c := &ev.Capture
	c.ToolCalls, c.ToolErrors, c.ToolResults, c.ToolCallTimings = session.Complete, session.Complete, session.Complete, session.Complete
	c.Why = slices.DeleteFunc(slices.Clone(c.Why), func(why string) bool { return why == session.WhyTorn })
}

// knows says that something besides a person's word makes the session the
// conversation's: a person may name the wrong one, and only calls would show it.
func (t *Talk) knows(wire int) bool {
	for _, p := range t.Join.Sessions {
		if p.Wire == wire && !p.Chosen {
			return true
		}
	}
	return slices.ContainsFunc(t.Join.Calls, func(c hostjoin.Call) bool { return c.Paired() && c.Session == wire })
}

// ended says that the session may have gone on when the transcript was at its end: a
// copy of it that is older than the recording's end tells nothing of that. Without
// times nothing shows that it is not.
func (t *Talk) ended(wire int, s *session.Session) bool {
	var last time.Time
	take := func(at time.Time) {
		if at.After(last) {
			last = at
		}
	}
	c := t.Join.Talk
	for i := range c.Turns {
		take(c.Turns[i].EndedAt)
	}
	for i := range c.Messages {
		take(c.Messages[i].At)
	}
	for i := range c.Calls {
		take(c.Calls[i].EndedAt)
	}
	w := &t.Wires[wire]
	if last.IsZero() || w.Start.IsZero() {
		return true
	}
	if t.Join.Clock.Used {
		last = last.Add(t.Join.Clock.Shift)
	}
	return w.Start.Add(time.Duration(s.LastAt)).After(last.Add(hostjoin.DefaultWindow))
}

// whole says that the conversation is finished, read without a loss, and that each of
// its calls is one on the wire, or was never sent by the host's own word.
func (t *Talk) whole() bool {
	j := t.Join
	c := j.Talk
	if j.Verdict != hostjoin.Joined || j.Elsewhere > 0 || c.Caps.Turns != host.Present || c.Caps.Calls != host.Present || len(c.Turns) == 0 {
		return false
	}
	for i := range c.Sources {
		if c.Sources[i].Cut || c.Sources[i].ErrorCount > 0 {
			return false
		}
	}
	for i := range c.Turns {
		if c.Turns[i].Status != host.Complete {
			return false
		}
	}
	for i := range c.Branches {
		// What the user took back was sent all the same, and is not joined.
		if c.Branches[i].Calls > 0 {
			return false
		}
	}
	return !agentMissing(c) && !agentOpen(c)
}

// agentOpen says that the work of a subagent ends before its answer: its file may be
// cut where the user's own is not.
func agentOpen(c *host.Conversation) bool {
	open := map[string]bool{}
	for i := range c.Messages {
		m := &c.Messages[i]
		if m.Agent == nil {
			continue
		}
		calls := slices.ContainsFunc(m.Parts, func(p host.Part) bool { return p.Kind == host.CallPart })
		open[m.Agent.ID] = m.Role != host.Assistant || calls
	}
	for _, o := range open {
		if o {
			return true
		}
	}
	return false
}

// agentMissing says that what a subagent did may not be in the transcript: it has a
// file of its own that was not read, or a resume did not copy its work.
func agentMissing(c *host.Conversation) bool {
	seen := map[string]bool{}
	for i := range c.Messages {
		if a := c.Messages[i].Agent; a != nil {
			seen[a.ParentCall] = true
		}
	}
	for i := range c.Calls {
		if a := c.Calls[i].Agent; a != nil {
			seen[a.ParentCall] = true
		}
	}
	if seen[""] {
		return true // whose it is was not found
	}
	for i := range c.Calls {
		k := &c.Calls[i]
		if k.Kind == host.BuiltinCall && startsAgent(k.Name) && !k.NotSent() && !seen[k.HostCallID] {
			return true
		}
	}
	for _, n := range c.Notes {
		if n.Kind == "subagent-alone" || n.Kind == "agent-without-session" {
			return true
		}
	}
	return false
}

// startsAgent knows the hosts' own tools that start subagents: Claude Code's, and
// Codex's with any namespace before it.
func startsAgent(name string) bool {
	return name == "Task" || name == "Agent" || strings.HasSuffix(name, "spawn_agent")
}
