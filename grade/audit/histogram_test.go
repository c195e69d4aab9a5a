package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A value is in a bucket whose top is not below it and at most 1/128 above it.
func TestHistogramBuckets(t *testing.T) {
	values := []int64{0, 1, 127, 128, 255, 256, 257, 511, 512, 513, 1 << 20, 1<<20 + 1, math.MaxInt64 - 1, math.MaxInt64}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		values = append(values, rng.Int64()>>rng.IntN(63))
	}
	slices.Sort(values)
	last := int32(-1)
	for _, v := range values {
		b := bucketOf(v)
		top := topOf(b)
		if top < v || v < 256 && top != v || top-v > v/128 {
			t.Fatalf("%d is in bucket %d, up to %d", v, b, top)
		}
		if b < last {
			t.Fatalf("%d is in bucket %d, after %d", v, b, last)
		}
		last = b
	}
}

// Histograms that are added up are one that saw all.
func TestHistogramMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var parts [3]Histogram
		var one Histogram
		var values []int64
		for range rng.IntN(400) + 1 {
			v := rng.Int64() >> rng.IntN(63)
			values = append(values, v)
			one.add(v)
			parts[rng.IntN(3)].add(v)
		}
		var sum Histogram
		for _, i := range rng.Perm(3) {
			sum.merge(&parts[i])
		}
		slices.Sort(values)
		for p := int64(1); p <= 100; p++ {
			rank := (int64(len(values))*p + 99) / 100
			exact := values[rank-1]
			if a, b := one.Quantile(p), sum.Quantile(p); a != b || a < exact || a-exact > exact/128 {
				t.Fatalf("p%d of %d values: %d and %d, exact %d", p, len(values), a, b, exact)
			}
		}
	}
	var none Histogram
	if none.Quantile(50) != 0 {
		t.Error("a quantile of nothing")
	}
}

// What is held of too many keys does not depend on the order in which they come.
func TestBoundedInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	words := make([]string, 300)
	for i := range words {
		words[i] = string(rune('a'+rng.IntN(26))) + string(rune('a'+rng.IntN(4)))
	}
	total := map[string]int64{}
	for _, w := range words {
		total[w]++
	}
	order := []string{}
	for w := range total {
		order = append(order, w)
	}
	slices.Sort(order)
	const limit = 20
	for range 50 {
		rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		var b bounded[count, *count]
		for _, w := range words {
			v, _ := b.at(w, limit)
			v.N++
		}
		if got := b.sorted(); !slices.Equal(got, order[:limit]) {
			t.Fatalf("holds %v, not %v", got, order[:limit])
		}
		rest := int64(len(words))
		for w, v := range b.Of {
			if v.N != total[w] {
				t.Fatalf("%s: %d, not %d", w, v.N, total[w])
			}
			rest -= v.N
		}
		if b.Rest.N != rest || !b.HasCut || b.Cut != order[limit] {
			t.Fatalf("rest %d and cut %q, not %d and %q", b.Rest.N, b.Cut, rest, order[limit])
		}
	}
}

func TestKeysComeApart(t *testing.T) {
	for _, parts := range [][]string{{"", ""}, {"a", "b"}, {"a\x00", "b"}, {"a\x00\x00b", ""}, {"\x00", "\x00\x01"}, {"\x00\x01", "\x00"}} {
		if got := partsOf(keyOf(parts...)); !slices.Equal(got, parts) {
			t.Errorf("%q came back as %q", parts, got)
		}
	}
}
