// Package hosttest holds importers to samples: golden conversations in the
// neutral format, cuts at every line, and what must be true of any conversation
// whatever the bytes were. Tests alone import it.
package hosttest

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/importers"
)

var update = flag.Bool("update", false, "rewrite the golden conversations")

// Dir is fixtures/hosts, seen from a package of an importer.
const Dir = "../../../fixtures/hosts/"

// Import reads a sample with the importer that its content asks for.
func Import(t testing.TB, name string) []*host.Conversation {
	t.Helper()
	cs, err := host.Import(Dir+name, importers.All(), host.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return cs
}

// Text reads a transcript that a test wrote down.
func Text(t testing.TB, name, data string) []*host.Conversation {
	t.Helper()
	cs, err := host.ImportFiles([]*host.File{host.BytesFile(name, []byte(data))}, importers.All(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		Sound(t, c)
	}
	return cs
}

// One is the only conversation.
func One(t testing.TB, cs []*host.Conversation) *host.Conversation {
	t.Helper()
	if len(cs) != 1 {
		t.Fatalf("%d conversations, want one", len(cs))
	}
	return cs[0]
}

// Golden compares each sample, whole, with testdata/golden. go test -update
// rewrites those; what they must say is in the readings by hand and the oracles.
func Golden(t *testing.T, samples ...string) {
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			cs := Import(t, name)
			for _, c := range cs {
				Sound(t, c)
			}
			var got bytes.Buffer
			if err := host.Write(&got, cs...); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "golden", strings.ReplaceAll(name, "/", "~")+".jsonl")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
				t.Errorf("-golden +imported\n%s", d)
			}
		})
	}
}

// Sound says what is true of every conversation: places are inside their lists,
// ids are those of calls, states fit, and the neutral format gives it back.
func Sound(t testing.TB, c *host.Conversation) {
	t.Helper()
	turns := len(c.Turns)
	calls := map[string]int{}
	for i, k := range c.Calls {
		if k.Turn < -1 || k.Turn >= turns {
			t.Fatalf("call %d is of turn %d of %d", i, k.Turn, turns)
		}
		if k.HostCallID != "" {
			if _, again := calls[k.HostCallID]; again {
				t.Fatalf("call %q is there twice", k.HostCallID)
			}
			calls[k.HostCallID] = k.Turn
		}
		if k.Args != nil && k.ArgsSource == "" || k.Args != nil && k.ArgsError != "" || k.Args == nil && k.ArgsSource != "" {
			t.Fatalf("call %d: arguments %v from %q, error %q", i, k.Args, k.ArgsSource, k.ArgsError)
		}
		if k.Kind == "" {
			t.Fatalf("call %d has no kind", i)
		}
		if k.Src.Source < 0 || k.Src.Source >= len(c.Sources) || k.ResultSrc.Source >= len(c.Sources) {
			t.Fatalf("call %d is of source %d of %d", i, k.Src.Source, len(c.Sources))
		}
	}
	for i, m := range c.Messages {
		if m.Turn < -1 || m.Turn >= turns {
			t.Fatalf("message %d is of turn %d of %d", i, m.Turn, turns)
		}
		if m.Src.Source < 0 || m.Src.Source >= len(c.Sources) {
			t.Fatalf("message %d is of source %d of %d", i, m.Src.Source, len(c.Sources))
		}
	}
	for i, u := range c.Turns {
		if u.Index != i || u.Status == "" || u.Origin == "" || u.FinalText.State == "" {
			t.Fatalf("turn %d: %+v", i, u)
		}
		if (u.FinalText.State == host.HasText) != (u.FinalText.Text.Text != "" || u.FinalText.Text.Cut) {
			t.Fatalf("turn %d: final text %+v", i, u.FinalText)
		}
		if u.EndedAt.Before(u.StartedAt) && !u.EndedAt.IsZero() {
			t.Fatalf("turn %d ends before it starts", i)
		}
		for _, id := range u.CallIDs {
			if of, ok := calls[id]; !ok || of != i {
				t.Fatalf("turn %d names the call %q", i, id)
			}
		}
		if u.Status == host.Open && i < turns-1 {
			t.Fatalf("turn %d of %d is open", i, turns)
		}
	}
	for _, s := range c.Sources {
		if s.Format == "" || strings.HasPrefix(s.Path, "/") {
			t.Fatalf("source %+v", s)
		}
		if (s.Cut || s.ErrorCount > 0) && turns > 0 && c.Caps.Calls == host.Present && c.Caps.Turns == host.Present && s.Format != "chatgpt-export" && s.Format != "claude-ai-export" {
			t.Fatalf("source %+v and caps %+v", s, c.Caps)
		}
	}
	var out bytes.Buffer
	if err := host.Write(&out, c); err != nil {
		t.Fatal(err)
	}
	back, err := host.Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.Bytes())
	}
	if reflect.DeepEqual([]*host.Conversation{c}, back) {
		return // some hundred times faster than to look for a difference
	}
	if d := cmp.Diff([]*host.Conversation{c}, back); d != "" {
		t.Fatalf("-written +read\n%s", d)
	}
}

// Cut cuts a sample after every line and inside every line. What is read of the
// rest must be true of the whole, and what is missing must be said. It is for
// files that grow at their end.
func Cut(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(Dir + name)
	if err != nil {
		t.Fatal(err)
	}
	whole := One(t, Import(t, name))
	im, err := host.Detect(host.BytesFile(filepath.Base(name), data), importers.All())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, l := range bytes.SplitAfter(data, []byte("\n")) {
		for _, cut := range []int{at + len(l)/2, at + len(l)} {
			im.Detect(name, data[:cut])
			cs, err := im.Import([]*host.File{host.BytesFile(filepath.Base(name), data[:cut])})
			if err != nil {
				if !errors.Is(err, host.ErrNothing) {
					t.Fatalf("cut at %d: %v", cut, err)
				}
				continue
			}
			c := One(t, cs)
			Sound(t, c)
			inside := cut == at+len(l)/2 && len(bytes.TrimSpace(l)) > 2
			if inside && (!c.Sources[0].Cut || c.Caps.Calls != host.Partial || c.Caps.Turns == host.Present) {
				t.Errorf("cut at %d, inside a line: source %+v, caps %+v", cut, c.Sources[0], c.Caps)
			}
			if len(c.Turns) > len(whole.Turns) {
				t.Fatalf("cut at %d: %d turns of %d", cut, len(c.Turns), len(whole.Turns))
			}
			for i := range c.Turns {
				got, want := &c.Turns[i], &whole.Turns[i]
				if got.Status == host.Open {
					if c.Caps.Turns == host.Present || c.Caps.FinalText == host.Present || c.Caps.Calls != host.Partial {
						t.Errorf("cut at %d: turn %d is open, caps %+v", cut, i, c.Caps)
					}
					continue
				}
				if got.FinalText.Text != want.FinalText.Text || got.FinalText.State != want.FinalText.State {
					t.Errorf("cut at %d: turn %d (%s) ends with %q", cut, i, got.Status, got.FinalText.Text.Text)
				}
				if d := cmp.Diff(want.CallIDs, got.CallIDs); d != "" {
					t.Errorf("cut at %d: turn %d (%s): %s", cut, i, got.Status, d)
				}
			}
		}
		at += len(l)
	}
}

// CutDocument cuts a file that is one document at every line: the cut is said, or
// nothing can be read.
func CutDocument(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(Dir + name)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.TrimSpace(data)
	im, err := host.Detect(host.BytesFile(filepath.Base(name), data), importers.All())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, l := range bytes.SplitAfter(data, []byte("\n")) {
		at += len(l)
		if at == len(data) {
			break
		}
		for _, cut := range []int{at, at - len(l)/2} {
			cs, err := im.Import([]*host.File{host.BytesFile(filepath.Base(name), data[:cut])})
			if err != nil {
				if !errors.Is(err, host.ErrNothing) {
					t.Fatalf("cut at %d: %v", cut, err)
				}
				continue
			}
			for _, c := range cs {
				Sound(t, c)
				if !c.Sources[0].Cut {
					t.Errorf("cut at %d: source %+v", cut, c.Sources[0])
				}
			}
		}
	}
}

// ImportBytes reads bytes with the importer that they ask for.
func ImportBytes(name string, data []byte) ([]*host.Conversation, error) {
	return host.ImportFiles([]*host.File{host.BytesFile(name, data)}, importers.All(), host.Options{})
}

// LineEnds reads a sample of lines once more with CRLF, blank lines and a byte
// order mark, and behind a broken line: the conversation is the same.
func LineEnds(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(Dir + name)
	if err != nil {
		t.Fatal(err)
	}
	plain := One(t, Import(t, name))
	changed := append([]byte("\xef\xbb\xbf"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n\r\n"))...)
	cs, err := ImportBytes(filepath.Base(name), changed)
	if err != nil {
		t.Fatal(err)
	}
	crlf := One(t, cs)
	if s := crlf.Sources[0]; s.ErrorCount != 0 || s.Cut || s.Skipped["blank line"] == 0 {
		t.Errorf("source %+v", s)
	}
	same(t, "CRLF", plain, crlf)
	broken := append(append([]byte(nil), data...), "\x00\xff binary\n[1]\n{\"a\":\n"...)
	if cs, err = ImportBytes(filepath.Base(name), broken); err != nil {
		t.Fatal(err)
	}
	bin := One(t, cs)
	if s := bin.Sources[0]; s.ErrorCount != 3 || bin.Caps.Calls != host.Partial {
		t.Errorf("source %+v, caps %+v", s, bin.Caps)
	}
	same(t, "broken lines", plain, bin)
}

func same(t *testing.T, what string, a, b *host.Conversation) {
	t.Helper()
	text := func(c *host.Conversation) (out []string) {
		for _, u := range c.Turns {
			out = append(out, string(u.Status)+" "+u.FinalText.Text.Text+" "+strings.Join(u.CallIDs, ","))
		}
		return out
	}
	if d := cmp.Diff(text(a), text(b)); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// Fuzz hands any bytes to one importer: it may refuse them; what it makes of them
// is sound, and the same each time.
func Fuzz(f *testing.F, im *host.Importer, samples ...string) {
	for _, name := range samples {
		data, err := os.ReadFile(Dir + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return // larger ones are slow and show nothing else
		}
		im.Detect("x.jsonl", data)
		cs, err := im.Import([]*host.File{host.BytesFile("x.jsonl", data)})
		if err != nil {
			return
		}
		for _, c := range cs {
			Sound(t, c)
		}
		again, err := im.Import([]*host.File{host.BytesFile("x.jsonl", data)})
		if err != nil {
			t.Fatal(err)
		}
		var a, b bytes.Buffer
		if host.Write(&a, cs...) != nil || host.Write(&b, again...) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("twice read, twice different:\n%s\n%s", a.Bytes(), b.Bytes())
		}
	})
}

// Stream is a file of n times a chunk, for tests of memory.
func Stream(name, head, chunk string, n int) *host.File {
	return &host.File{Name: name, Open: func() (io.ReadCloser, error) {
		rs := []io.Reader{strings.NewReader(head)}
		for range n {
			rs = append(rs, strings.NewReader(chunk))
		}
		return io.NopCloser(io.MultiReader(rs...)), nil
	}}
}

// Usage is a turn's figure of a source, of the main agent: input uncached, cache
// read, output, total; -1 where a count is unknown, nil where there is no figure.
func Usage(u *host.Turn, source string) []int64 {
	for _, f := range u.Usage {
		if f.Source == source && f.Agents != host.SubAgents {
			return Counts(&f)
		}
	}
	return nil
}

// Counts are a figure's counts as Usage gives them.
func Counts(f *host.Usage) (out []int64) {
	for _, c := range []host.Count{f.InputUncached, f.CacheRead, f.Output, f.Total} {
		if !c.Known {
			c.N = -1
		}
		out = append(out, c.N)
	}
	return out
}
