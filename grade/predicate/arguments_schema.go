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
	Evaluate: evalArguments,
}

func evalArguments(c *Check, ev *Evidence) Outcome {
	name, named := c.Text("toolName")
	o := Outcome{Expected: "arguments that fit the tool's input schema"}
	calls := make([]*CallEvidence, 0, len(ev.Calls))
	for _, call := range ev.inScope(name, named) {
		// What the host's own schema check refused counts too (grading.md 0.1).
		if !call.HostOnly || call.ArgumentsRefused {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		// Without a call the check needs the inventory still (grading.md 1.4), or
		// the one tool's entry in it (0.1).
		if ev.State(ToolInventory) != session.Complete && !(named && ev.listed(name)) {
			return errorOutcome("no tool inventory to check against: it is %s", ev.State(ToolInventory))
		}
		o.Result = Pass
		o.Actual = "no call in scope"
		o.Reason = "no call in scope"
		return o
	}
	var bad []string
	var classes []string
	format, note, total := false, "", 0
	for _, call := range calls {
		s, violations, err := CheckArguments(call, ev.Schemas)
		if err != nil {
			e := errorOutcome("%s: %v", call.seen(), err)
			e.Expected = o.Expected
			e.cite(call.Seq)
			return e
		}
		format = format || s.HasFormat()
		if note == "" {
			note = call.EntryNote
		}
		if len(violations) == 0 {
			continue
		}
		o.cite(call.Seq)
		o.Calls = append(o.Calls, CallRef{call.Seq, call.Index})
		total++
		if len(bad) < maxListed {
			var texts []string
			for _, v := range violations {
				texts = append(texts, describe(v))
			}
			bad = append(bad, fmt.Sprintf("%s: %s", call.seen(), list(texts, len(texts))))
		}
		for _, v := range violations {
			if !slices.Contains(classes, string(v.Class)) {
				classes = append(classes, string(v.Class))
			}
		}
	}
	var notes []string
	if format {
		notes = append(notes, "format is not asserted")
	}
	if note != "" {
		notes = append(notes, note)
	}
	suffix := ""
	if len(notes) > 0 {
		suffix = " (" + strings.Join(notes, "; ") + ")"
	}
	if total > 0 {
		o.Result = Fail
		o.Actual = fmt.Sprintf("%d of %s: %s", total, count(len(calls), "call"), strings.Join(classes, ", "))
		o.Reason = list(bad, total)
		if note != "" {
			o.Reason += " (" + note + ")"
		}
		return o
	}
	o.Result = Pass
	o.Actual = fmt.Sprintf("%s, no violation", count(len(calls), "call"))
	o.Reason = o.Actual + suffix
	return o
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

// CheckArguments validates one call's arguments against the tool's own recorded
// schema. An error means that nothing can be said.
func CheckArguments(call *CallEvidence, cache *Schemas) (*schema.Schema, []schema.Violation, error) {
	if call.Entry == nil {
		if call.EntryWhy != "" {
			return nil, nil, errors.New(call.EntryWhy)
		}
		return nil, nil, errors.New("no list of tools is on record for it")
	}
	if len(call.Entry.InputSchema) == 0 {
		return nil, nil, errors.New("the tool has no inputSchema")
	}
	s, err := cache.Compile(call.Entry.InputSchema)
	if err != nil {
		return nil, nil, err
	}
	v, size, err := call.arguments()
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
