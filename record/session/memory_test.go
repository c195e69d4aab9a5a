package session_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
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

// What a decoder may hold, and what it may leave out, changes nothing else: states,
// values and captures of many calls, answered in another order, twice and not at all.
func TestHoldAndLean(t *testing.T) {
	var records []*record.Record
	add := func(from record.From, format string, args ...any) {
		records = append(records, &record.Record{Kind: record.KindFrame, Seq: int64(len(records)) + 1, At: int64(len(records)) * 1e6, From: from, Form: record.FormMessage,
			Data: fmt.Appendf(nil, format, args...), EOL: []byte("\n"), Ref: record.Ref{Off: int64(len(records))}})
	}
	for id := range 3000 {
		use := ""
		if id%50 == 0 {
			use = fmt.Sprintf(`,"_meta":{"claudecode/toolUseId":"use%d"}`, id/100)
		}
		add(record.Client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d","arguments":{"n":%d}%s}}`, id, id%3, id, use)
		switch {
		case id%7 == 0: // answered later, or never
		case id%11 == 0:
			add(record.Server, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32042,"message":"open this"}}`, id)
		case id%13 == 0:
			add(record.Client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
		default:
			add(record.Server, `{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":%v,"n":%d}}`, id, id%5 == 0, id)
		}
		if id%10 == 9 {
			add(record.Server, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id-7)
		}
	}
	source := fetcher(records)
	decode := func(o session.Options) *session.Session {
		i := 0
		res, err := session.Decode(nil, func() (*record.Record, error) {
			if i == len(records) {
				return nil, io.EOF
			}
			i++
			return records[i-1], nil
		}, source, o)
		if err != nil {
			t.Fatal(err)
		}
		return only(t, res)
	}
	want := decode(session.Options{})
	for name, o := range map[string]session.Options{"hold": {Hold: true}, "lean": {Lean: true}, "both": {Hold: true, Lean: true}} {
		got := decode(o)
		if len(got.Calls) != len(want.Calls) || !reflect.DeepEqual(got.Capture, want.Capture) || !reflect.DeepEqual(got.Remarks, want.Remarks) {
			t.Fatalf("%s: %d calls, %+v", name, len(got.Calls), got.Capture)
		}
		for i, c := range got.Calls {
			w := want.Calls[i]
			if c.State != w.State || c.Seq != w.Seq || c.AnswerSeq != w.AnswerSeq || c.Late != w.Late || c.WaitedNs != w.WaitedNs || c.CancelledSeq != w.CancelledSeq ||
				!reflect.DeepEqual(c.RepliesWithoutRequest, w.RepliesWithoutRequest) || c.AnsweredLater != w.AnsweredLater || c.Result.IsZero() != w.Result.IsZero() {
				t.Errorf("%s: call %d: %+v, want %+v", name, i, c, w)
			}
			for _, v := range [][2]session.Value{{c.Arguments, w.Arguments}, {c.Result, w.Result}} {
				if v[0].IsZero() {
					continue
				}
				a, err1 := v[0].Bytes()
				b, err2 := v[1].Bytes()
				if err1 != nil || err2 != nil || string(a) != string(b) {
					t.Fatalf("%s: call %d: %q (%v), want %q (%v)", name, i, a, err1, b, err2)
				}
			}
		}
		for i, ex := range got.Requests {
			if o.Lean && ex.AnswerSeq != 0 && i < len(got.Requests)-1 {
				t.Fatalf("%s: request %d was answered", name, ex.Seq)
			}
		}
		if a, b := got.Requests[len(got.Requests)-1].Seq, want.Requests[len(want.Requests)-1].Seq; a != b {
			t.Errorf("%s: the last request is %d, want %d", name, a, b)
		}
	}
}

// fetcher is a source over records by the place in Ref.Off.
type fetcher []*record.Record

func (f fetcher) Fetch(refs []record.Ref) (all []byte, err error) {
	for _, r := range refs {
		all = append(all, f[r.Off].Data...)
	}
	return all, nil
}
