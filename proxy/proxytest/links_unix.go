//go:build unix

package proxytest

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Latency passes what R reads on after Wait, which is told how many bytes were
// read: they come late, and in order. The test waits there for whatever is late.
type Latency struct {
	R    io.Reader
	Wait func(n int)
}

// Read reads the next piece and waits.
func (l Latency) Read(p []byte) (int, error) {
	n, err := l.R.Read(p)
	if n > 0 && l.Wait != nil {
		l.Wait(n)
	}
	return n, err
}

// Limited passes N bytes of R on. What comes then is what Then returns: io.EOF, an
// error of a connection, or whatever it did before it returned. A nil Then is
// io.EOF. Unlike [io.LimitedReader] it never reads a byte more than it passes on,
// and the border stands inside a message as often as not.
type Limited struct {
	R    io.Reader
	N    int64
	Then func() error
}

// Read reads at most what is left.
func (l *Limited) Read(p []byte) (int, error) {
	if l.N <= 0 {
		if l.Then == nil {
			return 0, io.EOF
		}
		return 0, l.Then()
	}
	n, err := l.R.Read(p[:min(int64(len(p)), l.N)])
	l.N -= int64(n)
	return n, err
}

// HalfClose ends what we write on our end of a [Socketpair]. We can still read.
func HalfClose(f *os.File) error {
	return onDescriptor(f, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// SlowClose ends what we write at once and lets go of the socket after wait: the
// peer sees an end of file long before its own writes fail.
func SlowClose(f *os.File, wait func()) error {
	err := HalfClose(f)
	wait()
	return errors.Join(err, f.Close())
}

// Reset closes our end of a [Socketpair] with bytes unread, so that the peer's
// next read or write says "connection reset by peer" where the system does so
// (Linux), and "broken pipe" elsewhere. It waits for a byte to leave unread.
func Reset(f *os.File) error {
	err := onDescriptor(f, func(fd int) error {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(p, int(Guard.Milliseconds()))
			switch {
			case err == unix.EINTR:
			case err != nil:
				return err
			case n == 0:
				return errors.New("reset: there is nothing to leave unread")
			default:
				return nil
			}
		}
	})
	return errors.Join(err, f.Close())
}

func onDescriptor(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}
