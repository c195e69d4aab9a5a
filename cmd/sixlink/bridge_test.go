package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// at runs a command beside an HTTP server of the given kind: URL in its arguments
// is the server's. On stderr it tells what the server got, when the command has
// ended; it ends with the command's code.
//
//	session  a session with a GET stream; wants the Authorization "Bearer s3cr3t-t0ken-1"
//	sse      the HTTP+SSE transport of 2024-11-05
//	modern   2026-07-28: no session, fields that repeat the message
//	oauth    401s that name a resource document, at /prm, and an event stream at /sse
//	nothing  nobody listens there
func at() {
	var mu sync.Mutex
	var log []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		json.Unmarshal(body, &m)
		mu.Lock()
		log = append(log, strings.TrimSpace(strings.Join([]string{r.Method, r.URL.Path, m.Method, r.Header.Get("Mcp-Session-Id"),
			r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name")}, " ")))
		mu.Unlock()
		serve(os.Args[1], w, r, string(m.ID), m.Method, m.Params.Name)
	}))
	target := srv.URL
	if os.Args[1] == "nothing" {
		srv.Close()
	}
	var args []string
	for _, a := range os.Args[2:] {
		args = append(args, strings.ReplaceAll(a, "URL", target))
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Run()
	srv.CloseClientConnections()
	for _, l := range log {
		fmt.Fprintf(os.Stderr, "server got %s\n", l)
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		os.Exit(128 + int(ws.Signal()))
	}
	os.Exit(ws.ExitStatus())
}

var (
	oldEvents = make(chan string, 16)
	streaming = make(chan struct{}) // closed: the session's stream was asked for
	tools     = `"tools":[{"name":"echo","inputSchema":{"type":"object"}}]`
)

func serve(kind string, w http.ResponseWriter, r *http.Request, id, method, tool string) {
	var result string
	switch method {
	case "initialize":
		result = `"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"remote","version":"3"}`
	case "server/discover":
		result = `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"`
	case "tools/list":
		result = tools
	case "tools/call":
		result = `"content":[{"type":"text","text":"you sent ` + r.Header.Get("Authorization") + `"}]`
	}
	answer := `{"jsonrpc":"2.0","id":` + id + `,"result":{` + result + `}}`
	events := func(s string) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, s)
		w.(http.Flusher).Flush()
	}
	switch kind {
	case "session":
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cr3t-t0ken-1":
			w.Header().Set("Www-Authenticate", `Bearer realm="remote"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case r.Method == "GET":
			close(streaming)
			events(": nothing to say\n\n")
			<-r.Context().Done()
		case r.Method == "DELETE":
		case id == "":
			w.WriteHeader(202)
		case method == "tools/call":
			<-streaming // or the session might be over before
			events("id: 1\ndata:\n\nevent: message\ndata: " + answer + "\n\n")
		default:
			w.Header().Set("Mcp-Session-Id", "session-77")
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, strings.ReplaceAll(answer, ",", ",\n "))
		}
	case "sse":
		switch {
		case r.Method == "GET":
			events("event: endpoint\ndata: /message?session=5\n\n")
			for {
				select {
				case e := <-oldEvents:
					events("event: message\ndata: " + e + "\n\n")
				case <-r.Context().Done():
					return
				}
			}
		case r.URL.Path != "/message":
			http.NotFound(w, r)
		default:
			if id != "" {
				oldEvents <- answer
			}
			w.WriteHeader(202)
		}
	case "oauth":
		self := "http://" + r.Host
		switch r.URL.Path {
		case "/prm":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{ "resource" : "%s/mcp", "authorization_servers":["%[1]s"]}`, self)
		case "/sse":
			events("event: endpoint\ndata: " + self + "/message?session=5\n\n")
		default:
			w.Header().Set("Www-Authenticate", `Bearer resource_metadata="`+self+`/prm", scope="a"`)
			http.Error(w, self, http.StatusUnauthorized)
		}
	case "modern":
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Mcp-Method") != method {
			w.WriteHeader(400)
			answer = `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32020,"message":"header mismatch"}}`
		}
		io.WriteString(w, answer)
	}
}

// term runs a command, gives it the first line of stdin, takes one line of its
// stdout, sends it TERM, and prints how it ended.
func term() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	io.WriteString(in, line)
	answer, _ := bufio.NewReader(out).ReadString('\n')
	fmt.Print(answer)
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	fmt.Println("ended by", cmd.ProcessState)
}
