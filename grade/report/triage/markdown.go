package triage

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the report for a page. Texts of strangers are code spans and blocks, in
// which nothing is a link, a mention or markup.
func Markdown(w io.Writer, r *Report) error {
	p := &printer{w: w}
	p.line("## sixlink triage")
	if len(r.Spots) == 0 {
		p.line("\nNothing failed, and nothing weak was seen (verdict: %s).", r.Word)
	}
	for _, s := range r.Spots {
		p.line("")
		p.line("### %s", mdHead(s))
		p.line("")
		if s.Text != "" {
			p.line("%s", span(s.Text))
			p.line("")
		}
		for i, c := range s.Causes {
			from := ""
			if c.From != "" && c.From != c.Shows {
				from = fmt.Sprintf(", shows at %s, comes from %s", c.Shows, c.From)
			}
			p.line("%d. **%s** (`%s`, %s%s)", i+1, c.Cause.Title, c.Cause.ID, c.Likelihood(), from)
			for _, e := range c.Evidence {
				p.line("   - %s", span(e))
			}
			p.line("")
			p.line("   <details><summary>prompt for a coding agent</summary>")
			p.line("")
			block(p, "   ", c.Prompt)
			p.line("")
			p.line("   </details>")
			p.line("")
		}
		if s.More > 0 {
			p.line("And %s.", plural(s.More, "more cause"))
		}
	}
	for _, t := range r.NotLookedAt {
		p.line("")
		p.line("Not looked at: %s.", span(t))
	}
	return p.err
}

func mdHead(s *Spot) string {
	mark := "⚠️"
	if s.Failing {
		mark = "❌"
	}
	switch {
	case s.Case == "":
		return fmt.Sprintf("%s tool %s of %s: %s", mark, span(s.Tool), span(s.Server), s.Link)
	case s.Link == "":
		return fmt.Sprintf("%s %s: %s, %d of %s", mark, span(s.Case), span(s.What), s.Trials, plural(s.Of, "trial"))
	}
	return fmt.Sprintf("%s %s: %s (%s), %d of %s", mark, span(s.Case), s.Link, span(s.What), s.Trials, plural(s.Of, "trial"))
}

// fence is a run of backticks that is longer than any in the text.
func fence(s string, least int) string {
	longest, n := 0, 0
	for _, r := range s {
		if r == '`' {
			n++
			longest = max(longest, n)
		} else {
			n = 0
		}
	}
	return strings.Repeat("`", max(least, longest+1))
}

// span is a code span. A bar would end a cell of a table, and a line break the span.
func span(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "(none)"
	}
	f := fence(s, 1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return f + s + f
}

func block(p *printer, indent, text string) {
	f := fence(text, 3)
	p.line("%s%stext", indent, f)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		p.line("%s%s", indent, line)
	}
	p.line("%s%s", indent, f)
}
