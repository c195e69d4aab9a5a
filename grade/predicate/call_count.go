package predicate

import "strconv"

var toolCallCountUnder = &Kind{
	Name:  "toolCallCountUnder",
	Title: "Few enough calls",
	Text: `Passes when there are fewer calls than count, of one tool or of all; exactly count fails. Each retry that is a
call of its own counts. Where calls may have been lost, too many that were seen fail, and fewer are an error.`,
	Example: `{type: toolCallCountUnder, count: 4}`,
	Since:   1,
	Fields: []Field{
		{Name: "count", Type: WholeNum, Required: true, Min: 1, Text: "The limit; the number of calls must be below it."},
		toolNameField,
	},
	Channels: []Channel{ToolCalls},
	Notes:    []string{"The rounds of one call (input asked for, sign-in, retries under the host's own id of the tool use) are one call.", hostOnlyNote},
	Evaluate: evalCallCount,
}

func evalCallCount(c *Check, ev *Evidence) Outcome {
	limit, ok := c.Int("count")
	if !ok || limit < 1 {
		return Outcome{Result: Fail, Reason: "count is no whole number from 1"}
	}
	name, named := c.Text("toolName")
	calls := ev.called(name, named)
	under := strconv.FormatInt(limit, 10)
	o := Outcome{Expected: "fewer than " + under + " calls", Actual: count(calls.n, "call")}
	what := o.Actual
	if named {
		o.Expected += " to " + tool(name)
		what += " to " + tool(name)
	}
	if int64(calls.n) >= limit {
		o.Result = Fail
		o.Reason = what + ", not fewer than " + under
		calls.cite(&o)
		return o
	}
	o.Result = Pass
	o.Reason = what + ", fewer than " + under
	return o
}
