package session_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// webExpectation is fixtures/expect/http/NAME.json; fixtures/README.md says what the
// members mean. It is computed by a script that shares no code with this package.
type webExpectation struct {
	Records   int64
	Exchanges []struct {
		N              int64
		Method         string
		Status         *int
		Client, Server struct {
			Bytes  int64
			SHA256 string
		}
	}
	Sessions []struct {
		Transport, Era, ProtocolVersion string
		Client, Server                  *struct{ Name, Version *string }
		FirstSeq                        int64
		Exchanges                       []int64
		Messages                        map[record.From]int
		Pairs                           []struct {
			From, ID, Method, Outcome string
			Exchange, Seq             int64
			Event, Index              int
			Status                    *int
			AnswerSeq                 *int64
			AnswerExchange            *int64
			AnswerEvent               *int
			AnswerEventID             *string `json:"answerEventId"`
		}
		Orphans []struct {
			From, ID      string
			Exchange, Seq int64
			Event, Index  int
			Duplicate     bool
		}
		Lists []struct {
			State string
			Pages int
			Tools []string
		}
		Calls []struct {
			Exchange, Seq int64
			ID            string
			Tool, State   string
			ErrorCode     *int64
			AnswerSeq     *int64
			Requests      []string
			Task          *string
			Catalog       *int
			Ns, WaitedNs  *int64
		}
	}
}

// TestHTTPExpectations holds the recordings of fixtures/recordings/http, and the
// captures themselves, against what the script found in the captures.
func TestHTTPExpectations(t *testing.T) {
	files := fixtures.HTTPCaptures()
	if len(files) < 11 {
		t.Fatalf("%d captures", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".jsonl")
		b, err := fixtures.ReadFile("expect", "http", name+".json")
		if err != nil {
			t.Fatal(err)
		}
		var e webExpectation
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		t.Run(name+"/capture", func(t *testing.T) {
			r, err := fixtures.HTTPCapture(file)
			if err != nil {
				t.Fatal(err)
			}
			foundHTTP(t, &e, decode(t, r))
		})
		t.Run(name+"/recording", func(t *testing.T) {
			rd, err := record.Open(filepath.Join(fixtures.Dir(), "recordings", "http", name+record.Suffix), record.Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer rd.Close()
			store := record.NewStore(rd.Files())
			defer store.Close()
			var recs []*record.Record
			next := func() (*record.Record, error) {
				rec, err := rd.Next()
				if err == nil && rec.Kind == record.KindBody {
					recs = append(recs, rec)
				}
				return rec, err
			}
			res, err := session.Decode(rd.Header(), next, store, session.Options{End: func() (record.State, bool) { return rd.End().State, rd.End().Torn }})
			if err != nil {
				t.Fatal(err)
			}
			if res.State != record.Sealed || res.Torn || res.Records != e.Records || len(rd.End().Unknown) != 0 {
				t.Errorf("%s, %d records of %d, unknown %v", res.State, res.Records, e.Records, rd.End().Unknown)
			}
			bodiesAre(t, &e, recs)
			foundHTTP(t, &e, res)
		})
	}
}

// bodiesAre holds the bytes of the bodies.
func bodiesAre(t *testing.T, e *webExpectation, recs []*record.Record) {
	t.Helper()
	type key struct {
		n    int64
		from record.From
	}
	got := map[key][]byte{}
	for _, r := range recs {
		k := key{r.Exchange, r.From}
		if r.Off != int64(len(got[k])) {
			t.Errorf("seq %d: a piece at %d, %d bytes before it", r.Seq, r.Off, len(got[k]))
		}
		got[k] = append(append(got[k], r.Data...), r.EOL...)
	}
	for _, x := range e.Exchanges {
		for from, want := range map[record.From]struct {
			Bytes  int64
			SHA256 string
		}{record.Client: x.Client, record.Server: x.Server} {
			b := got[key{x.N, from}]
			sum := sha256.Sum256(b)
			if int64(len(b)) != want.Bytes || hex.EncodeToString(sum[:]) != want.SHA256 {
				t.Errorf("exchange %d, %s: %d bytes, want %d", x.N, from, len(b), want.Bytes)
			}
		}
	}
}

func foundHTTP(t *testing.T, e *webExpectation, res *session.Result) {
	t.Helper()
	if len(res.Sessions) != len(e.Sessions) {
		for _, s := range res.Sessions {
			t.Log(s.ID, s.Basis)
		}
		t.Fatalf("%d sessions, want %d", len(res.Sessions), len(e.Sessions))
	}
	for i, s := range res.Sessions {
		w := e.Sessions[i]
		if s.Transport != w.Transport || string(s.Era) != w.Era || s.ProtocolVersion != w.ProtocolVersion || s.FirstSeq != w.FirstSeq {
			t.Errorf("%s: %s, era %q, version %q, from %d; want %s %q %q %d", s.ID, s.Transport, s.Era, s.ProtocolVersion, s.FirstSeq, w.Transport, w.Era, w.ProtocolVersion, w.FirstSeq)
		}
		for _, p := range []struct {
			got  session.Peer
			want *struct{ Name, Version *string }
		}{{s.Client, w.Client}, {s.Server, w.Server}} {
			if p.want != nil && (p.got.Name != deref(p.want.Name) || p.got.Version != deref(p.want.Version)) || p.want == nil && p.got.Name != "" {
				t.Errorf("%s: peer %+v, want %+v", s.ID, p.got, p.want)
			}
		}
		if d := cmp.Diff(w.Messages, s.Messages); d != "" {
			t.Errorf("%s: messages %s", s.ID, d)
		}

		type pair struct {
			From, ID, Method, Outcome     string
			Exchange, Seq, Answer, Where  int64
			Event, Index, Status, AnswerN int
			EventID                       string
		}
		var got, want []pair
		for _, x := range s.Requests {
			p := pair{From: string(x.From), ID: x.ID.Raw, Method: x.Method, Outcome: string(x.State), Exchange: x.HTTP.Exchange, Seq: x.Seq, Answer: x.AnswerSeq,
				Where: x.HTTP.AnswerExchange, Event: x.HTTP.Event, Index: x.Index, Status: x.HTTP.Status, EventID: x.HTTP.AnswerEventID}
			if x.AnswerSeq != 0 {
				p.AnswerN = x.HTTP.AnswerEvent
			}
			got = append(got, p)
		}
		for _, x := range w.Pairs {
			want = append(want, pair{From: x.From, ID: x.ID, Method: x.Method, Outcome: x.Outcome, Exchange: x.Exchange, Seq: x.Seq, Answer: deref(x.AnswerSeq),
				Where: deref(x.AnswerExchange), Event: x.Event, Index: x.Index, Status: deref(x.Status), AnswerN: deref(x.AnswerEvent), EventID: deref(x.AnswerEventID)})
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: pairs (-want +got):\n%s", s.ID, d)
		}

		type orphan struct {
			From, ID      string
			Exchange, Seq int64
			Event, Index  int
			Duplicate     bool
		}
		var gotO, wantO []orphan
		for _, o := range s.Orphans {
			gotO = append(gotO, orphan{string(o.From), o.ID.Raw, o.Exchange, o.Seq, o.Event, o.Index, o.Duplicate})
		}
		for _, o := range w.Orphans {
			wantO = append(wantO, orphan(o))
		}
		if d := cmp.Diff(wantO, gotO); d != "" {
			t.Errorf("%s: orphans (-want +got):\n%s", s.ID, d)
		}

		place := map[*catalog.List]int{}
		if len(s.Lists) != len(w.Lists) || len(s.Calls) != len(w.Calls) {
			t.Fatalf("%s: %d lists, %d calls; want %d, %d", s.ID, len(s.Lists), len(s.Calls), len(w.Lists), len(w.Calls))
		}
		for i, l := range s.Lists {
			place[l] = i
			var names []string
			for _, tool := range l.Tools {
				names = append(names, tool.Name)
			}
			if string(l.State) != w.Lists[i].State || len(l.Pages) != w.Lists[i].Pages || !cmp.Equal(names, w.Lists[i].Tools) {
				t.Errorf("%s: list %d: %s (%s), %d pages, %v; want %+v", s.ID, i, l.State, l.Why, len(l.Pages), names, w.Lists[i])
			}
		}
		for i, c := range s.Calls {
			w := w.Calls[i]
			if c.Seq != w.Seq || c.ID.Raw != w.ID || c.Tool != w.Tool || string(c.State) != w.State || c.AnswerSeq != deref(w.AnswerSeq) || c.Attempts[0].HTTP.Exchange != w.Exchange {
				t.Errorf("%s: call %d: seq %d id %s tool %s state %s answer %d, want %+v", s.ID, i, c.Seq, c.ID.Raw, c.Tool, c.State, c.AnswerSeq, w)
			}
			var ids []string
			for _, a := range c.Attempts {
				ids = append(ids, a.ID.Raw)
			}
			if !cmp.Equal(ids, w.Requests) || (c.Task != nil) != (w.Task != nil) || c.Task != nil && c.Task.ID != *w.Task {
				t.Errorf("%s: call %d: requests %v, task %+v, want %+v", s.ID, i, ids, c.Task, w)
			}
			if w.ErrorCode != nil && (c.Error == nil || c.Error.Code != *w.ErrorCode) {
				t.Errorf("%s: call %d: error %+v, want %d", s.ID, i, c.Error, *w.ErrorCode)
			}
			if n, ok := place[c.Catalog]; c.Catalog != nil && (!ok || w.Catalog == nil || n != *w.Catalog) || c.Catalog == nil && w.Catalog != nil {
				t.Errorf("%s: call %d: catalog %d, want %v", s.ID, i, n, w.Catalog)
			}
			if w.Ns != nil && (c.AnswerAt-c.At != *w.Ns || c.WaitedNs != *w.WaitedNs) {
				t.Errorf("%s: call %d: %d ns, waited %d; want %d, %d", s.ID, i, c.AnswerAt-c.At, c.WaitedNs, *w.Ns, *w.WaitedNs)
			}
			for _, v := range []session.Value{c.Arguments, c.Result} {
				if v.IsZero() {
					continue
				}
				if b, err := v.Bytes(); err != nil || int64(len(b)) != v.Len() || b[0] != '{' && string(b) != "null" || b[0] == '{' && b[len(b)-1] != '}' {
					t.Errorf("%s: call %d: %d bytes of %d, %v", s.ID, i, len(b), v.Len(), err)
				}
			}
		}
		if s.Capture.ToolCalls != session.Complete {
			t.Errorf("%s: capture %+v", s.ID, s.Capture)
		}
	}
}
