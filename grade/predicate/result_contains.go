package predicate

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
)

var toolResultContains = &Kind{
	Name:  "toolResultContains",
	Title: "A result has a text in it",
	Text: `Passes when one result in scope contains the needle: in its text blocks, joined without separator, or
in its structuredContent written as JSON without spaces and with its keys in the order sent. Results
with isError: true are searched too; the text of a protocol error is no result. Fails when every result was
captured and none contains it, and when no call was answered though all was captured. A call without a result
where no other has one, a text that was cut, and a result that cannot be read are errors, unless another
result contains the needle.`,
	Example:  `{type: toolResultContains, needle: "Order 1042", toolName: find_order}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolResults},
	Fields: []Field{
		{Name: "needle", Type: Text, Required: true, MaxUnits: 1000, Text: "The text to find."},
		caseSensitiveField,
		toolNameField,
	},
	Notes:    []string{caseNote},
	Evaluate: reads(beginResultContains),
	begin:    beginResultContains,
}

// caseSensitiveField is what the kinds that look for a text share.
var caseSensitiveField = Field{Name: "caseSensitive", Type: Flag, Text: "Whether case counts. Default false."}

const caseNote = "Without caseSensitive both texts are put in lower case by Unicode's full mapping, in no locale."

// needle looks for a text, in lower case unless case counts.
type needle struct {
	text string
	fold bool
}

// newNeedle reads the fields needle and caseSensitive; ok is false for an empty needle.
func newNeedle(c *Check) (n needle, ok bool) {
	n.text, _ = c.Text("needle")
	if n.fold = !c.Flag("caseSensitive"); n.fold {
		n.text = value.Lower(n.text)
	}
	return n, n.text != ""
}

func (n needle) in(text string) bool {
	if n.fold && isASCII(text) {
		// Lower case is ASCII's own then, and a needle that is not ASCII is not in it.
		return isASCII(n.text) && indexASCII(text, n.text) >= 0
	}
	if n.fold {
		return value.LowerContains(text, n.text)
	}
	return strings.Contains(text, n.text)
}

func isASCII(s string) bool {
	for len(s) >= 8 {
		if (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&0x80 != 0 {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// inResult searches text, structuredContent and json, which stand on lines of
// their own (grading.md 1.5). Its content must have been read.
func (n needle) inResult(g *received) (found bool) {
	if strings.Contains(n.text, "\n") {
		var parts []string
		g.texts(func(text string) bool {
			parts = append(parts, text)
			return false
		})
		return n.in(strings.Join(parts, "\n"))
	}
	// A needle of one line cannot reach from one part into another, so large parts
	// need not be put together.
	g.texts(func(text string) bool {
		found = n.in(text)
		return found
	})
	return found
}

func beginResultContains(c *Check, ev *Evidence) *reading {
	n, ok := newNeedle(c)
	if !ok {
		return decided(Outcome{Result: Fail, Reason: "needle is empty"})
	}
	name, named := c.Text("toolName")
	expected := "a result with " + Quoted(n.text) + " in it"
	var hit *ToolResult
	var bad unread
	var seen cites
	total := 0
	return &reading{result: func(_ int, g *received) {
		r := g.r
		if hit != nil || named && r.Tool != name {
			return
		}
		total++
		seen.note(r.Seq)
		seen.note(r.Record)
		content, err := g.Content()
		if err == nil && n.inResult(g) {
			hit = r
			return
		}
		if err == nil {
			if err = content.Unread; err == nil && content.Truncated {
				err = errCut
			}
		}
		if err != nil {
			bad.add(r.String(), err, r.Seq, r.Record)
		}
	}, end: func() Outcome {
		o := Outcome{Expected: expected}
		switch {
		case hit != nil:
			o.Result = Pass
			o.Actual = "found"
			o.Reason = hit.String() + " has it"
			o.citeResult(hit)
			return o
		case total == 0:
			o, none := ev.unanswered(name, named)
			if o.Expected = expected; none {
				o.Result = Fail
			}
			return o
		}
		o.Actual = "none in " + count(total, "result")
		if bad.decide(&o) {
			return o
		}
		if s := ev.State(ToolResults); s != session.Complete {
			o.Result = Error
			o.Reason = fmt.Sprintf("%s, and results are %s", o.Actual, s)
			return o
		}
		o.Result = Fail
		o.restsOnUnseen = true
		o.Reason = o.Actual
		seen.cite(&o)
		return o
	}}
}
