package grade

import (
	"math"
	"math/big"
)

// Stats counts a case's trials (grading.md 5.3).
type Stats struct {
	Trials, Passed, Failed, Errored int
	// PassRate is passed over eligible (passed and failed), nil when none is.
	PassRate *big.Rat
	// PassAt and PassHat are pass@k (at least one of k passes) and pass^k (all of k
	// pass), for the k of passK that are at most Eligible.
	PassAt, PassHat []AtK
	// WilsonLow and WilsonHigh bound the pass rate with 95 %.
	WilsonLow, WilsonHigh float64
	// Stability is the share of the more frequent verdict among the eligible.
	Stability *big.Rat
}

// Eligible is how many trials are in the pass rate.
func (s *Stats) Eligible() int { return s.Passed + s.Failed }

// AtK is a share for k trials drawn without replacement.
type AtK struct {
	K     int
	Share *big.Rat
}

// passK are the k that reports show. They are few: a case may have 10,000 trials.
var passK = []int{1, 2, 3, 5, 10}

// count adds up the trials' verdicts.
func count(trials []*brief) Stats {
	var passed, failed int
	for i := range trials {
		switch trials[i].word {
		case Passed:
			passed++
		case Failed:
			failed++
		}
	}
	return StatsOf(passed, failed, len(trials)-passed-failed)
}

// StatsOf are the figures of so many trials.
func StatsOf(passed, failed, errored int) Stats {
	s := Stats{Trials: passed + failed + errored, Passed: passed, Failed: failed, Errored: errored}
	n := int64(s.Eligible())
	if n == 0 {
		return s
	}
	s.PassRate = big.NewRat(int64(s.Passed), n)
	s.Stability = big.NewRat(int64(max(s.Passed, s.Failed)), n)
	for _, k := range passK {
		if k > s.Eligible() {
			break
		}
		none := choose(s.Failed, s.Eligible(), k)
		s.PassAt = append(s.PassAt, AtK{k, none.Sub(big.NewRat(1, 1), none)})
		s.PassHat = append(s.PassHat, AtK{k, choose(s.Passed, s.Eligible(), k)})
	}
	s.WilsonLow, s.WilsonHigh = wilson(s.Passed, s.Eligible())
	return s
}

// choose is C(c,k)/C(n,k), exactly: the chance that k of n trials are all among c.
func choose(c, n, k int) *big.Rat {
	r := big.NewRat(1, 1)
	for i := range k {
		if c-i <= 0 {
			return new(big.Rat)
		}
		r.Mul(r, big.NewRat(int64(c-i), int64(n-i)))
	}
	return r
}

// z95 is the normal distribution's 97.5 % point (grading.md 5.3).
const z95 = 1.959963984540054

// wilson is the Wilson interval of k of n with 95 %, its ends pinned at shares of
// 0 and 1. Every product is rounded by itself, so that no processor fuses it with a
// sum and gives other last digits.
func wilson(k, n int) (low, high float64) {
	p, m := float64(k)/float64(n), float64(n)
	z2 := float64(z95 * z95)
	centre := float64(p + float64(z2/float64(2*m)))
	half := float64(z95 * math.Sqrt(float64(float64(p*float64(1-p))/m)+float64(z2/float64(4*float64(m*m)))))
	by := float64(1 + float64(z2/m))
	low, high = float64(centre-half)/by, float64(centre+half)/by
	if k == 0 {
		low = 0
	}
	if k == n {
		high = 1
	}
	return low, high
}

// Newcombe is the 95 % interval of the difference of two pass rates, compare minus base,
// each of passed of eligible trials (grading.md 7.2). ok is false when a side is empty.
func Newcombe(basePassed, base, comparePassed, compare int) (low, high float64, ok bool) {
	if base <= 0 || compare <= 0 {
		return 0, 0, false
	}
	pb, pc := float64(basePassed)/float64(base), float64(comparePassed)/float64(compare)
	lb, ub := wilson(basePassed, base)
	lc, uc := wilson(comparePassed, compare)
	square := func(x float64) float64 { return float64(x * x) }
	delta := float64(pc - pb)
	low = delta - math.Sqrt(square(pc-lc)+square(ub-pb))
	high = delta + math.Sqrt(square(uc-pc)+square(pb-lb))
	return max(-1, low), min(1, high), true
}
