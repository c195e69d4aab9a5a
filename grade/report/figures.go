package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	tokens, input, output int64
	tokensOf              int // of how many trials they are known
	latency               grade.Latencies
	// breaks counts first breaks, by link and reason.
	breaks map[breakAt]int
	newest int64 // when the newest trial began, nanoseconds since 1970
	models map[string]bool
}

type breakAt struct {
	link   predicate.Link
	reason chain.Reason
}

func (b breakAt) String() string {
	if b.link == "" {
		return "none"
	}
	return fmt.Sprintf("%s (%s)", b.link, b.reason)
}

// maxDots bounds the dots of one cell.
const maxDots = 20

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
		f.input += max(0, u.Input)
		f.output += max(0, u.Output)
		f.tokensOf++
	}
	f.latency.Add(t.Facts.Latency)
	if l := breakOf(t); l != nil {
		if f.breaks == nil {
			f.breaks = map[breakAt]int{}
		}
		f.breaks[breakAt{l.Link, l.Reason}]++
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
func (f *figures) usualBreak() breakAt {
	var best breakAt
	n := 0
	for _, b := range slices.SortedFunc(maps.Keys(f.breaks), func(a, b breakAt) int {
		return cmp.Or(cmp.Compare(slices.Index(chain.Order[:], a.link), slices.Index(chain.Order[:], b.link)), cmp.Compare(a.reason, b.reason))
	}) {
		if f.breaks[b] > n {
			best, n = b, f.breaks[b]
		}
	}
	return best
}

// dotText draws the dots: + passed, X failed, ? inconclusive.
func (f *figures) dotText() string {
	var b strings.Builder
	for _, d := range f.dots {
		b.WriteString(map[grade.Word]string{grade.Passed: "+", grade.Failed: "X", grade.Inconclusive: "?"}[d])
	}
	if f.trials() > len(f.dots) {
		b.WriteString("…")
	}
	return b.String()
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
