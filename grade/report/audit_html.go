package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/record/visible"
)

//go:embed audit.css
var auditStyle string

// AuditHTML writes an audit as one page that needs nothing else: no script, no other
// file, and a policy that allows none.
func AuditHTML(w io.Writer, r *audit.Report) error {
	h := &auditHTML{w: w, r: r}
	h.raw(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>sixlink audit</title>
<style>` + auditStyle + `</style>
</head>
<body>
<header class="bar"><span class="brand"><span class="six" aria-hidden="true"><i></i><i></i><i></i><i></i><i></i><i></i></span>sixlink audit</span></header>
<main>
`)
	h.head()
	h.standsOut()
	if r.Sessions.Total > 0 {
		h.links()
		h.time()
		h.tools()
		h.groups()
		h.points("Slowest calls", r.Slowest, nanos)
		h.points("Largest results", r.Largest, sizeOf)
		h.drift()
		h.never()
		h.peers("Hosts", r.Hosts, true)
		h.peers("Servers", r.Servers, false)
		h.checks()
		h.advice()
	}
	h.skipped()
	h.unmeasured()
	h.raw("</main>\n</body>\n</html>\n")
	return h.err
}

type auditHTML struct {
	w   io.Writer
	r   *audit.Report
	err error
}

func (h *auditHTML) raw(s string) {
	if h.err == nil {
		_, h.err = io.WriteString(h.w, s)
	}
}

// esc makes a text safe to stand in the page, what is hidden in it visible.
func esc(s string) string { return html.EscapeString(visible.String(s)) }

// name is esc for names from recordings, which may be written from right to left.
func bdi(s string) string { return "<bdi>" + esc(named(s)) + "</bdi>" }

func (h *auditHTML) f(format string, args ...any) { h.raw(fmt.Sprintf(format, args...)) }

// table writes a table. Cells are HTML; those whose head begins with "#" are numbers.
func (h *auditHTML) table(heads []string, rows [][]string) {
	h.raw(`<div class="scroll"><table><thead><tr>`)
	for _, t := range heads {
		if text, num := strings.CutPrefix(t, "#"); num {
			h.f(`<th class="num" scope="col">%s</th>`, esc(text))
		} else {
			h.f(`<th scope="col">%s</th>`, esc(t))
		}
	}
	h.raw("</tr></thead><tbody>\n")
	for _, row := range rows {
		h.raw("<tr>")
		for i, cell := range row {
			if strings.HasPrefix(heads[i], "#") {
				h.f(`<td class="num">%s</td>`, cell)
			} else {
				h.f("<td>%s</td>", cell)
			}
		}
		h.raw("</tr>\n")
	}
	h.raw("</tbody></table></div>\n")
}

func (h *auditHTML) section(title, note string) {
	h.f("<section><h2>%s</h2>", esc(title))
	if note != "" {
		h.f(`<p class="soft">%s</p>`, esc(note))
	}
	h.raw("\n")
}

func (h *auditHTML) end() { h.raw("</section>\n") }

// bad marks a count that is not 0.
func bad(n int64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf(`<b class="bad">%d</b>`, n)
}

func num(n int64) string { return fmt.Sprint(n) }

func (h *auditHTML) head() {
	r := h.r
	s := &r.Sessions
	h.f("<h1>%s, %s</h1>\n", many(s.Total, "session"), many(r.Calls.Calls, "call"))
	h.f(`<p class="soft">%s (%s)`, many(r.Recordings.Read, "recording"), sizeOf(r.Recordings.Bytes))
	if r.From != "" {
		h.f(", %s to %s UTC", esc(minute(r.From)), esc(minute(r.To)))
	}
	h.f(". %d sessions with a call, %d without. Eras: %s. Over: %s. Graded by suite %s (%s), analyzer %d.", s.Used, s.Total-s.Used,
		esc(tallyWords(s.Eras, 8)), esc(tallyWords(s.Transports, 8)), esc(r.Suite.ID), esc(shortHash(r.Suite.Hash)), r.AnalyzerVersion)
	if scope := scopeWords(&r.Scope); scope != "" {
		h.f(" Only %s.", html.EscapeString(scope))
	}
	h.raw("</p>\n")
}

func (h *auditHTML) list(class string, lines []string) {
	h.f(`<ul class="%s">`, class)
	for _, l := range lines {
		h.f("<li>%s</li>", esc(l))
	}
	h.raw("</ul>\n")
}

func (h *auditHTML) standsOut() {
	h.section("What stands out", "")
	if lines := auditStandsOut(h.r); len(lines) > 0 {
		h.list("out", lines)
	} else if h.r.Sessions.Total > 0 {
		h.raw("<p>Nothing: no session broke, no call failed, no catalog changed for the worse.</p>\n")
	} else {
		h.raw("<p>Nothing was measured.</p>\n")
	}
	h.end()
}

func (h *auditHTML) links() {
	h.section("The six links", many(h.r.Sessions.Graded, "session")+" graded")
	h.raw(`<ol class="links">`)
	for _, l := range h.r.Links {
		class := "link"
		if l.FirstBreaks > 0 {
			class += " first"
		}
		h.f(`<li class="%s"><span class="name">%s</span><span class="count"><b>%d</b> first breaks</span>`, class, esc(l.Link), l.FirstBreaks)
		h.raw(`<span class="shares" aria-hidden="true">`)
		for _, state := range []string{"passed", "failed", "notReached", "notMeasured", "notApplicable"} {
			if n := l.States[state]; n > 0 {
				h.f(`<i class="share %s" style="flex-grow:%d"></i>`, state, n)
			}
		}
		h.f(`</span><span class="states">%s</span>`, esc(tallyWords(l.States, 5)))
		if l.FirstBreaks > 0 {
			h.f(`<span class="states">by %s</span>`, esc(tallyWords(l.Reasons, 4)))
		}
		h.raw("</li>")
	}
	h.raw("</ol>\n")
	if n := h.r.Sessions.NotGraded; len(n) > 0 {
		h.f(`<p class="soft">Not graded: %s.</p>`, esc(tallyWords(n, 8)))
	}
	h.end()
}

func (h *auditHTML) time() {
	days, what := auditPeriods(h.r.Days)
	h.section("Over time", what+", UTC; first breaks by link")
	heads := []string{"", "#sessions", "#calls", "#failed"}
	for _, l := range chain.Order {
		heads = append(heads, "#"+string(l))
	}
	var rows [][]string
	for _, d := range days {
		row := []string{esc(d.Day), num(d.Sessions), num(d.Calls), bad(d.Errors)}
		for _, l := range chain.Order {
			row = append(row, bad(d.FirstBreaks[string(l)]))
		}
		rows = append(rows, row)
	}
	h.table(heads, rows)
	h.end()
}

var measureHeads = []string{"#calls", "#failed", "#p50", "#p95", "#p99", "#size p95", "#bad args", "#bad results", "#no answer", "#cancelled", "#repeats", "#retries"}

func measureCells(m *audit.MeasuresPart) []string {
	return []string{num(m.Calls), bad(failed(m)), dist(&m.Latency, m.Latency.P50, nanos), dist(&m.Latency, m.Latency.P95, nanos), dist(&m.Latency, m.Latency.P99, nanos),
		dist(&m.Size, m.Size.P95, sizeOf), checkedOf(m.Arguments.Violated, m.Arguments.Checked), checkedOf(m.Results.Violated, m.Results.Checked),
		bad(m.Unanswered), num(m.Cancelled), num(m.Repeats), num(m.Retries)}
}

// checkedOf is a count of those checked; "-" where none was.
func checkedOf(n, checked int64) string {
	if checked == 0 {
		return "-"
	}
	return fmt.Sprintf("%s/%d", bad(n), checked)
}

// auditHTMLRows bounds each table of the page.
const auditHTMLRows = 1000

func (h *auditHTML) tools() {
	all := worstTools(h.r)
	h.section("Tools", fmt.Sprintf("%d, the most failures first; arguments and results that do not fit the tool's own schema, of those that could be checked", len(all)))
	var rows [][]string
	for _, t := range all[:min(len(all), auditHTMLRows)] {
		name, server := bdi(t.Tool), bdi(t.Server)
		if t.Rest {
			name, server = "(all others)", ""
		}
		if text := notes(&t.MeasuresPart); text != "" {
			name += `<div class="note">` + html.EscapeString(text) + "</div>"
		}
		rows = append(rows, append([]string{name, server}, measureCells(&t.MeasuresPart)...))
	}
	h.table(append([]string{"tool", "server"}, measureHeads...), rows)
	h.end()
}

func (h *auditHTML) groups() {
	if len(h.r.By) == 0 {
		return
	}
	h.section("Calls by "+strings.Join(h.r.By, ", "), "")
	var rows [][]string
	for i := range h.r.Groups[:min(len(h.r.Groups), auditHTMLRows)] {
		g := &h.r.Groups[i]
		rows = append(rows, append([]string{"<bdi>" + html.EscapeString(groupName(g)) + "</bdi>"}, measureCells(&g.MeasuresPart)...))
	}
	h.table(append([]string{""}, measureHeads...), rows)
	h.end()
}

func (h *auditHTML) file(id string) string {
	if p := h.r.Paths[id]; p != "" {
		return esc(p)
	}
	return esc(id)
}

func (h *auditHTML) points(title string, points []audit.PointPart, show func(int64) string) {
	if len(points) == 0 {
		return
	}
	h.section(title, "")
	var rows [][]string
	for _, t := range points {
		rows = append(rows, []string{show(t.Value), bdi(t.Tool), bdi(t.Server), esc(t.Call), esc(t.Session), `<code>` + h.file(t.Recording) + `</code>`})
	}
	h.table([]string{"#", "tool", "server", "record", "session", "recording"}, rows)
	h.end()
}

func (h *auditHTML) drift() {
	c := &h.r.Catalogs
	if len(c.Versions) == 0 {
		return
	}
	h.section("Catalogs", fmt.Sprintf("what each host saw, in the order of time: %d breaking changes, %d non-breaking, %d informational",
		c.Classes["breaking"], c.Classes["non-breaking"], c.Classes["informational"]))
	var rows [][]string
	for _, v := range c.Versions[:min(len(c.Versions), auditHTMLRows)] {
		rows = append(rows, []string{bdi(v.Server), bdi(v.Version), num(v.Tools), num(v.Sessions), esc(minute(v.First)), esc(minute(v.Last))})
	}
	h.table([]string{"server", "version", "#tools", "#sessions", "first seen", "last seen"}, rows)
	rows = nil
	changes := slices.Clone(c.Changes)
	slices.SortStableFunc(changes, func(a, b audit.Change) int { return classRank(a.Class) - classRank(b.Class) })
	for i := range changes[:min(len(changes), auditHTMLRows)] {
		ch := &changes[i]
		class := esc(ch.Class)
		if ch.Class == "breaking" {
			class = `<b class="bad">` + class + "</b>"
		}
		rows = append(rows, []string{class, bdi(ch.Server), esc(versionStep(ch)), "<bdi>" + esc(ch.Tool) + "</bdi>", esc(ch.Text), "<code>" + esc(ch.Rule) + "</code>", esc(minute(ch.FirstSeen))})
	}
	if len(rows) > 0 {
		h.table([]string{"class", "server", "version", "tool", "change", "rule", "first seen"}, rows)
	}
	h.end()
}

func (h *auditHTML) never() {
	if len(h.r.NeverCalled) == 0 {
		return
	}
	h.section("Never called", many(int64(len(h.r.NeverCalled)), "tool")+" that are listed")
	var rows [][]string
	for _, n := range h.r.NeverCalled[:min(len(h.r.NeverCalled), auditHTMLRows)] {
		rows = append(rows, []string{bdi(n.Tool), bdi(n.Server), num(n.Lists)})
	}
	h.table([]string{"tool", "server", "#sessions that saw it"}, rows)
	h.end()
}

func (h *auditHTML) peers(title string, peers []audit.PeerPart, host bool) {
	h.section(title, "")
	heads := []string{"", "version", "#sessions", "#with a call", "#calls", "#failed", "#broken", "first breaks"}
	if host {
		heads = append(heads, "pages of lists")
	}
	var rows [][]string
	for i := range peers[:min(len(peers), auditHTMLRows)] {
		p := &peers[i]
		name, version := bdi(p.Name), "<bdi>"+esc(p.Version)+"</bdi>"
		if p.Rest {
			name, version = "(all others)", ""
		}
		row := []string{name, version, num(p.Sessions), num(p.Used), num(p.Calls), bad(p.Errors), bad(p.Broken), esc(tallyWords(p.Breaks, 6))}
		if host {
			row = append(row, esc(tallyWords(p.Paging, 6)))
		}
		rows = append(rows, row)
	}
	h.table(heads, rows)
	h.end()
}

func (h *auditHTML) checks() {
	if len(h.r.Checks) == 0 {
		return
	}
	h.section("Checks", "on graded sessions; an error is missing evidence")
	var rows [][]string
	for _, c := range h.r.Checks[:min(len(h.r.Checks), auditHTMLRows)] {
		rows = append(rows, []string{esc(c.Check), esc(c.Link), esc(c.Role), num(c.Pass), bad(c.Fail), num(c.Error)})
	}
	h.table([]string{"check", "link", "role", "#pass", "#fail", "#error"}, rows)
	h.end()
}

func (h *auditHTML) advice() {
	if len(h.r.Advice) == 0 {
		return
	}
	h.section("Advice", "on the tools that are listed now; no failure")
	var rows [][]string
	for i := range h.r.Advice[:min(len(h.r.Advice), auditHTMLRows)] {
		a := &h.r.Advice[i]
		for _, f := range a.Findings {
			rows = append(rows, []string{bdi(a.Server), "<bdi>" + esc(a.Version) + "</bdi>", fmt.Sprintf("%d of %d %s", f.Count, f.Of, adviceWords[f.What]), "<bdi>" + esc(strings.Join(f.Names, ", ")) + "</bdi>"})
		}
	}
	h.table([]string{"server", "version", "what", "where"}, rows)
	h.end()
}

func (h *auditHTML) skipped() {
	list := h.r.Recordings.Named
	if len(list) == 0 {
		return
	}
	h.section("Left aside", tallyWords(h.r.Recordings.Skipped, 5))
	var rows [][]string
	for _, s := range list {
		rows = append(rows, []string{"<code>" + h.file(s.Recording) + "</code>", esc(s.Why), esc(s.Detail)})
	}
	h.table([]string{"recording", "why", ""}, rows)
	h.end()
}

func (h *auditHTML) unmeasured() {
	h.section("Not measured", "")
	if lines := auditUnmeasured(h.r); len(lines) > 0 {
		h.list("missing", lines)
	} else {
		h.raw("<p>Nothing is missing: all recordings are whole, and every call has its outcome.</p>\n")
	}
	h.end()
}
