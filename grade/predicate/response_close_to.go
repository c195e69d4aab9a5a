package predicate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
)

var responseCloseTo = &Kind{
	Name:  "responseCloseTo",
	Title: "The final message is close to a reference",
	Text: `Compares the final message of the conversation, or of the turn, with a reference: the number of
characters to insert, delete or replace, divided by the length of the longer text. Passes when that distance is at
most maxDistance. 0 asks for equal texts; an empty message has distance 1. A conversation that ends without a
message, texts of over 100,000 characters, and texts that differ over too long a part are errors.` + textNeeded,
	Example:  `{type: responseCloseTo, reference: "Order 1042 is refunded.", maxDistance: 0.2, normalizeWhitespace: true}`,
	Since:    1,
	Channels: []Channel{FinalText},
	Fields: []Field{
		{Name: "reference", Type: Text, Required: true, MaxUnits: maxCloseText, Text: "The text to come close to."},
		{Name: "maxDistance", Type: Share, Required: true, Text: "The largest distance that passes, from 0 to 1."},
		caseSensitiveField,
		{Name: "normalizeWhitespace", Type: Flag, Text: "Whether every run of white space counts as one space, and none at the ends. Default false."},
	},
	Notes: []string{
		caseNote,
		"Characters are code points; there is no Unicode normalization.",
		"Between equal beginnings and ends the two texts may differ over at most 4,000,000 pairs of characters: past that the outcome is an error.",
	},
	Faults:   closeFaults,
	Evaluate: evalCloseTo,
}

// The bounds of grading.md 1.6 "responseCloseTo".
const (
	maxCloseText  = 100_000   // UTF-16 units of either text, before and after normalizing
	maxCloseCells = 4_000_000 // product of the lengths that are compared
)

func closeFaults(c *Check) []Fault {
	reference, _ := c.Text("reference")
	switch text := normalized(c, reference); {
	case text == "":
		return []Fault{{"reference", "nothing is left of it when white space is normalized"}}
	case value.UTF16Len(text) > maxCloseText:
		return []Fault{{"reference", fmt.Sprintf("it has more than %d characters in lower case", maxCloseText)}}
	}
	return nil
}

// normalized is a text as it is compared.
func normalized(c *Check, text string) string {
	if !c.Flag("caseSensitive") {
		text = value.Lower(text)
	}
	if c.Flag("normalizeWhitespace") {
		text = strings.Join(strings.FieldsFunc(text, value.IsSpace), " ")
	}
	return text
}

func evalCloseTo(c *Check, ev *Evidence) Outcome {
	reference, ok := c.Text("reference")
	limit, bounded := maxDistance(c)
	if !ok || !bounded || len(closeFaults(c)) > 0 || value.UTF16Len(reference) > maxCloseText {
		return errorOutcome("reference or maxDistance is out of bounds")
	}
	talk, o := ev.needs(FinalText)
	o.Expected = "a final message close to " + excerpt(reference)
	if talk == nil {
		return o
	}
	text, shown := talk.finalText()
	o.Actual = shown
	fail := func(format string, args ...any) Outcome {
		o.Result, o.Reason = Error, fmt.Sprintf(format, args...)
		return o
	}
	if !talk.HasFinalText {
		return fail("the conversation ends without a message to compare")
	}
	long := func(s string) bool { return len(s) > maxCloseText && value.UTF16Len(s) > maxCloseText }
	if long(text) {
		return fail("the final message has more than %d characters: it is not compared", maxCloseText)
	}
	if text = normalized(c, text); long(text) {
		return fail("the final message has more than %d characters in lower case: it is not compared", maxCloseText)
	}
	a, b := value.CodePoints(text), value.CodePoints(normalized(c, reference))
	edits, ok := levenshtein(a, b)
	if !ok {
		return fail("the final message and the reference differ over too long a part to be compared: more than %d pairs of characters", maxCloseCells)
	}
	length := max(len(a), len(b))
	o.Result = Pass
	word := "within"
	// In doubles, rounded alike on both sides: a distance that was copied from a
	// report, such as 0.3333333333333333, is one that passes.
	if float64(edits)/float64(length) > limit {
		o.Result, word = Fail, "over"
	}
	o.Reason = fmt.Sprintf("%s over %s, %s the distance of %s", count(edits, "edit"), count(length, "character"), word, strconv.FormatFloat(limit, 'f', -1, 64))
	if o.Result == Fail {
		o.Reason += ": " + shown
	}
	return o
}

// maxDistance is the field of that name; ok is false when it is not from 0 to 1.
func maxDistance(c *Check) (limit float64, ok bool) {
	v, ok := c.Field("maxDistance")
	if !ok || v.Kind != value.Number || !value.Within01(v.Str) {
		return 0, false
	}
	limit, err := strconv.ParseFloat(v.Str, 64)
	return limit, err == nil
}

// levenshtein counts the edits between two texts; ok is false when they differ
// over more than maxCloseCells pairs.
func levenshtein(a, b []rune) (edits int, ok bool) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(b) == 0 {
		return len(a), true
	}
	if len(a) > maxCloseCells/len(b) {
		return 0, false
	}
	row := make([]int32, len(b)+1)
	for j := range row {
		row[j] = int32(j)
	}
	for i, ra := range a {
		corner := row[0] // of the row before, one to the left
		row[0] = int32(i + 1)
		for j, rb := range b {
			cost := corner
			if ra != rb {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, corner+1, row[j]+1)
		}
	}
	return int(row[len(b)]), true
}
