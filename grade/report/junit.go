package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/visible"
)

// JUnit writes the verdict as JUnit XML: a test case per case, and one for the run's
// verdict (grading.md 7.4, 10.62). What was measured and is wrong is a failure; what
// could not be decided is skipped, with the reason, and never a failure. A case that
// does not count is skipped too.
func JUnit(w io.Writer, v *Verdict, o Options) error {
	s := junitSuite{name: v.SuiteID}
	for _, c := range v.Cases {
		t, err := junitCase(v, c)
		if err != nil {
			return err
		}
		s.add(t)
	}
	gate := testCase{class: "sixlink.gate", name: "gate"}
	why := strings.Join(v.Reasons, ", ")
	switch v.Word {
	case grade.Failed:
		gate.failure, gate.kind = "the run failed: "+why, "gate"
	case grade.Inconclusive:
		gate.skipped = "the run is inconclusive: " + why
	}
	gate.body = func() (string, error) { return summaryText(v), nil }
	s.add(gate)
	return s.write(w)
}

func summaryText(v *Verdict) string {
	var b bytes.Buffer
	p := &printer{w: &b}
	p.summary(v)
	return b.String()
}

const (
	// maxShownTrials bounds the trials that a case's text tells of.
	maxShownTrials = 20
	// maxBody bounds that text, in bytes.
	maxBody = 64 << 10
)

func junitCase(v *Verdict, c *Case) (testCase, error) {
	t := testCase{class: "sixlink.case", name: nameOf(c)}
	if c.Spec != nil && c.Spec.At != nil {
		if t.file = file(v.SuiteFiles, c.Spec.At); t.file != "" {
			t.line = c.Spec.At.Line
		}
	}
	first := "" // where the first trial broke that did not pass
	err := c.Each(func(tr *Trial) error {
		t.time += time.Duration(tr.Facts.DurationNs)
		if l := breakOf(tr); l != nil && first == "" && tr.Word != grade.Passed {
			first, t.kind = fmt.Sprintf("; first break: %s, %s", l.Link, l.Reason), fmt.Sprintf("%s/%s", l.Link, l.Reason)
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	if c.Word != grade.Passed {
		t.body = func() (string, error) { return notPassed(v, c) }
	}
	said := fmt.Sprintf("%s: %s%s", c.Reason, share(c), first)
	switch {
	case !c.Counted && c.Word != grade.Passed:
		t.skipped = fmt.Sprintf("not counted: %s, %s", c.Word, said)
	case c.Word == grade.Failed:
		t.failure = said
	case c.Word == grade.Inconclusive:
		t.skipped = said
	}
	if t.kind == "" {
		t.kind = "case"
	}
	return t, nil
}

// notPassed tells of the first trials of a case that did not pass.
func notPassed(v *Verdict, c *Case) (string, error) {
	body := &cutWriter{left: maxBody}
	p := &printer{w: body}
	shown := 0
	err := c.Each(func(tr *Trial) error {
		if tr.Word == grade.Passed {
			return nil
		}
		if shown++; shown <= maxShownTrials {
			p.of = nil
			if len(tr.Parts) > 0 {
				p.of = tr
			}
			p.trial(v, c, tr, false)
			p.line("")
		}
		return p.err
	})
	if err == nil && shown > maxShownTrials {
		p.line("and %s more that did not pass", plural(shown-maxShownTrials, "trial"))
	}
	return body.b.String(), err
}

// nameOf is how a case is called where there is one line: its id, and its title.
func nameOf(c *Case) string {
	if c.Title == "" {
		return c.ID
	}
	return c.ID + ": " + c.Title
}

// cutWriter keeps the first bytes that it is given, whole lines of them.
type cutWriter struct {
	b    bytes.Buffer
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	switch {
	case c.left < 0:
	case len(p) > c.left:
		c.b.WriteString("…\n")
		c.left = -1
	default:
		c.b.Write(p)
		c.left -= len(p)
	}
	return len(p), nil
}

// testCase is a test as JUnit knows it: failure and skipped are empty in one that
// passed. body is made when it is written.
type testCase struct {
	class, name, file      string
	line                   int
	time                   time.Duration
	failure, kind, skipped string
	body                   func() (string, error)
}

// junitSuite writes tests as one testsuite.
type junitSuite struct {
	name  string
	tests []testCase
}

func (s *junitSuite) add(t testCase) { s.tests = append(s.tests, t) }

func (s *junitSuite) write(w io.Writer) error {
	failures, skipped, total := 0, 0, time.Duration(0)
	for i := range s.tests {
		t := &s.tests[i]
		total += t.time
		switch {
		case t.failure != "":
			failures++
		case t.skipped != "":
			skipped++
		}
	}
	x := &xmlWriter{w: w}
	counts := fmt.Sprintf(` tests="%d" failures="%d" errors="0" skipped="%d" time="%s"`, len(s.tests), failures, skipped, seconds(total))
	x.raw(xml.Header)
	x.raw(`<testsuites name="sixlink"` + counts + ">\n")
	x.raw("  <testsuite" + attribute("name", s.name) + counts + ">\n")
	for i := range s.tests {
		x.test(&s.tests[i])
	}
	x.raw("  </testsuite>\n</testsuites>\n")
	return x.err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

type xmlWriter struct {
	w   io.Writer
	err error
}

func (x *xmlWriter) raw(s string) {
	if x.err == nil {
		_, x.err = io.WriteString(x.w, s)
	}
}

func (x *xmlWriter) test(t *testCase) {
	x.raw("    <testcase" + attribute("classname", t.class) + attribute("name", t.name))
	if t.file != "" {
		x.raw(attribute("file", t.file) + fmt.Sprintf(` line="%d"`, t.line))
	}
	x.raw(` time="` + seconds(t.time) + `"`)
	body := ""
	if t.body != nil && x.err == nil {
		body, x.err = t.body()
	}
	switch {
	case t.failure != "":
		x.raw(">\n      <failure" + attribute("message", t.failure) + attribute("type", t.kind) + ">" + escapeXML(visible.Text(body)) + "</failure>\n    </testcase>\n")
	case t.skipped != "" || body != "":
		x.raw(">\n")
		if t.skipped != "" {
			x.raw("      <skipped" + attribute("message", t.skipped) + "/>\n")
		}
		if body != "" {
			x.raw("      <system-out>" + escapeXML(visible.Text(body)) + "</system-out>\n")
		}
		x.raw("    </testcase>\n")
	default:
		x.raw("/>\n")
	}
}

func attribute(name, value string) string {
	return " " + name + `="` + escapeXML(visible.String(value)) + `"`
}

// escapeXML escapes a text that has been made visible. Line feeds and tabs stay as they
// are, which an attribute has none of.
func escapeXML(s string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r == 0xfffe || r == 0xffff { // no characters of XML 1.0
			return 0xfffd
		}
		return r
	}, s))
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
