package grade_test

import (
	"testing"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Of several complete catalogs the last one before the first call is declared,
// else the last (grading.md 0.1).
func TestDeclarations(t *testing.T) {
	list := func(seq int64, state catalog.State, tool string) *catalog.List {
		return &catalog.List{State: state, Pages: []catalog.Page{{RequestSeq: seq, AnswerSeq: seq + 1}}, Tools: []catalog.Tool{{Name: tool}}}
	}
	for name, c := range map[string]struct {
		lists []*catalog.List
		want  string // the tool of the list
	}{
		"none":                               {nil, ""},
		"the last before the call":           {[]*catalog.List{list(3, catalog.Complete, "a"), list(5, catalog.Complete, "b"), list(20, catalog.Complete, "c")}, "b"},
		"the last where none is":             {[]*catalog.List{list(20, catalog.Complete, "a"), list(30, catalog.Complete, "b")}, "b"},
		"a whole one before one that is not": {[]*catalog.List{list(3, catalog.Complete, "a"), list(5, catalog.Open, "b")}, "a"},
		"the last of those that are not":     {[]*catalog.List{list(3, catalog.Open, "a"), list(5, catalog.Open, "b")}, "b"},
	} {
		s := made(session.CallResult) // the call is record 10
		s.Lists = c.lists
		ev := grade.Evidence(s, nil, nil)
		got := ""
		for _, d := range ev.Declarations {
			if got += d.Tool.Name; d.ServerKey != "shop" {
				t.Errorf("%s: server key %q", name, d.ServerKey)
			}
		}
		if got != c.want || (ev.Declarations == nil) != (c.lists == nil) {
			t.Errorf("%s: declared %q, want %q", name, got, c.want)
		}
		ev.NameServer("label")
		for _, d := range ev.Declarations {
			if d.ServerKey != "label" {
				t.Errorf("%s: server key %q after the label", name, d.ServerKey)
			}
		}
	}
	empty := made()
	empty.Lists[0].Tools = nil
	if ev := grade.Evidence(empty, nil, nil); ev.Declarations == nil {
		t.Error("a list without a tool is none")
	}
}

func TestCallsHaveToolUseAndTurn(t *testing.T) {
	s := made(session.CallResult)
	s.Calls[0].ToolUseID = "toolu_1"
	ev := grade.Evidence(s, nil, nil)
	if c := ev.Calls[0]; ev.Turn != -1 || c.Turn != -1 || c.ToolUseID != "toolu_1" || c.HostOnly {
		t.Errorf("%+v in turn %d", c, ev.Turn)
	}
}
