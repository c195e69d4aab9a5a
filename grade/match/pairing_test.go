package match

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// bruteMax is the size of a maximum matching of slots (each a set of calls, by bit)
// with the calls of left.
func bruteMax(slots []uint32, left uint32) int {
	if len(slots) == 0 {
		return 0
	}
	best := bruteMax(slots[1:], left)
	for c := uint32(1); c != 0 && c <= slots[0]; c <<= 1 {
		if slots[0]&left&c != 0 {
			best = max(best, 1+bruteMax(slots[1:], left&^c))
		}
	}
	return best
}

// brutePairs is grading.md 0.2.2 word by word: each slot in authored order takes the
// earliest call that still allows a maximum matching.
func brutePairs(slots []uint32, calls int) []int {
	out := make([]int, len(slots))
	left := uint32(1)<<calls - 1
	for i := range slots {
		out[i] = -1
		total := bruteMax(slots[i:], left)
		for c := range calls {
			if slots[i]&left&(1<<c) != 0 && 1+bruteMax(slots[i+1:], left&^(1<<c)) == total {
				out[i] = c
				left &^= 1 << c
				break
			}
		}
	}
	return out
}

func TestPairsAreTheEarliestOfAMaximumMatching(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for round := range 6000 {
		n, m := 1+r.IntN(5), r.IntN(7)
		density := 1 + r.IntN(4)
		rows := newSets(n, m)
		need := make([]int, n)
		var slots []uint32
		for i := range n {
			var accepts uint32
			for c := range m {
				if r.IntN(4) < density {
					rows[i].add(c)
					accepts |= 1 << c
				}
			}
			copies := 1
			if r.IntN(3) == 0 {
				copies = 1 + r.IntN(3)
			}
			need[i] = min(copies, m)
			for range need[i] {
				slots = append(slots, accepts)
			}
		}
		var want [][]int
		at := 0
		pairs := brutePairs(slots, m)
		for i := range n {
			var calls []int
			for range need[i] {
				if pairs[at] >= 0 {
					calls = append(calls, pairs[at])
				}
				at++
			}
			want = append(want, calls)
		}
		p := newPairing(rows, slices.Clone(need), m)
		p.maximum()
		p.check(t)
		got := p.settle()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("round %d: slots %b over %d calls, copies %v: got %v, want %v", round, slots, m, need, got, want)
		}
	}
}

// check compares what the pairing counts along the way with what can be counted anew.
func (p *pairing) check(t *testing.T) {
	t.Helper()
	for x := range p.n {
		open, have := 0, 0
		shared := make([]int32, p.n)
		for c := range p.m {
			o := p.owner[c]
			if p.rows[x].has(c) && o == nobody {
				open++
			}
			if p.rows[x].has(c) && o >= 0 {
				shared[o]++
			}
			if o == int32(x) {
				have++
				if !p.rows[x].has(c) || !p.owned[x].has(c) {
					t.Fatalf("expectation %d has call %d, which it does not accept", x, c)
				}
			}
		}
		if open != p.open[x] || have != p.have[x] || have > p.need[x] {
			t.Fatalf("expectation %d: open %d, counted %d; has %d of %d, counted %d", x, p.open[x], open, p.have[x], p.need[x], have)
		}
		for y := range p.n {
			if shared[y] != p.shared[x*p.n+y] || p.steps[x].has(y) != (shared[y] > 0) || p.back[y].has(x) != (shared[y] > 0) {
				t.Fatalf("from %d to %d: %d shared, counted %d", x, y, p.shared[x*p.n+y], shared[y])
			}
		}
	}
}
