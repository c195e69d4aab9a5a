// Package diff says what is different between two recordings, and whether it matters
// to somebody who relied on the first one: the same server at two times, or in two
// builds.
//
// Sessions are paired first, then what the server lists, each request and its answer.
// Results are compared as JSON, number-exact, member by member. What no two runs have
// in common (ids, the time of day) is told apart from what changed by rules that never
// hide an outcome. docs/diff-rules.md has the rules, made from rules.go.
//
// Values stay in the recordings: memory grows with the kinds of differences, and by
// some bytes a call.
//
// It must not know how a recording is read or made again (cmd, replay/run), nor
// suites and verdicts (grade).
package diff
