package sse

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// shown is an event as a test writes it.
func shown(e *Event) string {
	s := fmt.Sprintf("%d %s#%s", e.Index, e.Type, e.ID)
	if e.HasID {
		s += "!"
	}
	if e.Retry >= 0 {
		s += fmt.Sprintf(" retry=%d", e.Retry)
	}
	if e.Long {
		s += " long"
	}
	if e.HasData {
		s += fmt.Sprintf(" %q", e.Data)
	}
	return s
}

func feed(p *Parser, pieces ...string) (out []string) {
	for _, piece := range pieces {
		p.Feed([]byte(piece), func(e *Event) { out = append(out, shown(e)) })
	}
	return out
}

func TestEvents(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"one", "data: a\n\n", `0 # "a"`},
		{"no space", "data:a\n\n", `0 # "a"`},
		{"two spaces: one is taken", "data:  a\n\n", `0 # " a"`},
		{"CR", "data: a\r\r", `0 # "a"`},
		{"CRLF", "data: a\r\n\r\n", `0 # "a"`},
		{"mixed ends, as mcp-go writes them", "event: endpoint\ndata: /m?s=1\r\n\r\n", `0 endpoint# "/m?s=1"`},
		{"LF CR is two ends", "data: a\n\rdata: b\n\n", `0 # "a"|1 # "b"`},
		{"lines are joined", "data: a\ndata\ndata: b\n\n", `0 # "a\n\nb"`},
		{"a comment", ": keep-alive\n\ndata: a\n\n", `0 # "a"`},
		{"a comment inside", "data: a\n: c\ndata: b\n\n", `0 # "a\nb"`},
		{"the priming event of TypeScript", "id: 7\ndata: \n\ndata: x\n\n", `0 #7! ""|1 #7 "x"`},
		{"an id stays", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", `0 #1! "a"|1 #1 "b"|2 #! "c"`},
		{"an id with NUL is ignored", "id: 1\x00\ndata: a\n\n", `0 # "a"`},
		{"retry", "retry: 150\n\nretry: x\n\nretry: -1\n\nretry:\n\n", `0 # retry=150|1 #|2 #|3 #`},
		{"a huge retry is ignored", "retry: 99999999999999999999\n\n", `0 #`},
		{"the last type holds", "event: a\nevent: b\ndata: x\n\n", `0 b# "x"`},
		{"a type does not stay", "event: a\ndata: x\n\ndata: y\n\n", `0 a# "x"|1 # "y"`},
		{"an unknown field", "foo: 1\ndata: a\n\n", `0 # "a"`},
		{"a field with another case", "Data: a\n\n", `0 #`},
		{"BOM", "\xef\xbb\xbfdata: a\n\n", `0 # "a"`},
		{"a BOM later is none", "data: a\n\n\xef\xbb\xbfdata: b\n\n", `0 # "a"|1 #`},
		{"half a BOM", "\xef\xbbdata: a\n\n", `0 #`},
		{"not ended", "data: a\n\ndata: b\n", `0 # "a"`},
		{"a blank stream", "\n\r\n\r\n\n", ``},
		{"a colon in the value", "data: a: b\n\n", `0 # "a: b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; n <= len(c.in); n++ {
				var p Parser
				var pieces []string
				for s := c.in; len(s) > 0; s = s[min(n, len(s)):] {
					pieces = append(pieces, s[:min(n, len(s))])
				}
				if got := strings.Join(feed(&p, pieces...), "|"); got != c.want {
					t.Fatalf("in pieces of %d: %s, want %s", n, got, c.want)
				}
			}
		})
	}
}

func TestHalf(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "0 false",
		"data: a\n\n":          "9 false",
		"data: a\n\nda":        "9 true",
		"data: a\n\ndata: b\n": "9 true",
		"data: a\n\n: c\n":     "9 false",
		"data: a\n\n: c":       "9 false",
		"data: a\r\n\r\n":      "11 false",
	} {
		var p Parser
		feed(&p, in)
		start, half := p.Half()
		if got := fmt.Sprint(start, half); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// Behind a hole nothing counts before a blank line that is one for sure.
func TestResume(t *testing.T) {
	for in, want := range map[string]string{
		"lf of a lost cr is no blank line":   "\ndata: b\n\n|data: c\n\n",
		"the rest of a line":                 "x\n\n|data: c\n\n",
		"the rest of an event":               "x\r\ndata: b\r\n\r\n|data: c\r\n\r\n",
		"cr alone":                           "x\r\r|data: c\r\r",
		"a whole event, since nobody knows":  "data: b\n\n|data: c\n\n",
		"a blank line may have its own half": "\n\n|data: c\n\n",
	} {
		lost, rest, _ := strings.Cut(want, "|")
		for n := 1; n <= len(lost+rest); n++ {
			var p Parser
			p.Feed([]byte("id: 1\ndata: a\n\ndata: half"), func(*Event) {})
			p.Resume(1000)
			if _, half := p.Half(); half || !p.Lost() {
				t.Errorf("%s: half %v, lost %v", in, half, p.Lost())
			}
			var got []string
			for s := lost + rest; len(s) > 0; s = s[min(n, len(s)):] {
				p.Feed([]byte(s[:min(n, len(s))]), func(e *Event) {
					got = append(got, fmt.Sprintf("%s %d-%d %q", e.Data, e.Start, e.End, e.ID))
				})
			}
			start := 1000 + len(lost)
			// A CRLF whose LF comes with the next piece ends one byte earlier, as ever.
			end := start + len(rest)
			if len(got) != 1 || got[0] != fmt.Sprintf("c %d-%d %q", start, end, "") && got[0] != fmt.Sprintf("c %d-%d %q", start, end-1, "") || p.Lost() {
				t.Errorf("%s: in pieces of %d: %q, want c at %d to %d", in, n, got, start, end)
			}
		}
	}
}

// Each of the lines of an event costs memory, whatever is in them.
func TestManyLines(t *testing.T) {
	var p Parser
	lines := []byte(strings.Repeat("data\n", 1000))
	for range 2 * maxLines / 1000 {
		p.Feed(lines, func(*Event) {})
	}
	if len(p.lines) != maxLines || p.Size() > maxLines {
		t.Errorf("%d lines, %d bytes", len(p.lines), p.Size())
	}
	long := false
	p.Feed([]byte("\ndata: a\n\n"), func(e *Event) { long = long || e.Long })
	if !long {
		t.Error("nobody is told")
	}
}

func TestBounds(t *testing.T) {
	p := Parser{Max: 10}
	long := strings.Repeat("x", 100)
	got := feed(&p, "data: "+long+"\n\ndata: "+long+"\ndata: b\n\nid: 1\ndata: ok\n\n", "foo: ", strings.Repeat("y", 1<<20), "\n\nevent: "+strings.Repeat("z", 9000)+"\n\n")
	want := []string{`0 # long "xxxxxxxxxx"`, `1 # long "xxxxxxxxxx\n"`, `2 #1! "ok"`, `3 #1`}
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Errorf("%q, want %q", got[:min(len(got), 4)], want)
			break
		}
	}
	if len(got) != 5 || len(got[4]) > keptField+20 {
		t.Errorf("%d events, the last of %d bytes", len(got), len(got[len(got)-1]))
	}
}

var ends = regexp.MustCompile(`\r\n|\r|\n`)

// reference reads a whole stream at once, as the standard's text says it.
func reference(s string) (out []string) {
	s = strings.TrimPrefix(s, "\xef\xbb\xbf")
	lines := ends.Split(s, -1)
	lines = lines[:len(lines)-1] // what has no end
	id, typ, data := "", "", ""
	retry := int64(-1)
	index, hasID, hasData, open := 0, false, false, false
	for _, l := range lines {
		if l == "" {
			if open {
				e := Event{Index: index, Type: typ, ID: id, HasID: hasID, Retry: retry, HasData: hasData, Data: []byte(strings.TrimSuffix(data, "\n"))}
				out = append(out, shown(&e))
				index++
			}
			typ, data, retry, hasID, hasData, open = "", "", -1, false, false, false
			continue
		}
		name, value, _ := strings.Cut(l, ":")
		if name == "" && l[0] == ':' {
			continue
		}
		open = true
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			hasData = true
			data += value + "\n"
		case "event":
			typ = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id, hasID = value, true
			}
		case "retry":
			if regexp.MustCompile(`^[0-9]{1,18}$`).MatchString(value) {
				retry, _ = strconv.ParseInt(value, 10, 64)
			}
		}
	}
	return out
}

// FuzzParser holds the parser against the reference, whatever the pieces are, and
// the places that it names against the stream.
func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"id: 1\nevent: message\ndata: {\"a\":1}\n\n: c\n\ndata: a\r\ndata: b\r\n\r\n",
		"\xef\xbb\xbfretry: 10\rdata\r\rdata:x\n\n", "\xef\xbb\n\n", "id:\x00\n\n", ":\n\n", "\r\n\r\n\r", "data: a\n\ndata: half",
	} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		if len(s) > 1<<12 || strings.Contains(s, "retry") && regexp.MustCompile(`[0-9]{18,}`).MatchString(s) {
			return
		}
		var p Parser
		var got []string
		step := int(n) + 1
		last := int64(0)
		for rest := s; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			p.Feed([]byte(rest[:min(step, len(rest))]), func(e *Event) {
				got = append(got, shown(e))
				if e.Start < last || e.End <= e.Start || e.End > int64(len(s)) {
					t.Fatalf("event at %d to %d, the one before ended at %d", e.Start, e.End, last)
				}
				last = e.End
				for _, l := range e.Lines {
					if s[l.At:l.At+int64(l.Len)] != string(e.Data[l.Off:l.Off+l.Len]) {
						t.Fatalf("line %+v is not at its place", l)
					}
				}
				// The block alone, read again from its place, gives the same data.
				var again Parser
				again.Feed([]byte("\n"+s[e.Start:e.End]), func(a *Event) {
					if string(a.Data) != string(e.Data) || a.Type != e.Type {
						t.Fatalf("read again: %q, want %q", a.Data, e.Data)
					}
				})
			})
		}
		want := reference(s)
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	})
}
