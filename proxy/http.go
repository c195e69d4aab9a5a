package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// HTTP is a transparent proxy in front of one HTTP server: the whole origin is
// mounted, every path goes to the same path there. What a client sees differs
// from what the server sent only in what FORMAT.md 10 lists as lost by net/http,
// and in what a [Rewriter] changes.
type HTTP struct {
	// Listener is where clients come in; it is the proxy's from the call of Run on.
	Listener net.Listener
	// Certificate makes the proxy speak TLS to clients. Nil: plain HTTP.
	Certificate *tls.Certificate
	// Upstream is the server: http or https, its authority; the rest of it does not
	// count.
	Upstream *url.URL
	// Roots are whom the upstream's certificate must be from; nil: the system's.
	Roots *x509.CertPool
	// Public is the origin under which clients know the proxy, where that is not
	// where it listens. May be nil.
	Public *url.URL
	// AllowHosts are authorities, or names for any port, that may stand in Host and
	// Origin though they are not ours, when the upstream is not on loopback.
	AllowHosts []string
	// Rewriter may change responses. Nil changes none.
	Rewriter Rewriter
	// Tap gets the copies. Nil records nothing.
	Tap HTTPTap
	// Drain is how long open exchanges may go on after a signal. 0 cuts them at once.
	Drain time.Duration
	// Note, if set, gets one-line notes. It must not block.
	Note func(string)
}

// The limits of the proxy.
const (
	// headBytes is how large a head may be. A line of a recording has 8 MiB
	// (FORMAT.md 3), and a byte of a head may take six there.
	headBytes = 1 << 20
	// keepBytes is how much of a request's body is kept, to send it again when the
	// connection turns out to have been closed before anything was sent
	// (recorder.md 3.8).
	keepBytes = 1 << 20
	// continueWait is how long a client that asks first (Expect: 100-continue) waits
	// for the upstream's word. Servers need not give one; clients wait about so long.
	continueWait = time.Second
	// endWait is how long exchanges that were cut off may take to notice, cutWait how long
	// their clients' connections stay open for that.
	endWait = 2 * time.Second
	cutWait = 20 * time.Millisecond
	// flushWait is how long a signal waits for the recording's flush.
	flushWait = 50 * time.Millisecond
	// idleConns is how many idle connections to the upstream are kept.
	idleConns = 1024
	// copyBytes is the size of the pieces in which bodies pass; streamBytes that of
	// streams that a client opens to wait: there may be thousands.
	copyBytes   = 32 << 10
	streamBytes = 4 << 10
	// readBytes is what is read of the upstream at once with a head: most JSON answers
	// are one piece then.
	readBytes = 32 << 10
)

// The reasons that the proxy gives for what it does itself.
const whyStopped = "sixlink was stopped"

// httpProxy is a running [HTTP].
type httpProxy struct {
	conf     *HTTP
	tap      *httpGuard
	names    *authorities
	reverse  httputil.ReverseProxy // and the same for streams that a client opens to wait
	streams  httputil.ReverseProxy
	base     *http.Transport // and the same for those
	waiting  *http.Transport
	closing  atomic.Bool // no more is accepted
	stopping atomic.Bool // open exchanges are being cut off

	heads sync.Mutex // exchanges are numbered in the order of their heads
	last  int64
	open  census
}

// Run serves until ctx ends or a signal of those that end a server comes, and
// then up to Drain for what is open; a second signal cuts that off. It makes no
// call to the tap after it returned. The error says that the listener broke.
func (h *HTTP) Run(ctx context.Context, signals <-chan os.Signal) error {
	p := newHTTPProxy(h)
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	quiet := log.New(io.Discard, "", 0) // the recording has it
	p.reverse.ErrorLog, p.streams.ErrorLog = quiet, quiet
	// No timeout of any kind: a stream may be silent for hours (wire.md 1.7).
	server := &http.Server{
		Handler: p, Protocols: &protocols, MaxHeaderBytes: headBytes, ErrorLog: quiet, DisableGeneralOptionsHandler: true,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: idleConns * 8}, // net/http's 250 would hold back streams that wait
		ConnContext: withConn, ConnState: connState, BaseContext: func(net.Listener) context.Context { return base },
	}
	var conf *tls.Config
	if h.Certificate != nil {
		conf = &tls.Config{Certificates: []tls.Certificate{*h.Certificate}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	}
	ln := p.listen(h.Listener, conf)
	broken := make(chan error, 1)
	go func() { broken <- server.Serve(ln) }()
	asked, deaf := endSignals(signals)
	defer deaf()
	var err error
	select {
	case err = <-broken:
	case <-ctx.Done():
	case <-asked:
	}
	p.closing.Store(true)
	p.tap.Flush(flushWait)
	if err == nil && h.Drain > 0 {
		drain, stop := context.WithTimeout(context.Background(), h.Drain)
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			if server.Shutdown(drain) == nil {
				p.open.await(drain.Done()) // connections that were switched to another protocol
			}
		}()
		select {
		case <-drained:
		case <-asked:
		}
		stop()
		<-drained
	}
	p.stopping.Store(true)
	p.tap.GiveUp()
	cut()
	// What was read of the upstream is written on, by all that can be cut off without
	// closing their clients' connections.
	p.endSoon(cutWait)
	server.Close()
	ln.Close()
	if err == nil {
		<-broken
	}
	p.endSoon(endWait)
	p.base.CloseIdleConnections()
	p.waiting.CloseIdleConnections()
	p.tap.Silence()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listening on %s: %w", h.Listener.Addr(), err)
	}
	return nil
}

// endSoon waits until no exchange is open, for limit at most.
func (p *httpProxy) endSoon(limit time.Duration) {
	ended := make(chan struct{})
	late := time.AfterFunc(limit, func() { close(ended) })
	p.open.await(ended)
	late.Stop()
}

// endSignals hands on the signals that end a server, until deaf is called.
func endSignals(signals <-chan os.Signal) (asked <-chan os.Signal, deaf func()) {
	c, done := make(chan os.Signal), make(chan struct{})
	go func() {
		for {
			select {
			case s, ok := <-signals:
				if !ok {
					return
				}
				if sig, ok := s.(syscall.Signal); !ok || !endsServer(sig) {
					continue
				}
				select {
				case c <- s:
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	return c, func() { close(done) }
}

// A census counts what is open.
type census struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0; nil while nobody waits
}

func (c *census) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n += n; c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// await waits until nothing is open, or for done.
func (c *census) await(done <-chan struct{}) {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	select {
	case <-none:
	case <-done:
	}
}

func newHTTPProxy(h *HTTP) *httpProxy {
	scheme := "http"
	if h.Certificate != nil {
		scheme = "https"
	}
	p := &httpProxy{conf: h, tap: newHTTPGuard(h.Tap, h.Note), names: newAuthorities(h.Listener.Addr(), scheme, h.Upstream, h.Public, h.AllowHosts)}
	// What net/http would do of its own is off: compression, proxies from the
	// environment, timeouts, redirects (those are a Client's).
	p.base = &http.Transport{
		DialContext: (&net.Dialer{}).DialContext, TLSClientConfig: &tls.Config{RootCAs: h.Roots, MinVersion: tls.VersionTLS12},
		DisableCompression: true, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: 90 * time.Second,
		ExpectContinueTimeout: continueWait, MaxResponseHeaderBytes: headBytes, ReadBufferSize: readBytes,
	}
	p.reverse = httputil.ReverseProxy{Rewrite: rewriteRequest, Transport: through(p.base), ErrorHandler: failed, BufferPool: bigBuffers}
	p.waiting = p.base.Clone()
	p.waiting.ReadBufferSize = streamBytes
	p.streams = p.reverse
	p.streams.Transport, p.streams.BufferPool = through(p.waiting), smallBuffers
	return p
}

// buffers are what bodies are copied with: of one size.
type buffers struct{ pool sync.Pool }

var bigBuffers, smallBuffers = newBuffers(copyBytes), newBuffers(streamBytes)

func newBuffers(size int) *buffers {
	return &buffers{sync.Pool{New: func() any { b := make([]byte, size); return &b }}}
}

func (b *buffers) Get() []byte  { return *b.pool.Get().(*[]byte) }
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// URL is where clients on this machine reach a listener: an origin.
func URL(addr net.Addr, tls bool) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return scheme + "://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + bareAuthority(scheme, net.JoinHostPort(host, port))
}
