package predicate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
)

var onlyToolsCalled = &Kind{
	Name:  "onlyToolsCalled",
	Title: "No other tools were called",
	Text: `Passes when every call is to one of the listed tools; the empty list says that no tool may be called. It
does not ask for calls: none at all passes. A call without a name fails it. Where calls may have been lost, a call
to another tool that was seen fails, and none is an error.`,
	Example: `{type: onlyToolsCalled, toolNames: [search, get_order]}`,
	Since:   1,
	Fields: []Field{{Name: "toolNames", Type: Texts, Required: true,
		Text: "The tools that may be called. Names compare exactly. [] allows none."}},
	Channels: []Channel{ToolCalls},
	Notes:    []string{"An entry that is blank fails the check.", hostOnlyNote},
	Evaluate: evalOnlyCalled,
}

func evalOnlyCalled(c *Check, ev *Evidence) Outcome {
	names, ok := c.Texts("toolNames")
	if !ok {
		return Outcome{Result: Fail, Reason: "toolNames is no list of names"}
	}
	for i, n := range names {
		if value.Trim(n) == "" {
			return Outcome{Result: Fail, Reason: fmt.Sprintf("toolNames: entry %d is blank", i+1)}
		}
	}
	o := Outcome{Expected: "no call at all"}
	if len(names) > 0 {
		var shown []string
		for _, n := range names[:min(len(names), maxListed)] {
			shown = append(shown, tool(n))
		}
		o.Expected = "calls only to " + list(shown, len(names))
	}
	var blank, other []*CallEvidence
	for _, call := range ev.inScope("", false) {
		switch {
		case value.Trim(call.Tool) == "":
			blank = append(blank, call)
		case !slices.Contains(names, call.Tool):
			other = append(other, call)
		}
	}
	if bad := len(blank) + len(other); bad > 0 {
		o.Result = Fail
		o.Actual = fmt.Sprintf("%d of %s", bad, count(len(ev.Calls), "call"))
		var parts []string
		if len(other) > 0 {
			parts = append(parts, "called: "+listCalls(other))
		}
		if len(blank) > 0 {
			parts = append(parts, "called without a name: "+listCalls(blank))
		}
		o.Reason = strings.Join(parts, "; ")
		o.citeCalls(other)
		o.citeCalls(blank)
		return o
	}
	o.Result = Pass
	o.Actual = fmt.Sprintf("none in %s", count(len(ev.Calls), "call"))
	o.Reason = fmt.Sprintf("%s, no other tool", count(len(ev.Calls), "call"))
	return o
}
