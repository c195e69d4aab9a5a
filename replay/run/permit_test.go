package run

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sixlink/sixlink/record"
)

// What a catalog may say of a tool, and what of that counts as a word.
var annotations = map[string]string{
	"none":       ``,
	"readonly":   `{"readOnlyHint":true}`,
	"not":        `{"readOnlyHint":false}`,
	"text":       `{"readOnlyHint":"true"}`,
	"case":       `{"ReadOnlyHint":true}`,
	"twice":      `{"readOnlyHint":false,"readOnlyHint":true}`,
	"idempotent": `{"idempotentHint":true,"destructiveHint":false}`,
	"destroys":   `{"idempotentHint":true}`,
}

// A write must never reach the new server without permission: every pair of catalogs
// is tried against a server that counts.
func TestAWriteIsNeverSentWithoutPermission(t *testing.T) {
	tool := func(name, a string) string {
		if a != "" {
			a = `,"annotations":` + a
		}
		return `{"name":"` + name + `","inputSchema":{}` + a + `}`
	}
	for then, a := range annotations {
		for now, b := range annotations {
			rec := strings.Replace(opening, tools, `{"tools":[`+tool("t", a)+`]}`, 1) + both(2, "t", `{}`, `{"content":[]}`)
			lists := map[string]string{"listed": tool("t", b), "missing": tool("other", b), "both kinds": tool("t", b) + "," + tool("t", "")}
			for how, list := range lists {
				for _, o := range []Options{{}, {AllowIdempotent: true}, {Allow: []string{"t"}}, {AllowAll: true}, {Allow: []string{"T", "other", "tools/call"}}} {
					readOnly := then == "readonly" && now == "readonly" && how == "listed"
					repeats := func(w string) bool { return w == "readonly" || w == "idempotent" }
					want := readOnly || o.AllowIdempotent && repeats(then) && repeats(now) && how == "listed" ||
						o.AllowAll || len(o.Allow) == 1
					t.Run(fmt.Sprintf("%s/%s/%s/%+v", then, now, how, o.Allow), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							s := &server{list: `{"tools":[` + list + `]}`}
							r := ran(t, rec, o, s)
							if got := s.calls() != ""; got != want {
								t.Errorf("sent %v, want %v: %s", got, want, states(r))
							}
							if r.Partial == want {
								t.Errorf("partial %v: %s", r.Partial, states(r))
							}
						})
					})
				}
			}
		}
	}
}

func TestMethods(t *testing.T) {
	request := func(method string) string {
		return fmt.Sprintf(`
> {"id":2,"method":%q,"params":{"uri":"a"}}`, method) + answerTo(2, `{}`)
	}
	for method, want := range map[string]bool{
		"ping": true, "tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true,
		"resources/read": true, "prompts/get": true, "completion/complete": true,
		"resources/subscribe": false, "logging/setLevel": false, "subscriptions/listen": false, "x/unknown": false, "tasks/cancel": false, "tasks/get": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			r := ran(t, opening+request(method), Options{}, s)
			if got := strings.HasSuffix(s.methods(), " "+method); got != want || r.Partial == want {
				t.Errorf("%s: sent %v, want %v; partial %v", method, got, want, r.Partial)
			}
			s = &server{}
			if r = ran(t, opening+request(method), Options{Allow: []string{method}}, s); r.Partial {
				t.Errorf("%s allowed: %+v", method, r.Skipped())
			}
		})
	}
}

func TestWithoutARecordedCatalogNothingIsReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		head, _, _ := strings.Cut(opening, `> {"id":1`)
		r := ran(t, head+both(2, "get", `{}`, `{"content":[]}`), Options{}, s)
		if got := states(r); got != "get:skipped:unlisted" || s.calls() != "" {
			t.Errorf("%s, sent %q", got, s.calls())
		}
	})
}

func TestSkipsAndTaint(t *testing.T) {
	const ok = `{"content":[]}`
	made := `{"structuredContent":{"id":"abcdef-123456"}}`
	for _, c := range []struct {
		name, rec, want string
		opts            Options
		partial         bool
	}{
		{"after a skipped call results are tainted", both(2, "get", `{}`, ok) + both(3, "set", `{}`, ok) + both(4, "get", `{}`, ok),
			"get:sent set:skipped:not-readonly get:sent:tainted", Options{}, true},
		{"arguments from a skipped answer", both(2, "set", `{}`, made) + both(3, "get", `{"id":"abcdef-123456"}`, ok) + both(4, "get", `{}`, ok),
			"set:skipped:not-readonly get:skipped:from-skipped get:sent:tainted", Options{}, true},
		{"arguments from a skipped answer and another one", both(2, "set", `{}`, made) + both(3, "get", `{}`, made) + both(4, "get", `{"id":"abcdef-123456"}`, ok),
			"set:skipped:not-readonly get:sent:tainted get:skipped:from-skipped", Options{}, true},
		{"a replaced credential", both(2, "get", `{"key":"********"}`, ok), "get:skipped:masked", Options{AllowAll: true}, true},
		{"only some tools", both(2, "get", `{}`, ok) + both(3, "set", `{}`, ok) + both(4, "get", `{}`, ok),
			"get:sent set:left-out:left-out get:sent:tainted", Options{Only: []string{"get"}}, false},
		{"after a gap in what the client sent", both(2, "get", `{}`, ok) + "\n!" + both(3, "get", `{}`, ok), "get:sent get:sent:tainted", Options{}, false},
		{"left-out reads do not taint", both(2, "get", `{}`, ok) + both(3, "set", `{}`, ok),
			"get:left-out:left-out set:sent", Options{Only: []string{"set"}, Allow: []string{"set"}}, false},
		{"an id of null", "\n" + `> {"id":null,"method":"tools/call","params":{"name":"get","arguments":{}}}`, "get:skipped:no-id", Options{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				r := ran(t, opening+c.rec, c.opts, s)
				if got := states(r); got != c.want || r.Partial != c.partial {
					t.Errorf("got  %s, partial %v\nwant %s, %v", got, r.Partial, c.want, c.partial)
				}
				if strings.Contains(s.calls(), "set") != strings.Contains(c.want, "set:sent") {
					t.Errorf("the server got %q", s.calls())
				}
				p, err := NewPlan(recorded(t, opening+c.rec), c.opts)
				if err != nil {
					t.Fatal(err)
				}
				dry := strings.ReplaceAll(states(p.Dry()), ":"+StateWould, ":"+StateSent)
				if dry != c.want {
					t.Errorf("the plan says %s", dry)
				}
			})
		})
	}
}

// The catalog that counts is the last one before the call, also where the server took
// a hint back.
func TestAHintThatWasTakenBack(t *testing.T) {
	again := `
> {"id":5,"method":"tools/list"}
< {"id":5,"result":` + tools + `}`
	list := func(word string) string {
		return `{"tools":[{"name":"get","inputSchema":{},"annotations":{"readOnlyHint":` + word + `}}]}`
	}
	for _, c := range []struct {
		name, rec string
		lists     []string // the new server's, one after the other
		announced bool     // after the first one
		want      string
		listed    int
	}{
		{"both say it", opening + again, []string{list("true"), list("true")}, false, "get", 2},
		{"not in the second list", opening + again, []string{list("true"), list("false")}, false, "", 2},
		{"only in the second list", opening + again, []string{list("false"), list("true")}, false, "get", 2},
		{"a change that the recorded host did not ask for", opening, []string{list("true"), list("false")}, true, "", 2},
		{"a change of something else", opening, []string{list("true"), list("true")}, true, "get", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				s := &server{what: func(s *server, m message) {
					if m.method != methodTools {
						s.ok(m)
						return
					}
					s.result(m, c.lists[min(n, len(c.lists)-1)])
					if n++; n == 1 && c.announced {
						s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
					}
				}}
				// The pause of the rate is when the news comes.
				r := ran(t, c.rec+both(9, "get", `{}`, `{"content":[]}`), Options{Rate: 5}, s)
				if s.calls() != c.want || n != c.listed || r.Partial != (c.want == "") {
					t.Errorf("sent %q, listed %d times: %s %v", s.calls(), n, states(r), r.Notes)
				}
			})
		})
	}
}

// A server that announces a change whenever it lists its tools permits nothing.
func TestToolsThatNeverSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &server{}
		s.what = func(s *server, m message) {
			if m.method == methodTools {
				n++
				s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			s.ok(m)
		}
		r := ran(t, opening+both(2, "get", `{}`, `{"content":[]}`)+both(3, "get", `{}`, `{"content":[]}`), Options{Rate: 5}, s)
		if s.calls() != "" || !r.Partial || n > 20 {
			t.Errorf("sent %q, listed %d times: %s", s.calls(), n, states(r))
		}
	})
}

// Of two names in a request servers take one or the other, and some take "Name" for
// "name": a read-only name beside another one is no permission.
func TestATwofoldName(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"get","arguments":{}}`:                        "get:sent",
		`{"name":"set","name":"get","arguments":{}}`:           "get:skipped:unreadable",
		`{"name":"get","Name":"set","arguments":{}}`:           "get:skipped:unreadable",
		`{"NAME":"set","name":"get","arguments":{}}`:           "get:skipped:unreadable",
		`{"name":"get","arguments":{"name":"set"},"_meta":{}}`: "get:sent",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			rec := opening + "\n" + `> {"id":2,"method":"tools/call","params":` + params + `}` + answerTo(2, `{"content":[]}`)
			r := ran(t, rec, Options{Allow: []string{"get"}}, s)
			if want == "get:sent" {
				r = ran(t, rec, Options{}, s)
			}
			if got := states(r); got != want || (want != "get:sent") != (s.calls() == "") {
				t.Errorf("%s: %s, the server got %q", params, got, s.calls())
			}
		})
	}
}

// The recording of a bridge has a message twice, as the host's line and as the body of
// an exchange: a credential counts wherever it is marked.
func TestMasksOfABridge(t *testing.T) {
	m := &Masks{}
	m.Add(&record.Record{Seq: 7, Kind: record.KindFrame, From: record.Client, Masked: []record.Mask{{Off: 1, Len: 2}}})
	m.Add(&record.Record{Seq: 9, Kind: record.KindBody, From: record.Client, Exchange: 3, Masked: []record.Mask{{Off: 1, Len: 2}}})
	for _, at := range [][2]int64{{7, 0}, {7, 4}, {8, 3}} {
		if m.in(at[0], at[1]) == 0 {
			t.Errorf("seq %d, exchange %d: not masked", at[0], at[1])
		}
	}
}
