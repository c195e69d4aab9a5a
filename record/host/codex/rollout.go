package codex

import (
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// meta is a rollout's session_meta.
type meta struct {
	ID         lenient.Word   `json:"id"`         // of the thread
	Session    lenient.Word   `json:"session_id"` // of the root thread
	Parent     lenient.Word   `json:"parent_thread_id"`
	Forked     lenient.Word   `json:"forked_from_id"`
	Originator lenient.Word   `json:"originator"`
	Version    lenient.Word   `json:"cli_version"`
	Source     jsontext.Value `json:"source"` // a word, or {subagent: {thread_spawn: {...}}}
	Own        jsontext.Value `json:"subagent_history_start_ordinal"`
}

// sub is the subagent that a file is of; nil: it is the user's own thread.
func (m *meta) sub() *host.Agent {
	s, spawn := m.spawn()
	if lenient.Null(s) {
		if m.Parent == "" || m.Session == "" || m.Session == m.ID {
			return nil
		}
		return &host.Agent{ID: string(m.ID), Depth: 1}
	}
	a := &host.Agent{ID: string(m.ID), Depth: 1}
	if spawn == nil {
		a.Type = lenient.Name(s) // "review", "compact"
		return a
	}
	if d := host.ParseCount(spawn.Depth); d.Known && d.N < 1000 {
		a.Depth = int(d.N)
	}
	a.Type = string(spawn.Role)
	return a
}

// spawned is what a subagent's source says of how it came about.
type spawned struct {
	Parent lenient.Word   `json:"parent_thread_id"`
	Depth  jsontext.Value `json:"depth"`
	Role   lenient.Word   `json:"agent_role"`
}

// spawn reads the source. by is null in the user's own thread; spawn is nil where it
// is a word alone.
func (m *meta) spawn() (by jsontext.Value, spawn *spawned) {
	var s struct {
		Subagent jsontext.Value `json:"subagent"`
	}
	if !lenient.Into(m.Source, &s) || lenient.Null(s.Subagent) {
		return nil, nil
	}
	var t struct {
		Spawn spawned `json:"thread_spawn"`
	}
	if !lenient.Into(s.Subagent, &t) {
		return s.Subagent, nil
	}
	return s.Subagent, &t.Spawn
}

// parent is the thread that started this one; empty: none, or not told. Old versions
// (0.105) have it in the source alone.
func (m *meta) parent() string {
	if m.Parent != "" {
		return string(m.Parent)
	}
	if _, spawn := m.spawn(); spawn != nil {
		return string(spawn.Parent)
	}
	return ""
}

// rollout is one file before it is read.
type rollout struct {
	file *host.File
	meta meta
}

// importRollouts makes one conversation of each user thread with its subagents.
func importRollouts(files []*host.File) ([]*host.Conversation, error) {
	var all []rollout
	parents := map[string]string{} // of subagents' threads
	for _, f := range lenient.Named(files) {
		m, err := metaOf(f)
		if err != nil {
			return nil, err
		}
		all = append(all, rollout{f, m})
		if p := m.parent(); p != "" && m.sub() != nil {
			parents[string(m.ID)] = p
		}
	}
	byRoot := map[string][]rollout{}
	var roots []string
	for _, r := range all {
		root := r.root(parents)
		if byRoot[root] == nil {
			roots = append(roots, root)
		}
		byRoot[root] = append(byRoot[root], r)
	}
	var out []*host.Conversation
	for _, root := range roots {
		c, err := importThread(byRoot[root])
		if err != nil {
			return nil, err
		}
		if c != nil {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

// root is the user's thread that the file belongs to: the session that it names, else
// the one that the parents lead to.
func (r *rollout) root(parents map[string]string) string {
	m := &r.meta
	switch sub := m.sub(); {
	case sub != nil && m.Session != "":
		return string(m.Session)
	case m.ID == "":
		return threadOf(r.file.Name)
	case sub == nil:
		return string(m.ID)
	}
	root := string(m.ID)
	for range maxDepth { // they may be forged into a ring
		up, ok := parents[root]
		if !ok {
			break
		}
		root = up
	}
	return root
}

// maxDepth bounds how deep subagents start subagents.
const maxDepth = 100

// threadOf is the thread's id in a file's name, rollout-<time>-<id>.jsonl.
func threadOf(name string) string {
	const uuid = 36
	base := strings.TrimSuffix(path.Base(name), ".jsonl")
	if len(base) > uuid && strings.HasPrefix(base, "rollout-") {
		return base[len(base)-uuid:]
	}
	return name
}

// metaOf reads a file up to its first session_meta, which is its first line; where
// the beginning was lost there is none.
func metaOf(f *host.File) (meta, error) {
	var m meta
	r, err := f.Open()
	if err != nil {
		return m, err
	}
	defer func() { _ = r.Close() }() // only read
	lines := host.NewLines(r, 0)
	for n := 0; n < 20 && lines.Next(); n++ {
		var l line
		if lenient.Into(lines.Bytes(), &l) && l.Type == "session_meta" && lenient.Into(l.Payload, &m) {
			break
		}
	}
	return m, lines.Err()
}

// importThread reads the user's thread, then its subagents by depth.
func importThread(files []rollout) (*host.Conversation, error) {
	depth := func(r rollout) int {
		if a := r.meta.sub(); a != nil {
			return a.Depth
		}
		return 0
	}
	slices.SortStableFunc(files, func(a, b rollout) int { return depth(a) - depth(b) })
	b := story.New("codex", &host.Keeper{})
	b.OwnSums = true
	n := newNamer()
	alone := files[0].meta.sub() != nil
	for i, f := range files {
		b.C.Sources = append(b.C.Sources, host.Source{Path: f.file.Name, Format: "codex-rollout"})
		r := &reader{b: b, names: n, at: i, meta: f.meta, fromEvent: map[string]bool{}}
		r.src = &b.C.Sources[i]
		if a := f.meta.sub(); a != nil && !alone {
			r.agent = a
			r.agent.ParentCall = spawner(b, a.ID)
		}
		if err := lenient.Objects(f.file, r.src, r.line); err != nil {
			return nil, err
		}
		r.finish()
	}
	if alone {
		b.Note("subagent-alone", "this is the thread of a subagent; the user's own is not among the files", host.Src{})
	}
	if len(b.C.Turns) == 0 && len(b.C.Messages) == 0 && len(b.C.Calls) == 0 {
		return nil, nil
	}
	n.finish(b)
	return b.Finish(host.ExcludesSubagents), nil
}

// spawner is the call whose result names the thread that it started.
func spawner(b *story.Builder, thread string) string {
	if thread == "" {
		return ""
	}
	for i := range b.C.Calls {
		k := &b.C.Calls[i]
		if strings.HasSuffix(k.Name, "spawn_agent") && k.Result != nil && strings.Contains(k.Result.Text.Text, thread) {
			return k.HostCallID
		}
	}
	return ""
}
