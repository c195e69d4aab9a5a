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

// observed is one list of tools that one host's sessions with one version of a server
// saw.
type observed struct {
	Seen  int64 `json:"seen"` // how often
	First Time  `json:"first,omitzero"`
	Last  Time  `json:"last,omitzero"`
	// Place is the list's in the session that saw it first.
	Place int `json:"place"`
	// Tools is the JSON of its tools, packed; Raw the hash of that text.
	Tools []byte `json:"tools,omitempty"`
	Raw   string `json:"raw,omitempty"`
	Len   int64  `json:"len,omitzero"` // of the JSON, in bytes
}

// weight is about what it takes in memory, also when it is unpacked for the report.
func (o *observed) weight() int { return len(o.Tools) + int(o.Len)/4 + 8<<10 }

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
	o, held := t.Catalogs.at(keyOf(c.Server, c.Host, c.Version, c.Hash), maxCatalogs)
	o.merge(&observed{Seen: 1, First: c.Start, Last: c.Start, Place: c.Place})
	// Of several spellings of one list the same one is kept whatever came first.
	if held && (o.Tools == nil || c.Raw < o.Raw) {
		o.Tools, o.Raw, o.Len = pack(c.Tools), c.Raw, int64(len(c.Tools))
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

// version is one list of a server that a host saw.
type version struct {
	server, host, name, hash string
	*observed
	list *catalog.List
}

// eachServer visits the lists of each server, those of one host together and in the
// order in which they were first seen. unread counts those that a state file spoilt.
func (t *Totals) eachServer(visit func(vs []version)) (unread int64) {
	order := t.Catalogs.sorted()
	for i := 0; i < len(order); {
		server := partsOf(order[i])[0]
		lists := map[string]*catalog.List{} // by hash: many hosts see one
		var vs []version
		for ; i < len(order) && partsOf(order[i])[0] == server; i++ {
			p := partsOf(order[i])
			v := version{server: p[0], host: p[1], name: p[2], hash: p[3], observed: t.Catalogs.Of[order[i]]}
			if v.list = lists[v.hash+v.Raw]; v.list == nil {
				tools, err := unpack(v.Tools)
				if err != nil {
					unread++
					continue
				}
				v.list = listOf(tools)
				lists[v.hash+v.Raw] = v.list
			}
			vs = append(vs, v)
		}
		slices.SortFunc(vs, func(a, b version) int {
			switch {
			case a.host != b.host:
				return cmp.Compare(a.host, b.host)
			case a.before(b.observed):
				return -1
			case b.before(a.observed):
				return 1
			}
			return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.hash, b.hash))
		})
		if len(vs) > 0 {
			visit(vs)
		}
	}
	return unread
}

// Change is one change of a server's catalog, from one list to the next that a host saw.
type Change struct {
	Server      string `json:"server"`
	FromVersion string `json:"fromVersion"`
	ToVersion   string `json:"toVersion"`
	FromCatalog string `json:"fromCatalog"`
	ToCatalog   string `json:"toCatalog"`
	// Hosts saw it.
	Hosts []string `json:"hosts"`
	// FirstSeen is when one of them first saw the new list.
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

// step is the way from one list to the next.
type step struct {
	a, b  *version
	at    Time
	hosts []string
}

// steps are those of all hosts, each once, in the order of time.
func steps(vs []version) []step {
	var out []step
	for i := 1; i < len(vs); i++ {
		a, b := &vs[i-1], &vs[i]
		if a.host != b.host || a.hash == b.hash { // a new version with the same list
			continue
		}
		k := slices.IndexFunc(out, func(s step) bool {
			return s.a.name == a.name && s.b.name == b.name && s.a.hash == a.hash && s.b.hash == b.hash
		})
		if k < 0 {
			out = append(out, step{a: a, b: b, at: b.First, hosts: []string{b.host}})
			continue
		}
		out[k].hosts = append(out[k].hosts, b.host)
		if b.First != 0 && (out[k].at == 0 || b.First < out[k].at) {
			out[k].at = b.First
		}
	}
	slices.SortStableFunc(out, func(x, y step) int { return cmp.Compare(x.at, y.at) })
	return out
}

// changes compares each list of a server with the one that the same host saw before.
func changes(vs []version, tools []string) (out []Change, undecided []string) {
	for _, s := range steps(vs) {
		res := drift.Compare(s.a.list, s.b.list)
		for _, c := range res.Changes {
			if len(tools) == 0 || slices.Contains(tools, visible.UTF8(c.Tool)) {
				out = append(out, changeOf(c, &s))
			}
		}
		for _, u := range res.Undecided {
			undecided = append(undecided, visible.UTF8(u))
		}
	}
	return out, undecided
}

func changeOf(c drift.Change, s *step) Change {
	text := visible.UTF8
	return Change{
		Server: s.b.server, FromVersion: s.a.name, ToVersion: s.b.name, FromCatalog: s.a.hash, ToCatalog: s.b.hash, Hosts: s.hosts, at: s.at, FirstSeen: stamp(s.at),
		Rule: c.Rule, Class: string(c.Class), Tool: text(c.Tool), Path: text(c.Path), Text: visible.String(c.Text), Before: text(c.Before), After: text(c.After),
	}
}

// Advice is what a server's catalog could say better; it is no failure.
type Advice struct {
	Server string `json:"server"`
	// Version is the one that was seen last.
	Version  string    `json:"version"`
	Tools    int64     `json:"tools"`
	Findings []Finding `json:"findings"`
}

// Finding is one kind of advice: Count of Of, with at most maxAdvice names of tools, or
// TOOL.PARAMETER.
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

// current are the tools that a server lists now: those of the list that each host saw
// last, where that is of the version that was seen last. twice are names that stand in
// one list twice.
func current(vs []version) (name string, tools []*catalog.Tool, twice map[string]bool) {
	last := map[string]*version{}
	var newest *version
	for i := range vs {
		v := &vs[i]
		if o := last[v.host]; o == nil || v.Last >= o.Last {
			last[v.host] = v
		}
		if newest == nil || v.Last > newest.Last || v.Last == newest.Last && v.name > newest.name {
			newest = v
		}
	}
	twice = map[string]bool{}
	seen := map[string]bool{}
	for _, host := range sortedKeys(last) {
		v := last[host]
		if v.name != newest.name {
			continue
		}
		for _, name := range v.list.Duplicates {
			twice[name] = true
		}
		for i := range v.list.Tools {
			if t := &v.list.Tools[i]; !seen[t.Name] {
				seen[t.Name] = true
				tools = append(tools, t)
			}
		}
	}
	slices.SortFunc(tools, func(a, b *catalog.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return newest.name, tools, twice
}

// lint looks at the tools that a server lists now.
func lint(vs []version, only []string) Advice {
	name, tools, twice := current(vs)
	a := Advice{Server: vs[0].server, Version: name, Findings: []Finding{
		{What: NoDescription}, {What: NoParameterDescription}, {What: NoOutputSchema}, {What: NameTwice}}}
	for _, t := range tools {
		if len(only) > 0 && !slices.Contains(only, visible.UTF8(t.Name)) {
			continue
		}
		a.Tools++
		a.Findings[0].add(!t.HasDesc || t.Description == "", t.Name)
		for _, p := range parameters(t.InputSchema) {
			a.Findings[1].add(!p.described, t.Name+"."+p.name)
		}
		a.Findings[2].add(len(t.OutputSchema) == 0, t.Name)
		a.Findings[3].add(twice[t.Name], t.Name)
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
