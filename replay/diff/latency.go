package diff

import (
	"fmt"
	"slices"
	"time"
)

// slowerBy is what a tool's median time must have grown by to be slower, beside the
// factor: below that the machine is measured.
const slowerBy = 10 * time.Millisecond

// times are the durations of a tool's calls, in nanoseconds: of those alone that have
// one on both sides.
type times struct{ a, b []int64 }

func (d *differ) time(q *two) {
	if d.opts.Latency <= 0 || q.a.call == nil {
		return
	}
	x, ok := q.a.call.DurationNs()
	y, ok2 := q.b.call.DurationNs()
	if !ok || !ok2 {
		return
	}
	t := d.times[q.a.call.Tool]
	if t == nil {
		t = &times{}
		d.times[q.a.call.Tool] = t
	}
	t.a, t.b = append(t.a, x), append(t.b, y)
}

// latency finds the tools that became slower.
func (d *differ) latency() {
	var names []string
	for name := range d.times {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := d.times[name]
		a, b := median(t.a), median(t.b)
		if b-a < int64(slowerBy) || float64(b) < d.opts.Latency*float64(a) {
			continue
		}
		d.add(Finding{Rule: Slower, Tool: name, Text: fmt.Sprintf("the median of %s is %s, was %s", plural(len(t.a), "call"), span(b), span(a))}, Where{})
	}
}

func median(list []int64) int64 {
	slices.Sort(list)
	n := len(list)
	if n%2 == 1 {
		return list[n/2]
	}
	return list[n/2-1]/2 + list[n/2]/2
}

// span is a duration with as many digits as matter.
func span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second / 10).String()
	case d >= time.Second:
		return d.Round(time.Second / 100).String()
	}
	return d.Round(time.Millisecond / 10).String()
}
