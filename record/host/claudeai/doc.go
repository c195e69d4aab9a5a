// Package claudeai reads the conversations of a claude.ai data export
// (conversations.json; hosts.md 3.2).
//
// It must not know recordings or the join.
package claudeai
