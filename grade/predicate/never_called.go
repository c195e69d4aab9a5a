package predicate

import "fmt"

var toolNeverCalled = &Kind{
	Name:  "toolNeverCalled",
	Title: "A tool was not called",
	Text: `Passes when no call has this name. A call fails it whatever became of the call. Where calls may
have been lost, a call that was seen fails, and none is an error.`,
	Example:  `{type: toolNeverCalled, toolName: delete_order}`,
	Fields:   []Field{{Name: "toolName", Type: Text, Required: true, Text: "The tool that must not be called. Names compare exactly."}},
	Evaluate: evalNeverCalled,
}

func evalNeverCalled(c *Check, ev *Evidence) Outcome {
	name, ok := c.Text("toolName")
	if !ok {
		return errorOutcome("toolName is missing")
	}
	calls := ev.inScope(name, true)
	o := Outcome{Expected: "no call to " + tool(name)}
	if len(calls) == 0 {
		o.Result = Pass
		o.Actual = fmt.Sprintf("none in %s", count(len(ev.Calls), "call"))
		o.Reason = fmt.Sprintf("no call to %s", tool(name))
		return o
	}
	o.Result = Fail
	o.Actual = count(len(calls), "call")
	o.Reason = fmt.Sprintf("%s was called in record %s", tool(name), calls[0].ID())
	for _, c := range calls {
		o.cite(c.Seq)
	}
	return o
}
