package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"
)

// upstream is a small HTTP server: it echoes bodies, streams two events at
// /stream, holds /hold open, has a reason phrase of its own at /reason, and answers
// twice at /twice. Its argument is the file that gets its URL.
func upstream() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := writeReady(os.Args[1], "http://"+ln.Addr().String()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w).Flush
		switch r.URL.Path {
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 2 {
				fmt.Fprintf(w, "id: %d\ndata: {\"n\":%[1]d}\n\n", i)
				flush()
			}
		case "/hold":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, ": here\n\n")
			flush()
			<-r.Context().Done()
		case "/reason":
			c, _, _ := http.NewResponseController(w).Hijack()
			io.WriteString(c, "HTTP/1.1 200 Quite So\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			c.Close()
		case "/twice":
			c, _, _ := http.NewResponseController(w).Hijack()
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			time.Sleep(50 * time.Millisecond)
			io.WriteString(c, "nobody asked for this")
			time.Sleep(50 * time.Millisecond)
			c.Close()
		default:
			b, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Host", r.Host)
			w.Header().Set("X-Target", r.RequestURI)
			w.Write(b)
		}
	}))
}

// ask sends a request, METHOD URL [BODY [FIELD: VALUE]...], and prints what came:
// the status line, the fields in order, the body. A file in the place of the URL
// has it in its first line.
func ask() {
	method, at, body := os.Args[1], os.Args[2], ""
	if file, path, ok := strings.Cut(at, ","); ok {
		b, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		at = strings.TrimSpace(string(b)) + path
	}
	if len(os.Args) > 3 {
		body = os.Args[3]
	}
	req, err := http.NewRequest(method, at, strings.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, f := range os.Args[min(4, len(os.Args)):] {
		name, value, _ := strings.Cut(f, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Add(name, value)
	}
	res, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		fmt.Println("no answer:", err)
		os.Exit(1)
	}
	fmt.Println(res.Proto, res.Status)
	var fields []string
	for name, values := range res.Header {
		for _, v := range values {
			if name != "Date" {
				fields = append(fields, name+": "+v)
			}
		}
	}
	sort.Strings(fields)
	fmt.Println(strings.Join(fields, "\n"))
	if _, err := io.Copy(os.Stdout, res.Body); err != nil {
		fmt.Println("\ncut:", err)
		os.Exit(1)
	}
}

// await waits until a file is there and has what else is named.
func await() {
	for {
		b, err := os.ReadFile(os.Args[1])
		if err == nil && (len(os.Args) < 3 || strings.Contains(string(b), os.Args[2])) {
			return
		}
		time.Sleep(2 * time.Millisecond) // another process writes it
	}
}
