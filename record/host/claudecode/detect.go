package claudecode

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// maxHeadLines bounds the lines that are looked at to tell a format.
const maxHeadLines = 50

// heads gives the members of the first objects of a file: one a line, or of an array.
func heads(head []byte) []map[string]jsontext.Value {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	var out []map[string]jsontext.Value
	if isArray(head) {
		dec := jsontext.NewDecoder(bytes.NewReader(head), readOptions)
		if _, err := dec.ReadToken(); err != nil {
			return nil
		}
		for len(out) < maxHeadLines && dec.PeekKind() == '{' {
			v, err := dec.ReadValue()
			if err != nil {
				break
			}
			var m map[string]jsontext.Value
			if json.Unmarshal(v, &m, readOptions) == nil {
				out = append(out, m)
			}
		}
		return out
	}
	for n := 0; n < maxHeadLines && len(head) > 0; n++ {
		l, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		if i := bytes.IndexByte(l, '{'); i > 0 {
			l = l[i:]
		}
		if m := members(l); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// members gives the members of an object, as far as it goes: the last line that
// is looked at may be cut, and a first prompt with an image is longer than that.
func members(l []byte) map[string]jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewBuffer(l), readOptions)
	if dec.PeekKind() != '{' {
		return nil
	}
	m := map[string]jsontext.Value{}
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		v, err := dec.ReadValue()
		m[key] = v.Clone()
		if err != nil {
			break
		}
	}
	return m
}

// isArray says that a file is one array of objects.
func isArray(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '[' {
		return false
	}
	head = bytes.TrimLeft(head[1:], " \t\r\n")
	return len(head) > 0 && head[0] == '{'
}

func has(m map[string]jsontext.Value, names ...string) bool {
	for _, n := range names {
		if _, ok := m[n]; !ok {
			return false
		}
	}
	return true
}

// detectSession: lines that have a type and the session's id in camel case.
func detectSession(name string, head []byte) host.Sure {
	if strings.HasSuffix(name, ".meta.json") {
		for _, m := range heads(head) {
			if has(m, "agentType") {
				return host.Certain
			}
		}
		return host.No
	}
	sure := host.No
	for _, m := range heads(head) {
		switch {
		case has(m, "type", "sessionId", "uuid", "parentUuid"), has(m, "type", "parentUuid", "isSidechain"):
			return host.Certain
		case has(m, "type", "sessionId"), has(m, "type", "leafUuid"), has(m, "type", "messageId", "snapshot"):
			sure = host.Likely
		}
	}
	return sure
}

// detectStream: objects with a type and the session's id in snake case.
func detectStream(_ string, head []byte) host.Sure {
	for _, m := range heads(head) {
		if !has(m, "type", "session_id") || has(m, "hook_event_name") {
			continue
		}
		switch string(stringOf(m["type"])) {
		case "system":
			if has(m, "subtype") {
				return host.Certain
			}
		case "assistant", "user":
			if has(m, "message") {
				return host.Certain
			}
		case "result":
			if has(m, "num_turns") || has(m, "is_error") {
				return host.Certain
			}
		}
	}
	return host.No
}

// detectHooks: payloads of hooks, bare or under "native". Cursor's hooks have a
// conversation_id instead of a session's, Codex's a turn_id beside it.
func detectHooks(_ string, head []byte) host.Sure {
	for _, m := range heads(head) {
		if has(m, "native") {
			var in map[string]jsontext.Value
			if into(m["native"], &in) {
				m = in
			}
		}
		if has(m, "hook_event_name", "session_id") && !has(m, "conversation_id") && !has(m, "turn_id") {
			return host.Certain
		}
	}
	return host.No
}
