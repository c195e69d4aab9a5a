package chain

import (
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// maxTurns bounds the turns that a link names (grading.md 4.5).
const maxTurns = 5

// selection: grading.md 4.4 with 0.2.3 and 0.2.10. The first rule that fits wins.
func (a *analysis) selection() Link {
	const l = predicate.Selection
	// A call to a name that the server never offered needs no authored check.
	if out, ok := a.unknownTool(); ok {
		return out
	}
	failed, passed, erred := a.rows(l)
	unmatched := a.unmatched()
	if len(a.Prompts) == 0 && !unmatched && len(failed)+passed+erred == 0 {
		// toolExpectation is open, and no check asks.
		if a.anyCall() {
			return link(l, NotMeasured, MatchVerdictMissing, "calls on record, and no check says which were right")
		}
		return link(l, NotMeasured, a.nothing(), "no call on record, and no check on selection")
	}
	if out, ok := a.fromTurns(l, MissingToolCall, func(p *Prompt) []Mismatch { return p.Missing }); ok {
		return out
	}
	// An expected call that came at the wrong place was missing to the older
	// matcher, and fails where that failed (0.2.3).
	if out, ok := a.fromTurns(l, CallsOutOfOrder, func(p *Prompt) []Mismatch { return p.OutOfOrder }); ok {
		return out
	}
	if len(failed) > 0 {
		return fromRows(l, selectionReason(failed), failed)
	}
	if out, ok := a.fromTurns(l, UnexpectedToolCall, (*Prompt).unexpected); ok {
		return out
	}
	for i := range a.Prompts {
		if p := &a.Prompts[i]; p.undecided() {
			out := link(l, NotMeasured, MatchVerdictMissing, "the calls of "+turnText(p.Turn)+" could not be matched"+p.why())
			out.Evidence.Turns = turns(p.Turn)
			return out
		}
	}
	if unmatched {
		return link(l, NotMeasured, MatchVerdictMissing, "what the case says about calls could not be matched")
	}
	if erred > 0 {
		return link(l, NotMeasured, EvaluatorError, "a check on selection could not be decided")
	}
	if a.Negative {
		if why := a.notNegative(); why != "" {
			return link(l, NotMeasured, a.nothing(), why)
		}
	}
	if len(a.Prompts) > 0 {
		out := link(l, Passed, Observed, "the calls are those that the case expects")
		for i := range a.Prompts {
			out.Evidence.Turns = append(out.Evidence.Turns, turns(a.Prompts[i].Turn)...)
		}
		out.Evidence.Turns = out.Evidence.Turns[:min(len(out.Evidence.Turns), maxTurns)]
		return out
	}
	return link(l, Passed, Observed, "the authored checks on selection passed")
}

// unknownTool finds a call to a name that a complete catalog lacks (0.2.10): on
// the wire by the catalog that held for the call, with the host alone (whose place
// among the lists is unknown) when every list is complete and none has it.
func (a *analysis) unknownTool() (Link, bool) {
	for _, c := range a.calls {
		if c.NameOK && c.Catalog != nil && c.Catalog.State == catalog.Complete && !c.Stale {
			if _, ok := c.Catalog.Find(c.Tool); !ok {
				return link(predicate.Selection, Failed, UnknownTool, predicate.Quoted(c.Tool)+" is not in the complete list of tools"+c.ofServer(),
					append([]int64{c.seq()}, handles(c.of, pageSeqs(c.Catalog))...)...), true
			}
		}
	}
	lists := a.Evidence.Lists
	if len(lists) == 0 || slices.ContainsFunc(lists, func(l *catalog.List) bool { return l.State != catalog.Complete }) {
		return Link{}, false
	}
	for i := range a.Evidence.Calls {
		c := &a.Evidence.Calls[i]
		has := func(l *catalog.List) bool { _, ok := l.Find(c.Tool); return ok }
		if c.HostOnly && !slices.ContainsFunc(lists, has) {
			return link(predicate.Selection, Failed, UnknownTool,
				"the host's call to "+predicate.Quoted(c.Tool)+" is in none of the complete lists of tools", pageSeqs(lists[0])...), true
		}
	}
	return Link{}, false
}

// unmatched tells that the case says something about calls and nothing was matched:
// neither turn by turn nor by a check that needs a call.
func (a *analysis) unmatched() bool {
	if a.Unmatched || a.Negative && len(a.Prompts) == 0 {
		return true
	}
	return a.Expects && len(a.Prompts) == 0 && !slices.ContainsFunc(a.Rows, func(r Row) bool {
		return r.Check.Role == predicate.Gating && r.Check.Info.NeedsCall
	})
}

// selectionReason is the reason of failed checks on selection. A toolCalledWith
// is among them only where no matcher graded it; what it wants is missing too.
func selectionReason(failed []*Row) Reason {
	for _, r := range failed {
		if n := r.Check.Info.Name; n == "toolCalledAtLeastOnce" || n == toolCalledWith {
			return MissingToolCall
		}
	}
	return UnexpectedToolCall
}

// notNegative says why a negative case has not shown that nothing was called
// (grading.md 0.1 "Which sessions are trials"); empty when it has.
func (a *analysis) notNegative() string {
	talk := a.Evidence.Conversation
	switch {
	case a.Evidence.State(predicate.ToolCalls) != session.Complete:
		return fmt.Sprintf("%s evidence is %s, so a call may have been lost", predicate.ToolCalls, a.Evidence.State(predicate.ToolCalls))
	case talk == nil || len(talk.Turns) == 0:
		return "no prompt on record, so nothing was asked that could have led to a call"
	case slices.ContainsFunc(talk.Turns, func(t predicate.Turn) bool { return !t.Finished }):
		return "a turn was not finished, so a call may have been still to come"
	}
	return ""
}

// fromTurns makes the failed link of the decided mismatches that pick returns of
// each turn.
func (a *analysis) fromTurns(l predicate.Link, reason Reason, pick func(*Prompt) []Mismatch) (Link, bool) {
	var found []Mismatch
	var where []int
	for i := range a.Prompts {
		p := &a.Prompts[i]
		for _, m := range pick(p) {
			if m.Undecided {
				continue
			}
			found = append(found, m)
			if t := turns(p.Turn); len(t) > 0 && !slices.Contains(where, p.Turn) && len(where) < maxTurns {
				where = append(where, p.Turn)
			}
		}
	}
	if len(found) == 0 {
		return Link{}, false
	}
	text := found[0].words()
	if n := len(found); n > 1 {
		text += fmt.Sprintf("; and %d more", n-1)
	}
	var records []int64
	for _, m := range found {
		records = append(records, m.Records...)
	}
	out := link(l, Failed, reason, text, records...)
	out.Evidence.Turns = where
	return out, true
}

func (m *Mismatch) words() string {
	if m.Text != "" {
		return m.Text
	}
	return predicate.Quoted(m.Tool)
}

// unexpected are the calls that fail a turn by being there: where its arguments
// differ, the call that they came with is explained by that (grading.md 4.4).
func (p *Prompt) unexpected() []Mismatch {
	if p.Passed || len(p.Mismatched) > 0 {
		return nil
	}
	return p.Unexpected
}

// undecided tells of a turn whose verdict on the choice of calls is unknown:
// evidence is missing, or it did not pass and nothing says why. Arguments are the
// call link's business.
func (p *Prompt) undecided() bool {
	for _, list := range [][]Mismatch{p.Missing, p.OutOfOrder, p.Unexpected} {
		if slices.ContainsFunc(list, func(m Mismatch) bool { return m.Undecided }) {
			return true
		}
	}
	return !p.Passed && len(p.Mismatched) == 0
}

// why is the text of the first undecided mismatch.
func (p *Prompt) why() string {
	for _, list := range [][]Mismatch{p.Missing, p.OutOfOrder, p.Unexpected} {
		for _, m := range list {
			if m.Undecided {
				return ": " + m.words()
			}
		}
	}
	return ""
}

func turns(n int) []int {
	if n < 0 {
		return nil
	}
	return []int{n}
}

func turnText(n int) string {
	if n < 0 {
		return "the case"
	}
	return fmt.Sprintf("turn %d", n+1)
}
