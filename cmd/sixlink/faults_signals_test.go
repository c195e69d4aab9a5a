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

// Every way in which a signal can end a server (recorder.md 3.1): whoever looks
// sees the same status as without us, and the recording names the signal.
func TestFaultDeathSignals(t *testing.T) {
	fault(t, "signals that kill the server")
	signals := []string{"HUP", "INT", "QUIT", "ABRT", "SEGV", "KILL", "USR1", "USR2", "PIPE", "ALRM", "TERM", "BUS", "FPE", "ILL", "TRAP", "SYS", "XCPU", "XFSZ"}
	seenBy(t, signals, false, dying, saysDying)
}

// Every signal that we pass on, sent to us: the server gets it once, dies of it,
// and whoever looks sees that.
func TestFaultSignalsPassedOn(t *testing.T) {
	fault(t, "signals sent to us")
	seenBy(t, []string{"HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM"}, true, waiting, saysWaiting)
}

func seenBy(t *testing.T, signals []string, send bool, command func(string) []string, story func(string) []string) {
	t.Helper()
	var seen []string
	for _, o := range observers(t) {
		seen = append(seen, o.sameStatus(t, binary(t), signals, send, command, story))
	}
	observed(t, "%s: %s; each as without us, each on record, nobody left", strings.Join(signals, " "), strings.Join(seen, ", "))
}

// Signals that must not end us: the host's doing with a pipe, a window, a stop.
func TestFaultSignalsSurvived(t *testing.T) {
	fault(t, "signals that must not end us, and STOP")
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
	mustShow(t, r.path, "code 0")
	observed(t, "traffic went on after %s, and after 0.3 s of STOP; %s", strings.Join(sent[1:], ", "), peak(r))
}

// As PID 1 of a namespace, which no signal of its own can kill: 128 + n, and
// orphans are reaped.
func TestFaultAsPIDOne(t *testing.T) {
	fault(t, "as PID 1")
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
	// From outside, as a container is stopped: the server gets it and dies of it.
	r := startReal(t, setup{before: unshare, command: waiting("TERM")})
	r.read("up\n")
	syscall.Kill(r.pid(unshare), syscall.SIGTERM)
	k := r.end(128 + int(syscall.SIGTERM))
	k.has(t, "close client signal TERM to child", "exit TERM")
	// The middle of three shells ends, so that the last one's parent becomes us.
	r = startReal(t, setup{before: unshare, command: []string{"sh", "-c",
		`(sh -c 'echo $$; exec sleep 0.2' &); read x; ps -A -o stat= | grep -c '^[RS]' >/dev/null || exit 99; ps -A -o stat= | grep -c '^Z'; exit 21`}})
	r.out.SetReadDeadline(time.Now().Add(proxytest.Guard))
	if _, err := r.out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond)
	r.write("go\n")
	r.read("0\n")
	r.end(21)
	observed(t, "the server killed by a signal: exit %s; TERM from outside 143; an orphan left no zombie; %s", strings.Join(seen, ", "), peak(r))
}

// nohup: HUP does nothing, to us or to the server.
func TestFaultNohup(t *testing.T) {
	fault(t, "nohup")
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
	observed(t, "HUP did nothing, the traffic went on, TERM ended the server with 0; %s", peak(r))
}

// At a terminal: a line that is typed reaches the server, and Ctrl-C reaches it
// once.
func TestFaultTerminal(t *testing.T) {
	fault(t, "a terminal")
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
	observed(t, "the typed line came, Ctrl-C reached the server once, status 130; %s", peak(r))
}

// The short form of case 30, int-to-group: one clean end when the key press
// reaches proxy and server at once.
func TestFaultSignalToBoth(t *testing.T) {
	fault(t, "a key press that reaches us and the server")
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
	observed(t, "a key press at both: the server heard of it %d times, its last words came, status 130; %s", bytes.Count(said, []byte("\n")), peak(r))
}
