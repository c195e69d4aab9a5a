package grade_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
)

func overHTTP(t *testing.T, script string) []*session.Session {
	t.Helper()
	r, err := fixtures.HTTPScript(script)
	if err != nil {
		t.Fatal(err)
	}
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	return res.Sessions
}

// Connection and discovery over HTTP (grading.md 0.1).
func TestLinksOverHTTP(t *testing.T) {
	const (
		ini   = `{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
		good  = `{"id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`
		list  = `{"id":1,"method":"tools/list"}`
		meta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
		disc  = `{"id":1,"method":"server/discover","params":{` + meta + `}}`
		hello = "1 POST " + ini + "\n1 200 json sid:S " + good + "\n"
	)
	for name, c := range map[string]struct {
		script string
		link   predicate.Link
		state  chain.State
		reason chain.Reason
	}{
		"initialize is answered":                        {hello, predicate.Connection, chain.Passed, chain.Observed},
		"401, then success":                             {"1 POST " + ini + "\n1 401\n2 POST auth:A " + ini + "\n2 200 json " + good, predicate.Connection, chain.Passed, chain.Observed},
		"401, and nothing":                              {"1 POST " + ini + "\n1 401", predicate.Connection, chain.NotMeasured, chain.AuthRequired},
		"403 with a JSON-RPC error":                     {"1 POST " + ini + "\n1 403 json {\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no\"}}", predicate.Connection, chain.NotMeasured, chain.AuthRequired},
		"401 in the newer era":                          {"1 POST " + disc + "\n1 401", predicate.Connection, chain.NotMeasured, chain.AuthRequired},
		"503 by something in between":                   {"1 POST " + ini + "\n1 503 text down", predicate.Connection, chain.NotMeasured, chain.EgressUnverified},
		"503 with a JSON-RPC error":                     {"1 POST " + ini + "\n1 503 json {\"id\":0,\"error\":{\"code\":-32000,\"message\":\"down\"}}", predicate.Connection, chain.Failed, chain.ConnectFailed},
		"500":                                           {"1 POST " + ini + "\n1 500 text oops", predicate.Connection, chain.Failed, chain.ConnectFailed},
		"not reached":                                   {"1 POST " + ini + "\n1 error connect\n1 made 502", predicate.Connection, chain.NotMeasured, chain.SetupAborted},
		"not reached at first":                          {"1 POST " + ini + "\n1 error connect\n1 made 502\n2 POST " + ini + "\n2 200 json " + good, predicate.Connection, chain.Passed, chain.Observed},
		"the server resets before any head":             {"1 POST " + ini + "\n1 left server", predicate.Connection, chain.NotMeasured, chain.EgressUnverified},
		"the server breaks off its response":            {"1 POST " + ini + "\n1 200 sse\n1 cut server", predicate.Connection, chain.Failed, chain.ConnectFailed},
		"the response ends without an answer":           {"1 POST " + ini + "\n1 200 sse\n1 last", predicate.Connection, chain.Failed, chain.ConnectFailed},
		"the client leaves":                             {"1 POST " + ini + "\n1 200 sse\n1 cut client", predicate.Connection, chain.NotMeasured, chain.NoEvidenceCaptured},
		"HTML under 200":                                {"1 POST " + ini + "\n1 200 text hello", predicate.Connection, chain.NotMeasured, chain.NoEvidenceCaptured},
		"a redirect that was not followed here":         {"1 POST " + ini + "\n1 307 empty h:Location=http://up.test/x", predicate.Connection, chain.NotMeasured, chain.NoEvidenceCaptured},
		"discover is answered":                          {"1 POST " + disc + "\n1 200 json {\"id\":1,\"result\":{\"resultType\":\"complete\"}}", predicate.Connection, chain.Passed, chain.Observed},
		"-32022 and nothing":                            {"1 POST " + disc + "\n1 400 json {\"id\":1,\"error\":{\"code\":-32022,\"message\":\"x\"}}", predicate.Connection, chain.Failed, chain.ConnectFailed},
		"404 to a probe, then initialize":               {"1 POST " + disc + "\n1 404\n2 POST " + ini + "\n2 200 json " + good, predicate.Connection, chain.Passed, chain.Observed},
		"a call in a session from before the recording": {"1 POST sid:S {\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n1 200 json {\"id\":1,\"result\":{\"content\":[]}}", predicate.Connection, chain.Passed, chain.ImpliedByLater},

		"a list":                  {hello + "2 POST sid:S " + list + "\n2 200 json {\"id\":1,\"result\":{\"tools\":[]}}", predicate.Discovery, chain.Passed, chain.Observed},
		"a list under HTML":       {hello + "2 POST sid:S " + list + "\n2 200 text h:Content-Type=text/html x", predicate.Discovery, chain.NotMeasured, chain.NoEvidenceCaptured},
		"a list that is no gzip":  {hello + "2 POST sid:S " + list + "\n2 200 json h:Content-Encoding=gzip {\"id\":1,\"result\":{\"tools\":[]}}", predicate.Discovery, chain.NotMeasured, chain.NoEvidenceCaptured},
		"401 to a list":           {hello + "2 POST sid:S " + list + "\n2 401", predicate.Discovery, chain.NotMeasured, chain.NoEvidenceCaptured},
		"500 to a list":           {hello + "2 POST sid:S " + list + "\n2 500", predicate.Discovery, chain.Failed, chain.ToolsListFailed},
		"502 to a list":           {hello + "2 POST sid:S " + list + "\n2 502", predicate.Discovery, chain.NotMeasured, chain.NoEvidenceCaptured},
		"500, then a list":        {hello + "2 POST sid:S " + list + "\n2 500\n3 POST sid:S " + list + "\n3 200 json {\"id\":1,\"result\":{\"tools\":[]}}", predicate.Discovery, chain.Passed, chain.Observed},
		"a list that is cut off":  {hello + "2 POST sid:S " + list + "\n2 200 sse\n2 cut server", predicate.Discovery, chain.Failed, chain.ToolsListFailed},
		"202 to a list, and that": {hello + "2 POST sid:S " + list + "\n2 202", predicate.Discovery, chain.NotMeasured, chain.NoEvidenceCaptured},
	} {
		t.Run(name, func(t *testing.T) {
			ss := overHTTP(t, c.script)
			if len(ss) != 1 {
				t.Fatalf("%d sessions", len(ss))
			}
			for _, l := range grade.Chain(ss[0], ss).Links {
				if l.Link == c.link && (l.State != c.state || l.Reason != c.reason) {
					t.Errorf("%s, %s: %s; want %s, %s", l.State, l.Reason, l.Evidence.Text, c.state, c.reason)
				}
			}
		})
	}
}

// What a call's end over HTTP is to noToolErrors: the row toolErrors of grading.md 0.1.
func TestErrorsOverHTTP(t *testing.T) {
	const (
		start = "1 POST {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n1 200 json sid:S {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n"
		call  = `{"id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`
		good  = `{"id":1,"result":{"content":[]}}`
	)
	noErrors := checkOf(t, "{type: noToolErrors}")
	for name, c := range map[string]struct {
		script string
		want   predicate.Result
		says   string
	}{
		"a result":                     {"2 POST sid:S " + call + "\n2 200 json " + good, predicate.Pass, ""},
		"500":                          {"2 POST sid:S " + call + "\n2 500 text oops", predicate.Fail, "HTTP 500"},
		"502":                          {"2 POST sid:S " + call + "\n2 502", predicate.Fail, "HTTP 502"},
		"broken off":                   {"2 POST sid:S " + call + "\n2 200 sse\n2 cut server", predicate.Fail, "broke off"},
		"ended without an answer":      {"2 POST sid:S " + call + "\n2 200 sse\n2 last", predicate.Fail, "the response was empty"},
		"401, then success":            {"2 POST sid:S " + call + "\n2 401\n3 POST sid:S auth:A " + call + "\n3 200 json " + good, predicate.Pass, ""},
		"the client left":              {"2 POST sid:S " + call + "\n2 200 sse\n2 cut client", predicate.Error, ""},
		"202":                          {"2 POST sid:S " + call + "\n2 202", predicate.Error, ""},
		"HTML":                         {"2 POST sid:S " + call + "\n2 200 text x", predicate.Error, ""},
		"cancelled":                    {"2 POST sid:S " + call + "\n2 200 sse\n3 POST sid:S {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n3 202\n2 last", predicate.Pass, ""},
		"sixlink could not send it on": {"2 POST sid:S " + call + "\n2 error connect\n2 made 502", predicate.Error, "never reached the server"},
		"resumed":                      {"2 POST sid:S " + call + "\n2 200 sse\n2 event id:1\n2 cut server\n3 GET sid:S last:1\n3 200 sse\n3 event id:2 " + good + "\n3 last", predicate.Pass, ""},
		"a gap":                        {"2 POST sid:S " + call + "\n2 200 sse\ngap\n2 last", predicate.Error, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ss := overHTTP(t, start+c.script)
			if len(ss) != 1 {
				t.Fatalf("%d sessions", len(ss))
			}
			got := predicate.Evaluate(noErrors, grade.Evidence(ss[0], ss, nil))
			if got.Result != c.want || !strings.Contains(got.Reason, c.says) {
				t.Errorf("%s (%s), want %s with %q", got.Result, got.Reason, c.want, c.says)
			}
		})
	}
}

// Both conversations of a ChatGPT-shaped recording are trials, and both stand on
// the one handshake and the one list.
func TestChatGPTIsGraded(t *testing.T) {
	r, err := fixtures.ChatGPT()
	if err != nil {
		t.Fatal(err)
	}
	rec := decodeCase(t, r)
	suite := mustLoad(t, "defaults: {assertions: [{type: noToolErrors}, {type: argumentsMatchToolSchema}, {type: toolDescriptionsPresent}]}")
	v, err := grade.Grade(suite, []grade.Recording{rec}, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v.ExitCode() != 0 || len(rec.Sessions) != 2 {
		var b bytes.Buffer
		_ = report.Text(&b, report.Of(v), report.Options{Verbose: true})
		t.Errorf("exit code %d, %d sessions\n%s", v.ExitCode(), len(rec.Sessions), b.String())
	}
	for _, s := range rec.Sessions {
		links := grade.Chain(s, rec.Sessions).Links
		if links[0].State != chain.Passed || links[1].State != chain.Passed {
			t.Errorf("%s: connection %s, discovery %s", s.ID, links[0].State, links[1].State)
		}
	}
}

// A server may list other tools to other people: a session without a list of its own
// is not judged by that of a session with other credentials.
func TestListsOfAnotherPrincipalAreNotUsed(t *testing.T) {
	hello := func(n int, sid, auth string) string {
		return fmt.Sprintf("%d POST auth:%s {\"id\":0,\"method\":\"initialize\",\"params\":{}}\n%[1]d 200 json sid:%[3]s {\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\",\"serverInfo\":{\"name\":\"shop\",\"version\":\"1\"}}}\n", n, auth, sid)
	}
	list := "2 POST sid:S auth:A {\"id\":1,\"method\":\"tools/list\"}\n2 200 json {\"id\":1,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}}\n"
	call := func(auth string) string {
		return "4 POST sid:T auth:" + auth + " {\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{}}}\n4 200 json {\"id\":1,\"result\":{\"content\":[]}}"
	}
	fits := checkOf(t, "{type: argumentsMatchToolSchema}")
	for auth, want := range map[string]predicate.Result{"A": predicate.Pass, "B": predicate.Error} {
		ss := overHTTP(t, hello(1, "S", "A")+list+hello(3, "T", auth)+call(auth))
		if len(ss) != 2 {
			t.Fatalf("%d sessions", len(ss))
		}
		if got := predicate.Evaluate(fits, grade.Evidence(ss[1], ss, nil)); got.Result != want {
			t.Errorf("principal %s: %s (%s), want %s", auth, got.Result, got.Reason, want)
		}
	}
}
