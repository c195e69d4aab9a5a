package predicate

import "strings"

var toolAnnotationsPresent = &Kind{
	Name:    "toolAnnotationsPresent",
	Title:   "Every tool has annotations",
	Text:    `Fails when a tool has no annotations object, or one in which a required hint is no boolean.`,
	Example: `{type: toolAnnotationsPresent, require: [readOnlyHint, destructiveHint]}`,
	Since:   1,
	Fields: []Field{{Name: "require", Type: Texts, MaxItems: 2, Unique: true, Words: []string{"readOnlyHint", "destructiveHint"},
		Text: "Hints that must be true or false in each. Default none."}},
	Channels: []Channel{ToolDeclarations},
	Notes:    []string{catalogNote},
	Evaluate: func(c *Check, ev *Evidence) Outcome {
		require, ok := c.Texts("require")
		if _, has := c.Field("require"); has && !ok {
			return errorOutcome("require is no list of hints")
		}
		expected := "annotations"
		if len(require) > 0 {
			expected += " with " + strings.Join(require, " and ")
		}
		return evalDeclarations(ev, expected, func(d *Declaration) (string, error) {
			if !isObject(d.Tool.Annotations) {
				return "no annotations", nil
			}
			if len(require) == 0 {
				return "", nil
			}
			a, err := ev.Schemas.entryValue(d.Tool.Annotations, "annotations")
			if err != nil {
				return "", err
			}
			for _, name := range require {
				if _, known := hint(a, name); !known {
					return "no " + name + " that is true or false", nil
				}
			}
			return "", nil
		})
	},
}
