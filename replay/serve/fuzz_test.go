package serve

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// Whatever stands in a recording, and whatever a client says to it: nothing panics or
// hangs, and what comes from sixlink itself is one line a message.
func FuzzStdio(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`, `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, uint8(0))
	f.Add(`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]`, `[{"jsonrpc":"2.0","id":2,"result":1},{"id":1,"result":2}]`, `[{"jsonrpc":"2.0","id":2,"method":"b"}]`, uint8(1))
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, `{"id":3,"method":"tools/call","params":{"name":"a","arguments":{"b":1}}}`, uint8(2))
	f.Fuzz(func(t *testing.T, client, server, live string, mode uint8) {
		r := &fixtures.Recording{Name: "fuzz", State: record.Sealed, Header: record.Header{ID: "fuzz", FirstSeq: 1, Transport: "stdio"}}
		for i, l := range []string{`{"jsonrpc":"2.0","id":0,"method":"initialize"}`, client, server, client, server} {
			from := record.Client
			if i == 2 || i == 4 {
				from = record.Server
			}
			r.AddLine(from, int64(i), strings.ReplaceAll(l, "\n", " "), "\n")
		}
		tape := load(t, r, nil)
		s, err := New(tape, Config{Mode: []Mode{ByKey, Sequential, Strict}[mode%3], Repeat: mode&4 != 0, Patience: time.Millisecond})
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := s.Stdio(strings.NewReader(live+"\n"+live+"\n"), &out); err != nil {
			t.Fatal(err)
		}
		s.Report().Text(&out)
		if err := s.Report().JSON(&out); err != nil {
			t.Fatal(err)
		}
	})
}
