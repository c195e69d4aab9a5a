package run

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// written keeps the lines that are written to a link.
type written struct {
	io.Writer
	lines []string
}

func (w *written) Write(p []byte) (int, error) {
	w.lines = append(w.lines, strings.TrimSuffix(string(p), "\n"))
	return w.Writer.Write(p)
}

// A batch is a batch again: a server that takes none any more is found. What may not be
// sent is left out of it.
func TestABatchIsSentAsOne(t *testing.T) {
	element := func(id, tool string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
	}
	answer := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}` }
	rec := opening + `
> [` + element("2", "get") + `,` + element("3", "set") + `,` + element("4", "get") + `]
< [` + answer("4") + `,` + answer("2") + `,` + answer("3") + `]` + both(5, "get", "{}", "{}")
	for name, c := range map[string]struct {
		opts    Options
		version string
		want    []string // what follows the handshake and the catalog
		partial bool
	}{
		"what may be sent": {Options{}, "2025-06-18", []string{"[" + element("2", "get") + "," + element("3", "get") + "]", element("4", "get")}, true},
		"all":              {Options{Allow: []string{"set"}, Rate: 5}, "2025-06-18", []string{"[" + element("2", "get") + "," + element("3", "set") + "," + element("4", "get") + "]", element("5", "get")}, false},
		"one by one":       {Options{Allow: []string{"set"}, Sequential: true}, "2025-06-18", []string{element("2", "get"), element("3", "set"), element("4", "get"), element("5", "get")}, false},
		"another version":  {Options{Allow: []string{"set"}}, "2025-11-25", []string{element("2", "get"), element("3", "set"), element("4", "get"), element("5", "get")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{what: func(s *server, m message) {
					if m.method == methodInitialize {
						s.result(m, `{"protocolVersion":"`+c.version+`","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"}}`)
						return
					}
					s.ok(m)
				}}
				p, err := NewPlan(recorded(t, rec), c.opts)
				if err != nil {
					t.Fatal(err)
				}
				var w written
				r, err := p.Run(context.Background(), func(ctx context.Context, id string) (*Link, error) {
					l, err := s.open(ctx, id)
					w.Writer = l.Writer
					l.Writer = &w
					return l, err
				})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := strings.Join(w.lines[3:], "\n"), strings.Join(c.want, "\n"); got != want || r.Partial != c.partial {
					t.Errorf("sent\n%s\nwant\n%s\npartial %v", got, want, r.Partial)
				}
			})
		})
	}
}
