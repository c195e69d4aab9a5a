package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
)

// FuzzReader gives any bytes to the readers, which must agree (see agree).
func FuzzReader(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join("..", "fixtures", "recordings", "*"+Suffix))
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && len(b) < 8<<10 {
			f.Add(b)
			f.Add(b[:len(b)*2/3])
		}
	}
	f.Add([]byte(plainHead))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, dir, data) })
}

// FuzzLines gives any lines and chunk runs with good checks to the readers, so
// that fuzzing gets behind the CRC (see assemble).
func FuzzLines(f *testing.F) {
	const head = `{"kind":"header","format":[1,0],"id":"x","segment":0,"firstSeq":1,"start":"2026-01-01T00:00:00Z","at":0}` + "\n"
	const next = `{"kind":"header","format":[1,0],"id":"x","segment":1,"firstSeq":3,"start":"2026-01-01T00:00:00Z","at":9,"prev":"` + "\x05" + `"}` + "\n"
	const closing = `{"kind":"closing","records":` + "\x03" + `,"lastSeq":` + "\x04" + `,"sha256":"` + "\x05" + `","last":true}` + "\n"
	const ping = `{"kind":"frame","seq":` + "\x01" + `,"at":5,"from":"client","off":` + "\x02" + `,"len":2,"message":{}}` + "\n"
	for _, text := range []string{
		head + `{"kind":"frame","seq":1,"at":5,"from":"client","off":0,"len":2,"message":{}}
{"kind":"frame","seq":2,"at":5,"from":"stderr","off":0,"more":true,"text":"a"}
{"kind":"gap","seq":4,"at":6,"firstSeq":3,"lastSeq":4,"streams":{"client":{"off":3,"bytes":5,"frames":1}},"why":"w"}
{"kind":"frame","seq":5,"at":7,"from":"server","off":0,"masked":[{"off":0,"len":1,"mac":"a"}],"raw":"/w==","eol":""}
{"kind":"exit","seq":6,"at":8,"code":0}
{"kind":"closing","records":5,"lastSeq":6,"sha256":"","last":true}
`,
		head + "!\n" + ping + "#\n" + ping + closing,
		"=\n" + head + ping + "!\n" + closing,
		strings.Replace(head, `"id"`, `"needs":["http"],"id"`, 1) + `{"kind":"http_request","seq":1,"at":1,"exchange":1,"from":"client","method":"GET","target":"/?k=*","proto":"HTTP/1.1","host":"h","headers":{"A":["b"]},"length":-1,"masked":[{"in":"target","off":4,"len":1,"mac":"a"}],"end":true}
{"kind":"http_response","seq":2,"at":1,"exchange":1,"from":"server","status":200,"length":-1,"rawHeaders":{"B":["/w=="]},"masked":[{"in":"B","n":0,"off":0,"len":1,"mac":""}]}
{"kind":"body","seq":3,"at":1,"exchange":1,"from":"server","off":0,"len":2,"eol":"\n","message":{}}
{"kind":"body","seq":4,"at":1,"exchange":1,"from":"server","off":3,"last":true,"trailers":{"T":["v"]},"patch":[{"off":0,"len":1,"text":"x"}],"masked":[{"off":0,"len":1,"mac":""}],"text":"*"}
{"kind":"close","seq":5,"at":1,"exchange":1,"who":"client","what":"response"}
{"kind":"gap","seq":7,"at":6,"firstSeq":6,"lastSeq":7,"http":{"client":{"records":2,"bytes":5}},"why":"w"}
`,
		head + "#\n$1@a|b\xff|{}\n$2gpart\n@" + `{"kind":"exit","seq":` + "\x01" + `,"at":9,"code":0}` + "\n" + closing,
		head + ping + "%skipped\n" + ping + `{"kind":"closing","records":2,"lastSeq":2,"sha256":"` + "\x05" + `","last":false}` + "\n#\n" + next + ping + closing,
		head + ping + ping + "#\n" + strings.Replace(next, "\x05", "torn", 1) + ping + closing, // a write error's two files, joined
		head + ping + ping + "#\n" + strings.Replace(next, "[1,0]", "[2,0]", 1) + ping + closing,
		head + ping + ping + closing[:len(closing)-2] + `,"torn":true}` + "\n",
		head + "!\n" + ping + "!\n" + ping + "/\n" + ping,
		head + "!\n" + ping + "#\n^900\n",
		head + "!\n" + ping + "#\n<200\n",
		strings.Replace(head, `"at":0`, `"at":0,"cwd":"`+strings.Repeat("x", maxHeader-150)+`"`, 1) + ping, // no room for derivedFrom
		head + "@" + `{"kind":"check","seq":1,"last":0,"count":0,"crc":""}` + "\n" + ping,
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 256<<10 {
			agree(t, dir, assemble(t, text))
		}
	})
}

// assemble makes a recording's file of a script, a line of which is
//
//	{...}    a line of the file as it stands, save that \x01 is the next seq, \x02
//	         the next byte of its direction, \x03 how many records the segment
//	         has, \x04 the last seq and \x05 the segment's hash
//	!        a good check
//	#        a good check, and the end of the zstd frame
//	/        the end of the zstd frame
//	%TEXT    a skippable frame
//	@{...}   a line in a chunk run
//	$DFTEXT  frames in a chunk run: direction 1 to 3, flags, bytes, where | is LF
//	^N       bit N of the file is flipped in the end
//	<N       the file is cut there in the end
//	=        the file is not packed
//
// and any other a line of the file too. A good check stands at the end.
func assemble(t testing.TB, text string) []byte {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(windowSize), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	var (
		file, frame   []byte
		run           []byte
		plain         bool
		crc           uint32
		count         int
		runs          []string
		seq, records  int64
		off           [3]int64
		sha           = sha256.New()
		flips, cuts   []int
		endFrame      func()
		note          func(line []byte)
		fill          func(line string) string
		check, endRun func()
	)
	endFrame = func() {
		if plain {
			file = append(file, frame...)
		} else if len(frame) > 0 {
			file = enc.EncodeAll(frame, file)
		}
		frame = nil
	}
	check = func() {
		frame = fmt.Appendf(frame, `{"kind":"check","last":%d,"count":%d,"crc":"%08x"`, seq, count, crc)
		if len(runs) > 0 {
			frame = fmt.Appendf(frame, `,"runs":["%s"]`, strings.Join(runs, `","`))
		}
		frame = append(frame, "}\n"...)
		crc, count, runs = 0, 0, nil
	}
	note = func(line []byte) {
		var rec Record
		if decodeLine(line, &rec) != nil {
			return
		}
		switch {
		case rec.Kind == KindHeader:
			seq, records = rec.Header.FirstSeq-1, 0
			sha.Reset()
		case rec.Kind == KindClosing:
			return
		case rec.Kind == KindFrame:
			off[index(rec.From)] = rec.Off + int64(len(rec.Data)+len(rec.EOL))
		case rec.Gap != nil:
			for from, s := range rec.Gap.Streams {
				off[index(from)] = s.Off + s.Bytes
			}
		}
		if rec.Seq > 0 {
			seq = rec.Seq
			records++
		}
		sha.Write(line)
		sha.Write(newline)
	}
	fill = func(line string) string {
		from := Server
		for _, d := range directions {
			if strings.Contains(line, `"`+string(d)+`"`) {
				from = d
				break
			}
		}
		return strings.NewReplacer("\x01", strconv.FormatInt(seq+1, 10), "\x02", strconv.FormatInt(off[index(from)], 10),
			"\x03", strconv.FormatInt(records, 10), "\x04", strconv.FormatInt(seq, 10),
			"\x05", hex.EncodeToString(sha.Sum(nil))).Replace(line)
	}
	endRun = func() {
		if run == nil {
			return
		}
		endFrame()
		all := bytes.Join(sealRun(nil, run, nil, len(run)), nil)
		file = le.AppendUint32(le.AppendUint32(file, runMagic), uint32(len(all)))
		file = append(file, all...)
		runs = append(runs, fmt.Sprintf("%08x", le.Uint32(all[len(all)-4:])))
		run = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		op := byte(0)
		if line != "" {
			op = line[0]
		}
		if plain && strings.IndexByte("#/%@$", op) >= 0 && op != 0 {
			continue
		}
		if op != '@' && op != '$' {
			endRun()
		}
		switch op {
		case '!', '#':
			check()
			if op == '#' {
				endFrame()
			}
		case '/':
			endFrame()
		case '%':
			endFrame()
			file = append(le.AppendUint32(le.AppendUint32(file, skipMagic+1), uint32(len(line)-1)), line[1:]...)
		case '@', '$':
			if run == nil {
				run = beginRun(nil)
			}
			at := len(run)
			if op == '@' {
				run = appendRunLine(run, []byte(fill(line[1:])+"\n"))
			} else if len(line) >= 3 {
				flags := line[2]
				b := &block{from: directions[line[1]%3], seq: seq + 1, at: 1 << 20, data: []byte(strings.ReplaceAll(line[3:], "|", "\n")),
					cont: flags&runCont != 0, headless: flags&runHeadless != 0, more: flags&runMore != 0, last: flags&runLast != 0}
				b.off = off[index(b.from)]
				if flags&runSince != 0 {
					b.since = &Since{seq, 1}
				}
				if flags&32 != 0 {
					b.masked = []Mask{{0, int64(flags & 1), "0123456789ab"}, {1, 1, ""}}
				}
				run = append(appendBlock(run, b), b.data...)
			}
			r := &runReader{rest: run[at:]}
			for l, err := r.next(); err == nil && l != nil; l, err = r.next() {
				note(l)
			}
		case '^', '<':
			if n, err := strconv.Atoi(line[1:]); err == nil && n >= 0 {
				if op == '^' {
					flips = append(flips, n)
				} else {
					cuts = append(cuts, n)
				}
			}
		case '=':
			plain = len(file) == 0 && len(frame) == 0 || plain
		default:
			line = fill(line) + "\n"
			if max(len(file), len(frame)) > 8<<20 {
				break
			}
			frame = append(frame, line...)
			crc = crc32.Update(crc, castagnoli, []byte(line))
			count++
			note([]byte(line[:len(line)-1]))
		}
	}
	endRun()
	if count > 0 || len(runs) > 0 {
		check()
	}
	endFrame()
	for _, n := range flips {
		if n/8 < len(file) {
			file[n/8] ^= 1 << (n % 8)
		}
	}
	for _, n := range cuts {
		file = file[:min(n, len(file))]
	}
	return file
}

// fuzzLimit bounds what is unpacked of a fuzzed recording.
const fuzzLimit = 4 << 20

// reading is all that a reader gives.
type reading struct {
	recs  []*Record
	end   End
	files []string
	err   error // of Open, or of Next but io.EOF
}

func readWith(path string, opts Options) (got reading) {
	if opts.MaxDecompressed == 0 {
		opts.MaxDecompressed = fuzzLimit
	}
	r, err := Open(path, opts)
	if err != nil {
		got.err = err
		return got
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err != nil {
			if err != io.EOF {
				got.err = err
			}
			got.end, got.files = r.End(), r.Files()
			return got
		}
		got.recs = append(got.recs, rec)
	}
}

// agree holds the readers of one file's bytes against each other: the one of a
// file that nobody writes, of one that a writer holds, one that follows while it
// grows, the one that verifies hashes, the store, and the one of the repaired
// file. None may panic, or take more memory than what is unpacked demands.
func agree(t *testing.T, dir string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, "fuzz"+Suffix)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	before := allocated()
	strict := readWith(path, Options{})
	// The decoder's window (8 MiB, and as much again for output) and, in all, a few
	// times what was unpacked: buffers that grow, decoded lines.
	if n := allocated() - before; n > 32<<20+8*fuzzLimit {
		t.Fatalf("%d bytes were allocated for %d of input", n, len(data))
	}
	keepsRules(t, strict.recs)

	live := liveReading(t, path)
	inAgreement(t, "live", strict, live, Live)
	inAgreement(t, "following", strict, followed(t, path, data), Torn)

	verified := readWith(path, Options{Verify: true})
	if n := len(verified.recs); n > len(strict.recs) || n < len(strict.recs) && verified.end.Damage == nil && verified.err == nil {
		t.Fatalf("%d records with hashes verified, else %d: %+v", n, len(strict.recs), verified.end)
	}
	sameRecs(t, "verified", strict.recs[:len(verified.recs)], verified.recs, true)

	fetches(t, strict)
	if verified.err == nil && verified.end.State == Sealed {
		resealed(t, path, dir, verified)
	}
	repaired(t, path, dir, strict, Options{})
	repaired(t, path, dir, verified, Options{Verify: true})
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// keepsRules holds what a reader gave against FORMAT.md 3 and 5: no hole in seqs
// or bytes but gaps, whatever the input was.
func keepsRules(t *testing.T, recs []*Record) {
	t.Helper()
	var off [3]int64
	var known, open [3]bool
	seq := int64(-1)
	for i, r := range recs {
		switch {
		case r.Kind == KindHeader && i == 0:
			for i := range known {
				known[i] = r.Header.FirstSeq == 1
			}
			seq = r.Header.FirstSeq - 1
			continue
		case r.Kind == KindHeader || r.Kind == KindClosing:
			continue
		case r.Kind == KindCheck:
			t.Fatalf("a check is given: %s", r.Line)
		}
		first := r.Seq
		if r.Kind == KindGap {
			first = r.Gap.FirstSeq
		}
		if seq >= 0 && first != seq+1 || r.Seq < first {
			t.Fatalf("seq %d (from %d) follows %d", r.Seq, first, seq)
		}
		seq = r.Seq
		switch {
		case r.Line == nil:
			known, open = [3]bool{}, [3]bool{} // a file is missing
		case r.Kind == KindGap:
			for from, s := range r.Gap.Streams {
				off[index(from)], known[index(from)], open[index(from)] = s.Off+s.Bytes, true, false
			}
		case r.Kind == KindFrame:
			d := index(r.From)
			if known[d] && r.Off != off[d] {
				t.Fatalf("seq %d is at byte %d of %s, %d is next", r.Seq, r.Off, r.From, off[d])
			}
			if r.Cont && !open[d] {
				t.Fatalf("seq %d continues a line of %s that is not there", r.Seq, r.From)
			}
			open[d] = r.More
			off[d], known[d] = r.Off+int64(len(r.Data)+len(r.EOL)), true
			for _, m := range r.Masked {
				if m.Off < 0 || m.Len < 0 || m.Off+m.Len > int64(len(r.Data)) {
					t.Fatalf("seq %d: %+v in %d bytes", r.Seq, m, len(r.Data))
				}
			}
		}
	}
}

// liveReading reads while a writer holds the file.
func liveReading(t *testing.T, path string) reading {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := lock(f); err != nil {
		t.Fatal(err)
	}
	return readWith(path, Options{})
}

// followed reads with a reader that follows the file while it grows.
func followed(t *testing.T, path string, data []byte) (got reading) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := lock(f); err != nil {
			t.Fatal(err)
		}
		read := make(chan reading)
		go func() { read <- readWith(path, Options{Follow: true}) }()
		// Where it is cut is the input's choice, by its length.
		for n := len(data); n > 0; {
			part := 1 + n*2/3
			if _, err := f.Write(data[len(data)-n:][:min(part, n)]); err != nil {
				t.Error(err)
			}
			n -= min(part, n)
			synctest.Wait()
			time.Sleep(followPeriod + time.Millisecond)
		}
		f.Close()
		got = <-read
	})
	return got
}

// inAgreement compares two readings of the same bytes. torn is how other calls
// what strict calls torn.
func inAgreement(t *testing.T, what string, strict, other reading, torn State) {
	t.Helper()
	sameRecs(t, what, strict.recs, other.recs, true)
	var a, b *NotRecordingError
	switch {
	case strict.err == nil && other.err == nil:
	case !errors.As(strict.err, &a) || !errors.As(other.err, &b):
		t.Fatalf("%s: %v; strict: %v", what, other.err, strict.err)
	case a.Torn != b.Torn || !a.Torn && a.What != b.What:
		t.Fatalf("%s: %+v; strict: %+v", what, b, a)
	}
	want := strict.end
	if want.State == Torn {
		want.State = torn
		if want.Damage != nil && other.end.State == Live {
			want.State = Live // the follower saw the damage before the writer let go
		}
	}
	if got := other.end; !reflect.DeepEqual(got, want) && strict.err == nil {
		t.Fatalf("%s: %+v, damage %v; strict: %+v, damage %v", what, got, got.Damage, want, want.Damage)
	}
}

// sameRecs compares records: all that a reader gives of them, and with refs
// where they stand. Without, they come from a rewritten file: headers may have
// got prev and derivedFrom, and closing lines are made anew.
func sameRecs(t *testing.T, what string, want, got []*Record, refs bool) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	for i := range want {
		a, b := *want[i], *got[i]
		if !refs {
			a.Ref, b.Ref = Ref{}, Ref{}
			if a.Header != nil && b.Header != nil {
				x, y := *a.Header, *b.Header
				x.Prev, y.Prev, x.DerivedFrom, y.DerivedFrom = "", "", nil, nil
				a.Header, b.Header, a.Line, b.Line = &x, &y, nil, nil
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%s: record %d is\n%+v\n%s\nwant\n%+v\n%s", what, i, b, b.Line, a, a.Line)
		}
	}
}

// fetches has a store find the records again, the last first.
func fetches(t *testing.T, from reading) {
	t.Helper()
	s := NewStore(from.files)
	defer s.Close()
	for i, n := len(from.recs)-1, 0; i >= 0 && n < 200; i-- {
		want := *from.recs[i]
		if want.Line == nil {
			continue
		}
		n++
		got, err := s.Record(want.Ref)
		if err != nil || !bytes.Equal(got.Line, want.Line) || !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("seq %d: fetched %+v, %v; want %+v", want.Seq, got, err, want)
		}
	}
}

// resealed seals a whole recording, which changes no record.
func resealed(t *testing.T, path, dir string, is reading) {
	t.Helper()
	src, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	out := filepath.Join(dir, "sealed"+Suffix)
	dst, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	if _, err := repack(src, dst, time.Time{}, ""); err != nil {
		if closings := len(is.recs) - len(believed(is.recs, true)); closings < is.end.Segments {
			return // that is for a repair
		}
		t.Fatalf("not sealed: %v", err)
	}
	again := readWith(out, Options{Verify: true, MaxDecompressed: 4 * fuzzLimit})
	if again.err != nil || again.end.State != Sealed || again.end.Damage != nil {
		t.Fatalf("sealed: %v, %+v", again.err, again.end)
	}
	sameRecs(t, "sealed", believed(is.recs, false), believed(again.recs, false), false)
}

// repaired repairs what is was read of: nothing of it is lost, nothing added.
func repaired(t *testing.T, path, dir string, is reading, opts Options) (again reading) {
	t.Helper()
	out := filepath.Join(dir, "out"+Suffix)
	os.Remove(out)
	if opts.MaxDecompressed == 0 {
		opts.MaxDecompressed = fuzzLimit
	}
	done, err := Repair(path, out, "fuzz", opts)
	if (err == nil) != (is.err == nil) {
		t.Fatalf("read: %v; repaired: %v", is.err, err)
	}
	if err != nil {
		for _, e := range dirNames(t, dir) {
			if strings.HasPrefix(e, "out") {
				t.Fatalf("a repair that failed (%v) leaves %s", err, e)
			}
		}
		return again
	}
	again = readWith(out, Options{Verify: true, MaxDecompressed: 4 * fuzzLimit})
	if again.err != nil || again.end.State != Sealed || again.end.Damage != nil || again.end.Unchecked != 0 {
		t.Fatalf("repaired: %v, %+v, %v", again.err, again.end, again.end.Damage)
	}
	sameRecs(t, "repaired", believed(is.recs, true), believed(again.recs, true), false)
	a, b := is.end, again.end
	if a.Records != b.Records || a.Gaps != b.Gaps || a.Lost != b.Lost || a.Segments != b.Segments || !reflect.DeepEqual(a.Unknown, b.Unknown) {
		t.Fatalf("repaired: %+v, was %+v", b, a)
	}
	if a.Torn != b.Torn || done.Torn != b.Torn || done.Records != a.Records || done.Dropped != a.Unchecked {
		t.Fatalf("repaired: %+v, it says %+v, was %+v", b, done, a)
	}
	return again
}

// believed are the records that a rewriting tool copies: not the closings, and
// with gaps the ones that the reader makes where a file is missing.
func believed(recs []*Record, gaps bool) (out []*Record) {
	for _, r := range recs {
		if r.Kind != KindClosing && (gaps || r.Line != nil) {
			out = append(out, r)
		}
	}
	return out
}

func dirNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// drainWith reads all, and looks at the order of seqs.
// The records are good until the decoders are used again.
func drainWith(path string, decoders *Decoders) (recs []*Record, err error) {
	r, err := Open(path, Options{MaxDecompressed: 64 << 20, Decoders: decoders})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	seq := r.Header().FirstSeq - 1
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return recs, nil
		}
		if err != nil {
			return recs, err
		}
		if rec.Seq > 0 && rec.Line != nil {
			if rec.Seq <= seq {
				return recs, fmt.Errorf("seq %d after %d", rec.Seq, seq)
			}
			seq = rec.Seq
		}
		recs = append(recs, rec)
	}
}

// FuzzFrame writes any line as a frame and reads it back.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{"{}\n", "[1,2]\r\n", "\xff", "{\"a\":\"\\ud800\"}\n", " {}\n", "\"\n", "{\"a\":1}x"} {
		f.Add([]byte(s), false, false)
		f.Add([]byte(s), true, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, more, cont bool) {
		if more {
			data = bytes.TrimRight(data, "\n")
		}
		line := appendFrame(nil, &frame{seq: 1, from: Client, data: data, more: more, cont: cont, total: int64(len(data))})
		var rec Record
		if err := decodeLine(line[:len(line)-1], &rec); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if got := append(append([]byte(nil), rec.Data...), rec.EOL...); !bytes.Equal(got, data) {
			t.Fatalf("got %q, want %q: %s", got, data, line)
		}
	})
}

// FuzzBody writes any piece of a body as a record and reads it back.
func FuzzBody(f *testing.F) {
	for _, s := range []string{"", "{}", "[1,2] \r\n", "\xff", "{\"a\":\"\\ud800\"}\n", " {}", "data: {}\n\n", "{\"a\":1}x", strings.Repeat("\x01", 900)} {
		f.Add([]byte(s), "a", int64(3), uint8(len(s)), true)
		f.Add([]byte(s), "\xff\"", int64(0), uint8(0), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, text string, n int64, end uint8, embed bool) {
		if n < 0 || len(data) > slabSize {
			return
		}
		e := entry{after: 4, at: n, exchange: n>>2 + 1, from: directions[n&1], end: BodyEnd(end % 3)}
		x := &bodyExtra{trailers: Fields{"X": {text}, text: {}}, patch: []Patch{{n, 1, text}}}
		if embed {
			e.extra = x
		}
		var masked []Mask
		if n&2 != 0 && len(bytes.TrimRight(data, " \t\r\n")) > 0 {
			masked = []Mask{{0, 1, "0123456789ab"}}
		}
		line := appendBody(nil, &e, n, data, masked)
		var rec Record
		if bytes.Count(line, newline) != 1 {
			t.Fatalf("no line: %q", line)
		}
		if err := decodeLine(line[:len(line)-1], &rec); err != nil {
			if n == 1<<63-1 && embed {
				return // the patch ends beyond all offsets
			}
			t.Fatalf("%v: %s", err, line)
		}
		if got := append(bytes.Clone(rec.Data), rec.EOL...); !bytes.Equal(got, data) || rec.Off != n || rec.Exchange != e.exchange || rec.From != e.from || rec.End != e.end || rec.Seq != 5 {
			t.Fatalf("got %q of %+v, want %q: %s", got, rec, data, line)
		}
		if len(masked) != len(rec.Masked) {
			t.Fatalf("masked %+v: %s", rec.Masked, line)
		}
		if embed || n > 1<<60 {
			return // runs have no such pieces, and no such numbers
		}
		run := appendPiece(beginRun(nil), &e, n, len(data), masked)
		run = append(run, data...)
		r, _, err := openRun(bytes.Join(sealRun(nil, run, nil, len(run)), nil))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.next(); err != nil || !bytes.Equal(got, line[:len(line)-1]) {
			t.Fatalf("%v: the run says %s, the line is %s", err, got, line)
		}
		if got, err := r.next(); err != nil || got != nil {
			t.Fatalf("%v: behind the piece: %s", err, got)
		}
	})
}
