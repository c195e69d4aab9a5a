// Package run drives the client's side of a recording against a new server: what
// the host sent then is sent again, in the recorded order, and what the server
// answers now is for the relay to record.
//
// It knows what may be sent (recorder.md 5.1 to 5.3): by default nothing that could
// write. Everything else is skipped, and the report says so. It carries the values
// that the server mints from the new answers to the later requests (5.4), keeps the
// recorded order and timing (5.5), and answers the new server's own requests from
// the recording.
//
// It is handed its connections ([Opener]), and so must not know how a server is
// started, recorded or reached; nor verbs, suites and what two recordings differ in.
package run
