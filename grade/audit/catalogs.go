package audit

import (
	"cmp"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/session/catalog/drift"
	"github.com/sixlink/sixlink/record/session/jsonscan"
	"github.com/sixlink/sixlink/record/visible"
)

// observed is one list of tools that sessions with one version of a server saw.
type observed struct {
	Seen  int64 `json:"seen"` // how often
	First Time  `json:"first,omitzero"`
	Last  Time  `json:"last,omitzero"`
	// Place is the list's in the session that saw it first.
	Place int `json:"place"`
	// Tools is the JSON of its tools, packed; Raw the hash of that text.
	Tools []byte `json:"tools,omitempty"`
	Raw   string `json:"raw,omitempty"`
}

// weight: 400 bytes stand for the rest of it.
func (o *observed) weight() int { return len(o.Tools) + 400 }

func (o *observed) merge(p *observed) {
	if o.Seen == 0 || p.before(o) {
		o.Place = p.Place
	}
	o.Seen += p.Seen
	span(&o.First, &o.Last, p.First)
	span(&o.First, &o.Last, p.Last)
}

// before tells whether o was seen first; what has no time comes last.
func (o *observed) before(p *observed) bool {
	if (o.First == 0) != (p.First == 0) {
		return o.First != 0
	}
	return cmp.Or(cmp.Compare(o.First, p.First), cmp.Compare(o.Place, p.Place)) < 0
}

func (t *Totals) catalog(c *Catalog) {
	o, held := t.Catalogs.at(keyOf(c.Server, c.Version, c.Hash), maxCatalogs)
	o.merge(&observed{Seen: 1, First: c.Start, Last: c.Start, Place: c.Place})
	// Of several spellings of one list the same one is kept whatever came first.
	if held && (o.Tools == nil || c.Raw < o.Raw) {
		o.Tools, o.Raw = pack(c.Tools), c.Raw
		t.Catalogs.cutTo(maxCatalogs)
	}
}

// pack makes tools small. The same tools always give the same bytes: what is held
// when there is too much rests on their length.
func pack(tools []byte) []byte {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // by its options alone
	}
	defer e.Close()
	return e.EncodeAll(tools, nil)
}

func unpack(packed []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxCatalog))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(packed, nil)
}

// listOf makes a whole list of the JSON of its tools.
func listOf(tools []byte) *catalog.List {
	b := catalog.NewBuilder()
	b.Answer(b.Request(1, "", false), 2, tools, "", false)
	return b.Lists()[0]
}

// version is one list of a server, in the order in which they were first seen.
type version struct {
	server, name, hash string
	*observed
	list *catalog.List
}

// versions are the lists of each server; unread counts those that a state file
// spoilt.
func (t *Totals) versions() (out [][]version, unread int64) {
	by := map[string][]version{}
	for _, key := range t.Catalogs.sorted() {
		p := partsOf(key)
		v := version{observed: t.Catalogs.Of[key]}
		tools, err := unpack(v.Tools)
		if len(p) != 3 || err != nil {
			unread++
			continue
		}
		v.server, v.name, v.hash, v.list = p[0], p[1], p[2], listOf(tools)
		by[v.server] = append(by[v.server], v)
	}
	for _, s := range sortedKeys(by) {
		slices.SortFunc(by[s], func(a, b version) int {
			return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Place, b.Place), cmp.Compare(a.name, b.name), cmp.Compare(a.hash, b.hash))
		})
		out = append(out, by[s])
	}
	return out, unread
}

// Change is one change of a server's catalog, from one list to the next that was seen.
type Change struct {
	Server      string `json:"server"`
	FromVersion string `json:"fromVersion"`
	ToVersion   string `json:"toVersion"`
	FromCatalog string `json:"fromCatalog"`
	ToCatalog   string `json:"toCatalog"`
	// FirstSeen is when the new list was first seen.
	FirstSeen string `json:"firstSeen,omitempty"`
	at        Time
	Rule      string `json:"rule"`
	Class     string `json:"class"`
	Tool      string `json:"tool,omitempty"`
	Path      string `json:"path,omitempty"`
	Text      string `json:"text"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
}

// changes compares each list of a server with the one before it.
func changes(vs []version, tools []string) (out []Change, undecided []string) {
	for i := 1; i < len(vs); i++ {
		a, b := &vs[i-1], &vs[i]
		if a.hash == b.hash {
			continue // another version with the same list
		}
		res := drift.Compare(a.list, b.list)
		for _, c := range res.Changes {
			if len(tools) > 0 && !slices.Contains(tools, visible.UTF8(c.Tool)) {
				continue
			}
			out = append(out, changeOf(c, a, b))
		}
		for _, u := range res.Undecided {
			undecided = append(undecided, visible.UTF8(u))
		}
	}
	return out, undecided
}

func changeOf(c drift.Change, a, b *version) Change {
	text := visible.UTF8
	return Change{
		Server: b.server, FromVersion: a.name, ToVersion: b.name, FromCatalog: a.hash, ToCatalog: b.hash, at: b.First, FirstSeen: stamp(b.First),
		Rule: c.Rule, Class: string(c.Class), Tool: text(c.Tool), Path: text(c.Path), Text: visible.String(c.Text), Before: text(c.Before), After: text(c.After),
	}
}

// Advice is what a catalog could say better; it is no failure.
type Advice struct {
	Server string `json:"server"`
	// Version and Catalog are those of the newest list.
	Version string `json:"version"`
	Catalog string `json:"catalog"`
	Tools   int64  `json:"tools"`
	// Each names tools, or TOOL.PARAMETER; at most maxAdvice of them, and Counts has
	// how many there are.
	Findings []Finding `json:"findings"`
}

// Finding is one kind of advice.
type Finding struct {
	What  string   `json:"what"`
	Count int64    `json:"count"`
	Of    int64    `json:"of"`
	Names []string `json:"names"`
}

const maxAdvice = 100

// The kinds of advice.
const (
	NoDescription          = "toolWithoutDescription"
	NoParameterDescription = "parameterWithoutDescription"
	NoOutputSchema         = "toolWithoutOutputSchema"
	NameTwice              = "toolNameTwice"
)

func (f *Finding) add(is bool, name string) {
	f.Of++
	if !is {
		return
	}
	if f.Count++; len(f.Names) < maxAdvice {
		f.Names = append(f.Names, visible.UTF8(name))
	}
}

// lint looks at the newest list of a server.
func lint(v *version, only []string) Advice {
	a := Advice{Server: v.server, Version: v.name, Catalog: v.hash, Findings: []Finding{
		{What: NoDescription}, {What: NoParameterDescription}, {What: NoOutputSchema}, {What: NameTwice}}}
	seen := map[string]bool{}
	for i := range v.list.Tools {
		t := &v.list.Tools[i]
		if len(only) > 0 && !slices.Contains(only, visible.UTF8(t.Name)) {
			continue
		}
		a.Tools++
		a.Findings[0].add(!t.HasDesc || t.Description == "", t.Name)
		for _, p := range parameters(t.InputSchema) {
			a.Findings[1].add(!p.described, t.Name+"."+p.name)
		}
		a.Findings[2].add(len(t.OutputSchema) == 0, t.Name)
		a.Findings[3].add(seen[t.Name], t.Name)
		seen[t.Name] = true
	}
	a.Findings = slices.DeleteFunc(a.Findings, func(f Finding) bool { return f.Count == 0 })
	return a
}

type parameter struct {
	name      string
	described bool
}

// parameters are the top-level properties of an input schema.
func parameters(schema []byte) (out []parameter) {
	for _, p := range members(member(schema, "properties")) {
		text, ok := jsonscan.String(member(p.Value, "description"))
		// What a reference says is not looked up: nothing is claimed of it.
		out = append(out, parameter{p.Name, ok && text != "" || member(p.Value, "$ref") != nil})
	}
	return out
}

func members(object []byte) []jsonscan.Member {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	ms, _ := jsonscan.Object(object)
	return ms
}

func member(object []byte, name string) []byte {
	for _, m := range members(object) {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// At is when the new list was first seen.
func (c *Change) At() Time { return c.at }
