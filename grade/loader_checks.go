package grade

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// toolCalledWith is the one kind that the matcher grades when it gates
// (grading.md 1.2, 2.4).
const toolCalledWith = "toolCalledWith"

// assertions reads the checks of a whole case, or of the defaults.
func (l *loader) assertions(v *value.Value, path string) []*predicate.Check {
	var out []*predicate.Check
	l.list(v, path, maxChecks, func(v *value.Value, path string) {
		if c := l.check(v, path); c != nil {
			out = append(out, c)
		}
	})
	return out
}

// turnAssertions reads a turn's checks: gating toolCalledWith checks are expected
// calls, the others stay checks (grading.md 2.4).
func (l *loader) turnAssertions(v *value.Value, path string, t *TurnSpec) {
	at := 0
	l.list(v, path, maxChecks, func(v *value.Value, path string) {
		if kind, ok := v.Get("type"); ok && caseOnly(kind.Str) {
			l.fail(kind.Pos, "%s.type: %s reads what belongs to a whole case: move it to the case's assertions", path, kind.Str)
		} else if c := l.check(v, path); c != nil {
			t.add(c, at)
		}
		at++
	})
}

// add takes a check of the turn that stands at a place among its asserts.
func (t *TurnSpec) add(c *predicate.Check, at int) {
	if e, ok := expectation(c, at); ok {
		t.Expected = append(t.Expected, e)
		return
	}
	t.Assertions = append(t.Assertions, c)
}

// caseOnly tells whether a kind is known and cannot be attached to a turn
// (grading.md 1.1).
func caseOnly(kind string) bool {
	info, _, known := predicate.Lookup(kind)
	return known && !info.Turn
}

// expectation is a gating toolCalledWith as an expected call (grading.md 2.4): an
// advisory one stays a row, since an expectation can fail the trial. It keeps its
// own argument mode and minCount (2.6).
func expectation(c *predicate.Check, at int) (match.Expectation, bool) {
	if c.Info.Name != toolCalledWith || c.Role != predicate.Gating {
		return match.Expectation{}, false
	}
	e := match.Expectation{Assert: at, MinCount: 1, Pos: c.Pos}
	e.Tool, _ = c.Text("toolName")
	if n, ok := c.Int("minCount"); ok {
		e.MinCount = n
	}
	if args, ok := c.Field("args"); ok {
		if v, ok := args.Get("args"); ok {
			e.Args = v
		}
		if v, ok := args.Get("argumentMatching"); ok {
			e.Mode = match.ArgumentMode(v.Str)
		}
	}
	return e, true
}

// expectations are the gating toolCalledWith checks of a list; Assert is the
// place in it.
func expectations(checks []*predicate.Check) []match.Expectation {
	var out []match.Expectation
	for i, c := range checks {
		if e, ok := expectation(c, i); ok {
			out = append(out, e)
		}
	}
	return out
}

// check reads one predicate. In sixlink files predicates are closed objects, in
// MCPJam files open ones (grading.md 0.2.12).
func (l *loader) check(v *value.Value, path string) *predicate.Check {
	if l.strayInherit(v, path) {
		return nil
	}
	if v.Kind != value.Object {
		l.want(v, path, "a check, an object with a type")
		return nil
	}
	kind, ok := v.Get("type")
	if other, both := v.Get("kind"); both {
		// Taken for a check it would nearly always pass (grading.md 10.57).
		what := ""
		if ok {
			what = ", and an object with both is neither"
		}
		l.fail(other.Pos, `%s.kind: a check has "type"; "kind" is that of live widget assertions, which no recording can decide%s`, path, what)
		return nil
	}
	if !ok {
		l.fail(v.Pos, "%s.type: missing: expected a check kind", path)
		return nil
	}
	if kind.Kind != value.String {
		l.want(kind, path+".type", "the name of a check kind")
		return nil
	}
	info, k, known := predicate.Lookup(kind.Str)
	if !known {
		l.fail(kind.Pos, "%s.type: unknown check kind %s%s", path, predicate.Quoted(kind.Str), didYouMean(kind.Str, predicate.Names()))
		return nil
	}
	return l.fields(&predicate.Check{Kind: k, Info: info, Role: predicate.Gating, Pos: v.Pos}, v, path)
}

// fields reads a check's members into c, and judges them together. It returns nil
// when something is wrong.
func (l *loader) fields(c *predicate.Check, v *value.Value, path string) *predicate.Check {
	k, info := c.Kind, c.Info
	kind, _ := v.Get("type")
	before := len(l.errs)
	members := []member{
		{"type", true, func(*value.Value, string) {}},
		{"role", false, func(v *value.Value, path string) {
			if l.oneOf(v, path, "required", "gating", "advisory") && v.Str == "advisory" {
				c.Role = predicate.Advisory
			}
		}},
		{"severity", false, func(v *value.Value, path string) { c.Warn = l.oneOf(v, path, "warn") }},
	}
	if k == nil {
		l.notBuilt(kind.Pos, path+".type: check kind "+kind.Str)
		// Its role can be judged all the same.
		for _, m := range members {
			if v, ok := v.Get(m.name); ok {
				m.read(v, join(path, m.name))
			}
		}
	} else {
		for i := range k.Fields {
			f := &k.Fields[i]
			members = append(members, member{f.Name, f.Required, func(v *value.Value, path string) {
				if got, ok := l.field(f, v, path); ok {
					c.Fields = append(c.Fields, value.M(f.Name, *got))
				}
			}})
		}
		l.members(v, path, l.open, members)
	}
	if sev, ok := v.Get("severity"); ok && c.Role != predicate.Advisory {
		l.fail(sev.Pos, "%s.severity: expected only with role: advisory", path)
	}
	if info.Observation && c.Role != predicate.Advisory {
		l.fail(kind.Pos, "%s: %s is an observation, which cannot gate: expected role: advisory", path, info.Name)
	}
	if len(l.errs) == before && k.Faults != nil {
		for _, f := range k.Faults(c) {
			at, where := find(v, path, f.Field)
			l.fail(at, "%s: %s", where, f.Msg)
		}
	}
	if len(l.errs) > before || len(l.errs) >= maxErrors {
		return nil
	}
	return c
}

// field reads one field of a check, and names the part of it that is wrong.
func (l *loader) field(f *predicate.Field, v *value.Value, path string) (*value.Value, bool) {
	before := len(l.errs)
	switch {
	case f.Type == predicate.Object && v.Kind == value.Object && f.Members != nil:
		known := *v
		known.Obj = nil
		for _, m := range v.Obj {
			if slices.Contains(f.Members, m.Key) {
				known.Obj = append(known.Obj, m)
				continue
			}
			note := l.fail
			if l.open {
				note = l.warn
			}
			note(m.Pos, "%s: unknown key: expected one of %s%s", join(path, m.Key), strings.Join(f.Members, ", "), didYouMean(m.Key, f.Members))
		}
		v = &known
	case f.Type == predicate.Texts && v.Kind == value.Array && len(v.Arr) >= f.MinItems && (f.MaxItems == 0 || len(v.Arr) <= f.MaxItems):
		item := predicate.Field{Type: predicate.Text, MaxUnits: f.MaxUnits}
		for i := range v.Arr {
			e, at := &v.Arr[i], fmt.Sprintf("%s[%d]", path, i)
			switch {
			case len(f.Words) > 0:
				l.oneOf(e, at, f.Words...)
			case !item.Accepts(e):
				l.want(e, at, item.Expected())
			}
			if f.Unique && slices.ContainsFunc(v.Arr[:i], func(o value.Value) bool { return o.Kind == value.String && e.Kind == value.String && o.Str == e.Str }) {
				l.fail(e.Pos, "%s: %s is in the list twice", at, show(e))
			}
		}
	case f.Type == predicate.Word:
		l.oneOf(v, path, f.Words...)
	}
	if len(l.errs) > before {
		return nil, false
	}
	if !f.Accepts(v) {
		l.want(v, path, f.Expected())
		return nil, false
	}
	return v, true
}

// find locates a field of a check that a kind names ("max", "args.args",
// "patterns[1]"): its place, as far as it is there, and its path.
func find(v *value.Value, path, field string) (value.Pos, string) {
	if field == "" {
		return v.Pos, path
	}
	at := v
	for _, part := range strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(field), ".") {
		next, ok := at.Get(part)
		if i, err := strconv.Atoi(part); !ok && err == nil && at.Kind == value.Array && i >= 0 && i < len(at.Arr) {
			next, ok = &at.Arr[i], true
		}
		if !ok {
			break
		}
		at = next
	}
	return at.Pos, path + "." + field
}
