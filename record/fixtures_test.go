package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The recordings in fixtures/ were made by another program (fixtures/record.py),
// from FORMAT.md alone; what is in them was counted by a third (fixtures/expect.py).
func TestRecordingsOfAnotherWriter(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "fixtures", "recordings", "*"+Suffix))
	if len(paths) < 10 {
		t.Fatalf("only %d fixtures", len(paths))
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), Suffix)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "fixtures", "expect", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Directions map[string]struct {
					Lines, Bytes int
					SHA256       string
				}
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			recs, end := readAll(t, path, Options{Verify: true})
			if end.State != Sealed || end.Torn || end.Damage != nil || end.Gaps != 0 {
				t.Errorf("%+v", end)
			}
			if len(want.Directions) == 0 {
				t.Fatal("nothing is expected")
			}
			for from, s := range want.Directions {
				got := reconstruct(recs, From(from))
				sum := sha256.Sum256([]byte(got))
				if len(got) != s.Bytes || hex.EncodeToString(sum[:]) != s.SHA256 {
					t.Errorf("%s: %d bytes with hash %x, want %d with %s", from, len(got), sum, s.Bytes, s.SHA256)
				}
			}
			checkOrder(t, recs)
			// What it holds, our own writer writes the same way.
			for _, r := range recs {
				if r.Kind != KindFrame || r.Cont || r.More || r.Headless {
					continue
				}
				data := append(append([]byte(nil), r.Data...), r.EOL...)
				ours := appendFrame(nil, &frame{seq: r.Seq, at: r.At, from: r.From, off: r.Off, since: r.Since, data: data,
					total: int64(len(data)), masked: r.Masked})
				if string(ours) != string(r.Line)+"\n" {
					t.Errorf("seq %d: ours\n%.300s\ntheirs\n%.300s", r.Seq, ours, r.Line)
				}
			}
		})
	}
}

// A recording as it is written under pressure, made by another program
// (fixtures/runs.py) from FORMAT.md alone, and the lines that it stands for.
func TestRunsOfAnotherWriter(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	recs, end := readAll(t, filepath.Join("testdata", "runs"+Suffix), Options{Verify: true})
	if end.State != Sealed || end.Damage != nil || end.Gaps != 0 || end.Runs != 3 {
		t.Errorf("%+v", end)
	}
	if len(recs) != len(want) {
		t.Fatalf("%d lines, want %d", len(recs), len(want))
	}
	for i, r := range recs {
		if string(r.Line) != want[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i, r.Line, want[i])
		}
	}
}
