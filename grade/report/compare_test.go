package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
)

// The facts of grading.md 7.1.
func TestStatusOf(t *testing.T) {
	const p, f, x, i = OutcomePassed, OutcomeFailed, OutcomeAbsent, OutcomeInconclusive
	for _, c := range []struct {
		name          string
		base, compare Outcome
		changed       bool
		want          Status
	}{
		{"pass to fail", p, f, false, Regressed},
		{"pass to fail, and it asks something else", p, f, true, Regressed},
		{"fail to pass", f, p, false, Fixed},
		{"fail to pass, and it asks something else", f, p, true, Fixed},
		{"pass to pass, and it asks something else", p, p, true, Changed},
		{"pass to pass", p, p, false, StillPassed},
		{"fail to fail, and it asks something else", f, f, true, Changed},
		{"fail to fail", f, f, false, StillFailed},
		{"absent before", x, f, true, NewCase},
		{"absent now", p, x, true, RemovedCase},
		{"nothing known now", p, i, false, Undecided},
		{"nothing known before", i, f, true, Undecided},
	} {
		if got := statusOf(c.base, c.compare, c.changed); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDelta(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		d              Delta
		delta, percent *float64
	}{
		{Delta{at(-9000), at(0)}, at(9000), at(-100)}, // the sign of base is kept
		{Delta{at(40), at(50)}, at(10), at(25)},
		{Delta{at(0), at(5)}, at(5), nil},
		{Delta{nil, at(5)}, nil, nil},
		{Delta{at(5), nil}, nil, nil},
	} {
		delta, percent := c.d.Of()
		if !cmp.Equal(delta, c.delta) || !cmp.Equal(percent, c.percent) {
			t.Errorf("%v: %v %v", c.d, delta, percent)
		}
	}
}

// suiteOf makes a suite of cases, each with the most milliseconds that a call may take.
func suiteOf(t testing.TB, ms map[string]int) *grade.Suite {
	t.Helper()
	var b strings.Builder
	b.WriteString("schemaVersion: \"sixlink/1\"\nsuite: {id: shop, name: Shop}\ncases:\n")
	for _, id := range sortedKeys(ms) {
		fmt.Fprintf(&b, "  - id: %s\n    title: The case %s\n    passThreshold: 0.5\n    assertions: [{type: noToolErrors}, {type: toolLatencyUnder, ms: %d}]\n", id, id, ms[id])
	}
	s, err := grade.LoadSuite("suites/shop.yaml", []byte(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runOf makes trials: a case has as many as it has times, in milliseconds; 0 is a tool
// error, and below 0 the call is not answered.
func runOf(version string, ms map[string][]int) []made {
	var out []made
	for _, id := range sortedKeys(ms) {
		for i, n := range ms[id] {
			c := call{"find_order", `{"id":1042}`, said("order 1042"), int64(n)}
			m := made{id: fmt.Sprintf("%s-%d", id, i), labels: of(id), version: version}
			switch {
			case n == 0:
				c.result, c.ms = broke("no such order"), 20
			case n < 0:
				c.result, m.torn = "", true
			}
			m.calls = []call{c}
			out = append(out, m)
		}
	}
	return out
}

// twoRuns have a case of every status.
func twoRuns(t testing.TB) (base, now *Verdict) {
	base = Of(gradeAll(t, suiteOf(t, map[string]int{"broken": 100, "gone": 100, "healed": 100, "same": 100, "still": 100, "stricter": 100, "unknown": 100}),
		runOf("1.4.0", map[string][]int{"broken": {40, 50}, "gone": {40}, "healed": {0}, "same": {40, 0}, "still": {400}, "stricter": {40}, "unknown": {40}})...))
	now = Of(gradeAll(t, suiteOf(t, map[string]int{"broken": 100, "fresh": 100, "healed": 100, "same": 100, "still": 100, "stricter": 60, "unknown": 100}),
		runOf("1.5.0", map[string][]int{"broken": {0, 600}, "fresh": {40}, "healed": {40}, "same": {80, 80}, "still": {0}, "stricter": {50}, "unknown": {-1}})...))
	return base, now
}

func compared(t testing.TB, base, now *Verdict, g Gates) *Comparison {
	t.Helper()
	c, err := Compare(base, now, g)
	if err != nil {
		t.Fatal(err)
	}
	c.Base.Name, c.Compare.Name = "old.json", "new.json"
	return c
}

func renderCompare(t testing.TB, c *Comparison, format string) []byte {
	t.Helper()
	for _, f := range CompareFormats() {
		if f.Name == format {
			var out bytes.Buffer
			if err := f.Write(&out, c, Options{}); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
	}
	t.Fatal(format)
	return nil
}

func number64(x float64) *float64 { return &x }

// Every format of one comparison; each file was read by eye.
func TestCompareGolden(t *testing.T) {
	base, now := twoRuns(t)
	c := compared(t, base, now, Gates{FailOn: []Status{Regressed}, MaxPassRateDrop: number64(0.1), MaxP95IncreaseMs: number64(100)})
	for _, f := range CompareFormats() {
		t.Run(f.Name, func(t *testing.T) { golden(t, "compare."+f.Name, renderCompare(t, c, f.Name)) })
	}
	again := compared(t, stored(t, base), stored(t, now), Gates{FailOn: []Status{Regressed}, MaxPassRateDrop: number64(0.1), MaxP95IncreaseMs: number64(100)})
	if diff := cmp.Diff(string(renderCompare(t, c, "json")), string(renderCompare(t, again, "json"))); diff != "" {
		t.Errorf("stored verdicts compare otherwise:\n%s", diff)
	}
}

func TestCompareStatuses(t *testing.T) {
	base, now := twoRuns(t)
	c := compared(t, base, now, Gates{FailOn: []Status{Regressed}})
	got := map[string]Status{}
	for _, k := range c.Cases {
		got[k.ID] = k.Status
	}
	want := map[string]Status{"broken": Regressed, "fresh": NewCase, "gone": RemovedCase, "healed": Fixed, "same": StillPassed, "still": StillFailed, "stricter": Changed, "unknown": Undecided}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.ExitCode() != 1 || c.Gates[0].Status != GateFailed {
		t.Errorf("exit %d, %+v", c.ExitCode(), c.Gates)
	}
	if len(c.Servers) != 1 || c.Servers[0].text() != "server shop changed: version 1.4.0, then 1.5.0" {
		t.Errorf("%+v", c.Servers)
	}
}

// An analyzer of another version leaves flips as they are, and nothing else unchanged.
func TestCompareAnalyzerChanged(t *testing.T) {
	base, now := twoRuns(t)
	now.AnalyzerVersion++
	c := compared(t, base, now, Gates{MaxPassRateDrop: number64(1)})
	if c.Count(StillPassed)+c.Count(StillFailed) != 0 || c.Count(Regressed) != 1 || c.Count(Changed) != 3 {
		t.Errorf("%s", c.counts())
	}
	if c.Gates[0].Status != GateNonGateable || !strings.Contains(c.Gates[0].Text, "the analyzer changed") || c.ExitCode() != 3 {
		t.Errorf("%+v", c.Gates)
	}
}

// What no gate is asked of still may not pass where nothing is comparable.
func TestCompareNothingIsNoPass(t *testing.T) {
	base, now := twoRuns(t)
	for name, c := range map[string]*Comparison{
		"no case in common": compared(t, &Verdict{Cases: base.Cases[:1]}, &Verdict{Cases: now.Cases[1:2]}, Gates{}),
		"no case at all":    compared(t, &Verdict{}, &Verdict{}, Gates{FailOn: []Status{Regressed}}),
	} {
		if c.ExitCode() != 3 {
			t.Errorf("%s: exit %d", name, c.ExitCode())
		}
	}
	// It passed, and nobody knows whether it still does.
	var b, n *Verdict
	for i, v := range []*Verdict{base, now} {
		for _, c := range v.Cases {
			if c.ID == "unknown" || c.ID == "healed" {
				v := []**Verdict{&b, &n}[i]
				if *v == nil {
					*v = &Verdict{}
				}
				(*v).Cases = append((*v).Cases, c)
			}
		}
	}
	if c := compared(t, b, n, Gates{FailOn: []Status{Regressed}}); c.ExitCode() != 3 || c.Gates[0].Status != GateNonGateable {
		t.Errorf("%+v", c.Gates)
	}
}

func TestCompareGates(t *testing.T) {
	times := func(passed, failed, ms int) []int {
		out := make([]int, 0, passed+failed)
		for range passed {
			out = append(out, ms)
		}
		for range failed {
			out = append(out, 0)
		}
		return out
	}
	run := func(list []int) *Verdict {
		return Of(gradeAll(t, suiteOf(t, map[string]int{"a": 1000}), runOf("1", map[string][]int{"a": list})...))
	}
	drop := func(limit float64) Gates { return Gates{MaxPassRateDrop: &limit} }
	p95 := func(limit float64) Gates { return Gates{MaxP95IncreaseMs: &limit} }
	for _, c := range []struct {
		name      string
		base, now []int
		g         Gates
		want      GateStatus
		exit      int
		text      string
	}{
		{"no drop", times(8, 2, 40), times(9, 1, 40), drop(0), GatePassed, 0, "pass rate 0.8, then 0.9"},
		{"a large drop of many", times(20, 0, 40), times(5, 15, 40), drop(0.1), GateFailed, 1, "a drop of 0.75"},
		{"a drop of exactly the limit", times(10, 0, 40), times(9, 1, 40), drop(0.1), GatePassed, 0, "limit 0.1"},
		{"a drop that chance may explain", times(6, 0, 40), times(5, 1, 40), drop(0.1), GateNonGateable, 3, "chance may explain it"},
		{"too few trials", times(4, 0, 40), times(0, 4, 40), drop(0.1), GateNonGateable, 3, "at least 5 are needed"},
		{"not as many trials", times(10, 0, 40), times(9, 0, 40), drop(0.1), GateNonGateable, 3, "case a has 10 trials, then 9"},
		{"slower by less than the limit", times(10, 0, 40), times(10, 0, 60), p95(20), GatePassed, 0, "p95 of the calls' latency 40.0 ms, then 60.0 ms: +20.0 ms"},
		{"slower by more", times(10, 0, 40), times(10, 0, 61), p95(20), GateFailed, 1, "+21.0 ms"},
		{"too few calls", times(3, 0, 40), times(3, 0, 40), p95(20), GateNonGateable, 3, "too few calls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := compared(t, run(c.base), run(c.now), c.g)
			if g := r.Gates[0]; g.Status != c.want || r.ExitCode() != c.exit || !strings.Contains(g.Text, c.text) {
				t.Errorf("exit %d, %+v", r.ExitCode(), g)
			}
		})
	}
}

func TestNewcombe(t *testing.T) {
	// By hand: 20 of 20 is 0.839 to 1, 5 of 20 is 0.112 to 0.469 (Wilson).
	low, high, ok := grade.Newcombe(20, 20, 5, 20)
	if !ok || math.Abs(low+0.888) > 0.001 || math.Abs(high+0.4784) > 0.001 {
		t.Errorf("%v %v %v", low, high, ok)
	}
	if _, _, ok := grade.Newcombe(0, 0, 1, 2); ok {
		t.Error("an empty side has an interval")
	}
}

func TestCompareReadBack(t *testing.T) {
	base, now := twoRuns(t)
	c := compared(t, base, now, Gates{FailOn: []Status{Regressed}, MaxP95IncreaseMs: number64(100)})
	r := readJUnit(t, renderCompare(t, c, "junit"))
	failed := []string{}
	for _, k := range r.Suites[0].Cases {
		if k.Failure != nil {
			failed = append(failed, k.Name)
		}
	}
	if strings.Join(failed, ", ") != "broken: The case broken, gate: fail-on, gate" {
		t.Errorf("%v", failed)
	}
	log := readSARIF(t, sarifSchema(t), renderCompare(t, c, "sarif"))
	if n := len(log.Runs[0].Results); n != 4 { // regressed, undecided, and two gates
		t.Errorf("%d results", n)
	}
	var doc map[string]any
	if err := json.Unmarshal(renderCompare(t, c, "json"), &doc); err != nil || doc["schema"] != CompareSchema || doc["verdict"] != "failed" {
		t.Errorf("%v %v", err, doc["verdict"])
	}
}

// Costs are known where each trial tells its model and tokens, and each model has a price.
func TestCompareCosts(t *testing.T) {
	run := func(model string, input, output int64) *Verdict {
		v := Of(gradeAll(t, suiteOf(t, map[string]int{"a": 1000}), runOf("1", map[string][]int{"a": {40, 40}})...))
		each := v.Cases[0].each
		v.Cases[0].each = func(do func(*Trial) error) error {
			return each(func(t *Trial) error {
				t.Facts.Model, t.Facts.Tokens = model, &predicate.Usage{Input: input, Output: output, Total: -1}
				return do(t)
			})
		}
		return v
	}
	prices, err := ReadPrices([]byte(`{"m": {"input": 2, "output": 10}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := compared(t, run("m", 1e6, 1e5), run("m", 2e6, 1e5), Gates{Prices: prices})
	if *c.Cases[0].Cost.Base != 3 || *c.Cases[0].Cost.Compare != 5 || *c.Cost.Compare != 5 || *c.Tokens.Base != 1.1e6 {
		t.Errorf("%+v", c.Cases[0])
	}
	for name, c := range map[string]*Comparison{
		"no price of it": compared(t, run("m", 1, 1), run("n", 1, 1), Gates{Prices: prices}),
		"no prices":      compared(t, run("m", 1, 1), run("m", 1, 1), Gates{}),
		"no output":      compared(t, run("m", 1, 1), run("m", 1, -1), Gates{Prices: prices}),
	} {
		if delta, _ := c.Cost.Of(); delta != nil {
			t.Errorf("%s: %v", name, *delta)
		}
	}
	for _, bad := range []string{`{"m": {"input": -1, "output": 0}}`, `{"m": {"in": 1}}`, `[]`, ``} {
		if _, err := ReadPrices([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestServerChange(t *testing.T) {
	for _, c := range []struct {
		s    ServerChange
		want string
	}{
		{ServerChange{"a", []string{"1"}, []string{"1"}, []string{"0123456789abcdef"}, []string{"x", "y", "z", "zz"}}, "server a changed: catalog 0123456789ab, then x, y, z, 1 more"},
		{ServerChange{Server: "", CompareVersions: []string{"2"}}, "server (no name) was not there before"},
		{ServerChange{Server: "a\x1b", BaseCatalogs: []string{"2"}}, `server a\u001b is no longer there`},
	} {
		if got := c.s.text(); got != c.want {
			t.Errorf("%s", got)
		}
	}
}
