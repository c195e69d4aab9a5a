package grade_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
)

// shelf is a spool in memory, with faults.
type shelf struct {
	b          []byte
	full       int // bytes after which writing fails; 0: never
	unreadable bool
}

func (s *shelf) Write(p []byte) (int, error) {
	if s.full > 0 && len(s.b)+len(p) > s.full {
		n := max(0, s.full-len(s.b))
		s.b = append(s.b, p[:n]...)
		return n, errors.New("the disk is full")
	}
	s.b = append(s.b, p...)
	return len(p), nil
}

func (s *shelf) ReadAt(p []byte, at int64) (int, error) {
	if s.unreadable {
		return 0, errors.New("the disk is gone")
	}
	return copy(p, s.b[at:]), nil
}

// What a spooled trial reads in a report is what one in memory reads, with rows of
// every outcome, differences of the matcher, labels, turns and breaks.
func TestSpooledTrialsReadTheSame(t *testing.T) {
	suite := mustLoad(t, `defaults:
  assertions:
    - {type: noToolErrors}
    - {type: toolLatencyUnder, ms: 1, role: advisory, severity: warn}
    - {type: argumentsMatchToolSchema}
    - {type: responseContains, needle: x, role: advisory}
cases:
  - id: one
    match: {labels: {k: "3"}}
    turns:
      - prompt: say it
        assertions: [{type: toolNeverCalled, toolName: echo}]
        expectedToolCalls:
          - {toolName: echo, arguments: {message: other}}
          - {toolName: missing, arguments: {}}`)
	var recs []grade.Recording
	for _, run := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		r, err := fixtures.Case("81-error-shapes", "input."+run+".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		rec := decodeCase(t, r)
		rec.ID, rec.Path = "run-"+run, "/somewhere/"+run
		if run > "c" {
			rec.Labels = map[string]string{"a": "2", "k": "3"}
		}
		recs = append(recs, rec)
	}
	list, err := fixtures.Capture("ts1-everything-stdio.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rec := decodeCase(t, list[0])
	rec.ID, rec.Labels = "capture", map[string]string{"k": "3"}
	recs = append(recs, rec)

	texts := func(o grade.Options) (string, error) {
		v, err := grade.Grade(suite, recs, o)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = report.JSON(&out, report.Of(v))
		for _, verbose := range []bool{false, true} {
			err = errors.Join(err, report.Text(&out, report.Of(v), report.Options{Verbose: verbose}))
		}
		return out.String(), err
	}
	want, err := texts(grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"class": "missing"`, `"outcome": "pass"`, `"outcome": "fail"`, `"outcome": "error"`, `"severity": "warn"`, `"turn": 0`, `"a": "2"`} {
		if !bytes.Contains([]byte(want), []byte(word)) {
			t.Errorf("the trials have no %s", word)
		}
	}
	for _, full := range []int{0, 1, 10_000} {
		s := &shelf{full: full}
		got, err := texts(grade.Options{Spool: s})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("a spool that is full after %d bytes: %v\n%s", full, err, diff)
		}
		if len(s.b) == 0 {
			t.Error("nothing was spooled")
		}
	}
	if _, err := texts(grade.Options{Spool: &shelf{unreadable: true}}); err == nil {
		t.Error("a spool that cannot be read gives a report")
	}
}
