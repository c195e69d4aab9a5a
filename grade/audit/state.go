package audit

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// StateSchema names the shape of a state file.
const StateSchema = "sixlink/audit-state/1"

// MaxState bounds a state file, in bytes.
const MaxState = 512 << 20

// State is an audit that can go on: its totals, and which recordings they hold.
type State struct {
	Schema          string    `json:"schema"`
	AnalyzerVersion int       `json:"analyzerVersion"`
	Suite           SuiteRef  `json:"suite"`
	Scope           Scope     `json:"scope"`
	By              []string  `json:"by"`
	Counted         []Counted `json:"counted"`
	Totals          Totals    `json:"totals"`
}

// Counted is one recording that is in the totals.
type Counted struct {
	ID string `json:"id"`
	// Segment is its first one that was read, Size the size of that file in bytes.
	Segment int   `json:"segment,omitzero"`
	Size    int64 `json:"size"`
}

func compareCounted(a, b Counted) int {
	if c := strings.Compare(a.ID, b.ID); c != 0 {
		return c
	}
	return a.Segment - b.Segment
}

// Write writes the state, the same bytes for the same recordings.
func (s *State) Write(w io.Writer) error {
	slices.SortFunc(s.Counted, compareCounted)
	return json.MarshalWrite(w, s, json.Deterministic(true), jsontext.EscapeForHTML(false))
}

// ReadState reads a state file. The errors name the field.
func ReadState(data []byte) (*State, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("this is no state of an audit: %w", err)
	}
	if head.Schema != StateSchema {
		return nil, fmt.Errorf("schema is %q, not %q: name another file, or a new one", short(head.Schema), StateSchema)
	}
	s := &State{}
	if err := json.Unmarshal(data, s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("this is no state of an audit: %w", err)
	}
	if err := s.Totals.check(len(s.By)); err != nil {
		return nil, fmt.Errorf("totals.%w", err)
	}
	return s, nil
}

// Fits tells whether an audit by want can go on from s; the error names what differs.
func (s *State) Fits(want *State) error {
	for _, f := range []struct {
		name   string
		is, to any
	}{
		{"analyzerVersion", s.AnalyzerVersion, want.AnalyzerVersion}, {"suite", s.Suite, want.Suite},
		{"scope", s.Scope, want.Scope}, {"by", s.By, want.By},
	} {
		a, err1 := json.Marshal(f.is, json.Deterministic(true))
		b, err2 := json.Marshal(f.to, json.Deterministic(true))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if string(a) != string(b) {
			return fmt.Errorf("it was made with %s %s, not %s: give the same flags, or another file", f.name, short(string(a)), short(string(b)))
		}
	}
	return nil
}

// Has tells whether a recording is in the totals; size is that of its file then.
func (s *State) Has(id string, segment int) (size int64, is bool) {
	i, is := slices.BinarySearchFunc(s.Counted, Counted{ID: id, Segment: segment}, compareCounted)
	if !is {
		return 0, false
	}
	return s.Counted[i].Size, true
}

// Sort makes Has work after Counted was appended to.
func (s *State) Sort() { slices.SortFunc(s.Counted, compareCounted) }

// short cuts a text for an error.
func short(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// check refuses what no audit can have written, and what would break one.
func (t *Totals) check(by int) error {
	for _, err := range []error{
		keys("hosts", &t.Hosts, 2), keys("servers", &t.Servers, 2), keys("days", &t.Days, 1), keys("tools", &t.Tools, 2),
		keys("groups", &t.Groups, by), keys("checks", &t.Checks, 3), keys("catalogs", &t.Catalogs, 4),
	} {
		if err != nil {
			return err
		}
	}
	for _, m := range []*bounded[Measures, *Measures]{&t.Tools, &t.Groups} {
		for _, v := range m.Of {
			if err := keys("codes", &v.Codes, 1); err != nil {
				return err
			}
		}
	}
	return keys("all.codes", &t.All.Codes, 1)
}

func keys[V any, P sum[V]](name string, b *bounded[V, P], parts int) error {
	for k, v := range b.Of {
		if v == nil || len(partsOf(k)) != parts {
			return fmt.Errorf("%s has %q, which is no key of it or has no value", name, short(k))
		}
	}
	return nil
}
