package predicate

import (
	"fmt"
	"math"
)

var tokenBudgetUnder = &Kind{
	Name:  "tokenBudgetUnder",
	Title: "The conversation took few enough tokens",
	Text: `Compares the tokens of the conversation with the limit; exactly the limit fails. The tokens are the larger of the
total that the host tells and input plus output. Which figures count (cache, subagents, source) is the suite's "usage". A
transcript that is captured and counts no tokens fails; without one, or with a part of it, the outcome is an
error.`,
	Example:  `{type: tokenBudgetUnder, tokens: 20000}`,
	Since:    1,
	Channels: []Channel{UsageCount},
	Fields:   []Field{{Name: "tokens", Type: WholeNum, Required: true, Min: 1, Text: "The limit; the tokens must be below it."}},
	Evaluate: evalTokenBudget,
}

func evalTokenBudget(c *Check, ev *Evidence) Outcome {
	limit, ok := c.Int("tokens")
	if !ok || limit <= 0 {
		return errorOutcome("tokens is no positive whole number")
	}
	talk, o := ev.needs(UsageCount)
	o.Expected = fmt.Sprintf("under %d tokens", limit)
	if talk == nil {
		return o
	}
	total, known := talk.Usage.tokens()
	if !known {
		o.Result, o.Actual, o.Reason = Fail, "no count", "the transcript counts no tokens"
		return o
	}
	o.Actual = count64(total, "token")
	o.Reason = fmt.Sprintf("%s for a limit of %d", o.Actual, limit)
	if o.Result = Pass; total >= limit {
		o.Result = Fail
	}
	return o
}

// tokens is the larger of the total and the sum; known is false when no count is.
func (u *Usage) tokens() (n int64, known bool) {
	if u == nil || u.Input < 0 && u.Output < 0 && u.Total < 0 {
		return 0, false
	}
	in, out := max(u.Input, 0), max(u.Output, 0)
	sum := int64(math.MaxInt64)
	if in <= sum-out {
		sum = in + out
	}
	return max(u.Total, sum), true
}

func count64(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
