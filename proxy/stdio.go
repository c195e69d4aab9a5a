package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/sixlink/sixlink/record"
)

// Stdio is one relay between a host on our standard streams and a server that
// it starts as its child.
type Stdio struct {
	// Command is the server's argv, passed on untouched. Command[0] is looked
	// up in PATH as execvp does.
	Command []string
	// Env and Dir of the server; nil and "" mean ours, untouched.
	Env []string
	Dir string

	// Stdin, Stdout and Stderr are the host's ends; nil means the process's
	// own. They are the relay's from the call of Run on: it closes Stdin and
	// Stdout when the server closes its own.
	Stdin, Stdout, Stderr *os.File

	// Tap gets the copies. Nil records nothing.
	Tap Tap
	// Waits has the times of the relay; zero ones have their defaults.
	Waits Waits
	// Note, if set, gets one-line notes. It must not block.
	Note func(string)

	// reapOrphans is for a process that orphans are handed to. PID 1 always
	// reaps them.
	reapOrphans bool
}

// Waits are the times of a relay. A field that is 0 has its default.
type Waits struct {
	// Flush is how long a signal is held back for the recording's flush at
	// most. Default 50 ms: Claude Code's next signal may come 100 ms after its
	// first.
	Flush time.Duration
	// Gone is how long the child may live after the host is gone (stdin at its
	// end and stdout broken), then it gets TERM. Default 3 s; never put less than
	// 2 s before a real server.
	Gone time.Duration
	// Kill is the time from TERM to KILL for the process group, when the host
	// is gone or sixlink ends. Default 5 s.
	Kill time.Duration
	// Silence is how long a grandchild that holds the ended server's stdout or
	// stderr may be silent. Default 2 s.
	Silence time.Duration
	// Held is how long such a grandchild is listened to in all. Default 10 s.
	Held time.Duration
	// Signalled takes the place of Silence, and limits the wait for a host that
	// does not read, when a signal ended the server. Default 500 ms.
	Signalled time.Duration
	// Group is how long after the signalled child's end the process group gets
	// the same signal if somebody in it still holds a stream. Default 100 ms.
	Group time.Duration
	// Repeat is how soon the same signal again counts as the same key press.
	// Default 250 ms.
	Repeat time.Duration
	// Stall is how long a write may take before it is recorded as blocked.
	// Default 100 ms (recorder.md 2.8).
	Stall time.Duration
}

func (w Waits) withDefaults() Waits {
	return Waits{
		Flush:     cmp.Or(w.Flush, 50*time.Millisecond),
		Gone:      cmp.Or(w.Gone, 3*time.Second),
		Kill:      cmp.Or(w.Kill, 5*time.Second),
		Silence:   cmp.Or(w.Silence, 2*time.Second),
		Held:      cmp.Or(w.Held, 10*time.Second),
		Signalled: cmp.Or(w.Signalled, 500*time.Millisecond),
		Group:     cmp.Or(w.Group, 100*time.Millisecond),
		Repeat:    cmp.Or(w.Repeat, 250*time.Millisecond),
		Stall:     cmp.Or(w.Stall, 100*time.Millisecond),
	}
}

// Status is how the server ended.
type Status struct {
	// Code is the exit code, when Signal is 0. It is 127 or 126 for a server
	// that could not be started.
	Code int
	// Signal is what killed the server, or 0.
	Signal syscall.Signal
	// Asked is the last signal that asked the server to end, the host's or, when
	// the host was gone, ours; 0 if it ended by itself. Whoever sends one may send
	// KILL soon: there is no time for long work then.
	Asked syscall.Signal
	// Held lists the streams that a grandchild still held when the relay left.
	Held []string
}

// ExitCode is the status as a shell shows it: a signal n is 128 + n.
func (s Status) ExitCode() int {
	if s.Signal != 0 {
		return 128 + int(s.Signal)
	}
	return s.Code
}

// StartError says why the server could not be started.
type StartError struct {
	Name string // Command[0]
	Code int    // 127 not found, 126 not executable
	Err  error
}

func (e *StartError) Error() string {
	if e.Code == codeNotFound {
		return fmt.Sprintf("command not found: %q: %s", e.Name, reason(e.Err))
	}
	return fmt.Sprintf("command not executable: %q: %s", e.Name, reason(e.Err))
}

func (e *StartError) Unwrap() error { return e.Err }

// The exit codes of a server that did not start, as shells have them.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// Run starts the server and relays until it has ended. Signals are handled as
// the package comment says; they come from [Signals], and nil means none. When
// ctx ends, the server gets TERM and after Waits.Kill its group gets KILL.
//
// The error is a [*StartError] when the server could not be started; the status
// has its code then. Run makes no call to the tap after it returned; one Data
// that never came back may still be in the tap.
func (s *Stdio) Run(ctx context.Context, signals <-chan os.Signal) (Status, error) {
	r := &relay{
		waits:  s.Waits.withDefaults(),
		tap:    newGuard(s.Tap, s.Note),
		stdin:  cmp.Or(s.Stdin, os.Stdin),
		stdout: cmp.Or(s.Stdout, os.Stdout),
		stderr: cmp.Or(s.Stderr, os.Stderr),
		broke:  make(chan struct{}, 1),
		hungUp: make(chan struct{}, 1),
	}
	defer r.tap.Silence()
	if err := r.start(s); err != nil {
		var e *StartError
		if !errors.As(err, &e) {
			e = &StartError{Name: s.name(), Code: codeNotExecutable, Err: err}
		}
		r.tap.Event(record.Record{Kind: record.KindError,
			Error: &record.Error{What: "spawn", Error: e.Error(), Code: e.Code}})
		return Status{Code: e.Code}, e
	}
	if s.reapOrphans || os.Getpid() == 1 {
		stop := reapOrphans(r.child.proc.Pid)
		defer stop()
	}
	r.startPumps()
	r.loop(ctx, signals)
	return r.finish()
}

func (s *Stdio) name() string {
	if len(s.Command) == 0 {
		return ""
	}
	return s.Command[0]
}
