package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/schema"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
)

var toolResultMatchesSchema = &Kind{
	Name:  "toolResultMatchesSchema",
	Title: "Every result fits a JSON Schema",
	Text: `Validates each result in scope: its structuredContent, else its text read as JSON. Fails when one
breaks the schema or carries no JSON, and when no call was answered though all was captured. Results with isError: true
count too. A schema that cannot be used, a result that cannot be read or was cut before its JSON ended, a call
without a result where no other has one, and results that may be missing are errors, unless a violation was
seen. The schema is draft 2020-12, or draft-07 where its $schema says so; references stay inside it, and format
is never asserted.`,
	Example:  `{type: toolResultMatchesSchema, toolName: find_order, schema: {type: object, required: [total]}}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolResults},
	Fields: []Field{
		// grading.md 1.5: at most 16,384 UTF-8 bytes as JSON.
		{Name: "schema", Type: JSON, Required: true, Max: 16_384, Text: "The JSON Schema."},
		toolNameField,
	},
	Notes: []string{
		"A schema of a dialect other than draft 2020-12 and draft-07, or one that cannot be compiled, is an error of every row, not of the suite.",
		"The value may have at most 4 MiB, 500,000 values and be nested 200 deep; past that the row is an error.",
	},
	Evaluate: reads(beginResultSchema),
	begin:    beginResultSchema,
}

func beginResultSchema(c *Check, ev *Evidence) *reading {
	field, ok := c.Field("schema")
	if !ok {
		return decided(errorOutcome("schema is missing"))
	}
	name, named := c.Text("toolName")
	const expected = "results that fit the schema"
	var s *schema.Schema
	var failure error // of the schema
	var bad unread
	var wrong []string
	var blamed cites
	total, inScope, cut := 0, 0, false
	violated := func(r *ToolResult, what string) {
		if total++; len(wrong) < maxListed {
			wrong = append(wrong, r.String()+": "+what)
		}
		blamed.note(r.Seq)
		blamed.note(r.Record)
	}
	return &reading{result: func(_ int, g *received) {
		r := g.r
		if named && r.Tool != name {
			return
		}
		if inScope++; inScope == 1 {
			s, failure = ev.Schemas.Compile(c.schemaText(field))
		}
		if failure != nil || cut {
			return
		}
		content, err := g.Content()
		if err != nil {
			bad.add(r.String(), err, r.Seq, r.Record)
			return
		}
		v, size, err := g.payload()
		if err == nil && v == nil {
			if !content.Truncated {
				violated(r, "no JSON in it")
				return
			}
			// Nothing behind a payload that was cut is looked at (grading.md 1.5).
			bad.add(r.String(), errCut, r.Seq, r.Record)
			cut = true
			return
		}
		if err == nil && content.Truncated {
			bad.add(r.String(), errCut, r.Seq, r.Record)
		}
		var texts []string
		if err == nil {
			violations, e := s.Validate(v, size)
			for _, x := range violations {
				texts = append(texts, describeIn(x, "the result"))
			}
			err = e
		}
		switch {
		case err != nil:
			bad.add(r.String(), err, r.Seq, r.Record)
		case len(texts) > 0:
			violated(r, list(texts, len(texts)))
		}
	}, end: func() Outcome {
		o := Outcome{Expected: expected}
		switch {
		case inScope == 0:
			o, none := ev.unanswered(name, named)
			if o.Expected = expected; none {
				o.Result = Fail
			}
			return o
		case failure != nil:
			o.Result, o.Reason = Error, failure.Error()
			return o
		case total > 0:
			o.Result = Fail
			o.Actual = fmt.Sprintf("%d of %s", total, count(inScope, "result"))
			o.Reason = list(wrong, total)
			blamed.cite(&o)
			return o
		}
		o.Actual = count(inScope, "result") + ", no violation"
		if bad.decide(&o) {
			return o
		}
		o.Reason = o.Actual
		if state := ev.State(ToolResults); state != session.Complete {
			o.Result = Error
			o.Reason = fmt.Sprintf("%s, and results are %s", o.Actual, state)
			return o
		}
		o.Result = Pass
		if s.HasFormat() {
			o.Reason += " (format is not asserted)"
		}
		return o
	}}
}

// schemaText is the JSON text of a field of the check.
func (c *Check) schemaText(field *value.Value) []byte { return value.Plain(nil, field) }
