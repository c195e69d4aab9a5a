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
	var blank, other calls
	for i := range ev.Calls {
		switch call := &ev.Calls[i]; {
		case value.Trim(call.Tool) == "":
			blank.add(call)
		case !slices.Contains(names, call.Tool):
			other.add(call)
		}
	}
	if bad := blank.n + other.n; bad > 0 {
		o.Result = Fail
		o.Actual = fmt.Sprintf("%d of %s", bad, count(len(ev.Calls), "call"))
		var parts []string
		if other.n > 0 {
			parts = append(parts, "called: "+other.list())
		}
		if blank.n > 0 {
			parts = append(parts, "called without a name: "+blank.list())
		}
		o.Reason = strings.Join(parts, "; ")
		other.cite(&o)
		blank.cite(&o)
		return o
	}
	o.Result = Pass
	o.Actual = "none in " + count(len(ev.Calls), "call")
	o.Reason = count(len(ev.Calls), "call") + ", no other tool"
	return o
}
