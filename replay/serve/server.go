package serve

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
	"github.com/sixlink/sixlink/replay/key"
)

// Mode is how live requests are matched with recorded ones.
type Mode string

// The modes. ByKey: equal requests, in recorded order. Sequential: the next recorded
// request, if it is of the same method and tool, whatever its arguments. Strict: the
// next recorded request, if it is equal. Where recorded requests were open at the same
// time, any of them is the next one. Pings and the handshake are never out of order.
const (
	ByKey      Mode = "key"
	Sequential Mode = "sequential"
	Strict     Mode = "strict"
)

// DefaultPatience is how long an answer waits for requests that had come before it in
// the recording, so that parallel calls are answered in the recorded order. A client
// that does not send them waits no longer.
const DefaultPatience = 200 * time.Millisecond

// Config says how a tape is played.
type Config struct {
	// Session is the one that is played, from 1; 0: the one with calls.
	Session int
	Mode    Mode
	// Repeat answers a request whose recorded answers are used up with the last one.
	Repeat bool
	Rules  key.Rules
	// MAC hashes live values by the key that the recording was masked with; nil: that
	// key is not known.
	MAC func(string) string
	// Timing keeps the recorded times between a message and what came after it,
	// divided by this; 0: nothing waits.
	Timing   float64
	Patience time.Duration
	// Mint makes session ids.
	Mint func() string
}

// Server plays one session of a tape to any number of live clients.
type Server struct {
	t      *Tape
	n      int // of Tape.Sessions
	cfg    Config
	events []*event // of the session, in order
	index  *key.Index
	ids    bool // the recorded server gave out session ids
	// points are the paths of legacy HTTP+SSE's event streams.
	points map[string]*exchange

	mu    sync.Mutex
	tally tally
}

// New prepares a session of a tape for playing.
func New(t *Tape, cfg Config) (*Server, error) {
	n, err := choose(t, cfg.Session)
	if err != nil {
		return nil, err
	}
	if cfg.Patience <= 0 {
		cfg.Patience = DefaultPatience
	}
	if cfg.Mode == "" {
		cfg.Mode = ByKey
	}
	s := &Server{t: t, n: n, cfg: cfg, index: key.NewIndex(cfg.Rules, cfg.MAC), points: map[string]*exchange{}}
	s.tally.used = map[*event]int{}
	// Over HTTP a client of the initialize era is told apart by an id, whatever the
	// recorded transport was.
	s.ids = t.Header.Transport == "stdio" && t.Sessions[n].Era != session.EraStateless
	s.events = append(s.events, t.begins[n])
	for _, ev := range t.events {
		if ev.session == int32(n) || ev.session < 0 {
			s.events = append(s.events, ev)
		}
	}
	plain := len(cfg.Rules.Ignore) == 0 && len(cfg.Rules.Match) == 0
	for i, ev := range s.events {
		switch {
		case ev.what != evRequest || ev.leave:
		case plain && len(ev.rare().masked) == 0:
			s.index.AddKey(i, ev.key)
		default:
			params, err := t.spool.read(ev.params)
			if err != nil {
				return nil, err
			}
			s.index.Add(i, ev.method, params, ev.rare().masked)
		}
		if ev.x >= 0 {
			x := t.exchanges[ev.x]
			s.ids = s.ids || x.given != ""
			if x.endpoint != "" {
				s.points[path(x.target)] = x
			}
		}
	}
	return s, nil
}

// choose finds the session to play: the one that was asked for, else the only one
// with calls, else the only one.
func choose(t *Tape, n int) (int, error) {
	if len(t.Sessions) == 0 {
		return 0, fmt.Errorf("there is no session in it to play")
	}
	if n != 0 {
		if n < 0 || n > len(t.Sessions) {
			return 0, fmt.Errorf("there is no session %d: %s", n, list(t.Sessions))
		}
		return n - 1, nil
	}
	used := -1
	for i, s := range t.Sessions {
		if s.Calls == 0 {
			continue
		}
		if used >= 0 {
			return 0, fmt.Errorf("several sessions have calls, choose one by its number: %s", list(t.Sessions))
		}
		used = i
	}
	switch {
	case used >= 0:
		return used, nil
	case len(t.Sessions) > 1:
		return 0, fmt.Errorf("no session has calls, choose one by its number: %s", list(t.Sessions))
	}
	return 0, nil
}

// maxListed bounds the sessions that a message lists.
const maxListed = 20

func list(all []Session) string {
	var out []string
	for i, s := range all {
		if i == maxListed {
			out = append(out, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		who := s.Client
		if who == "" {
			who = "a client that did not say who it is"
		}
		out = append(out, fmt.Sprintf("%d: %s, %d calls, %d messages", i+1, visible.String(who), s.Calls, s.Messages))
	}
	return strings.Join(out, "; ")
}

// Session is the session that is played.
func (s *Server) Session() *Session { return &s.t.Sessions[s.n] }

// after is where the events begin that came after a place in the order.
func (s *Server) after(pos int64) int {
	return sort.Search(len(s.events), func(i int) bool { return s.events[i].pos > pos })
}

// path is a target without its query, and without scheme and authority.
func path(target string) string {
	p, _, _ := strings.Cut(pathOf(target), "?")
	return p
}

// Path is where clients of HTTP go: as in the recording, else /mcp.
func (s *Server) Path() string {
	for _, ev := range s.events {
		if ev.x < 0 {
			continue
		}
		x := s.t.exchanges[ev.x]
		if x.endpoint != "" {
			return path(x.target)
		}
		if len(s.points) == 0 && ev.what == evRequest {
			return path(x.target)
		}
	}
	return "/mcp"
}
