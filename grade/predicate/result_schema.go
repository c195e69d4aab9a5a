package predicate

import (
	"fmt"

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
	Evaluate: evalResultSchema,
}

func evalResultSchema(c *Check, ev *Evidence) Outcome {
	field, ok := c.Field("schema")
	if !ok {
		return errorOutcome("schema is missing")
	}
	name, named := c.Text("toolName")
	const expected = "results that fit the schema"
	results := ev.resultsOf(name, named)
	if len(results) == 0 {
		o, none := ev.unanswered(name, named)
		if o.Expected = expected; none {
			o.Result = Fail
		}
		return o
	}
	o := Outcome{Expected: expected}
	s, err := ev.Schemas.Compile(value.Plain(nil, field))
	if err != nil {
		o.Result, o.Reason = Error, err.Error()
		return o
	}
	var bad unread
	var wrong []string
	total := 0
	violated := func(r *ToolResult, what string) {
		if total++; len(wrong) < maxListed {
			wrong = append(wrong, fmt.Sprintf("%s: %s", r, what))
		}
		o.citeResult(r)
	}
	for _, r := range results {
		content, err := r.Content()
		if err != nil {
			bad.add(r.String(), err, r.Seq, r.Record)
			continue
		}
		v, size, err := content.payload()
		if err == nil && v == nil {
			if !content.Truncated {
				violated(r, "no JSON in it")
				continue
			}
			// Nothing behind a payload that was cut is looked at (grading.md 1.5).
			bad.add(r.String(), errCut, r.Seq, r.Record)
			break
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
	}
	if total > 0 {
		o.Result = Fail
		o.Actual = fmt.Sprintf("%d of %s", total, count(len(results), "result"))
		o.Reason = list(wrong, total)
		return o
	}
	o.Actual = fmt.Sprintf("%s, no violation", count(len(results), "result"))
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
}
