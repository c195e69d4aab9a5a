package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
)

// recordFlags are the record verb's flags.
type recordFlags struct {
	out, dir string
	outSet   bool
	dirSet   bool
	labels   []string
	level    string
	lossless bool
	require  bool
	max      string
	limits   limitFlags
	quiet    bool
	log      string
	verbose  bool
	http     httpFlags
	bridge   bridgeFlags
	admin    adminFlags
}

func recordVerb() *verb {
	var f recordFlags
	v := &verb{
		name:    "record",
		args:    "[--] COMMAND [ARG...] | --listen ADDR --upstream URL | --stdio --upstream URL",
		summary: "run an MCP server, or stand before one, and record what passes between it and the host",
		long: "Put it in front of the server's command in the host's configuration. The traffic does not change by a byte; record\n" +
			"ends as the server ended (127: not found, 126: not executable). A server that speaks HTTP is put behind --listen and\n" +
			"--upstream: every path goes to the same path there; TERM ends it with code 0, after --drain. With --stdio and\n" +
			"--upstream a host that speaks stdio uses a server that speaks HTTP: each line is a POST, answers come back as lines.\n" +
			"Without --out or --dir recordings go to $SIXLINK_HOME, else $XDG_STATE_HOME/sixlink, else ~/.local/state/sixlink.",
		examples: [2]string{
			"sixlink record --out r.mcp.jsonl.zst --label server=files -- npx -y @modelcontextprotocol/server-filesystem .",
			"sixlink record --listen 127.0.0.1:8080 --upstream https://mcp.example.com/mcp",
		},
		child: true,
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&f.out, "out", "", "record to this `FILE`; if it exists, to a numbered one beside it")
			fs.StringVar(&f.dir, "dir", "", "record to a new file in this `DIR`, made when it is missing")
			fs.StringArrayVar(&f.labels, "label", nil, "keep `k=v` with the recording; case, trial and server have a meaning (may be repeated)")
			fs.StringVar(&f.level, "level", "full", "what is kept: full (all but known credentials) or raw (those too)")
			fs.BoolVar(&f.lossless, "lossless", false, "let traffic wait rather than lose a record")
			fs.BoolVar(&f.require, "require-recording", false, "do not run the server when it cannot be recorded")
			fs.StringVar(&f.max, "max-recording", "1GiB", "keep at most this `SIZE` (packed) of one recording")
			f.limits.register(fs)
			fs.BoolVar(&f.quiet, "quiet", false, "say nothing on stderr")
			fs.StringVar(&f.log, "log-format", "text", "how lines on stderr are written: text, or json (an object each: time, level, msg)")
			fs.BoolVarP(&f.verbose, "verbose", "v", false, "say on stderr where the recording is")
			f.http.flags(fs)
			f.admin.register(fs)
			f.bridge.register(fs)
		},
	}
	v.run = func(s stdio, args []string) int {
		f.outSet, f.dirSet = v.set.Changed("out"), v.set.Changed("dir")
		if err := f.bridge.check(&f.http, args); err != nil {
			return usageError(s, v.name, err)
		}
		if f.log != "text" && f.log != "json" {
			return usageError(s, v.name, fmt.Errorf("--log-format %q is none of text, json", f.log))
		}
		if err := f.admin.check(); err != nil {
			return usageError(s, v.name, err)
		}
		if f.bridge.stdio {
			return runBridge(s, v.name, f)
		}
		return runRecord(s, v.name, f, args)
	}
	return v
}

func runRecord(s stdio, name string, f recordFlags, command []string) int {
	if f.http.asked() {
		return runRecordHTTP(s, name, f, command)
	}
	if len(command) == 0 {
		return usageError(s, name, errors.New("needs the server's COMMAND"))
	}
	cfg, homeless, err := f.config(command)
	if err != nil {
		return usageError(s, name, err)
	}
	// The recorder's thread may hold a processor's worth of Go while it waits for
	// time nobody else wants; the relay must not run short of them (recorder.md 1.2).
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	// What the recorder keeps in memory is bounded at about half of this; without
	// a limit the collector lets garbage grow to as much again.
	debug.SetMemoryLimit(72 << 20)
	say := newSayer(s.err, f.quiet, f.log == "json")
	if cfg.Masker != nil {
		say.clean = cfg.Masker.String // the name of a program may hold one, too
	}
	cfg.Notice = say.line
	// From here on a signal is the server's, also while the recording begins.
	signals, stop := proxy.Signals()
	rec, ok := f.begin(say, cfg, homeless, "the server runs without", "the server was not started")
	if !ok {
		return exitUnknown
	}
	relay := &proxy.Stdio{Command: command, Note: say.line}
	if rec != nil {
		relay.Tap = rec
	}
	beside := f.admin.start(rec, say)
	if beside.tap != nil {
		relay.Tap = beside.tap
	}
	var status proxy.Status
	beside.run(func(ctx context.Context) { status, err = relay.Run(ctx, signals) })
	if err != nil {
		say.line(err.Error())
	}
	return end(rec, say, stop, status)
}

// end seals the recording and ends as the traffic did.
func end(rec *record.Recorder, say *sayer, stop func(), status proxy.Status) int {
	limit := record.SealLimit
	if status.Asked != 0 {
		limit = record.SealLimitSignal
	}
	rec.Close(limit)
	say.wait()
	stop()
	proxy.Mirror(status)
	return status.ExitCode() // not reached
}

// tell says where the recording is, where that is to be said.
func (f recordFlags) tell(say *sayer, cfg record.Config, rec *record.Recorder) {
	if cfg.Level == record.LevelRaw {
		say.line("level raw: " + rec.Path() + " keeps credentials in clear")
	} else if f.verbose {
		say.info("recording to " + rec.Path())
	}
}

// begin starts the recording. Where there can be none, traffic goes on without; ok
// is false when it must not (--require-recording), and that has been said.
func (f recordFlags) begin(say *sayer, cfg record.Config, homeless error, without, refused string) (rec *record.Recorder, ok bool) {
	err := homeless
	if err == nil {
		rec, err = record.Begin(cfg)
	}
	switch {
	case err == nil:
		f.tell(say, cfg, rec)
		return rec, true
	case f.require:
		say.line(fmt.Sprintf("recording could not start: %v; %s (--require-recording)", err, refused))
		say.wait()
		return nil, false
	}
	say.line(fmt.Sprintf("recording could not start: %v; %s", err, without))
	return nil, true
}

// config checks the flags. err is the user's to mend; homeless says that there
// is no folder for a recording, which keeps no server from running.
func (f recordFlags) config(command []string) (cfg record.Config, homeless, err error) {
	cfg = record.Config{Version: versionString(), Transport: "stdio", Level: record.Level(f.level), Command: command,
		Env: os.Environ(), PID: os.Getpid(), Lossless: f.lossless}
	switch f.level {
	case "full", "raw":
	case "redacted", "shape", "headers":
		return cfg, nil, fmt.Errorf("--level %s is not built yet; there are full and raw", f.level)
	default:
		return cfg, nil, fmt.Errorf("--level %q is none of full, raw", f.level)
	}
	if cfg.Max, err = units.RAMInBytes(f.max); err != nil || cfg.Max < record.MinMaxRecording {
		return cfg, nil, fmt.Errorf("--max-recording %q is no size of at least 16KiB, such as 64MiB", f.max)
	}
	home, homeless := record.Home()
	switch {
	case f.outSet && f.dirSet:
		return cfg, nil, errors.New("--out and --dir exclude each other")
	case f.outSet:
		dir, file := filepath.Split(f.out)
		if file == "" || file == "." || file == ".." || f.out == "-" {
			return cfg, nil, fmt.Errorf("--out %q is no file name; stdout belongs to the server", f.out)
		}
		if fi, err := os.Stat(f.out); err == nil && !fi.Mode().IsRegular() {
			return cfg, nil, fmt.Errorf("--out %s is there and no file; --dir takes a folder", f.out)
		}
		cfg.Dir, cfg.Name, homeless = filepath.Clean(dir), file, nil
	case f.dirSet:
		if f.dir == "" {
			return cfg, nil, errors.New("--dir is empty; . is the folder at hand")
		}
		cfg.Dir, homeless = filepath.Clean(f.dir), nil
	default:
		cfg.Dir = home
	}
	if err = f.limits.apply(&cfg); err != nil {
		return cfg, nil, err
	}
	if cfg.Labels, err = labels(os.Getenv("SIXLINK_LABELS"), f.labels); err != nil {
		return cfg, nil, err
	}
	if wd, err := os.Getwd(); err == nil {
		cfg.Cwd = wd
	}
	if cfg.Level != record.LevelRaw {
		key := maskKey()
		cfg.Masker = mask.FromProcess(key, command, cfg.Env)
		cfg.MaskKey = key.ID()
	}
	return cfg, homeless, nil
}

// labels joins SIXLINK_LABELS and --label; the flag wins. What is malformed or too
// much in the environment is left out: a host's configuration must not keep the
// server from running.
func labels(env string, flags []string) (map[string]string, error) {
	all := map[string]string{}
	for _, kv := range strings.Split(env, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.TrimSpace(k) != "" {
			all[strings.TrimSpace(k)] = v
		}
	}
	if !record.LabelsFit(all) {
		clear(all)
	}
	for _, kv := range flags {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("--label %q is not of the form k=v", kv)
		}
		all[k] = v
	}
	if !record.LabelsFit(all) {
		return nil, errors.New("the labels have over 8 KiB: shorten them")
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// sayer writes our own lines to stderr from a goroutine of its own, so that a
// stderr nobody reads holds up nothing; lines are dropped then (recorder.md 3.6).
type sayer struct {
	clean func(string) string // takes credentials out
	lines chan logLine
	done  chan struct{}

	mu     sync.Mutex
	closed bool
}

func newSayer(w io.Writer, quiet, asJSON bool) *sayer {
	s := &sayer{clean: func(l string) string { return l }, lines: make(chan logLine, 16), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for l := range s.lines {
			if !quiet {
				l.write(w, asJSON, time.Now())
			}
		}
	}()
	return s
}

// line says that something is not as it should be; info, that it is.
func (s *sayer) line(l string) { s.say(logLine{text: l}) }
func (s *sayer) info(l string) { s.say(logLine{info: true, text: l}) }

func (s *sayer) say(l logLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	l.text = strings.ReplaceAll(s.clean(l.text), "\n", " ")
	select {
	case s.lines <- l:
	default:
	}
}

// wait gives the last lines a moment; a stderr that nobody reads gets no more.
func (s *sayer) wait() {
	s.mu.Lock()
	s.closed = true
	close(s.lines)
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-time.After(200 * time.Millisecond):
	}
}
