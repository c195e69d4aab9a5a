package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
)

var responseMatches = &Kind{
	Name:  "responseMatches",
	Title: "The final message matches a pattern",
	Text: `Passes when the pattern matches anywhere in the final message of the conversation, or of the turn. A
conversation that ends without a message has an empty one. A message of over 100,000 characters is an
error.` + textNeeded,
	Example:  `{type: responseMatches, pattern: 'receipt #\d+'}`,
	Since:    1,
	Channels: []Channel{FinalText},
	Fields: []Field{
		{Name: "pattern", Type: Text, Required: true, Text: "An RE2 expression, unanchored; $ is the end of the text, and . no line feed."},
	},
	Notes: []string{
		"Patterns are RE2: look-around and back-references are refused when the suite is read.",
		"A pattern that compiles to over 10,000 instructions is refused.",
	},
	Faults:   responsePattern,
	Evaluate: evalResponseMatches,
}

// responsePattern compiles the pattern and keeps it in the check.
func responsePattern(c *Check) []Fault {
	p, fault := compileResponse(c)
	if fault != nil {
		return []Fault{*fault}
	}
	c.patterns = p
	return nil
}

func compileResponse(c *Check) (*patterns, *Fault) {
	text, ok := c.Text("pattern")
	if !ok || text == "" {
		return nil, &Fault{"pattern", "expected a string of at least one character"}
	}
	re, err := compilePattern(text, "")
	if err != nil {
		return nil, &Fault{"pattern", err.Error()}
	}
	p := &patterns{}
	p.exprs = append(p.exprs, newExpr(re, re.String()))
	return p, nil
}

func evalResponseMatches(c *Check, ev *Evidence) Outcome {
	p := c.patterns
	if p == nil { // a check that no loader has seen
		var fault *Fault
		if p, fault = compileResponse(c); fault != nil {
			return errorOutcome("%s: %s", fault.Field, fault.Msg)
		}
	}
	talk, o := ev.needs(FinalText)
	pattern, _ := c.Text("pattern")
	o.Expected = "a final message that matches " + excerpt(pattern)
	if talk == nil {
		return o
	}
	text, shown := talk.finalText()
	o.Actual = shown
	if !shortEnough(text) {
		// A limit is no fail (grading.md 0.2.9).
		o.Result, o.Reason = Error, fmt.Sprintf("the final message is over %d characters: it is not searched", maxSubject)
		return o
	}
	if p.match(value.ValidText(text)) {
		o.Result, o.Reason = Pass, "the final message matches"
		return o
	}
	o.Result, o.Reason = Fail, "the final message does not match: "+shown
	return o
}
