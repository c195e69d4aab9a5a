package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
)

var toolCalledWith = &Kind{
	Name:  "toolCalledWith",
	Title: "A tool was called with these arguments",
	Text: `Counts the calls to the tool whose arguments match, and passes when there are at least minCount.
argumentMatching says how arguments compare: partial (the default) looks at each top-level key of args.args and
ignores other keys; exact compares whole objects; ignore looks at the name alone. Where calls may have been lost,
enough of them pass, and too few are an error; so are arguments that cannot be read and would decide.`,
	Example: `{type: toolCalledWith, toolName: refund, args: {args: {orderId: 1042, reason: string}}}`,
	Since:   1,
	Fields: []Field{
		toolField("The tool that must be called."),
		{Name: "args", Type: Object, Required: true, Members: []string{"args", "argumentMatching"},
			Text: "args: the expected arguments, an object; argumentMatching: partial, exact or ignore."},
		{Name: "minCount", Type: WholeNum, Min: 1, Text: "At least so many calls must match. Default 1."},
	},
	Channels: []Channel{ToolCalls},
	Notes: []string{
		"In partial mode a top-level string any, string, number, boolean, object, array or null (trimmed, any case) stands for a value of that type; any wants the key alone.",
		"Below the top level, and in exact mode, there is no partial match and no placeholder. Numbers compare as exact decimals; 7 is not \"7\", null is not absent.",
		"A call without arguments counts as {}.",
		"A gating toolCalledWith is an expected call: the matcher grades it, in a turn with the turn's other expected calls. An advisory one is a row of its own.",
		hostOnlyNote,
	},
	Faults:   calledWithFaults,
	Evaluate: reads(beginCalledWith),
	begin:    beginCalledWith,
}

var argumentModes = []string{string(match.Partial), string(match.Exact), string(match.IgnoreArgs)}

func calledWithFaults(c *Check) []Fault {
	if _, _, fault := c.expectedArguments(); fault != nil {
		return []Fault{*fault}
	}
	return nil
}

// expectedArguments reads the field args of a toolCalledWith; fault says what is
// wrong with it.
func (c *Check) expectedArguments() (args *value.Value, mode match.ArgumentMode, fault *Fault) {
	outer, ok := c.Field("args")
	if !ok || outer.Kind != value.Object {
		return nil, "", &Fault{"args", "expected an object with args"}
	}
	if args, ok = outer.Get("args"); !ok || args.Kind != value.Object {
		return nil, "", &Fault{"args.args", "expected the arguments, an object"}
	}
	mode = match.Partial
	if m, ok := outer.Get("argumentMatching"); ok {
		field := Field{Type: Word, Words: argumentModes}
		if !field.Accepts(m) {
			return nil, "", &Fault{"args.argumentMatching", "expected " + field.Expected()}
		}
		mode = match.ArgumentMode(m.Str)
	}
	return args, mode, nil
}

func beginCalledWith(c *Check, ev *Evidence) *reading {
	name, ok := c.Text("toolName")
	if !ok || name == "" {
		return decided(Outcome{Result: Fail, Reason: "toolName is missing or empty"})
	}
	least := int64(1)
	if _, has := c.Field("minCount"); has {
		// grading.md 1.3: a bad minCount fails. 0 would switch the check off.
		if least, ok = c.Int("minCount"); !ok || least < 1 {
			return decided(Outcome{Result: Fail, Reason: "minCount is no whole number from 1"})
		}
	}
	want, mode, fault := c.expectedArguments()
	if fault != nil {
		return decided(errorOutcome("%s: %s", fault.Field, fault.Msg))
	}
	var matched, others, unread calls
	var why error
	actual := ""
	return &reading{call: func(_ int, a *sent) {
		if a.c.Tool != name {
			return
		}
		var got *value.Value
		if mode != match.IgnoreArgs {
			var err error
			if got, _, err = a.arguments(); err != nil {
				if unread.add(a.c); why == nil {
					why = err
				}
				return
			}
		}
		if match.ArgumentsMatch(want, got, mode) {
			matched.add(a.c)
			return
		}
		if others.add(a.c); others.n == 1 {
			actual = "arguments " + Shown(got)
		}
	}, end: func() Outcome {
		return calledWith(ev, name, least, want, mode, actual, &matched, &others, &unread, why)
	}}
}

// calledWith judges the calls to the tool that matched, those that did not, and those
// whose arguments cannot be read; actual is what to show of another call.
func calledWith(ev *Evidence, name string, least int64, want *value.Value, mode match.ArgumentMode, actual string, matched, others, unread *calls, why error) Outcome {
	with := "any arguments"
	switch mode {
	case match.Exact:
		with = "exactly the arguments " + Shown(want)
	case match.Partial:
		with = "arguments " + Shown(want)
	}
	o := Outcome{Expected: fmt.Sprintf("at least %s to %s with %s", count(int(min(least, 1<<31)), "call"), tool(name), with), Actual: actual}
	m := int64(matched.n)
	all := matched.n + others.n + unread.n
	switch {
	case m >= least:
		o.Result = Pass
		o.Actual = count(matched.n, "matching call")
		o.Reason = o.Actual + ": " + matched.list()
		matched.cite(&o)
	case m+int64(unread.n) >= least:
		o.Result = Error
		o.Actual = fmt.Sprintf("%s, %d that cannot be read", count(matched.n, "matching call"), unread.n)
		o.Reason = fmt.Sprintf("%s: %v", unread.list(), why)
		unread.cite(&o)
	case all == 0:
		o.Result = Fail
		o.Actual = fmt.Sprintf("none in %s", count(len(ev.Calls), "call"))
		o.Reason = "no call to " + tool(name)
		ev.citeAll(&o)
	default:
		o.Result = Fail
		o.Reason = fmt.Sprintf("%d of %s to %s match", m, count(all, "call"), tool(name))
		if others.n > 0 {
			o.Reason += "; not: " + others.list()
		} else {
			o.Actual = count(matched.n, "matching call")
		}
		others.cite(&o)
		matched.cite(&o)
	}
	return o
}
