package record

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Exchanges that are open while other files are begun keep all of their bodies.
func TestRotationWithOpenExchanges(t *testing.T) {
	for _, pressed := range []bool{false, true} {
		t.Run(fmt.Sprint("pressed ", pressed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := Config{Dir: t.TempDir(), Name: "r" + Suffix, Transport: "http", Upstream: "http://x", Level: LevelFull, sync: noSync,
					RotateSize: MinRotateSize, press: func() bool { return pressed }}
				r, err := Begin(cfg)
				if err != nil {
					t.Fatal(err)
				}
				rnd := rand.New(rand.NewPCG(1, 2))
				const exchanges = 5
				var sent, got [exchanges + 1]strings.Builder
				for x := int64(1); x <= exchanges; x++ {
					r.Event(Record{Kind: KindRequest, From: Client, Exchange: x, Request: &HTTPRequest{Method: "GET", Target: "/", Proto: "HTTP/1.1", Host: "x", End: true}})
					r.Event(Record{Kind: KindResponse, From: Server, Exchange: x, Response: &HTTPResponse{Status: 200, Length: -1}})
				}
				for range 60 {
					x := 1 + rnd.IntN(exchanges)
					p := noise(rnd, 600) + "é"
					cut := len(p) - 1 // in the middle of a letter, which is held back
					for _, p := range []string{p[:cut], p[cut:]} {
						r.Body(&Body{Exchange: int64(x), From: Server, Off: int64(sent[x].Len()), Data: []byte(p)})
						sent[x].WriteString(p)
						time.Sleep(50 * time.Millisecond)
					}
				}
				for x := int64(1); x <= exchanges; x++ {
					r.Body(&Body{Exchange: x, From: Server, Off: int64(sent[x].Len()), End: BodyLast})
					r.Done(x)
				}
				r.Close(time.Minute)
				recs, end := readAll(t, cfg.Dir, Options{Verify: true})
				if end.State != Sealed || end.Damage != nil || end.Gaps > 0 || end.Segments < 8 {
					t.Fatalf("%+v", end)
				}
				checkOrder(t, recs)
				chained(t, recs)
				for _, rec := range recs {
					if rec.Kind == KindBody {
						if rec.Off != int64(got[rec.Exchange].Len()) {
							t.Fatalf("exchange %d: a piece at %d, byte %d is next", rec.Exchange, rec.Off, got[rec.Exchange].Len())
						}
						got[rec.Exchange].Write(rec.Data)
						got[rec.Exchange].Write(rec.EOL)
					}
				}
				for x := range got {
					if got[x].String() != sent[x].String() {
						t.Errorf("exchange %d: %d of %d bytes", x, got[x].Len(), sent[x].Len())
					}
				}
			})
		})
	}
}
