package chain

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// overHTTP decides the connection of a session over HTTP in which nothing
// succeeded, as far as the statuses decide it (grading.md 0.1 "Connection"); ok is
// false when they do not. The latest request of the client's counts: what it tried
// before, it has tried again.
func overHTTP(s *session.Session) (out Link, ok bool) {
	const l = predicate.Connection
	c := &s.Connection
	last := c.Initialize
	for i := len(s.Requests) - 1; i >= 0 && last == nil; i-- {
		if s.Requests[i].From == "client" {
			last = s.Requests[i]
		}
	}
	if u := c.Unreached; u != nil && c.ReachedSeq == 0 {
		return link(l, NotMeasured, SetupAborted, "the server could not be reached ("+u.What+"): "+u.Error, u.Seq), true
	}
	if last == nil || last.HTTP == nil {
		return Link{}, false
	}
	// A batch has one status, and a JSON-RPC error says more than its status does;
	// but to be asked for credentials is no refusal of the session.
	said := last.AnswerSeq != 0 && (last.Error == nil || !last.Error.NoCode)
	switch status := last.HTTP.Status; {
	case status == 401 || status == 403:
		return link(l, NotMeasured, AuthRequired, fmt.Sprintf("HTTP %d to %s, and nothing succeeded later", status, last.Method), last.Seq, last.AnswerSeq), true
	case said:
	case status == 502 || status == 503 || status == 504:
		return link(l, NotMeasured, EgressUnverified, fmt.Sprintf("HTTP %d to %s, by something in between: nothing tells whether the server was reached", status, last.Method), last.Seq), true
	case status >= 300 && status < 400:
		return link(l, NotMeasured, NoEvidenceCaptured, fmt.Sprintf("HTTP %d to %s, and the client did not send it again here", status, last.Method), last.Seq), true
	case last == c.Initialize && last.AnswerSeq == 0 && c.Ended != "":
		switch c.EndedBy {
		case session.CallNeverAnswered, session.CallConnectionDrop:
			if c.ReachedSeq != 0 {
				return link(l, Failed, ConnectFailed, "initialize was not answered: "+c.Ended, last.Seq, c.EndedSeq), true
			}
			return link(l, NotMeasured, EgressUnverified, "initialize was not answered: "+c.Ended, last.Seq, c.EndedSeq), true
		}
		return link(l, NotMeasured, NoEvidenceCaptured, "initialize was not answered: "+c.Ended, last.Seq, c.EndedSeq), true
	}
	return Link{}, false
}
