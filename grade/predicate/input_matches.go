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
	Evaluate: reads(beginInputMatches),
	begin:    beginInputMatches,
}

func beginInputMatches(c *Check, ev *Evidence) *reading {
	name, ok := c.Text("toolName")
	if !ok || name == "" {
		return decided(errorOutcome("toolName is missing or empty"))
	}
	x, o := newMatching(c)
	if x == nil {
		return decided(o)
	}
	return &reading{call: func(_ int, a *sent) {
		if !a.c.HostOnly && a.c.Tool == name {
			x.see(a.c.Tool, CallRef{a.c.Seq, a.c.Index}, argumentsSubject(a, x.key, x.hasPath))
		}
	}, end: func() Outcome { return x.judge(false, "call") }}
}

// argumentsSubject is what patterns see of a call's arguments. A value takes a
// character and a comma at least, so that more than maxSubject values never fit,
// and need not be built.
func argumentsSubject(a *sent, key string, hasKey bool) subject {
	text, err := a.argumentsText()
	if err != nil {
		return subject{unreadable: err.Error()}
	}
	if v, _, err := a.arguments(); err == nil && a.values <= maxSubject {
		// Another check wants it too, as a rule.
		if !hasKey {
			return a.subject()
		}
		if at, ok := v.Get(key); ok {
			return keySubject(at)
		}
		return subject{absent: true}
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

// subject is that of the arguments as a whole.
func (a *sent) subject() subject {
	if !a.formed {
		a.form, a.formed = wholeSubject(&a.v), true
	}
	return a.form
}
