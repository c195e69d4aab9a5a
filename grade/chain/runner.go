package chain

import (
	"fmt"

	"github.com/sixlink/sixlink/grade/predicate"
)

// runners lists the runner checks with the only reason for which each fails
// (grading.md 4.6): its link failed for the runner's own reason. A link that
// failed for an evaluator's reason leaves it undecided, so that one failure does
// not show as two.
var runners = []struct {
	id       string
	link     predicate.Link
	own      Reason
	expected string
}{
	{"connection.success", predicate.Connection, ConnectFailed, "the server is reached and answers"},
	{"discovery.toolsList", predicate.Discovery, ToolsListFailed, "tools/list is answered with a list"},
	{"call.completed", predicate.Call, ReasonProtocolError, "calls are answered without a protocol error"},
	{"response.returned", predicate.Response, ReasonToolError, "results come back without a tool error"},
}

func runnerChecks(r *Result) []RunnerCheck {
	out := []RunnerCheck{}
	for _, def := range runners {
		for i := range r.Links {
			l := &r.Links[i]
			if l.Link != def.link || l.State == NotApplicable {
				continue
			}
			c := RunnerCheck{ID: def.id, Link: def.link, State: CheckUndecided, Expected: def.expected}
			switch {
			case l.State == Passed:
				c.State = CheckPassed
			case l.State == Failed && l.Reason == def.own:
				c.State = CheckFailed
			}
			c.Actual = predicate.Sentence(fmt.Sprintf("%s (%s): %s", l.State, l.Reason, l.Evidence.Text))
			out = append(out, c)
		}
	}
	return out
}

// RunnerOf is the id of the runner check of a link; empty when it has none.
func RunnerOf(l predicate.Link) string {
	for _, def := range runners {
		if def.link == l {
			return def.id
		}
	}
	return ""
}
