package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog/drift"
	"github.com/sixlink/sixlink/replay/key"
)

// Recording is a recording with its sessions, decoded with their requests and
// attempts (not Lean). Values stay where they are until they are compared, so what it
// was read from must stay open.
type Recording struct {
	ID, Path string
	Level    record.Level
	Sessions []*session.Session
	Clock    session.Clock
	// Torn and Gaps say that not all of what happened is in it.
	Torn bool
	Gaps int
}

// FailOn says which differences end in exit code 1.
type FailOn string

// The values of FailOn.
const (
	FailBreaking FailOn = "breaking"
	FailAny      FailOn = "any"
	FailNone     FailOn = "none"
)

// Options of a comparison. The zero value compares everything exactly; see
// [DefaultMatchers].
type Options struct {
	// Match names the matchers that are on.
	Match     []string
	Tolerance *Tolerance
	// Ignore are places in results that are not compared.
	Ignore []Pointer
	// Args says what of a request counts when requests are paired.
	Args key.Rules
	// Noise is what was learned from recordings of one build; nil: nothing.
	Noise *Noise
	// Latency is by how much a tool's median time may grow: 2 is twice. 0: not compared.
	Latency float64
	FailOn  FailOn // empty: breaking

	// What somebody knows who made the second recording by replaying the first. Calls
	// and requests are named by [CallID].
	//
	// Sent has, for requests of A, the JSON text of the JSON-RPC id under which each was
	// sent again: those are paired whatever their arguments.
	Sent map[string]string
	// Skipped are requests of A that were not sent again, with the reason.
	Skipped map[string]string
	// LeftOut are requests of A that were not sent again either, and that nobody misses.
	LeftOut map[string]string
	// Tainted are those whose results are compared by outcome and shape only
	// (recorder.md 5.3).
	Tainted map[string]bool
	// Same are values of A (texts, or numbers as JSON text) that stand for other ones in
	// B: ids that the server minted.
	Same map[string]string
}

// CallID names a call or a request within its recording (DESIGN.md "Commands").
func CallID(seq int64, index int) string {
	if index >= 0 {
		return fmt.Sprintf("%d.%d", seq, index)
	}
	return fmt.Sprint(seq)
}

// Result is what is different.
type Result struct {
	A, B  Side
	Pairs []Pair
	// Findings are sorted: the worst first, then in the order of the rules.
	Findings []*Finding
	// Dropped counts differences of kinds beyond those that are kept, by class.
	Dropped map[Class]int
	// Undecided are questions that the recordings cannot answer.
	Undecided []Undecided
	Compared  Compared
	// Asked counts the calls and requests of A that there were to compare.
	Asked int
	// Noise counts values that differ and count for nothing, by the reason: a matcher,
	// tolerance, ignored, learned, substituted.
	Noise map[string]int
	// Unused are pointers of Options.Ignore that named no value that differs.
	Unused []string
	FailOn FailOn
	// Tools has what was compared, by name; for other requests the method.
	Tools map[string]*Tool
}

// Side is one of the two recordings.
type Side struct {
	ID, Path string
	Torn     bool
	Gaps     int
	Sessions int
}

// Pair is two sessions that were compared.
type Pair struct {
	A, B             string
	Basis            string
	ServerA, ServerB session.Peer
	Client           session.Peer // of A
	Calls            int          // that were compared
	Requests         int          // others that were
}

// Tool is what was compared of one tool, or of one other method.
type Tool struct {
	Listed  bool // compared in the catalogs
	Calls   int
	Request bool // a method, not a tool
}

// Compared counts what was compared.
type Compared struct {
	Sessions, Catalogs, Tools, Calls, Requests int
	// Shape counts the calls and requests of those that were compared by outcome and
	// shape only.
	Shape int
}

// Undecided is a question without an answer.
type Undecided struct {
	Tool  string // or the method
	Text  string
	Count int
	Calls []string // ids in A (in B where it is B's call), at most [MaxWhere]
	// Gates says that it could hide a breaking difference, so that the run cannot pass.
	Gates bool
}

// Count is how many differences there are of a class, seen once or often.
func (r *Result) Count(c Class) int {
	n := r.Dropped[c]
	for _, f := range r.Findings {
		if f.Class == c {
			n++
		}
	}
	return n
}

// Nothing tells that nothing could be compared: where the server was asked for
// anything, none of that; a handshake and a catalog are enough where it was not.
func (r *Result) Nothing() bool {
	c := r.Compared
	return c.Calls+c.Requests == 0 && (r.Asked > 0 || c.Catalogs+c.Sessions == 0)
}

// Open tells that a question is open which may hide a breaking difference.
func (r *Result) Open() bool {
	return slices.ContainsFunc(r.Undecided, func(u Undecided) bool { return u.Gates })
}

// Fails tells whether a difference of this class ends in exit code 1.
func (r *Result) Fails(c Class) bool {
	switch r.FailOn {
	case FailAny:
		return true
	case FailNone:
		return false
	}
	return c == Breaking
}

// ExitCode is 1 where a difference counts, else 3 when nothing could be compared or a
// question is open that may hide such a difference, else 0.
func (r *Result) ExitCode() int {
	for _, c := range []Class{Breaking, NonBreaking, Informational} {
		if r.Fails(c) && r.Count(c) > 0 {
			return 1
		}
	}
	if r.Nothing() || r.Open() && r.FailOn != FailNone {
		return 3
	}
	return 0
}

// Recordings compares recording b with recording a, the one that is relied on. The
// same recordings and options give the same result.
func Recordings(a, b *Recording, opts Options) (*Result, error) {
	d, err := newDiffer(a, b, opts)
	if err != nil {
		return nil, err
	}
	d.run()
	return d.result(), d.err
}

// differ compares two recordings.
type differ struct {
	a, b     *Recording
	opts     Options
	matchers *matchers
	learn    *Noise // not nil: differences are learned, and are no findings
	res      *Result
	kept     findings
	open     map[string]*Undecided
	openIDs  []string // in the order found
	used     []bool   // of opts.Ignore
	times    map[string]*times
	renamed  *strings.Replacer // of opts.Same
	shape    bool              // nothing more can be compared than shapes
	err      error
}

func newDiffer(a, b *Recording, opts Options) (*differ, error) {
	if a == nil || b == nil {
		return nil, errors.New("two recordings are needed")
	}
	m, err := newMatchers(opts.Match, opts.Tolerance)
	if err != nil {
		return nil, err
	}
	if opts.FailOn == "" {
		opts.FailOn = FailBreaking
	}
	side := func(r *Recording) Side { return Side{r.ID, r.Path, r.Torn, r.Gaps, len(r.Sessions)} }
	d := &differ{a: a, b: b, opts: opts, matchers: m, open: map[string]*Undecided{}, used: make([]bool, len(opts.Ignore)), times: map[string]*times{}, renamed: renames(opts.Same),
		res: &Result{A: side(a), B: side(b), Noise: map[string]int{}, FailOn: opts.FailOn, Tools: map[string]*Tool{}, Dropped: map[Class]int{}}}
	d.kept.dropped = d.res.Dropped
	whole := func(l record.Level) bool { return l == record.LevelFull || l == record.LevelRaw || l == "" }
	if (!whole(a.Level) || !whole(b.Level)) && a.Level != b.Level {
		// Values are replaced on one side and not, or otherwise, on the other.
		d.shape = true
	}
	return d, nil
}

func (d *differ) run() {
	pairs, restA, restB := d.pairSessions()
	for _, p := range pairs {
		d.res.Asked += len(p.a.asked) - p.a.skipped(d.opts.LeftOut)
		d.sessions(p)
	}
	for _, s := range restA {
		d.res.Asked += len(s.asked) - s.skipped(d.opts.LeftOut)
		d.missingSession(s)
	}
	for _, s := range restB {
		if d.a.Torn || d.a.Gaps > 0 {
			d.undecided("", "whether session %s is new: the first recording is not whole", false, s.ID, s.ID)
			continue
		}
		d.add(Finding{Rule: SessionExtra, Text: "session " + s.ID + " has no counterpart in the first recording: " + used(s.Session)}, Where{SessionB: s.ID})
	}
	d.latency()
}

func (d *differ) missingSession(s *sess) {
	if d.b.Torn || d.b.Gaps > 0 {
		d.undecided("", "what became of session %s: the second recording is not whole", s.used(), s.ID, s.ID)
		return
	}
	f := Finding{Rule: SessionMissing, Text: "session " + s.ID + " has no counterpart in the second recording: " + used(s.Session)}
	if !s.used() {
		f.Rule = SessionExtra
	}
	if n := s.skipped(d.opts.Skipped); n > 0 {
		d.undecided("", "what became of session %s: nothing of it was sent", true, s.ID, s.ID)
		return
	}
	d.add(f, Where{SessionA: s.ID})
}

func used(s *session.Session) string {
	if n := len(s.Calls); n > 0 {
		return plural(n, "call")
	}
	return "no call"
}

// catalogs compares what two sessions listed: each list with its counterpart when the
// server changed its list as often, else those that stand for what it declares.
func (d *differ) catalogs(p *pair) {
	a, b := distinct(p.a.Session), distinct(p.b.Session)
	if len(a) != len(b) || len(a) == 0 {
		a, b = declared(p.a.Session), declared(p.b.Session)
	}
	if len(a) == 0 || len(b) == 0 {
		return // never asked for, on one side: nothing to compare
	}
	for i := range a {
		x, y := a[i], b[i]
		if bad := failed(x); bad != failed(y) && y.State != "open" && x.State != "open" {
			f := Finding{Rule: CatalogOutcome, Text: "the tools were listed, and the answer is an error now: " + y.ErrorMessage}
			if bad {
				f.Text = "the tools are listed, and the answer was an error: " + x.ErrorMessage
			}
			d.add(f, p.where())
			continue
		}
		r := drift.Compare(x, y)
		for _, c := range r.Changes {
			d.add(Finding{Rule: c.Rule, Tool: c.Tool, Path: c.Path, Text: c.Text, Before: c.Before, After: c.After, Catalog: true}, p.where())
		}
		for _, u := range r.Undecided {
			d.undecided("", "%s", true, u, p.a.ID)
		}
		if d.learn == nil && !failed(x) && x.State != "open" && y.State != "open" {
			d.res.Compared.Catalogs++
			d.res.Compared.Tools += r.Tools
			for _, t := range y.Tools {
				if _, ok := x.Find(t.Name); ok {
					d.tool(t.Name).Listed = true
				}
			}
		}
	}
}

func (d *differ) tool(name string) *Tool {
	t := d.res.Tools[name]
	if t == nil {
		t = &Tool{}
		d.res.Tools[name] = t
	}
	return t
}

// undecided takes a question; those of one kind are one, with the calls they are about.
func (d *differ) undecided(tool, format string, gates bool, arg, call string) {
	if d.learn != nil {
		return
	}
	id := tool + "\n" + format
	if tool == "" {
		id += "\n" + arg
	}
	u := d.open[id]
	if u == nil {
		if len(d.open) >= maxKinds {
			return
		}
		u = &Undecided{Tool: tool, Text: fmt.Sprintf(format, arg), Gates: gates}
		d.open[id] = u
		d.openIDs = append(d.openIDs, id)
	}
	u.Count++
	u.Gates = u.Gates || gates
	if len(u.Calls) < MaxWhere && call != "" {
		u.Calls = append(u.Calls, call)
	}
}

func (d *differ) result() *Result {
	r := d.res
	r.Findings = d.kept.sorted()
	for _, f := range r.Findings {
		if t := r.Tools[f.Subject()]; t != nil && !f.Catalog {
			f.Of = t.Calls
		}
	}
	for _, id := range d.openIDs {
		r.Undecided = append(r.Undecided, *d.open[id])
	}
	for i, used := range d.used {
		if !used {
			r.Unused = append(r.Unused, d.opts.Ignore[i].String())
		}
	}
	return r
}
