//go:build faults && linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// What the cases say about time, and their runs that need real time or a small
// disk, on the program as it is built.

// Case 30, the runs in which the host goes away: TERM after a wait, KILL after
// another, nobody is left, and the recording ends with an end record.
func TestFaultCaseHostGone(t *testing.T) {
	t.Parallel()
	var want struct {
		Signals map[string][]string `json:"proxy.signals_to_child"`
		Within  map[string]int      `json:"proxy.exit_within_ms"`
	}
	expected(t, "30-child-ignores-eof", "", &want)
	const up = "up\n"
	for _, c := range []struct {
		name         string
		command      func(notes string) []string
		code, status int
		signal       string
	}{
		{name: "host-gone", command: func(notes string) []string {
			return proxytest.Program{
				{On: map[string]proxytest.Program{"TERM": {{Note: &proxytest.Note{File: notes, Text: "TERM"}}, {Exit: proxytest.Code(0)}}}},
				{Write: up}, {Hang: true},
			}.Argv()
		}},
		{name: "host-gone-stubborn", status: 137, signal: "KILL", command: func(string) []string {
			return proxytest.Program{{Ignore: []string{"TERM"}}, {Write: up}, {Hang: true}}.Argv()
		}},
		{name: "launcher", status: 143, signal: "TERM", command: func(string) []string {
			return append([]string{"sh", "-c", `"$@" <&0 & wait`, "sh"}, proxytest.Program{{Write: up}, {Hang: true}}.Argv()...)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault(t, "case 30: "+c.name)
			t.Parallel()
			h := newHome(t)
			path, notes := h.path("r"+record.Suffix), h.path("signals")
			k := h.talk(t, nil, append([]string{binary(t), "record", "--out", path, "--"}, c.command(notes)...)...)
			k.line()
			start := time.Now()
			k.in.Close()
			k.out.Close()
			if code := k.wait(); code != c.status {
				t.Errorf("status %d, want %d; stderr %s", code, c.status, k.errs.String())
			}
			took := time.Since(start)
			if limit, ok := want.Within[c.name]; ok && took > time.Duration(limit)*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			if took < 2*time.Second { // eof-half-close needs at least 2 s before TERM
				t.Errorf("TERM came after %v", took)
			}
			r := readRecording(t, path)
			r.whole(t)
			r.exit(t, c.code, c.signal)
			var sent []string
			for _, rec := range r.records {
				if rec.Kind == record.KindClose && rec.Close.What == record.Signal && rec.Close.Who == record.ByProxy {
					sent = append(sent, rec.Close.Signal)
				}
			}
			if w, ok := want.Signals[c.name]; ok && !slices.Equal(sent, w) {
				t.Errorf("signals on record %q, want %q", sent, w)
			}
			if b, _ := os.ReadFile(notes); c.name == "host-gone" && string(b) != "TERM\n" {
				t.Errorf("the server noted %q", b)
			}
			observed(t, "over after %s, signals %q; the recording ends with an exit record", seconds(took), sent)
		})
	}
}

// Case 24 with its bound on each reply, also with a reader of stderr that takes
// 1 KiB every 5 ms.
func TestFaultCaseStderrInSmallSteps(t *testing.T) {
	t.Parallel()
	var s floodScript
	caseScript(t, "24-stderr-flood", &s)
	for _, run := range s.Runs {
		t.Run(run.Name, func(t *testing.T) {
			fault(t, "case 24: stderr flood, reader "+run.Name)
			t.Parallel()
			h := newHome(t)
			path := h.path("r" + record.Suffix)
			theirs, ours := proxytest.Pipe(t)
			read := make(chan []byte, 1)
			k := h.talk(t, func(c *exec.Cmd) {
				switch run.Name {
				case "devnull":
					c.Stderr = nil
				case "small-steps":
					c.Stderr = ours
				}
			}, append([]string{binary(t), "record", "--out", path, "--"}, s.Server.Argv()...)...)
			ours.Close()
			go func() {
				var got bytes.Buffer
				slow := proxytest.SlowReader{R: theirs, Size: 1 << 10, Between: func() { time.Sleep(5 * time.Millisecond) }}
				got.ReadFrom(slow)
				read <- got.Bytes()
			}()
			var worst time.Duration
			stdout, sent := k.flood(&s, func(within int) func() {
				start := time.Now()
				return func() {
					took := time.Since(start)
					if worst = max(worst, took); took > time.Duration(within)*time.Millisecond {
						t.Errorf("a reply took %v, %d ms are allowed", took, within)
					}
				}
			})
			if code := k.wait(); code != 0 {
				t.Errorf("status %d", code)
			}
			got := k.errs.Bytes()
			if run.Name == "small-steps" {
				got = <-read
			}
			if run.Name != "devnull" && !bytes.Equal(got, s.stderr()) {
				t.Errorf("%d bytes came out of stderr, %d were written, or they differ", len(got), len(s.stderr()))
			}
			h.holdsFlood(t, &s, path, stdout, sent, k.got)
			observed(t, "the slowest reply took %v; stderr and stdout whole", worst.Round(time.Millisecond))
		})
	}
}

// Case 26: the program ends within 2 s of the server, whatever the host does with
// its stdin.
func TestFaultCaseEndsWithServer(t *testing.T) {
	fault(t, "case 26: the server ends, stdin stays open")
	var script endScript
	caseScript(t, "26-exit-codes", &script)
	for _, run := range script.Runs {
		if run.Command != "" {
			continue
		}
		h := newHome(t)
		command := proxytest.Program{{ReadLine: 1}, {Write: caseAnswer}, run.ServerEnd}.Argv()
		k := h.talk(t, nil, append([]string{binary(t), "record", "--out", h.path("r" + record.Suffix), "--"}, command...)...)
		k.write([]byte(caseInitialize))
		k.line()
		start := time.Now() // the server's end follows its answer at once
		code := k.wait()
		took := time.Since(start)
		if code != run.Exit || took > 2*time.Second {
			t.Errorf("%s: status %d after %v", run.Name, code, took)
		}
		observed(t, "%s: over after %v", run.Name, took.Round(time.Millisecond))
	}
}

// Cases 16 and 49: what grading may take.
func TestFaultCaseGradingTimes(t *testing.T) {
	fault(t, "cases 16 and 49: hostile recordings are graded")
	h := newHome(t)
	deep := h.path("deep" + record.Suffix)
	h.record(t, framesPlay(t, "16-deep-nesting"), "--out", deep)
	bombs, err := filepath.Glob(filepath.Join(fixtures.Dir(), "cases", "49-zst-bombs", "*.zst"))
	if err != nil || len(bombs) != 4 {
		t.Fatalf("%q, %v", bombs, err)
	}
	suite, _ := h.suite(t, "16-deep-nesting", "c1")
	grade := func(limit time.Duration, code int, words ...string) {
		start := time.Now()
		d := h.run(t, append([]string{binary(t), "grade"}, words...)...)
		took := time.Since(start)
		if noTrace(t, d); d.code != code || took > limit {
			t.Errorf("%q: status %d after %v, want %d within %v", words, d.code, took, code, limit)
		}
		observed(t, "%s %v", filepath.Base(words[len(words)-1]), took.Round(time.Millisecond))
	}
	grade(2*time.Second, exitGood, "--suite", suite, deep)
	for _, b := range bombs {
		grade(5*time.Second, exitUnknown, b)
	}
	grade(5*time.Second, exitUnknown, bombs...)
}

// Case 51, small-disk, with the case's own input.
func TestFaultCaseSmallDisk(t *testing.T) {
	fault(t, "case 51: a disk of 64 KiB")
	disk := proxytest.NewDisk(t, 64<<10, skipped)
	h, p := newHome(t), paddedPlay(t)
	path := filepath.Join(disk.Dir, "r"+record.Suffix)
	said := h.record(t, p, "--out", path)
	if lines := about(said); len(lines) != 1 || !strings.Contains(lines[0], "recording stopped") {
		t.Errorf("stderr %q", said)
	}
	r := readRecording(t, path)
	if !r.end.Torn && r.end.Gaps == 0 {
		t.Errorf("the recording claims to be whole: %+v", r.end)
	}
	h.neverPassed(t, path)
	observed(t, "%d records kept, state %s, %d gaps; told: %s", r.end.Records, r.end.State, r.end.Gaps, plain(strings.TrimSpace(said)))
}
