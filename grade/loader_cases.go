package grade

import (
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// cases reads the cases; an empty list is a suite of defaults alone.
func (l *loader) cases(v *value.Value, path string, s *Suite) {
	s.Cases = nil
	l.list(v, path, maxCases, func(v *value.Value, path string) {
		if !l.strayInherit(v, path) {
			s.Cases = append(s.Cases, l.oneCase(v, path, s))
		}
	})
	l.sameIDs(v, path)
	l.sameMatches(s.Cases)
}

// sameIDs refuses a case's id that an earlier one has.
func (l *loader) sameIDs(cases *value.Value, path string) {
	seen := map[string]bool{}
	for i := range cases.Arr {
		id, ok := cases.Arr[i].Get("id")
		if !ok || id.Kind != value.String {
			continue
		}
		if seen[id.Str] {
			l.fail(id.Pos, "%s[%d].id: %s is the id of an earlier case", path, i, predicate.Quoted(id.Str))
		}
		seen[id.Str] = true
	}
}

// sameMatches says that two cases claim the same sessions: more than one
// candidate is ambiguous (grading.md 0.2.17).
func (l *loader) sameMatches(cases []*CaseSpec) {
	seen := map[string]*CaseSpec{}
	for _, c := range cases {
		if c.Disabled || c.MatchPrompt == "" && c.MatchLabels == nil {
			continue
		}
		claim := value.Obj(value.M("prompt", value.Text(strings.TrimSpace(c.MatchPrompt))))
		for k, v := range c.MatchLabels { // canonical text sorts them
			claim.Obj = append(claim.Obj, value.M("label "+k, value.Text(v)))
		}
		text, err := value.Canonical(nil, &claim, value.Exact)
		if err != nil {
			continue
		}
		if other := seen[string(text)]; other != nil {
			l.warn(c.Pos, "the case %s matches the same sessions as %s: they are ambiguous", predicate.Quoted(c.ID), predicate.Quoted(other.ID))
			continue
		}
		seen[string(text)] = c
	}
}

// layered are a case's own assertions and how they relate to the defaults'.
type layered struct {
	mode string // inherit, replace or extend
	list []*predicate.Check
}

func (l *loader) oneCase(v *value.Value, path string, s *Suite) *CaseSpec {
	c := &CaseSpec{PassThreshold: s.PassThreshold, File: l.files[v.Pos.File], Pos: v.Pos}
	own := layered{mode: "inherit"}
	var options match.Options
	l.object(v, path,
		member{"id", true, l.id(&c.ID)},
		member{"title", false, l.text(&c.Title, maxTitle)},
		member{"match", false, func(v *value.Value, path string) { l.match(v, path, c) }},
		member{"servers", false, l.servers(&c.Servers)},
		member{"turns", false, func(v *value.Value, path string) {
			l.list(v, path, maxTurns, func(v *value.Value, path string) { c.Turns = append(c.Turns, l.turn(v, path)) })
		}},
		member{"assertions", false, func(v *value.Value, path string) { own = l.caseAssertions(v, path) }},
		member{"matchOptions", false, l.matchOptions(&options)},
		member{"isNegativeTest", false, l.flag(&c.Negative)},
		member{"expectedOutput", false, l.text(&c.ExpectedOutput, maxPrompt)},
		member{"passThreshold", false, l.fraction(&c.PassThreshold)},
		member{"repetitions", false, l.whole(&c.Repetitions, 1, 100)},
		member{"disabled", false, l.flag(&c.Disabled)},
	)
	c.layer(s, own, options)
	return c
}

// layer puts a case's own checks and options over the suite's (grading.md 6.4).
func (c *CaseSpec) layer(s *Suite, own layered, options match.Options) {
	switch own.mode {
	case "replace":
		c.Assertions = own.list
	case "extend":
		c.Assertions, c.Inherited = slices.Concat(s.Assertions, own.list), len(s.Assertions)
	default:
		c.Assertions, c.Inherited = slices.Clone(s.Assertions), len(s.Assertions)
	}
	c.Expected = expectations(c.Assertions)
	c.Match = match.Defaults().Over(s.Match).Over(options)
}

func (l *loader) match(v *value.Value, path string, c *CaseSpec) {
	l.object(v, path,
		member{"prompt", false, func(v *value.Value, path string) {
			// It is compared trimmed, and every empty prompt would be the same one.
			if v.Kind == value.String && v.Str != "" && strings.TrimSpace(v.Str) == "" {
				l.fail(v.Pos, "%s: expected more than white space", path)
			}
			l.text(&c.MatchPrompt, maxPrompt)(v, path)
		}},
		member{"labels", false, func(v *value.Value, path string) {
			if v.Kind != value.Object || len(v.Obj) == 0 {
				l.want(v, path, "an object of label values, at least one")
				return
			}
			c.MatchLabels = map[string]string{}
			for i := range v.Obj {
				var text string
				l.text(&text, maxPrompt)(&v.Obj[i].Value, join(path, v.Obj[i].Key))
				c.MatchLabels[v.Obj[i].Key] = text
			}
		}},
	)
	if v.Kind == value.Object && len(v.Obj) == 0 {
		l.fail(v.Pos, "%s: expected prompt or labels", path)
	}
}

func (l *loader) turn(v *value.Value, path string) TurnSpec {
	var t TurnSpec
	var checks *value.Value
	l.object(v, path,
		member{"prompt", false, l.text(&t.Prompt, maxPrompt)},
		member{"expectedToolCalls", false, func(v *value.Value, path string) {
			l.list(v, path, maxExpected, func(v *value.Value, path string) {
				e := match.Expectation{Assert: -1, MinCount: 1, Pos: v.Pos}
				l.object(v, path,
					member{"toolName", true, l.text(&e.Tool, maxPrompt)},
					member{"arguments", false, func(v *value.Value, path string) {
						if v.Kind != value.Object {
							l.want(v, path, "an object")
						}
						e.Args = v
					}},
				)
				t.Expected = append(t.Expected, e)
			})
		}},
		member{"assertions", false, func(v *value.Value, _ string) { checks = v }},
	)
	if checks != nil { // after the expected calls, whatever the order of the keys
		l.turnAssertions(checks, path+".assertions", &t)
	}
	return t
}

// caseAssertions reads a list (replace) or {mode, list}. An empty list to replace
// by is an opt-out (grading.md 9.11); a missing one would look like it.
func (l *loader) caseAssertions(v *value.Value, path string) layered {
	if v.Kind == value.Array {
		return layered{"replace", l.assertions(v, path)}
	}
	if v.Kind != value.Object {
		l.want(v, path, "a list of checks, or {mode, list}")
		return layered{}
	}
	var own layered
	l.object(v, path,
		member{"mode", true, func(v *value.Value, path string) {
			if l.oneOf(v, path, "inherit", "replace", "extend") {
				own.mode = v.Str
			}
		}},
		member{"list", false, func(v *value.Value, path string) { own.list = l.assertions(v, path) }},
	)
	list, ok := v.Get("list")
	switch {
	case own.mode == "inherit" && ok && len(list.Arr) > 0:
		l.warn(list.Pos, "%s.list: ignored in mode inherit", path)
	case own.mode != "inherit" && own.mode != "" && !ok:
		l.fail(v.Pos, "%s.list: missing: mode %s needs it, be it empty", path, own.mode)
	}
	return own
}
