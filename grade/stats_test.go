package grade

import (
	"math"
	"math/big"
	"testing"
)

func trials(passed, failed, errored int) []*brief {
	var out []*brief
	for range passed {
		out = append(out, &brief{word: Passed})
	}
	for range failed {
		out = append(out, &brief{word: Failed})
	}
	for range errored {
		out = append(out, &brief{word: Inconclusive})
	}
	return out
}

func TestNothingEligibleHasNoRate(t *testing.T) {
	s := count(trials(0, 0, 3))
	if s.PassRate != nil || s.Stability != nil || s.PassAt != nil || s.Errored != 3 {
		t.Errorf("%+v", s)
	}
}

// pass@k and pass^k by counting every draw of k trials.
func TestPassAtKCountsDraws(t *testing.T) {
	for passed := 0; passed <= 6; passed++ {
		for failed := 0; passed+failed <= 6; failed++ {
			s := count(trials(passed, failed, 2))
			n := passed + failed
			for i, at := range s.PassAt {
				some, all, draws := 0, 0, 0
				for set := range 1 << n {
					size, good := 0, 0
					for j := range n {
						if set>>j&1 == 1 {
							size++
							if j < passed {
								good++
							}
						}
					}
					if size != at.K {
						continue
					}
					draws++
					if good > 0 {
						some++
					}
					if good == size {
						all++
					}
				}
				if want := big.NewRat(int64(some), int64(draws)); at.Share.Cmp(want) != 0 {
					t.Errorf("%d of %d: pass@%d is %s, want %s", passed, n, at.K, at.Share, want)
				}
				if want := big.NewRat(int64(all), int64(draws)); s.PassHat[i].Share.Cmp(want) != 0 {
					t.Errorf("%d of %d: pass^%d is %s, want %s", passed, n, at.K, s.PassHat[i].Share, want)
				}
			}
			if n > 0 && (len(s.PassAt) == 0 || s.PassAt[0].Share.Cmp(s.PassRate) != 0) {
				t.Errorf("%d of %d: pass@1 is not the pass rate", passed, n)
			}
		}
	}
}

// The interval's ends solve (p - k/n)² = z² p(1-p)/n; and nothing is outside 0..1.
func TestWilsonSolvesItsEquation(t *testing.T) {
	for n := 1; n <= 200; n++ {
		for k := 0; k <= n; k++ {
			low, high := wilson(k, n)
			p := float64(k) / float64(n)
			if low < 0 || high > 1 || low > p || high < p {
				t.Fatalf("%d of %d: %v..%v", k, n, low, high)
			}
			for _, end := range []float64{low, high} {
				if end == 0 || end == 1 {
					continue
				}
				left, right := (end-p)*(end-p), z95*z95*end*(1-end)/float64(n)
				if math.Abs(left-right) > 1e-12 {
					t.Fatalf("%d of %d: %v is no end: %v, %v", k, n, end, left, right)
				}
			}
		}
	}
	if low, high := wilson(0, 10); low != 0 || math.Abs(high-0.277533) > 1e-6 {
		t.Errorf("0 of 10: %v..%v", low, high)
	}
	if low, high := wilson(10, 10); high != 1 || math.Abs(low-0.722467) > 1e-6 {
		t.Errorf("10 of 10: %v..%v", low, high)
	}
}
