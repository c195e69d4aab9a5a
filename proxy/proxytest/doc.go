// Package proxytest is the kit with which tests make the faults that a relay
// has to survive: bad writers, slow readers, connections that end in every way,
// processes that misbehave, disks that are full, read-only or slow, a clock that
// jumps; and the two witnesses of what came of it, a tap that remembers ([Memory]) and
// a proof that nothing was left behind ([Lifeline]).
//
// It must not know the relay: it imports package record for the tap's types and
// nothing else of this module, so that the tests of every package can use it.
// (The tests within package record cannot, as that would be a cycle; those beside
// it, package record_test, can.)
//
// # Bytes: slicer, slow reader, latency, limited data
//
// Writers that cut where a parser must not care ([Slice], [OneByOne]):
//
//	for cut := range message {
//		proxytest.Slice(server, message, cut)
//	}
//
// A reader that takes little, and waits for whatever is slow ([SlowReader]):
//
//	io.Copy(&got, proxytest.SlowReader{R: out, Size: 1 << 10, Between: func() { <-tick }})
//
// Bytes that come late and in order ([Latency]); here each piece waits until the
// one before is through:
//
//	io.Copy(in, proxytest.Latency{R: traffic, Wait: func(n int) { through(n) }})
//
// Data that ends early, in the middle of a message as often as not ([Limited]); what
// ends it may do something first, such as a reset:
//
//	io.Copy(in, &proxytest.Limited{R: traffic, N: 1000, Then: func() error { return proxytest.Reset(in) }})
//
// # Connections: half-close, slow close, reset
//
// Node gives socket pairs to its children, not pipes ([Socketpair]). An end that only
// stops writing ([HalfClose]), one that lets go long after ([SlowClose]), and one
// that goes with bytes unread ([Reset]):
//
//	a, b := proxytest.Socketpair(t)
//	proxytest.SlowClose(b, func() { stillAnswers(a) })
//
// # Processes: program, lifeline, terminal
//
// A test binary that calls [Main] from TestMain can start itself in a role: the
// role "program" runs a [Program]; a package adds its own, such as the relay as
// a real process. Roles are chosen by arguments, never by environment, since
// what a child sees of its environment is under test.
//
//	func TestMain(m *testing.M) {
//		proxytest.Main(map[string]func([]string) int{"relay": relay})
//		goleak.VerifyTestMain(m)
//	}
//
// A server that ignores TERM, and the proof that it is gone in the end:
//
//	life := proxytest.NewLifeline(t)
//	argv := proxytest.Program{{Ignore: []string{"TERM"}}, {Write: "up\n"}, {Hang: true}}.Argv()
//	cmd := exec.Command(argv[0], argv[1:]...)
//	cmd.ExtraFiles = []*os.File{life.Held}
//	…
//	if !life.Gone() {
//		t.Error("a process was left behind")
//	}
//
// A terminal, at which somebody presses Ctrl-C ([Terminal]):
//
//	host, tty := proxytest.Terminal(t)
//	host.WriteString("\x03")
//
// # Disks: full, read-only, slow
//
// A small file system of its own, which a test fills, frees, and makes read-only
// ([Disk]); one that takes a megabyte a second ([SlowDisk]), at each write or, with a
// page cache, at a sync. They need the rights of
// root, so the caller says what is to happen without them:
//
//	disk := proxytest.NewDisk(t, 16<<20, skip)
//	disk.Fill(100 << 10) // bytes that are left
//	disk.Free()
//
// # Clock
//
// A wall clock that jumps while the monotonic one runs on, as in a suspend ([Clock]):
//
//	var clock proxytest.Clock
//	wall = clock.Now
//	clock.Jump(time.Hour)
//
// # The next fault
//
// A new thing that a server can do is a field of [Step], with its case in
// Step.run; a new thing that happens to bytes is a function or type in a file of
// its own that takes and gives io.Reader, io.Writer or *os.File. Each has a test
// here, an example above, and a test of the relay or the recorder that uses it.
// Nothing here sleeps: what must happen later waits for a pipe, a signal or a channel
// that the test controls, and a test that has to wait for time goes behind the build
// tag faults. Its name begins with TestFault, so that make faults runs it, and it says
// what it does and saw with the attributes "fault" and "observed" (fixtures/faults).
package proxytest
