// Package session makes sessions of a recording: it pairs requests with what
// answered them, collects catalogs and calls, and says how completely each was
// captured. Every derived thing names the records (seq) that it rests on.
//
// It knows JSON-RPC and MCP in both eras. It must not know suites, checks or
// verdicts (grade), nor host transcripts (record/host), and it never guesses:
// what the wire cannot tell is a state of its own.
package session

import (
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Era is which of the two protocol eras a session speaks (wire.md 1.1).
type Era string

// The eras: EraInitialize begins with the initialize handshake (versions up to
// 2025-11-25), EraStateless carries its version in every request (2026-07-28).
const (
	EraUnknown    Era = ""
	EraInitialize Era = "initialize"
	EraStateless  Era = "stateless"
)

// CaptureState says how completely a channel of evidence was captured (grading.md 0.1).
type CaptureState string

// The capture states.
const (
	Complete CaptureState = "complete"
	Partial  CaptureState = "partial"
	Absent   CaptureState = "absent"
)

// Capture holds one state per wire channel of the evidence.
type Capture struct {
	ToolCalls        CaptureState `json:"toolCalls"`
	ToolErrors       CaptureState `json:"toolErrors"`
	ToolResults      CaptureState `json:"toolResults"`
	ToolCallTimings  CaptureState `json:"toolCallTimings"`
	ToolInventory    CaptureState `json:"toolInventory"`
	ToolDeclarations CaptureState `json:"toolDeclarations"`
	// Why says what made a channel partial, in words, in the order found.
	Why []string `json:"why,omitempty"`
}

// WhyTorn is what Capture.Why says of a torn recording.
const WhyTorn = "the recording is torn"

// Session is what one host did with one server.
type Session struct {
	// ID is "s1", "s2", … in the order of first records.
	ID              string
	Era             Era
	Transport       string // "stdio", "http" (one endpoint) or "http+sse" (2024-11-05: two)
	ProtocolVersion string // as negotiated; empty when it never was
	Client, Server  Peer
	// Basis says what makes these records one session, in words.
	Basis string
	// Principal is equal for sessions over HTTP with equal credentials; empty: none
	// were sent, or the session is stdio's. It is to be compared and never shown.
	Principal string
	// FirstSeq and LastSeq bound the session's records, both inclusive.
	FirstSeq, LastSeq int64
	FirstAt, LastAt   int64 // nanoseconds since the recording's start

	Connection Connection
	// Lists are the page chains of tools/list, in order. The catalog that holds
	// for a call is Call.Catalog.
	Lists []*catalog.List
	// ToolsCapability tells whether the server declared the tools capability;
	// nil when its capabilities are not on record.
	ToolsCapability *bool
	Calls           []*Call
	Capture         Capture

	// Messages counts JSON-RPC messages per direction, elements of a batch one by one.
	Messages map[record.From]int
	// Lines counts stdio lines per direction, Blank and Nonmessage those that
	// are empty (white space only) and those that are no message.
	Lines, Blank, Nonmessage map[record.From]int
	// Requests lists the requests of both sides, in order.
	Requests []*Exchange
	// SettledCalls counts the calls that are not in Calls any more (Options.Settled).
	SettledCalls int
	// Orphans are replies that belong to no request, duplicates included.
	Orphans []*Orphan
	// Remarks are observations on single lines or on the session, in order; of
	// one flag at most 1,000 are kept. RemarkCounts has all, by flag.
	Remarks      []Remark
	RemarkCounts map[string]int
	// Gaps are the losses inside the session.
	Gaps []record.Gap
	// Torn says that the recording ends without a closing record, inside this session.
	Torn bool
	// OnlyTorn says that this is all that keeps the channels of calls from being
	// complete: nothing else was lost, and no call was pending.
	OnlyTorn bool
	End      End
}

// Peer is a client or server as it named itself.
type Peer struct {
	Name    string
	Version string
	Title   string
}

// Connection is what proves, or disproves, that host and server reached each
// other (grading.md 0.1 "Connection", wire.md 3.1).
type Connection struct {
	// Spawn is set when the server's process could not be started.
	Spawn *SpawnError
	// ReachedSeq is the record that proves that the server was reached: its
	// first valid JSON-RPC message, else (Exit set, no launcher) its exit. 0: never.
	ReachedSeq int64
	// Launcher says that the command is one of those that start another program
	// (npx, uvx, docker …), so that its exit says nothing about the server.
	Launcher bool
	// Initialize is the handshake's request that counts: the last of the session.
	Initialize *Exchange
	// InitializedSeq is notifications/initialized; 0 when not seen.
	InitializedSeq int64
	// Discover lists server/discover requests, the probes of a fallback included.
	Discover []*Exchange
	// FirstSuccessSeq is the first successful answer to any request of the
	// client's except initialize and server/discover; 0: none.
	FirstSuccessSeq int64
	// Unsupported is the last answer with -32022 (unsupported protocol version).
	Unsupported *Exchange
	// Unreached is set when a request could not be sent on to an HTTP server.
	Unreached *Unreached
	// Ended says, in words, how the HTTP exchange of an initialize ended that was
	// not answered; EndedSeq is the record that shows it.
	Ended    string
	EndedSeq int64
	// EndedBy is the state that a call would have which ended so.
	EndedBy CallState
	// BeganMidway says that the recording begins inside the session.
	BeganMidway bool
	// StderrTail is the end of what the server wrote to stderr, at most 2 KiB.
	StderrTail string
}

// SpawnError is a server process that could not be started.
type SpawnError struct {
	Seq   int64
	Error string
	Code  int // 126 or 127
}

// Unreached is a request that sixlink could not send on: What is connect, tls or send.
type Unreached struct {
	Seq         int64
	What, Error string
}

// End is how the session ended.
type End struct {
	// ExitSeq is the record of the process's end; 0: not on record.
	ExitSeq int64
	Exit    *record.Exit
	// PassedOn says that the process died of a signal that came from the host or
	// from sixlink, so that its death is not its own.
	PassedOn bool
	// First is who ended the session: "client", "server", "proxy", or "" when
	// the recording does not tell.
	First string
	// FirstSeq is the record that shows it.
	FirstSeq int64
}

// IDKind is the JSON type of a JSON-RPC id.
type IDKind uint8

// The kinds of ids. Null never pairs; Absent is no id at all; Other is an id
// that is neither string nor number (true, {} …), which does not pair either.
const (
	IDAbsent IDKind = iota
	IDNull
	IDString
	IDNumber
	IDOther
)

// ID is a JSON-RPC id. Two ids are equal iff Kind and Value are (wire.md 2.2).
type ID struct {
	Kind IDKind
	// Value is the decoded text of a string (lone surrogates kept as WTF-8), or
	// a number's exact decimal normal form. Never a float64.
	Value string
	// Raw is the id as it was spelt on the wire.
	Raw string
}

// ExchangeState is how an exchange ended.
type ExchangeState string

// The states of an exchange.
const (
	ExchangeResult     ExchangeState = "result"
	ExchangeError      ExchangeState = "error"
	ExchangeMalformed  ExchangeState = "malformed"  // answered by result and error at once, or by neither
	ExchangeUnanswered ExchangeState = "unanswered" // see Call.State for calls
	ExchangeCancelled  ExchangeState = "cancelled"  // cancelled by its requester and never answered (see Late)
)

// Exchange is one JSON-RPC request and what answered it.
type Exchange struct {
	From   record.From // the requester
	Seq    int64       // the request's record (the first part's, for a line in parts)
	Index  int         // place in a batch, -1 when the request was no batch element
	At     int64       // when the request's last byte was read
	ID     ID
	Method string
	State  ExchangeState
	// AnswerSeq, AnswerIndex, AnswerAt name the reply that counts (the first); 0: none.
	AnswerSeq   int64
	AnswerIndex int
	AnswerAt    int64
	AnswerID    ID
	// Late says that the answer came after the request had been cancelled.
	Late bool
	// CancelledSeq is the notifications/cancelled for it; 0: none.
	CancelledSeq int64
	CancelledAt  int64
	CancelReason string
	// Undelivered says that the request was read but never reached the other side.
	Undelivered bool
	Error       *RPCError
	// Params and Result are where the values stand; empty when there is none.
	Params, Result Value
	// Progress counts notifications/progress for it.
	Progress int
	Remarks  []Remark
	// HTTP says in which HTTP exchanges request and answer came; nil over stdio.
	HTTP *HTTP
}

// HTTP is where a request and its answer came over HTTP.
type HTTP struct {
	// Exchange is the number of the HTTP exchange that the request came in: in its
	// request, for one of the client's, else in its response.
	Exchange int64
	// Event and EventID are the index of the server-sent event that the request was,
	// for one of the server's, and the stream's last event id there; -1: it was none.
	Event   int
	EventID string
	// Status is that of the response to Exchange; 0: there was none.
	Status int
	// AnswerExchange, AnswerEvent and AnswerEventID say the same of the answer that
	// counts; 0: there is none.
	AnswerExchange int64
	AnswerEvent    int
	AnswerEventID  string

	x *httpExchange // while nobody answered
}

// RPCError is the error member of an answer. Code keeps its exact spelling when
// it is no integer that fits.
type RPCError struct {
	Code    int64
	RawCode string
	Message string
	// NoCode says that the answer was an HTTP status alone (RawCode), without a
	// JSON-RPC error of the server's.
	NoCode bool
	// Whole is where all of the error stands, if it has more than a code and the message as
	// it is here: data, or a longer message.
	Whole Value
}

// CallState is how a call ended (wire.md 3.3).
type CallState string

// The terminal states of a call. CallPending is a call that the recording cuts.
const (
	CallResult         CallState = "result"
	CallToolError      CallState = "toolError"      // result with isError: true
	CallProtocolError  CallState = "protocolError"  // JSON-RPC error
	CallMalformed      CallState = "malformed"      // result and error at once, or a result that is no object
	CallInputRequired  CallState = "inputRequired"  // an input round that was never resumed
	CallTaskHandle     CallState = "taskHandle"     // a task whose result is not on record
	CallCancelled      CallState = "cancelled"      // by the client
	CallClientTimeout  CallState = "clientTimeout"  // cancelled with the words of a timeout
	CallNeverAnswered  CallState = "neverAnswered"  // the server lived on and did not answer
	CallConnectionDrop CallState = "connectionDrop" // the server ended while it was open
	CallClientGone     CallState = "clientGone"     // the host left while it was open
	CallUndelivered    CallState = "undelivered"    // it never reached the server
	CallPending        CallState = "notMeasured"    // the recording begins or ends inside it, or a gap lies in it
	CallNoID           CallState = "noID"           // sent without an id, or with null: nothing can answer it
)

// Call is one tools/call as the user of the tool means it: the retries of one
// multi-round-trip chain, and several attempts with one host tool-use id, are
// one call.
type Call struct {
	Seq   int64 // of its first request
	Index int   // in a batch, else -1
	Tool  string
	// NameOK is false when params.name is missing or no string.
	NameOK bool
	ID     ID
	State  CallState
	At     int64 // when the (first) request's last byte was read
	// AnswerSeq and AnswerAt name the answer that counts; 0: none. Late says that
	// it came after the call was cancelled: it is attached and decides nothing.
	AnswerSeq, AnswerAt int64
	Late                bool
	// CancelledSeq and CancelledAt name the cancellation, in the states
	// cancelled and clientTimeout; 0: none.
	CancelledSeq, CancelledAt int64
	// WaitedNs is how long, inside the call, the server waited for the client to
	// answer requests of its own (elicitation, sampling, roots, input rounds).
	WaitedNs int64
	// SentAgain says that a later call may be this one, sent again: its answer may be
	// in a gap, and the same was asked once more.
	SentAgain bool
	// Arguments is where the arguments stand (empty: none were sent).
	Arguments Value
	// TooDeep says that the arguments are nested deeper than this package decodes.
	TooDeep bool
	// Result is where the result (or a task's own result) stands.
	Result Value
	Error  *RPCError
	// ErrorText is the text blocks of an isError result, joined, at most 2 KiB.
	ErrorText string
	// BadIsError says that isError is there and is no boolean.
	BadIsError bool
	// RepliesWithoutRequest says that, after this unanswered call, the server
	// sent replies that belong to no request.
	RepliesWithoutRequest []int64 // their seqs, at most 8
	// AnsweredLater says that the server answered a later request and not this call.
	AnsweredLater bool
	// ToolUseID is the host's own id of the tool use, when it put one on the wire.
	ToolUseID string
	// Attempts are the exchanges that make up the call, in order; one in most cases.
	Attempts []*Exchange
	Task     *Task
	// Ended says, in words, how a call's HTTP exchange ended, where no answer came;
	// EndedSeq is the record that shows it.
	Ended    string
	EndedSeq int64
	// Catalog is the list that held when the call was made: the last one that
	// was begun before it; nil when there is none. Stale says that the list had
	// been announced as changed and was not fetched again.
	Catalog *catalog.List
	Stale   bool
	Remarks []Remark
}

// DurationNs is answer minus request minus the time that the server waited for
// the client; ok is false when there is no answer, or only a late one.
func (c *Call) DurationNs() (ns int64, ok bool) {
	if c.AnswerSeq == 0 || c.Late {
		return 0, false
	}
	return max(0, c.AnswerAt-c.At-c.WaitedNs), true
}

// Task is a call that the server answered with a task handle.
type Task struct {
	ID        string
	Status    string // the last that was seen
	StatusSeq int64
}

// Orphan is a reply without a request, or a second reply.
type Orphan struct {
	From      record.From
	Seq       int64
	Index     int
	ID        ID
	Duplicate bool  // the request had been answered already
	RequestOf int64 // the request's seq, for a duplicate
	Hint      string
	// Exchange, Event and EventID say where it came over HTTP, as in [HTTP].
	Exchange int64
	Event    int
	EventID  string
}

// Remark is an observation on a line or on the session. Flag is one of the
// names in remarks.go; it is stable.
type Remark struct {
	Seq    int64       // 0: on the session
	From   record.From // empty: on the session
	Flag   string
	Detail string
	// Exchange is the HTTP exchange that it is about; 0: none, or stdio.
	Exchange int64
}

// Value says where a JSON value stands: in which records' data, and where in
// it. Small values are held; others are fetched from the recording when asked for.
type Value struct {
	frame  *frameData // shared by the values of one line; nil when there is no value
	off, n int64      // in the line's data
	depth  int32
}

// Source fetches the data of the records at refs, one after the other.
type Source interface {
	Fetch(refs []record.Ref) ([]byte, error)
}
