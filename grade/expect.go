package grade

import (
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// callsOf gives the trial's calls to the matcher, wire and host-only calls in the
// host's order (grading.md 0.1).
func callsOf(ev *predicate.Evidence) []match.Call {
	out := make([]match.Call, 0, len(ev.Calls))
	for i := range ev.Calls {
		c := &ev.Calls[i]
		out = append(out, match.Call{Tool: c.Tool, Arguments: c.Value, Seq: c.Seq, Index: c.Index, HostOnly: c.HostOnly})
	}
	return out
}

// turnRows are the rows of one turn's checks: on the turn's own evidence, or, for
// a case of one turn, on all of it (grading.md 0.1 "Turns without a conversation").
func turnRows(c *CaseSpec, n int, ev *predicate.Evidence) []Row {
	t := &c.Turns[n]
	known := turnsKnown(ev)
	narrow := ev
	if known {
		narrow = ev.ForTurn(n)
	}
	var rows []Row
	for _, k := range t.Assertions {
		var o predicate.Outcome
		switch {
		case known || len(c.Turns) == 1:
			o = predicate.Evaluate(k, narrow)
		case k.Info.Name == "toolNeverCalled" || k.Info.Name == "onlyToolsCalled":
			// A forbidden call fails wherever it is; nothing else can be said.
			if o = predicate.Evaluate(k, ev); o.Result != predicate.Fail {
				o = noConversation(o)
			}
		default:
			o = noConversation(predicate.Outcome{})
		}
		rows = append(rows, rowOf(k, n, o))
	}
	return rows
}

// turnsKnown tells whether every call's turn is on record.
func turnsKnown(ev *predicate.Evidence) bool {
	if ev.Conversation == nil || ev.Conversation.TurnsState != "complete" {
		return false
	}
	for i := range ev.Calls {
		if ev.Calls[i].Turn < 0 {
			return false
		}
	}
	return true
}

func noConversation(o predicate.Outcome) predicate.Outcome {
	o.Result = predicate.Error
	o.Reason = "noConversation: which turn a call belongs to is not on record; join the host's transcript"
	return o
}
