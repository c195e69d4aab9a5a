package predicate

var noDeprecatedToolExposed = &Kind{
	Name:     "noDeprecatedToolExposed",
	Title:    "No deprecated tool is listed",
	Text:     `Fails when a tool's own description says that it is deprecated.`,
	Example:  `{type: noDeprecatedToolExposed, role: advisory}`,
	Since:    1,
	Channels: []Channel{ToolDeclarations},
	Notes:    []string{deprecationNote, catalogNote},
	Evaluate: func(_ *Check, ev *Evidence) Outcome {
		return evalDeclarations(ev, "no tool that is described as deprecated", func(d *Declaration) (string, error) {
			if ev.Schemas.isDeprecated(d.Tool.Description) {
				return "described as deprecated: " + Quoted(d.Tool.Description), nil
			}
			return "", nil
		})
	},
}
