package predicate

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// The pattern engine of toolInputMatches and toolResultMatches (grading.md 1.4):
// a unit is one call or one result, and all patterns must match the same one.

const (
	// maxSubject bounds the text that patterns see, in UTF-16 units. A longer one
	// is unreadable, never cut.
	maxSubject = 100_000
	// maxProgram bounds one compiled pattern, in instructions. RE2 is linear in the
	// text, with the program's size as factor: .{1000} repeated within 512
	// characters would cost a minute a text. The bound is sixlink's own.
	maxProgram = 10_000
	// maxPath bounds path, in UTF-16 units.
	maxPath = 257
)

// patternFields are the fields that both kinds share, behind toolName.
var patternFields = []Field{
	{Name: "patterns", Type: Texts, Required: true, MinItems: 1, MaxItems: 8, MaxUnits: 512,
		Text: "RE2 expressions, unanchored. Each must match the same call or result."},
	{Name: "flags", Type: Word, Words: []string{"i", "m", "s", "im", "is", "ms", "ims"},
		Text: "i: any case; m: ^ and $ at line ends; s: . matches line ends."},
	{Name: "path", Type: Text, MaxUnits: maxPath,
		Text: "A JSON Pointer to one top-level key, such as /query. Only its value is searched: a string as it is, else its canonical JSON."},
	{Name: "min", Type: WholeNum, Min: 0, Text: "At least so many must match. Default 1; 0 needs a max."},
	{Name: "max", Type: WholeNum, Min: 0, Text: "At most so many may match. 0: none may. Default: any number."},
}

// patternNotes are the rules over several fields, for the reference page.
var patternNotes = []string{
	"All patterns must match the same unit; two units that match one each are no match.",
	"min: 0 needs a max, and max must not be below min (default 1).",
	"max: 0 says that none may match; it does not say that the tool is never called.",
	"A text of over 100,000 UTF-16 units is unreadable: it may match or not, and an outcome that hangs on it is an error.",
	"path has one token: / and a key in which ~1 stands for / and ~0 for ~. A key that is not there does not match.",
	"A pattern that compiles to over 10,000 instructions is refused.",
}

// patterns is a check's configuration, compiled.
type patterns struct {
	exprs   []*expr
	key     string // decoded path
	hasPath bool
	min     int64
	max     int64
	hasMax  bool
}

// patternFaults is the Faults of both kinds. It keeps what it compiled in c, so
// that a check compiles once, when its suite is loaded.
func patternFaults(c *Check) []Fault {
	p, faults := compilePatterns(c)
	if len(faults) == 0 {
		c.patterns = p
	}
	return faults
}

func compilePatterns(c *Check) (*patterns, []Fault) {
	p := &patterns{min: 1}
	var faults []Fault
	fault := func(field, format string, args ...any) {
		faults = append(faults, Fault{Field: field, Msg: fmt.Sprintf(format, args...)})
	}
	flags, _ := c.Text("flags")
	texts, ok := c.Texts("patterns")
	if !ok || len(texts) == 0 {
		fault("patterns", "expected %s", patternFields[0].Expected())
	}
	if flags != "" && !slices.Contains(patternFields[1].Words, flags) {
		fault("flags", "expected %s", patternFields[1].Expected())
		texts = nil
	}
	for i, text := range texts {
		re, err := compilePattern(text, flags)
		if err != nil {
			fault(fmt.Sprintf("patterns[%d]", i), "%v", err)
			continue
		}
		p.exprs = append(p.exprs, newExpr(re, re.String()))
	}
	if path, has := c.Text("path"); has {
		if p.key, p.hasPath = pathKey(path); !p.hasPath {
			fault("path", "expected a JSON Pointer to one top-level key, such as /query (2 to %d characters)", maxPath)
		}
	}
	if _, has := c.Field("min"); has {
		if p.min, ok = c.Int("min"); !ok || p.min < 0 {
			fault("min", "expected a whole number from 0")
			return p, faults
		}
	}
	if _, p.hasMax = c.Field("max"); p.hasMax {
		if p.max, ok = c.Int("max"); !ok || p.max < 0 {
			fault("max", "expected a whole number from 0")
			return p, faults
		}
	}
	switch {
	case p.min == 0 && !p.hasMax:
		fault("min", "0 needs a max: any number of matches would pass")
	case p.hasMax && p.max < p.min:
		fault("max", "%d is below min, which is %d", p.max, p.min)
		if _, has := c.Field("min"); !has {
			faults[len(faults)-1].Msg += " unless set; set min: 0 where none may match"
		}
	}
	return p, faults
}

// compilePattern compiles one pattern as RE2, or says why it cannot be used.
func compilePattern(text, flags string) (*regexp.Regexp, error) {
	prefixed := text
	if flags != "" {
		prefixed = "(?" + flags + ")" + text
	}
	tree, err := syntax.Parse(prefixed, syntax.Perl)
	if err != nil {
		return nil, patternError(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, patternError(err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("it compiles to %d instructions, more than %d: use fewer or smaller repetitions", len(prog.Inst), maxProgram)
	}
	return regexp.Compile(prefixed)
}

func patternError(err error) error {
	if e, ok := err.(*syntax.Error); ok {
		return fmt.Errorf("%s in %s (patterns are RE2: no look-around, no back-references)", e.Code, Quoted(e.Expr))
	}
	return err
}

// pathKey decodes a JSON Pointer of exactly one token: ^/(?:[^/~]|~[01])+$
func pathKey(path string) (string, bool) {
	n := value.UTF16Len(path)
	if n < 2 || n > maxPath || path[0] != '/' || strings.Contains(path[1:], "/") {
		return "", false
	}
	token := path[1:]
	for i := 0; i < len(token); i++ {
		if token[i] == '~' && (i+1 == len(token) || token[i+1] != '0' && token[i+1] != '1') {
			return "", false
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"), true
}

// subject is what patterns see of one unit.
type subject struct {
	text string
	// absent: the key of path is not there; such a unit does not match.
	absent bool
	// unreadable says why the text cannot be searched; empty when it can.
	unreadable string
}

// tooLong is why a subject over maxSubject is unreadable.
var tooLong = fmt.Sprintf("its text is over %d characters", maxSubject)

// shortEnough tells whether a text is within maxSubject UTF-16 units. A unit takes
// at most three bytes.
func shortEnough(s string) bool {
	return len(s) <= maxSubject || len(s) <= 3*maxSubject && value.UTF16Len(s) <= maxSubject
}

// wholeSubject is the canonical JSON of v.
func wholeSubject(v *value.Value) subject {
	text, err := value.Canonical(nil, v, value.Exact)
	switch {
	case err != nil:
		return subject{unreadable: err.Error()}
	case !shortEnough(string(text)):
		return subject{unreadable: tooLong}
	}
	return subject{text: string(text)}
}

// keySubject is the subject of the value at path: a string as it is, all else as
// canonical JSON. A lone surrogate is seen as U+FFFD, one character.
func keySubject(v *value.Value) subject {
	if v.Kind != value.String {
		return wholeSubject(v)
	}
	if !shortEnough(v.Str) {
		return subject{unreadable: tooLong}
	}
	return subject{text: value.ValidText(v.Str)}
}

// matching counts the units (calls, results) that match. A check keeps one while
// they go by.
type matching struct {
	*patterns
	n                    int
	hits, misses, hidden units
	why                  string // the first hidden unit's
}

// units are calls or results of which one thing is true.
type units struct {
	n     int
	first [maxListed]unitName
	cites
	refs []CallRef // all, while an outcome may blame them
}

type unitName struct {
	tool string
	call CallRef
}

func (x *units) add(u unitName, blamed bool) {
	if x.n < maxListed {
		x.first[x.n] = u
	}
	x.n++
	x.note(u.call.Seq)
	if blamed {
		x.refs = append(x.refs, u.call)
	}
}

func (x *units) list() string {
	text := ""
	for i, u := range x.first[:min(x.n, maxListed)] {
		if i > 0 {
			text += "; "
		}
		text += tool(u.tool) + " (record " + callID(u.call.Seq, u.call.Index) + ")"
	}
	if x.n > maxListed {
		text += "; and " + strconv.Itoa(x.n-maxListed) + " more"
	}
	return text
}

// newMatching begins; o is what a check is that cannot be used.
func newMatching(c *Check) (x *matching, o Outcome) {
	p := c.patterns
	if p == nil { // a check that no loader has seen
		var faults []Fault
		if p, faults = compilePatterns(c); len(faults) > 0 {
			return nil, errorOutcome("%s: %s", faults[0].Field, faults[0].Msg)
		}
	}
	return &matching{patterns: p}, o
}

// see takes the next unit.
func (x *matching) see(toolName string, call CallRef, s subject) {
	u := unitName{toolName, call}
	x.n++
	switch {
	case s.unreadable != "":
		if x.hidden.add(u, false); x.why == "" {
			x.why = s.unreadable
		}
	case !s.absent && x.match(s.text):
		if x.hits.add(u, x.hasMax); int64(x.hits.n) >= x.min {
			x.misses.refs = nil // too few is not the fault any more
		}
	default:
		x.misses.add(u, int64(x.hits.n) < x.min)
	}
}

// judge judges the units: m of them match and u are unreadable; unseen says
// that there may be any number more, which then counts as unreadable without
// bound. what is the word for a unit ("call", "result").
// Pass when m >= min and m+u <= max, fail when m+u < min or m > max, else error.
func (x *matching) judge(unseen bool, what string) Outcome {
	m, u := int64(x.hits.n), int64(x.hidden.n)
	all := count(x.n, what)
	o := Outcome{Expected: x.expected(what), Actual: strconv.FormatInt(m, 10) + " of " + all}
	if u > 0 {
		o.Actual += fmt.Sprintf(", %d unreadable", u)
	}
	switch {
	case x.n == 0:
		o.Reason = "there is no " + what + " to search"
	case m == 0:
		o.Reason = "none of " + all + " matches"
	default:
		o.Reason = strconv.FormatInt(m, 10) + " of " + all + " match: " + x.hits.list()
	}
	switch {
	case x.hasMax && m > x.max:
		o.Result = Fail
		o.blame(&x.hits)
	case m+u < x.min && !unseen:
		o.Result = Fail
		o.restsOnUnseen = true // the match may be in what was not captured
		o.blame(&x.misses)
	case m >= x.min && (!x.hasMax || m+u <= x.max && !unseen):
		o.Result = Pass
		o.restsOnUnseen = x.hasMax
		x.hits.cite(&o)
	default:
		o.Result = Error
		if u > 0 {
			o.Reason += fmt.Sprintf("; unreadable: %s: %s", x.hidden.list(), x.why)
		}
		if unseen {
			o.Reason += "; there may be others that were not captured"
		}
		x.hidden.cite(&o)
	}
	return o
}

func (o *Outcome) blame(x *units) {
	x.cite(o)
	o.Calls = append(o.Calls, x.refs...)
}

func (p *patterns) match(text string) bool {
	for _, re := range p.exprs {
		if !re.match(text) {
			return false
		}
	}
	return true
}

// expected says how many units must match.
func (p *patterns) expected(what string) string {
	where := ""
	if p.hasPath {
		where = " at " + Quoted(p.key)
	}
	switch {
	case p.hasMax && p.max == 0:
		return fmt.Sprintf("no %s that matches%s", what, where)
	case p.hasMax && p.min == p.max:
		return fmt.Sprintf("exactly %s that match%s", count(int(p.min), what), where)
	case p.hasMax && p.min == 0:
		return fmt.Sprintf("at most %s that match%s", count(int(p.max), what), where)
	case p.hasMax:
		return fmt.Sprintf("%d to %s that match%s", p.min, count(int(p.max), what), where)
	}
	return fmt.Sprintf("at least %s that match%s", count(int(p.min), what), where)
}
