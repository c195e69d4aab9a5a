package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

// walked is a frame as the walk gave it.
type walked struct {
	typ   frameType
	magic uint32
	at    int64  // where it begins
	body  []byte // what was read of it; of a skippable frame what stands behind its length
}

// head is how many bytes of the frame are not in its body.
func (w *walked) head() int64 {
	if w.typ == skipFrame {
		return 8
	}
	return 0
}

func (w *walked) end() int64 { return w.at + w.head() + int64(len(w.body)) }

// walk reads all frames of r, step bytes at a time, and returns how far it came.
// The last frame may have been read in part, when err is not io.EOF.
func walk(t *testing.T, r io.Reader, at int64, step int) (frames []walked, off int64, err error) {
	t.Helper()
	z := newZframes(r, at, 1<<20)
	p := make([]byte, step)
	for {
		w := walked{at: z.off}
		var body io.Reader
		if w.typ, w.magic, body, err = z.next(); err != nil {
			return frames, z.off, err
		}
		for idle := 0; err == nil; {
			var n int
			if n, err = body.Read(p); n < 0 || n > len(p) {
				t.Fatalf("read %d bytes into %d", n, len(p))
			} else if n > 0 {
				idle = 0
			} else if idle++; err == nil && idle > 100 {
				t.Fatal("reads nothing and says nothing")
			}
			w.body = append(w.body, p[:n]...)
		}
		frames = append(frames, w)
		if err != io.EOF {
			return frames, z.off, err
		}
		if n, err := body.Read(p); n != 0 || err != io.EOF {
			t.Fatalf("behind its end the frame at %d gives %d bytes, %v", w.at, n, err)
		}
	}
}

func sameWalk(a, b walked) bool {
	return a.typ == b.typ && a.magic == b.magic && a.at == b.at && bytes.Equal(a.body, b.body)
}

// FuzzFrames walks over any bytes as zstd frames. cut is where a prefix ends, step
// how much is read at a time.
func FuzzFrames(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join("..", "fixtures", "recordings", "*"+Suffix))
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil && len(b) < 4<<10 {
			f.Add(b, uint16(len(b)/2), uint8(7))
		}
	}
	run := bytes.Join(sealRun(nil, beginRun(nil), nil, runHead), nil)
	skip := func(magic uint32, size int, body []byte) []byte {
		return append(le.AppendUint32(le.AppendUint32(nil, magic), uint32(size)), body...)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	defer enc.Close()
	packed := func(text string) []byte { return enc.EncodeAll([]byte(text), nil) }
	for _, b := range [][]byte{
		nil,
		packed("a line\n"),
		slices.Concat(packed("one\n"), skip(skipMagic+3, 5, []byte("hello")), skip(runMagic, len(run), run), packed("two\n")),
		packed(string(bytes.Repeat([]byte("all the same\n"), 30000))), // blocks of the repeating type
		skip(skipMagic, 0, nil),
		skip(skipMagic+15, 1<<32-1, []byte("a length that is not there")),
		{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 7, 0, 0},       // a block of the reserved type
		{0x28, 0xb5, 0x2f, 0xfd, 0x21, 1, 0, 1, 0, 0},    // a dictionary
		{0x28, 0xb5, 0x2f, 0xfd, 0xe4, 1, 1, 0, 0, 0, 0}, // all header fields, cut
		[]byte("{\"kind\":\"header\"}\n"),
		{0x50}, {0x50, 0x2a, 0x4d}, {0x50, 0x2b}, {0x28, 0xb5}, {0x28, 0x2a},
	} {
		f.Add(b, uint16(len(b)*2/3), uint8(len(b)))
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(1<<20))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(dec.Close)
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, step uint8) {
		frames, off, err := walk(t, bytes.NewReader(data), 0, 1+int(step))

		// What is given tiles the input: no byte is made up, left out or given twice.
		at := int64(0)
		for i, w := range frames {
			if w.at != at || w.end() > int64(len(data)) || !bytes.Equal(w.body, data[w.at+w.head():w.end()]) {
				t.Fatalf("frame %d, at %d: is none of the bytes from %d on", i, w.at, at)
			}
			if magic := binary.LittleEndian.Uint32(data[at:]); w.magic != magic {
				t.Fatalf("frame %d: magic %x, want %x", i, w.magic, magic)
			}
			at = w.end()
		}
		switch {
		case off > int64(len(data)):
			t.Fatalf("at byte %d of %d", off, len(data))
		case err == io.EOF && (at != int64(len(data)) || off != at):
			t.Fatalf("ends at %d, its frames at %d, the data at %d", off, at, len(data))
		case err == io.ErrUnexpectedEOF && off != int64(len(data)):
			t.Fatalf("cut off at %d, the data ends at %d", off, len(data))
		}

		// How the bytes come makes no difference: one by one, or the last with the
		// end; nor does beginning at a frame, as a store does.
		for name, r := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
			"end and data": iotest.DataErrReader(bytes.NewReader(data)),
		} {
			again, off2, err2 := walk(t, r, 0, 1+len(data))
			if !slices.EqualFunc(frames, again, sameWalk) || off2 != off || !sameError(err, err2) {
				t.Fatalf("%s: %d frames to %d, %v; else %d to %d, %v", name, len(again), off2, err2, len(frames), off, err)
			}
		}
		if n := len(frames); n > 1 {
			from := frames[n/2].at
			again, off2, err2 := walk(t, bytes.NewReader(data[from:]), from, 1+int(step))
			if !slices.EqualFunc(frames[n/2:], again, sameWalk) || off2 != off || !sameError(err, err2) {
				t.Fatalf("from %d: %d frames to %d, %v", from, len(again), off2, err2)
			}
		}

		// A prefix gives a prefix, and is cut off unless it is wrong already.
		n := int(cut) % (len(data) + 1)
		part, off2, err2 := walk(t, bytes.NewReader(data[:n]), 0, 1+int(step))
		if len(part) > len(frames) {
			t.Fatalf("%d frames in %d bytes, %d in all", len(part), n, len(frames))
		}
		for i, w := range part {
			whole := frames[i]
			if i == len(part)-1 && err2 != io.EOF && len(w.body) < len(whole.body) {
				whole.body = whole.body[:len(w.body)]
			}
			if !sameWalk(whole, w) {
				t.Fatalf("cut at %d: frame %d is another", n, i)
			}
		}
		if cut := err2 == io.EOF || err2 == io.ErrUnexpectedEOF; cut && off2 != int64(n) || !cut && (!sameError(err, err2) || off2 > off) {
			t.Fatalf("cut at %d: %v at %d, uncut %v at %d", n, err2, off2, err, off)
		}

		// What a decoder accepts as a whole is walked to the end, and its frames one
		// by one hold the same.
		if text, derr := dec.DecodeAll(data, nil); derr == nil && len(data) > 0 {
			if err != io.EOF {
				if errors.Is(err, errDictionary) {
					return // decoders let a dictionary id of 0 pass
				}
				t.Fatalf("a decoder reads all of it, the walk says %v", err)
			}
			var joined []byte
			for _, w := range frames {
				if w.typ == zstdFrame {
					if joined, derr = dec.DecodeAll(w.body, joined); derr != nil {
						t.Fatalf("frame at %d: %v", w.at, derr)
					}
				}
			}
			if !bytes.Equal(text, joined) {
				t.Fatalf("%d bytes frame by frame, %d at once", len(joined), len(text))
			}
		}
	})
}

func sameError(a, b error) bool { return a == b || a != nil && b != nil && a.Error() == b.Error() }
