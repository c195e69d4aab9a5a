package grade

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// Overrides are what one run sets over the suite and its cases (grading.md 2.2,
// 6.4). They are no part of the suite's hash. The zero value overrides nothing.
type Overrides struct {
	Arguments match.ArgumentMode
	Order     match.Order
	// MaxExtra is the most extra calls; nil with MaxExtraSet: any number.
	MaxExtra    *int64
	MaxExtraSet bool
	// PassThreshold is the share of a case's eligible trials that must pass.
	PassThreshold *big.Rat
	// Only are the ids of the cases to grade; empty: all.
	Only []string
}

// The names of what can be overridden: the suite's own words.
const (
	OverrideArguments     = "argumentMatching"
	OverrideOrder         = "toolCallOrder"
	OverrideMaxExtra      = "maxExtraToolCalls"
	OverridePassThreshold = "passThreshold"
)

// Set reads one override from text, by the rules of the suite's field. A second
// value is refused: the last one would win in silence (grading.md 10.59).
func (o *Overrides) Set(name, text string) error {
	set := false
	switch name {
	case OverrideArguments:
		set = o.Arguments != ""
	case OverrideOrder:
		set = o.Order != ""
	case OverrideMaxExtra:
		set = o.MaxExtraSet
	case OverridePassThreshold:
		set = o.PassThreshold != nil
	default:
		return fmt.Errorf("%s cannot be overridden", predicate.Quoted(name))
	}
	if set {
		return fmt.Errorf("given twice")
	}
	switch name {
	case OverrideArguments:
		if err := word(text, argumentModes); err != nil {
			return err
		}
		o.Arguments = match.ArgumentMode(text)
	case OverrideOrder:
		if err := word(text, orders); err != nil {
			return err
		}
		o.Order = match.Order(text)
	case OverrideMaxExtra:
		if text == "any" {
			o.MaxExtraSet = true
			return nil
		}
		n, fits, whole := int64(0), false, false
		if isNumber(text) {
			n, fits, whole = value.Integer(text)
		}
		if !fits || !whole || n < 0 || n > maxExtraLimit {
			return fmt.Errorf("expected a whole number from 0 to %d, or any", maxExtraLimit)
		}
		o.MaxExtra, o.MaxExtraSet = &n, true
	case OverridePassThreshold:
		var r *big.Rat
		if isNumber(text) {
			r = exactShare(text)
		}
		if r == nil {
			return fmt.Errorf("expected a fraction from 0 to 1%s", percentHint(text))
		}
		o.PassThreshold = r
	}
	return nil
}

// isNumber tells whether text is a number as a suite can have it; a blank is none.
func isNumber(text string) bool { return coreFloat().MatchString(text) }

func word(text string, words []string) error {
	if slices.Contains(words, text) {
		return nil
	}
	return fmt.Errorf("expected %s%s", strings.Join(words, " or "), didYouMean(text, words))
}

// Override returns the suite with o set over its defaults and each of its cases.
// It names what it set in Overridden. An error means that o asks for what the
// suite does not have.
func (s *Suite) Override(o Overrides) (*Suite, error) {
	out := *s
	layer := match.Options{Arguments: o.Arguments, Order: o.Order, MaxExtra: o.MaxExtra, MaxExtraSet: o.MaxExtraSet}
	var names []string
	for _, n := range []struct {
		name string
		set  bool
	}{
		{OverrideArguments, o.Arguments != ""}, {OverrideOrder, o.Order != ""},
		{OverrideMaxExtra, o.MaxExtraSet}, {OverridePassThreshold, o.PassThreshold != nil},
	} {
		if n.set {
			names = append(names, n.name)
		}
	}
	for _, id := range o.Only {
		if err := s.has(id); err != nil {
			return nil, err
		}
		if !slices.Contains(out.Only, id) {
			out.Only = append(slices.Clone(out.Only), id)
		}
	}
	out.Match, out.Overridden = s.Match.Over(layer), names
	if o.PassThreshold != nil {
		out.PassThreshold = o.PassThreshold
	}
	out.Cases = nil
	for _, c := range s.Cases {
		c := *c
		c.Match, c.Overridden = c.Match.Over(layer), names
		if o.PassThreshold != nil {
			c.PassThreshold = o.PassThreshold
		}
		c.LeftOut = len(out.Only) > 0 && !slices.Contains(out.Only, c.ID)
		out.Cases = append(out.Cases, &c)
	}
	return &out, nil
}

// has tells whether there is a case to grade of that id.
func (s *Suite) has(id string) error {
	ids := make([]string, len(s.Cases))
	for i, c := range s.Cases {
		if ids[i] = c.ID; c.ID == id {
			if c.Disabled {
				return fmt.Errorf("the case %s is disabled in the suite", predicate.Quoted(id))
			}
			return nil
		}
	}
	if len(ids) == 0 {
		return fmt.Errorf("no case %s: the suite has no cases", predicate.Quoted(id))
	}
	hint := didYouMean(id, ids)
	if hint == "" {
		for i := range ids {
			ids[i] = predicate.Quoted(ids[i])
		}
		hint = ": the suite has " + several(ids, "the case", "the cases")
	}
	return fmt.Errorf("no case %s in the suite%s", predicate.Quoted(id), hint)
}
