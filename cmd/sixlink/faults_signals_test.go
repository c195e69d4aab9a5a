//go:build faults && linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// An observer starts a command and says how it ended, in its own words.
type observer struct {
	name  string
	probe func(t *testing.T, argv []string, signal string) string
}

// observers are who looks at our status: a shell's $?, Node's exit event, and
// waitpid as any parent calls it. signal, if set, is sent to the command once it
// has written "up".
func observers(t *testing.T) []observer {
	o := []observer{
		{"shell", func(t *testing.T, argv []string, signal string) string {
			script := `"$@" </dev/null 2>/dev/null >/dev/null; echo $?`
			if signal != "" {
				// The background job of a shell has INT ignored; a job in a monitor
				// shell has not.
				script = `mkfifo "$FIFO"; set -m; "$@" >"$FIFO" 2>/dev/null </dev/null & p=$!; read up <"$FIFO"; kill -` + signal + ` $p; wait $p; echo $?`
			}
			cmd := exec.Command("bash", append([]string{"-c", script, "sh"}, argv...)...)
			cmd.Env = append(os.Environ(), "FIFO="+filepath.Join(t.TempDir(), "fifo"))
			return output(t, cmd)
		}},
		{"waitpid", func(t *testing.T, argv []string, signal string) string {
			cmd := exec.Command(argv[0], argv[1:]...)
			in, err := cmd.StdinPipe() // stays open
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if signal != "" {
				out.Read(make([]byte, 3))
				cmd.Process.Signal(mustSignal(signal))
			}
			cmd.Wait()
			ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if ws.Signaled() {
				return fmt.Sprintf("signal %d", int(ws.Signal()))
			}
			return fmt.Sprintf("exit %d", ws.ExitStatus())
		}},
	}
	if _, err := exec.LookPath("node"); err != nil {
		fmt.Printf("SKIPPED the status as Node sees it: %v\n", err)
		if os.Getenv("REQUIRE_E2E") == "1" {
			t.Error("REQUIRE_E2E=1 does not allow that")
		}
		return o
	}
	return append(o, observer{"node", func(t *testing.T, argv []string, signal string) string {
		const script = `
const { spawn } = require("node:child_process");
const [signal, cmd, ...args] = process.argv.slice(1);
const c = spawn(cmd, args, { stdio: ["pipe", "pipe", "ignore"] });
c.stdout.once("data", () => { if (signal !== "none") c.kill("SIG" + signal); });
c.on("exit", (code, sig) => { console.log(JSON.stringify([code, sig])); process.exit(0); });`
		if signal == "" {
			signal = "none"
		}
		return output(t, exec.Command("node", append([]string{"-e", script, signal}, argv...)...))
	}})
}

func mustSignal(name string) syscall.Signal {
	s, err := proxytest.SignalNumber(name)
	if err != nil {
		panic(err)
	}
	return s
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// through is the command that records another one.
func through(t *testing.T, out string, command []string) []string {
	return append([]string{binary(t), "record", "--quiet", "--out", out, "--"}, command...)
}

// Every way in which a signal can end a server (recorder.md 3.1): whoever looks
// sees the same status as without us, and the recording names the signal.
func TestFaultDeathSignals(t *testing.T) {
	seen := map[string][]string{}
	for _, o := range observers(t) {
		for _, sig := range []string{"HUP", "INT", "QUIT", "ABRT", "SEGV", "KILL", "USR1", "USR2", "PIPE", "ALRM", "TERM", "BUS", "FPE", "ILL", "TRAP", "SYS", "XCPU", "XFSZ"} {
			argv := []string{"sh", "-c", "ulimit -c 0; kill -" + sig + " $$; sleep 60"}
			direct := o.probe(t, argv, "")
			path := filepath.Join(t.TempDir(), "r"+record.Suffix)
			got := o.probe(t, through(t, path, argv), "")
			if got != direct {
				t.Errorf("%s: a server killed by %s: %s, without us %s", o.name, sig, got, direct)
			}
			read(t, path).has(t, "exit "+sig)
			seen[o.name] = append(seen[o.name], sig+" "+strings.TrimPrefix(got, "signal "))
		}
		t.Logf("observed: %s sees what it sees without us: %s", o.name, strings.Join(seen[o.name], ", "))
	}
}

// Every signal that we pass on, sent to us: the server gets it once, dies of it,
// and whoever looks sees that.
func TestFaultSignalsPassedOn(t *testing.T) {
	for _, o := range observers(t) {
		var seen []string
		for _, sig := range []string{"HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM"} {
			// Not a shell, which would wait for its child before it dies.
			argv := []string{"sh", "-c", "ulimit -c 0; echo up; exec sleep 60"}
			direct := o.probe(t, argv, sig)
			path := filepath.Join(t.TempDir(), "r"+record.Suffix)
			got := o.probe(t, through(t, path, argv), sig)
			if got != direct {
				t.Errorf("%s: %s sent to us: %s, without us %s", o.name, sig, got, direct)
			}
			read(t, path).has(t, "close client signal "+sig+" to child", "exit "+sig)
			seen = append(seen, sig+" "+strings.TrimPrefix(got, "signal "))
		}
		t.Logf("observed: %s sees what it sees without us: %s", o.name, strings.Join(seen, ", "))
	}
}

// Signals that must not end us: the host's doing with a pipe, a window, a stop.
func TestFaultSignalsSurvived(t *testing.T) {
	r := startReal(t, setup{command: []string{"cat"}})
	sent := []string{"up"}
	r.write("up\n")
	r.read("up\n") // it has its handlers
	for _, sig := range []string{"PIPE", "XCPU", "XFSZ", "WINCH", "CHLD", "URG", "CONT"} {
		r.cmd.Process.Signal(mustSignal(sig))
		r.write(sig + "\n")
		r.read(sig + "\n")
		sent = append(sent, sig)
	}
	r.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(300 * time.Millisecond)
	r.cmd.Process.Signal(syscall.SIGCONT)
	r.write("after the stop\n")
	r.read("after the stop\n")
	r.in.Close()
	k := r.end(0)
	want := digestOf([]byte(strings.Join(sent, "\n") + "\nafter the stop\n"))
	k.account(t, record.Client, want)
	k.account(t, record.Server, want)
	t.Logf("observed: traffic went on after %s, and after 0.3 s of STOP; %s", strings.Join(sent[1:], ", "), peak(r))
}

// As PID 1 of a namespace, which no signal of its own can kill: 128 + n, and
// orphans are reaped.
func TestFaultAsPIDOne(t *testing.T) {
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		skipped(t, "as PID 1", fmt.Sprintf("%v: %s", err, bytes.TrimSpace(out)))
	}
	var seen []string
	for _, sig := range []string{"HUP", "INT", "QUIT", "ABRT", "SEGV", "KILL", "USR1", "PIPE", "ALRM", "TERM"} {
		r := startReal(t, setup{before: unshare, command: []string{"sh", "-c", "ulimit -c 0; kill -" + sig + " $$; sleep 60"}})
		k := r.end(128 + int(mustSignal(sig)))
		k.has(t, "exit "+sig)
		if ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Exited() {
			t.Errorf("%s: %v, not an exit", sig, ws)
		}
		seen = append(seen, fmt.Sprintf("%s %d", sig, r.wait()))
	}
	// The middle of three shells ends, so that the last one's parent becomes us.
	r := startReal(t, setup{before: unshare, command: []string{"sh", "-c",
		`(sh -c 'echo $$; exec sleep 0.2' &); read x; ps -A -o stat= | grep -c '^[RS]' >/dev/null || exit 99; ps -A -o stat= | grep -c '^Z'; exit 21`}})
	r.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	if _, err := r.out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond)
	r.write("go\n")
	r.read("0\n")
	r.end(21)
	t.Logf("observed: exit codes %s; an orphan left no zombie", strings.Join(seen, ", "))
}

// nohup: HUP does nothing, to us or to the server.
func TestFaultNohup(t *testing.T) {
	nohup, err := exec.LookPath("nohup")
	if err != nil {
		skipped(t, "nohup", err)
	}
	file := filepath.Join(t.TempDir(), "signals")
	r := startReal(t, setup{before: []string{nohup}, command: proxytest.Program{
		{On: map[string]proxytest.Program{
			"HUP":  {{Note: &proxytest.Note{File: file, Text: "HUP"}}},
			"TERM": {{Note: &proxytest.Note{File: file, Text: "TERM"}}, {Exit: proxytest.Code(0)}}}},
		{Write: "up\n"}, {ReadLine: 1}, {Write: "still here\n"}, {Hang: true}}.Argv()})
	r.read("up\n")
	r.cmd.Process.Signal(syscall.SIGHUP)
	r.write("there?\n")
	r.read("still here\n")
	r.cmd.Process.Signal(syscall.SIGTERM)
	k := r.end(0)
	k.has(t, "close client signal TERM to child", "exit 0")
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "TERM\n" {
		t.Errorf("the server got %q, %v", got, err)
	}
	mustShow(t, r.path, "code 0")
	t.Logf("observed: HUP did nothing, the traffic went on, TERM ended the server with 0; %s", peak(r))
}

// At a terminal: a line that is typed reaches the server, and Ctrl-C reaches it
// once.
func TestFaultTerminal(t *testing.T) {
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		skipped(t, "a terminal", err)
	}
	host, tty := proxytest.Terminal(t)
	file := filepath.Join(t.TempDir(), "signals")
	r := startReal(t, setup{command: proxytest.Program{
		{On: map[string]proxytest.Program{"INT": {{Note: &proxytest.Note{File: file, Text: "INT"}}, {Exit: proxytest.Code(130)}}}},
		{Write: "up\n"}, {ReadLine: 1}, {Write: "read\n"}, {Hang: true}}.Argv(),
		prepare: func(c *exec.Cmd) {
			c.Stdin = tty
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		}})
	tty.Close()
	r.read("up\n")
	host.WriteString("typed\n")
	r.read("read\n")
	host.WriteString("\x03")
	k := r.end(130)
	k.has(t, "close client signal INT to nobody", "exit 130")
	k.account(t, record.Client, digestOf([]byte("typed\n")))
	if got, err := os.ReadFile(file); err != nil || string(got) != "INT\n" {
		t.Errorf("the server got %q, %v", got, err)
	}
	mustShow(t, r.path, "code 130")
	t.Logf("observed: the typed line came, Ctrl-C reached the server once, status 130; %s", peak(r))
}

// The short form of case 30, int-to-group: one clean end when the key press
// reaches proxy and server at once.
func TestFaultSignalToBoth(t *testing.T) {
	file := filepath.Join(t.TempDir(), "signals")
	r := startReal(t, setup{command: proxytest.Program{
		{On: map[string]proxytest.Program{"INT": {{Note: &proxytest.Note{File: file, Text: "INT"}}, {Write: "last words\n"}, {Exit: proxytest.Code(130)}}}},
		{Pid: true}, {Hang: true}}.Argv()})
	r.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	var pid int
	if _, err := fmt.Fscanf(r.out, "%d\n", &pid); err != nil {
		t.Fatal(err)
	}
	r.cmd.Process.Signal(syscall.SIGINT)
	syscall.Kill(pid, syscall.SIGINT)
	r.read("last words\n")
	k := r.end(130)
	k.has(t, "close client signal INT to child", "exit 130")
	said, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mustShow(t, r.path, "code 130")
	t.Logf("observed: a key press at both: the server heard of it %d times, its last words came, status 130; %s", bytes.Count(said, []byte("\n")), peak(r))
}
