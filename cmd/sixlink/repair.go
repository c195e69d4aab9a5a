package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
)

func repairVerb() *verb {
	var out string
	var limit int64
	v := &verb{
		name:    "repair",
		args:    "RECORDING -o FILE",
		summary: "write the part of a torn recording that can be believed to a new, sealed file",
		long: "All lines up to the last good check are kept byte for byte; what stands behind it is dropped and counted. The\n" +
			"recording keeps its id. A recording that is only open, not torn, is sealed. The source is never changed.",
		examples: [2]string{
			"sixlink repair torn.mcp.jsonl.zst -o whole.mcp.jsonl.zst",
			"sixlink repair r.mcp.jsonl.zst -o r.sealed.mcp.jsonl.zst && sixlink show r.sealed.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVarP(&out, "output", "o", "", "the new file; it must not exist")
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one RECORDING"))
		case out == "":
			return usageError(s, v.name, errors.New("needs -o FILE"))
		}
		done, err := record.Repair(args[0], out, "sixlink "+versionString()+" repair", record.Options{MaxDecompressed: limit})
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		fmt.Fprintf(s.err, "%s: %d records kept", out, done.Records)
		if done.Dropped > 0 {
			fmt.Fprintf(s.err, ", %d lines behind the last good check dropped", done.Dropped)
		}
		if done.Damage != nil {
			fmt.Fprintf(s.err, " (%v)", done.Damage)
		}
		if done.Torn {
			fmt.Fprint(s.err, "; the recorder did not finish it, and the new file says so")
		}
		fmt.Fprintln(s.err)
		return exitGood
	}
	return v
}
