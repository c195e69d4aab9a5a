package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sixlink/sixlink/record/session"
)

// maxPlays bounds the live sessions of one server: each keeps what it has used.
const maxPlays = 1024

// Web serves clients over HTTP: the streamable transport of both eras, and the legacy
// one with two endpoints where that was recorded.
type Web struct {
	s *Server
	// Local refuses requests that a web page may have sent to this machine: their Host
	// or Origin is none of its own (recorder.md 4.1).
	Local bool
	http  map[string][]*event // requests without a message, by method and path

	mu     sync.Mutex
	plays  map[string]*play // by the id that they gave out
	shared *play            // of clients that have none
	last   *play
}

// Web makes a handler.
func (s *Server) Web() *Web {
	w := &Web{s: s, http: map[string][]*event{}, plays: map[string]*play{}}
	for _, ev := range s.events {
		if ev.what == evHTTP {
			k := ev.method + " " + path(s.t.exchanges[ev.x].target)
			w.http[k] = append(w.http[k], ev)
		}
	}
	return w
}

// ServeHTTP answers one request.
func (web *Web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if web.Local && !local(r) {
		http.Error(w, "sixlink replay: this Host or Origin is none of this machine's", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
	if err != nil {
		http.Error(w, "sixlink replay: the body is too long, or was broken off", http.StatusRequestEntityTooLarge)
		return
	}
	var all []envelope
	body = bytes.TrimPrefix(body, bom)
	if r.Method == http.MethodPost {
		all, _ = read(body)
	}
	p, code := web.play(r, all)
	if p == nil {
		refuse(w, code)
		return
	}
	res := &response{queue: newQueue(), s: web.s, p: p, w: w, r: r, xi: -1, flush: http.NewResponseController(w).Flush}
	stop := context.AfterFunc(r.Context(), res.kill)
	defer stop()
	if len(all) == 0 {
		web.other(res)
		return
	}
	res.posted(body, all)
}

// refuse answers what belongs to no session.
func refuse(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	text := "Session not found"
	if code == http.StatusServiceUnavailable {
		text = "sixlink replay: too many sessions"
	}
	w.Write(errorReply(nil, -32001, text, nil))
}

// play finds the live session of a request, or begins one.
func (web *Web) play(r *http.Request, all []envelope) (*play, int) {
	web.mu.Lock()
	defer web.mu.Unlock()
	if id := r.Header.Get("Mcp-Session-Id"); id != "" && web.s.ids {
		if p := web.plays[id]; p != nil {
			return p, 0
		}
		return nil, http.StatusNotFound
	}
	if r.URL.RawQuery != "" && len(web.s.points) > 0 {
		for _, v := range queryValues(r.URL.RawQuery) {
			if p := web.plays[v]; p != nil {
				return p, 0
			}
		}
	}
	if r.Method == http.MethodGet && web.s.points[path(r.URL.Path)] != nil {
		p := web.begin()
		if p == nil {
			return nil, http.StatusServiceUnavailable
		}
		web.name(p)
		return p, 0
	}
	shakes, probes := false, false
	for _, e := range all {
		shakes = shakes || e.kind == kRequest && e.method == "initialize"
		probes = probes || e.kind == kRequest && e.method == "server/discover"
	}
	switch {
	case shakes && web.shared != nil && web.shared.begun():
		web.shared = nil
	case !shakes && !probes && web.shared == nil && web.last != nil:
		return web.last, 0 // a host that drops the session's id (wire.md 4)
	}
	if web.shared == nil {
		if web.shared = web.begin(); web.shared == nil {
			return nil, http.StatusServiceUnavailable
		}
	}
	p := web.shared
	if shakes && web.s.ids {
		web.name(p)
		web.last, web.shared = p, nil
	}
	return p, 0
}

func (web *Web) begin() *play {
	if len(web.plays) >= maxPlays {
		return nil
	}
	p := web.s.newPlay()
	web.s.joined()
	p.begin(nil)
	return p
}

// name gives a play an id that no client guesses.
func (web *Web) name(p *play) {
	if web.s.cfg.Mint != nil {
		p.id = web.s.cfg.Mint()
	} else {
		var b [16]byte
		rand.Read(b[:])
		p.id = hex.EncodeToString(b[:])
	}
	web.plays[p.id] = p
}

// Close ends all sessions: nothing is waited for any more.
func (web *Web) Close() {
	web.mu.Lock()
	defer web.mu.Unlock()
	for _, p := range web.plays {
		p.end()
	}
	if web.shared != nil {
		web.shared.end()
	}
}

func queryValues(raw string) (out []string) {
	for _, pair := range strings.Split(raw, "&") {
		_, v, _ := strings.Cut(pair, "=")
		if v, err := url.QueryUnescape(v); err == nil && v != "" {
			out = append(out, v)
		}
	}
	return out
}

// local tells whether a request names this machine, and comes from no other's page.
func local(r *http.Request) bool {
	if !loopback(r.Host) {
		return false
	}
	o := r.Header.Get("Origin")
	if o == "" {
		return true
	}
	u, err := url.Parse(o)
	return err == nil && loopback(u.Host)
}

func loopback(authority string) bool {
	host := authority
	if h, _, err := net.SplitHostPort(authority); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// posted takes a POST with messages.
func (res *response) posted(body []byte, all []envelope) {
	p, s := res.p, res.s
	p.mu.Lock()
	var made [][]byte
	var events []*event
	for _, e := range all {
		if e.kind == kRequest {
			res.left++
			ev, m := p.request(body, e, res)
			if m != nil {
				made = append(made, m)
			} else {
				events = append(events, ev)
			}
			res.shook = res.shook || e.method == "initialize"
			continue
		}
		if ev := p.said(body, e, res); ev != nil {
			events = append(events, ev)
		}
	}
	res.requests = res.left
	res.xi = s.exchangeOf(events, len(all), len(made))
	if res.xi >= 0 {
		if x := s.t.exchanges[res.xi]; x.long {
			p.streams[x.events[len(x.events)-1]] = res
		}
	}
	res.events = events
	if res.xi < 0 {
		for _, ev := range events {
			if m := s.statusOnly(ev, p.live[ev]); m != nil && ev.what == evRequest {
				made = append(made, m)
			}
		}
	}
	to := sink(res)
	if p.point != nil && res.xi < 0 {
		to, res.requests, res.left = p.point, 0, 0 // the response is a mere 202 there
	}
	for _, m := range made {
		p.last = to
		to.put(out{made: m})
	}
	p.pump()
	p.mu.Unlock()
	if res.xi < 0 && res.left == 0 {
		res.w.WriteHeader(http.StatusAccepted)
		res.kill()
		return
	}
	if s.Session().Era == session.EraStateless {
		defer res.cancelled()
	}
	res.write()
}

// cancelled is for a client that closed the response: of the stateless era that is its way
// to cancel (wire.md 2.4).
func (res *response) cancelled() {
	if res.r.Context().Err() == nil {
		return
	}
	res.p.mu.Lock()
	defer res.p.mu.Unlock()
	for _, ev := range res.events {
		if ev.what == evRequest {
			res.p.cancel(ev)
		}
	}
}

// exchangeOf is the recorded exchange that a POST is, all of it: then it is answered
// as that was, head and all. -1: there is none.
func (s *Server) exchangeOf(events []*event, said, made int) int32 {
	if made > 0 || len(events) == 0 || len(events) != said {
		return -1
	}
	xi := events[0].x
	for _, ev := range events {
		if ev.x != xi {
			return -1
		}
	}
	if xi < 0 || len(s.t.exchanges[xi].events) != len(events) {
		return -1
	}
	return xi
}

// other answers a request without a message as it was recorded; the latest of its kind
// again when a client asks more often.
func (web *Web) other(res *response) {
	p, r := res.p, res.r
	stream := r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	p.mu.Lock()
	ev := web.find(p, r, stream)
	switch {
	case ev != nil:
		x := web.s.t.exchanges[ev.x]
		res.xi = ev.x
		p.taken[ev.ord] = true
		if x.long && x.stream {
			p.streams[ev], p.get = res, res
			if x.endpoint != "" {
				p.point = res
			}
		}
		p.happened(ev, &live{sink: res, at: time.Now()})
	case stream && (web.s.t.Header.Transport == "stdio" || web.streams()):
		p.get, res.sse = res, true
		res.opened()
	default:
		p.mu.Unlock()
		web.unknown(res)
		return
	}
	p.pump()
	p.mu.Unlock()
	res.write()
	if r.Method == http.MethodDelete {
		web.mu.Lock()
		if delete(web.plays, p.id); web.last == p {
			web.last = nil
		}
		web.mu.Unlock()
	}
}

// find is the recorded request without a message that a live one is.
func (web *Web) find(p *play, r *http.Request, stream bool) *event {
	all := web.http[r.Method+" "+path(r.URL.EscapedPath())]
	if len(all) == 0 && (stream || r.Method == http.MethodDelete) {
		for k, evs := range web.http { // the client was given another path than the recorded one
			if strings.HasPrefix(k, r.Method+" ") && !strings.Contains(k, "/.well-known/") {
				all = append(all, evs...)
			}
		}
	}
	for _, ev := range all {
		if !p.taken[ev.ord] {
			return ev
		}
	}
	if n := len(all); n > 0 && !web.s.t.exchanges[all[n-1].x].stream {
		return all[n-1]
	}
	return nil
}

// streams tells whether the recorded server opened a stream for what belongs to no
// request.
func (web *Web) streams() bool {
	for _, evs := range web.http {
		for _, ev := range evs {
			if x := web.s.t.exchanges[ev.x]; x.long && x.stream {
				return true
			}
		}
	}
	return false
}

// unknown answers what is not recorded and is no request of MCP's.
func (web *Web) unknown(res *response) {
	switch {
	case res.r.Method == http.MethodPost:
		res.w.Header().Set("Content-Type", "application/json")
		res.w.WriteHeader(http.StatusBadRequest)
		res.w.Write(errorReply(nil, -32700, "Parse error", nil))
	case strings.Contains(res.r.URL.Path, "/.well-known/"):
		http.Error(res.w, "not recorded", http.StatusNotFound)
	case res.r.Method == http.MethodDelete:
		res.w.WriteHeader(http.StatusOK)
	default:
		res.w.Header().Set("Allow", "POST")
		http.Error(res.w, "not recorded", http.StatusMethodNotAllowed)
	}
	res.kill()
}
