//go:build unix

package proxy_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record"
)

// casePlay is the http.json of a case (fixtures/cases/README.md).
type casePlay struct {
	Exchanges []struct {
		N   int
		Req struct {
			Method, Path string
			Headers      [][2]string
			Body         *string
			BodyB64      []byte `json:"body_b64"`
		}
		Res struct {
			Status  int
			Headers [][2]string
			Chunks  []struct {
				Text *string
				B64  []byte
			}
			End string
		}
	}
}

// caseAsserts are the asserts of a case on what passes.
type caseAsserts struct {
	Status    []int                         `json:"proxy.status"`
	Requests  int                           `json:"proxy.upstream_request_count"`
	BodyBytes map[string]int                `json:"proxy.upstream_body_bytes"`
	Upstream  map[string]map[string]*string `json:"proxy.upstream_header"`
	Reply     map[string]map[string]string  `json:"proxy.reply_header"`
	Location  map[string]string             `json:"proxy.location"`
	Challenge map[string]int                `json:"proxy.challenge_lines"`
	SHA       map[string]string             `json:"proxy.body_sha256_by_exchange"`
}

func readCase(t *testing.T, name string) (play casePlay, asserts caseAsserts) {
	t.Helper()
	dir := filepath.Join("..", "fixtures", "cases", name)
	b, err := os.ReadFile(filepath.Join(dir, "http.json"))
	if err == nil {
		err = json.Unmarshal(b, &play)
	}
	if err != nil {
		t.Fatal(err)
	}
	md, err := os.ReadFile(filepath.Join(dir, "expect.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(md), "```json")
	block, _, _ = strings.Cut(block, "```")
	if err := json.Unmarshal([]byte(block), &asserts); err != nil {
		t.Fatal(err)
	}
	return play, asserts
}

// values are a message's values of a field.
func (m message) values(name string) []string {
	var out []string
	for _, f := range m.Fields {
		if v, ok := strings.CutPrefix(f, strings.ToLower(name)+": "); ok {
			out = append(out, v)
		}
	}
	return out
}

// The cases of HTTP pass as they would without a proxy, and each request once. When
// pieces pass is TestPiecesPassAtOnce's.
func TestCasesOfHTTP(t *testing.T) {
	for _, name := range []string{"33-session-404", "35-notification-statuses", "37-sse-timing", "39-mislabelled-body", "41-get405-delete",
		"43-auth-401", "45-redirect-307", "47-hop-by-hop", "96-sent-again"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play, asserts := readCase(t, name)
			turn := make(chan int, 1)
			o := answers(t, func(c net.Conn, _ *bufio.Reader, _ message) bool {
				res := play.Exchanges[<-turn].Res
				var b strings.Builder
				fmt.Fprintf(&b, "HTTP/1.1 %d As In The Case\r\n", res.Status)
				sized := res.Status == 204
				for _, h := range res.Headers {
					fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
					sized = sized || h[0] == "Content-Length"
				}
				frame := func(p string) string { return p }
				if !sized {
					b.WriteString("Transfer-Encoding: chunked\r\n")
					frame = func(p string) string { return chunked(p) }
				}
				io.WriteString(c, b.String()+"\r\n")
				for _, p := range res.Chunks {
					if p.Text != nil {
						p.B64 = []byte(*p.Text)
					}
					if len(p.B64) > 0 {
						io.WriteString(c, frame(string(p.B64)))
					}
				}
				if res.End == "abort" {
					return false
				}
				if !sized {
					io.WriteString(c, lastChunk)
				}
				return true
			})
			s := serve(t, o.url)
			var status []int
			for i, x := range play.Exchanges {
				n := strconv.Itoa(x.N)
				request := func(addr string) string {
					var b strings.Builder
					fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", x.Req.Method, x.Req.Path, addr)
					if x.Req.Body != nil {
						x.Req.BodyB64 = []byte(*x.Req.Body)
					}
					body := string(x.Req.BodyB64)
					sized := body == ""
					for _, h := range x.Req.Headers {
						if h[0] == "Expect" {
							continue // TestContinueIsTheUpstreams
						}
						if h[0] == "Transfer-Encoding" {
							sized, body = true, chunked(body)+lastChunk
						}
						fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
					}
					if !sized {
						fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
					}
					return b.String() + "\r\n" + body
				}
				turn <- i
				direct := ask(t, strings.TrimPrefix(o.url, "http://"), request(strings.TrimPrefix(o.url, "http://")))
				turn <- i
				got := ask(t, s.addr, request(s.addr))
				if d := cmp.Diff(direct, got); d != "" {
					t.Errorf("exchange %d, -direct +proxied:\n%s", x.N, d)
				}
				code, _ := strconv.Atoi(strings.Fields(got.First)[1])
				status = append(status, code)
				for name, want := range asserts.Reply[n] {
					if !slices.Equal(got.values(name), []string{want}) {
						t.Errorf("exchange %d: %s is %q", x.N, name, got.values(name))
					}
				}
				if want, ok := asserts.Location[n]; ok && !slices.Equal(got.values("location"), []string{want}) {
					t.Errorf("exchange %d: location %q", x.N, got.values("location"))
				}
				if want, ok := asserts.Challenge[n]; ok && len(got.values("www-authenticate")) != want {
					t.Errorf("exchange %d: challenges %q", x.N, got.values("www-authenticate"))
				}
				if want, ok := asserts.SHA[n]; ok {
					if sum := sha256.Sum256([]byte(got.Body)); hex.EncodeToString(sum[:]) != want {
						t.Errorf("exchange %d: body %q", x.N, got.Body)
					}
				}
			}
			if asserts.Status != nil && !slices.Equal(status, asserts.Status) {
				t.Errorf("statuses %v, want %v", status, asserts.Status)
			}
			requests := o.requests()
			if len(requests) != 2*len(play.Exchanges) || asserts.Requests > 0 && len(requests) != 2*asserts.Requests {
				t.Fatalf("the upstream got %d requests, half of them through sixlink", len(requests))
			}
			records := s.tape.await(len(play.Exchanges))
			for i, x := range play.Exchanges {
				n, direct, got := strconv.Itoa(x.N), requests[2*i], requests[2*i+1]
				if asserts.Upstream == nil {
					if d := cmp.Diff(direct, got); d != "" {
						t.Errorf("request %d, -direct +proxied:\n%s", x.N, d)
					}
				}
				if want, ok := asserts.BodyBytes[n]; ok && (len(got.Body) != want || got.values("content-type") != nil && direct.values("content-type") == nil) {
					t.Errorf("request %d: %+v", x.N, got)
				}
				for name, want := range asserts.Upstream[n] {
					if v := got.values(name); want == nil && v != nil || want != nil && !slices.Equal(v, []string{*want}) {
						t.Errorf("request %d: %s is %q", x.N, name, v)
					}
				}
				if b := body(records, int64(i+1), record.Client); b != direct.Body {
					t.Errorf("exchange %d: recorded %q", x.N, b)
				}
			}
		})
	}
}
