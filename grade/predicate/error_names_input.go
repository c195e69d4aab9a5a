package predicate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
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
	Evaluate: reads(beginErrorNamesInput),
	begin:    beginErrorNamesInput,
}

// maxMessage is the length in bytes up to which the evidence holds an error's
// message (record/session keeps 2 KiB); one that long may have been cut.
const maxMessage = 2 << 10

func beginErrorNamesInput(c *Check, ev *Evidence) *reading {
	name, named := c.Text("toolName")
	calls := newErrorCalls(ev)
	// An error whose call has gone by is judged then; one call has one error, as a rule.
	type judgement struct {
		done, fine, unseen bool
		err                error
	}
	judged := make([]judgement, len(ev.Errors))
	next := 0
	r := &reading{end: func() Outcome {
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
			j := judged[i]
			if !j.done {
				j.fine, j.unseen, j.err = calls.namesInput(e, nil)
			}
			switch {
			case j.err != nil && len(bad.why) == maxListed:
				bad.total++ // a text that nobody would see is not made
			case j.err != nil:
				bad.add(e.String(), j.err, e.Seq, e.Record)
			case !j.fine:
				if failed++; len(wrong) < maxListed {
					wrong = append(wrong, e.String())
				}
				o.restsOnUnseen = j.unseen && (failed == 1 || o.restsOnUnseen)
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
			o.Actual = count(total, "error") + ", each names an input"
		}
		o.Reason = o.Actual
		return o
	}}
	if len(ev.Errors) > 0 {
		r.call = func(_ int, a *sent) {
			for next < len(ev.Errors) && !a.c.HostOnly && ev.Errors[next].Seq == a.c.Seq && ev.Errors[next].Index == a.c.Index {
				if e := &ev.Errors[next]; !named || e.Tool == name {
					j := &judged[next]
					j.done = true
					j.fine, j.unseen, j.err = calls.namesInput(e, a)
				}
				next++
			}
		}
	}
	return r
}

// errorCalls finds the call and the result of an error: there may be a million.
type errorCalls struct {
	ev    *Evidence
	calls map[string][]*CallEvidence // by tool; of errors that name none, under ""
	at    map[CallRef]*CallEvidence  // the first call of each place
	// results is made when the first is asked for.
	results map[CallRef]*ToolResult
	names   map[*catalog.Tool]named
}

// named are the names of a tool's inputs, or why they cannot be read.
type named struct {
	names []string
	err   error
}

func newErrorCalls(ev *Evidence) *errorCalls {
	return &errorCalls{ev: ev, names: map[*catalog.Tool]named{}}
}

// index finds the calls by tool and by place.
func (x *errorCalls) index() {
	if x.calls != nil {
		return
	}
	ev := x.ev
	x.calls, x.at = map[string][]*CallEvidence{}, make(map[CallRef]*CallEvidence, len(ev.Calls))
	for i := range ev.Calls {
		c := &ev.Calls[i]
		if c.HostOnly {
			continue
		}
		if c.Tool != "" {
			x.calls[c.Tool] = append(x.calls[c.Tool], c)
		}
		if ref := (CallRef{c.Seq, c.Index}); x.at[ref] == nil {
			x.at[ref] = c
		}
	}
}

// of finds the call of an error; it is the one that goes by, as a rule.
func (x *errorCalls) of(e *ToolError, now *sent) (joined *CallEvidence, candidates func() []*CallEvidence) {
	if now != nil && e.Seq != 0 && e.Tool != "" && now.c.Tool == e.Tool {
		return now.c, func() []*CallEvidence {
			x.index()
			return x.calls[e.Tool]
		}
	}
	x.index()
	joined, found := x.find(e)
	return joined, func() []*CallEvidence { return found }
}

func (x *errorCalls) result(ref CallRef) *ToolResult {
	if x.results == nil {
		x.results = make(map[CallRef]*ToolResult, len(x.ev.Results))
		for i := range x.ev.Results {
			r := &x.ev.Results[i]
			if at := (CallRef{r.Seq, r.Index}); x.results[at] == nil {
				x.results[at] = r
			}
		}
	}
	return x.results[ref]
}

// namesInput judges one error (grading.md 1.5). unseen says of one that is not
// fine that a call which was not captured could have sent what the message says. now
// is the call that goes by, nil: none.
func (x *errorCalls) namesInput(e *ToolError, now *sent) (fine, unseen bool, err error) {
	joined, candidates := x.of(e, now)
	names, err := x.inputNames(e, joined, candidates)
	if err != nil {
		return false, false, err
	}
	message, whole, err := x.message(e)
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
	from := []*CallEvidence{joined}
	if joined == nil {
		from = candidates()
	}
	found := false
	for _, c := range from {
		a := now
		if a == nil || a.c != c {
			a = &sent{c: c}
		}
		values, err := sentValues(a)
		if err != nil {
			return false, false, err
		}
		for _, s := range values {
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

// find finds the call that an error belongs to, by its place, else because no
// other call comes into question; and all that do. One that was found because no
// other was captured is not joined when calls are missing.
func (x *errorCalls) find(e *ToolError) (joined *CallEvidence, candidates []*CallEvidence) {
	ev := x.ev
	if c := x.at[CallRef{e.Seq, e.Index}]; e.Seq != 0 && c != nil && e.Tool != "" && c.Tool == e.Tool {
		return c, x.calls[e.Tool]
	}
	candidates = x.calls[e.Tool]
	if e.Tool == "" {
		candidates = ev.wire("", false)
	}
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
func (x *errorCalls) inputNames(e *ToolError, joined *CallEvidence, candidates func() []*CallEvidence) ([]string, error) {
	var entry *catalog.Tool
	if joined != nil {
		entry = joined.Entry
	}
	if entry == nil && e.Tool != "" {
		for _, c := range candidates() {
			if c.Entry != nil {
				entry = c.Entry
				break
			}
		}
	}
	if entry == nil && joined == nil && e.Tool != "" {
		for _, l := range x.ev.Lists {
			if t, ok := l.Find(e.Tool); ok {
				entry = t
				break
			}
		}
	}
	if entry == nil {
		if s := x.ev.State(ToolInventory); s != session.Complete {
			return nil, fmt.Errorf("the tool's schema is not on record: the tool inventory is %s", s)
		}
		return nil, nil
	}
	n, known := x.names[entry]
	if !known {
		n = remember(x.ev.Schemas, func(s *Schemas) *map[string]named { return &s.names }, entry.InputSchema, func() (n named) {
			n.names, n.err = propertyNames(entry.InputSchema)
			return n
		})
		x.names[entry] = n
	}
	return n.names, n.err
}

// propertyNames are the names of a schema's top-level properties.
func propertyNames(raw []byte) ([]string, error) {
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
func (x *errorCalls) message(e *ToolError) (text string, whole bool, err error) {
	if e.Message != "" && len(e.Message) < maxMessage-3 { // a cut stands before a character of up to 4 bytes
		return e.Message, true, nil
	}
	if e.Kind == ContentError && e.Seq != 0 {
		if r := x.result(CallRef{e.Seq, e.Index}); r != nil {
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
func sentValues(a *sent) ([]string, error) {
	args, _, err := a.arguments()
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
