package chain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// call: grading.md 4.4 with 0.2.10.
func (a *analysis) call() Link {
	const l = predicate.Call
	if failed, _, _ := a.rows(l); len(failed) > 0 {
		return fromRows(l, ArgumentMismatch, failed)
	}
	if !a.Negative { // which expects no call, so that none can differ
		if out, ok := a.fromTurns(l, ArgumentMismatch, func(p *Prompt) []Mismatch { return p.Mismatched }); ok {
			return out
		}
	}
	for _, e := range a.content {
		// A server that answers wrong arguments with isError: the call failed first.
		if what, ok := a.wrong[ref(e)]; ok {
			return link(l, Failed, ArgumentMismatch,
				fmt.Sprintf("%s was called with arguments that violate its own schema: %s", predicate.Quoted(e.Tool), what), e.Seq, e.Record)
		}
	}
	if len(a.protocol) > 0 {
		var seqs []int64
		for _, e := range a.protocol {
			seqs = append(seqs, e.Seq, e.Record)
		}
		text := a.protocol[0].String()
		if what, ok := a.wrong[ref(a.protocol[0])]; ok {
			text += " (the arguments violate the tool's own schema: " + what + ")"
		}
		if n := len(a.protocol); n > 1 {
			text += fmt.Sprintf("; and %d more", n-1)
		}
		text += a.strayReplies()
		if slices.ContainsFunc(a.Session.Calls, dropped) {
			text += stderr(a.Session)
		}
		return link(l, Failed, ReasonProtocolError, text, seqs...)
	}
	for i := range a.Prompts {
		for _, m := range a.Prompts[i].Mismatched {
			if m.Undecided {
				out := link(l, NotMeasured, MatchVerdictMissing, "the arguments of a call could not be compared: "+m.words(), m.Records...)
				out.Evidence.Turns = turns(a.Prompts[i].Turn)
				return out
			}
		}
	}
	if len(a.answered) > 0 {
		var seqs []int64
		for _, c := range a.answered {
			seqs = append(seqs, c.Seq)
		}
		text := fmt.Sprintf("%d of %s answered", len(a.answered), plural(len(a.Session.Calls), "call"))
		if why := a.lossy(); why != "" {
			return link(l, NotMeasured, NoEvidenceCaptured, text+", "+why, seqs...)
		}
		return link(l, Passed, Observed, text, seqs...)
	}
	if a.Negative && !a.anyCall() && a.notNegative() == "" {
		out := link(l, Passed, Observed, "no call was to be made, and none was")
		for i := range a.Evidence.Conversation.Turns[:min(len(a.Evidence.Conversation.Turns), maxTurns)] {
			out.Evidence.Turns = append(out.Evidence.Turns, i)
		}
		return out
	}
	switch n := len(a.Session.Calls); {
	case n == 0:
		return link(l, NotMeasured, a.nothing(), "no call on record")
	case a.cancelled == n:
		return link(l, NotMeasured, NoEvidenceCaptured, "every call was cancelled by the client", a.Session.Calls[0].Seq)
	}
	return link(l, NotMeasured, NoEvidenceCaptured, "no call was answered, and nothing shows that the server owed an answer", a.Session.Calls[0].Seq)
}

// dropped tells whether the server's end is what left the call without an answer.
func dropped(c *session.Call) bool { return c.State == session.CallConnectionDrop }

// strayReplies names the replies without a request that came after unanswered
// calls, at most 8.
func (a *analysis) strayReplies() string {
	var seqs []string
	for _, c := range a.Session.Calls {
		for _, s := range c.RepliesWithoutRequest {
			if text := predicate.SeqName(s); len(seqs) < 8 && !slices.Contains(seqs, text) {
				seqs = append(seqs, text)
			}
		}
	}
	if len(seqs) == 0 {
		return ""
	}
	return "; replies that belong to no request: records " + strings.Join(seqs, ", ")
}

// response: grading.md 4.4 with 0.2.10.
func (a *analysis) response() Link {
	const l = predicate.Response
	failed, _, _ := a.rows(l)
	// A noToolErrors row that rests on protocol errors alone is the call link's
	// defect: it fails as a row and does not touch this link.
	failed = slices.DeleteFunc(failed, func(r *Row) bool { return r.Outcome.ProtocolOnly })
	var out Link
	switch {
	case len(failed) > 0:
		reason := ReasonPredicateFailed
		for _, r := range failed {
			if r.Check.Info.Name == "noToolErrors" {
				reason = ReasonToolError
			}
		}
		out = fromRows(l, reason, failed)
	case len(a.content) > 0:
		var seqs []int64
		for _, e := range a.content {
			seqs = append(seqs, e.Seq, e.Record)
		}
		out = link(l, Failed, ReasonToolError, a.content[0].String(), seqs...)
	case a.ExpectsRender:
		return a.render()
	case len(a.good) > 0:
		var seqs []int64
		for _, c := range a.good {
			seqs = append(seqs, c.AnswerSeq)
		}
		text := fmt.Sprintf("%d of %s returned a result without error", len(a.good), plural(len(a.Session.Calls), "call"))
		if why := a.lossy(); why != "" {
			return link(l, NotMeasured, NoEvidenceCaptured, text+", "+why, seqs...)
		}
		return link(l, Passed, Observed, text, seqs...)
	case len(a.badFlag) > 0:
		return link(l, NotMeasured, EvaluatorError, "isError is no boolean", a.badFlag[0].AnswerSeq)
	default:
		return link(l, NotMeasured, a.nothing(), "no result on record")
	}
	if out.Reason == ReasonToolError {
		out.Evidence.SameCallAs = a.blamedBefore()
	}
	return out
}

// render decides the response of a case that wants a widget shown: a widget that
// was seen to fail fails it, also where others may have been missed.
func (a *analysis) render() Link {
	const l = predicate.Response
	talk := a.Evidence.Conversation
	if talk == nil || len(talk.Renders) == 0 {
		return link(l, NotMeasured, NoEvidenceCaptured, "a widget is expected, and no observation of one is on record")
	}
	for i := range talk.Renders {
		if r := &talk.Renders[i]; r.Status != rendered {
			out := link(l, Failed, RenderFailed, "the widget of "+predicate.Quoted(r.Tool)+" was not rendered: "+predicate.Quoted(r.Status))
			out.Evidence.Turns = turns(r.Turn)
			return out
		}
	}
	text := plural(len(talk.Renders), "widget") + " rendered"
	if state := a.Evidence.State(predicate.Renders); state != session.Complete {
		return link(l, NotMeasured, NoEvidenceCaptured, fmt.Sprintf("%s, but others may have been missed: %s evidence is %s", text, predicate.Renders, state))
	}
	if why := a.lossy(); why != "" {
		return link(l, NotMeasured, NoEvidenceCaptured, text+", "+why)
	}
	return link(l, Passed, Observed, text)
}

// rendered is the status of a widget that was shown (grading.md 3.1).
const rendered = "rendered"

// blamedBefore names the first failing call that the call link failed for already.
func (a *analysis) blamedBefore() string {
	failed, _, _ := a.rows(predicate.Call)
	blamed := map[predicate.CallRef]bool{}
	for _, r := range failed {
		for _, at := range r.Outcome.Calls {
			blamed[at] = true
		}
	}
	for _, e := range a.content {
		if blamed[ref(e)] || a.wrong[ref(e)] != "" {
			c := predicate.CallEvidence{Seq: e.Seq, Index: e.Index}
			return c.ID()
		}
	}
	return ""
}

// userValue: grading.md 4.4. Somebody asked (a host acted for a user), so it is
// not measured rather than not applicable (0.1 "Inputs of 4.2"). No judge runs
// offline, so its second tier has no rule here.
func (a *analysis) userValue() Link {
	const l = predicate.UserValue
	failed, passed, erred := a.rows(l)
	switch {
	case erred > 0:
		return link(l, NotMeasured, EvaluatorError, "a check on user value could not be decided")
	case len(failed) > 0:
		return fromRows(l, ReasonPredicateFailed, failed)
	case passed > 0:
		return link(l, Passed, Observed, "the authored checks on user value passed")
	}
	if a.Evidence.Conversation != nil {
		return link(l, NotMeasured, a.nothing(), "no check on user value")
	}
	return link(l, NotMeasured, a.nothing(), "no host transcript, and no check on user value")
}
