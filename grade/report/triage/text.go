package triage

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/report"
)

// width is that of a terminal, in characters; a longer name stays whole.
const width = 80

// printer writes lines and keeps the first error.
type printer struct {
	w     io.Writer
	color bool
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " ")+"\n")
	}
}

// wrapped writes a text behind a head; the lines after the first stand below the text.
func (p *printer) wrapped(head, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	line := head
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			p.line("%s", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	p.line("%s", line)
}

func (p *printer) bold(s string) string {
	if p.color {
		return "\x1b[1m" + s + "\x1b[0m"
	}
	return s
}

// Text writes the report for people.
func Text(w io.Writer, r *Report, color bool) error {
	p := &printer{w: w, color: color}
	if len(r.Spots) == 0 {
		p.line("nothing failed, and nothing weak was seen (verdict: %s)", r.Word)
	}
	for i, s := range r.Spots {
		if i > 0 {
			p.line("")
		}
		p.spot(s)
	}
	if len(r.Spots) > 0 {
		p.line("")
	}
	for _, t := range r.NotLookedAt {
		p.wrapped("not looked at: ", t)
	}
	if len(r.Spots) > 0 {
		p.line("sixlink triage --copy prints a prompt for each; docs/triage.md explains causes")
	}
	return p.err
}

// headline says where a spot is.
func (s *Spot) headline() string {
	how := "weak"
	if s.Failing {
		how = "failed"
	}
	switch {
	case s.Case == "":
		return fmt.Sprintf("%s: tool %s of %s, %s (no check looks at it)", how, s.Tool, s.Server, s.Link)
	case s.Link == "":
		return fmt.Sprintf("%s: case %s (%s), %d of %s", how, s.Case, s.What, s.Trials, plural(s.Of, "trial"))
	}
	return fmt.Sprintf("%s: case %s, %s (%s), %d of %s", how, s.Case, s.Link, s.What, s.Trials, plural(s.Of, "trial"))
}

func (a *At) String() string {
	n := a.Path
	if n == "" {
		n = a.Recording
	}
	return n + " " + a.Session
}

func (p *printer) spot(s *Spot) {
	p.line("%s", p.bold(s.headline()))
	if s.Text != "" && s.Case != "" {
		p.wrapped("  ", s.Text)
	}
	for i := range s.At {
		p.line("  at %s", s.At[i].String())
	}
	for i, c := range s.Causes {
		p.wrapped(fmt.Sprintf("  %d. ", i+1), fmt.Sprintf("%s, %s: %s", c.Cause.ID, c.Likelihood(), c.Cause.Title))
		if c.From != "" && c.From != c.Shows {
			p.wrapped("     ", fmt.Sprintf("shows at %s, comes from %s", c.Shows, c.From))
		}
		for _, e := range c.Evidence {
			p.wrapped("     - ", e)
		}
		if len(c.Records) > 0 {
			p.wrapped("     records: ", Records(c.Records))
		}
		for k := range c.Tools {
			p.tool(&c.Tools[k])
		}
		p.wrapped("     do: ", c.Cause.Fix)
	}
	if s.More > 0 {
		p.line("  and %s (--top)", plural(s.More, "more cause"))
	}
}

func (p *printer) tool(t *Tool) {
	of := ""
	if t.Server != "" {
		of = " of " + t.Server
	}
	switch {
	case !t.Listed:
		p.wrapped("     tool ", t.Name+of)
	case t.Description == "":
		p.wrapped("     tool ", t.Name+of+": no description")
	default:
		p.wrapped("     tool ", t.Name+of+": "+quoteAll(t.Description))
	}
	if t.InputSchema != "" {
		p.wrapped("       schema: ", t.InputSchema)
	}
}

// Records names records; those of several recordings with the recording's id.
func Records(list []report.Record) string {
	several := false
	for _, x := range list {
		several = several || x.Recording != list[0].Recording
	}
	var out []string
	for _, x := range list {
		if several && x.Recording != "" {
			out = append(out, fmt.Sprintf("%d of %s", x.Seq, oneLine(x.Recording)))
		} else {
			out = append(out, fmt.Sprint(x.Seq))
		}
	}
	return strings.Join(out, ", ")
}

// Copy writes the prompts alone.
func Copy(w io.Writer, r *Report) error {
	p := &printer{w: w}
	for i, text := range r.Prompts() {
		if i > 0 {
			p.line("\n%s\n", strings.Repeat("-", width))
		}
		p.line("%s", strings.TrimRight(text, "\n"))
	}
	return p.err
}
