package bridge

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of what is remembered of a server's tools.
const (
	maxTools       = 4096
	maxParams      = 64 // of a tool
	maxSchemaDepth = 16
)

// param is an argument that a header field repeats: a tool's schema says so with
// x-mcp-header (wire.md 1.4). Servers refuse a call without it.
type param struct {
	path  []string // of members, from arguments on
	field string
}

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// learn takes the fields from an answer to tools/list. A schema that is none is
// left alone: it is the server's business.
func (b *bridge) learn(line []byte) {
	var m struct {
		Result struct {
			Tools []struct {
				Name   string         `json:"name"`
				Schema jsontext.Value `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(line, &m, lenient) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.params == nil {
		b.params = map[string][]param{}
	}
	for _, t := range m.Result.Tools {
		p := schemaParams(t.Schema, nil, nil)
		if _, known := b.params[t.Name]; len(p) == 0 {
			delete(b.params, t.Name)
		} else if known || len(b.params) < maxTools {
			b.params[t.Name] = p
		}
	}
}

// schemaParams finds x-mcp-header in a schema, below chains of properties alone.
func schemaParams(schema jsontext.Value, path []string, list []param) []param {
	var s struct {
		Field      jsontext.Value `json:"x-mcp-header"`
		Properties jsontext.Value `json:"properties"`
	}
	if schema.Kind() != '{' || len(path) > maxSchemaDepth || json.Unmarshal(schema, &s, lenient) != nil {
		return list
	}
	if name, ok := text(s.Field); ok && len(path) > 0 && isToken(name) && len(list) < maxParams {
		list = append(list, param{append([]string(nil), path...), "Mcp-Param-" + name})
	}
	var properties map[string]jsontext.Value
	if s.Properties.Kind() != '{' || json.Unmarshal(s.Properties, &properties, lenient) != nil {
		return list
	}
	for name, sub := range properties {
		list = schemaParams(sub, append(path, name), list)
	}
	return list
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}

// setParams adds the fields that repeat arguments of a call.
func setParams(h http.Header, list []param, line []byte) {
	var m struct {
		Params struct {
			Arguments jsontext.Value `json:"arguments"`
		} `json:"params"`
	}
	if len(list) == 0 || json.Unmarshal(line, &m, lenient) != nil {
		return
	}
	for _, p := range list {
		v := m.Params.Arguments
		for _, name := range p.path {
			var object map[string]jsontext.Value
			if v.Kind() != '{' || json.Unmarshal(v, &object, lenient) != nil {
				v = nil
				break
			}
			v = object[name]
		}
		if s, ok := paramText(v); ok {
			h.Set(p.field, fieldValue(s))
		}
	}
}

// paramText is how an argument stands in a field: texts, booleans and whole
// numbers; others have none.
func paramText(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		return text(v)
	case 't', 'f':
		return string(v), true
	case '0':
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return strconv.FormatInt(n, 10), true
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return "", false
		}
		return strconv.FormatInt(int64(f), 10), true
	}
	return "", false
}
