package predicate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
)

var toolErrorNamesInput = &Kind{
	Name:  "toolErrorNamesInput",
	Title: "Every tool error names an input",
	Text: `An observation. Looks in the message of each error for a property of the tool's input schema, or for a
value that the failing call sent (texts of at least 3 characters, numbers of at least 3 digits or signs), in any
case. An error that names neither, or has no message, fails: the model cannot learn from it what to change. A value
that some call sent while the failing call is not known, a tool whose schema is not on record, and a call of which it
is not known whether it failed are errors. No error passes.`,
	Example:  `{type: toolErrorNamesInput, role: advisory}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolErrors, ToolInventory},
	Fields:   []Field{toolNameField},
	Notes:    []string{"It is right about what it sees and may be wrong about what it means: a message such as \"rate limited\" needs no input."},
	Evaluate: evalErrorNamesInput,
}

// maxMessage is the length in bytes up to which the evidence holds an error's
// message (record/session keeps 2 KiB); one that long may have been cut.
const maxMessage = 2 << 10

func evalErrorNamesInput(c *Check, ev *Evidence) Outcome {
	name, named := c.Text("toolName")
	o := Outcome{Expected: "messages that name an input"}
	var wrong []string
	var bad unread
	total, failed := 0, 0
	for i := range ev.Errors {
		e := &ev.Errors[i]
		if named && e.Tool != name {
			continue
		}
		total++
		fine, unseen, err := namesInput(e, ev)
		switch {
		case err != nil:
			bad.add(e.String(), err, e.Seq, e.Record)
		case !fine:
			if failed++; len(wrong) < maxListed {
				wrong = append(wrong, e.String())
			}
			o.restsOnUnseen = unseen && (failed == 1 || o.restsOnUnseen)
			o.cite(e.Seq)
			o.cite(e.Record)
		}
	}
	o.Actual = fmt.Sprintf("%d of %s", failed, count(total, "error"))
	if failed > 0 {
		o.Result = Fail
		o.Actual += " without one"
		o.Reason = "no input is named: " + list(wrong, failed)
		return o
	}
	for i := range ev.Undecided {
		u := &ev.Undecided[i]
		if !named || u.Tool == name {
			bad.add(fmt.Sprintf("%s (record %s)", tool(u.Tool), callID(u.Seq, u.Index)), errors.New(u.Why), u.Seq)
		}
	}
	if bad.decide(&o) {
		return o
	}
	o.Result = Pass
	if o.Actual = "no error"; total > 0 {
		o.Actual = fmt.Sprintf("%s, each names an input", count(total, "error"))
	}
	o.Reason = o.Actual
	return o
}

// namesInput judges one error (grading.md 1.5). unseen says of one that is not
// fine that a call which was not captured could have sent what the message says.
func namesInput(e *ToolError, ev *Evidence) (fine, unseen bool, err error) {
	joined, candidates := e.calls(ev)
	names, err := inputNames(e, joined, candidates, ev)
	if err != nil {
		return false, false, err
	}
	message, whole, err := e.message(ev)
	if err != nil {
		return false, false, err
	}
	message = value.Lower(message)
	if message == "" {
		return false, false, nil
	}
	for _, n := range names {
		// An empty name would be in every message.
		if n != "" && strings.Contains(message, value.Lower(n)) {
			return true, false, nil
		}
	}
	from := candidates
	if joined != nil {
		from = []*CallEvidence{joined}
	}
	found := false
	for _, c := range from {
		sent, err := sentValues(c)
		if err != nil {
			return false, false, err
		}
		for _, s := range sent {
			found = found || strings.Contains(message, value.Lower(s))
		}
	}
	switch {
	case found && joined == nil:
		return false, false, errors.New("a call sent what the message says, and which call failed is not known")
	case !found && !whole:
		return false, false, errors.New("no input is named in as much of its message as is on record")
	}
	return found, joined == nil, nil
}

// calls finds the call that an error belongs to, by its place, else because no
// other call comes into question; and all that do. One that was found because no
// other was captured is not joined when calls are missing.
func (e *ToolError) calls(ev *Evidence) (joined *CallEvidence, candidates []*CallEvidence) {
	candidates = ev.wire(e.Tool, e.Tool != "")
	for _, c := range candidates {
		if e.Seq != 0 && c.Seq == e.Seq && c.Index == e.Index {
			return c, candidates
		}
	}
	if len(candidates) == 1 && ev.State(ToolCalls) == session.Complete {
		return candidates[0], candidates
	}
	return nil, candidates
}

// inputNames are the top-level properties of the tool's input schema. The tool's
// entry is enough, even on a list that is not complete (grading.md 0.1).
func inputNames(e *ToolError, joined *CallEvidence, candidates []*CallEvidence, ev *Evidence) ([]string, error) {
	var raw []byte
	known := false
	if joined != nil && joined.Entry != nil {
		raw, known = joined.Entry.InputSchema, true
	}
	for _, c := range candidates {
		if !known && e.Tool != "" && c.Entry != nil {
			raw, known = c.Entry.InputSchema, true
		}
	}
	for _, l := range ev.Lists {
		if known || joined != nil || e.Tool == "" {
			break
		}
		if t, ok := l.Find(e.Tool); ok {
			raw, known = t.InputSchema, true
		}
	}
	if s := ev.State(ToolInventory); !known && s != session.Complete {
		return nil, fmt.Errorf("the tool's schema is not on record: the tool inventory is %s", s)
	}
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := ParseResult(raw)
	if err != nil {
		return nil, fmt.Errorf("the tool's inputSchema: %w", err)
	}
	var names []string
	if properties, ok := v.Get("properties"); ok {
		for i := range properties.Obj {
			names = append(names, properties.Obj[i].Key)
		}
	}
	return names, nil
}

// message is the error's text: the text of the result, else its structuredContent
// as JSON (grading.md 3.2). whole is false when the end of it is not on record.
func (e *ToolError) message(ev *Evidence) (text string, whole bool, err error) {
	if e.Message != "" && len(e.Message) < maxMessage-3 { // a cut stands before a character of up to 4 bytes
		return e.Message, true, nil
	}
	if e.Kind == ContentError && e.Seq != 0 {
		for i := range ev.Results {
			r := &ev.Results[i]
			if r.Seq != e.Seq || r.Index != e.Index {
				continue
			}
			c, err := r.Content()
			switch {
			case err != nil:
				return "", false, err
			case c.Text != "":
				return c.Text, !c.Truncated, nil
			case c.Unread != nil:
				return "", false, c.Unread
			case c.Structured != nil:
				return string(value.Plain(nil, c.Structured)), true, nil
			}
		}
	}
	return e.Message, e.Message == "", nil
}

// sentValues are the top-level argument values that a message could name.
func sentValues(c *CallEvidence) ([]string, error) {
	args, _, err := c.arguments()
	if err != nil {
		return nil, err
	}
	const least = 3 // characters; fewer occur by chance
	var out []string
	for i := range args.Obj {
		text := ""
		switch v := &args.Obj[i].Value; v.Kind {
		case value.String:
			text = v.Str
		case value.Number:
			text = value.ExactNumber(v.Str)
		}
		if value.UTF16Len(text) >= least {
			out = append(out, text)
		}
	}
	return out, nil
}
