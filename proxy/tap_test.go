//go:build unix

package proxy_test

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// brokenTap panics in one of its methods.
type brokenTap struct {
	in    string
	calls atomic.Int64
	after atomic.Int64
}

func (b *brokenTap) call(name string) {
	b.calls.Add(1)
	if b.in == name {
		b.after.Store(b.calls.Load())
		panic("made by the test")
	}
}
func (b *brokenTap) Data(record.From, []byte) { b.call("Data") }
func (b *brokenTap) End(record.From)          { b.call("End") }
func (b *brokenTap) Event(record.Record)      { b.call("Event") }
func (b *brokenTap) Flush(time.Duration) bool { b.call("Flush"); return true }

func TestTapThatPanics(t *testing.T) {
	for _, method := range []string{"Data", "End", "Event", "Flush"} {
		t.Run(method, func(t *testing.T) {
			tap := &brokenTap{in: method}
			var notes []string
			h := start(t, patient, proxytest.Program{
				{On: map[string]proxytest.Program{"USR1": {{Write: "usr1\n"}}}}, {Write: "up\n"}, {Echo: true},
			}.Argv(), func(s *proxy.Stdio, _ *host) {
				s.Tap = tap
				s.Note = func(n string) { notes = append(notes, n) }
			})
			h.read("up\n")
			h.signals <- sigUSR1
			h.read("usr1\n")
			h.write("traffic\n")
			h.read("traffic\n")
			h.in.Close()
			if s := h.wait(); s.ExitCode() != 0 {
				t.Errorf("status %+v", s)
			}
			if len(notes) != 1 || !strings.Contains(notes[0], "made by the test") || strings.Contains(notes[0], "\n") {
				t.Errorf("notes %q", notes)
			}
			if tap.after.Load() == 0 {
				t.Error("the tap did not panic")
			}
		})
	}
}

func TestNoTap(t *testing.T) {
	h := start(t, patient, []string{"cat"}, func(s *proxy.Stdio, _ *host) { s.Tap = nil })
	h.write("traffic")
	h.read("traffic")
	h.in.Close()
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v", s)
	}
}

// countingTap is a tap without costs of its own.
type countingTap struct{ n atomic.Int64 }

func (c *countingTap) Data(_ record.From, p []byte) { c.n.Add(int64(len(p))) }
func (c *countingTap) End(record.From)              {}
func (c *countingTap) Event(record.Record)          {}
func (c *countingTap) Flush(time.Duration) bool     { return true }

func TestHotPathAllocatesNothing(t *testing.T) {
	tap := &countingTap{}
	h := start(t, patient, []string{"cat"}, func(s *proxy.Stdio, _ *host) { s.Tap = tap })
	message := []byte(strings.Repeat("m", 20<<10))
	answer := make([]byte, len(message))
	turn := func() {
		if _, err := h.in.Write(message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(h.out, answer); err != nil {
			t.Fatal(err)
		}
	}
	turn()
	// The runtime itself allocates now and then: a pump that does so would do it
	// at every chunk, and there are at least two a turn.
	if n := testing.AllocsPerRun(500, turn); n > 0.5 {
		t.Errorf("%v allocations a round trip", n)
	}
	if tap.n.Load() == 0 {
		t.Error("the tap saw nothing")
	}
	h.in.Close()
	h.wait()
}
