package claudecode_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/claudecode"
)

// fuzz holds an importer to what is true of every input: no panic, the same
// conversations of the same bytes, references that lead into the lists, and a
// neutral form that reads back as it was.
func fuzz(f *testing.F, im *host.Importer, seeds ...string) {
	for _, name := range seeds {
		for _, s := range fuzzFiles(f, name) {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := im.Import([]*host.File{host.BytesFile("f.jsonl", data)})
		again, err2 := im.Import([]*host.File{host.BytesFile("f.jsonl", data)})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%v, then %v", err, err2)
		}
		if err != nil {
			return
		}
		var a, b bytes.Buffer
		if err := host.Write(&a, first...); err != nil {
			t.Fatal(err)
		}
		if err := host.Write(&b, again...); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("two imports differ:\n%s\n%s", a.Bytes(), b.Bytes())
		}
		back, err := host.Read(bytes.NewReader(a.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, a.Bytes())
		}
		if d := cmp.Diff(first, back); d != "" {
			t.Fatalf("-written +read\n%s", d)
		}
		for _, c := range first {
			for i, turn := range c.Turns {
				if turn.Index != i || turn.Status == "" || turn.FinalText.State == "" {
					t.Fatalf("turn %d is %+v", i, turn)
				}
			}
			for _, m := range c.Messages {
				if m.Turn < -1 || m.Turn >= len(c.Turns) || m.Src.Source >= len(c.Sources) {
					t.Fatalf("message %+v of %d turns", m, len(c.Turns))
				}
			}
			for _, k := range c.Calls {
				if k.Turn < -1 || k.Turn >= len(c.Turns) || k.Kind == "" {
					t.Fatalf("call %+v of %d turns", k, len(c.Turns))
				}
			}
		}
	})
}

func fuzzFiles(f *testing.F, name string) [][]byte {
	f.Helper()
	var out [][]byte
	for _, s := range readSample(f, name) {
		// Whole files are too big to mutate: pieces of some lines.
		lines := bytes.SplitAfter(s.data, []byte("\n"))
		for i := 0; i < len(lines); i += 12 {
			out = append(out, bytes.Join(lines[i:min(len(lines), i+12)], nil))
		}
	}
	return out
}

func FuzzSession(f *testing.F) {
	fuzz(f, claudecode.Session, "claude-code-jsonl", "rig-claude-code/1.0.98/projects", "rig-claude-code/2.0.65/projects")
}

func FuzzStream(f *testing.F) {
	fuzz(f, claudecode.Stream, "rig-claude-code/2.0.65/stream-1.ndjson", "rig-claude-code/2.1.332-hooks/stream-replay-user-messages.ndjson",
		"claude-code-subagents/stream.ndjson", "paired-claude-code/host-verbose.json", "rig-claude-code/1.0.98/stream-3.ndjson")
}

func FuzzHooks(f *testing.F) {
	fuzz(f, claudecode.Hooks, "rig-claude-code/2.1.332-hooks/hooks.ndjson", "claude-code-subagents/hooks.ndjson")
}
