package predicate

import (
	"fmt"
	"strconv"
)

var noToolErrors = &Kind{
	Name:  "noToolErrors",
	Title: "No call ended in an error",
	Text: `Fails when the server reported a tool error (isError: true), answered a call by a JSON-RPC error or
by a malformed reply, or did not answer it although it ended first or answered later work. A call that the
client cancelled is no error. An isError that is no boolean, and a call that nothing could answer, are
errors of evidence. Where calls or answers may have been lost, an error that was seen fails, and none is
an error of evidence.`,
	Example:  `{type: noToolErrors}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolErrors},
	Notes: []string{
		wireNote,
		"A fail that rests on protocol errors alone leaves the response link as it is: the defect is the call link's.",
	},
	Evaluate: evalNoToolErrors,
}

func evalNoToolErrors(_ *Check, ev *Evidence) Outcome {
	calls := ev.wired("", false)
	o := Outcome{Expected: "no tool errors"}
	if len(ev.Errors) > 0 {
		o.Result = Fail
		o.ProtocolOnly = true
		var texts []string
		for i := range ev.Errors {
			e := &ev.Errors[i]
			if e.Kind != ProtocolError {
				o.ProtocolOnly = false
			}
			o.cite(e.Seq)
			o.cite(e.Record)
			if len(texts) < maxListed {
				texts = append(texts, e.String())
			}
		}
		o.Actual = fmt.Sprintf("%s in %s", count(len(ev.Errors), "error"), count(calls, "call"))
		o.Reason = list(texts, len(ev.Errors))
		return o
	}
	if len(ev.Undecided) > 0 {
		o.Result = Error
		var texts []string
		for i := range ev.Undecided {
			u := &ev.Undecided[i]
			o.cite(u.Seq)
			if len(texts) < maxListed {
				texts = append(texts, fmt.Sprintf("%s (record %s): %s", tool(u.Tool), callID(u.Seq, u.Index), u.Why))
			}
		}
		o.Actual = fmt.Sprintf("%s undecided", count(len(ev.Undecided), "call"))
		o.Reason = list(texts, len(ev.Undecided))
		return o
	}
	o.Result = Pass
	o.Actual = "none in " + count(calls, "call")
	o.Reason = count(calls, "call") + ", no tool error"
	return o
}

// String says what was seen, not who is at fault (grading.md 0.2.15).
func (e *ToolError) String() string {
	if e.shown == "" { // several checks show it, and the analyzer
		e.shown = e.text()
	}
	return e.shown
}

func (e *ToolError) text() string {
	at := tool(e.Tool) + " (record " + callID(e.Seq, e.Index)
	if e.Record != 0 {
		at += ", seen in " + SeqName(e.Record)
	}
	at += ")"
	switch {
	case e.What != "":
		at += ": " + e.What
	case e.Kind == ContentError:
		at += ": the server reported a tool error"
	default:
		at += ": the server answered with a protocol error"
	}
	if e.HasCode {
		at += " " + strconv.FormatInt(e.Code, 10)
	}
	if e.Message != "" {
		at += ": " + Quoted(e.Message)
	}
	return at
}
