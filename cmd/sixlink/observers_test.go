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

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// An observer starts a command and says how it ended, in its own words.
type observer struct {
	name  string
	probe func(t *testing.T, life *proxytest.Lifeline, argv []string, signal string) string
}

// observers are who looks at our status: a shell's $?, Node's exit event, and
// waitpid as any parent calls it. signal, if set, is sent to the command once it
// has written "up". Every process of it holds the lifeline.
func observers(t *testing.T) []observer {
	o := []observer{
		{"shell", func(t *testing.T, life *proxytest.Lifeline, argv []string, signal string) string {
			script := `"$@" </dev/null 2>/dev/null >/dev/null; echo $?`
			if signal != "" {
				// The background job of a shell has INT ignored; a job in a monitor
				// shell has not.
				script = `mkfifo "$FIFO"; set -m; "$@" >"$FIFO" 2>/dev/null </dev/null & p=$!; read up <"$FIFO"; kill -` + signal + ` $p; wait $p; echo $?`
			}
			cmd := exec.Command("bash", append([]string{"-c", script, "sh"}, argv...)...)
			cmd.Env = append(os.Environ(), "FIFO="+filepath.Join(t.TempDir(), "fifo"))
			cmd.ExtraFiles = []*os.File{life.Held}
			return output(t, cmd)
		}},
		{"waitpid", func(t *testing.T, life *proxytest.Lifeline, argv []string, signal string) string {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.ExtraFiles = []*os.File{life.Held}
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
		t.Logf("SKIPPED the status as Node sees it: %v", err)
		if os.Getenv("REQUIRE_E2E") == "1" {
			t.Error("REQUIRE_E2E=1 does not allow that")
		}
		return o
	}
	return append(o, observer{"node", func(t *testing.T, life *proxytest.Lifeline, argv []string, signal string) string {
		const script = `
const { spawn } = require("node:child_process");
const [signal, cmd, ...args] = process.argv.slice(1);
const c = spawn(cmd, args, { stdio: ["pipe", "pipe", "ignore", 3] });
c.stdout.once("data", () => { if (signal !== "none") c.kill("SIG" + signal); });
c.on("exit", (code, sig) => { console.log(sig ?? code); process.exit(0); });`
		if signal == "" {
			signal = "none"
		}
		cmd := exec.Command("node", append([]string{"-e", script, signal}, argv...)...)
		cmd.ExtraFiles = []*os.File{life.Held}
		return output(t, cmd)
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
func through(program, out string, command []string) []string {
	return append([]string{program, "record", "--quiet", "--out", out, "--"}, command...)
}

// sameStatus asserts that an observer sees the same of a command with and without us,
// for each of the signals; the command is made for a signal, which is sent to it if
// send says so. story is what the recording says. It returns what was seen.
func (o observer) sameStatus(t *testing.T, program string, signals []string, send bool, command func(sig string) []string, story func(sig string) []string) string {
	t.Helper()
	life := proxytest.NewLifeline(t)
	var all []string
	for _, sig := range signals {
		sent := ""
		if send {
			sent = sig
		}
		direct := o.probe(t, life, command(sig), sent)
		path := filepath.Join(t.TempDir(), "r"+record.Suffix)
		got := o.probe(t, life, through(program, path, command(sig)), sent)
		if got != direct {
			t.Errorf("%s: %s: %s, without us %s", o.name, sig, got, direct)
		}
		r, err := record.Open(path, record.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for rec, err := r.Next(); err == nil; rec, err = r.Next() {
			said = append(said, proxytest.Describe(*rec))
		}
		if end := r.End(); end.State != record.Sealed {
			t.Errorf("%s: %s: the recording is %s", o.name, sig, end.State)
		}
		r.Close()
		for _, want := range story(sig) {
			if !strings.Contains(strings.Join(said, "\n")+"\n", want+"\n") {
				t.Errorf("%s: %s: the recording does not say %q: %q", o.name, sig, want, said)
			}
		}
		all = append(all, strings.TrimPrefix(got, "signal "))
	}
	if !life.Gone() {
		t.Errorf("%s: a process was left behind", o.name)
	}
	return fmt.Sprintf("%s %s", o.name, strings.Join(all, " "))
}

// dying is killed by a signal of its own, waiting by one that is sent to it: no
// shell, which would wait for its child before it dies.
func dying(sig string) []string {
	return []string{"sh", "-c", "ulimit -c 0; kill -" + sig + " $$; sleep 60"}
}
func waiting(string) []string { return []string{"sh", "-c", "ulimit -c 0; echo up; exec sleep 60"} }

func saysDying(sig string) []string { return []string{"exit " + sig} }
func saysWaiting(sig string) []string {
	return []string{"close client signal " + sig + " to child", "exit " + sig}
}

// The short form of what make faults does for every signal: the status as others
// see it (recorder.md 3.1).
func TestStatusAsOthersSeeIt(t *testing.T) {
	t.Parallel()
	for _, o := range observers(t) {
		t.Log(o.sameStatus(t, "sixlink", []string{"QUIT", "USR1", "KILL"}, false, dying, saysDying))
		t.Log(o.sameStatus(t, "sixlink", []string{"TERM"}, true, waiting, saysWaiting))
	}
}
