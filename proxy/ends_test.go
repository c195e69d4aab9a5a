//go:build unix

package proxy_test

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
	"golang.org/x/sys/unix"
)

func TestHalfClose(t *testing.T) {
	big := strings.Repeat("b", 300<<10) // more than the pipes hold
	h := start(t, patient, proxytest.Program{
		{Write: "ready\n"}, {ReadLine: 1}, {WaitEOF: true}, {Write: "after the end\n"}, {Exit: proxytest.Code(4)},
	}.Argv())
	h.read("ready\n")
	h.write(big + "\n" + big)
	h.in.Close()
	h.read("after the end\n")
	if s := h.wait(); s.ExitCode() != 4 {
		t.Errorf("status %+v", s)
	}
	if got := h.tap.Bytes(record.Client); string(got) != big+"\n"+big {
		t.Errorf("tap has %d bytes of the client", len(got))
	}
	h.mustHave("client end", "close client stdin", "server data", "close server stdout", "exit 4")
	if strings.Contains(h.story(), "undelivered") {
		t.Errorf("something counts as undelivered:\n%s", h.story())
	}
}

func TestServerClosesStdinAndLives(t *testing.T) {
	h := start(t, patient, proxytest.Program{
		{ReadLine: 1}, {Close: "stdin"}, {Write: "closed\n"},
		{On: map[string]proxytest.Program{"USR1": {{Write: "alive\n"}, {Exit: proxytest.Code(0)}}}},
		{Write: "handler\n"}, {Hang: true},
	}.Argv())
	h.write("one\n")
	h.read("closed\nhandler\n")
	h.write("two\n")
	if !h.tap.Wait("undelivered client") {
		t.Fatal(h.story())
	}
	// The host sees it as it would without us.
	h.in.SetWriteDeadline(time.Now().Add(proxytest.Guard))
	for {
		if _, err := h.in.Write([]byte("three\n")); err != nil {
			if !strings.Contains(err.Error(), "broken pipe") {
				t.Errorf("host's write: %v", err)
			}
			break
		}
	}
	h.signals <- syscall.SIGUSR1
	h.read("alive\n")
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v", s)
	}
	h.mustHave("client data", "client end", "close server stdin: broken pipe",
		"undelivered client from 4, 4 bytes: broken pipe", "exit 0")
}

func TestServerEndsWithUnreadRequests(t *testing.T) {
	h := start(t, patient, proxytest.Program{
		{On: map[string]proxytest.Program{"USR1": {{Exit: proxytest.Code(0)}}}}, {Write: "up\n"}, {Hang: true},
	}.Argv())
	h.read("up\n")
	h.write("never ")
	if !h.tap.Wait("client data") {
		t.Fatal(h.story())
	}
	h.write("read\n")
	// The second offer says that the first write is over.
	if !h.tap.WaitBytes(record.Client, 11) {
		t.Fatal(h.story())
	}
	h.signals <- syscall.SIGUSR1
	h.wait()
	if !strings.Contains(h.story(), "\nundelivered client from 0, 11 bytes: ") {
		t.Errorf("story:\n%s", h.story())
	}
}

func TestServerClosesStdoutAndLives(t *testing.T) {
	h := start(t, patient, proxytest.Program{
		{Write: "last\n"}, {Close: "stdout"}, {ReadLine: 1}, {Exit: proxytest.Code(5)},
	}.Argv())
	h.read("last\n")
	if b := h.rest(h.out); len(b) != 0 { // the host's end of file comes while the server lives
		t.Errorf("more came: %q", b)
	}
	select {
	case <-h.done:
		t.Fatal("the relay ended with the server's stdout")
	default:
	}
	h.write("now end\n")
	if s := h.wait(); s.ExitCode() != 5 {
		t.Errorf("status %+v", s)
	}
	h.mustHave("server end", "close server stdout", "client data", "exit 5")
}

// A host that no longer reads must not block the server, whose output is
// drained and recorded.
func TestHostClosesStdoutAndLives(t *testing.T) {
	text := &proxytest.Text{Repeat: "t", Count: 100 << 10}
	h := start(t, patient, proxytest.Program{
		{Write: "one\n"}, {ReadLine: 1}, {Out: text}, {Out: text}, {Out: text}, {WaitEOF: true}, {Exit: proxytest.Code(6)},
	}.Argv())
	h.read("one\n")
	h.out.Close()
	h.write("go\n")
	h.in.Close() // the server gets here only if nothing blocked it
	if s := h.wait(); s.ExitCode() != 6 {
		t.Errorf("status %+v", s)
	}
	if got := h.tap.Bytes(record.Server); string(got) != "one\n"+strings.Repeat("t", 300<<10) {
		t.Errorf("the tap has %d bytes", len(got))
	}
	h.mustHave("client data", "close client stdout: broken pipe", "server end", "exit 6")
	for _, r := range h.tap.Records() {
		if r.Lost != nil && (r.From != record.Server || r.Off != 4) {
			t.Errorf("undelivered %s from %d", r.From, r.Off)
		}
	}
}

func TestBrokenStderrIsNotFatal(t *testing.T) {
	h := start(t, patient, proxytest.Program{
		{ReadLine: 1}, {Stderr: &proxytest.Text{Repeat: "e", Count: 200 << 10}}, {Write: "answer\n"}, {WaitEOF: true},
	}.Argv())
	h.errs.Close()
	h.write("go\n")
	h.read("answer\n")
	h.in.Close()
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v", s)
	}
	if got := h.tap.Bytes(record.Stderr); len(got) != 200<<10 {
		t.Errorf("the tap has %d bytes", len(got))
	}
	h.mustHave("close client stderr: broken pipe", "exit 0")
}

func TestWhoClosedFirst(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		h := start(t, patient, []string{"cat"})
		h.in.Close()
		h.wait()
		h.mustHave("close client stdin", "close server stdout")
	})
	t.Run("server", func(t *testing.T) {
		h := start(t, patient, proxytest.Program{{Close: "stdout"}, {WaitEOF: true}}.Argv())
		h.rest(h.out)
		h.in.Close()
		h.wait()
		h.mustHave("close server stdout", "close client stdin")
	})
}

// The host keeps its end of our stdin open and writes nothing: the relay ends
// with the server.
func TestOpenStdinDoesNotKeepUsAlive(t *testing.T) {
	h := start(t, patient, proxytest.Program{{Write: "bye\n"}, {Exit: proxytest.Code(3)}}.Argv())
	if s := h.wait(); s.ExitCode() != 3 || s.Asked != 0 {
		t.Errorf("status %+v", s)
	}
	if b := h.rest(h.out); string(b) != "bye\n" {
		t.Errorf("last words: %q", b)
	}
	if h.has("client end") {
		t.Errorf("the client ended nothing:\n%s", h.story())
	}
}

func TestGrandchildHoldsStdout(t *testing.T) {
	silence, held := patient, patient
	silence.Silence, held.Held = quick.Silence, quick.Held
	for _, c := range []struct {
		fault   string
		waits   proxy.Waits
		holder  proxytest.Program
		want    string
		noStory bool
	}{
		{"silent", silence, proxytest.Program{{Write: "grandchild\n"}, {Hang: true}}, "exit 7 held stdout stderr", false},
		{"stderr only", silence, proxytest.Program{{Write: "grandchild\n"}, {Close: "stdout"}, {Hang: true}}, "exit 7 held stderr", false},
		{"for too long in all", held, proxytest.Program{{Write: "grandchild\n"}, {Hang: true}}, "exit 7 held stdout stderr", false},
		{"writes for ever", held, proxytest.Program{{Write: "grandchild\n"}, {Fill: true}, {Hang: true}}, "exit 7", true},
	} {
		t.Run(c.fault, func(t *testing.T) {
			h := start(t, c.waits, proxytest.Program{{Start: c.holder}, {ReadLine: 1}, {Exit: proxytest.Code(7)}}.Argv())
			h.read("grandchild\n")
			pid := h.tap.Records()[0].Start.PID
			defer unix.Kill(-pid, unix.SIGKILL) // the group outlives its leader
			h.write("go\n")
			// Slower than the grandchild: the pipes are never empty.
			go io.Copy(io.Discard, proxytest.SlowReader{R: h.out, Size: 4 << 10, Between: func() { time.Sleep(100 * time.Microsecond) }})
			go io.Copy(io.Discard, h.errs)
			if s := h.wait(); s.Code != 7 || s.Signal != 0 {
				t.Errorf("status %+v", s)
			}
			last := h.events()[len(h.events())-1]
			if last != c.want && !(c.noStory && strings.HasPrefix(last, c.want)) {
				t.Errorf("last record %q, want %q", last, c.want)
			}
			if strings.Contains(h.story(), "signal") {
				t.Errorf("a grandchild of a server that ended by itself got a signal:\n%s", h.story())
			}
		})
	}
}

func TestBlockedWriteIsRecorded(t *testing.T) {
	w := patient
	w.Stall = time.Nanosecond
	h := start(t, w, proxytest.Program{{Write: "x"}}.Argv())
	h.read("x")
	h.wait()
	h.mustHave("server data", "stall server", "exit 0")

	h = start(t, patient, proxytest.Program{{Write: "x"}}.Argv())
	h.read("x")
	h.wait()
	if h.has("stall server") {
		t.Error("a write that was not blocked is a stall")
	}
}

func TestSocketpairs(t *testing.T) {
	t.Run("half-close", func(t *testing.T) {
		h := start(t, patient, proxytest.Program{{WaitEOF: true}, {Write: "after\n"}}.Argv(), withSockets(t))
		h.write("x\n")
		h.in.Close()
		if b := h.rest(h.out); string(b) != "after\n" {
			t.Errorf("got %q", b)
		}
		if s := h.wait(); s.ExitCode() != 0 {
			t.Errorf("status %+v", s)
		}
	})
	t.Run("reset", func(t *testing.T) {
		// A peer that closes with unread bytes resets: our read says ECONNRESET,
		// which is an end like any other.
		h := start(t, patient, proxytest.Program{{WaitEOF: true}, {Exit: proxytest.Code(2)}}.Argv(),
			func(s *proxy.Stdio, h *host) {
				s.Stdin, h.in = proxytest.Socketpair(t)
				if _, err := s.Stdin.Write([]byte("unread")); err != nil {
					t.Fatal(err)
				}
				h.in.Close()
			})
		if s := h.wait(); s.ExitCode() != 2 {
			t.Errorf("status %+v", s)
		}
		h.mustHave("client end", "close client stdin: connection reset by peer", "exit 2")
	})
	t.Run("host gone", func(t *testing.T) {
		h := start(t, gone, proxytest.Program{{Write: "up\n"}, {Hang: true}}.Argv(), withSockets(t))
		h.read("up\n")
		h.in.Close()
		h.out.Close()
		if s := h.wait(); s.Signal != syscall.SIGTERM {
			t.Errorf("status %+v", s)
		}
	})
}

func withSockets(t *testing.T) func(*proxy.Stdio, *host) {
	return func(s *proxy.Stdio, h *host) {
		s.Stdin, h.in = proxytest.Socketpair(t)
		s.Stdout, h.out = proxytest.Socketpair(t)
	}
}

// behindGo makes f a file that Go takes for a blocking one, and then non-blocking,
// as a process that shares the descriptor's file may do at any time.
func behindGo(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd())) // Fd makes it blocking
	if err != nil {
		t.Fatal(err)
	}
	g := os.NewFile(uintptr(fd), "behind")
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { g.Close() })
	return g
}

func TestDescriptorsThatBecameNonBlocking(t *testing.T) {
	text := strings.Repeat("t", 300<<10)
	h := start(t, patient, []string{"cat"}, func(s *proxy.Stdio, _ *host) {
		s.Stdin, s.Stdout = behindGo(t, s.Stdin), behindGo(t, s.Stdout)
	})
	h.write("before ")
	h.read("before ")
	go func() {
		io.WriteString(h.in, text)
		h.in.Close()
	}()
	if got := h.rest(h.out); string(got) != text {
		t.Errorf("%d bytes of %d", len(got), len(text))
	}
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v\n%s", s, h.story())
	}
	h.mustHave("client end", "close client stdin")
}

// The same with an open stdin: its read cannot be interrupted, and is left.
func TestReadThatCannotBeInterrupted(t *testing.T) {
	h := start(t, patient, proxytest.Program{{ReadLine: 1}, {Exit: proxytest.Code(3)}}.Argv(), func(s *proxy.Stdio, _ *host) {
		s.Stdin = behindGo(t, s.Stdin)
	})
	h.write("go\n")
	if s := h.wait(); s.ExitCode() != 3 {
		t.Errorf("status %+v", s)
	}
	before := h.story()
	h.write("too late\n") // ends the goroutine that was left
	h.in.Close()
	if h.story() != before {
		t.Errorf("the tap heard of bytes after the end:\n%s", h.story())
	}
}
