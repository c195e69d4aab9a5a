package report

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sixlink/sixlink/grade"
)

// bigVerdict is the shop's with n trials, a third of them failed, over the cases.
func bigVerdict(t testing.TB, n int) *Verdict {
	v := shopVerdict(t)
	var kinds []*Trial // passed, passed, failed
	for _, c := range v.Cases {
		if c.ID == "refund" {
			if err := c.Each(func(t *Trial) error { kinds = append(kinds, t); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	kinds = []*Trial{kinds[0], kinds[3], kinds[1]}
	for i, c := range v.Cases {
		from, to := n*i/len(v.Cases), n*(i+1)/len(v.Cases)
		words := map[grade.Word]int{}
		for k := from; k < to; k++ {
			words[kinds[k%3].Word]++
		}
		c.Stats, c.Word = grade.StatsOf(words[grade.Passed], words[grade.Failed], 0), grade.Failed
		c.each = func(do func(*Trial) error) error {
			for k := from; k < to; k++ {
				t := *kinds[k%3]
				t.Recording = fmt.Sprintf("r%d", k)
				if err := do(&t); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return v
}

// heapWriter notes the largest heap while it is written to; what is written is dropped.
type heapWriter struct {
	n, next, peak uint64
}

func (h *heapWriter) Write(p []byte) (int, error) {
	if h.n += uint64(len(p)); h.n >= h.next {
		h.next = h.n + 128<<10
		h.look()
	}
	return len(p), nil
}

func (h *heapWriter) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.peak = max(h.peak, m.HeapAlloc)
}

// A stored verdict of 5,000 trials in each format: time, and the largest heap (garbage
// included) beyond what there was before. What grows with the trials is an index of 16
// bytes each; the heap is that of the same run with 500 trials, within the collector's
// play.
func BenchmarkRender(b *testing.B) {
	for _, n := range []int{500, 5000} {
		path := filepath.Join(b.TempDir(), "v.json")
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		w := bufio.NewWriter(f)
		if err := JSON(w, bigVerdict(b, n)); err != nil {
			b.Fatal(err)
		}
		w.Flush()
		fi, _ := f.Stat()
		defer f.Close()
		for _, format := range Formats() {
			b.Run(fmt.Sprintf("%s/%d", format.Name, n), func(b *testing.B) {
				b.SetBytes(fi.Size())
				var h heapWriter
				runtime.GC()
				h.look()
				before := h.peak
				for b.Loop() {
					v, err := Read(f, fi.Size())
					if err != nil {
						b.Fatal(err)
					}
					if err := format.Write(&h, v, Options{}); err != nil {
						b.Fatal(err)
					}
					h.look()
				}
				b.ReportMetric(float64(h.peak-before)/(1<<20), "peak-MiB")
			})
		}
	}
}
