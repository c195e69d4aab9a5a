package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/replay/diff"
)

func verifyVerb() *verb {
	var f rerunFlags
	var d diffFlags
	var suite, format, out, keep string
	var learn []string
	var update bool
	v := &verb{
		name:    "verify",
		args:    "RECORDING... (-- COMMAND [ARG...] | --upstream URL)",
		summary: "put a new build of a server through recorded sessions: run, diff and grade in one",
		long: "Each recording is sent to the new server as replay run does (writes need --allow), what that answers is compared with what is on record as diff does, and both are graded. " +
			"A RECORDING is a file, or a folder: then all recordings in it.\n" +
			"Exit code 0: all was sent, and nothing is different that --fail-on names; 1: a difference, or a check that passed and does not any more; 2: the suite or the command line is wrong; " +
			"3: something was skipped or could not be compared (docs/regression-gate.md).",
		examples: [2]string{
			"sixlink verify recordings/ -- node build/server.js",
			"sixlink verify --allow create_note --suite suite.yaml --update r.mcp.jsonl.zst -- node build/server.js",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&suite, "suite", "", "the checks, a YAML or JSON `FILE` (default: the built-in ones)")
			fs.BoolVar(&update, "update", false, "show what changes, then put the new recordings in the place of those that differ")
			fs.StringVar(&keep, "keep", "", "keep the new recordings in this `DIR`")
			fs.StringVar(&format, "format", "text", "text or json")
			fs.StringVarP(&out, "output", "o", "", "write the report to this `FILE`")
			f.register(fs)
			d.add(fs)
			fs.StringArrayVar(&learn, "learn", nil, "a `RECORDING` of the build that was recorded: what differs between it and the recordings is noise (repeatable)")
		},
	}
	v.run = func(s stdio, args []string) int {
		paths, command := splitAtDash(v.set, args)
		switch {
		case len(paths) == 0:
			return usageError(s, v.name, errors.New("needs a RECORDING, and the new server's command behind --"))
		case format != "text" && format != "json":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json", format))
		case suite == "" && v.set.Changed("suite"):
			// A variable that is not set must not turn a suite's gate off.
			return usageError(s, v.name, errors.New("--suite is empty: name a FILE, or leave the flag out for the built-in checks"))
		}
		t, err := f.check(command)
		if err != nil {
			return usageError(s, v.name, err)
		}
		opts, err := d.options()
		if err != nil {
			return usageError(s, v.name, err)
		}
		checks, err := loadSuite(suite)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		for _, w := range checks.Warnings {
			fmt.Fprintf(s.err, "sixlink %s: %s\n", v.name, w)
		}
		if paths, err = recordings(paths); err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		for i, path := range paths {
			if sameFile(paths[:i], path) {
				return usageError(s, v.name, fmt.Errorf("%s is given twice", path))
			}
		}
		dir, done, err := newRecordings(keep)
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer done()
		ctx, stop := stopped()
		defer stop()
		r := &verification{schema: verifySchema}
		for i, path := range paths {
			r.add(f.verify(ctx, s, v.name, path, t, filepath.Join(dir, newName(paths, i)), keep == "", opts, learn))
			if ctx.Err() != nil {
				break
			}
		}
		if err = r.grade(s, v.name, checks, f.limit, f.key); err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		r.decide()
		var called []string
		for _, one := range r.all {
			called = append(called, one.tools...)
		}
		if err := f.onlyCalled(called); err != nil {
			r.reasons = append(r.reasons, reason{nil, err.Error()})
			r.code = cmp.Or(r.code, exitUnknown)
		}
		show := func() error {
			return deliver(s.out, out, func(w io.Writer) error {
				if format == "json" {
					return r.json(w)
				}
				return r.text(w, diff.TextOptions{Color: out == "" && colours(s.out), Verbose: f.verbose}, f.verbose)
			})
		}
		// What changes is shown before anything does.
		if err = show(); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		if !update {
			return r.code
		}
		if ctx.Err() != nil {
			return fail(s, v.name, errors.New("interrupted: no recording was replaced"), exitUnknown)
		}
		return r.update(s, v.name)
	}
	return v
}

// newRecordings is the folder for the new recordings; done removes it, unless it is kept.
func newRecordings(keep string) (dir string, done func(), err error) {
	if keep != "" {
		return keep, func() {}, os.MkdirAll(keep, 0o700)
	}
	dir, err = os.MkdirTemp("", "sixlink-verify-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// newName is a recording's name among the new ones: its own, unless two have that.
func newName(paths []string, i int) string {
	base := filepath.Base(paths[i])
	for k, p := range paths {
		if k != i && filepath.Base(p) == base {
			return fmt.Sprintf("%d-%s", i+1, base)
		}
	}
	return base
}

// verified is one recording and its new one.
type verified struct {
	path  string
	id    string
	tools []string // that it calls
	run   *rerun
	diff  *diff.Result
	err   error // it could not be driven or compared
	files []string
	live  bool // somebody writes it
}

// verify drives one recording and compares what came.
func (f *rerunFlags) verify(ctx context.Context, s stdio, name, path string, t *target, out string, temporary bool, opts diff.Options, learn []string) *verified {
	v := &verified{path: path}
	src, err := f.open(s, name, path)
	if err != nil {
		v.err = err
		return v
	}
	defer src.Close()
	v.tools = src.plan.Tools()
	v.id, v.files, v.live = src.header.ID, src.reader.Files(), src.end.State == record.Live
	if v.run, v.err = f.rerun(ctx, s, name, src, t, out); v.err != nil {
		return v
	}
	l, err := loadByKey(v.run.path, record.Options{MaxDecompressed: f.limit}, f.key)
	if err != nil {
		v.err = err
		return v
	}
	defer l.Close()
	report := v.run.report
	report.New = l.header.ID
	opts.Sent, opts.Skipped, opts.Tainted, opts.Same = report.IDs(), report.Unsent(false), report.Tainted(), report.Same()
	opts.LeftOut = report.Unsent(true)
	a := toDiff(src.loaded)
	if f.opts.Session != "" {
		a.Sessions = slices.DeleteFunc(slices.Clone(a.Sessions), func(s *session.Session) bool { return s.ID != f.opts.Session })
	}
	if len(learn) > 0 {
		if opts.Noise, v.err = learnNoise(a, learn, opts, f.toLearn); v.err != nil {
			return v
		}
	}
	b := toDiff(l)
	if temporary {
		b.Path = "what the new server answered"
	}
	v.diff, v.err = diff.Recordings(a, b, opts)
	return v
}

// toLearn opens a recording that noise is learned from.
func (f *rerunFlags) toLearn(path string) (*diff.Recording, func(), error) {
	l, err := loadByKey(path, record.Options{MaxDecompressed: f.limit}, f.key)
	if err != nil {
		return nil, nil, err
	}
	return toDiff(l), l.Close, nil
}

// update puts the new recordings in the place of those that differ: all of them, or
// none where one cannot be.
func (r *verification) update(s stdio, name string) int {
	var from, to []string
	for _, v := range r.all {
		switch {
		case v.err != nil:
			return fail(s, name, fmt.Errorf("no recording was replaced: %s could not be verified", v.path), exitUnknown)
		case v.run.report.Partial:
			return fail(s, name, fmt.Errorf("no recording was replaced: the run of %s is partial, the new one lacks what was not sent (--allow)", v.path), exitUnknown)
		case v.live:
			return fail(s, name, fmt.Errorf("no recording was replaced: %s is being written", v.path), exitUnknown)
		case len(v.files) > 1:
			return fail(s, name, fmt.Errorf("no recording was replaced: %s goes on in other files; sixlink repair makes one of them", v.path), exitUnknown)
		}
		if len(v.diff.Findings) > 0 || v.diff.ExitCode() != exitGood {
			from, to = append(from, v.run.path), append(to, v.path)
		}
	}
	if len(to) == 0 && r.code == exitFinding {
		// A check that regressed without any difference: there is nothing to accept.
		return r.code
	}
	if err := replaceAll(from, to); err != nil {
		return fail(s, name, err, exitUnknown)
	}
	for _, path := range to {
		fmt.Fprintf(s.err, "sixlink %s: %s is the new recording now\n", name, path)
	}
	if len(to) == 0 {
		fmt.Fprintf(s.err, "sixlink %s: nothing is different: no recording was replaced\n", name)
	}
	return exitGood
}

// replaceAll puts files in the place of others. All are copied before the first is
// replaced, each in one step.
func replaceAll(from, to []string) error {
	var copies []string
	defer func() {
		for _, c := range copies {
			os.Remove(c) // nothing is there after the rename
		}
	}()
	targets := slices.Clone(to)
	for i := range from {
		at, err := filepath.EvalSymlinks(to[i])
		if err != nil {
			return err
		}
		targets[i] = at
		c, err := copyBeside(from[i], at)
		if c != "" {
			copies = append(copies, c)
		}
		if err != nil {
			return fmt.Errorf("no recording was replaced: %w", err)
		}
	}
	for i, c := range copies {
		if err := os.Rename(c, targets[i]); err != nil {
			return fmt.Errorf("%s of %d were replaced: %w", count(int64(i), "recording"), len(copies), err)
		}
	}
	return nil
}

// copyBeside copies a file to a new one in the folder of another; it is on disk then.
func copyBeside(from, beside string) (path string, err error) {
	src, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer src.Close()
	dst, err := os.CreateTemp(filepath.Dir(beside), ".sixlink-verify-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = io.Copy(dst, src)
	return dst.Name(), errors.Join(err, dst.Sync(), dst.Close())
}
