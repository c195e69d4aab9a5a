package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/replay/diff"
	"github.com/sixlink/sixlink/replay/key"
)

func diffVerb() *verb {
	var f diffFlags
	var format, out, sessionKey string
	var learn []string
	var verbose bool
	var limit int64
	v := &verb{
		name:    "diff",
		args:    "A B",
		summary: "say what is different between two recordings, and whether it matters",
		long: "A is the recording that is relied on, B the new one. Sessions are paired, then tools, calls and other requests; results are compared as JSON, member by member. " +
			"Differences are breaking, non-breaking or informational (docs/diff-rules.md).\n" +
			"Exit code 0: no difference that --fail-on names; 1: one; 2: the command line is wrong; 3: nothing could be compared, or a recording that is not whole leaves open whether a call is missing.",
		examples: [2]string{
			"sixlink diff yesterday.mcp.jsonl.zst today.mcp.jsonl.zst",
			"sixlink diff --ignore 'list_files:/structuredContent/**/mtime' --fail-on any --format junit -o diff.xml a.mcp.jsonl.zst b.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&format, "format", "text", "text, json, junit or github")
			fs.StringVarP(&out, "output", "o", "", "write the result to this `FILE`")
			f.add(fs)
			fs.StringArrayVar(&learn, "learn", nil, "a `RECORDING` of the same build as A: what differs between those is noise (more than one; repeatable)")
			fs.BoolVarP(&verbose, "verbose", "v", false, "show values whole, and every pair of sessions")
			sessionKeyFlag(fs, &sessionKey)
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) != 2:
			return usageError(s, v.name, errors.New("takes two recordings, A and B"))
		case diffFormats[format] == nil:
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json, junit, github", format))
		}
		if err := session.CheckSessionKey(sessionKey); err != nil {
			return usageError(s, v.name, fmt.Errorf("--session-key: %w", err))
		}
		opts, err := f.options()
		if err != nil {
			return usageError(s, v.name, err)
		}
		open := func(path string) (*diff.Recording, func(), error) {
			l, err := loadByKey(path, record.Options{MaxDecompressed: limit}, sessionKey)
			if err != nil {
				return nil, nil, err
			}
			ended(s, v.name, path, l.end)
			return toDiff(l), func() { l.Close() }, nil
		}
		a, closeA, err := open(args[0])
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer closeA()
		if len(learn) > 0 {
			if opts.Noise, err = learnNoise(a, learn, opts, open); errors.Is(err, diff.ErrBuilds) {
				return fail(s, v.name, fmt.Errorf("--learn: %w", err), exitUsage)
			} else if err != nil {
				return fail(s, v.name, err, exitUnknown)
			}
			if opts.Noise.Full {
				fmt.Fprintf(s.err, "sixlink %s: --learn: more places differ than are kept (%d): what is beyond is reported\n", v.name, opts.Noise.Places())
			}
		}
		b, closeB, err := open(args[1])
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer closeB()
		res, err := diff.Recordings(a, b, opts)
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		err = deliver(s.out, out, func(w io.Writer) error {
			return diffFormats[format](w, res, diff.TextOptions{Color: out == "" && colours(s.out), Verbose: verbose})
		})
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return res.ExitCode()
	}
	return v
}

// diffFormats writes a result, by the name of the format.
var diffFormats = map[string]func(io.Writer, *diff.Result, diff.TextOptions) error{
	"text":   diff.Text,
	"json":   func(w io.Writer, r *diff.Result, _ diff.TextOptions) error { return diff.JSON(w, r) },
	"junit":  func(w io.Writer, r *diff.Result, _ diff.TextOptions) error { return diff.JUnit(w, r) },
	"github": func(w io.Writer, r *diff.Result, _ diff.TextOptions) error { return diff.GitHub(w, r) },
}

// diffFlags are the flags that say what counts as a difference; verify has them too.
type diffFlags struct {
	ignore, args      []string
	match             []string
	tolerance, failOn string
	latency           float64
}

func (f *diffFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.failOn, "fail-on", "breaking", "exit with 1 on breaking, any or none")
	fs.StringArrayVar(&f.ignore, "ignore", nil, "leave out this place in results: a JSON `POINTER` in which * is any segment and ** any number of them, or TOOL:POINTER (repeatable)")
	fs.StringArrayVar(&f.args, "ignore-args", nil, "arguments that do not count when calls are paired: `POINTER` or TOOL:POINTER (repeatable)")
	fs.StringSliceVar(&f.match, "match", diff.DefaultMatchers, "values that may differ, of "+strings.Join(diff.Matchers, ", ")+"; or none")
	fs.StringVar(&f.tolerance, "tolerance", "", "how far numbers in results may be apart: `N`, or N% of the first")
	fs.Float64Var(&f.latency, "latency", 0, "a tool whose median time grew by this `FACTOR` is a breaking difference (0: times are not compared)")
}

func (f *diffFlags) options() (diff.Options, error) {
	opts := diff.Options{Match: f.match, Latency: f.latency, FailOn: diff.FailOn(f.failOn)}
	switch opts.FailOn {
	case diff.FailBreaking, diff.FailAny, diff.FailNone:
	default:
		return opts, fmt.Errorf("--fail-on %q is none of breaking, any, none", f.failOn)
	}
	if !(f.latency == 0 || f.latency >= 1 && f.latency < 1e6) {
		return opts, fmt.Errorf("--latency %v is no factor: write 2 for twice the time", f.latency)
	}
	if err := diff.CheckMatchers(f.match); err != nil {
		return opts, fmt.Errorf("--match: %w", err)
	}
	var err error
	if f.tolerance != "" {
		if opts.Tolerance, err = diff.ParseTolerance(f.tolerance); err != nil {
			return opts, fmt.Errorf("--tolerance: %w", err)
		}
	}
	for _, text := range f.ignore {
		p, err := diff.ParsePointer(text)
		if err != nil {
			return opts, fmt.Errorf("--ignore: %w", err)
		}
		opts.Ignore = append(opts.Ignore, p)
	}
	if opts.Args.Ignore, err = key.ParsePointers(f.args); err != nil {
		return opts, fmt.Errorf("--ignore-args: %w", err)
	}
	return opts, nil
}

// toDiff is a recording as package diff takes it. It must stay open meanwhile.
func toDiff(l *loaded) *diff.Recording {
	return &diff.Recording{ID: l.header.ID, Path: l.path, Level: l.header.Level, Sessions: l.sessions, Clock: l.clock,
		Torn: l.end.Torn || l.end.State != record.Sealed, Gaps: int(l.end.Gaps)}
}

// learnNoise compares recordings of one build, the first with each other one; a single
// one with the recording that is relied on, which is of that build then.
func learnNoise(a *diff.Recording, paths []string, opts diff.Options, open func(string) (*diff.Recording, func(), error)) (*diff.Noise, error) {
	noise := &diff.Noise{}
	first := a
	if len(paths) > 1 {
		r, done, err := open(paths[0])
		if err != nil {
			return nil, err
		}
		defer done()
		first, paths = r, paths[1:]
	}
	for _, path := range paths {
		r, done, err := open(path)
		if err != nil {
			return nil, err
		}
		err = noise.Learn(first, r, opts)
		done()
		if err != nil {
			return nil, err
		}
	}
	return noise, nil
}
