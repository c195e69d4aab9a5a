package run

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// driven decodes a recording of the fixtures and drives it against the server.
func driven(t *testing.T, r *fixtures.Recording, opts Options, s *server) (*Plan, *Report) {
	t.Helper()
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	masks := &Masks{}
	for _, rec := range r.Records {
		masks.Add(rec)
	}
	p, err := NewPlan(&Recording{ID: r.Name, Sessions: res.Sessions, Masked: masks}, opts)
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.Run(context.Background(), s.open)
	if err != nil {
		t.Fatal(err)
	}
	return p, report
}

// Case 22: what is sent is what was recorded, byte for byte; only the ids are ours.
func TestNothingIsReEncoded(t *testing.T) {
	r, err := fixtures.Case("22-nothing-re-encoded", "input.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, rec := range r.Records {
		if params := get(rec.Data, "params"); rec.Kind == record.KindFrame && rec.From == record.Client && params != nil {
			want = append(want, string(params))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		driven(t, r, Options{AllowAll: true}, s)
		var got []string
		for _, g := range s.got {
			if g.params != nil {
				got = append(got, string(g.params))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != 2 {
			t.Errorf("sent\n%s\nrecorded\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Case 96: a write that the recorded client sent again is sent twice, since it was; and
// not at all without permission.
func TestSentAgain(t *testing.T) {
	r, err := fixtures.HTTPCase("96-sent-again")
	if err != nil {
		t.Fatal(err)
	}
	for allow, want := range map[string]string{"": "", "pay": "pay pay"} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			_, report := driven(t, r, Options{Allow: []string{allow}}, s)
			if s.calls() != want || report.Partial != (want == "") {
				t.Errorf("with --allow %q the server got %q: %+v", allow, s.calls(), report)
			}
		})
	}
}

// Every capture can be planned, and the plan sends no tool that its catalog does not
// call read-only.
func TestPlansOfCaptures(t *testing.T) {
	for _, name := range []string{"ts1-everything-stdio.jsonl", "ts2-modern-stdio.jsonl", "mcpgo-modern-stdio.jsonl", "ts1-filesystem-stdio.jsonl"} {
		all, err := fixtures.Capture(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPlan(&Recording{ID: r.Name, Sessions: res.Sessions}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Dry().Steps {
				if s.Tool != "" && s.By != "" && s.By != "read-only" {
					t.Errorf("%s: %+v", name, s)
				}
			}
		}
	}
}

// Servers are strangers: whatever they send, it is read without a panic, and what is
// made of it is JSON of the same parts.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{"a":["x",1.0,{"b":"{\"c\":1}"}]}}`, `[{"id":"a","error":{}},{"method":"m"}]`, `{"id":1,"id":2,"method":"\ud800"}`, `{`, `[`, `{"params":{"_meta":{"progressToken":1}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, m := range messages(line) {
			if !m.isMessage {
				t.Fatalf("%q is no message and was handed out", line)
			}
			for _, v := range [][]byte{m.params, m.result} {
				n := 0
				deepLeaves(v, func(l leaf) {
					n++
					if l.at() == "" && len(v) > 0 && v[0] == '{' {
						t.Fatalf("a leaf of %q without a place", v)
					}
				})
				if all, ok := members(v); ok && len(all) > 0 {
					w := with(v, all[0].name, `"new"`)
					if got := get(w, all[0].name); string(got) != `"new"` {
						t.Fatalf("%q with %q is %q", v, all[0].name, w)
					}
					if n := with(v, "a name that is not there", "1"); !bytes.HasSuffix(bytes.TrimSpace(n), []byte("}")) {
						t.Fatalf("%q", n)
					}
				}
				spelling(v)
			}
		}
	})
}
