package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/rewrite"
	"github.com/sixlink/sixlink/record"
)

// httpFlags are the flags of record --listen.
type httpFlags struct {
	listen, upstream string
	ca, cert, key    string
	ready            string
	drain            time.Duration
	public           string
	allow            []string
	oauth            string
}

func (h *httpFlags) flags(fs *pflag.FlagSet) {
	fs.StringVar(&h.listen, "listen", "", "serve HTTP at `ADDR` (host:port; port 0: any that is free; without a host: loopback); needs --upstream")
	fs.StringVar(&h.upstream, "upstream", "", "the `URL` of the server that --listen stands before, or that --stdio brings to the host")
	fs.StringVar(&h.ca, "ca", "", "trust the certificates in this PEM `FILE`, too, when connecting to --upstream")
	fs.StringVar(&h.cert, "cert", "", "serve TLS with the certificate chain in this PEM `FILE`; needs --key")
	fs.StringVar(&h.key, "key", "", "the PEM `FILE` with the key of --cert")
	fs.StringVar(&h.ready, "ready-file", "", "write the URL for clients to this `FILE` once they are served")
	fs.DurationVar(&h.drain, "drain", 5*time.Second, "how long open exchanges may go on after TERM; a second signal cuts them off")
	fs.StringVar(&h.public, "public-url", "", "the `URL` under which clients know --listen, where it has another name outside")
	fs.StringArrayVar(&h.allow, "allow-host", nil, "let this `HOST` (or host:port) pass in Host and Origin though it is not ours (may be repeated)")
	fs.StringVar(&h.oauth, "oauth", "rewrite", "rewrite: what names the upstream as the protected resource names us to clients; pass: nothing of OAuth is changed")
}

func (h *httpFlags) asked() bool { return h.listen != "" || h.upstream != "" }

// proxy makes the proxy of the flags, but for its listener, tap and notes.
func (h *httpFlags) proxy() (*proxy.HTTP, error) {
	p := &proxy.HTTP{AllowHosts: h.allow, Drain: h.drain}
	switch {
	case h.listen == "":
		return nil, errors.New("--upstream needs --listen ADDR, where clients are served")
	case h.upstream == "":
		return nil, errors.New("--listen needs --upstream URL, the server it stands before")
	case h.drain < 0:
		return nil, errors.New("--drain is less than nothing; 0 cuts open exchanges at once")
	case (h.cert == "") != (h.key == ""):
		return nil, errors.New("--cert and --key go together")
	}
	var err error
	if p.Upstream, err = origin("--upstream", h.upstream); err != nil {
		return nil, err
	}
	if h.public != "" {
		if p.Public, err = origin("--public-url", h.public); err != nil {
			return nil, err
		}
	}
	if h.oauth != "pass" && h.oauth != "rewrite" {
		return nil, fmt.Errorf("--oauth %q is none of rewrite, pass", h.oauth)
	}
	if p.Roots, err = h.roots(); err != nil {
		return nil, err
	}
	if h.cert != "" {
		c, err := tls.LoadX509KeyPair(h.cert, h.key)
		if err != nil {
			return nil, fmt.Errorf("--cert and --key: %w", err)
		}
		p.Certificate = &c
	}
	return p, nil
}

// roots are whom the upstream's certificate must be from; nil: the system's.
func (h *httpFlags) roots() (*x509.CertPool, error) {
	if h.ca == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(h.ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca %s has no certificate in PEM form", h.ca)
	}
	return roots, nil
}

// origin reads a URL of a server.
func origin(flag, s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%s is no URL of the form http://HOST:PORT or https://HOST", flag)
	case u.User != nil:
		return nil, fmt.Errorf("%s has a user or password: sixlink adds no credentials, clients send their own", flag)
	}
	return u, nil
}

// path is what follows the authority in a URL of a server.
func path(u *url.URL) string {
	if u.Path == "" && u.RawQuery == "" {
		return ""
	}
	return u.RequestURI()
}

// address is what to listen on: loopback, unless a host is named.
func (h *httpFlags) address() string {
	if strings.HasPrefix(h.listen, ":") {
		return "127.0.0.1" + h.listen
	}
	return h.listen
}

func runRecordHTTP(s stdio, name string, f recordFlags, command []string) int {
	log.SetOutput(io.Discard) // net/http quotes there what servers send unasked
	h := &f.http
	if len(command) > 0 {
		return usageError(s, name, errors.New("takes a COMMAND or --listen and --upstream, not both"))
	}
	p, err := h.proxy()
	if err != nil {
		return usageError(s, name, err)
	}
	cfg, homeless, err := f.config(os.Args)
	if err != nil {
		return usageError(s, name, err)
	}
	ln, err := net.Listen("tcp", h.address())
	if err != nil {
		return usageError(s, name, fmt.Errorf("--listen: %w", err))
	}
	at := proxy.URL(ln.Addr(), p.Certificate != nil)
	cfg.Transport, cfg.Listen, cfg.Upstream = "http", at, h.upstream
	// What we were started with is no server's command, nor its environment.
	cfg.Command, cfg.Env = nil, nil
	if cfg.Masker != nil {
		cfg.Upstream, _ = cfg.Masker.Target(cfg.Upstream)
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 2) // as for stdio
	debug.SetMemoryLimit(192 << 20)          // streams cost memory whoever serves them
	say := newSayer(s.err, f.quiet, f.log == "json")
	if cfg.Masker != nil {
		say.clean = cfg.Masker.String
	}
	cfg.Notice = say.line
	signals, stop := proxy.Signals()
	defer stop()
	rec, ok := f.begin(say, cfg, homeless, "clients are served without", "nothing is served")
	if !ok {
		ln.Close()
		return exitUnknown
	}
	p.Listener, p.Note = ln, say.line
	// The endpoint event of the legacy transport is rewritten whatever --oauth says.
	p.Rewriter = rewrite.New(rewrite.Config{PassOAuth: h.oauth == "pass", Note: say.line})
	if rec != nil {
		p.Tap = rec
	}
	beside := f.admin.start(rec, say)
	if beside.tap != nil {
		p.Tap = beside.tap
	}
	if f.verbose {
		say.info("serving " + at + " for " + cfg.Upstream)
	}
	code := exitGood
	if h.ready != "" {
		// The socket listens: whoever connects from now on is served.
		if err := writeReady(h.ready, at+path(p.Upstream)); err != nil {
			say.line(fmt.Sprintf("--ready-file: %v", err))
			ln.Close()
			code = exitUnknown
		}
	}
	if code == exitGood {
		var err error
		beside.run(func(ctx context.Context) { err = p.Run(ctx, signals) })
		if err != nil {
			say.line(err.Error())
			code = exitUnknown
		}
	}
	rec.Close(record.SealLimitSignal)
	say.wait()
	return code
}

// writeReady writes a line to a file so that nobody sees half of it.
func writeReady(path, line string) error {
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(filepath.Clean(dir), "."+base+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is there after the rename
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
