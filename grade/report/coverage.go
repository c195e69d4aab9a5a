package report

import (
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// jsonCoverage writes which links checks decide, and by what.
func jsonCoverage(j *writer, links *[6]grade.LinkCoverage) {
	j.key("coverage").array(len(links), func(i int) {
		j.object(func() {
			j.key("link").text(string(links[i].Link))
			j.key("state").text(string(links[i].State))
			j.key("by").texts(links[i].By)
		})
	})
}

// coverGroups bounds the lines on coverage below a verdict: cases that leave the
// same links open share one. suite check tells the rest.
const coverGroups = 4

// coverage says which links no check decides, so that a passed case is not taken
// for one in which they are fine (grading.md 5.5).
func (p *printer) coverage(v *Verdict) {
	type group struct {
		what  string
		cases []string
	}
	var groups []*group
	of := map[string]*group{}
	for i := range v.Cases {
		c := v.Cases[i]
		if c.Coverage == nil {
			continue
		}
		what := undecided(c.Coverage)
		if of[what] == nil {
			of[what] = &group{what: what}
			groups = append(groups, of[what])
		}
		of[what].cases = append(of[what].cases, c.ID)
	}
	several := len(groups) > 1
	groups = slices.DeleteFunc(groups, func(g *group) bool { return g.what == "" })
	for i, g := range groups {
		if i == coverGroups {
			p.line("not decided by any check: more in %s of cases (sixlink suite check)", plural(len(groups)-i, "group"))
			break
		}
		text := g.what
		if several {
			cases := someCases(g.cases)
			if len(g.cases) == 1 && g.cases[0] == grade.Unassigned {
				cases = visible.String(grade.Unassigned)
			}
			text += "; in " + cases
		}
		p.hanging("", "not decided by any check: "+text)
	}
	if len(groups) > 0 {
		p.line("")
	}
}

// undecided lists the links that no check decides, and what looks at them all the
// same. Connection is left out: it has no kind of check.
func undecided(links *[6]grade.LinkCoverage) string {
	var out []string
	for _, how := range []struct {
		state grade.CoverageState
		words string
	}{{grade.CoverRunnerOnly, "runner checks only"}, {grade.CoverObserved, "advisory checks only"}, {grade.CoverNone, "nothing looks at it"}} {
		var names []string
		for i := range links {
			if l := &links[i]; l.State == how.state && l.Link != predicate.Connection {
				names = append(names, string(l.Link))
			}
		}
		words := how.words
		if how.state == grade.CoverNone && len(names) > 1 {
			words = "nothing looks at them"
		}
		if len(names) > 0 {
			out = append(out, strings.Join(names, ", ")+" ("+words+")")
		}
	}
	return strings.Join(out, "; ")
}
