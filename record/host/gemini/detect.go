package gemini

import (
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
)

// Session reads session files; Stream the output of -o stream-json.
var (
	Session = &host.Importer{Name: "gemini-session", Version: "1", Doc: "Gemini CLI session files (chats/session-*)", Detect: detectSession, Import: importSessions}
	Stream  = &host.Importer{Name: "gemini-stream", Version: "1", Doc: "the output of gemini -o stream-json", Detect: detectStream, Import: importStreams}
)

// detectSession: the metadata line, or records that only this host writes.
func detectSession(_ string, head []byte) host.Sure {
	sure := host.No
	for _, m := range lenient.Heads(head) {
		switch {
		case lenient.Has(m, "sessionId", "projectHash"):
			return host.Certain
		case lenient.Has(m, "$set"), lenient.Has(m, "$rewindTo"), lenient.Has(m, "id", "timestamp", "type", "content") && lenient.String(m["type"]) == "gemini":
			sure = host.Likely
		}
	}
	return sure
}

// detectStream: events of one run.
func detectStream(_ string, head []byte) host.Sure {
	for _, m := range lenient.Heads(head) {
		switch lenient.String(m["type"]) {
		case "init":
			if lenient.Has(m, "session_id", "model", "timestamp") {
				return host.Certain
			}
		case "tool_use":
			if lenient.Has(m, "tool_name", "tool_id") {
				return host.Certain
			}
		case "result":
			if lenient.Has(m, "stats", "status") {
				return host.Certain
			}
		}
	}
	return host.No
}
