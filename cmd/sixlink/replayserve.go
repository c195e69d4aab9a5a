package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/replay/key"
	mock "github.com/sixlink/sixlink/replay/serve"
)

// replayServeFlags are the flags of replay serve.
type replayServeFlags struct {
	listen, ready       string
	mode, timing        string
	report, sessionKey  string
	ignoreArgs, matches []string
	session             int
	patience            time.Duration
	repeat, allUsed     bool
	quiet, anyHost      bool
	limit               int64
}

func replayServeVerb() *verb {
	var f replayServeFlags
	v := &verb{
		name:    "replay serve",
		args:    "RECORDING",
		summary: "a mock server that answers from a recording",
		long: "Speaks MCP over stdio, or with --listen over HTTP, and answers each request with the\n" +
			"recorded bytes, the live request's id in the place of the recorded one. What the server\n" +
			"sent of its own accord comes where it stood; calls that had no answer get none. A request\n" +
			"that is not recorded gets an error that names the nearest recorded one and what differs.\n" +
			"\n" +
			"Requests are equal by method and params: spelling, member order and _meta do not count.\n" +
			"Equal ones are answered in recorded order. An initialize is answered whatever it says. A\n" +
			"pointer for --ignore-args is /name, /list/0/id or /list/*/id, for one tool TOOL:/name.\n" +
			"\n" +
			"At the end it says on stderr (or, as JSON, to --report) what was used, what was left and\n" +
			"what was missed. Exit code 0: nothing missed; 1: something was, or with --all-used\n" +
			"something was left; 2: usage; 3: the recording cannot be read or has no such session.",
		examples: [2]string{
			"sixlink replay serve r.mcp.jsonl.zst",
			"sixlink replay serve --listen 127.0.0.1:8080 --ignore-args report:/from --report used.json r.mcp.jsonl.zst",
		},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&f.listen, "listen", "", "serve HTTP at `ADDR` (host:port; port 0: any that is free; without a host: loopback) instead of stdio")
			fs.StringVar(&f.ready, "ready-file", "", "write the URL for clients to this `FILE` once they are served")
			fs.IntVar(&f.session, "session", 0, "play the session with this number `N`, as show counts them (default: the one with calls)")
			sessionKeyFlag(fs, &f.sessionKey)
			fs.StringVar(&f.mode, "mode", "key", "key: equal requests, in any order; sequential: the next recorded request, if method and tool are its; strict: the next, if it is equal")
			fs.BoolVar(&f.repeat, "repeat", false, "answer with the last recorded answer again when all are used up")
			fs.StringArrayVar(&f.ignoreArgs, "ignore-args", nil, "arguments at this `POINTER` do not count (may be repeated)")
			fs.StringArrayVar(&f.matches, "match-args", nil, "only arguments at this `POINTER` count, for the tools that it means (may be repeated)")
			fs.StringVar(&f.timing, "timing", "none", "none, recorded, or x2: twice as fast as recorded (any number)")
			fs.DurationVar(&f.patience, "patience", mock.DefaultPatience, "how long an answer waits for requests that came before it in the recording")
			fs.StringVar(&f.report, "report", "", "write the report as JSON to this `FILE`")
			fs.BoolVar(&f.allUsed, "all-used", false, "exit code 1 when a recorded request was not made")
			fs.BoolVar(&f.anyHost, "any-host", false, "answer requests with any Host and Origin, though only this machine is served")
			fs.BoolVarP(&f.quiet, "quiet", "q", false, "say nothing on stderr but errors")
			maxDecompressed(fs, &f.limit)
		},
	}
	v.run = func(s stdio, args []string) int {
		cfg, err := f.config()
		switch {
		case err != nil:
			return usageError(s, v.name, err)
		case len(args) != 1:
			return usageError(s, v.name, errors.New("takes one RECORDING"))
		case f.ready != "" && f.listen == "":
			return usageError(s, v.name, errors.New("--ready-file needs --listen"))
		}
		return runReplayServe(s, v.name, args[0], &f, cfg)
	}
	return v
}

func (f *replayServeFlags) config() (cfg mock.Config, err error) {
	cfg = mock.Config{Session: f.session, Mode: mock.Mode(f.mode), Repeat: f.repeat, Patience: f.patience}
	switch cfg.Mode {
	case mock.ByKey, mock.Sequential, mock.Strict:
	default:
		return cfg, fmt.Errorf("--mode %q is none of key, sequential, strict", f.mode)
	}
	if f.session < 0 {
		return cfg, fmt.Errorf("--session %d: sessions are numbered from 1", f.session)
	}
	if f.patience < time.Millisecond {
		return cfg, fmt.Errorf("--patience %v is less than 1ms", f.patience)
	}
	if f.sessionKey != "" {
		if err := session.CheckSessionKey(f.sessionKey); err != nil {
			return cfg, fmt.Errorf("--session-key: %w", err)
		}
	}
	if cfg.Timing, err = parseTiming(f.timing); err != nil {
		return cfg, err
	}
	if cfg.Rules.Ignore, err = key.ParsePointers(f.ignoreArgs); err != nil {
		return cfg, fmt.Errorf("--ignore-args: %w", err)
	}
	if cfg.Rules.Match, err = key.ParsePointers(f.matches); err != nil {
		return cfg, fmt.Errorf("--match-args: %w", err)
	}
	return cfg, nil
}

// parseTiming reads --timing: how many times faster than recorded; 0: nothing waits.
func parseTiming(s string) (float64, error) {
	switch s {
	case "none":
		return 0, nil
	case "recorded":
		return 1, nil
	}
	n, ok := strings.CutPrefix(s, "x")
	speed, err := strconv.ParseFloat(n, 64)
	if !ok || err != nil || !(speed >= 0.001 && speed <= 1e6) {
		return 0, fmt.Errorf("--timing %q is none of none, recorded, x2 (0.001 to 1000000)", s)
	}
	return speed, nil
}

func runReplayServe(s stdio, name, path string, f *replayServeFlags, cfg mock.Config) int {
	// The client may leave while we write to it: that is an error of the write then, and
	// the report is still made.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// What is kept of a recording is small beside what is read of it: more collections
	// cost next to nothing. Who set GOGC has it so.
	if was := debug.SetGCPercent(50); was != 100 {
		debug.SetGCPercent(was)
	}
	r, err := record.Open(path, record.Options{MaxDecompressed: f.limit, Reuse: true, Decoders: &record.Decoders{}})
	if err != nil {
		return fail(s, name, err, exitUnknown)
	}
	tape, err := mock.Load(r, mock.Options{SessionKey: f.sessionKey})
	r.Close()
	if err != nil {
		return fail(s, name, fmt.Errorf("%s: %w", path, err), exitUnknown)
	}
	defer tape.Close()
	cfg.MAC, err = maskMAC(tape.Header.MaskKey)
	if err != nil && !f.quiet {
		fmt.Fprintf(s.err, "sixlink %s: %v: where the recording hides a credential, any value matches\n", name, err)
	}
	srv, err := mock.New(tape, cfg)
	if err != nil {
		return fail(s, name, fmt.Errorf("%s: %w", path, err), exitUnknown)
	}
	if !f.quiet {
		notWhole(s.err, name, path, tape.End)
	}
	if f.listen != "" {
		err = serveHTTP(ctx, s, name, f, srv)
	} else {
		err = serveStdio(ctx, s, srv)
	}
	report := srv.Report()
	if f.report != "" {
		if rerr := record.WriteFileFrom(f.report, report.JSON); rerr != nil {
			err = errors.Join(err, fmt.Errorf("--report: %w", rerr))
		}
	} else if !f.quiet {
		var b strings.Builder
		report.Text(&b)
		for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n") {
			fmt.Fprintf(s.err, "sixlink %s: %s\n", name, l)
		}
	}
	switch {
	case err != nil:
		return fail(s, name, err, exitUnknown)
	case report.Missed > 0, f.allUsed && len(report.Unused) > 0:
		return exitFinding
	}
	return exitGood
}

// notWhole says what of a recording cannot be served.
func notWhole(w io.Writer, name, path string, end record.End) {
	switch {
	case end.Damage != nil:
		fmt.Fprintf(w, "sixlink %s: %s: %v: what stands before it is served\n", name, path, end.Damage)
	case end.Torn || end.State != record.Sealed:
		fmt.Fprintf(w, "sixlink %s: %s: %s: it is served up to its end, after %d records\n", name, path, end.State, end.Records)
	}
	if end.Gaps > 0 {
		fmt.Fprintf(w, "sixlink %s: %s: %s, %s not kept: requests whose answers may be among them get an error\n", name, path, count(end.Gaps, "gap"), count(end.Lost, "record"))
	}
}

// maskMAC is the hash by the key that a recording was masked with. It is nil, with
// the reason, when that key is not here; and without one, when none is needed.
func maskMAC(id string) (func(string) string, error) {
	if id == "" {
		return nil, nil
	}
	home, err := record.Home()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(home, mask.KeyFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the mask key of the recording is not here") // and none is made for this
	}
	k, err := mask.LoadKey(home)
	if err != nil {
		return nil, err
	}
	if k.ID() != id {
		return nil, errors.New("the recording was masked with another key than this machine's")
	}
	return k.MAC, nil
}

func serveStdio(ctx context.Context, s stdio, srv *mock.Server) error {
	done := make(chan error, 1)
	go func() { done <- srv.Stdio(s.in, s.out) }()
	select {
	case err := <-done:
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			return nil // the client left
		}
		return err
	case <-ctx.Done(): // a host that ends servers by a signal
		return nil
	}
}

// drainReplay is how long open responses may go on after a signal.
const drainReplay = 500 * time.Millisecond

func serveHTTP(ctx context.Context, s stdio, name string, f *replayServeFlags, srv *mock.Server) error {
	log.SetOutput(io.Discard) // net/http quotes there what clients send
	addr := f.listen
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	web := srv.Web()
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		web.Local = tcp.IP.IsLoopback() && !f.anyHost
	}
	base, cut := context.WithCancel(context.Background())
	defer cut()
	hs := &http.Server{Handler: web, ReadHeaderTimeout: 30 * time.Second, BaseContext: func(net.Listener) context.Context { return base }}
	done := make(chan error, 1)
	go func() { done <- hs.Serve(ln) }()
	url := "http://" + ln.Addr().String() + srv.Path()
	if !f.quiet {
		fmt.Fprintf(s.err, "sixlink %s: serving %s\n", name, url)
	}
	if f.ready != "" {
		if err := writeReady(f.ready, url); err != nil {
			hs.Close()
			return fmt.Errorf("--ready-file: %w", err)
		}
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	web.Close() // what waits goes out
	limit, stop := context.WithTimeout(context.Background(), drainReplay)
	defer stop()
	time.AfterFunc(drainReplay/2, cut) // streams that are open for ever
	if err := hs.Shutdown(limit); err != nil {
		hs.Close()
	}
	return nil
}
