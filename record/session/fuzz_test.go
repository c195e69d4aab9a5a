package session

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// FuzzPeek holds the peek against jsontext: of whatever jsontext reads as an
// object, the peek must find the same members, the last of duplicates.
func FuzzPeek(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,{}]},"_meta":{"progressToken":1}}}`,
		`{"id":1,"id":2.0,"result":{"isError":true,"isError":1},"error":null}`,
		`{"ID":1,"i\u0064":"\ud800","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":1e999,"result":[]} x`,
		`{"params":{"name":`, `{}`, `[{}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message
		span, err := m.peek(b, 0)
		theirs := map[string]string{}
		dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if tok, e := dec.ReadToken(); e != nil || tok.Kind() != '{' {
			return
		}
		for dec.PeekKind() != '}' {
			tok, e := dec.ReadToken()
			if e != nil {
				return
			}
			name := tok.String()
			v, e := dec.ReadValue()
			if e != nil {
				return
			}
			theirs[name] = string(bytes.TrimSpace(v))
		}
		if _, e := dec.ReadToken(); e != nil {
			return
		}
		if err != nil || int64(span.End) != dec.InputOffset() {
			t.Fatalf("jsontext reads an object of %d bytes, the peek %d: %v", dec.InputOffset(), span.End, err)
		}
		for name, f := range map[string]field{"jsonrpc": fJSONRPC, "id": fID, "method": fMethod, "params": fParams, "result": fResult, "error": fError} {
			want, ok := theirs[name]
			if got := m.token(f); ok != m.has(f) || string(got) != want {
				t.Fatalf("%s is %q, jsontext says %q", name, got, want)
			}
		}
		if m.has(fID) && m.id.Pairs() {
			if again := parseID([]byte(m.token(fID))); again.key() != m.id.key() {
				t.Fatal(again, m.id)
			}
		}
	})
}

// fuzzLines are what a fuzzed recording's lines are mostly made of.
var fuzzLines = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"a"}}`,
	`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`,
	`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"t"}],"nextCursor":"a"}}`,
	`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"u"}]}}`,
	`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"claudecode/toolUseId":"x","progressToken":4}}}`,
	`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","arguments":{},"inputResponses":{"k":{}},"requestState":"s"}}`,
	`{"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"s"}}`,
	`{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`,
	`{"jsonrpc":"2.0","id":4,"result":{"task":{"taskId":"T","status":"working"}}}`,
	`{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"T"}}`,
	`{"jsonrpc":"2.0","id":6,"result":{"taskId":"T","status":"failed","error":{"code":1}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":"T"}}`,
	`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"timed out"}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4}}`,
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
	`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"T","status":"input_required"}}`,
	`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}`,
	`{"jsonrpc":"2.0","id":4,"error":{"code":-32042,"message":"x"}}`,
	`[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":4,"result":{}}]`,
	`{"jsonrpc":"2.0","id":4,"result":{}}{"jsonrpc":"2.0","id":5,"result":{}}`,
	`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	`{"jsonrpc":"2.0","id":10,"result":{"resultType":"weird"}}`,
	`{"jsonrpc":"2.0","id":9,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
}

// fuzzRecords makes records of bytes: an opcode, then what it needs.
func fuzzRecords(b []byte) *fixtures.Recording {
	r := &fixtures.Recording{State: record.Sealed, Header: record.Header{FirstSeq: 1}}
	next := func() byte {
		if len(b) == 0 {
			return 0
		}
		c := b[0]
		b = b[1:]
		return c
	}
	from := []record.From{record.Client, record.Server, record.Stderr}
	off := map[record.From]int64{}
	for len(b) > 0 && len(r.Records) < 300 {
		rec := record.Record{At: int64(len(r.Records)) * 1e6}
		switch op := next(); op % 16 {
		case 0:
			rec.Kind, rec.Start = record.KindStart, &record.Start{PID: int(next() % 3)}
		case 1:
			rec.Kind = record.KindClose
			rec.Close = &record.Close{Who: []string{"client", "server", "proxy", "?"}[next()%4], What: []string{"stdin", "stdout", "stderr", "signal"}[next()%4], Signal: "TERM", To: "child"}
		case 2:
			code := int(next())
			rec.Kind, rec.Exit = record.KindExit, &record.Exit{Code: &code}
			if code%2 == 0 {
				rec.Exit = &record.Exit{Signal: "TERM"}
			}
		case 3:
			rec.Kind = record.KindGap
			rec.Gap = &record.Gap{FirstSeq: int64(len(r.Records)), LastSeq: int64(next()), Streams: map[record.From]record.GapStream{from[next()%3]: {}}}
		case 4:
			f := from[next()%3]
			rec.Kind, rec.From, rec.Off, rec.Lost = record.KindUndelivered, f, max(0, off[f]-int64(next())), &record.Undelivered{Bytes: int64(next())}
		case 5:
			rec.Kind, rec.Error = record.KindError, &record.Error{}
		case 6:
			rec.Kind = record.Kind([]string{"stall", "clock", "later", "check", "closing", "start", "close", "exit", "gap", "undelivered", "error"}[next()%11]) // without its members
		default:
			f := from[next()%3]
			rec.Kind, rec.From, rec.Off = record.KindFrame, f, off[f]
			switch {
			case op%16 < 13:
				rec.Data = []byte(fuzzLines[int(next())%len(fuzzLines)])
			default:
				n := min(int(next()), len(b))
				rec.Data = bytes.Clone(b[:n])
				b = b[n:]
			}
			how := next()
			if how&1 == 0 {
				rec.EOL = []byte("\n")
			}
			rec.More, rec.Cont, rec.Headless = how&6 == 6, how&24 == 24, how&96 == 96
			rec.Form = record.Form(how%3 + 1)
			if how&128 != 0 {
				rec.Since = &record.Since{After: rec.Off % 40}
				rec.Masked = []record.Mask{{Off: int64(how), Len: 3, MAC: "m"}}
			}
			off[f] += int64(len(rec.Data) + len(rec.EOL))
		}
		r.Add(rec)
	}
	r.State = []record.State{record.Sealed, record.Torn, record.Live}[next()%3]
	return r
}

// FuzzDecode decodes recordings that no recorder would write.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 1, 7, 0, 0, 0, 7, 1, 1, 0, 7, 0, 6, 0, 7, 1, 9, 0, 1, 0, 0, 2, 1})
	f.Add([]byte{7, 0, 6, 6, 7, 0, 6, 24, 3, 9, 1, 7, 1, 8, 0, 7, 0, 7, 0, 4, 0, 9, 0})
	all := []byte{}
	for i := range fuzzLines {
		all = append(all, 7, byte(i%2), byte(i), 0)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := fuzzRecords(b)
		decode := func(src Source) *Result {
			res, err := Decode(&r.Header, r.Next(), src, Options{MaxLine: 2000, End: r.End})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		res := decode(r)
		lines := map[record.From]int{}
		for _, s := range res.Sessions {
			check(t, s)
			for from, n := range s.Lines {
				lines[from] += n
			}
		}
		for from, n := range lines {
			frames := 0
			for _, rec := range r.Records {
				if rec.Kind == record.KindFrame && rec.From == from {
					frames++
				}
			}
			if n > frames {
				t.Fatalf("%d lines of %s in %d frames", n, from, frames)
			}
		}
		if again := decode(r); !reflect.DeepEqual(brief(res), brief(again)) {
			t.Fatal("the same recording, decoded twice, gives two results")
		}
		decode(nil)
		// A decoder that is fed nothing, or nothing sensible, must end as well.
		if _, err := Decode(nil, func() (*record.Record, error) { return nil, io.EOF }, nil, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

// check holds a session against what must be true of any.
func check(t *testing.T, s *Session) {
	t.Helper()
	if s.ID == "" || s.Basis == "" || s.LastSeq < s.FirstSeq {
		t.Fatalf("session %+v", s)
	}
	told := slices.Clone(s.Remarks)
	for _, ex := range s.Requests {
		told = append(told, ex.Remarks...)
	}
	for _, c := range s.Calls {
		told = append(told, c.Remarks...)
	}
	for _, r := range told {
		if r.Flag == "" || r.Detail == "" {
			t.Fatalf("remark %+v", r)
		}
	}
	for _, ex := range s.Requests {
		if (ex.AnswerSeq != 0) != (ex.State == ExchangeResult || ex.State == ExchangeError || ex.State == ExchangeMalformed) {
			t.Fatalf("exchange %+v", ex)
		}
	}
	for _, c := range s.Calls {
		if c.State == "" || len(c.Attempts) == 0 || c.WaitedNs < 0 {
			t.Fatalf("call %+v", c)
		}
		for _, v := range []Value{c.Arguments, c.Result} {
			if v.IsZero() {
				continue
			}
			if b, err := v.Bytes(); err != nil || !json.Valid(b) && !bytes.Contains(b, []byte("\xff")) {
				t.Fatalf("value %q %v", b, err)
			}
		}
		if _, ok := c.DurationNs(); ok != (c.AnswerSeq != 0 && !c.Late) {
			t.Fatal(c)
		}
	}
	if !slices.IsSortedFunc(s.Calls, func(a, b *Call) int { return int(a.Seq - b.Seq) }) {
		t.Fatal("calls out of order")
	}
}

// brief is what two decodings must have in common.
func brief(r *Result) any {
	var out []any
	for _, s := range r.Sessions {
		for _, c := range s.Calls {
			out = append(out, *c.Attempts[0], c.State, c.AnswerSeq, c.WaitedNs, c.Remarks)
		}
		for _, o := range s.Orphans {
			out = append(out, *o)
		}
		out = append(out, s.Remarks, s.Capture, s.End, s.Lines, s.Messages)
	}
	return out
}
