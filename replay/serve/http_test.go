package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// webSaid is one exchange of a recording as its client saw it.
type webSaid struct {
	n              int64
	method, target string
	head           http.Header
	request, body  []byte
	status         int
	kind           string // Content-Type
	ended          bool   // by the server
	cut            bool
}

// step is what happened: a request was complete, or a response had so many bytes.
type step struct {
	x    *webSaid
	sent bool
	got  int
	head bool
}

func exchanges(t *testing.T, file string) (all []*webSaid, steps []step) {
	t.Helper()
	r, err := record.Open(file, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	by := map[int64]*webSaid{}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return all, steps
		}
		if err != nil {
			t.Fatal(err)
		}
		x := by[rec.Exchange]
		switch rec.Kind {
		case record.KindRequest:
			x = &webSaid{n: rec.Exchange, method: rec.Request.Method, target: rec.Request.Target, head: http.Header(rec.Request.Headers)}
			by[rec.Exchange] = x
			all = append(all, x)
			if rec.Request.End || rec.Request.Length == 0 {
				steps = append(steps, step{x: x, sent: true})
			}
		case record.KindResponse:
			x.status = rec.Response.Status
			if v := rec.Response.Headers["Content-Type"]; len(v) > 0 {
				x.kind = v[0]
			}
			x.ended = rec.Response.End || rec.Response.Length == 0
			steps = append(steps, step{x: x, head: true})
		case record.KindBody:
			raw := append(bytes.Clone(rec.Data), rec.EOL...)
			if rec.From == record.Client {
				x.request = append(x.request, raw...)
				if rec.End == record.BodyLast {
					steps = append(steps, step{x: x, sent: true})
				}
				continue
			}
			x.body = append(x.body, raw...)
			x.ended = rec.End == record.BodyLast
			x.cut = rec.End == record.BodyCut
			steps = append(steps, step{x: x, got: len(x.body)})
		}
	}
}

// webClient drives the recorded requests.
type webClient struct {
	t       *testing.T
	url     string
	mu      sync.Mutex
	id      string // the session's
	point   string // the endpoint
	live    map[*webSaid]*liveBody
	cond    *sync.Cond
	cancels []context.CancelFunc
	wg      sync.WaitGroup
}

type liveBody struct {
	status int
	kind   string
	b      []byte
	done   bool
	err    error
}

func (c *webClient) send(x *webSaid) {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancels = append(c.cancels, cancel)
	target := x.target
	c.mu.Lock()
	if strings.Contains(target, "sessionId=") && c.point != "" {
		target = c.point
	}
	req, err := http.NewRequestWithContext(ctx, x.method, c.url+target, bytes.NewReader(x.request))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, v := range x.head {
		switch name {
		case "Mcp-Session-Id":
			req.Header.Set(name, c.id)
		case "Authorization":
		default:
			req.Header[name] = v
		}
	}
	lb := &liveBody{}
	c.live[x] = lb
	c.mu.Unlock()
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		note := func(f func()) {
			c.mu.Lock()
			f()
			c.cond.Broadcast()
			c.mu.Unlock()
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			note(func() { lb.done, lb.err = true, err })
			return
		}
		defer res.Body.Close()
		note(func() {
			lb.status, lb.kind = res.StatusCode, res.Header.Get("Content-Type")
			if id := res.Header.Get("Mcp-Session-Id"); id != "" {
				c.id = id
			}
		})
		p := make([]byte, 64<<10)
		for {
			n, err := res.Body.Read(p)
			note(func() {
				lb.b = append(lb.b, p[:n]...)
				if m := endpoint.FindSubmatch(lb.b); m != nil {
					c.point = string(m[1])
				}
				if err != nil {
					lb.done, lb.err = true, err
				}
			})
			if err != nil {
				return
			}
		}
	}()
}

// endpoint is the event that says where to post: each live session has its own.
var endpoint = regexp.MustCompile(`^event: endpoint\r?\ndata: ([^\r\n]*)\r?\n`)

var transport = &http.Transport{DisableCompression: true}

// wait waits until something is true of a response.
func (c *webClient) wait(x *webSaid, what string, f func(*liveBody) bool) bool {
	c.t.Helper()
	timer := time.AfterFunc(time.Minute, func() { c.mu.Lock(); c.cond.Broadcast(); c.mu.Unlock() })
	defer timer.Stop()
	deadline := time.Now().Add(time.Minute)
	c.mu.Lock()
	defer c.mu.Unlock()
	for lb := c.live[x]; !f(lb); c.cond.Wait() {
		if time.Now().After(deadline) {
			c.t.Errorf("exchange %d %s %s: %s does not come; status %d, %d of %d bytes, done %v %v\n%.300s", x.n, x.method, x.target, what, lb.status, len(lb.b), len(x.body), lb.done, lb.err, lb.b)
			return false
		}
	}
	return true
}

// The recorded client gets from a replay over HTTP what it got from the server: each
// exchange byte for byte, and the exchanges in the same order.
func TestRecordedHTTPClientCannotTell(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(), "recordings", "http", "*.mcp.jsonl.zst"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), record.Suffix), func(t *testing.T) {
			tape := open(t, file)
			all, steps := exchanges(t, file)
			id := strings.Repeat("m", 36)
			if m := endpoint.FindSubmatch(all[0].body); m != nil { // steps count bytes
				id = strings.Repeat("m", len(m[1])-bytes.IndexByte(m[1], '=')-1)
			}
			cfg := Config{Mint: func() string { return id }, Patience: slow}
			if filepath.Base(file) == "mcpremote-upstream-http.mcp.jsonl.zst" {
				cfg.Session = 2 // none of its two has calls, and the first is a probe
			}
			s, err := New(tape, cfg)
			if err != nil {
				t.Fatal(err)
			}
			web := s.Web()
			srv := httptest.NewServer(web)
			c := &webClient{t: t, url: srv.URL, live: map[*webSaid]*liveBody{}}
			c.cond = sync.NewCond(&c.mu)
			defer func() {
				for _, cancel := range c.cancels {
					cancel()
				}
				c.wg.Wait()
				srv.CloseClientConnections()
				srv.Close()
				web.Close()
				transport.CloseIdleConnections()
			}()
			played := map[int64]bool{}
			for _, x := range tape.exchanges {
				played[x.n] = x.session == int32(s.n) || x.session < 0
			}
			for _, st := range steps {
				if !played[st.x.n] {
					continue
				}
				ok := true
				switch {
				case st.sent:
					c.send(st.x)
				case st.head:
					ok = c.wait(st.x, "the head", func(lb *liveBody) bool { return lb.status != 0 || lb.done })
				default:
					ok = c.wait(st.x, "the next piece", func(lb *liveBody) bool { return len(lb.b) >= st.got || lb.done })
				}
				if !ok {
					return
				}
			}
			for _, x := range all {
				if !played[x.n] || x.status == 0 {
					continue
				}
				if x.ended && !c.wait(x, "the end", func(lb *liveBody) bool { return lb.done }) {
					continue
				}
				c.mu.Lock()
				lb := *c.live[x]
				c.mu.Unlock()
				want, got := endpoint.ReplaceAllString(string(x.body), "…"), endpoint.ReplaceAllString(string(lb.b), "…")
				if got != want || lb.status != x.status || lb.kind != x.kind || x.ended && lb.err != io.EOF {
					t.Errorf("exchange %d %s %s: status %d (want %d), %q (want %q), %v\n got %.400s\nwant %.400s", x.n, x.method, x.target, lb.status, x.status, lb.kind, x.kind, lb.err, got, want)
				}
			}
			if r := s.Report(); r.Missed != 0 || len(r.Unused) != 0 || r.OtherReplies != 0 {
				var b strings.Builder
				r.Text(&b)
				t.Error(b.String())
			}
		})
	}
}
