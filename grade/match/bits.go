package match

import "math/bits"

// set is a set of small whole numbers.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

// newSets returns count sets of n members each, in one piece of memory.
func newSets(count, n int) []set {
	words := (n + 63) / 64
	all := make(set, count*words)
	out := make([]set, count)
	for i := range out {
		out[i] = all[i*words : (i+1)*words : (i+1)*words]
	}
	return out
}

func (s set) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s set) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s set) remove(i int)   { s[i>>6] &^= 1 << (i & 63) }

// fill puts 0 to n-1 into an empty set.
func (s set) fill(n int) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	if n&63 != 0 {
		s[len(s)-1] = 1<<(n&63) - 1
	}
}

// from returns the first member that is at least i, or -1.
func (s set) from(i int) int {
	w := i >> 6
	if w >= len(s) {
		return -1
	}
	for word := s[w] &^ (1<<(i&63) - 1); ; word = s[w] {
		if word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
		if w++; w == len(s) {
			return -1
		}
	}
}

// firstCommon returns the first member of both, or -1.
func firstCommon(a, b set) int {
	for w := range a {
		if word := a[w] & b[w]; word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// first is the lowest bit that is set.
func first(word uint64) int { return bits.TrailingZeros64(word) }

func (s set) clear() {
	for i := range s {
		s[i] = 0
	}
}
