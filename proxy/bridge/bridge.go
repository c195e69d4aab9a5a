package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/record"
)

// Tap is where the bridge offers its copies: the host's side as [proxy.Tap] gets
// it, and its own HTTP exchanges.
type Tap interface {
	proxy.Tap
	// Body offers a piece of a body; Done says that nothing more comes of an
	// exchange.
	Body(b *record.Body)
	Done(exchange int64)
}

// Field is a header field that goes with every request.
type Field struct{ Name, Value string }

// Bridge is one host on our standard streams and one server behind a URL.
type Bridge struct {
	// Upstream is the server's MCP endpoint: http or https.
	Upstream *url.URL
	// Header goes with every request.
	Header []Field
	// Agent is our User-Agent.
	Agent string
	// Stdin and Stdout are the host's ends. Run may leave a Read of Stdin behind
	// when it is told to end.
	Stdin  io.Reader
	Stdout io.Writer
	// Transport sends the requests; nil: [Transport]'s.
	Transport http.RoundTripper
	// Tap gets the copies. Nil records nothing.
	Tap Tap
	// Waits has the times; zero ones have their defaults.
	Waits Waits
	// Note, if set, gets one-line notes. It must not block.
	Note func(string)
}

// Waits are the times of a bridge. A field that is 0 has its default. An answer
// itself is never limited.
type Waits struct {
	// Answers is how long open answers are waited for after the host's end of
	// file. Default 60 s, as long as the official client waits.
	Answers time.Duration
	// Taken is how long the server may take to accept a notification before the
	// next line is sent all the same. Default 30 s.
	Taken time.Duration
	// Delete is how long the end of the session may take. Default 2 s; after a
	// signal a quarter of it.
	Delete time.Duration
	// Endpoint is how long the endpoint event of the 2024-11-05 transport is
	// waited for. Default 10 s.
	Endpoint time.Duration
	// Retry is how long after its end a stream is asked for again, when the server
	// did not say; it doubles with every failure. Default 1 s.
	Retry time.Duration
	// Leave is how long a host that does not read is waited for at the end.
	// Default 500 ms.
	Leave time.Duration
	// Stall is how long a write to the host may take before it is recorded as
	// blocked. Default 100 ms (recorder.md 2.8).
	Stall time.Duration
}

func (w Waits) withDefaults() Waits {
	return Waits{
		Answers:  cmp.Or(w.Answers, time.Minute),
		Taken:    cmp.Or(w.Taken, 30*time.Second),
		Delete:   cmp.Or(w.Delete, 2*time.Second),
		Endpoint: cmp.Or(w.Endpoint, 10*time.Second),
		Retry:    cmp.Or(w.Retry, time.Second),
		Leave:    cmp.Or(w.Leave, 500*time.Millisecond),
		Stall:    cmp.Or(w.Stall, 100*time.Millisecond),
	}
}

// Transport is how the bridge sends when it is not told otherwise: no compression
// (the recording has what passed), no limit of time, no
// proxy.
func Transport() *http.Transport {
	return &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
		// A connection that is dead without a word would leave its requests open
		// for ever. (Those of HTTP/1.1 have TCP's own probes.)
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second}}
}

// bridge is the state of one Run.
type bridge struct {
	cfg    *Bridge
	waits  Waits
	tap    *guard
	out    *output
	header http.Header // of every request
	host   string      // the Host field, if it was given
	send   http.RoundTripper

	ctx  context.Context // ends with the bridge
	work sync.WaitGroup  // everything that was started
	last atomic.Int64    // the number of the last exchange

	known knownIDs
	noted sync.Map // what Note was told already

	mu      sync.Mutex
	session string // Mcp-Session-Id
	version string // that all messages are sent with
	modern  bool   // version is of the era without a session
	old     *oldStream
	stop    context.CancelFunc // ends the session's GET stream; nil: it was not begun
	calls   map[*call]struct{} // not answered yet
	params  map[string][]param // of tools, by name
	streams int                // open ones of the session itself
	ending  bool               // the session is being ended …
	left    bool               // … and nothing is started any more
}

// start runs f beside the rest, unless the bridge is being left.
func (b *bridge) start(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left {
		b.work.Go(f)
	}
}

// Run bridges until the host's end of file, a signal that ends programs, the end
// of ctx, or a host that reads no more. A status with a signal is for
// [proxy.Mirror]. Run makes no call to the tap after it returned.
func (c *Bridge) Run(ctx context.Context, signals <-chan os.Signal) proxy.Status {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bridge{cfg: c, waits: c.Waits.withDefaults(), tap: newGuard(c.Tap, c.Note), send: c.Transport, ctx: ctx, calls: map[*call]struct{}{}}
	defer b.tap.silence()
	if b.send == nil {
		t := Transport()
		defer t.CloseIdleConnections()
		b.send = t
	}
	b.header = http.Header{}
	if c.Agent != "" {
		b.header.Set("User-Agent", c.Agent)
	}
	given := map[string]bool{}
	for _, f := range c.Header {
		name := http.CanonicalHeaderKey(f.Name)
		switch {
		case name == "Host":
			b.host = f.Value
		case given[name]:
			b.header.Add(name, f.Value)
		default:
			b.header.Set(name, f.Value)
		}
		given[name] = true
	}
	broke := make(chan struct{}, 1)
	b.out = &output{w: c.Stdout, tap: b.tap, stall: b.waits.Stall, broke: broke}

	fed := make(chan struct{})
	go func() {
		defer close(fed)
		b.feed(c.Stdin)
		b.awaitAnswers()
	}()
	var status proxy.Status
	limit := b.waits.Delete
wait:
	for {
		select {
		case <-fed:
			break wait
		case <-broke:
			break wait
		case <-ctx.Done():
			b.tap.giveUp()
			limit /= 4
			break wait
		case sig, ok := <-signals:
			s, _ := sig.(syscall.Signal)
			if !ok {
				signals = nil
			} else if endsUs(s) {
				b.tap.event(record.Record{Kind: record.KindClose, Close: &record.Close{
					Who: record.ByClient, What: record.Signal, Signal: strings.TrimPrefix(unix.SignalName(s), "SIG")}})
				// KILL may follow soon.
				b.tap.flush(flushLimit)
				b.tap.giveUp()
				status.Signal, status.Asked = s, s
				limit /= 4
				break wait
			}
		}
	}
	b.endSession(limit)
	cancel()
	b.leave()
	return status
}

// flushLimit is how long a signal is held back for the recording, as the relay
// does it.
const flushLimit = 50 * time.Millisecond

func endsUs(s syscall.Signal) bool {
	switch s {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM:
		return true
	}
	return false
}

// leave waits for what was started, but not for a host that does not read.
func (b *bridge) leave() {
	b.mu.Lock()
	b.left = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		b.work.Wait()
		close(done)
	}()
	t := time.NewTimer(b.waits.Leave)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
	b.tap.end(record.Server)
}

// awaitAnswers waits, after the host's end of file, for what it asked.
// A subscription is answered by nothing but its end.
func (b *bridge) awaitAnswers() {
	t := time.NewTimer(b.waits.Answers)
	defer t.Stop()
	b.mu.Lock()
	var open []*call
	for c := range b.calls {
		if c.method != "subscriptions/listen" {
			open = append(open, c)
		}
	}
	b.mu.Unlock()
	for _, c := range open {
		select {
		case <-c.over:
		case <-t.C:
			return
		case <-b.ctx.Done():
			return
		}
	}
}

// endSession tells the server that the session is over.
func (b *bridge) endSession(limit time.Duration) {
	b.mu.Lock()
	b.ending = true
	session := b.session
	b.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), limit)
	defer cancel()
	h := b.sessionHeader(http.Header{})
	x, err := b.exchange(ctx, http.MethodDelete, b.cfg.Upstream, h, nil, nil)
	if err != nil {
		return
	}
	io.Copy(io.Discard, x.body)
	x.body.Close()
}

// sessionHeader adds what goes with every message of a session.
func (b *bridge) sessionHeader(h http.Header) http.Header {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != "" && !b.modern {
		h.Set("Mcp-Session-Id", b.session)
	}
	// There was no such field before 2025-06-18; its absence means 2025-03-26.
	if b.version >= "2025-06-18" {
		h.Set("Mcp-Protocol-Version", b.version)
	}
	return h
}

// note tells something once.
func (b *bridge) note(format string, args ...any) {
	if _, known := b.noted.LoadOrStore(format, true); !known && b.cfg.Note != nil {
		b.cfg.Note(fmt.Sprintf(format, args...))
	}
}

// Check tells why u cannot be an upstream.
func Check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("needs a URL that begins with http:// or https://")
	case u.Host == "":
		return errors.New("has no host")
	case u.Fragment != "":
		return errors.New("has a fragment (#)")
	}
	return nil
}
