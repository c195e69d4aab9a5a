package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// Text writes the verdict for people: a line per case with a mark per link, then
// each trial that did not pass with its chain, its first break, the rows that did
// not pass and what was not measured. Verbose shows every trial and every row.
func Text(w io.Writer, v *grade.Verdict, o Options) error {
	p := &printer{w: w, color: o.Color}
	if len(v.Cases) > 0 {
		p.line("The six links: connection discovery selection call response userValue")
		p.line("%s passed  %s failed  %s notReached  %s notMeasured  %s notApplicable",
			marks[chain.Passed], marks[chain.Failed], marks[chain.NotReached], marks[chain.NotMeasured], marks[chain.NotApplicable])
		if slices.ContainsFunc(v.Cases, func(c grade.Case) bool { return c.Stats.Trials > 1 }) {
			p.line("A case with several trials shows the worst mark that any of them has.")
		}
		p.line("")
		for i := range v.Cases {
			p.caseLine(&v.Cases[i])
		}
		p.line("")
	}
	for i := range v.Cases {
		c := &v.Cases[i]
		err := c.Each(func(t *grade.Trial) error {
			if p.of = nil; len(t.Parts) > 0 {
				p.of = t
			}
			switch {
			case o.Verbose || t.Word != grade.Passed:
				p.trial(v, c, t, o.Verbose)
				p.line("")
			case t.Chain.FirstBreak != "":
				p.notGated(v, t)
				p.line("")
			}
			return p.err
		})
		p.of = nil
		if err != nil {
			return err
		}
		if c.Spec != nil {
			for _, what := range c.Spec.NotMeasurable {
				p.hanging("", fmt.Sprintf("case %s: not measurable from a recording: %s", visible.String(c.ID), visible.String(what)))
			}
		}
	}
	for _, s := range v.Skipped {
		p.hanging("", fmt.Sprintf("skipped %s: %s (%s)", p.name(s.Path, s.Recording, s.Session), s.Why, visible.String(s.Detail)))
	}
	if len(v.Skipped) > 0 {
		p.line("")
	}
	p.coverage(v)
	p.summary(v)
	return p.err
}

// marks are the states as one character each: readable without colour, and
// notMeasured does not look like passed.
var marks = map[chain.State]string{
	chain.Passed: "+", chain.Failed: "X", chain.NotReached: "-", chain.NotMeasured: "?", chain.NotApplicable: ".",
}

// worst orders the states for a case's mark: the first of these that any trial has.
var worst = []chain.State{chain.Failed, chain.NotReached, chain.NotMeasured, chain.Passed, chain.NotApplicable}

// caseLine is a case in one line: + + X + - ? failed  1 of 3  ID  title. What is
// cut when the line is full is the title, then the id, and never how many passed.
func (p *printer) caseLine(c *grade.Case) {
	var b strings.Builder
	for i := range chain.Order {
		mark := " "
		for _, s := range slices.Backward(worst) {
			if c.Has(i, s) {
				mark = p.paint(string(s), marks[s])
			}
		}
		b.WriteString(mark + " ")
	}
	rest := fmt.Sprintf(" %s", pad(share(c), 8))
	if !c.Counted {
		rest += "  (not counted)"
	}
	rest += "  " + visible.String(c.ID)
	if c.Title != "" {
		rest += "  " + visible.String(c.Title)
	}
	const before = 2*6 + 12 // marks, and the verdict's word
	p.line("%s%s%s%s", b.String(), p.word(string(c.Word)), strings.Repeat(" ", 12-len(c.Word)), short(rest, width-before))
}

// share says how many of the trials passed.
func share(c *grade.Case) string {
	if c.Stats.Trials == 0 {
		return "no trial"
	}
	s := fmt.Sprintf("%d of %d", c.Stats.Passed, c.Stats.Eligible())
	if c.Stats.Errored > 0 {
		s += fmt.Sprintf(" (+%d inconclusive)", c.Stats.Errored)
	}
	return s
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
	// of is the trial that is shown, when it is over several sessions.
	of *grade.Trial
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
			reason = fmt.Sprintf("first break: %s%s", l.Reason, p.records(l.Evidence.Records))
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
			p.wrapped(indent+"  ", text)
		}
	}
}

// talk tells how the host's transcript joins, and which calls never reached the wire.
func (p *printer) talk(n *grade.TalkNote) {
	if n == nil {
		return
	}
	p.wrapped("  ", visible.String(fmt.Sprintf("transcript of %s: %s, %s", n.Host, n.Verdict, n.Why)))
	for _, text := range n.HostOnly {
		p.wrapped("    ", "never on the wire: "+visible.String(text))
	}
	if n.More > 0 {
		p.wrapped("    ", fmt.Sprintf("and %d more", n.More))
	}
}

func (p *printer) trial(v *grade.Verdict, c *grade.Case, t *grade.Trial, verbose bool) {
	why := ""
	if t.Why != "" {
		why = " (" + visible.String(t.Why) + ")"
	}
	of := ""
	if c.ID != grade.Unassigned {
		of = visible.String(c.ID) + ", "
	}
	p.hanging(string(t.Word), fmt.Sprintf("%s%s: %s%s", of, p.name(v.Paths[t.Recording], t.Recording, t.Session), t.Word, why))
	p.parts(v, t)
	var drawn []string
	for i := range t.Chain.Links {
		l := &t.Chain.Links[i]
		drawn = append(drawn, p.paint(string(l.State), marks[l.State]+string(l.Link)))
	}
	p.line("  %s", strings.Join(drawn, " "))
	p.talk(t.Talk)
	for i := range t.Chain.Links {
		if l := &t.Chain.Links[i]; l.Link == t.Chain.FirstBreak {
			p.folded("  first break: ", "failed", fmt.Sprintf("%s, %s%s", l.Link, l.Reason, p.records(l.Evidence.Records)), false)
			p.linkText(l)
		}
	}
	for i := range t.Chain.Links {
		if l := &t.Chain.Links[i]; l.State == chain.Failed && l.Link != t.Chain.FirstBreak {
			p.folded("  ", "failed", fmt.Sprintf("%s failed too: %s%s", l.Link, l.Reason, p.records(l.Evidence.Records)), false)
			p.linkText(l)
		}
	}
	passed := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Result == predicate.Pass {
			passed++
			if !verbose {
				continue
			}
		}
		p.row(r)
	}
	for i := range t.Chain.Links {
		l := &t.Chain.Links[i]
		if l.State == chain.NotMeasured && !(l.Reason == chain.SetupAborted && i > 0) {
			p.wrapped("  not measured: ", fmt.Sprintf("%s (%s): %s", l.Link, l.Reason, visible.String(l.Evidence.Text)))
		}
	}
	p.line("  %d of %s passed", passed, plural(len(t.Rows), "check"))
}

// notGated says that a link of a passed trial failed, which no check gates.
func (p *printer) notGated(v *grade.Verdict, t *grade.Trial) {
	for i := range t.Chain.Links {
		if l := &t.Chain.Links[i]; l.Link == t.Chain.FirstBreak {
			p.hanging("", fmt.Sprintf("%s: %s, and no check gates what failed", p.name(v.Paths[t.Recording], t.Recording, t.Session), t.Word))
			p.parts(v, t)
			p.folded("  first break: ", "failed", fmt.Sprintf("%s, %s%s", l.Link, l.Reason, p.records(l.Evidence.Records)), false)
			p.linkText(l)
		}
	}
}

func (p *printer) linkText(l *chain.Link) {
	if l.Evidence.Text == "" {
		return
	}
	text := visible.String(l.Evidence.Text)
	if l.Evidence.SameCallAs != "" {
		text += fmt.Sprintf(" (the same call as record %s above)", l.Evidence.SameCallAs)
	}
	p.wrapped("    ", text)
}

// className are the classes of the categorized difference in words.
var className = map[string]string{"missing": "missing", "extra": "extra", "outOfOrder": "out of order", "arguments": "other arguments"}

// wrapped writes a text behind head, folded to the terminal's width; the lines after
// the first stand below the text.
func (p *printer) wrapped(head, text string) { p.folded(head, "", text, false) }

// hanging writes a text that names a file: names stay in one piece, the lines after
// the first are indented.
func (p *printer) hanging(word, text string) {
	for i, line := range fold(text, width, width-4, true) {
		indent := ""
		if i > 0 {
			indent = "    "
		}
		p.line("%s%s", indent, p.paint(word, line))
	}
}

// folded is wrapped in the colour of a word. whole leaves long words in one piece.
func (p *printer) folded(head, word, text string, whole bool) {
	room := width - columns(head)
	for i, line := range fold(text, room, room, whole) {
		if i == 1 {
			head = strings.Repeat(" ", columns(head))
		}
		p.line("%s%s", head, p.paint(word, line))
	}
}

// row is one row: its outcome, and expected beside actual.
func (p *printer) row(r *grade.Row) {
	role := string(r.Role)
	if r.Warn {
		role += ", warn"
	}
	turn := ""
	if r.Turn >= 0 {
		turn = fmt.Sprintf(", turn %d", r.Turn+1)
	}
	p.line("  %s %s (%s, %s%s)", p.word(string(r.Result)), r.Name, r.Link, role, turn)
	p.wrapped("       ", visible.String(r.Reason))
	if r.Expected != "" {
		p.wrapped("       expected: ", visible.String(r.Expected))
	}
	if r.Actual != "" {
		p.wrapped("       actual:   ", visible.String(r.Actual)+p.records(r.Records))
	}
	for _, d := range differences(r) {
		at := ""
		if d.Restates {
			at, d.Actual = p.records(d.Records), ""
		}
		class := className[d.Class]
		if d.Allowed {
			class += " (allowed)"
		}
		p.wrapped("       "+class+": ", visible.String(d.Tool)+at)
		if d.Expected != "" {
			p.wrapped("         expected: ", visible.String(d.Expected))
		}
		if d.Actual != "" {
			p.wrapped("         actual:   ", visible.String(d.Actual)+p.records(d.Records))
		}
	}
}

// maxShownParts bounds the parts that are listed.
const maxShownParts = 20

// parts lists the sessions of a trial over several.
func (p *printer) parts(v *grade.Verdict, t *grade.Trial) {
	for i := range t.Parts {
		if i == maxShownParts {
			p.line("  and %s more", plural(len(t.Parts)-i, "part"))
			break
		}
		part := &t.Parts[i]
		text := p.name(v.Paths[part.Recording], part.Recording, part.Session)
		if part.Lost != "" {
			text += ": " + visible.String(part.Lost)
		}
		p.folded("  server "+visible.String(predicate.Quoted(part.Server))+": ", "", text, true)
	}
}

// records names records; those of several recordings by their server too, or by the
// recording where that is the same.
func (p *printer) records(seqs []int64) string {
	if len(seqs) == 0 {
		return ""
	}
	s := make([]string, len(seqs))
	for i, n := range seqs {
		s[i] = fmt.Sprint(n)
		if p.of == nil {
			continue
		}
		if part, seq := p.of.Place(n); part != nil {
			name := part.Server
			for k := range p.of.Parts {
				if q := &p.of.Parts[k]; q.Server == part.Server && q.Recording != part.Recording {
					name = part.Recording
				}
			}
			s[i] = fmt.Sprintf("%d of %s", seq, visible.String(name))
		}
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
	for i := range v.Cases {
		for word, n := range v.Cases[i].Words() {
			counts[word] += n
			total += n
		}
	}
	why := ""
	if v.Word != grade.Passed && len(v.Reasons) > 0 {
		why = " (" + strings.Join(v.Reasons, ", ") + ")"
	}
	hash := shortHash(v.SuiteHash)
	p.folded("verdict: ", string(v.Word), string(v.Word)+why, false)
	p.line("%s: %d passed, %d failed, %d inconclusive; %d skipped", plural(total, "trial"),
		counts[grade.Passed], counts[grade.Failed], counts[grade.Inconclusive], len(v.Skipped))
	p.folded("", "", fmt.Sprintf("suite %s (%s), analyzer %d", visible.String(v.SuiteID), hash, v.AnalyzerVersion), true)
}
