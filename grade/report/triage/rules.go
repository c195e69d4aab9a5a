package triage

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
)

// rules looks at one trial of a spot.
type rules struct {
	spot    *Spot
	example *example
	verdict *report.Verdict
	l       *looker // nil: no recordings are at hand
}

func (r *rules) run() {
	r.common()
	switch r.spot.Link {
	case predicate.Connection:
		if r.failed() {
			r.add(find("not-connected").says(r.spot.Text).at(r.example.link.Records))
		}
	case predicate.Discovery:
		r.discovery()
	case predicate.Selection:
		r.selection()
	case predicate.Call:
		r.call()
	case predicate.Response:
		r.response()
	case predicate.UserValue:
		r.userValue()
	}
}

// failed tells whether the spot is a link that failed.
func (r *rules) failed() bool { return r.example.link != nil }

// found is a cause with what speaks for it.
type found struct {
	id       string
	less     bool
	evidence []string
	records  []report.Record
	tools    []*toolSeen
	key      string
	from     predicate.Link
}

func find(id string) *found { return &found{id: id} }

// faint says that a part of the evidence is missing.
func (f *found) faint(is bool) *found { f.less = is; return f }

// says adds a line of evidence; texts of strangers must be in quotes by then.
func (f *found) says(lines ...string) *found {
	for _, s := range lines {
		if s != "" {
			f.evidence = append(f.evidence, sentence(s))
		}
	}
	return f
}

func (f *found) at(records []report.Record) *found {
	f.records = append(f.records, records...)
	return f
}

// of says which tools it is about: two causes of one id are one if they are about the
// same.
func (f *found) of(tools ...*toolSeen) *found {
	for _, t := range tools {
		if t != nil {
			f.tools = append(f.tools, t)
		}
	}
	return f
}

// about says what of a tool it is about.
func (f *found) about(key string) *found { f.key = key; return f }

func (r *rules) add(f *found) {
	if t := r.example.t; len(t.Parts) == 0 {
		for i := range f.records { // which names no recording, having one
			f.records[i].Recording = t.Recording
		}
	}
	r.spot.add(f)
}

// tells says whether a cause of the spot is about that of the tool already.
func (s *Spot) tells(t *toolSeen, about string) bool {
	suffix := "\x00" + t.server + "\x00" + t.name + "\x00" + about
	return slices.ContainsFunc(s.Causes, func(l *Likely) bool { return strings.HasSuffix(l.key, suffix) })
}

func (s *Spot) add(f *found) {
	c := causeOf(f.id)
	key := c.ID
	for _, t := range f.tools {
		key += "\x00" + t.server + "\x00" + t.name
	}
	key += "\x00" + f.key
	rank := c.Rank
	if f.less {
		rank = c.Less
	}
	at := slices.IndexFunc(s.Causes, func(l *Likely) bool { return l.key == key })
	if at < 0 {
		from := c.From
		switch {
		case f.from != "":
			from = f.from
		case from == "":
			from = s.Link
		}
		l := &Likely{Cause: c, Shows: s.Link, From: from, key: key}
		for _, t := range f.tools[:min(len(f.tools), maxShown)] {
			l.Tools = append(l.Tools, shownTool(t))
		}
		s.Causes = append(s.Causes, l)
		at = len(s.Causes) - 1
	}
	l := s.Causes[at]
	l.Rank = max(l.Rank, rank)
	for _, e := range f.evidence {
		if len(l.Evidence) < maxEvidence && !slices.Contains(l.Evidence, e) {
			l.Evidence = append(l.Evidence, e)
		}
	}
	for _, x := range f.records {
		if len(l.Records) < maxRecords && !slices.Contains(l.Records, x) {
			l.Records = append(l.Records, x)
		}
	}
}

func shownTool(t *toolSeen) Tool {
	return Tool{Server: oneLine(t.server), Version: oneLine(t.version), Name: oneLine(t.name), Listed: t.recording != "",
		Description: limited(t.desc, maxDesc), InputSchema: limited(compact(t.input), shownSchema)}
}

// row is the first row of the spot of one of the kinds.
func (r *rules) row(kinds ...string) *report.Row {
	for _, x := range r.example.rows {
		if slices.Contains(kinds, x.Name) {
			return x
		}
	}
	return nil
}

// sessions are those of the trial that were looked at.
func (r *rules) sessions() []*seen {
	if r.l == nil {
		return nil
	}
	var out []*seen
	for _, k := range sessionsOf(r.example.t) {
		if s := r.l.sessions[k]; s != nil {
			out = append(out, s)
		}
	}
	return out
}

func (r *rules) calls() []*callSeen {
	var out []*callSeen
	for _, s := range r.sessions() {
		out = append(out, s.calls...)
	}
	return out
}

// tool finds a tool among those that the trial's servers listed; where no list is at hand,
// or has it, it is known by name alone.
func (r *rules) tool(name string) *toolSeen {
	for _, s := range r.sessions() {
		if t := s.list.find(name); t != nil {
			return t
		}
	}
	if t := r.elsewhere(name); t != nil {
		return t
	}
	server := ""
	if f := r.example.t.Facts.Servers; len(f) == 1 {
		server = f[0].Key
	}
	return &toolSeen{server: server, name: name}
}

// elsewhere finds a tool in the lists of servers that the trial did not call, by name.
func (r *rules) elsewhere(name string) *toolSeen {
	if r.l == nil {
		return nil
	}
	var mine []string
	for _, s := range r.sessions() {
		mine = append(mine, s.server)
	}
	var out *toolSeen
	for _, st := range r.l.stats {
		if st.name == name && st.entry != nil && !slices.Contains(mine, st.server) && (out == nil || st.server < out.server) {
			out = st.entry
		}
	}
	return out
}

// known tells whether a list has the tool.
func (t *toolSeen) known() bool { return t.recording != "" }

func (c *callSeen) record() []report.Record {
	return []report.Record{{Seq: c.seq, Recording: c.recording}}
}

// common are the rules that hold at every link.
func (r *rules) common() {
	t := r.example.t
	if !r.failed() && len(r.example.rows) == 0 {
		f := find("not-recorded").says(t.Why)
		for i := range t.Links {
			if l := &t.Links[i]; l.State == chain.NotMeasured {
				f.says(string(l.Link) + " was not measured (" + string(l.Reason) + "): " + l.Text)
			}
		}
		r.add(f)
		return
	}
	if l := r.example.link; l != nil && l.SameCallAs != "" {
		r.add(find("broke-before").says("record " + l.SameCallAs + " already failed the call link").comes(predicate.Call).at(l.Records))
	}
	if r.spot.Link == predicate.UserValue && t.FirstBreak != "" && t.FirstBreak != r.spot.Link {
		for i := range t.Links {
			if l := &t.Links[i]; l.Link == t.FirstBreak {
				r.add(find("broke-before").faint(true).says("the " + string(l.Link) + " link failed first (" + string(l.Reason) + "): " + l.Text).comes(l.Link).at(l.Records))
			}
		}
	}
}

func (f *found) comes(l predicate.Link) *found { f.from = l; return f }

// listing maps the checks on what a server lists to causes.
var listings = map[string]string{
	"toolDescriptionsPresent": "no-description", "noDeprecatedToolExposed": "deprecated-tool", "toolNamesUnique": "duplicate-name",
	"toolInputSchemasWellFormed": "broken-schema", "toolAnnotationsPresent": "undeclared-behaviour", "toolOutputSchemasPresent": "undeclared-behaviour",
}

func (r *rules) discovery() {
	for _, row := range r.example.rows {
		id := listings[row.Name]
		if id == "" {
			continue
		}
		f := find(id).faint(id == "deprecated-tool").says(row.Name + ": " + row.Reason).at(row.Records)
		if n := firstQuoted(row.Reason); n != "" {
			f.of(r.tool(n))
		}
		r.add(f)
	}
	if l := r.example.link; l != nil && l.Reason == chain.ToolsListFailed {
		r.add(find("list-failed").says(l.Text).at(l.Records))
	}
}

var inQuotes = regexp.MustCompile(`"([^"\\]{1,200})"`)

// firstQuoted is the name that a reason begins with, or has first. Reasons quote names of
// tools; a name that is cut or holds a quote is not found.
func firstQuoted(reason string) string {
	if m := inQuotes.FindStringSubmatch(reason); m != nil {
		return m[1]
	}
	return ""
}

// texts of a row, in one line.
func rowText(row *report.Row) string { return row.Name + ": " + row.Reason }

// gaveUp tells of a call that the host gave up on.
func gaveUp(c *callSeen) bool { return c.state == session.CallClientTimeout }

// mentions tells whether a text has a name in it, in any case.
func mentions(text, name string) bool {
	return name != "" && strings.Contains(strings.ToLower(text), strings.ToLower(name))
}
