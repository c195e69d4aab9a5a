package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// pack makes a recording of edited lines, by FORMAT.md 6 and with no code of the
// product: check and closing are made anew, seqs are numbered anew when renumber.
func pack(t testing.TB, lines []string) []byte {
	t.Helper()
	var body bytes.Buffer
	sum, last, records, closed := sha256.New(), 0, 0, false
	out := 0
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, `{"kind":"check"`):
			continue
		case strings.HasPrefix(l, `{"kind":"closing"`):
			l = fmt.Sprintf(`{"kind":"closing","records":%d,"lastSeq":%d,"sha256":"%x","last":true}`, records, last, sum.Sum(nil))
			closed = true
		default:
			if m := seqMember.FindStringSubmatchIndex(l); m != nil {
				last++
				records++
				l = l[:m[2]] + strconv.Itoa(last) + l[m[3]:]
			}
			fmt.Fprintf(sum, "%s\n", l)
		}
		body.WriteString(l + "\n")
		out++
	}
	if !closed {
		t.Fatal("no closing line")
	}
	crc := crc32.Checksum(body.Bytes(), crc32.MakeTable(crc32.Castagnoli))
	fmt.Fprintf(&body, `{"kind":"check","last":%d,"count":%d,"crc":"%08x"}`+"\n", last, out, crc)
	return packed(t, body.Bytes())
}

var seqMember = regexp.MustCompile(`^\{"kind":"[^"]+","seq":([0-9]+)`)

func packed(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Case 52: recordings of another version, and what is none at all.
func TestCaseFutureVersion(t *testing.T) {
	t.Parallel()
	const name = "52-future-version"
	var damage struct{ Variants []struct{ Name, How string } }
	b, err := fixtures.ReadFile("cases", name, "damage.json")
	if err == nil {
		err = json.Unmarshal(b, &damage)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	real := h.path("real" + record.Suffix)
	h.record(t, inputPlay(t, name, "input.jsonl"), "--out", real)
	suite, _ := h.suite(t, name, "c1")
	text := unpacked(t, real)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	header, format := lines[0], `"format":[1,0]`
	if !strings.HasPrefix(header, `{"kind":"header","format":[1,0],`) {
		t.Fatalf("header %s", header)
	}
	middle := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"method":"tools/call"`) })
	if middle < 2 {
		t.Fatalf("no call in %s", text)
	}
	// The edits must be all there is to a difference.
	same := h.path("same" + record.Suffix)
	if err := os.WriteFile(same, pack(t, lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, d := h.grade(t, suite, same); v.Verdict != "passed" {
		t.Fatalf("unpacked and packed again it does not pass: %s %s", d.out, d.err)
	}
	readRecording(t, same).whole(t)

	with := func(member, line string) string { return strings.TrimSuffix(line, "}") + "," + member + "}" }
	// A frame's message is the last member, so an unknown one goes before it.
	inFrame := func(member, line string) string {
		return strings.Replace(line, `,"message":`, ","+member+`,"message":`, 1)
	}
	make := map[string]func() []byte{
		"newer-major": func() []byte {
			l := slices.Clone(lines)
			l[0] = strings.Replace(header, format, `"format":[2,0]`, 1)
			return pack(t, l)
		},
		"newer-minor": func() []byte {
			l := slices.Clone(lines)
			l[0] = strings.Replace(header, format, `"format":[1,1]`, 1)
			l[1] = with(`"xNew":{"a":[1.0,"é"]}`, l[1])
			l[middle] = inFrame(`"xNew":9007199254740993`, l[middle])
			return pack(t, slices.Insert(l, middle, `{"kind":"x-new","seq":0,"at":1,"what":"nobody knows"}`))
		},
		"no-head":   func() []byte { return pack(t, lines[1:]) },
		"not-ours":  func() []byte { return []byte("hello") },
		"two-heads": func() []byte { return pack(t, slices.Insert(slices.Clone(lines), middle, header)) },
		"plain":     func() []byte { return text },
	}
	for _, v := range damage.Variants {
		t.Run(v.Name, func(t *testing.T) {
			edit := make[v.Name]
			if edit == nil {
				t.Fatalf("nothing makes %q", v.How)
			}
			path := h.path(v.Name + record.Suffix)
			if v.Name == "plain" {
				path = h.path(v.Name + ".mcp.jsonl")
			}
			if err := os.WriteFile(path, edit(), 0o600); err != nil {
				t.Fatal(err)
			}
			verdict, d := h.grade(t, suite, path)
			if !bytes.Contains(d.err, []byte(path)) != (verdict.Verdict == "passed") {
				t.Errorf("verdict %s, stderr %q", verdict.Verdict, d.err)
			}
			if v.Name == "newer-minor" {
				h.newerMinor(t, path, verdict.Verdict)
				if s := h.run(t, "sixlink", "diff", "--fail-on", "any", real, path); s.code != exitGood {
					t.Errorf("diff: status %d, %s%s", s.code, s.out, s.err)
				}
				if s := h.run(t, "sixlink", "replay", "run", "--dry-run", "--allow-all", path); s.code != exitGood {
					t.Errorf("replay run: status %d, %s%s", s.code, s.out, s.err)
				}
				return
			}
			if v.Name == "plain" {
				// It reads like the packed one.
				if verdict.Verdict != "passed" {
					t.Errorf("grade: %s", d.out)
				}
				for _, verb := range [][]string{{"cat"}, {"show", "--format", "json"}} {
					a, b := h.run(t, append([]string{"sixlink"}, append(verb, path)...)...), h.run(t, append([]string{"sixlink"}, append(verb, real)...)...)
					if a.code != 0 || !bytes.Equal(a.out, b.out) {
						t.Errorf("%s: status %d, and not what the packed one gives", verb, a.code)
					}
				}
				return
			}
			// Refused: by every verb, and before anything of it is shown.
			if verdict.Verdict != "inconclusive" || len(verdict.Skipped) != 1 || len(verdict.Cases) != 0 && len(verdict.Cases[0].Trials) != 0 {
				t.Errorf("grade: %s", d.out)
			}
			for _, verb := range []string{"show", "cat"} {
				s := h.run(t, "sixlink", verb, path)
				if noTrace(t, s); s.code != exitUnknown || verb == "show" && len(s.out) != 0 || !bytes.Contains(s.err, []byte(path)) {
					t.Errorf("%s: status %d, stdout %.200q, stderr %q", verb, s.code, s.out, s.err)
				}
			}
			for _, verb := range [][]string{{"replay", "serve", path}, {"replay", "run", "--dry-run", path}, {"replay", "run", path, "--", "server"}, {"diff", real, path}, {"diff", path, real}, {"verify", path, "--", "server"}} {
				s := h.run(t, append([]string{"sixlink"}, verb...)...)
				if noTrace(t, s); s.code != exitUnknown || verb[0] != "verify" && len(s.out) != 0 || !bytes.Contains(append(s.err, s.out...), []byte(path)) {
					t.Errorf("%s: status %d, stdout %.200q, stderr %q", verb, s.code, s.out, s.err)
				}
			}
			out := h.path(v.Name + "-repaired" + record.Suffix)
			if s := h.run(t, "sixlink", "repair", path, "-o", out); s.code == 0 {
				t.Errorf("repair takes it: %s", s.err)
			} else if _, err := os.Lstat(out); err == nil {
				t.Error("a failed repair left a file")
			}
			words := map[string][]string{"newer-major": {"version 2.0", "version 1."}, "no-head": {"recording"}, "not-ours": {"recording"},
				"two-heads": {"header"}}
			for _, w := range words[v.Name] {
				if !bytes.Contains(d.err, []byte(w)) {
					t.Errorf("stderr does not say %q: %s", w, d.err)
				}
			}
			if v.Name == "not-ours" {
				// The same inside of zstd.
				if err := os.WriteFile(path, packed(t, []byte("hello\n")), 0o600); err != nil {
					t.Fatal(err)
				}
				if verdict, d := h.grade(t, suite, path); verdict.Verdict != "inconclusive" || len(verdict.Skipped) != 1 {
					t.Errorf("%s", d.out)
				}
			}
		})
	}
}

// newerMinor is read: what is unknown in it is counted, shown, and kept.
func (h *home) newerMinor(t *testing.T, path, verdict string) {
	t.Helper()
	var want struct {
		Unknown int `json:"record.unknown_kinds"`
	}
	expected(t, "52-future-version", "newer-minor", &want)
	if verdict != "passed" {
		t.Errorf("verdict %s", verdict)
	}
	s := h.show(t, path)
	if s.Recording.State != record.Sealed || s.Recording.Damage != "" || s.Recording.Unknown["x-new"] != want.Unknown || len(s.Sessions) != 1 || len(s.Sessions[0].Calls) != 1 {
		t.Errorf("%+v", s.Recording)
	}
	if d := h.run(t, "sixlink", "show", path); !bytes.Contains(d.out, []byte("x-new")) {
		t.Errorf("show does not tell of the unknown kind:\n%s", d.out)
	}
	out := h.path("newer-minor-repaired" + record.Suffix)
	if d := h.run(t, "sixlink", "repair", path, "-o", out); d.code != 0 {
		t.Fatalf("repair: %s", d.err)
	}
	was, is := strings.Split(string(unpacked(t, path)), "\n"), strings.Split(string(unpacked(t, out)), "\n")
	kept := 0
	for _, l := range was {
		if strings.Contains(l, "xNew") || strings.Contains(l, "x-new") {
			kept++
			if !slices.Contains(is, l) {
				t.Errorf("repair lost %s", l)
			}
		}
	}
	if kept != 3 {
		t.Errorf("%d lines with something new", kept)
	}
}
