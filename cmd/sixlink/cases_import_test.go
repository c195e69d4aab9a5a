package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// Case 94: a browser's capture that lacks the body of an event stream. All asserts
// are held on what the command makes of it.
func TestCaseCaptureWithoutBody(t *testing.T) {
	t.Parallel()
	const name = "94-capture-without-body"
	h := newHome(t)
	path := h.path("r" + record.Suffix)
	d := h.run(t, "sixlink", "import", "har", filepath.Join(fixtures.Dir(), "cases", name, "capture.har"), "-o", path)
	if d.code != exitGood || !strings.Contains(string(d.err), "partial") {
		t.Fatalf("status %d: %s", d.code, d.err)
	}
	var want struct {
		Results map[string]*string `json:"import.results"`
		Grade   map[string]struct{ Verdict string }
	}
	expected(t, name, "", &want)
	if len(want.Results) != 2 || len(want.Grade) != 4 {
		t.Fatalf("asserts %+v", want)
	}

	var shown struct {
		Sessions []struct {
			Capture map[string]any
			Calls   []struct {
				State    string
				Exchange int
			}
			Requests []struct {
				RequestID string
				State     string
				Exchange  int
			}
		}
	}
	if err := json.Unmarshal(h.run(t, "sixlink", "show", "--format", "json", path).out, &shown); err != nil || len(shown.Sessions) != 1 {
		t.Fatalf("%d sessions, %v", len(shown.Sessions), err)
	}
	s := shown.Sessions[0]
	if s.Capture["toolResults"] != "partial" || s.Capture["toolCalls"] != "complete" || len(s.Requests) != len(want.Results) {
		t.Errorf("capture %v, %d requests", s.Capture, len(s.Requests))
	}
	for _, r := range s.Requests {
		text, known := want.Results[r.RequestID]
		if !known || (text != nil) != (r.State == "result") {
			t.Errorf("request %s is %s", r.RequestID, r.State)
		}
		// The bytes that the recording has of the exchange.
		got := h.run(t, "sixlink", "cat", "--from", "server", "--raw", "--exchange", string(rune('0'+r.Exchange)), path)
		var answer struct {
			Result struct{ Content []struct{ Text string } }
		}
		switch err := json.Unmarshal(got.out, &answer); {
		case text == nil && len(got.out) > 0:
			t.Errorf("request %s has %q", r.RequestID, got.out)
		case text != nil && (err != nil || len(answer.Result.Content) != 1 || answer.Result.Content[0].Text != *text):
			t.Errorf("request %s has %q (%v), want the text %q", r.RequestID, got.out, err, *text)
		}
	}

	for id, w := range want.Grade {
		suite, flags := h.suite(t, name, id)
		words := append(append([]string{"sixlink", "grade", "--format", "json", "--suite", suite}, flags...), path)
		d := h.run(t, words...)
		noTrace(t, d)
		var v verdictOf
		if err := json.Unmarshal(d.out, &v); err != nil {
			t.Fatalf("%v: %s", err, d.err)
		}
		if v.Verdict != verdictWords[w.Verdict] || d.code != verdictCodes[v.Verdict] {
			t.Errorf("%s: %s, status %d: %s", id, v.Verdict, d.code, d.out)
		}
		if id == "noerr" && v.Cases[0].Trials[0].Rows[0].Outcome != "error" {
			t.Errorf("%s: %+v", id, v.Cases[0].Trials[0].Rows)
		}
	}
}
