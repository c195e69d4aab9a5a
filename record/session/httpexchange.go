package session

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
	"github.com/sixlink/sixlink/record/session/sse"
)

// httpExchange is one HTTP request and its response, while they come; and
// afterwards, for the requests in it that nobody answered, how it ended.
type httpExchange struct {
	w       *web
	h       *httpSession // nil until it is known, or when it is in no session
	n       int64
	seq, at int64 // of the request's head
	traits

	req, res   body
	reqRead    bool // the messages of the request are read
	status     int
	headSeq    int64 // of the response's head
	headAt     int64
	made       bool // by sixlink
	why        string
	failed     string // what sixlink met instead of a response: "connect: …"
	failedWhat string
	failedSeq  int64
	given      string // the Mcp-Session-Id of the response
	location   string
	challenge  bool // the response asks for credentials
	tunnel     bool
	resEnded   bool
	cut        bool   // the response, or the request, was broken off
	by         string // who did it
	bySeq      int64
	byAt       int64
	gapped     bool
	lost       bool // its request is not on record
	released   bool
	patched    bool // the client got the response changed

	opens   []*open       // the client's requests in it
	from    int           // in opens: those before have their answer
	noted   int           // notifications and replies of the client in it
	resumes *httpExchange // whose stream this one goes on with
	sawID   bool          // its events have ids: the client can come back for more
	// unread says why what came cannot be read as an answer: an evidence error,
	// never an empty result.
	unread  string
	waiting []*line // of the response, while the request's own end has not come
	waits   int64   // their bytes
}

func newHTTPExchange(w *web, rec *record.Record) *httpExchange {
	r := rec.Request
	x := &httpExchange{w: w, n: rec.Exchange, seq: rec.Seq, at: rec.At, traits: traitsOf(r)}
	x.req.begin(r.Headers, r.Length, w.d.opts.MaxLine)
	x.req.kind = bodyJSON // whatever the header says: it is the server that minds
	x.req.parser = nil
	return x
}

// over tells whether nothing more of the exchange is to come.
func (x *httpExchange) over() bool { return x.reqRead && x.resEnded }

// release lets go of what is only needed while it is open.
func (x *httpExchange) release() {
	x.w.pending -= x.req.held() + x.res.held()
	x.req.release()
	x.res.release()
	x.waiting, x.released = nil, true
	for _, o := range x.opens {
		o.waits = nil
	}
	// Requests that are open keep the exchange; it need not keep the others.
	x.opens, x.from = slices.DeleteFunc(x.opens, func(o *open) bool { return o.ex.AnswerSeq != 0 }), 0
	x.resumes = nil
}

// piece takes a piece of one of the bodies.
func (x *httpExchange) piece(rec *record.Record) {
	limit := x.w.d.opts.MaxLine
	if x.tunnel || x.lost {
		x.resEnded = x.resEnded || rec.From == record.Server && rec.End != record.BodyMore
		x.reqRead = x.reqRead || x.lost
		return
	}
	if rec.From == record.Client {
		if x.reqRead && x.req.ended {
			return
		}
		x.w.put(&x.req, rec, limit, nil)
		if x.req.ended || x.req.whole() {
			x.requested()
		}
		return
	}
	if x.resEnded {
		return
	}
	x.patched = x.patched || len(rec.Patch) > 0
	x.w.put(&x.res, rec, limit, func(e *sse.Event) { x.event(e, rec) })
	if x.res.behind && x.h != nil {
		x.h.gapSeq = max(x.h.gapSeq, rec.Seq) // there may have been an answer in it
	}
	if x.res.ended {
		x.responded()
	}
}

// response takes the head of a response.
func (x *httpExchange) response(rec *record.Record) {
	r := rec.Response
	if x.resEnded || r.Status < 200 && r.Status != http.StatusSwitchingProtocols {
		return
	}
	x.status, x.headSeq, x.headAt, x.made, x.why = r.Status, rec.Seq, rec.At, r.Made, r.Why
	x.tunnel = r.Status == http.StatusSwitchingProtocols
	x.given = hiddenValue(r.Headers, r.Masked, "Mcp-Session-Id")
	x.location = field0(r.Headers, "Location")
	x.challenge = r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden && field0(r.Headers, "Www-Authenticate") != ""
	x.res.begin(r.Headers, r.Length, x.w.d.opts.MaxLine)
	if x.reqRead {
		x.headed()
	}
	if r.End || r.Length == 0 {
		x.res.ended = true
		x.responded()
	}
}

// headed is what a response's head says, once it is known who asked.
func (x *httpExchange) headed() {
	for _, o := range x.opens {
		o.ex.HTTP.Status = x.status
	}
	if h := x.session(false); h != nil && !x.made {
		h.reached(x)
		if x.given != "" && x.status < 300 {
			h.bind(x)
		}
	}
}

// session is the session that the exchange belongs to. A request without messages
// belongs to none until its response says that it is one of MCP's.
func (x *httpExchange) session(mcp bool) *httpSession {
	if x.h == nil && mcp {
		x.h = x.w.ofStream(x)
		x.h.join(x)
	}
	return x.h
}

// requested reads the request: all of it is there.
func (x *httpExchange) requested() {
	if x.reqRead {
		return
	}
	x.reqRead = true
	b := &x.req
	switch {
	case b.torn, b.broken != nil, b.hidden:
		why := "a gap lies in the request's body"
		if b.broken != nil {
			why = "the request's body cannot be unpacked: " + b.broken.Error()
		} else if b.hidden {
			why = "the recording hides the request's body"
		}
		x.lostRequest(why)
	case len(b.data) == 0:
		if x.method == http.MethodDelete {
			x.h = x.w.byID[x.sessionID]
		} else if x.method == http.MethodGet {
			x.h = x.w.knownStream(x)
		}
		if x.h != nil {
			x.h.join(x)
		}
	case x.method == http.MethodPost:
		x.posted()
	}
	if x.status != 0 {
		x.headed()
	}
	for _, l := range x.waiting {
		x.read(l)
	}
	x.waiting = nil
	x.w.pending -= x.req.held() // the response may take hours
	x.req.release()
}

// lostRequest notes a request that could not be read: it may have been a call.
func (x *httpExchange) lostRequest(why string) {
	if x.method != http.MethodPost {
		return
	}
	if h := x.w.byID[x.sessionID]; x.sessionID != "" && h != nil {
		x.h = h
		h.join(x)
	} else if h := x.w.match(x, anyEra); h != nil {
		x.h = h
		h.join(x)
	}
	if x.h != nil {
		x.remark(FlagUnreadBody, x.seq, record.Client, why)
		x.h.cur.lossy = append(x.h.cur.lossy, fmt.Sprintf("exchange %d: %s", x.n, why))
	}
}

// posted reads the messages of a POST.
func (x *httpExchange) posted() {
	b := &x.req
	l := b.line(record.Client, x)
	var m message
	i := jsonscan.Space(l.data, 0)
	if bytes.HasPrefix(l.data, []byte("\xef\xbb\xbf")) {
		i = jsonscan.Space(l.data, 3)
	}
	found := false
	switch {
	case i == len(l.data):
	case l.long:
		_, _ = m.peek(l.data, i)
		found = m.kind != kNone
	case l.data[i] == '{':
		span, err := m.peek(l.data, i)
		found = err == nil && m.kind != kNone && jsonscan.Space(l.data, span.End) == len(l.data)
	case l.data[i] == '[':
		if _, err := jsonscan.Skip(l.data, i); err == nil {
			_, _ = jsonscan.Elements(l.data, i, func(_, at int) (jsonscan.Span, error) {
				if at = jsonscan.Space(l.data, at); found || l.data[at] != '{' {
					return jsonscan.Skip(l.data, at)
				}
				span, err := m.peek(l.data, at)
				found = err == nil && m.kind != kNone
				return span, err
			})
		}
	}
	if !found {
		// An OAuth form, or anything else that is not for the MCP server; unless it
		// came in the name of a session.
		if x.sessionID != "" || x.w.streamOf(x) != nil {
			x.lostRequest("the request's body is no JSON-RPC message")
		}
		return
	}
	x.h = x.w.ofMessage(x, &m)
	x.h.join(x)
	x.h.hear(l, true)
	if x.h.cur.FirstSeq > x.seq {
		x.h.cur.FirstSeq, x.h.cur.FirstAt = x.seq, x.at
	}
	if b.cut {
		x.cut = true
	}
}

// event takes an event of the response.
func (x *httpExchange) event(e *sse.Event, rec *record.Record) {
	if x.status >= 300 {
		return
	}
	if e.HasID && e.ID != "" {
		x.sawID = true
		if x.h != nil {
			x.h.cameTo(e.ID, x)
		}
	}
	if !e.Dispatched() {
		return
	}
	switch e.Type {
	case "", "message":
	case "endpoint":
		x.endpoint(e, rec)
		return
	default:
		if x.h != nil {
			x.remark(FlagEventType, rec.Seq, record.Server, "an event of the type "+strconv.Quote(clip(e.Type, 100))+": clients of MCP skip it")
		}
		return
	}
	l := x.res.eventLine(e, rec, x)
	if !x.reqRead {
		if x.waits += int64(len(l.data)); x.waits > x.w.d.opts.MaxLine {
			x.res.torn = true
			return
		}
		l.data = bytes.Clone(l.data)
		x.waiting = append(x.waiting, l)
		return
	}
	x.read(l)
}

// read reads messages of the server's.
func (x *httpExchange) read(l *line) {
	h := x.session(true)
	if l.eventID != "" {
		h.cameTo(l.eventID, x)
	}
	h.hear(l, false)
}

// endpoint takes the first event of legacy HTTP+SSE (wire.md 1.5).
func (x *httpExchange) endpoint(e *sse.Event, rec *record.Record) {
	if x.method != http.MethodGet {
		return
	}
	if x.h == nil || x.h.stream != x {
		x.h = x.w.newStream(x)
		x.h.join(x)
	}
	h := x.h
	if h.endpoint != "" {
		return
	}
	h.endpoint, h.endpointSeq = clip(string(e.Data), maxName), rec.Seq
	if base, err := url.Parse(x.target); err == nil {
		if u, err := base.Parse(string(e.Data)); err == nil {
			h.endpoint = clip(u.RequestURI(), maxName)
		}
	}
	x.w.byEnd[h.endpoint] = h
	if x.given != "" {
		h.bind(x)
	}
}

// responded is told that the response has ended.
func (x *httpExchange) responded() {
	if x.resEnded {
		return
	}
	if !x.reqRead {
		// A server may answer before it has read everything.
		x.req.ended = true
		if x.req.whole() || x.method != http.MethodPost {
			x.requested()
		} else {
			x.reqRead = true
			x.req.torn = true
			x.lostRequest("the response came before the request's end, and the rest of the request is not on record")
		}
	}
	x.resEnded = true
	x.cut = x.cut || x.res.cut
	b := &x.res
	if b.cut && x.bySeq == 0 {
		x.bySeq, x.byAt = b.seq, b.at
	}
	if x.method == http.MethodDelete && x.h != nil && x.status >= 200 && x.status < 300 && !x.made {
		x.h.ends(record.ByClient, x.headSeq)
	}
	if x.status == http.StatusNotFound && x.h != nil && x.sessionID != "" && x.h.id == x.sessionID && !x.made {
		x.h.gone(x)
	}
	x.metadata()
	x.redirected()
	asked := len(x.opens) > 0
	if x.status >= 400 && !x.made {
		x.refused()
		return
	}
	if x.made || x.status >= 300 || x.status == 0 {
		return
	}
	said := b.decoded > 0 || b.next > 0
	switch {
	case b.hidden && b.kind != bodyEvents:
		x.cannot(FlagUnreadBody, "the recording hides the response's body")
	case b.torn:
		x.unread = "a gap lies in the response"
	case b.broken != nil && !b.cut:
		x.cannot(FlagEncoding, "the response cannot be unpacked: "+b.broken.Error())
	case b.kind == bodyEvents:
		if start, half := b.parser.Half(); half && b.decoded > start {
			if b.events == 0 && looksJSON(b.data) {
				x.cannot(FlagMislabelled, "the body has no event under the type text/event-stream: it is JSON"+x.hint(b.data))
				return
			}
			if x.h != nil {
				x.remark(FlagHalfEvent, b.seq, record.Server, "the stream ended inside an event: no client is told of it")
			}
		} else if b.events == 0 && said && looksJSON(b.data) {
			x.cannot(FlagMislabelled, "the body has no event under the type text/event-stream: it is JSON"+x.hint(b.data))
		}
	case b.kind == bodyJSON && said && !b.cut:
		if x.status != http.StatusAccepted || !asked || x.h.stream != nil {
			x.readJSON() // clients do not look into a 202
		}
	case b.kind == bodyText && said && x.status != http.StatusAccepted && (asked || x.h != nil && looksJSON(b.data)) && !b.cut:
		what := "no JSON and no event stream"
		if looksJSON(b.data) {
			what = "JSON" + x.hint(b.data)
		} else if looksEvents(b.data) {
			what = "an event stream" + x.hintEvents(b.data)
		}
		if asked {
			x.cannot(FlagMislabelled, "the body is not read, since its type says neither JSON nor events: it is "+what)
		}
	}
	if x.status == http.StatusAccepted && asked && x.h.stream == nil && x.unanswered() > 0 {
		x.remark(FlagAccepted, x.headSeq, record.Server, "202 to a request: only notifications and replies are answered so")
		x.unread = "202 was the response to a request"
	}
}

// readJSON reads a response that says to be JSON.
func (x *httpExchange) readJSON() {
	b := &x.res
	asked := len(x.opens) > 0
	i := jsonscan.Space(b.data, 0)
	if i == len(b.data) {
		return
	}
	if looksEvents(b.data) {
		if x.h != nil {
			x.cannot(FlagMislabelled, "the body is no JSON under the type application/json: it is an event stream"+x.hintEvents(b.data))
		}
		return
	}
	if !b.long {
		if _, err := jsonscan.Skip(b.data, i); err != nil || b.data[i] != '{' && b.data[i] != '[' {
			if asked {
				x.cannot(FlagMislabelled, "the body is no JSON object under the type application/json: "+strconv.Quote(clip(string(b.data), 60)))
			}
			return
		}
	}
	// Of exchanges that ask nothing of MCP's (OAuth, metadata, a GET that was
	// refused) no body is a message.
	if !asked && x.noted == 0 {
		return
	}
	x.read(b.line(record.Server, x))
}

// cannot notes what keeps the response from being evidence.
func (x *httpExchange) cannot(flag, why string) {
	if x.unanswered() > 0 {
		x.unread = why
	}
	if x.h == nil {
		return
	}
	x.remark(flag, x.bodySeq(), record.Server, why)
	for _, o := range x.opens {
		if o.ex.AnswerSeq == 0 {
			o.tellHTTP(flag, x.bodySeq(), why)
		}
	}
}

func (x *httpExchange) bodySeq() int64 {
	if x.res.seq != 0 {
		return x.res.seq
	}
	return x.headSeq
}

// firstOpen is the first request that nobody answered.
func (x *httpExchange) firstOpen() *open {
	for x.from < len(x.opens) && (x.opens[x.from].ex.AnswerSeq != 0 || !x.opens[x.from].ex.ID.Pairs()) {
		x.from++
	}
	if x.from == len(x.opens) {
		return nil
	}
	return x.opens[x.from]
}

func (x *httpExchange) unanswered() int {
	n := 0
	for _, o := range x.opens {
		if o.ex.AnswerSeq == 0 {
			n++
		}
	}
	return n
}

// refused reads a response with a status of 400 and more. A JSON-RPC error in it
// answers the request, whatever its id is; any other body is an error, too.
// Statuses of things in between (502 and its kin) are nobody's answer.
func (x *httpExchange) refused() {
	b := &x.res
	if x.h == nil || len(x.opens) == 0 && x.noted == 0 {
		return
	}
	asked := x.unanswered()
	data := b.data
	if b.kind == bodyJSON && b.broken == nil && !b.torn && !b.hidden && !b.long && looksRefused(data) && asked > 0 {
		x.read(b.line(record.Server, x))
		// Whatever id the error had, it is the status that all of the exchange got.
	}
	if x.unanswered() > 0 || asked > 0 && x.status >= 500 {
		x.remark(FlagHTTPError, x.headSeq, record.Server, fmt.Sprintf("HTTP %d to the request", x.status))
	}
	switch x.status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return
	}
	if x.unanswered() == 0 {
		return
	}
	text := fmt.Sprintf("HTTP %d", x.status)
	if t := http.StatusText(x.status); t != "" {
		text += " " + t
	}
	if b.broken == nil && !b.hidden && len(data) > 0 && b.kind != bodyEvents {
		text += ": " + clip(strings.ToValidUTF8(strings.TrimSpace(string(data)), "\uFFFD"), 300)
	}
	w := where{&line{from: record.Server, seq: x.headSeq, last: x.bodySeq(), since: x.headSeq, at: x.headAt, x: x, event: -1}, -1}
	for _, o := range slices.Clone(x.opens) {
		if o.ex.AnswerSeq == 0 && o.ex.ID.Pairs() {
			x.h.refused(o, w, &RPCError{NoCode: true, RawCode: fmt.Sprintf("HTTP %d", x.status), Message: text})
		}
	}
}

// redirected notes where a redirect leads: the client sends its request again there.
func (x *httpExchange) redirected() {
	if x.status < 300 || x.status > 399 || x.location == "" || x.made {
		return
	}
	at, err := url.Parse(x.location)
	if err != nil {
		return
	}
	elsewhere := at.Host != "" && !x.w.ours(at)
	if at.Host != "" && x.h != nil {
		what := "the upstream's own address: a client that follows goes past the recorder"
		if elsewhere {
			what = "another server"
		}
		if at.Host != x.host {
			x.remark(FlagRedirect, x.headSeq, record.Server, fmt.Sprintf("HTTP %d leads to %s, %s", x.status, clip(at.Scheme+"://"+at.Host, 200), what))
		}
	}
	if !elsewhere && at.Path != "" && len(x.w.paths) < maxPaths {
		if base, err := url.Parse(x.target); err == nil {
			x.w.paths[pathKey(base.ResolveReference(at).Path)] = x.path
		}
	}
	if x.h != nil {
		for _, o := range x.opens {
			if o.call != nil && o.ex.AnswerSeq == 0 {
				x.h.cur.mayRetry(o.call)
			}
		}
	}
}

// broken takes a close record.
func (x *httpExchange) broken(rec *record.Record) {
	c := rec.Close
	if c.What == record.Connection && x.over() {
		return
	}
	if x.over() && !x.cut {
		return // it had ended in order
	}
	if x.by == "" || x.by == record.ByProxy && c.Who == record.ByServer {
		x.by, x.bySeq, x.byAt = c.Who, rec.Seq, rec.At
		if c.Who == record.ByProxy && x.why == "" {
			x.why = c.Why
		}
	}
	x.cut = true
	if c.What == record.RequestBody {
		if !x.reqRead {
			x.req.ended, x.req.cut = true, true
			x.requested()
		}
		return
	}
	if !x.resEnded {
		x.res.ended, x.res.cut = true, true
		x.responded()
	}
	if x.h != nil {
		x.h.cur.touch(rec.Seq, rec.At)
	}
}

// unreached takes an error record: sixlink could not send the request on.
func (x *httpExchange) unreached(rec *record.Record) {
	x.failedWhat, x.failedSeq = rec.Error.What, rec.Seq
	x.failed = rec.Error.What + ": " + rec.Error.Error
	if !x.reqRead && x.req.whole() {
		x.requested()
	}
	if x.h == nil {
		return
	}
	if c := &x.h.cur.Connection; c.Unreached == nil {
		c.Unreached = &Unreached{Seq: rec.Seq, What: rec.Error.What, Error: clip(rec.Error.Error, maxText)}
	}
	if x.failedWhat != "send" {
		for _, o := range x.opens {
			o.ex.Undelivered = true
		}
	}
}

func (x *httpExchange) undelivered(rec *record.Record) {
	if x.h == nil {
		return
	}
	why := ""
	if rec.Lost != nil {
		why = rec.Lost.Error
	}
	x.remark(FlagUndelivered, rec.Seq, rec.From, fmt.Sprintf("bytes of the body from %d on never reached the other side: %s", rec.Off, why))
	if rec.From != record.Client || rec.Off >= x.req.next && x.req.next > 0 {
		return
	}
	for _, o := range x.opens {
		if o.ex.AnswerSeq == 0 && x.status == 0 {
			o.ex.Undelivered = true
		}
	}
}

// atEnd is told that the recording ends while the exchange is open.
func (x *httpExchange) atEnd() {
	if !x.reqRead && x.req.whole() {
		x.requested()
	}
	if b := &x.res; x.h != nil && b.parser != nil && !x.resEnded {
		if _, half := b.parser.Half(); half {
			x.remark(FlagHalfEvent, b.seq, record.Server, "the recording ends inside an event")
		}
	}
}

func (x *httpExchange) remark(flag string, seq int64, from record.From, detail string) {
	r := Remark{Seq: seq, From: from, Flag: flag, Detail: detail, Exchange: x.n}
	if x.h != nil {
		x.h.cur.addRemark(r)
	} else if len(x.w.stray) < maxStray {
		x.w.stray = append(x.w.stray, r)
	}
}

// looksJSON and looksEvents judge the beginning of a body by its content.
func looksJSON(b []byte) bool {
	i := jsonscan.Space(b, 0)
	return i < len(b) && (b[i] == '{' || b[i] == '[')
}

// looksRefused: errors of JSON-RPC alone. A result under the status of an error is
// none to a client.
func looksRefused(b []byte) bool {
	i := jsonscan.Space(b, 0)
	if i == len(b) {
		return false
	}
	refused := true
	one := func(at int) (jsonscan.Span, error) {
		var m message
		s, err := m.peek(b, at)
		refused = refused && m.kind == kReply && m.outcome(fError) && !m.outcome(fResult)
		return s, err
	}
	var err error
	if b[i] == '[' {
		_, err = jsonscan.Elements(b, i, func(_, at int) (jsonscan.Span, error) {
			if at = jsonscan.Space(b, at); b[at] != '{' {
				refused = false
				return jsonscan.Skip(b, at)
			}
			return one(at)
		})
	} else {
		_, err = one(i)
	}
	return err == nil && refused
}

func looksEvents(b []byte) bool {
	for _, f := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(b, []byte(f)) {
			return true
		}
	}
	return false
}

// hint names the request that a body which is not read seems to answer.
func (x *httpExchange) hint(data []byte) string {
	var m message
	i := jsonscan.Space(data, 0)
	if i == len(data) || data[i] != '{' {
		return ""
	}
	if _, err := m.peek(data, i); err != nil || m.kind != kReply {
		return ""
	}
	for _, o := range x.opens {
		if o.ex.ID.Pairs() && o.ex.ID.key() == m.id.key() {
			return fmt.Sprintf(", and looks like the answer to %d", o.ex.Seq)
		}
	}
	return ""
}

func (x *httpExchange) hintEvents(data []byte) (hint string) {
	var p sse.Parser
	p.Feed(slices.Concat(data, []byte("\n\n")), func(e *sse.Event) {
		if hint == "" {
			hint = x.hint(e.Data)
		}
	})
	return hint
}
