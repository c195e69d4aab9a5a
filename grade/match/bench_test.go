package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// crowd is a turn of 50 expectations and 10,000 calls to one tool, as text that is
// parsed when it is asked for: what a recording does. With shared, every expectation
// accepts most calls, and half of them more than there are: the matching has to move
// calls about.
func crowd(b *testing.B, shared bool, o Order) CaseInput {
	in := known(CaseInput{Options: Options{Order: o}})
	var t TurnInput
	for i := range 50 {
		args := fmt.Sprintf(`{"id":%d,"kind":"string"}`, i)
		if shared && i%2 == 0 {
			args = `{"kind":"string"}`
		}
		e := Expectation{Tool: "find", Args: mustParse(b, []byte(args)), Assert: -1, MinCount: 100}
		t.Expected = append(t.Expected, e)
	}
	in.Turns = []TurnInput{t}
	for i := range 10_000 {
		text := []byte(fmt.Sprintf(`{"kind":"k","id":%d,"query":%q}`, (i*7919)%50, strings.Repeat("q", 40)))
		in.Calls = append(in.Calls, Call{Tool: "find", Seq: int64(i), Index: -1, Arguments: func() (*value.Value, error) {
			v, err := value.Parse(text, value.Options{MaxDepth: 100})
			return &v, err
		}})
	}
	return in
}

// BenchmarkCase grades 50 expectations against 10,000 calls, arguments parsed anew.
func BenchmarkCase(b *testing.B) {
	for _, o := range []Order{AnyOrder, Superset, Strict} {
		for _, shared := range []bool{false, true} {
			name := string(o) + "/apart"
			if shared {
				name = string(o) + "/shared"
			}
			in := crowd(b, shared, o)
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Case(in)
				}
			})
		}
	}
}

// BenchmarkTight is the worst that was found for the matching itself: 200 expectations,
// 50,000 calls, every expectation accepts all calls from a growing point on, so that
// each settled call displaces others.
func BenchmarkTight(b *testing.B) {
	const n, calls = 200, 50_000
	rows := newSets(n, calls)
	for i := range rows {
		for c := (n - 1 - i) * calls / n; c < calls; c++ {
			rows[i].add(c)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		need := make([]int, n)
		for i := range need {
			need[i] = calls / n
		}
		p := newPairing(rows, need, calls)
		p.maximum()
		p.settle()
	}
}
