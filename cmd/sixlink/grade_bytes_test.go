package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// segmentLines are the lines of one segment with its checks and its closing line
// (record/FORMAT.md 6), and the hash by which the next one names it.
func segmentLines(lines [][]byte, records, last int64, final bool) (text []byte, sum string) {
	hash := sha256.New()
	var out bytes.Buffer
	for _, l := range lines {
		hash.Write(l)
		out.Write(l)
	}
	check := func(part []byte, n int) {
		fmt.Fprintf(&out, `{"kind":"check","last":%d,"count":%d,"crc":"%08x"}`+"\n", last, n, crc32.Checksum(part, crc32.MakeTable(crc32.Castagnoli)))
	}
	check(bytes.Clone(out.Bytes()), len(lines))
	sum = hex.EncodeToString(hash.Sum(nil))
	closing := fmt.Sprintf(`{"kind":"closing","records":%d,"lastSeq":%d,"sha256":"%s","last":%v}`+"\n", records, last, sum, final)
	out.WriteString(closing)
	check([]byte(closing), 1)
	return out.Bytes(), sum
}

// plainSegments takes a recording of one segment apart into n of them, with the given
// labels (JSON) in the place of its own.
func plainSegments(t testing.TB, path string, n int, labels ...string) (segments [][]byte) {
	t.Helper()
	var header map[string]json.RawMessage
	var lines [][]byte
	for l := range bytes.Lines(unpacked(t, path)) {
		var kind struct{ Kind string }
		if err := json.Unmarshal(l, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "header":
			if err := json.Unmarshal(l, &header); err != nil {
				t.Fatal(err)
			}
		case "check", "closing":
		default:
			lines = append(lines, bytes.Clone(l))
		}
	}
	if len(labels) > 0 {
		header["labels"] = json.RawMessage(labels[0])
	}
	first, prev := int64(1), ""
	for i := range n {
		share := lines[len(lines)*i/n : len(lines)*(i+1)/n]
		var last struct{ Seq, At int64 }
		if err := json.Unmarshal(share[len(share)-1], &last); err != nil {
			t.Fatal(err)
		}
		head := `{"kind":"header"`
		for _, name := range []string{"format", "id", "start", "recorder", "transport", "level", "labels", "command", "at"} {
			if v := header[name]; v != nil {
				head += fmt.Sprintf(`,%q:%s`, name, v)
			}
		}
		head += fmt.Sprintf(`,"segment":%d,"firstSeq":%d`, i, first)
		if i > 0 {
			head += fmt.Sprintf(`,"prev":%q`, prev)
		}
		all := append([][]byte{[]byte(head + "}\n")}, share...)
		text, sum := segmentLines(all, last.Seq-first+1, last.Seq, i == n-1)
		segments = append(segments, text)
		first, prev = last.Seq+1, sum
	}
	return segments
}

func packedAt(t testing.TB, text []byte, level zstd.EncoderLevel) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(text, nil)
}

// The JSON is the same to the byte whatever the order of the files, the number of
// processors, the zone and language, the working folder, and however the same lines
// are kept: whole, in segments of one file or of several, packed more or less, or
// not at all.
func TestGradeBytesAreTheSame(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	suite := h.path("suite.yaml")
	if err := os.WriteFile(suite, []byte(`schemaVersion: sixlink/1
suite: {id: same}
defaults:
  assertions:
    - {type: noToolErrors}
    - {type: argumentsMatchToolSchema}
    - {type: toolLatencyUnder, ms: 5}
    - {type: toolResultSizeUnder, maxBytes: 300}
    - {type: toolResultContains, needle: e}
    - {type: toolDescriptionsPresent}
    - {type: toolNeverCalled, toolName: absent}
    - {type: noRepeatedIdenticalCall, role: advisory}
    - {type: finalAssistantMessageNonEmpty}
  matchOptions: {maxExtraToolCalls: 3}
  passThreshold: 0.7
`), 0o600); err != nil {
		t.Fatal(err)
	}
	recordings, err := filepath.Glob(filepath.Join(fixtures.Dir(), "recordings", "*"+record.Suffix))
	if err != nil || len(recordings) < 10 {
		t.Fatalf("%v %v", recordings, err)
	}
	// write lays every recording out in a folder of its own.
	write := func(folder string, lay func(name, path string) (file string)) (files []string) {
		if err := os.Mkdir(h.path(folder), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, path := range recordings {
			files = append(files, lay(filepath.Join(h.path(folder), strings.TrimSuffix(filepath.Base(path), record.Suffix)), path))
		}
		return files
	}
	put := func(file string, data []byte) string {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	layouts := map[string][]string{"as they are": recordings}
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedBestCompression} {
		layouts["packed "+level.String()] = write(level.String(), func(name, path string) string {
			return put(name+record.Suffix, packedAt(t, unpacked(t, path), level))
		})
	}
	layouts["not packed"] = write("plain", func(name, path string) string { return put(name+".mcp.jsonl", unpacked(t, path)) })
	layouts["segments in one file"] = write("one", func(name, path string) string {
		var all []byte
		for _, s := range plainSegments(t, path, 3) {
			all = append(all, packedAt(t, s, zstd.SpeedDefault)...)
		}
		return put(name+record.Suffix, all)
	})
	several := func(folder string) []string {
		return write(folder, func(name, path string) string {
			first := name + record.Suffix
			for i, s := range plainSegments(t, path, 3) {
				file := first
				if i > 0 {
					file = fmt.Sprintf("%s.%04d%s", name, i, record.Suffix)
				}
				put(file, packedAt(t, s, zstd.SpeedDefault))
			}
			return first
		})
	}
	layouts["segments in files"] = several("files")
	all, err := filepath.Glob(filepath.Join(h.path("files"), "*"))
	if err != nil || len(all) != 3*len(recordings) {
		t.Fatalf("%d files, %v", len(all), err)
	}
	layouts["segments in files, each named"] = all

	run := func(dir string, env []string, files []string) []byte {
		c := h.command(t, append([]string{"sixlink", "grade", "--suite", suite, "--format", "json"}, files...)...)
		c.Env = append(c.Environ(), env...)
		c.Dir = dir
		d := finish(t, c)
		noTrace(t, d)
		if d.code != exitFinding {
			t.Fatalf("status %d: %s", d.code, d.err)
		}
		return d.out
	}
	want := run("", nil, recordings)
	if !bytes.Contains(want, []byte(`"verdict": "failed"`)) && !bytes.Contains(want, []byte(`"verdict":"failed"`)) {
		t.Fatalf("%.300s", want)
	}
	same := func(what string, got []byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: differs at byte %d: %.200q, want %.200q", what, i, got[max(0, i-60):], want[max(0, i-60):])
		}
	}
	for name, files := range layouts {
		back := slices.Clone(files)
		slices.Reverse(back)
		same(name+", backwards", run("", []string{"GOMAXPROCS=1"}, back))
		same(name, run("", []string{"GOMAXPROCS=2"}, files))
	}
	for _, env := range [][]string{{"TZ=Pacific/Chatham", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8"}, {"TZ=UTC", "LANG=C", "LC_ALL=C"}, {"TZ=", "LANG=", "NO_COLOR=1"}} {
		same(strings.Join(env, " "), run("", env, recordings))
	}
	var relative []string
	for _, f := range recordings {
		relative = append(relative, filepath.Base(f))
	}
	same("another working folder", run(filepath.Join(fixtures.Dir(), "recordings"), nil, relative))
	for i := range 3 {
		same(fmt.Sprintf("run %d", i), run("", nil, recordings))
	}
}

// What is no recording is said, and is never a pass; nothing hangs or crashes.
func TestGradeOnWhatIsNoRecording(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	empty := h.path("empty" + record.Suffix)
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := h.path("folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(fixtures.Dir(), "recordings", "ts1-seqthinking-stdio"+record.Suffix)
	for _, path := range []string{empty, folder, "/dev/null", h.path("missing"), ""} {
		for _, with := range [][]string{{path}, {path, good}, {good, path}} {
			if path == folder { // one without recordings is a mistake of who calls
				d := h.run(t, append([]string{"sixlink", "grade"}, with...)...)
				noTrace(t, d)
				if d.code != exitUsage || !bytes.Contains(d.err, []byte("no recording")) {
					t.Errorf("%q: status %d: %s", with, d.code, d.err)
				}
				continue
			}
			v, d := h.grade(t, "", with...)
			if d.code != exitUnknown || v.Verdict != "inconclusive" {
				t.Errorf("%q: status %d, %s", with, d.code, v.Verdict)
			}
			if len(v.Skipped) != 1 || v.Skipped[0].Why != "unreadable" || !bytes.Contains(d.err, []byte("sixlink grade: ")) {
				t.Errorf("%q: skipped %+v, said %s", with, v.Skipped, d.err)
			}
		}
		// As a suite each is refused.
		d := h.run(t, "sixlink", "grade", "--suite="+path, good)
		noTrace(t, d)
		if d.code != exitUsage {
			t.Errorf("--suite %q: status %d: %s", path, d.code, d.err)
		}
	}
}
