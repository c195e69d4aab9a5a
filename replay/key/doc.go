// Package key says when two requests are the same request: by method and params,
// whatever their spelling (white space, member order, escapes, 1.0 for 1), without
// _meta, and without the arguments that the user calls volatile.
//
// A recording has filler where a known credential was (record/FORMAT.md 5): an
// [Index] compares what a live request has there by the recording's key.
//
// It must not know recordings, sessions or what is done with a match.
package key
