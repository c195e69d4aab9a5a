package coding

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

type flusher interface {
	io.WriteCloser
	Flush() error
}

func packer(coding string, w io.Writer) flusher {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewWriter(w)
	case "br":
		return brotli.NewWriter(w)
	case "zstd":
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		return z
	case "raw deflate":
		z, _ := flate.NewWriter(w, 5)
		return z
	}
	return zlib.NewWriter(w)
}

func pack(t testing.TB, coding, s string) []byte {
	var b bytes.Buffer
	w := packer(coding, &b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpack(d *Decoder, b []byte, step int) (string, error) {
	defer d.Close()
	var out strings.Builder
	for {
		n := min(step, len(b))
		if err := d.Feed(b[:n], n == len(b), func(p []byte) { out.Write(p) }); err != nil || n == len(b) {
			return out.String(), err
		}
		b = b[n:]
	}
}

var codings = []string{"gzip", "x-gzip", "deflate", "raw deflate", "br", "zstd"}

func field(coding string) []string { return []string{strings.TrimPrefix(coding, "raw ")} }

func TestCodings(t *testing.T) {
	text := strings.Repeat(`{"jsonrpc":"2.0","id":1,"result":{}}`, 5000)
	for _, c := range codings {
		for _, step := range []int{1, 7, 1 << 20} {
			d, err := New(field(c), 0)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := unpack(d, pack(t, c, text), step); got != text || err != nil {
				t.Errorf("%s by %d: %d bytes, %v", c, step, len(got), err)
			}
		}
	}
	d, err := New([]string{"gzip", " BR , identity"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unpack(d, pack(t, "br", string(pack(t, "gzip", text))), 100); got != text || err != nil {
		t.Errorf("two codings: %d bytes, %v", len(got), err)
	}
}

// What a flush completes comes out with its piece: events of a packed stream are
// not held back until its end.
func TestFlushedPieces(t *testing.T) {
	for _, c := range codings {
		var b bytes.Buffer
		w := packer(c, &b)
		d, err := New(field(c), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"data: one\n\n", "data: two\n\n", "data: three\n\n"} {
			io.WriteString(w, s)
			w.Flush()
			var got strings.Builder
			if err := d.Feed(b.Bytes(), false, func(p []byte) { got.Write(p) }); err != nil || got.String() != s {
				t.Errorf("%s: %q, %v, want %q", c, got.String(), err, s)
			}
			b.Reset()
		}
		d.Close()
	}
}

func TestFaults(t *testing.T) {
	text := strings.Repeat("x", 10000)
	for _, c := range codings {
		d, _ := New(field(c), 0)
		b := pack(t, c, text)
		if _, err := unpack(d, b[:len(b)/2], 100); err == nil {
			t.Errorf("%s: cut off, and no error", c)
		}
		d, _ = New(field(c), 0)
		if _, err := unpack(d, []byte(`{"jsonrpc":"2.0"}`), 100); err == nil {
			t.Errorf("%s: plain text, and no error", c)
		}
		d, _ = New(field(c), 9999)
		if got, err := unpack(d, b, 100); !errors.Is(err, ErrTooLong) || len(got) > 9999 {
			t.Errorf("%s: %d bytes, %v", c, len(got), err)
		}
		d, _ = New(field(c), 0)
		d.Close() // before anything came
	}
	for _, fields := range [][]string{{"compress"}, {"gzip, gzip", "gzip,gzip, gzip"}} {
		if d, err := New(fields, 0); err == nil || d != nil {
			t.Errorf("%q: no error", fields)
		}
	}
	if d, err := New([]string{"identity", ""}, 0); d != nil || err != nil {
		t.Errorf("identity: %v, %v", d, err)
	}
}

// FuzzDecoder: whatever comes, the result is bounded, the same whatever the pieces
// are, and never a panic.
func FuzzDecoder(f *testing.F) {
	for i, c := range codings {
		f.Add(uint8(i), pack(f, c, "hello hello hello"), uint8(3))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte, step uint8) {
		const limit = 1 << 20
		c := field(codings[int(which)%len(codings)])
		d1, _ := New(c, limit)
		one, err1 := unpack(d1, b, len(b)+1)
		d2, _ := New(c, limit)
		two, err2 := unpack(d2, b, int(step)+1)
		if len(one) > limit || len(two) > limit {
			t.Fatalf("%d and %d bytes", len(one), len(two))
		}
		if (err1 == nil) != (err2 == nil) || err1 == nil && one != two {
			t.Fatalf("%q (%v) at once, %q (%v) in pieces", one, err1, two, err2)
		}
	})
}

// What is whole comes out before the body's end is known.
func TestTheEndIsNotWaitedFor(t *testing.T) {
	for _, c := range []string{"gzip", "deflate", "br", "zstd"} {
		d, _ := New(field(c), 0)
		var got strings.Builder
		out := func(p []byte) { got.Write(p) }
		if err := d.Feed(pack(t, c, "hello"), false, out); err != nil || got.String() != "hello" {
			t.Errorf("%s: %q, %v", c, got.String(), err)
		}
		if err := d.Feed(nil, true, out); err != nil {
			t.Errorf("%s: %v", c, err)
		}
		d.Close()
	}
	d, _ := New([]string{"gzip"}, 0)
	if got, err := unpack(d, append(pack(t, "gzip", "one"), pack(t, "gzip", "two")...), 3); got != "onetwo" || err != nil {
		t.Errorf("two members: %q, %v", got, err)
	}
}
