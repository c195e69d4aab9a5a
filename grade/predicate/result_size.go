package predicate

import (
	"errors"
	"fmt"
	"strconv"

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
	Evaluate: reads(beginResultSize),
	begin:    beginResultSize,
}

func beginResultSize(c *Check, ev *Evidence) *reading {
	limit, ok := c.Int("maxBytes")
	if !ok || limit <= 0 {
		return decided(errorOutcome("maxBytes is no positive whole number"))
	}
	name, named := c.Text("toolName")
	var bad unread
	var largest *ToolResult
	var size ResultSize
	inScope := 0
	return &reading{result: func(_ int, g *received) {
		r := g.r
		if named && r.Tool != name {
			return
		}
		inScope++
		n, err := g.Size()
		if err == nil && !n.Complete {
			err = errors.New("its size was not measured whole")
		}
		if err != nil {
			bad.add(r.String(), err, r.Seq, r.Record)
			return
		}
		if largest == nil || n.Bytes > size.Bytes {
			largest, size = r, n
		}
	}, end: func() Outcome {
		o := Outcome{Expected: "every result under " + strconv.FormatInt(limit, 10) + " bytes"}
		if inScope == 0 {
			expected := o.Expected
			o, none := ev.unanswered(name, named)
			if o.Expected = expected; none {
				o.Result = Pass
			}
			return o
		}
		// grading.md 1.5: an unknown size decides before any known one.
		if bad.decide(&o) {
			return o
		}
		o.citeResult(largest)
		bytes := strconv.FormatInt(size.Bytes, 10)
		o.Actual = bytes + " bytes"
		state := ev.State(ToolResults)
		if size.Bytes >= limit {
			o.Result = Fail
			o.Reason = fmt.Sprintf("%s has %d bytes (%s), not under %d", largest, size.Bytes, size.Basis, limit)
			return o
		}
		o.Reason = "the largest of " + count(inScope, "result") + ": " + largest.String() + " has " + bytes + " bytes (" + size.Basis + ")"
		if state != session.Complete {
			o.Result = Error
			o.Reason += fmt.Sprintf(", and results are %s", state)
		} else {
			o.Result = Pass
		}
		return o
	}}
}
