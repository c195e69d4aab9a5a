package predicate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/internal/lazy"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/visible"
)

// The cuts of reason texts, in characters and items (grading.md 1.1 "Reason text").
const (
	maxShown  = 200 // of a value or an error message
	maxListed = 3   // items of a list in a sentence
	maxReason = 600 // of a whole reason
	maxArray  = 20  // items of an array inside a shown value
	maxNested = 6   // depth of a shown value
)

// cut shortens s to n characters and says how many went.
func cut(s string, n int) string { return cutOff(s, n, 0) }

// cutOff is cut for a text of which more characters went before.
func cutOff(s string, n, more int) string {
	if more == 0 && (len(s) <= n || utf8.RuneCountInString(s) <= n) {
		return s
	}
	at := 0
	for i := 0; i < n && at < len(s); i++ {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return fmt.Sprintf("%s… (%d more characters)", s[:at], utf8.RuneCountInString(s[at:])+more)
}

// Sentence makes a reason safe and short: one line, what is hidden made visible,
// at most 600 characters.
func Sentence(s string) string { return cut(visible.String(s), maxReason) }

// Quoted shows a text from the recording: secrets scrubbed, cut, in quotes.
func Quoted(s string) string { return `"` + shown(s) + `"` }

// Shown shows a value from the recording: values under keys that look secret
// replaced, deep and long parts cut.
func Shown(v *value.Value) string {
	r := redacted(v, 0)
	text, err := value.Canonical(nil, &r, value.Exact)
	if err != nil {
		return "(not shown)"
	}
	return shown(string(text))
}

// maxScrubbed is how much of a text is searched for secrets, in bytes: far more than
// is shown of it. A text of 100 MB would take minutes.
const maxScrubbed = 4 << 10

// shown is the beginning of a text, secrets scrubbed.
func shown(s string) string {
	if len(s) <= maxScrubbed {
		return cut(visible.String(Scrub(s)), maxShown)
	}
	// A key's beginning at the end would be too short to be known as one.
	at := maxScrubbed
	for at > maxScrubbed-32 && (s[at] >= utf8.RuneSelf || isWord(s[at-1])) {
		at--
	}
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return cutOff(visible.String(Scrub(s[:at])), maxShown, utf8.RuneCountInString(s[at:]))
}

func isWord(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

const replaced = "[redacted]"

func redacted(v *value.Value, depth int) value.Value {
	if depth > maxNested && (v.Kind == value.Array || v.Kind == value.Object) {
		return value.Text("… (deeper)")
	}
	out := *v
	switch v.Kind {
	case value.Array:
		out.Arr = nil
		for i := range v.Arr {
			if i == maxArray {
				out.Arr = append(out.Arr, value.Text(fmt.Sprintf("… (%d more items)", len(v.Arr)-maxArray)))
				break
			}
			out.Arr = append(out.Arr, redacted(&v.Arr[i], depth+1))
		}
	case value.Object:
		out.Obj = nil
		for i := range v.Obj {
			m := v.Obj[i]
			if secretKey().MatchString(m.Key) {
				m.Value = value.Text(replaced)
			} else {
				m.Value = redacted(&m.Value, depth+1)
			}
			out.Obj = append(out.Obj, m)
		}
	}
	return out
}

// secretWords are the parts of a key that make its value a secret.
const secretWords = `authorization|bearer|password|passwd|secret|token|api_key|api-key|apikey|access_key|client_secret|cookie|credential|private_key`

var (
	secretKey  = lazy.Regexp(`(?i)` + secretWords)
	secretPair = lazy.Regexp(`(?i)((?:[\w-]*(?:` + secretWords + `)[\w-]*)["']?\s*[:=]\s*["']?)([^\s"',;}]+)`)
	bearer     = lazy.Regexp(`(?i)\bbearer\s+[A-Za-z0-9._~+/=-]+`)
	vendor     = lazy.Regexp(`\b(?:sk|pk|rk|gh[pousr]|xox[abprs])[-_][A-Za-z0-9_-]{8,}`)
)

// Scrub replaces what looks like a secret in free text. Most texts hold none of
// the words without which an expression cannot match, and are not searched by it.
func Scrub(s string) string {
	if holdsFold(s, "bearer") {
		s = bearer().ReplaceAllString(s, "Bearer "+replaced)
	}
	if holdsVendor(s) {
		s = vendor().ReplaceAllString(s, replaced)
	}
	if !holdsPair(s) {
		return s
	}
	return secretPair().ReplaceAllStringFunc(s, func(m string) string {
		parts := secretPair().FindStringSubmatch(m)
		if parts[2] == replaced || strings.EqualFold(parts[2], "bearer") {
			return m
		}
		return parts[1] + replaced
	})
}

// secretParts are secretWords one by one, and secretRoots such that each of them
// holds one, which are fewer.
var (
	secretParts = strings.Split(secretWords, "|")
	secretRoots = []string{"authorization", "bearer", "passw", "secret", "token", "api", "access_key", "cookie", "credential", "private_key"}
)

// holdsPair tells whether s may have a match of secretPair: one of the words, what may
// stand behind it in a name, and what stands between name and value.
func holdsPair(s string) bool {
	if !strings.ContainsAny(s, ":=") || !holdsFold(s, secretRoots...) {
		return false
	}
	if !isASCII(s) {
		return true // it may be spelt with letters that fold to ASCII
	}
	for _, w := range secretParts {
		for from := 0; ; {
			at := indexASCII(s[from:], w)
			if at < 0 {
				break
			}
			from += at + len(w)
			i := from
			for i < len(s) && isWord(s[i]) {
				i++
			}
			// The name may end anywhere among these, but only white space and a
			// quote can stand before the sign.
			if i < len(s) && (s[i] == '"' || s[i] == '\'') {
				i++
			}
			for i < len(s) && (s[i] == ' ' || '\t' <= s[i] && s[i] <= '\r') {
				i++
			}
			if i < len(s) && (s[i] == ':' || s[i] == '=') {
				return true
			}
		}
	}
	return false
}

// holdsVendor tells whether s has the beginning of a match of vendor.
func holdsVendor(s string) bool {
	for i := 2; i < len(s); i++ {
		if s[i] != '-' && s[i] != '_' {
			continue
		}
		switch c := s[i-1]; {
		case c == 'k' && (s[i-2] == 's' || s[i-2] == 'p' || s[i-2] == 'r'):
			return true
		case i >= 3 && s[i-3:i-1] == "gh" && strings.IndexByte("pousr", c) >= 0:
			return true
		case i >= 4 && s[i-4:i-1] == "xox" && strings.IndexByte("abprs", c) >= 0:
			return true
		}
	}
	return false
}

// holdsFold tells whether s may hold one of the words (lower-case ASCII) in any
// case, as RE2 folds it: there K has the Kelvin sign and S the long s beside it.
func holdsFold(s string, words ...string) bool {
	if !isASCII(s) && (strings.Contains(s, "\u212a") || strings.Contains(s, "\u017f")) {
		return true
	}
	return holdsASCII(s, words...)
}

// holdsASCII tells whether s holds one of the words (lower-case ASCII), where A to Z
// are a to z.
func holdsASCII(s string, words ...string) bool {
	for _, w := range words {
		if indexASCII(s, w) >= 0 {
			return true
		}
	}
	return false
}

// indexASCII is where w (lower-case ASCII, not empty) is in s, where A to Z are a to
// z; -1: nowhere. It looks for the byte of w that texts have least.
func indexASCII(s, w string) int {
	rare := 0
	for i := 1; i < len(w); i++ {
		if rarity(w[i]) > rarity(w[rare]) {
			rare = i
		}
	}
	last := len(s) - len(w) + rare // where it can be at most
	if last < rare {
		return -1
	}
	c := w[rare]
	other := c
	if 'a' <= c && c <= 'z' {
		other -= 'a' - 'A'
	}
	next := func(c byte, from int) int {
		if from <= last {
			if i := strings.IndexByte(s[from:last+1], c); i >= 0 {
				return from + i
			}
		}
		return last + 1
	}
	at, at2 := next(c, rare), last+1
	if other != c {
		at2 = next(other, rare)
	}
	for at <= last || at2 <= last {
		i := min(at, at2)
		start := i - rare
		k := 0
		for k < len(w) && lowerASCII(s[start+k]) == w[k] {
			k++
		}
		if k == len(w) {
			return start
		}
		if i == at {
			at = next(c, i+1)
		} else {
			at2 = next(other, i+1)
		}
	}
	return -1
}

// rarity is higher for bytes that are rarer in texts.
func rarity(c byte) int {
	const often = " etaoinshrdlcumwfgypbvkjxqz"
	if i := strings.IndexByte(often, c); i >= 0 {
		return i
	}
	return len(often)
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// list joins at most three items and says how many there are in all.
func list(items []string, total int) string {
	shown := items[:min(len(items), maxListed)]
	s := strings.Join(shown, "; ")
	if total > len(shown) {
		s += fmt.Sprintf("; and %d more", total-len(shown))
	}
	return s
}

// count writes "1 call" and "2 calls".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// tool shows a tool's name.
func tool(name string) string { return Quoted(name) }
