package grade_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade"
)

// A suite that extends another is the suite that says the same by itself.
func TestExtendsIsResolved(t *testing.T) {
	a, b := mustLoadFile(t, "extends.good.yaml"), mustLoadFile(t, "extended.good.json")
	if a.Hash != b.Hash {
		t.Errorf("hashes %s and %s", a.Hash, b.Hash)
	}
	if got := checkWords(a.Assertions); got != "noToolErrors, toolNeverCalled drop_tables, toolNeverCalled last" {
		t.Error(got)
	}
	if got := strings.Join(a.Servers, " "); got != "shop mail bank" {
		t.Error(got)
	}
	if got := optionWords(a.Cases[0].Match); got != "exact superset any" {
		t.Error(got)
	}
	if a.Validity.MinEligibleTrials != 2 || a.Validity.MinCompletionRate.RatString() != "4/5" {
		t.Errorf("%+v", a.Validity)
	}
}

// files opens from memory.
func files(m map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if text, ok := m[name]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("open %s: no such file", name)
	}
}

const own = "schemaVersion: sixlink/1\n"

func TestExtends(t *testing.T) {
	chain := map[string]string{}
	for i := range 10 {
		chain[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf(own+"extends: %d.yaml\nsuite: {id: s%d}\n", i+1, i)
	}
	chain["10.yaml"] = own
	for _, c := range []struct {
		name, file, data string
		files            map[string]string
		want             string // an error, or nothing
		assertions       string
	}{
		{"relative to the suite file", "a/b/s.yaml", own + "extends: ../base.yaml\nsuite: {id: a}\n",
			map[string]string{"a/base.yaml": own + "defaults: {assertions: [{type: noToolErrors}]}"}, "", "noToolErrors"},
		{"relative to the parent's file", "a/s.yaml", own + "extends: b/c.yaml\nsuite: {id: a}\ndefaults: {assertions: [inherit]}",
			map[string]string{"a/b/c.yaml": own + "extends: d.yaml\ndefaults: {assertions: [inherit, {type: toolNeverCalled, toolName: c}]}",
				"a/b/d.yaml": own + "defaults: {assertions: [{type: noToolErrors}]}"}, "", "noToolErrors, toolNeverCalled c"},
		{"an absent list to inherit is empty", "s.yaml", own + "extends: b.yaml\nsuite: {id: a}\ndefaults: {assertions: [inherit]}", map[string]string{"b.yaml": own}, "", ""},
		{"a list without inherit replaces", "s.yaml", own + "extends: b.yaml\nsuite: {id: a}\ndefaults: {assertions: [{type: noToolErrors}]}",
			map[string]string{"b.yaml": own + "defaults: {assertions: [{type: toolNeverCalled, toolName: c}]}"}, "", "noToolErrors"},
		{"the identity is no part of it", "s.yaml", own + "extends: b.yaml\n", map[string]string{"b.yaml": own + "suite: {id: b}"}, "s.yaml:1:1: suite: missing", ""},
		{"the name is no part of it", "s.yaml", own + "extends: b.yaml\nsuite: {id: a}\n", map[string]string{"b.yaml": own + "suite: {id: b, name: Base}"}, "", ""},
		{"a parent without a version", "s.yaml", own + "extends: b.yaml\nsuite: {id: a}\n", map[string]string{"b.yaml": "suite: {id: b}"}, "b.yaml:1:1: schemaVersion: expected \"sixlink/1\": only such a file can be extended", ""},
		{"an empty parent", "s.yaml", own + "extends: b.yaml\nsuite: {id: a}\n", map[string]string{"b.yaml": ""}, "b.yaml:1:1: the suite is empty", ""},
		{"a parent too large", "s.yaml", own + "extends: b.yaml\nsuite: {id: a}\n", map[string]string{"b.yaml": strings.Repeat("# x\n", 1<<18+1)}, "b.yaml:1:1: the suite has more than 1048576 bytes", ""},
		{"a parent's key that nothing knows", "s.yaml", own + "extends: b.json\nsuite: {id: a}\n", map[string]string{"b.json": "{\"schemaVersion\": \"sixlink/1\",\n \"defalts\": {}}"}, "b.json:2:2: defalts: unknown key", ""},
		{"no string", "s.yaml", own + "extends: [a, b]\nsuite: {id: a}\n", nil, "s.yaml:2:10: extends: expected a string", ""},
		{"blank", "s.yaml", own + "extends: ''\nsuite: {id: a}\n", nil, "s.yaml:2:10: extends: expected a string", ""},
		{"too many files", "0.yaml", chain["0.yaml"], chain, "7.yaml:2:10: extends: more than 8 files", ""},
		{"more checks together than a list may have", "s.yaml", own + "extends: b.yaml\nsuite: {id: a}\ndefaults: {assertions: [inherit, {type: noToolErrors}]}",
			map[string]string{"b.yaml": own + "defaults: {assertions: [" + strings.Repeat("{type: noToolErrors},", 50) + "]}"}, "s.yaml:4:24: defaults.assertions: 51 elements, more than 50", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := grade.LoadSuite(c.file, []byte(c.data), files(c.files))
			if c.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := checkWords(s.Assertions); got != c.assertions || s.ID != "a" || s.Name != "" {
				t.Errorf("%s of %s %q, want %s", got, s.ID, s.Name, c.assertions)
			}
		})
	}
}

// Where no function reads files, none is read.
func TestExtendsWithoutFiles(t *testing.T) {
	_, err := grade.LoadSuite("s", []byte(own+"extends: b.yaml\nsuite: {id: a}\n"), nil)
	if err == nil || err.Error() != "s:2:10: extends: no other file is read here" {
		t.Error(err)
	}
}

// A case that a parent has stays the parent's: its place is there.
func TestInheritedCasesKeepTheirPlace(t *testing.T) {
	s, err := grade.LoadSuite("s.yaml", []byte(own+"extends: b.yaml\nsuite: {id: a}\ndefaults: {assertions: [{type: noToolErrors}]}\ncases: [{id: mine}, inherit]\n"),
		files(map[string]string{"b.yaml": own + "defaults: {passThreshold: 0.5}\ncases:\n  - {id: theirs}\n"}))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases[1]
	if len(s.Cases) != 2 || c.ID != "theirs" || c.File != "b.yaml" || c.Pos.Line != 4 || checkWords(c.Assertions) != "noToolErrors" || c.PassThreshold.RatString() != "1/2" {
		t.Errorf("%+v", c)
	}
}
