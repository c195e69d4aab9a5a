package proxy

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childAttr: the child gets a process group of its own unless it must share our
// terminal, and dies with the thread that forked it.
func childAttr(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}

// peerClosed is the event of a socket whose peer writes no more.
const peerClosed = unix.POLLRDHUP

// canWaitTwice: waitExit does not reap.
const canWaitTwice = true

// waitExit blocks until pid has ended and leaves it a zombie.
func waitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// childInfo is the kernel's siginfo_t of SIGCHLD.
type childInfo struct {
	signo, errno, code int32
	child              struct {
		_   [0]uintptr // the union is aligned as a pointer is
		pid int32
	}
	_ [128]byte // more than the kernel writes
}

// reapOrphans reaps processes that were handed to us because their parents
// ended, for a process that is PID 1. It never touches own, whose status is
// waited for elsewhere.
func reapOrphans(own int) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCHLD)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for reapOne(own) {
			}
			select {
			case <-c:
			case <-quit:
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(quit)
		<-done
	}
}

// reapOne reaps one ended process that is not own. Once own is a zombie it hides
// the others: the relay is about to end then, and they go with the namespace.
func reapOne(own int) bool {
	var info childInfo
	err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	pid := int(info.child.pid)
	if err != nil || pid == 0 || pid == own {
		return false
	}
	_, err = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return err == nil
}

// pipeUnread is how many bytes lie unread in the pipe f, of which we may hold
// either end.
func pipeUnread(f *os.File) int64 {
	fd, ok := descriptor(f)
	if !ok {
		return 0
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ) // FIONREAD by its other name
	if err != nil {
		return 0
	}
	return int64(n)
}

// pipeSize is the capacity of the pipe f in bytes.
func pipeSize(f *os.File) int64 {
	if fd, ok := descriptor(f); ok {
		if n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err == nil {
			return int64(n)
		}
	}
	return chunk
}

// largePipe is the capacity of a pipe that had a whole default one waiting (at
// most so much: recorder.md 3.5). Who reads and who writes then change places less
// often. A user's pipes have a common limit, and pipes over it are tiny, so that
// those of quiet sessions stay as they are.
const largePipe = 256 << 10

// growPipe does nothing where f is no pipe, or the user's limit is reached.
func growPipe(f *os.File) {
	if fd, ok := descriptor(f); ok && pipeSize(f) < largePipe {
		unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, largePipe)
	}
}

func isTerminal(f *os.File) bool {
	fd, ok := descriptor(f)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

func dup2(from, to int) { unix.Dup3(from, to, 0) }
