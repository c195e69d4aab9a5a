package claudecode

import (
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record/host"
)

const (
	prefix = "mcp__"
	sep    = "__"
)

// Norm is the host's rule for the names of servers and tools: each character
// outside [A-Za-z0-9_-] becomes "_"; for servers of claude.ai runs of "_" become
// one and those at the ends go (hosts.md 3.1).
func Norm(name string) string {
	s := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if strings.HasPrefix(name, "claude.ai ") {
		for strings.Contains(s, "__") {
			s = strings.ReplaceAll(s, "__", "_")
		}
		s = strings.Trim(s, "_")
	}
	return s
}

// namer knows the servers and the raw tool names that a transcript tells.
type namer struct {
	servers []string               // as the host keys them, in order of appearance
	norms   []string               // the same as tools' names hold them
	seen    map[string]bool        // of servers
	status  map[string]string      // of servers
	raw     map[rawKey]string      // "" where two raw names are shown alike
	byCall  map[string]attribution // what the host says of one call
}

type rawKey struct{ server, shown string } // both normalised

type attribution struct{ server, tool string }

// maxServers bounds the servers that are kept apart.
const maxServers = 200

func newNamer() *namer {
	return &namer{seen: map[string]bool{}, status: map[string]string{}, raw: map[rawKey]string{}, byCall: map[string]attribution{}}
}

func (n *namer) server(name, status string) {
	if name == "" || len(n.servers) >= maxServers && !n.seen[name] {
		return
	}
	if !n.seen[name] {
		n.seen[name] = true
		n.servers = append(n.servers, name)
		n.norms = append(n.norms, Norm(name))
	}
	if status != "" {
		n.status[name] = status
	}
}

// tool notes a raw tool name of a server.
func (n *namer) tool(server, tool string) {
	if server == "" || tool == "" {
		return
	}
	n.server(server, "")
	k := rawKey{Norm(server), Norm(tool)}
	if old, ok := n.raw[k]; ok && old != tool {
		tool = ""
	} else if !ok && len(n.raw) >= host.MaxItems {
		return
	}
	n.raw[k] = tool
}

// split parts "mcp__server__tool". Server names may hold "__", so the longest
// server that is known wins; without one the first "__" parts them.
func (n *namer) split(name string) (server, shown string, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return "", "", false
	}
	best := -1
	for i, s := range n.norms {
		if tool, ok := strings.CutPrefix(rest, s); ok && len(tool) > len(sep) && strings.HasPrefix(tool, sep) && (best < 0 || len(s) > len(n.norms[best])) {
			best = i
		}
	}
	if best >= 0 {
		return n.servers[best], rest[len(n.norms[best])+len(sep):], true
	}
	server, shown, ok = strings.Cut(rest, sep)
	return server, shown, ok && server != "" && shown != ""
}

// name fills in what a call's name says.
func (n *namer) name(c *host.Call) {
	if c.Kind == host.HostedCall {
		return
	}
	a := n.byCall[c.HostCallID]
	server, shown, ok := n.split(c.Name)
	switch {
	case ok:
		c.Kind, c.Server, c.Tool.Shown = host.MCPCall, server, shown
	case a.server != "": // the host was told to leave its prefix out
		c.Kind, c.Server, c.Tool.Shown = host.MCPCall, a.server, c.Name
	default:
		c.Kind, c.Tool.Shown = host.BuiltinCall, c.Name
		return
	}
	if a.tool != "" && Norm(a.tool) == c.Tool.Shown {
		c.Tool.Raw = a.tool
		return
	}
	c.Tool.Raw = n.raw[rawKey{Norm(c.Server), c.Tool.Shown}]
}

// list gives the servers for the conversation, those that calls name included.
func (n *namer) list(calls []host.Call) []host.Server {
	names := slices.Clone(n.servers)
	for i := range calls {
		if s := calls[i].Server; calls[i].Kind == host.MCPCall && !slices.Contains(names, s) && len(names) < maxServers {
			names = append(names, s)
		}
	}
	var out []host.Server
	for _, s := range names {
		out = append(out, host.Server{Name: s, Prefix: prefix + Norm(s) + sep, Status: n.status[s]})
	}
	return out
}
