package serve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/visible"
	"github.com/sixlink/sixlink/replay/key"
)

// missCode is the error of a request that has no recording: implementation-defined in
// both eras, and none that a client gives a meaning of its own (wire.md 2.9).
const missCode = -32019

// Bounds of the search for what is nearest, for a client that misses all the time.
const (
	maxNear  = 256     // recorded requests that are compared with one
	maxBytes = 4 << 20 // of their params
	maxNames = 32      // recorded names that are listed
)

// Miss is a request that has no recording.
type Miss struct {
	Method string `json:"method"`
	Name   string `json:"name,omitzero"`
	// Why says why, where one like it was recorded.
	Why string `json:"why,omitzero"`
	// NearestSeq is the recorded request that differs least; 0: none of the method (and
	// tool) is recorded.
	NearestSeq  int64            `json:"nearestSeq,omitzero"`
	Differences []MissDifference `json:"differences,omitempty"`
	// More counts differences that are not listed.
	More int `json:"more,omitzero"`
	// Recorded are the tools, or the methods, that are recorded, where none is nearest.
	Recorded []string `json:"recorded,omitempty"`
}

// MissDifference is one place where a live request is not the recorded one: a JSON
// pointer, into the arguments or into the params.
type MissDifference struct {
	Path     string `json:"path"`
	In       string `json:"in"` // "arguments" or "params"
	Recorded string `json:"recorded,omitzero"`
	Live     string `json:"live,omitzero"`
}

// notShown stands for a live value where the recording hides a credential: a report that
// goes into a CI log must not have another one.
const notShown = "another value, not shown"

// nearest finds the recorded request that differs least.
func (s *Server) nearest(m *Miss, p *play, method string, params []byte) {
	var best *event
	var diffs []key.Difference
	least, near, bytes := 0, 0, 0
	names := map[string]bool{}
	name := key.Name(method, params)
	for _, ev := range s.events {
		if ev.what != evRequest || ev.leave {
			continue
		}
		if ev.method != method {
			if name == "" {
				names[visible.String(ev.method)] = true
			}
			continue
		}
		if ev.name != name {
			names[visible.String(ev.name)] = true
			continue
		}
		if near++; near > maxNear || bytes > maxBytes {
			continue
		}
		recorded, err := s.t.spool.read(ev.params)
		if err != nil {
			continue
		}
		bytes += len(recorded) + len(params)
		d, n := s.cfg.Rules.Diff(method, recorded, params)
		// Of equal ones one that is still there is nearer.
		if best == nil || n < least || n == least && p.taken[best.ord] && !p.taken[ev.ord] {
			best, diffs, least = ev, d, n
		}
	}
	if best == nil {
		for n := range names {
			m.Recorded = append(m.Recorded, n)
		}
		slices.Sort(m.Recorded)
		if len(m.Recorded) > maxNames {
			m.Recorded = append(m.Recorded[:maxNames], "…")
		}
		return
	}
	m.NearestSeq = best.seq
	for _, d := range diffs {
		in := "arguments"
		if d.Params {
			in = "params"
		}
		if len(best.rare().masked) > 0 && strings.ContainsAny(d.Recorded, "*…") {
			d.Live = notShown // what stands there is likely to be a credential, too
		}
		m.Differences = append(m.Differences, MissDifference{visible.String(d.Path), in, visible.String(d.Recorded), visible.String(d.Live)})
	}
	m.More = least - len(diffs)
}

// String says a miss in one line.
func (m *Miss) String() string {
	var b strings.Builder
	b.WriteString(m.Method)
	if m.Name != "" {
		fmt.Fprintf(&b, " %s", m.Name)
	}
	if m.Why != "" {
		b.WriteString(": " + m.Why)
	}
	if m.NearestSeq == 0 {
		if m.Why == "" {
			b.WriteString(": not recorded")
		}
		if len(m.Recorded) > 0 {
			b.WriteString("; recorded are " + strings.Join(m.Recorded, ", "))
		}
		return b.String()
	}
	fmt.Fprintf(&b, "; nearest is the request at seq %d", m.NearestSeq)
	for i, d := range m.Differences {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(m.Differences)-i+m.More)
			break
		}
		where := d.Path
		if d.In == "params" {
			where = "params" + d.Path
		} else if where == "" {
			where = "arguments"
		}
		fmt.Fprintf(&b, "%s%s recorded %s, asked %s", sep, where, orNothing(d.Recorded), orNothing(d.Live))
	}
	return b.String()
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// missed counts a miss and makes the error that answers it.
func (s *Server) missed(id []byte, m *Miss) []byte {
	s.mu.Lock()
	s.tally.miss(m)
	s.mu.Unlock()
	data, err := json.Marshal(struct {
		Sixlink *Miss `json:"sixlink"`
	}{m}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		data = nil
	}
	return errorReply(id, missCode, "sixlink replay: no recording for "+m.String(), data)
}

// reply makes a result, errorReply an error.
func reply(id, result []byte) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), result, []byte("}"))
}

func errorReply(id []byte, code int, message string, data []byte) []byte {
	text, err := jsontext.AppendQuote(nil, message)
	if err != nil {
		text = []byte(`"sixlink replay: no recording"`)
	}
	if len(id) == 0 {
		id = []byte("null")
	}
	out := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, fmt.Appendf(nil, `,"error":{"code":%d,"message":%s`, code, text))
	if len(data) > 0 {
		out = slices.Concat(out, []byte(`,"data":`), data)
	}
	return append(out, "}}"...)
}
