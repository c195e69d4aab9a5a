package claudecode

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/record/host"
)

// Formats that are named in Source.Format.
const (
	formatSession = "claude-code-session"
	formatAgent   = "claude-code-agent"
	formatMeta    = "claude-code-agent-meta"
	formatStream  = "claude-code-stream-json"
	formatHooks   = "claude-code-hooks"
)

// Session reads session files and those of their subagents.
var Session = &host.Importer{
	Name: "claude-code", Version: "1", Doc: "Claude Code session files (~/.claude/projects), with subagents",
	Detect: detectSession, Import: importSessions,
}

// agentFile is the file of one subagent, before it is read.
type agentFile struct {
	file    *host.File
	session text
	id      text
	meta    meta
	first   string // the text that it began with
}

// meta is what stands in agent-<id>.meta.json.
type meta struct {
	file      *host.File
	ToolUseID text  `json:"toolUseId"`
	AgentType text  `json:"agentType"`
	Depth     int64 `json:"spawnDepth"`
}

// importSessions makes one conversation of each session file.
func importSessions(files []*host.File) ([]*host.Conversation, error) {
	var mains []*host.File
	agents := map[text][]*agentFile{}
	metas := map[string]meta{}
	var orphans []string
	for _, f := range files {
		switch {
		case strings.HasSuffix(f.Name, ".meta.json"):
			m, err := readMeta(f)
			if err != nil {
				return nil, err
			}
			metas[strings.TrimSuffix(f.Name, ".meta.json")] = m
		case isAgentName(f.Name):
			a, err := peekAgent(f)
			if err != nil {
				return nil, err
			}
			agents[a.session] = append(agents[a.session], a)
		default:
			mains = append(mains, f)
		}
	}
	for _, list := range agents {
		for _, a := range list {
			a.meta = metas[strings.TrimSuffix(a.file.Name, ".jsonl")]
		}
	}
	var out []*host.Conversation
	var ends []time.Time
	for _, f := range mains {
		c, session, end, err := importSession(f, agents)
		if err != nil {
			return nil, err
		}
		delete(agents, session)
		if c != nil {
			out, ends = append(out, c), append(ends, end)
		}
	}
	for _, list := range agents {
		for _, a := range list {
			if !a.file.Beside {
				orphans = append(orphans, a.file.Name)
			}
		}
	}
	slices.Sort(orphans)
	if len(out) == 0 {
		if len(orphans) > 0 {
			return nil, fmt.Errorf("%w: %s is the file of a subagent, name its session's file or folder", host.ErrNothing, orphans[0])
		}
		return nil, host.ErrNothing
	}
	if len(orphans) > 0 {
		out[0].Notes = append(out[0].Notes, host.Note{Kind: "agent-without-session",
			Text: fmt.Sprintf("%d files of subagents belong to no session that was given, the first is %s", len(orphans), short(orphans[0]))})
	}
	markCopies(out, ends)
	return continued(out), nil
}

func isAgentName(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "agent-") && strings.HasSuffix(base, ".jsonl")
}

// readMeta reads what is beside an agent's file; its size is bounded.
func readMeta(f *host.File) (meta, error) {
	m := meta{file: f}
	r, err := f.Open()
	if err != nil {
		return m, err
	}
	defer func() { _ = r.Close() }() // only read
	lines := host.NewLines(r, 1<<20)
	var all []byte
	for lines.Next() && len(all) < 1<<20 {
		all = append(append(all, lines.Bytes()...), '\n')
	}
	var v struct {
		ToolUseID text `json:"toolUseId"`
		AgentType text `json:"agentType"`
		Depth     any  `json:"spawnDepth"`
	}
	if json.Unmarshal(all, &v, readOptions) == nil {
		m.ToolUseID, m.AgentType = v.ToolUseID, v.AgentType
		if d, ok := v.Depth.(float64); ok && d >= 1 && d <= 100 {
			m.Depth = int64(d)
		}
	}
	return m, nil
}

// peekAgent reads whose agent a file is.
func peekAgent(f *host.File) (*agentFile, error) {
	a := &agentFile{file: f}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	lines := host.NewLines(r, 0)
	for n := 0; n < 64 && lines.Next() && (a.session == "" || a.id == ""); n++ {
		var l line
		if json.Unmarshal(lines.Bytes(), &l, readOptions) != nil {
			continue
		}
		a.session, a.id = cmp.Or(a.session, l.Session), cmp.Or(a.id, l.AgentID)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return a, nil
}

// importSession reads one session file and the agents of its session. The
// conversation is nil when the file holds none. end is its newest time.
func importSession(f *host.File, agents map[text][]*agentFile) (c *host.Conversation, session text, end time.Time, err error) {
	b := newBuilder()
	src := host.Source{Path: f.Name, Format: formatSession}
	x, err := readIndex(f, &src)
	if err != nil {
		return nil, "", end, err
	}
	b.c.Branches = x.mark()
	b.full = x.full
	if x.gaps > 0 {
		b.note("missing-parents", strconv.Itoa(x.gaps)+" records name a parent that is not in the file; the record before was taken for it", host.Src{})
	}
	if x.cost != nil {
		b.c.Usage = []host.Usage{*x.cost}
	}
	b.c.Sources = append(b.c.Sources, src)
	s := &reader{b: b, x: x, src: &b.c.Sources[0], sides: map[int32]*agent{}}
	if err := s.read(f); err != nil {
		return nil, "", end, err
	}
	if len(b.c.Turns) == 0 && len(b.c.Calls) == 0 {
		return nil, x.session, end, nil
	}
	if err := b.agentFiles(agents[x.session], s.agentCalls); err != nil {
		return nil, "", end, err
	}
	return b.finish(figures{main: true, sub: true}), x.session, s.newest, nil
}

// markCopies marks turns that a resume copied into a new session file (up to
// 1.0.x, hosts.md 3.1): their prompt's record is in an earlier session too. The
// session that ended first is the earlier one.
func markCopies(cs []*host.Conversation, ends []time.Time) {
	order := make([]int, len(cs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return ends[a].Compare(ends[b]) })
	first := map[string]string{} // prompt's record -> session
	for _, i := range order {
		own := cs[i].Sources[0].Path
		if len(cs[i].SessionIDs) > 0 {
			own = cs[i].SessionIDs[0]
		}
		for j := range cs[i].Turns {
			t := &cs[i].Turns[j]
			if len(t.Prompts) == 0 || t.Prompts[0].Message == "" {
				continue
			}
			id := t.Prompts[0].Message
			if from, ok := first[id]; ok && from != own {
				t.CopiedFrom = from
			} else {
				first[id] = own
			}
		}
	}
}
