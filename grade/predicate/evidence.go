package predicate

import (
	"strconv"

	"github.com/sixlink/sixlink/grade/internal/schema"
	"github.com/sixlink/sixlink/grade/internal/value"
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
	// Unreached says that there is no call, and that nothing shows that the server was
	// reached: that a call is missing was nobody's choice (grading.md 4.5.2).
	Unreached bool
	// Errors holds at most one error a call.
	Errors []ToolError
	// Timings holds at most one duration a call.
	Timings []Timing
	// Results holds at most one result a call, in the order of the calls.
	Results []ToolResult
	// Undecided are calls whose outcome the evidence cannot tell, though a reply
	// or its absence is on record; each is an evidence error for checks on errors.
	Undecided []Undecided
	// Lists are the catalogs that the trial saw, in order.
	Lists []*catalog.List
	// Declarations are the tools as the graded servers listed them, raw and before
	// any merging of names: per server the last complete catalog before the first
	// call, else the last one (grading.md 0.1). The state is that of the channel
	// toolDeclarations.
	Declarations []Declaration
	// Conversation is what the host's transcript tells; nil when none is joined.
	Conversation *Conversation
	// Join says how it joins with the calls; nil: nothing is left over.
	Join *Join
	// Turn is the number of the turn that this evidence was narrowed to, from 0;
	// -1 for a whole trial (see ForTurn).
	Turn int
	// Parts are the sessions of a trial over several, in order; nil: there is one.
	// See [Part].
	Parts []*Part
	// Schemas caches compiled schemas over trials; nil compiles anew.
	Schemas *Schemas

	// erred are the calls that were refused, and checked what was found of their
	// arguments, by their place in Calls.
	erred   map[CallRef]bool
	checked map[int]argumentsCheck
}

// CallEvidence is one call.
type CallEvidence struct {
	// Seq and Index name the record of the request; Index is -1 outside a batch.
	Seq   int64
	Index int
	Tool  string
	// ToolUseID is the host's own id of the tool use, when it is known.
	ToolUseID string
	// SentAgain says that a later call may be this one: see [Evidence.SentOnce].
	SentAgain bool
	// Turn is the turn that the call belongs to, from 0; -1 when unknown.
	Turn int
	// HostOnly calls never reached the wire: denied by the user, refused by the
	// host's own schema check, answered from a cache (grading.md 0.1).
	HostOnly bool
	// WireOnly calls are in no transcript, though one is joined.
	WireOnly bool
	// HostWhy says in words why a host-only call was not sent.
	HostWhy string
	// ArgumentsRefused says of a host-only call that the host's own schema check
	// refused its arguments; it counts for argumentsMatchToolSchema.
	ArgumentsRefused bool
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
	// Of is the session that made it, in a trial over several; nil in any other. Then
	// the call was made between Earliest and Latest, by the wall clock (nanoseconds
	// since 1970); within a recording the order of the calls is exact.
	Of               *Part
	Earliest, Latest int64
}

// ID is the call's name in reports: seq, or seq.index in a batch; with the
// recording's id where several meet.
func (c *CallEvidence) ID() string { return c.Of.callID(c.Seq, c.Index) }

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
	Of      *Part // as in [CallEvidence]

	shown string // see String
}

// ToolResult is what came back from one call. Its content is read when a check asks.
type ToolResult struct {
	Tool      string
	Seq       int64 // of the call
	Index     int
	ToolUseID string
	Record    int64 // of the answer
	IsError   bool
	Of        *Part // as in [CallEvidence]
	// Content reads the result. It is called at most once a check, and a check must
	// not change what it returns; an error means that nothing can be said of it.
	Content func() (*ResultContent, error)
	// Size measures the result. It does not need Content.
	Size func() (ResultSize, error)
}

// ResultSize is the size of a result as the model would see it, before any cut:
// UTF-8 bytes (grading.md 0.1).
type ResultSize struct {
	Bytes int64
	// Complete tells that all of it was measured.
	Complete bool
	// Basis is raw_result or model_visible_output.
	Basis string
}

// ResultContent is a result's value.
type ResultContent struct {
	// Text is the text blocks joined without a separator; HasText tells that there
	// was one.
	Text    string
	HasText bool
	// Truncated says that Text was cut before it was recorded.
	Truncated bool
	// Structured is structuredContent as it was sent, JSON an output of another
	// kind that some hosts have; nil: absent.
	Structured, JSON *value.Value
	// StructuredLen is the length in bytes of Structured's JSON text as it was sent.
	StructuredLen int
	// Unread says why Structured could not be read, though there is one: a limit.
	// Text holds all the same.
	Unread error
}

// Declaration is one tool as one server listed it.
type Declaration struct {
	ServerKey string
	Tool      *catalog.Tool
	Of        *Part // as in [CallEvidence]
}

// Conversation is a host's transcript as checks read it, each channel with its
// capture state; the zero state is absent.
type Conversation struct {
	FinalTextState, TurnsState, UsageState, RenderState session.CaptureState
	// FinalText is the last assistant message's text (grading.md 3.2); HasFinalText
	// tells an empty one from none at all.
	FinalText    string
	HasFinalText bool
	// Turns are the user's turns in order; TurnCount is their number, which may be
	// known where the turns are not (TurnCountKnown).
	Turns          []Turn
	TurnCount      int64
	TurnCountKnown bool
	Usage          *Usage
	// Renders are what was seen of widgets.
	Renders []Render
	// Why says in words what keeps a channel from being complete.
	Why map[Channel]string
	// Interrupted says that a turn was; ModelFailed that the host reports an error of
	// the model's provider as its last turn's end (grading.md 0.1 "Inputs of 4.2").
	Interrupted, ModelFailed bool
	// Models are the models that answered, in order.
	Models []string
}

// Turn is one prompt of the user with what the host did until the next one.
type Turn struct {
	Prompt       string
	FinalText    string
	HasFinalText bool
	// FinalTextState is the capture state of the turn's own; empty: the conversation's.
	FinalTextState session.CaptureState
	// Finished turns were neither interrupted nor cut by the transcript's end.
	Finished bool
	Usage    *Usage
}

// Usage counts tokens; a negative count is unknown (grading.md 0.1).
type Usage struct{ Input, Output, Total int64 }

// Render is one observation of a widget (grading.md 3.1).
type Render struct {
	Tool          string
	ToolUseID     string
	Turn          int
	Status        string
	ElapsedNs     int64
	ConsoleErrors int
}

// ForTurn returns the slice of the evidence that a check of one turn reads: the
// turn's calls, errors, final text and renders, and neither results, timings,
// inventory nor declarations (grading.md 1.1 "Turn scope").
func (ev *Evidence) ForTurn(n int) *Evidence {
	out := &Evidence{Capture: ev.Capture, NoCallBecause: ev.NoCallBecause, Unreached: ev.Unreached, Schemas: ev.Schemas, Turn: n, Parts: ev.Parts, Join: ev.Join}
	out.Capture.ToolResults, out.Capture.ToolCallTimings = session.Absent, session.Absent
	out.Capture.ToolInventory, out.Capture.ToolDeclarations = session.Absent, session.Absent
	of := map[CallRef]bool{}
	for _, c := range ev.Calls {
		if c.Turn == n {
			out.Calls = append(out.Calls, c)
			of[CallRef{c.Seq, c.Index}] = true
		}
	}
	for _, e := range ev.Errors {
		if of[CallRef{e.Seq, e.Index}] {
			out.Errors = append(out.Errors, e)
		}
	}
	for _, u := range ev.Undecided {
		if of[CallRef{u.Seq, u.Index}] {
			out.Undecided = append(out.Undecided, u)
		}
	}
	if c := ev.Conversation; c != nil {
		t := &Conversation{FinalTextState: c.FinalTextState, UsageState: c.UsageState, RenderState: c.RenderState, Why: c.Why}
		if n < len(c.Turns) {
			turn := &c.Turns[n]
			t.FinalText, t.HasFinalText, t.Usage = turn.FinalText, turn.HasFinalText, turn.Usage
			if turn.FinalTextState != "" { // the turn's own, not the last one's
				t.FinalTextState = turn.FinalTextState
			}
		}
		for _, r := range c.Renders {
			if r.Turn == n {
				t.Renders = append(t.Renders, r)
			}
		}
		out.Conversation = t
	}
	return out
}

// Timing is how long one call took.
type Timing struct {
	Tool string
	Seq  int64
	// Index is that of the call. Ns is the duration without the time that the
	// server waited for the client, WaitedNs that time.
	Index        int
	Ns, WaitedNs int64
	Of           *Part // as in [CallEvidence]
}

// Undecided is a call of whose outcome nothing can be said.
type Undecided struct {
	Tool  string
	Seq   int64
	Index int
	Why   string
	Of    *Part // as in [CallEvidence]
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

	// restsOnUnseen says that evidence which was not captured could undo a fail (a
	// call that is missing) or a pass (an upper bound): see PartialRule.Unseen.
	restsOnUnseen bool
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

// Schemas caches compiled schemas by their text. It is for one goroutine.
type Schemas struct {
	entries map[string]compiled
	bytes   int
	// What is found of parts of a tool's entry, by their text: one server's catalog is
	// in many a trial.
	values     map[string]entryParsed
	faults     map[string]fault
	names      map[string]named
	deprecated map[string]bool
	kept       int // bytes of memory, about, and rather too many
}

// maxRemembered bounds them; past it they start anew, which costs time alone.
const maxRemembered = 4 << 20

type entryParsed struct {
	v   *value.Value
	err error
}

type fault struct {
	why string
	err error
}

// remember looks raw up in one of the maps of s, or finds out.
func remember[T any](s *Schemas, of func(s *Schemas) *map[string]T, raw []byte, find func() T) T {
	if s == nil {
		return find()
	}
	m := of(s)
	if found, ok := (*m)[string(raw)]; ok {
		return found
	}
	if s.kept > maxRemembered {
		s.values, s.faults, s.names, s.deprecated, s.kept = nil, nil, nil, nil, 0
	}
	if *m == nil {
		*m = map[string]T{}
	}
	found := find()
	(*m)[string(raw)] = found
	s.kept += 32*len(raw) + 200
	return found
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
