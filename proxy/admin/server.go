package admin

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sixlink/sixlink/record"
)

// Config is what an endpoint is made with.
type Config struct {
	// Addr is HOST:PORT; without a HOST it is 127.0.0.1.
	Addr     string
	Version  string
	Counters *Counters
	// Recorder is nil when nothing is recorded; Recording says that something
	// should be.
	Recorder  *record.Recorder
	Recording bool
}

// Server is an admin endpoint.
type Server struct {
	cfg     Config
	host    string // the name in Addr, in lower case
	ln      net.Listener
	http    http.Server
	serving atomic.Bool
	once    sync.Once
	closed  chan struct{}
}

// Address completes an --admin address.
func Address(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return "", fmt.Errorf("%q is not of the form HOST:PORT or :PORT", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Listen binds the endpoint. Nothing is answered before Run.
func Listen(cfg Config) (*Server, error) {
	addr, err := Address(cfg.Addr)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(addr)
	s := &Server{cfg: cfg, host: strings.ToLower(host), ln: ln, closed: make(chan struct{})}
	// Requests are small and answers are quick: whoever is slower is no monitor.
	s.http = http.Server{Handler: s, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0)} // record is silent on stderr
	return s, nil
}

// URL is where the endpoint is.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// Serving says whether the traffic's side is up: /readyz tells.
func (s *Server) Serving(up bool) { s.serving.Store(up) }

// Run answers until Close. Whatever happens it returns no earlier, so that it
// never ends those that run beside it.
func (s *Server) Run() error {
	err := s.http.Serve(s.ln)
	<-s.closed
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends the endpoint at once.
func (s *Server) Close() {
	s.once.Do(func() {
		s.http.Close()
		s.ln.Close()
		close(s.closed)
	})
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case !s.known(r.Host):
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "this endpoint is not known by that name\n")
	case r.URL.Path != "/healthz" && r.URL.Path != "/readyz" && r.URL.Path != "/metrics":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "there are /healthz, /readyz and /metrics\n")
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		w.WriteHeader(http.StatusMethodNotAllowed)
		io.WriteString(w, "only GET\n")
	case r.URL.Path == "/healthz":
		io.WriteString(w, "ok\n")
	case r.URL.Path == "/readyz":
		why := s.notReady()
		if len(why) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, strings.Join(why, "\n")+"\n")
			return
		}
		io.WriteString(w, "ready\n")
	default:
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		io.WriteString(w, s.cfg.Counters.metrics(s.cfg.Version, s.cfg.Recorder != nil, s.cfg.Recorder.Stats()))
	}
}

func (s *Server) notReady() (why []string) {
	if !s.serving.Load() {
		why = append(why, "not serving")
	}
	if s.cfg.Recording && (s.cfg.Recorder == nil || s.cfg.Recorder.Stats().Broken) {
		why = append(why, "not recording")
	}
	return why
}

// known tells whether Host may be ours. An address always may: no page has one
// for its name. A name must be localhost, or the one in our own address.
func (s *Server) known(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || name == s.host
}
