//go:build unix

package proxy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
)

const sigUSR1 = syscall.SIGUSR1

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n"
	hello      = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
)

// Case 26: the status that a parent of the relay sees.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.txt")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	var script struct {
		Runs []struct {
			Name      string
			ServerEnd proxytest.Step `json:"server_end"`
			Command   string
			ProxyExit int `json:"proxy_exit"`
		}
	}
	b, err := os.ReadFile(cases + "26-exit-codes/script.json")
	if err == nil {
		err = json.Unmarshal(b, &script)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := asserts(t, "26-exit-codes")
	records := want["record.child_end"].(map[string]any)
	for _, run := range script.Runs {
		t.Run(run.Name, func(t *testing.T) {
			o := relayOptions{Command: proxytest.Program{{ReadLine: 1}, {Write: hello}, run.ServerEnd}.Argv()}
			if run.Command != "" {
				path, _, _ := strings.Cut(run.Command, " ")
				o.Command = []string{path}
			}
			r := startProcess(t, o, func(c *exec.Cmd) { c.Dir = dir })
			r.in.WriteString(initialize) // and stays open
			out := r.rest()
			code := r.wait()
			if code != run.ProxyExit || float64(code) != want["proxy.exit"].(map[string]any)[run.Name] {
				t.Errorf("status %d, want %d", code, run.ProxyExit)
			}
			if run.Command == "" {
				if out != hello {
					t.Errorf("stdout %q", out)
				}
				if r.errs.Len() != 0 {
					t.Errorf("stderr %q", r.errs)
				}
			} else {
				if out != "" {
					t.Errorf("stdout %q", out)
				}
				if lines := strings.Count(r.errs.String(), "\n"); lines != 1 || !strings.Contains(r.errs.String(), o.Command[0]) {
					t.Errorf("stderr %q", r.errs)
				}
			}
			if end, ok := records[run.Name].(map[string]any); ok {
				line := fmt.Sprint("exit ", end["signal"])
				if code, ok := end["code"]; ok {
					line = fmt.Sprint("exit ", code)
				}
				if !strings.HasSuffix(r.lines(), line+"\n") {
					t.Errorf("story ends without %q:\n%s", line, r.lines())
				}
			}
			r.gone()
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Signals whose raising Go itself gets wrong (recorder.md 3.1), as waitpid sees
// them. No core is left.
func TestDeathSignalsAreMirrored(t *testing.T) {
	for _, name := range []string{"HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "USR2", "PIPE", "ALRM", "TERM", "SEGV", "XCPU"} {
		t.Run(name, func(t *testing.T) {
			r := startProcess(t, relayOptions{Command: []string{"sh", "-c", "ulimit -c 0; kill -" + name + " $$; sleep 60"}})
			code := r.wait()
			sig, err := proxytest.SignalNumber(name)
			if err != nil {
				t.Fatal(err)
			}
			ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !ws.Signaled() || ws.Signal() != sig || ws.CoreDump() {
				t.Errorf("status %d (%v), want signal %v without core", code, ws, sig)
			}
			if r.errs.Len() != 0 {
				t.Errorf("stderr %q", r.errs)
			}
			if !strings.HasSuffix(r.lines(), "exit "+name+"\n") {
				t.Errorf("story: %s", r.lines())
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("noexec", "text", 0o644)
	for _, c := range []struct {
		fault   string
		command []string
		code    int
	}{
		{"no such name", []string{"no-such-program-here"}, 127},
		{"no such file", []string{dir + "/missing"}, 127},
		{"file used as folder", []string{dir + "/noexec/x"}, 127},
		{"empty name", []string{""}, 127},
		{"no command", nil, 127},
		{"no x bit", []string{dir + "/noexec"}, 126},
		{"no x bit, found in PATH", []string{"noexec"}, 126},
		{"folder", []string{dir}, 126},
		{"interpreter missing", []string{write("script", "#!/no/such/interpreter\n", 0o755)}, 126},
	} {
		t.Run(c.fault, func(t *testing.T) {
			h := start(t, patient, c.command, func(s *proxy.Stdio, _ *host) { s.Env = []string{"PATH=" + dir} })
			<-h.done
			var e *proxy.StartError
			if !errors.As(h.err, &e) || e.Code != c.code || h.status.ExitCode() != c.code {
				t.Errorf("error %v, status %+v; want %d", h.err, h.status, c.code)
			}
			if len(c.command) > 0 && !strings.Contains(h.err.Error(), c.command[0]) {
				t.Errorf("error does not name the command: %v", h.err)
			}
			if want := "error spawn " + map[int]string{126: "126", 127: "127"}[c.code]; h.story() != want {
				t.Errorf("story %q, want %q", h.story(), want)
			}
		})
	}
}

func TestScriptWithoutInterpreterLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a script")
	if err := os.WriteFile(path, []byte("printf '%s|' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := start(t, patient, []string{path, "a b", "", "--"})
	if out := h.rest(h.out); string(out) != "a b||--|" {
		t.Errorf("arguments %q", out)
	}
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v", s)
	}
}

// Case 29, from the relay on: arguments, environment, folder and descriptors are
// what a server has that the host starts itself.
func TestChildGetsWhatWeGot(t *testing.T) {
	var script struct{ Env map[string]string }
	b, err := os.ReadFile(cases + "29-argv-env/script.json")
	if err == nil {
		err = json.Unmarshal(b, &script)
	}
	if err != nil {
		t.Fatal(err)
	}
	var argv []string
	for _, a := range asserts(t, "29-argv-env")["child.argv"].([]any) {
		argv = append(argv, a.(string))
	}
	dir := filepath.Join(t.TempDir(), "dump args")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(dir, "server")
	// Read from the kernel: a shell shows more variables than it got. The
	// descriptors that the shell opened for itself are in both runs.
	text := "#!/bin/sh\n" + `tr '\0' '\n' < /proc/$$/cmdline | sed 1,2d > "$0.argv"
cat /proc/$$/environ > "$0.env"
pwd > "$0.cwd"
for f in /proc/$$/fd/*; do test -e "$f" && echo "${f##*/}"; done > "$0.fds"
sed -n 's/^flags:[^0-9]*//p' /proc/$$/fdinfo/0 /proc/$$/fdinfo/1 /proc/$$/fdinfo/2 > "$0.flags"
exit 0
`
	if err := os.WriteFile(server, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	prepare := func(c *exec.Cmd) {
		c.Dir = filepath.Dir(dir)
		c.ExtraFiles = nil
		c.Env = []string{}
		for _, k := range slices.Sorted(maps.Keys(script.Env)) {
			c.Env = append(c.Env, k+"="+script.Env[k])
		}
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(server + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	command := append([]string{"./dump args/server"}, argv...)
	direct := exec.Command(command[0], command[1:]...)
	prepare(direct)
	if out, err := direct.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	want := map[string]string{}
	for _, name := range []string{".argv", ".env", ".cwd", ".fds"} {
		want[name] = read(name)
		os.Remove(server + name)
	}
	if got := strings.Split(strings.TrimSuffix(want[".argv"], "\n"), "\n"); !reflect.DeepEqual(got, argv) {
		t.Fatalf("the test's own server has arguments %q", got)
	}
	if n := strings.Count(want[".env"], "\x00"); n != len(script.Env) {
		t.Fatalf("the test's own server has %d variables", n)
	}

	r := startProcess(t, relayOptions{Command: command}, prepare)
	r.in.Close()
	if code := r.wait(); code != 0 {
		t.Fatalf("status %d: %s", code, r.errs)
	}
	for name, w := range want {
		if got := read(name); got != w {
			t.Errorf("%s: %q\nwant %q", name, got, w)
		}
	}
	for i, flags := range strings.Fields(read(".flags")) {
		if parseOctal(t, flags)&int64(syscall.O_NONBLOCK) != 0 {
			t.Errorf("descriptor %d of the child is non-blocking (%s)", i, flags)
		}
	}
}

func parseOctal(t *testing.T, s string) (n int64) {
	t.Helper()
	for _, c := range strings.TrimSpace(s) {
		if c < '0' || c > '7' {
			t.Fatalf("no octal number: %q", s)
		}
		n = n*8 + int64(c-'0')
	}
	return n
}
