package predicate

import "fmt"

var turnCountUnder = &Kind{
	Name:  "turnCountUnder",
	Title: "The conversation took few enough turns",
	Text: `Compares the number of the user's turns with the limit; exactly the limit fails, and no turn at all
passes. A transcript that is captured and whose turns are not known fails; without one, or with a part of it, the
outcome is an error.`,
	Example:  `{type: turnCountUnder, turns: 4}`,
	Since:    1,
	Channels: []Channel{Turns},
	Fields:   []Field{{Name: "turns", Type: WholeNum, Required: true, Min: 1, Text: "The limit; the turns must be fewer."}},
	Evaluate: evalTurnCount,
}

func evalTurnCount(c *Check, ev *Evidence) Outcome {
	limit, ok := c.Int("turns")
	if !ok || limit <= 0 {
		return errorOutcome("turns is no positive whole number")
	}
	talk, o := ev.needs(Turns)
	o.Expected = fmt.Sprintf("under %s", count64(limit, "turn"))
	if talk == nil {
		return o
	}
	if !talk.TurnCountKnown || talk.TurnCount < 0 {
		o.Result, o.Actual, o.Reason = Fail, "no count", "the transcript's turns are not known"
		return o
	}
	o.Actual = count64(talk.TurnCount, "turn")
	o.Reason = fmt.Sprintf("%s for a limit of %d", o.Actual, limit)
	if o.Result = Pass; talk.TurnCount >= limit {
		o.Result = Fail
	}
	return o
}
