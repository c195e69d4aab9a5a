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

// CompareFormat is one way to show a comparison.
type CompareFormat struct {
	Name  string
	Write func(w io.Writer, c *Comparison, o Options) error
}

// CompareFormats are those of this package.
func CompareFormats() []CompareFormat {
	return []CompareFormat{
		{"text", CompareText}, {"json", CompareJSON}, {"junit", CompareJUnit},
		{"sarif", CompareSARIF}, {"github", CompareGitHub}, {"markdown", CompareMarkdown},
	}
}

// sorted are the cases by their statuses, in the order of Statuses; within one as they
// stand.
func (c *Comparison) sorted() []*CaseChange {
	out := make([]*CaseChange, len(c.Cases))
	for i := range c.Cases {
		out[i] = &c.Cases[i]
	}
	slices.SortStableFunc(out, func(a, b *CaseChange) int {
		return cmp.Compare(slices.Index(Statuses, a.Status), slices.Index(Statuses, b.Status))
	})
	return out
}

// counts says how many cases have each status that any has.
func (c *Comparison) counts() string {
	var out []string
	for _, s := range Statuses {
		if n := c.Count(s); n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, strings.ToLower(s.Label())))
		}
	}
	if len(out) == 0 {
		return "no case"
	}
	return strings.Join(out, ", ")
}

// remarks are what limits the comparison or may explain it, a line each.
func (c *Comparison) remarks() []string {
	var out []string
	if c.AnalyzerChanged {
		out = append(out, fmt.Sprintf("the analyzer changed (version %d, then %d): a case that went the same both times counts as changed, and figures of whole runs are not compared", c.Base.AnalyzerVersion, c.Compare.AnalyzerVersion))
	}
	switch {
	case c.Base.SuiteID != c.Compare.SuiteID:
		out = append(out, fmt.Sprintf("the suites are two: %s, then %s", visible.String(c.Base.SuiteID), visible.String(c.Compare.SuiteID)))
	case c.SuiteChanged:
		n := 0
		for i := range c.Cases {
			if c.Cases[i].ConfigChanged {
				n++
			}
		}
		out = append(out, fmt.Sprintf("the suite changed (%s, then %s): %s something else", shortHash(c.Base.SuiteHash), shortHash(c.Compare.SuiteHash), areMany(n, "case that both runs have asks", "cases that both runs have ask")))
	}
	for i := range c.Servers {
		out = append(out, c.Servers[i].text())
	}
	return out
}

func (s *ServerChange) text() string {
	var parts []string
	if !slices.Equal(s.BaseVersions, s.CompareVersions) {
		parts = append(parts, fmt.Sprintf("version %s, then %s", someOf(s.BaseVersions, 80), someOf(s.CompareVersions, 80)))
	}
	if !slices.Equal(s.BaseCatalogs, s.CompareCatalogs) {
		parts = append(parts, fmt.Sprintf("catalog %s, then %s", someOf(s.BaseCatalogs, 12), someOf(s.CompareCatalogs, 12)))
	}
	name := s.Server
	if name == "" {
		name = "(no name)"
	}
	switch {
	case len(s.BaseVersions)+len(s.BaseCatalogs) == 0:
		return fmt.Sprintf("server %s was not there before", visible.String(name))
	case len(s.CompareVersions)+len(s.CompareCatalogs) == 0:
		return fmt.Sprintf("server %s is no longer there", visible.String(name))
	}
	return fmt.Sprintf("server %s changed: %s", visible.String(name), strings.Join(parts, "; "))
}

// someOf lists a few names, each cut to n characters.
func someOf(list []string, n int) string {
	if len(list) == 0 {
		return "unknown"
	}
	var out []string
	for i, s := range list {
		if i == 3 {
			out = append(out, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		s, _ = cutAt(visible.String(s), n)
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// moved says where it breaks first now, and where it did.
func (c *CaseChange) moved() string {
	if !c.BreakMoved() {
		return ""
	}
	switch {
	case c.BaseBreak.Link == "":
		return "first break now: " + c.CompareBreak.String()
	case c.CompareBreak.Link == "":
		return "no first break any more; it was " + c.BaseBreak.String()
	}
	return fmt.Sprintf("first break moved: %s, then %s", c.BaseBreak, c.CompareBreak)
}

// flaky says in which run it was flaky.
func (c *CaseChange) flaky() string {
	switch {
	case c.BaseFlaky && c.CompareFlaky:
		return "flaky in both runs"
	case c.BaseFlaky:
		return "flaky before"
	case c.CompareFlaky:
		return "flaky now"
	}
	return ""
}

func (c *CaseChange) shares() string {
	part := func(f *figures, o Outcome) string {
		if o == OutcomeAbsent {
			return "absent"
		}
		return fmt.Sprintf("%d of %d", f.passed, f.eligible())
	}
	return part(c.base, c.Base) + ", then " + part(c.compare, c.Compare)
}

// figure is a delta in words; empty where nothing changed or a side is not known.
type figure struct {
	name string
	d    Delta
	show func(float64) string
}

func (c *CaseChange) figures() []figure {
	return []figure{{"calls", c.Calls, number}, {"tokens", c.Tokens, number}, {"cost", c.Cost, money}, {"duration", c.Duration, milliseconds}, {"p50", c.P50, milliseconds}, {"p95", c.P95, milliseconds}, {"result bytes", c.ResultBytes, number}}
}

func (c *Comparison) figures() []figure {
	return []figure{{"pass rate", c.PassRate, decimals}, {"calls", c.Calls, number}, {"tokens", c.Tokens, number}, {"cost", c.Cost, money}, {"duration", c.Duration, milliseconds}, {"p50", c.P50, milliseconds}, {"p95", c.P95, milliseconds}, {"result bytes", c.ResultBytes, number}}
}

// number shows a mean: a whole number as it is, else one decimal.
func number(x float64) string {
	if x == float64(int64(x)) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

func money(x float64) string { return fmt.Sprintf("%.4f", x) }

func milliseconds(ms float64) string { return duration(ms * 1e6) }

// text is "p95 40.0 ms, then 80.0 ms (+100 %)"; empty when both sides are equal or one is
// not known.
func (f *figure) text() string {
	delta, percent := f.d.Of()
	if delta == nil || *delta == 0 {
		return ""
	}
	s := fmt.Sprintf("%s %s, then %s", f.name, f.show(*f.d.Base), f.show(*f.d.Compare))
	if percent != nil {
		s += fmt.Sprintf(" (%+.0f %%)", *percent)
	}
	return s
}

func deltas(list []figure) string {
	var out []string
	for i := range list {
		if s := list[i].text(); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "; ")
}

var gateWords = map[GateStatus]string{GatePassed: "passed", GateFailed: "failed", GateNonGateable: "undecidable"}

// CompareText writes a comparison for people: the cases that went otherwise first, where
// each breaks now and what it takes, then what may explain it, the gates and the verdict.
func CompareText(w io.Writer, c *Comparison, o Options) error {
	p := &printer{w: w, color: o.Color}
	width := 0
	for i := range c.Cases {
		width = max(width, min(40, columns(visible.String(c.Cases[i].ID))))
	}
	hidden := 0
	for _, k := range c.sorted() {
		quiet := k.Status == StillPassed && k.flaky() == "" && !k.BreakMoved()
		if quiet && !o.Verbose {
			hidden++
			continue
		}
		counted := ""
		if !k.Counted {
			counted = "  (not counted)"
		}
		p.line("%s%s%s  %s%s", p.paint(statusColor[k.Status], k.Status.Label()), strings.Repeat(" ", 15-len(k.Status.Label())),
			pad(short(visible.String(k.ID), width), width), k.shares(), counted)
		for _, s := range []string{k.moved(), k.flaky(), deltas(k.figures())} {
			if s != "" {
				p.wrapped("    ", s)
			}
		}
		if k.ConfigChanged {
			p.line("    it asks something else than before")
		}
	}
	if hidden > 0 {
		p.line("%s%s", pad("Passed", 15), areMany(hidden, "case as before", "cases as before"))
	}
	p.line("")
	for _, r := range c.remarks() {
		p.hanging("", r)
	}
	if d := deltas(c.figures()); d != "" && len(c.Population) == 0 {
		p.wrapped("all cases: ", d)
	}
	for _, g := range c.Gates {
		p.folded(fmt.Sprintf("gate %s: ", g.Name), gateColor[g.Status], gateWords[g.Status]+": "+g.Text, false)
	}
	p.folded("compare: ", string(c.Word), string(c.Word)+"; "+c.counts(), false)
	p.sideLine("base", &c.Base)
	p.sideLine("new", &c.Compare)
	return p.err
}

var statusColor = map[Status]string{Regressed: "failed", Fixed: "passed", StillFailed: "failed", StillPassed: "passed", Undecided: "inconclusive"}

var gateColor = map[GateStatus]string{GatePassed: "passed", GateFailed: "failed", GateNonGateable: "inconclusive"}

func (p *printer) sideLine(name string, s *Side) {
	of := ""
	if s.Name != "" {
		of = visible.String(s.Name) + ", "
	}
	p.hanging("", fmt.Sprintf("%s: %sverdict %s, suite %s (%s), analyzer %d", name, of, s.Word, visible.String(s.SuiteID), shortHash(s.SuiteHash), s.AnalyzerVersion))
}

// CompareMarkdown writes a comparison for a page.
func CompareMarkdown(w io.Writer, c *Comparison, o Options) error {
	m := &mdWriter{w: w}
	m.line("## sixlink compare: %s", markOf(c.Word))
	m.line("")
	m.line("%s.", strings.ToUpper(c.counts()[:1])+c.counts()[1:])
	if len(c.Gates) > 0 {
		m.line("")
		for _, g := range c.Gates {
			m.line("- %s gate `%s`: %s", map[GateStatus]string{GatePassed: "✅", GateFailed: "❌", GateNonGateable: "❔ undecidable,"}[g.Status], g.Name, code(g.Text))
		}
	}
	m.line("")
	m.line("| status | case | passed | first break | flaky | calls | tokens | cost | duration | p50 | p95 | result bytes |")
	m.line("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for i, k := range c.sorted() {
		if i == mdCases {
			m.line("| … | and %s more | | | | | | | | | | |", plural(len(c.Cases)-i, "case"))
			break
		}
		name := cell(code(k.ID))
		if k.Title != "" {
			name += " " + cell(escapeMD(k.Title))
		}
		moved := ""
		if s := k.moved(); s != "" {
			moved = code(s)
		}
		cells := ""
		for _, f := range k.figures() {
			cells += " " + f.cell() + " |"
		}
		label := statusMarks[k.Status] + " " + k.Status.Label()
		if !k.Counted {
			label += " (not counted)"
		}
		m.line("| %s | %s | %s | %s | %s |%s", label, name, k.shares(), moved, k.flaky(), cells)
	}
	if list := c.remarks(); len(list) > 0 {
		m.line("")
		for _, r := range list {
			m.line("- %s", code(r))
		}
	}
	m.line("")
	for _, s := range []struct {
		name string
		*Side
	}{{"Base", &c.Base}, {"New", &c.Compare}} {
		of := ""
		if s.Name != "" {
			of = code(s.Name) + ", "
		}
		m.line("%s: %sverdict %s, suite %s, hash %s, analyzer %d.  ", s.name, of, s.Word, code(s.SuiteID), code(shortHash(s.SuiteHash)), s.AnalyzerVersion)
	}
	return m.err
}

var statusMarks = map[Status]string{Regressed: "❌", StillFailed: "❌", Fixed: "✅", StillPassed: "✅", Changed: "✏️", Undecided: "❔", NewCase: "➕", RemovedCase: "➖"}

// cell is a delta in a table.
func (f *figure) cell() string {
	delta, percent := f.d.Of()
	switch {
	case delta == nil:
		return "–"
	case *delta == 0:
		return f.show(*f.d.Compare)
	case percent == nil:
		return fmt.Sprintf("%s → %s", f.show(*f.d.Base), f.show(*f.d.Compare))
	}
	return fmt.Sprintf("%s → %s (%+.0f %%)", f.show(*f.d.Base), f.show(*f.d.Compare), *percent)
}

// CompareJUnit writes a comparison as JUnit XML. Only what regressed is a failure, and a
// gate that failed; what cannot be decided is skipped (grading.md 7.1, 10.62).
func CompareJUnit(w io.Writer, c *Comparison, _ Options) error {
	s := junitSuite{name: c.Compare.SuiteID}
	for i := range c.Cases {
		k := &c.Cases[i]
		t := testCase{class: "sixlink.compare", name: k.ID}
		if k.Title != "" {
			t.name += ": " + k.Title
		}
		if t.file = file(c.SuiteFiles, k.At); t.file != "" {
			t.line = k.At.Line
		}
		said := k.said()
		switch {
		case k.Status == Regressed && k.Counted:
			t.failure, t.kind = said, string(Regressed)
		case k.Status == Undecided:
			t.skipped = said
		}
		t.body = func() (string, error) { return said + "\n", nil }
		s.add(t)
	}
	for _, g := range c.Gates {
		s.add(gateCase("gate: "+g.Name, g.Status, g.Text))
	}
	whole := map[grade.Word]GateStatus{grade.Passed: GatePassed, grade.Failed: GateFailed, grade.Inconclusive: GateNonGateable}[c.Word]
	s.add(gateCase("gate", whole, string(c.Word)+"; "+c.counts()))
	return s.write(w)
}

func gateCase(name string, status GateStatus, text string) testCase {
	t := testCase{class: "sixlink.gate", name: name}
	switch status {
	case GateFailed:
		t.failure, t.kind = text, "gate"
	case GateNonGateable:
		t.skipped = "undecidable: " + text
	}
	return t
}

// said is all that there is to say of a case, in one line.
func (c *CaseChange) said() string {
	s := fmt.Sprintf("%s: %s", strings.ToLower(c.Status.Label()), c.shares())
	for _, more := range []string{c.moved(), c.flaky(), deltas(c.figures())} {
		if more != "" {
			s += "; " + more
		}
	}
	return s
}

// findings are the cases that regressed, then the gates that did not pass.
func (c *Comparison) findings() []finding {
	var out []finding
	for i := range c.Cases {
		k := &c.Cases[i]
		f := finding{caseID: k.ID, rule: string(k.Status), message: k.said(), at: k.At, link: k.CompareBreak.Link}
		switch {
		case k.Status == Regressed && k.Counted:
			f.severity = isError
		case k.Status == Undecided && k.Base == OutcomePassed && k.Counted:
			f.severity = isOpen
		default:
			continue
		}
		if out = append(out, f); len(out) == maxFindings-10 {
			break
		}
	}
	for _, g := range c.Gates {
		f := finding{rule: "gate/" + g.Name, message: g.Text}
		switch g.Status {
		case GatePassed:
			continue
		case GateFailed:
			f.severity = isError
		case GateNonGateable:
			f.severity = isOpen
		}
		out = append(out, f)
	}
	return out
}

// CompareSARIF writes a comparison as SARIF 2.1.0: what regressed, and the gates that did
// not pass.
func CompareSARIF(w io.Writer, c *Comparison, _ Options) error {
	var notes []string
	for i, r := range c.remarks() {
		if i == maxNotes {
			break
		}
		notes = append(notes, r)
	}
	return sarif(w, &sarifRun{id: c.Compare.SuiteID + "/compare", files: c.SuiteFiles, findings: c.findings(), said: "compare: " + string(c.Word) + "; " + c.counts(),
		notes: notes, ok: c.Word != grade.Inconclusive, properties: map[string]string{"verdict": string(c.Word)}})
}

// CompareGitHub writes a comparison as workflow commands.
func CompareGitHub(w io.Writer, c *Comparison, _ Options) error {
	a := annotations{w: w, files: c.SuiteFiles}
	a.write(c.findings(), 0)
	level := map[grade.Word]string{grade.Passed: "notice", grade.Failed: "error", grade.Inconclusive: "warning"}[c.Word]
	a.command(level, "", nil, "sixlink compare: "+string(c.Word), c.counts())
	return a.err
}
