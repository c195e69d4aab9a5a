package grade

import (
	"math/big"
	"slices"

	"github.com/sixlink/sixlink/grade/chain"
)

// Reasons of cases and runs (grading.md 5.3).
const (
	reasonNotAttempted   = "configuredTrialsNotAttempted"
	reasonNoEligible     = "caseHasNoEligibleTrials"
	reasonBelow          = "casePassRateBelowThreshold"
	reasonMet            = "casePassRateMetThreshold"
	reasonErrored        = "erroredTrialsCouldChangeTheVerdict" // sixlink's own, 0.2.8
	reasonNoTrial        = "caseHasNoTrial"                     // sixlink's own, 0.2.14
	reasonNoGradeable    = "noGradeableTrials"
	reasonFewEligible    = "eligibleTrialsBelowMinimum"
	reasonCompletion     = "completionRateBelowMinimum"
	reasonEvaluator      = "evaluatorErrorRateAboveMaximum"
	reasonUnfitRecording = "recordingNotUsable" // sixlink's own
	reasonAmbiguous      = "sessionAmbiguous"   // sixlink's own, 0.2.17
)

// sum makes the verdict of what the recordings gave, which are in order.
func (g *Grader) sum() *Verdict {
	v := &Verdict{
		AnalyzerVersion: chain.AnalyzerVersion,
		SuiteID:         g.suite.ID, SuiteHash: g.suite.Hash,
		SuiteFiles: g.suite.Files,
		Paths:      map[string]string{},
	}
	of := map[*CaseSpec][]*brief{}
	unfit, unclear := false, false
	for i := range g.done {
		d := &g.done[i]
		if d.id != "" {
			v.Paths[d.id] = d.path
		}
		v.Skipped = append(v.Skipped, d.skipped...)
		for k := range d.trials {
			t := &d.trials[k]
			of[t.c] = append(of[t.c], t)
		}
		unfit, unclear = unfit || d.unfit, unclear || d.unclear
	}
	for _, c := range g.suite.Cases {
		if c.Disabled || c.LeftOut || g.o.Case != "" && g.o.Case != c.ID {
			continue
		}
		v.Cases = append(v.Cases, g.sumCase(Case{ID: c.ID, Title: c.Title, Counted: true, Spec: c, Coverage: coverOf(c), ConfigHash: g.suite.configHash(c), briefs: of[c]}, c.PassThreshold))
	}
	if rest := of[nil]; len(rest) > 0 {
		counted := len(g.suite.Cases) == 0 || anyGates(g.suite.Assertions)
		v.Cases = append(v.Cases, g.sumCase(Case{ID: Unassigned, Counted: counted, Coverage: coverOf(g.open), ConfigHash: g.suite.configHash(g.open), briefs: rest}, g.suite.PassThreshold))
	}
	var covers []CaseCoverage
	for i := range v.Cases {
		if v.Cases[i].Counted {
			covers = append(covers, *v.Cases[i].Coverage)
		}
	}
	v.Coverage = CoverSuite(covers)
	g.run(v, unfit, unclear)
	return v
}

func coverOf(c *CaseSpec) *CaseCoverage {
	cover := coverCase(c)
	return &cover
}

// sumCase gives a case its verdict.
func (g *Grader) sumCase(c Case, threshold *big.Rat) Case {
	if c.shelf = g.shelf; c.shelf == nil {
		for _, b := range c.briefs {
			c.Trials = append(c.Trials, *b.whole)
		}
	}
	c.Stats = count(c.briefs)
	switch eligible := c.Stats.Eligible(); {
	case c.Stats.Trials == 0:
		c.Word, c.Reason = Inconclusive, reasonNoTrial
	case eligible == 0:
		c.Word, c.Reason = Inconclusive, reasonNoEligible
	case c.Stats.PassRate.Cmp(threshold) < 0:
		c.Word, c.Reason = Failed, reasonBelow
	case big.NewRat(int64(c.Stats.Passed), int64(c.Stats.Trials)).Cmp(threshold) < 0:
		// It passes only if it would with all errored trials failed.
		c.Word, c.Reason = Inconclusive, reasonErrored
	default:
		c.Word, c.Reason = Passed, reasonMet
	}
	return c
}

// run gives the run its verdict: failed if any case failed, else inconclusive if
// any is, if validity is broken or a recording could not be used, else passed.
// Only cases that count are in it.
func (g *Grader) run(v *Verdict, unfit, unclear bool) {
	var eligible, total, erred, unfinished int64
	missing, counted := false, 0
	for _, c := range v.Cases {
		if !c.Counted {
			continue
		}
		counted++
		eligible += int64(c.Stats.Eligible())
		total += int64(c.Stats.Trials)
		missing = missing || c.Reason == reasonNoTrial
		for _, b := range c.briefs {
			if b.unfinished {
				unfinished++
			}
			if b.erred {
				erred++
			}
		}
	}
	validity := &g.suite.Validity
	add := func(is bool, reason string) {
		if is {
			v.Reasons = append(v.Reasons, reason)
		}
	}
	// A number of trials that the suite asks for replaces the rule (grading.md 5.3).
	add(missing && validity.MinEligibleTrials == 0, reasonNotAttempted)
	add(eligible == 0, reasonNoGradeable)
	add(eligible < validity.MinEligibleTrials, reasonFewEligible)
	if total > 0 {
		add(big.NewRat(total-unfinished, total).Cmp(validity.MinCompletionRate) < 0, reasonCompletion)
		add(big.NewRat(erred, total).Cmp(validity.MaxEvaluatorErrorRate) > 0, reasonEvaluator)
	}
	add(unfit, reasonUnfitRecording)
	add(unclear, reasonAmbiguous)
	v.Word = Passed
	for _, c := range v.Cases {
		if !c.Counted {
			continue
		}
		switch {
		case c.Word == Failed:
			v.Word = Failed
		case c.Word == Inconclusive && v.Word == Passed:
			v.Word = Inconclusive
		}
		if c.Word != Passed && !slices.Contains(v.Reasons, c.Reason) {
			v.Reasons = append(v.Reasons, c.Reason)
		}
	}
	if v.Word == Passed && (len(v.Reasons) > 0 || counted == 0) {
		v.Word = Inconclusive
	}
}
