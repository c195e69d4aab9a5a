package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Every format of one run; each file was read by eye.
func TestGolden(t *testing.T) {
	v := shopVerdict(t)
	for _, f := range Formats() {
		t.Run(f.Name, func(t *testing.T) { golden(t, "shop."+f.Name, render(t, v, f.Name, Options{})) })
	}
	t.Run("verbose text", func(t *testing.T) { golden(t, "shop.verbose.text", render(t, v, "text", Options{Verbose: true})) })
}

// What a stored verdict shows is what the grading showed, byte for byte.
func TestStoredVerdictsRenderTheSame(t *testing.T) {
	for name, v := range map[string]*Verdict{
		"shop":    shopVerdict(t),
		"hostile": Of(verdict(t, hostile)),
		"empty":   Of(gradeAll(t, loadSuite(t, "shop.suite.yaml"))),
	} {
		again := stored(t, v)
		for _, f := range Formats() {
			for _, o := range []Options{{}, {Verbose: true, Color: true}} {
				if diff := cmp.Diff(string(render(t, v, f.Name, o)), string(render(t, again, f.Name, o))); diff != "" {
					t.Errorf("%s as %s:\n%s", name, f.Name, diff)
				}
			}
		}
	}
}

func TestNoFormatObeysARecording(t *testing.T) {
	v := shopVerdict(t)
	for _, f := range Formats() {
		text := string(render(t, v, f.Name, Options{Verbose: true}))
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\u202e\x00") {
			t.Errorf("%s lets hostile text through", f.Name)
		}
		for _, line := range strings.Split(text, "\n") {
			if f.Name != "github" && strings.HasPrefix(strings.TrimSpace(line), "::") {
				t.Errorf("%s has a workflow command: %s", f.Name, line)
			}
		}
	}
}

func TestFormatOf(t *testing.T) {
	if _, err := FormatOf(Formats(), "xml"); err == nil || err.Error() != `--format "xml" is none of text, json, junit, sarif, github, markdown` {
		t.Error(err)
	}
}
