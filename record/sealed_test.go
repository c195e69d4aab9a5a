package record

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is written reads back as it was, sealed and with a hash that fits, over
// several zstd frames and every form of a frame.
func TestWriteSealed(t *testing.T) {
	code := 3
	var want []*Record
	offs := map[From]int64{}
	add := func(rec Record) {
		rec.Seq, rec.At = int64(len(want)+1), int64(len(want))*1000
		if rec.Kind == KindFrame {
			rec.Off = offs[rec.From]
			offs[rec.From] += int64(len(rec.Data) + len(rec.EOL))
		}
		want = append(want, &rec)
	}
	add(Record{Kind: KindStart, Start: &Start{PID: 7}})
	for i := range 9 {
		big := bytes.Repeat([]byte("x"), 1<<20+i)
		add(Record{Kind: KindFrame, From: Client, Form: FormMessage, Data: []byte(`{"a":[1,"b"]}`), EOL: []byte("\n"), Len: 13})
		add(Record{Kind: KindFrame, From: Server, Form: FormText, Data: big, EOL: []byte(" \r\n"), Len: int64(len(big))})
		add(Record{Kind: KindFrame, From: Stderr, Form: FormRaw, Data: []byte("\xff\xfe"), EOL: []byte("\n"), Len: 2})
	}
	add(Record{Kind: KindExit, Exit: &Exit{Code: &code}})

	path := filepath.Join(t.TempDir(), "r"+Suffix)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	head := Header{Format: [2]int{FormatMajor, FormatMinor}, ID: "id", FirstSeq: 1, Start: Time{time.Unix(0, 0).UTC()}, Transport: "stdio", Level: LevelFull}
	i := 0
	err = WriteSealed(f, head, func() (*Record, error) {
		if i == len(want) {
			return nil, io.EOF
		}
		i++
		return want[i-1], nil
	})
	if err2 := f.Close(); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	r, err := Open(path, Options{Verify: true, Decoders: &Decoders{}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	store := NewStore(r.Files())
	defer store.Close()
	var got []*Record
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Seq == 0 {
			continue
		}
		again, err := store.Record(rec.Ref)
		if err != nil || !bytes.Equal(again.Data, rec.Data) {
			t.Fatalf("record %d reads otherwise by its ref: %v", rec.Seq, err)
		}
		rec.Line, rec.Ref = nil, Ref{}
		got = append(got, rec)
	}
	if e := r.End(); e.State != Sealed || e.Damage != nil {
		t.Fatalf("%s, damage %v", e.State, e.Damage)
	}
	bytesOf := func(rs []*Record) map[From][]byte {
		m := map[From][]byte{}
		for _, r := range rs {
			m[r.From] = append(append(m[r.From], r.Data...), r.EOL...)
		}
		return m
	}
	if len(got) != len(want) || !maps.EqualFunc(bytesOf(got), bytesOf(want), bytes.Equal) {
		t.Errorf("%d records with other bytes, want %d", len(got), len(want))
	}
	if got[1].Form != FormMessage || got[2].Form != FormText || got[3].Form != FormRaw || *got[len(got)-1].Exit.Code != 3 {
		t.Error("records read otherwise")
	}
}

// A store that took the reader's frame over reads the same lines as one that unpacks.
func TestStoreKeepsTheReadersFrame(t *testing.T) {
	for _, lines := range []int{1, 50, 20_000} { // one arena, and many
		path := filepath.Join(t.TempDir(), "r"+Suffix)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = WriteSealed(f, Header{Format: [2]int{FormatMajor, FormatMinor}, ID: "id", FirstSeq: 1, Level: LevelFull}, func() (*Record, error) {
			if n == lines {
				return nil, io.EOF
			}
			n++
			return &Record{Kind: KindFrame, Seq: int64(n), From: Stderr, Off: int64(n-1) * 5, Data: []byte("line"), EOL: []byte("\n")}, nil
		})
		if err2 := f.Close(); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		r, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var refs []Ref
		var want [][]byte
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			refs, want = append(refs, rec.Ref), append(want, rec.Line)
		}
		s := NewStore(r.Files())
		s.Keep(r)
		r.Close()
		if kept := len(s.frames) == 1; kept != (lines <= 50) {
			t.Errorf("%d lines: kept %v", lines, kept)
		}
		for i, ref := range refs {
			if line, err := s.line(ref); err != nil || !bytes.Equal(line, want[i]) {
				t.Fatalf("%d lines: line %d is %q (%v), want %q", lines, i, line, err, want[i])
			}
		}
		s.Close()
	}
}

// Readers that share their memory, and use one record again and again, read what
// others read: one after the other, and two at once.
func TestReadersShareMemory(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, lines := range []int{1, 3000, 40, 30_000, 2} {
		path := filepath.Join(dir, fmt.Sprintf("r%d%s", i, Suffix))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		n, off := 0, int64(0)
		err = WriteSealed(f, Header{Format: [2]int{FormatMajor, FormatMinor}, ID: path, FirstSeq: 1, Level: LevelFull}, func() (*Record, error) {
			if n == lines {
				return nil, io.EOF
			}
			n++
			data := fmt.Appendf(nil, `{"recording":%d,"line":%d}`, i, n)
			off += int64(len(data) + 1)
			return &Record{Kind: KindFrame, Seq: int64(n), From: Server, Off: off - int64(len(data)+1), Data: data, EOL: []byte("\n")}, nil
		})
		if err2 := f.Close(); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		paths = append(paths, path)
	}
	// read also compares what the slices of all records hold at the end.
	read := func(o Options, path string, while func()) (all []string) {
		r, err := Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var data [][]byte
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Kind == KindFrame {
				all, data = append(all, string(rec.Data)), append(data, rec.Data)
			}
		}
		while()
		for i := range data {
			if string(data[i]) != all[i] {
				t.Fatalf("%s: record %d became %q", path, i, data[i])
			}
		}
		return all
	}
	o := Options{Decoders: &Decoders{}, Reuse: true}
	for i, path := range paths {
		var other []string
		got := read(o, path, func() { other = read(o, paths[(i+1)%len(paths)], func() {}) })
		if !cmp.Equal(got, read(Options{}, path, func() {})) || !cmp.Equal(other, read(Options{}, paths[(i+1)%len(paths)], func() {})) {
			t.Errorf("%s reads otherwise", path)
		}
	}
}
