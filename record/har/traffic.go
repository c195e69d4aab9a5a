package har

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// class is what an entry is to an import.
type class uint8

const (
	other     class = iota // nothing of MCP's, as far as it can tell
	webSocket              // a WebSocket, whose messages are not read
	maybe                  // of MCP's, if its address is an endpoint of MCP
	stream                 // an event stream without a text: of MCP's, if its origin has an endpoint
	certain                // its messages or its fields are MCP's
)

// classify tells what an entry is. u is its address, if that is one of HTTP.
func (e *entry) classify(u *url.URL) class {
	switch {
	case e.webSocket || strings.HasPrefix(strings.ToLower(e.request.url), "ws:") || strings.HasPrefix(strings.ToLower(e.request.url), "wss:"):
		return webSocket
	case u == nil:
		return other
	}
	for _, h := range []*head{&e.request, &e.response} {
		if h.get("mcp-session-id") != "" || h.get("mcp-protocol-version") != "" {
			if e.request.method != "OPTIONS" {
				return certain
			}
		}
	}
	switch e.request.method {
	case "POST":
		if speaksMCP(e.asked.text) {
			return certain
		}
		return maybe
	case "GET":
		if mediaType(e.mime) != eventStream && mediaType(e.response.get("content-type")) != eventStream {
			return maybe
		}
		if !e.answered.there {
			return stream
		}
		if e.opensLegacy() {
			return certain
		}
		return maybe
	case "DELETE":
		return maybe
	}
	return other
}

const eventStream = "text/event-stream"

func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// opensLegacy tells whether an event stream begins as those of the old transport do
// (wire.md 1.5), by its first bytes.
func (e *entry) opensLegacy() bool {
	p := bytes.Trim(e.prefix, `"`)
	if e.answered.base64 {
		p = p[:len(p)/4*4]
		n, err := base64.StdEncoding.Decode(p, p)
		if err != nil {
			return false
		}
		p = p[:n]
	}
	return bytes.HasPrefix(p, []byte("event: endpoint")) || bytes.HasPrefix(p, []byte("event:endpoint"))
}

// methods of MCP, or what they begin with. "ping" is no proof: others have it too.
var methods = []string{"initialize", "server/discover", "tools/", "resources/", "prompts/", "completion/", "logging/", "notifications/", "sampling/",
	"elicitation/", "roots/", "tasks/", "subscriptions/"}

// speaksMCP tells whether a body is a message of MCP's, or a batch with one: other
// protocols use JSON-RPC too.
func speaksMCP(b []byte) bool {
	b = bytes.TrimLeft(b, "\xef\xbb\xbf \t\r\n")
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if b[0] == '{' {
		return isMessage(dec)
	}
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	for dec.PeekKind() == '{' {
		if isMessage(dec) {
			return true
		}
		for dec.StackDepth() > 1 { // the rest of an object that is none
			if _, err := dec.ReadToken(); err != nil {
				return false
			}
		}
	}
	return false
}

// isMessage reads the next object as far as it takes.
func isMessage(dec *jsontext.Decoder) bool {
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	rpc, known := false, false
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		name := tok.String()
		if name != "jsonrpc" && name != "method" || dec.PeekKind() != '"' {
			if dec.SkipValue() != nil {
				return false
			}
			continue
		}
		if tok, err = dec.ReadToken(); err != nil {
			return false
		}
		if name == "jsonrpc" {
			rpc = true
		} else {
			for _, m := range methods {
				known = known || tok.String() == m || strings.HasSuffix(m, "/") && strings.HasPrefix(tok.String(), m)
			}
		}
		if rpc && known {
			return true
		}
	}
	return false
}

// address reads the address of an entry: nil where it is none of HTTP.
func address(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil
	}
	switch u.Scheme = strings.ToLower(u.Scheme); u.Scheme {
	case "http", "https":
		return u
	}
	return nil
}

// originOf is scheme and authority as browsers write an origin.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":80")
	} else {
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host
}
