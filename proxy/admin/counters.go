package admin

import (
	"mime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sixlink/sixlink/record"
)

// buckets are the upper bounds of the latency histogram in seconds: from a tool
// on the same machine to one that a client has nearly given up on (wire.md 1.9).
var buckets = [...]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// classes are the values of the label code; none is an exchange without a head.
var classes = [...]string{"2xx", "3xx", "4xx", "5xx", "none"}

const noHead = len(classes) - 1

// Counters are the figures of one process. The zero value is ready.
type Counters struct {
	stdio [3]atomic.Int64 // bytes by direction
	http  [2]atomic.Int64 // bytes of bodies by direction

	mu      sync.Mutex
	open    map[int64]*exchange
	ended   [len(classes)]int64 // exchanges
	made    int64               // responses of our own
	streams int64               // event streams that are open
	latency [len(buckets) + 1]int64
	sum     float64 // seconds
}

// exchange is an HTTP exchange that is open.
type exchange struct {
	began  time.Time
	class  int
	stream bool
}

func direction(from record.From) int {
	switch from {
	case record.Client:
		return 0
	case record.Server:
		return 1
	}
	return 2
}

// event counts what a record tells of an exchange.
func (c *Counters) event(r *record.Record) {
	if r.Exchange == 0 {
		return
	}
	switch {
	case r.Request != nil:
		now := time.Now()
		c.mu.Lock()
		if c.open == nil {
			c.open = map[int64]*exchange{}
		}
		c.open[r.Exchange] = &exchange{began: now, class: noHead}
		c.mu.Unlock()
	case r.Response != nil && (r.Response.Status >= 200 || r.Response.Status == 101):
		now := time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		x := c.open[r.Exchange]
		if x == nil || x.class != noHead {
			return
		}
		x.class = min(max(r.Response.Status/100, 2), 5) - 2
		if r.Response.Made {
			c.made++
			return // the upstream did not take that long
		}
		if x.stream = !r.Response.End && isStream(r.Response.Headers); x.stream {
			c.streams++
		}
		seconds := now.Sub(x.began).Seconds()
		c.sum += seconds
		i := 0
		for i < len(buckets) && seconds > buckets[i] {
			i++
		}
		c.latency[i]++
	}
}

// done counts an exchange that is over.
func (c *Counters) done(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.open[n]
	if x == nil {
		return
	}
	delete(c.open, n)
	c.ended[x.class]++
	if x.stream {
		c.streams--
	}
}

func isStream(h record.Fields) bool {
	for _, v := range h["Content-Type"] {
		t, _, _ := mime.ParseMediaType(v)
		return strings.EqualFold(t, "text/event-stream")
	}
	return false
}

// Tap counts what passes on its way to a recorder, which may be nil: then it is
// counted and not recorded.
type Tap struct {
	counters *Counters
	next     *record.Recorder
}

// Tap gives a tap in front of a recorder.
func (c *Counters) Tap(next *record.Recorder) *Tap { return &Tap{c, next} }

// Data is [proxy.Tap]'s.
func (t *Tap) Data(from record.From, p []byte) {
	t.counters.stdio[direction(from)].Add(int64(len(p)))
	t.next.Data(from, p)
}

// End is [proxy.Tap]'s.
func (t *Tap) End(from record.From) { t.next.End(from) }

// Event is [proxy.Tap]'s.
func (t *Tap) Event(r record.Record) {
	t.counters.event(&r)
	t.next.Event(r)
}

// Body is that of an HTTP tap.
func (t *Tap) Body(b *record.Body) {
	t.counters.http[min(direction(b.From), 1)].Add(int64(len(b.Data)))
	t.next.Body(b)
}

// Done is that of an HTTP tap.
func (t *Tap) Done(exchange int64) {
	t.counters.done(exchange)
	t.next.Done(exchange)
}

// Flush is [proxy.Tap]'s.
func (t *Tap) Flush(max time.Duration) bool { return t.next.Flush(max) }

// Broke is that of a tap whose recording must not look whole after a panic.
func (t *Tap) Broke() { t.next.Broke() }

// GiveUp is that of a tap that can make traffic wait.
func (t *Tap) GiveUp() { t.next.GiveUp() }
