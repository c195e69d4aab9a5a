package session_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// A script is a recording in short, one record a line, a millisecond apart:
//
//	start [PID [WORD...]]       the server's process
//	> {...}                     a client's message; "jsonrpc":"2.0" is put in
//	< {...}                     a server's message
//	>> text, << text, !! text   a line as it stands, of client, server, stderr
//	>+ text, <+ text            a part of a line that goes on
//	close WHO WHAT              e.g. close client stdin
//	signal WHO NAME             a signal, passed on to the child
//	exit CODE|NAME
//	gap [FROM...]               a lost record, of these directions or unknown ones
//	undelivered FROM            of the direction's last line on
//	spawn-error                 command not found
//	torn, live                  at the end
//
// Blank lines and lines that begin with # say nothing.
func script(t testing.TB, text string) *fixtures.Recording {
	t.Helper()
	r := &fixtures.Recording{Name: "script", State: record.Sealed, Header: record.Header{ID: "script", FirstSeq: 1, Transport: "stdio", Command: []string{"server"}}}
	off := map[record.From]int64{}
	last := map[record.From]int64{}
	cont := map[record.From]bool{}
	from := map[byte]record.From{'>': record.Client, '<': record.Server, '!': record.Stderr}
	add := func(rec record.Record) *record.Record {
		rec.At = int64(len(r.Records)) * 1e6
		return r.Add(rec)
	}
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimLeft(l, "\t ")
		if l == "" || l[0] == '#' {
			continue
		}
		if f, ok := from[l[0]]; ok {
			mode, data := l[1], l[min(len(l), 3):]
			if mode == ' ' {
				data = `{"jsonrpc":"2.0",` + strings.TrimPrefix(l[2:], "{")
			}
			rec := record.Record{Kind: record.KindFrame, From: f, Off: off[f], Data: []byte(data), EOL: []byte("\n"), Form: record.FormText, Cont: cont[f]}
			cont[f] = mode == '+'
			if rec.More = cont[f]; rec.More {
				rec.EOL = nil
			}
			last[f] = off[f]
			off[f] += int64(len(rec.Data) + len(rec.EOL))
			add(rec)
			continue
		}
		w := strings.Fields(l)
		switch w[0] {
		case "start":
			s := &record.Start{PID: 1}
			if len(w) > 1 {
				s.PID, _ = strconv.Atoi(w[1])
				s.Command = w[2:]
			}
			if len(w) > 2 {
				r.Header.Command = w[2:]
			}
			add(record.Record{Kind: record.KindStart, Start: s})
		case "close":
			add(record.Record{Kind: record.KindClose, Close: &record.Close{Who: w[1], What: w[2]}})
		case "signal":
			add(record.Record{Kind: record.KindClose, Close: &record.Close{Who: w[1], What: record.Signal, Signal: w[2], To: "child"}})
		case "exit":
			e := &record.Exit{Signal: w[1]}
			if n, err := strconv.Atoi(w[1]); err == nil {
				e = &record.Exit{Code: &n}
			}
			add(record.Record{Kind: record.KindExit, Exit: e})
		case "gap":
			g := &record.Gap{FirstSeq: int64(len(r.Records)) + 1, LastSeq: int64(len(r.Records)) + 1, Why: "disk full", Streams: map[record.From]record.GapStream{}}
			for _, f := range w[1:] {
				g.Streams[record.From(f)] = record.GapStream{Off: off[record.From(f)], Bytes: 10, Frames: 1}
				off[record.From(f)] += 10
				cont[record.From(f)] = false
			}
			add(record.Record{Kind: record.KindGap, Gap: g})
		case "undelivered":
			f := record.From(w[1])
			add(record.Record{Kind: record.KindUndelivered, From: f, Off: last[f], Lost: &record.Undelivered{Error: "broken pipe"}})
		case "spawn-error":
			add(record.Record{Kind: record.KindError, Error: &record.Error{What: "spawn", Error: "no such file", Code: 127}})
		case "torn":
			r.State = record.Torn
		case "live":
			r.State = record.Live
		default:
			t.Fatalf("script: %q is no command", l)
		}
	}
	return r
}

func run(t testing.TB, text string) *session.Result {
	t.Helper()
	r := script(t, text)
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func one(t testing.TB, text string) *session.Session {
	t.Helper()
	res := run(t, text)
	if len(res.Sessions) != 1 {
		t.Fatalf("%d sessions, want one", len(res.Sessions))
	}
	return res.Sessions[0]
}

// opened is a handshake: records 1 to 4.
const opened = `
	start
	> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"host","version":"1"}}}
	< {"id":"i","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"2","title":"Srv"}}}
	> {"method":"notifications/initialized"}
`

const goodbye = `
	close client stdin
	close server stdout
	exit 0
`

// tool is a call's line, answer a result's.
func tool(id string) string {
	return fmt.Sprintf("\n> {\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{}}}\n", id)
}

func answer(id string) string {
	return fmt.Sprintf("\n< {\"id\":%s,\"result\":{\"content\":[]}}\n", id)
}

func flags(rs []session.Remark) string {
	var out []string
	for _, r := range rs {
		out = append(out, fmt.Sprintf("%d:%s", r.Seq, r.Flag))
	}
	return strings.Join(out, " ")
}
