// Package serve is a recording as the server: it answers live clients, over stdio
// or HTTP, with the recorded bytes.
//
// A [Tape] is what a recording holds, made to be played: what the client did
// (events) and what the server sent (items), each item owned by the event that set
// it off. The bytes stand in a spool, so that memory grows with the number of
// messages and not with their size. A play is one live session: it matches what the
// client sends with events, and sends the items that those own, in recorded order
// where the recording shows that order mattered (play.go). Transports move bytes:
// stdio.go, http.go.
//
// What is sent are the recorded bytes. Exchanged, by offset, are only the values
// that a client chose itself: ids, progress tokens and subscription ids, as the live
// one spells them; and the session id, which is minted (recorder.md 5.6).
//
// It must not know files of recordings beyond package record, the relay, verdicts,
// or flags; it opens no connection to anything that a recording names.
package serve
