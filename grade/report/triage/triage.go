package triage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
)

// Bounds: of spots, of the trials of one spot that rules look at, and of what one cause
// names.
const (
	maxSpots    = 200
	maxExamples = 3
	maxEvidence = 5
	maxRecords  = 8
	maxShown    = 3 // tools of one cause
)

// DefaultTop is how many causes of a spot are given where nobody asks.
const DefaultTop = 3

// Options are those of one triage.
type Options struct {
	// Source has recordings of the verdict; nil: none are at hand.
	Source report.Source
	// Top is how many causes of each spot are given; 0: DefaultTop.
	Top int
}

// Report is what a triage found.
type Report struct {
	SuiteID   string
	Word      grade.Word
	Spots     []*Spot
	MoreSpots int
	// NotLookedAt says what was not looked at, and what to give to have it looked at.
	NotLookedAt []string
}

// Spot is one thing that failed or is weak.
type Spot struct {
	// Failing says that a trial that counts failed by it; others are weak.
	Failing bool
	// Case and Title are those of the case; empty: the spot is of a Tool of a Server,
	// which no check looked at.
	Case, Title, Server, Tool string
	Link                      predicate.Link // where it shows; empty: nowhere
	// What is the link's reason, or the check's name; Text says what was seen.
	What, Text string
	Trials, Of int
	At         []At
	Causes     []*Likely
	More       int // causes beyond Options.Top
	examples   []*example
	caseAt     int
}

// At is where a spot was seen: the session of a trial.
type At struct{ Recording, Path, Session string }

// Likely is one likely cause of a spot.
type Likely struct {
	Cause       *Cause
	Rank        int
	Shows, From predicate.Link
	Evidence    []string
	Records     []report.Record
	Tools       []Tool
	Prompt      string

	key string
}

// Likelihood is the rank in a word.
func (l *Likely) Likelihood() string {
	switch {
	case l.Rank >= 75:
		return "likely"
	case l.Rank >= 50:
		return "possible"
	}
	return "hint"
}

// Tool is a tool that a cause is about, as its server listed it.
type Tool struct {
	Server, Version, Name string
	// Listed says that a list has it: the others are known by name alone.
	Listed      bool
	Description string
	InputSchema string // its JSON; empty: none, or not known
}

// example is one trial of a spot.
type example struct {
	c    *report.Case
	t    *report.Trial
	link *report.Link  // that failed; nil: it did not
	rows []*report.Row // that did not pass at the spot's link, or the one row
}

// Of makes the triage of a verdict.
func Of(v *report.Verdict, o Options) (*Report, error) {
	if o.Top <= 0 {
		o.Top = DefaultTop
	}
	out := &Report{SuiteID: oneLine(v.SuiteID), Word: v.Word}
	g := &gathering{v: v, spots: map[spotKey]*Spot{}, graded: map[sessionKey]bool{}}
	for i := range v.Skipped {
		// A session without a call is no trial, and its list is still one that the host saw.
		if k := &v.Skipped[i]; k.Why == grade.WhyProbe {
			g.graded[sessionKey{k.Recording, k.Session}] = true
		}
	}
	for i, c := range v.Cases {
		g.at, g.c = i, c
		if err := c.Each(g.trial); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(g.list, func(a, b *Spot) int {
		return cmp.Or(-compareBools(a.Failing, b.Failing), -cmp.Compare(a.Trials, b.Trials), cmp.Compare(a.caseAt, b.caseAt), cmp.Compare(linkAt(a.Link), linkAt(b.Link)))
	})
	if len(g.list) > maxSpots {
		out.MoreSpots = len(g.list) - maxSpots
		g.list = g.list[:maxSpots]
	}
	out.Spots = g.list

	var l *looker
	if o.Source != nil {
		wanted := map[sessionKey]bool{}
		for _, s := range g.list {
			for _, e := range s.examples {
				for _, p := range sessionsOf(e.t) {
					wanted[p] = true
				}
			}
		}
		l = look(o.Source, g.graded, wanted)
	}
	for _, s := range out.Spots {
		for _, e := range s.examples {
			r := &rules{spot: s, example: e, verdict: v, l: l}
			r.run()
		}
		finish(s)
	}
	if l != nil {
		out.weak(l)
	}
	for _, s := range out.Spots {
		if n := len(s.Causes); n > o.Top {
			s.More, s.Causes = n-o.Top, s.Causes[:o.Top]
		}
	}
	prompts(out)
	out.NotLookedAt = notLookedAt(l, g, out)
	return out, nil
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func linkAt(l predicate.Link) int { return slices.Index(chain.Order[:], l) }

// notLookedAt says what could not be looked at.
func notLookedAt(l *looker, g *gathering, out *Report) []string {
	var list []string
	switch {
	case len(g.graded) == 0:
	case l == nil:
		list = append(list, "descriptions and schemas of tools, arguments, results and texts of errors: give the recordings, or their folder, after the verdict")
	case l.missing > 0:
		text := fmt.Sprintf("what is in %s not at hand, or not readable: give every file", plural(l.missing, "recording"))
		for _, why := range l.unread {
			text += "; " + why
		}
		list = append(list, text)
	}
	if out.MoreSpots > 0 {
		list = append(list, fmt.Sprintf("%s beyond the first %d", plural(out.MoreSpots, "spot"), maxSpots))
	}
	if l != nil {
		cut := 0
		for _, s := range l.sessions {
			cut += s.moreCalls
		}
		if cut > 0 {
			list = append(list, fmt.Sprintf("%s beyond the first %d of their sessions", plural(cut, "call"), maxCalls))
		}
	}
	return list
}

// gathering makes spots of trials.
type gathering struct {
	v      *report.Verdict
	at     int
	c      *report.Case
	spots  map[spotKey]*Spot
	list   []*Spot
	graded map[sessionKey]bool
}

type spotKey struct {
	caseAt int
	link   predicate.Link
	what   string
}

func sessionsOf(t *report.Trial) []sessionKey {
	if len(t.Parts) == 0 {
		return []sessionKey{{t.Recording, t.Session}}
	}
	var out []sessionKey
	for i := range t.Parts {
		out = append(out, sessionKey{t.Parts[i].Recording, t.Parts[i].Session})
	}
	return out
}

func (g *gathering) trial(t *report.Trial) error {
	for _, k := range sessionsOf(t) {
		g.graded[k] = true
	}
	told := false
	failed := map[predicate.Link]bool{}
	for i := range t.Links {
		l := &t.Links[i]
		if l.State != chain.Failed {
			continue
		}
		failed[l.Link], told = true, true
		e := &example{c: g.c, t: t, link: l}
		for k := range t.Rows {
			if r := &t.Rows[k]; r.Link == l.Link && r.Result == predicate.Fail {
				e.rows = append(e.rows, r)
			}
		}
		g.add(e, l.Link, string(l.Reason), l.Text)
	}
	for k := range t.Rows {
		if r := &t.Rows[k]; r.Result == predicate.Fail && !failed[r.Link] {
			told = true
			g.add(&example{c: g.c, t: t, rows: []*report.Row{r}}, r.Link, r.Name, r.Reason)
		}
	}
	if !told && t.Word == grade.Inconclusive {
		e := &example{c: g.c, t: t}
		link, what, text := predicate.Link(""), "inconclusive", t.Why
		for i := range t.Links {
			if l := &t.Links[i]; l.State == chain.NotMeasured {
				link, what = l.Link, string(l.Reason)
				if text == "" {
					text = l.Text
				}
				break
			}
		}
		g.add(e, link, what, text)
	}
	return nil
}

func (g *gathering) add(e *example, link predicate.Link, what, text string) {
	k := spotKey{g.at, link, what}
	s := g.spots[k]
	if s == nil {
		s = &Spot{Case: oneLine(g.c.ID), Title: oneLine(g.c.Title), Link: link, What: oneLine(what), Text: sentence(text), Of: g.c.Stats.Trials, caseAt: g.at}
		g.spots[k] = s
		g.list = append(g.list, s)
	}
	s.Trials++
	gating := e.link != nil || slices.ContainsFunc(e.rows, func(r *report.Row) bool { return r.Role == predicate.Gating })
	s.Failing = s.Failing || g.c.Counted && e.t.Word == grade.Failed && gating
	if len(s.examples) < maxExamples {
		s.examples = append(s.examples, e)
		k := sessionsOf(e.t)[0]
		s.At = append(s.At, At{oneLine(k.recording), oneLine(g.v.Paths[k.recording]), oneLine(k.session)})
	}
}

// finish puts the causes of a spot in order.
func finish(s *Spot) {
	if len(s.Causes) == 0 {
		c := causeOf("no-rule")
		l := &Likely{Cause: c, Rank: c.Rank, Shows: s.Link, From: s.Link, key: c.ID}
		if s.Text != "" {
			l.Evidence = []string{s.Text}
		}
		if len(s.examples) > 0 && s.examples[0].link != nil {
			l.Records = s.examples[0].link.Records
		}
		s.Causes = append(s.Causes, l)
	}
	slices.SortStableFunc(s.Causes, func(a, b *Likely) int {
		return cmp.Or(-cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Cause.place(), b.Cause.place()), cmp.Compare(a.key, b.key))
	})
}
