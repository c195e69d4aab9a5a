// Package importers lists the importers of all host families. It holds nothing
// else, so that a host family is added by a package of its own and one line here.
package importers

import (
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/chatgpt"
	"github.com/sixlink/sixlink/record/host/claudeai"
	"github.com/sixlink/sixlink/record/host/claudecode"
	"github.com/sixlink/sixlink/record/host/codex"
	"github.com/sixlink/sixlink/record/host/gemini"
	"github.com/sixlink/sixlink/record/host/messages"
)

// All returns the importers in the order in which their conversations are given
// back. The neutral format is not in the list; host.Import always knows it.
func All() []*host.Importer {
	return []*host.Importer{claudecode.Session, claudecode.Stream, claudecode.Hooks,
		codex.Rollout, codex.Exec, codex.Hooks, messages.Messages, messages.AgentsTrace,
		chatgpt.Export, claudeai.Export, gemini.Session, gemini.Stream}
}
