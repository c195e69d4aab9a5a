//go:build faults && linux

package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// The host vanishes, and the server says nothing that would show it: TERM after
// a wait, and KILL for one that ignores TERM (case 30).
func TestFaultHostVanishes(t *testing.T) {
	for _, c := range []struct {
		name    string
		program proxytest.Program
		sockets bool
		status  int
		story   []string
		after   time.Duration
	}{
		{"silent server", proxytest.Program{
			{On: map[string]proxytest.Program{"TERM": {{Exit: proxytest.Code(0)}}}}, {Write: "up\n"}, {Hang: true}},
			false, 0, []string{"close client stdin", "close proxy signal TERM to child", "exit 0"}, hostGone},
		{"behind socket pairs", proxytest.Program{
			{On: map[string]proxytest.Program{"TERM": {{Exit: proxytest.Code(0)}}}}, {Write: "up\n"}, {Hang: true}},
			true, 0, []string{"close client stdin", "close proxy signal TERM to child", "exit 0"}, hostGone},
		{"EOF, TERM ignored", proxytest.Program{
			{Ignore: []string{"TERM"}}, {Write: "up\n"}, {Hang: true}},
			false, 128 + 9, []string{"close proxy signal TERM to child", "close proxy signal KILL to group", "exit KILL"}, hostGone + killAfter},
		{"the same by a launcher", proxytest.Program{
			{Start: proxytest.Program{{Ignore: []string{"TERM"}}, {Write: "up\n"}, {Hang: true}}}, {Await: true}},
			false, 128 + 15, []string{"close proxy signal TERM to child", "close proxy signal KILL to group", "exit TERM"}, hostGone + killAfter},
		{"server reads nothing", proxytest.Program{{Write: "up\n"}, {Hang: true}},
			false, 128 + 15, []string{"client data", "close proxy signal TERM to child", "exit TERM"}, hostGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault(t, "the host vanishes: "+c.name)
			t.Parallel()
			r := startReal(t, setup{command: c.program.Argv(), sockets: c.sockets})
			r.read("up\n")
			story := c.story
			if story[0] == "client data" {
				// More than the pipes hold: our own read of the end of file is behind it.
				story = story[1:]
				go r.in.Write(make([]byte, 4<<20))
				time.Sleep(200 * time.Millisecond)
			}
			start := time.Now()
			r.in.Close()
			r.out.Close()
			k := r.end(c.status)
			took := r.endedAt.Sub(start)
			if took < c.after || took > c.after+late {
				t.Errorf("it took %v, %v are meant", took, c.after)
			}
			k.has(t, story...)
			if k.end.State != record.Sealed {
				t.Errorf("%+v", k.end)
			}
			k.account(t, record.Server, digestOf([]byte("up\n")))
			mustShow(t, r.path, "exit")
			observed(t, "over after %s: %s; %s", seconds(took), strings.Join(k.story[1:], ", "), peak(r))
		})
	}
}

// A host that only closes our stdin is alive: answers come as long as the
// server likes, past every wait of the relay.
func TestFaultHalfClose(t *testing.T) {
	fault(t, "a host that half-closes")
	t.Parallel()
	r := startReal(t, setup{command: append([]string{"sh", "-c", `cat >/dev/null; sleep 5; echo late; exit 4`}, "sh")})
	r.write("a question\n")
	start := time.Now()
	r.in.Close()
	r.read("late\n")
	took := time.Since(start)
	k := r.end(4)
	k.has(t, "close client stdin", "close server stdout", "exit 4")
	for _, s := range k.story {
		if strings.Contains(s, "signal") {
			t.Errorf("the server got a signal: %s", s)
		}
	}
	k.account(t, record.Client, digestOf([]byte("a question\n")))
	k.account(t, record.Server, digestOf([]byte("late\n")))
	mustShow(t, r.path, "code 4")
	observed(t, "an answer %s after the end of stdin came, no signal was sent; %s", seconds(took), peak(r))
}

// A host that reads nothing for a while, and then all: the server is held up as
// it would be without us, nothing piles up in memory, nothing is lost.
func TestFaultHostReadsNothing(t *testing.T) {
	fault(t, "a host that reads nothing")
	t.Parallel()
	const lines, size = 800, 100 << 10
	r := startReal(t, setup{command: proxytest.Argv("paced", "800", "102400", "0s")})
	time.Sleep(3 * time.Second)
	before := r.peak.Load()
	slow := proxytest.SlowReader{R: r.out, Size: 64 << 10}
	d := newDigest()
	if _, err := io.Copy(d, slow); err != nil {
		t.Fatal(err)
	}
	got := d.done()
	if got != pacedDigest(lines, size) {
		t.Error("the traffic was changed")
	}
	k := r.end(0)
	k.account(t, record.Server, got)
	stalled := int64(0)
	for _, e := range k.events {
		if e.Stall != nil && e.From == record.Server {
			stalled += e.Stall.Ms
		}
	}
	if stalled < 2500 {
		t.Errorf("the recording says that writes were blocked for %d ms", stalled)
	}
	mustShow(t, r.path, "code 0")
	observed(t, "3 s without a reader, %s resident then; the recording says blocked for %d ms; %s of %d lines came whole; %s",
		mib(before), stalled, mib(got.bytes), lines, peak(r))
}

// Socket pairs in place of pipes, as Node makes them: the same bytes, and an end
// on one side is seen on the other.
func TestFaultSocketpairs(t *testing.T) {
	fault(t, "socket pairs in place of pipes")
	t.Parallel()
	r := startReal(t, setup{command: []string{"cat"}, sockets: true})
	sent := r.echo(300, 4<<10, time.Millisecond, nil)
	if err := proxytest.HalfClose(r.in); err != nil {
		t.Fatal(err)
	}
	if got := r.rest(); got.bytes != 0 {
		t.Errorf("%d more bytes came", got.bytes)
	}
	k := r.end(0)
	k.account(t, record.Client, sent)
	k.account(t, record.Server, sent)
	k.has(t, "close client stdin", "close server stdout", "exit 0")
	mustShow(t, r.path, "code 0")
	observed(t, "%s both ways unchanged, shutdown of one side ended it, exit 0; %s", mib(sent.bytes), peak(r))
}

// A host that goes with bytes of the server unread resets its socket pair
// (recorder.md 3.5).
func TestFaultReset(t *testing.T) {
	fault(t, "a host that resets its socket pair")
	t.Parallel()
	r := startReal(t, setup{command: proxytest.Program{{Write: "never read\n"}, {ReadLine: 1}, {Write: "more\n"}, {WaitEOF: true}, {Exit: proxytest.Code(3)}}.Argv(), sockets: true})
	if err := proxytest.Reset(r.out); err != nil {
		t.Fatal(err)
	}
	r.write("go\n")
	r.in.Close()
	k := r.end(3)
	k.account(t, record.Server, digestOf([]byte("never read\nmore\n")))
	story := strings.Join(k.story, ", ")
	if !strings.Contains(story, "close client stdout: ") || !strings.Contains(story, "undelivered server from ") {
		t.Errorf("the recording does not say that the host was gone: %s", story)
	}
	mustShow(t, r.path, "code 3")
	observed(t, "%s; %s", story, peak(r))
}
