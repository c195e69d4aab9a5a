package grade_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
)

func suitesDir() string { return filepath.Join(fixtures.Dir(), "suites") }

// suiteFiles are the suites of fixtures that match, relative to their folder.
func suiteFiles(t testing.TB, patterns ...string) []string {
	t.Helper()
	var out []string
	for _, p := range patterns {
		files, err := fs.Glob(os.DirFS(suitesDir()), p)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", p, err)
		}
		out = append(out, files...)
	}
	return out
}

// openSuite reads the files that suites of fixtures extend.
func openSuite(name string) ([]byte, error) {
	return fs.ReadFile(os.DirFS(suitesDir()), filepath.ToSlash(name))
}

func load(t testing.TB, name string) (*grade.Suite, error) {
	t.Helper()
	b, err := openSuite(name)
	if err != nil {
		t.Fatal(err)
	}
	return grade.LoadSuite(name, b, openSuite)
}

func mustLoadFile(t testing.TB, name string) *grade.Suite {
	t.Helper()
	s, err := load(t, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var kindNotBuilt = regexp.MustCompile(`: check kind (\w+): not built yet$`)

// builtFaults are err's lines without those of kinds that are not built yet, and
// those kinds. A kind that is built must not be called so.
func builtFaults(t testing.TB, err error) (lines, missing []string) {
	t.Helper()
	var list grade.SuiteErrors
	if err != nil && (!errors.As(err, &list) || len(list) == 0) {
		t.Fatalf("error %v, want a list", err)
	}
	for _, e := range list {
		if m := kindNotBuilt.FindStringSubmatch(e.Msg); m != nil {
			if _, k, known := predicate.Lookup(m[1]); !known || k != nil {
				t.Errorf("%v", e)
			}
			missing = append(missing, m[1])
			continue
		}
		lines = append(lines, e.Error())
	}
	return lines, missing
}

func TestGoodSuites(t *testing.T) {
	for _, name := range suiteFiles(t, "*.good.yaml", "*.good.json", "refunds/*.good.yaml") {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, name)
			lines, missing := builtFaults(t, err)
			if len(lines) > 0 {
				t.Error(strings.Join(lines, "\n"))
			} else if len(missing) > 0 {
				t.Skipf("not built yet: %v", missing)
			}
		})
	}
}

// TestBadSuites: each *.bad.yaml or *.bad.json is refused with exactly the lines
// of the *.bad.txt beside it, by file, line and column.
func TestBadSuites(t *testing.T) {
	for _, name := range suiteFiles(t, "*.bad.yaml", "*.bad.json") {
		t.Run(name, func(t *testing.T) {
			want, err := openSuite(strings.TrimSuffix(name, filepath.Ext(name)) + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			_, err = load(t, name)
			lines, _ := builtFaults(t, err)
			if diff := cmp.Diff(string(want), strings.Join(lines, "\n")+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A kind that is known and not built is told from a typo.
func TestKindsNotBuiltAreSaid(t *testing.T) {
	for _, name := range predicate.Names() {
		info, k, _ := predicate.Lookup(name)
		if k != nil {
			continue
		}
		role := ""
		if info.Observation {
			role = ", role: advisory"
		}
		_, err := grade.LoadSuite("s", []byte("schemaVersion: sixlink/1\nsuite: {id: a}\ndefaults: {assertions: [{type: "+name+role+"}]}\n"), nil)
		want := "s:3:32: defaults.assertions[0].type: check kind " + name + ": not built yet"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestYAMLAndJSONAreOneSuite(t *testing.T) {
	y, err := load(t, "full.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	j, err := load(t, "full.good.json")
	if err != nil {
		t.Fatal(err)
	}
	if y.Hash != j.Hash || len(y.Hash) != 64 {
		t.Errorf("hashes %s and %s", y.Hash, j.Hash)
	}
	if y.ID != "refunds" || y.PassThreshold.RatString() != "4/5" || y.Validity.MinCompletionRate.RatString() != "1/2" || len(y.Servers) != 1 {
		t.Errorf("loaded %+v", y)
	}
	var got []string
	for _, c := range y.Assertions {
		ms, _ := c.Int("ms")
		name, _ := c.Text("toolName")
		got = append(got, strings.TrimSpace(strings.Join([]string{c.Info.Name, string(c.Role), name}, " ")))
		if c.Info.Name == "toolLatencyUnder" && ms != 2000 {
			t.Errorf("ms = %d", ms)
		}
	}
	want := []string{"noToolErrors gating", "argumentsMatchToolSchema gating", "toolCalledAtLeastOnce advisory find_order",
		"toolNeverCalled gating delete_order", "toolLatencyUnder gating refund"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m, err := load(t, "minimal.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if m.Hash == y.Hash {
		t.Error("two suites with one hash")
	}
}

func TestCoreSchemaAndAliases(t *testing.T) {
	s, err := load(t, "anchors.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range s.Assertions {
		n, _ := c.Text("toolName")
		names = append(names, n)
	}
	if diff := cmp.Diff([]string{"yes", "yes", "on"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestASuiteThatCannotFailIsSaid(t *testing.T) {
	for file, want := range map[string]string{"minimal.good.yaml": "no checks", "advisory.good.yaml": "advisory", "full.good.yaml": ""} {
		s, err := load(t, file)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(s.Warnings, " ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: warnings %q, want %q", file, got, want)
		}
	}
	if w := grade.BuiltIn().Warnings; w != nil {
		t.Errorf("built-in: %v", w)
	}
}

func TestHostileSuites(t *testing.T) {
	head := "schemaVersion: sixlink/1\nsuite: {id: a}\n"
	bomb := head + "x0: &x0 [" + strings.Repeat("1,", 50) + "1]\n"
	for i := 1; i < 12; i++ {
		prev, this := string(rune('a'+i-1)), string(rune('a'+i))
		if i == 1 {
			prev = "x0"
		}
		bomb += this + ": &" + this + " [" + strings.Repeat("*"+prev+",", 30) + "]\n"
	}
	for name, c := range map[string]struct{ data, want string }{
		"empty":                  {"", "empty"},
		"blanks":                 {" \n\n", "empty"},
		"a comment alone":        {"# nothing\n", "empty"},
		"too large":              {strings.Repeat("# x\n", 1<<18+1), "bytes"},
		"invalid UTF-8":          {head + "ä\xff: 1\n", "s:3:2: the suite is no valid UTF-8"},
		"alias bomb":             {bomb, "values"},
		"alias to itself":        {head + "a: &a [*a]\n", "no anchor"},
		"deep flow":              {head + "a: " + strings.Repeat("[", 100_000), "nested deeper"},
		"deep braces":            {head + "a: " + strings.Repeat("{a: ", 100_000), "nested deeper"},
		"deep dashes":            {head + "a:\n " + strings.Repeat("- ", 100_000), "nested deeper"},
		"deep anchors":           {head + "a: " + strings.Repeat("&a ", 100_000), ""},
		"deep JSON":              {strings.Repeat(`{"a":`, 100_000), "nested deeper"},
		"control characters":     {head + "\"a\\x1b[31m\": 1\n", `\u001b[31m`},
		"a number beyond bounds": {head + "defaults: {passThreshold: 1e99999999}\n", "fraction"},
		"a number beyond double": {head + "servers: [1e999]\n", "string"},
		"many keys":              {head + manyKeys(600), "more than 500 keys"},
		"many empty keys":        {strings.Repeat("a:\n", 20_000), "more than 500 keys"},
		"many tokens":            {head + "a: [" + strings.Repeat("1,", 300_000) + "]\n", "tokens"},
		"explicit keys":          {head + strings.Repeat("? a\n", 1000), "explicit keys"},
		"a list of many":         {head + "defaults:\n  assertions:\n" + strings.Repeat("  - {type: noToolErrors}\n", 51), "more than 50"},
		"many faults":            {head + strings.Repeat("x", 1) + ": 1\n" + manyKeys(300), "unknown key"},
		"half a pair in YAML":    {head + "defaults: {assertions: [{type: toolNeverCalled, toolName: \"\\ud83d\"}]}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := grade.LoadSuite("s", []byte(c.data), nil)
			var list grade.SuiteErrors
			if !errors.As(err, &list) || len(list) == 0 || len(list) > 100 {
				t.Fatalf("error %v", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %.300q, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "\x1b") {
				t.Errorf("error holds a control character: %q", err)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("k" + strings.Repeat("y", i%50) + string(rune('a'+i%26)) + strings.Repeat("z", i/50) + ": 1\n")
	}
	return b.String()
}

// A JSON suite can name half a surrogate pair; YAML text cannot.
func TestLoneSurrogateInASuite(t *testing.T) {
	doc := func(name string) []byte {
		return []byte(`{"schemaVersion":"sixlink/1","suite":{"id":"a"},"defaults":{"assertions":[{"type":"toolNeverCalled","toolName":"` + name + `"}]}}`)
	}
	hashes := map[string]bool{}
	for _, name := range []string{`a\ud83d`, `a\ud83c`, `a\ufffd`} {
		s, err := grade.LoadSuite("s", doc(name), nil)
		if err != nil {
			t.Fatal(err)
		}
		hashes[s.Hash] = true
	}
	if len(hashes) != 3 {
		t.Errorf("three different names gave %d hashes", len(hashes))
	}
}

// predicate-wire-parity.json: what a suite may hold and what not, in the defaults,
// in a case, and in a MCPJam file. Rows of kinds that are not built run by
// themselves once they are; a reject row fails for its own reason then.
func TestParity(t *testing.T) {
	b, err := fixtures.ReadFile("vectors", "predicate-wire-parity.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Accept, Reject []json.RawMessage }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	frames := map[string]string{
		"defaults": `{"schemaVersion":"sixlink/1","suite":{"id":"a"},"defaults":{"assertions":[%s]}}`,
		"case":     `{"schemaVersion":"sixlink/1","suite":{"id":"a"},"cases":[{"id":"a","assertions":{"mode":"extend","list":[%s]}}]}`,
		"MCPJam": `{"schemaVersion":"2","mode":"agentWorkflow","reportingMode":"standard","suite":{"id":"a","name":"a"},"target":{"servers":[{"name":"a"}]},
			"defaults":{"model":"m","iterations":1,"passThreshold":1,"validity":{}},"cases":[{"id":"a","title":"a","steps":[{"id":"a","kind":"prompt","prompt":""}],"assertions":[%s]}]}`,
	}
	accepted, refused, skipped := 0, 0, 0
	for frame, text := range frames {
		try := func(raw json.RawMessage) (lines []string, unbuilt bool) {
			_, err := grade.LoadSuite("s", []byte(fmt.Sprintf(text, raw)), nil)
			lines, missing := builtFaults(t, err)
			return lines, len(missing) > 0
		}
		for _, raw := range file.Accept {
			switch lines, unbuilt := try(raw); {
			case len(lines) > 0:
				t.Errorf("%s: refused %s: %v", frame, raw, lines)
			case unbuilt:
				skipped++
			default:
				accepted++
			}
		}
		for _, raw := range file.Reject {
			switch lines, unbuilt := try(raw); {
			case len(lines) > 0:
				refused++
			case unbuilt:
				skipped++
			default:
				t.Errorf("%s: accepted %s", frame, raw)
			}
		}
	}
	t.Logf("%d rows accepted, %d refused, %d skipped", accepted, refused, skipped)
	if accepted < 3*8 || refused < 3*15 {
		t.Errorf("%d rows accepted, %d refused", accepted, refused)
	}
}

func TestExamplesLoad(t *testing.T) {
	for _, k := range predicate.Built() {
		if _, err := grade.LoadSuite("s", []byte("schemaVersion: sixlink/1\nsuite: {id: a}\ndefaults:\n  assertions:\n    - "+k.Example+"\n"), nil); err != nil {
			t.Errorf("the example of %s: %v", k.Name, err)
		}
	}
	for _, d := range predicate.Docs() { // as a terminal shows it, on several lines
		_, example, _ := strings.Cut(d.Page(), "\nExample:\n")
		if _, err := grade.LoadSuite("s", []byte("schemaVersion: sixlink/1\nsuite: {id: a}\ndefaults:\n  assertions:\n"+example), nil); err != nil {
			t.Errorf("the example of %s on its page: %v\n%s", d.Info.Name, err, example)
		}
	}
}

// The largest suite, 500 cases of 50 checks, loads whole; one more is refused.
func TestLargestSuite(t *testing.T) {
	const head = "schemaVersion: sixlink/1\nsuite: {id: large}\ncases:\n"
	large := func(cases, checks int) []byte {
		var b strings.Builder
		b.WriteString(head)
		for i := range cases {
			fmt.Fprintf(&b, "- {id: c%d, assertions: [%s]}\n", i, strings.Repeat("{type: toolLatencyUnder, ms: 5},", checks))
		}
		return []byte(b.String())
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := grade.LoadSuite("large", large(500, 50), nil)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cases) != 500 || len(s.Cases[499].Assertions) != 50 {
		t.Errorf("%d cases", len(s.Cases))
	}
	// All that was ever allocated, not what is held: 0.8 MiB of text took 190 MiB, 655 MiB
	// under the race detector.
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 1024 {
		t.Errorf("loading took %d MiB", mib)
	} else {
		t.Logf("loading took %d MiB", mib)
	}
	for want, data := range map[string][]byte{
		"cases: 501 elements, more than 500":                  large(501, 1),
		"cases[0].assertions: 51 elements, more than 50":      large(1, 51),
		"cases[0].turns: 201 elements, more than 200":         []byte(head + "- {id: a, turns: [" + strings.Repeat("{},", 201) + "]}"),
		"turns[0].assertions: 51 elements, more than 50":      []byte(head + "- {id: a, turns: [{assertions: [" + strings.Repeat("{type: noToolErrors},", 51) + "]}]}"),
		"turns[0].expectedToolCalls: 201 elements, more than": []byte(head + "- {id: a, turns: [{expectedToolCalls: [" + strings.Repeat("{toolName: a},", 201) + "]}]}"),
	} {
		if _, err := grade.LoadSuite("s", data, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Lengths are UTF-16 units (grading.md 9.1): 100 emoji are 200.
func TestTitleLengths(t *testing.T) {
	for _, n := range []int{100, 101} {
		_, err := grade.LoadSuite("s", []byte("schemaVersion: sixlink/1\nsuite: {id: a, name: "+strings.Repeat("\U0001f600", n)+"}\n"), nil)
		if (err == nil) != (n == 100) {
			t.Errorf("%d emoji: %v", n, err)
		}
	}
}

// A number that no double holds cannot be hashed; its place is named.
func TestNumberThatCannotBeHashed(t *testing.T) {
	_, err := grade.LoadSuite("s", []byte("schemaVersion: sixlink/1\nsuite: {id: a}\ncases:\n- {id: a, turns: [{expectedToolCalls: [{toolName: a, arguments: {n: [1, 1e999]}}]}]}\n"), nil)
	if err == nil || err.Error() != "s:4:73: the number 1e+999 does not fit a double" {
		t.Error(err)
	}
}

// FuzzLoadSuite: whatever the text, and the text of what it extends, loading ends
// with a suite, the same one twice, or with faults in the order of the files.
func FuzzLoadSuite(f *testing.F) {
	base, err := openSuite("base.suite.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range suiteFiles(f, "*.yaml", "*.json", "refunds/*") {
		b, err := openSuite(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, base)
	}
	f.Fuzz(func(t *testing.T, data, parent []byte) {
		opened := 0
		open := func(name string) ([]byte, error) {
			if opened++; opened > 20 {
				t.Fatal("more files than a suite may have")
			}
			return parent, nil
		}
		s, err := grade.LoadSuite("dir/fuzz", data, open)
		again, errAgain := grade.LoadSuite("dir/fuzz", data, open)
		if err == nil {
			if errAgain != nil || again.Hash != s.Hash || len(s.Hash) != 64 {
				t.Fatalf("loaded twice: %v, hashes %s and %s", errAgain, s.Hash, again.Hash)
			}
			if s.ID == "" || s.PassThreshold == nil || strings.ContainsAny(strings.Join(s.Warnings, ""), "\n\x1b") {
				t.Fatalf("loaded %+v", s)
			}
			ids := map[string]bool{}
			for _, c := range s.Cases {
				if c.ID == "" || ids[c.ID] || c.PassThreshold == nil || c.Match.Arguments == "" || c.Match.Order == "" || c.Inherited > len(c.Assertions) {
					t.Fatalf("case %+v", c)
				}
				ids[c.ID] = true
			}
			return
		}
		if errAgain == nil || errAgain.Error() != err.Error() {
			t.Fatalf("first %v, then %v", err, errAgain)
		}
		var list grade.SuiteErrors
		if !errors.As(err, &list) || len(list) == 0 {
			t.Fatalf("error %T %v", err, err)
		}
		for i, e := range list {
			if e.Line < 1 || e.Col < 1 || strings.ContainsAny(e.Error(), "\n\x1b") {
				t.Fatalf("error %q", e.Error())
			}
			if i > 0 && list[i-1].File == e.File && (list[i-1].Line > e.Line || list[i-1].Line == e.Line && list[i-1].Col > e.Col) {
				t.Fatalf("errors out of order: %v", err)
			}
		}
	})
}
