package diff

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/sixlink/sixlink/record/visible"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Out     string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes the result as JUnit XML: a test for each tool in the catalog, for each
// tool and method that was called, and one for the sessions. What ends in exit code 1
// is a failure, what is undecided and gates an error; other differences are output.
func JUnit(w io.Writer, r *Result) error {
	out := junitSuites{Name: "sixlink diff"}
	suite := func(title string, names []string, is func(f *Finding) bool, open func(u *Undecided) bool) {
		s := junitSuite{Name: title}
		at := map[string]int{}
		test := func(name string) *junitCase {
			i, ok := at[name]
			if !ok {
				i = len(s.Cases)
				at[name] = i
				s.Cases = append(s.Cases, junitCase{Class: "sixlink.diff." + title, Name: visible.String(name)})
			}
			return &s.Cases[i]
		}
		for _, n := range names {
			test(n)
		}
		for _, f := range r.Findings {
			if !is(f) {
				continue
			}
			name := f.Subject()
			if name == "" {
				name = title
			}
			c := test(name)
			text := findingText(f)
			switch {
			case !r.Fails(f.Class):
				c.Out += text
			case c.Failure == nil:
				c.Failure = &junitFault{Message: Words(f), Type: f.Rule, Text: text}
			default:
				c.Failure.Text += text
			}
		}
		for i := range r.Undecided {
			u := &r.Undecided[i]
			if !open(u) {
				continue
			}
			name := u.Tool
			if name == "" {
				name = title
			}
			c := test(name)
			text := visible.String(u.Text)
			if !u.Gates || r.FailOn == FailNone {
				c.Out += "undecided: " + text + "\n"
			} else if c.Error == nil {
				c.Error = &junitFault{Message: text, Type: "undecided"}
			} else {
				c.Error.Text += text + "\n"
			}
		}
		for _, c := range s.Cases {
			s.Tests++
			if c.Failure != nil {
				s.Failures++
			}
			if c.Error != nil {
				s.Errors++
			}
		}
		out.Tests, out.Failures, out.Errors = out.Tests+s.Tests, out.Failures+s.Failures, out.Errors+s.Errors
		if s.Tests > 0 {
			out.Suites = append(out.Suites, s)
		}
	}
	var listed, called []string
	for _, n := range r.toolNames() {
		if t := r.Tools[n]; t.Listed {
			listed = append(listed, n)
		}
		if r.Tools[n].Calls > 0 {
			called = append(called, n)
		}
	}
	sessions := []string{"sessions"}
	if r.Nothing() {
		r2 := *r
		r2.Undecided = append(r2.Undecided[:len(r2.Undecided):len(r2.Undecided)], Undecided{Text: "nothing could be compared", Gates: true})
		r = &r2
	}
	suite("sessions", sessions, func(f *Finding) bool { return f.in() == "session" }, func(u *Undecided) bool { return u.Tool == "" })
	suite("catalog", listed, func(f *Finding) bool { return f.in() == "catalog" }, func(*Undecided) bool { return false })
	suite("calls", called, func(f *Finding) bool { return f.in() == "call" || f.in() == "request" }, func(u *Undecided) bool { return u.Tool != "" })
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// findingText is a finding in plain text, with its values.
func findingText(f *Finding) string {
	var b strings.Builder
	p := &printer{w: &b, o: TextOptions{Verbose: true}}
	p.line("%s: %s [%s]", f.Class, Words(f), f.Rule)
	if f.Before != "" || f.After != "" {
		p.values(f)
	}
	if at := seen(f, true); at != "" {
		p.line("      %s", at)
	}
	return b.String()
}

// GitHub writes the result as workflow commands: an error for what ends in exit code
// 1, a warning for other differences that are not informational and for what is
// undecided, a notice for the rest and for the summary.
func GitHub(w io.Writer, r *Result) error {
	var err error
	say := func(level, title, text string) {
		if err == nil {
			_, err = fmt.Fprintf(w, "::%s title=%s::%s\n", level, property.Replace(title), message.Replace(text))
		}
	}
	for _, f := range r.Findings {
		level := "notice"
		switch {
		case r.Fails(f.Class):
			level = "error"
		case f.Class != Informational:
			level = "warning"
		}
		say(level, fmt.Sprintf("%s: %s", f.Class, f.Rule), strings.TrimRight(strings.TrimPrefix(findingText(f), string(f.Class)+": "), "\n"))
	}
	for _, u := range r.Undecided {
		level := "notice"
		if u.Gates {
			level = "warning"
		}
		text := visible.String(u.Text)
		if u.Tool != "" {
			text = visible.String(u.Tool) + ": " + text
		}
		say(level, "undecided", text)
	}
	level := "notice"
	switch r.ExitCode() {
	case 1:
		level = "error"
	case 3:
		level = "warning"
	}
	say(level, "sixlink diff", Summary(r))
	return err
}

// What a workflow command would take for its end.
var (
	message  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
