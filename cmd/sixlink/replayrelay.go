package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/bridge"
	"github.com/sixlink/sixlink/proxy/rewrite"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
	replayrun "github.com/sixlink/sixlink/replay/run"
)

// relayed connects package run with the new server through the proxy that record
// uses: what it opens is recorded.
type relayed interface {
	// clean takes credentials out of what the server said, where that is shown.
	begin(rec *record.Recorder, note func(string), clean func(string) string)
	open(ctx context.Context, session string) (*replayrun.Link, error)
	end()
}

// leaveTime is how long a server may take to end after the end of its input, as the
// official client waits; then it gets TERM, and after as long again KILL.
const leaveTime = 2 * time.Second

// stdioRelay starts the new server's command behind the stdio relay, once a session.
type stdioRelay struct {
	command []string
	echo    io.Writer // for the server's stderr; nil: it is only recorded
	tap     *oneRecording
	note    func(string)
	clean   func(string) string
}

func newStdioRelay(t *target, stderr io.Writer, verbose bool) (*stdioRelay, error) {
	r := &stdioRelay{command: t.command}
	if verbose {
		r.echo = stderr
	}
	return r, nil
}

func (r *stdioRelay) begin(rec *record.Recorder, note func(string), clean func(string) string) {
	r.tap, r.note, r.clean = &oneRecording{Recorder: rec}, note, clean
}

func (r *stdioRelay) end() {}

func (r *stdioRelay) open(ctx context.Context, _ string) (*replayrun.Link, error) {
	if r.tap.broken() {
		return nil, errors.New("the server before this one ended in the middle of a line: another one cannot be recorded behind it")
	}
	var files [6]*os.File
	for i := 0; i < 6; i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			for _, f := range files {
				if f != nil {
					f.Close()
				}
			}
			return nil, err
		}
	}
	stdin, input, output, stdout, errs, stderr := files[0], files[1], files[2], files[3], files[4], files[5]
	relay := &proxy.Stdio{Command: r.command, Stdin: stdin, Stdout: stdout, Stderr: stderr, Tap: r.tap, Waits: proxy.Waits{Kill: leaveTime}, Note: r.note}
	// The server outlives ctx by what is left to record: its end is our own doing.
	ctx, kill := context.WithCancel(context.WithoutCancel(ctx))
	tail := &tailWriter{also: r.echo}
	var status proxy.Status
	var failed error
	done := make(chan struct{})
	var said sync.WaitGroup
	said.Go(func() {
		io.Copy(tail, errs)
		errs.Close()
	})
	go func() {
		defer close(done)
		status, failed = relay.Run(ctx, nil)
		// It closes what the server closed; after that nobody is there to read.
		stdin.Close()
		stdout.Close()
		stderr.Close()
	}()
	return &replayrun.Link{Reader: output, Writer: input, Close: func() string {
		input.Close()
		t := time.NewTimer(leaveTime)
		defer t.Stop()
		forced := false
		select {
		case <-done:
		case <-t.C:
			forced = true
		}
		kill()
		<-done
		said.Wait()
		output.Close()
		switch {
		case failed != nil:
			return r.clean(failed.Error())
		case forced || status.Asked != 0:
			return ""
		case status.Signal != 0:
			return r.clean(fmt.Sprintf("it was killed by %s%s", status.Signal, tail))
		case status.Code != 0:
			return r.clean(fmt.Sprintf("it ended with code %d%s", status.Code, tail))
		}
		return ""
	}}, nil
}

// oneRecording lets several processes, one after the other, be one recording: only
// the last one's end of file is the stream's.
type oneRecording struct {
	*record.Recorder
	mu  sync.Mutex
	mid map[record.From]bool // the direction stands inside a line
}

func (t *oneRecording) Data(from record.From, p []byte) {
	if len(p) > 0 {
		t.mu.Lock()
		if t.mid == nil {
			t.mid = map[record.From]bool{}
		}
		t.mid[from] = p[len(p)-1] != '\n'
		t.mu.Unlock()
	}
	t.Recorder.Data(from, p)
}

// End is left to the recorder's Close.
func (t *oneRecording) End(record.From) {}

// broken tells whether a direction that carries messages ended inside a line.
func (t *oneRecording) broken() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mid[record.Client] || t.mid[record.Server]
}

// tailWriter keeps the end of what a server writes to stderr.
type tailWriter struct {
	also io.Writer
	tail []byte
}

const tailSize = 1 << 10

func (w *tailWriter) Write(p []byte) (int, error) {
	if w.also != nil {
		w.also.Write(p)
	}
	w.tail = append(w.tail, p...)
	if n := len(w.tail); n > tailSize {
		w.tail = append(w.tail[:0], w.tail[n-tailSize:]...)
	}
	return len(p), nil
}

// String is the last line, for the end of a sentence.
func (w *tailWriter) String() string {
	lines := strings.Split(strings.TrimSpace(string(w.tail)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "; its last words: " + last
	}
	return ""
}

// httpRelay stands before the new server as record --listen does. The sessions come
// in by the bridge, which speaks HTTP for us, and has no tap of its own.
type httpRelay struct {
	t     *target
	proxy *proxy.HTTP
	ln    net.Listener
	stop  context.CancelFunc
	done  chan struct{}
	note  func(string)
	err   error
}

func newHTTPRelay(t *target, cfg *record.Config) (*httpRelay, error) {
	log.SetOutput(io.Discard) // net/http quotes there what servers send unasked
	roots, err := t.http.roots()
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cfg.Transport, cfg.Listen, cfg.Upstream = "http", proxy.URL(ln.Addr(), false), t.upstream.String()
	key := maskKey()
	given := make([][2]string, len(t.fields))
	for i, h := range t.fields {
		given[i] = [2]string{h.Name, h.Value}
	}
	cfg.Masker, cfg.MaskKey = mask.FromHeaders(key, cfg.Upstream, given, cfg.Env), key.ID()
	cfg.Upstream, _ = cfg.Masker.Target(cfg.Upstream)
	cfg.Command, cfg.Env = nil, nil // ours, and no server's
	return &httpRelay{t: t, ln: ln, proxy: &proxy.HTTP{Listener: ln, Upstream: t.upstream, Roots: roots, Drain: time.Second}}, nil
}

func (r *httpRelay) begin(rec *record.Recorder, note func(string), _ func(string) string) {
	r.note = note
	r.proxy.Tap, r.proxy.Note = rec, note
	r.proxy.Rewriter = rewrite.New(rewrite.Config{Note: note})
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.done = stop, make(chan struct{})
	go func() {
		defer close(r.done)
		r.err = r.proxy.Run(ctx, nil)
	}()
}

func (r *httpRelay) end() {
	if r.stop == nil {
		r.ln.Close()
		return
	}
	r.stop()
	<-r.done
}

func (r *httpRelay) open(ctx context.Context, _ string) (*replayrun.Link, error) {
	at, err := url.Parse(proxy.URL(r.ln.Addr(), false) + path(r.t.upstream))
	if err != nil {
		return nil, err
	}
	stdin, input := io.Pipe()
	output, stdout := io.Pipe()
	transport := bridge.Transport() // to our own proxy, over loopback
	b := &bridge.Bridge{Upstream: at, Header: r.t.fields, Agent: "sixlink/" + versionString(), Stdin: stdin, Stdout: stdout,
		// Whoever closes has waited for all answers that there will be.
		Transport: transport, Waits: bridge.Waits{Answers: 100 * time.Millisecond}, Note: r.note}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(context.WithoutCancel(ctx), nil)
		stdout.Close()
		stdin.Close() // a writer that is left behind goes on
		transport.CloseIdleConnections()
	}()
	return &replayrun.Link{Reader: output, Writer: input, Close: func() string {
		input.Close()
		<-done
		return ""
	}}, nil
}
