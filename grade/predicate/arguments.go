package predicate

import (
	"errors"
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
)

const (
	// maxArgumentsDepth is how deep arguments may nest to be decoded here; the
	// schema validator's own limit lies below it and names itself.
	maxArgumentsDepth = 1000
	// maxArgumentsValues bounds the values of arguments that are compared or
	// validated whole, which take some 100 bytes each.
	maxArgumentsValues = 1_000_000
)

func argumentsError(err error) error {
	switch {
	case errors.Is(err, value.ErrDepth):
		return fmt.Errorf("the arguments are nested deeper than %d", maxArgumentsDepth)
	case errors.Is(err, value.ErrValues):
		return errors.New("the arguments hold too many values to be read")
	}
	return &notJSON{err}
}

// notJSON are arguments that are no JSON value: no limit, but the call itself.
type notJSON struct{ err error }

func (e *notJSON) Error() string { return fmt.Sprintf("the arguments cannot be read: %v", e.err) }
func (e *notJSON) Unwrap() error { return e.err }

// wire yields the calls of a tool, or all without a name, that reached the wire:
// what the call and response kinds read (grading.md 0.1).
func (ev *Evidence) wire(tool string, named bool) []*CallEvidence {
	out := make([]*CallEvidence, 0, len(ev.Calls))
	for i := range ev.Calls {
		if c := &ev.Calls[i]; !c.HostOnly && (!named || c.Tool == tool) {
			out = append(out, c)
		}
	}
	return out
}

// seen names a call in a sentence.
func (c *CallEvidence) seen() string {
	if c.HostOnly {
		return tool(c.Tool) + " (a call of the host that never reached the server)"
	}
	return tool(c.Tool) + " (record " + c.ID() + ")"
}

// toolField is the field of the kinds that need one tool's name.
func toolField(text string) Field {
	return Field{Name: "toolName", Type: Text, Required: true, Text: text + " Names compare exactly."}
}

// hostOnlyNote is the note of the selection kinds.
const hostOnlyNote = "A call that the host made and that never reached the server (denied, refused, answered from a cache) counts: the model did choose it."

// wireNote is the note of the call and response kinds.
const wireNote = "Calls that never reached the server do not count."
