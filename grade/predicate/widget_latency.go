package predicate

import "fmt"

var widgetRenderLatencyUnder = &Kind{
	Name:  "widgetRenderLatencyUnder",
	Title: "Every widget was rendered fast enough",
	Text: `Compares the slowest widget in scope that was rendered with ms; exactly ms fails, and so does it
when none was rendered.` + renderNeeded,
	Example:  `{type: widgetRenderLatencyUnder, ms: 3000, toolName: show_map}`,
	Since:    1,
	Channels: []Channel{Renders},
	Fields: []Field{
		// As in toolLatencyUnder: milliseconds in nanoseconds within 64 bits.
		{Name: "ms", Type: WholeNum, Required: true, Min: 1, Max: 1e12, Text: "The limit in milliseconds; the time must be below it."},
		toolNameField,
	},
	Notes:    []string{renderNote},
	Evaluate: evalRenderLatency,
}

func evalRenderLatency(c *Check, ev *Evidence) Outcome {
	ms, ok := c.Int("ms")
	if !ok || ms <= 0 {
		return errorOutcome("ms is no positive whole number")
	}
	talk, o := ev.needs(Renders)
	o.Expected = fmt.Sprintf("every widget rendered under %d ms", ms)
	if talk == nil {
		return o
	}
	seen := talk.rendersOf(c.Text("toolName"))
	if len(seen) == 0 {
		return noRender(o)
	}
	var slowest *Render
	for _, r := range seen {
		if r.Status == rendered && (slowest == nil || r.ElapsedNs > slowest.ElapsedNs) {
			slowest = r
		}
	}
	if slowest == nil {
		o.Result, o.Actual = Fail, "none rendered"
		o.Reason = fmt.Sprintf("none of %s was rendered", count(len(seen), "widget"))
		return o
	}
	o.Actual = millis(slowest.ElapsedNs)
	o.Reason = fmt.Sprintf("the slowest widget, of %s, took %s for a limit of %d ms", tool(slowest.Tool), o.Actual, ms)
	if o.Result = Pass; slowest.ElapsedNs >= ms*1e6 {
		o.Result = Fail
	}
	return o
}
