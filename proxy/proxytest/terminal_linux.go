package proxytest

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal makes a pseudo terminal: what is written to host is typed, what is
// read from it is shown. Typing \x03 is the key press Ctrl-C.
func Terminal(t testing.TB) (host, tty *os.File) {
	t.Helper()
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { host.Close() })
	c, err := host.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var inner error
	err = c.Control(func(fd uintptr) {
		if inner = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); inner == nil {
			n, inner = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err == nil {
		err = inner
	}
	if err == nil {
		tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("SKIPPED: no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return host, tty
}
