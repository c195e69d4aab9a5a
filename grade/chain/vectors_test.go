package chain

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// vector is an input of the analysis in upstream's form: signals and spans.
type vector struct {
	ID       string `json:"id"`
	Authored struct {
		IsNegativeTest  bool `json:"isNegativeTest"`
		ExpectsToolCall bool `json:"expectsToolCall"`
	} `json:"authored"`
	Evidence struct {
		SetupSignals map[string]struct{ Outcome, Attribution string } `json:"setupSignals"`
		ToolSignals  struct {
			ToolsTotalBefore int `json:"toolsTotalBefore"`
		} `json:"toolSignals"`
		Spans []struct {
			ID, Status, ToolName string
			MCPErrorCode         *int64
		} `json:"spans"`
		Prompts []struct {
			PromptIndex        int                         `json:"promptIndex"`
			ExpectedToolCalls  []struct{ ToolName string } `json:"expectedToolCalls"`
			Missing            []struct{ ToolName string } `json:"missing"`
			Unexpected         []struct{ ToolName string } `json:"unexpected"`
			ArgumentMismatches []struct{ ToolName string } `json:"argumentMismatches"`
			Passed             bool                        `json:"passed"`
		} `json:"prompts"`
		PredicateResults []struct {
			Predicate *struct{ Type, Role string } `json:"predicate"`
			Passed    bool                         `json:"passed"`
			Reason    string                       `json:"reason"`
		} `json:"predicateResults"`
		StepError struct{ Source string } `json:"stepError"`
	} `json:"evidence"`
	Iteration struct{ Status string } `json:"iteration"`
	Want      struct {
		StageResults []wanted `json:"stageResults"`
		Partial      []wanted `json:"partial"`
		NotReason    string   `json:"userValueReasonIsNot"`
	} `json:"want"`
}

type wanted struct {
	Stage, State, Reason string
	Evidence             struct {
		SpanIDs       []string
		PromptIndexes []int
	}
}

// transportLocal are the codes that upstream's client makes itself: they prove
// nothing about the server. On the wire the same codes were sent by the server,
// so that they mean this in the adapter alone (grading.md 0.1).
func transportLocal(code *int64) bool { return code != nil && (*code == -32000 || *code == -32001) }

// adapt maps a vector to sixlink's evidence, and spans to the records that stand
// for them. What upstream leaves unsaid: every channel is complete, and a prompt
// that was graded is a turn that was finished.
func (v *vector) adapt() (Input, map[string][]int64) {
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
	case d.Outcome == "failed":
		// "ours" has no twin on the wire: a list that failed for the recorder's own
		// reasons is one whose answer is not on record.
		s.Lists = []*catalog.List{list(catalog.Open)}
	}
	records := map[string][]int64{}
	for _, span := range v.Evidence.Spans {
		state := session.CallResult
		switch {
		case transportLocal(span.MCPErrorCode):
			state = session.CallClientGone // the client gave up: nothing came back
		case span.MCPErrorCode != nil:
			state = session.CallProtocolError
		case span.Status != "ok":
			state = session.CallToolError
		}
		if len(s.Lists) > 0 && s.Lists[0].State == catalog.Complete {
			s.Lists[0].Tools = append(s.Lists[0].Tools, catalog.Tool{Name: span.ToolName})
		}
		call(span.ToolName, state)(s)
		c := s.Calls[len(s.Calls)-1]
		if state == session.CallProtocolError {
			c.Error = &session.RPCError{Code: *span.MCPErrorCode}
		}
		records[span.ID] = []int64{c.Seq, c.AnswerSeq}
	}
	in := Input{Session: s, Evidence: evidence(s, `{}`), Negative: v.Authored.IsNegativeTest, Expects: v.Authored.ExpectsToolCall}
	for _, p := range v.Evidence.Prompts {
		out := Prompt{Turn: p.PromptIndex, Expected: len(p.ExpectedToolCalls), Passed: p.Passed}
		for _, pair := range []struct {
			to   *[]Mismatch
			from []struct{ ToolName string }
		}{{&out.Missing, p.Missing}, {&out.Unexpected, p.Unexpected}, {&out.Mismatched, p.ArgumentMismatches}} {
			for _, m := range pair.from {
				*pair.to = append(*pair.to, Mismatch{Tool: m.ToolName})
			}
		}
		in.Prompts = append(in.Prompts, out)
		talked(&in, true)
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
			if d.Outcome == "failed" && d.Attribution != "theirs" && link == predicate.Discovery {
				// Section 0.1 with 1.7: without a complete catalog the discovery kinds
				// are errors, also where a violation is visible.
				r = predicate.Error
			}
		}
		in.Rows = append(in.Rows, row(kind, link, role, r))
	}
	if v.Evidence.StepError.Source == "model" {
		in.HostStep = ModelAPIFailed
	}
	if s := v.Iteration.Status; s != "completed" && s != "failed" {
		in.Ended = Ending(s)
	}
	return in, records
}

// talked adds a turn of the host's transcript.
func talked(in *Input, finished bool) {
	if in.Evidence.Conversation == nil {
		in.Evidence.Conversation = &predicate.Conversation{
			TurnsState: session.Complete, FinalTextState: session.Complete, UsageState: session.Complete, RenderState: session.Complete,
		}
	}
	t := &in.Evidence.Conversation.Turns
	*t = append(*t, predicate.Turn{Prompt: "go", Finished: finished})
}

// Every row holds: none contradicts section 0. The adapter alone departs from what
// a row gives, where a discovery row becomes an error (0.1 with 1.7, above).
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
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors")
	}
	for v := range fixtures.Shuffled(file.Vectors) {
		t.Run(v.ID, func(t *testing.T) {
			in, records := v.adapt()
			r := Analyze(in)
			wants := append(v.Want.StageResults, v.Want.Partial...)
			if len(wants) == 0 {
				t.Fatal("the row wants nothing")
			}
			for _, want := range wants {
				l := linkOf(&r, predicate.Link(want.Stage))
				if string(l.State) != want.State || want.Reason != "" && string(l.Reason) != want.Reason {
					t.Errorf("%s: %s/%s (%s), want %s/%s", l.Link, l.State, l.Reason, l.Evidence.Text, want.State, want.Reason)
				}
				for _, id := range want.Evidence.SpanIDs {
					if !slices.ContainsFunc(records[id], func(seq int64) bool { return slices.Contains(l.Evidence.Records, seq) }) {
						t.Errorf("%s: records %v are not those of %s: %v", l.Link, l.Evidence.Records, id, records[id])
					}
				}
				for _, n := range want.Evidence.PromptIndexes {
					if !slices.Contains(l.Evidence.Turns, n) {
						t.Errorf("%s: turns %v, want %d", l.Link, l.Evidence.Turns, n)
					}
				}
			}
			if v.Want.NotReason != "" && string(r.Links[5].Reason) == v.Want.NotReason {
				t.Errorf("userValue reason %s", r.Links[5].Reason)
			}
		})
	}
}

func linkOf(r *Result, l predicate.Link) *Link {
	for i := range r.Links {
		if r.Links[i].Link == l {
			return &r.Links[i]
		}
	}
	return nil
}

// In upstream's form -32000 was made by its client and proves nothing of the
// server; on the wire the server sent it (grading.md 0.1).
func TestTransportLocalCodesLiveInTheAdapter(t *testing.T) {
	var v vector
	if err := json.Unmarshal([]byte(`{"authored":{"expectsToolCall":true},"iteration":{"status":"completed"},
		"evidence":{"spans":[{"id":"x","status":"error","toolName":"t","mcpErrorCode":-32000}]}}`), &v); err != nil {
		t.Fatal(err)
	}
	in, _ := v.adapt()
	if r := Analyze(in); r.Links[0].State != NotMeasured || r.Links[3].State != NotMeasured || r.FirstBreak != "" {
		t.Errorf("made by the client: %s", summary(r))
	}
	s := sess(lists(list(catalog.Complete, "t")), call("t", session.CallProtocolError), code(-32000))
	if r := Analyze(Input{Session: s, Evidence: evidence(s, `{"q":1}`)}); r.Links[3].Reason != ReasonProtocolError || r.Category != ServerCategory {
		t.Errorf("sent by the server: %s", summary(r))
	}
}
