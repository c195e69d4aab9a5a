package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/visible"
	"github.com/sixlink/sixlink/replay/diff"
	replayrun "github.com/sixlink/sixlink/replay/run"
)

// verifySchema names the report's JSON: additive within its version.
const verifySchema = "sixlink/verify/1"

// verification is the whole report.
type verification struct {
	schema  string
	all     []*verified
	suite   *grade.Suite
	cases   []gradedCase
	reasons []reason
	code    int
}

// reason is why the exit code is not 0. of is nil for what concerns them all.
type reason struct {
	of   *verified
	text string
}

// gradedCase is one case of the suite, before and now.
type gradedCase struct {
	ID         string     `json:"id"`
	Title      string     `json:"title,omitzero"`
	Was        grade.Word `json:"recorded"`
	Is         grade.Word `json:"new"`
	Reason     string     `json:"reason,omitzero"` // of the new one
	Regression bool       `json:"regression"`
}

func (r *verification) add(v *verified) { r.all = append(r.all, v) }

// grade grades the recordings and the new ones. What passed and does not pass any
// more is a regression.
func (r *verification) grade(s stdio, name string, suite *grade.Suite, limit int64, key string) error {
	r.suite = suite
	var before, after []string
	for _, v := range r.all {
		if v.err == nil {
			before, after = append(before, v.path), append(after, v.run.path)
		}
	}
	if len(after) == 0 {
		return nil
	}
	verdict := func(s stdio, paths []string) (*grade.Verdict, error) {
		g, err := gradeFiles(s, name, paths, limit, key, &talkFlags{}, func() (*grade.Grader, error) {
			return grade.NewGrader(suite, grade.Options{Spool: &spool{}})
		})
		if err != nil {
			return nil, err
		}
		return g.Verdict()
	}
	quiet := s
	quiet.err = io.Discard // it was said when they were read
	was, err := verdict(quiet, before)
	if err != nil {
		return err
	}
	is, err := verdict(s, after)
	if err != nil {
		return err
	}
	for i := range is.Cases {
		c := &is.Cases[i]
		g := gradedCase{ID: c.ID, Title: c.Title, Is: c.Word, Reason: c.Reason}
		for k := range was.Cases {
			if was.Cases[k].ID == c.ID {
				g.Was = was.Cases[k].Word
			}
		}
		g.Regression = c.Counted && g.Was == grade.Passed && g.Is != grade.Passed
		r.cases = append(r.cases, g)
	}
	return nil
}

// decide makes one exit code of it all, and says why it is not 0.
func (r *verification) decide() {
	var found, open []reason
	partial := false
	for _, v := range r.all {
		if v.err != nil {
			open = append(open, reason{v, v.err.Error()})
			continue
		}
		report := v.run.report
		if report.Interrupt {
			// What is missing is missing by our own doing.
			open, partial = append(open, reason{v, "interrupted"}), true
			continue
		}
		if n := len(report.Skipped()); n > 0 {
			open = append(open, reason{v, count(int64(n), "request") + " skipped"})
		} else if report.Partial || report.Sent == 0 {
			open = append(open, reason{v, "the run is partial"})
		}
		partial = partial || report.Partial
		switch v.diff.ExitCode() {
		case exitFinding:
			text := diff.Summary(v.diff)
			if n := v.tainted(); n > 0 {
				text += fmt.Sprintf("; %s in calls after a skipped one alone, which may be why", count(n, "difference"))
			}
			found = append(found, reason{v, text})
		case exitUnknown:
			if !report.Partial {
				open = append(open, reason{v, diff.Summary(v.diff)})
			}
		}
	}
	for _, c := range r.cases {
		if !c.Regression {
			continue
		}
		text := fmt.Sprintf("case %s passed and is %s now", c.ID, c.Is)
		if c.Is == grade.Failed && !partial {
			found = append(found, reason{nil, text})
		} else {
			// What was not sent cannot pass.
			open = append(open, reason{nil, text})
		}
	}
	r.reasons = append(found, open...)
	switch {
	case len(found) > 0:
		r.code = exitFinding
	case len(open) > 0:
		r.code = exitUnknown
	}
}

// tainted counts the differences that count and were seen only in calls after a
// skipped one.
func (v *verified) tainted() (n int64) {
	tainted := v.run.report.Tainted()
	for _, f := range v.diff.Findings {
		if v.diff.Fails(f.Class) && len(f.Where) > 0 && !slices.ContainsFunc(f.Where, func(w diff.Where) bool { return !tainted[w.CallA] }) {
			n++
		}
	}
	return n
}

var verifyWords = map[int]string{exitGood: "passed", exitFinding: "failed", exitUnknown: "undecided"}

// The schema "sixlink/verify/1".
type verifyJSON struct {
	Schema     string            `json:"schema"`
	Verdict    string            `json:"verdict"` // passed, failed, undecided
	ExitCode   int               `json:"exitCode"`
	Reasons    []string          `json:"reasons"`
	Recordings []verifyRecording `json:"recordings"`
	Suite      verifySuite       `json:"suite"`
	Cases      []gradedCase      `json:"cases"`
}

type verifyRecording struct {
	Recording string            `json:"recording"`
	Error     string            `json:"error,omitzero"`
	Run       *replayrun.Report `json:"run,omitzero"`
	Diff      jsontext.Value    `json:"diff,omitzero"`
}

type verifySuite struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
}

func (r *verification) json(w io.Writer) error {
	j := verifyJSON{Schema: r.schema, Verdict: verifyWords[r.code], ExitCode: r.code, Reasons: []string{}, Recordings: []verifyRecording{},
		Suite: verifySuite{r.suite.ID, r.suite.Hash}, Cases: append([]gradedCase{}, r.cases...)}
	// Recordings are named by their ids here: paths are for rendered reports.
	named := func(v *verified, text string) string {
		return strings.ReplaceAll(text, v.path, cmp.Or(v.id, "the recording"))
	}
	for _, why := range r.reasons {
		if why.of != nil {
			why.text = cmp.Or(why.of.id, "a recording") + ": " + named(why.of, why.text)
		}
		j.Reasons = append(j.Reasons, why.text)
	}
	for _, v := range r.all {
		e := verifyRecording{Recording: v.id}
		if v.err != nil {
			e.Error = named(v, v.err.Error())
		}
		if v.run != nil {
			e.Run = v.run.report
		}
		if v.diff != nil {
			var b bytes.Buffer
			if err := diff.JSON(&b, v.diff); err != nil {
				return err
			}
			e.Diff = bytes.TrimSpace(b.Bytes())
		}
		j.Recordings = append(j.Recordings, e)
	}
	return writeJSON(w, j)
}

func (r *verification) text(w io.Writer, o diff.TextOptions, all bool) error {
	for _, v := range r.all {
		fmt.Fprintf(w, "== %s\n", visible.String(v.path))
		if v.run != nil {
			runText(w, v.run.report, false, all)
		}
		if v.err != nil {
			fmt.Fprintf(w, "%s\n", visible.String(v.err.Error()))
			continue
		}
		if err := diff.Text(w, v.diff, o); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if len(r.cases) > 0 {
		fmt.Fprintf(w, "== checks of suite %s\n", visible.String(r.suite.ID))
		for _, c := range r.cases {
			line := fmt.Sprintf("%-12s -> %-12s %s", c.Was, c.Is, visible.String(c.ID))
			if c.Regression {
				line += "  regression: " + seen(c.Reason)
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s: %s\n", verifyWords[r.code], count(int64(len(r.all)), "recording"))
	for _, why := range r.reasons {
		if why.of != nil {
			why.text = filepath.Base(why.of.path) + ": " + strings.TrimPrefix(why.text, why.of.path+": ")
		}
		fmt.Fprintf(w, "  %s\n", visible.String(why.text))
	}
	return nil
}
