package proxytest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Skip is told what fault could not be made here, and why, and does not return.
type Skip func(t testing.TB, what string, why any)

// A Disk is a small file system of its own, which a test can fill and make
// read-only: root is not stopped by modes. It needs the right to mount.
type Disk struct {
	Dir     string
	t       testing.TB
	ballast string
}

// NewDisk mounts a file system of that many bytes in memory.
func NewDisk(t testing.TB, size int64, skip Skip) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir(), t: t}
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size)); err != nil {
		skip(t, "a small disk", fmt.Errorf("mount: %w", err))
	}
	t.Cleanup(func() { syscall.Unmount(d.Dir, unix.MNT_DETACH) })
	d.ballast = filepath.Join(d.Dir, "ballast")
	return d
}

// Fill takes up all space but left bytes.
func (d *Disk) Fill(left int64) {
	d.t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(d.Dir, &s); err != nil {
		d.t.Fatal(err)
	}
	n := int64(s.Bavail)*s.Bsize - left
	if err := os.WriteFile(d.ballast, bytes.Repeat([]byte{1}, int(max(n, 0))), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// Free gives back what Fill took.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast); err != nil {
		d.t.Fatal(err)
	}
}

// ReadOnly makes every write fail. No file may be open for writing.
func (d *Disk) ReadOnly() {
	d.t.Helper()
	if err := syscall.Mount("tmpfs", d.Dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		d.t.Fatal(err)
	}
}

// A SlowDisk is a file system of its own on which the processes in it write at a
// bounded speed. Every write waits for the device, as where the page cache is full,
// unless Cache was called.
type SlowDisk struct {
	Dir   string
	group string
}

// NewSlowDisk makes a file system of size bytes on a loop device that takes
// perSecond bytes a second. It needs root, loop devices, mkfs.ext2 and a block-io
// cgroup (v1 blkio, or v2 with the io controller on).
func NewSlowDisk(t testing.TB, size, perSecond int64, skip Skip) *SlowDisk {
	t.Helper()
	const what = "a slow disk"
	d := &SlowDisk{Dir: t.TempDir()}
	image := filepath.Join(t.TempDir(), "image")
	output := func(argv ...string) string {
		b, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			skip(t, what, fmt.Errorf("%s: %w: %s", argv[0], err, bytes.TrimSpace(b)))
		}
		return strings.TrimSpace(string(b))
	}
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(size)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	output("mkfs.ext2", "-q", "-F", image)
	device := output("losetup", "-f", "--show", image)
	t.Cleanup(func() { exec.Command("losetup", "-d", device).Run() })
	if err := syscall.Mount(device, d.Dir, "ext2", syscall.MS_SYNCHRONOUS, ""); err != nil {
		skip(t, what, fmt.Errorf("mount: %w", err))
	}
	t.Cleanup(func() { syscall.Unmount(d.Dir, unix.MNT_DETACH) })
	var st unix.Stat_t
	if err := unix.Stat(device, &st); err != nil {
		t.Fatal(err)
	}
	dev := fmt.Sprintf("%d:%d", unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)))
	name := fmt.Sprintf("proxytest-%d", os.Getpid())
	var errs []string
	for _, try := range []struct{ group, file, line string }{
		{"/sys/fs/cgroup/blkio/" + name, "blkio.throttle.write_bps_device", fmt.Sprintf("%s %d", dev, perSecond)},
		{"/sys/fs/cgroup/" + name, "io.max", fmt.Sprintf("%s wbps=%d", dev, perSecond)},
	} {
		if _, err := os.Stat(filepath.Dir(try.group)); err != nil {
			errs = append(errs, err.Error())
			continue
		}
		err := os.Mkdir(try.group, 0o755)
		if err == nil {
			t.Cleanup(func() { os.Remove(try.group) })
			err = writeExisting(filepath.Join(try.group, try.file), try.line)
		}
		if err == nil {
			d.group = try.group
			return d
		}
		errs = append(errs, err.Error())
	}
	skip(t, what, strings.Join(errs, "; "))
	return nil
}

// Enter makes a process, and those that it starts from now on, write slowly.
func (d *SlowDisk) Enter(pid int) error {
	return writeExisting(filepath.Join(d.group, "cgroup.procs"), fmt.Sprint(pid))
}

// Cache gives the disk a page cache that takes all at once: only a sync waits.
func (d *SlowDisk) Cache(t testing.TB) {
	t.Helper()
	if err := syscall.Mount("", d.Dir, "", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
}

// writeExisting is os.WriteFile for files that the kernel makes.
func writeExisting(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}
