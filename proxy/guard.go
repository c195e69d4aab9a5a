package proxy

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sixlink/sixlink/record"
)

// Guard is the only caller of a tap. After a panic in the tap, and after Silence,
// it offers nothing more: recording is off, traffic goes on (recorder.md 3.7).
type Guard[T interface {
	Event(r record.Record)
	Flush(max time.Duration) bool
}] struct {
	tap  T
	off  atomic.Bool
	note func(string)
}

// Init sets what is guarded; on is false for a tap that was never there. note, which
// may be nil, is told once when recording ends by a panic.
func (g *Guard[T]) Init(tap T, on bool, note func(string)) {
	g.tap, g.note = tap, note
	g.off.Store(!on)
}

// Call has f call the tap, unless recording is off.
func (g *Guard[T]) Call(f func(tap T)) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	f(g.tap)
}

func (g *Guard[T]) rescue() {
	if p := recover(); p != nil && !g.off.Swap(true) {
		g.broke()
		if g.note != nil {
			g.note(fmt.Sprintf("recording stopped, traffic goes on: the recorder panicked: %v", p))
		}
	}
}

// broke tells a tap that can be told (Broke) that it will get nothing more: what it
// made must not look whole.
func (g *Guard[T]) broke() {
	defer func() { recover() }()
	if t, ok := any(g.tap).(interface{ Broke() }); ok {
		t.Broke()
	}
}

// Silence ends all calls to the tap that have not begun.
func (g *Guard[T]) Silence() { g.off.Store(true) }

// Event offers a record.
func (g *Guard[T]) Event(r record.Record) { g.Call(func(t T) { t.Event(r) }) }

// Flush waits until what was offered is on disk, for at most max.
func (g *Guard[T]) Flush(max time.Duration) { g.Call(func(t T) { t.Flush(max) }) }

// GiveUp tells a tap that makes traffic wait, and cannot go on itself, that all is to
// end. A full disk must not hold that up (recorder.md 3.7).
func (g *Guard[T]) GiveUp() {
	g.Call(func(t T) {
		if t, ok := any(t).(interface{ GiveUp() }); ok {
			t.GiveUp()
		}
	})
}
