package session_test

import (
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// modern is the _meta of a stateless request.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mod","version":"3"}}`

const probe = `
	> {"id":"probe","method":"server/discover","params":{` + modern + `}}
	< {"id":"probe","error":{"code":-32601,"message":"Method not found"}}
`

const shake = `
	> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"host","version":"1"}}}
	< {"id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"srv"}}}
`

func TestSessionsAndEras(t *testing.T) {
	work := tool("1") + answer("1")
	for _, x := range []struct {
		name, script string
		eras         string // of the sessions, comma between
		check        func([]*session.Session) bool
	}{
		{"handshake", "start" + shake + work + goodbye, "initialize", func(s []*session.Session) bool { return s[0].ProtocolVersion == "2025-11-25" }},
		{"two handshakes are two sessions", "start" + shake + work + shake + tool("1") + answer("1") + goodbye, "initialize,initialize", func(s []*session.Session) bool {
			return s[0].ID == "s1" && s[1].ID == "s2" && len(s[0].Calls) == 1 && len(s[1].Calls) == 1 && s[1].FirstSeq == 6 &&
				s[0].End.First == "client" && s[0].End.ExitSeq == 0 && s[1].End.ExitSeq != 0
		}},
		{"an answer of the first session in the second", "start" + shake + tool("7") + shake + answer("7") + goodbye, "initialize,initialize", func(s []*session.Session) bool {
			return s[0].Calls[0].State == session.CallResult && len(s[1].Orphans) == 0 && s[0].LastSeq == 7
		}},
		{"an id of the first session again, the first unanswered", "start" + shake + tool("7") + shake + tool("7") + answer("7") + goodbye, "initialize,initialize", func(s []*session.Session) bool {
			return s[1].Calls[0].State == session.CallResult && s[0].Calls[0].State == session.CallNeverAnswered
		}},
		{"refused and tried again is one session", "start\n> {\"id\":9,\"method\":\"initialize\"}\n< {\"id\":9,\"error\":{\"code\":-32602,\"message\":\"version\"}}" + shake + work + goodbye, "initialize", func(s []*session.Session) bool {
			return s[0].Connection.Initialize.Seq == 4
		}},
		{"fallback in one process is one session", "start" + probe + shake + work + goodbye, "initialize", func(s []*session.Session) bool {
			return s[0].RemarkCounts[session.FlagEraFallback] == 1 && len(s[0].Connection.Discover) == 1 && s[0].Client.Name == "host" && s[0].ProtocolVersion == "2025-11-25"
		}},
		{"fallback after an unanswered probe", "start\n> {\"id\":\"p\",\"method\":\"server/discover\",\"params\":{" + modern + "}}" + shake + work + goodbye, "initialize", func(s []*session.Session) bool {
			return s[0].RemarkCounts[session.FlagEraFallback] == 1
		}},
		{"fallback in another process", "start 1" + probe + "signal client TERM\nexit TERM\nstart 2" + shake + work + goodbye, ",initialize", func(s []*session.Session) bool {
			return s[0].End.PassedOn && s[1].RemarkCounts[session.FlagNewProcess] == 1 && len(s[1].Connection.Discover) == 0
		}},
		{"stateless with discover", "start\n> {\"id\":1,\"method\":\"server/discover\",\"params\":{" + modern + "}}\n< {\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"ms\",\"version\":\"4\"}}}}" + goodbye, "stateless", func(s []*session.Session) bool {
			return s[0].ProtocolVersion == "2026-07-28" && s[0].Client.Name == "mod" && s[0].Server.Name == "ms" && *s[0].ToolsCapability && s[0].Connection.FirstSuccessSeq == 0
		}},
		{"stateless without discover", "start\n> {\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"," + modern + "}}\n< {\"id\":1,\"result\":{\"resultType\":\"complete\",\"content\":[],\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"ms\"}}}}" + goodbye, "stateless", func(s []*session.Session) bool {
			return s[0].ProtocolVersion == "2026-07-28" && s[0].Server.Name == "ms" && s[0].ToolsCapability == nil && !s[0].Connection.BeganMidway
		}},
		{"listen unanswered at the end is normal", "start\n> {\"id\":\"listen:0\",\"method\":\"subscriptions/listen\",\"params\":{" + modern + "}}\n< {\"method\":\"notifications/tools/list_changed\"}" + goodbye, "stateless", func(s []*session.Session) bool {
			return s[0].Requests[0].State == session.ExchangeUnanswered && s[0].Capture.ToolErrors == session.Complete
		}},
		{"joined in the middle", work + goodbye, "", func(s []*session.Session) bool { return s[0].Connection.BeganMidway }},
		{"a host that does not shake hands", "start" + work + goodbye, "", func(s []*session.Session) bool { return !s[0].Connection.BeganMidway }},
		{"work in the middle, then a handshake", work + shake + work + goodbye, ",initialize", func(s []*session.Session) bool {
			return s[0].Connection.BeganMidway && !s[1].Connection.BeganMidway
		}},
		{"never asked", "start" + goodbye, "", func(s []*session.Session) bool { return s[0].FirstSeq == 1 && s[0].LastSeq == 4 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			res := run(t, x.script)
			var eras []string
			for _, s := range res.Sessions {
				eras = append(eras, string(s.Era))
				if s.Basis == "" {
					t.Error("a session without a basis")
				}
			}
			if got := strings.Join(eras, ","); got != x.eras {
				t.Fatalf("eras %q, want %q", got, x.eras)
			}
			if !x.check(res.Sessions) {
				for _, s := range res.Sessions {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func TestNoRecordsNoSessions(t *testing.T) {
	if res := run(t, ""); len(res.Sessions) != 0 {
		t.Error(res.Sessions)
	}
}

func TestRecordingThatBeginsLate(t *testing.T) {
	r := script(t, "start"+shake+goodbye)
	r.Header.FirstSeq, r.Header.Segment = 100, 2
	if s := only(t, decode(t, r)); !s.Connection.BeganMidway || s.Capture.ToolCalls != session.Partial {
		t.Errorf("%+v", s.Capture)
	}
}

func TestUnknownKindsAreCounted(t *testing.T) {
	r := script(t, opened)
	r.Add(record.Record{Kind: "http_request"})
	if res := decode(t, r); res.Unknown["http_request"] != 1 || res.Records != 5 {
		t.Errorf("%+v", res)
	}
}

func TestEndOfARecordingThatNobodyDescribes(t *testing.T) {
	for name, x := range map[string]struct {
		closing *record.Closing
		state   record.State
		torn    bool
	}{
		"no closing record":      {nil, record.Torn, true},
		"closed":                 {&record.Closing{Last: true}, record.Sealed, false},
		"closed by a repair":     {&record.Closing{Last: true, Torn: true}, record.Sealed, true},
		"a segment is to follow": {&record.Closing{}, record.Torn, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := script(t, opened+tool("1"))
			if x.closing != nil {
				r.Records = append(r.Records, &record.Record{Kind: record.KindClosing, Closing: x.closing})
			}
			res, err := session.Decode(&r.Header, r.Next(), nil, session.Options{})
			if err != nil || res.State != x.state || res.Torn != x.torn || res.Sessions[0].Torn != x.torn {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
}
