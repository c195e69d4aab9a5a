//go:build faults && linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// binary is the program as it is delivered: make faults builds it.
func binary(t testing.TB) string {
	p, err := filepath.Abs(filepath.Join("..", "..", "bin", "sixlink"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); err != nil {
		t.Fatalf("%v: run make faults", err)
	}
	return p
}

// floodRole writes about 10 MB/s of lines that do not pack well.
func floodRole([]string) int {
	pad := make([]byte, 200)
	w := bufio.NewWriter(os.Stdout)
	for n := 0; ; n++ {
		for i := range pad {
			pad[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[rand.IntN(36)]
		}
		fmt.Fprintf(w, `{"n":%d,"pad":"%s"}`+"\n", n, pad)
		if n%64 == 0 {
			if w.Flush() != nil {
				return 0
			}
			time.Sleep(500 * time.Microsecond)
		}
	}
}

// passing is what a host read, and when.
type passing struct {
	bytes []byte
	reads []moment // in the order of time
}

// moment says that so many bytes had passed then.
type moment struct {
	bytes int
	at    time.Time
}

// since is when the byte at that offset had passed.
func (p *passing) since(off int) time.Time {
	i, _ := slices.BinarySearchFunc(p.reads, off+1, func(r moment, n int) int { return r.bytes - n })
	return p.reads[i].at
}

// A recorder that is killed under load loses at most what passed in the last 100 ms
// (DESIGN.md "The recording"), what is there is right, and the server goes with it.
func TestFaultKilledUnderLoad(t *testing.T) {
	fault(t, "kill -9 at 50 random moments under load")
	const tries = 50
	var worst time.Duration
	var peaks, kept int64
	late := 0
	for try := range tries {
		r := startReal(t, setup{command: proxytest.Argv("flood")})
		var host passing
		up, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			buf := make([]byte, 256<<10)
			for {
				n, err := r.out.Read(buf)
				if err != nil {
					return
				}
				if len(host.bytes) == 0 {
					close(up)
				}
				host.bytes = append(host.bytes, buf[:n]...)
				host.reads = append(host.reads, moment{len(host.bytes), time.Now()})
			}
		}()
		select {
		case <-up:
		case <-time.After(proxytest.Guard):
			t.Fatalf("nothing came: %s", r.errs.String())
		}
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		killed := time.Now()
		r.cmd.Process.Kill()
		<-over
		if code := r.wait(); code != 128+9 {
			t.Errorf("try %d: status %d", try, code)
		}
		r.bounded()
		peaks = max(peaks, r.peak.Load())

		var recorded bytes.Buffer
		k := readFrames(t, r.path, func(rec *record.Record) {
			if rec.From == record.Server {
				recorded.Write(rec.Data)
				recorded.Write(rec.EOL)
			}
		})
		if k.end.State != record.Torn || k.end.Gaps != 0 {
			t.Errorf("try %d: %+v", try, k.end)
		}
		// Recorded is not passed on: either may be ahead of the other.
		both := min(recorded.Len(), len(host.bytes))
		if !bytes.Equal(recorded.Bytes()[:both], host.bytes[:both]) {
			t.Errorf("try %d: what is recorded is not what passed", try)
		}
		if both < len(host.bytes) {
			lost := killed.Sub(host.since(both))
			if worst = max(worst, lost); lost > 100*time.Millisecond {
				late++
			}
		}
		kept += int64(recorded.Len())
		if try == 0 {
			mustShow(t, r.path, "torn")
		}
		os.Remove(r.path)
	}
	observed(t, "%s read back, all as it passed, each recording torn; at most %v of what had passed was lost, %d times over 100ms; no server left; %s at the peak",
		mib(kept), worst.Round(time.Millisecond), late, mib(peaks))
	// A busy machine may be late now and then.
	if late > tries/10 || worst > 400*time.Millisecond {
		t.Errorf("more was lost than the last 100 ms")
	}
}

// A file system of 64 KiB: traffic is whole, one line says what happened, and
// what is left is readable (case 51, small-disk).
func TestFaultSmallDisk(t *testing.T) {
	fault(t, "a disk of 64 KiB")
	disk := proxytest.NewDisk(t, 64<<10, skipped)
	r := startReal(t, setup{out: filepath.Join(disk.Dir, "r"+record.Suffix), command: []string{"cat"}})
	sent := r.echo(150, 4<<10, 20*time.Millisecond, nil)
	r.in.Close()
	k := r.end(0)
	if k.end.State == record.Sealed {
		k.account(t, record.Client, sent)
		k.account(t, record.Server, sent)
	}
	if k.end.State != record.Torn && k.end.Gaps == 0 {
		t.Errorf("the recording claims to be whole: %+v", k.end)
	}
	names, err := filepath.Glob(filepath.Join(disk.Dir, "*"))
	if err != nil || len(names) > 2 || strings.Contains(strings.Join(names, " "), "sealing") {
		t.Errorf("left on the disk: %q, %v", names, err)
	}
	observed(t, "%s of traffic came whole; %d of %d lines of the server are in the recording, %d in %d gaps, state %s; %s; told: %s", mib(sent.bytes),
		k.streams[record.Server].lines, sent.lines, k.lost[record.Server].Frames, len(k.gaps), k.end.State, peak(r), one(t, r, "recording stopped"))
}
