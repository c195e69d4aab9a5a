package record

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// noise is a line that does not pack.
func noise(rnd *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[rnd.IntN(64)]
	}
	return `{"pad":"` + string(b) + "\"}\n"
}

// noSync is for tests that make many files: the page cache is what they look at.
func noSync(*os.File) error { return nil }

// filesOf lists the files of a folder, those of a recording in their order.
func filesOf(t testing.TB, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		names = append(names, e.Name())
	}
	slices.SortStableFunc(names, func(a, b string) int {
		_, m := baseName(a)
		_, n := baseName(b)
		return m - n
	})
	return names
}

func sizeOf(t testing.TB, dir string) (n int64) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		if fi, err := e.Info(); err == nil {
			n += (fi.Size() + blockBytes) / blockBytes * blockBytes
		}
	}
	return n
}

// chained asserts that each segment names the hash of the one before it.
func chained(t *testing.T, recs []*Record) {
	t.Helper()
	prev := ""
	for _, r := range recs {
		switch r.Kind {
		case KindHeader:
			if r.Header.Prev != prev {
				t.Errorf("segment %d: prev is %q, the segment before it has %q", r.Header.Segment, r.Header.Prev, prev)
			}
		case KindClosing:
			if prev = r.Closing.SHA256; prev == "" {
				t.Error("a segment has no hash")
			}
		}
	}
}

// No record is lost or doubled where another file begins, and each segment can be
// verified by itself.
func TestRotationLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name        string
		size        int64
		every       time.Duration
		pause       time.Duration
		lines, long int
		press       func(i int) bool
		least       int // files
	}{
		{"by size", MinRotateSize, 0, 60 * time.Millisecond, 60, 900, nil, 8},
		{"by time", 0, time.Second, 300 * time.Millisecond, 60, 10, nil, 12},
		{"by size under pressure", MinRotateSize, 0, 60 * time.Millisecond, 60, 900, func(int) bool { return true }, 8},
		{"pressure that comes and goes", MinRotateSize, 0, 60 * time.Millisecond, 90, 900, func(i int) bool { return i/7%2 == 0 }, 8},
		{"a burst in one tick", MinRotateSize, 0, 0, 400, 2000, nil, 8},
		{"segments larger than a reader takes at once", 512 << 10, 0, 0, 400, 8000, nil, 4},
		{"a line longer than a segment", MinRotateSize, 0, 60 * time.Millisecond, 10, 100_000, nil, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(1, 2))
				var pieces []piece
				for i := range c.lines {
					from := directions[i%3]
					line := noise(rnd, c.long)
					if i%5 == 4 { // a line that two reads make, perhaps over a border
						n := rnd.IntN(len(line))
						pieces = append(pieces, piece{from, line[:n], c.pause}, piece{from, line[n:], c.pause})
						continue
					}
					pieces = append(pieces, piece{from, line, c.pause})
				}
				n := 0
				cfg := Config{Dir: t.TempDir(), Name: "r" + Suffix, sync: noSync, RotateSize: c.size, RotateEvery: c.every}
				if c.press != nil {
					cfg.press = func() bool { n++; return c.press(n) }
				}
				path := makeRecording(t, cfg, pieces)
				recs, end := readAll(t, path, Options{Verify: true})
				if end.State != Sealed || end.Damage != nil || end.Gaps != 0 || end.Runs != 0 {
					t.Fatalf("%+v", end)
				}
				checkOrder(t, recs)
				for _, from := range directions {
					if got, want := reconstruct(recs, from), sum(pieces, from); got != want {
						t.Errorf("%s: %d bytes are not the %d that passed", from, len(got), len(want))
					}
				}
				chained(t, recs)
				names := filesOf(t, cfg.Dir)
				if len(names) < c.least || len(names) != end.Segments {
					t.Fatalf("%d segments in the files %q", end.Segments, names)
				}
				for i, name := range names {
					// By itself, and with all that follows it.
					alone := filepath.Join(t.TempDir(), name)
					data, err := os.ReadFile(filepath.Join(cfg.Dir, name))
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(alone, data, 0o600); err != nil {
						t.Fatal(err)
					}
					part, end := readAll(t, alone, Options{Verify: true})
					if end.Damage != nil || part[len(part)-1].Kind != KindClosing || end.Segments != 1 || end.Runs > 0 {
						t.Errorf("%s alone: %+v", name, end)
					}
					_, end = readAll(t, filepath.Join(cfg.Dir, name), Options{Verify: true})
					if end.State != Sealed || end.Segments != len(names)-i {
						t.Errorf("from %s on: %+v", name, end)
					}
				}
			})
		})
	}
}

// A recording of several files is named by any of them, by what they have in common,
// or by its folder.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(3, 4))
		var pieces []piece
		for range 30 {
			pieces = append(pieces, piece{Client, noise(rnd, 1000), 60 * time.Millisecond})
		}
		makeRecording(t, Config{Dir: dir, Name: "r" + Suffix, sync: noSync, RotateSize: MinRotateSize}, pieces)
	})
	names := filesOf(t, dir)
	for _, path := range []string{"r" + Suffix, "r", "", "/"} {
		path = dir + string(filepath.Separator) + path
		if recs, end := readAll(t, path, Options{}); len(frames(recs)) != 30 || end.Segments != len(names) {
			t.Errorf("%s: %d frames, %+v", path, len(frames(recs)), end)
		}
	}
	if _, err := Open(filepath.Join(dir, "x"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a name of nothing: %v", err)
	}
	all, err := Recordings(dir)
	if err != nil || len(all) != 1 || filepath.Base(all[0]) != "r"+Suffix {
		t.Fatalf("%q %v", all, err)
	}

	// Two recordings: the folder is none, each name is one.
	synctest.Test(t, func(t *testing.T) {
		makeRecording(t, Config{Dir: dir, Name: "s" + Suffix}, []piece{{Client, "{}\n", 0}})
		makeRecording(t, Config{Dir: dir, Name: "r-2" + Suffix}, []piece{{Client, "{}\n", 0}})
	})
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "stands for 3 recordings") {
		t.Errorf("a folder of three: %v", err)
	}
	if recs, _ := readAll(t, filepath.Join(dir, "s"), Options{}); len(frames(recs)) != 1 {
		t.Error("s is not found")
	}
	if recs, _ := readAll(t, filepath.Join(dir, "r"), Options{}); len(frames(recs)) != 30 {
		t.Error("r is taken for r-2, or for none")
	}
}

// Segments that are missing in the middle are a gap, never silence; what is there is read.
func TestMissingSegments(t *testing.T) {
	for _, c := range []struct {
		name  string
		gone  func(i, n int) bool
		empty bool // the files are there without a byte
		gaps  int64
	}{
		{"one in the middle", func(i, n int) bool { return i == 3 }, false, 1},
		{"all but the first and the last", func(i, n int) bool { return i > 0 && i < n-1 }, false, 1},
		{"every other one", func(i, n int) bool { return i%2 == 1 && i < n-1 }, false, 0},
		{"an empty one in the middle", func(i, n int) bool { return i == 3 }, true, 1},
		{"the first", func(i, n int) bool { return i == 0 }, false, 1},
		{"an empty first one", func(i, n int) bool { return i == 0 }, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(5, 6))
				var pieces []piece
				for range 64 {
					pieces = append(pieces, piece{Server, noise(rnd, 1000), 60 * time.Millisecond})
				}
				cfg := Config{Dir: t.TempDir(), Name: "r" + Suffix, sync: noSync, RotateSize: MinRotateSize}
				makeRecording(t, cfg, pieces)
				names, left, lost := filesOf(t, cfg.Dir), 0, 0
				if len(names) < 12 {
					t.Fatalf("only %q", names)
				}
				for i, name := range names {
					path := filepath.Join(cfg.Dir, name)
					alone := filepath.Join(t.TempDir(), name)
					data, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(alone, data, 0o600); err != nil {
						t.Fatal(err)
					}
					recs, _ := readAll(t, alone, Options{})
					if !c.gone(i, len(names)) {
						left += len(frames(recs))
						continue
					}
					lost += len(frames(recs))
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
					if c.empty {
						if err := os.WriteFile(path, nil, 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
				recs, end := readAll(t, filepath.Join(cfg.Dir, "r"), Options{Verify: true})
				if len(frames(recs)) != left || end.State != Sealed || end.Damage != nil || end.Lost < int64(lost) || c.gaps > 0 && end.Gaps != c.gaps {
					t.Errorf("%d of %d frames, %d are gone: %+v", len(frames(recs)), left, lost, end)
				}
				out := filepath.Join(t.TempDir(), "one"+Suffix)
				if _, err := Repair(filepath.Join(cfg.Dir, "r"), out, "test", Options{}); err != nil {
					t.Fatal(err)
				}
				again, one := readAll(t, out, Options{Verify: true})
				if len(frames(again)) != left || one.Damage != nil || one.Lost != end.Lost {
					t.Errorf("after the repair: %d frames, %+v", len(frames(again)), one)
				}
			})
		})
	}
}

// At its cap a recording that rotates goes on: its oldest segments but the first go.
func TestCapWithRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told notices
		rnd := rand.New(rand.NewPCG(7, 8))
		const limit = 128 << 10
		cfg := Config{Dir: t.TempDir(), Name: "r" + Suffix, sync: noSync, RotateSize: 16 << 10, Max: limit, Notice: told.add, Transport: "stdio", Level: LevelFull}
		r, err := Begin(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var last string
		for range 400 {
			last = noise(rnd, 2000)
			r.Data(Client, []byte(last))
			time.Sleep(60 * time.Millisecond)
			n := int64(0)
			for _, name := range filesOf(t, cfg.Dir) {
				if !strings.Contains(name, sealSuffix) {
					fi, err := os.Stat(filepath.Join(cfg.Dir, name))
					if err == nil {
						n += fi.Size()
					}
				}
			}
			if n > limit {
				t.Fatalf("%d bytes are over the cap", n)
			}
		}
		s := r.Stats()
		if s.Removed == 0 || s.RemovedBytes < 400_000 || s.Rotated < 20 || s.Broken {
			t.Errorf("%+v", s)
		}
		r.Close(time.Minute)
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Damage != nil || end.Gaps != 1 || len(told.all()) > 0 {
			t.Errorf("%+v %q", end, told.all())
		}
		f := frames(recs)
		if recs[0].Header.Segment != 0 || string(f[len(f)-1].Data)+"\n" != last || f[0].Off != 0 {
			t.Error("the first segment or the last record is not there")
		}
		removed := int64(0)
		for _, rec := range recs {
			if rec.Kind == KindRemoved {
				removed += rec.Removed.Files
				if rec.Removed.Why != LimitRecording || len(rec.Removed.Segments) == 0 || slices.Contains(rec.Removed.Segments, 0) {
					t.Errorf("%+v", rec.Removed)
				}
			}
		}
		if removed == 0 {
			t.Error("the recording does not say what went")
		}
	})
}

// A file that cannot be begun leaves the recording in the one at hand, whole.
func TestRotationWithoutAPlace(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("as root every folder can be written: strangers' files are in the way instead")
	}
	synctest.Test(t, func(t *testing.T) {
		var told notices
		dir := t.TempDir()
		for n := 1; n <= nameTries; n++ {
			if err := os.WriteFile(filepath.Join(dir, segmentName("r"+Suffix, n)), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rnd := rand.New(rand.NewPCG(9, 10))
		var pieces []piece
		for range 40 {
			pieces = append(pieces, piece{Client, noise(rnd, 1000), 60 * time.Millisecond})
		}
		path := makeRecording(t, Config{Dir: dir, Name: "r" + Suffix, sync: noSync, RotateSize: MinRotateSize, Notice: told.add}, pieces)
		recs, end := readAll(t, path, Options{Verify: true})
		if end.State != Sealed || end.Segments != 1 || reconstruct(recs, Client) != sum(pieces, Client) {
			t.Errorf("%+v", end)
		}
		if l := told.all(); len(l) != 1 || !strings.Contains(l[0], "goes on in the one at hand") {
			t.Errorf("%q", l)
		}
	})
}

// A disk that fails at a border: at each write from the first to the last in turn.
func TestRotationWriteError(t *testing.T) {
	for half := 2; half < 40; half += 4 {
		t.Run(fmt.Sprint("write ", half), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{half: half}
				rnd := rand.New(rand.NewPCG(11, 12))
				var pieces []piece
				for range 40 {
					pieces = append(pieces, piece{Client, noise(rnd, 1000), 60 * time.Millisecond})
				}
				cfg := Config{Dir: t.TempDir(), Name: "r" + Suffix, sync: noSync, RotateSize: MinRotateSize, wrap: func(f *os.File) io.WriterAt { return diskFile{d, f} }}
				path := makeRecording(t, cfg, append(pieces, piece{Client, "{}\n", 3 * time.Second}))
				recs, end := readAll(t, path, Options{Verify: true})
				if end.State != Sealed || end.Damage != nil || end.Gaps > 1 {
					t.Fatalf("%+v", end)
				}
				kept := int64(len(frames(recs)))
				for _, r := range recs {
					if r.Kind == KindGap {
						kept += r.Gap.LastSeq - r.Gap.FirstSeq + 1
					}
				}
				if kept != 41 {
					t.Errorf("%d records of 41 are told of", kept)
				}
			})
		})
	}
}
