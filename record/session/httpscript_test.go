package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record/session"
)

func httpScript(t testing.TB, text string) *fixtures.Recording {
	t.Helper()
	r, err := fixtures.HTTPScript(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func runHTTP(t testing.TB, text string, opts ...func(*session.Options)) *session.Result {
	t.Helper()
	r := httpScript(t, text)
	o := session.Options{End: r.End}
	for _, f := range opts {
		f(&o)
	}
	res, err := session.Decode(&r.Header, r.Next(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range res.Sessions {
		for _, m := range s.Remarks {
			if m.Detail == "" {
				t.Errorf("a remark without a sentence: %+v", m)
			}
		}
		if s.Basis == "" {
			t.Errorf("%s has no basis", s.ID)
		}
	}
	return res
}

func oneHTTP(t testing.TB, text string) *session.Session {
	t.Helper()
	res := runHTTP(t, text)
	if len(res.Sessions) != 1 {
		t.Fatalf("%d sessions, want one", len(res.Sessions))
	}
	return res.Sessions[0]
}

// hello is a handshake that gives the session id S: exchanges 1 and 2, records 1 to 6.
const hello = `
	1 POST {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"host","version":"1"}}}
	1 200 json sid:S {"id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"2"}}}
	2 POST sid:S {"method":"notifications/initialized"}
	2 202
`

// newer is a request of the newer era's, with its version and client.
func newer(method, more string) string {
	return `{"id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"}` + more + `},"name":"t","arguments":{}}}`
}

const (
	callT = `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`
	goodT = `{"id":1,"result":{"content":[]}}`
)

func webPairs(s *session.Session) string {
	var out []string
	for _, ex := range s.Requests {
		out = append(out, fmt.Sprintf("%s %d %s %s@%d %d", ex.From, ex.HTTP.Exchange, ex.Method, ex.State, ex.HTTP.AnswerExchange, ex.HTTP.Status))
	}
	return strings.Join(out, "|")
}

func webStates(s *session.Session) string {
	var out []string
	for _, c := range s.Calls {
		out = append(out, string(c.State))
	}
	return strings.Join(out, " ")
}

func flagsOnly(s *session.Session) string {
	var out []string
	for _, r := range s.Remarks {
		out = append(out, r.Flag)
	}
	return strings.Join(out, " ")
}
