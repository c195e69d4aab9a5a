package bridge

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// message is what a transport has to know of a line.
type message struct {
	batch bool
	parts []part
}

// part is a message, or an element of a batch.
type part struct {
	method    string
	hasMethod bool
	id        []byte // as it is spelt; nil: none
	rpc       bool   // it has jsonrpc
	answer    bool   // it has result or error
	failure   []byte // error, as it is spelt

	// Of params.
	version string // _meta["io.modelcontextprotocol/protocolVersion"]
	names   map[string]string
	cancels []byte // requestId

	negotiated string // result.protocolVersion
}

// request: an answer is due. (A null id is none: servers take it for a
// notification, wire.md 2.2.)
func (p *part) request() bool { return p.hasMethod && hasID(p.id) }

func (p *part) response() bool { return !p.hasMethod && p.answer }

func hasID(id []byte) bool { return id != nil && string(id) != "null" }

// nameSources says which member of params the field Mcp-Name repeats (wire.md
// 1.4; the last three are the tasks extension's).
var nameSources = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

// name is what Mcp-Name repeats.
func (p *part) name() (string, bool) {
	v, ok := p.names[nameSources[p.method]]
	return v, ok
}

// parse looks at a line as far as a transport must. It reports false for what is
// no JSON-RPC message, or a batch of others. Of two members of one name the last
// counts, as it does to servers (wire.md 2.1).
func parse(line []byte) (*message, bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	m := &message{}
	switch d.PeekKind() {
	case '{':
		p, ok := parsePart(d)
		if !ok {
			return m, false
		}
		m.parts = append(m.parts, p)
	case '[':
		m.batch = true
		d.ReadToken()
		for d.PeekKind() == '{' {
			p, ok := parsePart(d)
			if !ok {
				return &message{}, false
			}
			m.parts = append(m.parts, p)
		}
		if t, err := d.ReadToken(); err != nil || t.Kind() != ']' || len(m.parts) == 0 {
			return &message{}, false
		}
	default:
		return m, false
	}
	// Nothing may follow.
	if len(bytes.TrimLeft(line[d.InputOffset():], " \t\r\n")) > 0 {
		return &message{}, false
	}
	return m, true
}

func parsePart(d *jsontext.Decoder) (p part, ok bool) {
	ok = members(d, func(name string) bool {
		switch name {
		case "method":
			var v jsontext.Value
			if v, ok = value(d); ok {
				p.method, p.hasMethod = text(v)
			}
			return ok
		case "id":
			v, ok := value(d)
			p.id = bytes.Clone(v)
			return ok
		case "params":
			return p.params(d)
		case "result":
			p.answer = true
			return p.result(d)
		case "error":
			v, ok := value(d)
			if v.Kind() == '{' {
				p.answer, p.failure = true, bytes.Clone(v)
			}
			return ok
		case "jsonrpc":
			p.rpc = true
		}
		return d.SkipValue() == nil
	})
	// {"error": {…}} alone may come from anything that speaks JSON.
	return p, ok && (p.hasMethod || p.answer && (p.rpc || hasID(p.id)))
}

func (p *part) params(d *jsontext.Decoder) bool {
	if d.PeekKind() != '{' {
		return d.SkipValue() == nil
	}
	return members(d, func(name string) bool {
		switch name {
		case "_meta":
			if d.PeekKind() != '{' {
				return d.SkipValue() == nil
			}
			return members(d, func(name string) bool {
				v, ok := value(d)
				if name == "io.modelcontextprotocol/protocolVersion" {
					p.version, _ = text(v)
				}
				return ok
			})
		case "name", "uri", "taskId":
			v, ok := value(d)
			if s, is := text(v); is {
				if p.names == nil {
					p.names = map[string]string{}
				}
				p.names[name] = s
			}
			return ok
		case "requestId":
			v, ok := value(d)
			p.cancels = bytes.Clone(v)
			return ok
		}
		return d.SkipValue() == nil
	})
}

func (p *part) result(d *jsontext.Decoder) bool {
	if d.PeekKind() != '{' {
		return d.SkipValue() == nil
	}
	return members(d, func(name string) bool {
		if name != "protocolVersion" {
			return d.SkipValue() == nil
		}
		v, ok := value(d)
		p.negotiated, _ = text(v)
		return ok
	})
}

// members calls each for every member of an object; each takes the value.
func members(d *jsontext.Decoder, each func(name string) bool) bool {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil || !each(t.String()) {
			return false
		}
	}
	t, err := d.ReadToken()
	return err == nil && t.Kind() == '}'
}

func value(d *jsontext.Decoder) (jsontext.Value, bool) {
	v, err := d.ReadValue()
	return v, err == nil
}

func text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, v)
	return string(s), err == nil || len(s) > 0
}

// idKey makes ids comparable that servers take for equal: 1 and 1.0, "a" and
// "\u0061"; 1 and "1" differ (wire.md 2.2).
func idKey(id []byte) string {
	if s, ok := text(id); ok {
		return "s" + s
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return "n" + strconv.FormatInt(n, 10)
	}
	if f, err := strconv.ParseFloat(string(id), 64); err == nil && f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
		return "n" + strconv.FormatInt(int64(f), 10)
	}
	return "x" + string(id)
}

// oneLine leaves the line breaks of a JSON text out. It is the text itself where
// there are none; a line break inside of a string, which no JSON has, is left.
func oneLine(p []byte) []byte {
	if !bytes.ContainsAny(p, "\r\n") {
		return p
	}
	out := make([]byte, 0, len(p))
	inString := false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case inString && c == '\\' && i+1 < len(p):
			out = append(out, c)
			i++
			out = append(out, p[i])
			continue
		case c == '"':
			inString = !inString
		case !inString && (c == '\r' || c == '\n'):
			continue
		}
		out = append(out, p[i])
	}
	return out
}

// fieldValue is how a text stands in a header field: as it is, or in base64 where
// a field would not carry it (wire.md 1.4).
func fieldValue(s string) string {
	const begin, end = "=?base64?", "?="
	safe := s != "" && s == strings.Trim(s, " \t") && !(strings.HasPrefix(s, begin) && strings.HasSuffix(s, end))
	for i := 0; safe && i < len(s); i++ {
		safe = s[i] == '\t' || s[i] >= ' ' && s[i] <= '~'
	}
	if safe {
		return s
	}
	return begin + base64.StdEncoding.EncodeToString([]byte(s)) + end
}
