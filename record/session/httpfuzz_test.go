package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// fuzzBodies are what a fuzzed recording puts into bodies, beside noise.
var fuzzBodies = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"}}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","openai/session":"x"}}}`,
	`{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"s"}}`,
	`[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"u"}}]`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n",
	"id: e1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"method\":\"roots/list\"}\r\n\r\n",
	"event: endpoint\ndata: /m?s=1\n\n",
	"data: half", "", "null", "<html>", "\x1f\x8b\x08\x00",
}

// fuzzed makes a recording of any bytes, two or three a record.
func fuzzed(b []byte) *fixtures.Recording {
	r := &fixtures.Recording{Name: "fuzz", State: record.Sealed, Header: record.Header{ID: "fuzz", FirstSeq: 1, Transport: "http"}}
	off := map[string]int64{}
	types := []string{"application/json", "text/event-stream", "text/plain", ""}
	codings := []string{"", "", "", "gzip", "br", "x"}
	statuses := []int{200, 200, 200, 202, 401, 404, 502, 307, 101, 100}
	for len(b) >= 3 {
		op, n, v := b[0], int64(b[1]%5)+1, int(b[2])
		b = b[3:]
		rec := record.Record{At: int64(len(r.Records)) * 1e6, Exchange: n}
		switch op % 12 {
		case 0, 1:
			f := record.Fields{"Content-Type": {types[v%4]}, "Accept": {"text/event-stream"}}
			var m []record.HeadMask
			if v&4 != 0 {
				f["Mcp-Session-Id"] = []string{"***"}
				m = append(m, record.HeadMask{In: "Mcp-Session-Id", Len: 3, MAC: fmt.Sprint(v & 8)})
			}
			if v&16 != 0 {
				f["Last-Event-Id"] = []string{"e1"}
			}
			if v&32 != 0 {
				f["Content-Encoding"] = []string{codings[v%6]}
			}
			rec.Kind, rec.From = record.KindRequest, record.Client
			rec.Request = &record.HTTPRequest{Conn: int64(v % 3), Method: []string{"POST", "POST", "GET", "DELETE"}[v%4], Target: []string{"/mcp", "/m?s=1", "/m?s=*", "%zz"}[v>>6],
				Headers: f, Masked: m, Length: int64(v%3) - 1, End: v&64 != 0}
			off[fmt.Sprint(n, record.Client)], off[fmt.Sprint(n, record.Server)] = 0, 0
		case 2:
			f := record.Fields{"Content-Type": {types[v%4]}, "Content-Encoding": {codings[v%6]}, "Location": {[]string{"http://x/%zz", "/mcp/"}[v%2]}}
			var m []record.HeadMask
			if v&16 != 0 {
				f["Mcp-Session-Id"] = []string{"***"}
				m = append(m, record.HeadMask{In: "Mcp-Session-Id", Len: 3, MAC: fmt.Sprint(v & 8)})
			}
			rec.Kind, rec.From = record.KindResponse, record.Server
			rec.Response = &record.HTTPResponse{Status: statuses[v%10], Headers: f, Masked: m, Length: -1, End: v&64 != 0, Made: v&128 != 0 && v&32 != 0}
		case 3, 4, 5, 6, 7:
			rec.Kind, rec.From = record.KindBody, []record.From{record.Client, record.Server}[op%2]
			data := []byte(fuzzBodies[v%len(fuzzBodies)])
			if op >= 128 && len(b) > 4 {
				data, b = b[:4], b[4:]
			}
			k := fmt.Sprint(n, rec.From)
			rec.Off, rec.Data, rec.Form, rec.End = off[k], data, record.FormText, record.BodyEnd(op/12%3)
			if op == 255 {
				rec.Off++
			}
			if v&128 != 0 {
				rec.EOL = []byte("\n")
			}
			if v == 77 {
				rec.Masked = []record.Mask{{Off: 0, Len: int64(len(data)), MAC: "m"}}
			}
			off[k] += int64(len(data) + len(rec.EOL))
		case 8:
			rec.Kind = record.KindClose
			rec.Close = &record.Close{Who: []string{"client", "server", "proxy"}[v%3], What: []string{"request", "response", "connection"}[v/3%3], Conn: int64(v % 3)}
			if rec.Close.What == "connection" {
				rec.Exchange = 0
			}
		case 9:
			rec.Kind, rec.Exchange = record.KindGap, 0
			rec.Gap = &record.Gap{FirstSeq: int64(len(r.Records)) + 1, LastSeq: int64(len(r.Records)) + 1, Why: "x"}
		case 10:
			rec.Kind, rec.Error = record.KindError, &record.Error{What: []string{"connect", "send"}[v%2], Error: "x"}
		case 11:
			rec.Kind, rec.From, rec.Off, rec.Lost = record.KindUndelivered, record.Client, int64(v), &record.Undelivered{Error: "x"}
		}
		r.Add(rec)
	}
	return r
}

// FuzzHTTP: whatever HTTP a recording holds, what comes out is consistent, names
// records that exist, can be fetched, and is the same again.
func FuzzHTTP(f *testing.F) {
	f.Add([]byte{0, 0, 0, 3, 0, 0, 2, 0, 16, 3, 0, 1, 0, 1, 4, 3, 1, 2, 2, 1, 1, 5, 1, 11})
	f.Add([]byte{0, 0, 2, 2, 0, 1, 5, 0, 13, 0, 1, 64, 27, 1, 0, 2, 1, 3, 8, 0, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 600 {
			return
		}
		for _, key := range []string{"", "connection", "meta:openai/session"} {
			r := fuzzed(b)
			get := func() *session.Result {
				res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End, SessionKey: key, MaxLine: 4 << 10})
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			res := get()
			if a, b := summary(t, r, res), summary(t, r, get()); a != b {
				t.Fatalf("twice:\n%s\n%s", a, b)
			}
		}
	})
}

func summary(t *testing.T, r *fixtures.Recording, res *session.Result) string {
	t.Helper()
	n := int64(len(r.Records))
	for i, s := range res.Sessions {
		if s.FirstSeq < 1 || s.LastSeq > n || s.FirstSeq > s.LastSeq || s.Basis == "" || i > 0 && s.FirstSeq < res.Sessions[i-1].FirstSeq {
			t.Fatalf("%s: %d to %d of %d, basis %q", s.ID, s.FirstSeq, s.LastSeq, n, s.Basis)
		}
		for _, ex := range s.Requests {
			if ex.Seq < 1 || ex.Seq > n || ex.AnswerSeq > n || ex.HTTP == nil || ex.HTTP.Exchange < 1 || (ex.AnswerSeq != 0) != (ex.State == session.ExchangeResult ||
				ex.State == session.ExchangeError || ex.State == session.ExchangeMalformed || ex.Late) {
				t.Fatalf("%s: %+v, %+v", s.ID, *ex, ex.HTTP)
			}
			for _, v := range []session.Value{ex.Params, ex.Result} {
				if b, err := v.Bytes(); !v.IsZero() && (err != nil || !json.Valid(b)) {
					t.Fatalf("%s: value of %d: %q, %v", s.ID, ex.Seq, b, err)
				}
			}
		}
		for _, c := range s.Calls {
			if c.State == "" || len(c.Attempts) == 0 || c.AnswerSeq > n {
				t.Fatalf("%s: %+v", s.ID, *c)
			}
			if (c.State == session.CallResult) && !slices.ContainsFunc(c.Attempts, func(e *session.Exchange) bool { return e.State == session.ExchangeResult }) {
				t.Fatalf("%s: a result from nowhere: %+v", s.ID, *c)
			}
		}
	}
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
