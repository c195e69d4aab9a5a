package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// Text writes the verdict for people: per trial the six links in a row with the
// first break marked, the rows that did not pass, and a line that sums up.
func Text(w io.Writer, v *grade.Verdict, o Options) error {
	p := &printer{w: w, color: o.Color}
	for i := range v.Cases {
		c := &v.Cases[i]
		p.line("case %s: %s", visible.String(c.ID), p.word(string(c.Word)))
		for i := range c.Trials {
			p.line("")
			p.trial(v, &c.Trials[i])
		}
		p.line("")
	}
	for _, s := range v.Skipped {
		p.line("skipped %s: %s (%s)", p.name(s.Path, s.Recording, s.Session), s.Why, visible.String(s.Detail))
	}
	if len(v.Skipped) > 0 {
		p.line("")
	}
	p.summary(v)
	return p.err
}

// Chain writes one session's six links in a row, with the first break marked.
func Chain(w io.Writer, r *chain.Result, o Options) error {
	p := &printer{w: w, color: o.Color}
	p.chain(r, "")
	return p.err
}

type printer struct {
	w     io.Writer
	color bool
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		s := strings.TrimRight(fmt.Sprintf(format, args...), " ")
		_, p.err = io.WriteString(p.w, s+"\n")
	}
}

var colors = map[string]string{
	"passed": "32", "pass": "32", "failed": "31", "fail": "31", "notReached": "33", "inconclusive": "33", "error": "33",
	"notMeasured": "2", "notApplicable": "2",
}

// paint colours s as word is coloured.
func (p *printer) paint(word, s string) string {
	if c, ok := colors[word]; ok && p.color {
		return "\x1b[" + c + "m" + s + "\x1b[0m"
	}
	return s
}

func (p *printer) word(s string) string { return p.paint(s, s) }

// name is how a trial is called: the file where it stood, else the recording's id.
func (p *printer) name(path, recording, session string) string {
	n := path
	if n == "" {
		n = recording
	}
	if session != "" {
		n += " " + session
	}
	return visible.String(n)
}

// chain prints names, states and a mark below the first break:
//
//	connection  discovery  selection    call    response  userValue
//	passed      passed     notMeasured  passed  failed    notReached
//	                                            ^ first break: toolError: …
func (p *printer) chain(r *chain.Result, indent string) {
	var names, states strings.Builder
	mark, reason := "", ""
	col := 0
	for i := range r.Links {
		l := &r.Links[i]
		width := max(len(l.Link), len(l.State)) + 2
		fmt.Fprintf(&names, "%-*s", width, l.Link)
		states.WriteString(p.paint(string(l.State), string(l.State)))
		states.WriteString(strings.Repeat(" ", width-len(l.State)))
		if l.Link == r.FirstBreak {
			mark = strings.Repeat(" ", col)
			reason = fmt.Sprintf("first break: %s%s", l.Reason, records(l.Evidence.Records))
		}
		col += width
	}
	p.line("%s%s", indent, names.String())
	p.line("%s%s", indent, states.String())
	if mark != "" || reason != "" {
		p.line("%s%s%s", indent, mark, p.paint("failed", "^ "+reason))
	}
	for i := range r.Links {
		l := &r.Links[i]
		if l.State == chain.NotReached || l.Reason == chain.SetupAborted && i > 0 {
			continue
		}
		if l.State == chain.Failed || l.State == chain.NotMeasured {
			text := fmt.Sprintf("%s %s: %s", l.Link, l.State, visible.String(l.Evidence.Text))
			if l.Evidence.SameCallAs != "" {
				text += fmt.Sprintf(" (the same call as record %s above)", l.Evidence.SameCallAs)
			}
			p.line("%s  %s", indent, text)
		}
	}
}

func (p *printer) trial(v *grade.Verdict, t *grade.Trial) {
	why := ""
	if t.Why != "" {
		why = " (" + visible.String(t.Why) + ")"
	}
	p.line("%s: %s%s", p.name(v.Paths[t.Recording], t.Recording, t.Session), p.word(string(t.Word)), why)
	p.chain(&t.Chain, "  ")
	passed := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Result == predicate.Pass {
			passed++
			continue
		}
		role := string(r.Check.Role)
		if r.Check.Warn {
			role += ", warn"
		}
		p.line("  %s %s (%s, %s): %s", p.word(string(r.Result)), r.Check.Info.Name, r.Check.Info.Link, role, visible.String(r.Reason))
		if r.Expected != "" {
			p.line("       expected: %s", visible.String(r.Expected))
		}
		if r.Actual != "" {
			p.line("       actual:   %s%s", visible.String(r.Actual), records(r.Records))
		}
	}
	p.line("  %d of %s passed", passed, plural(len(t.Rows), "check"))
}

func records(seqs []int64) string {
	if len(seqs) == 0 {
		return ""
	}
	s := make([]string, len(seqs))
	for i, n := range seqs {
		s[i] = fmt.Sprint(n)
	}
	if len(s) == 1 {
		return " (record " + s[0] + ")"
	}
	return " (records " + strings.Join(s, ", ") + ")"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p *printer) summary(v *grade.Verdict) {
	counts := map[grade.Word]int{}
	total := 0
	for _, c := range v.Cases {
		for _, t := range c.Trials {
			counts[t.Word]++
			total++
		}
	}
	why := ""
	if v.Word != grade.Passed && len(v.Reasons) > 0 {
		why = " (" + strings.Join(v.Reasons, ", ") + ")"
	}
	hash := v.SuiteHash
	if len(hash) > 12 {
		hash = hash[:12]
	}
	p.line("verdict: %s%s", p.word(string(v.Word)), why)
	p.line("%s: %d passed, %d failed, %d inconclusive; %d skipped; suite %s (%s), analyzer %d",
		plural(total, "trial"), counts[grade.Passed], counts[grade.Failed], counts[grade.Inconclusive], len(v.Skipped),
		visible.String(v.SuiteID), hash, v.AnalyzerVersion)
}
