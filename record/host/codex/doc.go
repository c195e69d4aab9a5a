// Package codex reads what Codex writes: its rollout files, in the three
// generations of their history (0.105, 0.147, 0.163 and later; hosts.md 3.4),
// with the files of subagents, the output of `codex exec --json`, and payloads of
// its hooks.
//
// It must not know recordings or the join.
package codex
