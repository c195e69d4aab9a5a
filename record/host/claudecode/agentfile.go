package claudecode

import (
	"cmp"

	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/record/host"
)

// agentFiles reads the files of a session's subagents. What started one is told
// by, in this order: the .meta.json beside it, the result of the call (agentId),
// the text that the call gave it. Agents start agents, so that a call may be in
// the file of one that is read later: rounds go on while there is progress.
// Those that name their call come first, so that no other one takes it for the
// same text.
func (b *builder) agentFiles(pending []*agentFile, calls map[string]string) error {
	for _, f := range pending {
		var err error
		if f.first, err = firstPrompt(f.file); err != nil {
			return err
		}
	}
	named := func(f *agentFile) string { return cmp.Or(string(f.meta.ToolUseID), calls[string(f.id)]) }
	// round reads those to which parent gives a call that is on record.
	round := func(parent func(f *agentFile) string) (progress bool, err error) {
		var left []*agentFile
		for _, f := range pending {
			p := parent(f)
			if _, ok := b.calls[p]; !ok || p == "" {
				left = append(left, f)
				continue
			}
			progress = true
			if err := b.agentFile(f, p, calls); err != nil {
				return false, err
			}
		}
		pending = left
		return progress, nil
	}
	for progress := true; progress; {
		for _, f := range pending {
			if p := named(f); p != "" {
				b.claimed[p] = true
			}
		}
		var err error
		if progress, err = round(named); err != nil || progress {
			if err != nil {
				return err
			}
			continue
		}
		progress, err = round(func(f *agentFile) string {
			if named(f) != "" {
				return ""
			}
			return b.claim(f.first)
		})
		if err != nil {
			return err
		}
	}
	for _, f := range pending {
		if err := b.agentFile(f, "", calls); err != nil {
			return err
		}
	}
	return nil
}

// agentFile reads the file of one subagent. calls takes which call started which
// agent, as far as this file tells.
func (b *builder) agentFile(f *agentFile, parent string, calls map[string]string) error {
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
	b.link(a, parent)
	if a.ParentCall == "" && f.first == "Warmup" {
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
		if err := eachLine(f.meta.file, &m, nil, func(int64, *line) {}); err != nil {
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
