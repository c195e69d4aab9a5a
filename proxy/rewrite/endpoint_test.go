package rewrite

import (
	"strings"
	"testing"
)

func TestEndpoint(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"as one server sends it", "event: endpoint\ndata: https://mcp.example.com/m?s=1\n\n", "event: endpoint\ndata: http://127.0.0.1:7000/m?s=1\n\n"},
		{"mixed line ends", "event: endpoint\ndata: https://mcp.example.com/m\r\n\r\nevent: message\rdata: {}\r\r", "event: endpoint\ndata: http://127.0.0.1:7000/m\r\n\r\nevent: message\rdata: {}\r\r"},
		{"CR alone", "event: endpoint\rdata: https://mcp.example.com/m\r\r", "event: endpoint\rdata: http://127.0.0.1:7000/m\r\r"},
		{"no space, default port, case", ":hi\n\nevent:endpoint\ndata:HTTPS://MCP.Example.com:443\n\n", ":hi\n\nevent:endpoint\ndata:http://127.0.0.1:7000\n\n"},
		{"data before the name", "id: 1\ndata: https://mcp.example.com/m\nretry: 5\nevent: endpoint\n\n", "id: 1\ndata: http://127.0.0.1:7000/m\nretry: 5\nevent: endpoint\n\n"},
		{"byte order mark", "\ufeffevent: endpoint\ndata: https://mcp.example.com/m\n\n", "\ufeffevent: endpoint\ndata: http://127.0.0.1:7000/m\n\n"},
		{"after other events", "data: https://mcp.example.com/x\n\nevent: ping\ndata: 1\n\nevent: endpoint\ndata: https://mcp.example.com/m\n\n",
			"data: https://mcp.example.com/x\n\nevent: ping\ndata: 1\n\nevent: endpoint\ndata: http://127.0.0.1:7000/m\n\n"},
		{"only the first", "event: endpoint\ndata: https://mcp.example.com/1\n\nevent: endpoint\ndata: https://mcp.example.com/2\n\n",
			"event: endpoint\ndata: http://127.0.0.1:7000/1\n\nevent: endpoint\ndata: https://mcp.example.com/2\n\n"},
		{"only the first, which is relative", "event: endpoint\ndata: /m\n\nevent: endpoint\ndata: https://mcp.example.com/2\n\n", ""},
		{"an event without data is none", "event: endpoint\n\nevent: endpoint\ndata: https://mcp.example.com/2\n\n", "event: endpoint\n\nevent: endpoint\ndata: http://127.0.0.1:7000/2\n\n"},
		{"a foreign origin", "event: endpoint\ndata: https://mcp.example.com.evil/m\n\n", ""},
		{"another event", "event: message\ndata: https://mcp.example.com/m\n\n", ""},
		{"a name that begins so", "event: endpoints\ndata: https://mcp.example.com/m\n\n", ""},
		{"a field that begins so", "data2: https://mcp.example.com/m\nevents: endpoint\n\n", ""},
		{"a second line of data", "event: endpoint\ndata: /m\ndata: https://mcp.example.com/m\n\n", ""},
		{"two spaces", "event:  endpoint\ndata: https://mcp.example.com/m\n\n", ""},
		{"a message that holds it", "data: {\"a\":\"https://mcp.example.com\"}\n\nevent: message\ndata: https://mcp.example.com\n\n", ""},
		{"cut off in the origin", "event: endpoint\ndata: https://mcp.exam", ""},
		{"cut off before the end of the line", "event: endpoint\ndata: https://mcp.example.com", ""},
		{"a stream without line ends", strings.Repeat("data", 30000), ""},
		{"a name without an end", "data: https://mcp.example.com/m\nevent: " + strings.Repeat("x", 100000) + "\n\nevent: endpoint\ndata: https://mcp.example.com/m\n\n",
			"data: https://mcp.example.com/m\nevent: " + strings.Repeat("x", 100000) + "\n\nevent: endpoint\ndata: http://127.0.0.1:7000/m\n\n"},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		step := 1 + len(c.in)/300*10 // of a long one few
		for a := 0; a <= len(c.in); a += step {
			for b := a; b <= len(c.in); b += 7 * step {
				if got, _ := run(t, newEndpoint(newRule(own, upstream)), []byte(c.in), a, b); got != want {
					t.Fatalf("%s, cut at %d and %d:\n got %q\nwant %q", c.name, a, b, got, want)
				}
			}
		}
	}
}

// Bytes that cannot be a part of an endpoint event are sent on when they come.
func TestEndpointHoldsNothingBack(t *testing.T) {
	for _, c := range []struct{ name, in, held string }{
		{"messages", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"meth", ""},
		{"comments", ": keepal", ""},
		{"a URL elsewhere", "data: https://mcp.example.org/", ""},
		{"a name", "event: message\ndata: {}\n\neven", "even"},
		{"a URL whose origin is not whole", "event: endpoint\ndata: https://mcp.example.com:44", "data: https://mcp.example.com:44"},
		{"a URL whose origin is whole", "event: endpoint\ndata: https://mcp.example.com/mess", ""},
		{"a URL before the name", "id: 1\ndata: https://mcp.example.com/m\n", "https://mcp.example.com/m\n"},
	} {
		e := newEndpoint(newRule(own, upstream))
		sent := 0
		for i := range len(c.in) {
			out, _ := e.Next([]byte{c.in[i]}, false)
			sent += len(out)
		}
		if string(e.held) != c.held || sent < len(c.in)-len(c.held)-len(upstream) {
			t.Errorf("%s: %q is held back, %d bytes were sent, want %q", c.name, e.held, sent, c.held)
		}
		if out, _ := e.Next(nil, true); string(out) != c.held {
			t.Errorf("%s: the end brings %q", c.name, out)
		}
	}
}

// reference finds the first endpoint event in a whole stream, in the way of the
// EventSource specification, and says where its data begins in the stream; -1:
// there is none, or its stream ends before it.
func reference(s string) (int, string) {
	at := len(s) - len(strings.TrimPrefix(s, "\ufeff"))
	event, data, start, names := "", "", -1, 0
	for at < len(s) {
		end := strings.IndexAny(s[at:], "\r\n")
		if end < 0 {
			return -1, ""
		}
		line := s[at : at+end]
		name, value, _ := strings.Cut(line, ":")
		pos := at + len(line) - len(value)
		if strings.HasPrefix(value, " ") {
			value, pos = value[1:], pos+1
		}
		switch {
		case line == "":
			if start >= 0 && event == "endpoint" {
				if names > 1 {
					return -2, "" // two names: see endpointRewriter
				}
				return start, data
			}
			event, data, start, names = "", "", -1, 0
		case name == "event":
			event = value
			names++
		case name == "data" && start < 0:
			data, start = value, pos
		}
		if at += end; strings.HasPrefix(s[at:], "\r\n") {
			at++
		}
		at++
	}
	return -1, ""
}

func FuzzEndpoint(f *testing.F) {
	f.Add("event: endpoint\ndata: https://mcp.example.com/m\r\n\r\n", 5, 20)
	f.Add("data:https://mcp.example.com\revent:endpoint\r\r", 1, 2)
	f.Add("event:endpoint\n\ndata\nevent:endpoint\n\nevent:endpoint\ndata: https://mcp.example.com/\n\n", 30, 31)
	f.Fuzz(func(t *testing.T, s string, a, b int) {
		if a < 0 || b < a || b > len(s) {
			a, b = 0, 0
		}
		_, patches := run(t, newEndpoint(newRule(own, upstream)), []byte(s), a, b)
		start, data := reference(s)
		if start == -2 || len(s) > maxHeld {
			return
		}
		trimmed := strings.TrimLeft(data, " \t")
		n := newRule(own, upstream).match(trimmed)
		if start < 0 || n == 0 {
			// An event that was cut off is never delivered: what is sent of it does
			// not matter.
			if len(patches) > 0 && start >= 0 {
				t.Fatalf("%q: %+v, and the data is %q", s, patches, data)
			}
			return
		}
		want := int64(start + len(data) - len(trimmed))
		if len(patches) != 1 || patches[0].Off != want || patches[0].Len != int64(n) {
			t.Fatalf("%q cut at %d, %d: %+v, want %d bytes at %d", s, a, b, patches, n, want)
		}
	})
}
