package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/visible"
)

// MatrixSchema names the shape of a matrix's JSON.
const MatrixSchema = "sixlink/matrix/1"

// By says what trials are grouped by: "host", "model", "server" or "label:KEY".
type By string

// ParseBy reads what a command line says.
func ParseBy(text string) (By, error) {
	if key, is := strings.CutPrefix(text, "label:"); is && key != "" || text == "host" || text == "model" || text == "server" {
		return By(text), nil
	}
	return "", errors.New("expected host, model, server or label:KEY")
}

// unknownGroup is the group of trials of which nobody says it.
const unknownGroup = "(unknown)"

// of is the group of a trial. A label of the name counts more than what was found.
func (b By) of(t *Trial) string {
	if key, is := strings.CutPrefix(string(b), "label:"); is {
		return cmp.Or(t.Labels[key], unknownGroup)
	}
	f := &t.Facts
	switch b {
	case "host":
		return cmp.Or(t.Labels["host"], f.Host, unknownGroup)
	case "model":
		return cmp.Or(t.Labels["model"], f.Model, unknownGroup)
	}
	var names []string
	for i := range f.Servers {
		s := &f.Servers[i]
		names = append(names, strings.TrimSpace(cmp.Or(s.Key, s.Name, unknownGroup)+" "+s.Version))
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(slices.Compact(names), " + "), unknownGroup)
}

// Cell is what one group did in one case, or in all of them. Figures are nil where they
// were not measured.
type Cell struct {
	Trials, Passed, Eligible int
	// Dots are the verdicts of the first trials, in order, at most 19.
	Dots     []grade.Word
	PassRate *float64
	MedianMs *float64 // of the calls' latency
	Tokens   *float64 // the mean of a trial
	// LongestNs is how long the longest trial took.
	LongestNs int64
}

func cellOf(f *figures) *Cell {
	if f == nil || f.trials() == 0 {
		return nil
	}
	return &Cell{Trials: f.trials(), Passed: f.passed, Eligible: f.eligible(), Dots: f.dots, PassRate: f.rate(),
		MedianMs: f.latencyMs(0.5), Tokens: f.tokensPerTrial(), LongestNs: f.longestNs}
}

// Group is one column of the matrix.
type Group struct {
	Name string
	// All are its trials in the cases that count.
	All *Cell
	// Newest is when its newest trial began, nanoseconds since 1970; 0: not known.
	Newest int64
	// Historical says that no newer run has it.
	Historical bool
}

// MatrixRow is a case with a cell a group; nil: the group has no trial of it.
type MatrixRow struct {
	ID, Title string
	Counted   bool
	Cells     []*Cell
}

// Matrix is what each group did in each case.
type Matrix struct {
	By     By
	Groups []Group
	Rows   []MatrixRow
	// MeanPassRate is the mean of the groups' pass rates, each group counting once, and
	// LongestNs their longest trial. Historical groups are in neither.
	MeanPassRate *float64
	LongestNs    int64
}

// maxGroups bounds the groups that are told apart.
const (
	maxGroups   = 500
	otherGroups = "(others)"
)

// MatrixOf groups the trials of verdicts, the newest run last: a group is shown as the
// newest run has it that has the group at all.
func MatrixOf(by By, runs ...*Verdict) (*Matrix, error) {
	type column struct {
		run   int // the newest that has it
		all   *figures
		cases map[string]*figures
	}
	columns := map[string]*column{}
	titles := map[string]*Case{}
	var order []string
	for run, v := range runs {
		for _, c := range v.Cases {
			if titles[c.ID] == nil {
				order = append(order, c.ID)
			}
			titles[c.ID] = c
			err := c.Each(func(t *Trial) error {
				name := by.of(t)
				if columns[name] == nil && len(columns) >= maxGroups {
					name = otherGroups
				}
				k := columns[name]
				if k == nil || k.run != run {
					k = &column{run, &figures{}, map[string]*figures{}}
					columns[name] = k
				}
				if k.cases[c.ID] == nil {
					k.cases[c.ID] = &figures{}
				}
				k.cases[c.ID].add(t)
				if c.Counted {
					k.all.add(t)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	m := &Matrix{By: by}
	sum, of := 0.0, 0
	names := sortedKeys(columns)
	for _, name := range names {
		k := columns[name]
		g := Group{Name: name, All: cellOf(k.all), Newest: k.all.newest, Historical: k.run < len(runs)-1}
		for _, f := range k.cases {
			g.Newest = max(g.Newest, f.newest)
		}
		if !g.Historical && g.All != nil {
			m.LongestNs = max(m.LongestNs, g.All.LongestNs)
			if g.All.PassRate != nil {
				sum, of = sum+*g.All.PassRate, of+1
			}
		}
		m.Groups = append(m.Groups, g)
	}
	if of > 0 {
		mean := sum / float64(of)
		m.MeanPassRate = &mean
	}
	for _, id := range order {
		row := MatrixRow{ID: id, Title: titles[id].Title, Counted: titles[id].Counted}
		for _, name := range names {
			row.Cells = append(row.Cells, cellOf(columns[name].cases[id]))
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

// MatrixFormat is one way to show a matrix.
type MatrixFormat struct {
	Name  string
	Write func(w io.Writer, m *Matrix, o Options) error
}

// MatrixFormats are those of this package.
func MatrixFormats() []MatrixFormat {
	return []MatrixFormat{{"text", MatrixText}, {"json", MatrixJSON}, {"markdown", MatrixMarkdown}}
}

// label is the group's name, and that it is history.
func (g *Group) label() string {
	s := visible.String(g.Name)
	if g.Historical {
		s += " (historical"
		if g.Newest > 0 {
			s += ", " + day(g.Newest)
		}
		s += ")"
	}
	return s
}

func day(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02") }

// MatrixText writes the matrix for people, both ways round: each case with its groups,
// then each group with its cases.
func MatrixText(w io.Writer, m *Matrix, o Options) error {
	p := &printer{w: w, color: o.Color}
	room := 0
	for i := range m.Groups {
		room = max(room, columns(m.Groups[i].label()))
	}
	for i := range m.Rows {
		room = max(room, columns(visible.String(m.Rows[i].ID)))
	}
	room = max(min(room, 28), columns(allThatCount))
	p.line("By %s. + passed  X failed  ? inconclusive", short(visible.String(string(m.By)), 40))
	p.line("Rate is the pass rate, median that of the calls' latency, tokens a trial's mean.")
	p.line("")
	p.line("  %s  %-20s %6s %9s %9s %9s", pad("", room), "trials", "rate", "median", "tokens", "longest")
	for i := range m.Rows {
		r := &m.Rows[i]
		if i > 0 {
			p.line("")
		}
		p.line("%s", short(strings.TrimSpace("case "+visible.String(r.ID)+"  "+visible.String(r.Title)), width))
		for k, c := range r.Cells {
			p.cell(m.Groups[k].label(), room, c)
		}
	}
	for i := range m.Groups {
		g := &m.Groups[i]
		p.line("")
		p.line("%s %s", strings.SplitN(visible.String(string(m.By)), ":", 2)[0], g.label())
		for k := range m.Rows {
			p.cell(visible.String(m.Rows[k].ID), room, m.Rows[k].Cells[i])
		}
		p.cell(allThatCount, room, g.All)
	}
	p.line("")
	if m.MeanPassRate != nil {
		p.line("%s: mean pass rate %s, longest trial %s", plural(m.current(), "group"), decimals(*m.MeanPassRate), duration(float64(m.LongestNs)))
	} else {
		p.line("%s: nothing was decided", plural(m.current(), "group"))
	}
	return p.err
}

// current is how many groups are no history.
func (m *Matrix) current() int {
	n := 0
	for i := range m.Groups {
		if !m.Groups[i].Historical {
			n++
		}
	}
	return n
}

// allThatCount names the row of sums.
const allThatCount = "all that count"

func (p *printer) cell(name string, room int, c *Cell) {
	name = pad(short(name, room), room)
	if c == nil {
		p.line("  %s  –", name)
		return
	}
	var dots strings.Builder
	for _, d := range c.Dots {
		dots.WriteString(p.paint(string(d), dotMarks[d]))
	}
	shown := len(c.Dots)
	if c.Trials > shown {
		dots.WriteString("…")
		shown++
	}
	p.line("  %s  %s%s %6s %9s %9s %9s", name, dots.String(), strings.Repeat(" ", max(0, maxDots-shown)), rateText(c), orDash(c.MedianMs, milliseconds), orDash(c.Tokens, number), duration(float64(c.LongestNs)))
}

var dotMarks = map[grade.Word]string{grade.Passed: "+", grade.Failed: "X", grade.Inconclusive: "?"}

func rateText(c *Cell) string { return orDash(c.PassRate, decimals) }

func orDash(x *float64, show func(float64) string) string {
	if x == nil {
		return "–"
	}
	return show(*x)
}

// MatrixMarkdown writes the matrix as a table, a row a case.
func MatrixMarkdown(w io.Writer, m *Matrix, o Options) error {
	mw := &mdWriter{w: w}
	mw.line("## sixlink by %s", code(string(m.By)))
	mw.line("")
	head := "| case |"
	for i := range m.Groups {
		head += " " + cell(code(m.Groups[i].label())) + " |"
	}
	mw.line("%s", head)
	mw.line("|---|%s", strings.Repeat("---|", len(m.Groups)))
	row := func(name string, cells func(i int) *Cell) {
		line := "| " + name + " |"
		for i := range m.Groups {
			c := cells(i)
			if c == nil {
				line += " – |"
				continue
			}
			marks := ""
			for _, d := range c.Dots {
				marks += map[grade.Word]string{grade.Passed: "✅", grade.Failed: "❌", grade.Inconclusive: "❔"}[d]
			}
			if c.Trials > len(c.Dots) {
				marks += "…"
			}
			line += fmt.Sprintf(" %s %s, %s, %s tokens |", marks, rateText(c), orDash(c.MedianMs, milliseconds), orDash(c.Tokens, number))
		}
		mw.line("%s", line)
	}
	for k := range m.Rows {
		if k == mdCases {
			mw.line("| and %s more |%s", plural(len(m.Rows)-k, "case"), strings.Repeat(" |", len(m.Groups)))
			break
		}
		r := &m.Rows[k]
		row(cell(code(r.ID)), func(i int) *Cell { return r.Cells[i] })
	}
	row(allThatCount, func(i int) *Cell { return m.Groups[i].All })
	mw.line("")
	if m.MeanPassRate != nil {
		mw.line("Mean pass rate of %s: %s; longest trial: %s.", plural(m.current(), "group"), decimals(*m.MeanPassRate), duration(float64(m.LongestNs)))
	}
	return mw.err
}

// MatrixJSON writes the matrix by its schema.
func MatrixJSON(w io.Writer, m *Matrix, _ Options) error {
	j := &writer{w: w}
	j.object(func() {
		j.key("schema").text(MatrixSchema)
		j.key("by").text(string(m.By))
		j.key("groups").array(len(m.Groups), func(i int) {
			g := &m.Groups[i]
			j.object(func() {
				j.key("name").text(g.Name)
				j.key("historical").flag(g.Historical)
				jsonTime(j, "newest", g.Newest)
				j.key("all")
				jsonCell(j, g.All)
			})
		})
		j.key("cases").array(len(m.Rows), func(i int) {
			r := &m.Rows[i]
			j.object(func() {
				j.key("id").text(r.ID)
				j.key("title").maybe(r.Title)
				j.key("counted").flag(r.Counted)
				j.key("cells").array(len(r.Cells), func(k int) { jsonCell(j, r.Cells[k]) })
			})
		})
		j.key("meanPassRate").float(m.MeanPassRate)
		j.key("longestNs").num(m.LongestNs)
	})
	j.out = append(j.out, '\n')
	j.flush()
	return j.err
}

func jsonCell(j *writer, c *Cell) {
	if c == nil {
		j.raw("null")
		return
	}
	j.object(func() {
		j.key("trials").num(int64(c.Trials))
		j.key("passed").num(int64(c.Passed))
		j.key("eligible").num(int64(c.Eligible))
		dots := make([]string, len(c.Dots))
		for i, d := range c.Dots {
			dots[i] = string(d)
		}
		j.key("dots").texts(dots)
		j.key("passRate").float(c.PassRate)
		j.key("medianMs").float(c.MedianMs)
		j.key("tokens").float(c.Tokens)
		j.key("longestNs").num(c.LongestNs)
	})
}

// jsonTime writes a time in UTC, null where it is not known.
func jsonTime(j *writer, name string, ns int64) {
	if ns == 0 {
		j.key(name).raw("null")
		return
	}
	j.key(name).text(time.Unix(0, ns).UTC().Format(startFormat))
}
