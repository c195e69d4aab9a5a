package lock

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/session/catalog/drift"
	"github.com/sixlink/sixlink/record/visible"
)

// CheckSchema names the shape of the result as JSON.
const CheckSchema = "sixlink/catalog-check/1"

// FailOn says which changes are findings.
type FailOn string

// The words.
const (
	FailBreaking FailOn = "breaking"
	FailAny      FailOn = "any"
	FailNone     FailOn = "none"
)

// The verdicts. NotMeasured: of a server that is locked no whole list is on record,
// and no finding was made.
const (
	Same        = "same"
	Changed     = "changed"  // a finding
	Accepted    = "accepted" // there are changes, and --fail-on names none of them
	NotMeasured = "notMeasured"
)

// Result is what is different from a lock.
type Result struct {
	Schema  string `json:"schema"`
	FailOn  FailOn `json:"failOn"`
	Verdict string `json:"verdict"`
	// Servers are those of the lock, in its order.
	Servers []Checked `json:"servers"`
	// NotLocked are servers on record that the lock does not have.
	NotLocked []string `json:"notLocked"`
	// Unreadable are recordings that cannot be read, by id.
	Unreadable []string `json:"unreadable"`
}

// Checked is one server of the lock.
type Checked struct {
	Server  string `json:"server"`
	Version string `json:"version"` // that was locked
	// Seen are the versions on record, Lists how many whole lists of them, and Partial
	// how many that are not whole: those cannot show that a tool is gone.
	Seen      []string `json:"seen"`
	Lists     int64    `json:"lists"`
	Partial   int64    `json:"partial"`
	Changes   []Change `json:"changes"`
	Undecided []string `json:"undecided"`
}

// Change is one difference from the lock.
type Change struct {
	Rule   string `json:"rule"`
	Class  string `json:"class"`
	Tool   string `json:"tool,omitempty"`
	Path   string `json:"path,omitempty"`
	Text   string `json:"text"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Version is the server's that listed it so, Recordings the first ones that show it.
	Version    string   `json:"version"`
	Recordings []string `json:"recordings"`
}

// maxShownIn bounds the recordings that one change names.
const maxShownIn = 5

// Checker compares lists with a lock, one after the other.
type Checker struct {
	lock   *Lock
	res    Result
	others map[string]bool
}

// NewChecker begins a check.
func NewChecker(l *Lock, on FailOn) *Checker {
	c := &Checker{lock: l, others: map[string]bool{}}
	c.res = Result{Schema: CheckSchema, FailOn: on, Servers: []Checked{}, NotLocked: []string{}, Unreadable: []string{}}
	for i := range l.Servers {
		c.res.Servers = append(c.res.Servers, Checked{Server: l.Servers[i].Server, Version: l.Servers[i].Version, Seen: []string{}, Changes: []Change{}, Undecided: []string{}})
	}
	return c
}

// Unreadable takes a recording that cannot be read.
func (c *Checker) Unreadable(recording string) {
	c.res.Unreadable = append(c.res.Unreadable, visible.UTF8(recording))
}

// Add takes a list of a server.
func (c *Checker) Add(server, version, recording string, list *catalog.List) {
	server, version, recording = visible.UTF8(server), visible.UTF8(version), visible.UTF8(recording)
	i, is := c.lock.find(server)
	if !is {
		c.others[server] = true
		return
	}
	to := &c.res.Servers[i]
	switch {
	case Whole(list):
		to.Lists++
	case len(list.Tools) == 0:
		return // an error or no answer: nothing was listed
	default:
		to.Partial++
	}
	if !slices.Contains(to.Seen, version) {
		to.Seen = append(to.Seen, version)
	}
	res := drift.Compare(c.lock.Servers[i].list, list)
	for _, d := range res.Changes {
		to.add(change(d, version), recording)
	}
	for _, u := range res.Undecided {
		if u = visible.UTF8(u); !slices.Contains(to.Undecided, u) {
			to.Undecided = append(to.Undecided, u)
		}
	}
}

func change(d drift.Change, version string) Change {
	text := visible.UTF8
	return Change{Rule: d.Rule, Class: string(d.Class), Tool: text(d.Tool), Path: text(d.Path), Text: visible.String(d.Text), Before: text(d.Before), After: text(d.After), Version: version}
}

// add notes a change, or that one was seen once more.
func (s *Checked) add(ch Change, recording string) {
	i := slices.IndexFunc(s.Changes, func(o Change) bool { return compareChanges(&o, &ch) == 0 })
	if i < 0 {
		i = len(s.Changes)
		s.Changes = append(s.Changes, ch)
	}
	if r := &s.Changes[i].Recordings; !slices.Contains(*r, recording) {
		*r = append(*r, recording)
	}
}

func compareChanges(a, b *Change) int {
	return cmp.Or(cmp.Compare(drift.Class(b.Class).Rank(), drift.Class(a.Class).Rank()), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
}

// Result sums up. The order of Add makes no difference.
func (c *Checker) Result() *Result {
	r := &c.res
	r.NotLocked = r.NotLocked[:0]
	for name := range c.others {
		r.NotLocked = append(r.NotLocked, name)
	}
	slices.Sort(r.NotLocked)
	slices.Sort(r.Unreadable)
	found, changed, open := false, false, len(r.Unreadable) > 0
	for i := range r.Servers {
		s := &r.Servers[i]
		slices.Sort(s.Seen)
		slices.Sort(s.Undecided)
		slices.SortFunc(s.Changes, func(a, b Change) int { return compareChanges(&a, &b) })
		for k := range s.Changes {
			ch := &s.Changes[k]
			slices.Sort(ch.Recordings)
			ch.Recordings = ch.Recordings[:min(len(ch.Recordings), maxShownIn)]
			changed = true
			found = found || r.FailOn == FailAny || r.FailOn == FailBreaking && ch.Class == string(drift.Breaking)
		}
		open = open || s.Lists == 0
	}
	switch {
	case found:
		r.Verdict = Changed
	case open:
		r.Verdict = NotMeasured
	case changed:
		r.Verdict = Accepted
	default:
		r.Verdict = Same
	}
	return r
}

// ExitCode is the exit code of the verb: 0 nothing that --fail-on names, 1 a finding,
// 3 a server of the lock that was not measured.
func (r *Result) ExitCode() int {
	switch r.Verdict {
	case Changed:
		return 1
	case NotMeasured:
		return 3
	}
	return 0
}

// JSON writes the result by its schema.
func JSON(w io.Writer, r *Result) error {
	if err := json.MarshalWrite(w, r, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.EscapeForHTML(false)); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Text writes the result for people. path finds a recording's file by its id.
func Text(w io.Writer, r *Result, path func(id string) string) error {
	var b strings.Builder
	for i := range r.Servers {
		s := &r.Servers[i]
		seen := make([]string, len(s.Seen))
		for k, v := range s.Seen {
			seen[k] = name(v)
		}
		fmt.Fprintf(&b, "%s: locked %s, ", name(s.Server), name(s.Version))
		switch {
		case s.Lists == 0 && s.Partial == 0:
			b.WriteString("not on record\n")
		default:
			fmt.Fprintf(&b, "seen %s in %s", strings.Join(seen, ", "), count(s.Lists, "whole list"))
			if s.Partial > 0 {
				fmt.Fprintf(&b, " and %s that %s not whole", count(s.Partial, "list"), areIs(s.Partial))
			}
			fmt.Fprintf(&b, ": %s\n", count(int64(len(s.Changes)), "change"))
		}
		for k := range s.Changes {
			ch := &s.Changes[k]
			what := ch.Text
			if ch.Tool != "" {
				what = ch.Tool + ": " + what
			}
			fmt.Fprintf(&b, "  %s: %s (%s)\n", ch.Class, visible.String(what), ch.Rule)
			fmt.Fprintf(&b, "    %s, in %s\n", name(ch.Version), visible.String(path(ch.Recordings[0])))
		}
		for _, u := range s.Undecided {
			fmt.Fprintf(&b, "  not decided: %s\n", visible.String(u))
		}
	}
	for _, n := range r.NotLocked {
		fmt.Fprintf(&b, "%s: not in the lock\n", name(n))
	}
	for _, id := range r.Unreadable {
		fmt.Fprintf(&b, "cannot be read: %s\n", visible.String(path(id)))
	}
	fmt.Fprintf(&b, "catalog: %s (--fail-on %s)\n", r.Verdict, r.FailOn)
	_, err := io.WriteString(w, b.String())
	return err
}

func name(s string) string {
	if s == "" {
		return "(no name)"
	}
	return visible.String(s)
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func areIs(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
