package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// Cases of the process itself, with its recording: the relay's own tests, with a
// tap in the recording's place, go further.

// floodScript is case 24.
type floodScript struct {
	Server proxytest.Program
	Client []struct {
		Write      string
		ReadLine   int  `json:"read_line"`
		Within     int  `json:"within_ms"`
		CloseStdin bool `json:"close_stdin"`
		WaitExit   int  `json:"wait_exit_ms"`
	}
	Runs []struct {
		Name   string
		Stderr string `json:"stderr_of_proxy"`
	}
}

// stderr is what the server writes there.
func (s *floodScript) stderr() (b []byte) {
	for _, step := range s.Server {
		if step.Stderr != nil {
			b = append(b, step.Stderr.Bytes()...)
		}
	}
	return b
}

// flood plays the client. reply is called before a line is read and gives what to
// call after it; it may be nil.
func (k *talk) flood(s *floodScript, reply func(withinMs int) func()) (stdout, sent string) {
	k.t.Helper()
	for _, step := range s.Client {
		switch {
		case step.Write != "":
			k.write([]byte(step.Write))
			sent += step.Write
		case step.ReadLine > 0:
			done := func() {}
			if reply != nil {
				done = reply(step.Within)
			}
			stdout += k.line()
			done()
		case step.CloseStdin:
			k.in.Close()
		}
	}
	return stdout, sent
}

// holdsFlood holds a run of case 24 and its recording against the case.
func (h *home) holdsFlood(t *testing.T, s *floodScript, path, stdout, sent string, got []byte) {
	t.Helper()
	var want struct {
		Replies []string `json:"proxy.replies"`
		Bytes   int      `json:"proxy.stderr_bytes_of_server"`
		Exit    int      `json:"proxy.exit"`
	}
	expected(t, "24-stderr-flood", "", &want)
	var ids []string
	for l := range strings.Lines(stdout) {
		m := idMember.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("a line of stdout is no reply: %q", l)
		}
		ids = append(ids, m[1])
	}
	if !slices.Equal(ids, want.Replies) || string(got) != stdout {
		t.Errorf("replies %q, all of stdout %q", ids, got)
	}
	r := readRecording(t, path)
	r.whole(t)
	r.exit(t, want.Exit, "")
	for from, b := range map[record.From][]byte{record.Client: []byte(sent), record.Server: got, record.Stderr: s.stderr()} {
		if kept := h.cat(t, path, from); !bytes.Equal(kept, b) {
			t.Errorf("%s: %d bytes are recorded, %d passed, or they differ", from, len(kept), len(b))
		}
	}
	if n := len(s.stderr()); n != want.Bytes {
		t.Errorf("the server writes %d bytes to stderr, want %d", n, want.Bytes)
	}
}

// Case 24: a flood on stderr stops nothing, whoever reads it.
func TestCaseStderrFlood(t *testing.T) {
	t.Parallel()
	var s floodScript
	caseScript(t, "24-stderr-flood", &s)
	for _, run := range s.Runs {
		if run.Name == "small-steps" {
			continue // takes seconds: TestFaultCaseStderrInSmallSteps
		}
		t.Run(run.Name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path := h.path("r" + record.Suffix)
			k := h.talk(t, func(c *exec.Cmd) {
				if run.Stderr == os.DevNull {
					c.Stderr = nil
				}
			}, append([]string{"sixlink", "record", "--out", path, "--"}, s.Server.Argv()...)...)
			stdout, sent := k.flood(&s, nil)
			if code := k.wait(); code != 0 {
				t.Errorf("status %d", code)
			}
			if run.Stderr != os.DevNull && !bytes.Equal(k.errs.Bytes(), s.stderr()) {
				t.Errorf("%d bytes came out of stderr, %d were written, or they differ", k.errs.Len(), len(s.stderr()))
			}
			h.holdsFlood(t, &s, path, stdout, sent, k.got)
		})
	}
}

// endScript is case 26.
type endScript struct {
	Runs []struct {
		Name      string
		ServerEnd proxytest.Step `json:"server_end"`
		Command   string
		Exit      int `json:"proxy_exit"`
	}
}

const (
	caseInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case-host","version":"1.0.0"}}}` + "\n"
	caseAnswer     = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"case-server","version":"1.0.0"}}}` + "\n"
)

// Case 26: how the server ended is how the program ends, and on record.
func TestCaseExitCodes(t *testing.T) {
	t.Parallel()
	var script endScript
	caseScript(t, "26-exit-codes", &script)
	var want struct {
		Exit map[string]int `json:"proxy.exit"`
		End  map[string]struct {
			Code   *int
			Signal string
		} `json:"record.child_end"`
		Stdout map[string]int `json:"proxy.stdout_bytes"`
	}
	expected(t, "26-exit-codes", "", &want)
	for _, run := range script.Runs {
		t.Run(run.Name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path := h.path("r" + record.Suffix)
			if err := os.WriteFile(h.path("plain.txt"), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			command := proxytest.Program{{ReadLine: 1}, {Write: caseAnswer}, run.ServerEnd}.Argv()
			if run.Command != "" {
				word, _, _ := strings.Cut(run.Command, " ")
				command = []string{word}
			}
			k := h.talk(t, nil, append([]string{"sixlink", "record", "--out", path, "--"}, command...)...)
			k.in.WriteString(caseInitialize) // fails when the program has ended; stdin stays open
			code := k.wait()
			if code != want.Exit[run.Name] || code != run.Exit {
				t.Errorf("status %d, want %d", code, run.Exit)
			}
			r := readRecording(t, path)
			r.whole(t)
			if n, ok := want.Stdout[run.Name]; ok {
				if len(k.got) != n {
					t.Errorf("stdout %q", k.got)
				}
				if lines := about(k.errs.String()); len(lines) != 1 || !strings.Contains(lines[0], command[0]) || strings.Count(k.errs.String(), "\n") != 1 {
					t.Errorf("stderr %q", k.errs.String())
				}
				if !slices.ContainsFunc(r.records, func(rec *record.Record) bool { return rec.Kind == record.KindError && rec.Error.Code == run.Exit }) {
					t.Error("there is no error record with the code")
				}
				return
			}
			if string(k.got) != caseAnswer || k.errs.Len() != 0 {
				t.Errorf("stdout %q, stderr %q", k.got, k.errs.String())
			}
			if got := h.cat(t, path, record.Server); string(got) != caseAnswer {
				t.Errorf("the last reply is not recorded: %q", got)
			}
			if end, ok := want.End[run.Name]; ok && end.Code != nil {
				r.exit(t, *end.Code, "")
			} else if ok {
				r.exit(t, 0, end.Signal)
			} else {
				r.exit(t, run.Exit, "")
			}
			end := h.show(t, path).Sessions[0].End
			if w, ok := want.End[run.Name]; ok && (end.Signal != w.Signal || w.Code != nil && (end.Code == nil || *end.Code != *w.Code)) {
				t.Errorf("show: %+v", end)
			}
		})
	}
}

// dumpRole is case 29's server: it answers initialize with its arguments and
// environment.
func dumpRole() int {
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return 1
	}
	title, err := json.Marshal(map[string][]string{"argv": os.Args[1:], "env": os.Environ()})
	if err != nil {
		return 1
	}
	text, err := json.Marshal(string(title))
	if err != nil {
		return 1
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"dump","version":"1","title":%s}}}`+"\n", text)
	io.Copy(io.Discard, in)
	return 0
}

// Case 29: the server gets its arguments and environment as they are.
func TestCaseArgumentsAndEnvironment(t *testing.T) {
	t.Parallel()
	var script struct {
		Runs []struct {
			Name string
			Args []string `json:"proxy_args"`
		}
		Env map[string]string
	}
	caseScript(t, "29-argv-env", &script)
	var want struct {
		Argv []string          `json:"child.argv"`
		Env  map[string]string `json:"child.env"`
	}
	expected(t, "29-argv-env", "", &want)
	sixlink, err := exec.LookPath("sixlink")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if len(script.Runs) != 2 || len(want.Argv) != 13 {
		t.Fatalf("%+v", script)
	}
	for _, run := range script.Runs {
		t.Run(run.Name, func(t *testing.T) {
			h := newHome(t)
			path := h.path("r" + record.Suffix)
			for _, err := range []error{os.Mkdir(h.path(dumpFolder), 0o700), os.Symlink(self, h.path(dumpFolder, "server"))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			// The eighth keeps what the program writes for itself away from the
			// machine's own folders.
			env := maps.Clone(script.Env)
			env["SIXLINK_HOME"] = h.path("home")
			h.env = nil
			for k, v := range env {
				h.env = append(h.env, k+"="+v)
			}
			k := h.talk(t, nil, slices.Concat([]string{sixlink, "record", "--out", path}, run.Args[1:])...)
			k.write([]byte(caseInitialize))
			line := k.line()
			k.in.Close()
			if code := k.wait(); code != 0 || k.errs.Len() != 0 || string(k.got) != line {
				t.Errorf("status %d, stdout %q, stderr %q", code, k.got, k.errs.String())
			}
			var reply struct {
				Result struct{ ServerInfo struct{ Title string } }
			}
			var seen struct{ Argv, Env []string }
			if err := json.Unmarshal([]byte(line), &reply); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(reply.Result.ServerInfo.Title), &seen); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(seen.Argv, want.Argv) {
				t.Errorf("arguments %q\nwant %q", seen.Argv, want.Argv)
			}
			got := map[string]string{}
			for _, kv := range seen.Env {
				k, v, _ := strings.Cut(kv, "=")
				got[k] = v
			}
			if !maps.Equal(got, env) || len(seen.Env) != len(env) {
				t.Errorf("environment %q\nwant %q", seen.Env, env)
			}
			for k, v := range want.Env {
				if got[k] != v {
					t.Errorf("%s is %q, want %q", k, got[k], v)
				}
			}
			r := readRecording(t, path)
			r.whole(t)
			r.exit(t, 0, "")
			if want := append([]string{"./" + dumpFolder + "/server"}, want.Argv...); !slices.Equal(r.header.Command, want) {
				t.Errorf("recorded %q\nwant %q", r.header.Command, want)
			}
		})
	}
}

// Case 30, the runs that need no waits: a signal to the program, and one to both.
func TestCaseSignals(t *testing.T) {
	t.Parallel()
	var want struct {
		Exit map[string]int `json:"proxy.exit"`
	}
	expected(t, "30-child-ignores-eof", "", &want)
	const last = `{"jsonrpc":"2.0","id":9,"result":{}}` + "\n"
	for _, run := range []struct{ name, signal string }{{"term-to-proxy", "TERM"}, {"int-to-group", "INT"}} {
		t.Run(run.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path, notes := h.path("r"+record.Suffix), h.path("signals")
			code, ok := want.Exit[run.name]
			if !ok {
				t.Fatal("no status is asserted")
			}
			server := proxytest.Program{
				{On: map[string]proxytest.Program{run.signal: {{Note: &proxytest.Note{File: notes, Text: run.signal}}, {Write: last}, {Exit: &code}}}},
				{Pid: true}, {Hang: true},
			}
			k := h.talk(t, nil, append([]string{"sixlink", "record", "--out", path, "--"}, server.Argv()...)...)
			first := k.line()
			pid, err := strconv.Atoi(strings.TrimSpace(first))
			if err != nil {
				t.Fatal(err)
			}
			sig, err := proxytest.SignalNumber(run.signal)
			if err != nil {
				t.Fatal(err)
			}
			k.cmd.Process.Signal(sig)
			if run.name == "int-to-group" {
				syscall.Kill(pid, sig)
			}
			if got := k.wait(); got != code || k.errs.Len() != 0 {
				t.Errorf("status %d, want %d; stderr %q", got, code, k.errs.String())
			}
			if b, err := os.ReadFile(notes); err != nil || string(b) != run.signal+"\n" && run.name == "term-to-proxy" {
				t.Errorf("the server noted %q, %v", b, err)
			}
			r := readRecording(t, path)
			r.whole(t)
			r.exit(t, code, "")
			if got := h.cat(t, path, record.Server); string(got) != first+last || string(k.got) != first+last {
				t.Errorf("recorded %q, the host got %q", got, k.got)
			}
			if !slices.ContainsFunc(r.records, func(rec *record.Record) bool {
				return rec.Kind == record.KindClose && rec.Close.What == record.Signal && rec.Close.Signal == run.signal
			}) {
				t.Error("the signal is not on record")
			}
			if s := h.run(t, "sixlink", "show", path); s.code != 0 || !bytes.Contains(s.out, []byte(filepath.Base(path))) {
				t.Errorf("show: %d %s", s.code, s.err)
			}
		})
	}
}
