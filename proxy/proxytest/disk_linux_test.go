package proxytest_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sixlink/sixlink/proxy/proxytest"
)

func skip(t testing.TB, what string, why any) { t.Skipf("SKIPPED %s: %v", what, why) }

func TestDisk(t *testing.T) {
	d := proxytest.NewDisk(t, 1<<20, skip)
	write := func(name string, n int) error {
		return os.WriteFile(filepath.Join(d.Dir, name), make([]byte, n), 0o600)
	}
	d.Fill(64 << 10)
	if err := write("fits", 32<<10); err != nil {
		t.Error(err)
	}
	if err := write("too much", 64<<10); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk says %v", err)
	}
	d.Free()
	if err := write("too much", 64<<10); err != nil {
		t.Errorf("with space again: %v", err)
	}
	d.ReadOnly()
	if err := write("fits", 1); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a read-only disk says %v", err)
	}
}

// How slow it is takes time to see (cmd/sixlink, TestFaultSlowDisk).
func TestSlowDisk(t *testing.T) {
	d := proxytest.NewSlowDisk(t, 4<<20, 1<<20, skip)
	if err := os.WriteFile(filepath.Join(d.Dir, "x"), []byte("there"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(d.Dir, "x")); string(b) != "there" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}
