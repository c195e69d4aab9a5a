package predicate

var firstToolWas = &Kind{
	Name:  "firstToolWas",
	Title: "This tool was called first",
	Text: `Passes when the first call (of the turn, for a check of one turn) has this name, whatever became of the
call. Fails when it has another name, and when the complete list of calls is empty. Where calls may have been
lost, another tool that came first of those that were seen fails; a pass, and no call, are errors.`,
	Example:  `{type: firstToolWas, toolName: search}`,
	Since:    1,
	Fields:   []Field{toolField("The tool that must be called first.")},
	Channels: []Channel{ToolCalls},
	Notes:    []string{"The order is that of the requests, not of the answers.", hostOnlyNote},
	Evaluate: evalFirstTool,
}

func evalFirstTool(c *Check, ev *Evidence) Outcome {
	name, ok := c.Text("toolName")
	if !ok || name == "" {
		return Outcome{Result: Fail, Reason: "toolName is missing or empty"}
	}
	o := Outcome{Expected: "the first call to " + tool(name)}
	if len(ev.Calls) == 0 {
		o.Result = Fail
		o.restsOnUnseen = true
		o.Actual = "no call"
		o.Reason = "no tool was called"
		return o
	}
	if len(ev.Parts) > 1 {
		return evalFirstOver(ev, o, name)
	}
	first := &ev.Calls[0]
	o.Actual = tool(first.Tool)
	o.cite(first.Seq)
	if first.Tool != name {
		o.Result = Fail
		o.Reason = "the first call was to " + first.seen()
		return o
	}
	o.Result = Pass
	o.Reason = "the first call was to " + first.seen()
	return o
}
