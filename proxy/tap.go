package proxy

import (
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

// A Tap may also have the methods GiveUp() and Broke(): see [Guard].

// guard is the [Guard] of a Tap.
type guard struct{ Guard[Tap] }

func newGuard(tap Tap, note func(string)) *guard {
	g := &guard{}
	g.Init(tap, tap != nil, note)
	return g
}

func (g *guard) data(from record.From, p []byte) { g.Call(func(t Tap) { t.Data(from, p) }) }
func (g *guard) end(from record.From)            { g.Call(func(t Tap) { t.End(from) }) }

func (g *guard) closed(who, what string, err error) {
	c := &record.Close{Who: who, What: what}
	if err != nil {
		c.Error = reason(err)
	}
	g.Event(record.Record{Kind: record.KindClose, Close: c})
}

func (g *guard) undelivered(from record.From, off, n int64, why string) {
	g.Event(record.Record{Kind: record.KindUndelivered, From: from, Off: off,
		Lost: &record.Undelivered{Bytes: n, Error: why}})
}

func (g *guard) stalled(from record.From, d time.Duration) {
	g.Event(record.Record{Kind: record.KindStall, From: from,
		Stall: &record.Stall{Ms: d.Milliseconds()}})
}
