package session_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// nowhere is a source that has nothing.
type nowhere struct{}

func (nowhere) Fetch([]record.Ref) ([]byte, error) { return nil, errors.New("nothing here") }

// Large values stay in the recording: 200 MB of frames must not stay in memory,
// while the calls made of them do.
func TestFramesAreNotKept(t *testing.T) {
	const calls, size = 100, 1 << 20
	text := strings.Repeat("x", size)
	seq := int64(0)
	frame := func(from record.From, data string) *record.Record {
		return &record.Record{Kind: record.KindFrame, From: from, Form: record.FormText, Data: []byte(data), EOL: []byte("\n")}
	}
	next := func() (*record.Record, error) {
		var rec *record.Record
		switch id := seq / 2; {
		case id == calls:
			return nil, io.EOF
		case seq%2 == 0:
			rec = frame(record.Client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"s":"%s"}}}`, id, text))
		default:
			rec = frame(record.Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, text))
		}
		seq++
		rec.Seq = seq
		return rec, nil
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	res, err := session.Decode(nil, next, nowhere{}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	after := heap()
	s := only(t, res)
	if len(s.Calls) != calls || s.Calls[calls-1].Result.Len() < size {
		t.Fatalf("%d calls", len(s.Calls))
	}
	if grown := int64(after) - int64(before); grown > 8<<20 {
		t.Errorf("%d MB are kept of %d MB of frames", grown>>20, 2*calls*size>>20)
	}
	if _, err := s.Calls[0].Result.Bytes(); err == nil {
		t.Error("a value out of nothing")
	}
	runtime.KeepAlive(res)
}

// Work must grow with the input and not with its square: what a hostile peer
// can pile up (open requests, one id for all, cursors, rounds) is bounded where
// it is searched. A guard against hanging, not a measurement.
func TestHostilePiles(t *testing.T) {
	const n = 10000
	for name, line := range map[string]func(i int) string{
		"open calls answered in order": func(i int) string {
			if i < n/2 {
				return tool(fmt.Sprint(i))
			}
			return answer(fmt.Sprint(i - n/2))
		},
		"one id for all": func(i int) string {
			if i < n/2 {
				return tool("1")
			}
			return answer("1")
		},
		"cursors from nowhere": func(i int) string {
			return fmt.Sprintf("> {\"id\":%d,\"method\":\"tools/list\",\"params\":{\"cursor\":\"%d\"}}", i, i)
		},
		"orphans": func(i int) string { return answer(fmt.Sprint(i)) },
		"rounds": func(i int) string {
			if i%2 == 0 {
				return again(fmt.Sprint(i), "")
			}
			return ask(fmt.Sprint(i-1), `,"requestState":"`+fmt.Sprint(i)+`"`)
		},
		"requests of the server's inside open calls": func(i int) string {
			if i < n/2 {
				return tool(fmt.Sprint(i))
			}
			return fmt.Sprintf("< {\"id\":%d,\"method\":\"roots/list\"}", i)
		},
		"gaps": func(i int) string {
			if i%2 == 0 {
				return tool(fmt.Sprint(i))
			}
			return "gap server"
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := script(t, "start")
			for i := range n {
				part := script(t, line(i))
				for _, rec := range part.Records {
					rec.At = int64(i) * 1e6
					r.Add(*rec)
				}
			}
			s := only(t, decode(t, r))
			if s.LastSeq != int64(n+1) {
				t.Error(s.LastSeq)
			}
		})
	}
}
