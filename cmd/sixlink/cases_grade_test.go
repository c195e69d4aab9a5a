package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// Case 84: what measured nothing is no pass, and a share counts what it includes.
func TestCaseNothingMeasured(t *testing.T) {
	t.Parallel()
	const name = "84-nothing-measured"
	h := newHome(t)
	var script struct {
		Runs []struct {
			Name, Case string
			Suite      json.RawMessage
			Inputs     json.RawMessage
		}
	}
	caseScript(t, name, &script)
	ran := 0
	for _, run := range script.Runs {
		ran++
		var want struct {
			Exit       *int
			ExitNot    *int   `json:"exit_not"`
			VerdictNot string `json:"verdict_not"`
			Gate       string
		}
		expected(t, name, run.Name, &want)
		var inputs []string
		var pattern string
		if err := json.Unmarshal(run.Inputs, &inputs); err != nil {
			if err := json.Unmarshal(run.Inputs, &pattern); err != nil {
				t.Fatal(err)
			}
			inputs = nil
		}
		var files []string
		for i, in := range inputs { // each a recording of its own
			path := h.path(run.Name + "-" + string(rune('a'+i)) + record.Suffix)
			h.record(t, inputPlay(t, name, "input."+in+".jsonl"), "--out", path)
			files = append(files, path)
		}
		if pattern != "" {
			files = []string{"--", pattern} // no shell put anything in its place
		}
		words := []string{"sixlink", "grade", "--format", "json"}
		switch {
		case run.Suite != nil:
			suite := h.path(run.Name + ".json")
			if err := os.WriteFile(suite, []byte(`{"schemaVersion":"sixlink/1","suite":{"id":"s"},`+strings.TrimPrefix(strings.TrimSpace(string(run.Suite)), "{")), 0o600); err != nil {
				t.Fatal(err)
			}
			words = append(words, "--suite", suite)
		case run.Case != "":
			suite, flags := h.suite(t, name, run.Case)
			words = append(append(words, "--suite", suite), flags...)
		}
		d := h.run(t, append(words, files...)...)
		noTrace(t, d)
		var v verdictOf
		if len(d.out) > 0 {
			if err := json.Unmarshal(d.out, &v); err != nil {
				t.Fatal(err)
			}
		}
		if want.Exit != nil && d.code != *want.Exit || want.ExitNot != nil && d.code == *want.ExitNot {
			t.Errorf("%s: status %d: %s %s", run.Name, d.code, d.out, d.err)
		}
		if want.VerdictNot != "" && (v.Verdict == verdictWords[want.VerdictNot] || v.Verdict == "") || want.Gate != "" && v.Verdict != verdictWords[want.Gate] {
			t.Errorf("%s: verdict %q: %s", run.Name, v.Verdict, d.out)
		}
		if want.VerdictNot != "" {
			// The links are shown all the same.
			if len(v.Cases) != 1 || len(v.Cases[0].Trials) != 1 || len(v.Cases[0].Trials[0].Links) != 6 || v.Cases[0].Trials[0].Links[3].State != "passed" {
				t.Errorf("%s: %s", run.Name, d.out)
			}
		}
	}
	if ran != 7 {
		t.Errorf("%d runs", ran)
	}
}

// Case 76: no schema makes the program ask for an address. The one that they name is
// listened on; a file that they name would have to be read by the same loader.
func TestCaseSchemasAskForNothing(t *testing.T) {
	t.Parallel()
	const name = "76-schema-refs"
	l, err := net.Listen("tcp", "127.0.0.1:18999")
	if err != nil {
		t.Skipf("the address that the schemas name is taken: %v", err)
	}
	defer l.Close()
	var asked atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			c.Close()
		}
	}()
	h := newHome(t)
	path := h.path("r" + record.Suffix)
	h.record(t, inputPlay(t, name, "input.jsonl"), "--out", path)
	suite := h.path("suite.yaml")
	if err := os.WriteFile(suite, []byte("schemaVersion: sixlink/1\nsuite: {id: s}\ndefaults: {assertions: [{type: argumentsMatchToolSchema}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, d := h.grade(t, suite, path); v.Verdict == "passed" || d.code == exitGood {
		t.Errorf("%s", d.out)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// Cases 74, 85 and 89: a suite that cannot be right is refused before anything is
// graded, with its place, and the exit code of a bad suite.
func TestCasesOfRefusedSuites(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	good := filepath.Join(fixtures.Dir(), "recordings", "ts1-seqthinking-stdio"+record.Suffix)
	own := strings.NewReplacer(`"checks":`, `"assertions":`, `"expectedToolCalls":[],`, `"turns":[{"expectedToolCalls":[]}],`)
	refused := func(what, text string) {
		t.Helper()
		file := h.path("suite.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := h.run(t, "sixlink", "grade", "--suite", file, good)
		noTrace(t, d)
		if d.code != exitUsage || len(d.out) != 0 || !bytes.Contains(d.err, []byte("suite.json")) {
			t.Errorf("%s: status %d, %.300q %s", what, d.code, d.out, d.err)
		}
	}
	for _, c := range []struct {
		name, file string
		n          int
	}{{"74-regex-engine", "suite-bad.json", 3}, {"74-regex-engine", "suite-js.json", 3}, {"85-observations", "suite-required.json", 10}} {
		b, err := fixtures.ReadFile("cases", c.name, c.file)
		if err != nil {
			t.Fatal(err)
		}
		var all struct{ Cases []json.RawMessage }
		if err := json.Unmarshal(b, &all); err != nil || len(all.Cases) != c.n {
			t.Fatalf("%s: %d cases, %v", c.file, len(all.Cases), err)
		}
		for _, one := range all.Cases {
			var compact bytes.Buffer
			if err := json.Compact(&compact, one); err != nil {
				t.Fatal(err)
			}
			refused(c.file, `{"schemaVersion":"sixlink/1","suite":{"id":"s"},"cases":[`+own.Replace(compact.String())+`]}`)
		}
	}
	b, err := fixtures.ReadFile("cases", "89-malformed-suite", "suites.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(b) {
		var row struct {
			Name string
			Text string `json:"suite_text"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		refused(row.Name, own.Replace(strings.Replace(row.Text, `{"cases":`, `{"schemaVersion":"sixlink/1","suite":{"id":"s"},"cases":`, 1)))
		n++
	}
	var want struct {
		Refused int    `json:"suites.refused"`
		Class   string `json:"grade.exit_class"`
	}
	if expected(t, "89-malformed-suite", "", &want); n != want.Refused || want.Class != "bad-suite" {
		t.Errorf("%d suites, %+v", n, want)
	}
}
