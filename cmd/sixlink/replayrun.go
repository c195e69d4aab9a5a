package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/proxy/bridge"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
	replayrun "github.com/sixlink/sixlink/replay/run"
)

// rerunFlags are those of the verbs that drive a recording against a new server.
type rerunFlags struct {
	opts     replayrun.Options
	rate     float64
	upstream string
	ca       string
	headers  []string
	key      string
	limit    int64
	verbose  bool
}

func (f *rerunFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.upstream, "upstream", "", "the `URL` of the new server, where it speaks HTTP")
	fs.StringSliceVar(&f.opts.Allow, "allow", nil, "send these `TOOLS` (or methods), too, whatever they write; recorded consent is replayed for them (comma-separated, may be repeated)")
	fs.BoolVar(&f.opts.AllowIdempotent, "allow-idempotent", false, "send tools, too, that both catalogs call idempotent and not destructive")
	fs.BoolVar(&f.opts.AllowAll, "allow-all", false, "send every recorded call, whatever it writes or deletes")
	fs.StringArrayVar(&f.opts.Only, "only", nil, "send calls of this `TOOL` alone (may be repeated)")
	fs.StringVar(&f.opts.Session, "session", "", "send this session alone: `N` as show counts them, from 1")
	fs.BoolVar(&f.opts.Sequential, "sequential", false, "wait for each answer before the next request")
	fs.Float64Var(&f.rate, "rate", 5, "send at most `N` requests a second; 0: as fast as the server answers")
	fs.DurationVar(&f.opts.Timeout, "timeout", 30*time.Second, "how long an answer is waited for; ten times the recorded time where that is longer")
	fs.StringArrayVar(&f.headers, "header", nil, "send the header field `'K: V'` with every request to --upstream; V may be env:NAME or @FILE (may be repeated)")
	fs.StringVar(&f.ca, "ca", "", "trust the certificates in this PEM `FILE`, too, when connecting to --upstream")
	sessionKeyFlag(fs, &f.key)
	maxDecompressed(fs, &f.limit)
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show every request, and what the new server writes to stderr")
}

// target is the new server: a command, or where it is.
type target struct {
	command  []string
	upstream *url.URL
	fields   []bridge.Field
	http     httpFlags
}

var errNoServer = errors.New("needs the new server: -- COMMAND, or --upstream URL")

// check reads what the flags say of the new server.
func (f *rerunFlags) check(command []string) (*target, error) {
	t := &target{command: command, http: httpFlags{ca: f.ca}}
	switch {
	case len(command) > 0 && f.upstream != "":
		return nil, errors.New("takes -- COMMAND or --upstream URL, not both")
	case f.upstream == "" && (len(f.headers) > 0 || f.ca != ""):
		return nil, errors.New("--header and --ca need --upstream URL")
	case f.rate < 0:
		return nil, errors.New("--rate is less than nothing; 0 sends as fast as the server answers")
	case f.opts.Timeout <= 0:
		return nil, errors.New("--timeout must be more than nothing")
	}
	f.opts.Rate, f.opts.Client, f.opts.Version = f.rate, "sixlink", versionString()
	if s := f.opts.Session; s != "" && s[0] != 's' {
		f.opts.Session = "s" + s
	}
	if err := session.CheckSessionKey(f.key); err != nil {
		return nil, fmt.Errorf("--session-key: %w", err)
	}
	if f.upstream == "" {
		if len(command) == 0 {
			return nil, errNoServer
		}
		return t, nil
	}
	var err error
	if t.upstream, err = url.Parse(f.upstream); err == nil {
		err = bridge.Check(t.upstream)
	}
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // the URL may hold a password
		}
		return nil, fmt.Errorf("--upstream: %w", err)
	}
	for _, h := range f.headers {
		field, err := parseHeader(h)
		if err != nil {
			return nil, err
		}
		t.fields = append(t.fields, field)
	}
	return t, nil
}

// source is a recording that is to be driven, with what the plan needs of it.
type source struct {
	*loaded
	plan *replayrun.Plan
}

// open reads a recording and plans what is sent of it.
func (f *rerunFlags) open(s stdio, name, path string) (*source, error) {
	masks, err := masksOf(path, f.limit)
	if err != nil {
		return nil, err
	}
	l, err := loadByKey(path, record.Options{MaxDecompressed: f.limit}, f.key)
	if err != nil {
		return nil, err
	}
	ended(s, name, path, l.end)
	p, err := replayrun.NewPlan(&replayrun.Recording{ID: l.header.ID, Sessions: l.sessions, Masked: masks}, f.opts)
	if err == nil && len(p.Steps) == 0 {
		err = fmt.Errorf("%s: no request of a client is in it: there is nothing to send", path)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return &source{l, p}, nil
}

// onlyCalled tells that --only names no tool that any of the recordings calls: nothing
// would be sent, and nothing could be found.
func (f *rerunFlags) onlyCalled(called []string) error {
	if len(f.opts.Only) == 0 {
		return nil
	}
	for _, t := range f.opts.Only {
		if slices.Contains(called, t) {
			return nil
		}
	}
	slices.Sort(called)
	is := "no tool is called in what is recorded"
	if called = slices.Compact(called); len(called) > 0 {
		is = "recorded are calls of " + visible.String(strings.Join(called[:min(len(called), 20)], ", "))
	}
	return fmt.Errorf("--only %s: %s", strings.Join(f.opts.Only, ", "), is)
}

// masksOf finds the messages that hold replaced credentials.
func masksOf(path string, limit int64) (*replayrun.Masks, error) {
	r, err := record.Open(path, record.Options{MaxDecompressed: limit, Reuse: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := &replayrun.Masks{}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return m, nil
		} else if err != nil {
			return nil, err
		}
		m.Add(rec)
	}
}

// rerun is a run and its new recording.
type rerun struct {
	report *replayrun.Report
	path   string // of the new recording
}

// rerun drives the recording against the new server; what passes is recorded at out,
// or where recordings go. The error says that there is no recording to compare.
func (f *rerunFlags) rerun(ctx context.Context, s stdio, name string, src *source, t *target, out string) (*rerun, error) {
	// As for record: the recorder's thread must not take the relay's place.
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	clean := func(l string) string { return l }
	line := &progress{}
	if !f.verbose { // then the server's own lines are there
		line = newProgress(s.err, time.Now())
	}
	var saying sync.Mutex // the relay's goroutines say things, too
	say := func(l string) {
		saying.Lock()
		defer saying.Unlock()
		line.clear()
		fmt.Fprintf(s.err, "sixlink %s: %s\n", name, clean(l))
	}
	defer func() {
		saying.Lock()
		defer saying.Unlock()
		line.clear()
	}()
	src.plan.Progress = func(done, total int) {
		saying.Lock()
		defer saying.Unlock()
		line.tell(time.Now(), "%s: %d of %d requests", visible.String(filepath.Base(src.path)), done, total)
	}
	if f.opts.AllowAll {
		say("--allow-all: EVERY recorded call is sent to the new server, also those that write or delete")
	}
	rf := recordFlags{level: "full", max: "1GiB", out: out, outSet: out != ""}
	cfg, homeless, err := rf.config(t.command)
	if err = errors.Join(err, homeless); err != nil {
		return nil, err
	}
	cfg.Labels = src.header.Labels // a suite finds its case by them
	cfg.Notice = say
	var relay relayed
	if t.upstream != nil {
		relay, err = newHTTPRelay(t, &cfg)
	} else {
		relay, err = newStdioRelay(t, s.err, f.verbose)
	}
	if err != nil {
		return nil, err
	}
	rec, err := record.Begin(cfg)
	if err != nil {
		relay.end()
		return nil, fmt.Errorf("the new recording could not start: %w", err)
	}
	if cfg.Masker != nil {
		clean = cfg.Masker.String
	}
	relay.begin(rec, say, clean)
	report, err := src.plan.Run(ctx, relay.open)
	relay.end()
	rec.Close(record.SealLimit)
	if err != nil {
		return nil, err
	}
	if rec.Lossy() {
		report.Partial = true
		report.Notes = append(report.Notes, "the new recording is not whole")
	}
	return &rerun{report, rec.Path()}, nil
}

// stopped is a context that ends with the signals that end programs.
func stopped() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// splitAtDash takes the new server's command, which stands behind "--", from the arguments.
func splitAtDash(fs *pflag.FlagSet, args []string) (recordings, command []string) {
	if n := fs.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

func replayRunVerb() *verb {
	var f rerunFlags
	var out, format string
	var dry bool
	v := &verb{
		name:    "replay run",
		args:    "RECORDING (-- COMMAND [ARG...] | --upstream URL)",
		summary: "send what the host sent in a recording to a new server, and record what that answers",
		long: "By default only what cannot write is sent: tools that both servers' catalogs call read-only, and the methods that read. All else is skipped and listed, and makes the run partial (exit 3). " +
			"Values that the server mints (session and task ids, cursors, ids in results that later arguments used) are carried from the new answers to the later requests, and listed. " +
			"Parallel requests stay parallel; an answer is waited for before what was sent after it.\n" +
			"Exit code 0: all was sent and answered; 2: the command line is wrong; 3: something was skipped or not answered, or a recording cannot be read.",
		examples: [2]string{
			"sixlink replay run --dry-run r.mcp.jsonl.zst -- node build/server.js",
			"sixlink replay run --allow create_note -o new.mcp.jsonl.zst r.mcp.jsonl.zst -- node build/server.js",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVarP(&out, "output", "o", "", "record to this `FILE`; if it exists, to a numbered one beside it (default: where record puts recordings)")
			fs.BoolVar(&dry, "dry-run", false, "say what would be sent, what skipped, and why; start nothing")
			fs.StringVar(&format, "format", "text", "text or json")
			f.register(fs)
		},
	}
	v.run = func(s stdio, args []string) int {
		paths, command := splitAtDash(v.set, args)
		if len(paths) != 1 {
			return usageError(s, v.name, errors.New("takes one RECORDING, and the new server's command behind --"))
		}
		if format != "text" && format != "json" {
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json", format))
		}
		t, err := f.check(command)
		if err != nil && !(dry && errors.Is(err, errNoServer)) { // a plan needs none
			return usageError(s, v.name, err)
		}
		src, err := f.open(s, v.name, paths[0])
		if err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		defer src.Close()
		if err := f.onlyCalled(src.plan.Tools()); err != nil {
			return fail(s, v.name, err, exitUsage)
		}
		r := &rerun{}
		if dry {
			r.report = src.plan.Dry()
		} else {
			ctx, stop := stopped()
			defer stop()
			if r, err = f.rerun(ctx, s, v.name, src, t, out); err != nil {
				return fail(s, v.name, err, exitUnknown)
			}
			if r.report.New, err = recordingID(r.path, f.limit); err != nil {
				return fail(s, v.name, err, exitUnknown)
			}
		}
		w := bufio.NewWriter(s.out)
		if format == "json" {
			err = writeJSON(w, r.report)
		} else {
			runText(w, r.report, dry, f.verbose || dry)
			if r.path != "" {
				fmt.Fprintf(w, "new recording: %s\n", filepath.Clean(r.path))
			}
		}
		if err = errors.Join(err, w.Flush()); err != nil {
			return fail(s, v.name, err, exitUnknown)
		}
		if r.report.Partial || r.report.Sent == 0 {
			return exitUnknown
		}
		return exitGood
	}
	return v
}

// writeJSON writes a report: keys in a fixed order, nothing that a terminal would obey.
func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeHidden(b), '\n'))
	return err
}

// recordingID reads the id of a recording.
func recordingID(path string, limit int64) (string, error) {
	r, err := record.Open(path, record.Options{MaxDecompressed: limit})
	if err != nil {
		return "", err
	}
	defer r.Close()
	return r.Header().ID, nil
}
