package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sixlink/sixlink/record"
)

// exchange is one request of a client and what becomes of it.
type exchange struct {
	p    *httpProxy
	n    int64
	conn *clientConn // nil where there is none of ours
	req  *http.Request
	mapped

	in, out   bodyTap // the request's body, the response's
	body      *requestBody
	headed    bool // the upstream's head (or one that we made) was offered
	changed   bool // the client does not get the upstream's bytes
	length    int64
	reason    string                 // of the upstream's status line
	connected atomic.Bool            // there was a connection to the upstream
	tls       atomic.Bool            // it got as far as the TLS handshake
	sent      atomic.Int32           // how often the head of the request was sent
	lostWrite atomic.Bool            // the client did not take the response
	read      atomic.Bool            // nothing more is read of the response's body
	cause     atomic.Pointer[string] // what broke the upstream's connection
}

// exchangeKey is where a request's context has its exchange.
type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// ServeHTTP takes a request through: recorded, then passed on.
func (p *httpProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{p: p, req: r, conn: connOf(r), length: -1}
	defer x.end()
	target := r.RequestURI
	if x.conn != nil && r.ProtoMajor == 1 {
		x.conn.busy.Store(true)
		target = x.conn.lines.target(target)
		if r.Body != http.NoBody { // else net/http is reading ahead already
			x.conn.lines.body()
		}
	}
	if r.ContentLength < 0 && r.Trailer == nil {
		r.Trailer = http.Header{} // for those that nobody announced
	}
	var refused string
	x.mapped, refused = p.names.request(r.Host, r.Header)
	x.head(target)
	u, ok := p.names.target(target)
	switch {
	case r.Method == http.MethodConnect:
		w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE")
		x.made(w, http.StatusMethodNotAllowed, "CONNECT: sixlink forwards to its one upstream only")
		return
	case refused != "":
		x.made(w, http.StatusForbidden, "the "+refused+" of this request is none of sixlink's own; --public-url or --allow-host names others")
		return
	case !ok:
		x.made(w, http.StatusBadRequest, "this request target cannot be sent on as it is")
		return
	}
	if r.ProtoMajor == 1 {
		// Else net/http would swallow what is left of a request's body before the
		// response's head: the upstream may answer early.
		http.NewResponseController(w).EnableFullDuplex()
	}
	x.body = &requestBody{x: x, src: r.Body}
	out := r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	out.URL, out.Body = u, x.body.reader()
	reply := &replyWriter{ResponseWriter: w, x: x}
	defer reply.end()
	if r.Method == http.MethodGet && r.Header.Get("Accept") == "text/event-stream" {
		p.streams.ServeHTTP(reply, out)
		return
	}
	p.reverse.ServeHTTP(reply, out)
}

// head gives the exchange its number and offers the request's head.
func (x *exchange) head(target string) {
	r := x.req
	h := &record.HTTPRequest{
		Peer: r.RemoteAddr, Method: r.Method, Target: target, Proto: r.Proto, Host: r.Host, Headers: record.Fields(r.Header),
		Length: r.ContentLength, Sent: x.mapped.sent, End: r.ContentLength == 0 && !upgrades(r),
	}
	if x.conn != nil {
		h.Conn = x.conn.n
	}
	p := x.p
	p.open.add(1)
	p.heads.Lock()
	defer p.heads.Unlock()
	p.last++
	x.n = p.last
	x.in = bodyTap{x: x, from: record.Client, ended: h.End}
	x.out = bodyTap{x: x, from: record.Server, ended: true}
	p.tap.Event(record.Record{Kind: record.KindRequest, From: record.Client, Exchange: x.n, Request: h})
}

// upgrades tells whether a request asks for another protocol on its connection:
// its body may go on as a tunnel.
func upgrades(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.Header["Upgrade"] != nil && slices.Contains(connectionNames(r.Header), "Upgrade")
}

// connectionNames are the fields that Connection lists: they go no further.
func connectionNames(h http.Header) []string {
	var names []string
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			names = append(names, textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)))
		}
	}
	return names
}

// rewriteRequest makes what the upstream gets what the client sent, but for Host,
// Origin and Referer.
func rewriteRequest(pr *httputil.ProxyRequest) {
	x := exchangeOf(pr.In.Context())
	out := pr.Out
	out.URL, out.Host = pr.In.URL, x.host
	hop := connectionNames(pr.In.Header)
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := pr.In.Header[name]; ok && !slices.Contains(hop, name) {
			out.Header[name] = v // a tunnel's or a load balancer's; we add none
		}
	}
	for name, v := range x.mapped.sent {
		if name != "Host" {
			out.Header[name] = v
		}
	}
	// Else net/http sends a body that the upstream refused, to go on using the
	// connection, and asks the client for it.
	out.Close = out.Header["Expect"] != nil
	out.Trailer = pr.In.Trailer // filled when the body is at its end
	if out.Body != nil {
		out.GetBody = x.body.again
	}
}

// through sends requests to the upstream over base and offers what comes back.
func through(base *http.Transport) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return roundTrip(base, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func roundTrip(base *http.Transport, r *http.Request) (*http.Response, error) {
	x := exchangeOf(r.Context())
	trace := &httptrace.ClientTrace{
		TLSHandshakeStart: func() { x.tls.Store(true) },
		GotConn:           func(httptrace.GotConnInfo) { x.connected.Store(true) },
		WroteHeaders:      func() { x.sent.Add(1) },
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			x.offer(&record.HTTPResponse{Status: code, Headers: record.Fields(header), Length: 0, End: true})
			return nil
		},
	}
	res, err := base.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err != nil {
		return nil, err
	}
	return x.response(res)
}

// offer offers a response's head.
func (x *exchange) offer(h *record.HTTPResponse) {
	if n := x.sent.Load(); n > 1 {
		h.Attempts = int(n)
	}
	x.p.tap.Event(record.Record{Kind: record.KindResponse, From: record.Server, Exchange: x.n, Response: h})
}

// response offers the head of the upstream's response, and makes its body be
// offered as it is read.
func (x *exchange) response(res *http.Response) (*http.Response, error) {
	x.headed, x.length = true, res.ContentLength
	x.body.answer()
	_, x.reason, _ = strings.Cut(res.Status, " ")
	h := &record.HTTPResponse{Status: res.StatusCode, Reason: x.reason, Proto: res.Proto, Headers: record.Fields(res.Header), Length: res.ContentLength}
	if res.StatusCode == http.StatusSwitchingProtocols {
		h.Length = -1
		x.offer(h)
		x.out.begin()
		if rwc, ok := res.Body.(io.ReadWriteCloser); ok {
			res.Body = &tunnelBody{ReadWriteCloser: rwc, x: x}
		}
		return res, nil
	}
	if x.req.ContentLength == 0 {
		x.in.piece(nil, record.BodyLast, nil, nil) // it was open for a tunnel at most
	}
	h.End = res.Body == http.NoBody || x.req.Method == http.MethodHead || res.ContentLength == 0
	b := &responseBody{x: x, src: res.Body, res: res}
	var fields http.Header
	if rw := x.p.conf.Rewriter; rw != nil && x.own != "" {
		fields, b.change = rw.Response(x.own, x.p.names.upOrigin, x.req, res)
	}
	if b.change != nil && !h.End {
		x.changed = true
		if fields == nil {
			fields = http.Header{}
		}
		b.rewrite(fields)
	} else {
		b.change = nil
	}
	if len(fields) > 0 {
		h.Sent = record.Fields(fields)
	}
	x.offer(h)
	for name, v := range fields {
		if len(v) == 0 {
			delete(res.Header, name)
		} else {
			res.Header[name] = v
		}
	}
	if !h.End {
		x.out.begin()
		b.offerKept()
		res.Body = b
	}
	return res, nil
}

// failed is where requests end that got no response.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	switch {
	case x.headed: // ReverseProxy could not go on with it
		x.setCause(err)
	case x.p.stopping.Load():
		x.p.tap.closed(x.n, record.ByProxy, record.ResponseBody, whyStopped, nil)
	case x.body.broken():
		// The client broke off its request; end says so.
	case x.left():
		x.p.tap.closed(x.n, record.ByClient, record.ResponseBody, "", nil)
	case !x.connected.Load():
		what := "connect"
		if x.tls.Load() {
			what = "tls"
		}
		x.p.tap.Event(record.Record{Kind: record.KindError, Exchange: x.n, Error: &record.Error{What: what, Error: reason(err)}})
		x.made(w.(*replyWriter).ResponseWriter, http.StatusBadGateway, "the upstream was not reached: "+reason(err))
		return
	default:
		// The upstream took the request and closed its connection without a word: so
		// do we.
		x.p.tap.closed(x.n, record.ByServer, record.ResponseBody, "", err)
	}
	panic(http.ErrAbortHandler)
}

// made gives a response of our own, marked as such.
func (x *exchange) made(w http.ResponseWriter, status int, why string) {
	x.headed = true
	body := []byte("sixlink: " + why + "\n")
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Sixlink-Made", "proxy")
	head := &record.HTTPResponse{Status: status, Reason: http.StatusText(status), Proto: "HTTP/1.1", Headers: record.Fields(h), Length: int64(len(body)), Made: true, Why: why,
		End: x.req.Method == http.MethodHead}
	x.offer(head)
	if !head.End {
		x.out.begin()
		x.out.piece(body, record.BodyLast, nil, nil)
	}
	w.WriteHeader(status)
	w.Write(body)
}

// left tells whether the client has left the exchange.
func (x *exchange) left() bool { return x.req.Context().Err() != nil || x.lostWrite.Load() }

func (x *exchange) setCause(err error) {
	if err != nil {
		s := reason(err)
		x.cause.CompareAndSwap(nil, &s)
	}
}

// end says how what is still open of the exchange ended.
func (x *exchange) end() {
	defer x.p.open.add(-1)
	if x.body != nil {
		x.body.close()
	}
	x.in.cut(func() *record.Close {
		c := &record.Close{Who: record.ByServer, What: record.RequestBody}
		switch {
		case x.p.stopping.Load():
			c.Who, c.Why = record.ByProxy, whyStopped
		case x.body == nil || !x.headed && !x.connected.Load():
			c.Who, c.Why = record.ByProxy, "not passed on"
		case x.body.broken():
			c.Who, c.Error = record.ByClient, reason(x.body.err)
		case x.left():
			c.Who = record.ByClient
		}
		return c
	})
	x.out.cut(func() *record.Close {
		c := &record.Close{Who: record.ByServer, What: record.ResponseBody}
		switch {
		case x.p.stopping.Load():
			c.Who, c.Why = record.ByProxy, whyStopped
		case x.left():
			c.Who = record.ByClient
		default:
			if s := x.cause.Load(); s != nil {
				c.Error = *s
			}
		}
		return c
	})
	x.p.tap.done(x.n)
}
