package grade

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// The 95th percentile is interpolated at (n-1)·0.95 (grading.md 7.2).
func TestPercentile(t *testing.T) {
	one := func(ns ...int64) Latency { return latencyOf(ns) }
	for name, c := range map[string]struct {
		list  []Latency
		share float64
		want  float64
	}{
		"one value":              {[]Latency{one(7)}, 0.95, 7},
		"two values":             {[]Latency{one(10), one(20)}, 0.95, 19.5},
		"the median of four":     {[]Latency{one(4, 1), one(3, 2)}, 0.5, 2.5},
		"twenty-one values":      {[]Latency{one(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)}, 0.95, 20},
		"equal values of trials": {[]Latency{one(5, 5), one(5)}, 0.95, 5},
	} {
		var l Latencies
		for _, x := range c.list {
			l.Add(x)
		}
		if got, ok := l.Percentile(c.share); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if _, ok := (&Latencies{}).Percentile(0.5); ok {
		t.Error("nothing has a percentile")
	}
}

// What is kept of many calls stands for all of them.
func TestManyLatencies(t *testing.T) {
	var l Latencies
	n := int64(0)
	for range 400 {
		ns := make([]int64, 1000)
		for i := range ns {
			ns[i] = (n*7919 + 13) % 400_000 // each value once
			n++
		}
		l.Add(latencyOf(ns))
	}
	if l.Count() != 400_000 || l.values > maxMerged {
		t.Fatalf("%d calls, %d values", l.Count(), l.values)
	}
	for _, share := range []float64{0, 0.5, 0.95, 1} {
		if got, _ := l.Percentile(share); math.Abs(got-share*400_000) > 4000 {
			t.Errorf("%v: %v", share, got)
		}
	}
}

// The hash of a catalog is that of its tools, whatever their order and spelling.
func TestCatalogHash(t *testing.T) {
	list := func(raw ...string) *catalog.List {
		l := &catalog.List{State: catalog.Complete}
		for _, r := range raw {
			l.Tools = append(l.Tools, catalog.Tool{Raw: []byte(r)})
		}
		return l
	}
	var h catalogHashes
	one := h.hash(list(`{"name":"a","n":1.0}`, `{"name":"b"}`))
	for name, c := range map[string]struct {
		l    *catalog.List
		same bool
	}{
		"the same":         {list(`{"name":"a","n":1.0}`, `{"name":"b"}`), true},
		"another order":    {list(`{"name":"b"}`, `{"name":"a","n":1.0}`), true},
		"another spelling": {list(`{ "n": 1, "name": "\u0061" }`, `{"name":"b"}`), true},
		"another value":    {list(`{"name":"a","n":2}`, `{"name":"b"}`), false},
		"a tool fewer":     {list(`{"name":"a","n":1.0}`), false},
		"a tool twice":     {list(`{"name":"a","n":1.0}`, `{"name":"b"}`, `{"name":"b"}`), false},
		"no JSON":          {list(`{"name":"a","n":1.0}`, `{"name":`), false},
	} {
		for range 2 { // computed, then remembered
			if got := h.hash(c.l); (got == one) != c.same || len(got) != 64 {
				t.Errorf("%s: %s, %s", name, got, one)
			}
		}
	}
}

// What a trial was made with goes through the spool as it is.
func TestFactsInTheSpool(t *testing.T) {
	f := Facts{StartedAt: 1764500000000000001, DurationNs: 5, Host: "h\xff", HostVersion: "1", Model: "m", Calls: 3, ResultBytes: 99,
		Servers: []ServerFacts{{"k", "n", "v", "c", 2}, {}}, Latency: latencyOf([]int64{3, 1, 2}), Tokens: &predicate.Usage{Input: 1, Output: -1, Total: 5}}
	for _, want := range []Facts{f, {}} {
		var s shelf
		r := reader{b: string(s.putFacts(nil, &want))}
		if diff := cmp.Diff(want, s.readFacts(&r)); diff != "" || r.bad || r.b != "" {
			t.Error(diff)
		}
	}
}

// A case asks the same when all that decides is the same.
func TestConfigHash(t *testing.T) {
	load := func(cases string) *Suite {
		s, err := LoadSuite("s.yaml", []byte("schemaVersion: sixlink/1\nsuite: {id: s, name: S}\ndefaults: {assertions: [{type: noToolErrors}]}\ncases:\n  - "+cases), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hash := func(cases string) string { s := load(cases); return s.configHash(s.Cases[0]) }
	one := hash(`{id: a, title: A, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}`)
	for name, c := range map[string]struct {
		cases string
		same  bool
	}{
		"another title":            {`{id: a, title: B, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {b: 2, a: 1.0}}]}]}`, true},
		"another match":            {`{id: a, title: A, match: {prompt: p}, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}`, true},
		"other arguments":          {`{id: a, title: A, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 3}}]}]}`, false},
		"another prompt":           {`{id: a, title: A, turns: [{prompt: q, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}`, false},
		"another threshold":        {`{id: a, title: A, passThreshold: 0.5, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}`, false},
		"a check fewer":            {`{id: a, title: A, assertions: [], turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}`, false},
		"another order":            {`{id: a, title: A, matchOptions: {toolCallOrder: strict}, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}`, false},
		"other cases beside it":    {`{id: a, title: A, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}` + "\n  - {id: z, title: Z}", true},
		"no call, a negative case": {`{id: a, title: A, isNegativeTest: true, turns: [{prompt: p}]}`, false},
	} {
		if got := hash(c.cases); (got == one) != c.same || len(got) != 64 {
			t.Errorf("%s: %s, %s", name, got, one)
		}
	}
	s := load(`{id: a, title: A, turns: [{prompt: p, expectedToolCalls: [{toolName: t, arguments: {a: 1, b: 2}}]}]}`)
	var o Overrides
	if err := o.Set(OverridePassThreshold, "0.25"); err != nil {
		t.Fatal(err)
	}
	over, err := s.Override(o)
	if err != nil {
		t.Fatal(err)
	}
	if over.configHash(over.Cases[0]) == one {
		t.Error("an override of the run asks the same")
	}
}
