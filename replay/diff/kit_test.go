package diff_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/fixtures/mutant"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/replay/diff"
)

// tape makes a recording of messages, a millisecond apart unless told otherwise.
type tape struct {
	*fixtures.Recording
	at  int64
	off map[record.From]int64
}

func newTape(id string, start time.Time) *tape {
	t := &tape{Recording: &fixtures.Recording{Name: id, State: record.Sealed}, off: map[record.From]int64{}}
	t.Header = record.Header{ID: id, FirstSeq: 1, Transport: "stdio", Command: []string{"server"}, Start: record.Time{Time: start}, Level: record.LevelFull}
	t.add(record.Record{Kind: record.KindStart, Start: &record.Start{PID: 1}})
	return t
}

func (t *tape) add(rec record.Record) {
	t.at += 1e6
	rec.At = t.at
	t.Add(rec)
}

func (t *tape) line(from record.From, text string) {
	rec := record.Record{Kind: record.KindFrame, From: from, Off: t.off[from], Data: []byte(text), EOL: []byte("\n"), Form: record.FormText}
	t.off[from] += int64(len(text)) + 1
	t.add(rec)
}

func (t *tape) gap(from record.From) {
	t.add(record.Record{Kind: record.KindGap, Gap: &record.Gap{FirstSeq: int64(len(t.Records)) + 1, LastSeq: int64(len(t.Records)) + 1, Why: "disk full",
		Streams: map[record.From]record.GapStream{from: {Off: t.off[from], Bytes: 10, Frames: 1}}}})
	t.off[from] += 10
}

// end ends the session as a host does.
func (t *tape) end() {
	t.add(record.Record{Kind: record.KindClose, Close: &record.Close{Who: record.ByClient, What: record.Stdin}})
	t.add(record.Record{Kind: record.KindClose, Close: &record.Close{Who: record.ByServer, What: record.Stdout}})
	code := 0
	t.add(record.Record{Kind: record.KindExit, Exit: &record.Exit{Code: &code}})
}

// recording decodes the tape.
func (t *tape) recording(tb testing.TB) *diff.Recording {
	tb.Helper()
	res, err := session.Decode(&t.Header, t.Next(), t, session.Options{End: t.End})
	if err != nil {
		tb.Fatal(err)
	}
	r := &diff.Recording{ID: t.Header.ID, Path: t.Header.ID, Level: t.Header.Level, Sessions: res.Sessions, Clock: res.Clock, Torn: t.State == record.Torn}
	for _, rec := range t.Records {
		if rec.Kind == record.KindGap {
			r.Gaps++
		}
	}
	return r
}

var (
	monday  = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	tuesday = time.Date(2026, 3, 3, 17, 30, 0, 0, time.UTC)
)

// play records a session of the mutant, by a clock that stands still but for its sleep.
func play(tb testing.TB, id string, start time.Time, client []string, mutations ...string) *tape {
	tb.Helper()
	s, err := mutant.New(mutations...)
	if err != nil {
		tb.Fatal(err)
	}
	t := newTape(id, start)
	s.Now = func() time.Time { return start.Add(time.Duration(t.at)) }
	s.Sleep = func(d time.Duration) { t.at += int64(d) }
	for _, l := range client {
		t.line(record.Client, l)
		var out bytes.Buffer
		s.Answer([]byte(l), &out)
		for _, a := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			if a != "" {
				t.line(record.Server, a)
			}
		}
	}
	t.end()
	return t
}

// exchanges records a session of calls, given as tool, arguments and answer: a result,
// or "error" and what stands in it; "" is none.
func exchanges(id string, start time.Time, calls ...[3]string) *tape {
	t := newTape(id, start)
	t.line(record.Client, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
	t.line(record.Server, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
	for i, c := range calls {
		t.line(record.Client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i+1, c[0], c[1]))
		if e, ok := strings.CutPrefix(c[2], "error"); ok {
			t.line(record.Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":%s}`, i+1, e))
		} else if c[2] != "" {
			t.line(record.Server, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i+1, c[2]))
		}
	}
	return t
}

// ended is exchanges up to the session's end.
func ended(id string, start time.Time, calls ...[3]string) *tape {
	t := exchanges(id, start, calls...)
	t.end()
	return t
}

func compare(tb testing.TB, a, b *tape, opts diff.Options) *diff.Result {
	tb.Helper()
	r, err := diff.Recordings(a.recording(tb), b.recording(tb), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// byDefault are the options of the command without flags.
func byDefault() diff.Options { return diff.Options{Match: diff.DefaultMatchers} }

// said are the findings in short: class, rule and words.
func said(r *diff.Result) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, fmt.Sprintf("%s %s | %s", f.Class, f.Rule, diff.Words(f)))
	}
	for _, u := range r.Undecided {
		out = append(out, fmt.Sprintf("undecided %s | %s", u.Tool, u.Text))
	}
	return slices.Clip(out)
}
