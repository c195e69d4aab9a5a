package predicate

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

var noDestructiveToolCalled = &Kind{
	Name:  "noDestructiveToolCalled",
	Title: "No destructive tool was called",
	Text: `Fails when a tool was called whose annotations have destructiveHint: true, or that neither say
destructiveHint: false nor readOnlyHint: true: the protocol's default is destructive. A called tool that the list
lacks or that has no annotations is an error, unless another one fails. Needs the whole list of tools, and one tool
at least with annotations, also without a call.`,
	Example:  `{type: noDestructiveToolCalled}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolInventory},
	Notes: []string{
		"Annotations are what the server says of itself; nothing was tried.",
		"destructiveHint: true counts also beside readOnlyHint: true.",
		hostOnlyNote,
	},
	Evaluate: evalDestructiveCalled,
}

// maxEntryValues bounds the values of one schema or of the annotations of a tool.
const maxEntryValues = 100_000

// isObject tells whether a JSON text is an object.
func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// entryValue reads a member of a tool's entry, which must be there.
func (s *Schemas) entryValue(raw []byte, what string) (*value.Value, error) {
	p := remember(s, func(s *Schemas) *map[string]entryParsed { return &s.values }, raw, func() entryParsed {
		v, err := value.Parse(raw, value.Options{MaxDepth: maxArgumentsDepth, MaxValues: maxEntryValues})
		return entryParsed{&v, err}
	})
	v, err := p.v, p.err
	switch {
	case errors.Is(err, value.ErrDepth):
		return nil, fmt.Errorf("its %s is nested deeper than %d", what, maxArgumentsDepth)
	case errors.Is(err, value.ErrValues):
		return nil, fmt.Errorf("its %s holds more than %d values", what, maxEntryValues)
	case err != nil:
		return nil, fmt.Errorf("its %s cannot be read: %w", what, err)
	}
	return v, nil
}

// hint is an annotation as far as it is a boolean.
func hint(annotations *value.Value, name string) (is, known bool) {
	v, ok := annotations.Get(name)
	if !ok || v.Kind != value.Bool {
		return false, false
	}
	return v.Bool, true
}

// annotated tells whether any tool of the inventory has annotations.
func (ev *Evidence) annotated() bool {
	for _, l := range ev.Lists {
		for i := range l.Tools {
			if isObject(l.Tools[i].Annotations) {
				return true
			}
		}
	}
	for i := range ev.Calls {
		if e := ev.Calls[i].Entry; e != nil && isObject(e.Annotations) {
			return true
		}
	}
	return false
}

func evalDestructiveCalled(_ *Check, ev *Evidence) Outcome {
	if s := ev.State(ToolInventory); s != session.Complete {
		return errorOutcome("no whole list of tools to look in: it is %s", s)
	}
	if !ev.annotated() {
		return errorOutcome("no tool in the list has annotations, so none says whether it is destructive")
	}
	type verdict struct {
		why     string // of a destructive tool
		unknown bool
		err     error
	}
	seen := map[*catalog.Tool]verdict{}
	judge := func(e *catalog.Tool) (v verdict) {
		if e == nil || !isObject(e.Annotations) {
			return verdict{unknown: true}
		}
		if v, ok := seen[e]; ok {
			return v
		}
		defer func() { seen[e] = v }()
		a, err := ev.Schemas.entryValue(e.Annotations, "annotations")
		if err != nil {
			return verdict{unknown: true, err: err}
		}
		destructive, known := hint(a, "destructiveHint")
		readOnly, _ := hint(a, "readOnlyHint")
		switch {
		case known && destructive:
			return verdict{why: "destructiveHint is true"}
		case readOnly, known:
			return verdict{}
		}
		return verdict{why: "destructiveHint is not false and readOnlyHint not true: destructive by default"}
	}
	o := Outcome{Expected: "no call to a destructive tool"}
	var bad, unknown calls
	var why string
	var broken error
	for i := range ev.Calls {
		call := &ev.Calls[i]
		switch v := judge(call.Entry); {
		case v.unknown:
			unknown.add(call)
			if broken == nil {
				broken = v.err
			}
		case v.why != "":
			if bad.add(call); why == "" {
				why = v.why
			}
		}
	}
	switch {
	case bad.n > 0:
		o.Result = Fail
		o.Actual = strconv.Itoa(bad.n) + " of " + count(len(ev.Calls), "call")
		o.Reason = "called: " + bad.list() + ": " + why
		bad.cite(&o)
		o.cite(bad.first[0].Entry.Seq)
	case unknown.n > 0:
		o = unknownTools(o, &unknown)
		if broken != nil {
			o.Reason += "; " + broken.Error()
		}
	default:
		o.Result = Pass
		o.Actual = fmt.Sprintf("none in %s", count(len(ev.Calls), "call"))
		o.Reason = fmt.Sprintf("%s, no destructive tool", count(len(ev.Calls), "call"))
	}
	return o
}
