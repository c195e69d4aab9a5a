//go:build unix

package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	proxytest.Main(map[string]func([]string) int{"relay": relayRole})
	goleak.VerifyTestMain(m)
}

// relayOptions are what a relay that is a real process is told.
type relayOptions struct {
	Waits   proxy.Waits `json:"waits"`
	Story   string      `json:"story"` // file that gets the tap's lines
	Command []string    `json:"command"`
	Reap    bool        `json:"reap"`
	Full    int         `json:"full"` // the story says "full" when more of the server's bytes were offered
}

// becomeSubreaper makes orphans ours, as they are PID 1's.
var becomeSubreaper = func() { panic("not on this system") }

// relayRole is cmd/sixlink without flags and without a recording.
func relayRole(args []string) int {
	var o relayOptions
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	signals, _ := proxy.Signals()
	tap := &proxytest.Memory{}
	if o.Story != "" {
		f, err := os.OpenFile(o.Story, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		tap.Log = f
	}
	if o.Full > 0 {
		offered := 0
		tap.OnData = func(from record.From, p []byte) {
			if from != record.Server {
				return
			}
			if offered += len(p); offered > o.Full && offered-len(p) <= o.Full {
				fmt.Fprintln(tap.Log, "full")
			}
		}
	}
	s := &proxy.Stdio{Command: o.Command, Tap: tap, Waits: o.Waits}
	if o.Reap {
		s.ReapOrphans()
		becomeSubreaper()
	}
	status, err := s.Run(context.Background(), signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sixlink:", err)
	}
	proxy.Mirror(status)
	return 2
}

// A host drives a relay that runs in this process.
type host struct {
	t       *testing.T
	in      *os.File // the server's stdin
	out     *os.File // the server's stdout
	errs    *os.File // the server's stderr
	tap     *proxytest.Memory
	signals chan os.Signal
	cancel  context.CancelFunc
	done    chan struct{}
	status  proxy.Status
	err     error
}

// quick are waits for tests of what happens at their ends: nothing has to be
// done within them, so they may be short.
var quick = proxy.Waits{
	Gone: 40 * time.Millisecond, Kill: 40 * time.Millisecond, Silence: 40 * time.Millisecond,
	Held: 40 * time.Millisecond, Signalled: 40 * time.Millisecond, Group: time.Millisecond,
	Repeat: time.Nanosecond, Stall: time.Hour,
}

// gone is quick for a server that obeys: KILL does not overtake it on a busy
// machine.
var gone = func() proxy.Waits { w := quick; w.Kill = time.Hour; return w }()

// patient are waits that no test reaches: what must happen without them.
var patient = proxy.Waits{
	Flush: time.Hour, Gone: time.Hour, Kill: time.Hour, Silence: time.Hour, Held: time.Hour,
	Signalled: time.Hour, Group: time.Hour, Repeat: time.Nanosecond, Stall: time.Hour,
}

// start runs a relay between pipes.
func start(t *testing.T, w proxy.Waits, argv []string, options ...func(*proxy.Stdio, *host)) *host {
	t.Helper()
	h := &host{t: t, tap: &proxytest.Memory{}, signals: make(chan os.Signal), done: make(chan struct{})}
	s := &proxy.Stdio{Command: argv, Tap: h.tap, Waits: w}
	s.Stdin, h.in = proxytest.Pipe(t)
	h.out, s.Stdout = proxytest.Pipe(t)
	h.errs, s.Stderr = proxytest.Pipe(t)
	for _, o := range options {
		o(s, h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	t.Cleanup(cancel)
	go func() {
		defer close(h.done)
		h.status, h.err = s.Run(ctx, h.signals)
		s.Stdout.Close()
		s.Stderr.Close()
	}()
	return h
}

func (h *host) write(s string) {
	h.t.Helper()
	h.in.SetWriteDeadline(time.Now().Add(proxytest.Guard))
	if _, err := io.WriteString(h.in, s); err != nil {
		h.t.Fatalf("host: write to server: %v", err)
	}
}

// read takes exactly what is expected next from the server.
func (h *host) read(want string) {
	h.t.Helper()
	h.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	b := make([]byte, len(want))
	n, err := io.ReadFull(h.out, b)
	if err != nil || string(b) != want {
		h.t.Fatalf("host: read %q, %v; want %q\n%s", b[:n], err, want, h.story())
	}
}

// rest is everything to the end of a stream.
func (h *host) rest(f *os.File) []byte {
	h.t.Helper()
	f.SetReadDeadline(time.Now().Add(proxytest.Guard))
	b, err := io.ReadAll(f)
	if err != nil {
		h.t.Fatalf("host: read: %v\n%s", err, h.story())
	}
	return b
}

func (h *host) wait() proxy.Status {
	h.t.Helper()
	select {
	case <-h.done:
	case <-time.After(proxytest.Guard):
		h.t.Fatalf("the relay does not end\n%s", h.story())
	}
	if h.err != nil {
		h.t.Fatalf("relay: %v", h.err)
	}
	return h.status
}

func (h *host) story() string { return strings.Join(h.tap.Story(), "\n") }

// events is the story without data, which may come in any number of reads.
func (h *host) events() []string {
	var out []string
	for _, l := range h.tap.Story() {
		if !strings.HasSuffix(l, " data") {
			out = append(out, l)
		}
	}
	return out
}

func (h *host) has(line string) bool {
	for _, l := range h.tap.Story() {
		if l == line {
			return true
		}
	}
	return false
}

// mustHave checks that the lines are in the story, in this order.
func (h *host) mustHave(lines ...string) {
	h.t.Helper()
	story := h.tap.Story()
	at := 0
	for _, want := range lines {
		for at < len(story) && story[at] != want {
			at++
		}
		if at == len(story) {
			h.t.Errorf("story has no %q (in this place):\n%s", want, h.story())
			return
		}
		at++
	}
}

// A realRelay is a relay as a process of its own.
type realRelay struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    *os.File
	out   *os.File
	errs  *bytes.Buffer
	life  *proxytest.Lifeline
	story string
}

// startProcess runs the relay as a process. Processes behind it hold the
// lifeline.
func startProcess(t *testing.T, o relayOptions, prepare ...func(*exec.Cmd)) *realRelay {
	t.Helper()
	r := &realRelay{t: t, errs: &bytes.Buffer{}, life: proxytest.NewLifeline(t)}
	r.story = filepath.Join(t.TempDir(), "story")
	if err := os.WriteFile(r.story, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Story = r.story
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	argv := proxytest.Argv("relay", string(b))
	r.cmd = exec.Command(argv[0], argv[1:]...)
	var theirIn, theirOut *os.File
	theirIn, r.in = proxytest.Pipe(t)
	r.out, theirOut = proxytest.Pipe(t)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = theirIn, theirOut, r.errs
	r.cmd.ExtraFiles = []*os.File{r.life.Held}
	r.cmd.WaitDelay = proxytest.Guard
	for _, p := range prepare {
		p(r.cmd)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	t.Cleanup(func() { r.cmd.Process.Kill() })
	return r
}

func (r *realRelay) read(want string) {
	r.t.Helper()
	r.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	b := make([]byte, len(want))
	n, err := io.ReadFull(r.out, b)
	if err != nil || string(b) != want {
		r.t.Fatalf("host: read %q, %v; want %q; stderr %s", b[:n], err, want, r.errs)
	}
}

func (r *realRelay) rest() string {
	r.t.Helper()
	r.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	b, err := io.ReadAll(r.out)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// wait gives the status as a shell shows it.
func (r *realRelay) wait() int {
	r.t.Helper()
	guard := time.AfterFunc(proxytest.Guard, func() { r.cmd.Process.Kill() })
	r.cmd.Wait()
	if !guard.Stop() {
		r.t.Fatalf("the relay does not end: %s", r.lines())
	}
	ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

func (r *realRelay) lines() string {
	b, err := os.ReadFile(r.story)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *realRelay) gone() {
	r.t.Helper()
	if !r.life.Gone() {
		r.t.Fatal("a process was left behind")
	}
}
