package grade

import (
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// assignment says which case a session is a trial of (grading.md 0.2.17).
type assignment struct {
	c *CaseSpec // nil: (unassigned), or ambiguous
	// ambiguous names the cases that all claim it.
	ambiguous []string
}

// assign finds the case of a trial whose recordings have these labels, and of this first prompt:
// by the match of a case, else by the label, else by a first prompt that exactly
// one case has. hasPrompt is false where no transcript is joined.
func (s *Suite) assign(labels []map[string]string, prompt string, hasPrompt bool) assignment {
	prompt = value.Trim(prompt)
	tiers := [](func(c *CaseSpec) bool){
		func(c *CaseSpec) bool {
			if c.MatchPrompt == "" && len(c.MatchLabels) == 0 {
				return false
			}
			if c.MatchPrompt != "" && (!hasPrompt || value.Trim(c.MatchPrompt) != prompt) {
				return false
			}
			return slices.ContainsFunc(labels, func(labels map[string]string) bool {
				for k, v := range c.MatchLabels {
					if got, ok := labels[k]; !ok || got != v {
						return false
					}
				}
				return true
			})
		},
		func(c *CaseSpec) bool {
			return slices.ContainsFunc(labels, func(l map[string]string) bool { return l[LabelCase] != "" && l[LabelCase] == c.ID })
		},
		func(c *CaseSpec) bool {
			return hasPrompt && prompt != "" && len(c.Turns) > 0 && value.Trim(c.Turns[0].Prompt) == prompt
		},
	}
	for _, takes := range tiers {
		var found []*CaseSpec
		for _, c := range s.Cases {
			if takes(c) {
				found = append(found, c)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return assignment{c: found[0]}
		}
		var a assignment
		for _, c := range found {
			a.ambiguous = append(a.ambiguous, c.ID)
		}
		return a
	}
	return assignment{}
}

// The reserved labels (grading.md 0.1 "Several servers").
const (
	LabelCase   = "case"
	LabelTrial  = "trial"
	LabelServer = "server"
)

// caseByID returns the case of that id; nil: there is none.
func (s *Suite) caseByID(id string) *CaseSpec {
	for _, c := range s.Cases {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// unknownLabel says that a session names a case that the suite does not have.
func (s *Suite) unknownLabel(labels map[string]string) string {
	id := labels[LabelCase]
	if id == "" || len(s.Cases) == 0 || s.caseByID(id) != nil {
		return ""
	}
	ids := make([]string, len(s.Cases))
	for i, c := range s.Cases {
		ids[i] = c.ID
	}
	return fmt.Sprintf("label case=%s names no case of the suite%s", id, didYouMean(id, ids))
}
