package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sixlink/sixlink/record/mask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// piece is one read of one direction, after a pause.
type piece struct {
	from  From
	data  string
	pause time.Duration
}

// make records pieces and returns the file's path.
func makeRecording(t testing.TB, cfg Config, pieces []piece) string {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	cfg.Transport, cfg.Level, cfg.Version = "stdio", LevelFull, "test"
	r, err := Begin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		time.Sleep(p.pause)
		r.Data(p.from, []byte(p.data))
	}
	r.Close(time.Minute)
	return r.Path()
}

// readAll reads a recording to its end.
func readAll(t testing.TB, path string, opts Options) ([]*Record, End) {
	t.Helper()
	r, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var recs []*Record
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return recs, r.End()
		}
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec)
	}
}

// reconstruct is the bytes of a direction.
func reconstruct(recs []*Record, from From) string {
	var b strings.Builder
	for _, r := range recs {
		if r.Kind == KindFrame && r.From == from {
			b.Write(r.Data)
			b.Write(r.EOL)
		}
	}
	return b.String()
}

func sum(pieces []piece, from From) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.from == from {
			b.WriteString(p.data)
		}
	}
	return b.String()
}

// Every kind of line must come back as it was, in the form that FORMAT.md names.
func TestFrameForms(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	tooDeep := strings.Repeat("[", 201) + strings.Repeat("]", 201)
	for _, c := range []struct {
		name, line string
		form       Form
	}{
		{"a message", `{"a":1}` + "\n", FormMessage},
		{"a batch", `[{"a":1},{"b":2}]` + "\n", FormMessage},
		{"odd spacing, order, numbers", `{ "b" :1.10, "a":1E+2,"z":-0 }` + "\n", FormMessage},
		{"CRLF", "{}\r\n", FormMessage},
		{"a tab at the end", "{}\t\n", FormMessage},
		{"no end", `{"a":1}`, FormMessage},
		{"the same member twice", `{"id":1,"id":2}` + "\n", FormMessage},
		{"200 deep", deep + "\n", FormMessage},
		{"201 deep", tooDeep + "\n", FormText},
		{"a quote behind backslashes", `{"a":"\\","b":["\\\"]}"]}` + "\n", FormMessage},
		{"a number of 1000 bytes", `{"a":` + strings.Repeat("1", 1000) + "}\n", FormMessage},
		{"a number of 1001 bytes", `{"a":` + strings.Repeat("1", 1001) + "}\n", FormText},
		{"digits in a string are no number", `{"a":"` + strings.Repeat("1", 2000) + "\"}\n", FormMessage},
		{"a blank before", ` {"a":1}` + "\n", FormText},
		{"a byte order mark", "\ufeff{}\n", FormText},
		{"a lone surrogate", `{"a":"\ud83d"}` + "\n", FormText},
		{"a pair of surrogates", `{"a":"\ud83d\ude00"}` + "\n", FormMessage},
		{"two objects", `{"a":1}{"b":2}` + "\n", FormText},
		{"a bare CR", "{\"a\":\r1}\n", FormText},
		{"a CR in an escape is none", `{"a":"\r"}` + "\n", FormMessage},
		{"no JSON", "hello\n", FormText},
		{"a number alone", "17\n", FormText},
		{"cut off", `{"a":` + "\n", FormText},
		{"an open string", `{"a":"` + "\n", FormText},
		{"nothing", "\n", FormText},
		{"nothing and CRLF", "\r\n", FormText},
		{"controls", "\x00\x01\x1b[0m\b\f\u2028\u0085\x7f\n", FormText},
		{"many controls", strings.Repeat("\x00", 1000) + "\n", FormRaw},
		{"no UTF-8", "\xff\xfe\n", FormRaw},
		{"a surrogate in UTF-8", "\xed\xa0\x80\n", FormRaw},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := frame{seq: 7, at: 99, from: Server, off: 5, data: []byte(c.line), total: int64(len(c.line))}
			line := appendFrame(nil, &f)
			if !bytes.HasSuffix(line, []byte("}\n")) || bytes.Count(line, newline) != 1 {
				t.Fatalf("not one line: %q", line)
			}
			var rec Record
			if err := decodeLine(line[:len(line)-1], &rec); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if got := string(rec.Data) + string(rec.EOL); got != c.line {
				t.Errorf("got %q, want %q", got, c.line)
			}
			if rec.Form != c.form {
				t.Errorf("form %d, want %d: %s", rec.Form, c.form, line)
			}
			if rec.Seq != 7 || rec.At != 99 || rec.From != Server || rec.Off != 5 || rec.Len != int64(len(rec.Data)) {
				t.Errorf("members are wrong: %+v", rec)
			}
		})
	}
}

// The property of the format: reconstruct(recording) == the bytes that were
// seen, for any bytes in any pieces at any time.
func TestReconstruct(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var pieces []piece
			for range rnd.IntN(60) {
				p := piece{from: directions[rnd.IntN(3)], data: randomBytes(rnd)}
				if rnd.IntN(4) == 0 {
					p.pause = time.Duration(rnd.IntN(200)) * time.Millisecond
				}
				pieces = append(pieces, p)
			}
			path := makeRecording(t, Config{}, pieces)
			recs, end := readAll(t, path, Options{Verify: true})
			if end.State != Sealed || end.Torn || end.Gaps != 0 || end.Damage != nil {
				t.Errorf("seed %d: %+v", seed, end)
			}
			for _, from := range directions {
				if diff := cmp.Diff(sum(pieces, from), reconstruct(recs, from)); diff != "" {
					t.Errorf("seed %d: %s (-seen +recorded):\n%s", seed, from, diff)
				}
			}
			checkOrder(t, recs)
		})
	}
}

func randomBytes(rnd *rand.Rand) string {
	switch rnd.IntN(6) {
	case 0:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", rnd.IntN(1000))
	case 1:
		return strings.Repeat("\n", rnd.IntN(5))
	case 2:
		b := make([]byte, rnd.IntN(300))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return string(b)
	case 3:
		return "{\"text\":\"é漢😀"
	case 4:
		return "\"}\r\n"
	}
	return strings.Repeat("x", rnd.IntN(100_000))
}

// checkOrder holds what the reader gives against the rules of order.
func checkOrder(t *testing.T, recs []*Record) {
	t.Helper()
	seq, at := int64(0), int64(0)
	parts, open := map[From]int64{}, map[From]bool{}
	for _, r := range recs {
		if r.Seq == 0 {
			continue
		}
		if r.Seq != seq+1 || r.At < at {
			t.Errorf("seq %d at %d follows %d at %d", r.Seq, r.At, seq, at)
		}
		seq, at = r.Seq, r.At
		if r.Kind != KindFrame {
			continue
		}
		if r.Since != nil && (r.Since.After >= r.Seq || r.Since.At > r.At) {
			t.Errorf("seq %d at %d began after %d at %d", r.Seq, r.At, r.Since.After, r.Since.At)
		}
		if r.Cont != open[r.From] {
			t.Errorf("seq %d: cont is %v after a part of %d bytes", r.Seq, r.Cont, parts[r.From])
		}
		n := parts[r.From] + int64(len(r.Data))
		parts[r.From], open[r.From] = n, r.More
		if !r.More {
			if r.Len != n {
				t.Errorf("seq %d: len %d, its parts have %d", r.Seq, r.Len, n)
			}
			parts[r.From] = 0
		}
	}
}

// Case 03: a letter cut at a read's edge, and one byte a read.
func TestLetterSplitBetweenReads(t *testing.T) {
	line := `{"t":"né 漢字 😀 done"}` + "\n"
	for _, pause := range []time.Duration{0, 30 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var pieces []piece
			for i := range len(line) {
				pieces = append(pieces, piece{Server, line[i : i+1], 0})
			}
			pieces[12].pause, pieces[13].pause = pause, pause
			recs, _ := readAll(t, makeRecording(t, Config{}, pieces), Options{})
			f := frames(recs)
			if len(f) != 1 || f[0].Form != FormMessage || string(f[0].Data)+"\n" != line {
				t.Fatalf("want one message, got %d frames: %q", len(f), reconstruct(recs, Server))
			}
			if f[0].Since == nil || f[0].At-f[0].Since.At != int64(2*pause) {
				t.Errorf("since %+v, at %d", f[0].Since, f[0].At)
			}
		})
	}
}

func frames(recs []*Record) (f []*Record) {
	for _, r := range recs {
		if r.Kind == KindFrame {
			f = append(f, r)
		}
	}
	return f
}

// A line whose end does not come is kept in parts after 80 ms, and on disk
// within 100 ms.
func TestOpenLineIsCutAfter80ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		r.Data(Client, []byte(`{"begun":`))
		r.Data(Server, []byte("{}\n"))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		recs, end := readAll(t, r.Path(), Options{})
		if end.State != Live {
			t.Errorf("state %s while the writer holds it", end.State)
		}
		if got := reconstruct(recs, Client); got != `{"begun":` {
			t.Errorf("after %v there is %q", time.Since(begin), got)
		}
		r.Data(Client, []byte("1}\n"))
		r.Close(time.Second)
		recs, _ = readAll(t, r.Path(), Options{})
		f := frames(recs)
		if len(f) != 3 {
			t.Fatalf("%d frames", len(f))
		}
		// The server's line ended before the part of the client's was cut.
		if f[0].From != Server || f[1].From != Client || !f[1].More || f[1].Since != nil && f[1].Since.After != 0 {
			t.Errorf("order: %+v", f)
		}
		if last := f[2]; !last.Cont || last.More || last.Len != int64(len(`{"begun":1}`)) || string(last.EOL) != "\n" {
			t.Errorf("last part: %+v", last)
		}
		checkOrder(t, recs)
	})
}

// The server may answer before the newline of the request came: both places of
// the request are on record.
func TestAnswerBeforeTheNewline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recs, _ := readAll(t, makeRecording(t, Config{}, []piece{
			{Client, `{"id":1}`, 0}, {Server, `{"id":1}` + "\n", time.Millisecond}, {Client, "\n", time.Millisecond},
		}), Options{})
		f := frames(recs)
		if len(f) != 2 || f[0].From != Server || f[1].From != Client {
			t.Fatalf("%+v", f)
		}
		if s := f[1].Since; s == nil || s.After != f[0].Seq-1 || s.At >= f[0].At {
			t.Errorf("the request's first byte came before seq %d; since is %+v", f[0].Seq, s)
		}
	})
}

// Lines over 4 MiB become parts of at most that and a read; 9 MiB must not hit
// the line limit in any form.
func TestLongLine(t *testing.T) {
	for name, fill := range map[string]string{"text": "x", "controls": "\x01", "raw": "\xff"} {
		t.Run(name, func(t *testing.T) {
			line := `{"a":"` + strings.Repeat(fill, 9<<20) + "\"}\n"
			recs, end := readAll(t, makeRecording(t, Config{Max: 64 << 20, Lossless: true}, []piece{{Server, line, 0}, {Server, "{}\n", 0}}), Options{Verify: true})
			if end.Gaps > 0 || end.State != Sealed {
				t.Fatalf("%+v", end)
			}
			f := frames(recs)
			if len(f) < 4 || !f[0].More || !f[1].Cont || f[len(f)-1].Cont {
				t.Errorf("%d frames", len(f))
			}
			if got := reconstruct(recs, Server); got != line+"{}\n" {
				t.Errorf("%d bytes came back, %d were seen", len(got), len(line)+3)
			}
			checkOrder(t, recs)
		})
	}
}

// A recording cut at every byte: never a panic, never a byte that was not seen,
// always torn, and repair makes the same of it.
func TestTruncatedAtEveryByte(t *testing.T) {
	for name, seal := range map[string]bool{"open": false, "sealed": true} {
		t.Run(name, func(t *testing.T) {
			data, pieces := smallRecording(t, seal)
			dir := t.TempDir()
			path := filepath.Join(dir, "cut"+Suffix)
			whole, most := 0, 0
			var decoders Decoders // records are looked at before it is used again
			for n := range len(data) {
				if err := os.WriteFile(path, data[:n], 0o600); err != nil {
					t.Fatal(err)
				}
				recs := readTorn(t, path, &decoders)
				for _, from := range directions {
					if got := reconstruct(recs, from); !strings.HasPrefix(sum(pieces, from), got) {
						t.Fatalf("cut at %d: %s: %q was not seen", n, from, got)
					}
				}
				if len(recs) < most {
					t.Fatalf("cut at %d gives %d records, an earlier cut gave %d", n, len(recs), most)
				}
				most = len(recs)
				if n%7 != 0 {
					continue
				}
				whole++
				out := filepath.Join(dir, fmt.Sprintf("r%d%s", n, Suffix))
				done, err := Repair(path, out, "test", Options{})
				if len(recs) == 0 {
					if err == nil {
						t.Fatalf("cut at %d: repaired nothing", n)
					}
					continue
				}
				if err != nil || !done.Torn {
					t.Fatalf("cut at %d: %+v, %v", n, done, err)
				}
				again, end := readAll(t, out, Options{Verify: true})
				if end.State != Sealed || !end.Torn {
					t.Fatalf("cut at %d: repaired is %+v", n, end)
				}
				sameRecords(t, recs, again)
			}
			if whole == 0 || !seal && most < 10 {
				t.Fatalf("only %d records in the longest cut", most)
			}
		})
	}
}

// smallRecording makes a file of several flushes; unsealed it is as a kill
// right after the closing record leaves it.
func smallRecording(t *testing.T, seal bool) (data []byte, pieces []piece) {
	t.Helper()
	for i := range 12 {
		pieces = append(pieces,
			piece{Client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"n":%d}}`+"\n", i, i*i), 60 * time.Millisecond},
			piece{Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"t":"é%d"}}`+"\n", i, i), 0},
			piece{Stderr, "log\xff\n", 0})
	}
	synctest.Test(t, func(t *testing.T) {
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Command: []string{"srv"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			time.Sleep(p.pause)
			r.Data(p.from, []byte(p.data))
		}
		limit := time.Minute
		if !seal {
			limit = -time.Second
		}
		r.Close(limit)
		if data, err = os.ReadFile(r.Path()); err != nil {
			t.Fatal(err)
		}
	})
	return data, pieces
}

// readTorn reads what there is; the file must be seen as torn.
func readTorn(t *testing.T, path string, decoders *Decoders) (recs []*Record) {
	t.Helper()
	r, err := Open(path, Options{Decoders: decoders})
	var not *NotRecordingError
	if errors.As(err, &not) {
		if !not.Torn {
			t.Fatalf("%v: not torn", err)
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec)
	}
	if end := r.End(); end.State != Torn || !end.Torn {
		t.Fatalf("end is %+v", end)
	}
	return recs
}

// sameRecords compares all but headers, closings and where they stand.
func sameRecords(t *testing.T, a, b []*Record) {
	t.Helper()
	lines := func(recs []*Record) (l []string) {
		for _, r := range recs {
			if r.Seq > 0 {
				l = append(l, string(r.Line))
			}
		}
		return l
	}
	if diff := cmp.Diff(lines(a), lines(b)); diff != "" {
		t.Fatalf("lines differ (-a +b):\n%s", diff)
	}
}

// A flipped bit never gives bytes that were not seen (a check stands between).
func TestFlippedBit(t *testing.T) {
	for name, seal := range map[string]bool{"open": false, "sealed": true} {
		t.Run(name, func(t *testing.T) {
			data, pieces := smallRecording(t, seal)
			path := filepath.Join(t.TempDir(), "flip"+Suffix)
			rnd := rand.New(rand.NewPCG(1, 2))
			var decoders Decoders // records are looked at before the next file is opened
			for range 1500 {
				bit := rnd.IntN(8 * len(data))
				bad := bytes.Clone(data)
				bad[bit/8] ^= 1 << (bit % 8)
				if err := os.WriteFile(path, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := Open(path, Options{Decoders: &decoders})
				if err != nil {
					continue // the header itself
				}
				var recs []*Record
				for {
					rec, err := r.Next()
					if err != nil {
						break
					}
					recs = append(recs, rec)
				}
				r.Close()
				for _, from := range directions {
					if got := reconstruct(recs, from); !strings.HasPrefix(sum(pieces, from), got) {
						t.Fatalf("bit %d: %s: %q was not seen", bit, from, got)
					}
				}
			}
		})
	}
}

// Sealing changes checks and nothing else, and the plain tools read both.
func TestSealKeepsLines(t *testing.T) {
	open, _ := smallRecording(t, false)
	sealed, _ := smallRecording(t, true)
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"+Suffix), filepath.Join(dir, "b"+Suffix)
	os.WriteFile(a, open, 0o600)
	out := filepath.Join(dir, "c"+Suffix)
	os.WriteFile(b, sealed, 0o600)
	ra, ea := readAll(t, a, Options{Verify: true})
	if ea.State != Sealed {
		t.Fatalf("open file with its closing record: %+v", ea)
	}
	done, err := Repair(a, out, "test", Options{})
	if err != nil || done.Torn || done.Dropped != 0 {
		t.Fatal(done, err)
	}
	rc, ec := readAll(t, out, Options{Verify: true})
	if ec.State != Sealed || ec.Torn {
		t.Fatalf("%+v", ec)
	}
	sameRecords(t, ra, rc)
	if len(sealed) >= len(open) {
		t.Errorf("sealed has %d bytes, open %d", len(sealed), len(open))
	}
	zstdcat, err := exec.LookPath("zstdcat")
	if err != nil {
		t.Log("no zstdcat here: the plain tools were not tried")
		return
	}
	text, err := exec.Command(zstdcat, out).Output()
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "c.jsonl")
	os.WriteFile(plain, text, 0o600)
	rp, ep := readAll(t, plain, Options{Verify: true})
	if ep.State != Sealed {
		t.Fatalf("unpacked: %+v", ep)
	}
	sameRecords(t, rc, rp)
}

// Stores find every record again, wherever it stands.
func TestStoreFindsRecords(t *testing.T) {
	var pieces []piece
	for i := range 200 {
		pieces = append(pieces, piece{Client, fmt.Sprintf("{\"i\":%d,\"pad\":\"%s\"}\n", i, strings.Repeat("z", 60_000)), 0})
	}
	path := makeRecording(t, Config{Lossless: true}, pieces)
	r, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	recs, _ := readAll(t, path, Options{})
	s := NewStore(r.Files())
	defer s.Close()
	for _, i := range []int{5, 150, 6, 100, 199, 7} {
		got, err := s.Fetch([]Ref{recs[i].Ref})
		if err != nil || !bytes.Equal(got, recs[i].Data) {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	if recs[5].Ref.Frame == recs[199].Ref.Frame {
		t.Error("12 MB stand in one zstd frame")
	}
}

// A recorder that cannot keep up loses records, says so, and says exactly what.
func TestQueueFullIsAGap(t *testing.T) {
	q := newQueue(func() int64 { return 1 }, true)
	line := []byte(`{"pad":"` + strings.Repeat("p", 50_000) + "\"}\n")
	sent := 0
	for range 600 { // 30 MB: the recorder never takes any
		q.data(Client, line)
		sent += len(line)
	}
	q.data(Client, []byte(`{"half":`))
	slabs := q.take(nil)
	for _, s := range slabs {
		q.release(s)
	}
	q.data(Client, []byte("1}\n{\"next\":1}\n"))
	var gap *Gap
	kept := int64(0)
	for _, s := range slabs {
		for _, e := range s.entries {
			kept += int64(len(e.data))
		}
	}
	for _, s := range q.take(nil) {
		for _, e := range s.entries {
			if e.typ == entryEvent {
				gap = e.event.Gap
			} else if gap != nil && !e.headless {
				t.Error("the line that goes on behind the gap has no beginning, and does not say so")
			}
		}
	}
	if gap == nil {
		t.Fatal("no gap")
	}
	// release cleared the entries' count above, so the loss is what never got in.
	if g := gap.Streams[Client]; g.Off != int64(sent)+8-g.Bytes || g.Bytes < 10<<20 || g.Frames != gap.LastSeq-gap.FirstSeq {
		t.Errorf("gap %+v of %d sent", gap, sent)
	}
	if q.used > queueBytes+slabSize {
		t.Errorf("the queue holds %d bytes", q.used)
	}
}

// Known credentials: argv, environment values wherever they turn up (case 56,
// stdio run), also across parts of a line.
func TestCredentialsAreReplaced(t *testing.T) {
	argv := []string{"server", "--api-key=case-argv-rrrr8888", "--token", "case-argv2-ssss9999", "--port", "80"}
	env := []string{"ACME_API_KEY=case-env-tttt0000", "PATH=/usr/bin"}
	secrets := []string{"case-argv-rrrr8888", "case-argv2-ssss9999", "case-env-tttt0000"}
	synctest.Test(t, func(t *testing.T) {
		pieces := []piece{
			{Stderr, "using key case-env-tttt0000\n", 0},
			{Server, `{"result":{"text":"configured with case-env-tttt0000 and case-argv-rrrr8888"}}` + "\n", 0},
			{Stderr, "prompt case-env-t", 0}, {Stderr, "ttt0000> ", 200 * time.Millisecond},
			{Stderr, "case-argv2-ss", 300 * time.Millisecond},
		}
		path := makeRecording(t, Config{Command: argv, Env: env,
			Masker: mask.FromProcess(mask.RandomKey(), argv, env), MaskKey: "k"}, pieces)
		recs, end := readAll(t, path, Options{Verify: true})
		if end.State != Sealed {
			t.Fatalf("%+v", end)
		}
		var text strings.Builder
		masked := 0
		for _, r := range recs {
			text.Write(r.Line)
			for _, m := range r.Masked {
				masked++
				if f := r.Data[m.Off : m.Off+m.Len]; strings.Trim(string(f), "*") != "" {
					t.Errorf("masked is %q", f)
				}
			}
		}
		for _, s := range secrets {
			for i := 0; i+12 <= len(s); i++ {
				if run := s[i : i+12]; strings.Contains(text.String(), run) {
					t.Errorf("%q is in the recording", run)
				}
			}
		}
		if masked < 4 {
			t.Errorf("%d placeholders", masked)
		}
		for _, from := range directions {
			if got, want := len(reconstruct(recs, from)), len(sum(pieces, from)); got != want {
				t.Errorf("%s: %d bytes, want %d", from, got, want)
			}
		}
		for _, keep := range []string{"--port", `"80"`, "ACME_API_KEY"} {
			if !strings.Contains(text.String(), keep) {
				t.Errorf("%s is gone", keep)
			}
		}
	})
}

// A long argv and environment go on in start records.
func TestLongArgv(t *testing.T) {
	argv := []string{"srv"}
	var env []string
	for i := range 3000 {
		argv = append(argv, fmt.Sprintf("argument-number-%d-%s", i, strings.Repeat("y", 50)))
		env = append(env, fmt.Sprintf("VARIABLE_%04d=value", i))
	}
	recs, _ := readAll(t, makeRecording(t, Config{Command: argv, Env: env}, nil), Options{Verify: true})
	var gotArgv, gotEnv []string
	for _, r := range recs {
		switch r.Kind {
		case KindHeader:
			gotArgv, gotEnv = r.Header.Command, r.Header.Env
		case KindStart:
			gotArgv = append(gotArgv, r.Start.Command...)
			gotEnv = append(gotEnv, r.Start.Env...)
		}
		if strings.Contains(string(r.Line), "value") {
			t.Error("a value of the environment was kept")
		}
	}
	if diff := cmp.Diff(argv, gotArgv); diff != "" {
		t.Error(diff)
	}
	if len(gotEnv) != 3000 || gotEnv[2999] != "VARIABLE_2999" {
		t.Errorf("%d names", len(gotEnv))
	}
}
