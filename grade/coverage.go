package grade

import (
	"slices"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// CoverageState says how well a suite looks at a link (grading.md 5.5).
type CoverageState string

// The states of coverage, the best first. A link that is not decided is
// unmeasured, not fine.
const (
	CoverDecided    CoverageState = "decided"    // an authored check gates there
	CoverObserved   CoverageState = "observed"   // advisory checks alone
	CoverRunnerOnly CoverageState = "runnerOnly" // a built-in check alone, which closes no gap
	CoverNone       CoverageState = "none"
)

// coverageOrder ranks the states, the best first.
var coverageOrder = []CoverageState{CoverDecided, CoverObserved, CoverRunnerOnly, CoverNone}

// LinkCoverage is what looks at one link.
type LinkCoverage struct {
	Link  predicate.Link
	State CoverageState
	// By names what State rests on, in authored order and each once: check kinds,
	// members of the case (expectedToolCalls, isNegativeTest, maxExtraToolCalls),
	// or the runner check.
	By []string
}

// CaseCoverage is the coverage of one case, its links in their order.
type CaseCoverage struct {
	// Case is the case's id; [Unassigned] for the defaults of a suite without cases.
	Case  string
	Links [6]LinkCoverage
	// CanFail says whether an empty answer would pass it.
	CanFail CanFailWord
}

// Uncovered returns the links without an authored deciding check.
func (c *CaseCoverage) Uncovered() []predicate.Link {
	var out []predicate.Link
	for i := range c.Links {
		if c.Links[i].State != CoverDecided {
			out = append(out, c.Links[i].Link)
		}
	}
	return out
}

// Cover tells, for every case that is not disabled, which links an authored check
// decides, which are only observed, and which nothing of the suite looks at.
// Without cases it is the coverage of the defaults.
func Cover(s *Suite) []CaseCoverage {
	if len(s.Cases) == 0 {
		return []CaseCoverage{coverCase(s.open())}
	}
	var out []CaseCoverage
	for _, c := range s.Cases {
		if !c.Disabled {
			out = append(out, coverCase(c))
		}
	}
	return out
}

// CoverSuite is the coverage of the whole suite: a link is as well covered as in
// the case that covers it best, so that what is left uncovered is so everywhere.
func CoverSuite(cases []CaseCoverage) [6]LinkCoverage {
	empty := coverage{}
	out := empty.links()
	for i := range out {
		for j := range cases {
			l := &cases[j].Links[i]
			switch a, b := rank(l.State), rank(out[i].State); {
			case a < b:
				out[i].State, out[i].By = l.State, slices.Clone(l.By)
			case a == b:
				for _, by := range l.By {
					out[i].By = once(out[i].By, by)
				}
			}
		}
	}
	return out
}

func rank(s CoverageState) int { return slices.Index(coverageOrder, s) }

// coverage gathers what looks at each link.
type coverage struct{ decided, observed map[predicate.Link][]string }

func once(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (c *coverage) decide(l predicate.Link, by string) { c.decided[l] = once(c.decided[l], by) }

func (c *coverage) check(k *predicate.Check) {
	if k.Role == predicate.Gating {
		c.decide(k.Info.Link, k.Info.Name)
		return
	}
	c.observed[k.Info.Link] = once(c.observed[k.Info.Link], k.Info.Name)
}

func (c *coverage) links() [6]LinkCoverage {
	var out [6]LinkCoverage
	for i, l := range chain.Order {
		lc := LinkCoverage{Link: l, State: CoverNone}
		runner := chain.RunnerOf(l)
		switch {
		case len(c.decided[l]) > 0:
			lc.State, lc.By = CoverDecided, c.decided[l]
		case len(c.observed[l]) > 0:
			lc.State, lc.By = CoverObserved, c.observed[l]
		case runner != "":
			lc.State, lc.By = CoverRunnerOnly, []string{runner}
		}
		out[i] = lc
	}
	return out
}

func coverCase(spec *CaseSpec) CaseCoverage {
	c := coverage{map[predicate.Link][]string{}, map[predicate.Link][]string{}}
	if spec.Negative {
		c.decide(predicate.Selection, "isNegativeTest")
	} else if spec.Match.MaxExtra != nil {
		// The cap is an expectation of its own (grading.md 0.2.8), of each turn, or of a
		// case without any.
		c.decide(predicate.Selection, "maxExtraToolCalls")
	}
	for i := range spec.Turns {
		t := &spec.Turns[i]
		if !spec.Negative { // which reads no expected calls (grading.md 2.3)
			for j := range t.Expected {
				c.expected(&t.Expected[j], t, spec.Match)
			}
		}
		for _, k := range t.Assertions {
			c.check(k)
		}
	}
	for _, k := range spec.Assertions {
		c.check(k)
	}
	return CaseCoverage{Case: spec.ID, Links: c.links(), CanFail: CanFail(spec)}
}

// expected adds an expected call. One that a toolCalledWith made files where that
// does, at selection alone (grading.md 5.5); an entry of expectedToolCalls decides
// the call link too, unless its arguments cannot differ: by mode ignore, or in
// mode partial with no key to compare (2.1).
func (c *coverage) expected(e *match.Expectation, t *TurnSpec, o match.Options) {
	if e.Assert >= 0 {
		c.decide(predicate.Selection, "toolCalledWith")
		return
	}
	if t.Pinned {
		return // its calls are the case's own, and always pass (grading.md 2.5)
	}
	const by = "expectedToolCalls"
	c.decide(predicate.Selection, by)
	mode := e.Mode
	if mode == "" {
		mode = o.Arguments
	}
	if mode == "" {
		mode = match.Defaults().Arguments
	}
	empty := e.Args == nil || len(e.Args.Obj) == 0
	if mode != match.IgnoreArgs && !(mode == match.Partial && empty) {
		c.decide(predicate.Call, by)
	}
}
