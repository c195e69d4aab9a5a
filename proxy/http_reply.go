package proxy

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sixlink/sixlink/record"
)

// headWait is how long a head may wait for the body's first bytes, so that small
// answers and first events go out in one write.
const headWait = time.Millisecond

// replyWriter writes a response to the client as the upstream sent it: net/http
// adds nothing, and every piece goes out at once.
type replyWriter struct {
	http.ResponseWriter
	x *exchange

	mu      sync.Mutex
	timer   *time.Timer
	dirty   bool  // something waits in net/http's buffer
	wrote   int64 // of the body
	flushed int64
	over    bool
	lost    bool
}

func (w *replyWriter) WriteHeader(code int) {
	if code < 200 && code != http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	h := w.Header()
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := h[name]; !ok {
			h[name] = nil // net/http would make one
		}
	}
	phrase := http.StatusText(code)
	if phrase == "" {
		phrase = "status code " + strconv.Itoa(code) // as net/http has it
	}
	if c := w.x.conn; c != nil && w.x.req.ProtoMajor == 1 && w.x.reason != phrase {
		c.line.Store(&statusLine{code, w.x.reason})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ResponseWriter.WriteHeader(code)
	w.dirty = true
	if w.x.length != 0 {
		w.timer = time.AfterFunc(headWait, w.waited)
	}
}

func (w *replyWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	n, err := w.ResponseWriter.Write(p)
	w.wrote += int64(n)
	w.dirty = true
	if err != nil {
		w.fail(err)
	} else if w.wrote != w.x.length { // else net/http flushes, at the end
		err = w.flush()
	}
	return n, err
}

// FlushError is for ReverseProxy. It has the head of a stream flushed before there is
// any of the body: then the head waits its time. It must not once the body was read to
// its end: it is asked for then so that trailers can follow.
func (w *replyWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && !w.x.read.Load() {
		return nil
	}
	return w.flush()
}

// waited is when a head has waited long enough.
func (w *replyWriter) waited() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	w.flush()
}

func (w *replyWriter) flush() error {
	if !w.dirty || w.over {
		return nil
	}
	w.dirty = false
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if err != nil {
		w.fail(err)
		return err
	}
	w.flushed = w.wrote
	return nil
}

// fail tells that the client did not take what was read for it.
func (w *replyWriter) fail(err error) {
	w.x.lostWrite.Store(true)
	if w.lost || w.x.changed {
		return // offsets are the upstream's
	}
	w.lost = true
	w.x.p.tap.Event(record.Record{Kind: record.KindUndelivered, From: record.Server, Exchange: w.x.n, Off: w.flushed, Lost: &record.Undelivered{Error: reason(err)}})
}

// end sends a head that still waits, so that the client has what came before the
// upstream broke off, framed as it was. Then net/http takes the writer back.
func (w *replyWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
		w.flush()
	}
	w.over = true
}

// Hijack hands the connection to ReverseProxy, which switches protocols.
func (w *replyWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &hijacked{Conn: c, early: rw.Reader}, rw, nil
}

// hijacked is a client's connection that goes on in another protocol. A client may
// have sent some of that before it saw the answer.
type hijacked struct {
	net.Conn
	early *bufio.Reader
}

func (h *hijacked) Read(p []byte) (int, error) {
	if h.early.Buffered() > 0 {
		return h.early.Read(p)
	}
	return h.Conn.Read(p)
}

func (h *hijacked) CloseWrite() error {
	if w, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
