package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// stdioAsserts are the asserts of a case on what passed and what was recorded.
type stdioAsserts struct {
	C2S        string             `json:"proxy.c2s_sha256"`
	S2C        string             `json:"proxy.s2c_sha256"`
	S2CBytes   int                `json:"proxy.s2c_bytes"`
	Lines      map[string]int     `json:"record.lines"`
	Messages   map[string]int     `json:"record.messages"`
	Blank      map[string]int     `json:"record.blank"`
	Nonmessage map[string]int     `json:"record.nonmessage"`
	Pairs      map[string]*string `json:"record.pairs_by_id"`
	Orphans    *int               `json:"record.orphan_count"`
	Flags      [][]any            `json:"record.flags"`
	FlagsAny   []string           `json:"record.flags_any"`
	Tools      []string           `json:"record.tools"`
	Catalog    string             `json:"record.catalog"`
	TextOf3    string             `json:"record.text_of_call_3"`
	TextOf4    string             `json:"record.text_of_call_4"`
	FFFD       *bool              `json:"record.contains_fffd"`
}

var caseDirs = map[string]record.From{"c2s": record.Client, "s2c": record.Server}

func sha(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// The stdio cases whose input is lines: they pass through the real program, and
// what it recorded is held against the case.
func TestCasesOfLines(t *testing.T) {
	for _, c := range []struct {
		name, run string
		play      func(*testing.T) play
	}{
		{name: "01-long-lines"},
		{name: "05-bom-first-line"},
		{name: "07-two-objects-one-line"},
		{name: "09-content-length-framing", play: headerFraming},
		{name: "11-id-mangled"},
		{name: "13-lone-surrogates"},
		{name: "16-deep-nesting"},
		{name: "18-call-without-id"},
		{name: "21-late-and-orphan-replies"},
		{name: "22-nothing-re-encoded"},
		{name: "68-exact-lists-and-keys"},
		{name: "70-extras-and-empty"},
		{name: "72-name-prefix"},
		{name: "74-regex-engine"},
		{name: "76-schema-refs"},
		{name: "79-pagination", run: "all"}, {name: "79-pagination", run: "first"},
		{name: "79-pagination", run: "stuck"}, {name: "79-pagination", run: "cut"},
		{name: "81-error-shapes", run: "a"}, {name: "81-error-shapes", run: "b"}, {name: "81-error-shapes", run: "c"},
		{name: "81-error-shapes", run: "d"}, {name: "81-error-shapes", run: "e"}, {name: "81-error-shapes", run: "f"},
		{name: "81-error-shapes", run: "g"},
		{name: "87-final-message", run: "wire-only", play: func(t *testing.T) play { return inputPlay(t, "87-final-message", "input.jsonl") }},
	} {
		t.Run(strings.TrimSuffix(c.name+"/"+c.run, "/"), func(t *testing.T) {
			t.Parallel()
			h, p := newHome(t), play(nil)
			switch file := strings.Replace("input."+c.run+".jsonl", "..", ".", 1); {
			case c.play != nil:
				p = c.play(t)
			case hasInput(c.name, file):
				p = inputPlay(t, c.name, file)
			default:
				p = framesPlay(t, c.name)
			}
			path := h.path("r" + record.Suffix)
			if said := h.record(t, p, "--out", path); said != "" {
				t.Errorf("stderr %q", said)
			}
			h.holds(t, c.name, c.run, p, path)
			if _, err := fixtures.ReadFile("cases", c.name, "suite.json"); err == nil {
				h.gradeCase(t, c.name, c.run, path)
			}
		})
	}
}

func hasInput(name, file string) bool {
	_, err := fixtures.ReadFile("cases", name, file)
	return err == nil
}

// headerFraming cuts the server's output where its second answer begins, in the
// middle of a line.
func headerFraming(t *testing.T) play {
	const name = "09-content-length-framing"
	b, err := fixtures.ReadFile("cases", name, "frames.s2c.bin")
	if err != nil {
		t.Fatal(err)
	}
	return framesPlay(t, name, bytes.LastIndex(b, []byte("Content-Length")))
}

// holds holds a recording of p against the case's asserts.
func (h *home) holds(t *testing.T, name, run string, p play, path string) {
	t.Helper()
	var a stdioAsserts
	expected(t, name, run, &a)
	for _, d := range []struct {
		from record.From
		want string
	}{{record.Client, a.C2S}, {record.Server, a.S2C}} {
		sent := p.bytes(d.from)
		if d.want != "" && sha(sent) != d.want {
			t.Errorf("%s: what passed is not what the case says", d.from)
		}
		if got := h.cat(t, path, d.from); sha(got) != sha(sent) {
			t.Errorf("%s: cat --raw gives %d bytes with SHA-256 %s, %d passed with %s", d.from, len(got), sha(got), len(sent), sha(sent))
		}
	}
	if n := len(p.bytes(record.Server)); a.S2CBytes != 0 && n != a.S2CBytes {
		t.Errorf("%d bytes of the server, want %d", n, a.S2CBytes)
	}

	r := readRecording(t, path)
	r.whole(t)
	r.exit(t, 0, "")

	l, err := load(path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if len(l.sessions) != 1 {
		t.Fatalf("%d sessions", len(l.sessions))
	}
	s := l.sessions[0]
	for _, c := range []struct {
		what string
		got  map[record.From]int
		want map[string]int
	}{{"lines", s.Lines, a.Lines}, {"messages", s.Messages, a.Messages}, {"blank lines", s.Blank, a.Blank}, {"lines that are no message", s.Nonmessage, a.Nonmessage}} {
		for dir, want := range c.want {
			if got := c.got[caseDirs[dir]]; got != want {
				t.Errorf("%s: %d %s, want %d", dir, got, c.what, want)
			}
		}
	}
	pairsHold(t, s, a.Pairs)
	for id, want := range map[string]string{"3": a.TextOf3, "4": a.TextOf4} {
		if want != "" && textOfCall(t, s, id) != want {
			t.Errorf("text of call %s: %q, want %q", id, textOfCall(t, s, id), want)
		}
	}
	for _, f := range a.Flags {
		from, n, flag := caseDirs[f[0].(string)], int(f[1].(float64)), f[2].(string)
		var firsts []int64 // the first record of each line
		for _, rec := range r.records {
			if rec.Kind == record.KindFrame && rec.From == from && !rec.Cont {
				firsts = append(firsts, rec.Seq)
			}
		}
		if len(firsts) < n || !slices.ContainsFunc(s.Remarks, func(m session.Remark) bool { return m.Seq == firsts[n-1] && m.From == from && m.Flag == flag }) {
			t.Errorf("line %d of %s has no flag %q: %+v", n, from, flag, s.Remarks)
		}
	}
	if a.FFFD != nil && !*a.FFFD && bytes.Contains(unpacked(t, path), []byte("\ufffd")) {
		t.Error("U+FFFD is in the recording")
	}

	// What show says is the same.
	sh := h.show(t, path)
	if sh.Recording.State != record.Sealed || sh.Recording.Torn || len(sh.Recording.Gaps) != 0 || len(sh.Sessions) != 1 {
		t.Fatalf("show: %+v", sh.Recording)
	}
	one := sh.Sessions[0]
	if a.Orphans != nil && (len(one.Orphans) != *a.Orphans || len(s.Orphans) != *a.Orphans) {
		t.Errorf("%d orphans, show says %d, want %d", len(s.Orphans), len(one.Orphans), *a.Orphans)
	}
	for dir, want := range a.Messages {
		if got := one.Messages[string(caseDirs[dir])]; got != want {
			t.Errorf("show: %d messages of %s, want %d", got, dir, want)
		}
	}
	text := h.run(t, "sixlink", "show", path)
	for _, flag := range a.FlagsAny {
		if !slices.ContainsFunc(one.Remarks, func(m shownRemark) bool { return m.Flag == flag }) {
			t.Errorf("show --format json has no flag %q: %+v", flag, one.Remarks)
		}
		if !bytes.Contains(text.out, []byte(flag)) {
			t.Errorf("show has no flag %q:\n%s", flag, text.out)
		}
	}
	if a.Catalog != "" && one.Catalog.State != a.Catalog || a.Tools != nil && !slices.Equal(one.Catalog.Tools, a.Tools) {
		t.Errorf("catalog %+v, want %s %q", one.Catalog, a.Catalog, a.Tools)
	}
	if text.code != 0 || !utf8.Valid(text.out) {
		t.Errorf("show: status %d: %q", text.code, text.out)
	}
	for _, format := range []string{"text", "json"} {
		d := h.run(t, "sixlink", "grade", "--format", format, path)
		if noTrace(t, d); !utf8.Valid(d.out) || len(d.out) == 0 || d.code > exitUnknown {
			t.Errorf("grade --format %s: status %d: %q", format, d.code, d.out)
		}
	}
}

// pairsHold holds the client's requests and what answered them against want.
func pairsHold(t *testing.T, s *session.Session, want map[string]*string) {
	t.Helper()
	got := map[string]string{}
	for _, ex := range s.Requests {
		if ex.From != record.Client || !ex.ID.Pairs() {
			continue
		}
		got[ex.ID.Raw] = "nothing"
		if ex.AnswerSeq != 0 {
			got[ex.ID.Raw] = ex.AnswerID.Raw
		}
		if ex.Late {
			got[ex.ID.Raw] += " (late)"
		}
	}
	for id, w := range want {
		answer := "nothing"
		if w != nil {
			answer = *w
		}
		if got[id] != answer {
			t.Errorf("request %s is answered by %q, want %q", id, got[id], answer)
		}
	}
}

// textOfCall is the text of the result of the call with that id.
func textOfCall(t *testing.T, s *session.Session, id string) string {
	t.Helper()
	for _, c := range s.Calls {
		if c.ID.Raw != id {
			continue
		}
		b, err := c.Result.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		var res struct{ Content []struct{ Text string } }
		if err := json.Unmarshal(b, &res); err != nil || len(res.Content) != 1 {
			t.Fatalf("%s: %v", b, err)
		}
		return res.Content[0].Text
	}
	t.Fatalf("no call %s", id)
	return ""
}

// Case 01 beyond its asserts: the lines are records of their own, in full.
func TestCaseLongLinesAreWhole(t *testing.T) {
	t.Parallel()
	h, p := newHome(t), framesPlay(t, "01-long-lines")
	path := h.path("r" + record.Suffix)
	command, seen := h.playServer(t, p)
	k := h.talk(t, nil, append([]string{"sixlink", "record", "--out", path, "--"}, command...)...)
	k.play(p, nil)
	if n := residentPeak(k.cmd.Process.Pid); n > 64<<20 && !underRace() {
		t.Errorf("%d MiB resident, 64 are the bound", n>>20)
	}
	k.in.Close()
	if code := k.wait(); code != 0 {
		t.Errorf("status %d", code)
	}
	passed(t, p, seen, k.got)
	var long []int
	lines := bytes.SplitAfter(p.bytes(record.Server), []byte("\n"))
	for _, rec := range readRecording(t, path).records {
		if rec.Kind != record.KindFrame || rec.From != record.Server {
			continue
		}
		if rec.Cont || rec.More || rec.Form != record.FormMessage || !bytes.Equal(append(rec.Data, rec.EOL...), lines[0]) {
			t.Errorf("record %d is not the server's line %.80q", rec.Seq, lines[0])
		}
		if lines = lines[1:]; len(rec.Data) > 1000 {
			long = append(long, len(rec.Data))
		}
	}
	if len(lines) != 1 || !slices.Equal(long, []int{65535, 65536, 65537, 131073, 1048577}) {
		t.Errorf("long lines %v, %d lines are missing", long, len(lines)-1)
	}
}

// Case 03: letters that are cut between two writes; then every byte by itself.
func TestCaseLettersCutInWrites(t *testing.T) {
	t.Parallel()
	const name = "03-utf8-split"
	var chunks struct {
		Cuts  []int `json:"cut_before_byte"`
		Pause int   `json:"pause_ms"`
	}
	b, err := fixtures.ReadFile("cases", name, "chunks.json")
	if err == nil {
		err = json.Unmarshal(b, &chunks)
	}
	if err != nil || len(chunks.Cuts) == 0 {
		t.Fatal(err)
	}
	for _, run := range []string{"chunks", "one byte per write"} {
		t.Run(run, func(t *testing.T) {
			t.Parallel()
			h, p := newHome(t), framesPlay(t, name)
			off := 0
			for i := range p {
				if p[i].From != record.Server {
					continue
				}
				if run == "chunks" {
					for _, c := range chunks.Cuts {
						if c > off && c < off+len(p[i].Data) {
							p[i].Cuts = append(p[i].Cuts, c-off)
						}
					}
					p[i].PauseMs = chunks.Pause
				} else {
					p[i].OneByOne = true
				}
				off += len(p[i].Data)
			}
			path := h.path("r" + record.Suffix)
			h.record(t, p, "--out", path)
			h.holds(t, name, "", p, path)
			for _, from := range []record.From{record.Client, record.Server} {
				if bytes.Contains(h.cat(t, path, from), []byte("\ufffd")) {
					t.Error("U+FFFD in what cat gives")
				}
			}
		})
	}
}

// Case 49: files that ask for far more than anybody wants to hold.
func TestCaseBombs(t *testing.T) {
	t.Parallel()
	var want struct {
		Class string         `json:"grade.exit_class"`
		MiB   int64          `json:"grade.max_rss_mib"`
		Bytes map[string]int `json:"file_bytes"`
	}
	expected(t, "49-zst-bombs", "", &want)
	if want.Class != "unreadable-input" || len(want.Bytes) != 4 {
		t.Fatalf("%+v", want)
	}
	h := newHome(t)
	bomb := func(name string) string { return filepath.Join(fixtures.Dir(), "cases", "49-zst-bombs", name) }
	all := []string{}
	for name, n := range want.Bytes {
		fi, err := os.Stat(bomb(name))
		if err != nil || fi.Size() != int64(n) {
			t.Fatalf("%s: %v, %v", name, fi, err)
		}
		all = append(all, name)
	}
	slices.Sort(all)
	grade := func(names ...string) {
		var paths []string
		for _, name := range names {
			paths = append(paths, bomb(name))
		}
		v, d, peak := h.gradeResident(t, paths...)
		if d.code != exitUnknown || v.Verdict != "inconclusive" || len(v.Skipped) != len(names) {
			t.Errorf("%v: status %d, %s", names, d.code, d.out)
		}
		for _, name := range names {
			if !bytes.Contains(d.err, []byte(name)) {
				t.Errorf("stderr does not name %s: %s", name, d.err)
			}
		}
		if n := bytes.Count(d.err, []byte("\n")); n != len(names) {
			t.Errorf("%v: %d lines on stderr: %s", names, n, d.err)
		}
		if peak > want.MiB<<20 && !underRace() {
			t.Errorf("%v: %d MiB resident, %d are the bound", names, peak>>20, want.MiB)
		}
		for _, verb := range []string{"show", "cat"} {
			d := h.run(t, "sixlink", verb, paths[0])
			if noTrace(t, d); d.code != exitUnknown || !bytes.Contains(d.err, []byte(names[0])) || len(d.out) != 0 {
				t.Errorf("%s %s: status %d, %s, %.100q", verb, names[0], d.code, d.err, d.out)
			}
		}
	}
	for _, name := range all {
		grade(name)
	}
	grade(all...)
	out := h.path("repaired" + record.Suffix)
	for _, name := range all {
		d := h.run(t, "sixlink", "repair", bomb(name), "-o", out)
		if noTrace(t, d); d.code != exitUnknown || !bytes.Contains(d.err, []byte(name)) {
			t.Errorf("repair %s: status %d, %s", name, d.code, d.err)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Errorf("repair %s left a file", name)
			os.Remove(out)
		}
	}
}
