package session

import "github.com/sixlink/sixlink/record"

// Flags of remarks. They are stable: suites, reports and fixtures name them.
const (
	// On lines.

	FlagBOM             = "bom"              // the direction began with a byte order mark; it was skipped
	FlagHeaderFraming   = "header-framing"   // Content-Length lines: the peer frames with headers, not with lines
	FlagNonmessage      = "nonmessage"       // a line that is no JSON-RPC message
	FlagTwoValues       = "two-values"       // several JSON values on one line: none of them is used
	FlagUnterminated    = "unterminated"     // the last line of the direction has no end; most peers never process it
	FlagUnfinished      = "unfinished"       // the recording, or a gap, ends inside the line
	FlagHeadless        = "headless"         // the beginning of the line was lost in a gap
	FlagTooLong         = "too-long"         // longer than this package puts together
	FlagTooDeep         = "too-deep"         // nested deeper than jsontext decodes; id, method and tool name are known
	FlagInvalidUTF8     = "invalid-utf8"     // not UTF-8; peers read U+FFFD there
	FlagBatch           = "batch"            // an array of messages: legal in 2025-03-26 only
	FlagDuplicateMember = "duplicate-member" // a name twice in one object: the last holds
	FlagNoVersion       = "no-jsonrpc"       // no "jsonrpc":"2.0"

	// On ids and pairs.

	FlagIDSpelling = "id-spelling" // the answer spells the id differently, by the same value
	FlagNullID     = "null-id"     // the id is null: it pairs with nothing
	FlagNoID       = "no-id"       // a call sent as a notification, or a result without id: it pairs with nothing
	FlagBadID      = "bad-id"      // the id is neither string nor number: it pairs with nothing
	FlagIDReuse    = "id-reuse"    // the id of a request that is still open (any era) or was used before (initialize era)
	FlagLate       = "late"        // the answer came after the request was cancelled
	FlagCrossed    = "crossed"     // the cancellation came after the answer
	FlagDuplicate  = "duplicate"   // a second answer
	FlagOrphan     = "orphan"      // a reply that belongs to no request
	FlagEarly      = "early"       // the answer came before the request's last byte was read

	// On what a message says.

	FlagResultAndError = "result-and-error" // both at once: malformed
	FlagNoOutcome      = "no-outcome"       // neither result nor error: malformed
	FlagBadError       = "bad-error"        // the error is no object with a code
	FlagBadIsError     = "bad-is-error"     // isError is there and is no boolean
	FlagBadParams      = "bad-params"       // params that are no object, or lack what the method needs
	FlagBadResult      = "bad-result"       // a result that is no object
	FlagNoResultType   = "no-result-type"   // a result of the stateless era without resultType: read as complete
	FlagUndelivered    = "undelivered"      // recorded, but the other side never got it
	// FlagUnknownResultType is a resultType that the protocol does not know: the
	// result is malformed, unless an extension that was advertised may define it.
	FlagUnknownResultType = "unknown-result-type"

	FlagUnresumed  = "unresumed"   // an input round was answered by a request that could not be joined with certainty
	FlagWaitShared = "wait-shared" // several calls were open while the server waited for the client

	// On HTTP exchanges.

	FlagMislabelled = "body-does-not-fit-type"         // the body is not what its Content-Type says: it is not read
	FlagEncoding    = "unreadable-encoding"            // it cannot be unpacked
	FlagUnreadBody  = "unread-body"                    // it is hidden, or not all on record
	FlagHTTPError   = "http-error"                     // a status of 400 and more to a request
	FlagAccepted    = "accepted-request"               // 202 to a request
	FlagByExchange  = "by-exchange"                    // an error that names no request answers its exchange's
	FlagHalfEvent   = "half-event"                     // a stream ended inside an event
	FlagEventType   = "event-type"                     // an event of a type that MCP does not know
	FlagRedirect    = "redirect-leaves-proxy"          // a redirect to an absolute URL: followed, it goes past the recorder
	FlagMetadata    = "resource-metadata-other-origin" // OAuth metadata that names another address than the client used
	FlagSessionGone = "session-gone"                   // 404 to a session's id

	// On sessions.

	FlagEraFallback = "era-fallback" // a probe of the stateless era, then initialize
	FlagEraMixed    = "era-mixed"    // requests of both eras succeeded
	FlagMidway      = "began-midway" // the recording begins inside the session
	FlagStall       = "stall"        // a write was blocked by its reader
	FlagNewProcess  = "new-process"  // another process was started in the same recording
	FlagReconnect   = "reconnect"    // another initialize in the same process: a new session
)

// maxRemarks is how many remarks of one flag a session keeps; the rest is
// counted (Session.RemarkCounts): a server that logs to stdout for hours must
// not fill our memory.
const maxRemarks = 1000

// remark takes an observation; detail is a short sentence, never empty.
func (s *sess) remark(flag string, seq int64, from record.From, detail string) {
	s.addRemark(Remark{Seq: seq, From: from, Flag: flag, Detail: detail})
}

func (s *sess) addRemark(r Remark) {
	if s.RemarkCounts == nil {
		s.RemarkCounts = map[string]int{}
	}
	s.RemarkCounts[r.Flag]++
	if s.RemarkCounts[r.Flag] <= maxRemarks {
		s.Remarks = append(s.Remarks, r)
	}
}

// unremark takes back a remark that later records have proved wrong.
func (s *sess) unremark(flag string, seq int64) {
	for i := len(s.Remarks) - 1; i >= 0; i-- {
		if s.Remarks[i].Flag == flag && s.Remarks[i].Seq == seq {
			s.Remarks = append(s.Remarks[:i], s.Remarks[i+1:]...)
			break
		}
	}
	if s.RemarkCounts[flag]--; s.RemarkCounts[flag] <= 0 {
		delete(s.RemarkCounts, flag)
	}
}
