// Package replay holds what runs a recording again: the recording as the server
// (serve), the recording as the host (run), and the difference of two (diff). This
// package itself is empty; key is what those below it share.
//
//	key    when two requests are the same request
//	serve  a mock server that answers with the recorded bytes
//	run    the recorded client side against another server
//	diff   what is different between two recordings
//
// They read recordings through record and record/session. They must not know
// verdicts, suites or reports (grade), nor the relay (proxy): where a verb needs
// two of those, cmd hands one to the other as a function. None of them opens a
// connection to, or starts, anything that a recording names (recorder.md 4.8).
package replay
