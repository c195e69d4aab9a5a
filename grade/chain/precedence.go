package chain

import (
	"slices"

	"github.com/sixlink/sixlink/grade/predicate"
)

// derive walks the precedence of grading.md 4.5: what stopped the trial as a
// whole, then the links one by one, then what the model's provider withdraws,
// then the first break and what it leaves unreached.
func (a *analysis) derive() Result {
	if reason, text := a.stopped(); reason != "" {
		return a.unmeasured(reason, text)
	}
	connection := a.connection()
	if connection.Reason == SetupAborted && !a.anyCall() {
		// A server that was never reached, for reasons of ours, is an iteration that
		// ended in setup_failed: nothing that is missing was anybody's choice (4.5.2).
		r := a.unmeasured(SetupAborted, "the server was not reached")
		r.Links[0] = connection
		return r
	}
	r := Result{Links: [6]Link{connection, a.discovery()}}
	if a.abandoned(&r) {
		for i := 2; i < len(r.Links); i++ {
			r.Links[i] = link(Order[i], NotMeasured, SetupAborted, "the setup ended before any call")
		}
		r.Category = SetupCategory
	} else {
		r.Links[2], r.Links[3], r.Links[4], r.Links[5] = a.selection(), a.call(), a.response(), a.userValue()
		if a.HostStep == ModelAPIFailed {
			withdraw(&r)
		}
	}
	cascade(&r)
	for i := range r.Links {
		if r.Links[i].Link == r.FirstBreak {
			r.Category = a.category(&r.Links[i])
		}
	}
	if r.FirstBreak == "" && r.Category == NoCategory {
		switch {
		case a.evaluatorErred():
			r.Category = EvaluatorCategory
		case a.HostStep == ModelAPIFailed:
			r.Category = SetupCategory
		}
	}
	return r
}

// stopped tells what kept the trial from running to its end (4.5.1, 4.5.2).
func (a *analysis) stopped() (Reason, string) {
	switch a.Ended {
	case Completed:
		return "", ""
	case Blocked:
		return BlockedByPolicy, "a policy of the host kept the trial from running"
	case SetupFailed:
		return SetupAborted, "the setup of the trial failed"
	case TimedOut:
		return LifecycleStopped, "the trial ran out of time"
	case NotRun:
		return LifecycleStopped, "the trial was skipped"
	}
	return LifecycleStopped, "a turn was interrupted"
}

// unmeasured is the result of a trial that says nothing of any link that applies.
func (a *analysis) unmeasured(reason Reason, text string) Result {
	r := Result{Category: SetupCategory}
	if reason == BlockedByPolicy {
		r.Category = NoCategory // nothing of the setup is wrong (4.5.1 names none)
	}
	for i, l := range Order {
		r.Links[i] = link(l, NotMeasured, reason, text)
	}
	if d := a.discovery(); d.State == NotApplicable {
		r.Links[1] = d
	}
	return r
}

// abandoned tells whether the setup ended the trial (4.5.3): there is no call and
// no turn, and connection or listing failed, or nothing shows that the server was
// reached at all. What the case expects of calls then rests on nothing that was seen.
func (a *analysis) abandoned(r *Result) bool {
	if a.anyCall() || a.Evidence.Conversation != nil && len(a.Evidence.Conversation.Turns) > 0 {
		return false
	}
	c, d := &r.Links[0], &r.Links[1]
	return c.State == Failed || c.Reason == EgressUnverified || d.State == Failed && d.Reason == ToolsListFailed
}

// anyCall tells whether a call is on record, on the wire or with the host alone.
func (a *analysis) anyCall() bool {
	return len(a.calls) > 0 || len(a.Evidence.Calls) > 0
}

// withdraw takes back what the model's provider is to blame for (4.5.5): links of
// which nothing is known, and failures that rest on something being absent. A
// call that was seen out of order, with wrong arguments or in error was seen.
func withdraw(r *Result) {
	const text = "the model's provider answered with an error"
	for i := range r.Links {
		l := &r.Links[i]
		switch l.State {
		case NotMeasured:
			if l.Reason == NoEvidenceCaptured || l.Reason == TraceAbsent {
				*l = link(l.Link, NotMeasured, ProviderError, text)
			}
		case Failed:
			if l.Reason == MissingToolCall || l.Reason == ReasonPredicateFailed {
				*l = link(l.Link, NotMeasured, ProviderError, text)
			}
		}
	}
}

// cascade finds the first break and marks what it left unreached (4.5.6): only
// what was not measured; a later link that was keeps its own state.
func cascade(r *Result) {
	for i := range r.Links {
		l := &r.Links[i]
		switch {
		case r.FirstBreak == "" && l.State == Failed:
			r.FirstBreak = l.Link
		case r.FirstBreak != "" && l.State == NotMeasured:
			*l = link(l.Link, NotReached, EarlierStageFailed, string(r.FirstBreak)+" failed before")
		}
	}
}

// evaluatorErred tells whether a gating check could not be decided.
func (a *analysis) evaluatorErred() bool {
	return slices.ContainsFunc(a.Rows, func(r Row) bool {
		return r.Check.Role == predicate.Gating && r.Outcome.Result == predicate.Error
	})
}

// category files the first break (4.5.7, 0.2.10).
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
