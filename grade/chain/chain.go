// Package chain is the six-link analyzer: from what a session holds, and from
// the rows of its checks, to the state of connection, discovery, selection,
// call, response and user value, and to the first break among them.
//
// It must not know suites, cases, trials or verdicts, nor how a report looks.
// What it decides is versioned: VERSIONS.md beside this file.
package chain

import (
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// AnalyzerVersion is in every verdict. It is 0 until every rule of the
// specification holds (grading.md 0.2.18), and then counted up by every change
// that files something elsewhere.
const AnalyzerVersion = 0

// State is the state of a link.
type State string

// The states (grading.md 4.1). NotMeasured is not a pass.
const (
	Passed        State = "passed"
	Failed        State = "failed"
	NotReached    State = "notReached"    // an earlier link failed and this one has no measurement
	NotMeasured   State = "notMeasured"   // nothing captured could decide
	NotApplicable State = "notApplicable" // nobody asks for it
)

// Reason says why a link is in its state.
type Reason string

// The reasons that evidence of the wire can give.
const (
	Observed              Reason = "observed"
	ImpliedByLater        Reason = "impliedByLaterEvidence"
	NoEvidenceCaptured    Reason = "noEvidenceCaptured"
	MatchVerdictMissing   Reason = "matchVerdictUnavailable"
	EgressUnverified      Reason = "egressUnverified"
	SetupAborted          Reason = "setupAborted"
	EvaluatorError        Reason = "evaluatorError"
	NotAuthored           Reason = "notAuthored"
	EarlierStageFailed    Reason = "earlierStageFailed"
	ConnectFailed         Reason = "connectFailed"
	ToolsListFailed       Reason = "toolsListFailed"
	MissingToolCall       Reason = "missingToolCall"
	UnexpectedToolCall    Reason = "unexpectedToolCall"
	UnknownTool           Reason = "unknownTool" // sixlink's own, grading.md 0.2.10
	ArgumentMismatch      Reason = "argumentMismatch"
	ReasonToolError       Reason = "toolError"
	ReasonProtocolError   Reason = "protocolError"
	ReasonPredicateFailed Reason = "predicateFailed"
)

// Category is what kind of defect the first break is.
type Category string

// The categories (grading.md 4.1).
const (
	NoCategory        Category = ""
	SetupCategory     Category = "setup"
	SelectionCategory Category = "selection"
	ArgumentsCategory Category = "arguments"
	ServerCategory    Category = "serverData"
	UserCategory      Category = "userValue"
	EvaluatorCategory Category = "evaluator"
)

// Order is the order of the links. It is normative and never sorted.
var Order = [6]predicate.Link{
	predicate.Connection, predicate.Discovery, predicate.Selection,
	predicate.Call, predicate.Response, predicate.UserValue,
}

// Evidence is what a state rests on.
type Evidence struct {
	// Records are seqs of the recording, in order, at most 5.
	Records []int64
	// Text is one short line.
	Text string
	// SameCallAs names the call that already failed the call link, so that one
	// defect does not read as two (grading.md 0.2.10).
	SameCallAs string
}

// Link is one link's state.
type Link struct {
	Link     predicate.Link
	State    State
	Reason   Reason
	Evidence Evidence
}

// Row is one check's outcome as the analyzer reads it: gating rows feed the
// link they file at, advisory ones nothing.
type Row struct {
	Check   *predicate.Check
	Outcome predicate.Outcome
}

// Input is what the analyzer reads.
type Input struct {
	Session  *session.Session
	Evidence *predicate.Evidence
	Rows     []Row
	// Expects says that the case expects a call: in a turn, or by a gating
	// toolCalledWith, toolCalledAtLeastOnce or firstToolWas (grading.md 4.2).
	Expects bool
	// Negative cases expect none.
	Negative bool
	// Prompts are the matcher's results, a turn each; nil when the case says nothing
	// about calls, or they could not be matched.
	Prompts []Prompt
	// HostStep is set when the host's transcript tells of a failure of its own.
	HostStep HostStep
	// Ended is how the trial's iteration ended; empty: completed.
	Ended Ending
}

// Prompt is what the matcher says of one turn.
type Prompt struct {
	Turn int
	// Expected counts the expected calls; the others name what is wrong, in words
	// and by record.
	Expected                                    int
	Missing, Unexpected, OutOfOrder, Mismatched []Mismatch
	Passed                                      bool
}

// Mismatch is one expected or actual call that did not pair as it should.
type Mismatch struct {
	Tool string
	// Records are the calls' records; none for a missing one.
	Records []int64
	Text    string
	// Undecided says that evidence is missing: it is no failure (grading.md 0.2.7).
	Undecided bool
}

// HostStep is a failure that the host reports of itself.
type HostStep string

// The failures of a host (grading.md 4.2, 0.1 "Inputs of 4.2").
const (
	HostFine       HostStep = ""
	ModelAPIFailed HostStep = "model" // the model's provider answered with an error
)

// Ending is how a trial's iteration ended.
type Ending string

// The endings that leave every link unmeasured (grading.md 4.5.2).
const (
	Completed Ending = ""
	Cancelled Ending = "cancelled" // an interrupted turn
)

// CheckState is the state of a runner check.
type CheckState string

// The states of a runner check. They are not outcomes of rows.
const (
	CheckPassed    CheckState = "passed"
	CheckFailed    CheckState = "failed"
	CheckUndecided CheckState = "undecided"
)

// RunnerCheck restates what the analyzer decided (grading.md 4.6). It never
// gates, is never a row, and closes no gap of coverage.
type RunnerCheck struct {
	ID               string
	Link             predicate.Link
	State            CheckState
	Expected, Actual string
}

// Result is the analysis of one session.
type Result struct {
	Links      [6]Link
	FirstBreak predicate.Link // empty: none
	Category   Category
	Runner     []RunnerCheck
}

// Analyze derives the six links (grading.md 4.4, 4.5 with 0.1 and 0.2.10).
func Analyze(in Input) Result {
	a := &analysis{Input: in}
	a.sort()
	var r Result
	r.Links = [6]Link{a.connection(), a.discovery(), a.selection(), a.call(), a.response(), a.userValue()}

	// A server that was never reached tells nothing about any link.
	if r.Links[0].Reason == SetupAborted && len(in.Evidence.Calls) == 0 {
		for i := 1; i < len(r.Links); i++ {
			if r.Links[i].State == NotMeasured {
				r.Links[i].Reason = SetupAborted
			}
		}
		r.Category = SetupCategory
	}
	for i := range r.Links {
		l := &r.Links[i]
		switch {
		case r.FirstBreak == "" && l.State == Failed:
			r.FirstBreak = l.Link
			r.Category = a.category(l)
		case r.FirstBreak != "" && l.State == NotMeasured:
			// Only what was not measured: a later link that was keeps its own state.
			l.State, l.Reason = NotReached, EarlierStageFailed
			l.Evidence = Evidence{Text: string(r.FirstBreak) + " failed before"}
		}
	}
	if r.FirstBreak == "" && r.Category == NoCategory && a.evaluatorErred() {
		r.Category = EvaluatorCategory
	}
	r.Runner = runnerChecks(&r)
	return r
}

// evaluatorErred tells whether a gating check could not be decided.
func (a *analysis) evaluatorErred() bool {
	for _, row := range a.Rows {
		if row.Check.Role == predicate.Gating && row.Outcome.Result == predicate.Error {
			return true
		}
	}
	return false
}

// category files the first break (grading.md 4.5.7, 0.2.10).
func (a *analysis) category(l *Link) Category {
	switch l.Link {
	case predicate.Connection, predicate.Discovery:
		return SetupCategory
	case predicate.Selection:
		return SelectionCategory
	case predicate.Call:
		if l.Reason == ArgumentMismatch || l.Reason == ReasonProtocolError && a.allInvalidParams() {
			return ArgumentsCategory
		}
		return ServerCategory
	case predicate.Response:
		return ServerCategory
	}
	return UserCategory
}
