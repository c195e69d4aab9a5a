package chain

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

type vector struct {
	ID       string `json:"id"`
	Authored struct {
		IsNegativeTest bool `json:"isNegativeTest"`
	} `json:"authored"`
	Evidence struct {
		SetupSignals map[string]struct{ Outcome, Attribution string } `json:"setupSignals"`
		ToolSignals  struct {
			ToolsTotalBefore int `json:"toolsTotalBefore"`
		} `json:"toolSignals"`
		Spans   []struct{ ID, Status, ToolName string } `json:"spans"`
		Prompts []struct {
			ExpectedToolCalls []struct{ ToolName string } `json:"expectedToolCalls"`
			Passed            bool                        `json:"passed"`
		} `json:"prompts"`
		PredicateResults []struct {
			Predicate *struct{ Type, Role string } `json:"predicate"`
			Passed    bool                         `json:"passed"`
			Reason    string                       `json:"reason"`
		} `json:"predicateResults"`
	} `json:"evidence"`
	Want struct {
		StageResults []struct{ Stage, State, Reason string } `json:"stageResults"`
		Partial      []struct{ Stage, State, Reason string } `json:"partial"`
		NotReason    string                                  `json:"userValueReasonIsNot"`
	} `json:"want"`
}

// adapt maps an upstream vector, which is in the form of spans, to a session.
// What is left unsaid: capture is complete, and every span is a call whose result
// came back.
func (v *vector) adapt() Input {
	s := sess()
	if v.Evidence.SetupSignals["connection"].Outcome != "ok" {
		s.Connection = session.Connection{}
	}
	d := v.Evidence.SetupSignals["discovery"]
	switch {
	case d.Outcome == "ok":
		s.Lists = []*catalog.List{list(catalog.Complete)}
	case d.Attribution == "theirs":
		s.Lists = []*catalog.List{list(catalog.Failed)}
	default:
		// "ours" has no twin on the wire: a list that failed for the recorder's own
		// reasons is one whose answer is not on record.
		s.Lists = []*catalog.List{list(catalog.Open)}
	}
	for _, span := range v.Evidence.Spans {
		s.Lists[0].Tools = append(s.Lists[0].Tools, catalog.Tool{Name: span.ToolName})
		call(span.ToolName, session.CallResult)(s)
	}
	in := Input{Session: s, Evidence: evidence(s, `{}`)}
	for _, p := range v.Evidence.Prompts {
		for _, e := range p.ExpectedToolCalls {
			// The matcher that grades expectations is not built yet; a gating check
			// on the same call stands in for it.
			r := predicate.Fail
			if p.Passed {
				r = predicate.Pass
			}
			in.Rows = append(in.Rows, row("toolCalledAtLeastOnce "+e.ToolName, predicate.Selection, predicate.Gating, r))
		}
	}
	for _, p := range v.Evidence.PredicateResults {
		r := predicate.Fail
		if p.Passed {
			r = predicate.Pass
		}
		// A row of unreadable kind files at user value (grading.md 1.2).
		link, role, kind := predicate.UserValue, predicate.Gating, ""
		if p.Predicate != nil {
			info, _, _ := predicate.Lookup(p.Predicate.Type)
			link, kind = info.Link, info.Name
			if p.Predicate.Role == "advisory" {
				role = predicate.Advisory
			}
			if d.Outcome != "ok" && d.Attribution != "theirs" && link == predicate.Discovery {
				// Section 0.1 with 1.7: without a complete catalog the discovery kinds
				// are errors, also where a violation is visible.
				r = predicate.Error
			}
		}
		in.Rows = append(in.Rows, row(kind, link, role, r))
	}
	return in
}

func TestVectors(t *testing.T) {
	b, err := os.ReadFile("../../fixtures/vectors/chain-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			if v.Authored.IsNegativeTest {
				t.Skip("negative cases come with cases and the matcher")
			}
			ran++
			r := Analyze(v.adapt())
			for _, want := range append(v.Want.StageResults, v.Want.Partial...) {
				for _, l := range r.Links {
					if string(l.Link) == want.Stage && (string(l.State) != want.State || want.Reason != "" && string(l.Reason) != want.Reason) {
						t.Errorf("%s: %s/%s (%s), want %s/%s", l.Link, l.State, l.Reason, l.Evidence.Text, want.State, want.Reason)
					}
				}
			}
			if v.Want.NotReason != "" && string(r.Links[5].Reason) == v.Want.NotReason {
				t.Errorf("userValue reason %s", r.Links[5].Reason)
			}
		})
	}
	if ran != len(file.Vectors)-1 {
		t.Errorf("%d of %d rows ran", ran, len(file.Vectors))
	}
}
