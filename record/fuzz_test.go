package record

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzReader gives any bytes to the reader: it ends, it does not panic, and what
// it gives keeps the rules. Repair of the same bytes gives the same records.
func FuzzReader(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join("..", "fixtures", "recordings", "*"+Suffix))
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && len(b) < 16<<10 {
			f.Add(b)
			f.Add(b[:len(b)*2/3])
		}
	}
	f.Add([]byte(plainHead))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "fuzz"+Suffix)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		recs, err := drain(path)
		out := filepath.Join(dir, "out"+Suffix)
		os.Remove(out)
		if _, rerr := Repair(path, out, "fuzz", Options{MaxDecompressed: 64 << 20}); err == nil && rerr == nil {
			again, err := drain(out)
			if err != nil {
				t.Fatalf("repaired: %v", err)
			}
			sameRecords(t, real(recs), real(again))
		} else if err == nil && rerr != nil {
			t.Fatalf("read, but not repaired: %v", rerr)
		}
	})
}

func real(recs []*Record) (out []*Record) {
	for _, r := range recs {
		if r.Line != nil {
			out = append(out, r)
		}
	}
	return out
}

func drain(path string) (recs []*Record, err error) {
	r, err := Open(path, Options{MaxDecompressed: 64 << 20})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	seq := r.Header().FirstSeq - 1
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return recs, nil
		}
		if err != nil {
			return recs, err
		}
		if rec.Seq > 0 && rec.Line != nil {
			if rec.Seq <= seq {
				return recs, fmt.Errorf("seq %d after %d", rec.Seq, seq)
			}
			seq = rec.Seq
		}
		recs = append(recs, rec)
	}
}

// FuzzLines gives any lines with good checks to the reader, so that fuzzing gets
// behind the CRC.
func FuzzLines(f *testing.F) {
	f.Add(`{"kind":"header","format":[1,0],"id":"x","segment":0,"firstSeq":1,"start":"2026-01-01T00:00:00Z","at":0}
{"kind":"frame","seq":1,"at":5,"from":"client","off":0,"len":2,"message":{}}
{"kind":"frame","seq":2,"at":5,"from":"stderr","off":0,"more":true,"text":"a"}
{"kind":"gap","seq":4,"at":6,"firstSeq":3,"lastSeq":4,"streams":{"client":{"off":3,"bytes":5,"frames":1}},"why":"w"}
{"kind":"frame","seq":5,"at":7,"from":"server","off":0,"masked":[{"off":0,"len":1,"mac":"a"}],"raw":"/w==","eol":""}
{"kind":"exit","seq":6,"at":8,"code":0}
{"kind":"closing","records":5,"lastSeq":6,"sha256":"","last":true}
`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += fmt.Sprintf(`{"kind":"check","last":0,"count":%d,"crc":"%08x"}`+"\n", strings.Count(text, "\n"), crc32.Checksum([]byte(text), castagnoli))
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		defer enc.Close()
		path := filepath.Join(dir, "fuzz"+Suffix)
		if err := os.WriteFile(path, enc.EncodeAll([]byte(text), nil), 0o600); err != nil {
			t.Fatal(err)
		}
		recs, err := drain(path)
		if err != nil {
			return
		}
		s := NewStore([]string{path})
		defer s.Close()
		for _, r := range recs {
			if r.Kind != KindFrame {
				continue
			}
			got, err := s.Fetch([]Ref{r.Ref})
			if err != nil || !bytes.Equal(got, r.Data) {
				t.Fatalf("seq %d: fetched %q, %v", r.Seq, got, err)
			}
		}
	})
}

// FuzzFrame writes any line as a frame and reads it back.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{"{}\n", "[1,2]\r\n", "\xff", "{\"a\":\"\\ud800\"}\n", " {}\n", "\"\n", "{\"a\":1}x"} {
		f.Add([]byte(s), false, false)
		f.Add([]byte(s), true, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, more, cont bool) {
		if more {
			data = bytes.TrimRight(data, "\n")
		}
		line := appendFrame(nil, &frame{seq: 1, from: Client, data: data, more: more, cont: cont, total: int64(len(data))})
		var rec Record
		if err := decodeLine(line[:len(line)-1], &rec); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if got := append(append([]byte(nil), rec.Data...), rec.EOL...); !bytes.Equal(got, data) {
			t.Fatalf("got %q, want %q: %s", got, data, line)
		}
	})
}
