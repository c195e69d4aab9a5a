// Package proxytest is the kit with which tests make the faults that a relay
// has to survive. It holds scripted processes ([Program]), ways to write badly
// ([Slice], [OneByOne]) and to read slowly ([SlowReader]), bytes that come late
// ([Latency]) or end early ([Limited]), socket pairs as Node makes them
// ([Socketpair]) with their ends ([HalfClose], [SlowClose], [Reset]), a proof that
// nothing was left behind ([Lifeline]), a terminal ([Terminal]), a disk that is full,
// read-only ([Disk]) or slow ([SlowDisk]), and a tap that remembers ([Memory]).
//
// There is no clock in it: nothing moves the wall clock of a process without moving
// the machine's. A test of what reads both clocks makes the jump inside (package
// record, TestFaultSuspend).
//
// It must not know the relay: it imports package record for the tap's types and
// nothing else of this module, so that the tests of every package can use it.
//
// # Processes
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
// # The next fault
//
// A new thing that a server can do is a field of [Step], with its case in
// Step.run; a new thing that happens to bytes is a function or type in a file of
// its own that takes and gives io.Reader, io.Writer or *os.File. Nothing here
// sleeps: what must happen later waits for a pipe, a signal or a channel that
// the test controls, and a test that has to wait for time goes behind the build
// tag faults.
package proxytest
