//go:build faults && linux

package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// The waits of the relay that these tests reach, as proxy.Waits has them.
const (
	hostGone  = 3 * time.Second // from the host's end to TERM
	killAfter = 5 * time.Second // from TERM to KILL
	silence   = 2 * time.Second // of a grandchild that holds a stream
	late      = 3 * time.Second // that a busy machine may add to each
)

// The server closes its stdin and lives: the host sees a broken pipe, as it
// would without us, and what it wrote is said to be undelivered.
func TestFaultServerClosesStdin(t *testing.T) {
	fault(t, "a server that closes stdin and lives on")
	t.Parallel()
	r := startReal(t, setup{command: proxytest.Program{
		{ReadLine: 1}, {Close: "stdin"}, {Write: "closed\n"},
		{On: map[string]proxytest.Program{"USR1": {{Write: "alive\n"}, {Exit: proxytest.Code(0)}}}},
		{Write: "handler\n"}, {Hang: true},
	}.Argv()})
	r.write("one\n")
	r.read("closed\nhandler\n")
	broken := ""
	for end := time.Now().Add(proxytest.Guard); broken == "" && time.Now().Before(end); {
		if _, err := r.in.Write([]byte("two\n")); err != nil {
			broken = err.Error()
		}
	}
	if !strings.Contains(broken, "broken pipe") {
		t.Errorf("host's write: %q", broken)
	}
	r.cmd.Process.Signal(syscall.SIGUSR1)
	r.read("alive\n")
	k := r.end(0)
	k.has(t, "close server stdin: broken pipe", "close client signal USR1 to child", "exit 0")
	lost := int64(0)
	for _, e := range k.events {
		if e.Lost != nil && e.From == record.Client {
			lost += e.Lost.Bytes
		}
	}
	if lost == 0 || lost != k.streams[record.Client].bytes-int64(len("one\n")) {
		t.Errorf("%d bytes are undelivered, %d of the client are recorded", lost, k.streams[record.Client].bytes)
	}
	mustShow(t, r.path, "code 0")
	observed(t, "the host's write says %q, what the server says after that comes; %d bytes on record as undelivered; %s", broken, lost, peak(r))
}

// The server closes its stdout and lives: the host sees the end of file while
// the server still reads.
func TestFaultServerClosesStdout(t *testing.T) {
	fault(t, "a server that closes stdout and lives on")
	t.Parallel()
	r := startReal(t, setup{command: proxytest.Program{
		{Write: "last\n"}, {Close: "stdout"}, {ReadLine: 2}, {Exit: proxytest.Code(5)},
	}.Argv()})
	if got, want := r.rest(), digestOf([]byte("last\n")); got != want {
		t.Error("the traffic was changed")
	}
	select {
	case <-r.ended:
		t.Error("we ended with the server's stdout")
	default:
	}
	r.write("still\nheard\n")
	k := r.end(5)
	k.account(t, record.Client, digestOf([]byte("still\nheard\n")))
	k.has(t, "close server stdout", "exit 5")
	mustShow(t, r.path, "code 5")
	observed(t, "the host saw the end of stdout, the server took two more lines and ended with 5; %s", peak(r))
}

// 64 MiB on stderr, at full speed, while requests are answered: all three
// streams are whole (case 24).
func TestFaultStderrFlood(t *testing.T) {
	fault(t, "a server that floods stderr")
	t.Parallel()
	text := proxytest.Text{Repeat: "e", Count: 1023, Then: "\n", Times: 64 << 10}
	r := startReal(t, setup{command: proxytest.Program{
		{Start: proxytest.Program{{Stderr: &text}}}, {Echo: true}, {Await: true},
	}.Argv()})
	start := time.Now()
	sent := r.echo(200, 1<<10, time.Millisecond, nil)
	r.in.Close()
	k := r.end(0)
	want := text.Bytes()
	if got := []byte(r.errs.String()); !bytes.Equal(got, want) {
		t.Errorf("%d bytes on stderr, want %d, or they differ", len(got), len(want))
	}
	k.account(t, record.Client, sent)
	k.account(t, record.Server, sent)
	k.account(t, record.Stderr, digestOf(want))
	mustShow(t, r.path, "code 0")
	observed(t, "64 MiB of stderr in %s beside 200 round trips; stderr %s; %s", seconds(r.endedAt.Sub(start)), k.shares(record.Stderr), peak(r))
}

// A grandchild that holds stdout after the server's end is listened to for a
// while, not for ever.
func TestFaultGrandchildHoldsStdout(t *testing.T) {
	fault(t, "a grandchild that holds stdout")
	t.Parallel()
	r := startReal(t, setup{command: proxytest.Program{
		{Start: proxytest.Program{{Write: "grandchild\n"}, {Hang: true}}}, {ReadLine: 1}, {Exit: proxytest.Code(7)},
	}.Argv()})
	r.read("grandchild\n")
	r.write("go\n")
	start := time.Now()
	if got := r.rest(); got.bytes != 0 {
		t.Errorf("%d more bytes came", got.bytes)
	}
	code := r.wait()
	took := r.endedAt.Sub(start)
	k := read(t, r.path)
	if code != 7 || took < silence || took > silence+late {
		t.Errorf("status %d after %v", code, took)
	}
	k.has(t, "exit 7 held stdout stderr")
	mustShow(t, r.path, "code 7")
	// The grandchild is nobody's to kill: the server ended by itself. Its group is
	// the server's.
	for _, e := range k.events {
		if e.Start != nil && e.Start.PID > 0 {
			syscall.Kill(-e.Start.PID, syscall.SIGKILL)
		}
	}
	r.bounded()
	observed(t, "left with the server's status 7 after %s of silence; the recording names stdout and stderr as held; %s", seconds(took), peak(r))
}
