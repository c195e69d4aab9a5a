package proxy

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mirror ends our process as the server ended: with its code, or by its signal,
// so that whoever waits for us sees the same status. It does not return. Call it
// when the recording is closed.
//
// As PID 1, which no signal of its own can kill, it exits with 128 + n.
func Mirror(s Status) {
	if s.Signal != 0 && os.Getpid() != 1 {
		raise(s.Signal)
	}
	os.Exit(s.ExitCode())
}

// raise ends us by sig. The runtime's own way works for HUP, INT, TERM and KILL
// only: QUIT and ABRT would print goroutines and exit 2 (recorder.md 3.1), so
// the kernel's default is restored behind the runtime's back. There must be no
// core file: it would hold the traffic. It returns if the signal did not kill.
func raise(sig syscall.Signal) {
	runtime.LockOSThread()
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// A core that goes to a program (core_pattern "|…") has no size limit.
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// struct sigaction of the kernel, all zero: SIG_DFL, no flags, no mask. It
	// is at most 32 bytes; the signal set is 8.
	var dfl [8]uint64
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&dfl)), 0, 8, 0, 0)
	var none unix.Sigset_t
	unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
	// To this thread: it is delivered before the call returns.
	unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
}
