package codex

import (
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
)

// Rollout reads rollout files; Exec the output of codex exec --json.
var (
	Rollout = &host.Importer{Name: "codex-rollout", Version: "1", Doc: "Codex session files (rollout-*.jsonl), with those of subagents",
		Detect: detectRollout, Import: importRollouts}
	Exec = &host.Importer{Name: "codex-exec", Version: "1", Doc: "the output of codex exec --json",
		Detect: detectExec, Import: importExec}
)

// detectRollout: lines with a time, a type and a payload.
func detectRollout(_ string, head []byte) host.Sure {
	sure := host.No
	for _, m := range lenient.Heads(head) {
		if !lenient.Has(m, "timestamp", "type", "payload") {
			continue
		}
		switch lenient.String(m["type"]) {
		case "session_meta", "response_item", "event_msg", "turn_context":
			return host.Certain
		}
		sure = host.Possible
	}
	return sure
}

// detectExec: events of a thread.
func detectExec(_ string, head []byte) host.Sure {
	for _, m := range lenient.Heads(head) {
		switch lenient.String(m["type"]) {
		case "thread.started":
			if lenient.Has(m, "thread_id") {
				return host.Certain
			}
		case "item.started", "item.completed":
			if lenient.Has(m, "item") {
				return host.Certain
			}
		case "turn.completed":
			if lenient.Has(m, "usage") {
				return host.Certain
			}
		case "turn.started", "turn.failed":
			return host.Likely
		}
	}
	return host.No
}
