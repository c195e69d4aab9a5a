package predicate

import (
	"errors"
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// The bounds of a result's JSON (grading.md 0.2.9, 0.2.19). Past them nothing can
// be said about a result. A value takes some 100 bytes of memory.
const (
	maxResultDepth  = 1000
	maxResultValues = 500_000
)

// ParseResult reads the JSON of a result, under the bounds that hold for results.
func ParseResult(text []byte) (*value.Value, error) {
	v, err := value.Parse(text, value.Options{MaxDepth: maxResultDepth, MaxValues: maxResultValues})
	switch {
	case errors.Is(err, value.ErrDepth):
		return nil, fmt.Errorf("its JSON is nested deeper than %d", maxResultDepth)
	case errors.Is(err, value.ErrValues):
		return nil, fmt.Errorf("its JSON has more than %d values", maxResultValues)
	case err != nil:
		return nil, fmt.Errorf("its JSON cannot be read: %w", err)
	}
	return &v, nil
}

// ParseResultText reads a result's text as JSON. v is nil without an error when
// the text is no JSON; an error means that it is, and cannot be read.
func ParseResultText(text string) (v *value.Value, err error) {
	if value.Trim(text) == "" {
		return nil, nil
	}
	b := []byte(text)
	if v, err = ParseResult(b); err == nil {
		return v, nil
	}
	if s, syntax := jsonscan.Skip(b, 0); syntax != nil || jsonscan.Space(b, s.End) != len(b) {
		return nil, nil
	}
	return nil, err
}

// payload is the JSON that a result carries: structuredContent, else json, else
// the text read as JSON; size is the length of its text in bytes. v is nil
// without an error when it carries none (grading.md 1.5 "toolResultMatchesSchema").
func (c *ResultContent) payload() (v *value.Value, size int, err error) {
	switch {
	case c.Unread != nil:
		return nil, 0, c.Unread
	case c.Structured != nil:
		return c.Structured, c.StructuredLen, nil
	case c.JSON != nil:
		return c.JSON, len(value.Plain(nil, c.JSON)), nil
	}
	v, err = ParseResultText(c.Text)
	return v, len(c.Text), err
}

// id is the result's name in reports: the record of its call, else the host's id.
func (r *ToolResult) id() string {
	switch {
	case r.Seq != 0:
		return "record " + callID(r.Seq, r.Index)
	case r.ToolUseID != "":
		return "tool use " + cut(r.ToolUseID, 80)
	}
	return "no record"
}

func (r *ToolResult) String() string { return tool(r.Tool) + " (" + r.id() + ")" }

// citeResult names the call's and the answer's records.
func (o *Outcome) citeResult(r *ToolResult) {
	o.cite(r.Seq)
	o.cite(r.Record)
}

// owing are the calls in scope that owe a result: those on the wire, without the
// cancelled ones, which are complete without one (grading.md 0.1).
func (ev *Evidence) owing(name string, named bool) (x calls) {
	for i := range ev.Calls {
		if c := &ev.Calls[i]; !c.HostOnly && !c.Cancelled && (!named || c.Tool == name) {
			x.add(c)
		}
	}
	return x
}

// unanswered decides a check that has no result in scope (grading.md 1.5): an
// error when one may be missing; ok says that there was no call to answer.
func (ev *Evidence) unanswered(name string, named bool) (o Outcome, ok bool) {
	if s := ev.State(ToolResults); s != session.Complete {
		return errorOutcome("no result is on record, and results are %s", s), false
	}
	if owed := ev.owing(name, named); owed.n > 0 {
		o = errorOutcome("%s without a result", count(owed.n, "call"))
		owed.cite(&o)
		return o, false
	}
	return Outcome{Actual: "no result", Reason: "no call was answered, so there is no result", restsOnUnseen: true}, true
}

// unread collects what could not be read of the evidence, so that it counts only
// where nothing else decides.
type unread struct {
	why     []string
	records []int64
	total   int
}

func (u *unread) add(what string, err error, records ...int64) {
	if u.total++; len(u.why) < maxListed {
		u.why = append(u.why, fmt.Sprintf("%s: %v", what, err))
		u.records = append(u.records, records...)
	}
}

// decide makes o an error if anything could not be read.
func (u *unread) decide(o *Outcome) bool {
	if u.total == 0 {
		return false
	}
	o.Result = Error
	o.Reason = list(u.why, u.total)
	o.Records = nil
	for _, seq := range u.records {
		o.cite(seq)
	}
	return true
}

var errCut = errors.New("its text was cut before it was recorded")

// excerpt is [Quoted] for texts of any length: only what may be shown is looked at.
func excerpt(s string) string {
	// Characters that Quoted is given: some more than it shows, so that a secret that
	// begins before its cut is known as one.
	const looked = 2 * maxShown
	const maxBytes = 4 * looked
	if len(s) <= maxBytes {
		return Quoted(s)
	}
	head := s[:maxBytes]
	for len(head) > 0 && s[len(head)]&0xc0 == 0x80 { // not inside a character
		head = head[:len(head)-1]
	}
	return Quoted(head) + fmt.Sprintf(" (of %d bytes)", len(s))
}
