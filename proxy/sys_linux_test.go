package proxy_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
	"golang.org/x/sys/unix"
)

func init() {
	becomeSubreaper = func() {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			panic(err)
		}
	}
}

// buffered is how many bytes lie in a pipe.
func buffered(f *os.File) int {
	n := 0
	c, err := f.SyscallConn()
	if err == nil {
		c.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	if err != nil {
		panic(err)
	}
	return n
}

// The tap has the bytes before the peer can have them (wire.md 0.1): the
// request's Data is over before the server's answer to it can be offered.
func TestOfferedBeforeWrittenOn(t *testing.T) {
	for _, from := range []record.From{record.Client, record.Server, record.Stderr} {
		t.Run(string(from), func(t *testing.T) {
			hold, held := make(chan struct{}), make(chan struct{})
			program := proxytest.Program{{ReadLine: 1}, {Write: "answer\n"}, {Stderr: &proxytest.Text{Plain: "note\n"}}, {WaitEOF: true}}
			h := start(t, patient, program.Argv(), func(_ *proxy.Stdio, h *host) {
				h.tap.OnData = func(f record.From, _ []byte) {
					if f == from {
						held <- struct{}{}
						<-hold
					}
				}
			})
			h.write("ask\n")
			<-held
			// The offer is not over: nothing of it can be in a pipe.
			switch from {
			case record.Client:
				if len(h.tap.Bytes(record.Server)) != 0 {
					t.Error("the server answered what was not offered yet")
				}
			case record.Server:
				if n := buffered(h.out); n != 0 {
					t.Errorf("%d bytes reached the host before they were offered", n)
				}
			case record.Stderr:
				if n := buffered(h.errs); n != 0 {
					t.Errorf("%d bytes reached the host before they were offered", n)
				}
			}
			close(hold)
			h.read("answer\n")
			h.in.Close()
			go func() {
				for range held {
				}
			}()
			h.wait()
			close(held)
		})
	}
}

// kill -9 on the relay: the child dies with it, even one that ignores all else.
func TestChildDiesWithUs(t *testing.T) {
	r := startProcess(t, relayOptions{Command: proxytest.Program{
		{Ignore: []string{"TERM", "HUP", "INT", "PIPE"}}, {Write: "up\n"}, {Hang: true},
	}.Argv()})
	r.read("up\n")
	r.cmd.Process.Kill()
	if code := r.wait(); code != 128+9 {
		t.Errorf("status %d", code)
	}
	r.gone()
}

// An orphan that ends is reaped at once, and the child's own status is not lost.
// The shell starts a process whose parent ends; that process tells its pid, and
// goes when the test says so.
func TestOrphansAreReaped(t *testing.T) {
	r := startProcess(t, relayOptions{Reap: true, Command: []string{"sh", "-c",
		`(sh -c 'echo $$; exec true' &) ; read x; exit 21`}})
	out := bufio.NewReader(r.out)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(line)
	// A zombie's folder in /proc is there until it is reaped.
	for end := time.Now().Add(proxytest.Guard); ; time.Sleep(time.Millisecond) {
		if _, err := exec.Command("test", "-e", "/proc/"+pid).Output(); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the orphan stays a zombie")
		}
	}
	r.in.WriteString("go\n")
	if code := r.wait(); code != 21 {
		t.Errorf("status %d", code)
	}
}

// As PID 1 a signal becomes 128 + n.
func TestAsPIDOne(t *testing.T) {
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc"}
	if err := exec.Command(unshare[0], append(unshare[1:], "true")...).Run(); err != nil {
		t.Skipf("SKIPPED: no PID namespace can be made here: %v", err)
	}
	r := startProcess(t, relayOptions{Command: []string{"sh", "-c", "ulimit -c 0; kill -QUIT $$; sleep 60"}}, func(c *exec.Cmd) {
		path, err := exec.LookPath("unshare")
		if err != nil {
			t.Fatal(err)
		}
		c.Args = append(append([]string{}, unshare...), c.Args...)
		c.Path = path
	})
	r.wait()
	if ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Exited() || ws.ExitStatus() != 128+3 {
		t.Errorf("status %v, want exit %d", ws, 128+3)
	}
}

// At a terminal the child is in our process group: it can read from the
// terminal, and a key press reaches it once.
func TestTerminal(t *testing.T) {
	host, tty := proxytest.Terminal(t)
	r := startProcess(t, relayOptions{Command: proxytest.Program{
		{On: map[string]proxytest.Program{"INT": {{Stderr: &proxytest.Text{Plain: "int "}}, {Exit: proxytest.Code(130)}}}},
		{Stderr: &proxytest.Text{Plain: "up "}}, {Write: "up\n"}, {ReadLine: 1}, {Write: "read\n"}, {Hang: true},
	}.Argv()}, func(c *exec.Cmd) {
		c.Stdin = tty
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	})
	tty.Close()
	r.read("up\n")
	if _, err := host.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	r.read("read\n")
	if _, err := host.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 130 {
		t.Errorf("status %d", code)
	}
	if got := r.errs.String(); got != "up int " {
		t.Errorf("stderr %q", got)
	}
	// Whether the relay saw the key press before the child had ended is open.
	if s := r.lines(); strings.Contains(s, "to child") || strings.Contains(s, "to group") {
		t.Errorf("story:\n%s", s)
	}
	r.gone()
}

// A pipe of the relay is as large as the system makes it.
func TestPipeSizeIsAsked(t *testing.T) {
	r, w := proxytest.Pipe(t)
	c, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 8192) })
	if n := proxy.PipeSize(r); n != 8192 {
		t.Errorf("%d bytes", n)
	}
}

// The flush comes before the signal. The child is stopped, so a signal that was
// sent to it stays pending, where the kernel shows it: none may while the tap
// flushes.
func TestFlushComesBeforeTheSignal(t *testing.T) {
	var pid int
	var duringFlush []string
	h := start(t, patient, proxytest.Program{{Write: "up\n"}, {Hang: true}}.Argv(), func(_ *proxy.Stdio, h *host) {
		h.tap.OnFlush = func() { duringFlush = statusOf(t, pid, "ShdPnd:") }
	})
	h.read("up\n")
	pid = h.tap.Records()[0].Start.PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(proxytest.Guard); !allStopped(t, pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the child does not stop")
		}
	}
	h.signals <- syscall.SIGTERM
	if !h.tap.Wait("flush") {
		t.Fatal(h.story())
	}
	syscall.Kill(pid, syscall.SIGCONT)
	if s := h.wait(); s.Signal != syscall.SIGTERM {
		t.Errorf("status %+v", s)
	}
	if len(duringFlush) != 1 {
		t.Fatalf("pending signals during the flush: %q", duringFlush)
	}
	set, err := strconv.ParseUint(duringFlush[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if set&(1<<(syscall.SIGTERM-1)) != 0 {
		t.Error("TERM was sent before the flush was over")
	}
}

// statusOf gives a member of the status of every thread of pid; members of the
// whole process are given once.
func statusOf(t *testing.T, pid int, member string) (values []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
	if err != nil || len(files) == 0 {
		t.Errorf("no threads of %d: %v", pid, err)
	}
	if member == "ShdPnd:" {
		files = files[:1]
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // a thread that has just ended
		}
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, member); ok {
				values = append(values, strings.TrimSpace(v))
			}
		}
	}
	return values
}

func allStopped(t *testing.T, pid int) bool {
	for _, v := range statusOf(t, pid, "State:") {
		if !strings.HasPrefix(v, "T") {
			return false
		}
	}
	return true
}

// The pipes of a session that had a whole one waiting get larger, those of a
// quiet one do not.
func TestPipesOfABusySessionGrow(t *testing.T) {
	for _, c := range []struct {
		name    string
		waiting int // bytes in the host's pipe before the relay starts
		want    int64
	}{{"quiet", 1000, 64 << 10}, {"busy", 64 << 10, proxy.LargePipe}} {
		t.Run(c.name, func(t *testing.T) {
			sent := strings.Repeat("x", c.waiting-1) + "\n"
			h := start(t, patient, proxytest.Program{{Echo: true}}.Argv(), func(_ *proxy.Stdio, h *host) { h.write(sent) })
			h.read(sent)
			if n := proxy.PipeSize(h.in); n != c.want {
				t.Errorf("the host's pipe has %d bytes, want %d", n, c.want)
			}
			h.in.Close()
			if s := h.wait(); s.ExitCode() != 0 {
				t.Errorf("status %+v", s)
			}
		})
	}
}
