package report

import (
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
)

// Of is the verdict of a grading as reports show it. Its trials are made one by one,
// when they are asked for.
func Of(v *grade.Verdict) *Verdict {
	out := &Verdict{
		AnalyzerVersion: v.AnalyzerVersion, SuiteID: v.SuiteID, SuiteHash: v.SuiteHash,
		Coverage: v.Coverage, Word: v.Word, Reasons: v.Reasons, Paths: v.Paths, SuiteFiles: v.SuiteFiles,
	}
	for i := range v.Skipped {
		s := &v.Skipped[i]
		out.Skipped = append(out.Skipped, Skipped{Recording: s.Recording, Session: s.Session, Why: s.Why, Detail: s.Detail, Path: s.Path})
	}
	for i := range v.Cases {
		out.Cases = append(out.Cases, ofCase(&v.Cases[i]))
	}
	return out
}

func ofCase(c *grade.Case) *Case {
	out := &Case{ID: c.ID, Title: c.Title, Word: c.Word, Reason: c.Reason, Counted: c.Counted, Stats: c.Stats, ConfigHash: c.ConfigHash}
	if c.Coverage != nil {
		out.Coverage, out.CanFail = &c.Coverage.Links, c.Coverage.CanFail
	}
	var at *Place
	if s := c.Spec; s != nil {
		at = placeOf(s.Pos.File, s.Pos.Line, s.Pos.Col)
		out.Spec = &Spec{Overridden: s.Overridden, Repetitions: s.Repetitions, NotMeasurable: s.NotMeasurable, At: at}
	}
	for i := range out.states {
		for _, s := range worst {
			if c.Has(i, s) {
				out.has(i, s)
			}
		}
	}
	out.each = func(do func(t *Trial) error) error {
		return c.Each(func(t *grade.Trial) error { return do(ofTrial(t, at)) })
	}
	return out
}

func (c *Case) has(link int, s chain.State) {
	if c.states[link] == nil {
		c.states[link] = map[chain.State]bool{}
	}
	c.states[link][s] = true
}

func placeOf(file, line, column int) *Place {
	if line == 0 {
		return nil
	}
	return &Place{File: file, Line: line, Column: column}
}

// ofTrial makes a trial; at is where its case stands.
func ofTrial(t *grade.Trial, at *Place) *Trial {
	out := &Trial{
		Recording: t.Recording, Session: t.Session, Labels: t.Labels, Word: t.Word, Why: t.Why,
		Links: ofLinks(t, &t.Chain), FirstBreak: t.Chain.FirstBreak, FailureCategory: t.Chain.Category,
		Runner: t.Chain.Runner, Facts: t.Facts,
	}
	if n := t.Talk; n != nil {
		out.Conversation = &Conversation{Host: n.Host, Session: n.SessionID, Join: n.Verdict, Why: n.Why, HostOnly: n.HostOnly, More: n.More}
	}
	for i := range t.Parts {
		p := &t.Parts[i]
		out.Parts = append(out.Parts, Part{p.Recording, p.Session, p.Server, p.Lost})
	}
	out.Rows = make([]Row, len(t.Rows))
	for i := range t.Rows {
		out.Rows[i] = ofRow(t, &t.Rows[i], at)
	}
	return out
}

func ofRow(t *grade.Trial, r *grade.Row, at *Place) Row {
	row := Row{
		Name: r.Name, Link: r.Link, Role: r.Role, Warn: r.Warn, Turn: r.Turn, Result: r.Result,
		Reason: r.Reason, Expected: r.Expected, Actual: r.Actual, Records: ofRecords(t, r.Records), At: at,
	}
	if r.Check != nil {
		row.At = placeOf(r.Check.Pos.File, r.Check.Pos.Line, r.Check.Pos.Col)
	}
	if r.Diff != nil {
		row.Scorer, row.Differences = true, differences(t, r)
	}
	return row
}

// ofLinks makes the links of a chain; t is nil where there is no trial.
func ofLinks(t *grade.Trial, r *chain.Result) [6]Link {
	var out [6]Link
	for i := range r.Links {
		l := &r.Links[i]
		out[i] = Link{Link: l.Link, State: l.State, Reason: l.Reason, Records: ofRecords(t, l.Evidence.Records),
			Text: l.Evidence.Text, SameCallAs: l.Evidence.SameCallAs}
	}
	return out
}

// ofRecords names the records of a row, a link or a difference; where several
// recordings meet, with the recording that has it and its server.
func ofRecords(t *grade.Trial, handles []int64) []Record {
	out := make([]Record, len(handles))
	for i, h := range handles {
		if out[i].Seq = h; t == nil || len(t.Parts) == 0 {
			continue
		}
		p := (*predicate.Part)(nil)
		if p, out[i].Seq = t.Place(h); p != nil {
			out[i].Recording, out[i].Server = p.Recording, p.Server
		}
	}
	return out
}
