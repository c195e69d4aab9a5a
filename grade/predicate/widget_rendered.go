package predicate

import "fmt"

var widgetRendered = &Kind{
	Name:     "widgetRendered",
	Title:    "A widget was rendered",
	Text:     `Passes when one observation in scope has the status rendered.` + renderNeeded,
	Example:  `{type: widgetRendered, toolName: show_map}`,
	Since:    1,
	Channels: []Channel{Renders},
	Fields:   []Field{toolNameField},
	Notes:    []string{renderNote},
	Evaluate: evalRendered,
}

// rendered is the status of a widget that was seen on the screen (grading.md 3.1).
const rendered = "rendered"

func evalRendered(c *Check, ev *Evidence) Outcome {
	talk, o := ev.needs(Renders)
	o.Expected = "a widget that renders"
	if talk == nil {
		return o
	}
	seen := talk.rendersOf(c.Text("toolName"))
	if len(seen) == 0 {
		return noRender(o)
	}
	n := 0
	for _, r := range seen {
		if r.Status == rendered {
			n++
		}
	}
	o.Actual = fmt.Sprintf("%d of %s rendered", n, count(len(seen), "widget"))
	if n > 0 {
		o.Result, o.Reason = Pass, o.Actual
		return o
	}
	o.Result, o.Reason = Fail, fmt.Sprintf("%s; the first: %s has the status %s", o.Actual, tool(seen[0].Tool), Quoted(seen[0].Status))
	return o
}

// noRender fails a check of widgets without any in scope.
func noRender(o Outcome) Outcome {
	o.Result, o.Actual, o.Reason = Fail, "no widget", "no widget was observed"
	return o
}
