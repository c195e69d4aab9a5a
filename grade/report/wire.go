package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
)

// What follows is the shape of the JSON that [JSON] writes, as [Read] takes it.

type wireCoverage struct {
	Link  string   `json:"link"`
	State string   `json:"state"`
	By    []string `json:"by"`
}

type wireSkipped struct {
	Recording string `json:"recording"`
	Session   string `json:"session"`
	Why       string `json:"why"`
	Detail    string `json:"detail"`
}

type wirePlace struct {
	File   int `json:"file"`
	Line   int `json:"line"`
	Column int `json:"column"`
}

type wireCase struct {
	Verdict, Reason, CanFail, ConfigHash string
	Coverage                             []wireCoverage
	Overridden, NotMeasurable            []string
	Repetitions                          int64
	At                                   *wirePlace
	Stats                                wireStats
}

// wireStats has the counts; all else follows from them.
type wireStats struct {
	Trials       int `json:"trials"`
	Passed       int `json:"passed"`
	Failed       int `json:"failed"`
	Inconclusive int `json:"inconclusive"`
}

// wireRecords are the records of a row, a link or a difference.
type wireRecords struct {
	Records    []int64  `json:"records"`
	Recordings []string `json:"recordings"`
	Servers    []string `json:"servers"`
}

type wireLink struct {
	Link     string `json:"link"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Evidence struct {
		wireRecords
		Text       string `json:"text"`
		SameCallAs string `json:"sameCallAs"`
	} `json:"evidence"`
}

type wireDifference struct {
	wireRecords
	Class    string     `json:"class"`
	Turn     int        `json:"turn"`
	Tool     string     `json:"tool"`
	Expected string     `json:"expected"`
	Actual   string     `json:"actual"`
	Allowed  bool       `json:"allowed"`
	At       *wirePlace `json:"at"`
}

type wireRow struct {
	wireRecords
	Check       string            `json:"check"`
	Link        string            `json:"link"`
	Role        string            `json:"role"`
	Severity    string            `json:"severity"`
	Turn        *int              `json:"turn"`
	Outcome     string            `json:"outcome"`
	Reason      string            `json:"reason"`
	Expected    string            `json:"expected"`
	Actual      string            `json:"actual"`
	At          *wirePlace        `json:"at"`
	Differences *[]wireDifference `json:"differences"`
}

type wirePart struct {
	Recording string `json:"recording"`
	Session   string `json:"session"`
	Server    string `json:"server"`
	Lost      string `json:"lost"`
}

type wireFacts struct {
	StartedAt   string `json:"startedAt"`
	DurationNs  int64  `json:"durationNs"`
	Host        string `json:"host"`
	HostVersion string `json:"hostVersion"`
	Model       string `json:"model"`
	Servers     []struct {
		Key     string `json:"key"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Catalog string `json:"catalog"`
		Tools   int    `json:"tools"`
	} `json:"servers"`
	Calls       int   `json:"calls"`
	ResultBytes int64 `json:"resultBytes"`
	Latency     struct {
		Count int     `json:"count"`
		Ns    []int64 `json:"ns"`
	} `json:"latency"`
	Tokens *struct {
		Input  *int64 `json:"input"`
		Output *int64 `json:"output"`
		Total  *int64 `json:"total"`
	} `json:"tokens"`
}

type wireConversation struct {
	Host     string   `json:"host"`
	Session  string   `json:"session"`
	Join     string   `json:"join"`
	Why      string   `json:"why"`
	HostOnly []string `json:"hostOnly"`
	More     int      `json:"more"`
}

type wireTrial struct {
	Recording       string            `json:"recording"`
	Session         string            `json:"session"`
	Labels          map[string]string `json:"labels"`
	Parts           []wirePart        `json:"parts"`
	Conversation    *wireConversation `json:"conversation"`
	Verdict         string            `json:"verdict"`
	Why             string            `json:"why"`
	Links           []wireLink        `json:"links"`
	FirstBreak      string            `json:"firstBreak"`
	FailureCategory string            `json:"failureCategory"`
	Rows            []wireRow         `json:"rows"`
	RunnerChecks    []struct {
		ID       string `json:"id"`
		Link     string `json:"link"`
		State    string `json:"state"`
		Expected string `json:"expected"`
		Actual   string `json:"actual"`
	} `json:"runnerChecks"`
	Facts wireFacts `json:"facts"`
}

// trial takes what was read, and tells f what it cannot be.
func (w *wireTrial) trial(f *faults) *Trial {
	t := &Trial{Recording: w.Recording, Session: w.Session, Labels: w.Labels, Word: f.verdict("verdict", w.Verdict), Why: w.Why,
		FailureCategory: chain.Category(f.word("failureCategory", w.FailureCategory))}
	for _, p := range w.Parts {
		t.Parts = append(t.Parts, Part(p))
	}
	if c := w.Conversation; c != nil {
		t.Conversation = &Conversation{Host: c.Host, Session: c.Session, Join: c.Join, Why: c.Why, HostOnly: c.HostOnly, More: c.More}
	}
	if len(w.Links) != len(chain.Order) {
		f.is(fmt.Errorf("links: expected %d", len(chain.Order)))
		return t
	}
	for i := range w.Links {
		l := &w.Links[i]
		t.Links[i] = Link{Link: oneOf(f, "links.link", l.Link, chain.Order[i]), State: oneOf(f, "links.state", l.State, worst...),
			Reason: chain.Reason(f.word("links.reason", l.Reason)), Records: l.Evidence.records(f), Text: l.Evidence.Text, SameCallAs: l.Evidence.SameCallAs}
	}
	if w.FirstBreak != "" {
		t.FirstBreak = link(f, "firstBreak", w.FirstBreak)
	}
	t.Rows = make([]Row, len(w.Rows))
	for i := range w.Rows {
		t.Rows[i] = w.Rows[i].row(f)
	}
	t.Runner = make([]chain.RunnerCheck, len(w.RunnerChecks))
	for i := range w.RunnerChecks {
		c := &w.RunnerChecks[i]
		t.Runner[i] = chain.RunnerCheck{ID: f.word("runnerChecks.id", c.ID), Link: link(f, "runnerChecks.link", c.Link),
			State:    oneOf(f, "runnerChecks.state", c.State, chain.CheckPassed, chain.CheckFailed, chain.CheckUndecided),
			Expected: c.Expected, Actual: c.Actual}
	}
	t.Facts = w.Facts.facts(f)
	return t
}

func link(f *faults, member, s string) predicate.Link {
	return oneOf(f, member, s, chain.Order[:]...)
}

func (w *wireRecords) records(f *faults) []Record {
	out := make([]Record, len(w.Records))
	if n := len(w.Records); len(w.Recordings) != len(w.Servers) || len(w.Recordings) > 0 && len(w.Recordings) != n {
		f.is(errors.New("records, recordings and servers are not as many"))
		return out
	}
	for i := range out {
		if out[i].Seq = w.Records[i]; len(w.Recordings) > 0 {
			out[i].Recording, out[i].Server = w.Recordings[i], w.Servers[i]
		}
	}
	return out
}

func (w *wireRow) row(f *faults) Row {
	r := Row{Name: f.word("rows.check", w.Check), Link: link(f, "rows.link", w.Link), Role: oneOf(f, "rows.role", w.Role, predicate.Gating, predicate.Advisory),
		Warn: w.Severity == "warn", Turn: -1, Result: oneOf(f, "rows.outcome", w.Outcome, predicate.Pass, predicate.Fail, predicate.Error),
		Reason: w.Reason, Expected: w.Expected, Actual: w.Actual, Records: w.records(f), At: f.place("rows.at", w.At), Scorer: w.Differences != nil}
	if w.Turn != nil {
		r.Turn = max(-1, *w.Turn)
	}
	if w.Differences == nil {
		return r
	}
	for i := range *w.Differences {
		d := &(*w.Differences)[i]
		r.Differences = append(r.Differences, Difference{Class: oneOf(f, "differences.class", d.Class, "missing", "extra", "outOfOrder", "arguments"), Turn: d.Turn,
			Tool: d.Tool, Expected: d.Expected, Actual: d.Actual, Records: d.records(f), Allowed: d.Allowed, At: f.place("differences.at", d.At)})
	}
	return r
}

func (w *wireFacts) facts(f *faults) grade.Facts {
	out := grade.Facts{DurationNs: w.DurationNs, Host: w.Host, HostVersion: w.HostVersion, Model: w.Model, Calls: w.Calls, ResultBytes: w.ResultBytes,
		Latency: grade.Latency{Count: w.Latency.Count, Ns: w.Latency.Ns}}
	if w.StartedAt != "" {
		at, err := time.Parse(time.RFC3339Nano, w.StartedAt)
		if err != nil || at.Year() < 1970 || at.Year() > 2261 {
			f.is(fmt.Errorf("facts.startedAt: %.80q is no time", w.StartedAt))
		}
		out.StartedAt = at.UnixNano()
	}
	for _, s := range w.Servers {
		out.Servers = append(out.Servers, grade.ServerFacts(s))
	}
	if n := len(w.Latency.Ns); w.Latency.Count < n || n == 0 && w.Latency.Count > 0 {
		f.is(errors.New("facts.latency: its count is not that of ns"))
	}
	if w.Tokens != nil {
		known := func(n *int64) int64 {
			if n == nil {
				return -1
			}
			return *n
		}
		out.Tokens = &predicate.Usage{Input: known(w.Tokens.Input), Output: known(w.Tokens.Output), Total: known(w.Tokens.Total)}
	}
	return out
}
