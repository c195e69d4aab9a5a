// Package proxy moves bytes between a host and a server and offers a copy of
// them to a recorder.
//
// It holds the stdio relay: a process of its own between the two, that starts
// the server as its child, passes every byte on as it was read, mirrors ends,
// signals and statuses, and never writes a byte of its own to stdout (the rules
// are wire.md 1.2 and recorder.md 3 of the specification).
//
// And it holds the HTTP proxy ([HTTP]): a server in front of one upstream that
// passes requests and responses on as net/http lets it, and where net/http would
// change something that a client can see, keeps it from that (wire.md 1.7). What
// it knows of a body is its bytes; who must understand one is a [Rewriter].
//
// It must not know JSON, MCP, messages or lines: framing happens on the copy,
// behind [Tap] and [HTTPTap], in package record. It must not know verbs or flags either, and
// nothing that its tap does, slow, failing or panicking, may change the traffic.
//
// # What happens when
//
// The child has the relay's arguments, working directory, environment and
// inherited files beyond 2; its three standard streams are pipes. Three pumps
// copy 64 KiB at most at a time. The relay ends when the child has ended and
// its stdout and stderr are at their end of file, whatever the host does with
// our stdin. No wait of the relay is limited, with two exceptions, both in
// [Waits]: the host is gone, or the child is gone and somebody else holds its
// streams.
//
// The host is gone when our stdin is at its end and our stdout has no reader
// any more. A silent server never shows the second, so the relay watches for
// it (recorder.md 3.3); a server that takes nothing hides the first, which is
// watched for as well. After Waits.Gone the child gets TERM, after Waits.Kill
// its process group gets KILL. A host that only closes our stdin is alive:
// nothing is limited then.
//
// A grandchild that holds the server's stdout or stderr after the server's end
// is listened to until it was silent for Waits.Silence, and no longer than
// Waits.Held. Bytes of the server itself are never cut off by that: while the
// host is slow to take them, the relay waits for it.
//
// # Signals
//
//	HUP INT QUIT TERM    end the server: the recording is flushed, then the
//	                     child's pid gets the signal; a second one goes to its
//	                     process group
//	USR1 USR2 ALRM       flushed, then passed to the child's pid
//	WINCH                passed to the child's pid, unless the terminal did so
//	PIPE XFSZ XCPU       dropped: a write says EPIPE or EFBIG instead, and the
//	                     relay's own processor time must not end the traffic
//	TSTP TTIN TTOU CONT  left at their defaults: the relay stops and goes on,
//	                     and with it the traffic
//
// The same signal once more within Waits.Repeat is the same key press (a
// launcher above us forwards what the terminal had sent to all) and is not
// passed on. When our stdin is a terminal the child is in our process group, so
// that it can read from the terminal; a key press then reaches it without us,
// and the first INT or QUIT of a foreground relay is not passed on; a second
// one is. A HUP or INT that was ignored when we started stays ignored
// ([signal.Ignored]: nohup). Go cannot tell for the others: their inherited
// "ignored" is lost, for us and for the child.
//
// # What is not covered
//
// When the relay is killed with KILL, the kernel kills the child (Linux) and
// closes its streams, but grandchildren that outlive an end of file stay. A
// grandchild that left the child's process group gets no signal of ours. A
// server that closes its stdout and ignores the end of its stdin leaves nothing
// by which a dead host could be told from a live one.
package proxy
