package diff

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
)

// TextOptions of [Text].
type TextOptions struct {
	Color bool
	// Verbose shows every finding's rule and calls, and what was paired with what.
	Verbose bool
}

// width is that of a terminal, in characters: words are not broken, so that a path can
// be copied.
const width = 80

// maxPairs is how many pairs of sessions are listed without Verbose.
const maxPairs = 10

var marks = map[Class]string{Breaking: "X", NonBreaking: "~", Informational: "."}

var classColours = map[Class]string{Breaking: "31", NonBreaking: "33", Informational: "2"}

// Text writes the result for people: which sessions are compared, the differences,
// the worst first, what could not be decided, and a last line that says it all.
func Text(w io.Writer, r *Result, o TextOptions) error {
	p := &printer{w: w, o: o}
	p.fold("", "    ", fmt.Sprintf("%s -> %s", name(r.A), name(r.B)))
	for i, s := range r.Pairs {
		if i == maxPairs && !o.Verbose {
			p.line("  and %s more", plural(len(r.Pairs)-i, "pair"))
			break
		}
		p.fold("  ", "      ", pairLine(&s))
	}
	class := Class("")
	for _, f := range r.Findings {
		if f.Class != class {
			class = f.Class
			p.line("")
			p.line("%s", p.paint(classColours[class], classTitle(class, r.Count(class))))
		}
		p.finding(f)
	}
	for _, c := range []Class{Breaking, NonBreaking, Informational} {
		if n := r.Dropped[c]; n > 0 {
			p.line("and %d more %s ones of kinds that are not kept", n, c)
		}
	}
	p.undecided(r)
	p.line("")
	if text := noiseLine(r); text != "" {
		p.fold("", "    ", text)
	}
	for _, u := range r.Unused {
		p.fold("", "    ", fmt.Sprintf("--ignore %s ignored nothing", visible.String(u)))
	}
	word, colour := Summary(r), "32"
	switch r.ExitCode() {
	case 1:
		colour = "31"
	case 3:
		colour = "33"
	}
	for _, l := range foldText(word, width, "") {
		p.line("%s", p.paint(colour, l))
	}
	return p.err
}

func classTitle(c Class, n int) string {
	text := map[Class]string{Breaking: "what worked may fail", NonBreaking: "what worked still works", Informational: "nothing follows from it alone"}[c]
	return fmt.Sprintf("%s (%d): %s", strings.ToUpper(string(c)), n, text)
}

func pairLine(s *Pair) string {
	server := peerName(s.ServerA)
	if s.ServerB != s.ServerA && s.ServerB != (session.Peer{}) {
		server += " -> " + peerName(s.ServerB)
	}
	return fmt.Sprintf("session %s = %s (%s): %s, %s", s.A, s.B, s.Basis, server, asked2(s.Calls, s.Requests))
}

func asked2(calls, requests int) string {
	out := plural(calls, "call")
	if requests > 0 {
		out += " and " + plural(requests, "other request")
	}
	return out
}

func peerName(p session.Peer) string {
	if p.Name == "" {
		return "a server without a name"
	}
	return visible.String(peer(p))
}

func name(s Side) string {
	n := s.Path
	if n == "" {
		n = s.ID
	}
	n = visible.String(n)
	if s.Torn {
		n += " (torn)"
	}
	if s.Gaps > 0 {
		n += " (" + plural(s.Gaps, "gap") + ")"
	}
	return n
}

// finding is one difference: what it is about and what it is, the values, and where.
func (p *printer) finding(f *Finding) {
	p.fold("  "+p.paint(classColours[f.Class], marks[f.Class])+" ", "      ", Words(f)+"  ["+f.Rule+"]")
	if f.Before != "" || f.After != "" {
		p.values(f)
	}
	if at := seen(f, p.o.Verbose); at != "" {
		p.fold("      ", "        ", at)
	}
}

// Words are what a finding says, on one line.
func Words(f *Finding) string {
	text := visible.String(f.Text)
	subject := visible.String(f.Subject())
	switch {
	case subject == "":
	case f.Catalog:
		subject = "tool " + subject
	case f.Tool != "":
		subject = "call " + subject
	}
	switch {
	case f.Catalog && f.Tool != "":
		if f.Path != "" && f.Rule != "" && !strings.HasPrefix(f.Path, "/annotations") && strings.Count(f.Path, "/") > 1 {
			return fmt.Sprintf("%s: %s, at %s", subject, text, visible.String(f.Path))
		}
		return fmt.Sprintf("%s: %s", subject, text)
	case f.Path != "" && f.Rule != ErrorText && f.Rule != ErrorCode && !strings.HasPrefix(f.Rule, "capability-"):
		return fmt.Sprintf("%s: %s %s", subject, visible.String(f.Path), text)
	case subject != "":
		return fmt.Sprintf("%s: %s", subject, text)
	}
	return text
}

// values shows what was and what is, on one line where they are short.
func (p *printer) values(f *Finding) {
	if f.Rule == "tool-removed" || f.Rule == "tool-added" || strings.Contains(f.Rule, "-enum-") || strings.Contains(f.Rule, "-type-") || f.Rule == ErrorCode || f.Rule == "tool-annotation-changed" {
		if !p.o.Verbose {
			return // the words have said it
		}
	}
	was, is := visible.String(f.Before), visible.String(f.After)
	switch {
	case was != "" && is != "" && utf8.RuneCountInString(was)+utf8.RuneCountInString(is) < width-16:
		p.line("      was %s, is %s", was, is)
		return
	}
	if was != "" {
		p.line("      was %s", clip(was, width-10, p.o.Verbose))
	}
	if is != "" {
		p.line("      is  %s", clip(is, width-10, p.o.Verbose))
	}
}

// clip cuts a value to n characters, unless all is asked for.
func clip(s string, n int, all bool) string {
	if all || utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// seen says in how many calls, and which.
func seen(f *Finding, verbose bool) string {
	var ids, sessions []string
	for _, w := range f.Where {
		switch {
		case w.CallA != "" && w.CallB != "":
			ids = append(ids, "A "+w.CallA+" = B "+w.CallB)
		case w.CallA != "":
			ids = append(ids, "A "+w.CallA)
		case w.CallB != "":
			ids = append(ids, "B "+w.CallB)
		case verbose && w.SessionA != "":
			sessions = append(sessions, w.SessionA)
		}
	}
	if len(sessions) > 0 {
		if f.Calls > len(sessions) {
			sessions = append(sessions, "…")
		}
		return fmt.Sprintf("in %s: %s", plural(f.Calls, "session"), strings.Join(sessions, ", "))
	}
	if len(ids) == 0 {
		return ""
	}
	if f.Calls > len(ids) {
		ids = append(ids, "…")
	}
	word := "in " + plural(f.Calls, "call")
	if f.Of > 0 && f.Tool+f.Method != "" && f.Rule != CallMissing && f.Rule != CallExtra {
		switch {
		case f.Of == 1:
			word = "in its only call"
		case f.Of == 2 && f.Calls == 2:
			word = "in both calls"
		case f.Calls == f.Of:
			word = "in all " + plural(f.Of, "call")
		default:
			word = fmt.Sprintf("in %d of %s", f.Calls, plural(f.Of, "call"))
		}
	}
	if f.Method != "" {
		word = strings.Replace(word, "call", "request", 1)
	}
	if f.Count > f.Calls {
		word += fmt.Sprintf(", at %d places", f.Count)
	}
	return word + ": record " + strings.Join(ids, ", ")
}

func (p *printer) undecided(r *Result) {
	if len(r.Undecided) == 0 {
		return
	}
	p.line("")
	p.line("UNDECIDED (%d): the recordings do not tell", len(r.Undecided))
	for _, u := range r.Undecided {
		text := visible.String(u.Text)
		if u.Tool != "" {
			text = visible.String(u.Tool) + ": " + text
		}
		if u.Tool != "" && len(u.Calls) > 0 {
			text += fmt.Sprintf(" (%s: record %s", plural(u.Count, "request"), strings.Join(u.Calls, ", "))
			if u.Count > len(u.Calls) {
				text += ", …"
			}
			text += ")"
		}
		p.fold("  ? ", "      ", text)
	}
}

// noiseLine says what differs and counts for nothing.
func noiseLine(r *Result) string {
	words := map[string]string{MatchUUID: "UUIDs made anew", MatchClock: "times of the session", MatchTime: "times", MatchDuration: "durations",
		noiseTolerance: "numbers within the tolerance", noiseIgnored: "ignored", noiseLearned: "learned as noise", noiseSame: "handles"}
	var parts []string
	for _, k := range []string{MatchUUID, MatchClock, MatchTime, MatchDuration, noiseTolerance, noiseSame, noiseIgnored, noiseLearned} {
		if n := r.Noise[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%d)", words[k], n))
		}
	}
	if parts == nil {
		return ""
	}
	return "let pass: " + strings.Join(parts, ", ")
}

// Summary is the result in one line.
func Summary(r *Result) string {
	var parts []string
	for _, c := range []Class{Breaking, NonBreaking, Informational} {
		if n := r.Count(c); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c))
		}
	}
	c := r.Compared
	what := fmt.Sprintf("compared %s, %s, %s", plural(len(r.Pairs), "session"), plural(c.Tools, "tool"), asked2(c.Calls, c.Requests))
	if c.Shape > 0 {
		what += fmt.Sprintf(" (%d by outcome and shape only)", c.Shape)
	}
	open := ""
	if n := len(r.Undecided); n > 0 {
		open = fmt.Sprintf(", %d undecided", n)
	}
	switch {
	case r.Nothing() && len(parts) == 0:
		return "nothing could be compared" + open
	case len(parts) == 0:
		return "no difference" + open + "; " + what
	}
	n := r.Count(Breaking) + r.Count(NonBreaking) + r.Count(Informational)
	word := " differences"
	if n == 1 {
		word = " difference"
	}
	if len(parts) > 1 {
		parts = []string{strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]}
	}
	return parts[0] + word + open + "; " + what
}

type printer struct {
	w   io.Writer
	o   TextOptions
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, strings.TrimRight(format, " ")+"\n", args...)
	}
}

func (p *printer) paint(colour, s string) string {
	if !p.o.Color {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// fold writes a text behind first, the lines after the first behind rest.
func (p *printer) fold(first, rest, text string) {
	for i, l := range foldText(text, width, rest) {
		if i == 0 {
			l = first + l
		} else {
			l = rest + l
		}
		p.line("%s", l)
	}
}

// foldText breaks a text at blanks into lines that fit behind indent.
func foldText(text string, width int, indent string) []string {
	room := width - len(indent)
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > room {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}

// toolNames are the tools and methods that were compared, sorted.
func (r *Result) toolNames() []string {
	var out []string
	for n := range r.Tools {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
