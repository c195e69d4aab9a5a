package join

import (
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// family is whose keys a call carries. It comes from the keys, never from the
// client's name, which three libraries set to the server's own (hosts.md 2).
type family string

const (
	anyHost family = ""
	claude  family = "claude-code"
	codex   family = "codex"
	vscode  family = "vscode"
	chatgpt family = "chatgpt"
	other   family = "other"
)

// meta is what a host put into the request's params._meta (hosts.md 2).
type meta struct {
	family family
	// use is the host's own id of the call, item a second one (Codex).
	use, item string
	// threads are ids of the conversation, the narrowest first; turn that of the turn.
	threads []string
	turn    string
	// opaque is an id of the conversation that the transcript is not known to hold
	// (openai/session): one value, one conversation.
	opaque string
	// gated is the call that a permission prompt asks about.
	gated string
}

// maxMeta bounds the _meta that is read, in bytes; real ones are under 4 KiB.
const maxMeta = 256 << 10

// metaOf reads the _meta of the call's first request. session.Call keeps the id
// alone; the rest is fetched here, when there is something to join.
func metaOf(c *session.Call) meta {
	m := meta{use: c.ToolUseID}
	if len(c.Attempts) == 0 || c.Attempts[0].Params.IsZero() {
		return m
	}
	params, err := c.Attempts[0].Params.Bytes()
	if err != nil {
		return m
	}
	if args, ok := member(params, "arguments"); ok && len(args) < maxMeta {
		m.gated = text(args, "tool_use_id")
	}
	raw, ok := member(params, "_meta")
	if !ok || len(raw) > maxMeta {
		return m
	}
	add := func(id string) {
		if id != "" {
			m.threads = append(m.threads, id)
		}
	}
	if id := text(raw, "claudecode/toolUseId"); id != "" {
		m.family, m.use = claude, id
	}
	turn, has := member(raw, "x-codex-turn-metadata")
	if has || m.use != "" && m.family == anyHost {
		// The plain words below mean this only beside Codex's own key, or where the
		// session knows the client for Codex (session.Call.ToolUseID).
		m.family = codex
		m.item = text(raw, "itemId")
		add(text(turn, "thread_id"))
		add(text(raw, "threadId"))
		add(text(turn, "session_id"))
		add(text(raw, "sessionId"))
		m.turn = text(turn, "turn_id")
	}
	if id := text(raw, "vscode.conversationId"); id != "" {
		m.family = vscode
		add(id)
		m.turn = text(raw, "vscode.requestId")
	}
	if id := text(raw, "openai/session"); id != "" {
		m.family, m.opaque = chatgpt, id
	}
	for _, key := range []string{"ai.opencode/sessionID", "antigravity.google/conversation_id"} {
		if id := text(raw, key); id != "" {
			m.family = other
			add(id)
		}
	}
	return m
}

// fits says that calls of that host may carry such keys.
func (f family) fits(hostName string) bool {
	switch f {
	case claude, codex, vscode:
		// A host that a person named otherwise in the neutral format may be any.
		switch hostName {
		case "claude-code", "codex", "vscode", "chatgpt", "gemini-cli", "claude-ai", "cursor":
			return hostName == string(f)
		}
	case chatgpt:
		switch hostName {
		case "claude-code", "codex", "vscode", "gemini-cli", "claude-ai", "cursor":
			return false
		}
	}
	return true
}

// member finds a member of an object; of several the last, as on the wire.
func member(b []byte, name string) (v []byte, ok bool) {
	if i := jsonscan.Space(b, 0); i >= len(b) || b[i] != '{' {
		return nil, false
	}
	_, _ = jsonscan.Members(b, jsonscan.Space(b, 0), func(n []byte, at int) (jsonscan.Span, error) {
		s, err := jsonscan.Skip(b, at)
		if err == nil && string(n) == name {
			v, ok = b[s.Start:s.End], true
		}
		return s, err
	})
	return v, ok
}

// maxID bounds an id, in bytes.
const maxID = 1 << 10

// text is a member that is a string; empty: it is not there, or is no id.
func text(b []byte, name string) string {
	v, ok := member(b, name)
	if !ok || len(v) > maxID {
		return ""
	}
	s, _ := jsonscan.String(v)
	return s
}
