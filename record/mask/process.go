package mask

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// collector gathers the values to look for: the first MaxValues that are
// special enough.
type collector struct {
	values  []string
	dropped int
}

// add takes a value as it was given: with space around it, in quotes, behind the
// name of an authorization scheme.
func (c *collector) add(v string) {
	v = strings.TrimSpace(v)
	if n := len(v); n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
		v = v[1 : n-1]
	}
	scheme := schemeLen(v)
	basic := scheme > 0 && strings.EqualFold(v[:5], "basic")
	v = v[scheme:]
	c.take(v)
	if basic {
		if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "=")); err == nil {
			if _, password, ok := strings.Cut(string(b), ":"); ok {
				c.take(password)
			}
		}
	}
	if u := unescape(v); u != v {
		c.add(u)
	}
	for _, s := range documentStrings(v) {
		c.take(s.value)
	}
}

func (c *collector) take(v string) {
	if !maskable(v) || slices.Contains(c.values, v) {
		return
	}
	if len(c.values) == MaxValues {
		c.dropped++
		return
	}
	c.values = append(c.values, v)
}

// addEnv takes the values of variables with strong names, then of those with
// weak ones, then the credentials inside of all others: where there are too
// many, the surest are looked for.
func (c *collector) addEnv(env []string) {
	for _, want := range []Strength{Strong, Weak, None} {
		for _, kv := range env {
			name, value, ok := strings.Cut(kv, "=")
			if !ok || name == "PWD" || name == "OLDPWD" || NameStrength(name) != want {
				continue
			}
			if accept(want, strings.TrimSpace(value)) {
				c.add(value)
			}
			inText(value, func(_, _ int, v string) { c.add(v) })
		}
	}
}

func (c *collector) masker(key Key) *Masker {
	m := &Masker{key: key, values: len(c.values), dropped: c.dropped}
	m.needles = spell(key, c.values)
	if len(m.needles) == 0 {
		return m
	}
	m.index = newIndex(m.needles)
	m.firsts = new([1 << 16 / 64]uint64)
	for _, n := range m.needles {
		m.max = max(m.max, len(n.text))
		pair := uint(n.text[0]) | uint(n.text[1])<<8
		m.firsts[pair/64] |= 1 << (pair % 64)
	}
	return m
}

// found is a credential in an argv. start == end: it is inside of an encoding,
// and found by its spelling.
type found struct {
	arg, start, end int
	value           string
}

// emitFunc takes a credential: where its spelling is in the text, and its value.
type emitFunc func(start, end int, value string)

// inArgv finds the credentials of an argv: values of options (--api-key X,
// --api-key=X), of headers (-H "X-Api-Key: X"), of assignments (TOKEN=X), after
// Bearer and Basic, and in URLs. Arguments that are a shell's command, or a JSON
// document, are searched inside.
func inArgv(argv []string) []found {
	var out []found
	want, header := None, false
	for i, a := range argv {
		emit := func(start, end int, v string) { out = append(out, found{i, start, end, v}) }
		wanted, headed := want, header
		want, header = None, false
		switch {
		case wanted != None && !isOption(a) && accept(wanted, a[schemeLen(a):]):
			emit(schemeLen(a), len(a), a[schemeLen(a):])
		case inHeader(a, headerStart(a, headed), emit):
		case i > 0 && isOption(a) && !strings.Contains(a, "="):
			name := strings.TrimLeft(a, "-")
			want = NameStrength(name)
			header = name == "H" || strings.EqualFold(name, "header") || strings.EqualFold(name, "headers")
		case strings.EqualFold(a, "bearer") && i+1 < len(argv) && !isWord(argv[i+1]):
			want = Strong
		default:
			inText(a, emit)
		}
	}
	return out
}

// isOption tells a word that is the name of an option from a value that begins
// with a hyphen by chance, as base64url does.
func isOption(s string) bool {
	if strings.HasPrefix(s, "--") && len(s) > 2 {
		name, _, _ := strings.Cut(s, "=")
		return isName(name)
	}
	if len(s) < 2 || s[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(s[1:], "=")
	return isName(name) && (len(name) == 1 || !isOpaque(name))
}

// accept tells whether v is a credential behind a name of strength s.
func accept(s Strength, v string) bool {
	if v == "" || v == "-" || v == "true" || v == "false" || isReference(v) {
		return false
	}
	return s == Strong || s == Weak && maskable(v) && !strings.Contains(v, " ")
}

// headerStart is where the header begins in an argument that must be one: all of
// it after -H, and behind --header= and -H. It is len(a) in other arguments.
func headerStart(a string, headed bool) int {
	if headed {
		return 0
	}
	for _, p := range []string{"--header=", "--headers=", "-H"} {
		if strings.HasPrefix(a, p) {
			return len(p)
		}
	}
	return len(a)
}

// schemeLen is the length of "Bearer " or the like at the beginning of v.
func schemeLen(v string) int {
	for _, s := range []string{"bearer ", "basic ", "token ", "apikey "} {
		if len(v) > len(s) && strings.EqualFold(v[:len(s)], s) {
			return len(s) + len(v[len(s):]) - len(strings.TrimLeft(v[len(s):], " "))
		}
	}
	return 0
}

// inHeader takes "Name: value" or "Name:value" at a[from:] when the name says
// credential.
func inHeader(a string, from int, emit emitFunc) bool {
	colon := from + strings.IndexByte(a[from:], ':')
	if colon <= from || !isName(a[from:colon]) {
		return false
	}
	s := NameStrength(a[from:colon])
	if s == None {
		return false
	}
	at := colon + 1 + len(a[colon+1:]) - len(strings.TrimLeft(a[colon+1:], " "))
	if words := nameWords(a[from:colon]); words[len(words)-1] == "cookie" {
		return inCookie(a, at, emit)
	}
	at += schemeLen(a[at:])
	if !accept(s, a[at:]) {
		return false
	}
	emit(at, len(a), a[at:])
	return true
}

// inCookie takes the values of a Cookie header that are no plain words: "sid"
// says nothing, but theme=dark is no credential.
func inCookie(a string, at int, emit emitFunc) bool {
	any := false
	for at < len(a) {
		end := at + len(a[at:])
		if i := strings.IndexByte(a[at:], ';'); i >= 0 {
			end = at + i
		}
		if eq := strings.IndexByte(a[at:end], '='); eq >= 0 {
			if v := a[at+eq+1 : end]; v != "" && !isWord(v) && !isNumber(v) {
				emit(at+eq+1, end, v)
				any = true
			}
		}
		at = end + 1
	}
	return any
}

// inText finds credentials in a text of any kind.
func inText(s string, emit emitFunc) {
	if strs := documentStrings(s); strs != nil {
		for _, js := range strs {
			if at := schemeLen(js.value); accept(NameStrength(js.name), js.value[at:]) {
				emit(js.start, js.end, js.value[at:])
				continue
			}
			// A document inside of a string, a URL: found by their spellings.
			inText(js.value, func(_, _ int, v string) { emit(0, 0, v) })
		}
		return
	}
	if strings.Contains(s, ": ") && inHeader(s, 0, emit) {
		return
	}
	want := None
	for start, end := range words(s) {
		w := s[start:end]
		wanted := want
		want = None
		switch lower := strings.ToLower(w); {
		case lower == "bearer" || lower == "basic":
			want = Strong
		case wanted != None && !isOption(w) && accept(wanted, w) && !(wanted == Strong && isProse(s, start, w)):
			emit(start, end, w)
		case isOption(w) && !strings.Contains(w, "="):
			want = NameStrength(strings.TrimLeft(w, "-"))
		case strings.HasSuffix(w, ":"):
			want = NameStrength(w[strings.LastIndexByte(w, '=')+1 : len(w)-1])
		default:
			inWord(w, func(a, b int, v string) {
				if a == b {
					emit(0, 0, v)
				} else {
					emit(start+a, start+b, v)
				}
			})
		}
	}
}

// isProse: a plain word after "Bearer", or "token:", in a sentence.
func isProse(s string, start int, w string) bool {
	before := strings.TrimRight(s[:start], " \"'")
	return isWord(w) && (strings.HasSuffix(before, ":") || hasSuffixFold(before, "bearer") || hasSuffixFold(before, "basic"))
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

// words yields the words of s without the quotes around them.
func words(s string) func(func(int, int) bool) {
	const space, quotes = " \t\r\n", "\"'`"
	return func(yield func(int, int) bool) {
		for at := 0; at < len(s); {
			if strings.IndexByte(space, s[at]) >= 0 {
				at++
				continue
			}
			end := at
			for end < len(s) && strings.IndexByte(space, s[end]) < 0 {
				end++
			}
			a, b := at, end
			for a < b && strings.IndexByte(quotes, s[a]) >= 0 {
				a++
			}
			for b > a && strings.IndexByte(quotes, s[b-1]) >= 0 {
				b--
			}
			if a < b && !yield(a, b) {
				return
			}
			at = end
		}
	}
}

// inWord finds credentials in one word: an assignment, a list of them, a URL.
func inWord(w string, emit emitFunc) {
	if at := strings.Index(w, "://"); at >= 0 && isName(w[max(0, strings.LastIndexAny(w[:at], "=\"',;(")+1):at]) {
		inURL(w, at+3, emit)
		return
	}
	inPairs(w, 0, false, emit)
}

// inURL finds the password of a URL, a machine-made user name where there is no
// password, and credentials among its parameters. at is after "://".
func inURL(w string, at int, emit emitFunc) {
	// --url=https://…, URL=https://…: a name before it may be strong itself.
	if eq := strings.IndexByte(w[:at], '='); eq >= 0 && accept(NameStrength(strings.TrimLeft(w[:eq], "-")), w[eq+1:]) {
		emit(eq+1, len(w), w[eq+1:])
		return
	}
	end := len(w)
	if i := strings.IndexAny(w[at:], "/?#"); i >= 0 {
		end = at + i
	}
	if i := strings.LastIndexByte(w[at:end], '@'); i >= 0 {
		info, from := w[at:at+i], at
		colon := strings.IndexByte(info, ':')
		if colon >= 0 {
			from, info = at+colon+1, info[colon+1:]
		}
		if info != "" && (colon >= 0 || isOpaque(info) && maskable(info)) && !isReference(info) {
			emit(from, at+i, unescape(info))
		}
	}
	if i := strings.IndexAny(w[end:], "?#"); i >= 0 {
		inPairs(w, end+i+1, true, emit)
	}
}

// pairEnds end a name=value in a list: queries, fragments, cookies, connection
// strings.
const pairEnds = "&;,?#"

// inPairs finds credentials among name=value pairs in w[at:]: the parameters of
// a URL, or others.
func inPairs(w string, at int, params bool, emit emitFunc) {
	for at < len(w) {
		eq := strings.IndexByte(w[at:], '=')
		if eq < 0 {
			return
		}
		eq += at
		// The name is what stands before "=" and after the last sign.
		from := at + strings.LastIndexAny(w[at:eq], pairEnds+"\"'/:(") + 1
		name := strings.TrimLeft(w[from:eq], "-")
		at = eq + 1
		if !isName(name) {
			continue
		}
		s := NameStrength(name)
		if params {
			s = ParamStrength(name)
		}
		end := pairEnd(w, at, params)
		if s != None && from == 0 && !params && (w[0] == '-' || name == strings.ToUpper(name)) {
			end = len(w) // --password=X, PASSWORD=X: all that follows
		}
		value := strings.Trim(w[at:end], `"'`)
		if !accept(s, value) || params && len(value) < minLen && NameStrength(name) == None {
			if strings.Contains(w[at:end], "://") {
				inWord(w[at:], func(a, b int, v string) {
					if a == b {
						emit(0, 0, v)
					} else {
						emit(at+a, at+b, v)
					}
				})
				return
			}
			continue
		}
		start := at + strings.Index(w[at:end], value)
		skip := schemeLen(strings.ReplaceAll(value, "+", " "))
		value = value[skip:]
		start += skip
		if params {
			emit(start, start+len(value), unescape(value))
		} else {
			emit(start, start+len(value), value)
		}
		at = end
	}
}

// pairEnd is where the value at w[at:] ends: before a sign that begins another
// pair, since a value may hold such signs itself.
func pairEnd(w string, at int, params bool) int {
	for i := at; i < len(w); i++ {
		if strings.IndexByte(pairEnds, w[i]) < 0 {
			continue
		}
		next := i + 1
		for next < len(w) && isNameByte(w[next]) {
			next++
		}
		if next > i+1 && next < len(w) && w[next] == '=' || params && (w[i] == '&' || w[i] == '#') || w[i] == ';' && next == len(w) {
			return i
		}
	}
	return len(w)
}

// unescape undoes percent encoding, so that a value has one hash however it was
// given.
func unescape(v string) string {
	if !strings.Contains(v, "%") {
		return v
	}
	if u, err := url.PathUnescape(v); err == nil {
		return u
	}
	return v
}

// docString is a string of a JSON document.
type docString struct {
	name       string // of the innermost member that it is in
	value      string
	start, end int // of its spelling in the document, without the quotes
}

// documentStrings are the strings of s that are values, when s is a JSON object,
// array or string; else nil.
func documentStrings(s string) []docString {
	if t := strings.TrimLeft(s, " \t\r\n"); t == "" || strings.IndexByte(`{["`, t[0]) < 0 {
		return nil
	}
	d := jsontext.NewDecoder(strings.NewReader(s), jsontext.AllowDuplicateNames(true))
	out := []docString{}
	names := []string{""} // by depth
	for {
		kind := d.PeekKind()
		tok, err := d.ReadToken()
		if err != nil {
			// Only all of s may be the document.
			if d.InputOffset() > 0 && strings.TrimSpace(s[d.InputOffset():]) == "" && d.StackDepth() == 0 {
				return out
			}
			return nil
		}
		switch kind {
		case '{', '[':
			names = append(names, names[len(names)-1])
		case '}', ']':
			names = names[:len(names)-1]
		case '"':
			if k, n := d.StackIndex(d.StackDepth()); k == '{' && n%2 == 1 {
				names[len(names)-1] = tok.String()
				continue
			}
			end := int(d.InputOffset())
			start := stringStart(s[:end])
			out = append(out, docString{names[len(names)-1], tok.String(), start, end - 1})
		}
		if d.StackDepth() == 0 && strings.TrimSpace(s[d.InputOffset():]) != "" {
			return nil
		}
	}
}

// stringStart is where the content of the JSON string begins that s ends with.
func stringStart(s string) int {
	p := []byte(s)
	for i := len(p) - 1; ; {
		i = bytes.LastIndexByte(p[:i], '"')
		if i < 1 || !odd(p, i-1) {
			return i + 1
		}
	}
}

func isDocument(s string) bool {
	return (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")) && documentStrings(s) != nil
}

// maskArgv replaces what was found, and what else is known, by placeholders.
func (m *Masker) maskArgv(argv []string, list []found) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		var b strings.Builder
		last := 0
		for _, f := range list {
			if f.arg != i || f.start == f.end || f.start < last {
				continue
			}
			b.WriteString(m.String(a[last:f.start]))
			b.WriteString(placeholder(f.end-f.start, m.key.MAC(f.value)))
			last = f.end
		}
		b.WriteString(m.String(a[last:]))
		out[i] = b.String()
	}
	return out
}
