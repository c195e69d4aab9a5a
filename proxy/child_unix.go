//go:build unix

package proxy

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A child is the server's process with our ends of its streams.
type child struct {
	proc                  *os.Process
	stdin, stdout, stderr *os.File
	// exited is closed when the process has ended. It is a zombie from then
	// until wait (Linux), so that its pid and its group stay its own.
	exited chan struct{}
	reap   chan struct{}
	result chan *os.ProcessState
	err    error // of Wait, set before result is sent
}

// startChild starts the command of s with three pipes. Its thread lives as long
// as the child: the kernel sends the child its parent-death signal when the
// thread that forked it ends (wire.md 1.2).
func startChild(s *Stdio, ownGroup bool) (*child, error) {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return nil, &StartError{Code: codeNotFound, Err: errors.New("no command given")}
	}
	c := &child{exited: make(chan struct{}), reap: make(chan struct{}), result: make(chan *os.ProcessState, 1)}
	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			if f != nil {
				f.Close()
			}
		}
	}()
	var err error
	if theirs[0], c.stdin, err = os.Pipe(); err == nil {
		if c.stdout, theirs[1], err = os.Pipe(); err == nil {
			c.stderr, theirs[2], err = os.Pipe()
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		c.proc, err = spawn(s, &os.ProcAttr{Dir: s.Dir, Env: s.Env, Files: theirs[:], Sys: childAttr(ownGroup)})
		started <- err
		if err != nil {
			return
		}
		waitExit(c.proc.Pid)
		if !canWaitTwice {
			c.finish()
			close(c.exited)
			return
		}
		close(c.exited)
		<-c.reap
		c.finish()
	}()
	if err := <-started; err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *child) finish() {
	st, err := c.proc.Wait()
	c.err = err
	c.result <- st
}

// wait reaps the ended child.
func (c *child) wait() (Status, error) {
	close(c.reap)
	st := <-c.result
	if st == nil {
		return Status{Code: codeNotExecutable}, c.err
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Status{Signal: ws.Signal()}, nil
	}
	return Status{Code: st.ExitCode()}, nil
}

// signal sends sig; a process that has ended is no error.
func (c *child) signal(sig syscall.Signal, to string) {
	switch to {
	case toChild:
		c.proc.Signal(sig)
	case toGroup:
		unix.Kill(-c.proc.Pid, sig)
	}
}

func (c *child) close() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// spawn starts the command as execvp does (and Node with it): the first file
// that can be executed, and a file without a known format by /bin/sh.
func spawn(s *Stdio, attr *os.ProcAttr) (*os.Process, error) {
	name := s.Command[0]
	var denied error
	for _, path := range candidates(name, s.Env) {
		p, err := os.StartProcess(path, s.Command, attr)
		if errors.Is(err, syscall.ENOEXEC) {
			p, err = os.StartProcess("/bin/sh", append([]string{"/bin/sh", path}, s.Command[1:]...), attr)
		}
		switch {
		case err == nil:
			return p, nil
		case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR):
			if exists(s.Dir, path) && denied == nil {
				denied = errors.New("its interpreter does not exist")
			}
		case errors.Is(err, syscall.EACCES):
			if strings.Contains(name, "/") || exists(s.Dir, path) {
				denied = err
			}
		default:
			return nil, &StartError{Name: name, Code: codeNotExecutable, Err: err}
		}
	}
	if denied != nil {
		return nil, &StartError{Name: name, Code: codeNotExecutable, Err: denied}
	}
	err := errors.New("no such file")
	if !strings.Contains(name, "/") {
		err = errors.New("not in PATH")
	}
	return nil, &StartError{Name: name, Code: codeNotFound, Err: err}
}

// candidates lists where a command may be: name itself if it has a slash, else
// in each folder of the PATH that the child gets.
func candidates(name string, env []string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	path, set := "", false
	if env == nil {
		path, set = os.LookupEnv("PATH")
	}
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok && !set {
			path, set = p, true
		}
	}
	if !set {
		path = "/bin:/usr/bin"
	}
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		out = append(out, dir+"/"+name)
	}
	return out
}

func exists(dir, path string) bool {
	if dir != "" && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	_, err := os.Stat(path)
	return err == nil
}
