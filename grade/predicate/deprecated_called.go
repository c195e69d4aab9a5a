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
	var bad, unknown calls
	for i := range ev.Calls {
		call := &ev.Calls[i]
		switch {
		case call.Entry == nil:
			unknown.add(call)
		case ev.Schemas.isDeprecated(call.Entry.Description):
			bad.add(call)
		}
	}
	switch {
	case bad.n > 0:
		o.Result = Fail
		o.Actual = fmt.Sprintf("%d of %s", bad.n, count(len(ev.Calls), "call"))
		o.Reason = fmt.Sprintf("called though described as deprecated: %s: %s", bad.list(), Quoted(bad.first[0].Entry.Description))
		bad.cite(&o)
		o.cite(bad.first[0].Entry.Seq)
	case unknown.n > 0:
		return unknownTools(o, &unknown)
	default:
		o.Result = Pass
		o.Actual = "none in " + count(len(ev.Calls), "call")
		o.Reason = count(len(ev.Calls), "call") + ", no deprecated tool"
	}
	return o
}

// unknownTools is the error of calls to tools of which the list says nothing.
func unknownTools(o Outcome, x *calls) Outcome {
	o.Result = Error
	o.Actual = count(x.n, "call") + " to tools that are not known"
	why := "the list of tools does not have it"
	if c := x.first[0]; c.EntryWhy != "" {
		why = c.EntryWhy
	} else if c.Entry != nil {
		why = "the list of tools does not say whether it is destructive: it has no annotations"
	}
	o.Reason = x.list() + ": " + why
	x.cite(&o)
	return o
}
