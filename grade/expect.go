package grade

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// expected matches a trial's calls with what the case expects: the rows of the two
// scorers (grading.md 2.7), and what the analyzer reads of each turn. unmatched says
// that the matching, or a part of it, could not be decided.
func expected(c *CaseSpec, ev *predicate.Evidence) (rows []Row, prompts []chain.Prompt, unmatched bool) {
	options := match.Defaults().Over(c.Match)
	if len(c.Turns) == 0 && len(c.Expected) == 0 && !c.Negative && options.MaxExtra == nil {
		return nil, nil, false // nothing is expected, so there is nothing to match
	}
	in := match.CaseInput{
		Expected: c.Expected, Calls: callsOf(ev), Options: options, Negative: c.Negative,
		CallsComplete: ev.State(predicate.ToolCalls) == session.Complete && !ev.Unreached, TurnsKnown: turnsKnown(ev),
		PromptFinished: finished(ev), Show: predicate.ShownAt,
	}
	if options.Order != match.AnyOrder {
		in.OrderUnknown = ev.OrderUnknown(ordered(c, options.Order))
	}
	for i := range c.Turns {
		in.Turns = append(in.Turns, match.TurnInput{Expected: c.Turns[i].Expected, Pinned: c.Turns[i].Pinned})
	}
	r := match.Case(in)
	if r.Match == nil {
		return nil, nil, false
	}
	rows = append(rows, scorerRow(r.Match, predicate.Selection, &r))
	if r.Arguments != nil {
		rows = append(rows, scorerRow(r.Arguments, predicate.Call, &r))
	}
	if row := &rows[0]; row.Result == predicate.Pass && ev.NoCallBecause != "" && len(ev.Calls) == 0 {
		// As the checks whose pass rests on absence (predicate.BlockedRules).
		row.Result, row.Actual = predicate.Error, "no call"
		row.Reason = "no call could be made: " + ev.NoCallBecause
		return rows, nil, true
	}
	for i := range r.Turns {
		prompts = append(prompts, promptOf(&r.Turns[i]))
	}
	if r.Whole != nil {
		prompts = append(prompts, promptOf(r.Whole))
	}
	return rows, prompts, r.Match.Outcome == match.Error || r.Arguments != nil && r.Arguments.Outcome == match.Error
}

// ordered are the tools whose calls an order is about; nil: all.
func ordered(c *CaseSpec, o match.Order) map[string]bool {
	if o != match.Superset {
		return nil
	}
	names := map[string]bool{}
	for i := range c.Turns {
		for k := range c.Turns[i].Expected {
			names[c.Turns[i].Expected[k].Tool] = true
		}
	}
	return names
}

// callsOf gives the trial's calls to the matcher, wire and host-only calls in the
// host's order (grading.md 0.1).
func callsOf(ev *predicate.Evidence) []match.Call {
	out := make([]match.Call, 0, len(ev.Calls))
	for i := range ev.Calls {
		c := &ev.Calls[i]
		m := match.Call{Tool: c.Tool, Seq: c.Seq, Index: c.Index, HostOnly: c.HostOnly, Turn: c.Turn}
		if c.Arguments != nil {
			m.Arguments = func() (*value.Value, error) {
				text, err := c.Arguments()
				if err != nil {
					return nil, err
				}
				return predicate.ParseArguments(text)
			}
		}
		out = append(out, m)
	}
	return out
}

// scorerRow is the row of one scorer. Both gate (grading.md 2.7).
func scorerRow(s *match.Score, link predicate.Link, r *match.Result) Row {
	row := Row{Name: s.ID, Link: link, Role: predicate.Gating, Turn: -1, Diff: r}
	row.Result = map[match.Outcome]predicate.Result{match.Pass: predicate.Pass, match.Fail: predicate.Fail, match.Error: predicate.Error}[s.Outcome]
	expect, calls := int64(0), int64(0)
	tell := func(t *match.Turn) {
		expect += t.Expected
		for _, f := range []*match.Findings{&t.Missing, &t.OutOfOrder, &t.Extra, &t.Mismatched} {
			for i := range f.List {
				c := f.List[i].Call
				if c != nil {
					c.Arguments = nil // the row is kept, and would keep the session
				}
				if c != nil && !c.HostOnly {
					row.cite(c.Seq)
				}
			}
		}
	}
	for i := range r.Turns {
		tell(&r.Turns[i])
		calls += r.Turns[i].Calls
	}
	if r.Whole != nil {
		tell(r.Whole)
		calls = max(calls, r.Whole.Calls)
	}
	row.Expected = plural(expect, "expected call")
	row.Actual = plural(calls, "call")
	switch {
	case len(s.Rationale) > 0:
		row.Reason = strings.Join(s.Rationale, "; ")
		if s.More > 0 {
			row.Reason += fmt.Sprintf("; and %d more", s.More)
		}
	case row.Result == predicate.Pass && s.ID == match.ArgumentsID:
		row.Reason = "no expected call has other arguments"
	case row.Result == predicate.Pass:
		row.Reason = "every expected call was made, and none too many"
	default:
		row.Reason = string(s.Why)
	}
	row.Reason = predicate.Sentence(row.Reason)
	return row
}

// cite adds a record that the row rests on; at most five are named (grading.md 4.5).
func (r *Row) cite(seq int64) {
	if seq == 0 || len(r.Records) >= 5 {
		return
	}
	for _, s := range r.Records {
		if s == seq {
			return
		}
	}
	r.Records = append(r.Records, seq)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// promptOf is one turn as the analyzer reads it.
func promptOf(t *match.Turn) chain.Prompt {
	p := chain.Prompt{
		Turn: t.Number, Expected: int(min(t.Expected, 1<<30)), Passed: t.Outcome == match.Pass,
		Missing: mismatches(&t.Missing), Unexpected: mismatches(&t.Extra),
		OutOfOrder: mismatches(&t.OutOfOrder), Mismatched: mismatches(&t.Mismatched),
	}
	if t.Outcome == match.Error && t.Extras.Outcome != match.Fail && t.Negative.Outcome != match.Fail {
		// A turn without a verdict does not fail by calls that no rule forbids.
		for i := range p.Unexpected {
			p.Unexpected[i].Undecided = true
		}
	}
	return p
}

func mismatches(f *match.Findings) []chain.Mismatch {
	out := make([]chain.Mismatch, 0, len(f.List))
	for i := range f.List {
		x := &f.List[i]
		m := chain.Mismatch{Text: x.Text, Undecided: x.Undecided}
		if x.Expected != nil {
			m.Tool = x.Expected.Tool
		}
		if x.Call != nil {
			m.Tool = x.Call.Tool
			if !x.Call.HostOnly {
				m.Records = []int64{x.Call.Seq}
			}
		}
		out = append(out, m)
	}
	return out
}

// expectsCall tells whether the case expects a call (grading.md 4.2).
func (c *CaseSpec) expectsCall() bool {
	if len(c.Expected) > 0 || needsCall(c.Assertions) {
		return true
	}
	for i := range c.Turns {
		if t := &c.Turns[i]; t.Pinned || len(t.Expected) > 0 || needsCall(t.Assertions) {
			return true
		}
	}
	return false
}

func needsCall(checks []*predicate.Check) bool {
	for _, k := range checks {
		if k.Role == predicate.Gating && k.Info.NeedsCall {
			return true
		}
	}
	return false
}

// turnRows are the rows of one turn's checks: on the turn's own evidence, or, for
// a case of one turn, on all of it (grading.md 0.1 "Turns without a conversation").
func turnRows(c *CaseSpec, n int, ev *predicate.Evidence) []Row {
	known := turnsKnown(ev)
	narrow := ev
	if known {
		narrow = ev.ForTurn(n)
	}
	var rows []Row
	for _, k := range c.Turns[n].Assertions {
		var o predicate.Outcome
		switch {
		case known || len(c.Turns) == 1:
			o = predicate.Evaluate(k, narrow)
		case k.Info.Link == predicate.UserValue && ev.Conversation != nil && ev.State(predicate.Turns) == session.Complete:
			// It asks for no call, so that no call's turn has to be known.
			o = predicate.Evaluate(k, ev.ForTurn(n))
		case k.Info.Name == "toolNeverCalled":
			// A forbidden call fails wherever it is; nothing else can be said.
			if o = predicate.Evaluate(k, ev); o.Result != predicate.Fail {
				o = noConversation(ev)
			}
		case k.Info.Name == "toolCalledAtLeastOnce":
			// A call that the whole session lacks is lacking in the turn.
			if o = predicate.Evaluate(k, ev); o.Result != predicate.Fail {
				o = noConversation(ev)
			}
		default:
			o = noConversation(ev)
		}
		rows = append(rows, rowOf(k, n, o))
	}
	return rows
}

// turnsKnown tells whether every call's turn is on record.
func turnsKnown(ev *predicate.Evidence) bool {
	if ev.State(predicate.Turns) != session.Complete {
		return false
	}
	for i := range ev.Calls {
		if ev.Calls[i].Turn < 0 {
			return false
		}
	}
	return true
}

// finished tells whether a prompt is on record and every turn was finished.
func finished(ev *predicate.Evidence) bool {
	talk := ev.Conversation
	if talk == nil || len(talk.Turns) == 0 {
		return false
	}
	for i := range talk.Turns {
		if !talk.Turns[i].Finished {
			return false
		}
	}
	return true
}

func noConversation(ev *predicate.Evidence) predicate.Outcome {
	if ev.Conversation != nil && ev.Join != nil {
		return predicate.Outcome{Result: predicate.Error,
			Reason: "which turn a call belongs to is not known of every call: the transcript joins with a rest: " + ev.Join.String()}
	}
	return predicate.Outcome{Result: predicate.Error,
		Reason: "noConversation: which turn a call belongs to is not on record; join the host's transcript"}
}

// open is the case of the sessions that no case claims: the defaults, and no turns.
func (s *Suite) open() *CaseSpec {
	return &CaseSpec{ID: Unassigned, Assertions: s.Assertions, Expected: expectations(s.Assertions), Match: s.Match, PassThreshold: s.PassThreshold}
}
