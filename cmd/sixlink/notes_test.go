package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/sixlink/sixlink/fixtures/mutant"
)

// notes is an MCP server with state: list_notes and get_note read (and say so),
// add_note and delete_note write. add_note mints an id that is new in every run.
// Every call is counted: its tool is a line of the file $COUNT. Arguments:
//
//	drop      get_note is not listed any more
//	words     list_notes says it otherwise
//	unmarked  nothing is said to be read-only
//	die       it ends at the first call of get_note
//	hang      it does not answer get_note
//	http FILE it speaks HTTP; FILE gets its URL
//	modern    it speaks 2026-07-28 alone
func notes() {
	s := &noteServer{notes: map[string]string{}, is: map[string]bool{}}
	file := ""
	for i := 1; i < len(os.Args); i++ {
		if s.is[os.Args[i]] = true; os.Args[i] == "http" {
			i++
			file = os.Args[i]
		}
	}
	if file != "" {
		s.http(file)
		return
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if a := s.answer(line); a != "" {
			fmt.Println(a)
		}
	}
}

type noteServer struct {
	mu    sync.Mutex
	is    map[string]bool
	notes map[string]string
}

func (s *noteServer) http(file string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = writeReady(file, "http://"+ln.Addr().String()+"/mcp")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	sessions := sync.Map{}
	http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("Mcp-Session-Id")
		_, known := sessions.Load(id)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case strings.Contains(string(body), `"method":"initialize"`):
			id = rand.Text()
			sessions.Store(id, true)
			w.Header().Set("Mcp-Session-Id", id)
		case !known && !s.is["modern"]:
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		a := s.answer(body)
		if a == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, a)
	}))
}

func (s *noteServer) answer(line []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments map[string]string
			Meta      map[string]any `json:"_meta"`
		}
	}
	if json.Unmarshal(line, &req) != nil || req.ID == nil || req.Method == "" {
		return ""
	}
	result := func(v any) string {
		b, _ := json.Marshal(v)
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, b)
	}
	text := func(v any, bad bool) string {
		b, _ := json.Marshal(v)
		r := map[string]any{"content": []any{map[string]any{"type": "text", "text": string(b)}}}
		if bad {
			r["isError"] = true
		}
		if s.is["modern"] {
			r["resultType"] = "complete"
		}
		return result(r)
	}
	if s.is["modern"] && req.Params.Meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no protocol version in _meta"}}`, req.ID)
	}
	switch req.Method {
	case "initialize":
		return result(map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]string{"name": "notes", "version": "1"}})
	case "tools/list":
		return result(s.list())
	case "tools/call":
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, req.ID)
	}
	if f, err := os.OpenFile(os.Getenv("COUNT"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, req.Params.Name)
		f.Close()
	}
	arg := req.Params.Arguments
	switch req.Params.Name {
	case "list_notes":
		if s.is["words"] {
			return text(map[string]any{"count": len(s.notes)}, false)
		}
		return text(map[string]any{"notes": len(s.notes)}, false)
	case "get_note":
		switch {
		case s.is["die"]:
			fmt.Fprintf(os.Stderr, "notes: out of paper, API_TOKEN=%s\n", os.Getenv("API_TOKEN"))
			os.Exit(3)
		case s.is["hang"]:
			return ""
		}
		if n, ok := s.notes[arg["id"]]; ok {
			return text(map[string]any{"text": n}, false)
		}
		return text("no such note", true)
	case "add_note":
		id := "note-" + strings.ToLower(rand.Text())
		s.notes[id] = arg["text"]
		return text(map[string]any{"id": id}, false)
	case "delete_note":
		if _, ok := s.notes[arg["id"]]; !ok {
			return text("no such note", true)
		}
		delete(s.notes, arg["id"])
		return text(map[string]any{"left": len(s.notes)}, false)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}`, req.ID)
}

func (s *noteServer) list() any {
	type m = map[string]any
	tool := func(name string, reads bool, args ...string) m {
		props := m{}
		for _, a := range args {
			props[a] = m{"type": "string"}
		}
		t := m{"name": name, "inputSchema": m{"type": "object", "properties": props}}
		if reads && !s.is["unmarked"] {
			t["annotations"] = m{"readOnlyHint": true}
		}
		return t
	}
	tools := []m{tool("list_notes", true), tool("add_note", false, "text"), tool("delete_note", false, "id")}
	if !s.is["drop"] {
		tools = append(tools, tool("get_note", true, "id"))
	}
	r := m{"tools": tools}
	if s.is["modern"] {
		r["resultType"] = "complete"
	}
	return r
}

// noting is a host of notes: it says its lines of stdin one after the other, each when
// the one before was answered. "$ID" in a line is the id that add_note gave last. With
// http and a file it posts them to the URL in there, with stdio and a command it runs that.
func noting() {
	var send func(line string) string
	if len(os.Args) > 2 && os.Args[1] == "http" {
		b, _ := os.ReadFile(os.Args[2])
		at, session := strings.TrimSpace(string(b)), ""
		send = func(line string) string {
			r, _ := http.NewRequest(http.MethodPost, at, strings.NewReader(line))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			if strings.Contains(line, "2026-07-28") {
				r.Header.Set("MCP-Protocol-Version", "2026-07-28")
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			defer resp.Body.Close()
			if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
				session = id
			}
			b, _ := io.ReadAll(resp.Body)
			return string(b)
		}
	} else {
		cmd := exec.Command(os.Args[2], os.Args[3:]...)
		w, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		r := bufio.NewReader(out)
		send = func(line string) string {
			fmt.Fprintln(w, line)
			if !strings.Contains(line, `"id"`) {
				return ""
			}
			a, _ := r.ReadString('\n')
			return a
		}
		defer func() {
			w.Close()
			cmd.Wait()
		}()
	}
	in := bufio.NewScanner(os.Stdin)
	id := ""
	for in.Scan() {
		a := send(strings.ReplaceAll(in.Text(), "$ID", id))
		if _, rest, ok := strings.Cut(a, `note-`); ok {
			id = "note-" + rest[:26]
		}
	}
}

// shop is the server that can be built wrong; its arguments are the mutations.
func shop() {
	s, err := mutant.New(os.Args[1:]...)
	if err == nil {
		err = s.Serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// buyer prints what a client of shop sends.
func buyer() {
	for _, l := range mutant.Session() {
		fmt.Println(l)
	}
}
