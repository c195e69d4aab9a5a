package audit

import (
	"maps"
	"math/bits"
	"slices"
)

// Histogram counts values of one kind (nanoseconds, bytes) in buckets that are at most
// 1/128 of their values wide; under 256 each value has its own. Two that are added
// give what one would that saw all values, whatever the order.
type Histogram struct {
	N       int64           `json:"n"`
	Min     int64           `json:"min"`
	Max     int64           `json:"max"`
	Buckets map[int32]int64 `json:"buckets,omitempty"`
}

// subBits says how many buckets a doubling has: 128.
const subBits = 7

func bucketOf(v int64) int32 {
	if v < 1<<(subBits+1) {
		return int32(v)
	}
	shift := bits.Len64(uint64(v)) - (subBits + 1)
	return int32(shift<<subBits) + int32(v>>shift)
}

// topOf is the largest value of a bucket.
func topOf(b int32) int64 {
	if b < 1<<(subBits+1) {
		return int64(b)
	}
	shift := b>>subBits - 1
	low := int64(b - shift<<subBits)
	return (low+1)<<shift - 1
}

func (h *Histogram) add(v int64) {
	v = max(v, 0)
	if h.Buckets == nil {
		h.Buckets = map[int32]int64{}
	}
	if h.N == 0 || v < h.Min {
		h.Min = v
	}
	h.Max = max(h.Max, v)
	h.N++
	h.Buckets[bucketOf(v)]++
}

func (h *Histogram) merge(o *Histogram) {
	if o.N == 0 {
		return
	}
	if h.Buckets == nil {
		h.Buckets = map[int32]int64{}
	}
	if h.N == 0 || o.Min < h.Min {
		h.Min = o.Min
	}
	h.Max = max(h.Max, o.Max)
	h.N += o.N
	for b, n := range o.Buckets {
		h.Buckets[b] += n
	}
}

// Quantile is the smallest value that percent of the values do not pass (nearest
// rank), at most 1/128 too large and never too small; 0 without values.
func (h *Histogram) Quantile(percent int64) int64 {
	return h.quantiles(percent)[0]
}

func (h *Histogram) quantiles(percents ...int64) []int64 {
	out := make([]int64, len(percents))
	if h.N == 0 {
		return out
	}
	order := slices.Sorted(maps.Keys(h.Buckets))
	for i, p := range percents {
		// The rank in whole numbers, without an overflow.
		rank := h.N/100*p + (h.N%100*p+99)/100
		rank = max(rank, 1)
		seen := int64(0)
		for _, b := range order {
			if seen += h.Buckets[b]; seen >= rank {
				out[i] = max(h.Min, min(topOf(b), h.Max))
				break
			}
		}
	}
	return out
}
