//go:build unix

package proxy_test

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// Each piece of a message comes late: the next is sent when the one before has come
// back. A relay that waited for the end of the line, or for more, would hang.
func TestLateBytes(t *testing.T) {
	h := start(t, patient, proxytest.Program{{Echo: true}}.Argv())
	const message = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	sent := 0
	late := proxytest.Latency{
		R: proxytest.SlowReader{R: strings.NewReader(message), Size: 7},
		Wait: func(n int) {
			if sent > 0 {
				before := message[max(0, sent-7):sent]
				h.read(before)
			}
			sent += n
		},
	}
	// Only a Reader: nothing may read ahead.
	if _, err := io.Copy(h.in, struct{ io.Reader }{late}); err != nil {
		t.Fatal(err)
	}
	h.in.Close()
	h.rest(h.out)
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v", s)
	}
	for _, from := range []record.From{record.Client, record.Server} {
		if got := string(h.tap.Bytes(from)); got != message {
			t.Errorf("%s: the tap has %q", from, got)
		}
	}
}

// The host's data ends in the middle of a message, by its end and by a reset: what
// there was reaches the server and the tap, and the end is an end.
func TestDataEndsInAMessage(t *testing.T) {
	const message, n = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", 17
	for _, c := range []struct {
		name string
		then func(h *host) error
	}{
		{"by its end", func(h *host) error { return h.in.Close() }},
		{"by a reset", func(h *host) error {
			// What came back before is left unread.
			return proxytest.Reset(h.in)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, patient, proxytest.Program{{Echo: true}}.Argv(), func(s *proxy.Stdio, h *host) {
				withSockets(t)(s, h)
				if c.name == "by a reset" {
					if _, err := s.Stdin.Write([]byte("unread")); err != nil {
						t.Fatal(err)
					}
				}
			})
			limited := &proxytest.Limited{R: strings.NewReader(message), N: n, Then: func() error {
				h.read(message[:n]) // it is through
				if err := c.then(h); err != nil {
					t.Error(err)
				}
				return io.EOF
			}}
			if _, err := io.Copy(h.in, limited); err != nil {
				t.Fatal(err)
			}
			if rest := h.rest(h.out); len(rest) != 0 {
				t.Errorf("%q came, which nobody sent", rest)
			}
			if s := h.wait(); s.ExitCode() != 0 {
				t.Errorf("status %+v", s)
			}
			if got := string(h.tap.Bytes(record.Client)); got != message[:n] {
				t.Errorf("the tap has %q", got)
			}
			h.mustHave("client end", "exit 0")
			if !strings.Contains(h.story(), "close client stdin") {
				t.Errorf("nobody says that the host closed:\n%s", h.story())
			}
		})
	}
}

// A host that ends what it writes and lets go of its sockets long after: the server
// gets its end of file at once, and what it answers then still comes.
func TestSlowClose(t *testing.T) {
	h := start(t, patient, proxytest.Program{
		{WaitEOF: true}, {On: map[string]proxytest.Program{"USR1": {{Write: "late\n"}, {Exit: proxytest.Code(0)}}}},
		{Write: "eof\n"}, {Hang: true},
	}.Argv(), withSockets(t))
	// Its reading end too: a socket that will send us nothing is not gone.
	if err := proxytest.HalfClose(h.out); err != nil {
		t.Fatal(err)
	}
	err := proxytest.SlowClose(h.in, func() {
		h.read("eof\n")
		h.signals <- syscall.SIGUSR1
		h.read("late\n")
		if s := h.wait(); s.ExitCode() != 0 {
			t.Errorf("status %+v", s)
		}
	})
	if err != nil {
		t.Error(err)
	}
	h.mustHave("client end", "exit 0")
	if strings.Contains(h.story(), "undelivered") {
		t.Errorf("something was not delivered:\n%s", h.story())
	}
}
