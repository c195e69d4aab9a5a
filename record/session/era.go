package session

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// maxName bounds what a peer says about itself.
const maxName = 1 << 10

// peerOf reads an Implementation object; what it does not say stays as before.
func peerOf(o *object, f field, before Peer) Peer {
	in, ok := o.object(f)
	if !ok {
		return before
	}
	p := Peer{Name: textOf(in, fName), Version: textOf(in, fVersion), Title: textOf(in, fTitle)}
	if p == (Peer{}) {
		return before
	}
	return p
}

func textOf(o *object, f field) string {
	s, _ := o.text(f)
	return clip(s, maxName)
}

// clientMeta reads the _meta of a client's request: in the stateless era it
// carries version and client on each (wire.md 1.4).
func (s *sess) clientMeta(o *open, meta *object) {
	version, ok := meta.text(fMetaVersion)
	if !ok {
		return
	}
	s.modern = true
	o.version = clip(version, maxName)
	if in, ok := meta.object(fMetaClientCaps); ok && in.extends() {
		s.clientExt = true
	}
	if s.Connection.Initialize == nil {
		s.Client = peerOf(meta, fMetaClient, s.Client)
	}
}

// resultMeta reads the server's name from a result of the stateless era.
func (s *sess) resultMeta(o *open, m *message) {
	if o.version == "" {
		return
	}
	if meta, ok := m.result.object(fMeta); ok && !s.legacyOK {
		s.Server = peerOf(meta, fMetaServer, s.Server)
	}
}

func (s *sess) capabilities(result *object) {
	if !result.is(fCapabilities, '{') {
		return
	}
	in, _ := result.object(fCapabilities)
	has := in.has(fTools)
	s.ToolsCapability = &has
	s.capsKnown, s.extensions = true, in.extends()
}

// extends tells whether capabilities name an extension of the protocol.
func (o *object) extends() bool {
	if !o.is(fExtensions, '{') {
		return false
	}
	t := o.token(fExtensions)
	return jsonscan.Space(t, 1) < len(t)-1 // more than blanks between the braces
}

// extended tells whether an extension that was advertised may give results
// other types than the protocol's own. A server whose capabilities are not on
// record (discover is optional) may have any that the client has named.
func (s *sess) extended(o *open, result *object) bool {
	if o.ex.Method == methodDiscover {
		in, ok := result.object(fCapabilities)
		return ok && in.extends()
	}
	if s.capsKnown {
		return s.extensions
	}
	return s.clientExt
}

// resultType reads what a result of the stateless era says that it is. Without
// the member it is read as complete; a value that nobody defines makes it
// invalid (wire.md 3.4). "task" is the tasks extension's (wire.md 2.7).
func (s *sess) resultType(o *open, m *message, w where) ExchangeState {
	r := &m.result
	if !r.has(fResultType) {
		// On the session alone: a server that never sends it does so in each answer.
		s.remark(FlagNoResultType, w.seq, w.from, "a result without resultType, read as complete")
		return ExchangeResult
	}
	switch kind, _ := r.text(fResultType); kind {
	case "complete", "input_required", "task":
		return ExchangeResult
	}
	kind := clip(string(r.token(fResultType)), 100)
	if s.extended(o, r) {
		o.note(FlagUnknownResultType, w.seq, w.from, "resultType is "+kind+": an extension that was advertised may define it")
		return ExchangeResult
	}
	o.note(FlagUnknownResultType, w.seq, w.from, "resultType is "+kind+", which neither the protocol nor an advertised extension defines: the result is invalid")
	return ExchangeMalformed
}

// begins looks at the first message of a process that could not stand there if
// the recording had been on from its start.
func (p *channel) begins(m *message, w where) {
	if !p.opening || m.kind == kNotification && w.from == record.Server {
		return
	}
	p.opening = false
	s := p.cur
	switch {
	case p.midway:
	case p.started: // the process's start is on record
		return
	case m.kind == kReply:
	case w.from == record.Client && (m.method == methodInitialize || m.method == methodDiscover):
		return
	default:
		if meta, ok := m.params.object(fMeta); ok && meta.has(fMetaVersion) {
			return
		}
	}
	s.midway(w.seq)
}

func (s *sess) midway(seq int64) {
	if !s.Connection.BeganMidway {
		s.Connection.BeganMidway = true
		s.remark(FlagMidway, seq, "", "the recording begins inside the session")
	}
}

// handshake decides whether an initialize begins another session. One process
// holds one session unless the host shakes hands again after a handshake that
// had not been refused, or after work was done without one. A probe of the
// stateless era in front of it belongs to the same session (wire.md 1.6).
func (p *process) handshake(w where) {
	s := p.cur
	before := s.Connection.Initialize
	switch {
	case before != nil && before.State == ExchangeError && s.Connection.FirstSuccessSeq == 0:
		return // refused, and tried again: another version, say
	case before == nil && s.Connection.FirstSuccessSeq == 0:
		if s.modern {
			s.remark(FlagEraFallback, w.seq, record.Client, "a probe of the stateless era, then initialize")
		}
		return
	}
	s.superseded = true
	s.End.First, s.End.FirstSeq = record.ByClient, w.seq
	s.Connection.StderrTail = p.stderrText()
	p.newSession(w.seq, w.at)
	p.cur.remark(FlagReconnect, w.seq, record.Client, "another initialize in the same process")
}

func (p *process) stderrText() string {
	t := p.tail
	if len(t) > stderrTail {
		t = t[len(t)-stderrTail:]
		for len(t) > 0 && t[0]&0xC0 == 0x80 { // not in the middle of a character
			t = t[1:]
		}
	}
	return string(t)
}

// eraOf decides the era, and says what makes the records one session.
func (s *sess) eraOf() {
	switch c := &s.Connection; {
	case c.Initialize != nil:
		s.Era = EraInitialize
		if s.legacyOK && s.modernOK {
			s.remark(FlagEraMixed, 0, "", "requests of both eras succeeded")
		}
	case s.modern && !s.refused():
		s.Era = EraStateless
	}
	s.Basis = s.p.over.basis(s)
}

func (p *process) basis(s *sess) string {
	c := &s.Connection
	basis := "one stdio process"
	if p.d.hdr.Bridge {
		basis = "one host on stdio, for which sixlink spoke HTTP"
	}
	if p.pid != 0 {
		basis += " (pid " + strconv.Itoa(p.pid) + ")"
	}
	switch {
	case c.Initialize != nil:
		basis += fmt.Sprintf(", handshake at %d", c.Initialize.Seq)
	case s.Era == EraStateless:
		basis += ", its requests carry their protocol version"
	case s.modern:
		basis += ", a probe of the stateless era that was refused"
	case c.Spawn != nil:
		basis = "the process could not be started"
	case c.BeganMidway:
		basis += ", joined after its beginning"
	default:
		basis += ", no handshake"
	}
	if len(p.sessions) > 1 {
		basis += fmt.Sprintf("; %d sessions in the process, each from its own handshake on", len(p.sessions))
	}
	return basis
}

// refused tells whether all that was said in the stateless era is probes that
// got no result: client and server found no era.
func (s *sess) refused() bool {
	return !s.spoke && !slices.ContainsFunc(s.Requests, (*Exchange).spoke)
}

// spoke tells that it is no probe for an era that got no result.
func (ex *Exchange) spoke() bool {
	return ex.From == record.Client && (ex.Method != methodDiscover || ex.State == ExchangeResult)
}
