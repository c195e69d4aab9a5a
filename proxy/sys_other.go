//go:build unix && !linux

package proxy

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttr: there is no parent-death signal here. The child sees its stdin end
// when we die.
func childAttr(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup}
}

// peerClosed is an event that does not exist here.
const peerClosed = 0

// canWaitTwice: the child is reaped as soon as it ended.
const canWaitTwice = false

func waitExit(int) {}

// reapOrphans does nothing: containers, where we are PID 1, run Linux.
func reapOrphans(int) (stop func()) { return func() {} }

// pipeUnread is how many bytes lie unread in the pipe f, of which we must hold
// the reading end: the writing end says 0 here.
func pipeUnread(f *os.File) int64 {
	const fionread = 0x4004667f // _IOR('f', 127, int), the same on all BSDs
	fd, ok := descriptor(f)
	if !ok {
		return 0
	}
	n, err := unix.IoctlGetInt(fd, fionread)
	if err != nil {
		return 0
	}
	return int64(n)
}

// pipeSize is the largest that a pipe grows to by itself.
func pipeSize(*os.File) int64 { return chunk }

// largePipe is the largest that a pipe grows to by itself.
const largePipe = chunk

// growPipe has nothing to do: the system grows pipes.
func growPipe(*os.File) {}

func isTerminal(f *os.File) bool {
	fd, ok := descriptor(f)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
	return err == nil
}

func dup2(from, to int) { unix.Dup2(from, to) }
