package record

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// camera takes a picture of a folder before and after each write and sync, as a power cut
// would leave it: with what is in the page cache, or without what was not synced.
type camera struct {
	mu       sync.Mutex
	dir      string
	pictures []map[string]string
}

func (c *camera) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	p := map[string]string{}
	for _, e := range found {
		if data, err := os.ReadFile(filepath.Join(c.dir, e.Name())); err == nil {
			p[e.Name()] = string(data)
		}
	}
	c.pictures = append(c.pictures, p)
}

type filmed struct {
	c *camera
	f *os.File
}

func (f filmed) WriteAt(p []byte, off int64) (int, error) {
	f.c.take()
	// Half of it is there, and then all.
	if n, err := f.f.WriteAt(p[:len(p)/2], off); err != nil {
		return n, err
	}
	f.c.take()
	n, err := f.f.WriteAt(p[len(p)/2:], off+int64(len(p)/2))
	return n + len(p)/2, err
}

// The folder is cut at every write of the borders, with files missing, empty, cut short,
// with a hole and half renamed: what stands before the last good check is read, nothing
// that was not written, and a repair gives one recording of it.
func TestPowerCutAtBorders(t *testing.T) {
	var pieces []piece
	c := &camera{}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 11 {
		pieces = append(pieces, piece{Client, noise(rnd, 1000), 60 * time.Millisecond})
	}
	for _, pressed := range []bool{false, true} {
		c.dir, c.pictures = t.TempDir(), nil
		synctest.Test(t, func(t *testing.T) {
			makeRecording(t, Config{Dir: c.dir, Name: "r" + Suffix, RotateSize: MinRotateSize, press: func() bool { return pressed },
				wrap: func(f *os.File) io.WriterAt { return filmed{c, f} },
				sync: func(*os.File) error { c.take(); return nil }}, pieces)
			c.take()
		})
		whole := sum(pieces, Client)
		if len(c.pictures) < 30 {
			t.Fatalf("only %d pictures", len(c.pictures))
		}
		// After the last picture all of it must be there.
		best := 0
		for i, p := range c.pictures {
			if i > 0 && maps.Equal(p, c.pictures[i-1]) {
				continue
			}
			for _, cut := range []struct {
				name   string
				damage func(name, data string, newest bool) (string, bool)
			}{
				{"as it is", func(_, d string, _ bool) (string, bool) { return d, true }},
				{"the newest file is missing", func(_, d string, newest bool) (string, bool) { return d, !newest }},
				{"the newest file is empty", func(_, d string, newest bool) (string, bool) {
					if newest {
						return "", true
					}
					return d, true
				}},
				{"the newest file ends in zeros", func(_, d string, newest bool) (string, bool) {
					if n := len(d) / 2; newest {
						return d[:n] + strings.Repeat("\x00", len(d)-n), true
					}
					return d, true
				}},
				{"half renamed", func(name, d string, _ bool) (string, bool) {
					return d, !strings.Contains(name, sealSuffix)
				}},
			} {
				if i%3 > 0 && cut.name != "as it is" && i < len(c.pictures)-1 {
					continue
				}
				got := afterCut(t, fmt.Sprintf("picture %d, %s, pressed %v", i, cut.name, pressed), p, cut.damage, whole, i%5 == 0 || i == len(c.pictures)-1)
				if i == len(c.pictures)-1 && cut.name == "as it is" && got != len(whole) {
					t.Errorf("at the end %d bytes of %d are there", got, len(whole))
				}
				if cut.name == "as it is" {
					if got < best {
						t.Errorf("picture %d has %d bytes, one before had %d", i, got, best)
					}
					best = got
				}
			}
		}
	}
}

// afterCut reads what is left of a picture after damage, repairs it, and returns how many
// bytes there were.
func afterCut(t *testing.T, what string, p map[string]string, damage func(name, data string, newest bool) (string, bool), whole string, repair bool) int {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "cut")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	newest, n := "r"+Suffix, 0
	for name := range p {
		if base, m := baseName(name); base == "r"+Suffix && m > n {
			newest, n = name, m
		}
	}
	for name, data := range p {
		data, there := damage(name, data, name == newest)
		if !there {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "r"+Suffix)
	if _, err := Open(path, Options{}); err != nil {
		if n > 0 {
			t.Errorf("%s: %v", what, err)
		}
		return 0 // the only file was hit before its first check
	}
	read := func(path string, verify bool) int {
		recs, end := readAll(t, path, Options{Verify: verify})
		got := reconstruct(recs, Client)
		if end.Gaps == 0 && !strings.HasPrefix(whole, got) {
			t.Fatalf("%s: %d bytes were read that were not seen, %+v", what, len(got), end)
		}
		if end.Gaps > 0 {
			for _, f := range frames(recs) {
				if !strings.Contains(whole, string(f.Data)+string(f.EOL)) {
					t.Fatalf("%s: %q was not seen", what, f.Data)
				}
			}
		}
		return len(got)
	}
	got := read(path, true)
	if !repair {
		return got
	}
	out := filepath.Join(dir, "repaired"+Suffix)
	if _, err := Repair(path, out, "test", Options{}); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if again := read(out, true); again != got {
		t.Errorf("%s: %d bytes after the repair, %d before", what, again, got)
	}
	return got
}
