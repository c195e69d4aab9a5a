package run

import (
	"strings"
	"testing"
	"testing/synctest"
)

// One recorded answer, one new answer, and a later request: what of it is replaced.
func TestMintedValues(t *testing.T) {
	const text = `{"content":[{"type":"text","text":"{\"id\":\"abc-00001\",\"n\":7}"}]}`
	for _, c := range []struct {
		name, was, is string // the recorded and the new answer to the first call
		args, want    string // of the second call: recorded, and as it was sent
	}{
		{"an id in structured content", `{"structuredContent":{"id":"abc-00001"}}`, `{"structuredContent":{"id":"xyz-99"}}`, `{"id":"abc-00001"}`, `{"id":"xyz-99"}`},
		{"an id in JSON in a text", text, strings.ReplaceAll(text, "abc-00001", "xyz-99999"), `{"deep":[{"id":"abc-00001"}]}`, `{"deep":[{"id":"xyz-99999"}]}`},
		{"a number", `{"structuredContent":{"id":123456}}`, `{"structuredContent":{"id":654321}}`, `{"id":123456}`, `{"id":654321}`},
		{"a number that became a text", `{"structuredContent":{"id":123456}}`, `{"structuredContent":{"id":"a\"b"}}`, `{"id":123456}`, `{"id":"a\"b"}`},
		{"the same value again", `{"structuredContent":{"id":"abc-00001"}}`, `{"structuredContent":{"id":"abc-00001"}}`, `{"id":"abc-00001"}`, `{"id":"abc-00001"}`},
		{"a short text is no handle", `{"structuredContent":{"id":"abc-001"}}`, `{"structuredContent":{"id":"xyz-999"}}`, `{"id":"abc-001"}`, `{"id":"abc-001"}`},
		{"a short number is no handle", `{"structuredContent":{"id":12345}}`, `{"structuredContent":{"id":54321}}`, `{"id":12345}`, `{"id":12345}`},
		{"a part of a text is no handle", `{"structuredContent":{"id":"id abc-00001 made"}}`, `{"structuredContent":{"id":"id xyz-99999 made"}}`, `{"id":"abc-00001"}`, `{"id":"abc-00001"}`},
		{"a text is no number", `{"structuredContent":{"id":"123456789"}}`, `{"structuredContent":{"id":"987654321"}}`, `{"id":123456789}`, `{"id":123456789}`},
		{"spelling does not count", `{"structuredContent":{"id":"abc-\u0030\u0030001"}}`, `{"structuredContent":{"id":"xyz-99999"}}`, `{"id":"abc\u002d00001"}`, `{"id":"xyz-99999"}`},
		{"a list that moved", `{"structuredContent":{"all":[{"uri":"demo://first"},{"uri":"demo://second"}]}}`, `{"structuredContent":{"all":[{"uri":"demo://new"},{"uri":"demo://first"},{"uri":"demo://second"}]}}`,
			`{"uri":"demo://second"}`, `{"uri":"demo://second"}`},
		{"a counter in a list", `{"structuredContent":{"all":[100001,100002]}}`, `{"structuredContent":{"all":[100002,100003]}}`, `{"id":100002}`, `{"id":100003}`},
		{"a counter beside the one before", `{"structuredContent":{"id":"order-0002","after":"order-0001"}}`, `{"structuredContent":{"id":"order-0003","after":"order-0002"}}`, `{"id":"order-0002"}`, `{"id":"order-0003"}`},
		{"the tool's name is none", `{"structuredContent":{"id":"abc-00001"}}`, `{"structuredContent":{"id":"xyz-99999"}}`, `{"x":{"abc-00001":1}}`, `{"x":{"abc-00001":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := true
				s := &server{what: func(s *server, m message) {
					if m.method == methodCall && first {
						first = false
						s.result(m, c.is)
						return
					}
					s.ok(m)
				}}
				r := ran(t, opening+both(2, "get", `{}`, c.was)+both(3, "get", c.args, `{}`), Options{}, s)
				if got := string(get([]byte(s.last(methodCall)), "arguments")); got != c.want {
					t.Errorf("sent %s, want %s", got, c.want)
				}
				if got, want := len(r.Carried), 0; (got > 0) != (c.args != c.want) {
					t.Errorf("%d substitutions told, want %d: %+v", got, want, r.Carried)
				}
				if r.Partial {
					t.Errorf("partial: %+v", r.Skipped())
				}
			})
		})
	}
}

func TestWhatIsNotMinted(t *testing.T) {
	const was, is = `{"structuredContent":{"id":"abc-00001"}}`, `{"structuredContent":{"id":"xyz-99999"}}`
	use := both(9, "get", `{"id":"abc-00001"}`, `{}`)
	for name, rec := range map[string]string{
		"the client had it first":      both(2, "get", `{"id":"abc-00001"}`, `{}`) + both(3, "get", `{}`, was) + use,
		"two answers have it":          both(2, "get", `{}`, was) + both(3, "get", `{}`, was) + use,
		"a catalog has it":             strings.ReplaceAll(opening, `"name":"set"`, `"name":"set","description":"abc-00001"`)[len(opening)-0:] + both(2, "get", `{}`, was) + use,
		"the handshake was the client": both(2, "get", `{}`, was) + use,
	} {
		head := opening
		switch name {
		case "a catalog has it":
			head = strings.ReplaceAll(opening, `"name":"set",`, `"name":"set","title":"abc-00001",`)
			rec = both(2, "get", `{}`, was) + use
		case "the handshake was the client":
			head = strings.ReplaceAll(opening, `"version":"1"}}}`, `"version":"abc-00001"}}}`)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{what: func(s *server, m message) {
					if m.method == methodCall {
						s.result(m, is)
						return
					}
					s.ok(m)
				}}
				r := ran(t, head+rec, Options{}, s)
				if got := string(get([]byte(s.last(methodCall)), "arguments")); got != `{"id":"abc-00001"}` || len(r.Carried) > 0 {
					t.Errorf("sent %s: %+v", got, r.Carried)
				}
			})
		})
	}
}

// A minted value that the new answer does not have must not be sent as it was: it may
// name something else on the new server.
func TestALostHandleIsSkipped(t *testing.T) {
	for name, answer := range map[string]string{
		"no value there": `"result":{"structuredContent":{}}`,
		"an error":       `"error":{"code":-32603,"message":"no"}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := true
				s := &server{what: func(s *server, m message) {
					if m.method == methodCall && first {
						first = false
						s.say(`{"jsonrpc":"2.0","id":%s,%s}`, m.id, answer)
						return
					}
					s.ok(m)
				}}
				rec := opening + both(2, "set", `{}`, `{"structuredContent":{"id":"abc-00001"}}`) + both(3, "set", `{"id":"abc-00001"}`, `{}`)
				r := ran(t, rec, Options{Allow: []string{"set"}}, s)
				if got := states(r); got != "set:sent set:skipped:handle-lost" || s.calls() != "set" || !r.Partial {
					t.Errorf("%s, sent %q", got, s.calls())
				}
			})
		})
	}
}

func TestCursors(t *testing.T) {
	rec := opening + `
> {"id":2,"method":"resources/list"}
< {"id":2,"result":{"resources":[],"nextCursor":"2"}}
> {"id":3,"method":"resources/list","params":{"cursor":"2"}}
< {"id":3,"result":{"resources":[],"nextCursor":"3"}}
> {"id":4,"method":"resources/list","params":{"cursor":"3"}}
< {"id":4,"result":{"resources":[]}}
`
	run := func(pages int) (*Report, *server) {
		n := 0
		s := &server{what: func(s *server, m message) {
			if m.method != "resources/list" {
				s.ok(m)
				return
			}
			next := ""
			if n++; n < pages {
				next = `,"nextCursor":"p` + string(rune('0'+n)) + `"`
			}
			s.result(m, `{"resources":[]`+next+`}`)
		}}
		return ran(t, rec, Options{}, s), s
	}
	t.Run("as many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, s := run(3)
			if got := s.last("resources/list"); got != `{"cursor":"p2"}` || len(r.Carried) != 2 || r.Partial {
				t.Errorf("the last page was asked for with %s; %+v", got, r)
			}
		})
	})
	t.Run("a shorter list leaves no hole", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, s := run(1)
			if strings.Count(s.methods(), "resources/list") != 1 || r.Partial {
				t.Errorf("%s; %+v", s.methods(), r.Skipped())
			}
		})
	})
}

// Permission depends on the whole catalog: pages that the recorded one did not have
// are asked for before anything else is.
func TestFurtherPagesOfTheCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{what: func(s *server, m message) {
			switch cursor, _ := getText(m.params, "cursor"); {
			case m.method == methodTools && cursor == "":
				s.result(m, `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":""}`)
			case m.method == methodTools:
				s.result(m, tools)
			default:
				s.ok(m)
			}
		}}
		s.what = func(s *server, m message) {
			if m.method != methodTools {
				s.ok(m)
				return
			}
			if get(m.params, "cursor") == nil {
				s.result(m, `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":""}`)
			} else {
				s.result(m, tools)
			}
		}
		r := ran(t, opening+both(2, "get", `{}`, `{}`), Options{}, s)
		if s.calls() != "get" || strings.Count(s.methods(), methodTools) != 2 || len(r.Notes) != 1 || r.Sent != 3 || r.Answered != 3 {
			t.Errorf("%s, %+v", s.methods(), r)
		}
	})
}

func TestTasks(t *testing.T) {
	rec := opening + `
> {"id":2,"method":"tools/call","params":{"name":"get","arguments":{},"task":{"ttl":60000}}}
< {"id":2,"result":{"task":{"taskId":"t1","status":"working"}}}
> {"id":3,"method":"tasks/get","params":{"taskId":"t1"}}
< {"id":3,"result":{"taskId":"t1","status":"completed"}}
> {"id":4,"method":"tasks/result","params":{"taskId":"t1"}}
< {"id":4,"result":{"content":[]}}
`
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		s := &server{what: func(s *server, m message) {
			switch m.method {
			case methodCall:
				s.result(m, `{"task":{"taskId":"t2","status":"working"}}`)
			case "tasks/get":
				polls++
				word := "working"
				if polls == 3 {
					word = "completed"
				}
				s.result(m, `{"taskId":"t2","status":"`+word+`","pollInterval":100}`)
			default:
				s.ok(m)
			}
		}}
		r := ran(t, rec, Options{}, s)
		if polls != 3 || s.last("tasks/result") != `{"taskId":"t2"}` || r.Partial {
			t.Errorf("%d polls, result of %s; %+v", polls, s.last("tasks/result"), r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// A task follows its tool.
		s := &server{}
		r := ran(t, strings.Replace(rec, `"name":"get","arguments"`, `"name":"set","arguments"`, 1), Options{}, s)
		if strings.Contains(s.methods(), "tasks") || len(r.Skipped()) != 3 {
			t.Errorf("%s; %+v", s.methods(), r.Skipped())
		}
	})
}

const round = `
> {"id":2,"method":"tools/call","params":{"name":"get","arguments":{"a":1}}}
< {"id":2,"result":{"resultType":"input_required","inputRequests":{"k1":{"method":"elicitation/create","params":{}}},"requestState":"s1"}}
> {"id":3,"method":"tools/call","params":{"name":"get","arguments":{"a":1},"inputResponses":{"k1":{"action":"accept","content":{}}},"requestState":"s1"}}
< {"id":3,"result":{"content":[],"resultType":"complete"}}
`

func TestInputRounds(t *testing.T) {
	asks := func(key string) func(*server, message) {
		return func(s *server, m message) {
			if m.method == methodCall && get(m.params, "inputResponses") == nil {
				s.result(m, `{"resultType":"input_required","inputRequests":{"`+key+`":{"method":"elicitation/create","params":{}}},"requestState":"s2"}`)
				return
			}
			s.ok(m)
		}
	}
	for _, c := range []struct {
		name    string
		opts    Options
		rec     string
		what    func(*server, message)
		want    string
		partial bool
	}{
		{"consent for an allowed tool", Options{Allow: []string{"get"}}, round, asks("k1"), `"inputResponses":{"k1":{"action":"accept","content":{}}},"requestState":"s2"}`, false},
		{"no consent for a tool that is only read-only", Options{}, round, asks("k1"), `"inputResponses":{"k1":{"action":"decline"}},"requestState":"s2"}`, true},
		{"other keys", Options{Allow: []string{"get"}}, round, asks("k9"), `"inputResponses":{"k9":{"action":"accept","content":{}}},"requestState":"s2"}`, false},
		{"consent to another question", Options{Allow: []string{"get"}}, strings.Replace(round, `"params":{}}},"requestState"`, `"params":{"message":"one?"}}},"requestState"`, 1), asks("k1"),
			`"inputResponses":{"k1":{"action":"decline"}},"requestState":"s2"}`, false},
		{"a consent that only some parsers see", Options{}, strings.Replace(round, `{"action":"accept",`, `{"Action":"accept","action":"decline",`, 1), asks("k1"), `"inputResponses":{"k1":{"action":"decline"}},"requestState":"s2"}`, true},
		{"no input needed", Options{}, round, nil, `"arguments":{"a":1}}`, false},
		{"a masked state", Options{Allow: []string{"get"}}, strings.Replace(round, `"requestState":"s1"}}
< {"id":3`, `"requestState":"**"}}
< {"id":3`, 1), asks("k1"), `"requestState":"s2"}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{what: c.what}
				r := ran(t, opening+c.rec, c.opts, s)
				if got := s.last(methodCall); !strings.HasSuffix(got, c.want) || r.Partial != c.partial {
					t.Errorf("sent %s; partial %v, %+v %+v", got, r.Partial, r.Steps, r.Answers)
				}
			})
		})
	}
}
