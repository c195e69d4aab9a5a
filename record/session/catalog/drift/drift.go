package drift

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Change is one thing that is not as it was.
type Change struct {
	Rule  string
	Class Class
	// Tool is the tool's name; empty for the list as a whole.
	Tool string
	// Path is a JSON pointer into the tool as it was listed; empty for all of it.
	Path string
	// Before and After are JSON text as it was listed, cut to [Shown] bytes; empty for
	// what was, or is, not there.
	Before, After string
	// Text says in words what changed, without the tool's name. What of it came from
	// the catalogs is not made visible yet.
	Text string
}

// Shown is how many bytes of a value a Change keeps.
const Shown = 300

// Result is what there is to say about two catalogs.
type Result struct {
	Changes []Change
	// Undecided are questions that the catalogs cannot answer, in words.
	Undecided []string
	// Tools counts those that both list, so that they could be compared.
	Tools int
}

// Compare compares what a server listed with what it listed before. A tool that one
// of two lists lacks is removed, or added, only when that list is whole: what stands
// on a page that nobody fetched is not known.
func Compare(before, after *catalog.List) Result {
	var r Result
	if before == nil || after == nil {
		return r
	}
	c := comparer{res: &r}
	a, b := index(before), index(after)
	for _, name := range a.names {
		if _, ok := b.tools[name]; ok {
			continue
		}
		if !whole(after) {
			r.undecided("whether %q was removed: the second catalog is not whole (%s)", name, after.State)
			continue
		}
		c.tool = name
		c.add(ToolRemoved, "", a.tools[name].Raw, nil, "the tool was removed")
	}
	for _, name := range b.names {
		t, ok := a.tools[name]
		if ok {
			r.Tools++
			c.tool = name
			c.compare(t, b.tools[name])
			if m, n := a.count[name], b.count[name]; m != n && whole(before) && whole(after) {
				c.add(ToolRepeated, "", nil, nil, "the name stands %d times in the list, was %d", n, m)
			}
			continue
		}
		if !whole(before) {
			r.undecided("whether %q was added: the first catalog is not whole (%s)", name, before.State)
			continue
		}
		c.tool = name
		c.add(ToolAdded, "", nil, b.tools[name].Raw, "the tool was added")
	}
	c.tool = ""
	c.order(a.names, b.names)
	return r
}

// whole tells whether a tool that is not in the list was not offered.
func whole(l *catalog.List) bool { return l.State == catalog.Complete || l.State == catalog.Racy }

func (r *Result) undecided(format string, args ...any) {
	r.Undecided = append(r.Undecided, fmt.Sprintf(format, args...))
}

// tools is a list by name; a name that stands there twice is its first tool.
type tools struct {
	names []string
	tools map[string]*catalog.Tool
	count map[string]int
}

func index(l *catalog.List) tools {
	t := tools{tools: map[string]*catalog.Tool{}, count: map[string]int{}}
	for i := range l.Tools {
		tool := &l.Tools[i]
		if !tool.HasName {
			continue // nobody can call it
		}
		if t.count[tool.Name]++; t.count[tool.Name] == 1 {
			t.names = append(t.names, tool.Name)
			t.tools[tool.Name] = tool
		}
	}
	return t
}

type comparer struct {
	res  *Result
	tool string
}

func (c *comparer) add(rule, path string, before, after []byte, format string, args ...any) {
	c.res.Changes = append(c.res.Changes, Change{Rule: rule, Class: classes[rule], Tool: c.tool, Path: path,
		Before: Cut(before, Shown), After: Cut(after, Shown), Text: fmt.Sprintf(format, args...)})
}

// Cut is a text's first n bytes, and no half character; "…" stands for the rest.
func Cut[T string | []byte](text T, n int) string {
	if len(text) <= n {
		return string(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return string(text[:n]) + "…"
}

// order compares the order of the tools that both lists have.
func (c *comparer) order(a, b []string) {
	in := func(list []string) map[string]bool {
		m := map[string]bool{}
		for _, n := range list {
			m[n] = true
		}
		return m
	}
	common := func(list []string, other map[string]bool) []string {
		return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return !other[n] })
	}
	x, y := common(a, in(b)), common(b, in(a))
	for i := range x {
		if x[i] != y[i] {
			c.add(ToolOrder, "", nil, nil, "the tools stand in another order, from number %d on: %q, was %q", i+1, y[i], x[i])
			return
		}
	}
}

// compare compares one tool with what it was.
func (c *comparer) compare(before, after *catalog.Tool) {
	if bytes.Equal(before.Raw, after.Raw) {
		return
	}
	a, b := members(before.Raw), members(after.Raw)
	if x, y := a["inputSchema"], b["inputSchema"]; x != nil || y != nil {
		c.schema(true, x, y)
	}
	if x, y := a["outputSchema"], b["outputSchema"]; x != nil || y != nil {
		c.schema(false, x, y)
	}
	for _, name := range union(a, b) {
		x, y := a[name], b[name]
		if name == "annotations" {
			c.annotations(x, y)
			continue
		}
		if name == "name" || name == "inputSchema" || name == "outputSchema" || same(x, y) {
			continue
		}
		rule, what := ToolMember, name
		switch name {
		case "description":
			rule, what = ToolDescription, "the description"
		case "title":
			rule, what = ToolTitle, "the title"
		}
		c.add(rule, "/"+escape(name), x, y, "%s %s", what, happened(x, y))
	}
}

// annotations compares them hint by hint: which one it is decides what a host does.
func (c *comparer) annotations(x, y []byte) {
	if same(x, y) {
		return
	}
	a, b := members(x), members(y)
	if (x != nil && a == nil) || (y != nil && b == nil) {
		c.add(ToolAnnotation, "/annotations", x, y, "the annotations were changed")
		return
	}
	for _, name := range union(a, b) {
		p, q := a[name], b[name]
		switch {
		case same(p, q):
		case name == "title":
			c.add(ToolTitle, "/annotations/title", p, q, "the title in the annotations %s", happened(p, q))
		default:
			c.add(ToolAnnotation, "/annotations/"+escape(name), p, q, "%s is %s, was %s", name, orNone(q), orNone(p))
		}
	}
}

func orNone(b []byte) string {
	if b == nil {
		return "not set"
	}
	return Cut(b, 60)
}

func happened(before, after []byte) string {
	switch {
	case before == nil:
		return "was added"
	case after == nil:
		return "was removed"
	}
	return "was changed"
}

// same tells whether two members are the same value; nil is none.
func same(a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return jsonscan.Equal(a, b)
}

// members are an object's members; nil when b is no object.
func members(b []byte) map[string][]byte {
	list, ok := jsonscan.Object(b)
	if !ok {
		return nil
	}
	m := make(map[string][]byte, len(list))
	for _, l := range list {
		m[l.Name] = l.Value
	}
	return m
}

// union are the names of both, sorted.
func union(maps ...map[string][]byte) []string {
	var out []string
	for _, m := range maps {
		for name := range m {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// escape makes a name a segment of a JSON pointer.
func escape(name string) string { return escaper.Replace(name) }
