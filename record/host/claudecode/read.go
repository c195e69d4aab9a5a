package claudecode

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// reader is the second pass over a session file, or the pass over the file of
// one of its agents.
type reader struct {
	b    *builder
	x    *index
	src  *host.Source
	next int // the node that comes next
	// only is the agent that the whole file is about; nil in a session file.
	only *agent
	// sides are the agents inside a session file, by the node that they begin with.
	sides map[int32]*agent
	// agentCalls says which call started an agent, by the agent's id.
	agentCalls map[string]string
	newest     time.Time
}

func (r *reader) read(f *host.File) error {
	if r.agentCalls == nil {
		r.agentCalls = map[string]string{}
	}
	skip := func(n int64) bool { return r.next >= len(r.x.nodes) || r.x.nodes[r.next].line != n }
	if err := eachLine(f, nil, skip, r.line); err != nil {
		return err
	}
	if r.next < len(r.x.nodes) {
		r.src.Fail(0, "the file changed while it was read: line %d is another one", r.x.nodes[r.next].line)
	}
	return nil
}

// line takes one line of the second pass, which is that of the next node: both
// passes read the same bytes.
func (r *reader) line(n int64, l *line) {
	b, at := r.b, int32(r.next)
	nd := &r.x.nodes[at]
	r.next++
	if !nd.live {
		r.src.Skip("other branch")
		r.branchCalls(nd, l)
		return
	}
	typ := typeOf(l)
	b.session(l.Session)
	if l.Version != "" {
		b.c.Host.Version = string(l.Version)
	}
	if l.Entrypoint != "" && b.c.Host.Entrypoint == "" {
		b.c.Host.Entrypoint = string(l.Entrypoint)
	}
	e := &event{id: string(l.UUID), at: timeOf(l.Timestamp), src: host.Src{Source: b.src, Line: n}, agent: r.only}
	if e.agent == nil && nd.side {
		e.agent = r.side(nd, at, l)
	}
	if e.agent == nil && e.at.After(r.newest) {
		r.newest = e.at
	}
	if l.AttrServer != "" {
		b.names.tool(string(l.AttrServer), string(l.AttrTool))
	}
	if r.record(nd, l, e) {
		r.src.Took(typ)
	} else {
		r.src.Skip(typ)
	}
}

// record hands a live record to the builder; false when it is none of the
// conversation.
func (r *reader) record(nd *node, l *line, e *event) bool {
	b := r.b
	var m message
	if l.Type == "user" || l.Type == "assistant" {
		if !into(l.Message, &m) {
			r.src.Fail(e.src.Line, "a record of type %q has no message", l.Type)
			return false
		}
	}
	list, ok := blocks(m.Content)
	if !ok && (l.Type == "user" || l.Type == "assistant") {
		r.src.Fail(e.src.Line, "the message's content is neither a string nor a list")
		return false
	}
	switch nd.kind {
	case kAssistant:
		b.assistant(&m, list, l.APIError.on, e)
	case kPrompt:
		if e.agent != nil {
			b.user(list, "agent-prompt", e)
			break
		}
		b.prompt(originOf(l), string(l.PromptID), list, e)
	case kResult:
		r.results(list, l, e)
	case kQueued, kWake, kAttachment:
		if l.Type == "attachment" {
			return r.attachment(nd.kind, l, e)
		}
		b.hidden(nd.kind, list, e)
	case kSystem:
		return r.system(l, e)
	case kOther:
		return false
	default:
		b.hidden(nd.kind, list, e)
	}
	return true
}

// originOf tells a person's prompt from a program's.
func originOf(l *line) host.Origin {
	switch {
	case kindOf(l.Origin) == "human" || l.PromptSource == "typed":
		return host.Human
	case l.PromptSource == "sdk" || l.TurnOrigin == "sdk" || len(l.Entrypoint) > 3 && l.Entrypoint[:4] == "sdk-":
		return host.SDK
	}
	return host.Human
}

// results takes the results of one record. What stands beside the blocks is
// that of the only one.
func (r *reader) results(list []block, l *line, e *event) {
	var x resultExtra
	x.denial = l.Denial
	var meta struct {
		Structured jsontext.Value `json:"structuredContent"`
	}
	if into(l.MCPMeta, &meta) {
		x.structured = meta.Structured
	}
	var use struct {
		Async flag `json:"isAsync"`
		Agent text `json:"agentId"`
	}
	if into(l.ToolUseResult, &use) {
		x.agentID, x.background = use.Agent, use.Async.on
	}
	n := 0
	for i := range list {
		if list[i].Type != "tool_result" {
			continue
		}
		one := x
		if n++; n > 1 {
			one = resultExtra{denial: x.denial}
		}
		r.b.result(&list[i], one, e)
		if one.agentID != "" && len(r.agentCalls) < host.MaxItems {
			r.agentCalls[string(one.agentID)] = string(list[i].ToolUseID)
		}
	}
	if e.agent == nil && ofText(plain(list)) == kInterrupt {
		r.b.tail = tailInterrupt
	}
}

// attachment takes prompts that were typed during a turn, and servers' names.
func (r *reader) attachment(k kind, l *line, e *event) bool {
	q, _ := ofAttachment(l)
	switch {
	case q.Type == "mcp_instructions_delta":
		for _, s := range q.Added {
			r.b.names.server(s, "")
		}
		return true
	case k == kAttachment || e.agent != nil:
		return false
	}
	if _, again := r.x.byID[keyOf(q.Source)]; again && q.Source != "" {
		return true // the prompt is a record of its own too
	}
	list, _ := blocks(q.Prompt)
	e.at = timeOf(cmp.Or(q.At, l.Timestamp))
	if k == kWake {
		r.b.hidden(kWake, list, e)
		return true
	}
	if q.Source != "" {
		e.id = string(q.Source)
	}
	r.b.queued(list, e)
	return true
}

// system takes what system lines say of the conversation.
func (r *reader) system(l *line, e *event) bool {
	switch l.Subtype {
	case "compact_boundary":
		if e.agent == nil {
			r.b.note("compaction", "the host compacted the conversation; the compaction's own tokens are in no turn", e.src)
		}
		return true
	case "model_refusal_fallback":
		r.b.note("retracted", "the host retracted an answer and asked another model", e.src)
		return true
	case "turn_duration", "stop_hook_summary":
		// The host says that the turn is over; some versions leave stop_reason null.
		if b := r.b; e.agent == nil && b.turn != nil && b.tail == tailAnswer && b.turn.stop == "" {
			b.turn.stop = "end_turn"
		}
		return true
	case "api_error":
		return true
	}
	return false
}

// branchCalls counts the calls of another branch and keeps the first ids.
func (r *reader) branchCalls(nd *node, l *line) {
	const maxIDs = 100
	var m message
	if l.Type != "assistant" || nd.root < 0 || !into(l.Message, &m) {
		return
	}
	br := &r.b.c.Branches[nd.root]
	list, _ := blocks(m.Content)
	for i := range list {
		if list[i].Type != "tool_use" {
			continue
		}
		br.Calls++
		if id := string(list[i].ID); id != "" && len(br.CallIDs) < maxIDs {
			br.CallIDs = append(br.CallIDs, id)
		}
	}
}

// side is the agent that a record inside a session file belongs to (1.0.x).
func (r *reader) side(nd *node, at int32, l *line) *agent {
	root := nd.root
	if root < 0 {
		root = at
	}
	a, ok := r.sides[root]
	if !ok {
		a = &agent{turn: r.b.cur(), call: -1}
		a.ID = string(cmp.Or(l.AgentID, l.UUID))
		a.Depth = 1
		var m message
		into(l.Message, &m)
		list, _ := blocks(m.Content)
		r.b.link(a, r.b.claim(plain(list)))
		r.sides[root] = a
	}
	return a
}
