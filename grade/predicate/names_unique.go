package predicate

import "fmt"

var toolNamesUnique = &Kind{
	Name:     "toolNamesUnique",
	Title:    "No tool name stands twice in a server's list",
	Text:     `Fails when a server lists two tools of one name. The same name at two servers is fine.`,
	Example:  `{type: toolNamesUnique}`,
	Since:    1,
	Channels: []Channel{ToolDeclarations},
	Notes:    []string{"An entry without a name fails too.", catalogNote},
	Evaluate: func(_ *Check, ev *Evidence) Outcome {
		type key struct{ server, name string }
		times := map[key]int{}
		for i := range ev.Declarations {
			d := &ev.Declarations[i]
			times[key{d.ServerKey, d.Tool.Name}]++
		}
		// One defect, one offence: the second entry of a name, not both.
		seen := map[key]bool{}
		return evalDeclarations(ev, "every name once within its server", func(d *Declaration) (string, error) {
			if !d.Tool.HasName {
				return "it has no name", nil
			}
			k := key{d.ServerKey, d.Tool.Name}
			if n := times[k]; n > 1 && !seen[k] {
				seen[k] = true
				return fmt.Sprintf("listed %d times", n), nil
			}
			return "", nil
		})
	},
}
