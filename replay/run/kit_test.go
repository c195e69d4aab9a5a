package run

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// recorded makes a recording of lines, a millisecond apart: "> {…}" from the client,
// "< {…}" from the server, "+500" lets so many milliseconds pass. A "*" in a client's
// line is a byte of a replaced credential.
func recorded(t *testing.T, text string) *Recording {
	t.Helper()
	r := &fixtures.Recording{Name: "kit", State: record.Sealed, Header: record.Header{ID: "kit", FirstSeq: 1, Transport: "stdio", Command: []string{"server"}}}
	at := int64(0)
	masks := &Masks{}
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		at += 1e6
		switch l[0] {
		case '+':
			var ms int64
			fmt.Sscan(l[1:], &ms)
			at += ms * 1e6
			continue
		case '!': // a gap in what the client sent
			r.Add(record.Record{Kind: record.KindGap, At: at, Gap: &record.Gap{FirstSeq: int64(len(r.Records)) + 1, LastSeq: int64(len(r.Records)) + 1, Why: "disk full",
				Streams: map[record.From]record.GapStream{record.Client: {Bytes: 10, Frames: 1}}}})
		case '>', '<':
			from := record.Client
			if l[0] == '<' {
				from = record.Server
			}
			line := l[2:]
			if line[0] == '{' { // else a batch, as it stands
				line = `{"jsonrpc":"2.0",` + line[1:]
			}
			rec := r.AddLine(from, at, line, "\n")
			if i := strings.IndexByte(line, '*'); i >= 0 && from == record.Client {
				rec.Masked = []record.Mask{{Off: int64(i), Len: int64(strings.Count(line, "*"))}}
			}
			masks.Add(rec)
		default:
			t.Fatalf("line %q", l)
		}
	}
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	return &Recording{ID: "kit", Sessions: res.Sessions, Masked: masks}
}

// opening is how a recorded session begins: the handshake, and a catalog whose tools
// are "get" (read-only), "set" (a write) and "put" (an idempotent write).
const opening = `
> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"kit","version":"1"}}}
< {"id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
> {"method":"notifications/initialized"}
> {"id":1,"method":"tools/list"}
< {"id":1,"result":` + tools + `}
`

const tools = `{"tools":[{"name":"get","inputSchema":{},"annotations":{"readOnlyHint":true}},{"name":"set","inputSchema":{}},{"name":"put","inputSchema":{},"annotations":{"idempotentHint":true,"destructiveHint":false}}]}`

// server is a new server: it answers by what, and keeps what it got.
type server struct {
	got  []got
	what func(s *server, m message) // nil: ok to everything
	out  io.Writer
	list string
	// started is when the session began, by the clock of the test.
	started time.Time
	// leave ends the server.
	leave func()
}

type got struct {
	message
	line string
	at   time.Duration
}

func (s *server) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

func (s *server) result(m message, result string) {
	s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.id, result)
}

// ok answers as the kit's server does when the test says nothing else.
func (s *server) ok(m message) {
	switch {
	case !m.isRequest:
	case m.method == methodInitialize:
		s.result(m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"}}`)
	case m.method == methodTools:
		s.result(m, s.list)
	default:
		s.result(m, `{"content":[{"type":"text","text":"ok"}]}`)
	}
}

// calls are the tools that were called, in order.
func (s *server) calls() string {
	var names []string
	for _, g := range s.got {
		if g.method == methodCall {
			name, _ := getText(g.params, "name")
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// methods are the methods of what it got.
func (s *server) methods() string {
	var names []string
	for _, g := range s.got {
		names = append(names, g.method)
	}
	return strings.Join(names, " ")
}

// last is the params of the latest request of a method.
func (s *server) last(method string) string {
	p := ""
	for _, g := range s.got {
		if g.method == method {
			p = string(g.params)
		}
	}
	return p
}

// open connects with the server.
func (s *server) open(ctx context.Context, _ string) (*Link, error) {
	if s.list == "" {
		s.list = tools
	}
	s.started = time.Now()
	in, input := io.Pipe()
	output, out := io.Pipe()
	s.out = out
	s.leave = func() { out.Close(); in.Close() }
	done := make(chan struct{})
	l := &lines{link: &Link{Reader: in}, in: make(chan message, 1000), stop: make(chan struct{})}
	go l.read()
	go func() {
		defer close(done)
		defer out.Close()
		for m := range l.in {
			s.got = append(s.got, got{m, "", time.Since(s.started)})
			if s.what != nil {
				s.what(s, m)
			} else {
				s.ok(m)
			}
		}
	}()
	return &Link{Reader: output, Writer: input, Close: func() string {
		input.Close()
		output.Close()
		<-done
		return ""
	}}, nil
}

// ran drives a recording against the server.
func ran(t *testing.T, rec string, opts Options, s *server) *Report {
	t.Helper()
	p, err := NewPlan(recorded(t, rec), opts)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(context.Background(), s.open)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// states are the tool calls of a report with what became of them.
func states(r *Report) string {
	var all []string
	for _, s := range r.Steps {
		if s.Method != methodCall {
			continue
		}
		word := s.Tool + ":" + s.State
		if s.Rule != "" {
			word += ":" + s.Rule
		}
		if s.Tainted {
			word += ":tainted"
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

func call(id int, tool, args string) string {
	return fmt.Sprintf(`
> {"id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func answerTo(id int, result string) string {
	return fmt.Sprintf(`
< {"id":%d,"result":%s}`, id, result)
}

func both(id int, tool, args, result string) string {
	return call(id, tool, args) + answerTo(id, result)
}
