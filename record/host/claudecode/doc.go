// Package claudecode reads what Claude Code writes: session files with their
// subagents, stream-json output and hook payloads (hosts.md 3.1), from 1.0.98 on.
// The three hold the same blocks in different envelopes; builder makes turns and
// calls of them, and each reader only says what a record is.
//
// It must not know recordings or grading, and takes no rule from a version but
// those of usage figures.
package claudecode
