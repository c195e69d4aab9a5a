package predicate

import "github.com/sixlink/sixlink/record/session"

// Channel names a channel of the evidence.
type Channel string

// The channels that the wire has.
const (
	ToolCalls        Channel = "toolCalls"
	ToolErrors       Channel = "toolErrors"
	ToolResults      Channel = "toolResults"
	ToolCallTimings  Channel = "toolCallTimings"
	ToolInventory    Channel = "toolInventory"
	ToolDeclarations Channel = "toolDeclarations"
)

// PartialRule says what becomes of a kind's outcome when a channel is not
// complete: what was seen stays, what rests on absence becomes an error.
type PartialRule struct {
	Kind       string
	Channel    Channel
	Pass, Fail Result // what a pass and a fail become
}

// PartialRules is the table kind x partial channel of grading.md 0.2.7 for the
// kinds that are built. A channel without a row leaves the outcome as it is:
// the kind's function looks at that capture state itself, or does not read it.
var PartialRules = []PartialRule{
	// A call that was seen was made; a call that was not seen may have been lost.
	{Kind: "toolCalledAtLeastOnce", Channel: ToolCalls, Pass: Pass, Fail: Error},
	{Kind: "toolNeverCalled", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "noToolErrors", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "noToolErrors", Channel: ToolErrors, Pass: Error, Fail: Fail},
	// A lost call may have had wrong arguments. The inventory is looked up per
	// tool, and one entry is enough even on a partial list (grading.md 0.1).
	{Kind: "argumentsMatchToolSchema", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "toolLatencyUnder", Channel: ToolCalls, Pass: Error, Fail: Fail},
	{Kind: "toolLatencyUnder", Channel: ToolCallTimings, Pass: Error, Fail: Fail},
}

// State returns the capture state of a channel; a state that was never declared
// is absent (grading.md 3.1).
func (ev *Evidence) State(c Channel) session.CaptureState {
	s := session.Absent
	switch c {
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
