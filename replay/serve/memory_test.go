package serve

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record"
)

// many is a recording of n calls with answers of size bytes, made as it is read.
type many struct {
	n, size, i int
}

func (m *many) Header() *record.Header {
	return &record.Header{ID: "many", FirstSeq: 1, Transport: "stdio"}
}
func (m *many) End() record.End { return record.End{State: record.Sealed} }

func (m *many) Next() (*record.Record, error) {
	if m.i == 2*m.n {
		return nil, io.EOF
	}
	m.i++
	k := (m.i + 1) / 2
	from, text := record.Client, manyCall(k)
	if m.i%2 == 0 {
		from, text = record.Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, k, strings.Repeat("x", m.size))
	}
	return &record.Record{Kind: record.KindFrame, Seq: int64(m.i), At: int64(m.i), From: from, Form: record.FormMessage, Data: []byte(text), EOL: []byte("\n"), Len: int64(len(text))}, nil
}

func manyCall(k int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d","arguments":{"n":%d}}}`, k, k%5, k)
}

// What a tape takes grows with the number of messages, by at most 1 KiB a call, and not
// with their size.
func TestMemoryIsFlat(t *testing.T) {
	const calls = 10_000
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	tape, err := Load(&many{n: calls, size: 4 << 10}, Options{}) // 40 MB
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Close()
	s := server(t, tape, Config{})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		s.Stdio(inR, outW)
		outW.Close()
	}()
	out := bufio.NewReaderSize(outR, 64<<10)
	for k := 1; k <= calls; k++ {
		io.WriteString(inW, manyCall(k)+"\n")
		l, err := out.ReadSlice('\n')
		if err != nil || len(l) < 4<<10 {
			t.Fatal(k, err)
		}
	}
	took := heap() - before - spoolMemory
	inW.Close()
	t.Logf("%d bytes a call", took/calls)
	if took > 1<<10*calls {
		t.Errorf("%d calls take %d KiB beside the spool", calls, took>>10)
	}
	if r := s.Report(); r.Answered != calls || r.Missed != 0 {
		t.Errorf("%+v", r)
	}
}

// Calls a second through one client that asks one by one, over in-memory pipes.
func BenchmarkServeStdio(b *testing.B) {
	tape, err := Load(&many{n: 10_000, size: 1 << 10}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer tape.Close()
	s := server(b, tape, Config{Repeat: true})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		s.Stdio(inR, outW)
		outW.Close()
	}()
	out := bufio.NewReaderSize(outR, 64<<10)
	for i := 0; b.Loop(); i++ {
		io.WriteString(inW, manyCall(i%10_000+1)+"\n")
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	inW.Close()
}
