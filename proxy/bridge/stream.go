package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// maxFails is how often in a row a stream is asked for in vain.
	maxFails = 5
	// maxRetry bounds the time between two requests for a stream.
	maxRetry = time.Minute
	// maxKnown is how many event ids are remembered, to know those that a server
	// sends again.
	maxKnown = 8192
)

// stream is an event stream of the server, over all the responses that it takes:
// the answer to a POST, or the session's own (p is nil).
type stream struct {
	b     *bridge
	ctx   context.Context
	p     *post
	last  string        // the id to resume from
	retry time.Duration // the server's wish; 0: none
}

// over tells that nothing more is wanted of the stream.
func (s *stream) over() bool {
	return s.ctx.Err() != nil || s.p != nil && len(s.p.open()) == 0
}

// read delivers the messages of one response. again says that it replays events:
// some servers then send those of all their streams (wire.md 1.3), so what the
// host has got is left out.
func (s *stream) read(body io.Reader, again bool) error {
	e := &eventReader{r: body}
	for {
		ev, err := e.next()
		if e.retry > 0 {
			s.retry = e.retry
		}
		if err != nil {
			return err
		}
		known := ev.id != "" && s.b.known.add(ev.id)
		if ev.id != "" {
			s.last = ev.id
		}
		if known && again || ev.name != "" && ev.name != "message" {
			continue
		}
		s.b.message(s.p, ev.data)
	}
}

// message delivers the data of an event, if it is a message.
func (b *bridge) message(p *post, data []byte) {
	if len(data) == 0 {
		return // the event that only gives an id to resume from
	}
	m, ok := parse(data)
	if !ok {
		if !isJSON(data) {
			b.note("an event of the server is no JSON: not passed on")
		}
		return
	}
	b.deliver(p, data, m)
}

// follow asks for the stream, and again when it has ended, until it is not wanted
// any more or the server will not give it.
func (s *stream) follow() {
	fails, empty := 0, 0
	if s.last != "" && !s.pause(0) {
		return
	}
	for !s.over() {
		before := s.last
		got, more := s.get()
		switch {
		case !more:
			return
		case !got:
			if fails++; fails == maxFails {
				return
			}
		case s.last == before:
			fails, empty = 0, empty+1
		default:
			fails, empty = 0, 0
		}
		if !s.pause(fails + empty) {
			return
		}
	}
}

func (s *stream) pause(n int) bool {
	d := s.b.waits.Retry
	if s.retry > 0 {
		d = s.retry
	}
	return !s.over() && sleep(min(d<<min(n, 16), maxRetry), s.ctx.Done())
}

// get asks for the stream once. got: there was one, and it has ended; more: it makes
// sense to ask again.
func (s *stream) get() (got, more bool) {
	h := http.Header{"Accept": {"text/event-stream"}}
	if s.last != "" {
		h.Set("Last-Event-Id", s.last)
	}
	x, err := s.b.exchange(s.ctx, http.MethodGet, s.b.cfg.Upstream, s.b.sessionHeader(h), nil, nil)
	if err != nil {
		return false, s.ctx.Err() == nil
	}
	defer x.body.Close()
	switch {
	case x.StatusCode == http.StatusOK && mediaType(x.Header) == "text/event-stream":
	case x.StatusCode >= 500 && x.StatusCode != http.StatusNotImplemented:
		io.Copy(io.Discard, io.LimitReader(x.body, chunk))
		return false, true
	default:
		// 405: the server has none. Others are not better the second time.
		io.Copy(io.Discard, io.LimitReader(x.body, chunk))
		return false, false
	}
	if s.p == nil {
		s.b.streaming(+1)
		defer s.b.streaming(-1)
	}
	return true, !errors.Is(s.read(x.body, s.last != ""), errTooLong)
}

// listen holds the session's own stream, once.
func (b *bridge) listen() {
	b.mu.Lock()
	if b.stop != nil || b.ending || b.modern || b.old != nil {
		b.mu.Unlock()
		return
	}
	ctx, stop := context.WithCancel(b.ctx)
	b.stop = stop
	b.mu.Unlock()
	b.start(func() {
		defer stop()
		s := &stream{b: b, ctx: ctx}
		s.follow()
	})
}

func (b *bridge) streaming(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams += n
}

// hasStream tells whether the session's own stream is open.
func (b *bridge) hasStream() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.streams > 0
}

// knownIDs remembers the ids of the last events.
type knownIDs struct {
	mu   sync.Mutex
	ids  map[string]struct{}
	ring []string
	at   int
}

// add reports whether id was there already.
func (k *knownIDs) add(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.ids[id]; ok {
		return true
	}
	if k.ids == nil {
		k.ids = map[string]struct{}{}
	}
	if len(k.ring) < maxKnown {
		k.ring = append(k.ring, id)
	} else {
		delete(k.ids, k.ring[k.at])
		k.ring[k.at] = id
		k.at = (k.at + 1) % maxKnown
	}
	k.ids[id] = struct{}{}
	return false
}

// oldStream is a session of the HTTP+SSE transport of 2024-11-05 (wire.md 1.5):
// messages go to its endpoint, and everything comes back on the stream.
type oldStream struct {
	endpoint *url.URL
	dead     chan struct{} // closed: the stream has ended, and the session with it
	stop     context.CancelFunc
}

// mayBeOld: statuses that a server of 2024-11-05 answers a POST with that it does
// not know. Those of credentials and of load say nothing about eras.
func mayBeOld(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status/100 == 4
}

// openOld asks the upstream for the stream of 2024-11-05; nil: it has none.
func (b *bridge) openOld() *oldStream {
	ctx, stop := context.WithCancel(b.ctx)
	limit := time.AfterFunc(b.waits.Endpoint, stop)
	defer limit.Stop()
	x, err := b.exchange(ctx, http.MethodGet, b.cfg.Upstream, http.Header{"Accept": {"text/event-stream"}}, nil, nil)
	if err != nil {
		stop()
		return nil
	}
	if x.StatusCode != http.StatusOK || mediaType(x.Header) != "text/event-stream" {
		io.Copy(io.Discard, io.LimitReader(x.body, chunk))
		x.body.Close()
		stop()
		return nil
	}
	e := &eventReader{r: x.body}
	old := &oldStream{dead: make(chan struct{}), stop: stop}
	for old.endpoint == nil {
		ev, err := e.next()
		if err != nil {
			break
		}
		if ev.name != "endpoint" {
			continue
		}
		u, err := b.cfg.Upstream.Parse(strings.TrimSpace(string(ev.data)))
		if err != nil || !sameOrigin(u, b.cfg.Upstream) {
			b.note("the server's endpoint event names another server: refused")
			break
		}
		u.User = b.cfg.Upstream.User
		old.endpoint = u
	}
	if old.endpoint == nil || !limit.Stop() {
		x.body.Close()
		stop()
		return nil
	}
	b.mu.Lock()
	b.old = old
	b.mu.Unlock()
	b.start(func() {
		defer close(old.dead)
		defer x.body.Close()
		for {
			ev, err := e.next()
			if err != nil {
				return
			}
			if ev.name == "" || ev.name == "message" {
				b.message(nil, ev.data)
			}
		}
	})
	return old
}

// sendOld sends the line to the endpoint of a session of 2024-11-05.
func (p *post) sendOld(old *oldStream) {
	lost := fault{code: codeNoAnswer, why: "noAnswer", message: "the server's event stream has ended, and the session with it"}
	select {
	case <-old.dead:
		p.fail(lost)
		return
	default:
	}
	x, err := p.b.exchange(p.ctx, http.MethodPost, old.endpoint, p.head, p.line, p.wrote)
	if err != nil {
		p.unreachable(err)
		return
	}
	defer x.body.Close()
	p.took()
	body, err := readAll(x.body)
	if x.StatusCode/100 != 2 {
		if m, ok := parse(body); err == nil && ok {
			p.b.deliver(p, body, m)
		}
		p.fail(statusFault(x.StatusCode, x.Header, body))
		return
	}
	p.await(old.dead)
	p.fail(lost)
}
