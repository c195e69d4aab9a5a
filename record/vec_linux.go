package record

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errNoVec = errors.New("no pwritev")

// vecMax is how many pieces one call takes (IOV_MAX).
const vecMax = 1024

// pwritev writes the first pieces of vec at an offset of f.
func pwritev(f *os.File, vec [][]byte, at int64) (n int, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	e := c.Control(func(fd uintptr) {
		for {
			if n, err = unix.Pwritev(int(fd), vec[:min(len(vec), vecMax)], at); err != unix.EINTR {
				break
			}
		}
	})
	if e != nil {
		err = e
	}
	if err != nil {
		n = max(n, 0)
		err = &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return n, err
}
