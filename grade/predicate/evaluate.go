package predicate

import (
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/record/session"
)

// Evaluate judges one check on one trial: the kind's function on what is there,
// then the tables of what a link that failed and partial evidence do to it. A function that breaks is
// an error row, never a fail and never the end of the run (grading.md 0.2.9).
func Evaluate(c *Check, ev *Evidence) (o Outcome) {
	defer func() {
		if r := recover(); r != nil {
			o = Outcome{Result: Error, Reason: Sentence("the evaluator broke: " + fmt.Sprint(r))}
		}
		o.Reason, o.Expected, o.Actual = Sentence(o.Reason), Sentence(o.Expected), Sentence(o.Actual)
	}()
	o = c.Kind.Evaluate(c, ev)
	ev.blocked(c.Info.Name, &o)
	for _, r := range PartialRules {
		state := ev.State(r.Channel)
		if r.Kind != c.Info.Name || state == session.Complete {
			continue
		}
		become := o.Result
		switch o.Result {
		case Pass:
			become = r.Pass
		case Fail:
			become = r.Fail
		}
		if o.restsOnUnseen && r.Unseen != "" && o.Result != Error {
			become = r.Unseen
		}
		if become == Error && o.Result != Error {
			o.Reason = fmt.Sprintf("%s evidence is %s%s; seen so far: %s", r.Channel, state, because(ev), o.Reason)
			o.Result = Error
			o.ProtocolOnly = false
		}
	}
	ev.joined(c, &o)
	return o
}

// because adds what made the capture partial, when the session says so.
func because(ev *Evidence) string {
	if len(ev.Capture.Why) == 0 {
		return ""
	}
	why := slices.Clone(ev.Capture.Why[:min(2, len(ev.Capture.Why))])
	return " (" + list(why, len(ev.Capture.Why)) + ")"
}

func errorOutcome(format string, args ...any) Outcome {
	return Outcome{Result: Error, Reason: fmt.Sprintf(format, args...)}
}
