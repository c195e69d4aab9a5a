package proxy

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sixlink/sixlink/record"
)

// HTTPTap is where the HTTP proxy offers its copies. It is called by many
// goroutines at once. It must copy what it keeps of header maps and of bytes
// before it returns, and must not block, unless traffic shall wait for the
// recorder (--lossless). A tap may have the methods GiveUp() and Broke(), as [Tap] has.
type HTTPTap interface {
	// Event offers a record other than a piece of a body.
	Event(r record.Record)
	// Body offers a piece of a body, which was read and is not yet written on.
	Body(b *record.Body)
	// Done says that nothing more comes of an exchange.
	Done(exchange int64)
	// Flush returns true once everything that was offered before is on disk
	// (page cache), and false when that took longer than max.
	Flush(max time.Duration) bool
}

// httpGuard is the only caller of an HTTPTap, as guard is of a Tap: after a panic
// in it recording is off, and traffic goes on.
type httpGuard struct {
	tap  HTTPTap
	off  atomic.Bool
	note func(string)
}

func newHTTPGuard(tap HTTPTap, note func(string)) *httpGuard {
	g := &httpGuard{tap: tap, note: note}
	g.off.Store(tap == nil)
	return g
}

func (g *httpGuard) rescue() {
	if p := recover(); p != nil {
		if !g.off.Swap(true) {
			broke(g.tap)
			if g.note != nil {
				g.note(fmt.Sprintf("recording stopped, traffic goes on: the recorder panicked: %v", p))
			}
		}
	}
}

// silence ends all calls to the tap that have not begun.
func (g *httpGuard) silence() { g.off.Store(true) }

func (g *httpGuard) event(r record.Record) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.Event(r)
}

func (g *httpGuard) body(b *record.Body) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.Body(b)
}

func (g *httpGuard) done(exchange int64) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.Done(exchange)
}

func (g *httpGuard) flush(max time.Duration) {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	g.tap.Flush(max)
}

func (g *httpGuard) giveUp() {
	if g.off.Load() {
		return
	}
	defer g.rescue()
	if t, ok := g.tap.(interface{ GiveUp() }); ok {
		t.GiveUp()
	}
}

// closed offers who ended what of an exchange (0: of none), why for what sixlink
// itself did.
func (g *httpGuard) closed(exchange int64, who, what, why string, err error) {
	c := &record.Close{Who: who, What: what, Why: why}
	if err != nil {
		c.Error = reason(err)
	}
	g.event(record.Record{Kind: record.KindClose, Exchange: exchange, Close: c})
}
