package html

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
)

// stateLetters are the states of a link as one letter each, for lists.
var stateLetters = map[chain.State]byte{
	chain.Passed: 'p', chain.Failed: 'f', chain.NotReached: 'r', chain.NotMeasured: 'm', chain.NotApplicable: 'a',
}

// Bounds of what one trial shows; what is over them is counted.
const (
	maxRows   = 2000
	maxDiff   = 200
	maxLabels = 20
)

// overview gathers what the lists show of the verdict: all of it but the trials' rows.
func (r *builder) overview(v *report.Verdict) error {
	run := &r.run
	run.Suite, run.Hash, run.Analyzer, run.Word = oneLine(v.SuiteID), shortHash(v.SuiteHash), v.AnalyzerVersion, string(v.Word)
	run.Reasons, run.Coverage = lines(v.Reasons), coverOf(&v.Coverage)
	for _, e := range r.o.Earlier[max(0, len(r.o.Earlier)-3):] {
		run.Earlier = append(run.Earlier, earlierRun{oneLine(e.Name), e.Passed, e.Eligible, e.Trials, e.SuiteHash == v.SuiteHash})
	}
	for i := range v.Skipped {
		s := &v.Skipped[i]
		where := s.Recording
		if s.Path != "" {
			where = s.Path
		}
		run.Skipped = append(run.Skipped, skippedData{oneLine(where), oneLine(s.Session), oneLine(s.Why), words(s.Detail)})
	}
	for i, c := range v.Cases {
		d := caseOf(c, v.SuiteFiles)
		d.First = len(run.Trials)
		if err := c.Each(func(t *report.Trial) error {
			k := r.addTrial(i, t, v.Paths[t.Recording])
			if b := run.Trials[k].Break; b >= 0 {
				d.Breaks[b]++
			}
			return nil
		}); err != nil {
			return err
		}
		run.Cases = append(run.Cases, d)
	}
	return nil
}

func caseOf(c *report.Case, files []string) caseData {
	d := caseData{ID: oneLine(c.ID), Title: oneLine(c.Title), Word: string(c.Word), Reason: oneLine(c.Reason), Counted: c.Counted,
		Stats: statsData{Trials: c.Stats.Trials, Passed: c.Stats.Passed, Failed: c.Stats.Failed, Errored: c.Stats.Errored,
			Rate: share(c.Stats.PassRate), Low: c.Stats.WilsonLow, High: c.Stats.WilsonHigh, Stability: share(c.Stats.Stability)}}
	if c.Coverage != nil {
		d.Coverage, d.CanFail = coverOf(c.Coverage), string(c.CanFail)
	}
	if s := c.Spec; s != nil {
		d.Overridden, d.NotMeasurable, d.Where = lines(s.Overridden), lines(s.NotMeasurable), whereOf(s.At, files)
	}
	return d
}

// whereOf is file and line in the suite; empty: in no file that is known.
func whereOf(at *report.Place, files []string) string {
	if at == nil {
		return ""
	}
	if at.File < 0 || at.File >= len(files) {
		return fmt.Sprintf("line %d of the suite", at.Line)
	}
	return oneLine(fmt.Sprintf("%s:%d", files[at.File], at.Line))
}

func coverOf(links *[6]grade.LinkCoverage) []coverData {
	out := make([]coverData, len(links))
	for i := range links {
		l := &links[i]
		by := l.By
		if len(by) > 20 {
			by = append(slices.Clone(by[:20]), "…")
		}
		out[i] = coverData{string(l.Link), string(l.State), lines(by)}
	}
	return out
}

// addTrial lists a trial and returns its number.
func (r *builder) addTrial(c int, t *report.Trial, path string) int {
	x := trialIndex{Case: c, Word: string(t.Word), Break: -1, Host: -1, Calls: t.Facts.Calls, Name: oneLine(path)}
	if path == "" {
		x.Name = oneLine(t.Recording)
	}
	x.Name += " " + oneLine(t.Session)
	states := make([]byte, 0, 6)
	for i := range t.Links {
		l := &t.Links[i]
		states = append(states, stateLetters[l.State])
		if l.Link == t.FirstBreak {
			x.Break, x.Why = i, oneLine(string(l.Reason))
		}
		if l.Reason == chain.LifecycleStopped {
			x.Stopped = true
		}
	}
	x.States = string(states)
	if x.Why == "" {
		x.Why = oneLine(t.Why)
	}
	r.facts(&x, &t.Facts)
	if len(t.Parts) == 0 {
		x.Sessions = []int{r.sessionRef(t.Recording, t.Session)}
	}
	for i := range t.Parts {
		if p := &t.Parts[i]; p.Session != "" && len(x.Sessions) < maxSessions {
			x.Sessions = append(x.Sessions, r.sessionRef(p.Recording, p.Session))
		}
	}
	for i, k := range slices.Sorted(maps.Keys(t.Labels)) {
		if i == maxLabels {
			break
		}
		if x.Labels == nil {
			x.Labels = map[string]string{}
		}
		x.Labels[oneLine(k)] = oneLine(t.Labels[k])
	}
	r.run.Trials = append(r.run.Trials, x)
	return len(r.run.Trials) - 1
}

// facts are what a trial was made with and what it took.
func (r *builder) facts(x *trialIndex, f *grade.Facts) {
	if f.StartedAt != 0 {
		x.Start = time.Unix(0, f.StartedAt).UTC().Format(time.RFC3339)
	}
	x.Ms, x.Model = ms(f.DurationNs), oneLine(f.Model)
	if name := oneLine(strings.TrimSpace(f.Host + " " + f.HostVersion)); name != "" {
		n, ok := r.hosts[name]
		if !ok {
			n = len(r.hosts)
			r.hosts[name] = n
			r.run.Hosts = append(r.run.Hosts, name)
		}
		x.Host = n
	}
	for i := range f.Servers {
		s := &f.Servers[i]
		name := strings.TrimSpace(s.Name + " " + s.Version)
		if name == "" {
			name = s.Key
		}
		if i < maxSessions && name != "" {
			x.Servers = append(x.Servers, oneLine(name))
		}
	}
	if f.Tokens != nil {
		x.Tokens = max(0, f.Tokens.Total)
	}
}

// trial makes the block of a trial.
func (r *builder) trial(t *report.Trial) *trialData {
	out := &trialData{Why: words(t.Why), Category: string(t.FailureCategory)}
	for i := range t.Parts {
		p := &t.Parts[i]
		if i == maxSessions {
			break
		}
		n := -1
		if at, ok := r.refs[sessionKey{p.Recording, p.Session}]; ok {
			n = at
		}
		out.Parts = append(out.Parts, partData{oneLine(p.Server), n, oneLine(p.Lost)})
	}
	at := func(list []report.Record) []recordRef {
		refs := make([]recordRef, len(list))
		for i := range list {
			id := list[i].Recording
			if id == "" && len(t.Parts) == 0 {
				id = t.Recording
			}
			n, ok := r.places[id]
			if !ok {
				n = -1
			}
			refs[i] = recordRef{int64(n), list[i].Seq}
		}
		return refs
	}
	for i := range t.Links {
		l := &t.Links[i]
		out.Links = append(out.Links, linkData{string(l.Link), string(l.State), string(l.Reason), words(l.Text), oneLine(l.SameCallAs), at(l.Records)})
	}
	for i := range t.Rows {
		if i == maxRows {
			out.MoreRows = len(t.Rows) - i
			break
		}
		out.Rows = append(out.Rows, rowOf(&t.Rows[i], at))
	}
	for i := range t.Runner {
		c := &t.Runner[i]
		out.Runner = append(out.Runner, runnerData{oneLine(c.ID), string(c.Link), string(c.State), words(c.Expected), words(c.Actual)})
	}
	return out
}

func rowOf(row *report.Row, at func([]report.Record) []recordRef) rowData {
	out := rowData{Name: visible.String(row.Name), Link: string(row.Link), Role: string(row.Role), Warn: row.Warn, Turn: row.Turn,
		Result: string(row.Result), Reason: words(row.Reason), Expected: words(row.Expected), Actual: words(row.Actual),
		Records: at(row.Records), Scorer: row.Scorer}
	for i := range row.Differences {
		if i == maxDiff {
			out.MoreDiff = len(row.Differences) - i
			break
		}
		d := &row.Differences[i]
		actual := d.Actual
		if d.Restates() {
			actual = ""
		}
		out.Diff = append(out.Diff, diffData{d.Class, d.Turn, oneLine(d.Tool), words(d.Expected), words(actual), d.Allowed, at(d.Records)})
	}
	return out
}

// trialOf is a session of a recording as a trial that no suite graded.
func trialOf(rec *report.Recording, s *session.Session) report.Trial {
	c := grade.Chain(s, rec.Sessions)
	t := report.Trial{Recording: rec.Header.ID, Session: s.ID, Labels: rec.Header.Labels, FirstBreak: c.FirstBreak,
		FailureCategory: c.Category, Runner: c.Runner}
	for i := range c.Links {
		l := &c.Links[i]
		t.Links[i] = report.Link{Link: l.Link, State: l.State, Reason: l.Reason, Text: l.Evidence.Text, SameCallAs: l.Evidence.SameCallAs}
		for _, seq := range l.Evidence.Records {
			t.Links[i].Records = append(t.Links[i].Records, report.Record{Seq: seq})
		}
	}
	t.Facts = grade.Facts{StartedAt: rec.Header.Start.Add(time.Duration(s.FirstAt)).UnixNano(), DurationNs: s.LastAt - s.FirstAt,
		Host: s.Client.Name, HostVersion: s.Client.Version, Calls: len(s.Calls)}
	if s.Server.Name != "" {
		t.Facts.Servers = []grade.ServerFacts{{Name: s.Server.Name, Version: s.Server.Version}}
	}
	return t
}
