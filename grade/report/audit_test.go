package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/grade/report"
)

// nasty is what a stranger may call a tool, a server, a label …
const nasty = "<script>alert(1)</script>\x1b[2J\u202e\n\"'&amp;{{.}}"

func hostileAudit() *audit.Report {
	var t audit.Totals
	m := &audit.Measured{Recording: nasty, State: "sealed", Size: 1}
	for range 3 {
		m.Sessions = append(m.Sessions, audit.Session{Recording: nasty, Session: nasty, Era: "initialize", Transport: nasty, Protocol: nasty, Host: nasty, HostVersion: nasty,
			Server: nasty, ServerVersion: nasty, Used: true, Start: 1, Graded: true, FirstBreak: "call", Verdict: "failed", Paging: audit.PagingStopped})
	}
	m.Calls = []audit.Call{{Recording: nasty, Session: nasty, ID: "7", Seq: 7, Index: -1, Tool: nasty, Server: nasty, State: "toolError", ErrorKind: "content-error", HasLatency: true, Latency: 5, HasSize: true, Size: 9,
		Arguments: audit.Violates, ArgumentClasses: []string{nasty}, Result: audit.NoSchema}}
	m.Rows = []audit.Row{{Check: nasty, Link: "call", Role: "gating", Result: "fail"}}
	tools := `[{"name":"<script>alert(1)</script>\u001b[2J","inputSchema":{"type":"object","properties":{"<b>":{}}}}]`
	m.Catalogs = []audit.Catalog{{Server: nasty, Version: nasty, Hash: "a", Host: nasty, Start: 1, Tools: []byte(tools), Raw: "a"},
		{Server: nasty, Version: nasty, Hash: "b", Host: nasty, Start: 2, Place: 1, Tools: []byte(`[]`), Raw: "b"}}
	by, err := audit.ParseBy("tool,label:" + nasty)
	if err != nil {
		panic(err)
	}
	t.Add(m, by)
	t.Add(&audit.Measured{Recording: nasty, Skipped: audit.SkipUnreadable, Detail: nasty}, by)
	r := t.Report(audit.SuiteRef{ID: nasty, Hash: nasty}, audit.Scope{Labels: map[string]string{nasty: nasty}, Tools: []string{nasty}}, by)
	r.Paths = map[string]string{nasty: nasty + "/x"}
	return r
}

// Whatever came from a recording is shown, and neither obeyed by a terminal nor by a
// browser.
func TestAuditOfHostileNames(t *testing.T) {
	t.Parallel()
	r := hostileAudit()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":    func(b *bytes.Buffer) error { return report.AuditText(b, r, report.Options{}) },
		"verbose": func(b *bytes.Buffer) error { return report.AuditText(b, r, report.Options{Verbose: true}) },
		"html":    func(b *bytes.Buffer) error { return report.AuditHTML(b, r) },
	} {
		var b, again bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if err := write(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: other bytes the second time (%v)", name, err)
		}
		out := b.String()
		if strings.ContainsAny(out, "\x1b\u202e") || !utf8.ValidString(out) {
			t.Errorf("%s has control characters", name)
		}
		if !strings.Contains(out, "alert(1)") {
			t.Errorf("%s does not show the names", name)
		}
		if name == "html" && (strings.Contains(out, "<script") || strings.Contains(out, "<b>&") || strings.Contains(out, `"'&amp;{`)) {
			t.Errorf("html has what the names hold")
		}
	}
}

var tag = regexp.MustCompile(`<(/?)([a-z0-9]+)`)

// Each element of the page is closed in its order.
func TestAuditHTMLNests(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report.AuditHTML(&b, hostileAudit()); err != nil {
		t.Fatal(err)
	}
	var open []string
	_, body, _ := strings.Cut(b.String(), "</head>")
	for _, m := range tag.FindAllStringSubmatch("<html>"+body, -1) {
		if m[1] == "" {
			open = append(open, m[2])
			continue
		}
		if len(open) == 0 || open[len(open)-1] != m[2] {
			t.Fatalf("</%s> closes %v", m[2], open)
		}
		open = open[:len(open)-1]
	}
	if len(open) > 0 {
		t.Errorf("%v stay open", open)
	}
}

// Of nothing the page says so.
func TestAuditOfNothing(t *testing.T) {
	t.Parallel()
	var totals audit.Totals
	r := totals.Report(audit.SuiteRef{}, audit.Scope{}, nil)
	var b, h bytes.Buffer
	if err := report.AuditText(&b, r, report.Options{}); err != nil || !strings.Contains(b.String(), "NOTHING WAS MEASURED") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := report.AuditHTML(&h, r); err != nil || !strings.Contains(h.String(), "Nothing was measured") {
		t.Errorf("%v\n%s", err, h.String())
	}
}
