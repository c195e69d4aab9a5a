// Package join says which calls of a host's transcript are which calls on the
// wire (hosts.md 5): by the ids that some hosts put on the wire, else by what was
// called with which arguments and when. It never pairs by position, result,
// progress token or client name, and what is not unique it calls ambiguous.
//
// It reads conversations (record/host) and sessions (record/session) and changes
// neither. It must not know suites, checks or verdicts: what a rest or a
// contradiction means for a check is package grade's.
package join

import (
	"cmp"
	"slices"
	"time"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/session"
)

// Wire is one session of a recording, with what a recording's header knows.
type Wire struct {
	// Recording is the recording's id.
	Recording string
	Session   *session.Session
	// Server is the host's own key of the server (label `server`); empty: unknown.
	Server string
	// Start is the wall clock at the recording's At = 0, Until at its last record
	// where it is whole; zero: unknown.
	Start, Until time.Time
	// HostSession is CLAUDE_CODE_SESSION_ID of the server's environment.
	HostSession string
	// Masked says that credentials in the recording are filler.
	Masked bool

	light *wire // what was read of it already (Light)
}

// DefaultWindow is how far a call on the wire may lie outside the time in which
// the host says that it ran (hosts.md 5).
const DefaultWindow = 2 * time.Second

// Options of a join.
type Options struct {
	// Window is the ε of hosts.md 5; 0: DefaultWindow.
	Window time.Duration
	// Chosen says that the user named this one conversation for these sessions: an
	// exact scope, where nothing on the wire says otherwise.
	Chosen bool
}

// Verdict is what the join of one conversation comes to.
type Verdict string

// The verdicts (hosts.md 5). Joined: every call of the recorded servers and every
// call on the wire is explained.
const (
	Joined         Verdict = "joined"
	JoinedWithRest Verdict = "joined-with-rest"
	Contradictory  Verdict = "contradictory"
	NotJoined      Verdict = "not-joined"
)

// Tier says what a pair rests on.
type Tier int

// The tiers (hosts.md 5).
const (
	TierID      Tier = 0  // an exact id
	TierScope   Tier = 1  // tool, arguments and time inside an exact scope
	TierContent Tier = 2  // tool, arguments and time
	NoTier      Tier = -1 // not paired
)

func (t Tier) String() string {
	switch t {
	case TierID:
		return "exact id"
	case TierScope:
		return "exact scope"
	case TierContent:
		return "content"
	}
	return "none"
}

// Certainty says whether a pair is the only one possible.
type Certainty string

// The certainties. Interchangeable: calls of one turn with the same tool and
// arguments, all of which were sent, in some order; what looks only at tool and
// arguments may use them. Ambiguous: it may be another pair, or none.
const (
	Sure            Certainty = "sure"
	Interchangeable Certainty = "interchangeable"
	Ambiguous       Certainty = "ambiguous"
)

// Ref names a call on the wire.
type Ref struct {
	Wire int // index in the sessions that were joined
	Call *session.Call
}

// Call is one tool use of the conversation that concerns the recorded servers.
type Call struct {
	// Host is the index in Conversation.Calls.
	Host int
	// Tool is the name as the server lists it; empty where it is not unique.
	Tool string
	// Wires are the calls on the wire: several are attempts, in order.
	Wires []Ref
	// Effective is the attempt whose answer counts, an index in Wires: the last one
	// with a response, else the last.
	Effective int
	Tier      Tier
	Certainty Certainty
	// Why says in words what the pair rests on, or why there is none.
	Why string
	// HostOnly says why there is no call on the wire, as far as it is known.
	HostOnly HostOnly
	// Session is the session that a call without a pair belongs to by its
	// neighbours in the conversation; -1: none.
	Session int
	// Contradiction is what host and wire say differently, and Contradicts how.
	Contradiction Contradiction
	Contradicts   string
	// Hint is a tier-3 leftover: the one call of the same tool with other arguments
	// in the window. It is shown and never used.
	Hint *Ref
}

// Paired says that the call is on the wire.
func (c *Call) Paired() bool { return len(c.Wires) > 0 }

// Wire is the attempt that counts.
func (c *Call) Wire() *session.Call { return c.Wires[c.Effective].Call }

// Contradiction is what is told differently.
type Contradiction string

// The contradictions.
const (
	OtherTool      Contradiction = "tool"
	OtherArguments Contradiction = "arguments"
	OtherOutcome   Contradiction = "outcome" // the host says error and the wire ok, or the reverse
)

// HostOnly is a kind of host-only call.
type HostOnly string

// The kinds. The first two are explained: the host itself says that nothing was sent.
const (
	Denied          HostOnly = "denied"
	Refused         HostOnly = "refused"
	Interrupted     HostOnly = "interrupted"      // no result, in a turn that was interrupted
	BeforeRecording HostOnly = "before-recording" // the recorder started late
	AfterRecording  HostOnly = "after-recording"
	Hosted          HostOnly = "hosted" // the MCP client of the model's provider
	Unclear         HostOnly = "ambiguous"
	Unexplained     HostOnly = "unexplained"
)

// Explained says that the kind leaves nothing open.
func (h HostOnly) Explained() bool { return h == Denied || h == Refused }

// WireOnly is a call on the wire that no call of the conversation is.
type WireOnly struct {
	Ref
	Kind WireKind
	Why  string
}

// WireKind is a kind of wire-only call.
type WireKind string

// The kinds. The first two are explained.
const (
	OtherConversation WireKind = "other-conversation"
	PermissionPrompt  WireKind = "permission-prompt"
	// OutsideTranscript: before its first or after its last time on record.
	OutsideTranscript WireKind = "outside-transcript"
	WireUnclear       WireKind = "ambiguous"
	WireUnexplained   WireKind = "unexplained"
)

// Explained says that the kind leaves nothing open.
func (k WireKind) Explained() bool { return k == OtherConversation || k == PermissionPrompt }

// Clock is the host's clock against the recorder's.
type Clock struct {
	// Pairs is how many exact pairs with times it rests on; 0: unknown.
	Pairs int
	// Shift is the median of (request on the wire − call at the host), Spread the
	// median distance from it. It was applied when Used.
	Shift, Spread time.Duration
	Used          bool
}

// Conversation is the join of one conversation.
type Conversation struct {
	Talk    *host.Conversation
	Verdict Verdict
	// Why says in one line what the verdict rests on.
	Why string
	// Calls are those of the recorded servers, in host order.
	Calls    []Call
	WireOnly []WireOnly
	// Copied are calls (indices in Talk.Calls) that another of the conversations
	// made: a resume copied its history. Elsewhere counts calls of servers that the
	// recordings are not about.
	Copied []int
	// Continues says that it goes on from another of the conversations: its turns with
	// CopiedFrom are that one's.
	Continues bool
	Elsewhere int
	// Sessions are those that belong to the conversation (indices), and the best
	// tier of each.
	Sessions []Part
	Clock    Clock
	// Hidden are credentials that the recordings hide and the transcript does not, the
	// longest first: for host.Conversation.Hide.
	Hidden []string
}

// Part is one session of a conversation.
type Part struct {
	Wire int
	Tier Tier
	Why  string
	// Chosen says that it rests on the user's word alone.
	Chosen bool
}

// Result is the join of conversations with sessions.
type Result struct {
	Wires         []Wire
	Conversations []Conversation // in the order given
}

// Join joins conversations with sessions. The result depends on neither order,
// except that it is told in the order given.
func Join(cs []*host.Conversation, ws []Wire, o Options) *Result {
	if o.Window <= 0 {
		o.Window = DefaultWindow
	}
	ws = slices.Clone(ws) // the result outlives what the caller does with its own
	j := &joiner{o: o}
	for i := range ws {
		j.wires = append(j.wires, newWire(i, &ws[i]))
	}
	for i, c := range cs {
		j.talks = append(j.talks, newTalk(i, c))
	}
	// What is taken first must not hang on the order of the command line.
	order := slices.Clone(j.talks)
	slices.SortStableFunc(order, func(a, b *talk) int { return cmp.Compare(a.key, b.key) })
	j.order = order
	j.wireOrder = slices.Clone(j.wires)
	slices.SortStableFunc(j.wireOrder, func(a, b *wire) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Recording, b.Recording), cmp.Compare(a.Session.FirstSeq, b.Session.FirstSeq))
	})
	for rank, w := range j.wireOrder {
		w.rank = rank
	}
	j.copies()
	j.byID()
	for _, t := range j.talks {
		t.clock()
	}
	j.servers()
	j.byContent()
	j.verify()
	j.rests()
	r := &Result{Wires: ws}
	for _, t := range j.talks {
		r.Conversations = append(r.Conversations, t.out)
	}
	return r
}

type joiner struct {
	o         Options
	wires     []*wire
	wireOrder []*wire
	talks     []*talk
	order     []*talk
}

// talk is one conversation at work.
type talk struct {
	index int
	c     *host.Conversation
	key   string // orders conversations
	rule  rule
	calls []*hostCall // those that may be of a recorded server, in host order
	// own are those that look like the host's own tools; an exact id may tell otherwise.
	own   []*hostCall
	byID  map[string]*hostCall
	ids   map[string]bool // of its sessions
	turns map[string]int  // by the host's id of the turn
	// keys are the server keys that exact ids proved, by session.
	keys map[*wire]map[string]bool
	// paired are those of all pairs, made when the pairs are.
	paired map[*wire]map[string]bool
	// shown are the tools of sessions by the names that the host may give them.
	shown map[*wire]map[string][]string
	// parts are its sessions.
	parts map[*wire]*Part
	// apart says that a session is of another time.
	apart bool
	out   Conversation
}

// hostCall is one call of a conversation at work.
type hostCall struct {
	t  *talk
	n  int // index in Calls
	c  *host.Call
	id string
	// args is the hash of the canonical arguments; known is false where they are
	// not on record or cannot be read.
	args  argsKey
	known bool

	wires     []*wireCall
	tier      Tier
	certainty Certainty
	why       string
	clash     Contradiction
	clashes   string
	// names that the tool may have where it is not unique
	unclear bool
	tried   bool // content was looked at
}

func newTalk(i int, c *host.Conversation) *talk {
	t := &talk{index: i, c: c, rule: ruleOf(c.Host.Name), byID: map[string]*hostCall{}, ids: map[string]bool{}, turns: map[string]int{},
		keys: map[*wire]map[string]bool{}, paired: map[*wire]map[string]bool{}, shown: map[*wire]map[string][]string{}, parts: map[*wire]*Part{}}
	t.out.Talk = c
	for _, id := range c.SessionIDs {
		t.ids[id] = true
		t.key += id + "\x00"
	}
	for _, s := range c.Sources {
		t.key += "\x01" + s.Path + "\x00" + s.SHA256
	}
	for i := range c.Turns {
		if id := c.Turns[i].ID; id != "" {
			t.turns[id] = i
		}
	}
	for n := range c.Calls {
		k := &c.Calls[n]
		h := &hostCall{t: t, n: n, c: k, id: k.HostCallID, tier: NoTier}
		if k.Kind == host.BuiltinCall {
			t.own = append(t.own, h)
		} else {
			h.args, h.known = hostArgs(k)
			t.calls = append(t.calls, h)
		}
		// Of two calls with one id the first holds: no id tells them apart.
		for _, id := range []string{k.HostCallID, k.HostItemID} {
			if id != "" && t.byID[id] == nil {
				t.byID[id] = h
			}
		}
	}
	return t
}

// copies leaves out calls that a resume copied from another of the conversations:
// they are that one's (hosts.md 5, "resume with copied history").
func (j *joiner) copies() {
	owner := map[string]*talk{} // by session id
	for _, t := range j.order {
		for _, id := range t.c.SessionIDs {
			if owner[id] == nil {
				owner[id] = t
			}
		}
	}
	for _, t := range j.talks {
		for i := range t.c.Turns {
			from := t.c.Turns[i].CopiedFrom
			t.out.Continues = t.out.Continues || from != "" && owner[from] != nil && owner[from] != t
		}
		gone := func(h *hostCall) bool {
			n := h.c.Turn
			if n < 0 || n >= len(t.c.Turns) {
				return false
			}
			from := t.c.Turns[n].CopiedFrom
			if o := owner[from]; from == "" || o == nil || o == t {
				return false
			}
			if h.c.Kind != host.BuiltinCall {
				t.out.Copied = append(t.out.Copied, h.n)
			}
			delete(t.byID, h.c.HostCallID)
			delete(t.byID, h.c.HostItemID)
			return true
		}
		t.calls, t.own = slices.DeleteFunc(t.calls, gone), slices.DeleteFunc(t.own, gone)
	}
}
