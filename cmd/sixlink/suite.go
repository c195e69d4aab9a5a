package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
)

// suiteVerb is what there is to do with a suite but grade with it.
func suiteVerb() *verb {
	return &verb{
		name:    "suite",
		summary: "work on a suite before it grades anything",
		subs:    []*verb{suiteCheckVerb()},
	}
}

func suiteCheckVerb() *verb {
	var format, out string
	var limit int64
	v := &verb{
		name:    "suite check",
		args:    "FILE [RECORDING...]",
		summary: "say what a suite does not measure, and what can hardly be meant",
		long: "Looks for links that no check decides, cases that an empty answer passes, checks\n" +
			"that contradict their case, and, in the recordings, for the tools that the suite\n" +
			"names. Nothing is graded. Exit code 0: no findings; 1: findings; 2: the suite\n" +
			"cannot be read; 3: a recording cannot be read.",
		examples: [2]string{
			"sixlink suite check suite.yaml",
			"sixlink suite check --format json suite.yaml r.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&format, "format", "text", "text or json")
			fs.StringVarP(&out, "output", "o", "", "write the result to this `FILE`")
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) == 0:
			return usageError(s, v.name, errors.New("needs a suite's FILE"))
		case format != "text" && format != "json":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json", format))
		}
		suite, err := loadSuite(args[0])
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		catalogs, unread := catalogsOf(s, v.name, args[1:], limit)
		check := grade.CheckSuite(suite, catalogs)
		err = deliver(s.out, out, func(w io.Writer) error {
			if format == "json" {
				return report.SuiteCheckJSON(w, check)
			}
			return report.SuiteCheckText(w, check, report.Options{Color: out == "" && colours(s.out)})
		})
		switch {
		case err != nil:
			return fail(s, v.name, err, exitUnknown)
		case unread:
			return exitUnknown
		case len(check.Findings) > 0:
			return exitFinding
		}
		return exitGood
	}
	return v
}

// catalogsOf reads the tool names of recordings, one recording at a time. What
// cannot be read is told: a name that is missing may be in it.
func catalogsOf(s stdio, name string, paths []string, limit int64) (out []grade.CatalogOf, unread bool) {
	for _, path := range paths {
		l, err := load(path, record.Options{MaxDecompressed: limit})
		if err != nil {
			fail(s, name, err, 0)
			unread = true
			continue
		}
		ended(s, name, l.path, l.end)
		out = append(out, grade.CatalogsOf(&grade.Recording{Labels: l.header.Labels, Sessions: l.sessions}))
		l.Close()
	}
	return out, unread
}
