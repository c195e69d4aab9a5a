package predicate

import (
	"fmt"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
)

// Every row of the vectors gives the same outcome to the byte, 20 times in other
// orders, with one cache of schemas for all of them.
func TestVectorsInAnyOrder(t *testing.T) {
	type row struct {
		name  string
		check *Check
		tr    *transcript
	}
	var rows []row
	eachVector(t, func(name string, c *Check, tr *transcript) { rows = append(rows, row{name, c, tr}) })
	if len(rows) < 45 {
		t.Fatalf("%d rows", len(rows))
	}
	cache := &Schemas{}
	want := map[string]string{}
	for r := range fixtures.Shuffled(rows) {
		ev := r.tr.adapt()
		ev.Schemas = cache
		key := fmt.Sprintf("%s: %p", r.name, r.check)
		got := fmt.Sprintf("%+v", Evaluate(r.check, ev))
		if w, ok := want[key]; ok && w != got {
			t.Errorf("%s, %s: %s, it was %s", r.name, r.check.Info.Name, got, w)
		}
		want[key] = got
	}
}
