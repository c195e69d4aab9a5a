package diff

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// handshake compares what the two servers said of themselves.
func (d *differ) handshake(p *pair) {
	if d.learn != nil {
		return
	}
	w := p.where()
	a, b := p.a.Session, p.b.Session
	if a.ProtocolVersion != b.ProtocolVersion && a.ProtocolVersion != "" && b.ProtocolVersion != "" {
		d.add(Finding{Rule: ProtocolVersion, Text: fmt.Sprintf("protocol version %s was agreed on, was %s", b.ProtocolVersion, a.ProtocolVersion)}, w)
	}
	if a.Server != b.Server && a.Server != (session.Peer{}) && b.Server != (session.Peer{}) {
		d.add(Finding{Rule: ServerInfo, Text: fmt.Sprintf("the server is %s, was %s", peer(b.Server), peer(a.Server))}, w)
	}
	x, y := greeting(a), greeting(b)
	if x == nil || y == nil {
		return
	}
	if bad := x.State != session.ExchangeResult; bad != (y.State != session.ExchangeResult) {
		if y.State == session.ExchangeUnanswered && d.partial(p.b) || x.State == session.ExchangeUnanswered && d.partial(p.a) {
			d.undecided("", "how the handshake of session %s ended: the recording is not whole", true, p.a.ID, p.a.ID)
			return
		}
		f := Finding{Rule: ConnectionOutcome, Text: "the handshake (" + y.Method + ") succeeded, and fails now"}
		if bad {
			f.Text = "the handshake (" + y.Method + ") failed, and succeeds now"
		}
		if y.Error != nil {
			f.After = quote(head(y.Error.Message))
		}
		if x.Error != nil {
			f.Before = quote(head(x.Error.Message))
		}
		d.add(f, w)
		return
	}
	m, _ := jsonscan.Object(d.bytes(x.Result))
	n, _ := jsonscan.Object(d.bytes(y.Result))
	d.capabilities(p, member(m, "capabilities"), member(n, "capabilities"))
	i, j := member(m, "instructions"), member(n, "instructions")
	if i == nil && j != nil || i != nil && (j == nil || !jsonscan.Equal(i, j)) {
		f := Finding{Rule: Instructions, Text: "the server's instructions are other ones"}
		if i != nil && j != nil {
			f.Before, f.After = around(i, j)
		} else {
			f.Before, f.After = cut(i), cut(j)
		}
		d.add(f, w)
	}
}

// greeting is the request by which a session learned about the server.
func greeting(s *session.Session) *session.Exchange {
	if s.Connection.Initialize != nil {
		return s.Connection.Initialize
	}
	for i := len(s.Connection.Discover) - 1; i >= 0; i-- {
		if ex := s.Connection.Discover[i]; i == 0 || ex.State == session.ExchangeResult {
			return ex
		}
	}
	return nil
}

func peer(p session.Peer) string { return strings.TrimSpace(p.Name + " " + p.Version) }

// capabilities compares what the servers declare. One that is false is not declared.
func (d *differ) capabilities(p *pair, a, b []byte) {
	if a == nil {
		a = []byte("{}")
	}
	if b == nil {
		b = []byte("{}")
	}
	v := &values{ignored: func(*path) bool { return false }, noise: func(*path, []byte, []byte) bool { return false }}
	v.found = func(c change) {
		was, is := declares(c.before), declares(c.after)
		name := strings.Join(c.path.segments(false), ".")
		f := Finding{Rule: CapabilityChanged, Path: "/capabilities" + c.path.pointer(false), Before: cut(c.before), After: cut(c.after), Text: "the capability " + name + " is declared otherwise"}
		switch {
		case was && !is:
			f.Rule, f.Text = CapabilityRemoved, "the capability "+name+" is no longer declared"
		case !was && is:
			f.Rule, f.Text = CapabilityAdded, "the capability "+name+" is declared now"
		case !was:
			return // false, or not there
		}
		d.add(f, p.where())
	}
	v.compare(nil, a, b, 0)
}

func declares(b []byte) bool { return b != nil && string(b) != "false" && string(b) != "null" }
