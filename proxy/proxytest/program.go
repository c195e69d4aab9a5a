//go:build unix

package proxytest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Program is what a scripted process does, step by step. At its end the
// process exits with 0. Its JSON form is that of the cases' script.json.
type Program []Step

// A Step is one thing that a program does; exactly one of its fields is set,
// save for Cuts and OneByOne, which say how Write, Out and WriteFile are written.
type Step struct {
	Write     string `json:"write,omitempty"`      // to stdout
	Out       *Text  `json:"out,omitempty"`        // to stdout, for long texts
	WriteFile string `json:"write_file,omitempty"` // a file's bytes, to stdout
	// Cuts are offsets before which a new write starts. OneByOne writes every
	// byte alone.
	Cuts     []int `json:"cuts,omitempty"`
	OneByOne bool  `json:"one_by_one,omitempty"`

	Stderr *Text `json:"stderr,omitempty"` // to stderr

	ReadLine  int    `json:"read_line,omitempty"`  // lines from stdin
	WaitEOF   bool   `json:"wait_eof,omitempty"`   // reads stdin to its end
	SaveStdin string `json:"save_stdin,omitempty"` // reads stdin to its end, into a file
	Echo      bool   `json:"echo,omitempty"`       // copies stdin to stdout until its end

	Close string `json:"close,omitempty"` // stdin, stdout or stderr
	// Fill writes to stdout until that fails, and then goes on.
	Fill bool `json:"fill,omitempty"`

	// On installs handlers: signal name without SIG -> what is done at each.
	On     map[string]Program `json:"on,omitempty"`
	Ignore []string           `json:"ignore,omitempty"` // signal names
	// Note appends a line to a file.
	Note *Note `json:"note,omitempty"`

	// Pid writes our process id and a newline to stdout.
	Pid bool `json:"pid,omitempty"`

	// Start runs another program as a child with our standard streams.
	Start Program `json:"start,omitempty"`
	// Await waits for those children.
	Await bool `json:"await,omitempty"`

	Exit     *int   `json:"exit,omitempty"`
	KillSelf string `json:"kill_self,omitempty"` // TERM, KILL, HUP, INT
	Hang     bool   `json:"hang,omitempty"`      // until a handler exits, or 4 [Guard]
}

// A Note is a line for a file.
type Note struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Text is bytes to write: a plain string, or one text Count times and then
// Then, all of it Times times.
type Text struct {
	Plain  string `json:"-"`
	Repeat string `json:"repeat"`
	Count  int    `json:"count"`
	Then   string `json:"then,omitempty"`
	Times  int    `json:"times,omitempty"`
}

// UnmarshalJSON takes a string or an object.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.Plain)
	}
	type plain Text
	return json.Unmarshal(b, (*plain)(t))
}

// MarshalJSON is the inverse of UnmarshalJSON.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.Plain != "" {
		return json.Marshal(t.Plain)
	}
	type plain Text
	return json.Marshal(plain(t))
}

// Bytes is what is written.
func (t Text) Bytes() []byte {
	if t.Plain != "" {
		return []byte(t.Plain)
	}
	one := strings.Repeat(t.Repeat, t.Count) + t.Then
	return []byte(strings.Repeat(one, max(t.Times, 1)))
}

// Code is an exit code for Step.Exit.
func Code(n int) *int { return &n }

// Argv is the command that runs the program.
func (p Program) Argv() []string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return Argv("program", string(b))
}

func programRole(args []string) int {
	var p Program
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		fmt.Fprintln(os.Stderr, "proxytest: program:", err)
		return 2
	}
	// A test that fails, or whose relay does, leaves us behind: not for long.
	time.AfterFunc(4*Guard, func() { os.Exit(99) })
	r := &process{in: bufio.NewReaderSize(os.Stdin, 64<<10)}
	// Its own broken pipes are part of the script.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := r.run(p); err != nil {
		fmt.Fprintln(os.Stderr, "proxytest: program:", err)
		return 2
	}
	return 0
}

type process struct {
	in       *bufio.Reader
	children []*exec.Cmd

	// One goroutine runs all handlers, in the order in which signals came.
	caught   chan os.Signal
	mu       sync.Mutex
	handlers map[os.Signal]Program
}

func (r *process) run(p Program) error {
	for i, s := range p {
		if err := s.run(r); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (s Step) run(r *process) error {
	switch {
	case s.Write != "":
		return s.write([]byte(s.Write))
	case s.Out != nil:
		return s.write(s.Out.Bytes())
	case s.WriteFile != "":
		b, err := os.ReadFile(s.WriteFile)
		if err != nil {
			return err
		}
		return s.write(b)
	case s.Stderr != nil:
		_, err := os.Stderr.Write(s.Stderr.Bytes())
		return err
	case s.ReadLine > 0:
		for range s.ReadLine {
			if _, err := r.in.ReadBytes('\n'); err != nil {
				return err
			}
		}
	case s.WaitEOF:
		_, err := io.Copy(io.Discard, r.in)
		return err
	case s.SaveStdin != "":
		b, err := io.ReadAll(r.in)
		if err != nil {
			return err
		}
		return os.WriteFile(s.SaveStdin, b, 0o600)
	case s.Echo:
		_, err := io.Copy(os.Stdout, r.in)
		return err
	case s.Close != "":
		f, ok := map[string]*os.File{"stdin": os.Stdin, "stdout": os.Stdout, "stderr": os.Stderr}[s.Close]
		if !ok {
			return fmt.Errorf("close: no stream %q", s.Close)
		}
		return f.Close()
	case s.Fill:
		b := bytes.Repeat([]byte("f"), 64<<10)
		for {
			if _, err := os.Stdout.Write(b); err != nil {
				return nil
			}
		}
	case s.On != nil:
		return s.handle(r)
	case s.Ignore != nil:
		for _, name := range s.Ignore {
			sig, err := SignalNumber(name)
			if err != nil {
				return err
			}
			signal.Ignore(sig)
		}
	case s.Note != nil:
		f, err := os.OpenFile(s.Note.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, s.Note.Text)
		return errors.Join(err, f.Close())
	case s.Pid:
		return s.write([]byte(strconv.Itoa(os.Getpid()) + "\n"))
	case s.Start != nil:
		a := s.Start.Argv()
		c := exec.Command(a[0], a[1:]...)
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		for _, fd := range inherited() {
			c.ExtraFiles = append(c.ExtraFiles, os.NewFile(uintptr(fd), "inherited"))
		}
		r.children = append(r.children, c)
		return c.Start()
	case s.Await:
		for _, c := range r.children {
			c.Wait()
		}
	case s.Exit != nil:
		os.Exit(*s.Exit)
	case s.KillSelf != "":
		sig, err := SignalNumber(s.KillSelf)
		if err != nil {
			return err
		}
		signal.Reset(sig)
		syscall.Kill(os.Getpid(), sig)
		select {}
	case s.Hang:
		// A channel that a signal could still reach, so that Go does not call
		// it a deadlock.
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGURG)
		for range c {
		}
	}
	return nil
}

func (s Step) write(b []byte) error {
	if s.OneByOne {
		return OneByOne(os.Stdout, b)
	}
	return Slice(os.Stdout, b, s.Cuts...)
}

func (s Step) handle(r *process) error {
	if r.caught == nil {
		r.caught = make(chan os.Signal, 16)
		r.handlers = map[os.Signal]Program{}
		go func() {
			for sig := range r.caught {
				r.mu.Lock()
				p := r.handlers[sig]
				r.mu.Unlock()
				if err := r.run(p); err != nil {
					fmt.Fprintln(os.Stderr, "proxytest: handler:", err)
					os.Exit(2)
				}
			}
		}()
	}
	for name, p := range s.On {
		sig, err := SignalNumber(name)
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.handlers[sig] = p
		r.mu.Unlock()
		signal.Notify(r.caught, sig)
	}
	return nil
}

// inherited lists the descriptors from 3 on that we got from our parent without
// close-on-exec, as long as there is no hole: a [Lifeline] is one.
func inherited() []int {
	var fds []int
	for fd := 3; ; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			return fds
		}
		fds = append(fds, fd)
	}
}

// SignalNumber is the signal of a name without SIG.
func SignalNumber(name string) (syscall.Signal, error) {
	if s := unix.SignalNum("SIG" + name); s != 0 {
		return s, nil
	}
	return 0, fmt.Errorf("no signal %q", name)
}
