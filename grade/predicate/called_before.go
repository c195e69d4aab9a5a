package predicate

import "fmt"

var toolCalledBefore = &Kind{
	Name:  "toolCalledBefore",
	Title: "One tool was called before another",
	Text: `Passes when every call to beforeToolName comes after a first call to toolName, and when beforeToolName was
never called. One earlier call is enough for all later ones. Fails on a call to beforeToolName that no call to
toolName precedes. Where calls may have been lost, such a call fails, and a pass becomes an error.`,
	Example: `{type: toolCalledBefore, toolName: find_order, beforeToolName: refund}`,
	Since:   1,
	Fields: []Field{
		toolField("The tool that must come first."),
		{Name: "beforeToolName", Type: Text, Required: true, Text: "The tool that must not be called before it. Names compare exactly."},
	},
	Channels: []Channel{ToolCalls},
	Notes: []string{
		"The order is that of the requests, not of the answers.",
		"With the same name twice it always passes: a call counts as its own predecessor.",
		hostOnlyNote,
	},
	Evaluate: evalCalledBefore,
}

func evalCalledBefore(c *Check, ev *Evidence) Outcome {
	first, ok := c.Text("toolName")
	then, ok2 := c.Text("beforeToolName")
	if !ok || !ok2 || first == "" || then == "" {
		return Outcome{Result: Fail, Reason: "toolName or beforeToolName is missing or empty"}
	}
	o := Outcome{Expected: fmt.Sprintf("%s before every call to %s", tool(first), tool(then))}
	var before *CallEvidence
	var early, later calls
	for i := range ev.Calls {
		call := &ev.Calls[i]
		if call.Tool == first && before == nil {
			before = call
		}
		if call.Tool != then {
			continue
		}
		if before == nil {
			early.add(call)
		} else {
			later.add(call)
		}
	}
	if early.n > 0 {
		o.Result = Fail
		o.Actual = fmt.Sprintf("%s to %s before it", count(early.n, "call"), tool(then))
		o.Reason = fmt.Sprintf("called before any call to %s: %s", tool(first), early.list())
		early.cite(&o)
		return o
	}
	o.Result = Pass
	if later.n == 0 {
		o.Actual = "no call to " + tool(then)
		o.Reason = o.Actual
		return o
	}
	o.Actual = "called in that order"
	o.Reason = fmt.Sprintf("%s came before %s", before.seen(), later.first[0].seen())
	o.cite(before.Seq)
	o.cite(later.first[0].Seq)
	return o
}
