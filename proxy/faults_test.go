//go:build unix && faults

package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
)

// A host that is slow gets the ended server's last bytes all the same.
func TestFaultSlowHost(t *testing.T) {
	t.Attr("fault", "a host that is slow to read the last bytes")
	w := quick
	w.Stall = time.Hour
	text := &proxytest.Text{Repeat: "0123456789abcde\n", Count: 11 << 10} // 176 KiB: three pipes' worth
	h := start(t, w, proxytest.Program{{Out: text}}.Argv())
	if !h.tap.Wait("server data") {
		t.Fatal("no data")
	}
	var got bytes.Buffer
	ended := false
	_, err := io.Copy(&got, proxytest.SlowReader{R: h.out, Size: 4 << 10, Between: func() {
		// Once all but two pipes' worth is read the server has ended; let the
		// limits for grandchildren pass many times over before going on.
		if !ended && got.Len() > len(text.Bytes())-(70<<10) {
			ended = true
			time.Sleep(20 * w.Held)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.wait()
	if !bytes.Equal(got.Bytes(), text.Bytes()) {
		t.Errorf("%d bytes of %d came", got.Len(), len(text.Bytes()))
	}
	t.Attr("observed", fmt.Sprintf("the server ended with 64 KiB unread; all %d bytes came, long after the waits for grandchildren", got.Len()))
}

// While the host lives, an end of file starts no clock, whatever the server
// does after it.
func TestFaultLiveHost(t *testing.T) {
	t.Attr("fault", "an end of file, and a host that lives")
	w := quick
	h := start(t, w, proxytest.Program{
		{WaitEOF: true}, {On: map[string]proxytest.Program{"USR1": {{Write: "late\n"}, {Exit: proxytest.Code(0)}}}},
		{Write: "eof\n"}, {Hang: true},
	}.Argv())
	h.in.Close()
	h.read("eof\n")
	time.Sleep(10 * (w.Gone + w.Kill)) // the clock that must not run
	h.signals <- syscall.SIGUSR1
	h.read("late\n")
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v\n%s", s, h.story())
	}
	t.Attr("observed", fmt.Sprintf("no signal after %d times the waits, then an answer and exit 0", 10))
}

// The times that cases 24, 26 and 30 ask for, with the waits that users get.
func TestFaultTimesOfTheCases(t *testing.T) {
	limits := asserts(t, "30-child-ignores-eof")["proxy.exit_within_ms"].(map[string]any)
	for _, c := range []struct {
		name     string
		server   proxytest.Program
		vanish   bool // the host closes both streams, else it keeps them
		from, to time.Duration
		exit     int
	}{
		{"host-gone", proxytest.Program{{Write: "up\n"}, {Hang: true}}, true,
			2 * time.Second, time.Duration(limits["host-gone"].(float64)) * time.Millisecond, 128 + 15},
		{"host-gone-stubborn", proxytest.Program{{Ignore: []string{"TERM"}}, {Write: "up\n"}, {Hang: true}}, true,
			4 * time.Second, time.Duration(limits["host-gone-stubborn"].(float64)) * time.Millisecond, 128 + 9},
		{"server ends, stdin stays open", proxytest.Program{{Write: "up\n"}, {Exit: proxytest.Code(3)}}, false,
			0, 2 * time.Second, 3},
		{"grandchild holds stdout", proxytest.Program{{Start: proxytest.Program{{ReadLine: 9}}}, {Write: "up\n"}, {Exit: proxytest.Code(3)}}, false,
			time.Second, 5 * time.Second, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Attr("fault", "cases 24, 26, 30: "+c.name)
			t.Parallel()
			r := startProcess(t, relayOptions{Command: c.server.Argv()})
			r.read("up\n")
			began := time.Now()
			if c.vanish {
				r.in.Close()
				r.out.Close()
			}
			if code := r.wait(); code != c.exit {
				t.Errorf("status %d, want %d", code, c.exit)
			}
			took := time.Since(began)
			if took < c.from || took > c.to {
				t.Errorf("after %v, want %v to %v", took, c.from, c.to)
			}
			if !c.vanish {
				r.in.Close()
			}
			if c.name == "grandchild holds stdout" {
				// It ends because its stdin did, when the relay left.
				if s := r.lines(); !strings.HasSuffix(s, "exit 3 held stdout stderr\n") {
					t.Errorf("story:\n%s", s)
				}
			}
			r.gone()
			t.Attr("observed", fmt.Sprintf("status %d after %v (meant: %v to %v), nobody left", c.exit, took.Round(time.Millisecond), c.from, c.to))
		})
	}
}
