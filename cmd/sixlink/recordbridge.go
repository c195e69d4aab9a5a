package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/bridge"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
)

// bridgeFlags are those of record --stdio --upstream; --upstream itself and --ca are
// among the flags of HTTP.
type bridgeFlags struct {
	stdio   bool
	headers []string
}

func (f *bridgeFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.stdio, "stdio", false, "serve a host that speaks stdio from the server at --upstream, which speaks HTTP")
	fs.StringArrayVar(&f.headers, "header", nil, "send the header field `'K: V'` with every request; V may be env:NAME or @FILE, also behind a scheme such as Bearer (may be repeated; with --stdio only)")
}

// check refuses what makes no sense together.
func (f *bridgeFlags) check(h *httpFlags, command []string) error {
	switch {
	case h.listen != "" && len(f.headers) > 0:
		// Any page that this machine's browser shows could use the credential
		// (recorder.md 4.2).
		return errors.New("--header cannot be used with --listen: everybody who reaches the listener would use it")
	case h.listen != "" && f.stdio:
		return errors.New("--stdio and --listen exclude each other")
	case !f.stdio && len(f.headers) > 0:
		return errors.New("--header needs --stdio --upstream URL")
	case !f.stdio:
		return nil
	case h.upstream == "":
		return errors.New("--stdio needs --upstream URL")
	case len(command) > 0:
		return errors.New("--stdio takes no COMMAND: the server is at --upstream")
	case h.cert != "" || h.key != "" || h.ready != "" || h.public != "" || len(h.allow) > 0:
		return errors.New("--cert, --key, --ready-file, --public-url and --allow-host need --listen")
	}
	return nil
}

// runBridge is record --stdio --upstream.
func runBridge(s stdio, name string, f recordFlags) int {
	log.SetOutput(io.Discard) // net/http quotes there what servers send unasked
	upstream, err := url.Parse(f.http.upstream)
	if err == nil {
		err = bridge.Check(upstream)
	}
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // the URL may hold a password
		}
		return usageError(s, name, fmt.Errorf("--upstream: %w", err))
	}
	roots, err := f.http.roots()
	if err != nil {
		return usageError(s, name, err)
	}
	var fields []bridge.Field
	for _, h := range f.bridge.headers {
		field, err := parseHeader(h)
		if err != nil {
			return usageError(s, name, err)
		}
		fields = append(fields, field)
	}
	cfg, homeless, err := f.config(nil)
	if err != nil {
		return usageError(s, name, err)
	}
	cfg.Bridge, cfg.Upstream = true, upstream.String()
	if cfg.Level != record.LevelRaw {
		key := maskKey()
		given := make([][2]string, len(fields))
		for i, h := range fields {
			given[i] = [2]string{h.Name, h.Value}
		}
		cfg.Masker, cfg.MaskKey = mask.FromHeaders(key, cfg.Upstream, given, cfg.Env), key.ID()
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 2) // as for the relay
	say := newSayer(s.err, f.quiet, f.log == "json")
	if cfg.Masker != nil {
		say.clean = cfg.Masker.String
	}
	cfg.Notice = say.line
	signals, stop := proxy.Signals()
	rec, ok := f.begin(say, cfg, homeless, "the server is used without", "the server was not used")
	if !ok {
		return exitUnknown
	}
	b := &bridge.Bridge{Upstream: upstream, Header: fields, Agent: "sixlink/" + versionString(), Stdin: s.in, Stdout: s.out, Note: say.line}
	if rec != nil {
		b.Tap = rec
	}
	if roots != nil {
		t := bridge.Transport()
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
		b.Transport = t
	}
	beside := f.admin.start(rec, say)
	if beside.tap != nil {
		b.Tap = beside.tap
	}
	var status proxy.Status
	beside.run(func(ctx context.Context) { status = b.Run(ctx, signals) })
	return end(rec, say, stop, status)
}

// framing are the fields that belong to net/http.
var framing = map[string]bool{"connection": true, "content-length": true, "transfer-encoding": true, "upgrade": true, "te": true, "trailer": true, "keep-alive": true, "expect": true}

// parseHeader reads a --header. Its errors never hold the value.
func parseHeader(h string) (bridge.Field, error) {
	name, value, ok := strings.Cut(h, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c)
	}) {
		return bridge.Field{}, errors.New("--header is not of the form 'K: V'")
	}
	if framing[strings.ToLower(name)] {
		return bridge.Field{}, fmt.Errorf("--header %s cannot be set: it belongs to the connection", name)
	}
	value = strings.TrimSpace(value)
	scheme, source := "", value
	if words := strings.Fields(value); len(words) == 2 {
		scheme, source = words[0]+" ", words[1]
	}
	switch {
	case strings.HasPrefix(source, "env:"):
		v, ok := os.LookupEnv(source[len("env:"):])
		if !ok || strings.TrimSpace(v) == "" {
			return bridge.Field{}, fmt.Errorf("--header %s: the environment variable %s is not set", name, source[len("env:"):])
		}
		value = scheme + strings.TrimSpace(v)
	case strings.HasPrefix(source, "@"):
		p, err := os.ReadFile(source[1:])
		if err != nil {
			return bridge.Field{}, fmt.Errorf("--header %s: %w", name, err)
		}
		value = scheme + strings.TrimSpace(string(p))
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return bridge.Field{}, fmt.Errorf("--header %s: the value has a control character or a second line", name)
	}
	return bridge.Field{Name: name, Value: value}, nil
}

// maskKey is the key of this machine; one for this recording where there is none:
// its hashes can then be compared within it only.
func maskKey() mask.Key {
	if home, err := record.Home(); err == nil && home != "" {
		if k, err := mask.LoadKey(home); err == nil {
			return k
		}
	}
	return mask.RandomKey()
}
