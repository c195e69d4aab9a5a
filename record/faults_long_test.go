//go:build faults

package record

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fault and observed make the line that make faults prints (fixtures/faults).
func fault(t testing.TB, name string) { t.Attr("fault", name) }

func observed(t testing.TB, format string, args ...any) {
	t.Attr("observed", fmt.Sprintf(format, args...))
}

// damaged is a recording that is going to be damaged, with what passed.
type damaged struct {
	name   string
	data   []byte
	pieces []piece
	sealed bool
}

// toDamage makes the forms that a file can have: an open one of many flushes, a
// sealed one, one sealed in several zstd frames, which is given up to the damage
// and not whole, and one of chunk runs. They hold whole and open lines, bytes that
// are no text, and events.
func toDamage(t *testing.T) []damaged {
	t.Helper()
	var out []damaged
	for _, c := range []struct {
		name string
		seal time.Duration
		runs bool
		long bool // a line longer than a zstd frame
	}{
		{name: "open", seal: -time.Second},
		{name: "sealed", seal: time.Minute},
		{name: "sealed frames", seal: time.Minute, long: true},
		{name: "chunk runs", seal: -time.Second, runs: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var pieces []piece
			for i := range 12 {
				pieces = append(pieces,
					piece{Client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"n":%d}}`+"\n", i, i*i*7919), 45 * time.Millisecond},
					piece{Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"t":"é%x"}}`+"\n", i, i*104729), 0},
					piece{Stderr, fmt.Sprintf("log %d \xff\n", i), 0})
				if i%5 == 0 {
					pieces = append(pieces, piece{Server, `{"open":`, 0}, piece{Server, "1}\n", 130 * time.Millisecond})
				}
				if c.long && i == 6 {
					pieces = append(pieces, piece{Server, `"` + strings.Repeat("l", frameLines+1000) + "\"\n", 0})
				}
			}
			cfg := Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Command: []string{"srv"}}
			if c.runs {
				cfg.press = func() bool { return true }
			}
			r, err := Begin(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pieces {
				time.Sleep(p.pause)
				r.Data(p.from, []byte(p.data))
			}
			r.Event(Record{Kind: KindExit, Exit: &Exit{Signal: "KILL"}})
			r.Close(c.seal)
			data, err := os.ReadFile(r.Path())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, damaged{c.name, data, pieces, c.seal > 0})
		})
	}
	return out
}

// believed asserts that every byte that a reader gives was seen. It returns how
// many records there were and the state.
func (d *damaged) believed(t *testing.T, path, what string, whole []*Record) (int, State) {
	t.Helper()
	r, err := Open(path, Options{MaxDecompressed: 64 << 20})
	if err != nil {
		return 0, Torn // its first check is gone: said, and nothing given
	}
	defer r.Close()
	var recs []*Record
	for {
		rec, err := r.Next()
		if err != nil {
			if err != io.EOF {
				return len(recs), Torn
			}
			break
		}
		recs = append(recs, rec)
	}
	for _, from := range directions {
		if got := reconstruct(recs, from); !strings.HasPrefix(sum(d.pieces, from), got) {
			t.Fatalf("%s: %s: %s: %q was not seen", d.name, what, from, got)
		}
	}
	for i, rec := range recs {
		if rec.Kind != KindHeader && rec.Kind != KindClosing && (i >= len(whole) || !bytes.Equal(rec.Line, whole[i].Line)) {
			t.Fatalf("%s: %s: record %d was not written: %s", d.name, what, i, rec.Line)
		}
	}
	return len(recs), r.End().State
}

// A bit flipped at 10,000 random places, over the forms of file: never a panic,
// never a record that was not written.
func TestFaultFlippedBits(t *testing.T) {
	fault(t, "a flipped bit at 10,000 random places")
	observed(t, "never a byte that was not seen")
	for _, d := range toDamage(t) {
		t.Run(d.name, func(t *testing.T) { t.Parallel(); d.flip(t, 10_000/4) })
	}
}

func (d *damaged) flip(t *testing.T, flips int) {
	path := filepath.Join(t.TempDir(), "flip"+Suffix)
	if err := os.WriteFile(path, d.data, 0o600); err != nil {
		t.Fatal(err)
	}
	whole, _ := readAll(t, path, Options{Verify: true})
	rnd := rand.New(rand.NewPCG(10, 11))
	noticed, given := 0, 0
	for range flips {
		bit := rnd.IntN(8 * len(d.data))
		bad := bytes.Clone(d.data)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		n, state := d.believed(t, path, fmt.Sprintf("bit %d", bit), whole)
		if given += n; state == Torn || n < len(whole) {
			noticed++
		}
	}
	observed(t, "%s (%d bytes): %d flips, %d noticed, %d of %d records still given on average",
		d.name, len(d.data), flips, noticed, given/flips, len(whole))
	if noticed < flips/2 {
		t.Errorf("%s: only %d of %d flips were noticed", d.name, noticed, flips)
	}
}

// A cut at every byte of each form of file: a prefix, which grows with the file,
// and torn until the last byte.
func TestFaultCutAtEveryByte(t *testing.T) {
	fault(t, "a cut at every byte")
	observed(t, "always a prefix")
	for _, d := range toDamage(t) {
		t.Run(d.name, func(t *testing.T) { t.Parallel(); d.cut(t) })
	}
}

func (d *damaged) cut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cut"+Suffix)
	if err := os.WriteFile(path, d.data, 0o600); err != nil {
		t.Fatal(err)
	}
	whole, end := readAll(t, path, Options{Verify: true})
	if end.State != Sealed {
		t.Fatalf("%s: %+v", d.name, end)
	}
	most, steps, repaired := 0, 0, 0
	for n := range len(d.data) {
		if err := os.WriteFile(path, d.data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, state := d.believed(t, path, fmt.Sprintf("cut at %d", n), whole)
		if state == Sealed && got < len(whole) || got < most {
			t.Fatalf("%s: cut at %d: %d records, state %s; before there were %d", d.name, n, got, state, most)
		}
		if got > most {
			most = got
			steps++
		}
		if n%29 == 0 && got > 0 {
			out := filepath.Join(dir, fmt.Sprintf("r%d%s", n, Suffix))
			if _, err := Repair(path, out, "test", Options{}); err != nil {
				t.Fatalf("%s: cut at %d: repair: %v", d.name, n, err)
			}
			again, end := readAll(t, out, Options{Verify: true})
			if end.State != Sealed || len(frames(again)) > len(frames(whole)) {
				t.Fatalf("%s: cut at %d: repaired is %+v", d.name, n, end)
			}
			repaired++
		}
	}
	observed(t, "%s: %d cuts, up to %d records in %d steps, %d repaired", d.name, len(d.data), most, steps, repaired)
	if least := map[bool]int{true: 0, false: 12}[d.sealed]; steps < least || d.name == "sealed frames" && steps < 2 {
		t.Errorf("%s: %d steps: what was flushed cannot be read", d.name, steps)
	}
}

// slowFile takes so long for a byte.
type slowFile struct {
	f       *os.File
	perByte time.Duration
	most    *atomic.Int64 // the longest write, in bytes
}

func (s slowFile) WriteAt(p []byte, off int64) (int, error) {
	s.most.Store(max(s.most.Load(), int64(len(p))))
	time.Sleep(time.Duration(len(p)) * s.perByte)
	return s.f.WriteAt(p, off)
}

// A disk of 1 MB/s under 40 MB/s, without the need for a real one: the relay's
// calls do not wait, the memory stays within the queue's and the encoder's bounds,
// what is lost is counted, and what is written can be read while it is written.
func TestFaultSlowDiskInside(t *testing.T) {
	fault(t, "a disk of 1 MB/s under 40 MB/s, from within")
	var most atomic.Int64
	var told notices
	r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Notice: told.add,
		wrap: func(f *os.File) io.WriterAt { return slowFile{f, time.Microsecond, &most} }})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	line := make([]byte, 40_000)
	for i := range line {
		line[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/"[rnd.IntN(64)]
	}
	line[len(line)-1] = '\n'
	var sent, lines int64
	var longest time.Duration
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	const seconds = 6
	for start := time.Now(); time.Since(start) < seconds*time.Second; {
		line[rnd.IntN(len(line)-1)] = 'x'
		call := time.Now()
		r.Data(Server, line)
		longest = max(longest, time.Since(call))
		sent += int64(len(line))
		lines++
		if lines%100 == 0 {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse)
		}
		time.Sleep(time.Until(start.Add(time.Duration(lines) * time.Millisecond)))
	}
	live, err := drainWith(r.Path(), nil)
	visible := int64(0)
	for _, rec := range live {
		visible += int64(len(rec.Data)) + int64(len(rec.EOL))
	}
	closing := time.Now()
	r.Close(SealLimit)
	closed := time.Since(closing)
	recs, end := readAll(t, r.Path(), Options{})
	kept := int64(len(reconstruct(recs, Server)))
	var lost, lostLines int64
	for _, rec := range recs {
		if rec.Kind == KindGap {
			lost += rec.Gap.Streams[Server].Bytes
			lostLines += rec.Gap.Streams[Server].Frames
		}
	}
	observed(t, "%.0f MB in %d s, the longest call took %v; kept %.1f MB and %d gaps; %.1f MB could be read while it was written; closing took %v; heap %.1f MiB more than before; longest write %d bytes; told: %s",
		float64(sent)/1e6, seconds, longest.Round(time.Microsecond), float64(kept)/1e6, end.Gaps, float64(visible)/1e6, closed.Round(time.Millisecond),
		float64(peak-min(peak, before.HeapInuse))/(1<<20), most.Load(), strings.Join(told.all(), " | "))
	if longest > 200*time.Millisecond {
		t.Errorf("a call of the relay took %v", longest)
	}
	if peak > before.HeapInuse+(72<<20) {
		t.Errorf("the heap grew by %d bytes", peak-before.HeapInuse)
	}
	if err != nil || visible == 0 {
		t.Errorf("nothing could be read of the live file: %v", err)
	}
	if end.State == Sealed && (kept+lost != sent || int64(len(frames(recs)))+lostLines != lines || end.Gaps == 0) {
		t.Errorf("%d bytes kept and %d lost of %d, %d lines lost of %d, %d frames", kept, lost, sent, lostLines, lines, len(frames(recs)))
	}
	if len(told.all()) != 1 {
		t.Errorf("the user was told %q", told.all())
	}
	// Hosts kill after 2 s and 2 s more (wire.md 1.2).
	if closed > 6*time.Second {
		t.Errorf("closing took %v", closed)
	}
}

// gate lets no write through while it is shut.
type gate struct {
	f    *os.File
	shut *atomic.Pointer[chan struct{}]
}

func (g gate) WriteAt(p []byte, off int64) (int, error) {
	if c := g.shut.Load(); c != nil {
		<-*c
	}
	return g.f.WriteAt(p, off)
}

// The queue runs full of chunk runs while the disk is held up for a moment: what is
// then written in one go is under checks as a reader wants them, and not one batch
// over its limit (FORMAT.md 8: 16 MiB).
func TestFaultFullQueueOfRuns(t *testing.T) {
	fault(t, "a queue full of chunk runs")
	var shut atomic.Pointer[chan struct{}]
	r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, press: func() bool { return true },
		wrap: func(f *os.File) io.WriterAt { return gate{f, &shut} }})
	if err != nil {
		t.Fatal(err)
	}
	// One line without an end. Most of a part lies with the recorder when it is held
	// up, in the write of an event; then the queue fills.
	held := make(chan struct{})
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 64<<10/16)
	sent := int64(0)
	send := func(n int) {
		for range n / len(chunk) {
			r.Data(Server, chunk)
			sent += int64(len(chunk))
		}
	}
	shut.Store(&held)
	send(partLimit - 2*len(chunk))
	r.Event(Record{Kind: KindStall, From: Server, Stall: &Stall{Ms: 1}})
	time.Sleep(300 * time.Millisecond)
	send(24 << 20)
	shut.Store(nil)
	close(held)
	r.Close(-time.Second)
	recs, end := readAll(t, r.Path(), Options{Verify: true})
	kept := int64(len(reconstruct(recs, Server)))
	for _, rec := range recs {
		if rec.Kind == KindGap {
			kept += rec.Gap.Streams[Server].Bytes
		}
	}
	if end.State != Sealed || kept != sent {
		t.Errorf("%d of %d bytes, %+v", kept, sent, end)
	}
	observed(t, "%d MiB of one line while a write was held up: %d parts kept, %d gaps, readable", sent>>20, len(frames(recs)), end.Gaps)
}

// Sealing stops at its limit also where lines are few and long: a host waits for
// our end.
func TestFaultSealStopsInTime(t *testing.T) {
	fault(t, "sealing that takes too long")
	r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Lossless: true})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	chunk := make([]byte, 64<<10)
	for range 400 << 20 / len(chunk) { // one line of 400 MiB
		for i := 0; i < len(chunk); i += 1 + rnd.IntN(32) {
			chunk[i] = "0123456789abcdefghijklmnopqrstuv"[rnd.IntN(32)]
		}
		for i, c := range chunk {
			if c == 0 {
				chunk[i] = ' '
			}
		}
		r.Data(Server, chunk)
	}
	if !r.Flush(time.Minute) {
		t.Fatal("not flushed")
	}
	call := time.Now()
	r.Close(SealLimitSignal)
	took := time.Since(call)
	observed(t, "400 MiB in parts of 4 MiB, %v to seal: the end took %v", SealLimitSignal, took.Round(time.Millisecond))
	// One part more may be under way, on a slow machine.
	if took > SealLimitSignal+time.Second {
		t.Error("sealing does not stop at its limit")
	}
}

// stuckFile never comes back from a write once it is stuck, as a network disk that
// has gone.
type stuckFile struct {
	f     *os.File
	stuck *atomic.Bool
	let   chan struct{}
}

func (s stuckFile) WriteAt(p []byte, off int64) (int, error) {
	if s.stuck.Load() {
		<-s.let
	}
	return s.f.WriteAt(p, off)
}

// A disk that hangs for good: the relay's calls do not wait, a signal's flush gives
// up at its limit, and the end of the recording does not keep the process, whose
// status a host waits for.
func TestFaultDiskHangs(t *testing.T) {
	fault(t, "a disk that hangs for good")
	var stuck atomic.Bool
	let := make(chan struct{})
	r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull,
		wrap: func(f *os.File) io.WriterAt { return stuckFile{f, &stuck, let} }})
	if err != nil {
		t.Fatal(err)
	}
	r.Data(Client, message(1))
	if !r.Flush(10 * time.Second) {
		t.Fatal("not flushed")
	}
	stuck.Store(true)
	var longest time.Duration
	for i := range 2000 {
		call := time.Now()
		r.Data(Server, bytes.Repeat(message(i), 300))
		longest = max(longest, time.Since(call))
	}
	call := time.Now()
	flushed := r.Flush(50 * time.Millisecond)
	flush := time.Since(call)
	call = time.Now()
	done := make(chan struct{})
	go func() {
		r.Close(SealLimitSignal)
		close(done)
	}()
	const patience = 8 * time.Second
	closed := "after " + patience.String() + " not yet"
	select {
	case <-done:
		closed = time.Since(call).Round(time.Millisecond).String()
	case <-time.After(patience):
		t.Error("the recording's end holds up the process")
	}
	live, err := drainWith(r.Path(), nil)
	observed(t, "the longest call took %v, a flush of 50 ms gave up after %v, the end came back: %s; %d frames of before are readable",
		longest.Round(time.Microsecond), flush.Round(time.Millisecond), closed, len(frames(live)))
	close(let)
	<-done
	<-r.done
	if flushed || flush > time.Second || longest > 500*time.Millisecond {
		t.Errorf("flushed: %v in %v; longest call %v", flushed, flush, longest)
	}
	if err != nil || len(frames(live)) != 1 {
		t.Errorf("%d frames, %v", len(frames(live)), err)
	}
}

// A recorder that panics at a random write under load: recording is off, traffic
// is not held up, the user is told once, and what was flushed is readable.
func TestFaultRecorderPanics(t *testing.T) {
	fault(t, "a recorder that panics, at 40 random writes")
	rnd := rand.New(rand.NewPCG(7, 7))
	kept := 0
	const tries = 40
	for try := range tries {
		synctest.Test(t, func(t *testing.T) {
			var told notices
			at := 2 + rnd.IntN(30)
			r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Notice: told.add,
				wrap: func(f *os.File) io.WriterAt { return &lateBomb{f: f, at: at} }})
			if err != nil {
				t.Fatal(err)
			}
			var pieces []piece
			for i := range 400 {
				p := piece{from: directions[rnd.IntN(2)], data: string(message(i))}
				r.Data(p.from, []byte(p.data))
				pieces = append(pieces, p)
				time.Sleep(10 * time.Millisecond)
			}
			if r.Flush(time.Second) {
				t.Error("flushed")
			}
			r.Event(Record{Kind: KindExit, Exit: &Exit{Signal: "KILL"}})
			r.Close(time.Second)
			if l := told.all(); len(l) != 1 || !strings.Contains(l[0], "internal error") || !r.Lossy() {
				t.Errorf("try %d: told %q", try, l)
			}
			recs, end := readAll(t, r.Path(), Options{})
			for _, from := range directions {
				if got := reconstruct(recs, from); !strings.HasPrefix(sum(pieces, from), got) {
					t.Errorf("try %d: %s: %q was not seen", try, from, got)
				}
			}
			// Its writer lives, in this test alone: sixlink's process would be gone.
			if end.State == Sealed || at > 3 && len(frames(recs)) == 0 {
				t.Errorf("try %d: panic at write %d: %d frames, state %s", try, at, len(frames(recs)), end.State)
			}
			kept += len(frames(recs))
		})
	}
	observed(t, "%d panics at writes 2 to 31; each told once, no call held up; %d frames of before are readable", tries, kept)
}

// lateBomb panics at a write and leaves half of it in the file.
type lateBomb struct {
	f     *os.File
	n, at int
}

func (b *lateBomb) WriteAt(p []byte, off int64) (int, error) {
	if b.n++; b.n == b.at {
		b.f.WriteAt(p[:len(p)/2], off)
		panic("made by the test")
	}
	return b.f.WriteAt(p, off)
}

// A line that dribbles for an hour, a byte each 100 ms and never a newline, on the
// fake clock: it is in the file within 100 ms all the time, and neither memory nor a
// part grows with it.
func TestFaultDribbleForAnHour(t *testing.T) {
	fault(t, "a line that dribbles for an hour")
	synctest.Test(t, func(t *testing.T) {
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull})
		if err != nil {
			t.Fatal(err)
		}
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		var sent bytes.Buffer
		dribble := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				b := []byte{"0123456789"[sent.Len()%10]}
				sent.Write(b)
				r.Data(Server, b)
			}
		}
		// The last byte was offered 100 ms before.
		onDisk := func() {
			synctest.Wait()
			recs, err := drainWith(r.Path(), nil)
			if got := reconstruct(recs, Server); err != nil || got != sent.String() {
				t.Errorf("after %d bytes %d are in the file, %v", sent.Len(), len(got), err)
			}
		}
		dribble(time.Minute)
		onDisk()
		before := heap()
		dribble(time.Hour - time.Minute)
		grown := int64(heap()) - int64(before)
		onDisk()
		sent.WriteString("end\n")
		r.Data(Server, []byte("end\n"))
		r.Event(Record{Kind: KindExit, Exit: &Exit{}})
		r.Close(time.Minute)
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		checkOrder(t, recs)
		parts := frames(recs)
		last := parts[len(parts)-1]
		if end.State != Sealed || end.Gaps != 0 || reconstruct(recs, Server) != sent.String() {
			t.Errorf("%+v", end)
		}
		if !parts[0].More || last.More || last.Len != int64(sent.Len()-1) {
			t.Errorf("the last part says that the line has %d bytes, it has %d", last.Len, sent.Len()-1)
		}
		if grown > 4<<20 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
		fi, err := os.Stat(r.Path())
		if err != nil {
			t.Fatal(err)
		}
		observed(t, "%d bytes in %d parts, in the file 100 ms after each, whole; the last part gives the length; heap %+d KiB over 59 minutes; sealed file %d KiB",
			sent.Len(), len(parts), grown>>10, fi.Size()>>10)
	})
}
