package join_test

import (
	"bytes"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
)

// Any transcript against any wire: nothing breaks, no wire call is two calls, every
// call is paired or has a reason, and what was read before gives the same.
func FuzzJoin(f *testing.F) {
	f.Add([]byte(`{"kind":"conversation","schema":"sixlink-conversation/1.0","host":{"name":"claude-code"},"sessionIds":["s"]}
{"kind":"turn","prompts":[{"text":"x"}],"finalText":"y"}
{"kind":"call","hostCallId":"t1","server":"shop","name":"mcp__shop__find","tool":{"shown":"find"},"args":{"json":{"id":1}},"at":"2026-11-30T12:00:01Z","endedAt":"2026-11-30T12:00:02Z"}
`), []byte(`>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"id":1.0},"_meta":{"claudecode/toolUseId":"t1"}}}
<{"jsonrpc":"2.0","id":1,"result":{"content":[]}}
`))
	f.Add([]byte(`{"kind":"conversation","schema":"sixlink-conversation/1.0","host":{"name":"codex"}}
{"kind":"call","name":"mcp_a__b__c","args":{"bytes":3,"sha256":"00"}}
{"kind":"call","name":"mcp__a__b","denied":"x"}
`), []byte(`>{"id":1,"method":"tools/call","params":{"name":"b","_meta":{"callId":"x","x-codex-turn-metadata":{"thread_id":1},"openai/session":"v"}}}
>{"method":"tools/call","params":[]}
`))
	f.Fuzz(func(t *testing.T, talk, wire []byte) {
		cs, err := host.Read(bytes.NewReader(talk))
		if err != nil {
			return
		}
		r := &fixtures.Recording{Name: "r", State: record.Sealed, Header: record.Header{Format: [2]int{1, 0}, ID: "r", FirstSeq: 1, Transport: "stdio", Start: record.Time{Time: start}}}
		for i, line := range bytes.Split(wire, []byte("\n")) {
			if len(line) < 2 || i > 100 {
				continue
			}
			from := record.Client
			if line[0] == '<' {
				from = record.Server
			}
			r.AddLine(from, int64(i)*1e8, string(line[1:]), "\n")
		}
		ws := decoded(t, r)
		res := join.Join(cs, ws, join.Options{})
		seen := map[join.Ref]bool{}
		for i := range res.Conversations {
			c := &res.Conversations[i]
			if c.Verdict == "" || c.Why == "" {
				t.Fatalf("no verdict: %+v", c)
			}
			for k := range c.Calls {
				call := &c.Calls[k]
				if call.Paired() == (call.HostOnly != "") || call.Why == "" {
					t.Fatalf("%+v", call)
				}
				for _, w := range call.Wires {
					if seen[w] {
						t.Fatalf("record %d is two calls", w.Call.Seq)
					}
					seen[w] = true
				}
			}
		}
		var light []join.Wire
		for _, w := range ws {
			light = append(light, join.Light(w))
		}
		again := join.Join(cs, light, join.Options{})
		for i := range cs {
			if a, b := told(res, i), told(again, i); len(a) != len(b) || a[0] != b[0] {
				t.Fatalf("%v, light %v", a, b)
			}
		}
		for _, c := range cs {
			c.Redact(nil)
			var once, twice bytes.Buffer
			if err := host.Write(&once, c); err != nil {
				t.Fatal(err)
			}
			c.Redact(nil)
			if err := host.Write(&twice, c); err != nil || once.String() != twice.String() {
				t.Fatalf("redacted twice: %v", err)
			}
		}
	})
}
