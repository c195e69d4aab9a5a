package predicate

import "fmt"

var widgetNoConsoleErrors = &Kind{
	Name:  "widgetNoConsoleErrors",
	Title: "No widget wrote an error to its console",
	Text: `Passes when no observation in scope, whatever its status, has an error that the widget wrote to its
console.` + renderNeeded,
	Example:  `{type: widgetNoConsoleErrors}`,
	Since:    1,
	Channels: []Channel{Renders},
	Fields:   []Field{toolNameField},
	Notes:    []string{renderNote},
	Evaluate: evalConsoleErrors,
}

func evalConsoleErrors(c *Check, ev *Evidence) Outcome {
	talk, o := ev.needs(Renders)
	o.Expected = "no error on a widget's console"
	if talk == nil {
		return o
	}
	seen := talk.rendersOf(c.Text("toolName"))
	if len(seen) == 0 {
		return noRender(o)
	}
	n := 0
	var first *Render
	for _, r := range seen {
		if r.ConsoleErrors > 0 {
			if n++; first == nil {
				first = r
			}
		}
	}
	o.Actual = fmt.Sprintf("%d of %s with errors", n, count(len(seen), "widget"))
	o.Reason = o.Actual
	if o.Result = Pass; n > 0 {
		o.Result = Fail
		o.Reason += fmt.Sprintf("; the first: %s with %s", tool(first.Tool), count(first.ConsoleErrors, "error"))
	}
	return o
}
