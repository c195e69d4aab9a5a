package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
)

func catVerb() *verb {
	var from string
	var raw bool
	var limit int64
	v := &verb{
		name:    "cat",
		args:    "RECORDING",
		summary: "print the recorded messages as JSON Lines, or one direction's exact bytes",
		long: "Without --raw: one line a record, as it stands in the recording (jq reads it). With --raw: the exact bytes of one\n" +
			"direction, known credentials replaced by filler of the same length unless the recording was made at level raw.",
		examples: [2]string{
			"sixlink cat r.mcp.jsonl.zst | jq -c 'select(.from == \"client\") | .message.method'",
			"sixlink cat --raw --from server r.mcp.jsonl.zst | sha256sum",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&from, "from", "", "only this direction: client, server or stderr")
			maxDecompressed(fs, &limit)
			fs.BoolVar(&raw, "raw", false, "the exact bytes; needs --from; refused on a terminal")
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one RECORDING"))
		case from != "" && from != "client" && from != "server" && from != "stderr":
			return usageError(s, v.name, fmt.Errorf("--from %q is none of client, server, stderr", from))
		case raw && from == "":
			return usageError(s, v.name, errors.New("--raw needs --from client, server or stderr"))
		case raw && isTerminal(s.out):
			return usageError(s, v.name, errors.New("--raw writes bytes from a stranger, not to a terminal: send them to a file or a pipe"))
		}
		r, err := record.Open(args[0], record.Options{MaxDecompressed: limit})
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer r.Close()
		w := bufio.NewWriterSize(s.out, 64<<10)
		if err := cat(w, r, record.From(from), raw, isTerminal(s.out)); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		if err := w.Flush(); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return ended(s, v.name, args[0], r.End())
	}
	return v
}

// cat writes the records of a direction, or of all of them.
func cat(w io.Writer, r *record.Reader, from record.From, raw, terminal bool) error {
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Line == nil || from != "" && (rec.Kind != record.KindFrame || rec.From != from) {
			continue
		}
		line := append(rec.Line, '\n')
		if raw {
			line = append(append([]byte(nil), rec.Data...), rec.EOL...)
		} else if terminal {
			line = escapeHidden(line)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// ended tells about a recording that is not whole.
func ended(s stdio, name, path string, end record.End) int {
	if end.Damage != nil {
		fmt.Fprintf(s.err, "sixlink %s: %s: %v: what stands before it is shown\n", name, path, end.Damage)
	} else if end.State == record.Torn {
		fmt.Fprintf(s.err, "sixlink %s: %s: torn: it ends without its closing record, after %d records\n", name, path, end.Records)
	}
	if end.Gaps > 0 {
		fmt.Fprintf(s.err, "sixlink %s: %s: %s: %s not kept\n", name, path, count(end.Gaps, "gap"), count(end.Lost, "record"))
	}
	return exitGood
}
