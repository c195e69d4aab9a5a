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

// put keeps where a value stands.
func (p *span) put(s jsonscan.Span) { *p = span{int32(s.Start), int32(s.End)} }

// inner are the members that are looked at of params, of a result or of an error.
type inner struct {
	token, target, metaToken, sub span
}

// read walks over a value and keeps what is wanted of its members, if it is an object;
// of a name twice the last holds.
func (in *inner) read(b []byte, at int) (jsonscan.Span, error) {
	*in = inner{}
	if at = jsonscan.Space(b, at); at == len(b) || b[at] != '{' {
		return jsonscan.Skip(b, at)
	}
	return jsonscan.Members(b, at, func(name []byte, at int) (jsonscan.Span, error) {
		switch string(name) {
		case "_meta":
			return in.meta(b, at)
		case "progressToken":
			return keep(&in.token, b, at)
		case "requestId":
			return keep(&in.target, b, at)
		}
		return jsonscan.Skip(b, at)
	})
}

func (in *inner) meta(b []byte, at int) (jsonscan.Span, error) {
	in.metaToken, in.sub = span{}, span{}
	if at = jsonscan.Space(b, at); at == len(b) || b[at] != '{' {
		return jsonscan.Skip(b, at)
	}
	return jsonscan.Members(b, at, func(name []byte, at int) (jsonscan.Span, error) {
		switch string(name) {
		case "progressToken":
			return keep(&in.metaToken, b, at)
		case subscriptionID:
			return keep(&in.sub, b, at)
		}
		return jsonscan.Skip(b, at)
	})
}

func keep(p *span, b []byte, at int) (jsonscan.Span, error) {
	s, err := jsonscan.Skip(b, at)
	if err == nil {
		p.put(s)
	}
	return s, err
}

// readOne reads a message in one walk.
func readOne(b []byte, at int) (envelope, jsonscan.Span, error) {
	var e envelope
	var version, method, result, rpcError span
	var params, ofResult, ofError inner
	s, err := jsonscan.Members(b, at, func(name []byte, at int) (s jsonscan.Span, err error) {
		to := (*span)(nil)
		switch string(name) {
		case "jsonrpc":
			to = &version
		case "method":
			to = &method
		case "id":
			to = &e.id
		case "params":
			if s, err = params.read(b, at); err == nil {
				e.params.put(s)
			}
			return s, err
		case "result":
			if s, err = ofResult.read(b, at); err == nil {
				result.put(s)
			}
			return s, err
		case "error":
			if s, err = ofError.read(b, at); err == nil {
				rpcError.put(s)
			}
			return s, err
		default:
			return jsonscan.Skip(b, at)
		}
		return keep(to, b, at)
	})
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
	switch e.kind {
	case kRequest, kNotification:
		e.token, e.target, e.metaToken, e.sub = params.token, params.target, params.metaToken, params.sub
	case kReply:
		if e.sub = ofResult.sub; !result.ok() {
			e.sub = ofError.sub
		}
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
