package predicate

var toolNeverCalled = &Kind{
	Name:  "toolNeverCalled",
	Title: "A tool was not called",
	Text: `Passes when no call has this name. A call fails it whatever became of the call. Where calls may
have been lost, a call that was seen fails, and none is an error.`,
	Example:  `{type: toolNeverCalled, toolName: delete_order}`,
	Since:    1,
	Fields:   []Field{toolField("The tool that must not be called.")},
	Channels: []Channel{ToolCalls},
	Notes:    []string{hostOnlyNote, "For a closed set of tools use onlyToolsCalled."},
	Evaluate: evalNeverCalled,
}

func evalNeverCalled(c *Check, ev *Evidence) Outcome {
	name, ok := c.Text("toolName")
	if !ok || name == "" {
		return Outcome{Result: Fail, Reason: "toolName is missing or empty"}
	}
	calls := ev.called(name, true)
	o := Outcome{Expected: "no call to " + tool(name)}
	if calls.n == 0 {
		o.Result = Pass
		o.Actual = "none in " + count(len(ev.Calls), "call")
		o.Reason = "no call to " + tool(name)
		return o
	}
	o.Result = Fail
	o.Actual = count(calls.n, "call")
	o.Reason = "was called: " + calls.list()
	calls.cite(&o)
	return o
}
