package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/visible"
)

// HistorySchema names the shape of a history's JSON.
const HistorySchema = "sixlink/history/1"

// Trend is what a case's pass rate does over runs that asked the same of it.
type Trend string

// The trends, by fixed rules. Of the runs since the case last asked something else:
// tooFew, fewer than two are decided; flaky, one passed and failed within itself at an
// unchanged rate, or the rate went both ways; down and up, it went one way; stable, it never
// changed.
const (
	TrendTooFew Trend = "tooFewRuns"
	TrendStable Trend = "stable"
	TrendFlaky  Trend = "flaky"
	TrendDown   Trend = "trendingDown"
	TrendUp     Trend = "trendingUp"
)

var trendWords = map[Trend]string{TrendTooFew: "too few runs", TrendStable: "stable", TrendFlaky: "flaky", TrendDown: "trending down", TrendUp: "trending up"}

// trendOrder is the order in which cases are shown: what wants a look first.
var trendOrder = []Trend{TrendDown, TrendFlaky, TrendUp, TrendTooFew, TrendStable}

// RunPoint is one run.
type RunPoint struct {
	// Name is the file, for people; in no JSON.
	Name                     string
	SuiteID, SuiteHash       string
	AnalyzerVersion          int
	At                       int64 // when its newest trial began, nanoseconds since 1970; 0: not known
	Word                     grade.Word
	Passed, Eligible, Trials int // of the cases that count
	cases                    map[string]*casePoint
	order                    []string
}

// casePoint is a case in one run.
type casePoint struct {
	title      string
	word       grade.Word
	figures    figures
	configHash string
}

// Point is a case in a run of the history; nil where the run does not have it.
type Point struct {
	Word                     grade.Word
	Passed, Eligible, Trials int
	FirstBreak               BreakAt
	// Other says that the case asks something else than in its run before, or the
	// analyzer is another.
	Other bool
}

// Rate is the pass rate; nil: not measured.
func (p *Point) Rate() *float64 {
	if p == nil || p.Eligible == 0 {
		return nil
	}
	r := float64(p.Passed) / float64(p.Eligible)
	return &r
}

// Move is a change of where a case breaks first.
type Move struct {
	Run      int // in History.Runs
	From, To BreakAt
}

// CaseHistory is a case over the runs.
type CaseHistory struct {
	SuiteID, ID, Title string
	Trend              Trend
	Points             []*Point // a run each
	Moves              []Move
}

// History is what became of cases over runs, the oldest first.
type History struct {
	Runs  []RunPoint
	Cases []CaseHistory
}

// RunOf sums up a run for a history; nothing of the verdict is kept.
func RunOf(v *Verdict, name string) (*RunPoint, error) {
	r := &RunPoint{Name: name, SuiteID: v.SuiteID, SuiteHash: v.SuiteHash, AnalyzerVersion: v.AnalyzerVersion, Word: v.Word, cases: map[string]*casePoint{}}
	for _, c := range v.Cases {
		p := &casePoint{title: c.Title, word: c.Word, configHash: cmp.Or(c.ConfigHash, v.SuiteHash)}
		err := c.Each(func(t *Trial) error {
			p.figures.add(t)
			return nil
		})
		if err != nil {
			return nil, err
		}
		p.figures.latency = grade.Latencies{} // a history does not show it
		r.At = max(r.At, p.figures.newest)
		if c.Counted {
			r.Passed, r.Eligible, r.Trials = r.Passed+p.figures.passed, r.Eligible+p.figures.eligible(), r.Trials+p.figures.trials()
		}
		if r.cases[c.ID] == nil {
			r.order = append(r.order, c.ID)
		}
		r.cases[c.ID] = p
	}
	return r, nil
}

// HistoryOf puts runs in order, by when their newest trial began and then by name, and
// says what each case did.
func HistoryOf(runs []*RunPoint) *History {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *RunPoint) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name)) })
	h := &History{}
	type key struct{ suite, id string }
	var order []key
	seen := map[key]bool{}
	for _, r := range runs {
		h.Runs = append(h.Runs, *r)
		for _, id := range r.order {
			if k := (key{r.SuiteID, id}); !seen[k] {
				seen[k] = true
				order = append(order, k)
			}
		}
	}
	for _, k := range order {
		c := CaseHistory{SuiteID: k.suite, ID: k.id, Points: make([]*Point, len(runs))}
		c.fill(runs)
		h.Cases = append(h.Cases, c)
	}
	slices.SortStableFunc(h.Cases, func(a, b CaseHistory) int {
		return cmp.Compare(slices.Index(trendOrder, a.Trend), slices.Index(trendOrder, b.Trend))
	})
	return h
}

func (c *CaseHistory) fill(runs []*RunPoint) {
	var last *Point
	var lastCase *casePoint
	lastAnalyzer := 0
	for i, r := range runs {
		f := r.cases[c.ID]
		if f == nil || r.SuiteID != c.SuiteID {
			continue
		}
		c.Title = f.title
		p := &Point{Word: f.word, Passed: f.figures.passed, Eligible: f.figures.eligible(), Trials: f.figures.trials(), FirstBreak: f.figures.usualBreak()}
		p.Other = last != nil && (f.configHash != lastCase.configHash || r.AnalyzerVersion != lastAnalyzer)
		if last != nil && last.FirstBreak != p.FirstBreak && p.Trials > 0 && last.Trials > 0 {
			c.Moves = append(c.Moves, Move{Run: i, From: last.FirstBreak, To: p.FirstBreak})
		}
		c.Points[i] = p
		last, lastCase, lastAnalyzer = p, f, r.AnalyzerVersion
	}
	c.Trend = trendOf(c.Points)
}

// trendOf is the trend of the points since the last that asks something else.
func trendOf(points []*Point) Trend {
	var rates []float64
	mixed := false
	for _, p := range points {
		if p != nil && p.Other {
			rates, mixed = nil, false
		}
		if r := p.Rate(); r != nil {
			rates = append(rates, *r)
			mixed = mixed || *r > 0 && *r < 1
		}
	}
	up, down := false, false
	for i := 1; i < len(rates); i++ {
		up, down = up || rates[i] > rates[i-1], down || rates[i] < rates[i-1]
	}
	switch {
	case len(rates) < 2:
		return TrendTooFew
	case up && down:
		return TrendFlaky
	case down:
		return TrendDown
	case up:
		return TrendUp
	case mixed:
		return TrendFlaky
	}
	return TrendStable
}

// HistoryFormat is one way to show a history.
type HistoryFormat struct {
	Name  string
	Write func(w io.Writer, h *History, o Options) error
}

// HistoryFormats are those of this package.
func HistoryFormats() []HistoryFormat {
	return []HistoryFormat{{"text", HistoryText}, {"json", HistoryJSON}, {"markdown", HistoryMarkdown}}
}

// maxShownRuns bounds the runs of a line or a table: the newest.
const maxShownRuns = 10

// shownFrom is the first run that is shown.
func (h *History) shownFrom() int { return max(0, len(h.Runs)-maxShownRuns) }

func (r *RunPoint) when() string {
	if r.At == 0 {
		return "no date"
	}
	return day(r.At)
}

// runName numbers a run as text does: from 1, the oldest.
func runName(i int) string { return fmt.Sprintf("run %d", i+1) }

// pointText is a rate, with a bar before it where the case began to ask something else.
func pointText(p *Point) string {
	s := "."
	switch {
	case p == nil:
	case p.Rate() == nil:
		s = "?"
	default:
		s = decimals(*p.Rate())
	}
	if p != nil && p.Other {
		s = "|" + s
	}
	return s
}

// manySuites says that suites must be named.
func (h *History) manySuites() bool {
	for i := range h.Runs {
		if h.Runs[i].SuiteID != h.Runs[0].SuiteID {
			return true
		}
	}
	return false
}

// HistoryText writes the history for people: the runs, then the cases, those that want a
// look first.
func HistoryText(w io.Writer, h *History, o Options) error {
	p := &printer{w: w, color: o.Color}
	from := h.shownFrom()
	if from > 0 {
		p.line("%s before these", plural(from, "run"))
	}
	for i := from; i < len(h.Runs); i++ {
		r := &h.Runs[i]
		suite := ""
		if h.manySuites() {
			suite = ", suite " + visible.String(r.SuiteID)
		}
		p.hanging(string(r.Word), fmt.Sprintf("%s, %s: %s, %d of %d passed%s, %s", runName(i), r.when(), r.Word, r.Passed, r.Eligible, suite, visible.String(r.Name)))
	}
	p.line("")
	p.line("Pass rates, the newest run last. ? not decided  . not in the run")
	p.line("| the case asks something else, or the analyzer is another, from here on")
	for i := range h.Cases {
		c := &h.Cases[i]
		name := visible.String(c.ID)
		if h.manySuites() {
			name = visible.String(c.SuiteID) + "/" + name
		}
		var points []string
		for _, pt := range c.Points[from:] {
			points = append(points, fmt.Sprintf("%5s", pointText(pt)))
		}
		p.line("")
		p.line("%s  %s", p.paint(trendColor[c.Trend], pad(trendWords[c.Trend], 13)), short(strings.TrimSpace(name+"  "+visible.String(c.Title)), width-15))
		p.line("  %s", strings.Join(points, " "))
		for _, m := range c.Moves[max(0, len(c.Moves)-maxShownMoves):] {
			p.wrapped("  ", fmt.Sprintf("first break in %s (%s): %s, before: %s", runName(m.Run), h.Runs[m.Run].when(), m.To, m.From))
		}
	}
	return p.err
}

// maxShownMoves bounds the moves that are shown of a case: the newest.
const maxShownMoves = 5

var trendColor = map[Trend]string{TrendDown: "failed", TrendFlaky: "inconclusive", TrendUp: "passed", TrendStable: "passed"}

// HistoryMarkdown writes the history as a table.
func HistoryMarkdown(w io.Writer, h *History, _ Options) error {
	m := &mdWriter{w: w}
	from := h.shownFrom()
	m.line("## sixlink history: %s", plural(len(h.Runs), "run"))
	m.line("")
	head := "| trend | case |"
	for i := from; i < len(h.Runs); i++ {
		head += fmt.Sprintf(" %d: %s |", i+1, h.Runs[i].when())
	}
	m.line("%s last move of the first break |", head)
	m.line("|---|---|%s---|", strings.Repeat("--:|", len(h.Runs)-from))
	for k := range h.Cases {
		if k == mdCases {
			m.line("| | and %s more |", plural(len(h.Cases)-k, "case"))
			break
		}
		c := &h.Cases[k]
		name := c.ID
		if h.manySuites() {
			name = c.SuiteID + "/" + name
		}
		line := fmt.Sprintf("| %s | %s |", trendWords[c.Trend], cell(code(name)))
		for _, p := range c.Points[from:] {
			line += " " + cell(pointText(p)) + " |"
		}
		move := ""
		if n := len(c.Moves); n > 0 {
			last := c.Moves[n-1]
			move = fmt.Sprintf("%s: %s, before: %s", runName(last.Run), last.To, last.From)
		}
		m.line("%s %s |", line, move)
	}
	return m.err
}

// HistoryJSON writes the history by its schema.
func HistoryJSON(w io.Writer, h *History, _ Options) error {
	j := &writer{w: w}
	j.object(func() {
		j.key("schema").text(HistorySchema)
		j.key("runs").array(len(h.Runs), func(i int) {
			r := &h.Runs[i]
			j.object(func() {
				j.key("suite").object(func() {
					j.key("id").text(r.SuiteID)
					j.key("hash").text(r.SuiteHash)
				})
				j.key("analyzerVersion").num(int64(r.AnalyzerVersion))
				jsonTime(j, "at", r.At)
				j.key("verdict").text(string(r.Word))
				j.key("passed").num(int64(r.Passed))
				j.key("eligible").num(int64(r.Eligible))
				j.key("trials").num(int64(r.Trials))
			})
		})
		j.key("cases").array(len(h.Cases), func(i int) {
			c := &h.Cases[i]
			j.object(func() {
				j.key("suite").text(c.SuiteID)
				j.key("id").text(c.ID)
				j.key("title").maybe(c.Title)
				j.key("trend").text(string(c.Trend))
				j.key("points").array(len(c.Points), func(k int) { jsonPoint(j, c.Points[k]) })
				j.key("moves").array(len(c.Moves), func(k int) {
					j.object(func() {
						j.key("run").num(int64(c.Moves[k].Run))
						jsonBreak(j, "from", c.Moves[k].From)
						jsonBreak(j, "to", c.Moves[k].To)
					})
				})
			})
			if len(j.out) > flushSize {
				j.flush()
			}
		})
	})
	j.out = append(j.out, '\n')
	j.flush()
	return j.err
}

func jsonPoint(j *writer, p *Point) {
	if p == nil {
		j.raw("null")
		return
	}
	j.object(func() {
		j.key("verdict").text(string(p.Word))
		j.key("passed").num(int64(p.Passed))
		j.key("eligible").num(int64(p.Eligible))
		j.key("trials").num(int64(p.Trials))
		j.key("passRate").float(p.Rate())
		jsonBreak(j, "firstBreak", p.FirstBreak)
		j.key("asksOther").flag(p.Other)
	})
}

// jsonBreak writes where most trials broke first; null: nowhere.
func jsonBreak(j *writer, name string, b BreakAt) {
	if b.Link == "" {
		j.key(name).raw("null")
		return
	}
	j.key(name).object(func() {
		j.key("link").text(string(b.Link))
		j.key("reason").text(string(b.Reason))
	})
}
