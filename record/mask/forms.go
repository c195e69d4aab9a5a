package mask

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what one needle is made of, in bytes of the plain value.
const (
	// lineMin: shorter lines of a credential of several lines are not looked
	// for alone. No run of 12 bytes of a credential may survive.
	lineMin = 12
	// fragmentMin is the same for the parts of a value between signs that some
	// encoding spells differently.
	fragmentMin = 12
	// blockMax bounds the needles, and with them what Held keeps back: a longer
	// value is looked for in blocks that follow each other.
	blockMax = 2048
)

// speller collects the spellings of values. The first use of a text decides its
// hash, so all plain spellings are added before any encoded one.
type speller struct {
	key   Key
	macs  map[string]string // text of needle -> hash
	plain map[string]string // plain value -> hash
}

func spell(key Key, values []string) []needle {
	s := speller{key, map[string]string{}, map[string]string{}}
	for _, v := range values {
		s.addPlain(v)
	}
	for _, v := range values {
		s.addEncoded(v)
	}
	needles := make([]needle, 0, len(s.macs))
	for text, mac := range s.macs {
		needles = append(needles, needle{text, mac})
	}
	slices.SortFunc(needles, func(a, b needle) int { return strings.Compare(a.text, b.text) })
	return needles
}

// add takes texts as spellings of plain. Lines are frames of their own, so no
// needle holds a line end; numbers would be found in JSON outside of strings.
func (s *speller) add(plain string, texts ...string) {
	for _, text := range texts {
		if len(text) < minLen || strings.ContainsAny(text, "\r\n") || isNumber(text) {
			continue
		}
		if _, ok := s.macs[text]; ok {
			continue
		}
		mac, ok := s.plain[plain]
		if !ok {
			mac = s.key.MAC(plain)
			s.plain[plain] = mac
		}
		s.macs[text] = mac
	}
}

func (s *speller) addPlain(v string) {
	if isDocument(v) {
		return // its strings are values themselves; its syntax must not be masked
	}
	for _, b := range blocks(v) {
		s.add(b, b)
	}
	for _, line := range lines(v) {
		for _, b := range blocks(line) {
			s.add(b, b)
		}
		s.addFragments(line)
	}
}

func (s *speller) addEncoded(v string) {
	for _, b := range blocks(v) {
		for _, text := range slices.Concat(jsonForms(b), urlForms(b)) {
			if text != b {
				s.add(b, text)
			}
		}
		s.add(b, base64Forms(b)...)
	}
	if ls := lines(v); len(ls) != 1 || ls[0] != v {
		for _, line := range ls {
			for _, b := range blocks(line) {
				s.add(b, slices.Concat(jsonForms(b), urlForms(b))...)
			}
		}
	}
}

// addFragments adds the parts of a line that no encoding changes, when they look
// made by a machine: what is left of a value that was encoded in a way that is
// not known here (HTML, YAML, a shell's quotes).
func (s *speller) addFragments(line string) {
	for _, f := range strings.FieldsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf || !isNameByte(byte(r)) }) {
		if len(f) >= fragmentMin && f != line && isOpaque(f) && maskable(f) {
			for _, b := range blocks(f) {
				s.add(b, b)
			}
		}
	}
}

// lines are the lines of a value that are looked for alone: all of it when it
// has one line. A PEM key in an environment variable often has its line ends
// as `\n`.
func lines(v string) []string {
	if strings.Contains(v, "-----BEGIN") {
		v = strings.ReplaceAll(strings.ReplaceAll(v, `\r`, ""), `\n`, "\n")
	}
	if !strings.ContainsAny(v, "\r\n") {
		return []string{v}
	}
	var out []string
	for _, l := range strings.FieldsFunc(v, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if l = strings.TrimSpace(l); len(l) >= lineMin && maskable(l) {
			out = append(out, l)
		}
	}
	return out
}

// blocks cuts v where it is too long for one needle. The last block is never
// short.
func blocks(v string) []string {
	var out []string
	for len(v) >= 2*blockMax {
		at := runeStart(v, blockMax)
		out = append(out, v[:at])
		v = v[at:]
	}
	if len(v) > blockMax {
		at := runeStart(v, len(v)/2)
		out = append(out, v[:at])
		v = v[at:]
	}
	return append(out, v)
}

// jsonStyle is what an encoder escapes beyond what it must.
type jsonStyle struct {
	always string // these as \u00XX, even where a short escape exists
	slash  bool   // "/" as "\/"
	ascii  bool   // everything beyond ASCII as \uXXXX
	upper  bool   // hex digits in capitals
}

// jsonStyles are the encoders of the common languages.
var jsonStyles = []jsonStyle{
	{},                          // JavaScript, Rust, Python with ensure_ascii=False
	{always: "<>&\u2028\u2029"}, // Go
	{ascii: true},               // Python
	{ascii: true, slash: true},  // PHP
	{slash: true},               // PHP with JSON_UNESCAPED_UNICODE
	{always: "<>&='"},           // Gson
	{always: "\"<>&'+`", ascii: true, upper: true}, // .NET
}

// jsonForms are the spellings of v inside of a JSON string, and inside of a
// JSON string inside of one (a tool's JSON answer in a text content).
func jsonForms(v string) []string {
	if !utf8.ValidString(v) || isName(v) { // a name has no other spelling
		return nil
	}
	var out []string
	least := jsonStyles[0]
	for _, st := range jsonStyles {
		if once := st.escape(v); once != v {
			out = append(out, once, st.escape(once), least.escape(once), st.escape(least.escape(v)))
		}
	}
	return out
}

func (st jsonStyle) escape(v string) string {
	digits := "0123456789abcdef"
	if st.upper {
		digits = "0123456789ABCDEF"
	}
	var b strings.Builder
	hex := func(u rune) {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(digits[u>>shift&15])
		}
	}
	for _, r := range v {
		short := strings.IndexRune("\b\f\n\r\t\"\\", r)
		switch {
		case strings.ContainsRune(st.always, r):
			hex(r)
		case short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`bfnrt"\`[short])
		case r == '/' && st.slash:
			b.WriteString(`\/`)
		case r < 0x20:
			hex(r)
		case r > 0xffff && st.ascii:
			r -= 0x10000
			hex(0xd800 + r>>10)
			hex(0xdc00 + r&0x3ff)
		case r > 0x7e && st.ascii && !(r == 0x7f && !st.upper):
			hex(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// urlSets are the signs that the common functions leave as they are, beside
// letters and digits.
var urlSets = []string{
	"-_.~",                   // RFC 3986 unreserved; Go's QueryEscape, Python's quote with safe=""
	"-_.~/",                  // Python's quote
	"-_.~!'()*",              // JavaScript's encodeURIComponent
	"-_.*",                   // forms (WHATWG), Java's URLEncoder
	"-_.~$&+:=@",             // Go's PathEscape
	"-_.~$&+,;=",             // Go's userinfo
	"-_.~!'()*;,/?:@&=+$#",   // JavaScript's encodeURI
	"-_.~!'()*;,/?:@&=+$[]%", // URLs that were encoded before: only what may never stand there
}

// urlForms are the spellings of v in a URL or a form, and in a URL inside of
// one (a redirect).
func urlForms(v string) []string {
	if isName(v) {
		return nil
	}
	var out []string
	for _, set := range urlSets {
		for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
			once := percent(v, set, digits)
			if once == v {
				break
			}
			out = append(out, once, percent(once, urlSets[0], digits))
			if strings.Contains(once, "%20") {
				out = append(out, strings.ReplaceAll(once, "%20", "+"))
			}
		}
	}
	return out
}

func percent(v, keep, digits string) string {
	var b strings.Builder
	for i := range len(v) {
		c := v[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// base64Forms are the spellings of v inside of something longer that was
// encoded as base64 (user:password in Basic): for each of the three places in a
// group of three bytes at which v can begin, the digits that v alone decides.
// At each end up to 4 bits of v stay in a digit that its neighbour shares.
func base64Forms(v string) []string {
	var out []string
	for before := range 3 {
		padded := append(make([]byte, before), v...)
		from, to := (8*before+5)/6, 8*len(padded)/6
		std := base64.RawStdEncoding.EncodeToString(padded)[from:to]
		out = append(out, std)
		if !strings.ContainsAny(std, "+/") {
			continue
		}
		out = append(out, base64.RawURLEncoding.EncodeToString(padded)[from:to])
		for _, rep := range base64Inside {
			out = append(out, rep.Replace(std))
		}
	}
	return out
}

// base64Inside is base64 that was put in JSON or in a URL.
var base64Inside = []*strings.Replacer{
	strings.NewReplacer("/", `\/`),
	strings.NewReplacer("+", `\u002B`),
	strings.NewReplacer("+", "%2B", "/", "%2F"),
	strings.NewReplacer("+", "%2b", "/", "%2f"),
}
