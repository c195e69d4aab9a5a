package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sixlink/sixlink/grade/chain"
)

// Schema names the shape of the JSON report. Members may be added within a version.
const Schema = "sixlink/audit/1"

// Report is what an audit says, lists in a fixed order.
type Report struct {
	Schema          string   `json:"schema"`
	AnalyzerVersion int      `json:"analyzerVersion"`
	Suite           SuiteRef `json:"suite"`
	Scope           Scope    `json:"scope"`

	Recordings RecordingsPart `json:"recordings"`
	// From and To are when the first and the last session began, UTC.
	From     string       `json:"from,omitempty"`
	To       string       `json:"to,omitempty"`
	Sessions SessionsPart `json:"sessions"`
	Links    []LinkPart   `json:"links"`
	Checks   []CheckPart  `json:"checks"`
	Days     []DayPart    `json:"days"`
	Hosts    []PeerPart   `json:"hosts"`
	Servers  []PeerPart   `json:"servers"`

	Calls MeasuresPart `json:"calls"`
	Tools []ToolPart   `json:"tools"`
	// By names the dimensions of Groups.
	By     []string    `json:"by"`
	Groups []GroupPart `json:"groups"`

	NeverCalled []NeverPart  `json:"neverCalled"`
	Slowest     []PointPart  `json:"slowest"`
	Largest     []PointPart  `json:"largest"`
	Catalogs    CatalogsPart `json:"catalogs"`
	Advice      []Advice     `json:"advice"`
	Quantiles   QuantileNote `json:"quantiles"`
	// Bounds says what was summed up because there was too much of it; all 0: nothing.
	Bounds map[string]int64 `json:"bounds"`

	// Paths name recordings for people: by id, where the file stood. They are in no
	// JSON.
	Paths map[string]string `json:"-"`
}

// SuiteRef names the suite.
type SuiteRef struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
}

// Scope says what counts: the filter and what makes sessions of exchanges.
type Scope struct {
	Since      string            `json:"since,omitempty"`
	Until      string            `json:"until,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Servers    []string          `json:"servers,omitempty"`
	Tools      []string          `json:"tools,omitempty"`
	Hosts      []string          `json:"hosts,omitempty"`
	SessionKey string            `json:"sessionKey,omitempty"`
}

// RecordingsPart counts recordings.
type RecordingsPart struct {
	Read  int64 `json:"read"`
	Bytes int64 `json:"bytes"`
	// States counts those read: sealed, live, torn. Gapped have lost records.
	States  map[string]int64 `json:"states"`
	Gapped  int64            `json:"withGaps"`
	Skipped map[string]int64 `json:"skipped"`
	Named   []skipped        `json:"skippedList"`
}

// SessionsPart counts sessions.
type SessionsPart struct {
	Total int64 `json:"total"`
	Used  int64 `json:"used"` // with a call
	// LeftOut did not pass the filter; NoTime are those of them whose time is not known.
	LeftOut    int64            `json:"leftOut"`
	NoTime     int64            `json:"leftOutNoTime"`
	Eras       map[string]int64 `json:"eras"`
	Transports map[string]int64 `json:"transports"`
	Protocols  map[string]int64 `json:"protocols"`
	// Capture has the capture states of each channel: what is not complete was measured
	// in part, or not at all.
	Capture   map[string]tally `json:"capture"`
	Graded    int64            `json:"graded"`
	NotGraded map[string]int64 `json:"notGraded"`
	Verdicts  map[string]int64 `json:"verdicts"`
}

// LinkPart is one link over all graded sessions.
type LinkPart struct {
	Link        string           `json:"link"`
	States      map[string]int64 `json:"states"`
	FirstBreaks int64            `json:"firstBreaks"`
	Reasons     map[string]int64 `json:"reasons"`
}

// CheckPart counts one check's rows.
type CheckPart struct {
	Check string `json:"check"`
	Link  string `json:"link"`
	Role  string `json:"role"`
	Pass  int64  `json:"pass"`
	Fail  int64  `json:"fail"`
	Error int64  `json:"error"`
}

// DayPart is one day, UTC, by when sessions began.
type DayPart struct {
	Day         string           `json:"day"`
	Sessions    int64            `json:"sessions"`
	Used        int64            `json:"used"`
	Calls       int64            `json:"calls"`
	Errors      int64            `json:"errors"`
	Graded      int64            `json:"graded"`
	FirstBreaks map[string]int64 `json:"firstBreaks"`
}

// PeerPart is one version of a host or server.
type PeerPart struct {
	Name     string           `json:"name"`
	Version  string           `json:"version"`
	Sessions int64            `json:"sessions"`
	Used     int64            `json:"used"`
	Calls    int64            `json:"calls"`
	Errors   int64            `json:"errors"`
	Graded   int64            `json:"graded"`
	Broken   int64            `json:"broken"`
	Breaks   map[string]int64 `json:"firstBreaks"`
	Eras     map[string]int64 `json:"eras"`
	// Paging counts sessions of a host by what became of the pages of lists.
	Paging map[string]int64 `json:"paging,omitempty"`
	First  string           `json:"first,omitempty"`
	Last   string           `json:"last,omitempty"`
	Rest   bool             `json:"rest,omitempty"` // all others together
}

// MeasuresPart are the sums over calls. What was not measured stands beside each.
type MeasuresPart struct {
	Calls int64 `json:"calls"`
	// Sessions are those with such a call; null where it cannot be told.
	Sessions *int64 `json:"sessions"`
	// InPartial are calls of sessions that are not completely on record.
	InPartial int64            `json:"inPartialSessions"`
	States    map[string]int64 `json:"states"`
	Errors    map[string]int64 `json:"errors"`
	Codes     map[string]int64 `json:"codes"`
	// Undecided are calls of which the record does not tell whether they failed;
	// NotMeasured those that it cuts.
	Undecided   int64    `json:"undecided"`
	NotMeasured int64    `json:"notMeasured"`
	Unanswered  int64    `json:"neverAnswered"`
	Cancelled   int64    `json:"cancelled"`
	Latency     DistPart `json:"latencyNs"`
	Waited      int64    `json:"waitedForClient"`
	Size        DistPart `json:"resultBytes"`
	Arguments   FitPart  `json:"arguments"`
	Results     FitPart  `json:"results"`
	Repeats     int64    `json:"repeats"`
	Retries     int64    `json:"retries"`
	// NotCompared are calls whose arguments could not be compared with those before.
	NotCompared   int64 `json:"notCompared"`
	ExtraAttempts int64 `json:"extraAttempts"`
}

// DistPart is how values are distributed.
type DistPart struct {
	Measured    int64 `json:"measured"`
	NotMeasured int64 `json:"notMeasured"`
	Min         int64 `json:"min"`
	P50         int64 `json:"p50"`
	P95         int64 `json:"p95"`
	P99         int64 `json:"p99"`
	Max         int64 `json:"max"`
}

// FitPart is how values fit the tools' own schemas.
type FitPart struct {
	Checked  int64 `json:"checked"`
	Violated int64 `json:"violated"`
	// Classes counts calls with a violation of each class: a call may have several.
	Classes map[string]int64 `json:"classes"`
	// NotChecked counts the others by the reason.
	NotChecked map[string]int64 `json:"notChecked"`
}

// ToolPart is one tool.
type ToolPart struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Rest   bool   `json:"rest,omitempty"`
	MeasuresPart
}

// GroupPart is one group of --by.
type GroupPart struct {
	Values []string `json:"values"`
	Rest   bool     `json:"rest,omitempty"`
	MeasuresPart
}

// NeverPart is a tool that a server lists now and that no call is on record of.
type NeverPart struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Sessions are those that saw a list with it.
	Lists int64 `json:"sessions"`
}

// PointPart points at a call.
type PointPart struct {
	Value     int64  `json:"value"`
	Recording string `json:"recording"`
	Session   string `json:"session"`
	Call      string `json:"call"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
}

// CatalogsPart is what became of the servers' lists of tools.
type CatalogsPart struct {
	// Lists counts lists by their state: only whole ones are compared. NotKept are whole
	// ones too long or too deep for that.
	Lists    map[string]int64 `json:"lists"`
	NotKept  int64            `json:"notKept"`
	Versions []VersionPart    `json:"versions"`
	// Classes counts the changes by class; Changes lists them, at most maxChanges.
	Classes   map[string]int64 `json:"classes"`
	Changes   []Change         `json:"changes"`
	Undecided []string         `json:"undecided"`
}

// VersionPart is one list that sessions with one server version saw.
type VersionPart struct {
	Server  string `json:"server"`
	Version string `json:"version"`
	Catalog string `json:"catalog"`
	Tools   int64  `json:"tools"`
	// Sessions and Hosts are those that saw it.
	Sessions int64    `json:"sessions"`
	Hosts    []string `json:"hosts"`
	First    string   `json:"first,omitempty"`
	Last     string   `json:"last,omitempty"`

	first, last Time
}

// QuantileNote says how quantiles are made.
type QuantileNote struct {
	Method string `json:"method"`
	// RelativeError is the most by which a quantile is too large; it is never too small.
	RelativeError string `json:"relativeError"`
}

// maxChanges and maxUndecided bound what of drift is listed.
const (
	maxChanges   = 5000
	maxUndecided = 200
)

func stamp(t Time) string {
	if t == 0 {
		return ""
	}
	return time.Unix(0, t).UTC().Format("2006-01-02T15:04:05.000Z")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Report makes the report.
func (t *Totals) Report(suite SuiteRef, scope Scope, by []Dimension) *Report {
	r := &Report{Schema: Schema, AnalyzerVersion: chain.AnalyzerVersion, Suite: suite, Scope: scope, From: stamp(t.First), To: stamp(t.Last),
		By: []string{}, Quantiles: QuantileNote{"nearest rank", "1/128"}, Bounds: map[string]int64{}}
	a := &t.Sessions
	r.Recordings = RecordingsPart{t.Recordings.Read, t.Recordings.Bytes, full(t.Recordings.States), t.Recordings.Gapped, full(t.Recordings.Skipped), list(t.Recordings.Named)}
	r.Sessions = SessionsPart{a.Total, a.Used, a.Filtered, a.NoTime, full(a.Eras), full(a.Transports), full(a.Protocols), map[string]tally{},
		a.Graded, full(a.NotGraded), full(a.Verdicts)}
	for _, c := range channels {
		r.Sessions.Capture[c.name] = tally{"complete": a.Capture[c.name]["complete"], "partial": a.Capture[c.name]["partial"], "absent": a.Capture[c.name]["absent"]}
	}
	for i, l := range chain.Order {
		p := LinkPart{Link: string(l), States: full(a.Links[i]), FirstBreaks: a.Breaks[string(l)], Reasons: map[string]int64{}}
		for why, n := range a.Reasons {
			if rest, is := strings.CutPrefix(why, string(l)+" "); is {
				p.Reasons[rest] = n
			}
		}
		r.Links = append(r.Links, p)
	}
	r.Checks = checksOf(&t.Checks)
	for _, k := range t.Days.sorted() {
		d := t.Days.Of[k]
		r.Days = append(r.Days, DayPart{k, d.Sessions, d.Used, d.Calls, d.Errors, d.Graded, full(d.Breaks)})
	}
	r.Hosts, r.Servers = peers(&t.Hosts), peers(&t.Servers)
	r.Calls = t.All.part(false)
	for _, k := range t.Tools.sorted() {
		p := partsOf(k)
		r.Tools = append(r.Tools, ToolPart{p[0], p[1], false, t.Tools.Of[k].part(false)})
	}
	if t.Tools.Rest != nil {
		r.Tools = append(r.Tools, ToolPart{"", "", true, t.Tools.Rest.part(true)})
	}
	for _, d := range by {
		r.By = append(r.By, d.Name)
	}
	for _, k := range t.Groups.sorted() {
		r.Groups = append(r.Groups, GroupPart{partsOf(k), false, t.Groups.Of[k].part(false)})
	}
	if t.Groups.Rest != nil {
		r.Groups = append(r.Groups, GroupPart{[]string{}, true, t.Groups.Rest.part(true)})
	}
	t.catalogsPart(r, scope.Tools)
	r.Slowest, r.Largest = points(t.Slowest), points(t.Largest)
	for name, cut := range map[string]bool{"tools": t.Tools.HasCut, "groups": t.Groups.HasCut, "hosts": t.Hosts.HasCut, "servers": t.Servers.HasCut,
		"days": t.Days.HasCut, "checks": t.Checks.HasCut, "catalogs": t.Catalogs.HasCut} {
		r.Bounds[name] = 0
		if cut {
			r.Bounds[name] = 1
		}
	}
	r.Days, r.Tools, r.Groups, r.Checks = list(r.Days), list(r.Tools), list(r.Groups), list(r.Checks)
	return r
}

// full is a tally that is {} where nothing was counted.
func full(t tally) map[string]int64 {
	if t == nil {
		return map[string]int64{}
	}
	return t
}

func list[E any](l []E) []E {
	if l == nil {
		return []E{}
	}
	return l
}

func points(t top) []PointPart {
	out := []PointPart{}
	for _, p := range t {
		out = append(out, PointPart{p.Value, p.Recording, p.Session, p.Call, p.Server, p.Tool})
	}
	return out
}

func checksOf(b *bounded[outcomes, *outcomes]) (out []CheckPart) {
	for _, k := range b.sorted() {
		p, n := partsOf(k), b.Of[k].Results
		out = append(out, CheckPart{p[1], p[0], p[2], n["pass"], n["fail"], n["error"]})
	}
	slices.SortStableFunc(out, func(a, b CheckPart) int { return linkPlace(a.Link) - linkPlace(b.Link) })
	return out
}

func linkPlace(l string) int {
	for i, o := range chain.Order {
		if string(o) == l {
			return i
		}
	}
	return len(chain.Order)
}

func peers(b *bounded[peer, *peer]) (out []PeerPart) {
	add := func(name, version string, p *peer, rest bool) {
		out = append(out, PeerPart{name, version, p.Sessions, p.Used, p.Calls, p.Errors, p.Graded, p.Broken, full(p.Breaks), full(p.Eras), p.Paging,
			stamp(p.First), stamp(p.Last), rest})
	}
	for _, k := range b.sorted() {
		p := partsOf(k)
		add(p[0], p[1], b.Of[k], false)
	}
	if b.Rest != nil {
		add("", "", b.Rest, true)
	}
	return list(out)
}

// part is what a report has of the sums. Those of a rest do not know their sessions.
func (m *Measures) part(rest bool) MeasuresPart {
	p := MeasuresPart{Calls: m.Calls, InPartial: m.Partial, States: full(m.States), Errors: full(m.Errors), Codes: map[string]int64{},
		Undecided: m.Undecided, NotMeasured: m.States["notMeasured"], Unanswered: m.States["neverAnswered"] + m.States["connectionDrop"],
		Cancelled: m.Cancelled, Waited: m.Waited, Latency: m.Latency.part(m.Calls), Size: m.Size.part(m.Calls),
		Arguments: fit(m.Arguments, m.ArgumentClasses), Results: fit(m.Results, m.ResultClasses),
		Repeats: m.Repeats, Retries: m.Retries, NotCompared: m.RepeatUnknown, ExtraAttempts: m.Attempts}
	if !rest {
		p.Sessions = &m.Sessions
	}
	for k, n := range m.Codes.Of {
		p.Codes[k] = n.N
	}
	if m.Codes.Rest != nil {
		p.Codes["other"] = m.Codes.Rest.N
	}
	return p
}

func (h *Histogram) part(calls int64) DistPart {
	q := h.quantiles(50, 95, 99)
	return DistPart{h.N, calls - h.N, h.Min, q[0], q[1], q[2], h.Max}
}

func fit(words, classes tally) FitPart {
	f := FitPart{Violated: words[string(Violates)], Classes: full(classes), NotChecked: map[string]int64{}}
	f.Checked = f.Violated + words[string(Fits)]
	for w, n := range words {
		if w != string(Violates) && w != string(Fits) {
			f.NotChecked[w] = n
		}
	}
	return f
}

func (t *Totals) catalogsPart(r *Report, only []string) {
	c := CatalogsPart{Lists: full(t.Lists), Classes: map[string]int64{}, Versions: []VersionPart{}, Changes: []Change{}, Undecided: []string{}}
	r.NeverCalled, r.Advice = []NeverPart{}, []Advice{}
	unread := t.eachServer(func(vs []version) {
		c.Versions = append(c.Versions, versionParts(vs)...)
		found, undecided := changes(vs, only)
		for _, ch := range found {
			c.Classes[ch.Class]++
			if len(c.Changes) < maxChanges {
				c.Changes = append(c.Changes, ch)
			}
		}
		c.Undecided = append(c.Undecided, undecided[:min(len(undecided), maxUndecided-len(c.Undecided))]...)
		r.NeverCalled = append(r.NeverCalled, t.never(vs, only)...)
		if a := lint(vs, only); len(a.Findings) > 0 {
			r.Advice = append(r.Advice, a)
		}
	})
	c.NotKept = t.Unkept + unread
	r.Catalogs = c
}

// versionParts are the lists of one server over all hosts, by when they were seen.
func versionParts(vs []version) (out []VersionPart) {
	for i := range vs {
		v := &vs[i]
		k := slices.IndexFunc(out, func(p VersionPart) bool { return p.Version == v.name && p.Catalog == v.hash })
		if k < 0 {
			k = len(out)
			out = append(out, VersionPart{Server: v.server, Version: v.name, Catalog: v.hash, Tools: int64(len(v.list.Tools))})
		}
		p := &out[k]
		p.Sessions += v.Seen
		p.Hosts = append(p.Hosts, v.host)
		span(&p.first, &p.last, v.First)
		span(&p.first, &p.last, v.Last)
	}
	for i := range out {
		out[i].First, out[i].Last = stamp(out[i].first), stamp(out[i].last)
	}
	slices.SortFunc(out, func(a, b VersionPart) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Catalog, b.Catalog))
	})
	return out
}

// never are the tools that a server lists now and of which no call is on record.
func (t *Totals) never(vs []version, only []string) (out []NeverPart) {
	_, tools, _ := current(vs)
	for _, tool := range tools {
		name := utf8(tool.Name)
		if !tool.HasName || len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		key := keyOf(vs[0].server, name)
		if _, called := t.Tools.Of[key]; called || t.Tools.HasCut && key >= t.Tools.Cut {
			continue // or it cannot be told
		}
		p := NeverPart{Server: vs[0].server, Tool: name}
		for k := range vs {
			if _, has := vs[k].list.Find(tool.Name); has {
				p.Lists += vs[k].Seen
			}
		}
		out = append(out, p)
	}
	return out
}
