package host_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
)

// lineOf makes an importer that knows files by a word in their first bytes.
func lineOf(name, word string, sure host.Sure) *host.Importer {
	return &host.Importer{Name: name, Version: "7",
		Detect: func(_ string, head []byte) host.Sure {
			if bytes.Contains(head, []byte(word)) {
				return sure
			}
			return host.No
		},
		Import: func(files []*host.File) ([]*host.Conversation, error) {
			c := &host.Conversation{Host: host.Host{Name: name}}
			for _, f := range files {
				c.Sources = append(c.Sources, host.Source{Path: f.Name})
			}
			return []*host.Conversation{c}, nil
		}}
}

// told is which importer got which files.
func told(cs []*host.Conversation) (out []string) {
	for _, c := range cs {
		s := c.Host.Name
		for _, f := range c.Sources {
			s += " " + f.Path
			if f.Importer != "" && f.Importer != c.Host.Name {
				s += "(" + f.Importer + ")"
			}
		}
		out = append(out, s)
	}
	return out
}

const neutral = `{"kind":"conversation","schema":"sixlink-conversation/1.0","host":{"name":"mine"}}` + "\n" + `{"kind":"turn","finalText":"x"}` + "\n"

func TestImportFiles(t *testing.T) {
	list := []*host.Importer{lineOf("red", "red", host.Likely), lineOf("blue", "blue", host.Certain), lineOf("sky", "sky", host.Certain)}
	file := func(name, data string) *host.File { return host.BytesFile(name, []byte(data)) }
	for _, tt := range []struct {
		name   string
		files  []*host.File
		format string
		want   []string
		err    string
	}{
		{name: "the surest importer has the file", files: []*host.File{file("a", "red and blue")}, want: []string{"blue a"}},
		{name: "files of one importer go together, in the order of their names, others apart",
			files: []*host.File{file("c", "red"), file("b", "blue"), file("a", "red"), file("n", neutral), file("z", "what")},
			want:  []string{"red a c", "blue b", "mine n(conversation)"}},
		{name: "two that are as sure", files: []*host.File{file("a", "blue sky")}, err: "a may be blue or sky; say which with --conversation-format"},
		{name: "none", files: []*host.File{file("a", "what")}, err: "a: no known transcript format; name it with --conversation-format"},
		{name: "none of several", files: []*host.File{file("a", "what"), file("b", "")}, err: "2 files: no known transcript format"},
		{name: "a format that is named", files: []*host.File{file("a", "blue sky"), file("b", "what")}, format: "red", want: []string{"red a b"}},
		{name: "a format that is not known", files: []*host.File{file("a", "red")}, format: "green",
			err: `conversation format "green" is not known; known are red, blue, sky, conversation`},
		{name: "a broken neutral file", files: []*host.File{file("n", neutral+"{")}, err: "n: line 3: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cs, err := host.ImportFiles(tt.files, list, host.Options{Format: tt.format})
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, told(cs)); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := host.ImportFiles(nil, list, host.Options{}); !errors.Is(err, host.ErrUnknownFormat) {
		t.Errorf("no files: %v", err)
	}
}

func TestImportFS(t *testing.T) {
	list := []*host.Importer{lineOf("red", "red", host.Certain)}
	fsys := fstest.MapFS{
		"p/b.jsonl": {Data: []byte("red")}, "p/a/x.ndjson": {Data: []byte("red")}, "p/notes.md": {Data: []byte("red")},
		"p/deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/far.json": {Data: []byte("red")},
	}
	cs, err := host.ImportFS(fsys, "p", list, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"red a/x.ndjson b.jsonl"}, told(cs)); d != "" {
		t.Error(d)
	}
	if cs, err = host.ImportFS(fsys, "p/notes.md", list, host.Options{}); err != nil || told(cs)[0] != "red notes.md" {
		t.Errorf("a file by its name: %v, %v", told(cs), err)
	}
	if _, err := host.ImportFS(fstest.MapFS{"p/x.png": {}}, "p", list, host.Options{}); !errors.Is(err, host.ErrUnknownFormat) {
		t.Errorf("a folder without transcripts: %v", err)
	}
	if _, err := host.ImportFS(fsys, "q", list, host.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
}

// A session file brings the files that may be its subagents'; a path of the
// machine is in no conversation.
func TestImportCompanions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"s.jsonl", "other.jsonl", "agent-1.jsonl", "s/subagents/agent-2.jsonl", "s/tool-results/r.txt"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("red"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := []*host.Importer{lineOf("red", "red", host.Certain)}
	for name, want := range map[string]string{
		"s.jsonl":       "red agent-1.jsonl s.jsonl s/subagents/agent-2.jsonl s/tool-results/r.txt",
		"other.jsonl":   "red agent-1.jsonl other.jsonl",
		"agent-1.jsonl": "red agent-1.jsonl",
		"s":             "red subagents/agent-2.jsonl tool-results/r.txt",
	} {
		cs, err := host.Import(filepath.Join(dir, name), list, host.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := told(cs)[0]; got != want {
			t.Errorf("%s gives %s, want %s", name, got, want)
		}
	}
	if _, err := host.Import(filepath.Join(dir, "gone"), list, host.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}

func TestLines(t *testing.T) {
	type line struct {
		Text                    string
		TooLong, Unended, Blank bool
	}
	for name, tt := range map[string]struct {
		in   string
		want []line
	}{
		"nothing":             {"", nil},
		"lf and crlf":         {"a\nb\r\n", []line{{Text: "a"}, {Text: "b"}}},
		"no end":              {"a\nb", []line{{Text: "a"}, {Text: "b", Unended: true}}},
		"blank":               {"\n \t\r\nx\n", []line{{Blank: true}, {Text: " \t", Blank: true}, {Text: "x"}}},
		"byte order mark":     {"\ufeffa\n\ufeffb\n", []line{{Text: "a"}, {Text: "\ufeffb"}}},
		"at the bound":        {"0123456789\r\nx\n", []line{{Text: "0123456789"}, {Text: "x"}}},
		"over the bound":      {"0123456789ABC\nx\n", []line{{TooLong: true}, {Text: "x"}}},
		"far over the bound":  {strings.Repeat("y", 200_000) + "\nx", []line{{TooLong: true}, {Text: "x", Unended: true}}},
		"the last is too big": {strings.Repeat("y", 200_000), []line{{TooLong: true, Unended: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := host.NewLines(strings.NewReader(tt.in), 10)
			var got []line
			for l.Next() {
				got = append(got, line{string(l.Bytes()), l.TooLong(), l.Unended(), l.Blank()})
			}
			if d := cmp.Diff(tt.want, got); d != "" || l.Err() != nil || l.Number() != int64(len(tt.want)) {
				t.Errorf("%v, %d lines\n%s", l.Err(), l.Number(), d)
			}
			if n, _ := l.Sum(); n != int64(len(tt.in)) {
				t.Errorf("%d bytes read of %d", n, len(tt.in))
			}
		})
	}
	// printf 'a\nb' | sha256sum
	l := host.NewLines(strings.NewReader("a\nb"), 0)
	for l.Next() {
	}
	if _, sum := l.Sum(); sum != "7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78" {
		t.Errorf("sum %s", sum)
	}
}

func TestKeeper(t *testing.T) {
	var k host.Keeper
	if got := k.Text("äöü", 6); got != (host.Text{Text: "äöü"}) {
		t.Errorf("whole: %+v", got)
	}
	// printf 'äöü' | sha256sum
	const sum = "bc329dbfa029f66476cb633afcd3136c65c840d0003ef6479583c09e64e2c33e"
	got := k.Text("äöü", 5)
	if got.Text != "äö" || !got.Cut || got.Bytes != 6 || got.SHA256 != sum {
		t.Errorf("cut inside a character: %+v", got)
	}
	if got := k.Text("a\xffb", 10); got.Text != "a\ufffdb" {
		t.Errorf("no UTF-8: %+v", got)
	}
	if v := k.Value([]byte(` { "a" : 1.0 } `)); string(v.JSON) != `{"a":1.0}` {
		t.Errorf("value %s", v.JSON)
	}
	if v := k.Value([]byte(`{`)); v != nil {
		t.Errorf("no JSON gives %+v", v)
	}
	// Values that are equal have one hash, however they are written.
	pad := strings.Repeat("x", host.MaxValue)
	a := k.Value([]byte(`{"a":1.0,"b":"` + pad + `"}`))
	b := k.Value([]byte(`{ "b" : "` + pad + `", "a":1e0}`))
	if a.JSON != nil || a.SHA256 == "" || a.SHA256 != b.SHA256 || a.Bytes == b.Bytes {
		t.Errorf("big values %+v, %+v", a, b)
	}
	// Results cannot take the room of texts.
	block := strings.Repeat("r", host.MaxValue)
	cut := 0
	for range host.MaxKept/host.MaxValue + 10 {
		if k.Result(block, host.MaxValue).Cut {
			cut++
		}
	}
	if cut == 0 || cut > 11 {
		t.Errorf("%d results were cut", cut)
	}
	if k.Text("the answer", host.MaxText).Cut {
		t.Error("the answer was cut")
	}
}

func TestJoined(t *testing.T) {
	var k host.Keeper
	var small, big, odd host.Joined
	small.Add("a")
	small.Add("")
	small.Add("b")
	if got := small.Keep(&k); got != (host.Text{Text: "ab"}) || small.Blank() {
		t.Errorf("%+v", got)
	}
	if !odd.Blank() {
		t.Error("nothing is not blank")
	}
	whole := strings.Repeat("0123456789", host.MaxText/4)
	for i := 0; i < len(whole); i += 100_000 {
		big.Add(whole[i:min(len(whole), i+100_000)])
	}
	if got, want := big.Keep(&k), k.Text(whole, host.MaxText); got != want || !got.Cut || got.Bytes != int64(len(whole)) {
		t.Errorf("pieces give %d bytes, %s; the whole %d, %s", len(got.Text), got.SHA256, len(want.Text), want.SHA256)
	}
	odd.Add(strings.Repeat("x", host.MaxText-1))
	odd.Add("ä and more")
	if got := odd.Keep(&k); len(got.Text) != host.MaxText-1 || !strings.HasSuffix(got.Text, "x") {
		t.Errorf("a cut inside a character leaves %d bytes", len(got.Text))
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]host.Count{
		"0": host.Known(0), "7": host.Known(7), "9007199254740991": host.Known(1<<53 - 1), "9007199254740992": {}, "-1": {}, "1.5": {},
		"1e3": {}, `"7"`: {}, "null": {}, "": {}, "99999999999999999999": {},
	} {
		if got := host.ParseCount([]byte(in)); got != want {
			t.Errorf("ParseCount(%s) = %+v, want %+v", in, got, want)
		}
	}
	u := host.Usage{InputUncached: host.Known(1), CacheRead: host.Known(2), Output: host.Known(1<<53 - 1)}
	if got := u.Input(); got != host.Known(3) {
		t.Errorf("input %+v", got)
	}
	u.Add(&host.Usage{InputUncached: host.Known(1), Output: host.Known(5)})
	if u.InputUncached != host.Known(2) || u.CacheRead.Known || u.Output != host.Known(1<<53-1) {
		t.Errorf("sum %+v", u)
	}
	if got := (&host.Usage{Output: host.Known(1)}).Input(); got.Known {
		t.Errorf("no input is %+v", got)
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := host.Write(&b, everything()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(neutral))
	f.Fuzz(func(t *testing.T, data []byte) {
		cs, err := host.Read(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of more than one line: %q", err)
			}
			return
		}
		var one, two bytes.Buffer
		if err := host.Write(&one, cs...); err != nil {
			t.Fatal(err)
		}
		again, err := host.Read(bytes.NewReader(one.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, one.Bytes())
		}
		if err := host.Write(&two, again...); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Fatalf("written twice:\n%s\n%s", one.Bytes(), two.Bytes())
		}
	})
}

// Files of one session that lie in several folders are one conversation, as in Import
// of a folder; each that is named must give something.
func TestImportTogether(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"a/s.jsonl": "red", "b/t.jsonl": "red", "b/s.jsonl": "red", "b/u.jsonl": "blue", "b/agent-1.jsonl": "red", "c/none.jsonl": "what", "c/empty.jsonl": "blank"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blank := lineOf("blank", "blank", host.Certain)
	blank.Import = func([]*host.File) ([]*host.Conversation, error) { return nil, host.ErrNothing }
	list := []*host.Importer{lineOf("red", "red", host.Certain), lineOf("blue", "blue", host.Certain), blank}
	for _, tt := range []struct {
		paths, format string
		want          []string
		err           string
	}{
		{paths: "a/s.jsonl b/t.jsonl", want: []string{"red agent-1.jsonl s.jsonl t.jsonl"}},
		{paths: "b/t.jsonl b/u.jsonl a/s.jsonl", want: []string{"red agent-1.jsonl s.jsonl t.jsonl", "blue u.jsonl"}},
		{paths: "a/s.jsonl b/s.jsonl", want: []string{"red agent-1.jsonl s.jsonl", "red s.jsonl"}},
		{paths: "a b/t.jsonl", want: []string{"red s.jsonl", "red agent-1.jsonl t.jsonl"}},
		{paths: "b/t.jsonl", want: []string{"red agent-1.jsonl t.jsonl"}},
		{paths: "b/u.jsonl c/none.jsonl", format: "red", want: []string{"red agent-1.jsonl none.jsonl u.jsonl"}},
		{paths: "a/s.jsonl c/none.jsonl", err: "none.jsonl: no known transcript format"},
		{paths: "a/s.jsonl c/empty.jsonl", err: "empty.jsonl: no conversation"},
		{paths: "a/s.jsonl c/gone.jsonl", err: "gone.jsonl: no such file"},
	} {
		t.Run(tt.paths, func(t *testing.T) {
			var paths []string
			for _, p := range strings.Fields(tt.paths) {
				paths = append(paths, filepath.Join(dir, p))
			}
			cs, err := host.ImportTogether(paths, list, host.Options{Format: tt.format})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, told(cs)); d != "" {
				t.Error(d)
			}
		})
	}
}
