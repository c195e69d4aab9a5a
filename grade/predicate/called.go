package predicate

import "fmt"

var toolCalledAtLeastOnce = &Kind{
	Name:  "toolCalledAtLeastOnce",
	Title: "A tool was called",
	Text: `Passes when at least one call has this name, whatever became of the call: a call that was
denied, cancelled or answered by an error was made. Fails when the complete list of calls has none.
Where calls may have been lost, one that was seen passes, and none is an error.`,
	Example:  `{type: toolCalledAtLeastOnce, toolName: search}`,
	Since:    1,
	Fields:   []Field{toolField("The tool that must be called.")},
	Channels: []Channel{ToolCalls},
	Notes:    []string{hostOnlyNote},
	Evaluate: evalCalled,
}

func evalCalled(c *Check, ev *Evidence) Outcome {
	name, ok := c.Text("toolName")
	if !ok || name == "" {
		return Outcome{Result: Fail, Reason: "toolName is missing or empty"}
	}
	calls := ev.inScope(name, true)
	o := Outcome{Expected: "a call to " + tool(name)}
	if len(calls) == 0 {
		o.Result = Fail
		o.Actual = fmt.Sprintf("none in %s", count(len(ev.Calls), "call"))
		o.Reason = fmt.Sprintf("no call to %s", tool(name))
		for i := range ev.Calls {
			o.cite(ev.Calls[i].Seq)
		}
		return o
	}
	o.Result = Pass
	o.Actual = count(len(calls), "call")
	o.Reason = "was called, first: " + calls[0].seen()
	o.cite(calls[0].Seq)
	return o
}
