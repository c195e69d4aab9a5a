package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// response is the response to one live HTTP request. What is put to it is written by
// the goroutine that the request came on.
type response struct {
	*queue
	s     *Server
	p     *play
	w     http.ResponseWriter
	r     *http.Request
	flush func() error

	// xi is the recorded exchange that is played; -1: the request was answered in
	// another form, and the messages go out as JSON or as events.
	xi       int32
	events   []*event // of its messages
	requests int      // in it …
	left     int      // … that are not answered yet
	shook    bool     // one of them was initialize
	headed   bool
	sse      bool
}

// takes tells whether an item can go out here. It is called under the play's lock.
func (res *response) takes(it *item) bool {
	if res.gone() {
		return false
	}
	if res.xi >= 0 {
		return it.x == res.xi
	}
	return res.requests > 0
}

// write writes what comes until the response ends, or nobody reads it any more.
func (res *response) write() {
	defer res.kill()
	for {
		o, ok := res.take()
		if !ok {
			return
		}
		over, err := res.one(o)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		res.idle()
		if over {
			return
		}
	}
}

// idle is told that all that was put is written: what waits for that may go on.
func (res *response) idle() {
	res.mu.Lock()
	res.writing = false
	res.mu.Unlock()
	res.p.mu.Lock()
	if len(res.p.runs) > 0 {
		res.p.pump()
	}
	res.p.mu.Unlock()
}

// errBroken ends a response in the middle, as the recorded one ended.
var errBroken = fmt.Errorf("the recorded server broke off here")

// one writes one thing; over: that was the last.
func (res *response) one(o out) (over bool, err error) {
	if o.it == nil || o.it.x != res.xi || res.xi < 0 {
		if o.it != nil && o.it.form == itEnd && o.it.x < 0 {
			return true, errBroken // the recorded process ended
		}
		return res.other(o)
	}
	x := res.s.t.exchanges[res.xi]
	switch o.it.form {
	case itHead:
		res.head(x)
		if x.stream || x.end == endOpen {
			res.w.WriteHeader(x.status)
			res.headed = true
			return false, res.flush()
		}
		return false, nil
	case itEnd:
		if x.headless || x.end == endCut {
			if res.headed {
				res.flush()
			}
			return true, errBroken
		}
		if !res.headed {
			res.w.WriteHeader(x.status)
		}
		return true, nil
	}
	b, err := res.s.bytesOf(o)
	if err != nil {
		return true, err
	}
	if o.it.form == itPoint {
		b = res.point(o.it, b, x)
	}
	if o.only != nil { // a client that left some of a batch out
		return res.other(o)
	}
	if !res.headed {
		if o.it.form == itBody && x.end == endClean {
			res.w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		}
		res.w.WriteHeader(x.status)
		res.headed = true
	}
	if _, err := res.w.Write(b); err != nil {
		return true, err
	}
	return false, res.flush()
}

// head sets the recorded fields.
func (res *response) head(x *exchange) {
	h := res.w.Header()
	for name, values := range x.fields {
		for _, v := range values {
			h.Add(name, res.mapped(name, v, x))
		}
	}
	if x.given != "" && res.p.id != "" {
		h.Set("Mcp-Session-Id", res.p.id)
	}
	if len(x.fields["Content-Type"]) == 0 {
		h["Content-Type"] = nil // or net/http guesses one
	}
}

// mapped makes a URL in a field name this server, where it named the recorded one.
func (res *response) mapped(name, value string, x *exchange) string {
	if name != "Www-Authenticate" && name != "Location" {
		return value
	}
	for _, scheme := range []string{"http://", "https://"} {
		if x.host != "" {
			value = strings.ReplaceAll(value, scheme+x.host+"/", "http://"+res.r.Host+"/")
		}
	}
	return value
}

// point is the endpoint event: where this client's messages are to be posted.
func (res *response) point(it *item, b []byte, x *exchange) []byte {
	to, query, _ := strings.Cut(pathOf(x.endpoint), "?")
	name, _, ok := strings.Cut(query, "=")
	if !ok {
		name = "sessionId"
	}
	return splice(b, []val{{it.data, []byte(to + "?" + name + "=" + res.p.id)}})
}

// other writes what was recorded in another form than it is sent in.
func (res *response) other(o out) (over bool, err error) {
	all, err := res.s.messagesOf(o)
	if err != nil {
		return true, err
	}
	answers := len(all)
	if o.it != nil {
		answers = 0
		for _, m := range o.it.messages {
			if m.answers != nil && slices.Contains(res.events, m.answers) && (o.only == nil || slices.Contains(o.only, m)) {
				answers++
			}
		}
	}
	if len(all) == 0 {
		return false, nil
	}
	if !res.headed && res.requests == 1 && answers == len(all) {
		h := res.w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(all[0])))
		res.given()
		res.headed = true
		if _, err := res.w.Write(all[0]); err != nil {
			return true, err
		}
		return true, res.flush()
	}
	if !res.headed {
		res.opened()
	}
	for _, m := range all {
		if _, err := fmt.Fprintf(res.w, "event: message\ndata: %s\n\n", m); err != nil {
			return true, err
		}
	}
	if res.requests > 0 {
		if res.left -= answers; res.left <= 0 {
			return true, res.flush()
		}
	}
	return false, res.flush()
}

// opened writes the head of an event stream of our own.
func (res *response) opened() {
	h := res.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	res.given()
	res.headed, res.sse = true, true
	res.w.WriteHeader(http.StatusOK)
	res.flush()
}

func (res *response) given() {
	if res.shook && res.p.id != "" {
		res.w.Header().Set("Mcp-Session-Id", res.p.id)
	}
}

// statusOnly is an error in the place of a recorded HTTP status without a message, for
// a client that gets no statuses; nil: there was none.
func (s *Server) statusOnly(ev *event, l *live) []byte {
	if ev == nil || ev.x < 0 || ev.answer != nil || l == nil {
		return nil
	}
	x := s.t.exchanges[ev.x]
	if x.status < 400 {
		return nil
	}
	return errorReply(l.id, -32603, fmt.Sprintf("HTTP %d %s", x.status, http.StatusText(x.status)), nil)
}
