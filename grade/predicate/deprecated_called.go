package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/record/session"
)

var noDeprecatedToolCalled = &Kind{
	Name:  "noDeprecatedToolCalled",
	Title: "No deprecated tool was called",
	Text: `Fails when a tool was called whose own description says that it is deprecated, in the list that the model
saw. A called tool that the list lacks is an error, unless another one fails. Needs the whole list of tools, also
without a call.`,
	Example:  `{type: noDeprecatedToolCalled, role: advisory}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolInventory},
	Notes:    []string{deprecationNote, "A tool without a description is not deprecated.", hostOnlyNote},
	Evaluate: evalDeprecatedCalled,
}

func evalDeprecatedCalled(_ *Check, ev *Evidence) Outcome {
	if s := ev.State(ToolInventory); s != session.Complete {
		return errorOutcome("no whole list of tools to look in: it is %s", s)
	}
	o := Outcome{Expected: "no call to a deprecated tool"}
	var bad, unknown []*CallEvidence
	for i := range ev.Calls {
		call := &ev.Calls[i]
		switch {
		case call.Entry == nil:
			unknown = append(unknown, call)
		case ev.Schemas.isDeprecated(call.Entry.Description):
			bad = append(bad, call)
		}
	}
	switch {
	case len(bad) > 0:
		o.Result = Fail
		o.Actual = fmt.Sprintf("%d of %s", len(bad), count(len(ev.Calls), "call"))
		o.Reason = fmt.Sprintf("called though described as deprecated: %s: %s", listCalls(bad), Quoted(bad[0].Entry.Description))
		o.citeCalls(bad)
		o.cite(bad[0].Entry.Seq)
	case len(unknown) > 0:
		return unknownTools(o, unknown)
	default:
		o.Result = Pass
		o.Actual = fmt.Sprintf("none in %s", count(len(ev.Calls), "call"))
		o.Reason = fmt.Sprintf("%s, no deprecated tool", count(len(ev.Calls), "call"))
	}
	return o
}

// unknownTools is the error of calls to tools of which the list says nothing.
func unknownTools(o Outcome, calls []*CallEvidence) Outcome {
	o.Result = Error
	o.Actual = fmt.Sprintf("%s to tools that are not known", count(len(calls), "call"))
	why := "the list of tools does not have it"
	if calls[0].EntryWhy != "" {
		why = calls[0].EntryWhy
	} else if calls[0].Entry != nil {
		why = "the list of tools does not say whether it is destructive: it has no annotations"
	}
	o.Reason = listCalls(calls) + ": " + why
	o.citeCalls(calls)
	return o
}
