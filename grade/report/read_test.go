package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade/predicate"
)

// small is a verdict of two short trials.
func small(t testing.TB) string {
	v := Of(gradeAll(t, suiteOf(t, map[string]int{"a": 100}), runOf("1", map[string][]int{"a": {40, 0}})...))
	return string(render(t, v, "json", Options{}))
}

func TestReadRefuses(t *testing.T) {
	good := small(t)
	for _, c := range []struct{ name, old, new, want string }{
		{"another schema", `"sixlink/verdict/1"`, `"sixlink/verdict/2"`, `schema "sixlink/verdict/2": expected sixlink/verdict/1`},
		{"no schema", `"schema": "sixlink/verdict/1",`, ``, "no schema before its cases"},
		{"no verdict of the run", "  \"verdict\": \"passed\",\n  \"reasons\"", "  \"verdict\": \"great\",\n  \"reasons\"", `"great" is none of`},
		{"a state that is none", `"state": "failed"`, `"state": "fine"`, `links.state: "fine"`},
		{"a link out of order", `"link": "connection",
              "state"`, `"link": "call",
              "state"`, "links.link"},
		{"an escape sequence as a check", `"check": "noToolErrors"`, `"check": "\u001b[2J"`, `is no name`},
		{"a newline as a reason", `"reason": "toolError"`, `"reason": "a\n::error::b"`, "is no name"},
		{"counts that are not those of the trials", `"passed": 1`, `"passed": 2`, "its counts are not those of its trials"},
		{"a number that does not fit", `"calls": 1,`, `"calls": 1e400,`, ""},
		{"records without their recordings", `"records": [6, 7]`, `"records": [6, 7], "recordings": ["x"], "servers": ["y", "z"]`, "are not as many"},
		{"a key twice", `"analyzerVersion"`, `"schema": "sixlink/verdict/1", "analyzerVersion"`, "schema"},
		{"no time", `"startedAt": "`, `"startedAt": "x`, "is no time"},
		{"latencies that nobody counted", `"count": 1`, `"count": 0`, "its count is not that of ns"},
		{"a place before the file", `"line": 7`, `"line": -7`, "no place"},
		{"something behind it", "\n}\n", "\n}\n{}", "something follows"},
		{"its end missing", "\n}\n", "\n", "ends too early"},
		{"an array", good, "[]", "expected an object"},
		{"nothing", good, "", "ends too early"},
		{"nesting without an end", `"title": "The case a"`, `"title": ` + strings.Repeat("[", 20000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatal("nothing was changed")
			}
			_, err := Read(strings.NewReader(text), int64(len(text)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A newer version may have written more; a verdict of an older one has less.
func TestReadIsAdditive(t *testing.T) {
	good := small(t)
	more := strings.NewReplacer(`"analyzerVersion"`, `"later": {"a": [1]}, "analyzerVersion"`, `"counted"`, `"later": null, "counted"`, `"why"`, `"later": [{}], "why"`).Replace(good)
	v, err := Read(strings.NewReader(more), int64(len(more)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(good, string(render(t, v, "json", Options{}))); diff != "" {
		t.Error(diff)
	}
	less := strings.ReplaceAll(strings.ReplaceAll(good, `"facts"`, `"facts_"`), `"configHash"`, `"configHash_"`)
	if v, err = Read(strings.NewReader(less), int64(len(less))); err != nil || v.Cases[0].ConfigHash != "" {
		t.Fatal(err)
	}
	for _, f := range Formats() {
		render(t, v, f.Name, Options{})
	}
}

// One value may not fill the memory.
func TestReadBoundsAValue(t *testing.T) {
	head := `{"schema": "sixlink/verdict/1", "cases": [{"id": "`
	_, err := read(&endless{head: head}, 1<<30, 1<<20)
	if err == nil || !strings.Contains(err.Error(), "one value is over 1048576 bytes") {
		t.Error(err)
	}
}

// endless is a file that goes on with the letter a.
type endless struct{ head string }

func (e *endless) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		p[i] = 'a'
		if k := at + int64(i); k < int64(len(e.head)) {
			p[i] = e.head[k]
		}
	}
	return len(p), nil
}

// What a transcript tells goes to the JSON and back.
func TestConversationIsRead(t *testing.T) {
	v := shopVerdict(t)
	each := v.Cases[0].each
	v.Cases[0].each = func(do func(*Trial) error) error {
		return each(func(t *Trial) error {
			t.Conversation = &Conversation{Host: "codex", Session: "s\u202e", Join: "joined", Why: "by ids", HostOnly: []string{"delete: denied\x1b"}, More: 3}
			t.Facts.Tokens = &predicate.Usage{Input: 12, Output: -1, Total: 30}
			t.Facts.Model = "m1"
			return do(t)
		})
	}
	text := string(render(t, v, "text", Options{Verbose: true}))
	if !strings.Contains(text, "transcript of codex: joined, by ids") || !strings.Contains(text, `never on the wire: delete: denied\u001b`) || !strings.Contains(text, "and 3 more") {
		t.Error(text)
	}
	again := stored(t, v)
	for _, f := range Formats() {
		if diff := cmp.Diff(string(render(t, v, f.Name, Options{Verbose: true})), string(render(t, again, f.Name, Options{Verbose: true}))); diff != "" {
			t.Errorf("%s:\n%s", f.Name, diff)
		}
	}
}

// FuzzRead: whatever is read renders in every format, and its JSON reads as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small(f)))
	f.Add([]byte(`{"schema":"sixlink/verdict/1","cases":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Read(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return
		}
		for _, format := range Formats() {
			if err := format.Write(io.Discard, v, Options{Verbose: true}); err != nil {
				t.Fatal(format.Name, err)
			}
		}
		one := render(t, v, "json", Options{})
		again, err := Read(bytes.NewReader(one), int64(len(one)))
		if err != nil {
			t.Fatalf("%v:\n%s", err, one)
		}
		if two := render(t, again, "json", Options{}); !bytes.Equal(one, two) {
			t.Fatalf("%s\n%s", one, two)
		}
		if _, err := Compare(v, again, Gates{FailOn: Statuses, MinSamples: 1, MaxP95IncreaseMs: new(float64), MaxPassRateDrop: new(float64)}); err != nil && !strings.Contains(err.Error(), "twice") {
			t.Fatal(err)
		}
		if _, err := MatrixOf("host", v, again); err != nil {
			t.Fatal(err)
		}
		if r, err := RunOf(v, ""); err == nil {
			HistoryOf([]*RunPoint{r, r})
		}
	})
}
