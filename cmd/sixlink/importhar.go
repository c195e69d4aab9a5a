package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/har"
	"github.com/sixlink/sixlink/record/visible"
)

func importHARVerb() *verb {
	var out, origin string
	v := &verb{
		name:    "import har",
		args:    "FILE -o RECORDING",
		summary: "make a partial recording of a browser's capture (HAR 1.2)",
		long: "For what a browser or a debugging proxy captured (Chrome, Firefox, Safari, Charles,\n" +
			"mitmproxy, Playwright). Exchanges of MCP are taken, with one server; everything else is\n" +
			"left out and counted. A capture has bodies as they were decoded, and often lacks those\n" +
			"of event streams: the recording says which, and grading does not rest on them. Known\n" +
			"credentials are replaced as in every recording at level full; the capture itself still\n" +
			"has them. docs/import.md has the details.",
		examples: [2]string{
			"sixlink import har session.har -o session.mcp.jsonl.zst",
			"sixlink import har session.har --origin https://mcp.example.com -o session.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVarP(&out, "output", "o", "", "the new file; it must not exist")
			fs.StringVar(&origin, "origin", "", "take the exchanges with this server, where there are several")
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one FILE"))
		case out == "":
			return usageError(s, v.name, errors.New("needs -o RECORDING"))
		}
		c, err := har.Open(args[0])
		if err != nil {
			return fail(s, v.name, ofCapture(args[0], err), exitUnknown)
		}
		defer c.Close()
		var made *har.Made
		err = writeNew(out, func(f *os.File) (err error) {
			made, err = c.Write(f, origin, record.Software{Name: "sixlink", Version: versionString()}, maskKey())
			return err
		})
		var several *har.OriginError
		var broken *har.Error
		switch {
		case errors.As(err, &several):
			return fail(s, v.name, ofCapture(args[0], err), exitUsage)
		case errors.As(err, &broken):
			return fail(s, v.name, ofCapture(args[0], err), exitUnknown)
		case err != nil:
			return fail(s, v.name, err, exitUnknown)
		}
		fmt.Fprintf(s.err, "%s: %s\n", out, harMade(made))
		return exitGood
	}
	return v
}

// ofCapture is an error with the capture's name; what it quotes comes from there.
func ofCapture(name string, err error) error {
	return fmt.Errorf("%s: %s", name, visible.String(plainPathError(err).Error()))
}

// harMade says in a line what was made of a capture, and what it lacks.
func harMade(m *har.Made) string {
	parts := []string{visible.String(m.Origin) + ", " + count(int64(m.Exchanges), "exchange") + " from " + m.Start.Format("2006-01-02T15:04:05Z")}
	lacks := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	lacks(m.NoResponse, "without a response")
	lacks(m.NoBody, "of whose response the body or its end is missing")
	lacks(m.NoRequest, "without the whole request")
	line := strings.Join(parts, ", ") + "; partial"
	if m.LeftOut > 0 {
		line += "; left out: " + entries(m.LeftOut)
		if m.WebSockets > 0 {
			line += fmt.Sprintf(", %d of them WebSockets", m.WebSockets)
		}
	}
	return line
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
