package record

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sealedFile is a small sealed recording.
func sealedFile(t *testing.T, frames, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r"+Suffix)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	i, off := 0, int64(0)
	err = WriteSealed(f, Header{Format: [2]int{FormatMajor, FormatMinor}, ID: "id-1", FirstSeq: 1, Transport: "stdio", Level: LevelFull}, func() (*Record, error) {
		if i == frames {
			return nil, io.EOF
		}
		i++
		data := fmt.Appendf(nil, `{"n":%d,"p":%q}`, i, strings.Repeat("x", size))
		r := &Record{Kind: KindFrame, Seq: int64(i), At: int64(i) * 1000, From: Client, Off: off, Data: data, EOL: []byte("\n"), Len: int64(len(data))}
		off += r.Len + 1
		return r, nil
	})
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What is attached comes out again byte for byte, lines over every bound included,
// behind records that are as they were.
func TestAttach(t *testing.T) {
	path := sealedFile(t, 3, 0)
	wide := `{"kind":"turn","text":"` + strings.Repeat("é\u2028\"\\\"", 900_000) + `"}`
	lines := "{\"kind\":\"conversation\",\"n\":9007199254740993}\n" + strings.ReplaceAll(wide, `"\"`, `\"`) + "\n{\"a\":[]}\n"
	if len(lines) < maxAttached {
		t.Fatalf("%d bytes are no long line", len(lines))
	}
	out := filepath.Join(filepath.Dir(path), "out"+Suffix)
	done, err := Attach(path, out, "test", []byte(lines), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(out, Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var talk Conversation
	var kinds []string
	last := int64(0)
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		talk.Add(rec)
		if rec.Seq > 0 {
			if rec.Seq != last+1 {
				t.Errorf("seq %d follows %d", rec.Seq, last)
			}
			last = rec.Seq
		}
		if rec.Kind == KindConversation && rec.At != 3000 {
			t.Errorf("at %d", rec.At)
		}
		if n := len(kinds); n == 0 || kinds[n-1] != string(rec.Kind) {
			kinds = append(kinds, string(rec.Kind))
		}
	}
	got, err := talk.Lines()
	if err != nil || !bytes.Equal(got, []byte(lines)) {
		t.Errorf("%d bytes came back of %d, %v", len(got), len(lines), err)
	}
	if s := strings.Join(kinds, " "); s != "header frame conversation closing" {
		t.Error(s)
	}
	end := r.End()
	if end.State != Sealed || end.Damage != nil || len(end.Unknown) != 0 || done.Torn || done.Records != last {
		t.Errorf("%+v %+v", end, done)
	}
	if h := r.Header(); h.ID != "id-1" || h.DerivedFrom == nil || h.DerivedFrom.Tool != "test" {
		t.Errorf("%+v", h)
	}
	if _, err := Attach(path, out, "test", []byte(lines), Options{}); err == nil {
		t.Error("it overwrote a file")
	}
	if _, err := Attach(path, path, "test", []byte(lines), Options{}); err == nil {
		t.Error("it overwrote its input")
	}
}

// A recording that was torn says so after, too; lines that are no JSON leave no file.
func TestAttachTornAndBad(t *testing.T) {
	path := sealedFile(t, 60, 200_000) // several zstd frames
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn"+Suffix)
	if err := os.WriteFile(torn, b[:len(b)-8], 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(filepath.Dir(torn), "out"+Suffix)
	done, err := Attach(torn, out, "test", []byte("{}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if end := r.End(); !done.Torn || !end.Torn || end.State != Sealed || end.Records < 20 {
		t.Errorf("it is not torn any more: %+v %+v", done, end)
	}
	for _, bad := range []string{"no json\n", "{\"a\":\n", "{\"a\":\"\xff\"}\n"} {
		out := filepath.Join(t.TempDir(), "bad"+Suffix)
		if _, err := Attach(path, out, "test", []byte(bad), Options{}); err == nil {
			t.Errorf("%q was attached", bad)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%q left a file", bad)
		}
	}
}

// Too much is refused, and never read into memory.
func TestAttachedTooMuch(t *testing.T) {
	var c Conversation
	part := strings.Repeat("x", 1<<20)
	for range maxConversation>>20 + 1 {
		c.Add(&Record{Kind: KindConversation, Attached: &Attached{Part: part, More: true}})
	}
	if _, err := c.Lines(); err == nil || c.lines.Len() != 0 {
		t.Errorf("%v, %d bytes held", err, c.lines.Len())
	}
}
