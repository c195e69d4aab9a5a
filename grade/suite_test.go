package grade_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
)

func suiteFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "suites", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return files
}

func load(t testing.TB, path string) (*grade.Suite, error) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return grade.LoadSuite(filepath.Base(path), b)
}

func TestGoodSuites(t *testing.T) {
	for _, pattern := range []string{"*.good.yaml", "*.good.json"} {
		for _, path := range suiteFiles(t, pattern) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				if _, err := load(t, path); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestBadSuites: each *.bad.yaml or *.bad.json is refused with exactly the lines
// of the *.bad.txt beside it.
func TestBadSuites(t *testing.T) {
	for _, pattern := range []string{"*.bad.yaml", "*.bad.json"} {
		for _, path := range suiteFiles(t, pattern) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				want, err := os.ReadFile(strings.TrimSuffix(path, filepath.Ext(path)) + ".txt")
				if err != nil {
					t.Fatal(err)
				}
				_, err = load(t, path)
				var list grade.SuiteErrors
				if !errors.As(err, &list) {
					t.Fatalf("error %v, want a list", err)
				}
				if diff := cmp.Diff(string(want), list.Error()+"\n"); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestYAMLAndJSONAreOneSuite(t *testing.T) {
	y, err := load(t, "testdata/suites/full.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	j, err := load(t, "testdata/suites/full.good.json")
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
	m, err := load(t, "testdata/suites/minimal.good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if m.Hash == y.Hash {
		t.Error("two suites with one hash")
	}
}

func TestCoreSchemaAndAliases(t *testing.T) {
	s, err := load(t, "testdata/suites/anchors.good.yaml")
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
		s, err := load(t, "testdata/suites/"+file)
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
			_, err := grade.LoadSuite("s", []byte(c.data))
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
		s, err := grade.LoadSuite("s", doc(name))
		if err != nil {
			t.Fatal(err)
		}
		hashes[s.Hash] = true
	}
	if len(hashes) != 3 {
		t.Errorf("three different names gave %d hashes", len(hashes))
	}
}

// predicate-wire-parity.json: what a suite may hold and what not, for the kinds
// that are built; of the others, that they are known.
func TestParity(t *testing.T) {
	b, err := os.ReadFile("testdata/predicate-wire-parity.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Accept, Reject []json.RawMessage }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	try := func(raw json.RawMessage) error {
		_, err := grade.LoadSuite("s", []byte(`{"schemaVersion":"sixlink/1","suite":{"id":"a"},"defaults":{"assertions":[`+string(raw)+`]}}`))
		return err
	}
	accepted := 0
	for _, raw := range file.Accept {
		var k struct{ Type string }
		if err := json.Unmarshal(raw, &k); err != nil {
			t.Fatal(err)
		}
		err := try(raw)
		if _, built, _ := predicate.Lookup(k.Type); built != nil {
			accepted++
			if err != nil {
				t.Errorf("refused %s: %v", raw, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "not built yet") {
			t.Errorf("%s: %v, want not built yet", raw, err)
		}
	}
	if accepted < 8 {
		t.Errorf("%d rows accepted", accepted)
	}
	for _, raw := range file.Reject {
		if try(raw) == nil {
			t.Errorf("accepted %s", raw)
		}
	}
}

func TestExamplesLoad(t *testing.T) {
	for _, k := range predicate.Built() {
		if _, err := grade.LoadSuite("s", []byte("schemaVersion: sixlink/1\nsuite: {id: a}\ndefaults:\n  assertions:\n    - "+k.Example+"\n")); err != nil {
			t.Errorf("the example of %s: %v", k.Name, err)
		}
	}
}

func FuzzLoadSuite(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "*.json"} {
		files, _ := filepath.Glob(filepath.Join("testdata", "suites", pattern))
		for _, path := range files {
			b, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := grade.LoadSuite("fuzz", data)
		if err == nil {
			if s.ID == "" || len(s.Hash) != 64 || s.PassThreshold == nil {
				t.Fatalf("loaded %+v", s)
			}
			return
		}
		var list grade.SuiteErrors
		if !errors.As(err, &list) || len(list) == 0 {
			t.Fatalf("error %T %v", err, err)
		}
		for i, e := range list {
			if e.Line < 1 || e.Col < 1 || strings.ContainsAny(e.Error(), "\n\x1b") {
				t.Fatalf("error %q", e.Error())
			}
			if i > 0 && (list[i-1].Line > e.Line || list[i-1].Line == e.Line && list[i-1].Col > e.Col) {
				t.Fatalf("errors out of order: %v", err)
			}
		}
	})
}
