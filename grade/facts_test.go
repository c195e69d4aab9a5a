package grade

import (
	"math"
	"testing"
)

// The 95th percentile is interpolated at (n-1)·0.95 (grading.md 7.2).
func TestPercentile(t *testing.T) {
	one := func(ns ...int64) Latency { return latencyOf(ns) }
	for name, c := range map[string]struct {
		list  []Latency
		share float64
		want  float64
	}{
		"one value":              {[]Latency{one(7)}, 0.95, 7},
		"two values":             {[]Latency{one(10), one(20)}, 0.95, 19.5},
		"the median of four":     {[]Latency{one(4, 1), one(3, 2)}, 0.5, 2.5},
		"twenty-one values":      {[]Latency{one(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)}, 0.95, 20},
		"equal values of trials": {[]Latency{one(5, 5), one(5)}, 0.95, 5},
	} {
		var l Latencies
		for _, x := range c.list {
			l.Add(x)
		}
		if got, ok := l.Percentile(c.share); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if _, ok := (&Latencies{}).Percentile(0.5); ok {
		t.Error("nothing has a percentile")
	}
}

// What is kept of many calls stands for all of them.
func TestManyLatencies(t *testing.T) {
	var l Latencies
	n := int64(0)
	for range 400 {
		ns := make([]int64, 1000)
		for i := range ns {
			ns[i] = (n*7919 + 13) % 400_000 // each value once
			n++
		}
		l.Add(latencyOf(ns))
	}
	if l.Count() != 400_000 || l.values > maxMerged {
		t.Fatalf("%d calls, %d values", l.Count(), l.values)
	}
	for _, share := range []float64{0, 0.5, 0.95, 1} {
		if got, _ := l.Percentile(share); math.Abs(got-share*400_000) > 4000 {
			t.Errorf("%v: %v", share, got)
		}
	}
}
