package join

import (
	"strings"

	"github.com/sixlink/sixlink/record/host"
)

// rule is how a host rewrites the names of tools: what two names have in common
// when they may be one tool.
type rule func(string) []string

// ruleOf is the host's own rule; of an unknown host any of them may hold.
func ruleOf(name string) rule {
	switch name {
	case "claude-code":
		return func(s string) []string { return []string{dashed(s)} }
	case "codex":
		return func(s string) []string { return []string{plain(s)} }
	}
	// Gemini keeps what others replace (hosts.md 3.6); SDKs differ.
	return func(s string) []string { return []string{s, dashed(s), plain(s)} }
}

// dashed is Claude Code's rule (hosts.md 3.1), plain Codex's and that of OpenAI's
// function names, without "-".
func dashed(s string) string { return replaced(s, true) }
func plain(s string) string  { return replaced(s, false) }

func replaced(s string, dash bool) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || dash && r == '-' {
			return r
		}
		return '_'
	}, s)
}

// tools are the names that a session knows: those that its server listed and
// those that were called.
type tools struct {
	names []string
	has   map[string]bool
}

func (t *tools) add(name string) {
	if name != "" && !t.has[name] {
		t.has[name] = true
		t.names = append(t.names, name)
	}
}

// shownAs are the session's tools by what the host may show them as.
func (t *talk) shownAs(w *wire) map[string][]string {
	if m := t.shown[w]; m != nil {
		return m
	}
	m := map[string][]string{}
	for _, raw := range w.tools.names {
		m[raw] = append(m[raw], raw)
		for _, form := range t.rule(raw) {
			if l := m[form]; len(l) == 0 || l[len(l)-1] != raw {
				m[form] = append(l, raw)
			}
		}
	}
	t.shown[w] = m
	return m
}

// maxSplits bounds how many ways to part one name are tried.
const maxSplits = 32

// split is one way to part a host's whole name.
type split struct{ server, tool string }

// splits are the ways to part the call's name: the importer's own first. Where a
// server's or a tool's name holds the separator there are several (hosts.md 3.1).
func splits(c *host.Call) []split {
	var out []split
	add := func(server, tool string) {
		if tool == "" || len(out) >= maxSplits {
			return
		}
		for _, s := range out {
			if s == (split{server, tool}) {
				return
			}
		}
		out = append(out, split{server, tool})
	}
	add(c.Server, c.Tool.Shown)
	prefix, sep := "mcp__", "__"
	rest, ok := strings.CutPrefix(c.Name, prefix)
	if !ok {
		prefix, sep = "mcp_", "_"
		rest, ok = strings.CutPrefix(c.Name, prefix)
	}
	if ok {
		for i := 1; i < len(rest); i++ {
			if strings.HasPrefix(rest[i:], sep) {
				add(rest[:i], rest[i+len(sep):])
			}
		}
	}
	add(c.Server, c.Name)
	return out
}

// serverFits says that a server which the host keys so is the one that the
// recording's label names. Plugins' servers are "plugin:<plugin>:<server>".
func serverFits(key, label string) bool {
	a, b := squeezed(key), squeezed(label)
	return a == b || strings.HasPrefix(a, "plugin_") && strings.HasSuffix(a, "_"+b)
}

// squeezed makes two spellings of a server's key alike: what hosts replace becomes
// "_", runs of it one.
func squeezed(s string) string {
	s = plain(s)
	for strings.Contains(s, "__") {
		s = strings.ReplaceAll(s, "__", "_")
	}
	return strings.Trim(s, "_")
}

// resolve finds the tools of a session that the call may name. More than one is
// ambiguous by name (hosts.md 5, step 0).
func (t *talk) resolve(c *host.Call, w *wire) []string {
	if raw := c.Tool.Raw; raw != "" && w.tools.has[raw] && t.serverOK(c.Server, w) {
		return []string{raw}
	}
	var found []string
	seen := map[string]bool{}
	for i, s := range splits(c) {
		if i == 1 && len(found) > 0 && w.Server == "" && known(t.c, c.Server) {
			break // the importer knows the server, so its way to part the name holds
		}
		if !t.serverOK(s.server, w) {
			continue
		}
		for _, name := range t.shownAs(w)[s.tool] {
			if !seen[name] {
				seen[name] = true
				found = append(found, name)
			}
		}
	}
	if len(found) == 0 {
		found = shortened(c.Name, w)
	}
	return found
}

// serverOK says that a call of the host's server key may be of this session. An
// empty key, or a recording without a label, says nothing.
func (t *talk) serverOK(key string, w *wire) bool {
	return key == "" || w.Server == "" || serverFits(key, w.Server)
}

func known(c *host.Conversation, server string) bool {
	for i := range c.Servers {
		if c.Servers[i].Name == server {
			return true
		}
	}
	return false
}

// shortened finds the tools of a name that was cut in the middle: Gemini keeps at
// most 63 characters, and puts "..." or "___" for what it leaves out (hosts.md 3.6).
func shortened(name string, w *wire) []string {
	if len(name) < 60 || len(name) > 64 {
		return nil
	}
	var found []string
	for _, mark := range []string{"...", "___"} {
		head, tail, ok := strings.Cut(name, mark)
		if !ok || len(head) < 20 || len(tail) < 20 {
			continue
		}
		for _, raw := range w.tools.names {
			whole := "_" + geminiForm(raw)
			if w.Server != "" {
				whole = "mcp_" + geminiForm(w.Server) + whole
				if len(whole) > 63 && strings.HasPrefix(whole, head) && strings.HasSuffix(whole, tail) {
					found = append(found, raw)
				}
				continue
			}
			if strings.HasSuffix(whole, tail) || strings.HasSuffix(tail, whole) {
				found = append(found, raw)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// geminiForm is Gemini's rule: dots and dashes stay.
func geminiForm(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || plain(string(r)) == string(r) {
			return r
		}
		return '_'
	}, s)
}
