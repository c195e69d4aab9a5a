package grade

import (
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/internal/lazy"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
)

// Counts in a suite (grading.md 6.1).
const (
	maxChecks = 50  // of one list
	maxCases  = 500 // of a suite
	maxTurns  = 200 // of a case
	maxTitle  = 200 // characters of a name or title
	maxPrompt = 100_000
	maxErrors = 100 // reported; a file with more is broken in one way
)

// loader checks a suite's value against the shape of grading.md 0.3. Every
// object is closed. What the shape has and this version cannot grade is refused
// with "not built yet", so that nothing is silently ignored.
type loader struct {
	file string
	errs SuiteErrors
}

func (l *loader) fail(pos value.Pos, format string, args ...any) {
	if len(l.errs) >= maxErrors {
		return
	}
	l.errs = append(l.errs, &SuiteError{File: l.file, Line: max(1, pos.Line), Col: max(1, pos.Col), Msg: fmt.Sprintf(format, args...)})
}

func (l *loader) notBuilt(pos value.Pos, what string) {
	l.fail(pos, "%s: not built yet", what)
}

// want reports a value of another kind than expected.
func (l *loader) want(v *value.Value, path, expected string) {
	l.fail(v.Pos, "%s: expected %s, got %s", path, expected, show(v))
}

func show(v *value.Value) string {
	switch v.Kind {
	case value.String:
		return predicate.Quoted(v.Str)
	case value.Number, value.Bool, value.Null:
		return predicate.Shown(v)
	}
	return v.Kind.String()
}

// member is one key that an object may have.
type member struct {
	name     string
	required bool
	read     func(v *value.Value, path string)
}

// object checks that v is an object with no key but those of members.
func (l *loader) object(v *value.Value, path string, members ...member) {
	if v.Kind != value.Object {
		if path == "" {
			path = "the suite"
		}
		l.want(v, path, "an object")
		return
	}
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].name
	}
	for i := range v.Obj {
		m := &v.Obj[i]
		known := false
		for j := range members {
			if members[j].name == m.Key {
				known = true
				members[j].read(&m.Value, join(path, m.Key))
			}
		}
		if !known {
			l.fail(m.Pos, "%s: unknown key: expected one of %s%s", join(path, m.Key), strings.Join(names, ", "), didYouMean(m.Key, names))
		}
	}
	for _, m := range members {
		if _, ok := v.Get(m.name); m.required && !ok {
			l.fail(v.Pos, "%s: missing", join(path, m.name))
		}
	}
}

func join(path, key string) string {
	if !plainKey().MatchString(key) {
		key = predicate.Quoted(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

var plainKey = lazy.Regexp(`^[A-Za-z0-9_$-]{1,64}$`)

// list checks that v is a list of at most limit elements.
func (l *loader) list(v *value.Value, path string, limit int, each func(v *value.Value, path string)) {
	if v.Kind != value.Array {
		l.want(v, path, "a list")
		return
	}
	if len(v.Arr) > limit {
		l.fail(v.Pos, "%s: %d elements, more than %d", path, len(v.Arr), limit)
		return
	}
	for i := range v.Arr {
		each(&v.Arr[i], fmt.Sprintf("%s[%d]", path, i))
	}
}

func (l *loader) text(into *string, limit int) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		if n := utf8.RuneCountInString(v.Str); v.Kind != value.String || n == 0 || n > limit {
			l.want(v, path, fmt.Sprintf("a string of 1 to %d characters", limit))
			return
		}
		if into != nil {
			*into = v.Str
		}
	}
}

func (l *loader) flag(v *value.Value, path string) {
	if v.Kind != value.Bool {
		l.want(v, path, "true or false")
	}
}

func (l *loader) oneOf(v *value.Value, path string, words ...string) bool {
	for _, w := range words {
		if v.Kind == value.String && v.Str == w {
			return true
		}
	}
	hint := ""
	if v.Kind == value.String {
		hint = didYouMean(v.Str, words)
	}
	l.fail(v.Pos, "%s: expected %s, got %s%s", path, strings.Join(words, " or "), show(v), hint)
	return false
}

func (l *loader) whole(into *int64, low, high int64) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		n, fits, whole := int64(0), false, false
		if v.Kind == value.Number {
			n, fits, whole = value.Integer(v.Str)
		}
		if !fits || !whole || n < low || n > high {
			l.want(v, path, fmt.Sprintf("a whole number from %d to %d", low, high))
			return
		}
		if into != nil {
			*into = n
		}
	}
}

// fraction reads an exact share: 0.8 is 8/10 and no double.
func (l *loader) fraction(into **big.Rat) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		ok := v.Kind == value.Number
		var r *big.Rat
		if ok {
			exp, digits := value.Exponent(v.Str)
			if ok = exp > -30 && exp < 30 && digits < 30; ok {
				r, ok = new(big.Rat).SetString(v.Str)
				ok = ok && r.Sign() >= 0 && r.Cmp(big.NewRat(1, 1)) <= 0
			}
		}
		if !ok {
			l.want(v, path, "a fraction from 0 to 1 (0.8 is 80 percent)")
			return
		}
		if into != nil {
			*into = r
		}
	}
}

var idPattern = lazy.Regexp(`^[A-Za-z0-9_-]{1,128}$`)

func (l *loader) id(into *string) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		if v.Kind != value.String || !idPattern().MatchString(v.Str) {
			l.want(v, path, "an id of 1 to 128 letters, digits, _ and -")
			return
		}
		if into != nil {
			*into = v.Str
		}
	}
}

func (l *loader) suite(doc *value.Value) *Suite {
	s := &Suite{PassThreshold: big.NewRat(1, 1), Validity: defaultValidity()}
	if doc.Kind == value.Object {
		if v, ok := doc.Get("schemaVersion"); ok && v.Kind == value.String && v.Str != SuiteSchema {
			// The rest has another shape: one message, not fifty.
			switch {
			case v.Str == "1" || v.Str == "2":
				l.notBuilt(v.Pos, "schemaVersion: MCPJam suite files (version "+v.Str+")")
			case strings.HasPrefix(v.Str, "sixlink/"):
				l.fail(v.Pos, "schemaVersion: %s is not known to this sixlink, which reads %s: upgrade it", predicate.Quoted(v.Str), SuiteSchema)
			default:
				l.fail(v.Pos, "schemaVersion: expected %q, got %s", SuiteSchema, show(v))
			}
			return s
		}
	}
	reserved := func(v *value.Value, path string) { l.notBuilt(v.Pos, path) }
	l.object(doc, "",
		member{"schemaVersion", true, func(v *value.Value, path string) { l.oneOf(v, path, SuiteSchema) }},
		member{"extends", false, func(v *value.Value, path string) {
			l.text(nil, 4096)(v, path)
			l.notBuilt(v.Pos, path)
		}},
		member{"suite", true, func(v *value.Value, path string) {
			l.object(v, path,
				member{"id", true, l.id(&s.ID)},
				member{"name", false, l.text(&s.Name, maxTitle)},
				member{"description", false, l.text(nil, maxPrompt)},
			)
		}},
		member{"servers", false, l.servers(&s.Servers)},
		member{"evidence", false, func(v *value.Value, path string) {
			if l.oneOf(v, path, "wire", "model") && v.Str == "model" {
				l.notBuilt(v.Pos, path+": model")
			}
		}},
		member{"usage", false, l.usage},
		member{"defaults", false, func(v *value.Value, path string) { l.defaults(v, path, s) }},
		member{"cases", false, l.cases},
		member{"judge", false, reserved},
		member{"hosts", false, reserved},
		member{"models", false, reserved},
		member{"execution", false, reserved},
	)
	return s
}

func (l *loader) servers(into *[]string) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		if v.Kind == value.Array && len(v.Arr) == 0 {
			l.fail(v.Pos, "%s: expected at least one name; leave the key out to grade all servers", path)
		}
		l.list(v, path, 100, func(v *value.Value, path string) {
			var name string
			l.text(&name, maxTitle)(v, path)
			if into != nil && name != "" {
				*into = append(*into, name)
			}
		})
	}
}

func (l *loader) usage(v *value.Value, path string) {
	l.object(v, path,
		member{"source", false, l.text(nil, maxTitle)},
		member{"cache", false, func(v *value.Value, path string) { l.oneOf(v, path, "include", "exclude") }},
		member{"subagents", false, func(v *value.Value, path string) { l.oneOf(v, path, "include", "exclude") }},
	)
	l.notBuilt(v.Pos, path)
}

func (l *loader) defaults(v *value.Value, path string, s *Suite) {
	l.object(v, path,
		member{"assertions", false, func(v *value.Value, path string) { s.Assertions = l.assertions(v, path) }},
		member{"matchOptions", false, l.matchOptions},
		member{"passThreshold", false, l.fraction(&s.PassThreshold)},
		member{"validity", false, func(v *value.Value, path string) {
			l.object(v, path,
				member{"minEligibleTrials", false, l.whole(&s.Validity.MinEligibleTrials, 1, 1e9)},
				member{"minCompletionRate", false, l.fraction(&s.Validity.MinCompletionRate)},
				member{"maxEvaluatorErrorRate", false, l.fraction(&s.Validity.MaxEvaluatorErrorRate)},
			)
		}},
	)
}

func (l *loader) matchOptions(v *value.Value, path string) {
	l.object(v, path,
		member{"argumentMatching", false, func(v *value.Value, path string) { l.oneOf(v, path, "partial", "exact", "ignore") }},
		member{"toolCallOrder", false, func(v *value.Value, path string) { l.oneOf(v, path, "ignore", "strict", "superset") }},
		member{"maxExtraToolCalls", false, func(v *value.Value, path string) {
			if v.Kind != value.Null {
				l.whole(nil, 0, 1e9)(v, path)
			}
		}},
	)
	l.notBuilt(v.Pos, path)
}

// assertions reads a list of checks.
func (l *loader) assertions(v *value.Value, path string) []*predicate.Check {
	var out []*predicate.Check
	l.list(v, path, maxChecks, func(v *value.Value, path string) {
		if v.Kind == value.String && v.Str == "inherit" {
			l.notBuilt(v.Pos, path+`: "inherit" (extends)`)
			return
		}
		if c := l.check(v, path); c != nil {
			out = append(out, c)
		}
	})
	return out
}

// check reads one predicate. In sixlink files predicates are closed objects
// (grading.md 0.2.12).
func (l *loader) check(v *value.Value, path string) *predicate.Check {
	if v.Kind != value.Object {
		l.want(v, path, "a check, an object with a type")
		return nil
	}
	kind, ok := v.Get("type")
	if !ok {
		hint := ""
		if _, ok := v.Get("kind"); ok {
			hint = ` (a check has "type"; "kind" is that of live widget assertions, which no recording can decide)`
		}
		l.fail(v.Pos, "%s.type: missing: expected a check kind%s", path, hint)
		return nil
	}
	if kind.Kind != value.String {
		l.want(kind, path+".type", "the name of a check kind")
		return nil
	}
	info, k, known := predicate.Lookup(kind.Str)
	switch {
	case !known:
		l.fail(kind.Pos, "%s.type: unknown check kind %s%s", path, predicate.Quoted(kind.Str), didYouMean(kind.Str, predicate.Names()))
		return nil
	case k == nil:
		l.notBuilt(kind.Pos, path+".type: check kind "+kind.Str)
		return nil
	}
	c := &predicate.Check{Kind: k, Info: info, Role: predicate.Gating}
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
	for i := range k.Fields {
		f := &k.Fields[i]
		members = append(members, member{f.Name, f.Required, func(v *value.Value, path string) {
			if !f.Accepts(v) {
				l.want(v, path, f.Expected())
				return
			}
			c.Fields = append(c.Fields, value.M(f.Name, *v))
		}})
	}
	l.object(v, path, members...)
	if sev, ok := v.Get("severity"); ok && c.Role != predicate.Advisory {
		l.fail(sev.Pos, "%s.severity: expected only with role: advisory", path)
	}
	if info.Observation && c.Role != predicate.Advisory {
		l.fail(kind.Pos, "%s: %s is an observation: expected role: advisory", path, info.Name)
	}
	if len(l.errs) == before && k.Faults != nil {
		for _, f := range k.Faults(c) {
			l.fail(v.Pos, "%s.%s: %s", path, f.Field, f.Msg)
		}
	}
	if len(l.errs) > before {
		return nil
	}
	return c
}

// cases reads the cases' shape. Grading them is another version's work.
func (l *loader) cases(v *value.Value, path string) {
	l.notBuilt(v.Pos, path)
	if v.Kind == value.Array && len(v.Arr) == 0 {
		l.fail(v.Pos, "%s: expected 1 to %d cases; leave the key out to grade sessions against the defaults", path, maxCases)
	}
	ids := map[string]bool{}
	l.list(v, path, maxCases, func(v *value.Value, path string) {
		var id string
		l.object(v, path,
			member{"id", true, l.id(&id)},
			member{"title", false, l.text(nil, maxTitle)},
			member{"match", false, l.match},
			member{"servers", false, l.servers(nil)},
			member{"turns", false, func(v *value.Value, path string) { l.list(v, path, maxTurns, l.turn) }},
			member{"assertions", false, l.caseAssertions},
			member{"matchOptions", false, l.matchOptions},
			member{"isNegativeTest", false, l.flag},
			member{"expectedOutput", false, l.text(nil, maxPrompt)},
			member{"passThreshold", false, l.fraction(nil)},
			member{"repetitions", false, l.whole(nil, 1, 100)},
			member{"disabled", false, l.flag},
		)
		if id != "" && ids[id] {
			l.fail(v.Pos, "%s.id: %q is the id of an earlier case", path, id)
		}
		ids[id] = true
	})
}

func (l *loader) match(v *value.Value, path string) {
	l.object(v, path,
		member{"prompt", false, l.text(nil, maxPrompt)},
		member{"labels", false, func(v *value.Value, path string) {
			if v.Kind != value.Object {
				l.want(v, path, "an object of label values")
				return
			}
			for i := range v.Obj {
				l.text(nil, maxPrompt)(&v.Obj[i].Value, join(path, v.Obj[i].Key))
			}
		}},
	)
	if v.Kind == value.Object && len(v.Obj) == 0 {
		l.fail(v.Pos, "%s: expected prompt or labels", path)
	}
}

func (l *loader) turn(v *value.Value, path string) {
	l.object(v, path,
		member{"prompt", false, l.text(nil, maxPrompt)},
		member{"expectedToolCalls", false, func(v *value.Value, path string) {
			l.list(v, path, maxTurns, func(v *value.Value, path string) {
				l.object(v, path,
					member{"toolName", true, l.text(nil, maxPrompt)},
					member{"arguments", false, func(v *value.Value, path string) {
						if v.Kind != value.Object {
							l.want(v, path, "an object")
						}
					}},
				)
			})
		}},
		member{"assertions", false, func(v *value.Value, path string) { l.assertions(v, path) }},
	)
}

// caseAssertions reads a list (replace) or {mode, list}.
func (l *loader) caseAssertions(v *value.Value, path string) {
	if v.Kind == value.Array {
		l.assertions(v, path)
		return
	}
	if v.Kind != value.Object {
		l.want(v, path, "a list of checks, or {mode, list}")
		return
	}
	l.object(v, path,
		member{"mode", true, func(v *value.Value, path string) { l.oneOf(v, path, "inherit", "replace", "extend") }},
		member{"list", false, func(v *value.Value, path string) { l.assertions(v, path) }},
	)
}

// didYouMean names the nearest known word, when one is near.
func didYouMean(got string, known []string) string {
	best, at := "", 0
	for _, k := range known {
		d := distance(strings.ToLower(got), strings.ToLower(k))
		if best == "" || d < at {
			best, at = k, d
		}
	}
	if best == "" || at > max(2, len(best)/3) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of edits between two words.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
		}
		prev = cur
	}
	return prev[len(b)]
}
