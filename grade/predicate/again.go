package predicate

import "slices"

// SentOnce is the evidence without the calls that may be the same as a later one,
// sent again: their answers are lost, so that nobody can tell whether there were two
// calls or two attempts of one (grading.md 0.1 "toolCalls"). nil: there are none. What
// passes only with both of them has not been shown.
func (ev *Evidence) SentOnce() *Evidence {
	if !slices.ContainsFunc(ev.Calls, again) {
		return nil
	}
	out := *ev
	out.erred, out.checked = nil, nil // those go by place
	out.Calls = slices.DeleteFunc(slices.Clone(ev.Calls), again)
	return &out
}

func again(c CallEvidence) bool { return c.SentAgain }

// Unsure is what an outcome becomes that passes only if a call was not the same as
// another.
func (o Outcome) Unsure() Outcome {
	o.Result = Error
	o.Reason = "it passes only if two equal calls are two: the answer to the first is lost, and the second may be the same call sent again"
	return o
}
