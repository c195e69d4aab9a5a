//go:build faults && linux

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// loadedMemory is what a loaded recorder may have resident (DESIGN.md "Speed and
// size"), in bytes.
const loadedMemory = 96 << 20

// The servers of the faults are this test binary in a role. It is taken on before
// TestMain, which belongs to testscript.
func init() { proxytest.Main(serverRoles) }

// serverRoles are servers that a proxytest.Program cannot describe. Each tells
// nothing but its bytes.
var serverRoles = map[string]func([]string) int{}

// skipped says that a fault could not be made here, in the words that CI looks
// for. With REQUIRE_E2E=1 nothing may be skipped.
func skipped(t testing.TB, what string, why any) {
	t.Helper()
	fmt.Printf("SKIPPED %s: %v\n", what, why)
	if os.Getenv("REQUIRE_E2E") == "1" {
		t.Fatalf("SKIPPED %s: %v (REQUIRE_E2E=1 does not allow that)", what, why)
	}
	t.SkipNow()
}

// fault says what is made to happen, in words for the line that make faults prints
// (fixtures/faults).
func fault(t testing.TB, name string) {
	t.Helper()
	t.Attr("fault", name)
}

// observed says what came of it, in figures.
func observed(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Attr("observed", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

// folders are in what the program says about files, and of no use in a line.
var folders = regexp.MustCompile(`/\S*/`)

// plain is what the program said without the words that are the same in each line.
func plain(told string) string {
	return folders.ReplaceAllString(strings.ReplaceAll(told, "sixlink: ", ""), "")
}

// setup says how the program is run.
type setup struct {
	flags   []string // of record
	out     string   // --out; empty: a new file of its own
	command []string
	before  []string // words before the program: nohup, unshare …
	prepare func(*exec.Cmd)
	sockets bool // socket pairs in place of pipes, as Node makes them
}

// realRun is the real program between a host, which is the test, and a server. Every
// process behind it holds the lifeline.
type realRun struct {
	t       *testing.T
	cmd     *exec.Cmd
	in, out *os.File
	errs    locked
	life    *proxytest.Lifeline
	path    string
	peak    atomic.Int64 // VmHWM in bytes, as seen last
	ended   chan struct{}
	endedAt time.Time
}

// locked is a buffer that may be read while it is written.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startReal starts the program.
func startReal(t *testing.T, s setup) *realRun {
	t.Helper()
	r := &realRun{t: t, life: proxytest.NewLifeline(t), path: s.out, ended: make(chan struct{})}
	if r.path == "" {
		r.path = filepath.Join(t.TempDir(), "r"+record.Suffix)
	}
	argv := append([]string{}, s.before...)
	argv = append(argv, binary(t), "record", "--out", r.path)
	argv = append(append(append(argv, s.flags...), "--"), s.command...)
	r.cmd = exec.Command(argv[0], argv[1:]...)
	r.cmd.Env = append(os.Environ(), "SIXLINK_HOME="+t.TempDir())
	var theirIn, theirOut *os.File
	if s.sockets {
		theirIn, r.in = proxytest.Socketpair(t)
		r.out, theirOut = proxytest.Socketpair(t)
	} else {
		theirIn, r.in = proxytest.Pipe(t)
		r.out, theirOut = proxytest.Pipe(t)
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = theirIn, theirOut, &r.errs
	r.cmd.ExtraFiles = []*os.File{r.life.Held}
	r.cmd.WaitDelay = proxytest.Guard
	if s.prepare != nil {
		s.prepare(r.cmd)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	t.Cleanup(func() { r.cmd.Process.Kill() })
	go func() {
		// The peak is gone with the process, so it is looked at all the time: it
		// only grows.
		for {
			if n := peakMemory(r.pid(s.before)); n > 0 {
				r.peak.Store(n)
			}
			select {
			case <-r.ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	go func() {
		r.cmd.Wait()
		r.endedAt = time.Now()
		close(r.ended)
	}()
	return r
}

// pid is the program's, also where unshare runs it as its child.
func (r *realRun) pid(before []string) int {
	pid := r.cmd.Process.Pid
	if len(before) == 0 || before[0] != "unshare" {
		return pid
	}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	child, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.Atoi(child)
	if err != nil {
		return -1 // not started yet
	}
	return n
}

// peakMemory is the most that a process had resident, in bytes.
func peakMemory(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "VmHWM:")
	if !ok {
		return 0
	}
	n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return n << 10
}

func (r *realRun) write(s string) {
	r.t.Helper()
	r.in.SetWriteDeadline(time.Now().Add(proxytest.Guard))
	if _, err := io.WriteString(r.in, s); err != nil {
		r.t.Fatalf("host: %v; stderr %s", err, r.errs.String())
	}
}

func (r *realRun) read(want string) {
	r.t.Helper()
	r.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	b := make([]byte, len(want))
	n, err := io.ReadFull(r.out, b)
	if err != nil || string(b) != want {
		r.t.Fatalf("host: read %q, %v; want %q; stderr %s", b[:n], err, want, r.errs.String())
	}
	r.out.SetReadDeadline(time.Time{})
}

// rest reads what the server still writes, to its end.
func (r *realRun) rest() digest {
	r.t.Helper()
	d := newDigest()
	if _, err := io.Copy(d, r.out); err != nil {
		r.t.Fatal(err)
	}
	return d.done()
}

// wait gives the status as a shell shows it.
func (r *realRun) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(2 * proxytest.Guard):
		r.cmd.Process.Kill()
		r.t.Fatalf("the program does not end: %s", r.errs.String())
	}
	ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// end is the common end of a fault: the status, nothing left behind, memory
// bounded, and what show says. It returns what was kept.
func (r *realRun) end(status int) kept {
	r.t.Helper()
	if got := r.wait(); got != status {
		r.t.Errorf("status %d, want %d; stderr %s", got, status, r.errs.String())
	}
	r.bounded()
	return read(r.t, r.path)
}

// bounded asserts what holds for every fault: nothing is left behind, and memory
// stayed within its bound.
func (r *realRun) bounded() {
	r.t.Helper()
	if !r.life.Gone() {
		r.t.Error("a process was left behind")
	}
	if n := r.peak.Load(); n == 0 || n > loadedMemory {
		r.t.Errorf("%s resident at the peak, the bound is %s", mib(n), mib(loadedMemory))
	}
}

// told is what the program itself said on stderr, line by line.
func (r *realRun) told() []string {
	var lines []string
	for l := range strings.Lines(r.errs.String()) {
		if strings.HasPrefix(l, "sixlink: ") {
			lines = append(lines, strings.TrimSuffix(l, "\n"))
		}
	}
	return lines
}

// show runs the show verb and returns what it printed.
func show(t *testing.T, path string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(binary(t), "show", path)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("show: %v: %s", err, errs.String())
	}
	return string(out)
}

// mustShow asserts that the recording, as show prints it, has each of the texts.
func mustShow(t *testing.T, path string, texts ...string) {
	t.Helper()
	out := show(t, path)
	for _, s := range texts {
		if !strings.Contains(out, s) {
			t.Errorf("show does not say %q:\n%s", s, out)
		}
	}
}

// digest is what is compared of bytes that passed.
type digest struct {
	bytes, lines int64
	sum          [sha256.Size]byte
}

// adding is a digest in the making.
type adding struct {
	digest
	h hash.Hash
}

func newDigest() *adding { return &adding{h: sha256.New()} }

func (a *adding) Write(p []byte) (int, error) {
	a.bytes += int64(len(p))
	a.lines += int64(bytes.Count(p, []byte("\n")))
	return a.h.Write(p)
}

func (a *adding) done() digest {
	a.h.Sum(a.sum[:0])
	return a.digest
}

func digestOf(p []byte) digest {
	a := newDigest()
	a.Write(p)
	return a.done()
}

// kept is what a recording holds.
type kept struct {
	end     record.End
	streams map[record.From]digest           // of the frames that are there
	lost    map[record.From]record.GapStream // by the gap records, added up
	gaps    []record.Gap
	story   []string // events, as proxytest.Describe says them
	events  []record.Record
	files   int
}

// read reads a recording whole, strictly.
func read(t *testing.T, path string) kept {
	t.Helper()
	return readFrames(t, path, nil)
}

// readFrames is read that also gives every frame.
func readFrames(t *testing.T, path string, frame func(*record.Record)) kept {
	t.Helper()
	k := kept{streams: map[record.From]digest{}, lost: map[record.From]record.GapStream{}}
	r, err := record.Open(path, record.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := map[record.From]*adding{record.Client: newDigest(), record.Server: newDigest(), record.Stderr: newDigest()}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rec.Kind {
		case record.KindFrame:
			a := all[rec.From]
			a.Write(rec.Data)
			a.Write(rec.EOL)
			if frame != nil {
				frame(rec)
			}
		case record.KindGap:
			k.gaps = append(k.gaps, *rec.Gap)
			for from, s := range rec.Gap.Streams {
				l := k.lost[from]
				l.Bytes += s.Bytes
				l.Frames += s.Frames
				k.lost[from] = l
			}
		case record.KindHeader, record.KindClosing:
		default:
			rec.Line = nil
			k.events = append(k.events, *rec)
			k.story = append(k.story, proxytest.Describe(*rec))
		}
	}
	for from, a := range all {
		k.streams[from] = a.done()
	}
	k.end, k.files = r.End(), len(r.Files())
	if k.end.Damage != nil {
		t.Errorf("the recording is damaged: %v", k.end.Damage)
	}
	return k
}

// account asserts that what was sent is what is recorded and what gaps stand for,
// to the byte and to the line; without a gap also by SHA-256.
func (k kept) account(t *testing.T, from record.From, sent digest) {
	t.Helper()
	got, lost := k.streams[from], k.lost[from]
	if got.bytes+lost.Bytes != sent.bytes || got.lines+lost.Frames != sent.lines {
		t.Errorf("%s: %d bytes and %d lines were sent, recorded are %d and %d, in gaps %d and %d",
			from, sent.bytes, sent.lines, got.bytes, got.lines, lost.Bytes, lost.Frames)
	}
	if lost.Bytes == 0 && got.sum != sent.sum {
		t.Errorf("%s: the recorded bytes are not those that passed", from)
	}
}

// has asserts that the story has these lines in this order, others between them.
func (k kept) has(t *testing.T, lines ...string) {
	t.Helper()
	rest := k.story
	for _, want := range lines {
		i := 0
		for i < len(rest) && rest[i] != want {
			i++
		}
		if i == len(rest) {
			t.Errorf("the recording does not say %q in its place:\n%s", want, strings.Join(k.story, "\n"))
			return
		}
		rest = rest[i+1:]
	}
}

// shares is a line about what was kept of a direction.
func (k kept) shares(from record.From) string {
	got, lost := k.streams[from], k.lost[from]
	return fmt.Sprintf("%d of %d lines kept, %d in %d gaps", got.lines, got.lines+lost.Frames, lost.Frames, len(k.gaps))
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func peak(r *realRun) string { return mib(r.peak.Load()) + " at the peak" }

// seconds is a duration for a person.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// replies makes lines as servers write them, n bytes long each, which do not pack
// well.
type replies struct {
	rnd *rand.Rand
	n   int
}

func newReplies(n int) *replies { return &replies{rnd: rand.New(rand.NewPCG(51, 52)), n: n} }

func (p *replies) line(id int) []byte {
	const frame = `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}` + "\n"
	raw := make([]byte, p.n*3/4)
	for i := 0; i+8 <= len(raw); i += 8 {
		v := p.rnd.Uint64()
		for j := range 8 {
			raw[i+j] = byte(v >> (8 * j))
		}
	}
	return fmt.Appendf(nil, frame, id, base64.StdEncoding.EncodeToString(raw))
}

// echo writes lines to a server that echoes them, one each period, and calls
// between before each. It returns the digest of what was written; every line has
// come back when it returns.
func (r *realRun) echo(lines, size int, period time.Duration, between func(i int)) digest {
	r.t.Helper()
	gen, sent := newReplies(size), newDigest()
	back := bufio.NewReaderSize(r.out, 256<<10)
	tick := time.NewTicker(period)
	defer tick.Stop()
	var worst time.Duration
	for i := range lines {
		if between != nil {
			between(i)
		}
		line := gen.line(i)
		sent.Write(line)
		start := time.Now()
		r.in.SetWriteDeadline(start.Add(proxytest.Guard))
		r.out.SetReadDeadline(start.Add(proxytest.Guard))
		if _, err := r.in.Write(line); err != nil {
			r.t.Fatalf("line %d: %v; stderr %s", i, err, r.errs.String())
		}
		got := make([]byte, len(line))
		if _, err := io.ReadFull(back, got); err != nil || !bytes.Equal(got, line) {
			r.t.Fatalf("line %d did not come back as it was: %v", i, err)
		}
		worst = max(worst, time.Since(start))
		<-tick.C
	}
	r.t.Logf("the slowest of %d round trips took %v", lines, worst.Round(time.Millisecond))
	return sent.done()
}
