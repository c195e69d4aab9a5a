//go:build unix

package proxy

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Who gets a signal: the words of record.Close.To.
const (
	toNobody = ""
	toChild  = "child"
	toGroup  = "group"
)

// forwarded are the signals that a server would have got in our place and that
// we can catch. Those that stop and continue keep their defaults.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH,
}

// dropped are the signals whose default would end the traffic for a reason of
// our own: nobody reads our stdout, a recording met RLIMIT_FSIZE, we used our
// processor time. They are caught, not ignored: an ignored one would be ignored
// in the child as well (wire.md 1.2).
var dropped = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ, syscall.SIGXCPU}

// Signals catches the signals that [Stdio.Run] handles. A program calls it as
// early as it can, and stop when it has closed its recording and is about to
// call [Mirror].
func Signals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	for _, s := range forwarded {
		if !signal.Ignored(s) { // nohup
			signal.Notify(c, s)
		}
	}
	// Nobody receives from it: a signal that finds it full is dropped, which
	// is the point.
	d := make(chan os.Signal, 1)
	signal.Notify(d, dropped...)
	return c, func() {
		signal.Stop(c)
		signal.Stop(d)
	}
}

// endsServer tells the signals that are meant to end a server.
func endsServer(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM:
		return true
	}
	return false
}

// A signalPolicy decides who gets a signal. It is fed every signal once.
type signalPolicy struct {
	// shared says that the child is in our process group, because our stdin is
	// a terminal.
	shared bool
	repeat time.Duration

	endings int
	last    syscall.Signal
	lastAt  time.Time
}

func (p *signalPolicy) ownGroup() bool { return !p.shared }

// decide says who gets sig, which came at now. foreground: our process group has
// the terminal, so that a key press reached the child as well. exited: the
// child has ended, but streams of it are open.
func (p *signalPolicy) decide(sig syscall.Signal, now time.Time, foreground, exited bool) (to string) {
	if !endsServer(sig) {
		if exited {
			return toNobody
		}
		return toChild
	}
	if p.last == sig && now.Sub(p.lastAt) < p.repeat {
		return toNobody
	}
	p.last, p.lastAt = sig, now
	p.endings++
	switch {
	case p.shared && exited:
		return toNobody
	case p.shared:
		if p.endings == 1 && foreground && (sig == syscall.SIGINT || sig == syscall.SIGQUIT) {
			return toNobody
		}
		return toChild
	case p.endings > 1 || exited:
		return toGroup
	default:
		// Not to the group at first: launchers forward what they get, so their
		// server would get it twice (recorder.md 3.2).
		return toChild
	}
}

// signalName is a signal's name without SIG; signals that have none are numbers.
func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return strings.TrimPrefix(n, "SIG")
	}
	return strconv.Itoa(int(s))
}
