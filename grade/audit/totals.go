package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/sixlink/sixlink/grade/chain"
)

// The bounds of what is held, each a number of keys. A pile that has more of one is
// summed up beyond, and the report says so.
const (
	maxTools    = 2000 // of server and tool
	maxPeers    = 1000 // hosts and servers, by version
	maxGroups   = 5000 // of --by
	maxDays     = 4000
	maxChecks   = 2000 // of check, link and role
	maxCodes    = 64   // error codes of a tool
	maxTop      = 20   // slowest and largest calls
	maxListed   = 200  // skipped recordings that are named
	maxCatalogs = 48 << 20
)

// Totals are sums over rows. The zero value is that of no row. It is also what a state
// file keeps: see State.
type Totals struct {
	Recordings recordings `json:"recordings"`
	Sessions   sessions   `json:"sessions"`
	// First and Last bound the starts of the sessions that have one.
	First Time `json:"first,omitzero"`
	Last  Time `json:"last,omitzero"`

	Hosts   bounded[peer, *peer]         `json:"hosts"`   // name, version
	Servers bounded[peer, *peer]         `json:"servers"` // name, version
	Days    bounded[day, *day]           `json:"days"`    // UTC
	Tools   bounded[Measures, *Measures] `json:"tools"`   // server, tool
	Groups  bounded[Measures, *Measures] `json:"groups"`  // the values of --by
	Checks  bounded[outcomes, *outcomes] `json:"checks"`  // check, link, role
	All     Measures                     `json:"all"`

	Catalogs bounded[observed, *observed] `json:"catalogs"` // server, host, version, hash
	Lists    tally                        `json:"lists,omitempty"`
	Unkept   int64                        `json:"unkept"` // whole lists that could not be compared

	Slowest top `json:"slowest,omitempty"`
	Largest top `json:"largest,omitempty"`
}

type recordings struct {
	Read   int64 `json:"read"`
	Bytes  int64 `json:"bytes"`
	States tally `json:"states,omitempty"`
	Gapped int64 `json:"gapped"`
	// Skipped counts those of which nothing counts, by reason; Named lists the first of
	// them by id.
	Skipped tally     `json:"skipped,omitempty"`
	Named   []skipped `json:"named,omitempty"`
}

type skipped struct {
	Recording string `json:"recording"`
	Why       string `json:"why"`
	Detail    string `json:"detail,omitempty"`
}

type sessions struct {
	Total int64 `json:"total"`
	Used  int64 `json:"used"`
	// Filtered were left out by a filter; NoTime are those of them without a time.
	Filtered   int64 `json:"filtered"`
	NoTime     int64 `json:"noTime"`
	Eras       tally `json:"eras,omitempty"`
	Transports tally `json:"transports,omitempty"`
	Protocols  tally `json:"protocols,omitempty"`
	// Capture counts the states of each channel.
	Capture   map[string]tally `json:"capture,omitempty"`
	Graded    int64            `json:"graded"`
	NotGraded tally            `json:"notGraded,omitempty"`
	Verdicts  tally            `json:"verdicts,omitempty"`
	// Links counts the states of each link, Breaks first breaks, Reasons their reasons.
	Links   [6]tally `json:"links"`
	Breaks  tally    `json:"breaks,omitempty"`
	Reasons tally    `json:"reasons,omitempty"` // "link reason"
}

// peer is a host or a server.
type peer struct {
	Sessions int64 `json:"sessions"`
	Used     int64 `json:"used"`
	Calls    int64 `json:"calls"`
	Errors   int64 `json:"errors"`
	Graded   int64 `json:"graded"`
	Broken   int64 `json:"broken"`
	Breaks   tally `json:"breaks,omitempty"`
	Paging   tally `json:"paging,omitempty"`
	Eras     tally `json:"eras,omitempty"`
	First    Time  `json:"first,omitzero"`
	Last     Time  `json:"last,omitzero"`
}

func (p *peer) weight() int { return 1 }
func (p *peer) merge(o *peer) {
	p.Sessions += o.Sessions
	p.Used += o.Used
	p.Calls += o.Calls
	p.Errors += o.Errors
	p.Graded += o.Graded
	p.Broken += o.Broken
	p.Breaks.merge(o.Breaks)
	p.Paging.merge(o.Paging)
	p.Eras.merge(o.Eras)
	span(&p.First, &p.Last, o.First)
	span(&p.First, &p.Last, o.Last)
}

// span widens first and last by t, where that is known.
func span(first, last *Time, t Time) {
	if t == 0 {
		return
	}
	if *first == 0 || t < *first {
		*first = t
	}
	if *last == 0 || t > *last {
		*last = t
	}
}

// day is what happened on one day.
type day struct {
	Sessions int64 `json:"sessions"`
	Used     int64 `json:"used"`
	Calls    int64 `json:"calls"`
	Errors   int64 `json:"errors"`
	Graded   int64 `json:"graded"`
	Breaks   tally `json:"breaks,omitempty"`
}

func (d *day) weight() int { return 1 }
func (d *day) merge(o *day) {
	d.Sessions += o.Sessions
	d.Used += o.Used
	d.Calls += o.Calls
	d.Errors += o.Errors
	d.Graded += o.Graded
	d.Breaks.merge(o.Breaks)
}

// outcomes counts the rows of one check.
type outcomes struct {
	Results tally `json:"results"`
}

func (o *outcomes) weight() int       { return 1 }
func (o *outcomes) merge(p *outcomes) { o.Results.merge(p.Results) }

// Measures are the sums over calls.
type Measures struct {
	Calls int64 `json:"calls"`
	// Sessions are those with such a call.
	Sessions int64 `json:"sessions"`
	// Partial are calls of sessions of which not all calls are on record.
	Partial int64 `json:"partial"`
	States  tally `json:"states,omitempty"`
	Errors  tally `json:"errors,omitempty"` // by kind
	// Codes counts the JSON-RPC codes among them, "other" beyond a bound.
	Codes     bounded[count, *count] `json:"codes"`
	Undecided int64                  `json:"undecided"`
	Latency   Histogram              `json:"latency"`
	Waited    int64                  `json:"waited"` // calls that waited for the client
	Size      Histogram              `json:"size"`
	// Arguments and Results count what came of holding them against the tool's schemas.
	Arguments       tally `json:"arguments,omitempty"`
	ArgumentClasses tally `json:"argumentClasses,omitempty"`
	Results         tally `json:"results,omitempty"`
	ResultClasses   tally `json:"resultClasses,omitempty"`
	Cancelled       int64 `json:"cancelled"`
	Repeats         int64 `json:"repeats"`
	Retries         int64 `json:"retries"`
	RepeatUnknown   int64 `json:"repeatUnknown"`
	Attempts        int64 `json:"attempts"` // beyond the first
}

func (m *Measures) weight() int { return 1 }
func (m *Measures) merge(o *Measures) {
	m.Calls += o.Calls
	m.Sessions += o.Sessions
	m.Partial += o.Partial
	m.States.merge(o.States)
	m.Errors.merge(o.Errors)
	for _, k := range o.Codes.sorted() {
		v, _ := m.Codes.at(k, maxCodes)
		v.merge(o.Codes.Of[k])
	}
	if o.Codes.Rest != nil {
		m.Codes.rest().merge(o.Codes.Rest)
	}
	m.Undecided += o.Undecided
	m.Latency.merge(&o.Latency)
	m.Waited += o.Waited
	m.Size.merge(&o.Size)
	m.Arguments.merge(o.Arguments)
	m.ArgumentClasses.merge(o.ArgumentClasses)
	m.Results.merge(o.Results)
	m.ResultClasses.merge(o.ResultClasses)
	m.Cancelled += o.Cancelled
	m.Repeats += o.Repeats
	m.Retries += o.Retries
	m.RepeatUnknown += o.RepeatUnknown
	m.Attempts += o.Attempts
}

// Failed is how many calls ended in an error.
func (m *Measures) Failed() int64 {
	n := int64(0)
	for _, k := range m.Errors {
		n += k
	}
	return n
}

type count struct {
	N int64 `json:"n"`
}

func (c *count) weight() int    { return 1 }
func (c *count) merge(o *count) { c.N += o.N }

// keyOf makes one key of several texts, which partsOf takes apart.
func keyOf(parts ...string) string {
	for i, p := range parts {
		if strings.Contains(p, "\x00") {
			parts = slices.Clone(parts)
			parts[i] = strings.ReplaceAll(p, "\x00", "\x00\x01")
		}
	}
	return strings.Join(parts, "\x00\x00")
}

func partsOf(key string) []string {
	parts := strings.Split(key, "\x00\x00")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00\x01", "\x00")
	}
	return parts
}

// dayOf is the day in UTC; "unknown" where the time is not.
func dayOf(t Time) string {
	if t == 0 {
		return "unknown"
	}
	return time.Unix(0, t).UTC().Format("2006-01-02")
}

// Add adds what one recording gave. by are the dimensions of the groups.
func (t *Totals) Add(m *Measured, by []Dimension) {
	r := &t.Recordings
	if m.Skipped != "" {
		r.Skipped.add(m.Skipped, 1)
		if m.Skipped != SkipFiltered {
			r.name(skipped{m.Recording, m.Skipped, m.Detail})
		}
	}
	t.Sessions.Filtered += m.LeftOut
	t.Sessions.NoTime += m.NoTime
	if m.Skipped == SkipUnreadable || m.Skipped == SkipTwice || m.Skipped == SkipFiltered {
		return
	}
	r.Read++
	r.Bytes += m.Size
	r.States.add(m.State, 1)
	if m.Gaps > 0 {
		r.Gapped++
	}
	calls := m.Calls
	for i := range m.Sessions {
		s := &m.Sessions[i]
		n := 0
		for n < len(calls) && calls[n].Session == s.Session {
			n++
		}
		t.session(s, calls[:n])
		t.calls(s, calls[:n], by)
		calls = calls[n:]
	}
	for i := range m.Rows {
		row := &m.Rows[i]
		o, _ := t.Checks.at(keyOf(row.Link, row.Check, row.Role), maxChecks)
		o.Results.add(row.Result, 1)
	}
	t.Unkept += m.Unkept
	for i := range m.Catalogs {
		t.catalog(&m.Catalogs[i])
	}
}

// name keeps the first maxListed skipped recordings, by what is said of them.
func (r *recordings) name(s skipped) {
	i, _ := slices.BinarySearchFunc(r.Named, s, compareSkipped)
	if r.Named = slices.Insert(r.Named, i, s); len(r.Named) > maxListed {
		r.Named = r.Named[:maxListed]
	}
}

func compareSkipped(a, b skipped) int {
	return strings.Compare(keyOf(a.Recording, a.Why, a.Detail), keyOf(b.Recording, b.Why, b.Detail))
}

func (t *Totals) session(s *Session, calls []Call) {
	a := &t.Sessions
	a.Total++
	if s.Used {
		a.Used++
	}
	span(&t.First, &t.Last, s.Start)
	a.Eras.add(s.Era, 1)
	a.Transports.add(s.Transport, 1)
	if len(a.Protocols) < maxCodes || a.Protocols[s.Protocol] > 0 {
		a.Protocols.add(s.Protocol, 1)
	} else {
		a.Protocols.add("(other)", 1)
	}
	if a.Capture == nil {
		a.Capture = map[string]tally{}
	}
	for _, c := range channels {
		if a.Capture[c.name] == nil {
			a.Capture[c.name] = tally{}
		}
		a.Capture[c.name][string(c.of(&s.Capture))]++
	}
	t.Lists.merge(s.Lists)
	errors := int64(0)
	for i := range calls {
		if calls[i].ErrorKind != "" {
			errors++
		}
	}
	if s.Graded {
		a.Graded++
		a.Verdicts.add(s.Verdict, 1)
		for i := range s.Links {
			a.Links[i].add(s.Links[i], 1)
			if s.FirstBreak == string(chain.Order[i]) {
				a.Breaks.add(s.FirstBreak, 1)
				a.Reasons.add(s.FirstBreak+" "+s.Reasons[i], 1)
			}
		}
	} else {
		a.NotGraded.add(s.NotGraded, 1)
	}
	one := peer{Sessions: 1, Calls: int64(len(calls)), Errors: errors, Eras: tally{s.Era: 1}, First: s.Start, Last: s.Start}
	if s.Used {
		one.Used = 1
	}
	if s.Graded {
		one.Graded = 1
	}
	if s.FirstBreak != "" {
		one.Broken = 1
		one.Breaks = tally{s.FirstBreak: 1}
	}
	sv, _ := t.Servers.at(keyOf(s.Server, s.ServerVersion), maxPeers)
	sv.merge(&one)
	one.Paging = tally{string(s.Paging): 1}
	h, _ := t.Hosts.at(keyOf(s.Host, s.HostVersion), maxPeers)
	h.merge(&one)
	d, _ := t.Days.at(dayOf(s.Start), maxDays)
	d.merge(&day{Sessions: 1, Used: one.Used, Calls: one.Calls, Errors: errors, Graded: one.Graded, Breaks: one.Breaks})
}

func (t *Totals) calls(s *Session, calls []Call, by []Dimension) {
	seen := map[*Measures]bool{}
	for i := range calls {
		c := &calls[i]
		into := []*Measures{&t.All, nil, nil}[:1]
		m, _ := t.Tools.at(keyOf(c.Server, c.Tool), maxTools)
		into = append(into, m)
		if len(by) > 0 {
			values := make([]string, len(by))
			for k := range by {
				values[k] = by[k].of(c)
			}
			g, _ := t.Groups.at(keyOf(values...), maxGroups)
			into = append(into, g)
		}
		for _, m := range into {
			if !seen[m] {
				seen[m] = true
				m.Sessions++
			}
			m.add(c, s)
		}
		if c.HasLatency {
			t.Slowest.put(c, c.Latency)
		}
		if c.HasSize {
			t.Largest.put(c, c.Size)
		}
	}
}

func (m *Measures) add(c *Call, s *Session) {
	m.Calls++
	if s.Capture.ToolCalls != "complete" {
		m.Partial++
	}
	m.States.add(c.State, 1)
	if c.ErrorKind != "" {
		m.Errors.add(c.ErrorKind, 1)
	}
	if c.HasCode {
		code, _ := m.Codes.at(codeText(c.Code), maxCodes)
		code.N++
	}
	if c.Undecided {
		m.Undecided++
	}
	if c.HasLatency {
		m.Latency.add(c.Latency)
	}
	if c.Waited > 0 {
		m.Waited++
	}
	if c.HasSize {
		m.Size.add(c.Size)
	}
	m.Arguments.add(string(c.Arguments), 1)
	for _, k := range c.ArgumentClasses {
		m.ArgumentClasses.add(k, 1)
	}
	m.Results.add(string(c.Result), 1)
	for _, k := range c.ResultClasses {
		m.ResultClasses.add(k, 1)
	}
	for _, n := range []struct {
		is  bool
		sum *int64
	}{{c.Cancelled, &m.Cancelled}, {c.Repeat, &m.Repeats}, {c.Retry, &m.Retries}, {c.RepeatUnknown, &m.RepeatUnknown}} {
		if n.is {
			*n.sum++
		}
	}
	m.Attempts += int64(max(0, c.Attempts-1))
}

func hourOf(t Time) string {
	if t == 0 {
		return "unknown"
	}
	return time.Unix(0, t).UTC().Format("2006-01-02T15")
}
