package session_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// What Options.Settled lets go of is what Requests would have: the same pairs, the same
// answers that came twice, and what was not answered judged alike.
func TestSettledRequestsAreTheSame(t *testing.T) {
	var recs []*record.Record
	add := func(from record.From, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		n := int64(len(recs) + 1)
		recs = append(recs, &record.Record{Kind: record.KindFrame, Seq: n, At: n, From: from, Form: record.FormMessage, Data: []byte(text), EOL: []byte("\n"), Len: int64(len(text))})
	}
	const calls = 3000
	for k := range calls {
		if k == calls/2 {
			add(record.Client, `{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			add(record.Server, `{"jsonrpc":"2.0","id":"again","result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
		}
		method := []string{"tools/call", "tools/list", "ping"}[k%3]
		add(record.Client, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"t","arguments":{"n":%d}}}`, k, method, k)
		switch k % 11 {
		case 3: // a request of the server's inside
			add(record.Server, `{"jsonrpc":"2.0","id":"s%d","method":"roots/list"}`, k)
			add(record.Client, `{"jsonrpc":"2.0","id":"s%d","result":{"roots":[]}}`, k)
		case 5: // nobody answers
			if k%10 == 0 {
				continue
			}
		case 7:
			add(record.Client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, k)
		}
		if k%13 == 6 {
			add(record.Server, `[{"jsonrpc":"2.0","id":%d,"result":{}}]`, k)
		} else {
			add(record.Server, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, k)
		}
		if k%17 == 0 && k > 1000 { // an answer to what was answered long ago, once more
			add(record.Server, `{"jsonrpc":"2.0","id":%d,"result":{}}`, k-1000)
		}
	}
	decode := func(opts session.Options) []*session.Session {
		d := session.NewDecoder(&record.Header{FirstSeq: 1, Transport: "stdio"}, nil, opts)
		for _, r := range recs {
			d.Add(r)
		}
		return d.Finish(record.Torn, true).Sessions
	}
	settled := map[*session.Session][]*session.Exchange{}
	whole := decode(session.Options{})
	light := decode(session.Options{Settled: func(s *session.Session, ex *session.Exchange) { settled[s] = append(settled[s], ex) }})
	if len(whole) != 2 || len(light) != 2 {
		t.Fatalf("%d and %d sessions, not 2", len(whole), len(light))
	}
	pairs := func(all []*session.Exchange) (out []string) {
		for _, ex := range all {
			out = append(out, fmt.Sprint(ex.Seq, ex.From, ex.Index, ex.Method, ex.State, ex.AnswerSeq, ex.AnswerIndex))
		}
		slices.Sort(out)
		return out
	}
	for i, s := range whole {
		l := light[i]
		if a, b := pairs(s.Requests), pairs(append(settled[l], l.Requests...)); !slices.Equal(a, b) {
			t.Errorf("session %d: %d requests, %d when settled, or others", i, len(a), len(b))
		}
		if n := len(settled[l]); n < len(s.Requests)/2 {
			t.Errorf("session %d: only %d of %d requests were let go of", i, n, len(s.Requests))
		}
		if len(s.Calls) != len(l.Calls)+l.SettledCalls || l.SettledCalls == 0 {
			t.Errorf("session %d: %d calls, but %d and %d settled", i, len(s.Calls), len(l.Calls), l.SettledCalls)
		}
		if s.Era != l.Era || s.FirstSeq != l.FirstSeq || s.LastSeq != l.LastSeq || s.End != l.End || s.Messages[record.Client] != l.Messages[record.Client] || len(s.Orphans) != len(l.Orphans) || len(s.Orphans) == 0 {
			t.Errorf("session %d is not the same", i)
			continue
		}
		for k, o := range s.Orphans {
			if p := l.Orphans[k]; o.Seq != p.Seq || o.Duplicate != p.Duplicate || o.RequestOf != p.RequestOf {
				t.Errorf("session %d: reply %d: %+v, %+v when settled", i, o.Seq, o, p)
			}
		}
		states := map[int64]session.CallState{}
		for _, c := range s.Calls {
			states[c.Seq] = c.State
		}
		for _, c := range l.Calls {
			if states[c.Seq] != c.State {
				t.Errorf("session %d: call %d is %s, %s when settled", i, c.Seq, states[c.Seq], c.State)
			}
		}
	}
}
