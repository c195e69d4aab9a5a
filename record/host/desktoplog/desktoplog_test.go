package desktoplog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host/desktoplog"
	"github.com/sixlink/sixlink/record/session"
)

const dir = "../../../fixtures/hosts/claude-desktop-log/"

var tool = record.Software{Name: "sixlink", Version: "test"}

func open(t testing.TB, data string) *desktoplog.Log {
	t.Helper()
	l, err := desktoplog.New(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(data)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// made is one recording as the strict reader gives it back.
type made struct {
	ses  *desktoplog.Session
	head record.Header
	recs []*record.Record
}

// short is a record in a few words.
func short(r *record.Record) string {
	switch r.Kind {
	case record.KindFrame:
		if r.More || r.Cont {
			return fmt.Sprintf("%s part of %d bytes", r.From, len(r.Data))
		}
		return fmt.Sprintf("%s %s", r.From, r.Data)
	case record.KindGap:
		n := int64(0)
		for _, s := range r.Gap.Streams {
			n += s.Bytes
		}
		return fmt.Sprintf("gap of %d: %.12s", n, r.Gap.Why)
	case record.KindClose:
		return "close " + r.Close.Who + " " + r.Close.What
	}
	return string(r.Kind)
}

// all makes every recording of a log and reads it back: sealed and whole.
func all(t testing.TB, l *desktoplog.Log) (out []made) {
	t.Helper()
	for _, server := range l.Servers {
		ss, err := l.Sessions(server)
		if err != nil {
			t.Fatal(err)
		}
		defer ss.Close()
		for {
			ses, err := ss.Next()
			if err != nil {
				t.Fatal(err)
			}
			if ses == nil {
				break
			}
			var buf bytes.Buffer
			if err := ss.Write(&buf, ses, tool); err != nil {
				t.Fatal(err)
			}
			out = append(out, readBack(t, ses, buf.Bytes()))
		}
	}
	return out
}

func readBack(t testing.TB, ses *desktoplog.Session, data []byte) made {
	t.Helper()
	name := filepath.Join(t.TempDir(), "r"+record.Suffix)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(name, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := made{ses: ses, head: *r.Header()}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Seq > 0 {
			m.recs = append(m.recs, rec)
		}
	}
	return m
}

func (m *made) told() (out []string) {
	for _, r := range m.recs {
		out = append(out, short(r))
	}
	return out
}

// TestSamples: read by eye, mcp-server-weather.log has five messages up to the
// second tools/list, a call half an hour later, and seven lines of the server's
// own; the object of "Using MCP server command" is the host's print. mcp.log has
// seven messages.
func TestSamples(t *testing.T) {
	for _, tt := range []struct {
		file             string
		messages, stderr int64
		first            string
		call             string
	}{
		{"mcp-server-weather.log", 6, 7, "start", `{"method":"tools/call","params":{"name":"get_alerts","arguments":{"state":"TX"}},"jsonrpc":"2.0","id":18}`},
		{"mcp.log", 7, 0, "gap of 0: imported fro", `{"method":"tools/call","params":{"name":"get_forecast","arguments":{"latitude":38.5816,"longitude":-121.4944}},"jsonrpc":"2.0","id":13}`},
	} {
		l, err := desktoplog.Open(dir + tt.file)
		if err != nil {
			t.Fatal(err)
		}
		ms := all(t, l)
		if len(ms) != 1 || ms[0].ses.Messages != tt.messages || ms[0].ses.Stderr != tt.stderr || ms[0].ses.Lost != 0 {
			t.Fatalf("%s: %d recordings, %+v", tt.file, len(ms), ms[0].ses)
		}
		m := ms[0]
		told := m.told()
		found := false
		for _, s := range told {
			found = found || s == "client "+tt.call
		}
		if told[0] != tt.first || !found || told[len(told)-1] != "gap of 0: the log tell" {
			t.Errorf("%s: %q", tt.file, told)
		}
		if m.head.Labels["server"] != "weather" || m.head.Transport != "stdio" || m.head.DerivedFrom == nil {
			t.Errorf("%s: header %+v", tt.file, m.head)
		}
		// What pends at the log's end is not the server's fault.
		i := 0
		res, err := session.Decode(&m.head, func() (*record.Record, error) {
			if i == len(m.recs) {
				return nil, io.EOF
			}
			i++
			return m.recs[i-1], nil
		}, nil, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := res.Sessions[0]
		if s.Capture.ToolCalls != session.Partial || s.Calls[0].State != session.CallPending {
			t.Errorf("%s: capture %+v, call %+v", tt.file, s.Capture, s.Calls[0])
		}
	}
}

const (
	init0 = `{"method":"initialize","params":{},"jsonrpc":"2.0","id":0}`
	done0 = `{"jsonrpc":"2.0","id":0,"result":{}}`
)

func server(at, name, text string) string {
	return "2025-07-20T13:44:" + at + "Z [" + name + "] [info] " + text + "\n"
}

func TestLogs(t *testing.T) {
	from := func(at, who, msg string) string {
		return server(at, "shop", "Message from "+who+": "+msg+" { metadata: undefined }")
	}
	for _, tt := range []struct {
		name, data string
		want       [][]string
	}{
		{"two processes, the second not announced", server("00.000", "shop", "Initializing server... { metadata: undefined }") + from("01.000", "client", init0) + from("02.000", "server", done0) + from("03.000", "client", init0),
			[][]string{{"start", "gap of 0: imported fro", "client " + init0, "server " + done0, "gap of 0: the log tell"}, {"gap of 0: imported fro", "client " + init0, "gap of 0: the log tell"}}},
		{"a process that never spoke is none", server("00.000", "shop", "Initializing server...") + "boom\n" + server("01.000", "shop", "Initializing server...") + from("02.000", "client", init0),
			[][]string{{"start", "gap of 0: imported fro", "client " + init0, "gap of 0: the log tell"}}},
		{"the server died", from("00.000", "client", init0) + server("01.000", "shop", "Server transport closed unexpectedly, this is likely due to the process exiting early."),
			[][]string{{"gap of 0: imported fro", "client " + init0, "close server stdout", "gap of 0: the log tell"}}},
		{"a message that was cut", from("00.000", "client", init0) + from("01.000", "server", `{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"ab...[100 chars truncated]...yz"}]}}`) + from("02.000", "client", `{"jsonrpc":"2.0","method":"x"}`),
			[][]string{{"gap of 0: imported fro", "client " + init0, "gap of 177: the host's l", `client {"jsonrpc":"2.0","method":"x"}`, "gap of 0: the log tell"}}},
		{"methods and ids alone", from("00.000", "client", init0) + server("01.000", "shop", `Message from client: {"method":"tools/call","id":3}`),
			[][]string{{"gap of 0: imported fro", "client " + init0, "gap of 30: the host's l", "gap of 0: the log tell"}}},
		{"the other order, without what the host prints behind", "2025-07-20T13:44:40.933Z [info] [shop] Message from client: " + init0 + "\r\n",
			[][]string{{"gap of 0: imported fro", "client " + init0, "gap of 0: the log tell"}}},
		{"two servers in one log", from("00.000", "client", init0) + server("01.000", "docs", "Message from client: "+init0) + "output of one of them\n" + from("02.000", "server", done0),
			[][]string{{"gap of 0: imported fro", "client " + init0, "server " + done0, "gap of 0: the log tell"}, {"gap of 0: imported fro", "client " + init0, "gap of 0: the log tell"}}},
		{"output and prints", from("00.000", "client", init0) + server("01.000", "shop", "Using MCP server command: x with args and path: {") + "  metadata: {\n    args: []\n  }\n} %o\n" + "warning: x\n\n" + from("02.000", "server", done0),
			[][]string{{"gap of 0: imported fro", "client " + init0, "stderr warning: x", "stderr ", "server " + done0, "gap of 0: the log tell"}}},
		{"braces and brackets in texts", from("00.000", "client", `{"jsonrpc":"2.0","method":"x","params":{"t":"} { metadata: undefined } ] [ \" "}}`),
			[][]string{{"gap of 0: imported fro", `client {"jsonrpc":"2.0","method":"x","params":{"t":"} { metadata: undefined } ] [ \" "}}`, "gap of 0: the log tell"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got [][]string
			for _, m := range all(t, open(t, tt.data)) {
				got = append(got, m.told())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := desktoplog.New(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello\n")), nil }); !errors.Is(err, desktoplog.ErrNoMessages) {
		t.Errorf("error %v", err)
	}
}

// The same log gives the same bytes, times never go back, and a message of over
// 4 MiB is kept in parts.
func TestBytes(t *testing.T) {
	long := `{"jsonrpc":"2.0","method":"x","params":{"t":"` + strings.Repeat("ü", 3<<20) + `"}}`
	data := server("05.000", "shop", "Message from client: "+init0) + server("01.000", "shop", "Message from server: "+done0) + server("06.500", "shop", "Message from client: "+long)
	a, b := all(t, open(t, data))[0], all(t, open(t, data))[0]
	if a.head.ID != b.head.ID || len(a.head.ID) != 32 || !a.head.Start.Equal(b.head.Start.Time) {
		t.Errorf("ids %s and %s", a.head.ID, b.head.ID)
	}
	var at []int64
	var back []byte
	for _, r := range a.recs {
		at = append(at, r.At)
		if r.More || r.Cont {
			back = append(back, r.Data...)
		}
	}
	if d := cmp.Diff([]int64{0, 0, 0, 15e8, 15e8, 15e8}, at); d != "" || string(back) != long {
		t.Errorf("%s, %d bytes of %d", d, len(back), len(long))
	}
}

// A log that is cut anywhere still gives recordings that are read.
func TestCut(t *testing.T) {
	for _, file := range []string{"mcp-server-weather.log", "mcp.log"} {
		data, err := os.ReadFile(dir + file)
		if err != nil {
			t.Fatal(err)
		}
		for cut := 0; cut <= len(data); cut += 31 {
			l, err := desktoplog.New(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data[:cut])), nil })
			if errors.Is(err, desktoplog.ErrNoMessages) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			all(t, l)
		}
	}
}

// A large log streams: what is held while it is written does not grow with it.
func TestFlatMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 100 MB twice")
	}
	chunk := server("01.000", "shop", "Message from server: "+`{"jsonrpc":"2.0","method":"x","params":{"t":"`+strings.Repeat("y", 10_000)+`"}}`)
	l, err := desktoplog.New(func() (io.ReadCloser, error) {
		rs := []io.Reader{strings.NewReader(server("00.000", "shop", "Message from client: "+init0))}
		for range 10_000 {
			rs = append(rs, strings.NewReader(chunk))
		}
		return io.NopCloser(io.MultiReader(rs...)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ss, err := l.Sessions("shop")
	if err != nil {
		t.Fatal(err)
	}
	defer ss.Close()
	ses, err := ss.Next()
	if err != nil {
		t.Fatal(err)
	}
	peak := &peakWriter{}
	if err := ss.Write(peak, ses, tool); err != nil {
		t.Fatal(err)
	}
	if ses.Messages != 10_001 || peak.most > 64<<20 {
		t.Errorf("%d messages, %d bytes held", ses.Messages, peak.most)
	}
}

// peakWriter looks at the heap now and then.
type peakWriter struct {
	n    int
	most uint64
}

func (p *peakWriter) Write(b []byte) (int, error) {
	if p.n++; p.n%4 == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		p.most = max(p.most, m.HeapAlloc)
	}
	return len(b), nil
}

func FuzzLog(f *testing.F) {
	for _, file := range []string{"mcp-server-weather.log", "mcp.log"} {
		data, err := os.ReadFile(dir + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := desktoplog.New(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		if err != nil {
			return
		}
		for _, m := range all(t, l) {
			for _, r := range m.recs {
				if r.Kind == record.KindGap {
					return
				}
			}
			t.Error("a recording that does not say that it is partial")
		}
	})
}
