package predicate

import (
	"regexp"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/lazy"
	"github.com/sixlink/sixlink/grade/internal/value"
)

// deprecations are the four forms in which a description says that its own tool is
// deprecated (grading.md 1.3); a mention of something else that is deprecated has
// none of them. They are JavaScript's expressions: its white space is more than
// RE2's, and its flag i folds nothing above U+007F onto an ASCII letter, as RE2's
// does with U+017F.
var deprecations = []func() *regexp.Regexp{
	jsRegexp(`^\s*\[?\s*deprecated\b`),
	jsRegexp(`\bthis (?:tool|endpoint|method) is deprecated\b`),
	jsRegexp(`\bdeprecated[:.]`),
	jsRegexp(`\buse\s+\S+\s+instead\b`),
}

// jsRegexp makes a case-insensitive expression of JavaScript one of RE2. It knows
// what the four need: letters outside classes, \s, \S and \b.
func jsRegexp(expr string) func() *regexp.Regexp {
	var b strings.Builder
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		switch {
		case c == '\\':
			i++
			switch expr[i] {
			case 's':
				b.WriteString("[" + value.SpaceClass + "]")
			case 'S':
				b.WriteString("[^" + value.SpaceClass + "]")
			default:
				b.WriteString(expr[i-1 : i+1])
			}
		case 'a' <= c && c <= 'z':
			b.WriteString("[" + string(c) + string(c-'a'+'A') + "]")
		default:
			b.WriteByte(c)
		}
	}
	return lazy.Regexp(b.String())
}

// deprecated tells whether a description says that its own tool is deprecated.
func deprecated(description string) bool {
	if !holdsASCII(description, "deprecated", "instead") { // each of the four has one
		return false
	}
	for _, re := range deprecations {
		if re().MatchString(description) {
			return true
		}
	}
	return false
}

func (s *Schemas) isDeprecated(description string) bool {
	if s == nil {
		return deprecated(description)
	}
	if is, ok := s.deprecated[description]; ok {
		return is
	}
	return remember(s, func(s *Schemas) *map[string]bool { return &s.deprecated }, []byte(description), func() bool { return deprecated(description) })
}

// deprecationNote explains the test to authors.
const deprecationNote = `A description says so when it begins with "deprecated" (also "[deprecated"), or contains "this tool (endpoint, method) is deprecated", "deprecated:" or "deprecated.", or "use X instead"; in any case.`
