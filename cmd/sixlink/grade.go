package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
)

func gradeVerb() *verb {
	var suite, format, out string
	var only string
	var strict, whole, verbose bool
	var limit int64
	var overrides grade.Overrides
	v := &verb{
		name:    "grade",
		args:    "RECORDING...",
		summary: "say how sessions went: which checks hold, and at which link each session stopped being good",
		long: "A RECORDING is a file, or a folder: then all recordings in it. Without --suite the implicit suite (built-in) gates noToolErrors. Exit code 0: passed; 1: failed; 2: the suite or the\n" +
			"command line is wrong; 3: nothing could be measured, or only inconclusively, or a recording cannot be read.",
		examples: [2]string{
			"sixlink grade r.mcp.jsonl.zst",
			"sixlink grade --suite suite.yaml --format json -o verdict.json r.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&suite, "suite", "", "the checks, a YAML or JSON `FILE`")
			fs.StringVar(&format, "format", "text", "text or json")
			fs.StringVarP(&out, "output", "o", "", "write the result to this `FILE`")
			fs.BoolVar(&strict, "strict-evidence", false, "a gating check whose evidence is missing fails")
			fs.BoolVarP(&verbose, "verbose", "v", false, "show every trial and every row, passed ones too")
			fs.StringVar(&only, "case", "", "every session is a trial of this `CASE`, also one without a call")
			fs.BoolVar(&whole, "require-whole", false, "refuse recordings that are torn or have gaps (exit 3)")
			overrideFlags(fs, &overrides)
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) == 0:
			return usageError(s, v.name, errors.New("needs a RECORDING"))
		case format != "text" && format != "json":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json", format))
		}
		checks, err := loadSuite(suite)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		if checks, err = checks.Override(overrides); err != nil {
			return usageError(s, v.name, fmt.Errorf("--only: %w", err))
		}
		if err := notBuiltYet(checks); err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		for _, w := range checks.Warnings {
			fmt.Fprintf(s.err, "sixlink grade: %s\n", w)
		}
		g, err := grade.NewGrader(checks, grade.Options{StrictEvidence: strict, RequireWhole: whole, Case: only})
		if err != nil {
			return usageError(s, v.name, err)
		}
		paths, err := recordings(args)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		gradeFiles(s, v.name, paths, limit, g)
		verdict, err := g.Verdict()
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		var buf bytes.Buffer
		if format == "json" {
			err = report.JSON(&buf, verdict)
		} else {
			err = report.Text(&buf, verdict, report.Options{Color: out == "" && colours(s.out), Verbose: verbose})
		}
		if err == nil {
			err = deliver(s.out, out, buf.Bytes())
		}
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return verdict.ExitCode()
	}
	return v
}

// deliver writes a result to stdout or to a new file's place, whole or not at all.
func deliver(stdout io.Writer, path string, data []byte) error {
	if path == "" {
		_, err := stdout.Write(data)
		return err
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o600) // /dev/stderr and the like
	}
	return record.WriteFile(path, data)
}
