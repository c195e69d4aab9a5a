package admin

import (
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sixlink/sixlink/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape is what a strict reader of the text format makes of a page: every rule of
// the format that a scraper may rest on is checked.
type scrape struct {
	types  map[string]string
	values map[string]float64 // by name and labels as they stand
}

var (
	metricName = `[a-zA-Z_:][a-zA-Z0-9_:]*`
	helpLine   = regexp.MustCompile(`^# HELP (` + metricName + `) ((?:[^\\]|\\\\|\\n)*)$`)
	typeLine   = regexp.MustCompile(`^# TYPE (` + metricName + `) (counter|gauge|histogram|summary|untyped)$`)
	sampleLine = regexp.MustCompile(`^(` + metricName + `)(?:\{([^ ]*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)`)
)

func parseText(page string) (*scrape, error) {
	s := &scrape{types: map[string]string{}, values: map[string]float64{}}
	if !strings.HasSuffix(page, "\n") {
		return nil, fmt.Errorf("the last line has no end")
	}
	family, helped := "", ""
	buckets := map[string][]float64{} // of histograms: the bounds, then the counts
	for _, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if _, twice := s.types[m[1]]; twice {
				return nil, fmt.Errorf("%s: a second family", m[1])
			}
			helped = m[1]
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil {
			if m[1] != helped {
				return nil, fmt.Errorf("%s: TYPE without its HELP", m[1])
			}
			family, s.types[m[1]] = m[1], m[2]
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("%q is no line of the format", line)
		}
		base, kind := m[1], s.types[family]
		if kind == "histogram" {
			base = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(base, "_bucket"), "_sum"), "_count")
		}
		if base != family || kind == "" {
			return nil, fmt.Errorf("%q stands in the family %s", line, family)
		}
		if kind == "counter" && !strings.HasSuffix(family, "_total") {
			return nil, fmt.Errorf("%s: a counter whose name does not say so", family)
		}
		le := ""
		for rest := m[2]; rest != ""; {
			pair := labelPair.FindStringSubmatch(rest)
			if pair == nil {
				return nil, fmt.Errorf("%q: labels", line)
			}
			if pair[1] == "le" {
				le = pair[2]
			}
			rest = rest[len(pair[0]):]
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil || kind != "gauge" && (v < 0 || math.IsNaN(v)) {
			return nil, fmt.Errorf("%q: value", line)
		}
		key := m[1]
		if m[2] != "" {
			key += "{" + m[2] + "}"
		}
		if _, twice := s.values[key]; twice {
			return nil, fmt.Errorf("%q comes twice", key)
		}
		s.values[key] = v
		if kind == "histogram" && strings.HasSuffix(m[1], "_bucket") {
			bound, err := strconv.ParseFloat(le, 64)
			if err != nil {
				return nil, fmt.Errorf("%q: le", line)
			}
			b := buckets[family]
			if n := len(b); n > 0 && (b[n-2] >= bound || b[n-1] > v) {
				return nil, fmt.Errorf("%q: buckets do not grow", line)
			}
			buckets[family] = append(b, bound, v)
		}
	}
	for name, kind := range s.types {
		if kind != "histogram" {
			continue
		}
		b := buckets[name]
		if len(b) == 0 || !math.IsInf(b[len(b)-2], 1) || b[len(b)-1] != s.values[name+"_count"] {
			return nil, fmt.Errorf("%s: the last bucket is not +Inf, or not the count", name)
		}
		if _, ok := s.values[name+"_sum"]; !ok {
			return nil, fmt.Errorf("%s has no sum", name)
		}
	}
	return s, nil
}

// The reader must be able to fail.
func TestStrictReader(t *testing.T) {
	const head = "# HELP a_total h\n# TYPE a_total counter\n"
	const hist = "# HELP h x\n# TYPE h histogram\n"
	for _, bad := range []string{
		"", head + "a_total 1", head + "b_total 1\n", head + "a_total -1\n", head + "a_total x\n", head + "a_total 1\na_total 1\n", head + head,
		"# TYPE a_total counter\na_total 1\n", "a_total 1\n", head + "a_total{l=\"\"\"} 1\n", head + "a_total{l='x'} 1\n", head + "a_total{1l=\"x\"} 1\n", head + "\n",
		"# HELP a h\n# TYPE a counter\na 1\n", hist + "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n", hist + "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n",
		hist + "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n", hist + "h_bucket{le=\"+Inf\"} 1\nh_count 1\n",
	} {
		if _, err := parseText(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
	if _, err := parseText(head + "a_total{l=\"x\\\\\\\"\\n\",m=\"\"} 1.5e3\n"); err != nil {
		t.Error(err)
	}
}

func (s *scrape) want(t *testing.T, want map[string]float64) {
	t.Helper()
	for k, v := range want {
		if got, ok := s.values[k]; !ok || got != v {
			t.Errorf("%s is %v (%v), want %v", k, got, ok, v)
		}
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Counters{}
		tap := c.Tap(nil)
		tap.Data(record.Client, make([]byte, 10))
		tap.Data(record.Server, make([]byte, 20))
		tap.Data(record.Stderr, make([]byte, 30))
		request := func(n int64) {
			tap.Event(record.Record{Kind: record.KindRequest, Exchange: n, Request: &record.HTTPRequest{}})
		}
		respond := func(n int64, status int, change func(*record.HTTPResponse)) {
			h := &record.HTTPResponse{Status: status, Headers: record.Fields{"Content-Type": {"application/json"}}}
			if change != nil {
				change(h)
			}
			tap.Event(record.Record{Kind: record.KindResponse, Exchange: n, Response: h})
		}
		stream := func(h *record.HTTPResponse) {
			h.Headers = record.Fields{"Content-Type": {"text/event-stream; charset=utf-8"}}
		}
		request(1)
		request(2)
		request(3)
		request(4)
		request(5)
		request(6)
		tap.Body(&record.Body{Exchange: 1, From: record.Client, Data: make([]byte, 7)})
		time.Sleep(40 * time.Millisecond)
		respond(1, 103, nil) // interim: not the response
		respond(1, 200, nil)
		respond(2, 200, stream)
		time.Sleep(2 * time.Minute)
		respond(3, 404, nil)
		respond(4, 502, func(h *record.HTTPResponse) { h.Made = true })
		respond(5, 200, stream)
		tap.Body(&record.Body{Exchange: 1, From: record.Server, Data: make([]byte, 9)})
		for _, n := range []int64{1, 3, 4, 5, 6, 6} {
			tap.Done(n)
		}
		tap.End(record.Client)
		if !tap.Flush(0) {
			t.Error("nothing recorded is on no disk")
		}
		page := c.metrics("1.2\"\\\n", false, record.Stats{Records: 12, Gaps: 2, Queued: 65536, Limit: 1 << 24})
		s, err := parseText(page)
		if err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		s.want(t, map[string]float64{
			`sixlink_build_info{version="1.2\"\\\n"}`:             1,
			`sixlink_bytes_total{from="client",over="stdio"}`:     10,
			`sixlink_bytes_total{from="server",over="stdio"}`:     20,
			`sixlink_bytes_total{from="stderr",over="stdio"}`:     30,
			`sixlink_bytes_total{from="client",over="http"}`:      7,
			`sixlink_bytes_total{from="server",over="http"}`:      9,
			`sixlink_exchanges_total{code="2xx"}`:                 2,
			`sixlink_exchanges_total{code="4xx"}`:                 1,
			`sixlink_exchanges_total{code="5xx"}`:                 1,
			`sixlink_exchanges_total{code="none"}`:                1,
			`sixlink_open_exchanges`:                              1,
			`sixlink_open_streams`:                                1,
			`sixlink_made_responses_total`:                        1,
			`sixlink_upstream_latency_seconds_bucket{le="0.025"}`: 0,
			`sixlink_upstream_latency_seconds_bucket{le="0.05"}`:  2,
			`sixlink_upstream_latency_seconds_bucket{le="60"}`:    2,
			`sixlink_upstream_latency_seconds_bucket{le="+Inf"}`:  4,
			`sixlink_upstream_latency_seconds_count`:              4,
			`sixlink_recording`:                                   0,
			`sixlink_records_total`:                               12,
			`sixlink_recording_gaps_total`:                        2,
			`sixlink_recording_queue_bytes`:                       65536,
			`sixlink_recording_queue_limit_bytes`:                 1 << 24,
		})
		if sum := s.values["sixlink_upstream_latency_seconds_sum"]; math.Abs(sum-240.16) > 1e-6 {
			t.Errorf("sum %v", sum)
		}
	})
}

func TestRequests(t *testing.T) {
	s, err := Listen(Config{Addr: ":0", Version: "v", Counters: &Counters{}, Recording: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if host, _, _ := net.SplitHostPort(s.ln.Addr().String()); host != "127.0.0.1" {
		t.Errorf("without a host it listens at %s", host)
	}
	for _, c := range []struct {
		name, method, path, host string
		serving                  bool
		status                   int
		body                     string
	}{
		{"alive", "GET", "/healthz", "127.0.0.1:9", false, 200, "ok"},
		{"alive, by name", "GET", "/healthz", "LocalHost:9", false, 200, "ok"},
		{"alive, IPv6", "GET", "/healthz", "[::1]:9", false, 200, "ok"},
		{"alive, IPv6 without a port", "GET", "/healthz", "[::1]", false, 200, "ok"},
		{"not ready", "GET", "/readyz", "127.0.0.1", false, 503, "not serving\nnot recording"},
		{"not recording", "GET", "/readyz", "127.0.0.1", true, 503, "not recording"},
		{"metrics", "GET", "/metrics", "127.0.0.1", true, 200, "# HELP"},
		{"a page's own name", "GET", "/metrics", "evil.example:9", true, 403, "not known"},
		{"a name that begins so", "GET", "/metrics", "localhost.evil.example", true, 403, ""},
		{"an address that is a name", "GET", "/metrics", "127.0.0.1.evil.example", true, 403, ""},
		{"no Host", "GET", "/metrics", "", true, 403, ""},
		{"POST", "POST", "/metrics", "127.0.0.1", true, 405, ""},
		{"HEAD", "HEAD", "/healthz", "127.0.0.1", true, 405, ""},
		{"no profiles", "GET", "/debug/pprof/", "127.0.0.1", true, 404, ""},
		{"nothing else", "GET", "/metrics/", "127.0.0.1", true, 404, ""},
	} {
		s.Serving(c.serving)
		r := httptest.NewRequest(c.method, "http://x"+c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d %q, want %d %q", c.name, w.Code, w.Body, c.status, c.body)
		}
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{":9000": "127.0.0.1:9000", "0.0.0.0:1": "0.0.0.0:1", "[::]:1": "[::]:1", "9000": "", "": "", "h:": ""} {
		if got, err := Address(in); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// The endpoint over a real connection, in front of a real recorder.
func TestServer(t *testing.T) {
	rec, err := record.Begin(record.Config{Dir: t.TempDir(), Name: "r", Version: "test", Transport: "stdio", Level: record.LevelFull})
	if err != nil {
		t.Fatal(err)
	}
	c := &Counters{}
	s, err := Listen(Config{Addr: "localhost:0", Version: "v", Counters: c, Recorder: rec, Recording: true})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run() }()
	s.Serving(true)
	tap := c.Tap(rec)
	tap.Data(record.Client, []byte("{}\n{}\n"))
	get := func(path string) (int, string) {
		resp, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if path == "/metrics" && resp.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
			t.Errorf("type %q", resp.Header.Get("Content-Type"))
		}
		return resp.StatusCode, string(body)
	}
	if code, body := get("/readyz"); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	_, page := get("/metrics")
	m, err := parseText(page)
	if err != nil {
		t.Fatalf("%v in\n%s", err, page)
	}
	m.want(t, map[string]float64{"sixlink_records_total": 2, "sixlink_recording": 1, "sixlink_recording_gaps_total": 0, `sixlink_bytes_total{from="client",over="stdio"}`: 6})
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for k := range m.types {
			if !yield(k) {
				return
			}
		}
	}) {
		if !strings.HasPrefix(name, "sixlink_") {
			t.Errorf("%s has no prefix", name)
		}
	}
	rec.Close(time.Minute)
	if _, err := Listen(Config{Addr: s.ln.Addr().String(), Counters: c}); err == nil {
		t.Error("an address was bound twice")
	}
	http.DefaultClient.CloseIdleConnections()
	s.Close()
	s.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A listener that fails does not end those that run beside it.
func TestServerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Listen(Config{Addr: ":0", Counters: &Counters{}})
		if err != nil {
			t.Fatal(err)
		}
		s.ln.Close()
		ended := make(chan error, 1)
		go func() { ended <- s.Run() }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("Run ended before Close: %v", err)
		default:
		}
		s.Close()
		if err := <-ended; err == nil {
			t.Error("the listener's error is lost")
		}
	})
}
