package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// defaultMinLength is the minLength of toolDescriptionsPresent (grading.md 1.7).
const defaultMinLength = 20

var toolDescriptionsPresent = &Kind{
	Name:     "toolDescriptionsPresent",
	Title:    "Every tool has a description",
	Text:     `Fails when a tool's description, white space at its ends removed, is shorter than minLength.`,
	Example:  `{type: toolDescriptionsPresent, minLength: 40}`,
	Since:    1,
	Fields:   []Field{{Name: "minLength", Type: WholeNum, Min: 1, Text: "The shortest description that will do, in UTF-16 units. Default 20."}},
	Channels: []Channel{ToolDeclarations},
	Notes:    []string{catalogNote},
	Evaluate: func(c *Check, ev *Evidence) Outcome {
		least := int64(defaultMinLength)
		if _, has := c.Field("minLength"); has {
			var ok bool
			if least, ok = c.Int("minLength"); !ok || least < 1 {
				return errorOutcome("minLength is no whole number from 1")
			}
		}
		return evalDeclarations(ev, fmt.Sprintf("a description of at least %d characters", least), func(d *Declaration) (string, error) {
			if !d.Tool.HasDesc {
				return "no description", nil
			}
			if n := value.UTF16Len(value.Trim(d.Tool.Description)); int64(n) < least {
				return fmt.Sprintf("a description of %s", count(n, "character")), nil
			}
			return "", nil
		})
	},
}
