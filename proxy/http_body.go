package proxy

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sixlink/sixlink/record"
)

// stall is how long a write may take before it is recorded as blocked
// (recorder.md 2.8).
const stall = 100 * time.Millisecond

// bodyTap offers a body's pieces. A body that began ends exactly once.
type bodyTap struct {
	x    *exchange
	from record.From

	mu    sync.Mutex
	off   int64
	ended bool // or never began
}

func (t *bodyTap) begin() {
	t.mu.Lock()
	t.ended = false
	t.mu.Unlock()
}

// piece offers p; it reports false when the body was over.
func (t *bodyTap) piece(p []byte, end record.BodyEnd, trailers http.Header, patch []record.Patch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(p, end, trailers, patch)
}

func (t *bodyTap) put(p []byte, end record.BodyEnd, trailers http.Header, patch []record.Patch) bool {
	if t.ended {
		return false
	}
	t.ended = end != record.BodyMore
	b := &record.Body{Exchange: t.x.n, From: t.from, Off: t.off, Data: p, End: end, Trailers: record.Fields(trailers), Patch: patch}
	t.off += int64(len(p))
	t.x.p.tap.body(b)
	return true
}

// cut ends a body that is open, and tells who did it.
func (t *bodyTap) cut(who func() *record.Close) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.x.p.tap.Event(record.Record{Kind: record.KindClose, Exchange: t.x.n, Close: who()})
		t.put(nil, record.BodyCut, nil, nil)
	}
}

// stalled tells when what was read last at `since` took long to be written on.
func (t *bodyTap) stalled(since time.Time) {
	if d := time.Since(since); !since.IsZero() && d > stall {
		t.x.p.tap.Event(record.Record{Kind: record.KindStall, From: t.from, Exchange: t.x.n, Stall: &record.Stall{Ms: d.Milliseconds()}})
	}
}

var errEnded = errors.New("the exchange is over")

// requestBody is a request's body on its way to the upstream. It streams, and
// remembers the first keepBytes of it: should the connection turn out to be
// closed, net/http reads it again from the beginning.
type requestBody struct {
	x   *exchange
	src io.Reader

	mu     sync.Mutex // held while src is read
	kept   []byte
	n      int  // bytes that were read of src
	over   bool // kept is not all of them
	err    error
	readAt time.Time // when a read came back with bytes

	state    sync.Mutex
	closed   bool
	answered bool
}

func (b *requestBody) reader() io.ReadCloser { return &bodyReader{b: b} }

// again is net/http's GetBody.
func (b *requestBody) again() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil, errors.New("a request of over 1 MiB is not sent again")
	}
	return b.reader(), nil
}

// close ends all reading: net/http may try after the exchange is over.
func (b *requestBody) close() {
	b.state.Lock()
	b.closed = true
	b.state.Unlock()
}

func (b *requestBody) isClosed() bool {
	b.state.Lock()
	defer b.state.Unlock()
	return b.closed
}

// answer says that there is a response: the request will not be sent again, and the
// response may take hours.
func (b *requestBody) answer() {
	b.state.Lock()
	b.answered = true
	b.state.Unlock()
	if b.mu.TryLock() { // else Read does it
		b.forget()
		b.mu.Unlock()
	}
}

// forget lets go of what was kept, once there is a response.
func (b *requestBody) forget() {
	b.state.Lock()
	defer b.state.Unlock()
	if b.answered && !b.over {
		b.kept, b.over = nil, true
	}
}

// broken tells whether the client broke off the body.
func (b *requestBody) broken() bool {
	if !b.mu.TryLock() {
		return false // it is being read
	}
	defer b.mu.Unlock()
	return b.err != nil && b.err != io.EOF
}

// bodyReader is one reading of a request's body.
type bodyReader struct {
	b   *requestBody
	off int
}

func (r *bodyReader) Close() error { return nil }

func (r *bodyReader) Read(p []byte) (int, error) {
	b := r.b
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.isClosed():
		return 0, errEnded
	case r.off < len(b.kept):
		n := copy(p, b.kept[r.off:])
		r.off += n
		if r.off == len(b.kept) && b.err == io.EOF {
			return n, io.EOF
		}
		return n, nil
	case r.off < b.n:
		return 0, errEnded // of an attempt that was given up
	case b.err != nil:
		return 0, b.err
	}
	b.x.in.stalled(b.readAt)
	n, err := b.src.Read(p)
	b.readAt = time.Time{}
	if n > 0 && err == nil {
		b.readAt = time.Now()
	}
	end := record.BodyMore
	var trailers http.Header
	if err == io.EOF {
		end, trailers = record.BodyLast, withValues(b.x.req.Trailer)
	}
	if (n > 0 || err == io.EOF) && !b.x.in.piece(p[:n], end, trailers, nil) {
		return 0, errEnded // it was too late to be offered
	}
	b.err = err
	if !b.over {
		if len(b.kept)+n <= keepBytes {
			b.kept = append(b.kept, p[:n]...)
		} else {
			b.kept, b.over = nil, true
		}
	}
	b.n += n
	b.forget()
	r.off += n
	return n, err
}

// withValues are the trailers that came.
func withValues(h http.Header) http.Header {
	var out http.Header
	for name, v := range h {
		if len(v) > 0 {
			if out == nil {
				out = http.Header{}
			}
			out[name] = v
		}
	}
	return out
}

// responseBody is the upstream's body on its way to the client.
type responseBody struct {
	x      *exchange
	src    io.ReadCloser
	res    *http.Response
	readAt time.Time

	// With a rewriter: out is what the client is to get next, err what comes
	// behind it; kept is what was read before the head was offered.
	change BodyRewriter
	buf    []byte
	out    []byte
	err    error
	kept   []byte
	whole  []record.Patch
}

// rewriteWhole is how long a body may be that is rewritten as a whole, so that
// its new length can be announced.
const rewriteWhole = 1 << 20

// rewrite prepares the body's change; fields are the head's changes. A length
// that was announced is the old one: a body that is short enough is rewritten now
// and its new length announced, else none is.
func (b *responseBody) rewrite(fields http.Header) {
	announced := b.res.Header["Content-Length"] != nil
	n := b.res.ContentLength
	b.x.length = -1
	b.res.ContentLength = -1
	if announced {
		fields["Content-Length"] = []string{}
	}
	if n < 0 || n > rewriteWhole {
		return
	}
	b.kept = make([]byte, n)
	got, err := io.ReadFull(b.src, b.kept)
	if b.kept = b.kept[:got]; err != nil {
		// As if it broke off under way: what came goes on, under the length that was
		// announced unless that is wrong now.
		b.out, b.whole = b.change.Next(b.kept, true)
		b.err = err
		if announced && len(b.whole) == 0 {
			b.x.length, b.res.ContentLength = n, n
			delete(fields, "Content-Length")
		}
		return
	}
	b.out, b.whole = b.change.Next(b.kept, true)
	b.err = io.EOF
	if announced {
		b.x.length = int64(len(b.out))
		b.res.ContentLength = b.x.length
		if s := strconv.Itoa(len(b.out)); len(b.out) != got {
			fields["Content-Length"] = []string{s}
		} else {
			delete(fields, "Content-Length")
		}
	}
}

// offerKept offers what was read before the head could be.
func (b *responseBody) offerKept() {
	switch {
	case b.change == nil || b.err == nil:
	case b.err == io.EOF:
		b.x.out.piece(b.kept, record.BodyLast, withValues(b.res.Trailer), b.whole)
	default:
		b.x.setCause(b.err)
		b.x.out.piece(b.kept, record.BodyMore, nil, b.whole)
	}
	b.kept, b.whole = nil, nil
}

func (b *responseBody) Read(p []byte) (int, error) {
	b.x.out.stalled(b.readAt)
	b.readAt = time.Time{}
	if b.change != nil {
		return b.readChanged(p)
	}
	n, err := b.src.Read(p)
	b.offer(p[:n], err, nil)
	if n > 0 && err == nil {
		b.readAt = time.Now()
	}
	return n, err
}

// offer offers what a read gave.
func (b *responseBody) offer(p []byte, err error, patch []record.Patch) {
	switch {
	case err == io.EOF:
		b.x.out.piece(p, record.BodyLast, withValues(b.res.Trailer), patch)
	case len(p) > 0 || len(patch) > 0:
		b.x.out.piece(p, record.BodyMore, nil, patch)
	}
	if err != nil && err != io.EOF {
		b.x.setCause(err)
	}
}

func (b *responseBody) readChanged(p []byte) (int, error) {
	for len(b.out) == 0 && b.err == nil {
		if b.buf == nil {
			b.buf = make([]byte, copyBytes)
		}
		n, err := b.src.Read(b.buf)
		var patch []record.Patch
		if n > 0 || err != nil {
			// Nothing more comes where it breaks off, either: what was held back is the
			// client's.
			b.out, patch = b.change.Next(b.buf[:n], err != nil)
		}
		b.offer(b.buf[:n], err, patch)
		b.err = err
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	if len(b.out) == 0 {
		return n, b.err
	}
	return n, nil
}

func (b *responseBody) Close() error {
	b.x.read.Store(true)
	return b.src.Close()
}

// tunnelBody offers both directions of a connection that goes on in another
// protocol.
type tunnelBody struct {
	io.ReadWriteCloser
	x *exchange
}

func (t *tunnelBody) Read(p []byte) (int, error) {
	n, err := t.ReadWriteCloser.Read(p)
	if err == io.EOF {
		t.x.out.piece(p[:n], record.BodyLast, nil, nil)
	} else if n > 0 {
		t.x.out.piece(p[:n], record.BodyMore, nil, nil)
	}
	if err != nil && err != io.EOF {
		t.x.setCause(err)
	}
	return n, err
}

func (t *tunnelBody) Write(p []byte) (int, error) {
	t.x.in.piece(p, record.BodyMore, nil, nil)
	return t.ReadWriteCloser.Write(p)
}

// CloseWrite passes on that the client ended its direction.
func (t *tunnelBody) CloseWrite() error {
	t.x.in.piece(nil, record.BodyLast, nil, nil)
	if w, ok := t.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
