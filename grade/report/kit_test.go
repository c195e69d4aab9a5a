package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with testdata/golden/NAME.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", name, diff)
	}
}

// call is one call of a made session: its arguments and its answer's result as JSON, and
// how long the server took.
type call struct {
	tool, args, result string
	ms                 int64
}

// said is a result of one text.
func said(text string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quote(text))
}

// quote is a JSON string.
func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// broke is a result that is an error.
func broke(text string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"isError":true}`, quote(text))
}

// made is how a session is made.
type made struct {
	id     string
	labels map[string]string
	// host and version of its client, and of its server.
	host, hostVersion, version string
	start                      time.Time
	tools                      string // JSON; empty: those of the shop
	calls                      []call
	torn                       bool
}

const shopTools = `[{"name":"find_order","description":"Finds an order.","inputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}},` +
	`{"name":"refund","description":"Refunds an order.","inputSchema":{"type":"object","properties":{"id":{"type":"integer"},"reason":{"type":"string"}},"required":["id"]}}]`

// recording plays a session.
func (m *made) recording(t testing.TB) grade.Recording {
	t.Helper()
	if m.tools == "" {
		m.tools = shopTools
	}
	if m.host == "" {
		m.host, m.hostVersion = "desk", "2.1"
	}
	if m.version == "" {
		m.version = "1.4.0"
	}
	if m.start.IsZero() {
		m.start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	}
	r := &fixtures.Recording{Name: m.id, State: record.Sealed}
	if m.torn {
		r.State = record.Torn
	}
	r.Header.ID, r.Header.Labels, r.Header.Transport, r.Header.Start.Time = m.id, m.labels, "stdio", m.start
	at := int64(0)
	line := func(from record.From, ms int64, format string, args ...any) {
		at += ms * 1e6
		r.AddLine(from, at, fmt.Sprintf(format, args...), "\n")
	}
	line(record.Client, 1, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%s,"version":%s}}}`, quote(m.host), quote(m.hostVersion))
	line(record.Server, 3, `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":%s}}}`, quote(m.version))
	line(record.Client, 1, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	line(record.Client, 1, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
	line(record.Server, 2, `{"jsonrpc":"2.0","id":"l","result":{"tools":%s}}`, m.tools)
	for i, c := range m.calls {
		line(record.Client, 1000, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":%s}}`, i, quote(c.tool), c.args)
		if c.result != "" {
			line(record.Server, c.ms, `{"jsonrpc":"2.0","id":%d,"result":%s}`, i, c.result)
		}
	}
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	return grade.Recording{ID: m.id, Path: "runs/" + m.id + ".mcp.jsonl.zst", Torn: res.Torn, Labels: m.labels, Sessions: res.Sessions, Clock: res.Clock}
}

func of(c string) map[string]string { return map[string]string{"case": c} }

func loadSuite(t testing.TB, name string) *grade.Suite {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := grade.LoadSuite("suites/"+name, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func gradeAll(t testing.TB, s *grade.Suite, list ...made) *grade.Verdict {
	t.Helper()
	var recs []grade.Recording
	for i := range list {
		recs = append(recs, list[i].recording(t))
	}
	v, err := grade.Grade(s, recs, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// found, refunded and lost are calls of the shop.
var (
	found    = call{"find_order", `{"id":1042}`, said("order 1042: on its way"), 40}
	refunded = call{"refund", `{"id":1042,"reason":"broken"}`, said("refunded"), 120}
)

// shopRun is a run of the shop's suite that has one of everything: a case that passed, one
// that is flaky and passes its threshold, one that failed twice, one without its evidence,
// one that nobody tried, hostile text wherever a recording has text, and a probe.
func shopRun() []made {
	slow := found
	slow.ms = 4000
	nowhere := call{"find_order", `{"id":7}`, broke("no <order> 7|\u202e\x1b[31m`@all` \x00 ]]> ::error::x [a](https://b)"), 15}
	return []made{
		{id: "a1", labels: of("find"), calls: []call{found}},
		{id: "a2", labels: of("find"), calls: []call{found}},
		{id: "b1", labels: of("refund"), calls: []call{found, refunded}},
		{id: "b2", labels: of("refund"), calls: []call{found, {"refund", `{"id":"1042","reason":3}`, said("what?"), 80}}},
		{id: "b3", labels: of("refund"), calls: []call{refunded}, start: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC)},
		{id: "b4", labels: of("refund"), calls: []call{found, refunded}},
		{id: "c1", labels: of("fast"), calls: []call{found, slow}},
		{id: "c2", labels: of("fast"), calls: []call{slow, slow}},
		{id: "d1", labels: of("says"), calls: []call{found}},
		{id: "e1", calls: []call{nowhere}, host: "a\u202e<b>|`x`\x1b[2J", hostVersion: "0", version: "1.5.0"},
		{id: "f1"},
	}
}

func shopVerdict(t testing.TB) *Verdict {
	return Of(gradeAll(t, loadSuite(t, "shop.suite.yaml"), shopRun()...))
}

// render writes in one format.
func render(t testing.TB, v *Verdict, format string, o Options) []byte {
	t.Helper()
	f, err := FormatOf(Formats(), format)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := f.Write(&out, v, o); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// stored is the verdict as its JSON gives it, paths beside.
func stored(t testing.TB, v *Verdict) *Verdict {
	t.Helper()
	text := render(t, v, "json", Options{})
	s, err := Read(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	s.SuiteFiles = v.SuiteFiles
	s.Locate(v.Paths)
	return s
}

func lines(b []byte) []string { return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") }
