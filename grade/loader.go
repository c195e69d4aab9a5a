package grade

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/lazy"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// Counts and lengths in a suite (grading.md 6.1). Lengths are UTF-16 units (9.1).
const (
	maxChecks   = 50  // of one list
	maxCases    = 500 // of a suite
	maxTurns    = 200 // of a case; of steps too
	maxExpected = 200 // of a turn
	maxTitle    = 200
	maxPrompt   = 100_000
	maxErrors   = 100 // reported; a file with more is broken in one way
)

// loader reads a suite's value (grading.md 0.3). Every object is closed. What the
// shape has and this version cannot grade is refused with "not built yet", so
// that nothing is silently ignored.
type loader struct {
	openFile func(name string) ([]byte, error)
	files    []string // by the File of a position
	// part says that the suite is a parent, read by itself: it needs no identity.
	part bool
	// open says that predicates are open objects (MCPJam files, grading.md 0.2.12).
	open        bool
	errs, warns SuiteErrors
}

func (l *loader) fail(pos value.Pos, format string, args ...any) {
	l.errs = l.note(l.errs, pos, format, args...)
}

// warn notes what is allowed and of no use.
func (l *loader) warn(pos value.Pos, format string, args ...any) {
	l.warns = l.note(l.warns, pos, format, args...)
}

func (l *loader) note(list SuiteErrors, pos value.Pos, format string, args ...any) SuiteErrors {
	if len(list) >= maxErrors {
		return list
	}
	return append(list, &SuiteError{File: l.files[pos.File], Line: max(1, pos.Line), Col: max(1, pos.Col), Msg: fmt.Sprintf(format, args...), file: pos.File})
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
	l.members(v, path, false, members)
}

// members is object; of an open one, unknown keys are noted as warnings.
func (l *loader) members(v *value.Value, path string, open bool, members []member) {
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
		j := slices.Index(names, m.Key)
		if j >= 0 {
			members[j].read(&m.Value, join(path, m.Key))
			continue
		}
		note := l.fail
		if open {
			note = l.warn
		}
		note(m.Pos, "%s: unknown key: expected one of %s%s", join(path, m.Key), strings.Join(names, ", "), didYouMean(m.Key, names))
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
		if v.Kind != value.String || v.Str == "" || value.UTF16Len(v.Str) > limit {
			l.want(v, path, fmt.Sprintf("a string of 1 to %d characters", limit))
			return
		}
		if into != nil {
			*into = v.Str
		}
	}
}

func (l *loader) flag(into *bool) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		if v.Kind != value.Bool {
			l.want(v, path, "true or false")
		}
		*into = v.Bool
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
		var r *big.Rat
		if v.Kind == value.Number {
			r = exactShare(v.Str)
		}
		if r == nil {
			hint := ""
			if v.Kind == value.Number || v.Kind == value.String {
				hint = percentHint(v.Str)
			}
			l.fail(v.Pos, "%s: expected a fraction from 0 to 1, got %s%s", path, show(v), hint)
			return
		}
		*into = r
	}
}

// exactShare is the JSON number text as a fraction; nil when it is none from 0 to 1.
func exactShare(text string) *big.Rat {
	exp, digits := value.Exponent(text)
	if exp < -30 || exp > 30 || digits > 30 {
		return nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || r.Sign() < 0 || r.Cmp(big.NewRat(1, 1)) > 0 {
		return nil
	}
	return r
}

// percentHint names the fraction that somebody meant who wrote a percentage.
func percentHint(text string) string {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	if !coreFloat().MatchString(text) || exactShare(text+"e-2") == nil {
		return ""
	}
	return fmt.Sprintf("; %s percent is %s", text, value.ExactNumber(text+"e-2"))
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
	if v, ok := doc.Get("schemaVersion"); ok && (v.Kind != value.String || v.Str != SuiteSchema) {
		// The rest has another shape: one message, not fifty.
		version := v.Str // the text of a number too
		switch {
		case v.Kind == value.String && (version == "1" || version == "2"):
			return l.mcpjam(doc, version)
		case v.Kind == value.Number && (version == "1" || version == "2"):
			l.fail(v.Pos, "schemaVersion: expected a string: put %s in quotes", version)
		case v.Kind == value.String && (strings.HasPrefix(version, "sixlink/") || newerVersion().MatchString(version)):
			l.fail(v.Pos, "schemaVersion: %s is not known to this sixlink, which reads %s, and of MCPJam 1 and 2: upgrade it", predicate.Quoted(version), SuiteSchema)
		default:
			l.fail(v.Pos, "schemaVersion: expected %q, got %s", SuiteSchema, show(v))
		}
		return s
	}
	var cases *value.Value
	reserved := func(v *value.Value, path string) { l.notBuilt(v.Pos, path) }
	l.object(doc, "",
		member{"schemaVersion", true, func(v *value.Value, path string) { l.oneOf(v, path, SuiteSchema) }},
		// It was resolved, where it could be.
		member{"extends", false, func(*value.Value, string) {}},
		member{"suite", !l.part, func(v *value.Value, path string) {
			l.object(v, path,
				member{"id", true, l.id(&s.ID)},
				member{"name", false, l.text(&s.Name, maxTitle)},
				member{"description", false, l.text(nil, maxPrompt)},
			)
		}},
		member{"servers", false, l.servers(&s.Servers)},
		member{"evidence", false, func(v *value.Value, path string) {
			s.ModelEvidence = l.oneOf(v, path, "wire", "model") && v.Str == "model"
		}},
		member{"usage", false, func(v *value.Value, path string) { s.Usage = l.usage(v, path) }},
		member{"defaults", false, func(v *value.Value, path string) { l.defaults(v, path, s) }},
		member{"cases", false, func(v *value.Value, _ string) { cases = v }},
		member{"judge", false, reserved},
		member{"hosts", false, reserved},
		member{"models", false, reserved},
		member{"execution", false, reserved},
	)
	if cases != nil {
		l.cases(cases, "cases", s) // after the defaults, which they stand on
	}
	return s
}

var newerVersion = lazy.Regexp(`^[0-9]{1,4}$`)

func (l *loader) servers(into *[]string) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		if v.Kind == value.Array && len(v.Arr) == 0 {
			l.fail(v.Pos, "%s: expected at least one name; leave the key out to grade all servers", path)
		}
		l.list(v, path, 100, func(v *value.Value, path string) {
			if l.strayInherit(v, path) {
				return
			}
			var name string
			if l.text(&name, maxTitle)(v, path); name != "" {
				*into = append(*into, name)
			}
		})
	}
}

// strayInherit refuses an "inherit" that no parent's list took the place of.
func (l *loader) strayInherit(v *value.Value, path string) bool {
	if v.Kind != value.String || v.Str != inherit {
		return false
	}
	l.fail(v.Pos, "%s: %q stands for the list of the suite that this one extends, in servers, defaults.assertions and cases; a case adds to the defaults with {mode: extend, list}", path, inherit)
	return true
}

func (l *loader) usage(v *value.Value, path string) UsageRule {
	var u UsageRule
	l.object(v, path,
		member{"source", false, l.text(&u.Source, maxTitle)},
		member{"cache", false, func(v *value.Value, path string) {
			u.ExcludeCache = l.oneOf(v, path, "include", "exclude") && v.Str == "exclude"
		}},
		member{"subagents", false, func(v *value.Value, path string) {
			u.WithSubagents = l.oneOf(v, path, "include", "exclude") && v.Str == "include"
		}},
	)
	return u
}

func (l *loader) defaults(v *value.Value, path string, s *Suite) {
	l.object(v, path,
		member{"assertions", false, func(v *value.Value, path string) { s.Assertions = l.assertions(v, path) }},
		member{"matchOptions", false, l.matchOptions(&s.Match)},
		member{"passThreshold", false, l.fraction(&s.PassThreshold)},
		member{"validity", false, func(v *value.Value, path string) { l.validity(v, path, &s.Validity) }},
	)
}

func (l *loader) validity(v *value.Value, path string, into *Validity) {
	l.object(v, path,
		member{"minEligibleTrials", false, l.whole(&into.MinEligibleTrials, 1, 1e9)},
		member{"minCompletionRate", false, l.fraction(&into.MinCompletionRate)},
		member{"maxEvaluatorErrorRate", false, l.fraction(&into.MaxEvaluatorErrorRate)},
	)
}

// The words of matchOptions (grading.md 2.2).
var (
	argumentModes = []string{string(match.Partial), string(match.Exact), string(match.IgnoreArgs)}
	orders        = []string{string(match.AnyOrder), string(match.Strict), string(match.Superset)}
)

const maxExtraLimit = 1_000_000_000

func (l *loader) matchOptions(into *match.Options) func(v *value.Value, path string) {
	return func(v *value.Value, path string) {
		if m, ok := v.Get("allowExtraToolCalls"); ok {
			l.fail(m.Pos, "%s.allowExtraToolCalls: an older word: write maxExtraToolCalls: null for true, 0 for false", path)
			return
		}
		l.object(v, path,
			member{"argumentMatching", false, func(v *value.Value, path string) {
				if l.oneOf(v, path, argumentModes...) {
					into.Arguments = match.ArgumentMode(v.Str)
				}
			}},
			member{"toolCallOrder", false, func(v *value.Value, path string) {
				if l.oneOf(v, path, orders...) {
					into.Order = match.Order(v.Str)
				}
			}},
			member{"maxExtraToolCalls", false, func(v *value.Value, path string) {
				into.MaxExtraSet = true
				if v.Kind != value.Null {
					into.MaxExtra = new(int64)
					l.whole(into.MaxExtra, 0, maxExtraLimit)(v, path)
				}
			}},
		)
	}
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
