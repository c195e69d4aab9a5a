package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// corpus is real traffic: the server's lines of a capture's recording, without
// those over 100 kB.
func corpus(b *testing.B) [][]byte {
	b.Helper()
	recs, _ := readAll(b, filepath.Join("..", "fixtures", "recordings", "ts1-everything-stdio"+Suffix), Options{})
	var lines [][]byte
	for _, r := range recs {
		if r.Kind == KindFrame && len(r.Data) < 100_000 {
			lines = append(lines, append(bytes.Clone(r.Data), '\n'))
		}
	}
	return lines
}

// What the relay pays for a copy: one call of 200 bytes and one of 20 kB, the
// recorder keeping up beside it.
func BenchmarkOffer(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int
	}{{"200B", 200}, {"20kB", 20_000}} {
		b.Run(c.name, func(b *testing.B) {
			q := newQueue(func() int64 { return int64(time.Since(time.Unix(0, 0))) }, false)
			p := append(bytes.Repeat([]byte("x"), c.n-1), '\n')
			var taken []*slab
			b.SetBytes(int64(c.n))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q.data(Server, p)
				if i%200 == 0 {
					taken = q.take(taken[:0])
					for _, s := range taken {
						q.release(s)
					}
				}
			}
		})
	}
}

// The recorder's side, lines or chunk runs, on real text.
func BenchmarkRecord(b *testing.B) {
	lines := corpus(b)
	for name, press := range map[string]bool{"lines": false, "runs": true} {
		b.Run(name, func(b *testing.B) {
			r, err := Begin(Config{Dir: b.TempDir(), Max: 64 << 30, Lossless: true, Transport: "stdio", press: func() bool { return press }})
			if err != nil {
				b.Fatal(err)
			}
			total := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l := lines[i%len(lines)]
				r.Data(Server, l)
				total += len(l)
			}
			r.Flush(time.Hour)
			b.StopTimer()
			b.ReportMetric(float64(total)/1e6/b.Elapsed().Seconds(), "MB/s")
			r.Close(-time.Second)
			os.Remove(r.Path())
		})
	}
}

// Reading a sealed recording to its end.
func BenchmarkRead(b *testing.B) {
	lines := corpus(b)
	var pieces []piece
	n := 0
	for i := 0; n < 64<<20; i++ {
		l := lines[i%len(lines)]
		pieces = append(pieces, piece{Server, string(l), 0})
		n += len(l)
	}
	path := makeRecording(b, Config{Lossless: true}, pieces)
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		readAll(b, path, Options{})
	}
}
