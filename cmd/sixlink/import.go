package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host/desktoplog"
	"github.com/sixlink/sixlink/record/visible"
)

// importVerb makes recordings of what others kept.
func importVerb() *verb {
	return &verb{
		name:    "import",
		summary: "make a recording of what another program kept",
		subs:    []*verb{importDesktopVerb(), importHARVerb()},
	}
}

func importDesktopVerb() *verb {
	var out, server string
	v := &verb{
		name:    "import claude-desktop-log",
		args:    "FILE -o RECORDING",
		summary: "make a partial recording of Claude Desktop's mcp.log or mcp-server-NAME.log",
		long: "For sessions at which no recorder ran. The log holds messages as the host read them,\n" +
			"no bytes, and newer versions cut them: the recording says that it is partial, and\n" +
			"grading does not rest on what is missing. Each process of a server becomes a\n" +
			"recording of its own: the first is RECORDING, the others get numbers.",
		examples: [2]string{
			"sixlink import claude-desktop-log ~/Library/Logs/Claude/mcp-server-weather.log -o weather.mcp.jsonl.zst",
			"sixlink import claude-desktop-log mcp.log --server weather -o weather.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVarP(&out, "output", "o", "", "the new file; it must not exist")
			fs.StringVar(&server, "server", "", "take this server's sessions alone, by the host's name of it")
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one FILE"))
		case out == "":
			return usageError(s, v.name, errors.New("needs -o RECORDING"))
		}
		log, err := desktoplog.Open(args[0])
		if err != nil {
			return fail(s, v.name, fmt.Errorf("%s: %w", args[0], plainPathError(err)), exitUnknown)
		}
		servers := log.Servers
		if server != "" {
			servers = nil
			for _, name := range log.Servers {
				if name == server {
					servers = []string{name}
				}
			}
			if servers == nil {
				return fail(s, v.name, fmt.Errorf("%s: no server %q; it has %s", args[0], server, visible.String(strings.Join(log.Servers, ", "))), exitUsage)
			}
		}
		n := 0
		for _, name := range servers {
			if n, err = importServer(s, log, name, out, n); err != nil {
				return fail(s, v.name, err, exitUnknown)
			}
		}
		return exitGood
	}
	return v
}

// importServer writes the recordings of one server; n is how many there are so far.
func importServer(s stdio, log *desktoplog.Log, server, out string, n int) (int, error) {
	sessions, err := log.Sessions(server)
	if err != nil {
		return n, err
	}
	defer sessions.Close()
	for {
		ses, err := sessions.Next()
		if err != nil || ses == nil {
			return n, err
		}
		n++
		name := out
		if n > 1 {
			stem, ok := strings.CutSuffix(out, record.Suffix)
			suffix := record.Suffix
			if !ok {
				suffix = filepath.Ext(out)
				stem = strings.TrimSuffix(out, suffix)
			}
			name = fmt.Sprintf("%s-%d%s", stem, n, suffix)
		}
		if err := writeNew(name, func(f *os.File) error {
			return sessions.Write(f, ses, record.Software{Name: "sixlink", Version: versionString()})
		}); err != nil {
			return n, err
		}
		fmt.Fprintf(s.err, "%s: %s, process %d from %s, %s", name, visible.String(ses.Server), ses.Number, ses.Start.Format("2006-01-02T15:04:05Z"), messages(ses.Messages))
		if ses.Lost > 0 {
			fmt.Fprintf(s.err, ", %d that the log does not have whole", ses.Lost)
		}
		fmt.Fprintln(s.err, "; partial")
	}
}

func messages(n int64) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// writeNew makes a file that must not be there, readable by its owner alone, and
// leaves none behind when write fails.
func writeNew(name string, write func(f *os.File) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: is there already: import overwrites nothing", name)
	}
	if err != nil {
		return err
	}
	err = write(f)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		_ = os.Remove(name) // it was ours
	}
	return err
}

// plainPathError is an error without the path that is named before it.
func plainPathError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
