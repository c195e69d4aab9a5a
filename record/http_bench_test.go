package record

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/record/mask"
)

// webBodies are the bodies of the benchmarks: an answer of 200 B, one of 20 kB, and
// a piece of a stream of events.
func webBodies() map[string][]byte {
	long := `{"jsonrpc":"2.0","id":1,"result":{"content":[` + strings.Repeat(`{"type":"text","text":"`+strings.Repeat("word ", 30)+`"},`, 110) + `{}]}}`
	return map[string][]byte{
		"200B": []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 125) + `"}]}}`),
		"20kB": []byte(long),
		"SSE":  []byte("event: message\nid: 17\ndata: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"total":10,"progressToken":"t"}}` + "\n\n"),
	}
}

// What the proxy pays for a body's piece: the queue's side of [Recorder.Body].
func BenchmarkBody(b *testing.B) {
	for name, p := range webBodies() {
		b.Run(name, func(b *testing.B) {
			q := newQueue(func() int64 { return int64(time.Since(time.Unix(0, 0))) }, false)
			var taken []*slab
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			body := Body{From: Server, Data: p}
			for i := int64(0); b.Loop(); i++ {
				body.Exchange, body.Off, body.End = i, 0, BodyMore
				q.body(&body, nil, 0)
				body.Off, body.Data, body.End = int64(len(p)), nil, BodyLast
				q.body(&body, nil, 0)
				body.Data = p
				if i%100 == 0 {
					taken = q.take(taken[:0])
					for _, s := range taken {
						q.release(s)
					}
				}
			}
		})
	}
}

// A head as a host sends it, with what masking it costs.
func BenchmarkHead(b *testing.B) {
	h := Fields{}
	for i, n := range []string{"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Connection", "Content-Length", "Content-Type", "Mcp-Protocol-Version", "Mcp-Session-Id", "Sec-Fetch-Mode", "User-Agent"} {
		h[n] = []string{fmt.Sprintf("Bearer value-%d", i)}
	}
	for name, m := range map[string]*mask.Masker{"full": mask.New(mask.RandomKey()), "raw": nil} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rec := Record{Kind: KindRequest, Exchange: 1, Request: &HTTPRequest{Method: "POST", Target: "/mcp", Headers: h}}
				maskHead(m, &rec)
			}
		})
	}
}

// The recorder's side: a line of a body against a line of stdio with the same bytes.
func BenchmarkBodyLine(b *testing.B) {
	for name, p := range webBodies() {
		var dst []byte
		b.Run(name+"/body", func(b *testing.B) {
			e := entry{from: Server, exchange: 7, end: BodyLast}
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				dst = appendBody(dst[:0], &e, 0, p, nil)
			}
		})
		b.Run(name+"/frame", func(b *testing.B) {
			f := frame{from: Server, data: bytes.ReplaceAll(p, newline, nil)}
			f.data = append(f.data, '\n')
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				dst = appendFrame(dst[:0], &f)
			}
		})
	}
}

// All of the recorder's side, for exchanges with a masked body at a token
// endpoint, one that is none, and for events.
func BenchmarkExchange(b *testing.B) {
	for name, p := range webBodies() {
		for _, target := range []string{"/mcp", "/token"} {
			b.Run(name+target, func(b *testing.B) {
				r, err := Begin(Config{Dir: b.TempDir(), Max: 64 << 30, Lossless: true, Transport: "http", Upstream: "http://h",
					Masker: mask.New(mask.RandomKey()), press: func() bool { return false }})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(p)))
				b.ReportAllocs()
				for i := int64(1); b.Loop(); i++ {
					if i == 1 || target == "/token" {
						r.Event(Record{Kind: KindRequest, Exchange: i, Request: &HTTPRequest{Method: "POST", Target: target}})
					}
					r.Body(&Body{Exchange: i, From: Server, Data: p})
					r.Body(&Body{Exchange: i, From: Server, Off: int64(len(p)), End: BodyLast})
					r.Done(i)
				}
				r.Flush(time.Hour)
				b.StopTimer()
				r.Close(-time.Second)
			})
		}
	}
}
