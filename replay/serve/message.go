package serve

import (
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// kind of a JSON-RPC message, by its raw members (wire.md 2.1).
type kind uint8

const (
	kNone kind = iota
	kRequest
	kNotification
	kReply
)

// span is where a value stands; no value is empty.
type span struct{ start, end int32 }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }
func (s span) ok() bool           { return s.end > s.start }
func (s span) shift(by int) span  { return span{s.start + int32(by), s.end + int32(by)} }

// envelope is a message by the members that are looked at here. Its spans count in
// the text that it was read from.
type envelope struct {
	kind   kind
	whole  span
	method string
	id     span
	params span
	result span // of a reply: result, else error
	// token is params.progressToken (of notifications/progress), metaToken
	// params._meta.progressToken.
	token, metaToken span
	// sub is the subscription id in _meta, of params or of a result.
	sub span
	// target is params.requestId, of notifications/cancelled.
	target span
	index  int // in a batch, else -1
}

const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// read reads a message, or a batch of them. It is empty when the text holds none.
func read(b []byte) (out []envelope, batch bool) {
	i := jsonscan.Space(b, 0)
	if i == len(b) {
		return nil, false
	}
	switch b[i] {
	case '{':
		e, s, err := readOne(b, i)
		if err != nil || e.kind == kNone || jsonscan.Space(b, s.End) < len(b) {
			return nil, false
		}
		e.index = -1
		return []envelope{e}, false
	case '[':
		s, err := jsonscan.Skip(b, i)
		if err != nil || jsonscan.Space(b, s.End) < len(b) {
			return nil, false
		}
		_, _ = jsonscan.Elements(b, i, func(index, at int) (jsonscan.Span, error) {
			if at = jsonscan.Space(b, at); b[at] != '{' {
				return jsonscan.Skip(b, at)
			}
			e, s, err := readOne(b, at)
			if e.index = index; err == nil && e.kind != kNone {
				out = append(out, e)
			}
			return s, err
		})
		return out, len(out) > 0
	}
	return nil, false
}

// members walks over an object and keeps where the named members stand; of a name
// twice the last holds.
func members(b []byte, at int, want map[string]*span) (jsonscan.Span, error) {
	return jsonscan.Members(b, at, func(name []byte, at int) (jsonscan.Span, error) {
		s, err := jsonscan.Skip(b, at)
		if p := want[string(name)]; p != nil && err == nil {
			*p = span{int32(s.Start), int32(s.End)}
		}
		return s, err
	})
}

func readOne(b []byte, at int) (envelope, jsonscan.Span, error) {
	var e envelope
	var version, method, result, rpcError, meta span
	s, err := members(b, at, map[string]*span{"jsonrpc": &version, "method": &method, "id": &e.id, "params": &e.params, "result": &result, "error": &rpcError})
	if err != nil {
		return e, s, err
	}
	e.whole = span{int32(s.Start), int32(s.End)}
	valid := false
	if version.ok() {
		v, _ := jsonscan.String(version.of(b))
		valid = v == "2.0"
	}
	pairs := e.id.ok() && (b[e.id.start] == '"' || b[e.id.start] == '-' || b[e.id.start] >= '0' && b[e.id.start] <= '9')
	isText := false
	if method.ok() {
		e.method, isText = jsonscan.String(method.of(b))
	}
	switch {
	case method.ok() && !isText:
	case isText && pairs:
		e.kind = kRequest
	case isText && e.id.ok(): // null, or no id at all: nobody can answer it
		e.kind = kNotification
	case isText && valid:
		e.kind = kNotification
	case result.ok() || rpcError.ok():
		e.kind = kReply
		if e.result = result; !result.ok() {
			e.result = rpcError
		}
	}
	inside := func(of span, want map[string]*span) {
		if of.ok() && b[of.start] == '{' {
			_, _ = members(b, int(of.start), want)
		}
	}
	switch e.kind {
	case kRequest, kNotification:
		inside(e.params, map[string]*span{"progressToken": &e.token, "requestId": &e.target, "_meta": &meta})
		inside(meta, map[string]*span{"progressToken": &e.metaToken, subscriptionID: &e.sub})
	case kReply:
		inside(e.result, map[string]*span{"_meta": &meta})
		inside(meta, map[string]*span{subscriptionID: &e.sub})
	}
	return e, s, nil
}

// ident is a form of an id or a token in which its spelling does not count: 1 and
// 1.0 are one id, "1" is another (wire.md 2.2).
func ident(token []byte) string {
	if len(token) == 0 {
		return ""
	}
	switch c := token[0]; {
	case c == '"':
		s, _ := jsonscan.String(token)
		return "s" + clip(s)
	case c == '-' || c >= '0' && c <= '9':
		return "n" + clip(jsonscan.Number(token))
	}
	return "x" + clip(string(token))
}

// maxIdent bounds the ids that are told apart; real ones have under 100 bytes.
const maxIdent = 1 << 10

func clip(s string) string {
	if len(s) > maxIdent {
		return s[:maxIdent]
	}
	return s
}
