package grade

import (
	"slices"
	"strings"

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
// more than grading.md 0.1 knows of a torn end; without a transcript the end stays
// open, and so it does wherever anything else is not certain.

// endTold makes the evidence of a session whole of which nothing is missing but the
// end, when the transcript tells that no call was in it.
func (t *Talk) endTold(ev *predicate.Evidence, s *session.Session) {
	if !s.OnlyTorn || t == nil || !t.right() || !t.whole() {
		return
	}
	for _, c := range s.Calls {
		if c.AnswerSeq == 0 || c.Late {
			return
		}
	}
	t.EndTold = true
	c := &ev.Capture
	c.ToolCalls, c.ToolErrors, c.ToolResults, c.ToolCallTimings = session.Complete, session.Complete, session.Complete, session.Complete
	c.Why = slices.DeleteFunc(slices.Clone(c.Why), func(why string) bool { return why == session.WhyTorn })
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
	return !agentMissing(c)
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
