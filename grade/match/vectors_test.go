package match

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade/internal/value"
)

// vectorCall is a call or an expected call as the vectors write it.
type vectorCall struct {
	ToolName  string          `json:"toolName"`
	Arguments json.RawMessage `json:"arguments"`
}

type vectorOptions struct {
	ArgumentMatching  ArgumentMode `json:"argumentMatching"`
	ToolCallOrder     Order        `json:"toolCallOrder"`
	MaxExtraToolCalls *int64       `json:"maxExtraToolCalls"`
	AllowExtra        *bool        `json:"allowExtraToolCalls"`
}

// options maps the legacy allowExtraToolCalls too (grading.md 2.2).
func (o *vectorOptions) options() Options {
	out := Defaults().Over(Options{Arguments: o.ArgumentMatching, Order: o.ToolCallOrder, MaxExtra: o.MaxExtraToolCalls, MaxExtraSet: o.MaxExtraToolCalls != nil})
	if o.AllowExtra != nil && o.MaxExtraToolCalls == nil && !*o.AllowExtra {
		out = out.Over(Options{MaxExtra: new(int64), MaxExtraSet: true})
	}
	return out
}

func mustParse(t testing.TB, raw []byte) *value.Value {
	t.Helper()
	if raw == nil {
		return nil
	}
	v, err := value.Parse(raw, value.Options{MaxDepth: 100})
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// housekeeping calls are those of the host's skills: taken out in this adapter, unless
// an expectation of the turn names the tool (grading.md 2.5, 10.45).
var housekeeping = []string{"listSkills", "loadSkill", "listSkillFiles", "readSkillFile"}

// vectorCase states what the vectors leave unsaid: calls and turns are known, a prompt
// is on record and every turn finished.
func vectorCase(t testing.TB, turns []TurnInput, calls [][]vectorCall, o Options, negative, skills bool) CaseInput {
	in := CaseInput{Turns: turns, Options: o, Negative: negative, CallsComplete: true, TurnsKnown: true, PromptFinished: true}
	seq := int64(0)
	for n := range calls {
		for _, c := range calls[n] {
			seq++
			named := n < len(turns) && slices.ContainsFunc(turns[n].Expected, func(e Expectation) bool { return e.Tool == c.ToolName })
			if skills && slices.Contains(housekeeping, c.ToolName) && !named {
				continue
			}
			in.Calls = append(in.Calls, Call{Tool: c.ToolName, Seq: seq, Index: -1, Turn: n, Arguments: func() (*value.Value, error) { return mustParse(t, c.Arguments), nil }})
		}
	}
	return in
}

func readVectors(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// differsFromUpstream names the rows whose older verdict does not hold here, with the
// clause. The vectors mark them with differsOnPurpose.
var differsFromUpstream = map[string]string{
	"minCount 2 over two turns":                    "2.6: minCount is honoured",
	"own exact mode beats case partial":            "2.6: an expectation's own argument mode is honoured",
	"assert after pinned call that did not happen": "2.6: asserts of pinned turns are graded",
}

func TestToolExpectationVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Name  string
			Steps []struct {
				ID, Kind, ToolName, Role string
				Args                     json.RawMessage
				ArgumentMatching         ArgumentMode
				MinCount                 *int64
			}
			CallsByTurn [][]vectorCall
			Engine      []struct {
				A                                  map[string]string
				Passed, Sequence, Extras, Negative *bool
			}
			MatcherPassed    []bool
			MatchOptions     vectorOptions
			IsNegativeTest   bool
			SkillToolsActive bool
			DiffersOnPurpose bool
		}
	}
	readVectors(t, "tool-expectation-vectors.json", &file)
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors")
	}
	for v := range fixtures.Shuffled(file.Vectors) {
		t.Run(v.Name, func(t *testing.T) {
			var turns []TurnInput
			var ids [][]string
			for _, s := range v.Steps {
				switch s.Kind {
				case "prompt", "toolCall":
					turns = append(turns, TurnInput{Pinned: s.Kind == "toolCall"})
					ids = append(ids, nil)
				case "assert":
					if s.Role == "advisory" {
						continue // a row, never an expectation (grading.md 2.4)
					}
					e := Expectation{Tool: s.ToolName, Args: mustParse(t, s.Args), Mode: s.ArgumentMatching}
					if s.MinCount != nil {
						e.MinCount = *s.MinCount
					}
					n := len(turns) - 1
					turns[n].Expected = append(turns[n].Expected, e)
					ids[n] = append(ids[n], s.ID)
				default:
					t.Fatalf("step of kind %q", s.Kind)
				}
			}
			got := Case(vectorCase(t, turns, v.CallsByTurn, v.MatchOptions.options(), v.IsNegativeTest, v.SkillToolsActive))
			if len(got.Turns) != len(v.Engine) {
				t.Fatalf("%d turns, want %d", len(got.Turns), len(v.Engine))
			}
			passed := true
			for n, want := range v.Engine {
				turn := &got.Turns[n]
				for i, id := range ids[n] {
					is := "pass"
					if a := turn.Asserts[i]; a.Outcome != Pass {
						is = string(a.Failure)
					}
					if w, ok := want.A[id]; ok && w != is {
						t.Errorf("turn %d: %s is %s, want %s", n, id, is, w)
					}
				}
				for what, pair := range map[string]struct {
					want *bool
					got  Outcome
				}{"turn": {want.Passed, turn.Outcome}, "sequence": {want.Sequence, turn.Sequence.Outcome}, "extras": {want.Extras, turn.Extras.Outcome}, "negative": {want.Negative, turn.Negative.Outcome}} {
					if pair.want == nil {
						continue
					}
					if is := pair.got == Pass || what == "negative" && pair.got == ""; is != *pair.want {
						t.Errorf("turn %d: %s is %s, want passed = %v", n, what, pair.got, *pair.want)
					}
				}
				passed = passed && turn.Outcome == Pass
				if (turn.Outcome == Pass) != v.MatcherPassed[n] && differsFromUpstream[v.Name] == "" {
					t.Errorf("turn %d: %s, and the older matcher says passed = %v", n, turn.Outcome, v.MatcherPassed[n])
				}
			}
			if passed != (got.Outcome == Pass) {
				t.Errorf("the case is %s, its turns passed: %v", got.Outcome, passed)
			}
			if v.DiffersOnPurpose != (differsFromUpstream[v.Name] != "") {
				t.Errorf("differsOnPurpose is %v: name the row with its clause", v.DiffersOnPurpose)
			}
		})
	}
}

func TestSplitVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Name                                              string
			ExpectedByTurn, ActualByTurn                      [][]vectorCall
			MatchOptions                                      vectorOptions
			ToolCallsMatch, ToolCallsArguments, MatcherPassed bool
		}
	}
	readVectors(t, "toolcalls-split-vectors.json", &file)
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors")
	}
	for v := range fixtures.Shuffled(file.Vectors) {
		t.Run(v.Name, func(t *testing.T) {
			turns := make([]TurnInput, len(v.ExpectedByTurn))
			for n := range turns {
				for _, e := range v.ExpectedByTurn[n] {
					turns[n].Expected = append(turns[n].Expected, Expectation{Tool: e.ToolName, Args: mustParse(t, e.Arguments), Assert: -1})
				}
			}
			got := Case(vectorCase(t, turns, v.ActualByTurn, v.MatchOptions.options(), false, false))
			if got.Match == nil || got.Arguments == nil {
				t.Fatal("a scorer is not there")
			}
			for what, pair := range map[string]struct {
				want bool
				got  Outcome
			}{MatchID: {v.ToolCallsMatch, got.Match.Outcome}, ArgumentsID: {v.ToolCallsArguments, got.Arguments.Outcome}, "both": {v.MatcherPassed, got.Outcome}} {
				if pair.got == Error || (pair.got == Pass) != pair.want {
					t.Errorf("%s is %s, want passed = %v", what, pair.got, pair.want)
				}
			}
		})
	}
}
