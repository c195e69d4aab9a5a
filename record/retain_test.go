package record

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A day of traffic: whatever passes, the folder and the memory stay within their
// limits, the handshake is kept, and what is left verifies.
func TestADayOfTraffic(t *testing.T) {
	synctest.Test(t, aDay)
}

func aDay(t *testing.T) {
	const limit = 256 << 10
	var told notices
	rnd := rand.New(rand.NewPCG(1, 2))
	cfg := Config{Dir: t.TempDir(), Name: "r" + Suffix, Transport: "stdio", Level: LevelFull, Notice: told.add,
		sync: noSync, RotateSize: 32 << 10, RotateEvery: 10 * time.Minute, MaxTotal: limit, MaxAge: 2 * time.Hour}
	r, err := Begin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Data(Client, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`+"\n"))
	var last string
	passed, most, files := 0, int64(0), 0
	for minute := range 24 * 60 {
		if minute/120%3 == 2 {
			time.Sleep(time.Minute) // two hours in which nothing passes
			continue
		}
		last = noise(rnd, 1+rnd.IntN(3000))
		r.Data(Server, []byte(last))
		passed += len(last)
		time.Sleep(time.Minute)
		if minute%5 > 0 {
			continue
		}
		written(t, cfg.Dir)
		most, files = max(most, sizeOf(t, cfg.Dir)), max(files, len(filesOf(t, cfg.Dir)))
	}
	s := r.Stats()
	r.Close(time.Minute)
	if most > limit || most < limit/2 || passed < 1<<20 {
		t.Errorf("%d bytes passed, %d were on the disk at a time, %d may be", passed, most, limit)
	}
	if s.Removed < 40 || s.Rotated < 60 || s.Queued > 256<<10 || s.Gaps > 0 || s.Broken {
		t.Errorf("%+v", s)
	}
	recs, end := readAll(t, r.Path(), Options{Verify: true})
	if end.State != Sealed || end.Damage != nil || len(told.all()) > 0 {
		t.Errorf("%+v %q", end, told.all())
	}
	f := frames(recs)
	if !strings.Contains(string(f[0].Data), "initialize") || string(f[len(f)-1].Data)+"\n" != last {
		t.Error("the handshake or the last message is not there")
	}
	var why []string
	for _, rec := range recs {
		if rec.Kind == KindRemoved && !slices.Contains(why, rec.Removed.Why) {
			why = append(why, rec.Removed.Why)
		}
		if at := time.Duration(rec.At); rec.Kind == KindFrame && at > 2*time.Minute && at < 17*time.Hour {
			t.Fatalf("a frame of %v is there after a day", time.Duration(rec.At))
		}
	}
	if !slices.Contains(why, LimitAge) { // by size went what told of it
		t.Errorf("the recording tells of %q", why)
	}
	t.Logf("%d bytes passed, at most %d of %d on the disk in %d files, %d files removed", passed, most, limit, files, s.Removed)
}

// written gives files that were written in real time the time of the bubble.
func written(t *testing.T, dir string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, e := range found {
		if fi, err := e.Info(); err == nil && fi.ModTime().After(now) {
			if err := os.Chtimes(filepath.Join(dir, e.Name()), now, now); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
}

// Two recorders on one folder: together they stay within the limit, none touches what
// the other still writes, and what one has left may go for the other.
func TestTwoRecordersOnOneFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 384 << 10
		dir := t.TempDir()
		cfg := Config{Dir: dir, Transport: "stdio", Level: LevelFull, sync: noSync, RotateSize: 16 << 10, MaxTotal: limit}
		var rec [2]*Recorder
		for i := range rec {
			var err error
			if rec[i], err = Begin(cfg); err != nil {
				t.Fatal(err)
			}
		}
		rnd := rand.New(rand.NewPCG(3, 4))
		pass := func(n int, to ...*Recorder) {
			for range n {
				for _, r := range to {
					r.Data(Client, []byte(noise(rnd, 1500)))
				}
				time.Sleep(60 * time.Millisecond)
				if n := sizeOf(t, dir); n > limit {
					t.Fatalf("%d bytes are over the limit", n)
				}
			}
		}
		pass(250, rec[0], rec[1])
		check := func(r *Recorder, state State) {
			t.Helper()
			recs, end := readAll(t, r.Path(), Options{Verify: true})
			if end.State != state || end.Damage != nil || len(frames(recs)) < 50 {
				t.Errorf("%d frames, %+v", len(frames(recs)), end)
			}
			for _, r := range recs {
				if r.Kind == KindRemoved && len(r.Removed.Others) > 0 {
					t.Errorf("%+v is of a recording that was being written", r.Removed)
				}
			}
		}
		synctest.Wait()
		check(rec[0], Live)
		check(rec[1], Live)
		rec[0].Close(time.Minute)
		check(rec[0], Sealed)
		for range 200 {
			if _, err := os.Stat(rec[0].Path()); err != nil {
				break
			}
			pass(5, rec[1])
		}
		pass(5, rec[1])
		rec[1].Close(time.Minute)
		if _, err := os.Stat(rec[0].Path()); !os.IsNotExist(err) {
			t.Error("what the first recorder left is still there")
		}
		recs, end := readAll(t, rec[1].Path(), Options{Verify: true})
		others := 0
		for _, r := range recs {
			if r.Kind == KindRemoved {
				others += len(r.Removed.Others)
			}
		}
		if end.State != Sealed || others == 0 {
			t.Errorf("%+v, %d files of the other are told of", end, others)
		}
	})
}

// What prune takes and what it leaves.
func TestPrune(t *testing.T) {
	now := time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)
	build := func(t *testing.T) (dir string, live *Recorder) {
		dir = t.TempDir()
		rnd := rand.New(rand.NewPCG(5, 6))
		one := func(name string, label string, days, lines int, cfg Config) {
			cfg.sync, cfg.Dir, cfg.Name, cfg.Labels = noSync, dir, name+Suffix, map[string]string{"tenant": label}
			var pieces []piece
			for range lines {
				pieces = append(pieces, piece{Client, noise(rnd, 1500), 60 * time.Millisecond})
			}
			makeRecording(t, cfg, pieces)
			for _, f := range filesOf(t, dir) {
				if base, n := baseName(f); base == cfg.Name {
					at := now.Add(-time.Duration(days)*24*time.Hour + time.Duration(n)*time.Hour)
					if err := os.Chtimes(filepath.Join(dir, f), at, at); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		one("old", "a", 9, 1, Config{})
		one("long", "b", 6, 12, Config{RotateSize: MinRotateSize}) // long, long.0001 …, an hour apart
		one("new", "a", 1, 1, Config{})
		for name, data := range map[string]string{
			"notes" + Suffix:      "this is no recording",
			"empty" + Suffix:      "",
			"old.txt":             "mine",
			"x" + Suffix + ".bak": "mine",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		long := now.Add(-30 * 24 * time.Hour)
		for _, name := range []string{"notes" + Suffix, "empty" + Suffix, "old.txt", "x" + Suffix + ".bak"} {
			if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
		live, err := Begin(Config{Dir: dir, Name: "live" + Suffix, Transport: "stdio", Level: LevelFull, Labels: map[string]string{"tenant": "a"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(live.Path(), long, long); err != nil {
			t.Fatal(err)
		}
		return dir, live
	}
	always := []string{"live", "notes"}
	for _, c := range []struct {
		name string
		p    Prune
		left []string // of the recordings, by their bases; a number: so many files
		kept int
	}{
		{"by age", Prune{MaxAge: 7 * 24 * time.Hour}, []string{"long:all", "new"}, 2},
		{"by a smaller age, inside a recording", Prune{MaxAge: 6*24*time.Hour - 150*time.Minute}, []string{"long:some", "new"}, 2},
		{"by size: the first segment goes last of its own", Prune{MaxTotal: 28 << 10}, []string{"long:some", "new"}, 2},
		{"by a size that is kept", Prune{MaxTotal: 1 << 30}, []string{"empty", "long:all", "new", "old"}, 0},
		{"by label", Prune{Where: func(h *Header) (bool, error) { return h.Labels["tenant"] == "a", nil }}, []string{"empty", "long:all"}, 3},
		{"by label and age", Prune{MaxAge: 5 * 24 * time.Hour, Where: func(h *Header) (bool, error) { return h.Labels["tenant"] == "a", nil }}, []string{"empty", "long:all", "new"}, 3},
		{"a whole recording stays that is young at its end", Prune{MaxAge: 6*24*time.Hour - 150*time.Minute, Where: func(h *Header) (bool, error) { return true, nil }}, []string{"empty", "long:all", "new"}, 3},
		{"dry", Prune{MaxAge: time.Hour, DryRun: true}, []string{"empty", "long:all", "new", "old"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, live := build(t)
				defer live.Close(time.Second)
				before := filesOf(t, dir)
				c.p.Now = now
				done, err := c.p.Prune(dir)
				if err != nil {
					t.Fatal(err)
				}
				after, count := filesOf(t, dir), map[string]int{}
				was := map[string]int{}
				for _, f := range before {
					base, _ := baseName(f)
					was[base]++
				}
				for _, f := range after {
					base, _ := baseName(f)
					count[base]++
				}
				want := map[string]bool{"old.txt": true, "x" + Suffix + ".bak": true}
				for _, l := range append(slices.Clone(always), c.left...) {
					base, how, _ := strings.Cut(l, ":")
					base += Suffix
					want[base] = true
					n, all := count[base], was[base]
					if n == 0 || how == "all" && n != all || how == "some" && n >= all {
						t.Errorf("%s: %d files of %d are there", base, n, all)
					}
				}
				for base := range count {
					if !want[base] {
						t.Errorf("%s is still there", base)
					}
				}
				if !c.p.DryRun && len(done.Files) != len(before)-len(after) || c.p.DryRun && (len(before) != len(after) || len(done.Files) < 4) {
					t.Errorf("%d files are told of, %d went", len(done.Files), len(before)-len(after))
				}
				if len(done.Kept) != c.kept {
					t.Errorf("kept: %+v", done.Kept)
				}
				if count["long"+Suffix] > 0 {
					if recs, end := readAll(t, filepath.Join(dir, "long"), Options{Verify: true}); recs[0].Kind != KindHeader || recs[0].Header.Segment != 0 || end.Damage != nil {
						t.Errorf("long: %+v", end)
					}
				}
			})
		})
	}
}

// Limits never count on a folder that nobody cleans: what killed seals have left goes.
func TestStaleSeals(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for i, age := range []time.Duration{2 * time.Hour, time.Minute} {
		path := filepath.Join(dir, fmt.Sprint("r", Suffix, sealSuffix, i))
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	p := Prune{MaxTotal: 1 << 30, Now: now}
	if _, err := p.Prune(dir); err != nil {
		t.Fatal(err)
	}
	if left := filesOf(t, dir); len(left) != 1 || !strings.HasSuffix(left[0], "1") {
		t.Errorf("%q are left", left)
	}
}
