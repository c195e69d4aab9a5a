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
	var limit, exchange int64
	v := &verb{
		name:    "cat",
		args:    "RECORDING",
		summary: "print the recorded messages as JSON Lines, or one direction's exact bytes",
		long: "Without --raw: one line a record, as it stands in the recording (jq reads it). With --raw: the exact bytes of one\n" +
			"direction, or of the body of one HTTP exchange (of its response unless --from client says otherwise), known\n" +
			"credentials replaced by filler of the same length unless the recording was made at level raw.",
		examples: [2]string{
			"sixlink cat r.mcp.jsonl.zst | jq -c 'select(.from == \"client\") | .message.method'",
			"sixlink cat --raw --exchange 3 r.mcp.jsonl.zst | sha256sum",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&from, "from", "", "only this direction: client, server or stderr")
			maxDecompressed(fs, &limit)
			fs.BoolVar(&raw, "raw", false, "the exact bytes; needs --from or --exchange; refused on a terminal")
			fs.Int64Var(&exchange, "exchange", 0, "only the HTTP exchange with this number `N`, from 1")
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one RECORDING"))
		case from != "" && from != "client" && from != "server" && from != "stderr":
			return usageError(s, v.name, fmt.Errorf("--from %q is none of client, server, stderr", from))
		case v.set.Changed("exchange") && exchange < 1:
			return usageError(s, v.name, fmt.Errorf("--exchange %d: exchanges are numbered from 1", exchange))
		case exchange > 0 && from == "stderr":
			return usageError(s, v.name, errors.New("--exchange has --from client and server only"))
		case raw && from == "" && exchange == 0:
			return usageError(s, v.name, errors.New("--raw needs --from client, server or stderr, or --exchange"))
		case raw && isTerminal(s.out):
			return usageError(s, v.name, errors.New("--raw writes bytes from a stranger, not to a terminal: send them to a file or a pipe"))
		}
		r, err := record.Open(args[0], record.Options{MaxDecompressed: limit})
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer r.Close()
		w := bufio.NewWriterSize(s.out, 64<<10)
		if raw && exchange > 0 && from == "" {
			from = string(record.Server)
		}
		p := picker{from: record.From(from), exchange: exchange, raw: raw}
		if err := p.cat(w, r, isTerminal(s.out)); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		if err := w.Flush(); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		code := ended(s, v.name, args[0], r.End())
		if exchange > 0 && !p.seen {
			return fail(s, v.name, fmt.Errorf("%s: there is no exchange %d", args[0], exchange), exitUnknown)
		}
		if p.http && !p.stdio && raw && exchange == 0 {
			return fail(s, v.name, fmt.Errorf("%s is of HTTP: --raw needs --exchange N", args[0]), exitUnknown)
		}
		if p.holes > 0 {
			return fail(s, v.name, fmt.Errorf("%s: exchange %d: %s of this body not kept", args[0], exchange, count(p.holes, "byte")), exitUnknown)
		}
		return code
	}
	return v
}

// picker chooses records.
type picker struct {
	from     record.From // "": all
	exchange int64       // 0: all
	raw      bool

	seen  bool  // something of the exchange
	http  bool  // bodies …
	stdio bool  // … and frames: a bridge's
	next  int64 // the offset at which the body goes on
	holes int64 // bytes of it that are not there
}

// takes tells whether a record is one of those that were asked for.
func (p *picker) takes(rec *record.Record) bool {
	if p.exchange != 0 {
		if rec.Exchange != p.exchange {
			return false
		}
		p.seen = true
	}
	switch rec.Kind {
	case record.KindFrame:
		p.stdio = true
		return p.from == "" || rec.From == p.from
	case record.KindBody:
		p.http = true
		if p.raw && p.exchange == 0 {
			return false // bodies of parallel exchanges make no stream
		}
		return p.from == "" || rec.From == p.from
	case record.KindRequest, record.KindResponse:
		return !p.raw && (p.from == "" || rec.From == p.from)
	}
	return !p.raw && p.from == ""
}

// cat writes the records that were asked for, or their bytes.
func (p *picker) cat(w io.Writer, r *record.Reader, terminal bool) error {
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Line == nil || !p.takes(rec) {
			continue
		}
		line := append(rec.Line, '\n')
		if p.raw {
			if rec.Kind == record.KindBody {
				p.holes += rec.Off - p.next
				p.next = rec.Off + int64(len(rec.Data)+len(rec.EOL))
			}
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
