// Package gemini reads what Gemini CLI writes: its session files and the output
// of `gemini -o stream-json` (hosts.md 3.6).
//
// It must not know recordings or the join.
package gemini
