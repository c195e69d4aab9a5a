package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/fixtures/mutant"
	"github.com/sixlink/sixlink/grade/predicate"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"sixlink":  func() { os.Exit(Main()) },
		"server":   server,
		"mutant":   mutated,
		"args":     args,
		"status":   status,
		"upstream": upstream,
		"ask":      ask,
		"await":    await,
		"at":       at,
		"term":     term,
		"watch":    watch,
		"notes":    notes,
		"noting":   noting,
		"shop":     shop,
		"buyer":    buyer,
		"rig":      rig,
		"examples": examples,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("SIXLINK_HOME", e.WorkDir+"/home")
			e.Setenv("HOSTS", filepath.Join(fixtures.Dir(), "hosts"))
			// The race detector has each program wait a second before it ends; scripts start hundreds.
			e.Setenv("GORACE", "atexit_sleep_ms=20")
			page, err := filepath.Abs("../../docs/regression-gate.md")
			e.Setenv("PAGE", page)
			return err
		},
	})
}

// server is a small MCP server: tools echo, fail (isError) and break (a protocol
// error). With an argument it leaves in that way after the first request: a
// number is its exit code, a name a signal that it sends to itself.
func server() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal([]byte(line), &req) != nil || req.ID == nil {
			continue
		}
		answer := func(format string, args ...any) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,`+format+"}\n", append([]any{string(req.ID)}, args...)...)
		}
		switch req.Method {
		case "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"script-server","version":"1.2.3"}}`)
		case "tools/list":
			schema := `{"type":"object","properties":{"n":{"type":"integer"}}}`
			answer(`"result":{"tools":[{"name":"echo","description":"Echoes what it is given.","inputSchema":%s},{"name":"fail","inputSchema":%[2]s},{"name":"break","inputSchema":%[2]s}]}`, schema)
		case "tools/call":
			switch req.Params.Name {
			case "fail":
				answer(`"result":{"content":[{"type":"text","text":"it did not work"}],"isError":true}`)
			case "break":
				answer(`"error":{"code":-32603,"message":"broken inside"}`)
			default:
				answer(`"result":{"content":[{"type":"text","text":"ok"}]}`)
			}
		default:
			answer(`"error":{"code":-32601,"message":"method not found"}`)
		}
		if len(os.Args) > 1 {
			leave(os.Args[1])
		}
	}
}

// mutated is the mutant of the fixtures: its arguments are the mutations; "session"
// prints what a client sends that uses all of it.
func mutated() {
	if len(os.Args) == 2 && os.Args[1] == "session" {
		fmt.Println(strings.Join(mutant.Session(), "\n"))
		return
	}
	s, err := mutant.New(os.Args[1:]...)
	if err == nil {
		err = s.Serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func leave(how string) {
	if n, err := strconv.Atoi(how); err == nil {
		os.Exit(n)
	}
	syscall.Kill(os.Getpid(), map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[how])
	select {}
}

// args prints its arguments and environment, one a line, quoted.
func args() {
	for _, a := range os.Args[1:] {
		fmt.Printf("arg %q\n", a)
	}
	for _, kv := range os.Environ() {
		fmt.Printf("env %q\n", kv)
	}
}

// status runs a command and prints its exit status as a shell shows it.
func status() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Run()
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		fmt.Printf("status %d signal %d\n", 128+int(ws.Signal()), int(ws.Signal()))
		return
	}
	fmt.Printf("status %d\n", ws.ExitStatus())
}

// The examples that --help shows must be commands that exist with flags that exist.
func TestHelpExamples(t *testing.T) {
	all := verbs()
	for i := 0; i < len(all); i++ {
		v := all[i]
		if v.subs != nil {
			all = append(all, v.subs...)
			continue
		}
		own := strings.Fields(v.name)
		for _, ex := range v.examples {
			words := strings.Fields(strings.Split(strings.Split(ex, "|")[0], "&&")[0])
			if len(words) <= len(own) || words[0] != "sixlink" || !slices.Equal(words[1:1+len(own)], own) {
				t.Errorf("%s: example %q is of another command", v.name, ex)
				continue
			}
			if err := v.flagSet().Parse(words[1+len(own):]); err != nil {
				t.Errorf("%s: example %q: %v", v.name, ex, err)
			}
		}
	}
}

// A terminal is 80 columns wide. Examples alone may be longer: they are to be copied.
func TestHelpFitsATerminal(t *testing.T) {
	texts := map[string]string{}
	say := func(args ...string) {
		var b bytes.Buffer
		if code := run(stdio{out: &b, err: io.Discard}, args); code != exitGood {
			t.Errorf("%q: exit %d", args, code)
		}
		texts[strings.Join(args, " ")] = b.String()
	}
	say("help")
	say("checks")
	for _, kind := range predicate.Names() {
		say("checks", kind)
	}
	for all := verbs(); len(all) > 0; all = all[1:] {
		say(append([]string{"help"}, strings.Fields(all[0].name)...)...)
		all = append(all, all[0].subs...)
	}
	for of, text := range texts {
		if strings.HasPrefix(of, "help") {
			text, _, _ = strings.Cut(text, "\nExamples:")
		}
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("sixlink %s: %d characters: %s", of, n, line)
			}
		}
	}
}

// What this program links is what docs/dependencies.md says; mcp-go would
// slow down its start and is for fixtures (DESIGN.md "Dependencies").
func TestLinkedModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	linked, _, _ := strings.Cut(string(doc), "Only in tests")
	for _, mod := range strings.Fields(string(out)) {
		if mod == "github.com/sixlink/sixlink" {
			continue
		}
		if strings.Contains(mod, "mcp-go") {
			t.Errorf("%s is linked", mod)
		}
		if !strings.Contains(linked, "`"+mod+"`") {
			t.Errorf("%s is linked and not in docs/dependencies.md", mod)
		}
	}
}
