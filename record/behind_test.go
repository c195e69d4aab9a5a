package record

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Runs are written in the order in which they are given, whoever writes them.
func TestRunsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b behind
		var wrote []int64
		b.start(func(u *run) {
			// Now and then the disk is slow, so that what comes is written by the other.
			if u.records%5 == 0 {
				time.Sleep(2 * slowWrite)
			}
			wrote = append(wrote, u.records)
		})
		var want []int64
		for i := range int64(200) {
			u := b.take()
			u.records = i
			b.give(u, i%7 == 0)
			want = append(want, i)
			if i%50 == 49 {
				b.wait()
				if !slices.Equal(wrote, want) {
					t.Fatalf("after wait: %d", wrote)
				}
				time.Sleep(2 * slowPause)
			}
		}
		b.end()
	})
}

// A disk that stops does not stop who makes runs, until too many wait; and after
// a slow write nothing is written by who gives, for a while.
func TestRunsWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b behind
		gate := make(chan struct{})
		slow := slowWrite * 2
		b.start(func(*run) {
			time.Sleep(slow)
			<-gate
		})
		close(gate)
		b.give(b.take(), false) // slow, and done here
		gate = make(chan struct{})
		given := 0
		go func() {
			for range behindRuns + 2 {
				b.give(&run{}, false)
				given++
			}
		}()
		time.Sleep(slowPause / 2)
		synctest.Wait()
		// One is being written, behindRuns wait.
		if given != behindRuns+1 {
			t.Errorf("%d runs were taken, want %d", given, behindRuns+1)
		}
		close(gate)
		b.wait()
		synctest.Wait()
		b.wait()
		b.end()
		if given != behindRuns+2 {
			t.Errorf("%d runs in the end", given)
		}
	})
}

// What panics behind is known to the next who gives, and to who waits; nothing
// is written any more.
func TestPanicBehind(t *testing.T) {
	var b behind
	wrote := 0
	b.start(func(*run) {
		wrote++
		panic("boom")
	})
	defer b.end()
	boom := func(what string, do func()) {
		t.Helper()
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("%s: panic %v", what, p)
			}
		}()
		do()
	}
	boom("give and wait", func() {
		b.give(b.take(), true)
		b.wait()
	})
	boom("give again", func() { b.give(b.take(), false) })
	if wrote != 1 {
		t.Errorf("written %d times", wrote)
	}
}

// gated is a disk whose writes wait.
type gated struct {
	f    *os.File
	gate func()
}

func (g gated) WriteAt(p []byte, off int64) (int, error) {
	g.gate()
	return g.f.WriteAt(p, off)
}

// A disk that stops for a moment at full speed: what the relay offers meanwhile,
// more than the queue holds, is in the recording, and the relay did not wait.
func TestDiskStopsForAMoment(t *testing.T) {
	var mu sync.Mutex
	stop := false
	stopped := make(chan struct{}, 1)
	gate := make(chan struct{})
	cfg := Config{press: func() bool { return true }, Dir: t.TempDir(), Transport: "stdio", wrap: func(f *os.File) io.WriterAt {
		return gated{f, func() {
			mu.Lock()
			wait := stop
			mu.Unlock()
			if wait {
				select {
				case stopped <- struct{}{}:
				default:
				}
				<-gate
			}
		}}
	}}
	r, err := Begin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Flush(time.Minute)
	mu.Lock()
	stop = true
	mu.Unlock()
	r.behind.mu.Lock()
	r.behind.slow = time.Now().Add(time.Hour) // as after a slow write
	r.behind.mu.Unlock()
	var sent bytes.Buffer
	line := strings.Repeat("x", 60<<10)
	offer := func(n int) {
		for range n {
			l := fmt.Sprintf("{\"n\":%d,%q:0}\n", sent.Len(), line)
			sent.WriteString(l)
			r.Data(Server, []byte(l))
		}
	}
	taken := func() bool {
		r.q.mu.Lock()
		defer r.q.mu.Unlock()
		return r.q.used < 1<<20
	}
	for range 2 {
		offer((4 << 20) / len(line))
		for end := time.Now().Add(time.Minute); !taken() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}
	<-stopped
	offer((12 << 20) / len(line))
	if sent.Len() < queueBytes+1<<20 {
		t.Fatal("that fits into the queue")
	}
	close(gate)
	r.Flush(time.Minute)
	r.Close(-time.Second)
	recs, end := readAll(t, r.Path(), Options{})
	if end.Gaps != 0 || reconstruct(recs, Server) != sent.String() {
		t.Errorf("%d gaps, %d of %d bytes", end.Gaps, len(reconstruct(recs, Server)), sent.Len())
	}
}
