package predicate

import (
	"errors"

	"github.com/sixlink/sixlink/grade/internal/value"
)

var toolInputMatches = &Kind{
	Name:  "toolInputMatches",
	Title: "Arguments match patterns",
	Text: `Searches the arguments of every call to the tool with RE2 patterns, and passes when at least min (1) and at
most max calls match; a call matches when all patterns match it. The text is the canonical JSON of the arguments,
keys sorted, or with path the value of one key. A tool that was never called fails, unless min is 0: pair it with
toolCalledAtLeastOnce, so that a missing call shows at the selection link. Where calls may have been lost, too few
matches, and a pass that needs max, are errors.`,
	Example:  `{type: toolInputMatches, toolName: search, patterns: ["refund", "\\b1042\\b"], flags: i, path: /query}`,
	Since:    1,
	Fields:   append([]Field{toolField("The tool whose arguments are searched.")}, patternFields...),
	Channels: []Channel{ToolCalls},
	Notes:    append([]string{"A call without arguments counts as {}.", wireNote}, patternNotes...),
	Faults:   patternFaults,
	Evaluate: evalInputMatches,
}

func evalInputMatches(c *Check, ev *Evidence) Outcome {
	name, ok := c.Text("toolName")
	if !ok || name == "" {
		return errorOutcome("toolName is missing or empty")
	}
	calls := ev.wire(name, true)
	units := make([]patternUnit, len(calls))
	for i, call := range calls {
		units[i] = patternUnit{tool: call.Tool, call: CallRef{call.Seq, call.Index}, read: func(key string, hasKey bool) subject {
			return argumentsSubject(call, key, hasKey)
		}}
	}
	return evalPatterns(c, units, false, "call")
}

// argumentsSubject is what patterns see of a call's arguments. A value takes a
// character and a comma at least, so that more than maxSubject values never fit,
// and need not be built.
func argumentsSubject(call *CallEvidence, key string, hasKey bool) subject {
	text, err := call.argumentsText()
	if err != nil {
		return subject{unreadable: err.Error()}
	}
	o := value.Options{MaxDepth: maxArgumentsDepth, MaxValues: maxSubject}
	if hasKey {
		v, _, err := value.Lookup(text, key, o)
		switch {
		case errors.Is(err, value.ErrValues):
			return subject{unreadable: tooLong}
		case err != nil:
			return subject{unreadable: argumentsError(err).Error()}
		case v == nil:
			return subject{absent: true}
		}
		return keySubject(v)
	}
	v, err := value.Parse(text, o)
	switch {
	case errors.Is(err, value.ErrValues):
		return subject{unreadable: tooLong}
	case err != nil:
		return subject{unreadable: argumentsError(err).Error()}
	}
	return wholeSubject(&v)
}
