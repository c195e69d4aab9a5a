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
	Evaluate: evalRepeated,
}

func evalRepeated(c *Check, ev *Evidence) Outcome {
	name, named := c.Text("toolName")
	o := Outcome{Expected: "no call like the one before it"}
	// At most two calls' arguments are held at once; they are read only where the
	// names are equal.
	type read struct {
		v   *value.Value
		err error
	}
	args := func(call *CallEvidence) (r read) {
		r.v, _, r.err = call.arguments()
		return r
	}
	calls := ev.wire("", false)
	var repeats []*CallEvidence
	var broken error
	var brokenAt *CallEvidence
	var last read
	have := false // last is the call's before
	for i := 1; i < len(calls); i++ {
		before, call := calls[i-1], calls[i]
		if call.Tool != before.Tool || named && call.Tool != name {
			have = false
			continue
		}
		if !have {
			last = args(before)
		}
		now := args(call)
		for _, r := range []read{last, now} {
			var text *notJSON
			if r.err != nil && !errors.As(r.err, &text) && broken == nil {
				broken, brokenAt = r.err, call
			}
		}
		if last.err == nil && now.err == nil && value.Equal(last.v, now.v) {
			repeats = append(repeats, call)
		}
		last, have = now, true
	}
	switch {
	case len(repeats) > 0:
		o.Result = Fail
		o.Actual = count(len(repeats), "repeat")
		o.Reason = "repeats the call before it: " + listCalls(repeats)
		for _, call := range repeats {
			o.cite(call.Seq)
			o.Calls = append(o.Calls, CallRef{call.Seq, call.Index})
		}
	case broken != nil:
		o.Result = Error
		o.Reason = fmt.Sprintf("%s or the call before it: %v", brokenAt.seen(), broken)
		o.cite(brokenAt.Seq)
	default:
		o.Result = Pass
		o.Actual = fmt.Sprintf("none in %s", count(len(calls), "call"))
		o.Reason = fmt.Sprintf("%s, no repeat", count(len(calls), "call"))
	}
	return o
}
