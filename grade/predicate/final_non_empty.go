package predicate

import "github.com/sixlink/sixlink/grade/internal/value"

var finalAssistantMessageNonEmpty = &Kind{
	Name:  "finalAssistantMessageNonEmpty",
	Title: "The conversation ends with a message",
	Text: `Passes when the final message of the conversation, or of the turn, has a character that is no white
space.` + textNeeded,
	Example:  `{type: finalAssistantMessageNonEmpty}`,
	Since:    1,
	Channels: []Channel{FinalText},
	Evaluate: evalNonEmpty,
}

func evalNonEmpty(_ *Check, ev *Evidence) Outcome {
	talk, o := ev.needs(FinalText)
	o.Expected = "a final message that is not blank"
	if talk == nil {
		return o
	}
	text, shown := talk.finalText()
	o.Actual = shown
	if value.Trim(text) == "" {
		o.Result, o.Reason = Fail, "the final message is blank"
		if !talk.HasFinalText {
			o.Reason = "the conversation ends without a message"
		}
		return o
	}
	o.Result, o.Reason = Pass, "the conversation ends with a message"
	return o
}
