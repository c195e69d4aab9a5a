package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sixlink/sixlink/record"
)

// clientConn is a connection of a client. It tells who ended it first, and puts
// the upstream's reason phrase into status lines, where net/http knows only its own.
type clientConn struct {
	net.Conn
	p    *httpProxy
	n    int64 // from 1, in the order in which they came
	once sync.Once
	fin  atomic.Bool // the client closed its side

	// line is the status line that the next write is to begin with.
	line atomic.Pointer[statusLine]

	// busy says that a request has reached us: before, net/http answers by itself.
	busy atomic.Bool

	lines lineReader
	from  io.Reader // the connection, as raw reads it
}

// statusLine is a status with the upstream's reason phrase.
type statusLine struct {
	code   int
	reason string
}

// Read reads for net/http: for its TLS, where there is that.
func (c *clientConn) Read(b []byte) (int, error) {
	if c.p.conf.Certificate != nil {
		return c.raw(b)
	}
	return c.lines.read(b, c.from)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func (c *clientConn) raw(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
		c.gone(err)
	}
	return n, err
}

func (c *clientConn) Write(b []byte) (int, error) {
	n, err := c.edit(b, c.Conn)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		c.gone(err)
	}
	return n, err
}

// edit writes b, with the reason phrase that is wanted if it is a response's
// beginning. net/http gives a response's head to its connection as the beginning
// of a write: everything before it was flushed.
func (c *clientConn) edit(b []byte, to io.Writer) (int, error) {
	l := c.line.Load()
	if l == nil && c.busy.Load() || !bytes.HasPrefix(b, []byte("HTTP/1.")) {
		return to.Write(b)
	}
	c.line.Store(nil)
	const version = len("HTTP/1.1 ")
	end := bytes.Index(b, []byte("\r\n"))
	edited := make([]byte, 0, len(b)+64)
	switch {
	case end < version+3:
		return to.Write(b)
	case l == nil:
		if b[version] < '4' {
			return to.Write(b)
		}
		// net/http refuses a request that it cannot read: there is no exchange.
		edited = append(append(edited, b[:end]...), "\r\nSixlink-Made: proxy"...)
		c.once.Do(func() { c.tell(record.ByProxy, "refused: "+string(b[version:end]), nil) })
	case string(b[version:version+3]) != strconv.Itoa(l.code):
		return to.Write(b) // never wrong bytes for a phrase
	default:
		edited = append(append(append(edited, b[:version+3]...), ' '), l.reason...)
	}
	edited = append(edited, b[end:]...)
	n, err := to.Write(edited)
	if err != nil {
		return max(0, min(n-len(edited)+len(b), len(b))), err
	}
	return len(b), nil
}

// gone tells, once, that the client ended the connection.
func (c *clientConn) gone(err error) {
	why := "reset"
	if errors.Is(err, io.EOF) {
		why, err = "fin", nil
		c.fin.Store(true)
	}
	c.once.Do(func() { c.tell(record.ByClient, why, err) })
}

func (c *clientConn) tell(who, why string, err error) {
	end := &record.Close{Who: who, What: record.Connection, Conn: c.n, Why: why}
	if err != nil {
		end.Error = reason(err)
	}
	c.p.tap.event(record.Record{Kind: record.KindClose, Close: end})
}

func (c *clientConn) Close() error {
	c.once.Do(func() {
		if c.p.closing.Load() {
			c.tell(record.ByProxy, whyStopped, nil)
		} else {
			// net/http closes where the upstream broke off, or the client asked for it.
			c.tell(record.ByServer, "fin", nil)
		}
	})
	return c.Conn.Close()
}

// CloseWrite closes our side only.
func (c *clientConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// tlsConn is the plain text of a TLS connection that speaks HTTP/1.1.
type tlsConn struct {
	*tls.Conn
	c *clientConn
}

func (t tlsConn) Read(b []byte) (int, error) { return t.c.lines.read(b, t.Conn) }

func (t tlsConn) Write(b []byte) (int, error) { return t.c.edit(b, t.Conn) }

// acceptWait is how long accepting rests when the system has no more connections.
const acceptWait = 20 * time.Millisecond

// listener hands out the connections of clients. With TLS they have shaken hands.
type listener struct {
	net.Listener
	p    *httpProxy
	tls  *tls.Config
	next atomic.Int64

	ready chan net.Conn
	err   chan error
	done  chan struct{}
	once  sync.Once
	stop  context.CancelFunc
	hands sync.WaitGroup
}

func (p *httpProxy) listen(l net.Listener, conf *tls.Config) *listener {
	ctx, stop := context.WithCancel(context.Background())
	ln := &listener{Listener: l, p: p, tls: conf, ready: make(chan net.Conn), err: make(chan error, 1), done: make(chan struct{}), stop: stop}
	if conf != nil {
		ln.hands.Go(func() { ln.shakeHands(ctx) })
	}
	return ln
}

func (l *listener) accept() (*clientConn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	own := &clientConn{Conn: c, p: l.p, n: l.next.Add(1)}
	own.from = readerFunc(own.raw)
	return own, nil
}

func (l *listener) Accept() (net.Conn, error) {
	if l.tls == nil {
		c, err := l.accept()
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	select {
	case c := <-l.ready:
		return c, nil
	case err := <-l.err:
		return nil, err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// shakeHands accepts connections until there are no more. One that is slow to
// shake hands holds up no other.
func (l *listener) shakeHands(ctx context.Context) {
	for {
		c, err := l.accept()
		if err != nil {
			var temporary interface{ Temporary() bool }
			if errors.As(err, &temporary) && temporary.Temporary() {
				select { // no more descriptors: net/http waits, too
				case <-time.After(acceptWait):
					continue
				case <-l.done:
				}
			}
			l.err <- err
			return
		}
		l.hands.Go(func() {
			t := tls.Server(c, l.tls)
			if err := t.HandshakeContext(ctx); err != nil {
				c.Close()
				return
			}
			var ready net.Conn = tlsConn{t, c}
			if t.ConnectionState().NegotiatedProtocol == "h2" {
				ready = t // net/http wants to see that it is one
			}
			select {
			case l.ready <- ready:
			case <-l.done:
				t.Close()
			}
		})
	}
}

func (l *listener) Close() error {
	var err error
	l.once.Do(func() {
		close(l.done)
		l.stop()
		err = l.Listener.Close()
		l.hands.Wait()
	})
	return err
}

// connKey is where a request's context has its [clientConn].
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, ours(c))
}

// ours is the client's connection behind one that net/http has.
func ours(c net.Conn) *clientConn {
	switch t := c.(type) {
	case tlsConn:
		return t.c
	case *tls.Conn:
		c = t.NetConn()
	}
	own, _ := c.(*clientConn)
	return own
}

func connState(c net.Conn, s http.ConnState) {
	if own := ours(c); own != nil {
		own.lines.state(s)
		if s == http.StateIdle {
			own.busy.Store(false)
		}
	}
}

func connOf(r *http.Request) *clientConn {
	c, _ := r.Context().Value(connKey{}).(*clientConn)
	return c
}
