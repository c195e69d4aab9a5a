package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

const diskCase = "51-disk-full"

// paddedPlay is case 51's input with 32 KiB of random base64 in front of each
// reply's text, as the case asks for: as it stands it would fill nothing.
func paddedPlay(t testing.TB) play {
	t.Helper()
	p := inputPlay(t, diskCase, "input.jsonl")
	rnd := rand.New(rand.NewPCG(51, 32<<10))
	const text = `"text":"`
	padded := 0
	for i, s := range p {
		at := bytes.Index(s.Data, []byte(text))
		if s.From != record.Server || at < 0 {
			continue
		}
		raw := make([]byte, 24<<10)
		for j := range raw {
			raw[j] = byte(rnd.Uint32())
		}
		pad := base64.StdEncoding.EncodeToString(raw)
		p[i].Data = slices.Concat(s.Data[:at+len(text)], []byte(pad), s.Data[at+len(text):])
		padded++
	}
	if padded != 50 || len(p.bytes(record.Server)) < 50*(32<<10) {
		t.Fatalf("%d replies are padded", padded)
	}
	return p
}

// neverPassed grades what is left of a recording that lost something: a tool that
// was not seen may have been called in what is missing.
func (h *home) neverPassed(t *testing.T, recordings ...string) {
	t.Helper()
	suite, _ := h.suite(t, diskCase, "never")
	v, d := h.grade(t, suite, recordings...)
	if v.Verdict != "inconclusive" || d.code != exitUnknown {
		t.Errorf("verdict %s, status %d: %s", v.Verdict, d.code, d.out)
	}
	for _, c := range v.Cases {
		for _, trial := range c.Trials {
			for _, row := range trial.Rows {
				if row.Outcome != "error" {
					t.Errorf("%s: %s (%s)", row.Check, row.Outcome, row.Reason)
				}
			}
		}
	}
	v, _ = h.grade(t, "", recordings...)
	if v.Verdict == "passed" {
		t.Error("the built-in suite passes what has a loss in it")
	}
}

// Case 51, cap: all traffic passes, the file stays under the cap, and what is in it
// says that it is not all.
func TestCaseCapOfRecording(t *testing.T) {
	t.Parallel()
	h, p := newHome(t), paddedPlay(t)
	path := h.path("r" + record.Suffix)
	said := h.record(t, p, "--out", path, "--max-recording", "64KiB")
	if lines := about(said); len(lines) != 1 || !strings.Contains(lines[0], "recording stopped") {
		t.Errorf("stderr %q", said)
	}
	files, err := filepath.Glob(h.path("*" + record.Suffix))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() > 64<<10 || fi.Size() < 4<<10 {
		t.Errorf("%v, %v", fi, err)
	}
	r := readRecording(t, path)
	if r.end.State != record.Sealed || r.end.Gaps == 0 {
		t.Errorf("%+v", r.end)
	}
	// What is there and what the gaps stand for is what passed, to the byte.
	for _, from := range []record.From{record.Client, record.Server} {
		var kept, lost int64
		for _, rec := range r.records {
			if rec.Kind == record.KindFrame && rec.From == from {
				kept += int64(len(rec.Data) + len(rec.EOL))
			} else if rec.Kind == record.KindGap {
				lost += rec.Gap.Streams[from].Bytes
			}
		}
		if sent := int64(len(p.bytes(from))); kept+lost != sent {
			t.Errorf("%s: %d bytes passed, %d are kept and %d in gaps", from, sent, kept, lost)
		}
	}
	if s := h.show(t, path); len(s.Recording.Gaps) == 0 {
		t.Error("show knows of no gap")
	}
	h.neverPassed(t, path)
}

// Case 51, vanishes: the folder is removed, with all in it, after the reply to 20.
func TestCaseFolderVanishes(t *testing.T) {
	t.Parallel()
	h, p := newHome(t), paddedPlay(t)
	dir := h.path("recordings")
	command, seen := h.playServer(t, p)
	k := h.talk(t, nil, append([]string{"sixlink", "record", "--dir", dir, "--"}, command...)...)
	removed := false
	k.play(p, func(i int) {
		if p[i].From == record.Server && bytes.Contains(p[i].Data, []byte(`"id":20,`)) {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
			removed = true
		}
	})
	k.in.Close()
	if code := k.wait(); code != 0 || !removed {
		t.Errorf("status %d, removed %v", code, removed)
	}
	passed(t, p, seen, k.got)
	lines := about(k.errs.String())
	if len(lines) == 0 || len(lines) > 3 {
		t.Errorf("stderr is to say what happened to the recording, in at most 3 lines: %q", k.errs.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f, record.Suffix) {
			t.Errorf("%s is left behind", f)
			continue
		}
		if r := readRecording(t, f); r.end.Gaps == 0 && !r.end.Torn {
			t.Errorf("%s hides the loss: %+v", f, r.end)
		}
		h.neverPassed(t, f)
	}
}

// Case 51, read-only: the server runs and one line says that there is no recording;
// with --require-recording it is not started.
func TestCaseFolderNotWritable(t *testing.T) {
	t.Parallel()
	// Root may write anywhere, so the program runs as nobody then, from a folder
	// that this user can reach.
	public, err := os.MkdirTemp("", "sixlink-case-51-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(public) })
	for d := filepath.Dir(public); os.Getuid() == 0 && d != "/"; d = filepath.Dir(d) {
		if modeOf(t, d)&0o001 == 0 {
			t.Skipf("SKIPPED a folder that may not be written: nobody cannot reach %s; run as another user, or set TMPDIR", d)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(public, "sixlink")
	locked := filepath.Join(public, "locked")
	// Copied by another process: a descriptor of ours that is open for writing
	// would be inherited by whatever is started meanwhile, and make it busy.
	if out, err := exec.Command("cp", exe, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, err := range []error{os.Chmod(program, 0o755), os.Mkdir(locked, 0o555), os.Chmod(public, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server := proxytest.Program{{Write: "started\n"}, {Echo: true}}.Argv()
	server[0] = program
	for _, c := range []struct {
		name    string
		flags   []string
		started bool
	}{
		{"file", []string{"--out", filepath.Join(locked, "r"+record.Suffix)}, true},
		{"folder to be made", []string{"--dir", filepath.Join(locked, "deeper")}, true},
		{"required", []string{"--require-recording", "--dir", locked}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			cmd := h.command(t, slices.Concat([]string{program, "record"}, c.flags, []string{"--"}, server)...)
			cmd.Dir = public
			if os.Getuid() == 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			cmd.Stdin = strings.NewReader("traffic\n")
			d := finish(t, cmd)
			if noTrace(t, d); c.started && (d.code != 0 || string(d.out) != "started\ntraffic\n") || !c.started && (d.code == 0 || len(d.out) != 0) {
				t.Errorf("status %d, stdout %q, stderr %q", d.code, d.out, d.err)
			}
			if lines := about(string(d.err)); len(lines) != 1 || !strings.Contains(lines[0], "recording could not start") || !strings.Contains(lines[0], locked) {
				t.Errorf("stderr %q", d.err)
			}
			if names, err := os.ReadDir(locked); err != nil || len(names) != 0 {
				t.Errorf("%v, %v", names, err)
			}
		})
	}
}

// Case 51, missing: the folder is made, for its owner alone.
func TestCaseFolderMissing(t *testing.T) {
	t.Parallel()
	h, p := newHome(t), inputPlay(t, "60-file-modes", "input.jsonl")
	h.record(t, p, "--dir", h.path("missing"))
	h.record(t, p, "--out", h.path("other", "r"+record.Suffix))
	for _, d := range []string{"missing", "other"} {
		if m := modeOf(t, h.path(d)); m != 0o700 {
			t.Errorf("%s has mode %04o", d, m)
		}
		readRecording(t, oneFile(t, h.path(d))).whole(t)
	}
}

// Case 60: the modes of all that the program makes, whatever the umask.
func TestCaseFileModes(t *testing.T) {
	t.Parallel()
	p := inputPlay(t, "60-file-modes", "input.jsonl")
	var script struct {
		Runs []struct{ Umask, Folder string }
	}
	caseScript(t, "60-file-modes", &script)
	if len(script.Runs) != 4 {
		t.Fatalf("%+v", script)
	}
	for _, run := range script.Runs {
		t.Run(run.Umask+" "+run.Folder, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			dir, existing := h.path("recordings"), os.FileMode(0)
			switch run.Folder {
			case "missing":
			case "missing, two levels":
				dir = h.path("recordings", "deep")
			case "exists with 0755 and one file of 0644":
				existing = 0o755
			case "exists with 0777, no sticky bit":
				existing = 0o777
			default:
				t.Fatalf("folder %q", run.Folder)
			}
			theirs := filepath.Join(dir, "theirs.txt")
			if existing != 0 {
				for _, err := range []error{os.Mkdir(dir, 0o700), os.Chmod(dir, existing), os.WriteFile(theirs, nil, 0o600), os.Chmod(theirs, 0o644)} {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			// umask belongs to a process, so a shell sets it for ours.
			with := func(words ...string) []string {
				return append([]string{"sh", "-c", "umask " + run.Umask + ` && exec "$@"`, "sh"}, words...)
			}
			modes := func(when string) (n int) {
				for _, top := range []string{h.path("recordings"), h.path("home")} {
					err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
						if err != nil {
							return err
						}
						want := os.FileMode(0o600)
						switch {
						case path == theirs:
							want = 0o644
						case path == dir && existing != 0:
							want = existing
						case e.IsDir():
							want = 0o700
						default:
							n++
						}
						if got := modeOf(t, path); got != want {
							t.Errorf("%s: %s has mode %04o, want %04o", when, path, got, want)
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
				return n
			}
			command, seen := h.playServer(t, p)
			k := h.talk(t, nil, with(append([]string{"sixlink", "record", "--dir", dir, "--"}, command...)...)...)
			k.play(p, nil)
			if n := modes("while it records"); n != 2 { // the recording and the key
				t.Errorf("%d files while it records", n)
			}
			k.in.Close()
			if code := k.wait(); code != 0 {
				t.Errorf("status %d", code)
			}
			passed(t, p, seen, k.got)
			lines := about(k.errs.String())
			if existing == 0o777 {
				if len(lines) != 1 || !strings.Contains(lines[0], dir) || !strings.Contains(lines[0], "writable by everybody") {
					t.Errorf("stderr %q", k.errs.String())
				}
			} else if k.errs.Len() != 0 {
				t.Errorf("stderr %q", k.errs.String())
			}
			rec := oneFile(t, dir)
			readRecording(t, rec).whole(t)
			if d := h.run(t, with("sixlink", "repair", rec, "-o", filepath.Join(dir, "repaired"+record.Suffix))...); d.code != 0 {
				t.Errorf("repair: %d, %s", d.code, d.err)
			}
			for _, format := range []string{"text", "json"} {
				if d := h.run(t, with("sixlink", "grade", "--format", format, "-o", filepath.Join(dir, "verdict."+format), rec)...); d.code != exitUnknown { // no call in it
					t.Errorf("grade: %d, %s", d.code, d.err)
				}
			}
			if n := modes("at the end"); n != 5 {
				t.Errorf("%d files at the end", n)
			}
		})
	}
}

// Case 54, parallel: eight at once, in one folder, each with its own call.
func TestCaseEightAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	dir := h.path("recordings")
	const n = 8
	var talks []*talk
	for range n {
		talks = append(talks, h.talk(t, nil, "sixlink", "record", "--dir", dir, "--", "server"))
	}
	for i, k := range talks {
		k.write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case-host","version":"1.0.0"}}}` + "\n"))
		k.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"who":%d}}}`+"\n", i))
	}
	for _, k := range talks {
		k.line()
		k.line()
		k.in.Close()
	}
	for _, k := range talks {
		if code := k.wait(); code != 0 || k.errs.Len() != 0 {
			t.Errorf("status %d, stderr %q", code, k.errs.String())
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != n {
		t.Fatalf("%d files, %v: %q", len(names), err, names)
	}
	var who, ids []string
	for _, name := range names {
		readRecording(t, name).whole(t)
		l, err := load(name, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(l.sessions) != 1 || len(l.sessions[0].Calls) != 1 {
			t.Fatalf("%s: %d sessions", name, len(l.sessions))
		}
		arguments, err := l.sessions[0].Calls[0].Arguments.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		who, ids = append(who, string(arguments)), append(ids, l.header.ID)
		if h := l.header; h.Start.IsZero() || h.Transport != "stdio" || !slices.Equal(h.Command, []string{"server"}) || h.Recorder.Version != versionString() {
			t.Errorf("header %+v", h)
		}
		l.Close()
	}
	slices.Sort(who)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf(`{"who":%d}`, i))
	}
	if !slices.Equal(who, want) {
		t.Errorf("calls %q", who)
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != n {
		t.Errorf("ids %q", ids)
	}
}

// Case 54, same-file: the second takes another name, says so, and the first is whole.
func TestCaseSameFile(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := h.path("r" + record.Suffix)
	first := h.talk(t, nil, "sixlink", "record", "--out", path, "--", "cat")
	first.write([]byte("first\n"))
	first.line()
	second := h.talk(t, nil, "sixlink", "record", "--out", path, "--", "cat")
	second.write([]byte("second\n"))
	second.line()
	second.in.Close()
	if code := second.wait(); code != 0 {
		t.Errorf("status %d", code)
	}
	if lines := about(second.errs.String()); len(lines) != 1 || !strings.Contains(lines[0], "r-2"+record.Suffix) {
		t.Errorf("stderr %q", second.errs.String())
	}
	first.write([]byte("first again\n"))
	first.line()
	first.in.Close()
	if code := first.wait(); code != 0 || first.errs.Len() != 0 {
		t.Errorf("status %d, stderr %q", code, first.errs.String())
	}
	for name, want := range map[string]string{path: "first\nfirst again\n", h.path("r-2" + record.Suffix): "second\n"} {
		readRecording(t, name).whole(t)
		if got := h.cat(t, name, record.Client); string(got) != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

// Case 54, symlink: nothing is written through a link, and none is replaced.
func TestCaseNameIsLink(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	target, path := h.path("case-target.txt"), h.path("r"+record.Suffix)
	if err := os.WriteFile(target, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("case-target.txt", path); err != nil {
		t.Fatal(err)
	}
	said := h.record(t, inputPlay(t, "60-file-modes", "input.jsonl"), "--out", path)
	if lines := about(said); len(lines) != 1 || !strings.Contains(lines[0], "r-2"+record.Suffix) {
		t.Errorf("stderr %q", said)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "keep" {
		t.Errorf("the target holds %q, %v", b, err)
	}
	if to, err := os.Readlink(path); err != nil || to != "case-target.txt" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	readRecording(t, h.path("r-2"+record.Suffix)).whole(t)
	// A rewriting verb does not write through one either.
	if d := h.run(t, "sixlink", "repair", h.path("r-2"+record.Suffix), "-o", path); d.code == 0 {
		t.Errorf("repair: %d, %s", d.code, d.err)
	}
	if d := h.run(t, "sixlink", "grade", h.path("r-2"+record.Suffix), "-o", path); d.code != exitUnknown { // no call in it
		t.Errorf("grade: %d, %s", d.code, d.err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "keep" {
		t.Errorf("the target holds %q, %v", b, err)
	}
}
