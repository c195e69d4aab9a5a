package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade/report"
)

// maxMatrixRuns bounds the runs that are open at once for a matrix: the newest.
const maxMatrixRuns = 50

func historyVerb() *verb {
	var o reportOutput
	var by string
	var names []string
	for _, f := range report.HistoryFormats() {
		names = append(names, f.Name)
	}
	v := &verb{
		name:    "history",
		args:    "DIR|VERDICT...",
		summary: "say what the pass rate of each case did over many runs, and where its first break moved",
		long: "A VERDICT is what grade --format json wrote; of a DIR each *.json in it. Runs are put in order by when their newest trial began. " +
			"With --by it shows, of each host, model, server or label, the newest run that has it, and marks those that no newer run has as historical. " +
			"Exit code 0: there is something to show; 2: usage; 3: no verdict could be read.",
		examples: [2]string{
			"sixlink history verdicts/",
			"sixlink history --by host --format markdown verdicts/",
		},
		flags: func(fs *pflag.FlagSet) {
			o.add(fs, names)
			byFlag(fs, &by)
		},
	}
	v.run = func(s stdio, args []string) int {
		at := slices.Index(names, o.format)
		switch {
		case at < 0:
			return usageError(s, v.name, fmt.Errorf("--format %q is none of %s", o.format, strings.Join(names, ", ")))
		case len(args) == 0:
			return usageError(s, v.name, errors.New("needs a DIR, or VERDICTs"))
		}
		paths, err := verdictFiles(args)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		var runs []*report.RunPoint
		for _, path := range paths {
			r, err := runOf(s, path)
			if err != nil { // one that cannot be read hides no other
				fail(s, v.name, err, 0)
				continue
			}
			runs = append(runs, r)
		}
		if len(runs) == 0 {
			return fail(s, v.name, errors.New("no verdict could be read"), exitUnknown)
		}
		h := report.HistoryOf(runs)
		write := func(w io.Writer) error { return report.HistoryFormats()[at].Write(w, h, o.options(s)) }
		if by != "" {
			m, done, err := matrixOverRuns(s, report.By(by), h)
			if err != nil {
				return fail(s, v.name, err, exitUnknown)
			}
			defer done()
			write = func(w io.Writer) error { return report.MatrixFormats()[at].Write(w, m, o.options(s)) }
		}
		if err := o.deliver(s, write, write); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return exitGood
	}
	return v
}

func runOf(s stdio, path string) (*report.RunPoint, error) {
	v, done, err := readVerdict(s, path)
	if err != nil {
		return nil, err
	}
	defer done()
	return report.RunOf(v, path)
}

// matrixOverRuns groups the trials of the newest runs; done lets go of their files.
func matrixOverRuns(s stdio, by report.By, h *report.History) (m *report.Matrix, done func(), err error) {
	var open []func()
	done = func() {
		for _, f := range open {
			f()
		}
	}
	var all []*report.Verdict
	for _, r := range h.Runs[max(0, len(h.Runs)-maxMatrixRuns):] {
		v, closeIt, err := readVerdict(s, r.Name)
		if err != nil {
			done()
			return nil, nil, err
		}
		open = append(open, closeIt)
		all = append(all, v)
	}
	if m, err = report.MatrixOf(by, all...); err != nil {
		done()
		return nil, nil, err
	}
	return m, done, nil
}

// verdictFiles puts the verdicts of a folder in the place of each folder, sorted by name.
func verdictFiles(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		if arg == "-" {
			return nil, errors.New("- is for report: a history is of files")
		}
		if fi, err := os.Stat(arg); err != nil || !fi.IsDir() {
			paths = append(paths, arg)
			continue
		}
		found, err := os.ReadDir(arg) // sorted
		if err != nil {
			return nil, err
		}
		n := len(paths)
		for _, e := range found {
			if strings.HasSuffix(e.Name(), ".json") && e.Type().IsRegular() {
				paths = append(paths, filepath.Join(arg, e.Name()))
			}
		}
		if len(paths) == n {
			return nil, fmt.Errorf("%s: no verdict (*.json) is in this folder", arg)
		}
	}
	return paths, nil
}

// byFlag asks for the matrix.
func byFlag(fs *pflag.FlagSet, by *string) {
	fs.Var(&onceFlag{placeholder: "WHAT", set: func(text string) error {
		b, err := report.ParseBy(text)
		*by = string(b)
		return err
	}}, "by", "a table per case by host, model, server or label:KEY")
}
