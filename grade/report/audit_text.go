package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/record/visible"
)

// AuditText writes an audit as the page that somebody reads on Monday morning: what
// stands out first, then the six links, time, tools, catalogs and hosts, and at the end
// how much of it was not measured. Verbose lists all of what is cut else.
func AuditText(w io.Writer, r *audit.Report, o Options) error {
	p := &auditPage{printer: &printer{w: w, color: o.Color}, r: r, all: o.Verbose}
	p.head()
	if r.Sessions.Total == 0 {
		p.section("nothing was measured", "")
		p.skipped()
		p.unmeasured()
		return p.err
	}
	p.standsOut()
	p.links()
	p.time()
	p.tools()
	p.groups()
	p.points("slowest calls", r.Slowest, nanos)
	p.points("largest results", r.Largest, sizeOf)
	p.drift()
	p.never()
	p.peers()
	p.checks()
	p.advice()
	p.skipped()
	p.unmeasured()
	return p.err
}

type auditPage struct {
	*printer
	r   *audit.Report
	all bool
}

// Rows that are shown of each list unless all are asked for.
const (
	auditTools   = 20
	auditPeers   = 12
	auditChanges = 15
	auditPoints  = 5
	auditDays    = 14
)

func (p *auditPage) shown(most int) int {
	if p.all {
		return 1 << 30
	}
	return most
}

func (p *auditPage) section(title, note string) {
	p.line("")
	title = strings.ToUpper(title)
	if p.color {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	if note != "" {
		title += "  " + note
	}
	p.line("%s", title)
}

func (p *auditPage) more(n int, what string) {
	if n > 0 {
		p.line("  … and %s more (-v)", plural(n, what))
	}
}

func many(n int64, what string) string { return plural(int(n), what) }

func (p *auditPage) head() {
	r := p.r
	s := &r.Sessions
	p.line("sixlink audit: %s (%s), %s, %s", many(r.Recordings.Read, "recording"), sizeOf(r.Recordings.Bytes), many(s.Total, "session"), many(r.Calls.Calls, "call"))
	if r.From != "" {
		p.line("%s to %s UTC", minute(r.From), minute(r.To))
	}
	if scope := scopeWords(&r.Scope); scope != "" {
		p.folded("only ", "", scope, false)
	}
	p.folded("", "", fmt.Sprintf("graded by suite %s (%s), analyzer %d", visible.String(r.Suite.ID), visible.String(shortHash(r.Suite.Hash)), r.AnalyzerVersion), true)
	var parts []string
	for _, k := range []string{"initialize", "stateless", "unknown"} {
		if n := s.Eras[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d of era %s", n, k))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.Transports)) {
		parts = append(parts, fmt.Sprintf("%d over %s", s.Transports[k], visible.String(k)))
	}
	if s.Total > 0 {
		p.folded("sessions: ", "", fmt.Sprintf("%d with a call, %d without; %s", s.Used, s.Total-s.Used, strings.Join(parts, ", ")), false)
	}
}

// minute cuts a time to its minute.
func minute(stamp string) string {
	if len(stamp) < 16 {
		return "(unknown)"
	}
	return stamp[:10] + " " + stamp[11:16]
}

func scopeWords(s *audit.Scope) string {
	var parts []string
	add := func(what string, values ...string) {
		for i := range values {
			values[i] = visible.String(values[i])
		}
		if len(values) > 0 && values[0] != "" {
			parts = append(parts, what+" "+strings.Join(values, " or "))
		}
	}
	add("since", s.Since)
	add("until", s.Until)
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		add("label", k+"="+s.Labels[k])
	}
	add("server", slices.Clone(s.Servers)...)
	add("tool", slices.Clone(s.Tools)...)
	add("host", slices.Clone(s.Hosts)...)
	add("sessions by", s.SessionKey)
	return strings.Join(parts, ", ")
}

// standsOut says in a few lines what somebody would ask about first.
func (p *auditPage) standsOut() {
	lines := auditStandsOut(p.r)
	p.section("what stands out", "")
	if len(lines) == 0 {
		p.line("  nothing: no session broke, no call failed, no catalog changed for the worse")
	}
	for _, l := range lines {
		p.folded("  "+p.paint("failed", "!")+" ", "", l, false)
	}
}

// worstTools are those with errors, the most first.
func worstTools(r *audit.Report) []*audit.ToolPart {
	var out []*audit.ToolPart
	for i := range r.Tools {
		out = append(out, &r.Tools[i])
	}
	slices.SortStableFunc(out, func(a, b *audit.ToolPart) int {
		return cmp.Or(cmp.Compare(failed(&b.MeasuresPart), failed(&a.MeasuresPart)), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return out
}

func failed(m *audit.MeasuresPart) (n int64) {
	for _, k := range m.Errors {
		n += k
	}
	return n
}

func toolName(t *audit.ToolPart) string {
	switch {
	case t.Rest:
		return "(all others)"
	case t.Tool == "":
		return "(no name)"
	}
	return visible.String(t.Tool)
}

func named(name string) string {
	if name == "" {
		return "(no name)"
	}
	return visible.String(name)
}

func auditStandsOut(r *audit.Report) (out []string) {
	broken := int64(0)
	for _, l := range r.Links {
		broken += l.FirstBreaks
	}
	if broken > 0 {
		var at []string
		for _, l := range r.Links {
			if l.FirstBreaks > 0 {
				at = append(at, fmt.Sprintf("%d at %s", l.FirstBreaks, l.Link))
			}
		}
		out = append(out, fmt.Sprintf("%d of %s broke: %s", broken, many(r.Sessions.Graded, "graded session"), strings.Join(at, ", ")))
	}
	for i, t := range worstTools(r) {
		n := failed(&t.MeasuresPart)
		if i == 3 || n == 0 {
			break
		}
		out = append(out, fmt.Sprintf("%s (%s): %d of %s failed, %s", toolName(t), named(t.Server), n, many(t.Calls, "call"), errorWords(&t.MeasuresPart)))
	}
	if n := r.Calls.Unanswered; n > 0 {
		out = append(out, many(n, "call")+" never answered")
	}
	if n := r.Catalogs.Classes["breaking"]; n > 0 {
		c := r.Catalogs.Changes[slices.IndexFunc(r.Catalogs.Changes, func(c audit.Change) bool { return c.Class == "breaking" })]
		out = append(out, fmt.Sprintf("catalogs changed %d times in a breaking way, first %s: %s", n, named(c.Server), changeWords(&c)))
	}
	if n := r.Calls.Arguments.Violated; n > 0 {
		out = append(out, fmt.Sprintf("arguments of %d of %s checked do not fit the tool's own schema", n, many(r.Calls.Arguments.Checked, "call")))
	}
	if n := r.Calls.Results.Violated; n > 0 {
		out = append(out, fmt.Sprintf("%d of %s checked do not fit the tool's own schema", n, many(r.Calls.Results.Checked, "result")))
	}
	for i := range r.Hosts {
		if n := r.Hosts[i].Paging["stopped"]; n > 0 {
			out = append(out, fmt.Sprintf("host %s did not fetch all pages of the list of tools in %s", peerName(&r.Hosts[i]), many(n, "session")))
			break
		}
	}
	if n := r.Recordings.Skipped[audit.SkipUnreadable]; n > 0 {
		out = append(out, many(n, "recording")+" cannot be read")
	}
	return out
}

func errorWords(m *audit.MeasuresPart) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m.Errors)) {
		parts = append(parts, fmt.Sprintf("%d %s", m.Errors[k], k))
	}
	if codes := tallyWords(m.Codes, 3); codes != "" {
		parts = append(parts, "codes "+codes)
	}
	return strings.Join(parts, ", ")
}

// tallyWords are the counts of a tally, the largest first, at most n of them.
func tallyWords(t map[string]int64, n int) string {
	order := slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(cmp.Compare(t[b], t[a]), cmp.Compare(a, b)) })
	var parts []string
	for i, k := range order {
		if i == n {
			parts = append(parts, fmt.Sprintf("%d more kinds", len(order)-n))
			break
		}
		parts = append(parts, fmt.Sprintf("%s ×%d", visible.String(k), t[k]))
	}
	return strings.Join(parts, ", ")
}

func (p *auditPage) links() {
	p.section("the six links", fmt.Sprintf("%s graded", many(p.r.Sessions.Graded, "session")))
	p.line("  %-12s %8s %8s %12s %12s %13s", "", "passed", "failed", "not reached", "not measured", "first break")
	for _, l := range p.r.Links {
		line := fmt.Sprintf("  %-12s %8d %8d %12d %12d %13d", l.Link, l.States["passed"], l.States["failed"], l.States["notReached"], l.States["notMeasured"], l.FirstBreaks)
		if l.FirstBreaks > 0 {
			line = p.paint("failed", line)
		}
		p.line("%s", line)
		if l.FirstBreaks > 0 {
			p.folded("               ", "", "broke by "+tallyWords(l.Reasons, 4), false)
		}
	}
	if n := p.r.Sessions.NotGraded; len(n) > 0 {
		p.folded("  not graded: ", "", tallyWords(n, 8), false)
	}
}

// time shows days, or months where there are many.
func (p *auditPage) time() {
	days, what := auditPeriods(p.r.Days)
	p.section("over time", what+", UTC; first breaks by link")
	p.line("  %-10s %8s %8s %7s %5s %5s %5s %5s %5s %5s", "", "sessions", "calls", "failed", "conn", "disc", "sel", "call", "resp", "user")
	if len(days) > p.shown(auditDays) {
		p.line("  … %s before (-v)", plural(len(days)-auditDays, "row"))
		days = days[len(days)-auditDays:]
	}
	for _, d := range days {
		cells := fmt.Sprintf("  %-10s %8d %8d %7d", d.Day, d.Sessions, d.Calls, d.Errors)
		for _, l := range chain.Order {
			n := d.FirstBreaks[string(l)]
			cell := "    ."
			if n > 0 {
				cell = p.paint("failed", fmt.Sprintf("%5d", n))
			}
			cells += " " + cell
		}
		p.line("%s", cells)
	}
}

// auditPeriods sums days up by month where there are more than two months of them.
func auditPeriods(days []audit.DayPart) (out []audit.DayPart, what string) {
	if len(days) <= 62 {
		return days, "by day"
	}
	for _, d := range days {
		key := d.Day
		if len(key) == len(time.DateOnly) {
			key = key[:len("2006-01")]
		}
		if n := len(out); n == 0 || out[n-1].Day != key {
			out = append(out, audit.DayPart{Day: key, FirstBreaks: map[string]int64{}})
		}
		m := &out[len(out)-1]
		m.Sessions += d.Sessions
		m.Used += d.Used
		m.Calls += d.Calls
		m.Errors += d.Errors
		m.Graded += d.Graded
		for k, n := range d.FirstBreaks {
			m.FirstBreaks[k] += n
		}
	}
	return out, "by month"
}

const measureHead = " calls  failed    p50    p95    p99  size p95"

// measure are the figures of a row.
func (p *auditPage) measure(m *audit.MeasuresPart) string {
	bad := fmt.Sprintf("%7d", failed(m))
	if failed(m) > 0 {
		bad = p.paint("failed", bad)
	}
	return fmt.Sprintf("%6d %s %6s %6s %6s %9s", m.Calls, bad, dist(&m.Latency, m.Latency.P50, nanos), dist(&m.Latency, m.Latency.P95, nanos),
		dist(&m.Latency, m.Latency.P99, nanos), dist(&m.Size, m.Size.P95, sizeOf))
}

// dist shows a quantile; "-" where nothing was measured.
func dist(d *audit.DistPart, v int64, show func(int64) string) string {
	if d.Measured == 0 {
		return "-"
	}
	return show(v)
}

// notes are what is particular about calls, beside the columns.
func notes(m *audit.MeasuresPart) string {
	var parts []string
	add := func(n int64, text string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(text, args...))
		}
	}
	add(failed(m), "%s", errorWords(m))
	add(m.Arguments.Violated, "arguments do not fit in %d of %d (%s)", m.Arguments.Violated, m.Arguments.Checked, tallyWords(m.Arguments.Classes, 5))
	add(m.Results.Violated, "results do not fit in %d of %d (%s)", m.Results.Violated, m.Results.Checked, tallyWords(m.Results.Classes, 5))
	add(m.Unanswered, "%d never answered", m.Unanswered)
	add(m.Cancelled, "%d cancelled", m.Cancelled)
	add(m.Repeats, "%d repeated the call before", m.Repeats)
	add(m.Retries, "%d tried again", m.Retries)
	add(m.Undecided, "%d undecided", m.Undecided)
	add(m.NotMeasured, "%d cut by the recording", m.NotMeasured)
	return strings.Join(parts, "; ")
}

func (p *auditPage) tools() {
	all := worstTools(p.r)
	p.section("tools", fmt.Sprintf("%d, the most failures first", len(all)))
	p.line("  %-32s%s", "", measureHead)
	server := ""
	several := slices.ContainsFunc(p.r.Tools, func(t audit.ToolPart) bool { return t.Server != p.r.Tools[0].Server })
	for i, t := range all {
		if i == p.shown(auditTools) {
			p.more(len(all)-i, "tool")
			break
		}
		name := toolName(t)
		if server = named(t.Server); several && !t.Rest {
			name += " (" + server + ")"
		}
		p.line("  %s%s", pad(short(name, 31), 32), p.measure(&t.MeasuresPart))
		if text := notes(&t.MeasuresPart); text != "" {
			p.folded("      ", "", text, false)
		}
	}
}

func (p *auditPage) groups() {
	if len(p.r.By) == 0 {
		return
	}
	p.section("calls by", visible.String(strings.Join(p.r.By, ", ")))
	p.line("  %-32s%s", "", measureHead)
	for i := range p.r.Groups {
		g := &p.r.Groups[i]
		if i == p.shown(2*auditTools) {
			p.more(len(p.r.Groups)-i, "group")
			break
		}
		p.line("  %s%s", pad(short(groupName(g), 31), 32), p.measure(&g.MeasuresPart))
	}
}

func groupName(g *audit.GroupPart) string {
	if g.Rest {
		return "(all others)"
	}
	parts := make([]string, len(g.Values))
	for i, v := range g.Values {
		parts[i] = named(v)
	}
	return strings.Join(parts, ", ")
}

func (p *auditPage) points(title string, points []audit.PointPart, show func(int64) string) {
	if len(points) == 0 {
		return
	}
	p.section(title, "")
	for i, t := range points {
		if i == p.shown(auditPoints) {
			break
		}
		p.line("  %9s  %s", show(t.Value), short(fmt.Sprintf("%s (%s)", named(t.Tool), named(t.Server)), 66))
		// A path stays whole, so that it can be copied.
		p.line("             record %s of %s", t.Call, p.name(p.r.Paths[t.Recording], t.Recording, t.Session))
	}
}

func changeWords(c *audit.Change) string {
	what := c.Text
	if c.Tool != "" {
		what = visible.String(c.Tool) + ": " + what
	}
	return visible.String(what) + " (" + c.Rule + ")"
}

func versionStep(c *audit.Change) string {
	if c.FromVersion == c.ToVersion {
		return "still " + named(c.ToVersion)
	}
	return named(c.FromVersion) + " → " + named(c.ToVersion)
}

func (p *auditPage) drift() {
	c := &p.r.Catalogs
	if len(c.Versions) == 0 {
		return
	}
	p.section("catalogs", "what each host saw, in the order of time")
	server := ""
	for _, v := range c.Versions {
		if v.Server != server || server == "" {
			server = v.Server
			p.line("  %s", short(named(server), 76))
		}
		p.line("    %s %s in %s, %s to %s", pad(short(named(v.Version), 13), 13), many(v.Tools, "tool"), many(v.Sessions, "session"), minute(v.First), minute(v.Last))
	}
	total := int64(0)
	for _, n := range c.Classes {
		total += n
	}
	if total == 0 {
		p.line("  no change was seen")
		return
	}
	p.line("  %s: %d breaking, %d non-breaking, %d informational", many(total, "change"), c.Classes["breaking"], c.Classes["non-breaking"], c.Classes["informational"])
	changes := slices.Clone(c.Changes)
	slices.SortStableFunc(changes, func(a, b audit.Change) int { return classRank(a.Class) - classRank(b.Class) })
	for i := range changes {
		ch := &changes[i]
		if i == p.shown(auditChanges) {
			p.more(len(changes)-i, "change")
			break
		}
		word := ""
		if ch.Class == "breaking" {
			word = "failed"
		}
		p.folded("    ", word, fmt.Sprintf("%s: %s", ch.Class, changeWords(ch)), false)
		hosts := ""
		if len(ch.Hosts) > 0 {
			hosts = ", seen by " + short(named(ch.Hosts[0]), 30)
			if n := len(ch.Hosts) - 1; n > 0 {
				hosts += fmt.Sprintf(" and %d more", n)
			}
		}
		p.folded("      ", "notMeasured", fmt.Sprintf("%s, %s, %s%s", named(ch.Server), versionStep(ch), minute(ch.FirstSeen), hosts), false)
	}
}

func classRank(class string) int {
	return slices.Index([]string{"breaking", "non-breaking", "informational"}, class)
}

func (p *auditPage) never() {
	if len(p.r.NeverCalled) == 0 {
		return
	}
	p.section("never called", fmt.Sprintf("%s that are listed", many(int64(len(p.r.NeverCalled)), "tool")))
	for i := 0; i < len(p.r.NeverCalled); {
		server := p.r.NeverCalled[i].Server
		var names []string
		for ; i < len(p.r.NeverCalled) && p.r.NeverCalled[i].Server == server; i++ {
			if len(names) < p.shown(auditTools) {
				names = append(names, visible.String(p.r.NeverCalled[i].Tool))
			} else if len(names) == auditTools {
				names = append(names, "…")
			}
		}
		p.folded("  "+short(named(server), 30)+": ", "", strings.Join(names, ", "), false)
	}
}

func peerName(h *audit.PeerPart) string {
	if h.Rest {
		return "(all others)"
	}
	return strings.TrimSpace(named(h.Name) + " " + visible.String(h.Version))
}

func (p *auditPage) peers() {
	for _, list := range []struct {
		title string
		peers []audit.PeerPart
		host  bool
	}{{"hosts", p.r.Hosts, true}, {"servers", p.r.Servers, false}} {
		p.section(list.title, "")
		head := ""
		if list.host {
			head = "pages"
		}
		p.line("  %-35s %8s %8s %7s %7s  %s", "", "sessions", "calls", "failed", "broken", head)
		peers := slices.Clone(list.peers)
		slices.SortStableFunc(peers, func(a, b audit.PeerPart) int { return cmp.Compare(b.Sessions, a.Sessions) })
		for i := range peers {
			h := &peers[i]
			if i == p.shown(auditPeers) {
				p.more(len(peers)-i, list.title[:len(list.title)-1])
				break
			}
			p.line("  %s %8d %8d %7d %7d  %s", pad(short(peerName(h), 34), 35), h.Sessions, h.Calls, h.Errors, h.Broken, pagingWords(h.Paging))
		}
	}
}

func pagingWords(paging map[string]int64) string {
	switch n := paging["stopped"]; {
	case n > 0:
		return fmt.Sprintf("%d stopped", n)
	case paging["stuck"] > 0:
		return fmt.Sprintf("%d stuck", paging["stuck"])
	case paging["whole"] > 0:
		return "whole"
	}
	return ""
}

func (p *auditPage) checks() {
	if len(p.r.Checks) == 0 {
		return
	}
	p.section("checks", "on graded sessions; an error is missing evidence")
	p.line("  %-42s %8s %8s %8s", "", "pass", "fail", "error")
	for _, c := range p.r.Checks {
		p.line("  %s %8d %8d %8d", pad(short(visible.String(fmt.Sprintf("%s (%s, %s)", c.Check, c.Link, c.Role)), 42), 42), c.Pass, c.Fail, c.Error)
	}
}

// adviceWords are the kinds of advice in words.
var adviceWords = map[string]string{
	audit.NoDescription: "tools without a description", audit.NoParameterDescription: "parameters without a description",
	audit.NoOutputSchema: "tools without an outputSchema", audit.NameTwice: "names that stand in the list twice",
}

func (p *auditPage) advice() {
	if len(p.r.Advice) == 0 {
		return
	}
	p.section("advice", "on the tools that are listed now; no failure")
	for i := range p.r.Advice {
		a := &p.r.Advice[i]
		for _, f := range a.Findings {
			names := make([]string, 0, 4)
			for k, n := range f.Names {
				if k == p.shown(3) {
					names = append(names, "…")
					break
				}
				names = append(names, visible.String(n))
			}
			p.folded("  "+short(strings.TrimSpace(named(a.Server)+" "+visible.String(a.Version)), 40)+": ", "",
				fmt.Sprintf("%d of %d %s: %s", f.Count, f.Of, adviceWords[f.What], strings.Join(names, ", ")), false)
		}
	}
}

func (p *auditPage) skipped() {
	list := p.r.Recordings.Named
	if len(list) == 0 {
		return
	}
	p.section("left aside", tallyWords(p.r.Recordings.Skipped, 5))
	for i, s := range list {
		if i == p.shown(auditPeers) {
			p.more(len(list)-i, "recording")
			break
		}
		text := p.name(p.r.Paths[s.Recording], s.Recording, "") + ": " + s.Why
		if s.Detail != "" {
			text += " (" + visible.String(s.Detail) + ")"
		}
		p.hanging("", "  "+text)
	}
}

// unmeasured says what the figures above do not hold.
func (p *auditPage) unmeasured() {
	p.section("not measured", "")
	lines := auditUnmeasured(p.r)
	if len(lines) == 0 {
		p.line("  nothing is missing: all recordings are whole, and every call has its outcome")
	}
	for _, l := range lines {
		p.folded("  ", "", l, false)
	}
}

func auditUnmeasured(r *audit.Report) (out []string) {
	add := func(n int64, text string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(text, args...))
		}
	}
	add(r.Recordings.States["torn"], "%s torn: what came after is not known", many(r.Recordings.States["torn"], "recording"))
	add(r.Recordings.States["live"], "%s still being written", many(r.Recordings.States["live"], "recording"))
	add(r.Recordings.Gapped, "%s with gaps", many(r.Recordings.Gapped, "recording"))
	for _, k := range []string{"unreadable", "noSession", "twice", "filtered"} {
		add(r.Recordings.Skipped[k], "%s left aside: %s", many(r.Recordings.Skipped[k], "recording"), k)
	}
	add(r.Sessions.LeftOut, "%s outside the scope%s", many(r.Sessions.LeftOut, "session"), ifAny(r.Sessions.NoTime, ", %d of them without a time on record"))
	for _, k := range slices.Sorted(maps.Keys(r.Sessions.Capture)) {
		c := r.Sessions.Capture[k]
		add(c["partial"]+c["absent"], "%s: partial in %s, absent in %d", k, many(c["partial"], "session"), c["absent"])
	}
	m := &r.Calls
	add(m.InPartial, "%s in sessions that are not whole", many(m.InPartial, "call"))
	add(m.NotMeasured, "%s cut by the recording: their outcome is not known", many(m.NotMeasured, "call"))
	add(m.Undecided, "%s of which the record does not tell whether they failed", many(m.Undecided, "call"))
	add(m.Latency.NotMeasured, "latency: %d of %d (no answer, late, or cancelled)", m.Latency.NotMeasured, m.Calls)
	add(m.Size.NotMeasured, "result size: %d of %d (no result, or one that cannot be read)", m.Size.NotMeasured, m.Calls)
	add(m.Calls-m.Arguments.Checked, "arguments against schemas: %d of %d (%s)", m.Calls-m.Arguments.Checked, m.Calls, tallyWords(m.Arguments.NotChecked, 6))
	add(m.Calls-m.Results.Checked, "results against schemas: %d of %d (%s)", m.Calls-m.Results.Checked, m.Calls, tallyWords(m.Results.NotChecked, 6))
	add(m.NotCompared, "repeats and retries: %s could not be compared", many(m.NotCompared, "call"))
	add(r.Catalogs.NotKept, "catalogs: %s too long or too deep to be compared", many(r.Catalogs.NotKept, "list"))
	partial := int64(0)
	for _, k := range []string{"partial", "failed", "open"} {
		partial += r.Catalogs.Lists[k]
	}
	add(partial, "catalogs: %s not whole, and not compared", many(partial, "list"))
	add(int64(len(r.Catalogs.Undecided)), "catalogs: %s left open by what they list", many(int64(len(r.Catalogs.Undecided)), "question"))
	for _, k := range slices.Sorted(maps.Keys(r.Bounds)) {
		add(r.Bounds[k], "%s: more than are kept apart: the rest is summed up", k)
	}
	return out
}

func ifAny(n int64, text string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(text, n)
}

// nanos shows a time with three digits.
func nanos(ns int64) string {
	d := float64(ns)
	for _, u := range []struct {
		size float64
		name string
	}{{60e9, "min"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if d >= u.size {
			return digits(d/u.size) + u.name
		}
	}
	return fmt.Sprint(ns) + "ns"
}

// sizeOf shows a number of bytes with three digits.
func sizeOf(n int64) string {
	d := float64(n)
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if d >= u.size {
			return digits(d/u.size) + u.name
		}
	}
	return fmt.Sprint(n) + "B"
}

// digits shows at most three of them.
func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", v), "0"), ".0")
}
