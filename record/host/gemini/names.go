package gemini

import (
	"strings"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// prefix is what the host puts before the names of MCP tools: mcp_<server>_<tool>.
const prefix = "mcp_"

// display parts "cancel.order (shop MCP Server)", which names both as they are.
func display(s string) (tool, server string, ok bool) {
	s, ok = strings.CutSuffix(s, " MCP Server)")
	if !ok {
		return "", "", false
	}
	i := strings.LastIndex(s, " (")
	if i <= 0 {
		return "", "", false
	}
	return s[:i], s[i+2:], s[i+2:] != ""
}

// finish names the calls whose display name did not: by the longest server that
// is known. Names over 63 characters are shortened in the middle by the host; such
// a name says no tool.
func finish(b *story.Builder) {
	for i := range b.C.Calls {
		k := &b.C.Calls[i]
		if k.Server != "" {
			k.Tool.Shown = k.Name
			if t, ok := strings.CutPrefix(k.Name, prefix+k.Server+"_"); ok {
				k.Tool.Shown = t
			}
			continue
		}
		k.Tool.Shown = k.Name
		rest, ok := strings.CutPrefix(k.Name, prefix)
		if !ok {
			if k.Kind == "" {
				k.Kind = host.BuiltinCall
			}
			continue
		}
		k.Kind = host.UnknownCall
		for _, s := range b.C.Servers {
			if t, ok := strings.CutPrefix(rest, s.Name+"_"); ok && t != "" && len(s.Name) > len(k.Server) {
				k.Kind, k.Server, k.Tool.Shown = host.MCPCall, s.Name, t
			}
		}
	}
}

// refusal says from an error's text who kept the call from being sent. The host
// checks arguments against the tool's schema itself, and its checker names the
// arguments "params".
func refusal(s string) (denied, refused string) {
	switch {
	case strings.HasPrefix(s, "params/"), strings.HasPrefix(s, "params must "):
		return "", host.RefusedSchema
	case strings.HasPrefix(s, `Tool "`) && strings.Contains(s, "not found"):
		return "", host.RefusedTool
	case strings.Contains(s, "User did not allow tool call"):
		return host.DeniedByUser, ""
	case strings.HasPrefix(s, "Tool execution denied by policy"):
		return host.DeniedByRule, ""
	}
	return "", ""
}
