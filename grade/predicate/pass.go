package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// reading is one check while the arguments and results of a trial go by: all
// checks together read each of them once, whatever their number, and only one is
// in memory at a time.
type reading struct {
	// call looks at the arguments of the call at i, result at the result at i; nil:
	// of no interest. They are called in the order of the calls and of the results,
	// a result as a rule behind its call, and at most once each.
	call   func(i int, a *sent)
	result func(i int, r *received)
	// end judges. It must be right also about what did not go by.
	end func() Outcome
}

// decided is the reading of a check that needs to see nothing.
func decided(o Outcome) *reading { return &reading{end: func() Outcome { return o }} }

// reads makes the Evaluate of a kind of its Begin.
func reads(begin func(c *Check, ev *Evidence) *reading) func(c *Check, ev *Evidence) Outcome {
	return func(c *Check, ev *Evidence) Outcome {
		r := begin(c, ev)
		ev.pass([]run{{reading: r}}, false)
		return r.end()
	}
}

// run is a check on its way through a trial.
type run struct {
	check   *Check
	reading *reading
	broke   string // what it panicked with: it is asked nothing more
}

// pass shows the arguments and results to the readings. guarded keeps a reading
// that panics from the others.
func (ev *Evidence) pass(runs []run, guarded bool) {
	var calls, results []*run
	for i := range runs {
		r := &runs[i]
		if r.reading == nil {
			continue
		}
		if r.reading.call != nil {
			calls = append(calls, r)
		}
		if r.reading.result != nil {
			results = append(results, r)
		}
	}
	next := 0
	show := func() {
		got := received{r: &ev.Results[next]}
		for _, r := range results {
			if r.broke == "" {
				r.showResult(next, &got, guarded)
			}
		}
		next++
	}
	if len(calls) > 0 {
		for i := range ev.Calls {
			c := &ev.Calls[i]
			a := sent{c: c}
			for _, r := range calls {
				if r.broke == "" {
					r.showCall(i, &a, guarded)
				}
			}
			for len(results) > 0 && next < len(ev.Results) && ev.Results[next].Seq == c.Seq && ev.Results[next].Index == c.Index {
				show()
			}
		}
	}
	for len(results) > 0 && next < len(ev.Results) {
		show()
	}
}

func (r *run) showCall(i int, a *sent, guarded bool) {
	if guarded {
		defer r.recovered()
	}
	r.reading.call(i, a)
}

func (r *run) showResult(i int, got *received, guarded bool) {
	if guarded {
		defer r.recovered()
	}
	r.reading.result(i, got)
}

func (r *run) recovered() {
	if p := recover(); p != nil {
		r.broke = brokeText(p)
	}
}

func brokeText(p any) string { return "the evaluator broke: " + fmt.Sprint(p) }

// sent are the arguments of one call, read and parsed once.
type sent struct {
	c      *CallEvidence
	read   bool
	text   []byte
	err    error
	parsed bool
	v      value.Value
	whole  error
	values int // in v
	form   subject
	formed bool
}

// argumentsText is the JSON text of the call's arguments; a call without any counts
// as {} (grading.md 1.3).
func (a *sent) argumentsText() ([]byte, error) {
	if !a.read {
		a.read = true
		if a.c.Arguments == nil {
			a.text = emptyObject
		} else {
			a.text, a.err = a.c.Arguments()
		}
	}
	return a.text, a.err
}

var emptyObject = []byte("{}")

// arguments reads the arguments whole.
func (a *sent) arguments() (v *value.Value, size int, err error) {
	if !a.parsed {
		a.parsed = true
		var text []byte
		if text, a.whole = a.argumentsText(); a.whole == nil {
			a.v, a.values, a.whole = value.ParseCount(text, value.Options{MaxDepth: maxArgumentsDepth, MaxValues: maxArgumentsValues})
			if a.whole != nil {
				a.whole = argumentsError(a.whole)
			}
		}
	}
	if a.whole != nil {
		return nil, 0, a.whole
	}
	return &a.v, len(a.text), nil
}

// received is one result, read once.
type received struct {
	r       *ToolResult
	read    bool
	content *ResultContent
	err     error

	plain  [2]string // structuredContent and json as JSON
	whole  subject   // of patterns without path
	formed bool
	parsed bool
	json   *value.Value // see ResultContent.payload
	size   int
	noJSON error

	sized    bool
	measured ResultSize
	noSize   error
}

// Size is that of the result.
func (g *received) Size() (ResultSize, error) {
	if !g.sized {
		g.sized = true
		g.measured, g.noSize = g.r.Size()
	}
	return g.measured, g.noSize
}

// Content is that of the result.
func (g *received) Content() (*ResultContent, error) {
	if !g.read {
		g.read = true
		g.content, g.err = g.r.Content()
	}
	return g.content, g.err
}

// payload is that of the content, which must have been read.
func (g *received) payload() (v *value.Value, size int, err error) {
	if !g.parsed {
		g.parsed = true
		g.json, g.size, g.noJSON = g.content.payload()
	}
	return g.json, g.size, g.noJSON
}

// texts are the text and the JSON of the content, which must have been read.
func (g *received) texts(yield func(text string) (stop bool)) {
	c := g.content
	if c.HasText && yield(c.Text) {
		return
	}
	for i, v := range [...]*value.Value{c.Structured, c.JSON} {
		if v == nil {
			continue
		}
		if g.plain[i] == "" {
			g.plain[i] = string(value.Plain(nil, v))
		}
		if yield(g.plain[i]) {
			return
		}
	}
}
