package bridge

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sixlink/sixlink/record"
)

// guard is the only caller of a Tap. After a panic in it recording is off and
// traffic goes on (recorder.md 3.7). A nil tap is one that was never on.
type guard struct {
	tap  Tap
	off  atomic.Bool
	note func(string)
}

func newGuard(tap Tap, note func(string)) *guard {
	g := &guard{tap: tap, note: note}
	g.off.Store(tap == nil)
	return g
}

func (g *guard) call(f func(Tap)) {
	if g.off.Load() {
		return
	}
	defer func() {
		if p := recover(); p != nil && !g.off.Swap(true) && g.note != nil {
			g.note(fmt.Sprintf("recording stopped, traffic goes on: the recorder panicked: %v", p))
		}
	}()
	f(g.tap)
}

// silence ends all calls that have not begun.
func (g *guard) silence() { g.off.Store(true) }

func (g *guard) data(from record.From, p []byte) { g.call(func(t Tap) { t.Data(from, p) }) }
func (g *guard) end(from record.From)            { g.call(func(t Tap) { t.End(from) }) }
func (g *guard) event(r record.Record)           { g.call(func(t Tap) { t.Event(r) }) }
func (g *guard) body(b *record.Body)             { g.call(func(t Tap) { t.Body(b) }) }
func (g *guard) done(exchange int64)             { g.call(func(t Tap) { t.Done(exchange) }) }
func (g *guard) flush(max time.Duration)         { g.call(func(t Tap) { t.Flush(max) }) }

// giveUp tells a tap that makes traffic wait, and cannot go on itself, that we are
// told to end (recorder.md 3.7).
func (g *guard) giveUp() {
	g.call(func(t Tap) {
		if t, ok := t.(interface{ GiveUp() }); ok {
			t.GiveUp()
		}
	})
}

// output is the host's stdout. One lock covers the copy and the write, so that
// the recording has the lines in the order in which the host got them.
type output struct {
	w     io.Writer
	tap   *guard
	stall time.Duration
	broke chan<- struct{} // told once, when the host reads no more; has room for that

	mu     sync.Mutex
	off    int64
	broken bool
	buf    []byte
}

// line writes one message. It may wait for the host: what the server sends then
// waits, too.
func (o *output) line(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(p)
}

// made writes an answer of ours. A record before it says so: what stands in the
// line itself a server could have written, too.
func (o *output) made(p []byte, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.broken {
		o.tap.event(record.Record{Kind: record.KindError, Error: &record.Error{What: record.Made, Error: why}})
	}
	o.write(p)
}

func (o *output) write(p []byte) {
	if o.broken {
		return
	}
	o.buf = append(append(o.buf[:0], p...), '\n')
	o.tap.data(record.Server, o.buf)
	began := time.Now()
	n, err := o.w.Write(o.buf)
	if took := time.Since(began); took >= o.stall {
		o.tap.event(record.Record{Kind: record.KindStall, From: record.Server, Stall: &record.Stall{Ms: took.Milliseconds()}})
	}
	if err != nil {
		o.broken = true
		o.tap.event(record.Record{Kind: record.KindClose, Close: &record.Close{Who: record.ByClient, What: record.Stdout, Error: reason(err)}})
		o.tap.event(record.Record{Kind: record.KindUndelivered, From: record.Server, Off: o.off + int64(n),
			Lost: &record.Undelivered{Bytes: int64(len(o.buf) - n), Error: reason(err)}})
		o.broke <- struct{}{}
	}
	o.off += int64(len(o.buf))
	if cap(o.buf) > 1<<20 {
		o.buf = nil
	}
}
