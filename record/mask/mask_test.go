package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func masked(n int) string { return strings.Repeat("*", n) }

func TestMask(t *testing.T) {
	const secret = "k3y-\"a/b+c\\d<é>=1"
	for _, tc := range []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"plain, as stderr has it", []string{secret}, "key " + secret + " ok", "key " + masked(len(secret)) + " ok"},
		{"JSON of JavaScript", []string{secret}, `"k3y-\"a/b+c\\d<é>=1"`, `"` + masked(20) + `"`},
		{"JSON of Go", []string{secret}, `"k3y-\"a/b+c\\d\u003cé\u003e=1"`, `"` + masked(30) + `"`},
		{"JSON of Python", []string{secret}, `"k3y-\"a/b+c\\d<\u00e9>=1"`, `"` + masked(24) + `"`},
		{"JSON of PHP", []string{secret}, `"k3y-\"a\/b+c\\d<\u00e9>=1"`, `"` + masked(25) + `"`},
		{"JSON of .NET", []string{secret}, `"k3y-\u0022a/b\u002Bc\\d\u003C\u00E9\u003E=1"`, `"` + masked(43) + `"`},
		{"JSON of Gson", []string{secret}, `"k3y-\"a/b+c\\d\u003cé\u003e\u003d1"`, `"` + masked(35) + `"`},
		{"JSON in JSON", []string{secret}, `"{\"k\":\"k3y-\\\"a/b+c\\\\d<é>=1\"}"`, `"{\"k\":\"` + masked(24) + `\"}"`},
		{"query", []string{secret}, url.QueryEscape(secret), masked(len(url.QueryEscape(secret)))},
		{"query in small letters", []string{secret}, strings.ToLower(url.QueryEscape(secret)), masked(len(url.QueryEscape(secret)))},
		{"path", []string{secret}, url.PathEscape(secret), masked(len(url.PathEscape(secret)))},
		{"form with spaces", []string{"two words 1+1"}, "a=two+words+1%2B1&b", "a=" + masked(15) + "&b"},
		{"query with spaces", []string{"two words 1+1"}, "a=two%20words%201%2B1&b", "a=" + masked(19) + "&b"},
		{"redirect in a query", []string{"ab+cd/ef1"}, "u=ab%252Bcd%252Fef1", "u=" + masked(17)},

		{"too short", []string{"abc-123"}, "abc-123", "abc-123"},
		{"word", []string{"production"}, "production", "production"},
		{"number", []string{"1234567890"}, `{"n":1234567890}`, `{"n":1234567890}`},
		{"path that is known", []string{"/etc/server/tls"}, "/etc/server/tls", "/etc/server/tls"},
		{"not quite", []string{"abc-123-def"}, "abc-123-deg abc-123-de bc-123-def", "abc-123-deg abc-123-de bc-123-def"},
		{"other case", []string{"abc-123-def"}, "ABC-123-DEF", "ABC-123-DEF"},

		{"at both ends", []string{"abc-123-def"}, "abc-123-def..abc-123-def", masked(11) + ".." + masked(11)},
		{"one after the other", []string{"abc-123-def"}, "abc-123-defabc-123-def", masked(22)},
		{"overlapping itself", []string{"abc1abc1abc"}, "xabc1abc1abc1abcx", "x" + masked(15) + "x"},
		{"overlapping another", []string{"abcdef-1234", "1234-uvwxyz"}, "abcdef-1234-uvwxyz", masked(18)},
		{"shorter inside of longer", []string{"inside-1", "before-inside-1-after"}, "before-inside-1-after inside-1", masked(21) + " " + masked(8)},
		{"longer given first", []string{"before-inside-1-after", "inside-1"}, "before-inside-1-after inside-1", masked(21) + " " + masked(8)},
		{"all bytes of it", []string{"abc-123-def"}, "abc-123-def", masked(11)},

		{"HTML, of which only the parts are known", []string{`part0ne-0000001&"part2wo-0000002`}, "part0ne-0000001&amp;&quot;part2wo-0000002", masked(15) + "&amp;&quot;" + masked(15)},
		{"no UTF-8", []string{"abc\xff\xfe-1234"}, "x abc\xff\xfe-1234 x", "x " + masked(10) + " x"},
		{"line end in the middle", []string{"first-line-0001\nsecond-line-0002\nx"}, "first-line-0001\r\nsecond-line-0002", masked(15) + "\r\n" + masked(16)},
		{"lines in JSON", []string{"first-line-0001\nsecond-line-0002\nx"}, `"first-line-0001\nsecond-line-0002\nx"`, `"` + masked(36) + `"`},

		{"newline before what looks like it", []string{"nabc12345"}, `"line\nabc12345"`, `"line\n********"`},
		{"backslash before it", []string{"nabc12345"}, `"line\\nabc12345"`, `"line\\` + masked(9) + `"`},
		{"escape before what looks like it", []string{"u00e9-abcdef1"}, `"x\u00e9-abcdef1"`, `"x\u0000` + masked(8) + `"`},
		{"digits of an escape before what looks like it", []string{"e9-abcdef1"}, `"x\u00e9-abcdef1"`, `"x\u0000` + masked(8) + `"`},
		{"quote behind what looks like it", []string{`abcdef12\`}, `"abcdef12\"quoted"`, `"` + masked(8) + `\"quoted"`},
		{"backslash at its end", []string{`abcdef12\`}, `"abcdef12\\"`, `"` + masked(10) + `"`},
		{"escape behind what looks like it", []string{`abcdef12\u00`}, `"abcdef12\u00e9"`, `"` + masked(8) + `\u00e9"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key := RandomKey()
			m := New(key, tc.secrets...)
			p := []byte(tc.in)
			spans := m.Mask(p, nil)
			if string(p) != tc.want {
				t.Errorf("got  %s\nwant %s", p, tc.want)
			}
			for _, s := range spans {
				if s.Off < 0 || s.Len < minLen || s.Off+s.Len > int64(len(p)) || len(s.MAC) != macLen {
					t.Errorf("span %+v", s)
				}
			}
			if json.Valid([]byte(tc.in)) && !json.Valid(p) {
				t.Errorf("no JSON any more: %s", p)
			}
		})
	}
}

func TestMACIsThatOfThePlainValue(t *testing.T) {
	const secret = "k3y/with+signs"
	key := RandomKey()
	m := New(key, secret)
	b64 := base64.StdEncoding.EncodeToString([]byte("ann:" + secret))
	p := []byte(secret + " " + `"k3y\/with\u002Bsigns"` + " k3y%2Fwith%2bsigns k3y%2fwith%2bsigns " + b64)
	for _, s := range m.Mask(p, nil) {
		if s.MAC != key.MAC(secret) {
			t.Errorf("%+v has another hash than the value", s)
		}
	}
}

func TestOverlapHasTheHashOfTheLongest(t *testing.T) {
	key := RandomKey()
	m := New(key, "inside-1", "before-inside-1-after", "after-0123456789-0123456789")
	p := []byte("..before-inside-1-after..before-inside-1-after-0123456789-0123456789")
	want := []Span{
		{2, 21, key.MAC("before-inside-1-after")},
		{25, 43, key.MAC("after-0123456789-0123456789")},
	}
	if d := cmp.Diff(want, m.Mask(p, nil)); d != "" {
		t.Error(d)
	}
	if got, want := m.String("x before-inside-1-after y"), "x "+key.Placeholder("before-inside-1-after")+" y"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// In base64, each digit that a credential alone decides is replaced, wherever it
// begins in a group of three bytes.
func TestBase64LeavesNoDigit(t *testing.T) {
	const secret = "case-0123/+é"
	m := New(RandomKey(), secret)
	for before := range 6 {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			encode := func(neighbour string) string {
				return enc.EncodeToString([]byte(strings.Repeat(neighbour, before) + secret + strings.Repeat(neighbour, 3)))
			}
			a, b := encode("\x00"), encode("\xff")
			p := []byte(a)
			m.Mask(p, nil)
			for i := range a {
				if a[i] != '=' && (a[i] == b[i]) != (p[i] == '*') {
					t.Errorf("%d bytes before: digit %d of %s: %s", before, i, a, p)
				}
			}
		}
	}
}

// A key of several lines must not be seen in any form that a server prints it in.
func TestPEM(t *testing.T) {
	der := make([]byte, 1200)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(der)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	quoted, _ := json.Marshal(text)
	again, _ := json.Marshal(string(quoted))
	for _, given := range []string{text, strings.TrimSpace(text), strings.ReplaceAll(text, "\n", `\n`), strings.ReplaceAll(text, "\n", "\r\n")} {
		m := FromProcess(RandomKey(), nil, []string{"SIGNING_KEY=" + given})
		for _, printed := range []string{text, string(quoted), string(again), url.QueryEscape(text), strings.ReplaceAll(text, "\n", "\r\n"), given} {
			p := []byte(printed)
			m.Mask(p, nil)
			if s := survivor(p, text); s != "" {
				t.Errorf("%q survives in %s", s, p)
			}
		}
	}
}

// survivor is a run of 12 bytes of secret in p (or of all of it when it is
// shorter) that holds no line end and no filler.
func survivor(p []byte, secret string) string {
	n := min(12, len(secret))
	for i := 0; i+n <= len(secret); i++ {
		run := secret[i : i+n]
		if !strings.ContainsAny(run, "\n\r*") && bytes.Contains(p, []byte(run)) {
			return run
		}
	}
	return ""
}

func TestLongValue(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "é%d+", i)
	}
	secret := b.String()
	m := FromProcess(RandomKey(), nil, []string{"BIG_TOKEN=" + secret})
	if m.Max() > 13*blockMax {
		t.Errorf("a needle has %d bytes", m.Max())
	}
	quoted, _ := json.Marshal(secret)
	for _, text := range []string{secret, string(quoted), url.QueryEscape(secret)} {
		p := []byte("<" + text + ">")
		m.Mask(p, nil)
		if strings.Trim(string(p), "*<>\"") != "" {
			t.Errorf("%.200s …", p)
		}
	}
}

// A server's account file as a variable: its strings are credentials, its
// syntax is not.
func TestDocument(t *testing.T) {
	doc := `{"type":"service","id":"id-0123456789","key":"-----BEGIN KEY-----\nAbCdEf0123456789/+xyz\n-----END KEY-----\n"}`
	m := FromProcess(RandomKey(), nil, []string{"ACCOUNT_CREDENTIALS=" + doc})
	p := []byte(doc)
	m.Mask(p, nil)
	if !json.Valid(p) || bytes.Contains(p, []byte("0123456789")) || !bytes.HasPrefix(p, []byte(`{"type":"service","id":"**`)) {
		t.Errorf("%s", p)
	}
	quoted, _ := json.Marshal(doc)
	if m.Mask(quoted, nil); string(quoted) != `"`+masked(len(quoted)-2)+`"` {
		t.Errorf("%s", quoted)
	}
}

func TestHeld(t *testing.T) {
	for _, tc := range []struct {
		name    string
		secrets []string
		in      string
		want    int
	}{
		{"nothing", []string{"abc-123-def"}, "some text", 0},
		{"first byte", []string{"abc-123-def"}, "some text a", 1},
		{"all but the last byte", []string{"abc-123-def"}, "some text abc-123-de", 10},
		{"all of it", []string{"abc-123-def"}, "some text abc-123-def", 0},
		{"line feed behind it", []string{"abc-123-def"}, "some text abc-123-de\n", 0},
		{"in the middle", []string{"abc-123-def"}, "abc-123-de some text", 0},
		{"a longer one may go on", []string{"abc-123-def", "abc-123-def-456"}, "x abc-123-def", 11},
		{"a longer one may begin before", []string{"abc-123-def", "xyz-abc-123-def-456"}, "x xyz-abc-123-def", 15},
		{"another one may begin inside", []string{"abcdef-1234", "1234-uvwxyz"}, "x abcdef-1234", 11},
		{"a beginning inside of a beginning", []string{"aab-aab-aa1"}, "aab-aab-aab-aa", 10},
		{"escaped", []string{`abc"123"def`}, `"abc\"123`, 8},
		{"an escape", []string{"abc-123-def"}, `text \`, 1},
		{"two backslashes", []string{"abc-123-def"}, `text \\`, 0},
		{"half an escape", []string{"abc-123-def"}, `text \u00e`, 5},
		{"an escape before it", []string{"nabc-123-def"}, `text \nabc-12`, 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := New(RandomKey(), tc.secrets...)
			if got := m.Held([]byte(tc.in)); got != tc.want {
				t.Errorf("%d bytes are held, want %d", got, tc.want)
			}
		})
	}
}

// Traffic of nothing but a credential that overlaps itself must not be kept for
// ever.
func TestHeldHasAnEnd(t *testing.T) {
	m := New(RandomKey(), "abc1abc1abc1")
	p := bytes.Repeat([]byte("abc1"), 1000)
	if h := m.Held(p); h > 8*m.Max()+64 {
		t.Errorf("%d bytes are held, the longest needle has %d", h, m.Max())
	}
}

func TestTorn(t *testing.T) {
	const secret = "sk-case-SPLITSPLIT00112233"
	for _, tc := range []struct {
		name          string
		in            string
		before, after bool
		want          string
	}{
		{"body that breaks off in it", "key is sk-case-S", false, true, "key is " + masked(9)},
		{"what breaks off is whole", "key is sk-case-S", false, false, "key is sk-case-S"},
		{"too little to say", "key is sk-case", false, true, "key is sk-case"},
		{"its beginning was lost", "LIT00112233 ok", true, false, masked(11) + " ok"},
		{"its first byte was lost", "k-case-SPLITSPLIT00112233 ok", true, false, masked(25) + " ok"},
		{"its last byte was lost", "sk-case-SPLITSPLIT0011223", false, true, masked(25)},
		{"both ends were lost", "case-SPLITSPLIT0011", true, true, masked(19)},
		{"two", "T00112233 sk-case-SPLI", true, true, masked(9) + " " + masked(12)},
		{"a whole one beside", secret + secret[:10], false, true, masked(36)},
		{"nothing", "some text", true, true, "some text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := []byte(tc.in)
			spans := New(RandomKey(), secret).Torn(p, tc.before, tc.after, nil)
			if string(p) != tc.want {
				t.Errorf("got  %s\nwant %s", p, tc.want)
			}
			if (len(spans) > 0) != (tc.in != tc.want) {
				t.Errorf("%+v", spans)
			}
		})
	}
}

// The three writes of case 58, cut inside of the credential.
func TestCase58(t *testing.T) {
	const secret = "sk-case-SPLITSPLIT00112233"
	line := `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"key is ` + secret + ` ok"}]}}`
	at := strings.Index(line, secret)
	m := New(RandomKey(), secret)
	got := pieces(m, []byte(line), at+8, at+11)
	if want := strings.Replace(line, secret, masked(len(secret)), 1); string(got.text) != want {
		t.Errorf("got  %s\nwant %s", got.text, want)
	}
}

// result is what a recorder would have written.
type result struct {
	text  []byte
	spans []Span
}

// pieces does what a recorder does with bytes that come in pieces.
func pieces(m *Masker, all []byte, cuts ...int) result {
	var r result
	var buf []byte
	last := 0
	for _, c := range append(cuts, len(all)) {
		buf = append(buf, all[last:c]...)
		last = c
		n := len(buf)
		if c < len(all) {
			n -= m.Held(buf)
		}
		off := int64(len(r.text))
		for _, s := range m.Mask(buf[:n], nil) {
			s.Off += off
			r.spans = append(r.spans, s)
		}
		r.text = append(r.text, buf[:n]...)
		buf = append([]byte(nil), buf[n:]...)
	}
	return r
}

// Case 56, the stdio run: neither the credentials of the case nor 12 bytes of
// one are in what would be written, and what is none is there.
func TestCase56(t *testing.T) {
	dir := filepath.Join("..", "..", "fixtures", "cases", "56-redact-everywhere")
	var script struct {
		Run struct {
			Command []string          `json:"command"`
			Env     map[string]string `json:"env"`
			Stderr  string            `json:"server_stderr"`
			Reply   string            `json:"server_reply_text"`
		} `json:"stdio_run"`
	}
	var secrets []string
	load(t, filepath.Join(dir, "script.json"), &script)
	load(t, filepath.Join(dir, "secrets.json"), &secrets)
	run := script.Run
	var env []string
	for k, v := range run.Env {
		env = append(env, k+"="+v)
	}
	m := FromProcess(RandomKey(), run.Command, env)
	reply, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"text": run.Reply + " " + strings.Join(run.Command, " ")}})
	stderr := []byte(run.Stderr)
	m.Mask(reply, nil)
	m.Mask(stderr, nil)
	written := []byte(strings.Join(m.Argv(), "\n") + "\n" + m.String("cannot start: "+strings.Join(run.Command, " ")) + "\n" + string(reply) + "\n" + string(stderr))
	for _, s := range secrets {
		if run := survivor(written, s); run != "" {
			t.Errorf("%q of %q is in\n%s", run, s, written)
		}
	}
	if !bytes.Contains(written, []byte("--port\n80\n")) {
		t.Errorf("--port 80 is gone:\n%s", written)
	}
	if len(secrets) < 20 || len(run.Command) != 6 {
		t.Errorf("the case was not read: %v, %v", secrets, run)
	}
}

func load(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// encodings are what servers do to a credential; none of them is the code under
// test.
var encodings = []func(*rand.Rand, string) string{
	func(_ *rand.Rand, s string) string { return s },
	func(_ *rand.Rand, s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) },
	func(_ *rand.Rand, s string) string {
		b, _ := jsontext.AppendQuote(nil, s)
		return string(b[1 : len(b)-1])
	},
	func(_ *rand.Rand, s string) string {
		b, _ := jsontext.AppendQuote(nil, s)
		b, _ = jsontext.AppendQuote(nil, string(b))
		return string(b[1 : len(b)-1])
	},
	func(_ *rand.Rand, s string) string { return url.QueryEscape(s) },
	func(_ *rand.Rand, s string) string { return url.PathEscape(s) },
	func(_ *rand.Rand, s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	func(r *rand.Rand, s string) string {
		return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", r.IntN(5)) + ":" + s + strings.Repeat("t", r.IntN(3))))
	},
	func(r *rand.Rand, s string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("u", r.IntN(5)) + ":" + s + strings.Repeat("t", r.IntN(3))))
	},
}

// alphabets that credentials are made of.
var alphabets = [][]rune{
	[]rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
	[]rune("abcdef0123456789"),
	[]rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/="),
	[]rune("ab1\"\\/<>&'+=%éß漢😀 nu0"),
	[]rune("ab12"), // overlaps
}

func randomSecret(r *rand.Rand) string {
	a := alphabets[r.IntN(len(alphabets))]
	for {
		s := make([]rune, minLen+r.IntN(40))
		for i := range s {
			s[i] = a[r.IntN(len(a))]
		}
		// Space around a value is not part of it.
		if v := strings.TrimSpace(string(s)); maskable(v) {
			return v
		}
	}
}

// No run of 12 bytes of a credential, or of one of its spellings, survives,
// whatever the spelling and wherever the pieces are cut; the pieces are masked as
// the whole; nothing moves.
func TestNothingSurvives(t *testing.T) {
	const words = `{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"ab1 aab1b n\nu\u00e9 %2F \\ "}]}}`
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 0))
		var secrets []string
		for range 1 + r.IntN(5) {
			s := randomSecret(r)
			secrets = append(secrets, s)
			if r.IntN(4) == 0 { // one inside of the other
				secrets = append(secrets, "x"+s+"y0")
			}
		}
		m := New(RandomKey(), secrets...)
		var all, kept []byte // kept: the same with line feeds for credentials
		var spelled []string
		for range r.IntN(12) {
			if at := r.IntN(len(words)); r.IntN(2) == 0 {
				w := words[at : at+r.IntN(len(words)-at)]
				all, kept = append(all, w...), append(kept, w...)
			}
			e := encodings[r.IntN(len(encodings))](r, secrets[r.IntN(len(secrets))])
			spelled = append(spelled, e)
			all = append(all, e...)
			kept = append(kept, bytes.Repeat([]byte("\n"), len(e))...)
		}
		whole := slices.Clone(all)
		spans := m.Mask(whole, nil)
		if len(whole) != len(all) {
			t.Fatalf("seed %d: the length changed", seed)
		}
		for _, s := range secrets {
			// What the words around the credentials have by chance may stay.
			if run := survivor(whole, s); run != "" && !bytes.Contains(kept, []byte(run)) {
				t.Fatalf("seed %d: %q of %q survives\n%s\n%s", seed, run, s, all, whole)
			}
		}
		for _, s := range spelled {
			if bytes.Contains(whole, []byte(s)) {
				t.Fatalf("seed %d: %q survives\n%s\n%s", seed, s, all, whole)
			}
		}
		var cuts []int
		for range r.IntN(20) {
			cuts = append(cuts, r.IntN(len(all)+1))
		}
		slices.Sort(cuts)
		got := pieces(m, all, cuts...)
		if string(got.text) != string(whole) || !slices.Equal(got.spans, spans) {
			t.Fatalf("seed %d: cut at %v\n%s\nin pieces\n%s\nas a whole\n%s\n%s", seed, cuts, all, got.text, whole, cmp.Diff(spans, got.spans))
		}
	}
}

// Valid JSON stays valid and keeps its structure: names, numbers, lengths of
// lists. (Strings that hold credentials change.)
func TestJSONStaysValid(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var secrets []string
		for range 1 + r.IntN(6) {
			secrets = append(secrets, randomSecret(r))
		}
		m := New(RandomKey(), secrets...)
		doc := randomJSON(r, secrets, 0)
		p := slices.Clone(doc)
		m.Mask(p, nil)
		if a, b := shape(t, doc), shape(t, p); a != b {
			t.Fatalf("seed %d: %q\n%s\n%s", seed, secrets, doc, p)
		}
	}
}

func randomJSON(r *rand.Rand, secrets []string, depth int) []byte {
	switch n := r.IntN(8); {
	case n == 0 && depth > 0:
		return fmt.Appendf(nil, "%d", r.Int64())
	case n == 1 && depth > 0:
		return []byte("true")
	case n <= 3 && depth < 5:
		out := []byte("[")
		for i := range r.IntN(5) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, randomJSON(r, secrets, depth+1)...)
		}
		return append(out, ']')
	case n <= 5 && depth < 5:
		out := []byte("{")
		for i := range r.IntN(5) {
			if i > 0 {
				out = append(out, ',')
			}
			out = fmt.Appendf(out, `"name%d":`, i)
			out = append(out, randomJSON(r, secrets, depth+1)...)
		}
		return append(out, '}')
	}
	text := ""
	for range r.IntN(4) {
		s := secrets[r.IntN(len(secrets))]
		switch r.IntN(4) {
		case 0:
			text += s
		case 1: // the credential's end behind a sign that is escaped
			text += "\n\t\"\\\x01"[r.IntN(5):] + s[1:]
		case 2:
			text += s + "\n\t\"\\\x01"[r.IntN(5):]
		default:
			text += encodings[r.IntN(len(encodings))](r, s)
		}
	}
	out, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "?"))
	if err != nil {
		panic(err)
	}
	return out
}

// shape is a document without the contents of its strings; it fails when p is
// none.
func shape(t *testing.T, p []byte) string {
	var b strings.Builder
	d := jsontext.NewDecoder(bytes.NewReader(p))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			if d.InputOffset() != int64(len(p)) || d.StackDepth() != 0 {
				t.Errorf("%v: %s", err, p)
			}
			return b.String()
		}
		if tok.Kind() == '"' {
			b.WriteString(`"" `)
		} else {
			b.WriteString(tok.String() + " ")
		}
	}
}

func TestNothingFoundAllocatesNothing(t *testing.T) {
	m := New(RandomKey(), "abc-123-def", "sk-case-SPLITSPLIT00112233")
	p := []byte(strings.Repeat(`{"jsonrpc":"2.0","id":17,"result":{"content":[]}}`, 50))
	spans := make([]Span, 0, 4)
	if n := testing.AllocsPerRun(100, func() {
		spans = m.Mask(p, spans[:0])
		if m.Held(p) != 0 {
			t.Error("held")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
