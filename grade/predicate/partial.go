package predicate

import (
	"slices"

	"github.com/sixlink/sixlink/record/session"
)

// Channel names a channel of the evidence.
type Channel string

// The channels. The first six are the wire's.
const (
	ToolCalls        Channel = "toolCalls"
	ToolErrors       Channel = "toolErrors"
	ToolResults      Channel = "toolResults"
	ToolCallTimings  Channel = "toolCallTimings"
	ToolInventory    Channel = "toolInventory"
	ToolDeclarations Channel = "toolDeclarations"

	// Those of the conversation. Its absence is an error in every kind that reads
	// one (grading.md 0.2.6).
	FinalText  Channel = "finalText"
	Turns      Channel = "turns"
	UsageCount Channel = "usage"
	Renders    Channel = "renderObservations"
)

// PartialRule says what becomes of a kind's outcome when a channel is not
// complete: what was seen stays, what rests on absence becomes an error.
type PartialRule struct {
	Kind       string
	Channel    Channel
	Pass, Fail Result // what a pass and a fail become
	// Unseen is what a fail or pass becomes that rests on what was not seen (a call
	// that is missing, an upper bound), for kinds where others do not; empty: as the
	// others of the kind.
	Unseen Result
}

// PartialRules is the table kind x partial channel of grading.md 0.2.7: a row for
// every channel that a kind reads, also where the kind's function looks at the
// capture state itself and the row only says what comes of it.
var PartialRules = []PartialRule{
	// The six need the whole list, also where a violation is in sight (grading.md 0.1).
	{Kind: "toolDescriptionsPresent", Channel: ToolDeclarations, Pass: Error, Fail: Error},
	{Kind: "toolAnnotationsPresent", Channel: ToolDeclarations, Pass: Error, Fail: Error},
	{Kind: "toolNamesUnique", Channel: ToolDeclarations, Pass: Error, Fail: Error},
	{Kind: "noDeprecatedToolExposed", Channel: ToolDeclarations, Pass: Error, Fail: Error},
	{Kind: "toolInputSchemasWellFormed", Channel: ToolDeclarations, Pass: Error, Fail: Error},
	{Kind: "toolOutputSchemasPresent", Channel: ToolDeclarations, Pass: Error, Fail: Error},

	// A call that was seen was made; a call that was not seen may have been lost.
	{Kind: "toolCalledWith", Channel: ToolCalls, Pass: Pass, Fail: Error},
	{Kind: "toolCalledAtLeastOnce", Channel: ToolCalls, Pass: Pass, Fail: Error},
	{Kind: "toolNeverCalled", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "onlyToolsCalled", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "toolCallCountUnder", Channel: ToolCalls, Pass: Error, Fail: Fail},
	// Another tool that came first is seen; that no tool was called is not.
	{Kind: "firstToolWas", Channel: ToolCalls, Pass: Error, Fail: Fail, Unseen: Error},
	{Kind: "toolCalledBefore", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "noDeprecatedToolCalled", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "noDestructiveToolCalled", Channel: ToolCalls, Pass: Error, Fail: Fail},
	// Both need the whole inventory before they look at a call (grading.md 1.3).
	{Kind: "noDeprecatedToolCalled", Channel: ToolInventory, Pass: Error, Fail: Error},
	{Kind: "noDestructiveToolCalled", Channel: ToolInventory, Pass: Error, Fail: Error},

	// A lost call may have had wrong arguments. The inventory is looked up per
	// tool, and one entry is enough even on a partial list (grading.md 0.1).
	{Kind: "argumentsMatchToolSchema", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "argumentsMatchToolSchema", Channel: ToolInventory, Pass: Pass, Fail: Fail},
	{Kind: "noRepeatedIdenticalCall", Channel: ToolCalls, Pass: Error, Fail: Fail},
	// Enough matches stay enough; what rests on max, or on too few, is undone by
	// one call more.
	{Kind: "toolInputMatches", Channel: ToolCalls, Pass: Pass, Fail: Fail, Unseen: Error},

	{Kind: "noToolErrors", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "noToolErrors", Channel: ToolErrors, Pass: Error, Fail: Fail},
	{Kind: "toolLatencyUnder", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "toolLatencyUnder", Channel: ToolCallTimings, Pass: Error, Fail: Fail},

	// A result that was seen came; the needle, or the match, may be in a lost one.
	// Too many matches are a violation that was seen, and an upper bound that holds
	// is a pass that rests on absence.
	{Kind: "toolResultContains", Channel: ToolCalls, Pass: Pass, Fail: Error},
	{Kind: "toolResultContains", Channel: ToolResults, Pass: Pass, Fail: Error},
	{Kind: "toolResultMatches", Channel: ToolCalls, Pass: Pass, Fail: Fail, Unseen: Error},
	{Kind: "toolResultMatches", Channel: ToolResults, Pass: Pass, Fail: Fail, Unseen: Error},
	// A violation stays; that there was no call at all (Unseen) is not known.
	{Kind: "toolResultMatchesSchema", Channel: ToolCalls, Pass: Error, Fail: Fail, Unseen: Error},
	{Kind: "toolResultMatchesSchema", Channel: ToolResults, Pass: Error, Fail: Fail, Unseen: Error},
	{Kind: "toolResultSizeUnder", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "toolResultSizeUnder", Channel: ToolResults, Pass: Error, Fail: Fail},
	// An error that names nothing stays one when its call is known; else a lost call
	// may have sent what it says (Unseen). The tool's own entry is enough, whatever
	// the inventory's state (grading.md 0.1): the function looks for it.
	{Kind: "toolErrorNamesInput", Channel: ToolCalls, Pass: Error, Fail: Fail, Unseen: Error},
	{Kind: "toolErrorNamesInput", Channel: ToolErrors, Pass: Error, Fail: Fail},
	{Kind: "toolErrorNamesInput", Channel: ToolInventory, Pass: Pass, Fail: Fail},
	// Results that are not complete decide nothing here (grading.md 1.5).
	{Kind: "fullPageHasContinuation", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "fullPageHasContinuation", Channel: ToolResults, Pass: Error, Fail: Error},

	// A conversation that is absent or partial decides nothing (grading.md 0.2.6).
	{Kind: "responseCloseTo", Channel: FinalText, Pass: Error, Fail: Error},
	{Kind: "responseContains", Channel: FinalText, Pass: Error, Fail: Error},
	{Kind: "responseMatches", Channel: FinalText, Pass: Error, Fail: Error},
	{Kind: "finalAssistantMessageNonEmpty", Channel: FinalText, Pass: Error, Fail: Error},
	{Kind: "noEndingQuestion", Channel: FinalText, Pass: Error, Fail: Error},
	{Kind: "tokenBudgetUnder", Channel: UsageCount, Pass: Error, Fail: Error},
	{Kind: "turnCountUnder", Channel: Turns, Pass: Error, Fail: Error},
	{Kind: "widgetRendered", Channel: Renders, Pass: Error, Fail: Error},
	{Kind: "widgetRenderLatencyUnder", Channel: Renders, Pass: Error, Fail: Error},
	{Kind: "widgetNoConsoleErrors", Channel: Renders, Pass: Error, Fail: Error},
}

// State returns the capture state of a channel; a state that was never declared
// is absent (grading.md 3.1).
func (ev *Evidence) State(c Channel) session.CaptureState {
	s := session.Absent
	talk := ev.Conversation
	if talk == nil {
		talk = &Conversation{}
	}
	switch c {
	case FinalText:
		s = talk.FinalTextState
	case Turns:
		s = talk.TurnsState
	case UsageCount:
		s = talk.UsageState
	case Renders:
		s = talk.RenderState
	case ToolCalls:
		s = ev.Capture.ToolCalls
	case ToolErrors:
		s = ev.Capture.ToolErrors
	case ToolResults:
		s = ev.Capture.ToolResults
	case ToolCallTimings:
		s = ev.Capture.ToolCallTimings
	case ToolInventory:
		s = ev.Capture.ToolInventory
	case ToolDeclarations:
		s = ev.Capture.ToolDeclarations
	}
	if s == "" {
		return session.Absent
	}
	return s
}

// BlockedRule says what becomes of a kind's pass when no call could be made.
type BlockedRule struct {
	Kind string
	Pass Result
}

// BlockedRules is the table of the kinds whose pass rests on calls (or on what is
// wrong with them) that are not there. Without a connection, or without a list
// of tools, none could be made, and nothing was observed: such a pass becomes an
// error (the spirit of grading.md 0.2.7). A fail stays, since a call that a check asks
// for was not made, unless nothing shows that the server was reached at all. Kinds of discovery and user value read other evidence, and
// are not in it.
var BlockedRules = []BlockedRule{
	{"toolNeverCalled", Error},
	{"onlyToolsCalled", Error},
	{"toolCallCountUnder", Error},
	{"toolCalledBefore", Error},
	{"noDeprecatedToolCalled", Error},
	{"noDestructiveToolCalled", Error},

	{"argumentsMatchToolSchema", Error},
	{"noRepeatedIdenticalCall", Error},
	{"toolInputMatches", Error}, // with min 0

	{"noToolErrors", Error},
	{"toolLatencyUnder", Error},
	{"toolResultContains", Error},
	{"toolResultMatches", Error}, // with min 0
	{"toolResultMatchesSchema", Error},
	{"toolResultSizeUnder", Error},
	{"toolErrorNamesInput", Error},
	{"fullPageHasContinuation", Error},

	// A pass of these is a call.
	{"toolCalledWith", Pass},
	{"toolCalledAtLeastOnce", Pass},
	{"firstToolWas", Pass},
}

// NotReached is said of evidence that is [Evidence.Unreached].
const NotReached = "nothing shows that the server was reached"

// blocked turns a pass that rests on absence into an error where no call could be made,
// and a fail where nothing shows that the server was there to be called.
func (ev *Evidence) blocked(kind string, o *Outcome) {
	if ev.Unreached && o.Result == Fail && slices.ContainsFunc(BlockedRules, func(r BlockedRule) bool { return r.Kind == kind }) {
		o.Result = Error
		o.Reason = "no call could be made: " + NotReached
	}
	if ev.NoCallBecause == "" || len(ev.Calls) > 0 || o.Result != Pass {
		return
	}
	for _, r := range BlockedRules {
		if r.Kind == kind && r.Pass == Error {
			o.Result = Error
			o.Reason, o.Actual = "no call could be made: "+ev.NoCallBecause, "no call"
		}
	}
}
