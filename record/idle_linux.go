package record

import "golang.org/x/sys/unix"

const canIdle = true

// idle gives the calling thread the priority SCHED_IDLE, which any process may.
func idle() bool {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0) == nil
}
