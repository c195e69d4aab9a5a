package main

import (
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

func reportVerb() *verb {
	var o reportOutput
	var suite, key string
	var limit int64
	v := &verb{
		name:    "report",
		args:    "VERDICT [RECORDING...]",
		summary: "show a stored verdict in any format",
		long: "A VERDICT is what grade --format json wrote; - is stdin. With the RECORDINGs, files or folders of them, it shows where each stands, and the calls of what did not pass. " +
			"With --suite, places in the suite's file are shown, as annotations need them. Exit code: that of the verdict.",
		examples: [2]string{
			"sixlink report verdict.json",
			"sixlink report --format junit -o junit.xml verdict.json",
		},
		flags: func(fs *pflag.FlagSet) {
			o.add(fs, reportFormatNames(formats()))
			byFlag(fs, &o.by)
			earlierFlag(fs, &o)
			fs.BoolVarP(&o.verbose, "verbose", "v", false, "show every trial and every row, passed ones too")
			fs.StringVar(&suite, "suite", "", "the suite's `FILE`, to point into it")
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
			return usageError(s, v.name, errors.New("needs a VERDICT"))
		}
		if err := session.CheckSessionKey(key); err != nil {
			return usageError(s, v.name, fmt.Errorf("--session-key: %w", err))
		}
		verdict, done, err := readVerdict(s, args[0])
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		defer done()
		if suite != "" {
			if err := pointInto(s, v.name, verdict, suite); err != nil {
				return fail(s, v.name, err, exitUsage)
			}
		}
		var source report.Source
		if len(args) > 1 {
			paths, err := recordings(args[1:])
			if err != nil {
				return fail(s, v.name, err, exitUsage)
			}
			src := sourceOf(s, v.name, verdict, paths, record.Options{MaxDecompressed: limit}, key)
			verdict.Locate(src.paths)
			source = src
		}
		if err := o.verdictReport(s, shape, verdict, source); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return (&grade.Verdict{Word: verdict.Word}).ExitCode()
	}
	return v
}

// readVerdict reads a verdict's JSON from a file, or from stdin; done lets go of it.
func readVerdict(s stdio, path string) (v *report.Verdict, done func(), err error) {
	if path == "-" {
		sp := &spool{}
		n, err := io.Copy(sp, s.in)
		if err == nil {
			v, err = report.Read(sp, n)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("stdin: %w", err)
		}
		return v, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = errors.New("is no regular file; - reads stdin")
	default:
		v, err = report.Read(f, fi.Size())
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, func() { f.Close() }, nil
}

// pointInto says which files a verdict's places are in. A suite that is no longer the one
// that was graded with would be pointed into at other places.
func pointInto(s stdio, name string, v *report.Verdict, path string) error {
	suite, err := loadSuite(path)
	if err != nil {
		return err
	}
	if suite.Hash != v.SuiteHash {
		fmt.Fprintf(s.err, "sixlink %s: %s is not the suite that was graded with (hash %.12s, and the verdict has %.12s): nothing points into it\n", name, path, suite.Hash, v.SuiteHash)
		return nil
	}
	v.SuiteFiles = suite.Files
	return nil
}
