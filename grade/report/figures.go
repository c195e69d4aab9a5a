package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
)

// figures add up trials: of a case, or of a group of them.
type figures struct {
	passed, failed, errored int
	// dots are the verdicts of the first trials, in order.
	dots       []grade.Word
	calls      int64
	bytes      int64
	durationNs int64 // of all
	longestNs  int64
	// tokens are those of all trials, as long as each tells them.
	tokens   int64
	tokensOf int // of how many trials they are known
	// used are input and output tokens by model, of usedOf trials.
	used    map[string][2]int64
	usedOf  int
	latency grade.Latencies
	// breaks counts first breaks, by link and reason.
	breaks map[BreakAt]int
	newest int64 // when the newest trial began, nanoseconds since 1970
}

// BreakAt is where a trial broke first; an empty link: nowhere.
type BreakAt struct {
	Link   predicate.Link
	Reason chain.Reason
}

func (b BreakAt) String() string {
	if b.Link == "" {
		return "none"
	}
	return fmt.Sprintf("%s (%s)", b.Link, b.Reason)
}

// maxDots bounds the dots of one cell.
const maxDots = 19

func (f *figures) add(t *Trial) {
	switch t.Word {
	case grade.Passed:
		f.passed++
	case grade.Failed:
		f.failed++
	default:
		f.errored++
	}
	if len(f.dots) < maxDots {
		f.dots = append(f.dots, t.Word)
	}
	f.calls += int64(t.Facts.Calls)
	f.bytes += t.Facts.ResultBytes
	f.durationNs += t.Facts.DurationNs
	f.longestNs = max(f.longestNs, t.Facts.DurationNs)
	f.newest = max(f.newest, t.Facts.StartedAt)
	if u := t.Facts.Tokens; u != nil && totalOf(u) >= 0 {
		f.tokens += totalOf(u)
		f.tokensOf++
		if t.Facts.Model != "" && u.Input >= 0 && u.Output >= 0 {
			f.uses(t.Facts.Model, [2]int64{u.Input, u.Output})
			f.usedOf++
		}
	}
	f.latency.Add(t.Facts.Latency)
	if l := breakOf(t); l != nil {
		if f.breaks == nil {
			f.breaks = map[BreakAt]int{}
		}
		f.breaks[BreakAt{l.Link, l.Reason}]++
	}
}

// totalOf is the larger of the total and its sum (grading.md 10.36); -1: not known.
func totalOf(u *predicate.Usage) int64 {
	sum := int64(-1)
	if u.Input >= 0 && u.Output >= 0 {
		sum = u.Input + u.Output
	}
	return max(u.Total, sum, -1)
}

func (f *figures) trials() int   { return f.passed + f.failed + f.errored }
func (f *figures) eligible() int { return f.passed + f.failed }

// flaky says that it passed and failed within one run (grading.md 7.1).
func (f *figures) flaky() bool { return f.passed > 0 && f.failed > 0 }

// rate is the pass rate; nil: not measured.
func (f *figures) rate() *float64 {
	if f.eligible() == 0 {
		return nil
	}
	r := float64(f.passed) / float64(f.eligible())
	return &r
}

// perTrial is a mean; nil without a trial.
func (f *figures) perTrial(sum int64) *float64 {
	if f.trials() == 0 {
		return nil
	}
	m := float64(sum) / float64(f.trials())
	return &m
}

// tokensPerTrial is nil where one trial does not tell its tokens.
func (f *figures) tokensPerTrial() *float64 {
	if f.tokensOf < f.trials() {
		return nil
	}
	return f.perTrial(f.tokens)
}

// uses adds tokens of a model. Models beyond maxServers share a name that has no price.
func (f *figures) uses(model string, n [2]int64) {
	if f.used == nil {
		f.used = map[string][2]int64{}
	}
	was, known := f.used[model]
	if !known && len(f.used) >= maxServers {
		model = ""
		was = f.used[model]
	}
	f.used[model] = [2]int64{was[0] + n[0], was[1] + n[1]}
}

// Prices are what a million tokens cost, by model, in one currency.
type Prices map[string]Price

// Price is what a million tokens of a model cost.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// ReadPrices reads {"MODEL": {"input": 3, "output": 15}}.
func ReadPrices(data []byte) (Prices, error) {
	var p Prices
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	for _, model := range sortedKeys(p) {
		if p[model].Input < 0 || p[model].Output < 0 {
			return nil, fmt.Errorf("the price of %q is negative", model)
		}
	}
	return p, nil
}

// costPerTrial is nil where a trial does not tell its model and tokens, or a model has no
// price.
func (f *figures) costPerTrial(p Prices) *float64 {
	if f.trials() == 0 || f.usedOf < f.trials() || p == nil {
		return nil
	}
	sum := 0.0
	for _, model := range sortedKeys(f.used) {
		price, known := p[model]
		if !known {
			return nil
		}
		sum += float64(f.used[model][0])*price.Input/1e6 + float64(f.used[model][1])*price.Output/1e6
	}
	sum /= float64(f.trials())
	return &sum
}

// durationMs is the mean of a trial; nil without one.
func (f *figures) durationMs() *float64 {
	ns := f.perTrial(f.durationNs)
	if ns == nil {
		return nil
	}
	ms := *ns / 1e6
	return &ms
}

// latencyMs is a percentile in milliseconds; nil where nothing was timed.
func (f *figures) latencyMs(share float64) *float64 {
	ns, ok := f.latency.Percentile(share)
	if !ok {
		return nil
	}
	ms := ns / 1e6
	return &ms
}

// usualBreak is where most trials broke first, the earlier link of as many.
func (f *figures) usualBreak() BreakAt {
	var best BreakAt
	n := 0
	for _, b := range slices.SortedFunc(maps.Keys(f.breaks), func(a, b BreakAt) int {
		return cmp.Or(cmp.Compare(slices.Index(chain.Order[:], a.Link), slices.Index(chain.Order[:], b.Link)), cmp.Compare(a.Reason, b.Reason))
	}) {
		if f.breaks[b] > n {
			best, n = b, f.breaks[b]
		}
	}
	return best
}

// servers are what the trials of a run were made against, by the key of each.
type servers map[string]*serverSeen

type serverSeen struct{ versions, catalogs map[string]bool }

func (s servers) add(t *Trial) {
	for i := range t.Facts.Servers {
		f := &t.Facts.Servers[i]
		key := cmp.Or(f.Key, f.Name)
		if s[key] == nil {
			if len(s) == maxServers {
				continue
			}
			s[key] = &serverSeen{map[string]bool{}, map[string]bool{}}
		}
		if v := s[key]; f.Version != "" && len(v.versions) < maxServers {
			v.versions[f.Version] = true
		}
		if v := s[key]; f.Catalog != "" && len(v.catalogs) < maxServers {
			v.catalogs[f.Catalog] = true
		}
	}
}

// maxServers bounds the servers that are told apart, and the versions of each.
const maxServers = 1000
