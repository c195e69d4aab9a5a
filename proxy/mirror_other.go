//go:build unix && !linux

package proxy

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Mirror ends our process as the server ended: with its code, or by its signal
// where Go can raise it (HUP, INT, TERM, KILL: recorder.md 3.1), else with 128 +
// n. It does not return. Call it when the recording is closed.
func Mirror(s Status) {
	switch s.Signal {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL:
		if os.Getpid() != 1 {
			signal.Reset(s.Signal)
			unix.Kill(os.Getpid(), s.Signal)
			time.Sleep(time.Second) // the signal may go to another thread
		}
	}
	os.Exit(s.ExitCode())
}
