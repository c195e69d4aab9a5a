package session

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
)

// httpSession is a session over HTTP: the carrier of a channel whose messages come
// in any number of exchanges and connections.
type httpSession struct {
	channel
	w *web
	traits
	id      string // Mcp-Session-Id, or what stands for it
	idSeq   int64  // where the server gave it; 0: the recording did not see that
	key     string // what the session key, or the host's own key, gives
	keyName string

	stream      *httpExchange // of legacy HTTP+SSE: answers come on it
	endpoint    string        // where it takes messages: path and query
	endpointSeq int64

	shares     *httpSession // whose handshake counts for this one, too
	conns      map[int64]bool
	principals int                      // how many there were
	lastAt     int64                    // of its latest exchange's beginning
	challenged bool                     // the latest answer asked for credentials
	succeeded  bool                     // an exchange was not refused
	idle       bool                     // split from an earlier one by silence
	touched    bool                     // it has had an exchange since the latest gap
	goneAt     int64                    // a 404 to its id; a client may still come with it
	overAt     int64                    // record at which the client ended it, by DELETE
	gapBefore  *record.Gap              // the latest loss before it began
	exchanges  int64                    // how many it has
	calls      bool                     // it has had a call
	lastID     map[string]*httpExchange // whose stream an event id was seen on, the latest ones
	lastIDs    []string
	answers    map[string]*Exchange // which request was answered by the event with an id
	answerIDs  []string
}

// maxEventIDs is how many of the latest event ids a session knows: a client resumes
// at the last one that it got.
const maxEventIDs = 1024

// maxConns is how many of a session's connections are told apart.
const maxConns = 1024

func (w *web) newSession(x *httpExchange, transport string) *httpSession {
	h := &httpSession{channel: newChannel(w.d), w: w, traits: x.traits, conns: map[int64]bool{}}
	h.channel.over = h
	h.channel.newSession(transport, x.seq, x.at)
	w.sessions = append(w.sessions, h)
	w.d.res.Sessions = append(w.d.res.Sessions, h.cur.Session)
	site := x.site()
	list := append(w.bySite[site], h)
	if len(list) > maxSite {
		list = slices.Delete(list, 0, 1)
	}
	w.bySite[site] = list
	h.gapBefore = w.lastGap
	h.midway = w.midway
	return h
}

// join adds an exchange to the session.
func (h *httpSession) join(x *httpExchange) {
	h.exchanges++
	if !h.touched {
		h.touched = true
		h.w.touched = append(h.w.touched, h)
	}
	h.lastAt = x.at
	if x.conn != 0 && len(h.conns) < maxConns { // 0: not known, as in what was imported
		h.conns[x.conn] = true
	}
	if x.principal != "" && x.principal != h.principal {
		if h.principals == 0 || h.principal != "" {
			h.principals++
		}
		h.principal = x.principal
	} else if x.principal != "" && h.principals == 0 {
		h.principals = 1
	}
	if id := x.lastEventID; id != "" {
		x.resumes = h.lastID[id]
		if x.resumes != nil && x.resumes.resumes != nil {
			x.resumes = x.resumes.resumes
		}
	}
	h.cur.touch(x.seq, x.at)
	if h.cur.FirstSeq > x.seq {
		h.cur.FirstSeq, h.cur.FirstAt = x.seq, x.at
	}
	for _, r := range h.w.stray {
		h.cur.addRemark(r)
	}
	h.w.stray = nil
}

// hear reads the messages of a body or an event.
func (h *httpSession) hear(l *line, first bool) {
	s := h.cur
	n := len(s.Remarks)
	h.channel.read(l, first)
	s.touch(l.last, l.at)
	for i := n; i < len(s.Remarks); i++ {
		s.Remarks[i].Exchange = l.x.n
	}
}

// reached notes that the server answered: an answer by something in between proves nothing.
func (h *httpSession) reached(x *httpExchange) {
	switch x.status {
	case 502, 503, 504:
		return
	}
	h.challenged = x.challenge
	if !x.challenge && x.status < 400 {
		h.succeeded = true
	}
	if c := &h.cur.Connection; c.ReachedSeq == 0 {
		c.ReachedSeq = x.headSeq
	}
}

// bind takes the Mcp-Session-Id that a response gave.
func (h *httpSession) bind(x *httpExchange) {
	if h.id == x.given || h.id != "" && x.sessionID != "" {
		return
	}
	h.id, h.idSeq = x.given, x.headSeq
	h.w.byID[x.given] = h
}

// ends is told that the session ends.
func (h *httpSession) ends(by string, seq int64) {
	if h.overAt != 0 {
		return
	}
	h.overAt = seq
	h.cur.End.First, h.cur.End.FirstSeq = by, seq
}

// gone takes a 404 to the session's id: the server does not know it any more.
func (h *httpSession) gone(x *httpExchange) {
	h.cur.addRemark(Remark{Seq: x.headSeq, From: record.Server, Flag: FlagSessionGone, Exchange: x.n, Detail: "HTTP 404 to the session's id: clients begin again"})
	h.goneAt = x.headSeq
}

// cameTo notes on which stream an event id was seen.
func (h *httpSession) cameTo(id string, x *httpExchange) {
	if h.lastID == nil {
		h.lastID = map[string]*httpExchange{}
	}
	if x.resumes != nil {
		x = x.resumes
	}
	if h.lastID[id] == nil {
		h.lastIDs = append(h.lastIDs, id)
		if len(h.lastIDs) > maxEventIDs {
			delete(h.lastID, h.lastIDs[0])
			h.lastIDs = h.lastIDs[1:]
		}
		h.lastID[id] = x
	}
}

// replied notes which request an event answered: the same event may come again
// when a stream is resumed, and ids may have been used again by then.
func (h *httpSession) replied(id string, ex *Exchange) {
	if h.answers == nil {
		h.answers = map[string]*Exchange{}
	}
	if _, ok := h.answers[id]; !ok {
		h.answerIDs = append(h.answerIDs, id)
		if len(h.answerIDs) > maxEventIDs {
			delete(h.answers, h.answerIDs[0])
			h.answerIDs = h.answerIDs[1:]
		}
	}
	h.answers[id] = ex
}

func (h *httpSession) release() {
	h.asked, h.early, h.lastID, h.lastIDs, h.answers, h.answerIDs, h.stream, h.shares = nil, nil, nil, nil, nil, nil, nil, nil
	for _, ex := range h.cur.Requests {
		if ex.HTTP != nil {
			ex.HTTP.x = nil
		}
	}
}

// era is what a message says about the era of its sender.
type era uint8

const (
	anyEra    era = iota // nothing: a notification, a reply, a GET
	legacyEra            // a request without version
	modernEra            // one with
)

// ofMessage finds the session of a POST, by its first message, or begins one.
func (w *web) ofMessage(x *httpExchange, m *message) *httpSession {
	meta, _ := m.params.object(fMeta)
	e := anyEra
	switch {
	case meta.has(fMetaVersion):
		e = modernEra
		x.client = peerOf(meta, fMetaClient, Peer{})
	case m.kind == kRequest && m.method == methodDiscover:
		e = modernEra
	case m.kind == kRequest:
		e = legacyEra
	}
	initialize := m.kind == kRequest && m.method == methodInitialize
	if initialize {
		x.client = peerOf(&m.params, fClientInfo, Peer{})
	}
	chosen := w.keyOf(x, m)
	if chosen && w.d.opts.SessionKey != "" {
		if h := w.byKey[x.keyed()]; h != nil {
			return h
		}
		h := w.newSession(x, "http")
		h.key, h.keyName = x.key, x.keyName
		w.byKey[x.keyed()] = h
		return h
	}
	if h := w.streamOf(x); h != nil {
		return h
	}
	if x.sessionID != "" && e != modernEra { // the newer era ignores the field (wire.md 1.4)
		if h := w.byID[x.sessionID]; h != nil {
			return h
		}
		h := w.match(x, anyEra)
		if h == nil || h.id != "" || h.gapSeq == 0 {
			h = w.newSession(x, "http")
		} // else its id was given in a gap
		h.id = x.sessionID
		w.byID[x.sessionID] = h
		if !initialize {
			h.cur.midway(x.seq)
		}
		return h
	}
	if initialize {
		if h := w.refusedBefore(x); h != nil {
			return h
		}
		return w.newSession(x, "http")
	}
	if x.key != "" {
		if h := w.byKey[x.keyed()]; h != nil && x.at-h.lastAt <= maxIdle {
			return h
		}
		h := w.match(x, e)
		switch {
		case h == nil:
			h = w.newSession(x, "http")
		case h.key == "" && !h.calls:
			// What the host asked before it named a conversation is the first one's.
		default:
			first := h
			if h.shares != nil {
				first = h.shares
			}
			h = w.newSession(x, "http")
			h.sharing(first)
		}
		h.key, h.keyName = x.key, x.keyName
		w.byKey[x.keyed()] = h
		return h
	}
	if h := w.match(x, e); h != nil {
		return h
	}
	idle := w.before(x, e)
	h := w.newSession(x, "http")
	h.idle = idle
	return h
}

// sharing lets a session stand on the handshake of another one: the host shook
// hands once for several conversations.
func (h *httpSession) sharing(first *httpSession) {
	h.shares = first
	s, f := h.cur, first.cur
	s.Connection.Initialize, s.Connection.InitializedSeq = f.Connection.Initialize, f.Connection.InitializedSeq
	s.Connection.Discover = slices.Clone(f.Connection.Discover)
	s.Client, s.Server, s.ProtocolVersion, s.ToolsCapability = f.Client, f.Server, f.ProtocolVersion, f.ToolsCapability
	s.modern, s.legacyOK, s.capsKnown, s.extensions = f.modern, f.legacyOK, f.capsKnown, f.extensions
	s.Connection.ReachedSeq = f.Connection.ReachedSeq
	s.lists = f.lists // a list belongs to the server and the principal (wire.md 3.2)
	h.principals = min(first.principals, 1)
	h.principal = first.principal
}

// maxIdle is the silence after which the next request without a session id is
// another session, unless it comes on a connection that stayed open: 30 minutes,
// which is what hosts and servers give up a session after, or less.
const maxIdle = 30 * 60 * 1e9

// match finds the session that an exchange without a session id belongs to: the
// latest one of the same path and user agent that nothing speaks against.
func (w *web) match(x *httpExchange, e era) *httpSession {
	var best *httpSession
	list := w.bySite[x.site()]
	for i := len(list) - 1; i >= 0; i-- {
		h := list[i]
		if !h.fits(x, e) {
			continue
		}
		if x.at-h.lastAt > maxIdle && !h.conns[x.conn] {
			continue
		}
		if h.conns[x.conn] {
			return h
		}
		if best == nil {
			best = h
		}
	}
	return best
}

// before tells whether only silence keeps the exchange from an earlier session.
func (w *web) before(x *httpExchange, e era) bool {
	for _, h := range w.bySite[x.site()] {
		if h.fits(x, e) {
			return true
		}
	}
	return false
}

// fits tells whether nothing speaks against the exchange being the session's.
func (h *httpSession) fits(x *httpExchange, e era) bool {
	s := h.cur
	switch {
	case h.overAt != 0, h.goneAt != 0, h.stream != nil, h.keyName != "" && h.w.d.opts.SessionKey != "":
		return false
	case x.client.Name != "" && s.Client.Name != "" && (x.client.Name != s.Client.Name || x.client.Version != s.Client.Version):
		return false
	case x.key != "" && h.key != "" && x.key != h.key && e == anyEra:
		return false
	case x.principal != h.principal && h.succeeded && !h.challenged && x.principal != "" && h.principals > 0:
		return false
	case x.principal == "" && h.principals > 0:
		return false
	case x.principal != "" && h.principals == 0 && h.succeeded:
		return false
	case e == modernEra && s.Connection.Initialize != nil, e == legacyEra && s.modern && s.Connection.Initialize == nil && s.modernOK:
		return false
	}
	return true
}

// refusedBefore finds the session that an initialize tries again: the one before
// was refused, or never answered, or a probe of the other era came to nothing.
func (w *web) refusedBefore(x *httpExchange) *httpSession {
	list := w.bySite[x.site()]
	for i := len(list) - 1; i >= 0; i-- {
		h := list[i]
		c := &h.cur.Connection
		if h.id != "" || c.FirstSuccessSeq != 0 || !h.fits(x, anyEra) || x.at-h.lastAt > maxIdle {
			continue
		}
		for _, d := range c.Discover {
			if d.State == ExchangeResult || d.open() {
				return nil
			}
		}
		if ini := c.Initialize; ini != nil && (ini.State == ExchangeResult || ini.open()) {
			return nil
		}
		return h
	}
	return nil
}

// open tells whether the request's exchange is still open.
func (ex *Exchange) open() bool {
	return ex.State == ExchangeUnanswered && ex.HTTP != nil && ex.HTTP.x != nil && !ex.HTTP.x.resEnded
}

// ofStream finds the session of an exchange whose response turned out to be of MCP.
func (w *web) ofStream(x *httpExchange) *httpSession {
	h := w.knownStream(x)
	if h == nil && x.sessionID == "" {
		h = w.match(x, anyEra)
	}
	if h != nil {
		return h
	}
	h = w.newSession(x, "http")
	if x.sessionID != "" {
		h.id = x.sessionID
		w.byID[x.sessionID] = h
		h.cur.midway(x.seq)
	}
	return h
}

// knownStream finds the session of a GET.
func (w *web) knownStream(x *httpExchange) *httpSession {
	if x.sessionID != "" {
		return w.byID[x.sessionID]
	}
	if w.d.opts.SessionKey != "" && w.keyOf(x, nil) {
		return w.byKey[x.keyed()]
	}
	if strings.Contains(x.accept, "text/event-stream") {
		// Without an id it is either legacy HTTP+SSE, whose endpoint event makes a
		// session of its own, or a stream beside the POSTs of a server without ids.
		if h := w.match(x, anyEra); h != nil && h.id == "" && h.cur.legacyOK {
			return h
		}
	}
	return nil
}

// newStream begins a session of legacy HTTP+SSE; or it goes on with one whose
// initialize by POST was refused, which is how clients find out (wire.md 1.6).
func (w *web) newStream(x *httpExchange) *httpSession {
	h := x.h
	if h == nil {
		h = w.refusedBefore(x)
	}
	if h == nil || h.cur.Connection.FirstSuccessSeq != 0 || h.cur.legacyOK {
		h = w.newSession(x, "http+sse")
	}
	h.cur.Transport = "http+sse"
	h.stream = x
	if len(w.streams) == maxSite {
		w.streams = slices.Delete(w.streams, 0, 1)
	}
	w.streams = append(w.streams, h)
	return h
}

// streamOf finds the session of legacy HTTP+SSE whose endpoint a POST goes to. A
// recording hides the endpoint's session where its name says that it is a
// credential: then what is left must be alike, and only one may be.
func (w *web) streamOf(x *httpExchange) *httpSession {
	if h := w.byEnd[x.target]; h != nil {
		return h
	}
	var found *httpSession
	for i := len(w.streams) - 1; i >= 0; i-- {
		h := w.streams[i]
		if h.endpoint == "" || !x.goesTo(h.endpoint) {
			continue
		}
		if !x.targetHidden {
			return h
		}
		if found != nil && !h.stream.resEnded && !found.stream.resEnded {
			return nil // it could be either
		}
		if found == nil || !h.stream.resEnded {
			found = h
		}
	}
	return found
}

// goesTo tells whether the target is the endpoint, filler being anything.
func (t *traits) goesTo(endpoint string) bool {
	if t.target == endpoint {
		return true
	}
	if !t.targetHidden || len(t.target) != len(endpoint) {
		a, err1 := url.QueryUnescape(t.target)
		b, err2 := url.QueryUnescape(endpoint)
		return !t.targetHidden && err1 == nil && err2 == nil && a == b
	}
	for i := range len(endpoint) {
		if t.target[i] != endpoint[i] && !(t.target[i] == '*' && t.hiddenAt(i)) {
			return false
		}
	}
	return true
}

// ours tells whether a URL has the upstream's address.
func (w *web) ours(u *url.URL) bool {
	up, err := url.Parse(w.d.hdr.Upstream)
	return err == nil && up.Host != "" && strings.EqualFold(up.Host, u.Host)
}
