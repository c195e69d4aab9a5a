package predicate

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Join says how the host's transcript joins with the trial's session (record/host/join),
// as far as checks have to know: what is left over, and what is told differently.
// Calls that the host itself says were never sent are no rest.
type Join struct {
	// NotJoined says why the transcript is not joined; empty: it is.
	NotJoined string
	// HostOnly counts calls of the host that should be on the wire and are not,
	// WireOnly calls on the wire that the transcript does not have, Ambiguous pairs
	// that may be others, Contradictory calls whose tool or arguments differ under one
	// id, Outcomes calls that failed on one side alone.
	HostOnly, WireOnly, Ambiguous, Contradictory, Outcomes int
	// Model says that results are judged as the model saw them (evidence: model).
	Model bool
}

// JoinRule says what a rest or a contradiction does to a kind (grading.md 0.2.16).
type JoinRule struct {
	Kind string `json:"kind"`
	// Evidence is "model" for the rule under evidence: model.
	Evidence      string     `json:"evidence"`
	HostOnly      JoinEffect `json:"hostOnly"`
	WireOnly      JoinEffect `json:"wireOnly"`
	Ambiguous     JoinEffect `json:"ambiguous"`
	Contradictory JoinEffect `json:"contradictory"`
	Outcome       JoinEffect `json:"outcome"`
	NotJoined     JoinEffect `json:"notJoined"`
}

// JoinEffect is what becomes of a row.
type JoinEffect string

// The effects. Partial: graded like a trial of which calls may be missing
// (PartialRules, toolCalls). Both: graded when it comes out the same with and
// without the calls that are left over.
const (
	Graded     JoinEffect = "graded"
	JoinErrors JoinEffect = "error"
	AsPartial  JoinEffect = "partial"
	Both       JoinEffect = "both"
)

//go:embed joinrules.json
var joinRulesJSON []byte

// JoinRules is the table kind x {host-only, wire-only, ambiguous, contradictory,
// other outcome, not joined}, with the two scorers of the matcher.
var JoinRules = sync.OnceValue(func() []JoinRule {
	var rules []JoinRule
	if err := json.Unmarshal(joinRulesJSON, &rules, json.RejectUnknownMembers(true)); err != nil {
		panic(err)
	}
	return rules
})

// JoinRuleOf is the rule of a kind, or of a scorer.
func JoinRuleOf(kind string, model bool) JoinRule {
	rule := JoinRule{Kind: kind, HostOnly: Graded, WireOnly: Graded, Ambiguous: Graded, Contradictory: Graded, Outcome: Graded, NotJoined: Graded}
	for _, r := range JoinRules() {
		if r.Kind == kind && (r.Evidence == "" || model && r.Evidence == "model") {
			rule = r
		}
	}
	return rule
}

// Judge applies the rule of a kind to its outcome on a trial that joins so. again
// gives the outcome without the calls that the transcript does not have.
func (j *Join) Judge(kind string, o *Outcome, again func() Outcome) {
	if j == nil || o.Result == Error {
		return
	}
	r := JoinRuleOf(kind, j.Model)
	type left struct {
		n      int
		what   string
		effect JoinEffect
	}
	becomes := func(why string) {
		o.Result, o.Reason, o.ProtocolOnly = Error, why+"; seen so far: "+o.Reason, false
	}
	if j.NotJoined != "" {
		if r.NotJoined == JoinErrors {
			becomes("the transcript is not joined: " + j.NotJoined)
		}
		return
	}
	for _, l := range []left{
		{j.Contradictory, "whose tool or arguments the host and the wire tell differently", r.Contradictory},
		{j.Ambiguous, "that may be one of several on the wire", r.Ambiguous},
		{j.HostOnly, "of the host that should be on the wire and are not", r.HostOnly},
		{j.WireOnly, "on the wire that the transcript does not have", r.WireOnly},
		{j.Outcomes, "of which the host and the wire tell another outcome", r.Outcome},
	} {
		if l.n == 0 {
			continue
		}
		why := fmt.Sprintf("the transcript joins with a rest: %s %s", count(l.n, "call"), l.what)
		switch l.effect {
		case JoinErrors:
			becomes(why)
		case AsPartial:
			if asPartial(kind, o) == Error {
				becomes(why)
			}
		case Both:
			if without := again(); without.Result != o.Result {
				becomes(why + ", and without them it would be " + string(without.Result))
			}
		}
		if o.Result == Error {
			return
		}
	}
}

// asPartial is what an outcome becomes where calls may be missing.
func asPartial(kind string, o *Outcome) Result {
	become := o.Result
	for _, r := range PartialRules {
		if r.Kind != kind || r.Channel != ToolCalls {
			continue
		}
		switch o.Result {
		case Pass:
			become = r.Pass
		case Fail:
			become = r.Fail
		}
		if o.restsOnUnseen && r.Unseen != "" {
			become = r.Unseen
		}
	}
	return become
}

// joined applies the join's rule to a check's outcome.
func (ev *Evidence) joined(c *Check, o *Outcome) {
	ev.Join.Judge(c.Info.Name, o, func() Outcome { return Evaluate(c, ev.WithoutRest()) })
}

// WithoutRest is the evidence without the calls on the wire that the transcript
// does not have, judged as if nothing were left over.
func (ev *Evidence) WithoutRest() *Evidence {
	out := *ev
	out.Join = nil
	out.Calls, out.erred, out.checked = nil, nil, nil // those go by place
	gone := map[CallRef]bool{}
	for _, c := range ev.Calls {
		if c.WireOnly {
			gone[CallRef{c.Seq, c.Index}] = true
		} else {
			out.Calls = append(out.Calls, c)
		}
	}
	out.drop(gone)
	return &out
}

// drop takes what belongs to some calls out of the evidence.
func (ev *Evidence) drop(gone map[CallRef]bool) {
	ev.Errors = kept(ev.Errors, func(e *ToolError) bool { return !gone[CallRef{e.Seq, e.Index}] })
	ev.Undecided = kept(ev.Undecided, func(u *Undecided) bool { return !gone[CallRef{u.Seq, u.Index}] })
	ev.Results = kept(ev.Results, func(r *ToolResult) bool { return !gone[CallRef{r.Seq, r.Index}] })
	ev.Timings = kept(ev.Timings, func(t *Timing) bool { return !gone[CallRef{t.Seq, t.Index}] })
}

// Leave takes calls out of the trial: they are another conversation's.
func (ev *Evidence) Leave(gone map[CallRef]bool) {
	ev.Calls = kept(ev.Calls, func(c *CallEvidence) bool { return !gone[CallRef{c.Seq, c.Index}] })
	ev.drop(gone)
}

func kept[T any](list []T, keep func(*T) bool) []T {
	out := make([]T, 0, len(list))
	for i := range list {
		if keep(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// String tells the join in one line; empty: nothing is left over.
func (j *Join) String() string {
	if j == nil {
		return ""
	}
	if j.NotJoined != "" {
		return "not joined: " + j.NotJoined
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{j.HostOnly, "of the host alone"}, {j.WireOnly, "of the wire alone"}, {j.Ambiguous, "ambiguous"}, {j.Contradictory, "contradictory"}, {j.Outcomes, "with another outcome"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}
