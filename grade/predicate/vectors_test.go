package predicate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// transcript is the form in which the vectors give evidence (grading.md 3.1).
type transcript struct {
	ToolCalls []struct {
		ToolName   string          `json:"toolName"`
		Arguments  json.RawMessage `json:"arguments"`
		ToolCallID string          `json:"toolCallId"`
	} `json:"toolCalls"`
	ToolErrors []struct {
		ToolName   string    `json:"toolName"`
		Kind       ErrorKind `json:"kind"`
		Message    string    `json:"message"`
		ToolCallID string    `json:"toolCallId"`
	} `json:"toolErrors"`
	ToolCallTimings []struct {
		ToolName   string  `json:"toolName"`
		DurationMs float64 `json:"durationMs"`
	} `json:"toolCallTimings"`
	ToolInventory    []vectorTool `json:"toolInventory"`
	ToolDeclarations []vectorTool `json:"toolDeclarations"`
	Capture          struct {
		ToolResults      session.CaptureState `json:"toolResults"`
		ToolCallTimings  session.CaptureState `json:"toolCallTimings"`
		ToolInventory    session.CaptureState `json:"toolInventory"`
		ToolDeclarations session.CaptureState `json:"toolDeclarations"`
	} `json:"capture"`
	vectorResults
	vectorTalk
}

type vectorTool struct {
	ServerKey    string          `json:"serverKey"`
	Name         string          `json:"name"`
	Description  *string         `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

func (v *vectorTool) entry() catalog.Tool {
	e := catalog.Tool{Name: v.Name, HasName: true, InputSchema: v.InputSchema, OutputSchema: v.OutputSchema, Annotations: v.Annotations}
	if v.Description != nil {
		e.Description, e.HasDesc = *v.Description, true
	}
	return e
}

// adapt states what the vectors leave unsaid: calls, errors and the conversation
// are complete (vectors' README), and the inventory is the list that every call saw.
func (tr *transcript) adapt() *Evidence {
	ev := &Evidence{Capture: session.Capture{
		ToolCalls: session.Complete, ToolErrors: session.Complete,
		ToolResults: tr.Capture.ToolResults, ToolCallTimings: tr.Capture.ToolCallTimings, ToolInventory: tr.Capture.ToolInventory,
		ToolDeclarations: tr.Capture.ToolDeclarations,
	}}
	l := &catalog.List{State: catalog.Complete}
	for _, e := range tr.ToolInventory {
		l.Tools = append(l.Tools, e.entry())
	}
	if tr.ToolDeclarations != nil {
		ev.Declarations = []Declaration{}
	}
	for _, d := range tr.ToolDeclarations {
		e := d.entry()
		ev.Declarations = append(ev.Declarations, Declaration{d.ServerKey, &e, nil})
	}
	ev.Lists = []*catalog.List{l}
	for i, c := range tr.ToolCalls {
		call := CallEvidence{Seq: int64(i + 1), Index: -1, Tool: c.ToolName, ToolUseID: c.ToolCallID}
		if c.Arguments != nil {
			call.Arguments = func() ([]byte, error) { return c.Arguments, nil }
		}
		if call.Entry, _ = l.Find(c.ToolName); call.Entry == nil {
			call.EntryWhy = "the list of tools does not have it"
		}
		ev.Calls = append(ev.Calls, call)
	}
	for _, e := range tr.ToolErrors {
		out := ToolError{Kind: e.Kind, Tool: e.ToolName, Message: e.Message, Index: -1}
		for i := range ev.Calls {
			if e.ToolCallID != "" && ev.Calls[i].ToolUseID == e.ToolCallID {
				out.Seq = ev.Calls[i].Seq
			}
		}
		ev.Errors = append(ev.Errors, out)
	}
	for _, x := range tr.ToolCallTimings {
		ev.Timings = append(ev.Timings, Timing{Tool: x.ToolName, Ns: int64(x.DurationMs * 1e6)})
	}
	tr.vectorResults.adapt(ev)
	tr.vectorTalk.adapt(ev)
	return ev
}

// adaptCheck makes a check of a vector's predicate; ok is false for kinds that
// are not built yet.
func adaptCheck(t *testing.T, raw json.RawMessage) (*Check, bool) {
	t.Helper()
	v, err := value.Parse(raw, value.Options{MaxDepth: 50})
	if err != nil {
		t.Fatal(err)
	}
	kind := ""
	var fields []value.Member
	for _, m := range v.Obj {
		switch m.Key {
		case "type":
			kind = m.Value.Str
		case "role", "severity":
		default:
			fields = append(fields, m)
		}
	}
	if _, k, known := Lookup(kind); !known {
		t.Fatalf("unknown kind %q", kind)
	} else if k == nil {
		return nil, false
	}
	return check(t, kind, fields...), true
}

func readVectors(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "vectors", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func TestEvaluatorVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Name       string          `json:"name"`
			Transcript transcript      `json:"transcript"`
			Predicate  json.RawMessage `json:"predicate"`
			Want       Result          `json:"want"`
		} `json:"vectors"`
	}
	readVectors(t, "evaluator-vectors.json", &file)
	ran := 0
	for _, v := range file.Vectors {
		c, ok := adaptCheck(t, v.Predicate)
		if !ok {
			continue
		}
		ran++
		t.Run(v.Name, func(t *testing.T) {
			if got := Evaluate(c, v.Transcript.adapt()); got.Result != v.Want {
				t.Errorf("%s: %s (%s), want %s", c.Info.Name, got.Result, got.Reason, v.Want)
			}
		})
	}
	if ran < 25 {
		t.Errorf("%d rows ran", ran)
	}
}

func TestCorpus(t *testing.T) {
	var file struct {
		Items []struct {
			ID         string     `json:"id"`
			Transcript transcript `json:"transcript"`
			Expect     []struct {
				Predicate   json.RawMessage `json:"predicate"`
				Observation Result          `json:"observation"`
				Classes     []string        `json:"violationClasses"`
			} `json:"expect"`
		} `json:"items"`
	}
	readVectors(t, "uvc-corpus.json", &file)
	ran := 0
	for _, item := range file.Items {
		for _, e := range item.Expect {
			c, ok := adaptCheck(t, e.Predicate)
			if !ok {
				continue
			}
			ran++
			t.Run(item.ID+"/"+c.Info.Name, func(t *testing.T) {
				got := Evaluate(c, item.Transcript.adapt())
				if got.Result != e.Observation {
					t.Errorf("%s (%s), want %s", got.Result, got.Reason, e.Observation)
				}
				if e.Classes != nil {
					_, text, _ := strings.Cut(got.Actual, ": ")
					classes := strings.Split(text, ", ")
					slices.Sort(classes)
					slices.Sort(e.Classes)
					if !slices.Equal(classes, e.Classes) {
						t.Errorf("classes %v, want %v", classes, e.Classes)
					}
				}
			})
		}
	}
	if ran < 20 {
		t.Errorf("%d rows ran", ran)
	}
}

// eachVector calls each with every transcript and predicate of the two files of
// vectors, for the kinds that are built.
func eachVector(t *testing.T, each func(name string, c *Check, tr *transcript)) {
	t.Helper()
	var plain struct {
		Vectors []struct {
			Name       string          `json:"name"`
			Transcript transcript      `json:"transcript"`
			Predicate  json.RawMessage `json:"predicate"`
		} `json:"vectors"`
	}
	readVectors(t, "evaluator-vectors.json", &plain)
	for _, v := range plain.Vectors {
		if c, ok := adaptCheck(t, v.Predicate); ok {
			each(v.Name, c, &v.Transcript)
		}
	}
	var corpus struct {
		Items []struct {
			ID         string     `json:"id"`
			Transcript transcript `json:"transcript"`
			Expect     []struct {
				Predicate json.RawMessage `json:"predicate"`
			} `json:"expect"`
		} `json:"items"`
	}
	readVectors(t, "uvc-corpus.json", &corpus)
	for _, item := range corpus.Items {
		for _, e := range item.Expect {
			if c, ok := adaptCheck(t, e.Predicate); ok {
				each(item.ID, c, &item.Transcript)
			}
		}
	}
}
