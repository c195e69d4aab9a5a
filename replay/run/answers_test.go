package run

import (
	"strings"
	"testing"
	"testing/synctest"
)

const question = `{"message":"Delete it?","requestedSchema":{"type":"object"}}`

// asked is a recorded call during which the server asked, and what the client said.
func asked(tool, method, params, answer string) string {
	return opening + call(2, tool, `{}`) + `
< {"id":0,"method":"` + method + `","params":` + params + `}
> {"id":0,` + answer + `}` + answerTo(2, `{}`)
}

func TestRequestsOfTheNewServer(t *testing.T) {
	const accept = `"result":{"action":"accept","content":{"sure":true}}`
	for _, c := range []struct {
		name, rec, method, params string // the new server's request, during the call
		opts                      Options
		want                      string
		how                       How
		partial                   bool
	}{
		{"consent, tool allowed", asked("set", methodElicit, question, accept), methodElicit, question, Options{Allow: []string{"set"}}, accept, ByEqual, false},
		{"consent, tool only read-only", asked("get", methodElicit, question, accept), methodElicit, question, Options{}, `"result":{"action":"decline"}`, Declined, true},
		{"consent, allow-idempotent", asked("put", methodElicit, question, accept), methodElicit, question, Options{AllowIdempotent: true}, `"result":{"action":"decline"}`, Declined, true},
		{"consent to another question", asked("set", methodElicit, question, accept), methodElicit, `{"message":"Delete all?","requestedSchema":{"type":"object"}}`, Options{AllowAll: true}, `"result":{"action":"decline"}`, Declined, false},
		{"consent, other spelling and _meta", asked("set", methodElicit, question, accept), methodElicit, `{ "requestedSchema":{"type":"object"}, "_meta":{"a":1}, "message":"\u0044elete it?"}`, Options{AllowAll: true}, accept, ByEqual, false},
		{"a recorded decline", asked("get", methodElicit, question, `"result":{"action":"decline"}`), methodElicit, `{"message":"x"}`, Options{}, `"result":{"action":"decline"}`, ByOrder, false},
		{"sampling", asked("get", methodSample, `{"messages":[]}`, `"result":{"role":"assistant"}`), methodSample, `{"messages":[1]}`, Options{}, `"result":{"role":"assistant"}`, ByOrder, false},
		{"sampling was refused", asked("get", methodSample, `{}`, `"error":{"code":-1,"message":"no"}`), methodSample, `{}`, Options{}, `"error":{"code":-1,"message":"no"}`, ByEqual, false},
		{"roots", asked("get", methodRoots, `{}`, `"result":{"roots":[]}`), methodRoots, `{}`, Options{}, `"result":{"roots":[]}`, ByEqual, false},
		{"nothing on record", opening + both(2, "get", `{}`, `{}`), methodSample, `{}`, Options{}, `"error":{"code":-1,`, Declined, false},
		{"a question that is not on record", opening + both(2, "get", `{}`, `{}`), methodElicit, `{}`, Options{AllowAll: true}, `"result":{"action":"decline"}`, Declined, false},
		{"an unknown method", opening + both(2, "get", `{}`, `{}`), "x/y", `{}`, Options{AllowAll: true}, `"error":{"code":-32601,`, Declined, false},
		{"ping", opening + both(2, "get", `{}`, `{}`), "ping", `{}`, Options{}, `"result":{}`, "", false},
		{"a masked answer", asked("get", methodSample, `{}`, `"result":{"role":"******"}`), methodSample, `{}`, Options{}, `"error":{"code":-1,`, Declined, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var call message
				reply := ""
				s := &server{what: func(s *server, m message) {
					switch {
					case m.method == methodCall:
						call = m
						s.say(`{"jsonrpc":"2.0","id":"q","method":"%s","params":%s}`, c.method, c.params)
					case m.isReply:
						if reply = `"result":` + string(m.result); m.err != nil {
							reply = `"error":` + string(m.err)
						}
						s.ok(call)
					default:
						s.ok(m)
					}
				}}
				r := ran(t, c.rec, c.opts, s)
				if !strings.HasPrefix(reply, c.want) {
					t.Errorf("the server got %s, want %s", reply, c.want)
				}
				if how := How(""); len(r.Answers) > 0 {
					how = r.Answers[0].How
					if how != c.how || len(r.Answers) > 1 {
						t.Errorf("told %+v", r.Answers)
					}
				} else if c.how != "" {
					t.Errorf("not told: %s", c.how)
				}
				if r.Partial != c.partial {
					t.Errorf("partial %v: %+v", r.Partial, r)
				}
			})
		})
	}
}

func TestOneConsentIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var call message
		var replies []string
		s := &server{what: func(s *server, m message) {
			switch {
			case m.method == methodCall:
				call = m
				s.say(`{"jsonrpc":"2.0","id":"q","method":"%s","params":%s}`, methodElicit, question)
			case m.isReply:
				action, _ := getText(m.result, "action")
				if replies = append(replies, action); len(replies) == 1 {
					s.say(`{"jsonrpc":"2.0","id":"r","method":"%s","params":%s}`, methodElicit, question)
					return
				}
				s.ok(call)
			default:
				s.ok(m)
			}
		}}
		ran(t, asked("set", methodElicit, question, `"result":{"action":"accept"}`), Options{AllowAll: true}, s)
		if got := strings.Join(replies, " "); got != "accept decline" {
			t.Error(got)
		}
	})
}
