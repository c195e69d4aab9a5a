package grade

import (
	"cmp"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// Recording is one recording with its decoded sessions.
type Recording struct {
	ID string
	// Path is where it was read, for people; it is in no verdict's JSON.
	Path     string
	Torn     bool
	Gaps     int
	Labels   map[string]string
	Sessions []*session.Session
	// Unreadable says why the recording could not be read at all; the rest may
	// then be empty. ID is then "sha256:" and the beginning of the hash of the
	// file's content, or empty when not even that could be read.
	Unreadable string
}

// Options are those of one grading.
type Options struct {
	// StrictEvidence makes gating errors failures.
	StrictEvidence bool
	// RequireWhole refuses recordings that are torn or have gaps.
	RequireWhole bool
}

// Grade grades recordings against a suite. The order of recs does not matter. An
// error means that the input itself is unusable (exit code 2).
func Grade(suite *Suite, recs []Recording, o Options) (*Verdict, error) {
	recs = slices.Clone(recs)
	for i := range recs {
		// The reason is in the JSON, and a path of this machine must not be.
		if r := &recs[i]; r.Unreadable != "" && r.Path != "" {
			r.Unreadable = strings.ReplaceAll(r.Unreadable, r.Path, "the file")
			if dir := filepath.Dir(r.Path); dir != "." && dir != "/" { // of its other segments
				r.Unreadable = strings.ReplaceAll(r.Unreadable, dir+"/", "")
			}
		}
	}
	slices.SortStableFunc(recs, func(a, b Recording) int {
		// The path comes last: it orders what reads the same in the JSON.
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Unreadable, b.Unreadable), cmp.Compare(a.Path, b.Path))
	})
	for i := 1; i < len(recs); i++ {
		if recs[i].ID != "" && recs[i].ID == recs[i-1].ID {
			return nil, fmt.Errorf("recording %s is given twice: %s and %s: leave one out", recs[i].ID, recs[i-1].Path, recs[i].Path)
		}
	}
	v := &Verdict{
		AnalyzerVersion: chain.AnalyzerVersion,
		SuiteID:         suite.ID, SuiteHash: suite.Hash,
		Paths: map[string]string{},
	}
	g := grading{suite: suite, o: o, v: v}
	for i := range recs {
		if recs[i].ID != "" {
			v.Paths[recs[i].ID] = recs[i].Path
		}
		g.recording(&recs[i])
	}
	if len(g.trials) > 0 {
		v.Cases = []Case{g.unassigned()}
	}
	g.run()
	return v, nil
}

type grading struct {
	suite  *Suite
	o      Options
	v      *Verdict
	trials []Trial
	// cache is emptied for each recording: its schemas are one server's.
	cache *predicate.Schemas
	// unfit counts recordings that could not be used; erred and unfinished count
	// trials for the run's validity.
	unfit, erred, unfinished int
}

func (g *grading) skip(r *Recording, session, why, detail string) {
	g.v.Skipped = append(g.v.Skipped, Skipped{r.ID, session, r.Path, why, detail})
}

func (g *grading) recording(r *Recording) {
	switch {
	case r.Unreadable != "":
		g.unfit++
		g.skip(r, "", WhyUnreadable, r.Unreadable)
		return
	case g.o.RequireWhole && r.Torn:
		g.unfit++
		g.skip(r, "", WhyNotWhole, "the recording is torn")
		return
	case g.o.RequireWhole && r.Gaps > 0:
		g.unfit++
		g.skip(r, "", WhyNotWhole, fmt.Sprintf("the recording has %d gaps", r.Gaps))
		return
	case len(r.Sessions) == 0:
		g.skip(r, "", WhyNoSession, "no message in it")
		return
	}
	g.cache = &predicate.Schemas{}
	for _, s := range r.Sessions {
		if name := serverKey(r, s); !g.suite.takesServer(name) {
			g.skip(r, s.ID, WhyServer, fmt.Sprintf("server %q is not graded by the suite", name))
			continue
		}
		g.session(r, s)
	}
}

// session makes a trial of a session with a call, or whose connection or
// discovery failed (grading.md 0.1 "Which sessions are trials").
func (g *grading) session(r *Recording, s *session.Session) {
	ev := Evidence(s, r.Sessions, g.cache)
	ev.NameServer(serverKey(r, s))
	bare := chain.Analyze(chain.Input{Session: s, Evidence: ev})
	if len(s.Calls) == 0 && bare.Links[0].State != chain.Failed && bare.Links[1].State != chain.Failed {
		detail := "no call in it"
		if l := bare.Links[0]; l.State != chain.Passed {
			detail += "; connection " + string(l.State) + ": " + l.Evidence.Text
		}
		g.skip(r, s.ID, WhyProbe, detail)
		return
	}
	if len(s.Calls) == 0 {
		for _, l := range bare.Links[:2] {
			if l.State == chain.Failed {
				ev.NoCallBecause = string(l.Link) + " failed"
				break
			}
		}
	}
	t := Trial{Recording: r.ID, Session: s.ID, Labels: r.Labels}
	in := chain.Input{Session: s, Evidence: ev}
	for _, c := range g.suite.Assertions {
		row := Row{c, predicate.Evaluate(c, ev)}
		t.Rows = append(t.Rows, row)
		in.Rows = append(in.Rows, chain.Row{Check: c, Outcome: row.Outcome})
	}
	t.Chain = chain.Analyze(in)
	g.judge(&t, len(s.Calls))
	g.trials = append(g.trials, t)
}

// judge gives a trial its verdict (grading.md 0.2.8). A trial without any call
// cannot pass: every check of the "never" kind would hold vacuously.
func (g *grading) judge(t *Trial, calls int) {
	gating, failed, erred := 0, 0, 0
	for _, r := range t.Rows {
		if r.Check.Role != predicate.Gating {
			continue
		}
		gating++
		switch r.Result {
		case predicate.Fail:
			failed++
		case predicate.Error:
			erred++
		}
	}
	idle := calls == 0
	if t.Chain.Links[0].State == chain.Failed {
		g.unfinished++
	}
	switch {
	case failed > 0:
		t.Word = Failed
	case gating == 0:
		t.Word, t.Why = Inconclusive, "no check gates"
	case (erred > 0 || idle) && g.o.StrictEvidence:
		t.Word, t.Why = Failed, "evidence is missing (--strict-evidence)"
	case erred > 0 || idle:
		t.Word = Inconclusive
		if idle {
			t.Why = "no call on record, so nothing was measured"
			if b := t.Chain.FirstBreak; b != "" {
				t.Why = string(b) + " failed and no call was made, so nothing was measured"
			}
		}
		g.erred++
	default:
		t.Word = Passed
	}
}

// Reasons of cases and runs (grading.md 5.3).
const (
	reasonNoEligible     = "caseHasNoEligibleTrials"
	reasonBelow          = "casePassRateBelowThreshold"
	reasonMet            = "casePassRateMetThreshold"
	reasonErrored        = "erroredTrialsCouldChangeTheVerdict" // sixlink's own, 0.2.8
	reasonNoGradeable    = "noGradeableTrials"
	reasonFewEligible    = "eligibleTrialsBelowMinimum"
	reasonCompletion     = "completionRateBelowMinimum"
	reasonEvaluator      = "evaluatorErrorRateAboveMaximum"
	reasonUnfitRecording = "recordingNotUsable" // sixlink's own
)

func (g *grading) unassigned() Case {
	c := Case{ID: Unassigned, Trials: g.trials}
	passed, eligible := g.count()
	threshold := g.suite.PassThreshold
	total := int64(len(c.Trials))
	switch {
	case eligible == 0:
		c.Word, c.Reason = Inconclusive, reasonNoEligible
	case big.NewRat(passed, eligible).Cmp(threshold) < 0:
		c.Word, c.Reason = Failed, reasonBelow
	case big.NewRat(passed, total).Cmp(threshold) < 0:
		// It passes only if it would with all errored trials failed.
		c.Word, c.Reason = Inconclusive, reasonErrored
	default:
		c.Word, c.Reason = Passed, reasonMet
	}
	return c
}

func (g *grading) count() (passed, eligible int64) {
	for i := range g.trials {
		switch g.trials[i].Word {
		case Passed:
			passed++
			eligible++
		case Failed:
			eligible++
		}
	}
	return passed, eligible
}

// run gives the run its verdict: failed if any case failed, else inconclusive if
// any is, if validity is broken or a recording could not be used, else passed.
func (g *grading) run() {
	v := g.v
	total := int64(len(g.trials))
	_, eligible := g.count()
	validity := &g.suite.Validity
	if eligible == 0 {
		v.Reasons = append(v.Reasons, reasonNoGradeable)
	}
	if eligible < validity.MinEligibleTrials {
		v.Reasons = append(v.Reasons, reasonFewEligible)
	}
	if total > 0 {
		if big.NewRat(total-int64(g.unfinished), total).Cmp(validity.MinCompletionRate) < 0 {
			v.Reasons = append(v.Reasons, reasonCompletion)
		}
		if big.NewRat(int64(g.erred), total).Cmp(validity.MaxEvaluatorErrorRate) > 0 {
			v.Reasons = append(v.Reasons, reasonEvaluator)
		}
	}
	if g.unfit > 0 {
		v.Reasons = append(v.Reasons, reasonUnfitRecording)
	}
	v.Word = Passed
	for _, c := range v.Cases {
		switch {
		case c.Word == Failed:
			v.Word = Failed
		case c.Word == Inconclusive && v.Word == Passed:
			v.Word = Inconclusive
		}
		if c.Word != Passed {
			v.Reasons = append(v.Reasons, c.Reason)
		}
	}
	if v.Word == Passed && len(v.Reasons) > 0 {
		v.Word = Inconclusive
	}
}
