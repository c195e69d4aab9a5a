package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// Markdown writes the verdict for a page that shows Markdown (a job's summary, a comment):
// a table of the cases with their links, then what did not pass. Texts from recordings
// are code spans, in which nothing is a link, a mention or markup.
func Markdown(w io.Writer, v *Verdict, o Options) error {
	m := &mdWriter{w: w}
	m.line("## sixlink: %s", markOf(v.Word))
	m.line("")
	m.line("%s", sentence(v))
	if len(v.Cases) > 0 {
		m.line("")
		m.line("| verdict | case | passed | %s | first break |", strings.ReplaceAll(allLinks(), ", ", " | "))
		m.line("|---|---|---|%s---|", strings.Repeat(":-:|", len(chain.Order)))
		for i, c := range v.Cases {
			if i == mdCases {
				m.line("| … | and %s more | | | | | | | | |", plural(len(v.Cases)-i, "case"))
				break
			}
			if err := m.caseRow(c); err != nil {
				return err
			}
		}
		m.line("")
		m.line("%s passed, %s failed, %s notReached, %s notMeasured, %s notApplicable. Of several trials a link shows the worst.",
			mdMarks[chain.Passed], mdMarks[chain.Failed], mdMarks[chain.NotReached], mdMarks[chain.NotMeasured], mdMarks[chain.NotApplicable])
	}
	if what := undecided(&v.Coverage); what != "" && len(v.Cases) > 0 {
		m.line("")
		m.line("Not decided by any check: %s.", what)
	}
	for _, c := range v.Cases {
		if err := m.notPassed(v, c); err != nil {
			return err
		}
	}
	if len(v.Skipped) > 0 {
		m.line("")
		m.line("<details><summary>%s no trial</summary>", areMany(len(v.Skipped), "session or recording is", "sessions or recordings are"))
		m.line("")
		for i, s := range v.Skipped {
			if i == mdSkipped {
				m.line("- and %d more", len(v.Skipped)-i)
				break
			}
			m.line("- %s: %s, %s", code(nameWith(s.Path, s.Recording, s.Session)), s.Why, code(s.Detail))
		}
		m.line("")
		m.line("</details>")
	}
	m.line("")
	m.line("Suite %s, hash %s, analyzer %d.", code(v.SuiteID), code(shortHash(v.SuiteHash)), v.AnalyzerVersion)
	return m.err
}

// Bounds of the Markdown: GitHub refuses a step's summary over 1 MiB, and people do not
// read that much.
const (
	mdCases   = 500
	mdTrials  = 5  // of one case
	mdRows    = 10 // of one trial
	mdSkipped = 20
	// mdLimit is from where on trials are no longer told of, in bytes.
	mdLimit = 600 << 10
)

var mdMarks = map[chain.State]string{
	chain.Passed: "✅", chain.Failed: "❌", chain.NotReached: "⬜", chain.NotMeasured: "❔", chain.NotApplicable: "➖",
}

func markOf(word grade.Word) string {
	return map[grade.Word]string{grade.Passed: "✅ passed", grade.Failed: "❌ failed", grade.Inconclusive: "❔ inconclusive"}[word]
}

func areMany(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sentence is the verdict with its reasons and counts.
func sentence(v *Verdict) string {
	s := counted(v)
	if len(v.Reasons) > 0 && v.Word != grade.Passed {
		var reasons []string
		for _, r := range v.Reasons {
			reasons = append(reasons, code(r))
		}
		s += ". Reasons: " + strings.Join(reasons, ", ")
	}
	return s + "."
}

type mdWriter struct {
	w    io.Writer
	err  error
	n    int
	full bool // it was said that no more is told
}

func (m *mdWriter) line(format string, args ...any) {
	if m.err == nil {
		n, err := fmt.Fprintf(m.w, format+"\n", args...)
		m.n, m.err = m.n+n, err
	}
}

func (m *mdWriter) caseRow(c *Case) error {
	var states strings.Builder
	for i := range chain.Order {
		mark := ""
		for _, s := range slices.Backward(worst) {
			if c.Has(i, s) {
				mark = mdMarks[s]
			}
		}
		states.WriteString(" " + mark + " |")
	}
	breaks := map[string]int{}
	err := c.Each(func(t *Trial) error {
		if l := breakOf(t); l != nil {
			breaks[fmt.Sprintf("%s: %s", l.Link, l.Reason)]++
		}
		return nil
	})
	first := ""
	for _, k := range sortedKeys(breaks) {
		if first != "" {
			first += ", "
		}
		if first += code(k); c.Stats.Trials > 1 {
			first += fmt.Sprintf(" (%d)", breaks[k])
		}
	}
	name := cell(code(c.ID))
	if c.Title != "" {
		name += " " + cell(escapeMD(c.Title))
	}
	word := markOf(c.Word)
	if !c.Counted {
		word += " (not counted)"
	}
	m.line("| %s | %s | %s |%s %s |", word, name, share(c), states.String(), first)
	if err == nil {
		err = m.err
	}
	return err
}

// notPassed tells of the first trials of a case that did not pass.
func (m *mdWriter) notPassed(v *Verdict, c *Case) error {
	if c.Stats.Failed+c.Stats.Errored == 0 || m.full {
		return m.err
	}
	if m.n > mdLimit {
		m.full = true
		m.line("")
		m.line("More is in the other formats: this page is full.")
		return m.err
	}
	m.line("")
	m.line("<details><summary>%s: %d of %s did not pass</summary>", codeHTML(c.ID), c.Stats.Failed+c.Stats.Errored, plural(c.Stats.Trials, "trial"))
	m.line("")
	shown := 0
	err := c.Each(func(t *Trial) error {
		if t.Word == grade.Passed {
			return nil
		}
		if shown++; shown <= mdTrials {
			m.trial(v, t)
		}
		return m.err
	})
	if shown > mdTrials {
		m.line("- and %s more", plural(shown-mdTrials, "trial"))
	}
	m.line("")
	m.line("</details>")
	return err
}

func (m *mdWriter) trial(v *Verdict, t *Trial) {
	why := ""
	if t.Why != "" {
		why = ", " + code(t.Why)
	}
	m.line("- %s %s%s", markOf(t.Word), code(nameWith(v.Paths[t.Recording], t.Recording, t.Session)), why)
	if l := breakOf(t); l != nil {
		text := ""
		if l.Text != "" {
			text = ": " + code(l.Text)
		}
		m.line("  - first break at **%s**, %s%s", l.Link, code(string(l.Reason)), text)
	}
	shown := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Result == predicate.Pass {
			continue
		}
		if shown++; shown > mdRows {
			continue
		}
		m.line("  - %s %s (%s, %s): %s", r.Result, code(r.Name), r.Link, r.Role, code(r.Reason))
		if r.Expected != "" || r.Actual != "" {
			m.line("    - expected %s, actual %s", code(r.Expected), code(r.Actual))
		}
		for k := range r.Differences {
			d := &r.Differences[k]
			if k == mdRows {
				m.line("    - and %d more", len(r.Differences)-k)
				break
			}
			line := className[d.Class] + " " + code(d.Tool)
			if d.Expected != "" {
				line += ", expected " + code(d.Expected)
			}
			if d.Actual != "" && !d.Restates() {
				line += ", actual " + code(d.Actual)
			}
			m.line("    - %s", line)
		}
	}
	if shown > mdRows {
		m.line("  - and %s more", plural(shown-mdRows, "row"))
	}
}

// nameWith is how a trial is called: the file where it stood, else the recording's id.
func nameWith(path, recording, session string) string {
	if path == "" {
		path = recording
	}
	if session != "" {
		path += " " + session
	}
	return path
}

// mdText bounds a text in Markdown, in characters.
const mdText = 400

// code is a code span: what is in it is shown as it is. Its fence is longer than any
// run of backticks in it.
func code(s string) string {
	s = visible.String(s)
	if s == "" {
		return "–"
	}
	if head, tail := cutAt(s, mdText); tail != "" {
		s = head + "…"
	}
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " " // one blank at each end is dropped
	}
	return fence + s + fence
}

// codeHTML is a code span where HTML is: in a summary.
func codeHTML(s string) string {
	return "<code>" + htmlEscapes.Replace(visible.String(s)) + "</code>"
}

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "@", "&#64;")

// cell is Markdown in a table: a bar would end the cell, in a code span too.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// escapeMD is a text outside of code spans, which is the suite's own.
func escapeMD(s string) string {
	s = visible.String(s)
	if head, tail := cutAt(s, mdText); tail != "" {
		s = head + "…"
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("&<>@#:", r): // markup, mentions, references and links
			fmt.Fprintf(&b, "&#%d;", r)
		case strings.ContainsRune("\\`*_{}[]()!~+-=.", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
