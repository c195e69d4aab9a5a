package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// expectation is fixtures/expect/NAME.json as far as sessions go; fixtures/README.md
// says what the members mean. It is computed from the captures by a script that
// shares no code with this package.
type expectation struct {
	Recording  string
	Records    int64
	Directions map[string]struct{ Lines, Blank, Nonmessages, Messages int }
	Session    struct {
		Era, ProtocolVersion string
		Client, Server       *struct{ Name, Version *string }
	}
	Pairs []struct {
		From      string
		Index     int
		Seq       int64
		ID        string
		Method    string
		Outcome   string
		AnswerSeq *int64
		Late      bool
		AnswerIdx *int `json:"answerIndex"`
	}
	Orphans []struct {
		From      string
		Index     int
		Seq       int64
		ID        string
		Duplicate bool
	}
	Lists []struct {
		State string
		Pages int
		Tools []string
	}
	Calls []struct {
		Seq          int64
		ID           string
		Tool, State  string
		IsError      *bool
		ErrorCode    *int64
		AnswerSeq    *int64
		Requests     []string
		InputRounds  int
		Task         *string
		Catalog      *int
		Ns, WaitedNs *int64
	}
	Exit struct {
		Seq    int64
		Code   *int
		Signal string
	}
}

// TestExpectations holds the recordings of fixtures/ against what the script
// found in the captures that they were made of: through the real reader and
// store, through the captures themselves, and with every line in parts.
func TestExpectations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(), "expect", "*.json"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%d expectations, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var e expectation
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		t.Run(e.Recording+"/recording", func(t *testing.T) {
			rd, err := record.Open(filepath.Join(fixtures.Dir(), "recordings", e.Recording+".mcp.jsonl.zst"), record.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer rd.Close()
			store := record.NewStore(rd.Files())
			defer store.Close()
			res, err := session.Decode(rd.Header(), rd.Next, store, session.Options{End: func() (record.State, bool) { return rd.End().State, rd.End().Torn }})
			if err != nil {
				t.Fatal(err)
			}
			if res.State != record.Sealed || res.Torn {
				t.Errorf("state %s, torn %v", res.State, res.Torn)
			}
			found(t, e, res)
		})
		base, number, _ := strings.Cut(e.Recording, ".")
		captured, err := fixtures.Capture(base + ".jsonl")
		if os.IsNotExist(err) {
			continue // a twin that was written by hand
		}
		if err != nil {
			t.Fatal(err)
		}
		r := captured[0]
		if number == "2" {
			r = captured[1]
		}
		if r.Name != e.Recording {
			t.Fatalf("capture %s, expectation %s", r.Name, e.Recording)
		}
		t.Run(e.Recording+"/capture", func(t *testing.T) { found(t, e, decode(t, r)) })
	}
}

func found(t *testing.T, e expectation, res *session.Result) {
	s := only(t, res)
	if res.Records != e.Records {
		t.Errorf("%d records, want %d", res.Records, e.Records)
	}
	for from, want := range e.Directions {
		f := record.From(from)
		got := [4]int{s.Lines[f], s.Blank[f], s.Nonmessage[f], s.Messages[f]}
		if got != [4]int{want.Lines, want.Blank, want.Nonmessages, want.Messages} {
			t.Errorf("%s: lines, blank, nonmessages, messages are %v, want %+v", from, got, want)
		}
	}
	if string(s.Era) != e.Session.Era || s.ProtocolVersion != e.Session.ProtocolVersion {
		t.Errorf("era %q version %q, want %+v", s.Era, s.ProtocolVersion, e.Session)
	}
	for _, p := range []struct {
		got  session.Peer
		want *struct{ Name, Version *string }
	}{{s.Client, e.Session.Client}, {s.Server, e.Session.Server}} {
		if p.want == nil {
			if p.got != (session.Peer{}) {
				t.Errorf("peer %+v, want none", p.got)
			}
		} else if p.want.Name != nil && (p.got.Name != *p.want.Name || p.got.Version != *p.want.Version) {
			t.Errorf("peer %+v, want %s %s", p.got, *p.want.Name, *p.want.Version)
		}
	}

	type pair struct {
		From, ID, Method, Outcome string
		Seq, Answer               int64
		Index, AnswerIndex        int
		Late                      bool
	}
	var got, want []pair
	for _, ex := range s.Requests {
		p := pair{string(ex.From), ex.ID.Raw, ex.Method, string(ex.State), ex.Seq, ex.AnswerSeq, ex.Index, ex.AnswerIndex, ex.Late}
		if p.Answer == 0 {
			p.AnswerIndex = 0
		}
		got = append(got, p)
	}
	for _, w := range e.Pairs {
		p := pair{w.From, w.ID, w.Method, w.Outcome, w.Seq, deref(w.AnswerSeq), w.Index, deref(w.AnswerIdx), w.Late}
		want = append(want, p)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("pairs (-want +got):\n%s", d)
	}

	type orphan struct {
		From, ID  string
		Seq       int64
		Index     int
		Duplicate bool
	}
	var gotO, wantO []orphan
	for _, o := range s.Orphans {
		gotO = append(gotO, orphan{string(o.From), o.ID.Raw, o.Seq, o.Index, o.Duplicate})
	}
	for _, o := range e.Orphans {
		wantO = append(wantO, orphan{o.From, o.ID, o.Seq, o.Index, o.Duplicate})
	}
	if d := cmp.Diff(wantO, gotO); d != "" {
		t.Errorf("orphans (-want +got):\n%s", d)
	}

	if len(s.Lists) != len(e.Lists) {
		t.Fatalf("%d lists, want %d", len(s.Lists), len(e.Lists))
	}
	place := map[*catalog.List]int{}
	for i, l := range s.Lists {
		place[l] = i
		var names []string
		for _, tool := range l.Tools {
			names = append(names, tool.Name)
		}
		if string(l.State) != e.Lists[i].State || len(l.Pages) != e.Lists[i].Pages || !cmp.Equal(names, e.Lists[i].Tools) {
			t.Errorf("list %d: %s (%s), %d pages, %v; want %+v", i, l.State, l.Why, len(l.Pages), names, e.Lists[i])
		}
	}

	if len(s.Calls) != len(e.Calls) {
		t.Fatalf("%d calls, want %d", len(s.Calls), len(e.Calls))
	}
	for i, c := range s.Calls {
		w := e.Calls[i]
		if c.Seq != w.Seq || c.ID.Raw != w.ID || c.Tool != w.Tool || string(c.State) != w.State || c.AnswerSeq != deref(w.AnswerSeq) {
			t.Errorf("call %d: seq %d id %s tool %s state %s answer %d, want %+v", i, c.Seq, c.ID.Raw, c.Tool, c.State, c.AnswerSeq, w)
		}
		var ids []string
		rounds := 0
		for _, a := range c.Attempts {
			ids = append(ids, a.ID.Raw)
		}
		rounds = len(ids) - 1
		if !cmp.Equal(ids, w.Requests) || rounds != w.InputRounds {
			t.Errorf("call %d: requests %v, want %v with %d rounds", i, ids, w.Requests, w.InputRounds)
		}
		if (c.Task != nil) != (w.Task != nil) || c.Task != nil && c.Task.ID != *w.Task {
			t.Errorf("call %d: task %+v", i, c.Task)
		}
		if w.ErrorCode != nil && (c.Error == nil || c.Error.Code != *w.ErrorCode) {
			t.Errorf("call %d: error %+v, want %d", i, c.Error, *w.ErrorCode)
		}
		if w.IsError != nil && *w.IsError != (c.State == session.CallToolError) {
			t.Errorf("call %d: isError %v, state %s", i, *w.IsError, c.State)
		}
		if n, ok := place[c.Catalog]; c.Catalog != nil && (!ok || w.Catalog == nil || n != *w.Catalog) || c.Catalog == nil && w.Catalog != nil {
			t.Errorf("call %d: catalog %d, want %v", i, n, w.Catalog)
		}
		if w.Ns != nil && (c.AnswerAt-c.At != *w.Ns || c.WaitedNs != *w.WaitedNs) {
			t.Errorf("call %d: %d ns, waited %d; want %d, %d", i, c.AnswerAt-c.At, c.WaitedNs, *w.Ns, *w.WaitedNs)
		}
		// Every value can be had, small or large.
		for _, v := range []session.Value{c.Arguments, c.Result} {
			if v.IsZero() {
				continue
			}
			if b, err := v.Bytes(); err != nil || int64(len(b)) != v.Len() || b[0] != '{' && string(b) != "null" {
				t.Errorf("call %d: %d bytes of %d, %v", i, len(b), v.Len(), err)
			}
		}
	}
	if s.End.ExitSeq != e.Exit.Seq || s.End.Exit == nil || s.End.Exit.Signal != e.Exit.Signal || deref(s.End.Exit.Code) != deref(e.Exit.Code) {
		t.Errorf("end %+v, want %+v", s.End, e.Exit)
	}
	if s.Capture.ToolCalls != session.Complete {
		t.Errorf("capture %+v", s.Capture)
	}
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
