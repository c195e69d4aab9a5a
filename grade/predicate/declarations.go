package predicate

import (
	"fmt"

	"github.com/sixlink/sixlink/record/session"
)

// catalogNote is the note of the six discovery kinds.
const catalogNote = "Reads the tools as each server listed them, before any merging of names. The list must be whole: a partial one is an error, also where a violation is in sight. A whole list without a tool passes."

// NameServer gives all declarations of the evidence of one server the key by which
// suites know it: the recording's label server, else the server's own name
// (grading.md 0.1).
func (ev *Evidence) NameServer(key string) {
	for i := range ev.Declarations {
		ev.Declarations[i].ServerKey = key
	}
}

// offence is an entry of a catalog that breaks a rule.
type offence struct {
	*Declaration
	why string
}

// evalDeclarations judges every entry of the catalogs: why says what is wrong with
// one (empty: nothing); err that it cannot be judged. It is what the six discovery
// kinds share (grading.md 1.7).
func evalDeclarations(ev *Evidence, expected string, judge func(d *Declaration) (why string, err error)) Outcome {
	if s := ev.State(ToolDeclarations); s != session.Complete {
		o := errorOutcome("no whole list of tools to check: it is %s%s", s, because(ev))
		o.Expected = expected
		return o
	}
	if ev.Declarations == nil {
		return Outcome{Result: Error, Expected: expected, Reason: "no list of tools is there to check"}
	}
	o := Outcome{Expected: expected}
	servers := map[string]bool{}
	var bad []offence
	var broken *offence
	for i := range ev.Declarations {
		d := &ev.Declarations[i]
		servers[d.ServerKey] = true
		why, err := judge(d)
		switch {
		case err != nil && broken == nil:
			broken = &offence{d, err.Error()}
		case err == nil && why != "":
			bad = append(bad, offence{d, why})
		}
	}
	all := count(len(ev.Declarations), "tool")
	switch {
	case len(bad) > 0:
		o.Result = Fail
		o.Actual = fmt.Sprintf("%d of %s", len(bad), all)
		var texts []string
		for _, x := range bad[:min(len(bad), maxListed)] {
			texts = append(texts, x.String(len(servers) > 1))
		}
		o.Reason = list(texts, len(bad))
		for _, x := range bad {
			o.cite(x.Of.Handle(x.Tool.Seq))
		}
	case broken != nil:
		o.Result = Error
		o.Reason = broken.String(len(servers) > 1)
		o.cite(broken.Of.Handle(broken.Tool.Seq))
	default:
		o.Result = Pass
		o.Actual = all
		o.Reason = all + ", each as expected"
		if len(ev.Declarations) == 0 {
			o.Reason = "the list of tools is empty"
		}
	}
	return o
}

func (x offence) String(servers bool) string {
	name := "a tool without a name"
	if x.Tool.HasName {
		name = tool(x.Tool.Name)
	}
	if servers {
		name += " of " + Quoted(x.ServerKey)
	}
	return name + ": " + x.why
}
