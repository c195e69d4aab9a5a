package claudecode_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/claudecode"
)

// generated gives the lines of a file that is on no disk.
type generated struct {
	line func(n int) string // "" ends the file
	n    int
	rest []byte
	peak *uint64
}

func (g *generated) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		s := g.line(g.n)
		if s == "" {
			return 0, io.EOF
		}
		if g.n++; g.n%10_000 == 9_999 && g.peak != nil {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			*g.peak = max(*g.peak, m.HeapAlloc)
		}
		g.rest = []byte(s)
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func (g *generated) Close() error { return nil }

// longSession is a session of so many turns, each with a call whose result of 4 KB
// stands there three times, in all 13.7 KB a turn, and what reading it gave: the live
// memory at most.
func longSession(t *testing.T, rounds int) (c *host.Conversation, peak uint64) {
	t.Helper()
	big := strings.Repeat("result ", 4<<10/7)
	line := func(n int) string {
		i, k := n/5, n%5
		if i == rounds {
			return ""
		}
		id := func(k int) string { return fmt.Sprintf("u-%08d-%d-0000-0000-000000000000", i, k) }
		head := func(typ, parent string) string {
			return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"sessionId":"s","timestamp":"2026-11-30T10:00:00Z","message":`, typ, id(k), parent)
		}
		switch k {
		case 0:
			return head("user", fmt.Sprintf("u-%08d-4-0000-0000-000000000000", i-1)) + `{"role":"user","content":"do it"}}` + "\n"
		case 1:
			return head("assistant", id(0)) + fmt.Sprintf(`{"id":"m%d-1","model":"m","content":[{"type":"tool_use","id":"t%d","name":"mcp__s__t","input":{"n":%d}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}}`, i, i, i) + "\n"
		case 2:
			return head("user", id(1)) + fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]},"toolUseResult":%q}`, i, big, big) + "\n"
		case 3:
			return fmt.Sprintf(`{"type":"api-request-blob","sessionId":"s","message":{"role":"user","content":%q}}`, big) + "\n"
		}
		return head("assistant", id(2)) + fmt.Sprintf(`{"id":"m%d-2","model":"m","content":[{"type":"text","text":"done %d"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1,"cache_read_input_tokens":0,"cache_creation_input_tokens":0}}}`, i, i) + "\n"
	}
	f := &host.File{Name: "big.jsonl", Open: func() (io.ReadCloser, error) { return &generated{line: line, peak: &peak}, nil }}
	cs, err := claudecode.Session.Import([]*host.File{f})
	if err != nil {
		t.Fatal(err)
	}
	c = cs[0]
	if len(c.Turns) != rounds || len(c.Calls) != rounds || c.Caps.Calls != host.Present || c.Turns[rounds-1].FinalText.Text.Text != fmt.Sprintf("done %d", rounds-1) {
		t.Errorf("%d turns, %d calls, caps %+v", len(c.Turns), len(c.Calls), c.Caps)
	}
	return c, peak
}

// Live memory is what the model keeps (at most twice MaxKept of texts) and the shape
// of the records. The session of 200 MB is TestFaultLongSession's (make faults): this
// one of 27 MB would go over the bound as well if its results were kept.
func TestFlatMemory(t *testing.T) {
	if raceOn {
		t.Skip("reads 54 MB: without the race detector")
	}
	c, peak := longSession(t, 2_000)
	t.Logf("%d MB read, live memory at most %d MiB", c.Sources[0].Bytes/1e6, peak>>20)
	if c.Sources[0].Bytes < 27e6 || peak > 20<<20 {
		t.Errorf("%d bytes read, live memory %d MiB", c.Sources[0].Bytes, peak>>20)
	}
}

// Hostile files: what they hold is bounded by the model's limits, and the time
// by their length. A walk that looked at every record at each step would take
// minutes here.
func TestHostile(t *testing.T) {
	if raceOn {
		t.Skip("one goroutine reads large files: without the race detector")
	}
	const n = 12_000 // what takes quadratic time takes ten seconds here
	long := strings.Repeat("x", 100_000)
	for name, line := range map[string]func(i int) string{
		"parents that lead over and over the same": func(i int) string {
			p := fmt.Sprintf("u%d", i-1)
			switch {
			case i > 2*n/3:
				p = fmt.Sprintf("u%d", i-2*n/3) // one far below
			case i < n/3:
				p = fmt.Sprintf("u%d", i+2*n/3-1) // one far above
			}
			return fmt.Sprintf(`{"type":"user","uuid":"u%d","parentUuid":%q,"sessionId":"s","message":{"content":"p"}}`, i, p)
		},
		"one prompt for all subagents": func(i int) string {
			if i%2 == 0 {
				return fmt.Sprintf(`{"type":"assistant","uuid":"u%d","sessionId":"s","message":{"id":"m%d","model":"m","content":[{"type":"tool_use","id":"t%d","name":"Task","input":{"prompt":"p"}}]}}`, i, i, i)
			}
			return fmt.Sprintf(`{"type":"user","isSidechain":true,"uuid":"u%d","parentUuid":null,"sessionId":"s","message":{"content":"p"}}`, i)
		},
		"a new type each": func(i int) string { return fmt.Sprintf(`{"type":"t%d","sessionId":"s"}`, i) },
		"long names": func(i int) string {
			if i > 20 {
				return ""
			}
			return fmt.Sprintf(`{"type":"assistant","uuid":"%s%d","sessionId":"s%s%d","version":%q,"message":{"id":"%s%d","model":"%s%d","content":[{"type":"tool_use","id":"%s%d","name":"mcp__%s","input":{"a":%q}}]}}`,
				long, i, long, i, long, long, i, long, i, long, i, long, long)
		},
		"many small parts": func(i int) string {
			if i > 6 {
				return ""
			}
			return fmt.Sprintf(`{"type":"assistant","uuid":"u%d","sessionId":"s","message":{"id":"m","content":[%s{}]}}`, i, strings.Repeat("{},", 300_000))
		},
		"deep nesting": func(i int) string {
			if i > 0 {
				return ""
			}
			return `{"type":"user","uuid":"u","sessionId":"s","message":{"content":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			gen := func(i int) string {
				if i >= n {
					return ""
				}
				s := line(i)
				if s == "" {
					return ""
				}
				return s + "\n"
			}
			f := &host.File{Name: "h.jsonl", Open: func() (io.ReadCloser, error) { return &generated{line: gen}, nil }}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			cs, err := claudecode.Session.Import([]*host.File{f})
			runtime.GC()
			runtime.ReadMemStats(&after)
			if err != nil {
				return // nothing to be made of it
			}
			var out bytes.Buffer
			if err := host.Write(&out, cs...); err != nil {
				t.Fatal(err)
			}
			if _, err := host.Read(&out); err != nil {
				t.Fatal(err)
			}
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 160<<20 {
				t.Errorf("it holds %d MiB", grown>>20)
			}
			runtime.KeepAlive(cs)
		})
	}
}
