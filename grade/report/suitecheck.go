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

// SuiteCheckSchema names the shape of the JSON of a suite's check.
const SuiteCheckSchema = "sixlink/suite-check/1"

// coverWords are the states of coverage in a table of 80 columns.
var coverWords = map[grade.CoverageState]string{
	grade.CoverDecided: "decided", grade.CoverObserved: "observed", grade.CoverRunnerOnly: "runner", grade.CoverNone: "none",
}

// shownCases bounds the lines of the table; the JSON has them all.
const shownCases = 50

// SuiteCheckText writes for people what a suite decides, link by link, and what
// was found.
func SuiteCheckText(w io.Writer, c *grade.SuiteCheck, o Options) error {
	p := &printer{w: w, color: o.Color}
	cases, disabled := len(c.Suite.Cases), 0
	for _, s := range c.Suite.Cases {
		if s.Disabled {
			disabled++
		}
	}
	what := "no cases, defaults alone"
	if cases > 0 {
		what = plural(cases, "case")
		if disabled > 0 {
			what += fmt.Sprintf(", %d disabled", disabled)
		}
	}
	p.wrapped("suite ", fmt.Sprintf("%s (%s): %s", visible.String(c.Suite.ID), shortHash(c.Suite.Hash), what))
	if c.Recordings > 0 {
		p.wrapped("tools ", fmt.Sprintf("looked up in %s of %s: %s", plural(c.Lists, "tool list"), plural(c.Recordings, "recording"), plural(c.Tools, "name")))
	}
	p.line("")
	p.line("Which links checks decide. observed: advisory checks alone; runner: the built-in")
	p.line("check alone, which closes no gap; none: nothing looks at it.")
	p.line("")
	// A word needs 8 columns: with those of the links' names 21 are left for the case.
	const column, word = 21, 8
	head := strings.Repeat(" ", column)
	for _, l := range chain.Order {
		head += " " + pad(string(l), word)
	}
	p.line("%s", head)
	for i := range c.Cases {
		if i == shownCases && len(c.Cases) > shownCases {
			p.line("and %d more", len(c.Cases)-shownCases)
			break
		}
		cover := &c.Cases[i]
		line := pad(short(visible.String(cover.Case), column), column)
		for j := range cover.Links {
			state := coverWords[cover.Links[j].State]
			line += " " + p.paint(string(cover.Links[j].State), state) + strings.Repeat(" ", max(word, len(cover.Links[j].Link))-len(state))
		}
		p.line("%s", line)
	}
	p.line("")
	for i := range c.Findings {
		p.finding(&c.Findings[i])
		p.line("")
	}
	if len(c.Findings) == 0 {
		p.line("no findings")
	} else {
		p.line("%s", plural(len(c.Findings), "finding"))
	}
	return p.err
}

func (p *printer) finding(f *grade.Finding) {
	if f.Line > 0 {
		p.line("%s:%d:%d: %s", visible.String(f.File), f.Line, f.Col, p.paint("inconclusive", string(f.Code)))
	} else {
		p.line("%s", p.paint("inconclusive", string(f.Code)))
	}
	in := ""
	if len(f.Cases) > 0 {
		in = someCases(f.Cases) + ": "
	}
	p.wrapped("  ", in+visible.String(f.Message))
	if f.Do != "" {
		p.wrapped("  -> ", visible.String(f.Do))
	}
}

// someCases names at most five cases.
func someCases(ids []string) string {
	word := "case "
	if len(ids) > 1 {
		word = "cases "
	}
	text := word + visible.String(strings.Join(ids[:min(len(ids), 5)], ", "))
	if n := len(ids) - 5; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func shortHash(hash string) string { return hash[:min(len(hash), 12)] }

// SuiteCheckJSON writes the same for programs.
func SuiteCheckJSON(w io.Writer, c *grade.SuiteCheck) error {
	j := &writer{}
	j.object(func() {
		j.key("schema").text(SuiteCheckSchema)
		j.key("suite").object(func() {
			j.key("id").text(c.Suite.ID)
			j.key("hash").text(c.Suite.Hash)
		})
		j.key("catalogs").object(func() {
			j.key("recordings").num(int64(c.Recordings))
			j.key("lists").num(int64(c.Lists))
			j.key("tools").num(int64(c.Tools))
		})
		jsonCoverage(j, &c.Whole)
		j.key("cases").array(len(c.Cases), func(i int) {
			j.object(func() {
				j.key("id").text(c.Cases[i].Case)
				jsonCoverage(j, &c.Cases[i].Links)
				j.key("canFail").text(string(c.Cases[i].CanFail))
			})
		})
		j.key("findings").array(len(c.Findings), func(i int) {
			f := &c.Findings[i]
			j.object(func() {
				j.key("code").text(string(f.Code))
				j.key("file").maybe(f.File)
				j.key("line").num(int64(f.Line))
				j.key("column").num(int64(f.Col))
				j.key("cases").texts(f.Cases)
				j.key("links").texts(linkNames(f.Links))
				j.key("message").text(f.Message)
				j.key("do").maybe(f.Do)
			})
		})
	})
	j.out = append(j.out, '\n')
	_, err := w.Write(j.out)
	return err
}

func linkNames(links []predicate.Link) []string {
	out := make([]string, len(links))
	for i, l := range links {
		out[i] = string(l)
	}
	return out
}
