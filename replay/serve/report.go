package serve

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/visible"
	"github.com/sixlink/sixlink/replay/key"
)

// ReportSchema names the form of a report: additive within its version.
const ReportSchema = "sixlink/replay-serve/1"

// tally counts what was played, over all live sessions.
type tally struct {
	used    map[*event]int
	missed  int
	misses  []*Miss
	probes  int
	replies int // of clients that were not the recorded ones
	plays   int
}

// maxMisses bounds the misses that are listed; all are counted.
const maxMisses = 1000

func (t *tally) miss(m *Miss) {
	t.missed++
	if len(t.misses) < maxMisses {
		t.misses = append(t.misses, m)
	}
}

func (s *Server) used(ev *event) {
	s.mu.Lock()
	s.tally.used[ev]++
	s.mu.Unlock()
}

func (s *Server) probe(string) {
	s.mu.Lock()
	s.tally.probes++
	s.mu.Unlock()
}

func (s *Server) otherReply(*message) {
	s.mu.Lock()
	s.tally.replies++
	s.mu.Unlock()
}

// Unused is a recorded request that no client made.
type Unused struct {
	Seq    int64  `json:"seq"`
	Method string `json:"method"`
	Name   string `json:"name,omitzero"`
}

// Report says what of the recording was used, what was left, and what was asked for
// that it does not have.
type Report struct {
	Schema    string `json:"schema"`
	Recording string `json:"recording"` // its id
	Session   string `json:"session"`
	Mode      Mode   `json:"mode"`
	// Clients counts live sessions.
	Clients int `json:"clients"`
	// Recorded counts the recorded requests of the session, Used those that were made
	// at least once, Answered how often requests were answered from the recording.
	Recorded int      `json:"recorded"`
	Used     int      `json:"used"`
	Answered int      `json:"answered"`
	Unused   []Unused `json:"unused"`
	Missed   int      `json:"missed"`
	// Misses are the first ones.
	Misses []*Miss `json:"misses"`
	// LeftOut counts recorded requests that were refused for want of credentials and
	// made again: they are not played.
	LeftOut int `json:"leftOut"`
	// Probes counts requests of the other era's handshake, which clients try first.
	Probes int `json:"probes"`
	// OtherReplies counts replies to requests of the server's that were not the recorded
	// ones: what the server said afterwards may not fit.
	OtherReplies int `json:"otherReplies"`
}

// Report may be asked for at any time.
func (s *Server) Report() *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Report{Schema: ReportSchema, Recording: s.t.Header.ID, Session: s.Session().ID, Mode: s.cfg.Mode, Clients: s.tally.plays,
		Unused: []Unused{}, Missed: s.tally.missed, Misses: append([]*Miss{}, s.tally.misses...), Probes: s.tally.probes, OtherReplies: s.tally.replies}
	for _, ev := range s.events {
		if ev.what != evRequest {
			continue
		}
		if ev.leave {
			r.LeftOut++
			continue
		}
		r.Recorded++
		if n := s.tally.used[ev]; n > 0 {
			r.Used++
			r.Answered += n
		} else if ev.method == "ping" && key.ByMethod(ev.method) {
			r.Recorded-- // whether a client pings is its own affair
		} else {
			r.Unused = append(r.Unused, Unused{ev.seq, visible.String(ev.method), visible.String(ev.name)})
		}
	}
	return r
}

// JSON writes the report by its schema.
func (r *Report) JSON(w io.Writer) error {
	return json.MarshalWrite(w, r, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
}

// maxShown is how many misses, and unused requests, a text lists.
const maxShown = 20

// Text says the report to people.
func (r *Report) Text(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "session %s: %d of %d recorded requests used, %d answered, %d missed", r.Session, r.Used, r.Recorded, r.Answered, r.Missed)
	if r.Clients > 1 {
		fmt.Fprintf(&b, ", %d clients", r.Clients)
	}
	b.WriteString("\n")
	for i, m := range r.Misses {
		if i == maxShown {
			break
		}
		fmt.Fprintf(&b, "missed: %s\n", m)
	}
	if n := r.Missed - maxShown; n > 0 {
		fmt.Fprintf(&b, "missed: %d more\n", n)
	}
	for i, u := range r.Unused {
		if i == maxShown {
			fmt.Fprintf(&b, "unused: %d more\n", len(r.Unused)-i)
			break
		}
		fmt.Fprintf(&b, "unused: seq %d %s\n", u.Seq, strings.TrimSpace(u.Method+" "+u.Name))
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "left out: %d recorded requests that were refused for want of credentials and then made again\n", r.LeftOut)
	}
	if r.OtherReplies > 0 {
		fmt.Fprintf(&b, "note: %d replies of clients to the server's requests were not the recorded ones; what the server said afterwards may not fit them\n", r.OtherReplies)
	}
	io.WriteString(w, b.String())
}
