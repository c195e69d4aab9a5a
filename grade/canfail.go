package grade

import (
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// CanFailWord says whether a case can fail at all (grading.md 5.6).
type CanFailWord string

// The words.
const (
	CanFailYes           CanFailWord = "can_fail"
	CanFailVacuous       CanFailWord = "vacuous"     // a host that does nothing and says nothing passes
	CanFailUnknown       CanFailWord = "cannot_tell" // by checks that such an answer does not feed
	CanFailNotApplicable CanFailWord = "not_applicable"
)

// unfed are the kinds of which an empty answer says nothing, besides those of
// discovery (grading.md 5.6).
var unfed = map[string]bool{
	"widgetRendered": true, "widgetRenderLatencyUnder": true, "widgetNoConsoleErrors": true,
	"toolLatencyUnder": true, "argumentsMatchToolSchema": true,
	"noDestructiveToolCalled": true, "noDeprecatedToolCalled": true,
}

// CanFail grades the empty answer against a case: would a host that calls nothing
// and says nothing pass it?
func CanFail(c *CaseSpec) CanFailWord {
	if c.Negative {
		return CanFailNotApplicable // nothing is what it wants
	}
	whole := emptyAnswer()
	turn := whole.ForTurn(0)
	word := CanFailVacuous
	if len(c.NotMeasurable) > 0 {
		word = CanFailUnknown // steps that others grade
	}
	for i := range c.Turns {
		t := &c.Turns[i]
		for j := range t.Expected {
			// A pinned turn makes its own calls; what is asserted of it is graded.
			if e := &t.Expected[j]; !t.Pinned || e.Assert >= 0 {
				return CanFailYes
			}
		}
		for _, k := range t.Assertions {
			word = canFail(word, k, turn)
		}
	}
	for _, k := range c.Assertions {
		word = canFail(word, k, whole)
	}
	return word
}

// canFail is the word after one more check: a check that fails decides, one that
// says nothing leaves it open.
func canFail(word CanFailWord, k *predicate.Check, empty *predicate.Evidence) CanFailWord {
	switch {
	case word == CanFailYes || k.Role != predicate.Gating:
		return word
	case k.Info.Name == "toolCalledWith":
		return CanFailYes // an expected call
	case k.Kind == nil || k.Kind.Evaluate == nil || k.Info.Link == predicate.Discovery || unfed[k.Info.Name]:
		return CanFailUnknown
	}
	switch predicate.Evaluate(k, empty).Result {
	case predicate.Fail:
		return CanFailYes
	case predicate.Error:
		return CanFailUnknown
	}
	return word
}

// emptyAnswer is one user turn to which nothing was done and nothing said, every
// channel of it complete.
func emptyAnswer() *predicate.Evidence {
	return &predicate.Evidence{
		Turn: -1,
		Capture: session.Capture{
			ToolCalls: session.Complete, ToolErrors: session.Complete, ToolResults: session.Complete,
			ToolCallTimings: session.Complete, ToolInventory: session.Complete, ToolDeclarations: session.Complete,
		},
		Conversation: &predicate.Conversation{
			FinalTextState: session.Complete, TurnsState: session.Complete, UsageState: session.Complete, RenderState: session.Complete,
			HasFinalText: true,
			Turns:        []predicate.Turn{{HasFinalText: true, Finished: true, Usage: &predicate.Usage{}}},
			TurnCount:    1, TurnCountKnown: true,
			Usage: &predicate.Usage{},
		},
	}
}
