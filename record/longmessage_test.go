package record

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A message over the limit is cut, and told with its length and hash, however it was
// read; all others are whole.
func TestLongMessageIsCut(t *testing.T) {
	const limit = 2000
	for _, pressed := range []bool{false, true} {
		for _, step := range []int{1 << 20, 64 << 10, 1000, 333} {
			t.Run(fmt.Sprint("reads of ", step, ", pressed ", pressed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rnd := rand.New(rand.NewPCG(1, 2))
					lines := []string{noise(rnd, 100), noise(rnd, 5000), noise(rnd, 10), strings.Repeat("x", limit) + "\n", strings.Repeat("y", limit+1) + "\n",
						noise(rnd, 300_000), noise(rnd, 1000), "\n", strings.TrimSuffix(noise(rnd, 4000), "\n")}
					cfg := Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, MaxMessage: limit, press: func() bool { return pressed }}
					r, err := Begin(cfg)
					if err != nil {
						t.Fatal(err)
					}
					all := strings.Join(lines, "")
					for rest := all; rest != ""; {
						n := min(step, len(rest))
						r.Data(Server, []byte(rest[:n]))
						r.Data(Client, []byte("{}\n")) // between
						rest = rest[n:]
						if n < 64<<10 && len(rest)%7 == 0 {
							time.Sleep(90 * time.Millisecond)
						}
					}
					r.End(Server)
					r.Close(time.Minute)
					recs, end := readAll(t, r.Path(), Options{Verify: true})
					if end.State != Sealed || end.Damage != nil {
						t.Fatalf("%+v", end)
					}
					var cuts []*Record
					at := int64(0) // in the stream: what is there, and what the gaps say
					for _, rec := range recs {
						switch {
						case rec.Kind == KindGap:
							cuts = append(cuts, rec)
							s := rec.Gap.Streams[Server]
							if s.Off != at {
								t.Errorf("gap at %d, byte %d is next", s.Off, at)
							}
							at += s.Bytes
						case rec.Kind == KindFrame && rec.From == Server:
							got := string(rec.Data) + string(rec.EOL)
							if all[at:at+int64(len(got))] != got {
								t.Fatalf("at %d: other bytes", at)
							}
							at += int64(len(got))
						}
					}
					if at != int64(len(all)) {
						t.Errorf("%d of %d bytes are told of", at, len(all))
					}
					off := int64(0)
					for _, l := range lines {
						body := strings.TrimSuffix(l, "\n")
						if len(body) > limit {
							if len(cuts) == 0 {
								t.Fatalf("the message of %d bytes is not cut", len(body))
							}
							c := cuts[0].Gap.Cut
							cuts = cuts[1:]
							if c == nil || c.Len != int64(len(body)) || c.Off != off || c.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(body))) {
								t.Errorf("a message of %d bytes at %d: %+v", len(body), off, c)
							}
						}
						off += int64(len(l))
					}
					if len(cuts) > 0 {
						t.Errorf("%d gaps more", len(cuts))
					}
				})
			})
		}
	}
}

// In bodies of HTTP an event of a stream is a message, and so is a body without any.
func TestLongBodyIsCut(t *testing.T) {
	const limit = 2000
	event := func(n int) string { return "event: message\ndata: " + strings.Repeat("e", n) + "\n\n" }
	for _, c := range []struct {
		name, body string
		cuts       int
	}{
		{"a small body", `{"a":1}`, 0},
		{"a long one", strings.Repeat("b", 9000), 1},
		{"a long one with line ends", strings.Repeat("b\n", 4500), 1},
		{"a long stream of small events", strings.Repeat(event(500), 40), 0},
		{"a long event among them", event(500) + event(7000) + event(500) + event(9000), 2},
		{"CRLF", strings.ReplaceAll(event(500)+event(7000)+event(500)+event(9000), "\n", "\r\n"), 2},
	} {
		for _, step := range []int{64 << 10, 700, 61} {
			t.Run(fmt.Sprint(c.name, " in pieces of ", step), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, err := Begin(Config{Dir: t.TempDir(), Transport: "http", Upstream: "http://x", Level: LevelFull, MaxMessage: limit})
					if err != nil {
						t.Fatal(err)
					}
					r.Event(Record{Kind: KindRequest, From: Client, Exchange: 1, Request: &HTTPRequest{Method: "GET", Target: "/", Proto: "HTTP/1.1", Host: "x", End: true}})
					r.Event(Record{Kind: KindResponse, From: Server, Exchange: 1, Response: &HTTPResponse{Status: 200, Length: -1}})
					off := 0
					for off < len(c.body) {
						n := min(step, len(c.body)-off)
						r.Body(&Body{Exchange: 1, From: Server, Off: int64(off), Data: []byte(c.body[off : off+n])})
						off += n
					}
					r.Body(&Body{Exchange: 1, From: Server, Off: int64(off), End: BodyLast})
					r.Done(1)
					r.Close(time.Minute)
					recs, end := readAll(t, r.Path(), Options{Verify: true})
					if end.State != Sealed || end.Damage != nil {
						t.Fatalf("%+v", end)
					}
					at, cuts, last := int64(0), 0, false
					for _, rec := range recs {
						switch rec.Kind {
						case KindGap:
							cuts++
							g := rec.Gap
							if g.Cut == nil || g.Cut.Exchange != 1 {
								t.Fatalf("%+v", g)
							}
							at += g.HTTP[Server].Bytes
							m := c.body[g.Cut.Off : g.Cut.Off+g.Cut.Len]
							if g.Cut.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(m))) || g.Cut.Len <= limit {
								t.Errorf("the cut of %d bytes at %d has another hash", g.Cut.Len, g.Cut.Off)
							}
						case KindBody:
							got := string(rec.Data) + string(rec.EOL)
							if rec.Off != at || c.body[at:at+int64(len(got))] != got {
								t.Fatalf("a piece at %d, byte %d is next", rec.Off, at)
							}
							at += int64(len(got))
							last = rec.End == BodyLast
						}
					}
					if at != int64(len(c.body)) || cuts != c.cuts || !last {
						t.Errorf("%d of %d bytes are told of, %d cuts, last %v", at, len(c.body), cuts, last)
					}
				})
			})
		}
	}
}
