package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// compareFormats are all that a comparison can be written in.
func compareFormats() []report.CompareFormat { return report.CompareFormats() }

func compareVerb() *verb {
	var o reportOutput
	var suite, key, prices string
	var limit int64
	var gates report.Gates
	gates.FailOn = []report.Status{report.Regressed}
	var names []string
	for _, f := range compareFormats() {
		names = append(names, f.Name)
	}
	v := &verb{
		name:    "compare",
		args:    "BASE NEW",
		summary: "say what became of each case from one run to another",
		long: "BASE and NEW are verdicts, as grade --format json wrote them; or, with --suite, recordings or folders of them, which are graded first. " +
			"Gates on whole runs need the same cases and trials on both sides; what they cannot decide is no pass. " +
			"Exit code 0: the gates passed; 1: one failed; 2: usage; 3: one could not be decided, or nothing was comparable.",
		examples: [2]string{
			"sixlink compare old.json new.json",
			"sixlink compare --suite suite.yaml --max-pass-rate-drop 0.05 --max-p95-increase 250ms runs/old runs/new",
		},
		flags: func(fs *pflag.FlagSet) {
			o.add(fs, names)
			fs.BoolVarP(&o.verbose, "verbose", "v", false, "show cases too that went as before")
			fs.StringVar(&suite, "suite", "", "the checks, a YAML or JSON `FILE`; of two verdicts, to point into it")
			fs.Var(&statusesFlag{to: &gates.FailOn}, "fail-on", "the `STATUSES` that fail, comma-separated: "+statusNames()+"; or none")
			fs.Var(&onceFlag{placeholder: "FRACTION", set: func(text string) (err error) { gates.MaxPassRateDrop, err = fraction(text); return err }},
				"max-pass-rate-drop", "the largest drop of the pass rate, as 0.05")
			fs.Var(&onceFlag{placeholder: "TIME", set: func(text string) (err error) { gates.MaxP95IncreaseMs, err = milliseconds(text); return err }},
				"max-p95-increase", "the largest increase of the 95th percentile of the calls' latency, as 250ms")
			fs.IntVar(&gates.MinSamples, "min-samples", 5, "below `N` trials, or timed calls, a gate on a rate, or on latency, is undecidable")
			fs.StringVar(&prices, "prices", "", "compare costs, by a JSON `FILE` of prices of a million tokens: {\"MODEL\": {\"input\": 3, \"output\": 15}}")
			sessionKeyFlag(fs, &key)
			maxDecompressed(fs, &limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		at := slices.IndexFunc(compareFormats(), func(f report.CompareFormat) bool { return f.Name == o.format })
		switch {
		case at < 0:
			return usageError(s, v.name, fmt.Errorf("--format %q is none of %s", o.format, strings.Join(names, ", ")))
		case len(args) != 2:
			return usageError(s, v.name, errors.New("needs BASE and NEW"))
		case gates.MinSamples < 1:
			return usageError(s, v.name, errors.New("--min-samples: expected at least 1"))
		}
		if err := session.CheckSessionKey(key); err != nil {
			return usageError(s, v.name, fmt.Errorf("--session-key: %w", err))
		}
		if prices != "" {
			data, err := readSuite(prices) // by the same bound
			if err == nil {
				if gates.Prices, err = report.ReadPrices(data); err != nil {
					err = fmt.Errorf("%s: %w", prices, err)
				}
			}
			if err != nil {
				return fail(s, v.name, err, exitUsage)
			}
		}
		var sides [2]*report.Verdict
		for i, arg := range args {
			side, done, code := compareSide(s, v.name, arg, suite, limit, key)
			if side == nil {
				return code
			}
			defer done()
			sides[i] = side
		}
		c, err := report.Compare(sides[0], sides[1], gates)
		if err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		c.Base.Name, c.Compare.Name = args[0], args[1]
		if o.format == "github" || o.format == "sarif" {
			c.SuiteFiles = inRepository(c.SuiteFiles)
		}
		err = o.deliver(s, func(w io.Writer) error { return compareFormats()[at].Write(w, c, o.options(s)) },
			func(w io.Writer) error { return report.CompareMarkdown(w, c, o.options(s)) })
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		return c.ExitCode()
	}
	return v
}

// compareSide reads one side of a comparison: a stored verdict, or recordings, which are
// graded. It is nil, with the exit code, when it cannot.
func compareSide(s stdio, name, arg, suite string, limit int64, key string) (*report.Verdict, func(), int) {
	if fi, err := os.Stat(arg); err != nil || !fi.IsDir() && !strings.HasSuffix(arg, record.Suffix) {
		v, done, err := readVerdict(s, arg)
		if err != nil {
			return nil, nil, fail(s, name, err, exitUsage)
		}
		if suite != "" {
			if err := pointInto(s, name, v, suite); err != nil {
				done()
				return nil, nil, fail(s, name, err, exitUsage)
			}
		}
		return v, done, exitGood
	}
	if suite == "" {
		return nil, nil, usageError(s, name, fmt.Errorf("%s: recordings are graded first: name the checks by --suite", arg))
	}
	checks, err := loadSuite(suite)
	if err != nil {
		return nil, nil, fail(s, name, err, exitUsage)
	}
	paths, err := recordings([]string{arg})
	if err != nil {
		return nil, nil, fail(s, name, err, exitUsage)
	}
	g, err := gradeFiles(s, name, paths, limit, key, &talkFlags{}, func() (*grade.Grader, error) {
		return grade.NewGrader(checks, grade.Options{Spool: &spool{}})
	})
	if err != nil {
		return nil, nil, fail(s, name, err, exitUnknown)
	}
	verdict, err := g.Verdict()
	if err != nil {
		return nil, nil, fail(s, name, err, exitUsage)
	}
	return report.Of(verdict), func() {}, exitGood
}

// onceFlag is a flag whose value is read by a function. It may be given once: of two, the
// last would win in silence (grading.md 10.59).
type onceFlag struct {
	placeholder, text string
	set               func(text string) error
}

func (f *onceFlag) String() string { return f.text }
func (f *onceFlag) Type() string   { return f.placeholder }
func (f *onceFlag) Set(text string) error {
	if f.text != "" {
		return errors.New("is given twice")
	}
	f.text = text
	return f.set(text)
}

// fraction reads a share: 5 % is 0.05 (grading.md 7.2).
func fraction(text string) (*float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 1 {
		return nil, errors.New("expected a fraction from 0 to 1, as 0.05")
	}
	return &x, nil
}

// milliseconds reads a time: 250ms, 1.5s, or a number of milliseconds.
func milliseconds(text string) (*float64, error) {
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, errors.New("expected a time, as 250ms")
		}
		ms = float64(d) / float64(time.Millisecond)
	}
	if math.IsNaN(ms) || math.IsInf(ms, 0) || ms < 0 {
		return nil, errors.New("expected a time of at least 0, as 250ms")
	}
	return &ms, nil
}

// statusesFlag is a list of statuses of cases.
type statusesFlag struct {
	to    *[]report.Status
	given bool
}

func (f *statusesFlag) Type() string { return "STATUSES" }
func (f *statusesFlag) String() string {
	if f.to == nil {
		return ""
	}
	var names []string
	for _, s := range *f.to {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

func (f *statusesFlag) Set(text string) error {
	if f.given {
		return errors.New("is given twice")
	}
	f.given = true
	if text == "none" {
		*f.to = nil
		return nil
	}
	var list []report.Status
	for name := range strings.SplitSeq(text, ",") {
		s := report.Status(strings.TrimSpace(name))
		if !slices.Contains(report.Statuses, s) {
			return fmt.Errorf("%q is none of %s, none", name, statusNames())
		}
		list = append(list, s)
	}
	*f.to = list
	return nil
}

func statusNames() string {
	var names []string
	for _, s := range report.Statuses {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
