package triage_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// play is what a recording of these tests holds: one stdio session with a server.
type play struct {
	id, server string
	tools      string // JSON of tools/list's result; empty: {"tools": []}
	listFails  bool
	unanswered bool // the server never answers initialize
	calls      []call
}

// call is one tools/call. result is JSON of the answer's result, fault of its error; with
// neither the server does not answer and the host gives up.
type call struct {
	tool, args, result, fault string
	ms                        int64
}

func text(s string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, s) }
func wrong(s string) string {
	return fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":%q}]}`, s)
}

// recording decodes the play as a recording of its messages would be.
func (p play) recording() *report.Recording {
	if p.id == "" {
		p.id = "r1"
	}
	if p.server == "" {
		p.server = "shop"
	}
	hdr := &record.Header{Format: [2]int{1, 0}, ID: p.id, Start: record.Time{Time: time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)}, Transport: "stdio",
		Level: record.LevelFull, Recorder: record.Software{Name: "sixlink", Version: "test"}, Command: []string{p.server}}
	d := session.NewDecoder(hdr, nil, session.Options{})
	var seq, at int64
	add := func(from record.From, format string, args ...any) {
		seq++
		at += int64(time.Millisecond)
		data := fmt.Appendf(nil, format, args...)
		d.Add(&record.Record{Kind: record.KindFrame, Seq: seq, At: at, From: from, Form: record.FormMessage, Data: data, EOL: []byte("\n"), Len: int64(len(data))})
	}
	add(record.Client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}`)
	if p.unanswered {
		add(record.Server, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no database"}}`)
	} else {
		add(record.Server, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":%q,"version":"2"}}}`, p.server)
		add(record.Client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		add(record.Client, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
		switch {
		case p.listFails:
			add(record.Server, `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no tools today"}}`)
		case p.tools == "":
			add(record.Server, `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`)
		default:
			add(record.Server, `{"jsonrpc":"2.0","id":2,"result":%s}`, p.tools)
		}
	}
	for i, c := range p.calls {
		args := c.args
		if args == "" {
			args = "{}"
		}
		add(record.Client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i+3, c.tool, args)
		at += c.ms * int64(time.Millisecond)
		switch {
		case c.result != "":
			add(record.Server, `{"jsonrpc":"2.0","id":%d,"result":%s}`, i+3, c.result)
		case c.fault != "":
			add(record.Server, `{"jsonrpc":"2.0","id":%d,"error":%s}`, i+3, c.fault)
		default:
			add(record.Client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"request timed out"}}`, i+3)
		}
	}
	res := d.Finish(record.Sealed, false)
	return &report.Recording{Path: p.id + ".mcp.jsonl.zst", Header: hdr, End: record.End{State: record.Sealed, Records: seq}, Sessions: res.Sessions, Clock: res.Clock}
}

// shelf is a source of recordings.
type shelf map[string]*report.Recording

func (s shelf) Recording(id string) (*report.Recording, func(), error) { return s[id], nil, nil }

// graded grades plays by checks, each in YAML's flow style, all of them sessions of one
// case. final is the last message of the transcript, which is joined where it is not
// empty; edit changes the verdict's JSON, for what plays cannot show.
func graded(t testing.TB, checks []string, final string, edit func(string) string, plays ...play) (*report.Verdict, shelf) {
	t.Helper()
	yaml := "schemaVersion: sixlink/1\nsuite: {id: test, name: Test}\ncases:\n  - id: case\n    title: A case\n    assertions:\n"
	for _, c := range checks {
		yaml += "      - " + c + "\n"
	}
	s, err := grade.LoadSuite("suite.yaml", []byte(yaml), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grade.NewGrader(s, grade.Options{Case: "case"})
	if err != nil {
		t.Fatal(err)
	}
	src := shelf{}
	for _, p := range plays {
		r := p.recording()
		src[r.Header.ID] = r
		in := &grade.Recording{ID: r.Header.ID, Path: r.Path, Sessions: r.Sessions, Clock: r.Clock}
		if final != "" {
			in.Talks = map[string]*predicate.Conversation{"s1": {FinalTextState: session.Complete, TurnsState: session.Complete, UsageState: session.Complete,
				FinalText: final, HasFinalText: true, TurnCount: 1, TurnCountKnown: true, Usage: &predicate.Usage{Input: 90, Output: 10, Total: 100},
				Turns: []predicate.Turn{{Prompt: "go", FinalText: final, HasFinalText: true, Finished: true}}}}
		}
		g.Add(in)
	}
	v, err := g.Verdict()
	if err != nil {
		t.Fatal(err)
	}
	// What is written and read again is what a user has.
	var b bytes.Buffer
	if err := report.JSON(&b, report.Of(v)); err != nil {
		t.Fatal(err)
	}
	doc := b.String()
	if edit != nil {
		if doc = edit(doc); doc == b.String() {
			t.Fatal("the edit changes nothing")
		}
	}
	out, err := report.Read(strings.NewReader(doc), int64(len(doc)))
	if err != nil {
		t.Fatal(err)
	}
	return out, src
}

func written(t testing.TB, write func(w io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
