package report

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestTrendOf(t *testing.T) {
	at := func(passed, eligible int) *Point { return &Point{Passed: passed, Eligible: eligible} }
	other := func(p *Point) *Point { p.Other = true; return p }
	for _, c := range []struct {
		name   string
		points []*Point
		want   Trend
	}{
		{"one run", []*Point{at(1, 1)}, TrendTooFew},
		{"one of two runs is decided", []*Point{at(0, 0), at(1, 1)}, TrendTooFew},
		{"always passed", []*Point{at(3, 3), nil, at(1, 1)}, TrendStable},
		{"always failed", []*Point{at(0, 3), at(0, 1)}, TrendStable},
		{"lower each time", []*Point{at(3, 3), at(2, 3), at(2, 3), at(1, 3)}, TrendDown},
		{"higher each time", []*Point{at(0, 3), at(3, 3)}, TrendUp},
		{"both ways", []*Point{at(3, 3), at(0, 3), at(3, 3)}, TrendFlaky},
		{"within each run", []*Point{at(1, 2), at(2, 4)}, TrendFlaky},
		{"it asks something else since", []*Point{at(3, 3), other(at(0, 3)), at(0, 3)}, TrendStable},
		{"it asks something else in the last run", []*Point{at(3, 3), at(0, 3), other(at(3, 3))}, TrendTooFew},
		{"an undecided run says nothing", []*Point{at(3, 3), at(0, 0), at(1, 3)}, TrendDown},
	} {
		if got := trendOf(c.points); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func historyRuns(t testing.TB) []*RunPoint {
	t.Helper()
	var out []*RunPoint
	for i, ms := range []map[string][]int{
		{"down": {40, 40}, "stable": {40}, "flaky": {40}, "asks": {40}},
		{"down": {40, 600}, "stable": {40}, "flaky": {0}, "asks": {40}},
		{"down": {0, 0}, "stable": {40}, "flaky": {40}, "asks": {400}, "late": {40}},
	} {
		limits := map[string]int{"down": 100, "stable": 100, "flaky": 100, "asks": 100, "late": 100}
		if i == 2 {
			limits["asks"] = 500
		}
		list := runOf("1.4.0", ms)
		for k := range list {
			list[k].start = time.Date(2026, 11, 20+i, 9, 0, 0, 0, time.UTC)
		}
		r, err := RunOf(Of(gradeAll(t, suiteOf(t, limits), list...)), fmt.Sprintf("runs/%d.json", 9-i))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestHistoryGolden(t *testing.T) {
	runs := historyRuns(t)
	h := HistoryOf(runs)
	for _, f := range HistoryFormats() {
		var out bytes.Buffer
		if err := f.Write(&out, h, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, "history."+f.Name, out.Bytes())
		// In whatever order the files were read.
		slices.Reverse(runs)
		var again bytes.Buffer
		if err := f.Write(&again, HistoryOf(runs), Options{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), again.Bytes()) {
			t.Errorf("%s hangs on the order of the files", f.Name)
		}
	}
}

func TestHistoryMoves(t *testing.T) {
	h := HistoryOf(historyRuns(t))
	i := slices.IndexFunc(h.Cases, func(c CaseHistory) bool { return c.ID == "down" })
	c := h.Cases[i]
	if i != 0 || c.Trend != TrendDown || len(c.Moves) != 2 || c.Moves[1].Run != 2 ||
		c.Moves[1].From.String() != "response (predicateFailed)" || c.Moves[1].To.String() != "response (toolError)" || c.Moves[0].From.Link != "" {
		t.Errorf("place %d: %+v", i, c)
	}
}
