package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// The cases run the real program: this test binary, which testscript puts on the
// PATH as sixlink. Their servers are this binary too, in a role.

// caseRoles are the servers that a proxytest.Program cannot describe.
var caseRoles = map[string]func([]string) int{"play": playRole, "keys": keysRole, "resident": residentRole}

// dumpFolder is where case 29 wants its server; a name there is a role of its
// own, since the arguments belong to the case.
const dumpFolder = "dump args"

func init() {
	if filepath.Base(filepath.Dir(os.Args[0])) == dumpFolder {
		os.Exit(dumpRole())
	}
	if len(os.Args) > 2 && os.Args[1] == proxytest.Argv("")[1] && (caseRoles[os.Args[2]] != nil || os.Args[2] == "program") {
		proxytest.Main(caseRoles)
	}
}

// A play is what passes between client and server, in causal order. Both sides
// follow it: each writes its own steps and reads the other's, byte by byte, before
// it goes on.
type play []playStep

type playStep struct {
	From record.From
	Data []byte
	// How the server writes: a new write before each offset of Cuts, PauseMs
	// before it; or a write for every byte.
	Cuts     []int
	PauseMs  int
	OneByOne bool
}

// bytes is all of one direction.
func (p play) bytes(from record.From) (b []byte) {
	for _, s := range p {
		if s.From == from {
			b = append(b, s.Data...)
		}
	}
	return b
}

// playRole is the server of the play in the file args[0]. It writes what it read
// to the file args[1].
func playRole(args []string) int {
	time.AfterFunc(4*proxytest.Guard, func() { os.Exit(99) })
	var p play
	b, err := os.ReadFile(args[0])
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	var seen bytes.Buffer
	for _, s := range p {
		switch {
		case err != nil:
		case s.From == record.Client:
			_, err = io.CopyN(&seen, os.Stdin, int64(len(s.Data)))
		case s.OneByOne:
			err = proxytest.OneByOne(os.Stdout, s.Data)
		default:
			from := 0
			for _, to := range append(slices.Clone(s.Cuts), len(s.Data)) {
				if from > 0 {
					time.Sleep(time.Duration(s.PauseMs) * time.Millisecond) // the case's own pause
				}
				if _, err = os.Stdout.Write(s.Data[from:to]); err != nil {
					break
				}
				from = to
			}
		}
	}
	if err == nil {
		_, err = io.Copy(&seen, os.Stdin)
	}
	if err == nil {
		err = os.WriteFile(args[1], seen.Bytes(), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "play:", err)
		return 2
	}
	return 0
}

// residentRole runs args[1:] and writes to the file args[0] how many bytes it had
// resident at the most. In the rusage of our own child would be our own peak too:
// Linux keeps what was counted before exec.
func residentRole(args []string) int {
	c := exec.Command(args[1], args[2:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Run()
	n := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "linux" {
		n <<= 10
	}
	if err := os.WriteFile(args[0], fmt.Append(nil, n), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "resident:", err)
		return 99
	}
	return c.ProcessState.ExitCode()
}

// A home is an environment of its own: nothing of the machine's gets into
// recordings, above all no values that are taken for credentials.
type home struct {
	dir string
	env []string
}

func newHome(t testing.TB) *home {
	d := t.TempDir()
	return &home{dir: d, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d, "SIXLINK_HOME=" + filepath.Join(d, "home"), "GORACE=atexit_sleep_ms=0"}}
}

func (h *home) path(elem ...string) string {
	return filepath.Join(append([]string{h.dir}, elem...)...)
}

// done is how a command ended.
type done struct {
	out, err []byte
	code     int // as a shell shows it
}

// command is any command in the home.
func (h *home) command(t testing.TB, words ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(words[0], words[1:]...)
	c.Env, c.Dir, c.WaitDelay = h.env, h.dir, proxytest.Guard
	return c
}

// run runs a command to its end.
func (h *home) run(t testing.TB, words ...string) done {
	t.Helper()
	return finish(t, h.command(t, words...))
}

func finish(t testing.TB, c *exec.Cmd) done {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(2*proxytest.Guard, func() { c.Process.Kill() })
	err := c.Wait()
	if !hung.Stop() {
		t.Fatalf("%q does not end; stderr %s", c.Args, errs.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return done{out.Bytes(), errs.Bytes(), shellStatus(c)}
}

func shellStatus(c *exec.Cmd) int {
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return c.ProcessState.ExitCode()
}

// A talk is a running sixlink record whose host is the test.
type talk struct {
	t       testing.TB
	cmd     *exec.Cmd
	in, out *os.File
	errs    bytes.Buffer // to be read after wait
	got     []byte       // what was read
	life    *proxytest.Lifeline
	status  int
	ended   chan struct{}
}

// talk starts a command, which is sixlink record or starts it. prepare may be nil.
func (h *home) talk(t testing.TB, prepare func(*exec.Cmd), words ...string) *talk {
	t.Helper()
	k := &talk{t: t, life: proxytest.NewLifeline(t), ended: make(chan struct{})}
	k.cmd = h.command(t, words...)
	var theirIn, theirOut *os.File
	theirIn, k.in = proxytest.Pipe(t)
	k.out, theirOut = proxytest.Pipe(t)
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = theirIn, theirOut, &k.errs
	k.cmd.ExtraFiles = []*os.File{k.life.Held}
	if prepare != nil {
		prepare(k.cmd)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	t.Cleanup(func() { k.cmd.Process.Kill() })
	go func() {
		k.cmd.Wait()
		k.status = shellStatus(k.cmd)
		close(k.ended)
	}()
	return k
}

func (k *talk) write(b []byte) {
	k.t.Helper()
	k.in.SetWriteDeadline(time.Now().Add(proxytest.Guard))
	if _, err := k.in.Write(b); err != nil {
		k.kill("client: %v", err)
	}
}

// read reads n bytes.
func (k *talk) read(n int) []byte {
	k.t.Helper()
	k.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	b := make([]byte, n)
	m, err := io.ReadFull(k.out, b)
	k.got = append(k.got, b[:m]...)
	if err != nil {
		k.kill("client: %d of %d bytes came: %v", m, n, err)
	}
	return b
}

// line reads up to a line feed.
func (k *talk) line() string {
	k.t.Helper()
	var b []byte
	for len(b) == 0 || b[len(b)-1] != '\n' {
		b = append(b, k.read(1)...)
	}
	return string(b)
}

func (k *talk) kill(format string, args ...any) {
	k.t.Helper()
	k.cmd.Process.Kill()
	<-k.ended
	k.t.Fatalf(format+"; stderr %s", append(args, k.errs.String())...)
}

// wait reads what still comes, waits for the end and for every process behind it,
// and gives the status.
func (k *talk) wait() int {
	k.t.Helper()
	k.out.SetReadDeadline(time.Now().Add(2 * proxytest.Guard))
	rest, err := io.ReadAll(k.out)
	k.got = append(k.got, rest...)
	if err != nil && !errors.Is(err, os.ErrClosed) {
		k.kill("client: %v", err)
	}
	select {
	case <-k.ended:
	case <-time.After(2 * proxytest.Guard):
		k.kill("the program does not end")
	}
	if !k.life.Gone() {
		k.t.Error("a process was left behind")
	}
	return k.status
}

// play plays the client's part. after, which may be nil, is called after each step.
func (k *talk) play(p play, after func(i int)) {
	k.t.Helper()
	for i, s := range p {
		if s.From == record.Client {
			k.write(s.Data)
		} else if got := k.read(len(s.Data)); !bytes.Equal(got, s.Data) {
			k.t.Errorf("step %d: the client got %.200q, want %.200q", i, got, s.Data)
		}
		if after != nil {
			after(i)
		}
	}
}

// playServer is the command of the play's server, and the file that will have what
// it read.
func (h *home) playServer(t testing.TB, p play) (command []string, seen string) {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	d := t.TempDir()
	plan, seen := filepath.Join(d, "plan"), filepath.Join(d, "seen")
	if err := os.WriteFile(plan, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return proxytest.Argv("play", plan, seen), seen
}

// record plays p through sixlink record with flags, to its orderly end, and checks
// what the other sides got. It returns what the program said.
func (h *home) record(t testing.TB, p play, flags ...string) string {
	t.Helper()
	command, seen := h.playServer(t, p)
	k := h.talk(t, nil, slices.Concat([]string{"sixlink", "record"}, flags, []string{"--"}, command)...)
	k.play(p, nil)
	k.in.Close()
	if code := k.wait(); code != 0 {
		t.Errorf("status %d; stderr %s", code, k.errs.String())
	}
	passed(t, p, seen, k.got)
	return k.errs.String()
}

// passed asserts that both sides got what the other one sent.
func passed(t testing.TB, p play, seen string, got []byte) {
	t.Helper()
	b, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, p.bytes(record.Client)) {
		t.Errorf("the server got %d bytes that are not the %d of the client", len(b), len(p.bytes(record.Client)))
	}
	if !bytes.Equal(got, p.bytes(record.Server)) {
		t.Errorf("the client got %d bytes that are not the %d of the server", len(got), len(p.bytes(record.Server)))
	}
}

// inputPlay is the play of a case's input.jsonl, in its order.
func inputPlay(t testing.TB, name, file string) (p play) {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, file)
	if err != nil {
		t.Fatal(err)
	}
	for l := range bytes.Lines(b) {
		var in struct {
			Dir, Event string
			Frame      string
			EOL        *string
		}
		if err := json.Unmarshal(l, &in); err != nil {
			t.Fatal(err)
		}
		if in.Event != "" {
			continue
		}
		from := record.Client
		if in.Dir == "s2c" {
			from = record.Server
		}
		eol := "\n"
		if in.EOL != nil {
			eol = *in.EOL
		}
		p = append(p, playStep{From: from, Data: []byte(in.Frame + eol)})
	}
	return p
}

var idMember = regexp.MustCompile(`"id":([0-9]+)`)

// framesPlay makes a play of frames.c2s.bin and frames.s2c.bin, which do not tell
// how the directions interleave: the client's lines come before the first answer
// to their id. Answers stand on lines of their own, save where cuts say where the
// server's second and later parts begin.
func framesPlay(t testing.TB, name string, cuts ...int) (p play) {
	t.Helper()
	read := func(file string) []byte {
		b, err := fixtures.ReadFile("cases", name, file)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	client := slices.Collect(bytes.Lines(read("frames.c2s.bin")))
	server := read("frames.s2c.bin")
	var parts [][]byte
	if cuts == nil {
		parts = slices.Collect(bytes.Lines(server))
	} else {
		from := 0
		for _, to := range append(cuts, len(server)) {
			parts = append(parts, server[from:to])
			from = to
		}
	}
	for _, part := range parts {
		ids := idMember.FindAllSubmatch(part[max(0, bytes.Index(part, []byte("{"))):], -1)
		if len(ids) == 0 {
			t.Fatalf("%s: a part answers nothing: %.100q", name, part)
		}
		id := ids[len(ids)-1][1]
		for n := len(client); n > 0; n-- {
			if m := idMember.FindSubmatch(client[n-1]); m != nil && bytes.Equal(m[1], id) {
				for _, l := range client[:n] {
					p = append(p, playStep{From: record.Client, Data: l})
				}
				client = client[n:]
				break
			}
		}
		p = append(p, playStep{From: record.Server, Data: part})
	}
	for _, l := range client {
		p = append(p, playStep{From: record.Client, Data: l})
	}
	return p
}

// expected reads the asserts at the end of a case's expect.md into v; run, when it
// is not empty, picks that run's.
func expected(t testing.TB, name, run string, v any) {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, "expect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, b, _ = bytes.Cut(b, []byte("```json\n"))
	b, _, ok := bytes.Cut(b, []byte("```"))
	if !ok {
		t.Fatalf("%s has no asserts", name)
	}
	if run != "" {
		var runs map[string]json.RawMessage
		if err := json.Unmarshal(b, &runs); err != nil || runs[run] == nil {
			t.Fatalf("%s has no asserts for %s: %v", name, run, err)
		}
		b = runs[run]
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// caseScript reads a case's script.json into v.
func caseScript(t testing.TB, name string, v any) {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, "script.json")
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A gradeAssert is what a case says of one of its suite's cases.
type gradeAssert struct {
	Verdict    string
	VerdictNot string   `json:"verdict_not"`
	VerdictIn  []string `json:"verdict_in"`
	Links      map[string]string
	Checks     []string
}

// verdictOf is a verdict as --format json has it.
type verdictOf struct {
	Schema  string
	Verdict string
	Cases   []struct {
		ID, Verdict string
		Trials      []struct {
			Recording, Session, Verdict string
			Links                       []struct{ Link, State, Reason string }
			Rows                        []struct{ Check, Outcome, Reason string }
		}
	}
	Skipped []struct{ Recording, Why, Detail string }
}

// words are the cases' verdicts in sixlink's words, with their exit codes.
var verdictWords = map[string]string{"pass": "passed", "fail": "failed", "error": "inconclusive"}
var verdictCodes = map[string]int{"passed": exitGood, "failed": exitFinding, "inconclusive": exitUnknown}

// suite writes the suite that a case of a fixture's suite is, each of which is
// graded as a suite of its own (cases/README.md): the checks for every session, or,
// where the matcher is in it, a case of one turn, which the flags name.
func (h *home) suite(t testing.TB, name, id string) (path string, flags []string) {
	t.Helper()
	b, err := fixtures.ReadFile("cases", name, "suite.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Suite map[string]json.RawMessage
		Cases []map[string]json.RawMessage
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cases {
		if string(c["id"]) != strconv.Quote(id) {
			continue
		}
		doc := map[string]any{"schemaVersion": "sixlink/1", "suite": map[string]any{"id": id}}
		defaults := map[string]any{}
		if p := all.Suite["passThreshold"]; p != nil {
			defaults["passThreshold"] = p
		}
		if len(c) == 2 {
			defaults["assertions"] = c["checks"]
		} else {
			turn := map[string]any{"prompt": "x"}
			if calls := c["expectedToolCalls"]; calls != nil {
				turn["expectedToolCalls"] = calls
			}
			own := map[string]any{"id": id, "assertions": c["checks"], "turns": []any{turn}}
			for _, member := range []string{"matchOptions", "isNegativeTest"} {
				if v := c[member]; v != nil {
					own[member] = v
				}
			}
			doc["cases"], flags = []any{own}, []string{"--case", id}
		}
		if len(defaults) > 0 {
			doc["defaults"] = defaults
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(t.TempDir(), id+".json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path, flags
	}
	t.Fatalf("%s: no case %q", name, id)
	return "", nil
}

// grade grades recordings and asserts that exit code and verdict agree.
func (h *home) grade(t testing.TB, suite string, recordings ...string) (verdictOf, done) {
	t.Helper()
	words := []string{"sixlink", "grade", "--format", "json"}
	if suite != "" {
		words = append(words, "--suite", suite)
	}
	d := h.run(t, append(words, recordings...)...)
	noTrace(t, d)
	var v verdictOf
	if err := json.Unmarshal(d.out, &v); err != nil || v.Schema != "sixlink/verdict/1" {
		t.Fatalf("grade: %v: %s %s", err, d.out, d.err)
	}
	if code, ok := verdictCodes[v.Verdict]; !ok || code != d.code {
		t.Errorf("verdict %s, exit code %d", v.Verdict, d.code)
	}
	return v, d
}

// noTrace asserts that nothing looks like a crash.
func noTrace(t testing.TB, d done) {
	t.Helper()
	for _, word := range []string{"goroutine ", "panic", "runtime error", ".go:"} {
		if bytes.Contains(d.err, []byte(word)) {
			t.Errorf("stderr has %q: %s", word, d.err)
		}
	}
}

// gradeCase grades a recording of a case by all of its suite's asserts.
func (h *home) gradeCase(t *testing.T, name, run, recording string) {
	t.Helper()
	var want struct{ Grade map[string]gradeAssert }
	expected(t, name, run, &want)
	for id, w := range want.Grade {
		t.Run("grade "+id, func(t *testing.T) {
			suite, flags := h.suite(t, name, id)
			v, d := h.grade(t, suite, append(flags, recording)...)
			if w.Verdict != "" && v.Verdict != verdictWords[w.Verdict] || w.VerdictNot != "" && v.Verdict == verdictWords[w.VerdictNot] ||
				len(w.VerdictIn) > 0 && !slices.ContainsFunc(w.VerdictIn, func(word string) bool { return verdictWords[word] == v.Verdict }) {
				t.Errorf("verdict %s, want %s, not %s, one of %v: %s", v.Verdict, w.Verdict, w.VerdictNot, w.VerdictIn, d.out)
			}
			if len(v.Cases) != 1 || len(v.Cases[0].Trials) != 1 {
				t.Fatalf("not one trial: %s", d.out)
			}
			links := 0
			for _, l := range v.Cases[0].Trials[0].Links {
				if s, ok := w.Links[l.Link]; ok {
					links++
					if s != l.State {
						t.Errorf("%s: %s (%s), want %s", l.Link, l.State, l.Reason, s)
					}
				}
			}
			if links != len(w.Links) {
				t.Errorf("%d of %d links: %s", links, len(w.Links), d.out)
			}
		})
	}
}

// shown is the show verb's JSON.
func (h *home) show(t testing.TB, recording string) (s shown) {
	t.Helper()
	d := h.run(t, "sixlink", "show", "--format", "json", recording)
	noTrace(t, d)
	if err := json.Unmarshal(d.out, &s); err != nil || d.code != 0 || s.Schema != "sixlink/show/1" {
		t.Fatalf("show: status %d, %v: %s", d.code, err, d.err)
	}
	return s
}

// cat is the exact bytes of a direction, from the file.
func (h *home) cat(t testing.TB, recording string, from record.From) []byte {
	t.Helper()
	d := h.run(t, "sixlink", "cat", "--raw", "--from", string(from), recording)
	if d.code != 0 || len(d.err) > 0 {
		t.Errorf("cat: status %d: %s", d.code, d.err)
	}
	return d.out
}

// caseRead is a recording read strictly.
type caseRead struct {
	header  *record.Header
	records []*record.Record
	end     record.End
}

func readRecording(t testing.TB, path string) (c caseRead) {
	t.Helper()
	r, err := record.Open(path, record.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.header = r.Header()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c.records = append(c.records, rec)
	}
	if c.end = r.End(); c.end.Damage != nil {
		t.Errorf("the recording is damaged: %v", c.end.Damage)
	}
	return c
}

// whole asserts that the recording is sealed and lost nothing.
func (c caseRead) whole(t testing.TB) {
	t.Helper()
	if c.end.State != record.Sealed || c.end.Torn || c.end.Gaps != 0 {
		t.Errorf("the recording is not whole: %+v", c.end)
	}
}

// exit asserts that the last thing that happened is the server's end, by its code
// or its signal.
func (c caseRead) exit(t testing.TB, code int, signal string) {
	t.Helper()
	var last *record.Record
	for _, r := range c.records {
		if r.Seq > 0 {
			last = r
		}
	}
	if last == nil || last.Kind != record.KindExit {
		t.Errorf("the recording does not end with an exit: %+v", last)
		return
	}
	e := last.Exit
	if e.Signal != signal || (e.Code == nil) != (signal != "") || e.Code != nil && *e.Code != code {
		t.Errorf("exit record %s, want code %d or signal %q", last.Line, code, signal)
	}
}

// unpacked is the file's text.
func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// texts gives every text that stands in a line of JSON, escapes undone and base64 too.
func texts(t testing.TB, line []byte, give func(string)) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		if s, ok := tok.(string); ok {
			give(s)
			if b, err := base64.StdEncoding.DecodeString(s); err == nil {
				give(string(b))
			}
		}
	}
}

// about are the lines in which the program itself talks.
func about(stderr string) (lines []string) {
	for l := range strings.Lines(stderr) {
		if strings.HasPrefix(l, "sixlink: ") {
			lines = append(lines, strings.TrimSuffix(l, "\n"))
		}
	}
	return lines
}

// modeOf is a file's permissions.
func modeOf(t testing.TB, path string) os.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}

// oneFile is the only recording in a folder.
func oneFile(t testing.TB, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+record.Suffix))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s holds %q, %v", dir, names, err)
	}
	return names[0]
}

// gradeResident is grade, and how many bytes were resident at the most.
func (h *home) gradeResident(t testing.TB, recordings ...string) (verdictOf, done, int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "resident")
	exe, err := exec.LookPath("sixlink")
	if err != nil {
		t.Fatal(err)
	}
	d := h.run(t, append(proxytest.Argv("resident", file, exe, "grade", "--format", "json"), recordings...)...)
	noTrace(t, d)
	var v verdictOf
	if err := json.Unmarshal(d.out, &v); err != nil {
		t.Fatalf("%v: %s %s", err, d.out, d.err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n <= 0 {
		t.Fatalf("resident: %q, %v", b, err)
	}
	return v, d, n
}

// residentPeak is the most bytes that a running process had resident; 0 where the
// system does not tell.
func residentPeak(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	if !ok {
		return 0
	}
	n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return n << 10
}

// underRace tells whether the race detector is in this binary: it takes several
// times the memory.
func underRace() bool {
	bi, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(bi.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}
