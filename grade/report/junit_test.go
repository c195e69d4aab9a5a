package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
)

// junitReport is JUnit XML as its readers take it.
type junitReport struct {
	XMLName xml.Name `xml:"testsuites"`
	Tests   int      `xml:"tests,attr"`
	Suites  []struct {
		Name     string  `xml:"name,attr"`
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Errors   int     `xml:"errors,attr"`
		Skipped  int     `xml:"skipped,attr"`
		Time     float64 `xml:"time,attr"`
		Cases    []struct {
			Class   string  `xml:"classname,attr"`
			Name    string  `xml:"name,attr"`
			Time    float64 `xml:"time,attr"`
			File    string  `xml:"file,attr"`
			Line    int     `xml:"line,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Type    string `xml:"type,attr"`
				Body    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
			Out string `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func readJUnit(t *testing.T, text []byte) *junitReport {
	t.Helper()
	var r junitReport
	d := xml.NewDecoder(strings.NewReader(string(text)))
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Suites {
		failures, skipped := 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil && c.Skipped != nil {
				t.Errorf("%s is both", c.Name)
			}
			if c.Failure != nil {
				failures++
			}
			if c.Skipped != nil {
				skipped++
			}
		}
		if failures != s.Failures || skipped != s.Skipped || len(s.Cases) != s.Tests || s.Errors != 0 || s.Tests != r.Tests {
			t.Errorf("counts: %+v", s)
		}
	}
	return &r
}

// Failures are what was measured to be wrong, and nothing else.
func TestJUnit(t *testing.T) {
	r := readJUnit(t, render(t, shopVerdict(t), "junit", Options{}))
	var got []string
	for _, c := range r.Suites[0].Cases {
		switch {
		case c.Failure != nil:
			got = append(got, fmt.Sprintf("%s: failure %s", c.Name, c.Failure.Type))
		case c.Skipped != nil:
			got = append(got, fmt.Sprintf("%s: skipped %s", c.Name, c.Skipped.Message))
		default:
			got = append(got, c.Name+": passed")
		}
	}
	want := []string{
		"find: Finds an order | with `all` of <it>, @everybody: passed",
		"refund: Refunds the order that is named: passed",
		"fast: Answers quickly: failure response/predicateFailed",
		"says: Says what was found: skipped caseHasNoEligibleTrials: 0 of 0 (+1 inconclusive)",
		"unused: Nobody tried it: skipped caseHasNoTrial: no trial",
		"(unassigned): failure response/toolError",
		"gate: failure gate",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	c := r.Suites[0].Cases[2]
	if c.File != "suites/shop.suite.yaml" || c.Line != 23 || c.Time < 8 || !strings.Contains(c.Failure.Body, "took 4000 ms, not under 1000 ms") {
		t.Errorf("%+v", c)
	}
	if body := r.Suites[0].Cases[5].Failure.Body; !strings.Contains(body, `<order>`) || !strings.Contains(body, `]]> ::error::x`) {
		t.Errorf("the text is not what it was: %s", body)
	}
}

// A run that could not be decided fails nothing, and passes nothing.
func TestJUnitOfAnInconclusiveRun(t *testing.T) {
	r := readJUnit(t, render(t, Of(gradeAll(t, loadSuite(t, "shop.suite.yaml"))), "junit", Options{}))
	if s := r.Suites[0]; s.Failures != 0 || s.Skipped != s.Tests || s.Cases[len(s.Cases)-1].Name != "gate" {
		t.Errorf("%+v", s)
	}
}

// A case that does not count cannot fail the build.
func TestJUnitOfACaseThatDoesNotCount(t *testing.T) {
	v := shopVerdict(t)
	for _, c := range v.Cases {
		c.Counted = false
	}
	r := readJUnit(t, render(t, v, "junit", Options{}))
	for _, c := range r.Suites[0].Cases {
		if c.Failure != nil && c.Name != "gate" {
			t.Errorf("%s fails", c.Name)
		}
	}
}
