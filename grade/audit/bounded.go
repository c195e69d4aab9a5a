package audit

import (
	"maps"
	"slices"
)

// bounded holds a sum for each of a bounded number of keys; what is beyond is summed
// up in one. Which keys those are does not depend on the order in which they come: they
// are the last ones in order of bytes. Once a key was cut, no key from there on is held.
type bounded[V any, P sum[V]] struct {
	Of map[string]P `json:"of,omitempty"`
	// Cut is the first key that is not held, where HasCut.
	Cut    string `json:"cut,omitempty"`
	HasCut bool   `json:"hasCut,omitempty"`
	Rest   *V     `json:"rest,omitempty"`
}

// sum is what can be added up and says what it weighs.
type sum[V any] interface {
	*V
	merge(*V)
	weight() int
}

// at is the sum of a key; held is false where that is the sum of the rest.
func (b *bounded[V, P]) at(key string, limit int) (v P, held bool) {
	if v, ok := b.Of[key]; ok {
		return v, true
	}
	if b.HasCut && key >= b.Cut {
		return b.rest(), false
	}
	if b.Of == nil {
		b.Of = map[string]P{}
	}
	b.Of[key] = P(new(V))
	b.cutTo(limit)
	if v, ok := b.Of[key]; ok {
		return v, true
	}
	return b.rest(), false
}

func (b *bounded[V, P]) rest() P {
	if b.Rest == nil {
		b.Rest = new(V)
	}
	return P(b.Rest)
}

// cutTo lets go of the last keys until the weights are within the limit.
func (b *bounded[V, P]) cutTo(limit int) {
	total := 0
	for _, v := range b.Of {
		total += v.weight()
	}
	if total <= limit {
		return
	}
	order := slices.Sorted(maps.Keys(b.Of))
	for i := len(order) - 1; i >= 0 && total > limit; i-- {
		v := b.Of[order[i]]
		total -= v.weight()
		b.rest().merge((*V)(v))
		delete(b.Of, order[i])
		b.Cut, b.HasCut = order[i], true
	}
}

// sorted are the keys in order.
func (b *bounded[V, P]) sorted() []string { return slices.Sorted(maps.Keys(b.Of)) }

// tally counts by words of a closed set, or of one that at most maxTally are held of.
type tally map[string]int64

func (t *tally) add(key string, n int64) {
	if n == 0 {
		return
	}
	if *t == nil {
		*t = tally{}
	}
	(*t)[key] += n
}

func (t *tally) merge(o tally) {
	for k, n := range o {
		t.add(k, n)
	}
}
