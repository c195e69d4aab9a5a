package audit_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pile are the recordings of fixtures, of both eras and all transports.
var pile = sync.OnceValues(func() ([]*audit.Recording, error) {
	var out []*audit.Recording
	err := filepath.WalkDir(filepath.Join(fixtures.Dir(), "recordings"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, record.Suffix) {
			return err
		}
		r, err := record.Open(path, record.Options{})
		if err != nil {
			return err
		}
		store := record.NewStore(r.Files())
		res, err := session.Decode(r.Header(), r.Next, store, session.Options{Hold: true})
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		out = append(out, &audit.Recording{Recording: grade.Recording{ID: r.Header().ID, Path: path, Labels: r.Header().Labels, Sessions: res.Sessions, Clock: res.Clock},
			State: string(res.State), Size: info.Size()})
		return nil
	})
	return out, err
})

func recordings(t testing.TB) []*audit.Recording {
	t.Helper()
	rs, err := pile()
	if err != nil || len(rs) < 20 {
		t.Fatalf("%d recordings, %v", len(rs), err)
	}
	return rs
}

func meter(t testing.TB, s *grade.Suite, f audit.Filter) *audit.Meter {
	t.Helper()
	m, err := audit.NewMeter(s, f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// everything is what the pile gives without a filter, measured once. One recording is
// measured by one goroutine at a time, so tests of the pile are not parallel.
var everything []*audit.Measured

func measured(t testing.TB, f audit.Filter) (out []*audit.Measured) {
	t.Helper()
	all := f.Since == 0 && f.Until == 0 && len(f.Labels)+len(f.Servers)+len(f.Hosts)+len(f.Tools) == 0
	if all && everything != nil {
		return slices.Clone(everything)
	}
	m := meter(t, grade.BuiltIn(), f)
	for _, r := range recordings(t) {
		out = append(out, m.Measure(r))
	}
	if all {
		everything = slices.Clone(out)
	}
	return out
}

func by(t testing.TB, text string) []audit.Dimension {
	t.Helper()
	if text == "" {
		return nil
	}
	d, err := audit.ParseBy(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func reportOf(t testing.TB, ms []*audit.Measured, dims string) *audit.Report {
	t.Helper()
	var totals audit.Totals
	for _, m := range ms {
		totals.Add(m, by(t, dims))
	}
	return totals.Report(audit.SuiteRef{}, audit.Scope{}, by(t, dims))
}

func text(t testing.TB, r *audit.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := audit.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
