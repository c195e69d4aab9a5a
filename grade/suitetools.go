package grade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// CatalogOf is what one recording shows of the tools that there are.
type CatalogOf struct {
	Servers []ServerTools
}

// ServerTools are the names that one session's server listed.
type ServerTools struct {
	Server string
	// Lists are how many lists were seen; Whole says that one of them was complete.
	Lists int
	Whole bool
	Names []string
}

// CatalogsOf gathers the tool names of a recording, of all its lists: a tool that
// was ever listed is no misspelling. Nothing of r is kept.
func CatalogsOf(r *Recording) CatalogOf {
	var out CatalogOf
	for _, s := range r.Sessions {
		t := ServerTools{Server: serverKey(r, s)}
		for _, l := range s.Lists {
			if l.State == catalog.Failed {
				continue
			}
			t.Lists++
			t.Whole = t.Whole || l.State == catalog.Complete
			for i := range l.Tools {
				if l.Tools[i].HasName {
					t.Names = append(t.Names, strings.Clone(l.Tools[i].Name))
				}
			}
		}
		if t.Lists > 0 {
			slices.Sort(t.Names)
			t.Names = slices.Compact(t.Names)
			out.Servers = append(out.Servers, t)
		}
	}
	return out
}

// Bounds on the search for the nearest name, which a hostile catalog would make
// long: names that are looked through, their length in bytes, and the misspellings
// of one suite that get one.
const (
	maxNearNames = 2_000
	maxNearBytes = 128
	maxNearWords = 50
)

// toolNames are the names in the catalogs of the servers that a suite grades.
type toolNames struct {
	of      map[string]map[string]bool // server, name
	partial map[string]bool            // servers of which no list is whole
	hints   map[string]string          // of names that are missing
	lists   map[string][]string        // what near looks through, by the servers
}

// tools gathers the names from the recordings, and says so when there are none.
func (c *suiteCheck) tools(recordings []CatalogOf) {
	if len(recordings) == 0 {
		return
	}
	n := &toolNames{of: map[string]map[string]bool{}, partial: map[string]bool{}, hints: map[string]string{}, lists: map[string][]string{}}
	for i := range recordings {
		for j := range recordings[i].Servers {
			t := &recordings[i].Servers[j]
			if !c.Suite.takesServer(t.Server) {
				continue
			}
			c.Lists += t.Lists
			if n.of[t.Server] == nil {
				n.of[t.Server], n.partial[t.Server] = map[string]bool{}, true
			}
			if t.Whole {
				n.partial[t.Server] = false
			}
			for _, name := range t.Names {
				n.of[t.Server][name] = true
			}
		}
	}
	all := map[string]bool{}
	for _, names := range n.of {
		for name := range names {
			all[name] = true
		}
	}
	c.Tools = len(all)
	if c.Lists == 0 {
		c.add(nil, value.Pos{}, FindNoCatalog, "no tool list of a graded server is on record: tool names could not be looked up", "give a recording with a tools/list in it")
		return
	}
	c.known = n
}

// tool looks a name up that a case has.
func (c *suiteCheck) tool(spec *CaseSpec, pos value.Pos, name string) {
	if c.known == nil || name == "" {
		return // a kind's own rules are about empty names
	}
	var servers []string
	if spec != nil {
		servers = spec.Servers
	}
	partial, looked := false, false
	for server, names := range c.known.of {
		if len(servers) > 0 && !slices.Contains(servers, server) {
			continue
		}
		if names[name] {
			return
		}
		looked, partial = true, partial || c.known.partial[server]
	}
	if !looked {
		return // nothing of the case's servers is on record
	}
	message := fmt.Sprintf("the tool %s is in no catalog of the recordings%s", predicate.Quoted(name), c.known.near(name, servers))
	do := "correct the name, or give a recording of a server that has it"
	if partial {
		do += "; not every list was whole, so that it may be on a page that was not fetched"
	}
	c.add(spec, pos, FindUnknownTool, message, do)
}

// near is a hint at the name that was meant.
func (n *toolNames) near(name string, servers []string) string {
	key := name + "\x00" + strings.Join(servers, "\x00")
	if hint, ok := n.hints[key]; ok {
		return hint
	}
	if len(n.hints) >= maxNearWords {
		return ""
	}
	names := n.sorted(servers)
	hint := didYouMean(name, names[:min(len(names), maxNearNames)])
	// Hosts write mcp__shop__refund of the server's tool refund; the wire has none of that.
	if i := strings.LastIndex(name, "__"); i >= 0 {
		if _, ok := slices.BinarySearch(names, name[i+2:]); ok {
			hint = fmt.Sprintf("; did you mean %q? the host's prefix is not part of the name", name[i+2:])
		}
	}
	n.hints[key] = hint
	return hint
}

// sorted are the names of servers, of all when none is named, that are short enough
// to be near to anything.
func (n *toolNames) sorted(servers []string) []string {
	key := strings.Join(servers, "\x00")
	if names, ok := n.lists[key]; ok {
		return names
	}
	var names []string
	for server, of := range n.of {
		if len(servers) > 0 && !slices.Contains(servers, server) {
			continue
		}
		for name := range of {
			if len(name) <= maxNearBytes {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	n.lists[key] = slices.Compact(names)
	return n.lists[key]
}

// policy looks the names of a MCPJam file's tool policy up (grading.md 6.4).
func (c *suiteCheck) policy() {
	if p := c.Suite.ToolPolicy; p != nil {
		for _, name := range slices.Concat(p.Allow, p.Deny) {
			c.tool(nil, value.Pos{}, name)
		}
	}
}
