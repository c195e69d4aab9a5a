package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// Its title is sixlink's own (grading.md 0.2.15): the kind does not say whether a
// schema is valid.
var toolInputSchemasWellFormed = &Kind{
	Name:  "toolInputSchemasWellFormed",
	Title: "Every parameter has a description",
	Text: `Fails when a tool's inputSchema is no object with type: object, or when one of its top-level properties is no
object with a description that is not blank. A schema without properties is fine. It does not say whether the
schema is a valid one: argumentsMatchToolSchema shows that by using it.`,
	Example:  `{type: toolInputSchemasWellFormed}`,
	Since:    1,
	Channels: []Channel{ToolDeclarations},
	Notes:    []string{catalogNote},
	Evaluate: func(_ *Check, ev *Evidence) Outcome {
		return evalDeclarations(ev, "an inputSchema of type object with a description of every property", func(d *Declaration) (string, error) {
			f := remember(ev.Schemas, func(s *Schemas) *map[string]fault { return &s.faults }, d.Tool.InputSchema, func() (f fault) {
				f.why, f.err = inputSchemaFault(d)
				return f
			})
			return f.why, f.err
		})
	},
}

func inputSchemaFault(d *Declaration) (string, error) {
	if len(d.Tool.InputSchema) == 0 {
		return "no inputSchema", nil
	}
	if !isObject(d.Tool.InputSchema) {
		return "its inputSchema is no object", nil
	}
	s, err := (*Schemas)(nil).entryValue(d.Tool.InputSchema, "inputSchema")
	if err != nil {
		return "", err
	}
	if t, ok := s.Get("type"); !ok || t.Kind != value.String || t.Str != "object" {
		return "the type of its inputSchema is not object", nil
	}
	properties, ok := s.Get("properties")
	if !ok {
		return "", nil
	}
	if properties.Kind != value.Object {
		return "the properties of its inputSchema are no object", nil
	}
	var bad []string
	for i := range properties.Obj {
		p := &properties.Obj[i]
		text, ok := p.Value.Get("description")
		if !ok || text.Kind != value.String || value.Trim(text.Str) == "" {
			bad = append(bad, Quoted(p.Key))
		}
	}
	if len(bad) > 0 {
		return fmt.Sprintf("no description of %s", list(bad, len(bad))), nil
	}
	return "", nil
}
