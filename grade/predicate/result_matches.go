package predicate

import (
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
)

var toolResultMatches = &Kind{
	Name:  "toolResultMatches",
	Title: "Results match the patterns",
	Text: `Counts the results in scope that every pattern matches, and passes when there are at least min and at
most max of them. Patterns see the text blocks, then the canonical JSON of structuredContent on a line of its
own; with path only the value of that top-level key of structuredContent. Results with isError: true count
too. Fails when too few or too many match, and, unless min is 0, when no call was answered though all was
captured. A result that was cut, is longer than 100,000 characters or cannot be read may match or not: where that
decides, and where results may be missing and could decide, the outcome is an error.`,
	Example:  `{type: toolResultMatches, toolName: find_order, patterns: ['"total":\d+'], min: 1}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolResults},
	Fields:   slices.Concat([]Field{toolNameField}, patternFields),
	Notes:    patternNotes,
	Faults:   patternFaults,
	Evaluate: reads(beginResultMatches),
	begin:    beginResultMatches,
}

func beginResultMatches(c *Check, ev *Evidence) *reading {
	name, named := c.Text("toolName")
	x, o := newMatching(c)
	if x == nil {
		x = &matching{} // what there is to search comes first
	}
	usable := o.Result == ""
	return &reading{result: func(_ int, g *received) {
		if r := g.r; !named || r.Tool == name {
			if !usable {
				x.n++
				return
			}
			x.see(r.Tool, CallRef{r.Seq, r.Index}, g.subject(x.key, x.hasPath))
		}
	}, end: func() Outcome {
		if x.n == 0 {
			if o, none := ev.unanswered(name, named); !none {
				return o
			}
		}
		if !usable {
			return o
		}
		return x.judge(ev.State(ToolResults) != session.Complete, "result")
	}}
}

// subject is what patterns see of a result (grading.md 1.5 "toolResultMatches").
func (g *received) subject(key string, hasKey bool) subject {
	if !hasKey && g.formed {
		return g.whole
	}
	s := g.search(key, hasKey)
	if !hasKey {
		g.whole, g.formed = s, true
	}
	return s
}

func (g *received) search(key string, hasKey bool) subject {
	c, err := g.Content()
	switch {
	case err != nil:
		return subject{unreadable: err.Error()}
	case c.Unread != nil:
		return subject{unreadable: c.Unread.Error()}
	}
	if hasKey {
		v := c.Structured
		if v == nil {
			v = c.JSON
		}
		if v == nil {
			return subject{absent: true}
		}
		at, ok := v.Get(key)
		if !ok {
			return subject{absent: true}
		}
		return keySubject(at)
	}
	if c.Truncated {
		return subject{unreadable: errCut.Error()}
	}
	var parts []string
	if c.HasText {
		if !shortEnough(c.Text) {
			return subject{unreadable: tooLong}
		}
		parts = append(parts, value.ValidText(c.Text))
	}
	for _, v := range []*value.Value{c.Structured, c.JSON} {
		if v == nil {
			continue
		}
		s := wholeSubject(v)
		if s.unreadable != "" {
			return s
		}
		parts = append(parts, s.text)
	}
	text := strings.Join(parts, "\n")
	if !shortEnough(text) {
		return subject{unreadable: tooLong}
	}
	return subject{text: text}
}
