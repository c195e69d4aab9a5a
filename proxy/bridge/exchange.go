package bridge

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sixlink/sixlink/record"
)

// chunk is the most that is read of a body at once, in bytes: the size of a
// recording's piece.
const chunk = 64 << 10

// exchange is one HTTP request with its response, recorded.
type exchange struct {
	*http.Response
	body *bodyReader
}

// maxRedirects is how often one request is sent on; servers redirect /mcp to /mcp/.
const maxRedirects = 5

// exchange sends a request and returns when the head of its response is there.
// The caller reads body to its end, or closes it. A redirect that keeps the method
// is followed within the upstream's origin, as every client would, and never out of
// it: the credentials are the upstream's. wrote, if not nil, is called when the
// request is written.
func (b *bridge) exchange(ctx context.Context, method string, u *url.URL, h http.Header, body []byte, wrote func()) (*exchange, error) {
	for n := 0; ; n++ {
		x, err := b.once(ctx, method, u, h, body, wrote)
		if err != nil || n == maxRedirects || x.StatusCode != http.StatusTemporaryRedirect && x.StatusCode != http.StatusPermanentRedirect {
			return x, err
		}
		to, err := u.Parse(x.Header.Get("Location"))
		if err != nil || x.Header.Get("Location") == "" || !sameOrigin(to, b.cfg.Upstream) {
			return x, nil
		}
		io.Copy(io.Discard, io.LimitReader(x.body, chunk))
		x.body.Close()
		u = to
	}
}

// once sends one request.
func (b *bridge) once(ctx context.Context, method string, u *url.URL, h http.Header, body []byte, wrote func()) (*exchange, error) {
	var conns atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { conns.Add(1) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if wrote != nil {
				wrote()
			}
		},
	})
	// A Reader of bytes, so that net/http can send it again where the server had
	// closed an idle connection before anything was sent (wire.md 1.7).
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), r)
	if err != nil {
		return nil, err
	}
	for name, values := range b.header {
		req.Header[name] = values
	}
	for name, values := range h {
		req.Header[name] = values
	}
	if u.User != nil && req.Header.Get("Authorization") == "" {
		password, _ := u.User.Password()
		req.SetBasicAuth(u.User.Username(), password)
	}
	if b.host != "" {
		req.Host = b.host
	}
	id := b.last.Add(1)
	head := &record.HTTPRequest{Method: method, Target: req.URL.RequestURI(), Proto: req.Proto, Host: req.Host,
		Headers: record.Fields(req.Header.Clone()), Length: req.ContentLength, End: body == nil}
	b.tap.event(record.Record{Kind: record.KindRequest, From: record.Client, Exchange: id, Request: head})
	for off := 0; off < len(body); {
		n := min(len(body)-off, chunk)
		piece := &record.Body{Exchange: id, From: record.Client, Off: int64(off), Data: body[off : off+n]}
		if off += n; off == len(body) {
			piece.End = record.BodyLast
		}
		b.tap.body(piece)
	}
	resp, err := b.send.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			b.tap.event(record.Record{Kind: record.KindClose, Exchange: id,
				Close: &record.Close{Who: record.ByProxy, What: record.ResponseBody, Why: "nobody waits for the answer"}})
		} else {
			b.tap.event(record.Record{Kind: record.KindError, Exchange: id, Error: &record.Error{What: stage(err), Error: reason(err)}})
		}
		b.tap.done(id)
		return nil, err
	}
	rh := &record.HTTPResponse{Status: resp.StatusCode, Reason: strings.TrimPrefix(strings.TrimLeft(resp.Status, "0123456789"), " "), Proto: resp.Proto,
		Headers: record.Fields(resp.Header.Clone()), Length: resp.ContentLength, End: resp.Body == http.NoBody}
	if n := conns.Load(); n > 1 {
		rh.Attempts = int(n)
	}
	b.tap.event(record.Record{Kind: record.KindResponse, From: record.Server, Exchange: id, Response: rh})
	x := &exchange{Response: resp, body: &bodyReader{tap: b.tap, id: id, resp: resp, over: rh.End}}
	if rh.End {
		resp.Body.Close()
		b.tap.done(id)
	}
	return x, nil
}

// stage names what a request failed in: the words of record.Error.What.
func stage(err error) string {
	var op *net.OpError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &record), errors.As(err, &cert), errors.As(err, &unknown), strings.Contains(err.Error(), "tls: "):
		return "tls"
	case errors.As(err, &op) && op.Op == "dial":
		return "connect"
	}
	return "send"
}

// bodyReader reads the body of a response and offers what it read. One goroutine
// reads; Close may come from another one.
type bodyReader struct {
	tap  *guard
	id   int64
	resp *http.Response

	mu   sync.Mutex // covers an offer
	off  int64
	over bool
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.resp.Body.Read(p[:min(len(p), chunk)])
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return 0, io.EOF
	}
	piece := &record.Body{Exchange: r.id, From: record.Server, Off: r.off, Data: p[:n]}
	r.off += int64(n)
	switch {
	case err == io.EOF:
		piece.End, piece.Trailers = record.BodyLast, record.Fields(r.resp.Trailer)
	case err != nil:
		piece.End = record.BodyCut
	case n == 0:
		return 0, nil
	}
	r.tap.body(piece)
	if err != nil {
		r.over = true
		if err != io.EOF {
			c := &record.Close{Who: record.ByServer, What: record.ResponseBody, Error: reason(err)}
			if r.resp.Request.Context().Err() != nil {
				c = &record.Close{Who: record.ByProxy, What: record.ResponseBody, Why: "nobody waits for the rest"}
			}
			r.tap.event(record.Record{Kind: record.KindClose, Exchange: r.id, Close: c})
		}
		r.tap.done(r.id)
	}
	return n, err
}

// Close ends the reading. It says so in the recording if the body had not ended.
func (r *bodyReader) Close() error {
	r.mu.Lock()
	if !r.over {
		r.over = true
		r.tap.body(&record.Body{Exchange: r.id, From: record.Server, Off: r.off, End: record.BodyCut})
		r.tap.event(record.Record{Kind: record.KindClose, Exchange: r.id,
			Close: &record.Close{Who: record.ByProxy, What: record.ResponseBody, Why: "nobody waits for the rest"}})
		r.tap.done(r.id)
	}
	r.mu.Unlock()
	return r.resp.Body.Close()
}

// sameOrigin tells whether two URLs have one scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// reason is the words of an error without what the recording has anyway.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}
