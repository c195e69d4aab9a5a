package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/grade/report/html"
)

// formats are all that a verdict can be written in: those of package report, then those
// that are packages of their own.
func formats() []report.Format {
	return slices.Concat(report.Formats(), []report.Format{html.Format()})
}

// reportOutput are the flags of a verb that writes reports.
type reportOutput struct {
	format, path string
	verbose      bool
	by           string   // what the matrix is by; empty: none is asked for
	earlier      []string // files and folders with verdicts of runs before, for html
}

// add adds the flags; names are the formats that the verb has.
func (o *reportOutput) add(fs *pflag.FlagSet, names []string) {
	fs.StringVar(&o.format, "format", "text", "one of "+strings.Join(names, ", "))
	fs.StringVarP(&o.path, "output", "o", "", "write the result to this `FILE`")
}

func reportFormatNames(all []report.Format) []string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	return names
}

// options are those of the report; colours are for terminals alone.
func (o *reportOutput) options(s stdio) report.Options {
	return report.Options{Color: o.path == "" && colours(s.out), Verbose: o.verbose}
}

// deliver writes what write writes, and in the format github the summary of the job
// beside it, which summary writes as Markdown.
func (o *reportOutput) deliver(s stdio, write, summary func(w io.Writer) error) error {
	if err := deliver(s.out, o.path, write); err != nil {
		return err
	}
	if o.format != "github" {
		return nil
	}
	return jobSummary(summary)
}

// jobSummary appends to the summary of the job, where GitHub names a file for it.
func jobSummary(write func(w io.Writer) error) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = write(f)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}

// inRepository names the suite's files from the root of the repository that a job of
// GitHub's works in, which annotations and alerts count from, wherever the job's step is.
func inRepository(files []string) []string {
	root := os.Getenv("GITHUB_WORKSPACE")
	if root == "" {
		return files
	}
	out := slices.Clone(files)
	for i, name := range out {
		abs, err := filepath.Abs(name)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			out[i] = rel
		}
	}
	return out
}

// shape finds the format of a verdict's report; the error is one of usage.
func (o *reportOutput) shape() (report.Format, error) {
	f, err := report.FormatOf(formats(), o.format)
	if err == nil && len(o.earlier) > 0 && o.format != "html" {
		err = errors.New("--earlier is for the format html, and not " + o.format)
	}
	if err != nil || o.by == "" || o.format == "html" { // which shows each matrix anyway
		return f, err
	}
	for _, m := range report.MatrixFormats() {
		if m.Name == o.format {
			return report.Format{Name: m.Name, Write: func(w io.Writer, v *report.Verdict, opts report.Options) error {
				matrix, err := report.MatrixOf(report.By(o.by), v)
				if err != nil {
					return err
				}
				return m.Write(w, matrix, opts)
			}}, nil
		}
	}
	return f, errors.New("--by has the formats text, json, markdown and html, and not " + o.format)
}

// verdictReport writes a verdict.
func (o *reportOutput) verdictReport(s stdio, f report.Format, v *report.Verdict, source report.Source) error {
	if o.format == "github" || o.format == "sarif" {
		v.SuiteFiles = inRepository(v.SuiteFiles)
	}
	opts := o.options(s)
	opts.Source, opts.By = source, report.By(o.by)
	if len(o.earlier) > 0 {
		var err error
		if opts.Earlier, err = earlierRuns(s, v, o.earlier); err != nil {
			return err
		}
	}
	return o.deliver(s, func(w io.Writer) error { return f.Write(w, v, opts) }, func(w io.Writer) error { return report.Markdown(w, v, opts) })
}
