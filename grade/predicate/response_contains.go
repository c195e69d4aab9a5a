package predicate

var responseContains = &Kind{
	Name:  "responseContains",
	Title: "The final message has a text in it",
	Text: `Passes when the final message of the conversation, or of the turn, contains the needle. A
conversation that ends without a message has an empty one, and fails.` + textNeeded,
	Example:  `{type: responseContains, needle: receipt}`,
	Since:    1,
	Channels: []Channel{FinalText},
	Fields: []Field{
		{Name: "needle", Type: Text, Required: true, Text: "The text to find."},
		caseSensitiveField,
	},
	Notes:    []string{caseNote},
	Evaluate: evalResponseContains,
}

func evalResponseContains(c *Check, ev *Evidence) Outcome {
	n, ok := newNeedle(c)
	if !ok {
		return Outcome{Result: Fail, Reason: "needle is empty"}
	}
	talk, o := ev.needs(FinalText)
	o.Expected = "a final message with " + excerpt(n.text) + " in it"
	if talk == nil {
		return o
	}
	text, shown := talk.finalText()
	o.Actual = shown
	if n.in(text) {
		o.Result, o.Reason = Pass, "the final message has it"
		return o
	}
	o.Result, o.Reason = Fail, "not in the final message: "+shown
	return o
}
