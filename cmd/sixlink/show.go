package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

func showVerb() *verb {
	var format, key string
	var limit int64
	v := &verb{
		name:    "show",
		args:    "RECORDING",
		summary: "show what a recording holds: sessions, catalogs, calls, and the six links of each session",
		examples: [2]string{
			"sixlink show r.mcp.jsonl.zst",
			"sixlink show --format json r.mcp.jsonl.zst | jq '.sessions[].calls[] | {tool, state, durationMs}'",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&format, "format", "text", "text, json or html")
			sessionKeyFlag(fs, &key)
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one RECORDING"))
		case format != "text" && format != "json" && format != "html":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json, html", format))
		}
		if err := session.CheckSessionKey(key); err != nil {
			return usageError(s, v.name, fmt.Errorf("--session-key: %w", err))
		}
		l, err := loadByKey(args[0], record.Options{MaxDecompressed: limit}, key)
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer l.Close()
		w := bufio.NewWriter(s.out)
		switch format {
		case "json":
			err = showJSON(w, l)
		case "html":
			err = showHTML(w, l, limit)
		default:
			err = showText(w, l, colours(s.out))
		}
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return ended(s, v.name, args[0], l.end)
	}
	return v
}
