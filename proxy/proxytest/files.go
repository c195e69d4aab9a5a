//go:build unix

package proxytest

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Guard is the longest that anything in a test may take before it counts as
// hanging. It is no measurement.
const Guard = 30 * time.Second

// Pipe is os.Pipe for tests.
func Pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// Socketpair is a connected pair of stream sockets, which Node gives to its
// children instead of pipes. Both ends are in Go's poller.
func Socketpair(t testing.TB) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, fd := range fds {
		unix.CloseOnExec(fd)
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "socket")
		t.Cleanup(func() { f.Close() })
		if i == 0 {
			a = f
		} else {
			b = f
		}
	}
	return a, b
}

// A Lifeline proves that nothing was left behind: every process that inherited
// Held keeps it open, so Gone is true when the last of them has ended.
type Lifeline struct {
	// Held is for exec.Cmd.ExtraFiles of the first process.
	Held *os.File
	end  *os.File
}

// NewLifeline makes a lifeline.
func NewLifeline(t testing.TB) *Lifeline {
	r, w := Pipe(t)
	return &Lifeline{Held: w, end: r}
}

// Gone waits until every process with the lifeline has ended. It closes our own
// copy of Held and reports false if somebody still lives after [Guard].
func (l *Lifeline) Gone() bool {
	l.Held.Close()
	l.end.SetReadDeadline(time.Now().Add(Guard))
	_, err := l.end.Read(make([]byte, 1))
	return err == io.EOF
}
