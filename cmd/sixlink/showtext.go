package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/visible"
)

// showText prints a recording for a person. Everything that came from it is made
// visible first: a recording is a stranger's.
func showText(w io.Writer, l *loaded, colour bool) error {
	p := &printer{w: w}
	p.recording(l)
	talks, err := talksOf(l)
	if err != nil {
		return err
	}
	for i := range talks.Conversations {
		p.line("")
		p.story(&talks.Conversations[i])
	}
	joined := grade.Talks(talks)[l.header.ID]
	for _, s := range l.sessions {
		p.line("")
		p.session(s)
		p.calls(s)
		if p.err == nil {
			res := grade.Chain(s, l.sessions, joined[s.ID]...)
			p.err = report.Chain(w, &res, report.Options{Color: colour})
		}
	}
	if len(l.sessions) == 0 {
		p.line("")
		p.line("no session: the recording holds no message")
	}
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, strings.TrimRight(format, " ")+"\n", args...)
	}
}

func (p *printer) recording(l *loaded) {
	h, e := l.header, l.end
	state := string(e.State)
	if e.Torn && e.State == record.Sealed {
		state += " by repair, torn"
	}
	p.line("%s  %s, level %s, %s", visible.String(l.path), state, visible.String(string(h.Level)), count(e.Records, "record"))
	p.line("  recorded  %s, for %s, by %s %s", h.Start.UTC().Format("2006-01-02 15:04:05 UTC"), duration(l.spanNs),
		visible.String(h.Recorder.Name), visible.String(h.Recorder.Version))
	if h.Upstream != "" {
		how := ""
		switch {
		case h.Bridge:
			how = ", a bridge: the host spoke stdio"
		case h.Listen != "":
			how = ", served at " + visible.String(h.Listen)
		}
		p.line("  upstream  %s%s", cut(visible.String(h.Upstream), 200), how)
	}
	if len(l.command) > 0 {
		p.line("  command   %s", cut(visible.String(quoteArgv(l.command)), 200))
	}
	if len(h.Labels) > 0 {
		var kv []string
		for _, k := range slices.Sorted(maps.Keys(h.Labels)) {
			kv = append(kv, k+"="+h.Labels[k])
		}
		p.line("  labels    %s", cut(visible.String(strings.Join(kv, ", ")), 200))
	}
	p.line("  id        %s", visible.String(h.ID))
	if h.DerivedFrom != nil {
		p.line("  made by   %s, of the file with SHA-256 %s", visible.String(h.DerivedFrom.Tool), visible.String(h.DerivedFrom.SHA256))
	}
	if e.Damage != nil {
		p.line("  damage    %s", visible.String(e.Damage.Error()))
	}
	if e.Gaps == 0 {
		p.line("  gaps      none")
	}
	for _, g := range l.gaps {
		var n int64
		for _, s := range g.Gap.Streams {
			n += s.Bytes
		}
		for _, s := range g.Gap.HTTP {
			n += s.Bytes
		}
		p.line("  gap       seq %d to %d, %s: %s", g.Gap.FirstSeq, g.Gap.LastSeq, count(n, "byte"), visible.String(g.Gap.Why))
	}
	if e.Runs > 0 && e.State != record.Live {
		p.line("  unparsed  %s: zstdcat skips them, sixlink repair makes lines of them", count(int64(e.Runs), "chunk run"))
	}
	for _, k := range slices.Sorted(maps.Keys(e.Unknown)) {
		p.line("  unknown   %s of kind %q: a newer sixlink wrote them", count(int64(e.Unknown[k]), "record"), visible.String(string(k)))
	}
}

func (p *printer) session(s *session.Session) {
	era := "era unknown"
	switch s.Era {
	case session.EraInitialize:
		era = "initialize era"
	case session.EraStateless:
		era = "stateless era"
	}
	version := s.ProtocolVersion
	if version == "" {
		version = "no version agreed"
	}
	over := map[string]string{"http": "HTTP", "http+sse": "HTTP with SSE"}[s.Transport]
	if over == "" {
		over = s.Transport
	}
	p.line("session %s  %s, %s, %s", s.ID, over, era, visible.String(version))
	p.line("  host      %s", peer(s.Client))
	p.line("  server    %s", peer(s.Server))
	p.line("  basis     %s", visible.String(s.Basis))
	p.catalog(s.Lists)
	if s.Torn {
		p.line("  capture   torn: the session may go on behind the end of the recording")
	} else if len(s.Capture.Why) > 0 {
		p.line("  capture   %s", visible.String(strings.Join(s.Capture.Why, "; ")))
	}
	if e := s.End.Exit; e != nil {
		how := "signal " + e.Signal
		if e.Code != nil {
			how = "code " + strconv.Itoa(*e.Code)
		}
		if s.End.PassedOn {
			how += ", passed on from outside"
		}
		p.line("  exit      %s", visible.String(how))
	}
	const most = 8
	for i, r := range s.Remarks {
		if i == most {
			p.line("  remark    … and %d more: --format json has them all", len(s.Remarks)-most)
			break
		}
		where := ""
		if r.Seq > 0 {
			where = fmt.Sprintf("seq %d: ", r.Seq)
			if r.Exchange > 0 {
				where = fmt.Sprintf("seq %d, exchange %d: ", r.Seq, r.Exchange)
			}
		}
		p.line("  remark    %s%s %s", where, r.Flag, cut(visible.String(r.Detail), 160))
	}
}

func (p *printer) catalog(lists []*catalog.List) {
	if len(lists) == 0 {
		p.line("  catalog   none on the wire")
		return
	}
	l := lists[len(lists)-1]
	var names []string
	for _, t := range l.Tools {
		names = append(names, visible.String(t.Name))
	}
	more := ""
	if len(lists) > 1 {
		more = fmt.Sprintf(", the last of %d lists", len(lists))
	}
	if l.Why != "" {
		more += ": " + visible.String(l.Why)
	}
	p.line("  catalog   %s, %s on %s%s", l.State, count(int64(len(l.Tools)), "tool"), count(int64(len(l.Pages)), "page"), more)
	if len(names) > 0 {
		p.line("            %s", cut(strings.Join(names, ", "), 300))
	}
}

// calls prints the timeline.
func (p *printer) calls(s *session.Session) {
	if len(s.Calls) == 0 {
		p.line("  calls     none")
		return
	}
	p.line("  calls     %s", count(int64(len(s.Calls)), "call"))
	width := 4
	for _, c := range s.Calls {
		width = min(24, max(width, utf8.RuneCountInString(visible.String(c.Tool))))
	}
	const argWidth = 44
	p.line("    %9s  %-7s %-*s  %-*s  %-14s %9s", "time", "seq", width, "tool", argWidth, "arguments", "outcome", "took")
	for _, c := range s.Calls {
		took := ""
		if ns, ok := c.DurationNs(); ok {
			took = duration(ns)
		}
		outcome := string(c.State)
		switch {
		case c.Error == nil:
		case c.Error.NoCode:
			outcome += " " + c.Error.RawCode
		default:
			outcome += " " + strconv.FormatInt(c.Error.Code, 10)
		}
		p.line("    %9s  %-7s %s  %s  %s %9s", fmt.Sprintf("%.3f s", float64(c.At-s.FirstAt)/1e9), callID(c),
			pad(cut(visible.String(c.Tool), width), width), pad(arguments(c, argWidth), argWidth), pad(outcome, 14), took)
		note := c.ErrorText
		if note == "" {
			note = c.Ended
		}
		if c.Error != nil {
			note = c.Error.Message
		}
		if note != "" {
			p.line("    %9s  %-7s %s", "", "", cut(visible.String(note), 100))
		}
	}
}

// arguments is a call's arguments in short. A long value is not fetched whole
// just to be cut.
func arguments(c *session.Call, n int) string {
	if c.Arguments.IsZero() {
		return "none"
	}
	if c.Arguments.Len() > 64<<10 {
		return fmt.Sprintf("(%s)", count(c.Arguments.Len(), "byte"))
	}
	b, err := c.Arguments.Bytes()
	if err != nil {
		return "(not readable)"
	}
	return cut(visible.String(string(b)), n)
}

func peer(p session.Peer) string {
	if p.Name == "" {
		return "not named on the wire"
	}
	return visible.String(strings.TrimSpace(p.Name + " " + p.Version))
}

func quoteArgv(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'$\\*") {
			words[i] = strconv.Quote(a)
		}
	}
	return strings.Join(words, " ")
}

// cut shortens to n characters, the last an ellipsis.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

// duration is nanoseconds for a person.
func duration(ns int64) string {
	switch d := time.Duration(ns); {
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(ns)/1e6)
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
