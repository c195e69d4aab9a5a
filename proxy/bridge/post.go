package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// call is a request of the host that waits for its answer.
type call struct {
	id     []byte
	key    string
	method string
	cancel context.CancelFunc // of its POST
	over   chan struct{}      // closed: it has one, or waits no longer
	once   sync.Once
}

func (c *call) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// post is one line of the host on its way.
type post struct {
	b     *bridge
	ctx   context.Context
	line  []byte
	m     *message
	init  bool // it is initialize
	calls []*call
	head  http.Header
	// modern says that the message is of the era without a session.
	modern bool

	written, taken chan struct{} // the request is written; its response's head is there
	once           [2]sync.Once
	cancel         context.CancelFunc
}

func (b *bridge) newPost(line []byte, m *message) *post {
	p := &post{b: b, line: line, m: m, written: make(chan struct{}), taken: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(b.ctx)
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	p.init = !m.batch && len(m.parts) == 1 && m.parts[0].method == "initialize" && m.parts[0].request()
	b.mu.Lock()
	for i := range m.parts {
		part := &m.parts[i]
		if part.version != "" && !m.batch {
			b.version, b.modern = part.version, true
		}
		if part.request() {
			c := &call{id: part.id, key: idKey(part.id), method: part.method, cancel: p.cancel, over: make(chan struct{})}
			p.calls = append(p.calls, c)
			b.calls[c] = struct{}{}
		}
	}
	p.modern = b.modern && !p.init && !m.batch
	b.mu.Unlock()
	if p.modern && len(m.parts) == 1 && m.parts[0].hasMethod {
		part := &m.parts[0]
		h.Set("Mcp-Method", fieldValue(part.method))
		if name, ok := part.name(); ok {
			h.Set("Mcp-Name", fieldValue(name))
			if part.method == "tools/call" {
				b.mu.Lock()
				list := b.params[name]
				b.mu.Unlock()
				setParams(h, list, line)
			}
		}
	}
	if !p.init {
		h = b.sessionHeader(h)
	}
	p.head = h
	return p
}

// run sends the line and brings what answers it.
func (p *post) run() {
	defer p.cancel()
	defer p.finish()
	b := p.b
	for i := range p.m.parts {
		if part := &p.m.parts[i]; part.method == "notifications/cancelled" && part.cancels != nil {
			c := b.find(idKey(part.cancels))
			if c == nil {
				continue
			}
			// No error of ours shall answer what nobody waits for.
			b.end(c)
			if p.modern {
				defer c.cancel()
			}
		}
	}
	b.mu.Lock()
	old := b.old
	b.mu.Unlock()
	if old != nil && !p.init {
		p.sendOld(old)
		return
	}
	x, err := b.exchange(p.ctx, http.MethodPost, b.cfg.Upstream, p.head, p.line, p.wrote)
	if err != nil {
		p.unreachable(err)
		return
	}
	defer x.body.Close()
	p.answer(x)
}

func (p *post) wrote() { p.once[0].Do(func() { close(p.written) }) }
func (p *post) took()  { p.once[1].Do(func() { close(p.taken) }) }

// finish lets go of everybody who waits for p.
func (p *post) finish() {
	p.wrote()
	p.took()
	for _, c := range p.calls {
		p.b.end(c)
	}
}

// open are the calls without an answer.
func (p *post) open() (open []*call) {
	for _, c := range p.calls {
		if !c.isOver() {
			open = append(open, c)
		}
	}
	return open
}

// fail answers what has no answer with an error of ours.
func (p *post) fail(f fault) {
	if p.ctx.Err() != nil {
		return // the host does not wait, or we are ending
	}
	for _, c := range p.open() {
		p.b.out.made(f.made(c.id), f.why)
		p.b.end(c)
	}
}

func (p *post) unreachable(err error) {
	p.fail(fault{code: codeUnreachable, why: "unreachable", message: "the server cannot be reached: " + reason(err)})
}

// answer takes the response to the POST.
func (p *post) answer(x *exchange) {
	b := p.b
	good := x.StatusCode/100 == 2
	if good && p.init {
		b.mu.Lock()
		b.session = x.Header.Get("Mcp-Session-Id")
		b.mu.Unlock()
	}
	if good && len(p.m.parts) == 1 && p.m.parts[0].method == "notifications/initialized" && !p.modern {
		b.listen()
	}
	p.took()
	if good && mediaType(x.Header) == "text/event-stream" {
		p.stream(x)
		return
	}
	body, err := readAll(x.body)
	if err != nil {
		p.fail(bodyFault(x, err))
		return
	}
	m, ok := parse(body)
	switch {
	case !good && p.init && mayBeOld(x.StatusCode) && !(ok && p.answers(m)):
		if old := b.openOld(); old != nil {
			p.sendOld(old)
			return
		}
		if !ok {
			break
		}
		fallthrough
	case ok:
		b.deliver(p, body, m)
	case good && len(bytes.TrimSpace(body)) > 0:
		p.fail(fault{code: codeUnreadable, why: "unreadable", status: x.StatusCode, head: x.Header, body: body,
			message: "the server's answer is no JSON-RPC message"})
	case good && b.hasStream():
		// 202 to a request is against the rules; the stream may bring the answer.
		p.await(nil)
	}
	if good {
		p.fail(fault{code: codeNoAnswer, why: "noAnswer", status: x.StatusCode, message: "the server took the request and gave no answer"})
	} else {
		p.fail(statusFault(x.StatusCode, x.Header, body))
	}
}

// await waits until all calls are over, or dead is closed.
func (p *post) await(dead <-chan struct{}) {
	for _, c := range p.calls {
		select {
		case <-c.over:
		case <-dead:
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// answers tells whether m answers a call of p by its id.
func (p *post) answers(m *message) bool {
	for i := range m.parts {
		for _, c := range p.calls {
			if part := &m.parts[i]; part.response() && hasID(part.id) && idKey(part.id) == c.key {
				return true
			}
		}
	}
	return false
}

// stream takes an answer that comes as an event stream, and follows it where it
// broke off.
func (p *post) stream(x *exchange) {
	s := &stream{b: p.b, ctx: p.ctx, p: p}
	err := s.read(x.body, false)
	if errors.Is(err, errTooLong) {
		p.fail(bodyFault(x, err))
		return
	}
	if len(p.open()) > 0 && s.last != "" && !p.modern {
		s.follow()
	}
	p.fail(fault{code: codeNoAnswer, why: "noAnswer", status: x.StatusCode, message: "the server's event stream ended without the answer"})
}

// deliver writes a message of the server to the host. p is the POST that it
// answers, nil on a stream of the session.
func (b *bridge) deliver(p *post, line []byte, m *message) {
	if p != nil && !m.batch {
		if part := &m.parts[0]; part.response() && !hasID(part.id) && part.failure != nil {
			if open := p.open(); len(open) == 1 && p.ctx.Err() == nil {
				// The exchange tells whose it is; the host cannot know.
				b.out.line(fault{code: codeStatus, why: "noId", message: "the server's error names no request", failure: part.failure}.made(open[0].id))
				b.end(open[0])
				return
			}
		}
	}
	var over []*call
	for i := range m.parts {
		part := &m.parts[i]
		if !part.response() {
			continue
		}
		c := b.match(p, part)
		if c == nil {
			continue
		}
		if over = append(over, c); c.method == "initialize" && part.negotiated != "" {
			b.mu.Lock()
			b.version, b.modern = part.negotiated, false
			b.mu.Unlock()
		}
		if c.method == "tools/list" && p != nil && p.modern {
			b.learn(line)
		}
	}
	b.out.line(oneLine(line))
	for _, c := range over {
		b.end(c)
	}
}

// match finds the call that a response answers: by the exchange, since servers
// spell ids in other ways and change large ones (wire.md 2.2), else by its id.
func (b *bridge) match(p *post, part *part) *call {
	if p != nil {
		open := p.open()
		for _, c := range open {
			if c.key == idKey(part.id) {
				return c
			}
		}
		if len(open) == 1 && len(p.calls) == 1 {
			return open[0]
		}
	}
	return b.find(idKey(part.id))
}

func (b *bridge) find(key string) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.calls {
		if c.key == key {
			return c
		}
	}
	return nil
}

// end says that nobody waits for a call any more.
func (b *bridge) end(c *call) {
	b.mu.Lock()
	delete(b.calls, c)
	b.mu.Unlock()
	c.once.Do(func() { close(c.over) })
}

func bodyFault(x *exchange, err error) fault {
	f := fault{code: codeNoAnswer, why: "noAnswer", status: x.StatusCode, message: "the server's answer broke off: " + reason(err)}
	if errors.Is(err, errTooLong) {
		f.code, f.why, f.message = codeTooLong, "tooLong", "the server's answer has more than 64 MiB"
	}
	return f
}

// readAll reads a body of at most maxMessage.
func readAll(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxMessage+1))
	if err == nil && len(body) > maxMessage {
		err = errTooLong
	}
	return body, err
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return t
}

// isJSON tells whether an event's data is a JSON text at all.
func isJSON(p []byte) bool {
	return jsontext.Value(p).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
