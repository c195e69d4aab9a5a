package proxy

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sixlink/sixlink/record"
)

// Tap is where the relay offers its copies. It is called by several goroutines
// at once, one per direction and one more.
//
// The relay says everything by it that it knows: an end of file is an End (so
// that an unterminated tail becomes a frame), then an Event with the Close.
type Tap interface {
	// Data offers p, which was read and is not yet written on (wire.md 0.1). It
	// must copy p and must not block, unless traffic shall wait for the
	// recorder (--lossless).
	Data(from record.From, p []byte)
	// End says that no Data of this direction follows. Neither it nor Event ever
	// waits: only Data may.
	End(from record.From)
	// Event offers a record other than a frame: Kind and its one payload, and
	// From and Off where the kind has them. Seq and At are the tap's to set.
	Event(r record.Record)
	// Flush returns true once everything that was offered before is on disk
	// (page cache), and false when that took longer than max.
	Flush(max time.Duration) bool
}

// A Tap may also have the methods GiveUp(): see guard.giveUp, and Broke(), which is
// called when the tap panicked, so that what it made does not look whole.

// guard is the only caller of a Tap. After a panic in the tap, and after
// silence, it offers nothing more: recording is off, traffic goes on
// (recorder.md 3.7). A nil tap is one that was never on.
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

func (g *guard) rescue() {
	if p := recover(); p != nil {
		if !g.off.Swap(true) {
			broke(g.tap)
			if g.note != nil {
				g.note(fmt.Sprintf("recording stopped, traffic goes on: the recorder panicked: %v", p))
			}
		}
	}
}

// broke tells a tap that can be told that it will get nothing more.
func broke(tap any) {
	defer func() { recover() }()
	if t, ok := tap.(interface{ Broke() }); ok {
		t.Broke()
	}
}

// silence ends all calls to the tap that have not begun.
func (g *guard) silence() { g.off.Store(true) }

func (g *guard) data(from record.From, p []byte) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.Data(from, p)
}

func (g *guard) end(from record.From) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.End(from)
}

func (g *guard) event(r record.Record) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.Event(r)
}

func (g *guard) flush(max time.Duration) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.Flush(max)
}

// giveUp tells a tap that makes traffic wait, and cannot go on itself, that the
// server is to end. A full disk must not hold that up (recorder.md 3.7).
func (g *guard) giveUp() {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	if t, ok := g.tap.(interface{ GiveUp() }); ok {
		t.GiveUp()
	}
}

func (g *guard) closed(who, what string, err error) {
	c := &record.Close{Who: who, What: what}
	if err != nil {
		c.Error = reason(err)
	}
	g.event(record.Record{Kind: record.KindClose, Close: c})
}

func (g *guard) undelivered(from record.From, off, n int64, why string) {
	g.event(record.Record{Kind: record.KindUndelivered, From: from, Off: off,
		Lost: &record.Undelivered{Bytes: n, Error: why}})
}

func (g *guard) stalled(from record.From, d time.Duration) {
	g.event(record.Record{Kind: record.KindStall, From: from,
		Stall: &record.Stall{Ms: d.Milliseconds()}})
}
