package predicate

import (
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
)

var noEndingQuestion = &Kind{
	Name:  "noEndingQuestion",
	Title: "The final message does not end with a question",
	Text: `An observation. Fails when the last line of the final message that is not blank ends with a question
mark. An empty message passes.` + textNeeded,
	Example:  `{type: noEndingQuestion, role: advisory}`,
	Since:    1,
	Channels: []Channel{FinalText},
	Notes: []string{
		"Only the ASCII question mark counts.",
		"It is right about what it sees and may be wrong about what it means: some questions must be asked.",
	},
	Evaluate: evalEndingQuestion,
}

func evalEndingQuestion(_ *Check, ev *Evidence) Outcome {
	talk, o := ev.needs(FinalText)
	o.Expected = "no question at the end"
	if talk == nil {
		return o
	}
	text, shown := talk.finalText()
	o.Actual = shown
	// Blank lines at the end go with the white space there.
	text = value.Trim(text)
	last := value.Trim(text[strings.LastIndexByte(text, '\n')+1:])
	o.Actual = excerpt(last)
	if strings.HasSuffix(last, "?") {
		o.Result, o.Reason = Fail, "the last line is a question: "+o.Actual
		return o
	}
	o.Result, o.Reason = Pass, "the last line is no question"
	if last == "" {
		o.Actual = shown
		o.Reason = "there is no line that could be a question"
	}
	return o
}
