package claudecode

import (
	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/record/host"
)

// agentFile reads the file of one subagent. What started it is told by, in this
// order: the .meta.json beside it, the result of the call in the session
// (agentId), the text that the call gave it.
func (b *builder) agentFile(f *agentFile, calls map[string]string) error {
	src := host.Source{Path: f.file.Name, Format: formatAgent}
	x, err := readIndex(f.file, &src)
	if err != nil {
		return err
	}
	for i := range x.nodes {
		x.nodes[i].live = true
	}
	a := &agent{turn: -1, call: -1}
	a.ID, a.Type, a.Depth = string(f.id), string(f.meta.AgentType), int(f.meta.Depth)
	first, err := firstPrompt(f.file)
	if err != nil {
		return err
	}
	parent := string(f.meta.ToolUseID)
	if parent == "" {
		parent = calls[string(f.id)]
	}
	if parent != "" {
		b.claimed[parent] = true
	} else {
		parent = b.claim(first)
	}
	b.link(a, parent)
	if a.ParentCall == "" && first == "Warmup" {
		// Up to 2.0 the host talked to its agents at start; no user asked for it
		// (hosts.md 3.1).
		src.Skip("warmup agent")
		b.c.Sources = append(b.c.Sources, src)
		return nil
	}
	if a.ParentCall == "" {
		b.note("agent-without-call", "the subagent "+short(a.ID)+" names no call that started it; its calls belong to no turn", host.Src{Source: len(b.c.Sources)})
	}
	b.src = len(b.c.Sources)
	b.c.Sources = append(b.c.Sources, src)
	r := &reader{b: b, x: x, src: &b.c.Sources[b.src], only: a}
	if err := r.read(f.file); err != nil {
		return err
	}
	for id, call := range r.agentCalls {
		if _, ok := calls[id]; !ok {
			calls[id] = call
		}
	}
	if f.meta.file != nil {
		m := host.Source{Path: f.meta.file.Name, Format: formatMeta}
		if err := eachLine(f.meta.file, &m, func(int64, *line) {}); err != nil {
			return err
		}
		b.c.Sources = append(b.c.Sources, m)
	}
	return nil
}

// firstPrompt is the text that an agent began with; the first lines say it.
func firstPrompt(f *host.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }() // only read
	lines := host.NewLines(r, 0)
	for n := 0; n < 64 && lines.Next(); n++ {
		var l line
		var m message
		if json.Unmarshal(lines.Bytes(), &l, readOptions) != nil || l.Type != "user" || !into(l.Message, &m) {
			continue
		}
		list, _ := blocks(m.Content)
		return plain(list), nil
	}
	return "", lines.Err()
}
