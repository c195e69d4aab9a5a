package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/visible"
)

// CompareSchema names the shape of a comparison's JSON.
const CompareSchema = "sixlink/compare/1"

// Status is what became of a case from one run to another (grading.md 7.1).
type Status string

// The statuses. Undecided is sixlink's own: on one side the case is inconclusive, so that
// nothing can be said of it; it is neither a pass nor a regression.
const (
	StillPassed Status = "unchanged_passed"
	StillFailed Status = "unchanged_failed"
	Regressed   Status = "regressed"
	Fixed       Status = "fixed"
	NewCase     Status = "new_case"
	RemovedCase Status = "removed_case"
	Changed     Status = "changed"
	Undecided   Status = "undecided"
)

// Statuses are all of them, the one that people look for first at the front.
var Statuses = []Status{Regressed, Fixed, StillFailed, Changed, Undecided, NewCase, RemovedCase, StillPassed}

var statusLabels = map[Status]string{
	StillPassed: "Passed", StillFailed: "Still failing", Regressed: "Regressed", Fixed: "Fixed",
	NewCase: "New", RemovedCase: "Removed", Changed: "Changed", Undecided: "Undecided",
}

// Label is the status in words.
func (s Status) Label() string { return statusLabels[s] }

// Outcome is how a case went on one side.
type Outcome string

// The outcomes. Absent: the side does not have the case.
const (
	OutcomePassed       Outcome = "passed"
	OutcomeFailed       Outcome = "failed"
	OutcomeInconclusive Outcome = "inconclusive"
	OutcomeAbsent       Outcome = "absent"
)

// statusOf is the status of a case. Absent sides come first, then flips, also where what
// is asked has changed, then that, then no change (grading.md 7.1).
func statusOf(base, compare Outcome, configChanged bool) Status {
	switch {
	case base == OutcomeAbsent:
		return NewCase
	case compare == OutcomeAbsent:
		return RemovedCase
	case base == OutcomeInconclusive || compare == OutcomeInconclusive:
		return Undecided
	case base == OutcomePassed && compare == OutcomeFailed:
		return Regressed
	case base == OutcomeFailed && compare == OutcomePassed:
		return Fixed
	case configChanged:
		return Changed
	case compare == OutcomePassed:
		return StillPassed
	}
	return StillFailed
}

// Delta is a figure of both runs; nil: not measured on a side.
type Delta struct{ Base, Compare *float64 }

// Of is compare minus base, and that as a percentage of base, whose sign is kept; nil
// where a side is, and the percentage where base is 0.
func (d Delta) Of() (delta, percent *float64) {
	if d.Base == nil || d.Compare == nil {
		return nil, nil
	}
	diff := *d.Compare - *d.Base
	if *d.Base != 0 {
		p := diff / *d.Base * 100
		percent = &p
	}
	return &diff, percent
}

// CaseChange is one case in both runs.
type CaseChange struct {
	ID, Title     string
	Status        Status
	Base, Compare Outcome
	// Counted says that the case counts on the sides that have it.
	Counted                    bool
	ConfigChanged              bool
	BaseTrials, CompareTrials  int
	PassRate                   Delta
	Calls, Tokens, ResultBytes Delta // means of a trial
	Duration                   Delta // the mean of a trial, in milliseconds
	Cost                       Delta // the mean of a trial, where prices are given
	P50, P95                   Delta // of the calls' latency, in milliseconds
	// BaseBreak and CompareBreak are where most trials broke first; empty links: nowhere.
	BaseBreak, CompareBreak BreakAt
	// BaseFlaky and CompareFlaky say that it passed and failed within one run.
	BaseFlaky, CompareFlaky bool
	// At is where the case stands in the new run's suite.
	At *Place

	base, compare *figures
}

// BreakMoved says that most trials break first at another link, or for another reason.
func (c *CaseChange) BreakMoved() bool {
	return c.Base != OutcomeAbsent && c.Compare != OutcomeAbsent && c.BaseBreak != c.CompareBreak
}

// Side is one of the two runs.
type Side struct {
	// Name is what the command line called it, for people; in no JSON.
	Name               string
	SuiteID, SuiteHash string
	AnalyzerVersion    int
	Word               grade.Word
}

// ServerChange says that a server is another than it was: what changed under a suite.
type ServerChange struct {
	Server                        string
	BaseVersions, CompareVersions []string
	BaseCatalogs, CompareCatalogs []string
}

// Comparison is what became of a run's cases in another run.
type Comparison struct {
	Base, Compare Side
	// AnalyzerChanged and SuiteChanged limit what can be said: see Population.
	AnalyzerChanged, SuiteChanged bool
	Servers                       []ServerChange
	Cases                         []CaseChange
	PassRate                      Delta // of the cases that count on both sides
	Calls, Tokens, ResultBytes    Delta
	Duration, Cost                Delta
	P50, P95                      Delta
	// Population says why figures of whole runs cannot be compared; empty: they can
	// (grading.md 7.2).
	Population []string
	Gates      []Gate
	// Word is passed, failed, or inconclusive where a gate could not be decided.
	Word grade.Word
	// SuiteFiles are those of the new run's suite.
	SuiteFiles []string

	prices        Prices
	base, compare figures // of the shared cases
}

// Count is how many cases have the status.
func (c *Comparison) Count(s Status) int {
	n := 0
	for i := range c.Cases {
		if c.Cases[i].Status == s {
			n++
		}
	}
	return n
}

// ExitCode is 0 when the gates passed, 1 when one failed, 3 when one could not be decided
// or nothing was comparable.
func (c *Comparison) ExitCode() int { return (&grade.Verdict{Word: c.Word}).ExitCode() }

// side is a run with the figures of its cases.
type side struct {
	cases   map[string]*Case
	figures map[string]*figures
	order   []string
	servers servers
}

func sideOf(v *Verdict) (*side, error) {
	s := &side{cases: map[string]*Case{}, figures: map[string]*figures{}, servers: servers{}}
	for _, c := range v.Cases {
		if s.cases[c.ID] != nil {
			return nil, fmt.Errorf("case %s is in one verdict twice", visible.String(c.ID))
		}
		f := &figures{}
		s.cases[c.ID], s.figures[c.ID] = c, f
		s.order = append(s.order, c.ID)
		err := c.Each(func(t *Trial) error {
			f.add(t)
			s.servers.add(t)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func outcomeOf(c *Case) Outcome {
	if c == nil {
		return OutcomeAbsent
	}
	return Outcome(c.Word)
}

// Compare compares two runs, and asks the gates.
func Compare(base, compare *Verdict, gates Gates) (*Comparison, error) {
	b, err := sideOf(base)
	if err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	n, err := sideOf(compare)
	if err != nil {
		return nil, fmt.Errorf("new: %w", err)
	}
	c := &Comparison{
		Base:            Side{SuiteID: base.SuiteID, SuiteHash: base.SuiteHash, AnalyzerVersion: base.AnalyzerVersion, Word: base.Word},
		Compare:         Side{SuiteID: compare.SuiteID, SuiteHash: compare.SuiteHash, AnalyzerVersion: compare.AnalyzerVersion, Word: compare.Word},
		AnalyzerChanged: base.AnalyzerVersion != compare.AnalyzerVersion, SuiteChanged: base.SuiteHash != compare.SuiteHash,
		SuiteFiles: compare.SuiteFiles, Servers: serverChanges(b.servers, n.servers),
	}
	ids := slices.Clone(n.order)
	for _, id := range b.order {
		if n.cases[id] == nil {
			ids = append(ids, id)
		}
	}
	c.prices = gates.Prices
	for _, id := range ids {
		c.Cases = append(c.Cases, c.caseChange(b, n, id))
	}
	c.whole()
	c.ask(gates)
	return c, nil
}

func (c *Comparison) caseChange(b, n *side, id string) CaseChange {
	bc, nc := b.cases[id], n.cases[id]
	out := CaseChange{ID: id, Base: outcomeOf(bc), Compare: outcomeOf(nc), Counted: true, base: b.figures[id], compare: n.figures[id]}
	if out.base == nil {
		out.base = &figures{}
	}
	if out.compare == nil {
		out.compare = &figures{}
	}
	for _, of := range []*Case{bc, nc} {
		if of != nil {
			out.Title, out.Counted = of.Title, out.Counted && of.Counted
			if of.Spec != nil && of == nc {
				out.At = of.Spec.At
			}
		}
	}
	if bc != nil && nc != nil {
		switch {
		case bc.ConfigHash == "" || nc.ConfigHash == "": // a verdict of an older version
			out.ConfigChanged = c.SuiteChanged
		default:
			out.ConfigChanged = bc.ConfigHash != nc.ConfigHash
		}
	}
	out.Status = statusOf(out.Base, out.Compare, out.ConfigChanged || c.AnalyzerChanged)
	f, g := out.base, out.compare
	out.BaseTrials, out.CompareTrials = f.trials(), g.trials()
	out.PassRate = Delta{f.rate(), g.rate()}
	out.Calls, out.ResultBytes = Delta{f.perTrial(f.calls), g.perTrial(g.calls)}, Delta{f.perTrial(f.bytes), g.perTrial(g.bytes)}
	out.Duration, out.Cost = Delta{f.durationMs(), g.durationMs()}, Delta{f.costPerTrial(c.prices), g.costPerTrial(c.prices)}
	out.Tokens = Delta{f.tokensPerTrial(), g.tokensPerTrial()}
	out.P50, out.P95 = Delta{f.latencyMs(0.5), g.latencyMs(0.5)}, Delta{f.latencyMs(0.95), g.latencyMs(0.95)}
	out.BaseBreak, out.CompareBreak = f.usualBreak(), g.usualBreak()
	out.BaseFlaky, out.CompareFlaky = f.flaky(), g.flaky()
	return out
}

// whole sums up the cases that count on both sides, and says what keeps the sums from
// being comparable.
func (c *Comparison) whole() {
	why := func(format string, args ...any) {
		if len(c.Population) < maxPopulation {
			c.Population = append(c.Population, fmt.Sprintf(format, args...))
		}
	}
	if c.AnalyzerChanged {
		why("the analyzer changed: version %d, then %d", c.Base.AnalyzerVersion, c.Compare.AnalyzerVersion)
	}
	for i := range c.Cases {
		k := &c.Cases[i]
		if !k.Counted {
			continue
		}
		id := visible.String(k.ID)
		switch {
		case k.Status == NewCase:
			why("case %s is new", id)
			continue
		case k.Status == RemovedCase:
			why("case %s was removed", id)
			continue
		case k.ConfigChanged:
			why("case %s asks something else", id)
		case k.BaseTrials != k.CompareTrials:
			why("case %s has %s, then %d", id, plural(k.BaseTrials, "trial"), k.CompareTrials)
		}
		c.base.merge(k.base)
		c.compare.merge(k.compare)
	}
	f, g := &c.base, &c.compare
	c.PassRate = Delta{f.rate(), g.rate()}
	c.Calls, c.ResultBytes, c.Tokens = Delta{f.perTrial(f.calls), g.perTrial(g.calls)}, Delta{f.perTrial(f.bytes), g.perTrial(g.bytes)}, Delta{f.tokensPerTrial(), g.tokensPerTrial()}
	c.Duration, c.Cost = Delta{f.durationMs(), g.durationMs()}, Delta{f.costPerTrial(c.prices), g.costPerTrial(c.prices)}
	c.P50, c.P95 = Delta{f.latencyMs(0.5), g.latencyMs(0.5)}, Delta{f.latencyMs(0.95), g.latencyMs(0.95)}
}

// maxPopulation bounds the reasons that are kept.
const maxPopulation = 20

// merge takes the sums of another group; not its dots and breaks.
func (f *figures) merge(o *figures) {
	f.passed, f.failed, f.errored = f.passed+o.passed, f.failed+o.failed, f.errored+o.errored
	f.calls, f.bytes, f.durationNs = f.calls+o.calls, f.bytes+o.bytes, f.durationNs+o.durationNs
	f.longestNs, f.newest = max(f.longestNs, o.longestNs), max(f.newest, o.newest)
	f.tokens, f.tokensOf, f.usedOf = f.tokens+o.tokens, f.tokensOf+o.tokensOf, f.usedOf+o.usedOf
	for _, model := range sortedKeys(o.used) {
		f.uses(model, o.used[model])
	}
	f.latency.Merge(&o.latency)
}

func serverChanges(b, n servers) []ServerChange {
	var out []ServerChange
	keys := map[string]bool{}
	for k := range b {
		keys[k] = true
	}
	for k := range n {
		keys[k] = true
	}
	none := &serverSeen{}
	for _, k := range sortedKeys(keys) {
		x, y := b[k], n[k]
		if x == nil {
			x = none
		}
		if y == nil {
			y = none
		}
		if !maps.Equal(x.versions, y.versions) || !maps.Equal(x.catalogs, y.catalogs) {
			out = append(out, ServerChange{k, sortedKeys(x.versions), sortedKeys(y.versions), sortedKeys(x.catalogs), sortedKeys(y.catalogs)})
		}
	}
	return out
}

// Gates are what a comparison is asked; nil: not asked.
type Gates struct {
	// FailOn are the statuses that fail it.
	FailOn []Status
	// MaxPassRateDrop is the largest drop of the pass rate, a fraction.
	MaxPassRateDrop *float64
	// MaxP95IncreaseMs is the largest increase of the 95th percentile of latency.
	MaxP95IncreaseMs *float64
	// MinSamples is how many samples each side must have for either; 0: 5.
	MinSamples int
	// Prices are no gate: with them costs are compared.
	Prices Prices
}

// defaultMinSamples is how few samples say anything (grading.md 7.2).
const defaultMinSamples = 5

// GateStatus is what came of a gate (grading.md 7.2).
type GateStatus string

// The statuses of a gate. Non-gateable: it could not be decided.
const (
	GatePassed      GateStatus = "passed"
	GateFailed      GateStatus = "failed"
	GateNonGateable GateStatus = "non_gateable"
)

// Gate is one gate with its outcome.
type Gate struct {
	Name   string // the flag, without dashes
	Status GateStatus
	Text   string
	Limit  *float64
	Actual *float64
	// Low and High bound the actual figure with 95 %, where that is known.
	Low, High *float64
}

// ask asks the gates, and makes the verdict: failed, else inconclusive if a gate could not
// be decided or nothing was comparable, else passed.
func (c *Comparison) ask(g Gates) {
	if g.MinSamples <= 0 {
		g.MinSamples = defaultMinSamples
	}
	if len(g.FailOn) > 0 {
		c.Gates = append(c.Gates, c.failOn(g.FailOn))
	}
	if g.MaxPassRateDrop != nil {
		c.Gates = append(c.Gates, c.passRateDrop(*g.MaxPassRateDrop, g.MinSamples))
	}
	if g.MaxP95IncreaseMs != nil {
		c.Gates = append(c.Gates, c.p95Increase(*g.MaxP95IncreaseMs, g.MinSamples))
	}
	c.Word = grade.Passed
	if !slices.ContainsFunc(c.Cases, func(k CaseChange) bool {
		return k.Counted && k.Status != NewCase && k.Status != RemovedCase && k.Status != Undecided
	}) {
		c.Word = grade.Inconclusive
	}
	for _, gate := range c.Gates {
		switch {
		case gate.Status == GateFailed:
			c.Word = grade.Failed
			return
		case gate.Status == GateNonGateable:
			c.Word = grade.Inconclusive
			for _, other := range c.Gates {
				if other.Status == GateFailed {
					c.Word = grade.Failed
				}
			}
			return
		}
	}
}

// failOn fails on cases with one of the statuses. A case that passed and that nobody can
// tell about now may have regressed: where that matters the gate cannot be decided.
func (c *Comparison) failOn(statuses []Status) Gate {
	g := Gate{Name: "fail-on", Status: GatePassed}
	var hit, open []string
	for i := range c.Cases {
		k := &c.Cases[i]
		switch {
		case !k.Counted:
		case slices.Contains(statuses, k.Status):
			hit = append(hit, k.ID)
		case k.Status == Undecided && k.Base == OutcomePassed && slices.Contains(statuses, Regressed):
			open = append(open, k.ID)
		}
	}
	var names []string
	for _, s := range statuses {
		names = append(names, string(s))
	}
	what := strings.Join(names, ", ")
	n := float64(len(hit))
	zero := 0.0
	g.Actual, g.Limit = &n, &zero
	switch {
	case len(hit) > 0:
		g.Status, g.Text = GateFailed, fmt.Sprintf("%s: %s", what, someCases(hit))
	case len(open) > 0:
		g.Status, g.Text = GateNonGateable, fmt.Sprintf("%s passed before and cannot be decided now", someCases(open))
	default:
		g.Text = "no case is " + strings.Join(names, " or ")
	}
	return g
}

// comparable tells whether figures of the whole runs can be compared; else the gate says
// why not.
func (c *Comparison) comparable(g *Gate) bool {
	if len(c.Population) == 0 {
		return true
	}
	g.Status = GateNonGateable
	g.Text = "the runs are not of the same cases and trials: " + c.Population[0]
	if more := len(c.Population) - 1; more > 0 {
		g.Text += fmt.Sprintf("; and %d more", more)
	}
	return false
}

// passRateDrop fails when the pass rate dropped by more than the limit and chance does
// not explain a drop (Newcombe, 95 %). With too few trials, or where chance may explain
// it, nothing can be decided.
func (c *Comparison) passRateDrop(limit float64, minSamples int) Gate {
	g := Gate{Name: "max-pass-rate-drop", Limit: &limit}
	b, n := &c.base, &c.compare
	if !c.comparable(&g) {
		return g
	}
	low, high, ok := grade.Newcombe(b.passed, b.eligible(), n.passed, n.eligible())
	if !ok || b.eligible() < minSamples || n.eligible() < minSamples {
		g.Status = GateNonGateable
		g.Text = fmt.Sprintf("too few trials were decided: %d, then %d; at least %d are needed", b.eligible(), n.eligible(), minSamples)
		return g
	}
	drop := *b.rate() - *n.rate()
	dropLow, dropHigh := -high, -low
	g.Actual, g.Low, g.High = &drop, &dropLow, &dropHigh
	seen := fmt.Sprintf("pass rate %s, then %s: a drop of %s (95 %% interval %s to %s), limit %s",
		decimals(*b.rate()), decimals(*n.rate()), decimals(drop), decimals(dropLow), decimals(dropHigh), decimals(limit))
	switch {
	case drop <= limit+1e-12:
		g.Status, g.Text = GatePassed, seen
	case high < 0:
		g.Status, g.Text = GateFailed, seen
	default:
		g.Status, g.Text = GateNonGateable, seen+"; with so few trials chance may explain it"
	}
	return g
}

func (c *Comparison) p95Increase(limit float64, minSamples int) Gate {
	g := Gate{Name: "max-p95-increase", Limit: &limit}
	if !c.comparable(&g) {
		return g
	}
	nb, nn := c.base.latency.Count(), c.compare.latency.Count()
	if nb < minSamples || nn < minSamples {
		g.Status = GateNonGateable
		g.Text = fmt.Sprintf("too few calls were timed: %d, then %d; at least %d are needed", nb, nn, minSamples)
		return g
	}
	up := *c.P95.Compare - *c.P95.Base
	g.Actual, g.Status = &up, GatePassed
	if up > limit {
		g.Status = GateFailed
	}
	g.Text = fmt.Sprintf("p95 of the calls' latency %s, then %s: %s, limit %s", duration(*c.P95.Base*1e6), duration(*c.P95.Compare*1e6), signedDuration(up*1e6), signedDuration(limit*1e6))
	return g
}

// decimals shows a share.
func decimals(x float64) string {
	s := fmt.Sprintf("%.3f", x)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

func signedDuration(ns float64) string {
	if ns < 0 {
		return "-" + duration(math.Abs(ns))
	}
	return "+" + duration(ns)
}
