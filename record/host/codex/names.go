package codex

import (
	"strings"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

const (
	prefix = "mcp__"
	sep    = "__"
)

// Norm is the host's rule for the names of servers and tools: each character
// outside [A-Za-z0-9_] becomes "_" (host-samples/codex-wire-and-hooks: "-" too;
// versions that keep it are matched all the same, since both sides go through this).
func Norm(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// shown is a tool's whole name as the model sees it.
func shown(server, tool string) string { return prefix + Norm(server) + sep + Norm(tool) }

// whole puts a namespace ("mcp__shop") and a name together.
func whole(namespace, name string) string {
	switch {
	case namespace == "":
		return name
	case strings.HasSuffix(namespace, sep):
		return namespace + name
	}
	return namespace + sep + name
}

// namer knows the servers and raw tool names that events tell.
type namer struct {
	servers []string // by the host's key, in order of appearance
	known   map[string]bool
	raw     map[[2]string]string // by server and shown tool, normalised; "" where two raw names are shown alike
}

const maxServers = 200

func newNamer() *namer { return &namer{known: map[string]bool{}, raw: map[[2]string]string{}} }

func (n *namer) learn(server, tool string) {
	if server == "" || !n.known[server] && len(n.servers) >= maxServers {
		return
	}
	if !n.known[server] {
		n.known[server] = true
		n.servers = append(n.servers, server)
	}
	k := [2]string{Norm(server), Norm(tool)}
	if old, ok := n.raw[k]; ok && old != tool {
		tool = ""
	} else if !ok && len(n.raw) >= host.MaxItems {
		return
	}
	n.raw[k] = tool
}

// split parts "mcp__server__tool" by the longest server that is known, else at the
// first "__".
func (n *namer) split(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return "", "", false
	}
	best := ""
	for _, s := range n.servers {
		p := Norm(s) + sep
		if strings.HasPrefix(Norm(rest), p) && len(rest) > len(p) && len(s) > len(best) {
			best = s
		}
	}
	if best != "" {
		return best, rest[len(Norm(best))+len(sep):], true
	}
	server, tool, ok = strings.Cut(rest, sep)
	return server, tool, ok && server != "" && tool != ""
}

// finish names the calls and lists the servers.
func (n *namer) finish(b *story.Builder) {
	for i := range b.C.Calls {
		k := &b.C.Calls[i]
		if k.Server != "" { // an event said it
			if k.Name == "" {
				k.Name = shown(k.Server, k.Tool.Raw)
			}
			k.Tool.Shown = Norm(k.Tool.Raw)
			continue
		}
		server, tool, ok := n.split(k.Name)
		if !ok || k.Kind == host.HostedCall {
			if k.Kind == "" {
				k.Kind = host.BuiltinCall
			}
			k.Tool.Shown = k.Name
			continue
		}
		k.Kind, k.Server, k.Tool.Shown = host.MCPCall, server, tool
		k.Tool.Raw = n.raw[[2]string{Norm(server), Norm(tool)}]
	}
	for _, s := range n.servers {
		b.Server(host.Server{Name: s, Prefix: prefix + Norm(s) + sep})
	}
	for i := range b.C.Calls {
		if k := &b.C.Calls[i]; k.Kind == host.MCPCall {
			b.Server(host.Server{Name: k.Server, Prefix: prefix + Norm(k.Server) + sep})
		}
	}
}

// refusal says from a failed call's text who kept it from being sent. These are
// the host's own sentences.
func refusal(s string) (denied, refused string) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "err: "), `"`)
	switch {
	case strings.HasPrefix(s, "user rejected MCP tool call"):
		return host.DeniedByUser, ""
	case strings.HasPrefix(s, "user cancelled MCP tool call"):
		return host.DeniedCancelled, ""
	case strings.HasPrefix(s, "MCP tool call blocked by"),
		strings.HasPrefix(s, "MCP tool call requires approval, but"): // the policy is never to ask (0.171)
		return host.DeniedByRule, ""
	case strings.HasPrefix(s, "unsupported call: "):
		return "", host.RefusedTool
	case strings.HasPrefix(s, "failed to parse function arguments"):
		return "", host.RefusedSchema
	}
	return "", ""
}
