package serve

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// open loads a recording of fixtures.
func open(t *testing.T, path string) *Tape {
	t.Helper()
	r, err := record.Open(path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tape, err := Load(r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.Close)
	return tape
}

// frames are the lines of a recording, each with who wrote it.
type said struct {
	from record.From
	line []byte
	seq  int64
}

func lines(t *testing.T, path string) []said {
	t.Helper()
	r, err := record.Open(path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []said
	parts := map[record.From][]byte{}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind != record.KindFrame || rec.From == record.Stderr {
			continue
		}
		parts[rec.From] = append(append(parts[rec.From], rec.Data...), rec.EOL...)
		if !rec.More {
			out = append(out, said{rec.From, parts[rec.From], rec.Seq})
			parts[rec.From] = nil
		}
	}
}

// slow is a patience that no machine is too slow for: the recorded client sends all that it had sent.
const slow = time.Minute

// talk plays the recorded client's side to a replay: each line once all that the
// server had sent before it has come, and compares what comes with what was recorded.
func talk(t *testing.T, s *Server, script []said) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.Stdio(inR, outW)
		outW.Close()
		inR.Close()
		done <- err
	}()
	got := bufio.NewReader(outR)
	read := func() ([]byte, error) {
		type res struct {
			b   []byte
			err error
		}
		c := make(chan res, 1)
		go func() {
			b, err := got.ReadBytes('\n')
			c <- res{b, err}
		}()
		select {
		case r := <-c:
			return r.b, r.err
		case <-time.After(time.Minute):
			return nil, fmt.Errorf("nothing comes")
		}
	}
	for i, l := range script {
		if l.from == record.Client {
			if _, err := inW.Write(l.line); err != nil {
				t.Fatalf("line %d: %v", i, err)
			}
			continue
		}
		b, err := read()
		if err != nil || !bytes.Equal(b, l.line) {
			t.Fatalf("seq %d: %v\n got %.300s\nwant %.300s", l.seq, err, b, l.line)
		}
	}
	inW.Close()
	rest, _ := io.ReadAll(got)
	if len(rest) > 0 {
		t.Errorf("more came: %.300s", rest)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The recorded client gets from a replay what it got from the server, byte for byte
// and in the same order.
func TestRecordedClientCannotTell(t *testing.T) {
	all, err := filepath.Glob(filepath.Join(fixtures.Dir(), "recordings", "*.mcp.jsonl.zst"))
	if err != nil || len(all) < 10 {
		t.Fatalf("%d recordings, %v", len(all), err)
	}
	for _, path := range all {
		name := strings.TrimSuffix(filepath.Base(path), record.Suffix)
		t.Run(name, func(t *testing.T) {
			tape := open(t, path)
			s, err := New(tape, Config{Patience: slow})
			if err != nil {
				t.Fatal(err)
			}
			var script []said
			ses := s.Session()
			for _, l := range lines(t, path) {
				if l.seq >= ses.FirstSeq && l.seq <= ses.LastSeq {
					script = append(script, l)
				}
			}
			talk(t, s, script)
			r := s.Report()
			if r.Missed != 0 || len(r.Unused) != 0 || r.OtherReplies != 0 {
				var b strings.Builder
				r.Text(&b)
				t.Error(b.String())
			}
		})
	}
}
