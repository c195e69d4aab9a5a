package predicate

import "bytes"

var toolOutputSchemasPresent = &Kind{
	Name:     "toolOutputSchemasPresent",
	Title:    "Every tool has an output schema",
	Text:     `Fails when a tool's outputSchema is absent or null. It does not look into the schema.`,
	Example:  `{type: toolOutputSchemasPresent, role: advisory}`,
	Since:    1,
	Channels: []Channel{ToolDeclarations},
	Notes:    []string{catalogNote},
	Evaluate: func(_ *Check, ev *Evidence) Outcome {
		return evalDeclarations(ev, "an outputSchema", func(d *Declaration) (string, error) {
			if raw := bytes.TrimSpace(d.Tool.OutputSchema); len(raw) == 0 || string(raw) == "null" {
				return "no outputSchema", nil
			}
			return "", nil
		})
	},
}
