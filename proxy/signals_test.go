//go:build unix

package proxy_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

func TestWhoGetsASignal(t *testing.T) {
	const (
		intr, quit, term, hup = syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP
		usr1                  = syscall.SIGUSR1
	)
	for _, c := range []struct {
		name   string
		shared bool
		steps  []proxy.SignalStep
		to     []string
	}{
		{"first to the child", false, []proxy.SignalStep{{Sig: intr}}, []string{"child"}},
		{"second of the same, later, to the group", false,
			[]proxy.SignalStep{{Sig: intr}, {Sig: intr, At: time.Second}}, []string{"child", "group"}},
		{"another kind escalates at once", false,
			[]proxy.SignalStep{{Sig: intr}, {Sig: term, At: time.Millisecond}}, []string{"child", "group"}},
		{"a launcher forwards the key press again", false,
			[]proxy.SignalStep{{Sig: intr}, {Sig: intr, At: 5 * time.Millisecond}, {Sig: intr, At: time.Second}}, []string{"child", "", "group"}},
		{"user signals escalate nothing", false,
			[]proxy.SignalStep{{Sig: usr1}, {Sig: usr1}, {Sig: term}}, []string{"child", "child", "child"}},
		{"child has ended, streams are held", false,
			[]proxy.SignalStep{{Sig: term, Exited: true}, {Sig: usr1, Exited: true}}, []string{"group", ""}},
		{"key press at a terminal reached the child already", true,
			[]proxy.SignalStep{{Sig: intr, Foreground: true}, {Sig: intr, At: time.Second, Foreground: true}}, []string{"", "child"}},
		{"quit key", true, []proxy.SignalStep{{Sig: quit, Foreground: true}}, []string{""}},
		{"no key press sends term or hup", true,
			[]proxy.SignalStep{{Sig: term, Foreground: true}, {Sig: hup, Foreground: true}}, []string{"child", "child"}},
		{"int for a background job", true, []proxy.SignalStep{{Sig: intr}}, []string{"child"}},
		{"never to a shared group", true,
			[]proxy.SignalStep{{Sig: term}, {Sig: intr}, {Sig: hup, Exited: true}}, []string{"child", "child", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if to := proxy.DecideSignals(c.shared, c.steps); !reflect.DeepEqual(to, c.to) {
				t.Errorf("to %q, want %q", to, c.to)
			}
		})
	}
}

// noting is a handler that notes its signal and then does more.
func noting(file, sig string, more ...proxytest.Step) proxytest.Program {
	return append(proxytest.Program{{Note: &proxytest.Note{File: file, Text: sig}}}, more...)
}

func notes(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

// Case 30.
func TestChildIgnoresEOF(t *testing.T) {
	want := asserts(t, "30-child-ignores-eof")
	signals := want["proxy.signals_to_child"].(map[string]any)
	exits := want["proxy.exit"].(map[string]any)
	waits := quick
	waits.Repeat = 0 // the default
	waits.Group = 0
	const last = `{"jsonrpc":"2.0","id":9,"result":{}}` + "\n"

	check := func(t *testing.T, name string, r *realRelay, code int, file string) {
		t.Helper()
		if w, ok := exits[name]; ok && float64(code) != w {
			t.Errorf("status %d, want %v", code, w)
		}
		r.gone()
		if w, ok := signals[name]; ok {
			got := notes(t, file)
			if !reflect.DeepEqual(mustJSON(t, got), mustJSON(t, w)) {
				t.Errorf("signals %v, want %v", got, w)
			}
		}
		if lines := strings.Split(strings.TrimSpace(r.lines()), "\n"); !strings.HasPrefix(lines[len(lines)-1], "exit ") {
			t.Errorf("no end record:\n%s", r.lines())
		}
	}

	t.Run("host-gone", func(t *testing.T) {
		waits := waits
		waits.Kill = time.Hour // it must not be needed
		file := filepath.Join(t.TempDir(), "signals")
		r := startProcess(t, relayOptions{Waits: waits, Command: proxytest.Program{
			{On: map[string]proxytest.Program{"TERM": noting(file, "TERM", proxytest.Step{Exit: proxytest.Code(0)})}},
			{Write: hello}, {Hang: true},
		}.Argv()})
		r.read(hello)
		r.in.Close()
		r.out.Close()
		code := r.wait()
		check(t, "host-gone", r, code, file)
	})
	t.Run("host-gone-stubborn", func(t *testing.T) {
		r := startProcess(t, relayOptions{Waits: waits, Command: proxytest.Program{
			{Ignore: []string{"TERM"}}, {Write: hello}, {Hang: true},
		}.Argv()})
		r.read(hello)
		r.in.Close()
		r.out.Close()
		code := r.wait()
		// The child cannot note what it ignores: the records say what was sent, and
		// the status that the last one arrived.
		file := filepath.Join(t.TempDir(), "signals")
		var sent []string
		for _, l := range strings.Split(r.lines(), "\n") {
			if name, ok := strings.CutPrefix(l, "close proxy signal "); ok {
				sent = append(sent, strings.Fields(name)[0])
			}
		}
		if err := os.WriteFile(file, []byte(strings.Join(sent, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(r.lines(), "exit KILL\n") || code != 128+9 {
			t.Errorf("status %d, story:\n%s", code, r.lines())
		}
		check(t, "host-gone-stubborn", r, code, file)
	})
	t.Run("term-to-proxy", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "signals")
		r := startProcess(t, relayOptions{Command: proxytest.Program{
			{On: map[string]proxytest.Program{"TERM": noting(file, "TERM", proxytest.Step{Write: last}, proxytest.Step{Exit: proxytest.Code(0)})}},
			{Write: hello}, {Hang: true},
		}.Argv()})
		r.read(hello)
		r.cmd.Process.Signal(syscall.SIGTERM)
		out := r.rest()
		code := r.wait()
		if out != last {
			t.Errorf("last reply %q", out)
		}
		check(t, "term-to-proxy", r, code, file)
		story := r.lines()
		signal := strings.Index(story, "close client signal TERM to child\nflush\n")
		if signal < 0 || strings.LastIndex(story, "server data\n") < signal {
			t.Errorf("story:\n%s", story)
		}
	})
	t.Run("int-to-group", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "signals")
		r := startProcess(t, relayOptions{Command: proxytest.Program{
			{On: map[string]proxytest.Program{"INT": noting(file, "INT", proxytest.Step{Write: last}, proxytest.Step{Exit: proxytest.Code(130)})}},
			{Write: hello}, {Hang: true},
		}.Argv()}, func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} })
		r.read(hello)
		syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT)
		r.rest()
		code := r.wait()
		check(t, "int-to-group", r, code, file)
		if got := notes(t, file); len(got) != 1 {
			t.Errorf("signals %v, want one INT", got)
		}
	})
	t.Run("int to both by their pids", func(t *testing.T) {
		r := startProcess(t, relayOptions{Command: proxytest.Program{
			{On: map[string]proxytest.Program{"INT": {{Write: last}, {Exit: proxytest.Code(130)}}}},
			{Pid: true}, {Hang: true},
		}.Argv()})
		line, err := bufio.NewReaderSize(r.out, 16).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		r.cmd.Process.Signal(syscall.SIGINT)
		syscall.Kill(pid, syscall.SIGINT)
		if out := r.rest(); out != last {
			t.Errorf("last reply %q", out)
		}
		check(t, "int-to-group", r, r.wait(), "")
	})
	t.Run("launcher", func(t *testing.T) {
		server := proxytest.Program{{Write: hello}, {Hang: true}}.Argv()
		r := startProcess(t, relayOptions{Waits: waits,
			Command: append([]string{"sh", "-c", `"$@" <&0 & wait`, "sh"}, server...)})
		r.read(hello)
		r.in.Close()
		r.out.Close()
		code := r.wait()
		check(t, "launcher", r, code, "")
	})
	t.Run("launcher, stubborn server", func(t *testing.T) {
		server := proxytest.Program{{Ignore: []string{"TERM"}}, {Write: hello}, {Hang: true}}.Argv()
		r := startProcess(t, relayOptions{Waits: waits,
			Command: append([]string{"sh", "-c", `"$@" <&0 & wait`, "sh"}, server...)})
		r.read(hello)
		r.in.Close()
		r.out.Close()
		r.wait()
		r.gone()
	})
	t.Run("launcher, term to proxy", func(t *testing.T) {
		server := proxytest.Program{{Write: hello}, {Hang: true}}.Argv()
		r := startProcess(t, relayOptions{Waits: waits,
			Command: append([]string{"sh", "-c", `"$@" <&0 & wait`, "sh"}, server...)})
		r.read(hello)
		r.cmd.Process.Signal(syscall.SIGTERM)
		if code := r.wait(); code != 128+15 {
			t.Errorf("status %d", code)
		}
		r.gone()
	})
}

func TestEscalationReachesTheGroup(t *testing.T) {
	r := startProcess(t, relayOptions{Command: proxytest.Program{
		{Ignore: []string{"INT"}},
		{Start: proxytest.Program{
			{On: map[string]proxytest.Program{
				"INT":  {{Write: "grandchild got the first\n"}},
				"TERM": {{Write: "grandchild\n"}, {Exit: proxytest.Code(0)}}}},
			{Write: "up\n"}, {Hang: true}}},
		{On: map[string]proxytest.Program{"TERM": {{Await: true}, {Exit: proxytest.Code(9)}}}},
		{Write: "up\n"}, {Hang: true},
	}.Argv()})
	r.read("up\nup\n")
	r.cmd.Process.Signal(syscall.SIGINT)
	waitForLine(t, r, "flush")
	r.cmd.Process.Signal(syscall.SIGTERM)
	if out := r.rest(); out != "grandchild\n" {
		t.Errorf("got %q", out)
	}
	if code := r.wait(); code != 9 {
		t.Errorf("status %d", code)
	}
	if s := r.lines(); !strings.Contains(s, "signal INT to child") || !strings.Contains(s, "signal TERM to group") {
		t.Errorf("story:\n%s", s)
	}
	r.gone()
}

// waitForLine polls the story of a real relay: there is no other way to know
// that a signal was handled that changes nothing else.
func waitForLine(t *testing.T, r *realRelay, line string) {
	t.Helper()
	for end := time.Now().Add(proxytest.Guard); !strings.Contains(r.lines(), line+"\n"); {
		if time.Now().After(end) {
			t.Fatalf("no %q in:\n%s", line, r.lines())
		}
		time.Sleep(time.Millisecond)
	}
}

// nohup: an ignored HUP stays ignored, and is not passed on.
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "signals")
	r := startProcess(t, relayOptions{Command: proxytest.Program{
		{On: map[string]proxytest.Program{
			"HUP": noting(file, "HUP"),
			"INT": noting(file, "INT", proxytest.Step{Exit: proxytest.Code(0)})}},
		{Write: "up\n"}, {Hang: true},
	}.Argv()}, func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, c.Args...)
		c.Path = "/bin/sh"
	})
	r.read("up\n")
	r.cmd.Process.Signal(syscall.SIGHUP)
	r.cmd.Process.Signal(syscall.SIGINT)
	if code := r.wait(); code != 0 {
		t.Errorf("status %d: %s", code, r.errs)
	}
	if got := notes(t, file); !reflect.DeepEqual(got, []string{"INT"}) {
		t.Errorf("the child got %v", got)
	}
}

// SIGPIPE neither kills us nor is it ignored in the child.
func TestBrokenPipeOfOurOwn(t *testing.T) {
	r := startProcess(t, relayOptions{Command: []string{"sh", "-c", `echo one; read x; echo two; read x; kill -PIPE $$; exit 3`}})
	r.read("one\n")
	r.out.Close()
	r.in.WriteString("a\n")
	waitForLine(t, r, "close client stdout: broken pipe")
	r.in.WriteString("b\n")
	if code := r.wait(); code != 128+int(syscall.SIGPIPE) {
		t.Errorf("status %d: the child's SIGPIPE is not at its default", code)
	}
}

func TestContextEndsTheServer(t *testing.T) {
	h := start(t, quick, proxytest.Program{{Ignore: []string{"TERM"}}, {Write: "up\n"}, {Hang: true}}.Argv())
	h.read("up\n")
	h.cancel()
	if s := h.wait(); s.Signal != syscall.SIGKILL {
		t.Errorf("status %+v", s)
	}
	h.mustHave("close proxy signal TERM to child", "flush", "close proxy signal KILL to group", "exit KILL")
}

// A host that asks the server to end, but does not read, is not waited for.
func TestTermWhileTheHostDoesNotRead(t *testing.T) {
	program := proxytest.Program{
		{On: map[string]proxytest.Program{"TERM": {{KillSelf: "TERM"}}}}, {Fill: true}, {Hang: true},
	}.Argv()
	t.Run("in a pipe that can be interrupted", func(t *testing.T) {
		h := start(t, quick, program)
		// More was offered than the host's pipe holds: the write is blocked.
		if !h.tap.WaitBytes(record.Server, proxy.LargePipe+1) {
			t.Fatal(h.story())
		}
		h.signals <- syscall.SIGTERM
		if s := h.wait(); s.Signal != syscall.SIGTERM {
			t.Errorf("status %+v", s)
		}
		if !strings.Contains(h.story(), "undelivered server from") || strings.Contains(h.story(), "close client stdout") {
			t.Errorf("story:\n%s", h.story())
		}
		sent := len(h.rest(h.out))
		for _, r := range h.tap.Records() {
			if r.Lost != nil && int(r.Off) != sent {
				t.Errorf("undelivered from %d, but the host got %d bytes", r.Off, sent)
			}
		}
	})
	t.Run("in one that cannot", func(t *testing.T) {
		r := startProcess(t, relayOptions{Waits: quick, Full: proxy.LargePipe, Command: program})
		waitForLine(t, r, "full")
		r.cmd.Process.Signal(syscall.SIGTERM)
		if code := r.wait(); code != 128+15 {
			t.Errorf("status %d", code)
		}
		if s := r.lines(); !strings.HasSuffix(s, "exit TERM\n") || !strings.Contains(s, "undelivered server") {
			t.Errorf("story:\n%s", s)
		}
	})
}

// --lossless on a full disk: the tap makes the server's bytes wait for ever. A
// signal ends all the same, and the tap hears nothing more afterwards.
func TestTermWhileTheTapWaits(t *testing.T) {
	release, held := make(chan struct{}), make(chan struct{})
	h := start(t, quick, proxytest.Program{{ReadLine: 1}, {Write: "answer\n"}, {Hang: true}}.Argv(), func(_ *proxy.Stdio, h *host) {
		h.tap.OnData = func(from record.From, _ []byte) {
			if from == record.Server {
				close(held)
				<-release
			}
		}
	})
	h.write("ask\n")
	<-held
	h.signals <- syscall.SIGTERM
	if s := h.wait(); s.Signal != syscall.SIGTERM || s.Asked != syscall.SIGTERM {
		t.Errorf("status %+v", s)
	}
	h.mustHave("close client signal TERM to child", "exit TERM")
	before := h.story()
	close(release)
	h.tap.Wait("server data") // the call that was stuck
	if after := h.story(); after != before+"\nserver data" {
		t.Errorf("the tap heard more:\n%s", after)
	}
}

// The host writes more than a hung server takes, and vanishes: its end of file
// stands behind bytes that nobody reads.
func TestHostGoneBehindUnreadBytes(t *testing.T) {
	for _, sockets := range []bool{false, true} {
		h := start(t, gone, proxytest.Program{{Write: "up\n"}, {Hang: true}}.Argv(), func(s *proxy.Stdio, h *host) {
			if sockets {
				withSockets(t)(s, h)
			}
		})
		h.read("up\n")
		go h.in.Write(make([]byte, 4<<20))
		if !h.tap.Wait("client data") {
			t.Fatal(h.story())
		}
		h.in.Close()
		h.out.Close()
		if s := h.wait(); s.Signal != syscall.SIGTERM {
			t.Errorf("sockets %v: status %+v", sockets, s)
		}
		h.mustHave("client data", "close proxy signal TERM to child", "exit TERM")
	}
}
