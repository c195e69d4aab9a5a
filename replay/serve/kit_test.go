package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/replay/key"
)

// source is a recording of fixtures, as a reader.
type source struct {
	r    *fixtures.Recording
	next func() (*record.Record, error)
}

func (s *source) Header() *record.Header { return &s.r.Header }
func (s *source) Next() (*record.Record, error) {
	if s.next == nil {
		s.next = s.r.Next()
	}
	return s.next()
}
func (s *source) End() record.End {
	st, torn := s.r.End()
	return record.End{State: st, Torn: torn}
}

func load(t testing.TB, r *fixtures.Recording, err error) *Tape {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	tape, err := Load(&source{r: r}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.Close)
	return tape
}

func server(t testing.TB, tape *Tape, cfg Config) *Server {
	t.Helper()
	s, err := New(tape, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// script is a stdio recording in short: lines that begin with > are the client's, with
// < the server's; "jsonrpc" is put into objects. "exit" is the server's end, "torn" and
// "gap" say so.
func script(text string) *fixtures.Recording {
	r := &fixtures.Recording{Name: "script", State: record.Sealed, Header: record.Header{ID: "script", FirstSeq: 1, Transport: "stdio"}}
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		l = strings.TrimSpace(l)
		at := int64(i+1) * 1e6
		switch {
		case l == "":
		case l == "exit":
			code := 1
			r.Add(record.Record{Kind: record.KindClose, At: at, Close: &record.Close{Who: record.ByServer, What: record.Stdout}})
			r.Add(record.Record{Kind: record.KindExit, At: at, Exit: &record.Exit{Code: &code}})
		case l == "torn":
			r.State = record.Torn
		case l == "gap":
			seq := int64(len(r.Records)) + 1
			r.Add(record.Record{Kind: record.KindGap, At: at, Gap: &record.Gap{FirstSeq: seq, LastSeq: seq, Why: "disk full", Streams: map[record.From]record.GapStream{record.Server: {Bytes: 10, Frames: 1}}}})
		default:
			from, body := record.Client, strings.TrimSpace(l[1:])
			if l[0] == '<' {
				from = record.Server
			}
			if body[0] == '{' {
				body = `{"jsonrpc":"2.0",` + body[1:]
			}
			r.AddLine(from, at, body, "\n")
		}
	}
	return r
}

const shake = `
> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case-host","version":"1"}}}
< {"id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
> {"method":"notifications/initialized"}
`

// ask sends lines and then the client's end, and returns what came.
func ask(t *testing.T, s *Server, lines ...string) []string {
	t.Helper()
	var out bytes.Buffer
	var in strings.Builder
	for _, l := range lines {
		if strings.HasPrefix(l, "{") {
			l = `{"jsonrpc":"2.0",` + l[1:]
		}
		in.WriteString(l + "\n")
	}
	if err := s.Stdio(strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(out.String(), "\n")
	return got[:len(got)-1]
}

// textOf is what the cases' asserts call the text of an answer.
func textOf(t *testing.T, line string) (id, text string) {
	t.Helper()
	var m struct {
		ID     json.RawMessage
		Error  *struct{ Message string }
		Result json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	var r struct{ Content []struct{ Text string } }
	json.Unmarshal(m.Result, &r)
	switch {
	case m.Error != nil:
		text = "error"
	case len(r.Content) > 0:
		text = r.Content[0].Text
	default:
		text = string(m.Result)
	}
	return strings.Trim(string(m.ID), `"`), text
}

// replayed sends a case's replay.c2s.jsonl and returns texts and lines by id.
func replayed(t *testing.T, name string, cfg Config) (*Server, map[string]string, map[string]string) {
	t.Helper()
	r, err := fixtures.Case(name, "input.jsonl")
	s := server(t, load(t, r, err), cfg)
	b, err := fixtures.ReadFile("cases", name, "replay.c2s.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		var d struct{ Frame string }
		if err := json.Unmarshal(l, &d); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, " "+d.Frame)
	}
	texts, raw := map[string]string{}, map[string]string{}
	for _, l := range ask(t, s, lines...) {
		id, text := textOf(t, l)
		texts[id], raw[id] = text, l
	}
	return s, texts, raw
}

func pointers(t *testing.T, all ...string) []key.Pointer {
	t.Helper()
	ps, err := key.ParsePointers(all)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func rules(t *testing.T, ignore ...string) key.Rules {
	t.Helper()
	return key.Rules{Ignore: pointers(t, ignore...)}
}
