package grade

import (
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// Word is a verdict: of a trial, a case or the run.
type Word string

// The verdicts.
const (
	Passed       Word = "passed"
	Failed       Word = "failed"
	Inconclusive Word = "inconclusive"
)

// Schema names the shape of the JSON verdict.
const Schema = "sixlink/verdict/1"

// Unassigned is the id of the case of sessions that no case claims.
const Unassigned = "(unassigned)"

// Verdict is the result of one grading.
type Verdict struct {
	AnalyzerVersion int
	SuiteID         string
	SuiteHash       string
	// Coverage is that of the cases that count, together (grading.md 5.5).
	Coverage [6]LinkCoverage
	Cases    []Case
	Skipped  []Skipped
	Word     Word
	// Reasons say why the run is not passed, in the order of grading.md 5.3.
	Reasons []string
	// Paths name recordings for people: by id, where the file stood. They are in
	// no JSON.
	Paths map[string]string
}

// Case is a case with its trials.
type Case struct {
	ID, Title string
	Word      Word
	Reason    string
	// Counted says that the case is part of the run's verdict; the unassigned
	// sessions' case is not when the defaults gate nothing beside other cases.
	Counted bool
	// Spec is the case as the suite has it; nil for the unassigned.
	Spec *CaseSpec
	// Coverage says which links its checks decide, and whether it can fail at all.
	Coverage *CaseCoverage
	// Trials is empty when the trials are in a spool: see [Case.Each].
	Trials []Trial
	Stats  Stats

	briefs []*brief
	shelf  *shelf // nil: the trials are in Trials
}

// Each calls do for each trial in order, wherever it is kept; its first error ends it.
func (c *Case) Each(do func(t *Trial) error) error {
	if c.shelf == nil {
		for i := range c.Trials {
			if err := do(&c.Trials[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, b := range c.briefs {
		t, err := c.shelf.get(b)
		if err == nil {
			err = do(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Has tells whether any trial has the link at that place of [chain.Order] in the state.
func (c *Case) Has(link int, s chain.State) bool {
	for _, b := range c.briefs {
		if b.links[link] == s {
			return true
		}
	}
	return false
}

// Words counts the trials by their verdicts.
func (c *Case) Words() map[Word]int {
	return map[Word]int{Passed: c.Stats.Passed, Failed: c.Stats.Failed, Inconclusive: c.Stats.Errored}
}

// Trial is one session, or several together, graded against one case. Recording and
// Session are the first one's.
type Trial struct {
	Recording, Session string
	Labels             map[string]string
	Word               Word
	// Why says what made it inconclusive or failed, where no row does.
	Why   string
	Chain chain.Result
	Rows  []Row
	// Calls is how many calls it has.
	Calls int
	// Parts are the sessions of a trial over several, first those that are graded, then
	// what is lost of it; empty: it is one session. Records of its rows and links are
	// then handles: see [Trial.Place].
	Parts []predicate.Part
	// Talk is the host's transcript that is joined; nil: none.
	Talk *TalkNote
	// unreached: it has no call, and nothing shows that its server was reached.
	// unfinished: that, or its server refused it.
	unreached, unfinished bool
	// erred: a gating check could not be decided, or nothing was there to decide on.
	erred bool
}

// Place finds the part of a record that a row or a link names, and the record's seq
// in its recording; the part is nil in a trial of one session.
func (t *Trial) Place(handle int64) (p *predicate.Part, seq int64) {
	for i := range t.Parts {
		if q := &t.Parts[i]; q.Lost == "" && q.Base < handle && (p == nil || q.Base > p.Base) {
			p = q
		}
	}
	if p == nil {
		return nil, handle
	}
	return p, handle - p.Base
}

// Row is one check's outcome on one trial, or a scorer's.
type Row struct {
	// Name is the check's kind, or the scorer: toolCalls:match, toolCalls:arguments.
	Name string
	Link predicate.Link
	Role predicate.Role
	Warn bool
	// Turn is the turn that it was asked of, from 0; -1: the whole case.
	Turn int
	// Check is nil for a scorer.
	Check *predicate.Check
	// Diff is what a scorer found of expected and actual calls; nil for a check.
	Diff *match.Result
	predicate.Outcome
}

// Skipped is a session, or a whole recording, that is no trial.
type Skipped struct {
	Recording, Session string
	// Path is where the recording was read, for people; it is in no JSON.
	Path string
	// Why is one of the constants below; Detail is for people.
	Why, Detail string
}

// Reasons for skipping.
const (
	WhyProbe      = "probe"      // no call, and neither connection nor discovery failed
	WhyNoSession  = "noSession"  // nothing in the recording is a session
	WhyServer     = "server"     // of a server that the suite does not grade
	WhyNotWhole   = "notWhole"   // torn or gapped where whole recordings are required
	WhyUnreadable = "unreadable" // the recording cannot be read
	WhyAmbiguous  = "ambiguous"  // more than one case claims the session
	WhyDisabled   = "disabled"   // its case is disabled
	WhyLimit      = "limit"      // of more recordings than one trial may have
	WhyNotChosen  = "notChosen"  // its case was not chosen (--only)
)

// ExitCode is the exit code of the verb: 0 passed, 1 failed, 3 could not
// evaluate. It is never 0 when nothing was measured.
func (v *Verdict) ExitCode() int {
	switch v.Word {
	case Passed:
		return 0
	case Failed:
		return 1
	}
	return 3
}
