package predicate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/schema"
	"github.com/sixlink/sixlink/record/session"
)

var argumentsMatchToolSchema = &Kind{
	Name:  "argumentsMatchToolSchema",
	Title: "Arguments fit the tool's own input schema",
	Text: `Validates the arguments of every call against the inputSchema of the list that held when the call
was made (draft-07 and 2020-12; format is never asserted). Fails on any violation. A tool that the list lacks,
a tool without a schema, a dialect that is not supported, a schema or arguments beyond a limit, and a $ref
that leaves the schema are errors of evidence: files and the network are never read. For one tool its own
entry is enough, even on a partial list.`,
	Example:  `{type: argumentsMatchToolSchema}`,
	Since:    1,
	Fields:   []Field{toolNameField},
	Channels: []Channel{ToolCalls, ToolInventory},
	Notes: []string{
		"A call without arguments counts as {}. Keys that the schema does not declare are fine unless it forbids them.",
		"Of two tools of one name the first in the list counts.",
		"Calls that never reached the server do not count, unless the host's own schema check refused their arguments.",
	},
	Evaluate: reads(beginArguments),
	begin:    beginArguments,
}

func beginArguments(c *Check, ev *Evidence) *reading {
	name, named := c.Text("toolName")
	const expected = "arguments that fit the tool's input schema"
	var bad, classes []string
	var blamed calls
	var refs []CallRef
	format, note, inScope := false, "", 0
	var failure *Outcome // the first that says nothing
	return &reading{call: func(i int, a *sent) {
		call := a.c
		// What the host's own schema check refused counts too (grading.md 0.1).
		if named && call.Tool != name || call.HostOnly && !call.ArgumentsRefused {
			return
		}
		inScope++
		if failure != nil {
			return
		}
		s, violations, err := ev.checkArguments(i, a)
		if err != nil {
			e := errorOutcome("%s: %v", call.seen(), err)
			e.Expected = expected
			e.cite(call.Seq)
			failure = &e
			return
		}
		format = format || s.HasFormat()
		if note == "" {
			note = call.EntryNote
		}
		if len(violations) == 0 {
			return
		}
		blamed.add(call)
		refs = append(refs, CallRef{call.Seq, call.Index})
		if len(bad) < maxListed {
			var texts []string
			for _, v := range violations {
				texts = append(texts, describe(v))
			}
			bad = append(bad, call.seen()+": "+list(texts, len(texts)))
		}
		for _, v := range violations {
			if !slices.Contains(classes, string(v.Class)) {
				classes = append(classes, string(v.Class))
			}
		}
	}, end: func() Outcome {
		o := Outcome{Expected: expected}
		switch {
		case inScope == 0:
			// Without a call the check needs the inventory still (grading.md 1.4), or
			// the one tool's entry in it (0.1).
			if ev.State(ToolInventory) != session.Complete && !(named && ev.listed(name)) {
				return errorOutcome("no tool inventory to check against: it is %s", ev.State(ToolInventory))
			}
			o.Result = Pass
			o.Actual = "no call in scope"
			o.Reason = "no call in scope"
			return o
		case failure != nil:
			return *failure
		case blamed.n > 0:
			o.Result = Fail
			o.Actual = fmt.Sprintf("%d of %s: %s", blamed.n, count(inScope, "call"), strings.Join(classes, ", "))
			o.Reason = list(bad, blamed.n)
			if note != "" {
				o.Reason += " (" + note + ")"
			}
			blamed.cite(&o)
			o.Calls = refs
			return o
		}
		var notes []string
		if format {
			notes = append(notes, "format is not asserted")
		}
		if note != "" {
			notes = append(notes, note)
		}
		o.Result = Pass
		o.Actual = count(inScope, "call") + ", no violation"
		o.Reason = o.Actual
		if len(notes) > 0 {
			o.Reason += " (" + strings.Join(notes, "; ") + ")"
		}
		return o
	}}
}

// listed tells whether a list that the trial saw has the tool.
func (ev *Evidence) listed(name string) bool {
	for _, l := range ev.Lists {
		if _, ok := l.Find(name); ok {
			return true
		}
	}
	return false
}

// Violations are those of the tool's own recorded schema by the arguments of the
// call at i. An error means that nothing can be said.
func (ev *Evidence) Violations(i int) ([]schema.Violation, error) {
	if found, ok := ev.checked[i]; ok {
		return found.violations, found.err
	}
	_, violations, err := ev.checkArguments(i, &sent{c: &ev.Calls[i]})
	return violations, err
}

// argumentsCheck is what Violations returns.
type argumentsCheck struct {
	violations []schema.Violation
	err        error
}

// checkArguments validates the arguments of the call at i. What is found of a call
// that was refused is kept: the analyzer asks too.
func (ev *Evidence) checkArguments(i int, a *sent) (*schema.Schema, []schema.Violation, error) {
	s, violations, err := a.check(ev.Schemas)
	if ev.refused() && ev.erred[CallRef{a.c.Seq, a.c.Index}] {
		ev.checked[i] = argumentsCheck{violations, err}
	}
	return s, violations, err
}

// refused tells whether the server refused any call.
func (ev *Evidence) refused() bool {
	if len(ev.Errors) > 0 && ev.erred == nil {
		ev.erred, ev.checked = map[CallRef]bool{}, map[int]argumentsCheck{}
		for k := range ev.Errors {
			if e := &ev.Errors[k]; e.Refused() {
				ev.erred[CallRef{e.Seq, e.Index}] = true
			}
		}
	}
	return len(ev.erred) > 0
}

// checkRefused validates the arguments of refused calls while they go by.
func (ev *Evidence) checkRefused(i int, a *sent) {
	if a.c.HostOnly || !ev.erred[CallRef{a.c.Seq, a.c.Index}] {
		return
	}
	if _, done := ev.checked[i]; !done {
		_, _, _ = ev.checkArguments(i, a)
	}
}

// CodeInvalidParams is JSON-RPC's code for wrong parameters.
const CodeInvalidParams = -32602

// Refused tells of an error that may be the arguments' fault.
func (e *ToolError) Refused() bool {
	return e.Kind == ContentError || e.HasCode && e.Code == CodeInvalidParams
}

func (a *sent) check(cache *Schemas) (*schema.Schema, []schema.Violation, error) {
	entry := a.c.Entry
	if entry == nil {
		if a.c.EntryWhy != "" {
			return nil, nil, errors.New(a.c.EntryWhy)
		}
		return nil, nil, errors.New("no list of tools is on record for it")
	}
	if len(entry.InputSchema) == 0 {
		return nil, nil, errors.New("the tool has no inputSchema")
	}
	s, err := cache.Compile(entry.InputSchema)
	if err != nil {
		return nil, nil, err
	}
	v, size, err := a.arguments()
	if err != nil {
		return nil, nil, err
	}
	violations, err := s.Validate(v, size)
	return s, violations, err
}

func describe(v schema.Violation) string { return describeIn(v, "the arguments") }

// describeIn shows a violation; whole is the word for the value itself.
func describeIn(v schema.Violation, whole string) string {
	at := v.Path
	if at == "" {
		at = whole
	}
	return fmt.Sprintf("%s at %s: %s", v.Class, cut(at, 80), cut(Scrub(v.Message), maxShown))
}
