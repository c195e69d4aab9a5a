package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// A trial over two servers, from files: the same bytes whatever the order of the files
// and the number of processors, and however the recordings are kept.
func TestTrialOverServersBytesAreTheSame(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	suite := h.path("suite.yaml")
	put := func(file string, data []byte) string {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	put(suite, []byte(`schemaVersion: sixlink/1
suite: {id: parts}
defaults:
  assertions:
    - {type: noToolErrors}
    - {type: toolNamesUnique}
    - {type: firstToolWas, toolName: absent}
    - {type: toolResultContains, needle: e}
    - {type: toolResultSizeUnder, maxBytes: 300}
    - {type: argumentsMatchToolSchema}
`))
	layouts := map[string][]string{}
	parts := 0
	for i, name := range []string{"ts1-memory-stdio", "mcpgo-legacy-stdio", "ts1-everything-stdio"} {
		path := filepath.Join(fixtures.Dir(), "recordings", name+record.Suffix)
		labels := `{"trial":"7","server":"` + name + `"}`
		if i == 2 {
			labels = `{"trial":"8"}` // by itself
		} else {
			parts++
		}
		file := func(layout, suffix string) string {
			if err := os.MkdirAll(h.path(layout), 0o700); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(h.path(layout), name+suffix)
		}
		whole := plainSegments(t, path, 1, labels)[0]
		layouts["whole"] = append(layouts["whole"], put(file("whole", record.Suffix), packedAt(t, whole, zstd.SpeedDefault)))
		layouts["plain"] = append(layouts["plain"], put(file("plain", ".mcp.jsonl"), whole))
		var one []byte
		for k, s := range plainSegments(t, path, 3, labels) {
			packed := packedAt(t, s, zstd.SpeedFastest)
			one = append(one, packed...)
			suffix := record.Suffix
			if k > 0 {
				suffix = fmt.Sprintf(".%04d%s", k, record.Suffix)
			}
			layouts["files"] = append(layouts["files"], put(file("files", suffix), packed))
		}
		layouts["one"] = append(layouts["one"], put(file("one", record.Suffix), one))
	}
	var want []byte
	for _, name := range []string{"whole", "plain", "one", "files"} {
		files := layouts[name]
		for k := range 2 {
			c := h.command(t, append([]string{"sixlink", "grade", "--suite", suite, "--format", "json"}, files...)...)
			c.Env = append(c.Environ(), fmt.Sprintf("GOMAXPROCS=%d", k+1))
			d := finish(t, c)
			noTrace(t, d)
			if d.code != exitFinding {
				t.Fatalf("%s: status %d: %s", name, d.code, d.err)
			}
			if want == nil {
				want = d.out
			}
			if !bytes.Equal(want, d.out) {
				t.Errorf("%s, run %d: other bytes: %.2000s", name, k, d.out)
			}
			slices.Reverse(files)
		}
	}
	if n := bytes.Count(want, []byte(`"parts": [`)); n != 1 || bytes.Count(want, []byte(`"session": "s1",`+"\n              \"server\"")) != parts {
		t.Errorf("%d trials of several parts in %.3000s", n, want)
	}
	for _, text := range []string{`"server": "ts1-memory-stdio"`, `"server": "mcpgo-legacy-stdio"`, `of \"mcpgo-legacy-stdio\" (record `} {
		if !bytes.Contains(want, []byte(text)) {
			t.Errorf("no %s", text)
		}
	}

	// A part that cannot be read may be of any trial; one of which the labels can be read
	// counts with its own.
	source := func(name string) string { return filepath.Join(fixtures.Dir(), "recordings", name+record.Suffix) }
	whole := put(h.path("a.mcp.jsonl"), plainSegments(t, source("ts1-seqthinking-stdio"), 1, `{"trial":"9","server":"thinking"}`)[0])
	segments := plainSegments(t, source("ts1-memory-stdio"), 3, `{"trial":"9","server":"memory"}`)
	for _, c := range []struct {
		name string
		data []byte
		want string
		code int
	}{
		{"no header", []byte("{\"kind\":\"header\"}\n"), "may be a part of this trial", exitUnknown},
		{"the beginning alone", segments[0], `server "memory"`, exitUnknown},
		{"the end alone", segments[2], `server "memory"`, exitFinding},
	} {
		d := h.run(t, "sixlink", "grade", whole, put(h.path("b.mcp.jsonl"), c.data))
		noTrace(t, d)
		if flat := strings.Join(strings.Fields(string(d.out)), " "); d.code != c.code || !strings.Contains(flat, c.want) {
			t.Errorf("%s: status %d, no %q in\n%s%s", c.name, d.code, c.want, d.out, d.err)
		}
	}
}
