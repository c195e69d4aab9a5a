package report

import (
	"bytes"
	"testing"
	"time"
)

// matrixRun is a run of two hosts, of which one has several versions of the server.
func matrixRun(t testing.TB) *Verdict {
	day := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	var list []made
	for _, host := range []string{"desk", "phone"} {
		ms := map[string][]int{"find": {40, 50, 0}, "refund": {80}}
		if host == "phone" {
			ms = map[string][]int{"find": {400}}
		}
		for _, m := range runOf("1.4.0", ms) {
			m.id, m.host, m.hostVersion, m.start = host+"-"+m.id, host, "1", day
			list = append(list, m)
		}
	}
	list[0].version = "1.5.0"
	list[1].labels = map[string]string{"case": "find", "host": "desk beta", "team": "a|b"}
	return Of(gradeAll(t, suiteOf(t, map[string]int{"find": 1000, "refund": 1000}), list...))
}

func TestMatrixGolden(t *testing.T) {
	v := matrixRun(t)
	for name, by := range map[string]By{"host": "host", "server": "server", "label": "label:team", "model": "model"} {
		m, err := MatrixOf(by, v)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range MatrixFormats() {
			if name != "host" && f.Name != "text" {
				continue
			}
			var out bytes.Buffer
			if err := f.Write(&out, m, Options{}); err != nil {
				t.Fatal(err)
			}
			golden(t, "matrix."+name+"."+f.Name, out.Bytes())
		}
	}
}

// A host that no newer run has is history: it is shown as its last run has it, and is in
// no sum.
func TestMatrixHistorical(t *testing.T) {
	old := matrixRun(t)
	now := Of(gradeAll(t, suiteOf(t, map[string]int{"find": 1000}), made{id: "n", host: "desk", labels: of("find"), calls: []call{found}}))
	m, err := MatrixOf("host", old, now)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, g := range m.Groups {
		got[g.Name] = g.Historical
	}
	if len(got) != 3 || got["desk"] || !got["phone"] || !got["desk beta"] || *m.MeanPassRate != 1 {
		t.Errorf("%v, %v", got, *m.MeanPassRate)
	}
	// The newest run of desk has one trial of one case.
	if m.Rows[0].Cells[0].Trials != 1 || m.Rows[1].Cells[0] != nil {
		t.Errorf("%+v", m.Rows)
	}
}

func TestParseBy(t *testing.T) {
	for _, good := range []string{"host", "model", "server", "label:team"} {
		if _, err := ParseBy(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "hosts", "label:", "label"} {
		if _, err := ParseBy(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
