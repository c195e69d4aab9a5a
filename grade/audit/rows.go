package audit

import (
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/record/session"
)

// Time is nanoseconds since 1970 by the wall clock of the machine that recorded; 0:
// the recording does not tell.
type Time = int64

// Session is the row of one session. Texts are valid UTF-8.
type Session struct {
	Recording, Session string
	// State is the recording's: sealed, live or torn.
	State    string
	Start    Time
	Duration int64 // nanoseconds, by the monotonic clock
	Era      string
	// Transport is stdio, http or http+sse.
	Transport, Protocol string
	Host, HostVersion   string
	// Server is the label server, else the server's own name.
	Server, ServerVersion string
	Labels                map[string]string
	Basis                 string
	// Used sessions have a call.
	Used    bool
	Calls   int64
	Capture session.Capture
	Gaps    int64
	Torn    bool
	EndedBy string
	// Lists counts lists of tools by their state; Paging says what became of their pages.
	Lists  map[string]int64
	Paging Paging
	// Catalogs are the hashes of the whole lists that the session saw, in order.
	Catalogs []string

	// Graded says that it is a trial; NotGraded why it is none. The rest is the trial's.
	Graded     bool
	NotGraded  string
	Case       string
	Verdict    string
	Why        string
	FirstBreak string
	// Links are the states in the order of chain.Order.
	Links   [6]string
	Reasons [6]string
}

// Paging says whether the host fetched all pages of the lists that it began.
type Paging string

// The words. PagingStopped: a page named another one, and the host did not ask for it
// while it was there and could have. PagingStuck: the server's cursor did not move.
const (
	PagingNone    Paging = "none" // no list on record
	PagingWhole   Paging = "whole"
	PagingStopped Paging = "stopped"
	PagingStuck   Paging = "stuck"
	PagingFailed  Paging = "failed"
	PagingUnknown Paging = "notMeasured"
)

// Checked says what came of holding a value against a tool's own schema.
type Checked string

// The words. All but the first two mean that nothing was measured, and why.
const (
	Fits         Checked = "fits"
	Violates     Checked = "violates"
	NoList       Checked = "noList"      // no list of tools is on record for the call
	NotListed    Checked = "notListed"   // the list does not have the tool
	NoSchema     Checked = "noSchema"    // the tool has none
	NoResult     Checked = "noResult"    // none is on record
	IsError      Checked = "isError"     // results that say they are errors need not fit
	Unusable     Checked = "unusable"    // the schema or the value is beyond a limit, or cannot be read
	NotSupported Checked = "notOfSchema" // a round of input or a task's handle
)

// NoStructured is the class of a result without structuredContent where the tool has
// an outputSchema (wire.md 3.4). The other classes are those of argumentsMatchToolSchema.
const NoStructured = "missing-structured-content"

// Call is the row of one call.
type Call struct {
	Recording, Session string
	// ID is seq, or seq.index in a batch.
	ID    string
	Seq   int64
	Index int
	Start Time
	// These are the session's.
	Server, ServerVersion, Host, HostVersion, Era, Transport string
	Labels                                                   map[string]string
	Case                                                     string

	Tool string
	// State is how it ended, in the words of record/session.
	State string
	// ErrorKind is content-error or protocol-error (grading.md 0.1), empty: none.
	// Undecided says that what is on record does not tell whether it is one.
	ErrorKind string
	Code      int64
	HasCode   bool
	Undecided bool
	// Latency is in nanoseconds, without Waited: the time that the server waited for
	// the client. HasLatency is false where there was no answer to measure.
	Latency, Waited int64
	HasLatency      bool
	// Size is that of the result as the model would see it, in bytes (grading.md 0.1).
	Size      int64
	HasSize   bool
	Cancelled bool
	// Attempts counts its requests: rounds of input, and what carries one tool-use id.
	Attempts int
	// Repeat says that it has the tool and the arguments of the call directly before it,
	// Retry that the last call of its tool had its arguments and did not succeed.
	// RepeatUnknown says that its arguments, or those before, could not be compared.
	Repeat, Retry, RepeatUnknown bool
	Arguments, Result            Checked
	ArgumentClasses              []string
	ResultClasses                []string
}

// Row is the row of one check on one trial.
type Row struct {
	Recording, Session, Case string
	Check, Link, Role        string
	Turn                     int
	// Result is pass, fail or error; Reason one line, made visible.
	Result, Reason string
	Records        []int64
	Start          Time
	Server         string
}

// Catalog is a whole list of tools that a session saw.
type Catalog struct {
	Server, Version, Hash string
	// Host is the one that it was shown to: a server may list by what a host can do.
	Host  string
	Start Time
	// Place is the list's place among those of its session.
	Place int
	// Tools is the JSON of its tools, as they were listed; Raw the hash of that text.
	Tools []byte
	Raw   string
}

// Measured is what one recording gives.
type Measured struct {
	Recording string
	Path      string // for people
	State     string
	Size      int64 // of its files, in bytes
	Gaps      int64
	// Skipped says why nothing of it counts; empty: something does.
	Skipped, Detail string
	Sessions        []Session
	Calls           []Call
	Rows            []Row
	Catalogs        []Catalog
	// Unkept counts whole lists that are too long or too deep to be kept.
	Unkept int64
	// LeftOut counts sessions that a filter left out.
	LeftOut int64
	// NoTime counts sessions that --since or --until could not judge.
	NoTime int64
}

// Why a recording was skipped.
const (
	SkipUnreadable = "unreadable"
	SkipNoSession  = "noSession"
	SkipFiltered   = "filtered"
	SkipTwice      = "twice" // the same recording was given twice
)

// BreakReason is the reason of the first break; empty: there is none.
func (s *Session) BreakReason() string {
	for i, l := range chain.Order {
		if s.FirstBreak == string(l) {
			return s.Reasons[i]
		}
	}
	return ""
}
