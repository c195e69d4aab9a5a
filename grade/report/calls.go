package report

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
)

const (
	// maxShownCalls bounds the calls that are shown of one session, from its end: that is
	// where a session breaks.
	maxShownCalls = 20
	// maxShownStderr bounds the lines of stderr that are shown, from the end.
	maxShownStderr = 10
)

// calls shows the calls of a trial and what its servers wrote to stderr, of the
// recordings that the source has.
func (p *printer) calls(v *Verdict, t *Trial, src Source) {
	if src == nil {
		return
	}
	parts := t.Parts
	if len(parts) == 0 {
		parts = []Part{{Recording: t.Recording, Session: t.Session}}
	}
	for i := range parts {
		part := &parts[i]
		r, done, err := src.Recording(part.Recording)
		switch {
		case err != nil:
			p.hanging("", "  its recording cannot be read again: "+visible.String(err.Error()))
		case r == nil:
		default:
			for _, s := range r.Sessions {
				if s.ID == part.Session {
					p.sessionCalls(v, part, s)
				}
			}
			p.stderr(r)
			done()
		}
	}
}

func (p *printer) sessionCalls(v *Verdict, part *Part, s *session.Session) {
	of := ""
	if part.Server != "" {
		of = " of server " + visible.String(predicate.Quoted(part.Server))
	}
	p.line("  calls%s:", of)
	from := max(0, len(s.Calls)-maxShownCalls)
	if from > 0 {
		p.line("    %d before these", from)
	}
	for _, c := range s.Calls[from:] {
		id := fmt.Sprint(c.Seq)
		if c.Index >= 0 {
			id += fmt.Sprintf(".%d", c.Index)
		}
		took := ""
		if ns, ok := c.DurationNs(); ok {
			took = ", " + duration(float64(ns))
		}
		p.wrapped("    ", fmt.Sprintf("record %s %s: %s%s", id, visible.String(c.Tool), c.State, took))
		if !c.Arguments.IsZero() {
			p.wrapped("      arguments: ", shownValue(c.Arguments))
		}
		switch {
		case !c.Result.IsZero():
			p.wrapped("      result:    ", shownValue(c.Result))
		case c.Error != nil:
			p.wrapped("      error:     ", fmt.Sprintf("%d %s", c.Error.Code, visible.String(predicate.Scrub(c.Error.Message))))
		}
	}
}

// shownValue shows a value of the recording, secrets replaced, long parts cut.
func shownValue(v session.Value) string {
	if v.TooDeep() {
		return "nested deeper than can be decoded"
	}
	text, err := v.Bytes()
	if err != nil {
		return "cannot be read: " + visible.String(err.Error())
	}
	parsed, err := predicate.ParseResult(text)
	if err != nil {
		return "cannot be read: " + visible.String(err.Error())
	}
	return visible.String(predicate.Shown(parsed))
}

func (p *printer) stderr(r *Recording) {
	if len(r.Stderr) == 0 {
		return
	}
	p.line("  the server's stderr:")
	from := max(0, len(r.Stderr)-maxShownStderr)
	if from > 0 {
		p.line("    %s before these", plural(from, "line"))
	}
	for _, l := range r.Stderr[from:] {
		p.wrapped("    ", visible.String(predicate.Sentence(predicate.Scrub(l.Text))))
	}
	if r.StderrCut {
		p.line("    and more that is not shown")
	}
}

// duration is a time for people: 12.3 ms, 4.21 s.
func duration(ns float64) string {
	switch ms := ns / 1e6; {
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 100e3:
		return fmt.Sprintf("%.2f s", ms/1e3)
	default:
		return fmt.Sprintf("%.0f s", ms/1e3)
	}
}
