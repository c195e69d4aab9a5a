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

// The reasons that a recording and a host's transcript can give. Those of a judge,
// of an executor without spans and of transport-local codes have no source here
// (grading.md 0.1 "Inputs of 4.2").
const (
	Observed       Reason = "observed"
	ImpliedByLater Reason = "impliedByLaterEvidence"

	NoEvidenceCaptured  Reason = "noEvidenceCaptured"
	TraceAbsent         Reason = "traceAbsent" // nobody could have recorded the calls
	MatchVerdictMissing Reason = "matchVerdictUnavailable"
	EgressUnverified    Reason = "egressUnverified"
	SetupAborted        Reason = "setupAborted"
	AuthRequired        Reason = "authRequired" // 401 or 403 over HTTP, and no later success (grading.md 0.1)
	LifecycleStopped    Reason = "lifecycleStopped"
	BlockedByPolicy     Reason = "blockedByPolicy"
	EvaluatorError      Reason = "evaluatorError"
	ProviderError       Reason = "providerError"
	NotAuthored         Reason = "notAuthored"
	EarlierStageFailed  Reason = "earlierStageFailed"

	ConnectFailed         Reason = "connectFailed"
	ToolsListFailed       Reason = "toolsListFailed"
	MissingToolCall       Reason = "missingToolCall"
	UnexpectedToolCall    Reason = "unexpectedToolCall"
	CallsOutOfOrder       Reason = "callsOutOfOrder" // sixlink's own, grading.md 0.2.3
	UnknownTool           Reason = "unknownTool"     // sixlink's own, grading.md 0.2.10
	ArgumentMismatch      Reason = "argumentMismatch"
	ReasonToolError       Reason = "toolError"
	ReasonProtocolError   Reason = "protocolError"
	RenderFailed          Reason = "renderFailed"
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
	// Records are seqs of the recording, at most 5.
	Records []int64
	// Turns are the turns that it rests on, from 0, at most 5.
	Turns []int
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
	Session *session.Session
	// Parts are the sessions of a trial over several, in order, and Evidence is theirs
	// together; empty: Session is all of it.
	Parts    []Part
	Evidence *predicate.Evidence
	// Rows are the outcomes of the checks; their order does not matter.
	Rows []Row
	// Expects says that the case expects a call: in a turn, or by a gating
	// toolCalledWith, toolCalledAtLeastOnce or firstToolWas (grading.md 4.2).
	Expects bool
	// Negative cases expect none.
	Negative bool
	// Prompts are the matcher's results, a turn each; nil when the case says nothing
	// about calls, or they could not be matched.
	Prompts []Prompt
	// Unmatched says that what the case says about calls could not be matched, or
	// not all of it, so that Prompts cannot make selection pass.
	Unmatched bool
	// ExpectsRender says that the case wants a widget shown (grading.md 4.2).
	ExpectsRender bool
	// HostStep is set when the host's transcript tells of a failure of its own.
	HostStep HostStep
	// Ended is how the trial's iteration ended; empty: completed.
	Ended Ending
}

// Part is one session of a trial over several.
type Part struct {
	Session *session.Session // nil when it is lost, which Of says
	Of      *predicate.Part
	// Evidence is the session's alone.
	Evidence *predicate.Evidence
}

// Prompt is what the matcher says of one turn.
type Prompt struct {
	Turn int
	// Expected counts the expected calls; the others name what is wrong, in words
	// and by record. Unexpected are all calls beyond the expected ones; whether
	// they are too many is in Passed.
	Expected                                    int
	Missing, Unexpected, OutOfOrder, Mismatched []Mismatch
	// Passed is the matcher's verdict. A turn that did not pass and of which
	// nothing is named that was decided has no verdict (grading.md 4.4).
	Passed bool
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

// The endings; all but the first leave every link unmeasured (grading.md 4.5.1,
// 4.5.2).
const (
	Completed   Ending = ""
	Cancelled   Ending = "cancelled" // an interrupted turn
	TimedOut    Ending = "timed_out"
	NotRun      Ending = "skipped"
	SetupFailed Ending = "setup_failed"
	Blocked     Ending = "blocked" // a policy of the host kept the trial from running
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

// Result is the analysis of one trial.
type Result struct {
	Links      [6]Link
	FirstBreak predicate.Link // empty: none
	Category   Category
	Runner     []RunnerCheck
}

// Analyze derives the six links (grading.md 4.4, 4.5 with 0.1 and 0.2.10). All of
// them apply to a recorded session: a model drove it, and somebody asked (4.3 with
// 0.1 "Inputs of 4.2"); only discovery may turn out not applicable by itself.
func Analyze(in Input) Result {
	a := &analysis{Input: in}
	a.sort()
	r := a.derive()
	r.Runner = runnerChecks(&r)
	return r
}
