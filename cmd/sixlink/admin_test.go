package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// watch runs a command that says where its admin endpoint is, gives it the first
// line of stdin, takes one line of its stdout, and then asks the endpoint. It
// prints the answers, gives the command the end of stdin, and ends as it ends.
func watch() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	errs, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	base := ""
	for r := bufio.NewReader(errs); base == ""; {
		said, err := r.ReadString('\n')
		fmt.Print(said)
		if err != nil {
			in.Close()
			cmd.Wait()
			os.Exit(1)
		}
		if rest, ok := strings.CutPrefix(said, "sixlink: admin endpoint at "); ok {
			base = strings.TrimSpace(rest)
		}
	}
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	io.WriteString(in, line)
	answer, _ := bufio.NewReader(out).ReadString('\n')
	fmt.Print(answer)
	ask := func(method, path, host string) {
		r, _ := http.NewRequest(method, base+path, nil)
		if host != "" {
			r.Host = host
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(path, err)
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		fmt.Printf("%s %s %s: %d\n%s", method, path, host, resp.StatusCode, body)
	}
	ask("GET", "/healthz", "")
	ask("GET", "/readyz", "")
	ask("GET", "/metrics", "")
	ask("GET", "/metrics", "evil.example")
	ask("POST", "/metrics", "")
	in.Close()
	cmd.Wait()
	if _, err := http.Get(base + "/healthz"); err != nil {
		fmt.Println("gone")
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
