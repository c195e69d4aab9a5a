package tables_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/grade/audit/tables"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

func measured(t *testing.T) (out []*audit.Measured) {
	t.Helper()
	m, err := audit.NewMeter(grade.BuiltIn(), audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(fixtures.Dir(), "recordings", "*", "*"+record.Suffix))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		r, err := record.Open(path, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		store := record.NewStore(r.Files())
		res, err := session.Decode(r.Header(), r.Next, store, session.Options{Hold: true})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m.Measure(&audit.Recording{Recording: grade.Recording{ID: r.Header().ID, Labels: map[string]string{"team": "a\"b"}, Sessions: res.Sessions, Clock: res.Clock}, State: "sealed"}))
		store.Close()
		r.Close()
	}
	return out
}

func written(t *testing.T, ms []*audit.Measured, changes []audit.Change) map[string]*bytes.Buffer {
	t.Helper()
	files, to := map[string]*bytes.Buffer{}, map[string]io.Writer{}
	for _, name := range tables.Names {
		files[name] = &bytes.Buffer{}
		to[name] = files[name]
	}
	w := tables.NewWriter(to)
	for _, m := range ms {
		if err := w.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(changes); err != nil {
		t.Fatal(err)
	}
	return files
}

func read[T any](t *testing.T, b *bytes.Buffer) []T {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := f.Lookup("sixlink.schema"); got != tables.Schema {
		t.Errorf("schema %q in the metadata", got)
	}
	rows, err := parquet.Read[T](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// What is read back is what was measured, null where it was not.
func TestTablesReadBack(t *testing.T) {
	t.Parallel()
	ms := measured(t)
	changes := []audit.Change{{Server: "s", Rule: "tool-removed", Class: "breaking", Tool: "x", Text: "gone"}, {Server: "s", Rule: "tool-order-changed", Class: "informational", Text: "order"}}
	files := written(t, ms, changes)
	sessions, calls, rows := read[tables.Session](t, files["sessions"]), read[tables.Call](t, files["calls"]), read[tables.Row](t, files["rows"])
	missing := map[string]bool{}
	for _, m := range ms {
		for i := range m.Sessions {
			want, got := &m.Sessions[i], sessions[0]
			sessions = sessions[1:]
			if got.Recording != want.Recording || got.Session != want.Session || got.Calls != want.Calls || got.Era != want.Era || got.Start*1000 != want.Start/1000*1000 ||
				got.Labels != `{"team":"a\"b"}` || got.Graded != want.Graded || (got.Verdict != nil) != want.Graded || str(got.FirstBreak) != want.FirstBreak || str(got.Response) != want.Links[4] ||
				str(got.Reason) != want.BreakReason() || got.CaptureToolCalls != string(want.Capture.ToolCalls) || !same(got.Catalogs, want.Catalogs) {
				t.Errorf("session %+v, was %+v", got, want)
			}
		}
		for i := range m.Calls {
			want, got := &m.Calls[i], calls[0]
			calls = calls[1:]
			if got.Recording != want.Recording || got.Seq != want.Seq || got.Call != want.ID || got.Tool != want.Tool || got.State != want.State || str(got.ErrorKind) != want.ErrorKind ||
				(got.LatencyNs != nil) != want.HasLatency || got.LatencyNs != nil && *got.LatencyNs != want.Latency || (got.ResultBytes != nil) != want.HasSize ||
				(got.ErrorCode != nil) != want.HasCode || got.ErrorCode != nil && *got.ErrorCode != want.Code || got.Arguments != string(want.Arguments) ||
				!same(got.ArgClasses, want.ArgumentClasses) || got.Labels != `{"team":"a\"b"}` {
				t.Errorf("call %+v, was %+v", got, want)
			}
			missing["latency"] = missing["latency"] || got.LatencyNs == nil
			missing["code"] = missing["code"] || got.ErrorCode != nil
			missing["classes"] = missing["classes"] || len(got.ArgClasses) > 0
		}
		for i := range m.Rows {
			want, got := &m.Rows[i], rows[0]
			rows = rows[1:]
			if got.Check != want.Check || got.Result != want.Result || got.Reason != want.Reason || !same(got.Records, want.Records) || got.Turn != nil {
				t.Errorf("row %+v, was %+v", got, want)
			}
		}
	}
	if len(sessions)+len(calls)+len(rows) > 0 || !reflect.DeepEqual(missing, map[string]bool{"latency": true, "code": true, "classes": true}) {
		t.Errorf("%d sessions, %d calls and %d rows too many; seen %v", len(sessions), len(calls), len(rows), missing)
	}
	back := read[tables.Change](t, files["catalog_changes"])
	if len(back) != 2 || str(back[0].Tool) != "x" || back[1].Tool != nil || back[0].FirstSeen != 0 {
		t.Errorf("%+v", back)
	}
}

// The same rows give the same bytes; a recording without any gives valid tables.
func TestTablesBytes(t *testing.T) {
	t.Parallel()
	ms := measured(t)
	a, b := written(t, ms, nil), written(t, ms, nil)
	for _, name := range tables.Names {
		if !bytes.Equal(a[name].Bytes(), b[name].Bytes()) {
			t.Errorf("%s has other bytes: %s", name, hex.EncodeToString(b[name].Bytes()[:16]))
		}
	}
	none := written(t, []*audit.Measured{{Skipped: audit.SkipUnreadable}}, nil)
	if n := len(read[tables.Call](t, none["calls"])); n != 0 {
		t.Errorf("%d calls of nothing", n)
	}
}

// More rows than a row group holds are all there, in their order.
func TestTablesOfManyRows(t *testing.T) {
	t.Parallel()
	m := &audit.Measured{Sessions: []audit.Session{{Session: "s1"}}}
	const n = 70_000
	for i := range n {
		m.Calls = append(m.Calls, audit.Call{Session: "s1", Seq: int64(i), Index: -1, Tool: "t", HasLatency: true, Latency: int64(i)})
	}
	calls := read[tables.Call](t, written(t, []*audit.Measured{m}, nil)["calls"])
	if len(calls) != n || calls[n-1].Seq != n-1 || *calls[65_600].LatencyNs != 65_600 || calls[7].Index != nil {
		t.Errorf("%d calls", len(calls))
	}
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func same[E comparable](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}
