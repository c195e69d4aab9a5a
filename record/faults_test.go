package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/record/mask"
)

// notices collects what the user is told.
type notices struct {
	mu    sync.Mutex
	lines []string
}

func (n *notices) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, s)
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.lines...)
}

// disk fails writes while full, and one write in the middle.
type disk struct {
	mu   sync.Mutex
	full bool
	half int   // fail the n-th write after half of it; 0: none
	err  error // how it fails; nil: there is no space
	n    int
}

func (d *disk) error() error {
	if d.err != nil {
		return d.err
	}
	return syscall.ENOSPC
}

func (d *disk) set(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

type diskFile struct {
	d *disk
	f *os.File
}

func (f diskFile) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.n++; f.d.full {
		return 0, f.d.error()
	}
	if f.d.n == f.d.half {
		n, _ := f.f.WriteAt(p[:len(p)/2], off)
		return n, f.d.error()
	}
	return f.f.WriteAt(p, off)
}

func message(i int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","pad":"%x"}`+"\n", i, i*i*7919)
}

// A write that fails ends the file at its last flush; the next segment begins
// in another file with the gap, and both are read as one recording.
func TestWriteError(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     *disk
		again bool // there is space again before the end
	}{
		{"short write in the middle", &disk{half: 5}, true},
		{"full and then free again", &disk{}, true},
		{"full for good", &disk{}, false},
		{"read-only for a while", &disk{err: syscall.EROFS}, true},
		{"an input/output error in the middle of a write", &disk{half: 5, err: syscall.EIO}, true},
		{"a quota that is used up", &disk{err: syscall.EDQUOT}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told notices
				r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Notice: told.add,
					wrap: func(f *os.File) io.WriterAt { return diskFile{c.d, f} }})
				if err != nil {
					t.Fatal(err)
				}
				sent := int64(0)
				for i := range 40 {
					if c.d.half == 0 && i == 10 {
						c.d.set(true)
					}
					if c.again && i == 20 {
						c.d.set(false)
						time.Sleep(3 * time.Second)
					}
					r.Data(Client, message(i))
					sent += int64(len(message(i)))
					time.Sleep(50 * time.Millisecond)
				}
				_, live := Repair(r.Path(), filepath.Join(t.TempDir(), "live"+Suffix), "test", Options{})
				r.Close(time.Minute)
				if l := told.all(); len(l) != 1 || !strings.Contains(l[0], c.d.error().Error()) {
					t.Errorf("told %d lines: %q", len(l), l)
				}
				if !r.Lossy() {
					t.Error("the recorder does not know that it lost something")
				}
				recs, end := readAll(t, r.Path(), Options{Verify: true})
				if end.Damage != nil {
					t.Fatalf("%+v", end)
				}
				if !c.again {
					if end.State != Torn || len(frames(recs)) < 9 {
						t.Errorf("%d frames, %+v", len(frames(recs)), end)
					}
					return
				}
				if end.State != Sealed || end.Segments != 2 || end.Gaps != 1 {
					t.Errorf("%+v", end)
				}
				if live == nil || !strings.Contains(live.Error(), "being written") {
					t.Errorf("repair of a recording that goes on in its second file: %v", live)
				}
				kept := int64(len(reconstruct(recs, Client)))
				for _, rec := range recs {
					if rec.Kind == KindGap {
						kept += rec.Gap.Streams[Client].Bytes
					}
				}
				if kept != sent {
					t.Errorf("recorded and lost are %d bytes, sent were %d", kept, sent)
				}
				// Repair makes one file of both.
				out := filepath.Join(t.TempDir(), "one"+Suffix)
				done, err := Repair(r.Path(), out, "test", Options{})
				if err != nil || done.Joined != 2 {
					t.Fatal(done, err)
				}
				one, end := readAll(t, out, Options{Verify: true})
				if end.State != Sealed || end.Gaps != 1 || len(frames(one)) != len(frames(recs)) {
					t.Errorf("repaired: %d frames, %+v", len(frames(one)), end)
				}
			})
		})
	}
}

// --lossless waits for the disk, and a signal's flush ends the waiting.
func TestLosslessWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told notices
		d := &disk{}
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Lossless: true, Notice: told.add,
			wrap: func(f *os.File) io.WriterAt { return diskFile{d, f} }})
		if err != nil {
			t.Fatal(err)
		}
		d.set(true)
		const n = 3000
		done := make(chan struct{})
		go func() {
			defer close(done)
			pad := strings.Repeat("w", 10_000)
			for i := range n { // 30 MB, the queue holds 16
				r.Data(Client, []byte(fmt.Sprintf("{\"i\":%d,\"pad\":%q}\n", i, pad)))
			}
		}()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		select {
		case <-done:
			t.Error("traffic did not wait")
		default:
		}
		d.set(false)
		<-done
		r.Close(time.Minute)
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Gaps != 0 || len(frames(recs)) != n {
			t.Errorf("%d frames, %+v", len(frames(recs)), end)
		}
		if len(told.all()) != 1 {
			t.Errorf("told %q", told.all())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Lossless: true,
			wrap: func(f *os.File) io.WriterAt { return diskFile{d, f} }})
		if err != nil {
			t.Fatal(err)
		}
		d.set(true)
		r.Data(Client, message(1))
		time.Sleep(time.Second)
		if r.Flush(50 * time.Millisecond) {
			t.Error("flushed to a full disk")
		}
		r.GiveUp()
		r.Data(Client, bytes.Repeat(message(1), 1<<20)) // returns, or the test hangs
		r.Close(time.Second)
	})
}

// Case 51, cap: the file stays under its cap, the end is said, and no more.
func TestCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told notices
		r, err := Begin(Config{Dir: t.TempDir(), Max: 64 << 10, Transport: "stdio", Level: LevelFull, Notice: told.add})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			r.Data(Server, []byte(fmt.Sprintf("{\"i\":%d,\"pad\":\"%s\"}\n", i, randomHex(8<<10))))
			time.Sleep(20 * time.Millisecond)
			if fi, err := os.Stat(r.Path()); err == nil && fi.Size() > 64<<10 {
				t.Fatalf("the open file has %d bytes", fi.Size())
			}
		}
		r.Close(time.Minute)
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Gaps != 1 || len(frames(recs)) < 3 || len(frames(recs)) > 20 {
			t.Errorf("%d frames, %+v", len(frames(recs)), end)
		}
		if g := recs[len(recs)-2]; g.Kind != KindGap || g.Gap.LastSeq != 100 {
			t.Errorf("before the closing line stands %+v", g)
		}
		if l := told.all(); len(l) != 1 || !strings.Contains(l[0], "cap") {
			t.Errorf("told %q", l)
		}
	})
}

// The file, or its folder with what is in it, is removed while recording: a new
// file, a gap that counts what the removed one held.
func TestRemovedUnderUs(t *testing.T) {
	for _, what := range []string{"file", "folder"} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "gone")
			synctest.Test(t, func(t *testing.T) {
				var told notices
				r, err := Begin(Config{Dir: dir, Transport: "stdio", Level: LevelFull, Notice: told.add})
				if err != nil {
					t.Fatal(err)
				}
				sent := 0
				for i := range 30 {
					if i == 10 {
						remove := r.Path()
						if what == "folder" {
							remove = dir
						}
						if err := os.RemoveAll(remove); err != nil {
							t.Fatal(err)
						}
					}
					r.Data(Client, message(i))
					sent += len(message(i))
					time.Sleep(200 * time.Millisecond)
				}
				r.Close(time.Minute)
				names, _ := filepath.Glob(filepath.Join(dir, "*"))
				if len(names) != 1 {
					t.Fatalf("left behind: %q", names)
				}
				recs, end := readAll(t, names[0], Options{Verify: true})
				if end.State != Sealed || end.Gaps == 0 || len(frames(recs)) < 10 {
					t.Errorf("%d frames, %+v", len(frames(recs)), end)
				}
				if got := len(reconstruct(recs, Client)) + int(inGaps(recs, Client).Bytes); got != sent {
					t.Errorf("recorded and lost are %d bytes, sent were %d", got, sent)
				}
				if l := told.all(); len(l) != 1 || !strings.Contains(l[0], "removed") {
					t.Errorf("told %q", l)
				}
			})
		})
	}
}

// inGaps adds up what the gaps say of a direction.
func inGaps(recs []*Record, from From) (lost GapStream) {
	for _, rec := range recs {
		if rec.Kind == KindGap {
			lost.Bytes += rec.Gap.Streams[from].Bytes
			lost.Frames += rec.Gap.Streams[from].Frames
		}
	}
	return lost
}

// sleepyFile takes a microsecond for a byte: 1 MB/s.
type sleepyFile struct{ f *os.File }

func (s sleepyFile) WriteAt(p []byte, off int64) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Microsecond)
	return s.f.WriteAt(p, off)
}

// A disk of 1 MB/s under 20 MB/s that do not pack, on the fake clock: what is lost is
// counted to the byte and to the line, and the end comes within what hosts give.
func TestSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told notices
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Notice: told.add,
			wrap: func(f *os.File) io.WriterAt { return sleepyFile{f} }})
		if err != nil {
			t.Fatal(err)
		}
		var sent, lines int64
		start := time.Now()
		for range 1500 {
			l := []byte(randomHex(10_000) + "\n")
			r.Data(Server, l)
			sent += int64(len(l))
			lines++
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(start); took != 1500*time.Millisecond {
			t.Errorf("the relay waited: %v", took)
		}
		closing := time.Now()
		r.Close(SealLimit)
		if took := time.Since(closing); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		lost := inGaps(recs, Server)
		if got := int64(len(reconstruct(recs, Server))); end.State != Sealed || end.Gaps == 0 || got == 0 || got+lost.Bytes != sent {
			t.Errorf("%d bytes recorded and %d lost of %d, %+v", got, lost.Bytes, sent, end)
		}
		if n := int64(len(frames(recs))) + lost.Frames; n != lines {
			t.Errorf("recorded and lost are %d lines of %d", n, lines)
		}
		if l := told.all(); len(l) != 1 {
			t.Errorf("told %q", l)
		}
		<-r.done
	})
}

// 100,000 frames in a second, and then a few: all are there, packed as chunk runs
// while there are many and as lines again afterwards.
func TestTinyFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull})
		if err != nil {
			t.Fatal(err)
		}
		const many, few = 100_000, 20
		var sent bytes.Buffer
		for i := range many + few {
			l := fmt.Appendf(nil, "{\"n\":%d}\n", i)
			sent.Write(l)
			r.Data(Server, l)
			if i%100 == 0 || i >= many {
				time.Sleep(time.Millisecond)
			}
			if i == many {
				time.Sleep(time.Second)
			}
		}
		r.Close(-time.Second)
		data, err := os.ReadFile(r.Path())
		if err != nil {
			t.Fatal(err)
		}
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Gaps != 0 || end.Runs == 0 || len(frames(recs)) != many+few || reconstruct(recs, Server) != sent.String() {
			t.Errorf("%d frames, %+v", len(frames(recs)), end)
		}
		// zstdcat skips runs: what it prints is the lines.
		dec, _ := zstd.NewReader(nil)
		defer dec.Close()
		text, err := dec.DecodeAll(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(`"kind":"frame"`)); n < few-1 || n > many/2 {
			t.Errorf("%d frames are lines", n)
		}
	})
}

// A panic in the recorder turns recording off and nothing else.
func TestRecorderPanics(t *testing.T) {
	var told notices
	r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Notice: told.add,
		wrap: func(f *os.File) io.WriterAt { return &bomb{f: f} }})
	if err != nil {
		t.Fatal(err)
	}
	r.Data(Client, message(1))
	if r.Flush(time.Minute) {
		t.Error("flushed")
	}
	for i := range 1000 {
		r.Data(Client, bytes.Repeat(message(i), 1000))
	}
	r.Event(Record{Kind: KindExit, Exit: &Exit{Signal: "KILL"}})
	r.Close(time.Second)
	if l := told.all(); len(l) != 1 || !strings.Contains(l[0], "internal error") {
		t.Errorf("told %q", l)
	}
}

// A panic on a caller's side, too, is no end: what came then is not on record.
func TestCallerPanics(t *testing.T) {
	var told notices
	r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Notice: told.add})
	if err != nil {
		t.Fatal(err)
	}
	r.Data(Client, message(1))
	r.Broke()
	r.Close(time.Second)
	recs, end := readAll(t, r.Path(), Options{})
	// This process still has its lock: once it has ended, the recording is torn.
	if len(recs) == 0 || end.State != Live || !r.Lossy() {
		t.Errorf("%d records, %v", len(recs), end.State)
	}
}

// bomb panics at the second write.
type bomb struct {
	f *os.File
	n int
}

func (b *bomb) WriteAt(p []byte, off int64) (int, error) {
	if b.n++; b.n > 1 {
		panic("boom")
	}
	return b.f.WriteAt(p, off)
}

// Case 54: a name that is taken, a link, eight at once; case 60: modes.
func TestNames(t *testing.T) {
	t.Run("same file", func(t *testing.T) {
		dir := t.TempDir()
		var told notices
		a, err := Begin(Config{Dir: dir, Name: "x" + Suffix, Notice: told.add})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Begin(Config{Dir: dir, Name: "x" + Suffix, Notice: told.add})
		if err != nil {
			t.Fatal(err)
		}
		a.Data(Client, message(1))
		b.Data(Client, message(2))
		b.Close(time.Minute)
		a.Close(time.Minute)
		if filepath.Base(b.Path()) != "x-2"+Suffix || len(told.all()) != 1 {
			t.Errorf("%s, told %q", b.Path(), told.all())
		}
		for i, p := range []string{a.Path(), b.Path()} {
			recs, end := readAll(t, p, Options{Verify: true})
			if got := reconstruct(recs, Client); got != string(message(i+1)) || end.State != Sealed {
				t.Errorf("%s holds %q, %+v", p, got, end)
			}
		}
	})
	t.Run("link", func(t *testing.T) {
		dir := t.TempDir()
		target := filepath.Join(dir, "case-target.txt")
		os.WriteFile(target, []byte("keep"), 0o644)
		os.Symlink(target, filepath.Join(dir, "l"+Suffix))
		r, err := Begin(Config{Dir: dir, Name: "l" + Suffix})
		if err != nil {
			t.Fatal(err)
		}
		r.Close(time.Minute)
		if b, _ := os.ReadFile(target); string(b) != "keep" {
			t.Errorf("the link's target holds %q", b)
		}
	})
	t.Run("eight at once", func(t *testing.T) {
		dir := t.TempDir()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r, err := Begin(Config{Dir: dir, PID: 1})
				if err != nil {
					t.Error(err)
					return
				}
				r.Data(Client, message(i))
				r.Close(time.Minute)
			})
		}
		wg.Wait()
		names, _ := filepath.Glob(filepath.Join(dir, "*"+Suffix))
		if len(names) != 8 {
			t.Errorf("%d files", len(names))
		}
	})
	t.Run("modes", func(t *testing.T) {
		for _, umask := range []int{0o022, 0, 0o077} {
			func() {
				defer syscall.Umask(syscall.Umask(umask))
				dir := filepath.Join(t.TempDir(), "a", "b")
				r, err := Begin(Config{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				mode := func(p string) fs.FileMode {
					fi, err := os.Stat(p)
					if err != nil {
						t.Fatal(err)
					}
					return fi.Mode().Perm()
				}
				if m := mode(r.Path()); m != 0o600 {
					t.Errorf("umask %o: open file %o", umask, m)
				}
				r.Close(time.Minute)
				if m := mode(r.Path()); m != 0o600 {
					t.Errorf("umask %o: sealed file %o", umask, m)
				}
				for _, d := range []string{dir, filepath.Dir(dir)} {
					if m := mode(d); m != 0o700 {
						t.Errorf("umask %o: folder %o", umask, m)
					}
				}
			}()
		}
	})
	t.Run("open folder is warned of, and keeps its mode", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "open")
		os.Mkdir(dir, 0o700)
		os.Chmod(dir, 0o777)
		var told notices
		r, err := Begin(Config{Dir: dir, Notice: told.add})
		if err != nil {
			t.Fatal(err)
		}
		r.Close(time.Minute)
		fi, _ := os.Stat(dir)
		if l := told.all(); len(l) != 1 || !strings.Contains(l[0], "everybody") || fi.Mode().Perm() != 0o777 {
			t.Errorf("told %q, mode %o", l, fi.Mode().Perm())
		}
	})
}

// A live reader, a follower and the reader of the sealed file see the same.
func TestReadersAgreeWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull})
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		follow, err := Open(r.Path(), Options{Follow: true, Stop: stop})
		if err != nil {
			t.Fatal(err)
		}
		defer follow.Close()
		got := make(chan *Record, 1000)
		go func() {
			defer close(got)
			for {
				rec, err := follow.Next()
				if err != nil {
					return
				}
				got <- rec
			}
		}()
		var live []*Record
		for i := range 50 {
			r.Data(Client, message(i))
			r.Data(Server, message(i)[:7])
			time.Sleep(time.Duration(i) * 5 * time.Millisecond)
			synctest.Wait()
			recs, end := readAll(t, r.Path(), Options{})
			if end.State != Live {
				t.Fatalf("state %s", end.State)
			}
			if len(recs) < len(live) {
				t.Fatalf("%d records, before there were %d", len(recs), len(live))
			}
			live = recs
		}
		r.Event(Record{Kind: KindExit, Exit: &Exit{Signal: "TERM"}})
		r.Close(time.Minute)
		var followed []*Record
		for rec := range got {
			followed = append(followed, rec)
		}
		sealed, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed {
			t.Fatalf("%+v", end)
		}
		sameRecords(t, sealed, followed)
		sameRecords(t, sealed[:len(live)], live)
	})
}

// edit unpacks a recording, changes its lines, computes checks and closing
// again, and packs it.
func edit(t *testing.T, path, out string, change func([]string) []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec, _ := zstd.NewReader(nil)
	defer dec.Close()
	text, err := dec.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.SplitAfter(string(text), "\n") {
		if k, _ := kindOf([]byte(l)); l != "" && k != KindCheck {
			lines = append(lines, l)
		}
	}
	lines = change(lines)
	var all strings.Builder
	for _, l := range lines {
		all.WriteString(l)
	}
	fmt.Fprintf(&all, `{"kind":"check","last":0,"count":%d,"crc":"%08x"}`+"\n", len(lines), crc32.Checksum([]byte(all.String()), castagnoli))
	enc, _ := zstd.NewWriter(nil)
	defer enc.Close()
	if err := os.WriteFile(out, enc.EncodeAll([]byte(all.String()), nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Case 52: versions, missing and repeated headers, foreign files.
func TestOtherFiles(t *testing.T) {
	path := makeRecording(t, Config{}, []piece{{Client, string(message(1)), 0}, {Server, string(message(2)), 0}})
	replaced := func(old, new string) func([]string) []string {
		return func(l []string) []string {
			if !strings.Contains(l[0], old) {
				t.Fatalf("%q is not in the header", old)
			}
			l[0] = strings.Replace(l[0], old, new, 1)
			return l
		}
	}
	for _, c := range []struct {
		name   string
		change func([]string) []string
		want   string // in the error; empty: it is read
	}{
		{"newer major", replaced(`"format":[1,0]`, `"format":[2,0]`), "version 2.0, this sixlink reads version 1.x"},
		{"newer minor", func(l []string) []string {
			l[0] = strings.Replace(l[0], `"format":[1,0]`, `"format":[1,9],"xNew":{"a":[1]}`, 1)
			l[1] = strings.Replace(l[1], `"from"`, `"xNew":"y","from"`, 1)
			l[2] = strings.Replace(l[2], `"seq":2`, `"seq":3`, 1)
			l[3] = strings.Replace(strings.Replace(l[3], `"records":2`, `"records":3`, 1), `"lastSeq":2`, `"lastSeq":3`, 1)
			return append(l[:2:2], append([]string{`{"kind":"x-new","seq":2,"at":5}` + "\n"}, l[2:]...)...)
		}, ""},
		{"needs more", replaced(`"format":[1,0]`, `"format":[1,1],"needs":["holograms"]`), "holograms"},
		{"no head", func(l []string) []string { return l[1:] }, "first line is no header"},
		{"two heads", func(l []string) []string { return append(l[:2:2], append([]string{l[0]}, l[2:]...)...) }, "second header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "e"+Suffix)
			edit(t, path, out, c.change)
			r, err := Open(out, Options{})
			var recs []*Record
			for err == nil {
				var rec *Record
				if rec, err = r.Next(); err == nil {
					recs = append(recs, rec)
				}
			}
			if c.want == "" {
				if err != io.EOF || r.End().Unknown["x-new"] != 1 || r.End().State != Sealed {
					t.Fatalf("%v %+v", err, r.End())
				}
				// Rewriting keeps what it does not know.
				again := filepath.Join(t.TempDir(), "again"+Suffix)
				if _, err := Repair(out, again, "test", Options{}); err != nil {
					t.Fatal(err)
				}
				recs2, _ := readAll(t, again, Options{Verify: true})
				sameRecords(t, recs, recs2)
				if !strings.Contains(string(recs2[0].Line), `"xNew":{"a":[1]}`) {
					t.Errorf("header lost a member: %s", recs2[0].Line)
				}
			} else if err == io.EOF || !strings.Contains(fmt.Sprint(err), c.want) || !strings.Contains(fmt.Sprint(err), out) {
				t.Errorf("error is %v", err)
			}
			if r != nil {
				r.Close()
			}
		})
	}
	for name, text := range map[string]string{"hello": "hello", "two bytes": "hi", "JSON": `{"a":1}`, "lines": "{}\n{}\n"} {
		path := filepath.Join(t.TempDir(), "not-ours")
		os.WriteFile(path, []byte(text), 0o600)
		_, err := Open(path, Options{})
		var not *NotRecordingError
		if !errors.As(err, &not) || not.Torn || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil {
		t.Error("a folder was opened")
	}
}

// Damages that carry a good check, as a broken writer or a stranger makes them.
func TestLinesThatCannotBe(t *testing.T) {
	path := makeRecording(t, Config{}, []piece{{Client, string(message(1)), 0}, {Server, string(message(2)), 0}, {Client, string(message(3)), 0}})
	sub := func(i int, old, new string) func([]string) []string {
		return func(l []string) []string {
			if !strings.Contains(l[i], old) {
				t.Fatalf("line %d has no %q: %s", i, old, l[i])
			}
			l[i] = strings.Replace(l[i], old, new, 1)
			return l
		}
	}
	for _, c := range []struct {
		name   string
		change func([]string) []string
		want   string
	}{
		{"a hole in seq", sub(2, `"seq":2`, `"seq":9`), "seq 9 follows 1"},
		{"seq goes back", sub(2, `"seq":2`, `"seq":1`), "seq 1 follows 1"},
		{"seq is a string", sub(2, `"seq":2`, `"seq":"2"`), "member seq"},
		{"seq is negative", sub(2, `"seq":2`, `"seq":-2`), "member seq"},
		{"seq twice", sub(2, `"seq":2`, `"seq":2,"seq":2`), "twice"},
		{"no direction", sub(2, `"from":"server"`, `"from":"nobody"`), "member from"},
		{"a hole in the bytes", sub(3, `"off":`, `"off":1`), "is next"},
		{"a message of other length", sub(2, `"len":`, `"len":1`), "the message has"},
		{"a line is gone", func(l []string) []string { return append(l[:2:2], l[3:]...) }, "seq 3 follows 1"},
		{"lines behind the end", func(l []string) []string { return append(l, l[1]) }, "follows the closing line"},
		{"the end counts wrong", sub(4, `"records":3`, `"records":4`), "closing line says 4 records"},
		{"an array is no line", func(l []string) []string { l[2] = "[]\n"; return l }, "kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "e"+Suffix)
			edit(t, path, out, c.change)
			r, err := Open(out, Options{})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v", err)
				}
				return
			}
			r.Close()
			recs, end := readAll(t, out, Options{})
			if end.State != Torn || end.Damage == nil || !strings.Contains(end.Damage.Error(), c.want) {
				t.Errorf("%d records, %+v", len(recs), end)
			}
		})
	}
	t.Run("another hash", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "e"+Suffix)
		edit(t, path, out, sub(2, "ping", "pong"))
		if _, end := readAll(t, out, Options{}); end.State != Sealed {
			t.Errorf("without Verify: %+v", end)
		}
		if _, end := readAll(t, out, Options{Verify: true}); end.Damage == nil {
			t.Errorf("with Verify: %+v", end)
		}
	})
}

// Case 49: bombs are refused by name.
func TestBombs(t *testing.T) {
	for name, want := range map[string]string{
		"zeros-64MiB.zst":    "no header within",
		"newlines-64MiB.zst": "kind",
		"one-line-96MiB.zst": "no header within",
		"window-2GiB.zst":    "window",
	} {
		path := filepath.Join("..", "fixtures", "cases", "49-zst-bombs", name)
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The total is counted, whatever the decoder is told.
	path := makeRecording(t, Config{}, []piece{{Client, `{"pad":"` + strings.Repeat("0", 3<<20) + "\"}\n", 0}})
	r, err := Open(path, Options{MaxDecompressed: 1 << 20})
	if err == nil {
		for err == nil {
			_, err = r.Next()
		}
		r.Close()
	}
	if err == io.EOF || !strings.Contains(err.Error(), "--max-decompressed") {
		t.Errorf("%v", err)
	}
}

// Repair writes nothing when it cannot work, and never over anything.
func TestRepairRefuses(t *testing.T) {
	dir := t.TempDir()
	path := makeRecording(t, Config{Dir: dir, Name: "a" + Suffix}, []piece{{Client, string(message(1)), 0}})
	there := filepath.Join(dir, "there")
	os.WriteFile(there, []byte("keep"), 0o600)
	junk := filepath.Join(dir, "junk")
	os.WriteFile(junk, []byte("junk"), 0o600)
	live, err := Begin(Config{Dir: dir, Name: "live" + Suffix, Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close(time.Second)
	for _, c := range []struct{ name, in, out, want string }{
		{"onto itself", path, path, "same file"},
		{"over a file", path, there, "overwrites nothing"},
		{"of junk", junk, filepath.Join(dir, "x"), "is no recording"},
		{"of nothing", filepath.Join(dir, "none"), filepath.Join(dir, "x"), "no such file"},
		{"of a live one", live.Path(), filepath.Join(dir, "x"), "being written"},
	} {
		before, _ := filepath.Glob(filepath.Join(dir, "*"))
		_, err := Repair(c.in, c.out, "test", Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if after, _ := filepath.Glob(filepath.Join(dir, "*")); len(after) != len(before) {
			t.Errorf("%s: left %q", c.name, after)
		}
	}
	if b, _ := os.ReadFile(there); string(b) != "keep" {
		t.Errorf("overwritten: %q", b)
	}
}

// Plain tools see JSON on every line, whatever was recorded.
func TestEveryLineIsJSON(t *testing.T) {
	data, _ := smallRecording(t, true)
	dec, _ := zstd.NewReader(nil)
	defer dec.Close()
	text, err := dec.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range bytes.Split(bytes.TrimSuffix(text, newline), newline) {
		var v map[string]any
		if err := json.Unmarshal(l, &v); err != nil || v["kind"] == nil {
			t.Errorf("%v: %s", err, l)
		}
	}
}

// A recording that is at its cap, and whose file is removed then: what is left says
// that all of it is gone.
func TestRemovedAtTheCap(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r, err := Begin(Config{Dir: dir, Max: 64 << 10, Transport: "stdio", Level: LevelFull})
		if err != nil {
			t.Fatal(err)
		}
		const lines = 30
		sent := int64(0)
		for range lines {
			l := []byte(randomHex(8<<10) + "\n")
			r.Data(Server, l)
			sent += int64(len(l))
			time.Sleep(20 * time.Millisecond)
		}
		if err := os.Remove(r.Path()); err != nil {
			t.Fatal(err)
		}
		r.Close(time.Minute)
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(names) != 1 {
			t.Fatalf("left behind: %q", names)
		}
		recs, end := readAll(t, names[0], Options{Verify: true})
		if lost := inGaps(recs, Server); end.State != Sealed || lost.Bytes != sent || lost.Frames != lines {
			t.Errorf("%+v of %d bytes, %+v", lost, sent, end)
		}
	})
}

// What a sync waits for is the page cache, which takes all at once: a disk of
// 1 MB/s must not hold up the end for as long as the sealed file needs.
func TestSealOnASlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		synced := map[string]int64{}
		sync := func(f *os.File) error {
			fi, err := f.Stat()
			if err != nil {
				return err
			}
			time.Sleep(time.Duration(fi.Size()-synced[f.Name()]) * time.Microsecond)
			synced[f.Name()] = fi.Size()
			return nil
		}
		var told notices
		dir := t.TempDir()
		r, err := Begin(Config{Dir: dir, Transport: "stdio", Level: LevelFull, Notice: told.add, sync: sync})
		if err != nil {
			t.Fatal(err)
		}
		for range 200 { // 8 MB packed
			r.Data(Server, []byte(randomHex(40_000)+"\n"))
			time.Sleep(20 * time.Millisecond)
		}
		closing := time.Now()
		r.Close(SealLimit)
		if took := time.Since(closing); took > SealLimit+time.Second {
			t.Errorf("the end took %v", took)
		}
		<-r.done
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(names) != 1 || len(synced) != 1 || len(told.all()) != 0 {
			t.Errorf("left behind: %q, synced %v, told %q", names, synced, told.all())
		}
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Gaps != 0 || len(frames(recs)) != 200 {
			t.Errorf("%d frames, %+v", len(frames(recs)), end)
		}
	})
}

// A line that is made of credentials, half a million of them: to tell of each would
// need more than a line or a chunk run may have, and nobody could read the
// recording.
func TestLineOfCredentials(t *testing.T) {
	const secret = "q7Zk3xT9"
	for _, press := range []bool{false, true} {
		for _, sep := range []string{"", ","} {
			t.Run(fmt.Sprintf("pressed %v, between them %q", press, sep), func(t *testing.T) {
				m := mask.FromProcess(mask.RandomKey(), []string{"x"}, []string{"API_KEY=" + secret})
				r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, Masker: m, press: func() bool { return press }})
				if err != nil {
					t.Fatal(err)
				}
				var sent int64
				send := func(s string) {
					r.Data(Server, []byte(s))
					sent += int64(len(s))
				}
				send("before\n")
				send(strings.Repeat(secret+sep, partLimit/(len(secret)+len(sep))+1000) + "\n")
				send("after\n")
				r.Close(time.Minute)
				recs, end := readAll(t, r.Path(), Options{Verify: true})
				got := reconstruct(recs, Server)
				if end.State != Sealed || end.Gaps != 0 || int64(len(got)) != sent {
					t.Errorf("%d of %d bytes, %+v", len(got), sent, end)
				}
				if !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "\nafter\n") || strings.Contains(got, secret) {
					t.Errorf("%.20q … %.20q", got, got[max(0, len(got)-20):])
				}
			})
		}
	}
}
