// Package predicate holds the check kinds: one file a kind with its doc, the
// schema of its fields and a pure function from evidence to an outcome, and the
// tables that all kinds share (the link each files at, what partial evidence
// does to it).
//
// It must not know suite files, trials, links' states or verdicts, nor how
// evidence was read: the same functions judge a recording, a host transcript and
// the vectors of other evaluators.
//
// To add a kind: give its row in kinds.go, write its file, list it in built, and
// add its rows to partial.go.
package predicate
