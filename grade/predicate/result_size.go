package predicate

import (
	"errors"
	"fmt"

	"github.com/sixlink/sixlink/record/session"
)

var toolResultSizeUnder = &Kind{
	Name:  "toolResultSizeUnder",
	Title: "Every result is small enough",
	Text: `Compares the largest result with maxBytes; exactly maxBytes fails. The size is what the model would
see, as JSON without spaces in UTF-8: content, and structuredContent unless a text block says the same as JSON. It is
measured before any cut. A size that cannot be told, a call without a result where no other has one, and results
that may be missing are errors; of the last a result that is too large fails all the same. No call passes.`,
	Example:  `{type: toolResultSizeUnder, maxBytes: 64000, toolName: dump_logs}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolResults},
	Fields: []Field{
		{Name: "maxBytes", Type: WholeNum, Required: true, Min: 1, Text: "The limit in bytes; a size must be below it."},
		toolNameField,
	},
	Evaluate: evalResultSize,
}

func evalResultSize(c *Check, ev *Evidence) Outcome {
	limit, ok := c.Int("maxBytes")
	if !ok || limit <= 0 {
		return errorOutcome("maxBytes is no positive whole number")
	}
	name, named := c.Text("toolName")
	expected := fmt.Sprintf("every result under %d bytes", limit)
	results := ev.resultsOf(name, named)
	if len(results) == 0 {
		o, none := ev.unanswered(name, named)
		if o.Expected = expected; none {
			o.Result = Pass
		}
		return o
	}
	o := Outcome{Expected: expected}
	var bad unread
	var largest *ToolResult
	var size ResultSize
	for _, r := range results {
		n, err := r.Size()
		if err == nil && !n.Complete {
			err = errors.New("its size was not measured whole")
		}
		if err != nil {
			bad.add(r.String(), err, r.Seq, r.Record)
			continue
		}
		if largest == nil || n.Bytes > size.Bytes {
			largest, size = r, n
		}
	}
	// grading.md 1.5: an unknown size decides before any known one.
	if bad.decide(&o) {
		return o
	}
	o.citeResult(largest)
	o.Actual = fmt.Sprintf("%d bytes", size.Bytes)
	o.Reason = fmt.Sprintf("the largest of %s: %s has %d bytes (%s)", count(len(results), "result"), largest, size.Bytes, size.Basis)
	state := ev.State(ToolResults)
	switch {
	case size.Bytes >= limit:
		o.Result = Fail
		o.Reason = fmt.Sprintf("%s has %d bytes (%s), not under %d", largest, size.Bytes, size.Basis, limit)
	case state != session.Complete:
		o.Result = Error
		o.Reason += fmt.Sprintf(", and results are %s", state)
	default:
		o.Result = Pass
	}
	return o
}
