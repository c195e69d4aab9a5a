package session

import (
	"slices"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// channel is where ids are unique, by direction (wire.md 2.2): a stdio process;
// or a session over HTTP with the streams and exchanges in it, where what an
// exchange answers to is looked for in the exchange first.
type channel struct {
	d        *Decoder
	over     carrier
	midway   bool // the recording begins inside the channel's life
	started  bool // a start record was seen
	opening  bool // no client message, and no reply, has been seen yet
	sessions []*sess
	cur      *sess

	// asked has the requests of each side, open and done.
	asked map[record.From]*requests
	early []earlyReply

	gapSeq   int64       // the last seq that a gap on the wire reaches; 0: none
	firstGap int64       // where the first one stands
	answered int64       // the latest request (seq) of the client that was answered, pings left out
	openEnd  bool        // the recording ends while the server could still have answered
	unsent   []lostRange // what never reached the other side
}

// carrier is what carries a channel's messages: it knows how sessions begin, and
// what became of a request without an answer.
type carrier interface {
	// handshake is told of an initialize of the client's before it is read.
	handshake(w where)
	// finishSession is told that a session of the channel ends, before its calls do.
	finishSession(s *sess)
	// unanswered decides the state of a call without an answer that counts (wire.md 3.3).
	unanswered(c *call) CallState
	// unlisted tells why a page has no answer, and whether the server is to blame.
	unlisted(ex *Exchange, s *sess) (failed bool, why string)
	// basis says what makes the records one session.
	basis(s *sess) string
}

func newChannel(d *Decoder) channel {
	return channel{d: d, asked: map[record.From]*requests{record.Client: newRequests(), record.Server: newRequests()}}
}

func (p *channel) newSession(transport string, seq, at int64) *sess {
	s := &sess{p: p, lists: catalog.NewBuilder(), pages: map[*Exchange]*catalog.Request{}, byUse: map[string]*call{},
		tasks: map[string]*call{}, status: map[string]taskStatus{},
		Session: &Session{Transport: transport, FirstSeq: seq, FirstAt: at, LastSeq: seq, LastAt: at,
			Messages: map[record.From]int{}, Lines: map[record.From]int{}, Blank: map[record.From]int{}, Nonmessage: map[record.From]int{}}}
	p.sessions = append(p.sessions, s)
	p.cur = s
	return s
}

// lostRange is what did not reach the other side of one direction.
type lostRange struct {
	from     record.From
	off, end int64 // end 0: everything from off on
}

func (l lostRange) hits(from record.From, start, end int64) bool {
	return l.from == from && end > l.off && (l.end == 0 || start < l.end)
}

// sess is a session that is being made.
type sess struct {
	*Session
	p        *channel
	lists    *catalog.Builder
	pages    map[*Exchange]*catalog.Request
	byUse    map[string]*call // by the host's tool-use id
	rounds   []*call          // that wait for the client to resume them
	elicits  []*call          // that were answered with -32042 and may be tried again
	calls    []*call          // those that are not final, and some that are, in order
	settleAt int              // the length of Requests at which the answered ones are let go
	spoke    bool             // one of those did (see refused)
	sweepAt  int              // the length of calls at which the final ones are let go
	open     []*call          // without a final answer
	tasks    map[string]*call
	status   map[string]taskStatus // of tasks that no call is known for yet
	orphans  []int64               // seqs of replies of the server's that belong to no request

	modern     bool // a request carried its version
	modernOK   bool // and one other than a probe succeeded
	legacyOK   bool // initialize succeeded
	wireGaps   []record.Gap
	superseded bool     // another initialize came in the same process
	capsKnown  bool     // the server's capabilities are on record
	extensions bool     // and name extensions of the protocol
	clientExt  bool     // a request of the client's names extensions
	unread     bool     // a line was too long to be read
	lossy      []string // what else of the client may be missing
}

// touch widens the session to a record.
func (s *sess) touch(seq, at int64) {
	if seq > s.LastSeq {
		s.LastSeq, s.LastAt = seq, max(at, s.LastAt)
	}
}

// maxUnsent bounds how many undelivered records are held against requests: a
// recorder writes one or two.
const maxUnsent = 64

// isUndelivered tells whether bytes that are read now are known not to have arrived.
func (p *channel) isUndelivered(from record.From, start, end int64) bool {
	return slices.ContainsFunc(p.unsent, func(l lostRange) bool { return l.hits(from, start, end) })
}
