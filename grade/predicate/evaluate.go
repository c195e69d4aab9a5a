package predicate

import (
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/record/session"
)

// Evaluate judges one check on one trial: the kind's function on what is there,
// then the tables of what a link that failed and partial evidence do to it. A function that breaks is
// an error row, never a fail and never the end of the run (grading.md 0.2.9).
func Evaluate(c *Check, ev *Evidence) Outcome {
	return EvaluateAll([]*Check{c}, ev)[0]
}

// EvaluateAll is [Evaluate] for many checks: together they read each of the trial's
// arguments and results once.
func EvaluateAll(checks []*Check, ev *Evidence) []Outcome {
	runs := make([]run, len(checks), len(checks)+1)
	for i, c := range checks {
		runs[i].check = c
		runs[i].start(ev)
	}
	all := runs
	if ev.Schemas != nil && ev.refused() {
		// The analyzer will ask. Without a cache it pays by itself, if it does.
		all = append(all, run{reading: &reading{call: ev.checkRefused}})
	}
	ev.pass(all, true)
	out := make([]Outcome, len(checks))
	for i := range runs {
		out[i] = runs[i].judge(ev)
	}
	return out
}

func (r *run) start(ev *Evidence) {
	defer r.recovered()
	if begin := r.check.Kind.begin; begin != nil {
		r.reading = begin(r.check, ev)
	}
}

func (r *run) judge(ev *Evidence) (o Outcome) {
	defer func() {
		if p := recover(); p != nil {
			r.broke = brokeText(p)
		}
		if r.broke != "" {
			o = Outcome{Result: Error, Reason: Sentence(r.broke)}
		}
		o.Reason, o.Expected, o.Actual = Sentence(o.Reason), Sentence(o.Expected), Sentence(o.Actual)
	}()
	c := r.check
	switch {
	case r.broke != "":
		return o
	case r.reading != nil:
		o = r.reading.end()
	default:
		o = c.Kind.Evaluate(c, ev)
	}
	ev.blocked(c.Info.Name, &o)
	for i := range PartialRules {
		r := &PartialRules[i]
		if r.Kind != c.Info.Name {
			continue
		}
		state := ev.State(r.Channel)
		if state == session.Complete {
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
