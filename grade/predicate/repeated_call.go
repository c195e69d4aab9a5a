package predicate

import (
	"errors"
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
)

var noRepeatedIdenticalCall = &Kind{
	Name:  "noRepeatedIdenticalCall",
	Title: "No call repeats the one before it",
	Text: `Fails when a call has the name of the call directly before it and equal arguments. The order of keys does
not matter, that of lists does. Another call between two equal ones makes them no repeat, also with toolName: it
picks which repeats are reported and removes no call. Where calls may have been lost, a repeat that was seen fails,
and none is an error.`,
	Example:  `{type: noRepeatedIdenticalCall, role: advisory}`,
	Since:    1,
	Fields:   []Field{{Name: "toolName", Type: Text, Text: "Only repeats of this tool are reported. Names compare exactly."}},
	Channels: []Channel{ToolCalls},
	Notes: []string{
		"Polling repeats calls on purpose: the check is an observation.",
		"A call without arguments counts as {}. Arguments that are no JSON equal nothing; arguments beyond a limit are an error.",
		wireNote,
	},
	Evaluate: reads(beginRepeated),
	begin:    beginRepeated,
}

func beginRepeated(c *Check, ev *Evidence) *reading {
	name, named := c.Text("toolName")
	// At most two calls' arguments are held at once; they are read only where the
	// names are equal.
	var repeats calls
	var blamed []CallRef
	var broken error
	var brokenAt *CallEvidence
	var before *sent // the call before, on the wire
	counted := 0
	return &reading{call: func(_ int, a *sent) {
		if a.c.HostOnly {
			return
		}
		counted++
		last := before
		before = a
		if last == nil || a.c.Tool != last.c.Tool || named && a.c.Tool != name {
			return
		}
		was, _, err1 := last.arguments()
		now, _, err2 := a.arguments()
		for _, err := range []error{err1, err2} {
			var text *notJSON
			if err != nil && !errors.As(err, &text) && broken == nil {
				broken, brokenAt = err, a.c
			}
		}
		if err1 == nil && err2 == nil && value.Equal(was, now) {
			repeats.add(a.c)
			blamed = append(blamed, CallRef{a.c.Seq, a.c.Index})
		}
	}, end: func() Outcome {
		o := Outcome{Expected: "no call like the one before it"}
		switch {
		case repeats.n > 0:
			o.Result = Fail
			o.Actual = count(repeats.n, "repeat")
			o.Reason = "repeats the call before it: " + repeats.list()
			repeats.cite(&o)
			o.Calls = blamed
		case broken != nil:
			o.Result = Error
			o.Reason = fmt.Sprintf("%s or the call before it: %v", brokenAt.seen(), broken)
			o.cite(brokenAt.Seq)
		default:
			o.Result = Pass
			o.Actual = "none in " + count(counted, "call")
			o.Reason = count(counted, "call") + ", no repeat"
		}
		return o
	}}
}
