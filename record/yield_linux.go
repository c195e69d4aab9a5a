package record

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// yielding says which thread the caller is, and whether it may go to SCHED_IDLE
// and come back: without privileges (CAP_SYS_NICE or RLIMIT_NICE) there is no way
// back. Such a thread is marked as batch work instead, which keeps its share and
// does not push others aside when it wakes up.
func yielding() (tid int, ok bool) {
	tid = unix.Gettid()
	done := make(chan bool)
	// Tried out on a thread that is thrown away.
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: it ends here
		if t := unix.Gettid(); t != tid && yield(t, true) && yield(t, false) {
			done <- true
		}
	}()
	if ok = <-done; !ok {
		setPolicy(tid, unix.SCHED_BATCH)
	}
	return tid, ok
}

// yield makes a thread yield, or end that, and reports whether it did.
func yield(tid int, on bool) bool {
	policy := unix.SCHED_NORMAL
	if on {
		policy = unix.SCHED_IDLE
	}
	return setPolicy(tid, policy)
}

func setPolicy(tid, policy int) bool {
	return unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: uint32(policy)}, 0) == nil
}
