// Package match compares the tool calls that a case expects with those that were
// made: argument modes, the order of calls, and what is missing, extra, out of
// order, or called with other arguments (grading.md 2).
//
// [Case] is the one way in: a case and the calls of a trial, and out come the turns
// with their rows and findings, and the two scorers. [ArgumentsMatch] and [Differences]
// serve checks that compare arguments by themselves.
//
// It must not know recordings, sessions, checks, links or verdicts. It is pure.
package match

import "github.com/sixlink/sixlink/grade/internal/value"

// ArgumentMode says how expected arguments compare with actual ones (grading.md 2.1).
type ArgumentMode string

// The argument modes. The zero value stands for the one of the layer above.
const (
	Partial    ArgumentMode = "partial" // every top-level key of the expected object; placeholders
	Exact      ArgumentMode = "exact"   // the whole object, no placeholders
	IgnoreArgs ArgumentMode = "ignore"  // the name only
)

// Order says in which order expected calls must come (grading.md 2.2).
type Order string

// The orders. The zero value stands for the one of the layer above.
const (
	AnyOrder Order = "ignore"   // a maximum matching, free of order (grading.md 0.2.2)
	Strict   Order = "strict"   // expected i is call i
	Superset Order = "superset" // in order, with others between
)

// Options are the matcher's options of one layer, or resolved ones.
type Options struct {
	Arguments ArgumentMode
	Order     Order
	// MaxExtra is the most calls beyond the expected ones; nil: any number.
	// MaxExtraSet tells an explicit null from a layer that says nothing.
	MaxExtra    *int64
	MaxExtraSet bool
}

// Over returns the options of a more specific layer over o.
func (o Options) Over(above Options) Options {
	if above.Arguments != "" {
		o.Arguments = above.Arguments
	}
	if above.Order != "" {
		o.Order = above.Order
	}
	if above.MaxExtraSet {
		o.MaxExtra, o.MaxExtraSet = above.MaxExtra, true
	}
	return o
}

// Defaults are the options that hold where no layer says otherwise (grading.md 2.2).
func Defaults() Options { return Options{Arguments: Partial, Order: AnyOrder} }

// Expectation is an expected call.
type Expectation struct {
	Tool string
	// Args is the expected arguments object; nil compares as {}.
	Args *value.Value
	// Mode is the expectation's own argument mode; empty: that of the options.
	Mode ArgumentMode
	// MinCount is how many such calls there must be; 0 means 1, and a negative one
	// can never be met (grading.md 2.6).
	MinCount int64
	// Assert is the position of the gating toolCalledWith that it was made of, in
	// its turn's or case's list; -1 for an entry of expectedToolCalls.
	Assert int
	// Pos is where it stands in its suite; unknown when no file has it.
	Pos value.Pos
}

// Call is a call that was made. A nil Arguments is a call without arguments, which
// compares as {}. The function is called only where an expectation needs it, and
// once a matching: see [Case].
type Call struct {
	Tool      string
	Arguments func() (*value.Value, error)
	// Seq and Index name the request's record; Index is -1 outside a batch. HostOnly
	// says that the call never reached the wire (grading.md 0.1).
	Seq      int64
	Index    int
	HostOnly bool
	// Turn is the turn that the call belongs to, from 0; -1 when unknown. A case of
	// at most one turn does not read it.
	Turn int
}
