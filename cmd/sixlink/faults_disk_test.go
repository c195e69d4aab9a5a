//go:build faults && linux

package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// one asserts that the user was told about the recording once.
func one(t *testing.T, r *realRun, word string) string {
	t.Helper()
	told := r.told()
	if len(told) != 1 || !strings.Contains(told[0], word) {
		t.Errorf("stderr is to have one line about the recording, with %q: %q", word, told)
		return ""
	}
	return plain(told[0])
}

// The disk fills up and is emptied again: the rest is recorded, the hole is
// counted to the byte, and the host sees nothing of it.
func TestFaultDiskFullThenFree(t *testing.T) {
	fault(t, "a full disk, and space again later")
	disk := proxytest.NewDisk(t, 16<<20, skipped)
	disk.Fill(1700 << 10) // under the floor of 5 % are 0.8 MiB
	r := startReal(t, setup{out: filepath.Join(disk.Dir, "r"+record.Suffix), command: []string{"cat"}})
	const lines = 450
	sent := r.echo(lines, 8<<10, 10*time.Millisecond, func(i int) {
		if i == lines/2 {
			disk.Free()
		}
	})
	r.in.Close()
	k := r.end(0)
	k.account(t, record.Client, sent)
	k.account(t, record.Server, sent)
	if k.end.State != record.Sealed || k.end.Gaps == 0 || k.lost[record.Client].Frames == 0 {
		t.Errorf("%+v: the disk was not full, or the recording hides it", k.end)
	}
	k.has(t, "exit 0")
	mustShow(t, r.path, "  gap  ")
	observed(t, "client %s, state %s, %d files; %s; told: %s", k.shares(record.Client), k.end.State, k.files, peak(r), one(t, r, "recording stopped"))
}

// The file, or its folder with all in it, is removed while it is written: a new
// file, whose gap counts all that the removed one held.
func TestFaultRemovedUnderUs(t *testing.T) {
	for _, what := range []string{"file", "folder"} {
		t.Run(what, func(t *testing.T) {
			fault(t, "the "+what+" removed under us")
			dir := filepath.Join(t.TempDir(), "recordings")
			out := filepath.Join(dir, "r"+record.Suffix)
			r := startReal(t, setup{out: out, command: []string{"cat"}})
			const lines = 250
			sent := r.echo(lines, 4<<10, 10*time.Millisecond, func(i int) {
				if i != lines/3 {
					return
				}
				err := os.Remove(out)
				if what == "folder" {
					err = os.RemoveAll(dir)
				}
				if err != nil {
					t.Error(err)
				}
			})
			r.in.Close()
			r.wait()
			names, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(names) != 1 {
				t.Fatalf("the folder holds %q, %v", names, err)
			}
			r.path = names[0]
			k := r.end(0)
			k.account(t, record.Client, sent)
			k.account(t, record.Server, sent)
			if k.end.State != record.Sealed || k.end.Gaps == 0 || k.lost[record.Server].Frames == 0 {
				t.Errorf("%+v", k.end)
			}
			k.has(t, "exit 0")
			mustShow(t, r.path, "  gap  ", "removed")
			observed(t, "server %s, recorded on to %s; %s; told: %s", k.shares(record.Server), filepath.Base(r.path), peak(r), one(t, r, "removed"))
		})
	}
}

// A disk that nobody can write to: the server runs, or does not run when the
// recording is required (case 51, read-only).
func TestFaultReadOnly(t *testing.T) {
	fault(t, "a read-only disk")
	disk := proxytest.NewDisk(t, 1<<20, skipped)
	disk.ReadOnly()
	mark := filepath.Join(t.TempDir(), "started")
	server := proxytest.Program{{Note: &proxytest.Note{File: mark, Text: "started"}}, {Echo: true}}.Argv()
	once := func(flags ...string) (*realRun, int, string) {
		r := startReal(t, setup{out: filepath.Join(disk.Dir, "r"+record.Suffix), flags: flags, command: server})
		r.in.WriteString("traffic\n") // fails when the server was refused
		r.in.Close()
		got, err := io.ReadAll(r.out)
		if err != nil {
			t.Fatal(err)
		}
		code := r.wait()
		r.bounded()
		return r, code, string(got)
	}
	r, code, got := once()
	if _, err := os.Stat(mark); code != 0 || got != "traffic\n" || err != nil {
		t.Errorf("status %d, traffic %q, server started: %v", code, got, err == nil)
	}
	line := one(t, r, "read-only")
	os.Remove(mark)
	r, required, got := once("--require-recording")
	if _, err := os.Stat(mark); required == 0 || got != "" || err == nil {
		t.Errorf("required: status %d, traffic %q, server started: %v", required, got, err == nil)
	}
	one(t, r, "not started")
	observed(t, "the server runs, status %d, traffic whole; required: it does not, status %d; %s; told: %s", code, required, peak(r), line)
}

// A disk of 1 MB/s under 20 MB/s of traffic that does not pack: the traffic keeps
// its pace, the loss is counted, the memory is bounded. The end may take as long
// as hosts wait before they kill (wire.md 1.2: 2 s to TERM, 2 s to KILL), with some
// for a slow machine.
func TestFaultSlowDisk(t *testing.T) {
	fault(t, "a disk of 1 MB/s under 20 MB/s")
	slowDisk(t, 1<<20, true)
}

func TestFaultVerySlowDisk(t *testing.T) {
	fault(t, "a disk of 0.25 MB/s under 20 MB/s")
	slowDisk(t, 256<<10, false)
}

// slowDisk records on such a disk. inTime says that the end must be on it in the
// time that a host gives; else the recording may be left torn, when stderr says so.
func slowDisk(t *testing.T, perSecond int64, inTime bool) {
	disk := proxytest.NewSlowDisk(t, 64<<20, perSecond, skipped)
	const lines, size, period = 600, 100 << 10, 5 * time.Millisecond
	r := startReal(t, setup{out: filepath.Join(disk.Dir, "r"+record.Suffix), command: proxytest.Argv("paced", "600", "102400", "5ms")})
	if err := disk.Enter(r.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got := r.rest()
	took := time.Since(start)
	if got != pacedDigest(lines, size) {
		t.Error("the traffic was changed")
	}
	if limit := 2*lines*period + 2*time.Second; took > limit {
		t.Errorf("the traffic took %v: it waited for the disk", took)
	}
	const patience = 8 * time.Second
	after := "over " + patience.String()
	select {
	case <-r.ended:
		after = seconds(r.endedAt.Sub(start) - took)
	case <-time.After(patience):
		r.cmd.Process.Kill()
		<-r.ended
	}
	k := read(t, r.path)
	observed(t, "%s of traffic in %s; %s, state %s; the end came %s after the last byte; %s; told: %s",
		mib(got.bytes), seconds(took), k.shares(record.Server), k.end.State, after, peak(r), plain(strings.Join(r.told(), " | ")))
	r.bounded()
	if code := r.wait(); code != 0 {
		t.Errorf("the end takes too long, a host would have killed us: status %d", code)
		return
	}
	if n := k.streams[record.Server]; n.bytes > got.bytes || n.lines > got.lines {
		t.Errorf("%d bytes and %d lines are recorded, %d and %d passed", n.bytes, n.lines, got.bytes, got.lines)
	}
	left := slices.ContainsFunc(r.told(), func(s string) bool { return strings.Contains(s, "recording is left as it is") })
	if k.end.State == record.Torn {
		if inTime || !left {
			t.Error("the recording is torn")
		}
		return
	}
	// The recording is whole, and its gap accounts for the rest.
	k.account(t, record.Server, got)
	if k.end.Gaps == 0 {
		t.Error("nothing was lost: the disk was not slow")
	}
	if inTime {
		one(t, r, "recording")
	}
}

// The same disk with a page cache: all of the recording is taken at once, and what
// waits is the sync of the sealed file. It is given up in time, and leaves nothing.
func TestFaultSealOnASlowDisk(t *testing.T) {
	fault(t, "sealing on a disk of 1 MB/s")
	disk := proxytest.NewSlowDisk(t, 64<<20, 1<<20, skipped)
	disk.Cache(t)
	const lines, size = 150, 100 << 10
	r := startReal(t, setup{out: filepath.Join(disk.Dir, "r"+record.Suffix), command: proxytest.Argv("paced", "150", "102400", "5ms")})
	if err := disk.Enter(r.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	got := r.rest()
	start := time.Now()
	if got != pacedDigest(lines, size) {
		t.Error("the traffic was changed")
	}
	k := r.end(0)
	took := r.endedAt.Sub(start)
	k.account(t, record.Server, got)
	if k.end.State != record.Sealed || k.end.Gaps != 0 || len(r.told()) != 0 {
		t.Errorf("%+v, told %q", k.end, r.told())
	}
	names, err := filepath.Glob(filepath.Join(disk.Dir, "r*"))
	if err != nil || len(names) != 1 {
		t.Errorf("left on the disk: %q, %v", names, err)
	}
	// Hosts kill after 2 s and 2 s more (wire.md 1.2).
	if took > 4*time.Second {
		t.Errorf("the end took %v", took)
	}
	observed(t, "%s of traffic, whole; the end came %s after the last byte; %d file left; %s", mib(got.bytes), seconds(took), len(names), peak(r))
}
