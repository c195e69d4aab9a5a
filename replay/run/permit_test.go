package run

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
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
