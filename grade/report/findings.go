package report

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// severity is how grave a finding is.
type severity uint8

const (
	isError   severity = iota // a gating check of a case that failed, or a case that regressed
	isWarning                 // a gating check of another case, an advisory one with severity warn, or a link that nothing gates
	isNote                    // an advisory check
	isOpen                    // evidence was missing: nothing is shown to be wrong
)

// finding is what one check found in the trials of one case: formats that point into
// files tell it once, not once a trial.
type finding struct {
	rule     string // the check's kind, a scorer's id, "link/LINK" or "case"
	severity severity
	link     predicate.Link // empty: none
	caseID   string
	message  string // one line, safe to print
	trials   int    // in how many
	of       int    // of the case's trials
	at       *Place
}

// text is the message, with how many trials it was seen in.
func (f *finding) text() string {
	s := f.message
	if f.caseID != "" {
		s = fmt.Sprintf("case %s: %s", visible.String(f.caseID), f.message)
	}
	if f.of > 1 {
		s += fmt.Sprintf(" (%d of %s)", f.trials, plural(f.of, "trial"))
	}
	return s
}

// maxFindings bounds the findings of one verdict: what GitHub shows of one SARIF run
// (docs.github.com, "SARIF results exceed one or more limits").
const maxFindings = 5000

// findings are those of a verdict, in the order of its cases, the first trial that shows
// each standing for all. more is how many there are beyond maxFindings.
func findings(v *Verdict) (list []finding, more int, err error) {
	for _, c := range v.Cases {
		type key struct {
			rule string
			at   Place
			turn int
			open bool
		}
		seen := map[key]int{} // place in list
		add := func(turn int, f finding) {
			k := key{f.rule, Place{}, turn, f.severity == isOpen}
			if f.at != nil {
				k.at = *f.at
			}
			switch i, known := seen[k]; {
			case known && i >= 0:
				list[i].trials++
			case known:
			case len(list) == maxFindings:
				more++
				seen[k] = -1
			default:
				f.caseID, f.of, f.trials = c.ID, c.Stats.Trials, 1
				seen[k] = len(list)
				list = append(list, f)
			}
		}
		var at *Place
		if c.Spec != nil {
			at = c.Spec.At
		}
		err := c.Each(func(t *Trial) error {
			told := false
			for i := range t.Rows {
				r := &t.Rows[i]
				if r.Result == predicate.Pass {
					continue
				}
				told = told || r.Role == predicate.Gating
				add(r.Turn, finding{rule: r.Name, severity: severityOf(c, r), link: r.Link, message: rowMessage(r), at: r.place()})
			}
			if l := breakOf(t); l != nil && !told {
				s := isWarning
				if t.Word == grade.Failed && c.failed() {
					s = isError
				}
				add(-1, finding{rule: "link/" + string(l.Link), severity: s, link: l.Link, message: linkMessage(l), at: at})
				told = true
			}
			if !told && t.Word != grade.Passed {
				add(-1, finding{rule: "case", severity: isOpen, message: cutText(visible.String(t.Why)), at: at})
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		if c.Stats.Trials == 0 && c.Counted {
			add(-1, finding{rule: "case", severity: isOpen, message: "no trial: no session is of this case", at: at})
		}
	}
	return list, more, nil
}

// failed says that the case fails the run: what failed in a trial of another one was
// within its threshold, or does not count.
func (c *Case) failed() bool { return c.Counted && c.Word == grade.Failed }

func severityOf(c *Case, r *Row) severity {
	switch {
	case r.Result == predicate.Error:
		return isOpen
	case r.Role == predicate.Gating && c.failed():
		return isError
	case r.Role == predicate.Gating || r.Warn:
		return isWarning
	}
	return isNote
}

// place is where the row points: of a scorer the first expectation that differs.
func (r *Row) place() *Place {
	for i := range r.Differences {
		if at := r.Differences[i].At; at != nil {
			return at
		}
	}
	return r.At
}

// breakOf is the link of the trial's first break; nil: none.
func breakOf(t *Trial) *Link {
	for i := range t.Links {
		if t.FirstBreak != "" && t.Links[i].Link == t.FirstBreak {
			return &t.Links[i]
		}
	}
	return nil
}

// messageLimit bounds a message, in characters.
const messageLimit = 1000

func cutText(s string) string {
	if head, tail := cutAt(s, messageLimit); tail != "" {
		return head + "…"
	}
	return s
}

func rowMessage(r *Row) string {
	s := fmt.Sprintf("%s %s: %s", r.Name, map[predicate.Result]string{predicate.Fail: "failed", predicate.Error: "could not be decided"}[r.Result], visible.String(r.Reason))
	for i := range r.Differences {
		if i == 3 {
			s += fmt.Sprintf("; and %d more", len(r.Differences)-i)
			break
		}
		d := &r.Differences[i]
		s += fmt.Sprintf("; %s: %s", className[d.Class], visible.String(d.Tool))
		if d.Class == "arguments" && d.Actual != "" {
			s += " (" + visible.String(d.Actual) + ")"
		}
	}
	return cutText(s)
}

func linkMessage(l *Link) string {
	s := fmt.Sprintf("first break at %s: %s", l.Link, l.Reason)
	if l.Text != "" {
		s += ": " + visible.String(l.Text)
	}
	return cutText(s)
}

// rule is what there is to say of a kind of finding.
type rule struct {
	id, title, text string
	markdown        string
	link            predicate.Link
}

// ruleOf is the rule of a finding: the doc of its check.
func ruleOf(f *finding) rule {
	if d, ok := predicate.DocOf(f.rule); ok {
		return rule{f.rule, d.Title, strings.Join(strings.Fields(d.Text), " "), d.Markdown(), d.Info.Link}
	}
	r := rule{id: f.rule, link: f.link}
	switch link, isLink := strings.CutPrefix(f.rule, "link/"); {
	case f.rule == match.MatchID:
		r.title = "The expected tools are called"
		r.text = "The calls of the trial are matched with the case's expected calls; one that is missing, forbidden or out of order fails it."
	case f.rule == match.ArgumentsID:
		r.title = "The expected arguments are sent"
		r.text = "The calls that match an expected one are held to its arguments, by the case's argument mode."
	case isLink:
		r.title = "The " + link + " link holds"
		r.text = "The six links of a session are " + allLinks() + ". This is the first that failed, and no authored check is about it."
	case f.rule == "case":
		r.title = "The case is decided"
		r.text = "A case without a trial that could be graded is inconclusive: that is neither a pass nor a failure."
	case f.rule == string(Regressed):
		r.title = "The case did not regress"
		r.text = "The case passed in the base run and failed in the new one."
	case f.rule == string(Undecided):
		r.title = "The case is decided in both runs"
		r.text = "The case passed in the base run, and nothing can be said of it in the new one."
	case strings.HasPrefix(f.rule, "gate/"):
		r.title = "The gate " + strings.TrimPrefix(f.rule, "gate/") + " passes"
		r.text = "A gate compares figures of both runs with a limit. Where there are too few samples, or the runs are not of the same cases, it cannot be decided."
	default:
		r.title, r.text = f.rule, "This version of sixlink has no doc of this check."
	}
	r.markdown = r.text
	return r
}

func allLinks() string {
	var names []string
	for _, l := range chain.Order {
		names = append(names, string(l))
	}
	return strings.Join(names, ", ")
}

// file is the suite's file that a place is in; empty: not known.
func file(files []string, at *Place) string {
	if at == nil || at.File >= len(files) {
		return ""
	}
	return files[at.File]
}
