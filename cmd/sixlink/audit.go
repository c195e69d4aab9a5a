package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

func auditVerb() *verb {
	var f auditFlags
	v := &verb{
		name:    "audit",
		args:    "PATH...",
		summary: "sum up any number of recordings: who spoke with what, which tools fail, at which link, and how catalogs drift",
		long: "A PATH is a recording, or a folder: then all recordings in it and in the folders below. Without --suite the built-in check (noToolErrors) grades. What could not be measured is counted beside each total (docs/audit.md).\n" +
			"Exit code 0: all that was given was read; 2: the command line, the suite or the state file is wrong; 3: nothing was measured, or a recording cannot be read.",
		examples: [2]string{
			"sixlink audit --since 7d ~/.local/state/sixlink",
			"sixlink audit --suite suite.yaml --by tool,version --resume audit.state --format html -o monday.html recordings/",
		},
		flags: f.add,
	}
	v.run = func(s stdio, args []string) int {
		a, err := f.prepare(args, time.Now())
		if err != nil {
			return usageError(s, v.name, err)
		}
		if a.suite, err = loadSuite(f.suite); err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		for _, w := range a.suite.Warnings {
			if f.suite != "" {
				fmt.Fprintf(s.err, "sixlink audit: %s\n", w)
			}
		}
		return a.run(s, v.name)
	}
	return v
}

// auditFlags are the flags of audit.
type auditFlags struct {
	suite, format, out, resume string
	since, until, by, key      string
	labels                     []string
	filter                     audit.Filter
	limit                      int64
	verbose                    bool
	given                      *pflag.FlagSet
}

var auditFormats = []string{"text", "json", "html", "parquet"}

func (f *auditFlags) add(fs *pflag.FlagSet) {
	f.given = fs
	fs.StringVar(&f.suite, "suite", "", "grade by these checks, a YAML or JSON `FILE`")
	fs.StringVar(&f.since, "since", "", "sessions that began at this `TIME` or later: 2026-11-30, 2026-11-30T08:00:00Z, or 7d or 12h ago")
	fs.StringVar(&f.until, "until", "", "sessions that began before this `TIME`")
	fs.StringArrayVar(&f.labels, "label", nil, "recordings with this label, `K=V` (repeatable: all of them)")
	fs.StringArrayVar(&f.filter.Servers, "server", nil, "sessions with the server of this `NAME`, the label server or its own (repeatable: any of them)")
	fs.StringArrayVar(&f.filter.Tools, "tool", nil, "calls of the tool of this `NAME` (repeatable: any of them)")
	fs.StringArrayVar(&f.filter.Hosts, "host-name", nil, "sessions of the host that calls itself `NAME` (repeatable: any of them)")
	fs.StringVar(&f.by, "by", "", "group calls by these `WORDS` too: "+strings.Join(audit.DimensionNames(), ", ")+", label:KEY; commas between them")
	fs.StringVar(&f.resume, "resume", "", "go on from what this state `FILE` has counted, and keep it there")
	fs.StringVar(&f.format, "format", "text", strings.Join(auditFormats[:3], ", ")+" or parquet")
	fs.StringVarP(&f.out, "output", "o", "", "write the result to this `FILE`; for parquet: tables into this folder")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show every tool, change and name in text")
	sessionKeyFlag(fs, &f.key)
	maxDecompressed(fs, &f.limit)
}

// prepare checks the command line. now is what times ago are counted from.
func (f *auditFlags) prepare(args []string, now time.Time) (*auditRun, error) {
	switch {
	case len(args) == 0:
		return nil, errors.New("needs a PATH")
	case !slices.Contains(auditFormats, f.format):
		return nil, fmt.Errorf("--format %q is none of %s", f.format, strings.Join(auditFormats, ", "))
	case f.format == "parquet" && f.out == "":
		return nil, errors.New("--format parquet needs -o FOLDER")
	case f.suite == "" && f.given.Changed("suite"):
		return nil, errors.New("--suite is empty: name a FILE, or leave the flag out for the built-in checks")
	case f.resume == "" && f.given.Changed("resume"):
		return nil, errors.New("--resume is empty: name a FILE, or leave the flag out")
	}
	if err := session.CheckSessionKey(f.key); err != nil {
		return nil, fmt.Errorf("--session-key: %w", err)
	}
	a := &auditRun{auditFlags: f, args: args}
	var err error
	if f.filter.Since, err = timeFlag(f.since, now); err != nil {
		return nil, fmt.Errorf("--since %w", err)
	}
	if f.filter.Until, err = timeFlag(f.until, now); err != nil {
		return nil, fmt.Errorf("--until %w", err)
	}
	if f.filter.Until != 0 && f.filter.Until <= f.filter.Since {
		return nil, errors.New("--until is not after --since")
	}
	for _, l := range f.labels {
		k, v, is := strings.Cut(l, "=")
		if !is || k == "" {
			return nil, fmt.Errorf("--label %q is not K=V", l)
		}
		if f.filter.Labels == nil {
			f.filter.Labels = map[string]string{}
		}
		f.filter.Labels[k] = v
	}
	if f.given.Changed("by") {
		if a.by, err = audit.ParseBy(f.by); err != nil {
			return nil, fmt.Errorf("--by: %w", err)
		}
	}
	for _, names := range []*[]string{&f.filter.Servers, &f.filter.Tools, &f.filter.Hosts} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	return a, nil
}

// timeFlag reads a time, or how long ago one was; 0: none is given.
func timeFlag(text string, now time.Time) (audit.Time, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixNano(), nil
		}
	}
	ago := text
	days := 0
	if n, is := strings.CutSuffix(text, "d"); is {
		if _, err := fmt.Sscanf(n, "%d", &days); err != nil || days <= 0 || days > 36500 || fmt.Sprint(days) != n {
			return 0, fmt.Errorf("%q is no time: write 2026-11-30, 2026-11-30T08:00:00Z, 7d or 12h", text)
		}
		return now.Add(-time.Duration(days) * 24 * time.Hour).UnixNano(), nil
	}
	d, err := time.ParseDuration(ago)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time: write 2026-11-30, 2026-11-30T08:00:00Z, 7d or 12h", text)
	}
	return now.Add(-d).UnixNano(), nil
}

// auditRun is one audit.
type auditRun struct {
	*auditFlags
	args  []string
	by    []audit.Dimension
	suite *grade.Suite
	state *audit.State
	meter *audit.Meter
	paths map[string]string // of recordings, by id
	trees *auditTables      // nil: none are written
}

func (a *auditRun) run(s stdio, name string) int {
	var err error
	if a.meter, err = audit.NewMeter(a.suite, a.filter); err != nil {
		return fail(s, name, err, exitUsage)
	}
	a.state = a.fresh()
	if a.resume != "" {
		if err := a.load(); err != nil {
			return fail(s, name, fmt.Errorf("--resume %s: %w", a.resume, err), exitUsage)
		}
	}
	paths, err := auditPaths(a.args)
	if err != nil {
		return fail(s, name, err, exitUsage)
	}
	if a.format == "parquet" {
		if a.trees, err = newAuditTables(a.out); err != nil {
			return fail(s, name, err, exitUsage)
		}
		defer a.trees.abandon()
	}
	later, err := a.files(s, name, paths)
	if err != nil {
		return fail(s, name, err, exitUnknown)
	}
	if a.resume != "" {
		if err := a.save(); err != nil {
			return fail(s, name, fmt.Errorf("--resume: %w", err), exitUnknown)
		}
	}
	// What may still change is in this report, and never in the state.
	for _, m := range later {
		a.state.Totals.Add(m, a.by)
	}
	r := a.state.Totals.Report(a.state.Suite, a.state.Scope, a.by)
	r.Paths = a.paths
	if a.trees != nil {
		err = a.trees.finish(r)
		if err == nil {
			fmt.Fprintf(s.out, "%s\n", a.trees.said())
		}
	} else {
		err = deliver(s.out, a.out, func(w io.Writer) error {
			switch a.format {
			case "json":
				return audit.JSON(w, r)
			case "html":
				return report.AuditHTML(w, r)
			}
			return report.AuditText(w, r, report.Options{Color: a.out == "" && colours(s.out), Verbose: a.verbose})
		})
	}
	if err != nil {
		return fail(s, name, err, exitUnknown)
	}
	if r.Sessions.Total == 0 || r.Recordings.Skipped[audit.SkipUnreadable] > 0 {
		return exitUnknown
	}
	return exitGood
}

// fresh is the state before anything is counted.
func (a *auditRun) fresh() *audit.State {
	f := &a.filter
	stamp := func(t audit.Time) string {
		if t == 0 {
			return ""
		}
		return time.Unix(0, t).UTC().Format(time.RFC3339Nano)
	}
	s := &audit.State{Schema: audit.StateSchema, AnalyzerVersion: chain.AnalyzerVersion, Suite: audit.SuiteRef{ID: a.suite.ID, Hash: a.suite.Hash},
		Scope: audit.Scope{Since: stamp(f.Since), Until: stamp(f.Until), Labels: f.Labels, Servers: f.Servers, Tools: f.Tools, Hosts: f.Hosts, SessionKey: a.key}}
	s.By = []string{}
	for _, d := range a.by {
		s.By = append(s.By, d.Name)
	}
	return s
}

// load reads the state file, when it is there.
func (a *auditRun) load() error {
	f, err := os.Open(a.resume)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, audit.MaxState+1))
	if err != nil {
		return err
	}
	if len(data) > audit.MaxState {
		return fmt.Errorf("it is longer than %d bytes", audit.MaxState)
	}
	s, err := audit.ReadState(data)
	if err != nil {
		return err
	}
	if err := s.Fits(a.state); err != nil {
		return err
	}
	s.Sort()
	a.state = s
	return nil
}

// save keeps the state, whole or not at all.
func (a *auditRun) save() error {
	return record.WriteFileFrom(a.resume, func(w io.Writer) error { return a.state.Write(w) })
}
