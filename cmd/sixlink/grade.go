package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

func gradeVerb() *verb {
	var suite string
	var o reportOutput
	var only, key string
	var strict, whole bool
	var limit int64
	var talks talkFlags
	var overrides grade.Overrides
	var given *pflag.FlagSet
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
			given = fs
			fs.StringVar(&suite, "suite", "", "the checks, a YAML or JSON `FILE`")
			o.add(fs, reportFormatNames(formats()))
			byFlag(fs, &o.by)
			earlierFlag(fs, &o)
			fs.BoolVar(&strict, "strict-evidence", false, "a gating check whose evidence is missing fails")
			fs.BoolVarP(&o.verbose, "verbose", "v", false, "show every trial and every row, passed ones too")
			fs.StringVar(&only, "case", "", "every session is a trial of this `CASE`, also one without a call")
			fs.BoolVar(&whole, "require-whole", false, "refuse recordings that are torn or have gaps (exit 3)")
			overrideFlags(fs, &overrides)
			talks.add(fs, true)
			sessionKeyFlag(fs, &key)
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		shape, err := o.shape()
		switch {
		case err != nil:
			return usageError(s, v.name, err)
		case len(args) == 0:
			return usageError(s, v.name, errors.New("needs a RECORDING"))
		case suite == "" && given.Changed("suite"):
			// A variable that is not set must not turn a suite's gate off.
			return usageError(s, v.name, errors.New("--suite is empty: name a FILE, or leave the flag out for the built-in checks"))
		}
		if err := session.CheckSessionKey(key); err != nil {
			return usageError(s, v.name, fmt.Errorf("--session-key: %w", err))
		}
		if err := talks.check(); err != nil {
			return usageError(s, v.name, err)
		}
		checks, err := loadSuite(suite)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		if checks, err = checks.Override(overrides); err != nil {
			return usageError(s, v.name, fmt.Errorf("--only: %w", err))
		}
		for _, w := range checks.Warnings {
			fmt.Fprintf(s.err, "sixlink grade: %s\n", w)
		}
		g, err := grade.NewGrader(checks, grade.Options{StrictEvidence: strict, RequireWhole: whole, Case: only, Spool: &spool{}})
		if err != nil {
			return usageError(s, v.name, err)
		}
		paths, err := recordings(args)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		if err := gradeFiles(s, v.name, paths, limit, key, &talks, g); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		verdict, err := g.Verdict()
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		var source report.Source
		if o.format != "text" { // whose bytes are those of report without recordings
			source = &recordingSource{paths: verdict.Paths, opts: record.Options{MaxDecompressed: limit}, key: key, talks: &talks}
		}
		if err := o.verdictReport(s, shape, report.Of(verdict), source); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return verdict.ExitCode()
	}
	return v
}

// deliver writes a result to stdout, or to a new file's place, there whole or not at all.
func deliver(stdout io.Writer, path string, write func(w io.Writer) error) error {
	buffered := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 64<<10)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	}
	if path == "" {
		return buffered(stdout)
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // /dev/stderr and the like
		if err != nil {
			return err
		}
		err = buffered(f)
		if err2 := f.Close(); err == nil {
			err = err2
		}
		return err
	}
	return record.WriteFileFrom(path, buffered)
}
