package audit_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

const someBy = "host,era,day"

// The bytes are the same whatever the order in which recordings are added.
func TestReportInAnyOrder(t *testing.T) {
	ms := measured(t, audit.Filter{})
	want := text(t, reportOf(t, ms, someBy))
	rng := rand.New(rand.NewPCG(7, 8))
	for range 4 {
		rng.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		if got := text(t, reportOf(t, ms, someBy)); got != want {
			t.Fatalf("another order gives other bytes:\n%s", got)
		}
	}
	if strings.Contains(want, "fixtures/recordings") {
		t.Error("a path is in the JSON")
	}
}

// An audit that goes on from a state file is one of all recordings at once.
func TestResumeEqualsAllAtOnce(t *testing.T) {
	ms := measured(t, audit.Filter{})
	dims := by(t, someBy)
	want := text(t, reportOf(t, ms, someBy))
	for _, cut := range []int{0, 1, 9, len(ms) - 1, len(ms)} {
		s := &audit.State{Schema: audit.StateSchema, By: strings.Split(someBy, ",")}
		for i, m := range ms[:cut] {
			s.Totals.Add(m, dims)
			s.Counted = append(s.Counted, audit.Counted{ID: m.Recording, Size: int64(i)})
		}
		var kept bytes.Buffer
		if err := s.Write(&kept); err != nil {
			t.Fatal(err)
		}
		s, err := audit.ReadState(kept.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := s.Write(&again); err != nil || !bytes.Equal(again.Bytes(), kept.Bytes()) {
			t.Fatalf("a state is not the same when it is written again (%v)", err)
		}
		for i, m := range ms {
			if size, is := s.Has(m.Recording, 0); is != (i < cut) || is && size != int64(i) {
				t.Fatalf("recording %d of %d: counted %v, with size %d", i, cut, is, size)
			}
		}
		for _, m := range ms[cut:] {
			s.Totals.Add(m, dims)
		}
		if got := text(t, s.Totals.Report(audit.SuiteRef{}, audit.Scope{}, dims)); got != want {
			t.Fatalf("%d before and the rest after give other bytes", cut)
		}
	}
}

// What is no state of this audit is refused by the field.
func TestStateRefused(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"no JSON":         {"SQLite format 3", "no state of an audit"},
		"another schema":  {`{"schema":"sixlink/audit-state/9"}`, `schema is "sixlink/audit-state/9"`},
		"unknown member":  {`{"schema":"sixlink/audit-state/1","more":1}`, "more"},
		"a key too short": {`{"schema":"sixlink/audit-state/1","totals":{"tools":{"of":{"x":{}}}}}`, "totals.tools"},
		"no value":        {`{"schema":"sixlink/audit-state/1","totals":{"days":{"of":{"2026-01-01":null}}}}`, "totals.days"},
		"codes":           {`{"schema":"sixlink/audit-state/1","totals":{"all":{"codes":{"of":{"1":null}}}}}`, "all.codes"},
		"wrong type":      {`{"schema":"sixlink/audit-state/1","totals":{"sessions":{"total":"many"}}}`, "total"},
	} {
		if _, err := audit.ReadState([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
	}
	a := &audit.State{By: []string{"host"}, Scope: audit.Scope{Tools: []string{"a"}}}
	for name, b := range map[string]*audit.State{
		"by": {By: []string{"era"}, Scope: a.Scope}, "scope": {By: a.By}, "suite": {By: a.By, Scope: a.Scope, Suite: audit.SuiteRef{ID: "x"}},
		"analyzerVersion": {By: a.By, Scope: a.Scope, AnalyzerVersion: 7},
	} {
		if err := a.Fits(b); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Fits(a); err != nil {
		t.Error(err)
	}
}

// A state file from a stranger makes no report panic.
func FuzzState(f *testing.F) {
	s := &audit.State{Schema: audit.StateSchema, By: []string{}}
	for _, m := range measured(f, audit.Filter{})[:3] {
		s.Totals.Add(m, nil)
	}
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema":"sixlink/audit-state/1","by":["a"],"totals":{"groups":{"of":{"x":{"latency":{"n":-5,"buckets":{"-7":3}}}}},"catalogs":{"of":{"a\u0000\u0000b\u0000\u0000c\u0000\u0000d":{"tools":"AAAA"}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := audit.ReadState(data)
		if err != nil {
			return
		}
		s.Sort()
		var dims []audit.Dimension
		for range s.By {
			dims = append(dims, by(t, "tool")...)
		}
		_ = text(t, s.Totals.Report(s.Suite, s.Scope, dims))
	})
}

// The filter takes what it names, and says what it left out.
func TestFilters(t *testing.T) {
	all := reportOf(t, measured(t, audit.Filter{}), "")
	var day int64 = 24 * 3600e9
	first := recordings(t)[0].Clock.Start
	for name, c := range map[string]struct {
		f        audit.Filter
		sessions func(r *audit.Report) bool
	}{
		"host":   {audit.Filter{Hosts: []string{"capture-ts2"}}, func(r *audit.Report) bool { return len(r.Hosts) == 1 && r.Hosts[0].Name == "capture-ts2" }},
		"server": {audit.Filter{Servers: []string{"memory-server"}}, func(r *audit.Report) bool { return len(r.Servers) == 1 && r.Servers[0].Name == "memory-server" }},
		"tool": {audit.Filter{Tools: []string{"echo", "slow"}}, func(r *audit.Report) bool {
			return !slices.ContainsFunc(r.Tools, func(p audit.ToolPart) bool { return p.Tool != "echo" && p.Tool != "slow" })
		}},
		"since, past":  {audit.Filter{Since: first - 300*day}, func(r *audit.Report) bool { return r.Sessions.Total == all.Sessions.Total }},
		"until, past":  {audit.Filter{Until: first - 300*day}, func(r *audit.Report) bool { return r.Sessions.Total == 0 }},
		"since, later": {audit.Filter{Since: first + 300*day}, func(r *audit.Report) bool { return r.Sessions.Total == 0 }},
	} {
		r := reportOf(t, measured(t, c.f), "")
		if !c.sessions(r) || r.Sessions.Total+r.Sessions.LeftOut != all.Sessions.Total {
			t.Errorf("%s: %d sessions and %d left out of %d", name, r.Sessions.Total, r.Sessions.LeftOut, all.Sessions.Total)
		}
	}
	// Since and until part the sessions in two.
	cut := first + 60e9
	before, after := reportOf(t, measured(t, audit.Filter{Until: cut}), ""), reportOf(t, measured(t, audit.Filter{Since: cut}), "")
	if n := before.Sessions.Total + after.Sessions.Total; n != all.Sessions.Total {
		t.Errorf("%d and %d sessions, not %d together", before.Sessions.Total, after.Sessions.Total, all.Sessions.Total)
	}
	// A tool's figures are the same when it is asked for alone.
	only := reportOf(t, measured(t, audit.Filter{Tools: []string{"echo"}}), "")
	for i := range only.Tools {
		j := slices.IndexFunc(all.Tools, func(p audit.ToolPart) bool { return p.Server == only.Tools[i].Server && p.Tool == "echo" })
		if j < 0 || all.Tools[j].Calls != only.Tools[i].Calls || all.Tools[j].Latency != only.Tools[i].Latency || all.Tools[j].Repeats != only.Tools[i].Repeats {
			t.Errorf("echo of %s differs when asked for alone", only.Tools[i].Server)
		}
	}
}

// Without a time on record a session is left out of a span of time, and counted.
func TestSessionWithoutTime(t *testing.T) {
	r := *recordings(t)[0]
	r.Clock = session.Clock{}
	m := meter(t, grade.BuiltIn(), audit.Filter{Since: 1}).Measure(&r)
	if len(m.Sessions) != 0 || m.NoTime == 0 || m.NoTime != m.LeftOut {
		t.Errorf("%d sessions, %d left out, %d without a time", len(m.Sessions), m.LeftOut, m.NoTime)
	}
	m = meter(t, grade.BuiltIn(), audit.Filter{}).Measure(&r)
	rep := reportOf(t, []*audit.Measured{m}, "")
	if len(rep.Days) != 1 || rep.Days[0].Day != "unknown" || rep.From != "" {
		t.Errorf("days %+v from %q", rep.Days, rep.From)
	}
}

// pagedSession is a session whose host fetched some pages.
func pagedSession(pages ...string) *session.Session {
	b := catalog.NewBuilder()
	seq := int64(1)
	cursor := ""
	for i, next := range pages {
		r := b.Request(seq, cursor, i > 0)
		if next == "no answer" {
			break
		}
		b.Answer(r, seq+1, []byte(`[{"name":"t`+cursor+`","inputSchema":{"type":"object","properties":{"a":{},"b":{"description":"x"},"c":{"$ref":"#/d"}}}}]`), next, next != "")
		seq += 2
		cursor = next
	}
	return &session.Session{ID: "s1", Lists: b.Lists(), FirstSeq: 1, LastSeq: seq, Server: session.Peer{Name: "srv", Version: "1"},
		Capture: session.Capture{ToolCalls: session.Complete}}
}

// That a host stopped paging is said only where it could have gone on.
func TestPaging(t *testing.T) {
	m := meter(t, grade.BuiltIn(), audit.Filter{})
	for name, c := range map[string]struct {
		s    *session.Session
		edit func(s *session.Session)
		want audit.Paging
	}{
		"whole":          {s: pagedSession("2", ""), want: audit.PagingWhole},
		"stopped":        {s: pagedSession("2"), want: audit.PagingStopped},
		"torn":           {s: pagedSession("2"), edit: func(s *session.Session) { s.Torn = true }, want: audit.PagingUnknown},
		"a gap":          {s: pagedSession("2"), edit: func(s *session.Session) { s.Gaps = []record.Gap{{}} }, want: audit.PagingUnknown},
		"began midway":   {s: pagedSession("2"), edit: func(s *session.Session) { s.Connection.BeganMidway = true }, want: audit.PagingUnknown},
		"stuck":          {s: pagedSession("2", "2"), want: audit.PagingStuck},
		"no list":        {s: pagedSession(), want: audit.PagingNone},
		"not answered":   {s: pagedSession("no answer"), want: audit.PagingUnknown},
		"the next asked": {s: pagedSession("2", "no answer"), want: audit.PagingUnknown},
	} {
		if c.edit != nil {
			c.edit(c.s)
		}
		out := m.Measure(&audit.Recording{Recording: grade.Recording{ID: "r", Sessions: []*session.Session{c.s}}})
		if got := out.Sessions[0].Paging; got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// listed is what a host was shown at a time.
func listed(id, host, version string, at int64, tools string) *audit.Measured {
	b := catalog.NewBuilder()
	b.Answer(b.Request(1, "", false), 2, []byte(tools), "", false)
	s := &session.Session{ID: "s1", Lists: b.Lists(), FirstSeq: 1, LastSeq: 2, Client: session.Peer{Name: host}, Server: session.Peer{Name: "srv", Version: version},
		Capture: session.Capture{ToolCalls: session.Complete, ToolDeclarations: session.Complete}}
	m, err := audit.NewMeter(grade.BuiltIn(), audit.Filter{})
	if err != nil {
		panic(err)
	}
	return m.Measure(&audit.Recording{Recording: grade.Recording{ID: id, Sessions: []*session.Session{s}, Clock: session.Clock{Start: at}}, State: "sealed"})
}

// Catalogs are compared over time for each host, what two hosts saw change is one
// change, and the spelling of JSON is none.
func TestDrift(t *testing.T) {
	const day = 24 * 3600e9
	a := `[{"name":"x","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}},{"name":"y","inputSchema":{"type":"object"}}]`
	spelt := `[ {"inputSchema":{"properties":{"q":{"type":"string"}},"type":"object"}, "name":"x"},{"name":"\u0079","inputSchema":{"type":"object"}}]`
	b := `[{"name":"x","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}]`
	ms := []*audit.Measured{
		listed("r1", "h1", "1", 10*day, a), listed("r2", "h2", "1", 11*day, spelt), listed("r3", "h1", "2", 12*day, b),
		listed("r4", "h2", "2", 13*day, b), listed("r5", "h3", "2", 9*day, `[{"name":"z"}]`), listed("r6", "h1", "2", 14*day, b),
	}
	rng := rand.New(rand.NewPCG(9, 10))
	want := ""
	for range 20 {
		rng.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		r := reportOf(t, ms, "")
		got := text(t, r)
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatal("another order gives other bytes")
		}
		c := r.Catalogs
		if len(c.Changes) != 2 || c.Classes["breaking"] != 2 || len(c.Versions) != 3 {
			t.Fatalf("%d changes, %v, %d versions", len(c.Changes), c.Classes, len(c.Versions))
		}
		for _, ch := range c.Changes {
			if !slices.Equal(ch.Hosts, []string{"h1", "h2"}) || ch.FromVersion != "1" || ch.ToVersion != "2" || ch.FirstSeen != "1970-01-13T00:00:00.000Z" {
				t.Errorf("%+v", ch)
			}
		}
		if len(r.NeverCalled) != 2 || r.NeverCalled[0].Tool != "x" || r.NeverCalled[0].Lists != 5 || r.NeverCalled[1].Tool != "z" {
			t.Errorf("never called %+v", r.NeverCalled)
		}
	}
}

// Advice names what is missing, and does not claim what a reference may say.
func TestAdvice(t *testing.T) {
	m := meter(t, grade.BuiltIn(), audit.Filter{})
	r := reportOf(t, []*audit.Measured{m.Measure(&audit.Recording{Recording: grade.Recording{ID: "r", Sessions: []*session.Session{pagedSession("")}}, State: "sealed"})}, "")
	if len(r.Advice) != 1 || len(r.Advice[0].Findings) != 3 {
		t.Fatalf("%+v", r.Advice)
	}
	if f := r.Advice[0].Findings[1]; f.What != audit.NoParameterDescription || f.Count != 1 || f.Of != 3 || f.Names[0] != "t.a" {
		t.Errorf("%+v", f)
	}
}

// A part of a trial over several recordings is not graded alone by a suite.
func TestPartOfTrial(t *testing.T) {
	suite, err := grade.LoadSuite("s.yaml", []byte("schemaVersion: sixlink/1\nsuite: {id: x}\ndefaults: {assertions: [{type: toolCalledAtLeastOnce, toolName: echo}]}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := *recordings(t)[1]
	r.Labels = map[string]string{grade.LabelTrial: "7", "server": "one"}
	for _, s := range meter(t, suite, audit.Filter{}).Measure(&r).Sessions {
		if s.Graded || s.NotGraded != audit.WhyPart || s.Server != "one" {
			t.Errorf("%+v", s)
		}
	}
	graded := false
	for _, s := range meter(t, grade.BuiltIn(), audit.Filter{}).Measure(&r).Sessions {
		graded = graded || s.Graded
	}
	if !graded {
		t.Error("the built-in suite does not grade it")
	}
}

func TestByRefused(t *testing.T) {
	for _, text := range []string{"", "colour", "tool,tool", "label:", "tool,,day", "server,tool,host,era,day"} {
		if _, err := audit.ParseBy(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if d := by(t, "label:team, tool"); len(d) != 2 || d[0].Name != "label:team" {
		t.Errorf("%v", d)
	}
}
