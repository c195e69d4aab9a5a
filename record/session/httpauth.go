package session

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// metadata looks for OAuth's protected-resource document (RFC 9728), by its
// content: when the address in it is not the one that the client used, strict
// clients refuse to sign in (wire.md 1.8).
func (x *httpExchange) metadata() {
	b := &x.res
	if x.h != nil && len(x.opens) > 0 || x.method != "GET" || x.status != 200 || b.kind != bodyJSON || b.broken != nil || b.torn || b.long || b.cut || !looksJSON(b.data) {
		return
	}
	var resource string
	servers := false
	i := jsonscan.Space(b.data, 0)
	_, err := jsonscan.Members(b.data, i, func(name []byte, at int) (jsonscan.Span, error) {
		s, err := jsonscan.Skip(b.data, at)
		if err == nil {
			switch string(name) {
			case "resource":
				resource, _ = jsonscan.String(b.data[s.Start:s.End])
			case "authorization_servers":
				servers = true
			}
		}
		return s, err
	})
	if err != nil || resource == "" || !servers {
		return
	}
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" || strings.EqualFold(u.Host, x.host) || x.patched {
		return
	}
	detail := fmt.Sprintf("the metadata names %s, the client called %s", clip(u.Scheme+"://"+u.Host, 200), clip(x.host, 200))
	if h := x.w.near(x); h != nil {
		h.cur.addRemark(Remark{Seq: x.bodySeq(), From: record.Server, Flag: FlagMetadata, Detail: detail, Exchange: x.n})
		return
	}
	x.remark(FlagMetadata, x.bodySeq(), record.Server, detail)
}

// near is the session that an exchange of signing in was probably for: the latest
// one of the same user agent that was asked for credentials.
func (w *web) near(x *httpExchange) *httpSession {
	for i := len(w.sessions) - 1; i >= 0 && len(w.sessions)-i <= maxSite; i-- {
		if h := w.sessions[i]; h.challenged && h.agent == x.agent {
			return h
		}
	}
	return nil
}
