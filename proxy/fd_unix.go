//go:build unix

package proxy

import (
	"os"

	"golang.org/x/sys/unix"
)

// descriptor is f's number. Not f.Fd(): that would make the descriptor blocking,
// for everybody who shares it.
func descriptor(f *os.File) (fd int, ok bool) {
	c, err := f.SyscallConn()
	if err != nil {
		return -1, false
	}
	err = c.Control(func(n uintptr) { fd = int(n) })
	return fd, err == nil
}

// release closes our copy of f. The numbers 0, 1 and 2 get /dev/null in its
// place: a file that is opened later, a recording for one, must not become
// somebody's stdout.
func release(f *os.File) {
	fd, ok := descriptor(f)
	if !ok {
		return
	}
	if fd > 2 {
		f.Close()
		return
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	if n, ok := descriptor(null); ok {
		dup2(n, fd)
	}
}

// waitFor blocks until f can be read or written again. For descriptors that are
// non-blocking without Go's knowledge.
func waitFor(f *os.File, write bool) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	events := int16(unix.POLLIN)
	if write {
		events = unix.POLLOUT
	}
	// In the call, so that the number stays f's while it is waited for.
	if e := c.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		for {
			if _, err = unix.Poll(p, -1); err != unix.EINTR {
				return
			}
		}
	}); e != nil {
		return e
	}
	return err
}

// foreground tells whether our process group has the terminal f.
func foreground(f *os.File) bool {
	fd, ok := descriptor(f)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// A watcher waits for the peer of a descriptor to go.
type watcher struct {
	wake *os.File // closing it ends the watcher
	done chan struct{}
}

// watchPeer calls gone once f has no peer any more. A pipe shows that as POLLERR
// to its writer and as POLLHUP to its reader, a socket pair as POLLHUP; none of
// them shows anything while the peer lives (recorder.md 3.3), unless it is asked
// for in events.
func watchPeer(f *os.File, events int16, gone func()) *watcher {
	fd, ok := descriptor(f)
	if !ok {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	x := &watcher{wake: w, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		defer r.Close()
		woken, ok := descriptor(r)
		if !ok {
			return
		}
		for {
			p := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(woken), Events: unix.POLLIN}}
			_, err := unix.Poll(p, -1)
			switch {
			case err == unix.EINTR:
			case err != nil || p[1].Revents != 0:
				return
			case p[0].Revents != 0:
				gone()
				return
			}
		}
	}()
	return x
}

// stop ends the watcher and waits for it: a poll that goes on would keep the
// descriptor's file open.
func (x *watcher) stop() {
	if x == nil {
		return
	}
	x.wake.Close()
	<-x.done
}
