package proxy

import (
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

// httpGuard is the [Guard] of an HTTPTap.
type httpGuard struct{ Guard[HTTPTap] }

func newHTTPGuard(tap HTTPTap, note func(string)) *httpGuard {
	g := &httpGuard{}
	g.Init(tap, tap != nil, note)
	return g
}

func (g *httpGuard) body(b *record.Body) { g.Call(func(t HTTPTap) { t.Body(b) }) }
func (g *httpGuard) done(exchange int64) { g.Call(func(t HTTPTap) { t.Done(exchange) }) }

// closed offers who ended what of an exchange (0: of none), why for what sixlink
// itself did.
func (g *httpGuard) closed(exchange int64, who, what, why string, err error) {
	c := &record.Close{Who: who, What: what, Why: why}
	if err != nil {
		c.Error = reason(err)
	}
	g.Event(record.Record{Kind: record.KindClose, Exchange: exchange, Close: c})
}
