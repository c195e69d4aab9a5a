package predicate

import (
	"strconv"

	"github.com/sixlink/sixlink/grade/internal/schema"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Evidence is the only input of a check: what is known of one trial, and how
// completely each channel of it was captured (grading.md 0.1). Values stay in
// the recording until a check asks for them.
type Evidence struct {
	Capture session.Capture
	// Calls are in the order of their requests.
	Calls []CallEvidence
	// NoCallBecause says which link kept the host from making any call
	// ("connection failed"); empty when it could have.
	NoCallBecause string
	// Errors holds at most one error a call.
	Errors []ToolError
	// Timings holds at most one duration a call.
	Timings []Timing
	// Undecided are calls whose outcome the evidence cannot tell, though a reply
	// or its absence is on record; each is an evidence error for checks on errors.
	Undecided []Undecided
	// Lists are the catalogs that the trial saw, in order.
	Lists []*catalog.List
	// Schemas caches compiled schemas over trials; nil compiles anew.
	Schemas *Schemas
}

// CallEvidence is one call.
type CallEvidence struct {
	// Seq and Index name the record of the request; Index is -1 outside a batch.
	Seq   int64
	Index int
	Tool  string
	// Cancelled calls are complete observations without a result or timing;
	// CancelledAfterNs is how long they had run, 0 when not on record.
	Cancelled        bool
	CancelledAfterNs int64
	// Arguments fetches the arguments' JSON; nil when none were sent.
	Arguments func() ([]byte, error)
	// Entry is the tool in the list that held for this call; nil when the list
	// lacks it or there is none, and EntryWhy says which.
	Entry    *catalog.Tool
	EntryWhy string
	// EntryNote says what is particular about the list: stale, of another session.
	EntryNote string
}

// ID is the call's name in reports: seq, or seq.index in a batch.
func (c *CallEvidence) ID() string { return callID(c.Seq, c.Index) }

func callID(seq int64, index int) string {
	if index >= 0 {
		return strconv.FormatInt(seq, 10) + "." + strconv.Itoa(index)
	}
	return strconv.FormatInt(seq, 10)
}

// ErrorKind tells a failing tool from a failing exchange.
type ErrorKind string

// The error kinds (grading.md 3.1).
const (
	ContentError  ErrorKind = "content-error"
	ProtocolError ErrorKind = "protocol-error"
)

// ToolError is one call that ended in an error.
type ToolError struct {
	Kind ErrorKind
	Tool string
	// Seq and Index are those of the call; Record is the record that shows the
	// error: the answer, the server's end, a stray reply (0: none).
	Seq    int64
	Index  int
	Record int64
	// Message is the server's text, What how the error came about where there is
	// no such text ("the server ended before it answered").
	Message, What string
	// Code is the JSON-RPC code of a protocol error; HasCode tells 0 from none.
	Code    int64
	HasCode bool
}

// Timing is how long one call took.
type Timing struct {
	Tool string
	Seq  int64
	// Index is that of the call. Ns is the duration without the time that the
	// server waited for the client, WaitedNs that time.
	Index        int
	Ns, WaitedNs int64
}

// Undecided is a call of whose outcome nothing can be said.
type Undecided struct {
	Tool  string
	Seq   int64
	Index int
	Why   string
}

// Result is the outcome of a check on one trial.
type Result string

// The three results. Error means that evidence was missing: never a pass, never
// the server's fault.
const (
	Pass  Result = "pass"
	Fail  Result = "fail"
	Error Result = "error"
)

// Outcome is a result with its reason.
type Outcome struct {
	Result Result
	// Reason is one line; Expected and Actual are short texts.
	Reason, Expected, Actual string
	// Records are the records that it rests on, in order, at most 5.
	Records []int64
	// ProtocolOnly says of a failing noToolErrors that every error it saw was a
	// protocol error: the defect is the call link's (grading.md 0.2.10).
	ProtocolOnly bool
	// Calls are the calls (Seq, Index) that a failing call-link row blames.
	Calls []CallRef
}

// CallRef names a call.
type CallRef struct {
	Seq   int64
	Index int
}

// maxRecords bounds the records that an outcome names (grading.md 4.5).
const maxRecords = 5

func (o *Outcome) cite(seq int64) {
	if seq != 0 && len(o.Records) < maxRecords {
		for _, s := range o.Records {
			if s == seq {
				return
			}
		}
		o.Records = append(o.Records, seq)
	}
}

// inScope yields the calls to a tool, or all without a name.
func (ev *Evidence) inScope(tool string, named bool) []*CallEvidence {
	out := make([]*CallEvidence, 0, len(ev.Calls))
	for i := range ev.Calls {
		if !named || ev.Calls[i].Tool == tool {
			out = append(out, &ev.Calls[i])
		}
	}
	return out
}

// Schemas caches compiled schemas by their text. It is for one goroutine.
type Schemas struct {
	entries map[string]compiled
	bytes   int
}

type compiled struct {
	schema *schema.Schema
	err    error
}

// maxCached bounds the cache (bytes of schema text; a compiled schema takes
// some 20 times that). Past it the cache starts anew, which costs time alone.
const maxCached = 1 << 20

// Compile returns the schema of that text, or why it cannot be used.
func (s *Schemas) Compile(raw []byte) (*schema.Schema, error) {
	if s == nil {
		return schema.Compile(raw)
	}
	if c, ok := s.entries[string(raw)]; ok {
		return c.schema, c.err
	}
	if s.entries == nil || s.bytes > maxCached {
		s.entries, s.bytes = map[string]compiled{}, 0
	}
	var c compiled
	c.schema, c.err = schema.Compile(raw)
	s.entries[string(raw)] = c
	s.bytes += len(raw)
	return c.schema, c.err
}
