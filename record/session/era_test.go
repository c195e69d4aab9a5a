package session_test

import (
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
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

// resultType of the stateless era: wire.md 3.4.
func TestResultType(t *testing.T) {
	const clientExt = `"io.modelcontextprotocol/clientCapabilities":{"extensions":{"org.example/x":{}}}`
	discover := func(capabilities string) string {
		return `> {"id":"d","method":"server/discover","params":{` + modern + `}}
			< {"id":"d","result":{"resultType":"complete","capabilities":` + capabilities + "}}\n"
	}
	call := func(meta, result string) string {
		return `> {"id":1,"method":"tools/call","params":{"name":"t",` + meta + `}}
			< {"id":1,"result":{"content":[],` + result + `"x":1}}` + goodbye
	}
	const unknown, missing = session.FlagUnknownResultType, session.FlagNoResultType
	for _, x := range []struct {
		name, script string
		state        session.CallState
		flag         string
	}{
		{"complete", call(modern, `"resultType":"complete",`), session.CallResult, ""},
		{"unknown", call(modern, `"resultType":"weird",`), session.CallMalformed, unknown},
		{"unknown in letters' case", call(modern, `"resultType":"Complete",`), session.CallMalformed, unknown},
		{"empty", call(modern, `"resultType":"",`), session.CallMalformed, unknown},
		{"no text", call(modern, `"resultType":null,`), session.CallMalformed, unknown},
		{"missing is read as complete", call(modern, ""), session.CallResult, missing},
		{"missing beside isError", call(modern, `"isError":true,`), session.CallToolError, missing},
		{"unknown, and the server names no extension", discover(`{"tools":{}}`) + call(modern, `"resultType":"weird",`), session.CallMalformed, unknown},
		{"unknown, and the server's extensions are none", discover(`{"extensions":{ }}`) + call(modern, `"resultType":"weird",`), session.CallMalformed, unknown},
		{"unknown, and an extension may define it", discover(`{"extensions":{"org.example/x":{}}}`) + call(modern, `"resultType":"weird",`), session.CallResult, unknown},
		{"unknown, the server did not tell, the client names an extension", call(modern[:len(modern)-1]+","+clientExt+"}", `"resultType":"weird",`), session.CallResult, unknown},
		{"unknown, the client names an extension and the server none", discover(`{}`) + call(modern[:len(modern)-1]+","+clientExt+"}", `"resultType":"weird",`), session.CallMalformed, unknown},
		{"the initialize era has no such member", shake + call(`"x":1`, `"resultType":"weird",`), session.CallResult, ""},
		{"a server of the initialize era does not owe it", shake + call(modern, ""), session.CallResult, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, "start\n"+x.script)
			if got := s.Calls[0].State; got != x.state {
				t.Errorf("%s, want %s", got, x.state)
			}
			for _, flag := range []string{unknown, missing} {
				if want := map[bool]int{true: 1}[flag == x.flag]; s.RemarkCounts[flag] != want {
					t.Errorf("%d of %s, want %d: %+v", s.RemarkCounts[flag], flag, want, s.Remarks)
				}
			}
		})
	}
	t.Run("of a list, and of discover itself", func(t *testing.T) {
		s := one(t, "start\n"+`> {"id":"d","method":"server/discover","params":{`+modern+`}}
			< {"id":"d","result":{"resultType":"weird","capabilities":{"extensions":{"org.example/x":{}}}}}
			> {"id":"l","method":"tools/list","params":{`+modern+`}}
			< {"id":"l","result":{"resultType":"weird","tools":[]}}
			> {"id":"m","method":"tools/list","params":{`+modern+`}}
			< {"id":"m","result":{"tools":[]}}`+goodbye)
		if s.Connection.Discover[0].State != session.ExchangeResult || s.Lists[0].State != catalog.Complete || s.RemarkCounts[unknown] != 2 {
			t.Errorf("%+v %+v %v", s.Connection.Discover[0], s.Lists[0], s.RemarkCounts)
		}
		s = one(t, "start\n"+`> {"id":"l","method":"tools/list","params":{`+modern+`}}
			< {"id":"l","result":{"resultType":"weird","tools":[]}}`+goodbye)
		if s.Lists[0].State != catalog.Failed || s.Requests[0].State != session.ExchangeMalformed {
			t.Errorf("%+v %+v", s.Lists[0], s.Requests[0])
		}
	})
}

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
	r.Add(record.Record{Kind: "of-tomorrow"})
	if res := decode(t, r); res.Unknown["of-tomorrow"] != 1 || res.Records != 5 {
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
