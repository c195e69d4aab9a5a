package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
)

func gradeVerb() *verb {
	var suite, format, out string
	var strict, whole bool
	var limit int64
	var overrides grade.Overrides
	v := &verb{
		name:    "grade",
		args:    "RECORDING...",
		summary: "say how sessions went: which checks hold, and at which link each session stopped being good",
		long: "Without --suite the implicit suite (built-in) gates noToolErrors. Exit code 0: passed; 1: failed; 2: the suite or the\n" +
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
		recs, in := readRecordings(s, v.name, args, limit)
		defer func() {
			for _, r := range recs {
				r.Close()
			}
		}()
		verdict, err := grade.Grade(checks, in, grade.Options{StrictEvidence: strict, RequireWhole: whole})
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		var buf bytes.Buffer
		if format == "json" {
			err = report.JSON(&buf, verdict)
		} else {
			err = report.Text(&buf, verdict, report.Options{Color: out == "" && colours(s.out)})
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

// readRecordings reads all of them. What cannot be read is told, and stays in the
// list with the reason, so that it is never a pass. A file that another one's
// recording goes on in is part of that.
func readRecordings(s stdio, name string, paths []string, limit int64) (recs []*loaded, in []grade.Recording) {
	var read []*loaded
	for _, path := range paths {
		l, err := load(path, record.Options{MaxDecompressed: limit})
		if err != nil {
			fail(s, name, err, 0)
			in = append(in, grade.Recording{ID: contentID(path), Path: path, Unreadable: err.Error()})
			continue
		}
		read = append(read, l)
	}
	for _, l := range read {
		if l.header.Segment > 0 && slices.ContainsFunc(read, func(o *loaded) bool { return o != l && o.has(l.path) }) {
			l.Close()
			continue
		}
		ended(s, name, l.path, l.end)
		recs = append(recs, l)
		in = append(in, grade.Recording{ID: l.header.ID, Path: l.path, Torn: l.end.Torn || l.end.State != record.Sealed,
			Gaps: int(l.end.Gaps), Labels: l.header.Labels, Sessions: l.sessions})
	}
	return recs, in
}

// contentID names a file that cannot be read as a recording by what is in it;
// empty when not even that can be read.
func contentID(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)[:8])
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
