package diff_test

import (
	"path/filepath"
	"testing"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/replay/diff"
)

// open decodes a recording of the fixtures, its values left in the file.
func open(t *testing.T, path string) *diff.Recording {
	t.Helper()
	r, err := record.Open(path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store := record.NewStore(r.Files())
	t.Cleanup(func() { store.Close(); r.Close() })
	res, err := session.Decode(r.Header(), r.Next, store, session.Options{Hold: true, End: func() (record.State, bool) { return r.End().State, r.End().Torn }})
	if err != nil {
		t.Fatal(err)
	}
	store.Keep(r)
	return &diff.Recording{ID: r.Header().ID, Level: r.Header().Level, Sessions: res.Sessions, Clock: res.Clock, Torn: r.End().Torn, Gaps: int(r.End().Gaps)}
}

// Recordings of real servers, over both transports and in both eras, do not differ from
// themselves; and a server does not from itself over the other transport.
func TestRealRecordings(t *testing.T) {
	paths, _ := filepath.Glob("../../fixtures/recordings/*.zst")
	web, _ := filepath.Glob("../../fixtures/recordings/http/*.zst")
	if paths = append(paths, web...); len(paths) < 20 {
		t.Fatalf("%d recordings", len(paths))
	}
	for _, path := range paths {
		r, err := diff.Recordings(open(t, path), open(t, path), diff.Options{FailOn: diff.FailAny})
		if err != nil || len(r.Findings)+len(r.Undecided)+len(r.Noise) > 0 {
			t.Errorf("%s: %v, %q", path, err, said(r))
		}
		calls := 0
		for _, s := range open(t, path).Sessions {
			calls += len(s.Calls)
		}
		if r.Compared.Calls != calls || r.Nothing() && calls > 0 {
			t.Errorf("%s: %d of %d calls compared", path, r.Compared.Calls, calls)
		}
	}
	for a, b := range map[string]string{"mcpgo-legacy-stdio": "mcpgo-legacy-http", "ts1-everything-stdio": "ts1-everything-http", "ts2-modern-stdio.2": "ts2-modern-http", "mcpgo-modern-stdio": "mcpgo-modern-http"} {
		r, err := diff.Recordings(open(t, "../../fixtures/recordings/"+a+".mcp.jsonl.zst"), open(t, "../../fixtures/recordings/http/"+b+".mcp.jsonl.zst"), byDefault())
		if err != nil || r.ExitCode() != 0 || r.Compared.Calls < 7 {
			t.Errorf("%s and %s: %v, %q", a, b, err, said(r))
		}
	}
}
