//go:build faults

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/record"
)

// binary is the program as it is delivered: make faults builds it.
func binary(t *testing.T) string {
	p, err := filepath.Abs(filepath.Join("..", "..", "bin", "sixlink"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); err != nil {
		t.Fatalf("%v: run make faults", err)
	}
	return p
}

func init() {
	if os.Getenv("SIXLINK_FAULT_ROLE") == "flood" {
		flood()
		os.Exit(0)
	}
}

// flood writes about 20 MB/s of lines that tell their number and time.
func flood() {
	pad := make([]byte, 200)
	w := bufio.NewWriter(os.Stdout)
	for n := 0; ; n++ {
		for i := range pad {
			pad[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[rand.IntN(36)]
		}
		if _, err := fmt.Fprintf(w, `{"n":%d,"t":%d,"pad":"%s"}`+"\n", n, time.Now().UnixNano(), pad); err != nil {
			return
		}
		if n%64 == 0 {
			if w.Flush() != nil {
				return
			}
			time.Sleep(500 * time.Microsecond)
		}
	}
}

// A recorder that is killed under load loses at most what passed in the last 100
// ms, and what is there is right.
func TestFaultKilledUnderLoad(t *testing.T) {
	const tries = 50
	bin := binary(t)
	var worst time.Duration
	late, frames := 0, 0
	for try := range tries {
		out := filepath.Join(t.TempDir(), "k"+record.Suffix)
		cmd := exec.Command(bin, "record", "--quiet", "--out", out, "--", os.Args[0])
		cmd.Env = append(os.Environ(), "SIXLINK_FAULT_ROLE=flood")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		read := make(chan int64)
		go func() {
			n, _ := io.Copy(io.Discard, stdout)
			read <- n
		}()
		time.Sleep(150*time.Millisecond + time.Duration(rand.IntN(400))*time.Millisecond)
		killed := time.Now()
		cmd.Process.Kill()
		<-read
		cmd.Wait()
		stdin.Close()

		r, err := record.Open(out, record.Options{})
		if err != nil {
			t.Fatalf("try %d: %v", try, err)
		}
		want, last := 0, int64(0)
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Kind != record.KindFrame || rec.From != record.Server || rec.Form != record.FormMessage {
				continue
			}
			var m struct{ N, T int64 }
			if err := json.Unmarshal(rec.Data, &m); err != nil || m.N < int64(want) {
				t.Fatalf("try %d: message %d is %.80s", try, want, rec.Data)
			}
			want, last = int(m.N)+1, m.T
			frames++
		}
		if end := r.End(); end.State != record.Torn || end.Damage != nil || end.Gaps != 0 {
			t.Errorf("try %d: %+v", try, end)
		}
		r.Close()
		lost := killed.Sub(time.Unix(0, last))
		worst = max(worst, lost)
		if lost > 100*time.Millisecond {
			late++
		}
		os.Remove(out)
	}
	t.Logf("observed: %d kills, %d messages read back, at most %v before the kill was lost, %d times over 100ms", tries, frames, worst.Round(time.Millisecond), late)
	if late > tries/10 || worst > 400*time.Millisecond {
		t.Errorf("more was lost than the last 100 ms")
	}
}

// A file system of 64 KiB: traffic is whole, one line says what happened, and
// what is left is readable (case 51, small-disk).
func TestFaultSmallDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		fmt.Printf("SKIPPED small disk: mount: %v\n", err)
		if os.Getenv("REQUIRE_E2E") == "1" {
			t.Fatal("required")
		}
		return
	}
	defer syscall.Unmount(dir, 0)
	out := filepath.Join(dir, "s"+record.Suffix)
	var in bytes.Buffer
	for i := range 52 {
		pad := make([]byte, 32<<10)
		for j := range pad {
			pad[j] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rand.IntN(64)]
		}
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n", i, pad)
	}
	cmd := exec.Command(binary(t), "record", "--out", out, "--", "cat")
	cmd.Stdin = bytes.NewReader(in.Bytes())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if !bytes.Equal(stdout.Bytes(), in.Bytes()) {
		t.Error("the traffic was changed")
	}
	lines := strings.Count(stderr.String(), "\n")
	if lines != 1 || !strings.Contains(stderr.String(), "recording stopped") {
		t.Errorf("stderr: %q", stderr.String())
	}
	r, err := record.Open(out, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); err != nil {
			break
		}
	}
	end := r.End()
	t.Logf("observed: %d records kept of a 1.7 MB session, state %s, %d gaps; told: %s", end.Records, end.State, end.Gaps, strings.TrimSpace(stderr.String()))
	if end.State != record.Torn && end.Gaps == 0 {
		t.Errorf("the recording claims to be whole: %+v", end)
	}
}
