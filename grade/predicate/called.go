package predicate

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
	calls := ev.called(name, true)
	o := Outcome{Expected: "a call to " + tool(name)}
	if calls.n == 0 {
		o.Result = Fail
		o.Actual = "none in " + count(len(ev.Calls), "call")
		o.Reason = "no call to " + tool(name)
		ev.citeAll(&o)
		return o
	}
	o.Result = Pass
	o.Actual = count(calls.n, "call")
	o.Reason = "was called, first: " + calls.first[0].seen()
	o.cite(calls.first[0].Seq)
	return o
}
