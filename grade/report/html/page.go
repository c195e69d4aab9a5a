package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/report"
)

//go:embed assets
var assets embed.FS

// scripts are the files of the script in the order in which they are put together; all
// of them share one function's scope.
var scripts = []string{"base.js", "words.js", "marks.js", "lists.js", "run.js", "case.js", "trial.js", "timeline.js", "call.js", "talk.js", "catalog.js", "matrix.js", "triage.js", "ab.js", "main.js"}

var (
	script = together("(function () {\n\"use strict\";\n", scripts, "}());\n")
	style  = together("", []string{"style.css"}, "")
	pages  = template.Must(template.ParseFS(assets, "assets/*.html"))
)

func together(before string, names []string, after string) string {
	var b strings.Builder
	b.WriteString(before)
	for _, name := range names {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // the file is embedded: the build is broken
		}
		b.Write(text)
	}
	b.WriteString(after)
	return b.String()
}

// policy is the Content-Security-Policy: this script and this style sheet, and nothing
// else; not even the script may make markup of a text (recorder.md 4.8).
func policy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		hashOf(script), hashOf(style))
}

func hashOf(text string) string {
	h := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(h[:])
}

// glance is what the page shows before any script has run: the run at a glance.
type glance struct {
	Title, Kind string
	Word        string // passed, failed, inconclusive; empty: a recording without a suite
	Said        string // Word as a sentence begins
	Mark        string
	Sentence    string
	Sure        string   // how sure that is
	Notes       []string // what else must be known at once
	Links       []glanceLink
	HasCases    bool
	Foot        []string
	Policy      string
	Style       template.CSS
	Script      template.JS
	Cases       []glanceCase
	MoreCases   int
}

type glanceLink struct {
	Name, Title string
	// Broke counts the trials that broke first here; Shares are how many trials have the
	// link in each state, in the order of states.
	Broke  int
	First  bool // most trials that broke did so here
	States []glanceState
	Cover  string // decided, observed, runnerOnly, none
	By     string
}

type glanceState struct {
	State string
	Count int
	// Columns of twelve that stand for its share.
	Columns int
}

// glanceCase is a case in the list for who has no script.
type glanceCase struct{ ID, Word, Passed string }

var linkTitles = [6]string{"connection", "discovery", "selection", "call", "response", "user value"}

var marks = map[grade.Word]string{grade.Passed: "✓", grade.Failed: "✕", grade.Inconclusive: "?"}

// stateOrder is the order in which the states of a link's trials are drawn.
var stateOrder = []struct {
	letter byte
	state  chain.State
}{{'p', chain.Passed}, {'f', chain.Failed}, {'r', chain.NotReached}, {'m', chain.NotMeasured}, {'a', chain.NotApplicable}}

func verdictGlance(v *report.Verdict, run *runData) *glance {
	g := &glance{Title: run.Suite, Kind: "report", Word: string(v.Word), Said: strings.ToUpper(string(v.Word)[:1]) + string(v.Word)[1:], Mark: marks[v.Word], HasCases: true}
	counts := map[grade.Word]int{}
	var passed, failed, erred int
	for i, c := range v.Cases {
		if i < 500 {
			g.Cases = append(g.Cases, glanceCase{oneLine(c.ID), string(c.Word), fmt.Sprintf("%d of %d", c.Stats.Passed, c.Stats.Eligible())})
		} else {
			g.MoreCases++
		}
		if !c.Counted {
			continue
		}
		counts[c.Word]++
		passed, failed, erred = passed+c.Stats.Passed, failed+c.Stats.Failed, erred+c.Stats.Errored
	}
	g.Links = linksOf(run)
	g.Sentence = sentence(v, counts, g.Links)
	g.Sure = sureness(v, passed, failed, erred)
	if v.Word != grade.Passed {
		for _, why := range v.Reasons {
			if text := reasons[why]; text != "" {
				g.Notes = append(g.Notes, text)
			} else {
				g.Notes = append(g.Notes, oneLine(why))
			}
		}
	}
	g.Foot = []string{"suite " + run.Suite + " " + run.Hash, fmt.Sprintf("analyzer %d", v.AnalyzerVersion)}
	if n := len(v.Skipped); n > 0 {
		g.Foot = append(g.Foot, fmt.Sprintf("%s skipped", plural(n, "session")))
	}
	return g
}

// reasons are the reasons of runs and cases (grading.md 5.3) in words.
var reasons = map[string]string{
	"configuredTrialsNotAttempted":       "fewer trials ran than were configured",
	"caseHasNoEligibleTrials":            "a case has no trial that could be decided",
	"casePassRateBelowThreshold":         "a case passed less often than its threshold wants",
	"casePassRateMetThreshold":           "every case passed as often as its threshold wants",
	"erroredTrialsCouldChangeTheVerdict": "trials that could not be decided could change the verdict",
	"caseHasNoTrial":                     "a case has no trial",
	"noGradeableTrials":                  "no trial could be graded",
	"eligibleTrialsBelowMinimum":         "fewer trials could be decided than the suite wants",
	"completionRateBelowMinimum":         "fewer trials were completed than the suite wants",
	"evaluatorErrorRateAboveMaximum":     "the grader itself failed in too many trials",
	"recordingNotUsable":                 "a recording could not be used",
	"sessionAmbiguous":                   "a session is claimed by more than one case",
}

func sentence(v *report.Verdict, counts map[grade.Word]int, links []glanceLink) string {
	total := counts[grade.Passed] + counts[grade.Failed] + counts[grade.Inconclusive]
	var s string
	switch {
	case total == 0:
		return "Nothing was graded."
	case v.Word == grade.Passed && total == 1:
		s = "The case passed"
	case v.Word == grade.Passed:
		s = fmt.Sprintf("All %d cases passed", total)
	case counts[grade.Failed] > 0 && total == 1:
		s = "The case failed"
	case counts[grade.Failed] > 0:
		s = fmt.Sprintf("%d of %d cases failed", counts[grade.Failed], total)
	case total == 1:
		s = "The case could not be decided"
	default:
		s = fmt.Sprintf("%d of %d cases could not be decided", counts[grade.Inconclusive], total)
	}
	most, broke := -1, 0
	for i := range links {
		broke += links[i].Broke
		if links[i].First {
			most = i
		}
	}
	switch {
	case most >= 0 && broke == 1:
		s += "; the one trial that broke, broke first at " + links[most].Title
	case most >= 0 && links[most].Broke == broke:
		s += fmt.Sprintf("; all %d trials that broke, broke first at %s", broke, links[most].Title)
	case most >= 0:
		s += fmt.Sprintf("; of %d trials that broke, %d broke first at %s", broke, links[most].Broke, links[most].Title)
	}
	return s + "."
}

func sureness(v *report.Verdict, passed, failed, erred int) string {
	if passed+failed == 0 {
		return "No trial could be decided, so there is no pass rate."
	}
	s := fmt.Sprintf("%.0f %% pass rate: %d of %s", float64(passed)*100/float64(passed+failed), passed, plural(passed+failed, "trial"))
	if stats := grade.StatsOf(passed, failed, erred); passed+failed > 1 {
		s += fmt.Sprintf("; 95 %% interval %.0f to %.0f %%", stats.WilsonLow*100, stats.WilsonHigh*100)
	}
	if erred > 0 {
		s += fmt.Sprintf("; %d more could not be decided", erred)
	}
	return s + "."
}

// linksOf counts the trials' states per link.
func linksOf(run *runData) []glanceLink {
	links := make([]glanceLink, 6)
	most := 0
	for i := range links {
		l := &links[i]
		l.Name, l.Title = string(chain.Order[i]), linkTitles[i]
		if len(run.Coverage) > i {
			l.Cover, l.By = run.Coverage[i].State, strings.Join(run.Coverage[i].By, ", ")
		}
		counts := map[byte]int{}
		for k := range run.Trials {
			if t := &run.Trials[k]; len(t.States) > i {
				counts[t.States[i]]++
				if t.Break == i {
					l.Broke++
				}
			}
		}
		for _, s := range stateOrder {
			if n := counts[s.letter]; n > 0 {
				l.States = append(l.States, glanceState{string(s.state), n, columns(n, len(run.Trials))})
			}
		}
		most = max(most, l.Broke)
	}
	for i := range links {
		if links[i].Broke == most && most > 0 {
			links[i].First = true
			break
		}
	}
	return links
}

// columns is a share in twelfths, never none for what is there.
func columns(n, of int) int { return max(1, (n*12+of/2)/of) }

func recordingGlance(rec *report.Recording, run *runData) *glance {
	g := &glance{Title: oneLine(rec.Path), Kind: "recording"}
	calls, bad := 0, 0
	for _, s := range rec.Sessions {
		calls += len(s.Calls)
		for _, c := range s.Calls {
			if badStates[c.State] {
				bad++
			}
		}
	}
	broke := map[int]int{}
	for i := range run.Trials {
		if b := run.Trials[i].Break; b >= 0 {
			broke[b]++
		}
	}
	switch {
	case len(rec.Sessions) == 0:
		g.Sentence = "The recording holds no session."
	case len(broke) == 0:
		g.Sentence = fmt.Sprintf("%s, %s: nothing broke that the wire can tell.", plural(len(rec.Sessions), "session"), plural(calls, "call"))
	default:
		var where []string
		for i := range chain.Order {
			if n := broke[i]; n > 0 {
				where = append(where, fmt.Sprintf("%d at %s", n, linkTitles[i]))
			}
		}
		g.Sentence = fmt.Sprintf("%s, %s; first breaks: %s.", plural(len(rec.Sessions), "session"), plural(calls, "call"), strings.Join(where, ", "))
		if len(rec.Sessions) == 1 {
			g.Sentence = fmt.Sprintf("The session broke first at %s.", strings.TrimPrefix(where[0], "1 at "))
		}
	}
	if bad > 0 {
		g.Sure = fmt.Sprintf("%d of %s ended in an error.", bad, plural(calls, "call"))
	}
	if rec.End.State != "sealed" || rec.End.Torn {
		g.Notes = append(g.Notes, "the recording is torn: it ends without its closing record")
	}
	if rec.End.Gaps > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("%s: %d records were not kept", plural(int(rec.End.Gaps), "gap"), rec.End.Lost))
	}
	g.Foot = []string{"id " + oneLine(rec.Header.ID), "no suite: the wire alone"}
	return g
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// page writes the page up to the blocks of data.
func page(p *printer, g *glance) {
	g.Policy, g.Style = policy(), template.CSS(style)
	if err := pages.ExecuteTemplate(p, "head.html", g); err != nil && p.err == nil {
		p.err = err
	}
}
