package html

import (
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/grade/report"
)

// triageOf is the block "triage" of a page.
func triageOf(t *testing.T, page string) triageData {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="triage">`)
	text, _, closed := strings.Cut(rest, "</script>")
	if !ok || !closed {
		t.Fatal("the page has no block triage")
	}
	var d triageData
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The page has the likely causes, each with its prompt, and says what was not looked at.
func TestTriage(t *testing.T) {
	recs, v := shop(t)
	d := triageOf(t, pageOf(t, func(w io.Writer) error {
		return Write(w, v, Options{Options: report.Options{Source: sourceOf(recs...)}})
	}))
	if len(d.Spots) == 0 || len(d.Prompts) == 0 || len(d.Not) != 0 {
		t.Fatalf("%d spots, %d prompts, not looked at: %q", len(d.Spots), len(d.Prompts), d.Not)
	}
	for _, s := range d.Spots {
		for _, l := range s.Likely {
			if l.Prompt < 0 || !strings.Contains(d.Prompts[l.Prompt], d.Causes[l.Cause].Fix) {
				t.Errorf("%s of %s has not its prompt", d.Causes[l.Cause].ID, s.Case)
			}
		}
	}
	alone := triageOf(t, pageOf(t, func(w io.Writer) error { return Write(w, v, Options{}) }))
	if len(alone.Spots) == 0 || len(alone.Not) != 1 {
		t.Errorf("with the verdict alone: %d spots, not looked at: %q", len(alone.Spots), alone.Not)
	}
}

// Prompts count as detail: a file that has enough of it has none.
func TestTriageIsBounded(t *testing.T) {
	recs, v := shop(t)
	d := triageOf(t, pageOf(t, func(w io.Writer) error {
		return Write(w, v, Options{Options: report.Options{Source: sourceOf(recs...)}, MaxDetail: 1})
	}))
	if len(d.Spots) == 0 || len(d.Prompts) != 0 {
		t.Errorf("%d spots, %d prompts", len(d.Spots), len(d.Prompts))
	}
}

func pageOf(t *testing.T, write func(w io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
