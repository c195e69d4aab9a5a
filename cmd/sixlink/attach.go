package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
)

func attachVerb() *verb {
	var talks talkFlags
	var out string
	var limit int64
	v := &verb{
		name:    "attach",
		args:    "RECORDING [HOST...]",
		summary: "make a recording that carries the host's transcript, so that one file is the whole evidence",
		long: "HOST is a file or a folder of a host's transcript. The conversations that join with the recording are written behind its records, with the values of\n" +
			"credential-named members hidden and all ids kept; grading it later needs no folder of the host. Exit code 3: none joins, and nothing is written.",
		examples: [2]string{
			"sixlink attach r.mcp.jsonl.zst ~/.claude/projects/-home-me-shop -o whole.mcp.jsonl.zst",
			"sixlink attach --find-conversation r.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVarP(&out, "output", "o", "", "the new `FILE`, which must not exist (default: RECORDING with .attached before its ending)")
			talks.add(fs, false)
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		if len(args) == 0 {
			return usageError(s, v.name, errors.New("needs a RECORDING"))
		}
		talks.paths = args[1:]
		switch err := talks.check(); {
		case err != nil:
			return usageError(s, v.name, err)
		case !talks.any():
			return usageError(s, v.name, errors.New("needs a HOST, or --find-conversation"))
		}
		path := args[0]
		if out == "" {
			out = attachedName(path)
		}
		l, err := load(path, record.Options{MaxDecompressed: limit})
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer l.Close()
		if has, err := attachedTo(l); err != nil || has != nil {
			return fail(s, v.name, fmt.Errorf("%s: carries a conversation already: attach to the recording that it was made of", path), exitUsage)
		}
		ws := wiresOf(l)
		if talks.find {
			found, err := findTalks(s, v.name, ws)
			if err != nil && len(talks.paths) == 0 {
				return fail(s, v.name, err, exitUnknown)
			}
			talks.paths = append(slices.Clone(talks.paths), found...)
		}
		cs, err := talks.read()
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		r := joinTalks(distinct(cs), ws, !talks.find)
		tellJoin(s, v.name, r)
		var keep []*host.Conversation
		for i := range r.Conversations {
			if r.Conversations[i].Verdict != join.NotJoined {
				keep = append(keep, r.Conversations[i].Talk)
			}
		}
		if len(keep) == 0 {
			return fail(s, v.name, fmt.Errorf("%s: no transcript joins with it, so that nothing was written", path), exitUnknown)
		}
		var lines bytes.Buffer
		if err := host.Write(&lines, keep...); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		done, err := record.Attach(path, out, "sixlink "+versionString()+" attach", lines.Bytes(), record.Options{MaxDecompressed: limit})
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		fmt.Fprintf(s.err, "sixlink %s: %s: %s, %s of it a transcript\n", v.name, out, count(done.Records, "record"), count(int64(bytes.Count(lines.Bytes(), []byte("\n"))), "line"))
		return exitGood
	}
	return v
}

// attachedName is RECORDING with .attached before its ending.
func attachedName(path string) string {
	if stem, ok := strings.CutSuffix(path, record.Suffix); ok {
		return stem + ".attached" + record.Suffix
	}
	return path + ".attached"
}
