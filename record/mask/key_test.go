package mask

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestLoadKeyMakesOneThatStays(t *testing.T) {
	home := filepath.Join(t.TempDir(), "a", "b")
	k, err := LoadKey(home)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadKey(home)
	if err != nil || again != k {
		t.Errorf("%v: %v after %v", err, again, k)
	}
	fi, err := os.Stat(filepath.Join(home, KeyFile))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if fi, _ := os.Stat(home); fi.Mode().Perm() != 0o700 {
		t.Errorf("home has mode %v", fi.Mode())
	}
	if k == (Key{}) || k == RandomKey() {
		t.Error("the key is no random one")
	}
	only(t, home)
}

// only fails when anything but the key is left in home.
func only(t *testing.T, home string) {
	t.Helper()
	list, err := os.ReadDir(home)
	if err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func TestLoadKeyAtOnce(t *testing.T) {
	for range 20 {
		home := t.TempDir()
		keys := make([]Key, 8)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range keys {
			wg.Go(func() {
				<-start
				k, err := LoadKey(home)
				if err != nil {
					t.Error(err)
				}
				keys[i] = k
			})
		}
		close(start)
		wg.Wait()
		for _, k := range keys {
			if k != keys[0] || k == (Key{}) {
				t.Fatalf("keys differ: %v and %v", k, keys[0])
			}
		}
		only(t, home)
	}
}

func TestLoadKeyRefuses(t *testing.T) {
	good := strings.Repeat("0a", 32) + "\n"
	file := func(text string, mode os.FileMode) func(string) error {
		return func(name string) error {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				return err
			}
			return os.Chmod(name, mode)
		}
	}
	for _, tc := range []struct {
		name string
		make func(string) error
		want string
	}{
		{"readable by the group", file(good, 0o640), "mode 0640"},
		{"readable by everybody", file(good, 0o604), "mode 0604"},
		{"empty", file("", 0o600), "64 hex digits"},
		{"short", file(good[:60], 0o600), "64 hex digits"},
		{"long", file(good+good, 0o600), "64 hex digits"},
		{"no hex", file(strings.Repeat("xy", 32), 0o600), "64 hex digits"},
		{"folder", func(name string) error { return os.Mkdir(name, 0o700) }, "no plain file"},
		{"link to a good key", func(name string) error {
			if err := os.WriteFile(name+".other", []byte(good), 0o600); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(name)+".other", name)
		}, "no plain file"},
		{"link to nothing", func(name string) error { return os.Symlink("nothing", name) }, "no plain file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := t.TempDir()
			name := filepath.Join(home, KeyFile)
			if err := tc.make(name); err != nil {
				t.Fatal(err)
			}
			k, err := LoadKey(home)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") || k != (Key{}) {
				t.Errorf("%v, want %q with the file's name", err, tc.want)
			}
		})
	}
	home := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(home, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(home); err == nil {
		t.Error("a file as home is taken")
	}
}
