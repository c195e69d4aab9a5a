package claudecode_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/claudecode"
)

// BenchmarkSession reads a real session file (2.1.332, 128 kB) in memory; MB/s
// count its bytes once, though they are read twice.
func BenchmarkSession(b *testing.B) {
	names, err := filepath.Glob(hostsDir + "rig-claude-code/2.1.332/projects/*/*.jsonl")
	if err != nil || len(names) != 1 {
		b.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := claudecode.Session.Import([]*host.File{host.BytesFile("s.jsonl", data)}); err != nil {
			b.Fatal(err)
		}
	}
}
