package session

import (
	"fmt"
	"net"
	"net/textproto"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// traits are what an HTTP request shows of who sent it.
type traits struct {
	method, target string
	path           string // of the target, as sessions are told apart by it
	host           string
	accept         string
	conn           int64
	peer           string
	agent          string
	principal      string // equal for equal credentials; empty: none were sent
	sessionID      string // Mcp-Session-Id, or what stands for it
	lastEventID    string
	client         Peer   // as the message names it
	key, keyName   string // the session key's value, or the host's own
	targetHidden   bool
	hidden         []record.HeadMask // of the target
	headers        record.Fields     // only where the session key is a field
	masked         []record.HeadMask
}

func traitsOf(r *record.HTTPRequest) traits {
	t := traits{method: r.Method, target: r.Target, host: r.Host, conn: r.Conn, peer: r.Peer, agent: field0(r.Headers, "User-Agent"),
		accept: field0(r.Headers, "Accept"), sessionID: hiddenValue(r.Headers, r.Masked, "Mcp-Session-Id"),
		lastEventID: field0(r.Headers, "Last-Event-Id"), principal: principalOf(r), headers: r.Headers, masked: r.Masked}
	path, _, _ := strings.Cut(r.Target, "?")
	t.path = pathKey(path)
	if host, _, err := net.SplitHostPort(r.Peer); err == nil {
		t.peer = host
	}
	for _, m := range r.Masked {
		if m.In == "target" {
			t.targetHidden = true
			t.hidden = append(t.hidden, m)
		}
	}
	return t
}

// pathKey is a path without the slashes at its end: servers redirect from one to
// the other.
func pathKey(path string) string { return strings.TrimRight(path, "/") }

func (t *traits) hiddenAt(i int) bool {
	return slices.ContainsFunc(t.hidden, func(m record.HeadMask) bool { return int64(i) >= m.Off && int64(i) < m.Off+m.Len })
}

// principalOf is equal for requests with equal credentials: those of
// Authorization, else of the other fields that the recording hides.
func principalOf(r *record.HTTPRequest) string {
	if p := hiddenValue(r.Headers, r.Masked, "Authorization"); p != "" {
		return p
	}
	var names []string
	for _, m := range r.Masked {
		switch m.In {
		case "target", "Mcp-Session-Id", "Cookie", "Authorization":
		default:
			if !slices.Contains(names, m.In) {
				names = append(names, m.In)
			}
		}
	}
	slices.Sort(names)
	out := ""
	for _, n := range names {
		out += n + hiddenValue(r.Headers, r.Masked, n)
	}
	return out
}

// site is where sessions without an id are looked for.
func (x *httpExchange) site() string {
	path := x.path
	if from, ok := x.w.paths[path]; ok {
		path = from
	}
	return path + "\x00" + x.agent
}

// keyed is the key of a session that has one: with the host's own key the path and
// the credentials still tell sessions apart.
func (x *httpExchange) keyed() string {
	if x.w.d.opts.SessionKey != "" {
		return x.key
	}
	return x.site() + "\x00" + x.keyName + "\x00" + x.key
}

// hostKeys are the members of _meta by which hosts name a conversation (hosts.md 2).
var hostKeys = []string{
	"openai/session",                     // ChatGPT
	"vscode.conversationId",              // VS Code
	"threadId",                           // Codex
	"ai.opencode/sessionID",              // OpenCode
	"antigravity.google/conversation_id", // Antigravity
}

// CheckSessionKey tells what is wrong with a value of [Options].SessionKey.
func CheckSessionKey(key string) error {
	kind, arg, has := strings.Cut(key, ":")
	switch kind {
	case "connection", "principal":
		if !has {
			return nil
		}
	case "header":
		if arg != "" && !strings.ContainsAny(arg, " \t:") {
			return nil
		}
	case "meta":
		if arg != "" && arg != "/" {
			return nil
		}
	case "":
		if key == "" {
			return nil
		}
	}
	return fmt.Errorf("session key %q is none of header:NAME, meta:POINTER, connection, principal", clip(key, 100))
}

// keyOf finds the key by which the exchange names its session: the one that was
// asked for, else the host's own. It tells whether there is one.
func (w *web) keyOf(x *httpExchange, m *message) bool {
	x.key, x.keyName = "", ""
	kind, arg, _ := strings.Cut(w.d.opts.SessionKey, ":")
	switch kind {
	case "":
		if m == nil {
			return false
		}
		for _, name := range hostKeys {
			if v, ok := metaValue(m, []string{name}); ok && v != "" {
				x.key, x.keyName = v, "_meta "+name
				return true
			}
		}
		return false
	case "connection":
		x.key, x.keyName = fmt.Sprint(x.conn), "connection"
	case "principal":
		x.key, x.keyName = x.principal, "principal"
	case "header":
		x.key, x.keyName = hiddenValue(x.headers, x.masked, arg), "header "+textproto.CanonicalMIMEHeaderKey(arg)
	case "meta":
		if m == nil {
			return false
		}
		v, ok := metaValue(m, pointer(arg))
		x.key, x.keyName = v, "_meta "+arg
		return ok && v != ""
	}
	return x.key != "" || kind == "principal"
}

// pointer splits a JSON pointer (RFC 6901); what does not begin with a slash is one name.
func pointer(s string) []string {
	if !strings.HasPrefix(s, "/") {
		return []string{s}
	}
	names := strings.Split(s[1:], "/")
	for i, n := range names {
		names[i] = strings.ReplaceAll(strings.ReplaceAll(n, "~1", "/"), "~0", "~")
	}
	return names
}

// metaValue is the value at a path of the message's params._meta: a string's text,
// or any other scalar as it is spelt. A hidden one is told by its hash.
func metaValue(m *message, path []string) (value string, ok bool) {
	if !m.params.is(fMeta, '{') {
		return "", false
	}
	data, at := m.params.data, m.params.at(fMeta).Start
	for i, name := range path {
		var found jsonscan.Span
		has := false
		if at >= len(data) || data[at] != '{' {
			return "", false
		}
		_, err := jsonscan.Members(data, at, func(n []byte, at int) (jsonscan.Span, error) {
			s, err := jsonscan.Skip(data, at)
			if err == nil && string(n) == name {
				found, has = s, true
			}
			return s, err
		})
		if err != nil || !has {
			return "", false
		}
		at = found.Start
		if i == len(path)-1 {
			t := data[found.Start:found.End]
			if s, isText := jsonscan.String(t); isText {
				return clip(s, maxName), true
			}
			if t[0] == '{' || t[0] == '[' || t[0] == 'n' {
				return "", false
			}
			return clip(string(t), maxName), true
		}
	}
	return "", false
}
